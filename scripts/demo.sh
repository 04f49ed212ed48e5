#!/bin/sh
# From nothing to an encoded corpus in demo/: generates a small world of
# sentences, counts its words, encodes it and says what was found.
#
#     scripts/demo.sh BUILD
set -eu

cd "$(dirname "$0")/.."
shoal=$PWD/${1:-build}/cli/shoal
mkdir -p demo
cd demo

# Shows a command, then runs it.
run() {
    echo "\$ shoal $*"
    "$shoal" "$@"
    echo
}

run gen world --words 3000000 --output world.txt --questions questions.txt
run vocab --output vocab.txt world.txt
run encode --output world.shoal world.txt
run info world.shoal

echo "the text starts:"
head -n 3 world.txt
echo
echo "the commonest words:"
head -n 5 vocab.txt
echo
echo "all of it is in demo/"
