#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A reader of a slow session delays no reader of another one. The file system of the large session stops until the
# others have been read.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need cc
is_sanitized && skip "a sanitizer wants to be loaded first"
cc -shared -fPIC -O1 -o "$T/slow.so" "$ROOT/tests/lib/slow.c" -ldl
samples "$T/src"
big=$T/src/--home-ada-weather--/big.jsonl # one of several in its project
{
	echo '{"type":"session","version":3,"id":"big","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/home/ada/weather"}'
	for ((i = 0; i < 3000; i++)); do
		[ $i -eq 0 ] && parent=null || parent="\"$(printf %08x $((i - 1)))\""
		printf '{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"%d"}}\n' \
			$i "$parent" $i
	done
} >"$big"
touch -d 2026-03-01 "$big"
more() { # ID PARENT
	printf '{"type":"message","id":"%s","parentId":"%s","timestamp":"2026-03-01T11:00:00.000Z","message":{"role":"user","content":"more"}}\n' "$@"
}
export GATE=$T/gate SLOW_FILE=/big.jsonl
clean_first() { rm -f "$GATE"; }

# Everything but the large session and files made from all sessions (the tables, by-date/); lines that pi appends to
# others appear too.
others() {
	local w=$T/mnt/$WEATHER v
	ls "$T/mnt" && ls -l "$T/mnt/projects" "$T/mnt/sessions" "$w" >/dev/null
	readlink "$T/mnt/latest" "$w/latest" >/dev/null
	for v in session.jsonl header.json info.json title tree.txt all.txt context.md context.json transcript.md labels.tsv; do
		cat "$T/mnt/$FORECAST/$v" "$T/mnt/sessions/site-1/$v" >/dev/null || return
	done
	find "$T/mnt/$ICONS" "$T/mnt/$NOTES" -ls >/dev/null
	grep -r "nobody said this" "$T/mnt/$CACHE" || [ $? -eq 1 ] || return
	more "$NEW" 33ccdcfd >>"$T/src/--home-ada-weather--/${FORECAST##*/}.jsonl"
	await "the new entry" grep -qs more "$T/mnt/$FORECAST/entries/$NEW/text.md"
}
export -f await others more
export T WEATHER FORECAST ICONS NOTES CACHE
appended=0

same_time() { [ "$(stat -c %y "$1")" = "$(stat -c %y "$2")" ]; }
# COMMAND... reads the large session and waits; all others are read; then it continues, and prints EXPECTED.
apart() { # WHAT EXPECTED COMMAND...
	local what=$1 expected=$2 reader
	shift 2
	[ -e "$GATE" ] || rm -f "$GATE.reached"
	: >"$GATE"
	"$@" >"$T/out" &
	reader=$!
	await "$what: it is being read" test -e "$GATE.reached"
	NEW=$(printf 9999%04x $((++appended)))
	export NEW
	bash -c others || die "$what: others have to wait ($?)"
	kill -0 $reader 2>/dev/null || die "$what: it did not wait"
	rm "$GATE"
	wait $reader || die "$what: $* ended with $?"
	is "$expected" "$(tail -n 1 "$T/out")" "$what"
}

for options in "" "-oro"; do
	LD_PRELOAD=$T/slow.so mount_fs "$T/src" "$T/mnt" ${options:+"$options"}
	s=$T/mnt/$WEATHER/big
	apart "its index is built" 2999 cat "$s/transcript.md"
	apart "a view is made" 2999 cat "$s/context.md"
	: >"$GATE"
	more 00000bb8 00000bb7 >>"$big"
	await "the time of what has grown" same_time "$big" "$s"
	apart "it has grown" more cat "$s/transcript.md"
	apart "its file is read" "$(tail -n 1 "$big")" cat "$s/session.jsonl"
	umount_fs "$T/mnt"
	sed -i '$d' "$big"
	touch -d 2026-03-01 "$big"
done
