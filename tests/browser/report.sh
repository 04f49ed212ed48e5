#!/bin/sh
# The pages of studies, one with predictions, and of runs of every kind of model in headless Chromium, with
# screenshots, PDFs and axe-core; run by hand.
#
#     tests/browser/report.sh SHOAL FOLDER      screenshots go to FOLDER
#
# Needs Debian's chromium and nodejs; playwright-core and axe-core come from npm, into FOLDER.
set -eu

shoal=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)

[ -d "$out/node_modules/axe-core" ] ||
    (cd "$out" && npm install --silent --no-save --no-audit --no-fund playwright-core axe-core)
cd "$out"
[ -e world.shoal ] || {
    "$shoal" gen world --words 300000 --quiet --output world.txt --questions questions.txt
    "$shoal" encode --quiet --output world.shoal world.txt
}
rm -rf study predicted # of another program, perhaps
"$shoal" study cbow world.shoal --workers 1,2,4 --sync async,sync --repeat 1 --epochs 3 \
    --target-loss 2.2 --quiet --output study --plots figures -- --dim 20 --valid 5% \
    --eval questions.txt
"$shoal" report study/runs/cell-003-001/metrics.jsonl --quiet --output run.html --plots plots
[ -e spiral.csv ] || "$shoal" gen spiral --samples 4000 --quiet --output spiral.csv
echo '{"name": "16 nodes on 1 Gbit/s", "nodes": 16, "gigabits": 1, "microseconds": 50,
 "workers": [1, 2, 4, 8, 16]}' >cluster.json
"$shoal" study mlp spiral.csv --workers 1,2 --sync sync,average:8 --repeat 1 --epochs 4 --quiet \
    --simulate cluster.json --output predicted -- --layers 64,64

# learn NAME TASK ...: a run and its report
learn() {
    name=$1
    shift
    "$shoal" train "$@" --quiet --metrics "$name.jsonl" --output "$name.model"
    "$shoal" report "$name.jsonl" --quiet --output "$name.html"
}

[ -e pictures ] || "$shoal" gen pictures --train 2000 --test 500 --quiet --output pictures
[ -e news.txt ] || "$shoal" gen news --lines 4000 --quiet --output news.txt
[ -e clicks.tsv ] || "$shoal" gen clicks --rows 20000 --quiet --output clicks.tsv
[ -e people.csv ] || "$shoal" gen people --quiet --output people.csv
sed 's/,0$/,<img src=x onerror=alert(1)>/; s/,1$/,<\/script><script>alert(1)<\/script>/' spiral.csv >evil.csv
awk 'BEGIN { srand(3); print "size,age,price"; for (i = 0; i < 2000; i++) {
    a = 10 * rand(); b = 6 * rand(); print a "," b "," 200 + 10 * a * sin(b) + a * (rand() - 0.5) } }' >prices.csv
learn mlp mlp spiral.csv --epochs 10
learn prices mlp prices.csv --regression
learn evil mlp evil.csv --epochs 2
"$shoal" report mlp.jsonl evil.jsonl --quiet --output two.html
learn classify classify news.txt --epochs 2 --valid-share 20%
learn logreg logreg clicks.tsv --valid-share 20%
learn multinomial multinomial people.csv --label city --skip-bad 100000 --valid-share 20%
learn vgg vgg pictures --epochs 1 --base 16
learn skipgram skipgram world.shoal --dim 20 --epochs 2 --minn 3 --maxn 5 --buckets 20000
learn deep mlp spiral.csv --epochs 10 --layers 32,32,32
"$shoal" report mlp.jsonl deep.jsonl evil.jsonl --quiet --output three.html
head -n 1 mlp.jsonl >begun.jsonl # of a run that was just begun
"$shoal" report begun.jsonl --quiet --output begun.html
learn nextword nextword world.shoal --vectors skipgram.model --length 4 --epochs 1 --valid 5%
cp mlp.jsonl '<b>"run" & co.jsonl'
"$shoal" report '<b>"run" & co.jsonl' logreg.jsonl skipgram.jsonl vgg.jsonl --quiet --output mixed.html
NODE_PATH=$out/node_modules exec node "$here/report.js" "$out"
