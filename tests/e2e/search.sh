#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# search/QUERY/ and --search: their results agree with the sessions' own files; and invalid queries.
. "$(dirname "$0")/../lib/lib.sh"
need python3 jq script
need_mount
samples "$T/src"
samples "$T/src/broken" "$ROOT/tests/data/broken"
# A call whose arguments JSON escapes, current and former labels and names; ids that need encoding in names.
call() { # ID PARENT ARGUMENTS
	printf '{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-03-02T09:15:03.460Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c%s","name":"bash","arguments":%s}]}}\n' "$1" "$2" "$1" "$3"
}
mkdir "$T/src/--said--"
{
	printf '%s\n' '{"type":"session","version":3,"id":"team/42","timestamp":"2026-03-02T09:15:03.460Z","cwd":"/x"}'
	call c1 null '{"command":"git status\n\tone\ttwo \"quoted\"","list":[1, "wombat\tx"],"":{"deep" : [ ]}}'
	call c2 '"c1"' '"plain wombat\\tail\nsecond wombat"'
	call c3 '"c2"' '{}'
	value() { printf '{"type":"%s","id":"%s","parentId":"c3","timestamp":"2026-03-02T09:15:03.460Z",%s}\n' "$@"; }
	value label l1 '"targetId":"c1","label":"nano wombat"'
	value label l2 '"targetId":"c1","label":"nano\tlabel"'
	value session_info n1 '"name":"first wombat name"'
	value session_info n2 '"name":"  Pi fixture manifest review "'
} >"$T/src/--said--/said.jsonl"
sed 's/wombat/numbat/g; s/manifest/other/' "$T/src/--said--/said.jsonl" >"$T/src/--said--/same-id.jsonl"
touch -d 2026-03-02 "$T/src/--said--"/*
mount_fs "$T/src" "$T/mnt"
find_all() { python3 "$ROOT/tests/lib/search.py" "$T/mnt" "$@" >"$T/said" || die "search.py: $(tail -n 1 "$T/said")${SEED:+, SESSIONFS_TEST_SEED=$SEED}"; }
find_all forecast weather the -- -the '"the forecast"' 'the -forecast' 'FORECAST norwegian' É 'e -a' x/y 100% '"0"' \
	import error bash ... '~' "don't" nothing-like-this
[ "$(awk '$2 > 0' "$T/said" | wc -l)" -ge 8 ] || die "hardly anything was found: $(cat "$T/said")"

seed=${SESSIONFS_TEST_SEED:-1} # another seed draws other phrases
SEED=$seed PHRASES=60 find_all wombat nano label git '"command: git status"' $'"one\ttwo"' 'wombat numbat' '"pi fixture manifest review"' \
	'"nano wombat"' $'"nano\tlabel"' '"first wombat name"' '"list: [1,"'
S=projects/said/said
hits() { cat "$T/mnt/search/$1/hits.txt"; }
is "$S/entries/c1/tool-calls/1-bash/arguments.txt:1:command: git status" "$(hits '"command: git" -numbat')" "a phrase of all.txt"
is "$S/entries/c1/tool-calls/1-bash/arguments.txt:2:"$'\tone\ttwo "quoted"' "$(hits $'"one%09two" -numbat')" "a TAB in an argument"
is "$S/name:1:Pi fixture manifest review" "$(hits '"pi fixture manifest review"')" "a name"
is "$S/entries/n1/entry.json:1:first wombat name" "$(hits '"first wombat name"')" "an older name"
is "$S/entries/c1/label:1:"$'nano\tlabel' "$(hits $'"nano%09label" session:team%2F42' | grep said/said)" "a label"
is "$S/entries/l1/entry.json:1:nano wombat" "$(hits '"nano wombat"')" "an older label"
is "$(sed -n 's/^c1 call bash: //p' "$T/mnt/$S/all.txt")" "$(cat "$T/mnt/$S/entries/c1/tool-calls/1-bash/arguments.txt")" "arguments.txt"
[ ! -e "$T/mnt/$S/entries/c3/tool-calls/1-bash/arguments.txt" ] || die "arguments.txt of no arguments"
is "2 0 0" "$(for q in team%2F42 %2F42~2 team%252F42; do find "$T/mnt/search/\"pi fixture\" session:$q" -type l | wc -l; done | xargs)" "links by the id in the header"
for q in wombat '"pi fixture manifest review"' '"nano wombat"' $'"one\ttwo"' $'"nano\tlabel"' type:label type:session_info; do
	name=${q//$'\t'/%09}
	[ -s "$T/mnt/search/$name/hits.txt" ] || die "$q: no lines"
	"$SESSIONFS" -S "$T/src" --search "$q" | cmp - "$T/mnt/search/$name/hits.txt" || die "$q: --search differs"
	"$SESSIONFS" -S "$T/src" --cat "search/$name/hits.txt" | cmp - "$T/mnt/search/$name/hits.txt" || die "$q: --cat differs"
	"$SESSIONFS" -S "$T/src" --search --entries "$q" | cmp - "$T/mnt/search/$name/entries.tsv" || die "$q: --entries differs"
	"$SESSIONFS" -S "$T/src" --search --json "$q" | jq -r '[.time, .project, .stem, .entry, .what, .path, .line, .text] | @tsv' |
		cmp - <(tail -n +2 "$T/mnt/search/$name/entries.tsv") || die "$q: --json differs"
done

# Words in different entries of a session; days as people say them.
for q in 'git nano in:session' 'git wombat in:session -numbat' 'the forecast in:session role:user' 'the nowhere in:session' 'the after:yesterday' 'the before:2026-03'; do
	"$SESSIONFS" -S "$T/src" --search "$q" >"$T/out" || [ $? = 1 ] || die "$q: refused"
	if [ -s "$T/out" ]; then same "$T/out" "$T/mnt/search/$q/hits.txt" "$q"; else [ ! -e "$T/mnt/search/$q/hits.txt" ] || die "$q: only in the mount"; fi
done
[ ! -e "$T/mnt/search/status wombat nano/hits.txt" ] || die "an entry with three words"
is "said/said" "$(hits 'status wombat nano in:session' | cut -d/ -f2-3 | sort -u)" "the session with three words"
is "c1 c2 l1 l2 n1" "$(cut -f4 "$T/mnt/search/status wombat nano in:session/entries.tsv" | sed 1d | xargs)" "its entries with one of them"
is "$(for s in "$T"/mnt/projects/*/*/; do
	for word in forecast norwegian; do sed 's/^[^:]*: //' "$s/all.txt" | grep -i $word >/dev/null || continue 2; done
	basename "$s"
