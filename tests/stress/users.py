# SPDX-License-Identifier: MIT
"""The processes of tests/stress/load: readers and writers of a mount, and pi. Each is a function of a Place that works
until the place is closed.

What a writer has done is acknowledged in a file of its own, a JSON array a line:
  acks/pi         [SESSION, NUMBER, ID]
  acks/labels     [SESSION, NUMBER, TYPE, ID, TEXT]; TYPE is label or session_info (a name: ID is empty)
  acks/saves      the same, a line for each row of labels.tsv that a save changed; they share its NUMBER
SESSION is a number. Texts are unique."""

import json
import os
import random
import re
import selectors
import subprocess
import time

MESSAGES = 200  # of a session, before the load
WORD = "keystone"  # in every tenth of them, and nowhere else
STAMP = "2026-03-01T10:00:00.000Z"
VIEWS = ["chat.md", "context.md", "context.json", "transcript.md", "all.txt", "tree.txt", "info.json", "labels.tsv"]
#: in a text of pi: its session, its number, and when it was written (the monotonic clock, in nanoseconds)
MARK = re.compile(rb"mark(\d+)x(\d+) at (\d+);")


def first_id(i):
    return f"{0xA0000000 + i:08x}"


def message(k, text):
    """As pi writes them: a question, a call, its result, an answer."""
    usage = {"input": 10, "output": k % 100, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 10 + k % 100}
    usage["cost"] = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.001}
    content = [{"type": "text", "text": text}]
    if k % 4 == 0:
        return {"role": "user", "content": content, "timestamp": 1772359200000}
    if k % 4 == 2:
        return {"role": "toolResult", "toolCallId": f"call-{k - 1}", "toolName": "read", "content": content, "isError": False}
    if k % 4 == 1:
        content.append({"type": "toolCall", "id": f"call-{k}", "name": "read", "arguments": {"path": f"file-{k}.md"}})
    return {"role": "assistant", "content": content, "provider": "p", "model": "m", "usage": usage, "stopReason": "stop"}


def line(own, parent, what):
    entry = {"type": "message", "id": own, "parentId": parent, "timestamp": STAMP, "message": what}
    return json.dumps(entry, separators=(",", ":")) + "\n"


class Place:
    """Directories, the sessions, and the samples of one process."""

    def __init__(self, top, sessions, seed, rate):
        self.top, self.sessions, self.rate = top, sessions, rate
        self.source, self.mnt, self.acks = f"{top}/src", f"{top}/mnt", f"{top}/acks"
        self.random = random.Random(seed)
        self.samples, self.faults, self.rounds = [], [], 0
        everything = range(sessions)
        self.labelled = [s for s in everything if s % 5 < 2]
        self.edited = [s for s in everything if s % 5 == 2]
        self.followed = [s for s in everything if s % 5 == 3][:4]

    def make(self):
        os.makedirs(f"{self.source}/--load--")
        os.makedirs(self.acks)
        for s in range(self.sessions):
            with open(self.file(s), "w", encoding="ascii") as f:
                f.write(json.dumps({"type": "session", "version": 3, "id": f"load-{s}", "timestamp": STAMP, "cwd": "/load"}) + "\n")
                for i in range(MESSAGES):
                    text = f"{WORD if i % 10 == 0 else 'before'} {i} of {s}: " + "the forecast of tomorrow, and the day after " * (i % 7)
                    f.write(line(first_id(i), first_id(i - 1) if i else None, message(i, text)))

    def file(self, s):
        return f"{self.source}/--load--/s{s:02}.jsonl"

    def bytes(self):
        return sum(os.stat(self.file(s)).st_size for s in range(self.sessions))

    def session(self, s):
        return f"{self.mnt}/projects/load/s{s:02}"

    def any(self):
        return self.random.randrange(self.sessions)

    def goes_on(self):
        """Each process works at least once, however slow the machine is."""
        self.rounds += 1
        return self.rounds == 1 or not os.path.exists(f"{self.top}/over")

    def close(self):
        with open(f"{self.top}/over", "w", encoding="ascii"):
            pass

    def check(self, condition, what):
        if not condition:
            self.faults.append(what)

    def timed(self, kind, do):
        begin = time.monotonic()
        result = do()
        self.samples.append((kind, time.monotonic() - begin))
        return result

    def acknowledge(self, writer, *what):
        with open(f"{self.acks}/{writer}", "ab", buffering=0) as f:
            f.write(json.dumps(what).encode() + b"\n")

    def acknowledged(self, writer):
        try:
            with open(f"{self.acks}/{writer}", encoding="utf-8") as f:
                return [json.loads(text) for text in f]
        except FileNotFoundError:
            return []


def read(path):
    with open(path, "rb") as f:
        return f.read()


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)


