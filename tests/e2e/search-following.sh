#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# search/QUERY/ of sessions that grow, appear and disappear: a change that shows in a session shows in the next open. A
# repeated query reads nothing, after an append only the appended part; and it stops at its limit.
. "$(dirname "$0")/../lib/lib.sh"
need python3 jq
need_mount
needs_watches

entry() { # ID TEXT [ROLE]
	printf '{"type":"message","id":"%s","parentId":null,"timestamp":"2026-04-01T12:00:00.000Z","message":{"role":"%s","content":"%s","timestamp":%s}}\n' \
		"$1" "${3:-user}" "$2" "$((1775044800000 + 16#$1 % 1000000))"
}
lines() { # FILE: prints its number of lines; 0 if it does not exist
	if [ -e "$1" ]; then wc -l <"$1"; else echo 0; fi
}
filtered() { # how many entries the name, a label and the state of the session find
	for query in title:quetzals label:quetzal state:working; do lines "$T/mnt/search/$query session:${FORECAST##*/}/entries.tsv"; done | xargs
}

for mode in rw ro; do
	rm -rf "$T/src"
	samples "$T/src"
	mount_watched "$T/src" "$T/mnt" -o $mode
	file=$T/src/--home-ada-weather--/${FORECAST##*/}.jsonl
	s=$T/mnt/$FORECAST
	q=$T/mnt/search/quetzal
	[ ! -e "$q/hits.txt" ] || die "$mode: a hit already"
	is "0 0 0" "$(filtered)" "$mode: entries by name, label and state"
	for n in 1 2 3 4 5; do
		entry "9999000$n" "the quetzal number $n" >>"$file"
		await "what was appended" grep -q "quetzal number $n" "$s/all.txt"
		is "$n" "$(lines "$q/hits.txt")" "$mode: lines of hits.txt when all.txt has $n"
		is "$n" "$(find "$q" -type l | wc -l)" "$mode: links"
		is "the quetzal number $n" "$(cat "$q"/000"$n"*/text.md)" "$mode: the target of the last link"
	done
	all=$(($(ls "$s/entries" | wc -l) + 1))
	is "0 0 $all" "$(filtered)" "$mode: entries by a new state"
	# A second query that changes neither size nor time of hits.txt.
	sed -i 's/quetzal number 5/quetzal number 6/' "$file"
	touch -d 2027-01-01 "$file"
	await "what was appended" grep -q "quetzal number 6" "$s/all.txt"
	grep -q "quetzal number 6" "$q/hits.txt" || die "$mode: an old page"
	sed -i 's/quetzal number 6/quetzal number 7/' "$file"
	touch -d 2027-01-01 "$file"
	await "what was appended" grep -q "quetzal number 7" "$s/all.txt"
	grep -q "quetzal number 7" "$q/hits.txt" || die "$mode: an old page"
	# Labels and names: set, replaced and cleared. A former one is found in its record.
	mark() { # TYPE ID FIELDS LINE...: the lines of hits.txt without texts, ENTRY for the line of that record
		local id=$2 line
		printf '{"type":"%s","id":"%s","timestamp":"2026-04-01T12:00:00.000Z",%s}\n' "$1" "$id" "$3" >>"$file"
		await "what was appended" [ -e "$s/entries/$id" ]
		for line in "${@:4}"; do
			case $line in
			*:*) echo "$FORECAST/$line" ;;
			*) echo "$FORECAST/entries/$line/entry.json:1:$(jq -r '.label // .name' "$s/entries/$line/entry.json")" ;;
			esac
		done >"$T/want"
		is "$(cat "$T/want")" "$(grep -v '/text\.md:' "$q/hits.txt" || :)" "$mode: labels and names after $id"
	}
	mark label 11110001 '"targetId":"99990001","label":"a quetzal"' entries/99990001/label:1:"a quetzal"
	mark session_info 11110002 '"name":"of quetzals"' entries/99990001/label:1:"a quetzal" name:1:"of quetzals"
	is "$((all + 2)) 2 0" "$(filtered)" "$mode: entries by a new name and label, without a state"
	mark label 11110003 '"targetId":"99990001","label":"Quetzal!"' 11110001 name:1:"of quetzals" entries/99990001/label:1:Quetzal!
	mark label 11110004 '"targetId":"11110006","label":"quetzal to come"' 11110001 name:1:"of quetzals" entries/99990001/label:1:Quetzal! 11110004
	mark session_info 11110005 '"name":""' 11110001 11110002 entries/99990001/label:1:Quetzal! 11110004
	mark custom 11110006 '"data":1' 11110001 11110002 entries/99990001/label:1:Quetzal! entries/11110006/label:1:"quetzal to come"
	mark label 11110007 '"targetId":"99990001"' 11110001 11110002 11110003 entries/11110006/label:1:"quetzal to come"
	is "0 2 0" "$(filtered)" "$mode: entries by a cleared name, and by label"
	if [ $mode = rw ]; then
		echo "a quetzal again" >"$s/entries/99990001/label"
		grep -qx "$FORECAST/entries/99990001/label:1:a quetzal again" "$q/hits.txt" || die "a label that was written is not found"
		echo "nothing" >"$s/entries/99990001/label"
		! grep -q "/label:1:a quetzal again" "$q/hits.txt" || die "a label that was replaced is in use"
		is 1 "$(grep -c '/entry.json:1:.*a quetzal again' "$q/hits.txt")" "lines of its record"
	fi
	is 5 "$(grep -c '/text\.md:' "$q/hits.txt")" "$mode: lines of texts"

	# A session that appears is the newest, and disappears.
	new=$T/src/--home-ada-weather--/new.jsonl
	{
		printf '{"type":"session","version":3,"id":"new","timestamp":"2026-04-01T12:00:00.000Z","cwd":"/"}\n'
		entry 99991001 "quetzal of another"
	} >"$new"
	await "what was appended" [ -e "$T/mnt/$WEATHER/new" ]
	is "$WEATHER/new/entries/99991001/text.md:1:quetzal of another" "$(sed -n 1p "$q/hits.txt")" "$mode: the newest session's"
	rm "$new"
	await "what was appended" [ ! -e "$T/mnt/$WEATHER/new" ]
	is 5 "$(grep -c '/text\.md:' "$q/hits.txt")" "$mode: lines without the session that went"
	umount_fs "$T/mnt"
