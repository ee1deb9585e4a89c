#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .events writes one JSON line for each change to waiting readers.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need jq
samples "$T/src"
mount_watched "$T/src" "$T/mnt"
! ls -A "$T/mnt" | grep events >/dev/null || die ".events is listed"
[ -r "$T/mnt/.events" ] || die ".events is missing"

cat "$T/mnt/.events" >"$T/events" &
reader=$!
within 20 "the reader" has_open $reader "$T/mnt/.events"
sleep 1 # no event
kill -0 $reader 2>/dev/null || die "a reader does not wait: $(cat "$T/events")"
[ ! -s "$T/events" ] || die "events without a change: $(cat "$T/events")"
echo '{"type":"session_info","id":"99990001","parentId":"33ccdcfd","timestamp":"2026-03-02T12:00:00.000Z","name":"x"}' \
	>>"$T/src/--home-ada-weather--/${FORECAST##*/}.jsonl"
within 20 "the event" test -s "$T/events"
jq -e . "$T/events" >/dev/null || die "not JSON: $(cat "$T/events")"
grep -q "${FORECAST##*/}" "$T/events" || die "which session? $(cat "$T/events")"
ls "$T/mnt" >/dev/null # a waiting reader does not delay others

# Events carry the message, and the recipe for noticing that an agent has finished works.
jq --unbuffered -r 'select(any(.entries[]?; .stopReason == "stop")) | .path' "$T/mnt/.events" >"$T/finished" &
recipe=$!
within 20 "the recipe" has_open $recipe "$T/mnt/.events"
message() { # ID FIELDS
	printf '{"type":"message","id":"%s","parentId":"99990001","timestamp":"2026-03-02T12:00:00.000Z","message":{%s}}\n' "$@"
}
{
	message 99990011 '"role":"user","content":"x","stopReason":"stop"'
	message 99990012 '"role":"assistant","content":[],"stopReason":"toolUse"'
	message 99990013 '"role":"toolResult","toolCallId":"c","content":[],"isError":true'
	message 99990014 '"role":"bashExecution","command":"ls","output":"","exitCode":2'
	message 99990015 '"role":"assistant","content":[],"stopReason":"error","errorMessage":"overloaded"'
	message 99990016 '"role":"assistant","content":[],"stopReason":"aborted"'
	message 99990017 '"role":"assistant","content":[],"stopReason":"length"'
	message 99990018 '"role":"assistant","content":[],"stopReason":["stop"]'
	message 99990019 '"role":"system","content":"x"'
	message 99990020 '"role":"custom","customType":"x","content":"x","display":true'
	message 99990021 '"role":"own\n\ud800","content":"x"'
} >>"$T/src/--home-ada-weather--/${FORECAST##*/}.jsonl"
within 20 "the event of the last message" grep -q 99990021 "$T/events"
is 'user
assistant toolUse
toolResult
bashExecution
assistant error
assistant aborted
assistant length
assistant
system
custom
own �' "$(jq -r 'select(.event == "appended") | .entries[] | select(.id[:6] == "999900" and .role) |
	"\(.role | gsub("\n"; " ")) \(.stopReason // "")"' "$T/events" | sed 's/ $//')" "roles and reasons"
[ ! -s "$T/finished" ] || die "no agent has finished yet: $(cat "$T/finished")"
message 99990022 '"role":"assistant","content":[],"stopReason":"stop"' >>"$T/src/--home-ada-weather--/${FORECAST##*/}.jsonl"
within 20 "an agent that has finished" test -s "$T/finished"
is "$FORECAST" "$(cat "$T/finished")" "the agent that has finished"
kill $recipe

within 20 "the event of it" grep -q 99990022 "$T/events"
n=$(wc -l <"$T/events")
rm "$T/src/scratch.jsonl"
within 20 "the event of a deleted session" eval "[ \"\$(wc -l <'$T/events')\" -gt $n ]"

# An interrupted reader returns at once, and a waiting one does not delay unmounting.
kill $reader
within 20 "the reader's end" eval "! kill -0 $reader 2>/dev/null"
