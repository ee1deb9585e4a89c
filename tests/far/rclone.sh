#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rclone: a server of WebDAV, mounted by two machines. Files can only be written whole there, so only reads are checked:
# mount it with -o ro.
. "$(dirname "$0")/common.sh"
wanted rclone rclone
export HOME=$T RCLONE_CONFIG=$T/none RCLONE_WEBDAV_URL=http://far:8080 RCLONE_WEBDAV_VENDOR=other
SERVED=$T/served
mkdir "$SERVED"
rclone serve webdav "$SERVED" --addr 10.213.0.1:8080 --dir-cache-time 0s -vv 2>"$T/server" &
await "rclone serve" bash -c '(exec 3<>/dev/tcp/far/8080) 2>/dev/null'
for m in "$A" "$B"; do
	rclone mount :webdav: "$m" --dir-cache-time 1s --vfs-cache-mode "writes" --cache-dir "$T/cache$m" 2>"$T/client" &
	await "rclone mount" mountpoint -q "$m" || die "$(cat "$T/client")"
done
settle() { sleep 20; } # a file is sent five seconds after close, and the end of that cannot be seen
machines "${MOST:-60000}" none
