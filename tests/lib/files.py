# SPDX-License-Identifier: MIT
"""files.tsv, and `file` and `change.diff` of each call, computed from the session files by sessionfs(5) alone.

    files.py check TREE    compares every session below TREE/projects, and TREE/files.tsv; counts the diffs by their form
    files.py make DIR      sessions for every rule of the formats

TREE is a mount, or a copy that --copy made. The entry with the result of a call is taken from the call's `result`.
"""
import json
import os
import re
import sys
from collections import Counter

import stored
from facts import cell, iso, one_line, when
from session_lines import read_if_there as read

FORMS = Counter()


def action_of(name):
    word = re.sub("[A-Z]", lambda c: c.group().lower(), name).replace("_", "")
    word = word[:-4] if word.endswith("file") else word
    return word if word in ("read", "write", "edit") else None


# --- paths ------------------------------------------------------------------------------------------------------------


def root_of(path):
    """Returns (root as shown, rest, separators) of an absolute path, or None."""
    if re.match(r"[A-Za-z]:[\\/]", path):
        return path[0].upper() + ":\\", path[3:], r"[\\/]"
    if path.startswith("\\\\"):
        return "\\\\", path[2:], r"[\\/]"
    return ("/", path[1:], "/") if path.startswith("/") else None


def file_of(path, cwd):
    file = None if "://" in path else path if path.startswith("~") else joined(path, cwd)
    return file if file and len(file.encode("utf-8", "replace")) <= 4096 else None


def joined(path, cwd):
    root, rest, separators = root_of(path) or (None, path, "/")
    if root is None and root_of(cwd):
        root, before, separators = root_of(cwd)
        rest = before + "/" + path
    kept = []
    for part in re.split(separators, rest):
        if part == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif part == ".." and root is None or part not in ("", ".", ".."):
            kept.append(part)
    return (root or "") + ("\\" if root and "\\" in root else "/").join(kept) or "."


# --- diffs --------------------------------------------------------------------------------------------------------------


def lines_of(text):
    return text.split("\n")[: -1 if text.endswith("\n") else None] if text else []


def hunk(old, old_count, new, new_count, rows):
    def side(start, count):
        start = start if count else start - 1
        return f"{max(start, 1 if count else 0)},{count}"

    return f"@@ -{side(old, old_count)} +{side(new, new_count)} @@\n" + "".join(r + "\n" for r in rows)


def of_rows(diff):
    """Returns the hunks of pi's details.diff; none if any row is invalid."""
    runs = [[]]
    for row in lines_of(diff):
        if re.fullmatch(r" *\.\.\.", row):
            runs.append([])
            continue
        m = re.fullmatch(r"([-+ ]) *([0-9]{1,15}) (.*)", row, re.S)
        if not m:
            return ""
        runs[-1].append((m.group(1), int(m.group(2)), m.group(3)))
    out, ahead = "", 0
    for run in runs:
        first = next((i for i, row in enumerate(run) if row[0] != " "), None)
        if first is None:
            continue
        start = run[first][1] - first
        old, new = (start - ahead, start) if run[first][0] == "+" else (start, start + ahead)
        old_count, new_count = sum(r[0] != "+" for r in run), sum(r[0] != "-" for r in run)
        out += hunk(old, old_count, new, new_count, [r[0] + r[2] for r in run])
        ahead += new_count - old_count
    return out


def texts(arguments, names):
    return next((stored.clean(arguments[n]) for n in names if stored.is_string(arguments.get(n))), None)


def sides_of(old, new):
    """Returns the lines of both texts: a newline at the end of both ends their last lines."""
    ended = all(t.endswith("\n") or not t for t in (old, new))
    return [t[: -1 if ended else None].split("\n") if t else [] for t in (old, new)]


