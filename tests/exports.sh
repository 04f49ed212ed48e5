#!/bin/sh
# The shared library shows what shoal.h and its parts mark SHOAL_API, all of it and
# no more.
#
#     tests/exports.sh libshoal.so include/shoal.h include/shoal/PART.h...
set -eu
library=$1
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Sanitizers add their own names, which start with two underscores.
nm -D --defined-only "$library" | awk '$3 !~ /^__/ && $2 != "A" { print $3 }' | sort >"$tmp/shown"
cat "$@" | grep -v '^#' | tr '\n' ' ' | grep -oE 'SHOAL_API [^(;]*(\(|\[\];)' |
    sed 's/.*[ *]\(shoal_[a-z0-9_]*\)[[(].*/\1/' | sort >"$tmp/marked"

if [ -s "$tmp/marked" ] && diff "$tmp/marked" "$tmp/shown" >"$tmp/diff"; then
    echo "ok 1 - the shared library shows shoal.h and nothing else"
else
    echo "not ok 1 - the shared library shows shoal.h and nothing else"
    sed -n 's/^< /# missing: /p; s/^> /# not in shoal.h: /p' "$tmp/diff"
    exit 1
fi
