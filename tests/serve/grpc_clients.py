#!/usr/bin/env python3
"""The server as clients of gRPC see it: Debian's grpcio for what is right, and frames of HTTP/2 made by
hand for what is not.

    tests/serve/grpc_clients.py SHOAL
"""
import concurrent.futures
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import harness
from harness import SHOAL, TIME_LIMIT, WORDS, Server, check, png, vectors

try:
    import grpc
except ImportError:
    print("1..0 # SKIP python3-grpcio is not installed")
    sys.exit(0)

ANY = ["--inference-address", "127.0.0.1:0", "--management-address", "127.0.0.2:0", "--metrics-address", "none",
       "--grpc-address", "127.0.0.1:0"]
SERVICE = "/inference.GRPCInferenceService/"
CODE = grpc.StatusCode


# ---- messages ------------------------------------------------------------------------------------------

def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def part(number, data):
    """A field of text, bytes or a message."""
    data = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(data)) + data


def number(field, n):
    return varint(field << 3) + varint(n)


def fields(data):
    """Field number: list of values."""
    out, at = {}, 0

    def take():
        nonlocal at
        n = shift = 0
        while True:
            byte = data[at]
            at += 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n

    while at < len(data):
        tag = take()
        if tag & 7 == 0:
            value = take()
        elif tag & 7 == 2:
            size = take()
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {tag & 7}")
        out.setdefault(tag >> 3, []).append(value)
    return out


def packed(values):
    return b"".join(varint(v) for v in values)


def infer(model, datatype, shape, raw=None, contents=None, outputs=(), parameters=b"", more=b"", name="x"):
    tensor = part(1, name) + part(2, datatype) + part(3, packed(shape)) + (part(5, contents) if contents is not None else b"")
    return (part(1, model) + parameters + part(5, tensor) + b"".join(part(6, x) for x in outputs)
            + (part(7, raw) if raw is not None else b"") + more)


def outputs_of(answer):
    """{name: (datatype, shape, bytes)}"""
    said = fields(answer)
    out = {}
    for tensor, raw in zip(said.get(5, []), said.get(6, [])):
        t = fields(tensor)
        at, shape, whole = 0, [], b"".join(x if isinstance(x, bytes) else varint(x) for x in t.get(3, []))
        while at < len(whole):
            n = shift = 0
            while True:
                n |= (whole[at] & 127) << shift
                at, shift = at + 1, shift + 7
                if whole[at - 1] < 128:
                    break
            shape.append(n)
        out[t[1][0].decode()] = (t[2][0].decode(), shape, raw)
    return out


def texts_of(raw):
    at, out = 0, []
    while at < len(raw):
        size = struct.unpack_from("<I", raw, at)[0]
        out.append(raw[at + 4:at + 4 + size].decode())
        at += 4 + size
    return out


def elements(texts):
    return b"".join(struct.pack("<I", len(x.encode())) + x.encode() for x in texts)


# ---- clients -------------------------------------------------------------------------------------------

class Client:
    def __init__(self, s, credentials=None, token=None):
        options = [("grpc.enable_retries", 0), ("grpc.max_receive_message_length", -1)]
        address = s.address["gRPC"]
        self.channel = (grpc.secure_channel(address, credentials, options) if credentials
                        else grpc.insecure_channel(address, options))
        self.metadata = [("authorization", "Bearer " + token)] if token else None

    def begin(self, method, message=b"", timeout=TIME_LIMIT, **more):
        call = self.channel.unary_unary(method if method.startswith("/") else SERVICE + method)
        return call.future(message, timeout=timeout, metadata=self.metadata, **more)

    def ask(self, method, message=b"", **more):
        """The answer, or the code of its failure."""
        try:
            return self.begin(method, message, **more).result()
        except grpc.RpcError as e:
            self.said = e.details()
            return e.code()


def rest(s, model, datatype, shape, data):
    body = {"inputs": [{"name": "x", "shape": shape, "datatype": datatype, "data": data}]}
    return s.ask("POST", f"/v2/models/{model}/infer", json.dumps(body)).json()["outputs"]


