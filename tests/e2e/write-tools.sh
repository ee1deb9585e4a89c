#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tools that write files, each in its own way, into the mount: the exact lines, exit status 0, no file left over.
. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/../lib/write.sh"
need_mount
need gawk busybox sponge patch rsync python3 node perl
write_mount
a=4726bdf3 c=436adaf5 d=2f83ebc0
label=entries/$a/label
# A command in the session's directory; it must succeed and print nothing.
try() { # COMMAND [RECORD...]
	local command=$1
	shift
	(cd "$s" && nothing "$command" bash -c "$command")
	wrote "$command" "$@"
}
new() { # TEXT: makes a file outside the mount
	printf '%s\n' "$1" >"$T/new"
}
try "echo start >$label" "label $a start"

# Renamed over
try "sed -i s/start/sed/ $label" "label $a sed"
try "sed -i s/start/sed/ $label"
try "sed -i 's/Forecast/Better forecast/' name" "name Better forecast command"
try "sed -i 's/^$d	[^	]*/$d	sed/' labels.tsv" "label $d sed"
try "sed -i.bak s/sed/again/ $label && grep -qx sed $label.bak && rm $label.bak" "label $a again"
try "perl -pi -e 's/again/perl/' $label" "label $a perl"
try "perl -pi.bak -e 's/perl/pearl/' $label && rm $label.bak" "label $a pearl"
try "perl -pi -e 's/^($d\t)[^\t]*/\${1}perl/; s/^($c\t)[^\t]*/\$1/' labels.tsv" "clear $c" "label $d perl"
try "echo 'forecast works' >entries/$c/label" "label $c forecast works"
try "gawk -i inplace '{ print \"gawk\" }' $label" "label $a gawk"
try "gawk -i inplace -F'\t' -v OFS='\t' '\$1 == \"$d\" { \$2 = \"gawk\" } 1' labels.tsv" "label $d gawk"
try "busybox sed -i s/.*/bbsed/ $label" "label $a bbsed"
new "busybox cp"
try "busybox cp $T/new $label" "label $a busybox cp"
try "echo busybox tee | busybox tee $label >/dev/null" "label $a busybox tee"
try "echo busybox dd | busybox dd of=$label 2>/dev/null" "label $a busybox dd"
new "busybox mv"
try "busybox mv $T/new $label" "clear $a" "label $a busybox mv"

# Copied and moved
new "cp"
try "cp $T/new $label" "label $a cp"
try "cp -p $T/new $label"
try "cp -a $T/new $label"
new "cp -p"
try "cp -p --preserve=all $T/new $label" "label $a cp -p"
new "cp -b"
try "cp -b $T/new $label && grep -qx -- 'cp -p' $label~ && rm $label~" "label $a cp -b"
new "cp -f"
try "cp -f --no-target-directory $T/new $label" "label $a cp -f"
# These remove the name first and create it again, which can append more than one line.
new "cp --remove-destination"
try "cp --remove-destination $T/new $label" "clear $a" "label $a cp --remove-destination"
new "install"
try "install -m 600 $T/new $label" "clear $a" "label $a install"
new "mv"
[ "$(stat -c %d "$T")" != "$(stat -c %d "$s")" ] || die "the temporary directory is in the mount"
try "mv $T/new $label" "clear $a" "label $a mv"
try "cp labels.tsv $T/table && sed -i 's/^$d	[^	]*/$d	table/' $T/table && mv $T/table labels.tsv" "label $d table"
new "cp to a new name"
try "rm entries/$c/label; cp $T/new entries/$c/label" "clear $c" "label $c cp to a new name"
try "rm entries/$c/label; echo 'forecast works' >$T/new; install $T/new entries/$c/label" "clear $c" "label $c forecast works"
try "echo aside >entries/$a/aside && mv entries/$a/aside $label" "label $a aside"
try "echo aside >entries/$a/aside && mv -n entries/$a/aside name 2>/dev/null; mv -f entries/$a/aside name" "name aside"
try "mv name saved && mv saved name"
try "mv name saved && echo anew >name && rm saved" "name anew"
try "ln -s /nowhere/ada@host.123 .#name && readlink .#name >/dev/null && rm .#name"
try "for i in 1 2 3 4 5 6 7 8 9 10; do echo \$i >entries/$a/4913 && rm entries/$a/4913; done"

