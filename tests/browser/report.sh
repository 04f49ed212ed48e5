#!/bin/sh
# The pages of studies, one with predictions, and of a run in headless Chromium, with screenshots and a PDF;
# run by hand.
#
#     tests/browser/report.sh SHOAL FOLDER      screenshots go to FOLDER
#
# Needs Debian's chromium and nodejs; playwright-core comes from npm, into FOLDER.
set -eu

shoal=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)

[ -d "$out/node_modules/playwright-core" ] ||
    (cd "$out" && npm install --silent --no-save --no-audit --no-fund playwright-core)
cd "$out"
[ -e world.shoal ] || {
    "$shoal" gen world --words 300000 --quiet --output world.txt --questions questions.txt
    "$shoal" encode --quiet --output world.shoal world.txt
}
"$shoal" study cbow world.shoal --workers 1,2,4 --sync async,sync --repeat 1 --epochs 3 \
    --target-loss 2.2 --quiet --output study --plots figures -- --dim 20 --valid 5% \
    --eval questions.txt
"$shoal" report study/runs/cell-003-001/metrics.jsonl --quiet --output run.html --plots plots
[ -e spiral.csv ] || "$shoal" gen spiral --samples 4000 --quiet --output spiral.csv
echo '{"name": "16 nodes on 1 Gbit/s", "nodes": 16, "gigabits": 1, "microseconds": 50,
 "workers": [1, 2, 4, 8, 16]}' >cluster.json
"$shoal" study mlp spiral.csv --workers 1,2 --sync sync,average:8 --repeat 1 --epochs 4 --quiet \
    --simulate cluster.json --output predicted -- --layers 64,64
NODE_PATH=$out/node_modules exec node "$here/report.js" "$out"
