#!/bin/sh
# Windows of words predict the embedding of the next one.
#
#     examples/studies/nextword.sh [FOLDER]
name=nextword
. "$(dirname "$0")/begin.sh"

[ -e text.shoal ] || {
    "$shoal" gen world --words "$(size 300000 20000)" --quiet --output text.txt
    "$shoal" encode --quiet --output text.shoal text.txt
}
[ -e vectors.bin ] ||
    "$shoal" train cbow text.shoal --dim 100 --epochs 3 --threads 1 --quiet --output vectors.bin
"$shoal" study nextword text.shoal --workers "${WORKERS:-1,2}" --epochs "$(size 3 1)" \
    --repeat "$(size 2 1)" --output study --plots figures -- --vectors vectors.bin --length 10
echo
echo "Each epoch of one rank (loss, cosine, word accuracies, norm of the gradient, memory):"
sed -n 's/.*"event":"epoch","epoch":\([0-9]*\).*"memory":\([0-9]*\),"train":{\([^}]*\)}.*"gradient":\([^,}]*\).*/  \1: \3, gradient \4, memory \2/p' \
    study/runs/cell-001-001/metrics.jsonl
original <<'END'
10.6 windows a second; its accuracy was never defined
END
