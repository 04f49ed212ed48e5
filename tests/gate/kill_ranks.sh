#!/bin/bash
# Kills ranks with -9 at random moments of jobs that encode, train, meet, write checkpoints and a
# result, each started again by --restarts, and compares what they learned with a job left alone.
# Every rank that was lost must be named.
#
#     tests/gate/kill_ranks.sh SHOAL [KILLS=100] [SEED]
set -eu
shoal=$(realpath "$1")
kills=${2:-100}
RANDOM=${3:-1}
ranks=3
name=$(basename "$shoal" | cut -c 1-15) # as the system has it
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$shoal" gen world --words 400000 -q -o text
options=(cbow text --deterministic --sync sync --dim 100 --epochs 3 --threads 1 -q -o out.bin)
"$shoal" train "${options[@]}"
mv out.bin calm.bin

# The process of rank $1 of the job that runs here, if it is there.
rank() {
    local at
    for at in /proc/[0-9]*; do
        if [ "$(readlink "$at/cwd" 2>/dev/null)" = "$work" ] &&
            tr '\0' '\n' 2>/dev/null <"$at/environ" |
            grep -qE "^(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1\$" &&
            [ "$(cat "$at/comm")" = "$name" ]; then
            echo "${at#/proc/}"
        fi
    done
}

killed=0
round=0
while [ "$killed" -lt "$kills" ]; do
    round=$((round + 1))
    hits=0
    rm -rf run out.bin said
    "$shoal" train "${options[@]}" --ranks $ranks --checkpoint run --checkpoint-every 0.3s \
        --restarts 1000 2>said &
    job=$!
    # Five at most, or a job would hardly end: a restart takes a pause that doubles.
    while kill -0 $job 2>/dev/null && [ $hits -lt 5 ]; do
        sleep "$((RANDOM % 2)).$((RANDOM % 90 + 10))"
        pid=$(rank $((RANDOM % ranks)))
        before=$(grep -c ' restart ' said || true)
        [ -n "$pid" ] && kill -9 $pid 2>/dev/null || continue
        # One at a time: the job is over, or has said which was lost.
        while kill -0 $job 2>/dev/null && [ "$(grep -c ' restart ' said || true)" = "$before" ]; do
            sleep 0.05
        done
        hits=$((hits + 1))
    done
    wait $job || { echo "round $round: failed after $hits kills"; cat said; exit 1; }
    # A rank that was killed when all was done is missed by nobody.
    named=$(grep -cE '(rank [0-9]+|a rank) on [^ ]+ (ended on signal 9|silent for)' said || true)
    [ "$named" -ge $((hits - 1)) ] && [ "$named" = "$(grep -c ' restart ' said || true)" ] ||
        { echo "round $round: $hits kills, $named named"; cat said; exit 1; }
    cmp calm.bin out.bin || { echo "round $round: not the same bytes after $hits kills"; exit 1; }
    killed=$((killed + hits))
    [ "$killed" -gt 0 ] || [ "$round" -lt 5 ] ||
        { echo "round $round: found no rank to kill"; exit 1; }
done
echo "killed $killed times in $round jobs: always named, always the same bytes"
