#!/bin/sh
# The page of `shoal map` in headless Chromium, with screenshots; run by hand.
#
#     tests/browser/map.sh SHOAL FOLDER [VECTORS]      screenshots go to FOLDER
#
# VECTORS are shown too, if given: real words look better than those of a generated world. Needs
# Debian's chromium and nodejs; playwright-core and axe-core come from npm, into FOLDER.
set -eu

shoal=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)

[ -d "$out/node_modules/axe-core" ] ||
    (cd "$out" && npm install --silent --no-save --no-audit --no-fund playwright-core axe-core)
if [ ! -e "$out/words.shoal" ]; then
    "$shoal" gen world --words 1000000 --quiet --output "$out/world.txt"
    "$shoal" train cbow --dim 50 --epochs 3 --quiet --output "$out/words.shoal" "$out/world.txt"
fi
if [ ! -e "$out/many.shoal" ]; then
    "$shoal" gen world --words 3000000 --quiet --output "$out/many.txt"
    "$shoal" train cbow --dim 100 --epochs 1 --min-count 1 --quiet --output "$out/many.shoal" "$out/many.txt"
fi
"$shoal" map "${3-$out/words.shoal}" --quiet --output "$out/map.html"
NODE_PATH=$out/node_modules exec node "$here/map.js" "$out" "$shoal"
