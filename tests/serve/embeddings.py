#!/usr/bin/env python3
"""Embeddings in OpenAI's shape, nearest words with filters and batches, and the index beside vectors.

    tests/serve/embeddings.py SHOAL

Prints TAP. The bodies and headers are those that OpenAI's Python client sends.
"""

import base64
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile

from harness import SHOAL, WORDS, Server, check, finish, vectors
from loopback import ANY

CLIENT = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "OpenAI/Python 1.68.2",
          "X-Stainless-Lang": "python", "Authorization": "Bearer sk-anything"}


def post(s, body, path="/v1/embeddings", headers=CLIENT):
    return s.ask("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode(), headers)


def unpack(text):
    data = base64.b64decode(text)
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def length(x):
    return math.sqrt(sum(a * a for a in x))


def row(s, word):
    return s.ask("GET", f"/models/words/vector?word={word}").json()["vector"]


def mean(s, *words):
    units = [[x / length(r) for x in r] for r in (row(s, word) for word in words)]
    total = [sum(column) for column in zip(*units)]
    return [x / length(total) for x in total]


def same(a, b):
    return len(a) == len(b) and all(abs(x - y) < 1e-5 for x, y in zip(a, b))


def is_error(a, status, words, code=None):
    e = a.json().get("error") if a.json() else None
    return (a.status == status and isinstance(e, dict) and words in e["message"] and e["code"] == code
            and e["param"] is None and e["type"] in ("invalid_request_error", "server_error"))


def texts(s):
    # client.embeddings.create(model="words", input="sea fish"): base64 by itself
    a = post(s, b'{"input": "sea fish", "model": "words", "encoding_format": "base64"}').json()
    check("an answer has OpenAI's shape", a["object"] == "list" and a["model"] == "words"
          and a["usage"] == {"prompt_tokens": 2, "total_tokens": 2} and len(a["data"]) == 1
          and a["data"][0]["object"] == "embedding" and a["data"][0]["index"] == 0, a)
    check("base64 holds floats, the mean of the words", same(unpack(a["data"][0]["embedding"]), mean(s, "sea", "fish")),
          a)
    b = post(s, {"input": "sea fish", "model": "words", "encoding_format": "float", "user": "me"}).json()
    check("as numbers they are the same", b["data"][0]["embedding"] == [
        json.loads(json.dumps(x)) for x in b["data"][0]["embedding"]]
          and same(b["data"][0]["embedding"], unpack(a["data"][0]["embedding"])), b)
    check("without a format they are numbers", same(post(s, {"input": "sea", "model": "words"}).json()["data"][0]
                                                    ["embedding"], mean(s, "sea")))
    a = post(s, {"input": ["sea", "fish tide", "Sea, FISH!"], "model": "words"}).json()
    check("each text of a list has a vector, in its order", [d["index"] for d in a["data"]] == [0, 1, 2]
          and same(a["data"][1]["embedding"], mean(s, "fish", "tide")), a)
    check("capitals and commas do not matter where words have none",
          same(a["data"][2]["embedding"], mean(s, "sea", "fish")), a)
    a = post(s, {"input": [0, 1], "model": "words"}).json()
    check("token ids are those of words", same(a["data"][0]["embedding"], mean(s, "sea", "fish")), a)
    a = post(s, {"input": [[0], [3]], "model": "words"}).json()
    check("and lists of them several inputs", same(a["data"][1]["embedding"], mean(s, "tide")), a)
    check("dimensions of the model are taken",
          post(s, {"input": "sea", "model": "words", "dimensions": 4}).status == 200)
    a = post(s, {"input": ["sea " * 40000] + ["sea fish"] * 200, "model": "words"})
    check("a large body is read by another thread", a.status == 200 and len(a.json()["data"]) == 201
          and a.json()["usage"]["prompt_tokens"] == 40400, a)


def refusals(s):
    check("other dimensions are refused", is_error(post(s, {"input": "sea", "model": "words", "dimensions": 2}), 400,
                                                   "want none or 4"))
    check("a text without a known word is refused by its number",
          is_error(post(s, {"input": ["sea", "zzz yyy"], "model": "words"}), 400, "text 1 has no word"))
    check("an unknown model is not found",
          is_error(post(s, {"input": "sea", "model": "none"}), 404, "none", "model_not_found"))
    for name, body, words in (
            ("no model", {"input": "sea"}, "model: found no name"),
            ("no input", {"model": "words"}, "input: found none"),
            ("an empty text", {"model": "words", "input": ""}, "empty text"),
            ("an empty list", {"model": "words", "input": []}, "a list of 0"),
            ("too many texts", {"model": "words", "input": ["sea"] * 2049}, "a list of 2049"),
            ("an object", {"model": "words", "input": {}}, "neither text"),
            ("a word id that is none", {"model": "words", "input": [99]}, "token id 0"),
            ("half an id", {"model": "words", "input": [0.5]}, "token id 0"),
            ("another format", {"model": "words", "input": "sea", "encoding_format": "hex"}, "encoding_format"),
            ("no JSON", b"{", ""),
            ("a model without vectors of texts", {"model": "m", "input": "sea"}, "has no vectors of texts")):
        a = post(s, body)
        check(f"{name} is refused in OpenAI's shape", is_error(a, 400, words), a)
    a = s.ask("GET", "/v1/embeddings")
    check("embeddings are posted", a.status == 405 and a.headers["Allow"] == "POST" and "error" in a.json(), a)
    a = s.ask("GET", "/v1/models").json()
    check("models are listed", a["object"] == "list" and [m["id"] for m in a["data"]] == ["m", "news", "words"]
          and all(m["object"] == "model" and m["created"] > 0 for m in a["data"]) and a["models"] == ["m", "news",
                                                                                                     "words"], a)
    check("a model by its name is still KServe's", s.ask("GET", "/v1/models/words").json() == {"name": "words",
                                                                                              "ready": True})


def classifier(s):
    a = post(s, {"input": ["the team won the match", "stocks fell"], "model": "news"}).json()
    check("a classifier of texts gives vectors of length 1", len(a["data"]) == 2
          and all(abs(length(d["embedding"]) - 1) < 1e-4 and len(d["embedding"]) == 6 for d in a["data"]), a)
    check("it has no token ids", is_error(post(s, {"input": [1, 2], "model": "news"}), 400, "want text"))


def nearest(s, body):
    return post(s, body, "/predictions/words")


def neighbours(s):
    plain = s.ask("GET", "/models/words/similar?word=fish&k=7").json()["similar"]
    order = [hit["word"] for hit in plain]
    a = nearest(s, {"vector": row(s, "fish"), "k": 3}).json()
    check("a vector finds its word first", list(a)[0] == "fish" and list(a)[1:] == order[:2], a)
    a = nearest(s, [row(s, "fish"), row(s, "sea")]).json()
    check("several vectors are a batch", [list(x)[0] for x in a] == ["fish", "sea"], a)
    a = nearest(s, {"instances": [{"word": "fish"}, {"vector": row(s, "sea"), "k": 1}, {"word": "sea", "k": 2}],
                    "k": 3, "deny": ["tide"]}).json()["predictions"]
    check("questions of a batch may each have their k", [len(x) for x in a] == [3, 1, 2]
          and not any("tide" in x for x in a), a)
    a = nearest(s, {"word": "fish", "deny": order[:2], "k": 3}).json()
    check("denied words do not answer", list(a) == order[2:5], a)
    a = nearest(s, {"word": "fish", "allow": [order[4], order[1], "unknown"], "k": 5}).json()
    check("of allowed words alone the nearest answer", list(a) == [order[1], order[4]], a)
    a = s.ask("GET", "/models/words/similar?word=fish&prefix=s").json()["similar"]
    check("a prefix is asked for in the address", [h["word"] for h in a] == [w for w in order if w[0] == "s"], a)
    check("no word is common enough where counts are unknown", nearest(s, {"word": "fish", "min_count": 5}).json() == {})
    for body in ({"vector": [1, 2]}, {"vector": [0, 0, 0, 0]}, {"vector": ["a", 1, 1, 1]}, {"word": "fish", "allow": 3},
                 {"word": "fish", "deny": [1]}, {"word": "fish", "k": 1001}, {"word": "fish", "ef": 0},
                 {"word": "fish", "min_count": -1}, {"word": "fish", "prefix": "x" * 600}):
        a = nearest(s, body)
        check(f"{json.dumps(body)[:50]} is a bad request", a.error() == (400, "BadRequestException"), a)


def tokens(work):
    with open(os.path.join(work, "tokens"), "w") as f:
        f.write("inference " + "a" * 20 + "\nmanagement " + "b" * 20 + "\nmetrics " + "c" * 20 + "\n")
    os.chmod(os.path.join(work, "tokens"), 0o600)
    s = Server("words=words.vec", "--token-file", "tokens", *ANY, cwd=work)
    check("a wrong key is refused in OpenAI's shape",
          is_error(post(s, {"input": "sea", "model": "words"}), 401, "Token", "invalid_api_key"))
    key = dict(CLIENT, Authorization="Bearer " + "a" * 20)
    check("the right one is taken", post(s, {"input": "sea", "model": "words"}, headers=key).status == 200)
    s.stop()


def have_index():
    said = subprocess.run([SHOAL, "index", "/dev/null"], stderr=subprocess.PIPE, check=False).stderr
    return b"hnswlib" not in said


def facts(s):
    return s.ask("GET", "/stats").json()["models"][0]["facts"]


def index(work):
    """Vectors with an index beside: it answers, is said, and that of others is not taken."""
    if not have_index():
        check("an index is not to be had in this build # SKIP", True)
        return
    path = os.path.join(work, "many.vec")
    with open(path, "w") as f:
        f.write("3000 8\n")
        for i in range(3000):
            f.write(f"w{i} " + " ".join(f"{math.sin(i * (j + 1) * 0.37 + j) + (i % 7 == j):.4f}" for j in range(8)) + "\n")
    subprocess.run([SHOAL, "index", path, "-q", "--ef", "100"], check=True)
    s = Server("many=many.vec", "--index", *ANY, cwd=work)
    check("a model says that it has an index", facts(s).get("index") == "hnsw, ef 100", facts(s))
    exact = s.ask("GET", "/models/many/similar?word=w5&k=10&exact=true").json()["similar"]
    quick = s.ask("GET", "/models/many/similar?word=w5&k=10").json()["similar"]
    check("the index finds the nearest", len({h["word"] for h in exact} & {h["word"] for h in quick}) >= 9, (exact, quick))
    a = s.ask("GET", "/models/many/similar?word=w5&k=5&prefix=w77").json()["similar"]
    check("with a filter that few pass all answers are there", len(a) == 5 and all(h["word"].startswith("w77") for h in a),
          a)
    a = s.ask("GET", "/models/many/analogy?a=w1&b=w2&c=w3&k=3").json()["answers"]
    b = s.ask("GET", "/models/many/analogy?a=w1&b=w2&c=w3&k=3&exact=true").json()["answers"]
    check("analogies are asked by it too", a[0]["word"] == b[0]["word"], (a, b))
    check("a server with an index ends well", s.stop() == 0)
    s = Server("many=many.vec", *ANY, cwd=work)
    check("without --index there is none", "index" not in facts(s))
    s.stop()
    os.replace(path + ".hnsw", os.path.join(work, "words.vec.hnsw"))
    s = Server("words=words.vec", "--index", *ANY, cwd=work)
    check("an index of others is not taken, and the log says why", "index" not in facts(s)
          and s.ask("GET", "/models/words/similar?word=sea").status == 200
          and any("searched without an index" in line for line in s.said), s.said)
    s.stop()


def main():
    work = tempfile.mkdtemp(prefix="shoal-embeddings-")
    try:
        vectors(os.path.join(work, "words.vec"), WORDS)
        for line in ("gen news --lines 200 -q -o news.txt", "gen spiral --samples 100 -q -o spiral.csv",
                     "train classify news.txt -q --dim 6 --epochs 1 --threads 1 -o news.shoal",
                     "train mlp spiral.csv --layers 4 --epochs 1 -q -o m.shoal"):
            subprocess.run([SHOAL, *line.split()], cwd=work, check=True)
        s = Server("words=words.vec", "news=news.shoal", "m=m.shoal", *ANY, cwd=work)
        for part in (texts, refusals, classifier, neighbours):
            part(s)
        check("the server ends well", s.stop() == 0)
        tokens(work)
        index(work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
