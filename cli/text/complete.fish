# fish completion of shoal @VERSION@, made by `shoal help --fish-completion`
function __shoal_in
    set -l verb shoal
    set -l line (commandline -opc)
    for word in $line[2..]
        switch "$verb $word"
            case@NAMES@
                set verb "$verb $word"
        end
    end
    test "$verb" = "$argv[1]"
end
complete -c shoal -f
@LINES@
