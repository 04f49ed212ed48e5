# A report of each kind of model shows what it learned.
export ASAN_OPTIONS=detect_leaks=0 SHOAL_ISA=scalar
shoal gen world --words 20000 -q -o world.txt --questions questions.txt
shoal gen spiral --samples 600 --classes 3 -q -o spiral.csv
shoal gen news --lines 400 -q -o news.txt
shoal gen clicks --rows 2000 -q -o clicks.tsv
shoal gen pictures --train 200 --test 100 -q -o pictures

learn() {
    shoal train "$@" --threads 1 -q --metrics "$1.jsonl" -o "$1.out" && shoal report "$1.jsonl" -q -o "$1.html"
    echo "$1:"
    grep -o '<h2 id="what-was-learned">[^<]*' "$1.html"
    sed -n '/id="what-was-learned"/,/<h2 id="[rsw][^h]/p' "$1.html" |
        grep -oE '<h4>[^<]*|"name":"(roc|precision-recall|calibration|predicted-[abc]|residuals-[abc])|aria-label="A map of words"|<dl class="figures">|src="data:image/png' | sort -u
}

learn mlp spiral.csv --epochs 2
awk 'BEGIN { print "x,y,price"; for (i = 0; i < 300; i++) print i % 17 "," i % 23 "," 10 * (i % 17) - i % 23 }' >prices.csv
learn mlp prices.csv --regression --epochs 2
grep -oE '<dt>[^<]*|The quality \([^)]*\)' mlp.html
awk 'BEGIN { print "a,b,up,down"; for (i = 0; i < 300; i++) print i % 17 "," i % 23 "," i % 17 "," (0 - i % 23) }' >both.csv
learn mlp both.csv --regression --targets 2 --epochs 2
grep -oE '<th scope="row" class="w">(up|down)<' mlp.html
learn classify news.txt --epochs 1 --valid-share 20%
echo "labels are shown without their prefix:"
grep '"event":"learned"' classify.jsonl | grep -c __label__
learn logreg clicks.tsv --epochs 1 --valid-share 20%
shoal encode --as clicks --classes clicks.tsv -q -o many.shoal
learn multinomial many.shoal --epochs 1 --valid-share 20%
learn vgg pictures --epochs 1 --base 16 --depth 11
learn cbow world.txt --dim 8 --epochs 2 --eval questions.txt
learn skipgram world.txt --dim 8 --epochs 1 --minn 3 --maxn 4 --buckets 1000
learn nextword world.txt --vectors cbow.out --length 3 --hidden 8 --epochs 1

echo "names of classes are words, not markup:"
sed 's/,0$/,<img src=x onerror=alert(1)>/; s/,1$/,<\/script><b>/' spiral.csv >evil.csv
learn mlp evil.csv --epochs 1 >/dev/null
grep -cE '<img src=x|onerror=alert\(1\)>|</script><b>' mlp.html

echo "it is bounded, and once:"
grep -c '"event":"learned"' cbow.jsonl
find . -name '*.jsonl' -size +1000k
echo "metrics without it make a report too:"
grep -v '"event":"learned"' cbow.jsonl >old.jsonl
try shoal report old.jsonl -q -o old.html
grep -c 'What was learned' old.html
echo "what does not fit is refused, with its line:"
sed 's/"shape":"map"/"shape":"matrix"/' cbow.jsonl >bad.jsonl
try shoal report bad.jsonl -q -o bad.html 2>&1 | sed "s/jsonl:[0-9]*:/jsonl:N:/"

echo "without metrics and with them the model is the same:"
shoal train mlp spiral.csv --epochs 2 --threads 1 -q -o plain.out
shoal train mlp spiral.csv --epochs 2 --threads 1 -q --metrics p.jsonl -o told.out
cmp plain.out told.out && echo same
