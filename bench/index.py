#!/usr/bin/env python3
"""Nearest words among a million: exact search against an HNSW index.

    bench/index.py BUILD [ROWS [DIM]]

Vectors are generated, clustered as words are: topics, groups within them, words around those, and
sizes by Zipf's law. The index is made by `shoal index`, which then asks 2,000 of the words one at a
time both ways, each by one thread. A line of JSON goes to bench/results/index.json.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

TOPICS, GROUPS = 500, 20000


def words(rows, dim):
    """Unit rows of float32 around groups, which lie around topics."""
    rng = np.random.default_rng(1)
    topics = rng.standard_normal((TOPICS, dim), dtype=np.float32)
    groups = topics[rng.integers(TOPICS, size=GROUPS)] + rng.standard_normal((GROUPS, dim), dtype=np.float32)
    share = 1 / np.arange(1, GROUPS + 1)
    of = rng.choice(GROUPS, size=rows, p=share / share.sum())
    return groups[of] + rng.standard_normal((rows, dim), dtype=np.float32)


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    rows, dim = (int(sys.argv[i]) if len(sys.argv) > i else n for i, n in ((2, 1000000), (3, 100)))
    shoal = os.path.join(build, "cli", "shoal")
    with tempfile.TemporaryDirectory() as folder:
        array = os.path.join(folder, "words.npy")
        np.save(array, words(rows, dim))
        with open(array + ".vocab", "w") as names:
            names.writelines(f"w{i}\n" for i in range(rows))
        vectors = os.path.join(folder, "words.shoal")
        subprocess.run([shoal, "convert", "-q", array, vectors], check=True)
        os.remove(array)
        began = time.monotonic()
        subprocess.run([shoal, "index", vectors, "--recall", "0.95", "-q"], check=True)
        took = round(time.monotonic() - began, 1)
        asked = subprocess.run([shoal, "index", vectors, "--measure", "--threads", "1", "--questions", "2000",
                                "--json"], check=True, stdout=subprocess.PIPE)
        found = dict(json.loads(asked.stdout), took_seconds=took)
        found["times"] = round(found["exact_seconds"] / found["index_seconds"], 1)
        found["bytes"] = os.path.getsize(found.pop("file"))
    os.makedirs("bench/results", exist_ok=True)
    with open("bench/results/index.json", "w") as out:
        print(json.dumps(found), file=out)
    print(json.dumps(found))


main()
