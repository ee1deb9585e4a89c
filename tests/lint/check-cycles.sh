#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/check-cycles finds cyclic includes between files, and none in folders without them.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need nm cc

nothing "the folders without cycles" "$ROOT/scripts/check-cycles" "${SESSIONFS%/*}" base json file catalog render write fuse cmd

mkdir -p "$T/scripts" "$T/src/one" "$T/src/two" "$T/build/one" "$T/build/two"
cp "$ROOT/scripts/check-cycles" "$T/scripts/"
echo 'int b(void); int a(void); int a(void) { return b(); }' >"$T/src/one/a.c"
echo 'int c(void); int b(void); int b(void) { return c(); }' >"$T/src/two/b.c"
echo 'int a(void); int d(void); int c(void); int c(void) { return a() + d(); }' >"$T/src/one/c.c"
echo 'int d(void); static int a(void) { return 1; } int d(void) { return a(); }' >"$T/src/two/d.c"
for file in one/a two/b one/c two/d; do cc -c -o "$T/build/$file.o" "$T/src/$file.c"; done
fails 1 $'^cycle: one/a.c one/c.c two/b.c\n\tone/a.c -> two/b.c: b\n\tone/c.c -> one/a.c: a\n\ttwo/b.c -> one/c.c: c$' \
	"$T/scripts/check-cycles" build
fails 1 '^cycle' "$T/scripts/check-cycles" build two
nothing "another folder" "$T/scripts/check-cycles" build three
