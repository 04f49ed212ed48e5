# Several ranks: which launcher is started how, and what becomes of what it says.
# The launchers here are fakes that run the program once, or not at all.
unset SHOAL_MPIRUN SHOAL_ISA OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK PMIX_RANK
export SHOAL_ISA=scalar
shoal gen world --words 20000 -q -o world.txt
shoal encode -q world.txt -o world.shoal

# fake NAME: a launcher that does what standard input says; `job "$@"` there is
# the job itself.
fake()
{
    {
        cat <<'END'
#!/bin/sh
show()
{
    printf '%s' "$1"
    shift
    for word; do
        case $word in
        */shoal) word=SHOAL ;;
        esac
        printf ' %s' "$word"
    done
    echo
}
job()
{
    while [ "${1##*/}" != shoal ]; do shift; done
    "$@"
}
END
        cat
    } >"$1"
    chmod +x "$1"
}

fake show.openmpi <<'END'
show "${0##*/}" "$@"
END
cp show.openmpi show.mpich
export SHOAL_MPIRUN=./show.openmpi

printf '# two machines\n\na\nb slots=3\n' >hosts
printf 'a:2\nb:1\n' >hosts.mpich
printf 'a\n  -oProxyCommand=x slots=2\n' >dashed
printf 'a\nb\nme@-x\n' >dashed.user
: >none
echo "the same words, less what is the launcher's:"
try shoal train cbow world.shoal --ranks 1000 -o x.bin
try shoal train cbow -qo x.bin --ranks=3 --hosts a,b --cbow-sum --cbow-mean --no-unk -- world.txt
try shoal train skipgram world.txt --hosts a:2,b:6 --sync bounded:16 --wire bf16 --servers 2 \
    --local-input --silent-after 2m -o x.bin
try shoal train cbow world.shoal --hosts ./hosts --ranks 8 -o x.bin
try shoal train cbow world.shoal --hosts ./hosts -o x.bin
try shoal train --resume run --ranks 1000 --threads 2
try env OMPI_MCA_btl_tcp_eager_limit=4096 shoal train cbow world.shoal --ranks 2 --hosts a,b -o x.bin
try env SHOAL_MPIRUN=./show.mpich shoal train cbow world.shoal --ranks 1000 -o x.bin
try env SHOAL_MPIRUN=./show.mpich shoal train cbow world.shoal --ranks 5 --hosts a,b -o x.bin
try env SHOAL_MPIRUN=./show.mpich shoal train cbow world.shoal --ranks 5 --hosts ./hosts -o x.bin
try env SHOAL_MPIRUN=./show.mpich shoal train cbow world.shoal --hosts ./hosts.mpich -o x.bin
try env SHOAL_MPIRUN=./nowhere.openmpi shoal train cbow world.shoal --ranks 5 -o x.bin
echo "nothing is launched for one:"
try shoal train cbow world.shoal --ranks 1 --dim 4 --epochs 1 -q -o x.bin

echo "what makes no sense is refused before anything is launched:"
try shoal train cbow world.shoal --ranks many -o x.bin
try shoal train cbow world.shoal --ranks 2 --dim 0 -o x.bin
try shoal train cbow world.shoal --ranks 2 --restarts 1 -o x.bin
try shoal train cbow world.shoal --sync always -o x.bin
try shoal train cbow world.shoal --sync bounded -o x.bin
try shoal train cbow world.shoal --sync average:0 -o x.bin
try shoal train cbow world.shoal --sync sync:1 -o x.bin
try shoal train cbow world.shoal --wire f16 -o x.bin
try shoal train cbow world.shoal --silent-after 5 -o x.bin
try shoal train cbow world.shoal --silent-after 5% -o x.bin
try shoal train cbow world.shoal --ranks 2 --min-count 3 -o x.bin
try shoal train --ranks 2
try shoal train cbow world.shoal --hosts a:2 --ranks 3 -o x.bin
for hosts in '' a,,b 'a b' a:0 a:x :2 a, ./nowhere ./none \
    -oProxyCommand=x a,-x me@-x ./dashed ./dashed.user; do
    try shoal train cbow world.shoal --hosts "$hosts" --ranks 2 -o x.bin
done

echo "who was launched already launches nobody:"
export OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0
try shoal train cbow world.shoal --ranks 3 -o x.bin
try shoal train cbow world.shoal --hosts a,b -o x.bin
try shoal train cbow world.shoal --restarts 1 --checkpoint run -o x.bin
OMPI_COMM_WORLD_RANK=1
echo "and only one is heard:"
try shoal train cbow world.shoal --ranks 3 -o x.bin
unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK

