# Hosts on one machine, for hosts.sh and bench/hosts.sh: network namespaces, each
# with its own name and a link of $rate to a bridge. To be sourced; the caller
# sets hosts, rate and work, a folder.

name() { echo "shoal$$-$1"; }

end_hosts() {
    for i in $(seq 0 $((hosts - 1))); do
        ip netns pids "$(name $i)" 2>/dev/null | xargs -r kill -9 2>/dev/null
        ip netns del "$(name $i)" 2>/dev/null
    done
    ip netns del "$(name br)" 2>/dev/null
    rm -rf "$work"
}

add_host() {
    ip netns add "$(name "$1")" && ip -n "$(name "$1")" link set lo up &&
        ip link add e0 netns "$(name "$1")" type veth peer name "p$1" netns "$(name br)" &&
        ip -n "$(name "$1")" addr add "10.77.0.$(($1 + 1))/24" dev e0 &&
        ip -n "$(name "$1")" link set e0 gso_max_size 16384 up &&
        ip -n "$(name br)" link set "p$1" master br0 &&
        ip -n "$(name br)" link set "p$1" up &&
        tc -n "$(name "$1")" qdisc add dev e0 root tbf rate "$rate" burst 128kb latency 50ms &&
        tc -n "$(name br)" qdisc add dev "p$1" root tbf rate "$rate" burst 128kb latency 50ms
}

begin_hosts() {
    ip netns add "$(name br)" && ip -n "$(name br)" link add br0 type bridge &&
        ip -n "$(name br)" link set br0 up || return 1
    for i in $(seq 0 $((hosts - 1))); do
        add_host "$i" || return 1
    done
}

# What the launcher calls in place of ssh: options, an address, a command.
write_agent() {
    cat >"$work/agent" <<AGENT
#!/bin/bash
while [ "\${1#-}" != "\$1" ]; do shift; done
i=\$((\${1##*.} - 1)); shift
exec ip netns exec "shoal$$-\$i" unshare --uts bash -c "hostname n\$i; \$*"
AGENT
    chmod +x "$work/agent"
}


# Runs a command on host 0, so that what it launches goes to the other hosts.
on_first() {
    env OMPI_MCA_plm_rsh_agent="$work/agent" OMPI_MCA_oob_tcp_if_include=10.77.0.0/24 \
        OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self \
        HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC="$work/agent" UCX_TLS=tcp,self \
        ip netns exec "$(name 0)" unshare --uts bash -c 'hostname n0; exec "$@"' - "$@"
}

# Whether there can be hosts here; else why not.
can_host() {
    [ "$(id -u)" = 0 ] || { echo 'namespaces need root'; return 1; }
    command -v ip >/dev/null && command -v tc >/dev/null || { echo 'no ip or tc here (iproute2)'; return 1; }
    begin_hosts 2>"$work/why" || { echo "no namespaces here: $(head -1 "$work/why")"; return 1; }
    write_agent
}
