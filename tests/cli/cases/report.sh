# Metrics become a page that needs nothing else.
export ASAN_OPTIONS=detect_leaks=0 SHOAL_ISA=scalar
shoal gen world --words 20000 -q -o world.txt
shoal train cbow world.txt --dim 8 --epochs 2 --threads 1 -q --metrics m.jsonl -o x.bin

try shoal report m.jsonl -o r.html
grep -c '^<svg class="fig"' r.html
echo "it asks for nothing:"
grep -cE 'https?:|src=' r.html

echo "two runs:"
cp m.jsonl n.jsonl
try shoal report m.jsonl n.jsonl -q -o - | grep -o '<h3>[^<]*'

echo "charts as files:"
PATH=$(dirname "$(command -v shoal)"):/nowhere shoal report m.jsonl -q -o r.html --plots figures
ls figures

echo "what is wrong is named, and nothing is written:"
sed 2s/,/,,/ m.jsonl >bad.jsonl
try shoal report bad.jsonl -o bad.html
try shoal report world.txt -o bad.html
try shoal report nowhere.jsonl -o bad.html
try shoal report m.jsonl
try shoal report -o bad.html
ls bad.html 2>/dev/null
