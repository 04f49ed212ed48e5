# The manual page and the completion script come from the same tables.
shoal help --man >shoal.1
head -1 shoal.1
grep '^\.SH' shoal.1
for verb in $(sed -n 's/^\.BR shoal\\-\([a-z]*\) .*/\1/p' shoal.1 | sort -u); do
    shoal help --man "$verb" >"shoal-$verb.1"
    printf '%s: %s sections, %s kinds\n' "$(head -1 "shoal-$verb.1" | cut -d ' ' -f 2)" \
        "$(grep -c '^\.SH' "shoal-$verb.1")" "$(grep -c '^\.SS' "shoal-$verb.1")"
    grep -q '^\.BR shoal (1)' "shoal-$verb.1" || echo "no way back"
    grep -qxF '.SH FILES' "shoal-$verb.1" || echo "no files"
done
grep -l 'checkpoint..NNNNNN' shoal*.1
grep -l 'shoal/history' shoal*.1
sed -n '/^verbs = /,/]/p' "$1/../../cli/meson.build" | tr -d "',]" | sed 's/^verbs = \[//' | xargs -n 1 |
    sort >installed
ls shoal-*.1 | sed 's/shoal-\(.*\)\.1/\1/' | diff - installed && echo "all are installed"
try shoal help --man train skipgram
if command -v groff >/dev/null; then
    groff -ww -man -Tutf8 shoal*.1 >/dev/null
fi

echo "completion:"
shoal help --bash-completion >completion.bash
mkdir folder
cat >ask.bash <<'END'
source ./completion.bash
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_shoal
printf '%s:' "$*"
printf ' %s' "${COMPREPLY[@]}"
printf '\n'
END
bash ask.bash shoal ''
bash ask.bash shoal vo
bash ask.bash shoal --v
bash ask.bash shoal vocab --t
bash ask.bash shoal vocab --tokens ''
bash ask.bash shoal vocab --tokens = ''
bash ask.bash shoal vocab --tokens = w
bash ask.bash shoal vocab --tokens =
bash ask.bash shoal vocab fol
bash ask.bash shoal encode text.txt -o fol
bash ask.bash shoal encode --threads ''
bash ask.bash shoal gen ''
bash ask.bash shoal gen world --
bash ask.bash shoal help e
bash ask.bash shoal help train s
bash ask.bash shoal study nex
bash ask.bash shoal study skipgram fol
bash ask.bash shoal serve words = fol
bash ask.bash shoal vocab --no-
bash ask.bash shoal train cbow --sync =
bash ask.bash shoal train cbow --sync = b
bash ask.bash shoal study mlp --sync ''
bash ask.bash shoal study mlp --target ''
bash ask.bash shoal train vgg --depth ''
bash ask.bash shoal train vgg --dtype ''
bash ask.bash shoal train mlp --layers ''
bash ask.bash shoal train classify --autotune-metric f
bash ask.bash shoal train cbow --checkpoint-every e

# What zsh would show: its own functions print instead.
echo "zsh:"
shoal help --zsh-completion >_shoal
grep '"shoal vocab --\(output\|bad-bytes\|threads\)"' _shoal
grep -F '"shoal vocab:' _shoal
cat >ask.zsh <<'END'
compdef() { }
compset() { }
_files() { print files }
_describe() { print -r -- ${(P)2%%:*} }
source ./_shoal
ask() { local words=("$@") CURRENT=$#; _shoal }
[[ $(ask shoal vo) == *vocab* ]] || print "no verbs"
[[ $(ask shoal vocab --tokens '') == 'space words chars bigrams' ]] || print "no choices"
[[ $(ask shoal vocab --tokens=w) == 'space words chars bigrams' ]] || print "no choices behind ="
[[ $(ask shoal encode text.txt -o fol) == files ]] || print "no files"
[[ -z $(ask shoal encode --threads '') ]] || print "words for a number"
[[ $(ask shoal help train '') == *skipgram* ]] || print "no kinds of help"
[[ $(ask shoal study '') == *skipgram*files* ]] || print "no models of study"
[[ $(ask shoal serve words=fol) == files ]] || print "no files behind a name"
[[ $(ask shoal train cbow --sync=) == $'bounded\\ average\\\nasync sync' ]] || print "no policies"
[[ $(ask shoal vocab --no-) == *--no-unk* ]] || print "no negated flags"
[[ $(ask shoal gen world --) == *--questions* ]] || print "no options"
END
if command -v zsh >/dev/null; then
    zsh -f ask.zsh
fi

echo "fish:"
shoal help --fish-completion >shoal.fish
grep -F '"shoal vocab"' shoal.fish
cat >ask.fish <<'END'
source ./shoal.fish
function ask
    set -l found (complete -C "$argv[1]" | string replace -r '\t.*' '')
    test "$found" = "$argv[2]"; or echo "$argv[1]: $found"
end
ask 'shoal vo' vocab
ask 'shoal vocab --tokens ' 'bigrams chars space words'
ask 'shoal vocab --tokens=w' --tokens=words
ask 'shoal train cbow --sync=' '--sync=async --sync=average: --sync=bounded: --sync=sync'
ask 'shoal train cbow --sync ' 'async average: bounded: sync'
ask 'shoal encode text.txt -o fol' folder/
ask 'shoal vocab fol' folder/
ask 'shoal gen ' 'blobs clicks news people pictures spiral world'
ask 'shoal help train sk' skipgram
ask 'shoal study sk' skipgram
ask 'shoal vocab --no-u' --no-unk
ask 'shoal serve words=fol' words=folder/
END
if command -v fish >/dev/null; then
    HOME=$PWD fish --no-config ask.fish
fi
