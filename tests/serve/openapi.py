#!/usr/bin/env python3
"""The OpenAPI document is true: what it describes is there, what it does not is not, and a client made of nothing
but the document gets answers that fit its schemas, from models of every kind.

    tests/serve/openapi.py SHOAL [SRC/serve/api.txt]

Prints TAP. The checker of schemas is here (what JSON Schema has that the document uses, and no more).
"""

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import harness
from harness import ANY, SHOAL, TIME_LIMIT, WORDS, Server, check, multipart, png, vectors

METHODS = ["get", "post", "put", "delete", "patch", "options"]
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


# ---- Schemas ------------------------------------------------------------------------------------------


class Schemas:
    """Those of a document."""

    KNOWN = {"$ref", "type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "minimum",
             "maximum", "minItems", "description", "example", "format"}

    def __init__(self, document):
        self.document = document

    def look_up(self, node):
        while "$ref" in node:
            at = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                at = at[part]
            node = at
        return node

    def wrong(self, schema, value, where="$"):
        """Why the value does not fit; "" when it does."""
        schema = self.look_up(schema)
        if schema.keys() - self.KNOWN:
            return f"{where}: the checker does not know {schema.keys() - self.KNOWN}"
        kind = schema.get("type")
        if kind and not self.is_kind(kind, value):
            return f"{where}: found {value!r}, want {kind}"
        if "enum" in schema and value not in schema["enum"]:
            return f"{where}: found {value!r}, want one of {schema['enum']}"
        if "anyOf" in schema and all(self.wrong(s, value, where) for s in schema["anyOf"]):
            return f"{where}: {value!r} fits none of anyOf"
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if value < schema.get("minimum", value) or value > schema.get("maximum", value):
                return f"{where}: {value} is out of range"
        if isinstance(value, list):
            if len(value) < schema.get("minItems", 0):
                return f"{where}: {len(value)} items"
            return next(filter(None, (self.wrong(schema.get("items", {}), x, f"{where}[{i}]")
                                      for i, x in enumerate(value))), "")
        return self.wrong_object(schema, value, where) if isinstance(value, dict) else ""

    def wrong_object(self, schema, value, where):
        known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        missing = [x for x in schema.get("required", []) if x not in value]
        if missing:
            return f"{where}: {missing} are not there"
        for key, x in value.items():
            if key not in known and more is False:
                return f"{where}: '{key}' is not described"
            bad = self.wrong(known.get(key, more if isinstance(more, dict) else {}), x, f"{where}.{key}")
            if bad:
                return bad
        return ""

    @staticmethod
    def is_kind(kind, value):
        if kind in ("integer", "number"):
            return isinstance(value, int if kind == "integer" else (int, float)) and not isinstance(value, bool)
        return isinstance(value, TYPES[kind])


def checker():
    """The checker sees what is wrong."""
    s = Schemas({"a": {"type": "object", "required": ["x"], "additionalProperties": False,
                       "properties": {"x": {"type": "integer", "minimum": 1}, "y": {"type": "array", "minItems": 1,
                                                                                    "items": {"enum": ["p"]}}}}})
    ref = {"$ref": "#/a"}
    for value, fits in (({"x": 1}, True), ({"x": 1, "y": ["p"]}, True), ({}, False), ({"x": 0}, False),
                        ({"x": 1.5}, False), ({"x": True}, False), ({"x": 1, "z": 1}, False), ({"x": 1, "y": []}, False),
                        ({"x": 1, "y": ["q"]}, False), ([], False)):
        check(f"the checker says {'yes' if fits else 'no'} to {value}", (s.wrong(ref, value) == "") == fits)


# ---- A client that is made of the document ------------------------------------------------------------


