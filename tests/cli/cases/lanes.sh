# Lanes of a deterministic run merge often at first: a short run learns nearly what one worker
# does alone. Merged after 4,096 words from the start they lost 0.30 of skip-gram's validation
# loss and two thirds of its analogies, and 1.2 of CBOW's loss.
shoal gen world --words 400000 -q --questions questions.txt -o world.txt
shoal encode -q world.txt -o world.shoal

# The validation loss, and the share of analogies in percent.
figures()
{
    shoal train "$@" world.shoal -q --dim 32 --epochs 1 --lr 0.1 --valid 0.05 --threads 1 \
        --metrics m.json -o v.bin || return
    sed -n 's/.*"event":"done".*"valid":{"loss":\([0-9.]*\).*/\1/p' m.json
    shoal eval v.bin questions.txt | sed -n "s/^total .* \([0-9.]*\)%$/\1/p"
}

# within MODEL LOSS SHARE: lanes lose at most so much, and keep at least so much of the analogies.
within()
{
    { figures "$1"; figures "$1" --deterministic; } | tr '\n' ' ' |
        awk -v loss="$2" -v share="$3" '
            NF != 4 { print "found", NF, "figures, want 4"; exit }
            $3 > $1 + loss { print "the loss is " $3 ", alone " $1 }
            $4 < $2 * share { print "of analogies " $4 " are right, alone " $2 }
            END { print "compared" }'
}

echo "short runs:"
for model in "skipgram 0.12 0.6" "cbow 0.6 0"; do
    echo "$model"
    # shellcheck disable=SC2086
    within $model
done
