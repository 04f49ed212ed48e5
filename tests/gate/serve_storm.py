#!/usr/bin/env python3
"""A storm: good requests among malformed ones, idle and slow clients; nothing may be lost.

    tests/gate/serve_storm.py SHOAL [--requests 1000000] [--idle 10000] [--trainer SHOAL]

A model of every kind is trained and served. wrk sends the requests, one in four malformed, while others hold connections open, trickle bytes
and send garbage. Wants every good request answered 200, every malformed one 4xx, no 5xx, a server
that is still there, and memory that stays.
"""
import argparse
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

LUA = '''
math.randomseed(%d)
local good = {}
local bad = {}
local function say(method, path, kind, body)
  return wrk.format(method, path, kind and {["Content-Type"] = kind} or {}, body)
end
function init()
%s
end
function request()
  if math.random(4) == 1 then
    return bad[math.random(#bad)]
  end
  return good[math.random(#good)]
end
'''
JSON = 'application/json'
FORM = 'multipart/form-data; boundary=B'
PART = b'--B\r\nContent-Disposition: form-data; name="data"\r\n\r\nw5'
GOOD = [
    ('POST', '/predictions/words', JSON, b'["w1"]'),
    ('POST', '/predictions/words', JSON, b'{"words":["w2","w3"],"vectors":true}'),
    ('POST', '/predictions/words', 'text/plain', b'w4'),
    ('POST', '/predictions/words', FORM, PART + b'\r\n--B--\r\n'),
    ('GET', '/models/words/similar?word=w6&k=3', None, None),
    ('POST', '/v2/models/words/infer', JSON,
     b'{"inputs":[{"name":"w","shape":[1],"datatype":"BYTES","data":["w7"]}]}'),
    ('GET', '/models/words/analogy?a=w1&b=w2&c=w3', None, None),
    ('POST', '/predictions/mlp', JSON, b'[0.5,-0.25]'),
    ('POST', '/predictions/mlp', JSON, b'{"instances":[[0.5,-0.25],[1,2]]}'),
    ('POST', '/predictions/clicks', 'text/plain', b'1:0.5 2:1'),
    ('POST', '/predictions/clicks', JSON, b'{"features":{"1":0.5,"3":2}}'),
]
SLOW = [  # one in twelve of the good: these work for milliseconds
    ('POST', '/predictions/vgg', 'image/png', None),
    ('POST', '/predictions/next', 'text/plain', b'the king of the'),
    ('POST', '/predictions/next', JSON, b'{"texts":["the","of"],"k":3}'),
]
BAD = [
    ('POST', '/predictions/words', JSON, b'{"words":'),
    ('POST', '/predictions/words', JSON, b'[[1],[2,3]]'),
    ('POST', '/predictions/words', FORM, PART),
    ('POST', '/predictions/none', JSON, b'x'),
    ('GET', '/../../etc/passwd', None, None),
    ('GET', '/predictions/%00', None, None),
    ('POST', '/v2/models/words/infer', JSON, b'{"inputs":[{"shape":[1e30],"data":[]}]}'),
    ('GET', '/models/words/similar?word=nobody', None, None),
    ('DELETE', '/predictions/words', None, None),
    ('POST', '/predictions/mlp', JSON, b'[1,2,3]'),
    ('POST', '/predictions/mlp', JSON, b'[1e39,"a"]'),
    ('POST', '/predictions/clicks', 'text/plain', b'1:x 2:\xff'),
    ('POST', '/predictions/vgg', 'image/png', b'\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xff'),
    ('POST', '/predictions/vgg', 'image/jpeg', b'\xff\xd8\xff\xe0' + b'x' * 50),
    ('POST', '/predictions/next', JSON, b'{"text":5}'),
]


def png(colour, size=8):
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>2I5B', size, size, 8, 2, 0, 0, 0))
            + chunk(b'IDAT', zlib.compress((b'\0' + bytes(colour) * size) * size)) + chunk(b'IEND', b''))


