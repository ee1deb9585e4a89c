# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# peers.sh: finding a word, compared with programs with an index and without. Sourced by tests/bench/run.
#
# A figure is the time from the query to the end of the answer. The first includes preparations, such as the mount or
# the index. The start of python is not counted.
: "${here:?}" "${build:?}" "${work:?}" "${reps:?}" "${slow_reps:?}" "${rare:?}" "${common:?}" "${planted:?}"

peers=(ours rg words trigrams)

ask_ours() { # DIRECTORY
	[[ -e $work/pids/peer ]] || mount_as rw "$work/mnt/peer" "$1"
	hits "$work/mnt/peer"
}
ask_rg() { rg_raw "$1"; }
ask_words() { ask_fts unicode61 "$1"; }
ask_trigrams() { ask_fts trigram "$1"; }
ask_fts() { python3 "$here/fts.py" "$work/fts.$1" "$2" "$1" "$word"; }

# Loads the programs.
ask_nothing() {
	"$build/sessionfs" --version
	hits "$1"
	rg_raw "$1"
	python3 "$here/fts.py" "$work/fts.nothing" "$1" trigram "$word"
}

ask() { # ROW PEER
	timed "peers.$1.$2" 0 "ask_$2" "$dir"
	case $2 in words | trigrams) sed -i "\$s/.*/$(tail -n 1 "$work/err")/" "$work/times/peers.$1.$2" ;; esac
}

ask_all() { # PEER
	local i file
	file=$dir/${longest#"$work/find.d/"}
	cp --remove-destination -p "$longest" "$file" # the state before the last peer
	word=$rare
	make_cold ask_nothing
	ask first "$1"
	check_rare
	for ((i = 1; i <= reps; i++)); do ask again "$1"; done
	word=$common
	ask other "$1"
	count_out >"$work/lines.$1"
	word=$rare
	for ((i = 1; i <= reps; i++)); do
		say "$file" "About the $rare, one more time."
		ask after "$1"
		[[ $(count_out) -eq $((planted + i)) ]] || { echo "bench: $1 did not see append $i" >&2 && return 1; }
	done
}

figure_peers() {
	local i peer longest dir=$work/peers.d
	make_find
	longest=$(longest "$work/find.d")
	cp -al "$work/find.d" "$dir"
	for ((i = 0; i < slow_reps; i++)); do
		for peer in "${peers[@]}"; do
			[[ $i -eq 0 || $peer == ours || $peer == rg ]] || continue # an index takes minutes
			ask_all "$peer"
		done
		unmount "$work/mnt/peer"
	done
	note "peers: lines with the common word: $(for peer in "${peers[@]}"; do echo "$peer $(cat "$work/lines.$peer")"; done | paste -sd ' ')"
	peers_table >"$work/peers.md"
	rm -rf "$dir" "$work"/fts.*
}

peers_row() { # TEXT ROW
	local peer
	printf '| %s |' "$1"
	for peer in "${peers[@]}"; do printf ' %s |' "$(seconds "$(median "peers.$2.$peer")")"; done
	printf '\n'
}

peers_table() {
	local files
	files=$(find "$work/find.d" -name '*.jsonl' | wc -l)
	cat <<END
| a word in all of $files sessions, $(megabytes "$work/find.d") MB | \`search/WORD/hits.txt\` | \`rg\` on the raw files | SQLite FTS5, words ($(megabytes "$work/fts.unicode61") MB) | SQLite FTS5, trigrams ($(megabytes "$work/fts.trigram") MB) |
|---|---:|---:|---:|---:|
END
	peers_row "the first answer, with the mount or the index" first
	peers_row "the same again" again
	peers_row "another word, a common one" other
	peers_row "after a line was appended" after
}