def server_and_models(s, c):
    check("ServerLive", c.ask("ServerLive") == number(1, 1))
    check("ServerReady", c.ask("ServerReady") == number(1, 1))
    said = fields(c.ask("ServerMetadata"))
    check("ServerMetadata says what GET /v2 says", [x.decode() for x in said[3]] == s.ask("GET", "/v2").json()["extensions"]
          and said[1] == [b"shoal"], said)
    check("ModelReady", c.ask("ModelReady", part(1, "mlp")) == number(1, 1)
          and c.ask("ModelReady", part(1, "mlp") + part(2, "1.0")) == number(1, 1))
    check("an unknown model is not found", c.ask("ModelReady", part(1, "none")) == CODE.NOT_FOUND
          and c.ask("ModelReady", part(1, "mlp") + part(2, "9")) == CODE.NOT_FOUND)
    said = fields(c.ask("ModelMetadata", part(1, "vgg")))
    tensor = fields(said[4][0])
    shape = [int(x) for x in s.ask("GET", "/v2/models/vgg").json()["inputs"][0]["shape"]]
    check("ModelMetadata says what GET /v2/models/M says", said[2] == [b"1.0"] and tensor[2] == [b"FP32"]
          and b"".join(x if isinstance(x, bytes) else varint(x) for x in tensor[3]) == packed(shape), said)
    check("Health/Check, as Kubernetes asks", c.ask("/grpc.health.v1.Health/Check") == number(1, 1)
          and c.ask("/grpc.health.v1.Health/Check", part(1, "inference.GRPCInferenceService")) == number(1, 1))
    check("another service is not found", c.ask("/grpc.health.v1.Health/Check", part(1, "x")) == CODE.NOT_FOUND)
    check("an unknown method is not implemented", c.ask("ModelStreamInfer") == CODE.UNIMPLEMENTED
          and c.ask("/x/y") == CODE.UNIMPLEMENTED)
    said = fields(fields(c.ask("ModelStatistics", part(1, "mlp")))[1][0])
    check("ModelStatistics counts", said[1] == [b"mlp"] and 6 in said, said)


def numbers_in(s, c):
    want = rest(s, "mlp", "FP32", [2, 2], [1, 0, 1, 1])[0]["data"]
    types = {"FP32": "f", "FP64": "d", "FP16": "e", "INT8": "b", "INT16": "h", "INT32": "i", "INT64": "q", "UINT8": "B",
             "UINT16": "H", "UINT32": "I", "UINT64": "Q", "BOOL": "?"}

    def same(answer):
        if not isinstance(answer, bytes):
            return False
        datatype, shape, raw = outputs_of(answer)["output"]
        return datatype == "FP32" and shape == [2, 4] and all(
            abs(x - y) < 1e-6 for x, y in zip(struct.unpack("<8f", raw), want))

    for name, code in types.items():
        check(f"raw contents of {name} are read", same(c.ask("ModelInfer", infer("mlp", name, [2, 2],
                                                                                raw=struct.pack("<4" + code, 1, 0, 1, 1)))))
    check("raw contents of BF16 are read", same(c.ask("ModelInfer", infer(
        "mlp", "BF16", [2, 2], raw=bytes([0x80, 0x3f, 0, 0, 0x80, 0x3f, 0x80, 0x3f])))))
    lists = {"BOOL": 1, "INT8": 2, "INT16": 2, "INT32": 2, "INT64": 3, "UINT8": 4, "UINT16": 4, "UINT32": 4, "UINT64": 5}
    for name, field in lists.items():
        check(f"typed contents of {name} are read", same(c.ask("ModelInfer", infer(
            "mlp", name, [2, 2], contents=part(field, packed([1, 0, 1, 1]))))))
        check(f"a list of {name} that is not packed too", same(c.ask("ModelInfer", infer(
            "mlp", name, [2, 2], contents=b"".join(number(field, n) for n in (1, 0, 1, 1))))))
    check("typed contents of FP32 and FP64 are read",
          same(c.ask("ModelInfer", infer("mlp", "FP32", [2, 2], contents=part(6, struct.pack("<4f", 1, 0, 1, 1)))))
          and same(c.ask("ModelInfer", infer("mlp", "FP64", [2, 2], contents=part(7, struct.pack("<4d", 1, 0, 1, 1))))))
    eight = struct.pack("<4f", 1, 0, 1, 1)
    said = fields(c.ask("ModelInfer", infer("mlp", "FP32", [2, 2], raw=eight, more=part(3, "my id"))))
    check("the id comes back, and who answered", said[3] == [b"my id"] and said[1] == [b"mlp"] and said[2] == [b"1.0"], said)
    for what, message in (
            ("too few numbers", infer("mlp", "FP32", [2, 2], raw=eight[:-4])),
            ("no contents", infer("mlp", "FP32", [2, 2])),
            ("both contents", infer("mlp", "FP32", [2, 2], raw=eight, contents=part(6, eight))),
            ("contents of another type", infer("mlp", "FP32", [2, 2], contents=part(5, packed([1, 0, 1, 1])))),
            ("an unknown datatype", infer("mlp", "FP8", [2, 2], raw=eight)),
            ("a shape of nothing", infer("mlp", "FP32", [], raw=eight)),
            ("a shape below zero", infer("mlp", "FP32", [-1, 2], raw=eight)),
            ("too many dimensions", infer("mlp", "FP32", [1] * 9, raw=eight)),
            ("an unknown output", infer("mlp", "FP32", [2, 2], raw=eight, outputs=[part(1, "none")])),
            ("two inputs", infer("mlp", "FP32", [2, 2], raw=eight, more=part(5, b""))),
            ("no message", b"\xff\xff\xff"), ("half a message", infer("mlp", "FP32", [2, 2], raw=eight)[:-3])):
        check(f"{what}: an invalid argument", c.ask("ModelInfer", message) == CODE.INVALID_ARGUMENT, c.said)
    check("an unknown model: not found", c.ask("ModelInfer", infer("none", "FP32", [2, 2], raw=eight)) == CODE.NOT_FOUND)
    check("an unknown version too", c.ask("ModelInfer", part(2, "7") + infer("mlp", "FP32", [2, 2], raw=eight)) == CODE.NOT_FOUND)


