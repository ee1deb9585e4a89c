# SPDX-License-Identifier: MIT
"""The expected contents of search/QUERY/, computed from the sessions' own files: matching entries from all.txt, the best
lines and rows from the entries' files, the order from info.json. Text copied from all.txt is found.

usage: search.py MOUNT QUERY...		ends with the first difference

With SEED and PHRASES in the environment, PHRASES phrases are also drawn from the lines of all.txt."""

import json
import os
import random
import re
import sys

from cut import cut_around, rank

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
        # In file order, the order of the listing, which is sorted by nothing else.
        with os.scandir(os.path.join(root, self.path, "entries")) as names:
            self.entries = [e.name for e in names]
        self.said, self.whats, self.values, self.raw = {}, {}, set(), {}
        for line in lines_of(read(self.path, "all.txt") or ""):
            if line:
                entry, what, text = self.split(line)
                self.said.setdefault(entry, []).append(text)
                self.whats.setdefault(entry, set()).add(what)
                self.raw.setdefault(entry, []).append(line)
                if what in ("label", "session_info"):
                    self.values.add(entry)
        self.folded = {entry: [fold(line) for line in lines] for entry, lines in self.said.items()}
        self.settle()

    def copy_key(self, entry):
        """Returns what copies of an entry in other sessions have in common."""
        stored = json.loads(read(self.path, "entries", entry, "entry.json"))
        time = stored.get("timestamp") if isinstance(stored, dict) else None
        return (entry, json.dumps(time), *self.raw.get(entry, []))

    def split(self, line):
        """Returns the entry of a line of all.txt, whose name can contain blanks, its kind, and the text."""
        names = line.split(": ")[0].split(" ")
        for n in range(len(names) - 1, 0, -1):
            entry = " ".join(names[:n])
            if entry in self.entries:
                return entry, " ".join(names[n:]), line.split(": ", 1)[1]
        raise ValueError(f"{self.path}/all.txt: {line!r}")

    def settle(self):
        """Returns which files show the current labels and name: by the entry that set them."""
        self.shown, ids, by_target, name = {}, {}, {}, None
        for entry in self.entries if self.has_values() else []:
            kind = (read(self.path, "entries", entry, "type") or "").strip()
            stored = json.loads(read(self.path, "entries", entry, "entry.json"))
            if isinstance(stored, dict) and isinstance(stored.get("id"), (str, float, int)):
                ids[stored["id"]] = entry
            if kind == "session_info":
                name = entry
            if kind == "label" and isinstance(stored.get("targetId"), (str, float, int)):
                by_target[stored["targetId"]] = entry
        if name:
            self.shown[name] = os.path.join(self.path, "name")
        for target, entry in by_target.items():
            if target in ids:
                self.shown[entry] = os.path.join(self.path, "entries", ids[target], "label")

    def id(self, entry):
        """Returns the id of an entry that its name shows."""
        if entry.startswith("~") or "~" not in entry:
            return None if entry.startswith("~") else entry
        stored = json.loads(read(self.path, "entries", entry, "entry.json"))
        return stored.get("id") if isinstance(stored.get("id"), str) else entry.split("~")[0]

    def has_values(self):
        return read(self.path, "name") is not None or os.listdir(os.path.join(root, self.path, "labels")) or self.values

    def value(self, entry):
        """Returns the file that shows the value of a label or session_info record; else None."""
        file = self.shown.get(entry)
        text = read(file) if file else None
        return file if text is not None and lines_of(text) == self.said[entry] else None

    def files(self, entry):
        """Returns names and texts that are searched, in order."""
        here = os.path.join(self.path, "entries", entry)
        if entry in self.values:
            file = self.value(entry)
            return [(file, read(file))] if file else []
        found = ["text.md", "thinking.md"]
        if os.path.isdir(os.path.join(root, here, "tool-calls")):
            calls = os.listdir(os.path.join(root, here, "tool-calls"))
            calls.sort(key=lambda name: int(name.split("-")[0]))
            found += [f"tool-calls/{c}/{file}" for c in calls for file in ("arguments.txt", "error")]
        texts = [(os.path.join(here, name), read(here, name)) for name in found]
        error = read(here, "error")
        if error != texts[0][1]:
            texts.append((os.path.join(here, "error"), error))
        return [(name, text) for name, text in texts if text is not None]


