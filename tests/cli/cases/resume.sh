# A checkpoint may be a stranger's: what it remembers is written only below the folder
# that going on is started in, or where this command says so.
top=$PWD
room()
{
    sed "s|$top|ROOM|g"
}
# The run that ended becomes one that was stopped at its last checkpoint but one.
stopped()
{
    rm "$(printf '%s\n' "$1"/checkpoint-*.shoal | tail -n 1)"
}
same='--threads 1 --epochs 3 --checkpoint-every epoch -q'
mkdir home outside theirs
small_text >home/text.txt
printf '1 1:1\n0 2:1\n1 1:1 2:2\n0 3:1\n' >home/rows.svm
shoal gen spiral --seed 1 -q -o home/spiral.csv

# going NAME COMMAND...: a run that is started in home and writes outside of it.
going()
{
    name=$1
    shift
    echo "$name:"
    # shellcheck disable=SC2086
    (cd home && shoal train "$@" $same --checkpoint "$name" --metrics "../outside/$name.jsonl" \
        -o "../outside/$name.shoal")
    stopped "home/$name"
    rm -r outside && mkdir outside
    cp -R "home/$name" theirs/run
    cd theirs || exit
    shoal train --resume run 2>&1 | room | tail -n 1
    ls ../outside
    shoal train --resume run --output mine.shoal 2>&1 | room | tail -n 1
    ls ../outside
    shoal train --resume run -q --output mine.shoal --metrics mine.jsonl && ls
    cd .. && stopped theirs/run
    (cd theirs && shoal train --resume run --trust 2>&1 | room | sed -n 1p)
    ls outside
    rm -r theirs outside && mkdir theirs outside
}
going cbow cbow text.txt --min-count 1 --dim 4
going logreg logreg rows.svm
going mlp mlp spiral.csv --layers 4

echo "a link leads outside too, and .. does:"
ln -s "$PWD/outside" home/link
cd home || exit
# shellcheck disable=SC2086
shoal train cbow text.txt --min-count 1 --dim 4 $same --checkpoint linked -o link/x.bin
stopped linked
shoal train --resume linked 2>&1 | room
rm link && mkdir link
shoal train --resume linked -q && ls link
# shellcheck disable=SC2086
shoal train cbow text.txt --min-count 1 --dim 4 $same --checkpoint up -o ../home/up.bin
stopped up
shoal train --resume up 2>&1 | room | sed -n 1p

echo "what is published too:"
# shellcheck disable=SC2086
shoal train logreg rows.svm $same --checkpoint published --publish ../outside/p.shoal -o p.shoal
stopped published
shoal train --resume published 2>&1 | room
shoal train --resume published --trust -q && ls ../outside

echo "so are files beside it, hidden ones, and those with other names:"
# shellcheck disable=SC2086
shoal train cbow text.txt --min-count 1 --dim 4 $same --checkpoint beside -o v.npy
stopped beside
rm v.npy v.npy.vocab
ln -s ../outside/profile v.npy.vocab
shoal train --resume beside 2>&1 | room
rm v.npy.vocab
# shellcheck disable=SC2086
shoal train mlp spiral.csv --layers 4 $same --checkpoint hidden --metrics .profile -o h.shoal
stopped hidden
shoal train --resume hidden 2>&1 | room
cp .profile m.jsonl && rm .profile
# shellcheck disable=SC2086
shoal train mlp spiral.csv --layers 4 $same --checkpoint names --metrics n.jsonl -o n.shoal
stopped names
ln n.jsonl ../outside/n.jsonl
shoal train --resume names 2>&1 | room

echo "an option that was repeated counts once, as it did:"
# shellcheck disable=SC2086
shoal train mlp spiral.csv --layers 4 $same --checkpoint often -o o.shoal --metrics a.jsonl \
    --metrics b.jsonl --metrics c.jsonl --metrics d.jsonl --metrics e.jsonl --metrics f.jsonl \
    --metrics g.jsonl --metrics h.jsonl --metrics ../outside/evil.jsonl
stopped often
rm ../outside/*
shoal train --resume often 2>&1 | room
ls ../outside

echo "a number never comes round to a name that is there:"
set -- often/checkpoint-*.shoal
cp "$1" often/checkpoint-18446744073709551615.shoal
ln -s ../../outside/profile often/checkpoint-000000.shoal
shoal train --resume often --trust 2>&1 | room
ls ../outside

echo "a file of options names them as well, and no other folder:"
# shellcheck disable=SC2086
shoal train logreg rows.svm $same --checkpoint told -o ../outside/told.shoal
stopped told
rm ../outside/*
printf 'output %s\ncheckpoint elsewhere\nl1 0\n' "$top/home/../outside/told.shoal" >told.conf
shoal train --resume told 2>&1 | room
shoal train --resume told --config told.conf 2>&1 | room | sed -n 1p
ls ../outside told
[ ! -e elsewhere ] && echo "nothing elsewhere"
echo '{"l1": 1}' >told.json
try shoal train --resume told --config told.json
