#!/usr/bin/env python3
"""Words from Python: beside the program, and beside gensim.

    SHOAL_DATA=folder bench/python.py BUILD [--tables file,sentences,similar,open] [--words 2000000]
                                            [--repeat 3]

file       Word2Vec(corpus_file=...) and `shoal train` with the same options: from the text to the
           vectors, all included
sentences  Word2Vec of a list of lists of words, counting, encoding and training, by shoal and by
           gensim with as many workers as there are cores
similar    most_similar over 70,000 x 100, one question after the other
open       a file of 3,000,000 x 300: the time until the first vector is there, and the memory that
           the process then has

All take turns, and the best of --repeat counts. The text is SHOAL_DATA/wiki8.zst, else a generated
one. gensim (Debian's python3-gensim) runs when it is there. Each measurement is a process of its own.
Results go to bench/results/python.json.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
TABLES = ("file", "sentences", "similar", "open")
SETTINGS = dict(vector_size=100, window=5, min_count=5, negative=5, sample=1e-3, epochs=5, seed=1)

# ---- What the processes do: each prints one JSON object ------------------------------------------


def of_file(path, threads, words):
    from shoal.models import Word2Vec
    began = time.perf_counter()
    model = Word2Vec(corpus_file=path, workers=threads, **SETTINGS)
    return {"seconds": time.perf_counter() - began, "words": model.corpus_total_words}


def of_sentences(which, path, threads, words):
    sentences = []
    with open(path, encoding="utf-8") as file:
        tokens = file.read().split()[:words]
    for at in range(0, len(tokens), 1000):
        sentences.append(tokens[at:at + 1000])
    if which == "gensim":
        from gensim.models import Word2Vec
    else:
        from shoal.models import Word2Vec
    out = {}
    for sg in (0, 1):
        began = time.perf_counter()
        Word2Vec(sentences, workers=threads, sg=sg, **SETTINGS)
        out["skipgram" if sg else "cbow"] = time.perf_counter() - began
    return out


def of_similar(which, words=70000, dim=100, questions=100):
    import numpy as np
    if which == "gensim":
        from gensim.models import KeyedVectors
    else:
        from shoal.models import KeyedVectors
    kv = KeyedVectors(dim)
    kv.add_vectors([f"word{i}" for i in range(words)],
                   np.random.default_rng(1).standard_normal((words, dim)).astype(np.float32))
    began = time.perf_counter()
    kv.most_similar("word0")
    first = time.perf_counter() - began
    began = time.perf_counter()
    for i in range(questions):
        kv.most_similar(f"word{i}")
    return {"first": first, "seconds": (time.perf_counter() - began) / questions}


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def of_open(path):
    from shoal.models import KeyedVectors
    before = resident()
    began = time.perf_counter()
    kv = KeyedVectors.load(path)
    row = kv["word1234567"]
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "resident": resident() - before, "shape": kv.vectors.shape,
            "first": float(row[0]), "copied": bool(kv.vectors.flags.owndata)}


def make_large(path, words=3000000, dim=300):
    """A file of ours of that size, if it is not there."""
    import numpy as np
    from shoal.models import KeyedVectors
    kv = KeyedVectors(dim)
    kv.vectors = np.random.default_rng(1).random((words, dim), dtype=np.float32)
    kv.index_to_key = [f"word{i}" for i in range(words)]
    kv.key_to_index = dict(zip(kv.index_to_key, range(words)))
    kv.save(path)
    return {}


JOBS = {"of_file": of_file, "of_sentences": of_sentences, "of_similar": of_similar, "of_open": of_open,
        "make_large": make_large}


# ---- Running them --------------------------------------------------------------------------------


def job(build, name, *arguments):
    env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python"),
               SHOAL_LIBRARY=os.path.join(os.path.abspath(build), "src", "libshoal.so.0"))
    run = subprocess.run([sys.executable, os.path.abspath(__file__), "--job", name, json.dumps(arguments)], env=env,
                         stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def command(build, path, threads, output):
    began = time.perf_counter()
    subprocess.run([os.path.join(build, "cli", "shoal"), "train", "cbow", path, "--threads", str(threads), "--epochs", "5",
                    "--lr", "0.025", "--min-lr", "0.0001", "--valid", "0", "-o", output], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def text_for(build, folder, data):
    path = os.path.join(folder, "text.txt")
    source = os.path.join(data or "", "wiki8.zst")
    if data and os.path.exists(source):
        with open(path, "wb") as file:
            subprocess.run(["zstd", "-dc", source], stdout=file, check=True)
    else:
        subprocess.run([os.path.join(build, "cli", "shoal"), "gen", "world", "--words", "5000000", "-o", path], check=True,
                       stdout=subprocess.DEVNULL)
    return path


def has_gensim():
    return subprocess.run([sys.executable, "-c", "import gensim"], stderr=subprocess.DEVNULL).returncode == 0


def table_file(build, text, threads, repeat, **_):
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeat):
            theirs.append(command(build, text, threads, os.path.join(folder, "v.shoal")))
            ours.append(job(build, "of_file", text, threads, 0)["seconds"])
    print(f"corpus_file: {min(ours):.2f} s in Python, {min(theirs):.2f} s by the program: "
          f"{100 * (min(ours) / min(theirs) - 1):+.1f} %")
    return {"python": ours, "program": theirs}


def table_sentences(build, text, threads, repeat, words, gensim, **_):
    out = {"shoal": [], "gensim": []}
    for _ in range(repeat):
        for which in out if gensim else ["shoal"]:
            out[which].append(job(build, "of_sentences", which, text, threads, words))
    for kind in ("cbow", "skipgram"):
        ours = min(run[kind] for run in out["shoal"])
        theirs = min((run[kind] for run in out["gensim"]), default=float("nan"))
        print(f"sentences, {kind}, {words:,} words: {ours:.2f} s, gensim {theirs:.2f} s: {theirs / ours:.1f} times")
    return out


def table_similar(build, repeat, gensim, **_):
    out = {"shoal": [], "gensim": []}
    for _ in range(repeat):
        for which in out if gensim else ["shoal"]:
            out[which].append(job(build, "of_similar", which))
    ours = min(run["seconds"] for run in out["shoal"])
    theirs = min((run["seconds"] for run in out["gensim"]), default=float("nan"))
    print(f"most_similar: {1000 * ours:.3f} ms, gensim {1000 * theirs:.3f} ms: {theirs / ours:.1f} times; the first "
          f"{1000 * min(run['first'] for run in out['shoal']):.0f} ms")
    return out


def table_open(build, repeat, **_):
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path = os.path.join(folder, "large.shoal")
        job(build, "make_large", path)
        runs = [job(build, "of_open", path) for _ in range(repeat)]
        size = os.path.getsize(path)
    best = min(run["seconds"] for run in runs)
    print(f"open {size / 1e9:.2f} GB: {1000 * best:.1f} ms, {runs[0]['resident'] / 1e6:.1f} MB resident, copied: "
          f"{runs[0]['copied']}")
    return {"bytes": size, "runs": runs}


def main():
    if sys.argv[1:2] == ["--job"]:
        print(json.dumps(JOBS[sys.argv[2]](*json.loads(sys.argv[3]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--words", type=int, default=2000000)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeat", type=int, default=3)
    a = parser.parse_args()
    results = {"settings": SETTINGS, "threads": a.threads}
    with tempfile.TemporaryDirectory() as folder:
        names = [name for name in a.tables.split(",") if name]
        text = text_for(a.build, folder, os.environ.get("SHOAL_DATA")) if {"file", "sentences"} & set(names) else None
        for name in names:
            results[name] = globals()["table_" + name](build=a.build, text=text, threads=a.threads, repeat=a.repeat,
                                                       words=a.words, gensim=has_gensim())
    os.makedirs(os.path.join(ROOT, "bench", "results"), exist_ok=True)
    with open(os.path.join(ROOT, "bench", "results", "python.json"), "w") as file:
        json.dump(results, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
