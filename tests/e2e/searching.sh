#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# With .ignore, rg and fd search all.txt, name and title of each session, wherever the search begins; with -uu,
# everything.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need rg fdfind
samples "$T/src"
# Projects and sessions named like files of a session.
for p in entries path home-x; do
	mkdir "$T/src/--$p--"
	for s in $([ $p != entries ] || echo branches labels) resume title x; do
		printf '%s\n' '{"type":"session","version":3,"id":"'"$p-$s"'","timestamp":"2026-03-02T09:15:03.460Z","cwd":"/x"}' \
			'{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-03-02T09:15:03.460Z","message":{"role":"user","content":"xyzzy"}}' \
			'{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-03-02T09:15:03.460Z","message":{"role":"assistant","content":[{"type":"text","text":"so: frotz"}]}}' \
			>"$T/src/--$p--/$s.jsonl"
	done
done
mount_fs "$T/src" "$T/mnt"
is README.md "$(readlink "$T/mnt/AGENTS.md")" "AGENTS.md"

hits() { # WORD DIRECTORY ARGUMENT...: prints what rg finds, each file with its number of lines
	(cd "$2" && rg -Hc "$1" "${@:3}" </dev/null | sort || :)
}
finds() { # COUNT DIRECTORY ARGUMENT...: rg finds the text of an answer once in that many sessions
	local out
	out=$(hits frotz "${@:2}")
	is "$1" "$(grep -c 'all.txt:1$' <<<"$out" || :)" "sessions that rg ${*:3} finds in $2 ($out)"
	is "$1" "$(grep -c . <<<"$out" || :)" "files that rg ${*:3} finds in $2 ($out)"
}
m=$T/mnt p=$T/mnt/projects
finds 11 "$m" .
finds 11 "$m" "$m"
finds 11 "$T" mnt
finds 11 "$p" .
finds 3 "$m" projects/home-x
finds 3 "$p" home-x
finds 3 "$p/home-x" .
finds 1 "$m" projects/home-x/x
finds 1 "$m" "$p/path/resume"
finds 1 "$m" sessions/home-x-x
finds 1 "$p/home-x" x
finds 1 "$p/home-x/x" .
finds 11 "$m" -L .
is "projects/home-x/x/all.txt:1 projects/home-x/x/title:1" "$(hits xyzzy "$m" projects/home-x/x | xargs)" "a title, and its message"

# Files named as arguments are searched, and with -uu everything.
is "projects/home-x/x/tree.txt:1" "$(hits frotz "$m" projects/home-x/x/tree.txt)" "a file given by hand"
matches "entries/aaaa0002/text.md:1" "$(hits frotz "$m" projects/home-x/x/entries)" "entries/ given by hand"
is "$(cd "$p/home-x/x" && grep -rl frotz . | sort)" "$(cd "$p/home-x/x" && rg -uul frotz . | sort)" "rg -uu and grep -r"

is "$(cd "$p" && find . -name all.txt -printf '%P\n' | sort)" "$(cd "$m" && fdfind -tf --strip-cwd-prefix . | sed -n 's,^projects/\(.*all.txt\)$,\1,p' | sort)" "all.txt by fd"
is "all.txt name title" "$(cd "$m" && fdfind -tf . | sed 's,.*/,,' | sort -u | xargs)" "all that fd lists"
is "all.txt title" "$(cd "$m" && fdfind . projects/home-x/x | sed 's,.*/,,' | xargs)" "the names that fd lists in a session"
