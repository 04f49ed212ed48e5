# Help comes from the option tables, with true defaults.
try shoal help
try shoal help phrases
try shoal help vocab
try shoal help encode
try shoal help train
try shoal help train cbow
try shoal help train skipgram | sed -n 1,12p
try shoal help eval
try shoal help similar
try shoal help analogy
try shoal help serve
try shoal help gen
try shoal help gen world
try shoal help gen clicks
try shoal help info
try shoal help help

echo "--help anywhere says the same:"
shoal help encode >help.txt
for words in "encode --help" "encode -h" "--help encode" "encode a b --threads 3 -h" "encode -qh"; do
    shoal $words | cmp - help.txt && echo "shoal $words"
done
shoal --help | cmp - "$(shoal help >root.txt && echo root.txt)" && echo "shoal --help"
shoal gen world -h | cmp - "$(shoal help gen world >world.txt && echo world.txt)" &&
    echo "shoal gen world -h"

echo "no line is wider than 80 columns:"
for words in "" phrases vocab encode train "train cbow" "train skipgram" eval similar analogy distance odd serve gen "gen clicks" info help; do
    shoal help $words
done | grep -v '^  shoal' | awk 'length > 80' | wc -l | tr -d ' '
