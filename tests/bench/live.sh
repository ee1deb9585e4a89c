# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# live.sh: the time until an append shows in the mount, and the cost of following one. Sourced by tests/bench/run.
: "${here:?}" "${build:?}" "${work:?}" "${slow_reps:?}" "${appends:?}" "${lines:?}"

live_deadline=60 # seconds

# aside NAME COMMAND...: starts a process of the figure that must not outlive it.
aside() {
	local name=$1
	shift
	"$@" &
	echo $! >"$work/pids/$name"
}

wait_aside() { # NAME
	local rc=0
	wait "$(pid_of "$1")" || rc=$?
	rm "$work/pids/$1"
	return $rc
}

stop_aside() { # NAME
	end_process "$(pid_of "$1")"
	wait_aside "$1" 2>/dev/null || true
}

until_true() { # COMMAND...: waits until it succeeds, up to the deadline
	local i
	for ((i = 0; i < live_deadline * 50; i++)); do
		"$@" && return 0
		sleep 0.02
	done
	echo "bench: waited $live_deadline s in vain: $*" >&2
	return 1
}

# Writes a new session of N entries to DIRECTORY, always the same.
fresh_session() { # N DIRECTORY
	[[ -d $work/session.$1 ]] || gen -m "$1" -b 2 "$work/session.$1"
	rm -rf "$2"
	cp -a "$work/session.$1" "$2"
}

last_id() { tail -n 1 "$1" | sed 's/.*"id":"\([^"]*\)","parentId".*/\1/'; }

# --- latency ---

# When parts of an appended line were seen: samples in seconds from the beginning of the append.
latency_samples() { # NAME WRITTEN SEEN
	awk 'NR == FNR { before[$1] = $2; next } NF == 2 { printf "%.6f\n", ($2 - before[$1]) / 1e9 }' "$2" "$3" >"$work/times/$1"
	[[ $(wc -l <"$work/times/$1") -eq $appends ]]
	awk '{ printf "%.6f\n", ($3 - $2) / 1e9 }' "$2" >>"$work/times/latency.append"
}

# Starts sessionfs --events in the background, which writes to the new fifo FIFO.
follow_events() { # SOURCE FIFO
	rm -f "$2"
	mkfifo "$2"
	aside events "$build/sessionfs" -S "$1" --events <>"$2" >&0
	sleep 1
}

append_to() { # FILE
	if [[ $writer == pi ]]; then
		with_pi "$here/append.mjs" "$1" "$appends" 20
	else
		"$work/live" append "$1" "$(last_id "$1")" "$appends" 20000
	fi
}

# watch_appends ro|rw READER: one run, samples latency.MOUNT.READER.
watch_appends() {
	local at=$work/mnt/live session file seen=$work/seen name=latency.$1.$2 rc=0
	fresh_session 1000 "$work/live.d"
	file=$(echo "$work/live.d"/*/*.jsonl)
	mount_as "$1" "$at" "$work/live.d"
	session=$(echo "$at"/projects/*/2*)
	cat "$session/session.jsonl" "$session/transcript.md" >/dev/null
	: >"$seen"
	if [[ $2 == --events ]]; then
		follow_events "$work/live.d" "$work/live.events"
		aside reader "$work/live" events "$session" "$appends" $live_deadline <"$work/live.events" >"$seen"
	else
		aside reader "$work/live" poll "$session/$2" "$appends" $live_deadline >"$seen"
	fi
	until_true grep -q ready "$seen"
	append_to "$file" >"$work/written"
	wait_aside reader || rc=$?
	[[ $2 != --events ]] || stop_aside events
	unmount "$at"
	[[ $rc -eq 0 ]] && latency_samples "$name" "$work/written" "$seen"
}

latency_rows() { # ro|rw READER
	local name=latency.$1.$2 figure="latency, $1, to be seen by a reader that "
	if [[ $2 == --events ]]; then
		figure+="waits for sessionfs --events"
	else
		figure+="polls $2"
	fi
	if ! sampled "$name"; then
		fail "$figure" "not all of $appends lines were seen"
		return
	fi
	row "$figure, median" "$(seconds "$(median "$name")")" - "$(calc "$(median "$name") * 1000" 2)" "<= 10"
	row "$figure, 99th percentile" "$(seconds "$(percentile "$name" 99)")" \
		"worst $(seconds "$(percentile "$name" 100)")" "$(calc "$(percentile "$name" 99) * 1000" 2)" "<= 50"
}

figure_latency() {
	local mount reader writer=pi
	if ! find_pi; then
		writer=live
		skip "latency of pi's own appends" "pi is not there; a program that writes such lines takes its place"
	fi
	for mount in rw ro; do
		for reader in --events session.jsonl transcript.md; do
			watch_appends $mount $reader || true # the row names it
			latency_rows $mount $reader
		done
	done
	note "latency: ms from the begin of the append, $appends appends 20 ms apart by ${writer/live/a program of our own}; an append took $(seconds "$(median latency.append)")"
}

# --- following ---

has_mark() { grep -q "live-$(printf '%06d' "$lines");" "$1"; }

# follow_growth ENTRIES: the CPU time of the process while such a session grows and is followed, as a sample.
follow_growth() {
	local at=$work/mnt/follow dir=$work/follow.d file session before followed
	fresh_session "$1" "$dir"
	file=$(echo "$dir"/*/*.jsonl)
	mount_as rw "$at" "$dir"
	session=$(echo "$at"/projects/*/2*)
	for followed in session.jsonl transcript.md; do
		cat "$session/$followed" >/dev/null
		aside "tail.$followed" tail -n 1 -s 0.01 -f "$session/$followed" >"$work/followed.$followed"
		until_true test -s "$work/followed.$followed"
	done
	aside events "$build/sessionfs" -S "$dir" --events >"$work/followed.events"
	sleep 1
	before=$(calc "$(cpu_of "$at") + $(cpu_of events)" 6)
	"$work/live" append "$file" "$(last_id "$file")" "$lines" 2000 >"$work/written"
	for followed in session.jsonl transcript.md; do
		until_true has_mark "$work/followed.$followed"
	done
	until_true test -s "$work/followed.events"
	sample "follow.$1" "$(calc "$(cpu_of "$at") + $(cpu_of events) - $before" 6)"
	for followed in session.jsonl transcript.md; do
		stop_aside "tail.$followed"
		[[ $(grep -o 'live-[0-9]*;' "$work/followed.$followed" | sort -u | wc -l) -eq $lines ]]
	done
	stop_aside events
	unmount "$at"
}

figure_follow() {
	local i size few many
	for ((i = 0; i < slow_reps; i++)); do
		for size in 1000 100000; do follow_growth $size; done
	done
	few=$(median follow.1000)
	many=$(median follow.100000)
	note "follow: $lines lines, 2 ms apart; tail -s 0.01 -f of session.jsonl and transcript.md, and sessionfs --events; CPU time of that and of the mount, read-write"
	row "following $lines new lines, session of 100,000 entries against 1,000" "$(seconds "$many")" "$(seconds "$few")" \
		"$(calc "$many / $few")" "<= 2"
}
