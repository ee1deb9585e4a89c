#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Readers, writers, pi, what comes and goes, a cache that holds nothing, and the mount's end in the middle of it: nobody
# hangs, nothing is lost.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
turmoil() { # HOW [OPTION...]
	python3 "$ROOT/tests/lib/turmoil.py" "$SESSIONFS" "$(mktemp -d "$T/XXXX")" 3 "$@" || die "$*"
	[ -z "$(find "$T" -maxdepth 1 -name 'sanitizer.*')" ] || die "$*: what the sanitizer says follows"
}
turmoil stop -o cache=1M
turmoil lazy -s
turmoil SIGTERM -o ro
turmoil SIGINT -s -o ro,cache=0
turmoil SIGHUP -o cache=0
