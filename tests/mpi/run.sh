#!/bin/bash
# Runs the programs test_NAME_ranks of built folders with 1, 2 and 4 ranks (test_run_ranks
# with 24, too), each under the MPI library it was built with. TAP on standard output.
#
#     tests/mpi/run.sh BUILD... [-- NAME...]
#
# Given two folders (one made with -Dmpi=openmpi, one with -Dmpi=mpich), results
# must be the same bits in both.
set -u
most_seconds=${RANKS_SECONDS:-600}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# More ranks than cores, as root, on one machine, in a container that may not
# read the memory of other processes.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_btl_base_warn_component_unused=0
# MPI libraries leak, out of modules that are gone when it is noticed: leaks fail
# only where our own code took the memory (see run_cases).
export LSAN_OPTIONS="${LSAN_OPTIONS:+$LSAN_OPTIONS:}exitcode=0"

cases=0
broken=0

# verdict STATUS NAME [FILE]: one TAP line, the file as comments when it failed.
verdict() {
    cases=$((cases + 1))
    if [ "$1" = 0 ]; then
        echo "ok $cases - $2"
    else
        broken=1
        echo "not ok $cases - $2"
        [ -z "${3-}" ] || sed 's/^\(# \)*/# /' "$3"
    fi
}

# The library a program was linked with: openmpi, mpich or none.
library_of() {
    case $(ldd "$(realpath "$1")") in
    *libmpi.so*) echo openmpi ;;
    *libmpich.so*) echo mpich ;;
    *) echo none ;;
    esac
}

launcher_of() {
    case $1 in
    openmpi) command -v mpirun.openmpi || command -v mpirun ;;
    mpich) command -v mpiexec.mpich || command -v mpiexec ;;
    none) echo env ;;
    esac
}

# launch LIBRARY RANKS COMMAND...: its output in $work/out and $work/err.
launch() {
    local library=$1 ranks=$2
    shift 2
    [ "$library" = none ] || set -- "$(launcher_of "$library")" -n "$ranks" "${launcher_args[@]}" "$@"
    timeout -k 5 "$most_seconds" "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    cat "$work/out" "$work/err" >"$work/all"
    [ $status != 124 ] || echo "took more than $most_seconds s" >>"$work/all"
}
launcher_args=()

# ---- what any of the programs must do: pass all its cases ------------------------

# run_cases PROGRAM LIBRARY RANKS
run_cases() {
    local how="$3 ranks, $2" seen=0 line
    [ "$3" -gt 1 ] || how="1 rank, $2"
    launch "$2" "$3" "$1"
    while read -r line; do
        case $line in
        'ok '*) verdict 0 "$(name_of "$line") ($how)" ;;
        'not ok '*) verdict 1 "$(name_of "$line") ($how)" "$work/err" ;;
        'hash '*) echo "$line" >>"$work/hash.$(basename "$1").$3" ;;
        *) continue ;;
        esac
        seen=$((seen + 1))
    done <"$work/out"
    if [ $status != 0 ] || [ $seen = 0 ] || grep -qE '#1 .*/(src|mpi)/.*\.c:' "$work/err"; then
        verdict 1 "$(basename "$1") ends well ($how): status $status" "$work/all"
    fi
}

# "ok 3 - name (2 ranks)" gives "name"
name_of() {
    echo "$1" | sed -E 's/^(not )?ok *[0-9]* *-? *//; s/ \([0-9]+ ranks?\)$//; s/_/ /g'
}

same_bits() {
    local file status=0
    for file in "$work"/hash.*; do
        [ -e "$file" ] || continue
        [ "$(cut -d ' ' -f 2 "$file" | sort -u | wc -l)" = 1 ] || status=1
        sed "s/^/# ${file##*.} ranks: /" "$file"
    done
    verdict $status 'results are the same bits under every library'
}

# ---- what only comm must do -----------------------------------------------------------

