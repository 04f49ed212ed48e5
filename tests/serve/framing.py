#!/usr/bin/env python3
"""HTTP as strangers send it: framing, limits, deadlines, TLS, the end, and the live page.

    tests/serve/framing.py SHOAL

Prints TAP. Ports are the system's choice; every wait is bounded. What reaches beyond loopback is
tried in a network namespace of its own, where the system gives one.
"""

import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import warnings

SHOAL = os.path.abspath(sys.argv[1])
WAIT = 240  # seconds for anything that must happen
HOST = b"Host: localhost\r\n"
LINE = b"GET /ping HTTP/1.1\r\n" + HOST
POST = b"POST /predictions/words HTTP/1.1\r\n" + HOST
NEXT = b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n"
cases = 0
failed = 0


def check(name, truth, detail=""):
    """One TAP line."""
    global cases, failed
    cases += 1
    failed += not truth
    print(("ok" if truth else "not ok") + f" {cases} - {name}", flush=True)
    if not truth and detail != "":
        print("# " + str(detail)[:1000].replace("\n", "\n# "))


class Server:
    def __init__(self, *args, cwd):
        self.process = subprocess.Popen([SHOAL, "serve", *args, "--no-sandbox"], cwd=cwd, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.address = {}
        self.said = []
        for line in self.process.stdout:
            fields = line.split()
            if fields[0] == "models":
                break
            host, port = fields[1].split("://")[1].rsplit(":", 1)
            self.address[fields[0]] = (host, int(port))
        threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True).start()

    def connect(self, where="inference", **more):
        return socket.create_connection(self.address[where], timeout=WAIT, **more)

    def raw(self, *pieces, where="inference"):
        """Sends pieces; all that comes back until the other side ends."""
        with self.connect(where) as c:
            for piece in pieces:
                c.sendall(piece)
            return all_of(c)

    def ask(self, method, path, body=None, headers=None, where="inference"):
        c = http.client.HTTPConnection(*self.address[where], timeout=WAIT)
        try:
            c.request(method, path, body, headers or {})
            answer = c.getresponse()
            return answer.status, answer.read()
        finally:
            c.close()

    def under_way(self):
        """Requests beside the one that asks."""
        text = self.ask("GET", "/metrics?name[]=shoal_requests_under_way", where="metrics")[1]
        return float(text.split()[-1]) - 1

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT)


def all_of(c):
    """What comes until the other side ends; a reset ends it too, and is seen by what is missing."""
    back = b""
    try:
        while data := c.recv(1 << 16):
            back += data
    except ConnectionResetError:
        back += b"(reset)"
    return back


def answers(back):
    return len(re.findall(rb"HTTP/1\.1 \d", back))


def read_answer(f):
    """One answer of a connection's file: status, headers, body."""
    status = int(f.readline().split()[1])
    headers = {}
    while (line := f.readline().strip()) != b"":
        name, value = line.split(b": ", 1)
        headers[name.decode().lower()] = value.decode()
    return status, headers, f.read(int(headers.get("content-length", 0)))


def until(truth):
    """Whether it became true in time; that it stays so is another question."""
    end = time.time() + WAIT
    while not truth():
        if time.time() > end:
            return False
        time.sleep(0.02)
    return True


def vectors(path, words, dim=4):
    with open(path, "w") as f:
        f.write(f"{len(words)} {dim}\n")
        for i, word in enumerate(words):
            f.write(word + " " + " ".join(f"{1 / (1 + i + j):.4f}" for j in range(dim)) + "\n")


WORDS = ["sea", "fish", "shoal", "tide", "wave", "reef", "salt", "boat"]
ANY = ["--inference-address", "127.0.0.1:0", "--management-address", "127.0.0.2:0", "--metrics-address", "127.0.0.3:0"]


