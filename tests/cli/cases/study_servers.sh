# A study of workers beside parameter servers, with a target of a named loss; policies that one
# worker does not care for; what cannot be asked.
export ASAN_OPTIONS=detect_leaks=0 SHOAL_ISA=scalar
shoal gen world --words 20000 -q -o world.txt
quick="--dim 4 --max-vocab 50 --loss softmax --valid 5%"

# Which cell each row is of, and what columns there are; no two runs share the numbers.
rows()
{
    sed -n -E -e 's/ +/ /g' -e '/scaling: /p' -e 's/^(workers .*) loss .*/\1/; /^workers /p' -e 's/^ ([0-9]+ [0-9]+ [a-z]+) .*/\1/p' "$1"
}

echo "one worker has its server, too:"
shoal study cbow world.txt --workers 1,2 --servers 1 --sync async --batch 64 --epochs 1 --repeat 1 \
    --target valid:0.001 -o s -- $quick >said.txt 2>said.err
echo "[exit $?]"
rows said.txt
grep -o 'never: [0-9.]* at best' said.txt | sed 's/[0-9][0-9.]*/X/' | sort | uniq -c | sed 's/^ *//'
sed -n 's/^ *"name": /cell /p' s/study.json
sed -n 's/.*"event":"ranks","ranks":\([0-9]*\),"servers":\([0-9]*\).*/\1 ranks, \2 of them servers/p' \
    s/runs/*/metrics.jsonl
cut -d, -f1-3 s/study.csv
python3 - <<'PY'
import csv
for row in csv.DictReader(open("s/study.csv")):
    print(row["target_seconds"], float(row["target_best_loss"]) > 0.001, row["speedup"] == "1",
          float(row["updates"]) > 0, float(row["network_read"]) > 0,
          float(row["network_written_per_update"]) > 0, row["disk_written"] != "")
PY

echo "one rank runs once, whatever the policy and the scaling:"
shoal study cbow world.txt --workers 1,2 --sync async,sync --scaling both --epochs 1 --repeat 1 -q \
    -o p -- $quick
echo "[exit $?]"
ls p/runs
cut -d, -f1-5 p/study.csv

echo "what cannot be:"
try shoal study cbow world.txt --servers 1 --kind threads -o u
try shoal study cbow world.txt --servers 2,1 -o u
try shoal study cbow world.txt --servers x -o u
try shoal study cbow world.txt --target 5.5 -o u
try shoal study cbow world.txt --target held:5.5 -o u
try shoal study cbow world.txt --target valid:5.5 --target-loss 5 -o u
try shoal study cbow world.txt --epochs 1 --steps 100 -o u
try shoal study cbow world.txt --workers 1,8 --steps 4 -o u
try shoal study cbow world.txt -o u -- --servers 1
try shoal study cbow world.txt -o u -- --steps 1
ls -d u 2>/dev/null
