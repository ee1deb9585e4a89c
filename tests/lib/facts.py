#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The expected by-date/, by-project/, sessions.tsv and usage.tsv, computed from the session files alone.

facts.py all SOURCE DIR      files in DIR: sessions and usage, the tables; by-date and by-project: DAY/NAME -> TARGET, a line for
                             each link
facts.py agree SOURCE MOUNT  whether a mount shows these, labels.tsv up to the time, and the links of labels/; status 1, and the first
                             difference, if not
facts.py make DIR            sessions for every rule of the formats

In the time zone of TZ. For sources like the samples, in which no two sessions share an id or stem, and none has subagents.
"""
import contextlib
import hashlib
import io
import json
import os
import re
import sys
import time
from datetime import datetime, timezone

# White space as in JavaScript's trim().
SPACE = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


def no_constant(name):
    raise ValueError(name)


def parse(line):
    """As JSON.parse; None for lines that pi skips."""
    try:
        v = json.loads(line, parse_constant=no_constant, parse_int=lambda s: float(s))
    except (ValueError, RecursionError):
        return None
    return v if truthy(v) else None


def truthy(v):
    return isinstance(v, (dict, list)) or bool(v)


def get(v, key):
    return v.get(key) if isinstance(v, dict) else None


def text(v):
    """Well-formed, without NUL."""
    return v.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\u2400")


def number(x):
    """Formatted as in JavaScript."""
    if x == int(x) and abs(x) < 1e21:
        return str(int(x))
    digits = repr(x)
    if "e" not in digits:
        return digits
    if 1e-6 <= abs(x) < 1:
        return f"{x:.25f}".rstrip("0") if float(f"{x:.16g}") != x else f"{x:.16g}" if "e" not in f"{x:.16g}" else plain(x)
    mantissa, exponent = digits.split("e")
    return f"{mantissa}e{int(exponent):+d}"


def plain(x):
    mantissa, exponent = repr(x).split("e")
    digits = mantissa.replace(".", "")
    return "0." + "0" * (-int(exponent) - 1) + digits


def when(v):
    """Returns ms since 1970, for times as in the samples."""
    if isinstance(v, float):
        return v
    if not isinstance(v, str):
        return None
    try:
        t = datetime.fromisoformat(v.replace("Z", "+00:00"))
    except ValueError:
        return None
    if t.tzinfo is None:
        return None
    d = t - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return float(d.days * 86400000 + d.seconds * 1000 + d.microseconds // 1000)


def iso(ms):
    if ms is None:
        return ""
    s, rest = divmod(int(ms), 1000)
    return datetime.fromtimestamp(s, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + f".{rest:03d}Z"


def local(ms):
    return time.localtime(ms // 1000)


def day(ms):
    return time.strftime("%Y-%m-%d", local(ms))


def encode(s, prefix=""):
    out = []
    for i, c in enumerate(s):
        if c in "/%\x7f" or c < " " or (i == 0 and not prefix and c in ".~"):
            out.append(f"%{ord(c):02X}")
        else:
            out.append(c)
    return prefix + "".join(out) or "%"


def cell(s):
    return s.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def one_line(s):
    return "".join(" " if c < " " or "\x7f" <= c < "\xa0" or c in "\u2028\u2029" else c for c in s)


def content_text(content):
    if isinstance(content, str):
        return content
    blocks = [b for b in content if get(b, "type") == "text"] if isinstance(content, list) else []
    return " ".join(b["text"] if isinstance(b.get("text"), str) else "" for b in blocks)


FENCE = r"[^\n\]]* \((?:untrusted metadata|untrusted, for context)\):\n```json\n.*?\n```"
DAY = r"\d{4}-\d\d-\d\d"
ENVELOPE = re.compile(
    rf"[ \t\r\n]*(?:{FENCE}|System: \[{DAY} [^\]\n]*\].*?\n\n|\[cron:[^\]\n]*\] |\[[^\]\n]* {DAY}(?: \d\d:\d\d(?: [^\]\n]*)?|T\d\d:\d\dZ)\] "
    r"|\[message_id: [^\]\n]*\]\n|\[media attached[^\]\n]*\]\n|To send an image back, prefer the message tool[^\n]*\n"
    r"|\[Subagent Context\] .*?\n\n\[Subagent Task\](?:: |\n)|\[Queued (?:announce )?messages while agent was busy\]\n\n---\nQueued #1\n"
    r"|\[System Message\] \[sessionId: [^\]\n]*\] |Note: The previous agent run was aborted by the user. Resume carefully or ask for clarification.\n)",
    re.DOTALL,
)


def without_envelopes(said):
    """Returns the user's text; for texts of less than 64 KiB, and `*` of less than 512 bytes."""
    rest = said
    while m := ENVELOPE.match(rest):
        rest = rest[m.end() :]
    rest = re.sub(r"(?:\n[ \t\r\n]*\[message_id: [^\]\n]*\][ \t\r\n]*)+$", "", rest)
    return rest if one_line(rest).strip(SPACE) else said


