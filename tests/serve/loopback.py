#!/usr/bin/env python3
"""The server over loopback: TorchServe's documented requests, what is malformed,
limits, tokens, replacement under load, restart and stop.

    tests/serve/loopback.py SHOAL

Prints TAP. Ports are the system's choice; every wait is bounded.
"""

import base64
import http.client
import json
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

import harness
from harness import ANY, TIME_LIMIT, SHOAL, WORDS, Server, check, finish, multipart, near, png, vectors


def inference(s):
    a = s.ask("GET", "/ping")
    check("GET /ping says Healthy", a.status == 200 and a.json() == {"status": "Healthy"}, a)
    check("every answer has a request id", re.fullmatch(r"[0-9a-f-]{36}", a.headers["x-request-id"] or ""))
    for method, path in (("OPTIONS", "/"), ("GET", "/api-description")):
        a = s.ask(method, path)
        j = a.json() or {}
        check(f"{method} {path} describes the interface", a.status == 200 and j.get("openapi") == "3.0.1"
              and "/predictions/{model_name}" in j["paths"] and "/models" not in j["paths"], a)

    a = s.ask("PUT", "/predictions/words", b"fish")
    near = a.json()
    check("PUT /predictions (curl -T) gives words and scores", a.status == 200 and len(near) == 5
          and "fish" not in near and all(0 < x <= 1 for x in near.values()), a)
    body, headers = multipart([("data", b"fish")])
    a = s.ask("POST", "/predictions/words", body, headers)
    check("a multipart part (curl -F) gives the same", a.json() == near, a)
    body, headers = multipart([("data", b"fish"), ("data", b"tide")])
    a = s.ask("POST", "/predictions/words", body, headers)
    check("two parts give a list of two", isinstance(a.json(), list) and a.json()[0] == near and len(a.json()) == 2, a)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    check("a form's field data (curl -d data=) gives the same",
          s.ask("POST", "/predictions/words", b"data=fish", form).json() == near)
    check("a bare word in a form (curl -d) gives the same",
          s.ask("POST", "/predictions/words", b"fish", form).json() == near)
    as_json = {"Content-Type": "application/json"}
    check("JSON text gives the same", s.ask("POST", "/predictions/words", b'"fish"', as_json).json() == near)
    a = s.ask("POST", "/predictions/words", b'["fish","tide"]', as_json)
    check("a JSON list gives a list", isinstance(a.json(), list) and len(a.json()) == 2 and a.json()[0] == near, a)
    a = s.ask("POST", "/predictions/words", b'{"words":["fish"],"k":2}', as_json)
    check("k says how many", [len(x) for x in a.json()] == [2], a)
    a = s.ask("POST", "/predictions/words", b'{"words":["fish"],"vectors":true}', as_json)
    check("vectors gives the rows", a.json() == [[1.1, 0.5, 0.5, 0.5]], a)
    check("a version that is there answers", s.ask("POST", "/predictions/words/1.0", b"fish").json() == near)

    check("an unknown model is ModelNotFoundException",
          s.ask("POST", "/predictions/none", b"x").error() == (404, "ModelNotFoundException"))
    a = s.ask("POST", "/predictions/none", b"x").json()
    check("its message is TorchServe's", a == {"code": 404, "type": "ModelNotFoundException",
                                               "message": "Model not found: none"}, a)
    check("an unknown version is ModelVersionNotFoundException",
          s.ask("POST", "/predictions/words/9", b"x").error() == (404, "ModelVersionNotFoundException"))
    check("a GET of predictions is MethodNotAllowedException",
          s.ask("GET", "/predictions/words").error() == (405, "MethodNotAllowedException"))
    check("an unknown path is ResourceNotFoundException",
          s.ask("GET", "/nothing/here").error() == (404, "ResourceNotFoundException"))
    check("management is not found at the inference address",
          s.ask("GET", "/models").error() == (404, "ResourceNotFoundException"))


def embeddings(s):
    a = s.ask("GET", "/models/words/similar?word=fish&k=3").json()
    check("similar gives the nearest words, best first", a["word"] == "fish" and len(a["similar"]) == 3
          and a["similar"] == sorted(a["similar"], key=lambda x: -x["score"]), a)
    a = s.ask("GET", "/models/words/analogy?a=sea&b=fish&c=tide&k=2").json()
    check("analogy answers with none of its three words", len(a["answers"]) == 2
          and not {"sea", "fish", "tide"} & {x["word"] for x in a["answers"]}, a)
    a = s.ask("GET", "/models/words/vector?word=sea").json()
    check("vector gives the row", a == {"word": "sea", "vector": [1, 1, 0.5, 0.5]}, a)
    a = s.ask("GET", "/models/words/map?word=sea&k=4").json()
    check("map gives a place to the word and its neighbours", len(a["map"]) == 5 and a["map"][0]["word"] == "sea"
          and all("x" in p and "y" in p for p in a["map"]), a)
    first = None
    for _ in range(600):
        a = s.ask("GET", "/models/words/map")
        if a.status != 200 or "making" not in a.json():
            break
        if a.json()["first"] and not first:
            first = s.ask("GET", "/models/words/map?layout=pca").json()
        time.sleep(0.01)
    check("while the map is made, that by principal components is there", not first or "making" not in first
          and first["layouts"][-1]["name"] == "PCA" and first["words"][:1] == ["sea"], str(first)[:200])
    check("no other layout can be had alone", s.ask("GET", "/models/words/map?layout=umap").status == 400)
    whole = a.json() if a.status == 200 else {}
    check("map without a word is that of the commonest words", whole.get("words", [])[:1] == ["sea"]
          and [l["name"] for l in whole["layouts"]] == ["t-SNE", "PCA"], str(a)[:200])
    n = len(whole.get("words", []))
    sizes = [len(base64.b64decode(x)) for x in (whole["layouts"][0]["places"], whole["near"]["ids"], whole["vectors"]["at"])]
    check("with a place, neighbours and a vector of each", sizes == [4 * n, 2 * n * whole["near"]["k"], n * whole["vectors"]["dim"]], sizes)
    a = s.ask("GET", "/models/words/similar?word=fsh")
    check("an unknown word is 404 and those spelt alike are named", a.status == 404 and "did you mean fish" in
          a.json()["message"], a)
    for query in ("", "?word=", "?word=fish&k=0", "?word=fish&k=x", "?word=%00", "?word=%zz"):
        check(f"similar{query} is a bad request", s.ask("GET", "/models/words/similar" + query).status == 400)


def unseen_words(work):
    """Of vectors with subwords words that were never seen are answered, and said to be such."""
    subprocess.run([SHOAL, "gen", "world", "--words", "20000", "-q", "-o", "world.txt"], cwd=work, check=True)
    subprocess.run([SHOAL, "train", "cbow", "world.txt", "-q", "--dim", "8", "--epochs", "1", "--minn", "2", "--maxn",
                    "4", "--buckets", "500", "-o", "grams.shoal"], cwd=work, check=True)
    s = Server("grams=grams.shoal", *ANY, cwd=work)
    a = s.ask("GET", "/models/grams/similar?word=never-seen&k=3").json()
    check("similar answers a word never seen and says so", a["word"] == "never-seen" and a["known"] is False
          and len(a["similar"]) == 3, a)
    a = s.ask("GET", "/models/grams/similar?word=the&k=3").json()
    check("of a word that is known it says nothing", "known" not in a and len(a["similar"]) == 3, a)
    one = s.ask("GET", "/models/grams/vector?word=never-seen").json()
    check("vector gives what its n-grams make", one["known"] is False and len(one["vector"]) == 8
          and any(one["vector"]), one)
    a = s.ask("GET", "/models/grams/analogy?a=the&b=never-seen&c=and&k=2").json()
    check("analogy names the words never seen", a["b"] == "never-seen" and a["unknown"] == ["never-seen"]
          and len(a["answers"]) == 2, a)
    a = s.ask("GET", "/models/grams/analogy?a=the&b=x1&c=x2&k=2&method=mul").json()
    check("several of them, too", a["unknown"] == ["x1", "x2"] and len(a["answers"]) == 2, a)
    a = s.ask("GET", "/models/grams/map?word=never-seen&k=4").json()
    check("map places it with its neighbours", a["known"] is False and len(a["map"]) == 5
          and a["map"][0]["word"] == "never-seen", a)
    a = s.ask("POST", "/predictions/grams", b'{"words":["the","never-seen"],"vectors":true}',
              {"Content-Type": "application/json"}).json()
    check("predictions of both kinds stand side by side", len(a) == 2 and a[1] == one["vector"] and a[0] != a[1], a)
    a = s.ask("POST", "/predictions/grams", b'["the","never-seen","and","q\\"uote"]', {"Content-Type": "application/json"})
    check("so do their nearest words", a.status == 200 and [len(x) for x in a.json()] == [5] * 4, a)
    a = s.ask("GET", "/models/grams/similar?word=" + "long" * 2000)
    check("a very long word is answered", a.status == 200 and a.json()["known"] is False, a.status)
    check("a server of subwords ends well", s.stop() == 0)


