echo "control bytes separate words, and NUL is one:"
printf 'one\000two\001three\177four\033five one\n' >control.txt
try shoal vocab -q --min-count 1 control.txt

echo "lines of old Macintoshes:"
printf 'a b\rc d\r\re f\r\n' >mac.txt
try shoal vocab --min-count 1 mac.txt -o vocab.txt

echo "bytes that are not UTF-8, each way:"
printf 'one\ncaf\351 au lait\ncaf\351\n' >latin.txt
try shoal vocab -q --min-count 1 latin.txt
try shoal vocab -q --min-count 1 --bad-bytes space latin.txt
try shoal vocab -q --min-count 1 --bad-bytes replace latin.txt
try shoal vocab -q --min-count 1 --bad-bytes keep latin.txt | iconv -f latin1 -t utf8
try shoal vocab -q --min-count 1 --encoding windows-1252 latin.txt
try shoal vocab -q --min-count 1 --encoding auto latin.txt control.txt
try shoal vocab -q --min-count 1 --bad-bytes no latin.txt
try shoal vocab -q --min-count 1 --encoding no latin.txt
try shoal vocab -q --min-count 1 - <latin.txt

echo "UTF-16, with its mark and without:"
printf 'café au lait, le café\n' >utf8.txt
printf '\377\376' >marked.txt
iconv -f utf8 -t utf-16le utf8.txt >>marked.txt
iconv -f utf8 -t utf-16be utf8.txt >plain.txt
try shoal vocab -q --min-count 1 marked.txt
try shoal vocab -q --min-count 1 plain.txt
try shoal vocab -q --min-count 1 --encoding utf-16 marked.txt plain.txt
try shoal vocab -q --min-count 1 --encoding auto marked.txt plain.txt utf8.txt latin.txt
try shoal vocab -q --min-count 1 --encoding utf-16 utf8.txt
gzip -k marked.txt
try shoal encode -q --min-count 1 --encoding utf-16 --tokens words marked.txt.gz -o corpus.shoal
try shoal info corpus.shoal

echo "text without spaces:"
for i in 1 2 3; do printf '我爱北京天安门天安门上太阳升\n'; done >chinese.txt
try shoal vocab -q --min-count 1 chinese.txt
try shoal vocab -q --min-count 1 --tokens words chinese.txt
try shoal vocab -q --min-count 4 --tokens chars chinese.txt
try shoal vocab -q --min-count 4 --tokens bigrams chinese.txt
try shoal train cbow -q --epochs 1 --dim 4 --min-count 1 --threads 1 chinese.txt -o v.bin
shoal encode -q --min-count 1 --tokens bigrams chinese.txt -o corpus.shoal
try shoal info corpus.shoal

echo "emoji:"
printf 'Nice 👍🏽👨‍👩‍👧 job 🇩🇪 1️⃣!\n' >emoji.txt
try shoal vocab -q --min-count 1 --tokens words emoji.txt
try shoal vocab -q --min-count 1 --tokens words --emoji emoji.txt

echo "the same for any number of threads:"
for threads in 1 2 3; do
    cat chinese.txt emoji.txt utf8.txt | shoal vocab -q --min-count 1 --tokens bigrams --emoji \
        --threads $threads - | cksum
done

echo "next words are asked for in the words of the text:"
for i in 1 2 3 4 5 6 7 8; do cat chinese.txt; done >many.txt
try shoal train cbow -q --tokens chars --epochs 2 --dim 8 --min-count 1 --threads 1 many.txt -o v.shoal
try shoal train nextword -q --vectors v.shoal --tokens chars --hidden 8 --length 2 --epochs 2 --threads 1 \
    --min-count 1 many.txt -o next.shoal
try shoal predict next.shoal '我爱北京' --top 2 | sed 's/0\.[0-9]* .*/SHARE  WORD/'
try shoal predict next.shoal 'nothing known'
