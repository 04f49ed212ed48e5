# The learning rate is the one that was given, on any number of ranks.
export SHOAL_ISA=scalar

shoal gen world --words 5000 -q -o world.txt
shoal gen clicks --rows 500 -q -o clicks.tsv

# "0.05 x 1, 0.0499" of what the settings and the first report say
rates()
{
    shoal train "$@" --metrics m.jsonl -q && sed -nE \
        's/.*"settings".*"first_lr":([0-9.e-]*),"lr_scale":([0-9.e-]*),.*/\1 x \2/p' m.jsonl &&
        sed -nE 's/.*"event":"epoch".*"lr":([0-9.e-]*),.*/  \1/p' m.jsonl
}

few="--dim 4 --epochs 1 --threads 1 --schedule constant"
for ranks in 1 2; do
    echo "$ranks ranks:"
    for how in "" "--lr 0.02" "--lr 0.02 --lr-scaling on" "--lr-scaling off"; do
        rates skipgram world.txt $few $how --ranks $ranks -o v.bin
    done
    rates cbow world.txt $few --lr 0.05 --ranks $ranks -o v.bin
    rates logreg clicks.tsv --optimizer sgd --schedule constant --sync average:2 --epochs 1 \
        --ranks $ranks -o c.shoal
    rates logreg clicks.tsv --optimizer sgd --schedule constant --sync average:2 --lr 0.03 \
        --epochs 1 --ranks $ranks -o c.shoal
done
shoal train skipgram world.txt $few --ranks 2 -o v.bin 2>&1 | grep '^rate'
shoal train skipgram world.txt $few --ranks 2 --lr 0.01 -o v.bin 2>&1 | grep '^rate'
try shoal train mlp spiral.csv --lr-scaling on -o n.shoal
