# The manual page and the completion script come from the same tables.
shoal help --man >shoal.1
head -1 shoal.1
grep -c '^\.SS' shoal.1
if command -v groff >/dev/null; then
    groff -ww -man -Tutf8 shoal.1 >/dev/null
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
