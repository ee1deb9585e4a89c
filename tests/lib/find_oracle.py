# SPDX-License-Identifier: MIT
"""The results of a query in a session file, computed from its lines without an index, a prefilter or any of our code: each
entry is parsed by the grammar of JSON, and its texts are made, folded and searched.

usage: find_oracle.py ASK SEED ROUNDS FILE...	ASK: the program tests/tools/match_ask.c; without a FILE the queries are
	over generated texts, in many spellings"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unicodedata

import stored
from cut import Whole, cut_around, places, rank

# The directory of a session whose project and stem are empty, as match_ask has them.
IN_SESSION = "projects///"


def simple(character):
    full, lower = character.casefold(), character.lower()
    if len(full) == 1:
        return full
    return lower if len(lower) == 1 else character


# Each ASCII character, and its typographic forms.
TYPED = {
    "'": "\u2018\u2019\u201b\u02bc",
    '"': "\u201c\u201d\u201f",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
    " ": "\u00a0\u202f\u2007\u2009",
}
AS_TYPED = str.maketrans({form: plain for plain, forms in TYPED.items() for form in forms})


def fold(text):
    """Returns the form in which two texts are compared."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFC", text).translate(AS_TYPED)
    return unicodedata.normalize("NFC", "".join(c if c == "\u0345" else simple(c) for c in text))


def joins(character):
    """Returns whether it can be composed with the character before it."""
    return unicodedata.category(character)[0] == "M" or 0x1160 <= ord(character) < 0x1200


# --- JSON, every value as it is stored ------------------------------------------------

ESCAPE = re.compile(r'\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))')
PLAIN = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def unescape(m):
    if m[1]:
        return chr(0x10000 + ((int(m[1], 16) - 0xD800) << 10) + int(m[2], 16) - 0xDC00)
    return chr(int(m[3], 16)) if m[3] else PLAIN.get(m[4], m[4])


def decoded(raw):
    return ESCAPE.sub(unescape, raw)


class Value:
    """kind: s, n, l(iteral), a, o; raw: of a scalar; items: of an array the values, of an object (raw key, value); compact:
    all of it, without white space"""

    def __init__(self, compact=b"{}"):
        self.compact = compact.decode()
        self.kind = {"{": "o", "[": "a", '"': "s", "t": "l", "f": "l", "n": "l"}.get(self.compact[0], "n")
        self.raw = self.compact[1:-1] if self.kind == "s" else self.compact
        items = stored.members(compact) if self.kind in "ao" else ()
        self.items = [Value(v) if self.kind == "a" else (key[1:-1].decode(), Value(v)) for key, v in items]

    def get(self, name):
        found = None
        for key, value in self.items if self.kind == "o" else ():
            if decoded(key) == name:
                found = value
        return found


def parse(line):
    try:
        json.loads(line, parse_constant=stored.refuse, parse_int=str)
        return Value(stored.value_at(line.encode(), 0)[0])
    except (ValueError, RecursionError):
        return None


def truthy(v):
    if v is None or v.kind == "l" and v.raw != "true" or v.kind == "s" and not v.raw:
        return False
    return v.kind != "n" or float(v.raw) != 0


# --- an entry ---------------------------------------------------------------------------


def clean(text):
    return re.sub("[\ud800-\udfff]", "\ufffd", text).replace("\0", "\u2400")


def text_of(v):
    return clean(decoded(v.raw)) if v is not None and v.kind == "s" else ""


def is_text(v):
    return v is not None and v.kind == "s"


def as_file(text):
    if not text.strip("\n"):
        return ""
    return text if text.endswith("\n") else text + "\n"


def blocks(content, kind):
    for b in content.items if content is not None and content.kind == "a" else ():
        if text_of(b.get("type")) == kind:
            yield b


WHITE = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))


class OfError(str):
    """Returns the beginning of the path of a call's error."""


