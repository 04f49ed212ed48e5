#!/bin/bash
# What `shoal study --simulate` predicts against what hosts take: 2 and 4 hosts (network
# namespaces on this machine), links of 1 Gbit/s and 100 Mbit/s.
#
#     bench/predict.sh BUILD [FOLDER]      needs root and SimGrid
#     HOW=sync LINKS=0.1 HOSTS=2 bench/predict.sh BUILD      some of it: links in Gbit/s
#
# The links are token buckets, which let their first 128 KiB pass faster than their rate; a
# line does not. The net is therefore one whose exchange of 2.4 MB is 18 buckets.
#
# All hosts share the cores of this machine. n of them on c cores have c / n of a core each,
# at most one: that is their `speed`. Computing is calibrated by the run of one rank, and what
# packing and merging cost by one of two ranks here; both are in FOLDER, as is the table.
set -eu

binary=$(realpath "$1/cli/shoal")
folder=${2:-bench/results/predict}
mkdir -p "$folder"
folder=$(realpath "$folder")
hosts=4
rate=1gbit
work=$(mktemp -d)
cores=$(nproc)

# shellcheck source=tests/mpi/netns.sh
. "$(dirname "$0")/../tests/mpi/netns.sh"
trap end_hosts EXIT
can_host || exit 1

set_rate() {
    for i in $(seq 0 $((hosts - 1))); do
        tc -n "$(name "$i")" qdisc change dev e0 root tbf rate "$1" burst 128kb latency 50ms
        tc -n "$(name br)" qdisc change dev "p$i" root tbf rate "$1" burst 128kb latency 50ms
    done
}

data=$folder/spiral.csv
[ -e "$data" ] || "$binary" gen spiral --samples 4800 --classes 4 -q -o "$data"
options="--layers 768,768"

# measure RANKS SYNC: the shortest of three runs, in seconds
measure() {
    local list=10.77.0.1 ranks=$1 how=$2
    for i in $(seq 2 "$ranks"); do list=$list,10.77.0.$i; done
    for _ in 1 2 3; do
        rm -f "$work/metrics"
        # shellcheck disable=SC2086
        on_first timeout 300 "$binary" train mlp "$data" -q --threads 1 \
            -o "$work/out.shoal" --ranks "$ranks" --hosts "$list" --sync "$how" --rank-batch 64 \
            --epochs 2 $options \
            --metrics "$work/metrics" >/dev/null 2>&1 || true
        sed -n 's/.*"event":"done".*"seconds":\([0-9.e-]*\).*/\1/p' "$work/metrics" 2>/dev/null || true
    done | sort -g | head -1
}

# predict RANKS GIGABITS SYNC
predict() {
    awk -v n="$1" -v c="$cores" -v g="$2" 'BEGIN {
        printf "{\"name\":\"namespaces\",\"nodes\":%d,\"gigabits\":%g,\"microseconds\":50,", n, g
        printf "\"speed\":%g,\"jitter\":0.05,\"workers\":[%d]}\n", c < n ? c / n : 1, n }' >"$work/cluster.json"
    # shellcheck disable=SC2086
    "$binary" study mlp "$data" --workers 1,2 --sync "$3" --epochs 2 --repeat 3 \
        --simulate "$work/cluster.json" -o "$folder/study-${3%%:*}" -- --rank-batch 64 $options >"$work/said" 2>&1
    awk '$NF == "simulated" {
        for (i = 2; $i != "s" && $i != "ms"; i++) { }
        print $i == "ms" ? $(i - 1) / 1000 : $(i - 1) }' "$work/said"
}

table() {
    echo 'hosts  link         sync        predicted  measured   error'
    for how in ${HOW:-sync average:16}; do
        for link in ${LINKS:-1 0.1}; do
            set_rate "$(awk -v g="$link" 'BEGIN { printf "%dmbit", g * 1000 }')"
            for n in ${HOSTS:-2 4}; do
                p=$(predict "$n" "$link" "$how")
                m=$(measure "$n" "$how")
                [ -n "$p" ] && [ -n "$m" ] || { echo "$n hosts, $link Gbit/s, $how: failed"; exit 1; }
                awk -v n="$n" -v g="$link" -v h="$how" -v p="$p" -v m="$m" 'BEGIN {
                    printf "%5d  %4g Mbit/s  %-10s  %7.3f s  %6.3f s  %+4.0f %%\n",
                           n, g * 1000, h, p, m, (m > 0 ? 100 * (p - m) / m : 0) }'
            done
        done
    done
}

table | tee -a "$folder/table.txt"
