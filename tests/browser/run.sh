#!/bin/sh
# The server's page in headless Chromium, with screenshots; run by hand.
#
#     tests/browser/run.sh SHOAL FOLDER      screenshots go to FOLDER
#
# Needs Debian's chromium and nodejs; playwright-core and axe-core come from npm, into FOLDER.
set -eu

shoal=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)

[ -d "$out/node_modules/axe-core" ] ||
    (cd "$out" && npm install --silent --no-save --no-audit --no-fund playwright-core axe-core)
if [ ! -e "$out/words.shoal" ]; then
    "$shoal" gen world --words 1000000 --quiet --output "$out/world.txt"
    "$shoal" train cbow --dim 50 --epochs 3 --quiet --output "$out/words.shoal" "$out/world.txt"
fi
export NODE_PATH="$out/node_modules"
node "$here/page.js" "$shoal" "$out"
node "$here/forms.js" "$shoal" "$out"
exec node "$here/trouble.js" "$shoal" "$out"
