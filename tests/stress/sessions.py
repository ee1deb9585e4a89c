# SPDX-License-Identifier: MIT
"""Hostile sessions. Each function writes a source directory with n of the things it is named after, in the project p;
the session under test is p/s. Next to it is p/other, a small one that must be answered all the time."""

import os

TIME = '"timestamp":"2026-01-01T00:00:00.000Z"'


def header(sid, more=""):
    return f'{{"type":"session","version":3,"id":"{sid}",{TIME},"cwd":"/p"{more}}}\n'


def quoted(text):
    return "null" if text is None else f'"{text}"'


def user(i, parent, text="x"):
    return f'{{"type":"message","id":"{i}","parentId":{quoted(parent)},{TIME},"message":{{"role":"user","content":"{text}"}}}}\n'


def label(i, parent, target, text):
    return f'{{"type":"label","id":"{i}","parentId":"{parent}",{TIME},"targetId":"{target}","label":"{text}"}}\n'


def calls(i, parent, ids):
    blocks = ",".join(f'{{"type":"toolCall","id":"{c}","name":"bash","arguments":{{"command":"ls {c}"}}}}' for c in ids)
    return f'{{"type":"message","id":"{i}","parentId":{quoted(parent)},{TIME},"message":{{"role":"assistant","content":[{blocks}]}}}}\n'


def result(i, parent, call):
    return f'{{"type":"message","id":"{i}","parentId":"{parent}",{TIME},"message":{{"role":"toolResult","toolCallId":"{call}","toolName":"bash","content":[{{"type":"text","text":"out {i}"}}]}}}}\n'


def write(root, name, lines, project="--p--"):
    os.makedirs(f"{root}/{project}", exist_ok=True)
    with open(f"{root}/{project}/{name}.jsonl", "w", encoding="utf-8", buffering=1 << 20) as f:
        f.writelines(lines)


def session(root, lines):
    def both():
        yield header("s")
        yield from lines

    write(root, "s", both())


def children(root, n):
    session(root, (user(f"e{i}", "e0" if i else None) for i in range(n)))


def chain(root, n):
    session(root, (user(f"e{i}", f"e{i - 1}" if i else None) for i in range(n)))


def ring(root, n):
    session(root, (user(f"e{i}", f"e{(i - 1) % n}") for i in range(n)))


def backwards(root, n):
    """Each line's parent is the next line."""
    session(root, (user(f"e{i}", f"e{i + 1}" if i < n - 1 else None) for i in range(n)))


def labels_of_one(root, n):
    def lines():
        yield user("e0", None)
        for i in range(n):
            yield label(f"l{i}", f"l{i - 1}" if i else "e0", "e0", f"label {i}")

    session(root, lines())


def one_label(root, n):
    def lines():
        for i in range(n):
            yield user(f"e{i}", f"l{i - 1}" if i else None)
            yield label(f"l{i}", f"e{i}", f"e{i}", "same")

    session(root, lines())


def bad_lines(root, n):
    def lines():
        yield user("e0", None)
        for i in range(n):
            yield '{"type":"message","id":"broken\n'
        yield user("e1", "e0")

    session(root, lines())


def one_id(root, n):
    session(root, (user("e0", "e0" if i % 2 else None) for i in range(n)))


def alike_ids(root, n):
    """Ids that differ in bytes whose effects cancel out in a weak hash."""
    bits = max(1, (n - 1).bit_length())

    def lines():
        for i in range(n):
            words = bytearray(b"abcdefgAhijAlmnA" * bits)
            for b in range(bits):
                if i >> b & 1:
                    for at in (7, 11, 15):
                        words[16 * b + at] ^= 0x80
            text = b'{"type":"message","id":"%s","parentId":null,%s,"message":{"role":"user","content":"x"}}\n'
            yield text % (bytes(words), TIME.encode())

    os.makedirs(f"{root}/--p--", exist_ok=True)
    with open(f"{root}/--p--/s.jsonl", "wb", buffering=1 << 20) as f:
        f.write(header("s").encode())
        f.writelines(lines())


def calls_of_one(root, n):
    def lines():
        yield calls("e0", None, (f"c{i}" for i in range(n)))
        for i in range(n):
            yield result(f"r{i}", f"r{i - 1}" if i else "e0", f"c{i}")

    session(root, lines())


def equal_calls(root, n):
    """One id for all calls of two messages; their results alternate."""
    half = n // 2

    def lines():
        yield calls("e0", None, ("c" for _ in range(half)))
        yield calls("e1", None, ("c" for _ in range(half)))
        for i in range(half):
            yield result(f"a{i}", f"a{i - 1}" if i else "e0", "c")
            yield result(f"b{i}", f"b{i - 1}" if i else "e1", "c")

    session(root, lines())


