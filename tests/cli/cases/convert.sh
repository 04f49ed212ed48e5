printf '3 2\nthe 0.5 -1.25\ncat 0.1 1e-07\ndog 3 4\n' >small.vec
try shoal convert small.vec small.shoal
try shoal convert small.shoal small.bin
try shoal convert small.bin small.glove
try shoal convert small.glove small.npy
try shoal convert small.npy small.safetensors
try shoal convert small.safetensors back.vec
cmp small.vec back.vec && echo "all the way round: the same bytes"
cat small.glove small.npy.vocab

echo "options:"
try shoal convert -q small.vec - --format glove
try shoal convert -q small.vec - --format text --normalize --top 1
try shoal convert --dtype int8 small.vec quarter.shoal
try shoal convert -q quarter.shoal - -f glove
try shoal convert -q --dtype f16 --top 2 small.vec half.npy
try shoal convert -q half.npy - -f text
gzip -k small.vec
try shoal convert -q small.vec.gz - -f glove

echo "what cannot be:"
try shoal convert -q --dtype f16 small.vec small.bin
try shoal convert -q small.vec small.npz
try shoal convert -q small.vec - -f npy
try shoal convert -q small.vec - -f shoal
try shoal convert -q nothing.vec small.bin
try shoal convert small.vec
printf 'the 1 2\nnew york 3 4\n' >york.glove
try shoal convert -q york.glove york.vec
try shoal convert -q york.glove york.shoal
try shoal convert -q york.shoal - -f glove

echo "what is malformed:"
printf '2 2\na 1 2\na 3 4\n' >twice.vec
try shoal convert -q twice.vec out.bin --strict
printf '2 2\na 1 2\nb nan 4\n' >nan.vec
try shoal convert -q nan.vec out.bin
printf '4000000000 300\na 1 2\n' >huge.vec
try shoal convert -q huge.vec out.bin
head -c 40 small.bin >cut.bin
try shoal convert -q cut.bin out.bin
ls
