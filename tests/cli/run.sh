#!/bin/sh
# Runs the command-line cases: cases/NAME.sh must print exactly NAME.expected.
#
#   run.sh [--update] [--part K/N] SHOAL_BINARY SRC_DIR [NAME...]
#
# SRC_DIR is the root of the sources; without a NAME all cases run, or of all every N-th one from
# the K-th on. Each case
# runs in an empty folder of its own, with `shoal` in PATH and the functions of
# case.sh; stdout and stderr are compared together. --update rewrites what is
# expected instead: read the diff before you commit it.
set -u

update=no
if [ "${1-}" = --update ]; then
    update=yes
    shift
fi
part=1 parts=1
if [ "${1-}" = --part ] && [ $# -gt 1 ]; then
    part=${2%/*} parts=${2#*/}
    shift 2
fi
if [ $# -lt 2 ]; then
    echo "usage: run.sh [--update] [--part K/N] SHOAL_BINARY SRC_DIR [NAME...]" >&2
    exit 2
fi
binary=$(realpath "$1") || exit 2
here=$(realpath "$2")/tests/cli || exit 2
shift 2

room=$(mktemp -d) || exit 2
trap 'rm -rf "$room"' EXIT
trap 'exit 130' INT TERM
mkdir "$room/bin"
ln -s "$binary" "$room/bin/shoal"

# What no two runs share: the time taken, the rate, what the machine has free, and the line by
# which work that takes ten seconds says how far it is.
normalise()
{
    sed -E \
        -e '/^[a-z]+  +[0-9]+%(  .*\/s(  [0-9:]+ left)?)?$/d' \
        -e '/^took /!{ /^[a-z]+  +[0-9][0-9.,]* [A-Za-z]+  [0-9.]+ .*\/s$/d; }' \
        -e '/^took /s/[0-9.]+ [KMGT]?i?B\/s/RATE/' \
        -e '/^took /s/ *[0-9][0-9.:]*( s)?/ TIME/g' \
        -e '/^(memory|disk) /s/[0-9.]+ [KMGTPE]?i?B free/SOME free/'
}

run_case()
{
    mkdir -p "$room/$1/work" "$room/$1/tmp"
    (
        cd "$room/$1/work" || exit 1
        # shellcheck disable=SC2016
        env -u NO_COLOR PATH="$room/bin:$PATH" TMPDIR="$room/$1/tmp" LC_ALL=C.UTF-8 TERM=xterm \
            sh -u -c '. "$1/case.sh"; . "$1/cases/$2.sh"' sh "$here" "$1" </dev/null 2>&1
    ) | normalise >"$room/$1/got"
    # What the work needed for itself must be gone.
    find "$room/$1/tmp" -mindepth 1 -printf 'left in TMPDIR: %P\n' >>"$room/$1/got"
}

if [ $# -eq 0 ]; then
    number=0
    for case in "$here"/cases/*.sh; do
        number=$((number + 1))
        [ $((number % parts)) -ne $((part % parts)) ] || set -- "$@" "$(basename "$case" .sh)"
    done
fi
passed=0
failed=0
for name in "$@"; do
    run_case "$name"
    expected=$here/cases/$name.expected
    if [ $update = yes ]; then
        cp "$room/$name/got" "$expected"
    fi
    if diff -u "$expected" "$room/$name/got" >"$room/$name/diff" 2>&1; then
        echo "ok $name"
        passed=$((passed + 1))
    else
        echo "not ok $name"
        sed 's/^/    /' "$room/$name/diff"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
