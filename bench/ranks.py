#!/usr/bin/env python3
"""Several ranks against one: speed, accuracy, bytes, staleness.

    SHOAL_DATA=folder bench/ranks.py BUILD [--tables speed,accuracy,classic] [--ranks 1,2,4,8]
                                           [--epochs 3] [--models skipgram,cbow] [--repeat 3]

  speed     2 ranks x 1 thread beside 1 rank x 2 threads, taking turns, the best of the repeats
  accuracy  async and sync on each number of ranks: words/s, bytes a word beside what pulling and
            pushing every row of every window would take, waiting, the busiest shard, staleness,
            and what the vectors know
  classic   CBOW with exact softmax (V 2000, dim 50, window 2, batch 64, lr 0.05) on 1, 2 and 4
            workers: time, words/s, speedup, bytes/s, time to a target loss. Strong: the same text
            for all; weak: as many texts as workers

The folder holds wiki8.zst, questions-words.txt, ws353.txt and gutenberg-57421.txt; without it the
generated world serves. Ranks beyond the machine's cores share them. Results go to
bench/results/ranks.json.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile


class Bench:
    def __init__(self, args, work):
        self.args = args
        self.work = work
        self.shoal = os.path.join(args.build, 'cli', 'shoal')
        self.data = os.environ.get('SHOAL_DATA')
        self.results = {}

    def path(self, name):
        return os.path.join(self.work, name)

    def have(self, name):
        return self.data and os.path.exists(os.path.join(self.data, name))

    def corpus(self):
        """The large corpus and the suites to ask its vectors."""
        text, corpus = self.path('text.txt'), self.path('corpus.shoal')
        if self.have('wiki8.zst'):
            raw = subprocess.check_output(['zstd', '-dc', os.path.join(self.data, 'wiki8.zst')])
            words = raw.split()
            with open(text, 'wb') as f:
                for i in range(0, len(words), 200):
                    f.write(b' '.join(words[i:i + 200]) + b'\n')
            suites = [os.path.join(self.data, n) for n in ('questions-words.txt', 'ws353.txt')]
        else:
            suites = [self.path('questions.txt')]
            self.call('gen', 'world', '-q', '--words', '3000000', '-o', text, '--questions',
                      suites[0])
        self.call('encode', '-q', text, '-o', corpus)
        return corpus, suites

    def call(self, *args):
        subprocess.run([self.shoal, *args], check=True, stdout=subprocess.DEVNULL)

    def train(self, model, corpus, ranks, *extra):
        """The metrics of a run: settings, reports, and what the ranks cost."""
        metrics, out = self.path('metrics.jsonl'), self.path('vectors.bin')
        args = [self.shoal, 'train', model, corpus, '-q', '-o', out, '--metrics', metrics, *extra]
        if ranks > 1:
            args += ['--ranks', str(ranks)]
        subprocess.run(args, check=True)
        with open(metrics) as f:
            lines = [json.loads(line) for line in f]
        return {'reports': lines, 'done': lines[-1], 'vectors': out,
                'ranks': next((x for x in lines if x['event'] == 'ranks'), None)}

    def quality(self, path, suites):
        out = subprocess.check_output([self.shoal, 'eval', path, *suites, '--top-words', '30000',
                                       '--json'], text=True)
        scores = {}
        for suite in json.loads(out)['suites']:
            for s in suite['scores']:
                if suite['kind'] == 'analogies' and s['name'] == 'total':
                    scores['analogies'] = 100 * s['accuracy']
                if suite['kind'] == 'pairs':
                    scores['spearman'] = 100 * s['spearman']
        return scores

    # ---- tables ----

    def speed(self, corpus):
        ways = {'1 rank x 2 threads': (1, '2'), '2 ranks x 1 thread': (2, '1')}
        print(f'\nspeed, {self.args.epochs} epochs, best of {self.args.repeat}')
        for model in self.args.models.split(','):
            best = dict.fromkeys(ways, 0)
            for _ in range(self.args.repeat):
                for name, (ranks, threads) in ways.items():
                    done = self.train(model, corpus, ranks, '--threads', threads, '--epochs',
                                      str(self.args.epochs))['done']
                    best[name] = max(best[name], done['examples'] / done['seconds'])
            one, two = best.values()
            print(f'{model:10}{one / 1e3:8.0f} k words/s with 1 rank x 2 threads,'
                  f'{two / 1e3:8.0f} with 2 ranks x 1 thread: {two / one:.2f}')
            self.results[f'speed {model}'] = best

    def accuracy(self, corpus, suites):
        print(f'\naccuracy, {self.args.epochs} epochs, 1 thread a rank')
        print(f'{"":26}{"k words/s":>10}{"B/word":>8}{"naive":>8}{"waiting":>9}{"shard":>7}'
              f'{"analogies":>11}{"Spearman":>10}  missed pushes: 0, 1, 2, 3-4, 5-8, ...')
        for model in self.args.models.split(','):
            for sync in self.args.sync.split(','):
                for ranks in map(int, self.args.ranks.split(',')):
                    if ranks == 1 and sync != self.args.sync.split(',')[0]:
                        continue
                    run = self.train(model, corpus, ranks, '--threads', '1', '--sync', sync,
                                     '--epochs', str(self.args.epochs), *self.args.extra.split())
                    self.row(f'{model} {sync} {ranks}', run, self.quality(run['vectors'], suites))

    def row(self, name, run, scores):
        done, r = run['done'], run['ranks']
        words = done['examples']
        self.results[name] = {'words_per_second': words / done['seconds'], 'ranks': r, **scores}
        line = f'{name:26}{words / done["seconds"] / 1e3:10.0f}'
        if r:
            share = r['seconds_waiting'] / (r['seconds_waiting'] + r['seconds_training'])
            all_rows = sum(r['stale']) or 1
            line += (f'{r["bytes_out"] / words:8.0f}{r["naive_bytes"] / words:8.0f}'
                     f'{100 * share:8.1f}%{r["load_most"]:7.2f}')
        else:
            line += f'{0:8.0f}{"":8}{"":9}{"":7}'
        line += f'{scores.get("analogies", float("nan")):10.2f}%{scores.get("spearman", float("nan")):10.2f}'
        if r:
            line += '  ' + ' '.join(f'{100 * x / all_rows:.0f}%' for x in r['stale'][:9])
        print(line, flush=True)

    def classic(self):
        texts = [self.path(f'small{i}.txt') for i in range(4)]
        for i, text in enumerate(texts):
            if i > 0 or self.have('gutenberg-57421.txt'):
                continue
            self.call('gen', 'world', '-q', '--words', '200000', '-o', text, '--questions',
                      self.path('q.txt'))
        if self.have('gutenberg-57421.txt'):
            texts = [os.path.join(self.data, 'gutenberg-57421.txt')] * 4
        else:
            texts = [texts[0]] * 4
        options = ['--loss', 'softmax', '--dim', '50', '--window', '2', '--batch', '64', '--lr',
                   '0.05', '--tokens', 'words', '--max-vocab', '2000', '--unk', '--min-count', '1',
                   '--epochs', '10', '--threads', '1', '--sample', '0', '--schedule', 'constant']
        for kind in 'strong', 'weak':
            print(f'\nclassic, {kind} scaling: CBOW, softmax, V 2000, dim 50, window 2, batch 64')
            print(f'{"workers":>8}{"seconds":>9}{"words/s":>10}{"speedup":>9}{"bytes/s":>12}'
                  f'{"loss":>8}{"to target":>11}')
            first = target = None
            for ranks in 1, 2, 4:
                inputs = self.path(f'classic-{kind}-{ranks}.txt')
                with open(inputs, 'wb') as f:
                    for text in texts[:1 if kind == 'strong' else ranks]:
                        with open(text, 'rb') as t:
                            f.write(t.read())
                run = self.train('cbow', inputs, ranks, *options)
                done, r = run['done'], run['ranks']
                rate = done['examples'] / done['seconds']
                epochs = [x for x in run['reports'] if x['event'] == 'epoch']
                first = first or rate
                target = target or epochs[-3]['train']['loss']
                reached = next((x['seconds'] for x in epochs if x['train']['loss'] <= target), None)
                wire = r['bytes_out'] / done['seconds'] if r else 0
                print(f'{ranks:8}{done["seconds"]:9.2f}{rate:10.0f}{rate / first:9.2f}{wire:12.0f}'
                      f'{done["train"]["loss"]:8.3f}' + (f'{reached:10.2f}s' if reached else f'{"never":>11}'))
                self.results[f'classic {kind} {ranks}'] = {
                    'seconds': done['seconds'], 'words_per_second': rate,
                    'speedup': rate / first, 'bytes_per_second': wire, 'loss': done['train']['loss'],
                    'target': target, 'seconds_to_target': reached}
            print(f'target loss {target:.3f}, what one worker had after epoch 8 of 10')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--tables', default='speed,accuracy,classic')
    parser.add_argument('--ranks', default='1,2,4,8')
    parser.add_argument('--sync', default='async,sync')
    parser.add_argument('--models', default='skipgram,cbow')
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--repeat', type=int, default=3)
    parser.add_argument('--extra', default='', help='more options of shoal train')
    args = parser.parse_args()
    tables = args.tables.split(',')
    os.makedirs('bench/results', exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(args, work)
        if 'classic' in tables:
            bench.classic()
        if 'speed' in tables or 'accuracy' in tables:
            corpus, suites = bench.corpus()
        if 'speed' in tables:
            bench.speed(corpus)
        if 'accuracy' in tables:
            bench.accuracy(corpus, suites)
        with open('bench/results/ranks.json', 'w') as f:
            json.dump(bench.results, f, indent=1)
    print('\nwritten to bench/results/ranks.json')
    return 0


if __name__ == '__main__':
    sys.exit(main())
