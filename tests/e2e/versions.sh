#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files of every version are shown and stay unchanged. Entries of old files have the ids and parents that pi could give
# them, and the path to a branch is a session file with the lines as stored.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need jq
samples "$T/src"
before=$(cd "$T/src" && find . -type f -exec md5sum {} + | sort)
cat_() { "$SESSIONFS" -S "$T/src" --cat "$1"; }
names() { "$SESSIONFS" -S "$T/src" --json --ls "$1" | jq -r '.[].name'; }

# v1: ids are derived, the same at every start; parents are linear; the kept index is translated.
is "$(names "$V1/entries")" "$(names "$V1/entries")" "ids of a v1 file, twice"
is 6 "$(names "$V1/entries" | wc -l)" "entries of a v1 file"
sid=7d0f2a54-3f0e-4c5b-9a52-0c1d6f1be8aa
first=$(printf '%s\n2' $sid | sha256sum | cut -c1-8)
is "Sort the notes by date" "$(cat_ "$V1/entries/$first/text.md")" "the entry on line 2"
second=$(printf '%s\n3' $sid | sha256sum | cut -c1-8)
is "$first" "$(cat_ "$V1/entries/$second/parent")" "parent in a v1 file"
is '["compactionSummary","user","assistant","user"]' "$(cat_ "$V1/context.json" | jq -c '[.messages[].role]')" "context of a v1 file"
is 1 "$(cat_ "$V1/info.json" | jq .version)" "version of a v1 file"

# v2: hookMessage is custom everywhere but in entry.json.
is custom "$(cat_ "$V2/entries/b2c3d4e5/role")" "role of a hook message"
is hookMessage "$(cat_ "$V2/entries/b2c3d4e5/entry.json" | jq -r .message.role)" "its role as stored"
is custom "$(cat_ "$V2/context.json" | jq -r '.messages[1].role')" "its role in the context"
is backup "$(cat_ "$V2/entries/c3d4e5f6/label")" "label in a v2 file"
is 2 "$(cat_ "$V2/info.json" | jq .version)" "version of a v2 file"

# The lines of a branch are as stored.
branch() { cat_ "$1/branches/current/session.jsonl"; }
is "$(cat "$T/src/--home-ada-notes--/${V1##*/}.jsonl")" "$(branch "$V1")" "the branch of a v1 file"
is 1 "$(branch "$V2" | grep -c '"role":"hookMessage"')" "hook messages in the branch of a v2 file"

# v3, and a number from the future.
is 3 "$(cat_ "$FORECAST/info.json" | jq .version)" "version of a v3 file"
is 4 "$(cat_ "$V4/info.json" | jq .version)" "version of a v4 file"
is "Is the site up?" "$(cat_ "$V4/title")" "title of a v4 file"
is "$before" "$(cd "$T/src" && find . -type f -exec md5sum {} + | sort)" "the files"
