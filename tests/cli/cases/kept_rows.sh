# Rows of the training data in a model: none, unless they are asked for.
export SHOAL_ISA=scalar

{
    echo 'person,age,city,clicked'
    for i in $(seq 1 60); do
        case $((i % 3)) in 0) city='"New, York"' ;; 1) city=Oslo ;; *) city=MARKEDTOWN ;; esac
        echo "SECRET$((i * 7919)),$((i + 20)).125,$city,$((i > 30))"
    done
} >people.csv
kept() { grep -a -o '[^,[:cntrl:]]*,[0-9]*\.125,[^[:cntrl:]]*' "$1"; }

shoal train logreg people.csv -q --epochs 2 --threads 1 -o none.shoal
echo "without being asked: $(kept none.shoal | wc -l) rows, and of info:"
shoal info none.shoal | grep examples
shoal train logreg people.csv -q --epochs 2 --threads 1 --examples 3 -o three.shoal
echo "three rows, without the column that nothing is learned from:"
kept three.shoal
grep -a -c SECRET three.shoal
shoal info three.shoal | grep examples
kept three.shoal >rows.csv
try shoal predict three.shoal rows.csv

echo "the weights are the same, and so are the rows by other threads, ranks, and behind a checkpoint:"
shoal predict none.shoal people.csv >a
shoal predict three.shoal people.csv | cmp - a && echo same
shoal train logreg people.csv -q --epochs 2 --deterministic --threads 1 --examples 3 -o one.shoal
shoal train logreg people.csv -q --epochs 2 --deterministic --threads 3 --examples 3 -o other.shoal
cmp one.shoal other.shoal && echo same
ASAN_OPTIONS=detect_leaks=0 shoal train logreg people.csv -q --epochs 2 --threads 1 --ranks 2 --examples 3 -o ranks.shoal
kept ranks.shoal | cmp - rows.csv && echo same
shoal train logreg people.csv -q --epochs 2 --threads 1 --examples 3 --checkpoint run --checkpoint-every epoch -o first.shoal
shoal train logreg --resume run -q -o on.shoal
kept on.shoal | cmp - rows.csv && echo same
shoal convert three.shoal copy.shoal -q
kept copy.shoal | cmp - rows.csv && echo same
shoal train multinomial people.csv -q --label city --epochs 1 --examples 2 -o many.shoal
shoal info many.shoal | grep examples

echo "more than there are, a row that is too long, and other formats:"
shoal train logreg people.csv -q --epochs 1 --examples 100 -o all.shoal
kept all.shoal | wc -l
{
    for i in 1 2 3 4; do echo "$((i % 2)) 1:$i 2:1"; done
    echo "1 1:7$(seq -f ' %.0f:1' 10 20000 | tr -d '\n')"
} >long.svm
shoal train logreg long.svm -q --epochs 1 --examples 100 -o long.shoal
shoal info long.shoal | grep examples

try shoal train logreg people.csv -q --examples 101 -o x.shoal
try shoal train mlp people.csv -q --examples 3 -o x.shoal
shoal encode --as clicks -q people.csv -o rows.shoal
try shoal train logreg rows.shoal -q --examples 3 -o x.shoal
