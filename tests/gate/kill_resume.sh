#!/bin/bash
# Kills runs of every kind with -9 at random moments, resumes them each time, and compares
# what they learned with a run left alone.
#
#     tests/gate/kill_resume.sh SHOAL [KILLS=20] [SEED]
set -eu
shoal=$(realpath "$1")
kills=${2:-20}
RANDOM=${3:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$shoal" gen world --words 400000 -q -o text
"$shoal" encode text -q -o corpus.shoal
"$shoal" gen clicks --rows 60000 -q -o clicks.tsv
"$shoal" gen spiral -q -o spiral.csv
mkdir pictures # in CIFAR-10's binary form
python3 -c 'import random, sys
r = random.Random(1)
for i in range(600):
    sys.stdout.buffer.write(bytes([i % 10]) + r.randbytes(3072))' >pictures/data_batch_1.bin

# gate NAME ENDING OPTIONS...: the runs of one model.
gate() {
    local name=$1 out=out.$2 killed=0 round=0
    shift 2
    rm -f "calm.$name" "$out"
    "$shoal" train "$@" -q -o "$out"
    mv "$out" "calm.$name"
    while [ "$killed" -lt "$kills" ]; do
        round=$((round + 1))
        rm -rf run && rm -f "$out"
        "$shoal" train "$@" -q -o "$out" --checkpoint run --checkpoint-every 0.2s &
        while [ ! -e "$out" ]; do
            sleep "$((RANDOM % 2)).$((RANDOM % 90 + 10))"
            if [ "$killed" -lt "$kills" ] && kill -9 %% 2>/dev/null; then
                killed=$((killed + 1))
                wait %% 2>/dev/null || true
            else
                wait %% || exit 1
                break
            fi
            # Killed before the first checkpoint there is nothing to resume.
            if ls run/checkpoint-*.shoal >/dev/null 2>&1; then
                "$shoal" train --resume run -q &
            else
                rm -rf run
                "$shoal" train "$@" -q -o "$out" --checkpoint run --checkpoint-every 0.2s &
            fi
        done
        cmp "calm.$name" "$out" || { echo "$name: not the same bytes after $killed kills"; exit 1; }
    done 2>/dev/null
    echo "$name: killed $killed times in $round runs: always the same bytes"
}

gate words bin skipgram corpus.shoal --deterministic --epochs 12 --dim 64
gate logreg shoal logreg clicks.tsv --deterministic --epochs 60
gate mlp shoal mlp spiral.csv --layers 128,128 --epochs 60
gate vgg shoal vgg pictures --base 16 --batch 32 --epochs 8 --valid-share 0
