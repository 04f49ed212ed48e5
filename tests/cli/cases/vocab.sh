small_text >text.txt
echo "words go to stdout, the report to stderr:"
try shoal vocab text.txt --min-count 1 2>report.txt
cat report.txt
echo "with -o the report goes to stdout:"
try shoal vocab text.txt --min-count 3 -o vocab.txt 2>report.txt
cat report.txt vocab.txt
try shoal vocab --quiet --min-count 3 --unk --eos text.txt
try shoal vocab --min-count 3 --unk -o vocab.txt text.txt
try shoal vocab --quiet --min-count 1 --max-vocab 3 text.txt
try shoal vocab --quiet --min-count 100 text.txt

echo "several inputs, a folder, a glob and standard input:"
mkdir folder
small_text >folder/one.txt
small_text | gzip >folder/two.gz
for inputs in "text.txt text.txt" folder "folder/*"; do
    shoal vocab -q --min-count 5 $inputs | head -1
done
small_text | shoal vocab -q --min-count 5 - | head -1

echo "words of letters and digits:"
printf 'Hello, World! hello\n' | try shoal vocab -q --min-count 1 --tokens words -

echo "bytes that are no text:"
printf 'a b\377c a\n' >bad.txt
try shoal vocab -q --min-count 1 bad.txt
try shoal vocab -q --min-count 1 --bad-bytes space bad.txt

echo "a word that is too long:"
head -c 65536 /dev/zero | tr '\0' x >long.txt
echo ' a a' >>long.txt
try shoal vocab -q --min-count 1 long.txt

echo "nothing to count, nowhere to write:"
: >empty.txt
try shoal vocab empty.txt
try shoal vocab -q --min-count 1 text.txt -o nowhere/vocab.txt
try full shoal vocab -q --min-count 1 text.txt
