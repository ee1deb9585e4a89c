#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""manual.py PAGE...: prints errors in manual pages as rendered by mandoc and groff.

Quotes are opened and closed in turn, and end where the quoted words end; no macro is left as text, and no name has two
blanks in it.
"""
import re
import subprocess
import sys

RENDERERS = {
    "mandoc": ["mandoc", "-Tutf8", "-Owidth=1000"],
    "groff": ["groff", "-mdoc", "-Tutf8", "-P-cbou", "-rLL=1000n"],
}
QUOTES = {"‘": "’", "“": "”"}
# Those that are also words are left out.
MACRO = re.compile(r"(?<!\S)\.?(?:[BE][dl]|X[orc]|[PDSB][qc]|[PB]o|Ns|Ql|Pa|Ar|Cm|Fl|Nm|Li|Ev|Pp|S[hs])(?!\S)")
SENTENCE = ".:;?!)’”"
DISPLAY = 11  # the column of examples: unchanged
WORD = re.compile(r'"(?:[^"]|"")*"|\S+')
QUOTING = {"Ql", "Dq", "Sq", "Qq"}  # up to the end of the line, except punctuation there
CALLED = QUOTING | {"No", "Ns", "Pa", "Ar", "Cm", "Fl", "Nm", "Li", "Ev", "Xr", "Em", "Sy", "Va", "Pq", "Bq", "Op"}
PUNCTUATION = {".", ",", ":", ";", "?", "!", ")", "]"}


def shown(renderer, page):
    text = subprocess.run([*RENDERERS[renderer], page], check=True, capture_output=True).stdout.decode()
    return re.sub(".\b", "", text).split("\n")


def faults(lines):
    starts = {len(line) - len(line.lstrip()) for line in lines}
    opened = []
    for line in lines[1:-2]:
        if not line.strip():
            if opened:
                yield f"a quote is not closed before: {line}"
            opened = []
            continue
        if len(line) - len(line.lstrip()) == DISPLAY:
            continue
        for at, c in enumerate(line):
            if c in QUOTES:
                if opened:
                    yield f"a quote in a quote: {line[max(at - 20, 0):at + 20]}"
                opened.append(QUOTES[c])
            elif c in QUOTES.values() and not re.match(r"\w’\w", line[at - 1 : at + 2]):
                if not opened or opened.pop() != c:
                    yield f"a quote is closed that is not open: {line[max(at - 20, 0):at + 20]}"
        if m := MACRO.search(line):
            yield f"a macro: {line[max(m.start() - 20, 0):m.end() + 20]}"
        for m in re.finditer(r"\S {2,}\S", line):
            # Text after a tag is where other lines begin.
            if m.end() - 1 not in starts and line[m.start()] not in SENTENCE:
                yield f"two blanks: {line[max(m.start() - 20, 0):m.end() + 20]}"


def quoted_too_much(page):
    """A quote that contains more than quoted words: the extra text shows as words, so only the source reveals it."""
    with open(page) as source:
        for line in source:
            words = WORD.findall(line) if line.startswith(".") else []
            words[:1] = [word.lstrip(".") for word in words[:1]]
            quote = next((i for i, word in enumerate(words) if word in QUOTING), len(words))
            inside = words[quote + 1 :]
            while inside and inside[-1] in PUNCTUATION:
                inside.pop()
            if any(word in PUNCTUATION or word in CALLED for word in inside[1:]):
                yield f"a quote goes on after the quoted words: {line.strip()}"


def main():
    wrong = 0
    for page in sys.argv[1:]:
        for fault in quoted_too_much(page):
            print(f"{page}: {fault}")
            wrong += 1
        for renderer in RENDERERS:
            for fault in faults(shown(renderer, page)):
                print(f"{page}, {renderer}: {fault}")
                wrong += 1
    return wrong > 0


sys.exit(main())
