#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# With -o redact no file of the mount shows a key, however it is read; session.jsonl has asterisks in its place and no
# other change. --secrets and is:secret find keys, with redact and without.
. "$(dirname "$0")/../lib/lib.sh"
need python3 jq
oracle() { python3 "$ROOT/tests/lib/secret.py" "$@"; }
oracle check
oracle keys | grep -vx example >"$T/keys" # also a word
samples "$T/src"
samples "$T/broken" "$ROOT/tests/data/broken"
oracle plant "$T/planted"
oracle mix "$T/mixed" "${SEED:-1}"

# --- without a mount -----------------------------------------------------------------
# The longest line that is scanned.
mkdir "$T/long"
{ echo '{"type":"session","id":"long"}' && printf '{"a":"%s"}\n' "$(printf 'x%.0s' {1..10000})"; } >"$T/long/long.jsonl"
most_of() {
	grep -q xxx < <("$1" -o redact -S "$T/long" --cat projects/unknown/long/session.jsonl) && echo $((64 << 20)) || echo 8192
}
tables() { # PROGRAM
	local most source option project files f s
	most=$(most_of "$1")
	mkdir -p "$T/want"
	oracle tables "$most" "$T/want" "$T"/{src,broken,mixed,planted}
	for source in src broken mixed planted; do
		for option in "" --redact; do
			"$1" $option -S "$T/$source" --secrets >"$T/got"
			same "$T/want/$source" "$T/got" "--secrets of $source with $option"
		done
	done
	# Each entry with a key, once.
	tail -n +2 "$T/want/planted" | cut -f1-3 | awk -F'\t' '$3 != ""' | sort -u >"$T/entries"
	for option in "" --redact; do
		"$1" $option -S "$T/planted" --search is:secret --entries | tail -n +2 | cut -f2-4 | sort >"$T/found"
		same "$T/entries" "$T/found" "is:secret with $option"
	done
	for source in planted mixed; do
		if [ $source = planted ]; then project=home-u files=("$T/planted/--home-u--"/*0.jsonl); else project=mix files=("$T/mixed/--mix--"/*.jsonl); fi
		for f in "${files[@]}"; do
			s=${f##*/}
			"$1" -o redact -S "$T/$source" --cat "projects/$project/${s%.jsonl}/session.jsonl"
		done >"$T/got"
		oracle mask "$most" "${files[@]}" | same /dev/stdin "$T/got" "session.jsonl of ${files[*]}"
	done
}
small=${SESSIONFS%/*}/small/sessionfs
[ ! -x "$small" ] || tables "$small"
tables "$SESSIONFS"
most=$(most_of "$SESSIONFS")
is 34 "$(cut -f4 "$T/want/planted" | tail -n +2 | sort -u | wc -l)" "kinds of keys"
"$SESSIONFS" -S "$T/planted" --search=-is:secret --entries | tail -n +2 | cut -f2-4 | sort >"$T/found"
nothing "both" comm -12 "$T/entries" "$T/found"
[ -s "$T/found" ] || die "no entry is without a secret"
fails 1 "^$" "$SESSIONFS" -S "$T/src" --search is:secret
fails 1 "" "$SESSIONFS" -S "$T/nowhere" --secrets
fails 2 "is:secret" "$SESSIONFS" -S "$T/src" --search is:secrets
key=$(sed -n 3p "$T/keys")
grep -q "$key" < <("$SESSIONFS" -S "$T/planted" --search "$key") || die "the key is not found without redact"
fails 1 "^$" "$SESSIONFS" -o redact -S "$T/planted" --search "$key"
"$SESSIONFS" -o redact -S "$T/planted" --search "is:secret" -m 0 >"$T/hits"
oracle leaks "$T/hits" || die "a search shows a key"
"$SESSIONFS" -o redact -S "$T/planted" --search "is:secret role:user" -m 0 >"$T/hits"
[ "$(wc -l <"$T/hits")" -gt 100 ] || die "$(wc -l <"$T/hits") lines with a key"
grep -v '\*\*\*\|…$' "$T/hits" && die "lines without a key"

# No action prints a key with --redact; --repair and --check refuse it.
printf '%s\n' 1 b q | "$SESSIONFS" --redact -S "$T/planted" --pick >"$T/pages" 2>&1 || :
printf '%s\n' 1 b q | "$SESSIONFS" --redact -S "$T/planted" --pick is:secret >>"$T/pages" 2>&1 || :
for action in --tree=projects --ls=projects/home-u "--search=is:secret -m0" "--search=is:secret --json"; do
	# shellcheck disable=SC2086
	"$SESSIONFS" --redact -S "$T/planted" $action >>"$T/pages"
done
oracle leaks "$T/pages" || die "an action shows a key"
grep -q '\*\*\*\*' "$T/pages" || die "no action masks a key"
for f in "$T"/planted/*/*.jsonl; do
	fails 2 "^sessionfs: --redact: requires a mount, [^
]*$" "$SESSIONFS" --redact --repair "$f"
done
fails 2 "^sessionfs: --redact: requires" "$SESSIONFS" --redact --check "$T/planted"
for option in redact,rw rw,redact; do
	fails 2 "rw: redact is read-only" "$SESSIONFS" -o $option -S "$T/planted" --cat README.md
done

