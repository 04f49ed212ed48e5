# What a terminal would obey is shown as question marks, wherever a stranger's
# text is said; data for a pipe or file stays as it is.
esc=$(printf '\033')
c1=$(printf '\302\233')
turn=$(printf '\342\200\256')
lone=$(printf '\233')
raw()
{
    LC_ALL=C grep -ac "$esc\\[[0-9]*[HJi]\|$lone\|$turn"
}
name="no${esc}[2Jwhere${c1}2J${turn}x"
echo "a sentence:"
shoal vocab "$name"
shoal info "$name"
shoal similar "$name" x
shoal vocab x --min-count "$name"
shoal train "$name" -o "$name"
shoal vocab x --min-count "a${lone}2J $(printf '\303\244\342\202\254')"

echo "words, on a terminal and in a pipe:"
printf '2 2\na%s[2Jb 1 2\nc%s2Jd 2 1\n' "$esc" "$c1" >words.vec
script -qec 'shoal convert -q -f text words.vec -' /dev/null </dev/null >screen.txt
tr -d '\r' <screen.txt
shoal convert -q -f text words.vec - | raw
shoal convert -q -f text words.vec same.vec && cmp words.vec same.vec && echo the same
shoal similar words.vec "a$esc[2Jb"

echo "columns, features and files of reports:"
printf 'click,a%s[2Jb\n1,x%s[2J\n0,y\n1,x%s[2J\n' "$esc" "$esc" "$esc" >"rows$esc[2J.csv"
shoal encode --as clicks -q "rows$esc[2J.csv" -o "data$esc[2J.shoal" &&
    shoal info "data$esc[2J.shoal" >said.txt && sed -n '1p;$p' said.txt && raw <said.txt
shoal train logreg -q "rows$esc[2J.csv" -o "model$esc[2J.shoal" &&
    shoal info "model$esc[2J.shoal" >said.txt && sed -n 1p said.txt && raw <said.txt
shoal eval "model$esc[2J.shoal" "rows$esc[2J.csv" 2>&1 | raw
