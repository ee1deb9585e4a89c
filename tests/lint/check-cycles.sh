#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/check-cycles finds files that call each other in a circle, and allows as many files of a folder as it lists, no more and no
# fewer. The sources have no other cycles.
. "$(dirname "$0")/../lib/lib.sh"
need nm cc

nothing "cycles that are not allowed" "$ROOT/scripts/check-cycles" "${SESSIONFS%/*}"
matches '^cycle: tree/' "$("$ROOT/scripts/check-cycles" -l "${SESSIONFS%/*}")" "the allowed cycles"

mkdir -p "$T/scripts" "$T/src/one" "$T/src/two" "$T/build/one" "$T/build/two"
cp "$ROOT/scripts/check-cycles" "$T/scripts/"
allow() { sed "s/^ALLOWED=.*/ALLOWED='$1'/" "$ROOT/scripts/check-cycles" >"$T/scripts/check-cycles"; }
echo 'int b(void); int a(void); int a(void) { return b(); }' >"$T/src/one/a.c"
echo 'int c(void); int b(void); int b(void) { return c(); }' >"$T/src/two/b.c"
echo 'int a(void); int d(void); int c(void); int c(void) { return a() + d(); }' >"$T/src/one/c.c"
echo 'int d(void); static int a(void) { return 1; } int d(void) { return a(); }' >"$T/src/two/d.c"
for file in one/a two/b one/c two/d; do cc -c -o "$T/build/$file.o" "$T/src/$file.c"; done
allow ''
fails 1 $'^cycle: one/a.c one/c.c two/b.c\n\tone/a.c -> two/b.c: b\n\tone/c.c -> one/a.c: a\n\ttwo/b.c -> one/c.c: c\nseveral folders: 3 files' \
	"$T/scripts/check-cycles" build
allow 'one=2 two=1'
fails 1 'several folders: 3 files are in cycles, and scripts/check-cycles allows 0' "$T/scripts/check-cycles" build

# A cycle in one folder.
mv "$T/src/two/b.c" "$T/src/one/" && mv "$T/build/two/b.o" "$T/build/one/"
allow 'one=3'
nothing "an allowed cycle" "$T/scripts/check-cycles" build
matches '^cycle: one/a.c one/b.c one/c.c' "$("$T/scripts/check-cycles" -l build)" "the allowed cycle"
allow 'one=2'
fails 1 'one: 3 files are in cycles, and scripts/check-cycles allows 2$' "$T/scripts/check-cycles" build
allow 'one=4'
fails 1 'one: 3 files are in cycles, and scripts/check-cycles allows 4$' "$T/scripts/check-cycles" build
allow 'one=3 two=1'
fails 1 'two: 0 files are in cycles, and scripts/check-cycles allows 1$' "$T/scripts/check-cycles" build
