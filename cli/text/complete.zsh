#compdef shoal
# zsh completion of shoal @VERSION@, made by `shoal help --zsh-completion`
_shoal()
{
    local cur=$words[CURRENT] prev=$words[CURRENT-1] verb=shoal files='' word
    local -a found open

    if [[ $cur == --*=* ]]; then
        prev=${cur%%=*} cur=${cur#*=}
        compset -P '*='
    elif [[ $cur == [^-]*=* ]]; then # NAME=FILE
        cur=${cur#*=}
        compset -P '*='
    fi
    for word in "${(@)words[2,CURRENT-1]}"; do
        case "$verb $word" in
@PATHS@
        esac
    done
    case "$verb $prev" in
@VALUES@
    *) case "$verb:$cur" in
@WORDS@
    esac ;;
    esac
    open=(${(M)found:#*'\::'*}) found=(${found:#*'\::'*}) # a number follows a colon
    if (( $#open )); then
        _describe shoal open -S ''
    fi
    if (( $#found )); then
        _describe shoal found
    fi
    if [[ -n $files ]]; then
        _files
    fi
}
# Found through fpath, or read by source?
if [[ $funcstack[1] == _shoal ]]; then
    _shoal "$@"
else
    compdef _shoal shoal
fi
