#!/bin/sh
# Runs the tests of a built folder; the last line is `N passed, N failed`.
#
#     scripts/test.sh FOLDER [meson test option...]
set -eu

cd "$(dirname "$0")/.."
dir=$1
shift
logs=$dir/meson-logs
# cmocka then prints one line for each case, which count_tests.py counts.
export CMOCKA_MESSAGE_OUTPUT=TAP
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}"
export LSAN_OPTIONS="${LSAN_OPTIONS:-print_suppressions=0:suppressions=$PWD/tests/lsan.supp}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}"

rm -f "$logs/testlog.json"
status=0
# Many tests wait, for other ranks or for a time to pass: one more than there are cores.
meson test -C "$dir" --no-rebuild --num-processes "$(($(nproc) + 1))" "$@" >"$logs/run.txt" 2>&1 </dev/null || status=$?
exec python3 scripts/count_tests.py "$logs/testlog.json" "$status" "$logs/run.txt"
