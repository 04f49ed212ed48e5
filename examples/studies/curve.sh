#!/bin/sh
# Skip-gram on 1 to 128 nodes with links of 1, 10 and 25 Gbit/s, async and sync: how efficient
# they are and what becomes of the analogies. Trained for real, with simulated time (SimGrid).
#
#     SHOAL_DATA=folder examples/studies/curve.sh [FOLDER]
#
# The text is the beginning of wiki-next.zst in SHOAL_DATA, and the questions its
# questions-words.txt; else both are generated. Every number of nodes learns from the same words
# once: strong scaling. A node is one core. What is not cut for a small curve are the dimension
# and the default options; what is cut are the words (WORDS) and the vocabulary (VOCABULARY), since
# one process holds the models of all nodes. On 1 Gbit/s, where all flows depend on each other,
# MOST (32) nodes are simulated at most. NODES, LINKS, SYNC and MODEL choose other cells.
# 128 nodes take 20 GB with async, 28 GB with sync: without NODES they are there where 32 GB are.
#
# Given again it goes on: cells that ran are not run again. After a new build remove FOLDER/study.
# It writes curve.md (the table), study/predicted.csv, figures/predicted-curve.svg (the chart).
name=curve
. "$(dirname "$0")/begin.sh"

[ -e "$(dirname "$shoal")/shoal-smpi.so" ] || [ -n "${SHOAL_SMPI:-}" ] ||
    echo "$0: found no SimGrid beside $shoal; a formula predicts, and no analogies" >&2
words=${WORDS:-$(size 8000000 60000)}
[ -e text.shoal ] || {
    if [ -f "${SHOAL_DATA:-}/wiki-next.zst" ]; then
        zstd -dc "$SHOAL_DATA/wiki-next.zst" | tr -s ' ' '\n' | head -n "$words" |
            paste -sd "$(printf ' %.0s' $(seq 199))\\n" >text.txt
        cp "$SHOAL_DATA/questions-words.txt" questions.txt
    else
        "$shoal" gen world --words "$words" --quiet --output text.txt --questions questions.txt
    fi
    "$shoal" encode --max-vocab "${VOCABULARY:-20000}" --quiet --output text.shoal text.txt
    rm text.txt
}
# Sockets: 2.4 ns of system time for a byte, measured on 2 hosts that are network namespaces.
links=${LINKS:-$(size 1,10,25 1,10)}
nodes=1,2,4,8,16,32,64
[ "$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)" -lt 32000000 ] || nodes=$nodes,128
nodes=${NODES:-$(size $nodes 1,2,4)}
most=$(echo "$links" | tr ',' '\n' | awk -v most="${MOST:-32}" '{
    printf "%s%d", (NR == 1 ? "" : ","), ($1 < 10 ? most : 100000)
}')
cat >cluster.json <<END
{"name": "${MODEL:-skipgram} on nodes of one core", "nodes": 128, "cores": 1, "gigabits": [$links], "simulate": [$most],
 "microseconds": 50, "jitter": 0.2, "socket_ns": 2.4,
 "workers": [$nodes]}
END
"$shoal" study "${MODEL:-skipgram}" text.shoal --workers "${WORKERS:-1,2}" \
    --sync "${SYNC:-async,sync}" --epochs 1 --repeat "$(size 3 1)" --simulate cluster.json --jobs "${JOBS:-$(nproc)}" \
    --output study --plots figures -- --dim "$(size 100 20)" --eval questions.txt

# Of names, those without commas in them: policies.
tr -d '"' <study/predicted.csv | awk -F, -v words="$words" '
    function share(x) { return x == "" ? "-" : sprintf("%.0f %%", 100 * x) }
    NR == 1 {
        print "One epoch of the same " words " words on any number of nodes, each one core."
        print "Nodes train for real; their time is simulated.\n"
        print "| link | policy | nodes | words/s | efficiency | analogies | bytes a word | waiting |" \
              " link busy | staleness | by |"
        print "|---|---|---|---|---|---|---|---|---|---|---|"
        next
    }
    $18 != "" { printf "| %g Gbit/s | %s | %d | failed: %s | | | | | | | %s |\n", $1, $3, $2, $18, $4; next }
    {
        printf "| %g Gbit/s | %s | %d | %.0f k | %.2f | %s | %s | %s | %s | %s | %s |\n", $1, $3, $2,
               $6 / 1000, $8, $10 == "" ? "-" : sprintf("%.1f %%", 100 * $10),
               $11 == "" ? "-" : sprintf("%.0f", $11), share($12), share($13),
               $14 == "" ? "-" : sprintf("%.1f", $14), $4
    }' >curve.md
echo
cat curve.md
