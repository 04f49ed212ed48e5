# Pictures of 8 x 8 in three colours, as PNG files in folders.
python3 - <<'END'
import os, struct, zlib
def chunk(kind, data):
    return (struct.pack('>I', len(data)) + kind + data +
            struct.pack('>I', zlib.crc32(kind + data) & 0xffffffff))
def png(path, colour, noise):
    rows = b''.join(b'\0' + bytes((60 + (x * 7 + y * 11 + noise * 13) % 90 + (100 if c == colour else 0))
                                  for x in range(8) for c in range(3)) for y in range(8))
    open(path, 'wb').write(b'\x89PNG\r\n\x1a\n' +
                           chunk(b'IHDR', struct.pack('>IIBBBBB', 8, 8, 8, 2, 0, 0, 0)) +
                           chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
for colour, name in enumerate(('red', 'green', 'blue')):
    for part, n in ('train', 16), ('test', 4):
        os.makedirs(f'set/{part}/{name}')
        for i in range(n):
            png(f'set/{part}/{name}/{i}.png', colour, i)
png('new.png', 1, 99)
END
try shoal train vgg set -q --size 8 --base 16 --batch 16 --epochs 15 --lr 0.02 --warmup 0 -o vgg.shoal
shoal predict vgg.shoal new.png | head -n 1 | cut -f 2
shoal predict vgg.shoal new.png set/test/blue/1.png | cut -f 1,3 | sed -n '1p;4p'
shoal eval --json vgg.shoal set | sed 's/.*"accuracy":\([0-9.]*\).*/accuracy \1/'
shoal info vgg.shoal | grep -E 'vgg|classes|samples'
try shoal convert -q vgg.shoal vgg.safetensors
try shoal convert -q vgg.safetensors back.shoal
cmp vgg.shoal back.shoal && echo "there and back: the same bytes"
try shoal train vgg set -q --size 8 --base 16 --epochs 1 --start-from vgg.safetensors -o more.shoal

echo "grey pictures are not said to be coloured:"
python3 - <<'END'
import os, struct, zlib
def chunk(kind, data):
    return (struct.pack('>I', len(data)) + kind + data +
            struct.pack('>I', zlib.crc32(kind + data) & 0xffffffff))
for c, name in enumerate(('dark', 'light')):
    os.makedirs(f'grey/{name}')
    for i in range(4):
        rows = b''.join(b'\0' + bytes([100 * c + 10 * i + x for x in range(8)]) for y in range(8))
        open(f'grey/{name}/{i}.png', 'wb').write(
            b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 8, 8, 8, 0, 0, 0, 0)) +
            chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
END
shoal train vgg grey --size 8 --base 16 --batch 4 --epochs 1 -o grey.shoal 2>/dev/null | grep pixels
head -c 6288 /dev/urandom >body
{ printf '\0\0\010\003\0\0\0\010\0\0\0\034\0\0\0\034'; head -c 6272 body; } >x-images-idx3-ubyte
printf '\0\0\010\001\0\0\0\010\0\001\0\001\0\001\0\001' >x-labels-idx1-ubyte
shoal train vgg x-images-idx3-ubyte --base 16 --batch 4 --epochs 1 -o grey.shoal 2>/dev/null | grep pixels
rm -r grey grey.shoal body x-images-idx3-ubyte x-labels-idx1-ubyte

echo "what is wrong is said in one sentence:"
echo 'a text, whatever its name says' >text.jpg
try shoal predict vgg.shoal text.jpg
printf '\377\330\377\300\0\021\010\165\060\165\060\003\001\042\0\002\021\001\003\021\001' >huge.jpg
printf '\377\332\0\014\003\001\0\002\021\003\021\0\077\0\377\331' >>huge.jpg
try shoal predict vgg.shoal huge.jpg
head -c 5000 /dev/zero >data_batch_1.bin
try shoal train vgg data_batch_1.bin -o x.shoal
mkdir set/train/empty
try shoal train vgg set -o x.shoal
rmdir set/train/empty
cp text.jpg set/train/red/text.jpg
try shoal train vgg set -o x.shoal
rm set/train/red/text.jpg
try shoal train vgg nowhere -o x.shoal
try shoal train vgg set --depth 12 -o x.shoal
try shoal train vgg set --no-batch-norm --sync-bn -o x.shoal
try shoal train vgg set --base 24 -o x.shoal
try shoal train vgg set --dtype f16 -o x.shoal
export SHOAL_ISA=avx2
try shoal train vgg set --dtype bf16 -o x.shoal
unset SHOAL_ISA
try shoal eval vgg.shoal text.jpg
ls
