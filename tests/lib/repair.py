# SPDX-License-Identifier: MIT
"""Damages copies of session files, repairs them, and checks the result: it begins with a header, no id occurs twice, each
parent comes before its children, every line that was whole is there, and nothing else is; only the first entry has a parent
that is not there; changes are named in the order of lines; a second repair changes nothing.

usage: repair.py PROGRAM SEED ROUNDS DIR FILE...	DIR keeps the repaired files, for another program to open"""

import json
import os
import random
import subprocess
import sys

program, seed, rounds, out, *files = sys.argv[1:]
random.seed(int(seed))


def no_header(lines):
    del lines[0]


def tear_header(lines):
    lines[0] = lines[0][: random.randrange(1, len(lines[0]) - 1)]


def glue(lines):
    i = random.randrange(len(lines) - 1)
    lines[i : i + 2] = [lines[i] + lines[i + 1]]


def tear_and_glue(lines):
    i = random.randrange(len(lines) - 1)
    lines[i : i + 2] = [lines[i][: random.randrange(len(lines[i]))] + lines[i + 1]]


def tear(lines):
    i = random.randrange(1, len(lines))
    lines[i] = lines[i][: random.randrange(1, len(lines[i]) - 1)]


def tear_last(lines):
    lines[-1] = lines[-1][: random.randrange(1, len(lines[-1]) - 1)]


def zero(lines):
    text = b"\n".join(lines)
    at = random.randrange(len(text))
    n = random.choice([1, 10, 512, 4096])
    lines[:] = (text[:at] + bytes(len(text[at : at + n])) + text[at + n :]).split(b"\n")


def add_zeros(lines):
    lines.insert(random.randrange(len(lines) + 1), bytes(random.choice([1, 100, 4096])))


def drop(lines):
    i = random.randrange(1, len(lines))
    del lines[i : i + random.randrange(1, 3)]


def swap(lines):
    i, k = random.randrange(len(lines)), random.randrange(len(lines))
    lines[i], lines[k] = lines[k], lines[i]


def repeat(lines):
    i = random.randrange(1, len(lines))
    lines[random.randrange(1, len(lines) + 1) : 0] = lines[i : i + random.randrange(1, 5)]


def same_id(lines):
    i, k = random.randrange(1, len(lines)), random.randrange(1, len(lines))
    one, other = json.loads(lines[i]), json.loads(lines[k])
    if isinstance(one.get("id"), str) and isinstance(other.get("id"), str):
        lines[k] = lines[k].replace(b'"id":"' + other["id"].encode() + b'"', b'"id":"' + one["id"].encode() + b'"', 1)


def mark(lines):
    lines[0] = b"\xef\xbb\xbf" + lines[0]


DAMAGES = [no_header, tear_header, glue, tear_and_glue, tear, tear_last, zero, add_zeros, drop, swap, repeat, same_id, mark]


def bare(line):
    """Returns an entry without what a repair can change."""
    value = json.loads(line)
    return json.dumps({k: v for k, v in value.items() if k not in ("id", "parentId")}, sort_keys=True)


def repair(path):
    done = subprocess.run([program, "--repair", path], capture_output=True)
    assert done.returncode == (0 if done.stdout else 1), done
    assert done.stdout or done.stderr, done
    said = done.stderr.decode("utf-8", "replace")
    numbers = [int(line.removeprefix(path + ":").split(":")[0]) for line in said.splitlines() if done.stdout]
    assert numbers == sorted(numbers), said
    return done.returncode, done.stdout, said


def check(path, damaged, original, name):
    status, got, said = repair(path)
    whole = [line for line in set(original) if line and line in damaged]
    entries = [line for line in whole if json.loads(line).get("type") != "session"]
    if status == 1:
        assert not whole, f"{name}: not repaired, though {len(whole)} lines are whole: {said}"
        return "not possible"
    lines = got.split(b"\n")
    if not said:
        assert got == damaged, f"{name}: sound, but printed differently"
        return "sound"
    assert lines.pop() == b"", f"{name}: the last line has no newline"
    values = [json.loads(line) for line in lines]
    assert values[0].get("type") == "session" and isinstance(values[0].get("id"), str), f"{name}: the header is {lines[0][:200]}"
    for line in whole:
        if json.loads(line).get("type") == "session":
            assert lines[0] == line, f"{name}: the header was whole, and is {lines[0][:200]}"
    have = {bare(line) for line in lines[1:]}
    for line in entries:
        assert bare(line) in have, f"{name}: lost {line[:200]}\n{said}"
    known = {bare(line) for line in original if line} | {bare(line) for line in damaged.split(b"\n") if is_json(line)}
    assert have <= known, f"{name}: made up {[x[:200] for x in have - known]}"
    ids = [v["id"] for v in values[1:] if isinstance(v.get("id"), str)]
    assert len(ids) == len(set(ids)), f"{name}: an id occurs twice\n{said}"
    seen = set()
    for v in values[1:]:
        parent = v.get("parentId")
        assert parent not in ids or parent in seen, f"{name}: {v['id']} comes before its parent\n{said}"
        assert not parent or parent in seen or not seen, f"{name}: {v['id']} has a parent that is not there\n{said}"
        if v.get("type") != "session":
            seen.add(v.get("id"))
    with open(path, "wb") as f:
        f.write(got)
    again = repair(path)
    assert again == (0, got, ""), f"{name}: a second repair ends with {again[0]}: {again[2]}"
    return "repaired"


def is_json(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def is_sound(file):
    with open(file, "rb") as f:
        lines = f.read().removesuffix(b"\n").split(b"\n")
    return len(lines) > 2 and all(map(is_json, lines)) and json.loads(lines[0]).get("type") == "session"


files = [file for file in files if is_sound(file)]
counts = {"sound": 0, "repaired": 0, "not possible": 0}
for n in range(int(rounds)):
    file = random.choice(files)
    with open(file, "rb") as f:
        original = f.read().split(b"\n")
    original = [line for line in original if line]
    lines = list(original)
    names = []
    for _ in range(random.choice([0, 1, 1, 1, 1, 2, 3])):
        damage = random.choice(DAMAGES)
        try:
            damage(lines)
        except (ValueError, IndexError):
            continue # there is no such place in what is left
        names.append(damage.__name__)
    damaged = b"\n".join(lines) + (b"" if "tear_last" in names else b"\n")
    path = os.path.join(out, f"{n}_{os.path.basename(file)}")
    with open(path, "wb") as f:
        f.write(damaged)
    counts[check(path, damaged, original, f"{n}, {file}: {' '.join(names)}")] += 1
print(f"{rounds} files: " + ", ".join(f"{n} {how}" for how, n in counts.items()))
