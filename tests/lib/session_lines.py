# SPDX-License-Identifier: MIT
"""The lines of a session file as pi writes them, for programs that write and judge one."""
import json
import sys

STAMP = "2026-03-01T10:00:00.000Z"


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def read_if_there(path):
    try:
        return read(path)
    except FileNotFoundError:
        return None


def entry_id(i):
    return f"{0xA0000000 + i:08x}"


def line(**fields):
    return json.dumps(fields, separators=(",", ":")) + "\n"


def header(sid, cwd="/s"):
    return line(type="session", version=3, id=sid, timestamp=STAMP, cwd=cwd)


def message(own, parent, content, role="user"):
    return line(type="message", id=own, parentId=parent, timestamp=STAMP, message={"role": role, "content": content})


def beginning(sid, n):
    """Returns a header and n messages, each below the one before."""
    return header(sid) + "".join(message(entry_id(i), entry_id(i - 1) if i else None, f"{sid} {i}") for i in range(n))
