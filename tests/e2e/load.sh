#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Nothing is lost while readers, writers and pi use the mount for seconds: make stress runs the same for ten minutes.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need_proc
need python3 rsync
needs_watches
cache=16
if is_sanitized; then cache=1000; fi # sanitizers keep freed memory
TMPDIR=$T "$ROOT/tests/stress/load" --seconds=3 --sessions=5 --cache=$cache --seed="${SEED:-1}" | sed '/^figure /d' # ten minutes give them
