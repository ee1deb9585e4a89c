#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --copy --delete removes only copies of what the source was seen not to have. If a directory or a session cannot be read, for
# whatever reason, its copy stays, and so does every link and table that shows it; the rest is copied and pruned.
. "$(dirname "$0")/../lib/lib.sh"
need cc python3
is_sanitized && skip "a sanitizer wants to be loaded first"

cc -shared -fPIC -O1 -o "$T/unreadable.so" "$ROOT/tests/lib/unreadable.c" || die "unreadable.c"
mkdir -p "$T/all/--p--" "$T/all/--q--" "$T/all/--r--"
python3 - "$T/all" <<'END'
import json, os, sys
def session(name, parent=None, title=None, time=1772400000):
    path, id = f"{sys.argv[1]}/{name}.jsonl", name[-3:]
    head = {"type": "session", "version": 3, "id": id, "timestamp": "2026-04-01T12:00:00.000Z", "cwd": "/x"}
    message = {"role": "user", "content": title or f"word {id}"}
    answer = {"role": "assistant", "model": "m", "content": [{"type": "toolCall", "id": "t", "name": "read", "arguments": {"path": f"/f/{id}"}}],
              "usage": {"totalTokens": 1, "cost": {"total": 1}}}
    lines = [head | ({"parentSession": parent} if parent else {}),
             {"type": "message", "id": f"e-{id}", "parentId": None, "timestamp": "2026-04-01T12:00:00.000Z", "message": message},
             {"type": "message", "id": f"f-{id}", "parentId": f"e-{id}", "timestamp": "2026-04-01T12:00:01.000Z", "message": answer},
             {"type": "label", "id": f"l-{id}", "parentId": f"f-{id}", "timestamp": "2026-04-01T12:00:02.000Z", "targetId": f"e-{id}", "label": f"of {id}"}]
    with open(path, "w") as f:
        f.writelines(json.dumps(x) + "\n" for x in lines)
    os.utime(path, (time, time))
session("--p--/one")
session("--p--/two", "/x/bad.jsonl")
session("--p--/old")
session("--q--/bad", "/x/one.jsonl")
session("--q--/fit", "/x/one.jsonl", "twin", 1772500000) # the newest
session("--r--/six", None, "twin")
END
cp -a "$T/all" "$T/src"
copy=("$SESSIONFS" -S "$T/src" --copy)
"${copy[@]}" / "$T/full" >/dev/null
is "projects/q/bad
projects/q/fit" "$(cat "$T/full/projects/p/one/forks")" "the forks"
is projects/q/bad "$(cat "$T/full/projects/p/two/parent")" "the parent"
export BAD=$T/what

