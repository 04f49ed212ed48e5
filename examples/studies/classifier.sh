#!/bin/sh
# Three dense layers on 40,000 points in 4 classes, on 1 to 32 nodes: trained for real,
# with simulated time (SimGrid, where it is installed; else by a formula).
#
#     examples/studies/classifier.sh [FOLDER]
#
# Each node takes batches of 64, as one does alone, and all average their models every 32
# steps. SYNC=sync adds up gradients at every step instead, and slows the simulation down.
name=classifier
. "$(dirname "$0")/begin.sh"

[ -e spiral.csv ] ||
    "$shoal" gen spiral --samples "$(size 40000 4000)" --classes 4 --quiet --output spiral.csv
cat >cluster.json <<END
{"name": "32 nodes on 10 Gbit/s", "nodes": 32, "cores": 1, "gigabits": 10, "microseconds": 50,
 "jitter": 0.2, "workers": [$(size 1,2,4,8,16,32 1,2,4)]}
END
"$shoal" study mlp spiral.csv --workers "${WORKERS:-1,2}" --sync "${SYNC:-average:32}" \
    --epochs "$(size 20 5)" --repeat "$(size 3 1)" --simulate cluster.json \
    --output study --plots figures -- --layers 256,256 --rank-batch 64
original <<'END'
nodes  speedup  accuracy
    1        1     0.757
    8     1.62     0.523   the best speedup; the accuracy is lost
   32     1.37
END