#: a name that was replaced between the listing and the request; metadata after a leaf leaves its branch when that goes on
REPLACED = re.compile(rb"(/labels/|/branches/\w+/\d+-(label|session_info)|\.labels\.tsv\.).*No such file|has vanished: .*(/labels/|\.labels\.tsv\.)")
#: a text that changes in its middle keeps its bytes while it is open, but fstat(2) has the size of the newer one
CHANGED = re.compile(rb"read errors mapping .*/(?!session\.jsonl|all\.txt)[a-z.]+\": No data available|failed verification|^rsync (error|warning): ")


def complaints(done, *expected):
    return [m for m in done.stderr.splitlines() if not any(pattern.search(m) for pattern in expected)]


# --- pi ----------------------------------------------------------------------------------


def pi(place):
    """Appends as pi does: its leaf in memory, and one write a line. tests/stress/pi.mjs is the same with the real pi."""
    leaf, count = [first_id(MESSAGES - 1)] * place.sessions, [0] * place.sessions
    begin, n = time.monotonic(), 0
    while place.goes_on():
        s = n % place.sessions if n < place.sessions else place.any()
        k, own = count[s], f"{0xB0000000 + count[s]:08x}"

        def append(s=s, k=k, own=own):
            fd = os.open(place.file(s), os.O_WRONLY | os.O_APPEND)
            text = line(own, leaf[s], message(k, f"mark{s}x{k} at {time.monotonic_ns()}; and some words more"))
            done = os.write(fd, text.encode())
            os.close(fd)
            place.check(done == len(text), "a write of pi was cut")

        place.timed("pi: append a message", append)
        place.acknowledge("pi", s, k, own)
        leaf[s], count[s], n = own, k + 1, n + 1
        time.sleep(max(0, begin + n / place.rate - time.monotonic()))


# --- writers through the mount -----------------------------------------------------------


def labels(place):
    """Sets labels and names: a text written, a text renamed into place, a link."""
    n = 0
    while place.goes_on():
        s, i = place.random.choice(place.labelled), first_id(place.random.randrange(MESSAGES))
        entry, text, kind = f"{place.session(s)}/entries/{i}", f"set {n} by a writer", n % 4

        def write(path, text=text):
            with open(path, "w", encoding="ascii") as f:
                f.write(text + "\n")

        def rename(entry=entry):
            write(f"{entry}/side")
            os.rename(f"{entry}/side", f"{entry}/label")

        if kind == 0:
            place.timed("write a label", lambda: write(f"{entry}/label"))
        elif kind == 1:
            place.timed("rename a label into place", rename)
        elif kind == 2:
            place.timed("link a label", lambda: os.symlink(f"../entries/{i}", f"{place.session(s)}/labels/{text}"))
        else:
            place.timed("write a name", lambda: write(f"{place.session(s)}/name"))
        place.acknowledge("labels", s, n, *(("session_info", "") if kind == 3 else ("label", i)), text)
        back = read(f"{place.session(s)}/name" if kind == 3 else f"{entry}/label")
        place.check(back == text.encode() + b"\n", f"session {s}: {text!r} reads back as {back!r}")
        n += 1
        time.sleep(0.02)


def saves(place):
    """Saves labels.tsv as editors do: a new file, synced, renamed over the old one."""
    n = 0
    while place.goes_on():
        s, table = place.random.choice(place.edited), {}
        path = f"{place.session(s)}/labels.tsv"
        rows = place.timed("cat labels.tsv", lambda: read(path)).decode().splitlines()
        ids = place.random.sample(range(MESSAGES), 2)
        for i in ids:
            table[first_id(i)] = f"saved {n} on {i}"
        rows = [row.split("\t") for row in rows]
        text = "".join("\t".join([row[0], table.get(row[0], row[1]), *row[2:]]) + "\n" if len(row) > 1 else row[0] + "\n" for row in rows)

        def save(path=path, text=text):
            side = os.path.join(os.path.dirname(path), ".labels.tsv.new")
            with open(side, "w", encoding="utf-8") as f:
                f.write(text)
                f.flush()
                os.fsync(f.fileno())
            os.rename(side, path)

        place.timed("save labels.tsv", save)
        for i, label in table.items():
            place.acknowledge("saves", s, n, "label", i, label)
        now = {row.split("\t")[0]: row.split("\t")[1] for row in read(path).decode().splitlines() if "\t" in row}
        place.check(all(now.get(i) == label for i, label in table.items()), f"session {s}: save {n} does not read back")
        n += 1
        time.sleep(0.1)


# --- readers -----------------------------------------------------------------------------


def ls(place):
    while place.goes_on():
        done = place.timed("ls -lR of a session", lambda: run("ls", "-lR", place.session(place.any())))
        place.check(not complaints(done, REPLACED) and done.returncode in (0, 1), f"ls -lR: {done.stderr[:300]!r}")


