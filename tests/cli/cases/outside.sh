# Nets that PyTorch and TorchServe's archiver wrote (tests/outside): asked where they are, converted,
# and refused by name when they want to run something.
O=$1/../outside
printf '0.5,-1,2\n1.5,0.25,-0.75\n' >x.csv
cat "$O/expected.txt"
cp "$O"/*.pth "$O"/*.mar .
printf '{"activation": "tanh", "classes": ["no", "yes"]}\n' >tiny.pth.json
for f in tiny.pth tiny.mar normed.pth; do
    shoal predict $f x.csv
done
for f in older checkpoint turned; do
    shoal convert -q $f.pth $f.shoal --activation tanh
    shoal predict $f.shoal x.csv
done
shoal convert normed.pth normed.shoal
shoal convert -q normed.shoal normed.safetensors
shoal predict normed.safetensors x.csv
for f in tiny.pth normed.shoal; do
    shoal convert -q $f out.onnx
    python3 "$O/onnx.py" out.onnx x.csv
done
shoal convert -q older.pth gelu.shoal --activation gelu
shoal convert -q gelu.shoal gelu.onnx
shoal predict gelu.shoal x.csv
python3 "$O/onnx.py" gelu.onnx x.csv
shoal info gelu.onnx
printf '1 2\na 1 2\n' >v.vec
shoal convert v.vec v.onnx
shoal info tiny.pth
shoal info normed.pth
for f in system eval object memo; do
    shoal predict $f.pth x.csv
    shoal convert $f.pth out.shoal
done
shoal info custom.mar
shoal predict text.mar x.csv
printf '{"activation": "swish"}\n' >older.pth.json
shoal info older.pth
printf '{"depth": 3}\n' >older.pth.json
shoal info older.pth
head -c 1000 tiny.pth >cut.pth
shoal info cut.pth
head -c 800 older.pth >cut.pth
shoal info cut.pth
ls executed out.shoal
