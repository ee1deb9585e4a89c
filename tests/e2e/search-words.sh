#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A query finds in a session what an oracle finds that parses every entry: words cut from the texts, and filters, also
# with other spellings of either: composed or decomposed, with typographic quotes, hyphens and blanks.
# SESSIONFS_TEST_SEED=n draws others.
. "$(dirname "$0")/../lib/lib.sh"
need python3

samples "$T/src"
# In a fixed order, since random choices depend on it.
mapfile -d '' files < <(for d in "$ROOT/tests/data/broken" "$T/src"; do find "$d" -name '*.jsonl' -size -200k -print0 | sort -z; done)
ask=$(dirname "$SESSIONFS")/match_ask
for seed in ${SESSIONFS_TEST_SEED:-1 2 3}; do
	echo "seed $seed"
	python3 "$ROOT/tests/lib/find_oracle.py" "$ask" "$seed" 4 "${files[@]}" || die "against the oracle, SESSIONFS_TEST_SEED=$seed"
	python3 "$ROOT/tests/lib/find_oracle.py" "$ask" "$seed" 2000 || die "texts written otherwise, SESSIONFS_TEST_SEED=$seed"
done