def calls_in_turns(root, n):
    """Two messages of many calls; on one path their results alternate."""
    half = n // 2

    def lines():
        yield calls("e0", None, (f"a{i}" for i in range(half)))
        yield calls("e1", "e0", (f"b{i}" for i in range(half)))
        for i in range(half):
            yield result(f"ra{i}", f"rb{i - 1}" if i else "e1", f"a{i}")
            yield result(f"rb{i}", f"ra{i}", f"b{i}")

    session(root, lines())


def calls_of_many(root, n):
    def lines():
        for i in range(n):
            yield calls(f"e{i}", f"r{i - 1}" if i else None, (f"c{i}",))
            yield result(f"r{i}", f"e{i}", f"c{i}")

    session(root, lines())


def unanswered(root, n):
    """Results without calls."""
    session(root, (result(f"e{i}", f"e{i - 1}" if i else "none", f"c{i}") for i in range(n)))


def unknown_results(root, n):
    """Calls without results, then results without calls."""

    def lines():
        for i in range(n):
            parent = f"e{i - 1}" if i else None
            yield calls(f"e{i}", parent, (f"c{i}",)) if i < n // 2 else result(f"e{i}", parent, f"none{i}")

    session(root, lines())


def forks(root, n):
    session(root, [user("e0", None)])
    for i in range(n):
        write(root, f"f{i}", [header(f"f{i}", ',"parentSession":"/else/where/s.jsonl"')])


def forks_alike(root, n):
    """Forks with one file name, in that many projects."""
    session(root, [user("e0", None)])
    for i in range(n):
        write(root, "f", [header(f"f{i}", f',"parentSession":"{root}/x/../--p--/s.jsonl"')], f"--q{i}--")


def files(root, n):
    session(root, [user("e0", None)])
    for i in range(n):
        write(root, f"f{i}", [header(f"f{i}"), user("a", None)])


def projects(root, n):
    session(root, [user("e0", None)])
    for i in range(n):
        write(root, "f", [header(f"f{i}"), user("a", None)], f"--q{i}--")


def long_line(root, n):
    """A line of n bytes of text, with line ends in it."""

    def lines():
        piece = ("0123456789abcdef" * 64 + "\\n") * 256
        yield user("e0", None)
        yield f'{{"type":"message","id":"e1","parentId":"e0",{TIME},"message":{{"role":"user","content":"'
        for _ in range(max(1, n // len(piece))):
            yield piece
        yield '"}}\n'
        yield user("e2", "e1")

    session(root, lines())


def long_image(root, n):
    def lines():
        yield user("e0", None)
        yield f'{{"type":"message","id":"e1","parentId":"e0",{TIME},"message":{{"role":"user","content":[{{"type":"image","mimeType":"image/png","data":"'
        for _ in range(max(1, n // 65536)):
            yield "iVBORw0K" * 8192
        yield '"}]}}\n'
        yield user("e2", "e1")

    session(root, lines())


def keys_of_one(root, n):
    """A line with n keys that no text shows, and n lines of text."""

    def lines():
        yield user("e0", None)
        yield f'{{"type":"message","id":"e1","parentId":"e0",{TIME},"keys":"'
        yield from (f"ghp_{i:036x} " for i in range(n))
        yield '","message":{"role":"user","content":"'
        yield "\\n" * n
        yield 'x"}}\n'

    session(root, lines())


def sparse(root, n):
    """A file of n bytes that has only holes after its first lines."""
    session(root, [user("e0", None)])
    os.truncate(f"{root}/--p--/s.jsonl", n)


#: name: (what makes it, n at full size)
ALL = {
    "children": (children, 1_000_000),
    "chain": (chain, 1_000_000),
    "ring": (ring, 1_000_000),
    "backwards": (backwards, 1_000_000),
    "labels of one": (labels_of_one, 100_000),
    "one label": (one_label, 100_000),
    "bad lines": (bad_lines, 300_000),
    "one id": (one_id, 300_000),
    "alike ids": (alike_ids, 100_000),
    "calls of one": (calls_of_one, 100_000),
    "equal calls": (equal_calls, 100_000),
    "calls in turns": (calls_in_turns, 100_000),
    "calls of many": (calls_of_many, 100_000),
    "unanswered": (unanswered, 300_000),
    "unknown results": (unknown_results, 100_000),
    "forks": (forks, 10_000),
    "forks alike": (forks_alike, 10_000),
    "files": (files, 200_000),
    "projects": (projects, 50_000),
    "long line": (long_line, 2_000_000_000),
    "long image": (long_image, 500_000_000),
    "keys of one": (keys_of_one, 100_000),
    "sparse": (sparse, 1 << 40),
}


def make(name, root, n):
    os.makedirs(root)
    ALL[name][0](root, n)
    write(root, "other", [header("other"), user("e0", None, "the other one")])
