# A grid of runs: its files, going on, cells that fail, an interrupt.
export ASAN_OPTIONS=detect_leaks=0 SHOAL_ISA=scalar
shoal gen world --words 20000 -q -o world.txt
quick="--dim 4 --max-vocab 50"

# What no two runs share is masked: all but the names of the columns and of the cells.
table()
{
    "$@" >said.txt 2>said.err || echo "[exit $?]"
    sed -E -e '/times as fast|With it|What limits|Too short|no speedup/d' -e 's/ +$//; s/ {2,}/ /g' \
        -e '/^ *[0-9]/s/^ *([0-9]+) .*/\1 .../' said.txt
    cat said.err
}

echo "two cells:"
table shoal study cbow world.txt --kind threads --workers 1,2 --repeat 1 -o s -- $quick --epochs 1
table shoal study cbow world.txt --kind threads --workers 1,2 --repeat 1 --epochs 1 -o s -- $quick |
    sed 's/ time.*memory.*/ .../'
ls s s/runs/cell-001-001
head -c 40 s/study.csv
echo
grep -c 'Speedup, strong scaling</text>' s/report.html
sed -n '/"model":/p; /"worker":/p; /"repeat":/p' s/study.json | sort -u

echo "with more repeats it goes on:"
shoal study cbow world.txt --kind threads --workers 1,2 --repeat 2 --epochs 1 -o s -- $quick 2>&1 |
    grep going
ls s/runs

echo "another grid is another study:"
try shoal study cbow world.txt --kind threads --workers 1,4 --epochs 1 -o s -- $quick

echo "a cell that fails:"
table shoal study cbow world.txt --kind threads --workers 1 --repeat 1 --epochs 1 \
    --batch 10,100000 -o f -- $quick --loss softmax | sed 's/ time.*memory.*/ .../'
try shoal study cbow nowhere.txt --kind threads --workers 1 --repeat 1 -q -o n

echo "an interrupt, and the same command again:"
mkfifo slow.txt
shoal study cbow slow.txt --kind threads --workers 1,2 --repeat 1 --epochs 1 -q -o i -- $quick &
study=$!
while [ ! -e i/runs/cell-001-001/log.txt ]; do sleep 0.05; done
try shoal study cbow slow.txt --kind threads --workers 1,2 --repeat 1 --epochs 1 -q -o i -- $quick
kill -TERM $study
wait $study
echo "[exit $?]"
grep -c '"state"' i/study.json
rm slow.txt
cp world.txt slow.txt
shoal study cbow slow.txt --kind threads --workers 1,2 --repeat 1 --epochs 1 -q -o i -- $quick
grep -c '"state": "done"' i/study.json

echo "killed in the middle, it comes to the table of one that was not:"
echo '{"name": "two", "nodes": 2, "gigabits": 1, "workers": [1, 2]}' >two.json
whole="cbow world.txt --kind threads --workers 1,2 --repeat 1 --epochs 1 -q"
shoal study $whole -o whole -- $quick --deterministic
mkfifo held.txt
shoal study cbow held.txt --kind threads --workers 1,2 --repeat 1 --epochs 1 -q -o half -- $quick \
    --deterministic &
study=$!
cat world.txt >held.txt
while [ ! -e half/runs/cell-002-001/log.txt ]; do sleep 0.05; done
run=$(pgrep -P $study)
kill -KILL $study
wait $study 2>/dev/null
while [ -n "$(readlink "/proc/$run/cwd")" ]; do sleep 0.05; done # its run is killed with it
rm held.txt
cp world.txt held.txt
shoal study cbow held.txt --kind threads --workers 1,2 --repeat 1 --epochs 1 -q -o half -- $quick \
    --deterministic
losses() { sed -n 's/^ *"\(loss\|units\)": \([0-9.]*\),*$/\1 \2/p' "$1/study.json" | sort -u; }
losses whole >whole.txt
losses half >half.txt
[ -s whole.txt ] && cmp whole.txt half.txt && echo the same

echo "a simulation, by a formula where there is no SimGrid:"
shoal gen spiral --samples 400 -q -o spiral.csv
SHOAL_SMPI=nowhere.so shoal study mlp spiral.csv --workers 1 --repeat 1 --epochs 2 \
    --simulate two.json -o formula 2>&1 | grep '^simulate:'
simulate()
{
    if [ -e "$(dirname "$(realpath "$(command -v shoal)")")/shoal-smpi.so" ]; then
        shoal study mlp --workers 1 --repeat 1 --simulate two.json "$@" 2>&1 |
            sed -n 's/^ *\(2\) .* \(simulated\)$/\1 \2/p; s/.*\(failed: .*\)/\1/p'
    else
        echo "2 simulated" # not built here: SimGrid is not installed
    fi
}
simulate spiral.csv --epochs 2 -o sim
grep -c '>Predicted for two[^<]*<.h2>' formula/report.html
echo "a net of more bytes than are on their way at a time, 4 MiB:"
shoal gen spiral --samples 40 -q -o few.csv
simulate few.csv --epochs 1 -o large -- --layers 1024,1024

echo "a simulation that is stopped leaves nothing running:"
mkdir fake
cat >fake/smpirun <<'END'
#!/bin/sh
(trap '' TERM; exec sleep 1000) &
echo $! >trainer.pid
wait
END
chmod +x fake/smpirun
PATH=$PWD/fake:$PATH SHOAL_SMPI=fake/smpirun shoal study mlp spiral.csv --workers 1 --repeat 1 \
    --epochs 2 --simulate two.json -q -o stop &
study=$!
until [ -s trainer.pid ] || ! kill -0 $study 2>/dev/null; do sleep 0.05; done
kill -TERM $study
wait $study
echo "[exit $?]"
trainer=$(cat trainer.pid)
while [ -n "$(readlink "/proc/$trainer/cwd")" ]; do sleep 0.05; done # killed, it needs a moment

echo "usage:"
try shoal study cbow world.txt --workers 2,1 -o u
try shoal study cbow world.txt --workers 0 -o u
try shoal study cbow world.txt --scaling weak -o u
try shoal study cbow world.txt --kind threads --sync async -o u
try shoal study cbow world.txt -o u -- --ranks 3
try shoal study cbow -o u
ls -d u 2>/dev/null
