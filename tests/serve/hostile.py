#!/usr/bin/env python3
"""What a stranger's bytes can do to the server: nothing. Files that lie, bombs, bodies that become
too much, work that keeps others waiting, tokens at the wrong door, files overwritten under it, bytes
that are no text, framing, stops and readiness.

    tests/serve/hostile.py SHOAL

Prints TAP. Ports are the system's choice; every wait is bounded. How long an honest client waits is
only held against seconds, for the machine may have other things to do; tests/gate/serve_storm.py
measures it. Memory is not looked at in a build for a sanitizer, which needs its own.
"""

import http.client
import json
import math
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import zlib

import bodies
from harness import ANY, TIME_LIMIT, SHOAL, WORDS, Server, check, finish, multipart, one_address, png, vectors

JSON = {"Content-Type": "application/json"}
REFUSED = {400, 408, 413, 415, 422, 503}
MIB = 1 << 20
BUDGET = 256 * MIB  # of all requests at once
BESIDE = 64 * MIB   # what no account knows: threads, decoders, buffers of sockets
with open(SHOAL, "rb") as program:
    text = program.read()
SANITIZED = b"__asan_init" in text or b"__tsan_init" in text
del text
WAIT = 60 if SANITIZED else 5  # seconds that an honest client may wait beside the others


# ---- what is looked at from outside


def alive(s):
    return s.process.poll() is None and s.ask("GET", "/ping").status == 200


def connect(s, where="inference"):
    host, port = s.address[where].rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=TIME_LIMIT)


def grown(s):
    """The most memory the process has had beyond that of the first call, in bytes."""
    with open(f"/proc/{s.process.pid}/status") as f:
        peak = 1024 * int(re.search(r"VmHWM:\s+(\d+)", f.read())[1])
    return peak - s.__dict__.setdefault("before", peak)


def within_budget(s, name):
    if not SANITIZED:
        check(f"{name}, and memory is within the budget", grown(s) < BUDGET + BESIDE, f"{grown(s) / MIB:.0f} MiB")