done

# Many hits: exactly this many lines and links, at whichever entry the limit is reached.
rm -rf "$T/src"
mkdir -p "$T/src/--many--"
many() { # NUMBER ENTRIES LINES
	local n
	{
		printf '{"type":"session","version":3,"id":"many%s","timestamp":"2026-04-01T12:00:00.000Z","cwd":"/"}\n' "$1"
		for ((n = 0; n < $2; n++)); do
			entry "$(printf %08x $(($1 * 100000 + n)))" "$(for ((k = 0; k < $3; k++)); do printf 'needle %s %s\\n' "$n" "$k"; done)"
		done
	} >"$T/src/--many--/many$1.jsonl"
	touch -d 2026-04-02 "$T/src/--many--/many$1.jsonl"
}
many 1 700 7
many 2 10 1001
many 3 300 3
entry 00fffff1 alone >>"$T/src/--many--/many1.jsonl"
mount_fs "$T/src" "$T/mnt"
python3 "$ROOT/tests/lib/search.py" "$T/mnt" needle alone -- -alone >"$T/said" || die "search.py: $(tail -n 1 "$T/said")"
grep -qx 'needle 3030 1010' "$T/said" || die "needle: $(cat "$T/said")"
"$SESSIONFS" -S "$T/src" --search needle | cmp - "$T/mnt/search/needle/hits.txt" || die "--search differs"
mkdir "$T/most"
{
	echo '{"type":"session","version":3,"id":"most"}'
	seq -f '{"type":"message","id":"%.0f","parentId":null,"message":{"role":"user","content":"line\nline"}}' 10050
} >"$T/most/most.jsonl"
is "10000 10001" "$(for file in hits.txt entries.tsv; do "$SESSIONFS" -S "$T/most" --cat search/line/$file | wc -l; done | xargs)" "lines of hits.txt, rows of entries.tsv"
is 5000 "$("$SESSIONFS" -S "$T/most" --cat search/line/hits.html | grep -c '^<li>')" "entries of hits.html, which have the lines of hits.txt"

# Repeated: the program reads none of it.
pid=$(mount_pid "$T/mnt")
read_of() { if proc_is_open; then awk '/^rchar/ { print $2 }' "/proc/$pid/io"; else echo 0; fi; }
cat "$T/mnt/search/needle/hits.txt" >/dev/null
before=$(read_of)
cat "$T/mnt/search/needle/hits.txt" | md5sum >"$T/once"
[ $(($(read_of) - before)) -lt 65536 ] || die "asked again it read $(($(read_of) - before)) bytes"
before=$(read_of)
entry 00fffff2 "one more" >>"$T/src/--many--/many3.jsonl"
cat "$T/mnt/search/alone/hits.txt" >/dev/null
[ $(($(read_of) - before)) -lt 65536 ] || die "after an append it read $(($(read_of) - before)) bytes"

# Two at once, and one that is interrupted.
for n in 1 2 3 4; do (cat "$T/mnt/search/needle/hits.txt" "$T/mnt/search/needle $n/hits.txt" >"$T/many$n") & done
wait
for n in 2 3 4; do cmp <(head -n 3030 "$T/many1") <(head -n 3030 "$T/many$n") || die "two readers, two answers"; done
for n in 1 2 3 4 5; do timeout -s INT 0.0"$n" cat "$T/mnt/search/needle -$n$n/hits.txt" >/dev/null || :; done # not a limit
cat "$T/mnt/search/needle -33/hits.txt" >/dev/null || die "the mount does not answer"

# The directory of a query in use is never evicted, however many other queries come.
(
	cd "$T/mnt/search/needle 4" || exit
	before=$(wc -l <hits.txt)
	for n in {1..1100}; do [ -d "$T/mnt/search/other$n" ] || die "no directory of another query"; done
	ls >"$T/names" || die "ls after many other queries"
	is "$before" "$(wc -l <hits.txt)" "hits after many other queries"
) || exit
exit 0
