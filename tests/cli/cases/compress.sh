# Vectors made small, with what is lost of them; the verb's own failures.

shoal gen world --words 60000 -o text -q
shoal train skipgram text -o v.shoal --dim 16 --epochs 1 --threads 1 --deterministic --buckets 2000 --minn 3 --maxn 4 -q

try shoal compress v.shoal small.shoal --threads 1 | sed -E 's/[0-9.]+ (KiB|MiB)/SIZE/; s/^(smaller +)[0-9.]+/\1N/; s/^(cosine +)0\.9[0-9]+/\1NEAR 1/'
try shoal compress v.shoal again.shoal --threads 3 -q
cmp small.shoal again.shoal && echo the same
try shoal info small.shoal --top 0 | sed -E 's/[0-9.]+ (KiB|MiB)/SIZE/; s/^(words +)[0-9,]+/\1N/'
try shoal compress v.shoal small.ftz --qnorm --dsub 4 --cutoff 1500 -q
try shoal info small.ftz --top 0 | sed -E 's/[0-9.]+ (KiB|MiB)/SIZE/; s/^(words +)[0-9,]+/\1N/'
try shoal convert small.ftz back.shoal -q
try shoal compress small.shoal x.shoal
try shoal compress v.shoal x.shoal --dsub 17
try shoal convert small.shoal x.shoal --top 3 -q
printf '%s\n' '2 2' 'a 1 2' 'b 3 4' >few.vec
try shoal compress few.vec x.shoal
try shoal compress v.shoal
