#!/usr/bin/env python3
"""Which token opens which address at which port: every one of them, as the table says.

    tests/serve/scopes.py SHOAL

Prints TAP. A cell is one request; its letter is

    Y   answered, be it with an error of the request itself
    T   refused for want of the right token (400 InvalidKeyException, or 401)
    -   not found: this port knows no such address

and the five of a column are those with no token, inference's, management's, metrics' and a
wrong one. The ports are those of inference, management and metrics, and one that serves all.
"""

import http.client
import os
import shutil
import sys
import tempfile

import harness
import loopback
from loopback import ANY, TIME_LIMIT, WORDS, Server, check, vectors

TOKENS = {"inference": "a" * 20, "management": "b" * 20, "metrics": "c" * 20, "wrong": "d" * 20}
WHO = [None, "inference", "management", "metrics", "wrong"]

#        inference  management  metrics  one for all
WITH = {
    # for whoever comes: the page, and whether the server is well
    "GET /":                                        "YYYYY TTYTT TTYYT YYYYY",
    "GET /index.html":                              "T-TTT ----- ----- T-TTT",
    "GET /page.js":                                 "YYYYY ----- ----- YYYYY",
    "GET /page.css":                                "YYYYY ----- ----- YYYYY",
    "GET /ask.js":                                  "YYYYY ----- ----- YYYYY",
    "GET /interface":                               "YYYYY ----- ----- YYYYY",
    "GET /interface.js":                            "YYYYY ----- ----- YYYYY",
    "GET /map.js":                                  "YYYYY ----- ----- YYYYY",
    "GET /map.css":                                 "YYYYY ----- ----- YYYYY",
    "GET /ping":                                    "YYYYY ----- ----- YYYYY",
    "GET /v2/health/live":                          "YYYYY ----- ----- YYYYY",
    "GET /v2/health/ready":                         "YYYYY ----- ----- YYYYY",
    # what each port answers, for those who may ask there
    "OPTIONS /":                                    "TYTTT TTYTT TTYYT TYYYT",
    "GET /api-description":                         "TYTTT TTYTT TTYYT TYYYT",
    "POST /":                                       "TYTTT TTYTT TTYYT TYYYT",
    # models
    "POST /ping":                                   "TYTTT ----- ----- TYTTT",
    "POST /predictions/words":                      "TYTTT ----- ----- TYTTT",
    "PUT /predictions/words":                       "TYTTT ----- ----- TYTTT",
    "POST /predictions/words/1.0":                  "TYTTT ----- ----- TYTTT",
    "OPTIONS /predictions/words":                   "TYTTT ----- ----- TYTTT",
    "POST /predictions/none":                       "TYTTT ----- ----- TYTTT",
    "GET /models/words/similar?word=sea":           "TYTTT ----- ----- TYTTT",
    "GET /models/words/analogy?a=sea&b=fish&c=tide": "TYTTT ----- ----- TYTTT",
    "GET /models/words/vector?word=sea":            "TYTTT ----- ----- TYTTT",
    "GET /models/words/map":                        "TYTTT ----- ----- TYTTT",
    "GET /models/words/map?word=sea":               "TYTTT ----- ----- TYTTT",
    "GET /models/words/form":                       "TYTTT ----- ----- TYTTT",
    "POST /models/words/form":                      "TYTTT ----- ----- TYTTT",
    "POST /models/words/invoke":                    "TYTTT ----- ----- TYTTT",
    "DELETE /models/words/similar":                 "TYTTT ----- ----- TYTTT",
    "GET /v1/models/words":                         "TYTTT ----- ----- TYTTT",
    "POST /v1/models/words:predict":                "TYTTT ----- ----- TYTTT",
    "GET /v1/models/none":                          "TYTTT ----- ----- TYTTT",
    "POST /v1/embeddings":                          "TYTTT ----- ----- TYTTT",
    "GET /v1/models":                               "TYTTT ----- ----- TYTTT",
    "GET /v1":                                      "T-TTT ----- ----- T-TTT",
    "GET /v2":                                      "TYTTT ----- ----- TYTTT",
    "GET /v2/models/words":                         "TYTTT ----- ----- TYTTT",
    "GET /v2/models/words/ready":                   "TYTTT ----- ----- TYTTT",
    "GET /v2/models/words/versions/1.0":            "TYTTT ----- ----- TYTTT",
    "GET /v2/models/words/versions/1.0/ready":      "TYTTT ----- ----- TYTTT",
    "POST /v2/models/words/infer":                  "TYTTT ----- ----- TYTTT",
    "GET /v2/models/words/stats":                   "TYTTT ----- ----- TYTTT",
    "GET /v2/models/stats":                         "TYTTT ----- ----- TYTTT",
    "GET /v2/health/live/more":                     "T-TTT ----- ----- T-TTT",
    "GET /stats":                                   "TYTTT ----- ----- TYTTT",
    "GET /nothing":                                 "T-TTT ----- ----- T-TTT",
    "GET /page.js/more":                            "T-TTT ----- ----- T-TTT",
    # management
    "GET /models":                                  "----- TTYTT ----- TTYTT",
    "GET //models":                                 "----- TTYTT ----- TTYTT",
    "POST /models":                                 "----- TTYTT ----- TTYTT",
    "GET /models/words":                            "----- TTYTT ----- TTYTT",
    "GET /models/words/1.0":                        "----- TTYTT ----- TTYTT",
    "GET /models/words/all":                        "----- TTYTT ----- TTYTT",
    "PUT /models/none?min_worker=1":                "----- TTYTT ----- TTYTT",
    "PUT /models/none/1.0?min_worker=1":            "----- TTYTT ----- TTYTT",
    "PUT /models/none/1.0/set-default":             "----- TTYTT ----- TTYTT",
    "DELETE /models/none":                          "----- TTYTT ----- TTYTT",
    "DELETE /models/none/1.0":                      "----- TTYTT ----- TTYTT",
    "OPTIONS /models/words":                        "----- TTYTT ----- TTYTT",
    "POST /v2/repository/index":                    "----- TTYTT ----- TTYTT",
    "POST /v2/repository/models/none/load":         "----- TTYTT ----- TTYTT",
    "POST /v2/repository/models/none/unload":       "----- TTYTT ----- TTYTT",
    # metrics: management's token opens them too
    "GET /metrics":                                 "----- ----- TTYYT TTYYT",
    "GET /metrics?name[]=Requests2XX":              "----- ----- TTYYT TTYYT",
}