class Entry:
    def __init__(self, value, old, line):
        self.value, self.line = value, line
        self.type = text_of(value.get("type"))
        message = value.get("message")
        self.message = message if self.type == "message" and message is not None and message.kind == "o" else Value()
        self.is_message = message is not None and message.kind == "o" and self.type == "message"
        self.role = text_of(self.message.get("role"))
        if old and self.role == "hookMessage":
            self.role = "custom"
        content = self.message if self.type == "message" else value if self.type == "custom_message" else Value()
        self.content = content.get("content")
        self.text = as_file(self.make_text())
        self.thinking = as_file("\n".join(text_of(b.get("thinking")) for b in blocks(self.content, "thinking")))
        self.calls = list(blocks(self.content, "toolCall")) if self.role == "assistant" else []
        nested = self.message.get("nestedCalls") if self.role == "toolResult" else None
        nested = nested.get("calls") if nested is not None and nested.kind == "o" else None
        if nested is not None and nested.kind == "a":
            self.calls = [c for c in nested.items if c.kind == "o"]
        self.error = self.make_error()
        self.what = "output" if self.role in ("toolResult", "bashExecution") else "said"
        self.failed = self.role == "toolResult" and any(text_of(c.get("status")) == "error" for c in self.calls)

    def make_text(self):
        m = self.message
        if self.type in ("compaction", "branch_summary"):
            return text_of(self.value.get("summary"))
        if self.role == "bashExecution":
            if not is_text(m.get("command")) and not is_text(m.get("output")):
                return ""
            return "$ " + text_of(m.get("command")) + "\n" + text_of(m.get("output"))
        if is_text(m.get("summary")):
            return text_of(m.get("summary"))
        said = text_of(self.content) if is_text(self.content) else "\n".join(text_of(b.get("text")) for b in blocks(self.content, "text"))
        return self.system_text(said) if self.role == "system" else said

    def system_text(self, said):
        """Returns the text of a system message: its content, its sections, and the line of its tools."""
        parts = [said] if said.strip("\n") else []
        sections = self.message.get("sections")
        if sections is not None and sections.kind == "o":
            parts += [f"### {decoded(name)}\n{text_of(v)}" for name, v in sections.items if is_text(v)]
        names = []
        for sign, key in ("", "toolsAdded"), ("-", "toolsRemoved"):
            tools = self.message.get(key)
            for tool in tools.items if tools is not None and tools.kind == "a" else []:
                name = tool.get("name") if tool.kind == "o" else tool
                names += [sign + text_of(name)] if is_text(name) else []
        parts += ["tools: " + " ".join(names)] if names else []
        return "".join(p if p is parts[-1] else p.removesuffix("\n") + "\n\n" for p in parts)

    def make_error(self):
        m = self.message
        if self.role == "toolResult" and truthy(m.get("isError")):
            return self.text or "error\n"
        if self.role == "assistant" and text_of(m.get("stopReason")) in ("error", "aborted", "length"):
            return as_file(text_of(m.get("errorMessage"))) or text_of(m.get("stopReason")) + "\n"
        if self.role == "bashExecution":
            code = m.get("exitCode")
            if truthy(m.get("cancelled")):
                return "cancelled\n"
            if code is not None and code.kind == "n" and float(code.raw) != 0:
                return code.raw + "\n"
        return ""

    def model(self):
        if self.role == "assistant":
            found = self.message.get("provider"), self.message.get("model")
        elif self.type == "model_change":
            found = self.value.get("provider"), self.value.get("modelId")
        else:
            return ""
        return "/".join(map(text_of, found)) if all(map(is_text, found)) else ""

    def tools(self):
        found = [text_of(c.get("name")) for c in self.calls if is_text(c.get("name"))]
        if self.role == "toolResult" and is_text(self.message.get("toolName")):
            found.append(text_of(self.message.get("toolName")))
        return found

    def arguments(self):
        """Returns arguments.txt and error of each call that has one: the beginning of its name, and the text."""
        for n, call in enumerate(self.calls, 1):
            arguments = call.get("arguments")
            text = ""
            for key, v in arguments.items if arguments is not None and arguments.kind == "o" else [(None, arguments)]:
                if v is not None:
                    value = text_of(v) if v.kind == "s" else clean(v.compact)
                    text += line_end(value if key is None else clean(decoded(key)) + ": " + value)
            if text:
                yield f"{n}-", text
            if self.role == "toolResult" and text_of(call.get("status")) == "error":
                yield OfError(f"{n}-"), as_file(text_of(call.get("error"))) or "error\n"

    def value_said(self):
        """Returns the label or name that the record sets."""
        label = self.value.get("label")
        if self.type == "label" and truthy(label):
            return line_end(text_of(label) if label.kind == "s" else clean(label.compact))
        name = text_of(self.value.get("name")).strip(WHITE) if self.type == "session_info" else ""
        return line_end(name) if name else ""

    def said(self, whats=()):
        """Returns its lines in all.txt, without the part before the text; only those of some kinds, if any is given."""
        texts = [text for _, text in self.files("", whats)]
        if not whats or {"label": "label", "session_info": "name"}.get(self.type) in whats:
            texts.append(self.value_said())
        return [line for text in texts for line in text.split("\n")[:-1]]

    def files(self, here, whats=()):
        """Returns where its lines are, with the text: paths below the session's directory; of a call only their
        beginning."""
        if not whats or self.what in whats:
            yield here + "text.md", self.text
        if not whats or "thinking" in whats:
            yield here + "thinking.md", self.thinking
        for begin, text in self.arguments():
            if not whats or ("error" if isinstance(begin, OfError) else "call") in whats:
                yield type(begin)(f"{here}tool-calls/{begin}"), text
        if self.error != self.text and not whats or "error" in whats and not (self.error == self.text and self.what in whats):
            yield here + "error", self.error


