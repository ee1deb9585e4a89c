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
for f in torn-tail malformed-line no-header header-without-id duplicate-ids orphans cycle cycle-at-leaf no-ids dangling-label compaction-kept-missing bom empty lanes; do
	grep -Eq "^([^:]*/)?$f\.jsonl:[0-9]+: |^([^:]*/)?$f\.jsonl: " "$T/out" || die "nothing about $f"
done
for f in crlf no-final-newline surrogates markdown long-header; do
	! grep -q "$f\.jsonl" "$T/out" || die "something about $f: $(grep "$f" "$T/out")"
done
is "$before" "$(find "$T/bad" -type f -exec md5sum {} + | sort)" "the files"