def every_kind(s, c, work):
    datatype, shape, raw = outputs_of(c.ask("ModelInfer", infer("words", "BYTES", [2], raw=elements(["sea", "fish"]))))["vectors"]
    want = rest(s, "words", "BYTES", [2], ["sea", "fish"])[0]["data"]
    check("words become vectors", shape == [2, 4] and list(struct.unpack("<8f", raw)) == [struct.unpack("<f", struct.pack("<f", x))[0]
                                                                                        for x in want])
    typed = c.ask("ModelInfer", infer("words", "BYTES", [2], contents=part(8, "sea") + part(8, "fish")))
    check("also as typed contents", outputs_of(typed)["vectors"][2] == raw)
    check("an unknown word: not found", c.ask("ModelInfer", infer("words", "BYTES", [1], raw=elements(["nobody"]))) == CODE.NOT_FOUND)
    text = "stocks fell"
    said = outputs_of(c.ask("ModelInfer", infer("news", "BYTES", [1], raw=elements([text]))))
    want = rest(s, "news", "BYTES", [1], [text])
    check("texts get labels and probabilities", texts_of(said["labels"][2]) == want[0]["data"] and said["labels"][1] == [1, 4]
          and said["probabilities"][0] == "FP32", said)
    k = part(4, part(1, "k") + part(2, number(2, 2)))
    said = outputs_of(c.ask("ModelInfer", infer("news", "BYTES", [1], raw=elements([text]), parameters=k, outputs=[part(1, "labels")])))
    check("with parameters, and one output of the two", list(said) == ["labels"] and said["labels"][1] == [1, 2], said)
    said = outputs_of(c.ask("ModelInfer", infer("next", "BYTES", [1], raw=elements(["the king of the"]))))
    want = rest(s, "next", "BYTES", [1], ["the king of the"])
    check("texts are continued", texts_of(said["words"][2]) == want[0]["data"], said)
    said = outputs_of(c.ask("ModelInfer", infer("next", "BYTES", [1], raw=elements(["the king of the"]), outputs=[part(1, "vector")])))
    check("and may be given a vector", said["vector"][1] == [1, 8], said)
    said = outputs_of(c.ask("ModelInfer", infer("clicks", "BYTES", [2], raw=elements(["1:1 3:0.5", "2:1 4:0.5"]))))
    want = rest(s, "clicks", "BYTES", [2], ["1:1 3:0.5", "2:1 4:0.5"])[0]["data"]
    check("rows get probabilities", all(abs(x - y) < 1e-6 for x, y in zip(struct.unpack("<2f", said["probability"][2]), want)), said)
    columns = [("age", "INT64", struct.pack("<2q", 25, 60)), ("city", "BYTES", elements(["Rome", "Oslo"]))]
    message = part(1, "people") + b"".join(part(5, part(1, name) + part(2, kind) + part(3, packed([2, 1]))) for name, kind, _ in columns)
    said = outputs_of(c.ask("ModelInfer", message + b"".join(part(7, raw) for _, _, raw in columns)))
    body = {"inputs": [{"name": "city", "datatype": "BYTES", "shape": [2], "data": ["Rome", "Oslo"]},
                       {"name": "age", "datatype": "INT64", "shape": [2, 1], "data": [[25], [60]]}]}
    want = s.ask("POST", "/v2/models/people/infer", json.dumps(body)).json()["outputs"][0]["data"]
    plain = s.ask("POST", "/predictions/people", json.dumps([{"age": 25, "city": "Rome"}, {"age": 60, "city": "Oslo"}])).json()
    check("columns of a table are tensors of their names", all(abs(x - y) < 1e-6 and abs(x - z) < 1e-6 for x, y, z in zip(
        struct.unpack("<2f", said["probability"][2]), want, plain)) and want[0] != want[1], (said, want, plain))
    for wrong in ({"name": "none"}, {"shape": [3]}, {"data": ["Rome"]}, {"datatype": "FP32"}, {"shape": [2, 2]}):
        bad = {"inputs": [dict(body["inputs"][0], **wrong), body["inputs"][1]]}
        a = s.ask("POST", "/v2/models/people/infer", json.dumps(bad))
        check(f"a column with {wrong} is refused", a.status == 400 or wrong == {"datatype": "FP32"}, a)
    check("other models take one tensor", s.ask("POST", "/v2/models/mlp/infer", json.dumps(body)).status == 400)
    picture = png((200, 10, 10))
    said = outputs_of(c.ask("ModelInfer", infer("vgg", "BYTES", [1], raw=struct.pack("<I", len(picture)) + picture)))
    want = s.ask("POST", "/predictions/vgg", picture).json()
    check("pictures get classes", abs(max(struct.unpack("<2f", said["output"][2])) - max(want.values())) < 1e-6, (said, want))
    pixels = bytes([200] * 64 + [10] * 128)
    same = outputs_of(c.ask("ModelInfer", infer("vgg", "UINT8", [1, 3, 8, 8], raw=pixels)))
    check("as pixels too", max(abs(x - y) for x, y in zip(struct.unpack("<2f", said["output"][2]),
                                                        struct.unpack("<2f", same["output"][2]))) < 1e-5, same)
    classes = part(2, part(1, "classification") + part(2, number(2, 1)))
    best = outputs_of(c.ask("ModelInfer", infer("vgg", "UINT8", [1, 3, 8, 8], raw=pixels, outputs=[part(1, "output") + classes])))
    check("or the likeliest class by name", texts_of(best["output"][2])[0].split(":")[2] == list(want)[0], best)


