#!/bin/sh
# Makes the pictures of README.md and of the manual anew, from generated data.
#
#     scripts/pictures.sh [BUILD]
#
# Needs Debian's chromium, tmux, python3-pil and fonts-dejavu-core, and half a minute. Look at them before you commit.
set -eu

cd "$(dirname "$0")/.."
shoal=$PWD/${1:-build}/cli/shoal
draw="/usr/bin/python3 $PWD/scripts/pictures.py"
out=$PWD/docs/pictures
mkdir -p "$out"
tmp=$(mktemp -d)
trap 'tmux -L "shoal$$" kill-server 2>/dev/null; rm -rf "$tmp"' EXIT
cd "$tmp"
ln -s "$shoal" shoal
PATH=$tmp:$PATH

shoal gen world --words 3000000 -o world.txt --questions questions.txt -q
shoal encode world.txt -o world.shoal -q

# What a run prints, with its progress line, on a terminal of 92 x 34.
tmux -L "shoal$$" -f /dev/null new-session -d -x 92 -y 34 \
    "PS1='\$ ' PATH='$PATH' exec sh"
tmux -L "shoal$$" send-keys clear Enter
sleep 0.5
tmux -L "shoal$$" send-keys "shoal train skipgram world.shoal -o vectors.shoal --valid 1% \
--metrics skipgram.jsonl" Enter
until [ -s vectors.shoal ]; do sleep 0.2; done
sleep 1
tmux -L "shoal$$" send-keys "shoal analogy vectors.shoal man king woman -k 2" Enter
sleep 2
tmux -L "shoal$$" capture-pane -p -e | $draw terminal >"$out/terminal.svg"

# A report of two runs; and of a classifier what it learned.
shoal train cbow world.shoal -o cbow.bin --valid 1% --eval questions.txt --metrics cbow.jsonl -q
shoal train skipgram world.shoal -o skipgram.bin --valid 1% --eval questions.txt \
    --metrics skipgram.jsonl -q
shoal report skipgram.jsonl cbow.jsonl -o report.html --title 'skip-gram and CBOW' -q
charts='document.getElementById("how-it-went").scrollIntoView()'
learned='document.getElementById("what-was-learned").scrollIntoView()'
shoal gen news -o news.txt -q
shoal train classify news.txt --valid-share 20% --metrics news.jsonl -o news.shoal -q
shoal report news.jsonl -o news.html -q
$draw page "file://$tmp/news.html" 1100x850 "$out/report.png" "$learned"
$draw page "file://$tmp/report.html" 390x795 "$out/report-phone.png" "$charts"

# The map of words: of SHOAL_VECTORS, if given, as real words look better than those of a world.
shoal map "${SHOAL_VECTORS-vectors.shoal}" -o map.html --title 'Word map' -q
king='wordMap.select("king")'
$draw page "file://$tmp/map.html" 1100x765 "$out/map.png"
$draw page "file://$tmp/map.html" 1100x765 "$out/map-word.png" "$king"
$draw page "file://$tmp/map.html" 390x795 "$out/map-phone.png"

# The server's page: decision regions of a net, with a point to drag.
shoal gen spiral --samples 8000 --classes 4 -q -o spiral.csv
shoal train mlp spiral.csv -q --epochs 20 -o spiral.shoal
shoal serve spiral=spiral.shoal --inference-address 127.0.0.1:0 --management-address none \
    --metrics-address none >serve.log 2>&1 &
serve=$!
until url=$(grep -o 'http://[0-9.:]*' serve.log); do
    kill -0 $serve || exit 1
    sleep 0.1
done
$draw page "$url/" 1100x765 "$out/serve.png"
kill $serve
ls -l "$out"
