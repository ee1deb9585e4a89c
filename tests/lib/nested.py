#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sessions below a directory, their names and which started which, computed from the files alone.

nested.py list SOURCE   FILE TAB PROJECT TAB STEM TAB PARENT TAB SUBAGENTS TAB FORKS, a line each, in byte order of FILE; the last
                        three as paths from the mount's root, the last two joined by commas
nested.py latest SOURCE PROJECT TAB STEM, of each .latest
nested.py shown MOUNT, nested.py shown-latest MOUNT   the same as a mount shows it
nested.py agree SOURCE MOUNT    whether list and shown, latest and shown-latest are the same; now: whether list and shown are
nested.py listed SOURCE MOUNT   whether by-date/ and by-project/ link to exactly the sessions that no other one started
nested.py make DIR      a source with nested directories
nested.py random DIR N  N sources of random layouts, DIR/1 to DIR/N
nested.py write ID FILE [ID FILE]...    sessions

Limits: ~2 only for equal STEMs; no bytes that are encoded.
"""
import contextlib
import io
import json
import os
import random
import re
import stat
import sys
import urllib.parse

LEVELS = 8


def parse(line):
    try:
        return json.loads(line)
    except ValueError:
        return None


def truthy(path):
    """Returns the values in the file's lines that pi does not skip."""
    with open(path, "rb") as f:
        for line in f.read().split(b"\n"):
            v = parse(line.decode("utf-8", "replace"))
            if isinstance(v, (dict, list)) or v:
                yield v