class Client:
    """client.similar(model_name="words", word="sea"): functions by operationId, from the document alone."""

    def __init__(self, address, document):
        self.host, self.port = address.rsplit(":", 1)
        self.schemas, self.used, self.operations = Schemas(document), set(), {}
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                self.operations[operation["operationId"]] = (method, path, operation)

    def __getattr__(self, name):
        return lambda body=None, media="application/json", headers=None, **given: self.call(
            name, body, media, headers, given)

    def call(self, name, body, media, headers, given):
        method, path, operation = self.operations[name]
        query = []
        for p in operation["parameters"]:
            if p["name"] not in given:
                if p["required"]:
                    raise TypeError(f"{name} wants {p['name']}")
                continue
            value = given.pop(p["name"])
            bad = self.schemas.wrong(p["schema"], value)
            if bad:
                raise TypeError(f"{name}: {p['name']}: {bad}")
            value = str(value).lower() if isinstance(value, bool) else str(value)
            if p["in"] == "path":
                path = path.replace("{" + p["name"] + "}", urllib.parse.quote(value, safe=""))
            else:
                query.append((p["name"], value))
        if given:
            raise TypeError(f"{name} has no {sorted(given)}")
        if body is not None:
            content = self.schemas.look_up(operation["requestBody"])["content"]
            schema = content[media.split(";")[0]]["schema"]
            if media == "application/json":
                bad = self.schemas.wrong(schema, body)
                if bad:
                    raise TypeError(f"{name}: {bad}")
                body = json.dumps(body).encode()
        return self.send(name, method, path + ("?" + urllib.parse.urlencode(query) if query else ""), body, media,
                         operation, headers)

    def send(self, name, method, path, body, media, operation, headers):
        c = http.client.HTTPConnection(self.host, int(self.port), timeout=TIME_LIMIT)
        try:
            c.request(method.upper(), path, body, {**(headers or {}), **({"Content-Type": media} if body else {})})
            answer = c.getresponse()
            data = answer.read()
        finally:
            c.close()
        self.used.add(name)
        kind = answer.headers["Content-Type"].split(";")[0]
        described = operation["responses"].get(str(answer.status), operation["responses"]["default"])
        if str(answer.status) not in operation["responses"]:
            return answer.status, f"{answer.status} is not described: {data[:200]!r}", data
        if kind not in described.get("content", {}):
            return answer.status, f"{kind} is not described for {answer.status}", data
        if kind != "application/json":
            return answer.status, "", data
        value = json.loads(data)
        return answer.status, self.schemas.wrong(described["content"][kind]["schema"], value), value


# ---- The document itself ------------------------------------------------------------------------------


