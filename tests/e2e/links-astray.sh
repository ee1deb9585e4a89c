#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Links in the source that lead into the mount, or to a server that does not answer: everything else is answered, and
# the mount ends.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need bindfs

session() { # FILE ID
	printf '{"type":"session","version":3,"id":"%s","timestamp":"2026-04-01T12:00:00.000Z","cwd":"/x"}\n' "$2" >"$1"
}
answers() { "$@" >"$T/out" 2>"$T/err" || :; } # COMMAND...: ends, with any status
good() { # DIRECTORY: the rest of the mount
	answers cat "$1/projects/good/one/title"
	is "(no messages)" "$(cat "$T/out")" "a title ($(cat "$T/err"))"
	answers ls "$1/projects"
	matches good "$(cat "$T/out")" "projects"
	answers ls "$1/projects/good"
	matches one "$(cat "$T/out")" "sessions of a project"
	answers find "$1" -name title
}
ends() { # DIRECTORY PID
	kill "$2"
	await "SIGTERM ends the filesystem" gone "$2"
	! mountpoint -q "$1" || die "$1 is mounted still"
}
gone() { ! kill -0 "$1" 2>/dev/null; }
all_gone() {
	local p
	for p in "$@"; do gone "$p" || return 1; done
}
# The leak check of a sanitizer waits for stuck threads.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
# A stopped server would block the cleanup.
clean_first() { kill -CONT "${server:-}" 2>/dev/null; }

# --- into the mount ---------------------------------------------------------------
for way in "" -s; do
	rm -rf "$T/src" && mkdir -p "$T/src/--good--" "$T/mnt"
	session "$T/src/--good--/one.jsonl" one
	ln -s "$T/mnt/projects/good/one/session.jsonl" "$T/src/--good--/before.jsonl"
	ln -s ../mnt "$T/src/--before--"
	# shellcheck disable=SC2086
	mount_fs "$T/src" "$T/mnt" $way
	pid=$(mount_pid "$T/mnt")
	good "$T/mnt"
	ln -s ../../mnt/projects/good/one/session.jsonl "$T/src/--good--/after.jsonl"
	ln -s "$T/mnt/projects/good" "$T/src/--after--"
	ln -s "$T/mnt/latest" "$T/src/flat.jsonl"
	session "$T/src/--good--/last.jsonl" last
	await "what came after the links" test -e "$T/mnt/projects/good/last"
	rm "$T/src/--good--/last.jsonl"
	await "its end" test ! -e "$T/mnt/projects/good/last"
	good "$T/mnt"
	is "good" "$(ls "$T/mnt/projects")" "projects with links into the mount ($way)"
	is "one" "$(ls "$T/mnt/sessions")" "sessions with links into the mount ($way)"
	answers "$SESSIONFS" -S "$T/src" --check
	ends "$T/mnt" "$pid"
done

