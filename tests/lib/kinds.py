#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that a mount which was read in full shows every change of the session files.

kinds.py PROGRAM DUMP DIR [OPTION...]

In DIR, makes a source and mounts it with these options. For each change of CHANGES the whole mount is read (names, missing
names, attributes, link targets, contents twice, listings) and the change is made. Then everything is compared with a
second mount, made after the change, whose caches are empty, until they agree: first without listing any directory, which
would renew the names in it, then with listings. LOOKS comparisons must find one
without a difference. STILL is preloaded (still.c). DUMP
--names prints the table of the tree (tests/golden/dump.c): there must be a node of each of its kinds, and each must be
seen to change.
"""
import json
import os
import shutil
import stat
import subprocess
import sys
import time

from session_lines import check
from waiting import await_

LOOKS = 60  # each reads everything, so they take several times the second that is promised, and more on a busy machine
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
OLD = 1767225600  # 2026-01-01: long ago, so that the files seem idle


# --- sessions ------------------------------------------------------------------------------


def line(kind, own, parent, **fields):
    when = f"2026-01-01T10:00:00.{int(own, 16):03d}Z"
    head = {"type": kind, "id": own, "parentId": parent, "timestamp": when}
    return json.dumps({**head, **fields}, separators=(",", ":")) + "\n"


#: Queries, which search/ does not list. The last one is refused.
SEARCHES = ["done", "type:message", "label:x", "after:banana"]


def message(own, parent, text, role="user", **fields):
    return line("message", own, parent, message={"role": role, "content": [{"type": "text", "text": text}], **fields})


def header(sid, cwd, parent=None):
    fields = {"type": "session", "version": 3, "id": sid, "timestamp": "2026-01-01T10:00:00.000Z", "cwd": cwd}
    if parent:
        fields["parentSession"] = parent
    return json.dumps(fields, separators=(",", ":")) + "\n"


def answer(own, parent, text, call):
    usage = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10, "cost": {"total": 0.5}}
    content = [
        {"type": "thinking", "thinking": f"about {text}"},
        {"type": "text", "text": text},
        {"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": text}},
        {"type": "toolCall", "id": f"{call}w", "name": "write", "arguments": {"path": text, "content": text}},
    ]
    fields = {"role": "assistant", "content": content, "provider": "p", "model": "m", "usage": usage}
    return line("message", own, parent, message={**fields, "stopReason": "toolUse"})


def result(own, parent, text, call):
    return message(own, parent, text, "toolResult", toolCallId=call, toolName="bash", isError=True)


def written(own, parent, call):
    nested = {"calls": [{"id": f"{call}w/1", "name": "bash", "status": "error", "error": "no", "arguments": {"command": "ls"}}]}
    return message(own, parent, "written", "toolResult", toolCallId=f"{call}w", toolName="write", nestedCalls=nested)


def picture(own, parent, text):
    content = [{"type": "text", "text": text}, {"type": "image", "data": PIXEL, "mimeType": "image/png"}]
    return line("message", own, parent, message={"role": "user", "content": content})


def everything(text):
    """Returns the lines of a session in which each kind of node occurs."""
    return (
        picture("a1", None, f"look at {text}")
        + answer("a2", "a1", text, "call-1")
        + result("a3", "a2", f"{text} done", "call-1")
        + written("ca", "a3", "call-1")
        + message("a4", "ca", f"thanks for {text}")
        + "{this is no JSON\n"
        + line("branch_summary", "a5", "a2", fromId="a4", summary=f"tried {text}")
        + message("a6", "a5", f"again {text}")
        + line("context_edit", "ce", "a6", targetId="a6", replacement={"content": f"not {text}"})
        + line("label", "a7", "ce", targetId="a2", label=f"the {text}")
        + line("session_info", "a8", "a7", name=f"All about {text}")
    )


class Source:
    """The directory of session files, and its changes."""

    def __init__(self, root):
        self.root = root
        self.main, self.origin = self.path("--p--", "main.jsonl"), self.path("--p--", "origin.jsonl")
        self.other = self.path("--q--", "other.jsonl")

    def path(self, *names):
        return os.path.join(self.root, *names)

    def write(self, file, text):
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8") as f:
            f.write(text)

    def append(self, text):
        with open(self.main, "a", encoding="utf-8") as f:
            f.write(text)

    def replace(self, file, text, mtime=None):
        self.write(file + ".new", text)
        if mtime:
            os.utime(file + ".new", (mtime, mtime))
        os.rename(file + ".new", file)

    def make(self):
        self.write(self.origin, header("origin", "/p") + message("b1", None, "the origin"))
        self.write(self.main, header("main", "/p", self.origin) + everything("one"))
        self.write(self.path("--p--", "fork.jsonl"), header("fork", "/p", self.main) + message("c1", None, "a fork"))
        self.write(self.other, header("other", "/q") + message("d1", None, "other project"))
        self.write(self.path("--p--", "main", "run-0", "session.jsonl"), header("agent", "/p") + message("7a", None, "an agent"))
        self.write(self.path("flat.jsonl"), header("flat", "/r") + message("e1", None, "a flat file"))
        self.rest()

    def rest(self):
        """Makes all files look idle for long."""
        for here, _, files in os.walk(self.root):
            for name in files:
                st = os.stat(os.path.join(here, name))
                if st.st_mtime > OLD + 1000000:
                    os.utime(os.path.join(here, name), (OLD, OLD))


def write_two(s):
    for name in "first", "second":
        s.write(f"{s.root}.new/{name}.jsonl", header(name, "/w") + message("e1", None, name))


def rename_a_label(s):
    with open(s.main, encoding="utf-8") as f:
        text = f.read()
    s.write(s.main, text.replace('"label":"reNAMED"', '"label":"RENAMED"'))


# What pi and others do, in this order: each begins with the result of the one before.
CHANGES = {
    "a message": lambda s: s.append(message("a9", "a8", "a new message")),
    "a second message": lambda s: s.append(answer("aa", "a9", "a new answer", "call-2")),
    "a result": lambda s: s.append(written("cb", "aa", "call-2") + result("ab", "cb", "a new result", "call-2")),
    "a first image": lambda s: s.append(picture("ac", "ab", "a new picture")),
    "a label": lambda s: s.append(line("label", "ad", "ac", targetId="a9", label="new label")),
    "a label that is another now": lambda s: s.append(line("label", "ae", "ad", targetId="a2", label="renamed")),
    # Same length and time as before: neither size nor mtime of the node changes.
    "a label of the same moment": lambda s: s.append(line("label", "ae", "ad", targetId="a2", label="reNAMED")),
    "a label cleared": lambda s: s.append(line("label", "af", "ae", targetId="a9")),
    "a name": lambda s: s.append(line("session_info", "b0", "af", name="Another name")),
    "a branch": lambda s: s.append(message("b1", "a4", "from the middle")),
    "a summary of a branch": lambda s: s.append(line("branch_summary", "b2", "a4", fromId="b1", summary="Went nowhere")),
    "a problem": lambda s: s.append('{"torn\n'),
    # Same number of bytes as before, in the same file.
    "one byte of a label": rename_a_label,
    "rewritten in place": lambda s: s.write(s.main, header("main", "/elsewhere", s.other) + everything("two")),
    "cut short": lambda s: s.write(s.main, header("main", "/p") + message("a1", None, "short")),
    "cut and grown again": lambda s: [s.write(s.main, header("main", "/p")), s.append(everything("three"))],
    "replaced by a rename": lambda s: s.replace(s.main, header("main", "/p", s.origin) + everything("four")),
    "replaced by an old file": lambda s: s.replace(s.main, header("main", "/p") + everything("five!"), OLD - 1000),
    "another id": lambda s: s.replace(s.main, header("other-main", "/p") + everything("six")),
    "deleted": lambda s: os.unlink(s.main),
    "made again": lambda s: s.write(s.main, header("main", "/p", s.origin) + everything("seven")),
    "readable by the owner only": lambda s: os.chmod(s.main, 0o600),
    "readable by all again": lambda s: os.chmod(s.main, 0o644),
    "touched": lambda s: os.utime(s.main, (OLD + 500, OLD + 500)),
    "touched to now": lambda s: os.utime(s.main),
    "a fork": lambda s: s.write(s.path("--p--", "fork2.jsonl"), header("fork2", "/p", s.main) + message("f1", None, "forked")),
    "a fork with an old date": lambda s: s.replace(s.path("--q--", "fork3.jsonl"), header("fork3", "/q", s.main) + message("f1", None, "forked"), OLD - 2000),
    "the forks deleted": lambda s: [os.unlink(s.path(*file)) for file in (("--p--", "fork2.jsonl"), ("--p--", "fork.jsonl"), ("--q--", "fork3.jsonl"))],
    "a subagent": lambda s: s.write(s.path("--p--", "main", "deep", "run-1", "session.jsonl"), header("agent2", "/p") + message("7b", None, "two")),
    "a subagent renamed": lambda s: os.rename(s.path("--p--", "main", "deep"), s.path("--p--", "main", "deeper")),
    "a subagent of another": lambda s: os.rename(s.path("--p--", "main", "deeper"), s.path("--q--", "other")),
    "the subagents deleted": lambda s: shutil.rmtree(s.path("--p--", "main")),
    "the origin deleted": lambda s: os.unlink(s.origin),
    "renamed": lambda s: os.rename(s.main, s.path("--p--", "renamed.jsonl")),
    "renamed back": lambda s: os.rename(s.path("--p--", "renamed.jsonl"), s.main),
    "moved to another project": lambda s: os.rename(s.main, s.path("--q--", "main.jsonl")),
    "moved back": lambda s: os.rename(s.path("--q--", "main.jsonl"), s.main),
    "a project": lambda s: s.write(s.path("--s--", "new.jsonl"), header("new", "/s") + everything("new")),
    "a project with an old date": lambda s: [os.mkdir(s.path("--t--")), s.replace(s.path("--t--", "new.jsonl"), header("newer", "/t") + everything("new"), OLD - 3000)],
    "a project renamed": lambda s: os.rename(s.path("--s--"), s.path("--u--")),
    "the projects deleted": lambda s: [shutil.rmtree(s.path("--u--")), shutil.rmtree(s.path("--t--"))],
    "a project with all its sessions": lambda s: [write_two(s), os.rename(f"{s.root}.new", s.path("--w--"))],
    "that project deleted": lambda s: shutil.rmtree(s.path("--w--")),
    "a flat session": lambda s: s.write(s.path("flat2.jsonl"), header("flat2", "/v") + message("e1", None, "another flat file")),
    "a flat session deleted": lambda s: os.unlink(s.path("flat2.jsonl")),
    "emptied": lambda s: s.write(s.main, ""),
    "filled": lambda s: s.write(s.main, header("main", "/p") + everything("eight")),
    "no session any more": lambda s: s.replace(s.main, "a text\n"),
    "a session again": lambda s: s.replace(s.main, header("main", "/p") + everything("nine")),
}


# --- mounts ---------------------------------------------------------------------------------


class Mount:
    def __init__(self, program, source, root, options):
        self.root = root
        os.makedirs(root, exist_ok=True)
        subprocess.run([program, *options, source, root], check=True, env={**os.environ, "LD_PRELOAD": os.environ.get("STILL", "")})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        await_(lambda: subprocess.run(["fusermount3", "-q", "-u", self.root], check=False).returncode == 0, "the unmount")

    def look(self, path, listing=True):
        """Returns one node, read in full, or None if it does not exist. Its number and everything else; names in it
        last."""
        full = f"{self.root}/{path}"
        try:
            st = os.lstat(full)
            number, says = st.st_ino, [stat.filemode(st.st_mode), st.st_uid, st.st_gid, st.st_size, st.st_mtime_ns]
            if stat.S_ISLNK(st.st_mode):
                says.append(os.readlink(full))
            elif stat.S_ISDIR(st.st_mode):
                if listing:
                    says.append(sorted(n for n in os.listdir(full) if n != "errors"))
            else:
                with open(full, "rb") as f:
                    says.append(f.read())
        except OSError as e:
            return None, None if isinstance(e, (FileNotFoundError, NotADirectoryError)) else e.strerror
        return number, says

    def walk(self, path=""):
        """Returns every path and its node."""
        number, says = self.look(path)
        found = {path: (number, says)}
        if says[0][0] == "d":
            for name in says[-1] + (SEARCHES if path == "search" else []):
                found.update(self.walk(f"{path}/{name}" if path else name))
        return found


def is_dir(says):
    return isinstance(says, list) and says[0][0] == "d"


def differences(mount, truth, listing=True):
    for path, (_, says) in truth.items():
        _, shown = mount.look(path, listing)
        if is_dir(says) and not listing:
            says = says[:-1]
        if shown != says:
            yield f"{path or '/'}: {shown} instead of {says}"


class Test:
    def __init__(self, program, dump, here, options):
        self.program, self.options = program, options
        self.here = here
        self.source = Source(f"{here}/src")
        self.kinds, self.families = self.read_table(dump)
        self.seen, self.changed, self.wrong = set(), set(), 0

    @staticmethod
    def read_table(dump):
        """Returns all kinds, each the path of its name in the table, and the dynamic names by directory."""
        rows = subprocess.run([dump, "--names"], check=True, capture_output=True, text=True).stdout.splitlines()
        rows = [row.split("\t") for row in rows]
        families = {above: name for _, above, name, _, flags, _ in rows if "family" in flags}
        return {above + name for _, above, name, *_ in rows}, families

    def kind(self, path):
        """Returns the kind of the node at this path."""
        above = ""
        for name in path.split("/"):
            above += (name if above + name in self.kinds else self.families.get(above, name)) + "/"
        return above[:-1] or "/"

    def truth(self, source, others=()):
        """Returns everything that is listed, and nodes at other paths: normally none."""
        with Mount(self.program, source, f"{self.here}/fresh", self.options) as fresh:
            # Until its first line was read a file counts as a session. This reads them all.
            os.listdir(f"{fresh.root}/sessions")
            return {**{path: fresh.look(path) for path in others}, **fresh.walk()}

    def foresee(self, change):
        """Returns the paths that will exist later."""
        copy = f"{self.here}/copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.source.root, copy)
        CHANGES[change](Source(copy))
        return self.truth(copy).keys()

    def note(self, before, after):
        for path in before.keys() | after.keys():
            old, new = before.get(path, (None, None)), after.get(path, (None, None))
            if old[0] is not None or new[0] is not None:
                self.seen.add(self.kind(path))
                if old[1] != new[1]:
                    self.changed.add(self.kind(path))

    def run_one(self, change):
        """Returns whether all is well."""
        before = self.truth(self.source.root, self.foresee(change))
        if not self.agrees(before, f"before {change}"):
            return False
        next(differences(self.mount, before), None)  # once more, from the caches
        CHANGES[change](self.source)
        after = self.truth(self.source.root, before.keys())
        self.note(before, after)
        good = self.agrees(after, f"{change}, unlisted", False) and self.agrees(after, change)
        if change not in ("a message", "touched to now"):  # later ones find a session in use
            self.source.rest()
        return good

    def agrees(self, truth, when, listing=True):
        for _ in range(LOOKS):
            wrong = list(differences(self.mount, truth, listing))
            if not wrong:
                return True
            time.sleep(0.02)
        self.wrong += 1
        more = f" (and {len(wrong) - 1} more)" if wrong[1:] else ""
        print(f"FAILED: {when}: {wrong[0]}{more}", file=sys.stderr)
        return False

    def run(self):
        os.umask(0o022)
        self.source.make()
        left = list(CHANGES)
        while left:
            with Mount(self.program, self.source.root, f"{self.here}/mnt", self.options) as self.mount:
                # A failure does not count against the changes after it.
                while left and self.run_one(left.pop(0)):
                    pass
        # `errors` is in no session file, but has this mount's refusals. `.status` is of the moment, and not listed.
        expected = {k for k in self.kinds if not k.endswith("/errors") and k != ".status"}
        missing = expected - self.seen
        still = expected - self.changed
        check(not missing, f"no node of {sorted(missing)}")
        check(not still, f"nothing ever changed in {sorted(still)}")
        check(not self.wrong, f"{self.wrong} of {len(CHANGES)} changes with {' '.join(self.options) or 'no options'}")
        print(f"{len(CHANGES)} changes, {len(self.seen)} kinds of nodes")


if __name__ == "__main__":
    Test(*sys.argv[1:4], sys.argv[4:]).run()
