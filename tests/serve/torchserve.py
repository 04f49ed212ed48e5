#!/usr/bin/env python3
"""The commands of TorchServe's documentation, by curl, field by field: those that apply give what it documents, but for
what docs/coming-from/torchserve.md lists as different.

    tests/serve/torchserve.py SHOAL ROOT

Prints TAP.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import harness
from harness import ANY, TIME_LIMIT, WORDS, Server, check, vectors

# Of GET /models/NAME, as TorchServe's page on management has it.
DESCRIBED = {"modelName", "modelVersion", "modelUrl", "runtime", "minWorkers", "maxWorkers", "batchSize", "maxBatchDelay",
             "loadedAtStartup", "workers", "jobQueueStatus"}
WORKER = {"id", "startTime", "status", "memoryUsage", "pid", "gpu", "gpuUsage"}
METRICS = ["Requests2XX", "Requests4XX", "Requests5XX", "ts_inference_requests_total", "ts_inference_latency_microseconds",
           "ts_queue_latency_microseconds", "QueueTime", "WorkerThreadTime", "WorkerLoadTime", "CPUUtilization",
           "MemoryUsed", "MemoryAvailable", "MemoryUtilization", "DiskUsage", "DiskUtilization", "DiskAvailable",
           "HandlerTime", "PredictionTime"]


class Curl:
    def __init__(self, s, work):
        self.s, self.work = s, work

    def __call__(self, command):
        """The command as documented, at the ports that the system chose: status and body."""
        for port, where in (("8080", "inference"), ("8081", "management"), ("8082", "metrics")):
            command = re.sub(rf"(http://)?(localhost|127\.0\.0\.1):{port}", "http://" + self.s.address[where], command)
        words = re.findall(r"'[^']*'|\"[^\"]*\"|\S+", command)
        done = subprocess.run(["curl", "-s", "-g", "-w", "\n%{http_code}", *[w.strip("'\"") for w in words[1:]]],
                              cwd=self.work, capture_output=True, text=True, timeout=TIME_LIMIT)
        body, _, status = done.stdout.rpartition("\n")
        try:
            return int(status), json.loads(body)
        except ValueError:
            return int(status or 0), body


def inference(curl):
    status, a = curl("curl -X OPTIONS http://localhost:8080")
    check("the description is OpenAPI 3.0.1", status == 200 and a["openapi"] == "3.0.1" and "/ping" in a["paths"])
    check("ping", curl("curl http://localhost:8080/ping") == (200, {"status": "Healthy"}))
    status, near = curl("curl http://localhost:8080/predictions/words -T word.txt")
    check("predictions by -T are classes and scores", status == 200 and len(near) == 5
          and all(isinstance(x, float) for x in near.values()), near)
    for command in ('curl -X POST http://localhost:8080/predictions/words -T word.txt',
                    'curl http://localhost:8080/predictions/words -F "data=@word.txt"',
                    'curl http://localhost:8080/predictions/words/1.0 -F "data=@word.txt"',
                    'curl http://localhost:8080/predictions/words -d data=fish'):
        check(command + " gives the same", curl(command) == (200, near))
    status, a = curl("curl http://localhost:8080/predictions/words -F 'data=@word.txt' -F 'data=@word.txt'")
    check("two inputs give a list", (status, a) == (200, [near, near]), a)
    status, a = curl("curl -H 'Content-Type:application/json' --data '{\"instances\":[\"fish\"]}' "
                     "http://localhost:8080/v1/models/words:predict")
    check("KServe's v1", (status, a) == (200, {"predictions": [near]}), a)
    status, a = curl("curl -H 'Content-Type:application/json' --data "
                     "'{\"id\":\"7\",\"inputs\":[{\"name\":\"words\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"fish\"]}]}' "
                     "http://localhost:8080/v2/models/words/infer")
    check("KServe's v2", status == 200 and a["id"] == "7" and a["model_name"] == "words" and
          a["outputs"][0]["datatype"] == "FP32", a)
    for command in ("curl -X POST http://127.0.0.1:8080/explanations/words -T word.txt",
                    "curl http://localhost:8080/v1/models/words:explain -d x", "curl http://127.0.0.1:8080/wfpredict/w -T word.txt"):
        check(command + " is not there", curl(command)[0] == 404)
    status, a = curl("curl http://localhost:8080/predictions/none -T word.txt")
    check("an unknown model is TorchServe's error", (status, a) == (404, {
        "code": 404, "type": "ModelNotFoundException", "message": "Model not found: none"}), a)


def management(curl):
    at = "http://localhost:8081/models"
    first = curl(f'curl -X POST "{at}?url=a.vec"')
    check("registering", first == (200, {"status": 'Model "a" Version: 1.0 registered with 0 initial workers. Use scale '
                                         'workers API to add workers for the model.'}), first)
    again = curl(f'curl -X POST "{at}?url=a.vec"')
    check("once more is a conflict", again[0] == 409 and again[1]["type"] == "ConflictStatusException", again)
    begun = curl(f'curl -X POST "{at}?url=a.vec&model_name=b&initial_workers=1&synchronous=false"')
    check("registering with workers begins", begun == (202, {"status": "Processing worker updates..."}), begun)
    done = curl(f'curl -X POST "{at}?url=a.vec&model_name=b&model_version=2.0&initial_workers=1&synchronous=true"')
    check("or is done", done == (200, {"status": 'Model "b" Version: 2.0 registered with 1 initial workers'}), done)
    for command, want in (
            (f'curl -X PUT "{at}/b?min_worker=3"', (202, "Processing worker updates...")),
            (f'curl -X PUT "{at}/b?min_worker=3&synchronous=true"', (200, "Workers scaled to 3 for model: b")),
            (f'curl -X PUT "{at}/b/2.0?min_worker=3&synchronous=true"',
             (200, "Workers scaled to 3 for model: b, version: 2.0")),
            (f"curl -v -X PUT {at}/b/2.0/set-default", (200, 'Default version successfully updated for model "b" to "2.0"'))):
        found = curl(command)
        check(command.split("localhost")[1], found == (want[0], {"status": want[1]}), found)
    status, a = curl(f"curl {at}/b")
    check("a description has the documented fields", status == 200 and len(a) == 1 and DESCRIBED <= a[0].keys(),
          DESCRIBED - a[0].keys())
    check("so have its workers", len(a[0]["workers"]) == 3 and all(w.keys() == WORKER for w in a[0]["workers"]), a)
    check("and its queue", a[0]["jobQueueStatus"].keys() == {"remainingCapacity", "pendingRequests"})
    check("a version", [x["modelVersion"] for x in curl(f"curl {at}/b/2.0")[1]] == ["2.0"])
    check("all versions", [x["modelVersion"] for x in curl(f"curl {at}/b/all")[1]] == ["1.0", "2.0"])
    status, a = curl(f'curl "{at}/b?customized=true"')
    check("customized metadata is a string of JSON", "platform" in json.loads(a[0]["customizedMetadata"]), a)
    status, a = curl(f'curl "{at}?limit=2&next_page_token=0"')
    check("a page of models", status == 200 and a["nextPageToken"] == "2" and [m.keys() for m in a["models"]] == [
        {"modelName", "modelUrl"}] * 2, a)
    status, a = curl(f"curl -X DELETE {at}/b/2.0")
    check("a default beside others stays", (status, a["type"]) == (403, "InvalidModelVersionException"), a)
    check("another version ends", curl(f"curl -X DELETE {at}/b/1.0") == (200, {"status": 'Model "b" unregistered'}))
    check("and the model", curl(f"curl -X DELETE {at}/b") == (200, {"status": 'Model "b" unregistered'}))
    for command in (f'curl -X POST "{at}?url=https://torchserve.pytorch.org/mar_files/squeezenet1_1.mar"',
                    f'curl -X POST "{at}?url=../a.vec"'):
        status, a = curl(command)
        check(command.split("?")[1] + " is refused", (status, a["type"]) == (400, "BadRequestException"), a)


def metrics(curl):
    status, a = curl("curl http://127.0.0.1:8082/metrics")
    missing = [m for m in METRICS if not re.search(rf"^{m}{{", a, re.MULTILINE)]
    check("every metric of TorchServe is there", status == 200 and not missing, missing)
    status, a = curl('curl "http://127.0.0.1:8082/metrics?name[]=ts_inference_latency_microseconds'
                     '&name[]=ts_queue_latency_microseconds"')
    names = set(re.findall(r"^(\w+)(?:{| )", re.sub("^#.*\n", "", a, flags=re.MULTILINE), re.MULTILINE))
    check("some by name", status == 200 and names == {"ts_inference_latency_microseconds", "ts_queue_latency_microseconds"},
          names)


def documented(curl, root):
    """The table of fields in the documents is that of the server."""
    with open(os.path.join(root, "docs/coming-from/torchserve.md"), encoding="utf-8") as f:
        text = f.read().split("## Fields", 1)[1].split("\n## ", 1)[0]
    rows = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in text.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in row}
    a = curl("curl http://localhost:8081/models/words")[1][0]
    fields = a.keys() | a["workers"][0].keys() | a["jobQueueStatus"].keys() | {"customizedMetadata"}
    check("each field of a description is in the documents", fields <= named, fields - named)


def main():
    work = tempfile.mkdtemp(prefix="shoal-torchserve-")
    root = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(__file__), "../..")
    try:
        os.mkdir(os.path.join(work, "store"))
        vectors(os.path.join(work, "words.vec"), WORDS)
        vectors(os.path.join(work, "store", "a.vec"), WORDS)
        with open(os.path.join(work, "word.txt"), "w") as f:
            f.write("fish")
        s = Server("words=words.vec", "--model-store", "store", *ANY, cwd=work)
        curl = Curl(s, work)
        inference(curl)
        management(curl)
        metrics(curl)
        documented(curl, root)
        check("torchserve --stop is SIGTERM", s.stop() == 0)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
