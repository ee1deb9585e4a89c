#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A mount by root of another user's source shows that user's files, but not other users' files through that user's
# links.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need_root
ALICE=12345

session() { # FILE ID OWNER
	printf '{"type":"session","version":3,"id":"%s","timestamp":"2026-04-01T12:00:00.000Z","cwd":"/x"}\n' "$2" >"$1"
	chown "$3" "$1"
}
mkdir -p "$T/src/--p--" "$T/secret" "$T/own"
session "$T/src/--p--/one.jsonl" one "$ALICE"
session "$T/own/two.jsonl" two "$ALICE"
session "$T/secret/roots.jsonl" roots 0
session "$T/secret/alices.jsonl" alices "$ALICE"
ln -s "$T/own/two.jsonl" "$T/src/--p--/two.jsonl"
ln -s "$T/secret/roots.jsonl" "$T/src/--p--/roots.jsonl"
ln -s "$T/secret" "$T/src/--secret--"
ln -s "$T/own" "$T/src/--own--"
ln -s "$T/secret/roots.jsonl" "$T/src/mounter.jsonl"
chown -R -h "$ALICE" "$T/src" "$T/own"
chown -h 0 "$T/src/mounter.jsonl"
mount_fs "$T/src" "$T/mnt" -o allow_other
is "own p x" "$(cd "$T/mnt/projects" && echo *)" "projects"
is "one two" "$(cd "$T/mnt/projects/p" && echo [!.]*[!t])" "sessions of a project"
is "two" "$(cd "$T/mnt/projects/own" && echo [!.]*[!t])" "sessions reached by alice's own link"
is "mounter" "$(cd "$T/mnt/projects/x" && echo [!.]*[!t])" "sessions linked by root"
matches "roots.jsonl:1: a link to a file of another user" "$("$SESSIONFS" -S "$T/src" --check || :)" "what --check says"

# A link that replaced a known file is not followed, even after an append.
rm "$T/src/--p--/one.jsonl"
ln -s "$T/secret/roots.jsonl" "$T/src/--p--/one.jsonl"
chown -h "$ALICE" "$T/src/--p--/one.jsonl"
before=$(cat "$T/secret/roots.jsonl")
! echo mine >"$T/mnt/projects/p/one/name" 2>/dev/null || die "a name was written through a link"
is "$before" "$(cat "$T/secret/roots.jsonl")" "root's file"
