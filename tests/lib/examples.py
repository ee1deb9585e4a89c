#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the examples of a document in one shell and compares what they print.

examples.py DOCUMENT

In a Markdown file they are the ```console blocks, in a manual page the literal displays:
lines that begin with "$ " are commands, "> " continues one, and further lines are its output.
A line "..." stands for any lines. A command shown without output can print anything;
every command must succeed.
"""
import re
import subprocess
import sys
import tempfile


def blocks(path):
    with open(path) as f:
        text = f.read()
    if path.endswith(".md"):
        yield from re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S)
    else:
        for block in re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", text, re.M | re.S):
            yield block.replace("\\&", "").replace("\\e", "\\")


def commands(block):
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0] += "\n" + line[2:]
        elif found:
            found[-1][1].append(line)
    return found


def matches(expected, actual):
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in expected)
    return re.fullmatch(pattern, actual)


def main(document):
    examples = [c for b in blocks(document) for c in commands(b)]
    if not examples:
        sys.exit(f"{document}: no examples")
    with tempfile.TemporaryDirectory() as out:
        script = "".join(
            f"{{ {command}\n}} >{out}/{n} 2>&1 </dev/null; echo $? >{out}/{n}.status\n"
            for n, (command, _) in enumerate(examples)
        )
        # Without a pipe, which a background mount would keep open.
        subprocess.run(["bash", "-c", script], check=False)
        bad = 0
        for n, (command, expected) in enumerate(examples):
            try:
                actual = open(f"{out}/{n}", errors="backslashreplace").read()
                status = int(open(f"{out}/{n}.status").read())
            except FileNotFoundError:
                actual, status = "", "none: it was not reached"
            if status != 0 or (expected and not matches(expected, actual)):
                bad += 1
                print(f"{document}: $ {command}\nstatus {status}, printed:\n{actual}", file=sys.stderr)
                if expected:
                    print("expected:\n" + "\n".join(expected) + "\n", file=sys.stderr)
    print(f"{document}: {len(examples)} commands, {bad} of them wrong")
    return bad


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1]) else 0)