def shortest(old, new):
    """Returns the lines of the shortest difference, with their signs; changes are as late as possible."""
    front = next((k for k, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    back = next((k for k, (a, b) in enumerate(zip(old[front:][::-1], new[front:][::-1])) if a != b), min(len(old), len(new)) - front)
    if front or back:
        same = [(" ", line) for line in old]
        middle = shortest(old[front : len(old) - back], new[front : len(new) - back])
        return same[:front] + middle + same[len(old) - back :]
    common = [[0] * (len(new) + 1)]
    for line in old:
        above, row = common[-1], [0]
        for j, other in enumerate(new):
            row.append(above[j] + 1 if line == other else max(row[j], above[j + 1]))
        common.append(row)
    i, j, rows = len(old), len(new), []
    while i or j:
        if j and common[i][j - 1] == common[i][j]:
            j -= 1
            rows.append(("+", new[j]))
        elif i and common[i - 1][j] == common[i][j]:
            i -= 1
            rows.append(("-", old[i]))
        else:
            i, j = i - 1, j - 1
            rows.append((" ", old[i]))
    # Of changes at one place those that remove come first.
    out, changes = [], []
    for row in [*reversed(rows), (" ", None)]:
        if row[0] == " ":
            out += sorted(changes, key=lambda r: r[0] == "+") + [row]
            changes = []
        else:
            changes.append(row)
    return out[:-1]


def with_context(rows, old_line, new_line):
    """Returns the hunks of a difference, with three lines around each change."""
    near = [any(r[0] != " " for r in rows[max(0, k - 3) : k + 4]) for k in range(len(rows))]
    out, run = "", []
    for k, row in enumerate([*rows, ("end", "")]):
        if k < len(rows) and near[k]:
            run.append(row)
            continue
        old_count, new_count = sum(r[0] != "+" for r in run), sum(r[0] != "-" for r in run)
        out += hunk(old_line, old_count, new_line, new_count, [r[0] + r[1] for r in run]) if run else ""
        old_line, new_line, run = old_line + old_count + 1, new_line + new_count + 1, []
    return out


def of_edits(arguments):
    edits = [a for a in stored.members(arguments[b"edits"])] if arguments.get(b"edits", b"")[:1] == b"[" else []
    out, old_line, new_line = "", 1, 1
    for each in [stored.fields(v) for _, v in edits if v[:1] == b"{"] + [arguments]:
        old = texts(each, (b"oldText", b"old_string", b"oldString", b"old_text"))
        new = texts(each, (b"newText", b"new_string", b"newString", b"new_text"))
        if old is None or new is None:
            continue
        gone, come = sides_of(old, new)
        out += with_context(shortest(gone, come), old_line, new_line)
        old_line, new_line = old_line + len(gone), new_line + len(come)
    return out


def of_content(arguments):
    content = stored.string_or(arguments.get(b"content"))
    rows = lines_of(content)
    end = "" if content.endswith("\n") else "\\ No newline at end of file\n"
    return hunk(1, 0, 1, len(rows), ["+" + r for r in rows]) + end if rows else ""


def change_of(action, arguments, file, details):
    name = one_line(file)
    patch = stored.text_file(stored.string_or(details.get(b"patch")))
    rows = of_rows(stored.string_or(details.get(b"diff")))
    own = of_content(arguments) if action == "write" else of_edits(arguments)
    form = "patch" if patch else "diff" if rows else action if own else "none"
    FORMS[action, form] += 1
    if not patch and not rows and own and action == "write":
        return f"--- /dev/null\n+++ {name}\n{own}"
    return patch or (f"--- {name}\n+++ {name}\n{rows or own}" if rows or own else "")


def check_diff(path, text):
    """Checks it as patch does: each hunk has the lines it states, and hunks are in order."""
    rows, at, ends = lines_of(text), 0, [0, 0]
    while at < len(rows):
        m = re.match(r"@@ -([0-9]+)(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@", rows[at])
        at += 1
        if not m:
            continue
        left = [int(m.group(k) or 1) for k in (2, 4)]
        starts = [int(m.group(k)) + (not n) for k, n in zip((1, 3), left)]
        if any(s < e for s, e in zip(starts, ends)) and "malicious" not in path:
            sys.exit(f"FAILED: {path}: hunks that overlap, at row {at}")
        ends = [s + n for s, n in zip(starts, left)]
        while left != [0, 0]:
            sign = rows[at][:1] if at < len(rows) else "end"
            if sign not in ("+", "-", " ", "") or min(left) < 0:
                sys.exit(f"FAILED: {path}: row {at + 1} is not in its hunk")
            left[0] -= sign != "+"
            left[1] -= sign != "-"
            at += 1
        at += at < len(rows) and rows[at].startswith("\\")


# --- sessions -----------------------------------------------------------------------------------------------------------


def calls_of(entry):
    """Returns number, name and arguments of each call of an entry, and the outcome of a nested one."""
    message = stored.fields(entry.get(b"message")) if entry.get(b"type") == b'"message"' else {}
    nested = stored.normal(message.get(b"role")) == b'"toolResult"'
    for n, b in enumerate(stored.call_blocks(message), 1):
        status = {"ok": "done", "error": "failed"}.get(stored.string_or(b.get(b"status")), "open")
        yield n, b.get(b"name"), b.get(b"arguments"), status if nested else None


def path_of(arguments):
    names = (b"path", b"file_path", b"filePath", b"file")
    found = (stored.clean(arguments[n]) for n in names if stored.is_string(arguments.get(n)))
    return next((p for p in found if p), None)


def check_call(directory, by_name, action, file, arguments, ended):
    """Compares `file` and change.diff; returns the outcome."""
    have = read(directory + b"/file")
    if have != (stored.whole_lines(file).encode() if file else None):
        sys.exit(f"FAILED: {directory}/file: want {file!r}, have {have!r}")
    result = read(directory + b"/result")
    outcome = ended or "open"
    details = {}
    if ended and result is not None:
        sys.exit(f"FAILED: {directory}/result of a nested call")
    if result is not None:
        message = stored.fields(by_name[result[:-1]][b"message"])
        details = stored.fields(message.get(b"details"))
        refused = stored.string_or(details.get(b"status")) == "error"
        outcome = "failed" if refused or stored.truthy(message.get(b"isError")) else "done"
    want = None
    if file and action != "read" and outcome == "done":
        want = change_of(action, arguments, file, details).encode() or None
    have = read(directory + b"/change.diff")
    if want != have:
        sys.exit(f"FAILED: {directory}/change.diff:\nwant {want!r}\nhave {have!r}")
    if want and not details.get(b"patch"):
        check_diff(os.fsdecode(directory), want.decode())
    return outcome


def rows_of(directory):
    """Returns the rows of a session, once all its calls are compared."""
    header, entries = stored.entries_of(read(directory + b"/session.jsonl"))
    names = stored.names_of(entries, stored.below(header, 2), stored.exact(header[b"id"]))
    by_name = {names[line]: e for line, e in entries}
    cwd = stored.string_or(header.get(b"cwd"))
    for line, e in entries:
        for n, name, arguments, ended in calls_of(e):
            word = stored.exact(name) if stored.is_string(name) else b""
            call = stored.encoded(word, b"%d-" % n)
            action = action_of(stored.string_or(name))
            arguments = stored.fields(arguments)
            path = path_of(arguments) if action else None
            file = file_of(path, cwd) if path else None
            below = directory + b"/entries/%s/tool-calls/%s" % (names[line], call)
            outcome = check_call(below, by_name, action, file, arguments, ended)
            time = e.get(b"timestamp")
            time = iso(when(float(time) if stored.is_number(time) else stored.string_or(time)))
            if file:
                cells = [time, cell(names[line].decode()), cell(call.decode("utf-8", "replace")), action, outcome, cell(file)]
                yield "\t".join(cells) + "\n"


def check(tree):
    heading, total, tables = "time\tentry\tcall\taction\toutcome\tpath\n", 0, {}
    for project in os.scandir(os.fsencode(tree) + b"/projects"):
        for session in os.scandir(project.path):
            if session.is_symlink():
                continue
            rows = list(rows_of(session.path))
            have = read(session.path + b"/files.tsv")
            want = (heading + "".join(rows)).encode() if rows else None
            if want != have:
                for a, b in zip(want.split(b"\n") if want else [None], have.split(b"\n") if have else [None]):
                    if a != b:
                        sys.exit(f"FAILED: {session.path}/files.tsv:\nwant {a}\nhave {b}")
                sys.exit(f"FAILED: {session.path}/files.tsv: {len(want or '')} bytes, not {len(have or '')}")
            total += len(rows)
            tables[project.name.decode("utf-8", "surrogateescape"), session.name.decode("utf-8", "surrogateescape")] = rows
    want = "project\tstem\t" + heading
    order = lines_of(read(os.fsencode(tree) + b"/sessions.tsv").decode("utf-8", "surrogateescape"))[1:]
    for project, stem in (row.split("\t")[1:3] for row in order):
        plain = (re.sub(r"\\(.)", lambda m: {"t": "\t", "n": "\n"}.get(m.group(1), m.group(1)), x) for x in (project, stem))
        want += "".join(f"{project}\t{stem}\t{row}" for row in tables[tuple(plain)])
    have = read(os.fsencode(tree) + b"/files.tsv").decode("utf-8", "surrogateescape")
    if want != have:
        sys.exit(f"FAILED: {tree}/files.tsv: {len(want)} characters, not {len(have)}")
    print(f"{len(tables)} sessions, {total} rows;", ", ".join(f"{a} by {f}: {n}" for (a, f), n in sorted(FORMS.items())))


# --- invalid input ----------------------------------------------------------------------------------------------------


class Maker:
    def __init__(self, path, cwd):
        self.f = open(path, "w", encoding="utf-8", errors="surrogatepass")
        self.n = 0
        header = {"type": "session", "version": 3, "id": os.path.basename(path)[:-6], "timestamp": "2026-05-01T00:00:00.000Z"}
        self.f.write(json.dumps(header if cwd is None else {**header, "cwd": cwd}) + "\n")

    def say(self, message, **fields):
        self.n += 1
        head = {"type": "message", "id": f"e{self.n:03d}", "parentId": f"e{self.n - 1:03d}" if self.n > 1 else None}
        self.f.write(json.dumps({**head, "timestamp": f"2026-05-01T00:00:{self.n % 60:02d}.000Z", "message": message, **fields}) + "\n")

    def call(self, *calls, answers=None):
        """Calls of one message, each (name, arguments) or with an id; answers: fields of each result, None for no
        result."""
        blocks, ids = [], []
        for k, (name, arguments, *own) in enumerate(calls):
            ids.append(own[0] if own else f"c{self.n}-{k}")
            blocks.append({"type": "toolCall", "id": ids[-1], "name": name, "arguments": arguments})
        self.say({"role": "assistant", "content": blocks})
        for own, fields in zip(ids, [{}] * len(ids) if answers is None else answers):
            if fields is not None:
                said = [{"type": "text", "text": "ok"}]
                self.say({"role": "toolResult", "toolCallId": own, "toolName": "x", "content": said, **fields})


PATHS = [
    "a", "./a//b/../c", "../x", "../../../../../..", "/", "//a///b/.", "/a/../../b", ".", "", "~", "~/x/../y", "~bob/z", "a~",
    "https://x/y", "a://b", "file:/x", "C:\\Users\\x\\..\\y", "c:/a\\b/./c", "\\\\host\\share\\x", "\\x\\y", "C:x", "C:", "x\\..\\y",
    "a\tb\nc\\d\re\x1b[31m\x7f\u0085\u2028f", "\0", "\ud800/x", "x/\udc00..", "日本/ü\u0308", "a/", "..", "../..", "x/../..", "/..", " ",
    "a\u200b", "d:\\", "\\\\", "x" * 4000, "x" * 5000, "~" * 4096, "~" * 4097, "/".join(["x"] * 300 + [".."] * 299),
]
TEXTS = ["", "\n", "\n\n", "a", "a\n", "a\r\nb\r\n", "\ud800\0", "a\nb\nc", "@@ -1 +1 @@\n-x\n+y\n", "-\n+\n \\\n", 7, None, ["a"], {"a": "b"}]
DIFFS = [
    " 1 a\n-2 b\n+2 c\n 3 d", "+1 x", "-1 x", "    ...\n 10 a\n-11 b\n    ...\n 20 c\n+20 d\n+21 e\n ...", "  1 a\n  2 b", "-1 a\n+1",
    "+ 12 \n-012  x", "-a\n+b", " 3|x\n+4|y", "-9999999999999999 x", "-999999999999999 x", "-0 x", "+0 x\n 0 y", " 5 a\n 6 b\n 7 c\n-1 d",
    "...", "-1 a\n...", "...\n...\n+3 z\n....", "-1 a\n\n+1 b", "-1 a\n+1 b\n", "-1 a\r\n+1 b\r", "*1 a", "\t1 a", "-1\ta", "-x 1 a", "", "\n", 5,
    ["-1 a"], "+1 \ud800\0",
]


def make(to):
    os.makedirs(to + "/malicious", exist_ok=True)
    cwds = ["/home/x", "/", "/a/../b//.", "C:\\work", "c:/job/..", "\\\\srv\\d", "rel/dir", "~/x", "", None, 5, "/c\nd\t\x1b", "/\ud800", "/" + "x/" * 2040, "/" + "x/" * 100000]
    for k, cwd in enumerate(cwds):
        m = Maker(f"{to}/malicious/cwd{k}.jsonl", cwd)
        for path in PATHS:
            m.call(("write", {"path": path, "content": "x\n"}))
    m = Maker(f"{to}/malicious/names.jsonl", "/w")
    names = ["read", "Read", "READ_FILE", "readFile", "_re_ad_", "write_file", "writefile", "writefilefile", "edit_", "editFile_", "file", "",
             "reader", "multi_edit", "bash", "\u0130edit", "e\u0064it", "/edit", "%", "read\n", 5, None, ["edit"], "\ud800", "." * 300, "_" * 300 + "edit"]
    for name in names:
        m.call((name, {"path": "f", "content": "c", "oldText": "a", "newText": "b"}))
    m = Maker(f"{to}/malicious/arguments.jsonl", "/w")
    for arguments in ["", "x", '{"path":"a"}', [], ["a"], [{"path": "a"}], None, 5, True, {}, {"path": None, "file_path": 5, "filePath": "", "file": "last"},
                      {"path": "", "file": "b"}, {"file": "c", "path": "d"}, {"Path": "e"}, {"path": ["f"]}, {"file_path": "g", "path": {}}]:
        for name in ("read", "edit", "write"):
            m.call((name, arguments))
    for old in TEXTS:
        for new in TEXTS:
            m.call(("edit", {"path": "t", "oldText": old, "newText": new}))
        m.call(("write", {"path": "t", "content": old}))
        m.call(("edit", {"path": "t", "content": old, "old_text": old, "oldText": 5, "new_string": "n"}))
    one, two = {"oldText": "a\nb", "newText": "c"}, {"old_string": "", "new_text": "d\ne\n"}
    for edits in [[one], [one, two], [two, 5, None, "x", [], {}, one], one, json.dumps([one]), [], "", None, [[one]], [{**one, **two}]]:
        m.call(("edit", {"path": "t", "edits": edits}))
        m.call(("edit", {"path": "t", "edits": edits, "oldString": "own", "newString": "own\nother"}))
    m = Maker(f"{to}/malicious/results.jsonl", "/w\x01w")
    call = ("edit", {"path": "r\x7f\u2029", "oldText": "a", "newText": "b"})
    for details in [None, 5, "x", [], {}, {"status": "error"}, {"status": "Error"}, {"status": ["error"]}, {"status": "completed"}, {"status": None}]:
        for more in ({}, {"isError": True}, {"isError": False}, {"isError": "false"}, {"isError": 0}, {"isError": None}):
            m.call(call, answers=[{"details": details, **more}])
            m.call(("Write", {"file": "r", "content": "x"}), answers=[{"details": details, **more}])
    for diff in DIFFS:
        m.call(call, answers=[{"details": {"diff": diff}}])
        m.call(("read", {"path": "r"}), answers=[{"details": {"diff": diff, "patch": diff}}])
        for patch in ("", "\n", "\n\n", "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b", "any\0thing\ud800\r\n", 5, None, ["x"], {"diff": "x"}):
            m.call(call, answers=[{"details": {"patch": patch, "diff": diff}}])
    m = Maker(f"{to}/malicious/calls.jsonl", "/w")
    a, b = {"path": "a", "content": "1"}, {"path": "b", "content": "2"}
    m.call(("write", a, "same"), ("write", b, "same"))
    m.call(("write", a, "same"), ("read", b, "same"), ("edit", b, "same"), answers=[{}])
    m.call(("write", a, "same"), ("write", b), ("bash", b), answers=[None, {"isError": True}, {}])
    m.call(("write", a, "open"), answers=[None])
    m.say({"role": "toolResult", "toolCallId": "nobody", "toolName": "write", "content": []})
    m.say({"role": "toolResult", "toolCallId": "open", "toolName": "write", "content": "x"}, parentId="e001")
    m.say({"role": "user", "content": [{"type": "toolCall", "id": "u", "name": "write", "arguments": a}]})
    m.say({"role": "assistant", "content": [{"type": "toolCall", "name": "write", "arguments": a}, {"type": "toolCall"}, {"type": "toolCall", "id": 5, "name": "read", "arguments": b}]}, timestamp=None)
    m.call(*[("read", {"path": f"{k}"}) for k in range(200)])
    for status in ["ok", "error", "unfinished", "Ok", 5, None, ["ok"]]:
        for name, arguments in [call, ("write", a), ("read", b), ("Edit_File", {"file": "x"}), ("bash", a), ("write", "x"), ("write", None), (5, a)]:
            m.say({"role": "toolResult", "content": [], "isError": status == 5, "details": {"patch": "p"},
                   "nestedCalls": {"calls": [{"name": name, "arguments": arguments, "status": status}, None, "x", [a], {}, {"name": name, "status": status}]}})
    one = {"name": "write", "arguments": a, "status": "ok", "type": "text"}
    for nested in [{"calls": [one] * 300}, [one], {"calls": one}, {"calls": "x"}, {"calls": []}, {}, "x", None, 5, {"x": [[[]]], "calls": [one], "complete": False}]:
        for role in ("toolResult", "assistant", "user"):
            m.say({"role": role, "content": [], "nestedCalls": nested}, nestedCalls={"calls": [one]})
    m.f.write('{"type":"message","id":"z1","timestamp":0,"message":{"content":[{"arguments":{"p\\u0061th":"\\/x\\u002fy","path":"z"},"n\\u0061me":"wr\\u0069te","type":"tool\\u0043all","id":"q"}],"role":"assist\\u0061nt"}}\n')
    m.f.write('{"type":"message","id":"z2","parentId":"z1","message":{"role":"toolResult","toolCallId":"q","details":{"st\\u0061tus":"x","status":"err\\u006fr"},"details":{"status":"ok"},"content":[]}}\r\n')
    m.f.write('[1]\n{"type":"message","id":"z1","parentId":"z2","message":null}\n{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"t","name":"read","arguments":{"path":"torn"}}]}}')
    for maker in (m,):
        maker.f.close()


if __name__ == "__main__":
    {"check": check, "make": make}[sys.argv[1]](sys.argv[2])
