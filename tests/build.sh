#!/bin/sh
# scripts/build.sh makes a build anew, and deletes nothing else.
#
#     tests/build.sh ROOT      TAP on standard output, exit 1 when broken
#
# Meson and Ninja are played by two lines of shell.
set -eu

build=$(realpath "$1")/scripts/build.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin"
# shellcheck disable=SC2016
printf '#!/bin/sh\nmkdir -p "$2/meson-private" && touch "$2/build.ninja" "$2/made"\n' >"$tmp/bin/meson"
printf '#!/bin/sh\n' >"$tmp/bin/ninja"
chmod +x "$tmp/bin/meson" "$tmp/bin/ninja"
PATH=$tmp/bin:$PATH

cases=0
broken=0

# A folder that is made by a command, and whether build.sh may have it.
folder() {
    name=$1
    wanted=$2
    cases=$((cases + 1))
    dir="$tmp/folder $cases"
    shift 2
    (mkdir "$dir" && cd "$dir" && eval "$*")
    found=made
    "$build" "$dir" >"$tmp/said" 2>&1 || found=refused
    [ "$found" = made ] || grep -q "is no build of Meson" "$tmp/said" || found=broken
    if [ $found = made ] && { [ -e "$dir/mine" ] || [ ! -e "$dir/made" ]; }; then
        found='not made anew'
    elif [ $found = refused ] && { [ ! -e "$dir/mine" ] || [ -e "$dir/made" ]; }; then
        found=deleted
    fi
    if [ "$found" = "$wanted" ]; then
        echo "ok $cases - $name"
    else
        broken=1
        echo "not ok $cases - $name: $found"
        sed 's/^/# /' "$tmp/said"
    fi
}

folder "a folder that is not there is made" made 'rmdir "$PWD"'
folder "an empty folder is used" made ':'
folder "a build of Meson is made anew" made 'mkdir meson-private && touch build.ninja mine'
folder "half a build of Meson is made anew" made 'mkdir meson-private && touch mine'
folder "a folder of files is left alone" refused 'touch mine'
folder "a folder of hidden files is left alone" refused 'touch .hidden && mkdir mine'
folder "a build of another program is left alone" refused 'touch build.ninja mine'
echo "1..$cases"
exit $broken
