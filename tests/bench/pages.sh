# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# pages.sh: pages and chat.md, compared with other programs that make a page of a session: pi's own --export, and
# pi-transcript from npm (after claude-code-transcripts; it makes several pages of a long session). Sourced by
# tests/bench/run.
#
# pi's page contains the session as data, which a script renders in the browser; the others are HTML.
: "${build:?}" "${work:?}" "${reps:?}" "${slow_reps:?}" "${find_sessions:?}" "${slice_sessions:?}"

transcript=2.2.1

fetch_transcript() {
	local dir=$build/pi/transcript
	pi_transcript=$dir/node_modules/@psg2/pi-transcript/dist/cli.js
	[[ -e $pi_transcript ]] ||
		npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" "@psg2/pi-transcript@$transcript" >&2
}

declare -A rank_of=([middle]=50 [long]=95 [longest]=100) # this percentage is not longer

page_of() { # NAME
	local files
	mapfile -t files < <(find "$work/find.d" -name '*.jsonl' -printf '%s %p\n' | sort -n | cut -d ' ' -f 2-)
	file=${files[(${#files[@]} - 1) * ${rank_of[$1]} / 100]}
	project=$(basename "$(dirname "$file")")
	project=${project#--}
	page=html/${project%--}/$(basename "$file" .jsonl).html
	size="the $1 session, of $(calc "$(stat -c %s "$file") / 1000" 0) KB,"
}

page_printed() { "$build/sessionfs" -S "$work/find.d" --cat "$page" >"$work/page.html"; }
page_mounted() { cat "$at/$page" >"$work/page.html"; }
page_pi() {
	PI_CODING_AGENT_DIR="$work/pi-agent" PI_OFFLINE=1 "$pi_node" "${pi_index%/*}/cli.js" --export "$file" "$work/page.html"
}
page_transcript() { HOME="$work/home" "$pi_node" "$pi_transcript" "$file" --no-open -o "$work/page.d"; }
start_of_node() { "$pi_node" -e 0; }
start_of_pi() { PI_CODING_AGENT_DIR="$work/pi-agent" PI_OFFLINE=1 "$pi_node" "${pi_index%/*}/cli.js" --version; }

one_page() { # SAMPLES FUNCTION
	rm -rf "$work/page.html" "$work/page.d"
	timed "$1" 0 "$2"
	[[ -s $work/page.html || -s $work/page.d/index.html ]]
}

# One page as typed at a shell, with programs and session in memory: the programs start, and ours lists the names of all
# sessions. In the mount it is the first request of a new mount.
pages_of_sizes() {
	local i at=$work/mnt/page name file project page size
	for name in middle long longest; do
		page_of "$name"
		page_pi >"$work/out"
		for ((i = 0; i < reps; i++)); do
			one_page "page.$name.printed" page_printed
			one_page "page.$name.pi" page_pi
			[[ -z $pi_transcript ]] || one_page "page.$name.transcript" page_transcript
			mount_as rw "$at" "$work/find.d"
			one_page "page.$name.mounted" page_mounted
			unmount "$at"
		done
		compare "a page, --cat, $size against pi --export" "page.$name.printed" "page.$name.pi" "<= 0.05"
		compare "a page, in a new mount, $size against pi --export" "page.$name.mounted" "page.$name.pi" "<= 0.05"
		[[ -z $pi_transcript ]] ||
			compare "a page, --cat, $size against pi-transcript" "page.$name.printed" "page.$name.transcript" -
	done
	for ((i = 0; i < reps; i++)); do
		timed page.node 0 start_of_node
		timed page.start 0 start_of_pi
	done
	note "pages: of the times of pi, $(seconds "$(median page.node)") is the start of Node, and $(seconds "$(median page.start)") that of Node and pi"
}

# --- all of them ---

pages_all() { find "$1/html" -mindepth 2 -name '*.html' -exec cat {} + | wc -c; }
chats_all() { find "$1/projects" -mindepth 3 -maxdepth 3 -name chat.md -exec cat {} + | wc -c; }
pages_transcript() { HOME="$work/home" "$pi_node" "$pi_transcript" --all --no-open -o "$work/archive"; }

# MB of session files rendered in a second of the filesystem's CPU time; the duration; and the maximum memory.
all_of() { # WHAT FUNCTION
	local i at=$work/mnt/pages before mb cache
	mb=$(calc "$(find "$work/find.d" -name '*.jsonl' -printf '%s\n' | awk '{ n += $1 } END { print n }') / 1e6" 1)
	cache=$(default_cache)
	cat "$work"/find.d/*/*.jsonl >"$work/out"
	for ((i = 0; i < slow_reps; i++)); do
		mount_as rw "$at" "$work/find.d"
		before=$(cpu_of "$at")
		timed "all.$1" 0 "$2" "$at"
		[[ $(cat "$work/out") -gt 100000 ]] || { echo "bench: $1: $(cat "$work/out") bytes" >&2 && return 1; }
		sample "all.$1.cpu" "$(calc "$(cpu_of "$at") - $before" 2)"
		sample "all.$1.peak" "$(mebibytes "$at" VmHWM)"
		note "all $1: $(calc "$(cat "$work/out") / 1e6" 1) MB"
		unmount "$at"
	done
	row "$1 of all $find_sessions sessions, MB a second of CPU time" "$(calc "$mb / $(median "all.$1.cpu")" 0)" "$mb MB" \
		"$(calc "$mb / $(median "all.$1.cpu")" 0)" ">= 150"
	row "$1 of all $find_sessions sessions, MB a second" "$(calc "$mb / $(median "all.$1")" 0)" \
		"$(seconds "$(median "all.$1")")" "$(calc "$mb / $(median "all.$1")" 0)" -
	row "$1 of all $find_sessions sessions, peak memory" "$(percentile "all.$1.peak" 100) MiB" - \
		"$(percentile "all.$1.peak" 100)" "<= $((cache + 32))"
}

figure_chat() {
	make_find
	all_of chat.md chats_all
}

# --- their names and sizes ---

list_pages() { ls -l "$1"/html/*; }
find_pages() { find "$1/html"; }
du_pages() { du "$1/html"; }

names_of_pages() {
	local i what before at=$work/mnt/names
	for ((i = 0; i < slow_reps; i++)); do
		for what in find list du; do
			mount_as rw "$at" "$work/find.d"
			make_cold "${what}_pages"
			before=$(cpu_of "$at")
			timed "names.$what.cold" 0 "${what}_pages" "$at"
			sample "names.$what.cpu" "$(calc "$(cpu_of "$at") - $before" 2)"
			timed "names.$what.warm" 0 "${what}_pages" "$at"
			unmount "$at"
		done
	done
	for what in find list du; do
		row "$what html, cold, of all $find_sessions sessions" "$(seconds "$(median "names.$what.cold")")" \
			"CPU $(seconds "$(median "names.$what.cpu")")" - -
		row "$what html, warm" "$(seconds "$(median "names.$what.warm")")" - - -
	done
}

figure_pages() {
	local pi_node pi_index pi_transcript=''
	make_find
	if have npm && find_pi; then
		fetch_transcript || pi_transcript=''
		mkdir -p "$work/home/.pi/agent"
		pages_of_sizes
	else
		skip "a page, against pi --export" "npm is not there"
	fi
	all_of pages pages_all
	if [[ $pi_transcript ]]; then
		make_slice
		ln -sfn "$work/slice.d" "$work/home/.pi/agent/sessions"
		timed all.transcript 0 pages_transcript
		row "pi-transcript, MB a second of $slice_sessions sessions" - "$(seconds "$(median all.transcript)")" \
			"$(calc "$(megabytes "$work/slice.d") / $(median all.transcript)" 0)" -
		rm -rf "$work/archive"
	fi
	names_of_pages
}
