# Several ranks under the launcher of this build: one voice, one file, one end.
# MPI libraries leak at their end; what is ours to free is looked at elsewhere.
export ASAN_OPTIONS=detect_leaks=0
unset SHOAL_MPIRUN OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK PMIX_RANK
export SHOAL_ISA=scalar
shoal gen world --words 20000 -q -o world.txt
shoal encode -q world.txt -o world.shoal

# A build without MPI has nothing to show here.
shoal train cbow nowhere.txt --ranks 2 -q -o x.bin 2>said.txt
if grep -q 'need MPI' said.txt; then
    cat "$1/cases/$2.expected"
    exit
fi
rm said.txt

# Without what depends on speed, chance or the machine.
calm()
{
    code=0
    "$@" >said.txt 2>&1 || code=$?
    sed -E -e '/^train  /d' -e '/^checkpoint at/d' -e "s/ on $(uname -n) / on HOST /" \
        -e 's/(loss|valid)( +)[0-9]+\.[0-9]{4}/\1 LOSS/g' -e 's/round was [0-9]+/round was N/' \
        -e 's/  [0-9.]+ ([kMG] )?words\/s/  RATE/; s/at [0-9.]+ %/at N %/' \
        -e 's/^(busiest|fresh|traffic|waited) .*/\1 .../' \
        -e 's/(rank [0-9] on [^ ]+: )?train: diverged(.*) [0-9]+ words/train: diverged\2 N words/' \
        -e 's/a rank on/rank 1 on/; s/checkpoint-[0-9]+/checkpoint-N/' \
        -e '/^(work|held|memory|peak) /s/ +[0-9.]+ [KMGT]?i?B/ SIZE/; s/said [0-9.]+ .*/said SIZE/' \
        said.txt
    rm said.txt
    return $code
}

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

# upset SIGNAL RANK COMMAND...: once the run is at work and has a checkpoint. The
# rank `all` is the command itself. A run that was over before is begun again.
upset()
{
    signal=$1 who=$2
    shift 2
    for again in $(seq 20); do
        rm -rf run m.jsonl
        "$@" &
        until ls run/checkpoint-*.shoal >/dev/null 2>&1 || ! kill -0 $! 2>/dev/null; do
            sleep 0.05
        done
        target=$!
        [ "$who" = all ] || target=$(rank "$who")
        [ -n "$target" ] && kill -"$signal" "$target" 2>/dev/null && break
        wait $!
    done
    wait $!
}

left()
{
    [ -z "$(rank 0)$(rank 1)$(rank 2)" ] || echo "left: a rank"
}

long="--dim 8 --epochs 100000 --checkpoint run --checkpoint-every 1s -q"

echo "three ranks, one voice:"
try calm shoal train cbow world.txt --ranks 3 --dim 20 --epochs 2 -o x.bin --metrics m.jsonl
grep -c '"event":"epoch"' m.jsonl
shoal info x.bin --top 0
echo "a bound of 0 is in step:"
for sync in bounded:0 sync; do
    try shoal train cbow world.shoal --ranks 2 --threads 1 --dim 4 --epochs 1 --sync $sync -q -o $sync.bin
done
cmp bounded:0.bin sync.bin
rm bounded:0.bin sync.bin
echo "standard input: a text that the first rank encodes, but nothing that each rank reads:"
try shoal train cbow - --ranks 2 --dim 4 --epochs 1 -q -o in.bin <world.txt
shoal info in.bin --top 0 | grep words
rm in.bin
shoal gen spiral --samples 100 -q -o spiral.csv
try shoal train mlp - --ranks 2 -q -o x.shoal <spiral.csv
try shoal train mlp spiral.csv --valid - --ranks 2 -q -o x.shoal <spiral.csv
rm spiral.csv
printf 'a\nb\n' | while read -r line; do
    echo "line $line"
    shoal train cbow world.shoal --ranks 2 --dim 4 --epochs 1 -q -o x.bin
done
echo "one failure:"
try shoal train cbow nowhere.txt --ranks 3 -o x.bin
try shoal train cbow world.shoal --ranks 3 -o nowhere/x.bin
try calm shoal train cbow world.shoal --ranks 3 --loss softmax --lr 10 -q -o x.bin
echo "each its own text:"
split -n l/2 -d -a 1 world.txt part
try calm shoal train cbow 'part{rank}' --local-input --ranks 2 --dim 8 --epochs 1 -q -o own.bin
shoal info own.bin --top 0 | grep words
ls -A

echo "stopped:"
try calm upset TERM all shoal train cbow world.shoal --ranks 3 $long -o x.bin
left
try calm shoal info run | grep model
echo "a rank is killed:"
try calm upset KILL 1 shoal train cbow world.shoal --ranks 3 $long -o x.bin
left
echo "and started again:"
try calm upset KILL 1 shoal train cbow world.shoal --ranks 3 $long --checkpoint-every 4% --epochs 50 \
    --restarts 1 -o y.bin
left
ls y.bin
echo "a rank falls silent:"
try calm upset STOP 1 shoal train cbow world.shoal --ranks 3 $long --silent-after 8s -o x.bin
left
