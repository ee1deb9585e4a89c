#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the requests that a slow source delays.

slow_source.py NEAR MOUNT GATE SERVER SESSIONS BESIDE BOUND

NEAR is the directory that the server process (slowfs) shows slowly, and MOUNT the mount of it. The server is silent while
the file GATE exists. BESIDE is served by a server that is as slow and never silent: a call must take less than BOUND
times as long as an access to it, which is measured in turn with the call, so that a busy machine delays both.
"""
import ctypes
import os
import select
import signal
import statistics
import subprocess
import sys
import time

from waiting import await_

TIMES = 7
libc = ctypes.CDLL(None, use_errno=True)
wrong = []


def put(path, name):
    with open(path, "w", encoding="utf-8") as f:
        f.write(
            f'{{"type":"session","version":3,"id":"{name}","timestamp":"2026-04-01T12:00:00.000Z","cwd":"/x"}}\n'
            f'{{"type":"message","id":"a","parentId":null,"message":{{"role":"user","content":"of {name}"}}}}\n'
        )


def stat(path):
    """Bypasses the kernel's cache."""
    at_fdcwd, force_sync, basic = -100, 0x2000, 0x7FF
    if libc.statx(at_fdcwd, path.encode(), force_sync, basic, ctypes.create_string_buffer(256)) != 0:
        raise OSError(ctypes.get_errno(), path)


def read(fd, text):
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    got = os.pread(fd, 65536, 0)
    if got != text:
        raise OSError(f"read {got!r} and not {text!r}")


def timed(call):
    began = time.monotonic()
    call()
    return round((time.monotonic() - began) * 1000, 1)


def judge(what, took, beside, bound, typical=statistics.median):
    print(f"{what}: {typical(took)} ms of {sorted(took)}, beside it {sorted(beside)}", flush=True)
    if not typical(took) < bound * statistics.median(beside):
        wrong.append(f"{what} takes {typical(took)} ms, an access to the server {statistics.median(beside)} ms")


def measure(what, bound, call, beside):
    pairs = [(timed(call), timed(beside)) for _ in range(TIMES)]
    judge(what, *zip(*pairs), bound)


def kill(what, bound, victims, beside):
    """On a busy machine they can have ended before."""
    pairs = []
    for p in victims:
        if p.poll() is not None:
            continue
        fd = os.pidfd_open(p.pid)
        pairs.append((timed(lambda p=p, fd=fd: (p.kill(), select.select([fd], [], []))), timed(beside)))
        os.close(fd)
    print(f"{len(pairs)} ls were at work", flush=True)
    if pairs:
        judge(what, *zip(*pairs), bound, min)  # since a busy machine delays one; but each must end


def work_at(directory):
    ls = subprocess.Popen(["ls", directory], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def waits():
        with open(f"/proc/{ls.pid}/stat", encoding="ascii") as f:
            return f.read().split()[1:3] in (["(ls)", "S"], ["(ls)", "D"])

    await_(lambda: ls.poll() is not None or waits(), "an ls that waits")
    return ls


def listed(directory, expected):
    """Can fail just after the server is back; but a listing is right."""
    while True:
        ls = subprocess.run(["ls", directory], capture_output=True, text=True, check=False)
        if ls.returncode == 0:
            break
        time.sleep(0.2)
    names = set(ls.stdout.split("\n")[:-1])
    if not expected <= names or len(names) > len(expected) + 3 or any(name.startswith("s0") for name in names - expected):
        wrong.append(f"{directory} has {len(names)} names, of {len(expected)}; for instance {sorted(names ^ expected)[:5]}")


def main(near, mount, gate, server, sessions, beside, bound):
    names = [f"s{i:05}" for i in range(sessions)]
    put(f"{near}/--q--/known.jsonl", "known")
    time.sleep(0.3)  # a scan is current for 200 ms
    known = os.open(f"{mount}/projects/q/known/transcript.md", os.O_RDONLY)
    text = os.pread(known, 65536, 0)
    # They appear at once, so that none is known before the listing.
    os.mkdir(f"{near}/new")
    for name in names:
        put(f"{near}/new/{name}.jsonl", name)
    os.rename(f"{near}/new", f"{near}/--p--")
    time.sleep(1.2)  # a scan is current for 200 ms; and in its first second a mount can wait for its requests

    # Each in its own directory: the kernel lets one process at a time read a directory, and a waiting one cannot be
    # killed.
    where = [f"{mount}/projects/p", f"{mount}/sessions"]
    first = [work_at(w) for w in where]
    time.sleep(0.3)  # they are at work, which cannot be seen

    def access():
        stat(beside)

    measure("stat of the root", bound, lambda: stat(mount), access)
    measure("a read", bound, lambda: read(known, text), access)
    kill("kill -9 of ls", bound, first, access)

    second = [work_at(w) for w in where]
    time.sleep(0.3)
    read(known, text)
    with open(gate, "w", encoding="utf-8"):
        pass
    kill("kill -9 of ls, nothing said", bound, second, access)
    measure("a read, nothing said", bound, lambda: read(known, text), access)
    measure("stat of the root, nothing said", bound, lambda: stat(mount), access)
    time.sleep(1.5)  # long enough to be noticed
    measure("stat of the root, nothing said for long", bound, lambda: stat(mount), access)
    os.unlink(gate)
    if not wrong:
        began = time.monotonic()
        listed(f"{mount}/projects/p", set(names))
        listed(f"{mount}/sessions", set(names) | {"known"})
        print(f"all listed after {time.monotonic() - began:.1f} s", flush=True)
    if wrong:
        os.kill(server, signal.SIGKILL)  # and no process hangs
        sys.exit("FAILED: " + "; ".join(wrong))
    os.close(known)


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:6]), sys.argv[6], float(sys.argv[7]))
