#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# all.txt has all texts of a session and nothing else; it exists if there is a text, and grows only at its end.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
entry() { # ID PARENT-AS-JSON REST
	printf '{"id":"%s","parentId":%s,"timestamp":"2026-03-01T00:00:00.000Z",%s}\n' "$@"
}
say() { entry "$1" "$2" "\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"$3\"}"; }
follows() { [ "$(cat "$T/followed")" = "$1" ]; }

samples "$T/src"
cp -r "$ROOT/tests/data/broken" "$T/broken"
for options in "" -oro; do
	for s in src broken; do
		mount_fs "$T/$s" "$T/mnt" ${options:+"$options"}
		timeout 60 python3 "$ROOT/tests/lib/all.py" check "$T/mnt" || die "all.txt of $s ($options)"
		umount_fs "$T/mnt"
	done

	# It appears with the first text, and appended text is at its end, on any branch.
	rm -rf "$T/one"
	mkdir -p "$T/one/p"
	f=$T/one/p/s.jsonl
	{
		printf '{"type":"session","version":3,"id":"s"}\n'
		entry m0 null '"type":"model_change","provider":"p","modelId":"m"'
	} >"$f"
	mount_watched "$T/one" "$T/mnt" ${options:+"$options"}
	all=$T/mnt/projects/p/s/all.txt
	[ ! -e "$all" ] || die "all.txt of a session without texts"
	say a1 '"m0"' 'one\ntwo' >>"$f"
	within 20 "all.txt" test -e "$all"
	want='a1 user: one
a1 user: two'
	is "$want" "$(cat "$all")" "all.txt"
	tail -c +1 -s 0.05 -f "$all" >"$T/followed" &
	tail=$!
	within 20 "what was there" follows "$want"
	grow() { # LINE WANT
		printf '%s\n' "$1" >>"$f"
		want+=$'\n'$2
		within 20 "$2 ($options)" follows "$want"
		is "$want" "$(cat "$all")" "all.txt with $2 ($options)"
		is "$(stat -c %s "$all")" "$(wc -c <"$all")" "its size"
	}
	grow "$(say b1 '"a1"' left)" "b1 user: left"
	grow "$(say c1 '"a1"' right)" "c1 user: right"
	grow "$(entry l1 '"c1"' '"type":"label","targetId":"a1","label":"keep"')" "l1 label: keep"
	grow "$(entry n1 '"l1"' '"type":"session_info","name":"Name"')" "n1 session_info: Name"
	grow "$(say b2 '"b1"' 'left again')" "b2 user: left again"
	kill "$tail"
	wait "$tail" 2>/dev/null || :
	# A repeated id takes the name of the entry before it.
	say b1 '"c1"' 'taken' >>"$f"
	renamed() { [ "$(sed -n 3p "$all")" = "~4 user: left" ]; }
	within 20 "the line whose id came again ($options)" renamed
	timeout 60 python3 "$ROOT/tests/lib/all.py" check "$T/mnt" || die "all.txt of a session that grew ($options)"
	umount_fs "$T/mnt"
done
