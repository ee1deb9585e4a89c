#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tree.txt has colours on a terminal; all other output has the bytes of the mount. No text of a session reaches the
# terminal as a command.
# shellcheck source=tests/lib/lib.sh
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
	terminal --cat --color=never "$tree" | cmp - "$T/plain" || die "$tree: never differs"
	NO_COLOR=1 terminal --cat "$tree" | cmp - "$T/plain" || die "$tree: NO_COLOR"
	TERM=dumb terminal --cat "$tree" | cmp - "$T/plain" || die "$tree: TERM=dumb"
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
exit 0
