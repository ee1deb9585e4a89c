#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks a session file and its views in the mount after a write.

write.py wrote KEPT FILE SESSION PROGRAM SOURCE [RECORD...]

KEPT is a copy of the session file from before. FILE must be KEPT, byte for byte, then (if its last line is torn)
a newline, then exactly the lines of these records, made from the record's text, the ids in the file and pi's key
order; only the new id and the time are free. A RECORD is

    label ID TEXT     clear ID     name TEXT     branch ID TEXT     raw LINE (appended by another program)

SESSION, the mounted directory, must show that file and nothing else: every view is compared with a model and with a
fresh run of PROGRAM on SOURCE without a mount; no scratch files are left. At the end KEPT is the current file.
"""
import datetime
import hashlib
import json
import os
import re
import stat
import subprocess
import sys
import time

from session_lines import check, read_if_there as read

CONVERSATION = {"message", "custom_message", "compaction", "branch_summary"}
VIEWS = ["tree.txt", "chat.md", "context.md", "context.json", "transcript.md", "title", "info.json", "labels.tsv", "name"]
VIEWS += ["branches/current/" + v for v in ("chat.md", "context.md", "context.json", "transcript.md")]


def same(expected, actual, what):
    check(expected == actual, f"{what}: expected {expected!r}, got {actual!r}")


def text(value):
    """Formatted as by JSON.stringify."""
    return json.dumps(value, ensure_ascii=False)


def table(program):
    """Returns the names that the program has for each kind of directory: see tests/golden/dump.c, built in the same
    directory."""
    dump = os.path.join(os.path.dirname(program), "golden", "dump")
    rows = subprocess.run([dump, "--names"], check=True, capture_output=True, text=True).stdout.splitlines()
    names = {}
    for row in rows:
        _, above, name, *_ = row.split("\t")
        names.setdefault(above, set()).add(name)
    return names


class Session:
    """Reads the file as the tests need it: well-formed lines with unique ids."""

    def __init__(self, data):
        self.entries = []
        lines = data.split(b"\n")
        for line in lines[1:]:
            try:
                e = json.loads(line)
            except ValueError:
                continue
            if isinstance(e, dict) and isinstance(e.get("id"), str):
                self.entries.append(e)
        self.by_id = {e["id"]: e for e in self.entries}
        self.name, self.labels, self.summaries = "", {}, {}
        for e in self.entries:
            if e["type"] == "session_info":
                self.name = e.get("name", "").strip()
            elif e["type"] == "label":
                self.labels.pop(e["targetId"], None)
                if e.get("label"):
                    self.labels[e["targetId"]] = e["label"]
            elif e["type"] == "branch_summary" and e["summary"]:
                self.summaries[e["parentId"]] = e["summary"]

    def leaf(self):
        return self.entries[-1]["id"] if self.entries else None

    def position(self):
        e = self.entries[-1]
        while e and e["type"] not in CONVERSATION:
            e = self.by_id.get(e["parentId"])
        return e and e["id"]

    def branches(self):
        inner = set()
        for e in self.entries:
            if e["type"] not in CONVERSATION:
                continue
            up = self.by_id.get(e["parentId"])
            while up and up["type"] not in CONVERSATION:
                up = self.by_id.get(up["parentId"])
            if up:
                inner.add(up["id"])
        tips = {e["id"] for e in self.entries if e["type"] in CONVERSATION} - inner
        return tips | ({self.position()} - {None})


# --- the file ----------------------------------------------------------------------------


def judge_line(line, record, newest, taken, since):
    m = re.fullmatch(
        rb'\{"type":"[a-z_]+","id":"([0-9a-f]{8})","parentId":.*?,"timestamp":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)",.*\}',
        line,
    )
    check(m, f"{line!r} is no line as pi writes them")
    own, when = m[1].decode(), m[2].decode()
    check(own not in taken, f"the id {own} is taken")
    written = datetime.datetime.fromisoformat(when.replace("Z", "+00:00")).timestamp()
    check(since - 1 < written < time.time() + 1, f"{when} is not now")
    kind, _, rest = record.partition(" ")
    target, _, value = rest.partition(" ")
    head = {"label": "label", "clear": "label", "name": "session_info", "branch": "branch_summary"}[kind]
    parent = text(target) if kind == "branch" else "null" if newest is None else text(newest)
    tail = {
        "label": f'"targetId":{text(target)},"label":{text(value)}',
        "clear": f'"targetId":{text(target)}',
        "name": f'"name":{text(rest)}',
        "branch": f'"fromId":{text(newest)},"summary":{text(value)}',
    }[kind]
    expected = f'{{"type":"{head}","id":"{own}","parentId":{parent},"timestamp":"{when}",{tail}}}'
    same(expected.encode(), line, f"the line for {record!r}")
    return own


def judge_file(before, after, records, since):
    check(after.startswith(before), "what was in the session file has changed")
    new = after[len(before) :]
    if not records:
        same(b"", new, "nothing was to be appended")
        return
    if not before.endswith(b"\n"):
        check(new.startswith(b"\n"), "the torn line was not ended first")
        new = new[1:]
    check(new.endswith(b"\n"), "the last line is not complete")
    lines = new[:-1].split(b"\n")
    same(len(records), len(lines), f"the number of new lines ({new.decode('utf-8', 'replace')})")
    session = Session(before)
    newest, taken = session.leaf(), set(session.by_id)
    for line, record in zip(lines, records):
        if record.startswith("raw "):
            same(record[4:].encode(), line, "the line of somebody else")
            newest = json.loads(line)["id"]
        else:
            newest = judge_line(line, record, newest, taken, since)
        taken.add(newest)


# --- the views -------------------------------------------------------------------------------


def encode(name):
    out = "".join(f"%{ord(c):02X}" if c in "/%\x7f" or ord(c) < 32 else c for c in name)
    return f"%{ord(out[0]):02X}" + out[1:] if out[0] in ".~" else out


def link_names(labels):
    texts = list(labels.values())
    names = {}
    for i, label in labels.items():
        suffix = f"~{i}" if texts.count(label) > 1 else ""
        name = encode(label)
        if len((name + suffix).encode()) > 255:
            digest = "~" + hashlib.sha256((label + suffix).encode()).hexdigest()[:8]
            short = ""
            for c in re.findall("%..|.", name):
                if len((short + c + digest).encode()) > 255:
                    break
                short += c
            names[short + digest] = i
        else:
            names[name + suffix] = i
    return names


def plain(label):
    """In a line of a document."""
    return re.sub(r"[\x00-\x1f\x7f]", " ", label)


def cell(label):
    return label.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\0", "\\0")


def judge_names(d, s, program):
    names = table(program)
    extra = set(os.listdir(d)) - names["projects/PROJECT/STEM/"]
    for i in os.listdir(f"{d}/entries"):
        found = set(os.listdir(f"{d}/entries/{i}"))
        extra |= found - names["projects/PROJECT/STEM/entries/ID/"]
        same(i in s.labels, "label" in found, f"whether entries/{i} lists a label")
        same(i in s.summaries, "branch" in found, f"whether entries/{i} lists a branch")
    same(set(), extra, "side files that are left")
    same(bool(s.name), "name" in os.listdir(d), "whether a name is listed")
    same(set(s.by_id), set(os.listdir(f"{d}/entries")), "entries")
    # A leaf with only metadata on its path, down to a missing parent, is on no branch.
    current = {"current"} if s.position() else set()
    same(s.branches() | current, set(os.listdir(f"{d}/branches")), "branches")
    if current:
        same(s.position(), os.readlink(f"{d}/branches/current"), "the current branch")
    same(f"entries/{s.leaf()}", os.readlink(f"{d}/leaf"), "leaf")
    same(len(f"entries/{s.leaf()}"), os.lstat(f"{d}/leaf").st_size, "size of leaf")
    links = {n: os.readlink(f"{d}/labels/{n}") for n in os.listdir(f"{d}/labels")}
    same({n: f"../entries/{i}" for n, i in link_names(s.labels).items()}, links, "links in labels/")
    for n, target in links.items():
        same(len(target), os.lstat(f"{d}/labels/{n}").st_size, f"size of labels/{n}")


def judge_values(d, s):
    same(f"{s.name}\n".encode() if s.name else None, read(f"{d}/name"), "name")
    info = json.loads(read(f"{d}/info.json"))
    same(s.name or None, info.get("name"), "name in info.json")
    same(len(s.labels), info["labels"], "labels in info.json")
    same(len(s.branches()), info["branches"], "branches in info.json")
    same(len(s.entries), info["entries"], "entries in info.json")
    same(s.leaf(), info["leaf"], "leaf in info.json")
    title = s.name or plain(info["firstMessage"]).strip()
    same(title + "\n", read(f"{d}/title").decode(), "title")
    for e in s.entries:
        i = e["id"]
        label, branch = s.labels.get(i), s.summaries.get(i)
        same(f"{label}\n".encode() if label else None, read(f"{d}/entries/{i}/label"), f"entries/{i}/label")
        same(f"{branch}\n".encode() if branch else None, read(f"{d}/entries/{i}/branch"), f"entries/{i}/branch")
    rows = [r.split("\t") for r in read(f"{d}/labels.tsv").decode().split("\n")[:-1] if not r.startswith("#")]
    shown = [e["id"] for e in s.entries if e["type"] in CONVERSATION or e["id"] in s.labels]
    same([[i, cell(s.labels.get(i, ""))] for i in shown], [r[:2] for r in rows], "labels.tsv")


def judge_texts(d, s):
    for row in read(f"{d}/tree.txt").decode().split("\n")[:-1]:
        i = row.split(" ")[0]
        if i in s.labels:
            label = plain(s.labels[i])
            check(f"[{label}] " in row, f"the label {label!r} in the row {row!r}")
        same(i == s.position(), row.endswith("  <- leaf"), f"the leaf in the row {row!r}")
    for view in "context.md", "transcript.md":
        for i, rest in re.findall(r"^## .*? · ([0-9a-f]{8}) · (.*)$", (read(f"{d}/{view}") or b"").decode(), re.M):
            label = s.labels.get(i)
            label = label and plain(label)
            same(label is not None, rest.endswith(f" · [{label}]"), f"{view}: label of {i} in {rest!r}")
    summary = s.entries[-1].get("summary")
    if summary:
        for view in "context.md", "transcript.md", "branches/current/context.md":
            check(summary.split("\n")[0] in read(f"{d}/{view}").decode(), f"{view}: the new summary")


def judge_modes(d, s):
    for name in "name", "labels.tsv":
        if os.path.exists(f"{d}/{name}"):
            same(0o644, stat.S_IMODE(os.stat(f"{d}/{name}").st_mode), f"mode of {name}")
    for name in [".", "labels"] + [f"entries/{i}" for i in s.by_id]:
        same(0o755, stat.S_IMODE(os.stat(f"{d}/{name}").st_mode), f"mode of {name}")


def judge_anew(d, program, source):
    """Returns the output of a process that has read the file just now."""
    mount = d[: d.index("/projects/")]
    path = d[len(mount) + 1 :]
    for view in VIEWS:
        shown = read(f"{d}/{view}")
        run = subprocess.run([program, "-S", source, "--cat", f"{path}/{view}"], capture_output=True, check=False)
        same(run.returncode == 0, shown is not None, f"whether there is {view}")
        same(run.stdout, shown or b"", view)
        if shown is not None:
            same(len(shown), os.stat(f"{d}/{view}").st_size, f"size of {view}")


def wrote(kept, file, d, program, source, *records):
    after = read(file)
    judge_file(read(kept), after, records, os.stat(kept).st_mtime)
    session = Session(after)
    judge_names(d, session, program)
    judge_values(d, session)
    judge_texts(d, session)
    judge_modes(d, session)
    judge_anew(d, program, source)
    same(after, read(f"{d}/session.jsonl"), "session.jsonl")
    with open(kept, "wb") as f:
        f.write(after)


if __name__ == "__main__":
    {"wrote": wrote}[sys.argv[1]](*sys.argv[2:])
