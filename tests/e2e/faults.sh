#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each system call and each allocation fails once, in turn: see tests/lib/fail.py. Here a sample of each kind, drawn
# with fixed seeds (SEED=n sets the seed). `make fault` runs all, for a mount up to ALL of each kind and error, with new
# draws.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
need cc
is_sanitized && skip "a sanitizer brings its own allocator"
is_measured && skip "gcov does not check its allocations"
cc -shared -fPIC -O1 -o "$T/fail.so" "$ROOT/tests/lib/fail.c" -ldl
fail() { # MOST WHAT...
	local most=$1
	shift
	python3 "$ROOT/tests/lib/fail.py" "$SESSIONFS" "$T/fail.so" "$T" "$seed" "$most" "$@"
}
if [ "${ALL:-}" ]; then
	seed=${SEED:-1}
	echo "seed $seed"
	fail 1000000 cat ls tree check
	fail "$ALL" mount
	exit
fi
for seed in ${SEED:-686653109 351225997}; do
	echo "seed $seed"
	fail 1 cat ls tree check
	fail 0 mount
done
# The effect depends on the directory whose watch is missing.
KINDS=inotify_add_watch fail 9 mount
