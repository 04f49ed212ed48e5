#!/bin/sh
# Logistic regression on click data: sync and async, batches of 1 to 10,000.
#
#     examples/studies/logreg.sh [FOLDER]
name=logreg
. "$(dirname "$0")/begin.sh"

[ -e clicks.shoal ] || {
    "$shoal" gen clicks --rows "$(size 400000 20000)" --quiet --output clicks.tsv
    "$shoal" encode --as clicks --quiet --output clicks.shoal clicks.tsv
}
"$shoal" study logreg clicks.shoal --workers "${WORKERS:-1,2}" --sync async,sync \
    --batch 1,100,1000,10000 --epochs 1 --repeat "$(size 3 1)" --output study --plots figures -- \
    --valid-share 10%
original <<'END'
about 315 examples a second, whatever the batch; sync and async, 1 to 10,000
END
