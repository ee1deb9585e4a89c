# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# large.sh: searches in ten times as much data, or as much as the disk has room for, and the memory. Sourced by
# tests/bench/run.
: "${work:?}" "${large_reps:?}" "${find_sessions:?}" "${find_mb:?}" "${rare:?}" "${planted:?}" "${large_times:?}"

# As many copies as fit into half of the free space.
times_that_fit() {
	local free
	free=$(df --output=avail -m "$work" | tail -n 1)
	awk -v n="$large_times" -v max=$((free / 2 / (find_mb + find_mb / 4))) 'BEGIN { print n < max ? n : max }'
}

bytes_of() { find "$1" -name '*.jsonl' -printf '%s\n' | awk '{ n += $1 } END { print n }'; }

large_once() { # small|large DIRECTORY
	local name at=$work/mnt/large
	mount_as rw "$at" "$2"
	need "$at/.ignore"
	for name in rg_tree hits; do
		make_cold "$name"
		timed "large.$name.cold.$1" 0 "$name" "$at"
		[[ $(count_out) -eq $planted ]]
		timed "large.$name.warm.$1" 0 "$name" "$at"
	done
	copy_some "$1" "$at/projects"
	sample "large.peak.$1" "$(mebibytes "$at" VmHWM)"
	sample "large.now.$1" "$(mebibytes "$at" VmRSS)"
	unmount "$at"
}

# A backup of everything would take an hour: the cost for each name in some sessions, evenly chosen.
copy_some() { # small|large PROJECTS
	rm -rf "$work/copy.some"
	(cd "$2" && printf '%s\n' */2*) >"$work/every"
	awk -v n="$(wc -l <"$work/every")" 'NR % int(n / 25 + 1) == 0' "$work/every" >"$work/some.sessions"
	drop_caches
	timed "large.copy.$1" 0 rsync -ar --files-from="$work/some.sessions" "$2" "$work/copy.some"
	sample "large.name.$1" "$(calc "$(tail -n 1 "$work/times/large.copy.$1") / $(find "$work/copy.some" | wc -l)" 9)"
	rm -rf "$work/copy.some"
}

figure_large() {
	local i many peak a b big=$work/large.find.d small_bytes large_bytes
	make_find
	many=$(times_that_fit)
	make_sessions "$big" $((find_sessions * many)) $((find_mb * many))
	plant "$big"
	word=$rare
	for ((i = 0; i < large_reps; i++)); do
		large_once small "$work/find.d"
		large_once large "$big"
	done
	small_bytes=$(bytes_of "$work/find.d")
	large_bytes=$(bytes_of "$big")
	large_row "rg -F in all.txt, cold" large.rg_tree.cold
	large_row "rg -F in all.txt, warm" large.rg_tree.warm
	large_row "search/WORD/hits.txt, cold" large.hits.cold
	a=$(median large.name.small)
	b=$(median large.name.large)
	row "rsync -a of some sessions, cost of a name, of $((large_bytes / 1000000)) MB against $((small_bytes / 1000000)) MB" \
		"$(microseconds "$b")" "$(microseconds "$a")" "$(calc "$b / $a")" "<= 1.2"
	peak=$(calc "$(median large.peak.large)" 1)
	row "resident after all that, $((large_bytes / 1000000)) MB" "$(calc "$(median large.now.large)" 1) MiB" \
		"peak $peak MiB" "$peak" "<= $(($(default_cache) + 32))"
	rm -rf "$big"
}

large_row() { # FIGURE NAME
	local a b
	a=$(calc "$(median "$2.small") / $small_bytes * 1e9")
	b=$(calc "$(median "$2.large") / $large_bytes * 1e9")
	row "$1, cost of a GB, of $((large_bytes / 1000000)) MB against $((small_bytes / 1000000)) MB" \
		"$(seconds "$b")" "$(seconds "$a")" "$(calc "$b / $a")" "<= 1.2"
}
