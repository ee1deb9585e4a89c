#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The first five commands of the mount's README.md print what was specified, in at most 4,000 characters and no more
# bytes than it states. With names and rows of real length, they and the other commands print what the README claims.
# FIRST_MINUTE="SOURCE WORD": other sessions, another word.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
read -r source word <<<"${FIRST_MINUTE-}"
samples "$T/src"
mount_fs "${source:-$T/src}" "$T/mnt"
cd "$T/mnt"
word=${word:-option}
# Agents read it first: it stays short. It has the headings of two tables, and names in the order of their use.
[ "$(wc -c <README.md)" -le 6300 ] || die "README.md has $(wc -c <README.md) bytes"
for table in usage files; do
	matches "$(head -n 1 $table.tsv | sed 's/\t/, /g')$" "$(grep "^    $table.tsv  " README.md | sed -n 1p)" "the columns of $table.tsv"
done
is "title chat.md context.md transcript.md all.txt entries/ID/ session.jsonl" "$(sed -n '/^In a session/,$p' README.md |
	awk '$1 ~ /^(title|chat.md|context.md|transcript.md|all.txt|entries.ID.|session.jsonl)$/ { print $1 }' | sed -n 1,7p | xargs)" "the names of a session in this order"
for text in chat.md transcript.md context.md all.txt text.md; do
	grep -q "$text" <(sed -n '/^Read /,/^$/p' README.md) || die "$text: for what"
done
sed -n 's/^    \(.*[^ ]\)  *\([0-9,]*\)  .*/\2 \1/p' README.md | sed 's/^\([0-9]*\),/\1/' | sed -n 1,5p >"$T/commands"
is "1000 600 1260 1000 200" "$(cut -d' ' -f1 "$T/commands" | xargs)" "the bytes of the first five commands"
: >"$T/all"
session=latest id=none
while read -r most command; do
	case $command in *hits.txt*) path=$(sed 's/:.*//;q' "search/$word/hits.txt") && id=${path#*/entries/} session=${path%%/entries/*} ;; esac
	command=${command//WORD/$word}
	command=${command//SESSION/$session}
	bash -c "${command//ID/${id%%/*}}" >"$T/out" || die "$command ended with $?"
	[ -s "$T/out" ] || die "$command says nothing"
	# Titles are limited in characters.
	[ "$(wc -c <"$T/out")" -le $((most > 200 ? most + 10 : 4 * most + 1)) ] || die "$command: $(wc -c <"$T/out") bytes"
	echo "$(wc -m <"$T/out") $command" >&2
	cat "$T/out" >>"$T/all"
done <"$T/commands"
chars=$(wc -m <"$T/all")
[ "$chars" -le 4000 ] || die "the first five commands say $chars characters"
[ -n "$source" ] || grep -q "the option belongs to the program" "$T/all" || die "the decision is missing"
echo "$chars characters for $word" >&2
# Each command that writes appends a line, and the file for pi --fork exists.
if [ -z "$source" ]; then
	fork=$(sed -n 's|^    pi --fork SESSION/\([^ ]*\) .*|\1|p' README.md)
	sed -n '/^In a session, write/,$s/^    \(.*[^ ]\)  .*/\1/p' README.md >"$T/commands"
	cd "$FORECAST"
	[ -s "${fork//ID/f31d0e43}" ] || die "$fork: not there"
	while read -r command; do
		EDITOR='sed -i s/auth-works/done/' bash -c "${command//ID/f31d0e43}" || die "$command ended with $?"
	done <"$T/commands"
	is "label label session_info branch_summary branch_summary context_edit label" \
		"$(tail -n 7 session.jsonl | sed 's/^{"type":"\([a-z_]*\)".*/\1/' | xargs)" "what these commands append"
fi
cd /
umount_fs "$T/mnt"

# --- names and rows of real length ----------------------------------------------------
long=$T/long/--home-ada-src-weather-station-firmware--
mkdir -p "$long"
said=$(printf ' and another line of the station is read, %.0s' {1..20})
for ((i = 10; i < 40; i++)); do
	id=0198a3c4-5d2e-7f10-9b4c-1f2e3d4c5b$i time=2026-03-$((i / 2))T09-15-03-460Z
	printf '%s\n' "{\"type\":\"session\",\"version\":3,\"id\":\"$id\",\"timestamp\":\"2026-03-02T09:15:03.460Z\",\"cwd\":\"/home/ada/src/weather-station-firmware\"}" \
		"{\"type\":\"message\",\"id\":\"8e3ad5$i\",\"parentId\":null,\"timestamp\":\"2026-03-02T09:15:03.460Z\",\"message\":{\"role\":\"user\",\"content\":\"Number $i:$said\"}}" \
		"{\"type\":\"message\",\"id\":\"0f320e$i\",\"parentId\":\"8e3ad5$i\",\"timestamp\":\"2026-03-$((i / 2))T09:15:$i.460Z\",\"message\":{\"role\":\"assistant\",\"provider\":\"anthropic\",\"model\":\"claude-sonnet-4-5-20250929\",\"usage\":{\"input\":1234567,\"output\":1234,\"totalTokens\":1235801,\"cost\":{\"total\":3.456789}},\"content\":[{\"type\":\"text\",\"text\":\"We$said decided: sqlite,$said\"}]}}" \
		>"$long/${time}_$id.jsonl"
done
mount_fs "$T/long" "$T/mnt"
cd "$T/mnt"
sed -n 's/^    \(.*[^ ]\)  *\([0-9,][0-9,]*\)  .*/\2 \1/p' README.md | sed 's/^\([0-9]*\),/\1/' >"$T/commands"
is 8 "$(wc -l <"$T/commands")" "commands with a limit on their output"
session=$(readlink latest)
while read -r most command; do
	command=${command//WORD/sqlite}
	command=${command//SESSION/$session}
	bash -c "${command//ID/0f320e39}" >"$T/out" || die "$command ended with $?"
	[ "$(wc -c <"$T/out")" -le $((most > 200 ? most + 10 : 4 * most + 1)) ] || die "$command: $(wc -c <"$T/out") bytes"
	case $command in
	*-f2,3,5,14*) is "39 38 37" "$(sed -n 's/.*\tNumber \([0-9]*\): and another line .*/\1/p' "$T/out" | xargs)" "titles of the newest sessions" ;;
	*sessions.tsv*) grep -q 'Number 30: and' "$T/out" || die "$command: $(tail -n 2 "$T/out")" ;;
	*hits.txt* | *entries.tsv*) is "$(grep -vc '^time' "$T/out")" "$(grep -c 'sqlite' "$T/out")" "lines of '$command' that say it" ;;
	esac
done <"$T/commands"
