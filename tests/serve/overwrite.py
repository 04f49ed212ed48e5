#!/usr/bin/env python3
"""Model files that are overwritten in place while they are served, or asked at a prompt.

    tests/serve/overwrite.py SHOAL

Prints TAP. What somebody copies over a served file (cp new.shoal live.shoal) is for a while
empty, half or neither: the server answers from the model it has until a whole one is there.
"""

import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import harness
import loopback
from loopback import ANY, TIME_LIMIT, SHOAL, Server, check

WORDS = [f"w{i}" for i in range(3000)]
DIM = 32
ROUNDS = 4


def model(work, name, scale, words):
    """Vectors of so many words; the first number of each row is its scale."""
    with open(os.path.join(work, "text.vec"), "w") as f:
        f.write(f"{words} {DIM}\n")
        for i, word in enumerate(WORDS[:words]):
            f.write(f"{word} {scale} " + " ".join(str((i * 7 + j) % 11 - 5) for j in range(1, DIM)) + "\n")
    subprocess.run([SHOAL, "convert", "text.vec", name, "-q"], cwd=work, check=True)
    with open(os.path.join(work, name), "rb") as f:
        return f.read()


def overwrite(path, data):
    """As cp does: the same file, cut to nothing and then written."""
    with open(path, "wb") as f:
        half = len(data) // 2
        f.write(data[:half])
        f.flush()
        os.fsync(f.fileno())
        f.write(data[half:])


class Crowd:
    """Asks all the while; remembers what was no answer of a whole model."""

    def __init__(self, server, good):
        self.server, self.stop, self.bad, self.asked = server, threading.Event(), [], 0
        self.good = good  # scales of the models that may answer
        self.threads = [threading.Thread(target=self.run) for _ in range(3)]
        for t in self.threads:
            t.start()

    def run(self):
        host, port = self.server.address["inference"].rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=TIME_LIMIT)
        while not self.stop.is_set():
            try:
                connection.request("GET", "/models/live/vector?word=w7")
                a = connection.getresponse()
                body = a.read()
                self.asked += 1
                v = json.loads(body).get("vector") if a.status == 200 else None
                if not v or v[0] not in self.good or v[1:] != [float((49 + j) % 11 - 5) for j in range(1, DIM)]:
                    self.bad.append((a.status, body[:100]))
            except (OSError, http.client.HTTPException) as e:
                self.bad.append(e)
                connection.close()
                if self.server.process.poll() is not None:
                    return

    def end(self):
        self.stop.set()
        for t in self.threads:
            t.join()


def until(truth):
    """Whether it became true in time; that it stays so is another question."""
    end = time.time() + TIME_LIMIT
    while not truth():
        if time.time() > end:
            return False
        time.sleep(0.01)
    return True


def served(server):
    try:
        return server.ask("GET", "/models/live/vector?word=w7").json()["vector"][0]
    except (OSError, http.client.HTTPException, KeyError, TypeError):
        return None


def replaced_in_place(work, name):
    """Shorter, longer, garbage and whole ones, one after the other."""
    path = os.path.join(work, "live" + os.path.splitext(name)[1])
    with open(path, "wb") as f:
        f.write(model(work, name, 1, 2000))
    s = Server("live=" + os.path.basename(path), *ANY, "--reload-every", "0.02", cwd=work)
    crowd = Crowd(s, {1.0})
    picked = refused = 0
    for i in range(ROUNDS):
        whole = model(work, name, i + 2, 1000 if i % 2 else 3000)
        bad = [whole[: len(whole) // 3], os.urandom(len(whole)), whole[:-1],
               b"", whole[: len(whole) // 2] + b"\0" * 64 + whole[len(whole) // 2 + 64:]]
        if not name.endswith(".shoal"):
            bad = bad[:2]  # others have no checksums: what looks whole is
        for data in bad:
            before = len(s.said)
            overwrite(path, data)
            refused += until(lambda: any("not served" in x for x in s.said[before:]) or s.process.poll() is not None)
        crowd.good.add(float(i + 2))
        overwrite(path, whole)
        picked += until(lambda: served(s) == i + 2 or s.process.poll() is not None)
    crowd.end()
    kind = os.path.splitext(name)[1]
    check(f"a served {kind} file is overwritten in place and the server lives", s.process.poll() is None,
          f"it ended with {s.process.poll()}")
    check(f"of {kind}, every whole one is picked up and every other refused", picked == ROUNDS
          and refused == ROUNDS * len(bad), (picked, refused, s.said[-3:]))
    check(f"of {kind}, all answers are those of a whole model", crowd.asked > 0
          and not crowd.bad, crowd.bad[:3])
    if s.process.poll() is None:
        check(f"of {kind}, the server ends well", s.stop() == 0)


def as_fast_as_it_goes(work):
    """One copy after the other, without waiting for anything."""
    path = os.path.join(work, "fast.shoal")
    models = [model(work, "m.shoal", k + 1, n) for k, n in enumerate((2000, 3000, 1000))]
    with open(path, "wb") as f:
        f.write(models[0])
    s = Server("live=fast.shoal", *ANY, "--reload-every", "0.01", cwd=work)
    crowd = Crowd(s, {1.0, 2.0, 3.0})
    for i in range(300):
        overwrite(path, models[i % 3] if i % 4 else os.urandom(1 << (i % 21)))
    overwrite(path, models[1])
    found = until(lambda: served(s) == 2.0 or s.process.poll() is not None)
    crowd.end()
    check("300 copies on top of each other do not end the server", s.process.poll() is None, s.process.poll())
    check("the last is served, and no answer was another than a whole model's", found and crowd.asked > 0
          and not crowd.bad, crowd.bad[:3])
    s.stop()


def at_a_prompt(work):
    """A question, the file is cut, the same question."""
    model(work, "asked.shoal", 1, 3000)
    p = subprocess.Popen([SHOAL, "similar", "asked.shoal", "-k", "3", "--json"], cwd=work, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    p.stdin.write("w7\n")
    p.stdin.flush()
    first = p.stdout.readline()
    os.truncate(os.path.join(work, "asked.shoal"), 100)
    p.stdin.write("w7\n")
    p.stdin.close()
    second = p.stdout.readline()
    code = p.wait(TIME_LIMIT)
    check("a file that shrinks while it is asked answers on", first and first == second and code == 0,
          (first, second, code))
    refused = subprocess.run([SHOAL, "similar", "asked.shoal", "w7"], cwd=work, capture_output=True, text=True)
    check("and cannot be opened again", refused.returncode == 1 and "asked.shoal: ends after 100 bytes" in
          refused.stderr, refused)


def main():
    work = tempfile.mkdtemp(prefix="shoal-overwrite-")
    try:
        at_a_prompt(work)
        replaced_in_place(work, "m.shoal")
        replaced_in_place(work, "m.vec")
        replaced_in_place(work, "m.bin")
        as_fast_as_it_goes(work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
