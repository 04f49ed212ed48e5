# What is held out lies all over the input, or at its end when asked.
export SHOAL_ISA=scalar

# figure NAME: of what was held out, as the last line of metrics has it.
figure()
{
    sed -nE 's/.*"event":"done".*"valid":\{[^}]*"'"$1"'":([0-9.e+-]+).*/\1/p' metrics.json | tail -n 1
}

# below A B: whether A is less.
below()
{
    awk "BEGIN { print ($1 < $2) ? \"lower\" : \"not lower: $1, $2\" }"
}

shoal gen world --words 20000 -q -o book.txt
shoal gen world --words 3000 --seed 7 -q -o licence.txt
tr 'a-z' 'n-za-m' <licence.txt >>book.txt # its last part is of other words
shoal train skipgram book.txt --dim 8 --epochs 1 -q --threads 1 -o book.bin

echo "a text that ends in something else is measured by all of it:"
for task in "skipgram" "cbow --loss softmax --max-vocab 100" "skipgram --loss hs"; do
    for at in spread end; do
        rm -f metrics.json
        shoal train $task book.txt --epochs 2 --threads 1 --valid 0.1 --valid-at $at -q \
            --metrics metrics.json -o model.shoal
        eval "$at=$(figure loss)"
    done
    echo "$task: $(below "$spread" "$end")"
done
for at in spread end; do
    rm -f metrics.json
    shoal train nextword book.txt --vectors book.bin --length 3 --hidden 16 --epochs 1 --threads 1 \
        --valid 0.1 --valid-at $at --seed 3 -q --metrics metrics.json -o model.shoal
    eval "$at=$(figure loss)"
done
[ "$spread" != "$end" ] && echo "nextword: other windows"

echo "rows in the order of their class:"
awk 'BEGIN { for (i = 0; i < 4000; i++) print int(i / 2000), (i % 7 + 1) ":1" }' >rows.svm
for task in logreg multinomial; do
    for at in spread end; do
        rm -f metrics.json
        shoal train $task rows.svm --threads 1 --valid-share 0.2 --valid-at $at -q \
            --metrics metrics.json -o model.shoal
        echo "$task $at: accuracy $(figure accuracy | cut -c 1-4)"
    done
done

echo "a run that goes on knows where:"
shoal train skipgram book.txt --dim 8 --epochs 2 --deterministic --valid 0.1 -q --checkpoint run \
    --checkpoint-every epoch -o whole.bin
rm run/checkpoint-000002.shoal
try shoal train --resume run --valid-at end -o again.bin
shoal train --resume run -q -o again.bin
cmp whole.bin again.bin && echo "the same bytes"

echo "where nothing is held out, nothing can be at the end:"
try shoal train skipgram book.txt --valid 0 --valid-at end -o model.bin
try shoal train logreg rows.svm --valid rows.svm --valid-at end -o model.shoal
