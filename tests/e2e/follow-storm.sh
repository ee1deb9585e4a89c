#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Readers, writers, pi, sessions that come and go, a cache that holds nothing, and an unmount in the middle: no process
# hangs, and no data is lost.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
turmoil() { # HOW [OPTION...]
	python3 "$ROOT/tests/lib/turmoil.py" "$SESSIONFS" "$(mktemp -d "$T/XXXX")" 3 "$@" || die "$*"
	[ -z "$(find "$T" -maxdepth 1 -name 'sanitizer.*')" ] || die "$*: the report of the sanitizer follows"
}
turmoil stop -o cache=1M
turmoil lazy -s
turmoil SIGTERM -o ro
turmoil SIGINT -s -o ro,cache=0
turmoil SIGHUP -o cache=0