done | sort)" "$(hits 'forecast norwegian in:session' | cut -d/ -f3 | sort -u)" "sessions whose all.txt have two words"

# Whole words, kinds of text, ids.
is "label session_info" "$(for q in what:label what:name; do cut -f 5 "$T/mnt/search/$q session:team%2F42/entries.tsv" | sed -n 2p; done | xargs)" "kinds of text"
is "$S/entries/c1/tool-calls/1-bash/arguments.txt:1:command: git status" "$(hits 'what:call git -numbat')" "an argument alone"
[ ! -e "$T/mnt/search/word:statu/hits.txt" ] || die "word:statu finds $(hits word:statu)"
is "2 1" "$(hits 'word:status session:team%2F42' | wc -l) $(hits 'word:"git status" -numbat' | wc -l)" "lines with a whole word"
is "$(hits session:team%2F42 | sort)" "$(hits team%2F42 | sort)" "the entries of a session by its id"

# It is a directory like others.
cd "$T/mnt/search/forecast" || die "no directory"
[ "$(pwd -P)" = "$T/mnt/search/forecast" ] || die "pwd: $(pwd -P)"
same hits.txt "$T/mnt/search/forecast/hits.txt" "hits.txt from inside"
[ "$(find . -type l | wc -l)" = "$(find . -type l -exec test -d {}/ \; -print | wc -l)" ] || die "a link leads nowhere"
first=$(ls -d 0001*)
[ -s "$first/entry.json" ] || die "$first has no entry.json"
cd "$T" || die
one=$(stat -c %i "$T/mnt/search/the" "$T/mnt/search/the/hits.txt")

