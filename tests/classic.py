#!/usr/bin/env python3
"""The quick form of every classic: its tables, pictures, exit codes. TAP on standard output.

    tests/classic.py SHOAL [NAME...]
"""
import csv
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

# The columns that each table must have, as whoever ran the experiment had them.
TABLES = {
    "cbow": {
        "strong": ["workers", "time (s)", "updates/s", "words/s", "speedup", "accuracy"],
        "weak": ["workers", "time (s)", "updates/s", "words/s", "speedup", "accuracy"],
        "target": ["workers", "to target (s)", "loss", "accuracy"],
    },
    "classifier": {
        "time": ["nodes", "execution time", "speedup", "how", "original speedup"],
        "accuracy": ["nodes", "training accuracy", "loss", "original accuracy"],
    },
    "clicks": {
        "settings": ["setting", "time", "accuracy converged to"],
        "batches": ["batch", "sync", "async"],
        "resources": ["setting", "CPU", "network read", "network write", "disk read", "disk write",
                      "network read each", "network write each", "disk read each",
                      "disk write each", "limit"],
    },
    "nextword": {
        "tensors": ["length", "windows (inputs)"],
        "epochs-10": ["epoch", "gradient L2 norm", "MSE", "MAE", "RMSE", "accuracy",
                      "learning rate", "epoch time", "memory", "smallest part", "shuffled"],
        "epochs-15": ["epoch", "gradient L2 norm", "MSE", "MAE", "RMSE", "accuracy"],
    },
    "vgg": {"iterations": ["nodes", "node", "time per iteration", "original"]},
}
FIGURES = {
    "cbow": ["loss-accuracy"],
    "classifier": ["speedup", "accuracy"],
    "clicks": ["error-steps", "runtime-batch"],
    "nextword": ["epochs"],
    "vgg": ["iterations", "loss"],
}
ROWS = {("cbow", "strong"): 3, ("cbow", "weak"): 3, ("classifier", "time"): 3, ("classifier", "accuracy"): 3,
        ("clicks", "settings"): 8, ("clicks", "batches"): 4, ("nextword", "epochs-10"): 5,
        ("nextword", "epochs-15"): 5, ("vgg", "iterations"): 4}

count = failed = 0


def check(name, true, why=""):
    global count, failed
    count += 1
    failed += not true
    print(f"{'ok' if true else 'not ok'} {count} - {name}", flush=True)
    if not true and why:
        print("# " + str(why).replace("\n", "\n# "), flush=True)


