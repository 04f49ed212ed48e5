#!/usr/bin/env python3
"""The server under load: requests a second, latency, processor time and memory.

    bench/serve.py BUILD [--seconds 5] [--clients 64] [--repeat 3] [--port 18480]

  ping      GET /ping: what HTTP itself costs
  vector    POST /predictions, JSON in, the vector of a word out: a model that costs next to nothing
  similar   GET /models/M/similar over 70,000 x 100, words at random
  mlp       POST /predictions, [x, y] in, class probabilities of a 2-64-4 perceptron out, beside
            aiohttp + torch with the same model, taking turns, where those are installed
  alone     the same with one client: what a request costs one who waits for it
  vgg       PUT of PNG pictures of 32 x 32 to a vgg-11, 128 clients, beside `shoal predict` of the same
            files, taking turns; its rate is that of 1,536 more files

Needs wrk (Debian) on the same machine; server and load share its cores. The best of the repeats
counts. Results go to bench/results/serve.json.
"""
import argparse
import array
import atexit
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib

TICK = os.sysconf('SC_CLK_TCK')
with open('/proc/cpuinfo') as cpuinfo:
    HAS_AVX512 = 'avx512f' in cpuinfo.read()
TORCH = '''
import asyncio, sys, torch
from aiohttp import web
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)).eval()
async def predict(request):
    x = torch.tensor([await request.json()])
    with torch.inference_mode():
        return web.json_response(torch.softmax(net(x), 1)[0].tolist())
app = web.Application()
app.add_routes([web.post('/predictions/mlp', predict), web.get('/ping', lambda r: web.Response())])
web.run_app(app, host='127.0.0.1', port=int(sys.argv[1]), print=None, access_log=None)
'''


def vectors(path, rows=70000, dim=100):
    """word2vec's binary, of random bytes as numbers."""
    with open(path, 'wb') as f:
        f.write(b'%d %d\n' % (rows, dim))
        for i in range(rows):
            f.write(b'w%d ' % i + array.array('f', (b - 127.5 for b in os.urandom(dim))).tobytes() + b'\n')


