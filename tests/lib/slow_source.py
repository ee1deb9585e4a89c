#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the requests that a slow source delays.

slow_source.py NEAR MOUNT GATE SERVER SESSIONS BESIDE BOUND

NEAR is the directory that the server process (slowfs) shows slowly, and MOUNT the mount of it. The server is silent while
the file GATE exists. BESIDE is served by a server that is as slow and never silent: a call must take less than BOUND
times as long as an access to it, which is measured in turn with the call, so that a busy machine delays both; and it must
return while what is slow goes on.
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
ATTEMPTS = 3
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


class Late(Exception):
    """The machine was too busy to tell: what should go on had ended. Another attempt follows."""


def check_at_work(what, workers):
    if any(p.poll() is not None for p in workers):
        raise Late(f"{what}: an ls has ended")


def judge(what, took, beside, bound):
    """What waits for the server does so each time; a busy machine, on which a new thread can wait for seconds, delays some."""
    print(f"{what}: {sorted(took)} ms, beside it {sorted(beside)}", flush=True)
    if not min(took) < bound * statistics.median(beside):
        wrong.append(f"{what} takes {min(took)} ms at least, an access to the server {statistics.median(beside)} ms")


def measure(what, bound, call, beside, workers=()):
    """What waits for one of the workers returns when that has ended."""
    pairs = [(timed(call), timed(beside)) for _ in range(TIMES)]
    judge(what, *zip(*pairs), bound)
    check_at_work(what, workers)


def kill(what, victim, other):
    """A victim that its signal does not end ends with the other ls, which has as much to do."""
    fd = os.pidfd_open(victim.pid)
    check_at_work(what, (victim, other))
    victim.kill()
    select.select([fd], [], [])
    os.close(fd)
    check_at_work(what, (other,))
    other.kill()


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


def attempt(near, mount, gate, names, bound, known, text, access):
    # They appear at once, so that none is known before the listing.
    os.mkdir(f"{near}/new")
    for name in names:
        put(f"{near}/new/{name}.jsonl", name)
    os.rename(f"{near}/new", f"{near}/--p--{names[0]}--")
    time.sleep(1.2)  # a scan is current for 200 ms; and in its first second a mount can wait for its requests

    # Each in its own directory: the kernel lets one process at a time read a directory, and a waiting one cannot be
    # killed.
    where = [f"{mount}/projects/p--{names[0]}", f"{mount}/sessions"]
    first = [work_at(w) for w in where]
    time.sleep(0.3)  # they are at work, which cannot be seen
    measure("stat of the root", bound, lambda: stat(mount), access, first)
    measure("a read", bound, lambda: read(known, text), access, first)
    kill("kill -9 of ls", *first)

    second = [work_at(w) for w in where]
    time.sleep(0.3)
    read(known, text)
    with open(gate, "w", encoding="utf-8"):
        pass
    kill("kill -9 of ls, nothing said", *second)
    measure("a read, nothing said", bound, lambda: read(known, text), access)
    measure("stat of the root, nothing said", bound, lambda: stat(mount), access)
    time.sleep(1.5)  # long enough to be noticed
    measure("stat of the root, nothing said for long", bound, lambda: stat(mount), access)


def main(near, mount, gate, server, sessions, beside, bound):
    put(f"{near}/--q--/known.jsonl", "known")
    time.sleep(0.3)  # a scan is current for 200 ms
    known = os.open(f"{mount}/projects/q/known/transcript.md", os.O_RDONLY)
    text = os.pread(known, 65536, 0)
    all_names = {"known"}
    for nth in range(ATTEMPTS):
        names = [f"s{nth}{i:05}" for i in range(sessions)]
        all_names.update(names)
        late = ""
        try:
            attempt(near, mount, gate, names, bound, known, text, lambda: stat(beside))
        except Late as e:
            late = str(e)
            print(late, flush=True)
        if os.path.exists(gate):
            os.unlink(gate)
        if wrong or not late:
            break
    if late:
        wrong.append(f"{late}, in each of {ATTEMPTS} attempts")
    if not wrong:
        began = time.monotonic()
        listed(f"{mount}/projects/p--{names[0]}", set(names))
        listed(f"{mount}/sessions", all_names)
        print(f"all listed after {time.monotonic() - began:.1f} s", flush=True)
    if wrong:
        os.kill(server, signal.SIGKILL)  # and no process hangs
        sys.exit("FAILED: " + "; ".join(wrong))
    os.close(known)


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:6]), sys.argv[6], float(sys.argv[7]))
