#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a query finds in one session is what an oracle finds that parses every entry: words cut from the texts, filters.
# SESSIONFS_TEST_SEED=n draws others.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3

samples "$T/src"
mapfile -d '' files < <(find "$T/src" "$ROOT/tests/data/broken" -name '*.jsonl' -size -200k -print0 | sort -z)
for seed in ${SESSIONFS_TEST_SEED:-1 2 3}; do
	echo "seed $seed"
	timeout 120 python3 "$ROOT/tests/lib/find_oracle.py" "$(dirname "$SESSIONFS")/match_ask" "$seed" 4 "${files[@]}" || die "against the oracle, SESSIONFS_TEST_SEED=$seed"
done
