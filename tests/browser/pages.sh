#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The pages in a real browser, from the mount and from a web server: all of a session is present and reachable, with
# scripts and without, and a page loads nothing else.
. "$(dirname "$0")/../lib/lib.sh"
. "$ROOT/tests/browser/common.sh"
need_mount
need_browser

samples "$T/src"
samples "$T/src/--broken--" "$ROOT/tests/data/broken"
node "$ROOT/tests/browser/sessions.mjs" pages "$T/src"
mount_fs "$T/src" "$T/mnt" -o ro

# A server that records its requests.
(cd "$T/mnt" && exec python3 -u -m http.server --bind 127.0.0.1 0) >"$T/port" 2>"$T/asked" &
server=$!
clean_first() { kill "$server" 2>/dev/null || :; }
await "the web server" grep -q 'port [0-9]' "$T/port"
port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$T/port")

# The reader is in another time zone.
TZ=America/New_York drive pages.mjs "$T/mnt" "http://127.0.0.1:$port/" "$T/asked" || die "the pages in $CHROMIUM"
