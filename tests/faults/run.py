#!/usr/bin/env python3
"""Every call of the system fails once: what is left then, and what is said.

    tests/faults/run.py PROGRAM [--every | --places] [--only SCENARIO[:CLASS]] [--jobs N]

PROGRAM is tests/faults/main.c: shoal with an Nth call that fails. Each scenario is run once as it
should be, which counts the calls of a class, then again with a call that fails:
--every    each of them, N = 1, 2, ...; once the Nth alone, once all from the Nth on
--places   the same for the first call of each place, which is known by its stack
otherwise  each place of the program once, in the first scenario that comes to it; a place is then
           known by a few frames, and every fourth failure lasts

After each run:
- it ended with 1 and a sentence, or with 0 and the very result it should have; never by a signal;
- every file is as it was or whole as it should be, nothing lies beside it or in TMPDIR;
- no descriptor is left open; under the sanitizers nothing leaks;
- a server said where it listens, and answered or closed each connection;
- from the checkpoints that are there, a resumed run comes to the same bytes.
Prints TAP, a line for each scenario and class.
"""

import argparse
import concurrent.futures
import http.client
import itertools
import json
import os
import queue
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

FAILING = ["alloc", "thread", "open", "read", "write", "sync", "rename"]
HARMLESS = ["short", "signal"]  # less than all, EINTR: nobody notices
DEPTH, NEAR = 24, 4  # frames by which places are told apart
LASTS = 4  # every such one lasts, when each place is tried once
HANGS = 300  # seconds
OLD = b"what was here before\n"
SUPPRESSED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lsan.supp")


class Scenario:
    """A command, and what it may leave.

    words: the command. old: files that lie there before. after: a run whose folder lacks its last
    checkpoint, in which this one begins. grows: prefixes of what may be there in part (checkpoints,
    metrics). resume: a command that goes on after a failure. stdout: the answers go there. most:
    places of a class to try, where a run takes long and each place is tried once. needs: a file of
    the stage that a build may be unable to make."""

    def __init__(self, name, words, old=(), after=None, grows=(), resume=None, stdin=None,
                 stdout=False, most=None, needs=None):
        self.name, self.words, self.old, self.after = name, words.split(), old, after
        self.grows, self.resume, self.stdin = tuple(grows), resume, stdin
        self.stdout, self.most, self.needs = stdout, most, needs


STAGE = [
    "gen world --words 8000 --seed 1 -q -o text.txt --questions questions.txt",
    "encode -q text.txt --min-count 2 -o text.shoal",
    "vocab -q text.txt --min-count 2 -o vocab.txt",
    "train cbow text.shoal -q --dim 8 --epochs 1 --deterministic --threads 1 -o vectors.bin",
    "train cbow text.shoal -q --dim 8 --epochs 1 --minn 2 --maxn 4 --buckets 300 --deterministic --threads 1 "
    "-o subwords.shoal",
    "convert -q vectors.bin vectors.shoal",
    "convert -q vectors.bin vectors.vec",
    "convert -q vectors.bin vectors.npy",
    "convert -q vectors.bin vectors.safetensors",
    "train skipgram text.txt -q --min-count 1 --dim 4 --epochs 1 --threads 1 --minn 3 --maxn 3 --buckets 300 "
    "-o grams.shoal",
    "convert -q grams.shoal grams.ftz",
    "gen clicks --rows 600 --seed 1 -q -o clicks.txt",
    "encode --as clicks -q clicks.txt --bits 12 -o clicks.shoal",
    "train logreg clicks.shoal -q --deterministic --threads 1 -o logreg.shoal",
    "gen spiral --samples 200 -q -o spiral.csv",
    "train mlp spiral.csv --layers 8 --epochs 2 -q -o mlp.shoal",
    "train vgg set -q --depth 11 --size 8 --base 16 --batch 3 --epochs 1 --warmup 0 -o vgg.shoal",
    "train nextword text.shoal --vectors vectors.bin --length 3 --hidden 8 --epochs 1 -q -o next.shoal",
    "convert -q vgg.shoal vgg.safetensors",
    "gen news --lines 120 -q -o news.txt",
    "train classify news.txt -q --dim 4 --epochs 1 --word-ngrams 2 --buckets 500 --threads 1 -o news.shoal",
    "convert -q news.shoal news.bin",
]

INDEX = "index vectors.shoal --m 4 --ef 20 -q --threads 1 -o vectors.hnsw"

CBOW = ("train cbow ../stage/text.shoal -q --dim 8 --epochs 2 --deterministic --threads {} "
        "--checkpoint run --checkpoint-every 40% --metrics run.jsonl -o out.bin")
LOGREG = ("train logreg ../stage/clicks.shoal -q --epochs 2 --deterministic --threads {} "
          "--checkpoint run --checkpoint-every epoch --metrics run.jsonl -o out.shoal")
