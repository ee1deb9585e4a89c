#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tree.txt has colours on a terminal; all other output has the bytes of the mount. No text of a session reaches the
# terminal as a command.
. "$(dirname "$0")/../lib/lib.sh"
need python3 script
samples "$T/src"
# In UTF-8, U+009B has the effect of ESC [ on a terminal.
hostile() { # FIELDS
	printf '{"type":"message","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z",%s}\n' "$1"
}
mkdir -p "$T/src/--hostile--"
{
	echo '{"type":"session","version":3,"id":"h","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}'
	hostile '"id":"a\u009b2J\u001bc","message":{"role":"user","content":"\u001b]0;own\u0007ed \u009b2J\u009d0;own\u009ced\u007f"}'
	hostile '"id":"b","message":{"role":"\u009b31m\u001b[31m","content":"x"}'
	hostile '"id":"c","message":{"role":"toolResult","toolName":"\u009b31m\u001b[31m","content":[]}'
	hostile '"id":"d","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"\u001b[1;31m\u009b2J"}'
	hostile '"id":"e","message":{"role":"assistant","content":"<- leaf [2m \u2717"}'
	echo '{"type":"label","id":"f","parentId":"e","timestamp":"2026-01-01T00:00:00.000Z","targetId":"a\u009b2J\u001bc","label":"\u001b[31m\u009b31m"}'
} >"$T/src/--hostile--/2026-01-01T00-00-00-000Z_h.jsonl"

plain() { "$SESSIONFS" -S "$T/src" "$@"; }
terminal() { # ARGUMENT...: output on a terminal, which writes CR LF
	script -qec "$(printf '%q ' "$SESSIONFS" -S "$T/src" "$@")" /dev/null </dev/null | tr -d '\r'
}
export TERM=xterm NO_COLOR=

for session in $(plain --ls --json sessions | python3 -c 'import json, sys; [print(n["name"]) for n in json.load(sys.stdin)]'); do
	tree=sessions/$session/tree.txt
	plain --cat "$tree" >"$T/plain" || die "$tree"
	plain --cat "$tree" --color=always >"$T/coloured"
	python3 - "$T/plain" "$T/coloured" <<'END' || die "$tree"
import re, sys
plain, coloured = (open(name, encoding="utf-8", newline="\n").read() for name in sys.argv[1:])
said = re.sub("\x1b\\[(1|2|3[1-6]|1;36)?m", "", coloured)
assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", said), "a command to the terminal"
assert re.sub("[\x7f-\x9f]", "?", plain) == said, "the text is another"
assert coloured.count("\x1b") >= 2 * plain.count("\n"), "no colours"
assert all(row.count("\x1b") % 2 == 0 for row in coloured.splitlines()), "a colour goes on"
END
	plain --cat "$tree" --color=auto | cmp - "$T/plain" || die "$tree: auto differs without a terminal"
	terminal --cat "$tree" | cmp - "$T/coloured" || die "$tree: no colours on a terminal"
	LC_ALL=C sed 's|\xc2[\x80-\x9f]|?|g; s|\x7f|?|g' "$T/plain" >"$T/harmless"
	terminal --cat --color=never "$tree" | cmp - "$T/harmless" || die "$tree: never differs"
	NO_COLOR=1 terminal --cat "$tree" | cmp - "$T/harmless" || die "$tree: NO_COLOR"
	TERM=dumb terminal --cat "$tree" | cmp - "$T/harmless" || die "$tree: TERM=dumb"
	NO_COLOR=1 plain --cat --color "$tree" | cmp - "$T/coloured" || die "$tree: --color does not win over NO_COLOR"
done
for file in README.md sessions.tsv latest/transcript.md latest/info.json latest/title; do
	plain --cat "$file" >"$T/plain"
	plain --cat --color=always "$file" | cmp - "$T/plain" || die "$file: --color changes it"
done