def line_end(text):
    return text if text.endswith("\n") else text + "\n"


def key_of(v):
    """Returns a key that is equal for equal ids."""
    if v is None or v.kind not in "sn":
        return None
    return decoded(v.raw) if v.kind == "s" else float(v.raw)


class Session:
    """Reads the entries by their lines in the file, and the current labels and name."""

    def __init__(self, path):
        self.entries, self.lines, self.has_ids = read_entries(path)
        self.names, self.labels, self.name, self.ids, self.computed = {}, {}, None, {}, {}
        header = next((parse(line) for line in self.lines if truthy(parse(line))), None)
        self.id = text_of(header.get("id")) if header else ""

    def settle(self, names):
        """Assigns the names of all entries, by line."""
        self.names = names
        if self.has_ids:
            ids = {n: e.value.get("id") for n, e in self.entries if not names.get(n, "~").startswith("~")}
            self.ids = {n: v.raw if v.kind == "n" else decoded(v.raw) for n, v in ids.items() if v is not None}
        self.computed = {n: name for n, name in names.items() if "~" in name or not self.has_ids}
        entries = [(n, e) for n, e in self.entries if n in names and e.value.kind == "o"]
        found = {key_of(e.value.get("id")): n for n, e in entries if key_of(e.value.get("id")) is not None}
        for n, e in entries:
            target = found.get(key_of(e.value.get("targetId"))) if self.has_ids else None
            if e.type == "label" and target:
                self.labels[target] = n
            if e.type == "session_info":
                self.name = n

    def files(self, n, e, whats):
        here = f"entries/{self.names[n]}/"
        if not (said := e.value_said()):
            return list(e.files(here, whats))
        target = next((t for t, record in self.labels.items() if record == n), None)
        if n == self.name:
            return [("name", said)]
        if target and e.value.get("label").kind not in "ao":
            return [(f"entries/{self.names[target]}/label", said)]
        return [(here + "entry.json", said)]

    def hits(self, n, e, words, whats, is_named, of_error):
        """Returns lines as (path, number, text); the path of a call without the part of the name after the number. The
        three lines with the most words, then the most whole ones, and the first of the best. Of an entry that only its
        id matches the first three. Without words but with is:error, lines of the error."""

        found = []
        for file, text in self.files(n, e, whats):
            if of_error and not words and not whats and not isinstance(file, OfError) and not file.endswith("/error") and text != e.error:
                continue
            for number, line in enumerate(text.split("\n")[:-1], 1):
                found.append((rank(fold(line), words), file, 1 if file.endswith("/entry.json") else number, line))
        with_words = [(i, *hit) for i, hit in enumerate(found) if hit[0][0]]
        found = with_words if with_words or not is_named and words else [(i, *hit) for i, hit in enumerate(found)]
        best = sorted(found, key=lambda hit: (-hit[1][0], -hit[1][1], hit[0]))[:3]
        return [(file, n, cut_around(line, words, 300, fold, joins)) for _, _, file, n, line in sorted(best)], best[0][2:] if best else None

    def row(self, n, e, words, best):
        """Returns the cells of its row; of the path only the beginning."""
        file, number, line = best or ("", "", "")
        what = re.sub(r"^[.~]|[\x01-\x1f\x7f/%]", lambda c: f"%{ord(c[0]):02X}", e.role if e.is_message and e.role else e.type)
        kind = "error" if isinstance(file, OfError) else "call " if file.endswith("-") else file.rsplit("/", 1)[-1].removesuffix(".md")
        what = kind if kind in ("thinking", "error", "call ") else what
        text = cut_around(line, words, 160, fold, joins)
        text = re.sub("[\t\0\\\\]", lambda c: {"\t": "\\t", "\0": "\\0"}.get(c[0], "\\\\"), text)
        text = re.sub("[\x01-\x1f\x7f-\x9f\u2028\u2029]", " ", text)
        time = e.value.get("timestamp")
        return time, self.names[n], what, file, str(number), text