def versions_of_words(work):
    """What is asked of words is asked of the version that the address names."""
    vectors(os.path.join(work, "one.vec"), WORDS)
    vectors(os.path.join(work, "two.vec"), [w + "two" for w in WORDS])
    s = Server("both:1.0=one.vec", "both:2.0=two.vec", *ANY, cwd=work)
    for query in ("similar?word=seatwo", "vector?word=seatwo", "analogy?a=seatwo&b=fishtwo&c=tidetwo", "map?word=seatwo"):
        found = [s.ask("GET", f"/models/both/{query}&version={v}").status for v in ("1.0", "2.0", "3.0")]
        check(f"{query.partition('?')[0]} asks the version that is named", found == [404, 200, 404], found)
    s.stop()


def protocols(s):
    a = s.ask("GET", "/v2").json()
    check("GET /v2 names the server", a["name"] == "shoal" and "version" in a and "extensions" in a, a)
    check("GET /v2/health/live", s.ask("GET", "/v2/health/live").json() == {"live": True})
    check("GET /v2/health/ready", s.ask("GET", "/v2/health/ready").json() == {"ready": True})
    a = s.ask("GET", "/v2/models/words").json()
    check("GET /v2/models/NAME gives inputs and outputs", a["inputs"][0]["datatype"] == "BYTES"
          and a["outputs"] == [{"name": "vectors", "datatype": "FP32", "shape": [-1, 4]}] and a["versions"] == ["1.0"], a)
    check("the same of a version", s.ask("GET", "/v2/models/words/versions/1.0").json() == a)
    check("a model that is not there is not ready", s.ask("GET", "/v2/models/none/ready").status == 404
          and s.ask("GET", "/v1/models/none").status == 404)
    check("GET .../ready", s.ask("GET", "/v2/models/words/ready").json() == {"name": "words", "ready": True})
    infer = {"id": "42", "inputs": [{"name": "words", "shape": [2], "datatype": "BYTES", "data": ["sea", "fish"]}]}
    a = s.ask("POST", "/v2/models/words/infer", json.dumps(infer)).json()
    check("POST .../infer gives a tensor", a["id"] == "42" and a["model_name"] == "words" and a["outputs"] ==
          [{"name": "vectors", "datatype": "FP32", "shape": [2, 4], "data": [1, 1, 0.5, 0.5, 1.1, 0.5, 0.5, 0.5]}], a)
    for bad in ("{}", "[]", '{"inputs":[]}', '{"inputs":[{"name":"a"}]}',
                '{"inputs":[{"name":"a","shape":[3],"datatype":"BYTES","data":["sea"]}]}',
                '{"inputs":[{"name":"a","shape":[-1],"datatype":"BYTES","data":["sea"]}]}',
                '{"inputs":[{"name":"a","shape":[1e99],"datatype":"FP32","data":[1]}]}',
                '{"inputs":[{"name":"a","shape":[2],"datatype":"FP32","data":[[1]]}]}'):
        a = s.ask("POST", "/v2/models/words/infer", bad)
        check(f"infer of {bad[:50]} is an error", a.status == 400 and "error" in a.json(), a)
    a = s.ask("POST", "/v1/models/words:predict", '{"instances":["sea","fish"]}').json()
    check("POST /v1/models/NAME:predict gives predictions", len(a["predictions"]) == 2, a)
    check("GET /v1/models/NAME says ready", s.ask("GET", "/v1/models/words").json() == {"name": "words", "ready": True})
    check("errors of /v2 are the protocol's", "error" in s.ask("GET", "/v2/models/none").json())
    binary_texts(s)


def management(s):
    def m(method, path, body=None, headers=None):
        return s.ask(method, path, body, headers, "management")

    a = m("POST", "/models?url=words.vec&model_name=noop")
    check("registering without workers is 200 and says so", a.status == 200 and a.json()["status"] ==
          'Model "noop" Version: 1.0 registered with 0 initial workers. Use scale workers API to add workers for '
          "the model.", a)
    a = s.ask("POST", "/predictions/noop", b"sea")
    check("a model without workers is 503 with Retry-After", a.error() == (503, "ServiceUnavailableException")
          and a.headers["Retry-After"] and "has no worker to serve inference request" in a.json()["message"], a)
    ready = [s.ask("GET", x) for x in ("/v2/models/noop/ready", "/v2/models/noop/versions/1.0/ready", "/v1/models/noop")]
    check("and not ready is 503 with the answer", all(x.status == 503 and x.json() == {"name": "noop", "ready": False}
                                                    for x in ready), ready)
    a = m("POST", "/models?url=words.vec&model_name=noop&model_version=invoke")
    check("a version that addresses take for a verb is refused", a.error() == (400, "BadRequestException"), a)
    a = m("POST", "/models?url=words.vec&model_name=noop&model_version=2.0&initial_workers=1&synchronous=true")
    check("registering with workers, synchronously, is 200", a.status == 200 and a.json()["status"] ==
          'Model "noop" Version: 2.0 registered with 1 initial workers', a)
    a = m("POST", "/models?url=words.vec&model_name=third&initial_workers=1&synchronous=false")
    check("asynchronously it is 202", a.status == 202 and a.json()["status"] == "Processing worker updates...", a)
    a = m("POST", "/models", json.dumps({"url": "words.vec", "model_name": "fourth", "batch_size": 3}),
          {"Content-Type": "application/json"})
    check("parameters may come as JSON", a.status == 200, a)
    check("a version that is there is ConflictStatusException",
          m("POST", "/models?url=words.vec&model_name=noop").error() == (409, "ConflictStatusException"))
    for url in ("../words.vec", "/etc/passwd", "sub%2Fx", ".state", "http://host/x.mar", "https://host/x", "file:///x"):
        a = m("POST", "/models?url=" + url)
        check(f"registering {url} is BadRequestException", a.error() == (400, "BadRequestException"), a)
    check("registering what is not there is ModelNotFoundException",
          m("POST", "/models?url=none.vec").error() == (404, "ModelNotFoundException"))
    a = m("POST", "/models?url=junk.bin")
    check("registering what is no model is BadRequestException, without a path", a.error() ==
          (400, "BadRequestException") and "/" not in a.json()["message"].replace("/s", ""), a)
    check("registering without url is BadRequestException", m("POST", "/models").json()["message"] ==
          "Parameter url is required.")

    a = m("PUT", "/models/noop?min_worker=3")
    check("scaling is 202", a.status == 202 and a.json()["status"] == "Processing worker updates...", a)
    a = m("PUT", "/models/noop?min_worker=3&synchronous=true")
    check("scaling, synchronously, is 200", a.status == 200
          and a.json()["status"] == "Workers scaled to 3 for model: noop", a)
    a = m("PUT", "/models/noop/2.0?min_worker=2&synchronous=true")
    check("scaling a version names it", a.status == 200
          and a.json()["status"] == "Workers scaled to 2 for model: noop, version: 2.0", a)
    check("max_worker below min_worker is refused",
          m("PUT", "/models/noop?min_worker=3&max_worker=2").json()["message"] ==
          "max_worker cannot be less than min_worker.")
    check("scaling an unknown model is 404", m("PUT", "/models/none?min_worker=1").error() ==
          (404, "ModelNotFoundException"))

    a = m("GET", "/models/noop").json()
    want = {"modelName", "modelVersion", "modelUrl", "engine", "runtime", "minWorkers", "maxWorkers", "batchSize",
            "maxBatchDelay", "workers", "jobQueueStatus"}
    check("describing gives TorchServe's fields", isinstance(a, list) and len(a) == 1 and want <= a[0].keys()
          and len(a[0]["workers"]) == 3 and a[0]["workers"][0]["status"] == "READY" and
          {"id", "startTime", "status", "gpu", "memoryUsage"} <= a[0]["workers"][0].keys() and
          a[0]["jobQueueStatus"].keys() == {"remainingCapacity", "pendingRequests"}, a)
    check("describing a version", m("GET", "/models/noop/2.0").json()[0]["modelVersion"] == "2.0")
    check("describing all versions", [x["modelVersion"] for x in m("GET", "/models/noop/all").json()] == ["1.0", "2.0"])
    a = m("GET", "/models/noop?customized=true").json()[0]
    check("customized metadata is an object as text", json.loads(a["customizedMetadata"])["words"] == "8", a)

    a = m("GET", "/models").json()
    check("listing gives names and files", {"modelName": "noop", "modelUrl": "words.vec"} in a["models"]
          and "nextPageToken" not in a, a)
    first = m("GET", "/models?limit=2").json()
    second = m("GET", f"/models?limit=2&next_page_token={first['nextPageToken']}").json()
    names = [x["modelName"] for x in first["models"] + second["models"]]
    check("listing page by page gives each once", names == ["fourth", "noop", "third", "words"], (first, second))

    a = m("PUT", "/models/noop/2.0/set-default")
    check("set-default is 200", a.status == 200 and a.json()["status"] ==
          'Default version successfully updated for model "noop" to "2.0"', a)
    check("set-default of an unknown version is 404", m("PUT", "/models/noop/7/set-default").error() ==
          (404, "ModelVersionNotFoundException"))
    check("the default version cannot be ended beside others", m("DELETE", "/models/noop/2.0").error() ==
          (403, "InvalidModelVersionException"))
    a = m("DELETE", "/models/noop/1.0")
    check("ending a version is 200", a.status == 200 and a.json()["status"] == 'Model "noop" unregistered', a)
    m("DELETE", "/models/third")
    m("DELETE", "/models/fourth")
    check("ending an unknown model is 404", m("DELETE", "/models/third").error() == (404, "ModelNotFoundException"))
    a = m("OPTIONS", "/")
    check("OPTIONS / describes management", "/models" in a.json()["paths"], a)
    check("a wrong method is 405", m("PATCH", "/models/noop").error() == (405, "MethodNotAllowedException"))


