# shellcheck shell=sh disable=SC2154
# What the scripts here share: sourced with $name set. The working folder becomes the
# first argument of the script, or studies/NAME; $shoal is the program.
set -eu
shoal=$(command -v "${SHOAL:-shoal}" || true)
[ -n "$shoal" ] || {
    echo "$0: found no shoal in PATH, want SHOAL=path/to/shoal" >&2
    exit 1
}
shoal=$(realpath "$shoal")
folder=${1:-studies/$name}
mkdir -p "$folder"
cd "$folder"

# size FULL SMALL: the second with QUICK=1.
size() {
    if [ "${QUICK:-0}" = 1 ]; then echo "$2"; else echo "$1"; fi
}

# Prints the original's figures after the table.
original() {
    echo
    echo "The original:"
    sed 's/^/  /'
}