def malformed(s):
    """Each with a request behind it that would delete the model."""
    evil = b"DELETE /models/words HTTP/1.1\r\n" + HOST + b"\r\n"
    get = b"GET /models HTTP/1.1\r\n" + HOST
    put = b"PUT /models/words?min_worker=1 HTTP/1.1\r\n" + HOST
    n = b"%d" % len(evil)
    bad = {
        "two lengths that differ": put + b"Content-Length: 0\r\nContent-Length: " + n + b"\r\n\r\n",
        "two lengths that are the same": put + b"Content-Length: " + n + b"\r\nContent-Length: " + n + b"\r\n\r\n",
        "a list of lengths": put + b"Content-Length: 0, 0\r\n\r\n",
        "a length and a coding": put + b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "a coding and a length": put + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        "another coding": put + b"Transfer-Encoding: gzip\r\n\r\n",
        "two codings": put + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "a coding beside chunked": put + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "a signed length": put + b"Content-Length: +0\r\n\r\n",
        "a negative length": put + b"Content-Length: -1\r\n\r\n",
        "a length in hex": put + b"Content-Length: 0x0\r\n\r\n",
        "a length with a space": put + b"Content-Length: 0 0\r\n\r\n",
        "a length beyond numbers": put + b"Content-Length: 18446744073709551616\r\n\r\n",
        "an empty length": put + b"Content-Length:\r\n\r\n",
        "a space before the colon": put + b"Content-Length : " + n + b"\r\n\r\n",
        "a tab before the colon": put + b"Content-Length\t: " + n + b"\r\n\r\n",
        "an empty name": get + b": x\r\n\r\n",
        "a name that is no token": get + b"X(y): x\r\n\r\n",
        "a line without a colon": get + b"X\r\n\r\n",
        "a NUL in a value": get + b"X: a\0b\r\n\r\n",
        "a NUL in a name": get + b"X\0: a\r\n\r\n",
        "a NUL in the address": b"GET /models\0 HTTP/1.1\r\n" + HOST + b"\r\n",
        "a control character": get + b"X: \x0b\r\n\r\n",
        "a folded line": get + b"X: a\r\n b\r\n\r\n",
        "a first line that is folded": b"GET /models HTTP/1.1\r\n X: y\r\n" + HOST + b"\r\n",
        "lines that end with LF": b"GET /models HTTP/1.1\nHost: localhost\n\n",
        "a field that ends with LF": get + b"X: y\n\r\n",
        "an empty line of LF": get + b"\n",
        "a CR within a line": get + b"X: a\rb\r\n\r\n",
        "two CR": get + b"X: a\r\r\n\r\n",
        "two hosts": get + b"Host: localhost\r\n\r\n",
        "no host": b"GET /models HTTP/1.1\r\n\r\n",
        "a host with a space": b"GET /models HTTP/1.1\r\nHost: local host\r\n\r\n",
        "two spaces": b"GET  /models HTTP/1.1\r\n" + HOST + b"\r\n",
        "a space at the end": b"GET /models HTTP/1.1 \r\n" + HOST + b"\r\n",
        "a space at the beginning": b" GET /models HTTP/1.1\r\n" + HOST + b"\r\n",
        "no version": b"GET /models\r\n" + HOST + b"\r\n",
        "a version in small letters": b"GET /models http/1.1\r\n" + HOST + b"\r\n",
        "a method that is no token": b"G{T /models HTTP/1.1\r\n" + HOST + b"\r\n",
        "an address of no form": b"GET models HTTP/1.1\r\n" + HOST + b"\r\n",
        "a coding of HTTP/1.0": b"PUT /models/words HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "a chunk without a size": put + b"Transfer-Encoding: chunked\r\n\r\n\r\n",
        "a chunk with a sign": put + b"Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n",
        "a chunk with a space": put + b"Transfer-Encoding: chunked\r\n\r\n0 \r\n\r\n",
        "a chunk beyond numbers": put + b"Transfer-Encoding: chunked\r\n\r\n00000000000000000\r\n\r\n",
        "a chunk that ends with LF": put + b"Transfer-Encoding: chunked\r\n\r\n0\n\n",
        "a chunk that goes on": put + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n",
        "a trailer that is none": put + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX : y\r\n\r\n",
        "empty lines": b"\r\n\r\n" + get + b"\r\n",
    }
    other = {"HTTP/1.2": b"GET /models HTTP/1.2\r\n" + HOST + b"\r\n", "HTTP/2.0": b"PRI * HTTP/2.0\r\n\r\n",
             "HTTP/0.9": b"GET /models HTTP/0.9\r\n\r\n"}
    for status, which in ((400, bad), (505, other)):
        for name, head in which.items():
            back = s.raw(head + evil, where="management")
            top, _, body = back.partition(b"\r\n\r\n")
            try:
                said = json.loads(body)["code"]
            except ValueError:
                said = None
            check(f"{name}: {status} once, and the connection ends", answers(back) == 1 and said == status
                  and top.startswith(b"HTTP/1.1 %d " % status) and b"Connection: close" in top, back[:300])
    check("and nothing behind them was run", s.ask("GET", "/models/words", where="management")[0] == 200)
    back = s.raw(LINE + b"Connection: close\r\nX: \x80\t\xff\r\n\r\n")
    check("bytes beyond ASCII in a value are let be", back.startswith(b"HTTP/1.1 200 "), back[:80])


