#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pi appends to the file, or another program replaces it, while it is written through the mount.
. "$(dirname "$0")/../lib/lib.sh"
needs_watches
. "$(dirname "$0")/../lib/write.sh"
need_mount
write_mount
a=4726bdf3 c=436adaf5
label=entries/$a/label
cd "$s"

line() { # ID PARENT TEXT: as pi appends it
	printf '{"type":"message","id":"%s","parentId":"%s","timestamp":"2026-03-02T12:00:00.000Z","message":{"role":"user","content":"%s"}}' "$@"
}
newest() { tail -n 1 "$file" | sed 's/.*"id":"\([^"]*\)","parentId".*/\1/'; }

# A label makes its session the newest.
[ "$(readlink "$T/mnt/latest")" != "$FORECAST" ] || die "it is the newest session already"
echo newest >$label
is "$FORECAST ${FORECAST##*/}" "$(readlink "$T/mnt/latest" "$T/mnt/$WEATHER/.latest" | xargs)" "the newest sessions after a label"
wrote "a label of an older session" "label $a newest"

# In turns: each side's next line has the other's as its parent, without a pause between.
for i in 1 2 3 4 5; do
	said=$(line "9999000$i" "$(newest)" "message $i")
	printf '%s\n' "$said" >>"$file"
	echo "label $i" >$label
	wrote "a label right after a message" "raw $said" "label $a label $i"
	is "label $i" "$(cat $label)" "the label"
	said=$(line "9999001$i" "$(newest)" "answer $i")
	printf '%s\n' "$said" >>"$file"
	sed -i "s/^99990011	[^	]*/99990011	row $i/" labels.tsv
	echo "name $i" >name
	wrote "a table and a name after a message" "raw $said" "label 99990011 row $i" "name name $i"
done
# Lines appended between open and close are kept.
exec 3>$label
said=$(line 99990021 "$(newest)" "while it is open")
printf '%s\n' "$said" >>"$file"
echo "slow writer" >&3
exec 3>&-
wrote "a label whose file was open meanwhile" "raw $said" "label $a slow writer"
cp labels.tsv "$T/table"
said=$(line 99990022 "$(newest)" "while the table is edited")
printf '%s\n' "$said" >>"$file"
echo theirs >entries/99990022/label # which that table has no row for
sed "s/slow writer/from an old table/" "$T/table" >labels.tsv
wrote "a table from before the message" "raw $said" "label 99990022 theirs" "label $a from an old table"
# Before a mount that polls has seen the message.
mount_fs "$T/src" "$T/polls" -o poll=60
cat "$T/polls/$FORECAST/title" >"$T/out"
said=$(line 99990024 "$(newest)" "not seen yet")
printf '%s\n' "$said" >>"$file"
echo "of another mount" >"$T/polls/$FORECAST/$label"
wrote "a label after a message that was not seen yet" "raw $said" "label $a of another mount"
umount_fs "$T/polls"
# A branch records where it left from: the newest entry at that time.
said=$(line 99990023 "$(newest)" "and on")
printf '%s\n' "$said" >>"$file"
echo "Tried once more" >entries/$c/branch
wrote "a branch after a message" "raw $said" "branch $c Tried once more"

