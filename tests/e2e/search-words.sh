#!/usr/bin/env bash
# What a query finds in one session is what an oracle finds that parses every entry: words cut from the texts, filters.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3

samples "$T/src"
mapfile -d '' files < <(find "$T/src" "$ROOT/tests/data/broken" -name '*.jsonl' -size -200k -print0)
seed=${SESSIONFS_TEST_SEED:-$RANDOM}
timeout 120 python3 "$ROOT/tests/lib/find_oracle.py" "$(dirname "$SESSIONFS")/match_ask" "$seed" 12 "${files[@]}" || die "against the oracle, SESSIONFS_TEST_SEED=$seed"