def cat(place):
    while place.goes_on():
        s, view = place.any(), place.random.choice(VIEWS)
        text = place.timed(f"cat {view}", lambda: read(f"{place.session(s)}/{view}"))
        place.check(text.endswith(b"\n"), f"session {s}: {view} ends within a line")
        if view.endswith(".json"):
            try:
                json.loads(text)
            except ValueError as e:
                place.check(False, f"session {s}: {view}: {e}")
        elif view == "all.txt":
            place.check(text.count(WORD.encode()) == MESSAGES // 10, f"session {s}: {view} lacks messages")


def grep(place):
    while place.goes_on():
        s = place.any()
        done = place.timed("grep -r in a session", lambda: run("grep", "-rlw", "--include=text.md", WORD, f"{place.session(s)}/entries"))
        n = len(done.stdout.splitlines())
        place.check(n == MESSAGES // 10 and not done.stderr, f"session {s}: grep -r: {n} files, {done.stderr[:300]!r}")


def search(place):
    """For a word that is always there, and for one that pi has just written."""
    while place.goes_on():
        n = place.timed("search a known word", lambda: read(f"{place.mnt}/search/{WORD}/hits.txt")).count(b"\n")
        place.check(n == MESSAGES // 10 * place.sessions, f"search: {n} hits of {WORD}")
        with open(f"{place.acks}/pi", "rb") as f:
            f.seek(max(0, f.seek(0, 2) - 200))
            newest = f.read().split(b"\n")[-2]
        s, k, _ = json.loads(newest)

        def find(word=f"mark{s}x{k}"):
            end = time.monotonic() + 60
            while word.encode() not in read(f"{place.mnt}/search/{word}/hits.txt"):
                if time.monotonic() > end:
                    place.check(False, f"search: {word} is not found")
                    return

        place.timed("search a word just written", find)


def tables(place):
    while place.goes_on():
        for name in "sessions.tsv", "usage.tsv", "labels.tsv", "problems.tsv":
            text = place.timed(f"cat {name} of all", lambda n=name: read(f"{place.mnt}/{n}"))
            rows = text.decode().splitlines()
            place.check(text.endswith(b"\n") and len({r.count("\t") for r in rows}) == 1, f"{name} has a row that is not whole")
            if name in ("sessions.tsv", "problems.tsv"):
                n = place.sessions * (name == "sessions.tsv") + 1
                place.check(len(rows) == n, f"{name} has {len(rows)} rows, not {n}")
        names = place.timed("ls by-date", lambda: os.listdir(f"{place.mnt}/by-date/{STAMP[:10]}"))
        place.check(len(names) == place.sessions, f"by-date lists {len(names)} sessions")


def rsync(place):
    """Copies the views of all sessions, again and again."""
    copy = f"{place.top}/copy"
    while place.goes_on():
        command = ["rsync", "-rlt", "--delete", "--exclude=entries", "--exclude=branches", f"{place.mnt}/projects/load/", copy]
        done = place.timed("rsync of all views", lambda c=command: run(*c))
        place.check(not complaints(done, REPLACED, CHANGED) and done.returncode in (0, 23, 24), f"rsync: {done.returncode}, {done.stderr[:300]!r}")
        for s in range(place.sessions):
            copied = read(f"{copy}/s{s:02}/session.jsonl")
            place.check(read(place.file(s)).startswith(copied), f"session {s}: rsync copied other bytes")


def tail(place):
    """Follows transcripts, until all that pi wrote is printed. The driver writes how many messages that is to `final`."""
    following, seen = selectors.DefaultSelector(), {s: [] for s in place.followed}
    programs, begin = [], time.monotonic_ns()
    for s in place.followed:
        command = ["tail", f"--pid={os.getpid()}", "-n", "+1", "-s", "0.1", "-F", f"{place.session(s)}/transcript.md"]
        programs.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        following.register(programs[-1].stdout, selectors.EVENT_READ, s)
    rest, final, end = dict.fromkeys(seen, b""), None, None
    while final is None or (any(len(seen[s]) < len(final[s]) for s in seen) and time.monotonic() < end):
        for key, _ in following.select(0.2):
            *whole, rest[key.data] = (rest[key.data] + os.read(key.fd, 1 << 16)).split(b";")
            for found in filter(None, (MARK.search(text + b";") for text in whole)):
                seen[key.data].append(int(found[2]))
                if int(found[3]) > begin:
                    place.samples.append(("tail -F: until it is printed", (time.monotonic_ns() - int(found[3])) / 1e9))
        if final is None and os.path.exists(f"{place.top}/final"):
            count, end = json.loads(read(f"{place.top}/final")), time.monotonic() + 60
            final = {s: list(range(count[s])) for s in seen}
    for s, program in zip(seen, programs):
        program.kill()
        place.check(seen[s] == final[s], f"session {s}: tail -F printed {len(seen[s])} of {len(final[s])} messages, or in another order")
        said = program.stderr.read()
        place.check(not said, f"session {s}: tail -F: {said[:300]!r}")


READERS = [ls, cat, grep, search, tables, rsync, tail]
WRITERS = [labels, saves]
