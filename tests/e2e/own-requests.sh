#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The process is made to send itself requests, by a $TMPDIR in the mount: it gets an error at once, and everything else
# is answered.
. "$(dirname "$0")/../lib/lib.sh"
need_mount

answers() { "$@" >"$T/out" 2>"$T/err" || :; } # COMMAND...: ends, with any status
header() { # ID
	printf '{"type":"session","version":3,"id":"%s","timestamp":"2026-04-01T12:00:00.000Z","cwd":"/x"}\n' "$1"
}

mkdir -p "$T/src/--good--" "$T/mnt"
header one >"$T/src/--good--/one.jsonl"
{
	header long
	printf '{"type":"message","id":"aaaa0001","parentId":null,"message":{"role":"user","content":"'
	head -c 20000000 /dev/zero | tr '\0' x
	printf '"}}\n'
} >"$T/src/--good--/long.jsonl"

for way in "" -s; do
	# Long texts would be cached in unnamed files there.
	# shellcheck disable=SC2086
	TMPDIR=$T/mnt/projects mount_fs "$T/src" "$T/mnt" $way
	answers sh -c 'wc -c <"$0"/mnt/projects/good/long/transcript.md; cat "$0"/mnt/projects/good/long/transcript.md | wc -c' "$T"
	is 1 "$(uniq "$T/out" | wc -l)" "one size of a long text ($way, $(cat "$T/out" "$T/err"))"
	answers cat "$T/mnt/projects/good/one/title"
	is "(no messages)" "$(cat "$T/out")" "a title ($way)"
	umount_fs "$T/mnt"
done