MLP = ("train mlp ../stage/spiral.csv -q --layers 8 --epochs 3 --threads {} "
       "--checkpoint run --checkpoint-every epoch --metrics run.jsonl -o out.shoal")
VGG = ("train vgg ../stage/set -q --depth 11 --size 8 --base 16 --batch 3 --epochs 2 --warmup 0 --threads {} "
       "--checkpoint run --checkpoint-every epoch -o out.shoal")
NEXT = ("train nextword ../stage/text.shoal --vectors ../stage/vectors.bin --length 3 --hidden 8 "
        "--asked 64 --epochs 2 --threads {} -q --checkpoint run --checkpoint-every epoch "
        "--statistics statistics.csv -o out.shoal")
CLASSIFY = ("train classify ../stage/news.txt -q --dim 4 --epochs 2 --deterministic --word-ngrams 2 --buckets 500 "
            "--threads {} --checkpoint run --checkpoint-every epoch --metrics run.jsonl -o out.shoal")
RUN = ("run/", "run.jsonl")

SCENARIOS = [
    Scenario("vocab", "vocab -q ../stage/text.txt --threads 2 -o out.txt", old=["out.txt"]),
    Scenario("vocab_spilled", "vocab -q ../stage/many.txt --min-count 1 --threads 2 "
             "--vocab-memory 1M -o out.txt", old=["out.txt"]),
    Scenario("encode", "encode ../stage/text.txt --min-count 2 --threads 2 -o out.shoal",
             old=["out.shoal"]),
    Scenario("encode_gzip", "encode -q ../stage/text.gz --vocab ../stage/vocab.txt --threads 2 "
             "-o out.shoal", old=["out.shoal"]),
    Scenario("encode_zstd", "encode -q ../stage/text.zst --threads 1 -o out.shoal",
             old=["out.shoal"]),
    Scenario("encode_bzip2", "encode -q ../stage/text.bz2 --threads 1 -o out.shoal",
             old=["out.shoal"]),
    Scenario("encode_xz", "encode -q ../stage/text.xz --threads 1 -o out.shoal",
             old=["out.shoal"]),
    Scenario("encode_pipe", "encode -q - --threads 2 -o out.shoal", old=["out.shoal"],
             stdin="text.txt"),
    Scenario("encode_clicks", "encode --as clicks ../stage/clicks.txt --bits 12 --threads 2 "
             "-o out.shoal", old=["out.shoal"]),
    Scenario("phrases", "phrases -q ../stage/text.txt --passes 2 --threshold 10 --threads 2 "
             "-o out.txt", old=["out.txt"]),
    Scenario("gen_world", "gen world --words 3000 -q -o out.txt --questions questions.txt",
             old=["out.txt", "questions.txt"]),
    Scenario("gen_clicks", "gen clicks --rows 300 -q -o out.txt", old=["out.txt"]),
    Scenario("train_cbow", CBOW.format(2), old=["out.bin"], grows=RUN,
             resume="train --resume run -q"),
    Scenario("train_skipgram", "train skipgram ../stage/text.txt -q --loss hs --dim 4 --epochs 1 "
             "--threads 1 -o out.shoal", old=["out.shoal"]),
    Scenario("train_subwords", "train skipgram ../stage/text.shoal -q --epochs 1 --minn 2 --maxn 4 --buckets 300 "
             "--eval ../stage/questions.txt --start-from ../stage/subwords.shoal --dim 8 --threads 1 -o out.shoal",
             old=["out.shoal"]),
    Scenario("train_logreg", LOGREG.format(2), old=["out.shoal"], grows=RUN,
             resume="train --resume run -q"),
    Scenario("train_logreg_text", "train logreg ../stage/clicks.txt -q --bits 12 --deterministic "
             "--threads 2 --valid ../stage/clicks.txt -o out.shoal", old=["out.shoal"]),
    Scenario("train_classify", CLASSIFY.format(2), old=["out.shoal"], grows=RUN,
             resume="train --resume run -q"),
    Scenario("train_classify_held", "train classify ../stage/news.txt -q --dim 4 --epochs 2 --minn 2 --maxn 3 "
             "--loss hs --class-weight balanced --deterministic --threads 2 --valid ../stage/news.txt "
             "--early-stop 2 -o out.shoal", old=["out.shoal"]),
    Scenario("train_mlp", MLP.format(2), old=["out.shoal"], grows=RUN,
             resume="train --resume run -q"),
    Scenario("train_trackers", "train mlp ../stage/spiral.csv -q --layers 4 --epochs 1 --threads 1 --tensorboard tb --mlflow ml "
             "-o out.shoal", old=["out.shoal"], grows=("tb/", "ml/")),
    Scenario("train_vgg", VGG.format(2), old=["out.shoal"], grows=RUN,
             resume="train --resume run -q", most=16),
    Scenario("train_nextword", NEXT.format(2), old=["out.shoal"],
             grows=RUN + ("statistics.csv",), resume="train --resume run -q"),
    Scenario("resume_cbow", "train --resume run -q", old=["out.bin"], after=CBOW.format(1), grows=RUN,
             resume="train --resume run -q"),
    Scenario("resume_logreg", "train --resume run -q", old=["out.shoal"], after=LOGREG.format(1),
             grows=RUN, resume="train --resume run -q"),
    Scenario("resume_mlp", "train --resume run -q", old=["out.shoal"], after=MLP.format(1), grows=RUN,
             resume="train --resume run -q"),
    Scenario("resume_vgg", "train --resume run -q", old=["out.shoal"], after=VGG.format(1), grows=RUN,
             resume="train --resume run -q", most=8),
    Scenario("convert_bin_shoal", "convert ../stage/vectors.bin out.shoal", old=["out.shoal"]),
    Scenario("convert_shoal_npy", "convert -q ../stage/vectors.shoal out.npy --dtype f16",
             old=["out.npy", "out.npy.vocab"]),
    Scenario("convert_npy_safetensors", "convert -q ../stage/vectors.npy out.safetensors",
             old=["out.safetensors"]),
    Scenario("convert_safetensors_text", "convert -q ../stage/vectors.safetensors out.vec",
             old=["out.vec"]),
    Scenario("convert_text_int8", "convert -q ../stage/vectors.vec out.shoal --dtype int8 "
             "--normalize", old=["out.shoal"]),
    Scenario("convert_stdout", "convert -q ../stage/vectors.shoal - --format glove", stdout=True),
    Scenario("convert_fasttext", "convert -q ../stage/grams.shoal out.bin --format fasttext",
             old=["out.bin"]),
    Scenario("convert_fasttext_back", "convert -q ../stage/grams.ftz out.shoal", old=["out.shoal"]),
    Scenario("compress", "compress ../stage/grams.ftz out.shoal --qnorm --cutoff 400 --threads 2",
             old=["out.shoal"]),
    Scenario("compress_fasttext", "compress -q ../stage/grams.ftz out.ftz --threads 1", old=["out.ftz"]),
    Scenario("map", "map ../stage/vectors.shoal -o out.html -n 40 --rounds 5 --threads 2", old=["out.html"]),
    Scenario("map_tsv", "map -q ../stage/vectors.bin --method pca -n 30 --tsv out --threads 1"),
    Scenario("convert_classify", "convert -q ../stage/news.shoal out.bin", old=["out.bin"]),
    Scenario("convert_net", "convert -q ../stage/vgg.shoal out.safetensors",
             old=["out.safetensors"]),
    Scenario("convert_net_back", "convert -q ../stage/vgg.safetensors out.shoal",
             old=["out.shoal"]),
    Scenario("index", "index ../stage/vectors.shoal --m 4 --ef-construction 20 --threads 1 --questions 40 "
             "-o out.hnsw", old=["out.hnsw"], needs="vectors.hnsw"),
    Scenario("similar_index", "similar ../stage/vectors.shoal the --json --index ../stage/vectors.hnsw",
             stdout=True, needs="vectors.hnsw"),
    Scenario("similar", "similar ../stage/vectors.bin the --json --threads 2", stdout=True),
    Scenario("similar_lines", "similar ../stage/vectors.shoal --threads 1", stdout=True,
             stdin="words.txt"),
    Scenario("similar_unseen", "similar ../stage/grams.shoal theee andd --json --threads 2", stdout=True),
    Scenario("eval_unseen", "eval ../stage/grams.shoal ../stage/questions.txt --threads 2 --json", stdout=True),
    Scenario("eval_words", "eval ../stage/vectors.shoal ../stage/questions.txt --threads 2 --json",
             stdout=True),
    Scenario("eval_clicks", "eval ../stage/logreg.shoal ../stage/clicks.txt --json", stdout=True),
    Scenario("eval_classify", "eval ../stage/news.bin ../stage/news.txt --json --threads 2", stdout=True),
    Scenario("predict_classify", "predict ../stage/news.shoal ../stage/news.txt -k 2", stdout=True),
    Scenario("eval_mlp", "eval ../stage/mlp.shoal ../stage/spiral.csv --json --threads 2",
             stdout=True),
    Scenario("eval_vgg", "eval ../stage/vgg.shoal ../stage/set --json --threads 2", stdout=True),
    Scenario("predict_clicks", "predict ../stage/logreg.shoal ../stage/clicks.txt", stdout=True),
    Scenario("predict_file", "predict ../stage/logreg.shoal ../stage/clicks.txt -o out.txt",
             old=["out.txt"]),
    Scenario("predict_mlp", "predict ../stage/mlp.shoal ../stage/spiral.csv", stdout=True),
    Scenario("predict_named", "predict ../stage/mlp.shoal ../stage/spiral.csv --class-index ../stage/names.json",
             stdout=True),
    Scenario("predict_vgg", "predict ../stage/vgg.shoal ../stage/new.png", stdout=True),
    Scenario("predict_next", "predict ../stage/next.shoal the", stdout=True),
    Scenario("info_corpus", "info ../stage/text.shoal", stdout=True),
    Scenario("info_net", "info ../stage/vgg.shoal", stdout=True),
    Scenario("info_run", "info run", after=CBOW.format(1), stdout=True),
    Scenario("report", "report -q run.jsonl -o /dev/null --plots .", old=["loss-time.svg", "lr.png"],
             after=CBOW.format(1), most=32),
]