# A last line without its newline: whole, and torn.
said=$(line 99990031 "$(newest)" "no newline")
printf '%s' "$said" >>"$file"
cp "$file" "$T/kept"
echo "after a whole line" >$label
wrote "a label after a line without newline" "label $a after a whole line"
is 99990031 "$(tail -n 1 "$file" | sed 's/.*"parentId":"\([^"]*\)".*/\1/')" "the parent: the line without newline"
parent=$(newest)
printf '%s' "$(head -c 60 < <(line 99990032 "$parent" "torn"))" >>"$file"
cp "$file" "$T/kept"
echo "after a torn line" >$label
wrote "a label after a torn line" "label $a after a torn line"
is "$parent" "$(tail -n 1 "$file" | sed 's/.*"parentId":"\([^"]*\)".*/\1/')" "the parent: the entry before the torn line"
[ -s problems.txt ] || die "the torn line is no problem"

# Both at once: neither loses data, and each line is written whole.
cp "$file" "$T/before"
"$python" - "$file" "$s" <<'END' || die "messages and labels at once"
import json, os, subprocess, sys

file, session = sys.argv[1:]
with open(file, "rb") as f:
    old = f.read()
newest = json.loads(old.split(b"\n")[-2])["id"]
pi = subprocess.Popen([sys.executable, "-I", "-c", """
import os, sys, time
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
parent = sys.argv[2]
for i in range(400):
    own = f"77{i:06x}"
    os.write(fd, ('{"type":"message","id":"%s","parentId":"%s","timestamp":"2026-03-02T13:00:00.000Z",'
                  '"message":{"role":"user","content":"%d"}}\\n' % (own, parent, i)).encode())
    parent = own
    time.sleep(0.001)
""", file, newest])
n = 0
while pi.poll() is None:
    n += 1
    with open(f"{session}/entries/4726bdf3/label", "w") as f:
        f.write(f"label {n}\n")
    with open(f"{session}/entries/4726bdf3/label") as f:
        assert f.read() == f"label {n}\n", n
assert pi.returncode == 0
with open(file, "rb") as f:
    new = f.read()
assert new.startswith(old)
parents, order, texts, labels, right, messages = {}, [newest], {}, [], set(), 0
for line in new[len(old):].split(b"\n")[:-1]:
    e = json.loads(line)
    assert e["id"] not in order, e
    assert e["parentId"] in order, e
    if e["type"] == "label":
        labels.append(int(e["label"].split()[1]))
        # The parent is the newest entry, except for repeated labels and those that came too late.
        texts[e["id"]] = e["label"]
        if e["parentId"] == next(i for i in reversed(order) if texts.get(i) != e["label"]):
            right.add(labels[-1])
    else:
        messages += 1
    order.append(e["id"])
    parents[e["id"]] = e["parentId"]
assert messages == 400, messages
assert sorted(set(labels)) == list(range(1, n + 1)), "labels are lost"
assert labels == sorted(labels), "labels out of order"
wrong = {label: labels.count(label) for label in set(labels) - right}
assert not wrong, f"without the right parent, and how often written: {wrong}"
i, on_path = order[-1], 0
while i in parents:
    on_path += i not in texts
    i = parents[i]
assert on_path == 400, f"{on_path} messages on the branch"
assert n >= 20, n
END
cp "$file" "$T/kept"
wrote "after messages and labels at once"

# While another program holds the lock, nothing is written.
python3 "$ROOT/tests/lib/storm.py" lock "$file" 50 &
# In a process without children: a signal would interrupt a close(2), whose error a shell does not check.
n=$(bash -c 'while kill -0 "$1" 2>/dev/null; do echo "label $((++n)) beside the lock" >"$2"; done; echo "$n"' - $! $label)
wait $! || die "a write without the lock"
is "$n" "$(grep -c '"label":"label [0-9]* beside the lock"}$' "$file")" "labels beside the lock"
cp "$file" "$T/kept"

# A signal ends an fsync that waits for the lock, and the program repeats it.
"$python" - "$file" $label <<'END' || die "an fsync that was interrupted"
import fcntl, os, signal, sys

with open(sys.argv[1]) as session, open(sys.argv[2], "w") as label:
    fcntl.flock(session, fcntl.LOCK_EX)
    left = [3]

    def alarm(*_):
        left[0] -= 1
        if left[0] == 0:
            fcntl.flock(session, fcntl.LOCK_UN)

    signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    label.write("after a signal")
    label.flush()
    os.fsync(label.fileno())
    assert left[0] <= 0, left
    signal.setitimer(signal.ITIMER_REAL, 0)
END
wrote "a label whose fsync was interrupted" "label $a after a signal"

# Another program replaces the open file.
echo "before the replacement" >$label
[ "$(cat $label)" = "before the replacement" ] || die "the label before the replacement"
exec 3>$label
grep -v '"type":"message","id":"77' "$file" | sed 2d >"$T/other" # entries below these become roots, and have other numbers
mv "$T/other" "$file"
cp "$file" "$T/kept"
echo "by its name" >&3 || die "a write through a handle of the old file"
exec 3>&-
head -n -1 "$file" | cmp - "$T/kept" || die "the new file lost something"
matches "\"targetId\":\"$a\",\"label\":\"by its name\"" "$(tail -n 1 "$file")" "the last line, to the entry of that name"
await "the new file is there" test -e "$s/title"
cd "$T"
cd "$s"
cp "$file" "$T/kept"
echo "after the replacement" >$label
wrote "a label after the replacement, on no branch" "label $a after the replacement"
[ ! -L branches/current ] || die "metadata without a parent are on a branch"
echo "Begun again" >entries/$c/branch
wrote "a branch after the replacement" "branch $c Begun again"
[ -L branches/current ] || die "the new branch is not the current one"

# Removed: an error, and no file is created.
exec 3>$label
rm "$file"
(echo "into nowhere" >&3) 2>/dev/null && die "a write to a session that is gone succeeded"
exec 3>&-
[ ! -e "$file" ] || die "a session file was created"
