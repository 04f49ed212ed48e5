#!/bin/bash
# How fast are questions answered? All of questions-words.txt over the 30,000
# commonest words and over all, and the nearest words of one; best of ROUNDS.
#
#     SHOAL_DATA=folder VECTORS=file [COMPUTE_ACCURACY=program] bench/eval.sh [BUILD]
#
# With COMPUTE_ACCURACY, word2vec's program of that name, its time and whether
# its counts are the same; VECTORS must then be word2vec's binary format. Prints
# a line for each and writes bench/results/eval.json.
set -euo pipefail

cd "$(dirname "$0")/.."
build=$PWD/${1:-build}
questions=${SHOAL_DATA:?want the folder of questions-words.txt}/questions-words.txt
vectors=${VECTORS:?want a file of word vectors}
rounds=${ROUNDS:-5}
threads=${THREADS:-2}
results=bench/results
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$results"

${CC:-cc} -O2 -std=c17 -D_GNU_SOURCE -Iinclude bench/eval.c -L"$build/src" -lshoal \
    -Wl,-rpath,"$build/src" -o "$tmp/eval"

# best ARGUMENT...: the least seconds; the answers stay in $tmp/answers.
best() {
    for ((i = 0; i < rounds; i++)); do
        "$tmp/eval" "$@" >"$tmp/answers"
        awk 'NR == 1 { print $2 }' "$tmp/answers"
    done | sort -n | head -n 1
}

# `right seen` of each section, as both programs have them.
ours() { awk '$1 == "semantic" { exit } NR > 1 { print $2, $3 }' "$tmp/answers"; }
theirs() { sed -n 's/^ACCURACY TOP1:.*(\([0-9]*\) \/ \([0-9]*\))$/\1 \2/p' "$tmp/accuracy"; }

json=
for top in 30000 0; do
    seconds=$(best suite "$vectors" "$questions" "$top" add "$threads")
    total=$(awk '$1 == "total" { print $2 " of " $3 " seen of " $4 }' "$tmp/answers")
    line="analogies, top words $top: $seconds s with $threads threads, right $total"
    other=null same=null
    if [ -n "${COMPUTE_ACCURACY:-}" ]; then
        from=$EPOCHREALTIME
        "$COMPUTE_ACCURACY" "$vectors" "$top" <"$questions" >"$tmp/accuracy"
        other=$(awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f", b - a }')
        same=false
        [ "$(ours)" != "$(theirs)" ] || same=true
        line="$line; compute-accuracy $other s, same counts: $same"
    fi
    echo "$line"
    json="$json{\"top_words\": $top, \"seconds\": $seconds, \"compute_accuracy_seconds\": $other, \
\"same_counts\": $same}, "
done
near=$(best nearest "$vectors" "${WORD:-king}" 10 "$threads" 10)
echo "nearest: $near s"
echo "{\"threads\": $threads, \"rounds\": $rounds, \"analogies\": [${json%, }], \
\"nearest_seconds\": $near}" >"$results/eval.json"
