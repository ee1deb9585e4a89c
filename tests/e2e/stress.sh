#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hostile sessions cost no more than their length: make stress runs the same at full size.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
! grep -q __asan_init "$SESSIONFS" || skip "sanitizers are slow, and keep freed memory"
export TMPDIR=$T
# So large that the square of the number takes seconds.
scale=1
! is_sanitized || scale=10
"$ROOT/tests/stress/run" --steps=2 --divide=$scale "labels of one" "one label" "alike ids" "equal calls" "calls in turns" "keys of one"
"$ROOT/tests/stress/run" --steps=2 --divide=$((10 * scale)) children ring "bad lines" "calls of one" "unknown results" forks "forks alike"
is_sanitized || "$ROOT/tests/stress/run" --steps=2 --divide=100 files "long line" # they keep memory