# The longest names: one is a valid query, the other is not.
is 2 "$(ls "$T/mnt/search/$(printf '"%.0s' {1..255})" | wc -l)" "names of an invalid query"
grep -q "quotes; " "$T/mnt/search/$(printf '"%.0s' {1..255})/error" || die "no reason"
[ -d "$T/mnt/search/$(printf 'a %.0s' {1..127})" ] || die "127 times one word"

# More queries than are remembered: their numbers stay.
for ((i = 0; i < 1100; i++)); do printf '%s\0' "$T/mnt/search/q$i"; done | xargs -0 stat -c %i >"$T/numbers"
[ "$(sort -u "$T/numbers" | wc -l)" = 1100 ] || die "queries with one number"
[ "$(stat -c %i "$T/mnt/search/the" "$T/mnt/search/the/hits.txt")" = "$one" ] || die "another inode number"
cat "$T/mnt/search/the/hits.txt" >"$T/the"

# Without a mount.
"$SESSIONFS" -S "$T/src" --search the >"$T/out" 2>"$T/err" || die "--search ended with $?"
same "$T/out" "$T/the" "--search and hits.txt"
[ ! -s "$T/err" ] || die "--search printed: $(cat "$T/err")"
"$SESSIONFS" -S "$T/src" --cat search/the/hits.txt | cmp - "$T/the" || die "--cat differs"
"$SESSIONFS" -S "$T/src" --ls search/the >"$T/ls"
grep -q ' 0001 .* -> ../../projects/' "$T/ls" || die "--ls shows no link"
find_it() { "$SESSIONFS" -S "$T/src" --search "$@"; }
find_it --json the | jq -e 'select(.project and .stem and .entry and .what and .path and .line and .text and .title | not)' &&
	die "a field is missing"
is "" "$(find_it --json the | jq -r '[.project, .stem, .title] | @tsv' | sort -u | comm -23 - <(cut -f 2,3,14 "$T/mnt/sessions.tsv" | sort))" "titles of other sessions"
find_it --limit 3 --entries the | cmp - <(head -n 4 "$T/mnt/search/the/entries.tsv") || die "--limit of entries"
is 3 "$(find_it --json --limit 3 the | wc -l)" "--limit of objects"
is "$(head -n 1 "$T/the")" "$(find_it -m 1 --limit 1 the)" "the first line"
is "$T/mnt/$(head -n 1 "$T/the")" "$(find_it -m 1 --limit=1 --root "$T/mnt" the)" "a line with --root"
is "$T/mnt/$(cut -f 6 <(sed -n 2p "$T/mnt/search/the/entries.tsv"))" "$(find_it --json --limit=1 --root "$T/mnt/" the | jq -r .path)" "an object with --root"
is "$T/mnt/projects" "$(find_it --entries --limit=1 --root "$T/mnt" the | sed 1d | cut -f 6 | grep -o '.*/projects')" "a row with --root"
# -m 0 prints every line with a word, -m 1 the best one of each entry.
is "$(cat "$T"/mnt/projects/*/*/all.txt | sort -u | sed 's/^[^:]*: //' | grep -ci forecast)" \
	"$(find_it -m 0 forecast | wc -l)" "lines with -m 0"
is "$(($(wc -l <"$T/mnt/search/the/entries.tsv") - 1))" "$(find_it -m 1 the | wc -l)" "lines with -m 1"
status() { # STATUS ARGUMENT...
	local rc=0
	"$SESSIONFS" -S "$T/src" "${@:2}" >/dev/null 2>"$T/err" || rc=$?
	[ "$rc" = "$1" ] || die "sessionfs ${*:2} ended with $rc: $(cat "$T/err")"
}
status 1 --search nothing-like-this
# The first entry found has no line, the second one has.
status 0 --search 'session:team/42 type:message -git -wombat'
status 1 --limit 1 --search 'session:team/42 type:message -git -wombat'
status 2 --search '"open'
grep -q 'unclosed quote' "$T/err" || die "says: $(cat "$T/err")"
status 1 --search 'tools:bash'
grep -q 'tools:bash: not a filter.*did you mean tool:' "$T/err" || die "says: $(cat "$T/err")"
status 0 --search=-nothing-like-this
status 2 --search "$(seq 10000 | xargs)"
status 0 --search "$(head -n 10000 < <(yes the) | xargs)"
# Whatever the spelling of a text, by name; the colour covers all of it.
other=$T/other
mkdir -p "$other"
printf '%s\n' '{"type":"session","version":3,"id":"a","timestamp":"2026-03-01T00:00:00Z","cwd":"/"}' \
	'{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"It isn'$'\u2019''t re'$'\u0301''sume'$'\u0301'', not resume"}}' >"$other/a.jsonl"
