"""What the tests of the server share: a server of their own, requests and raw bytes to it, small
models and pictures, and the lines of TAP.

A program that imports this is called with the program under test as its first argument. Ports are
the system's choice; every wait is bounded.
"""

import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from ports import hold_port

SHOAL = os.path.abspath(sys.argv[1])
TIME_LIMIT = 240  # seconds for anything that must happen
counting = threading.Lock()
cases = 0
failed = 0


def check(name, truth, detail=""):
    """One TAP line."""
    global cases, failed
    with counting:
        cases += 1
        failed += not truth
        said = ("ok" if truth else "not ok") + f" {cases} - {name}\n"
        if not truth and detail != "":
            said += "# " + str(detail)[:1000].replace("\n", "\n# ") + "\n"
        sys.stdout.write(said)
        sys.stdout.flush()


def finish():
    """The last line of TAP; what the program returns. No server outlives it."""
    for s in Server.started:
        if s.process.poll() is None:
            s.process.kill()
    print(f"1..{cases}")
    return failed > 0


class Server:
    """A server of its own and its three addresses."""

    started = []

    def __init__(self, *args, cwd, sandbox=False):
        # A leak checker traces the process at its end, which the sandbox would refuse.
        leaks = ":detect_leaks=0" if sandbox else ""
        self.process = subprocess.Popen(
            [SHOAL, "serve", *args, "--sandbox" if sandbox else "--no-sandbox"], cwd=cwd, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + leaks))
        Server.started.append(self)
        self.address = {}
        self.said = []
        for line in self.process.stdout:
            fields = line.split()
            if fields[0] == "models":
                break
            self.address[fields[0]] = fields[1].split("://")[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stderr:
            self.said.append(line.strip())

    def ask(self, method, path, body=None, headers=None, where="inference"):
        host, port = self.address[where].rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=TIME_LIMIT)
        try:
            try:
                connection.request(method, path, body, headers or {})
            except (BrokenPipeError, ConnectionResetError):
                pass  # it was refused before all of it was sent: the answer is there
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def ask_again(self, *args, **kwargs):
        """The same, as often as it takes: this one may be slow where the slow are cut off."""
        began = time.time()
        while True:
            try:
                return self.ask(*args, **kwargs)
            except (OSError, http.client.HTTPException):
                if time.time() - began > TIME_LIMIT:
                    raise

    def raw(self, data, where="inference", wait=TIME_LIMIT):
        """Sends bytes as they are; all that comes back until the other side ends."""
        host, port = self.address[where].rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=TIME_LIMIT) as s:
            back = b""
            try:
                s.sendall(data)
            except OSError:
                pass  # what it said before it ended is still to be read
            s.settimeout(wait)
            try:
                while True:
                    part = s.recv(65536)
                    if not part:
                        break
                    back += part
            except OSError:
                pass
            return back

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(TIME_LIMIT)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def error(self):
        j = self.json()
        return (self.status, j.get("type")) if isinstance(j, dict) and "code" in j else (self.status, None)

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


def vectors(path, words, dim=4, scale=1.0):
    """Word i's row, so that neighbours of the list are neighbours in space."""
    with open(path + ".new", "w") as f:
        f.write(f"{len(words)} {dim}\n")
        for i, word in enumerate(words):
            row = [scale * (1 + 0.1 * i if j == 0 else 1.0 / (1 + i) if j == 1 else 0.5) for j in range(dim)]
            f.write(word + " " + " ".join(f"{x:.4f}" for x in row) + "\n")
    os.replace(path + ".new", path)


def multipart(parts, boundary="----xyz"):
    body = b""
    for name, data in parts:
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="f"\r\n\r\n'.encode()
        body += data + b"\r\n"
    body += f"--{boundary}--\r\n".encode()
    return body, {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def near(a, b):
    """Equal classes and scores, but for rounding."""
    return a.keys() == b.keys() and all(abs(a[k] - b[k]) < 1e-5 for k in a)


def png(colour, size=12):
    """A picture of one colour, as a PNG file."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes(colour) * size) * size
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", size, size, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


WORDS = ["sea", "fish", "shoal", "tide", "wave", "reef", "salt", "boat"]
ANY = ["--inference-address", "127.0.0.1:0", "--management-address", "127.0.0.2:0", "--metrics-address", "127.0.0.3:0"]
held = []  # sockets of hold_port, until the program ends


def one_address():
    """Options of a server whose three addresses are one."""
    held.append(hold_port())
    address = "127.0.0.1:%d" % held[-1].getsockname()[1]
    return [word for who in ("inference", "management", "metrics") for word in (f"--{who}-address", address)]
