#!/usr/bin/env python3
"""The server under load: requests a second, latency, processor time and memory.

    bench/serve.py BUILD [--seconds 5] [--clients 64] [--repeat 3] [--port 18480]
    bench/serve.py BUILD --against OTHER [--seconds 3] [--repeat 7]

  ping      GET /ping: what HTTP itself costs
  vector    POST /predictions, JSON in, the vector of a word out: a model that costs next to nothing
  similar   GET /models/M/similar over 70,000 x 100, words at random
  mlp       POST /predictions, [x, y] in, class probabilities of a 2-64-4 perceptron out, beside
            aiohttp + torch with the same model, taking turns, where those are installed
  alone     the same with one client: what a request costs one who waits for it
  infer     the same by POST /v2/models/mlp/infer: 64 inputs a request as JSON, and as bytes
  gRPC      ModelInfer of one input to the same mlp, a message of bytes, by h2load (nghttp2-client), where that is
            installed and the program speaks it: 16 connections of 8 requests at once
  vgg       PUT of PNG pictures of 32 x 32 to a vgg-11, 128 clients, beside `shoal predict` of the same
            files, taking turns; its rate is that of 1,536 more files

Needs wrk and h2load (Debian; scripts/setup.sh bench) on the same machine; server and load share its cores. The
best of the repeats counts. Results go to bench/results/serve.json.

--against compares with another build, or program: both serve the same files, ping, mlp, similar and
vgg are asked of one and of the other, taking turns, who begins changing from turn to turn; the best of
the repeats of each, and their ratio.
"""
import argparse
import array
import atexit
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib

from machine import PYTHON, has_modules, program, tuned

TICK = os.sysconf('SC_CLK_TCK')
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
        self.process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, env=tuned())
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


def post_bytes(head, data):
    """Tensors behind the JSON."""
    body = ''.join(f'\\{byte:03}' for byte in head.encode() + data)
    return (f'wrk.method="POST"\nwrk.headers["Inference-Header-Content-Length"]="{len(head)}"\n'
            f'wrk.body="{body}"\n')


ROWS = 64
NUMBERS = [0.5 - i / 100 for i in range(2 * ROWS)]
BLOB = struct.pack(f'<{2 * ROWS}f', *NUMBERS)
INFER = json.dumps({'inputs': [{'name': 'input', 'shape': [ROWS, 2], 'datatype': 'FP32', 'data': NUMBERS}]})
INFER_BYTES = json.dumps({'inputs': [{'name': 'input', 'shape': [ROWS, 2], 'datatype': 'FP32',
                                     'parameters': {'binary_data_size': len(BLOB)}}],
                          'parameters': {'binary_data_output': True}})


def message():
    """A ModelInferRequest behind its prefix."""
    def part(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    tensor = part(1, b'input') + part(2, b'FP32') + part(3, bytes([1, 2]))
    whole = part(1, b'mlp') + part(5, tensor) + part(7, struct.pack('<2f', 0.5, -0.25))
    return b'\0' + struct.pack('>I', len(whole)) + whole


def load_grpc(program, port, seconds, work):
    with open(os.path.join(work, 'message'), 'wb') as f:
        f.write(message())
    before = program.cpu()
    said = subprocess.check_output(
        ['h2load', '-t1', '-c16', '-m8', f'-D{seconds}', '-d', os.path.join(work, 'message'), '-H', 'content-type: application/grpc',
         '-H', 'te: trailers', f'http://127.0.0.1:{port}/inference.GRPCInferenceService/ModelInfer'], text=True)
    done, failed = (int(re.search(rf'(\d+) {word}', said)[1]) for word in ('succeeded', 'failed'))
    return {'per_second': done / seconds, 'p50_ms': None, 'p99_ms': None,
            'cpu_us': 1e6 * (program.cpu() - before) / max(1, done), 'requests': done, 'failed': failed}


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


def prepare(shoal, work):
    """The models; what `shoal serve` is given, and the pictures."""
    def run(*args):
        subprocess.run([shoal, *args, '-q'], cwd=work, check=True)

    vectors(os.path.join(work, 'words.bin'))
    run('convert', 'words.bin', 'words.shoal')
    run('gen', 'spiral', '--classes', '4', '-o', 'spiral.csv')
    run('train', 'mlp', 'spiral.csv', '--layers', '64', '--epochs', '3', '-o', 'mlp.shoal')
    paths = pictures(os.path.join(work, 'set'))
    run('train', 'vgg', 'set', '--epochs', '1', '-o', 'vgg.shoal')
    with open(os.path.join(work, 'list'), 'w') as f:
        f.writelines(os.path.join(work, 'set', p) + '\n' for p in paths)
    return ['words=words.shoal', 'mlp=mlp.shoal', 'vgg=vgg.shoal'], paths


def serve(shoal, models, port, work, grpc=None):
    return Program([shoal, 'serve', *models, '-q', '--inference-address', f'127.0.0.1:{port}', '--management-address', 'none',
                    '--metrics-address', 'none', *(['--grpc-address', f'127.0.0.1:{grpc}'] if grpc else [])], port, work)


def runs_of(clients, work):
    """Name: path, script and clients."""
    return {'ping': ('/ping', '', clients),
            'vector': ('/predictions/words', post('{"words":["w17"],"vectors":true}'), clients),
            'similar': ('/', SIMILAR, clients), 'similar alone': ('/', SIMILAR, 1),
            'mlp': ('/predictions/mlp', post('[0.5,-0.25]'), clients),
            'mlp alone': ('/predictions/mlp', post('[0.5,-0.25]'), 1),
            'infer': ('/v2/models/mlp/infer', post(INFER), clients),
            'infer bytes': ('/v2/models/mlp/infer', post_bytes(INFER_BYTES, BLOB), clients),
            'vgg': ('/', VGG % os.path.join(work, 'list'), 128)}


def keep_best(results, name, got):
    if got['per_second'] > results.get(name, {'per_second': -1})['per_second']:
        results[name] = got


def save(name, results):
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'results')
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), 'w') as f:
        json.dump(results, f, indent=2)