# A session disappears from the source, and one grows. Names that it never had:
stray=(projects/p/never projects/p/one/entries/e-one/never html/p/never.html projects/r/six/never)
prepare() {
	local name
	rm -rf "$T/to" "$T/src"
	cp -a "$T/all" "$T/src"
	cp -a "$T/full" "$T/to"
	rm "$T/src/--p--/old.jsonl"
	echo '{"type":"custom","id":"grown","parentId":"f-six"}' >>"$T/src/--r--/six.jsonl"
	touch -d @1772450000 "$T/src/--r--/six.jsonl"
	for name in "${stray[@]}"; do echo mine >"$T/to/$name"; done
	mkdir "$T/to/projects/never" "$T/to/by-date/never"
}
# Everything that shows a session of --q--.
shows_q() {
	(cd "$1" && find . \( -path '*/q' -o -path '*/q/*' -o -name '*bad*' -o -name '*fit*' -o -name '*twin*' -o -name latest -o -regex './projects/[^/]*/[^/]*/\(forks\|parent\)' \) -printf '%p %y %l\n' | sort &&
		grep -r '' projects/q projects/p/one/forks projects/p/two/parent && grep -h '' ./*.tsv html/index.html | grep -E 'bad|fit')
}
shows_q "$T/full" >"$T/right"
# Copies while $BAD_FILE fails; the error is named, and the status 1.
copy_failing() { # WHAT REGEX
	echo "$1" >"$BAD"
	rc=0
	LD_PRELOAD=$T/unreadable.so "${copy[@]}" --delete / "$T/to" >"$T/out" 2>"$T/err" || rc=$?
	is 1 "$rc" "the status if $BAD_FILE fails ($1; $(cat "$T/err"))"
	matches "$2" "$(cat "$T/err")" "what is named if $BAD_FILE fails ($1)"
	rm "$BAD"
	shows_q "$T/to" >"$T/now" || :
	diff "$T/right" "$T/now" >&2 || die "a copy of what shows --q-- is lost or changed if $BAD_FILE fails ($1)"
}
pruned() { # NAME...
	local name
	for name; do [ ! -e "$T/to/$name" ] && [ ! -h "$T/to/$name" ] || die "$name is kept if $BAD_FILE fails ($what)"; done
	is entries/grown "$(readlink "$T/to/projects/r/six/leaf")" "a link in a session that grew, if $BAD_FILE fails ($what)"
}
recovers() {
	"${copy[@]}" --delete / "$T/to" >"$T/out" || die "the copy does not recover from $BAD_FILE ($what)"
	[ -d "$T/fresh" ] || "${copy[@]}" / "$T/fresh" >/dev/null
	diff -r --no-dereference "$T/fresh" "$T/to" >&2 || die "the copy is not as a fresh one after $BAD_FILE ($what)"
}
errnos() { python3 -c 'import errno, sys; print(*(getattr(errno, x) for x in sys.argv[1:]))' "$@"; }

# --- a directory that cannot be opened, or whose names cannot be read ---
BAD_FILE=--q--
export BAD_FILE
for what in names $(errnos EIO ENOTCONN ESTALE EHOSTDOWN ENODEV ENXIO ETIMEDOUT ECONNREFUSED ECONNRESET ENOSYS EREMOTEIO EKEYEXPIRED ENOKEY EINVAL EACCES EPERM); do
	prepare
	copy_failing "$what" '(^|
)sessionfs: --q--: '
	pruned projects/p/old html/p/old.html "${stray[@]}"
	[ -e "$T/to/projects/never" ] && [ -e "$T/to/by-date/never" ] || die "pruned where --q-- is missing ($what)"
	recovers
done
# The program lacks descriptors or memory: it names listings.
for what in $(errnos EMFILE ENOMEM); do
	prepare
	copy_failing "$what" 'sessionfs: (projects: Too many open files|--q--: Cannot allocate memory)'
	recovers
done
# A copy without --delete keeps its rows, too.
prepare
errnos ENOTCONN >"$BAD"
fails 1 "sessionfs: --q--: Transport endpoint is not connected" env LD_PRELOAD="$T/unreadable.so" "${copy[@]}" / "$T/to"
rm "$BAD"
shows_q "$T/to" | diff "$T/right" - >&2 || die "a copy without --delete loses rows"
rm -rf "$T/table"
for _ in 1 2; do
	errnos EIO >"$BAD"
	fails 1 "sessionfs: --q--: Input/output error" env LD_PRELOAD="$T/unreadable.so" "${copy[@]}" sessions.tsv "$T/table"
	rm "$BAD"
	is 4 "$(wc -l <"$T/table/sessions.tsv")" "rows of a table that lacks sessions"
done
# Nothing is known to be there: it is gone.
for what in $(errnos ENOENT ENOTDIR); do
	prepare
	echo "$what" >"$BAD"
	LD_PRELOAD=$T/unreadable.so "${copy[@]}" --delete / "$T/to" >/dev/null || die "an absent directory is an error ($what)"
	rm "$BAD"
	pruned projects/q projects/never by-date/never sessions/bad sessions/fit projects/p/one/forks "labels/of bad" html/q
	recovers
done

# --- one session ---
BAD_FILE=/bad.jsonl
for what in header bytes $(errnos EIO ENOTCONN ESTALE EACCES EPERM); do
	prepare
	copy_failing "$what" '(^|
)sessionfs: (--q--/bad.jsonl|projects/q/bad): '
	pruned projects/p/old html/p/old.html "${stray[@]}"
	recovers
done

# --- DIR itself fails: an error that means absence in the source is one here ---
for what in names rename; do
	prepare
	BAD_FILE=/to/projects/p reason="projects/p: Input/output error"
	[ "$what" = names ] || BAD_FILE=title reason="projects/p/one/title: No such file or directory"
	[ "$what" = names ] || rm "$T/to/projects/p/one/title"
	echo "$what" >"$BAD"
	fails 1 "(^|
)sessionfs: $reason" env LD_PRELOAD="$T/unreadable.so" "${copy[@]}" --delete / "$T/to"
	rm "$BAD"
	recovers
done

# --- a link that leads nowhere is absent ---
BAD_FILE=none
what=links
prepare
ln -s nowhere "$T/src/--s--"
ln -s -- --t-- "$T/src/--t--"
ln -s loop.jsonl "$T/src/--p--/loop.jsonl"
rm -r "$T/fresh" # problems.tsv names one of them
recovers
pruned projects/p/old projects/never "${stray[@]}"

# --- as in life: no permission ---
chmod 755 "$T/all"
for name in --q-- --q--/bad.jsonl; do
	what="mode of $name"
	prepare
	chmod 0 "$T/src/$name"
	chmod -R a+rwX "$T/to"
	[ "$(id -u)" -ne 0 ] || chown -R 65534 "$T/to"
	rc=0
	as_nobody "${copy[@]}" --delete projects "$T/to/projects" >"$T/out" 2>"$T/err" || rc=$?
	is 1 "$rc" "the status without permission for $name"
	matches "(^|
)sessionfs: $name: Permission denied" "$(cat "$T/err")" "what is named without permission for $name"
	[ -e "$T/to/projects/q/bad/session.jsonl" ] || die "the copy of $name is gone"
	pruned projects/p/old
	chmod 755 "$T/src/$name"
done
