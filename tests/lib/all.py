# SPDX-License-Identifier: MIT
"""Computes all.txt from the lines of each session file, by sessionfs(5) alone, and compares it.

    all.py check MOUNT     every session below MOUNT/projects
    all.py make FILE       prints all.txt of that session file
"""
import glob
import hashlib
import json
import os
import re
import sys

sys.setrecursionlimit(100000)
TOKEN = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*"|[][{}:,]|[^][{}:,"\s]+)', re.S)
ESCAPE = re.compile(rb'\\(u[0-9a-fA-F]{4}|.)', re.S)
PLAIN = {b'"': '"', b"\\": "\\", b"/": "/", b"b": "\b", b"f": "\f", b"n": "\n", b"r": "\r", b"t": "\t"}
TRIM = " \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


def refuse(name):
    raise ValueError(name)


# --- JSON as it is stored -----------------------------------------------------------------------------------------


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


# --- names ----------------------------------------------------------------------------------------------------------


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


# --- texts of an entry -----------------------------------------------------------------------------------------------


def text_file(text):
    if not text.strip("\n"):
        return ""
    return text if text.endswith("\n") else text + "\n"


def blocks(content):
    if content is None or content[:1] != b"[":
        return []
    return [fields(v) for _, v in members(content) if v[:1] == b"{"]


def said_by(content, kind, field):
    return "\n".join(
        clean(b[field]) if is_string(b.get(field)) else "" for b in blocks(content) if b.get(b"type") == kind
    )


def string_or(v, otherwise=""):
    return clean(v) if is_string(v) else otherwise


def text_of(e, m):
    kind = e[b"type"]
    if kind in (b'"compaction"', b'"branch_summary"'):
        return text_file(string_or(e.get(b"summary")))
    if kind == b'"message"' and m.get(b"role") == b'"bashExecution"':
        if not is_string(m.get(b"command")) and not is_string(m.get(b"output")):
            return ""
        return text_file("$ " + string_or(m.get(b"command")) + "\n" + string_or(m.get(b"output")))
    if kind == b'"message"' and is_string(m.get(b"summary")):
        return text_file(clean(m[b"summary"]))
    content = content_of(e, m)
    said = string_or(content) or said_by(content, b'"text"', b"text")
    if kind == b'"message"' and m.get(b"role") == b'"system"':
        said = system_text(said, m)
    return text_file(said)


def system_text(said, m):
    """Returns the text of a system message: its content, its sections, and the line of its tools."""
    parts = [said] if said.strip("\n") else []
    if m.get(b"sections", b"")[:1] == b"{":
        parts += [f"### {clean(k)}\n{clean(v)}" for k, v in members(m[b"sections"]) if is_string(v)]
    names = []
    for sign, key in ("", b"toolsAdded"), ("-", b"toolsRemoved"):
        for _, tool in members(m[key]) if m.get(key, b"")[:1] == b"[" else []:
            name = fields(tool).get(b"name") if tool[:1] == b"{" else tool
            names += [sign + clean(name)] if is_string(name) else []
    parts += ["tools: " + " ".join(names)] if names else []
    return "".join(p if p is parts[-1] else p.removesuffix("\n") + "\n\n" for p in parts)


def content_of(e, m):
    return {b'"message"': m.get(b"content"), b'"custom_message"': e.get(b"content")}.get(e[b"type"])


def error_of(m):
    role = m.get(b"role")
    if role == b'"toolResult"' and truthy(m.get(b"isError")):
        return text_of({b"type": b'"message"'}, m) or "error\n"
    if role == b'"assistant"' and m.get(b"stopReason") in (b'"error"', b'"aborted"', b'"length"'):
        return text_file(string_or(m.get(b"errorMessage"))) or clean(m[b"stopReason"]) + "\n"
    if role == b'"bashExecution"':
        if truthy(m.get(b"cancelled")):
            return "cancelled\n"
        if is_number(m.get(b"exitCode")) and truthy(m[b"exitCode"]):
            return m[b"exitCode"].decode() + "\n"
    return ""


def shown(value):
    return clean(value) if is_string(value) else value.decode("utf-8", "replace")


def whole_lines(text):
    return text if text.endswith("\n") else text + "\n"


def call_blocks(m):
    """Yields the calls of a message, or those that the tool of a result made."""
    role = normal(m.get(b"role"))
    if role == b'"toolResult"':
        return blocks(fields(m.get(b"nestedCalls")).get(b"calls"))
    return [b for b in blocks(m.get(b"content")) if normal(b.get(b"type")) == b'"toolCall"'] if role == b'"assistant"' else []


