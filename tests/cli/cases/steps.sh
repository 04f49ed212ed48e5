# So many steps instead of epochs, for every model.
export SHOAL_ISA=scalar

shoal gen world --words 20000 -q -o world.txt
shoal gen clicks --rows 3000 -q -o clicks.tsv
shoal gen spiral --samples 500 -q -o spiral.csv

# "examples 640, steps 10, epochs 1, lr 0.001" of the last line
told()
{
    tail -n 1 m.jsonl | sed -E 's/.*"epochs":([0-9]*),.*"examples":([0-9]*),"steps":([0-9]*),.*"lr":([0-9.e-]*),.*/examples \2, steps \3, epochs \1, lr \4/'
}

echo "steps of the exact softmax are batches, of any length of the text:"
exact="--loss softmax --max-vocab 50 --dim 4 --sample 0 --window-fixed --across-lines -q"
for n in 1 10 500; do
    shoal train cbow world.txt $exact --steps $n --batch 64 --metrics m.jsonl -o v.bin && told
done
shoal train skipgram world.txt $exact --steps 10 --batch 100 --schedule constant --lr 0.01 \
    --metrics m.jsonl -o v.bin && told
shoal train cbow world.txt $exact --steps 40 --ranks 2 --metrics m.jsonl -o v.bin && told

echo "of other models they are --batch words, rows or samples:"
shoal train logreg clicks.tsv --steps 100 --batch 10 --metrics m.jsonl -q -o c.shoal && told
shoal train logreg clicks.tsv --steps 700 --batch 10 --metrics m.jsonl -q -o c.shoal && told
shoal train mlp spiral.csv --steps 7 --batch 32 --metrics m.jsonl -q -o n.shoal && told
shoal train mlp spiral.csv --steps 30 --batch 32 --schedule linear --lr 0.1 --metrics m.jsonl -q \
    -o n.shoal && told
tr ' ' '\n' <world.txt | grep . | tr '\n' ' ' >line.txt # no line ends, which count too
shoal train cbow line.txt --steps 50 --batch 20 --min-count 1 --valid 0 --threads 1 \
    --metrics m.jsonl -q -o v.bin && told

echo "steps of an epoch are that epoch:"
shoal train mlp spiral.csv --epochs 2 --batch 50 --valid-share 0 -q -o a.shoal
shoal train mlp spiral.csv --steps 20 --batch 50 --valid-share 0 -q -o b.shoal
cmp a.shoal b.shoal && echo same

echo "a run that stopped goes on:"
for task in "mlp spiral.csv --batch 32" "logreg clicks.tsv --batch 10 --deterministic" \
    "cbow world.txt $exact" "skipgram world.txt --dim 4 --deterministic"; do
    shoal train $task --steps 700 --checkpoint run --checkpoint-every epoch -q -o whole.shoal
    if [ "$task" = "mlp spiral.csv --batch 32" ]; then
        shoal info run | sed -n '/progress/p;/^steps/p'
    fi
    rm "run/$(ls run | grep checkpoint- | tail -n 1)"
    shoal train --resume run -q -o again.shoal
    cmp whole.shoal again.shoal && echo "same: ${task%% *}"
    rm -r run
done

echo "what does not go together:"
try shoal train cbow world.txt --steps 10 --epochs 2 -o v.bin
try shoal train cbow world.txt --steps 10 --local-input -o v.bin
try shoal train mlp spiral.csv --steps 1000000000 --batch 500 -q -o n.shoal
