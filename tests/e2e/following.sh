#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Lines that pi appends, and files that are renamed, deleted or rewritten, show within a second.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
samples "$T/src"
if [ "${FOLLOW_OPTIONS-}" ]; then
	# shellcheck disable=SC2086 # words
	mount_fs "$T/src" "$T/mnt" $FOLLOW_OPTIONS
else
	mount_watched "$T/src" "$T/mnt"
fi
dir=$T/src/--home-ada-weather--
file=$dir/${FORECAST##*/}.jsonl
s=$T/mnt/$FORECAST

line() { # ID PARENT TEXT
	printf '{"type":"message","id":"%s","parentId":"%s","timestamp":"2026-03-02T12:00:00.000Z","message":{"role":"user","content":"%s"}}\n' "$@"
}
find "$T/mnt" >/dev/null # everything is in the kernel's caches
cat "$s/transcript.md" >/dev/null

# An appended entry, in every place where it shows; waiting readers get it and nothing else.
size=$(stat -c %s "$s/session.jsonl") shown=$(stat -c %s "$s/transcript.md")
tail -c +$((size + 1)) -f --pid=$$ "$s/session.jsonl" >"$T/tail.jsonl" &
tail -c +$((shown + 1)) -f --pid=$$ "$s/transcript.md" >"$T/tail.md" &
line 99990001 33ccdcfd "one more question" >>"$file"
await "ls entries" eval "ls '$s/entries' | grep 99990001 >/dev/null"
await "stat of the entry" test -f "$s/entries/99990001/text.md"
await "the leaf" eval "[ \"\$(readlink '$s/leaf')\" = entries/99990001 ]"
await "context.md" grep -q "one more question" "$s/context.md"
await "transcript.md" grep -q "one more question" "$s/transcript.md"
await "the branch" eval "[ \"\$(readlink '$s/branches/current')\" = 99990001 ]"
await "tree.txt" grep -q "99990001.*<- leaf" "$s/tree.txt"
await "tail -f session.jsonl" test -s "$T/tail.jsonl"
await "tail -f transcript.md" grep -q "one more question" "$T/tail.md"
is "$(line 99990001 33ccdcfd "one more question")" "$(cat "$T/tail.jsonl")" "the output of tail -f on session.jsonl"
same "$file" "$s/session.jsonl" "session.jsonl"
is "$(wc -c <"$s/transcript.md")" "$(stat -c %s "$s/transcript.md")" "size of the grown transcript"

# No view shows half a line.
whole=$(line 99990002 99990001 "in two pieces")
printf %s "${whole:0:60}" >>"$file"
cp "$file" "$dir/later.jsonl" # once this shows, so does everything before it
await "what came later" test -e "${s%/*}/later"
rm "$dir/later.jsonl"
await "its end" test ! -e "${s%/*}/later"
is "" "$(tail -c 1 "$s/session.jsonl" | tr -d '\n')" "the end of session.jsonl while a line is being written"
[ ! -e "$s/entries/99990002" ] || die "half a line is an entry"
printf '%s\n' "${whole:60}" >>"$file"
await "the finished line" grep -q "in two pieces" "$s/entries/99990002/text.md"
[ ! -e "$s/problems.txt" ] || die "problems: $(cat "$s/problems.txt")"

# Names and labels that appear, change and disappear.
[ ! -e "$T/mnt/$ICONS/name" ] || die "a name before its time"
icons=$dir/${ICONS##*/}.jsonl
echo '{"type":"session_info","id":"99990003","parentId":"7ce63396","timestamp":"2026-03-03T15:00:00.000Z","name":"Chart"}' >>"$icons"
await "the name" eval "[ \"\$(cat '$T/mnt/$ICONS/name' 2>/dev/null)\" = Chart ]"
echo '{"type":"label","id":"99990004","parentId":"99990003","timestamp":"2026-03-03T15:00:01.000Z","targetId":"99990003","label":"here"}' >>"$icons"
await "the label" test -L "$T/mnt/$ICONS/labels/here"
echo '{"type":"label","id":"99990005","parentId":"99990004","timestamp":"2026-03-03T15:00:02.000Z","targetId":"99990003"}' >>"$icons"
await "the label's end" test ! -L "$T/mnt/$ICONS/labels/here"

# New, renamed and deleted sessions; a new project.
now=$dir/2026-03-20T00-00-00-000Z_new.jsonl
{
	echo '{"type":"session","version":3,"id":"new","timestamp":"2026-03-20T00:00:00.000Z","cwd":"/home/ada/weather"}'
	line 99990006 "" hello | sed 's/"parentId":""/"parentId":null/'
} >"$now"
await "the new session" test -d "$T/mnt/$WEATHER/2026-03-20T00-00-00-000Z_new"
await "latest" eval "[ \"\$(readlink '$T/mnt/$WEATHER/.latest')\" = 2026-03-20T00-00-00-000Z_new ]"
await "sessions/new" test -f "$T/mnt/sessions/new/title"
touch -d 2026-01-01 "$now"
await "latest after it got an older time" eval "[ \"\$(readlink '$T/mnt/$WEATHER/.latest')\" != 2026-03-20T00-00-00-000Z_new ]"
touch "$now"
await "latest after it got a newer time" eval "[ \"\$(readlink '$T/mnt/latest')\" = $WEATHER/2026-03-20T00-00-00-000Z_new ]"
mv "$now" "$dir/renamed.jsonl"
await "the new name" test -f "$T/mnt/$WEATHER/renamed/title"
await "the old name's end" test ! -e "$T/mnt/$WEATHER/2026-03-20T00-00-00-000Z_new"
rm "$dir/renamed.jsonl"
await "the end" test ! -e "$T/mnt/$WEATHER/renamed"
await "the listing" eval "! ls '$T/mnt/$WEATHER' | grep renamed >/dev/null"
mkdir "$T/src/--tmp-x--"
cp "$file" "$T/src/--tmp-x--/copy.jsonl"
await "the new project" test -d "$T/mnt/projects/tmp-x/copy"
rm -r "$T/src/--tmp-x--"
await "the project's end" eval "! ls '$T/mnt/projects' | grep tmp-x >/dev/null"

# Rewritten in place (as pi's migration does), truncated, replaced by another file.
grep -v '"type":"label"' "$file" >"$T/short"
cat "$T/short" >"$file"
await "the rewritten file" eval "cmp -s '$file' '$s/session.jsonl'"
await "labels are gone" eval "[ -z \"\$(ls '$s/labels')\" ]"
# A reader that follows the name sees that another file took its place, also a longer one, and one of many pages.
name=$T/mnt/$WEATHER/followed/session.jsonl
long=$(head -c 600 /dev/zero | tr '\0' x)
session() { # TEXT...
	head -n 1 "$T/short"
	for text; do line "$text" root "$text"; done
}
session one "two $long$long$long$long" "three $long$long$long$long" >"$dir/followed.jsonl"
touch -d "1 hour ago" "$dir/followed.jsonl"
await "the session to follow" test -f "$name"
tail -n +1 -F -s 0.1 --max-unchanged-stats=1 --pid=$$ "$name" >"$T/followed" 2>"$T/said" &
await "its lines" cmp -s "$dir/followed.jsonl" "$T/followed"
tail -n +1 -F -s 0.1 --max-unchanged-stats=1 --pid=$$ "${name%/*}/transcript.md" >"$T/followed.md" 2>"$T/said.md" &
await "its transcript" grep -q three "$T/followed.md"
session red orange yellow green blue violet "black $long" "white $long" >"$T/other"
cp "$T/other" "$T/whole"
mv "$T/other" "$dir/followed.jsonl"
await "the lines of the file that replaced it" eval "tail -n 9 '$T/followed' | cmp -s - '$T/whole'"
grep -qE "has become accessible|has been replaced" "$T/said" || die "tail -F: $(cat "$T/said")"
await "the transcript of that file" grep -q white "$T/followed.md"
rm "$dir/followed.jsonl"
head -n 6 "$T/short" >"$T/other" && mv "$T/other" "$file"
await "the replaced file" eval "[ \"\$(ls '$s/entries' | wc -l)\" = 5 ]"
await "its text" eval "cmp -s '$file' '$s/session.jsonl'"
: >"$file"
await "an emptied file is no session" test ! -e "$s"
cp "$T/short" "$file"
await "and is one again" test -f "$s/title"
