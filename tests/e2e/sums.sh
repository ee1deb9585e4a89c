#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The cost of a session with its subagents, and how long it was worked on: in sessions.tsv, info.json and the page, for
# trees of sessions that copy each other's entries, and while a subagent grows.
. "$(dirname "$0")/../lib/lib.sh"
need python3 jq
sums() { python3 "$ROOT/tests/lib/sums.py" "$@"; }
shown() { # CAT...: the same from info.json, and from sessions.tsv
	"$@" sessions.tsv | awk -F'\t' 'NR > 1 { print "projects/" $2 "/" $3 "\t" $15 "\t" $16 }' | sed 's/\\\\/\\/g' | while IFS= read -r table; do
		row=$("$@" "${table%%$'\t'*}/info.json" | jq -r '[.file, .activeSeconds, (.usageWithSubagents // .usage).cost] | map(. // "" | tostring) | join("\t")')
		[ "${row#*$'\t'}" = "${table#*$'\t'}" ] || echo "sessions.tsv: $table"
		echo "$row"
	done | LC_ALL=C sort
}

# --- trees, without a mount ---------------------------------------------------------------
for seed in 1 2; do
	sums make "$T/src$seed" "$seed"
	sums rows "$T/src$seed" | LC_ALL=C sort >"$T/want"
	shown "$SESSIONFS" -S "$T/src$seed" --cat >"$T/got"
	same "$T/want" "$T/got" "the sums of tree $seed"
done

# Without other sessions, the sums of the first one are the totals of usage.tsv.
python3 - "$T/one" <<'END'
import json, os, sys
def write(file, id_, at, *entries):
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "w") as f:
        for v in [{"type": "session", "version": 3, "id": id_, "timestamp": f"2026-01-0{at}T10:00:00.000Z"}, *entries]:
            f.write(json.dumps(v) + "\n")
def used(id_, cost, role="assistant"):
    return {"type": "message", "id": id_, "parentId": None, "timestamp": "2026-01-05T10:00:00.000Z", "message": {"role": role, "provider": "p", "model": "m", "content": [], "stopReason": "stop", "usage": {"input": int(cost * 8), "output": 1, "cacheRead": 2, "cacheWrite": 3, "totalTokens": int(cost * 8) + 6, "cost": {"total": cost}}}}
top = sys.argv[1] + "/--p--/top"
write(f"{top}.jsonl", "top", 1, used("a", 0.25), used("r", 100, "toolResult"), used("b", 0.5))
write(f"{top}/run-0/session.jsonl", "run0", 2, used("a", 0.25), used("r", 100, "toolResult"), used("c", 1))
write(f"{top}/run-0/session/deep.jsonl", "deep", 3, used("c", 1), used("d", 2))
write(f"{top}/run-1/session.jsonl", "run1", 4, used("e", 4))
END
total() { "$@" usage.tsv | awk -F'\t' 'NR > 1 { for (i = 5; i <= NF; i++) n[i] += $i } END { print n[5], n[6], n[7], n[8], n[9], n[10] }'; }
with() { jq -r '.usageWithSubagents | [.input, .output, .cacheRead, .cacheWrite, .totalTokens, .cost] | join(" ")' "$1"; }
"$SESSIONFS" -S "$T/one" --cat projects/p/top/info.json >"$T/info"
is "62 5 10 15 92 7.75" "$(with "$T/info")" "the sums with subagents"
is "$(with "$T/info")" "$(total "$SESSIONFS" -S "$T/one" --cat)" "the totals of usage.tsv"
is null "$("$SESSIONFS" -S "$T/one" --cat projects/p/top+run-1/info.json | jq .usageWithSubagents)" "a session without subagents"

# --- through mounts: a subagent grows, and nothing else does --------------------------------
need_mount
find "$T/one" -name '*.jsonl' -exec touch -d '1 hour ago' {} +
show() { cat "$T/$1/sessions.tsv" "$T/$1/projects/p/top/info.json" "$T/$1/projects/p/top+run-0/info.json" "$T/$1/html/p/top.html" "$T/$1/html/p/top+run-0.html"; }
exact() { # the sizes equal the contents
	local file
	for file in projects/p/top/info.json html/p/top.html; do
		[ "$(stat -c %s "$T/$1/$file")" -eq "$(wc -c <"$T/$1/$file")" ] || die "the size of $file in $1"
	done
}
agrees() { # MOUNT: the same as a command that has no cache
	show "$1" >"$T/got" && for file in sessions.tsv projects/p/top/info.json projects/p/top+run-0/info.json html/p/top.html html/p/top+run-0.html; do
		"$SESSIONFS" -S "$T/one" --cat "$file"
	done >"$T/want" && cmp -s "$T/want" "$T/got"
}
mount_watched "$T/one" "$T/rw"
mount_watched "$T/one" "$T/ro" -o ro
for m in rw ro; do
	await "the sums in $m" agrees "$m"
	show "$m" >/dev/null # once more, from the caches
	exact "$m"
done
grep -q 'with subagents \$7.75' "$T/ro/html/p/top.html" || die "the page has no sum"
for n in 1 2 3 4 5 6; do
	# The sums have as many digits as before.
	printf '{"type":"message","id":"g%s","parentId":null,"timestamp":"2026-01-05T10:00:0%s.000Z","message":{"role":"assistant","provider":"p","model":"m","content":[],"usage":{"input":0,"totalTokens":1,"cost":{"total":0.01}}}}\n' $n $n >>"$T/one/--p--/top/run-0/session/deep.jsonl"
	for m in rw ro; do
		await "what a subagent spent, in $m" agrees "$m"
		exact "$m"
	done
done
is 7.81 "$(jq .usageWithSubagents.cost "$T/rw/projects/p/top/info.json")" "the cost after all"
rm -r "$T/one/--p--/top/run-1"
for m in rw ro; do await "a subagent less, in $m" agrees "$m"; done
rm -r "$T/one/--p--/top"
alone() { [ "$(jq -c '[.usage.cost, .usageWithSubagents]' "$T/$1/projects/p/top/info.json")" = "[100.75,null]" ]; }
for m in rw ro; do await "subagents that are gone, in $m" alone "$m"; done
