#!/usr/bin/env python3
"""What whoever runs a server needs: probes, a stop that loses nothing, an access log, ids and traces of requests,
limits of single models, and a folder whose models come and go.

    tests/serve/operations.py SHOAL

Prints TAP. Ports are the system's choice; every wait is bounded.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import harness
from harness import ANY, SHOAL, TIME_LIMIT, WORDS, Server, check, hold_port, vectors

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


def wait_for(truth, seconds=TIME_LIMIT):
    """Whether it becomes true."""
    began = time.time()
    while not truth():
        if time.time() - began > seconds:
            return False
        time.sleep(0.01)
    return True


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read().splitlines()


# ---- Ids and traces -----------------------------------------------------------------------------------


def ids(s):
    def header(name, sent):
        return s.ask("GET", "/ping", headers=sent).headers[name]

    check("a request without an id gets one", re.fullmatch(UUID, header("x-request-id", {}) or ""))
    for said in ("abc", "A-1_b.c:d/e+f=@", "x" * 100):
        check(f"the id {said[:20]} is given back", header("x-request-id", {"X-Request-Id": said}) == said)
    for said in ("", "x" * 101, "a b", 'a"b', "a\\b", "a;b", "caf\xe9", "\x1b[31m".replace("\x1b", "(")):
        check(f"the id {said[:20]!r} is not: another is made",
              re.fullmatch(UUID, header("x-request-id", {"X-Request-Id": said}) or ""))
    good = f"00-{TRACE}-{PARENT}-01"
    back = header("traceparent", {"traceparent": good}) or ""
    check("a trace is passed on with this request as its parent",
          re.fullmatch(f"00-{TRACE}-[0-9a-f]{{16}}-01", back) and PARENT not in back, back)
    other = header("traceparent", {"traceparent": good}) or ""
    check("each request is another parent", other[36:52] != back[36:52], (back, other))
    check("the sampled flag is passed on", (header("traceparent", {"traceparent": good[:-2] + "00"}) or "")[-2:] == "00")
    later = header("traceparent", {"traceparent": "01" + good[2:] + "-more"}) or ""
    check("a later version is taken for what is known of it", later.startswith(f"00-{TRACE}-"), later)
    for what, bad in (("of version ff", "ff" + good[2:]), ("in upper case", good.upper()), ("cut short", good[:-1]),
                      ("with more behind it", good + "-x"), ("without a trace", f"00-{'0' * 32}-{PARENT}-01"),
                      ("without a parent", f"00-{TRACE}-{'0' * 16}-01"), ("with other dashes", good.replace("-", "_")),
                      ("that is empty", ""), ("of other letters", f"00-{TRACE[:-1]}g-{PARENT}-01")):
        check(f"a traceparent {what} is dropped", header("traceparent", {"traceparent": bad}) is None)
    check("without one there is none", header("traceparent", {}) is None)


# ---- Probes -------------------------------------------------------------------------------------------


def probes(work, s):
    for path, said in (("live", "Live"), ("ready", "Ready"), ("startup", "Started")):
        a = s.ask("GET", f"/health/{path}")
        check(f"/health/{path} is 200", a.status == 200 and a.json() == {"status": said}, a)
    check("there is no other", s.ask("GET", "/health/other").error() == (404, "ResourceNotFoundException"))
    check("nor another method", s.ask("POST", "/health/live", b"").error() == (405, "MethodNotAllowedException"))
    s.ask("PUT", "/models/words?min_worker=0&synchronous=true", where="management")
    a = s.ask("GET", "/v2/models/words/ready")
    check("a model without workers is not ready", a.status == 503, a)
    s.ask("PUT", "/models/words?min_worker=1&synchronous=true", where="management")

    held = hold_port()
    port = held.getsockname()[1]
    starting = subprocess.Popen([SHOAL, "serve", "words=big.vec", "--no-sandbox", "--inference-address",
                                 f"127.0.0.1:{port}", "--management-address", "none", "--metrics-address", "none"],
                                cwd=work, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    seen = []

    def look():
        import http.client
        for path in ("/health/startup", "/health/ready", "/health/live", "/ping", "/predictions/words"):
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=TIME_LIMIT)
            try:
                c.request("GET", path)
                seen.append((path, c.getresponse().status))
            except OSError:
                return False
            finally:
                c.close()
        return ("/health/startup", 200) in seen

    wait_for(look, 60)
    states = {p: [x for q, x in seen if q == p] for p, _ in seen}
    check("startup is 503 until the models are open, then 200", states["/health/startup"][0] in (200, 503)
          and states["/health/startup"][-1] == 200
          and sorted(states["/health/startup"], reverse=True) == states["/health/startup"], states)
    if 503 in states["/health/startup"]:
        check("ready and a prediction are 503 meanwhile, ping 500, live 200",
              states["/health/ready"][0] == 503 and states["/predictions/words"][0] == 503
              and states["/ping"][0] == 500 and set(states["/health/live"]) == {200}, states)
    starting.send_signal(signal.SIGTERM)
    check("and it stops as any other", starting.wait(TIME_LIMIT) == 0)
    starting.stdout.close()
    held.close()


# ---- The stop -----------------------------------------------------------------------------------------


def stop(work):
    """Not ready first, then a while in which new clients are answered, then no more of them."""
    s = Server("words=words.vec", *ANY, "--drain-delay", "1.5", cwd=work)
    host, port = s.address["inference"].rsplit(":", 1)
    idle = socket.create_connection((host, int(port)), timeout=TIME_LIMIT)
    idle.sendall(b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
    check("a connection is kept while the server is ready", b"Connection: close" not in idle.recv(65536))
    s.process.send_signal(signal.SIGTERM)
    began = time.time()
    check("a stop makes it not ready", wait_for(lambda: s.ask("GET", "/health/ready").status == 503, 1.4))
    a = s.ask("GET", "/health/ready")
    check("which it says", a.json() == {"status": "Draining"} and a.headers["Retry-After"] == "1", a)
    check("neither by Open Inference", s.ask("GET", "/v2/health/ready").status == 503)
    check("nor by TorchServe's ping", s.ask("GET", "/ping").status == 500)
    check("but alive", s.ask("GET", "/health/live").status == 200 and s.ask("GET", "/v2/health/live").status == 200)
    a = s.ask("POST", "/predictions/words", b"fish")
    check("new clients are still answered, and told that the connection ends",
          a.status == 200 and a.headers["Connection"] == "close", a)
    idle.sendall(b"POST /predictions/words HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nfish")
    back = b""
    while part := idle.recv(65536):
        back += part
    check("so is one whose connection was kept", b" 200 OK" in back and b"\r\nConnection: close\r\n" in back, back)
    check("then it ends, with code 0", s.process.wait(TIME_LIMIT) == 0)
    check("after its delay", time.time() - began >= 1.4)
    idle.close()


# ---- The log ------------------------------------------------------------------------------------------


def json_log(work):
    s = Server("words=words.vec", "--model-store", "store", *ANY, "--log", "json", cwd=work)
    s.ask("POST", "/predictions/words", b"fish",
          {"X-Request-Id": "one", "traceparent": f"00-{TRACE}-{PARENT}-01"})
    s.ask("GET", "/models/words/similar?word=secret&k=2", headers={"X-Request-Id": "two"})
    s.ask("HEAD", "/ping", headers={"X-Request-Id": "three"})
    s.ask("GET", "/nothing/here", headers={"X-Request-Id": "four"})
    s.ask("POST", "/v2/models/none/infer", b"{}", {"X-Request-Id": "five"})
    s.ask("GET", "/models", headers={"X-Request-Id": "six"}, where="management")
    s.raw(b"GET / HTTP/9.9\r\n\r\n")
    s.raw(b"\x1b]0;x\x07 / HTTP/1.1\r\n\r\n")
    check("the server ends well", s.stop() == 0)
    wait_for(lambda: sum(x.startswith("{") for x in s.said) >= 8, 10)
    lines = [json.loads(x) for x in s.said if x.startswith("{")]
    by = {x["id"]: x for x in lines}
    one = by.get("one", {})
    check("a line is an object with what was asked and answered", set(one) == {
        "time", "id", "method", "route", "status", "ms", "in", "out", "model", "version", "client", "trace_id",
        "span_id", "parent_id"} and one["method"] == "POST" and one["route"] == "/predictions/{model_name}"
          and one["status"] == 200 and one["in"] == 4 and one["out"] > 100 and one["model"] == "words"
          and one["version"] == "1.0" and one["client"] == "127.0.0.1" and 0 < one["ms"] < 1000 * TIME_LIMIT, one)
    check("with the trace", one.get("trace_id") == TRACE and one.get("parent_id") == PARENT
          and re.fullmatch("[0-9a-f]{16}", one.get("span_id", "")), one)
    check("and the time in UTC", re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one.get("time", "")), one)
    two = by.get("two", {})
    check("what was asked for is not in it", two.get("status") == 404 and two["route"] == "/models/{model_name}/similar"
          and "secret" not in "".join(s.said) and "trace_id" not in two, two)
    check("HEAD is HEAD", by.get("three", {}).get("method") == "HEAD")
    four = by.get("four", {})
    check("an address that nobody answers has no route", four.get("status") == 404 and four["route"] == ""
          and "model" not in four, four)
    check("an error of Open Inference has its line", by.get("five", {}).get("status") == 404)
    check("so has management", by.get("six", {}).get("route") == "/models"
          and by["six"]["client"].startswith("127.0.0."), by.get("six"))
    check("requests that cannot be read have theirs", sorted(x["status"] for x in lines if x["route"] == "" and
                                                             x["id"] != "four") == [400, 505], lines)
    check("nothing in it is obeyed by a terminal", all(x.isprintable() for x in s.said), s.said)
    check("there are as many lines as answers", len(lines) == 8, len(lines))


def text_log(work):
    path = os.path.join(work, "access.log")
    s = Server("words=words.vec", *ANY, "--log", "text", "--log-file", "access.log", "--no-log-client", cwd=work,
               sandbox=True)
    s.ask("POST", "/predictions/words", b"fish", {"X-Request-Id": "first"})
    check("the lines go to the file soon", wait_for(lambda: len(lines_of(path)) == 1, 20))
    line = lines_of(path)[0]
    check("and are for people", re.fullmatch(
        r"\S+Z - POST /predictions/\{model_name\} 200 \d+\.\d{3} ms in 4 out \d+ model words:1\.0 id first", line), line)
    os.rename(path, path + ".1")
    s.process.send_signal(signal.SIGHUP)
    check("SIGHUP opens the file anew, within the sandbox", wait_for(lambda: os.path.exists(path), 20), s.said)
    s.ask("GET", "/ping", headers={"X-Request-Id": "second"})
    check("and what follows is in the new one", wait_for(lambda: len(lines_of(path)) == 1, 20)
          and "id second" in lines_of(path)[0] and len(lines_of(path + ".1")) == 1)
    os.remove(path)
    os.mkdir(path)
    s.process.send_signal(signal.SIGHUP)
    check("a file that cannot be opened is said, and the old one goes on",
          wait_for(lambda: any("log: access.log: Is a directory" in x for x in s.said), 20), s.said)
    check("the server goes on", s.ask("GET", "/ping").status == 200)
    check("and ends well", s.stop() == 0)
    os.rmdir(path)
    check("a log that cannot be written ends the start", refusal(work, "--log", "text", "--log-file", "no/such") ==
          (1, "shoal: --log-file: no/such: No such file or directory"), refusal(
              work, "--log", "text", "--log-file", "no/such"))


def refusal(work, *args):
    """Exit code and sentence of a server that does not start."""
    done = subprocess.run([SHOAL, "serve", "--no-sandbox", *args, *ANY], cwd=work, capture_output=True, text=True,
                          timeout=TIME_LIMIT)
    return done.returncode, done.stderr.strip()


def sampled_log(work):
    path = os.path.join(work, "some.log")
    s = Server("words=words.vec", *ANY, "--log", "json", "--log-file", "some.log", "--log-sample", "0.2", cwd=work)
    requests = 1000
    host, port = s.address["inference"].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=TIME_LIMIT) as c:
        back, n = b"", 0
        for _ in range(10):
            c.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n" * (requests // 10))
            n += requests // 10
            while back.count(b"HTTP/1.1 200") < n:
                back += c.recv(65536)
    s.ask("PUT", "/models/words?min_worker=0&synchronous=true", where="management")
    for _ in range(5):
        s.ask("POST", "/predictions/words", b"fish")
    s.stop()
    lines = [json.loads(x) for x in lines_of(path)]
    some = sum(x["route"] == "/health/live" for x in lines)
    check("a share of the answers has a line", 0.1 * requests < some < 0.3 * requests, some)
    check("of the server's failures all have", sum(x["status"] == 503 for x in lines) == 5, lines[-8:])


def blocked_log(work):
    """Nobody reads the lines: no request waits for that, and the log says what it lost."""
    process = subprocess.Popen([SHOAL, "serve", "words=words.vec", "--no-sandbox", "--log", "json", *ANY], cwd=work,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = None
        for line in process.stdout:
            if line.startswith("inference"):
                address = line.split()[1].split("://")[1]
            if line.startswith("models"):
                break
        host, port = address.rsplit(":", 1)
        n, want = 0, 12000
        with socket.create_connection((host, int(port)), timeout=60) as c:
            tail = b""
            sent = 0
            while n < want:
                if sent == n:
                    c.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
                    sent += 100
                tail += c.recv(1 << 20)
                n += tail.count(b'{\n  "status": "Live"\n}\n')
                tail = tail[tail.rfind(b"HTTP/1.1"):] if not tail.endswith(b'"Live"\n}\n') else b""
        check("a log that nobody reads stops no request", n >= want, n)
        said = []
        reader = threading.Thread(target=lambda: said.extend(process.stderr))
        reader.start()
        process.send_signal(signal.SIGTERM)
        check("nor the end", process.wait(TIME_LIMIT) == 0)
        reader.join(TIME_LIMIT)
        lines = [json.loads(x) for x in said if x.startswith("{")]
        lost = sum(x.get("lost", 0) for x in lines)
        check("lines and those lost are as many as the answers", lost > 0
              and sum("id" in x for x in lines) + lost == sent, (lost, len(lines), sent))
    finally:
        if process.poll() is None:
            process.kill()
        process.stdout.close()
        process.stderr.close()


# ---- Limits of a model --------------------------------------------------------------------------------


def limits(work):
    with open(os.path.join(work, "limits.conf"), "w") as f:
        f.write("limits = words:max_body=8,words:workers=2,other:rate=2\n")
    s = Server("words=words.vec", "other=words.vec", "free=words.vec", "--config", "limits.conf", *ANY, cwd=work)

    def manage(method, path):
        return s.ask(method, path, where="management")

    a = s.ask("POST", "/predictions/words", b"x" * 9)
    check("a model has its own largest body", a.error() == (413, "RequestEntityTooLargeException"), a)
    check("which others have not", s.ask("POST", "/predictions/free", b"fish" + b" " * 50).status != 413)
    check("smaller ones are taken", s.ask("POST", "/predictions/words", b"fish").status == 200)
    statuses = [s.ask("POST", "/predictions/other", b"fish").status for _ in range(5)]
    check("a model has its own rate", statuses[:2] == [200, 200] and 429 in statuses, statuses)
    d = manage("GET", "/models/words").json()[0]
    check("they are described", d["maxBody"] == 8 and d["minWorkers"] == 2 and d["rate"] == 0, d)
    a = manage("PUT", "/models/words?max_body=100&queue_size=7&batch_size=3&max_batch_delay=9&response_timeout=11"
                      "&rate=5&max_requests=2")
    check("management changes them", a.status == 200 and a.json() == {"status": "Limits updated for model: words"}, a)
    d = manage("GET", "/models/words").json()[0]
    check("all of them, and no workers", (d["maxBody"], d["queueSize"], d["batchSize"], d["maxBatchDelay"],
          d["responseTimeout"], d["rate"], d["maxRequests"], d["minWorkers"]) == (100, 7, 3, 9, 11, 5, 2, 2)
          and d["jobQueueStatus"]["remainingCapacity"] == 7, d)
    a = manage("PUT", "/models/words?rate=0&min_worker=1&synchronous=true")
    check("with workers, too", a.json() == {"status": "Workers scaled to 1 for model: words"}, a)
    check("and at once", manage("GET", "/models/words").json()[0]["rate"] == 0
          and s.ask("POST", "/predictions/words", b"fish" + b" " * 20).status == 200)
    for bad in ("queue_size=0", "batch_size=0", "rate=-1", "max_body=x", "response_timeout=0", "max_requests=1.5"):
        a = manage("PUT", "/models/words?" + bad)
        check(f"{bad} is refused", a.error() == (400, "BadRequestException"), a)
    check("so is a model that is not there", manage("PUT", "/models/none?rate=1").error() ==
          (404, "ModelNotFoundException"))
    s.stop()
    for bad in ("words", "words:rate", "words:rate=x", ":rate=1", "words:speed=1", "words:queue_size=0", "words:rate=1,"
                "x"):
        code, said = refusal(work, "words=words.vec", "--limits", bad)
        check(f"--limits {bad} is refused", code == 1 and "--limits has" in said, (code, said))


def concurrency(work):
    """Requests beyond the number that may be under way are told so, and a place that becomes free is taken."""
    s = Server("words=many.vec", *ANY, "--limits", "words:max_requests=1", cwd=work)
    body = json.dumps({"words": [f"w{i}" for i in range(3000)], "k": 1000}).encode()
    head = b"POST /predictions/words HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    host, port = s.address["inference"].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=TIME_LIMIT) as slow:
        slow.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        slow.recv(1)  # the answer is large and not read: the request is under way
        a = s.ask("POST", "/predictions/words", b"w1")
        check("one more than may be at once is 503", a.error() == (503, "ServiceUnavailableException")
              and a.headers["Retry-After"] == "1", a)
    check("a place that is free is taken", wait_for(lambda: s.ask("POST", "/predictions/words", b"w1").status == 200, 60))
    s.stop()


def kept(work):
    """Limits that management set survive a restart; a state of the form before is read."""
    os.makedirs(os.path.join(work, "keeps"), exist_ok=True)
    vectors(os.path.join(work, "keeps", "a.vec"), WORDS)
    s = Server("--model-store", "keeps", *ANY, cwd=work)
    s.ask("POST", "/models?url=a.vec&initial_workers=1&synchronous=true&rate=50&max_requests=9&max_body=77&queue_size=5",
          where="management")
    s.stop()
    s = Server("--model-store", "keeps", *ANY, cwd=work)
    d = s.ask("GET", "/models/a", where="management").json()[0]
    check("limits survive a restart", (d["rate"], d["maxRequests"], d["maxBody"], d["queueSize"]) == (50, 9, 77, 5), d)
    s.stop()
    with open(os.path.join(work, "keeps", ".shoal-serve.state"), "w") as f:
        f.write("shoal-serve 1\nmodel a 1.0 7 5 100 1 1 60 1 a.vec\n")
    s = Server("--model-store", "keeps", *ANY, cwd=work)
    d = s.ask("GET", "/models/a", where="management").json()[0]
    check("a state of the first form is read", (d["batchSize"], d["responseTimeout"], d["rate"]) == (7, 60, 0), d)
    s.stop()


# ---- A folder that is watched -------------------------------------------------------------------------


def watched(work):
    folder = os.path.join(work, "models")
    os.mkdir(folder)
    vectors(os.path.join(folder, "first.vec"), WORDS)
    with open(os.path.join(folder, "README"), "w") as f:
        f.write("not a model\n")
    s = Server("--models", "models", "--reload-every", "0.05", "--limits", "second:rate=1000", *ANY, cwd=work,
               sandbox=True)

    def status(model):
        return s.ask("POST", f"/predictions/{model}", b"fish").status

    def said(text):
        return any(text in x for x in s.said)

    check("what is there at the start is served", status("first") == 200)
    check("what is no model is passed over, and said so", wait_for(lambda: said("passed over: README"), 10), s.said)
    vectors(os.path.join(folder, "second.vec"), WORDS)
    check("a file that comes is served", wait_for(lambda: status("second") == 200, 20), s.said)
    check("which the log says", said("model second, version 1.0: second.vec is served"), s.said)
    check("with its limits", s.ask("GET", "/models/second", where="management").json()[0]["rate"] == 1000)
    vectors(os.path.join(folder, "second.vec"), WORDS + ["kelp"])
    check("one that is replaced is served anew", wait_for(
        lambda: s.ask("GET", "/models/second/vector?word=kelp").status == 200, 20), s.said)
    os.remove(os.path.join(folder, "second.vec"))
    check("one that is removed is served no longer", wait_for(lambda: status("second") == 404, 20), s.said)
    check("which the log says, too", said("model second, version 1.0: its file is gone"), s.said)

    with open(os.path.join(folder, "first.vec"), "rb") as f:
        whole = f.read()
    with open(os.path.join(folder, "half.vec"), "wb") as f:
        f.write(whole[:len(whole) // 2])
        f.flush()
        check("half a file is not served", wait_for(lambda: said("passed over: half.vec"), 20)
              and status("half") == 404, s.said)
        f.write(whole[len(whole) // 2:])
    check("but is when it is whole", wait_for(lambda: status("half") == 200, 20), s.said)
    for name in (".hidden.vec", "copy.vec.part", "copy.vec.tmp"):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(whole)
    os.symlink("first.vec", os.path.join(folder, "link.vec"))
    os.mkdir(os.path.join(folder, "sub"))
    time.sleep(0.5)
    names = {m["modelName"] for m in s.ask("GET", "/models", where="management").json()["models"]}
    check("names of copies, hidden ones, links and folders are not", names == {"first", "half"}, names)
    os.rename(os.path.join(folder, "copy.vec.part"), os.path.join(folder, "copy.vec"))
    check("a copy is served once it has its name", wait_for(lambda: status("copy") == 200, 20), s.said)
    s.ask("DELETE", "/models/copy", where="management")
    time.sleep(0.5)
    check("a model that management ended stays so", status("copy") == 404)
    vectors(os.path.join(folder, "copy.vec"), WORDS)
    check("until its file is another", wait_for(lambda: status("copy") == 200, 20), s.said)
    vectors(os.path.join(folder, "copy.bin"), WORDS)
    check("a second file of a model's name is passed over", wait_for(lambda: said("already registered for model copy"), 20),
          s.said)
    check("nothing is written into the folder", not os.path.exists(os.path.join(folder, ".shoal-serve.state")))
    check("the first is served all the while", status("first") == 200)
    check("and the server ends well", s.stop() == 0)
    code, text = refusal(work, "--models", "models", "--model-store", "store")
    check("--models beside --model-store is refused", (code, text) == (
        1, "shoal: serve: found --models and --model-store, want one of them"), (code, text))
    code, text = refusal(work, "--models", "none-such")
    check("so is a folder that is not there", code == 1 and "none-such" in text, (code, text))


def main():
    work = tempfile.mkdtemp(prefix="shoal-operations-")
    try:
        os.mkdir(os.path.join(work, "store"))
        vectors(os.path.join(work, "words.vec"), WORDS)
        vectors(os.path.join(work, "store", "words.vec"), WORDS)
        vectors(os.path.join(work, "many.vec"), [f"w{i}" for i in range(3000)])
        vectors(os.path.join(work, "big.vec"), [f"w{i}" for i in range(60000)], dim=16)
        s = Server("words=words.vec", *ANY, cwd=work)
        ids(s)
        probes(work, s)
        check("the server ends well", s.stop() == 0)
        for part in (stop, json_log, text_log, sampled_log, blocked_log, limits, concurrency, kept, watched):
            part(work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