# A rank is killed while the launcher looks away: the others name it.
run_kill() {
    local ranks=3 wrong=1 named
    launcher_args=(--enable-recovery --mca orte_abort_on_non_zero_status 0)
    launch openmpi $ranks "$1" kill
    launcher_args=()
    named=$(grep -c '^rank [01]: EPEER: rank 2 on .* silent for 6 s (its last round was' "$work/out")
    [ "$named" != 2 ] || [ $status = 124 ] || wrong=0
    verdict $wrong "a rank that was killed is named by the others ($ranks ranks, openmpi)" "$work/all"
}

run_abandon() {
    local wrong=0
    launch "$2" 3 "$1" abandon
    if [ $status = 0 ] || [ $status = 124 ]; then wrong=1; fi
    verdict $wrong "a rank that gives up ends all (3 ranks, $2)" "$work/all"
}

run_confuse() {
    local wrong=1
    launch "$2" 2 "$1" confuse
    [ $status = 0 ] || ! grep -qx 'rank 0: comm: rank 1 is in a max, this one in a sum' "$work/out" ||
        wrong=0
    verdict $wrong "a rank that is in another call is named (2 ranks, $2)" "$work/all"
}

# A rank that failed alone closes as if all was well; who waits for it must not wait for ever.
run_leave() {
    local wrong=1
    launch "$2" 3 "$1" leave
    [ $status = 0 ] || [ $status = 124 ] ||
        ! grep -q '^rank [01]: EPEER: rank 2 on .* left before the others' "$work/out" || wrong=0
    verdict $wrong "a rank that left is named by those who wait for it (3 ranks, $2)" "$work/all"
}

run_late() {
    local wrong=0
    most_seconds=60 launch "$2" 3 "$1" late
    if [ $status = 0 ] || [ $status = 124 ]; then wrong=1; fi
    verdict $wrong "a rank that stands still after its goodbye ends all (3 ranks, $2)" "$work/all"
}

# Under the launcher of the other library each rank would be alone.
run_astray() {
    local other=openmpi wrong=1
    [ "$2" != openmpi ] || other=mpich
    [ -n "$(launcher_of "$other")" ] || return 0
    launch "$other" 2 "$1"
    [ $status = 0 ] || ! grep -q 'started as one of 2 ranks' "$work/all" || wrong=0
    verdict $wrong "a launcher of another library is refused ($2 under $other)" "$work/all"
}

# ---- all of it ---------------------------------------------------------------------------

builds=()
names=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    builds+=("$1")
    shift
done
[ $# -eq 0 ] || shift
names=("$@")
[ ${#builds[@]} -gt 0 ] || { echo "usage: run.sh BUILD... [-- NAME...]" >&2; exit 2; }

chosen() {
    [ ${#names[@]} -eq 0 ] && return 0
    case " ${names[*]} " in *" $1 "*) return 0 ;; esac
    return 1
}

for build in "${builds[@]}"; do
    for program in "$build"/tests/test_*_ranks; do
        name=$(basename "$program" _ranks)
        name=${name#test_}
        if [ ! -x "$program" ] || ! chosen "$name"; then continue; fi
        library=$(library_of "$program")
        if [ -z "$(launcher_of "$library")" ]; then
            echo "ok $((cases += 1)) - $name # SKIP no launcher of $library is installed"
            continue
        fi
        counts='1 2 4'
        [ "$name" != run ] || counts+=' 24'
        [ "$library" != none ] || counts=1
        for ranks in $counts; do
            run_cases "$program" "$library" "$ranks"
        done
        [ "$name" = comm ] || continue
        [ "$library" != openmpi ] || run_kill "$program"
        if [ "$library" != none ]; then
            run_abandon "$program" "$library"
            run_confuse "$program" "$library"
            run_leave "$program" "$library"
            run_late "$program" "$library"
        fi
        run_astray "$program" "$library"
    done
done
[ ${#builds[@]} -lt 2 ] || same_bits
echo "1..$cases"
[ $cases -gt 0 ] || broken=1
exit $broken
