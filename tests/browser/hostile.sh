#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Any text of a session, in any field, is text in a page. Checked in a real browser, with the pages'
# Content-Security-Policy and without it, so that neither defence hides a gap in the other.
. "$(dirname "$0")/../lib/lib.sh"
. "$ROOT/tests/browser/common.sh"
need_mount
need_browser

mkdir "$T/src"
node "$ROOT/tests/browser/hostile-sessions.mjs" "$T/src"
mkdir "$T/plain"
node "$ROOT/tests/browser/sessions.mjs" pages "$T/plain"
mount_fs "$T/src" "$T/mnt" -o ro
mount_fs "$T/plain" "$T/other" -o ro
drive hostile.mjs "$T/mnt" "$T/other" || die "hostile text in $CHROMIUM"
