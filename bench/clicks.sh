#!/bin/bash
# How fast does click data become a file to train on? Each format, with one thread and with
# two, interleaved, best of ROUNDS: nanoseconds a row and rows a second.
#
#     [ROWS=1000000] bench/clicks.sh [BUILD]
#
# The rows are generated. Where TMPDIR is a disk, it is part of what is measured; processor
# time is not. Prints one line for each format and writes bench/results/clicks.json.
set -euo pipefail

cd "$(dirname "$0")/.."
shoal=$PWD/${1:-build}/cli/shoal
rows=${ROWS:-1000000}
rounds=${ROUNDS:-5}
results=bench/results
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$results"

# timed THREADS FORMAT: seconds of the clock and of the processors.
timed() {
    local from=$EPOCHREALTIME
    TIMEFORMAT='%U %S'
    { time "$shoal" encode -q --as clicks --threads "$1" "$tmp/$2" -o "$tmp/out.shoal"; } 2>"$tmp/cpu"
    awk -v a="$from" -v b="$EPOCHREALTIME" '{ printf "%.4f %.4f\n", b - a, $1 + $2 }' "$tmp/cpu"
}

: >"$tmp/json"
for format in criteo libsvm vw csv; do
    "$shoal" gen clicks -q --rows "$rows" --format $format -o "$tmp/$format"
    for ((i = 0; i < rounds; i++)); do
        timed 1 $format >>"$tmp/$format.1"
        timed 2 $format >>"$tmp/$format.2"
    done
    awk -v rows="$rows" -v format=$format -v json="$tmp/json" '
    { t = FILENAME ~ /1$/ ? 1 : 2 }
    !(t in wall) || $1 < wall[t] { wall[t] = $1 }
    !(t in cpu) || $2 < cpu[t] { cpu[t] = $2 }
    END {
        printf "encode %s: %.0f ns a row, %.2f M rows/s with 1 thread (%.0f ns of processor); " \
            "with 2 %.2f M rows/s, %.2f times\n", format, wall[1] / rows * 1e9, rows / wall[1] / 1e6,
            cpu[1] / rows * 1e9, rows / wall[2] / 1e6, wall[1] / wall[2]
        printf "{\"format\": \"%s\", \"rows\": %d, \"seconds_1\": %s, \"seconds_2\": %s, " \
            "\"cpu_1\": %s, \"cpu_2\": %s}\n", format, rows, wall[1], wall[2], cpu[1], cpu[2] >> json
    }' "$tmp/$format.1" "$tmp/$format.2"
    rm "$tmp/$format"
done
{
    echo "["
    paste -sd, "$tmp/json"
    echo "]"
} >"$results/clicks.json"
