# Vectors, models and vocabularies in every format and compression: what convert reads, info reads.
printf '3 2\nthe 0.5 -1.25\ncat 0.1 1e-07\ndog 3 4\n' >v.vec
cp v.vec v.txt
printf '\357\273\277' | cat - v.vec >mark.vec
shoal convert -q v.vec v.bin
shoal convert -q v.vec v.glove
shoal convert -q v.vec v.shoal
shoal convert -q v.vec v.npy
shoal convert -q v.vec v.safetensors

# Arrays as NumPy writes them.
python3 - <<'END'
import struct, zipfile
def npy(descr, order, shape, data):
    head = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + data
rows = [[0.5, -1.25], [0.1, 1e-07], [3, 4]]
flat = [x for row in rows for x in row]
columns = [row[i] for i in (0, 1) for row in rows]
lines = "the\ncat\ndog\n"
for name, data in {"f8": npy("<f8", False, (3, 2), struct.pack("<6d", *flat)),
                   "big": npy(">f4", False, (3, 2), struct.pack(">6f", *flat)),
                   "columns": npy("<f4", True, (3, 2), struct.pack("<6f", *columns))}.items():
    open(name + ".npy", "wb").write(data)
    open(name + ".npy.vocab", "w").write(lines)
words = npy("<U3", False, (3,), "thecatdog".encode("utf-32-le"))
for name, how in {"stored": zipfile.ZIP_STORED, "deflated": zipfile.ZIP_DEFLATED}.items():
    with zipfile.ZipFile(name + ".npz", "w", how) as z:
        with z.open("vectors.npy", "w", force_zip64=True) as f:  # as numpy.savez does
            f.write(npy("<f8", False, (3, 2), struct.pack("<6d", *flat)))
        z.writestr("words.npy", words)
END

# The same vectors of each file: as info says them, and as convert writes them.
same()
{
    facts=$(shoal info "$1" --top 0 | sed -n 's/^\(format\|words\|dimensions\) *//p' | xargs)
    shoal convert -q "$1" back.vec && cmp -s back.vec v.vec && found=same || found=other
    echo "$1: $facts: $found"
}

echo "every format:"
for file in v.vec v.txt mark.vec v.bin v.glove v.shoal v.npy f8.npy big.npy columns.npy \
    stored.npz deflated.npz v.safetensors; do
    same $file
done

echo "every format, compressed:"
for file in v.vec v.bin v.glove v.shoal v.npy deflated.npz v.safetensors; do
    gzip -k $file && zstd -q $file && bzip2 -k $file && xz -k $file
    for end in gz zst bz2 xz; do
        [ $file != v.npy ] || cp v.npy.vocab v.npy.$end.vocab
        same $file.$end
    done
done
echo "and from a pipe:"
try shoal convert -q - - -f glove <v.vec.xz
try shoal distance - cat dog <v.shoal
try shoal info - --top 0 <v.shoal.bz2

echo "text, compressed:"
small_text >text.txt
shoal vocab -q text.txt --min-count 2 -o vocab.txt
gzip -k text.txt && zstd -q text.txt && bzip2 -k text.txt && xz -k text.txt
for end in gz zst bz2 xz; do
    shoal vocab -q text.txt.$end --min-count 2 -o - | cmp - vocab.txt && echo "text.txt.$end: the same words"
done
cat text.txt.bz2 text.txt.bz2 >two.bz2
try shoal vocab -q two.bz2 --min-count 8 -o -
head -c 60 text.txt.xz >cut.xz
try shoal vocab -q cut.xz
head -c 60 text.txt.bz2 >cut.bz2
try shoal vocab -q cut.bz2

echo "other files, compressed:"
xz -k vocab.txt
try shoal info vocab.txt.xz --top 1
printf '0,0,0\n0,1,1\n1,0,1\n1,1,0\n' >xor.csv
shoal train mlp xor.csv -o net.shoal --layers 2 --epochs 1 --valid-share 0 --threads 1 -q
shoal convert -q net.shoal net.safetensors
bzip2 -k net.shoal
xz -k net.safetensors
for file in net.shoal net.shoal.bz2 net.safetensors net.safetensors.xz; do
    shoal info $file >facts && sed -i 1d facts && [ -f first ] || cp facts first
    cmp facts first && echo "$file: $(wc -l <facts) lines, the same"
done
shoal predict net.shoal xor.csv >first
shoal predict net.shoal.bz2 xor.csv | cmp - first && echo "net.shoal.bz2: predicts the same"

echo "words twice, and none:"
printf '5 2\nsea 1 2\n 3 4\nsun 5 6\nsea 7 8\nsea 9 10\n' >twice.vec
try shoal info twice.vec
try shoal info twice.vec --strict
try shoal convert twice.vec twice.bin
try shoal convert twice.vec twice.bin --strict
try shoal similar twice.vec sea
try shoal similar twice.vec sea --strict
printf 'sea\nsea\nsun\n' >f8.npy.vocab
try shoal distance f8.npy sea sun
try shoal distance f8.npy sea sun --strict
printf 'sea sun 1\nsun sea 2\n' >pairs.txt
try shoal eval twice.vec pairs.txt

echo "what is no vectors is said:"
shoal encode -q text.txt --min-count 2 -o text.shoal
printf '1 1:1 2:0.5\n0 3:1\n1 1:1 4:2\n0 2:1 3:1\n' >rows.txt
shoal encode -q --as clicks rows.txt -o rows.shoal
shoal train logreg -q rows.txt -o click.shoal --valid-share 0
for file in vocab.txt vocab.txt.xz net.shoal net.shoal.bz2 net.safetensors click.shoal text.shoal rows.shoal; do
    try shoal similar $file cat
done
try shoal analogy vocab.txt a b c
try shoal convert vocab.txt out.bin
try shoal eval vocab.txt pairs.txt
rm v.npy.vocab
try shoal odd v.npy a b c
