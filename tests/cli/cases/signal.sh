# An interrupt stops the work, leaves nothing behind and exits with 130.
mkdir out
try timeout --preserve-status -s INT 1 shoal gen world --words 100000000000 -o out/text.txt
ls -A out
try timeout --preserve-status -s TERM 1 shoal gen world --words 100000000000 -q -o out/text.txt
ls -A out