class Session:
    def __init__(self, file, lines, mtime):
        self.file, self.mtime = file, mtime
        values_at = list(map(parse, lines))
        values = [v for v in values_at if v is not None]
        self.header = values[0] if values else None
        self.entries = [v for v in values[1:] if get(v, "type") != "session"]
        self.lines = {id(v): i + 1 for i, v in enumerate(values_at) if v is not None}

    def is_session(self):
        return get(self.header, "type") == "session" and isinstance(self.header.get("id"), str)

    def messages(self):
        return [e for e in self.entries if get(e, "type") == "message" and e.get("message") is not None]

    def project(self):
        if "/" in self.file:
            name = self.file.split("/")[0]
            return encode(name[2:-2] if name.startswith("--") and name.endswith("--") and len(name) >= 4 else name)
        cwd = self.header.get("cwd")
        if not isinstance(cwd, str) or not cwd:
            return "unknown"
        return encode(cwd.lstrip("/") if not cwd.startswith("//") else cwd[1:]).replace("%2F", "-")

    def stem(self):
        return encode(self.file.split("/")[-1][: -len(".jsonl")])

    def parent(self, by_name):
        named = next((v for v in map(self.header.get, ("parentSession", "branchedFrom")) if isinstance(v, str) and v), "")
        return by_name.get(named.replace("\\", "/").split("/")[-1], "")

    def created(self):
        return when(self.header.get("timestamp"))

    def modified(self):
        times = [0.0]
        for m in self.messages():
            if get(m["message"], "role") in ("user", "assistant") and "content" in m["message"]:
                t = m["message"].get("timestamp")
                times.append(t if isinstance(t, float) else when(m.get("timestamp")) or 0)
        if max(times) > 0:
            return max(times)
        created = self.created()
        return created if isinstance(self.header.get("timestamp"), str) and created is not None else self.mtime * 1000

    def title(self):
        names = [e for e in self.entries if get(e, "type") == "session_info"]
        name = names[-1].get("name") if names else None
        said = [name] if isinstance(name, str) else []
        for role in "user", "assistant":
            texts = [content_text(m["message"].get("content")) for m in self.messages() if get(m["message"], "role") == role]
            said += [without_envelopes(t) for t in texts] if role == "user" else texts
        title = next(filter(None, (text(one_line(s)).strip(SPACE) for s in said)), "(no messages)")
        return title if len(title) <= 200 else title[:199] + "\u2026"

    def active(self):
        times = sorted(t for e in self.entries if isinstance(e, dict) and (t := when(e.get("timestamp"))) is not None)
        return str(int(sum(min(b - a, 300000) for a, b in zip(times, times[1:])) // 1000)) if times else ""

    def branch(self):
        """Returns the entries from the last one up to the root, for ids that are used once."""
        by_id = {e.get("id"): e for e in self.entries if isinstance(e, dict) and isinstance(e.get("id"), str)}
        e, seen = self.entries[-1] if self.entries else None, set()
        while isinstance(e, dict) and id(e) not in seen:
            seen.add(id(e))
            yield e
            e = by_id.get(e.get("parentId")) if e.get("parentId") is not None else None

    def state(self):
        for e in self.branch():
            m = e.get("message") if e.get("type") == "message" else None
            if get(m, "role") in ("user", "toolResult"):
                return "working"
            if get(m, "role") == "assistant":
                calls = any(get(b, "type") == "toolCall" for b in m["content"]) if isinstance(m.get("content"), list) else False
                return {"error": "failed", "length": "failed", "aborted": "stopped"}.get(m.get("stopReason")) or ("working" if calls or m.get("stopReason") == "deferred" else "done")
        return ""

    def labels(self):
        """Returns each labelled entry with its label, in file order; for ids and labels that are texts."""
        set_ = {}
        for e in self.entries:
            if get(e, "type") == "label" and isinstance(e.get("targetId"), str):
                set_[e["targetId"]] = e.get("label") if truthy(e.get("label")) else None
        return [(e, set_[e["id"]]) for e in self.entries if isinstance(get(e, "id"), str) and set_.get(e["id"])]

    def model(self):
        for e in reversed(self.entries):
            m = get(e, "message")
            at, key = (None, None)
            if get(e, "type") == "message" and get(m, "role") == "assistant":
                at, key = m, "model"
            elif get(e, "type") == "model_change":
                at, key = e, "modelId"
            if at and isinstance(at.get("provider"), str) and isinstance(at.get(key), str):
                return text(at["provider"] + "/" + at[key])
        return ""

    def uses(self):
        """Returns for each entry with usage: its time, the model, the five numbers and the cost, a key equal in copies,
        and whether it is a tool's result."""
        for e in self.entries:
            of = get(e, "message") if get(e, "type") == "message" else e
            u = get(e, "usage") if truthy(get(e, "usage")) else get(get(e, "message"), "usage")
            if not truthy(u):
                continue
            t = when(e.get("timestamp"))
            named = isinstance(get(of, "provider"), str) and isinstance(get(of, "model"), str)
            n = [x if isinstance(x := get(u, k), float) else 0.0 for k in ("input", "output", "cacheRead", "cacheWrite", "totalTokens")]
            if n[4] == 0:
                n[4] = n[0] + n[1] + n[2] + n[3]
            cost = get(u, "cost") if isinstance(get(u, "cost"), float) else get(get(u, "cost"), "total")
            n.append(cost if isinstance(cost, float) and cost > 0 else 0.0)
            same = (self.id_of(e), t, *n)
            yield (self.mtime * 1000 if t is None else t, text(of["provider"] + "/" + of["model"]) if named else "unknown", n, same if same[0] is not None else object(), get(of, "role") == "toolResult")

    def id_of(self, e):
        """Returns None without an id. In version 1 it is derived from the session's id and the line."""
        version = self.header.get("version")
        if not isinstance(version, float) or version < 2:
            return hashlib.sha256(f"{self.header['id']}\n{self.lines[id(e)]}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return e.get("id") if isinstance(e.get("id"), (str, float)) else None


def sessions(source):
    found = []
    for top, dirs, files in os.walk(source):
        depth = 0 if top == source else 1
        if depth:
            dirs.clear()
        for name in files:
            path = os.path.join(top, name)
            if name.endswith(".jsonl"):
                with open(path, encoding="utf-8", errors="replace", newline="\n") as f:
                    s = Session(os.path.relpath(path, source), f.read().split("\n"), int(os.stat(path).st_mtime))
                if s.is_session():
                    found.append(s)
    return sorted(found, key=lambda s: s.file.encode())


def add(sum_, n):
    return [a + b for a, b in zip(sum_, n)] if sum_ else n


def print_sessions(source):
    print("id\tproject\tstem\tcreated\tmodified\tentries\tmessages\ttokens\tcost\tmodel\tstate\tparent\tbytes\ttitle\tactive\tcostWithSubagents")
    all_ = sessions(source)
    # Only parents whose file name is unique in the source, as in the samples.
    by_name = {s.file.split("/")[-1]: f"projects/{s.project()}/{s.stem()}" for s in all_}
    for s in sorted(all_, key=lambda s: -int(s.modified())):
        total = None
        for _, _, n, _, _ in s.uses():
            total = add(total, n)
        used = [number(total[4]), number(round(total[5], 9))] if total else ["", ""]
        row = [text(s.header["id"]), s.project(), s.stem(), iso(s.created()), iso(s.modified()), str(len(s.entries)), str(len(s.messages())), *used, s.model(), s.state(), s.parent(by_name), str(os.stat(os.path.join(source, s.file)).st_size), s.title(), s.active(), used[1]]
        print("\t".join(cell(c) if c in row[1:3] else one_line(cell(c)) for c in row))


def print_usage(source):
    rows, counted = {}, set()
    for s in sorted(sessions(source), key=lambda s: (s.created() is None, s.created() or 0)):
        for t, model, n, same, _ in s.uses():
            if same in counted:
                continue
            counted.add(same)
            key = (day(t), cell(s.project()), one_line(cell(model)))
            count, sum_ = rows.get(key, (0, None))
            rows[key] = (count + 1, add(sum_, n))
    print("day\tproject\tmodel\tmessages\tinput\toutput\tcacheRead\tcacheWrite\ttokens\tcost")
    for key in sorted(rows, key=lambda k: [c.encode() for c in k]):
        count, sum_ = rows[key]
        print("\t".join([*key, str(count), *map(number, sum_[:5]), number(round(sum_[5], 9))]))


def component(s, prefix, suffix):
    """Returns a name of at most 255 bytes."""
    name = encode(s, prefix) + suffix
    if len(name.encode()) <= 255:
        return name
    end = "~" + hashlib.sha256((prefix + s + suffix).encode()).hexdigest()[:8]
    while len((encode(s, prefix) + end).encode()) > 255:
        s = s[:-1]
    return encode(s, prefix) + end


def print_groups(source, by_project=False):
    taken, lines = set(), []
    for s in sessions(source):
        if s.created() is None:
            continue
        at = local(s.created())
        group, prefix = (s.project(), day(s.created()) + " ") if by_project else (day(s.created()), "")
        n, suffix = 1, ""
        while (name := group + "/" + component(s.title()[:60], prefix + time.strftime("%H.%M ", at), suffix)) in taken:
            n += 1
            suffix = f"~{n}"
        taken.add(name)
        lines.append(f"{name} -> ../../projects/{s.project()}/{s.stem()}")
    print("\n".join(sorted(lines, key=str.encode)))


def print_labels(source, as_links):
    """Returns labels.tsv up to the time, or the links below labels/."""
    rows = []
    for s in sorted(sessions(source), key=lambda s: -int(s.modified())):
        rows += [(label, s, e) for e, label in s.labels()]
    rows.sort(key=lambda row: row[0].encode())
    if not as_links:
        print("label\tproject\tstem\tentry\ttime")
        for label, s, e in rows:
            print("\t".join([cell(label), cell(s.project()), cell(s.stem()), cell(encode(e["id"])), iso(when(e.get("timestamp")))]))
        return
    lines, n = [], {}
    for label, s, e in rows:
        n[label] = n.get(label, 0) + 1
        said = get(e, "message")
        first = content_text(get(said, "content")).split("\n")[0]
        called = f"{get(said, 'role')} {first if len(first) <= 60 else first[:59] + chr(0x2026)}"
        name = component(called, f"{n[label]:04d} ", "")
        lines.append(f"{component(label, '', '')}/{name} -> ../../projects/{s.project()}/{s.stem()}/entries/{encode(e['id'])}")
    print("\n".join(sorted(lines, key=str.encode)))


def make(to):
    """Handmade sessions: a name, the header's fields, entries."""

    def message(id_, at, **m):
        return {"type": "message", "id": id_, "parentId": None, "timestamp": at, "message": m}

    def used(id_, at, usage, **m):
        return message(id_, at, **{"role": "assistant", "content": [], "provider": "p", "model": "m", **m, "usage": usage})

    T1, T2 = "2026-05-01T10:00:00.000Z", "2026-05-01T23:30:00.000Z"
    files = {
        # Equal titles in one minute, one of which looks numbered.
        **{f"--a--/equal{i}": ({"timestamp": "2026-03-29T00:59:59.999Z"}, [message("1", "2026-03-29T01:00:00Z", role="user", content="same")]) for i in range(12)},
        "--a--/equal00": ({"timestamp": "2026-03-29T00:59:00.000Z"}, [message("1", "2026-03-29T01:00:00Z", role="user", content="same~2")]),
        "--a--/odd name\\": ({"timestamp": "2026-10-25T01:30:00.000Z"}, [message("1", "x", role="user", content="\\ % / \t tab \ue000 \U0001f600" * 20)]),
        "--a--/no date": ({}, [used("1", "2026-12-31T23:59:59.999Z", {"input": 1, "output": 2.5, "cost": {"total": 1e-7}})]),
        "--a--/bad date": ({"timestamp": "soon"}, []),
        "--a--/undated use": ({"timestamp": "2026-01-01T00:00:00.000Z"}, [used("1", "never", {"totalTokens": 7, "input": 100}), used("2", None, {"totalTokens": 0, "input": 1, "cacheRead": 3, "cacheWrite": 5})]),
        "--a--/odd models": ({"timestamp": "2026-01-01T00:00:00.000Z"}, [
            used("1", "2026-01-01T10:00:00Z", {"input": 1}, provider="a\tb\\", model="c\nd"),
            used("2", "2026-01-01T10:00:00Z", {"input": 2}, provider="a", model="\ud800"),
            used("3", "2026-01-01T10:00:00Z", {"input": 4}, model=None),
            used("4", "2026-01-01T11:00:00Z", "some", provider="a", model="z"),
            used("5", "2026-01-01T11:00:00Z", {}, provider="a", model="z"),
            {"type": "usage", "id": "6", "timestamp": "2026-01-01T12:00:00Z", "provider": "o", "model": "u", "usage": {"input": "no", "output": 3, "cost": 5}},
            {"type": "model_change", "id": "7", "timestamp": "2026-01-01T12:00:00Z", "provider": "last", "modelId": "one\t"},
        ]),
        "--a--/odd costs": ({"timestamp": "2026-01-04T00:00:00.000Z"}, [
            *[used(f"a{i}", "2026-01-04T00:00:00Z", {"input": 1, "cost": {"total": c}}, model=f"m{i % 2}") for i, c in enumerate([-110000, -0.0, -1e308, "3", None, True, [4], {"total": 5}, 0.25, 1e-9])],
            *[used(f"b{i}", "2026-01-04T00:00:00Z", {"input": 1, "cost": c}, model="n") for i, c in enumerate([2, -2, "2", None, [], {}, {"total": "1"}, {"input": 1}])],
            used("c", "2026-01-04T00:00:00Z", {"input": -3, "output": 1, "cost": {"total": -1}}, model="tokens"),
            used("d", "2026-01-04T00:00:00Z", {"input": 1, "cost": {"total": 8}}, role="toolResult", toolCallId="c", model="m1"),
        ]),
        "--a--/costs": ({"timestamp": "2026-01-02T00:00:00.000Z"}, [used(str(i), "2026-01-02T00:00:00Z", {"input": 0.1, "cost": {"total": i / 10}}) for i in range(50)]),
        # An entry in several files counts for the oldest session, then for the lesser path.
        **{f"--d--/{name}": ({"timestamp": at} if at else {}, [used(i, t, {"input": n, "cost": {"total": n / 10}}, **m) for i, t, n, m in entries]) for name, at, entries in [
            ("fork", "2026-05-02T00:00:00.000Z", [("1", T1, 1, {}), ("2", T2, 2, {}), ("own", T2, 4, {})]),
            ("parent", "2026-05-01T00:00:00.000Z", [("1", T1, 1, {}), ("2", T2, 2, {}), ("later", T2, 8, {})]),
            ("same time", "2026-05-01T00:00:00.000Z", [("1", T1, 1, {"model": "other"}), ("same time", T1, 16, {})]),
            ("never", None, [("1", T1, 1, {}), ("own", T2, 4, {}), ("never", None, 32, {})]),
            ("never too", None, [("never", None, 32, {}), ("never", "no time", 32, {}), ("never", T1, 32, {})]),
            ("numbers", "2026-05-03T00:00:00.000Z", [(1, T1, 1, {}), (1.0, T1, 1, {}), (12, T1, 1, {}), ("12", T1, 1, {}), ("12", "2026-05-01T12:00:00+02:00", 1, {}), (0, T1, 1, {}), ("", T1, 1, {}), ("", T1, 1, {})]),
            ("none", "2026-05-03T00:00:00.000Z", [(i, T1, 1, {}) for i in (None, None, True, [1], {"1": 1})]),
            ("differs", "2026-05-04T00:00:00.000Z", [("1", T2, 1, {}), ("2", T2, 2.5, {}), ("1", T1, 1, {"model": "third"})]),
            ("x" * 90, "2026-05-04T00:00:00.000Z", [("long " * 40, T1, 1, {}), ("long " * 40 + ".", T1, 1, {})]),
            ("y" * 90, "2026-05-05T00:00:00.000Z", [("long " * 40, T1, 1, {}), ("long " * 40 + ".", T1, 1, {})]),
            *[(f"many{k}", f"2026-06-0{k + 1}T00:00:00.000Z", [(f"m{i}", T2 if i % 50 else None, i, {"model": f"m{i % 3}"}) for i in range(9 * k, 170 - 20 * k)]) for k in range(5)],
        ]},
        # Version 1 has no ids.
        **{f"--e--/{i}": ({"id": sid, "version": version, "timestamp": "2026-05-06T00:00:00.000Z"}, [used(id_, T1, {"input": n}) for id_, n in entries]) for i, (sid, version, entries) in enumerate([
            ("old", 1, [("1", 1), ("1", 2), ("1", 2)]), ("old", 1, [("2", 1), ("1", 2), ("1", 2), ("1", 3)]), ("another", 1, [("1", 1), ("1", 2)]),
        ])},
        # In Newfoundland, a day begins within an hour of UTC.
        "--b--/half hours": ({"timestamp": "2026-01-05T00:00:00.000Z"}, [used(str(m), f"2026-01-05T03:{m}:00Z", {"input": m}) for m in (29, 30)]),
        "--b--/same day": ({"timestamp": "2026-01-02T23:59:59.000Z"}, [used("1", "2026-01-02T12:00:00Z", {"input": 9007199254740992, "cost": {"total": 12345678.123456789}})]),
        "--b--/same time": ({"timestamp": "2026-01-02T23:59:59.000Z"}, [message("1", "2026-01-02T12:00:00Z", role="user", content=[{"type": "text", "text": " named "}]), {"type": "session_info", "id": "2", "name": " The name\nof it "}]),
        **{f"--c--/envelope{i}": ({"timestamp": "2026-04-01T00:00:00.000Z"}, [message("1", "2026-04-01T00:00:00Z", role="user", content=said)]) for i, said in enumerate([
            'Sender (untrusted metadata):\n```json\n{\n  "label": "test"\n}\n```\n\n[Wed 2026-04-08 01:21 UTC] Which platforms?',
            'Sender (untrusted metadata):\n```json\n{\n  "label": "test"\n}\n```\n\n[Wed 2026-04-08 01:21 UTC] ',
            "System: [2026-02-24 11:51:07 GMT+7] Gateway connected.\nReason: none\n\n[cron:2d82 Tick of \u4f60] Look",
            "[Telegram Ada id:6 +2m 2026-01-27T21:04Z] [message_id: 1]\nHi\n[message_id: 2]",
            "[Mon 2026-03-23 13:12] [Subagent Context] You are one.\n\n[Subagent Task]\n\nSearch",
            "[2026-03-23 13:12] not one",
        ])},
        # Names too long for the suffix that distinguishes them.
        **{f"--c--/long{i}": ({"timestamp": "2026-04-02T00:00:00.000Z"}, [message("1", "2026-04-02T00:00:00Z", role="user", content="\U0001f600" * n)]) for i, n in enumerate([59, 60, 60, 61])},
        "flat": ({"timestamp": 1767312000000, "cwd": "/srv/x y"}, [message("1", "2026-01-02T12:00:00Z", role="user", content="flat", timestamp=1767312000001.5)]),
    }
    for name, (header, entries) in files.items():
        path = os.path.join(to, name + ".jsonl")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as f:
            for line in [{"type": "session", "version": 3, "id": name, **header}, *entries]:
                f.write(json.dumps(line) + "\n")
        os.utime(path, (1767225599, 1767225599))


TABLES = {"sessions": print_sessions, "usage": print_usage, "by-date": print_groups, "by-project": lambda source: print_groups(source, True), "labels": lambda source: print_labels(source, True), "labels.tsv": lambda source: print_labels(source, False)}


def expected(table, source):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        TABLES[table](source)
    return out.getvalue().encode()


def write_all(source, to):
    for table in "sessions", "usage", "by-date", "by-project":
        with open(f"{to}/{table}", "wb") as f:
            f.write(expected(table, source))


def links_below(top):
    """Prints as print_groups does: each link and where it leads, which must be a session or an entry."""
    rows = []
    for above, names, files in os.walk(os.fsencode(top)):
        for name in names + files:
            path = os.path.join(above, name)
            if os.path.islink(path):
                rows.append(os.path.relpath(path, os.fsencode(top)) + b" -> " + os.readlink(path) + b"\n")
                if not any(os.path.exists(path + inner) for inner in (b"/entries", b"/entry.json")):
                    sys.exit(f"{path} leads nowhere")
    return b"".join(sorted(rows, key=lambda row: row[:-1]))


def agree(source, mount):
    """Exits if a table, its size, or a directory of links is not as the files say."""
    for table in TABLES:
        want = expected(table, source)
        if table in ("sessions", "usage"):
            with open(f"{mount}/{table}.tsv", "rb") as f:
                got = f.read()
            if len(want) != os.stat(f"{mount}/{table}.tsv").st_size:
                sys.exit(f"the size of {table}.tsv")
        elif table == "labels.tsv":
            with open(f"{mount}/labels.tsv", "rb") as f:
                got = b"".join(b"\t".join(line.split(b"\t")[:5]) + b"\n" for line in f.read().splitlines())
        else:
            got = links_below(f"{mount}/{table}")
        if want != got:
            sys.exit(f"{table}: expected {want!r}, got {got!r}")


if __name__ == "__main__":
    {"make": make, "all": write_all, "agree": agree}[sys.argv[1]](*sys.argv[2:])
