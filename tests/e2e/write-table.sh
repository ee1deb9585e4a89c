#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every row of the table in sessionfs(5), "WRITING", by three shells: the exact lines, and every view at once.
. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/../lib/write.sh"
need_mount
need busybox dash
write_mount
wrote "mounting"
a=4726bdf3 b=21adfd5d c=436adaf5 d=2f83ebc0

# label, name, branch, labels.tsv by redirection
n=0
for shell in bash dash "busybox sh"; do
	read -ra sh <<<"$shell"
	n=$((n + 1))
	try() { # COMMAND [RECORD...]: in the session's directory
		local command=$1
		shift
		(cd "$s" && nothing "$shell: $command" "${sh[@]}" -c "$command")
		wrote "$shell: $command" "$@"
	}
	try "echo 'auth works $n' >entries/$a/label" "label $a auth works $n"
	try "echo 'auth works $n' >entries/$a/label"
	try "printf %s 'no newline $n' >entries/$a/label" "label $a no newline $n"
	try "echo >entries/$a/label" "clear $a"
	try "(echo one $n) >entries/$a/label" "label $a one $n"
	try "{ printf o; printf 'ne more $n\n'; } >entries/$a/label" "label $a one more $n"
	(cd "$s" && nothing "empty" "${sh[@]}" -c ": >entries/$a/label")
	wrote "$shell: an empty label" "clear $a"
	(cd "$s" && nothing "touch" "${sh[@]}" -c ": >>entries/$a/label; touch entries/$a/label; touch entries/$c/label; : >>name")
	wrote "$shell: opened, touched, not written"

	try "echo 'Refactor auth $n' >name" "name Refactor auth $n"
	try "echo 'Refactor auth $n' >name"
	try "rm name" "name "
	try "echo 'again $n' >name" "name again $n"
	(cd "$s" && "${sh[@]}" -c ": >name")
	wrote "$shell: an empty name" "name "

	try "echo 'Tried $n, failed' >entries/$a/branch" "branch $a Tried $n, failed"
	try "echo 'Tried $n, failed' >entries/$a/branch"
	try "printf 'Line one\nline two $n\n' >entries/$c/branch" "branch $c Line one
line two $n"
	try "{ echo 'line three'; echo 'line four'; } >>entries/$c/branch" "branch $c Line one
line two $n
line three
line four"

	try "sed 's/^$d\t[^\t]*/$d\tfrom the table $n/' labels.tsv >/dev/null"
	try "t=\$(sed 's/^$d\t[^\t]*/$d\tfrom the table $n/; /^$c\t/d' labels.tsv); printf '%s\n' \"\$t\" >labels.tsv" \
		"label $d from the table $n" "clear $c"
	try "cat labels.tsv >$T/same; cat $T/same >labels.tsv"
	try "grep -v '^#' $T/same | tac >$T/tac; sed 's/\$/\r/' $T/tac >labels.tsv"
	try "printf '$a\ta\\\\tb\\\\\\\\c\n\n# %s\n' x | cat - $T/same >$T/dup; grep -v '^$a	[^a]' $T/dup | awk -F'\t' '/^#/ || !s[\$1]++' >labels.tsv" "label $a a	b\\c"
	try "echo 'forecast works' >entries/$c/label; rm entries/$a/label; printf 'output: JSON ✓' >entries/$d/label" \
		"label $c forecast works" "clear $a" "label $d output: JSON ✓"
	# opened for reading and writing, and for appending
	try "read x <entries/$c/label; echo \"\$x, really\" 1<>entries/$c/label" "label $c forecast works, really"
	try "printf 'F' 1<>entries/$c/label" "label $c Forecast works, really"
	try "echo 'forecast works' >entries/$c/label" "label $c forecast works"
done

