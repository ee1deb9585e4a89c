"""What search/QUERY/ has to show, made from the names of the sessions themselves: which entries match from all.txt, the
lines from the entries' files, as grep -niF prints them; the order from info.json.

usage: search.py MOUNT QUERY...		ends with the first difference"""

import json
import os
import re
import sys
import urllib.parse

root = sys.argv[1]
MOST = 10000


def read(*path):
    try:
        with open(os.path.join(root, *path), "rb") as f:
            return f.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return None


def fold(text):
    return "".join(c.casefold() if len(c.casefold()) == 1 else c for c in text)


def lines_of(text):
    return text[:-1].split("\n") if text.endswith("\n") else text.split("\n")


class Session:
    def __init__(self, project, stem):
        self.path = os.path.join("projects", project, stem)
        self.info = json.loads(read(self.path, "info.json"))
        self.title = read(self.path, "title")[:-1]
        # In the order of the file: that of the listing, which is sorted by nothing else.
        with os.scandir(os.path.join(root, self.path, "entries")) as names:
            self.entries = [e.name for e in names]
        self.said = {}
        for line in lines_of(read(self.path, "all.txt") or ""):
            if line:
                entry, text = self.split(line)
                self.said.setdefault(entry, []).append(fold(text))

    def split(self, line):
        """The entry that a line of all.txt is of, whose name may have blanks in it, and the text."""
        names = line.split(": ")[0].split(" ")
        for n in range(len(names) - 1, 0, -1):
            entry = " ".join(names[:n])
            if entry in self.entries:
                return entry, line.split(": ", 1)[1]
        raise ValueError(f"{self.path}/all.txt: {line!r}")

    def files(self, entry):
        """Name and text of what is searched, in order."""
        here = os.path.join(self.path, "entries", entry)
        found = ["text.md", "thinking.md"]
        if os.path.isdir(os.path.join(root, here, "tool-calls")):
            calls = os.listdir(os.path.join(root, here, "tool-calls"))
            calls.sort(key=lambda name: int(name.split("-")[0]))
            found += [f"tool-calls/{c}/arguments.json" for c in calls]
        texts = [(os.path.join(here, name), read(here, name)) for name in found]
        error = read(here, "error")
        if error != texts[0][1]:
            texts.append((os.path.join(here, "error"), error))
        return [(name, text) for name, text in texts if text is not None]


def words_of(query):
    """Words and phrases, and those that must not occur."""
    wanted, unwanted = [], []
    for sign, quoted, plain in re.findall(r'(-?)(?:"([^"]+)"|(\S+))', query):
        (unwanted if sign else wanted).append(fold(quoted or plain))
    return wanted, unwanted


def expected(sessions, query):
    wanted, unwanted = words_of(query)
    lines, links = [], []
    for s in sessions:
        for entry in s.entries:
            said = s.said.get(entry, [])
            if any(not any(w in line for line in said) for w in wanted):
                continue
            if any(w in line for line in said for w in unwanted):
                continue
            links.append((s.title[:60], f"../../{s.path}/entries/{entry}"))
            for name, text in s.files(entry):
                for n, line in enumerate(lines_of(text), 1):
                    if not wanted or any(w in fold(line) for w in wanted):
                        lines.append(f"{name}:{n}:{line}\n")
    return lines[:MOST], links[:MOST]


def encoded(query):
    name = query.replace("%", "%25").replace("/", "%2F")
    return "%2E" + name[1:] if name[0] == "." else "%7E" + name[1:] if name[0] == "~" else name


def check(sessions, query):
    lines, links = expected(sessions, query)
    here = os.path.join("search", encoded(query))
    shown = read(here, "hits.txt")
    assert (shown is None) == (not lines), f"{query}: hits.txt is there: {shown is not None}, {len(lines)} lines"
    shown = lines_of(shown) if shown else []
    for i, (a, b) in enumerate(zip(shown, lines)):
        assert a + "\n" == b, f"{query}: line {i + 1}: {a!r}, not {b!r}"
    assert len(shown) == len(lines), f"{query}: {len(shown)} lines, not {len(lines)}"
    names = sorted((n for n in os.listdir(os.path.join(root, here)) if n != "hits.txt"), key=lambda n: int(n.split()[0]))
    assert len(names) == len(links), f"{query}: {len(names)} links, not {len(links)}"
    for i, (name, (title, target)) in enumerate(zip(names, links), 1):
        number, _, rest = name.partition(" ")
        assert number == f"{i:04d}", f"{query}: {name}"
        assert urllib.parse.unquote(rest).startswith(title[:20].split("~")[0]), f"{query}: {name}, not {title}"
        to = os.readlink(os.path.join(root, here, name))
        assert to == target, f"{query}: {name} -> {to}, not {target}"
        assert os.path.isdir(os.path.join(root, here, name)), f"{query}: {name} leads nowhere"
    return len(lines), len(links)


sessions = []
for p in os.listdir(os.path.join(root, "projects")):
    for stem in os.listdir(os.path.join(root, "projects", p)):
        if not os.path.islink(os.path.join(root, "projects", p, stem)):
            sessions.append(Session(p, stem))
sessions.sort(key=lambda s: s.info["file"].encode())
sessions.sort(key=lambda s: s.info.get("modified", ""), reverse=True)
for q in sys.argv[2:]:
    print(q, *check(sessions, q))
