#!/bin/sh
# Prints the example of a header: the indented lines of its first comment, after
# the line that says so.
#
#     tests/header_example.sh include/shoal.h
set -eu
awk '
/example \(compiled and run by the tests\):$/ { inside = 1; next }
/^ \*\// { exit }
inside && sub(/^ \*     /, "") { print; lines++; next }
inside && lines { print "" }
END { exit lines == 0 }
' "$1"
