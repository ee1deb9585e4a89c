#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Links have the right targets: latest, sessions, leaf, parents, forks, calls and results.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
samples "$T/src"
mount_watched "$T/src" "$T/mnt"
cd "$T/mnt"
leads() { # LINK PLACE
	[ -L "$1" ] || die "$1 is no link"
	is "$(realpath "$2")" "$(realpath "$1")" "where $1 leads"
}
# Every link has a target in the mount.
is "" "$(find . -xtype l)" "links that lead nowhere"
while IFS= read -r -d '' l; do
	[[ $(realpath "$l") == "$T/mnt/"* ]] || die "$l leads out of the mount"
done < <(find . -type l -print0)

is "$(find projects -mindepth 2 -maxdepth 2 -type d | wc -l)" "$(find sessions -mindepth 1 | wc -l)" "sessions by id and by project"
for l in sessions/*; do
	is "$(basename "$l")" "$(head -n 1 "$l/header.json" | sed 's/.*"id":"\([^"]*\)".*/\1/')" "id of $l"
	is "$(stat -Lc %y "$l")" "$(stat -c %y "$l")" "mtime of $l"
done

# The latest is the newest by time, then by name.
touch -d 2026-05-01 "$T/src/--home-ada-notes--/${V1##*/}.jsonl" "$T/src/--home-ada-notes--/${V2##*/}.jsonl"
within 20 "the newest of two with one time" eval "[ \"\$(readlink latest)\" = $V2 ]"
within 20 ".latest of the project" eval "[ \"\$(readlink $NOTES/.latest)\" = ${V2##*/} ]"

# Entries
s=$FORECAST
for e in "$s"/entries/*/; do
	id=$(basename "$e")
	if [ -e "${e}parent" ]; then
		is "$id" "$(grep -x "$id" "$s/entries/$(cat "${e}parent")/children")" "the child $id of its parent"
	else
		is '"parentId":null' "$(grep -o '"parentId":null' "${e}entry.json")" "parent of a root"
	fi
	for c in "$e"tool-calls/*/; do
		[ -d "$c" ] && [ -e "$c/result" ] || continue
		result=$s/entries/$(cat "${c}result")
		is "$id/tool-calls/$(basename "$c")" "$(cat "$result/call")" "the call of $result"
		if [ -e "$result/text.md" ]; then
			leads "${c}output.md" "$result/text.md"
		else
			[ ! -L "${c}output.md" ] || die "output.md of $c leads nowhere"
		fi
	done
done
is 7 "$(find $s/entries -path '*/tool-calls/*/result' | wc -l)" "calls with a result"

# Branches: the path from the root, at every tip and, unlisted, at every entry.
for b in "$s"/branches/*/; do
	[ -L "${b%/}" ] && continue
	is "$(basename "$b")" "$(for l in "$b"[0-9]*; do [[ -e $l/text.md || -e $l/type ]] && case $(cat "$l/type") in message | custom_message | compaction | branch_summary) basename "$(realpath "$l")" ;; esac; done | tail -n 1)" "the end of the path of $b"
done