# ---- The program ------------------------------------------------------------------------------


class Program:
    """One process that runs commands, a folder to run them in, and what came of the last."""

    def __init__(self, path, root, number):
        self.path = path
        self.folder = os.path.join(root, f"work{number}")
        self.tmp = os.path.join(root, f"tmp{number}")
        self.said = os.path.join(root, f"said{number}")
        self.shown = os.path.join(root, f"shown{number}")
        os.makedirs(self.tmp)
        env = dict(os.environ, TMPDIR=self.tmp, SHOAL_ISA="scalar", NO_COLOR="1", LC_ALL="C",
                   OMP_NUM_THREADS="1",
                   ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1:exitcode=77",
                   LSAN_OPTIONS="print_suppressions=0:suppressions=" + SUPPRESSED,
                   UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1:exitcode=77")
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=0, env=env)
        self.unread = b""
        self.pid = None

    def start(self, words, fault=("none", 0, "once"), depth=0, stdin="/dev/null",
              folder=None):
        for path in (self.said, self.shown):
            open(path, "wb").close()
        line = [fault[0], str(fault[1]), fault[2], str(depth),
                folder or self.folder, stdin, self.shown, self.said, *words]
        self.process.stdin.write(("\t".join(line) + "\n").encode())
        word, pid = self.line().split()
        assert word == "PID" and int(pid) > 1
        self.pid = int(pid)
        self.depth = depth

    def line(self):
        while b"\n" not in self.unread:
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            assert more, "the program ended"
            self.unread += more
        first, self.unread = self.unread.split(b"\n", 1)
        return first.decode()

    def ended(self, seconds):
        """Whether the command ended, after so long at most. Its end may have come together with its
        number: then it is no longer in the pipe."""
        return self.unread or select.select([self.process.stdout], [], [], seconds)[0]

    def wait(self):
        """(exit code or -signal, calls, failed, where, left open, places)"""
        hang = threading.Timer(HANGS, os.kill, (self.pid, signal.SIGKILL))
        hang.start()
        fields = self.line().split()
        hang.cancel()
        places = self.line().split() if self.depth else []
        status = int(fields[1])
        code = os.waitstatus_to_exitcode(status)
        return Outcome(code, int(fields[2]), int(fields[3]), fields[4], int(fields[5]), places,
                       read(self.said).decode(errors="replace"), read(self.shown))

    def run(self, *args, **kwargs):
        self.start(*args, **kwargs)
        return self.wait()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Outcome:
    def __init__(self, code, calls, failed, where, left_open, places, said, shown):
        self.code, self.calls, self.failed, self.where = code, calls, failed, where
        self.left_open, self.places, self.said, self.shown = left_open, places, said, shown