def repository(s, c):
    def index(*more):
        return {fields(x)[1][0].decode(): fields(x)[3][0].decode() for x in fields(c.ask("RepositoryIndex", *more)).get(1, [])}

    check("RepositoryIndex lists models", index()["mlp"] == "READY" and index()["spare"] == "UNAVAILABLE", index())
    check("or those that are ready", "spare" not in index(number(2, 1)) and "mlp" in index(number(2, 1)))
    check("RepositoryModelLoad serves a file of the store", c.ask("RepositoryModelLoad", part(2, "spare")) == b""
          and c.ask("ModelReady", part(1, "spare")) == number(1, 1) and index()["spare"] == "READY")
    check("what is there may be loaded again", c.ask("RepositoryModelLoad", part(2, "spare")) == b"")
    check("RepositoryModelUnload ends it", c.ask("RepositoryModelUnload", part(2, "spare")) == b""
          and c.ask("ModelReady", part(1, "spare")) == CODE.NOT_FOUND)
    check("what is not there is not found", c.ask("RepositoryModelLoad", part(2, "none")) == CODE.NOT_FOUND
          and c.ask("RepositoryModelUnload", part(2, "none")) == CODE.NOT_FOUND)
    for verb, status in (("load", 200), ("unload", 200), ("unload", 404)):
        a = s.ask("POST", f"/v2/repository/models/spare/{verb}", b"{}", where="management")
        check(f"POST /v2/repository/models/M/{verb} is {status}", a.status == status, a)
    listed = s.ask("POST", "/v2/repository/index", where="management").json()
    check("POST /v2/repository/index lists the same", {x["name"]: x["state"] for x in listed} == index(), listed)
    check("not where predictions are asked for", s.ask("POST", "/v2/repository/index").status == 404)


