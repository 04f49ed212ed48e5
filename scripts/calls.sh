#!/bin/sh
# Lists of system calls as C arrays: `[allowed]` becomes `static const unsigned allowed[]`,
# a line `NAME [?|PROCESSOR]` below it a number, where the headers or the processor have it.
#
#     scripts/calls.sh FILE >sandbox.inc
set -eu

awk '
{ sub(/#.*/, "") }
NF == 0 { next }
/^\[/ {
    if (open++)
        print "};"
    gsub(/[][]/, "")
    print "static const unsigned " $1 "[] = {"
    next
}
NF == 2 { print "#ifdef " ($2 == "?" ? "SYS_" $1 : "__" $2 "__") }
{ print "    SYS_" $1 "," }
NF == 2 { print "#endif" }
END { print "};" }
' "$1"
