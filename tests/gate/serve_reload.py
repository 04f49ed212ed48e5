#!/usr/bin/env python3
"""Models replaced under load: no request may fail.

    tests/gate/serve_reload.py SHOAL [--replacements 100] [--port 18680]

wrk asks with 64 clients, a perceptron and word vectors by turns, while both files are replaced
again and again; each replacement must be picked up before the next.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

LUA = '''
local n = 0
function request()
  n = n + 1
  if n % 2 == 0 then
    return wrk.format("POST", "/predictions/mlp", {["Content-Type"] = "application/json"}, "[0.5,-0.25]")
  end
  return wrk.format("POST", "/predictions/words", {["Content-Type"] = "application/json"}, '{"words":["w1"],"vectors":true}')
end
'''


def words(path, first):
    with open(path + '.new', 'w') as f:
        f.write('200 8\n' + ''.join(f'w{i} {first if i == 1 else i} 1 2 3 4 5 6 7\n' for i in range(200)))
    os.replace(path + '.new', path)


def ask(port, path, body):
    with urllib.request.urlopen(urllib.request.Request(f'http://127.0.0.1:{port}{path}', body)) as answer:
        return json.load(answer)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('shoal')
    parser.add_argument('--replacements', type=int, default=100)
    parser.add_argument('--port', type=int, default=18680)
    args = parser.parse_args()
    shoal = os.path.abspath(args.shoal)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        subprocess.run([shoal, 'gen', 'spiral', '--classes', '4', '-o', 'spiral.csv'], check=True, capture_output=True)
        for seed in (1, 2):
            subprocess.run([shoal, 'train', 'mlp', 'spiral.csv', '--layers', '64', '--epochs', '1', '--seed', str(seed), '-q',
                            '-o', f'{seed}.shoal'], check=True)
        subprocess.run(['cp', '1.shoal', 'mlp.shoal'], check=True)
        words('words.vec', 1000)
        server = subprocess.Popen([shoal, 'serve', 'mlp=mlp.shoal', 'words=words.vec', '-q', '--reload-every', '0.02',
                                   '--inference-address', f'127.0.0.1:{args.port}', '--management-address', 'none',
                                   '--metrics-address', 'none'], stdout=subprocess.DEVNULL)
        time.sleep(1)
        with open('load.lua', 'w') as f:
            f.write(LUA)
        load = subprocess.Popen(['wrk', '-t1', '-c64', '-d600', '-s', 'load.lua', f'http://127.0.0.1:{args.port}'],
                                stdout=subprocess.PIPE, text=True)
        said = [ask(args.port, '/predictions/mlp', b'[0.5,-0.25]')]
        done, began = 0, time.time()
        while done < args.replacements and time.time() - began < 300 and server.poll() is None:
            done += 1
            words('words.vec', 1000 + done)
            subprocess.run(['cp', f'{done % 2 + 1}.shoal', 'mlp.new'], check=True)
            os.replace('mlp.new', 'mlp.shoal')
            while time.time() - began < 300:
                seen = ask(args.port, '/predictions/mlp', b'[0.5,-0.25]')
                row = ask(args.port, '/predictions/words', b'{"words":["w1"],"vectors":true}')
                if row[0][0] == 1000 + done and seen != said[-1]:
                    said.append(seen)
                    break
        load.send_signal(signal.SIGINT)
        out = load.communicate()[0]
        server.send_signal(signal.SIGTERM)
        code = server.wait(60)
    requests = int(re.search(r'(\d+) requests in', out)[1])
    failed = int((re.search(r'Non-2xx or 3xx responses: (\d+)', out) or [0, 0])[1])
    lost = re.search(r'Socket errors: (.*)', out)
    print(f'# {requests:,} requests beside {done} replacements of each of two models')
    truths = (('every replacement is picked up', done == args.replacements and len(said) == done + 1),
              ('no request fails', failed == 0 and requests > 0), ('no connection is lost', not lost),
              ('the server ends well', code == 0))
    for name, truth in truths:
        print(('ok' if truth else 'not ok') + ' - ' + name)
    return not all(truth for _, truth in truths)


if __name__ == '__main__':
    sys.exit(main())
