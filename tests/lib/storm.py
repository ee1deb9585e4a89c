#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many writers of one session at once; checks its contents afterwards.

storm.py make FILE                     a session of 200 messages with the ids that `ids` prints
storm.py ids WRITER                    the ids that writer 0 to 3 sets labels on
storm.py write WRITER SESSION N STEPS  N labels through the mount, each with a unique text
storm.py append FILE N PACE STEPS      N messages as pi appends them: its leaf in memory, one write a line
storm.py lock FILE N                   takes the lock N times; no label must be appended meanwhile
storm.py judge FILE SESSION N M        checks for N labels of each writer and M messages

STEPS is a directory with an empty file for each writer. Each writes in 200 steps and adds a byte to its file after each
one; then it waits for writers that are more than one step late. So they overlap, however busy the machine is.

The text of a label is WRITER-NUMBER, that of an appended message "message NUMBER".
"""
import fcntl
import json
import os
import random
import sys
import time

from session_lines import check, entry_id, header, message, read
from waiting import await_

WRITERS, EACH = 4, 50
STEPS = 200
KINDS = ["echo", "python", "rename", "links"]  # 0 is a shell, see write-storm.sh


def ids(writer):
    return [entry_id(i) for i in range(writer * EACH, (writer + 1) * EACH)]


def said(text):
    return [{"type": "text", "text": text}]


def step(steps, own, k, n):
    """The kth of n steps is done."""
    if (k + 1) % (n // STEPS):
        return
    with open(f"{steps}/{own}", "ab") as f:
        f.write(b".")
    done = os.stat(f"{steps}/{own}").st_size
    await_(lambda: min(f.stat().st_size for f in os.scandir(steps)) >= done - 1, "the others", 0.001)


def make(file):
    with open(file, "w", encoding="utf-8") as f:
        f.write(header("storm"))
        for i in range(WRITERS * EACH):
            f.write(message(entry_id(i), entry_id(i - 1) if i else None, said(f"before {i}"), "assistant" if i % 2 else "user"))


def write(writer, session, n, steps):
    own, last = ids(writer), {}
    for k in range(n):
        i, text = own[k % EACH], f"{writer}-{k}"
        label = f"{session}/entries/{i}/label"
        if KINDS[writer] == "python":
            with open(label, "w", encoding="utf-8") as f:
                f.write(text + "\n")
        elif KINDS[writer] == "rename":
            side = f"{session}/entries/{i}/side"
            with open(side, "w", encoding="utf-8") as f:
                f.write(text)
            os.rename(side, label)
        elif i in last and k % 2:
            os.rename(f"{session}/labels/{last[i]}", f"{session}/labels/{text}")
        else:
            os.symlink(f"../entries/{i}", f"{session}/labels/{text}")
        last[i] = text
        step(steps, writer, k, n)


def append(file, n, pace, steps):
    leaf = entry_id(WRITERS * EACH - 1)
    rng = random.Random(pace)
    for k in range(n):
        own = f"{0xB0000000 + k:08x}"
        fd = os.open(file, os.O_WRONLY | os.O_APPEND)
        os.write(fd, message(own, leaf, said(f"message {k}")).encode())
        os.close(fd)
        leaf = own
        if rng.random() < 0.2:
            time.sleep(rng.random() * pace / 100)
        step(steps, "pi", k, n)


def lock(file, n):
    """Only pi writes without the lock. The pauses are long enough for several writes; a busy machine does not make this fail."""
    for i in range(n):
        with open(file, "rb") as f:
            fcntl.flock(f, fcntl.LOCK_SH if i % 2 else fcntl.LOCK_EX)
            f.seek(0, os.SEEK_END)
            time.sleep(0.03)
            check(b'"type":"label"' not in f.read(), "a label was appended while another program held the lock")
        time.sleep(0.002)  # the others' turn


def read_lines(file):
    data = read(file)
    check(data.endswith(b"\n"), "the last line is not complete")
    entries, blank = [], 0
    for number, line in enumerate(data[:-1].split(b"\n"), 1):
        if not line:
            blank += 1
            continue
        try:
            e = json.loads(line)
        except ValueError:
            sys.exit(f"FAILED: line {number} does not parse: {line!r}")
        entries.append(e)
    # A line of pi that stays half-written for long, while its process sleeps, seems torn: an empty line follows it.
    check(blank < 5, f"{blank} lines are empty")
    return data, entries[1:]


def judge_labels(entries, n):
    """Checks that each label exists, those of one writer in their order."""
    seen, now = {}, {}
    for e in entries:
        if e["type"] != "label":
            continue
        check(e["targetId"] in ids(int(e["label"][0])), f"{e} is on an entry of another writer")
        seen.setdefault(e["label"], e["targetId"])
        now[e["targetId"]] = e["label"]
    expected = [f"{w}-{k}" for w in range(WRITERS) for k in range(n)]
    missing = [t for t in expected if t not in seen]
    check(not missing, f"{len(missing)} labels are lost, the first is {missing[:1]}")
    check(len(seen) == len(expected), "there are labels that no one wrote")
    for w in range(WRITERS):
        check([t for t in seen if t.startswith(f"{w}-")] == [f"{w}-{k}" for k in range(n)], f"the order of writer {w}")
    for k in range(n - EACH, n):
        for w in range(WRITERS):
            check(now[ids(w)[k % EACH]] == f"{w}-{k}", f"the last label of {ids(w)[k % EACH]}")
    return now


def judge_messages(entries, m):
    """Checks that all exist and form a chain, the first below the entry that pi found when it opened the file."""
    new = [e for e in entries if e["type"] == "message"][WRITERS * EACH :]
    texts = [e["message"]["content"][0]["text"] for e in new]
    check(texts == [f"message {k}" for k in range(m)], f"the appended messages ({len(texts)} of {m})")
    for above, e in zip(new, new[1:]):
        check(e["parentId"] == above["id"], f"the parent of {e}")


def judge_parents(entries):
    """Checks that the parent of every label is the line before it, or that a repetition has it. So whichever line is
    the last when pi reads the file, its branch has every message before it, except for the moment between a label that
    a message overtook and its repetition."""
    before, repeats, changes = {}, 0, 0
    newest_message = None  # in the file
    reached = {}  # id: the newest message on the way to the root
    overtaken = None  # the label whose branch lacks a message, until it is repeated
    written = set()
    kind = None
    for number, e in enumerate(entries, 2):
        changes += e["type"] != kind
        kind = e["type"]
        if e["id"] in before:  # pi knows only its own ids: one run in a thousand
            print(f"skipped: the id {e['id']} was made twice, by chance")
            sys.exit(77)
        before[e["id"]] = e
        parent = e["parentId"]
        check(parent is None or parent in before, f"line {number}: the parent {parent} is not above")
        if kind == "message":
            newest_message = reached[e["id"]] = e["id"]
            continue
        reached[e["id"]] = reached[parent]
        repeats += e["label"] in written
        written.add(e["label"])
        # A writer keeps the file locked until it is right: only pi can come in between.
        check(overtaken in (None, e["label"]), f"line {number}: {e['label']} before the repetition of {overtaken}")
        overtaken = e["label"] if reached[e["id"]] != newest_message else None
    check(reached[entries[-1]["id"]] == newest_message, "the branch of the last line lacks messages")
    check(not overtaken, f"the label {overtaken} is on a branch without the message before it")
    return repeats, changes


def judge_mount(session, data, now):
    check(read(f"{session}/session.jsonl") == data, "session.jsonl is not the file")
    for i, text in now.items():
        check(read(f"{session}/entries/{i}/label") == f"{text}\n".encode(), f"entries/{i}/label")
        check(os.readlink(f"{session}/labels/{text}") == f"../entries/{i}", f"labels/{text}")
    check(len(os.listdir(f"{session}/labels")) == len(now), "labels/ has names too many")
    check(not os.path.exists(f"{session}/problems.txt"), "there is a problems.txt")


def judge(file, session, n, m):
    data, entries = read_lines(file)
    now = judge_labels(entries, n)
    judge_messages(entries, m)
    repeats, changes = judge_parents(entries)
    judge_mount(session, data, now)
    # Otherwise the test shows nothing.
    check(changes > m // 20, f"the writers hardly met: {changes} changes between labels and messages")
    print(f"{WRITERS * n} labels, {m} messages; {changes} changes between them, {repeats} labels written once more")


if __name__ == "__main__":
    command, args = sys.argv[1], sys.argv[2:]
    if command == "make":
        make(args[0])
    elif command == "ids":
        print("\n".join(ids(int(args[0]))))
    elif command == "write":
        write(int(args[0]), args[1], int(args[2]), args[3])
    elif command == "append":
        append(args[0], int(args[1]), float(args[2]), args[3])
    elif command == "lock":
        lock(args[0], int(args[1]))
    else:
        judge(args[0], args[1], int(args[2]), int(args[3]))
