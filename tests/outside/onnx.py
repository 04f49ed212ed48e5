#!/usr/bin/env python3
"""Asks a small ONNX file, decoding the protobuf by itself: onnx.py FILE.onnx ROWS.csv prints a line of outputs for
each row of inputs. Knows the operators of perceptrons."""
import math
import struct
import sys


def fields(data):
    at = 0

    def varint():
        nonlocal at
        x = shift = 0
        while True:
            byte = data[at]
            at += 1
            x |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return x
    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            size = varint() if tag & 7 == 2 else {5: 4, 1: 8}[tag & 7]
            yield tag >> 3, data[at:at + size]
            at += size


def all_of(data, number):
    return [v for n, v in fields(data) if n == number]


def tensor(data):
    dims = all_of(data, 1)
    raw = all_of(data, 9)[0]
    x = list(struct.unpack("<%df" % (len(raw) // 4), raw))
    if len(dims) == 2:
        return [x[i * dims[1]:(i + 1) * dims[1]] for i in range(dims[0])]
    return x if dims else x[0]


def pairwise(f):
    return lambda a, b: [f(x, b[i] if isinstance(b, list) else b) for i, x in enumerate(a)]


def softmax(a):
    e = [math.exp(x - max(a)) for x in a]
    return [x / sum(e) for x in e]


OPS = {
    "Gemm": lambda a, w, b: [sum(x * y for x, y in zip(a, row)) + c for row, c in zip(w, b)],
    "Relu": lambda a: [max(x, 0) for x in a],
    "Tanh": lambda a: [math.tanh(x) for x in a],
    "Sigmoid": lambda a: [1 / (1 + math.exp(-x)) for x in a],
    "Erf": lambda a: [math.erf(x) for x in a],
    "Add": pairwise(lambda x, y: x + y),
    "Sub": pairwise(lambda x, y: x - y),
    "Mul": pairwise(lambda x, y: x * y),
    "Softmax": softmax,
    "Identity": lambda a: a,
}


def main(path, rows):
    with open(path, "rb") as f:
        model = f.read()
    graph = all_of(model, 7)[0]
    constants = {all_of(t, 8)[0].decode(): tensor(t) for t in all_of(graph, 5)}
    takes = all_of(all_of(graph, 11)[0], 1)[0].decode()
    gives = all_of(all_of(graph, 12)[0], 1)[0].decode()
    for line in open(rows):
        values = dict(constants, **{takes: [float(x) for x in line.split(",")]})
        for node in all_of(graph, 1):
            inputs = [values[name.decode()] for name in all_of(node, 1)]
            values[all_of(node, 2)[0].decode()] = OPS[all_of(node, 4)[0].decode()](*inputs)
        print("\t".join("%.5f" % x for x in values[gives]))


main(*sys.argv[1:])