def read(path):
    with open(path, "rb") as f:
        return f.read()


def tree(folder):
    """{path within: bytes} of all files below."""
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            found[os.path.relpath(path, folder)] = read(path)
    return found


def shapes(path, files):
    """What events there are in metrics, and what is said of each; not how often, for that is a
    matter of time."""
    lines = files.get(path, b"").splitlines() if path.endswith(".jsonl") else []
    found = [json.loads(line) for line in lines]
    return {(one["event"], *sorted(one)) for one in found if one["event"] != "interval"}


# ---- The stage ----------------------------------------------------------------------------------


def png(path, colour, noise):
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data) & 0xFFFFFFFF))

    rows = b"".join(
        b"\0" + bytes(60 + (x * 7 + y * 11 + noise * 13) % 90 + (100 if c == colour else 0)
                      for x in range(8) for c in range(3)) for y in range(8))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def stage_pictures(stage):
    for colour, name in enumerate(("red", "green", "blue")):
        for part, n in ("train", 2), ("test", 1):
            folder = os.path.join(stage, "set", part, name)
            os.makedirs(folder)
            for i in range(n):
                png(os.path.join(folder, f"{i}.png"), colour, i)
    png(os.path.join(stage, "new.png"), 1, 99)


def stage_make(program, stage):
    """Everything that scenarios read, made by good runs."""
    os.makedirs(stage)
    stage_pictures(stage)
    with open(os.path.join(stage, "words.txt"), "w") as f:
        f.write("the\na\nof the\n")
    with open(os.path.join(stage, "names.json"), "w") as f:
        f.write('{"0": "spring", "1": ["s2", "summer"], "2": "autumn", "3": "winter"}')
    with open(os.path.join(stage, "names.txt"), "w") as f:
        f.write("red\ngreen\nblue\n")
    with open(os.path.join(stage, "many.txt"), "w") as f:
        for i in range(60000):
            f.write(f"word-number-{i * 7919 % 15000} ")
    for words in STAGE:
        good(program.run(words.split(), folder=stage), words)
    program.run(INDEX.split(), folder=stage)  # where hnswlib is there
    subprocess.run("head -n 2 clicks.txt >clicks-rows && gzip -c text.txt >text.gz && "
                   "zstd -qc text.txt >text.zst && "
                   "bzip2 -kc text.txt >text.bz2 && xz -kc text.txt >text.xz", shell=True, check=True,
                   cwd=stage)


