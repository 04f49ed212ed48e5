#!/usr/bin/env python3
"""Makes the first inputs of fuzz targets from files that the program itself wrote.

    tests/fuzz/seeds.py BUILD OUT      OUT/TARGET/NAME

Containers are taken apart into `%%NAME` and contents, as tests/fuzz/fuzz.h has them; long
runs of numbers are cut, the target puts zeros in their place.
"""
import bz2
import json
import lzma
import os
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

SHOAL = os.path.abspath(os.path.join(sys.argv[1], "cli", "shoal"))
OUT = os.path.abspath(sys.argv[2])
KEEP = 2048


def put(target, name, data):
    folder = os.path.join(OUT, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data.encode() if isinstance(data, str) else data)


def get(path):
    with open(path, "rb") as f:
        return f.read()


def shoal(*words, ok=True):
    done = subprocess.run([SHOAL, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    if ok and done.returncode != 0:
        sys.exit(f"seeds: shoal {' '.join(words)}: {done.stderr.decode()}")


def piece(mark, name, data):
    """A piece of an input, its zeros cut off when it is long."""
    if len(data) > KEEP:
        return f"{mark}{name}={len(data)}\n".encode() + data[:KEEP].rstrip(b"\0")
    return f"{mark}{name}\n".encode() + data


def sections(path):
    data = get(path)
    toc, count = struct.unpack_from("<QQ", data, 24)
    parts = []
    for i in range(count):
        name, offset, size = struct.unpack_from("<24sQQ", data, toc + 64 * i)
        name = name.rstrip(b"\0").decode()
        parts.append(piece("%%", name, data[offset:offset + size]))
    return b"\n".join(parts)


def newest(folder):
    return os.path.join(folder, sorted(f for f in os.listdir(folder) if "part" not in f)[-1])


def words():
    with open("text", "w", encoding="utf-8") as f:
        f.write("one two three one two\nfour one five two six seven\n" * 8)
    shoal("encode", "text", "-o", "corpus.shoal", "--min-count", "1", "-q")
    put("encoded", "corpus", sections("corpus.shoal"))
    for loss in "ns", "hs", "softmax":
        shoal("train", "cbow", "corpus.shoal", "-o", f"{loss}.shoal", "--dim", "4", "--loss", loss,
              "--epochs", "1", "--threads", "1", "--checkpoint", f"{loss}.d", "--checkpoint-every", "epoch", "-q")
        put("checkpoint", loss, sections(newest(f"{loss}.d")))
    put("vectors", "mended", b"\0" + sections("ns.shoal"))
    for dtype in "f16", "bf16", "int8":
        shoal("convert", "ns.shoal", f"{dtype}.shoal", "--dtype", dtype, "-q")
        put("vectors", f"mended-{dtype}", b"\0" + sections(f"{dtype}.shoal"))
    shoal("train", "cbow", "corpus.shoal", "-o", "grams.shoal", "--dim", "4", "--epochs", "1", "--threads", "1",
          "--minn", "2", "--maxn", "3", "--buckets", "7", "-q")
    put("vectors", "grams", b"\0" + sections("grams.shoal"))
    shoal("convert", "grams.shoal", "grams8.shoal", "--dtype", "int8", "-q")
    put("vectors", "grams-int8", b"\0" + sections("grams8.shoal"))
    for cell in "lstm", "dense":
        shoal("train", "nextword", "corpus.shoal", "--vectors", "ns.shoal", "-o", "next.shoal", "--hidden", "4",
              "--length", "2", "--epochs", "1", "--cell", cell, "-q")
        put("net", "next-" + cell, sections("next.shoal"))
    head = sections(newest("ns.d"))
    tables = {}
    for line in head.split(b"\n%%")[1:]:
        name, _, data = line.partition(b"\n")
        tables[name] = data
    rows = [b"\n".join([b"kind checkpoint-part", b"number 1", b"part %d" % i, b"parts 2", b""])
            for i in range(2)]
    halves = []
    for i in range(2):
        ids = [n for n in range(7) if n % 2 == i]
        part = [b"%%meta\n" + rows[i], b"%%corpus\n" + tables[b"corpus"]]
        for name in b"in", b"out":
            width = len(tables[name]) // 7
            part.append(b"%%" + name + b".rows\n" + struct.pack(f"<{len(ids)}I", *ids))
            part.append(b"%%" + name + b"\n" +
                        b"".join(tables[name][n * width:(n + 1) * width] for n in ids))
        halves.append(b"##part\n" + b"\n".join(part))
    whole = head.split(b"\n%%in\n")[0] + b"\n%%parts\n" + bytes(16)
    put("checkpoint", "parts", b"\n".join([whole, *halves]))


def clicks():
    with open("clicks", "w", encoding="utf-8") as f:
        f.write("1 1:1 2:0.5\n0 3:1\n1 1:1 4:2\n0 2:1 3:1\n" * 4)
    shoal("encode", "--as", "clicks", "clicks", "-o", "clicks.shoal", "--bits", "10", "-q")
    put("encoded", "clicks", sections("clicks.shoal"))
    for optimizer in "ftrl", "adagrad":
        shoal("train", "logreg", "clicks.shoal", "-o", "logreg.shoal", "--optimizer", optimizer,
              "--checkpoint", f"{optimizer}.d", "--checkpoint-every", "epoch", "--epochs", "1", "-q")
        put("checkpoint", optimizer, sections(newest(f"{optimizer}.d")))
    put("logreg", "trained", sections("logreg.shoal"))
    shoal("train", "logreg", "clicks", "-o", "kept.shoal", "--bits", "10", "--epochs", "1", "--examples", "3", "-q")
    put("logreg", "kept", sections("kept.shoal"))
    with open("many", "w", encoding="utf-8") as f:
        f.write("2 1:1 2:0.5\n0 3:1\n1 1:1 4:2\n0 2:1 3:1\n" * 4)
    shoal("encode", "--as", "clicks", "--classes", "many", "-o", "many.shoal", "--bits", "10", "-q")
    put("encoded", "classes", sections("many.shoal"))
    shoal("train", "multinomial", "many.shoal", "-o", "multinomial.shoal", "-q")
    put("logreg", "multinomial", sections("multinomial.shoal"))


def png(width, height, grey):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))
    row = b"\0" + bytes(range(width)) * (1 if grey else 3)
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0 if grey else 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(row * height)) + chunk(b"IEND", b""))


