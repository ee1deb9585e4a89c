# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# memory.sh: memory and time for each entry of a long session. Sourced by tests/bench/run.
: "${work:?}" "${slow_reps:?}" "${small:?}" "${large:?}"

find_all() { find "$1" -printf '\n'; } # paths of twelve million would take GBs

mebibytes() { calc "$(status_of "$1" "$2") / 1024" 1; } # MOUNTPOINT FIELD

figure_memory() {
	local entries memory ids cache at=$work/mnt/large
	make_long
	open_once memory "$(echo "$work"/large.d/*/*.jsonl)"
	read -r entries _ memory ids <"$work/memory.index"
	row "memory of the index, bytes an entry beyond its id" "$(calc "$memory / $entries" 1)" \
		"id: $(calc "$ids / $entries" 1)" "$(calc "($memory - $ids) / $entries" 1)" "<= 64"
	for cache in default 4M; do
		find_large_session "$at" "$cache"
		row "peak memory after find over $large entries, cache $cache" "$(mebibytes "$at" VmHWM) MiB" \
			"now $(mebibytes "$at" VmRSS) MiB" "$(mebibytes "$at" VmHWM)" "<= 128"
		unmount "$at"
		find_small_session
	done
}

# Takes minutes, so both figures use the samples; the machine's speed can change meanwhile, so the comparison is
# measured before and after.
find_large_session() { # MOUNTPOINT CACHE
	local options=ro
	[[ $2 == default ]] || options=ro,cache=$2
	find_small_session
	mount_ours "$1" "$work/large.d" -o "$options"
	timed "growth.large.$2" 0 find_all "$1"
	note "find over $large entries, cache $2: $(wc -l <"$work/out") nodes in $(seconds "$(tail -n 1 "$work/times/growth.large.$2")")"
	[[ $2 != default ]] || tail -n 1 "$work/times/growth.large.$2" >>"$work/times/growth.find.large"
}

find_small_session() {
	local i at=$work/mnt/small
	for ((i = 0; i < 3; i++)); do
		mount_as ro "$at" "$work/small.d"
		timed growth.find.small 0 find_all "$at"
		unmount "$at"
	done
}

figure_growth() {
	local i size at=$work/mnt/growth
	make_long
	for ((i = 0; i < slow_reps; i++)); do
		for size in small large; do
			open_once "growth.index.$size" "$(echo "$work/$size.d"/*/*.jsonl)"
		done
	done
	if ! sampled growth.find.large; then
		find_large_session "$at" default
		unmount "$at"
		find_small_session
	fi
	growth_row index
	growth_row find
}

growth_row() { # FIGURE
	local a b
	a=$(calc "$(median "growth.$1.small") / $small * 1e6")
	b=$(calc "$(median "growth.$1.large") / $large * 1e6")
	row "$1, cost of an entry, of $large against $small" "$b us" "$a us" "$(calc "$b / $a")" "<= 1.3"
}
