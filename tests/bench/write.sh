# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# write.sh: the cost of writing. Sourced by tests/bench/run, whose functions and settings it uses.
#
# A label is written to sessions of 1,000 and of 100,000 entries that are mounted, indexed and warm. For comparison the
# same line is appended to copies of the files with echo, and with a node script through pi's SessionManager.
: "${here:?}" "${work:?}" "${build:?}" "${reps:?}" "${slow_reps:?}"

labels_at_once=20 # labels in a sample, whose time is divided by it

label_all() { # SESSION-DIRECTORY TEXT
	local id
	while read -r id; do echo "$2" >"$1/entries/$id/label"; done <"$work/write.ids"
}

append_all() { # FILE TEXT: prints the lines that label_all makes
	local id
	while read -r id; do
		echo '{"type":"label","id":"0123abcd","parentId":"'"$id"'","timestamp":"2026-01-01T00:00:00.000Z","targetId":"'"$id"'","label":"'"$2"'"}' >>"$1"
	done <"$work/write.ids"
}

save() { cat "$1" >"$2"; }

# A table of labels with another label in N rows.
change_rows() { # N LABEL
	awk -v n="$1" -v label="$2" 'BEGIN { FS = OFS = "\t" } NR % 50 == 0 && k < n { $2 = label " " ++k } 1'
}

# Samples of COMMAND, divided by the number of labels.
labelled() { # NAME COMMAND...
	local name=$1
	shift
	timed "$name.all" 0 "$@"
	sample "$name" "$(calc "$(tail -n 1 "$work/times/$name.all") / $labels_at_once" 9)"
}

microseconds() { echo "$(calc "$1 * 1e6" 0) us"; }

# The same under a strace that counts the writes to the session file for a table.
write_calls() { # TABLE SOURCE
	local at=$work/mnt/traced trace=$work/write.trace
	serve "$at" strace -f -y -e trace=write,pwrite64,writev,pwritev,pwritev2 -e signal=none -o "$trace" \
		"$build/sessionfs" -f "$2" "$at"
	save "$1" "$(echo "$at"/projects/*/2*/labels.tsv)"
	unmount "$at"
	grep -c '\.jsonl>' "$trace" || true
}

figure_write() {
	local i size source file lines at rows=1000 one few pi=''
	for size in 1000 100000; do
		source=$work/write.$size
		gen -m "$size" -b 2 -z 0.1 "$source"
		mount_ours "$work/mnt/write.$size" "$source"
		cp "$(echo "$source"/*/*.jsonl)" "$work/echo.$size.jsonl"
		cp "$work/echo.$size.jsonl" "$work/pi.$size.jsonl"
		sed -n 's/^{"type":"message","id":"\([^"]*\)".*/\1/p' "$work/echo.$size.jsonl" |
			awk -v n=$labels_at_once -v all="$size" 'NR % int(all / 2 / n) == 0 && ++k <= n' >"$work/write.ids.$size"
		[[ $(wc -l <"$work/write.ids.$size") -eq $labels_at_once ]]
	done
	if find_pi; then pi=1; fi

	for ((i = 0; i <= 4 * reps; i++)); do
		for size in 1000 100000; do
			at=$(echo "$work/mnt/write.$size"/projects/*/2*)
			ln -sf "write.ids.$size" "$work/write.ids"
			labelled "write.$size" label_all "$at" "read $i"
			labelled "write.echo.$size" append_all "$work/echo.$size.jsonl" "read $i"
			if [[ $i -eq 0 ]]; then rm "$work/times/write.$size" "$work/times/write.echo.$size"; fi # indexed only now
			if [[ $pi && $i -gt 0 && $i -le $slow_reps ]]; then
				timed "write.pi.$size" 0 with_pi "$here/write.mjs" \
					"$work/pi.$size.jsonl" "$(head -n 1 "$work/write.ids")" "read $i"
				sample "write.pi.inner.$size" "$(cat "$work/out")"
			fi
		done
	done
	few=$(median write.1000)
	one=$(median write.100000)
	row "a label, session of 100,000 entries against 1,000" "$(microseconds "$one")" "$(microseconds "$few")" \
		"$(calc "$one / $few")" "<= 1.5"
	for size in 1000 100000; do
		row "a label, session of $size entries, against echo >>" "$(microseconds "$(median "write.$size")")" \
			"$(microseconds "$(median "write.echo.$size")")" "$(calc "$(median "write.$size") / $(median "write.echo.$size")")" -
		if [[ $pi ]]; then
			row "a label, session of $size entries, against a node script with pi" "$(microseconds "$(median "write.$size")")" \
				"$(seconds "$(median "write.pi.$size")")" "$(calc "$(median "write.$size") / $(median "write.pi.$size")" 6)" -
			note "write: of the node script with $size entries, opening the session and appending took $(seconds "$(median "write.pi.inner.$size")")"
		else
			skip "a label, session of $size entries, against a node script with pi" "pi is not there"
		fi
	done

	at=$(echo "$work/mnt/write.100000"/projects/*/2*)
	file=$(echo "$work/write.100000"/*/*.jsonl)
	for ((i = 1; i <= 2 * reps; i++)); do
		# Read as an editor reads it before it saves.
		change_rows "$rows" "row $i" <"$at/labels.tsv" >"$work/labels"
		echo "beside $i" >"$work/one"
		lines=$(wc -l <"$file")
		timed write.table 0 save "$work/labels" "$at/labels.tsv"
		[[ $(wc -l <"$file") -eq $((lines + rows)) ]]
		timed write.table.plain 0 save "$work/labels" "$work/labels.saved"
		timed write.one 0 save "$work/one" "$at/entries/$(head -n 1 "$work/write.ids")/label"
	done
	note "write: the table of labels has $(wc -l <"$work/labels") rows, $(calc "$(stat -c %s "$work/labels") / 1e6" 1) MB; it and the label beside it are saved with cat"
	compare "labels.tsv with $rows changed rows, 100,000 entries, against a label" write.table write.one "<= 20"
	compare "labels.tsv with $rows changed rows, against the same bytes to a plain file" write.table write.table.plain -
	for size in 1000 100000; do unmount "$work/mnt/write.$size"; done
	if have strace; then
		change_rows "$rows" last <"$work/labels" >"$work/labels.last"
		i=$(write_calls "$work/labels.last" "$work/write.100000")
		row "writes to the session file for $rows changed rows" "$i" - "$i" "<= 1"
	else
		skip "writes to the session file for $rows changed rows" "strace is not there"
	fi
}
