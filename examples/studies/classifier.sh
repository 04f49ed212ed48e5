#!/bin/sh
# Two dense layers on 40,000 points in 4 classes, on 1 to 32 ranks. The work of a step
# is the same for any number of ranks: --global-batch.
#
#     examples/studies/classifier.sh [FOLDER]
name=classifier
. "$(dirname "$0")/begin.sh"

[ -e spiral.csv ] ||
    "$shoal" gen spiral --samples "$(size 40000 4000)" --classes 4 --quiet --output spiral.csv
"$shoal" study mlp spiral.csv --workers "${WORKERS:-$(size 1,2,4,8,16,32 1,2)}" --sync async,sync \
    --epochs "$(size 40 5)" --repeat "$(size 2 1)" --output study --plots figures -- \
    --layers 64 --global-batch 256
original <<'END'
nodes  speedup  accuracy
    1        1     0.757
    8     1.62     0.523   the best speedup; the accuracy is lost
   32     1.37
END