# --- a query ------------------------------------------------------------------------------


def whats_of(terms):
    return {text for _, key, text in terms if key == "what"}


def names(terms, id_):
    """Returns whether the query is one word that is the id, or at least eight characters of its beginning."""
    negated, key, text = terms[0]
    if len(terms) > 1 or negated or key or not id_:
        return False
    return fold(id_) == fold(text) or len(fold(text)) >= 8 and fold(id_).startswith(fold(text))


def has_word(said, key, text):
    want = fold(text)
    return any(want in line if key == "" else any(places(line, Whole(want))) for line in said)


def matches(entry, terms, session):
    """Returns whether the entry matches; of the words of a query with in:session, the other entries can have some."""
    said = [fold(line) for line in entry.said(whats_of(terms))]
    words = [(key, text) for negated, key, text in terms if key in ("", "word") and not negated]
    if any(key == "in" for _, key, _ in terms) and words:
        all_said = [fold(line) for _, e in session.entries for line in e.said(whats_of(terms))]
        if not all(has_word(all_said, *word) for word in words) or not any(has_word(said, *word) for word in words):
            return False
        terms = [term for term in terms if term[0] or term[1] not in ("", "word")]
    for negated, key, text in terms:
        want = fold(text)
        if key in ("", "word"):
            has = has_word(said, key, text)
        elif key == "in":
            continue
        elif key == "what":
            has = said != []
        elif key == "role":
            has = entry.is_message and fold(entry.role) == want
        elif key == "type":
            has = fold(entry.type) == want
        elif key == "tool":
            has = any(fold(t) == want for t in entry.tools())
        elif key == "model":
            has = want in fold(entry.model()) and entry.model() != ""
        else:
            has = entry.error != "" or entry.failed
        if has == negated:
            return False
    return True


def written(terms):
    out = []
    for negated, key, text in terms:
        quoted = key == "" and (re.search(r"\s", text) or text[0] == "-" or ":" in text or text in ("OR", "|") or random.random() < 0.1)
        quoted = quoted or bool(re.search(r"[\s\ufeff]", text))
        out.append(("-" if negated else "") + (key + ":" if key else "") + (f'"{text}"' if quoted else text))
    return " ".join(out)


def respell(text):
    def other(c):
        same = [x for x in (c, c.upper(), c.lower(), c.swapcase()) if len(x) == 1 and simple(x) == simple(c)]
        if simple(c) in "ks" and random.random() < 0.05:
            return {"k": "\u212a", "s": "\u017f"}[simple(c)]
        return random.choice(same)

    return rewrite_text("".join(map(other, text))) if random.random() < 0.7 else text


def rewrite_text(text, share=0.3):
    """Returns the same text, some characters composed or decomposed, some quotes, hyphens and blanks typographic."""

    def other(cluster):
        if random.random() >= share:
            return cluster
        if cluster in TYPED and cluster != '"':
            return random.choice(TYPED[cluster])
        return unicodedata.normalize(random.choice(["NFC", "NFD"]), cluster)

    if random.random() < 0.3:
        return unicodedata.normalize(random.choice(["NFC", "NFD"]), text)
    return "".join(map(other, re.findall(r"\\u....|\\.|\\|[^\\][\u0300-\u036f\u1160-\u11ff\u3099]*", text, re.DOTALL)))


def cut(text):
    text = text.replace('"', "")
    if not text:
        return None
    begin = random.randrange(len(text))
    n = random.choice([1, 2, 3, 5, 8, 13, 40, 90])
    return text[begin : begin + n].strip("\x00") or None


