#!/usr/bin/env python3
"""A storm: good requests among hostile ones while models are replaced; no good one may be lost.

    tests/gate/serve_storm.py SHOAL [--requests 300000] [--idle 1000] [--ping-limit MS] [--memory MIB]
                               [--seconds S] [--verbose]

A model of every kind is served, with tokens; two of them are replaced every second, each by turns by
one of two versions. Good clients ask on connections that stay open and hold every answer against what
a quiet server said. A tenth of the requests is hostile: lying lengths, wrong tokens, bombs, bodies
that become too much, pictures of many pixels and passes, clients that leave or do not read. Others
hold connections open and say nothing. One more client, on a connection of its own, asks /ping every
five milliseconds throughout.

Wants every good request answered rightly at the first try, every hostile one refused or answered but
never two answers for one, memory within --memory MiB of what the server had before the first request
(its budget for requests, 256 MiB, and what no account knows), and 99 of 100 pings within --ping-limit
milliseconds (0: only that all are answered). Those who ask run at a lower priority than the server:
they stand for other machines.
"""
import argparse
import array
import json
import multiprocessing
import os
import queue
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'serve'))
import bodies  # noqa: E402

TOKENS = {who: who[:3] * 6 for who in ('inference', 'management', 'metrics')}
AUTH = f'Authorization: Bearer {TOKENS["inference"]}\r\n'.encode()
WAIT = 120  # seconds after which an answer is lost
GOOD_PROCESSES, GOOD_CONNECTIONS = 2, 6
HOSTILE_PROCESSES, HOSTILE_THREADS = 2, 3
JSON = 'application/json'


def request(method, path, kind=None, body=None, more=AUTH):
    head = f'{method} {path} HTTP/1.1\r\nHost: localhost\r\n'.encode() + more
    if kind:
        head += f'Content-Type: {kind}\r\n'.encode()
    if body is not None:
        head += b'Content-Length: %d\r\n' % len(body)
    return head + b'\r\n' + (body or b'')


# ---- models


def word_file(path, scale):
    with open(path, 'w') as f:
        f.write('50 8\n')
        for i in range(50):
            f.write(f'w{i} ' + ' '.join(f'{scale * ((i * j + j) % 7 - 3.1):.3f}' for j in range(8)) + '\n')


