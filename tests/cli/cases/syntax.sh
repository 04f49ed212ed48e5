# The forms of an option, all of which mean the same.
small_text >text.txt
shoal vocab -q text.txt --min-count 2 --output expected.txt
same()
{
    shoal vocab -q "$@" && cmp expected.txt out.txt && show shoal vocab "$@"
    rm -f out.txt
}
same --min-count=2 --output=out.txt text.txt
same text.txt --min-count 2 -o out.txt
same text.txt -oout.txt --min-count 2
same --min-count 7 text.txt -o nowhere/x --min-count 2 -o out.txt
same --min-count 2 -qo out.txt -- text.txt
same --min-count 2 --unk --no-unk --eos --no-eos text.txt -o out.txt

echo "after -- a dash is a name:"
cp text.txt ./--quiet
shoal vocab -q --min-count 2 -o out.txt -- --quiet && cmp expected.txt out.txt && echo same
