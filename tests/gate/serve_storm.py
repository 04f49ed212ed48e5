#!/usr/bin/env python3
"""A storm: good requests among malformed ones, idle and slow clients; nothing may be lost.

    tests/gate/serve_storm.py SHOAL [--requests 1000000] [--idle 10000]

wrk sends the requests, one in four malformed, while others hold connections open, trickle bytes
and send garbage. Wants every good request answered 200, every malformed one 4xx, no 5xx, a server
that is still there, and memory that stays.
"""
import argparse
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

LUA = '''
math.randomseed(%d)
local good = {}
local bad = {}
local function post(path, body, kind)
  return wrk.format("POST", path, {["Content-Type"] = kind or "application/json"}, body)
end
function init()
good[1] = post("/predictions/words", '["w1"]')
good[2] = post("/predictions/words", '{"words":["w2","w3"],"vectors":true}')
good[3] = post("/predictions/words", "w4", "text/plain")
good[4] = post("/predictions/words", '--B\\r\\nContent-Disposition: form-data; name="data"\\r\\n\\r\\nw5\\r\\n--B--\\r\\n',
               "multipart/form-data; boundary=B")
good[5] = wrk.format("GET", "/models/words/similar?word=w6&k=3")
good[6] = post("/v2/models/words/infer",
               '{"inputs":[{"name":"w","shape":[1],"datatype":"BYTES","data":["w7"]}]}')
good[7] = wrk.format("GET", "/models/words/analogy?a=w1&b=w2&c=w3")
bad[1] = post("/predictions/words", '{"words":')
bad[2] = post("/predictions/words", '[[1],[2,3]]')
bad[3] = post("/predictions/words", '--B\\r\\nContent-Disposition: form-data; name="data"\\r\\n\\r\\nw5',
              "multipart/form-data; boundary=B")
bad[4] = post("/predictions/none", "x")
bad[5] = wrk.format("GET", "/../../etc/passwd")
bad[6] = wrk.format("GET", "/predictions/%%00")
bad[7] = post("/v2/models/words/infer", '{"inputs":[{"shape":[1e30],"data":[]}]}')
bad[8] = wrk.format("GET", "/models/words/similar?word=nobody")
bad[9] = wrk.format("DELETE", "/predictions/words")
end
function request()
  if math.random(4) == 1 then
    return bad[math.random(#bad)]
  end
  return good[math.random(#good)]
end
'''


def rss(pid):
    with open(f'/proc/{pid}/status') as f:
        return int(re.search(r'RssAnon:\s+(\d+)', f.read())[1]) / 1024


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
    parser.add_argument('--port', type=int, default=18580)
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    idle_wanted = min(args.idle, hard - 200)
    with tempfile.TemporaryDirectory() as work:
        with open(os.path.join(work, 'words.vec'), 'w') as f:
            f.write('50 8\n')
            for i in range(50):
                f.write(f'w{i} ' + ' '.join(str((i * j + j) % 7 - 3.1) for j in range(8)) + '\n')
        server = subprocess.Popen([os.path.abspath(args.shoal), 'serve', 'words=words.vec', '-q', '--inference-address',
                                   f'127.0.0.1:{args.port}', '--management-address', 'none', '--metrics-address',
                                   f'127.0.0.1:{args.port + 1}', '--timeout', '20'], cwd=work)
        time.sleep(2)
        stop = threading.Event()
        thread = threading.Thread(target=nuisance, args=(args.port, stop))
        thread.start()
        idle = [socket.create_connection(('127.0.0.1', args.port)) for _ in range(idle_wanted)]
        sent, left, memory = 0, args.requests, []
        seed = 1
        while left > 0:
            with open(os.path.join(work, 'storm.lua'), 'w') as f:
                f.write(LUA % seed)
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
            if errors and any(int(x) for x in re.findall(r'(?:connect|read|write) (\d+)', errors[1])):
                print('not ok - connections were lost')
        five = counter(args.port, 'Requests5XX')
        stop.set()
        thread.join()
        for c in idle:
            c.close()
        ended = server.poll()
        server.send_signal(signal.SIGTERM)
        code = server.wait(60)
        wrong = abs(refused / done - 0.25) > 0.02
        flat = memory[-1] < memory[0] * 1.2 + 2
        for truth, name in ((ended is None and code == 0, 'the server is there to the end'), (five == 0, 'no answer is 5xx'),
                            (not wrong, 'the malformed quarter is refused, the rest answered'), (flat, 'memory stays')):
            print(('ok' if truth else 'not ok') + ' - ' + name)
        return not (ended is None and code == 0 and five == 0 and not wrong and flat)


if __name__ == '__main__':
    sys.exit(main())