# Written in place
try "echo tee | tee $label >/dev/null" "label $a tee"
try "printf 'a long one, ' | tee -a $T/none | cat - <(echo piped) | tee $label >/dev/null; rm $T/none" "label $a a long one, piped"
try "echo dd | dd of=$label status=none" "label $a dd"
try "echo dd by byte | dd of=$label bs=1 status=none" "label $a dd by byte"
try "echo 'dd synced' | dd of=$label conv=fsync status=none" "label $a dd synced"
try "printf 'D' | dd of=$label conv=notrunc status=none" "label $a Dd synced"
try "sed s/Dd/sponge/ $label | sponge $label" "label $a sponge synced"
try "grep -v '^#' labels.tsv | sed 's/^$d	[^	]*/$d	sponge/' | sponge labels.tsv" "label $d sponge"
try "echo 'to be cut' >$label; truncate -s 5 $label" "label $a to be cut" "label $a to be"
try "truncate -s 0 $label" "clear $a"
try "echo again >$label; : >$label" "label $a again" "clear $a"
for shell in bash dash "busybox sh"; do try "$shell -c 'echo again >$label; : >$label; echo again >$label; >$label'" "label $a again" "clear $a" "label $a again" "clear $a"; done
try "echo again >$label; cp /dev/null $label" "label $a again" "clear $a"
try "echo again >$label; tee $label </dev/null" "label $a again" "clear $a"
try "echo again >$label; truncate -s 2 $label" "label $a again" "label $a ag"
try ": >name" "name "
try "echo again >name; truncate -s 3 name" "name again" "name aga"
try ": >$label; truncate -s 0 entries/$d/label name" "clear $a" "clear $d" "name "
try "echo aga >name" "name aga"
try "touch $label name labels.tsv entries/$a/branch; touch -d 2020-01-01 name"
try "chmod 600 name && chown \$(id -u) name && chmod u+x entries/$c/label"
try "printf 'one\n' >$label; sort -o $label $label" "label $a one"
try "sort -r -o labels.tsv labels.tsv"
try "printf '%s\n' '--- label' '+++ label' '@@ -1 +1 @@' '-one' '+patched' >$T/diff; patch -s $label $T/diff" "label $a patched"
try "(echo first) >$label; (printf 'se'; printf 'cond\n') >$label" "label $a first" "label $a second"
try "(/bin/echo -n 'two pro'; /bin/echo grams) >$label" "label $a two programs"
try "exec 3>$label; echo held >&3; exec 3>&-" "label $a held"
try "printf 'lines end in CR LF\r\n' >$label" "label $a lines end in CR LF"

