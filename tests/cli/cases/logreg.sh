# Click models: learned, asked, scored, looked at, and gone on with.
export SHOAL_ISA=scalar

# Without what depends on speed or on how buffers are laid out.
calm()
{
    code=0
    "$@" >said.txt 2>&1 || code=$?
    sed -E -e '/^train  /d' -e "s|$PWD|HERE|g" -e 's/(stopped at) [0-9.]+ %/\1 N %/' \
        -e 's/  [0-9.]+ ([kMG] )?rows\/s/  RATE/; s/[0-9.]+ ([kMG] )?rows\/s/RATE/' \
        -e '/^(work|held|memory|peak) /s/ +[0-9.]+ [KMGT]?i?B/ SIZE/; s/said [0-9.]+ .*/said SIZE/' \
        said.txt
    rm said.txt
    return $code
}

# Class 1 is what has feature 1; 2 is of no use, and 3 says the opposite a little.
for i in 1 2 3 4 5 6 7 8 9 10; do
    printf '1 1:1 2:1\n0 2:1\n1 1:2\n0 3:0.5\n'
done >rows.svm
printf '1 1:1\n0 2:1\n1 2:1 9:4\n0 3:1\n' >test.svm
same="--threads 1 --epochs 3"

echo "from rows:"
try calm shoal train logreg rows.svm $same --valid test.svm -o model.shoal
try shoal info model.shoal
try shoal info model.shoal --top 1

echo "what it says of other rows, from a file, a pipe, without labels, into a file:"
try shoal predict model.shoal test.svm
shoal predict model.shoal - <test.svm | cmp - - <<END && echo "the same from a pipe"
$(shoal predict model.shoal test.svm)
END
printf '1:1\n2:1\n2:1 9:4\n3:1\n' | try shoal predict model.shoal -
shoal predict model.shoal test.svm -o answers.txt && wc -l <answers.txt && stat -c %a answers.txt
chmod 600 answers.txt && shoal predict model.shoal test.svm -o answers.txt && stat -c %a answers.txt
mkdir far && touch far/real && ln -s far/real link && chmod 640 far/real
shoal predict model.shoal test.svm -o link && cmp answers.txt far/real && stat -c '%F %a' link far/real
ls -A far
: >far/real
ln -s /proc/self/fd/1 far/stdout # as /dev/stdout is, which no failure may touch
shoal predict model.shoal test.svm -o far/stdout >far/real && cmp answers.txt far/real
stat -c %F far/stdout
[ "$(id -u)" = 0 ] && chown 12345:54321 far/real && chmod 600 far/real
was=$(stat -c '%u %g %a' far/real) && shoal predict model.shoal test.svm -o far/real &&
    [ "$was" = "$(stat -c '%u %g %a' far/real)" ] && echo "as it was"
rm -r far link
mkfifo pipe && { wc -l <pipe & } && shoal predict model.shoal test.svm -o pipe
wait && stat -c %F pipe && rm pipe
gzip -c test.svm | shoal predict model.shoal - | cmp - answers.txt && echo "the same from gzip"

echo "how well:"
try shoal eval model.shoal test.svm
try shoal eval model.shoal test.svm --json
shoal encode --as clicks -q test.svm -o test.shoal
shoal eval model.shoal test.shoal --json >encoded.json
shoal eval model.shoal test.svm --json | cmp - encoded.json && echo "the same when encoded"
shoal predict model.shoal test.shoal | cmp - answers.txt && echo "and so are the answers"

echo "in every way to learn:"
for way in "--optimizer sgd" "--optimizer sgd --l1 0.01 --l2 0.01 --schedule constant" \
    "--optimizer adagrad --beta 0.5" "--optimizer adagrad --schedule inverse-time --decay 1" \
    "--l1 2 --l2 1" "--batch 8 --lr 0.5" "--class-weight 3"; do
    shoal train logreg rows.svm -q $same $way -o way.shoal && shoal info way.shoal --top 0 |
        sed -n '2,3p'
done

echo "any number of threads gives the same bytes, and so does an encoded file:"
shoal encode --as clicks -q rows.svm -o rows.shoal
shoal train logreg rows.svm -q --epochs 2 --deterministic --threads 1 -o one.shoal
shoal train logreg rows.shoal -q --epochs 2 --deterministic --threads 3 -o three.shoal
cmp one.shoal three.shoal && echo same

