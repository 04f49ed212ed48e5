#!/bin/bash
# Four hosts on one machine: network namespaces, each with its own name and a
# link of 1 Gbit/s to a bridge. Training runs over them, a link is cut, a rank is
# killed, and each time the job says who is gone, starts again and ends well.
#
#     tests/mpi/hosts.sh BINARY [RATE]     TAP on standard output
#
# Needs root and the right to make namespaces; else it is skipped.
set -u

binary=$(realpath "$1")
rate=${2:-1gbit}
hosts=4
work=$(mktemp -d)
number=0
failed=0

# shellcheck source=tests/mpi/netns.sh
. "$(dirname "$0")/netns.sh"

say() { # ok|not ok, what
    number=$((number + 1))
    echo "$1 $number - $2"
    [ "$1" = ok ] || failed=1
}

skip() {
    echo "1..0 # SKIP $1"
    exit 0
}

# ---- jobs -------------------------------------------------------------------------

job() { # options of shoal train
    on_first timeout 120 "$binary" train skipgram "$work/corpus.shoal" --dim 32 --threads 1 --ranks 4 \
        --hosts 10.77.0.1,10.77.0.2,10.77.0.3,10.77.0.4 "$@"
}

# A job in the background that is long enough to be disturbed, and then some.
begin_job() {
    rm -rf "$work/run" "$work/log" "$work/out.bin"
    job -o "$work/out.bin" --epochs "$epochs" --silent-after 5s "$@" >"$work/log" 2>&1 &
    job=$!
}

until_training() {
    for _ in $(seq 300); do
        ls "$work"/run/checkpoint-*.shoal >/dev/null 2>&1 && return 0
        kill -0 $job 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

link() { ip -n "$(name br)" link set "p$1" "$2"; }

# The process of the rank on a host: not its launcher's helper.
rank_on() {
    for pid in $(ip netns pids "$(name "$1")"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = shoal ] &&
            grep -qz 'OMPI_COMM_WORLD_RANK\|PMI_RANK' "/proc/$pid/environ" 2>/dev/null && echo "$pid"
    done | tail -1
}

check() { # what, command...
    local what=$1
    shift
    if "$@" >/dev/null 2>&1; then
        say ok "$what"
    else
        say 'not ok' "$what"
        sed 's/^/# /' "$work/log"
    fi
}

# ---- the cases ---------------------------------------------------------------------

plain() {
    job -o "$work/out.bin" --epochs 1 >"$work/log" 2>&1
    check 'four hosts train' test $? = 0
    check 'all four are ranks' grep -qE '^ranks +4' "$work/log"
    check 'the vectors are there' test -s "$work/out.bin"
}

cut_link() {
    local began code

    begin_job --checkpoint "$work/run" --checkpoint-every 1s
    check 'a job to be cut has begun' until_training
    link 2 down
    began=$SECONDS
    wait $job
    code=$?
    link 2 up
    check 'a cut link ends the job with a failure' test $code != 0
    check 'and soon' test $((SECONDS - began)) -le 30
    check 'naming the rank and the host' grep -qE 'rank [0-9] on n[0-9] silent for 5 s' "$work/log"
}

killed() { # rank
    begin_job --checkpoint "$work/run" --checkpoint-every 1s --restarts 2
    check "a job whose rank $1 will die has begun" until_training
    kill -9 "$(rank_on "$1")"
    wait $job
    check "killing rank $1 is survived" test $? = 0
    check "and rank $1 was named" \
        grep -qE "rank $1 on (n$1|10\.77\.0\.$(($1 + 1)))" "$work/log"
    check 'and restarted' grep -q 'restart 1 of 2' "$work/log"
    check 'and the vectors are there' test -s "$work/out.bin"
}

trap end_hosts EXIT
why=$(can_host) || skip "$why"
"$binary" gen world -q --words 400000 -o "$work/text" --questions "$work/questions" &&
    "$binary" encode -q "$work/text" -o "$work/corpus.shoal" || exit 1
epochs=${SHOAL_HOSTS_EPOCHS:-60}

plain
cut_link
for rank in 0 1 2 3; do
    killed $rank
done
echo "1..$number"
exit $failed
