#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# For each kind of node, caches are renewed after each kind of change: names, missing names, attributes, links, contents
# and listings.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
mkdir "$T/rw" "$T/ro"
STILL=$(still)
export STILL
kinds() { python3 "$ROOT/tests/lib/kinds.py" "$SESSIONFS" "${SESSIONFS%/*}/golden/dump" "$@"; }
# Both mostly wait.
kinds "$T/rw" &
rw=$!
kinds "$T/ro" -o ro || die "read-only"
wait $rw || die "read-write"

# `errors` is in no session file: it exists as soon as a write was refused.
samples "$T/src"
mount_fs "$T/src" "$T/mnt"
[ ! -e "$T/mnt/$FORECAST/errors" ] || die "errors before there were any"
! printf 'a\0b\n' 2>/dev/null >"$T/mnt/$FORECAST/name" || die "a name with a NUL was taken"
grep -q name "$T/mnt/$FORECAST/errors" || die "no errors after one: $(cat "$T/mnt/$FORECAST/errors")"
