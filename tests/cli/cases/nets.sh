try shoal gen spiral --samples 6 --seed 3 -q
shoal gen spiral --samples 2000 -q -o spiral.csv
try shoal train mlp spiral.csv --layers 32 --epochs 40 --lr 0.02 -q -o net.shoal --metrics net.jsonl
grep -c '"event":"epoch"' net.jsonl

echo "what it is:"
shoal info net.shoal | grep -v loss | grep -v acc
shoal eval net.shoal spiral.csv --json | grep -o '"samples":2000'
accuracy=$(shoal eval net.shoal spiral.csv --json | sed 's/.*"accuracy":\([0-9.]*\).*/\1/')
awk "BEGIN { exit !($accuracy > 0.9) }" && echo "it learned"
head -4 spiral.csv >some.csv
shoal predict net.shoal some.csv | awk '{ print NF }'
printf '0.1,0.2\n' | shoal predict net.shoal - | awk '{ print NF }'

echo "a net remembers where the class stands, and is told otherwise:"
awk -F, '{ print $3 "," $1 "," $2 }' spiral.csv >first.csv
try shoal train mlp first.csv --label 1 --layers 32 --epochs 40 --lr 0.02 -q -o first.shoal
shoal info first.shoal | grep label
shoal eval net.shoal spiral.csv --json | sed 's/.*"samples"//' >last.json
shoal eval first.shoal first.csv --json | sed 's/.*"samples"//' | cmp - last.json && echo "as well"
shoal predict net.shoal spiral.csv >last.tsv
shoal predict first.shoal first.csv | cmp - last.tsv && echo "the same answers"
shoal predict first.shoal spiral.csv --label 0 | cmp - last.tsv && echo "told otherwise"
cut -d, -f 1,2 spiral.csv | shoal predict first.shoal - | cmp - last.tsv && echo "without any"
try shoal convert -q first.shoal first.safetensors
try shoal convert -q first.safetensors back.shoal
shoal info back.shoal | grep label
sed 1d first.csv >numbers.csv
try shoal train mlp numbers.csv --regression --targets 2 --label 1 --epochs 1 -q -o numbers.shoal
shoal eval numbers.shoal numbers.csv --json | grep -c rmse
shoal predict numbers.shoal numbers.csv | awk 'NR == 1 { print NF }'
rm first.csv first.shoal first.safetensors back.shoal numbers.csv numbers.shoal last.json last.tsv

echo "names of classes, from a file:"
printf '{"0": "spring", "1": ["s2", "summer"], "2": "autumn", "3": "winter"}' >names.json
printf 'spring\nsummer\nautumn\nwinter\n' >names.txt
shoal predict net.shoal some.csv | cut -f 1 >indices.txt
try shoal predict net.shoal some.csv --class-index names.json -o named.tsv
cut -f 1 named.tsv
shoal predict net.shoal some.csv --class-index names.txt | cmp - named.tsv && echo "the same as lines"
shoal predict net.shoal some.csv --class-index indices | cut -f 1 | cmp - indices.txt && echo "indices"
cut -f 2- named.tsv >there
shoal predict net.shoal some.csv | cut -f 2- | cmp - there && echo "the same probabilities"
head -n 3 names.txt >three.txt
printf '{"0": "spring"' >broken.json
try shoal predict net.shoal some.csv --class-index three.txt
try shoal predict net.shoal some.csv --class-index broken.json
try shoal predict net.shoal some.csv --class-index nowhere.json
printf '0 1:1\n1 2:1\n' >two.svm
shoal train logreg two.svm -q -o two.shoal
try shoal predict two.shoal two.svm --class-index names.txt
rm names.json names.txt indices.txt named.tsv there three.txt broken.json two.svm two.shoal

echo "the same bytes for any number of threads:"
shoal train mlp spiral.csv --layers 32 --epochs 2 --threads 1 -q -o a.shoal
shoal train mlp spiral.csv --layers 32 --epochs 2 --threads 3 -q -o b.shoal
cmp a.shoal b.shoal && echo same