def refs(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for x in node.values():
            yield from refs(x)
    elif isinstance(node, list):
        for x in node:
            yield from refs(x)


def form(document):
    """What OpenAPI 3 asks of a document, of what this one has."""
    check("it is OpenAPI 3.0 with a title, a version and paths", document["openapi"].startswith("3.0.")
          and document["info"]["title"] and document["info"]["version"] and document["paths"])
    check("it says where the server is and the licence, as linters want it", document["servers"] == [{"url": "/"}]
          and document["info"]["license"]["name"] == "MIT", document["info"])
    schemas, missing = Schemas(document), []
    for ref in set(refs(document)):
        try:
            schemas.look_up({"$ref": ref})
        except KeyError:
            missing.append(ref)
    check("every reference leads somewhere", not missing, missing)
    named = {"#/components/schemas/" + x for x in document["components"]["schemas"]}
    check("and every schema is used", not named - set(refs(document)), named - set(refs(document)))
    ids, wrong = [], []
    for path, methods in document["paths"].items():
        for method, o in methods.items():
            ids.append(o["operationId"])
            said = {p["name"] for p in o["parameters"] if p["in"] == "path"}
            if said != set(re.findall(r"{([a-z_]+)}", path)):
                wrong.append(f"{method} {path}: parameters {said}")
            if len({(p["name"], p["in"]) for p in o["parameters"]}) != len(o["parameters"]):
                wrong.append(f"{method} {path}: a parameter twice")
            if method == "post" and "requestBody" not in o:
                wrong.append(f"{method} {path}: no body")
            if method in ("get", "delete", "options") and "requestBody" in o:
                wrong.append(f"{method} {path}: a body")
            for code, r in o["responses"].items():
                if not r.get("description") or "content" not in r or not re.fullmatch(r"\d{3}|default", code):
                    wrong.append(f"{method} {path}: {code}")
            if not any(code.startswith("2") for code in o["responses"]):
                wrong.append(f"{method} {path}: no success")
    check("each operation has its parameters, POSTs a body, and answers schemas", not wrong, wrong)
    check("each has a name of its own", len(set(ids)) == len(ids), sorted(ids))


# ---- Both ways ----------------------------------------------------------------------------------------

SAMPLE = {"model_name": "words", "model_version": "1.0"}


def filled(path):
    return re.sub(r"{([a-z_]+)}", lambda m: SAMPLE[m[1]], path)


def is_there(answer):
    """Whether somebody answers that address with that method."""
    return answer.status != 405 and not (answer.status == 404 and b"Requested resource is not found" in answer.body)


def both_ways(s, document):
    """Each address with each method: described, or not there."""
    order = {m: i for i, m in enumerate(["get", "options", "patch", "post", "put", "delete"])}
    for path, methods in sorted(document["paths"].items()):
        bad = []
        for method in sorted(METHODS, key=order.get):
            if method == "delete" and method in methods or path.endswith("/unload") and method == "post":
                continue  # the client does so last of all
            if path == "/" and method == "get":
                continue  # the page
            headers = {"Content-Type": "application/json"} if method in ("post", "put") else {}
            a = s.ask(method.upper(), filled(path), b"" if method in ("post", "put") else None, headers)
            if is_there(a) != (method in methods):
                bad.append((method, a))
        check(f"{path} answers {', '.join(methods)}, and nothing else", not bad, bad)


def table(s, document, source):
    """The table that the server is built of."""
    with open(source, encoding="utf-8") as f:
        lines = [x.split() for x in f if re.match("(any|inference|management|metrics) ", x)]
    listed = {(x[3].partition("?")[0], x[1]) for x in lines}
    said = {(path, method) for path, methods in document["paths"].items() for method in methods}
    check("each line of the table is in the document, and nothing else", listed == said, listed ^ said)
    for path in ("/nothing", "/models/words/1.0/other", "/v2/other", "/v2/models", "/predictions", "/predictions/a/b/c",
                 "/v1/models/words:explain", "/health", "/health/live/more", "/ping/more", "/metrics/more",
                 "/openapi.json/more", "/v2/models/words/versions", "/v3"):
        check(f"{path} is not there", not is_there(s.ask("GET", path)))


# ---- Asking -------------------------------------------------------------------------------------------


def tensor(words):
    return {"inputs": [{"name": "words", "shape": [len(words)], "datatype": "BYTES", "data": words}]}


def ask_all(c, document):
    """Every operation, by the client that knows the document alone."""
    m = {"model_name": "words"}
    mv = {**m, "model_version": "1.0"}
    picture, boundary = multipart([("data", b"fish"), ("data", b"tide")])
    calls = [
        ("apiDescription", {}, 200), ("apiDescriptionAlias", {}, 200), ("openapi", {}, 200), ("ping", {}, 200),
        ("healthLive", {}, 200), ("healthReady", {}, 200), ("healthStartup", {}, 200), ("stats", {}, 200),
        ("predictions", {**m, "body": "fish"}, 200), ("predictions", {**m, "body": ["fish", "tide"]}, 200),
        ("predictions", {**m, "body": {"words": ["fish"], "vectors": True}}, 200),
        ("predictions", {**m, "body": b"fish", "media": "text/plain"}, 200),
        ("predictions", {**m, "body": b"data=fish", "media": "application/x-www-form-urlencoded"}, 200),
        ("predictions", {**m, "body": picture, "media": boundary["Content-Type"]}, 200),
        ("predictions", {"model_name": "none", "body": "fish"}, 404),
        ("predictions", {**m, "body": {"words": 7}}, 400),
        ("predictionsPut", {**m, "body": b"fish", "media": "application/octet-stream"}, 200),
        ("predictionsApi", m, 200), ("versionPredictions", {**mv, "body": "fish"}, 200),
        ("versionPredictions", {**m, "model_version": "9", "body": "fish"}, 404),
        ("versionPredictionsPut", {**mv, "body": "fish"}, 200), ("versionPredictionsApi", mv, 200),
        ("similar", {**m, "word": "fish", "k": 3}, 200), ("similar", {**m, "word": "fsh"}, 404),
        ("similar", {**m, "word": ""}, 400), ("form", m, 200), ("form", {**m, "version": "9"}, 404),
        ("analogy", {**m, "a": "sea", "b": "fish", "c": "tide", "method": "mul"}, 200),
        ("vector", {**m, "word": "fish"}, 200), ("map", {**m, "word": "fish", "k": 3}, 200),
        ("map", m, 200), ("map", {**m, "layout": "pca"}, 200), ("similar", {**m, "word": "fish", "version": "9"}, 404),
        ("similar", {**m, "word": "fish", "version": "1.0"}, 200),
        ("invoke", {**m, "body": "fish"}, 200), ("invokePut", {**m, "body": "fish"}, 200),
        ("v1Models", {}, 200),
        ("embeddings", {"body": {"model": m["model_name"], "input": ["fish", "tide"]}}, 200),
        ("embeddings", {"body": {"model": "none", "input": "fish"}}, 404),
        ("v1Ready", m, 200), ("v1Ready", {"model_name": "none"}, 404),
        ("v1Predict", {**m, "body": {"instances": ["fish", "tide"]}}, 200),
        ("v2", {}, 200), ("v2Live", {}, 200), ("v2Ready", {}, 200), ("v2Model", m, 200),
        ("v2Model", {"model_name": "none"}, 404), ("v2ModelReady", m, 200), ("v2ModelReady", {"model_name": "none"}, 404),
        ("v2Infer", {**m, "body": tensor(["fish"])}, 200), ("v2Infer", {"model_name": "none", "body": tensor(["a"])}, 404),
        ("v2Infer", {**m, "body": {**tensor(["fish"]), "parameters": {"binary_data_output": True}}}, 200),
        ("v2Stats", {}, 200), ("v2ModelStats", m, 200), ("v2ModelStats", {"model_name": "none"}, 404),
        ("v2VersionStats", mv, 200),
        ("v2Version", mv, 200), ("v2VersionReady", mv, 200), ("v2VersionInfer", {**mv, "body": tensor(["sea", "fish"])}, 200),
        ("listModels", {"limit": 1}, 200), ("registerModel", {"url": "more.vec", "initial_workers": 1, "synchronous": True}, 200),
        ("registerModel", {"body": {"url": "more.vec", "model_version": "2.0", "rate": 5}}, 200),
        ("registerModel", {"url": "more.vec"}, 409), ("registerModel", {"url": "none.vec"}, 404),
        ("registerModel", {"url": "../x"}, 400), ("describeModel", {**m, "customized": True}, 200),
        ("registerModel", {"url": "more.vec", "model_version": "3.0", "initial_workers": 1}, 202),
        ("describeModel", {"model_name": "none"}, 404), ("setAutoScale", {**m, "min_worker": 2}, 202),
        ("setAutoScale", {**m, "rate": 100000, "queue_size": 50}, 200), ("setAutoScale", {"model_name": "none"}, 404),
        ("setAutoScale", {**m, "min_worker": 2, "max_worker": 1}, 400), ("modelApi", m, 200),
        ("describeVersion", {"model_name": "more", "model_version": "all"}, 200), ("describeVersion", mv, 200),
        ("versionSetAutoScale", {**mv, "min_worker": 1, "synchronous": True}, 200), ("versionApi", mv, 200),
        ("v2Index", {"body": {}}, 200), ("v2Load", {"model_name": "none", "body": {}}, 404),
        ("v2Unload", {"model_name": "none", "body": {}}, 404),
        ("setDefault", {"model_name": "more", "model_version": "2.0"}, 200),
        ("setDefault", {"model_name": "more", "model_version": "9"}, 404),
        ("unregisterVersion", {"model_name": "more", "model_version": "2.0"}, 403),
        ("unregisterVersion", {"model_name": "more", "model_version": "1.0"}, 200),
        ("metrics", {}, 200), ("metrics", {"name[]": "Requests2XX"}, 200),
        ("unregisterModel", m, 200), ("unregisterModel", m, 404),
    ]
    for name, given, want in calls:
        given = dict(given)
        try:
            status, bad, value = c.call(name, given.pop("body", None), given.pop("media", "application/json"), None, given)
        except (TypeError, KeyError) as e:
            status, bad, value = 0, repr(e), None
        check(f"{name} is {want}, as its schema says", status == want and not bad, (status, bad, value))
    check("the client has asked for everything that is described", set(c.operations) == c.used, set(c.operations) ^ c.used)


def kinds(work, document):
    """Answers of the other models fit, too."""
    def shoal(*args):
        subprocess.run([SHOAL, *args, "-q"], cwd=work, check=True, stdout=subprocess.DEVNULL)

    shoal("gen", "clicks", "--rows", "2000", "-o", "clicks.svm")
    shoal("train", "logreg", "clicks.svm", "-o", "clicks.shoal", "--epochs", "1")
    with open(os.path.join(work, "town.csv"), "w") as f:
        f.write("who,age,code,town,yes\n")
        f.writelines(f"WHO{i},{i % 50 + 20}.5,{(10 ** 18 + i % 7 * 10 ** 17) + 1},{'Ulm' if i % 3 else 'MARKED, TOWN'!r},{i % 2}\n".replace("'", '"') for i in range(200))
    shoal("train", "logreg", "town.csv", "-o", "town.shoal", "--epochs", "1", "--examples", "5")
    shoal("train", "logreg", "clicks.svm", "-o", "kept.shoal", "--epochs", "1", "--examples", "1")
    with open(os.path.join(work, "net.csv"), "w") as f:
        f.writelines(f"{'a' if i % 2 else 'b'},{i % 7},{i % 2}\n" for i in range(200))
    shoal("train", "mlp", "net.csv", "-o", "mlp.shoal", "--epochs", "1")
    s = Server("clicks=clicks.shoal", "mlp=mlp.shoal", "town=town.shoal", "kept=kept.shoal", *ANY, cwd=work)
    c = Client(s.address["inference"], document)
    with open(os.path.join(work, "clicks.svm"), encoding="utf-8") as f:
        row = f.readline().strip()
    for model, body, media in (("clicks", row.encode(), "text/plain"), ("clicks", {"features": {"1": 1.0}}, None),
                               ("mlp", [1.0, 2.0], None), ("mlp", [[1.0, 2.0], [3.0, 1.0]], None)):
        status, bad, value = c.predictions(model_name=model, body=body, media=media or "application/json")
        check(f"{model} answers {str(body)[:30]} as described", status in (200, 400) and not bad, (status, bad, value))
        status, bad, value = c.v2Model(model_name=model)
        check(f"the metadata of {model} are as described", status == 200 and not bad, (status, bad, value))
    kept_rows(work, s, c)
    status, bad, value = c.stats()
    check("so are the figures of all", status == 200 and not bad, (bad, value))
    s.stop()


def kept_rows(work, s, c):
    """Models that keep rows of their data show them, the others none."""
    content = s.ask("GET", "/openapi.json").json()["components"]["requestBodies"]["Prediction"]["content"]
    with open(os.path.join(work, "clicks.svm"), encoding="utf-8") as f:
        rows = set(f.read().splitlines())
    for media in "application/json", "text/plain":
        examples = content[media].get("examples", {})
        check(f"the document has examples of {media} of the models that keep rows", sorted(examples) == ["kept", "town"], examples)
        for model, example in examples.items():
            value = example["value"]
            status, bad, answer = c.predictions(model_name=model, body=value.encode() if media == "text/plain" else value, media=media)
            check(f"{model} answers its own example", status == 200 and not bad, (value, status, bad, answer))
        check("a row is as it stood in the data", examples["kept"]["value"] in rows, examples["kept"])
    row = content["application/json"]["examples"]["town"]["value"]
    check("of a table it has the columns that are used", set(row) == {"age", "code", "town"} and row["town"] in ("Ulm", "MARKED, TOWN"), row)
    check("and a number that JSON's readers would round is text", row["code"] in {str(10 ** 18 + i * 10 ** 17 + 1) for i in range(7)}, row)
    status, bad, form = c.form(model_name="town")
    check("the form has all rows that are kept", status == 200 and not bad and len(form["examples"]) == 5
          and all(set(x["row"]) == {"age", "code", "town"} and "WHO" not in x["text"] for x in form["examples"]), (bad, form))
    status, bad, form = c.form(model_name="clicks")
    check("and of a model that keeps none none", status == 200 and not bad and "examples" not in form, (bad, form))


def main():
    work = tempfile.mkdtemp(prefix="shoal-openapi-")
    source = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(__file__), "../../src/serve/api.txt")
    try:
        os.mkdir(os.path.join(work, "store"))
        vectors(os.path.join(work, "words.vec"), WORDS)
        vectors(os.path.join(work, "store", "more.vec"), WORDS)
        checker()
        s = Server("words=words.vec", *harness.one_address(), "--model-store", "store", cwd=work)
        document = s.ask("GET", "/openapi.json").json()
        check("OPTIONS / and /api-description are the same",
              s.ask("OPTIONS", "/").json() == document == s.ask("GET", "/api-description").json())
        form(document)
        table(s, document, source)
        both_ways(s, document)
        ask_all(Client(s.address["inference"], document), document)
        s.stop()
        three = Server("words=words.vec", *ANY, cwd=work)
        parts = [three.ask("GET", "/openapi.json", where=x).json()["paths"] for x in ("inference", "management", "metrics")]
        check("each address describes what is there, and together they describe all",
              {**parts[0], **parts[1], **parts[2]} == document["paths"] and "/metrics" not in parts[0]
              and "/predictions/{model_name}" not in parts[1] and "/models" not in parts[2])
        three.stop()
        kinds(work, document)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
