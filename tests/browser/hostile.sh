#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Whatever a session says, in whatever field: in a page it is text. Seen in a real browser, with the pages' Content-Security-Policy
# and without it, so that neither hides what the other one lets through.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=tests/browser/common.sh
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