# Links
in_s() { (cd "$s" && quiet "$@"); }
in_s ln -s ../entries/$a labels/auth-works
wrote "ln -s" "label $a auth-works"
in_s ln -s ../entries/$b/ "labels/with space"
wrote "ln -s with a slash" "label $b with space"
fails 1 "File exists" ln -sT ../entries/$d "$s/labels/with space"
fails 1 "not permitted" ln -s ../entries/$d "$s/labels/with space" # this would be created in entries/ID
wrote "ln -s to a name that is there"
is 17 "$("$python" -c 'import os, sys
try: os.symlink("../entries/'$b'", sys.argv[1])
except OSError as e: print(e.errno)' "$s/labels/auth-works")" "errno of symlink to a name that is there"
wrote "symlink to a name that is there"
in_s ln -sfn ../entries/$d labels/auth-works
wrote "GNU ln -sfn: two lines, one append" "clear $a" "label $d auth-works"
in_s ln -sfn ../entries/$d labels/auth-works
wrote "GNU ln -sfn to where it leads"
in_s ln -sfT "$s/entries/$a" labels/auth-works
wrote "GNU ln -sfT, an absolute target" "clear $d" "label $a auth-works"
in_s ln -srfn entries/$d labels/auth-works
wrote "GNU ln -srfn" "clear $a" "label $d auth-works"
in_s busybox ln -sfn ../entries/$a labels/auth-works
wrote "busybox ln -sfn" "clear $d" "label $a auth-works"
in_s busybox ln -s "$s/entries/$d" labels/absolute
wrote "busybox ln -s, an absolute target" "label $d absolute"
in_s mv labels/auth-works labels/auth-done
wrote "mv" "label $a auth-done"
in_s busybox mv labels/auth-done "labels/auth %25 done"
wrote "busybox mv" "label $a auth % done"
in_s mv -T "labels/auth %25 done" labels/absolute # without -T it would be moved into entries/ID
wrote "mv onto a label" "clear $d" "label $a absolute"
in_s mv labels/todo~c36a17af labels/later
wrote "mv of one of two with the same text" "label c36a17af later"
in_s mv -T labels/later labels/todo
wrote "mv to a text that another has" "clear c8aa6125" "label c36a17af todo"
in_s rm labels/absolute
wrote "rm" "clear $a"
in_s busybox rm "labels/with space"
wrote "busybox rm" "clear $b"
in_s "$python" -c "import os; os.symlink('../entries/$a', 'labels/.tmp'); os.replace('labels/.tmp', 'labels/todo')"
wrote "a link made aside and renamed" "clear c36a17af" "label $a todo"
in_s cp -a labels/todo labels/copy
wrote "cp -a of a link" "label $a copy"

# The leaf
in_s ln -sfn entries/$c leaf
wrote "GNU ln -sfn leaf" "branch $c "
in_s ln -sfn entries/$c leaf
wrote "a move to where an empty summary sits"
in_s ln -sfn "$(readlink "$s/leaf")" leaf
wrote "a move to where it is"
in_s busybox ln -sfn "$s/entries/c36a17af" leaf
wrote "busybox ln -sfn leaf, an absolute target" "branch c36a17af "
in_s rm leaf
in_s ln -s entries/$d/ leaf
wrote "rm leaf, ln -s" "branch $d "
in_s ln -srfn entries/$a leaf
wrote "GNU ln -srfn leaf" "branch $a "
in_s "$python" -c "import os; os.symlink('entries/$b', '.leaf.tmp'); os.replace('.leaf.tmp', 'leaf')"
wrote "a link made aside and renamed to leaf" "branch $b "
(cd "$s" && echo "Tried once more" >entries/$c/branch)
wrote "a branch with a text" "branch $c Tried once more"
is "Tried once more" "$(cat "$(readlink -f "$s/leaf")/text.md")" "the text of the new leaf"

# A mount that has read the file again shows the same tree, except values that depend on the time of reading, and
# refusals.
dump() { "$python" "$ROOT/tests/lib/tree.py" dump mount "$1/projects" | awk '!/^\t/ { skip = /\/errors \[/ } !skip'; }
mount_fs "$T/src" "$T/anew"
dump "$T/mnt" >"$T/mnt.txt"
dump "$T/anew" >"$T/anew.txt"
same "$T/mnt.txt" "$T/anew.txt" "the mount that was written to, and a new one"
umount_fs "$T/anew"
