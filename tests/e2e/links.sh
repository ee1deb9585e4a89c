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

leads latest $FLAT
leads $WEATHER/.latest $FLAT
leads $NOTES/.latest $NOTES/2026-03-09T07-05-03-460Z_019cd169-dc22-7528-9185-2d61aab21499
is "${FLAT##*/}" "$(readlink $WEATHER/.latest)" "the text of .latest"
is "$(find projects -mindepth 2 -maxdepth 2 -type d | wc -l)" "$(find sessions -mindepth 1 | wc -l)" "sessions by id and by project"
for l in sessions/*; do
	is "$(basename "$l")" "$(head -n 1 "$l/header.json" | sed 's/.*"id":"\([^"]*\)".*/\1/')" "id of $l"
	is "$(stat -Lc %y "$l")" "$(stat -c %y "$l")" "mtime of $l"
done

# The latest is the newest by time, then by name.
touch -d 2026-05-01 "$T/src/--home-ada-notes--/${V1##*/}.jsonl" "$T/src/--home-ada-notes--/${V2##*/}.jsonl"
within 20 "the newest of two with one time" eval "[ \"\$(readlink latest)\" = $V2 ]"
within 20 ".latest of the project" eval "[ \"\$(readlink $NOTES/.latest)\" = ${V2##*/} ]"

# Forks
is $FORECAST "$(cat $FORK/parent)" "the parent of a fork"
is $FORK "$(cat $FORECAST/forks)" "the forks of a session"
is $ICONS "$(cat $NOTES/2026-03-08T11-20-03-460Z_019ccd2c-f5c2-7528-9185-2d5f34f25354/parent)" "a parent in another project"
is $NOTES/2026-03-08T11-20-03-460Z_019ccd2c-f5c2-7528-9185-2d5f34f25354 "$(cat $ICONS/forks)" "forks in another project"
[ ! -e $FORECAST/parent ] || die "a session that is no fork has a parent"
[ ! -e $CACHE/forks ] || die "a session without forks has forks"

# Entries
s=$FORECAST
leads $s/leaf $s/entries/33ccdcfd
leads $s/last $s/entries/c8aa6125
leads $s/branches/current $s/branches/c8aa6125
leads "$s/labels/forecast works" $s/entries/436adaf5
leads "$s/labels/output: table%2Fcolumns" $s/entries/f31d0e43
leads $s/labels/todo~c36a17af $s/entries/c36a17af
leads $s/labels/todo~c8aa6125 $s/entries/c8aa6125
is 5 "$(find $s/labels -type l | wc -l)" "labels"
is "output: JSON ✓" "$(cat $s/entries/2f83ebc0/label)" "label"
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
cmp $s/branches/current/context.json $s/context.json || die "context.json differs at the current branch"
cmp $s/branches/current/context.md $s/context.md || die "context.md differs at the current branch"
cmp $s/branches/current/transcript.md $s/transcript.md || die "transcript.md differs at the current branch"
id=436adaf5
! ls $s/branches | grep $id >/dev/null || die "$id is listed as a branch"
grep -q "prints three days" $s/branches/$id/context.md || die "the context as of $id"
! grep -q "Make it a table" $s/branches/$id/context.md || die "the context as of $id has later messages"
[ ! -e $s/branches/nonsense ] || die "a branch of no entry"
