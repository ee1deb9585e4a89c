#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names in ARCHITECTURE.md and in the folders' pages exist, and a removed name is found. The manual has the names of the
# mount.
. "$(dirname "$0")/../lib/lib.sh"
"$ROOT/scripts/check-names" >"$T/out" 2>&1 || die "$(cat "$T/out")"
mkdir "$T/copy"
cp -r "$ROOT/src" "$ROOT/include" "$ROOT/scripts" "$ROOT/man" "$ROOT/Makefile" "$ROOT/ARCHITECTURE.md" "$T/copy/"
(cd "$ROOT/tests" && find . -maxdepth 1 -type d -exec mkdir -p "$T/copy/tests/{}" \;)
"$ROOT/scripts/check-names" "$T/copy" >"$T/out" 2>&1 || die "the copy: $(cat "$T/out")"
echo '/* only_in_comment */' >>"$T/copy/src/tree/tree.c"
for gone in src/tree/gone.c gone.h tree_is_gone only_in_comment 'treegone()'; do
	cp "$ROOT/ARCHITECTURE.md" "$T/copy/"
	printf '\nSee \140%s\140.\n' "$gone" >>"$T/copy/ARCHITECTURE.md"
	fails 1 "ARCHITECTURE.md: ${gone//[()]/.} is gone" "$ROOT/scripts/check-names" "$T/copy"
done
cp "$ROOT/ARCHITECTURE.md" "$T/copy/"
printf '\nSee src/tree/gone.c.\n' >>"$T/copy/ARCHITECTURE.md"
fails 1 "src/tree/gone.c is gone" "$ROOT/scripts/check-names" "$T/copy"

cp "$ROOT/ARCHITECTURE.md" "$T/copy/"
# A name of the mount without its place in the manual, one with fewer places than directories, and a place without a
# name.
for name in title parent; do
	awk -v item=".It Pa $name" '$0 != item || done++' "$ROOT/man/sessionfs.5" >"$T/copy/man/sessionfs.5"
	fails 1 "sessionfs.5: $name is missing" "$ROOT/scripts/check-names" "$T/copy"
done
sed 's/^\.It Pa title$/&\n.It Pa titles/' "$ROOT/man/sessionfs.5" >"$T/copy/man/sessionfs.5"
fails 1 "sessionfs.5: titles is not in the table" "$ROOT/scripts/check-names" "$T/copy"
sed 's/{"title", \.doc/{"heading", .doc/' "$ROOT/src/tree/session.c" >"$T/copy/src/tree/session.c"
cp "$ROOT/man/sessionfs.5" "$T/copy/man/"
fails 1 "sessionfs.5: heading is missing" "$ROOT/scripts/check-names" "$T/copy"

# A filter, a column, a field of an event, and an option.
cp "$ROOT/src/tree/session.c" "$T/copy/src/tree/"
for name in state: cacheRead stopReason max-threads; do
	grep -v "\(Ql\|Cm\|Fl\) -\?${name%:}" "$ROOT/man/sessionfs.5" >"$T/copy/man/sessionfs.5"
	grep -v "\(Ql\|Cm\|Fl\) -\?${name%:}" "$ROOT/man/sessionfs.1" >"$T/copy/man/sessionfs.1"
	fails 1 "manual: ${name%:} is missing" "$ROOT/scripts/check-names" "$T/copy"
done
