# A rank is killed, or stands still, in each phase of a job: it is named, the job is started again
# and ends with the same bytes, or all end.
# MPI libraries leak at their end; what is ours to free is looked at elsewhere.
export ASAN_OPTIONS=detect_leaks=0
unset SHOAL_MPIRUN OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK PMIX_RANK
export SHOAL_ISA=scalar
shoal gen world --words 20000 -q -o world.txt

# A build without MPI has nothing to show here.
shoal train cbow nowhere.txt --ranks 2 -q -o x.bin 2>said.txt
if grep -q 'need MPI' said.txt; then
    cat "$1/cases/$2.expected"
    exit
fi
rm said.txt
shoal gen world --words 600000 -q -o long.txt

# The process of rank $1 of the job that runs here.
rank()
{
    for at in /proc/[0-9]*; do
        [ "$(readlink "$at/cwd" 2>/dev/null)" = "$PWD" ] &&
            tr '\0' '\n' <"$at/environ" 2>/dev/null |
            grep -qE "^(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1\$" &&
            [ "$(cat "$at/comm")" = shoal ] && echo "${at#/proc/}"
    done
}

# there PATTERN: a file of such a name is.
there()
{
    for file in $1; do
        [ -e "$file" ] && return 0
    done
    return 1
}

# upset SIGNAL RANK PATTERN COMMAND...: as soon as such a file is there. A run that was over
# before is begun again.
upset()
{
    signal=$1 who=$2 pattern=$3
    shift 3
    for again in $(seq 20); do
        rm -rf run out.bin .out.bin.tmp-* said.txt
        "$@" 2>said.txt &
        job=$!
        target=
        until [ -n "$target" ] || ! kill -0 $job 2>/dev/null; do
            target=$(rank "$who")
        done
        until there "$pattern" || ! kill -0 $job 2>/dev/null; do
            :
        done
        kill -"$signal" $target 2>/dev/null
        code=0
        wait $job || code=$?
        [ ! -s said.txt ] || break
    done
    sed -E -e "s/ on $(uname -n) / on HOST /; s/a rank on/rank $who on/; s/from run\$/from WHERE/" \
        -e 's/from the beginning/from WHERE/; s/round was [0-9]+/round was N/' \
        -e '/the last good checkpoint/d' said.txt
    rm said.txt
    return $code
}

same="--deterministic --sync sync --dim 200 --epochs 1 --threads 1 -q -o out.bin"
kept="--checkpoint run --checkpoint-every 20% --restarts 1 --ranks 3"
shoal train cbow long.txt $same
mv out.bin calm.bin

# The encoded text, a part of a checkpoint, its head, the result: each is written under such a name.
for phase in 'run/.*.tmp-*' 'run/.*part-*.tmp-*' 'run/checkpoint-000002.shoal' '.out.bin.tmp-*'; do
    for who in 0 2; do
        try upset KILL $who "$phase" shoal train cbow long.txt $same $kept
        cmp calm.bin out.bin && echo same
    done
done

echo "a rank stands still while text is encoded, where nobody trains yet:"
for who in 0 2; do
    try upset STOP $who 'run/.*.tmp-*' shoal train cbow long.txt $same --ranks 3 --checkpoint run \
        --silent-after 4s
    [ -z "$(rank 0)$(rank 1)$(rank 2)" ] || echo "left: a rank"
done
echo "and while the result is written, where nobody trains any more:"
try upset STOP 2 '.out.bin.tmp-*' shoal train cbow long.txt $same --ranks 3 --silent-after 4s
[ -z "$(rank 0)$(rank 1)$(rank 2)" ] || echo "left: a rank"

# frozen RANK CALL COMMAND...: that rank stands still within a call of MPI.
frozen()
{
    who=$1 call=$2
    shift 2
    rm -f out.bin
    LD_PRELOAD=$PWD/frozen.so FROZEN_RANK=$who FROZEN_CALL=$call "$@" 2>said.txt
    code=$?
    sed -E "s/rank [0-9] on $(uname -n) /rank N on HOST /" said.txt
    rm said.txt
    return $code
}

echo "a rank stands still while it joins or leaves, where MPI waits for it without end:"
export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
${CC:-cc} -shared -fPIC -o frozen.so "$1/frozen.c"
for call in MPI_Init MPI_Finalize; do
    try frozen 1 $call shoal train cbow world.txt --dim 8 --epochs 1 -q -o out.bin --ranks 3 --silent-after 1s
    [ -z "$(rank 0)$(rank 1)$(rank 2)" ] || echo "left: a rank"
    ls out.bin 2>/dev/null
done
