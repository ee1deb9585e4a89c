#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads files through a mount while their session grows.

growing.py PROGRAM DIR

Properties:

* tail -f prints appended text once and whole; so does a continuing reader while others call stat all the time.
* Half a line is not shown until it is whole; in session.jsonl only after a second without changes.
* A view read in small pieces is a view of one moment.
* The bytes read from beginning to end equal the size, unless something was appended in between.
* An open file can still be read after its index and its text were evicted.
"""
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time

from session_lines import STAMP, check, entry_id, header, read
from waiting import await_

APPENDS = 200
VIEWS = ["context.md", "context.json", "tree.txt", "info.json", "labels.tsv", "transcript.md", "chat.md", "all.txt"]


class Session:
    """A session file, and the views of each of its states."""

    def __init__(self, program, root, name, first=2):
        self.program, self.root, self.name = program, root, name
        self.file = f"{root}/src/--grow--/{name}.jsonl"
        self.path = f"projects/grow/{name}"
        self.leaf, self.count, self.size = None, 0, 0
        with open(self.file, "w", encoding="utf-8") as f:
            f.write(header(name))
        for _ in range(first):
            self.append()

    def line(self, text=None):
        own = entry_id(self.count)
        message = {"role": "user", "content": text or f"message {self.count} " + "x" * (self.count % 50)}
        if self.count % 2:
            message.update(role="assistant", provider="p", model="m", usage={"input": 1, "output": self.count})
            message["content"] = [{"type": "text", "text": message["content"]}]
        entry = {"type": "message", "id": own, "parentId": self.leaf, "timestamp": STAMP}
        self.leaf, self.count = own, self.count + 1
        return json.dumps({**entry, "message": message}) + "\n"

    def write(self, text):
        with open(self.file, "ab", buffering=0) as f:
            f.write(text.encode())

    def append(self, text=None):
        self.write(self.line(text))

    def label(self, target, text):
        own = entry_id(self.count)
        entry = {"type": "label", "id": own, "parentId": self.leaf, "timestamp": STAMP}
        self.leaf, self.count = own, self.count + 1
        self.write(json.dumps({**entry, "targetId": target, "label": text}) + "\n")

    def truth(self, view):
        run = [self.program, "-S", f"{self.root}/src", "--cat", f"{self.path}/{view}"]
        return subprocess.run(run, check=True, stdout=subprocess.PIPE).stdout


class Growth(threading.Thread):
    """Appends until it is stopped."""

    def __init__(self, session, pause, text=None):
        super().__init__(daemon=True)
        self.session, self.pause, self.text, self.over = session, pause, text, threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()

    def run(self):
        while not self.over.wait(self.pause):
            self.session.append(self.text)


class Mount:
    def __init__(self, program, root, *options):
        self.root = f"{root}/mnt"
        os.makedirs(self.root, exist_ok=True)
        subprocess.run([program, *options, f"{root}/src", self.root], check=True)

    def __enter__(self):
        return self.root

    def __exit__(self, failure, *_):
        if failure:  # only the reason counts
            subprocess.run(["fusermount3", "-q", "-z", "-u", self.root], check=False)
            return
        await_(lambda: subprocess.run(["fusermount3", "-q", "-u", self.root], check=False).returncode == 0, "unmounting")


class Tail:
    def __init__(self, path, out):
        self.path, self.out = path, out
        self.file = open(out, "wb")
        self.process = subprocess.Popen(
            ["tail", "-c", "+1", "-f", "-s", "0.05", path], stdout=self.file, stderr=subprocess.DEVNULL
        )

    def text(self):
        return read(self.out)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.file.close()


# --- what is tested -------------------------------------------------------------------------


def tails(program, root, options):
    """Two readers that begin while the session is in use, two after it has rested, and one on a left branch."""
    session = Session(program, root, "tail" + "-".join(options))
    with Mount(program, root, *options) as mount:
        s = f"{mount}/{session.path}"
        branch = os.readlink(f"{s}/branches/current")
        old = session.truth(f"branches/{branch}/transcript.md")
        views = ["transcript.md", "chat.md", "all.txt", "session.jsonl"]
        running = {v: [Tail(f"{s}/{v}", f"{root}/live-{v}")] for v in views}
        left = Tail(f"{s}/branches/{branch}/transcript.md", f"{root}/left")
        await_(lambda: all(t[0].text() for t in running.values()) and left.text(), "what there was")
        for _ in range(APPENDS // 2):
            session.append()
        os.utime(session.file, (time.time() - 3600, time.time() - 3600))
        await_(lambda: os.stat(f"{s}/transcript.md").st_mtime < time.time() - 3000, "the time of the file at rest")
        for v in views:
            running[v].append(Tail(f"{s}/{v}", f"{root}/rested-{v}"))
        await_(lambda: all(t[1].text() for t in running.values()), "what there was at rest")
        for n in range(APPENDS // 2):
            session.append()
            if n % 10 == 0:
                time.sleep(0.05)
        for v, both in running.items():
            truth = session.truth(v)
            for t in both:
                what = f"tail -f of {v} ({os.path.basename(t.out)}, options {options})"
                await_(lambda t=t: len(t.text()) >= len(truth), f"{what}: {len(t.text())} of {len(truth)} bytes")
                judge(t.text(), truth, what)
        check(left.text() == old, "tail -f of a branch that is left printed what belongs to another")
        for t in [left, *(t for both in running.values() for t in both)]:
            t.end()


def read_on(path, over, out):
    fd, done = os.open(path, os.O_RDONLY), False
    with open(out, "wb") as f:
        while not done:
            done = over.is_set()  # then all later data can be read
            while got := os.read(fd, 1 << 16):
                f.write(got)


def ask(path, over):
    while not over.is_set():
        os.stat(path)


def crowd(program, root, options):
    """Two continuing readers and two that call stat all the time."""
    session = Session(program, root, "crowd" + "-".join(options))
    process, over = multiprocessing.get_context("fork").Process, multiprocessing.get_context("fork").Event()
    with Mount(program, root, *options) as mount:
        for view in "session.jsonl", "transcript.md":
            path, outs = f"{mount}/{session.path}/{view}", [f"{root}/crowd-{n}" for n in range(2)]
            all_ = [process(target=read_on, args=(path, over, out), daemon=True) for out in outs]
            all_ += [process(target=ask, args=(path, over), daemon=True) for _ in range(2)]
            over.clear()
            for p in all_:
                p.start()
            grown = session.count + 800
            with Growth(session, 0.002):
                await_(lambda: session.count >= grown, "a session that has grown")
            truth = session.truth(view)
            await_(lambda: os.stat(path).st_size == len(truth), f"the size of {view}")
            over.set()
            for p in all_:
                p.join()
            for out in outs:
                judge(read(out), truth, f"{view} read on, options {options}")


def judge(text, truth, what):
    """Read once to the end; the sums at the beginning can be those of another moment."""
    check(len(text) == len(truth), f"{what}: {len(text)} bytes instead of {len(truth)}")
    for n, (a, b) in enumerate(zip(text.split(b"\n"), truth.split(b"\n"))):
        sums = n < 20 and len(a) == len(b) and b":" in a and a.split(b":")[0] == b.split(b":")[0]
        check(a == b or sums, f"{what}: line {n + 1} is {a!r} instead of {b!r}")


def moved_tail(program, root):
    """Labels change printed text, the leaf moves to a shorter branch: new text arrives whole."""
    session = Session(program, root, "moved", 10)
    with Mount(program, root) as mount:
        s = f"{mount}/{session.path}"
        tail = Tail(f"{s}/transcript.md", f"{root}/moved.out")
        await_(lambda: b"message 9 " in tail.text(), "the beginning")
        before = tail.text()
        session.label("a0000003", "set while it is read")
        await_(lambda: b"a000000a" in tail.text()[len(before) :], "the label")
        session.append("after the label")
        await_(lambda: b"after the label\n" in tail.text(), "a message after the label")
        check(tail.text().startswith(before), "what was printed has changed")
        new = tail.text()[len(before) :]
        check(new.startswith(b"\n*label"), f"it does not go on with the label: {new!r}")
        check(new.count(b"after the label") == 1 and b"message" not in new, f"more than what is new: {new!r}")
        session.leaf = "a0000001"
        session.append("on a branch")
        await_(lambda: tail.text().endswith(b"on a branch\n"), "the shorter branch")
        # tail takes a truncated file for another one, and prints it.
        truth = session.truth("transcript.md")
        check(tail.text().endswith(truth), "the shorter branch is not printed as it is")
        tail.end()


def half_lines(program, root, options):
    session = Session(program, root, "half" + "-".join(options))
    with Mount(program, root, *options) as mount:
        s = f"{mount}/{session.path}"
        views = {v: read(f"{s}/{v}") for v in VIEWS}
        whole = read(f"{s}/session.jsonl")
        text = session.line()
        session.write(text[:60])
        end = os.stat(session.file).st_mtime_ns + 10**9
        shown = read(f"{s}/session.jsonl")
        if time.time_ns() < end:  # otherwise this machine was too busy to scan in time
            check(shown == whole, f"half a line is shown: {shown[len(whole):]!r}")
        await_(lambda: read(f"{s}/session.jsonl") == whole + text[:60].encode(), "the file as it is, after a second")
        check(os.stat(f"{s}/session.jsonl").st_size == len(whole) + 60, "its size")
        for v in VIEWS[:3]:
            check(read(f"{s}/{v}") == views[v], f"{v} shows half a line")
        check(not os.path.exists(f"{s}/entries/{session.leaf}"), "half a line is an entry")
        session.write(text[60:])
        await_(lambda: read(f"{s}/session.jsonl") == read(session.file), "the whole line")
        await_(lambda: read(f"{s}/transcript.md") == session.truth("transcript.md"), "the message")
        # A last line without its newline counts if it parses.
        text = session.line().rstrip("\n")
        session.write(text)
        await_(lambda: os.path.exists(f"{s}/entries/{session.leaf}"), "a line without newline")
        await_(lambda: read(f"{s}/session.jsonl").endswith(text.encode()), "that line in the file")
        check(not os.path.exists(f"{s}/problems.txt"), "there are problems")


def pieces(path, n, pause):
    """Returns the file in pieces, as a slow reader gets it, up to the first short one: a transcript has no end."""
    fd, got = os.open(path, os.O_RDONLY), []
    try:
        while True:
            got.append(os.read(fd, n))
            if len(got[-1]) < n:
                return b"".join(got)
            time.sleep(pause)
    finally:
        os.close(fd)


def parses(view, text, name):
    """Returns the state as far as the text shows it: the number of entries it was made of, or None."""
    lines = text.decode().split("\n")
    check(lines[-1] == "", f"{view} does not end with a newline")
    if view == "context.json":
        messages = json.loads(text)["messages"]
        return len(messages)
    if view == "info.json":
        info = json.loads(text)
        check(info["id"] == name and info["leaf"] == entry_id(info['entries'] - 1), f"{view}: {info}")
        check(sum(info["messages"].values()) == info["entries"], f"{view}: {info}")
        return info["entries"]
    if view == "tree.txt":
        ids = [line.split()[0] for line in lines[:-1]]
        check([line.endswith("<- leaf") for line in lines[:-1]] == [False] * (len(ids) - 1) + [True], f"{view}: the leaf")
    elif view == "labels.tsv":
        ids = [line.split("\t")[0] for line in lines[:-1] if not line.startswith("#")]
    elif view == "chat.md":
        ids = [line.split(" · ")[2] for line in lines if line.startswith("## ")]
    elif view == "all.txt":
        ids = [line.split()[0] for line in lines[:-1]]
    else:
        ids = [line.split(" · ")[1] for line in lines if line.startswith("## ")]
        leaf = next(line for line in lines if line.startswith("leaf: "))
        if view == "context.md":
            check(leaf == f'leaf: "{ids[-1]}"', f"{view}: {leaf}, but the last is {ids[-1]}")
    check(ids == [entry_id(i) for i in range(len(ids))], f"{view}: the entries are {ids}")
    return len(ids)


def slow_readers(program, root):
    """In a writable mount, where opens are not seen, nothing can be kept for one open."""
    small = Session(program, root, "slow", 40)
    large = Session(program, root, "large", 4)
    for _ in range(300):
        large.append("y" * 1000)
    with Mount(program, root) as mount:
        for session, n, pause, grow in (small, 512, 0.01, 0.01), (large, 65536, 0.05, 0.02):
            with Growth(session, grow):
                for view in VIEWS:
                    before = session.count - 1
                    await_(lambda: parses(view, read(f"{mount}/{session.path}/{view}"), session.name) >= before, view)
                    text = pieces(f"{mount}/{session.path}/{view}", n, pause)
                    count = parses(view, text, session.name)
                    check(count >= before, f"{view}: {count} entries, but {before} were there before")
                    if session is large and view in ("context.md", "context.json", "transcript.md"):
                        check(len(text) > 128 * 1024, f"{view} is too small for this test: {len(text)}")
            for view in VIEWS:
                truth = session.truth(view)
                await_(lambda: read(f"{mount}/{session.path}/{view}") == truth, f"{view} at last")


def exact_sizes(program, root, options):
    """stat, read, stat: without a change in between, the three agree; and that is often the case."""
    session = Session(program, root, "size" + "-".join(options), 30)
    told = 0
    with Mount(program, root, *options) as mount:
        s = f"{mount}/{session.path}"
        with Growth(session, 0.15):
            grown = session.count + 30
            while told <= 20 or session.count < grown:
                for view in [*VIEWS, "session.jsonl", "header.json", "title"]:
                    before = os.stat(f"{s}/{view}")
                    fd = os.open(f"{s}/{view}", os.O_RDONLY)
                    opened = os.fstat(fd)
                    n = 0
                    while got := os.read(fd, 1 << 20):
                        n += len(got)
                    os.close(fd)
                    after = os.stat(f"{s}/{view}")
                    states = {(st.st_size, st.st_mtime_ns) for st in (before, opened, after)}
                    if len(states) == 1:
                        told += 1
                        check(n == after.st_size, f"{view} {options}: {n} bytes, by its size {after.st_size}")
        for view in VIEWS:
            await_(lambda: len(read(f"{s}/{view}")) == os.stat(f"{s}/{view}").st_size == len(session.truth(view)), view)


def evictions(program, root, options):
    """Open files whose sources are evicted: with the smallest caches, by reading everything else."""
    others = [Session(program, root, f"other-{'-'.join(options)}{i}", 20) for i in range(5)]
    session = Session(program, root, "open" + "-".join(options), 300)
    views = [*VIEWS, "session.jsonl", "entries/a0000001/text.md", "entries/a0000001/entry.json"]
    truth = {v: session.truth(v) for v in views}
    with Mount(program, root, *options) as mount:
        s = f"{mount}/{session.path}"
        fds = {v: os.open(f"{s}/{v}", os.O_RDONLY) for v in views}
        numbers = {v: os.fstat(fd).st_ino for v, fd in fds.items()}
        got = {v: os.read(fd, 100) for v, fd in fds.items()}
        for _ in range(3):
            for o in others:
                for v in VIEWS:
                    check(read(f"{mount}/{o.path}/{v}") == o.truth(v), f"{v} of another session")
        try:
            with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
                f.write("3")
        except OSError:
            pass  # the kernel's pages stay
        for v, fd in fds.items():
            while more := os.read(fd, 4096):
                got[v] += more
            check(got[v] == truth[v], f"{v} {options}: an open file after its text was dropped")
            check(os.fstat(fd).st_ino == os.stat(f"{s}/{v}").st_ino == numbers[v], f"{v} {options}: its number")
            os.close(fd)


def main(program, root):
    for options in [], ["-oro"]:
        tails(program, root, options)
        crowd(program, root, options)
        half_lines(program, root, options)
        exact_sizes(program, root, options)
    moved_tail(program, root)
    slow_readers(program, root)
    for options in ["-ocache=0"], ["-ocache=1M"], ["-ocache=0,ro"]:
        evictions(program, root, options)


if __name__ == "__main__":
    main(*sys.argv[1:])
