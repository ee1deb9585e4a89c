# SPDX-License-Identifier: MIT
"""Checks chat.md against the lines of each session file, by sessionfs(5) alone.

    chat.py check MOUNT    every session below MOUNT/projects that is in the newest format and in order
    chat.py sizes MOUNT    bytes of chat.md, and of the messages of user and assistant, of each session
"""
import glob
import json
import os
import re
import sys

CALL = re.compile(r"- (`+ ?.*? ?`+|tool)( · |$)")


def clean(text):
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "\u2400")


def path_of(raw):
    """Returns the entries from the root to the leaf, or None if the file is of a kind that is not checked here."""
    entries, last = {}, None
    for line in raw.decode("utf-8", "replace").split("\n")[:-1]:
        try:
            o = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(o, dict):
            return None
        if o.get("type") == "session":
            if o.get("version") != 3:
                return None
            continue
        if not isinstance(o.get("id"), str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", o["id"]) or o["id"] in entries:
            return None
        if o.get("parentId") is not None and o["parentId"] not in entries:
            return None
        entries[o["id"]] = last = o
    path = []
    while last:
        path.append(last)
        last = entries.get(last.get("parentId"))
    return path[::-1]


def blocks(message, kind):
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if kind == "text" else []
    return [b for b in content or [] if isinstance(b, dict) and b.get("type") == kind]


def texts(message):
    """Returns the lines of each text as they must be in chat.md."""
    for b in blocks(message, "text"):
        if isinstance(b.get("text"), str) and b["text"]:
            yield clean(b["text"]).removesuffix("\n").split("\n")


def said(path):
    """Returns (entry, message) of the messages of user and assistant."""
    for o in path:
        m = o.get("message")
        if o["type"] == "message" and isinstance(m, dict) and m.get("role") in ("user", "assistant"):
            yield o, m


def check(name, raw, chat):
    path = path_of(raw)
    if path is None:
        return False
    lines = chat.split("\n")
    assert chat.startswith("# ") and chat.endswith("\n"), name
    at, rest = 1, []  # rest: everything but texts of messages
    for o, m in said(path):
        own = list(texts(m))
        if m["role"] == "assistant" and m.get("stopReason") in (None, "stop", "toolUse") and not "".join("".join(t) for t in own).strip():
            continue
        begin = at
        while not (lines[at].startswith(f"## {m['role']} · ") and lines[at].endswith(" · " + o["id"])):
            at += 1
            assert at < len(lines), (name, "no heading of", o["id"])
        rest += lines[begin:at]
        at += 1
        for text in own:
            while lines[at:at + len(text)] != text:
                rest.append(lines[at])
                assert re.fullmatch(r"|!\[.*|\*image.*|`{3,}|~{3,}", lines[at]), (name, o["id"], lines[at], text[0])
                at += 1
            at += len(text)
    rest += lines[at:]
    assert not [r for r in rest if r.startswith(("## user ", "## assistant "))], name
    shown = [r for r in rest if CALL.match(r) and not CALL.match(r)[1].strip("` ").startswith("!")]
    calls = sum(len(blocks(m, "toolCall")) for _, m in said(path) if m["role"] == "assistant")
    results = [(o, o["message"]) for o in path if o["type"] == "message" and (o.get("message") or {}).get("role") == "toolResult"]
    ids = {b.get("id") for _, m in said(path) for b in blocks(m, "toolCall")}
    orphans = sum(m.get("toolCallId") not in ids for _, m in results)
    assert len(shown) == calls + orphans, (name, len(shown), calls, orphans)
    for o, m in results:
        own = [r for r in shown if r.endswith(" · " + o["id"])]
        assert len(own) == 1, (name, o["id"], own)
        assert ("\u2717 failed" in own[0]) == bool(m.get("isError")), (name, own)
    # No tool output is in it, except text of messages and errors of tools.
    words = {line for _, m in said(path) for text in texts(m) for line in text}
    whole = set(lines)
    for _, m in results:
        for text in texts(m):
            for line in text:
                assert len(line) < 20 or line in words or line not in whole, (name, line)
    return True


def sessions(mount):
    for directory in sorted(glob.glob(mount + "/projects/*/*/")):
        with open(directory + "session.jsonl", "rb") as f:
            raw = f.read()
        yield directory, raw


def read(path):
    if not os.path.exists(path):
        return None
    with open(path, newline="", encoding="utf-8") as f:
        text = f.read()
    assert len(text.encode()) == os.stat(path).st_size, path
    return text


def main(what, mount):
    n = 0
    for directory, raw in sessions(mount):
        chat, path = read(directory + "chat.md"), path_of(raw)
        if what == "sizes":
            if chat and path:
                size = sum(len("\n".join(t).encode()) + 1 for _, m in said(path) for t in texts(m))
                print(len(raw), len(chat.encode()), size, directory)
            continue
        current = read(directory + "branches/current/chat.md")
        assert current is None if chat is None else current.replace("](../../entries/", "](entries/") == chat, directory
        if chat is None:
            assert path is None or not list(said(path)), directory
        else:
            n += check(directory, raw, chat)
    assert n > 5 or what == "sizes", n


main(*sys.argv[1:])
