# Each rank its own text, one many times as long as the other: all end together,
# whoever waits for whom. And what ranks cannot be asked for.
# MPI libraries leak at their end; what is ours to free is looked at elsewhere.
export ASAN_OPTIONS=detect_leaks=0
unset SHOAL_MPIRUN OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK PMIX_RANK
shoal gen world --words 20000 -q -o part0
shoal encode -q part0 -o world.shoal

# A build without MPI has nothing to show here.
shoal train cbow nowhere.txt --ranks 2 -q -o x.bin 2>said.txt
if grep -q 'need MPI' said.txt; then
    cat "$1/cases/$2.expected"
    exit
fi
rm said.txt

shoal gen world --words 1500000 -q -o part1
for sync in async bounded:1 sync average:2; do
    try shoal train cbow 'part{rank}' --local-input --ranks 2 --threads 1 --dim 4 --epochs 1 \
        --sync $sync -q -o x.bin
done
for wrong in "--servers 1" "--servers 2 --ranks 2" "--ranks 2 --deterministic" \
    "--ranks 2 --deterministic --sync sync --loss softmax" "--ranks 2 --replica blocks --loss softmax" \
    "--ranks 2 --replica blocks --sync average:1" "--ranks 2 --servers 1 --sync average:1" \
    "--ranks 2 --wire bf16 --sync average:1"; do
    try shoal train cbow world.shoal -q -o y.bin $wrong
done
ls -A
