# A model may be called anything, but not what another program would take for its own format.
shoal gen spiral --samples 200 --classes 3 -o spiral.csv -q
shoal gen clicks --rows 200 -o clicks.tsv -q
small_text >text.txt
mlp="shoal train mlp spiral.csv --epochs 1 -q -o"

# Refused before anything is read: there is no such input.
for ending in npy bin vec txt glove onnx pt pth npz csv json; do
    try shoal train mlp nowhere.csv -o net.$ending
done
for ending in npy bin safetensors PT; do
    try shoal train logreg nowhere.tsv -o clicks.$ending
done
for ending in onnx npz gz; do
    try shoal train cbow nowhere.txt -o vectors.$ending
done
try shoal train logreg nowhere.tsv -o clicks.shoal --publish clicks.bin
try shoal train nextword nowhere.txt --vectors nowhere.bin -o next.npy
try shoal train cbow nowhere.txt -o vectors.npy --format shoal
try shoal train cbow nowhere.txt -o -

# Help says which formats the model at hand has.
for model in cbow skipgram logreg multinomial mlp nextword vgg; do
    echo "$model: $(shoal train $model --help | sed -n '/^Output:/,/^$/p' |
        grep -oE 'own format|safetensors|word2vec|NumPy|GloVe|PyTorch' | sort -u | paste -sd ' ' -)"
done

# Names of one's own, opened by content.
for name in trained_model.zip vgg.mar plain .hidden net.v2; do
    try $mlp $name
    head -c 4 $name | tail -c 3
    echo
    shoal info $name | sed -n 1,2p
    shoal predict $name spiral.csv | wc -l
done
try shoal train logreg clicks.tsv --epochs 1 -q -o clicks.mar
shoal predict clicks.mar clicks.tsv | wc -l
try shoal train cbow text.txt --min-count 1 --dim 4 -q -o vectors.zip
shoal info vectors.zip | grep format

# A net's other format, by its ending.
try $mlp net.safetensors
tail -c +9 net.safetensors | head -c 1
echo
try shoal convert trained_model.zip net.npy
try shoal convert trained_model.zip net.SafeTensors -q
cmp net.safetensors net.SafeTensors
try shoal convert trained_model.zip small.shoal --dtype f16
try shoal convert vectors.zip vectors.TXT -q
head -1 vectors.TXT
ls
