small_text >text.txt
shoal vocab -q text.txt --min-count 2 -o vocab.txt
shoal vocab -q text.txt --min-count 2 --eos -o eos.txt
shoal encode -q text.txt --min-count 2 -o text.shoal
try shoal info text.shoal
try shoal info vocab.txt --top 2
try shoal info eos.txt --top 0

echo "vectors:"
printf '2 3\nsmall 1 2 3\nfish 4 5 6\n' >vectors.vec
try shoal info vectors.vec
printf '5 3\nsmall 2\n' >numbers.txt
try shoal info numbers.txt

echo "what is no file of ours:"
try shoal info text.txt
try shoal info .
: >empty
try shoal info empty
head -c 100 text.shoal >cut.shoal
try shoal info cut.shoal

echo "a changed byte:"
cp text.shoal changed.shoal
printf '\377' | dd of=changed.shoal bs=1 seek=$(($(wc -c <text.shoal) / 2)) conv=notrunc 2>/dev/null
try shoal info changed.shoal

echo "control characters stay off the terminal:"
printf 'a\302\233x 5\n' >escape.txt
try shoal info escape.txt

try full shoal info text.shoal