def pictures():
    for part in "train/a", "train/b", "test/a", "test/b":
        os.makedirs(os.path.join("set", part))
        with open(os.path.join("set", part, "1.png"), "wb") as f:
            f.write(png(8, 8, False))
    put("image", "grey", b"\1" + png(3, 5, True))
    put("image", "colours", b"\0" + png(5, 3, False))
    put("images", "folders", b"\x20" + b"\n".join(
        piece("##", f"{part}/1.png", png(4, 4, False)) for part in ("train/a", "train/b", "test/a")))
    put("images", "flat", b"\x11" + b"\n".join(
        piece("##", f"{name}/x.png", png(4, 4, True)) for name in ("cat", "dog")))
    record = b"\3" + bytes(3072)
    put("images", "cifar", b"\0" + piece("##", "data_batch_1.bin", record) + b"\n" +
        piece("##", "test_batch.bin", record) + b"\n##batches.meta.txt\n" +
        b"\n".join(b"class%d" % i for i in range(10)))
    put("images", "cifar100", b"\2" + piece("##", "train.bin", b"\1\2" + bytes(3072)))
    idx = struct.pack(">IIII", 0x803, 2, 2, 2) + bytes(range(8))
    labels = struct.pack(">II", 0x801, 2) + b"\0\1"
    put("images", "idx", b"\0" + piece("##", "train-images-idx3-ubyte", idx) + b"\n" +
        piece("##", "train-labels-idx1-ubyte", labels) + b"\n##classes.txt\nzero\none\n")
    put("images", "idx-file", b"\2" + piece("##", "x-images-idx3-ubyte", idx) + b"\n" +
        piece("##", "x-labels-idx1-ubyte", labels))
    put("samples", "idx", b"\0" + idx)
    put("samples", "npy", b"\1" + npy("<f4", "(2, 2)", struct.pack("<4f", 1, 2, 3, 0)))
    put("samples", "npy8", b"\0" + npy("|u1", "(3, 2)", bytes([1, 0, 2, 1, 3, 1])))
    put("samples", "labels", b"\x80" + npy("<f8", "(2, 1)", struct.pack("<2d", 1, 2)) +
        b"\n##\n" + npy("<i8", "(2,)", struct.pack("<2q", 0, 1)))
    put("samples", "csv", b"\0a,b,label\n1,2,0\n3,4.5,1\n")


