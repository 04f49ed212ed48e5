#!/usr/bin/env python3
"""Draws pictures to learn from: grey stripes that stand, lie or lean, 32 x 32 pixels, with noise.

    python3 examples/stripes.py FOLDER

Writes PNG files as `shoal train vgg` reads them: FOLDER/train/CLASS/N.png and FOLDER/test/CLASS/N.png.
The same pictures each time; needs nothing but Python.
"""
import os
import random
import struct
import sys
import zlib

KINDS = {"upright": lambda x, y: x, "level": lambda x, y: y, "slanting": lambda x, y: x + y}
SIDE = 32
TRAIN, TEST = 100, 20  # pictures of each kind


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(rows):
    """A grey PNG of these rows of bytes."""
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def stripes(dice, kind, shift):
    """Rows of bright and dark stripes, four pixels wide."""
    return [[(200 if (kind(x, y) + shift) // 4 % 2 else 60) + dice.randrange(50)
             for x in range(SIDE)] for y in range(SIDE)]


def main():
    folder = sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)
    dice = random.Random(1)
    for name, kind in KINDS.items():
        for part, first, count in (("train", 0, TRAIN), ("test", TRAIN, TEST)):
            place = os.path.join(folder, part, name)
            os.makedirs(place, exist_ok=True)
            for i in range(first, first + count):
                with open(os.path.join(place, f"{i}.png"), "wb") as file:
                    file.write(png(stripes(dice, kind, dice.randrange(8))))


if __name__ == "__main__":
    main()