echo "what the ranks say goes on, what the launcher says does not:"
fake talk.openmpi <<'END'
echo "plan"
echo "mpirun: no launcher of ours"
echo "talk.openmpi: Forwarding signal 10 to job"
echo "[host:123] PMIX ERROR" >&2
echo "epoch 1/1" >&2
rule=--------------------------------------------------------------------------
printf '%s\n' $rule "1 process returned" "shoal: in.txt: no such file" $rule "epoch 2" >&2
exit 1
END
SHOAL_MPIRUN=./talk.openmpi
try shoal train cbow world.shoal --ranks 2 -o x.bin
fake late.openmpi <<'END'
echo "shoal: rank 1 on n1 silent for 10 s" >&2
echo "shoal: the last good checkpoint is run/checkpoint-000001.shoal, at 5.0 %" >&2
echo "shoal: rank 0 on n0 silent for 10 s" >&2
exit 3
END
SHOAL_MPIRUN=./late.openmpi
try shoal train cbow world.shoal --ranks 2 -o x.bin
echo "what they said goes before how the launcher ended, and a failure of one's own before the rest:"
fake said.openmpi <<'END'
cat said.txt >&2
exit "$(cat code.txt)"
END
SHOAL_MPIRUN=./said.openmpi
# says CODE LINE...: a launcher that ends so after ranks said this
says()
{
    echo "$1" >code.txt
    shift
    printf 'shoal%s\n' "$@" >said.txt
    try shoal train cbow world.shoal --ranks 2 -q --checkpoint three --restarts 1 -o x.bin
}
says 137 ": in.txt: no such file"
says 3 ": rank 1 on n1: in.txt: no such file"
says 143 " train cbow: --ranks is 3, found 2 launched"
says 3 ": rank 1 on n1 silent for 10 s (its last round was 5)" ": disk full"
says 1 ": rank 1 on n1 silent for 2.5 s (its last round was 5)" ": the last good checkpoint is c, at 5.0 %"
says 143 ": mpi: sending to rank 1: broken"
rm said.txt code.txt
fake die.openmpi <<'END'
rule=--------------------------------------------------------------------------
printf '%s\n' $rule "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 \
(Killed)." $rule >&2
exit 137
END
SHOAL_MPIRUN=./die.openmpi
try shoal train cbow world.shoal --ranks 2 -o x.bin
echo "also where messages of two mix, and rules frame nothing any more:"
fake mixed.openmpi <<'END'
rule=--------------------------------------------------------------------------
printf '%s\n' $rule "WARNING: a connection failed." $rule \
    "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 (Killed)." $rule $rule >&2
exit 137
END
SHOAL_MPIRUN=./mixed.openmpi
try shoal train cbow world.shoal --ranks 2 -o x.bin
fake die.mpich <<'END'
rule====================================================================================
printf '%s\n' '' $rule '=   PID 123 RUNNING AT n1' '=   EXIT CODE: 11' $rule
exit 11
END
try env SHOAL_MPIRUN=./die.mpich shoal train cbow world.shoal --ranks 2 -o x.bin
fake cut.openmpi <<'END'
rule=--------------------------------------------------------------------------
printf '%s\n' $rule "  HNP daemon   : [[1,0],0] on node n0" "  Remote daemon: [[1,0],1] on node n1" \
    $rule >&2
exit 205
END
SHOAL_MPIRUN=./cut.openmpi
try shoal train cbow world.shoal --ranks 2 -o x.bin
echo "unless it is all there is:"
fake odd.openmpi <<'END'
printf '%s\n' "[host:123] out of luck" >&2
exit 7
END
SHOAL_MPIRUN=./odd.openmpi
try shoal train cbow world.shoal --ranks 2 -o x.bin

echo "standard input stays with whoever gave it, unless it is the data:"
fake reads.openmpi <<'END'
echo "it is given $(wc -l) lines" >&2
END
SHOAL_MPIRUN=./reads.openmpi
printf 'a\nb\n' | while read -r line; do
    echo "line $line"
    shoal train cbow world.shoal --ranks 2 -q -o x.bin
done
printf 'a\nb\n' | try shoal train cbow - --ranks 2 -q -o x.bin
printf 'a\nb\n' | try shoal train logreg x.svm --valid=- --ranks 2 -q -o x.shoal
printf 'a\nb\n' | try shoal train cbow world.shoal --ranks 2 -q -o - --format text
printf 'a\nb\n' | try shoal train cbow world.shoal --ranks 2 -q -o x.bin --metrics -
printf 'dim 7\n' | try shoal train cbow world.shoal --ranks 2 -q -o x.bin --config -
closed()
{
    "$@" <&-
}
try closed shoal train cbow - --ranks 2 -q -o x.bin

echo "restarts, from the beginning and from a checkpoint:"
# The first try comes to nothing; the second loses a rank; the third is good.
fake once.openmpi <<'END'
show "${0##*/}" "$@"
echo try >>tries
case $(grep -c try tries) in
1)
    exit 137
    ;;
2)
    job "$@" && rm run/checkpoint-000002.shoal x.bin
    echo "shoal: rank 2 on n1 silent for 10 s" >&2
    exit 3
    ;;
*)
    job "$@"
    ;;
esac
END
SHOAL_MPIRUN=./once.openmpi
try shoal train cbow world.txt --ranks 1000 --dim 4 --epochs 2 --threads 1 -q -o x.bin \
    --checkpoint run --checkpoint-every epoch --sync bounded:3 --restarts 3
ls x.bin run
echo "not more often than was said, and not from the run of another:"
SHOAL_MPIRUN=./die.openmpi
try shoal train cbow world.txt --ranks 2 -q -o x.bin --checkpoint two --restarts 1
try shoal train cbow world.txt --ranks 2 -q -o x.bin --checkpoint run --restarts 1
echo "what all agreed on would only come again:"
SHOAL_MPIRUN=./talk.openmpi
try shoal train cbow world.txt --ranks 2 -q -o x.bin --checkpoint two --restarts 1

echo "a signal asks the ranks to stop; nothing is left behind:"
fake stop.openmpi <<'END'
sleep 1000 &
echo $! >left
setsid sleep 1000 &
echo $! >>left
trap 'echo "shoal: stopped at 1.0 %" >&2; exit 138' USR1
touch ready
while :; do sleep 0.05; done
END
SHOAL_MPIRUN=./stop.openmpi
stop()
{
    shoal train cbow world.txt --ranks 2 -q -o x.bin --checkpoint two --restarts 2 &
    until [ -e ready ]; do sleep 0.05; done
    kill -TERM $!
    wait $!
}
try stop
for pid in $(cat left); do kill -0 "$pid" 2>/dev/null && echo "left: a process"; done
ls -A
