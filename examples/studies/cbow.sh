#!/bin/sh
# CBOW with a full softmax on 1, 2 and 4 workers, strong and weak.
#
#     examples/studies/cbow.sh [FOLDER]
#
# The text is generated, or the beginning of wiki8.zst in the folder SHOAL_DATA. Of the latter
# every twentieth line of 200 words goes to the end, where it is held out: the last article
# alone would ask for words that the others do not have.
name=cbow
. "$(dirname "$0")/begin.sh"

[ -e text.shoal ] || {
    if [ -f "${SHOAL_DATA:-}/wiki8.zst" ]; then
        zstd -dc "$SHOAL_DATA/wiki8.zst" | tr -s ' ' '\n' | head -n "$(size 200000 20000)" |
            paste -sd "$(printf ' %.0s' $(seq 199))\\n" |
            awk 'NR % 20 { print; next } { held = held $0 "\n" } END { printf "%s", held }' >text.txt
    else
        "$shoal" gen world --words "$(size 200000 20000)" --quiet --output text.txt
    fi
    "$shoal" encode --max-vocab 2000 --unk --quiet --output text.shoal text.txt
}
"$shoal" study cbow text.shoal --workers 1,2,4 --sync async,sync --scaling both --epochs 3 \
    --repeat "$(size 2 1)" --target-loss "$(size 4.9 4)" --output study --plots figures -- \
    --loss softmax --dim 100 --sample 0 --valid 5%
original <<'END'
workers  words/s  speedup
      1    7,000        1
      4   10,850     1.55   by throughput; most of the rest was queueing
END
