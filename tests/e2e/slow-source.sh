#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# While a slow source (20 or 50 ms for each access) is listed, other requests are not delayed: `stat` of the root, a
# read of an open session, and a kill -9 of the lister. Nor while the server of the source is silent. 5,000 sessions at
# 20 ms, 1,000 at 50 ms, until the listing ends. CASES="0:5000" has others.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3 jq
slowfs=$(dirname "$SESSIONFS")/slowfs
[ -x "$slowfs" ] || die "there is no $slowfs: make $slowfs"

# 50 ms, on a machine with nothing else to do.
bound_ms=50
is_sanitized && bound_ms=500

# Once its server is gone, each request ends, and so do their callers.
clean_first() { kill -KILL "${server:-}" "${beside:-}" 2>/dev/null; }

try() { # MILLISECONDS SESSIONS
	local ms=$1 n=$2 rc=0
	rm -rf "$T/near"
	mkdir -p "$T/near/--q--" "$T/far" "$T/beside" "$T/mnt"
	"$slowfs" "$ms" "$T/gate" "$T/near" "$T/far" -f &
	server=$!
	"$slowfs" "$ms" "$T/no-gate" "$T/near" "$T/beside" -f &
	beside=$!
	await "slowfs" mountpoint -q "$T/far"
	await "the other slowfs" mountpoint -q "$T/beside"
	mount_fs "$T/far" "$T/mnt" -o ro
	python3 "$ROOT/tests/lib/slow_source.py" "$T/near" "$T/mnt" "$T/gate" "$server" "$n" "$T/beside" "$(jq -n "$bound_ms / $ms")" || rc=$?
	[ $rc -eq 0 ] || die "with $ms ms for each look at $n sessions"
	umount_fs "$T/mnt"
	umount_fs "$T/far"
	umount_fs "$T/beside"
	wait "$server" "$beside" || :
}
for case in ${CASES:-20:5000 50:1000}; do
	try "${case%:*}" "${case#*:}"
done
