# Asynchronous ranks learn a small net as one rank does, with the same batch of all together.
# MPI libraries leak at their end; what is ours to free is looked at elsewhere.
export ASAN_OPTIONS=detect_leaks=0
unset SHOAL_MPIRUN OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK PMIX_RANK
shoal gen spiral --samples 1000 --classes 4 -q -o spiral.csv
shoal gen spiral --samples 4000 --classes 4 --seed 2 -q -o held.csv

# A build without MPI has nothing to show here.
shoal train mlp spiral.csv --ranks 2 -q -o x.shoal 2>said.txt
if grep -q 'need MPI' said.txt; then
    cat "$1/cases/$2.expected"
    exit
fi

# learn OPTION...: the part of held-out samples that is right, in tenths of a percent.
learn()
{
    shoal train mlp spiral.csv --valid held.csv --threads 1 --early-stop 0 -o net.shoal "$@" 2>&1 |
        awk '$1 == "accuracy" { part = $2 } END { printf "%d\n", part * 10 }'
}

# compare RANKS SYNC OPTION...: with one rank.
compare()
{
    ranks=$1 sync=$2
    shift 2
    one=$(learn "$@")
    some=$(learn --ranks "$ranks" --sync "$sync" "$@")
    if [ "$one" -gt 800 ] && [ "$some" -gt $((one - 40)) ]; then
        echo "$ranks ranks $sync $*: as one"
    else
        echo "$ranks ranks $sync $*: $some, one rank $one"
    fi
}

compare 8 async --epochs 20
compare 8 bounded:4 --epochs 20
