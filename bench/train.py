#!/usr/bin/env python3
"""Trains the same vectors with shoal and with its peers, and compares.

    SHOAL_DATA=folder bench/train.py BUILD [--epochs 3] [--repeat 2] [--dim 100] [--only NAME]...

The folder holds wiki8.zst and questions-words.txt; without it the generated
world serves. Peers run when they are there: fastText and gensim (Debian's
packages), and word2vec.c and pWord2Vec where WORD2VEC and PWORD2VEC name
binaries. All take turns in one run, shoal again beside each peer; the best counts. Speed is
wall clock: of training alone, and with the vocabulary pass. Quality is measured
with `shoal eval` for everyone. Results go to bench/results/train.json.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

SETTINGS = ['window 5', 'negative 5', 'sample 1e-3', 'min-count 5']
GENSIM = r'''
import sys, time
from gensim.models import Word2Vec
text, out, sg, dim, epochs, threads = sys.argv[1:7]
sg = int(sg)
model = Word2Vec(sg=sg, vector_size=int(dim), window=5, negative=5, sample=1e-3, min_count=5,
                 alpha=0.025 if sg else 0.05, epochs=int(epochs), workers=int(threads))
model.build_vocab(corpus_file=text)
began = time.time()
model.train(corpus_file=text, total_words=model.corpus_total_words,
            total_examples=model.corpus_count, epochs=int(epochs))
print('TRAINED', time.time() - began)
model.wv.save_word2vec_format(out, binary=True)
'''


def run(args, env=None, mark=None):
    """Wall seconds, seconds after the line that holds `mark` first appeared, output."""
    began = time.time()
    marked = None
    text = b''
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, **(env or {}))) as p:
        while True:
            piece = os.read(p.stdout.fileno(), 65536)
            if not piece:
                break
            text += piece
            if marked is None and mark and mark.encode() in text:
                marked = time.time()
    ended = time.time()
    if p.returncode != 0:
        raise RuntimeError(f'{args[0]}: exit {p.returncode}: {text[-400:].decode(errors="replace")}')
    return ended - began, ended - (marked or began), text.decode(errors='replace')


class Bench:
    def __init__(self, args, work):
        self.args = args
        self.work = work
        self.shoal = os.path.join(args.build, 'cli', 'shoal')
        self.threads = str(args.threads)
        self.text, self.corpus, self.suites = self.prepare()
        info = subprocess.check_output([self.shoal, 'info', self.corpus], text=True)
        self.words = int(re.search(r'words\s+([\d,]+)', info)[1].replace(',', ''))

    def prepare(self):
        data = os.environ.get('SHOAL_DATA')
        text = os.path.join(self.work, 'text.txt')
        suites = []
        if data and os.path.exists(os.path.join(data, 'wiki8.zst')):
            raw = subprocess.check_output(['zstd', '-dc', os.path.join(data, 'wiki8.zst')]).split()
            with open(text, 'wb') as f:
                for i in range(0, len(raw), 200):
                    f.write(b' '.join(raw[i:i + 200]) + b'\n')
            suites = [os.path.join(data, n) for n in ('questions-words.txt', 'ws353.txt')]
        else:
            suites = [os.path.join(self.work, 'questions.txt')]
            subprocess.check_call([self.shoal, 'gen', 'world', '-q', '--words', '3000000', '-o',
                                   text, '--questions', suites[0]])
        corpus = os.path.join(self.work, 'corpus.shoal')
        subprocess.check_call([self.shoal, 'encode', '-q', text, '-o', corpus])
        return text, corpus, [s for s in suites if os.path.exists(s)]

    def out(self, name):
        return os.path.join(self.work, name + '.bin')

    # Each peer gives (training seconds, seconds with the vocabulary pass, file).

    def shoal_run(self, sg, extra=()):
        out = self.out('shoal')
        metrics = os.path.join(self.work, 'metrics.jsonl')
        wall, _, _ = run([self.shoal, 'train', 'skipgram' if sg else 'cbow', self.text, '-o', out,
                          '-q', '--dim', str(self.args.dim), '--epochs', str(self.args.epochs),
                          '--threads', self.threads, '--metrics', metrics, *extra])
        with open(metrics) as f:
            last = json.loads(f.readlines()[-1])
        return last['seconds'], wall, out

    def shoal_one(self, sg):
        return self.shoal_run(sg, ['--threads', '1'])

    def shoal_deterministic(self, sg):
        return self.shoal_run(sg, ['--deterministic'])

    def fasttext(self, sg):
        out = os.path.join(self.work, 'fasttext')
        wall, trained, _ = run(
            ['fasttext', 'skipgram' if sg else 'cbow', '-input', self.text, '-output', out, '-maxn',
             '0', '-dim', str(self.args.dim), '-ws', '5', '-neg', '5', '-t', '1e-3', '-minCount',
             '5', '-epoch', str(self.args.epochs), '-thread', self.threads, '-lr',
             '0.025' if sg else '0.05'], mark='Number of labels')
        return trained, wall, out + '.vec'

    def gensim(self, sg):
        out = self.out('gensim')
        wall, _, text = run(['/usr/bin/python3', '-c', GENSIM, self.text, out, str(int(sg)),
                             str(self.args.dim), str(self.args.epochs), self.threads])
        return float(re.search(r'TRAINED ([\d.]+)', text)[1]), wall, out

    def word2vec(self, sg, variable='WORD2VEC'):
        out = self.out(variable.lower())
        wall, trained, _ = run(
            [os.environ[variable], '-train', self.text, '-output', out, '-cbow', str(int(not sg)),
             '-size', str(self.args.dim), '-window', '5', '-negative', '5', '-hs', '0', '-sample',
             '1e-3', '-min-count', '5', '-iter', str(self.args.epochs), '-threads', self.threads,
             '-binary', '1', '-alpha', '0.025' if sg else '0.05'], mark='Words in train file')
        return trained, wall, out

    def pword2vec(self, sg):
        return self.word2vec(sg, 'PWORD2VEC')

    def peers(self, sg):
        found = {'shoal': self.shoal_run, 'shoal, 1 thread': self.shoal_one,
                 'shoal --deterministic': self.shoal_deterministic}
        if os.environ.get('WORD2VEC'):
            found['word2vec.c'] = self.word2vec
        if os.environ.get('PWORD2VEC') and sg:
            found['pWord2Vec'] = self.pword2vec
        if shutil.which('fasttext'):
            found['fastText'] = self.fasttext
        if subprocess.run(['/usr/bin/python3', '-c', 'import gensim'],
                          capture_output=True).returncode == 0:
            found['gensim'] = self.gensim
        return {n: f for n, f in found.items() if not self.args.only or n in self.args.only}

    def turns(self, sg):
        peers = self.peers(sg)
        for name, train in peers.items():
            yield name, train
            if 'shoal' in peers and not name.startswith('shoal'):
                yield 'shoal', peers['shoal']

    def quality(self, path):
        """{'total': accuracy %, 'spearman': ...} over the 30,000 commonest words."""
        scores = {}
        out = subprocess.check_output([self.shoal, 'eval', path, *self.suites, '--top-words',
                                       '30000', '--json'], text=True)
        for suite in json.loads(out)['suites']:
            for score in suite['scores']:
                if suite['kind'] == 'analogies' and score['name'] == 'total':
                    scores['analogies'] = 100 * score['accuracy']
                if suite['kind'] == 'pairs':
                    scores['spearman'] = 100 * score['spearman']
        return scores

    def compare(self, sg):
        best, tries = {}, {}
        for _ in range(self.args.repeat):
            for name, train in self.turns(sg):
                seconds, wall, path = train(sg)
                was = best.get(name)
                tries.setdefault(name, []).append(round(seconds, 2))
                if not was or seconds < was['seconds']:
                    best[name] = {'seconds': seconds, 'wall': wall}
                if not was:
                    best[name].update(self.quality(path))
                    if name == 'shoal':  # for bench/eval.sh
                        shutil.copy(path, 'bench/results/vectors.bin')
                else:
                    best[name].update({k: v for k, v in was.items() if k not in best[name]})
        for name, b in best.items():
            b['tries'] = tries[name]
            b['words_per_second'] = self.words * self.args.epochs / b['seconds']
            b['words_per_second_all'] = self.words * self.args.epochs / b['wall']
        return best


def table(title, best):
    print(f'\n{title}')
    print(f'{"":24}{"k words/s":>10}{"with vocab":>12}{"shoal is":>10}{"analogies":>11}'
          f'{"Spearman":>10}')
    ours = best.get('shoal', {}).get('words_per_second')
    for name, b in best.items():
        ratio = f'{ours / b["words_per_second"]:.2f} x' if ours else ''
        print(f'{name:24}{b["words_per_second"] / 1e3:10.0f}{b["words_per_second_all"] / 1e3:12.0f}'
              f'{ratio:>10}{b.get("analogies", float("nan")):10.2f}%'
              f'{b.get("spearman", float("nan")):10.2f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--repeat', type=int, default=2)
    parser.add_argument('--dim', type=int, default=100)
    parser.add_argument('--threads', type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument('--only', action='append')
    parser.add_argument('--models', default='skipgram,cbow')
    args = parser.parse_args()
    results = {'settings': SETTINGS + [f'dim {args.dim}', f'epochs {args.epochs}'],
               'threads': args.threads}
    os.makedirs('bench/results', exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(args, work)
        results['words'] = bench.words
        for model in args.models.split(','):
            results[model] = bench.compare(model == 'skipgram')
            table(f'{model}, dim {args.dim}, {args.epochs} epochs of {bench.words:,} words, '
                  f'{args.threads} threads', results[model])
    path = f'bench/results/train-{args.dim}.json'
    with open(path, 'w') as f:
        json.dump(results, f, indent=1)
    print(f'\nwritten to {path}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
