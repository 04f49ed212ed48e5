# Which options each model has: what does not apply to a model is not in its help, and is refused.
models="cbow skipgram logreg multinomial classify mlp nextword vgg"
for model in $models; do
    shoal train $model --help | sed -nE 's/^  (-., |    )--([a-z0-9-]+).*/\2/p' | sort -u >$model.options
done
sort -u ./*.options | while read -r option; do
    printf '%-17s' "$option"
    for model in $models; do
        if grep -qx -e "$option" $model.options; then
            printf ' %s' $model
        else
            shoal train $model nowhere "--$option" -o x.shoal 2>said || code=$?
            [ "$code" -eq 2 ] && grep -q "unknown option '--$option'" said || printf ' NOT REFUSED BY %s' $model
        fi
    done
    echo
done
printf 'eval questions.txt\n' >options.txt
try shoal train logreg nowhere --config options.txt -o x.shoal
try shoal train logreg nowhere --eval questions.txt -o x.shoal
