# An index of links beside vectors: made, measured, asked; the verb's own failures.

shoal gen world --words 60000 -o text -q
shoal train skipgram text -o v.shoal --dim 16 --epochs 1 --threads 1 --deterministic --min-count 1 -q
if ! shoal index v.shoal -q 2>why; then
    grep -q 'Dhnsw=enabled' why && cat "$1/cases/index.expected" # as it would be, were hnswlib there
    exit
fi
hide() { sed -E 's/[0-9.,]+ (KiB|MiB|s|ms)/N/g; s/^(rows|links|ef|recall|exact|index) .*/\1 .../'; }
try shoal index v.shoal --ef 50 --threads 1 | hide
cp v.shoal.hnsw first
try shoal index v.shoal --ef 50 --threads 1 -q
cmp first v.shoal.hnsw && echo the same
try shoal index v.shoal --measure --ef 5 | hide
try shoal index v.shoal -o w.hnsw --recall 0.9 --json | sed -E 's/:[0-9.e-]+/:N/g'
shoal similar v.shoal paris -k 3 --approx --ef 300 >approx
shoal similar v.shoal paris -k 3 --exact >exact
cmp approx exact && echo the same answers
printf 'paris\nrome berlin\n' | try shoal similar v.shoal -k 2 --index w.hnsw --json | sed -E 's/"hits.*//'
shoal analogy v.shoal paris france rome -k 1 --approx --ef 300 >approx
shoal analogy v.shoal paris france rome -k 1 >exact
cmp approx exact && echo the same answers
try shoal similar v.shoal paris --approx --exact
try shoal analogy v.shoal paris france rome --approx --cosmul
shoal convert v.shoal other.shoal --normalize -q
try shoal similar other.shoal paris --approx
try shoal similar other.shoal paris --index v.shoal.hnsw 2>&1 | sed -E 's/\([0-9a-f]{16}\)/(HASH)/g'
head -c 2000 v.shoal.hnsw >cut.hnsw
try shoal similar v.shoal paris --index cut.hnsw 2>&1 | sed -E 's/want [0-9]+$/want MORE/'
try shoal similar v.shoal paris --index v.shoal
try shoal index v.shoal --m 1
try shoal index - <v.shoal
try shoal index text -q
try shoal info v.shoal.hnsw