mkdir "$T/from"
echo rsync >"$T/from/label"
try "rsync $T/from/label $label" "label $a rsync"
try "rsync -a $T/from/label $label"
echo "rsync -a" >"$T/from/label"
try "rsync -a $T/from/ entries/$a/ --exclude=none --no-dirs --dirs --omit-dir-times --no-perms" "label $a rsync -a"
echo "inplace, more" >"$T/from/label"
try "rsync --inplace $T/from/label $label" "label $a inplace, more"
echo "inplace" >"$T/from/label"
try "rsync --inplace $T/from/label $label" "label $a inplace"
try "rsync -a $T/mnt/$FORECAST/entries/$a/label $T/from/ && rsync -a $T/from/label $label"
# Space is not reserved, but posix_fallocate(3) writes the bytes when fallocate(2) is not supported.
try "python3 -c 'import os
f = os.open(\"new.tmp\", os.O_RDWR | os.O_CREAT)
os.posix_fallocate(f, 0, 9000)
assert os.pread(f, 9001, 0) == bytes(9000)
os.ftruncate(f, 0)
os.write(f, b\"preallocated\")
os.rename(\"new.tmp\", \"$label\")'" "label $a preallocated"
ln -s "../entries/$c" "$T/from/by rsync"
try "rsync -l '$T/from/by rsync' labels/" "label $c by rsync"
try "ln -sfn ../entries/$a '$T/from/by rsync'; rsync -l '$T/from/by rsync' labels/" "clear $c" "label $a by rsync"
try "echo 'forecast works' >entries/$c/label" "label $c forecast works"

try "python3 -c 'open(\"$label\", \"w\").write(\"python\")'" "label $a python"
try "python3 -c 'import pathlib; pathlib.Path(\"$label\").write_text(\"pathlib\n\")'" "label $a pathlib"
try "python3 -c 'f = open(\"$label\", \"r+\"); t = f.read(); f.seek(0); f.write(t.upper()); f.truncate(); f.close()'" "label $a PATHLIB"
try "python3 -c 'f = open(\"$label\", \"w\", buffering=1); f.write(\"by \"); f.flush(); f.write(\"pieces\n\"); f.close()'" "label $a by pieces"
try "python3 -c '
import os, tempfile
f = tempfile.NamedTemporaryFile(\"w\", dir=\"entries/$a\", delete=False)
f.write(\"replaced\n\"); f.flush(); os.fsync(f.fileno()); f.close()
os.replace(f.name, \"$label\")'" "label $a replaced"
try "python3 -c '
import os
f = open(\"entries/$a/held\", \"w\"); f.write(\"renamed while open\n\"); f.flush()
os.rename(\"entries/$a/held\", \"$label\"); f.close()'" "label $a renamed while open"
echo "copied by python" >"$T/new"
try "python3 -c 'import shutil; shutil.copyfile(\"$T/new\", \"$label\"); shutil.copy2(\"$T/new\", \"$label\")'" "label $a copied by python"
try "python3 -c '
import mmap, os
f = os.open(\"$label\", os.O_RDWR)
os.pwrite(f, b\"Copied\", 0); os.fsync(f); os.fsync(f); os.close(f)'" "label $a Copied by python"

js() { # CODE [RECORD...]
	local code=$1
	shift
	printf '%s\n' "const fs = require('fs'), p = fs.promises, l = '$label', dir = 'entries/$a/'; (async () => {" "$code" "})()" >"$T/code.cjs"
	try "node $T/code.cjs" "$@"
}
js "fs.writeFileSync(l, 'node')" "label $a node"
js "await p.writeFile(l, 'promised\n')" "label $a promised"
js "fs.appendFileSync(l, '')"
js "fs.writeFileSync('$T/new', 'copied by node\n'); fs.copyFileSync('$T/new', l)" "label $a copied by node"
js "fs.writeFileSync('$T/new', 'copied again'); await p.copyFile('$T/new', l)" "label $a copied again"
js "fs.writeFileSync(dir + 'label.vsctmp', 'renamed by node'); fs.renameSync(dir + 'label.vsctmp', l)" "label $a renamed by node"
js "const f = await p.open(l, 'w'); await f.write('opened '); await f.write('by node'); await f.datasync(); await f.close()" "label $a opened by node"
js "const w = fs.createWriteStream(l); w.write('a '); w.end('stream'); await new Promise(r => w.on('close', r))" "label $a a stream"
js "await p.rm(l); await p.writeFile(l, 'after rm')" "clear $a" "label $a after rm"
js "fs.symlinkSync('../entries/$d', 'labels/by node'); fs.renameSync('labels/by node', 'labels/node')" "label $d by node" "label $d node"
