#!/bin/bash
# Four hosts of one core's part each (network namespaces on this machine, links of
# RATE) against one: words a second for each busy core.
#
#     SHOAL_DATA=folder bench/hosts.sh BUILD [RATE] [MODEL...]     (1gbit; skipgram cbow)
#
# The folder holds wiki8.zst; without it the generated world serves. Of EPOCHS (3) epochs, since one
# is soon over and its result must reach the first host all the same. Needs root.
set -eu

binary=$(realpath "$1/cli/shoal")
rate=${2:-1gbit}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- skipgram cbow
hosts=4
epochs=${EPOCHS:-3}
work=$(mktemp -d)

# shellcheck source=tests/mpi/netns.sh
. "$(dirname "$0")/../tests/mpi/netns.sh"
trap end_hosts EXIT
can_host || exit 1

corpus=$work/corpus.shoal
if [ -f "${SHOAL_DATA:-}/wiki8.zst" ]; then
    zstd -dc "$SHOAL_DATA/wiki8.zst" | tr -s ' ' '\n' | paste -sd "$(printf ' %.0s' $(seq 199))\\n" |
        "$binary" encode -q - -o "$corpus"
else
    "$binary" gen world -q --words 3000000 -o "$work/text" --questions "$work/questions"
    "$binary" encode -q "$work/text" -o "$corpus"
fi

rate_of() { # metrics: words a second of the whole run
    tail -1 "$1" | sed 's/.*"examples":\([0-9]*\).*"seconds":\([0-9.]*\).*/\1 \2/' | awk '{ print $1 / $2 }'
}

cores=$(nproc)
for model; do
    "$binary" train "$model" "$corpus" -q -o "$work/one.bin" --threads 1 --epochs "$epochs" \
        --metrics "$work/one"
    on_first "$binary" train "$model" "$corpus" -q -o "$work/four.bin" --threads 1 --epochs "$epochs" \
        --ranks 4 --hosts 10.77.0.1,10.77.0.2,10.77.0.3,10.77.0.4 --metrics "$work/four"
    one=$(rate_of "$work/one")
    four=$(rate_of "$work/four")
    busy=$((cores < 4 ? cores : 4))
    awk -v m="$model" -v one="$one" -v four="$four" -v busy="$busy" -v rate="$rate" 'BEGIN {
        printf "%-9s one host %.0f k words/s a core; four at %s %.0f on %d cores: %.2f a core\n",
               m, one / 1e3, rate, four / 1e3, busy, four / busy / one }'
    grep '"ranks"' "$work/four"
done
