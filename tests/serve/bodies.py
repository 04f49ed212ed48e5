"""What a stranger may send: small bodies that ask for much, and files that are not what they say.

Everything is made here, byte by byte, so that no tool is needed. A container (docs/formats.md) is
taken apart and put together again with right checksums, for these keep nobody from lying.
"""

import base64
import ctypes
import json
import struct
import zlib

# ---- containers


def xxh3(data):
    lib = ctypes.CDLL("libxxhash.so.0")
    lib.XXH3_64bits.restype = ctypes.c_uint64
    lib.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return lib.XXH3_64bits(data, len(data))


def container_read(path):
    """Its sections, by name, in their order."""
    with open(path, "rb") as f:
        raw = f.read()
    table, count = struct.unpack_from("<QQ", raw, 24)
    found = {}
    for i in range(count):
        entry = raw[table + 64 * i:table + 64 * (i + 1)]
        offset, size = struct.unpack_from("<QQ", entry, 24)
        found[entry[:24].rstrip(b"\0").decode()] = raw[offset:offset + size]
    return found


def container_write(path, sections):
    body, table = b"", b""
    for name, data in sections.items():
        sums = b"".join(struct.pack("<Q", xxh3(data[i:i + (1 << 20)])) for i in range(0, len(data), 1 << 20))
        table += struct.pack("<24sQQQ16x", name.encode(), 64 + len(body), len(data), xxh3(sums))
        body += data + bytes(-len(data) % 64)
    head = b"\x89SHL\r\n\x1a\n" + struct.pack("<IIQQQQQ", 1, 0, 64 + len(body) + len(table), 64 + len(body),
                                            len(sections), xxh3(table), 0)
    with open(path, "wb") as f:
        f.write(head + struct.pack("<Q", xxh3(head)) + body + table)


