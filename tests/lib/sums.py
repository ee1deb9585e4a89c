#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The expected active seconds and costs with subagents, computed from the session files alone.

sums.py rows SOURCE             PATH, active, costWithSubagents of each session; a line for each
sums.py make SOURCE SEED        random trees of sessions that copy each other's entries

For sources in which all sessions are below a directory. A parent is named by its path, or by none.
"""
import json
import os
import random
import sys
from datetime import datetime

import facts


class Session(facts.Session):
    def __init__(self, source, file):
        with open(os.path.join(source, file), encoding="utf-8", errors="replace", newline="\n") as f:
            super().__init__(file, f.read().split("\n"), 0)


def sessions(source):
    files = [os.path.relpath(os.path.join(top, n), source) for top, _, names in os.walk(source) for n in names if n.endswith(".jsonl")]
    found = {s.file: s for s in (Session(source, f) for f in files) if s.is_session()}
    names = {}
    for file in found:
        names.setdefault(os.path.basename(file), []).append(file)
    for s in found.values():
        named = s.header.get("parentSession") or s.header.get("branchedFrom")
        s.parent = None
        if isinstance(named, str):
            others = [f for f in names.get(named.replace("\\", "/").split("/")[-1], []) if f != s.file]
            same = [f for f in others if f.split("/")[-2:] == named.replace("\\", "/").split("/")[-2:]]
            exact = [f for f in others if named == os.path.join(os.path.realpath(source), f)]
            by_name = [] if named.endswith("/session.jsonl") else others if len(others) == 1 else same if len(same) == 1 else []
            s.parent = found.get((exact or by_name or [None])[0])
        above = os.path.dirname(s.file)
        while s.parent is None and above:
            s.parent = found.get(above + ".jsonl")
            above = os.path.dirname(above)
    for s in found.values():
        s.started = [o for o in found.values() if o.parent is s and o.file.startswith(s.file[: -len(".jsonl")] + "/")]
    return found


def tree(s):
    return [s] + [below for o in s.started for below in tree(o)]


def cost(s):
    """As the total of usage.tsv, if there were only these sessions."""
    counted, sum_ = set(), 0.0
    for o in sorted(tree(s), key=lambda o: (o.created() is None, o.created() or 0, o.file.encode())):
        for _, _, n, key, is_result in o.uses():
            if key in counted:
                continue
            counted.add(key)
            sum_ += 0 if is_result and o.started else n[5]
    return sum_


def rows(source):
    for file, s in sorted(sessions(source).items()):
        sum_ = cost(s) if s.started else sum(n[5] for _, _, n, _, _ in s.uses())
        shown = f"{sum_:.9f}".rstrip("0").rstrip(".") if s.started or list(s.uses()) else ""
        print(file, s.active(), shown, sep="\t")


def make(source, seed):
    r = random.Random(seed)
    at = lambda t: datetime.utcfromtimestamp(1767225600 + t).strftime("%Y-%m-%dT%H:%M:%S.") + f"{r.randrange(1000):03d}Z"
    pool, files = [], []
    for n in range(40):
        above = r.choice([f for f in files if f.count("/") < 5] + ["--p--", "--p--"])
        files.append(f"{above}/{n}" if r.random() < 0.7 else f"{above}/run-{n}/session")
        header = {"type": "session", "version": 3, "id": f"s{n}", "timestamp": at(r.randrange(5000))}
        if r.random() < 0.3 and n:
            header["parentSession"] = os.path.join(os.path.realpath(source), r.choice(files) + ".jsonl")
        if r.random() < 0.1:
            del header["timestamp"]
        entries = [pool[i] for i in sorted(r.sample(range(len(pool)), min(len(pool), r.choice([0, 0, 3, 12]))))]
        for k in range(r.randrange(8)):
            of = {"role": r.choice(["assistant", "assistant", "toolResult"]), "content": [], "usage": {"input": r.randrange(9), "cost": {"total": r.randrange(1, 999) / 1000}}}
            entries.append({"type": "message", "id": f"e{n}-{k}", "parentId": None, "timestamp": at(r.randrange(40000)), "message": of})
            pool.append(entries[-1])
        if r.random() < 0.1 and entries:
            entries.append(entries[0])
        path = os.path.join(source, files[-1] + ".jsonl")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as f:
            for v in [header, *entries]:
                f.write(json.dumps(v) + "\n")


if __name__ == "__main__":
    {"rows": rows, "make": make}[sys.argv[1]](*sys.argv[2:])
