#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# chat.md: the conversation on the path, verbatim and in order, a line for each call, and no tool output. It grows as
# the conversation does.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
entry() { # ID PARENT SECOND REST
	printf '{"id":"%s","parentId":%s,"timestamp":"2026-03-01T00:00:%s.000Z",%s}\n' "$@"
}
message() { entry "$1" "$2" "$3" "\"type\":\"message\",\"message\":{$4}"; }
calls() { # ID PARENT SECOND TEXT CALL...
	local c blocks="{\"type\":\"text\",\"text\":\"$4\"}"
	for c in "${@:5}"; do
		blocks+=",{\"type\":\"toolCall\",\"id\":\"$c\",\"name\":\"bash\",\"arguments\":{\"command\":\"run $c\"}}"
	done
	message "$1" "$2" "$3" "\"role\":\"assistant\",\"stopReason\":\"toolUse\",\"content\":[$blocks]"
}
result() { message "$1" "$2" "$3" "\"role\":\"toolResult\",\"toolCallId\":\"$4\",\"content\":[{\"type\":\"text\",\"text\":\"put out\"}]"; }
follows() { [ "$(cat "$T/followed")" = "$1" ]; }
# A view that was rendered in part and grew equals one rendered at once.
afresh() { [ "$("$SESSIONFS" -S "$T/one" --cat projects/p/s/chat.md)" = "$(cat "$chat")" ]; }

samples "$T/src"
cp -r "$ROOT/tests/data/broken" "$T/broken"
for options in "" -oro; do
	mount_fs "$T/src" "$T/mnt" ${options:+"$options"}
	timeout 60 python3 "$ROOT/tests/lib/chat.py" check "$T/mnt" || die "chat.md ($options)"
	umount_fs "$T/mnt"

	rm -rf "$T/one"
	mkdir -p "$T/one/p"
	f=$T/one/p/s.jsonl
	{
		printf '{"type":"session","version":3,"id":"s"}\n'
		entry m0 null 00 '"type":"model_change","provider":"p","modelId":"m"'
	} >"$f"
	mount_watched "$T/one" "$T/mnt" ${options:+"$options"}
	chat=$T/mnt/projects/p/s/chat.md
	[ ! -e "$chat" ] || die "chat.md of a session without messages"
	message u '"m0"' 01 '"role":"user","content":"do it"' >>"$f"
	within 20 "chat.md" test -e "$chat"
	want='# do it

## user · 2026-03-01 00:00Z · u

do it'
	is "$want" "$(cat "$chat")" "chat.md"
	tail -c +1 -s 0.05 -f "$chat" >"$T/followed" &
	tail=$!
	within 20 "what was there" follows "$want"
	# In a writable mount, a follower of the file gets appended text. A read-only mount does not see opens: the
	# line of a running call is completed after it.
	seen=$(wc -c <"$chat")
	grow() { # LINE WANT [MORE]: WANT is appended to the file, and then MORE, about running calls
		printf '%s\n' "$1" >>"$f"
		want+=$2
		has() { [ "$(cat "$chat")" = "$want${3:-}" ]; }
		within 20 "chat.md with $2${3:-} ($options)" has "$@"
		is "$(stat -c %s "$chat")" "$(wc -c <"$chat")" "its size"
		afresh || die "chat.md made at once"
		[ "$(wc -c <"$chat")" -ge "$seen" ] || die "it is shorter with $2"
		tail -c +$((seen + 1)) "$chat" >>"$T/following"
		seen=$(wc -c <"$chat")
		if [ -n "$options" ]; then
			within 20 "$2 ($options)" cmp -s "$T/following" "$T/followed"
		else
			within 20 "$2 ($options)" follows "$want"
		fi
	}
	cat "$chat" >"$T/following" # a copy of a read-only file could not be appended to
	grow "$(calls a '"u"' 02 trying 1 2)" '

## assistant · 2026-03-01 00:00Z · a

trying' '

- `bash run 1`
- `bash run 2`'
	grow "$(result r '"a"' 03 1)" '

- `bash run 1` · 1 s · r' '
- `bash run 2`'
	grow "$(entry m1 '"r"' 03 '"type":"thinking_level_change","thinkingLevel":"high"')" '' '
- `bash run 2`'
	grow "$(result s '"m1"' 04 2)" '
- `bash run 2` · 2 s · s'
	grow "$(message b '"s"' 05 '"role":"assistant","stopReason":"toolUse","content":[{"type":"toolCall","id":"3","name":"read","arguments":{"path":"x"}}]')" '' '
- `read x`'
	grow "$(message v '"b"' 06 '"role":"user","content":"hurry"')" '

## user · 2026-03-01 00:00Z · v

hurry' '

- `read x`'
	grow "$(result w '"v"' 07 3)" '

- `read x` · 2 s · w'
	grow "$(calls d '"w"' 08 more 5)" '

## assistant · 2026-03-01 00:00Z · d

more' '

- `bash run 5`'
	grow "$(calls e '"d"' 09 instead)" '

- `bash run 5` · no result

## assistant · 2026-03-01 00:00Z · e

instead'
	kill "$tail"
	wait "$tail" 2>/dev/null || :
	# Once there is a name, it is the heading; a label is next to its entry.
	entry n1 '"e"' 10 '"type":"session_info","name":"Called"' >>"$f"
	named() { [ "$(head -n 1 "$chat")" = "# Called" ]; }
	within 20 "the name" named
	entry l1 '"n1"' 11 '"type":"label","targetId":"r","label":"here"' >>"$f"
	labelled() { grep -qx -- '- `bash run 1` · 1 s · \[here\] · r' "$chat"; }
	within 20 "the label" labelled
	afresh || die "chat.md with name and label"
	# On a branch, and at an entry that is not a tip, the conversation up to there.
	calls c '"u"' 12 other 4 >>"$f"
	within 20 "the other branch" grep -q '^other$' "$chat"
	! grep -q '^trying$' "$chat" || die "a message of another branch"
	is "trying" "$(grep -xE 'trying|other' "$T/mnt/projects/p/s/branches/v/chat.md")" "chat.md of a branch"
	is '- `bash run 2`' "$(tail -n 1 "$T/mnt/projects/p/s/branches/r/chat.md")" "chat.md at an entry"
	umount_fs "$T/mnt"
done
mount_fs "$T/broken" "$T/mnt" -oro
find "$T/mnt" -name chat.md -exec cat {} + >/dev/null || die "chat.md of broken sessions"
umount_fs "$T/mnt"