def good(outcome, words):
    if outcome.code != 0:
        sys.exit(f"faults: `{words}` ended with {outcome.code} where nothing fails: {outcome.said}")
    return outcome


# ---- One run ----------------------------------------------------------------------------------------


class Bench:
    """A scenario on one program: what was there before, what a good run leaves."""

    def __init__(self, program, scenario, stage):
        self.program, self.scenario, self.stage = program, scenario, stage
        self.stdin = os.path.join(stage, scenario.stdin) if scenario.stdin else "/dev/null"
        self.before = self.begin()
        self.good = good(self.run(("none", 0, "once")), scenario.words)
        self.after = tree(program.folder)
        self.remember()

    def remember(self):
        """What else a good run gives."""

    def begin(self):
        """What lies in the folder before each run."""
        folder, words = self.program.folder, self.scenario.after
        before = {}
        shutil.rmtree(folder, ignore_errors=True)
        if words:
            os.makedirs(folder)
            good(self.program.run(words.split()), words)
            before = tree(folder)
            del before[max(path for path in before if path.startswith("run/checkpoint-"))]
        before.update((name, OLD) for name in self.scenario.old)
        return before

    def reset(self):
        folder = self.program.folder
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name, data in self.before.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(data)

    def run(self, fault, depth=0):
        self.reset()
        return self.program.run(self.scenario.words, fault, depth, self.stdin)

    def grows(self, path):
        return path.startswith(self.scenario.grows) if self.scenario.grows else False

    # What is wrong with a run; None: nothing.
    def judge(self, fault, out):
        left = os.listdir(self.program.tmp)
        for name in left:
            os.unlink(os.path.join(self.program.tmp, name))
        if out.code not in (0, 1):
            return f"ended with {out.code}"
        if re.search(r"AddressSanitizer|LeakSanitizer|runtime error:", out.said):
            return "the sanitizer found something"
        if left:
            return f"left {left} in TMPDIR"
        if out.left_open > 0:
            return f"left {out.left_open} descriptors open"
        if out.code == 0:
            return self.judge_success(out)
        if out.failed == 0 or fault[0] in HARMLESS:
            return "failed though nothing did"
        return self.judge_sentence(out) or self.judge_files() or self.judge_resume()

    def judge_success(self, out):
        now = tree(self.program.folder)
        for path in {*now, *self.after}:
            if not self.grows(path) and now.get(path) != self.after.get(path):
                return f"ended with 0 and another {path}"
            other = shapes(path, now) ^ shapes(path, self.after)
            if other:
                return f"ended with 0 and another {path}: {other}"
        if self.scenario.stdout and out.shown != self.good.shown:
            return "ended with 0 and another answer"
        return None

    def judge_sentence(self, out):
        lines = [s for s in out.said.splitlines() if not s.startswith("shoal: warning")]
        if not lines:
            return "ended with 1 and no sentence"
        if not re.match(r"shoal( \w+)?: .*\w", lines[-1]):
            return "ended with 1 and no sentence of ours"
        return None

    def judge_files(self):
        now = tree(self.program.folder)
        for path, data in now.items():
            if ".tmp-" in path or re.search(r"\.\w{6}$", path) and path not in self.after:
                return f"left {path}"
            if not self.grows(path) and data not in (self.before.get(path), self.after.get(path)):
                return f"left {path} neither old nor whole"
        gone = [path for path in self.before if path not in now and not self.grows(path)]
        return f"removed {gone}" if gone else None

    def judge_resume(self):
        run = os.path.join(self.program.folder, "run")
        if not self.scenario.resume or not os.path.isdir(run):
            return None
        if not any(name.startswith("checkpoint-") for name in os.listdir(run)):
            return None
        out = self.program.run(self.scenario.resume.split())
        if out.code != 0:
            return f"could not be resumed: {out.code}, {out.said.strip()}"
        now = tree(self.program.folder)
        for path in self.after:
            if not self.grows(path) and now.get(path) != self.after[path]:
                return f"resumed to another {path}"
        return None

    def points(self, name, plan):
        """What to let fail, as (N, how long), and how many calls there are."""
        out = good(self.run((name, 0, "once"), NEAR if plan.once else DEPTH), self.scenario.words)
        modes = ["once"] if name in HARMLESS else ["once", "lasting"]
        first = {}
        for i, place in enumerate(out.places):
            first.setdefault(place, i + 1)
        if plan.every:
            return itertools.product(range(1, out.calls + 1), modes), out.calls
        if not plan.once:
            return itertools.product(first.values(), modes), out.calls
        new = plan.new(name, first, self.scenario.most)
        return [(n, modes[-1] if i % LASTS == 1 else "once") for i, n in enumerate(new)], out.calls

    def told(self, out):
        """Whether somebody was told what failed."""
        return out.code == 1


