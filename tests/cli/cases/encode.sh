small_text >text.txt
try shoal encode text.txt -o text.shoal --min-count 2 --threads 2
try shoal info text.shoal --top 3

echo "with a vocabulary made before:"
shoal vocab -q text.txt --min-count 3 --unk -o vocab.txt
try shoal encode text.txt --vocab vocab.txt -o given.shoal --threads 2
try shoal info given.shoal

echo "from a stream:"
small_text | try shoal encode - -o stream.shoal --min-count 2 --threads 2
cmp text.shoal stream.shoal && echo "the same file"

echo "quiet is quiet:"
try shoal encode text.txt -o quiet.shoal -q --min-count 2
cmp text.shoal quiet.shoal && echo "the same file"

echo "what cannot fit is refused:"
try shoal encode text.txt -o refused.shoal -q --threads 2 --memory 1K
try shoal encode text.txt -o nowhere/text.shoal -q
try shoal encode text.txt -o refused.shoal -q --vocab text.txt
ls
