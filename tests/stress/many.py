#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes very many sessions of a few, in many projects: tests/bench/multiply.py for hundreds of thousands.

    many.py FROM TO SESSIONS PROJECTS MEGABYTES

Every copy has its own id, entry ids, project, cwd and day. There are exactly SESSIONS, in PROJECTS; a tenth of them is
in the first project. So that they have MEGABYTES in all, the shorter sessions are taken more often, or, if even equal
shares are too little, their entries are repeated, each round below the one before. The copies are the same each time.
"""
import json
import math
import os
import pathlib
import random
import re
import sys
from datetime import datetime, timedelta

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
from multiply import header_of  # noqa: E402

QUOTED = re.compile(rb'"([A-Za-z0-9_-]{2,64})"|(?<="timestamp":")\d{4}-\d\d-\d\d(?=T)')
#: from the ids of one round to those of the next
NEXT = 0x9E3779B1
DAYS = 700  # the copies are spread over these


def ids_of(data):
    """The ids of the entries, if they cannot be mistaken for other words."""
    entries = [json.loads(line) for line in data.splitlines()[1:] if line.strip()]
    ids = {e.get("id") for e in entries if isinstance(e, dict) and isinstance(e.get("id"), str)}
    return {i.encode() for i in ids if re.search("[0-9]", i) and re.fullmatch("[A-Za-z0-9_-]{2,64}", i)}


def other_id(own, mask):
    """The id of a copy."""
    return b"%08x" % (int(own, 16) ^ mask) if re.fullmatch(rb"[0-9a-f]{8}", own) else b"%s-%x" % (own, mask)


def rounds_of(data, n):
    """The entries of a session N times, each round below the last entry of the one before."""
    head, *lines = data.splitlines(keepends=True)
    ids, out, last = ids_of(data), [head], None
    for k in range(n):
        for line in lines:
            line = QUOTED.sub(lambda m, k=k: b'"%s"' % other_id(m[1], k * NEXT & 0xFFFFFFFF) if m[1] in ids else m[0], line)
            if last and b'"parentId":null' in line:
                line = line.replace(b'"parentId":null', b'"parentId":"%s"' % last, 1)
            out.append(line)
        own = json.loads(line).get("id")
        last = own.encode() if own else last
    return b"".join(out)


class Template:
    """A session, cut where its copies differ."""

    def __init__(self, data, head, number):
        self.head, self.number, self.size = head, number, len(data)
        body, known = data[data.index(b"\n") + 1 :], ids_of(data)
        ids, days = {}, {}
        self.pieces = []  # bytes, or the number of an id, or -1 - the number of a day
        at = 0
        for m in QUOTED.finditer(body):
            if m[1] in known:
                self.pieces += [body[at : m.start() + 1], ids.setdefault(m[1], len(ids))]
                at = m.end() - 1
            elif m[1] is None:
                self.pieces += [body[at : m.start()], -1 - days.setdefault(m[0], len(days))]
                at = m.end()
        self.pieces.append(body[at:])
        self.ids = list(ids)
        self.begun = datetime.fromisoformat(head["timestamp"].rstrip("Z")[:19])
        self.days = [datetime.strptime(d.decode(), "%Y-%m-%d") for d in days]

    def copy(self, n, cwd):
        """The bytes of copy N, and its name."""
        rng = random.Random(n)
        mask, moved = rng.getrandbits(32), timedelta(days=rng.randrange(DAYS))
        own = f"{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}-7{rng.getrandbits(12):03x}-8{rng.getrandbits(12):03x}-{n:012x}"
        ids = [other_id(i, mask) for i in self.ids]
        days = [(d - moved).strftime("%Y-%m-%d").encode() for d in self.days]
        begun = f"{(self.begun - moved).isoformat()}.{rng.randrange(1000):03}Z"
        head = {**self.head, "id": own, "timestamp": begun, "cwd": cwd}
        body = b"".join(p if isinstance(p, bytes) else ids[p] if p >= 0 else days[-1 - p] for p in self.pieces)
        return json.dumps(head, separators=(",", ":")).encode() + b"\n" + body, f"{re.sub('[:.]', '-', begun)}_{own}.jsonl"


def weights_of(sizes, mean):
    """Shares whose mean size is MEAN: the same factor less for each byte more."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        shares = [math.exp(-middle * (size - min(sizes))) for size in sizes]
        if sum(w * s for w, s in zip(shares, sizes)) / sum(shares) > mean:
            low = middle
        else:
            high = middle
    return [math.exp(-high * (size - min(sizes))) for size in sizes]


def templates(source, mean):
    found = []
    for path in sorted(pathlib.Path(source).rglob("*.jsonl")):
        data = path.read_bytes()
        head = header_of(data)
        if head and "timestamp" in head:
            found.append((data.rstrip(b"\n") + b"\n", head))
    if not found:
        sys.exit(f"many: {source}: no sessions")
    again = max(1, math.ceil(mean * len(found) / sum(len(data) for data, _ in found)))
    if again > 1:  # entries without ids cannot be repeated
        found = [(data, head) for data, head in found if len(ids_of(data)) == data.count(b"\n") - 1]
    return [Template(rounds_of(data, again), head, n) for n, (data, head) in enumerate(found)]


def make(source, target, sessions, projects, megabytes):
    """Returns the bytes written."""
    mean = megabytes * 10**6 / sessions
    all_ = templates(source, mean)
    picked = random.Random(1).choices(all_, weights_of([t.size for t in all_], mean), k=sessions)
    folders = [f"{target}/--srv-project-{n:04}--" for n in range(projects)]
    for folder in folders:
        os.makedirs(folder)
    total = 0
    for n, template in enumerate(picked):
        project = 0 if n >= projects and n % 10 == 0 else n % projects
        data, name = template.copy(n, f"/srv/project-{project:04}")
        fd = os.open(f"{folders[project]}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(fd, data)
        when = 1767225600 - (n % DAYS) * 86400
        os.utime(fd, (when, when))
        os.close(fd)
        total += len(data)
    return total


if __name__ == "__main__":
    print(make(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])))
