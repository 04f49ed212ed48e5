#!/usr/bin/env python3
"""Small dense nets: speed and losses beside PyTorch's, and many ranks beside one.

    bench/nets.py BUILD [--tables speed,golden,ranks] [--ranks 1,2,4,8,16,32] [--repeat 5]

  speed   one core of shoal beside one of PyTorch, taking turns, the best of the repeats:
          2-64-4 at batch 64 and 1,024, and a window net 1000-256-100 at batch 256. CPU time
          counts, so that a busy machine does not spoil the comparison
  golden  the same weights and batches give the same losses for 100 steps, to 1e-4
  ranks   the spiral of 40,000 points on each number of ranks, sync, async and bounded: time,
          speedup, held-out accuracy, loss

PyTorch is asked as Debian packages it (python3-torch), with OpenBLAS and its own kernels told
which CPU this is; without it the first two tables are left out. Results go to
bench/results/nets.json.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

from machine import PYTHON, has_modules, tuned

ONE_CORE = {'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1'}


def run(command, **more):
    """The CPU seconds of a command, children's included, and what it printed."""
    before = os.times()
    out = subprocess.run(command, check=True, capture_output=True, text=True, **more)
    after = os.times()
    cpu = (after.children_user - before.children_user
           + after.children_system - before.children_system)
    return cpu, out.stdout + out.stderr


def sections(path):
    """The sections of one of our containers (docs/formats.md), by name."""
    raw = open(path, 'rb').read()
    at, count = struct.unpack_from('<QQ', raw, 24)
    found = {}
    for i in range(count):
        entry = raw[at + 64 * i:at + 64 * (i + 1)]
        name = entry[:24].split(b'\0')[0].decode()
        offset, size = struct.unpack_from('<QQ', entry, 24)
        found[name] = raw[offset:offset + size]
    return found


