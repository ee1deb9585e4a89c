#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Archives of OpenClaw, ID.jsonl.reset.TIME and ID.jsonl.deleted.TIME, are sessions like others, but never the latest.
# Compressed ones are reported.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need jq
T1=2026-01-06T09-00-00.000Z T2=2026-01-06T09-30-00.000Z
say() { # FILE ID MINUTE TEXT [PARENT]
	mkdir -p "$(dirname "$1")"
	{
		printf '{"type":"session","version":3,"id":"%s","timestamp":"2026-01-05T10:%s:00.000Z","cwd":"/home/ada/weather"%s}\n' "$2" "$3" "${5:+,\"parentSession\":\"$5\"}"
		printf '{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-05T10:%s:01.000Z","message":{"role":"user","content":"%s"}}\n' "$3" "$4"
	} >"$1"
}
S=$T/src P=$T/mnt/projects/home-ada-weather
say "$S/one.jsonl" one 00 quince
say "$S/one.jsonl.reset.$T1" one 01 medlar
say "$S/two.jsonl.deleted.$T2" two 02 damson
say "$S/three.jsonl.bak" three 03 sorb
say "$S/four.jsonl" four 04 bullace
touch -d 2026-01-05T11:00:00Z "$S/one.jsonl"
touch -d 2026-01-05T10:30:00Z "$S/four.jsonl"
gzip "$S/four.jsonl"
# Its origin follows from its name alone.
echo none >"$S/five.jsonl.deleted.$T2.xz"
echo none >"$S/six.jsonl.gz.zst"
ln -s four.jsonl.gz "$S/link.jsonl.zst"
# In a project of its own, deeper, and below the directory of an archived session.
say "$S/--p--/x/run/session.jsonl.reset.$T1" deep 05 deep
say "$S/--p--/y.jsonl.reset.$T1" y 06 y
say "$S/--p--/y/run/session.jsonl" below 07 below "$S/--p--/y.jsonl.reset.$T1"
say "$S/--p--/y.jsonl.reset./session.jsonl" odd 08 odd
mount_watched "$S" "$T/mnt"

why='compressed; decompress it to show the session'
{
	printf '%s\t\t\t\t\t%s\n' "--p--/y.jsonl.reset." "is a directory"
	for f in "five.jsonl.deleted.$T2.xz" four.jsonl.gz link.jsonl.zst; do printf '%s\t\t\t\t\t%s\n' "$f" "$why"; done
} >"$T/want"
tail -n +2 "$T/mnt/problems.tsv" >"$T/got"
same "$T/want" "$T/got" "problems.tsv"
"$SESSIONFS" --check "$S" >"$T/got" || :
sed 's/\t\t\t\t\t/:1: /' "$T/want" | same /dev/stdin "$T/got" "--check"
mkdir "$T/other"
cp "$S/one.jsonl.reset.$T1" "$T/other"
fails 1 'contains sessions' "$SESSIONFS" "$S" "$T/other"

# --- changes --------------------------------------------------------------------------------
mv "$S/one.jsonl" "$S/one.jsonl.reset.$T2"
say "$S/one.jsonl" new 09 cherry
leads() { [ "$(jq -r .id "$P/one/info.json" 2>/dev/null)" = new ] && [ "$(cat "$P/one.reset.$T2/title" 2>/dev/null)" = quince ]; }
await "a session that was put away, and the next one" leads
is one "$(readlink "$P/.latest")" ".latest after that"
[ -e "$T/mnt/sessions/new" ] || die "the SID of the new one"
mv "$S/one.jsonl" "$S/one.jsonl.deleted.$T2"
none() { [ ! -L "$P/.latest" ] && [ ! -L "$T/mnt/latest" ] && [ ! -e "$P/one" ]; }
await "only archives" none
gzip "$S/one.jsonl.deleted.$T2"
packed() { [ ! -e "$P/one.deleted.$T2" ] && grep -q "^one.jsonl.deleted.$T2.gz	" "$T/mnt/problems.tsv"; }
await "one that was compressed" packed
gzip -d "$S/four.jsonl.gz"
shown() { [ "$(readlink "$T/mnt/latest")" = projects/home-ada-weather/four ]; }
await "one that was decompressed" shown