def train(shoal, work):
    """A small model of every kind, and two versions of those that are replaced."""
    def path(name):
        return os.path.join(work, name)

    def run(*args):
        subprocess.run([shoal, *args, '-q'], cwd=work, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    for i in (0, 1):
        word_file(path(f'words{i}.vec'), 1 + i)
    with open(path('many.bin'), 'wb') as f:
        f.write(b'70000 8\n')
        for i in range(70000):
            f.write(b'word%05d ' % i + array.array('f', ((i * (j + 3)) % 1009 for j in range(8))).tobytes() + b'\n')
    with open(path('rows.libsvm'), 'w') as f:
        f.writelines(f'{i % 2} 1:{i % 2} 2:{i % 7} 3:{i % 3}\n' for i in range(200))
    for name, shade in (('red', 250), ('blue', 10)):
        os.makedirs(path(f'set/{name}'))
        for i in range(8):
            with open(path(f'set/{name}/{i}.png'), 'wb') as f:
                f.write(picture(shade, 10, 260 - shade))
    with open(path('t-images-idx3-ubyte'), 'wb') as f:
        f.write(struct.pack('>4B3I', 0, 0, 8, 3, 40, 224, 224) + b''.join(bytes([5 * i]) * 50176 for i in range(40)))
    with open(path('t-labels-idx1-ubyte'), 'wb') as f:
        f.write(struct.pack('>4BI', 0, 0, 8, 1, 40) + bytes(i % 2 for i in range(40)))
    run('convert', 'many.bin', 'many.shoal')
    run('gen', 'spiral', '--classes', '4', '-o', 'spiral.csv')
    for i in (0, 1):
        run('train', 'mlp', 'spiral.csv', '--layers', '64', '--epochs', '1', '--seed', str(i + 1), '-o', f'mlp{i}.shoal')
    run('train', 'mlp', 't-images-idx3-ubyte', '--layers', '2', '--epochs', '1', '--batch', '8', '-o', 'large.shoal')
    run('train', 'logreg', 'rows.libsvm', '-o', 'clicks.shoal')
    run('train', 'vgg', 'set', '--size', '8', '--base', '16', '--batch', '8', '--epochs', '2', '-o', 'vgg.shoal')
    run('gen', 'world', '--words', '60000', '-o', 'world.txt')
    run('train', 'cbow', 'world.txt', '--dim', '8', '--epochs', '1', '-o', 'w.shoal')
    run('train', 'nextword', 'world.txt', '--vectors', 'w.shoal', '--hidden', '8', '--epochs', '1', '-o', 'next.shoal')
    with open(path('tokens'), 'w') as f:
        f.writelines(f'{who} {token}\n' for who, token in TOKENS.items())
    os.chmod(path('tokens'), 0o600)


def picture(*colour):
    return bodies.png_of(8, 8, 2, [(b'\0' + bytes(colour) * 8) * 8])


# ---- the server


class Server:
    """One of SHOAL's, at ports that the system chooses."""

    def __init__(self, shoal, work, *args):
        self.process = subprocess.Popen(
            [shoal, 'serve', *args, '--token-file', 'tokens', '--inference-address', '127.0.0.1:0', '--management-address',
             '127.0.0.1:0', '--metrics-address', '127.0.0.1:0'], cwd=work, stdout=subprocess.PIPE,
            stderr=open(os.path.join(work, 'said'), 'w'), text=True)
        self.ports = {}
        for line in self.process.stdout:
            fields = line.split()
            if fields[0] == 'models':
                break
            self.ports[fields[0]] = int(fields[1].rsplit(':', 1)[1])
        if 'inference' not in self.ports:
            with open(os.path.join(work, 'said')) as f:
                sys.exit('storm: the server does not start: ' + f.read())

    def memory(self, key):
        with open(f'/proc/{self.process.pid}/status') as f:
            return int(re.search(rf'{key}:\s+(\d+)', f.read())[1]) / 1024

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Connection:
    """One that stays open; what is sent is answered in order."""

    def __init__(self, port, wait=WAIT):
        self.port, self.wait, self.socket, self.rest = port, wait, None, b''

    def send(self, data):
        if self.socket is None:
            self.socket, self.rest = socket.create_connection(('127.0.0.1', self.port), timeout=self.wait), b''
        self.socket.sendall(data)

    def more(self):
        part = self.socket.recv(1 << 16)
        if not part:
            raise ConnectionError('ended before its answer')
        self.rest += part

    def receive(self):
        """Status and body of the next answer."""
        while (end := self.rest.find(b'\r\n\r\n')) < 0:
            self.more()
        head = self.rest[:end]
        length = int(re.search(rb'\r\ncontent-length: *(\d+)', head.lower())[1])
        while len(self.rest) < end + 4 + length:
            self.more()
        body, self.rest = self.rest[end + 4:end + 4 + length], self.rest[end + 4 + length:]
        if b'\r\nconnection: close' in head.lower():
            self.close()
        return int(head[9:12]), body

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None


# ---- good requests

PART = b'--B\r\nContent-Disposition: form-data; name="data"\r\n\r\nw5\r\n--B--\r\n'
GOOD = [
    ('POST', '/predictions/words', JSON, b'["w1"]'),
    ('POST', '/predictions/words', JSON, b'{"words":["w2","w3"],"vectors":true}'),
    ('POST', '/predictions/words', 'text/plain', b'w4'),
    ('POST', '/predictions/words', 'multipart/form-data; boundary=B', PART),
    ('GET', '/models/words/similar?word=w6&k=3', None, None),
    ('GET', '/models/words/vector?word=w7', None, None),
    ('POST', '/v2/models/words/infer', JSON, b'{"inputs":[{"name":"w","shape":[1],"datatype":"BYTES","data":["w7"]}]}'),
    ('GET', '/models/words/analogy?a=w1&b=w2&c=w3', None, None),
    ('POST', '/predictions/mlp', JSON, b'[0.5,-0.25]'),
    ('POST', '/predictions/mlp', JSON, b'{"instances":[[0.5,-0.25],[1,2]]}'),
    ('POST', '/predictions/clicks', 'text/plain', b'1:0.5 2:1'),
    ('POST', '/predictions/clicks', JSON, b'{"features":{"1":0.5,"3":2}}'),
    ('GET', '/v2/health/ready', None, None),
] * 3 + [  # these work for milliseconds
    ('POST', '/predictions/vgg', 'image/png', picture(240, 20, 15)),
    ('POST', '/predictions/next', 'text/plain', b'the king of the'),
    ('POST', '/predictions/next', JSON, b'{"texts":["the","of"],"k":3}'),
    ('GET', '/models/many/similar?word=word00077&k=3', None, None),
]


def close_to(a, b):
    """The same answer, but for rounding: what is computed together is rounded otherwise."""
    if isinstance(a, float) or isinstance(b, float):
        return isinstance(a, (int, float)) and isinstance(b, (int, float)) and abs(a - b) <= 1e-5 * (1 + abs(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close_to(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close_to, a, b))
    return a == b


def plain(body):
    return json.loads(re.sub(rb'"id": *"[^"]*",?', b'', body))


def right_answers(shoal, work):
    """What each version says to each good request, of a server that has nothing else to do."""
    found = [[] for _ in GOOD]
    for version in (0, 1):
        install(work, version)
        s = Server(shoal, work, *models(), '--no-sandbox')
        c = Connection(s.ports['inference'])
        for i, good in enumerate(GOOD):
            c.send(request(*good))
            status, body = c.receive()
            if status != 200:
                sys.exit(f'storm: {good[1]} is answered with {status} by a quiet server: {body[:200]!r}')
            found[i].append(plain(body))
        c.close()
        s.stop()
    return found


def install(work, version):
    """Each version by a rename, as every command of shoal writes its output."""
    for name, kind in (('words', 'vec'), ('mlp', 'shoal')):
        fresh = os.path.join(work, f'.{name}.new')
        shutil.copy(os.path.join(work, f'{name}{version}.{kind}'), fresh)
        os.replace(fresh, os.path.join(work, f'{name}.{kind}'))


def models():
    return ['words=words.vec', 'mlp=mlp.shoal', 'clicks=clicks.shoal', 'vgg=vgg.shoal', 'next=next.shoal', 'large=large.shoal',
            'many=many.shoal']


def ask_good(port, count, seed, right, pace, seen, stop, results):
    """Asks on several connections at once; a request is right, or it is lost. Keeps pace with the
    hostile: nine for one of theirs. Goes on until both versions were seen, by whichever process."""
    os.nice(5)
    chance, known = random.Random(seed), [{} for _ in GOOD]
    connections = [Connection(port) for _ in range(GOOD_CONNECTIONS)]
    requests = [request(*good) for good in GOOD]
    tally = {'good': 0, 'lost': [], 'versions': [0, 0]}

    def judge(i, status, body):
        if status != 200:
            tally['lost'].append(f'{GOOD[i][1]}: {status} {body[:150]!r}')
            return
        if body not in known[i]:
            answer = plain(body)
            same = [v for v in (0, 1) if close_to(answer, right[i][v])]
            if len(known[i]) < 10000:
                known[i][body] = same
        else:
            same = known[i][body]
        if not same:
            tally['lost'].append(f'{GOOD[i][1]}: a wrong answer, {body[:150]!r}')
        elif len(same) == 1:
            tally['versions'][same[0]] += 1
            seen[same[0]] = 1

    left = count
    while (left > 0 or not all(seen)) and not stop.is_set():
        if left > 0 and tally['good'] > 100 + 9 * pace.value // GOOD_PROCESSES:
            time.sleep(0.001)
            continue
        if left <= 0:
            time.sleep(0.01)
        batch = []
        for c in connections[:left] if left > 0 else connections:
            i = chance.randrange(len(GOOD))
            try:
                c.send(requests[i])
                batch.append((c, i))
            except OSError as e:
                tally['lost'].append(f'{GOOD[i][1]}: {e!r}')
                c.close()
            left -= 1
            tally['good'] += 1
        for c, i in batch:
            try:
                judge(i, *c.receive())
            except (OSError, TypeError, ValueError) as e:
                tally['lost'].append(f'{GOOD[i][1]}: {e!r}')
                c.close()
    tally['lost'] = (len(tally['lost']), tally['lost'][:5])
    results.put(('good', tally))


# ---- hostile requests


def whole(port, data, wait=WAIT):
    """Sends bytes; all that comes back until the server has no more to say."""
    with socket.create_connection(('127.0.0.1', port), timeout=wait) as c:
        back = b''
        try:
            c.sendall(data)
        except OSError:
            pass  # refused before all of it was sent
        try:
            while part := c.recv(1 << 16):
                back += part
                if len(back) < (1 << 17) and (found := complete(back)):
                    return back[:found]
        except ConnectionResetError:
            pass
        return back


def complete(back):
    """Where the answer ends of a connection that stays open, 0 while it is not whole."""
    end = back.find(b'\r\n\r\n')
    length = re.search(rb'\r\ncontent-length: *(\d+)', back[:end].lower()) if end >= 0 else None
    if not length or b'\r\nconnection: close' in back[:end].lower():
        return 0
    return end + 4 + int(length[1]) if len(back) >= end + 4 + int(length[1]) else 0


def heads(back):
    return [int(x) for x in re.findall(rb'HTTP/1\.[01] (\d\d\d) ', back)]


def leave(port, data, after):
    """Is gone before its answer."""
    with socket.create_connection(('127.0.0.1', port), timeout=WAIT) as c:
        c.sendall(data)
        time.sleep(after)
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    return 'left'


def unread(port, data):
    """Takes a little of its answer, and waits."""
    with socket.create_connection(('127.0.0.1', port), timeout=WAIT) as c:
        c.sendall(data)
        back = c.recv(12)
        time.sleep(1)
    return int(back[9:12]) if len(back) == 12 else 'ended'


def hostile_kinds(ports):
    """Name: (weight, what to do). Those of weight 0 are dear, and come a few times each."""
    port, found = ports['inference'], {}

    def status(data, where=port):
        codes = heads(whole(where, data))
        return codes[0] if len(codes) == 1 else 'ended' if not codes else f'{len(codes)} answers'

    def add(name, weight, data, where=port):
        found[name] = (weight, lambda: status(data, where))

    for name, data in bodies.framing(AUTH).items():
        add('framing: ' + name, 4, data)
    for name, token in (('management', 'management'), ('metrics', 'metrics')):
        wrong = f'Authorization: Bearer {TOKENS[token]}\r\n'.encode()
        for where in ports:
            add(f'token: {name} for predictions at {where}', 3, request('POST', '/v1/models/words:predict', JSON,
                                                                        b'{"instances":["w1"]}', wrong), ports[where])
    add('token: none', 5, request('POST', '/predictions/words', JSON, b'["w1"]', b''))
    add('token: inference for management', 5, request('DELETE', '/models/words'), ports['management'])
    for path in ('/predictions/%ff', '/models/words/similar?word=%ff%fe', '/../../etc/passwd', '/predictions/%00', '/v2/models/a%ffb'):
        add('address: ' + path, 5, request('GET', path))
    add('address: 300 arguments', 5, request('GET', '/ping?' + '&'.join(f'a{i}={i}' for i in range(300))))
    add('head: 20 KB', 5, request('GET', '/ping', more=b'X-A: ' + b'y' * 20000 + b'\r\n'))
    for path, kind, body in (('/predictions/words', JSON, b'{"words":'), ('/predictions/words', JSON, b'[[1],[2,3]]'),
                             ('/predictions/words', 'multipart/form-data; boundary=B', PART[:40]),
                             ('/predictions/none', JSON, b'x'), ('/predictions/mlp', JSON, b'[1e39,"a"]'),
                             ('/v2/models/words/infer', JSON, b'{"inputs":[{"shape":[1e30],"data":[]}]}'),
                             ('/predictions/clicks', 'text/plain', b'1:x 2:\xff'), ('/predictions/next', JSON, b'{"text":5}'),
                             ('/predictions/vgg', 'image/png', b'\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xff'),
                             ('/predictions/vgg', 'image/jpeg', b'\xff\xd8\xff\xe0' + b'x' * 50)):
        add(f'body: {path} {body[:12]!r}', 5, request('POST', path, kind, body))
    add('body: a length over the limit', 5, request('POST', '/predictions/words', JSON, b'')
        .replace(b'Length: 0', b'Length: 99999999999'))
    add('body: a length over the limit, expected', 5, request('POST', '/predictions/words', JSON, b'')
        .replace(b'Length: 0', b'Length: 99999999999\r\nExpect: 100-continue'))
    many = request('POST', '/predictions/many', JSON, json.dumps({'words': [f'word{i:05}' for i in range(64)], 'k': 3}).encode())
    found['leaves: its work waits'] = (5, lambda: leave(port, many, 0.001))
    found['leaves: half a body'] = (5, lambda: leave(port, many[:-100], 0.001))
    found['leaves: half a head'] = (5, lambda: leave(port, many[:30], 0.001))
    add('spelling: an unknown word', 8, request('GET', '/models/many/similar?word=wrod00077'))
    add('spelling: 4,096 unknown words', 2, request('POST', '/predictions/many', JSON,
                                                  json.dumps([f'wrod{i:05}' for i in range(4096)]).encode()))
    zstd, gzip = bodies.zstd_bomb(8 << 30), bodies.gzip_bomb(1 << 30)
    for said in (b'', b'Content-Encoding: zstd\r\n'):
        add(f'bomb: zstd, 8 GB{", said" if said else ""}', 1, request('POST', '/predictions/clicks', None, zstd, AUTH + said))
    add('bomb: zstd for words', 1, request('POST', '/predictions/words', None, zstd))
    for said in (b'', b'Content-Encoding: gzip\r\n'):
        add(f'bomb: gzip, 1 GB{", said" if said else ""}', 0, request('POST', '/predictions/clicks', None, gzip, AUTH + said))
    add('budget: 1.5 MB of {}', 0, request('POST', '/predictions/mlp', JSON, b'[' + b'{},' * 500000 + b'{}]'))
    add('budget: 4,096 pictures of one pixel', 0, request('POST', '/v1/models/large:predict', JSON,
                                                         bodies.instances_of([bodies.tiny_png()] * 4096)))
    answers = request('POST', '/predictions/many', JSON, json.dumps({'words': [f'word{i:05}' for i in range(4096)], 'k': 1000}).encode())
    found['budget: 100 MB of answers, unread'] = (0, lambda: unread(port, answers))
    add('nesting: a million deep', 0, request('POST', '/predictions/mlp', JSON, b'[' * 1000000))
    flat, scans = bodies.flat_png(5700), bodies.scans_jpeg(5700, 450)
    add('picture: 30 of 32 million pixels', 0, request('POST', '/v1/models/vgg:predict', JSON, bodies.instances_of([flat] * 30)))
    add('picture: one of 32 million pixels', 0, request('PUT', '/predictions/vgg', 'image/png', flat))
    add('picture: 450 passes', 0, request('PUT', '/predictions/vgg', 'image/jpeg', scans))
    rows = (b'1 ' + b' '.join(b'%d:0.25' % i for i in range(1, 150)) + b'\n') * 4096
    add('rows: 5 MB', 0, request('POST', '/predictions/clicks', None, rows))
    return found


def ask_hostile(ports, count, dear, seed, pace, stop, results):
    os.nice(5)
    kinds, chance = hostile_kinds(ports), random.Random(seed)
    jobs = [name for name, (weight, _) in kinds.items() if weight == 0 for _ in range(dear)]
    light = [name for name, (weight, _) in kinds.items() for _ in range(weight)]
    jobs += [chance.choice(light) for _ in range(max(0, count - len(jobs)))]
    chance.shuffle(jobs)
    tally, lock = {}, threading.Lock()

    def work():
        while True:
            with lock:
                if not jobs or stop.is_set():
                    return
                name = jobs.pop()
            try:
                outcome = kinds[name][1]()
            except OSError as e:
                outcome = 'no answer' if isinstance(e, TimeoutError) else 'ended' if isinstance(e, ConnectionResetError) else repr(e)
            with lock:
                tally.setdefault(name, {}).setdefault(outcome, 0)
                tally[name][outcome] += 1
            with pace.get_lock():
                pace.value += 1

    threads = [threading.Thread(target=work, daemon=True) for _ in range(HOSTILE_THREADS)]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads) and not stop.is_set():
        time.sleep(0.1)
    if not stop.is_set():
        with pace.get_lock():
            pace.value += GOOD_PROCESSES  # who divides by nine may have a rest
    with lock:
        results.put(('hostile', {name: dict(outcomes) for name, outcomes in tally.items()}))


# ---- the one who measures


def ask_pings(port, stop, results):
    """Every five milliseconds; how long each took, in milliseconds."""
    c, took, lost = Connection(port, 20), array.array('d'), 0
    ping = request('GET', '/ping', more=b'')
    while not stop.is_set():
        began = time.monotonic()
        try:
            c.send(ping)
            lost += c.receive()[0] != 200
        except (OSError, TypeError):
            lost += 1
            c.close()
            if lost > 1000:
                break
        took.append(1000 * (time.monotonic() - began))
        time.sleep(0.005)
    results.put(('pings', (sorted(took), lost)))


# ---- all of it


def storm(args, shoal, work, right):
    install(work, 0)
    s = Server(shoal, work, *models(), '--reload-every', '0.2', '--sandbox' if not args.no_sandbox else '--no-sandbox')
    results, stop, pace = multiprocessing.Queue(), multiprocessing.Event(), multiprocessing.Value('Q', 0)
    seen = multiprocessing.Array('b', 2)
    hostile = args.requests // 10
    good = args.requests - hostile
    dear = max(1, hostile // 1500 // HOSTILE_PROCESSES)
    crowd = [multiprocessing.Process(target=ask_good, args=(s.ports['inference'], good // GOOD_PROCESSES, i, right, pace, seen, stop, results))
             for i in range(GOOD_PROCESSES)]
    crowd += [multiprocessing.Process(target=ask_hostile, args=(s.ports, hostile // HOSTILE_PROCESSES, dear, 100 + i, pace, stop, results))
              for i in range(HOSTILE_PROCESSES)]
    pings = multiprocessing.Process(target=ask_pings, args=(s.ports['inference'], stop, results))
    before = s.memory('VmHWM')
    idle = [socket.create_connection(('127.0.0.1', s.ports['inference'])) for _ in range(args.idle)]
    began, replaced, heard, most = time.time(), 0, [], 0
    for p in [pings, *crowd]:
        p.start()
    next_one = began + 1
    while len(heard) < len(crowd) and time.time() - began < args.seconds and s.process.poll() is None:
        time.sleep(0.1)
        most = max(most, s.memory('VmRSS'))
        if time.time() >= next_one:
            replaced += 1
            install(work, replaced % 2)
            next_one += 1
        while not results.empty():
            heard.append(results.get())
    took = time.time() - began
    stop.set()
    late = time.time() + 30
    while time.time() < late and len(heard) < len(crowd) + 1:
        try:
            heard.append(results.get(timeout=1))
        except queue.Empty:
            pass
    for p in [pings, *crowd]:
        p.terminate()
        p.join()
    for c in idle:
        c.close()
    there = s.process.poll() is None
    peak = s.memory('VmHWM') if there else 0
    code = s.stop() if there else s.process.returncode
    return {'heard': heard, 'took': took, 'replaced': replaced, 'before': before, 'peak': max(peak, most), 'there': there,
            'code': code, 'asked': len(crowd)}


def report(args, found):
    good = [x for kind, x in found['heard'] if kind == 'good']
    hostile = {}
    for kind, tally in found['heard']:
        if kind == 'hostile':
            for name, outcomes in tally.items():
                for outcome, n in outcomes.items():
                    hostile.setdefault(name, {}).setdefault(outcome, 0)
                    hostile[name][outcome] += n
    took, lost_pings = next((x for kind, x in found['heard'] if kind == 'pings' and x[0]), ([WAIT * 1000], 1))
    asked, lost = sum(x['good'] for x in good), sum(x['lost'][0] for x in good)
    sent = sum(n for outcomes in hostile.values() for n in outcomes.values())
    versions = [sum(x['versions'][v] for x in good) for v in (0, 1)]
    p50, p99 = took[len(took) // 2], took[min(len(took) - 1, len(took) * 99 // 100)]
    odd = {name: {o: n for o, n in outcomes.items() if not (o in ('left', 'ended') or isinstance(o, int) and o < 500 or o == 503)}
           for name, outcomes in hostile.items()}
    odd = {name: outcomes for name, outcomes in odd.items() if outcomes}
    taken = [name for name, outcomes in hostile.items() if name.startswith(('framing', 'token', 'bomb')) and 200 in outcomes]
    print(f'# {asked + sent:,} requests in {found["took"]:.0f} s: {asked:,} good, {lost} lost; {sent:,} hostile of {len(hostile)} kinds')
    print(f'# answers by the two versions {versions[0]:,} and {versions[1]:,}; {found["replaced"]} replacements of each of two models')
    print(f'# memory {found["before"]:.0f} MiB before, {found["peak"]:.0f} MiB at most')
    print(f'# {len(took):,} pings: p50 {p50:.1f} ms, p99 {p99:.1f} ms, longest {took[-1]:.0f} ms')
    if args.verbose:
        for name, outcomes in sorted(hostile.items()):
            print(f'#   {name}: ' + ', '.join(f'{n} x {o}' for o, n in outcomes.items()))
    for x in good:
        for why in x['lost'][1]:
            print('# lost: ' + why)
    for name, outcomes in odd.items():
        print(f'# {name}: {outcomes}')
    for name in taken:
        print(f'# {name}: {hostile[name]}')
    truths = [('the server is there to the end and ends well', found['there'] and found['code'] == 0),
              ('all was asked in time', len(good) == GOOD_PROCESSES and sent >= args.requests // 10 - HOSTILE_PROCESSES),
              ('every good request is answered rightly at the first try', good and lost == 0),
              ('both versions of the replaced models answered', min(versions) > 0),
              ('no hostile request is left without an end, has two answers or an error of the server', not odd),
              ('no broken framing, wrong token or bomb is taken', not taken),
              ('every ping is answered', lost_pings == 0)]
    if args.memory:
        truths.append((f'memory grows by less than {args.memory} MiB', found['peak'] - found['before'] < args.memory))
    if args.ping_limit:
        truths.append((f'99 of 100 pings take less than {args.ping_limit} ms', p99 < args.ping_limit))
    for i, (name, truth) in enumerate(truths):
        print(('ok' if truth else 'not ok') + f' {i + 1} - {name}')
    print(f'1..{len(truths)}')
    return not all(truth for _, truth in truths)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('shoal')
    parser.add_argument('--requests', type=int, default=300000)
    parser.add_argument('--idle', type=int, default=1000)
    parser.add_argument('--ping-limit', type=float, default=50)
    parser.add_argument('--memory', type=float, default=320)
    parser.add_argument('--seconds', type=float, default=1800, help='after which it is over, whatever was asked')
    parser.add_argument('--no-sandbox', action='store_true', help='for a leak checker, which traces')
    parser.add_argument('--verbose', action='store_true', help='how each kind of hostile request was answered')
    args = parser.parse_args()
    shoal = os.path.abspath(args.shoal)
    with open(shoal, 'rb') as f:
        program = f.read()
    if b'__asan_init' in program or b'__tsan_init' in program:
        args.memory, args.no_sandbox = 0, True  # a sanitizer's own, and its tracing
    del program
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(prefix='shoal-storm-') as work:
        train(shoal, work)
        right = right_answers(shoal, work)
        return report(args, storm(args, shoal, work, right))


if __name__ == '__main__':
    sys.exit(main())
