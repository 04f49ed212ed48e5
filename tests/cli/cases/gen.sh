try shoal gen world --words 2000 --seed 1 -o text.txt --questions analogies.txt
shoal gen world --words 2000 --seed 1 -q -o again.txt --questions - >questions.txt
cmp text.txt again.txt && cmp analogies.txt questions.txt && echo "the same seed, the same bytes"
shoal gen world --words 2000 --seed 2 -q | cmp -s text.txt - || echo "another seed, other bytes"
try shoal gen world --words 20 -q
try shoal gen world --words 20 -q -o nowhere/text.txt
head -3 analogies.txt

echo "all the way:"
shoal encode -q text.txt -o text.shoal && shoal info text.shoal | sed -n 2,5p
