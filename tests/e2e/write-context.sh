#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Random edits of the context: of entries before a compaction, on other branches, twice, restored, with pictures and
# calls. After each, context.json is what a model of pi expects. Then edits next to a pi that appends messages. SEED=n
# draws other edits, STEPS=n more of them.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
samples "$T/src"
mount_fs "$T/src" "$T/mnt"
files=()
for file in "$T"/src/*/*.jsonl; do
	# pi rewrites files of older versions.
	if grep -q '"version":3' < <(head -n 1 "$file"); then files+=("$file"); fi
done
[ ${#files[@]} -ge 5 ] || die "only ${#files[@]} sessions"
python3 "$ROOT/tests/lib/context_edits.py" "$T/mnt" "${STEPS:-300}" "${SEED:-1}" "${STATES:-/dev/null}" "${files[@]}"

mkdir "$T/src/--storm--" "$T/steps"
touch "$T/steps/pi"
python3 "$ROOT/tests/lib/storm.py" make "$T/src/--storm--/storm.jsonl"
await "the session" test -e "$T/mnt/projects/storm/storm/path"
python3 "$ROOT/tests/lib/context_edits.py" "$T/mnt" 200 storm "$T/src/--storm--/storm.jsonl" "$T/steps"
