#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads a whole tree, through a mount or through --ls and --cat.

tree.py dump mount DIR             the tree as text, to be compared
tree.py dump cli PROGRAM SOURCE    the same without a mount
tree.py agree DIR                  list, stat and read agree about every name
"""
import hashlib
import json
import os
import stat
import subprocess
import sys


class Mount:
    def __init__(self, root):
        self.root = root.encode()

    def list(self, path):
        with os.scandir(os.path.join(self.root, path)) as names:
            for name in names:
                st = name.stat(follow_symlinks=False)
                full = os.path.join(path, name.name)
                link = os.readlink(name.path) if stat.S_ISLNK(st.st_mode) else None
                yield full, st.st_mode, st.st_size, st.st_mtime_ns, link

    def read(self, path):
        with open(os.path.join(self.root, path), "rb") as f:
            return f.read()


class Cli:
    """The output of `--ls --json`: name, type, mode, size, mtime, target."""

    TYPES = {"directory": stat.S_IFDIR, "link": stat.S_IFLNK, "file": stat.S_IFREG}

    def __init__(self, program, source):
        self.command = [program.encode(), b"-S", source.encode()]

    def run(self, *args):
        return subprocess.run([*self.command, *args], check=True, stdout=subprocess.PIPE).stdout

    def list(self, path):
        for o in json.loads(self.run(b"--json", b"--ls", path or b"/"), parse_float=str):
            seconds, _, fraction = str(o["mtime"]).partition(".")
            name = o["name"].encode("utf-8", "surrogateescape")
            target = o.get("target")
            yield (
                os.path.join(path, name),
                self.TYPES[o["type"]] | int(str(o["mode"]), 8),
                o["size"],
                int(seconds) * 10**9 + int((fraction or "0").ljust(9, "0")[:9]),
                None if target is None else target.encode("utf-8", "surrogateescape"),
            )

    def read(self, path):
        return self.run(b"--cat", path)


def show(b):
    return b.decode("utf-8", "backslashreplace").replace("\n", "\\n")


def when(ns):
    import datetime

    t = datetime.datetime.fromtimestamp(ns // 10**9, datetime.timezone.utc)
    return t.strftime("%Y-%m-%dT%H:%M:%S") + (f".{ns % 10**9:09d}".rstrip("0") if ns % 10**9 else "")


def dump(reader, path=b""):
    for full, mode, size, mtime, link in sorted(reader.list(path)):
        name = show(full)
        bits = stat.filemode(mode)
        if link is not None:
            print(f"{name} -> {show(link)} [{bits} {size} {when(mtime)}]")
        elif stat.S_ISDIR(mode):
            print(f"{name}/ [{bits} {when(mtime)}]")
            dump(reader, full)
        else:
            print(f"{name} [{bits} {size} {when(mtime)}]")
            data = reader.read(full)
            if len(data) != size:
                sys.exit(f"{name}: {size} bytes by its size, {len(data)} by reading")
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                print("\tsha256 " + hashlib.sha256(data).hexdigest())
                continue
            for line in text[:-1].split("\n") if text.endswith("\n") else (text + "\\c").split("\n"):
                print("\t" + line.replace("\r", "\\r"))


def agree(root):
    """Checks that every listed name is found, with the same inode number and type, and that its size equals the bytes
    read; and that no name is found that only a directory next to its own lists."""
    seen = {}  # inode number -> path of a file or directory
    beside = {}  # directory -> {directory in it: its names}
    count = bad = 0

    def wrong(path, what):
        nonlocal bad
        bad += 1
        print(f"{show(path)}: {what}", file=sys.stderr)

    dirs = [os.path.join(root.encode(), b"")]
    while dirs:
        here = dirs.pop()
        listed = {}
        with os.scandir(here) as names:
            for n in names:
                if n.name in listed:
                    wrong(n.path, "listed twice")
                is_kind = (n.is_dir(follow_symlinks=False), n.is_symlink(), n.is_file(follow_symlinks=False))
                listed[n.name] = (n.inode(), is_kind)
        beside.setdefault(os.path.dirname(here.rstrip(b"/")), {})[here] = set(listed)
        for name, (inode, kinds) in listed.items():
            path = os.path.join(here, name)
            count += 1
            try:
                st = os.lstat(path)
            except OSError as e:
                wrong(path, f"listed, but: {e.strerror}")
                continue
            if st.st_ino != inode:
                wrong(path, f"listed with inode {inode}, found with {st.st_ino}")
            if kinds != (stat.S_ISDIR(st.st_mode), stat.S_ISLNK(st.st_mode), stat.S_ISREG(st.st_mode)):
                wrong(path, "listed with another type than it is found with")
            if st.st_blocks != (st.st_size + 511) // 512 and not stat.S_ISDIR(st.st_mode):
                wrong(path, f"{st.st_size} bytes in {st.st_blocks} blocks")
            if stat.S_ISLNK(st.st_mode):
                if len(os.readlink(path)) != st.st_size:
                    wrong(path, "the link's size is not the length of its target")
                continue
            other = seen.setdefault(st.st_ino, path)
            if other != path:
                wrong(path, f"has the inode number of {show(other)}")
            if stat.S_ISDIR(st.st_mode):
                dirs.append(path)
                if os.stat(os.path.join(path, b"..")).st_ino != os.lstat(here).st_ino:
                    wrong(path, "its .. is another directory")
            else:
                with open(path, "rb") as f:
                    n = len(f.read())
                if n != st.st_size:
                    wrong(path, f"{st.st_size} bytes by its size, {n} by reading")
                if n == 0 and name != b"session.jsonl":
                    wrong(path, "exists, but has nothing to say")
    for parent, dirs in beside.items():
        # The directories of the root and of a session differ: a search is found for any word, a branch for any entry.
        alike = parent != root.encode() and not os.path.lexists(os.path.join(parent, b"session.jsonl"))
        names = set().union(*dirs.values())
        for here, listed in dirs.items():
            for name in names - listed if alike else ():
                if os.path.lexists(os.path.join(here, name)):
                    wrong(os.path.join(here, name), "found, but not listed")
    print(f"{count} names")
    return bad


def main(argv):
    if argv[:2] == ["dump", "mount"]:
        dump(Mount(argv[2]))
    elif argv[:2] == ["dump", "cli"]:
        dump(Cli(argv[2], argv[3]))
    elif argv[0] == "agree":
        sys.exit(1 if agree(argv[1]) else 0)
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
