#!/usr/bin/env bash
# ARCHITECTURE.md and the pages of the folders name what is there, and a name that is gone is found.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
"$ROOT/scripts/check-names" >"$T/out" 2>&1 || die "$(cat "$T/out")"
mkdir "$T/copy"
cp -r "$ROOT/src" "$ROOT/include" "$ROOT/scripts" "$ROOT/Makefile" "$ROOT/ARCHITECTURE.md" "$T/copy/"
mkdir "$T/copy/tests"
for gone in 'src/tree/gone.c' 'gone.h' 'tree_is_gone' 'gone()'; do
	cp "$ROOT/ARCHITECTURE.md" "$T/copy/"
	printf '\nSee \140%s\140.\n' "$gone" >>"$T/copy/ARCHITECTURE.md"
	fails 1 "is gone" "$ROOT/scripts/check-names" "$T/copy"
done
