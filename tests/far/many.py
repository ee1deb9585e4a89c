#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""many.py FROM TO N: copies of the sessions in FROM, until there are N more in TO, with new ids, in projects of 500."""
import glob
import os
import sys

source, to, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
samples = []
for path in sorted(glob.glob(f"{source}/--*--/*_*.jsonl")):
    with open(path, "rb") as f:
        data = f.read()
    own = os.path.basename(path)[:-6].split("_", 1)[1].encode()
    if data[:500].count(own) == 1 and len(data) < 40000:
        samples.append((os.path.basename(path).encode(), own, data))
for i in range(n):
    name, own, data = samples[i % len(samples)]
    new = f"0{i:07d}-0000-4000-8000-000000000000".encode()
    directory = f"{to}/--many-{i // 500:02d}--"
    if i % 500 == 0:
        os.mkdir(directory)
    with open(os.path.join(directory.encode(), name.replace(own, new)), "wb") as f:
        f.write(data.replace(own, new, 1))
