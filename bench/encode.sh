#!/bin/bash
# How fast and how lean is `shoal encode`? Against `wc -w` on the same text,
# interleaved, best of ROUNDS; then its peak memory per byte of input, from a
# file and from standard input.
#
#     [SHOAL_DATA=folder] bench/encode.sh [BUILD]
#
# The text is wiki8.zst in SHOAL_DATA, else a generated world of 100 MB. Prints
# one line and writes bench/results/encode.json.
set -euo pipefail

cd "$(dirname "$0")/.."
shoal=$PWD/${1:-build}/cli/shoal
rounds=${ROUNDS:-5}
threads=${THREADS:-2}
results=bench/results
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$results"
export LC_ALL=C.UTF-8

text=$tmp/text.txt
if [ -n "${SHOAL_DATA:-}" ] && [ -f "$SHOAL_DATA/wiki8.zst" ]; then
    name=wiki8
    zstd -q -d -o "$text" "$SHOAL_DATA/wiki8.zst"
else
    name=world
    "$shoal" gen world --words 22000000 --output "$text" >/dev/null 2>&1
    truncate -s '<100000000' "$text"
fi
bytes=$(stat -c %s "$text")
wc -w "$text" >/dev/null # the text is in the page cache from here on

encode() {
    "$shoal" encode --threads "$threads" --output "$tmp/out.shoal" "$@" >/dev/null 2>&1
}

# seconds COMMAND...: its wall time.
seconds() {
    local from=$EPOCHREALTIME
    "$@" >/dev/null
    awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.4f\n", b - a }'
}

# The most memory of a command, in bytes; its own standard input is kept.
peak() {
    /usr/bin/time -f %M -o "$tmp/peak" "$@" >/dev/null 2>&1
    echo $(($(tail -n 1 "$tmp/peak") * 1024))
}

for ((i = 0; i < rounds; i++)); do
    seconds wc -w "$text" >>"$tmp/wc"
    seconds encode "$text" >>"$tmp/encode"
done
best_wc=$(sort -n "$tmp/wc" | head -n 1)
best_encode=$(sort -n "$tmp/encode" | head -n 1)

peak_file=0 peak_stdin=0
if [ -x /usr/bin/time ]; then
    args=("$shoal" encode --threads "$threads" --output "$tmp/out.shoal")
    peak_file=$(peak "${args[@]}" "$text")
    peak_stdin=$(peak "${args[@]}" - <"$text")
fi

awk -v name="$name" -v bytes="$bytes" -v threads="$threads" -v rounds="$rounds" \
    -v wc="$best_wc" -v encode="$best_encode" -v file="$peak_file" -v stdin="$peak_stdin" \
    -v json="$results/encode.json" 'BEGIN {
    printf "encode %s: %.1f MB, %.3f s with %d threads (%.0f MB/s), wc -w %.3f s, ratio %.2f, ",
        name, bytes / 1e6, encode, threads, bytes / 1e6 / encode, wc, encode / wc
    if (file)
        printf "peak memory %.2f bytes per input byte from a file, %.2f from stdin\n",
            file / bytes, stdin / bytes
    else
        print "peak memory not measured (package time is missing)"
    printf "{\"text\": \"%s\", \"bytes\": %d, \"threads\": %d, \"rounds\": %d, " \
        "\"encode_seconds\": %s, \"wc_seconds\": %s, \"ratio\": %.4f, " \
        "\"peak_file_bytes\": %.0f, \"peak_stdin_bytes\": %.0f}\n",
        name, bytes, threads, rounds, encode, wc, encode / wc, file, stdin > json
}'
