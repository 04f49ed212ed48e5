# Scripts of examples/ end well and print tables, not JSON.
export ASAN_OPTIONS=detect_leaks=0 SHOAL_ISA=scalar QUICK=1 WORKERS=1
for name in classifier logreg nextword; do
    sh "$1/../../examples/studies/$name.sh" $name >$name.txt 2>$name.err || echo "$name: [exit $?]"
    echo "$name: $(grep -cE '^ *[[{"]' $name.txt) lines of JSON, $(grep -c '^workers ' $name.txt) tables of cells"
    grep -o '^ *epoch .*' $name.txt
done