def train(shoal, work):
    """A small model of every kind; what `shoal serve` is given."""
    def run(*args):
        subprocess.run([shoal, *args], cwd=work, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    with open(os.path.join(work, 'words.vec'), 'w') as f:
        f.write('50 8\n')
        for i in range(50):
            f.write(f'w{i} ' + ' '.join(str((i * j + j) % 7 - 3.1) for j in range(8)) + '\n')
    with open(os.path.join(work, 'rows.libsvm'), 'w') as f:
        for i in range(200):
            f.write(f'{i % 2} 1:{i % 2} 2:{i % 7} 3:{i % 3}\n')
    for name, colour in (('red', (250, 10, 10)), ('blue', (10, 10, 250))):
        os.makedirs(os.path.join(work, 'set', name))
        for i in range(8):
            with open(os.path.join(work, 'set', name, f'{i}.png'), 'wb') as f:
                f.write(png(colour))
    run('gen', 'spiral', '--classes', '4', '-o', 'spiral.csv')
    run('train', 'mlp', 'spiral.csv', '--layers', '64', '--epochs', '2', '-o', 'mlp.shoal')
    run('train', 'logreg', 'rows.libsvm', '-o', 'clicks.shoal')
    run('train', 'vgg', 'set', '--size', '8', '--base', '16', '--batch', '8', '--epochs', '2', '-o', 'vgg.shoal')
    run('gen', 'world', '--words', '60000', '-o', 'world.txt')
    run('train', 'cbow', 'world.txt', '--dim', '8', '--epochs', '1', '-o', 'w.shoal')
    run('train', 'nextword', 'world.txt', '--vectors', 'w.shoal', '--hidden', '8', '--epochs', '1', '-o', 'next.shoal')
    return ['words=words.vec', 'mlp=mlp.shoal', 'clicks=clicks.shoal', 'vgg=vgg.shoal', 'next=next.shoal']


def lua(seed):
    def text(x):
        return 'nil' if x is None else '"' + ''.join(f'\\{c:03}' for c in (x if isinstance(x, bytes) else x.encode())) + '"'

    def fill(name, requests):
        return ''.join(f'{name}[#{name} + 1] = say({", ".join(map(text, r))})\n' for r in requests)

    picture = [(m, p, k, png((240, 20, 15)) if p == '/predictions/vgg' else b) for m, p, k, b in SLOW]
    return LUA % (seed, fill('good', GOOD * 3 + picture) + fill('bad', BAD))


def rss(pid):
    with open(f'/proc/{pid}/status') as f:
        return int(re.search(r'RssAnon:\s+(\d+)', f.read())[1]) / 1024


def wait_for(port):
    for _ in range(600):
        try:
            socket.create_connection(('127.0.0.1', port)).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit('storm: the server does not answer')


def counter(port, name):
    with socket.create_connection(('127.0.0.1', port + 1), timeout=60) as s:
        s.sendall(b'GET /metrics HTTP/1.0\r\n\r\n')
        text = b''
        while part := s.recv(65536):
            text += part
    return float(re.search(rf'^{name}{{[^}}]*}} (\S+)'.encode(), text, re.M)[1])


def nuisance(port, stop):
    """Clients that mean no good, one after the other."""
    junk = [b'\x00\xff' * 50, b'GET / HTTP/1.1\r\n', b'POST /predictions/words HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc',
            b'PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', b'GET /ping HTTP/1.1\r\nX: ' + b'a' * 60000]
    i = 0
    while not stop.is_set():
        try:
            with socket.create_connection(('127.0.0.1', port), timeout=5) as s:
                s.sendall(junk[i % len(junk)])
                time.sleep(0.01)
        except OSError:
            pass
        i += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('shoal')
    parser.add_argument('--requests', type=int, default=1000000)
    parser.add_argument('--idle', type=int, default=10000)
    parser.add_argument('--trainer', help='trains the models, where SHOAL is a slow build')
    parser.add_argument('--port', type=int, default=18580)
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    idle_wanted = min(args.idle, hard - 200)
    with tempfile.TemporaryDirectory() as work:
        models = train(os.path.abspath(args.trainer or args.shoal), work)
        sandbox = '--no-sandbox' if args.trainer else '--sandbox'  # a leak checker traces
        server = subprocess.Popen([os.path.abspath(args.shoal), 'serve', *models, '-q', sandbox, '--inference-address',
                                   f'127.0.0.1:{args.port}', '--management-address', 'none', '--metrics-address',
                                   f'127.0.0.1:{args.port + 1}', '--timeout', '20'], cwd=work,
                                  stdout=subprocess.DEVNULL)
        wait_for(args.port + 1)
        print(f'{rss(server.pid):.1f} MB with its models, before the first request', flush=True)
        stop = threading.Event()
        thread = threading.Thread(target=nuisance, args=(args.port, stop))
        thread.start()
        idle = [socket.create_connection(('127.0.0.1', args.port)) for _ in range(idle_wanted)]
        sent, left, memory = 0, args.requests, []
        seed, wrong, lost = 1, False, 0
        while left > 0:
            with open(os.path.join(work, 'storm.lua'), 'w') as f:
                f.write(lua(seed))
            said = subprocess.check_output(['wrk', '-t1', '-c64', '-d5', '-s', 'storm.lua',
                                            f'http://127.0.0.1:{args.port}'], cwd=work, text=True)
            done = int(re.search(r'(\d+) requests in', said)[1])
            errors = re.search(r'Socket errors: (.*)', said)
            refused = int((re.search(r'Non-2xx or 3xx responses: (\d+)', said) or [0, 0])[1])
            sent += done
            left -= done
            seed += 1
            memory.append(rss(server.pid))
            print(f'{sent:9,} requests, {refused / max(1, done):.3f} refused, {memory[-1]:.1f} MB'
                  + (f', {errors[1]}' if errors else ''), flush=True)
            lost += sum(int(x) for x in re.findall(r'(?:connect|read|write|timeout) (\d+)', errors[1])) if errors else 0
            wrong = wrong or abs(refused / done - 0.25) > 0.5 / done ** 0.5 + 0.01
        five = counter(args.port, 'Requests5XX')
        stop.set()
        thread.join()
        for c in idle:
            c.close()
        ended = server.poll()
        server.send_signal(signal.SIGTERM)
        code = server.wait(60)
        flat = memory[-1] < memory[0] * 1.2 + 2
        for truth, name in ((ended is None and code == 0, 'the server is there to the end'), (five == 0, 'no answer is 5xx'),
                            (not wrong, 'the malformed quarter is refused, the rest answered'),
                            (lost == 0, 'no connection is lost and none waits'), (flat, 'memory stays')):
            print(('ok' if truth else 'not ok') + ' - ' + name)
        return not (ended is None and code == 0 and five == 0 and not wrong and lost == 0 and flat)


if __name__ == '__main__':
    sys.exit(main())
