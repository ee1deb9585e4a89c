#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sessionfs --check reports each problem on a line, and its exit status says whether there was one.
. "$(dirname "$0")/../lib/lib.sh"
samples "$T/good"
samples "$T/bad" "$ROOT/tests/data/broken"
before=$(find "$T/bad" -type f -exec md5sum {} + | sort)
fails 0 "^$" "$SESSIONFS" --check "$T/good"

rc=0
(cd "$T" && "$SESSIONFS" --check bad) >"$T/out" 2>"$T/err" || rc=$?
is 1 $rc "exit status with problems ($(cat "$T/err"))"
is "" "$(cat "$T/err")" "stderr, which is no terminal"
if [ "${1-}" = --update ]; then cp "$T/out" "$ROOT/tests/golden/check.txt"; fi
diff -u "$ROOT/tests/golden/check.txt" "$T/out" >&2 || die "the report is another"
is "$before" "$(find "$T/bad" -type f -exec md5sum {} + | sort)" "the files"
