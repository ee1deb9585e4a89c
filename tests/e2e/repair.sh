#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --repair prints a session that pi can open from damaged copies of the samples, loses no whole entry, and never writes to
# the file. SESSIONFS_TEST_SEED=n draws other damages.
. "$(dirname "$0")/../lib/lib.sh"
need python3 jq
samples "$T/src"
mkdir "$T/out"
mapfile -d '' files < <(find "$T/src" -name '2026*.jsonl' -print0 | sort -z)
damaged() { # PROGRAM ROUNDS
	python3 "$ROOT/tests/lib/repair.py" "$1" "${SESSIONFS_TEST_SEED:-1}" "$2" "$T/out" "${files[@]}" ||
		die "a damaged session, SESSIONFS_TEST_SEED=${SESSIONFS_TEST_SEED:-1}"
}
damaged "$SESSIONFS" 300
small=${SESSIONFS%/*}/small/sessionfs
if [ -x "$small" ]; then
	damaged "$small" 100
	sed '5,12s/.$//' "${files[0]}" >"$T/torn.jsonl"
	"$small" --repair "$T/torn.jsonl" >/dev/null 2>"$T/said" || :
	grep -qE "^$T/torn.jsonl:[0-9]+: and [0-9]+ more changes\$" <(tail -n 1 "$T/said") || die "says: $(cat "$T/said")"
fi

repair() { # STATUS FILE: 0 if a session is printed
	local rc=0
	"$SESSIONFS" --repair "$2" >"$T/repaired" 2>"$T/said" || rc=$?
	is "$1" "$rc" "the status for ${2##*/}: $(cat "$T/said")"
}
file=${files[0]}
# A sound file is printed as it is, whatever its last byte.
repair 0 "$file"
same "$T/repaired" "$file" "a sound session"
[ ! -s "$T/said" ] || die "a sound session: $(cat "$T/said")"
# Each change is named with its line. (test_repair.c: all changes.)
tail -n +2 "$file" >"$T/2026-03-02_named.jsonl"
repair 0 "$T/2026-03-02_named.jsonl"
is named "$(jq -r .id <(head -n 1 "$T/repaired"))" "the id of a lost header"
is "$T/2026-03-02_named.jsonl:1: made the header that was lost" "$(cat "$T/said")" "what was done"
sed '5s/.\{30\}$//' "$file" >"$T/lost.jsonl"
repair 0 "$T/lost.jsonl"
is "$(($(wc -l <"$file") - 1))" "$(wc -l <"$T/repaired")" "the lines without the lost one"
grep -qx "$T/lost.jsonl:5: lost [0-9]* bytes: not a whole entry" "$T/said" || die "says: $(cat "$T/said")"
# A header is of version 3 whatever value is first, if entries have ids.
{ echo '[1]' && sed 1d "$file"; } >"$T/odd.jsonl"
repair 0 "$T/odd.jsonl"
is 3 "$(jq -r .version <(head -n 1 "$T/repaired"))" "the version of a made header"
# Not possible.
printf '\0\0{"a' >"$T/none.jsonl"
repair 1 "$T/none.jsonl"
[ ! -s "$T/repaired" ] || die "prints $(cat "$T/repaired")"
repair 1 "$T/no-such-file.jsonl"
repair 1 "$T"
grep -qF "$T: Is a directory" "$T/said" || die "says: $(cat "$T/said")"
cp "$T/lost.jsonl" "$T/before"
rc=0
# shellcheck disable=SC2094
"$SESSIONFS" --repair "$T/lost.jsonl" >>"$T/lost.jsonl" 2>"$T/said" || rc=$?
is 1 "$rc" "the status if the output is the file"
same "$T/lost.jsonl" "$T/before" "the file itself"
# problems.tsv and --check name the command for a file that is not shown.
mkdir "$T/hidden"
cp "$T/2026-03-02_named.jsonl" "$T/hidden/"
"$SESSIONFS" -S "$T/hidden" --cat problems.tsv | grep -F -- 'sessionfs --repair' >/dev/null || die "problems.tsv: $("$SESSIONFS" -S "$T/hidden" --cat problems.tsv)"
