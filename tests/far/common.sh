# SPDX-License-Identifier: MIT
# Sourced by the tests in tests/far: one session directory on a network file system, mounted twice in place of two
# machines. Each test has its own network, processes and mounts, none of which remain when it ends; there the machine
# has the name `far`.
#
# A test mounts the file system twice, at $A and $B, sets $SERVED to the same directory on the server (empty: the server
# stores it differently), and calls `machines`, which prints what it measures. SECONDS_EACH=3 and SESSIONS=10000 can be
# set (0: none).
# shellcheck shell=bash
if [ -z "${FAR_APART:-}" ]; then
	[ "$(id -u)" -eq 0 ] || {
		echo "skipped: needs root"
		exit 77
	}
	FAR_APART=1 exec unshare --net --mount --pid --fork --kill-child --mount-proc "$0" "$@"
fi
. "$(dirname "${BASH_SOURCE[0]}")/../lib/lib.sh"
need_mount
need python3 ip
FAR=$ROOT/tests/far
A=$T/a B=$T/b SERVED=
M1=$T/m1 M2=$T/m2
mkdir -p "$A" "$B" "$M1" "$M2"
ip link set lo up
ip addr add 10.213.0.1/32 dev lo # servers that should be reached by others refuse 127.0.0.1
sed '/\bfar\b/d' /etc/hosts >"$T/hosts"
echo "10.213.0.1 far" >>"$T/hosts"
mount --bind "$T/hosts" /etc/hosts

wanted() { # PACKAGE COMMAND: skips the test if the command is missing
	command -v "$2" >/dev/null 2>&1 || skip "$1 cannot be had here"
}
ms() { echo $(($(date +%s%N) / 1000000)); }
said() { printf '%-34s %s\n' "$1" "$2" | tee -a "$T/said"; }
timed() { # WHAT COMMAND...
	local what=$1 begin
	shift
	begin=$(ms)
	"$@" >"$T/out" || die "$what: $* ended with $?"
	said "$what" "$(($(ms) - begin)) ms"
}