# Without a token of their own metrics take inference's, and "metrics" is a wrong one.
WITHOUT = {
    "GET /":                                        "YYYYY TTYTT TYYTT YYYYY",
    "OPTIONS /":                                    "TYTTT TTYTT TYYTT TYYTT",
    "GET /api-description":                         "TYTTT TTYTT TYYTT TYYTT",
    "POST /":                                       "TYTTT TTYTT TYYTT TYYTT",
    "GET /metrics":                                 "----- ----- TYYTT TYYTT",
    "GET /metrics?name[]=Requests2XX":              "----- ----- TYYTT TYYTT",
}


def letter(address, method, path, who):
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=TIME_LIMIT)
    headers = {"Authorization": "Bearer " + TOKENS[who]} if who else {}
    try:
        connection.request(method, path, b"sea" if method in ("POST", "PUT") else None, headers)
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    if answer.status == 401 or b"InvalidKeyException" in body:
        return "T"
    return "-" if answer.status == 404 and b"Requested resource is not found" in body else "Y"


def one_port(work, *args):
    """A server whose three addresses are one."""
    return Server("words=words.vec", *harness.one_address(), *args, cwd=work)


def compare(work, title, lines, table):
    path = os.path.join(work, "tokens")
    with open(path, "w") as f:
        f.write("".join(f"{who} {TOKENS[who]}\n" for who in lines))
    os.chmod(path, 0o600)
    three = Server("words=words.vec", *ANY, "--token-file", "tokens", cwd=work)
    one = one_port(work, "--token-file", "tokens")
    ports = [three.address[x] for x in ("inference", "management", "metrics")] + [one.address["inference"]]
    for route, want in table.items():
        method, where = route.split(" ", 1)
        found = " ".join("".join(letter(p, method, where, who) for who in WHO) for p in ports)
        check(f"{title}, {route} is {want}", found == want, f"found {found}")
    three.stop()
    one.stop()


def main():
    work = tempfile.mkdtemp(prefix="shoal-scopes-")
    try:
        vectors(os.path.join(work, "words.vec"), WORDS)
        compare(work, "three tokens", ["inference", "management", "metrics"], WITH)
        compare(work, "two tokens", ["inference", "management"], {**WITH, **WITHOUT})
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
