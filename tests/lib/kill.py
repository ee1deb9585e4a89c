#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills the filesystem in the middle of writes, many times, and checks the files.

kill.py PROGRAM SOURCE MOUNT ROUNDS SEED

In each round the filesystem is mounted, writers set labels, names, branches, tables and contexts through it, and it gets a SIGKILL at
a random moment. Then every session file must consist of whole lines, with the old bytes unchanged before them, and hold
every acknowledged value: those whose close(2), rename(2) or command reported success.
"""
import collections
import errno
import json
import os
import random
import subprocess
import sys
import threading
import time

from session_lines import beginning, check, entry_id, read
from waiting import await_, is_mounted

ENTRIES = 40
PAGE = os.sysconf("SC_PAGE_SIZE")
LONGEST = 0.25  # seconds from the first write to the kill
GONE = {errno.ENOTCONN, errno.ECONNABORTED}  # the error of a writer when the filesystem is killed

KINDS = ["label", "name", "branch", "link", "tee", "table", "context"]


class Session:
    """A file of the source, as of the last check."""

    def __init__(self, source, name):
        self.file = f"{source}/--kill--/{name}.jsonl"
        self.path = f"projects/kill/{name}"
        self.data, self.torn = b"", False
        self.values = set()  # all that was ever written
        with open(self.file, "w", encoding="utf-8") as f:
            f.write(beginning(name, ENTRIES))

    def look(self):
        data = read(self.file)
        check(data.startswith(self.data), f"{self.file}: what was there has changed")
        new = data[len(self.data) :]
        if self.torn and new:
            check(new.startswith(b"\n"), f"{self.file}: goes on in a torn line: {new[:200]!r}")
            new = new[1:]
        *lines, tail = new.split(b"\n")
        # A kernel copies a write page by page, and checks for SIGKILL in between: nothing else can cut it.
        cut = len(data) % PAGE == 0
        check(not tail or cut, f"{self.file}: the last line is torn: {data[-200:]!r}")
        rows, value = {}, None
        for line in lines:
            try:
                e = json.loads(line)
            except ValueError:
                check(False, f"{self.file}: no whole line: {line!r}")
            value = e.get("label") or e.get("name") or e.get("summary") or (e.get("replacement") or {}).get("content")
            self.values.add(value)
            if value and value.startswith("table"):
                rows[value] = rows.get(value, 0) + 1
        if cut:
            rows.pop(value, None)
        check(set(rows.values()) <= {3}, f"{self.file}: a table was saved in part: {rows}")
        self.torn = bool(tail) if new else self.torn
        self.data = data


class Writer(threading.Thread):
    """Writes until the filesystem is gone; `acknowledged` has the writes that succeeded before that."""

    def __init__(self, name, session, mount, number):
        super().__init__(daemon=True)
        self.kind, self.session, self.number = name, session, number
        self.dir = f"{mount}/{session.path}"
        self.acknowledged = []
        self.fault = None

    def run(self):
        try:
            for k in range(1000000):
                value = f"{self.kind} {self.number} {k}"
                getattr(self, self.kind)(value, k)
                self.acknowledged.append(value)
        except (OSError, subprocess.CalledProcessError) as e:
            self.fault = e

    def gone(self):
        if isinstance(self.fault, subprocess.CalledProcessError):
            return any(os.strerror(e).encode() in self.fault.stderr for e in GONE)
        return isinstance(self.fault, OSError) and self.fault.errno in GONE

    @staticmethod
    def put(path, text):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            os.write(fd, text.encode())
        except OSError:
            os.close(fd)
            raise
        os.close(fd)

    def label(self, value, k):
        self.put(f"{self.dir}/entries/{entry_id(k % 10)}/label", value + "\n")

    def name(self, value, k):
        self.put(f"{self.dir}/name", value + "\n")

    def branch(self, value, k):
        self.put(f"{self.dir}/entries/{entry_id(10 + k % 10)}/branch", value + "\n")

    def link(self, value, k):
        os.symlink(f"../entries/{entry_id(20 + k % 10)}", f"{self.dir}/labels/{value}")

    def tee(self, value, k):
        label = f"{self.dir}/entries/{entry_id(30 + k % 10)}/label"
        run = subprocess.run(["tee", label], input=value.encode(), capture_output=True, check=True)
        check(run.stdout == value.encode(), "tee")

    def context(self, value, k):
        self.put(f"{self.dir}/entries/{entry_id(k % 10)}/context.json", json.dumps(value) + "\n")

    def table(self, value, k):
        """As an editor saves: the whole file, written aside, and renamed over the old one. Three rows change."""
        with open(f"{self.dir}/labels.tsv", encoding="utf-8") as f:
            rows = [row.split("\t") for row in f.read().split("\n")[:-1]]
        changed = {entry_id(k % ENTRIES), entry_id((k + 1) % ENTRIES), entry_id((k + 2) % ENTRIES)}
        for row in rows:
            if row[0] in changed:
                row[1] = value
        text = "".join("\t".join(row) + "\n" for row in rows)
        if k % 2:
            self.put(f"{self.dir}/labels.tsv", text)
        else:
            self.put(f"{self.dir}/.labels.tmp", text)
            os.rename(f"{self.dir}/.labels.tmp", f"{self.dir}/labels.tsv")


def start(program, source, mount):
    fs = subprocess.Popen([program, "-f", source, mount])
    await_(lambda: is_mounted(mount) or fs.poll() is not None, "the mount", 0.002)
    check(fs.poll() is None, f"sessionfs ended with {fs.returncode} instead of mounting")
    return fs


def unmount(mount):
    lazily = ["umount", "-l", mount] if os.geteuid() == 0 else ["fusermount3", "-uz", mount]
    subprocess.run(lazily, check=True)


def is_shown(mount, session):
    """Returns whether session.jsonl equals the file. A torn line counts as being written until it has rested for a
    second."""
    while True:
        with open(f"{mount}/{session.path}/session.jsonl", "rb") as f:
            data = f.read()
        if data == session.data or not session.torn:
            return data == session.data
        check(data == session.data[: session.data.rindex(b"\n") + 1], f"{session.path}/session.jsonl: {data[-200:]!r}")
        time.sleep(0.1)


def one_round(program, source, mount, sessions, number, rng):
    fs = start(program, source, mount)
    for s in sessions:
        check(is_shown(mount, s), f"round {number}: {s.path}/session.jsonl is not the file")
    first, second = sessions
    writers = [Writer(kind, second if kind == "table" else first, mount, number) for kind in KINDS]
    for w in writers:
        w.start()
    # Some rounds end before a write is acknowledged, others do not, however busy the machine is.
    await_(lambda: not any(w.is_alive() and len(w.acknowledged) < number % 4 for w in writers), "what is acknowledged", 0.001)
    time.sleep(rng.random() * LONGEST)
    fs.kill()
    check(fs.wait() == -9, f"round {number}: sessionfs had ended before, with {fs.returncode}")
    for w in writers:
        w.join()
        check(w.gone(), f"round {number}: a writer of {w.kind} ended with {w.fault!r}")
    unmount(mount)
    for s in sessions:
        s.look()
    for w in writers:
        lost = [v for v in w.acknowledged if v not in w.session.values]
        check(not lost, f"round {number}: acknowledged, but not in the file: {lost}")
    return collections.Counter({w.kind: len(w.acknowledged) for w in writers})


def main(program, source, mount, rounds, seed):
    rng = random.Random(seed)
    acknowledged, sessions = collections.Counter(), []
    for number in range(rounds):
        if number % 10 == 0:  # otherwise more and more of the time goes into reading long files
            sessions = [Session(source, f"s{number}-{k}") for k in range(2)]
            for s in sessions:
                s.look()
        acknowledged += one_round(program, source, mount, sessions, number, rng)
    for kind in KINDS:
        check(acknowledged[kind] > rounds, f"only {acknowledged[kind]} writes of {kind} in {rounds} rounds")
    print(f"killed {rounds} times; acknowledged and there: {dict(acknowledged)}")
    print(f"figure kills while programs write; acknowledged writes, all of them there: {rounds}; {sum(acknowledged.values())}")


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5]))
