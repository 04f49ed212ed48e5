#!/bin/bash
# VGG-11 on three hosts (network namespaces on this machine, links of RATE) against one:
# seconds of a step on each.
#
#     bench/vgg_hosts.sh BUILD CIFAR [RATE] [DTYPE] [BATCH] [STEPS] [ROUNDS]
#                                    (10gbit, f32, 256, 8, 3)
#
# CIFAR is the folder of CIFAR-10's binary files. Each rank has one thread. Three ranks
# on fewer than three cores share them, and caches and memory too; so the reference is
# three runs of one rank that do not know each other, in the same namespaces at the same
# time. The two take turns, after a round that does not count. Needs root.
set -eu

binary=$(realpath "$1/cli/shoal")
cifar=$2
rate=${3:-10gbit}
dtype=${4:-f32}
batch=${5:-256}
steps=${6:-8}
rounds=${7:-3}
hosts=3
work=$(mktemp -d)

# shellcheck source=tests/mpi/netns.sh
. "$(dirname "$0")/../tests/mpi/netns.sh"
trap end_hosts EXIT
can_host || exit 1

part() { # folder, pictures
    mkdir "$1"
    cat "$cifar"/data_batch_?.bin | head -c $((3073 * $2)) >"$1/data_batch_1.bin" 2>/dev/null
}
part "$work/one" $((batch * steps))
part "$work/three" $((3 * batch * steps))

# By the command given; of data to out, with more options.
vgg() {
    "$@" "$binary" train vgg "$data" -o "$work/$out.shoal" --threads 1 --rank-batch "$batch" --epochs 1 \
        --valid-share 0 --dtype "$dtype" --metrics "$work/$out.jsonl" ${more:+$more} >"$work/$out.out" 2>"$work/$out.err" ||
        { cat "$work/$out.err"; return 1; }
}

# The mean over ranks of the seconds of a step, and of them computing, waiting and
# communicating: from the profiles of runs.
steps_of() {
    sed -n 's/.*"per_rank":\[//p' "$@" | tr '{' '\n' |
        sed -n 's/.*"steps":\([0-9]*\).*"computing":\([^,]*\),"communicating":\([^,]*\),"waiting":\([^,]*\).*/\1 \2 \4 \3/p' | awk '{
        n++; for (i = 2; i <= 4; i++) { s[i] += $i / $1; s[1] += $i / $1 } }
        END { for (i = 1; i <= 4; i++) printf "%.4f ", s[i] / n; print "" }'
}

apart() {
    local i pids="" data=$work/one out more=""
    for i in 0 1 2; do
        out=one$i
        vgg ip netns exec "$(name $i)" &
        pids="$pids $!"
    done
    for i in $pids; do wait "$i"; done
    steps_of "$work"/one?.jsonl
}

together() {
    local data=$work/three out=all more="--ranks 3 --hosts 10.77.0.1,10.77.0.2,10.77.0.3"
    vgg on_first
    steps_of "$work/all.jsonl"
}

apart >/dev/null
for _ in $(seq "$rounds"); do
    a=$(apart)
    b=$(together)
    echo "$a $b" | tee -a "$work/found" | awk '{
        printf "alone %.3f s a step; together %.3f (compute %.3f, wait %.3f, communicate %.3f)\n",
               $1, $5, $6, $7, $8 }'
done
awk -v rate="$rate" -v dtype="$dtype" -v batch="$batch" '
    NR == 1 || $1 < one { one = $1 }
    NR == 1 || $5 < three { three = $5 }
    { ones += $1; threes += $5 }
    END { printf "%s, batch %d, %s: overhead %.1f %%, best against best; %.1f %%, mean against mean\n",
                 dtype, batch, rate, 100 * (three / one - 1), 100 * (threes / ones - 1) }' "$work/found"
