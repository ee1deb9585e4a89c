# SPDX-License-Identifier: MIT
"""A peer with an index, for the benchmark: the text of all sessions in a full-text table of SQLite.

    fts.py DATABASE DIRECTORY TOKENIZER WORD

Adds new lines of the session files to the table, then prints every line of text with WORD in it, at most 10,000. The
seconds this took, without the start of python, go to stderr.
"""
import json
import os
import sqlite3
import sys
import time

LIMIT = 10000


def texts(entry):
    """Returns the texts of an entry as in all.txt: pairs of kind and text."""
    message = entry.get("message") if isinstance(entry.get("message"), dict) else {}
    role = message.get("role") or entry.get("type")
    for value in (message.get("content", entry.get("content")), entry.get("summary"), entry.get("label"),
                  entry.get("name"), message.get("output"), message.get("command"), message.get("errorMessage")):
        if isinstance(value, str):
            yield role, value
        for block in value if isinstance(value, list) else ():
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "text" and isinstance(block.get("text"), str):
                yield role, block["text"]
            elif kind == "thinking" and isinstance(block.get("thinking"), str):
                yield "thinking", block["thinking"]
            elif kind == "toolCall" and isinstance(block.get("arguments"), dict):
                for key, value in block["arguments"].items():
                    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                    yield f"call {block.get('name')}", f"{key}: {text}"


def rows(path, session, begin):
    """Returns the rows of a file from an offset on."""
    with open(path, "rb") as file:
        file.seek(begin)
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            for what, text in texts(entry) if isinstance(entry, dict) else ():
                yield session, entry.get("id"), what, text.encode(errors="replace").decode()


def open_table(path, tokenizer):
    """Opens the table in its fastest mode for writes: one transaction, no journal, no sync."""
    base = sqlite3.connect(path, isolation_level=None)
    base.execute("PRAGMA journal_mode = OFF")
    base.execute("PRAGMA synchronous = OFF")
    base.execute("PRAGMA cache_size = -262144")
    base.execute("CREATE TABLE IF NOT EXISTS file (path TEXT PRIMARY KEY, size INTEGER) WITHOUT ROWID")
    base.execute("CREATE VIRTUAL TABLE IF NOT EXISTS said USING fts5"
                 f"(session UNINDEXED, entry UNINDEXED, what UNINDEXED, text, tokenize = '{tokenizer}')")
    return base


def take_in(base, directory):
    """Reads appended lines of all files whose size has changed."""
    known = dict(base.execute("SELECT path, size FROM file"))
    base.execute("BEGIN")
    for project in os.scandir(directory):
        for file in os.scandir(project.path) if project.is_dir() else ():
            size = file.stat().st_size
            if file.name.endswith(".jsonl") and known.get(file.path) != size:
                base.executemany("INSERT INTO said VALUES (?, ?, ?, ?)",
                                 rows(file.path, file.path[:-6], known.get(file.path, 0)))
                base.execute("INSERT OR REPLACE INTO file VALUES (?, ?)", (file.path, size))
    base.execute("COMMIT")


def answer(base, word):
    """Returns the lines with the word."""
    left = LIMIT
    query = "SELECT session, entry, what, text FROM said WHERE said MATCH ? LIMIT ?"
    for session, entry, what, text in base.execute(query, (f'"{word}"', LIMIT)):
        for number, line in enumerate(text.split("\n"), 1):
            if left > 0 and word.casefold() in line.casefold():
                sys.stdout.write(f"{session}.jsonl:{entry} {what}:{number}:{line}\n")
                left -= 1
    sys.stdout.flush()


def main(path, directory, tokenizer, word):
    """Runs and times everything."""
    begin = time.perf_counter()
    base = open_table(path, tokenizer)
    take_in(base, directory)
    answer(base, word)
    print(f"{time.perf_counter() - begin:.6f}", file=sys.stderr)


main(*sys.argv[1:])