echo "stopped, and going on with the options it remembers:"
# lines N FILE: waits until the file has so many
lines()
{
    until [ -e "$2" ] && [ "$(wc -l <"$2")" -ge "$1" ]; do
        sleep 0.1
    done
}
mkdir elsewhere
shoal train mlp spiral.csv --layers 32 --epochs 1000000 --checkpoint run --metrics run.jsonl -q -o c.shoal 2>first &
lines 20 run.jsonl
kill -TERM $!
wait $! || echo "[exit $?]"
sed 's/at [0-9.]* %/at SOME/' first
shoal info run | grep -E '^(model|layers) '
before=$(wc -l <run.jsonl)
(cd elsewhere && exec shoal train --resume ../run --trust -q) 2>second &
lines $((before + 20)) run.jsonl
kill -TERM $!
wait $! || echo "[exit $?]"
sed 's/at [0-9.]* %/at SOME/; s/resume .*run/resume RUN/' second
try shoal train mlp spiral.csv --layers 32 --epochs 1000000 --checkpoint run -q -o c.shoal 2>&1 |
    sed 's/at [0-9.]*%/at SOME/'
try shoal train mlp spiral.csv --layers 32 --epochs 2001 --resume run -q -o c.shoal 2>&1 |
    sed 's/checkpoint-[0-9]*/checkpoint/'

echo "resumed, and resumed again when it is at its end: the same bytes"
shoal train mlp spiral.csv --layers 8 --epochs 3 --checkpoint ended --checkpoint-every epoch -q -o d.shoal
cp d.shoal whole.shoal
rm ended/checkpoint-000003.shoal
for i in 1 2; do
    rm d.shoal
    try shoal train --resume ended -q
    cmp d.shoal whole.shoal && echo same
done

echo "what cannot be:"
printf '1,2,0\n3,4\n' >short.csv
try shoal train mlp short.csv -o x.shoal
try shoal train mlp spiral.csv --layers 3,,4 -o x.shoal
try shoal train mlp spiral.csv --wire bf16 -o x.shoal
try shoal train mlp spiral.csv --replica blocks -o x.shoal
try shoal train mlp spiral.csv --local-input -o x.shoal
try shoal train mlp spiral.csv --lr 1000 --optimizer sgd --epochs 200 -q -o x.shoal 2>&1 |
    sed 's/after [0-9]* samples/after SOME samples/; s/the loss is .*;/the loss is SO;/'
printf '1,2,3,0\n' >wide.csv
try shoal eval net.shoal wide.csv
try shoal predict net.shoal nowhere.csv
try shoal predict spiral.csv spiral.csv
try shoal predict nosuch.shoal spiral.csv
ls x.shoal 2>/dev/null

echo "next words:"
shoal gen world --words 20000 --seed 1 -q -o text.txt
shoal encode -q text.txt -o text.shoal
shoal train cbow text.shoal --dim 8 --epochs 2 --threads 1 -q -o vectors.bin
try shoal train nextword text.shoal --vectors vectors.bin --length 3 --hidden 16 --epochs 2 -q --statistics statistics.csv -o next.shoal
wc -l <statistics.csv
head -1 statistics.csv
shoal predict next.shoal "the capital of" --top 3 | wc -l
shoal predict next.shoal "the capital of" --generate 5 | wc -w
shoal predict next.shoal "the capital of" --vector | awk '{ print NF, NR }'
shoal predict next.shoal "the capital of" --vector -k 3 | awk '{ print NF }'
try shoal predict next.shoal "zzzz qqqq" --vector
try shoal predict next.shoal "the capital of" -k 3
try shoal predict next.shoal "the capital of" --vector --generate 3
try shoal predict net.shoal spiral.csv --vector
try shoal eval next.shoal text.txt
try shoal eval vectors.bin spiral.csv
try shoal predict next.shoal "zzzz qqqq"
try shoal train nextword text.shoal --vectors vectors.bin --length 900 -q -o x.shoal
