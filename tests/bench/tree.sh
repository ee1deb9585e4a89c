# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# tree.sh: walking a whole mount, and reading all transcripts. Sourced by tests/bench/run.
: "${work:?}" "${absent:?}" "${reps:?}" "${slow_reps:?}" "${text_sessions:?}"

# --- the whole tree, both mounts, against squashfuse_ll and a plain copy ---

fresh() { # SIDE
	case $1 in
	ro | rw) mount_as "$1" "$work/mnt/$1" "$work/tree.d" ;;
	squash) serve "$work/mnt/squash" squashfuse_ll -f "$work/tree.squashfs" "$work/mnt/squash" ;;
	bindfs) serve "$work/mnt/bindfs" bindfs -f "$work/mnt/plain" "$work/mnt/bindfs" ;;
	esac
}

find_large() { find "$1" -type f -size +1000k; }
list_all() { ls -lR "$1"; }
grep_all() { grep -r "$absent" "$1"; }

# Cold, then warm, on each side in turn.
race() { # NAME EXPECTED_STATUS COMMAND (which gets the directory)
	local name=$1 expected=$2 command=$3 i side
	for ((i = 0; i < slow_reps; i++)); do
		for side in "${sides[@]}"; do
			fresh "$side"
			make_cold "$command"
			timed "$name.cold.$side" "$expected" "$command" "$work/mnt/$side"
			timed "$name.warm.$side" "$expected" "$command" "$work/mnt/$side"
			unmount "$work/mnt/$side"
		done
	done
}

race_rows() { # FIGURE NAME COLD WARM WARM_PLAIN (targets)
	local mount
	for mount in ro rw; do
		if sampled "$2.cold.squash"; then
			compare "$1, $mount, cold, against squashfuse_ll" "$2.cold.$mount" "$2.cold.squash" "$3"
			compare "$1, $mount, warm, against squashfuse_ll" "$2.warm.$mount" "$2.warm.squash" "$4"
		else
			skip "$1, $mount, against squashfuse_ll" "squashfuse_ll or mksquashfs is not there"
		fi
		compare "$1, $mount, cold, against a plain copy" "$2.cold.$mount" "$2.cold.plain" -
		compare "$1, $mount, warm, against a plain copy" "$2.warm.$mount" "$2.warm.plain" "$5"
	done
}

figure_tree() {
	local side counts=()
	make_tree
	sides=(ro rw plain)
	[[ ! -e $work/tree.squashfs ]] || sides=(ro squash rw plain)
	for side in "${sides[@]}"; do
		fresh "$side"
		counts+=("$side $(find "$work/mnt/$side" | wc -l)")
		unmount "$work/mnt/$side"
	done
	note "tree, nodes: ${counts[*]}"
	race find 0 find_large
	race list 0 list_all
	race grep 1 grep_all
	race_rows "find -size" find "<= 0.4" "<= 0.3" -
	race_rows "ls -lR" list "<= 0.4" "<= 0.3" -
	race_rows "grep -r" grep "<= 0.6" "<= 0.2" "<= 1.5"
}

# --- all transcripts, against the session files themselves ---

grep_transcripts() { grep "$absent" "$1"/projects/*/*/transcript.md; }
grep_sessions() { grep "$absent" "$1"/*/*.jsonl; }

figure_transcript() {
	local i mount source=$work/text.d at=$work/mnt/text
	gen -n "$text_sessions" -m 1500 -b 4 -p 4 "$source"
	note "transcript: $text_sessions sessions of 1500 entries, $(megabytes "$source") MB"
	for ((i = 0; i < reps; i++)); do
		for mount in ro rw; do
			mount_as "$mount" "$at" "$source"
			make_cold grep_transcripts
			timed "transcript.$mount.cold" 1 grep_transcripts "$at"
			timed "transcript.$mount.warm" 1 grep_transcripts "$at"
			timed "transcript.$mount.warm" 1 grep_transcripts "$at"
			unmount "$at"
		done
		make_cold grep_sessions
		timed transcript.raw.cold 1 grep_sessions "$source"
		timed transcript.raw.warm 1 grep_sessions "$source"
		timed transcript.raw.warm 1 grep_sessions "$source"
	done
	for mount in ro rw; do
		compare "grep all transcripts, $mount, cold, against the raw files" "transcript.$mount.cold" transcript.raw.cold "<= 3"
		compare "grep all transcripts, $mount, warm, against the raw files" "transcript.$mount.warm" transcript.raw.warm "<= 1.2"
	done
	rm -rf "$source"
}