def npy(kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head = head.ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + data


def arrays():
    def named(lines, data):
        put_words = lines.encode()
        return bytes([len(put_words)]) + put_words + data
    two = "a\nb\n"
    for kind, code in ("<f8", "<4d"), (">f8", ">4d"), (">f4", ">4f"), ("<f2", "<4e"), (">f2", ">4e"):
        put("vectors", "npy" + kind[1:] + ("big" if kind[0] == ">" else ""),
            named(two, npy(kind, "(2, 2)", struct.pack(code, 1, -2.5, 3, 4))))
    columns = npy("<f4", "(2, 2)", struct.pack("<4f", 1, 3, -2.5, 4)).replace(b"False", b"True ")
    put("vectors", "npy-columns", named(two, columns))
    put("vectors", "npy-twice", named("a\na\n", npy("<f4", "(2, 2)", struct.pack("<4f", 1, 2, 3, 4))))
    put("vectors", "npy-empty", named("\nb\n", npy("<f4", "(2, 2)", struct.pack("<4f", 1, 2, 3, 4))))
    matrix = npy("<f8", "(2, 2)", struct.pack("<4d", 1, -2.5, 3, 4))
    for mark, name in ("##", "stored"), ("##+", "deflated"):
        put("vectors", "npz-" + name, b"\0" + piece(mark, "vectors.npy", matrix) + b"\n" +
            piece(mark, "words.npy", npy("<U3", "(2,)", "one\u00e9\0\0".encode("utf-32-le"))))
    put("vectors", "npz-bytes", b"\0" + piece("##", "arr_0.npy", matrix) + b"\n" +
        piece("##", "arr_1.npy", npy("|S3", "(2,)", b"oneone")))
    put("vectors", "npz-beside", named(two, piece("##+", "W.npy", matrix)))
    put("vectors", "npz-objects", b"\0" + piece("##", "vectors.npy", matrix) + b"\n" +
        piece("##", "words.npy", npy("|O", "(2,)", b"\x80\4.")))
    with zipfile.ZipFile("seed.npz", "w", zipfile.ZIP_DEFLATED) as z:
        with z.open("vectors.npy", "w", force_zip64=True) as f:
            f.write(matrix)
        z.writestr("words.npy", npy("|S1", "(2,)", b"ab"))
    put("vectors", "npz-whole", b"\0" + get("seed.npz"))
    put("vectors", "mark", b"\0\xef\xbb\xbf2 2\na 1 2\nb 3 4\n")
    put("vectors", "twice", b"\0" + b"5 2\na 1 2\n 3 4\nb 5 6\na 7 8\nb 9 1\n")
    put("vectors", "binary-twice", b"\0" + b"3 1\na \0\0\x80\x3f\na \0\0\x80\x3f\n \0\0\x80\x3f\n")
    put("vectors", "vocabulary", b"\0the 10\ncat 3\n")
    put("vectors", "fasttext", b"\0\xba\x16\x4f\x2f\x0c\0\0\0\x64\0\0\0")
    put("vectors", "pickle", b"\0\x80\4\x95\x10\0\0\0\0\0\0\0\x8c")
    put("samples", "npy-columns", b"\1" + npy("<f4", "(2, 3)", struct.pack("<6f", *range(6))).replace(b"False", b"True "))
    put("samples", "npy-big", b"\1" + npy(">f2", "(2, 3)", struct.pack(">6e", *range(6))))
    put("samples", "npy-u16", b"\1" + npy("<u2", "(2, 3)", struct.pack("<6H", *range(6))))


def safetensors(path):
    data = get(path)
    length = struct.unpack_from("<Q", data)[0]
    head = json.loads(data[8:8 + length])
    head["__metadata__"] = {k: v for k, v in head["__metadata__"].items() if len(v) < KEEP}
    return json.dumps(head, separators=(",", ":")).encode() + b"\n" + piece("%%", "data", data[8 + length:])


def nets():
    with open("xor.csv", "w", encoding="utf-8") as f:
        f.write("0,0,0\n0,1,1\n1,0,1\n1,1,0\n")  # fuzz_checkpoint.c has the same
    shoal("train", "mlp", "xor.csv", "-o", "mlp.shoal", "--layers", "3", "--epochs", "2",
          "--valid-share", "0", "--threads", "1", "--checkpoint", "mlp.d",
          "--checkpoint-every", "epoch", "-q")
    put("net", "mlp", sections("mlp.shoal"))
    for name in os.listdir("mlp.d"):
        put("checkpoint", "mlp-" + name[11:17], sections(os.path.join("mlp.d", name)))
    shoal("train", "mlp", "xor.csv", "-o", "numbers.shoal", "--layers", "3,2", "--epochs", "1",
          "--valid-share", "0", "--regression", "-q")
    put("net", "numbers", sections("numbers.shoal"))
    shoal("convert", "mlp.shoal", "mlp.safetensors", "-q")
    put("tensors", "mlp", b"\0" + safetensors("mlp.safetensors"))
    put("tensors", "mlp-raw", b"\1" + get("mlp.safetensors"))
    for extra in ["--no-batch-norm", "--hidden", "0"], ["--batch-norm", "--hidden", "16"]:
        shoal("train", "vgg", "set", "-o", "vgg.shoal", "--base", "16", "--depth", "11", "--epochs",
              "1", "--size", "32", *extra, "-q", ok=False)
        if os.path.exists("vgg.shoal"):
            put("net", "vgg" + extra[0], sections("vgg.shoal"))
            shoal("convert", "vgg.shoal", "vgg.safetensors", "-q")
            put("tensors", "vgg" + extra[0], b"\x0a" + safetensors("vgg.safetensors"))
            os.remove("vgg.shoal")
    for i, spec in enumerate([
            "mlp inputs=2 layers=64,32 outputs=4 activation=relu loss=softmax",
            "mlp inputs=1 layers= outputs=1 activation=gelu loss=mse",
            "lstm length=5 width=100 hidden=64 outputs=100",
            "vgg depth=11 bn=1 base=16 channels=3 height=32 width=32 hidden=0 dropout=0 outputs=10 "
            "sync=0",
            "vgg depth=19 bn=0 base=64 channels=1 height=224 width=224 hidden=4096 dropout=0.5 "
            "outputs=1000 sync=1"]):
        put("spec", f"spec{i}", spec)


def requests():
    def request(name, role, head, body=b"", kind=None):
        lines = [head] + ([f"Content-Type: {kind}"] if kind else []) + ["Host: localhost", "", ""]
        body = body.encode() if isinstance(body, str) else body
        put("request", name, bytes([role]) + "\n".join(lines).encode() + body)
    multipart = (b"--B\r\nContent-Disposition: form-data; name=\"data\"\r\n\r\nking\r\n--B--\r\n")
    tensor = {"id": "x", "inputs": [{"name": "in", "shape": [1, 2], "datatype": "FP32",
                                     "data": [1, 2]}]}
    texts = {"inputs": [{"name": "in", "shape": [2], "datatype": "BYTES", "data": ["king", "man"]}]}
    for name in "words", "net", "pictures", "clicks", "next":
        request(f"{name}-infer", 1, f"POST /v2/models/{name}/infer", json.dumps(tensor))
        request(f"{name}-meta", 1, f"GET /v2/models/{name}")
        request(f"{name}-ready", 1, f"GET /v2/models/{name}/ready")
        request(f"{name}-kserve", 1, f"POST /v1/models/{name}:predict", '{"instances":[[1,2]]}')
        request(f"{name}-text", 1, f"POST /predictions/{name}", "king")
    request("words-list", 1, "POST /predictions/words?k=3", '{"words":["king","man"],"k":2}')
    request("words-analogy", 1, "GET /models/words/analogy?a=man&b=king&c=woman&k=2")
    request("words-similar", 1, "GET /models/words/similar?word=kin&k=5")
    request("words-vector", 1, "GET /models/words/vector?word=caf%C3%A9")
    request("words-map", 1, "GET /models/words/map?words=king,queen,man")
    request("words-multipart", 1, "POST /predictions/words", multipart,
            "multipart/form-data; boundary=B")
    request("words-form", 1, "POST /predictions/words", "data=king",
            "application/x-www-form-urlencoded")
    request("words-bytes", 1, "POST /v2/models/words/infer", json.dumps(texts))
    request("net-numbers", 1, "POST /predictions/net", "[[1,2],[3,4]]", "application/json")
    request("net-instances", 1, "PUT /predictions/net/1.0", '{"instances":[[1,2.5]]}')
    request("net-invoke", 1, "POST /models/net/invoke", "[1, 2]")
    request("pictures-png", 1, "POST /predictions/pictures", png(9, 9, True), "image/png")
    request("pictures-b64", 1, "POST /predictions/pictures",
            '{"instances":[{"b64":"iVBORw0KGgo="}]}')
    request("clicks-libsvm", 1, "POST /predictions/clicks", "1 1:1 2:0.5\n0 3:1\n")
    request("clicks-json", 1, "POST /predictions/clicks", '{"rows":["1:1 2:0.5",{"3":1}]}')
    request("next-texts", 1, "POST /predictions/next?k=2", '{"texts":["a b c","d e"],"k":3}')
    for i, (role, head) in enumerate([
            (1, "GET /ping"), (1, "GET /"), (1, "OPTIONS /"), (1, "GET /stats"), (1, "HEAD /page.js"),
            (4, "GET /metrics"), (2, "GET /models?limit=2"), (2, "GET /models/net/all"),
            (2, "GET /models/net"), (2, "PUT /models/net?min_worker=1&max_worker=2"),
            (2, "PUT /models/net/1.0/set-default"), (2, "DELETE /models/net/1.0"),
            (2, "POST /models?url=net.shoal&model_name=n&initial_workers=1&batch_size=2"),
            (7, "GET /api-description"), (1, "GET /v2"), (1, "GET /v2/health/ready"),
            (1, "OPTIONS /predictions/net"), (7, "GET /v1/models/net"),
            (7, "GET /v2/models/net/versions/1.0")]):
        request(f"route{i:02}", role, head)


def others():
    token = "0123456789abcdef"
    put("options", "lines", "1# larger\ndim 300\nlr = 0.05\noutput=my vectors.bin\nvalid 1%\n")
    put("options", "json", '4{"layers": "64,64", "lr": 0.05, "nesterov": true, "epochs": 3}')
    put("options", "meta", "0kind checkpoint\ntask vgg\nopt.depth 16\nopt.sync bounded:4\n")
    put("settings", "tokens", f"0# ours\ninference {token}\nmanagement {token}x\nmetrics {token}y\n")
    put("settings", "config", "1# as TorchServe\ninference_address = http://127.0.0.1:8080\n"
        "load_models=all\nmodel_store=/srv\nmax_request_size=65536\nrate=1.5\nsandbox=true\n")
    put("settings", "state", "2shoal-serve 1\nmodel net 1.0 8 1 20 1 2 60 1 net.shoal\n"
        "model net 2.0 8 1 20 0 0 60 0 other file\n")
    for i, address in enumerate(["127.0.0.1:8080", "[::1]:0", "http://localhost:8080/", "none"]):
        put("settings", f"address{i}", "3" + address)
    put("settings", "classes", 'n{"0": "cat", "1": ["n02084071", "dog"]}\n')
    put("settings", "class_list", "ncat\ndog\n")
    put("launcher", "openmpi", "0epoch 1\r\x1b[Kepoch 2\n" + "-" * 60 + "\nmpirun noticed that process "
        "rank 1 with PID 12 on node a exited on signal 9 (Killed).\n" + "-" * 60 +
        "\nshoal: rank 0 on a: silent for 5 s\nshoal: found no corpus, want one\n[a:12] x\n")
    put("launcher", "mpich", "0" + "=" * 60 + "\n=   BAD TERMINATION\n=   PID 5 RUNNING AT b\n"
        "=   EXIT CODE: 9\n" + "=" * 60 + "\nYOUR APPLICATION TERMINATED WITH x\n")
    put("launcher", "lost", "0Remote daemon:\n  [x] on node c\nshoal: stopped by a signal\n"
        "shoal: the last good checkpoint is d\n")
    put("launcher", "hosts-file", "1# hosts\na slots=2\nb:3\nc\n")
    put("launcher", "hosts-list", "2a:2,b:6,c:1")
    put("launcher", "hosts-plain", "2a,b,c")
    cluster = {"name": "x", "nodes": 4, "cores": 8, "gigabits": 10, "microseconds": 20, "speed": 1,
               "jitter": 0.1, "workers": [1, 2, 4, 8]}
    put("cluster", "cluster", json.dumps(cluster))
    study = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "metrics")
    for name in os.listdir(study):
        if name.startswith("study"):
            put("cluster", name, json.dumps(cluster).encode() + b"\n##study\n" +
                get(os.path.join(study, name)))
    text = "New York is big\nNew York is old, new\n\nyork caf\u00e9 New York\n" * 3
    for how in range(12):
        put("encode", f"text{how}", bytes([how, how]) + text.encode())
    mixed = "我爱Go北京。สวัสดี\U0001f469\U0001f3fd\u200d\U0001f680 1\ufe0f\u20e3 \U0001f1e9\U0001f1ea\r한국" * 2
    for how in range(16, 128, 7):
        put("encode", f"mixed{how}", bytes([how, how % 32]) + mixed.encode() + b"\xe2\x82 \xff\x7f")
    for number, coding in (1, "utf-16"), (1, "latin-1"), (2, "latin-1"), (3, "cp1252"), (4, "utf-16-be"):
        put("encode", f"{coding}{number}", bytes([1, 32 * number]) + "déjà vu, café\n".encode(coding) * 3)
    record = b"".join(struct.pack("<QI", n, len(w)) + w for n, w in [(3, b"one"), (2, b"two")])
    settled = struct.pack("<18Q", 0, 0, 0, 1, 0, 0, 1, 8, 9, 1, 1, 0, 0, 0, 2, 1, 0, 2) + record
    put("ranks", "counts", b"0" + record + b"\n##\n" + settled + b"\n##\n" +
        settled[:18 * 8] + record.replace(b"one", b"six").replace(b"two", b"ten"))
    put("ranks", "classes", b"3" + struct.pack("<13Q", *range(13)))
    put("ranks", "scores", b"1" + struct.pack("<Q", 0) + struct.pack("<60d", *[1.0] * 60))
    put("ranks", "logits", b"2" + struct.pack("<Q", 1) + struct.pack("<60d", *[1.0] * 60))
    put("stream", "gzip", b"\7" + zlib.compress(b"one two three\n" * 9, 9, 31))
    put("stream", "plain", b"\1one two three\n")
    text = b"one two three\n" * 9
    put("stream", "bzip2", b"\7" + bz2.compress(text))
    put("stream", "bzip2-empty", b"\7" + bz2.compress(b""))
    put("stream", "bzip2-two", b"\0" + bz2.compress(text) + bz2.compress(b"four", 1))
    put("stream", "bzip2-cut", b"\1" + bz2.compress(text)[:40])
    put("stream", "bzip2-behind", b"\1" + bz2.compress(text) + b"garbage")
    put("stream", "xz", b"\7" + lzma.compress(text, preset=0))
    put("stream", "xz-crc32", b"\7" + lzma.compress(text, check=lzma.CHECK_CRC32, preset=0))
    put("stream", "xz-two", b"\0" + lzma.compress(text, preset=0) + bytes(4) + lzma.compress(b"four", preset=0))
    put("stream", "xz-cut", b"\1" + lzma.compress(text, preset=0)[:40])
    put("stream", "xz-behind", b"\1" + lzma.compress(text, preset=0) + b"garbage")
    put("stream", "xz-large", b"\1" + lzma.compress(text, filters=[
        {"id": lzma.FILTER_LZMA2, "dict_size": 192 << 20, "preset": 0}]))
    put("suite", "analogies", ": capitals\na b c d\na c b d\n: plurals\none two three four\n")
    put("suite", "pairs", "a\tb\t7.5\nc\td\t1.25\n")
    put("vocab", "plain", "one 3\ntwo 2\n<UNK> 1\n")
    put("vocab", "eos", "</s> 4\none 3\ntwo 3\n")
    for how in range(0, 32, 3):
        put("words", f"mixed{how}", bytes([how, 5]) + mixed.encode() + b"\xe2\x82 \xff\x7f")
    put("words", "letters", b"\1\7New York, caf\xc3\xa9.\nA\xffb 12\n")
    put("words", "space", b"\0\3New  York\tcaf\xc3\xa9\r\n\n x")
    put("messages", "some", bytes(range(1, 200)))
    put("messages", "blocks", bytes([16, 1, 0, 3, 0, 2, 1, 1, 4, 4, 1, 0, 0, 0] * 8))
    put("container", "empty", b"\x89SHL\r\n\x1a\n\1\0\0\0\0\0\0\0" + struct.pack("<5Q", 64, 64, 0, 0, 0)
        + bytes(8))