def limits(c):
    four = struct.pack("<2f", 1, 0)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        calls = list(pool.map(lambda i: c.begin("ModelInfer", infer("mlp", "FP32", [1, 2], raw=four)), range(1000)))
    check("a thousand requests share a connection", all(len(x.result()) > 16 for x in calls))
    answer = c.ask("ModelInfer", infer("mlp", "FP32", [4000, 2], raw=four * 4000))
    check("a large message is answered", outputs_of(answer)["output"][1] == [4000, 4])
    check("a message beyond the limit exhausts resources", c.ask("ModelInfer", infer(
        "mlp", "FP32", [1, 2], raw=bytes(300000))) == CODE.RESOURCE_EXHAUSTED, c.said)
    check("a compressed message is not implemented", c.ask("ModelInfer", infer(
        "mlp", "FP32", [1, 2], raw=four), compression=grpc.Compression.Gzip) == CODE.UNIMPLEMENTED, c.said)
    check("a small method takes no large message", c.ask("ModelReady", part(1, "m" * 5000)) == CODE.RESOURCE_EXHAUSTED)


# ---- frames by hand ----------------------------------------------------------------------------------

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def hpack(pairs):
    """Literals that nobody is to remember."""
    def text(x):
        x = x.encode()
        return (bytes([len(x)]) if len(x) < 127 else b"\x7f" + varint(len(x) - 127)) + x

    return b"".join(b"\0" + text(name) + text(value) for name, value in pairs)


def head(method="ModelInfer", *more):
    return hpack([(":method", "POST"), (":scheme", "http"), (":path", SERVICE + method), (":authority", "x"),
                  ("content-type", "application/grpc"), ("te", "trailers"), *more])


def prefixed(message):
    return b"\0" + struct.pack(">I", len(message)) + message


class Wire:
    """A connection whose frames are made, and looked at, one by one."""

    def __init__(self, s, settings=b""):
        host, port = s.address["gRPC"].rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=TIME_LIMIT)
        self.kept = b""
        self.ended = False
        self.send(PREFACE + frame(SETTINGS, 0, 0, settings))

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            self.ended = True
        return not self.ended

    def next(self):
        """(type, flags, stream, payload), or None at the end."""
        while len(self.kept) < 9 or len(self.kept) < 9 + int.from_bytes(self.kept[:3], "big"):
            try:
                data = self.socket.recv(65536)
            except OSError:
                data = b""
            if not data:
                self.ended = True
                return None
            self.kept += data
        size = int.from_bytes(self.kept[:3], "big")
        out = self.kept[3], self.kept[4], int.from_bytes(self.kept[5:9], "big"), self.kept[9:9 + size]
        self.kept = self.kept[9 + size:]
        return out

    def until(self, kind, stream=None):
        """The first frame of a kind; None at the end."""
        while True:
            f = self.next()
            if f is None or (f[0] == kind and stream in (None, f[2])):
                return f

    def close(self):
        self.socket.close()


def calm(name, s, data, rounds=1000):
    """Who sends this again and again is told to calm down, or cut off."""
    w = Wire(s)
    for i in range(rounds):
        if not w.send(data(i) if callable(data) else data):
            break
    f = None if w.ended else w.until(GOAWAY)
    check(f"{name} ends its connection", w.ended or (f is not None and f[3][4:8] != b"\0\0\0\0"), f)
    w.close()