def limits(s, size):
    fixed = len(LINE + b"Connection: close\r\nX: \r\n\r\n")
    codes = [s.raw(LINE + b"Connection: close\r\nX: " + b"y" * (size - fixed + over) + b"\r\n\r\n")[9:12]
             for over in (-1, 0, 1, 100000)]
    check("the limit of a head is the limit", codes == [b"200", b"200", b"431", b"431"], codes)
    back = s.raw(b"GET /ping?" + b"y" * 100000 + b" HTTP/1.1\r\n" + HOST + b"\r\n")
    check("an address over it is 414", back[9:12] == b"414" and answers(back) == 1, back[:80])
    back = s.raw(LINE + b"Connection: close\r\n" + b"a: b\r\n" * 98 + b"\r\n")
    check("100 fields are taken", back[9:12] == b"200", back[:80])
    back = s.raw(LINE + b"a: b\r\n" * 100 + b"\r\n")
    check("101 are 431", back[9:12] == b"431", back[:80])
    with s.connect() as c:
        c.sendall(b"GET /ping?" + b"&".join(b"a%d=1" % i for i in range(300)) + b" HTTP/1.1\r\n" + HOST + b"\r\n" + NEXT)
        f = c.makefile("rb")
        check("300 arguments get an answer at once", read_answer(f)[0] == 400)
        check("and the connection goes on", read_answer(f)[0] == 200)


