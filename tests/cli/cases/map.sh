# Maps of word vectors: the page, files of TensorBoard's projector, the same bytes; what is refused.

shoal gen world --words 60000 -o text -q
shoal train skipgram text -o v.shoal --dim 16 --epochs 1 --threads 1 --deterministic -q

# What t-SNE finds depends on the instruction set in its last digits.
figures() { sed -E 's/[0-9.]+ (KiB|MiB)/SIZE/; s/0\.[0-9]{3}/TRUST/; s/[0-9]+ % of them kept/N % of them kept/; s/loss [0-9.]+/loss N/'; }

try shoal map v.shoal -o map.html -n 300 --threads 2 | figures
try shoal map v.shoal -o one.html -n 300 --threads 1 --title map.html -q
try shoal map v.shoal -o three.html -n 300 --threads 3 --title map.html -q
cmp one.html three.html && echo the same
head -c 15 map.html && tail -1 map.html
grep -c '<script' map.html
grep -oE '(src|href)="[^"]*"' map.html | cut -c1-20
try shoal map v.shoal --method umap --rounds 50 -n 200 --clusters 4 --tsv projector -q
ls projector
head -1 projector/metadata.tsv
wc -l <projector/vectors.tsv
wc -l <projector/metadata.tsv
awk -F '\t' '{ n[NF]++ } END { for (i in n) print n[i], "lines of", i }' projector/vectors.tsv
cat projector/projector_config.pbtxt
shoal map v.shoal --method pca -n 50 --json -q >points
wc -l <points
head -1 points | grep -oE '"words":50,"layouts":\[\{"name":"PCA"'
sed -n 2p points | grep -oE '"word":"[^"]*","cluster"'

try shoal map v.shoal
try shoal map v.shoal --json -o -
try shoal map missing.shoal -o x.html
try shoal map text -o x.html
try shoal map v.shoal -o x.html -n 3
try shoal map v.shoal -o x.html --perplexity 1
try shoal map v.shoal -o x.html --method isomap
try shoal map v.shoal -o nowhere/x.html
printf '%s\n' '3 2' 'a 1 2' 'b 3 4' 'c 1 1' >few.vec
try shoal map few.vec -o x.html
touch file
try shoal map v.shoal --method pca --tsv file
ls x.html
