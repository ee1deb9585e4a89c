#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A session that was idle and was read in full, read-only: lines appended later appear within a second, too.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
samples "$T/src"
mount_watched "$T/src" "$T/mnt" -o ro
file=$T/src/--home-ada-weather--/${FORECAST##*/}.jsonl
s=$T/mnt/$FORECAST

read_all() {
	find "$T/mnt" -ls >/dev/null
	grep -r "nobody said this" "$T/mnt" || :
}
entry() { # ID PARENT FIELDS
	printf '{"id":"%s","parentId":"%s","timestamp":"2026-03-02T12:00:00.000Z",%s}\n' "$@"
}
read_all
parent=$(basename "$(readlink "$s/leaf")")
tip=$(readlink "$s/branches/current")
[ ! -e "$s/entries/$parent/children" ] || die "the leaf has children"
before=$(stat -c %Y "$s/entries/$tip")

entry 99990001 "$parent" '"type":"message","message":{"role":"user","content":"after a long time"}' >>"$file"
cd "$s/entries/$parent" || die "no directory of the leaf"
await "the child, from inside the entry" grep -qsx 99990001 children
cd "$s" || die "no session"
await "a listing that was kept" eval "grep -q 99990001 < <(ls entries)"
await "the tree" grep -q "99990001.*<- leaf" tree.txt
await "the transcript" grep -q "after a long time" transcript.md
await "the branch's transcript" grep -q "after a long time" branches/current/transcript.md
await "the leaf" eval "[ \"\$(readlink leaf)\" = entries/99990001 ]"
await "the time of an entry's directory" eval "[ \"\$(stat -c %Y 'entries/$tip')\" -gt $before ]"
entry 99990002 99990001 '"type":"label","targetId":"'"$tip"'","label":"again"' >>"$file"
await "the label" eval "[ \"\$(cat 'entries/$tip/label')\" = again ]"
await "the label in the tree" grep -q "\[again\]" tree.txt
await "the label's link" test -L labels/again
same "$file" session.jsonl "session.jsonl"

# Other contents of the same size and time.
touch -d '2 hours ago' "$T/stamp"
for text in first other; do
	entry "99990-$text" 99990002 '"type":"label","targetId":"'"$tip"'","label":"'"$text"'"' >>"$file"
	touch -r "$T/stamp" "$file"
	await "the label $text in tree.txt, which has the same size and time" grep -q "\[$text\]" tree.txt
	cat tree.txt tree.txt >"$T/read"
done

# Idle and cached again: a replaced file is noticed.
touch -d '2 hours ago' "$file"
await "the old time" eval "[ \"\$(stat -c %Y session.jsonl)\" = $(stat -c %Y "$file") ]"
read_all
head -n 3 "$file" >"$T/short" && cat "$T/short" >"$file"
await "a file cut short" eval "[ \"\$(ls '$s/entries' | wc -l)\" = 2 ]"
cd "$T" || die "no directory"
