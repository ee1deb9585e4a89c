# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# days.sh: the sessions of a day, and the tables of all sessions and of their usage, compared with jq over the session
# files. Sourced by tests/bench/run.
: "${work:?}" "${slow_reps:?}" "${many_sessions:?}"

# jq prints a row for each line with a time, a model and a cost; awk makes the tables from them. jq alone would have to
# keep everything in memory.
facts='[input_filename, .type, (.timestamp // "" | tostring), .message.role // "", (.message // . | "\(.provider // "")/\(.model // .modelId // "")"),
	((.message.usage // .usage | objects) | [.totalTokens // 0, .cost.total // 0] | @csv) // "",
	(if .message.role == "user" then .message.content | if type == "array" then [.[].text? // empty] | join(" ") else tostring end else "" end)[:200]] | @tsv'
jq_facts() { find "$1" -name "${2:-*.jsonl}" -print0 | xargs -0 jq -r "$facts"; }

day_tree() { ls "$1/by-date/$day"; }
day_raw() {
	jq_facts "$1" "${2:-}" | awk -F '\t' -v day="$day" '
		$2 == "session" && $3 ~ day { time[$1] = $3 }
		$7 != "" && $1 in time && !($1 in said) { print substr(time[$1], 12, 5), $7; said[$1] }
		END { for (f in time) if (!(f in said)) print substr(time[f], 12, 5), "(no messages)" }'
}
# The names of the files begin with the day, for programs that use it.
day_named() { day_raw "$1" "$day*.jsonl"; }

sessions_tree() { cat "$1/sessions.tsv"; }
sessions_raw() {
	jq_facts "$1" | awk -F '\t' '
		{ n[$1]++ }
		$2 == "session" { begun[$1] = $3 }
		$4 != "" { messages[$1]++; modified[$1] = $3 }
		$4 == "assistant" { model[$1] = $5 }
		$6 != "" { split($6, u, ","); tokens[$1] += u[1]; cost[$1] += u[2] }
		$7 != "" && !($1 in title) { title[$1] = $7 }
		END { OFS = FS; OFMT = "%.9f"; for (f in n) print f, begun[f], modified[f], n[f] - 1, messages[f], tokens[f], cost[f], model[f], title[f] }'
}

usage_tree() { cat "$1/usage.tsv"; }
usage_raw() {
	jq_facts "$1" | awk -F '\t' '
		$6 != "" { split($1, part, "/"); k = substr($3, 1, 10) FS part[length(part) - 1] FS $5
			split($6, u, ","); n[k]++; tokens[k] += u[1]; cost[k] += u[2] }
		END { OFS = FS; OFMT = "%.9f"; for (k in n) print k, n[k], tokens[k], cost[k] }'
}

# A result that both must agree in: the number, or the total cost.
answer() { # NAME, in the output of the last command
	case $1 in
	day | named) count_out ;;
	sessions) awk -F '\t' '$1 != "id" { n++; m += $(NF > 9 ? 7 : 5) } END { print n, m }' "$work/out" ;;
	usage) awk -F '\t' '$1 != "day" { m += $4; c += $NF } END { printf "%d %.3f\n", m, c }' "$work/out" ;;
	esac
}

days_tree() { # NAME
	local mount=$work/mnt/days
	mount_as rw "$mount" "$dir"
	make_cold "$1_tree"
	timed "days.$1.cold" 0 "$1_tree" "$mount"
	answer "$1" >"$work/answer.$1"
	timed "days.$1.warm" 0 "$1_tree" "$mount"
	timed "days.$1.warm" 0 "$1_tree" "$mount"
	unmount "$mount"
}

# Once: it takes a minute, almost all of it in jq.
days_jq() { # NAME [ANSWER]
	make_cold "$1_raw"
	timed "days.$1.jq" 0 "$1_raw" "$dir"
	diff "$work/answer.$1" <(answer "$1") >&2 || { echo "bench: jq has another answer for $1" >&2 && return 1; }
}

figure_days() {
	local i name dir=$work/many.d day
	export TZ=UTC # the days in file names are those in this zone
	if [[ ${BENCH_DATA:-} ]]; then
		dir=$work/days.d
		make_sessions "$dir" "$many_sessions" 1
	else
		make_many
	fi
	# The day with most sessions.
	day=$(find "$dir" -name '*.jsonl' -printf '%f\n' | cut -c 1-10 | sort | uniq -c | sort -n | awk 'END { print $2 }')
	for name in day sessions usage; do
		for ((i = 0; i < slow_reps; i++)); do days_tree "$name"; done
		days_jq "$name"
	done
	make_cold day_named
	timed days.named 0 day_named "$dir"
	days_row "ls by-date/$day ($(cat "$work/answer.day") sessions)" day
	compare "ls by-date/$day, cold, against jq over the files with that name" days.day.cold days.named -
	days_row "sessions.tsv" sessions
	days_row "usage.tsv" usage
	unset TZ
}

days_row() { # FIGURE NAME
	compare "$1 of $many_sessions sessions, cold, against jq" "days.$2.cold" "days.$2.jq" "<= 0.1"
	row "$1 of $many_sessions sessions, warm, ms" "$(seconds "$(median "days.$2.warm")")" - \
		"$(calc "$(median "days.$2.warm") * 1000")" "<= 20"
}
