#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The first five commands of the mount's README.md say what was decided, in at most 4,000 characters, and no more bytes
# than it says. FIRST_MINUTE="SOURCE WORD": other sessions, another word.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
read -r source word <<<"${FIRST_MINUTE-}"
samples "$T/src"
mount_fs "${source:-$T/src}" "$T/mnt"
cd "$T/mnt"
word=${word:-option}
sed -n 's/^    \(.*[^ ]\)  *\([0-9,]*\)  .*/\2 \1/p' README.md | tr -d , | head -n 5 >"$T/commands"
is "800 600 1260 1000 200" "$(cut -d' ' -f1 "$T/commands" | xargs)" "the bytes of the first five commands"
: >"$T/all"
session=latest id=none
while read -r most command; do
	case $command in *hits.txt*) path=$(sed 's/:.*//;q' "search/$word/hits.txt") && id=${path#*/entries/} session=${path%%/entries/*} ;; esac
	command=${command//WORD/$word}
	command=${command//SESSION/$session}
	bash -c "${command//ID/${id%%/*}}" >"$T/out" || die "$command ended with $?"
	[ -s "$T/out" ] || die "$command says nothing"
	# A title is said in characters.
	[ "$(wc -c <"$T/out")" -le $((most > 200 ? most + 10 : 4 * most + 1)) ] || die "$command: $(wc -c <"$T/out") bytes"
	echo "$(wc -m <"$T/out") $command" >&2
	cat "$T/out" >>"$T/all"
done <"$T/commands"
chars=$(wc -m <"$T/all")
[ "$chars" -le 4000 ] || die "the first five commands say $chars characters"
[ -n "$source" ] || grep -q "the option belongs to the program" "$T/all" || die "what was decided is not there"
echo "$chars characters for $word" >&2