def metrics(s):
    a = s.ask("GET", "/metrics", where="metrics")
    text = a.body.decode()
    names = ["Requests2XX", "Requests4XX", "Requests5XX", "ts_inference_requests_total",
             "ts_inference_latency_microseconds", "ts_queue_latency_microseconds", "QueueTime", "WorkerThreadTime",
             "WorkerLoadTime", "CPUUtilization", "MemoryUsed", "MemoryAvailable", "MemoryUtilization", "DiskUsage",
             "DiskUtilization", "DiskAvailable", "HandlerTime", "PredictionTime"]
    missing = [n for n in names if f"\n# TYPE {n} " not in "\n" + text]
    check("metrics have TorchServe's names", a.status == 200 and not missing, missing)
    lines = [x for x in text.splitlines() if not x.startswith("#")]
    check("every line is Prometheus'", all(re.fullmatch(r'[A-Za-z_:]\w*\{([\w\[\]]+="[^"]*",?)*\} \S+', x) for x in lines),
          [x for x in lines if not re.fullmatch(r'[A-Za-z_:]\w*\{([\w\[\]]+="[^"]*",?)*\} \S+', x)][:3])
    check("there are histograms of every stage", all(f'stage="{stage}"' in text for stage in
                                                     ("read", "queue", "run", "write", "all")))
    a = s.ask("GET", "/metrics?name[]=ts_inference_latency_microseconds&name[]=Requests2XX", where="metrics")
    check("name[] chooses", set(re.findall(r"# TYPE (\S+)", a.body.decode())) ==
          {"ts_inference_latency_microseconds", "Requests2XX"}, a)


