# Where the time went: the table is there, whatever its figures, for one rank and
# for several, and in the metrics.
export ASAN_OPTIONS=detect_leaks=0
unset SHOAL_MPIRUN OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK PMIX_RANK
export SHOAL_ISA=scalar
shoal gen world --words 20000 -q -o world.txt
shoal encode -q world.txt -o world.shoal
quick="--dim 8 --epochs 1 --threads 1"

# The table alone, its figures masked.
table()
{
    "$@" >said.txt 2>&1 || return $?
    sed -E -n '/^profile/,$p' said.txt |
        sed -E -e "s/  $(uname -n) */  HOST /" -e 's/^verdict: .+/verdict: .../' \
            -e 's/  rank [0-9]+, [0-9.]+%$//; s/there were .*/there were N/' \
            -e '/^( |share)/s/ ([0-9][0-9.]*( ([KMG]i)?B|%)?|unknown)/ N/g; s/ +/ /g'
    rm said.txt
}

echo "one rank:"
try table shoal train cbow world.shoal $quick --profile --metrics m.jsonl -o x.bin
sed -n 's/.*"event":"profile".*"unit":"\([^"]*\)".*"limit":"[a-z]*".*"per_rank":\[{"rank":0,.*/\1/p' m.jsonl
echo "with batches:"
try table shoal train cbow world.txt --max-vocab 50 $quick --loss softmax --profile -o x.bin

echo "other models:"
shoal gen clicks --rows 2000 -q -o clicks.tsv
try table shoal train logreg clicks.tsv --batch 10 --epochs 1 --threads 1 --profile -o x.shoal
shoal gen spiral --samples 300 -q -o spiral.csv
try table shoal train mlp spiral.csv --layers 8 --epochs 1 --threads 1 --profile -o x.shoal

echo "only when asked for:"
shoal train cbow world.shoal $quick -o x.bin 2>&1 | grep -c '^profile'
try table shoal train cbow world.shoal $quick -q --profile -o x.bin

echo "going on:"
shoal train cbow world.shoal $quick --checkpoint run --checkpoint-every epoch -q -o x.bin
try table shoal train --resume run --profile

# A build without MPI ends here, and the rest is as expected.
shoal train cbow nowhere.txt --ranks 2 -q -o x.bin 2>said.txt
if grep -q 'need MPI' said.txt; then
    sed -n '/^several ranks/,$p' "$1/cases/$2.expected"
    exit
fi
echo "several ranks:"
try table shoal train cbow world.shoal --ranks 2 $quick --profile --metrics m.jsonl -o x.bin
grep -c '"event":"profile","ranks":2,"hosts":1.*"rank":1' m.jsonl
echo "and what each did over time:"
sed -n 's/.*"event":"timeline","rank":\([0-9]\).*"seconds":\[[0-9.e,-]*\],"computing":\[.*/\1/p' m.jsonl
shoal report m.jsonl -q -o r.html
grep -o '>What each rank did over time<\|>time since the ranks began ([a-z]*s)<' r.html | sed 's/(m*s)/(s)/'
shoal train mlp spiral.csv --layers 8 --epochs 2 --ranks 2 --threads 1 -q --metrics m.jsonl -o x.shoal
grep -c '"event":"timeline"' m.jsonl
echo "one step of each, of more than one layer where these are wide:"
wide="--layers 600,600 --batch 50 --epochs 2 --threads 1 --ranks 2"
shoal train mlp spiral.csv $wide -q --metrics m.jsonl -o x.shoal
sed -n 's/.*"event":"step","rank":\([0-9]\),.*"pieces":\([0-9]*\),.*"ready":\[[0-9.e-]*,[0-9.e-]*,[0-9.e-]*\],"sent":\[.*/\1, \2 pieces/p' m.jsonl
shoal report m.jsonl -q -o r.html
grep -o '>Step [0-9]* of epoch 2<\|>What the backward pass hides<' r.html
shoal train mlp spiral.csv --sync async $wide -q --metrics m.jsonl -o x.shoal
grep -c '"event":"step"' m.jsonl
echo "alone:"
shoal train mlp spiral.csv --layers 8 --epochs 2 --threads 1 -q --metrics m.jsonl -o x.shoal
grep -c '"event":"timeline"' m.jsonl
