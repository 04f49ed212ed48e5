small_text >text.txt
echo "with -o the report goes to stdout:"
try shoal phrases text.txt --min-count 1 --threshold 2 -o phrases.txt 2>report.txt
cat report.txt phrases.txt
echo "the text to stdout, the report to stderr:"
try shoal phrases text.txt --min-count 1 --threshold 2 -o - 2>report.txt
cat report.txt
try shoal phrases -q text.txt -o -
try shoal phrases -q text.txt --min-count 1 --threshold 1 --passes 3 --joiner ++ -o -

echo "any number of threads, any memory:"
shoal gen world -q --words 200000 -o world.txt
shoal phrases -q world.txt --threshold 10 --passes 2 --threads 1 -o one.txt
tr -cd _ <one.txt | wc -c
for options in "--threads 2" "--threads 5" "--threads 3 --vocab-memory 2M"; do
    shoal phrases -q world.txt --threshold 10 --passes 2 $options -o other.txt 2>/dev/null
    cmp one.txt other.txt
done

echo "several inputs, a folder, a glob and standard input:"
mkdir folder
small_text >folder/one.txt
small_text | gzip >folder/two.gz
for inputs in "text.txt text.txt" folder "folder/*"; do
    shoal phrases -q --min-count 2 --threshold 2 $inputs -o - | tail -1
done
small_text | shoal phrases -q --min-count 1 --threshold 2 --passes 2 - -o - | head -1

echo "words and phrases are counted:"
shoal phrases -q --min-count 1 --threshold 2 text.txt -o - | shoal vocab -q --min-count 2 -

echo "words of letters and digits:"
printf 'New York. New-york!\n' |
    try shoal phrases -q --min-count 1 --threshold 0.9 --tokens words --passes 2 - -o -

echo "bytes that are no text:"
printf 'a b\377c a\n' >bad.txt
try shoal phrases -q bad.txt -o out.txt
try shoal phrases -q --bad-bytes space bad.txt -o -

echo "what makes no sense:"
try shoal phrases text.txt
try shoal phrases -o out.txt
try shoal phrases text.txt -o out.txt --threshold -1
try shoal phrases text.txt -o out.txt --passes 0
try shoal phrases text.txt -o out.txt --joiner 'a b'

echo "nothing to join, nowhere to write:"
: >empty.txt
try shoal phrases empty.txt -o out.txt
try shoal phrases text.txt -o nowhere/out.txt
try full shoal phrases -q text.txt -o -
ls -A
