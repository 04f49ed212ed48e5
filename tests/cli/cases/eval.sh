# Scores of vectors on questions.
cat >small.vec <<'END'
6 3
king 3 4 0
queen 3 -4 0
man 0 1 0
woman 0 -1 0
apple 0 0 2
pear 0 3 4
END
cat >questions.txt <<'END'
: family
man king woman queen
Woman Queen Man King
man king woman apple
: food
man apple woman plum
: gram1-opposite
man woman king queen
END
cat >pairs.txt <<'END'
# word 1, word 2, what people said
king,man,7
king,pear,9
king,queen,3
man,woman,1
king,plum,5
END
printf ': weather\nsun rain day night\n' >unseen.txt

try shoal eval small.vec questions.txt
try shoal eval small.vec questions.txt pairs.txt unseen.txt
try shoal eval small.vec questions.txt pairs.txt unseen.txt --json
try shoal eval small.vec questions.txt --keep-case --threads 2
try shoal eval small.vec questions.txt --top-words 4
try shoal eval small.vec questions.txt --cosmul
try shoal eval small.vec questions.txt -q
try shoal eval small.vec unseen.txt -q

echo "what cannot be:"
try shoal eval small.vec
try shoal eval nowhere.vec questions.txt
try shoal eval small.vec questions.txt nowhere.txt
echo 'one two' >neither.txt
try shoal eval small.vec neither.txt
try full shoal eval small.vec pairs.txt
