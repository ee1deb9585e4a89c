#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The commands in CONTRIBUTING.md exist and work, and the examples in tests/README.md are tests that pass.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
export SESSIONFS
build=$(dirname "$SESSIONFS")

# Commands with tests of their own, among them make check, are only printed here.
mkdir "$T/bin" "$T/checkout"
cat >"$T/bin/make" <<END
#!/bin/sh
exec /usr/bin/make -s -C "$ROOT" -n "\$@" >/dev/null
END
chmod +x "$T/bin/make"
ln -s "$ROOT"/* "$T/checkout/"
ln -sfn "$build" "$T/checkout/build"
(cd "$T/checkout" && PATH=$T/bin:$PATH python3 "$ROOT/tests/lib/examples.py" CONTRIBUTING.md) || die "CONTRIBUTING.md"
while read -r path; do
	[ -e "$ROOT/tests/$path" ] || [ -e "$ROOT/$path" ] || die "$path: in tests/README.md, but missing"
done < <(grep -oE '`[a-z]+/[a-z_/]+(\.[a-z]+)?`' "$ROOT/tests/README.md" | tr -d '`')

# Each block of code becomes a file, named by its number.
awk -v to="$T/" '/^```[a-z]/ { file = to (++n) "." substr($0, 4); next } /^```/ { file = "" } file { print >file }' "$ROOT/tests/README.md"
is "1.c 2.c 3.c 4.c 5.c 6.sh" "$(cd "$T" && echo [0-9].*)" "examples in tests/README.md"
mkdir -p "$T/tests/e2e"
ln -s "$ROOT/tests/lib" "$ROOT/tests/data" "$T/tests/"
cp "$T/6.sh" "$T/tests/e2e/"
bash -euo pipefail "$T/tests/e2e/6.sh" || die "the example of a test with a mount"

! is_sanitized && ! is_measured || exit 0 # another way to compile
need cc
# shellcheck disable=SC2046
run() { # FILE MAIN HEADER...: with these headers and this main, FILE is a test that passes
	local file=$1 main=$2
	shift 2
	{
		printf '#include "%s"\n' "$@"
		cat "$T/$file.c"
		echo "int main(void) { $main; }"
	} >"$T/whole-$file.c"
	cc -I"$ROOT/include" -I"$ROOT/tests/unit" -I"$ROOT/tests/wire" -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 \
		$(pkg-config --cflags fuse3) -Wall -Werror -o "$T/example-$file" "$T/whole-$file.c" \
		$([ "$file" != 5 ] || printf '%s\n' "$ROOT/tests/wire/wire.c" "$build"/fuse/*.o) "$build/libsessionfs.a" \
		-lcmocka $(pkg-config --libs fuse3 libutf8proc) -lmd -lmd4c -lpthread || die "example $file cannot be compiled"
	"$T/example-$file" >"$T/out" 2>&1 || die "example $file: $(cat "$T/out")"
}
run 1 "return run_cases(NULL, NULL)" cases.h sessionfs/base/name.h texts.h
run 2 "return run_cases(NULL, NULL)" cases.h write_fixture.h
run 3 "return sizeof session < 100" session_lines.h
run 4 "char c; return file_pread(0, &c, 1, 0) != -EIO" errno.h sessionfs/base/sys.h sessionfs/file/opened.h
run 5 "return run_cases(NULL, NULL)" fixture.h
