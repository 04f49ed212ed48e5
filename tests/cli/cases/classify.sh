# Classes of text: learned, asked, scored, looked at, searched, written for fastText, and gone on
# with.
export SHOAL_ISA=scalar

# Class is what half of the words say.
for i in 1 2 3 4 5 6 7 8 9 10; do
    printf '__label__sea the wave and the tide met %s\n' $i
    printf '__label__hill a rock on the steep slope %s\n' $i
    printf '__label__town the tram in that busy street %s\n' $i
done >lines.txt
printf '__label__sea wave tide\n__label__hill a steep rock\n__label__town the tide of trams\n' >test.txt

how="--threads 1 --dim 8 --epochs 20 --lr 0.5"
shoal train classify lines.txt -q $how --valid test.txt -o model.shoal
try shoal info model.shoal
try shoal predict model.shoal test.txt
printf 'rock\n\nunknown words\n' | try shoal predict model.shoal - -k 2
try shoal predict model.shoal test.txt -k 3 --threshold 0.3
try shoal eval model.shoal test.txt -k 2
try shoal eval model.shoal test.txt --json

echo "from a table:"
printf 'id,place,words\n1,Sea Side,"wave, ""tide"""\n2,Hill,Rock\n3,Sea Side,tide\n4,Hill,steep rock\n' >table.csv
shoal train classify table.csv -q --text-column words --label-column place --clean $how -o table.shoal
printf 'words,id\n"TIDE, wave",1\nsteep,2\n' >ask.csv
try shoal predict table.shoal ask.csv
echo "ROCK" | try shoal predict table.shoal -

echo "as a file of fastText's, with the same answers:"
shoal train classify lines.txt -q $how --word-ngrams 2 --minn 2 --maxn 3 --buckets 500 -o pairs.shoal
shoal convert pairs.shoal pairs.bin -q
shoal predict pairs.shoal test.txt >ours.txt
shoal predict pairs.bin test.txt | cmp - ours.txt && echo same
try shoal eval pairs.bin test.txt --json
shoal convert pairs.bin again.shoal -q
shoal predict again.shoal test.txt | cmp - ours.txt && echo same

echo "labels that begin otherwise, which fastText's file does not say:"
sed 's/__label__/@/' lines.txt >at.txt
sed 's/__label__/@/' test.txt >at-test.txt
sed 's/@[a-z]* //' at-test.txt >bare-test.txt
shoal train classify at.txt -q $how --label-prefix @ --word-ngrams 2 --buckets 500 -o at.shoal
shoal convert at.shoal at.bin -q
shoal convert at.bin at2.shoal -q
for model in at.bin at2.shoal; do
    shoal predict $model bare-test.txt >bare-answers.txt
    shoal predict $model at-test.txt | cmp - bare-answers.txt && echo same
    shoal eval $model at-test.txt --json | grep -o '"lines":[0-9]*'
done

echo "a label that stands in a line twice is one:"
printf '__label__sea wave tide __label__sea\n__label__hill a steep rock\n' >twice.txt
try shoal eval model.shoal twice.txt

echo "any number of threads, and of ranks, gives the same bytes:"
same="--dim 8 --epochs 2 --deterministic"
shoal train classify lines.txt -q $same --threads 1 -o one.shoal
shoal train classify lines.txt -q $same --threads 3 -o three.shoal
cmp one.shoal three.shoal && echo same
# MPI libraries leak at their end; what is ours to free is looked at elsewhere.
ASAN_OPTIONS=detect_leaks=0 shoal train classify lines.txt -q $same --threads 1 --ranks 2 --sync sync \
    -o ranks.shoal
cmp one.shoal ranks.shoal && echo same

echo "with checkpoints, and on from the last but one:"
shoal train classify lines.txt -q --dim 8 --epochs 3 --deterministic --threads 1 --checkpoint run \
    --checkpoint-every epoch -o whole.shoal
rm run/checkpoint-000003.shoal
shoal train --resume run -q -o again.shoal
cmp whole.shoal again.shoal && echo same

echo "a search of options:"
shoal train classify lines.txt --threads 1 --dim 8 --valid test.txt --autotune 1s -o tuned.shoal >out.txt 2>log.txt
grep -c '^trial 1  p@1 .* --dim 8 ' log.txt
shoal eval tuned.shoal test.txt >score.txt && echo scored

echo "what cannot be:"
printf 'no label\n' >bare.txt
try shoal train classify bare.txt -q -o x.shoal
printf '__label__a x\n' >alone.txt
try shoal train classify alone.txt -q -o x.shoal
try shoal train classify lines.txt -q --min-count 1000 -o x.shoal
try shoal train classify table.csv -q --text-column words -o x.shoal
try shoal train classify table.csv -q --text-column text --label-column place -o x.shoal
try shoal train classify lines.txt -q --class-weight moon=2 -o x.shoal
try shoal train classify lines.txt -q --minn 3 -o x.shoal
try shoal train classify lines.txt -q --early-stop 2 -o x.shoal
try shoal train classify lines.txt -q --autotune 1s -o x.shoal
try shoal train classify lines.txt -q --autotune 1s --valid test.txt --autotune-metric f2 -o x.shoal
try shoal eval model.shoal bare.txt
try shoal predict model.shoal no-such-file
try shoal convert table.shoal x.bin -q
head -c 700 model.shoal >cut.shoal
try shoal predict cut.shoal test.txt
head -c 200 pairs.bin >cut.bin
try shoal predict cut.bin test.txt
i=0
while [ $i -lt 300 ]; do
    printf '__label__%s w%s\n' $((i % 2)) $i
    i=$((i + 1))
done >many.txt
shoal train classify many.txt -q $how -o many.shoal
try shoal compress many.shoal small.shoal -q