for word in $'r\u00e9sum\u00e9' $'RE\u0301SUM\u00c9' "isn't" $'isn\u2018t' resume; do
	is 1 "$("$SESSIONFS" -S "$other" --search "$word" | wc -l)" "lines with $word"
done
word=$'r\u00e9sum\u00e9'
NO_COLOR='' TERM=xterm script -qec "'$SESSIONFS' -S '$other' --search '$word'" /dev/null >"$T/tty" </dev/null
grep -q $'\e\\[1;31mre\u0301sume\u0301\e\\[m, not resume' "$T/tty" || die "another colour: $(cat "$T/tty")"
# A day begins at midnight of the user's time zone.
for zone in JST-9 EST5; do
	for hour in 04 05 14 15; do
		printf '%s\n' '{"type":"session","version":3,"id":"'$hour'","timestamp":"2026-03-01T00:00:00Z","cwd":"/"}' \
			'{"type":"message","id":"1","parentId":null,"timestamp":"2026-03-02T'$hour':30:00Z","message":{"role":"user","content":"midnight"}}' >"$other/$hour.jsonl"
	done
	case $zone in JST-9) days="15 04,05,14" ;; *) days="05,14,15 04" ;; esac
	[ $zone = JST-9 ] && day=2026-03-03 || day=2026-03-02
	is "$days" "$(for query in "after:$day" "before:$day"; do
		TZ=$zone "$SESSIONFS" -S "$other" --search "midnight $query" | sed 's|.*/\([0-9]*\)/entries/.*|\1|' | sort | paste -sd,
	done | xargs)" "entries after and before $day in $zone"
done
# The page: text of sessions is never markup, paths can have colons; each entry leads to its page.
page=$T/page
mkdir -p "$page"
printf '%s\n' '{"type":"session","version":3,"id":"a<b","timestamp":"2026-03-01T00:00:00Z","cwd":"/"}' \
	'{"type":"message","id":"1:2:<i>","parentId":null,"message":{"role":"assistant","content":[{"type":"text","text":"red <b>Red</b> & \u0001\"x"},{"type":"toolCall","id":"c","name":"a:1:b","arguments":{"x":"red one"}}]}}' >"$page/a.jsonl"
"$SESSIONFS" -S "$page" --cat search/red/hits.html >"$T/hits.html"
is '<li><a href="../../html/%25/a.html#1%3A2%3A%3Ci%3E&amp;find=red">assistant</a> <p dir="auto"><mark>red</mark> &lt;b&gt;<mark>Red</mark>&lt;/b&gt; &amp;  &quot;x</p><p dir="auto">x: <mark>red</mark> one</p></li>' \
	"$(grep '^<li>' "$T/hits.html")" "an entry of hits.html"
is "$(wc -l <"$T/mnt/search/the/hits.txt")" "$(grep -o '<p dir="auto">' "$T/mnt/search/the/hits.html" | wc -l)" "lines of hits.html"
# On a terminal.
NO_COLOR='' TERM=xterm script -qec "'$SESSIONFS' -S '$T/src' --search forecast" /dev/null >"$T/tty" </dev/null
grep -q $'\e\\[1;31m[Ff]orecast\e\\[m' "$T/tty" || die "no colour"
grep -Eq '^[0-9]+ lines in [0-9]+ sessions' "$T/tty" || die "no count: $(tail -n 1 "$T/tty")"
NO_COLOR=1 script -qec "'$SESSIONFS' -S '$T/src' --search forecast" /dev/null >"$T/tty" </dev/null
! grep -q $'\e' "$T/tty" || die "colour"
grep -Eq '^[1-9][0-9]* lines in [1-9][0-9]* sessions' "$T/tty" || die "no count without colours: $(tail -n 1 "$T/tty")"
exit 0
