#!/bin/bash
# Two hosts on one machine (network namespaces), with a link that is slow: the
# profile of a run must name it, and must not when it is fast.
#
#     tests/mpi/links.sh BINARY     TAP on standard output
#
# Needs root and the right to make namespaces; else it is skipped. Fails where the
# cores are too busy for the link to be the limit: to be run by hand, on its own.
set -u

binary=$(realpath "$1")
hosts=2
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

check() { # what, command...
    local what=$1
    shift
    if "$@" >/dev/null 2>&1; then
        say ok "$what"
    else
        say 'not ok' "$what"
    fi
    sed 's/^/# /' "$work/log"
}

# job RATE options of shoal train: its report in $work/log
job() {
    rate=$1
    shift
    for i in 0 1; do
        tc -n "$(name $i)" qdisc change dev e0 root tbf rate "$rate" burst 128kb latency 50ms
        tc -n "$(name br)" qdisc change dev "p$i" root tbf rate "$rate" burst 128kb latency 50ms
    done
    on_first timeout 300 "$binary" train skipgram "$work/corpus.shoal" -o "$work/out.bin" --dim 100 \
        --threads 1 --ranks 2 --hosts 10.77.0.1,10.77.0.2 --profile --metrics "$work/metrics" "$@" \
        2>&1 | sed -n '/^profile/,$p; /^took/p; /^shoal:/p' >"$work/log"
}

limit_is() { grep -q "\"event\":\"profile\".*\"limit\":\"$1\"" "$work/metrics"; }
limit_is_not() { ! limit_is "$1"; }
link_can() { # from, to: MB/s
    sed -n 's/.*"event":"profile".*"link_can":\([0-9.e+]*\).*/\1/p' "$work/metrics" |
        awk -v from="$1" -v to="$2" '{ ok = $1 >= from * 1e6 && $1 <= to * 1e6 } END { exit !ok }'
}

trap end_hosts EXIT
rate=100mbit
why=$(can_host) || { echo "1..0 # SKIP $why"; exit 0; }
"$binary" gen world -q --words 400000 -o "$work/text" --questions "$work/questions" &&
    "$binary" encode -q "$work/text" -o "$work/corpus.shoal" || exit 1

job 100mbit --sync sync --epochs 4
check 'a link of 100 Mbit/s is named as the limit of a run in rounds' limit_is link
check 'and what it can carry is known' link_can 8 16
job 100mbit --sync average:16 --epochs 1
check 'and of one that averages models' limit_is link
job 100mbit --sync async --epochs 8
check 'a run that waits for nobody tells of rows that stay behind' grep -q 'Rows stay behind\|the network is the limit' "$work/log"
job 10gbit --sync async --epochs 20
check 'a fast link is not' limit_is_not link
echo "1..$number"
exit $failed
