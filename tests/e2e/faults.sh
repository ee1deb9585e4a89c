#!/usr/bin/env bash
# Each call to the system and each allocation fails once, in turn: see tests/lib/fail.py. Here some of them, drawn anew
# each time (SEED=n repeats it), of every kind. `make fault` takes all.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
need cc
is_sanitized && skip "a sanitizer brings its own allocator"
cc -shared -fPIC -O1 -o "$T/fail.so" "$ROOT/tests/lib/fail.c" -ldl
seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
echo "seed $seed"
fail() { # MOST WHAT...
	local most=$1
	shift
	python3 "$ROOT/tests/lib/fail.py" "$SESSIONFS" "$T/fail.so" "$T" "$seed" "$most" "$@"
}
if [ "${ALL:-}" ]; then
	fail 1000000 cat ls tree check
	fail "$ALL" mount
	exit
fi
fail 1 cat ls tree check
fail 0 mount
