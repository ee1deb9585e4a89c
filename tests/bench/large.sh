# shellcheck shell=bash
# large.sh: finding in ten times as much, as much as the disk allows. Sourced by tests/bench/run.
: "${work:?}" "${slow_reps:?}" "${find_sessions:?}" "${find_mb:?}" "${rare:?}" "${planted:?}" "${large_times:?}"

# As many times as fit into half of what is free.
times_that_fit() {
	local free
	free=$(df --output=avail -m "$work" | tail -n 1)
	awk -v n="$large_times" -v max=$((free / 2 / (find_mb + find_mb / 4))) 'BEGIN { print n < max ? n : max }'
}

bytes_of() { find "$1" -name '*.jsonl' -printf '%s\n' | awk '{ n += $1 } END { print n }'; }

# Everything once; rows in samples of the seconds a megabyte cost.
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
	sample "large.peak.$1" "$(mebibytes "$at" VmHWM)"
	sample "large.now.$1" "$(mebibytes "$at" VmRSS)"
	unmount "$at"
}

figure_large() {
	local i name many big=$work/large.find.d small_bytes large_bytes
	make_find
	many=$(times_that_fit)
	make_sessions "$big" $((find_sessions * many)) $((find_mb * many))
	plant "$big"
	word=$rare
	for ((i = 0; i < slow_reps; i++)); do
		large_once small "$work/find.d"
		large_once large "$big"
	done
	small_bytes=$(bytes_of "$work/find.d")
	large_bytes=$(bytes_of "$big")
	for name in rg_tree.cold rg_tree.warm hits.cold; do
		large_row "${name/rg_tree/rg -F in all.txt}" "large.$name"
	done
	row "resident after that, $((large_bytes / 1000000)) MB" "$(median large.now.large) MiB" \
		"peak $(median large.peak.large) MiB" "$(median large.peak.large)" "<= $(($(default_cache) + 32))"
	rm -rf "$big"
}

large_row() { # FIGURE NAME
	local a b
	a=$(calc "$(median "$2.small") / $small_bytes * 1e9")
	b=$(calc "$(median "$2.large") / $large_bytes * 1e9")
	row "${1/hits/search\/WORD\/hits.txt}, cost of a GB, of $((large_bytes / 1000000)) MB against $((small_bytes / 1000000))" \
		"$(seconds "$b")" "$(seconds "$a")" "$(calc "$b / $a")" "<= 1.2"
}
