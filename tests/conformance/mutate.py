#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes broken copies of small session files: mutate.py SEED COUNT DIRECTORY SOURCE... See mutated.

The same arguments give the same files.
"""

import json
import os
import random
import sys

LARGEST = 60000  # bytes of the original file
LONGEST = 60  # lines of a mutated one

VALUES = [
    None, True, False, 0, 1, -1, 2, 3, 2.5, 1e300, 12, 1772533230000, "", "x", "2", "12", "a/b", "..", ".", "~3", "%",
    "\ud800", "\u0000", "\u2028", "é", "😀", "current", "x" * 300, "2026-03-03T10:20:30+02:00",
    "2026-03-03T10:20:30Z", "2026-03-03 10:00", [], [1], ["a"], {}, {"a": 1},
]  # fmt: skip
TYPES = [
    "message", "compaction", "branch_summary", "custom_message", "label", "session_info", "custom", "model_change",
    "thinking_level_change", "usage", "context_edit", "session", "newtype",
]  # fmt: skip
ROLES = [
    "user", "assistant", "toolResult", "system", "bashExecution", "custom", "hookMessage", "branchSummary",
    "compactionSummary", "reviewer", "",
]  # fmt: skip
FIELDS = [
    "label", "name", "targetId", "summary", "firstKeptEntryId", "firstKeptEntryIndex", "replacement", "content", "systemMessage",
    "thinkingLevel", "provider", "modelId", "usage", "fromId", "customType", "display", "details", "tokensBefore",
]  # fmt: skip
MESSAGE_FIELDS = [
    "usage", "timestamp", "stopReason", "toolCallId", "provider", "model", "excludeFromContext", "summary", "command",
    "errorMessage",
]  # fmt: skip
VERSIONS = [None, 0, 1, 2, 3, 4, "1", "2", {}, True, False, "", 2.5]
NOT_UTF8 = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f"]
BYTES = NOT_UTF8 + [b"\x00", b"\x0b", b"\r", b"\xc3\xa9", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\\u0000", b"\\ud83d"]
LINES = [b"", b" ", b"null", b"5", b'"x"', b"{", b"[1]", b"false", b"{}", b"\xef\xbb\xbf", b"true", b"0", b'""']

random = random.Random(int(sys.argv[1]))


def copy(value):
    return json.loads(json.dumps(value)) if isinstance(value, (dict, list)) else value


def choose(values):
    return copy(random.choice(values))


def known_ids(entries):
    return [e["id"] for e in entries if isinstance(e, dict) and "id" in e] or ["x"]


def new_entry(entries, kind, **fields):
    ids = known_ids(entries)
    common = {"id": f"n{random.randrange(10000)}", "parentId": choose(ids), "timestamp": "2026-03-03T10:20:30Z"}
    return {"type": kind, **common, **fields}


def some_new_entry(entries):
    target = choose(known_ids(entries))
    edit = choose([None, {"content": "edited"}, {"content": [{"type": "text", "text": "e"}]}, {"content": None}, {}, {"content": 5}])
    return choose([
        new_entry(entries, "label", targetId=target, label=choose(VALUES + ["label"])),
        new_entry(entries, "context_edit", targetId=target, replacement=edit),
        new_entry(entries, "compaction", summary=choose(["sum", "", None]), firstKeptEntryId=target, tokensBefore=choose([5, None, "x"])),
        new_entry(entries, "session_info", name=choose(["  name\r\n two ", "", "\ud800", "n" * 300, "tab\tname", "\u00a0x\u00a0"])),
    ])  # fmt: skip


def mutate_message(message):
    what = random.randrange(3)
    if what == 0:
        message["role"] = choose(ROLES + VALUES[:9])
    elif what == 1:
        text = [{"type": "text", "text": choose(["x", "", None, "\ud800"])}]
        call = [{"type": "toolCall", "id": choose(VALUES), "name": choose(VALUES), "arguments": choose(VALUES)}]
        message["content"] = choose(VALUES + [text, call, ["text"], [5]])
    else:
        message[random.choice(MESSAGE_FIELDS)] = choose(VALUES)


def mutate_entry(entries, i):
    e = entries[i]
    what = random.randrange(13)
    anywhere = random.randrange(1, len(entries))
    if what == 0 or not isinstance(e, dict):
        entries[i] = choose(VALUES)
    elif what == 1:
        e["id"] = choose(VALUES + known_ids(entries))
    elif what == 2:
        e["parentId"] = choose(VALUES + known_ids(entries))
    elif what == 3 and e:
        e.pop(random.choice(list(e)))
    elif what == 4:
        e["type"] = choose(TYPES + VALUES[:12])
    elif what == 5:
        e["timestamp"] = choose(VALUES)
    elif what == 6:
        e["message"] = choose(VALUES)
    elif what == 7:
        e[random.choice(FIELDS)] = choose(VALUES + known_ids(entries))
    elif what == 8:
        entries.insert(anywhere, copy(e))
    elif what == 9:
        entries[i], entries[anywhere] = entries[anywhere], entries[i]
    elif what == 10:
        entries.insert(anywhere, some_new_entry(entries))
    elif isinstance(e.get("message"), dict):
        mutate_message(e["message"])


def mutate_header(header):
    if not isinstance(header, dict):
        return
    field, values = random.choice([
        ("version", VERSIONS), ("version", VERSIONS), ("timestamp", VALUES), ("cwd", VALUES),
        ("id", ["s", "", "a/b", "\ud800", "..", 5, None]),
    ])  # fmt: skip
    header[field] = choose(values)


def mutate_lines(lines):
    i = random.randrange(len(lines))
    line = lines[i]
    at = random.randrange(len(line) + 1)
    what = random.randrange(8)
    if what == 0:
        lines[i] = line[:at] + random.choice(BYTES) + line[at:]
    elif what == 1:
        lines[i] = line[:at]
    elif what == 2:
        lines.insert(i + 1, line)
    elif what == 3:
        lines[i] = line + b"\r"
    elif what == 4:
        lines.insert(i, random.choice(LINES))
    elif what == 5:
        lines[i] = line + random.choice([b" ", b"\t", b"x", b",", b"}"])
    else:
        # Ids that are not UTF-8, and their form when decoded as UTF-8.
        raw = random.choice(NOT_UTF8)
        for k in range(1, len(lines)):
            lines[k] = lines[k].replace(b'd":"', b'd":"' + (raw if random.random() < 0.6 else "\ufffd".encode()))


def to_line(entry):
    if random.random() < 0.3:
        try:
            return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:
            pass
    return json.dumps(entry, separators=(",", ":")).encode()


def read_entries(path):
    with open(path, errors="replace") as f:
        for line in f.read().split("\n"):
            try:
                yield json.loads(line)
            except ValueError:
                pass


def mutated(path):
    entries = list(read_entries(path))[: random.randrange(5, LONGEST)]
    if len(entries) < 2:
        return b""
    for _ in range(random.randrange(1, 7)):
        mutate_entry(entries, random.randrange(1, len(entries)))
    if random.random() < 0.25:
        mutate_header(entries[0])
    lines = [to_line(e) for e in entries]
    for _ in range(random.choice([0, 0, 0, 1, 1, 2])):
        mutate_lines(lines)
    data = b"\n".join(lines) + random.choice([b"\n"] * 6 + [b""])
    return data[: random.randrange(len(data))] if random.random() < 0.03 else data


def main():
    count, directory, sources = int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    files = [os.path.join(d, f) for s in sources for d, _, names in os.walk(s) for f in names if f.endswith(".jsonl")]
    files = sorted(f for f in files if 0 < os.path.getsize(f) < LARGEST)
    os.makedirs(directory)
    for n in range(count):
        with open(os.path.join(directory, f"{n:05}.jsonl"), "wb") as f:
            f.write(mutated(random.choice(files)))


main()
