# The exact softmax over a small vocabulary: its accuracy, windows and steps.
export SHOAL_ISA=scalar

shoal gen world --words 20000 -q -o world.txt
exact="--loss softmax --max-vocab 50 --dim 8 --valid 5% -q"

# "train {loss, accuracy} valid {loss, accuracy}" of each epoch
keys()
{
    grep '"event":"epoch"' "$1" | sed -E 's/.*("train".*),"run".*/\1/; s/:[0-9][0-9.e-]*/:N/g'
}

echo "accuracy, the same for any number of threads:"
for threads in 1 3; do
    shoal train cbow world.txt $exact --epochs 2 --threads $threads --metrics m$threads.jsonl \
        -o v$threads.bin
    keys m$threads.jsonl
    grep '"event":"epoch"' m$threads.jsonl | sed -E 's/.*("train".*),"run".*/\1/' >f$threads
done
cmp f1 f3 && cmp v1.bin v3.bin && echo same

echo "windows that are fixed, and that reach over line ends:"
small_text >small.txt
few="--min-count 1 --dim 4 --epochs 3 --window 2 --sample 0 --valid 0 --deterministic -q"
for way in "cbow" "skipgram" "cbow --loss hs" "cbow --loss softmax"; do
    for windows in "" --window-fixed --across-lines "--window-fixed --across-lines"; do
        shoal train $way small.txt $few $windows -o w.vec && cksum <w.vec
    done | sort | uniq | wc -l
done
# one word a line: without --across-lines there is nothing to predict
tr ' ' '\n' <small.txt | grep . >lines.txt
shoal train cbow lines.txt $few --loss softmax --metrics m.jsonl -o w.vec
grep '"event":"epoch"' m.jsonl | sed -E 's/.*("train":[^}]*}).*/\1/'
shoal train cbow lines.txt $few --loss softmax --across-lines --metrics m.jsonl -o w.vec
keys m.jsonl

echo "--max-vocab V --unk makes V rows:"
small_text >small.txt
for more in "" "--min-count 3"; do
    shoal train cbow small.txt --max-vocab 8 --unk $more --loss hs --dim 4 --epochs 1 -q -o w.vec && head -n 1 w.vec
    shoal vocab small.txt --max-vocab 8 --unk $more -q | wc -l
done

echo "a limit of memory is called one, by the number that the plan has:"
shoal encode small.txt --min-count 1 -q -o small.shoal
shoal train cbow small.shoal --loss hs --dim 4 --threads 1 --memory 1K -o w.vec >said.txt 2>&1
sed -nE 's/^memory +([0-9.]+ KiB)  (.*)/\1, \2/p' said.txt >plan.txt
sed 's/.*, //' plan.txt
grep -q "needs $(sed 's/,.*//' plan.txt) of memory beside what is held" said.txt && echo "the same number"
grep -o '[0-9.]* KiB is the limit of --memory' said.txt
