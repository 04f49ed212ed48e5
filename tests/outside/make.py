#!/usr/bin/env python3
"""Makes the files of this folder: what PyTorch (Debian's python3-torch) and TorchServe's archiver write, a few hundred
bytes of numbers each, and pickles that want to run something. `expected.txt` has PyTorch's answers.

Usage: make.py FOLDER
"""
import collections
import io
import json
import os
import pickle
import sys
import zipfile

import torch
from torch import nn

X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


class Evil:
    """Unpickled, it would make a file."""

    def __init__(self, *how):
        self.how = how

    def __reduce__(self):
        return self.how


def nets():
    torch.manual_seed(7)
    plain = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 2))
    normed = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 5), nn.ReLU(),
                           nn.BatchNorm1d(5), nn.Linear(5, 2, bias=False))
    for layer in (normed[1], normed[5]):
        nn.init.normal_(layer.weight), nn.init.normal_(layer.bias)
        layer.running_mean.normal_(), layer.running_var.uniform_(0.5, 2)
    return plain.eval(), normed.eval()


def archive(path, weights, handler, extra):
    manifest = {"createdOn": "18/11/2026 00:00:00", "runtime": "python",
                "model": {"modelName": "tiny", "serializedFile": "tiny.pth", "handler": handler, "modelFile": "model.py",
                          "modelVersion": "1.0"}, "archiverVersion": "0.9.0"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in [("tiny.pth", weights), ("model.py", b"raise SystemExit\n"), *extra,
                           ("MAR-INF/MANIFEST.json", json.dumps(manifest).encode())]:
            z.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def torch_zip(path, pickled):
    with zipfile.ZipFile(path, "w") as z:
        z.writestr(zipfile.ZipInfo("archive/data.pkl"), pickled)
        z.writestr(zipfile.ZipInfo("archive/version"), b"3\n")


def main(folder):
    os.chdir(folder)
    plain, normed = nets()
    state = plain.state_dict()
    torch.save(state, "tiny.pth")
    torch.save(state, "older.pth", _use_new_zipfile_serialization=False)
    torch.save({"epoch": 3, "best": 0.5, "state_dict": collections.OrderedDict(
        ("module." + k, v) for k, v in state.items())}, "checkpoint.pth")
    turned = collections.OrderedDict((k, v.t().contiguous().t() if v.ndim == 2 else v.double()) for k, v in state.items())
    torch.save(turned, "turned.pth")
    torch.save(normed.state_dict(), "normed.pth")
    weights = io.BytesIO()
    torch.save(state, weights)
    names = ("index_to_name.json", json.dumps({"0": "cat", "1": ["n02084071", "dog"]}).encode())
    hints = ("shoal.json", b'{"activation": "tanh"}')
    archive("tiny.mar", weights.getvalue(), "base_handler", [names, hints])
    archive("custom.mar", weights.getvalue(), "my_handler.py", [("my_handler.py", b"raise SystemExit\n")])
    archive("text.mar", weights.getvalue(), "text_classifier", [])
    torch_zip("system.pth", pickle.dumps(Evil(os.system, ("touch executed",)), 2))
    torch_zip("eval.pth", pickle.dumps({"0.weight": Evil(eval, ("open('executed', 'w')",))}, 4))
    torch_zip("object.pth", b"\x80\x02c__main__\nNet\n)\x81.")
    torch_zip("memo.pth", b"\x80\x02}r\xff\xff\xff\xff.")
    with torch.no_grad(), open("expected.txt", "w") as out:
        for name, net in (("plain", plain), ("normed", normed)):
            for row in torch.softmax(net(X), 1):
                out.write(name + "\t" + "\t".join("%.6g" % x for x in row) + "\n")


main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))
