#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .status reports the state of the mount at once, even while its source is silent.
. "$(dirname "$0")/../lib/lib.sh"
need jq python3
needs_watches
samples "$T/src"
mkdir "$T/src/--of-quotes--"
quoted=$T/src/a\ \"quoted\"\ name
mkdir "$quoted"
says() { # FILTER EXPECTED [FILE]: asserts the output of jq
	is "$2" "$(jq -r "$1" "${3:-$T/mnt/.status}")" "$1 of ${3:-.status}"
}
is_settled() { [ "$(jq .scanning "$T/mnt/.status")" = false ]; }

# --- without a mount ---
"$SESSIONFS" -S "$T/src" --cat .status >"$T/said" || die "--cat .status ended with $?"
is 1 "$(wc -l <"$T/said")" "lines"
says 'keys_unsorted | join(" ")' "program contract source follows watches sessions scanning memory" "$T/said"
says '[.program, .contract, .source, .follows, .watches, .scanning] | @tsv' \
	"$("$SESSIONFS" -V | sed -n 1p)	3	$T/src	inotify	0	false" "$T/said"
sessions=$("$SESSIONFS" -S "$T/src" --ls sessions | wc -l)
says .sessions "$sessions" "$T/said"
says .source "$quoted" <("$SESSIONFS" -S "$quoted" --cat .status)

need_mount
for o in rw ro; do
	mount_fs "$T/src" "$T/mnt" -o $o
	await "all is known ($o)" is_settled
	says '[.source, .follows, .watches] | @tsv' "$T/src	inotify	$(find "$T/src" -type d | wc -l)"
	says .sessions "$sessions"
	is "400 $(id -u)" "$(stat -c '%a %u' "$T/mnt/.status")" "mode and owner ($o)"
	is 0 "$(find "$T/mnt" -maxdepth 1 -name .status | wc -l)" "listed ($o)"
	# It is never outdated and never cut: each has the same length.
	size=$(stat -c %s "$T/mnt/.status")
	cp "$T/src"/--home-ada-weather--/*5ca5f.jsonl "$T/src/--home-ada-weather--/one-more.jsonl"
	says .sessions $((sessions + 1))
	cat "$T/mnt/sessions.tsv" "$T/mnt"/projects/*/*/chat.md >/dev/null
	says '.memory > 0' true
	is "$size" "$(wc -c <"$T/mnt/.status")" "length ($o)"
	rm "$T/src/--home-ada-weather--/one-more.jsonl"
	says .sessions "$sessions"
	umount_fs "$T/mnt"
done
mount_fs "$T/src" "$T/mnt" --poll
await "all is known" is_settled
says '[.follows, .watches] | @tsv' "poll	0"
umount_fs "$T/mnt"

# --- a source that is silent from before its first scan ---
slowfs=$(dirname "$SESSIONFS")/slowfs
[ -x "$slowfs" ] || die "there is no $slowfs: make $slowfs"
clean_first() { kill -KILL "${server:-}" 2>/dev/null; }
mkdir "$T/far"
"$slowfs" 300 "$T/gate" "$T/src" "$T/far" -f &
server=$!
await "slowfs" mountpoint -q "$T/far"
mount_fs "$T/far" "$T/beside" -o ro
mount_fs "$T/far" "$T/mnt" -o ro
: >"$T/gate"
says .scanning true
# The quickest of five reads takes less than half of the second that a request for the source waits.
python3 - "$T" <<'END' || die "it was waited for"
import os, sys, threading, time
def read(name, took):
    began = time.monotonic()
    try:
        os.listdir(name) if os.path.isdir(name) else open(name).read()
    except OSError:
        pass
    took.append(time.monotonic() - began)
waits, answers = [], []
waiting = threading.Thread(target=read, args=(f"{sys.argv[1]}/beside/projects", waits))
waiting.start()
for _ in range(5):
    read(f"{sys.argv[1]}/mnt/.status", answers)
waiting.join()
print(f".status: {answers}, beside it {waits}")
sys.exit(not min(answers) < waits[0] / 2)
END
rm "$T/gate"
umount_fs "$T/beside"
# A scan that the silence ended is not repeated until there is a request for the source.
are_known() { ls "$T/mnt/sessions" >/dev/null 2>&1; is_settled && [ "$(jq .sessions "$T/mnt/.status")" = "$sessions" ]; }
await "all is known" are_known
says '[.sessions, .follows] | @tsv' "$sessions	poll"
# The last scan is valid for a while. Then a request begins one, which ends after a second without an answer.
: >"$T/gate"
looks=()
is_scanning() {
	ls "$T/mnt/projects/none-${#looks[@]}" >/dev/null 2>&1 & # a name that the kernel has not cached
	looks+=($!)
	for _ in {1..20}; do
		line=$(<"$T/mnt/.status")
		[[ $line != *'"scanning":true'* ]] || return 0
		sleep 0.01
	done
	return 1
}
await "a look that does not return" is_scanning
is "$sessions" "$(jq .sessions <<<"$line")" "sessions while the server is silent"
rm "$T/gate"
wait "${looks[@]}" || : # they can fail, since this took too long
umount_fs "$T/mnt"
umount_fs "$T/far"