def header_of(path, depth):
    """Returns None if it is not a session."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        values = truthy(path)
        head = next(values, None)
    except OSError:
        return None
    if not isinstance(head, dict) or head.get("type") != "session" or not isinstance(head.get("id"), str):
        return None
    first = next(values, None)
    if depth > 1 and first is not None and not (isinstance(first, dict) and isinstance(first.get("id"), str)):
        return None
    return head


def candidates(source, below="", depth=0):
    for name in sorted(os.listdir(os.path.join(source, below))):
        path = os.path.join(below, name)
        full = os.path.join(source, path)
        if name.endswith(".jsonl"):
            yield path, depth
        is_dir = os.path.isdir(full) and (depth == 0 or not os.path.islink(full))
        if is_dir and depth < LEVELS and not name.startswith("."):
            yield from candidates(source, path, depth + 1)


def is_dashed(name):
    return len(name) >= 4 and name.startswith("--") and name.endswith("--")


def flat_key(cwd):
    if not isinstance(cwd, str) or not cwd:
        return "unknown"
    return "--" + re.sub(r"[/\\:]", "-", cwd[1:] if cwd[0] in "/\\" else cwd) + "--"


class Session:
    def __init__(self, file, depth, header):
        self.file, self.depth, self.header = file, depth, header


def sessions_of(source):
    found = {}
    for file, depth in candidates(source):
        header = header_of(os.path.join(source, file), depth)
        if header:
            found[file] = Session(file, depth, header)
    for s in found.values():
        top = s.file.split("/")[0]
        flat = found.get(top if s.depth == 0 else top + ".jsonl")
        s.flat = flat is not None
        s.key = flat_key(flat.header.get("cwd")) if flat else top
        parts = (s.file if flat else s.file.split("/", 1)[1])[: -len(".jsonl")].split("/")
        if len(parts) > 1 and parts[-1] == "session":
            parts.pop()
        s.text = "+".join(parts)
    keys = {s.key for s in found.values()}
    taken = {}
    for s in sorted(found.values(), key=lambda s: os.fsencode(s.file)):
        inside = s.key[2:-2] if is_dashed(s.key) else s.key
        s.project = s.key if is_dashed(s.key) and inside in keys else inside or "%"
        n, stem = 1, s.text
        while (s.project, stem) in taken:
            n += 1
            stem = f"{s.text}~{n}"
        taken[s.project, stem] = s
        s.stem = stem
        s.path = f"projects/{s.project}/{s.stem}"
    for s in found.values():
        s.parent = parent_of(s, found, source)
    return found


def parent_of(s, found, source):
    named = s.header.get("parentSession") or s.header.get("branchedFrom")
    if isinstance(named, str) and named:
        for o in found.values():
            if o is not s and os.path.join(os.path.realpath(source), o.file) == named:
                return o
        base = re.split(r"[/\\]", named)[-1]
        others = [o for o in found.values() if o is not s and o.file.split("/")[-1] == base]
        if base != "session.jsonl" and len(others) == 1:
            return others[0]
    above = os.path.dirname(s.file)
    while above:
        if above + ".jsonl" in found:
            return found[above + ".jsonl"]
        above = os.path.dirname(above)
    return None


def show(source):
    found = sessions_of(source)
    for file in sorted(found, key=os.fsencode):
        s = found[file]
        of = [o for o in found.values() if o.parent is s]
        below = [o.path for o in of if o.file.startswith(file[: -len(".jsonl")] + "/")]
        others = [o.path for o in of if o.path not in below]
        join = lambda paths: ",".join(sorted(paths, key=os.fsencode))
        print(file, s.project, s.stem, s.parent.path if s.parent else "", join(below), join(others), sep="\t")


def latest(source):
    best = {}
    for s in sessions_of(source).values():
        if s.depth > 1 or (s.flat and s.depth > 0):
            continue
        key = (os.stat(os.path.join(source, s.file)).st_mtime_ns, s.stem)
        best[s.project] = max(best.get(s.project, key), key)
    for project in sorted(best, key=os.fsencode):
        print(project, best[project][1], sep="\t")


# --- a mount ------------------------------------------------------------------------------------


def read(path):
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as f:
            return f.read()
    except FileNotFoundError:
        return ""


def shown(mount):
    rows = []
    for project in os.listdir(f"{mount}/projects"):
        for stem in os.listdir(f"{mount}/projects/{project}"):
            here = f"{mount}/projects/{project}/{stem}"
            if stem == ".latest":
                continue
            file = json.loads(read(f"{here}/info.json"))["file"]
            many = (",".join(read(f"{here}/{name}").split("\n")[:-1]) for name in ("subagents", "forks"))
            rows.append((os.fsencode(file), "\t".join([file, project, stem, read(f"{here}/parent")[:-1], *many])))
    for _, row in sorted(rows):
        print(row)


def shown_latest(mount):
    for project in sorted(os.listdir(f"{mount}/projects"), key=os.fsencode):
        link = f"{mount}/projects/{project}/.latest"
        if os.path.lexists(link):
            print(project, os.readlink(link), sep="\t")


def text_of(show_it, top):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        show_it(os.path.abspath(top))
    return out.getvalue()


def agree(source, mount, pairs):
    for files, shows in pairs:
        want, got = text_of(files, source), text_of(shows, mount)
        if want != got:
            sys.exit(f"expected\n{want}, got\n{got}")


def listed(source, mount):
    found = sessions_of(source).values()
    started = {o.path for s in found for o in found if o.parent is s and o.file.startswith(s.file[: -len(".jsonl")] + "/")}
    want = sorted({s.path for s in found} - started)
    for by in "by-date", "by-project":
        got = [os.path.join(d, n) for d, names, files in os.walk(f"{mount}/{by}") for n in names + files]
        got = sorted(os.readlink(path).removeprefix("../../") for path in got if os.path.islink(path))
        if want != got:
            sys.exit(f"{by}: expected {want}, got {got}")
    return want


# --- a source ----------------------------------------------------------------------------------


def write(path, sid, cwd="/w", entry=True, **more):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    head = {"type": "session", "version": 3, "id": sid, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": cwd, **more}
    lines = [head]
    if entry:
        lines.append({"type": "message", "id": "0a", "parentId": None, "timestamp": "2026-01-01T00:00:01.000Z",
                      "message": {"role": "user", "content": f"said in {sid}"}})
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join(json.dumps(line) + "\n" for line in lines))


def make(root):
    def at(path, *args, **more):
        write(os.path.join(root, path), path, *args, **more)

    # pi's subagents, next to and below a session
    at("--w--/one.jsonl")
    at("--w--/one/run-0/session.jsonl")
    at("--w--/one/run-1/session.jsonl")
    at("--w--/one/8c1f/run-0/session.jsonl")
    at("--w--/one/8c1f/run-0.jsonl")
    at("--w--/one/8c1f/run-0/deeper/session.jsonl")
    at("--w--/two.jsonl", parentSession=os.path.join(root, "--w--/one.jsonl"))
    at("--w--/two/run-0/session.jsonl", parentSession=os.path.join(root, "--w--/one.jsonl"))
    at("--w--/two/run-1/session.jsonl", parentSession="/elsewhere/session.jsonl")
    at("--w--/session.jsonl")
    at("--w--/session/session.jsonl")
    at("--w--/session/session/session.jsonl")
    # one STEM of several
    at("--w--/a+b.jsonl")
    at("--w--/a/b.jsonl")
    at("--w--/a/b/session.jsonl")
    # as in OpenClaw, a level higher
    for agent in "main", "other":
        at(f"agents/{agent}/sessions/s1.jsonl")
        at(f"agents/{agent}/sessions/s2.jsonl", entry=False)
    # flat files, and directories below them
    at("flat.jsonl", "/home/me/x")
    at("flat/run-0/session.jsonl")
    at("flat/beside.jsonl")
    at("home.jsonl", None)
    at("home/run-0/session.jsonl")
    at("other/run-0/session.jsonl")
    with open(os.path.join(root, "other.jsonl"), "w", encoding="utf-8") as f:
        f.write('{"type":"message","id":"1"}\n')
    # only nested ones; too deep; hidden
    at("only/1/2/3/4/5/6/7/eight.jsonl")
    at("only/1/2/3/4/5/6/7/8/nine.jsonl")
    at("only/.hidden/session.jsonl")
    at(".hidden/session.jsonl")
    # files that are not sessions
    for name, line in ("events", {"type": "agent_start"}), ("number", 5), ("null-id", {"type": "message", "id": None}):
        path = os.path.join(root, f"logs/a/{name}.jsonl")
        write(path, name, entry=False)
        with open(path, "a", encoding="utf-8") as f:
            f.write("null\n{torn\n" + json.dumps(line) + "\n")
    write(os.path.join(root, "logs/first-level.jsonl"), "first-level", entry=False)
    with open(os.path.join(root, "logs/first-level.jsonl"), "a", encoding="utf-8") as f:
        f.write('{"type":"agent_start"}\n')
    os.makedirs(os.path.join(root, "logs/dir.jsonl/in"))
    at("logs/dir.jsonl/in/session.jsonl")
    # links
    write(os.path.join(root, "../outside/in/s.jsonl"), "outside")
    os.symlink("../outside", os.path.join(root, "linked"))
    os.symlink("../../outside", os.path.join(root, "only/linked"))
    os.symlink("../../outside/in/s.jsonl", os.path.join(root, "only/link.jsonl"))
    os.symlink("../one.jsonl", os.path.join(root, "--w--/one/link.jsonl"))
    for n, (file, _) in enumerate(candidates(root)):
        os.utime(os.path.join(root, file), (1767225600 + n * 7 % 11, 1767225600 + n * 7 % 11), follow_symlinks=False)


def random_source(root, seed):
    """Many layouts of names."""
    draw = random.Random(seed)
    names = ["a", "b", "session", "run-0", "--a--", "a+b", "c.jsonl"]
    for n in range(draw.randrange(1, 40)):
        parts = [draw.choice(names) for _ in range(draw.randrange(0, 5))]
        path = os.path.join(root, *parts, draw.choice(names[:6]) + ".jsonl")
        try:
            write(path, f"s{n}", draw.choice(["/a", "/b", None]), draw.random() < 0.8)
            os.utime(path, (1767225600 + draw.randrange(9),) * 2)
        except OSError:
            pass


def pages(mount):
    """Exits if a page lacks links to the pages of the names in `parent` and `subagents`."""
    for project in os.listdir(os.path.join(mount, "projects")):
        for stem in os.listdir(os.path.join(mount, "projects", project)):
            page = os.path.join(mount, "html", project, stem + ".html")
            if stem.startswith(".") or not os.path.exists(page):
                continue
            with open(page, encoding="utf-8") as f:
                text = f.read()
            for name, title in ("parent", "Parent"), ("subagents", "Subagents"):
                try:
                    with open(os.path.join(mount, "projects", project, stem, name), encoding="utf-8") as f:
                        want = ["html/" + line.split("/", 1)[1] + ".html" for line in f.read().splitlines()]
                except FileNotFoundError:
                    want = []
                fact = re.search(f"<dt>{title}</dt><dd>(.*?)</dd>", text)
                links = [urllib.parse.unquote(href) for href in re.findall('href="([^"]*)"', fact[1])] if fact else []
                got = [os.path.normpath(os.path.join("html", project, link)) for link in links]
                if sorted(got) != sorted(want) or not all(os.path.exists(os.path.join(mount, to)) for to in got):
                    sys.exit(f"{page}: {title} is {got}, {name} {want}")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    command, where = sys.argv[1:3]
    if command == "random":
        for number in range(1, int(sys.argv[3]) + 1):
            os.makedirs(f"{where}/{number}")
            random_source(f"{where}/{number}", number)
    elif command == "write":
        for sid, file in zip(sys.argv[2::2], sys.argv[3::2]):
            write(file, sid)
    elif command in ("agree", "now"):
        agree(where, sys.argv[3], ((show, shown), (latest, shown_latest))[: 1 if command == "now" else 2])
    elif command == "listed":
        print("\n".join(listed(where, sys.argv[3])))
    else:
        {"list": show, "latest": latest, "shown": shown, "shown-latest": shown_latest, "make": make, "pages": pages}[command](os.path.abspath(where))
