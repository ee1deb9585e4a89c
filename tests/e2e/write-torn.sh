#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The disk takes only a part of a write, and that part cannot be removed: the write fails, and a line that pi appends
# after the part is a line of its own, which the old and a new mount show.
. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/../lib/write.sh"
need_mount
need cc jq
is_sanitized && skip "a sanitizer wants to be loaded first"
cc -shared -fPIC -O1 -o "$T/torn.so" "$ROOT/tests/lib/torn.c" -ldl
export TORN=$T/torn
samples "$T/src"
LD_PRELOAD=$T/torn.so write_mount
leaf=$(tail -n 1 "$file" | jq -r .id)
said() { # ID: a line of pi's
	printf '{"type":"message","id":"%s","parentId":"%s","timestamp":"2026-03-03T10:00:00.000Z","message":{"role":"user","content":"said %s"}}\n' "$1" "$leaf" "$1"
	leaf=$1
}
# After the old lines the file has PART of one of ours, then pi's line.
left() { # WHAT ID
	local lines
	cmp -n "$(stat -c %s "$T/kept")" "$T/kept" "$file" >&2 || die "$1: the old lines"
	mapfile -t lines < <(tail -c "+$(($(stat -c %s "$T/kept") + 1))" "$file")
	is 2 ${#lines[@]} "$1: new lines"
	matches '^\{"type":"label"' "${lines[0]}" "$1: our part"
	! jq . <<<"${lines[0]}" >/dev/null 2>&1 || die "$1: our line is whole: ${lines[0]}"
	is "$2" "$(jq -r .id <<<"${lines[1]}")" "$1: pi's line"
	await "$1: the entry $2" grep -qs "said $2" "$s/entries/$2/text.md"
	is $(($(wc -l <"$T/kept") + 1)) "$(tail -n 1 "$s/problems.txt" | cut -f 1)" "$1: the problem line"
	cp "$file" "$T/kept"
}
label=$s/entries/436adaf5/label

said 99990001 >"$TORN"
echo one >"$T/value"
fails 1 "No space left on device" cp "$T/value" "$label"
left "pi has written behind it" 99990001
: >"$TORN"
fails 1 "No space left on device" cp "$T/value" "$label"
said 99990002 >>"$file"
left "it cannot be cut off" 99990002
quiet bash -c 'echo three >"$1"' - "$label"
is three "$(cat "$label")" "the label that was written at last"
umount_fs "$T/mnt"
mount_fs "$T/src" "$T/mnt"
is "said 99990001" "$(cat "$s/entries/99990001/text.md")" "in a new mount"
is three "$(cat "$label")" "the label in a new mount"
