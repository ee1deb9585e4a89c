#!/usr/bin/env bash
# .events gives a waiting reader one JSON line for each change.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need jq
samples "$T/src"
mount_told "$T/src" "$T/mnt"
! ls -A "$T/mnt" | grep events >/dev/null || die ".events is listed"
[ -r "$T/mnt/.events" ] || die "there is no .events"

cat "$T/mnt/.events" >"$T/events" &
reader=$!
within 20 "the reader" has_open $reader "$T/mnt/.events"
sleep 1
kill -0 $reader 2>/dev/null || die "a reader does not wait: $(cat "$T/events")"
[ ! -s "$T/events" ] || die "events without a change: $(cat "$T/events")"
echo '{"type":"session_info","id":"99990001","parentId":"33ccdcfd","timestamp":"2026-03-02T12:00:00.000Z","name":"x"}' \
	>>"$T/src/--home-ada-weather--/${FORECAST##*/}.jsonl"
within 20 "the event" test -s "$T/events"
jq -e . "$T/events" >/dev/null || die "not JSON: $(cat "$T/events")"
grep -q "${FORECAST##*/}" "$T/events" || die "which session? $(cat "$T/events")"
ls "$T/mnt" >/dev/null # a waiting reader does not keep others waiting
n=$(wc -l <"$T/events")
rm "$T/src/scratch.jsonl"
within 20 "the event of a deleted session" eval "[ \"\$(wc -l <'$T/events')\" -gt $n ]"

# A reader that is interrupted lets go at once, and one that still waits does not keep the mount.
kill $reader
within 20 "the reader's end" eval "! kill -0 $reader 2>/dev/null"