# What a view adds to the text of the file.
ADDED = ["$ ", "path: ", ": ", "### ", "$"]


def random_word(entries, lines):
    for _ in range(50):
        if random.random() < 0.1:
            return random.choice(["error", "cancelled", "the", "zqxj", "[", "{", "\ufffd", "1", *ADDED])
        if random.random() < 0.1:
            source = random.choice(lines)
        else:
            source = random.choice(random.choice(entries)[1].said() or [""])
        word = cut(clean(source))
        if word and "\n" not in word:
            return respell(word)
    return "nothing"


def random_phrase(entries):
    """Returns words as they are in a line of all.txt."""
    for _ in range(50):
        lines = [line for line in random.choice(entries)[1].said() if line.strip()]
        words = re.findall(r"\S+\s*", random.choice(lines)) if lines else []
        begin = random.randrange(len(words)) if words else 0
        phrase = "".join(words[begin : begin + random.choice([1, 2, 3, 5, 8])]).strip(" ")
        if phrase and '"' not in phrase:
            return phrase
    return "nothing"


def random_query(entries, lines):
    terms = []
    if random.random() < 0.3:
        return [(False, random.choice(["", "", "word"]), random_phrase(entries))]
    if random.random() < 0.05:
        id_ = text_of(random.choice(entries)[1].value.get("id"))
        return [(False, "", respell(id_[: random.choice([7, 8, 12, 99])]) or "x")]
    for _ in range(random.choice([1, 1, 1, 2, 2, 3])):
        negated = random.random() < 0.15
        if random.random() < 0.8:
            terms.append((negated, random.choice(["", "", "word"]), random_word(entries, lines)))
            continue
        if random.random() < 0.3:
            terms.append((False, "what", random.choice(["said", "output", "thinking", "call", "error", "label", "name"])))
            continue
        key = random.choice(["role", "type", "tool", "model", "is"])
        e = random.choice(entries)[1]
        values = {"role": [e.role], "type": [e.type], "tool": e.tools(), "model": [cut(e.model())], "is": ["error"]}
        value = random.choice(values[key] or [""])
        if value and '"' not in value and "\n" not in value:
            terms.append((negated, key, respell(value) if key != "is" else value))
    if random.random() < 0.1:
        terms.append((False, "in", "session"))
    return terms or [(False, "", "x")]


# --- the same file in other forms -------------------------------------------------------------


def escaped(raw, share):
    def other(m):
        c = m[0]
        if c[0] == "\\" or random.random() >= share:
            return c
        if c == "/" and random.random() < 0.5:
            return "\\/"
        units = c.encode("utf-16-be")
        spelled = "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
        return spelled if random.random() < 0.5 else "\\u" + spelled[2:].upper().replace("\\U", "\\u")

    return re.sub(r"\\u[0-9a-fA-F]{4}|\\.|[^\\]", other, raw)


def rewritten(v, share):
    space = random.choice(["", "", " ", "  ", "\t"])
    if v.kind == "o":
        items = [f'"{escaped(k, share)}"{space}:{space}{rewritten(x, share)}' for k, x in v.items]
        return "{" + space + f"{space},".join(items) + space + "}"
    if v.kind == "a":
        return "[" + space + f",{space}".join(rewritten(x, share) for x in v.items) + space + "]"
    if v.kind == "s" and " " in v.raw and "\\" not in v.raw:
        return f'"{escaped(rewrite_text(v.raw, share), share)}"'
    return f'"{escaped(v.raw, share)}"' if v.kind == "s" else v.raw


def rewrite(lines, path):
    """Writes the lines with other white space, and with unneeded escapes."""
    share = random.choice([0.005, 0.05, 1])
    out = []
    for line in lines:
        value = parse(line)
        out.append(rewritten(value, share) if value else line)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out))


# --- queries ----------------------------------------------------------------------------------


