#!/usr/bin/env python3
"""VGG-11 with batch norm against PyTorch: seconds of a step, and the losses of the
first 50 steps from the same weights and batches.

    bench/vgg.py BUILD CIFAR [--threads 2] [--batch 256] [--rounds 3] [--steps 8]
                 [--lr 0.002] [--warm] [--control] [--dtype bf16]

CIFAR is the folder of CIFAR-10's binary files. Both programs run in turn, several
rounds, and the best and the middle of each are compared: the machine's moods then
meet both alike. PyTorch's libraries are told what the machine has (bench/machine.py).
Needs Debian's python3-torch.

Two programs that differ in the last bit of a sum part ways on single batches, the further
the higher the rate: --control shows how far PyTorch parts from itself when it has one
thread less, and when it computes in double. --warm lets the rate grow from 0 to --lr
over the 50 steps. --rounds 0 leaves the speed out. PyTorch computes in f32, whatever
--dtype says to shoal.
"""
import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from machine import PYTHON, tuned

RECORD = 3073
LAYERS = [64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"]


def write_part(source, folder, pictures):
    """The first pictures of CIFAR as a folder of their own."""
    os.makedirs(folder)
    left = pictures * RECORD
    for part in range(1, 6):
        with open(f"{source}/data_batch_{part}.bin", "rb") as f:
            data = f.read(left)
        with open(f"{folder}/data_batch_{part}.bin", "wb") as f:
            f.write(data)
        left -= len(data)
        if left == 0:
            return folder
    raise SystemExit("vgg: CIFAR holds fewer pictures than that")


def load(folder):
    import torch
    data = b"".join(open(f"{folder}/{name}", "rb").read()
                    for name in sorted(os.listdir(folder)) if name.startswith("data_batch"))
    raw = torch.frombuffer(bytearray(data), dtype=torch.uint8).reshape(-1, RECORD)
    x = raw[:, 1:].reshape(-1, 3, 32, 32).float() / 255
    mean = x.mean(dim=(0, 2, 3), dtype=torch.float64).float()
    std = x.double().std(dim=(0, 2, 3), unbiased=False).float()
    x = (x - mean[:, None, None]) / std[:, None, None]
    return x, raw[:, 0].long()


def make_net():
    from torch import nn
    features, channels = [], 3
    for width in LAYERS:
        if width == "M":
            features.append(nn.MaxPool2d(2, 2))
            continue
        features += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width),
                     nn.ReLU(inplace=True)]
        channels = width
    net = nn.Module()
    net.features = nn.Sequential(*features)
    net.classifier = nn.Linear(512, 10)
    net.forward = lambda x: net.classifier(net.features(x).flatten(1))
    for m in net.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            nn.init.zeros_(m.bias)
    return net


def write_safetensors(net, path):
    header, blobs, at = {}, [], 0
    for name, tensor in net.state_dict().items():
        blob = tensor.float().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def run_torch(args):
    """In a process of its own: prints one JSON line of seconds and losses."""
    import torch
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    net = make_net()
    if args.weights:
        write_safetensors(net, args.weights)
    x, label = load(args.data)
    if args.double:
        net, x = net.double(), x.double()
    optim = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    seconds, losses = [], []
    for step in range(args.steps):
        batch = slice(step * args.batch, (step + 1) * args.batch)
        began = time.perf_counter()
        optim.param_groups[0]["lr"] = args.lr * ((step + 1) / args.steps if args.warm else 1)
        optim.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(net.forward(x[batch]), label[batch])
        loss.backward()
        optim.step()
        seconds.append(time.perf_counter() - began)
        losses.append(loss.item())
    print(json.dumps({"seconds": seconds, "losses": losses}))


def torch_of(args, data, steps, weights=None, more=()):
    command = [PYTHON, __file__, "--torch", args.build, data, "--threads",
               str(args.threads), "--batch", str(args.batch), "--steps", str(steps), "--lr",
               str(args.lr), *more] + ["--warm"] * args.warm
    out = subprocess.run(command + (["--weights", weights] if weights else []), check=True,
                         stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=tuned())
    return json.loads(out.stdout)


