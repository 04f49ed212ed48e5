# Metrics and plan say how many examples are held out, for every model; training counts the rest.
export SHOAL_ISA=scalar
shoal gen world --words 20000 -q -o world.txt
shoal gen clicks --rows 2000 -q -o clicks.tsv
shoal gen clicks --rows 300 --seed 2 -q -o other.tsv
shoal gen spiral --samples 500 -q -o spiral.csv
shoal gen spiral --samples 70 --seed 2 -q -o other.csv
shoal gen pictures --train 60 --test 10 -q -o pictures
awk 'BEGIN { for (i = 0; i < 200; i++) print i % 3, (i % 7 + 1) ":1" }' >classes.svm
shoal train cbow world.txt --dim 4 --epochs 1 --threads 1 -q -o vectors.bin

# held MODEL ...: what the metrics of a run say of its data, and what it then trained
held()
{
    rm -f m.jsonl
    show shoal train "$@"
    shoal train "$@" --epochs 1 --threads 1 --metrics m.jsonl -o x.shoal 2>&1 | grep '[0-9] held out$'
    head -n 1 m.jsonl | grep -oE '"(examples|held_out)":[0-9]*' | tr '\n' ' '
    tail -n 1 m.jsonl | sed -E 's/.*"unit":"([a-z]*)","examples":([0-9]*).*/trained \2 \1/'
}

held cbow world.txt --dim 4 --valid 10%
held cbow world.txt --dim 4 --valid 0
held skipgram world.txt --dim 4 --loss softmax --batch 64 --valid 5%
held logreg clicks.tsv
held logreg clicks.tsv --valid-share 10%
held logreg clicks.tsv --valid other.tsv
held multinomial classes.svm --valid-share 10%
held mlp spiral.csv
held mlp spiral.csv --valid other.csv
held nextword world.txt --vectors vectors.bin --length 3 --valid 10%
held vgg pictures --base 16 --batch 30
held vgg pictures/data_batch_1.bin --base 16 --batch 5 --valid-share 25%