def calls_of(m):
    """Yields the name of each call, its arguments and, of a nested one that failed, its error."""
    for n, b in enumerate(call_blocks(m), 1):
        name = exact(b[b"name"]) if is_string(b.get(b"name")) else b""
        arguments, error = b.get(b"arguments"), ""
        if normal(m[b"role"]) == b'"toolResult"' and normal(b.get(b"status")) == b'"error"':
            error = text_file(string_or(b.get(b"error"))) or "error\n"
        if arguments is None:
            text = ""
        elif arguments[:1] == b"{":
            text = "".join(whole_lines(clean(k) + ": " + shown(v)) for k, v in members(arguments))
        else:
            text = whole_lines(shown(arguments))
        yield encoded(name, b"%d-" % n), text, error


def parts_of(e, old):
    kind = e.get(b"type")
    if kind == b'"label"':
        if truthy(e.get(b"label")):
            yield b"label", whole_lines(shown(e[b"label"]))
        return
    if kind == b'"session_info"':
        name = string_or(e.get(b"name")).strip(TRIM)
        if name:
            yield b"session_info", whole_lines(name)
        return
    if kind not in (b'"message"', b'"custom_message"', b'"compaction"', b'"branch_summary"'):
        return
    m = fields(e.get(b"message")) if kind == b'"message"' else {}
    role = m.get(b"role")
    what = encoded(exact(role)) if kind == b'"message"' and is_string(role) else exact(kind)
    text = text_of(e, m)
    yield b"custom" if old and what == b"hookMessage" else what, text
    yield b"thinking", text_file(said_by(content_of(e, m), b'"thinking"', b"thinking"))
    for call, said, error in calls_of(m):
        yield b"call " + call.split(b"-", 1)[1], said
        yield b"error", error
    if error_of(m) != text:
        yield b"error", error_of(m)


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


def all_of(data):
    header, entries = entries_of(data)
    names = names_of(entries, below(header, 2), exact(header[b"id"]))
    out = []
    for line, e in entries:
        for what, text in parts_of(e, below(header, 3)):
            prefix = names[line] + b" " + what + b": "
            out += [prefix + l + b"\n" for l in text.encode().split(b"\n")[:-1]]
    return b"".join(out)


def arguments_of(data):
    """Yields arguments.txt and error of each call, by their paths in the session."""
    header, entries = entries_of(data)
    names = names_of(entries, below(header, 2), exact(header[b"id"]))
    found = {}
    for line, e in entries:
        for call, text, error in calls_of(fields(e.get(b"message"))) if e.get(b"type") == b'"message"' else []:
            for file, content in (b"arguments.txt", text), (b"error", error):
                if content:
                    found[b"entries/%s/tool-calls/%s/%s" % (names[line], call, file)] = content.encode()
    return found


def check_arguments(directory, want):
    calls = glob.escape(directory) + "entries/*/tool-calls/*/"
    paths = glob.glob(calls + "arguments.txt") + glob.glob(calls + "error")
    have = {os.fsencode(p[len(directory) :]): open(p, "rb").read() for p in paths}
    if have != want:
        sys.exit(f"FAILED: {directory}: {[(p, want.get(p), have.get(p)) for p in want.keys() | have.keys() if want.get(p) != have.get(p)][:3]}")
    for p, text in have.items():
        if os.stat(os.fsencode(directory) + p).st_size != len(text):
            sys.exit(f"FAILED: {directory}{p}: its size")


def check(mount):
    seen = lines = 0
    for directory in sorted(glob.glob(glob.escape(mount) + "/projects/*/*/") + glob.glob(glob.escape(mount) + "/projects/*/.[!.]*/")):
        if os.path.islink(directory.rstrip("/")):
            continue
        data = open(directory + "session.jsonl", "rb").read()
        check_arguments(directory, arguments_of(data))
        want = all_of(data)
        path = directory + "all.txt"
        have = open(path, "rb").read() if os.path.exists(path) else b""
        if os.path.exists(path) != ("all.txt" in os.listdir(directory)):
            sys.exit(f"FAILED: {path}: the listing says otherwise")
        if os.path.exists(path) and (not have or os.stat(path).st_size != len(have)):
            sys.exit(f"FAILED: {path}: {len(have)} bytes, said to be {os.stat(path).st_size}")
        if want != have:
            for n, (a, b) in enumerate(zip(want.split(b"\n"), have.split(b"\n")), 1):
                if a != b:
                    sys.exit(f"FAILED: {path}:{n}:\nwant {a}\nhave {b}")
            sys.exit(f"FAILED: {path}: want {len(want)} bytes, have {len(have)}")
        seen += 1
        lines += have.count(b"\n")
    if not lines:
        sys.exit("FAILED: nothing to compare")
    print(f"{seen} sessions, {lines} lines")


if __name__ == "__main__":
    if sys.argv[1] == "check":
        check(sys.argv[2])
    else:
        sys.stdout.buffer.write(all_of(open(sys.argv[2], "rb").read()))
