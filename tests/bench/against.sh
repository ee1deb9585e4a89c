# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# against.sh: everyday tasks, compared with other programs for them. Sourced by tests/bench/run.
#
# Every side has the same sessions: as two mounts, as the files themselves, and as copies of the whole mount. A cell is
# the time of that side divided by ours: above 1 is slower than the read-write mount. Some sides cannot do every task.
: "${work:?}" "${absent:?}" "${jobs_reps:?}"

said='.message.content | if type == "array" then .[] else {text: .} end | .text? // empty'

# A job is one function for each kind of side: JOB_tree DIRECTORY gets the tree of the mount, JOB_raw DIRECTORY and
# JOB_jq DIRECTORY the session files. All of them must end with the same status.
grep_said_tree() { grep -r --include=text.md "$absent" "$1"; }
grep_said_raw() { grep -r "$absent" "$1"; }
grep_said_jq() { jq -r "$said" "$1"/*/*.jsonl | grep "$absent"; }

rg_said_tree() { rg -g text.md "$absent" "$1"; }
rg_said_raw() { rg "$absent" "$1"; }
rg_said_jq() { jq -r "$said" "$1"/*/*.jsonl | rg "$absent"; }

transcripts_tree() { grep "$absent" "$1"/projects/*/*/transcript.md; }
transcripts_raw() { grep "$absent" "$1"/*/*.jsonl; }
transcripts_jq() { grep_said_jq "$1"; }

big_tree() { find "$1" -type f -size +1000k; }
big_jq() { jq -r "select(([$said | length] | add) > 1000000) | .id" "$1"/*/*.jsonl; }

titles_tree() { cat "$1"/projects/*/2*/title; }
titles_jq() {
	local file
	for file in "$1"/*/*.jsonl; do jq -nr "first(inputs | select(.message.role == \"user\") | $said)" "$file"; done
}

# The newest session of each project, one after the other.
read_tree() {
	local p
	for p in "$1"/projects/*; do cat "$p/.latest/transcript.md"; done
}
read_jq() {
	local p f
	for p in "$1"/*; do
		f=("$p"/*.jsonl)
		jq -r "$said" "${f[-1]}"
	done
}

# side_does SIDE JOB: sets the command and the directory for timed; fails if the side cannot do it.
side_does() {
	case $1 in
	raw | jq) declare -F "$2_$1" >/dev/null && does=("$2_$1" "$work/tree.d") ;;
	*) does=("$2_tree" "$work/mnt/$1") ;;
	esac
}

against_job() { # JOB EXPECTED_STATUS
	local i side does
	for ((i = 0; i < jobs_reps; i++)); do
		for side in "${sides[@]}"; do
			side_does "$side" "$1" || continue
			fresh "$side"
			make_cold "${does[0]}"
			timed "against.$1.cold.$side" "$2" "${does[@]}"
			timed "against.$1.warm.$side" "$2" "${does[@]}"
			unmount "$work/mnt/$side"
		done
	done
}

# Preparations: a mount, or a copy of everything.
against_setup() {
	local plain
	timed against.setup.rw 0 fresh rw
	unmount "$work/mnt/rw"
	timed against.setup.ro 0 fresh ro
	unmount "$work/mnt/ro"
	plain=$(median make.plain)
	sample against.setup.plain "$plain"
	[[ " ${sides[*]} " != *" bindfs "* ]] || sample against.setup.bindfs "$plain"
	[[ " ${sides[*]} " != *" squash "* ]] || sample against.setup.squash "$(calc "$plain + $(median make.squash)" 6)"
}

against_row() { # TEXT NAME
	local side ours
	ours=$(median "$2.rw")
	printf '| %s | %s |' "$1" "$(seconds "$ours")"
	for side in ro raw jq plain bindfs squash; do
		if sampled "$2.$side"; then
			printf ' %s |' "$(awk -v a="$(median "$2.$side")" -v b="$ours" 'BEGIN { r = a / b; printf r < 0.095 ? "%.3f" : r < 9.5 ? "%.2f" : "%.0f", r }')"
		else
			printf ' – |'
		fi
	done
	printf '\n'
}

against_table() {
	local temperature
	cat <<END
| | sessionfs | \`-o ro\` | raw files | \`jq\` | plain copy | bindfs of it | squashfuse of it |
|---|---:|---:|---:|---:|---:|---:|---:|
END
	for temperature in cold warm; do
		against_row "$temperature: \`grep -r\` in all that was said (\`text.md\`)" "against.grep_said.$temperature"
		! have rg || against_row "$temperature: \`rg\` in all that was said (\`text.md\`)" "against.rg_said.$temperature"
		against_row "$temperature: \`grep\` in all \`transcript.md\`" "against.transcripts.$temperature"
		against_row "$temperature: list what is big (\`find -size\`)" "against.big.$temperature"
		against_row "$temperature: \`cat\` every \`title\`" "against.titles.$temperature"
		against_row "$temperature: read one \`transcript.md\` of each project" "against.read.$temperature"
	done
	against_row "before the first answer: mount, or copy" against.setup
}

figure_against() {
	local program
	make_tree
	sides=(rw ro raw)
	! have jq || sides+=(jq)
	sides+=(plain)
	! have bindfs || sides+=(bindfs)
	[[ ! -e $work/tree.squashfs ]] || sides+=(squash)
	for program in rg jq bindfs squashfuse_ll mksquashfs; do
		have "$program" || skip "against $program" "$program is not there"
	done
	against_setup
	against_job grep_said 1
	! have rg || against_job rg_said 1
	against_job transcripts 1
	against_job big 0
	against_job titles 0
	against_job read 0
	against_table >"$work/against.md"
}