def words_of(query):
    """Returns words and phrases, and those that must not occur."""
    wanted, unwanted = [], []
    for sign, quoted, plain in re.findall(r'(-?)(?:"([^"]+)"|(\S+))', query):
        (unwanted if sign else wanted).append(fold(quoted or plain))
    return wanted, unwanted


def names(word, id_):
    """Returns whether the word is the id, or at least eight characters of its beginning."""
    return bool(id_) and (fold(id_) == word or len(word) >= 8 and fold(id_).startswith(word))


def best(candidates, wanted):
    """Returns the three (rank, place, number, line) with the most words, then the most whole ones, in their order, and
    the first of the best."""
    found = [(i, *c) for i, c in enumerate(candidates) if c[0][0] or not wanted]
    found.sort(key=lambda c: (-c[1][0], -c[1][1], c[0]))
    return sorted(found[:3]), found[0][2:] if found else None


WHITE = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))


def flat(text):
    return re.sub("[\x01-\x1f\x7f-\x9f\u2028\u2029]", " ", text)


def cell(text):
    return flat(re.sub(r"[\t\\]", lambda c: {"\t": "\\t"}.get(c[0], "\\\\"), text))


def expected(sessions, query):
    wanted, unwanted = words_of(query)
    lines, rows, seen = [], [], {}
    for s in sessions:
        for entry in s.entries:
            said = s.folded.get(entry, [])
            is_named = len(wanted) == 1 and not unwanted and any(names(wanted[0], id_) for id_ in (s.info["id"], s.id(entry)))
            if not is_named and any(not any(w in line for line in said) for w in wanted):
                continue
            if any(w in line for line in said for w in unwanted):
                continue
            if seen.setdefault(s.copy_key(entry), s) is not s:
                continue
            candidates = []
            for name, text in s.files(entry):
                for n, line in enumerate(lines_of(text), 1):
                    candidates.append((rank(fold(line), wanted), name, n, line))
            if entry in s.values and not s.value(entry):
                name = os.path.join(s.path, "entries", entry, "entry.json")
                candidates += [(rank(fold(line), wanted), name, 1, line) for line in s.said[entry]]
            chosen, first = best(candidates, wanted)
            if is_named and not chosen:
                chosen, first = best(candidates, [])
            assert not wanted or chosen or is_named, f"{query}: {s.path}/entries/{entry} has a link and no line"
            lines += [f"{name}:{n}:{cut_around(line, wanted, 300, fold)}\n" for _, _, name, n, line in chosen]
            name, n, line = first or ("", "", "")
            text = cell(cut_around(line, wanted, 160, fold))
            _, project, stem = s.path.split("/")
            called = flat(cut_around(line.strip(WHITE), wanted, 60, fold)).strip(WHITE)
            rows.append((s.whats.get(entry), [project, stem, entry], [name, str(n), text], f"../../{s.path}/entries/{entry}", called))
    return lines[:MOST], rows[:MOST]


def encoded(text):
    name = re.sub("[\x01-\x1f\x7f/%]", lambda c: f"%{ord(c[0]):02X}", text)
    return f"%{ord(name[0]):02X}" + name[1:] if name[0] in ".~" else name


def phrase(sessions):
    """Returns some words of a line of all.txt, unchanged."""
    while True:
        said = [line for lines in random.choice(sessions).said.values() for line in lines]
        words = re.findall(r"\S+\s*", random.choice(said)) if said else []
        if not words:
            continue
        begin = random.randrange(len(words))
        text = "".join(words[begin : begin + random.choice([1, 2, 3, 5])]).strip(" ")
        if text and '"' not in text and "\ufffd" not in text and len(encoded(f'"{text}"').encode()) <= 200:
            return f'"{text}"'


