#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tests/plants/plants.txt has a plant for each promise of docs/TESTING.md, names the tests that the page names, and fits the sources. The
# runner reports plants that are not noticed.
. "$(dirname "$0")/../lib/lib.sh"
need make python3 rsync
nothing "what is wrong with tests/plants/plants.txt" "$ROOT/tests/plants/run.py" --check

# A small tree: a program that prints two lines, a promise, and its test.
unset ONLY N SEED LIST TIME CHECKED # of the make that runs this
tree=$T/tree
mkdir -p "$tree"/{src,docs,scripts,build,tests/e2e,tests/plants}
cp "$ROOT/tests/plants/run.py" "$tree/tests/plants/"
printf 'echo one\necho two\n' >"$tree/src/print"
printf '| promise | test |\n|---|---|\n| It prints two lines. | `tests/e2e/prints.sh`, `tests/unit` |\n' >"$tree/docs/TESTING.md"
printf 'build/%%: src/print\n\tsh -n src/print\n\tmkdir -p $(@D)\n\tcp src/print $@\n' >"$tree/Makefile"
cat >"$tree/scripts/check" <<'END'
#!/bin/sh
[ "$(sh build/sessionfs | wc -l)" != 2 ] || { echo 1 passed, 0 failed, 0 skipped && exit; }
echo 0 passed, 1 failed, 0 skipped && exit 1
END
chmod +x "$tree/scripts/check"
: >"$tree/tests/e2e/prints.sh"

plant() { # NAME LINE...: of a plant of the test
	printf '%s\ntest tests/e2e/prints.sh\nfile src/print\n' "$1"
	printf '%s\n' "${@:2}" ""
}
plants() { # STATUS REGEX ARGUMENT...: what the table on standard input comes to
	cat >"$tree/tests/plants/plants.txt"
	fails "$1" "$2" "$tree/tests/plants/run.py" "${@:3}"
}
one=$(printf '== It prints two lines.\n\n' && plant "a line is missing" "-echo two")$'\n\n'
plants 0 '^$' --check <<<"$one"
plants 0 '^ok    tests/e2e/prints.sh: a line is missing: .* s\).*of 1.1 passed, 0 failed, 0 skipped$' "$tree/build" <<<"$one"
is "echo one echo two" "$(xargs <"$tree/src/print")" "the source afterwards"
is "echo one echo two" "$(xargs <"$tree/build/plants/tree/src/print")" "its copy afterwards"
more=$one$(plant "another line" "-echo two" "+echo three" && plant "no program" " echo one" "-echo two" "+(")$'\n\n'
plants 1 'FAIL  tests/e2e/prints.sh: another line: not noticed: the test passes' "$tree/build" <<<"$more"
plants 1 'FAIL  tests/e2e/prints.sh: no program: does not compile: .*1 passed, 2 failed, 0 skipped$' "$tree/build" <<<"$more"
ONLY=missing plants 0 'of 1.1 passed, 0 failed, 0 skipped$' "$tree/build" <<<"$more"
LIST=1 N=1 SEED=x plants 0 '^tests/e2e/prints.sh: [a-z ]*$' "$tree/build" <<<"$more"
ONLY=nothing plants 1 'no such plants' "$tree/build" <<<"$more"

# An error names its plant.
wrong() { # REGEX NAME LINE...
	plants 1 "^tests/plants/plants.txt: $1\$" --check <<<"$more$(plant "${@:2}")"
}
wrong 'four: src/print has this text 0 times instead of once: echo four' four "-echo four"
wrong 'any: src/print has this text 2 times instead of once: echo' any "-echo"
wrong 'none: src/print: changes nothing' none " echo two"
wrong 'another line: two plants have this name' "another line" "-echo one"
wrong 'odd: what is this line. echo one' odd "echo one"
wrong 'a file: there is no src/none' "a file" "-echo one" "file src/none" "-echo"
wrong 'a test: docs/TESTING.md does not name tests/e2e/other.sh for the promise: It prints two lines.' "a test" "-echo one" "test tests/e2e/other.sh"
wrong 'a unit: there is no tests/unit/x.c' "a unit" "-echo one" "test tests/unit/x.c"
plants 1 'no plant breaks the promise: It prints two lines.' --check <<<"${one/two lines/lines}"
plants 1 'a line is missing: docs/TESTING.md has no such promise: It prints lines.' --check <<<"${one/two lines/lines}"