# All names and bytes except those that contain the source's place.
shown() { # MOUNT
	(
		cd "$1"
		find projects sessions by-date by-project -printf '%y %p %l\n' | sort
		find projects -type f ! -name path ! -name resume -print0 | sort -z | xargs -0 sha256sum
		sha256sum ./*.tsv
		cat search/Oslo/hits.txt 'search/role:user after:2026-03-02/hits.txt'
	)
}

browse() {
	mount_fs "$T/local" "$T/mnt" -o ro
	shown "$T/mnt" >"$T/shown"
	umount_fs "$T/mnt"
	local m
	for m in "$M1" "$M2"; do
		shown "$m" >"$T/shown.far"
		diff "$T/shown" "$T/shown.far" >&2 || die "$m shows (>) other than the local mount (<)"
	done
	said "browsing" "equal, $(wc -l <"$T/shown") names and sums"
}

# The time until a machine sees a line or label of the other one, the maximum of some.
has_line() { grep -q "$1" "$2" 2>/dev/null; }
seen_after() { # MOST HOW
	local k begin took longest=0 f=$B/--far--/seen.jsonl parent=a0000000
	if [ "$2" != none ]; then
		cp "$f" "$B/--far--/new.jsonl"
		begin=$(ms)
		await "a new session" test -e "$M1/projects/far/new/title"
		said "a new session is seen after" "$(($(ms) - begin)) ms"
	fi
	for k in 1 2 3 4 5; do
		printf '{"type":"message","id":"c%d","parentId":"%s","message":{"role":"user","content":"seen %d"}}\n' $k $parent $k >>"$f"
		parent=c$k
		begin=$(ms)
		await "what pi appended" has_line "seen $k" "$M1/projects/far/seen/all.txt"
		took=$(($(ms) - begin))
		[ $took -le $longest ] || longest=$took
	done
	said "an appended line is seen after" "$longest ms at most"
	[ $longest -le "$1" ] || die "an appended line is seen after $longest ms, not $1"
	longest=0
	for k in 1 2 3 4 5; do
		echo "label $k" >"$M1/projects/far/seen/entries/c$k/label"
		begin=$(ms)
		await "a label of the other machine" has_line "label $k" "$M2/projects/far/seen/labels.tsv"
		took=$(($(ms) - begin))
		[ $took -le $longest ] || longest=$took
	done
	said "a label is seen after" "$longest ms at most"
	[ $longest -le "$1" ] || die "a label is seen after $longest ms, not $1"
}

# Both machines and pi, which runs on the second one, write to one session; `meanwhile` acts on the server at that time,
# `settle` waits until all of it has arrived.
meanwhile() { :; }
settle() { :; }
storm() { # SESSION MOUNT MOUNT CLIENT
	local running=() seconds=${SECONDS_EACH:-3} p
	rm -f "$T"/acks.*
	await "the session of the storm" test -e "$2/projects/far/$1/title" -a -e "$3/projects/far/$1/title"
	python3 "$FAR/storm.py" write 0 "$2/projects/far/$1" "$seconds" "$T/acks.0" &
	running+=($!)
	python3 "$FAR/storm.py" write 1 "$3/projects/far/$1" "$seconds" "$T/acks.1" &
	running+=($!)
	python3 "$FAR/storm.py" append "$4/--far--/$1.jsonl" "$seconds" "$T/acks.pi" &
	running+=($!)
	meanwhile
	for p in "${running[@]}"; do wait "$p" || die "a writer ended with $?"; done
	settle
}
judged() { # SESSION WHO
	local rc=0
	python3 "$FAR/storm.py" judge "${SERVED:-$A}/--far--/$1.jsonl" "$T"/acks.{0,1,pi} >"$T/judged" 2>"$T/why" || rc=$?
	said "$2 write, and pi" "$(cat "$T/judged")"
	return $rc
}
agree() { # SESSION
	local m
	for m in "$M1" "$M2"; do
		await "$m shows the file as it is" cmp -s "${SERVED:-$A}/--far--/$1.jsonl" "$m/projects/far/$1/session.jsonl"
	done
	"$SESSIONFS" -S "${SERVED:-$A}/--far--" --check >"$T/check" 2>&1 || :
	is "" "$(grep "^$1.jsonl:" "$T/check")" "what the check says of $1.jsonl"
}

# Prints the server's requests so far: getattr, open, read. A test that can count defines it.
requests() { :; }

# With this many more sessions: the time of requests, and the load of the server.
many() {
	local n=${SESSIONS:-${FEW:-10000}} at=${SERVED:-$A} k
	[ "$n" -gt 0 ] || return 0
	nice python3 "$FAR/many.py" "$T/local" "$at" "$n"
	"$SESSIONFS" "${OPTIONS[@]}" -o ro "$A" "$M1" || die "the mount of many"
	requests >"$T/before"
	timed "$n sessions: ls projects/*" sh -c "ls $M1/projects/*"
	timed "by-date" sh -c "ls $M1/by-date/*"
	timed "sessions.tsv" cat "$M1/sessions.tsv"
	[ "$(wc -l <"$T/out")" -gt "$n" ] || die "sessions.tsv has $(wc -l <"$T/out") lines"
	timed "search" cat "$M1/search/table/hits.txt"
	timed "another search" cat "$M1/search/Oslo/hits.txt"
	requests >"$T/after"
	paste -d' ' "$T/before" "$T/after" | awk '{ printf "%s %d, ", $1, $4 - $2 }' >"$T/all"
	[ ! -s "$T/after" ] || said "requests for all that" "$(sed 's/, $//' "$T/all")"
	# A listing is requested every second, for ten seconds.
	sleep 2 # answers are cached that long, and their expiry cannot be seen
	requests >"$T/before"
	for k in 1 2 3 4 5 6 7 8 9 10; do
		ls "$M1"/projects/* "$M1"/sessions.tsv >/dev/null
		sleep 1 # that is the rate
	done
	requests >"$T/after"
	[ ! -s "$T/after" ] || said "requests of ten listings" "$(paste -d' ' "$T/before" "$T/after" | awk '{ printf "%s %d, ", $1, $4 - $2 }' | sed 's/, $//')"
	# Unchanged files are not opened again.
	paste -d' ' "$T/before" "$T/after" | awk '/^(open|read) / && $4 > $2 { exit 1 }' || die "files that have not changed are opened again"
	umount_fs "$M1"
}

# The whole test. MOST: after how many ms all changes must show. HOW: `both` machines can write to a session, both can
# but the order differs (`kept`: nothing is lost or torn), `one` (two programs on it), or `none`, where nothing is
# required. Writes on both are measured in any case.
OPTIONS=()
machines() { # MOST both|kept|one|none
	local most=$1 how=$2 rc=0
	samples "$T/local"
	mkdir "$T/local/--far--"
	python3 "$FAR/storm.py" make "$T/local/--far--/both.jsonl"
	cp "$T/local/--far--/both.jsonl" "$T/local/--far--/one.jsonl"
	head -n 2 "$T/local/--far--/both.jsonl" >"$T/local/--far--/seen.jsonl"
	cp -a "$T/local/." "${SERVED:-$A}/"
	mount_fs "$A" "$M1" "${OPTIONS[@]}"
	mount_fs "$B" "$M2" "${OPTIONS[@]}"
	browse
	seen_after "$most" "$how"
	if [ "$how" = one ]; then
		storm one "$M1" "$M1" "$A"
		judged one "two programs on one machine" || die "$(cat "$T/why")"
		agree one
	fi
	storm both "$M1" "$M2" "$B"
	judged both "both machines" || rc=$?
	case $how$rc in
	both0 | kept0) agree both ;;
	both* | kept2) die "$(cat "$T/why")" ;;
	esac
	umount_fs "$M1"
	umount_fs "$M2"
	many
}