# ---- The server -------------------------------------------------------------------------------------

SERVE = Scenario(
    "serve",
    "serve words=../stage/vectors.shoal clicks=../stage/logreg.shoal mlp=../stage/mlp.shoal "
    "vgg=../stage/vgg.shoal next=../stage/next.shoal --class-index vgg=../stage/names.txt --model-store store --no-sandbox --threads 1 "
    "--reload-every 0.05 --log json --log-file access.log --limits words:max_requests=9 --inference-address 127.0.0.1:0 --management-address 127.0.0.2:0 "
    "--metrics-address 127.0.0.3:0", most=4)
HIDDEN = 2  # seconds to wait for addresses that a failing write may have swallowed
JSON = {"Content-Type": "application/json"}

# (where, method, path, body, headers, whether the answer is always the same)
REQUESTS = [
    ("inference", "GET", "/ping", None, {}, True),
    ("inference", "POST", "/predictions/words", b"the", {}, True),
    ("inference", "POST", "/predictions/words", b'{"words":["the","of"],"k":2}', JSON, True),
    ("inference", "GET", "/models/words/similar?word=the&k=3", None, {}, True),
    ("inference", "GET", "/models/words/similar?word=theee", None, {}, True),
    ("inference", "GET", "/models/words/analogy?a=the&b=of&c=a&k=2", None, {}, True),
    ("inference", "GET", "/models/words/vector?word=the", None, {}, True),
    ("inference", "GET", "/models/words/map?word=the&k=4", None, {}, True),
    ("inference", "POST", "/predictions/clicks", "clicks-rows", {}, True),
    ("inference", "POST", "/predictions/mlp", b"[[0.1,0.2],[0.3,0.4]]", JSON, True),
    ("inference", "POST", "/predictions/vgg", "new.png", {}, True),
    ("inference", "POST", "/predictions/next", b"the capital of", {}, True),
    ("inference", "POST", "/v2/models/words/infer",
     b'{"id":"7","inputs":[{"name":"words","shape":[1],"datatype":"BYTES","data":["the"]}]}', JSON, True),
    ("inference", "POST", "/v1/models/words:predict", b'{"instances":["the"]}', JSON, True),
    ("inference", "GET", "/v2/models/words", None, {}, True),
    ("metrics", "GET", "/metrics", None, {}, False),
    ("management", "POST", "/models?url=more.vec&initial_workers=1&synchronous=true", None, {}, False),
    ("management", "GET", "/models/more", None, {}, False),
    ("management", "PUT", "/models/more?min_worker=2&synchronous=true", None, {}, False),
    ("management", "GET", "/models", None, {}, False),
    ("inference", "POST", "/predictions/more", b"b", {}, False),
    ("management", "DELETE", "/models/more", None, {}, False),
]


