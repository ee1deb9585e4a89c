# SPDX-License-Identifier: MIT
"""Checks the sessions of tests/stress/load afterwards. Each function returns what is wrong."""

import json
import os
import subprocess
import time

import users

#: how long the kernel can take to hear of the last changes
SETTLED = 30
#: empty lines in all files
EMPTY = 4


def entries_of(place, s, faults):
    """The entries of a session file, and the number of empty lines. A line that is cut is a fault, since pi's writes are
    whole. A line of pi can seem half-written while its process sleeps: an empty line follows it."""
    data, entries, empty = users.read(place.file(s)), [], 0
    if not data.endswith(b"\n"):
        faults.append(f"session {s}: the last line is not complete")
    for number, text in enumerate(data.split(b"\n")[1:-1], 2):
        empty += not text
        try:
            entries += [json.loads(text)] if text else []
        except ValueError:
            faults.append(f"session {s}, line {number}: torn: {text[:100]!r}")
    return entries, empty


def messages(s, entries, acks, faults):
    """Each message of pi is there once, in order, below the one before it."""
    first = [e["id"] for e in entries[: users.MESSAGES]]
    if first != [users.first_id(i) for i in range(users.MESSAGES)]:
        faults.append(f"session {s}: its first messages have changed")
    new = [e for e in entries[users.MESSAGES :] if e["type"] == "message"]
    found = [(int(users.MARK.search(e["message"]["content"][0]["text"].encode())[2]), e["id"]) for e in new]
    if found != [(k, own) for t, k, own in acks if t == s]:
        faults.append(f"session {s}: {len(found)} messages of pi; they are not those acknowledged")
    parent = users.first_id(users.MESSAGES - 1)
    for e in new:
        if e["parentId"] != parent:
            faults.append(f"session {s}: {e['id']} has the parent {e['parentId']}, not {parent}")
        parent = e["id"]


def key(e):
    return (e["type"], e.get("targetId", ""), e.get("label", e.get("name")))


def records(s, entries, acks, faults):
    """Each record that was acknowledged is on the branch of all messages before it, in the order of the writer, and no
    other record is. Returns how many are there once more, since a message of pi overtook them or seemed to."""
    reached, newest, found, overtaken, repeats = {}, None, [], set(), 0
    for e in entries:
        if e["id"] in reached:
            faults.append(f"session {s}: the id {e['id']} is there twice")
        if e["parentId"] is not None and e["parentId"] not in reached:
            faults.append(f"session {s}: the parent of {e['id']} is not above it")
        if e["type"] == "message":
            newest = reached[e["id"]] = e["id"]
            continue
        reached[e["id"]] = reached.get(e["parentId"])
        if reached[e["id"]] == newest:
            found.append(key(e))
            overtaken.discard(key(e))
        else:
            overtaken.add(key(e))
            repeats += 1
    for lost in overtaken:
        faults.append(f"session {s}: {lost} is on a branch without the message before it")
    once = list(dict.fromkeys(found))  # a writer that cannot tell repeats a record, as in storm.py
    repeats, found = repeats + len(found) - len(once), once
    expected = {(kind, target, text): n for t, n, kind, target, text in acks if t == s}
    if set(found) != set(expected):
        lost, more = set(expected) - set(found), set(found) - set(expected)
        faults.append(f"session {s}: {len(found)} records of {len(expected)}; lost {list(lost)[:3]}, not written {list(more)[:3]}")
    elif [expected[f] for f in found] != sorted(expected.values()):
        faults.append(f"session {s}: the records are in another order")
    return repeats


def files_of(session, names):
    """What a directory of a session shows: bytes, targets of links, and the names of its entries."""
    shown = {"entries": sorted(os.listdir(f"{session}/entries"))}
    for directory in ("", "labels", "branches/current", *(f"entries/{name}" for name in names)):
        for name in os.listdir(f"{session}/{directory}") if os.path.isdir(f"{session}/{directory}") else ():
            path = f"{session}/{directory}/{name}"
            if os.path.islink(path):
                shown[f"{directory}/{name}"] = os.readlink(path)
            elif os.path.isfile(path):
                shown[f"{directory}/{name}"] = users.read(path)
                if len(shown[f"{directory}/{name}"]) != os.stat(path).st_size:
                    shown[f"{directory}/{name}, its size"] = os.stat(path).st_size
    return shown


def differences(one, other):
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]


def shown(place, s, names, fresh, faults):
    """The mount shows the same as a fresh one, the file itself, and --cat. Returns the number of files compared."""
    session, end = place.session(s), time.monotonic() + SETTLED
    truth = files_of(f"{fresh}/projects/load/s{s:02}", names)
    while (other := differences(files_of(session, names), truth)) and time.monotonic() < end:
        time.sleep(0.1)
    if other:
        faults.append(f"session {s}: a fresh mount shows other {other[:5]}")
    if truth["/session.jsonl"] != users.read(place.file(s)):
        faults.append(f"session {s}: session.jsonl is not the file")
    if truth.get("/errors"):
        faults.append(f"session {s}: a write was refused: {truth['/errors'][:200]!r}")
    program = os.environ.get("SESSIONFS", "build/sessionfs")
    for view in ("transcript.md", "tree.txt", "labels.tsv"):
        done = subprocess.run([program, "-S", place.source, "--cat", f"projects/load/s{s:02}/{view}"], capture_output=True, check=False)
        if done.stdout != truth[f"/{view}"]:
            faults.append(f"session {s}: --cat prints another {view}")
    return len(truth) + 3


def all_of(place, fresh):
    """What is wrong, and how many writes, repeated records and files were compared."""
    faults, repeats, files, empty = [], 0, 0, 0
    pi = place.acknowledged("pi")
    acks = place.acknowledged("labels") + place.acknowledged("saves")
    for s in range(place.sessions):
        entries, more = entries_of(place, s, faults)
        empty += more
        messages(s, entries, pi, faults)
        repeats += records(s, entries, acks, faults)
        some = place.random.sample([e["id"] for e in entries], 20)
        files += shown(place, s, some, fresh, faults)
    if empty > EMPTY:
        faults.append(f"{empty} lines are empty")
    return faults, {"messages": len(pi), "records": len(acks), "repeated": repeats, "empty-lines": empty, "files": files}
