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
echo "Each epoch of one rank, on what it trained on:"
python3 - study/runs/cell-001-001/metrics.jsonl <<'END'
import json, sys
columns = (("epoch", lambda e: e["epoch"]),
           ("MSE", lambda e: e["train"].get("mse")),
           ("MAE", lambda e: e["train"].get("mae")),
           ("RMSE", lambda e: e["train"].get("rmse")),
           ("cosine", lambda e: e["train"].get("cosine")),
           ("top-1 accuracy", lambda e: e["train"].get("word_top1")),
           ("top-10 accuracy", lambda e: e["train"].get("word_top10")),
           ("gradient L2 norm", lambda e: e["run"].get("gradient")),
           ("learning rate", lambda e: e.get("lr")),
           ("time (s)", lambda e: e["run"].get("epoch_seconds")),
           ("memory (MiB)", lambda e: e["memory"] / 1048576))
heads = [name for name, _ in columns]
print(" ", "  ".join(head.rjust(6) for head in heads))
for line in map(json.loads, open(sys.argv[1])):
    if line["event"] == "epoch":
        cells = ("-" if x is None else f"{x:.4g}" for x in (of(line) for _, of in columns))
        print(" ", "  ".join(cell.rjust(max(6, len(head))) for cell, head in zip(cells, heads)))
END
original <<'END'
10.6 windows a second; its accuracy was never defined
END