class Asked:
    """The program, with one session open."""

    def __init__(self, program, path):
        self.p = subprocess.Popen([program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, text):
        self.p.stdin.write(text.encode() + b"\0")
        self.p.stdin.flush()
        found = []
        while True:
            words = self.p.stdout.readline().rstrip(b"\n").split(b" ", 2)
            if words[0] == b"end":
                return found, self.p.stdout.read(int(words[1])), self.p.stdout.read(int(words[2]))
            if words[0] != b"entry":
                sys.exit(f"{text!r}: {words}")
            found.append((int(words[1]), words[2].decode()))


def read_entries(path):
    raw = open(path, "rb").read().split(b"\n")
    lines = [line.decode("utf-8", "replace") for line in raw]
    parsed = [(n, parse(line)) for n, line in enumerate(lines, 1)]
    parsed = [(n, v) for n, v in parsed if truthy(v)]
    if not parsed or parsed[0][1].kind != "o":
        return [], lines, False
    version = parsed[0][1].get("version")
    version = float(version.raw) if version is not None and version.kind == "n" else 1
    return [(n, Entry(v, version < 3, lines[n - 1].removesuffix("\r"))) for n, v in parsed[1:]], lines, version >= 2


def check(asked, session, terms, path):
    text = written(terms)
    got, lines, rows = asked.ask(text)
    known = dict(session.entries)
    # Later headers are not entries.
    whole_session = names(terms, session.id)
    named = {n for n, e in session.entries if whole_session or names(terms, session.ids.get(n)) or names(terms, session.computed.get(n))}
    want = [n for n, e in session.entries if (n in named or matches(e, terms, session)) and e.type != "session"]
    if [n for n, _ in got if n in known] != want or len(got) != len(want):
        sys.exit(f"{path}: {text!r} {terms!r}\ngot  {got}\nwant {want}")
    forms = {"": str, "word": Whole}
    words = [forms[key](fold(text)) for negated, key, text in terms if key in forms and not negated]
    want_lines, want_rows = [], []
    for n, _ in got:
        of_entry, best = session.hits(n, known[n], words, whats_of(terms), n in named, (False, "is", "error") in terms)
        if words and not of_entry and n not in named:
            sys.exit(f"{path}: {text!r}: the entry in line {n} has a link and no line")
        want_lines += of_entry
        want_rows.append(session.row(n, known[n], words, best))
    rows = [row.split("\t") for row in rows.decode("utf-8", "replace").split("\n")[:-1]]
    if len(rows) != len(got):
        sys.exit(f"{path}: {text!r}: {len(rows)} rows, not {len(got)}")
    for row, (time, entry, what, file, number, said) in zip(rows, want_rows):
        if row[3] != entry or not row[4].startswith(what) or not row[5].startswith(file and IN_SESSION + file) or row[6:] != [number, said]:
            sys.exit(f"{path}: {text!r}: `{row}` is not {entry} {what} {file}:{number}:{said}")
        if is_text(time) and row[0] and re.fullmatch(r"[0-9-]{10}T[0-9:.]{12}Z", decoded(time.raw)) and row[0] != decoded(time.raw):
            sys.exit(f"{path}: {text!r}: `{row}`: another time")
    have = lines.decode("utf-8", "replace").split("\n")[:-1]
    if len(have) != len(want_lines):
        sys.exit(f"{path}: {text!r}: {len(have)} lines, not {len(want_lines)}\n{have[:5]}\n{want_lines[:5]}")
    for line, (file, n, said) in zip(have, want_lines):
        name = "error" if isinstance(file, OfError) else "arguments.txt"
        end = f"/{name}:{n}:{said}" if file.endswith("-") else f"{file}:{n}:{said}"
        if not line.startswith(IN_SESSION + file) or not line.endswith(end):
            sys.exit(f"{path}: {text!r}: `{line}` is not {file}:{n}:{said}")
    return len(want)


def check_file(program, path, rounds):
    session = Session(path)
    entries = session.entries
    if not entries or subprocess.run([program, path], stdin=subprocess.DEVNULL).returncode == 3:
        return 0
    asked = Asked(program, os.path.abspath(path))
    session.settle(dict(asked.ask("-" + "zqxj" * 8)[0]))
    found = sum(check(asked, session, random_query(entries, session.lines), path) for _ in range(rounds))
    found += sum(check(asked, session, [(False, "", text)], path) for text in ADDED)
    for _, e in entries:
        phrase = e.value_said().split("\n")[0]
        if phrase and '"' not in phrase:
            found += check(asked, session, [(False, "", phrase)], path)
    for name in list(session.computed.values())[:20]:
        found += check(asked, session, [(False, "", respell(name))], path)
    asked.p.stdin.close()
    asked.p.wait()
    return found


# --- generated texts --------------------------------------------------------------------------

LETTERS = """e E k s K S x J i I f / : $ < = ; ` 1 ' - \u00e9 \u00c9 \u1ebf \u1ec7 \u01f0 \u0219 \u00f1 \u1e69 \u2260 \u212a \u212b
\u017f \u1e9b \u0130 \u0131 \u00df \u1e9e \u03ac \u1f71 \u0386 \u1fbb \u1fb3 \u1fb4 \u1fbc \u03b1 \u03b9 \u0399 \u1fbe \u03a9 \u2126 \u037e \u1fef \u0439 \u0419 \u0438
\u0451 \u0434 \u0414 \uac00 \uac01 \ud788 \u304b \u304c \u3071 \u8c48 \uf900 \u6587 \u0958 \u0915 \u09cb \u05e9 \ufb2a \u0f43 \u0627 \u0622 \U0001d15e \U00010400
\U00010428 \U0002f800 \u4e3d \U0001f600 \ufe0f \u0301 \u0302 \u0323 \u0316 \u0327 \u030c \u0307 \u0345 \u0340 \u0344 \u0338 \u093c \u3099 \u11a8 \u1161 \u1100""".split(
    "\n"
)
LETTERS = [x for line in LETTERS for x in line.split(" ")] + [" "] * 6 + [c for forms in TYPED.values() for c in forms]


def made_up():
    return "".join(random.choices(LETTERS, k=random.choice([1, 3, 10, 30]))).strip("\ufeff") or "x"


def in_json(text, share):
    def spelled(c):
        units = c.encode("utf-16-be")
        return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))

    return "".join(spelled(c) if random.random() < share or c in '"\\' else random.choice(["/", "\\/"]) if c == "/" else c for c in text)


