#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The figures of docs/TESTING.md are of this version and this tree, and what it names exists.
. "$(dirname "$0")/../lib/lib.sh"
need python3 make
nothing "figures of another version or tree: run scripts/figures" "$ROOT/scripts/figures" --check

page=$ROOT/docs/TESTING.md
while read -r path; do
	[ -e "$ROOT/$path" ] || die "TESTING.md names $path, which is not there"
done < <(grep -oE '`(tests|scripts|src|docs)/[^` *]+`' "$page" | tr -d '`' | sort -u)
while read -r goal; do
	grep -qE "^$goal:" "$ROOT/Makefile" || die "TESTING.md names make $goal, which is not a goal"
done < <(grep -oE '`make [a-z-]+' "$page" | cut -d' ' -f2 | sort -u)

# A copy with a row of another version, and with another count.
mkdir -p "$T/tree/docs" "$T/tree/scripts"
cp "$ROOT/scripts/figures" "$T/tree/scripts/"
cp "$ROOT/NEWS.md" "$T/tree/"
cp "$page" "$T/tree/docs/"
ln -s "$ROOT/tests" "$T/tree/tests"
nothing "the copy" "$T/tree/scripts/figures" --check
sed -i 's/^\(| fuzz targets | \)[0-9]*/\17/' "$T/tree/docs/TESTING.md"
fails 1 "^docs/TESTING.md: fuzz targets: now [0-9]+ in version " "$T/tree/scripts/figures" --check
"$T/tree/scripts/figures"
nothing "the copy, written" "$T/tree/scripts/figures" --check
sed -i '0,/^## [0-9.]*,/s//## 99.0.0,/' "$T/tree/NEWS.md"
fails 1 ": of version [0-9.]+$" "$T/tree/scripts/figures" --check

# The figures of a run replace the figures of the run before, and a run that failed has none.
printf '%s\n' "figure states: 12" "3 passed, 0 failed, 1 skipped" "2 passed, 0 failed, 0 skipped" >"$T/log"
"$T/tree/scripts/figures" check "$T/log"
has_rows() { is "$1" "$(grep -F '`make check` |' "$T/tree/docs/TESTING.md" | sed -n '/^| figure/d; s/ | `make check.*//p' | grep -vE '^\| `make')" "$2"; }
has_rows $'| passed; failed; skipped | 5; 0; 1\n| states | 12' "the figures of a run"
printf '%s\n' "4 passed, 0 failed, 0 skipped" >"$T/log"
"$T/tree/scripts/figures" check "$T/log"
has_rows '| passed; failed; skipped | 4; 0; 0' "the figures of the next run"
echo "3 passed, 1 failed, 0 skipped" >"$T/log"
fails 1 "3 passed, 1 failed: not a run whose figures count" "$T/tree/scripts/figures" check "$T/log"

# The name of a figure can have a colon. A value begins with a digit.
printf '%s\n' "figure pi: append: 3 ms" "1 passed, 0 failed, 0 skipped" >"$T/log"
"$T/tree/scripts/figures" check "$T/log"
has_rows $'| passed; failed; skipped | 1; 0; 0\n| pi: append | 3 ms' "a name with a colon"
sed -i 's/^| pi: append | 3 ms /| pi | append: 3 ms /' "$T/tree/docs/TESTING.md"
fails 1 'pi: append: 3 ms is not a value$' "$T/tree/scripts/figures" --check
