#!/bin/sh
# A VGG on pictures of 32 x 32, alone and on three ranks: the time of an iteration.
#
#     examples/studies/vgg.sh [FOLDER]
#
# Times do not depend on what is in the pictures: without CIFAR=folder (of CIFAR-10's
# binary batches) they are made up, in its format.
name=vgg
. "$(dirname "$0")/begin.sh"

data=${CIFAR:-pictures}
[ -e "$data" ] || {
    mkdir pictures
    python3 - "$(size 480 96)" <<'END'
import random, sys
random.seed(1)
for name, n in (("data_batch_1.bin", int(sys.argv[1])), ("test_batch.bin", 32)):
    with open("pictures/" + name, "wb") as f:
        for _ in range(n):
            f.write(bytes([random.randrange(10)]) + random.randbytes(3072))
END
}
"$shoal" study vgg "$data" --workers "${WORKERS:-1,3}" --sync sync --batch 32 --epochs 1 \
    --repeat "$(size 2 1)" --output study --plots figures -- --depth 11
original <<'END'
nodes  each iteration
    1         1.903 s
    3         1.976 s   3.8 % more, with a node's processor each
END
