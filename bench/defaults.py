#!/usr/bin/python3
"""How good the defaults are: no option but the label, beside scikit-learn's and liblinear's own.

    SHOAL_DATA=folder bench/defaults.py BUILD [--sets iris,wine,...] [--markdown]

iris, wine, cancer, digits   scikit-learn's sets as CSV with names, five stratified folds: accuracy of
                             `train mlp` beside MLPClassifier(), of `train logreg` or `train
                             multinomial` beside LogisticRegression(); scikit-learn's on the numbers as
                             they are and scaled (StandardScaler)
people     `shoal gen people`: log-loss of logreg and mlp beside that of the planted weights
w8a        generated sparse rows like w8a's (49,749 rows, 300 binary features, 3 % positive), and one
           with as many positives as negatives: accuracy beside liblinear's `train -s 0 -B 1`
a9a        of the folder, if it is there: accuracy beside liblinear's
fashion    Fashion-MNIST (Debian's dataset-fashion-mnist): accuracy of `train mlp`, and its seconds
spiral     `shoal gen spiral`: accuracy of `train mlp` on 1 and 8 ranks

scikit-learn and liblinear-tools are Debian's. Results go to bench/results/defaults.json.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from machine import program  # noqa: E402

FASHION = '/usr/share/datasets/fashion-mnist'


def run(args, **more):
    p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if p.returncode != 0:
        raise RuntimeError(f'{" ".join(args)}: exit {p.returncode}: {p.stderr[-400:]}')
    return p.stdout


class Defaults:
    def __init__(self, shoal, work):
        self.shoal, self.work, self.rows = shoal, work, []

    def path(self, name):
        return os.path.join(self.work, name)

    def train(self, task, data, *more):
        run([self.shoal, 'train', task, data, '-q', '-o', self.path('model.shoal'), *more])

    def score(self, data):
        return json.loads(run([self.shoal, 'eval', self.path('model.shoal'), data, '--json']))

    def add(self, what, task, ours, peers, want, good):
        row = {'set': what, 'task': task, 'shoal': ours, 'peers': peers, 'want': want, 'good': bool(good)}
        self.rows.append(row)
        said = ', '.join(f'{name} {value}' for name, value in peers.items())
        print(f'{what:8} {task:12} {ours:>10}   {said}   want {want}: {"yes" if good else "NO"}', flush=True)

    # ---- scikit-learn's sets ----

    def write(self, name, x, y, names):
        with open(self.path(name), 'w') as f:
            f.write(','.join([f'x{i}' for i in range(x.shape[1])] + ['class']) + '\n')
            for row, label in zip(x, y):
                f.write(','.join(repr(float(v)) for v in row) + f',{names[label]}\n')

    def folds(self, name, load, linear):
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import StratifiedKFold
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        warnings.filterwarnings('ignore')
        d = load()
        names = [str(n).replace(' ', '_') for n in d.target_names]
        right = {}
        for train, test in StratifiedKFold(5, shuffle=True, random_state=1).split(d.data, d.target):
            self.write('train.csv', d.data[train], d.target[train], names)
            self.write('test.csv', d.data[test], d.target[test], names)
            for task in ('mlp', linear):
                self.train(task, self.path('train.csv'))
                right.setdefault(task, []).append(self.score(self.path('test.csv'))['accuracy'])
            for key, model in (('mlp', MLPClassifier(random_state=1)),
                               (linear, LogisticRegression())):
                for scaled in (False, True):
                    m = make_pipeline(StandardScaler(), model) if scaled else model
                    m.fit(d.data[train], d.target[train])
                    right.setdefault((key, scaled), []).append(m.score(d.data[test], d.target[test]))
        mean = {k: 100 * sum(v) / len(v) for k, v in right.items()}
        for task in ('mlp', linear):
            peers = {'scikit-learn': f'{mean[task, False]:.2f}', 'scaled': f'{mean[task, True]:.2f}'}
            self.add(name, task, f'{mean[task]:.2f}', peers, f'{mean[task, False] - 1:.2f}',
                     mean[task] >= mean[task, False] - 1)

    def iris(self):
        from sklearn.datasets import load_iris
        self.folds('iris', load_iris, 'multinomial')

    def wine(self):
        from sklearn.datasets import load_wine
        self.folds('wine', load_wine, 'multinomial')

    def cancer(self):
        from sklearn.datasets import load_breast_cancer
        self.folds('cancer', load_breast_cancer, 'logreg')

    def digits(self):
        from sklearn.datasets import load_digits
        self.folds('digits', load_digits, 'multinomial')

    # ---- tables ----

    def people(self):
        train, test = self.path('people.csv'), self.path('test.csv')
        run([self.shoal, 'gen', 'people', '-q', '-o', train])
        said = subprocess.run([self.shoal, 'gen', 'people', '--first', '20000', '--rows', '20000', '-o',
                               test], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        best = float(re.search(r'here\s+([\d.]+)', said.stdout)[1])
        for task in ('logreg', 'mlp'):
            self.train(task, train)
            got = self.score(test)
            loss = got.get('log_loss', got.get('loss'))
            self.add('people', task, f'{loss:.4f}', {'planted': f'{best:.4f}'}, f'{1.02 * best:.4f}',
                     loss <= 1.02 * best)

    # ---- sparse rows ----

    def liblinear(self, train, test):
        model = self.path('liblinear.model')
        run(['liblinear-train', '-q', '-s', '0', '-B', '1', train, model])
        return float(re.search(r'([\d.]+)%', run(['liblinear-predict', test, model, '/dev/null']))[1])

    def sparse(self, name, train, test):
        peer = self.liblinear(train, test)
        self.train('logreg', train)
        ours = 100 * self.score(test)['accuracy']
        self.add(name, 'logreg', f'{ours:.2f}', {'liblinear': f'{peer:.2f}'}, f'{peer - 0.3:.2f}',
                 ours >= peer - 0.3)
        return ours

    def w8a(self):
        for name, bias in (('w8a', -6.0), ('w8a even', 0.0)):
            rng = random.Random(1)
            shares = [min(0.5, 0.6 / (1 + i) ** 0.7) for i in range(300)]
            weights = [rng.gauss(0, 1.2) for _ in range(300)]
            paths = []
            for part, rows in (('train', 49749), ('test', 14951)):
                paths.append(self.path(f'{part}.svm'))
                with open(paths[-1], 'w') as f:
                    for _ in range(rows):
                        on = [i for i, share in enumerate(shares) if rng.random() < share]
                        z = bias + sum(weights[i] for i in on) - sum(w * s for w, s in zip(weights, shares))
                        label = '+1' if rng.random() < 1 / (1 + 2.718281828 ** -z) else '-1'
                        f.write(label + ''.join(f' {i + 1}:1' for i in on) + '\n')
            self.sparse(name, *paths)

    def a9a(self):
        data = os.environ.get('SHOAL_DATA', '')
        train, test = (os.path.join(data, f'a9a{part}.libsvm') for part in ('', '-test'))
        if os.path.exists(train):
            self.sparse('a9a', train, test)

    # ---- pictures and points ----

    def fashion(self):
        if not os.path.exists(FASHION):
            return
        began = time.time()
        self.train('mlp', os.path.join(FASHION, 'train-images-idx3-ubyte.gz'))
        took = time.time() - began
        ours = 100 * self.score(os.path.join(FASHION, 't10k-images-idx3-ubyte.gz'))['accuracy']
        self.add('fashion', 'mlp', f'{ours:.2f}', {'seconds': f'{took:.0f}'}, '89.5 in 60 s',
                 ours >= 89.5 and took <= 60)

    def spiral(self):
        train, test = self.path('spiral.csv'), self.path('other.csv')
        run([self.shoal, 'gen', 'spiral', '--samples', '40000', '-q', '-o', train])
        run([self.shoal, 'gen', 'spiral', '--samples', '10000', '--seed', '2', '-q', '-o', test])
        one = None
        for ranks in ('1', '8'):
            self.train('mlp', train, *(['--ranks', ranks] if ranks != '1' else []))
            ours = 100 * self.score(test)['accuracy']
            one = one or ours
            self.add('spiral', f'mlp, {ranks}', f'{ours:.2f}', {'one rank': f'{one:.2f}'},
                     f'{one - 0.5:.2f}', ours >= one - 0.5)


SETS = ('iris', 'wine', 'cancer', 'digits', 'people', 'w8a', 'a9a', 'fashion', 'spiral')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--sets', default=','.join(SETS))
    parser.add_argument('--markdown', action='store_true', help='print the table of docs/tables.md')
    args = parser.parse_args()
    os.makedirs('bench/results', exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        bench = Defaults(program(args.build), work)
        for name in args.sets.split(','):
            getattr(bench, name)()
    with open('bench/results/defaults.json', 'w') as f:
        json.dump(bench.rows, f, indent=1)
    for r in bench.rows if args.markdown else []:
        print(f'| {r["set"]} | {r["task"]} | {r["shoal"]} | '
              f'{", ".join(f"{k} {v}" for k, v in r["peers"].items())} |')
    return 0 if all(r['good'] for r in bench.rows) else 1


if __name__ == '__main__':
    sys.exit(main())
