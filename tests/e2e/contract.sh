#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The kit of the contract: the program passes all cases in a mount, in a copy and without either; each name has a row; and
# a wrong tree fails.
. "$(dirname "$0")/../lib/lib.sh"
need python3
kit=$ROOT/tests/contract
run() { python3 "$kit/run" "$@"; }
make_sources() { # WAY
	run --make "$T/$1" >"$T/cases" || die "the cases"
	mkdir "$T/tree.$1"
}
passes() { # ROWS SKIPPED WAY: at least ROWS pass, and at most SKIPPED are skipped
	local rows=$1 most=$2 passed failed skipped
	run --sources "$T/$3" "--$3" "${4:-$T/tree.$3}" >"$T/out" || die "$3: $(cut -c1-1000 "$T/out")"
	read -r passed _ failed _ skipped _ < <(tail -n 1 "$T/out")
	[ "$passed" -ge "$rows" ] && [ "$failed" = 0 ] && [ "$skipped" -le "$most" ] || die "$3: $(tail -n 1 "$T/out")"
	echo "figure rows of the contract that pass, and that cannot be asked, in a $3: $passed, $skipped"
}

# The manual has the version; a row of the case `root` compares it with .status.
matches "Its number is $(cat "$kit/version");" "$(cat "$ROOT/man/sessionfs.5")" "the contract of the manual"

# Every name of the program has a row, and is in the manual.
names=${SESSIONFS%/*}/golden/dump
"$names" --names >"$T/names"
nothing "names without a row" python3 "$kit/coverage" "$ROOT/man/sessionfs.5" <"$T/names"
printf '1\tprojects/PROJECT/STEM/\tnew.txt\tfile\twritable\tx\n' >>"$T/names"
fails 1 "new.txt: no row of a case has it as attributes file writable.*new.txt: the manual" python3 "$kit/coverage" "$ROOT/man/sessionfs.5" <"$T/names"

make_sources program
passes 490 310 program "$SESSIONFS"

make_sources directory
# A copy syncs each file, which costs nothing in memory.
copies=$(mktemp -d /dev/shm/sessionfs-test.XXXXXX) || copies=$T/tree.directory
clean_first() { rm -rf "$copies"; }
while read -r c option; do
	"$SESSIONFS" ${option:+"-o$option"} -S "$T/directory/$c" --copy / "$copies/$c" >/dev/null || die "a copy of $c"
done <"$T/cases"
passes 360 520 directory "$copies"

# A tree with other bytes, another link, a name more or a name less fails.
session=$copies/session/projects/home-ada-garden/2026-03-02T09-00-00-000Z_5e55
(
	cd "$session"
	chmod u+w name context.json labels .
	echo Gardens >name
	ln -sfn entries/00000003 leaf
	rm cwd
	touch labels/new
	echo >>context.json
)
run --sources "$T/directory" --directory "$copies" session >"$T/out" && die "a wrong tree passes"
is "7 failed" "$(tail -n 1 "$T/out" | grep -o '[0-9]* failed')" "rows that a wrong tree fails"
matches "session:[0-9]*: cat projects/home-ada-garden/.*/name
  expected b'Garden\\\\n'
  got      b'Gardens\\\\n'" "$(cat "$T/out")" "a failure"

# So does another mode of a file, or another time of a name, for each name of a session and above sessions.
wrong_names() { # REGEX: exactly the lines that match it are wrong
	run --sources "$T/directory" --directory "$copies" attributes >"$T/out" && die "wrong attributes pass"
	sed -n '/^unlisted/q;/^|[0-7]* 2/p' "$kit/cases/attributes.txt" | grep "$1" | cut -d' ' -f3- | sort >"$T/expected"
	grep '^  expected' "$T/out" | grep -o " 2026[^']*" | cut -d' ' -f3- | sort >"$T/got"
	[ -s "$T/got" ] || die "no name is wrong"
	same "$T/expected" "$T/got" "names with wrong attributes"
}
find "$copies/attributes" -type f -exec chmod 0111 {} +
wrong_names '[^@/]$'
find "$copies/attributes" -exec touch -h -d 2026-03-02T09:10:01Z {} +
wrong_names ''

need_mount
make_sources mount
while read -r c option; do mount_fs "$T/mount/$c" "$T/tree.mount/$c" ${option:+"-o$option"}; done <"$T/cases"
passes 770 8 mount