def shoal(*words):
    return subprocess.run([SHOAL, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)


def png_decodes(path):
    """Whether all rows of the picture are there, with more than one colour."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        return False
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[kind]
    at, packed = 8, b""
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at:at + 8])
        if name == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    pixels = zlib.decompress(packed)
    return len(pixels) == height * (1 + width * channels * depth // 8) and len(set(pixels)) > 8


def check_tables(name, folder):
    for table, columns in TABLES[name].items():
        with open(f"{folder}/tables/{table}.csv", newline="") as file:
            rows = list(csv.reader(file))
        missing = [c for c in columns if c not in rows[0]]
        check(f"{name}: table {table} has the columns of the experiment", not missing, missing)
        wanted = ROWS.get((name, table))
        check(f"{name}: table {table} has its rows", not wanted or len(rows) == wanted + 1, rows)
        for column in columns[1:3]:
            values = [row[rows[0].index(column)] for row in rows[1:]]
            if column == "to target (s)":  # one worker comes to it, the others may not
                values = values[:1] + [v for v in values[1:] if v != "never"]
            numbers = [v for v in values if re.fullmatch(r"-?[0-9.]+(e[-+]?\d+)?", v)]
            good = column in ("how", "windows (inputs)", "node") or \
                len(numbers) == len(values) and all(math.isfinite(float(v)) and float(v) > 0 for v in numbers)
            check(f"{name}: {table}, {column} was measured in every row", good, values)
        with open(f"{folder}/tables/{table}.txt") as file:
            text = file.read()
        check(f"{name}: table {table} is there as text", all(c in text for c in columns))


def check_figures(name, folder):
    drawn = os.listdir(f"{folder}/figures")
    for figure in FIGURES[name]:
        check(f"{name}: figure {figure} is there as SVG", f"{figure}.svg" in drawn, drawn)
        check(f"{name}: figure {figure} is a PNG that can be decoded",
              f"{figure}.png" in drawn and png_decodes(f"{folder}/figures/{figure}.png"), drawn)
    for file in drawn:
        if file.endswith(".svg"):
            with open(f"{folder}/figures/{file}") as svg:
                check(f"{name}: {file} holds a whole picture", svg.read().endswith("</svg>\n"))


def check_classic(name):
    ran = shoal("classic", name, "--quick", "-o", name)
    check(f"{name} --quick ends well", ran.returncode == 0, ran.stdout + ran.stderr)
    if ran.returncode != 0:
        return
    check(f"{name}: rows appear while it runs", ran.stderr.count("/s ") >= 2, ran.stderr)
    check_tables(name, name)
    check_figures(name, name)
    with open(f"{name}/README.md") as file:
        readme = file.read()
    check(f"{name}: the README says what was run and how to change it",
          all(w in readme for w in ("## What was run", "## How to change it", "shoal train", "## Results")))
    with open(f"{name}/report.html") as file:
        page = file.read()
    check(f"{name}: the page has tables and pictures", "<table>" in page and "<svg" in page)
    check(f"{name}: no note of the page is empty", '<div class="said"></div>' not in page)
    again = shoal("classic", name, "--quick", "-o", name)
    check(f"{name}: the same command again runs nothing anew",
          again.returncode == 0 and "/s " not in again.stderr and again.stdout == ran.stdout, again.stderr)


def check_cbow_words():
    text = open("cbow/README.md").read()
    check("cbow: strong and weak scaling are named", "Strong scaling" in text and "Weak scaling" in text)
    check("cbow: workers have a server of their own", "--ranks 5 --servers 1" in text)


def check_vgg_words():
    text = open("vgg/README.md").read()
    check("vgg: the two commands of curl are told",
          "curl http://127.0.0.1:8080/predictions/vgg -T kitten.jpg" in text and
          "curl http://127.0.0.1:8081/models" in text)
    page = open("vgg/report.html").read()
    check("vgg: commands of the page have a line each",
          "\ncurl http://127.0.0.1:8080/predictions/vgg -T kitten.jpg\n" in page)
    check("vgg: its model can be opened", shoal("info", "vgg/vgg.mar").returncode == 0)


def check_clicks_words():
    text = open("clicks/README.md").read()
    said = re.search(r"async is ([0-9.]+) times as fast at ([-+][0-9.]+) points", text)
    with open("clicks/tables/settings.csv", newline="") as file:
        rows = {row["setting"]: row for row in csv.DictReader(file)}
    fast, slow = rows["async, batch 100"], rows["sync, batch 100"]
    if min(float(fast["time"]), float(slow["time"])) < 1:
        check("clicks: of runs that are too short no speed is told",
              not said and "too short to judge speed by" in text, said and said[0])
        return
    check("clicks: one sentence compares async and sync", said)
    times = float(slow["time"]) / float(fast["time"])
    points = 100 * (float(fast["accuracy converged to"]) - float(slow["accuracy converged to"]))
    check("clicks: the sentence says what the table of settings does", said and
          abs(float(said[1]) - times) < 0.006 and abs(float(said[2]) - points) < 0.006,
          (said and said[0], times, points))


def check_nextword_words():
    text = open("nextword/README.md").read()
    vector = re.search(r'^behind ".*":\n((?:-?[0-9].*\n)+)\nnearest words, by cosine:\n((?: .*\n)+)', text, re.M)
    check("nextword: the predicted vector has its 100 numbers", vector and len(vector[1].split()) == 100, text)
    check("nextword: its nearest words stand below", vector and len(vector[2].splitlines()) == 5, text)
    check("nextword: the model has the name that it was given",
          shoal("predict", "nextword/trained_model.zip", "the mayor of").returncode == 0)


def check_refusals():
    listed = shoal("classic", "--list")
    check("--list names all five", listed.returncode == 0 and
          [w.split()[0] for w in listed.stdout.splitlines() if not w.startswith(" ")] == list(TABLES))
    check("no name is a wrong command", shoal("classic").returncode == 2)
    unknown = shoal("classic", "perceptron", "-o", "p")
    check("an unknown name is refused with those that there are", unknown.returncode == 1 and
          "want cbow, classifier, clicks, nextword or vgg" in unknown.stderr and not os.path.exists("p"))
    lost = shoal("classic", "cbow", "--data", "nowhere.txt", "-o", "lost")
    check("data that is not there is refused and nothing is written",
          lost.returncode == 1 and "nowhere.txt" in lost.stderr and not os.path.exists("lost"), lost.stderr)
    os.mkdir("mine")
    open("mine/README.md", "w").close()
    mine = shoal("classic", "cbow", "--quick", "-o", "mine")
    check("a folder of something else is left as it is", mine.returncode == 1 and
          "want a new folder" in mine.stderr and os.listdir("mine") == ["README.md"], mine.stderr)
    with open("points.csv", "w") as file:
        file.write("x,y,class\n1,2,0\n1,2\n")
    bad = shoal("classic", "classifier", "--quick", "--data", "points.csv", "-o", "bad")
    check("runs that fail are named, with exit code 1", bad.returncode == 1 and
          "runs failed: 1 node (" in bad.stderr, bad.stderr)
    other = shoal("classic", "clicks", "--quick", "-o", "bad")
    check("a folder of another classic is refused", other.returncode == 1 and
          "found a classic classifier, quick, data points.csv" in other.stderr, other.stderr)


SHOAL = os.path.realpath(sys.argv[1])
NAMES = sys.argv[2:] or list(TABLES)
with tempfile.TemporaryDirectory() as room:
    os.chdir(room)
    for name in NAMES:
        check_classic(name)
        if os.path.exists(f"{name}/README.md") and f"check_{name}_words" in globals():
            globals()[f"check_{name}_words"]()
    check_refusals()
    os.chdir("/")
print(f"1..{count}")
sys.exit(failed > 0)
