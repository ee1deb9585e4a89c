#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Refusals: the program gets an error where it checks for one, the old value stays, the session file stays byte for
# byte, and `errors` has the reason in words.
. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/../lib/write.sh"
need_mount
need busybox dash jq node rsync vim
write_mount
a=4726bdf3 c=436adaf5 d=2f83ebc0
label=entries/$a/label
cd "$s"
echo old >$label
wrote "a label" "label $a old"
[ ! -e errors ] || die "errors before there was one: $(cat errors)"

# Refused with a reason, the first one in `errors`.
because() { # REASON REGEX COMMAND...
	local reason=$1
	shift
	refuses "$@"
	matches "^[0-9T:.-]*Z .*: .*$reason" "$(head -n 1 errors)" "the newest of errors after $*"
}

# --- texts that are not valid labels, names or summaries -------------------------------

printf 'one\ntwo\n' >"$T/lines"
printf 'n\0l\n' >"$T/nul"
printf 'a\377b\n' >"$T/bytes"
printf 'half a character \303' >"$T/half"
head -c 4097 /dev/zero | tr '\0' x >"$T/long" && echo >>"$T/long"
head -c 70000 /dev/zero | tr '\0' x >"$T/longer"
head -c 1100000 /dev/zero | tr '\0' x >"$T/longest"
invalid="Invalid argument|invalid argument|EINVAL" large="File too large|EFBIG"

# Builtins of shells check the error of write(2) (dash has one word for all), but not the error of close(2).
for shell in bash dash "busybox sh"; do
	read -ra sh <<<"$shell"
	said=rror
	[ "$shell" != "busybox sh" ] || said="" # it only ends with 1
	because "one line" "$said" "${sh[@]}" -c "printf 'one\ntwo\n' >$label"
	because "one line" "$said" "${sh[@]}" -c "{ echo one; echo two; } >$label"
	because "one line" "$said" "${sh[@]}" -c "echo two >>$label"
	because "NUL" "$said" "${sh[@]}" -c "printf 'n\0l\n' >$label"
	because "UTF-8" "$said" "${sh[@]}" -c "printf 'a\377b\n' >$label"
	because "UTF-8" "$said" "${sh[@]}" -c "printf 'a\377b\n' >name"
	because "too long" "$said" "${sh[@]}" -c "read -r x <$T/long; echo \$x >$label"
done
bash -c "printf 'half \303' >$label" || die "bash looks at the error of close(2)?"
wrote "half a character, by a shell"
matches "UTF-8" "$(head -n 1 errors)" "what errors says where nobody saw it"

# Other programs check both.
into() { # REASON REGEX FILE PLACE
	because "$1" "$2" tee "$4" <"$3"
	because "$1" "$2" cp "$3" "$4"
	because "$1" "$2" dd "if=$3" "of=$4" bs=1M
}
into "one line" "$invalid" "$T/lines" $label
into "NUL" "$invalid" "$T/nul" $label
into "UTF-8" "$invalid" "$T/half" $label
into "too long; at most 4,096 bytes" "$large" "$T/long" $label
into "too long; at most 65,536 bytes" "$large" "$T/longer" name
into "too long; at most 1,048,576 bytes" "$large" "$T/longest" entries/$a/branch
into "NUL" "$invalid" "$T/nul" entries/$a/branch
into "too long; at most 1,048,576 bytes" "$large" "$T/longest" entries/$a/context.json
into "not null, a JSON string" "$invalid" "$T/lines" entries/$a/context.json
because "not on the branch in use" "$invalid" bash -c "echo null >entries/$d/context.json"
because "a block is not a text or image" "" bash -c "jq -n '[{}]' >entries/$a/context.json"
because "UTF-8" "$invalid" "$python" -c "f = open('$label', 'wb'); f.write(b'half \\xc3'); f.close()"
because "one line" "$invalid" tee -a $label <"$T/lines"
because "UTF-8" "$invalid" node -e "fs.writeFileSync('$label', Buffer.from('half \\xc3', 'latin1'))"
because "not removed: a write to it by this process failed" "$invalid" node -e "fs.copyFileSync('$T/lines', '$label')" # it cleans up
because "one line" "not permitted" rsync "$T/lines" $label
because "one line" "$invalid" rsync --inplace "$T/lines" $label
# When a file is renamed over it, rename(2) returns the error.
because "one line" "not permitted" sed -i 's/.*/one\ntwo/' $label
because "no entry has this id" "not permitted" sed -i 's/^4726bdf3/4726bdf4/' labels.tsv
cp "$T/lines" entries/$a/aside
fails 1 "not permitted" mv entries/$a/aside $label
same "$T/lines" entries/$a/aside "a file that could not be renamed over a label"
rm entries/$a/aside
wrote "a refused mv"
because "one line" "" vim -N -u NONE -i NONE -es --cmd "set backupskip=" -c "normal! otwo" -c wq -c cq $label
because "no entry has this id" "" vim -N -u NONE -i NONE -es --cmd "set backupskip=" -c "normal! Gonone	x" -c wq -c cq labels.tsv
# A refusal stays with the handle: later writes must not become a value.
because "one line" "error" bash -c "exec 3>$label; printf 'one\ntwo\n' >&3; echo three >&3"
# Exactly the maximum length
head -c 4096 "$T/long" >"$T/most"
cp "$T/most" $label
wrote "4,096 bytes" "label $a $(cat "$T/most")"
echo old >$label
wrote "and back" "label $a old"

