#!/usr/bin/env python3
"""Subwords, text classes and files beside Debian's fastText, taking turns in one run.

    SHOAL_DATA=folder bench/fasttext.py BUILD [--tables words,classes,open] [--words 3000000]
                                              [--epochs 1] [--repeat 2] [--threads 2]

  words    skip-gram and CBOW with n-grams of 3 to 6 characters: words a second of training, and what
           the vectors know, unknown words composed by both
  classes  generated news of four classes, or DATA/NAME.train and .test in fastText's lines where
           --lines NAME says so: examples a second of training and of prediction, and P@1
  open     a model of 2 million words x 300 with 2 million n-grams, 4.8 GB: seconds and memory to open
           it and to ask it for one word

The folder holds wiki8.zst, questions-words.txt, ws353.txt and simlex999.txt; without it the generated
world serves. `open` needs that much disk in TMPDIR. Results go to bench/results/fasttext.json.
"""
import argparse
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

from machine import program

GRAMS = {'minn': 3, 'maxn': 6, 'buckets': 2000000}


def timed(args, **more):
    began = time.time()
    done = subprocess.run(args, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    return time.time() - began, done.stdout, done.stderr


class Bench:
    def __init__(self, args, work):
        self.args = args
        self.work = work
        self.shoal = program(args.build)
        self.data = os.environ.get('SHOAL_DATA')
        self.threads = str(args.threads)
        self.results = {}

    def path(self, name):
        return os.path.join(self.work, name)

    def have(self, name):
        return self.data and os.path.exists(os.path.join(self.data, name))

    def json_lines(self, path):
        with open(path) as f:
            return [json.loads(line) for line in f]

    # ---- words ----

    def text(self):
        """A text of so many words, and the suites to ask its vectors."""
        text = self.path('text.txt')
        if self.have('wiki8.zst'):
            raw = subprocess.check_output(['zstd', '-dc', os.path.join(self.data, 'wiki8.zst')])
            words = raw.split()[:self.args.words]
            with open(text, 'wb') as f:
                for i in range(0, len(words), 200):
                    f.write(b' '.join(words[i:i + 200]) + b'\n')
            suites = [os.path.join(self.data, n)
                      for n in ('questions-words.txt', 'ws353.txt', 'simlex999.txt') if self.have(n)]
        else:
            suites = [self.path('questions.txt')]
            timed([self.shoal, 'gen', 'world', '-q', '--words', str(self.args.words), '-o', text,
                   '--questions', suites[0]])
        return text, suites

    def shoal_words(self, model, text):
        out, metrics = self.path('shoal.shoal'), self.path('metrics.jsonl')
        timed([self.shoal, 'train', model, text, '-q', '-o', out, '--metrics', metrics, '--minn',
               str(GRAMS['minn']), '--maxn', str(GRAMS['maxn']), '--buckets', str(GRAMS['buckets']),
               '--epochs', str(self.args.epochs), '--threads', self.threads])
        last = self.json_lines(metrics)[-1]
        return last['examples'] / last['seconds'], out

    def fasttext_words(self, model, text):
        out = self.path('fasttext')
        with subprocess.Popen(['fasttext', model, '-input', text, '-output', out, '-minn', str(GRAMS['minn']),
                               '-maxn', str(GRAMS['maxn']), '-bucket', str(GRAMS['buckets']), '-epoch',
                               str(self.args.epochs), '-thread', self.threads, '-t', '1e-3', '-lr', '0.05'],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as p:
            said, began = b'', None
            while True:
                piece = os.read(p.stdout.fileno(), 65536)
                if not piece:
                    break
                said += piece
                if began is None and b'Number of labels' in said:
                    began = time.time()
                if b'Progress: 100.0%' in said:
                    ended = time.time()
                    break
            p.stdout.read()
        words = int(re.search(rb'Read (\d+)M words', said)[1]) * 1e6 or self.args.words
        words = max(words, self.args.words * 0.95)
        return words * self.args.epochs / (ended - began), out + '.bin'

    def quality(self, path, suites):
        out = subprocess.check_output([self.shoal, 'eval', path, *suites, '--top-words', '30000', '--json'])
        scores = {}
        for suite in json.loads(out)['suites']:
            name = os.path.basename(suite['file']).split('.')[0]
            for s in suite['scores']:
                if suite['kind'] == 'analogies' and s['name'] == 'total':
                    scores[name] = 100 * s['accuracy']
                if suite['kind'] == 'pairs':
                    scores[name] = 100 * s['spearman']
        return scores

    def words(self):
        text, suites = self.text()
        for model in ('skipgram', 'cbow'):
            best, scores = {}, {}
            for _ in range(self.args.repeat):
                for name, run in (('shoal', self.shoal_words), ('fastText', self.fasttext_words)):
                    if name == 'fastText' and not shutil.which('fasttext'):
                        continue
                    rate, out = run(model, text)
                    best[name] = max(best.get(name, 0), rate)
                    if name not in scores:
                        scores[name] = self.quality(out, suites)
            for name, rate in best.items():
                told = '  '.join(f'{k} {v:.1f}' for k, v in scores[name].items())
                ratio = f'{best["shoal"] / rate:6.1f} x' if name != 'shoal' else ''
                print(f'{model:10}{name:10}{rate / 1e3:10.0f} k words/s {ratio:>9}  {told}', flush=True)
            self.results[model] = {'words_per_second': best, 'scores': scores}

    # ---- classes ----

    def lines(self):
        train, test = self.path('news.train'), self.path('news.test')
        if self.args.lines:
            return (os.path.join(self.data, self.args.lines + '.train'),
                    os.path.join(self.data, self.args.lines + '.test'))
        timed([self.shoal, 'gen', 'news', '-q', '--lines', '120000', '--seed', '1', '-o', train])
        timed([self.shoal, 'gen', 'news', '-q', '--lines', '20000', '--seed', '2', '-o', test])
        return train, test

    def classes(self):
        train, test = self.lines()
        with open(train, 'rb') as f:
            lines = sum(1 for _ in f)
        with open(test, 'rb') as f:
            asked = sum(1 for _ in f)
        settings = ['--epochs', '5', '--lr', '0.1', '--word-ngrams', '2', '--dim', '100']
        best, right = {}, {}
        for _ in range(self.args.repeat):
            out, metrics = self.path('news.shoal'), self.path('metrics.jsonl')
            timed([self.shoal, 'train', 'classify', train, '-q', '-o', out, '--threads', self.threads,
                   '--metrics', metrics, *settings])
            last = self.json_lines(metrics)[-1]
            best.setdefault('shoal', []).append(
                (last['seconds'], timed([self.shoal, 'predict', out, test])[0]))
            right['shoal'] = self.shoal_right(out, test)
            if not shutil.which('fasttext'):
                continue
            out = self.path('news')
            spent, said, told = timed(['fasttext', 'supervised', '-input', train, '-output', out, '-epoch', '5',
                                       '-lr', '0.1', '-wordNgrams', '2', '-dim', '100', '-thread', self.threads])
            best.setdefault('fastText', []).append(
                (spent, timed(['fasttext', 'predict', out + '.bin', test])[0]))
            said = subprocess.check_output(['fasttext', 'test', out + '.bin', test], text=True)
            right['fastText'] = 100 * float(re.search(r'P@1\s+([\d.]+)', said)[1])
        for name, tries in best.items():
            train_rate = 5 * lines / min(t for t, _ in tries)
            ask_rate = asked / min(t for _, t in tries)
            print(f'classes   {name:10}{train_rate / 1e3:10.0f} k examples/s trained,'
                  f'{ask_rate / 1e3:8.0f} k/s predicted, P@1 {right[name]:.1f} %', flush=True)
            self.results['classes ' + name] = {'trained': train_rate, 'predicted': ask_rate, 'p@1': right[name]}

    def shoal_right(self, model, test):
        out = json.loads(subprocess.check_output([self.shoal, 'eval', model, test, '--json']))
        text = json.dumps(out)
        return 100 * float(re.search(r'"(?:p@1|precision|accuracy)[^"]*": ([\d.]+)', text, re.I)[1])

    # ---- opening ----

    def large(self, path, words=2000000, dim=300, buckets=2000000):
        """A file of fastText's whose matrices are holes, but for some rows."""
        with open(path, 'wb') as f:
            f.write(struct.pack('<ii', 793712314, 12))
            f.write(struct.pack('<12id', dim, 5, 5, 5, 5, 1, 2, 2, buckets, 3, 6, 100, 1e-4))
            f.write(struct.pack('<iiiqq', words, words, 0, 10 * words, -1))
            r = random.Random(1)
            entries = bytearray()
            for i in range(words):
                entries += b'w%d' % (i * 7919) + struct.pack('<xqb', words - i, 0)
            f.write(entries)
            f.write(struct.pack('<?qq', False, words + buckets, dim))
            begin = f.tell()
            for _ in range(1000):
                f.seek(begin + r.randrange(words + buckets) * dim * 4)
                f.write(struct.pack(f'<{dim}f', *(r.random() for _ in range(dim))))
            f.seek(begin + (words + buckets) * dim * 4)
            f.write(struct.pack('<?qq', False, words, dim))
            f.truncate(f.tell() + words * dim * 4)

    def open(self):
        path = self.path('large.bin')
        self.large(path)
        for name, args in (('info', [self.shoal, 'info', path]),
                           ('an unknown word', [self.shoal, 'distance', path, 'unheardof', 'w7919'])):
            spent = []
            for _ in range(3):
                done = subprocess.run(['/usr/bin/time', '-f', '%e %M', *args], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True)
                if done.returncode:
                    print(f'open      {name}: {done.stderr.strip()[-200:]}')
                    break
                spent.append(tuple(float(x) for x in done.stderr.split()[-2:]))
            if spent:
                seconds, memory = min(spent)
                print(f'open      {name:20}{seconds:8.2f} s {memory / 1024:8.0f} MiB resident', flush=True)
                self.results['open ' + name] = {'seconds': seconds, 'mib': memory / 1024}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--tables', default='words,classes,open')
    parser.add_argument('--words', type=int, default=3000000)
    parser.add_argument('--epochs', type=int, default=1)
    parser.add_argument('--repeat', type=int, default=2)
    parser.add_argument('--threads', type=int, default=os.cpu_count())
    parser.add_argument('--lines')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='shoal-bench-') as work:
        bench = Bench(args, work)
        for name in args.tables.split(','):
            getattr(bench, name)()
    os.makedirs('bench/results', exist_ok=True)
    with open('bench/results/fasttext.json', 'w') as f:
        json.dump(bench.results, f, indent=1)
    return 0


if __name__ == '__main__':
    sys.exit(main())
