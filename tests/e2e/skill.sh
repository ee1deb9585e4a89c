#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every command of the skill for agents works and prints something within its stated limit; a label set as described is
# found as described.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
export HOME=$T/home
mkdir -p "$HOME/pi" "$T/bin"
ln -s "$SESSIONFS" "$T/bin/sessionfs"
PATH=$T/bin:$PATH
samples "$HOME/.pi/agent/sessions"
skill=$ROOT/docs/skill/SKILL.md

# How it is mounted, and what replaces a mount.
mount=$(sed -n 's/.*`\(mkdir [^`]*\)` mounts them.*/\1/p' "$skill")
is "mkdir -p ~/pi && sessionfs ~/pi" "$mount" "how it is mounted"
bash -c "$mount" || die "$mount ended with $?"
bash -c 'ls ~/pi/sessions.tsv' >/dev/null || die "it is not mounted"
# shellcheck disable=SC2016
grep -qF '`sessionfs --search QUERY`, `--cat PATH` and `--ls PATH`' "$skill" || die "the commands for use without a mount"
sessionfs --search 'option belongs' | cut -c1-250 | cmp - <(cut -c1-250 "$HOME/pi/search/option belongs/hits.txt") || die "--search prints something else"

sed -n 's/^       \(cd .*[^ ]\)   *\([0-9,]*\)$/\2 \1/p; s/^       \(cd .*[^ 0-9]\)$/4000 \1/p' "$skill" >"$T/commands"
is "$(grep -c '^       ' "$skill")" "$(wc -l <"$T/commands")" "commands with a limit on their output"
is 1,260 "$(head -n 1 "$T/commands" | cut -d' ' -f1)" "the limit of the first one"
export PI_SESSION_ID=5b8c1f0e-2f6d-4d3c-8f51-d0a7b6c5e4f3
session='' id='' call=''
while read -r most command; do
	most=${most/,}
	command=${command//WORD/option belongs}
	command=${command//SESSION\//$session/}
	command=${command//WHY/decided here}
	command=${command//label:decided here/label:\"decided here\"}
	command=${command//CALL/$call}
	command=${command//\/ID\//\/$id/}
	bash -c "${command//^ID /^$id }" >"$T/out" || die "$command ended with $?"
	[[ $command == *" echo "* || $command == *" rm "* ]] || [ -s "$T/out" ] || die "$command prints nothing"
	[ "$(wc -c <"$T/out")" -le "$most" ] || die "$command: $(wc -c <"$T/out") bytes"
	case $command in
	*hits.txt*)
		path=$(sed 's/:.*//;q' "$T/out")
		session=${path%%/entries/*} id=${path#*/entries/} id=${id%%/*}
		call=$(cd "$HOME/pi/$session/entries" && for e in */tool-calls/1-bash/output.md; do echo "${e%%/*}"; done | sed -n 1p)
		;;
	*"echo null"*) is null "$(cat "$HOME/pi/$session/last/context.json")" "the entry that is left out" ;;
	*all.txt*) grep -q 'an option of the program, for both commands' "$T/out" || die "a later message is missing" ;;
	esac
done <"$T/commands"
is "decided here" "$(cat "$HOME/pi/$session/entries/$id/label")" "the label"
grep -q "$id" "$T/out" || die "the label is not found: $(cat "$T/out")"
is 3 "$(wc -l <"$T/out")" "the heading and two entries with that label"
