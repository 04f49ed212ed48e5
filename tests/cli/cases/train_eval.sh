# Questions asked while vectors are trained.
shoal gen world --words 20000 -q -o world.txt --questions questions.txt
shoal encode -q world.txt -o world.shoal
printf ': weather\nthunder xyzzy rain plugh\n' >unseen.v1.txt
printf 'you must 9\nyou kissed 3\nyou seat 1\n' >pairs.tsv
quick="--dim 16 --epochs 2 --threads 1 --deterministic"

# What two machines need not share.
calm()
{
    sed -E -e '/^epoch/!d' -e 's/(loss|valid) [0-9.]+/\1 LOSS/g' \
        -e 's/(questions) [0-9.]+%/\1 SHARE/; s/(pairs) -?[0-9.]+/\1 RANK/; s/  [0-9.]+ ([kMG] )?words\/s//'
}
try shoal train cbow world.shoal $quick --eval questions.txt,unseen.v1.txt,pairs.tsv \
    --metrics metrics.json -o v.bin 2>&1 | calm

echo "the last scores are those of the file:"
shoal eval v.bin questions.txt pairs.tsv --json >eval.json
python3 - <<'END'
import json
lines = [json.loads(line) for line in open('metrics.json')]
asked = [line for line in lines if 'questions' in line.get('valid', {})]
got = asked[-1]['valid']
want = [suite['scores'][-1] for suite in json.load(open('eval.json'))['suites']]
print([line['event'] for line in asked])
print(list(got))
print(abs(got['questions'] - want[0]['accuracy']) < 1e-4,
      abs(got['pairs'] - want[1]['spearman']) < 1e-4)
END

echo "asking does not change what is learned:"
shoal train cbow world.shoal $quick -q -o unasked.bin
cmp v.bin unasked.bin && echo "the same bytes"

echo "after a resume:"
shoal train cbow world.shoal $quick -q --checkpoint run --checkpoint-every epoch -o w.bin
rm run/checkpoint-000002.shoal
try shoal train --resume run --eval unseen.v1.txt -o w.bin 2>&1 | calm

echo "what cannot be:"
try shoal train cbow world.shoal $quick -q --eval questions.txt,nowhere.txt -o x.bin
try shoal train cbow world.shoal $quick -q --eval "$(printf 'questions.txt,%.0s' $(seq 17))" -o x.bin
ls
