# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# many.sh: many sessions: bytes read by mounting and listing them, and the memory of the process. Sourced by
# tests/bench/run.
: "${build:?}" "${work:?}" "${absent:?}" "${reps:?}" "${many_sessions:?}" "${reads:?}"

list_projects() { ls "$1/projects"; }
list_sessions() { ls -l "$1"/projects/*; }

mount_and_list() { # ro|rw MOUNTPOINT SOURCE
	mount_as "$@"
	list_projects "$2"
}

# Prints which session files are opened, and how much of them is read.
trace_listing() { # ro|rw MOUNTPOINT SOURCE
	local mount=$1 at=$2 source=$3 trace=$work/trace opened most options=()
	[[ $mount != ro ]] || options=(-o ro)
	serve "$at" strace -f --seccomp-bpf -y -e trace=open,openat,openat2,read,pread64,readv,preadv -o "$trace" \
		"$build/sessionfs" -f -s "${options[@]}" "$source" "$at"
	list_projects "$at" >"$work/out"
	opened=$(grep -c 'open.*\.jsonl' "$trace" || true)
	row "session files opened for ls projects, $mount, of $many_sessions" "$opened" - "$opened" "<= 0"
	list_sessions "$at" >"$work/out"
	most=$(awk '/[^n](read|pread64|readv|preadv)\(.*\.jsonl>/ && $NF > 0 { split($0, a, "[<>]"); n[a[2]] += $NF }
		END { for (f in n) if (n[f] > m) m = n[f]; print m + 0 }' "$trace")
	row "bytes read of a session file for ls -l, $mount, at most" "$most" \
		"$(grep -c 'open.*\.jsonl' "$trace" || true) files" "$most" "<= 4096"
	unmount "$at"
}

figure_many() {
	local i mount source=$work/many.d at=$work/mnt/many
	make_many
	for mount in ro rw; do
		if have strace; then
			trace_listing "$mount" "$at" "$source"
		else
			skip "session files opened, $mount" "strace is not there"
		fi
	done
	for ((i = 0; i < reps; i++)); do
		for mount in ro rw; do
			timed "many.mount.$mount" 0 mount_and_list "$mount" "$at" "$source"
			timed "many.list.$mount" 0 list_sessions "$at"
			unmount "$at"
		done
		timed many.source 0 ls -l "$source"/--srv-app0--
	done
	for mount in ro rw; do
		row "mount and ls projects, $mount, $many_sessions sessions" "$(seconds "$(median "many.mount.$mount")")" - - -
		compare "ls -l of a project, $mount, $many_sessions sessions, against the source" "many.list.$mount" many.source -
	done
}

# --- memory of the process ---

# A fixed series of random files, one a line: three views of a random session, then the text of a random message.
random_files() { # MOUNTPOINT SOURCE N
	grep -rho '^{"type":"message","id":"[^"]*"' "$2" --with-filename | sort |
		awk -F '"' -v at="$1" -v n="$3" 'BEGIN { srand(4) }
			{ file[NR] = $1; id[NR] = $8 }
			END { split("transcript.md context.json info.json", view, " ")
				for (k = 0; k < n; k++) {
					i = 1 + int(rand() * NR)
					m = split(file[i], part, "/")
					stem = part[m]
					sub(/\.jsonl:{$/, "", stem)
					project = part[m - 1]
					gsub(/^--|--$/, "", project)
					print at "/projects/" project "/" stem "/" (k % 4 ? view[k % 4] : "entries/" id[i] "/text.md")
				} }'
}

# The cache option as --help gives it, in MiB.
default_cache() { "$build/sessionfs" --help | sed -n 's/.*cache=SIZE .*(\([0-9]*\)M).*/\1/p'; }

resident_row() { # MOUNTPOINT AFTER TARGET
	row "resident, $many_sessions sessions of 100 entries, $2" "$(mebibytes "$1" VmRSS) MiB" \
		"peak $(mebibytes "$1" VmHWM) MiB" "$(mebibytes "$1" VmRSS)" "$3"
}

# Everything below some of the sessions, and the levels above for all of them: the whole tree would be twelve million
# files.
figure_resident() {
	local at=$work/mnt/resident source=$work/many.d some=$((many_sessions / 20)) target dirs
	make_many
	target="<= $(($(default_cache) + 32))"
	random_files "$at" "$source" "$reads" >"$work/random"
	[[ $(wc -l <"$work/random") -eq $reads ]]
	mount_as rw "$at" "$source"
	list_projects "$at" >"$work/out"
	resident_row "$at" "before" "$target"
	timed resident.find 0 find "$at/projects" -maxdepth 4 -printf '\n' # .../PROJECT/STEM/entries/ID
	wc -l <"$work/out" >"$work/nodes"
	dirs=("$at"/projects/*/2*)
	printf '%s\0' "${dirs[@]:0:some}" >"$work/some"
	timed resident.find.some 0 xargs -0 -a "$work/some" sh -c 'find "$@" -printf "\n"' sh
	note "resident: find over $(cat "$work/nodes") nodes, and all $(wc -l <"$work/out") of $some sessions, took $(seconds "$(median resident.find)") and $(seconds "$(median resident.find.some)")"
	resident_row "$at" "after find (every entry; all files of $some sessions)" "$target"
	timed resident.grep 0 grep_some "$at"
	note "resident: grep took $(seconds "$(median resident.grep)")"
	resident_row "$at" "after grep -r (every transcript.md; all files of $some sessions)" "$target"
	timed resident.random 0 xargs -a "$work/random" cat
	note "resident: $reads random reads, $(megabytes "$work/out") MB, took $(seconds "$(median resident.random)")"
	resident_row "$at" "after $reads random reads" "$target"
	unmount "$at"
}

# Succeeds if the search finds nothing and no error occurs.
grep_some() { # MOUNTPOINT
	local rc=0
	printf '%s\0' "$1"/projects/*/2*/transcript.md | xargs -0 sh -c 'grep -e "$@"; [ $? -eq 1 ]' sh "$absent" || rc=$?
	xargs -0 -a "$work/some" sh -c 'grep -r -e "$@"; [ $? -eq 1 ]' sh "$absent" || rc=$?
	return $rc
}
