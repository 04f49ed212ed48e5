# bash completion of shoal @VERSION@, made by `shoal help --bash-completion`
_shoal()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local verb=shoal words='' files='' word

    # Bash breaks --name=value at the =.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
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
    if [[ $files ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"; compgen -f -- "$cur")
    else
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    fi
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]]; then
        compopt -o nospace 2>/dev/null # a number follows
    fi
}
complete -F _shoal shoal
