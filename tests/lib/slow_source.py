#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the requests that a slow source delays.

slow_source.py NEAR MOUNT GATE SERVER SESSIONS BOUND

NEAR is the directory that the server process (slowfs) shows slowly, and MOUNT the mount of it. The server is silent while
the file GATE exists. BOUND is the limit of each call in milliseconds.
"""
import ctypes
import os
import select
import signal
import statistics
import subprocess
import sys
import time

TIMES = 7
HUNG = 1.5  # seconds after which a call counts as hanging
LISTED = 150  # seconds in which everything must be listed in the end
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


def judge(what, seconds, bound, typical=statistics.median):
    ms = [round(s * 1000, 1) for s in seconds]
    took = typical(ms)
    print(f"{what}: {took} ms of {sorted(ms)}", flush=True)
    if not took < bound:
        wrong.append(f"{what} takes {'for ever' if took == float('inf') else f'{took} ms'}")


def measure(what, bound, call, before=None):
    """Runs in another process, because a hanging call cannot be cancelled."""
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if before:
                before()
            os.write(sink, b"begun\n")
            for _ in range(TIMES):
                began = time.monotonic()
                call()
                os.write(sink, f"{time.monotonic() - began}\n".encode())
        except OSError as e:
            print(f"{what}: {e}", flush=True)
        finally:
            os._exit(0)
    os.close(sink)
    text = b""
    while select.select([source], [], [], HUNG)[0]:
        more = os.read(source, 4096)
        if not more:
            break
        text += more
    else:
        os.kill(child, signal.SIGKILL)
    os.close(source)
    took = [float(line) for line in text.decode().split("\n")[1:-1]]
    judge(what, took + [float("inf")] * (TIMES - len(took)), bound)


def kill(what, bound, victims):
    took = []
    at_work = [p for p in victims if p.poll() is None]
    print(f"{len(at_work)} of {len(victims)} ls are at work", flush=True)
    for p in at_work:
        fd = os.pidfd_open(p.pid)
        began = time.monotonic()
        p.kill()
        ended = select.select([fd], [], [], HUNG)[0]
        took.append(time.monotonic() - began if ended else float("inf"))
        os.close(fd)
    # The faster of two, since a busy machine delays one; but each must end.
    judge(what, took or [float("inf")], bound, lambda ms: min(ms) if max(ms) < float("inf") else float("inf"))


def work_at(directory):
    return subprocess.Popen(["ls", directory], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def listed(directory, expected):
    """Can fail just after the server is back; but a listing is right."""
    end = time.monotonic() + LISTED
    while True:
        ls = subprocess.run(["ls", directory], capture_output=True, text=True, check=False, timeout=LISTED)
        if ls.returncode == 0:
            break
        if time.monotonic() > end:
            wrong.append(f"ls {directory}: {ls.stderr}")
            return
        time.sleep(0.2)
    names = set(ls.stdout.split("\n")[:-1])
    if not expected <= names or len(names) > len(expected) + 3 or any(name.startswith("s0") for name in names - expected):
        wrong.append(f"{directory} has {len(names)} names, of {len(expected)}; for instance {sorted(names ^ expected)[:5]}")


def main(near, mount, gate, server, sessions, bound):
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
    measure("stat of the root", bound, lambda: stat(mount))
    measure("a read", bound, lambda: read(known, text))
    kill("kill -9 of ls", bound, first)

    second = [work_at(w) for w in where]
    time.sleep(0.3)

    def shut():
        read(known, text)
        with open(gate, "w", encoding="utf-8"):
            pass

    measure("a read, nothing said", bound, lambda: read(known, text), shut)
    measure("stat of the root, nothing said", bound, lambda: stat(mount))
    kill("kill -9 of ls, nothing said", bound, second)
    time.sleep(1.5)  # long enough to be noticed
    measure("stat of the root, nothing said for long", bound, lambda: stat(mount))
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
    main(*sys.argv[1:4], *map(int, sys.argv[4:7]))
