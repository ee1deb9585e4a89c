#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Readers of files that grow while they are read: nothing twice, nothing torn, nothing missing.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
mkdir -p "$T/src/--grow--"
python3 "$ROOT/tests/lib/growing.py" "$SESSIONFS" "$T" || exit 1
