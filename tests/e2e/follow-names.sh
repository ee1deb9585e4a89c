#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A name that now belongs to another entry leads there within moments, although a program has it open all the time.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
file=$T/src/--names--/one.jsonl
mkdir -p "${file%/*}"
message() { # ID PARENT TEXT
	printf '{"type":"message","id":"%s","parentId":%s,"message":{"role":"user","content":"%s"}}\n' "$@"
}
for how in rw ro; do
	{
		echo '{"type":"session","version":3,"id":"one","cwd":"/names"}'
		message aaaa0001 null first
		message aaaa0002 '"aaaa0001"' second
	} >"$file"
	touch -d 2026-01-01T00:00:00Z "$file" # long ago: the kernel keeps such names for a minute
	mount_fs "$T/src" "$T/$how" -o $how
	entry=$T/$how/projects/names/one/entries/aaaa0001
	text() { cat "$entry/text.md"; }
	is first "$(text)" "the text with $how"
	exec 3<"$entry"
	message aaaa0001 '"aaaa0002"' again >>"$file"
	leads() { [ "$(text)" = again ]; }
	await "the entry that has the name now, with $how" leads
	exec 3<&-
	umount_fs "$T/$how"
	rm "$file"
done
