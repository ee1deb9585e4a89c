#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Of each kind of node, what was kept is renewed after each kind of change: names, missing ones too, attributes, links,
# contents, listings.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
mkdir "$T/rw" "$T/ro"
kinds() { python3 "$ROOT/tests/lib/kinds.py" "$SESSIONFS" "${SESSIONFS%/*}/golden/dump" "$@"; }
# Both wait most of the time.
kinds "$T/rw" &
rw=$!
kinds "$T/ro" -o ro || die "read-only"
wait $rw || die "read-write"

# `errors` is in no session file: it is there as soon as something was refused.
samples "$T/src"
mount_fs "$T/src" "$T/mnt"
[ ! -e "$T/mnt/$FORECAST/errors" ] || die "errors before there were any"
! printf 'a\0b\n' 2>/dev/null >"$T/mnt/$FORECAST/name" || die "a name with a NUL was taken"
grep -q name "$T/mnt/$FORECAST/errors" || die "no errors after one: $(cat "$T/mnt/$FORECAST/errors")"
