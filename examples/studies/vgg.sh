#!/bin/sh
# A VGG on pictures of 32 x 32, alone and on three ranks: the time of an iteration.
#
#     examples/studies/vgg.sh [FOLDER]
#
# Times do not depend on what is in the pictures: without CIFAR=folder (of CIFAR-10's
# binary batches, of which the first 960 pictures are taken) they are made up, in its format.
name=vgg
. "$(dirname "$0")/begin.sh"

[ -e pictures ] || {
    mkdir pictures
    python3 - "$(size 960 96)" <<'END'
import os, random, sys
random.seed(1)
record = 1 + 3 * 32 * 32
for name, n in (("data_batch_1.bin", int(sys.argv[1])), ("test_batch.bin", 32)):
    with open("pictures/" + name, "wb") as out:
        if os.environ.get("CIFAR"):
            with open(os.path.join(os.environ["CIFAR"], name), "rb") as whole:
                out.write(whole.read(n * record))
        else:
            for _ in range(n):
                out.write(bytes([random.randrange(10)]) + random.randbytes(record - 1))
END
}
"$shoal" study vgg pictures --workers "${WORKERS:-1,3}" --sync sync --epochs 1 \
    --repeat "$(size 2 1)" --output study --plots figures -- --depth 11 --rank-batch 32
original <<'END'
nodes  each iteration
    1         1.903 s
    3         1.976 s   3.8 % more, with a node's processor each
END
