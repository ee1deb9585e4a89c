#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Without SOURCE the program searches pi's directories. tests/unit/test_source.c has their order.
. "$(dirname "$0")/../lib/lib.sh"
need jq
home=$T/home
project=$T/work
mkdir -p "$home/.pi/agent/sessions" "$project/.pi"
export HOME=$home
unset XDG_CONFIG_HOME
# Each place has one session, named after the place.
place() { # DIRECTORY NAME
	mkdir -p "$1"
	printf '{"type":"session","version":3,"id":"%s","timestamp":"2026-04-01T12:00:00.000Z","cwd":"/x"}\n' "$2" >"$1/$2.jsonl"
}
found() { (cd "$project" && "$SESSIONFS" --json --ls sessions | jq -r '.[].name' | paste -sd' '); }
settings() { printf '{"theme":"dark","sessionDir":%s}\n' "$2" >"$1"; }

place "$home/.pi/agent/sessions" default
is default "$(found)" "the default"
place "$T/global" global
settings "$project/.pi/settings.json" "\"file://$T/global\""
is global "$(found)" "sessionDir as a file URL"
place "$project/local" local
settings "$project/.pi/settings.json" '"local"'
is local "$(found)" "sessionDir in the project's settings, relative"
place "$T/env" env
is env "$(PI_CODING_AGENT_SESSION_DIR=$T/env found)" "PI_CODING_AGENT_SESSION_DIR before settings"
place "$T/given" given
is given "$(cd "$project" && PI_CODING_AGENT_SESSION_DIR=$T/env "$SESSIONFS" -S "$T/given" --json --ls sessions | jq -r '.[].name')" "a SOURCE that is given"
fails 1 "sessionfs: .*No such file" env PI_CODING_AGENT_SESSION_DIR="$T/nowhere" "$SESSIONFS" --ls sessions

need_mount
mkdir "$T/mnt"
(cd "$project" && "$SESSIONFS" "$T/mnt") || die "mounting without SOURCE ended with $?"
is local "$(ls "$T/mnt/sessions")" "a mount without SOURCE"
