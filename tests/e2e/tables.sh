#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# by-date/, by-project/, labels/, sessions.tsv and usage.tsv agree with the session files, in every time zone, with and
# without a mount, also after each change.
. "$(dirname "$0")/../lib/lib.sh"
need python3 jq
needs_watches
facts() { python3 "$ROOT/tests/lib/facts.py" "$@"; }
zones=(UTC "NST3:30NDT,M3.2.0,M11.1.0" "NZST-12NZDT,M9.5.0,M4.1.0/3")

# --- without a mount -----------------------------------------------------------------
samples "$T/src"
samples "$T/broken" "$ROOT/tests/data/broken"
facts make "$T/made"
groups() { awk '/^[^ ]/ { day = $0; next } { print day substr($0, 3) }' | LC_ALL=C sort; }
mkdir "$T/want"
for source in src broken made; do
	for TZ in "${zones[@]}"; do
		facts all "$T/$source" "$T/want"
		for table in sessions usage; do
			"$SESSIONFS" -S "$T/$source" --cat $table.tsv >"$T/got"
			same "$T/want/$table" "$T/got" "$table of $source in $TZ"
		done
		for by in by-date by-project; do
			"$SESSIONFS" -S "$T/$source" --tree $by | groups >"$T/got"
			same "$T/want/$by" "$T/got" "$by of $source in $TZ"
		done
	done
done
TZ=UTC

# problems.tsv has each problems.txt in the order of sessions.tsv, then the problems from --check of files that are not
# shown.
problems() { # SOURCE
	printf 'file\tproject\tstem\tline\toffset\treason\n'
	python3 - "$SESSIONFS" "$1" "$T/shown" <<'END'
import json, subprocess, sys
program, source, shown = sys.argv[1:]
def cat(name):
    run = subprocess.run([program, "-S", source, "--cat", name], capture_output=True, text=True)
    return run.stdout if run.returncode == 0 or "No such file" in run.stderr else sys.exit(run.stderr)
with open(shown, "w") as f:
    for row in cat("sessions.tsv").splitlines()[1:]:
        project, stem = row.split("\t")[1:3]
        file = json.loads(cat(f"projects/{project}/{stem}/info.json"))["file"]
        print(file, file=f)
        for line in cat(f"projects/{project}/{stem}/problems.txt").splitlines():
            print(file, project, stem, line, sep="\t")
END
	{ "$SESSIONFS" --check "$1" || :; } | awk -F: 'NR == FNR { shown[$0]; next } !($1 in shown)' "$T/shown" - |
		sed -E 's/^([^:]*):[0-9]+: /\1\t\t\t\t\t/; s/\\x5C/\\\\/g; s/\\x09/\\t/g'
}
mkdir "$T/broken/dir.jsonl"
: >"$T/broken/--home--empty.jsonl"
printf 'null\n' >"$T/broken/zz\\"$'\t'"odd.jsonl"
"$SESSIONFS" -S "$T/broken" --cat problems.tsv >"$T/got"
problems "$T/broken" >"$T/rows"
same "$T/rows" "$T/got" "problems.tsv"

