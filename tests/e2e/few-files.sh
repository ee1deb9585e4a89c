#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A temporary failure is logged and retried: it hides no session.
. "$(dirname "$0")/../lib/lib.sh"
need_mount

for i in $(seq 200); do
	mkdir -p "$T/src/--p$((i % 5))--"
	{
		printf '{"type":"session","version":3,"id":"s%d","timestamp":"2026-04-01T12:00:00.000Z","cwd":"/x"}\n' "$i"
		printf '{"type":"session_info","id":"a","parentId":null,"timestamp":"2026-04-01T12:00:00.000Z","name":"number %d"}\n' "$i"
	} >"$T/src/--p$((i % 5))--/s$i.jsonl"
done

# --- few open files ------------------------------------------------------------------
mkdir "$T/mnt"
(ulimit -n 32 && exec "$SESSIONFS" "$T/src" "$T/mnt") || die "not mounted with 32 open files"
for round in 1 2; do
	is 200 "$(find "$T/mnt/sessions/" -mindepth 1 | wc -l)" "sessions with 32 open files"
	is 200 "$(find "$T/mnt/projects/" -mindepth 2 -maxdepth 2 -name 's*' -type d | wc -l)" "sessions of all projects ($round)"
	is 200 "$(cat "$T"/mnt/projects/*/s*/title | sort -u | wc -l)" "titles"
	find "$T/mnt/projects" -type f -size +0 | wc -l >/dev/null
done
umount_fs "$T/mnt"
