#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Agents start others, and clean up after them: makes, renames, removes and replaces directories in a source for some
seconds. nested_storm.py SOURCE OUTSIDE SECONDS SEED"""
import os
import random
import shutil
import sys
import time

import nested

SOURCE, OUTSIDE = sys.argv[1:3]
DRAW = random.Random(int(sys.argv[4]))
#: No two of these paths make one STEM, so a mount made later has the same names.
TOPS = ["--p--", "--q--", "agents", "flat0", "flat1", "later"]
DIRS = ["s0", "s1", "run-0", "run-1", "h"]


def some_dir(depth):
    return os.path.join(SOURCE, DRAW.choice(TOPS), *(DRAW.choice(DIRS) for _ in range(depth)))


def a_session():
    path = os.path.join(some_dir(DRAW.randrange(2, 8)), "session.jsonl")
    nested.write(path, f"n{time.monotonic_ns()}", entry=DRAW.random() < 0.9)


def an_append():
    path = os.path.join(some_dir(DRAW.randrange(1, 5)), "session.jsonl")
    if os.path.exists(path):
        with open(path, "a", encoding="utf-8") as f:
            f.write('{"type":"message","id":"%x","parentId":"0a","message":{"role":"user","content":"more"}}\n' % time.monotonic_ns())


def a_session_goes():
    os.unlink(os.path.join(some_dir(DRAW.randrange(2, 5)), "session.jsonl"))


def a_move():
    to = some_dir(DRAW.randrange(1, 5))
    os.makedirs(os.path.dirname(to), exist_ok=True)
    if not os.path.lexists(to):
        os.rename(some_dir(DRAW.randrange(1, 5)), to)


def an_exchange():
    one, two, spare = some_dir(1), some_dir(1), os.path.join(SOURCE, ".spare")
    os.rename(one, spare)
    if os.path.lexists(two):
        os.rename(two, one)
    if not os.path.lexists(two):
        os.rename(spare, two)


def away_and_back():
    path, away = some_dir(DRAW.randrange(0, 4)), os.path.join(OUTSIDE, "away")
    os.rename(path, away)
    try:
        nested.write(os.path.join(away, "run-1/session.jsonl"), f"a{time.monotonic_ns()}")
        time.sleep(DRAW.random() / 50)
    finally:
        os.rename(away, path)


def a_link():
    path = some_dir(DRAW.randrange(1, 4))
    shutil.rmtree(path)
    os.symlink(os.path.join(OUTSIDE, "linked"), path)


def no_link():
    path = some_dir(DRAW.randrange(1, 4))
    if os.path.islink(path):
        os.unlink(path)


def another():
    path = some_dir(DRAW.randrange(1, 4))
    shutil.rmtree(path)
    nested.write(os.path.join(path, "run-0/session.jsonl"), f"o{time.monotonic_ns()}")


def removal():
    shutil.rmtree(some_dir(DRAW.randrange(0, 4)))


def main():
    for n in range(2):
        nested.write(os.path.join(SOURCE, f"flat{n}.jsonl"), f"flat{n}", f"/flat/{n}")
    nested.write(os.path.join(OUTSIDE, "linked/run-0/session.jsonl"), "outside")
    deeds = [a_session] * 12 + [an_append] * 6 + [a_session_goes, a_move, a_move, an_exchange, away_and_back, a_link, no_link]
    deeds += [no_link, another, removal]
    end, done = time.monotonic() + float(sys.argv[3]), 0
    while time.monotonic() < end:
        try:
            DRAW.choice(deeds)()
            done += 1
        except OSError:
            pass
        if done % 8 == 0:
            time.sleep(0.002)
    spare = os.path.join(SOURCE, ".spare")
    if os.path.islink(spare):
        os.unlink(spare)
    elif os.path.lexists(spare):
        shutil.rmtree(spare)
    print(f"{done} changes")


main()