class Bench:
    def __init__(self, args, work):
        self.args = args
        self.work = work
        self.shoal = os.path.join(args.build, 'cli', 'shoal')
        self.results = {}

    def path(self, name):
        return os.path.join(self.work, name)

    def train(self, data, *more, output='m.shoal'):
        return run([self.shoal, 'train', 'mlp', data, '-o', self.path(output), *map(str, more)])

    def metrics(self):
        return [json.loads(line) for line in open(self.path('m.jsonl'))]

    # ---- speed

    TORCH_SPEED = '''
import sys, time, torch
torch.set_num_threads(1)
sizes, batch, steps, classes = [int(x) for x in sys.argv[1].split(',')], *map(int, sys.argv[2:5])
layers = []
for a, b in zip(sizes, sizes[1:]):
    layers += [torch.nn.Linear(a, b), torch.nn.ReLU()]
net = torch.nn.Sequential(*layers[:-1])
x = torch.randn(batch * 16, sizes[0])
y = torch.randint(0, sizes[-1], (batch * 16,)) if classes else torch.randn(batch * 16, sizes[-1])
loss = torch.nn.CrossEntropyLoss() if classes else torch.nn.MSELoss()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
def step(i):
    a = i % 16 * batch
    opt.zero_grad()
    loss(net(x[a:a + batch]), y[a:a + batch]).backward()
    opt.step()
for i in range(20):
    step(i)
began = time.process_time()
for i in range(steps):
    step(i)
print(batch * steps / (time.process_time() - began))
'''

    def torch_speed(self, sizes, batch, steps, classes):
        out = subprocess.run([PYTHON, '-c', self.TORCH_SPEED, sizes, str(batch),
                              str(steps), str(int(classes))], check=True, capture_output=True,
                             text=True, env={**tuned(), **ONE_CORE})
        return float(out.stdout)

    def shoal_speed(self, data, epochs, *more):
        """CPU time of many epochs less that of one: reading the data is not training."""
        base = ['--threads', 1, '--optimizer', 'sgd', '--valid-share', 0, '-q', *more]
        one, _ = self.train(data, *base, '--epochs', 1)
        many, _ = self.train(data, *base, '--epochs', 1 + epochs)
        return epochs / (many - one)

    def speed(self):
        points = self.path('points.csv')
        run([self.shoal, 'gen', 'spiral', '--samples', '40960', '-q', '-o', points])
        windows = self.path('windows.npy')
        with open(windows, 'wb') as f:
            head = "{'descr': '<f4', 'fortran_order': False, 'shape': (4096, 1100), }\n".encode()
            f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head)
            import random
            r = random.Random(1)
            row = [r.gauss(0, 1) for _ in range(1100)]
            for i in range(4096):
                f.write(struct.pack('<1100f', *(row[i % 1100:] + row[:i % 1100])))
        jobs = [('2-64-4, batch 64', '2,64,4', 64, 3000, True, points, 40960, 100, ()),
                ('2-64-4, batch 1,024', '2,64,4', 1024, 600, True, points, 40960, 100, ()),
                ('1000-256-100, batch 256', '1000,256,100', 256, 40, False, windows, 4096, 4,
                 ('--regression', '--label', 1001, '--targets', 100, '--layers', 256))]
        print(f'{"net":24} {"PyTorch/s":>12} {"shoal/s":>12} {"times":>6}')
        for name, sizes, batch, steps, classes, data, samples, epochs, more in jobs:
            theirs, ours = [], []
            for _ in range(self.args.repeat):
                theirs.append(self.torch_speed(sizes, batch, steps, classes))
                ours.append(samples * self.shoal_speed(data, epochs, '--batch', batch, *more))
            best = max(theirs), max(ours)
            print(f'{name:24} {best[0]:12,.0f} {best[1]:12,.0f} {best[1] / best[0]:6.1f}')
            self.results[f'speed {name}'] = best

    # ---- golden

    def golden(self):
        import torch
        steps, batch, layers = 100, 64, [2, 64, 4]
        data = self.path('golden.csv')
        run([self.shoal, 'gen', 'spiral', '--samples', str(steps * batch), '-q', '-o', data])
        rows = [[float(v) for v in line.split(',')] for line in open(data).readlines()[1:]]
        x = torch.tensor([r[:2] for r in rows])
        y = torch.tensor([int(r[2]) for r in rows])
        common = ['--layers', 64, '--batch', batch, '--epochs', 1, '--no-shuffle', '--raw',
                  '--valid-share', 0, '-q', '--threads', 1]
        # A rate that changes nothing leaves the parameters as they started.
        self.train(data, *common, '--optimizer', 'sgd', '--lr', 1e-30, output='start.shoal')
        flat = torch.frombuffer(bytearray(sections(self.path('start.shoal'))['params']),
                                dtype=torch.float32)
        for name, rate, make in [
                ('sgd', 0.1, lambda p: torch.optim.SGD(p, lr=0.1)),
                ('momentum', 0.05, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)),
                ('adam', 0.01, lambda p: torch.optim.Adam(p, lr=0.01))]:
            self.train(data, *common, '--optimizer', name, '--lr', rate, '--report-steps', 1,
                       '--metrics', self.path('m.jsonl'), '--start-from',
                       self.path('start.shoal'))
            ours = [m['train']['loss'] for m in self.metrics() if m['event'] == 'interval']
            net = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.ReLU(),
                                      torch.nn.Linear(64, 4))
            at = 0
            with torch.no_grad():
                for p in net.parameters():
                    p.copy_(flat[at:at + p.numel()].reshape(p.shape))
                    at += (p.numel() + 15) // 16 * 16
            opt, worst = make(net.parameters()), 0
            for i in range(steps):
                opt.zero_grad()
                loss = torch.nn.functional.cross_entropy(net(x[i * batch:(i + 1) * batch]),
                                                         y[i * batch:(i + 1) * batch])
                worst = max(worst, abs(loss.item() - ours[i]))
                loss.backward()
                opt.step()
            print(f'golden {name:9} {steps} steps: losses differ by {worst:.1e} at most '
                  f'{"ok" if worst < 1e-4 else "TOO MUCH"}')
            self.results[f'golden {name}'] = worst

    # ---- ranks

    def ranks(self):
        data = self.path('spiral.csv')
        run([self.shoal, 'gen', 'spiral', '--samples', '40000', '-q', '-o', data])
        print(f'{"sync":10} {"ranks":>5} {"time":>8} {"speedup":>8} {"accuracy":>9} {"loss":>8}')
        for sync in ('sync', 'async', 'bounded:4', 'average:8'):
            alone = None
            for ranks in self.args.ranks:
                self.train(data, '--layers', 64, '--epochs', 40, '--global-batch', 1024,
                           '--schedule', 'cosine', '--lr', 0.02, '--ranks', ranks, '--sync', sync,
                           '--silent-after', '120s', '--metrics', self.path('m.jsonl'), '-q')
                last = [m for m in self.metrics() if m['event'] == 'epoch'][-1]
                alone = alone or last['seconds']
                row = (last['seconds'], alone / last['seconds'], last['valid']['accuracy'],
                       last['valid']['loss'])
                print(f'{sync:10} {ranks:5} {row[0]:7.2f}s {row[1]:8.2f} {100 * row[2]:8.2f}% '
                      f'{row[3]:8.4f}', flush=True)
                self.results[f'{sync} {ranks}'] = row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--tables', default='speed,golden,ranks')
    parser.add_argument('--ranks', default='1,2,4,8,16,32',
                        type=lambda s: [int(x) for x in s.split(',')])
    parser.add_argument('--repeat', type=int, default=5)
    args = parser.parse_args()
    have = has_modules('torch')
    if have and (sys.executable != PYTHON or 'SHOAL_BENCH_TUNED' not in os.environ):
        # Golden imports it here, where its libraries look at the environment as they are loaded.
        os.execve(PYTHON, [PYTHON, *sys.argv], {**tuned(), 'SHOAL_BENCH_TUNED': '1'})
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(args, work)
        for table in args.tables.split(','):
            if table in ('speed', 'golden') and not have:
                print(f'{table}: no PyTorch here, left out')
                continue
            getattr(bench, table)()
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'results')
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, 'nets.json'), 'w') as f:
            json.dump({'when': time.strftime('%Y-%m-%d'), 'results': bench.results}, f, indent=1)


if __name__ == '__main__':
    main()
