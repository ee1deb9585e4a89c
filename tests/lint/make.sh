#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The Makefile: prints nothing without a compiler, builds on all cores, rebuilds when flags change, leaves
# _FORTIFY_SOURCE to the user's flags, and lists its targets and compile commands.
. "$(dirname "$0")/../lib/lib.sh"
need make python3 cc
unset MAKEFLAGS MAKELEVEL SAN TSAN COVERAGE CC CFLAGS CPPFLAGS LDFLAGS BUILD

# A small program replaces ours.
mkdir -p "$T/tree/src/base" "$T/tree/src/cmd" "$T/tree/scripts"
cp "$ROOT/Makefile" "$ROOT/NEWS.md" "$T/tree/"
cd "$T/tree"
echo 'int answer(void); int answer(void) { return 0; }' >src/base/answer.c
echo 'int answer(void); int main(void) { return answer(); }' >src/cmd/main.c
program=build/no-fuse/sessionfs
built() { # ARGUMENT...: prints what make builds of it
	make V=0 FUSE=0 "$@" $program | sed "/^make/d" | paste -sd' '
}

# Before scripts/setup installs a compiler.
mkdir "$T/bin"
for c in make sh bash sed sort expand nproc echo; do ln -s "$(command -v $c)" "$T/bin/$c"; done
out=$(PATH=$T/bin make -s help 2>&1)
is "" "$(grep -v '^make' <<<"$out")" "the output of make without a compiler"

# --- jobs ---
# shellcheck disable=SC2016
printf 'jobs other:\n\t@echo "$(filter -j%%,$(MAKEFLAGS))"\n' >jobs.mk
jobs() { "$@" make -s -f Makefile -f jobs.mk jobs 2>&1; }
is "-j$(nproc)" "$(jobs env)" "jobs without -j"
is "-j1" "$(jobs env MAKEFLAGS=-j1)" "jobs by MAKEFLAGS"
is "" "$(jobs env MAKELEVEL=1)" "jobs of a make within a make"
is "-j1" "$(make -s -j1 -f Makefile -f jobs.mk jobs)" "jobs with -j1"
is "" "$(make -s -f Makefile -f jobs.mk jobs other | sort -u)" "jobs where two things are made one after the other"

# --- flags ---
is "CC cmd/main.o CC base/answer.o AR libsessionfs.a LD sessionfs" "$(built -j1)" "the first time"
is "" "$(built)" "the second time"
is "CC cmd/main.o CC base/answer.o AR libsessionfs.a LD sessionfs" "$(built -j1 CFLAGS=-O1)" "with another CFLAGS"
is "" "$(built CFLAGS=-O1)" "with the same"
for flags in LDFLAGS=-Wl,-O1 "CPPFLAGS=-DQUOTED='\"q\"'" CC=gcc; do
	[ "$flags" != CC=gcc ] || command -v gcc >/dev/null || continue
	matches "CC cmd/main.o.*LD sessionfs" "$(built -j1 "$flags")" "with $flags"
	is "" "$(built "$flags")" "with the same $flags"
done
defines() { # ARGUMENT...: prints each -D_FORTIFY_SOURCE of the compile command
	make -n V=1 FUSE=0 "$@" build/no-fuse/cmd/main.o | grep -e ' -c ' | grep -oE '[-]D_FORTIFY_SOURCE=.' | paste -sd' '
}
is "-D_FORTIFY_SOURCE=2" "$(defines)" "by default"
for name in CFLAGS CPPFLAGS; do
	is "-D_FORTIFY_SOURCE=3" "$(defines $name="-O2 -D_FORTIFY_SOURCE=3")" "where $name has it"
done
# Hardening flags that the compiler supports for this processor, and no others.
for flag in -fstack-clash-protection -fcf-protection; do
	has=0 uses=0
	cc -Werror $flag -S -o /dev/null -x c /dev/null 2>/dev/null || has=$?
	grep -q -e " $flag " < <(make -n V=1 FUSE=0 $program CFLAGS=-O2 | grep -e " -c ") || uses=$?
	is $((has > 0)) $((uses > 0)) "$flag"
done
cat >"$T/bin/old-cc" <<'END'
#!/bin/sh
case "$*" in *stack-clash*|*cf-protection*) exit 1 ;; esac
exec cc "$@"
END
chmod +x "$T/bin/old-cc"
built CC="$T/bin/old-cc" >"$T/out" 2>&1
"$program" || die "a compiler that lacks them: $(cat "$T/out")"

# --- help and compile_commands.json ---
while read -r target; do
	grep -qE "^$target( [a-z-]+)*:" Makefile || die "make help names $target, which is none"
done < <(make -s help | sed -nE 's/^make ([a-z_.-]+).*/\1/p')
while read -r target; do
	grep -q "^make $target " < <(make -s help) || die "make help lacks $target, which README.md has"
done < <(sed -n 's/.*`make \([a-z-]*\)`.*/\1/p' "$ROOT/README.md")
make -s compile_commands.json CPPFLAGS="-DQUOTED='\"q\"'"
python3 - <<'END' || die "compile_commands.json"
import json, subprocess
commands = json.load(open("compile_commands.json"))
assert [c["file"] for c in commands] == ["src/base/answer.c", "src/cmd/main.c"], commands
for c in commands:
    subprocess.run(c["command"] + " -o /dev/null", shell=True, cwd=c["directory"], check=True)
END
make -s clean
[ ! -e build ] && [ ! -e compile_commands.json ] || die "make clean leaves something"