# --- to a server that does not answer -----------------------------------------------
for way in "" -s; do
	rm -rf "$T/src" "$T/far" && mkdir -p "$T/src/--good--" "$T/far/dir" "$T/bound"
	session "$T/src/--good--/one.jsonl" one
	session "$T/far/dir/two.jsonl" two
	session "$T/far/three.jsonl" three
	bindfs --no-allow-other -f "$T/far" "$T/bound" &
	server=$!
	await "bindfs" mountpoint -q "$T/bound"
	ln -s "$T/bound/three.jsonl" "$T/src/--good--/three.jsonl"
	ln -s "$T/bound/dir" "$T/src/--far--"
	# shellcheck disable=SC2086
	mount_fs "$T/src" "$T/mnt" $way
	pid=$(mount_pid "$T/mnt")
	is "far good" "$(cd "$T/mnt/projects" && echo *)" "projects, some of them on another file system ($way)"
	is "one three two" "$(cd "$T/mnt/sessions" && echo *)" "sessions, some of them on another file system ($way)"
	echo found >"$T/mnt/projects/good/three/name"
	is found "$(cat "$T/mnt/projects/good/three/title")" "a name that was written there ($way)"
	lasts=$(scan_lasts "$T/src")
	kill -STOP "$server"
	sleep "$lasts"
	good "$T/mnt"
	answers cat "$T/mnt/projects/good/three/title"
	answers ls "$T/mnt/projects/far"
	good "$T/mnt"
	# Files made from all sessions are made from the others.
	answers cat "$T/mnt/sessions.tsv"
	is "one" "$(tail -n +2 "$T/out" | cut -f1)" "sessions.tsv without a server ($way)"
	for name in usage.tsv usage.svg html/index.html; do
		answers cat "$T/mnt/$name"
		is "" "$(cat "$T/err")" "$name without a server ($way)"
	done
	answers ls "$T/mnt/by-date/2026-04-01"
	is "12.00 (no messages)" "$(cat "$T/out")" "by-date without a server ($way)"
	matches 'timed out' "$(cat "$T/err")" "the end of by-date without a server ($way)"
	answers cat "$T/mnt/search/session:one/hits.txt"
	matches 'timed out' "$(cat "$T/err")" "what may be found without a server ($way)"
	# A file or a directory that replaces such a link shows while the server is silent.
	rm "$T/src/--good--/three.jsonl"
	session "$T/src/--good--/three.jsonl" new
	is "new" "$(jq -r .id "$T/mnt/projects/good/three/info.json")" "a file in place of a link to a server ($way)"
	rm "$T/src/--far--"
	mkdir "$T/src/--far--"
	session "$T/src/--far--/near.jsonl" near
	# Polling waits for the end of the scan of that server.
	is_portable || is "near" "$(jq -r .id "$T/mnt/projects/far/near/info.json")" "a directory in place of such a link ($way)"
	[ -z "$way" ] || ends "$T/mnt" "$pid"
	rm -r "$T/src/--good--/three.jsonl" "$T/src/--far--"
	ln -s "$T/bound/three.jsonl" "$T/src/--good--/three.jsonl"
	ln -s "$T/bound/dir" "$T/src/--far--"
	kill -CONT "$server"
	if [ -z "$way" ]; then
		await "it is shown again" test -e "$T/mnt/projects/far/two/title"
		await "so is the other" test -e "$T/mnt/projects/good/three/title"
		! is_portable || sleep 0.5 # polling
		is "three" "$(jq -r .id "$T/mnt/projects/good/three/info.json")" "a session that could not be had for a while"
		ends "$T/mnt" "$pid"
	fi
	umount_fs "$T/bound"
	wait "$server" || :
done

# --- to one that dies while a session on it is read -----------------------------------
# The attributes are cached for long, so that only the contents are requested.
for way in "" -s; do
	rm -rf "$T/src" "$T/far" && mkdir -p "$T/src/--good--" "$T/far"
	session "$T/src/--good--/one.jsonl" one
	session "$T/far/two.jsonl" two
	for i in $(seq 30); do
		echo '{"type":"message","id":"e'"$i"'","parentId":null,"message":{"role":"user","content":"text"}}'
	done >>"$T/far/two.jsonl"
	bindfs --no-allow-other -f -o direct_io,attr_timeout=1000,entry_timeout=1000 "$T/far" "$T/bound" &
	server=$!
	await "bindfs" mountpoint -q "$T/bound"
	ln -s "$T/bound/two.jsonl" "$T/src/--good--/two.jsonl"
	# shellcheck disable=SC2086
	mount_fs "$T/src" "$T/mnt" $way
	pid=$(mount_pid "$T/mnt")
	entries=$T/mnt/projects/good/two/entries
	is text "$(cat "$entries/e1/text.md")" "an entry ($way)"
	kill -STOP "$server"
	readers=()
	for i in $(seq 2 21); do
		cat "$entries/e$i/text.md" >/dev/null 2>&1 &
		readers+=($!)
	done
	good "$T/mnt"
	kill -KILL "${readers[0]}" "${readers[1]}" 2>/dev/null || :
	await "the readers end ($way)" all_gone "${readers[@]}"
	answers cat "$entries/e25/text.md"
	if [ -z "$way" ]; then
		kill -CONT "$server"
		await "it is read again" cat "$entries/e26/text.md"
		kill -STOP "$server"
	fi
	cat "$entries/e27/text.md" >/dev/null 2>&1 &
	ends "$T/mnt" "$pid"
	kill -CONT "$server"
	umount_fs "$T/bound"
	wait || :
done