wrote "all that was refused so far"

# --- the table ---------------------------------------------------------------------------

table() { # REASON LINE...: the table with these lines at its end is refused
	local reason=$1
	shift
	{ cat labels.tsv && printf '%b\n' "$@"; } >"$T/table"
	because "$reason" "$invalid" tee labels.tsv <"$T/table"
}
table "line 26: no entry has this id" "00000000\tx\t"
table "no TAB" "$a"
table "already has a row" "$a\tx\t"
sed "s/^$a	[^	]*/$a	back\\\\slash/" labels.tsv >"$T/table"
because "unknown escape" "$invalid" cp "$T/table" labels.tsv
{ printf '%s\t' "$a" && cat "$T/long"; } >"$T/table"
because "4096" "$invalid" cp "$T/table" labels.tsv
# All or nothing: a good row does not count when a later one is bad.
printf '%s\tgood\n%s\tgood\nbad\n' $c $d >"$T/table"
because "no TAB" "$invalid" cp "$T/table" labels.tsv
because "an empty table clears nothing" "$invalid" cp /dev/null labels.tsv
: >labels.tsv
wrote "an empty table"

# --- a copy of the tree, written back --------------------------------------------------

# None of it becomes a scratch file under a name that could be the tree's.
cp -a . "$T/copy"
chmod -R u+w "$T/copy"
! is_sanitized || rm -r "$T/copy/labels" # it takes more than the ten seconds after a refusal
for f in label context.json README.md entries/$a/name entries/$a/context.md; do echo null >"$T/copy/$f"; done
ls -A . entries/$a labels | grep -vx errors >"$T/names"
! cp -r "$T/copy/." . 2>/dev/null || die "a copy of the tree was taken"
! rsync -rl "$T/copy/" . >/dev/null 2>&1 || die "a copy of the tree was taken by rsync"
ls -A . entries/$a labels | grep -vx errors | same "$T/names" /dev/stdin "the names after a copy"
wrote "a copy of the tree"

# --- names that cannot be written or undone ----------------------------------------------

refuses "$invalid" bash -c "echo >entries/$c/branch"
because "cannot be removed" "$invalid" cp /dev/null entries/$c/branch
: >entries/$c/branch
wrote "an empty summary"
# A text that is not a value, in a file that does not exist yet.
because "write null" "$invalid" truncate -s 0 entries/$c/context.json
because "write null" "$invalid" dd if=/dev/null of=entries/$c/context.json status=none
because "write null" "$invalid" "$python" -c "open('entries/$c/context.json', 'w').close()"
: >entries/$c/context.json # the shell does not check close(2)
matches "Z entries/$c/context.json: write null" "$(head -n 1 errors)" "the reason of what the shell does not check"
[ ! -e entries/$c/context.json ] || die "an empty context.json"
wrote "an empty context"
refuses "not permitted|denied" cp --remove-destination name title
refuses "not permitted|denied" sed -i s/a/b/ title
refuses "not permitted|denied" bash -c "echo x >new-name/x || echo x >entries/new"
refuses "not permitted|denied" rm -r branches/$d
wrote "all that cannot be written"

# --- a session file that cannot be written ---------------------------------------------------

closed() { # REGEX: all kinds of writes are refused with it
	local f
	unchanged() { same "$T/kept" "$file" "$1: the session file"; }
	for f in "$s/name" "$s/labels.tsv" "$s/$label" "$s/entries/$c/branch"; do
		is "" "$(find "$f" -maxdepth 0 -perm /222)" "write bits of $f"
	done
	refuses "$1" bash -c "echo x >name"
	refuses "$1" bash -c "echo x >$label"
	refuses "$1" bash -c "echo x >entries/$d/branch"
	refuses "$1" bash -c "echo x >>labels.tsv"
	refuses "$1" rm $label
	refuses "$1" rm labels/old
	refuses "$1" mv labels/old labels/new
	refuses "$1" mv name saved
	refuses "$1" ln -s ../entries/$a labels/new
	refuses "$1" ln -sfn entries/$a leaf
	refuses "$1" cp "$T/lines" side
	refuses "$1" sed -i s/old/new/ $label
	refuses "$1" truncate -s 0 $label
	refuses "$1" touch side
	is old "$(cat $label)" "the label"
}
has_mode() { [ "$(stat -c %a $label)" = "$1" ]; }
chmod 444 "$file"
await "the mode of what cannot be written" has_mode 444
closed "Permission denied"
chmod 644 "$file"
await "the mode of what can be written again" has_mode 644
echo open >$label
is open "$(cat $label)" "the label after the file can be written again"
echo old >$label
cp "$file" "$T/kept"

# --- a session of version 1 has no ids that a record can name ------------------------------

cd "$T/mnt/$V1"
file=$T/src/--home-ada-notes--/${V1##*/}.jsonl
cp "$file" "$T/kept"
entry=$(find entries -mindepth 1 -maxdepth 1 | sort | sed -n 1p)
for name in name labels.tsv "$entry/label" "$entry/branch"; do
	because "has version 1; open it once in pi" "not permitted" tee "$name" <<<x
done
because "has version 1; open it once in pi" "not permitted" ln -s "../$entry" labels/new
cd /
