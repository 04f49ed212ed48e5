# Colour and the progress line are for terminals only.
escapes()
{
    grep -c "$(printf '\033')" screen.txt
}
on_terminal()
{
    show "$@"
    script -qec "$*" /dev/null </dev/null >screen.txt
    echo "lines with escape sequences: $(escapes)"
}
interrupt_when_drawn()
{
    until grep -q % screen.txt || [ -e over ]; do sleep 0.05; done
    kill -INT "$(cat pid)"
}
small_text >text.txt
here=$1
on_terminal shoal vocab nowhere.txt
on_terminal env NO_COLOR=1 shoal vocab nowhere.txt
on_terminal env TERM=dumb shoal vocab nowhere.txt

echo "the progress line is erased at the end:"
write_noted
interrupt_when_drawn &
on_terminal sh noted shoal gen world --words 100000000000 -o out.txt
touch over
wait
tr '\r' '\n' <screen.txt | sed 's/\x1b\[[0-9;]*[mK]//g' |
    sed -E 's/[0-9.]+%/N%/; s/[0-9.]+ [kMG]? ?[a-z]+\/s/RATE/; s/  [0-9:]+ left//' |
    sort -u | sed '/^ *$/d'

echo "how far it is and the time left stay on narrow terminals:"
on_screen()
{
    show screen.py "$@"
    TERM=xterm python3 "$here/screen.py" "$@" -- \
        shoal gen world --words 100000000000 -o out.txt
    rm -f out.txt .out.txt*
}
export LC_ALL=C.UTF-8
on_screen 120
on_screen 60
on_screen 36
LC_ALL=C on_screen 80
echo "a line that wrapped when the terminal became narrower is erased whole:"
on_screen 120 40

echo "a run of quick epochs is drawn ten times a second, not at each:"
shoal gen spiral --samples 400 -q -o spiral.csv
TERM=xterm script -qec 'shoal train mlp spiral.csv --epochs 3000 --threads 1 -o net.shoal' /dev/null </dev/null >screen.txt
drawn=$(tr '\r' '\n' <screen.txt | grep -c '%.* left')
[ "$drawn" -gt 0 ] && [ "$drawn" -lt 1000 ] && echo "drawn less than at every third epoch"

echo "colour can be forced and forbidden:"
forced()
{
    show "$@"
    "$@" 2>screen.txt
    echo "lines with escape sequences: $(escapes)"
}
forced env CLICOLOR_FORCE=1 shoal vocab nowhere.txt
forced env CLICOLOR_FORCE=0 shoal vocab nowhere.txt
forced env CLICOLOR_FORCE=1 NO_COLOR=1 shoal vocab nowhere.txt
on_terminal env CLICOLOR=0 shoal vocab nowhere.txt

# Of class a one of four is found, and nothing else is taken for it: a precision of 1, an F1 of 0.4.
echo "the bar behind a class is its F1, which it stands beside:"
awk 'BEGIN { print "x,y,class"; for (i = 0; i < 60; i++) { print 1 + i % 3 ",0,a"; print "0," 1 + i % 3 ",b" } }' >rows.csv
printf 'x,y,class\n2,0,a\n0,1,a\n0,2,a\n0,3,a\n0,1,b\n0,2,b\n0,3,b\n0,2,b\n' >hard.csv
shoal train multinomial rows.csv --label class -q -o classes.shoal
script -qec 'shoal eval classes.shoal hard.csv' /dev/null </dev/null >screen.txt
tr -d '\r' <screen.txt | sed 's/\x1b\[[0-9;]*[mK]//g' | grep -A 2 precision