def shoal_of(args, data, work, weights=None):
    metrics = f"{work}/metrics"
    if os.path.exists(metrics):
        os.remove(metrics)
    command = [f"{args.build}/cli/shoal", "train", "vgg", data, "-q", "-o", f"{work}/vgg.shoal",
               "--depth", "11", "--batch", str(args.batch), "--threads", str(args.threads),
               "--epochs", "1", "--lr", str(args.lr), "--schedule", "constant", "--warmup", str(int(args.warm)),
               "--optimizer", "momentum", "--weight-decay", "5e-4", "--no-shuffle", "--crop", "0",
               "--no-flip", "--valid-share", "0", "--report-steps", "1", "--metrics", metrics,
               "--dtype", args.dtype]
    subprocess.run(command + (["--start-from", weights] if weights else []), check=True,
                   stdin=subprocess.DEVNULL)
    lines = [json.loads(line) for line in open(metrics)]
    steps = [line for line in lines if line.get("event") == "interval"]
    ends = [0] + [s["seconds"] for s in steps]  # of training so far, after each step
    return {"seconds": [b - a for a, b in zip(ends, ends[1:])],
            "losses": [s["train"]["loss"] for s in steps]}


def speed(args, work):
    data = write_part(args.data, f"{work}/speed", args.steps * args.batch)
    found = {"shoal": [], "torch": []}
    for _ in range(args.rounds):
        # The first two steps touch memory for the first time.
        found["shoal"].append(shoal_of(args, data, work)["seconds"][2:])
        found["torch"].append(torch_of(args, data, args.steps)["seconds"][2:])
    for name, pick in ("best", min), ("middle", statistics.median):
        ours, theirs = (pick([s for r in found[k] for s in r]) for k in ("shoal", "torch"))
        print(f"{name:7} step of {args.batch}, {args.threads} threads: shoal {args.dtype} {1e3 * ours:6.0f} ms,"
              f" PyTorch {1e3 * theirs:6.0f} ms: {theirs / ours:.2f} times")


def curve(args, work):
    steps = 50
    data = write_part(args.data, f"{work}/curve", steps * args.batch)
    theirs = torch_of(args, data, steps, f"{work}/w.safetensors")["losses"]
    ours = shoal_of(args, data, work, f"{work}/w.safetensors")["losses"]
    for i in 0, 9, 24, 49:
        print(f"step {i + 1:2}: loss {ours[i]:.4f}, PyTorch {theirs[i]:.4f}")
    say_apart("shoal and PyTorch", ours, theirs)
    if args.control:
        double = torch_of(args, data, steps, more=["--double"])["losses"]
        say_apart("PyTorch and itself in double", theirs, double)
        say_apart("shoal and PyTorch in double", ours, double)
        args.threads = max(1, args.threads - 1)
        say_apart("PyTorch and itself with a thread less",
                  torch_of(args, data, steps)["losses"], theirs)


def say_apart(who, ours, theirs):
    apart = [abs(a - b) / b for a, b in zip(ours, theirs)]
    whole = abs(sum(ours) - sum(theirs)) / sum(theirs)
    print(f"{who}: single losses of the first {len(apart)} steps apart by "
          f"{100 * statistics.mean(apart):.2f} % on average, {100 * max(apart):.2f} % at most; "
          f"their mean by {100 * whole:.2f} %")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("build")
    p.add_argument("data")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--steps", type=int, default=8)
    p.add_argument("--lr", type=float, default=0.002)
    p.add_argument("--dtype", default="f32", choices=["f32", "bf16"])
    p.add_argument("--warm", action="store_true")
    p.add_argument("--control", action="store_true")
    p.add_argument("--double", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--torch", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--weights", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.torch:
        return run_torch(args)
    with tempfile.TemporaryDirectory() as work:
        if args.rounds:
            speed(args, work)
        curve(args, work)


if __name__ == "__main__":
    main()