def columns():
    """What a table is, from its text and from a model; and another table behind `##`."""
    table = ("id,age,income,city,label\n" +
             "".join(f"{i},{20 + i % 7},{1.5 ** (i % 20)},{('Rome', 'Oslo', '')[i % 3]},{i % 2}\n"
                     for i in range(60)))
    other = "##\nlabel;city;Income;AGE\n1;Bern;5;30\n"
    with open("table.csv", "w", encoding="utf-8") as f:
        f.write(table)
    shoal("train", "logreg", "table.csv", "-o", "table.shoal", "--epochs", "1", "-q")
    shoal("train", "logreg", "table.csv", "-o", "bins.shoal", "--epochs", "1", "-q", "--bins", "4")
    for name in "table", "bins":
        data = sections(name + ".shoal").split(b"%%columns\n", 1)[1].split(b"\n%%", 1)[0]
        put("columns", name + "-kept", b"\0" + data + b"\n" + other.encode())
    for mode in 1, 3, 5, 9, 17, 33, 65, 129:
        put("columns", f"learn-{mode}", bytes([mode]) + (table[:400] + other).encode())
    put("columns", "excel", b"\1\xef\xbb\xbfa;b;y\r\n1,5;\"x;z\";ja\r\n1.234,5;;nein\r\n")
    put("columns", "names", b"\1,a,a,a.1\n1,2,3,0\n2,3,4,1\n##\na,,a.1,a\n")
    put("columns", "signs", b'\1p,q,y\n"$1,234.50",5%,0\n-$5,6 %,1\n')


