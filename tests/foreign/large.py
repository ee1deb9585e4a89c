#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a session of 4000 entries, and as many labels, into DIRECTORY.

usage: large.py DIRECTORY [IMAGE]	with the file IMAGE as picture of the first entry"""
import base64
import json
import os
import random
import sys

ENTRIES = 4000
WORDS = ("rain", "wind", "Sonne", "nebel", "été", "łódź", "東京", "forecast", "the", "of", "map", "station", "🌧")


def entries(image):
    random.seed(1)
    content = [{"type": "text", "text": "Read this picture."}]
    if image:
        with open(image, "rb") as f:
            content.append({"type": "image", "data": base64.b64encode(f.read()).decode(), "mimeType": "application/x-foreign"})
    yield {"role": "user", "content": content}
    for n in range(1, ENTRIES):
        text = "\n".join(" ".join(random.choices(WORDS, k=random.randrange(1, 40))) for _ in range(random.randrange(1, 6)))
        yield {"role": "assistant" if n % 2 else "user", "content": [{"type": "text", "text": text}],
               **({"api": "a", "provider": "p", "model": "m", "stopReason": "stop"} if n % 2 else {})}


def main():
    directory = os.path.join(sys.argv[1], "--foreign-large--")
    os.makedirs(directory)
    parent = None
    with open(os.path.join(directory, "2026-01-01T00-00-00-000Z_foreign.jsonl"), "w") as f:
        def line(value):
            f.write(json.dumps(value, ensure_ascii=False) + "\n")
        line({"type": "session", "version": 3, "id": "foreign", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/foreign/large"})
        for n, message in enumerate(entries(sys.argv[2] if len(sys.argv) > 2 else None)):
            id = f"{n:08x}"
            line({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", "message": message})
            parent = id
        for n in range(ENTRIES):
            id = f"{n:08x}"
            line({"type": "label", "id": f"1{n:07x}", "parentId": parent, "timestamp": "2026-01-01T00:00:02.000Z", "targetId": id, "label": f"l{n}"})
            parent = f"1{n:07x}"


main()