def compare(args, work):
    """This program and the other, taking turns. The other trains: the newer reads what the older wrote."""
    ours, other = program(args.build), program(args.against)
    models, _ = prepare(other, work)
    servers = {'this': serve(ours, models, args.port, work), 'other': serve(other, models, args.port + 1, work)}
    best = {'this': {}, 'other': {}}
    chosen = {name: run for name, run in runs_of(args.clients, work).items() if name in ('ping', 'mlp', 'similar', 'vgg')}
    for turn in range(args.repeat):
        for name, (path, script, clients) in chosen.items():
            for who in sorted(servers, reverse=turn % 2 == 0):
                keep_best(best[who], name, load(servers[who], path, script, clients, args.seconds, work))
    for server in servers.values():
        server.stop()
    print(f'{"":10}{"this/s":>12}{"other/s":>12}{"ratio":>8}{"p99 ms":>10}{"other":>10}{"CPU us":>10}{"other":>10}{"failed":>8}')
    for name in chosen:
        a, b = best['this'][name], best['other'][name]
        print(f'{name:10}{a["per_second"]:12,.0f}{b["per_second"]:12,.0f}{a["per_second"] / max(1, b["per_second"]):8.3f}'
              f'{a["p99_ms"]:10.3f}{b["p99_ms"]:10.3f}{a["cpu_us"]:10.1f}{b["cpu_us"]:10.1f}{a["failed"] + b["failed"]:8}')
    save('serve_against.json', best)


def has_grpc(shoal):
    """Whether it was built with it."""
    with open(shoal, 'rb') as f:
        return b'nghttp2_session' in f.read()


def measure(args, work):
    shoal, results = program(args.build), {}
    models, paths = prepare(shoal, work)
    grpc = args.port + 2 if shutil.which('h2load') and has_grpc(shoal) else None
    server, torch = serve(shoal, models, args.port, work, grpc), None
    if has_modules('aiohttp', 'torch'):
        with open(os.path.join(work, 'baseline.py'), 'w') as f:
            f.write(TORCH)
        torch = Program([PYTHON, 'baseline.py', str(args.port + 1)], args.port + 1, work)
    else:
        print('serve: no aiohttp and torch of Debian here (python3-aiohttp, python3-torch), left out')
    results['memory_before_mb'] = server.memory()
    for _ in range(args.repeat):
        for name, (path, script, clients) in runs_of(args.clients, work).items():
            keep_best(results, name, load(server, path, script, clients, args.seconds, work))
        if grpc:
            keep_best(results, 'gRPC', load_grpc(server, grpc, args.seconds, work))
        results['predict_per_second'] = max(results.get('predict_per_second', 0), predict_rate(shoal, work, paths))
        if torch:
            keep_best(results, 'torch', load(torch, '/predictions/mlp', post('[0.5,-0.25]'), args.clients, args.seconds, work))
    results['memory_after_mb'] = server.memory()
    server.stop()
    if torch:
        torch.stop()
    print(f'{"":16}{"per second":>12}{"p50 ms":>10}{"p99 ms":>10}{"CPU us":>10}{"failed":>8}')
    for name, got in results.items():
        if isinstance(got, dict):
            p50, p99 = (f'{got[x]:10.3f}' if got[x] is not None else f'{"-":>10}' for x in ('p50_ms', 'p99_ms'))
            print(f'{name:16}{got["per_second"]:12,.0f}{p50}{p99}'
                  f'{got["cpu_us"]:10.1f}{got["failed"]:8}')
    print(f'shoal predict of the pictures{results["predict_per_second"]:11,.0f}')
    if torch:
        print(f'mlp against torch{results["mlp"]["per_second"] / results["torch"]["per_second"]:11.1f} times')
    print(f'memory of its own {results["memory_before_mb"]:.1f} MB before, {results["memory_after_mb"]:.1f} MB after '
          '(with what a vgg-11 needs)')
    save('serve.json', results)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build', help='a build folder, or a program')
    parser.add_argument('--against', metavar='OTHER', help='another build folder, or program')
    parser.add_argument('--seconds', type=int)
    parser.add_argument('--clients', type=int, default=64)
    parser.add_argument('--repeat', type=int)
    parser.add_argument('--port', type=int, default=18480)
    args = parser.parse_args()
    args.seconds = args.seconds or (3 if args.against else 5)
    args.repeat = args.repeat or (7 if args.against else 3)
    if not shutil.which('wrk'):
        sys.exit('serve: wrk is missing; `scripts/setup.sh bench` installs it')
    for path in filter(None, (args.build, args.against)):
        if not os.access(program(path), os.X_OK):
            sys.exit(f'serve: found no program {program(path)}; `make` builds one')
    with tempfile.TemporaryDirectory() as work:
        (compare if args.against else measure)(args, work)


if __name__ == '__main__':
    main()
