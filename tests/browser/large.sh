#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The page of a session of 50 MB opens in a real browser and responds.
. "$(dirname "$0")/../lib/lib.sh"
. "$ROOT/tests/browser/common.sh"
need_mount
need_browser
is_sanitized && skip "this is about the browser, which is not slower with a sanitizer"

node "$ROOT/tests/browser/sessions.mjs" large "$T/src"
mount_fs "$T/src" "$T/mnt" -o ro
drive large.mjs "$T/mnt" || die "a large page in $CHROMIUM"