def hostile(s, c):
    message = prefixed(infer("mlp", "FP32", [1, 2], raw=struct.pack("<2f", 1, 0)))
    whole = lambda i: frame(HEADERS, 4, 2 * i + 1, head()) + frame(DATA, 1, 2 * i + 1, message)
    w = Wire(s)
    w.send(whole(0))
    f = w.until(DATA)
    check("frames made by hand are answered", f and f[2] == 1 and len(f[3]) > 20, f)
    w.send(frame(HEADERS, 5, 3, head("ServerLive")))
    check("a request without a message is refused", w.until(HEADERS, 3) is not None)
    w.send(frame(HEADERS, 4, 5, head("ModelInfer", ("grpc-timeout", "1n"))) + frame(DATA, 1, 5, message))
    f = w.until(HEADERS, 5)
    check("a time-out that is over is kept: there is no message", f and f[1] & 1, f)
    for stream, data in ((7, message[:-1]), (9, message + b"x"), (11, message + message), (13, b"\1" + message[1:]), (15, b"\0\0")):
        w.send(frame(HEADERS, 4, stream, head()) + frame(DATA, 1, stream, data))
        f = w.until(HEADERS, stream)
        check(f"a prefix that lies is refused (stream {stream})", f and f[1] & 1, f)
    w.send(frame(HEADERS, 5, 17, hpack([(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "x")])))
    check("what is not gRPC is refused", w.until(HEADERS, 17) is not None)
    w.send(frame(HEADERS, 4, 19, head("ModelInfer", *(("x-%d" % i, "y" * 100) for i in range(80)))) + frame(DATA, 1, 19, message))
    f = w.until(HEADERS, 19)
    check("fields beyond the limit are refused", f and f[1] & 1, f)
    w.send(whole(11))
    check("and the connection goes on", w.until(DATA, 23) is not None)
    w.close()
    a = s.raw(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", where="gRPC")
    check("HTTP/1.1 is told what is spoken here", a.startswith(b"HTTP/1.1 400") and b"gRPC" in a, a)
    for garbage in (b"\0" * 100, b"\x16\x03\x01" + b"\xff" * 200, PREFACE[:10], PREFACE + b"\xff" * 50):
        s.raw(garbage, where="gRPC", wait=3)
    calm("a flood of PING", s, frame(PING, 0, 0, bytes(8)) * 100)
    calm("a flood of SETTINGS", s, frame(SETTINGS, 0, 0) * 100)
    calm("a flood of PRIORITY", s, frame(PRIORITY, 0, 1, bytes(4) + b"\x10") * 100)
    calm("a flood of WINDOW_UPDATE", s, frame(WINDOW, 0, 0, b"\0\0\0\1") * 100)
    calm("a flood of answers to PING", s, frame(PING, 1, 0, bytes(8)) * 100)
    calm("rapid reset", s, lambda i: b"".join(frame(HEADERS, 4, 2 * k + 1, head()) + frame(RESET, 0, 2 * k + 1, b"\0\0\0\x08")
                                             for k in range(50 * i, 50 * i + 50)))
    calm("rapid reset of whole requests", s, lambda i: b"".join(
        frame(HEADERS, 4, 2 * k + 1, head()) + frame(DATA, 1, 2 * k + 1, b"\0\0\0\0\0") + frame(RESET, 0, 2 * k + 1, b"\0\0\0\x08")
        for k in range(50 * i, 50 * i + 50)))
    calm("fields without end", s, lambda i: (frame(HEADERS, 0, 1, head()) if i == 0 else b"") + frame(CONTINUATION, 0, 1, bytes(1000)))
    calm("empty DATA", s, lambda i: (frame(HEADERS, 4, 1, head()) if i == 0 else b"") + frame(DATA, 0, 1) * 100)
    check("and others are answered all the while", c.ask("ServerLive") == number(1, 1))


def slow(s, c):
    """A server with --timeout 0.5."""
    message = prefixed(infer("mlp", "FP32", [4000, 2], raw=struct.pack("<2f", 1, 0) * 4000))
    w = Wire(s)
    check("an idle connection ends with a GOAWAY", w.until(GOAWAY) is not None and w.next() is None)
    w.close()
    w = Wire(s)
    w.send(frame(HEADERS, 4, 1, head()) + frame(DATA, 0, 1, message[:100]))
    f = w.until(HEADERS, 1)
    check("half a request is refused in time", f and f[1] & 1, f)
    w.close()
    w = Wire(s, settings=struct.pack(">HI", 4, 10))  # a window of 10 bytes, which never grows
    w.send(frame(HEADERS, 4, 1, head()))
    for at in range(0, len(message), 16000):
        w.send(frame(DATA, at + 16000 >= len(message), 1, message[at:at + 16000]))
    f = w.until(RESET, 1)
    check("an answer that nobody reads is given up", f is not None, f)
    w.close()
    w = Wire(s)
    w.send(frame(HEADERS, 0, 1, head()))
    check("half a head ends the connection", w.until(GOAWAY) is not None or w.ended)
    w.close()
    check("a client that keeps pace is answered", c.ask("ServerLive") == number(1, 1))


def tokens(work):
    with open(os.path.join(work, "tokens"), "w") as f:
        f.write("inference " + "i" * 20 + "\nmanagement " + "m" * 20 + "\n")
    os.chmod(os.path.join(work, "tokens"), 0o600)
    s = Server("mlp.shoal", *ANY, "--token-file", "tokens", "--model-store", "store", cwd=work)
    none, wrong, one, two = (Client(s, token=t) for t in (None, "x" * 20, "i" * 20, "m" * 20))
    ask = infer("mlp", "FP32", [1, 2], raw=bytes(8))
    for name, c in (("no token", none), ("a wrong token", wrong), ("management's token", two)):
        check(f"{name} does not authenticate inference", c.ask("ModelInfer", ask) == CODE.UNAUTHENTICATED
              and c.ask("ModelMetadata", part(1, "mlp")) == CODE.UNAUTHENTICATED)
    check("inference's does", len(one.ask("ModelInfer", ask)) > 16)
    check("but not to manage", one.ask("RepositoryIndex") == CODE.UNAUTHENTICATED
          and one.ask("RepositoryModelLoad", part(2, "spare")) == CODE.UNAUTHENTICATED
          and none.ask("RepositoryModelUnload", part(2, "mlp")) == CODE.UNAUTHENTICATED)
    check("management's does", two.ask("RepositoryModelLoad", part(2, "spare")) == b"")
    check("whether the server is well is told to all", none.ask("ServerLive") == number(1, 1)
          and none.ask("/grpc.health.v1.Health/Check") == number(1, 1))
    s.stop()
    s = Server("mlp.shoal", *ANY[:2], "--management-address", "none", *ANY[4:], "--model-store", "store", cwd=work)
    check("without management nobody manages", Client(s).ask("RepositoryIndex") == CODE.PERMISSION_DENIED)
    s.stop()


def encrypted(work):
    if not shutil.which("openssl"):
        return
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "g.key", "-out", "g.crt", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], cwd=work, check=True,
                   capture_output=True)
    os.chmod(os.path.join(work, "g.key"), 0o600)
    s = Server("mlp.shoal", *ANY, "--tls-cert", "g.crt", "--tls-key", "g.key", cwd=work)
    with open(os.path.join(work, "g.crt"), "rb") as f:
        c = Client(s, grpc.ssl_channel_credentials(f.read()))
    check("over TLS gRPC is spoken too", c.ask("ServerLive") == number(1, 1), getattr(c, "said", ""))
    answer = c.ask("ModelInfer", infer("mlp", "FP32", [4000, 2], raw=struct.pack("<2f", 1, 0) * 4000))
    check("with large messages", outputs_of(answer)["output"][1] == [4000, 4])
    check("but not without it", Client(s).ask("ServerLive") == CODE.UNAVAILABLE)
    check("a server with TLS ends well", s.stop() == 0)


