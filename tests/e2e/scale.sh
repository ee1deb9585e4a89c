#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Listings, tables and searches of copied sessions are complete: make stress runs the same with 200,000.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need_proc
need python3
limit=48
if is_sanitized; then limit=2000; fi # sanitizers keep freed memory
TMPDIR=$T "$ROOT/tests/stress/scale" --sessions=200 --projects=20 --megabytes=5 --limit=$limit | sed '/^figure /d' # 200,000 sessions give them
