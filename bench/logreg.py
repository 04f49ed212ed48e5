#!/usr/bin/env python3
"""Click models: how fast and how good, beside scikit-learn and liblinear.

    SHOAL_DATA=folder bench/logreg.py BUILD [--tables speed,sets,batches] [--rows 1000000] [--repeat 3]

speed     generated rows, from text (parsing included) and from the encoded file, with one thread
          and with two, and by two processes of one thread at once, which share nothing: what
          two threads could reach on this machine; scikit-learn's SGDClassifier, as it is used
          (rows are shuffled) and in the order of the file, fit alone and with
          load_svmlight_file. All take turns and the best of --repeat counts; held-out log-loss
          stands beside each speed.
sets      a9a against liblinear's `train -s 0`, and criteo-10k, where the folder has them
batches   rows of a step x policy x ranks, for the same number of rows

scikit-learn (Debian's python3-sklearn) and liblinear-train run when they are there. Results go to
bench/results/logreg.json.
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

SKLEARN = r'''
import sys, time
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
train, test, eta = sys.argv[1:4]
began = time.time()
x, y = load_svmlight_file(train, n_features=1 << 20)
load = time.time() - began
xt, yt = load_svmlight_file(test, n_features=1 << 20)
for shuffle in (True, False):
    began = time.time()
    model = SGDClassifier(loss='log_loss', alpha=1e-9, learning_rate='invscaling', power_t=0.25,
                          eta0=float(eta), max_iter=1, tol=None, shuffle=shuffle, random_state=1)
    model.fit(x, y)
    fit = time.time() - began
    print('RESULT', shuffle, load, fit, log_loss(yt, model.predict_proba(xt)[:, 1]))
'''
# Ranks in step add their steps: at a rate of 1 four of them with 10,000 rows each diverge.
LRS = {1: 0.05, 100: 0.5, 1000: 1.0, 10000: 0.5}  # of ftrl, by the rows of a step


def run(args, **more):
    p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if p.returncode != 0:
        raise RuntimeError(f'{args[0]}: exit {p.returncode}: {p.stdout[-400:]}')
    return p.stdout


def millions(x):
    return f'{x / 1e6:.2f} M'


class Bench:
    def __init__(self, args, work):
        self.args = args
        self.work = work
        self.shoal = os.path.abspath(os.path.join(args.build, 'cli', 'shoal'))
        self.results = {'cores': os.cpu_count(), 'load': os.getloadavg()[0]}

    def path(self, name):
        return os.path.join(self.work, name)

    def generate(self, name, rows, first, fmt):
        said = run([self.shoal, 'gen', 'clicks', '--rows', str(rows), '--first', str(first),
                    '--format', fmt, '-o', self.path(name)])
        return float(re.search(r'here\s+([\d.]+)', said)[1])

    def encode(self, text, name):
        run([self.shoal, 'encode', '--as', 'clicks', '-q', self.path(text), '-o', self.path(name)])

    def prepare(self):
        rows, held = self.args.rows, max(self.args.rows // 5, 1)
        self.generate('train.tsv', rows, 0, 'criteo')
        self.generate('train.svm', rows, 0, 'libsvm')
        self.generate('held.svm', held, rows, 'libsvm')
        best = self.generate('held.tsv', held, rows, 'criteo')
        for name in ('train', 'held'):
            self.encode(f'{name}.tsv', f'{name}.shoal')
            self.encode(f'{name}.svm', f'{name}-svm.shoal')
        self.results['best_log_loss'] = best
        print(f'{rows:,} rows; the planted weights have a log-loss of {best:.4f} on {held:,} others')

    def train(self, data, *options, held=None):
        """The last report of a run, and its wall seconds."""
        metrics, model = self.path('metrics.json'), self.path('model.shoal')
        valid = ['--valid', self.path(held)] if held else []
        options = ('--epochs', '1', *options)  # what is given twice counts as it stands last
        began = time.time()
        run([self.shoal, 'train', 'logreg', data, '-q', '--metrics', metrics, '-o', model, *valid,
             *options])
        wall = time.time() - began
        with open(metrics) as f:
            lines = [json.loads(line) for line in f]
        done = next(line for line in lines if line['event'] == 'done')
        done['traffic'] = next((line for line in lines if line['event'] == 'ranks'), None)
        return done, wall

    def twice(self, data, *options):
        """Rows a second of two runs at once: of their training, and of their wall clock."""
        began = time.time()
        runs = [subprocess.Popen([self.shoal, 'train', 'logreg', data, '-q', '--threads', '1', '--epochs', '1',
                                  '--metrics', self.path(f'metrics{i}.json'), '-o',
                                  self.path(f'model{i}.shoal'), *options]) for i in range(2)]
        if any(p.wait() != 0 for p in runs):
            raise RuntimeError('one of two runs failed')
        wall = time.time() - began
        rate = 0
        for i in range(2):
            with open(self.path(f'metrics{i}.json')) as f:
                rate += next(x['rate'] for x in map(json.loads, f) if x['event'] == 'done')
        return rate, 2 * self.args.rows / wall

    # ---- speed ----

    def speed(self):
        rows = self.args.rows
        best = {}

        def note(name, rate, loss):
            if rate > best.get(name, (0, 0))[0]:
                best[name] = (rate, loss)

        for turn in range(self.args.repeat):
            for optimizer in ('sgd', 'adagrad', 'ftrl'):
                for threads in ('1', '2'):
                    done, _ = self.train(self.path('train.shoal'), '--optimizer', optimizer,
                                         '--threads', threads, held='held.shoal')
                    note(f'{optimizer}, encoded, {threads} thread(s)', done['rate'],
                         done['valid']['loss'])
            for fmt in ('tsv', 'svm'):
                for threads in ('1', '2'):
                    _, wall = self.train(self.path(f'train.{fmt}'), '--optimizer', 'sgd',
                                         '--threads', threads)
                    note(f'sgd, text ({fmt}), {threads} thread(s)', rows / wall, float('nan'))
            for name in ('sgd', 'ftrl'):
                # Several epochs, so that both train at once for most of the time.
                note(f'{name}, encoded, 2 processes',
                     self.twice(self.path('train.shoal'), '--optimizer', name, '--epochs', '4')[0],
                     float('nan'))
            note('sgd, text (tsv), 2 processes',
                 self.twice(self.path('train.tsv'), '--optimizer', 'sgd')[1], float('nan'))
            self.sklearn(note)
        print(f'\n{"":34} {"rows/s":>10}  log-loss')
        for name, (rate, loss) in best.items():
            print(f'{name:34} {millions(rate):>10}  {loss:.4f}')
        for name in ('sgd, encoded', 'ftrl, encoded', 'sgd, text (tsv)'):
            one = best[f'{name}, 1 thread(s)'][0]
            print(f'{name}: two threads {best[f"{name}, 2 thread(s)"][0] / one:.2f} times one, two '
                  f'processes {best[f"{name}, 2 processes"][0] / one:.2f} times')
        self.results['speed'] = {k: {'rows_per_second': r, 'log_loss': l}
                                 for k, (r, l) in best.items()}
        self.compare(best)

    def sklearn(self, note):
        """A turn of scikit-learn's, if it is there."""
        python = '/usr/bin/python3'
        if subprocess.run([python, '-c', 'import sklearn'], capture_output=True).returncode != 0:
            return
        said = run([python, '-c', SKLEARN, self.path('train.svm'), self.path('held.svm'), '0.05'],
                   env=dict(os.environ, OMP_NUM_THREADS='1'))
        for shuffle, load, fit, loss in re.findall(r'RESULT (\S+) (\S+) (\S+) (\S+)', said):
            name = 'scikit-learn' if shuffle == 'True' else 'scikit-learn, in order'
            note(f'{name}, fit', self.args.rows / float(fit), float(loss))
            note(f'{name}, with parsing', self.args.rows / (float(fit) + float(load)), float(loss))

    def compare(self, best):
        ours, text = best['sgd, encoded, 1 thread(s)'], best['sgd, text (svm), 1 thread(s)'][0]
        both = best['sgd, text (svm), 2 thread(s)'][0]
        for name in ('scikit-learn', 'scikit-learn, in order'):
            if f'{name}, fit' not in best:
                return
            fit, parsed = best[f'{name}, fit'], best[f'{name}, with parsing'][0]
            print(f'{name}: one thread of shoal has {ours[0] / fit[0]:.1f} times its fit at a '
                  f'log-loss {ours[1] - fit[1]:+.4f}, {text / parsed:.1f} times with parsing (two '
                  f'threads {both / parsed:.1f})')

    # ---- known sets ----

    def sets(self):
        data = os.environ.get('SHOAL_DATA', '')
        print()
        if os.path.exists(os.path.join(data, 'a9a.libsvm')):
            self.a9a(os.path.join(data, 'a9a.libsvm'), os.path.join(data, 'a9a-test.libsvm'))
        if os.path.exists(os.path.join(data, 'criteo-10k.tsv')):
            self.criteo(os.path.join(data, 'criteo-10k.tsv'))

    def a9a(self, train, test):
        done, _ = self.train(train, '--epochs', '10', '--threads', '1', '--lr', '0.02', '--bits',
                             '16', '--valid', test)
        accuracy = 100 * done['valid']['accuracy']
        out = {'accuracy': accuracy, 'auc': done['valid']['auc']}
        print(f'a9a: accuracy {accuracy:.2f} %, auc {done["valid"]["auc"]:.4f}')
        if shutil.which('liblinear-train'):
            model = self.path('a9a.model')
            run(['liblinear-train', '-q', '-s', '0', train, model])
            said = run(['liblinear-predict', test, model, '/dev/null'])
            out['liblinear'] = float(re.search(r'([\d.]+)%', said)[1])
            print(f'     liblinear -s 0: {out["liblinear"]:.2f} %')
        self.results['a9a'] = out

    def criteo(self, path):
        with open(path) as f:
            lines = f.readlines()
        for name, part in (('c8.tsv', lines[:8000]), ('c2.tsv', lines[8000:10000])):
            with open(self.path(name), 'w') as f:
                f.writelines(part)
        done, _ = self.train(self.path('c8.tsv'), '--threads', '1', '--epochs', '2', held='c2.tsv')
        held = done['valid']
        print(f'criteo-10k, learned from 8,000 rows: auc {held["auc"]:.4f}, log-loss '
              f'{held["loss"]:.4f} on the last 2,000')
        self.results['criteo'] = {'auc': held['auc'], 'log_loss': held['loss']}

    # ---- batches ----

    def batches(self):
        table = []
        print(f'\n{"batch":>6} {"policy":>7} {"ranks":>5} {"seconds":>8} {"log-loss":>9} '
              f'{"accuracy":>8} {"auc":>7} {"bytes/row":>9}')
        for batch in map(int, self.args.batches.split(',')):
            for sync in ('sync', 'async'):
                for ranks in (1, 2, 4):
                    if ranks == 1 and sync == 'sync':
                        continue  # nobody to wait for: as async
                    table.append(self.batch(batch, sync, ranks))
        self.results['batches'] = table

    def batch(self, batch, sync, ranks):
        # Row by row in step each row is a round of messages: fewer of them, scaled up.
        scale = 50 if batch == 1 and sync == 'sync' and ranks > 1 else 1
        data = self.path('train.shoal')
        if scale > 1:
            data = self.path('few.shoal')
            if not os.path.exists(data):
                self.generate('few.tsv', self.args.rows // scale, 0, 'criteo')
                self.encode('few.tsv', 'few.shoal')
        best = None
        for turn in range(1 if scale > 1 else self.args.repeat):
            done, _ = self.train(data, '--batch', str(batch), '--lr', str(LRS[batch]), '--threads',
                                 '1', *(['--ranks', str(ranks), '--sync', sync] if ranks > 1 else []),
                                 held='held.shoal')
            if best is None or done['seconds'] < best['seconds']:
                best = done
        held = best['valid']
        sent = (best['traffic'] or {}).get('bytes_out', 0)  # of all ranks
        row = {'batch': batch, 'sync': sync if ranks > 1 else 'alone', 'ranks': ranks,
               'seconds': best['seconds'] * scale, 'scaled': scale, 'log_loss': held['loss'],
               'accuracy': held['accuracy'], 'auc': held['auc'],
               'bytes_per_row': sent / best['examples']}
        print(f'{batch:6} {row["sync"]:>7} {ranks:5} {row["seconds"]:8.2f} {row["log_loss"]:9.4f} '
              f'{100 * row["accuracy"]:7.2f}% {row["auc"]:7.4f} {row["bytes_per_row"]:9.0f}'
              f'{f"  (of 1/{scale} of the rows, times {scale})" if scale > 1 else ""}', flush=True)
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--tables', default='speed,sets,batches')
    parser.add_argument('--batches', default='1,100,1000,10000')
    parser.add_argument('--rows', type=int, default=1000000)
    parser.add_argument('--repeat', type=int, default=3)
    args = parser.parse_args()
    tables = args.tables.split(',')
    os.makedirs('bench/results', exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(args, work)
        if 'speed' in tables or 'batches' in tables:
            bench.prepare()
        if 'speed' in tables:
            bench.speed()
        if 'sets' in tables:
            bench.sets()
        if 'batches' in tables:
            bench.batches()
        with open('bench/results/logreg.json', 'w') as f:
            json.dump(bench.results, f, indent=1)
    print('\nwritten to bench/results/logreg.json')
    return 0


if __name__ == '__main__':
    sys.exit(main())
