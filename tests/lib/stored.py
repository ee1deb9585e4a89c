# SPDX-License-Identifier: MIT
"""Reads the lines of a session file as they are stored, for programs that compute what sessionfs(5) states."""
import hashlib
import json
import re
import sys

sys.setrecursionlimit(100000)
TOKEN = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*"|[][{}:,]|[^][{}:,"\s]+)', re.S)
ESCAPE = re.compile(rb'\\(u[0-9a-fA-F]{4}|.)', re.S)
PLAIN = {b'"': '"', b"\\": "\\", b"/": "/", b"b": "\b", b"f": "\f", b"n": "\n", b"r": "\r", b"t": "\t"}


def refuse(name):
    raise ValueError(name)


def value_at(raw, at):
    """Yields the tokens of the value at a place, and its end."""
    tokens, depth = [], 0
    while True:
        m = TOKEN.match(raw, at)
        tokens.append(m.group(1))
        at = m.end()
        depth += (m.group(1) in (b"{", b"[")) - (m.group(1) in (b"}", b"]"))
        if depth == 0:
            return b"".join(tokens), at


def members(compact):
    """Yields the pairs of an object, or (None, value) of an array."""
    at, found = 1, []
    while True:
        m = TOKEN.match(compact, at)
        if m.group(1) in (b"}", b"]"):
            return found
        if m.group(1) == b",":
            at = m.end()
        key = None
        if compact[:1] == b"{":
            key, at = value_at(compact, at)
            at = TOKEN.match(compact, at).end()
        value, at = value_at(compact, at)
        found.append((key, value))


def fields(compact):
    return {exact(k): v for k, v in members(compact)} if compact and compact[:1] == b"{" else {}


def is_string(v):
    return v is not None and v[:1] == b'"'


def units(string):
    """Yields a string without its quotes: runs of bytes, and the code units of escapes."""
    at, text = 0, string[1:-1]
    for m in ESCAPE.finditer(text):
        if m.start() > at:
            yield text[at : m.start()]
        e = m.group(1)
        yield int(e[1:], 16) if e[:1] == b"u" else ord(PLAIN[e])
        at = m.end()
    if at < len(text):
        yield text[at:]


def characters(string):
    high = None
    for u in units(string):
        if high is not None:
            if isinstance(u, int) and 0xDC00 <= u <= 0xDFFF:
                yield 0x10000 + ((high - 0xD800) << 10) + (u - 0xDC00)
                high = None
                continue
            yield high
            high = None
        if isinstance(u, int) and 0xD800 <= u <= 0xDBFF:
            high = u
        else:
            yield u
    if high is not None:
        yield high


def clean(string):
    out = []
    for c in characters(string):
        if isinstance(c, bytes):
            out.append(c.decode("utf-8", "replace"))
        else:
            out.append("\u2400" if c == 0 else "\ufffd" if 0xD800 <= c <= 0xDFFF else chr(c))
    return "".join(out)


def exact(string):
    return b"".join(c if isinstance(c, bytes) else chr(c).encode("utf-8", "surrogatepass") for c in characters(string))


def truthy(v):
    if v is None or v in (b"null", b"false", b'""'):
        return False
    return not re.match(rb"[-0-9]", v) or float(v) != 0


def encoded(text, prefix=b""):
    out, at, rest = [], 0, text
    while rest:
        step = 1
        for n in (1, 2, 3, 4):
            try:
                rest[:n].decode("utf-8")
                step = n
                break
            except UnicodeDecodeError:
                pass
        else:
            out.append(b"%%%02X" % rest[0])
            rest = rest[1:]
            continue
        c, rest = rest[:step], rest[step:]
        first = not out and not prefix and c in b".~"
        out.append(b"%%%02X" % c[0] if len(c) == 1 and (c in b"/%\x7f" or c < b" " or first) else c)
    name = prefix + (b"".join(out) if text else b"%")
    if len(name) <= 255:
        return name
    kept, out = prefix, out or [b"%"]
    for c in out:
        if len(kept) + len(c) > 255 - 9:
            break
        kept += c
    return kept + b"~" + hashlib.sha256(prefix + text).hexdigest()[:8].encode()


def is_number(v):
    return v is not None and re.match(rb"-?[0-9]", v) is not None


def key_of(v):
    if is_string(v):
        return exact(v).decode("utf-8", "replace") if b"\\" not in v else exact(v)
    return float(v) if is_number(v) else None


def names_of(entries, derived, sid):
    """By line. The last line with an id has it."""
    last = {key_of(e.get(b"id")): line for line, e in entries}
    taken, names = set(), {}
    for line, e in entries:
        key = key_of(e.get(b"id"))
        if derived:
            text, n = sid + b"\n%d" % line, 0
            name = hashlib.sha256(text).hexdigest()[:8].encode()
            while name in taken:
                n += 1
                name = hashlib.sha256(text + b"\n%d" % n).hexdigest()[:8].encode()
        elif key is None or last[key] != line:
            names[line] = b"~%d" % line
            continue
        else:
            own = name = encoded(exact(e[b"id"]) if is_string(e[b"id"]) else e[b"id"])
            n = 1
            while name in taken:
                n += 1
                name = own + b"~%d" % n
        taken.add(name)
        names[line] = name
    return names


def text_file(text):
    if not text.strip("\n"):
        return ""
    return text if text.endswith("\n") else text + "\n"


def blocks(content):
    if content is None or content[:1] != b"[":
        return []
    return [fields(v) for _, v in members(content) if v[:1] == b"{"]


def string_or(v, otherwise=""):
    return clean(v) if is_string(v) else otherwise


def whole_lines(text):
    return text if text.endswith("\n") else text + "\n"


def call_blocks(m):
    """Yields the calls of a message, or those that the tool of a result made."""
    role = normal(m.get(b"role"))
    if role == b'"toolResult"':
        return blocks(fields(m.get(b"nestedCalls")).get(b"calls"))
    return [b for b in blocks(m.get(b"content")) if normal(b.get(b"type")) == b'"toolCall"'] if role == b'"assistant"' else []


def normal(compact):
    """Decodes escapes in the few strings that are compared."""
    return b'"' + exact(compact) + b'"' if is_string(compact) and b"\\" in compact else compact


def entries_of(data):
    header, entries = None, []
    for line, raw in enumerate(data.split(b"\n"), 1):
        try:
            json.loads(raw.decode("utf-8", "replace"), parse_constant=refuse)
        except ValueError:
            continue
        compact, _ = value_at(raw, 0)
        if not truthy(compact):
            continue
        e = fields(compact)
        if b"type" in e:
            e[b"type"] = normal(e[b"type"])
        if header is None:
            header = e
        elif e.get(b"type") != b'"session"':
            entries.append((line, e))
    return header, entries


def below(header, version):
    v = header.get(b"version", b"null")
    v = v.strip(b'"')
    if v == b"null":
        return True
    try:
        return float({b"true": b"1", b"false": b"0", b"": b"0", b"[]": b"0"}.get(v, v)) < version
    except ValueError:
        return False