def check_texts(program, texts, choose, rounds):
    """Asks each of the terms that choose(session) returns, so many times, in a session with a message for each text, as JSON."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as f:
        f.write('{"type":"session","version":3,"id":"a","timestamp":"2026-03-01T00:00:00Z","cwd":"/"}\n')
        for i, text in enumerate(texts):
            f.write('{"type":"message","id":"%d","parentId":null,"message":{"role":"user","content":"%s"}}\n' % (i, text))
        f.flush()
        session = Session(f.name)
        asked = Asked(program, f.name)
        session.settle(dict(asked.ask("-" + "zqxj" * 8)[0]))
        found = sum(check(asked, session, [choose(session)], f.name) for _ in range(rounds))
        asked.p.stdin.close()
        asked.p.wait()
    return found


def check_made_up(program, entries, rounds):
    """Tests words of texts, both in many forms. As many queries as rounds, each over all entries."""

    def choose(session):
        text = random.choice(session.entries)[1].text.strip("\n")
        text = fold(text) if random.random() < 0.5 else text
        return random.random() < 0.1, "", respell(cut(text) or "x").replace('"', "")

    texts = [in_json(rewrite_text(made_up()), random.choice([0, 0, 0.1, 1])) for _ in range(entries)]
    return check_texts(program, texts, choose, rounds)


def check_long(program):
    """Tests a word at each place around 16 KiB of text, of which the program searches one piece after the other."""
    texts = ["x" * (16384 - i) + " a word " + "\u00e9" * 9000 for i in range(-4, 12)]
    words = iter(["a word", "a", "word", "ord \u00e9\u00e9", "x a"])
    return check_texts(program, texts, lambda session: (False, "", next(words)), 5)


def main(program, seed, rounds, paths):
    random.seed(int(seed))
    sys.setrecursionlimit(5000)
    found = 0
    if not paths:
        found = sum(check_made_up(program, 50, 100) for _ in range(int(rounds) // 100)) + check_long(program)
        print(f"{rounds} queries of texts that are made up, {found} entries found, seed {seed}")
    for path in paths:
        found += check_file(program, path, int(rounds))
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as other:
            rewrite(read_entries(path)[1], other.name)
            found += check_file(program, other.name, int(rounds))
    if paths:
        print(f"{2 * len(paths) * int(rounds)} queries, {found} entries found, seed {seed}")
    if not found:
        sys.exit("nothing was found")


main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
