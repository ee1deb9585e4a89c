# SPDX-License-Identifier: MIT
"""Makes many copies of real sessions, for the benchmark on sessions that cannot be published.

    multiply.py FROM TO SESSIONS MEGABYTES

Every copy of a session has its own id and file name, and is three days older than the one before it. Everything else
stays, so words are as common as before. Copies are made until there are that many sessions and megabytes. A file with a
line that is not JSON, or with half a surrogate pair, is left out: jq would end at it.
"""
import hashlib
import json
import os
import pathlib
import re
import sys
from datetime import datetime, timedelta

DAYS = 3  # from one copy to the next
ISO = re.compile(rb'("timestamp":\s*")(\d{4}-\d\d-\d\d)(T[\d:.]+Z")')
MILLISECONDS = re.compile(rb'("timestamp":\s*)(\d{13})\b')


def header_of(data):
    """Returns the header of a session if each line can be parsed, else None."""
    try:
        lines = [json.loads(line) for line in data.splitlines() if line.strip()]
        json.dumps(lines, ensure_ascii=False).encode()
    except ValueError:
        return None
    head = lines[0] if lines else None
    good = isinstance(head, dict) and head.get("type") == "session" and isinstance(head.get("id"), str)
    return head if good and ISO.search(data) else None


def copy_of(data, sid, name, earlier):
    """Returns the bytes of a copy that is EARLIER by this much, its id, made of NAME, and its first and last time."""
    own = hashlib.sha256(name.encode()).hexdigest()
    own = f"{own[:8]}-{own[8:12]}-7{own[13:16]}-8{own[17:20]}-{own[20:32]}"

    def day(found):
        moved = datetime.strptime(found[2].decode(), "%Y-%m-%d") - earlier
        return found[1] + moved.strftime("%Y-%m-%d").encode() + found[3]

    data = data.replace(b'"%s"' % sid.encode(), b'"%s"' % own.encode())
    data = ISO.sub(day, data)
    data = MILLISECONDS.sub(lambda m: m[1] + b"%d" % (int(m[2]) - earlier // timedelta(milliseconds=1)), data)
    times = [(found[2] + found[3]).decode().rstrip('Z"') for found in ISO.finditer(data)]
    return data, own, times[0], max(times)


def main(source, target, sessions, megabytes):
    originals = []
    for path in sorted(pathlib.Path(source).rglob("*.jsonl")):
        data = path.read_bytes()
        head = header_of(data)
        if head:
            originals.append((path, data.rstrip(b"\n") + b"\n", head["id"]))
    if not originals:
        sys.exit(f"multiply: {source}: no sessions")
    size = sum(len(data) for _, data, _ in originals)
    copies = max(-(-sessions // len(originals)), -(-megabytes * 10**6 // size))
    for number in range(copies):
        for original, data, sid in originals:
            data, own, begun, last = copy_of(data, sid, f"{original} {number}", timedelta(days=DAYS * number))
            folder = pathlib.Path(target, f"--srv-{original.parent.name.replace('_', '-')}--")
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{re.sub('[:.]', '-', begun)}Z_{own}.jsonl"
            path.write_bytes(data)
            when = datetime.fromisoformat(last + "+00:00").timestamp()
            os.utime(path, (when, when))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
