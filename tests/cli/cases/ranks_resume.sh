# The same bytes on 1, 2 and 4 ranks, and when a run of four goes on with two.
# MPI libraries leak at their end; what is ours to free is looked at elsewhere.
export ASAN_OPTIONS=detect_leaks=0
unset SHOAL_MPIRUN OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK PMIX_RANK
shoal gen world --words 30000 -q -o world.txt
shoal encode -q world.txt -o world.shoal

# A build without MPI has nothing to show here.
shoal train cbow nowhere.txt --ranks 2 -q -o x.bin 2>said.txt
if grep -q 'need MPI' said.txt; then
    cat "$1/cases/$2.expected"
    exit
fi
rm said.txt

same="--deterministic --sync sync --dim 20 --epochs 6 -q"
shoal train skipgram world.shoal $same -o one.bin
for ranks in 2 4; do
    try shoal train skipgram world.shoal $same --ranks $ranks -o $ranks.bin
    cmp one.bin $ranks.bin && echo "same with $ranks"
done

echo "four, stopped, then two:"
for again in $(seq 20); do # one that was over before is begun again
    rm -rf run
    shoal train skipgram world.shoal $same --ranks 4 --checkpoint run --checkpoint-every 5% -o x.bin \
        2>said.txt &
    until ls run/checkpoint-*.shoal >/dev/null 2>&1 || ! kill -0 $! 2>/dev/null; do
        sleep 0.02
    done
    kill -TERM $! 2>/dev/null
    wait $! || { echo stopped; break; }
done
try shoal train --resume run --ranks 2 -q
cmp one.bin x.bin && echo same
