#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes random edits of the context through a mount, and checks each against a model of pi's buildSessionContext.

context_edits.py MOUNT N SEED STATES FILE...
context_edits.py MOUNT N storm FILE STEPS    edits the first entries of FILE while messages are appended (storm.py)

FILE are session files of the mounted source. After each step the file must be its old bytes and at most one line, and
context.json of the session and of the entry must show what the model expects. STATES gets a line for each step: the
file, its size and the context, for a comparison with pi; /dev/null: none.
"""
import collections
import datetime
import errno
import glob
import json
import os
import random
import re
import subprocess
import sys

from session_lines import check

EDITED = {"user", "assistant", "toolResult"}
TEXT = {"type": "text", "text": "shorter \u2713 \"x\"\n"}
IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
THINKING = {"type": "thinking", "thinking": "hm"}
CALL = {"type": "toolCall", "id": "call_0", "name": "bash", "arguments": {"command": "true", "n": [1.5, None]}}
BLOCKS = {"text", "image"}, {"text", "thinking", "toolCall"}


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return None


def ms(time):
    return round(datetime.datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp() * 1000)


def without_none(**fields):
    return {k: v for k, v in fields.items() if v is not None}


class Session:
    def __init__(self, file, mounted):
        self.file, self.dir = file, mounted
        self.data, self.entries, self.by_id = b"", [], {}
        self.grow()

    def grow(self):
        """Returns the entries that were appended."""
        with open(self.file, "rb") as f:
            data = f.read()
        check(data.startswith(self.data), f"{self.file}: the old bytes have changed")
        fresh = [json.loads(line) for line in data[len(self.data) :].decode().split("\n") if line]
        fresh = [e for e in fresh if e["type"] != "session"]
        self.entries += fresh
        self.by_id.update((e["id"], e) for e in fresh)
        self.data = data
        return fresh

    def path(self):
        path, e = [], self.entries[-1]
        while e:
            path.append(e)
            e = self.by_id.get(e["parentId"])
        return path[::-1]

    @staticmethod
    def role(e):
        return e["message"]["role"] if e["type"] == "message" else "custom" if e["type"] == "custom_message" else None

    def editable(self):
        return [e for e in self.path() if e["type"] == "custom_message" or self.role(e) in EDITED]

    def is_editable(self, e):
        return any(x is e for x in self.editable())

    def own(self, e):
        content = e.get("content") if e["type"] == "custom_message" else e["message"].get("content")
        return [] if content is None else content

    def message(self, e, first):
        """Returns the messages of an entry without edits."""
        if e["type"] == "message":
            m = dict(e["message"])
            if m["role"] in EDITED | {"system"} and m.get("content") is None:
                m["content"] = "" if m["role"] == "system" else []
            return [m]
        if e["type"] == "custom_message":
            return [without_none(role="custom", customType=e["customType"], content=self.own(e), display=e.get("display"),
                    details=e.get("details"), timestamp=ms(e["timestamp"]))]
        if e["type"] == "branch_summary" and e.get("summary"):
            return [without_none(role="branchSummary", summary=e["summary"], fromId=e.get("fromId"), timestamp=ms(e["timestamp"]))]
        if e["type"] == "compaction" and first:
            summary = without_none(role="compactionSummary", summary=e.get("summary"), tokensBefore=e.get("tokensBefore"),
                timestamp=ms(e["timestamp"]))
            return [e["systemMessage"], summary] if e.get("systemMessage") else [summary]
        return []

    def newest_edit(self, e):
        edits = [x for x in self.path() if x["type"] == "context_edit" and x["targetId"] == e["id"]]
        return edits[-1]["replacement"] if edits else {"content": self.own(e)}

    def context(self):
        path = self.path()
        at = max((i for i, e in enumerate(path) if e["type"] == "compaction"), default=None)
        used = path
        if at is not None:
            kept = [i for i in range(at) if path[i]["id"] == path[at].get("firstKeptEntryId")]
            used = [e for e in path[kept[0] : at] if self.role(e) != "system"] if kept else []
            used = [path[at]] + used + path[at + 1 :]
        edits = {e["targetId"]: e["replacement"] for e in used if e["type"] == "context_edit"}
        messages, omitted = [], {None: None}
        for i, e in enumerate(used):
            to = edits.get(e["id"], omitted)
            for m in self.message(e, i == 0):
                if to is omitted:
                    messages.append(m)
                elif to is not None:
                    text = isinstance(to["content"], str) and m["role"] in ("assistant", "toolResult")
                    messages.append({**m, "content": [{"type": "text", "text": to["content"]}] if text else to["content"]})
        return messages


def is_legal(value, role):
    if value is None or isinstance(value, str):
        return True
    return all(b["type"] in BLOCKS[role == "assistant"] for b in value)


def some_value(rng, s, e):
    own = s.own(e) if s.role(e) in EDITED | {"custom"} else []
    kind = rng.randrange(8)
    if kind == 0:
        return None
    if kind == 1:
        return rng.choice(["", "short", "\u00fc \"\\\n\u2028", own if isinstance(own, str) else "own"])
    if kind == 2:
        return own if s.role(e) in EDITED | {"custom"} else None
    if kind < 6 and isinstance(own, list):  # part of what is there
        return [b for b in own if rng.random() < 0.7]
    return [rng.choice([TEXT, IMAGE, THINKING, CALL] if kind == 7 else [TEXT]) for _ in range(rng.randrange(4))]


def put(rng, entry, value):
    """Writes as programs do. Returns whether that was accepted, and the way."""
    path = f"{entry}/context.json"
    is_ascii = rng.random() < 0.5 or re.search("[\ud800-\udfff]", json.dumps(value, ensure_ascii=False))
    text = json.dumps(value, ensure_ascii=bool(is_ascii), indent=rng.choice([None, 1])) + rng.choice(["", "\n"])
    way = rng.choice(["write", "rename", "pieces", "tee", "echo"])
    line = json.dumps(value)
    # bash writes a longer line in pieces, and ignores the error of close(2).
    if way == "echo" and len(line) < 1000:
        run = subprocess.run(["bash", "-c", 'printf "%s\\n" "$0" >"$1"', line, path], capture_output=True)
        return run.returncode == 0, way
    if way in ("tee", "echo"):
        return subprocess.run(["tee", path], input=text.encode(), capture_output=True).returncode == 0, way
    try:
        with open(f"{entry}/aside" if way == "rename" else path, "wb", 16 if way == "pieces" else -1) as f:
            f.write(text.encode())
        if way == "rename":
            os.rename(f"{entry}/aside", path)
    except OSError as error:
        check(error.errno == (errno.EPERM if way == "rename" else errno.EINVAL), f"{path}: {error}")
        if way == "rename":
            os.unlink(f"{entry}/aside")
        return False, way
    return True, way


def step(rng, s, done):
    named = [e for e in s.entries if re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z_-]*", e["id"])]
    edited = {e["targetId"] for e in s.entries if e["type"] == "context_edit"}
    usual = [[e for e in s.editable() if e in named] if len(named) < 50 else s.editable(), [e for e in named if e["id"] in edited], named]
    e = rng.choice(rng.choice([v for v in usual if v]))
    entry, before, leaf = f"{s.dir}/entries/{e['id']}", s.newest_edit(e) if s.role(e) else None, s.entries[-1]["id"]
    what = f"{s.file}: {e['id']}"
    if rng.random() < 0.04:
        os.symlink(f"entries/{e['id']}", f"{s.dir}/Cu12ab9Z")
        os.rename(f"{s.dir}/Cu12ab9Z", f"{s.dir}/leaf")
        check({x["type"] for x in s.grow()} <= {"branch_summary"}, f"{what}: not a move of the leaf")
        done["moves"] += 1
        return e
    if rng.random() < 0.2:
        # A process whose write was refused must not remove the name.
        run = subprocess.run(["rm", f"{entry}/context.json"], capture_output=True, text=True)
        if run.returncode != 0:
            check("No such file" in run.stderr, f"{what}: {run.stderr}")
            check(not s.role(e) or not s.is_editable(e) or before == {"content": s.own(e)}, f"{what}: no file for {before}")
            done["nothing to restore"] += 1
            return e
        expected = {"content": s.own(e)}
        done["restored"] += 1
    else:
        value = some_value(rng, s, e)
        is_taken, way = put(rng, entry, value)
        should = s.is_editable(e) and is_legal(value, s.role(e))
        check(is_taken == should, f"{what}: {value!r} of {s.role(e)} by {way}: accepted {is_taken}, expected {should}")
        done["accepted" if is_taken else "refused"] += 1
        expected = before if not should else None if value is None else {"content": value}
    fresh = s.grow()
    if expected == before:
        check(not fresh, f"{what}: appended {fresh}")
        done["unchanged"] += 1
        return e
    check(len(fresh) == 1, f"{what}: appended {fresh}")
    line = fresh[0]
    check(list(line) == ["type", "id", "parentId", "timestamp", "targetId", "replacement"], f"{what}: {line}")
    same = (line["type"], line["parentId"], line["targetId"], line["replacement"])
    check(same == ("context_edit", leaf, e["id"], expected), f"{what}: {line}, not {expected!r}")
    return e


def judge(s, e, states):
    text = read(f"{s.dir}/context.json")
    got, expected = json.loads(text)["messages"], s.context()
    check(got == expected, f"{s.file}: after {e['id']}: the context is {got}, not {expected}")
    states.write(json.dumps({"file": s.file, "size": len(s.data), "context": text}) + "\n")
    if not s.role(e):
        return
    edit, shown = s.newest_edit(e), read(f"{s.dir}/entries/{e['id']}/context.json")
    is_there = edit != {"content": s.own(e)}
    value = None if edit is None else edit["content"]
    check((shown is not None) == is_there, f"{s.file}: {e['id']}: {shown!r} for {edit}")
    if is_there:
        check(json.loads(shown) == value, f"{s.file}: {e['id']}: {shown!r} for {edit}")
        check(shown == json.dumps(value, indent=2, ensure_ascii=False) + "\n" or "\\u" in shown or "\\/" in shown, f"not pretty: {shown!r}")


def open_sessions(mount, files):
    dirs = {os.path.realpath(read(p)[:-1]): os.path.dirname(p) for p in glob.glob(f"{mount}/projects/*/*/path")}
    return [Session(f, dirs[os.path.realpath(f)]) for f in files]


def storm(mount, n, file, steps):
    """Each edit must be in the file, the last copy of it below the entry before it, and the context as expected."""
    s, last = open_sessions(mount, [file])[0], {}
    old = [e for e in s.entries if e["type"] == "message"][:20]
    pi = subprocess.Popen([sys.executable, f"{os.path.dirname(__file__)}/storm.py", "append", file, str(2 * n), "1", steps])
    for k in range(n):
        e = old[k % len(old)]
        last[e["id"]] = f"edit {k}"
        with open(f"{s.dir}/entries/{e['id']}/context.json", "w") as f:
            f.write(json.dumps(last[e["id"]]) + "\n")
    check(pi.wait() == 0, "the appended messages")
    s.grow()
    parents = {}
    for i, e in enumerate(s.entries):
        if e["type"] == "context_edit":
            text = e["replacement"]["content"]
            # If a message came in between, the edit is written again; its first copy is no parent.
            above = next(x for x in reversed(s.entries[:i]) if (x.get("replacement") or {}).get("content") != text)
            parents[text] = e["parentId"] == above["id"]
    check(list(parents) == [f"edit {k}" for k in range(n)], f"{len(parents)} of {n} edits, in this order: {list(parents)}")
    check(all(parents.values()), f"not below the entry before it: {[v for v in parents if not parents[v]]}")
    # pi knows only its own lines: its newest message has left the edits before it.
    for i, text in last.items():
        with open(f"{s.dir}/entries/{i}/context.json", "w") as f:
            f.write(json.dumps(text) + "\n")
    s.grow()
    for e in old:
        judge(s, e, open(os.devnull, "w"))
        check(s.newest_edit(e) == {"content": last[e["id"]]}, f"the edit of {e['id']}")
    changes = sum(a["type"] != b["type"] for a, b in zip(s.entries, s.entries[1:]))
    print(f"{n} edits next to pi, {changes} changes between edits and messages")


def main(mount, n, seed, states, files):
    rng, done = random.Random(seed), collections.Counter()
    sessions = open_sessions(mount, files)
    with open(states, "w") as out:
        for _ in range(n):
            s = rng.choice(sessions)
            judge(s, step(rng, s, done), out)
    for what in ("accepted", "refused", "restored", "unchanged", "moves"):
        check(done[what] >= n // 60, f"only {dict(done)}")
    print(f"{n} steps: {dict(done)}")


if __name__ == "__main__":
    if sys.argv[3] == "storm":
        storm(sys.argv[1], int(sys.argv[2]), *sys.argv[4:])
        sys.exit()
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5:])