def pictures(folder, n=2048, size=32):
    """PNG files of noise around a colour, in folders of two classes."""
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    head = b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>2I5B', size, size, 8, 2, 0, 0, 0))
    paths = []
    for i in range(n):
        rows = b''.join(b'\0' + bytes(b // 2 + 127 * (i % 2) for b in os.urandom(3 * size)) for _ in range(size))
        paths.append(os.path.join('dark' if i % 2 == 0 else 'light', f'{i:04}.png'))
        os.makedirs(os.path.join(folder, os.path.dirname(paths[-1])), exist_ok=True)
        with open(os.path.join(folder, paths[-1]), 'wb') as f:
            f.write(head + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
    return paths


def predict_rate(shoal, work, paths):
    """Pictures a second of `shoal predict`, without its start."""
    def seconds(n):
        began = time.monotonic()
        subprocess.run([shoal, 'predict', '../vgg.shoal', *paths[:n]], cwd=os.path.join(work, 'set'), check=True,
                       stdout=subprocess.DEVNULL)
        return time.monotonic() - began

    return (len(paths) - 512) / (seconds(len(paths)) - seconds(512))


class Program:
    def __init__(self, command, port, cwd):
        self.port = port
        # Debian's OpenBLAS takes kernels of 2004 on recent processors, unless told.
        fair = {'OPENBLAS_CORETYPE': 'SkylakeX', 'ATEN_CPU_CAPABILITY': 'avx512'} if HAS_AVX512 else {}
        self.process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, env={**os.environ, **fair})
        atexit.register(self.stop)  # whatever goes wrong later
        for _ in range(300):
            try:
                urllib.request.urlopen(f'http://127.0.0.1:{port}/ping').read()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit(f'bench: {command[0]} does not answer')

    def cpu(self):
        with open(f'/proc/{self.process.pid}/stat') as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def memory(self):
        with open(f'/proc/{self.process.pid}/status') as f:
            return int(re.search(r'RssAnon:\s+(\d+)', f.read())[1]) / 1024

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait()


def load(program, path, script, clients, seconds, work):
    command = ['wrk', '-t1', f'-c{clients}', f'-d{seconds}', '--latency']
    if script:
        with open(os.path.join(work, 'wrk.lua'), 'w') as f:
            f.write(script)
        command += ['-s', os.path.join(work, 'wrk.lua')]
    before = program.cpu()
    said = subprocess.check_output(command + [f'http://127.0.0.1:{program.port}{path}'], text=True)
    done = int(re.search(r'(\d+) requests in', said)[1])
    units = {'us': 1e-3, 'ms': 1, 's': 1e3}

    def share(percent):
        value, unit = re.search(rf'\s{percent}%\s+([\d.]+)(us|ms|s)', said).groups()
        return float(value) * units[unit]

    return {'per_second': float(re.search(r'Requests/sec:\s+([\d.]+)', said)[1]), 'p50_ms': share(50),
            'p99_ms': share(99), 'cpu_us': 1e6 * (program.cpu() - before) / max(1, done), 'requests': done,
            'failed': int((re.search(r'Non-2xx or 3xx responses: (\d+)', said) or [0, 0])[1])}


def post(body):
    return f'wrk.method="POST"\nwrk.headers["Content-Type"]="application/json"\nwrk.body={json.dumps(body)}\n'


SIMILAR = 'request = function() return wrk.format("GET", "/models/words/similar?k=10&word=w" .. math.random(0, 69999)) end\n'


VGG = '''
local all = {}
local n = 0
function init()
  for path in io.lines("%s") do
    local f = io.open(path, "rb")
    all[#all + 1] = wrk.format("PUT", "/predictions/vgg", {["Content-Type"] = "image/png"}, f:read("*a"))
    f:close()
  end
end
function request()
  n = n %% #all + 1
  return all[n]
end
'''


def has_torch():
    return subprocess.run([sys.executable, '-c', 'import aiohttp, torch'], stderr=subprocess.DEVNULL).returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--seconds', type=int, default=5)
    parser.add_argument('--clients', type=int, default=64)
    parser.add_argument('--repeat', type=int, default=3)
    parser.add_argument('--port', type=int, default=18480)
    args = parser.parse_args()
    shoal = os.path.abspath(os.path.join(args.build, 'cli', 'shoal'))
    results = {}

    with tempfile.TemporaryDirectory() as work:
        vectors(os.path.join(work, 'words.bin'))
        subprocess.run([shoal, 'convert', '-q', 'words.bin', 'words.shoal'], cwd=work, check=True)
        models = ['words=words.shoal']
        trained = subprocess.run([shoal, 'gen', 'spiral', '--classes', '4', '-o', 'spiral.csv'], cwd=work,
                                 stderr=subprocess.DEVNULL).returncode == 0 and \
            subprocess.run([shoal, 'train', 'mlp', 'spiral.csv', '--layers', '64', '--epochs', '3', '-q', '-o',
                            'mlp.shoal'], cwd=work).returncode == 0
        if trained:
            models.append('mlp=mlp.shoal')
        paths = pictures(os.path.join(work, 'set'))
        subprocess.run([shoal, 'train', 'vgg', 'set', '-q', '--epochs', '1', '-o', 'vgg.shoal'], cwd=work, check=True)
        with open(os.path.join(work, 'list'), 'w') as f:
            f.writelines(os.path.join(work, 'set', p) + '\n' for p in paths)
        models.append('vgg=vgg.shoal')
        server = Program([shoal, 'serve', *models, '-q', '--inference-address', f'127.0.0.1:{args.port}',
                          '--management-address', 'none', '--metrics-address', 'none'], args.port, work)
        runs = [('ping', '/ping', '', args.clients),
                ('vector', '/predictions/words', post('{"words":["w17"],"vectors":true}'), args.clients),
                ('similar', '/', SIMILAR, args.clients), ('similar alone', '/', SIMILAR, 1)]
        if trained:
            runs += [('mlp', '/predictions/mlp', post('[0.5,-0.25]'), args.clients),
                     ('mlp alone', '/predictions/mlp', post('[0.5,-0.25]'), 1)]
        torch = None
        if trained and has_torch():
            with open(os.path.join(work, 'baseline.py'), 'w') as f:
                f.write(TORCH)
            torch = Program([sys.executable, 'baseline.py', str(args.port + 1)], args.port + 1, work)
        results['memory_before_mb'] = server.memory()
        for turn in range(args.repeat):
            for name, path, script, clients in runs:
                got = load(server, path, script, clients, args.seconds, work)
                if got['per_second'] > results.get(name, {'per_second': 0})['per_second']:
                    results[name] = got
            got = load(server, '/', VGG % os.path.join(work, 'list'), 128, args.seconds, work)
            if got['per_second'] > results.get('vgg', {'per_second': 0})['per_second']:
                results['vgg'] = got
            results['predict_per_second'] = max(results.get('predict_per_second', 0), predict_rate(shoal, work, paths))
            if torch:
                got = load(torch, '/predictions/mlp', post('[0.5,-0.25]'), args.clients, args.seconds, work)
                if got['per_second'] > results.get('torch', {'per_second': 0})['per_second']:
                    results['torch'] = got
        results['memory_after_mb'] = server.memory()
        server.stop()
        if torch:
            torch.stop()

    print(f'{"":16}{"per second":>12}{"p50 ms":>10}{"p99 ms":>10}{"CPU us":>10}{"failed":>8}')
    for name, got in results.items():
        if isinstance(got, dict):
            print(f'{name:16}{got["per_second"]:12,.0f}{got["p50_ms"]:10.3f}{got["p99_ms"]:10.3f}'
                  f'{got["cpu_us"]:10.1f}{got["failed"]:8}')
    print(f'shoal predict of the pictures{results["predict_per_second"]:11,.0f}')
    if torch:
        print(f'mlp against torch{results["mlp"]["per_second"] / results["torch"]["per_second"]:11.1f} times')
    print(f'memory of its own {results["memory_before_mb"]:.1f} MB before, {results["memory_after_mb"]:.1f} MB after (with what a vgg-11 needs)')
    os.makedirs('bench/results', exist_ok=True)
    with open('bench/results/serve.json', 'w') as f:
        json.dump(results, f, indent=2)


if __name__ == '__main__':
    main()
