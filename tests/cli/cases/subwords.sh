# Words of n-grams: trained, asked with words that were never seen, and refused where it cannot be.
shoal gen world --words 60000 --seed 3 -o world.txt --questions asked.txt -q
try shoal train skipgram world.txt --dim 16 --epochs 1 --deterministic --minn 3 --maxn 5 --buckets 4000 -q -o v.shoal
try shoal info v.shoal

# The same bytes of three threads.
shoal train skipgram world.txt --dim 16 --epochs 1 --deterministic --minn 3 --maxn 5 --buckets 4000 -q -o w.shoal --threads 3
try cmp v.shoal w.shoal

# A word of the text, with another ending. Which word is nearest need not be the same everywhere.
shoal similar v.shoal capitalzz -k 1 | sed '$d'
shoal similar v.shoal capitalzz -k 1 --json | sed 's/"hits.*/.../'
shoal analogy v.shoal capital the capitalzz -k 1 --json | sed 's/"hits.*/.../'
shoal odd v.shoal capital capitals capitalzz the | sed 's/: .*//'
shoal distance v.shoal capitalzz capital --json | awk -F '[:}]' '{ print $NF, ($(NF - 1) > 0.6 ? "near" : "far") }'
printf '%s\n' capital qqqq | shoal similar v.shoal -k 1 | grep -E 'similar|never'
printf 'neverseena neverseenb 3\nneverseena neverseenc 2\nneverseenx nothing 1\n' >pairs.txt
shoal eval v.shoal pairs.txt | grep -E 'found|composed'
shoal eval v.shoal pairs.txt --json | grep -o '"seen":.*"total":[0-9]*\|"composed":[0-9]*'

# Other formats have the words alone: there what is unknown stays so.
try shoal convert v.shoal v.vec -q
try shoal similar v.vec qqqq
try shoal convert v.shoal half.shoal --dtype f16 --top 50 -q
shoal info half.shoal | grep -E 'words|subwords'

# A run goes on from it.
try shoal train skipgram world.txt --dim 16 --epochs 1 --minn 3 --maxn 5 --buckets 4000 --start-from v.shoal -q -o u.shoal

# Words that are hashed too, for spaCy.
try shoal train cbow world.txt --dim 16 --epochs 1 --minn 3 --maxn 5 --buckets 4000 --hash-only 2 -q -o hashed.shoal
shoal info hashed.shoal | grep -E 'subwords|hashed'
try shoal convert hashed.shoal hashed.floret -q
head -n 1 hashed.floret
wc -l <hashed.floret
try shoal convert v.shoal v.floret -q

try shoal train cbow world.txt --hash-only 2 -o x.shoal
try shoal train cbow world.txt --maxn 6 -o x.shoal
try shoal train cbow world.txt --minn 4 --maxn 3 -o x.shoal
try shoal train cbow world.txt --minn 3 --maxn 6 --loss softmax -o x.shoal
try shoal train cbow world.txt --minn 3 --maxn 33 -o x.shoal
try shoal train cbow world.txt --minn 3 --maxn 6 --buckets 0 -o x.shoal
