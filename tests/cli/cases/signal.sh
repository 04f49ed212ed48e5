# A signal stops the work, leaves nothing behind and exits with 128 and its number; sent twice at
# once, as timeout(1) and launchers do, it is still one.
stopped_by()
{
    signal=$1
    shift
    rm -f pid over
    {
        until [ -n "$(ls -A out)" ] || [ -e over ]; do sleep 0.05; done
        kill -s "$signal" "$(cat pid)" "$(cat pid)"
    } &
    try sh noted shoal gen world --words 100000000000 "$@" -o out/text.txt
    touch over
    wait
    ls -A out
}
mkdir out
write_noted
stopped_by INT
stopped_by TERM -q
stopped_by HUP -q
