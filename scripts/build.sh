#!/bin/sh
# Configures and builds a folder; silent unless something fails.
#
#     [TARGET=NAME] scripts/build.sh FOLDER [MESON OPTION...]
#
# Options already configured stay; options that differ from those of the last
# call are applied. A build that was configured elsewhere, or for another CC, is
# made anew; a folder of anything else is left alone.
set -eu

cd "$(dirname "$0")/.."
dir=$1
shift
stamp=$dir/.configured
place="$PWD ${CC:-}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

quietly() {
    "$@" >"$log" 2>&1 </dev/null || {
        cat "$log" >&2
        echo "build: failed: $*" >&2
        exit 1
    }
}

# Meson's, or nothing in it.
may_remove() {
    [ ! -e "$dir" ] || [ -d "$dir/meson-private" ] || { [ -d "$dir" ] && [ -z "$(ls -A "$dir")" ]; }
}

if [ ! -f "$dir/build.ninja" ] || [ "$(head -n 1 "$stamp" 2>/dev/null)" != "$place" ]; then
    may_remove || {
        echo "build: $dir: is no build of Meson and not empty, want another folder" >&2
        exit 1
    }
    rm -rf "$dir"
    quietly meson setup "$dir" "$@"
elif [ $# -gt 0 ] && [ "$(tail -n +2 "$stamp")" != "$*" ]; then
    quietly meson setup --reconfigure "$dir" "$@"
else
    set --
fi
if [ $# -gt 0 ] || [ ! -f "$stamp" ]; then
    printf '%s\n%s\n' "$place" "$*" >"$stamp"
fi
quietly ninja -C "$dir" ${TARGET:+"$TARGET"}
