#!/bin/sh
# The live page of runs in headless Chromium, with screenshots; run by hand.
#
#     tests/browser/live.sh SHOAL FOLDER      screenshots go to FOLDER
#
# Needs Debian's chromium and nodejs; playwright-core and axe-core come from npm, into FOLDER.
set -eu

shoal=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)

[ -d "$out/node_modules/axe-core" ] ||
    (cd "$out" && npm install --silent --no-save --no-audit --no-fund playwright-core axe-core)
[ -e "$out/spiral.csv" ] || "$shoal" gen spiral --samples 4000 --quiet --output "$out/spiral.csv"
NODE_PATH=$out/node_modules exec node "$here/live.js" "$shoal" "$out"
