# SPDX-License-Identifier: MIT
"""reread.py MOUNTPOINT SEED N: N reads at random offsets of random files of sessions, bypassing the kernel's cache.

Prints the number of bytes read; fewer than the file's size is an error."""
import os
import random
import sys

root, seed, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(seed)
sessions = sorted(s.path for p in os.scandir(root + "/projects") for s in os.scandir(p.path) if s.is_dir(follow_symlinks=False))


def pick(path):
    while os.path.isdir(path):
        names = sorted(os.listdir(path))
        if not names:
            return None
        path += "/" + random.choice(names)
    return path


total = 0
for _ in range(n):
    # Half of them in the files that take longest to render.
    session = random.choice(sessions)
    views = ["transcript.md", "context.md", "context.json", "tree.txt"]
    path = session + "/" + random.choice(views) if random.random() < 0.5 else pick(session)
    if not path:
        continue
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    size = os.fstat(fd).st_size
    at = random.randrange(size + 1)
    got = len(os.pread(fd, 65536, at))
    os.close(fd)
    if got != min(65536, size - at):
        sys.exit(f"{path}: {got} bytes at {at} of {size}")
    total += got
print(total)