echo "what is held out:"
try calm shoal train logreg rows.svm $same --valid-share 25% -o x.shoal
shoal train logreg rows.svm -q --threads 1 --epochs 50 --lr 1 --optimizer sgd --schedule constant \
    --valid test.svm --early-stop 2 --metrics metrics.json -o x.shoal
grep -c '"event":"epoch"' metrics.json
tail -n 1 metrics.json | tr ',' '\n' | grep -c '"valid":{"loss"\|auc\|calibration'

echo "with checkpoints, and on from the last but one:"
shoal train logreg rows.svm -q --epochs 3 --deterministic --threads 1 --valid test.svm \
    --checkpoint run --checkpoint-every epoch -o whole.shoal
rm run/checkpoint-000003.shoal
try calm shoal train --resume run -o again.shoal
cmp whole.shoal again.shoal && echo "the same bytes"
try shoal train logreg rows.svm -q --epochs 3 --deterministic --threads 1 --valid test.svm --l1 1 \
    --resume run -o x.shoal
try shoal train logreg test.svm -q --epochs 3 --deterministic --threads 1 --valid test.svm \
    --resume run -o x.shoal

echo "bad lines:"
printf '1 1:1\n0 x\n0 2:1\n1 3:1 2:1\n\n0 2:nan\n' >bad.svm
try shoal train logreg bad.svm -q -o x.shoal
try shoal train logreg bad.svm -q --skip-bad 2 -o x.shoal
try shoal train logreg bad.svm -q --skip-bad 3 --threads 1 -o x.shoal
try shoal predict model.shoal bad.svm
try shoal predict model.shoal bad.svm --skip-bad 3
try shoal eval model.shoal bad.svm --skip-bad 1
try shoal eval model.shoal bad.svm --skip-bad 3 --json -q
try calm shoal train logreg rows.svm -q --valid bad.svm -o x.shoal
: >empty.svm
try shoal train logreg empty.svm -q -o x.shoal
try shoal predict model.shoal empty.svm

# The next row is written when the answer to the one before was read: who waits for a
# whole block waits for ever.
echo "a slow pipe is answered line by line:"
ask()
{
    mkfifo rows answers
    timeout 600 shoal predict "$1" - <rows >answers &
    exec 3>rows 4<answers
    while IFS= read -r row; do
        printf '%s\n' "$row" >&3
        IFS= read -r answer <&4 || break
        echo "$answer"
    done
    printf '%s' "${2-}" >&3
    exec 3>&-
    cat <&4
    exec 4<&-
    wait $!
    rm rows answers
}
head -3 test.svm | ask model.shoal "$(sed -n 4p test.svm)"
head -4 test.svm >four.svm
shoal predict model.shoal four.svm
rm four.svm

echo "what cannot be:"
try shoal train logreg
try shoal train logreg rows.svm
try shoal train logreg rows.svm -o nowhere/x.shoal
try shoal train logreg nowhere.svm -q -o x.shoal
try shoal train logreg rows.svm -q --optimizer adam -o x.shoal
try shoal train logreg rows.svm -q --l1 -1 -o x.shoal
try shoal train logreg rows.svm -q --batch 0 -o x.shoal
try shoal train logreg rows.svm -q --beta 0 -o x.shoal
try shoal train logreg rows.svm -q --class-weight 0 -o x.shoal
try shoal train logreg rows.svm -q --early-stop 2 --valid-share 0 -o x.shoal
try shoal train logreg rows.svm -q --eval-every 2 -o x.shoal
try shoal train logreg rows.svm -q --bits 12 --valid test.shoal -o x.shoal
try shoal train logreg rows.shoal -q --bits 12 -o x.shoal
try shoal train logreg rows.shoal -q --skip-bad 2 -o x.shoal
try shoal train logreg rows.svm -q --local-input -o x.shoal
try shoal train logreg rows.svm -q --ranks 2 --local-input -o x.shoal
try shoal train logreg rows.svm -q --dim 5 -o x.shoal
try shoal train cbow rows.shoal -q -o x.bin
try shoal train logreg model.shoal -q -o x.shoal
try shoal predict rows.svm test.svm
try shoal predict rows.shoal test.svm
try shoal predict model.shoal
try shoal predict model.shoal nowhere.svm
try shoal eval model.shoal
try shoal eval model.shoal model.shoal
head -c 300 model.shoal >cut.shoal
try shoal predict cut.shoal test.svm
try shoal predict model.shoal test.svm -o nowhere/answers.txt
try full shoal predict model.shoal test.svm
ls -A
