# One epoch of CBOW teaches words that come ten times: those of one topic become alike (0.77 to
# 0.79 with seeds 1 to 3). At half the rate they hardly leave their place (0.03 to 0.07).

# 40 topics: 30 words that are common there, ten that come ten times, and words of no topic.
awk 'BEGIN {
    srand(1)
    for (i = 0; i < 12000; i++) {
        topic = i % 40
        n = int(i / 40)
        line = "topic" topic
        for (k = 0; k < 12; k++)
            line = line " word" topic "x" int(30 * rand() * rand())
        if (n % 3 == 0)
            line = line " rare" topic "x" n / 3 % 10
        for (k = 0; k < 3; k++)
            line = line " other" int(50 * rand() * rand())
        print line
    }
}' >text.txt
awk 'BEGIN {
    for (i = 0; i < 800; i++) {
        topic = i % 40
        other = i % 80 < 40 ? topic : (topic + 1 + i % 39) % 40
        print "rare" topic "x" i % 9 "\trare" other "x" (i % 9 + 1 + i % 7) % 10 "\t" (other == topic)
    }
}' >pairs.txt

for lr in 0.025 0.05; do
    shoal train cbow text.txt -q --dim 32 --epochs 1 --threads 1 --lr $lr -o v.bin
    shoal eval v.bin pairs.txt | awk -v lr=$lr '
        $1 == "spearman" { print lr ($2 > 0.6 ? ": they are alike" : ": they are not") }
        $1 == "found" { print $2 " pairs" }'
done
