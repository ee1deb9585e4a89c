#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/setup installs the programs that tests need, CONTRIBUTING.md lists them, and a test that is skipped without
# one fails.
. "$(dirname "$0")/../lib/lib.sh"

# Prints what `make check` installs, from the first function that only it and the demo call to its last.
part() { sed -n '/^want_mount()/,/^want_conformance()/p' "$ROOT/scripts/setup"; }
named() { sed '/^want_conformance()/q' "$ROOT/scripts/setup" | grep -oE '(want|wish) \S+ (has|lib|test) .*|for program in .*' | tr ' /' '\n' | tr -d ';'; }
while read -r program; do
	grep -qxF -- "$program" < <(named) || die "a test needs $program, which scripts/setup does not look for"
done < <(grep -rhE '^\s*(need|.*\|\| lacks) [a-z]' "$ROOT"/tests/{e2e,lint,browser,golden,lib} --include='*.sh' --include=run |
	sed -E 's/^\s*need //; s/.*lacks //; s/ *#.*//' | tr ' ' '\n' | sort -u)

packages() {
	part | grep -oE '(want|wish) [a-z][a-z0-9-]+ ' | cut -d' ' -f2
	part | grep -oE 'for program in [^;]*; do' | grep -v setpriv | sed 's/^for program in //; s/; do//' | tr ' ' '\n'
}
sed -n '/^`make check` installs/,/^\[tests/p' "$ROOT/CONTRIBUTING.md" | grep -A1 '^\*' | grep -oE '`[a-z][a-z0-9-]+`' | tr -d '`' | sort -u >"$T/said"
packages | sort -u >"$T/installed"
diff "$T/said" "$T/installed" >&2 || die "CONTRIBUTING.md (<) and scripts/setup (>) name other packages"

# A tree in which one test does not find a program.
mkdir -p "$T/tree/tests/e2e" "$T/tree/tests/lib" "$T/tree/scripts" "$T/tree/build"
cp "$ROOT/scripts/check" "$T/tree/scripts/"
cp "$ROOT/tests/lib/limited" "$T/tree/tests/lib/"
: >"$T/tree/build/sessionfs"
cat >"$T/tree/tests/e2e/lacking.sh" <<EOF
#!/usr/bin/env bash
. "$ROOT/tests/lib/lib.sh"
lacks no-such-program
EOF
# The standard input of a test is a file of its own.
printf '#!/bin/sh\n[ ! /dev/stdin -ef /dev/null ]\n' >"$T/tree/tests/e2e/good.sh"
chmod +x "$T"/tree/tests/e2e/*
fails 1 "FAIL  e2e/lacking.sh .there is no no-such-program here.*1 passed, 1 failed, 0 skipped" env -u FAST "$T/tree/scripts/check" build
fails 0 "skip  e2e/lacking.sh: there is no no-such-program here.*1 passed, 0 failed, 1 skipped" env FAST=1 "$T/tree/scripts/check" build
