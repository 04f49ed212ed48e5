#!/bin/sh
# From nothing to word vectors in demo/: generates a small world of sentences,
# encodes it, learns its words and asks them what they learned.
#
#     scripts/demo.sh BUILD
set -eu

cd "$(dirname "$0")/.."
build=${1:-build}
shoal=$PWD/$build/cli/shoal
mkdir -p demo
cd demo

# Shows a command, then runs it.
run() {
    echo "\$ shoal $*"
    "$shoal" "$@"
    echo
}

run gen world --words 3000000 --output world.txt --questions questions.txt
echo "the text starts:"
head -n 3 world.txt
echo
run encode --output world.shoal world.txt
run train cbow --output vectors.bin --metrics metrics.jsonl --valid 1% world.shoal
for word in paris king; do
    run similar -k 5 vectors.bin "$word"
done
run analogy -k 3 vectors.bin paris france rome
run analogy -k 3 vectors.bin man king woman
run analogy -k 3 vectors.bin small smaller big
run odd vectors.bin paris rome king berlin
run eval vectors.bin questions.txt
run report metrics.jsonl --output report.html --title "The demo, drawn"
echo "its report, for a browser: file://$PWD/report.html"
echo "all of it is in demo/; ask on with: $build/cli/shoal similar demo/vectors.bin"
