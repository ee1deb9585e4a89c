#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Readers of files that grow meanwhile get nothing twice, nothing torn, and miss nothing.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
mkdir -p "$T/src/--grow--"
python3 "$ROOT/tests/lib/growing.py" "$SESSIONFS" "$T" || exit 1
