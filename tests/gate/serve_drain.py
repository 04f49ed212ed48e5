#!/usr/bin/env python3
"""Requests that are in flight when SIGTERM comes are all answered.

    tests/gate/serve_drain.py SHOAL [--requests 10000] [--delay 0]

Opens a connection for each request, sends them all, and then the signal, before any answer is read: some requests
are computed by then, most wait, and some are still in the socket. Each must get a whole answer of status 200, and the
server must end with code 0. Then once more with clients that never stop asking over the stop (--drain-delay):
whoever was connected is answered.

Prints TAP.
"""

import os
import resource
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "serve"))
import harness  # noqa: E402
from harness import ANY, TIME_LIMIT, Server, check, vectors  # noqa: E402

BODY = b'{"words":["w1","w2","w3"],"k":20}'
REQUEST = (b"POST /predictions/words HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY))


def option(name, default):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


def connect(s, n):
    host, port = s.address["inference"].rsplit(":", 1)
    return [socket.create_connection((host, int(port)), timeout=TIME_LIMIT) for _ in range(n)]


def whole(back):
    """200 with a body of the length that the head says, and the connection's end."""
    head, _, body = back.partition(b"\r\n\r\n")
    length = [x.split(b":")[1] for x in head.split(b"\r\n") if x.lower().startswith(b"content-length:")]
    return head.startswith(b"HTTP/1.1 200 ") and len(length) == 1 and int(length[0]) == len(body)


def read_all(clients):
    """What each got until the other side ended."""
    backs = [b""] * len(clients)
    with selectors.DefaultSelector() as waiting:
        for i, c in enumerate(clients):
            c.setblocking(False)
            waiting.register(c, selectors.EVENT_READ, i)
        end = time.time() + TIME_LIMIT
        while waiting.get_map() and time.time() < end:
            for key, _ in waiting.select(1):
                try:
                    part = key.fileobj.recv(1 << 16)
                except BlockingIOError:
                    continue
                except OSError:
                    part = b""
                backs[key.data] += part
                if not part:
                    waiting.unregister(key.fileobj)
    return backs


def in_flight(work, n):
    s = Server("words=words.vec", *ANY, "--queue-size", "1000000", "--max-connections", "100000", cwd=work)
    clients = connect(s, n)
    for c in clients:
        c.sendall(REQUEST)
    s.process.send_signal(signal.SIGTERM)
    began = time.time()
    backs = read_all(clients)
    code = s.process.wait(TIME_LIMIT)
    answered = sum(map(whole, backs))
    check(f"{n} requests in flight over a SIGTERM are all answered", answered == n,
          (answered, [x[:100] for x in backs if not whole(x)][:3]))
    check("the last that was sent says that the connection ends", b"Connection: close" in backs[-1], backs[-1][:300])
    check("and the server ends with code 0", code == 0, code)
    print(f"# {answered} of {n} answered, {time.time() - began:.1f} s from the signal to the end")
    for c in clients:
        c.close()


def over_the_stop(work):
    """Clients that ask again and again on connections of their own, until they are refused."""
    s = Server("words=words.vec", *ANY, "--drain-delay", "1", cwd=work)
    lost, answered, lock = [], [0], threading.Lock()
    host, port = s.address["inference"].rsplit(":", 1)

    def ask():
        while True:
            try:
                c = socket.create_connection((host, int(port)), timeout=TIME_LIMIT)
            except OSError:
                return  # nobody listens: a balancer would have gone elsewhere
            with c:
                back = b""
                try:
                    c.sendall(REQUEST.replace(b"Host:", b"Connection: close\r\nHost:"))
                    while part := c.recv(65536):
                        back += part
                except OSError:
                    pass
                with lock:
                    answered[0] += whole(back)
                    if not whole(back):
                        lost.append((time.time() - sent[0], back[:100]))

    sent = [time.time() + 3600]
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for t in threads:
        t.start()
    time.sleep(0.3)
    sent[0] = time.time()
    s.process.send_signal(signal.SIGTERM)
    for t in threads:
        t.join()
    check("and with code 0 after a stop under load", s.process.wait(TIME_LIMIT) == 0)
    early = [x for x in lost if x[0] < 0.9]
    check("no request is lost while the server still accepts", not early and answered[0] > 100, (early[:3], answered))
    print(f"# {answered[0]} answered over the stop; {len(lost)} connected as the socket closed")


def main():
    n = option("--requests", 10000)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < n + 200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, n + 200) if hard > 0 else n + 200, hard))
    work = tempfile.mkdtemp(prefix="shoal-drain-")
    try:
        vectors(os.path.join(work, "words.vec"), [f"w{i}" for i in range(5000)], dim=32)
        in_flight(work, n)
        over_the_stop(work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
