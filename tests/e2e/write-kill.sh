#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The filesystem is killed at 200 random moments while labels, names, branches, tables and contexts are written. No
# file ends in half a line, all acknowledged writes are in it, and mounting again works. SEED=n draws other moments,
# ROUNDS=n more of them.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
mkdir -p "$T/src/--kill--" "$T/mnt"
seed=${SEED:-1}
echo "seed $seed"
python3 "$ROOT/tests/lib/kill.py" "$SESSIONFS" "$T/src" "$T/mnt" "${ROUNDS:-200}" "$seed" || exit 1