class Serving(Bench):
    """A server, a request of each kind, a model replaced, and a stop."""

    patience = HANGS
    requests = REQUESTS
    files = {"store/more.vec"}

    def begin(self):
        first = b"3 2\na 1 0\nb 0.9 0.1\nc 0 1\n"
        self.second = b"3 2\na 0 1\nb 0.1 0.9\nc 1 0\n"
        return {"store/more.vec": first}

    def addresses(self):
        """Where it listens, as far as it says so; {}: it ended."""
        began = time.monotonic()
        while True:
            shown = read(self.program.shown).decode()
            found = dict(re.findall(r"^(\w+) +http://(\S+)$", shown, re.MULTILINE))
            if re.search("^models ", shown, re.MULTILINE) or self.program.ended(0.01):
                return found
            if self.fault[0] in ("write", "alloc") and time.monotonic() - began > HIDDEN:
                return found
            if time.monotonic() - began > self.patience:
                self.silence = "did not say where it listens"
                return found

    def ask(self, where, method, path, body, headers):
        host, port = self.where[where].rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=self.patience)
        if isinstance(body, str):
            body = read(os.path.join(self.stage, body))
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except TimeoutError:
            self.silence = f"never answered {method} {path}"
            return 0, b""
        except (OSError, http.client.HTTPException) as e:
            return 0, repr(e).encode()
        finally:
            connection.close()

    def run(self, fault, depth=0):
        self.reset()
        self.fault, self.answers, self.alive, self.silence = fault, [], None, None
        self.program.start(self.scenario.words, fault, depth)
        self.where = self.addresses()
        if len(self.where) == 3:
            for request in self.requests:
                self.answers.append(self.ask(*request[:5]))
                if request[2].startswith("/predictions/more"):
                    self.replace()
                if self.silence:
                    break
        if len(self.where) == 3 and not self.silence:
            self.alive = self.ask("inference", "GET", "/ping", None, {})
        try:
            os.kill(self.program.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        return self.program.wait()

    def judge(self, fault, out):
        wrong = super().judge(fault, out)
        return self.silence or wrong

    def told(self, out):
        return out.code == 1 or self.complaints(out) or any(
            a[0] >= 400 and a[0] != b[0] for a, b in zip(self.answers, self.right))

    def complaints(self, out):
        """What the log says beside what it always may."""
        usual = ": the new file is served", ".vec is served", "it is served no longer", ": stopping: what is under way is answered first"
        return [line for line in out.said.splitlines() if not line.endswith(usual)]

    def remember(self):
        self.right = self.answers
        for request, answer in zip(self.requests, self.right):
            if not answer[0] or answer[0] >= 500:
                sys.exit(f"faults: {request[1]} {request[2]}: {answer} where nothing fails")

    def replace(self):
        """Another file in its place, which is looked for every 50 ms."""
        path = os.path.join(self.program.folder, "store", "more.vec")
        with open(path + ".new", "wb") as f:
            f.write(self.second)
        os.replace(path + ".new", path)
        time.sleep(0.1)

    def judge_answers(self):
        for request, answer, right in zip(self.requests, self.answers, self.right):
            if answer[0] == right[0] and (answer[1] == right[1] or not request[5]):
                continue
            what = f"{request[1]} {request[2]}: {answer}"
            if 0 < answer[0] < 400:
                return f"another answer to {what}"
            if answer[0] >= 400 and not re.search(rb'"(message|error)": ?"[^"]{4}', answer[1]):
                return f"no sentence in the answer to {what}"
            if self.fault[0] in HARMLESS:
                return f"failed though nothing did: {what}"
        if self.fault[2] == "once" and self.alive and self.alive[0] != 200:
            return f"not alive after it: {self.alive}"
        return None

    def judge_files(self):
        for path, data in tree(self.program.folder).items():
            if path in self.files:
                continue
            if path == "access.log" and re.fullmatch(rb'({"time":.*}\n)*', data):
                continue
            whole = re.fullmatch(rb"shoal-serve 2\n(model .*\n)*", data)
            if path != "store/.shoal-serve.state" or not whole:
                return f"left {path}: {data[:200]}"
        return None

    def judge_success(self, out):
        if self.fault[0] in HARMLESS and self.complaints(out):
            return "complained though nothing failed"
        return self.judge_answers() or self.judge_files()


WATCH = Scenario(
    "serve-models",
    "serve words=../stage/vectors.shoal --models store --no-sandbox --threads 1 --reload-every 0.02 --log text "
    "--inference-address 127.0.0.1:0 --management-address 127.0.0.2:0 --metrics-address 127.0.0.3:0", most=2)


class Watching(Serving):
    """A server of a folder into which a file comes, is replaced, and goes."""

    requests = [
        ("inference", "GET", "/health/ready", None, {}, True),
        ("inference", "POST", "/predictions/more", b"b", {}, False),
        ("management", "GET", "/models", None, {}, False),
        ("inference", "POST", "/predictions/words", b"the", {}, True),
        ("inference", "GET", "/openapi.json", None, {}, True),
    ]
    files = {"store/more.vec", "store/late.vec"}

    def replace(self):
        super().replace()
        late = os.path.join(self.program.folder, "store", "late.vec")
        with open(late + ".new", "wb") as f:
            f.write(self.second)
        os.replace(late + ".new", late)
        time.sleep(0.1)
        os.remove(late)
        time.sleep(0.1)

    def complaints(self, out):
        """Lines of the access log are none."""
        return [x for x in super().complaints(out) if not re.match(r"\d{4}-\d\d-\d\dT\S+Z ", x)]


# ---- All of them --------------------------------------------------------------------------------------


class Plan:
    """Which calls fail."""

    def __init__(self, every, places):
        self.every, self.once = every, not every and not places
        self.lock, self.seen = threading.Lock(), set()

    def new(self, name, first, most):
        """The N of the places that nobody tried."""
        with self.lock:
            new = [place for place in first if (name, place) not in self.seen]
            if most is not None:
                new = new[::max(1, -(-len(new) // most))]
            self.seen.update((name, place) for place in new)
        return [first[place] for place in new]


class Tally:
    """TAP, and the sums."""

    def __init__(self):
        self.lock = threading.Lock()
        self.cases = self.failed = 0
        self.sums = {}  # class: [tried, with a sentence]

    def case(self, name, wrong):
        with self.lock:
            self.cases += 1
            self.failed += bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} {self.cases} - {name}", flush=True)
            for text in wrong[:20]:
                print("# " + text.replace("\n", "\n# "), flush=True)
            if len(wrong) > 20:
                print(f"# and {len(wrong) - 20} more", flush=True)

    def count(self, name, tried, told):
        with self.lock:
            sums = self.sums.setdefault(name, [0, 0])
            sums[0] += tried
            sums[1] += told


def try_class(bench, name, plan, tally, where):
    points, calls = bench.points(name, plan)
    tried = told = 0
    wrong = []
    for n, mode in points:
        fault = (name, n, mode)
        out = bench.run(fault)
        why = bench.judge(fault, out)
        tried += 1
        told += not why and bool(bench.told(out))
        if why:
            wrong.append(f"{name} {n} {mode}, at {where(out.where)}: {why}\n"
                         f"{out.said.strip()[-3000:]}")
    tally.count(name, tried, told)
    return [f"{name} {told}/{tried} of {calls}"] if tried else [], wrong


def try_scenario(bench, only, plan, tally, where):
    rows, wrong = [], []
    for name in [only] if only else FAILING + HARMLESS:
        row, bad = try_class(bench, name, plan, tally, where)
        rows += row
        wrong += bad
    tally.case(f"{bench.scenario.name} survives: {', '.join(rows)}", wrong)


def try_planted(program, tally, stage):
    """What must not be is seen: a judge who stopped looking would be noticed."""
    checked = b"__asan_init" in read(program.path)
    for what in ["crash", "descriptor", "silence", "half", "beside"] + ["leak"] * checked:
        bench = Bench(program, Scenario("planted", "vocab -q ../stage/text.txt -o out.txt",
                                        old=["out.txt"]), stage)
        bench.scenario.words = ["planted", what]
        out = bench.run(("alloc", 0, "once"))
        out.failed = 1
        why = bench.judge(("alloc", 1, "once"), out)
        tally.case(f"a planted {what} is seen", [] if why else ["nobody noticed"])
    bench = Serving(program, SERVE, stage)
    for what, seen, bench.patience in ("mute", "never answered", 3), ("lost", "did not say", 0.2):
        bench.scenario = Scenario("planted", f"planted {what}")
        why = bench.judge(("open", 1, "once"), bench.run(("open", 0, "once")))
        tally.case(f"a planted {what} server is seen",
                   [] if why and why.startswith(seen) else [f"found: {why}"])


def placer(program):
    """Where an address is, for those who read the report."""
    def where(address):
        if shutil.which("addr2line") is None or address == "0":
            return address
        said = subprocess.run(["addr2line", "-fpse", program, address], capture_output=True,
                              text=True)
        return said.stdout.strip() or address
    return where


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--places", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def run_all(args, root, tally):
    path, stage = os.path.abspath(args.program), os.path.join(root, "stage")
    everyone = [Program(path, root, i) for i in range(args.jobs)]
    idle = queue.Queue()
    plan = Plan(args.every, args.places)
    name, _, kind = args.only.partition(":")
    stage_make(everyone[0], stage)
    try_planted(everyone[0], tally, stage)
    for program in everyone:
        idle.put(program)

    def work(scenario):
        program = idle.get()
        try:
            bench = {SERVE: Serving, WATCH: Watching}.get(scenario, Bench)(program, scenario, stage)
            try_scenario(bench, kind, plan, tally, placer(path))
        finally:
            idle.put(program)

    chosen = [s for s in [SERVE, WATCH] + SCENARIOS if (not name or re.fullmatch(name, s.name))
              and (not s.needs or os.path.exists(os.path.join(stage, s.needs)))]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for done in [pool.submit(work, scenario) for scenario in chosen]:
            done.result()
    for program in everyone:
        program.close()


def main():
    root = tempfile.mkdtemp(prefix="shoal-faults-")
    tally = Tally()
    try:
        run_all(arguments(), root, tally)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"1..{tally.cases}")
    for name, (tried, told) in tally.sums.items():
        print(f"# {name:8} {tried:7} failure points, {told:7} ended with a sentence")
    tried, told = (sum(row[i] for row in tally.sums.values()) for i in (0, 1))
    print(f"# {tried} failure points, {told} with a sentence, the others without effect")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