def labelled():
    """Lines with labels, tables of texts, what is made of them, and classifiers."""
    lines = b"__label__a the cat sat\n__label__b __label__a a dog\n__label__b the end </s> of it\n"
    table = b'id,label,text\n1,a,"the ""cat"", sat"\n2,b c,a dog\n3,,nobody\n'
    with open("lines.txt", "wb") as f:
        f.write(lines * 3)
    for mode in 0, 2, 4, 8:
        put("labelled", f"lines-{mode}", bytes([mode]) + lines)
    put("labelled", "table", b"\1" + table)
    put("labelled", "tabs", b"\3" + table.replace(b",", b"\t"))
    shoal("train", "classify", "lines.txt", "-o", "x.shoal", "-q", "--checkpoint", "run", "--dim", "4",
          "--epochs", "1")
    put("labelled", "container", b"\x10" + sections("run/labelled.shoal"))
    for loss in "softmax", "hs", "ova":
        shoal("train", "classify", "lines.txt", "-o", "class.shoal", "-q", "--dim", "4", "--epochs", "1",
              "--loss", loss, "--word-ngrams", "2", "--minn", "2", "--maxn", "2", "--buckets", "70")
        put("classify", loss, sections("class.shoal"))
        shoal("convert", "class.shoal", "class.bin", "-q")
        put("classify", loss + "-fasttext", get("class.bin"))


def index():
    """Of the vectors that fuzz_index.c makes."""
    with open("small.vec", "w") as f:
        f.write("64 4\n")
        f.writelines(f"w{i} {i * 7 % 11 - 5} {i * 5 % 7 - 3} {i * 3 % 5 - 2} {i % 3 + 1}\n" for i in range(64))
    for m in "2", "4":
        shoal("index", "small.vec", "--m", m, "--ef", "20", "--threads", "1", "-q", "-o", "small.hnsw")
        put("index", f"m{m}", sections("small.hnsw"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        words()
        clicks()
        columns()
        pictures()
        arrays()
        nets()
        requests()
        labelled()
        index()
        others()
        put("container", "corpus", get("corpus.shoal"))


main()
