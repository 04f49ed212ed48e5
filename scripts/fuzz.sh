#!/bin/sh
# Runs every fuzz target of a built folder for a while; fails on a crash.
#
#     FUZZ_SECONDS=20 scripts/fuzz.sh FOLDER
#
# Inputs in tests/fuzz/corpus/TARGET, if there are any, are where it starts.
# What crashed is kept in FOLDER/crashes.
set -eu

cd "$(dirname "$0")/.."
dir=$1
seconds=${FUZZ_SECONDS:-20}
crashes=$dir/crashes
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$crashes"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"

ran=0
failed=0
for target in "$dir"/tests/fuzz/*; do
    [ -f "$target" ] && [ -x "$target" ] || continue
    name=$(basename "$target")
    seeds=tests/fuzz/corpus/$name
    mkdir "$tmp/$name"
    [ -d "$seeds" ] || seeds=
    ran=$((ran + 1))
    # TMPDIR: what a target writes on the way goes with the rest.
    if TMPDIR=$tmp "$target" -max_total_time="$seconds" -timeout=10 -print_final_stats=1 \
        -artifact_prefix="$crashes/$name-" "$tmp/$name" $seeds >"$tmp/log" 2>&1 </dev/null; then
        runs=$(awk '/stat::number_of_executed_units/ { print $2 }' "$tmp/log")
        echo "$name: $runs inputs in $seconds s, no crash"
    else
        failed=$((failed + 1))
        tail -n 60 "$tmp/log"
        echo "$name: FAILED; the input is in $crashes"
    fi
done
if [ "$ran" = 0 ]; then
    echo "fuzz: found no target in $dir/tests/fuzz, want one for each reader" >&2
    exit 1
fi
echo "$((ran - failed)) passed, $failed failed"
[ "$failed" = 0 ]