def forms(s):
    back = s.raw(b"GET http://127.0.0.1:1/ping HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    check("an absolute address is understood", back.startswith(b"HTTP/1.1 200 "), back[:80])
    back = s.raw(b"GET http://evil.example/ping HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    check("and its host is the host", back.startswith(b"HTTP/1.1 403 "), back[:80])
    back = s.raw(b"OPTIONS * HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    check("OPTIONS * describes the interface", back.startswith(b"HTTP/1.1 200 ") and b'"openapi"' in back, back[:80])
    back = s.raw(b"CONNECT evil.example:80 HTTP/1.1\r\n" + HOST + b"\r\n")
    check("CONNECT is refused", back.startswith(b"HTTP/1.1 501 "), back[:80])
    back = s.raw(b"\r\n" + LINE + b"Connection: close\r\n\r\n")
    check("an empty line before a request is passed over", back.startswith(b"HTTP/1.1 200 "), back[:80])

    whole = s.raw(b"GET /page.js HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    head = s.raw(b"HEAD /page.js HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    length = len(whole.split(b"\r\n\r\n", 1)[1])
    check("HEAD gives the length and no body", head.endswith(b"\r\n\r\n") and head.count(b"\r\n\r\n") == 1
          and b"\r\nContent-Length: %d\r\n" % length in head, head)

    back = s.raw(b"GET /ping HTTP/1.0\r\n\r\n")
    check("HTTP/1.0 is answered, and the connection ends", back.startswith(b"HTTP/1.1 200 ")
          and b"Connection: close" in back, back[:200])
    with s.connect() as c:
        f = c.makefile("rb")
        for again in range(2):
            c.sendall(b"GET /ping HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            status, headers, body = read_answer(f)
        check("HTTP/1.0 may keep it", status == 200 and headers["connection"] == "keep-alive", headers)

    back = s.raw(POST + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nfish")
    check("an encoded body is 415", back.startswith(b"HTTP/1.1 415 "), back[:80])
    back = s.raw(POST + b"Content-Encoding: identity\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfish")
    check("identity is none", back.startswith(b"HTTP/1.1 200 "), back[:80])


def pipelined(s):
    sent = b""
    want = []
    for i in range(300):
        if i % 4 == 0:
            sent += NEXT
            want.append(b"Healthy")
        elif i % 4 == 3:  # read by a worker, while what is behind it waits
            body = b'{"words":["reef"],' + 5000 * b" " + b'"vectors":true}'
            sent += POST + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            want.append(b"0.1667")
        elif i % 4 == 1:
            sent += POST + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            sent += b'd\r\n{"words":["re\r\n11;x=y\r\nef"],"vectors":tr\r\n3\r\nue}\r\n0\r\nX: y\r\n\r\n'
            want.append(b"0.1667")
        else:
            word = WORDS[i % len(WORDS)].encode()
            sent += b"GET /models/words/vector?word=" + word + b" HTTP/1.1\r\n" + HOST + b"\r\n"
            want.append(b'"' + word + b'"')
    for step in (len(sent), 1000, 7):
        with s.connect() as c:
            def send():
                for at in range(0, len(sent), step):
                    c.sendall(sent[at:at + step])
            sender = threading.Thread(target=send)
            sender.start()
            f = c.makefile("rb")
            got = [read_answer(f) for _ in want]
            sender.join()
        wrong = [(a, w) for a, w in zip(got, want) if a[0] != 200 or w not in a[2]]
        check(f"300 requests sent ahead in pieces of {step} are answered in order", not wrong, wrong[:2])


def expectations(s):
    expect = POST + b"Expect: 100-continue\r\n"
    with s.connect() as c:
        f = c.makefile("rb")
        for again in range(2):
            c.sendall(expect + b"Content-Length: 4\r\n\r\n")
            status = read_answer(f)[0]
            c.sendall(b"fish")
            check("who expects it is told to go on, and then answered", status == 100 and read_answer(f)[0] == 200)
    back = s.raw(expect + b"Content-Length: 4\r\nConnection: close\r\n\r\nfish")
    check("with the body there is no need to", back.startswith(b"HTTP/1.1 200 "), back[:80])
    back = s.raw(expect + b"Content-Length: 99999999\r\n\r\n")
    check("for a body that is too large it is 413 at once", back.startswith(b"HTTP/1.1 413 ")
          and b"100 Continue" not in back, back[:80])
    back = s.raw(b"POST /models HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")
    check("for what is not taken here it is 404 at once", back.startswith(b"HTTP/1.1 404 "), back[:80])
    back = s.raw(POST + b"Expect: bread\r\nContent-Length: 4\r\n\r\n")
    check("other expectations are 417", back.startswith(b"HTTP/1.1 417 "), back[:80])


def refused_early(s):
    big = b"x" * 3000000
    back = s.raw(POST + b"Content-Length: %d\r\n\r\n" % len(big), big)
    check("who sends on is still told 413", back.startswith(b"HTTP/1.1 413 ") and back.endswith(b"}\n")
          and answers(back) == 1, back[:300])
    back = s.raw(POST + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(big), big)
    check("of chunks too", back.startswith(b"HTTP/1.1 413 ") and back.endswith(b"}\n"), back[:300])
    back = s.raw(b"POST /models HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(big), big)
    check("of a route that takes no body 404", back.startswith(b"HTTP/1.1 404 ") and back.endswith(b"}\n"), back[:300])
    back = s.raw(b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n", big)
    check("of a malformed head 400", back.startswith(b"HTTP/1.1 400 ") and back.endswith(b"}\n"), back[:300])


def trickle(c, first, piece):
    """Until the other side has had enough; what it said."""
    c.settimeout(0.2)
    back = b""
    try:
        c.sendall(first)
        while True:
            try:
                data = c.recv(65536)
                if not data:
                    return back
                back += data
            except TimeoutError:
                c.sendall(piece)
    except OSError:
        return back


def deadlines(work):
    s = Server("many=many.vec", *ANY, "--timeout", "1", cwd=work)
    for name, first in (("head", LINE + b"X: "), ("address", b"GET /"),
                        ("body", POST + b"Content-Length: 1000\r\n\r\n"),
                        ("chunk", POST + b"Transfer-Encoding: chunked\r\n\r\n100\r\n")):
        with s.connect() as c:
            back = trickle(c, first, b"x")
        check(f"a {name} that comes a byte now and then is 408", back.startswith(b"HTTP/1.1 408 "), back[:80])
    with s.connect() as c:
        c.sendall(NEXT)
        back = all_of(c)
        check("an idle connection is ended after its answer", back.startswith(b"HTTP/1.1 200 ")
              and answers(back) == 1 and not back.endswith(b"(reset)"), back[:300])
    with s.connect() as c:
        c.sendall(b"\r\n")
        check("an empty line is no request", all_of(c) == b"")
    body = json.dumps({"words": [f"w{i}" for i in range(1000)], "k": 1000}).encode()
    with s.connect() as c:
        c.sendall(b"POST /predictions/many HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        c.recv(1)
        check("an answer that nobody reads is given up", until(lambda: s.under_way() == 0), s.under_way())
        length = len(all_of(c))
        check("and was not sent whole", length < 20000000, length)
    s.stop()


def too_many(work):
    s = Server("words=words.vec", *ANY, "--max-connections", "4", cwd=work)
    open_ones = [s.connect() for _ in range(4)]
    for c in open_ones:
        c.sendall(NEXT)
        read_answer(c.makefile("rb"))
    back = s.raw(LINE + b"\r\n")
    check("a connection too many is 503", back.startswith(b"HTTP/1.1 503 ") and b"Retry-After" in back
          and json.loads(back.split(b"\r\n\r\n", 1)[1])["code"] == 503, back)
    for c in open_ones:
        c.sendall(NEXT)
        check("the others go on", read_answer(c.makefile("rb"))[0] == 200)
        c.close()
    check("and when they are gone there is room", until(lambda: s.ask("GET", "/ping")[0] == 200))
    s.stop()

    s = Server("words=words.vec", *ANY, "--max-per-client", "2", cwd=work)
    open_ones = [s.connect() for _ in range(2)]
    for c in open_ones:
        c.sendall(NEXT)
        read_answer(c.makefile("rb"))
    back = s.raw(LINE + b"\r\n")
    check("a client's connection too many is 503", back.startswith(b"HTTP/1.1 503 "), back[:80])
    with s.connect(source_address=("127.0.0.9", 0)) as c:
        c.sendall(NEXT)
        check("another client has its own", read_answer(c.makefile("rb"))[0] == 200)
    for c in open_ones:
        c.close()
    check("and the first again when it left", until(lambda: s.ask("GET", "/ping")[0] == 200))
    s.stop()


def kept_on_exec(pid):
    """Descriptors that another program would be given; one may be closed while it is looked at."""
    kept = []
    for x in os.listdir(f"/proc/{pid}/fd"):
        try:
            with open(f"/proc/{pid}/fdinfo/{x}") as f:
                flags = int(re.search(r"flags:\s+(\d+)", f.read())[1], 8)
            if int(x) > 2 and not flags & os.O_CLOEXEC:
                kept.append(os.readlink(f"/proc/{pid}/fd/{x}"))
        except FileNotFoundError:
            pass
    return kept


def without_descriptors(work):
    s = Server("words=words.vec", *ANY, cwd=work)
    pid = s.process.pid
    with s.connect() as meter:
        f = meter.makefile("rb")
        meter.sendall(NEXT)
        read_answer(f)
        most = max(int(x) for x in os.listdir(f"/proc/{pid}/fd")) + 4
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]))
        crowd = [s.connect() for _ in range(20)]
        time.sleep(0.5)
        with open(f"/proc/{pid}/stat") as stat:
            before = sum(int(x) for x in stat.read().rsplit(")", 1)[1].split()[11:13])
        time.sleep(1)
        with open(f"/proc/{pid}/stat") as stat:
            used = sum(int(x) for x in stat.read().rsplit(")", 1)[1].split()[11:13]) - before
        check("without descriptors it does not spin", used < 0.5 * os.sysconf("SC_CLK_TCK"), used)
        meter.sendall(NEXT)
        check("and answers who is there", read_answer(f)[0] == 200)
        for c in crowd[:10]:
            c.close()
        crowd[-1].sendall(NEXT)
        for c in crowd[10:-1]:
            c.close()
        check("who waited is answered when there are some again", read_answer(crowd[-1].makefile("rb"))[0] == 200)
        crowd[-1].close()
        kept = kept_on_exec(pid)
        check("no descriptor goes to another program", not kept, kept)
    s.stop()


def leaving(work):
    """Clients that leave while a worker has their request, or is to have it."""
    s = Server("many=many.vec", *ANY, cwd=work)
    body = json.dumps({"words": [f"w{i}" for i in range(300)], "k": 300}).encode()
    ask = b"POST /predictions/many HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(body) + body
    for again in range(20):
        crowd = [s.connect() for _ in range(10)]
        for i, c in enumerate(crowd):
            c.sendall(ask if i % 2 else ask + NEXT)
        for i, c in enumerate(crowd):
            if i % 3 == 0:
                c.shutdown(socket.SHUT_WR)
            c.close()
    # Clients may come and go while they wait to be accepted; one that comes last is accepted behind them.
    check("who comes behind them is answered", s.ask("GET", "/ping")[0] == 200)
    check("who left is forgotten", until(lambda: s.under_way() == 0), s.under_way())
    with s.connect() as c:
        c.sendall(NEXT)
        c.shutdown(socket.SHUT_WR)
        check("who only sends no more gets the answer that needs no worker", all_of(c).startswith(b"HTTP/1.1 200 "))
    check("the server ends well", s.stop() == 0)


def large_answers(work):
    vectors(os.path.join(work, "large.vec"), [f"w{i}-{'x' * 20}" for i in range(4200)])
    s = Server("large=large.vec", *ANY, cwd=work)
    words = [f"w{i}-{'x' * 20}" for i in range(4096)]
    status, back = s.ask("POST", "/predictions/large", json.dumps({"words": words, "k": 1000}))
    check("an answer beyond what a request may hold is refused", status in (413, 503) and "code" in json.loads(back),
          (status, back[:200]))
    status, back = s.ask("POST", "/predictions/large", json.dumps({"words": words[:500], "k": 1000}))
    check("one within it comes whole", status == 200 and len(json.loads(back)) == 500)
    s.stop()


# ---- TLS -----------------------------------------------------------------------------------------------


def make_pair(work, name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out",
                    f"{name}.crt", "-days", "2", "-subj", "/CN=localhost"], cwd=work, check=True, capture_output=True)
    os.chmod(os.path.join(work, f"{name}.key"), 0o600)


def refused_start(work, *args):
    got = subprocess.run([SHOAL, "serve", "words=words.vec", *ANY, *args], cwd=work, capture_output=True, text=True,
                         timeout=WAIT)
    return got.returncode == 1 and got.stderr.count("\n") <= 1, got.stderr


def encrypted(work):
    if not shutil.which("openssl"):
        return
    make_pair(work, "one")
    make_pair(work, "two")
    pair = ["--tls-cert", "one.crt", "--tls-key", "one.key"]
    os.chmod(os.path.join(work, "one.key"), 0o640)
    ended, said = refused_start(work, *pair)
    check("a key that others may read is refused", ended and "mode is 640, want 600" in said, said)
    os.chmod(os.path.join(work, "one.key"), 0o600)
    ended, said = refused_start(work, "--tls-cert", "one.crt", "--tls-key", "two.key")
    check("a certificate of another key is refused", ended and "another key" in said, said)
    ended, said = refused_start(work, "--tls-cert", "words.vec", "--tls-key", "one.key")
    check("what is no certificate is refused", ended and "want a PEM certificate" in said, said)

    s = Server("words=words.vec", "many=many.vec", *ANY, *pair, "--timeout", "2", cwd=work)
    trust = ssl.create_default_context(cafile=os.path.join(work, "one.crt"))
    trust.check_hostname = False

    def version(v):
        context = ssl.create_default_context(cafile=os.path.join(work, "one.crt"))
        context.check_hostname = False
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = v
        try:
            with context.wrap_socket(s.connect()) as c:
                c.sendall(NEXT)
                return read_answer(c.makefile("rb"))[0] == 200 and c.version()
        except (OSError, ssl.SSLError):
            return None

    got = [version(v) for v in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2,
                                ssl.TLSVersion.TLSv1_3)]
    check("TLS is 1.2 or 1.3", got == [None, None, "TLSv1.2", "TLSv1.3"], got)
    body = json.dumps({"words": [f"w{i}" for i in range(500)], "k": 1000}).encode()
    with trust.wrap_socket(s.connect()) as c:
        f = c.makefile("rb")
        ask = b"POST /predictions/many HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(body) + body
        for at in range(0, len(ask), 1000):
            c.sendall(ask[at:at + 1000])
        c.sendall(NEXT + NEXT)
        status, _, back = read_answer(f)
        check("a large answer comes whole", status == 200 and len(json.loads(back)) == 500)
        check("and those sent ahead behind it", [read_answer(f)[0] for _ in range(2)] == [200, 200])
        c.sendall(LINE + b"Connection: close\r\n\r\n")
        check("its end is said", read_answer(f)[0] == 200 and f.read() == b"")
    with trust.wrap_socket(s.connect()) as c:
        c.sendall(ask)
        c.recv(1)
        check("an answer that nobody reads is given up there too", until(lambda: under_way(s, trust) == 0))
    with s.connect() as c:
        c.sendall(b"\x16\x03\x01")
        check("half a handshake is cut off", all_of(c) in (b"", b"(reset)"))
    back = s.raw(NEXT)
    check("plain HTTP there is none", b"HTTP/1.1 200" not in back, back[:80])
    s.stop()


def under_way(s, trust):
    c = http.client.HTTPSConnection(*s.address["metrics"], timeout=WAIT, context=trust)
    try:
        c.request("GET", "/metrics?name[]=shoal_requests_under_way")
        return float(c.getresponse().read().split()[-1]) - 1
    finally:
        c.close()


# ---- beyond loopback ------------------------------------------------------------------------------------


def watched(work, address):
    """A run that is looked at: the process and where."""
    for old in ("run.shoal", "run.shoal.metrics.jsonl"):
        if os.path.exists(os.path.join(work, old)):
            os.remove(os.path.join(work, old))
    p = subprocess.Popen([SHOAL, "train", "mlp", "spiral.csv", "--layers", "32", "--epochs", "1000000", "--watch", address,
                          "-o", "run.shoal"], cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in p.stderr:
        if found := re.search(r"http://([^/\s]+)(/\S*)", line):
            threading.Thread(target=p.stderr.read, daemon=True).start()
            host, port = found[1].rsplit(":", 1)
            until(lambda: look((host, int(port)), "GET", found[2])[0] == 200)  # nothing is reported yet
            return p, (host, int(port)), found[2]
    return p, None, ""


def look(place, method, path, **headers):
    c = http.client.HTTPConnection(*place, timeout=WAIT)
    try:
        c.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        answer = c.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        c.close()


def live_page(work):
    subprocess.run([SHOAL, "gen", "spiral", "-o", "spiral.csv"], cwd=work, check=True, capture_output=True)
    p, place, path = watched(work, "127.0.0.1:0")
    try:
        status, headers, body = look(place, "GET", path)
        check("the live page is shown on this machine", path == "/" and status == 200 and b"<html" in body
              and "default-src 'none'" in headers["Content-Security-Policy"], (status, path))
        check("its head alone too", look(place, "HEAD", "/")[0] == 200)
        check("by the name localhost", look(place, "GET", "/", Host=f"localhost:{place[1]}")[0] == 200)
        check("and by no other", look(place, "GET", "/", Host=f"evil.example:{place[1]}")[0] == 403)
        check("there is one page", look(place, "GET", "/x")[0] == 404)
        status, headers, body = look(place, "POST", "/")
        check("which is for looking", status == 405 and headers["Allow"] == "GET, HEAD")
    finally:
        p.kill()
        p.wait()


def beyond(work):
    """In a namespace, where 10.9.8.7 is an address that others could reach."""
    with open(os.path.join(work, "tokens"), "w") as f:
        f.write("inference aaaaaaaaaaaaaaaa\nmanagement bbbbbbbbbbbbbbbb\n")
    os.chmod(os.path.join(work, "tokens"), 0o600)
    one = ["--inference-address", "10.9.8.7:0", "--management-address", "none", "--metrics-address", "none",
           "--token-file", "tokens"]
    s = Server("words=words.vec", *one, cwd=work)
    check("tokens without TLS beyond this machine are warned of once", until(lambda: s.said)
          and sum("tokens travel in the clear" in x for x in s.said) == 1, s.said)
    s.stop()
    if os.path.exists(os.path.join(work, "one.crt")):
        s = Server("words=words.vec", *one, "--tls-cert", "one.crt", "--tls-key", "one.key", cwd=work)
        s.stop()
        check("with TLS nobody is warned", not any("tokens" in x for x in s.said), s.said)
    p, place, path = watched(work, "10.9.8.7:0")
    try:
        check("beyond this machine the live page's address has a token", re.fullmatch(r"/\?token=[0-9a-f]{32}", path), path)
        got = look(place, "GET", path)
        check("which shows it", got[0] == 200, got)
        wrong = path[:-1] + ("0" if path[-1] != "0" else "1")
        codes = [look(place, "GET", x)[0] for x in ("/", "/?token=", wrong, path[:-1], path + "0", "/?token=" + "0" * 32)]
        check("and nothing else does", codes == [403] * 6, codes)
    finally:
        p.kill()
        p.wait()


def beyond_loopback(work):
    """This program again, inside."""
    global cases, failed
    inside = "ip link set lo up && ip addr add 10.9.8.7/32 dev lo && exec \"$@\""
    try:
        got = subprocess.run(["unshare", "-rn", "sh", "-c", inside, "sh", sys.executable, os.path.abspath(__file__), SHOAL,
                              "inside", work, str(cases)], capture_output=True, text=True, timeout=WAIT)
    except FileNotFoundError:
        return
    if got.returncode not in (0, 1) or "ok" not in got.stdout:
        print("# no network namespace here: " + got.stderr.strip().replace("\n", "\n# "))
        return
    print(got.stdout, end="")
    cases += len(re.findall("^(not )?ok", got.stdout, re.M))
    failed += got.returncode


def main():
    global cases
    warnings.simplefilter("ignore", DeprecationWarning)  # old TLS is what is tried
    if len(sys.argv) > 2:
        cases = int(sys.argv[4])
        beyond(sys.argv[3])
        return failed > 0
    work = tempfile.mkdtemp(prefix="shoal-framing-")
    try:
        vectors(os.path.join(work, "words.vec"), WORDS)
        vectors(os.path.join(work, "many.vec"), [f"w{i}" for i in range(3000)])
        s = Server("words=words.vec", *ANY, "--max-body", "100K", "--max-header", "8192", cwd=work)
        malformed(s)
        limits(s, 8192)
        for part in (forms, pipelined, expectations, refused_early):
            part(s)
        check("the server ends well", s.stop() == 0)
        for part in (deadlines, too_many, without_descriptors, leaving, large_answers, encrypted, live_page,
                     beyond_loopback):
            part(work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"1..{cases}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