# A copy can be given away, and equals a redacting mount of it.
"$SESSIONFS" -o redact -S "$T/planted" --copy / "$T/copy" >"$T/said"
find "$T/copy" -type f -print0 | xargs -0 python3 "$ROOT/tests/lib/secret.py" leaks || die "a copy shows a key"
find "$T/copy" | grep -aFf "$T/keys" && die "a name in a copy shows a key"
find "$T/copy" -type l -printf '%l\n' | grep -aFf "$T/keys" && die "a link in a copy shows a key"

# --- through a mount -------------------------------------------------------------------
need_mount
mount_watched "$T/planted" "$T/mnt" -o redact
m=$T/mnt/projects/home-u
fails 1 "Read-only" mkdir "$m/x"
oracle masked "$most" "$m" "$T"/planted/*/*.jsonl || die "a session.jsonl"
# In odd pieces, from any offset.
pieces() { # FILE MASKED NUMBER
	python3 - "$@" <<'PY' || die "a read of a piece of $1 differs"
import os, random, sys
whole = open(sys.argv[2], "rb").read()
random.seed(1)
fd = os.open(sys.argv[1], os.O_RDONLY)
for _ in range(int(sys.argv[3])):
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    n, at = random.choice([1, 2, 7, 100, 5000]), random.randrange(len(whole))
    assert os.pread(fd, n, at) == whole[at:at + n], (at, n)
PY
}
f=$(printf '%s\n' "$T"/planted/*/*.jsonl | tail -n 1)
s=$m/$(basename "$f" .jsonl)
oracle mask "$most" "$f" >"$T/masked"
pieces "$s/session.jsonl" "$T/masked" 3000
dd if="$s/session.jsonl" bs=7 iflag=direct status=none 2>/dev/null | cmp - "$T/masked" || dd if="$s/session.jsonl" bs=7 status=none | cmp - "$T/masked" || die "dd"
search=$T/mnt/search
cat "$T/mnt"/html/home-u/*.html "$T/mnt/html/index.html" "$search/is:secret"/{hits.txt,entries.tsv} "$search/the first/hits.txt" >"$T/pages"
oracle leaks "$T/pages" || die "a page or search shows a key"
find "$T/mnt" -type f -print0 | xargs -0 python3 "$ROOT/tests/lib/secret.py" leaks || die "a file shows a key"
find "$T/mnt" -printf '%P\n%l\n' | grep -aFf "$T/keys" && die "a name shows a key"
grep -rqaFf "$T/keys" "$T/mnt/projects" && die "grep -r finds a key"
[ ! -e "$T/mnt/secrets.tsv" ] || die "secrets.tsv is in the mount: its size would be found out for every ls -l"

# Nor do the names of a session in the source itself, which are made of its header.
printf '%s\n' '{"type":"session","version":3,"id":"'"$key"'","cwd":"/srv/'"$key"'"}' >"$T/planted/flat.jsonl"
stars=$(tr '[:graph:]' '*' <<<"$key")
await "a flat session" test -e "$T/mnt/projects/srv-$stars/flat/title"
is "../projects/srv-$stars/flat" "$(readlink "$T/mnt/sessions/$stars")" "the link by the id"
rm "$T/planted/flat.jsonl"

# A key written in two parts shows neither part.
f=$T/planted/--home-u--/live.jsonl
echo '{"type":"session","version":3,"id":"live","timestamp":"2026-01-02T00:00:00.000Z"}' >"$f"
s=$m/live
await "the session" test -e "$s/session.jsonl"
printf '%s' '{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"'"${key:0:20}" >>"$f"
await "its end" eval "[ \$(stat -c %s '$s/session.jsonl') = \$(stat -c %s '$f') ]"
await "stars" eval "grep -q '^\*\{20\}\$' < <(tail -c 20 '$s/session.jsonl')"
grep -qa "${key:0:20}" "$s/session.jsonl" && die "half a key shows"
inode=$(stat -c %i "$s")
sleep 2 # masks are kept of a file that has not changed for a second
is '********************' "$(dd if="$s/session.jsonl" bs=4096 iflag=direct status=none | tail -c 20)" "half a key later"
printf '%s"}}\n' "${key:20}" >>"$f"
await "the entry" test -e "$s/entries/a/text.md"
oracle mask "$most" "$f" >"$T/masked"
await "the line" cmp -s "$T/masked" "$s/session.jsonl"
is "$(echo "$key" | tr '[:graph:]' '*')" "$(cat "$s/entries/a/text.md")" "text.md"
is "$inode" "$(stat -c %i "$s")" "the inode of a session whose last line went on"
# A complete last line is shown even without a newline.
printf '%s' '{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"plain, '"$key"'"}}' >>"$f"
await "the last line" grep -q "^plain, \*" "$s/entries/b/text.md"
oracle mask "$most" "$f" | same /dev/stdin "$s/session.jsonl" "session.jsonl without a newline"
# A line with a long key and many others.
python3 - "$key" >>"$f" <<'END'
import json, sys
text = " ".join([sys.argv[1]] * 5000) + "\n-----BEGIN PRIVATE KEY-----\n" + "example0" * 2000 + "\n"
print("\n" + json.dumps({"type": "message", "id": "c", "parentId": "b", "message": {"role": "user", "content": text}}))
END
await "the long line" test -e "$s/entries/c/text.md"
oracle mask "$most" "$f" >"$T/masked"
await "all of it" cmp -s "$T/masked" "$s/session.jsonl"
pieces "$s/session.jsonl" "$T/masked" 100
umount_fs "$T/mnt"
