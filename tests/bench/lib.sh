# shellcheck shell=bash
# lib.sh: timing, mounts and the table of tests/bench/run. Set before it is sourced:
# work (a directory of our own), build, keep (not empty: leave work behind).
: "${work:?}" "${build:?}" "${keep?}"

mkdir -p "$work/times" "$work/mnt"
table=$work/table
: >"$table"
declare -A daemon=() # mountpoint -> process id of what serves it

note() { printf '# %s\n' "$*" | tee -a "$table.notes" >&2; }

# --- mounts ---

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

# serve MOUNTPOINT COMMAND...: starts a filesystem in the foreground of its own process and waits until it is there.
serve() {
	local at=$1
	shift
	mkdir -p "$at"
	"$@" </dev/null >>"$work/daemon.log" 2>&1 &
	daemon[$at]=$!
	wait_for_mount "$at" "${daemon[$at]}"
}

mount_ours() { # MOUNTPOINT SOURCE [OPTION...]
	local at=$1 source=$2
	shift 2
	serve "$at" "$build/sessionfs" -f "$@" "$source" "$at"
}

unmount() { # MOUNTPOINT
	local at=$1
	[[ -n ${daemon[$at]:-} ]] || return 0
	fusermount3 -u "$at" 2>/dev/null || umount "$at" 2>/dev/null || fusermount3 -uz "$at" 2>/dev/null || true
	wait "${daemon[$at]}" 2>/dev/null || true
	unset "daemon[$at]"
}

clean_up() {
	local at
	for at in "${!daemon[@]}"; do
		fusermount3 -uz "$at" 2>/dev/null || umount -l "$at" 2>/dev/null || true
		kill "${daemon[$at]}" 2>/dev/null || continue
		sleep 0.5
		kill -9 "${daemon[$at]}" 2>/dev/null || true
	done
	wait
	[[ -n $keep ]] || rm -rf --one-file-system "$work"
}

# The resident size of the process behind a mountpoint: status_of MOUNTPOINT VmHWM, in KiB.
status_of() { awk -v k="$2:" '$1 == k { print $2 }' "/proc/${daemon[$1]}/status"; }

drop_caches() {
	[[ $EUID -eq 0 ]] || return 0
	sync
	echo 3 >/proc/sys/vm/drop_caches
}

# --- timing ---

# timed NAME EXPECTED_STATUS COMMAND...: adds the seconds that COMMAND took to the samples of NAME.
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

median() { # NAME
	sort -g "$work/times/$1" | awk '{ v[NR] = $1 }
		END { if (NR) printf "%.6f", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

calc() { awk "BEGIN { printf \"%.${2:-3}f\", $1 }"; } # EXPRESSION [DIGITS]

seconds() { awk -v s="$1" 'BEGIN { if (s < 1) printf "%.1f ms", s * 1000; else printf "%.2f s", s }'; }

# --- the table ---

# row FIGURE OURS OTHER RATIO TARGET: OURS and OTHER as they are to be shown, RATIO a number, TARGET "<= N", ">= N" or "-".
row() {
	local verdict=reported
	if [[ $5 != - ]]; then
		if awk "BEGIN { exit !($4 $5) }"; then verdict=met; else verdict=MISSED; fi
	fi
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$5" "$verdict" >>"$table"
	printf '%s: %s against %s: %s (%s, %s)\n' "$1" "$2" "$3" "$4" "$5" "$verdict" >&2
}

skip() { # FIGURE REASON
	printf '%s\t-\t-\t-\t-\tskipped: %s\n' "$1" "$2" >>"$table"
}

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
	awk -F '\t' '{ n[$6 ~ /^skipped/ ? "skipped" : $6]++ }
		END { printf "%d met, %d missed, %d reported, %d skipped\n", n["met"], n["MISSED"], n["reported"], n["skipped"] }' "$table"
}