def cpu(s):
    with open(f"/proc/{s.process.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def settle(s):
    """Waits until the server has nothing to do."""
    began, before = time.time(), -1
    while cpu(s) != before and time.time() - began < TIME_LIMIT:
        before = cpu(s)
        time.sleep(0.3)


class Pings:
    """An honest client, who asks whether the server is there; the longest it had to wait."""

    def __init__(self, s):
        self.s, self.longest, self.answered, self.lost, self.over = s, 0, 0, 0, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.over.is_set():
            began = time.time()
            try:
                self.answered += self.s.ask("GET", "/ping").status == 200
            except (OSError, http.client.HTTPException):
                self.lost += 1
            self.longest = max(self.longest, time.time() - began)
            time.sleep(0.01)

    def stop(self):
        self.over.set()
        self.thread.join()
        return self.answered > 0 and self.lost == 0 and self.longest < WAIT

    def __repr__(self):
        return f"{self.answered} pings, {self.lost} lost, the longest {self.longest:.1f} s"


def at_once(*calls):
    """What the calls return, all of them made at once."""
    found = [None] * len(calls)

    def run(i):
        try:
            found[i] = calls[i]()
        except (OSError, http.client.HTTPException) as e:
            found[i] = e

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return found


def beside(s, name, statuses, *calls):
    """The calls are answered with one of the statuses, memory stays and an honest client is answered."""
    grown(s)
    pings = Pings(s)
    answers = at_once(*calls)
    answered = pings.stop()
    found = [getattr(a, "status", a) for a in answers]
    check(name, all(x in statuses for x in found) and s.process.poll() is None, (found[:8], pings))
    check(f"{name}, and others are answered meanwhile", answered, pings)
    within_budget(s, name)


def run(work, *args, **more):
    return subprocess.run([SHOAL, *args], cwd=work, capture_output=True, timeout=TIME_LIMIT, **more)


def sentence(done):
    """A refusal: exit code 1, one line that says why, and no signal."""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return done.returncode == 1 and len(lines) == 1 and lines[0].startswith("shoal: ")


def ended(work, *args):
    """A server that should not start; it is stopped if it does."""
    process = subprocess.Popen([SHOAL, "serve", *args, "--no-sandbox"], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if any(line.startswith(b"models") for line in process.stdout):
        process.terminate()
    err = process.communicate()[1]
    return subprocess.CompletedProcess(args, process.returncode, b"", err)


# ---- models


def make_models(work):
    def path(name):
        return os.path.join(work, name)

    os.mkdir(path("store"))
    with open(path("tokens"), "w") as f:
        f.writelines(f"{who} {TOKENS[who]}\n" for who in ("inference", "management", "metrics"))
    os.chmod(path("tokens"), 0o600)
    vectors(path("words.vec"), WORDS)
    vectors(path("store/words.vec"), WORDS)
    with open(path("many.bin"), "wb") as f:
        f.write(b"20000 64\n")
        for i in range(20000):
            f.write(b"word%05d " % i + struct.pack("<64f", *((i * (j + 3)) % 1009 / 1009 for j in range(64))) + b"\n")
    for name, colour in (("red", (250, 10, 10)), ("blue", (10, 10, 250))):
        os.makedirs(path(f"set/{name}"))
        for i in range(4):
            with open(path(f"set/{name}/{i}.png"), "wb") as f:
                f.write(png(colour))
    with open(path("t-images-idx3-ubyte"), "wb") as f:
        f.write(struct.pack(">4B3I", 0, 0, 8, 3, 40, 224, 224) + b"".join(bytes([5 * i]) * 50176 for i in range(40)))
    with open(path("t-labels-idx1-ubyte"), "wb") as f:
        f.write(struct.pack(">4BI", 0, 0, 8, 1, 40) + bytes(i % 2 for i in range(40)))
    with open(path("rows.libsvm"), "w") as f:
        for i in range(400):
            f.write(f"{i % 2} {1 + i % 2}:1 {3 + i % 5}:0.5\n")
    for args in (("convert", "many.bin", "many.shoal"),
                 ("train", "vgg", "set", "--size", "8", "--base", "16", "--batch", "8", "--epochs", "1", "-o", "vgg.shoal"),
                 ("train", "mlp", "t-images-idx3-ubyte", "--layers", "2", "--epochs", "1", "--batch", "8", "-o", "large.shoal"),
                 ("train", "logreg", "rows.libsvm", "--epochs", "3", "-o", "clicks.shoal"),
                 ("gen", "spiral", "--classes", "4", "-o", "spiral.csv"),
                 ("train", "mlp", "spiral.csv", "--layers", "8", "--epochs", "2", "-o", "mlp.shoal"),
                 ("gen", "world", "--words", "60000", "-o", "world.txt"),
                 ("train", "cbow", "world.txt", "--dim", "8", "--epochs", "1", "-o", "w.shoal"),
                 ("train", "nextword", "world.txt", "--vectors", "w.shoal", "--hidden", "8", "--epochs", "1", "-o", "next.shoal"),
                 ("convert", "vgg.shoal", "vgg.safetensors")):
        run(work, *args, "-q").check_returncode()


# ---- files that lie


def channels(work):
    store = os.path.join(work, "store")
    vgg, large = os.path.join(work, "vgg.shoal"), os.path.join(work, "large.shoal")
    for n in (2, 5):
        bodies.vgg_with_channels(os.path.join(store, f"vgg{n}.shoal"), vgg, n)
    for n in (2, 4 * 7):
        bodies.mlp_with_channels(os.path.join(store, f"mlp{n}.shoal"), large, n)
    bodies.vgg_tensors_with_channels(os.path.join(store, "two.safetensors"), os.path.join(work, "vgg.safetensors"), 2)
    bodies.vgg_with_channels(os.path.join(work, "again.shoal"), vgg, 3)
    a = run(work, "predict", "again.shoal", "set/red/0.png")
    check("a net file put together anew is one", a.returncode == 0, a)
    liars = sorted(x for x in os.listdir(store) if x.endswith(".shoal"))
    for name in liars:
        a = run(work, "predict", f"store/{name}", "set/red/0.png")
        check(f"shoal predict refuses {name}, whose channels no picture has", sentence(a) and b"channels" in a.stderr, a)
        a = ended(work, f"store/{name}", *ANY)
        check(f"shoal serve does not start with {name}", sentence(a) and b"channels" in a.stderr, a)
    a = run(work, "convert", "store/two.safetensors", "two.shoal")
    check("shoal convert refuses tensors of a net of two channels", sentence(a) and b"channels" in a.stderr, a)
    shutil.copy(vgg, os.path.join(work, "live.shoal"))
    s = Server("live=live.shoal", "--model-store", "store", "--reload-every", "0.02", *ANY, cwd=work)
    for name in liars:
        a = s.ask("POST", f"/models?url={name}&initial_workers=1&synchronous=true", where="management")
        check(f"registering {name} is refused with a sentence", a.status == 400 and b"channels" in a.body
              and b"/" not in a.body, a)
    shutil.copy(os.path.join(store, "vgg2.shoal"), os.path.join(work, "live.new"))
    os.replace(os.path.join(work, "live.new"), os.path.join(work, "live.shoal"))
    began = time.time()
    while not any("not served" in x for x in s.said) and time.time() - began < 20:
        time.sleep(0.02)
    a = s.ask("PUT", "/predictions/live", png((240, 20, 15)))
    check("a net of two channels in the place of a served one leaves that in place", a.status == 200
          and any("channels" in x for x in s.said), (a, s.said))
    check("the server lives on", s.stop() == 0)
    for name in liars:
        os.remove(os.path.join(store, name))


# ---- bombs and budgets


def bombs(work):
    s = Server("clicks.shoal", "next.shoal", "words.vec", "vgg.shoal", *ANY, cwd=work)
    row = b"1:1 3:0.5\n"
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    small = {"gzip": packer.compress(row) + packer.flush(),
             "zstd": b"\x28\xb5\x2f\xfd\x20" + bytes([len(row)]) + struct.pack("<I", len(row) << 3 | 1)[:3] + row}
    for kind, body in small.items():
        a = s.ask("POST", "/predictions/clicks", body)
        check(f"a {kind} row that does not say so is no row", a.status == 400, a)
        a = s.ask("POST", "/predictions/clicks", body, {"Content-Encoding": kind})
        check("one that says so is read as that, or refused", a.status in (200, 400, 415), a)
    large = {"zstd": bodies.zstd_bomb(8 << 30), "gzip": bodies.gzip_bomb(6 << 30)}
    for kind, body in large.items():
        for said in ({}, {"Content-Encoding": kind}):
            beside(s, f"{len(body) >> 10} KB of {kind} that would become gigabytes, {'said' if said else 'not said'}, "
                   "is refused", REFUSED, *[lambda: s.ask("POST", "/predictions/clicks", body, said)] * 2)
    part, headers = multipart([("data", large["zstd"])])
    beside(s, "the same as a part of a form is refused", REFUSED, lambda: s.ask("POST", "/predictions/clicks", part, headers))
    for model in ("next", "words", "vgg"):
        beside(s, f"or to {model}, refused or no word", REFUSED | {404},
               lambda: s.ask("POST", f"/predictions/{model}", large["zstd"]))
    check("after the bombs a row is answered", s.ask("POST", "/predictions/clicks", row).status == 200)
    s.stop()


def becoming(work):
    s = Server("large.shoal", "mlp.shoal", "words=many.shoal", "clicks.shoal", "next.shoal", *ANY, cwd=work)
    over = REFUSED | {200}
    empty = b"[" + b"{}," * 2100000 + b"{}]"
    for model in ("mlp", "words", "clicks"):
        beside(s, f"6 MB of empty objects for {model} are refused", REFUSED,
               *[lambda: s.ask("POST", f"/predictions/{model}", empty, JSON)] * 4)
    keys = b'{"features":{' + b",".join(b'"%d":1' % i for i in range(500000)) + b"}}"
    beside(s, "half a million features in an object are answered or refused", over,
           *[lambda: s.ask("POST", "/predictions/clicks", keys, JSON)] * 4)
    for text in (b"[" * 3000000, b'{"a":' * 1000000, b"[[" * 1000000 + b"]]" * 1000000):
        beside(s, f"{text[:6].decode()} a million deep is refused", REFUSED,
               lambda: s.ask("POST", "/predictions/mlp", text, JSON))
    tiny = bodies.instances_of([bodies.tiny_png()] * 4096)
    beside(s, "4,096 pictures of one pixel for a net of large ones are answered or refused", over,
           *[lambda: s.ask("POST", "/v1/models/large:predict", tiny, JSON)] * 3)
    a = s.ask("POST", "/predictions/mlp", empty, JSON)
    check("the refusal is a sentence", a.status in (400, 413, 503) and len(a.json()["message"]) > 20, a)
    a = s.ask("POST", "/predictions/mlp", b"[0.5,-0.25]", JSON)
    check("after that a net answers", a.status == 200 and len(a.json()) == 4, a)
    unread(s)
    check("the server lives on", alive(s))
    s.stop()


def unread(s):
    """Many words, many answers to each, and clients that do not read them."""
    body = json.dumps({"words": [f"word{i:05}" for i in range(4096)], "k": 1000}).encode()
    head = b"POST /predictions/words HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    clients = []
    pings = Pings(s)
    for _ in range(6):
        c = connect(s)
        c.sendall(head + body)
        clients.append(c)
    settle(s)
    answered = pings.stop()
    found = {c.recv(12)[9:12] for c in clients}
    for c in clients:
        c.close()
    name = "100 MB of answers each for clients that do not read are given or refused"
    check(name, found <= {b"200", b"413", b"503"}, found)
    check(f"{name}, and others are answered meanwhile", answered, pings)
    within_budget(s, name)


def expensive(work):
    """Work that is dear, though what asks for it is valid."""
    s = Server("vgg.shoal", "words=many.shoal", "clicks.shoal", *ANY, cwd=work)
    done = REFUSED | {200}
    flat = bodies.flat_png(5700)
    beside(s, "30 pictures of 32 million pixels in one request are answered or refused", done,
           lambda: s.ask("POST", "/v1/models/vgg:predict", bodies.instances_of([flat] * 30), JSON))
    scans = bodies.scans_jpeg(5700, 450)
    body, headers = multipart([("data", scans)] * 30)
    beside(s, "30 pictures of 450 passes each are answered or refused", done,
           lambda: s.ask("POST", "/predictions/vgg", body, headers))
    one = s.ask("PUT", "/predictions/vgg", bodies.scans_jpeg(64, 10))
    check("a picture of ten passes is answered", one.status == 200, one)
    rows = (b"1 " + b" ".join(b"%d:0.25" % i for i in range(1, 150)) + b"\n") * 4096
    beside(s, "5 MB of click rows are answered or refused", done,
           *[lambda: s.ask("POST", "/predictions/clicks", rows)] * 4)
    unknown = json.dumps([f"wordd{i:05}" for i in range(4096)]).encode()
    many = "".join(f"GET /models/words/similar?word=wrod{i:05} HTTP/1.1\r\nHost: localhost\r\n\r\n" for i in range(100))

    def spelling():
        back = s.raw(many.encode() + b"GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return type("Found", (), {"status": 200 if back.count(b"HTTP/1.1 404") + back.count(b"HTTP/1.1 503") == 100
                                  else back[:300]})

    beside(s, "thousands of words that are not there are answered", done | {404},
           *[lambda: s.ask("POST", "/predictions/words", unknown, JSON)] * 20, *[spelling] * 20)
    check("the server lives on", alive(s) and s.stop() == 0)


# ---- tokens

TOKENS = {"inference": "i" * 16, "management": "m" * 16, "metrics": "p" * 16, "a wrong": "x" * 16, "no": None}
INFER = b'{"inputs":[{"name":"w","shape":[1],"datatype":"BYTES","data":["sea"]}]}'
ROUTES = (  # the token that opens it, and there alone
    ("inference", "POST", "/predictions/words", b"sea"),
    ("inference", "PUT", "/predictions/words/1.0", b"sea"),
    ("inference", "POST", "/v1/models/words:predict", b'{"instances":["sea"]}'),
    ("inference", "GET", "/v1/models/words", None),
    ("inference", "GET", "/v2", None),
    ("inference", "GET", "/v2/models/words", None),
    ("inference", "GET", "/v2/models/words/versions/1.0", None),
    ("inference", "POST", "/v2/models/words/infer", INFER),
    ("inference", "GET", "/models/words/similar?word=sea", None),
    ("inference", "GET", "/models/words/vector?word=sea", None),
    ("inference", "GET", "/stats", None),
    ("management", "GET", "/models", None),
    ("management", "GET", "/models/words", None),
    ("management", "PUT", "/models/words?min_worker=1&synchronous=true", None),
    ("management", "PUT", "/models/words/1.0/set-default", None),
    ("management", "POST", "/models?url=words.vec&model_name=NEW", b""),
    ("management", "DELETE", "/models/NEW", None),
    ("metrics", "GET", "/metrics", None),
)
OPEN = (("GET", "/ping"), ("GET", "/"), ("GET", "/v2/health/live"), ("GET", "/v2/health/ready"))


def tokens(work):
    apart = Server("words=words.vec", "--model-store", "store", *ANY, "--token-file", "tokens", cwd=work)
    token_table(apart, "")
    apart.stop()
    shutil.rmtree(os.path.join(work, "store", ".shoal-serve.state"), ignore_errors=True)
    together = Server("words=words.vec", "--model-store", "store", "--token-file", "tokens", *one_address(), cwd=work)
    token_table(together, " where one address serves all")
    together.stop()


def token_table(s, where):
    for scope, method, path, body in ROUTES:
        wrong, right = [], None
        for port in ("inference", "management", "metrics"):
            for who, token in TOKENS.items():
                headers = {"Authorization": "Bearer " + token} if token else {}
                if who == scope and port == scope:
                    continue
                a = s.ask(method, path.replace("NEW", "never"), body, headers, port)
                # Who manages the server may look at its figures.
                allowed = who == scope or (scope == "metrics" and who == "management")
                if a.status < 300 and not allowed:
                    wrong.append(f"{who} token at the {port} address: {a.status}")
        own = {"Authorization": "Bearer " + TOKENS[scope]}
        right = s.ask(method, path.replace("NEW", "new"), body, own, scope)
        name = path.split("?")[0].replace("NEW", "M")
        check(f"{method} {name} is opened by the {scope} token{where}", right.status == 200, right)
        check(f"{method} {name} is opened by no other, at no address{where}", not wrong, "\n".join(wrong))
    codes = {(p, who): s.ask(m, p, None, {"Authorization": "Bearer " + token} if token else {}).status
             for m, p in OPEN for who, token in TOKENS.items()}
    check(f"health and the page need no token{where}", set(codes.values()) == {200}, codes)


# ---- files overwritten under the server


class Asker:
    """Asks the same of a server, over and over, and keeps what it hears."""

    def __init__(self, s, *requests):
        self.s, self.requests, self.heard, self.over = s, requests, {}, threading.Event()
        self.rounds = 0
        self.threads = [threading.Thread(target=self.run) for _ in range(2)]
        for t in self.threads:
            t.start()

    def run(self):
        while not self.over.is_set():
            for request in self.requests:
                try:
                    a = self.s.ask(*request)
                    heard = (a.status, a.body if a.status == 200 else b"")
                except (OSError, http.client.HTTPException) as e:
                    heard = (0, repr(e).encode())
                self.heard.setdefault(request, set()).add(heard)
            self.rounds += 1

    def some(self, rounds=6):
        until, began = self.rounds + rounds, time.time()
        while self.rounds < until and self.s.process.poll() is None and time.time() - began < TIME_LIMIT:
            time.sleep(0.01)

    def stop(self):
        self.over.set()
        for t in self.threads:
            t.join()


def alike(a, b):
    """Two answers of one model: products of one row and of several are rounded differently."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)
    return a == b


def overwritten(work):
    """As `cp` does it: the file keeps its inode and changes under whoever has mapped it."""
    def path(name):
        return os.path.join(work, name)

    def cp(data, name):
        with open(path(name), "r+b") as f:
            f.truncate(0)
            f.write(data)

    run(work, "train", "mlp", "t-images-idx3-ubyte", "--layers", "2", "--epochs", "1", "--batch", "8", "--seed", "7", "-q", "-o",
        "large2.shoal").check_returncode()
    picture = json.dumps([100] * 50176).encode()
    requests = {"many.shoal": ("POST", "/predictions/many", b'{"words":["word19999","word00007"],"vectors":true}'),
                "large.shoal": ("POST", "/predictions/large", picture),
                "clicks.shoal": ("POST", "/predictions/clicks", b"1:1 3:0.5\n"),
                "next.shoal": ("POST", "/predictions/next", b"the king of the", ()),
                "vgg.shoal": ("PUT", "/predictions/vgg", png((240, 20, 15)))}
    for name in requests:
        shutil.copy(path(name), path("live-" + name))
    s = Server(*(f"{name.split('.')[0]}=live-{name}" for name in requests), *ANY, "--reload-every", "0.05", cwd=work)
    right = {}
    for name, request in requests.items():
        a = s.ask(*request)
        right[request] = json.loads(a.body) if a.status == 200 else None
    asker = Asker(s, *requests.values())
    asker.some()
    names = {"a shorter file": lambda whole: whole[:len(whole) // 3], "garbage": lambda whole: os.urandom(len(whole)),
             "nothing": lambda whole: b"", "a longer file": lambda whole: whole + bytes(100000),
             "other numbers": lambda whole: whole[:len(whole) // 2] + os.urandom(64) + whole[len(whole) // 2 + 64:],
             "itself": lambda whole: whole}
    for what, change in names.items():
        for name in requests:
            with open(path(name), "rb") as f:
                cp(change(f.read()), "live-" + name)
        asker.some()
        code = s.process.poll()
        check(f"{what} written into served files does not end the server", code is None, f"ended with {code}")
    for name in requests:
        os.replace(shutil.copy(path(name), path("whole")), path("live-" + name))
    asker.some()
    asker.stop()
    for name, request in requests.items():
        heard = asker.heard.get(request, set())
        odd = [h for h in heard
               if h[0] != 503 and not (h[0] == 200 and alike(json.loads(h[1]), right[request]))]
        check(f"meanwhile {name.split('.')[0]} gives its right answer or 503", right[request] and heard and not odd,
              (right[request], odd[:3]))
    ended = s.process.poll() is None and all(s.ask(*r).status == 200 for r in requests.values())
    check("whole files put in their place are served again", ended)
    if s.process.poll() is None:
        s.stop()


def prompt(work):
    """`shoal similar` reads question after question; its file shrinks between two of them."""
    name = os.path.join(work, "shrinks.shoal")
    shutil.copy(os.path.join(work, "many.shoal"), name)
    process = subprocess.Popen([SHOAL, "similar", name, "-k", "3", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    process.stdin.write(b"word00007\n")
    process.stdin.flush()
    deadline = threading.Timer(TIME_LIMIT, process.kill)
    deadline.start()
    first = process.stdout.readline()
    with open(name, "r+b") as f:
        f.truncate(8192)
    try:
        out, err = process.communicate(b"word19998\nword00007\n")
    except BrokenPipeError:
        out, err = b"", b""
    code = process.wait()
    deadline.cancel()
    check("shoal similar answers or says why when its file shrinks", b"word" in first and code in (0, 1)
          and (out.count(b"\n") == 2 if code == 0 else err.strip()), (first, code, out, err))


# ---- bytes that are no text


def not_text(work):
    with open(os.path.join(work, "odd.bin"), "wb") as f:
        f.write(b"4 2\n")
        for word, x, y in ((b"sea", 1, 0), (b"b\xffd", 1, 0.1), (b"\xed\xa0\x80", 1, 0.2), (b"\xc0\x80z", 0.9, 0.3)):
            f.write(word + b" " + struct.pack("<2f", x, y) + b"\n")
    s = Server("words=odd.bin", "--model-store", "store", *ANY, cwd=work)

    def text(a):
        try:
            return a.body.decode()
        except UnicodeDecodeError:
            return ""

    a = s.ask("GET", "/models/words/similar?word=sea")
    found = [x["word"] for x in (a.json() or {}).get("similar", [])]
    check("a word that is not UTF-8 is answered with U+FFFD", "b\ufffdd" in found and "\ufffd" in text(a) and len(found) == 3, a)
    a = s.ask("POST", "/predictions/words", b"sea")
    check("a prediction too", a.status == 200 and "b\ufffdd" in text(a), a)
    for path in ("/models/words/vector?word=b%ffd", "/models/words/map?word=b%ffd", "/models/words/similar?word=b%ffd"):
        a = s.ask("GET", path)
        check(f"{path} answers in UTF-8", a.status == 200 and "b\ufffdd" in text(a) or a.status == 400 and text(a), a)
    a = s.ask("GET", "/models/words/similar?word=%ff%fe")
    check("an unknown word of bad bytes is named with U+FFFD", a.status in (400, 404) and "\ufffd" in text(a), a)
    for method, path, where in (("POST", "/predictions/%ff", "inference"), ("POST", "/predictions/words/%ff", "inference"),
                                ("GET", "/v2/models/a%ffb", "inference"), ("GET", "/v1/models/a%ffb", "inference"),
                                ("GET", "/models/%ff", "management"), ("DELETE", "/models/%ff", "management"),
                                ("POST", "/models?url=%ff.vec", "management"),
                                ("POST", "/models?url=words.vec&model_name=%ff", "management"),
                                ("POST", "/models?url=words.vec&model_version=%ff", "management"),
                                ("GET", "/%ff", "inference")):
        a = s.ask(method, path, b"sea" if method == "POST" else None, where=where)
        check(f"{method} {path} is refused in UTF-8", a.status in (400, 404) and text(a) and a.json(), a)
    a = s.ask("POST", "/predictions/words", b"\xff\xfe", {"Content-Type": "text/plain"})
    check("a body of bad bytes is refused in UTF-8", a.status in (400, 404) and text(a), a)
    a = s.ask("POST", "/models?url=words.vec&model_name=w&model_version=invoke", where="management")
    check("a version called invoke is refused", a.status == 400, a)
    a = s.ask("POST", "/models", json.dumps({"url": "words.vec", "model_name": "w", "model_version": "invoke"}), JSON, "management")
    check("in JSON too", a.status == 400, a)
    s.stop()
    a = ended(work, "words:invoke=words.vec", *ANY)
    check("and at the start", a.returncode in (1, 2) and b"invoke" in a.stderr, a)


def keys(work):
    if not shutil.which("openssl"):
        return
    for name in ("one", "two"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem",
                        "-days", "2", "-subj", "/CN=localhost"], cwd=work, check=True, capture_output=True)
    os.chmod(os.path.join(work, "one.key"), 0o644)

    def start(cert, key):
        return ended(work, "words=words.vec", *ANY, "--tls-cert", cert, "--tls-key", key)

    a = start("one.pem", "one.key")
    check("a key that others may read is refused", sentence(a) and b"600" in a.stderr, a)
    for name in ("one", "two"):
        os.chmod(os.path.join(work, f"{name}.key"), 0o600)
    a = start("one.pem", "two.key")
    check("a key of another certificate is refused", sentence(a), a)
    s = Server("words=words.vec", *ANY, "--tls-cert", "one.pem", "--tls-key", "one.key", cwd=work)
    check("its own is taken", "inference" in s.address, s.said)
    for version, wanted in ((ssl.TLSVersion.TLSv1, False), (ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True),
                            (ssl.TLSVersion.TLSv1_3, True)):
        check(f"{version.name} is {'spoken' if wanted else 'refused'}", handshake(s, version) == wanted)
    s.stop()


def handshake(s, version):
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    trust.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the old versions are named as old
        trust.minimum_version = trust.maximum_version = version
    try:
        with connect(s) as plain, trust.wrap_socket(plain) as c:
            c.sendall(b"GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return c.recv(12) == b"HTTP/1.1 200"
    except OSError:
        return False


# ---- framing

HEAD = b"POST /predictions/words HTTP/1.1\r\nHost: localhost\r\n"


def exchange(s, data, where="inference", wait=10):
    """All that comes back, and whether the server ended the connection by itself."""
    with connect(s, where) as c:
        back, ended_there = b"", False
        try:
            c.sendall(data)
        except OSError:
            pass
        c.settimeout(wait)
        try:
            while True:
                part = c.recv(65536)
                if not part:
                    ended_there = True
                    break
                back += part
        except ConnectionResetError:
            ended_there = True
        except OSError:
            pass
        return back, ended_there


def heads(back):
    return [int(x) for x in re.findall(rb"HTTP/1\.[01] (\d\d\d)", back)]


def framing(work):
    s = Server("words=words.vec", *ANY, "--timeout", "20", cwd=work)
    kinds = bodies.framing()
    found = at_once(*(lambda data=data: exchange(s, data) for data in kinds.values()))
    for name, (back, over) in zip(kinds, found):
        allowed = ([400], [413]) if "64 bits" in name else ([400], [501]) if "something else" in name else ([400],)
        check(f"{name}: 400 once, and the connection ends", heads(back) in allowed and over, (over, back[:400]))
    close = b"Connection: close\r\n"
    back, _ = exchange(s, b"GET /models/words/similar?word=sea&" + b"&".join(b"a%d=%d" % (i, i) for i in range(300))
                       + b" HTTP/1.1\r\nHost: localhost\r\n" + close + b"\r\n")
    check("300 arguments get one answer at once", heads(back) in ([200], [400], [414]), back[:300])
    back, _ = exchange(s, b"GET /ping?" + b"&" * 3000 + b" HTTP/1.1\r\nHost: localhost\r\n" + close + b"\r\n")
    check("3,000 empty ones too", heads(back) in ([200], [400], [414]), back[:300])
    for target in (b"http://localhost/ping", b"http://LOCALHOST:1234/ping", b"HTTP://127.0.0.1/ping", b"http://localhost/ping?a=1"):
        back, _ = exchange(s, b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\n" + close + b"\r\n")
        check(f"{target.decode()} is understood", heads(back) == [200] and b"Healthy" in back, back[:300])
    back, _ = exchange(s, b"GET http://localhost/predictions/none HTTP/1.1\r\nHost: localhost\r\n" + close + b"\r\n")
    check("an error of such a target has its path", heads(back) in ([404], [405]), back[:300])
    back, _ = exchange(s, b"GET http://evil.example/stats HTTP/1.1\r\nHost: localhost\r\n" + close + b"\r\n")
    check("another host in such a target is refused as in Host", heads(back) in ([400], [403], [421]), back[:300])
    back, _ = exchange(s, b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3 + b"GET /ping HTTP/1.1\r\nHost: localhost\r\n"
                       + close + b"\r\n")
    check("three errors and an answer on one connection are four heads", heads(back) == [404, 404, 404, 200], heads(back))
    check("the server lives on", alive(s) and s.stop() == 0)


def head_limit(work):
    for limit, below, above in (("1K", 700, 1400), ("8K", 7500, 9000), ("64K", 60000, 70000)):
        s = Server("words=words.vec", *ANY, "--max-header", limit, cwd=work)
        for size, want in ((below, [200]), (above, [431])):
            start = b"GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-A: "
            back, over = exchange(s, start + b"y" * (size - len(start) - 4) + b"\r\n\r\n")
            check(f"a head of {size} bytes is {want[0]}, once, where {limit} is the limit", heads(back) == want and over,
                  (over, back[:300]))
            start = b"GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            line = b"X-A: " + b"y" * ((size - len(start) - 2) // 25 - 7) + b"\r\n"
            back, over = exchange(s, start + line * 25 + b"\r\n")
            check("in 25 headers too", heads(back) == want and over, (over, back[:300]))
        back, over = exchange(s, b"GET /ping?" + b"y" * above + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        check("an address counts too", heads(back) in ([431], [414]) and over, (over, back[:300]))
        s.stop()


def expectations(work):
    s = Server("words=words.vec", *ANY, "--token-file", "tokens", "--max-body", "1000", cwd=work)

    def ask(path, length, token=b"i" * 16, more=b""):
        """What comes before the body is sent, and all of it."""
        with connect(s) as c:
            c.sendall(b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token
                      + b"\r\nExpect: 100-continue\r\nConnection: close\r\n" + more + b"Content-Length: %d\r\n\r\n" % length)
            c.settimeout(TIME_LIMIT)
            before = c.recv(65536)
            if heads(before) != [100]:
                return heads(before)
            c.sendall(b"sea" + b" " * (length - 3))
            back = before
            while part := c.recv(65536):
                back += part
            return heads(back)

    for name, want, got in (("a request that is taken", ([100, 200],), ask(b"/predictions/words", 3)),
                            ("a body over the limit", ([413],), ask(b"/predictions/words", 5000)),
                            ("a wrong token", ([400], [401]), ask(b"/predictions/words", 3, b"x" * 16)),
                            ("an unknown path", ([404],), ask(b"/nothing/here", 3)),
                            ("an unknown model", ([404],), ask(b"/predictions/none", 3)),
                            ("a method that is not there", ([405],), ask(b"/ping", 3)),
                            ("a page of another site", ([403],), ask(b"/predictions/words", 3, more=b"Origin: http://evil.example\r\n"))):
        check(f"with Expect: 100-continue {name} gets {' or '.join(map(str, want))}", got in want, got)
    s.stop()


def under_way(s):
    """Requests that have begun and are not answered yet, the one that asks left out."""
    a = s.ask("GET", "/metrics?name[]=shoal_requests_under_way", where="metrics")
    return float(a.body.split()[-1]) - 1


def abandoned(work):
    """Work that waits, of clients that have left, costs a part of what it would cost."""
    s = Server("words=many.shoal", *ANY, cwd=work)
    body = json.dumps({"words": [f"word{i:05}" for i in range(500)], "k": 3}).encode()
    head = b"POST /predictions/words HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    cost = {}
    for stay in (True, False):
        settle(s)
        before = cpu(s)
        clients = [connect(s) for _ in range(60)]
        for c in clients:
            c.sendall(head + body)
        began, most, waiting = time.time(), -1, under_way(s)
        while waiting > most and time.time() - began < TIME_LIMIT:  # until all have come, and it falls
            time.sleep(0.01)
            most, waiting = waiting, under_way(s)
        for c in clients:
            if stay:
                c.recv(1 << 20)
            else:
                c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # leaves with a reset
            c.close()
        settle(s)
        cost[stay] = cpu(s) - before
    print(f"# 60 clients that stay cost {cost[True]:.2f} s of a processor, that leave {cost[False]:.2f} s, {most:.0f} under way")
    check("the work of clients that left is given up", cost[False] < 0.6 * cost[True], cost)
    check("and another is answered", s.ask("POST", "/predictions/words", body).status == 200)
    s.stop()


# ---- stop


def refused(address):
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=3).close()
        return False
    except ConnectionRefusedError:
        return True
    except OSError:
        return False


def stop_with(work, name, *data):
    s = Server("words=words.vec", *ANY, cwd=work)
    clients = []
    for piece in data:
        clients.append(connect(s))
        clients[-1].sendall(piece)
        if piece.endswith(b"\r\n\r\n") and piece.startswith(b"GET"):
            clients[-1].recv(65536)  # answered, then idle
    time.sleep(0.2)
    began = time.time()
    s.process.send_signal(signal.SIGTERM)
    try:
        code = s.process.wait(15)
    except subprocess.TimeoutExpired:
        code = None
        s.process.kill()
        s.process.wait()
    check(f"SIGTERM ends the server beside {name}", code == 0, f"{code} after {time.time() - began:.1f} s")
    for c in clients:
        c.close()


def stops(work):
    idle = b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n"
    half_head = b"POST /predictions/words HTTP/1.1\r\nHost: loc"
    half_body = HEAD + b"Content-Length: 4\r\n\r\nfi"
    half_chunk = HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\nfi"
    at_once(lambda: stop_with(work, "an idle connection", idle), lambda: stop_with(work, "half a head", half_head),
            lambda: stop_with(work, "half a body", half_body), lambda: stop_with(work, "half a chunk", half_chunk),
            lambda: stop_with(work, "all of these", idle, half_head, half_body, half_chunk, b""))
    draining(work)


def draining(work):
    """While work is under way the listeners are closed, and a successor can bind."""
    address = one_address()
    s = Server("words=many.shoal", *address, "--batch-size", "1", cwd=work)
    where = s.address["inference"]
    body = json.dumps({"words": [f"word{i:05}" for i in range(2000)], "k": 3}).encode()
    head = b"POST /predictions/words HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    clients = [connect(s) for _ in range(8)]
    for c in clients:
        c.sendall(head + body)
    half = connect(s)
    half.sendall(HEAD + b"Content-Length: 4\r\n\r\nfi")
    # The first answer says that the rest was taken.
    first = clients[0].recv(1)
    s.process.send_signal(signal.SIGTERM)
    began, closed = time.time(), False
    while not closed and time.time() - began < 20:
        closed = refused(where)
    there = s.process.poll() is None
    check("after SIGTERM new clients are refused", closed)
    t = Server("words=words.vec", *address, cwd=work)
    check("a successor binds the address at once", "inference" in t.address and t.ask("GET", "/ping").status == 200,
          (t.address, t.said, f"the first {'was still there' if there else 'had ended'}"))
    answers = []
    for c in clients:
        back = first if c is clients[0] else b""
        try:
            while part := c.recv(1 << 20):
                back += part
        except OSError:
            pass
        answers.append((heads(back), back.endswith(b"}]\n")))
    last = time.time()
    check("what was under way is answered whole", all(x == ([200], True) for x in answers), answers)
    try:
        code = s.process.wait(15)
    except subprocess.TimeoutExpired:
        code = None
        s.process.kill()
        s.process.wait()
    check("and then the server ends, half a body or not", code == 0, f"{code}, {time.time() - last:.1f} s later")
    half.close()
    if t.process.poll() is None:
        t.stop()


# ---- readiness, no tokens, the sandbox


def readiness(work):
    s = Server("words=words.vec", "--model-store", "store", *ANY, cwd=work)

    def statuses(*paths):
        return [s.ask("GET", p).status for p in paths]

    of_model = ("/v2/models/words/ready", "/v2/models/words/versions/1.0/ready", "/v1/models/words")
    check("ready endpoints are 200 when all is ready", statuses("/v2/health/ready", "/v2/health/live", *of_model) == [200] * 5)
    s.ask("PUT", "/models/words?min_worker=0&max_worker=0&synchronous=true", where="management")
    for path in of_model:
        a = s.ask("GET", path)
        check(f"{path} is 503 when its model has no worker", a.status == 503, a)
    a = s.ask("GET", "/v2/health/ready")
    check("the status of the server's own readiness is what its answer says", a.status == (200 if a.json()["ready"] else 503), a)
    check("the server is live all the same", statuses("/v2/health/live") == [200])
    check("an unknown model is 404", statuses("/v2/models/none/ready", "/v2/models/words/versions/9/ready", "/v1/models/none")
          == [404] * 3)
    s.ask("PUT", "/models/words?min_worker=1&synchronous=true", where="management")
    check("with a worker it is ready again", statuses("/v2/health/ready", *of_model) == [200] * 4)
    s.stop()


def own_network():
    """A prefix under which a program has a network of its own, or None."""
    prefix = ["unshare", "--user", "--map-root-user", "--net"]
    try:
        return prefix if subprocess.run([*prefix, "true"], capture_output=True).returncode == 0 else None
    except OSError:
        return None


def said_by(prefix, work, *args):
    """What a server says until it listens; then it is stopped."""
    process = subprocess.Popen([*prefix, SHOAL, "serve", *args, "--no-sandbox"], cwd=work, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    listens = any(line.startswith("models") for line in process.stdout)
    if listens:
        process.terminate()
    return listens, process.communicate()[1]


def beyond_loopback(work):
    prefix = own_network()
    if prefix is None:
        print("# no network of its own here: addresses beyond loopback are left out")
        return
    any_address = ["words=words.vec", "--inference-address", "0.0.0.0:0", "--management-address", "none", "--metrics-address", "none"]
    listens, err = said_by(prefix, work, *any_address)
    check("beyond loopback no server starts without tokens", not listens and "token" in err, err)
    listens, err = said_by(prefix, work, *any_address, "--no-tokens")
    check("--no-tokens lets it, and says so loudly", listens and re.search(r"token", err), (listens, err))
    listens, err = said_by(prefix, work, *any_address, "--token-file", "tokens")
    check("tokens without TLS beyond loopback are warned of", listens and re.search(r"token.*(TLS|tls)", err),
          (listens, err))
    listens, err = said_by([], work, "words=words.vec", *ANY, "--token-file", "tokens")
    check("on loopback they are not", listens and "token" not in err, err)


def sandboxed(work):
    s = Server("words=many.shoal", "clicks.shoal", "mlp.shoal", "vgg.shoal", "next.shoal", "--model-store", "store",
               "--reload-every", "0.05", *ANY, cwd=work, sandbox=True)
    asked = {"words": b"word00001", "clicks": b"1:1 3:0.5\n", "mlp": b"[0.5,-0.25]", "vgg": png((240, 20, 15)), "next": b"the king"}
    codes = {name: s.ask("POST", f"/predictions/{name}", body).status for name, body in asked.items()}
    check("in the sandbox every kind of model answers", set(codes.values()) == {200}, codes)
    a = s.ask("POST", "/models?url=words.vec&model_name=fresh&initial_workers=2&synchronous=true", where="management")
    b = s.ask("POST", "/predictions/fresh", b"sea")
    check("a model is registered and answers", a.status == 200 and b.status == 200, (a, b))
    vectors(os.path.join(work, "store", "words.vec"), WORDS, scale=3)
    began, row = time.time(), None
    while row != [3.0, 3.0, 1.5, 1.5] and time.time() - began < TIME_LIMIT:
        row = s.ask("GET", "/models/fresh/vector?word=sea").json()["vector"]
    check("a replaced file is picked up", row == [3.0, 3.0, 1.5, 1.5], row)
    a = s.ask("PUT", "/models/fresh?min_worker=4&synchronous=true", where="management")
    b = s.ask("DELETE", "/models/fresh", where="management")
    c = s.ask("GET", "/metrics", where="metrics")
    check("scaling, ending and metrics work", (a.status, b.status, c.status) == (200, 200, 200), (a, b, c.status))
    with open(f"/proc/{s.process.pid}/status") as f:
        status = f.read()
    check("the kernel holds the process", "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status)
    check("it ends well", s.stop() == 0)


PARTS = (channels, bombs, becoming, expensive, tokens, overwritten, prompt, not_text, keys, framing, head_limit, expectations,
         abandoned, stops, readiness, beyond_loopback, sandboxed)


def main():
    chosen = [p for p in PARTS if len(sys.argv) < 3 or p.__name__ in sys.argv[2:]]
    work = tempfile.mkdtemp(prefix="shoal-hostile-")
    try:
        make_models(work)
        for part in chosen:
            began = time.time()
            try:
                part(work)
            except (OSError, http.client.HTTPException, TypeError, KeyError, ValueError) as e:
                check(f"{part.__name__} can be asked to its end", False, repr(e))
            print(f"# {part.__name__}: {time.time() - began:.1f} s", flush=True)
            shutil.rmtree(os.path.join(work, "store", ".shoal-serve.state"), ignore_errors=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