def vgg_with_channels(path, source, channels):
    """A VGG without normalised inputs' mean that says it sees so many channels, its sizes all right."""
    old = container_read(source)
    meta = old["meta"].decode()
    spec = dict(x.split("=") for x in meta.split("spec vgg ")[1].split("\n")[0].split())
    side, base, before = int(spec["height"]) * int(spec["width"]), int(spec["base"]), int(spec["channels"])
    # The first tensor, [base][3][3][channels], is padded to a multiple of 16 numbers, as all are.
    first, now = (4 * ((base * 9 * c + 15) // 16 * 16) for c in (before, channels))
    container_write(path, {
        **old, "meta": meta.replace(f"channels={before}", f"channels={channels}").encode(),
        "params": bytes(now) + old["params"][first:],
        "in.mean": bytes(4 * channels * side), "in.inverse": struct.pack("<f", 1) * (channels * side)})


def mlp_with_channels(path, source, channels):
    """A perceptron on grey pictures that says its rows are so many channels."""
    old = container_read(source)
    lines = dict(x.split(" ", 1) for x in old["meta"].decode().splitlines())
    assert int(lines["height"]) % channels == 0
    lines.update(channels=str(channels), height=str(int(lines["height"]) // channels))
    container_write(path, {**old, "meta": "".join(f"{k} {v}\n" for k, v in lines.items()).encode()})


# ---- compressed


def zstd_bomb(size, byte=b"\n"):
    """A frame of blocks of one byte each that become 128 KiB."""
    blocks = size >> 17
    return (b"\x28\xb5\x2f\xfd\x00\x38" + (struct.pack("<I", (1 << 17) << 3 | 2)[:3] + byte) * (blocks - 1)
            + struct.pack("<I", (1 << 17) << 3 | 3)[:3] + byte)


def gzip_bomb(size, byte=b"\n"):
    """Files of 16 MiB one behind the other, each a thousandth of that."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    member = packer.compress(byte * (1 << 24)) + packer.flush()
    return member * (size >> 24)


# ---- pictures


def png_of(width, height, colour_type, raw):
    """A PNG whose rows, filters among them, are these bytes; an iterable, for they may be many."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(x) for x in raw) + packer.flush()
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, colour_type, 0, 0, 0))
            + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def flat_png(side):
    """Black, all of it: a thousandth of what it becomes."""
    return png_of(side, side, 2, (bytes(1 + 3 * side) for _ in range(side)))


def tiny_png():
    return png_of(1, 1, 0, [b"\0\x80"])


def scans_jpeg(side, scans):
    """A progressive JPEG of empty passes, some seventy bytes each, over all its blocks."""
    def segment(marker, data):
        return b"\xff" + bytes([marker]) + struct.pack(">H", 2 + len(data)) + data

    blocks = ((side + 7) // 8) ** 2
    codes = bytes([1] + [0] * 15)  # one symbol, whose code is the bit 0
    head = (b"\xff\xd8" + segment(0xdb, b"\0" + b"\1" * 64)
            + segment(0xc2, struct.pack(">BHHB3B", 8, side, side, 1, 1, 0x11, 0))
            + segment(0xc4, b"\x00" + codes + b"\x00") + segment(0xc4, b"\x10" + codes + b"\xe0"))
    first = segment(0xda, b"\1\1\0\0\0\0") + bytes((blocks + 7) // 8)
    # 0xe0 and 14 bits of 0: there is nothing more in the next 16,384 blocks.
    empty = segment(0xda, b"\1\1\0\x01\x3f\0") + bytes((15 * ((blocks + 16383) // 16384) + 7) // 8)
    return head + first + empty * (scans - 1) + b"\xff\xd9"


def instances_of(pictures):
    return json.dumps({"instances": [{"b64": base64.b64encode(p).decode()} for p in pictures]}).encode()


# ---- tensors


def vgg_tensors_with_channels(path, source, channels):
    """A VGG in safetensors, as from elsewhere, whose first layer sees so many channels."""
    with open(source, "rb") as f:
        raw = f.read()
    size, = struct.unpack_from("<Q", raw)
    head, data, at = json.loads(raw[8:8 + size]), b"", 0
    del head["__metadata__"]
    for name, tensor in head.items():
        part = raw[8 + size:][slice(*tensor["data_offsets"])]
        if name == "features.0.weight":
            tensor["shape"][1] = channels
            part = bytes(4 * channels * 9 * tensor["shape"][0])
        data += part
        tensor["data_offsets"] = [at, at + len(part)]
        at += len(part)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


# ---- framing


def framing(more=b""):
    """Requests whose end two readers may see at different places, a second one behind each; what
    they are called. `more` is headers of all."""
    head = b"POST /predictions/words HTTP/1.1\r\nHost: localhost\r\n" + more
    inner = b"GET /stats HTTP/1.1\r\nHost: localhost\r\n" + more + b"\r\n"
    return {
        "two lengths that differ": head + b"Content-Length: 3\r\nContent-Length: 60\r\n\r\nsea" + inner,
        "a list of lengths that differ": head + b"Content-Length: 3, 60\r\n\r\nsea" + inner,
        "a length and chunks": head + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
        "chunks and a length": head + b"Transfer-Encoding: chunked\r\nContent-Length: 60\r\n\r\n3\r\nsea\r\n0\r\n\r\n" + inner,
        "a space before a length's colon": head + b"Content-Length : %d\r\n\r\n" % len(inner) + inner,
        "a tab before a length's colon": head + b"Content-Length\t: %d\r\n\r\n" % len(inner) + inner,
        "a space before the colon of chunks": head + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + inner,
        "a NUL in a header": head + b"X-A: a\0b\r\nContent-Length: 0\r\n\r\n" + inner,
        "a NUL in a header's name": head + b"X\0A: a\r\nContent-Length: 0\r\n\r\n" + inner,
        "a NUL in the target": b"GET /ping\0 HTTP/1.1\r\nHost: localhost\r\n\r\n" + inner,
        "a folded header": head + b"X-A: a\r\n b\r\nContent-Length: 0\r\n\r\n" + inner,
        "a folded length": head + b"Content-Length:\r\n 3\r\n\r\nsea" + inner,
        "bare line feeds": b"GET /ping HTTP/1.1\nHost: localhost\n\n" + inner,
        "one bare line feed": b"GET /ping HTTP/1.1\r\nHost: localhost\nX-A: a\r\n\r\n" + inner,
        "a bare line feed behind the head": b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\n" + inner,
        "a bare carriage return": b"GET /ping HTTP/1.1\r\nHost: localhost\r\nX-A: a\rX-B: b\r\n\r\n" + inner,
        "two hosts": b"GET /ping HTTP/1.1\r\nHost: localhost\r\nHost: 127.0.0.1\r\n\r\n" + inner,
        "no host": b"GET /ping HTTP/1.1\r\nX-A: a\r\n\r\n" + inner,
        "a length with a sign": head + b"Content-Length: +3\r\n\r\nsea" + inner,
        "a length below nothing": head + b"Content-Length: -3\r\n\r\nsea" + inner,
        "a hexadecimal length": head + b"Content-Length: 0x3\r\n\r\nsea" + inner,
        "a length of two numbers": head + b"Content-Length: 3 60\r\n\r\nsea" + inner,
        "an empty length": head + b"Content-Length:\r\n\r\nsea" + inner,
        "chunks that are called something else": head + b"Transfer-Encoding: xchunked\r\nContent-Length: 60\r\n\r\n0\r\n\r\n" + inner,
        "a chunk of a hexadecimal prefix": head + b"Transfer-Encoding: chunked\r\n\r\n0x3\r\nsea\r\n0\r\n\r\n" + inner,
        "a chunk with a sign": head + b"Transfer-Encoding: chunked\r\n\r\n-3\r\nsea\r\n0\r\n\r\n" + inner,
        "a chunk beyond 64 bits": head + b"Transfer-Encoding: chunked\r\n\r\n10000000000000003\r\nsea\r\n0\r\n\r\n" + inner,
        "a chunk without its end": head + b"Transfer-Encoding: chunked\r\n\r\n3\r\nseaXX0\r\n\r\n" + inner,
        "a line without a colon": b"GET /ping HTTP/1.1\r\nHost: localhost\r\nnonsense\r\n\r\n" + inner,
        "a header without a name": b"GET /ping HTTP/1.1\r\nHost: localhost\r\n: a\r\n\r\n" + inner,
        "a space before the first header": b"GET /ping HTTP/1.1\r\n Host: localhost\r\n\r\n" + inner,
    }
