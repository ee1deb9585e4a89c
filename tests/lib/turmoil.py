#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All kinds of access at once on one mount, which then ends during it.

turmoil.py PROGRAM DIR SECONDS HOW [OPTION...]

Programs read the mount in every way, others append to the session files as pi does, set labels through the mount,
rename, delete, rewrite and make session files and projects, and wait for events. After SECONDS the mount ends: HOW is
`stop` (all programs end, then it is unmounted), `lazy` (fusermount3 -uz) or the name of a signal. Then

* all processes have ended, and the program ends with 0;
* the only errors were for removed files, and each read was whole;
* the session files hold the written lines, each of them once and whole, and nothing else.
"""
import errno
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from session_lines import beginning, entry_id, message, read
from waiting import await_

STABLE = 3  # sessions that stay in place
ENTRIES = 12  # lines that each begins with
GONE = {errno.ENOENT, errno.ESTALE, errno.ENOTDIR}
#: EINTR: the end of the mount ends work that takes long
ENDED = {errno.ENOTCONN, errno.ECONNABORTED, errno.ENODEV, errno.EINTR}
EXCUSES = re.compile(
    r"No such file or directory|Stale file handle|Not a directory|Transport endpoint|connection abort|No such device"
    r"|file truncated|has become inaccessible|has been replaced|no files remaining|has appeared|changed before we read"
)
fork = multiprocessing.get_context("fork")


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def append(file, text):
    fd = os.open(file, os.O_WRONLY | os.O_APPEND)
    try:
        check(os.write(fd, text.encode()) == len(text.encode()), "a short write")
    finally:
        os.close(fd)


class Turmoil:
    def __init__(self, program, root, seconds, options):
        self.program, self.root, self.seconds, self.options = program, root, float(seconds), options
        self.source, self.mount = f"{root}/src", f"{root}/mnt"
        self.read_only = any("ro" in o.removeprefix("-o").split(",") for o in options)
        self.over, self.ending = fork.Event(), fork.Event()
        self.faults = fork.SimpleQueue()
        shutil.rmtree(root)
        for d in "stable", "moved", "rewritten":
            os.makedirs(f"{self.source}/--{d}--")
        os.makedirs(self.mount, exist_ok=True)
        for i in range(STABLE):
            with open(self.stable(i), "w", encoding="utf-8") as f:
                f.write(beginning(f"stable{i}", ENTRIES))

    def stable(self, i):
        return f"{self.source}/--stable--/stable{i}.jsonl"

    def log(self, name):
        return open(f"{self.root}/{name}", "a", encoding="utf-8", buffering=1)

    def may_fail(self, e):
        if e.errno in GONE or (self.ending.is_set() and e.errno in ENDED):
            return
        raise e

    # --- writers ------------------------------------------------------------------------

    def appender(self, i):
        """As pi: its leaf in memory, one write a line."""
        rng, leaf, n = random.Random(i), entry_id(ENTRIES - 1), 0
        with self.log(f"appended{i}") as log:
            while not self.over.is_set():
                own = f"{0xB0000000 + n:08x}"
                text = message(own, leaf, f"{n} " + "é" * rng.randrange(200 if n % 20 else 50000))
                append(self.stable(i), text)
                log.write(text)
                leaf, n = own, n + 1
                time.sleep(rng.random() * 0.05)
        check(n > 0, "nothing was appended")

    def labeller(self, i, project, names):
        """Records what it is about to write, and what was acknowledged."""
        rng, n = random.Random(100 + i), 0
        with self.log(f"tried{i}") as tried, self.log(f"done{i}") as done:
            while not self.over.is_set():
                name, text = rng.choice(names), f"label-{i}-{n}"
                session = f"{self.mount}/projects/{project}/{name}"
                n += 1
                tried.write(f"{name}\t{text}\n")
                try:
                    self.set_label(rng.randrange(3), session, entry_id(rng.randrange(ENTRIES)), text)
                    done.write(f"{name}\t{text}\n")
                except OSError as e:
                    # A scratch link or file is refused while another has its name.
                    if e.errno not in (errno.EEXIST, errno.EIO) or project == "stable":
                        self.may_fail(e)
                time.sleep(rng.random() * 0.02)

    def set_label(self, way, session, entry, text):
        label = f"{session}/entries/{entry}/label"
        if way == 0:
            os.symlink(f"../entries/{entry}", f"{session}/labels/{text}")
            return
        side = label if way == 1 else f"{session}/entries/{entry}/{text}"
        with open(side, "w", encoding="utf-8") as f:
            f.write(text + "\n")
        if way == 2:
            os.rename(side, label)

    def mover(self):
        """Sessions and projects that appear, are renamed and disappear; always whole files."""
        rng, n = random.Random(1), 0
        here, there = f"{self.source}/--moved--", f"{self.source}/--elsewhere--"
        while not self.over.is_set():
            n += 1
            name = f"m{rng.randrange(4)}.jsonl"
            try:
                way = rng.randrange(6)
                if way < 2:
                    with open(f"{self.root}/made", "w", encoding="utf-8") as f:
                        f.write(beginning(f"{name}-{n}", rng.randrange(ENTRIES, 40)))
                    os.rename(f"{self.root}/made", f"{here}/{name}")
                elif way == 2:
                    os.rename(f"{here}/{name}", f"{here}/m{rng.randrange(4)}.jsonl")
                elif way == 3:
                    os.unlink(f"{here}/{name}")
                elif way == 4:
                    os.rename(here, there)
                    time.sleep(rng.random() * 0.05)
                    os.rename(there, here)
                else:
                    os.mkdir(f"{self.source}/--p{n}--")
                    shutil.copy(self.stable(0), f"{self.source}/--p{n}--/copy.jsonl")
                    time.sleep(rng.random() * 0.05)
                    shutil.rmtree(f"{self.source}/--p{n}--")
            except FileNotFoundError:
                pass
            time.sleep(rng.random() * 0.02)

    def rewriter(self):
        """Rewritten in place, truncated, emptied. No other program writes here: that could not end well."""
        rng, n = random.Random(2), 0
        while not self.over.is_set():
            n += 1
            name = f"r{rng.randrange(3)}"
            with open(f"{self.source}/--rewritten--/{name}.jsonl", "w", encoding="utf-8") as f:
                f.write(beginning(f"{name}-{n}", rng.randrange(50)) if rng.randrange(5) else "")
            os.truncate(f.name, rng.randrange(os.path.getsize(f.name) + 1))
            time.sleep(rng.random() * 0.02)

    # --- readers ------------------------------------------------------------------------

    def reader(self):
        """Reads everything, by the listed names."""
        dirs = []
        while not self.over.is_set():
            try:
                with os.scandir(dirs.pop() if dirs else self.mount) as names:
                    found = list(names)
            except OSError as e:
                self.may_fail(e)
                continue
            for name in found:
                if self.over.is_set():
                    return
                try:
                    self.read_one(name, dirs)
                except OSError as e:
                    self.may_fail(e)

    @staticmethod
    def read_one(name, dirs):
        if name.is_symlink():
            check(os.readlink(name.path), f"{name.path} points to nothing")
        elif name.is_dir(follow_symlinks=False):
            dirs.append(name.path)
        else:
            with open(name.path, "rb") as f:
                f.read()

    def judge(self):
        """Reads stable data, and checks that it is whole."""
        rng, seen = random.Random(3), {}
        while not self.over.is_set():
            i = rng.randrange(STABLE)
            s = f"{self.mount}/projects/stable/stable{i}"
            try:
                text = read(f"{s}/session.jsonl")
                with open(self.stable(i), "rb") as f:
                    whole = f.read(len(text))
                if whole != text:
                    self.judge_pages(i, whole, text)
                if text.endswith(b"\n"):
                    n = text.count(b"\n")
                    check(n >= seen.get(i, 0), f"stable{i} has become shorter")
                    seen[i] = n
                if not self.read_only:
                    json.loads(read(f"{s}/context.json"))
                    info = json.loads(read(f"{s}/info.json"))
                    check(info["id"] == f"stable{i}", f"info.json of stable{i}: {info}")
                check(os.readlink(f"{s}/leaf").startswith("entries/"), "leaf")
            except OSError as e:
                check(e.errno not in GONE or self.ending.is_set(), f"stable{i}: {e}")
                self.may_fail(e)

    def judge_pages(self, i, whole, text):
        """Read-only and with one thread the kernel keeps the last page until another process has learned of the new
        size, and for a moment longer: then there are zeros after the old end, and no other error."""
        check(len(whole) == len(text), f"session.jsonl of stable{i} is longer than the file")
        wrong = [n for n, (a, b) in enumerate(zip(whole, text)) if a != b]
        at = wrong[0]
        zeros = wrong[-1] <= at | 4095 and not any(text[n] for n in wrong)
        may_be = self.read_only and "-s" in self.options
        check(may_be and zeros, f"session.jsonl of stable{i} at {at} of {len(text)}: {text[at:at + 99]!r}")
        with open(f"{self.mount}/projects/stable/stable{i}/session.jsonl", "rb") as f:
            f.seek(at)
            check(f.read(1) == whole[at : at + 1], f"session.jsonl of stable{i} stays wrong at {at}")

    def command(self, seconds, *argv):
        """Runs a program repeatedly, each time for that long; it can complain about removed files. timeout(1) does not
        help: a signal that comes while it forks ends it alone, and the program stays."""
        while not self.over.is_set():
            with tempfile.TemporaryFile() as complaints:
                end = time.monotonic() + seconds
                with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=complaints) as process:
                    while process.poll() is None and time.monotonic() < end and not self.over.wait(0.02):
                        pass
                    process.terminate()
                complaints.seek(0)
                # The program was ended, perhaps in the middle of its last line.
                whole, _, _ = complaints.read().decode("utf-8", "replace").rpartition("\n")
                for line in whole.splitlines():
                    check(EXCUSES.search(line), f"{argv}: {line}")

    def all_of(self):
        m = self.mount
        s = f"{m}/projects/stable/stable0"
        yield from ((self.appender, i) for i in range(STABLE))
        yield from ((self.command, *argv) for argv in (
            [float("inf"), "find", m, "-size", "+1000k"],
            [float("inf"), "grep", "-r", "nobody said this", m],
            [1, "tail", "-f", "-s", "0.05", f"{s}/transcript.md"],
            [1.1, "tail", "-f", "-s", "0.05", f"{s}/session.jsonl"],
            [0.7, self.program, "-S", self.source, "--events"],
        ))
        yield from ((f,) for f in (self.mover, self.rewriter, self.reader, self.reader, self.judge, self.judge))
        if self.read_only:
            return
        yield self.labeller, 0, "stable", [f"stable{i}" for i in range(STABLE)]
        yield self.labeller, 1, "stable", [f"stable{i}" for i in range(STABLE)]
        yield self.labeller, 2, "moved", [f"m{i}" for i in range(4)]

    # --- afterwards ---------------------------------------------------------------------

    def lines_of(self, name):
        path = f"{self.root}/{name}"
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as f:
            return f.read().split("\n")[:-1]

    def judge_file(self, file, expected, tried, done):
        with open(file, encoding="utf-8") as f:
            text = f.read()
        check(text.endswith("\n"), f"{file}: the last line is not whole")
        others, labels = [], []
        for line in text.split("\n")[:-1]:
            try:
                e = json.loads(line)
            except ValueError:
                raise AssertionError(f"{file}: {line!r}") from None
            (labels if e["type"] == "label" else others).append(e.get("label") if e["type"] == "label" else line)
        check(expected is None or others == expected, f"{file}: lines that are not those that were appended")
        # A label overtaken by a line of pi's is repeated, with that line as its parent.
        check(set(labels) <= tried, f"{file}: labels that nobody wrote: {set(labels) - tried}")
        check(done <= set(labels), f"{file}: labels that are lost: {done - set(labels)}")

    def judge_files(self):
        tried = [t.split("\t") for i in range(3) for t in self.lines_of(f"tried{i}")]
        done = [t.split("\t") for i in range(2) for t in self.lines_of(f"done{i}")]
        for i in range(STABLE):
            expected = beginning(f"stable{i}", ENTRIES).split("\n")[:-1] + self.lines_of(f"appended{i}")
            mine = [{t for name, t in texts if name == f"stable{i}"} for texts in (tried, done)]
            self.judge_file(self.stable(i), expected, *mine)
        for name in os.listdir(f"{self.source}/--moved--"):
            self.judge_file(f"{self.source}/--moved--/{name}", None, {t for _, t in tried}, set())

    def is_idle(self):
        return not self.read_only and any(len(self.lines_of(f"done{i}")) < 5 for i in range(2))

    # --- and all together ---------------------------------------------------------------

    def act(self, what, *args):
        try:
            what(*args)
        except BaseException:  # the message arrives in any case
            self.over.set()
            self.faults.put(f"{what.__name__} {args}: {traceback.format_exc()}")

    def end_mount(self, daemon, how):
        if how == "lazy":
            subprocess.run(["fusermount3", "-u", "-z", self.mount], check=True)
        elif how != "stop":
            daemon.send_signal(getattr(signal, how))

    def run(self, how):
        daemon = subprocess.Popen([self.program, "-f", *self.options, self.source, self.mount])
        actors = []
        try:
            await_(lambda: os.path.ismount(self.mount) or daemon.poll() is not None, "the mount")
            check(daemon.poll() is None, "it does not mount")
            actors = [fork.Process(target=self.act, args=a, name=f"{a[0].__name__} {a[1:]}") for a in self.all_of()]
            for a in actors:
                a.start()
            self.over.wait(self.seconds)
            await_(lambda: not self.is_idle() or self.over.is_set(), "a label that was set")  # a busy machine
            if how != "stop":
                self.ending.set()
                self.end_mount(daemon, how)
                self.over.wait(0.3)
            self.over.set()
            for a in actors:
                a.join()
            while how == "stop" and subprocess.run(["fusermount3", "-q", "-u", self.mount], check=False).returncode:
                time.sleep(0.05)  # processes of a program end a moment after it
            check(daemon.wait() == 0, f"it ended with {daemon.returncode}")
            check(not os.path.ismount(self.mount), "it is still mounted")
            faults = []
            while not self.faults.empty():
                faults.append(self.faults.get())
            check(not faults, "\n".join(faults))
            self.judge_files()
        finally:
            for p in [daemon, *actors]:
                if isinstance(p, subprocess.Popen) and p.poll() is None or p in actors and p.is_alive():
                    p.kill()


if __name__ == "__main__":
    program_, root_, seconds_, how_, *options_ = sys.argv[1:]
    try:
        Turmoil(program_, root_, seconds_, options_).run(how_)
    except (AssertionError, subprocess.SubprocessError) as fault:
        sys.exit(f"FAILED: {how_} {' '.join(options_)}: {fault}")
