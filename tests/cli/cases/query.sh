# Asking vectors: from the command line, in lines, at a prompt.
cat >small.vec <<'END'
6 3
king 3 4 0
queen 3 -4 0
man 0 1 0
woman 0 -1 0
apple 0 0 2
pear 0 3 4
END

# Lines typed at a terminal: typed PROMPT LINE... -- COMMAND...
here=$1
typed()
{
    python3 "$here/type.py" "$@"
}

echo "one question:"
try shoal similar small.vec king
try shoal similar small.vec king man -k 1
try shoal similar small.vec king --json -k 2
try shoal analogy small.vec man king woman
try shoal analogy small.vec man king woman --cosmul -k 2
try shoal analogy small.vec man king woman --cosmul -k 1 --json
try shoal distance small.vec king man
try shoal distance small.vec king apple
try shoal distance small.vec king queen --json
try shoal odd small.vec apple pear king
try shoal odd small.vec apple pear king --json

echo "a line, a question:"
cat >lines.txt <<'END'
king

kign Man
  apple	pear  
zzzz
woman
END
try shoal similar small.vec -k 1 <lines.txt
try shoal similar small.vec -k 1 --json <lines.txt
printf 'man king woman\nman king\nwoman queen man king' >lines.txt
try shoal analogy small.vec -k 1 <lines.txt
printf 'king man\r\nking queen\n' >lines.txt
try shoal distance small.vec <lines.txt
try shoal odd small.vec </dev/null

echo "whoever waits for an answer gets it:"
mkfifo ask answer
shoal distance small.vec <ask >answer &
exec 3>ask 4<answer
for words in 'king man' 'man king' 'man woman'; do
    echo "$words" >&3
    read -r line <&4
    echo "$line"
done
exec 3>&- 4<&-
wait
rm ask answer

echo "at a prompt:"
export XDG_STATE_HOME="$PWD/state"
try typed 'similar> ' king '' kign 'appl\t' 'man woman' -- \
    shoal similar small.vec -k 1
try typed 'analogy> ' 'man king woman' 'man king woman' 'man king' -- \
    shoal analogy small.vec -k 1
echo "Ctrl-C drops the line, not the program:"
try typed 'odd> ' 'apple pear king' 'apple pe^C' '^C' 'king apple pear' -- shoal odd small.vec
sed 's/\\040/ /g' state/shoal/history
echo "without a place for the history:"
export XDG_STATE_HOME=/dev/null
try typed 'distance> ' 'king man' -- shoal distance small.vec

echo "words that are not there:"
try shoal similar small.vec kign
try shoal analogy small.vec man Queen xyzzy
try shoal distance small.vec "$(printf 'a\033[31m')" king

echo "words from anybody's text:"
printf '3 1\nq"\\ 1\na\302\233x 2\ncaf\303\251 3\n' >odd.vec
try shoal similar odd.vec café
try shoal similar odd.vec café --json

echo "what cannot be asked:"
try shoal similar
try shoal analogy small.vec king
try shoal analogy small.vec king queen man woman
try shoal distance small.vec king
try shoal odd small.vec king queen
try shoal similar small.vec king -k 0
try shoal similar nowhere.vec king
try shoal similar - </dev/null
printf '2 2\nzero 0 0\none 1 1\n' >zero.vec
try shoal similar zero.vec zero
printf 'zero\none\n' >lines.txt
try shoal similar zero.vec <lines.txt
try full shoal similar small.vec king
