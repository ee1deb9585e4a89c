#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# No group of files gains a phrase that is hard to read, and code, paths and names are not counted.
. "$(dirname "$0")/../lib/lib.sh"
"$ROOT/scripts/check-phrases" >"$T/out" 2>&1 || die "$(cat "$T/out")"
mkdir "$T/copy"
(cd "$ROOT" && cp -r src include tests man docs scripts ./*.md "$T/copy/")
check=("$ROOT/scripts/check-phrases" -l "$T/copy")

refused() { # GROUP FILE TEXT: a file with this text at its end
	cp "$T/copy/$2" "$T/old"
	printf '%s\n' "$3" >>"$T/copy/$2"
	fails 1 "$1	$2:[0-9]*: .*more than the limit" "${check[@]}"
	cp "$T/old" "$T/copy/$2"
}
refused README README.md "This was told to users."
refused manual man/sessionfs.1 "Nobody reads it."
refused documents ARCHITECTURE.md "It lies there."
refused messages src/base/buf.c 'const char *s = "is waited in vain";'
refused comments src/base/buf.c '/* First line
 * is made anew. */'
refused comments scripts/demo '# Goes on with it.'
refused tests tests/unit/test_buf.c '// behind it'

# Code, and names that only contain such a word.
cat >>"$T/copy/src/base/buf.c" <<'END'
int nobody_lies(int behind);
const char *name = "nobody";
END
printf '`nobody`\n\n```\nanew\n```\n' >>"$T/copy/README.md"
"${check[@]}" >"$T/out" 2>&1 || die "$(tail -n 3 "$T/out")"

rm -r "$T/copy/tests"
fails 1 'lower the limit' "${check[@]}"
