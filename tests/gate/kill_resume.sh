#!/bin/bash
# Kills a deterministic run with -9 at random moments, resumes it each time, and
# compares the vectors with those of a run left alone.
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
train=(train skipgram corpus.shoal -q --deterministic --epochs 12 --dim 64 -o)
"$shoal" "${train[@]}" calm.bin

killed=0
round=0
while [ "$killed" -lt "$kills" ]; do
    round=$((round + 1))
    rm -rf run && rm -f out.bin
    "$shoal" "${train[@]}" out.bin --checkpoint run --checkpoint-every 0.2s &
    while [ ! -e out.bin ]; do
        sleep "$((RANDOM % 2)).$((RANDOM % 90 + 10))"
        if [ "$killed" -lt "$kills" ] && kill -9 %% 2>/dev/null; then
            killed=$((killed + 1))
            wait %% 2>/dev/null || true
        else
            wait %% || exit 1
            break
        fi
        # Killed before the first checkpoint there is nothing to resume.
        if ls run/checkpoint-* >/dev/null 2>&1; then
            "$shoal" train --resume run -q &
        else
            rm -rf run
            "$shoal" "${train[@]}" out.bin --checkpoint run --checkpoint-every 0.2s &
        fi
    done
    cmp calm.bin out.bin || { echo "not the same bytes after $killed kills"; exit 1; }
done 2>/dev/null
echo "killed $killed times in $round runs: always the same bytes"
