#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes each system call and each allocation of the program fail once, and checks the result.

fail.py PROGRAM SHIM DIRECTORY SEED MOST [WHAT...]

A first run without failures counts the calls. Then each run starts from the beginning, and one call fails with a
possible error, or succeeds with less: every call of every kind, or MOST of a kind and error, drawn with SEED (0: one
call of a kind, with one of its errors). KINDS="alloc pread" in the environment limits the kinds
that fail, CASE="pread EIO 7" selects one call. WHAT is "mount" or a command without a mount ("cat", "ls", "tree",
"check"); all, if not given.

Without a mount: a command that ends with 0 printed the right output, and any other one has a reason on stderr. Mounted:
the program survives, no call hangs, acknowledged writes are in the session files, refused ones are not, no old byte is
lost, and afterwards everything shows as in a fresh mount.
"""
import errno
import itertools
import json
import mmap
import os
import random
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time

from session_lines import STAMP, line
from waiting import await_, is_mounted

CATCH_UP = 40  # looks at everything until the mount must be right, a tenth of a second apart

# The errors that a call can return. SHORT: it succeeds, with less than requested.
SHORT = 0
E = errno
FILE = [E.EIO, E.EINTR]
OPENING = [E.EMFILE, E.ENFILE, E.ENOMEM, E.EIO, E.EINTR]
LOOKING = [E.EIO, E.ENOMEM, E.EINTR]
ERRORS = {
    kind: errors
    for kinds, errors in {
        "alloc fdopendir": [E.ENOMEM],
        "open openat": OPENING,
        "openat2": OPENING + [E.EAGAIN],
        "stat lstat fstatat statx readlink readlinkat": LOOKING,
        "fstat statfs fstatfs statvfs fstatvfs close": [E.EIO, E.EINTR],
        "pread": FILE + [E.ENOMEM, SHORT],
        "read": FILE + [SHORT],
        "read_device": [E.EINTR, E.EAGAIN, E.ENOENT],
        "read_events": [E.EINTR],
        "readdir getdents64 realpath": [E.EIO, E.ENOMEM],
        "write": [E.EIO, E.ENOSPC, E.EDQUOT, E.EFBIG, E.EINTR, SHORT],
        "write_events": [E.EINTR, E.EAGAIN],
        "ftruncate": FILE,
        "fsync fdatasync": FILE + [E.ENOSPC],
        "flock": [E.EINTR, E.ENOLCK],
        "rename renameat renameat2": [E.EIO, E.ENOSPC, E.EINTR],
        "unlink unlinkat linkat mkdirat flistxattr fgetxattr": [E.EIO],
        "mkostemp": [E.EIO, E.ENOSPC, E.EMFILE, E.EACCES],
        "getrandom": [E.EINTR, E.EAGAIN, E.ENOSYS, SHORT],
        "inotify_init1 eventfd": [E.EMFILE, E.ENOMEM],
        "inotify_add_watch": [E.ENOSPC, E.ENOMEM, E.EIO],
        "poll ppoll": [E.EINTR, E.ENOMEM],
        "pthread_create fcntl": [E.EAGAIN],
        "fsetxattr": [E.EIO, E.ENOSPC],
        "fchmod fchown": [E.EIO, E.EPERM],
        "fallocate": [E.ENOSPC, E.EINTR],
        "pipe2": [E.EMFILE],
    }.items()
    for kind in kinds.split()
}


class Wrong(Exception):
    """The program misbehaved."""


def check(condition, what):
    if not condition:
        raise Wrong(what)


class Control:
    """Which call fails; see fail.c."""

    SIZE, NAMES_AT, CALLS_AT = 8192, 4096, 24

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as f:
            f.write(bytes(self.SIZE))
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), self.SIZE)

    def set(self, case=None):
        """Sets the case for the next start of the program; without a case nothing fails."""
        self.map[: self.NAMES_AT] = bytes(self.NAMES_AT)
        if case:
            kind, error, nth = case
            struct.pack_into("IIIIQ", self.map, 0, 1, self.kinds().index(kind), error, 0, nth)

    def disarm(self):
        struct.pack_into("I", self.map, 0, 0)

    def fired(self):
        return struct.unpack_from("I", self.map, 12)[0] == 1

    def kinds(self):
        return self.map[self.NAMES_AT :].split(b"\0", 1)[0].decode().split()

    def counts(self):
        kinds = self.kinds()
        return dict(zip(kinds, struct.unpack_from(f"{len(kinds)}Q", self.map, self.CALLS_AT)))


# --- the sessions ----------------------------------------------------------------------------------


def message(entry, parent, **fields):
    return line(type="message", id=entry, parentId=parent, timestamp=STAMP, message={"timestamp": 0, **fields})


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
USAGE = {"input": 3, "output": 4, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 7, "cost": {"total": 0.5}}


def plain():
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
    said = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}, call]
    picture = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    return "".join(
        [
            line(type="session", version=3, id="plain", timestamp=STAMP, cwd="/p"),
            message("aaaaaaa1", None, role="user", content="first"),
            message("aaaaaaa2", "aaaaaaa1", role="assistant", content=said, provider="p", model="m", usage=USAGE),
            message("aaaaaaa3", "aaaaaaa2", role="toolResult", toolCallId="c1", toolName="bash", content=[picture]),
            line(type="label", id="aaaaaaa4", parentId="aaaaaaa3", timestamp=STAMP, targetId="aaaaaaa1", label="one"),
            line(type="session_info", id="aaaaaaa5", parentId="aaaaaaa4", timestamp=STAMP, name="a name"),
            line(type="branch_summary", id="aaaaaaa6", parentId="aaaaaaa1", timestamp=STAMP, fromId="aaaaaaa3", summary="s"),
            message("aaaaaaa7", "aaaaaaa6", role="user", content="second"),
            line(type="label", id="aaaaaaa8", parentId="aaaaaaa7", timestamp=STAMP, targetId="aaaaaaa7", label="two"),
        ]
    )


def old():
    lines = [{"type": "session", "id": "old", "timestamp": STAMP, "cwd": "/p"}]
    lines += [{"type": "message", "timestamp": STAMP, "message": {"role": "user", "content": f"m {i}"}} for i in range(3)]
    return "".join(line(**x) for x in lines)


SOURCES = {
    "--p--/plain.jsonl": plain(),
    "--p--/old.jsonl": old(),
    "--p--/fork.jsonl": line(type="session", version=3, id="fork", timestamp=STAMP, cwd="/p", parentSession="plain.jsonl")
    + message("bbbbbbb1", None, role="user", content="forked"),
    "--q--/odd.jsonl": line(type="session", version=3, id="odd", timestamp=STAMP, cwd="/q")
    + "{no json\n"
    + message("ccccccc1", "gone", role="user", content="lost"),
    "--q--/none.jsonl": '{"type":"other"}\n',
    "flat.jsonl": line(type="session", version=3, id="flat", timestamp=STAMP, cwd="/p")
    + message("ddddddd1", None, role="user", content="flat"),
}


def put_sources(directory, clean=False):
    shutil.rmtree(directory, ignore_errors=True)
    for name, text in SOURCES.items():
        if clean and name.startswith("--q--"):
            continue
        path = f"{directory}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.utime(path, (1772400000, 1772400000))


# --- without a mount -------------------------------------------------------------------------------

COMMANDS = {
    "cat": ["--cat", "projects/p/plain/transcript.md"],
    "cat-table": ["--cat", "projects/p/old/labels.tsv"],
    "cat-info": ["--cat", "sessions/odd/info.json"],
    "cat-image": ["--cat", "projects/p/plain/entries/aaaaaaa3/images/1.png"],
    "cat-context": ["--cat", "latest/context.json"],
    "ls": ["--ls", "projects/p/plain"],
    "ls-json": ["--ls", "sessions", "--json"],
    "tree": ["--tree", ""],
    "check": ["--check"],
    "check-odd": ["--check"],
}


class Commands:
    def __init__(self, setup, name):
        self.setup, self.arguments = setup, COMMANDS[name]
        self.source = f"{setup.dir}/{name}"
        put_sources(self.source, clean=name == "check")

    def do(self, case=None):
        self.setup.control.set(case)
        command = [self.setup.program, "-S", self.source, *self.arguments]
        run = subprocess.run(command, capture_output=True, env=self.setup.env, check=False)
        return run.returncode, run.stdout, run.stderr

    def reference(self):
        self.right = self.do()
        self.counts = self.setup.control.counts()

    def try_case(self, case):
        status, out, err = self.do(case)
        check(status in (0, 1, 2), f"ended with {status}: {err!r}")
        if status == 0:
            check(self.right[0] == 0, "says that nothing is wrong")
            check(out == self.right[1], f"ended with 0, but printed {out!r}")
        elif self.right[0] == 0 or (out != self.right[1] and len(out.splitlines()) < len(self.right[1].splitlines())):
            check(err or "--check" in self.arguments and out, f"failed, and said nothing of why; printed {out!r}")


# --- mounted ---------------------------------------------------------------------------------------


def unmount(mount, lazily=False):
    if os.geteuid() == 0:
        command = ["umount", *(["-l"] if lazily else []), mount]
    else:
        command = ["fusermount3", "-uz" if lazily else "-u", mount]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


class Server:
    """The program, mounted. `status` is set if it ended instead."""

    def __init__(self, setup, mount, env):
        self.mount, self.status = mount, None
        self.log = open(f"{mount}.log", "w+b")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen([setup.program, "-f", setup.source, mount], env=env, stderr=self.log)  # pylint: disable=consider-using-with
        while not is_mounted(mount):
            self.status = self.process.poll()
            if self.status is not None:
                return
            time.sleep(0.002)
        # It can still end instead if a thread that it needs cannot be created.
        try:
            os.stat(f"{mount}/README.md")
        except OSError as e:
            if e.errno == E.ENOTCONN or not is_mounted(mount):
                self.status = self.process.wait()

    def said(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace").strip()

    def end(self):
        """Unmounts it and returns its exit status."""
        await_(lambda: not is_mounted(self.mount) or unmount(self.mount), "the unmount")
        return self.process.wait()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if is_mounted(self.mount):
            unmount(self.mount, lazily=True)
        self.log.close()


def look(path):
    """Returns one file, as any user can see it."""
    try:
        st = os.lstat(path)
        if stat.S_ISLNK(st.st_mode):
            return os.readlink(path), None
        if stat.S_ISDIR(st.st_mode):
            # Without data of this mount only: scratch files, and reasons of refusals.
            return "directory", sorted(n for n in os.listdir(path) if n[0] != "." and n != "errors")
        with open(path, "rb") as f:
            data = f.read()
        return (stat.S_IMODE(st.st_mode), st.st_size, st.st_mtime_ns, data), None
    except OSError as e:
        return errno.errorcode[e.errno], None


def walk(path, name=""):
    """Returns everything below a directory, by name."""
    seen = {}
    what, names = look(f"{path}/{name}" if name else path)
    seen[name or "."] = what if names is None else tuple(names)
    for n in names or []:
        seen.update(walk(path, f"{name}/{n}" if name else n))
    return seen


def without_second_name(seen):
    """Returns the same with the name that the moved session would have had. A name is given once: if the scan of the old
    file fails when the new one is found, the old one still has the name, and the new one keeps the second for this mount."""
    plain = lambda name: name.replace("fork~2", "fork") if isinstance(name, str) else name
    return {plain(n): tuple(map(plain, what)) if isinstance(what, tuple) else what for n, what in seen.items()}


def put(path, text, sync=False):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(fd, text.encode())
        if sync:
            os.fsync(fd)
    except OSError:
        os.close(fd)
        raise
    os.close(fd)


def put_table(directory, entry, label):
    with open(f"{directory}/labels.tsv", encoding="utf-8") as f:
        rows = [row.split("\t") for row in f.read().split("\n")[:-1]]
    for row in rows:
        if row[0] == entry:
            row[1] = label
    put(f"{directory}/.table", "".join("\t".join(row) + "\n" for row in rows))
    os.rename(f"{directory}/.table", f"{directory}/labels.tsv")


def put_leaf(directory, entry):
    os.symlink(f"entries/{entry}", f"{directory}/.leaf")
    os.rename(f"{directory}/.leaf", f"{directory}/leaf")


# The writes, in this order, and how to recognize their records.
WRITES = [
    ("label", lambda m: put(f"{m}/projects/p/plain/entries/aaaaaaa2/label", "put\n"), lambda e: e.get("label") == "put"),
    ("name", lambda m: put(f"{m}/projects/p/plain/name", "new name\n", True), lambda e: e.get("name") == "new name"),
    ("branch", lambda m: put(f"{m}/projects/p/plain/entries/aaaaaaa3/branch", "go on\n"), lambda e: e.get("summary") == "go on"),
    ("table", lambda m: put_table(f"{m}/projects/p/plain", "aaaaaaa3", "tabled"), lambda e: e.get("label") == "tabled"),
    ("link", lambda m: os.symlink("../entries/aaaaaaa6", f"{m}/projects/p/plain/labels/linked"), lambda e: e.get("label") == "linked"),
    ("leaf", lambda m: put_leaf(f"{m}/projects/p/plain", "aaaaaaa7"), lambda e: e.get("summary") == ""),
    ("remove", lambda m: os.unlink(f"{m}/projects/p/plain/entries/aaaaaaa1/label"), lambda e: e.get("targetId") == "aaaaaaa1" and not e.get("label")),
]
PI = message("eeeeeee1", "aaaaaaa8", role="user", content="by pi")


class Mounted:
    def __init__(self, setup, _name):
        self.setup = setup
        setup.source = f"{setup.dir}/source"
        self.mount, self.fresh = f"{setup.dir}/mnt", f"{setup.dir}/fresh"
        os.makedirs(self.mount, exist_ok=True)
        os.makedirs(self.fresh, exist_ok=True)

    def work(self):
        """Reads everything, and writes. Returns the acknowledged writes, and the refused ones with their errors."""
        results = {}
        walk(self.mount)
        with open(f"{self.setup.source}/--p--/plain.jsonl", "a", encoding="utf-8") as f:
            f.write(PI)
        look(f"{self.mount}/projects/p/plain/session.jsonl")
        for name, write, _ in WRITES:
            try:
                write(self.mount)
                results[name] = None
            except OSError as e:
                results[name] = errno.errorcode[e.errno]
            except IndexError:
                results[name] = "no entry was listed"
        with open(f"{self.setup.source}/--p--/new.jsonl", "w", encoding="utf-8") as f:
            f.write(SOURCES["flat.jsonl"].replace("flat", "new"))
        os.rename(f"{self.setup.source}/--p--/fork.jsonl", f"{self.setup.source}/--q--/fork.jsonl")
        walk(self.mount)
        try:
            os.statvfs(self.mount)
        except OSError:
            pass
        return results

    def judge_files(self, results):
        """Checks the session files: the old bytes, whole lines, and the acknowledged writes."""
        records = []
        for name in ["--p--/plain.jsonl", "--p--/old.jsonl"]:
            with open(f"{self.setup.source}/{name}", "rb") as f:
                data = f.read().decode()
            check(data.endswith("\n"), f"{name} is torn: {data[-200:]!r}")
            try:
                lines = [json.loads(x) for x in data[:-1].split("\n")]
            except ValueError:
                raise Wrong(f"{name}: no whole line: {data!r}") from None
            check(data.startswith(SOURCES[name]), f"{name} lost something: {data!r}")
            check("plain" not in name or PI in data, f"{name} lost what pi wrote")
            records += lines[SOURCES[name].count("\n") :]
        for name, _, is_it in WRITES:
            n = len([e for e in records if is_it(e)])
            why = results[name]
            check(n == 1 if why is None else n == 0, f"{name}: {why or 'acknowledged'}, but {n} times in the file")
        for directory in ["--p--", "--q--", "."]:
            left = [x for x in os.listdir(f"{self.setup.source}/{directory}") if x.startswith(".sessionfs")]
            check(not left, f"left behind: {left}")

    def judge_view(self):
        """Checks that within moments after the last failure all is as in a fresh mount."""
        fresh = Server(self.setup, self.fresh, None)
        try:
            check(fresh.status is None, f"does not mount any more: {fresh.said()}")
            want = walk(self.fresh)
            for walks in itertools.count(1):
                got = without_second_name(walk(self.mount))
                differ = sorted(n for n in got.keys() | want.keys() if got.get(n) != want.get(n) and n != "README.md")
                if not differ:
                    break
                n = differ[0]
                check(walks < CATCH_UP, f"{n} (and {len(differ) - 1} more) is {got.get(n)!r} and not {want.get(n)!r}")
                time.sleep(0.1)
            fresh.end()
        finally:
            fresh.kill()

    def do(self, case=None):
        put_sources(self.setup.source)
        self.setup.control.set(case)
        server = Server(self.setup, self.mount, self.setup.env)
        try:
            if server.status is not None:
                check(server.status in (1, 2), f"ended with {server.status} instead of mounting: {server.said()}")
                check(server.said(), "did not mount and said nothing of why")
                return
            results = self.work()
            check(case or not [x for x in results.values() if x], f"writes were refused: {results}")
            self.setup.control.disarm()
            check(server.process.poll() is None, f"ended with {server.process.poll()}: {server.said()}")
            self.judge_files(results)
            self.judge_view()
            self.counts = self.setup.control.counts()
            status = server.end()
            check(status == 0, f"ended with {status}: {server.said()}")
        except OSError as e:
            raise Wrong(f"{e}: {server.process.poll()}: {server.said()}") from None
        finally:
            server.kill()

    def reference(self):
        self.do()

    def try_case(self, case):
        self.do(case)


# --- all of it -------------------------------------------------------------------------------------


class Setup:
    def __init__(self, program, shim, directory):
        self.program, self.dir = program, directory
        self.control = Control(f"{directory}/control")
        self.env = {**os.environ, "LD_PRELOAD": shim, "FAIL_CONTROL": self.control.path}


def cases_of(counts, most, rng):
    kinds = os.environ.get("KINDS", "").split() or list(ERRORS)
    for kind, n in counts.items():
        if kind not in kinds:
            continue
        for error in ERRORS[kind] if most else [rng.choice(ERRORS[kind])]:
            chosen = range(1, n + 1) if n <= most else sorted(rng.sample(range(1, n + 1), most or 1))
            for nth in chosen:
                yield kind, error, nth


def describe(case):
    kind, error, nth = case
    return f"{kind} {errno.errorcode.get(error, 'short')} {nth}"


def main(program, shim, directory, seed, most, only):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    setup = Setup(program, shim, directory)
    rng = random.Random(seed)
    wrong = 0
    for name in [*COMMANDS, "mount"]:
        if only and not any(name.startswith(o) for o in only):
            continue
        run = (Mounted if name == "mount" else Commands)(setup, name)
        run.reference()
        done = reached = 0
        for case in cases_of(run.counts, most, rng):
            if os.environ.get("CASE", describe(case)) != describe(case):
                continue
            try:
                run.try_case(case)
            except Wrong as e:
                print(f"FAILED: {name}: {describe(case)}: {str(e)[:1500]}", flush=True)
                wrong += 1
            done += 1
            reached += setup.control.fired()
        print(f"{name}: {done} calls failed, {reached} of them were made", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:]))
