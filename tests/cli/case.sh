# shellcheck shell=sh
# What every case may use. Sourced by run.sh before the case.

# Runs a command, showing it and the exit code it gave if that is not 0.
try()
{
    show "$@"
    status=0
    "$@" || status=$?
    if [ $status -ne 0 ]; then
        echo "[exit $status]"
    fi
}

# "$ shoal vocab 'two words'"
show()
{
    printf '$'
    for word in "$@"; do
        case $word in
        '' | *[!A-Za-z0-9_./=,-]*) printf " '%s'" "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
}

# Runs a command whose standard output cannot be written.
full()
{
    "$@" >/dev/full
}

# A small text of 6 sentences, 29 words, 9 types.
small_text()
{
    cat <<'END'
the cat sat on the mat
the dog sat on the log
the cat saw the dog

a dog saw a cat
the mat the log
the cat sat
END
}

# Runs a command that writes m.jsonl, and ends it with SIGTERM as soon as it has
# reported there that it is at work: no matter how slow the machine.
end_at_work()
{
    rm -f m.jsonl
    "$@" &
    until grep -q interval m.jsonl 2>/dev/null || ! kill -0 $! 2>/dev/null; do
        sleep 0.05
    done
    kill -TERM $! 2>/dev/null
    wait $!
}

# Writes `noted`, a script that runs a command, leaves its number in pid, and lets it be
# ended by signals that background jobs and nohup ignore.
write_noted()
{
    # shellcheck disable=SC2016
    printf 'echo $$ >pid\nexec env --default-signal "$@"\n' >noted
}