def logged(work):
    """The access log has a line for each call."""
    s = Server("mlp.shoal", *ANY, "--log", "json", "--log-file", "calls.log", cwd=work)
    message = infer("mlp", "FP32", [1, 2], raw=struct.pack("<2f", 1, 0))
    answer = Client(s).ask("ModelInfer", message)
    s.stop()
    with open(os.path.join(work, "calls.log"), encoding="utf-8") as f:
        line = json.loads(f.readline())
    check("the access log has calls, with their route, model and bytes",
          (line["route"], line["model"], line["status"], line["in"], line["out"]) ==
          ("/inference.GRPCInferenceService/ModelInfer", "mlp", 200, len(message) + 5, len(answer) + 5), line)


def stopped(work):
    """What has come is answered, whatever comes then: the answer to a PING says that all before it was read."""
    s = Server("vgg.shoal", *ANY, cwd=work)
    message = infer("vgg", "UINT8", [16, 3, 8, 8], raw=bytes(16 * 192))
    Client(s).ask("ModelInfer", message)
    w = Wire(s)
    streams = set(range(1, 31, 2))  # as many as a connection may send at once
    w.send(b"".join(frame(HEADERS, 4, i, head()) + frame(DATA, 1, i, prefixed(message)) for i in sorted(streams))
           + frame(PING, 0, 0, bytes(8)))
    code, answered, f = None, set(), w.next()
    while f is not None:
        if f[0] == DATA and len(f[3]) > 20:
            answered.add(f[2])
        if f[0] == PING and f[1] & 1:
            code = s.stop()
        f = w.next()
    check("a stop answers what is under way", code == 0 and answered == streams, (code, answered))
    w.close()


