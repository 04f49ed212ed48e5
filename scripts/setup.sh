#!/bin/sh
# Installs the Debian packages that are missing, and only those.
#
#     scripts/setup.sh [GROUP...]      (default: build test)
#
# Quiet and quick when nothing is missing. Installs as root or through sudo
# that asks for no password; otherwise prints the line to run and exits 1.
# shellcheck disable=SC2086 # lists of packages are meant to split
set -eu

# The one list: a group, then its packages.
packages='
build  gcc g++ libc6-dev make meson ninja-build pkg-config
build  zlib1g-dev libzstd-dev libbz2-dev liblzma-dev libxxhash-dev libutf8proc-dev libcmocka-dev
build  libjansson-dev libdnnl-dev libedit-dev libopenmpi-dev
build  libjpeg62-turbo-dev libpng-dev libcairo2-dev
build  libgnutls28-dev
build  libhnswlib-dev
build  libnghttp2-dev libprotobuf-c-dev protobuf-c-compiler
test   gzip zstd bzip2 xz-utils curl python3 openmpi-bin libmpich-dev mpich iproute2 locales
test   python3-yaml python3-jsonschema python3-grpcio
test   python3-numpy python3-scipy python3-sklearn python3-pytest python3-setuptools python3-wheel python3-venv
fuzz   clang libclang-rt-14-dev
bench  zstd time python3 wrk nghttp2-client python3-sklearn python3-gensim liblinear-tools dataset-fashion-mnist
simulate libsimgrid-dev
lint   clang-format clang-tidy
'

[ $# -gt 0 ] || set -- build test

want=
for group; do
    found=$(echo "$packages" | awk -v g="$group" '$1 == g { $1 = ""; print }')
    [ -n "$found" ] || { echo "setup: found group '$group', want one of:" \
        "$(echo "$packages" | awk 'NF && !seen[$1]++ { print $1 }' | xargs)" >&2; exit 1; }
    want="$want $found"
done
want=$(echo $want)

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    command -v meson >/dev/null && exit 0
    echo "setup: not a Debian system; install what these Debian packages hold: $want" >&2
    exit 1
fi

missing() {
    have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $want 2>/dev/null |
        awk '$1 == "installed" { print $2 }')
    for package in $want; do
        echo "$have" | grep -qxF -- "$package" || echo "$package"
    done | sort -u | xargs
}

need=$(missing)
[ -n "$need" ] || exit 0

line="apt-get install -y --no-install-recommends $need"
if [ "$(id -u)" = 0 ]; then
    as_root=
elif sudo -n true 2>/dev/null; then
    as_root='sudo -n'
else
    echo "setup: missing packages; run: sudo $line" >&2
    exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 "$@" \
        >>"$log" 2>&1 </dev/null
}

echo "setup: installing $need" >&2
# The lists may be absent or old: refresh them only when the install needs it.
apt install -y --no-install-recommends $need ||
    { apt update && apt install -y --no-install-recommends $need; } || {
    cat "$log" >&2
    sudo=${as_root:+sudo }
    echo "setup: the install failed; run: ${sudo}apt-get update && $sudo$line" >&2
    exit 1
}
