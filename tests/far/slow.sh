#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A server that takes 20 ms for every request, and keeps locks for all of its clients. Its requests are counted.
. "$(dirname "$0")/common.sh"
slowfs=$(dirname "$SESSIONFS")/slowfs
[ -x "$slowfs" ] || die "there is no $slowfs: make $slowfs"
SERVED=$T/served
mkdir "$SERVED"
export SLOWFS_EVERY=1
FEW=500
for m in "$A" "$B"; do
	SLOWFS_LOG=$T/requests "$slowfs" 20 "$T/gate" "$SERVED" "$m" -f &
	await "slowfs" mountpoint -q "$m"
done
requests() {
	local k
	for k in getattr open read directory; do echo "$k $(tr -cd "${k:0:1}" <"$T/requests" | wc -c)"; done
}
machines 7000 both # data known for five seconds is shown while an answer takes long

# The same without locks: writes are refused with the reason. 38: ENOSYS.
mkdir "$T/none"
SLOWFS_LOCK=38 "$slowfs" 1 "$T/gate" "$SERVED" "$T/none" -f &
await "slowfs" mountpoint -q "$T/none"
mount_fs "$T/none" "$M1"
cp "$SERVED/--far--/both.jsonl" "$T/before"
entry=$M1/projects/far/both/entries/a0000000
fails 1 'error' sh -c "echo new >$entry/label"
matches 'entries/a0000000/label: the file system of the session files does not support locks' "$(cat "$M1/projects/far/both/errors")" "the reason"
same "$T/before" "$SERVED/--far--/both.jsonl" "a file that cannot be locked"
said "without locks" "nothing is written, and the reason is told"
