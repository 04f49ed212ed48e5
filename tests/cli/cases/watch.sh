# The report of a run, in a browser while it runs: every kind of model.
export SHOAL_ISA=scalar
shoal gen world --words 5000 -q -o world.txt
shoal gen clicks --rows 2000 -q -o clicks.tsv
shoal gen spiral --samples 400 -q -o spiral.csv

# ask URL [METHOD]: the status, then the body into page.html
ask()
{
    python3 - "$@" <<'END'
import sys, urllib.request, urllib.error
request = urllib.request.Request(sys.argv[1], method=(sys.argv[2:] or ["GET"])[0])
try:
    answer = urllib.request.urlopen(request, timeout=60)
except urllib.error.HTTPError as error:
    answer = error
open("page.html", "wb").write(answer.read())
print(answer.status)
END
}

# watched NAME words of shoal train: runs it until its page has charts, then stops it
watched()
{
    name=$1
    shift
    : >"$name.log" # the run is begun before the shell opens it
    shoal train "$@" --watch :0 --threads 1 -o "$name.shoal" >"$name.log" 2>&1 &
    run=$!
    url=
    while [ -z "$url" ] && kill -0 $run 2>/dev/null; do
        url=$(sed -n 's/^watch  *//p' "$name.log")
        sleep 0.05
    done
    [ -n "$url" ] || { cat "$name.log"; return; }
    while ask "$url" >status.txt && ! grep -q '<svg' page.html; do sleep 0.05; done
    echo "$name: $(cat status.txt) $(sed -n 's/^<title>[0-9]*\(.*\)<.title>$/N\1/p' page.html)" \
        "$(grep -c '<body data-refresh="2">' page.html) $(grep -c '<strong>running<' page.html) $(echo "$url" | sed 's/[0-9]*\/$/PORT/')"
}
stopped()
{
    kill -TERM $run
    wait $run
    echo "[exit $?]"
    ls "$name.shoal.metrics.jsonl"
}

watched words cbow world.txt --dim 4 --epochs 100000
stopped
watched clicks logreg clicks.tsv --epochs 100000
stopped
# -q hides reports, not the address that was asked for.
watched net mlp spiral.csv -q --epochs 1000000
ask "${url}other"
ask "$url" POST
ask "$url" HEAD
wc -c <page.html
echo "an address that is taken:"
shoal train mlp spiral.csv -q --epochs 1 --watch "$(echo "$url" | sed 's,.*//,,; s,/$,,')" -o b.shoal 2>&1 |
    sed 's/:[0-9][0-9]*:/:PORT:/'
stopped
echo "a run that is over asks for nothing more:"
shoal report net.shoal.metrics.jsonl -o report.html >/dev/null
grep -c 'location.reload' report.html

echo "usage:"
try shoal train mlp spiral.csv -q --epochs 1 --watch nowhere -o c.shoal
try shoal train cbow world.txt -q --epochs 1 --dim 4 --watch :0 --format word2vec -o -

echo "all runs of a folder, while they run and after:"
mkdir runs
shoal train mlp spiral.csv -q --epochs 2 --metrics runs/over.jsonl -o over.shoal
shoal train mlp spiral.csv -q --epochs 1000000 --metrics runs/on.jsonl -o on.shoal &
run=$!
until [ -s runs/on.jsonl ]; do sleep 0.05; done
echo 'no metrics' >runs/other.jsonl
: >watch.log
shoal watch runs >watch.log &
watch=$!
until [ -s watch.log ]; do sleep 0.05; done
url=$(cat watch.log)
while ask "$url" >status.txt && ! grep -q '<strong>running<' page.html; do sleep 0.05; done
cat status.txt
grep -o '<td class="w">o[a-z]*.jsonl' page.html | sort -u
grep -c '<strong>ended</strong> after' page.html
kill -TERM $run
wait $run
echo "what was stopped says so, and why:"
ask "$url"
grep -c '<strong>stopped</strong> at [0-9]* %, after' page.html
grep -c "<p class=.why.>.*stopped: train: stopped on request" page.html
grep -o 'epoch 2 of 2' page.html
kill -TERM $watch
wait $watch
echo "[exit $?]"
mkdir none
: >none.log
shoal watch none >none.log &
watch=$!
until [ -s none.log ]; do sleep 0.05; done
ask "$(cat none.log)"
sed -n 's,.*<p>\(.*\)</p>,\1,p' page.html
kill -TERM $watch
wait $watch
echo "[exit $?]"
try shoal watch nowhere
