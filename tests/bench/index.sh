# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# index.sh: building the index of a session file. Sourced by tests/bench/run.
: "${here:?}" "${work:?}" "${absent:?}" "${reps:?}" "${slow_reps:?}" "${index_entries:?}"

# Samples of session_open on FILE; the rest of the driver's output goes to $work/NAME.index.
open_once() { # NAME FILE
	local took rest
	read -r took rest < <("$work/index" "$2")
	sample "$1" "$took"
	echo "$rest" >"$work/$1.index"
}

figure_index() {
	local dir=$work/index.d file bytes ours other i pi=''
	gen -m "$index_entries" -b 20 "$dir"
	file=$(echo "$dir"/*/*.jsonl)
	bytes=$(stat -c %s "$file")
	[[ $(grep -c "$absent" "$file" || true) -eq 0 ]]
	note "index: one session, $index_entries entries, $((bytes / 1000000)) MB"
	if find_pi; then pi=1; fi
	for ((i = 0; i < 2 * reps; i++)); do
		open_once index "$file"
		timed index.grep 1 grep -c "$absent" "$file"
	done
	for ((i = 0; i < slow_reps; i++)); do
		[[ ! $pi ]] || sample index.pi "$(with_pi "$here/pi.mjs" "$file")"
		open_once index "$file"
		! have jq || timed index.jq 0 jq -c .type "$file"
		open_once index "$file"
	done
	ours=$(median index)
	row "index, MB/s" "$(calc "$bytes / 1e6 / $ours" 0) MB/s" - "$(calc "$bytes / 1e6 / $ours" 0)" ">= 2000"
	for other in pi jq grep; do
		local target=">= 30"
		[[ $other != jq ]] || target=">= 15"
		[[ $other != grep ]] || target=">= 0.5"
		if sampled "index.$other"; then
			row "index, speed against $other" "$(seconds "$ours")" "$(seconds "$(median "index.$other")")" \
				"$(calc "$(median "index.$other") / $ours")" "$target"
		else
			skip "index, speed against $other" "$other is not there"
		fi
	done
	rm -rf "$dir"
}
