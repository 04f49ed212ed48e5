#!/bin/sh
# The documents say what is true: their examples run, their links lead somewhere.
#
#     tests/docs.sh ROOT SHOAL
set -eu

root=$1
bin=$(cd "$(dirname "$2")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$root"

cases=0
broken=0

# verdict STATUS NAME FILE: one TAP line; when broken, FILE as comments.
verdict() {
    cases=$((cases + 1))
    if [ "$1" = 0 ]; then
        echo "ok $cases - $2"
    else
        broken=1
        echo "not ok $cases - $2"
        sed 's/^/# /' "$3"
    fi
}

# block LANGUAGE HEADING FILE: the first code block of that language below.
block() {
    awk -v fence="\`\`\`$1" -v heading="## $2" '
    $0 == heading { below = 1 }
    inside && /^```$/ { exit }
    inside { print }
    below && $0 == fence { inside = 1 }' "$3"
}

tests/header_example.sh include/shoal.h >"$tmp/header.c"
block c 'The library' README.md >"$tmp/readme.c"
status=0
diff "$tmp/header.c" "$tmp/readme.c" >"$tmp/log" || status=1
verdict $status 'the library example of README.md is that of shoal.h' "$tmp/log"

# The commands of README.md in an empty folder, with the one file they expect.
block sh 'The program' README.md >"$tmp/readme.sh"
if "$bin/shoal" train cbow nowhere --ranks 2 -o x.bin 2>&1 | grep -q 'need MPI'; then
    sed -i '/--ranks/d' "$tmp/readme.sh"
fi
mkdir "$tmp/work"
yes 'small fish swim as one' | head -n 100 | zstd -q >"$tmp/work/news.zst"
status=0
[ -s "$tmp/readme.sh" ] &&
    (cd "$tmp/work" && PATH=$bin:$PATH ASAN_OPTIONS=detect_leaks=0 sh -eux "$tmp/readme.sh") \
        >"$tmp/log" 2>&1 || status=1 # MPI libraries leak at their end
verdict $status 'the commands of README.md run' "$tmp/log"

# Runs the lines `$ command` that it reads, with their continuations `> ...`,
# and prints them and what they print: a console block again.
replay() {
    while IFS= read -r line; do
        case $line in
        '$ '*) ;;
        *) continue ;;
        esac
        command=${line#??}
        printf '%s\n' "$line"
        while [ "${line%\\}" != "$line" ] && IFS= read -r line; do
            command="${command%\\}${line#>}"
            printf '%s\n' "$line"
        done
        (eval "$command") </dev/null 2>&1 || true
    done
}

# What the console blocks of these pages show, each in an empty folder.
for page in vectors clicks; do
    awk '/^```$/ { inside = 0 } inside; /^```console$/ { inside = 1 }' docs/$page.md >"$tmp/shown"
    mkdir "$tmp/$page"
    status=0
    (cd "$tmp/$page" && PATH=$bin:$PATH replay <"$tmp/shown" >"$tmp/printed")
    [ -s "$tmp/shown" ] && diff "$tmp/shown" "$tmp/printed" >"$tmp/log" || status=1
    verdict $status "the commands of docs/$page.md print what it shows" "$tmp/log"
done

# [text](path) of every document, beginning at its own folder.
: >"$tmp/log"
for doc in *.md docs/*.md; do
    grep -o '](\([^)#]*\)' "$doc" | sed 's/^](//' | grep -v '^[a-z]*:' | while read -r link; do
        [ -z "$link" ] || [ -e "$(dirname "$doc")/$link" ] || echo "$doc: $link is not there"
    done >>"$tmp/log" || true
done
status=0
[ ! -s "$tmp/log" ] || status=1
verdict $status 'every link of the documents leads somewhere' "$tmp/log"

echo "1..$cases"
exit $broken