def malformed(s):
    as_json = {"Content-Type": "application/json"}
    for bad in (b"", b"{", b"[", b'{"words":', b"nul", b'["fish"', b'"\xff"', b"[" * 100000, b'{"a":1', b"[]", b"{}",
                b"[1,2,3]", b"[[1],[2]]", b"null", b"true", b'{"instances":[]}', b'{"words":[1]}',
                b'{"words":["fish"],"k":-1}', b'{"words":["fish"],"k":1e9}', b'[{"word":"fish"},7]'):
        a = s.ask("POST", "/predictions/words", bad, as_json)
        check(f"JSON {bad[:20]!r} is a bad request", a.status == 400 and a.error()[1] == "BadRequestException", a)
    body, headers = multipart([("data", b"fish")])
    for cut in (0, 5, 30, len(body) - 5):
        a = s.ask("POST", "/predictions/words", body[:cut], headers)
        check(f"multipart cut at {cut} is a bad request", a.status == 400, a)
    a = s.ask("POST", "/predictions/words", body, {"Content-Type": "multipart/form-data"})
    check("multipart without a boundary is a bad request", a.status == 400, a)
    for path in ("/predictions/..", "/predictions/%2e%2e%2fetc", "/models/../../etc/passwd", "/../../etc/passwd",
                 "/predictions/a%00b", "/predictions/" + "x" * 3000, "/a/b/c/d/e/f/g/h/i/j/k"):
        a = s.ask("POST", path, b"x")
        check(f"{path[:40]} finds nothing", a.status in (400, 404), a)
    a = s.ask("POST", "/predictions/words", b"x" * 200000)
    check("a body over the limit is 413", a.status == 413, a)
    back = s.raw(b"POST /predictions/words HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n")
    check("a length over the limit is refused before it is sent", b" 413 " in back.split(b"\r\n")[0], back[:80])
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    back = s.raw(b"POST /predictions/words HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                 b"Connection: close\r\n\r\n" + chunk * 3 + b"0\r\n\r\n")
    check("chunks over the limit are refused", b" 413 " in back.split(b"\r\n")[0], back[:80])
    for garbage in (b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /ping HTTP/1.1\r\n\r\n",
                    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00"):
        s.raw(garbage, wait=3)
    back = s.raw(b"GET /ping HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: " + b"y" * 100000 + b"\r\n\r\n", wait=3)
    check("headers over the limit are refused", back == b"" or b" 4" in back.split(b"\r\n")[0], back[:80])
    check("after all that a good request is answered", s.ask("POST", "/predictions/words", b"fish").status == 200)


def browsers(s):
    a = s.ask("GET", "/")
    check("the page is HTML with a policy", a.status == 200 and "text/html" in a.headers["Content-Type"]
          and "default-src 'none'" in a.headers["Content-Security-Policy"] and b"<html" in a.body, a)
    files = sorted(set(re.findall(rb"(?:src|href)=\"([a-z]+(?:\.css|\.js)?)\"", a.body)
                       + re.findall(rb"from \"\./([a-z]+\.js)\"", s.ask("GET", "/page.js").body)))
    check("the page is of several files", b"page.css" in files and b"ask.js" in files and b"interface" in files, files)
    files = [s.ask("GET", "/" + name.decode()) for name in files]
    check("all of which are there", all(f.status == 200 for f in files), files)
    page = b"".join([a.body, s.ask("GET", "/interface.js").body, s.ask("GET", "/map.js").body, *(f.body for f in files)])
    check("it has less than 150 KB in all", 50000 < len(page) < 150 * 1024, len(page))
    outside = [x for x in re.findall(rb"(?:src|href|url|fetch)\W{1,3}(https?:)?//[\w.]+", page)]
    check("the page asks no other place", not outside, outside)
    port = s.address["management"].rsplit(":", 1)[1]
    a = s.ask("POST", "/models?url=words.vec", headers={"Origin": "https://evil.example"}, where="management")
    check("a page of another site is refused", a.status == 403, a)
    a = s.ask("GET", "/models", headers={"Host": f"evil.example:{port}"}, where="management")
    check("another name for this machine is refused", a.status == 403, a)


def slow_clients(work):
    s = Server("words=words.vec", *ANY, "--timeout", "1", cwd=work)
    host, port = s.address["inference"].rsplit(":", 1)
    idle = [socket.create_connection((host, int(port)), timeout=TIME_LIMIT) for _ in range(200)]
    trickle = socket.create_connection((host, int(port)), timeout=TIME_LIMIT)
    check("idle connections keep nobody away", s.ask_again("GET", "/ping").status == 200)
    began = time.time()
    gone = False
    piece = b"POST /predictions/words HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
    while not gone and time.time() - began < TIME_LIMIT:
        try:
            trickle.sendall(piece)
            piece = b"x"
            time.sleep(0.2)
        except OSError:
            gone = True
    check("a client that sends a byte now and then is cut off", gone)
    ended = 0
    for c in idle:
        try:
            ended += c.recv(1) == b""
        except ConnectionResetError:
            ended += 1
        except TimeoutError:
            pass
        c.close()
    check("idle connections are ended", ended == 200, ended)
    check("it still answers", s.ask_again("GET", "/ping").status == 200)
    s.stop()


def replacement(work):
    vectors(os.path.join(work, "live.vec"), WORDS)
    s = Server("live=live.vec", *ANY, "--reload-every", "0.02", cwd=work)
    stop = threading.Event()
    bad, good = [], [0]

    def crowd():
        host, port = s.address["inference"].rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=TIME_LIMIT)
        while not stop.is_set():
            try:
                connection.request("POST", "/predictions/live", b"fish")
                a = connection.getresponse()
                body = a.read()
                if a.status != 200:
                    bad.append((a.status, body))
                good[0] += 1
            except (OSError, http.client.HTTPException) as e:
                bad.append(e)
                connection.close()

    threads = [threading.Thread(target=crowd) for _ in range(3)]
    for t in threads:
        t.start()
    began = time.time()
    replaced = 0
    while replaced < 20 and time.time() - began < TIME_LIMIT:
        vectors(os.path.join(work, "live.vec"), WORDS, scale=2 + replaced)
        replaced += 1
        want = 2.0 + replaced - 1
        while time.time() - began < TIME_LIMIT:
            if s.ask("GET", "/models/live/vector?word=sea").json()["vector"][0] == want:
                break
    stop.set()
    for t in threads:
        t.join()
    check("20 replacements under load: each is picked up", replaced == 20 and time.time() - began < TIME_LIMIT)
    check("and no request is lost", not bad and good[0] > 0, bad[:3])
    with open(os.path.join(work, "live.vec.new"), "wb") as f:
        f.write(b"\x00 broken")
    os.replace(os.path.join(work, "live.vec.new"), os.path.join(work, "live.vec"))
    began = time.time()
    while not any("not served" in x for x in s.said) and time.time() - began < TIME_LIMIT:
        time.sleep(0.02)
    check("a broken file leaves the old model in place", s.ask("POST", "/predictions/live", b"fish").status == 200)
    check("no path is in any answer", work.encode() not in s.ask("GET", "/stats").body)
    s.stop()


def restart(work):
    store = os.path.join(work, "kept")
    os.mkdir(store)
    vectors(os.path.join(store, "a.vec"), WORDS)
    s = Server("--model-store", "kept", *ANY, cwd=work)
    s.ask("POST", "/models?url=a.vec&initial_workers=1&synchronous=true&batch_size=7", where="management")
    check("a stop ends well", s.stop() == 0)
    s = Server("--model-store", "kept", *ANY, cwd=work)
    a = s.ask("GET", "/models/a", where="management").json()
    check("registered models survive a restart", a[0]["batchSize"] == 7 and a[0]["minWorkers"] == 1, a)
    check("and answer", s.ask("POST", "/predictions/a", b"fish").status == 200)
    s.stop()


def drained(work):
    """A client that does not read holds an answer, and with it the end, for as long as is needed."""
    vectors(os.path.join(work, "many.vec"), [f"w{i}" for i in range(3000)])
    s = Server("many=many.vec", *ANY, "--drain", "3600", "--timeout", "3600", cwd=work)
    host, port = s.address["inference"].rsplit(":", 1)
    place = (host, int(port))
    half, part, idle, slow = [socket.create_connection(place, timeout=TIME_LIMIT) for _ in range(4)]
    half.sendall(b"POST /predictions/many HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nw")
    part.sendall(b"GET /ping HTT")
    idle.sendall(b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n")
    idle.recv(65536)
    body = json.dumps({"words": [f"w{i}" for i in range(1000)], "k": 1000}).encode()
    slow.sendall(b"POST /predictions/many HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 b"Content-Length: %d\r\n\r\n%sGET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n" % (len(body), body))
    back = slow.recv(1)
    s.process.send_signal(signal.SIGTERM)
    idle_end = idle.recv(65536)
    check("upon SIGTERM idle connections are closed", idle_end == b"", idle_end)
    try:
        socket.create_connection(place, timeout=TIME_LIMIT).close()
        refused = False
    except ConnectionRefusedError:
        refused = True
    check("new clients are refused", refused)
    with socket.socket() as successor:
        successor.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        successor.bind(place)
        successor.listen()
        check("and a successor may listen, while the server still answers", s.process.poll() is None)
    while data := slow.recv(1 << 20):
        back += data
    head, rest = back.split(b"\r\n\r\n", 1)
    length = int(re.search(rb"Content-Length: (\d+)", head)[1])
    check("a request under way is answered after SIGTERM", b" 200 " in head and len(json.loads(rest[:length])) == 1000)
    last = rest[length:]
    check("so is one that came behind it, and its connection ends", last.startswith(b"HTTP/1.1 200 ")
          and b"\r\nConnection: close\r\n" in last and last.endswith(b"}\n"), last[:400])
    check("and then the server ends, whatever has come in part", s.process.wait(TIME_LIMIT) == 0)
    check("of which it says 503", half.recv(65536).startswith(b"HTTP/1.1 503 "))
    for c in (half, part, idle, slow):
        c.close()


def tokens(work):
    path = os.path.join(work, "tokens")
    with open(path, "w") as f:
        f.write("inference aaaaaaaaaaaaaaaa\nmanagement bbbbbbbbbbbbbbbb\n")
    os.chmod(path, 0o644)
    refused = subprocess.run([SHOAL, "serve", "words=words.vec", *ANY, "--token-file", "tokens"], cwd=work,
                             capture_output=True, text=True, timeout=TIME_LIMIT)
    check("a token file that others may read is refused", refused.returncode == 1 and "want 600" in refused.stderr)
    os.chmod(path, 0o600)
    refused = subprocess.run([SHOAL, "serve", "words=words.vec", "--inference-address", "0.0.0.0:0",
                              "--management-address", "none", "--metrics-address", "none"], cwd=work,
                             capture_output=True, text=True, timeout=TIME_LIMIT)
    check("beyond loopback tokens are required", refused.returncode == 1 and "--token-file" in refused.stderr, refused)
    s = Server("words=words.vec", *ANY, "--no-tokens", cwd=work)
    began = time.time()
    while not any("WARNING: --no-tokens" in x for x in s.said) and time.time() - began < TIME_LIMIT:
        time.sleep(0.02)
    check("--no-tokens is said loudly", any("WARNING: --no-tokens" in x for x in s.said), s.said)
    s.stop()
    s = Server("words=words.vec", *ANY, "--token-file", "tokens", cwd=work)
    a = s.ask("POST", "/predictions/words", b"fish")
    check("without a token it is 400, as TorchServe says", a.error() == (400, "InvalidKeyException")
          and a.headers["WWW-Authenticate"] == "Bearer", a)
    a = s.ask("GET", "/v2/models/words")
    check("of the Open Inference Protocol it is 401", a.status == 401 and "error" in a.json()
          and a.headers["WWW-Authenticate"] == "Bearer", a)
    own = {"Authorization": "Bearer aaaaaaaaaaaaaaaa"}
    other = {"Authorization": "Bearer bbbbbbbbbbbbbbbb"}
    check("with its own token it is answered", s.ask("POST", "/predictions/words", b"fish", own).status == 200)
    check("with management's it is refused", s.ask("POST", "/predictions/words", b"fish", other).status == 400)
    check("management takes its own", s.ask("GET", "/models", headers=other, where="management").status == 200)
    check("and no other", s.ask("GET", "/models", headers=own, where="management").status == 400)
    check("health and the page need none", s.ask("GET", "/ping").status == 200 and s.ask("GET", "/").status == 200)
    s.stop()


def rates(work):
    s = Server("words=words.vec", *ANY, "--rate", "0.001", cwd=work)
    codes = [s.ask("GET", "/ping").status for _ in range(3)]
    check("a client that asks too often is 429", codes == [200, 429, 429], codes)
    s.stop()


def together(work):
    s = Server("words=words.vec", *harness.one_address(), cwd=work)
    codes = [s.ask("GET", path).status for path in ("/ping", "/models", "/metrics", "/models/words",
                                                    "/models/words/1.0", "/models/words/similar?word=sea")]
    check("one address may serve all three", codes == [200] * 6, codes)
    s.stop()


def encrypted(work):
    if not shutil.which("openssl"):
        return
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out",
                    "cert.pem", "-days", "2", "-subj", "/CN=localhost"], cwd=work, check=True, capture_output=True)
    s = Server("words=words.vec", *ANY, "--tls-cert", "cert.pem", "--tls-key", "key.pem", cwd=work, sandbox=True)
    host, port = s.address["inference"].rsplit(":", 1)
    trust = ssl.create_default_context(cafile=os.path.join(work, "cert.pem"))
    trust.check_hostname = False
    connection = http.client.HTTPSConnection(host, int(port), timeout=TIME_LIMIT, context=trust)
    connection.request("POST", "/predictions/words", b"fish")
    check("TLS answers", connection.getresponse().status == 200)
    connection.close()
    check("and plain HTTP there does not", not s.raw(b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n", wait=3)
          .startswith(b"HTTP/1.1 200"))
    with open(f"/proc/{s.process.pid}/status") as f:
        status = f.read()
    check("the kernel holds the process to its own", "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status)
    s.stop()


def clicks(work):
    with open(os.path.join(work, "rows.libsvm"), "w") as f:
        for i in range(400):
            f.write(f"{i % 2} {1 + i % 2}:1 {3 + i % 5}:0.5\n")
    subprocess.run([SHOAL, "train", "logreg", "rows.libsvm", "-q", "--epochs", "3", "-o", "clicks.shoal"], cwd=work,
                   check=True)
    said = subprocess.check_output([SHOAL, "predict", "clicks.shoal", "rows.libsvm"], cwd=work, text=True).split()
    subprocess.run([SHOAL, "train", "multinomial", "rows.libsvm", "-q", "--epochs", "3", "-o", "many.shoal"], cwd=work,
                   check=True)
    many = subprocess.check_output([SHOAL, "predict", "many.shoal", "rows.libsvm"], cwd=work, text=True).split("\n")
    s = Server("many.shoal", *ANY, cwd=work)
    with open(os.path.join(work, "rows.libsvm"), "rb") as f:
        a = s.ask("PUT", "/predictions/many", f.read()).json()
    check("a model of many classes answers as predict does", all(
        r["class"] == int(line.split()[0]) and all(abs(p - float(q)) < 1e-5 for p, q in
                                                   zip(r["probabilities"], line.split()[1:]))
        for r, line in zip(a, many)), a)
    form = s.ask("GET", "/models/many/form").json()
    check("its form names the classes", form["classes"] == ["0", "1"], form)
    s.stop()
    s = Server("clicks.shoal", *ANY, cwd=work)
    a = s.ask("POST", "/predictions/clicks", b"0 1:1 3:0.5\n")
    check("a click model answers with a probability", isinstance(a.json(), float)
          and abs(a.json() - float(said[0])) < 1e-6, (a, said[0]))
    with open(os.path.join(work, "rows.libsvm"), "rb") as f:
        a = s.ask("PUT", "/predictions/clicks", f.read())
    check("of many rows with those of shoal predict", len(a.json()) == 400
          and all(abs(x - float(y)) < 1e-6 for x, y in zip(a.json(), said)), a)
    form = s.ask("GET", "/models/clicks/form").json()
    check("its form says how rows are written", form == {"kind": "logreg", "format": "libsvm", "classes": []}, form)
    check("features may be JSON", abs(s.ask("POST", "/predictions/clicks", b'{"features":{"1":1,"3":0.5}}').json()
                                      - float(said[0])) < 1e-6)
    a = s.ask("POST", "/v2/models/clicks/infer", json.dumps(
        {"inputs": [{"name": "rows", "shape": [2], "datatype": "BYTES", "data": ["1:1 3:0.5", "2:1 4:0.5"]}]})).json()
    check("or text in a tensor", a["outputs"][0]["shape"] == [2, 1] and a["outputs"][0]["data"][0] < 0.5
          < a["outputs"][0]["data"][1], a)
    for bad in (b"nonsense here", b"1 2", b"{}", b'{"a b":1}', b'{"1":"x"}', b"[1,2]", b'{"features":{"1":null}}'):
        a = s.ask("POST", "/predictions/clicks", bad)
        check(f"the row {bad!r} is refused without a path", a.status in (200, 400) and b"/proc" not in a.body
              and (a.status == 400 or bad == b"{}"), a)
    s.stop()


def tensor(s, model, inputs, blob=b"", size=None, **more):
    """An inference whose tensors are bytes behind the JSON, as Triton's client sends it."""
    head = json.dumps({"inputs": [inputs], **more}).encode()
    return s.ask("POST", f"/v2/models/{model}/infer", head + blob,
                 {"Inference-Header-Content-Length": str(len(head) if size is None else size)})


def apart(a):
    """The JSON of an answer, and its bytes."""
    size = int(a.headers["Inference-Header-Content-Length"])
    return json.loads(a.body[:size]), a.body[size:]


def binary_numbers(s, want):
    types = {"FP32": "f", "FP64": "d", "FP16": "e", "INT8": "b", "INT16": "h", "INT32": "i", "INT64": "q"}
    plain = s.ask("POST", "/predictions/mlp", b"[[1,-2],[0,3]]").json()
    for name, code in types.items():
        blob = struct.pack("<4" + code, 1, -2, 0, 3)
        one = {"name": "input", "shape": [2, 2], "datatype": name, "parameters": {"binary_data_size": len(blob)}}
        a = tensor(s, "mlp", one, blob)
        check(f"a binary tensor of {name} is read", a.status == 200 and a.json()["outputs"][0]["data"] == sum(plain, []), a)
    for name, code in {"UINT8": "B", "UINT16": "H", "UINT32": "I", "UINT64": "Q", "BOOL": "?"}.items():
        blob = struct.pack("<2" + code, 1, 0)
        one = {"name": "input", "shape": [1, 2], "datatype": name, "parameters": {"binary_data_size": len(blob)}}
        check(f"a binary tensor of {name} is read", tensor(s, "mlp", one, blob).json()["outputs"][0]["data"]
              == s.ask("POST", "/predictions/mlp", b"[1,0]").json())
    one = {"name": "input", "shape": [1, 2], "datatype": "BF16", "parameters": {"binary_data_size": 4}}
    check("a binary tensor of BF16 is read", tensor(s, "mlp", one, bytes([0x00, 0x3f, 0x80, 0xbe])).json()
          ["outputs"][0]["data"] == want)
    blob = struct.pack("<4f", 1, -2, 0, 3)
    one = {"name": "input", "shape": [2, 2], "datatype": "FP32", "parameters": {"binary_data_size": 16}}
    wanted = {"parameters": {"binary_data_output": True}}
    output = s.ask("GET", "/v2/models/mlp").json()["outputs"][0]["name"]
    named = {"outputs": [{"name": output, "parameters": {"binary_data": True}}]}
    for how, more in (("by the request", wanted), ("of the output", named)):
        a = tensor(s, "mlp", one, blob, **more)
        said, data = apart(a)
        out = said["outputs"][0]
        check(f"an answer is bytes where that is asked for {how}", out["shape"] == [2, 4] and "data" not in out
              and out["parameters"] == {"binary_data_size": 32} and a.headers["Content-Type"] == "application/octet-stream"
              and [round(x, 6) for x in struct.unpack("<8f", data)] == [round(x, 6) for x in sum(plain, [])], a)
    a = tensor(s, "mlp", one, blob, outputs=[{"name": output, "parameters": {"classification": 2}}]).json()["outputs"][0]
    best = sorted(range(4), key=lambda i: -plain[0][i])[:2]
    check("the likeliest classes are asked for", a["datatype"] == "BYTES" and a["shape"] == [2, 2]
          and [x.split(":")[1] for x in a["data"][:2]] == [str(i) for i in best]
          and abs(float(a["data"][0].split(":")[0]) - plain[0][best[0]]) < 1e-5, a)
    check("but not none of them", tensor(s, "mlp", one, blob, outputs=[
        {"name": output, "parameters": {"classification": 0}}]).status == 400)
    check("one row needs no second dimension", tensor(s, "mlp", dict(one, shape=[2], parameters={"binary_data_size": 8}),
                                                      blob[:8]).json()["outputs"][0]["shape"] == [1, 4])
    same = tensor(s, "mlp", one, blob, id="7", **wanted)
    for how, more in (("unknown members", {"more": 1}), ("unknown parameters", {"parameters": {"binary_data_output": True, "x": 1}}),
                      ("text beyond ASCII", {"more": "\u00e9"})):
        check(f"{how} change no answer", tensor(s, "mlp", one, blob, **{"id": "7", **wanted, **more}).body == same.body)
    check("another output is refused", tensor(s, "mlp", one, blob, outputs=[{"name": "none"}]).status == 400)
    check("a small binary_data_size is refused", tensor(s, "mlp", dict(one, parameters={"binary_data_size": 12}), blob).status == 400)
    check("bytes that no tensor has are refused", tensor(s, "mlp", {"name": "input", "shape": [1, 2], "datatype": "FP32",
                                                                   "data": [1, 2]}, b"abcd").status == 400)
    check("bytes that do not fit the shape are refused", tensor(s, "mlp", dict(one, shape=[3, 2]), blob).status == 400)
    check("an unknown datatype is refused", tensor(s, "mlp", dict(one, datatype="FP8"), blob).status == 400)
    for size in ("-1", "x", "", "99999999", "1" * 30):
        check(f"a header of {size!r} bytes is refused", tensor(s, "mlp", one, blob, size=size).status == 400)
    check("and the server goes on", s.ask("POST", "/predictions/mlp", b"[0.5,-0.25]").json() == want)


def binary_texts(s):
    blob = b"".join(struct.pack("<I", len(x)) + x for x in (b"sea", b"fish"))
    one = {"name": "words", "shape": [2], "datatype": "BYTES", "parameters": {"binary_data_size": len(blob)}}
    a = tensor(s, "words", one, blob)
    check("BYTES are elements with a length each", a.json()["outputs"][0]["data"] == [1, 1, 0.5, 0.5, 1.1, 0.5, 0.5, 0.5], a)
    said, data = apart(tensor(s, "words", one, blob, parameters={"binary_data_output": True}))
    check("and the answer may be bytes", len(data) == 32 and struct.unpack("<8f", data)[0] == 1, said)
    for bad in (blob[:-1], blob[:5], blob + b"\0", struct.pack("<I", 0xffffffff) + b"sea", b"\0\0\0"):
        a = tensor(s, "words", dict(one, parameters={"binary_data_size": len(bad)}), bad)
        check(f"BYTES of {bad[:12]!r} are refused", a.status == 400 and "error" in a.json(), a)
    check("GET /v2 says so", "binary_tensor_data" in s.ask("GET", "/v2").json()["extensions"])


def nets(work):
    subprocess.run([SHOAL, "gen", "spiral", "--classes", "4", "-o", "spiral.csv"], cwd=work, check=True,
                   capture_output=True)
    subprocess.run([SHOAL, "train", "mlp", "spiral.csv", "--layers", "8", "--epochs", "2", "-q", "-o", "mlp.shoal"],
                   cwd=work, check=True)
    s = Server("mlp.shoal", *ANY, cwd=work)
    a = s.ask("POST", "/predictions/mlp", b"[0.5,-0.25]").json()
    check("a net answers with probabilities", isinstance(a, list) and len(a) == 4 and abs(sum(a) - 1) < 1e-5, a)
    check("the same for text", s.ask("PUT", "/predictions/mlp", b"0.5, -0.25\n").json() == a)
    check("for floats as they lie in memory",
          s.ask("PUT", "/predictions/mlp", struct.pack("<2f", 0.5, -0.25)).json() == a)
    check("text of as many bytes as the floats would have is text",
          s.ask("PUT", "/predictions/mlp", b"0.5,-.25").json() == a)
    check("numbers of a text are counted",
          b"found 4 numbers, want 2" in s.ask("PUT", "/predictions/mlp", b"1,2,3,4").body)
    check("for JSON that is nested", s.ask("POST", "/predictions/mlp", b'{"data":[[0.5],[-0.25]]}').json() == a)
    b = s.ask("POST", "/predictions/mlp", b'{"instances":[[0.5,-0.25],[1,2],[0.5,-0.25]]}').json()["predictions"]
    check("instances are computed together and apart", b[0] == a and b[2] == a and b[1] != a, b)
    b = s.ask("POST", "/v2/models/mlp/infer", json.dumps(
        {"inputs": [{"name": "input", "shape": [2, 2], "datatype": "FP32", "data": [[0.5, -0.25], [1, 2]]}]})).json()
    check("a tensor gives a tensor", b["outputs"][0]["shape"] == [2, 4] and b["outputs"][0]["data"][:4] == a, b)
    binary_numbers(s, a)
    form = s.ask("GET", "/models/mlp/form").json()
    check("its form has the inputs, the classes and the columns with their ranges",
          form["kind"] == "net" and form["inputs"] == 2 and form["classes"] == ["0", "1", "2", "3"]
          and [c["name"] for c in form["columns"]] == ["x", "y", "class"]
          and -1.1 < form["columns"][0]["min"] < 0 < form["columns"][0]["max"] < 1.1
          and [v["text"] for v in form["columns"][2]["values"]] == ["0", "1", "2", "3"], form)
    check("the form of a version is that version's",
          s.ask("GET", "/models/mlp/form?version=1.0").json() == form
          and s.ask("GET", "/models/mlp/form?version=9").status == 404
          and s.ask("GET", "/models/none/form").status == 404)
    check("a form is only looked at", s.ask("POST", "/models/mlp/form", b"{}").status == 405)
    for bad in (b"[1]", b"[1,2,3]", b"[[1,2],[3]]", b'["a","b"]', b"1", b"1,x", b"[1e39,0]", b"{}", b"\x00\x00\xc0\x7f" * 2):
        check(f"the input {bad[:20]!r} is refused", s.ask("POST", "/predictions/mlp", bad).status == 400)
    s.stop()


def same_answer(a, b):
    """Pictures computed together are rounded otherwise than one alone."""
    return list(a) == list(b) and all(abs(a[k] - b[k]) < 1e-6 for k in a)


def pictures(work):
    for name, colour in (("red", (250, 10, 10)), ("blue", (10, 10, 250))):
        os.makedirs(os.path.join(work, "set", name))
        for i in range(8):
            with open(os.path.join(work, "set", name, f"{i}.png"), "wb") as f:
                f.write(png([max(0, min(255, c - 5 * i)) for c in colour]))
    subprocess.run([SHOAL, "train", "vgg", "set", "-q", "--size", "8", "--base", "16", "--batch", "8", "--epochs", "15",
                    "--lr", "0.02", "--warmup", "0", "-o", "vgg.shoal"], cwd=work, check=True)
    s = Server("vgg.shoal", *ANY, cwd=work)
    red = s.ask("PUT", "/predictions/vgg", png((240, 20, 15)))
    check("a picture (curl -T) gives its classes", red.status == 200 and red.json().keys() == {"red", "blue"}
          and abs(sum(red.json().values()) - 1) < 1e-5 and list(red.json().values()) ==
          sorted(red.json().values(), reverse=True), red)
    with open(os.path.join(work, "red.png"), "wb") as f:
        f.write(png((240, 20, 15)))
    said = subprocess.check_output([SHOAL, "predict", "vgg.shoal", "red.png"], cwd=work, text=True)
    check("the likeliest is that of shoal predict", next(iter(red.json())) in said, (red, said))
    body, headers = multipart([("data", png((240, 20, 15))), ("data", png((15, 20, 240)))])
    a = s.ask("POST", "/predictions/vgg", body, headers)
    check("two pictures (curl -F) give two answers", len(a.json()) == 2 and same_answer(a.json()[0], red.json()), a)
    text = base64.b64encode(png((240, 20, 15))).decode()
    a = s.ask("POST", "/v1/models/vgg:predict", json.dumps({"instances": [{"data": text}, {"b64": text}]}))
    check("a picture in base64 gives the same", len(a.json()["predictions"]) == 2 and
          all(same_answer(x, red.json()) for x in a.json()["predictions"]), a)
    a = s.ask("POST", "/v1/models/vgg:predict", json.dumps({"instances": [{"data": "no picture!"}]}))
    check("other text is refused", a.status == 400, a)
    for bad in (png((1, 2, 3))[:40], b"\xff\xd8\xff\xe0" + b"x" * 50, b"no picture"):
        a = s.ask("PUT", "/predictions/vgg", bad)
        check(f"{bad[:10]!r} is refused", a.status == 400 and b"/" not in a.body.replace(b"/s", b""), a)
    facts = s.ask("GET", "/stats").json()["models"][0]["facts"]
    check("the page knows that it sees pictures", facts["images"] == "8 x 8 x 3", facts)
    s.stop()


def grey_pictures(work):
    """A perceptron on pictures as MNIST keeps them."""
    def idx(name, dims, data):
        with open(os.path.join(work, name), "wb") as f:
            f.write(bytes((0, 0, 8, len(dims))) + struct.pack(f">{len(dims)}I", *dims) + data)

    shades = [5 * (i % 20) + (150 if i % 2 else 0) for i in range(80)]
    idx("t-images-idx3-ubyte", (80, 6, 4), b"".join(bytes([x] * 24) for x in shades))
    idx("t-labels-idx1-ubyte", (80,), bytes(i % 2 for i in range(80)))
    subprocess.run([SHOAL, "train", "mlp", "t-images-idx3-ubyte", "--layers", "4", "--epochs", "60", "--batch", "8", "-q",
                    "-o", "grey.shoal"], cwd=work, check=True)
    s = Server("grey.shoal", *ANY, cwd=work)
    dark, light = (s.ask("PUT", "/predictions/grey", png((x, x, x))) for x in (20, 230))
    check("a perceptron on pictures takes a PNG (curl -T)", dark.status == 200 and next(iter(dark.json())) == "0"
          and next(iter(light.json())) == "1", (dark, light))
    a = s.ask("POST", "/predictions/grey", json.dumps([230] * 24))
    check("the same as numbers", near(a.json(), light.json()), (a, light))
    facts = s.ask("GET", "/stats").json()["models"][0]["facts"]
    check("the page knows their shape", facts["images"] == "4 x 6 x 1", facts)
    s.stop()
    with open(os.path.join(work, "light.png"), "wb") as f:
        f.write(png((230, 230, 230)))
    said = subprocess.check_output([SHOAL, "predict", "grey.shoal", "light.png"], cwd=work, text=True)
    check("shoal predict takes it too", said.split()[1] == "1", said)
    said = subprocess.check_output([SHOAL, "predict", "grey.shoal", "t-images-idx3-ubyte"], cwd=work, text=True)
    check("and tables of numbers still", len(said.splitlines()) == 80, said[:200])


ROUTES = (  # all that answer with JSON, and how each of them fails
    ("inference", "GET", "/ping", None, 200), ("inference", "OPTIONS", "/", None, 200),
    ("inference", "GET", "/api-description", None, 200), ("inference", "GET", "/stats", None, 200),
    ("inference", "POST", "/predictions/words", b"fish", 200), ("inference", "PUT", "/predictions/words", b"fish", 200),
    ("inference", "POST", "/predictions/words/1.0", b"fish", 200), ("inference", "OPTIONS", "/predictions/words", None, 200),
    ("inference", "POST", "/models/words/invoke", b"fish", 200), ("inference", "GET", "/models/words/similar?word=fish", None, 200),
    ("inference", "GET", "/models/words/analogy?a=sea&b=fish&c=tide", None, 200),
    ("inference", "GET", "/models/words/vector?word=sea", None, 200), ("inference", "GET", "/models/words/map?word=sea", None, 200),
    ("inference", "POST", "/v1/models/words:predict", b'{"instances":["fish"]}', 200), ("inference", "GET", "/v1/models/words", None, 200),
    ("inference", "GET", "/v2", None, 200), ("inference", "GET", "/v2/health/live", None, 200),
    ("inference", "GET", "/v2/health/ready", None, 200), ("inference", "GET", "/v2/models/words", None, 200),
    ("inference", "GET", "/v2/models/words/versions/1.0", None, 200), ("inference", "GET", "/v2/models/words/ready", None, 200),
    ("inference", "POST", "/v2/models/words/infer",
     b'{"inputs":[{"name":"words","shape":[1],"datatype":"BYTES","data":["sea"]}]}', 200),
    ("inference", "GET", "/nowhere", None, 404), ("inference", "POST", "/predictions/none", b"x", 404),
    ("inference", "GET", "/predictions/words", None, 405), ("inference", "POST", "/predictions/words", b'{"words":', 400),
    ("inference", "POST", "/predictions/words", b"x" * 200000, 413), ("inference", "GET", "/models/words/similar?word=", None, 400),
    ("inference", "POST", "/v1/models/words:predict", b"[", 400), ("inference", "GET", "/v1/models/none", None, 404),
    ("inference", "POST", "/v2/models/words/infer", b"{}", 400), ("inference", "GET", "/v2/models/none", None, 404),
    ("management", "GET", "/models", None, 200), ("management", "GET", "/models/words", None, 200),
    ("management", "GET", "/models/words/all", None, 200), ("management", "GET", "/models/words/1.0", None, 200),
    ("management", "OPTIONS", "/", None, 200), ("management", "GET", "/api-description", None, 200),
    ("management", "PUT", "/models/words?min_worker=1&synchronous=true", None, 200),
    ("management", "PUT", "/models/words/1.0/set-default", None, 200),
    ("management", "POST", "/models", None, 400), ("management", "POST", "/models?url=none.vec", None, 404),
    ("management", "POST", "/models?url=words.vec&model_name=words", None, 409), ("management", "DELETE", "/models/none", None, 404),
    ("management", "PUT", "/models/words?min_worker=x", None, 400), ("management", "GET", "/models/none", None, 404),
)


def with_query(path, more):
    return path + ("&" if "?" in path else "?") + more


def every_route(s):
    """Indented by ?pretty and for curl as people type it, by four spaces: answers and errors of every route."""
    curl = {"User-Agent": "curl/8.5.0", "Accept": "*/*"}
    for where, method, path, body, status in ROUTES:
        for name, at, headers in (("?pretty", with_query(path, "pretty"), {}), ("curl", path, curl)):
            a = s.ask(method, at, body, headers, where)
            text = a.body.decode()
            check(f"{where} {method} {path} ({status}) is indented for {name}", a.status == status and a.json() is not None
                  and text.count("\n") > 2 and text.endswith("\n") and steps_of_four(text), (a.status, text[:300]))
    for method, path in (("POST", "/models?url=words.vec&model_name=pretty&pretty"), ("DELETE", "/models/pretty?pretty")):
        a = s.ask(method, path, None, {}, "management")
        check(f"management {method} {path} is indented", a.status == 200 and steps_of_four(a.body.decode()), a)
    a = s.ask("GET", "/metrics?pretty", where="metrics")
    check("metrics are Prometheus's lines", a.status == 200 and a.body.startswith(b"# HELP"), a)


def flat(text):
    return re.sub(r"\n *", "", text).replace('": ', '":')


def steps_of_four(text):
    """Each line begins four spaces deeper for every bracket that is open."""
    depth = 0
    for line in text.splitlines():
        depth -= line.strip()[0] in "]}"
        if len(line) - len(line.lstrip()) != 4 * depth:
            return False
        depth += line.rstrip(",")[-1] in "[{"
    return depth == 0


def indented(s, path, body):
    """JSON over lines with ?pretty, and for curl as people type it: the same values, on every route."""
    curl = {"User-Agent": "curl/8.5.0", "Accept": "*/*"}
    for method, at, sent in (("POST", path, body), ("GET", "/ping", None), ("GET", "/nowhere", None),
                             ("GET", "/v2", None), ("GET", "/v2/models/next", None)):
        plain = s.ask(method, at, sent, {"User-Agent": "curl/8.5.0", "Accept": "application/json"})
        for name, a in (("?pretty", s.ask(method, at + "?pretty", sent)), ("curl", s.ask(method, at, sent, curl))):
            text = a.body.decode()
            check(f"{at} is indented for {name}", a.status == plain.status and text.count("\n") > 2
                  and flat(text) == flat(plain.body.decode()) and steps_of_four(text), (text, plain))
        a = s.ask(method, at + "?pretty=0", sent, curl)
        check(f"{at} is as for programs with pretty=0", a.body == plain.body, (a, plain))


def class_names(work):
    """--class-index: the names of classes come from a file, as TorchServe's index_to_name.json, or are left out."""
    def put(name, text):
        with open(os.path.join(work, name), "w") as f:
            f.write(text)

    def refused(*args):
        r = subprocess.run([SHOAL, "serve", *args, *ANY], cwd=work, capture_output=True, text=True, timeout=TIME_LIMIT)
        return r.returncode, r.stderr

    put("two.json", '{"1": ["n02", "warm"], "0": "cold"}')
    put("four.txt", "spring\nsummer\n\nautumn\nwinter\n")
    put("rows.json", '["no", "yes"]')
    red = png((240, 20, 15))
    s = Server("vgg.shoal", "mlp.shoal", "many.shoal", "number=vgg.shoal", "--class-index",
               "vgg=two.json,mlp=four.txt,many=rows.json,number=indices", *ANY, cwd=work)
    a = s.ask("PUT", "/predictions/vgg", red).json()
    b = s.ask("PUT", "/predictions/number", red).json()
    check("a net of pictures answers with the names of the file", list(a) == ["warm", "cold"], a)
    check("or with indices instead of its own names", list(b) == ["1", "0"] and list(a.values()) == list(b.values()), b)
    a = s.ask("POST", "/predictions/mlp", b"[0.5,-0.25]").json()
    check("a net on numbers answers with names where it is given any", set(a) == {"spring", "summer", "autumn", "winter"}
          and list(a.values()) == sorted(a.values(), reverse=True) and abs(sum(a.values()) - 1) < 1e-5, a)
    a = s.ask("POST", "/v1/models/mlp:predict", b'{"instances":[[0.5,-0.25]]}').json()["predictions"][0]
    check("on /v1 too", "summer" in a, a)
    a = s.ask("POST", "/v2/models/mlp/infer", json.dumps({"inputs": [
        {"name": "input", "shape": [1, 2], "datatype": "FP32", "data": [0.5, -0.25]}]})).json()["outputs"][0]
    check("a tensor stays one of probabilities", a["shape"] == [1, 4] and len(a["data"]) == 4, a)
    a = s.ask("POST", "/predictions/many", b"0 1:1 3:0.5\n").json()
    check("a model of many classes names the likeliest", a["class"] == "no" and len(a["probabilities"]) == 2, a)
    shutil.copy(os.path.join(work, "mlp.shoal"), os.path.join(work, "new.shoal"))
    os.replace(os.path.join(work, "new.shoal"), os.path.join(work, "mlp.shoal"))
    began = time.time()
    while s.ask("GET", "/stats").json()["models"][1]["reloads"] == 0 and time.time() - began < TIME_LIMIT:
        time.sleep(0.05)
    check("and after the file was replaced", "summer" in s.ask("POST", "/predictions/mlp", b"[0.5,-0.25]").json())
    s.stop()
    put("serve.conf", "class_index = vgg=two.json\n")
    s = Server("vgg.shoal", "--config", "serve.conf", *ANY, cwd=work)
    check("a configuration may say it", list(s.ask("PUT", "/predictions/vgg", red).json()) == ["warm", "cold"])
    s.stop()
    put("broken.json", '{"0": "cold",')
    put("gap.json", '{"0": "cold", "2": "warm"}')
    put("number.json", '{"0": 1, "1": 2}')
    put("empty.txt", "\n")
    for args, said in ((("vgg.shoal", "--class-index", "broken.json"), "broken.json: JSON: line 1"),
                       (("vgg.shoal", "--class-index", "four.txt"), "four.txt: names 4 classes, want 2 as the model has"),
                       (("vgg.shoal", "--class-index", "gap.json"), "gap.json: found no name of class 1"),
                       (("vgg.shoal", "--class-index", "number.json"), "number.json: found no name of class 0"),
                       (("vgg.shoal", "--class-index", "empty.txt"), "empty.txt: found no name, want one"),
                       (("vgg.shoal", "--class-index", "none.json"), "none.json: "),
                       (("vgg.shoal", "--class-index", "vg=two.json"), "--class-index is for 'vg'"),
                       (("vgg.shoal", "--class-index", "vgg="), "--class-index is 'vgg=', want FILE or NAME=FILE"),
                       (("words.vec", "--class-index", "words=two.json"), "two.json: this model of kind vectors has no classes"),
                       (("vgg.shoal", "--class-index", "two.json,two.json"), "--class-index names the classes of every model twice"),
                       (("vgg.shoal", "--class-index", "vgg=two.json,vgg=two.json"), "--class-index names the classes of vgg twice")):
        code, text = refused(*args)
        check(f"{args[2]} of {args[0]} is refused in one sentence", code == 1 and said in text
              and len(text.splitlines()) == 1, (code, text))


def next_words(work):
    subprocess.run([SHOAL, "gen", "world", "--words", "60000", "-q", "-o", "world.txt"], cwd=work, check=True)
    subprocess.run([SHOAL, "train", "cbow", "world.txt", "-q", "--dim", "8", "--epochs", "1", "-o", "w.shoal"], cwd=work,
                   check=True)
    subprocess.run([SHOAL, "train", "nextword", "world.txt", "--vectors", "w.shoal", "-q", "--hidden", "8", "--epochs",
                    "1", "-o", "next.shoal"], cwd=work, check=True)
    s = Server("next.shoal", *ANY, cwd=work)
    a = s.ask("POST", "/predictions/next", b"the king of the", {"Content-Type": "text/plain"})
    scores = list(a.json().values())
    check("text gives the likeliest next words", a.status == 200 and len(scores) == 10
          and scores == sorted(scores, reverse=True) and all(0 <= x <= 1 for x in scores), a)
    b = s.ask("POST", "/predictions/next", json.dumps({"text": "the king of the", "k": 3}))
    check("as JSON too, and k says how many", list(b.json().items()) == list(a.json().items())[:3], b)
    b = s.ask("POST", "/v1/models/next:predict", json.dumps({"instances": ["the king of the", "zzzz qqqq"]})).json()
    check("text without a known word gives none, and no other loses by it", b["predictions"] == [a.json(), {}], b)
    b = s.ask("POST", "/predictions/next?vector=1&k=3", b"the king of the", {"Content-Type": "text/plain"}).json()
    c = s.ask("POST", "/predictions/next", json.dumps({"text": "the king of the", "k": 3, "vector": True})).json()
    check("vector=1 gives the predicted vector and the words nearest to it", b == c and len(b["vector"]) == 8
          and len(b["nearest"]) == 3 and all(-1.001 <= x <= 1.001 for x in b["nearest"].values()), (b, c))
    d = s.ask("POST", "/v2/models/next/infer?vector=1", json.dumps({"inputs": [
        {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["the king of the"]}]})).json()["outputs"]
    check("a tensor has words and scores apart", [x["name"] for x in d] == ["words", "probabilities", "vector"]
          and d[0]["shape"] == d[1]["shape"] == [1, 10] and d[0]["data"][:3] == list(b["nearest"]), d)
    d = d[2]
    check("and a tensor of it", d["datatype"] == "FP32" and d["shape"] == [1, 8] and d["data"] == b["vector"], d)
    indented(s, "/predictions/next", json.dumps({"text": "the king of the", "k": 3}))
    texts = [" ".join(("the", "king", "of", "a", "queen")[i % 5:]) for i in range(40)]
    b = s.ask("POST", "/v1/models/next:predict", json.dumps({"instances": texts})).json()["predictions"]
    alone = [s.ask("POST", "/predictions/next", t.encode(), {"Content-Type": "text/plain"}).json() for t in texts[:5]]
    check("many texts are answered together as one by one", len(b) == 40 and all(
        near(b[i], alone[i % 5]) for i in range(40)), (b[:5], alone))
    for bad in (b"", b"{}", b"[]", b'{"text":5}', b'{"text":"a","k":0}', b"x" * 70000):
        check(f"{bad[:20]!r} is no text to go on from", s.ask("POST", "/predictions/next", bad).status == 400)
    check("the page knows that it continues text", s.ask("GET", "/stats").json()["models"][0]["kind"] == "nextword")
    s.stop()


def text_classes(work):
    subprocess.run([SHOAL, "gen", "news", "--lines", "3000", "-q", "-o", "news.txt"], cwd=work, check=True)
    subprocess.run([SHOAL, "train", "classify", "news.txt", "-q", "--dim", "8", "-o", "news.shoal"], cwd=work, check=True)
    subprocess.run([SHOAL, "convert", "news.shoal", "news.bin", "-q"], cwd=work, check=True)
    with open(os.path.join(work, "news.txt")) as f:
        texts = [line.strip() for line in f.readlines()[:20]]
    said = subprocess.run([SHOAL, "predict", "news.shoal", "news.txt"], cwd=work, check=True, capture_output=True)
    said = [line.split()[0][len("__label__"):] for line in said.stdout.decode().splitlines()[:20]]
    s = Server("news=news.shoal", "bin=news.bin", *ANY, cwd=work)
    a = s.ask("POST", "/predictions/news", texts[0].encode(), {"Content-Type": "text/plain"})
    scores = list(a.json().values())
    check("a text gives its likeliest labels", a.status == 200 and set(a.json()) == {"World", "Sports", "Business", "SciTech"}
          and scores == sorted(scores, reverse=True) and abs(sum(scores) - 1) < 1e-4, a)
    b = s.ask("POST", "/predictions/news", json.dumps({"text": texts[0], "k": 2})).json()
    check("as JSON too, and k says how many", list(b.items()) == list(a.json().items())[:2], b)
    b = s.ask("POST", "/predictions/news", json.dumps({"texts": texts[:2], "threshold": 0.5})).json()
    check("a threshold leaves out what is less likely", len(b) == 2 and all(p >= 0.5 for x in b for p in x.values()), b)
    b = s.ask("POST", "/v1/models/news:predict", json.dumps({"instances": texts})).json()["predictions"]
    check("the server says what the program says", [next(iter(x)) for x in b] == said, (b, said))
    c = s.ask("POST", "/v1/models/bin:predict", json.dumps({"instances": texts})).json()["predictions"]
    check("and a file of fastText's the same", all(near(x, y) for x, y in zip(b, c)), (b, c))
    d = s.ask("POST", "/v2/models/news/infer", json.dumps({"inputs": [
        {"name": "text", "datatype": "BYTES", "shape": [1, 1], "data": [[texts[0]]]}]})).json()["outputs"]
    check("the Open Inference Protocol takes texts", d[0]["name"] == "labels" and d[0]["datatype"] == "BYTES"
          and d[0]["shape"] == [1, 4] and dict(zip(d[0]["data"], d[1]["data"])) == a.json(), d)
    d = s.ask("POST", "/v2/models/news/infer", json.dumps({"parameters": {"threshold": 0.5}, "outputs": [{"name": "labels"}],
              "inputs": [{"name": "text", "datatype": "BYTES", "shape": [2], "data": texts[:2]}]})).json()["outputs"]
    check("with parameters, and one output of the two", len(d) == 1 and d[0]["shape"] == [2, 1] and d[0]["data"] == said[:2], d)
    for bad in (b"{}", b"[]", b'{"text":5}', b'{"text":"a","k":0}', b'{"text":"a","threshold":2}'):
        check(f"{bad[:26]!r} is no text to classify", s.ask("POST", "/predictions/news", bad,
                                                          {"Content-Type": "application/json"}).status == 400)
    check("the page knows that it classifies", s.ask("GET", "/stats").json()["models"][0]["kind"] == "classify")
    s.stop()


def configured(work):
    with open(os.path.join(work, "serve.conf"), "w") as f:
        f.write("# as TorchServe's\ninference_address = http://127.0.0.1:0\nmanagement_address=none\n"
                "metrics_address=none\nmodel_store=store\nload_models=all\ndefault_workers_per_model=2\n")
    s = Server("--config", "serve.conf", "--workers", "1", cwd=work)
    a = s.ask("GET", "/stats").json()
    check("a configuration is read, and the command line goes before", list(s.address) == ["inference"]
          and [(m["name"], m["workers"]) for m in a["models"]] == [("words", 1)], a)
    s.stop()


def main():
    work = tempfile.mkdtemp(prefix="shoal-serve-")
    try:
        os.mkdir(os.path.join(work, "store"))
        vectors(os.path.join(work, "words.vec"), WORDS)
        vectors(os.path.join(work, "store", "words.vec"), WORDS)
        with open(os.path.join(work, "store", "junk.bin"), "wb") as f:
            f.write(os.urandom(100))
        s = Server("words=words.vec", "--model-store", "store", "--max-body", "100K", *ANY, cwd=work)
        for part in (inference, embeddings, protocols, management, metrics, malformed, browsers, every_route):
            part(s)
        check("the server ends well", s.stop() == 0)
        os.remove(os.path.join(work, "store", ".shoal-serve.state"))
        os.remove(os.path.join(work, "store", "junk.bin"))
        for part in (unseen_words, versions_of_words, slow_clients, replacement, restart, drained, tokens, rates, together, encrypted,
                     clicks, nets, pictures, grey_pictures, class_names, next_words, text_classes,
                     configured):
            part(work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
