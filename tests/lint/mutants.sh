#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tests/mutants/sample.txt lists the mutants of sample.c, and the file that has them compiles: without a mutant its
# results are the same, and with each of them others.
. "$(dirname "$0")/../lib/lib.sh"
need cc
# Not with any python3: Debian's one has Debian's modules.
/usr/bin/python3 -c 'from clang import cindex; cindex.Index.create()' 2>"$T/why" || skip "no python3-clang: $(tail -n 1 "$T/why")"

cd "$ROOT"
tests/mutants/mutate.py -o "$T/mutants.c" tests/mutants/sample.c >"$T/list"
diff -u tests/mutants/sample.txt "$T/list" >&2 || die "other mutants than in tests/mutants/sample.txt"

mkdir -p "$T/sessionfs/base"
cp tests/mutants/mutant.h "$T/sessionfs/base/"
cat >"$T/main.c" <<'END'
#include <stdio.h>
const char *sample_results(void);
int main(void)
{
	puts(sample_results());
}
END
count=$(wc -l <"$T/list")
cc -w -o "$T/plain" tests/mutants/sample.c "$T/main.c"
cc -w -I "$T" -DMUTANT_IDS=$((count + 1)) -o "$T/mutants" "$T/mutants.c" tests/mutants/mutant.c "$T/main.c"
plain=$("$T/plain")
is "$plain" "$("$T/mutants")" "the results without a mutant"
for ((i = 1; i <= count; i++)); do
	out=$(MUTANT=$i LIMIT=10 tests/lib/limited "$T/mutants" 2>&1) || out="status $?"
	[ "$out" != "$plain" ] || echo "survives: $(sed -n "${i}p" "$T/list")"
done >"$T/survivors"
is "" "$(cat "$T/survivors")" "survivors of the sample"
# A run notes the mutants that it reaches.
MUTANT_REACHED=$T/reached "$T/mutants" >"$T/out"
is ".$(printf '1%.0s' $(seq "$count"))" "$(tr '\0\1' .1 <"$T/reached")" "the mutants that are reached"
