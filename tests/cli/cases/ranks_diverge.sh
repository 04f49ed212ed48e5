# Ranks of which one finds that it diverged leave the run together, and begin again together.
# MPI libraries leak at their end; what is ours to free is looked at elsewhere.
export ASAN_OPTIONS=detect_leaks=0
unset SHOAL_MPIRUN OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK PMIX_RANK
awk 'BEGIN {
    print "a,y"
    for (i = 0; i < 4000; i++) print 1000 * (i * 7 % 78) "," 3 * (i * 13 % 19000)
}' >raw.csv
awk 'BEGIN {
    print "a,b,y"
    for (i = 0; i < 3000; i++) print i * 7 % 997 "," i * 131 % 99991 "," i * i % 7 % 2
}' >noise.csv

# A build without MPI has nothing to show here.
shoal train mlp raw.csv --ranks 2 -q -o x.shoal 2>said.txt
if grep -q 'need MPI' said.txt; then
    cat "$1/cases/$2.expected"
    exit
fi

# told RANKS COMMAND...: that it began again, and how it ended; no rank is out of step.
told()
{
    ranks=$1 code=0
    shift
    "$@" --ranks "$ranks" --threads 1 -o x.shoal >said.txt 2>&1 || code=$?
    grep -o 'trying again' said.txt
    sed -n 's/^shoal: \(rank [0-9]* on [^:]*: \)*\(train: diverged\|.*out of step\).*/\2/p' said.txt |
        sort -u
    echo "[exit $code]"
}

for ranks in 2 6; do
    try told $ranks shoal train mlp raw.csv --regression --raw --optimizer sgd --epochs 5
    try told $ranks shoal train logreg noise.csv --optimizer sgd --raw --epochs 40
    try told $ranks shoal train logreg noise.csv --optimizer sgd --raw --epochs 40 --sync sync
done
