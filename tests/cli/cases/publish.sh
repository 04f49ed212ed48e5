# What was learned so far is there to be served while training goes on; at the end it is all.
shoal gen world --words 200000 -q -o world.txt
shoal train cbow world.txt -q --dim 20 --epochs 2 --publish-every 0.1s --publish live.shoal -o final.bin
shoal convert -q live.shoal live.vec
shoal convert -q final.bin final.vec
cmp live.vec final.vec && echo "the same vectors"

# A file that nobody could read is refused before it starts.
try shoal train cbow world.txt -q --publish live.json -o final.bin
try shoal train cbow world.txt -q --publish-every 5% --publish live.shoal -o final.bin

# Click models too.
shoal gen clicks --rows 2000 -q -o clicks.tsv
shoal train logreg clicks.tsv -q --publish-every 1s --publish live.shoal -o final.shoal
cmp live.shoal final.shoal && echo "the same model"

# Whoever goes on publishes where the run did, from any folder.
shoal train cbow world.txt -q --dim 20 --epochs 1 --checkpoint run \
    --checkpoint-every epoch --publish live.shoal -o final.bin
rm live.shoal
mkdir elsewhere
(cd elsewhere && shoal train --resume ../run --trust -q)
shoal convert -q live.shoal live.vec
shoal convert -q final.bin final.vec
cmp live.vec final.vec && echo "the same vectors again"
