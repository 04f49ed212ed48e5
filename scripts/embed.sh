#!/bin/sh
# Files as C strings: FOLDER/page.html becomes `static const char page_html[]`.
#
#     scripts/embed.sh FILE... >page.inc
set -eu

for file; do
    name=$(basename "$file" | tr . _)
    echo "static const char $name[] ="
    sed 's/\\/\\\\/g; s/"/\\"/g; s/?/\\?/g; s/^/    "/; s/$/\\n"/' "$file"
    echo "    ;"
done
