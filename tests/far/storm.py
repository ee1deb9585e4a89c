#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two machines and pi write to one session at once; checks its contents afterwards.

storm.py make FILE
storm.py write MACHINE SESSION SECONDS ACKS   labels, names and branches through a mount, until the time is over
storm.py append FILE SECONDS ACKS             messages as pi appends them: its leaf in memory, one write a line
storm.py judge FILE ACKS...    ends with 1 if a line is just off its branch, with 2 if one is lost or torn

ACKS is a file with a line for each write that was acknowledged: its text. Each text is written once.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from session_lines import beginning, entry_id, line, message  # noqa: E402

EACH = 40
LEAST = 5  # at least this many of each, or the test shows nothing


def make(file):
    with open(file, "w", encoding="utf-8") as f:
        f.write(beginning(os.path.basename(file), 2 * EACH))


def rounds(seconds):
    end, k = time.monotonic() + float(seconds), 0
    while k < LEAST or time.monotonic() < end:
        yield k
        k += 1


def write(machine, session, seconds, acks):
    refused = 0
    with open(acks, "w", encoding="utf-8") as out:
        for k in rounds(seconds):
            entry = f"{session}/entries/{entry_id(int(machine) * EACH + k % EACH)}"
            name = f"{entry}/branch" if k % 8 == 7 else f"{session}/name" if k % 8 == 3 else f"{entry}/label"
            text = f"{machine}-{k}"
            try:
                with open(name, "w", encoding="utf-8") as f:
                    f.write(text + "\n")
            except OSError as e:
                refused += 1
                print(f"machine {machine}: {os.path.basename(name)}: {e.strerror}", file=sys.stderr)
                continue
            out.write(text + "\n")
    print(f"machine {machine}: {k + 1 - refused} written, {refused} refused")


def append(file, seconds, acks):
    leaf, failed = entry_id(2 * EACH - 1), 0
    with open(acks, "w", encoding="utf-8") as out:
        for k in rounds(seconds):
            own = f"{0xB0000000 + k:08x}"
            try:
                fd = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
                try:
                    os.write(fd, message(own, leaf, f"pi-{k}").encode())
                finally:
                    os.close(fd)
            except OSError as e:
                failed += 1
                print(f"pi: {e.strerror}", file=sys.stderr)
                continue
            leaf = own
            out.write(f"pi-{k}\n")
            time.sleep(0.01)
    print(f"pi: {k + 1 - failed} messages, {failed} failed")


def text_of(e):
    if e["type"] == "message":
        return e["message"]["content"]
    if e["type"] == "session":
        return e["type"]
    return e.get("label") or e.get("name") or e.get("summary")


def judge(file, *acks):
    with open(file, "rb") as f:
        data = f.read()
    lines = data.split(b"\n")
    torn = int(lines.pop() != b"")
    entries = []
    for text in lines:
        try:
            entries.append(json.loads(text))
        except ValueError:
            torn += 1
            print(f"torn: {text.decode(errors='replace')}", file=sys.stderr)
    acked = [text.strip() for a in acks for text in open(a, encoding="utf-8")]
    there = {text_of(e) for e in entries[1:]}
    lost = [t for t in acked if t not in there]

    # The last of equal lines counts: a line overtaken by another is repeated after it.
    last = {text_of(e): i for i, e in enumerate(entries) if i > 0}
    off, again = [], len(entries) - 1 - len(last)
    known = {e["id"] for e in entries}
    for text, i in last.items():
        e = entries[i]
        if e["type"] == "message":
            if e["parentId"] not in known and e["parentId"] is not None:
                off.append(text)
        elif e["type"] == "branch_summary":
            if e["parentId"] not in known or e["fromId"] not in known:
                off.append(text)
        else:
            while text_of(entries[i - 1]) == text:
                i -= 1
            if e["parentId"] != entries[i - 1]["id"]:
                off.append(text)
    print(f"{len(acked)} acknowledged, {len(lost)} of them lost; {torn} lines torn; {again} written again; {len(off)} off their branch")
    for what, v in ("lost", lost), ("off their branch", off):
        for text in v[:5]:
            i = last.get(text, 0)
            near = "\n".join(line(**e)[:200].rstrip() for e in entries[max(i - 2, 0) : i + 2] if i)
            print(f"{what}: {text}\n{near}", file=sys.stderr)
    sys.exit(2 if lost or torn else 1 if off else 0)


if __name__ == "__main__":
    {"make": make, "write": write, "append": append, "judge": judge}[sys.argv[1]](*sys.argv[2:])
