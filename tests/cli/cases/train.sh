# Training: what it says, what it leaves, how it goes on.
export SHOAL_ISA=scalar

# Without what depends on speed or on how buffers are laid out.
calm()
{
    code=0
    "$@" >said.txt 2>&1 || code=$?
    sed -E -e '/^train  /d' -e "s|$PWD|HERE|g" \
        -e 's/(loss|valid)( +)[0-9]+\.[0-9]{4}/\1 LOSS/g' \
        -e 's/  [0-9.]+ ([kMG] )?words\/s/  RATE/; s/stopped at [0-9.]+ %/stopped at N %/' \
        -e '/^(work|held|memory|peak) /s/ +[0-9.]+ [KMGT]?i?B/ SIZE/; s/said [0-9.]+ .*/said SIZE/' \
        said.txt
    rm said.txt
    return $code
}

shoal gen world --words 20000 -q -o world.txt
shoal encode -q world.txt -o world.shoal

echo "from text:"
try calm shoal train cbow world.txt --dim 20 --epochs 2 --threads 2 --valid 1% -o cbow.bin
try shoal info cbow.bin --top 3
ls -A

echo "from a corpus, in every way to learn:"
quick="--dim 8 --epochs 1 --threads 1 -q"
for way in "cbow" "cbow --cbow-sum --lr 0.01" "cbow --loss hs" "skipgram" "skipgram --loss hs" \
    "skipgram --negative 2 --window 2 --sample 0 --schedule constant" \
    "cbow --schedule inverse-time --decay 0.5 --valid 0"; do
    shoal train $way world.shoal $quick -o way.vec && head -n 1 way.vec
done
shoal train cbow world.txt --max-vocab 50 $quick --loss softmax --batch 16 -o way.vec &&
    head -n 1 way.vec

echo "text and corpus give the same, and so does any number of threads:"
same="--dim 8 --epochs 2 -q --deterministic --lanes 4"
shoal train cbow world.txt $same --threads 1 -o one.bin
shoal train cbow world.shoal $same --threads 3 -o three.bin
cmp one.bin three.bin && echo same

echo "every format:"
for name in v.bin v.vec v.glove v.shoal v.npy v.safetensors; do
    shoal train cbow world.shoal $same --threads 2 -o $name && shoal info $name --top 0 | sed -n '3,$p'
done
shoal train cbow world.shoal $same --format text -o - | head -n 1

echo "with checkpoints, and on from the last but one:"
try calm shoal train cbow world.txt --dim 8 --epochs 3 --deterministic --lanes 4 --threads 2 \
    --checkpoint run --checkpoint-every epoch --metrics metrics.json -o whole.bin
ls run
grep -c '"event":"epoch"' metrics.json
rm run/checkpoint-000003.shoal
try calm shoal info run
mv run moved
try calm shoal train --resume moved -o again.bin
cmp whole.bin again.bin && echo "the same bytes"
rm moved/checkpoint-000003.shoal
try calm shoal train cbow world.txt --dim 8 --epochs 3 --deterministic --lanes 4 --threads 1 -q \
    --resume moved -o repeated.bin
cmp whole.bin repeated.bin && echo "the same bytes"

echo "only the same run goes on:"
try shoal train cbow world.shoal --dim 9 --epochs 3 --deterministic --lanes 4 -q --resume moved -o x.bin
try shoal train cbow world.txt --min-count 9 --dim 8 --epochs 3 --deterministic --lanes 4 -q \
    --resume moved -o x.bin
try shoal train cbow world.txt -q --checkpoint moved -o x.bin
mkdir empty
try shoal train --resume empty
try shoal train --resume nowhere
try shoal train --resume world.shoal
rm moved/corpus.shoal
try calm shoal train --resume moved -q

echo "an interrupt:"
try calm end_at_work shoal train cbow world.shoal --epochs 100000 -q --metrics m.jsonl \
    --checkpoint 'a run' -o x.bin
try calm end_at_work shoal train --resume 'a run' -q --metrics m.jsonl
try calm end_at_work shoal train cbow world.shoal --epochs 100000 -q --metrics m.jsonl -o x.bin

echo "what diverges stops:"
try shoal train cbow world.shoal --dim 8 --cbow-sum --lr 10 --epochs 100 --threads 1 -q -o x.bin 2>&1 |
    sed 's/diverged: .*;/diverged: ...;/'

echo "what makes no sense is refused before any work:"
try shoal train
try shoal train cbw world.txt
try shoal train --threads 2 cbow world.txt
try shoal train cbow world.txt
try shoal train cbow world.txt -o x.onnx
try shoal train cbow world.txt -o nowhere/x.bin
try shoal train cbow world.txt -o empty --format text
try shoal train cbow world.shoal world.txt -o x.bin
try shoal train cbow world.shoal --min-count 3 -o x.bin
try shoal train cbow world.shoal --vocab vocab.txt -o x.bin
try shoal train cbow world.shoal --checkpoint-every 5% -o x.bin
try shoal train cbow world.shoal --checkpoint-every 60 -o x.bin
try shoal train cbow world.shoal --checkpoint one --resume two -o x.bin
try shoal train cbow world.shoal --valid 60% -o x.bin
try shoal train skipgram world.shoal --cbow-sum -o x.bin
try shoal train cbow world.shoal -q --memory 1K -o x.bin 2>&1 | sed 's/[0-9]\{3,\}/N/g'
ls -A