# --search follows the same rules.
plain --search forecast >"$T/plain"
plain --search --color=always forecast >"$T/coloured" 2>"$T/err"
[ ! -s "$T/err" ] || die "says without a terminal: $(cat "$T/err")"
sed 's/\x1b\[[0-9;]*m//g' "$T/coloured" | cmp - "$T/plain" || die "--search --color: the text is another"
grep -q $'\e\\[1;31m[Ff]orecast\e\\[m' "$T/coloured" || die "--search --color: no colours"
grep -q $'\e' < <(terminal --search --color=never forecast) && die "--search --color=never: colours"

# --- no action prints a command to a terminal, on standard output or standard error ---
odd=$'o\e]0;own\ad\xc2\x9b2J\x9b3J' # of a file name also a byte that is not UTF-8
mkdir "$T/odd" "$T/odd/--$odd--"
cp "$T/src/--hostile--/"*.jsonl "$T/odd/--$odd--/$odd.jsonl"
printf '{"type":"message","id":"g","parentId":"e","message":{"role":"user","content":"raw \x9b2J \xc2\x9b3J \u009b4J"}}\n{"torn\n' >>"$T/odd/--$odd--/$odd.jsonl"
file=$(echo "$T/odd"/*/*.jsonl)
mkdir "$T/shown"
shown=0
on_terminal() { # ARGUMENT...: keeps the output on a terminal
	shown=$((shown + 1))
	printf '%q ' "$@" >"$T/shown/$shown"
	(cd "$T" && SHELL=/bin/bash script -qec "$(printf '%q ' "$SESSIONFS" "$@")" /dev/null </dev/null) >>"$T/shown/$shown" || :
}
project=projects/$("$SESSIONFS" -S "$T/odd" --ls --names projects)
session=$project$("$SESSIONFS" -S "$T/odd" --ls --names "$project" | grep -v latest)
for color in "" 1; do
	export NO_COLOR=$color
	for path in sessions.tsv "${session}chat.md" "${session}entries/g/text.md" "${session}tree.txt" "${session}session.jsonl" "${session}path" labels.tsv problems.tsv; do
		on_terminal -S odd --cat "$path"
	done
	for words in "--search raw" "--search --entries raw" "--search --json raw" "--search own -m0" "--ls projects" "--ls --names projects" \
		"--ls --json projects" "--tree projects" "--secrets" "--copy projects copied"; do
		# shellcheck disable=SC2086
		on_terminal -S odd $words
	done
	on_terminal -S odd --ls "$session"
	on_terminal --check odd
	on_terminal --repair "$file"
done
# Messages that quote words of the command line, and files.
for words in "--cat $odd" "--ls $odd" "--search after:$odd" "--copy projects $odd/$odd" "-o $odd /mnt" "--$odd" "-u $odd" "$odd" "--check $odd" "--repair $odd" "--cache=$odd /"; do
	# shellcheck disable=SC2086
	on_terminal -S odd $words
	# shellcheck disable=SC2086
	on_terminal $words
done
python3 - "$T"/shown/* <<'END' || die "a command to the terminal"
import re, sys
for name in sys.argv[1:]:
    shown = open(name, "rb").read().replace(b"\r\n", b"\n")
    shown = re.sub(rb"\x1b\[(1|2|3[1-6]|1;3[16])?m", b"", shown)
    assert b"\n" in shown, ("nothing printed", shown)
    found = re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\udc80-\udc9f]", shown.decode("utf-8", "surrogateescape"))
    assert not found, (found, shown)
END
# An event on a terminal.
(cd "$T" && SHELL=/bin/bash script -qfec "$(printf '%q ' "$SESSIONFS" -S odd --events)" "$T/events" </dev/null >/dev/null) &
await "an event" eval 'printf "%s\n" "{\"type\":\"session_info\",\"id\":\"n$RANDOM\",\"name\":\"$odd $RANDOM\"}" | LC_ALL=C tr -d "\033\007" >>"$file"; grep -q renamed "$T/events"'
kill $! 2>/dev/null || :
grep -a renamed "$T/events" | LC_ALL=C grep -q $'\x9b' && die "an event has a command to the terminal"
# Into a file every byte stays.
is "$file" "$("$SESSIONFS" -S "$T/odd" --cat "${session}path")" "a name without a terminal"
exit 0
