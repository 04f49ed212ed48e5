# Click data: made up, encoded, looked at, and refused.
try shoal gen clicks --rows 3000 -o train.tsv
shoal gen clicks --rows 3000 -q --threads 1 | cmp - train.tsv && echo "the same seed, the same bytes"
tail -n 1000 train.tsv >tail.tsv
shoal gen clicks --rows 1000 --first 2000 -q | cmp - tail.tsv && echo "rows depend on their number"
try shoal encode --as clicks train.tsv -o train.shoal --threads 2
try shoal info train.shoal --top 3
gzip -c train.tsv | shoal encode --as clicks - -q -o piped.shoal --threads 1
cmp train.shoal piped.shoal && echo "the same file from a pipe"
shoal encode --as clicks -q train.tsv -o spilled.shoal --row-memory 1M
cmp train.shoal spilled.shoal && echo "the same file with little memory"

echo "other formats:"
for format in libsvm vw csv; do
    shoal gen clicks --rows 2 --format $format -q | cut -c 1-60
done
printf "1 2 'tag|user age:30 rome |ad shoes\n-1 |ad hats shoes\n" >rows.vw
shoal encode --as clicks -q rows.vw -o vw.shoal
try shoal info vw.shoal
printf 'id,bought,age,city\n7,1,30,"rome, italy"\n8,0,NA,oslo\n9,0,41,\n' >rows.csv
shoal encode --as clicks -q rows.csv -o csv.shoal --label bought --numeric age --bits 12
try shoal info csv.shoal --top 4

echo "many classes:"
printf '7 1:1\n0 2:1\n1 1:1 2:1\n' >many.svm
try shoal encode --as clicks -q many.svm -o many.shoal
try shoal encode --as clicks -q --classes many.svm -o many.shoal
try shoal info many.shoal --top 0
try shoal train logreg -q many.shoal -o x.shoal
try shoal encode -q --classes rows.csv -o x.shoal

echo "bad lines:"
printf '1 3:1\n0 5:1 4:1\n1 x\n0 7:1\n' >bad.svm
try shoal encode --as clicks bad.svm -o bad.shoal -q
try shoal encode --as clicks bad.svm -o bad.shoal -q --skip-bad 1
try shoal encode --as clicks bad.svm -o bad.shoal -q --skip-bad 2
try shoal info bad.shoal --top 0
{
    printf '1 3:1\n0 '
    head -c 100000000 /dev/zero | tr '\0' 7
    printf '\n1 5:1\n'
} | try shoal encode --as clicks - -o long.shoal -q --format libsvm
for i in 1 2 3 4 5 6 7 8; do echo "bad $i"; done | cat bad.svm - |
    try shoal encode --as clicks - -o bad.shoal -q --skip-bad 10

echo "what makes no sense:"
try shoal encode --as clicks rows.csv -o x.shoal -q --min-count 2
try shoal encode --as clicks rows.csv -o x.shoal -q --vocab rows.csv
try shoal encode rows.csv -o x.shoal -q --bits 12
try shoal encode rows.csv -o x.shoal -q --row-memory 2M
try shoal encode --as clicks rows.csv -o - -q
try shoal encode --as clicks rows.csv -o x.shoal -q --bits 31
try shoal encode --as clicks rows.csv -o x.shoal -q --label sold
try shoal encode --as clicks rows.csv -o x.shoal -q --label bought --numeric weight
try shoal encode --as clicks rows.csv -o x.shoal -q --threads 1 --memory 1M
try shoal encode --as clicks nowhere.tsv -o x.shoal -q
try shoal gen clicks --rows 0
head -c 200 train.shoal >cut.shoal
try shoal info cut.shoal
ls
