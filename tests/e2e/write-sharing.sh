#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Processes that share an open file write one text: it becomes one record when the last of them closes it, before the
# shell continues.
. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/../lib/write.sh"
need_mount
need dash
[ -r "/proc/$$/task/$$/children" ] && grep -q ^ino: /proc/self/fdinfo/0 || skip "/proc does not show open files here"
write_mount
c=436adaf5
export f=$s/entries/$c/branch n=0
one() { # TEXT COMMAND...: it appends one summary; @ is a number in both
	local text=$1
	shift
	n=$((n + 1))
	nothing "$*" "$@"
	wrote "$*" "branch $c ${text//@/$n}"
}
export T
# shellcheck disable=SC2016
for shell in bash dash; do
	read -ra sh <<<"$shell"
	one $'a\nb@' "${sh[@]}" -c '(echo a; sleep 0; echo b$n) >$f'
	one $'a\nb@' "${sh[@]}" -c '(/bin/echo a; /bin/echo b$n) >$f'
	one $'a\nx\nb@' "${sh[@]}" -c '{ /bin/echo a; echo x; /bin/echo b$n; } >$f'
	one $'a\nb@' "${sh[@]}" -c 'exec 3>$f; echo a >&3; /bin/echo b$n >&3; exec 3>&-'
	one $'a\nb@' "${sh[@]}" -c '(echo a; sleep 0; echo b$n) >$f & wait'
	one $'a\nb@' "${sh[@]}" -c '{ echo a; (until [ -e $T/closed ]; do sleep 0.01; done; echo b$n) & } >$f; : >$T/closed; wait; rm $T/closed'
	one $'a\nb@' "${sh[@]}" -c 'for i in a b$n; do echo $i; sleep 0; done >$f'
done
py() { # TEXT CODE
	one "$1" "$python" -c "import os, subprocess, sys
n, path = os.environ['n'], os.environ['f']
f = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CREAT)
$2"
}
py "parent child@" 'os.write(f, b"parent ")
p = subprocess.Popen(["sh", "-c", "read closed; echo child$n"], stdin=subprocess.PIPE, stdout=f)
os.close(f)
p.communicate(b"closed\n")'
py "child@ parent" 'if os.fork() == 0:
    os.write(f, f"child{n} ".encode())
    os._exit(0)
os.wait()
os.write(f, b"parent")
os.close(f)'
py "one two@" 'g = os.dup(f)
os.write(f, b"one ")
os.close(f)
os.write(g, f"two{n}".encode())
os.close(g)'
# A process that exits while others still write does not close it.
py "one@ two" 'os.set_inheritable(f, True)
r, w = os.pipe()
if os.fork() == 0:
    os.close(w)
    os.read(r, 1)
    os.write(f, b" two")
    os._exit(0)
os.write(f, f"one{n}".encode())
os.close(f)
assert not os.path.exists(path) or n not in open(path).read()
os.close(w)
os.wait()'
# Truncating is writing: the last close clears.
label=$s/entries/$c/label
cleared() { # COMMAND...: clears the label when it ends, not before
	echo "label" >"$label"
	wrote "a label" "label $c label"
	nothing "$*" "$@"
	wrote "$*" "clear $c"
}
kept() { printf '[ "$(cat %q)" = label ] || echo "cleared too early"' "$label"; }
for shell in bash dash "busybox sh"; do
	read -ra sh <<<"$shell"
	cleared "${sh[@]}" -c "exec 3>$label; exec 4>&3; exec 3>&-; $(kept); exec 4>&-"
	cleared "${sh[@]}" -c "(:; /bin/true) >$label"
	cleared "${sh[@]}" -c "{ $(kept) >&2; sleep 0 & wait; } >$label"
	cleared "${sh[@]}" -c "exec 3>$label; sh -c '$(kept); exec 3>&-'; $(kept); exec 3>&-"
done
cleared "$python" -c "import os, sys
path = sys.argv[1]
f = os.open(path, os.O_WRONLY)
os.ftruncate(f, 0)
g = os.dup(f)
os.close(f)
if os.fork() == 0:
    os.close(g)
    os._exit(0)
os.wait()
assert open(path).read() == 'label\\n'
os.close(g)
assert not os.path.exists(path)" "$label"
# A child that outlives its parent has the last descriptor.
cleared "$python" -c "import os, sys, time
path = sys.argv[1]
r, w = os.pipe()
if os.fork() == 0:
    f = os.open(path, os.O_WRONLY | os.O_TRUNC)
    os.set_inheritable(f, True)
    if os.fork() == 0:
        os.close(w)
        os.read(r, 1)
        assert open(path).read() == 'label\\n'
        os.close(f)
        assert not os.path.exists(path)
    os._exit(0)
os.wait()
os.close(w)
while os.path.exists(path):
    time.sleep(0.01)" "$label"
echo "label" >"$label"
wrote "a label" "label $c label"

# Two processes that each opened it write two texts.
(cd "$s" && "$python" -c "
f = open('entries/$c/label', 'w')
g = open('entries/$c/label', 'w')
f.write('first')
f.close()
g.write('second')
g.close()")
wrote "two who opened it themselves" "label $c first" "label $c second"
