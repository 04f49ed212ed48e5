#!/usr/bin/env python3
"""What a run leaves for TensorBoard and MLflow, read by rules of their formats alone. Prints TAP.

    tests/trackers.py SHOAL
"""
import glob
import json
import math
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

SHOAL = os.path.realpath(sys.argv[1])
cases = failed = 0


def check(name, truth, detail=None):
    global cases, failed
    cases += 1
    print(f"{'ok' if truth else 'not ok'} {cases} - {name}")
    if not truth:
        failed += 1
        if detail is not None:
            print("#", str(detail)[:400])


def shoal(*args, code=0):
    done = subprocess.run([SHOAL, *args], capture_output=True, text=True, timeout=120)
    check(f"shoal {args[0]} gives {code}", done.returncode == code, done.stderr)
    return done


# ---- records and messages ----

TABLE = []
for n in range(256):
    for _ in range(8):
        n = (n >> 1) ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def masked(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        length, = struct.unpack_from("<Q", data, at)
        head, = struct.unpack_from("<I", data, at + 8)
        body = data[at + 12:at + 12 + length]
        tail, = struct.unpack_from("<I", data, at + 12 + length)
        if masked(data[at:at + 8]) != head or masked(body) != tail:
            raise ValueError(f"a checksum is wrong at {at}")
        yield body
        at += 16 + length


def fields(data):
    """[(field, value)]: numbers of varints, bytes of the rest."""
    out, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            out.append((key >> 3, varint()))
            continue
        length = {1: 8, 5: 4}.get(key & 7) or varint()
        out.append((key >> 3, data[at:at + length]))
        at += length
    return out


def one(data, field):
    return dict(fields(data)).get(field)


def scalars(folder):
    """{tag: [(step, value)]}, and {tag: what the plugin hparams says}."""
    found, plugins, times = {}, {}, []
    for name in sorted(os.listdir(folder)):
        for k, body in enumerate(records(os.path.join(folder, name))):
            event = dict(fields(body))
            times.append(struct.unpack("<d", event[1])[0])
            if k == 0:
                check("an event file begins with its version", event.get(3) == b"brain.Event:2", event)
            for field, value in fields(event.get(5, b"")):
                value = dict(fields(value))
                tag = value[1].decode()
                if 9 in value:
                    plugin = dict(fields(one(value[9], 1)))
                    check(f"{tag} is the plugin's", plugin[1] == b"hparams")
                    plugins[tag] = plugin[2]
                else:
                    found.setdefault(tag, []).append((event.get(2, 0), struct.unpack("<f", value[2])[0]))
    check("times do not go back", times == sorted(times))
    return found, plugins


def settings(info):
    """{name: value} of SessionStartInfo."""
    out = {}
    for field, entry in fields(info):
        if field != 1:
            continue
        value = dict(fields(one(entry, 2)))
        out[one(entry, 1).decode()] = (struct.unpack("<d", value[2])[0] if 2 in value
                                       else bool(value[4]) if 4 in value else value[3].decode())
    return out


# ---- what runs leave ----

def tensorboard(lines):
    found, plugins = scalars("tb")
    last = [x for x in lines if x["event"] == "done"][0]
    check("each tag of a run is there", {"train/loss", "train/accuracy", "valid/loss", "lr", "epoch", "rate", "memory"} <= set(found), list(found))
    want = {}
    for line in lines:
        if "loss" in line.get("train", {}):
            want.setdefault(line["steps"], line["train"]["loss"])
    want, got = list(want.items()), found["train/loss"]
    check("the training loss is that of the metrics, step by step", len(want) == len(got) > 1 and
          all(a == c and math.isclose(b, d, rel_tol=1e-6) for (a, b), (c, d) in zip(want, got)), (want[:3], got[:3]))
    check("and each tag has one point a step", all(a[0] < b[0] for tag in found.values() for a, b in zip(tag, tag[1:])),
          {name: [step for step, _ in tag] for name, tag in found.items()})
    check("the last validation loss too", math.isclose(found["valid/loss"][-1][1], last["valid"]["loss"], rel_tol=1e-6))
    start = settings(one(plugins["_hparams_/session_start_info"], 3))
    check("settings are those of the run", start.get("task") == "mlp" and start.get("epochs") == 3 and start.get("seed") == 7
          and start.get("optimizer") == "adam", start)
    check("its end is said to be good", one(one(plugins["_hparams_/session_end_info"], 4), 1) == 1)


def read(*path):
    with open(os.path.join(*path)) as file:
        return file.read()


def mlflow(lines):
    check("the store has one experiment", os.listdir("ml") == ["0"] and "name: Default" in read("ml", "0", "meta.yaml"))
    run, = [x for x in os.listdir("ml/0") if x != "meta.yaml"]
    at = os.path.join("ml/0", run)
    check("a run has a number of 32 digits", re.fullmatch("[0-9a-f]{32}", run), run)
    check("and its folders", sorted(os.listdir(at)) == ["artifacts", "meta.yaml", "metrics", "params", "tags"], os.listdir(at))
    meta = dict(x.split(": ", 1) for x in read(at, "meta.yaml").splitlines())
    check("it has finished", meta["status"] == "3" and int(meta["end_time"]) >= int(meta["start_time"]) and meta["run_id"] == run
          and meta["experiment_id"] == "'0'" and meta["lifecycle_stage"] == "active", meta)
    check("artifacts have a place", meta["artifact_uri"] == f"'{os.path.realpath(at)}/artifacts'", meta["artifact_uri"])
    check("its settings are files", read(at, "params", "epochs") == "3" and read(at, "params", "seed") == "7")
    check("its task is a tag", read(at, "tags", "shoal.task") == "mlp" and read(at, "tags", "mlflow.runName").startswith("mlp "))
    got = [x.split() for x in read(at, "metrics", "train", "loss").splitlines()]
    want = [(x["steps"], x["train"]["loss"]) for x in lines if "loss" in x.get("train", {})]
    check("a metric has a line for each report", [(int(s), float(v)) for _, v, s in got] == want, (got[:3], want[:3]))
    check("in order of time", got == sorted(got, key=lambda x: int(x[0])))


def refused():
    with open("file", "w"):
        pass
    for option in ("--tensorboard", "--mlflow"):
        done = shoal("train", "mlp", "spiral.csv", "--epochs", "1", option, "file/below", "-q", "-o", "x.shoal", code=1)
        check(f"{option} in no folder is refused by a sentence", done.stderr == "shoal: file/below: Not a directory\n", done.stderr)
        check("and there is no model", not os.path.exists("x.shoal"))


def stopped():
    """A run that is ended by a signal, once it has reported."""
    run = subprocess.Popen([SHOAL, "train", "mlp", "spiral.csv", "--epochs", "1000000", "--mlflow", "cut", "-q", "-o", "x.shoal"],
                           stderr=subprocess.DEVNULL)
    for _ in range(600):
        if glob.glob("cut/0/*/metrics/train/loss"):
            break
        time.sleep(0.1)
    first = glob.glob("cut/0/*/meta.yaml")
    check("while it runs it says so", first and "\nstatus: 1\n" in read(first[0]) and "\nend_time: null\n" in read(first[0]), first)
    run.send_signal(signal.SIGTERM)
    check("a run that is ended fails", run.wait(60) != 0)
    check("and says that it was stopped", "\nstatus: 5\n" in read(first[0]), read(first[0]))


def diverged():
    shoal("train", "mlp", "spiral.csv", "--lr", "1000", "--optimizer", "sgd", "--mlflow", "wrong", "-q", "-o", "x.shoal", code=1)
    meta = glob.glob("wrong/0/*/meta.yaml")[0]
    check("a run that failed says so", "\nstatus: 4\n" in read(meta) and "\nend_time: null\n" not in read(meta), read(meta))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    shoal("gen", "spiral", "--samples", "2000", "-q", "-o", "spiral.csv")
    shoal("train", "mlp", "spiral.csv", "--epochs", "3", "--seed", "7", "--optimizer", "adam", "--valid-share", "0.1", "--tensorboard", "tb",
          "--mlflow", "ml", "--metrics", "m.jsonl", "-q", "-o", "net.shoal")
    with open("m.jsonl") as file:
        told = [json.loads(x) for x in file]
    tensorboard(told)
    mlflow(told)
    refused()
    stopped()
    diverged()
print(f"1..{cases}")
sys.exit(failed > 0)