def check_verbatim(query, line):
    """Checks that the text is in the file and at the place that the line names."""
    path, number, text = re.fullmatch(r"(.*?):([0-9]+):(.*)", line, re.S).groups()
    text = re.sub("^\u2026|\u2026$", "", text) if len(text) == 300 else text
    if path.endswith("/entry.json"):
        stored = json.loads(read(path))
        assert text in str(stored.get("label", stored.get("name"))), f"{query}: {line!r} is not the value in {path}"
        return
    assert text in lines_of(read(path))[int(number) - 1], f"{query}: {line!r} is not what {path} has there"


def check_row(query, row, want):
    whats, names, place, _, _ = want
    assert row[1:4] == names and row[5:] == place, f"{query}: {row}, not {want}"
    assert whats is None or row[4] in whats, f"{query}: {row}: not one of {whats}"
    stored = json.loads(read("projects", *names[:2], "entries", names[2], "entry.json"))
    time = stored.get("timestamp") if isinstance(stored, dict) else None
    if isinstance(time, str) and re.fullmatch(r"[0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z", time):
        assert row[0] == time, f"{query}: {row}, not {time}"


def own_words(row):
    """Returns what the session's labels.tsv shows of a user's message: the user's words."""
    for line in lines_of(read("projects", row[1], row[2], "labels.tsv") or ""):
        cells = line.split("\t")
        if cells[0] == row[3]:
            return cells[2].partition(": ")[2]
    return ""


def check(sessions, query):
    lines, links = expected(sessions, query)
    here = os.path.join("search", encoded(query))
    shown, table = read(here, "hits.txt"), read(here, "entries.tsv")
    assert (shown is None) == (not lines), f"{query}: hits.txt is there: {shown is not None}, {len(lines)} lines"
    shown = lines_of(shown) if shown else []
    for i, (a, b) in enumerate(zip(shown, lines)):
        assert a + "\n" == b, f"{query}: line {i + 1}: {a!r}, not {b!r}"
    for line in shown[:500]:
        check_verbatim(query, line)
    assert len(shown) == len(lines), f"{query}: {len(shown)} lines, not {len(lines)}"
    assert (table is None) == (not links), f"{query}: entries.tsv is there: {table is not None}, {len(links)} rows"
    rows = [row.split("\t") for row in lines_of(table)] if table else [[]]
    assert not table or rows[0] == "time project stem entry what path line text".split(), f"{query}: {rows[0]}"
    assert len(rows) == len(links) + 1, f"{query}: {len(rows) - 1} rows, not {len(links)}"
    names = sorted(set(os.listdir(os.path.join(root, here))) - {"hits.txt", "hits.html", "entries.tsv"}, key=lambda n: int(n.split()[0]))
    assert len(names) == len(links), f"{query}: {len(names)} links, not {len(links)}"
    for i, (name, row, want) in enumerate(zip(names, rows[1:], links), 1):
        check_row(query, row, want)
        texts = [want[4]] + [own_words(row)] * (row[4] == "user")
        called = [encoded(f"{i:04d} " + " ".join([row[4].replace(" ", "-")] + [text] * bool(text))) for text in texts]
        assert any(name == c or len(c.encode()) > 255 and name[:50] == c[:50] for c in called), f"{query}: {name}, not {called}"
        to = os.readlink(os.path.join(root, here, name))
        assert to == want[3], f"{query}: {name} -> {to}, not {want[3]}"
        assert os.path.isdir(os.path.join(root, here, name)), f"{query}: {name} leads nowhere"
    return len(lines), len(links)


sessions = []
for p in os.listdir(os.path.join(root, "projects")):
    for stem in os.listdir(os.path.join(root, "projects", p)):
        if not os.path.islink(os.path.join(root, "projects", p, stem)):
            sessions.append(Session(p, stem))
sessions.sort(key=lambda s: s.info["file"].encode())
sessions.sort(key=lambda s: s.info.get("modified", ""), reverse=True)
random.seed(os.environ.get("SEED"))
for q in sys.argv[2:] + [phrase(sessions) for _ in range(int(os.environ.get("PHRASES", 0)))]:
    print(q, *check(sessions, q))