# The tables have the sums of info.json.
for s in "$FORECAST" "$CACHE" "$V2"; do
	is "$("$SESSIONFS" -S "$T/src" --cat "$s/info.json" | jq -r '[.id, .created, .modified, .entries, ([.messages[]] | add), .usage.totalTokens, .usage.cost, .state, .bytes, .title] | join("|")')" \
		"$("$SESSIONFS" -S "$T/src" --cat sessions.tsv | awk -F'\t' -v OFS='|' -v stem="${s##*/}" '$3 == stem { print $1, $4, $5, $6, $7, $8, $9, $11, $13, $14 }')" "the row of $s"
done

# --- through a mount -------------------------------------------------------------------
need_mount
mkdir "$T/empty"
mount_fs "$T/empty" "$T/mnt"
is "" "$(ls "$T/mnt/by-date")" "days without sessions"
is "1 1 1 1" "$(cd "$T/mnt" && for table in sessions usage problems labels; do wc -l <$table.tsv; done | xargs)" "a table without rows has its heading"
umount_fs "$T/mnt"

says() { facts agree "$T/src" "$T/mnt"; } # all tables agree with the current session files
# At once; read-only, the kernel is notified of cached contents a moment later.
agrees() { # WHAT HAPPENED
	if [ -n "$patience" ]; then
		await "after: $1" eval 'says 2>/dev/null'
	else
		says || die "the tables or by-date are wrong after: $1"
	fi
}
entry() { printf '{"type":"message","id":"%s","parentId":null,"timestamp":"2026-05-01T10:00:00.000Z","message":%s}\n' "$1" "$2"; }
new=$T/src/--home-ada-notes--/new.jsonl
changes() {
	agrees "nothing"
	ls "$T/mnt/by-date/2026-05-01" >/dev/null 2>&1 && die "a day without sessions"
	{
		echo '{"type":"session","version":3,"id":"new","timestamp":"2026-05-01T10:00:00.000Z"}'
		entry a1 '{"role":"user","content":"Begin"}'
	} >"$new"
	[ -n "$patience" ] || [ -e "$T/mnt/by-date/2026-05-01/10.00 Begin" ] || die "a new session is not under its day"
	agrees "a session came"
	entry a2 '{"role":"assistant","content":[],"provider":"p","model":"m","usage":{"input":3,"output":4,"cost":{"total":0.1}}}' >>"$new"
	touch -d 2026-03-01 "$new" # older than others: no time of the root depends on it
	agrees "it was used"
	sleep 2.5 # the kernel is notified until a second after a change, and caches from then on
	says || die "nothing has changed"
	sed -i 's/"input":3/"input":5/' "$new" && touch -d 2026-03-01 "$new"
	agrees "it was rewritten, as large as before"
	sed 's/"input":5/"input":6/' "$new" >"$T/same" && cat "$T/same" 1<>"$new" && touch -d 2026-03-01 "$new"
	agrees "it was changed in place, with the same size and time"
	printf '{"type":"session_info","id":"a3","parentId":"a2","name":"Forecast\\tcommand"}\n' >>"$new"
	touch -d 2026-03-01 "$new" # the time of its day is unchanged
	agrees "it was named"
	cp "$new" "$T/src/second.jsonl"
	agrees "a copy of it in another project"
	sed '1s/T10/T09/' "$new" >"$T/src/--home-ada-notes--/zz-older.jsonl"
	agrees "a session came that is older, and has its entries"
	entry a4 '{"role":"assistant","content":[],"provider":"p","model":"m","usage":{"input":7,"cost":{"total":0.7}}}' | tee -a "$new" >>"$T/src/second.jsonl"
	touch -d 2026-03-01 "$new" "$T/src/second.jsonl"
	agrees "both have one more entry"
	rm "$T/src/--home-ada-notes--/zz-older.jsonl"
	agrees "the oldest was removed"
	mv "$new" "$T/src/--srv-site-v2--/moved.jsonl"
	agrees "it was moved"
	rm "$T/src/--srv-site-v2--/moved.jsonl"
	agrees "it was removed"
	rm "$T/src/second.jsonl"
	agrees "all is as before"
}
patience=
mount_watched "$T/src" "$T/mnt"
changes
# Writes through the mount appear at once.
echo "Named here" >"$T/mnt/$FORK/name"
agrees "a name was written"
rm "$T/mnt/$FORK/name"
agrees "the name was removed"
# A label appears at once, wherever it was set, and disappears at once.
echo 'to/do %' >"$T/mnt/last-label" 2>/dev/null && die "a label at the root"
echo 'to/do %' >"$T/mnt/$FORECAST/entries/f31d0e43/label"
[ -e "$T/mnt/labels/to%2Fdo %25/0001 assistant Columns it is./text.md" ] || die "no label of all sessions"
agrees "a label was set"
rm "$T/mnt/$FORECAST/entries/f31d0e43/label"
[ ! -e "$T/mnt/labels/to%2Fdo %25" ] || die "a label that nothing has"
agrees "it was removed"
umount_fs "$T/mnt"
patience=yes
mount_watched "$T/src" "$T/mnt" -o ro
changes
umount_fs "$T/mnt"
