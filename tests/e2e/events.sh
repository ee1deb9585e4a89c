#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sessionfs --events prints one JSON line for each change, without a mount, until its reader ends.
. "$(dirname "$0")/../lib/lib.sh"
need jq
samples "$T/src"
file=$T/src/--home-ada-weather--/${FORECAST##*/}.jsonl
clean_first() { kill "${events_pids[@]}" 2>/dev/null || :; }
follow_events "$T/redacted" "$T/src" -o ro,redact --poll=0.1
follow_events "$T/events" "$T/src"

switches() { awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/${events_pids[1]}/status"; }
before=$(switches)
sleep 2 # no event
[ ! -s "$T/events" ] || die "events without a change: $(cat "$T/events")"
is_portable || is "$before" "$(switches)" "wakeups while nothing changes"
echo '{"type":"session_info","id":"99990001","parentId":"33ccdcfd","timestamp":"2026-03-02T12:00:00.000Z","name":"sk-ant-api03-0123456789abcdefghijkl"}' >>"$file"
await "the event" grep -q '"renamed"' "$T/events"
jq -e . "$T/events" >/dev/null || die "not JSON: $(cat "$T/events")"
is "$FORECAST" "$(jq -r .path "$T/events" | uniq)" "the session"
is sk-ant-api03-0123456789abcdefghijkl "$(jq -r 'select(.event == "renamed").name' "$T/events")" "its name"
await "the event, masked" grep -q '"renamed"' "$T/redacted"
is '***********************************' "$(jq -r 'select(.event == "renamed").name' "$T/redacted")" "its name, masked"

# Events carry the message, and the recipe for noticing that an agent has finished works.
"$SESSIONFS" -S "$T/src" --events > >(jq --unbuffered -r 'select(any(.entries[]?; .stopReason == "stop")) | .path' >"$T/finished") &
events_pids+=($!)
message() { # ID FIELDS
	printf '{"type":"message","id":"%s","parentId":"99990001","timestamp":"2026-03-02T12:00:00.000Z","message":{%s}}\n' "$@"
}
message 99990011 '"role":"user","content":"x"' >>"$file"
await "the event of a message" grep -q 99990011 "$T/events"
is "" "$(jq -r '.entries[]?.id' "$T/events" | sort | uniq -d)" "entries that were printed twice"
finishes() { # the recipe can have begun after the last one
	message 99990022 '"role":"assistant","content":[],"stopReason":"stop"' >>"$file"
	[ -s "$T/finished" ]
}
[ ! -s "$T/finished" ] || die "no agent has finished yet: $(cat "$T/finished")"
await "an agent that has finished" finishes
is "$FORECAST" "$(head -n 1 "$T/finished")" "the agent that has finished"
rm "$T/src/scratch.jsonl"
await "the event of a deleted session" grep -q '"deleted"' "$T/events"

# A slow reader loses nothing.
mkfifo "$T/fifo"
exec 8<>"$T/fifo"
"$SESSIONFS" -S "$T/src" --events >"$T/fifo" 8>&- &
events_pids+=($!)
reads() { # prints the next line, or nothing
	echo '{"type":"custom","id":"first","parentId":null}' >>"$file"
	IFS= read -r -t 0.1 -u 8 _
}
await "the first event" reads
python3 - "$file" <<-'END'
	import sys, time
	with open(sys.argv[1], "a", buffering=1) as f:
	    for i in range(3000):
	        f.write('{"type":"custom","id":"many%d","parentId":null}\n' % i)
	        time.sleep(0.0002)
END
echo '{"type":"custom","id":"last","parentId":null}' >>"$file"
sed '/"last"/q' <&8 >"$T/slow" || die "the last event: $(tail -n 1 "$T/slow")"
jq -r 'select(.event == "appended").entries[].id | select(startswith("many"))' "$T/slow" >"$T/ids"
for i in {0..2999}; do echo "many$i"; done | same - "$T/ids" "the entries"

# The end of the reader ends it quietly, with a change and without.
is "0 0" "$("$SESSIONFS" -S "$T/src" --events 2>"$T/err" | true; echo "${PIPESTATUS[@]}")" "exit status without a change"
is "" "$(cat "$T/err")" "messages"
{ "$SESSIONFS" -S "$T/src" --events 2>"$T/err"; echo $? >"$T/status"; } | sed 1q >"$T/one" &
is_one() {
	echo '{"type":"custom","id":"one","parentId":null}' >>"$file"
	[ -s "$T/status" ]
}
await "the end after one line" is_one
is "0" "$(cat "$T/status")" "exit status after one line"
is "1" "$(wc -l <"$T/one")" "lines"
is "" "$(cat "$T/err")" "messages"
fails 1 "no such source" "$SESSIONFS" -S "$T/none" --events

# Without its source it ends with an error, after the events of all that went with it.
ends() { # SOURCE DELETED COMMAND...
	follow_events "$T/last" "$1" 2>"$T/err"
	"${@:3}"
	await "the end of its events after ${*:3}" eval "! kill -0 ${events_pids[-1]} 2>/dev/null"
	local rc=0
	wait "${events_pids[-1]}" || rc=$?
	unset 'events_pids[-1]'
	is "1 sessionfs: $1: No such file or directory" "$rc $(tail -n 1 "$T/err")" "the end after ${*:3}"
	is "$2" "$(grep -v '"follow-events"' "$T/last" | grep -c '"deleted"' || :)" "deleted sessions after ${*:3}"
}
samples "$T/gone"
count=$("$SESSIONFS" -S "$T/gone" --cat sessions.tsv | sed 1d | wc -l)
ends "$T/gone" "$count" mv "$T/gone" "$T/elsewhere"
mv "$T/elsewhere" "$T/gone"
mkdir "$T/above"
cp -a "$T/gone" "$T/above"
above() { mv "$T/above" "$T/elsewhere" && echo x >>"$T/elsewhere/gone/scratch.jsonl"; } # an event, but not of the move
ends "$T/above/gone" "$count" above
ends "$T/gone" "$count" rm -r "$T/gone"
mkdir "$T/gone"
ends "$T/gone" 0 rmdir "$T/gone" # which causes no event

# A mount has no file for it; its writes are events, too.
can_mount || exit 0
mount_fs "$T/src" "$T/mnt"
[ ! -e "$T/mnt/.events" ] || die ".events exists"
echo seen >"$T/mnt/$FORECAST/entries/99990011/label"
await "the event of a label" grep -q '"label":"seen"' "$T/events"