def models(work):
    os.makedirs(os.path.join(work, "store"))
    vectors(os.path.join(work, "words.vec"), WORDS)
    vectors(os.path.join(work, "store", "spare.vec"), WORDS)
    for name, colour in (("red", (200, 10, 10)), ("blue", (10, 10, 200))):
        os.makedirs(os.path.join(work, "set", name))
        for i in range(8):
            with open(os.path.join(work, "set", name, f"{i}.png"), "wb") as f:
                f.write(png(colour))
    with open(os.path.join(work, "rows.libsvm"), "w") as f:
        f.writelines(f"{i % 2} {1 + i % 2}:1 {3 + i % 5}:0.5\n" for i in range(400))
    with open(os.path.join(work, "people.csv"), "w") as f:
        f.write("age,city,label\n")
        f.writelines(f"{20 + i % 50},{('Rome', 'Oslo')[i % 2]},{int(i % 50 > 25 or i % 2)}\n" for i in range(400))
    for args in (("gen", "spiral", "--classes", "4", "-o", "spiral.csv"),
                 ("train", "mlp", "spiral.csv", "--layers", "8", "--epochs", "1", "-o", "mlp.shoal"),
                 ("train", "vgg", "set", "--size", "8", "--base", "16", "--batch", "8", "--epochs", "1", "-o", "vgg.shoal"),
                 ("train", "logreg", "rows.libsvm", "--epochs", "3", "-o", "clicks.shoal"),
                 ("train", "logreg", "people.csv", "--epochs", "3", "-o", "people.shoal"),
                 ("gen", "news", "--lines", "1000", "-o", "news.txt"),
                 ("train", "classify", "news.txt", "--dim", "8", "-o", "news.shoal"),
                 ("gen", "world", "--words", "30000", "-o", "world.txt"),
                 ("train", "cbow", "world.txt", "--dim", "8", "--epochs", "1", "-o", "w.shoal"),
                 ("train", "nextword", "world.txt", "--vectors", "w.shoal", "--hidden", "8", "--epochs", "1", "-o", "next.shoal")):
        subprocess.run([SHOAL, *args, "-q"], cwd=work, check=True, capture_output=True)


def main():
    work = tempfile.mkdtemp(prefix="shoal-grpc-")
    try:
        models(work)
        s = Server("words=words.vec", "mlp.shoal", "vgg.shoal", "clicks.shoal", "people.shoal", "news.shoal", "next.shoal", *ANY, "--model-store",
                   "store", "--max-body", "200000", cwd=work, sandbox=True)
        c = Client(s)
        server_and_models(s, c)
        numbers_in(s, c)
        every_kind(s, c, work)
        repository(s, c)
        limits(c)
        hostile(s, c)
        check("the server ends well, in its sandbox", s.stop() == 0, s.said)
        s = Server("mlp.shoal", *ANY, "--timeout", "0.5", cwd=work)
        slow(s, Client(s))
        check("the one with slow clients too", s.stop() == 0, s.said)
        tokens(work)
        encrypted(work)
        logged(work)
        stopped(work)
    finally:
        for server in Server.started:  # also when this program fails itself
            server.process.kill()
        shutil.rmtree(work)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
