#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# context.md and transcript.md exist if they have contents, and appear and disappear as the session changes.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
entry() { # ID PARENT-AS-JSON REST
	printf '{"id":"%s","parentId":%s,"timestamp":"2026-03-01T00:00:00.000Z",%s}\n' "$@"
}
say() { entry "$1" "$2" "\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"hello\"}"; }
shell() { entry "$1" "$2" '"type":"message","message":{"role":"bashExecution","command":"ls","output":"","excludeFromContext":true}'; }
begin() { # NAME LINES: a session that has rested
	mkdir -p "$T/src/p"
	f=$T/src/p/$1.jsonl
	{ printf '{"type":"session","version":3,"id":"%s"}\n' "$1" && cat; } >"$f"
	touch -d '2026-03-01' "$f"
}
views() { # DIRECTORY: the views that exist, by name and by listing
	local v there="" listed
	for v in context.md transcript.md; do [ ! -e "$1/$v" ] || there+="$v "; done
	# shellcheck disable=SC2010
	listed=$(ls "$1" | grep -E '^(context|transcript)\.md$' | tr '\n' ' ')
	is "$there" "$listed" "the names listed in $1"
	echo "${there% }"
}
# Names and listing can change a moment apart.
shows() { [ "$(views "$2" 2>/dev/null)" = "$1" ]; }

begin empty <<<""
begin settings <<<"$(entry m1 null '"type":"model_change","provider":"p","modelId":"m"')"
begin private <<<"$(shell a1 null)"
begin missing <<<"$(entry a1 null '"type":"message"')"
begin edited <<<"$(say a1 null)
$(entry e1 '"a1"' '"type":"context_edit","targetId":"a1","replacement":null')"
begin twigs <<<"$(shell a1 null)
$(say a2 null)"

need_mount
for options in "" -oro; do
	mount_watched "$T/src" "$T/mnt" ${options:+"$options"}
	cd "$T/mnt/projects/p"
	timeout 60 python3 "$ROOT/tests/lib/tree.py" agree "$T/mnt" || die "listing and reading disagree"

	say b1 null >>"$T/src/p/empty.jsonl"
	within 20 "the first message ($options)" shows "context.md transcript.md" empty
	grep -q hello empty/context.md || die "the first message is not in context.md"
	say b1 '"e1"' >>"$T/src/p/edited.jsonl"
	within 20 "a message after the edit ($options)" shows "context.md transcript.md" edited
	entry e2 '"b1"' '"type":"context_edit","targetId":"b1","replacement":null' >>"$T/src/p/edited.jsonl"
	within 20 "the end of context.md ($options)" shows "transcript.md" edited
	within 20 "its end in the branch ($options)" shows "transcript.md" edited/branches/b1
	cd "$T"
	umount_fs "$T/mnt"
	begin empty <<<""
	begin edited <<<"$(say a1 null)
$(entry e1 '"a1"' '"type":"context_edit","targetId":"a1","replacement":null')"
done
