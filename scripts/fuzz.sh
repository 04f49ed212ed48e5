#!/bin/sh
# Runs every fuzz target of a built folder for a while, one on each core; fails on a crash.
#
#     FUZZ_SECONDS=20 scripts/fuzz.sh FOLDER [TARGET...]
#     scripts/fuzz.sh FOLDER merge [TARGET...]
#
# It starts from the kept inputs, tests/fuzz/corpus/TARGET, and from what runs before found,
# FOLDER/found/TARGET, with the words of tests/fuzz/dict/TARGET.dict. What crashed, hung, leaked
# or took too much memory is kept in FOLDER/crashes.
# `merge` brings those found inputs that reach new code into the kept ones.
set -eu

cd "$(dirname "$0")/.."
dir=$1
shift
verb=run
if [ "${1:-}" = merge ]; then
    verb=merge
    shift
fi
seconds=${FUZZ_SECONDS:-20}
kept=tests/fuzz/corpus
most=16384 # bytes of a kept input
# In memory, if there is room for it: targets write files, and the library waits for disks.
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || TMPDIR=/dev/shm
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shoal-fuzz.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$dir/crashes" "$dir/found"
export ASAN_OPTIONS="${ASAN_OPTIONS:-allocator_may_return_null=1:detect_leaks=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"

# run NAME: its log, and behind it one line in $tmp/NAME.said.
run() {
    mkdir -p "$tmp/$1" "$dir/found/$1"
    words=tests/fuzz/dict/$1.dict
    [ ! -f "$words" ] || words=-dict=$words
    [ "$words" != "tests/fuzz/dict/$1.dict" ] || words=
    # The targets hold memory against input themselves; these are the last fence.
    # shellcheck disable=SC2086 # none is no word
    if TMPDIR=$tmp/$1 "$dir/tests/fuzz/fuzz_$1" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=2048 -malloc_limit_mb=1024 -max_len=$most -print_final_stats=1 \
        -artifact_prefix="$dir/crashes/$1-" $words \
        "$dir/found/$1" "$kept/$1" >"$tmp/$1.log" 2>&1 </dev/null; then
        runs=$(awk '/stat::number_of_executed_units/ { print $2 }' "$tmp/$1.log")
        new=$(awk '/stat::new_units_added/ { print $2 }' "$tmp/$1.log")
        echo "$1: $runs inputs in $seconds s, $new reach new code, no crash" >"$tmp/$1.said"
    else
        { tail -n 60 "$tmp/$1.log"
          echo "$1: FAILED; the input is in $dir/crashes"; } >"$tmp/$1.said"
        touch "$tmp/$1.failed"
    fi
    rm -rf "${tmp:?}/$1"
}

# merge NAME: inputs with a name of their own, seeds and findings, stay; to them come the fewest
# that reach all the rest.
merge() {
    mkdir -p "$tmp/$1" "$tmp/$1.kept"
    find "$kept/$1" -type f | grep -vE '/[0-9a-f]{40}$' | xargs -r -I{} cp {} "$tmp/$1.kept"
    if TMPDIR=$tmp/$1 "$dir/tests/fuzz/fuzz_$1" -set_cover_merge=1 -use_counters=0 -timeout=10 \
        -max_len=$most "$tmp/$1.kept" "$kept/$1" "$dir/found/$1" >"$tmp/$1.log" 2>&1 </dev/null; then
        rm -rf "${kept:?}/$1"
        cp -R "$tmp/$1.kept" "$kept/$1"
        echo "$1: $(find "$kept/$1" -type f | wc -l) inputs," \
            "$(du -sb "$kept/$1" | cut -f 1) bytes" >"$tmp/$1.said"
    else
        { tail -n 60 "$tmp/$1.log"; echo "$1: FAILED to merge"; } >"$tmp/$1.said"
        touch "$tmp/$1.failed"
    fi
    rm -rf "${tmp:?}/$1" "$tmp/$1.kept"
}

if [ $# = 0 ]; then
    # shellcheck disable=SC2046 # names without blanks
    set -- $(find "$dir/tests/fuzz" -maxdepth 1 -name 'fuzz_*' -type f -perm -u+x |
        sed 's|.*/fuzz_||' | LC_ALL=C sort)
fi
if [ $# = 0 ]; then
    echo "fuzz: found no target in $dir/tests/fuzz, want one for each reader" >&2
    exit 1
fi

# As many at a time as there are cores; each says what became of it when its turn comes.
cores=$(nproc)
all=$#
while [ $# -gt 0 ]; do
    batch=
    pids=
    while [ $# -gt 0 ] && [ "$(echo "$batch" | wc -w)" -lt "$cores" ]; do
        mkdir -p "$kept/$1" "$dir/found/$1"
        $verb "$1" &
        pids="$pids $!"
        batch="$batch $1"
        shift
    done
    for pid in $pids; do wait "$pid"; done
    for name in $batch; do cat "$tmp/$name.said"; done
done
failed=$(find "$tmp" -maxdepth 1 -name '*.failed' | wc -l)
echo "$((all - failed)) passed, $failed failed"
[ "$failed" = 0 ]
