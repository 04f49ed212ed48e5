# Models of many classes: learned, asked, scored, looked at, and gone on with.
export SHOAL_ISA=scalar

# Class k is what has feature k.
for i in 1 2 3 4 5 6 7 8 9 10; do
    printf '0 1:1 9:1\n1 2:1\n2 3:1 9:0.5\n3 4:1\n'
done >rows.svm
printf '0 1:1\n1 2:1\n3 3:1\n3 4:1 9:1\n' >test.svm

shoal train multinomial rows.svm -q --threads 1 --epochs 5 --lr 0.5 --valid test.svm -o model.shoal
try shoal info model.shoal
try shoal predict model.shoal test.svm
printf '1:1\n4:1\n' | try shoal predict model.shoal -
try shoal eval model.shoal test.svm
try shoal eval model.shoal test.svm --json
shoal encode --as clicks --classes -q test.svm -o test.shoal
shoal eval model.shoal test.svm --json >text.json
shoal eval model.shoal test.shoal --json | cmp - text.json && echo "the same when encoded"

echo "any number of threads, of ranks, and an encoded file give the same bytes:"
shoal encode --as clicks --classes -q rows.svm -o rows.shoal
shoal train multinomial rows.svm -q --epochs 2 --deterministic --threads 1 -o one.shoal
shoal train multinomial rows.shoal -q --epochs 2 --deterministic --threads 3 -o three.shoal
cmp one.shoal three.shoal && echo same
# MPI libraries leak at their end; what is ours to free is looked at elsewhere.
for ranks in 2 4; do
    ASAN_OPTIONS=detect_leaks=0 shoal train multinomial rows.shoal -q --epochs 2 --deterministic --threads 1 --ranks $ranks \
        --sync sync -o ranks.shoal
    cmp one.shoal ranks.shoal && echo same
done

echo "with checkpoints, and on from the last but one:"
shoal train multinomial rows.svm -q --epochs 3 --deterministic --threads 1 --checkpoint run \
    --checkpoint-every epoch -o whole.shoal
rm run/checkpoint-000003.shoal
shoal train --resume run -q -o again.shoal
cmp whole.shoal again.shoal && echo same

echo "killed, and on from its last checkpoint:"
same="--epochs 60 --deterministic --threads 1"
shoal train multinomial rows.svm -q $same -o whole.shoal
shoal train multinomial rows.svm -q $same --checkpoint killed --checkpoint-every epoch -o killed.shoal &
until ls killed/checkpoint-*.shoal >ls.txt 2>&1; do
    sleep 0.02
done
kill -KILL $! 2>kill.txt
wait $! 2>kill.txt || true
shoal train --resume killed -q -o killed.shoal
cmp whole.shoal killed.shoal && echo same

echo "what cannot be:"
seq 0 254 | sed 's,$, 1:1,' >bad.svm
try shoal train multinomial bad.svm -q -o x.shoal
try shoal train logreg rows.svm -q -o x.shoal
try shoal train logreg rows.shoal -q -o x.shoal
printf '7 1:1\n' >seven.svm
try shoal eval model.shoal seven.svm
try shoal train multinomial rows.svm -q --class-weight 2 -o x.shoal
