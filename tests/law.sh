#!/bin/sh
# The law of the house: who may include whom, where foreign libraries live, and
# what the library never does. CONTRIBUTING.md states it for people.
#
#     tests/law.sh [ROOT]      TAP on standard output, exit 1 when broken
#
# After the tree itself it is tried on a copy with planted violations, so that
# a law that stopped looking is noticed.
set -eu

# ---- The rules ---------------------------------------------------------------

# level, room, the rooms whose doors (room/room.h) it may open
rooms='
0 base
1 kernel  base
1 file    base
1 comm    base
2 columns base file
3 text    base file columns
3 sparse  base file columns
3 samples base file columns
3 worlds  base file
3 store   base kernel file comm
4 model   base kernel sparse
4 eval    base kernel file text
5 saved   base kernel file columns text sparse samples model eval
6 train   base kernel file columns comm text sparse samples store model eval saved
6 serve   base kernel file columns text sparse samples model eval saved
7 study   base kernel file columns comm text sparse samples store model eval saved train
8 cli
'

# folder of a room, other folders of it whose headers it may include
tenants='
train/tasks  rows dense
'

# header (a name ending in / is a folder), the only files that may include it
foreign='
zlib.h         file/gzip.c
zstd.h         file/zstd.c
zstd_errors.h  file/zstd.c
bzlib.h        file/bzip2.c
lzma.h         file/xz.c
lzma/          file/xz.c
xxhash.h       file/container.c
utf8proc.h     text/clean.c text/segment.c
jpeglib.h      samples/image.c
turbojpeg.h    samples/image.c
jerror.h       samples/image.c
png.h          samples/image.c
cairo.h        study/draw/raster.c
mpi.h          comm/mpi.c
dnnl.h         kernel/gemm.c
oneapi/        kernel/gemm.c
jansson.h      saved/class_index.c saved/net/manifest.c train/config.c train/learned.c train/metrics.c serve/json.c study/series.c study/record.c study/simulate.c study/lines.c
gnutls/        serve/http/tls.c
hnswlib/       eval/hnsw.cc
exception      eval/hnsw.cc
memory         eval/hnsw.cc
mutex          eval/hnsw.cc
new            eval/hnsw.cc
vector         eval/hnsw.cc
nghttp2/       serve/http/h2.c
inference.pb-c.h serve/routes/grpc.c
protobuf-c/    serve/routes/grpc.c
editline/      cli/prompt.c
'

# what comes with the C library and the compiler, open to all
libc='
assert ctype dirent errno fcntl fenv float fnmatch ftw getopt glob grp inttypes
libgen limits locale malloc math poll pthread pwd regex sched semaphore setjmp
signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib
stdnoreturn string strings termios threads time unistd wchar wctype sys/* linux/* netinet/* arpa/* netdb
cpuid emmintrin immintrin x86intrin arm_neon
'

# never called in src/; stdout and stderr are not even named there
calls='
printf vprintf puts putchar perror psignal err errx warn warnx
exit _exit _Exit quick_exit abort
'
words='stdout stderr'

# Descriptors that another program would inherit: never made, and never without the
# flag (or the "e" of a mode) by which they end with this one.
bare='dup pipe accept mkstemp tmpfile creat popen epoll_create inotify_init'
flagged='
open openat fopen socket socketpair accept4 pipe2 dup3 mkostemp memfd_create eventfd signalfd
timerfd_create epoll_create1 inotify_init1
'

# what reads a number as the program's locale would, and the only file that may
local='strtod strtof strtold atof'
local_file=base/number.c

max_lines=1000
max_header_lines=600
nameless='util utils common helper helpers misc'

# ---- The check: prints `file:line: RULE: sentence` for each violation -----------

check() (
    cd "$1"
    export rooms tenants foreign libc calls words bare flagged local local_file nameless max_lines max_header_lines
    find src cli include -type f ! -name meson.build | LC_ALL=C sort | xargs awk "$law"
)

law='
BEGIN {
    n = split(ENVIRON["rooms"], line, "\n")
    for (i = 1; i <= n; i++) {
        m = split(line[i], f, " ")
        if (m < 2)
            continue
        level[f[2]] = f[1]
        for (k = 3; k <= m; k++) {
            opens[f[2], f[k]] = 1
            if (!(f[k] in level) || level[f[k]] + 0 >= f[1] + 0)
                print "tests/law.sh:1: DOOR: the table lets " f[2] " open " f[k] ", no lower room"
        }
    }
    n = split(ENVIRON["tenants"], line, "\n")
    for (i = 1; i <= n; i++) {
        m = split(line[i], f, " ")
        for (k = 2; k <= m; k++)
            visits[f[1], f[k]] = 1
    }
    n = split(ENVIRON["foreign"], line, "\n")
    for (i = 1; i <= n; i++) {
        m = split(line[i], f, " ")
        for (k = 2; k <= m; k++) {
            fenced[f[1]] = fenced[f[1]] " " f[k]
            fence[f[1], f[k]] = 1
        }
    }
    n = split(ENVIRON["libc"], f, " ")
    for (i = 1; i <= n; i++)
        open_to_all[f[i]] = 1
    ncalls = split(ENVIRON["calls"], call, " ")
    nwords = split(ENVIRON["words"], word, " ")
    nlocal = split(ENVIRON["local"], local_call, " ")
    nbare = split(ENVIRON["bare"], bare_call, " ")
    nflagged = split(ENVIRON["flagged"], flagged_call, " ")
    n = split(ENVIRON["nameless"], f, " ")
    for (i = 1; i <= n; i++)
        banned[f[i]] = 1
}

function report(rule, sentence) { print file ":" FNR ": " rule ": " sentence }

# One file ended: its length.
function finish(  limit) {
    limit = ENVIRON[where == "include" ? "max_header_lines" : "max_lines"] + 0
    if (file != "" && lines > limit)
        print file ":" lines ": LENGTH: found " lines " lines, want " limit " at most"
}

function start(  part, n, base) {
    file = FILENAME
    in_comment = 0
    statement = ""
    n = split(file, part, "/")
    base = part[n]
    sub(/\.[a-z]+$/, "", base)
    where = part[1]
    room = where == "src" ? part[2] : where
    inside = file
    sub(/^src\//, "", inside)
    tenant = where == "src" && n > 3 ? part[3] : ""
    if (n > 4 && where == "src")
        report("DOOR", "found a folder in a folder of a room, want src/ROOM/TENANT/ at most")
    if (base in banned)
        report("NAME", "found a file named " part[n] ", want a name that says what it does")
    if (where == "src" && (n < 3 || !(room in level) || room == "cli")) {
        report("DOOR", "found no room of the house, want src/ROOM/")
        room = ""
    }
}

# Blanks comments; with `strings`, what is between quotes too.
function code(text, strings,  out, i, c, two, quote) {
    out = ""
    quote = ""
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        two = substr(text, i, 2)
        if (commented) {
            if (two == "*/") { commented = 0; i++ }
            continue
        }
        if (quote != "") {
            if (c == "\\") { if (!strings) out = out two; i++; continue }
            if (c == quote) { quote = ""; out = out c; continue }
            if (!strings) out = out c
            continue
        }
        if (two == "/*") { commented = 1; i++; out = out " "; continue }
        if (two == "//") break
        if (c == "\"" || c == "\047") quote = c
        out = out c
    }
    return out
}

function under(header, table,  name) {
    for (name in table)
        if (name ~ /\/$/ && index(header, name) == 1) return name
    return ""
}

function from_libc(header,  name, folder) {
    name = header
    sub(/\.h$/, "", name)
    folder = name
    sub(/\/.*/, "/*", folder)
    return (name in open_to_all) || (folder in open_to_all)
}

function check_angle(header,  key) {
    if (from_libc(header) || header == "shoal.h" || (header ~ /^shoal\// && where == "include"))
        return
    key = (header in fenced) ? header : under(header, fenced)
    if (key == "")
        report("FOREIGN", "found <" header ">, want libc, shoal.h or what tests/law.sh lists")
    else if (!((key, inside) in fence))
        report("FOREIGN", "found <" header ">, want it only in" fenced[key])
}

function check_quoted(header,  part, n) {
    n = split(header, part, "/")
    if (header ~ /\.\./)
        report("DOOR", "found \"" header "\", want a path without ..")
    else if (header == "shoal.h" && where != "include")
        return
    else if (where == "include")
        report("DOOR", "found \"" header "\", want libc only in the public header")
    else if (where == "cli") {
        if ((n > 1 && part[1] != "cli") || header in fenced)
            report("CLI", "found \"" header "\", want shoal.h and files of cli/ only")
    } else if (part[1] == room || (n == 1 && !(header in fenced))) {
        if (n > 2 && tenant != "" && part[2] != tenant && !((room "/" tenant, part[2]) in visits))
            report("DOOR", "found \"" header "\", want no header of " part[2] " in " tenant)
    }
    else if (!(part[1] in level))
        check_angle(header)
    else if (!((room, part[1]) in opens))
        report("DOOR", "found \"" header "\", want no door of " part[1] " in " room)
    else if (header != part[1] "/" part[1] ".h")
        report("DOOR", "found \"" header "\", want the door " part[1] "/" part[1] ".h")
}

function check_include(text,  mark, header) {
    sub(/^[ \t]*#[ \t]*(include_next|include)[ \t]*/, "", text)
    mark = substr(text, 1, 1)
    header = substr(text, 2)
    sub(/[>"].*/, "", header)
    if (mark == "<")
        check_angle(header)
    else if (mark == "\"")
        check_quoted(header)
    else
        report("DOOR", "found #include " text ", want a name in <> or quotes")
}

# Whole identifiers only: snprintf is not printf.
function check_words(text,  i) {
    text = " " text " "
    for (i = 1; i <= ncalls; i++)
        if (text ~ ("[^A-Za-z0-9_.>]" call[i] "[ \t]*\\("))
            report("PRINTS", "found " call[i] "(), want a status: the library never prints")
    for (i = 1; i <= nwords; i++)
        if (text ~ ("[^A-Za-z0-9_]" word[i] "[^A-Za-z0-9_]"))
            report("PRINTS", "found " word[i] ", want a status: the library never prints")
}

function check_local(text,  i) {
    for (i = 1; i <= nlocal && inside != ENVIRON["local_file"]; i++)
        if ((" " text) ~ ("[^A-Za-z0-9_.>]" local_call[i] "[ \t]*\\("))
            report("LOCALE", "found " local_call[i] "(), want number_read: a comma may be a point")
}

# The flag may stand some lines below the call.
function check_inherited(text,  i) {
    text = " " text
    for (i = 1; i <= nbare; i++)
        if (text ~ ("[^A-Za-z0-9_.>]" bare_call[i] "[ \t]*\\("))
            report("INHERITS", "found " bare_call[i] "(), want a call that takes CLOEXEC")
    if (statement == "")
        for (i = 1; i <= nflagged; i++)
            if (text ~ ("[^A-Za-z0-9_.>]" flagged_call[i] "[ \t]*\\(")) {
                asked = flagged_call[i]
                statement = " "
            }
    if (statement == "")
        return
    statement = statement text
    if (text !~ /[;{]/)
        return
    if (statement !~ /CLOEXEC/ && statement !~ /"[rwa][b+]*e[b+]*"/)
        report("INHERITS", "found " asked "() without CLOEXEC, want it to end with the program")
    statement = ""
}

FNR == 1 { finish(); start() }
{
    lines = FNR
    commented = in_comment
    bare = code($0, 0)
    if (bare ~ /^[ \t]*#[ \t]*include/)
        check_include(bare)
    else if (where != "include")
        check_inherited(bare)
    commented = in_comment
    bare = code($0, 1)
    in_comment = commented
    if (where == "src") {
        check_words(bare)
        check_local(bare)
    }
}
END { finish() }
'

# ---- TAP --------------------------------------------------------------------------

cases=0
broken=0

# verdict STATUS NAME [DETAIL]: one TAP line, the detail as comments.
verdict() {
    cases=$((cases + 1))
    if [ "$1" = 0 ]; then
        echo "ok $cases - $2"
    else
        broken=1
        echo "not ok $cases - $2"
        [ -z "${3:-}" ] || echo "$3" | sed 's/^/# /'
    fi
}

# holds RULE NAME: no violation of that rule in the tree.
holds() {
    found=$(echo "$violations" | grep ": $1: " || true)
    status=0
    [ -z "$found" ] || status=1
    verdict $status "$2" "$found"
}

# planted RULE NAME FILE [LINE...]: writes FILE into the copy; judge then wants
# a report of FILE under RULE, or none of FILE at all when RULE is `none`.
planted() {
    plants=$((plants + 1))
    file=$(echo "$3" | sed "s/planted/planted$plants/")
    echo "$1 $file $2" >>"$copy/plants"
    mkdir -p "$(dirname "$copy/$file")"
    shift 3
    printf '%s\n' "$@" >"$copy/$file"
}

judge() {
    violations=$(check "$copy")
    while read -r rule file name; do
        found=$(echo "$violations" | grep -F "$file:" || true)
        case $rule,$found in
        none, | [A-Z]*"$file":*": $rule: "*) status=0 ;;
        *) status=1 ;;
        esac
        verdict $status "$name" "${found:-nothing was reported}"
    done <"$copy/plants"
}

root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
violations=$(check "$root")

holds DOOR 'a room opens only doors of lower rooms'
holds FOREIGN 'a foreign library stays in its named file'
holds CLI 'the program knows shoal.h only'
holds PRINTS 'the library never prints or exits'
holds INHERITS 'descriptors end with the program'
holds LOCALE 'numbers are read as they are written, in any locale'
holds LENGTH 'no file is too long'
holds NAME 'every file says what it does'

# A test that nobody lists is a test that nobody runs.
unlisted=$(
    cd "$root/tests"
    # listed FILE LIST: as 'NAME', 'test_NAME' or with its folder.
    listed() {
        name=$(basename "$1" .c)
        grep -qsE "'($name|${name#*_}|$1)'" "$2" || echo "tests/$1 is not in tests/$2"
    }
    for file in unit/test_*.c; do listed "$file" meson.build; done
    for file in fuzz/fuzz_*.c; do listed "$file" fuzz/meson.build; done
)
status=0
[ -z "$unlisted" ] || status=1
verdict $status 'every test is listed' "$unlisted"

# A reader that no fuzz target knows of is read by strangers first.
unread=$(
    cd "$root"
    grep -lE '(^|[^a-z_>.])(stream_slurp|stream_open|container_open|container_open_memory|json_loadb|fopen|opendir|fdopendir|fgets|getline|read)\(' \
        -r src cli --include='*.c' | LC_ALL=C sort | while read -r file; do
        grep -qsF "\`$file\`" tests/fuzz/README.md ||
            echo "$file reads, and is not in tests/fuzz/README.md"
    done
)
status=0
[ -z "$unread" ] || status=1
verdict $status 'every reader has a fuzz target' "$unread"

plants=0
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$root/src" "$root/cli" "$root/include" "$copy"

planted INHERITS 'the law sees an open without CLOEXEC' src/file/planted.c \
    'int f(void) { return open("x",' '    O_RDONLY); }'
planted INHERITS 'the law sees a stream that is inherited' cli/planted.c 'FILE *f = fopen(x, "r");'
planted INHERITS 'the law sees a socket that is inherited' src/serve/planted.c \
    'int s = socket(AF_INET, SOCK_STREAM, 0);'
planted LOCALE 'the law sees strtod' src/text/planted.c 'double x = strtod(text, &end);'
planted INHERITS 'the law sees dup' src/serve/planted.c 'int d = dup(s);'
planted none 'the law lets CLOEXEC stand a line below' src/file/planted.c \
    'int a = open("x",' '    O_RDONLY | O_CLOEXEC);' 'FILE *f = fopen("x", "rbe");' \
    'int d = x->open(y), e = my_dup(d); /* dup(d) */'
planted DOOR 'the law sees a higher room opened' src/base/planted.c '#include "text/text.h"'
planted DOOR 'the law sees a room of the same level opened' src/file/planted.c \
    '#include "kernel/kernel.h"'
planted DOOR 'the law sees a lower room that the table keeps shut' src/model/planted.c \
    '#include "file/file.h"'
planted DOOR 'the law sees a window used for a door' src/text/planted.c '#include "file/stream.h"'
planted DOOR "the law sees a tenant's header used for a door" src/train/planted.c \
    '#include "saved/net/net.h"'
planted DOOR 'the law sees a tenant looking into another' src/saved/net/planted.c \
    '#include "saved/vectors/vectors.h"'
planted DOOR 'the law sees an engine looking into a task' src/train/rows/planted.c \
    '#include "train/tasks/nextword.h"'
planted none 'the law lets a task know its engine' src/train/tasks/planted.c \
    '#include "train/rows/rows.h"' '#include "train/dense/net.h"'
planted DOOR 'the law sees a tenant opening a higher room' src/saved/net/planted.c \
    '#include "serve/serve.h"'
planted DOOR 'the law sees a folder within a tenant' src/saved/net/deep/planted.c 'int x;'
planted none 'the law lets a tenant know its room and itself' src/saved/net/planted.c \
    '#include "eval/eval.h"' '#include "saved/saved.h"' '#include "saved/net/net.h"'
planted none 'the law lets a room know its tenants' src/saved/planted.c \
    '#include "saved/net/net.h"' '#include "saved/vectors/vectors.h"'
planted DOOR 'the law sees a path that climbs' src/text/planted.c '#include "../file/file.h"'
planted DOOR 'the law sees a spaced and commented include' src/base/planted.c \
    '/* why */ #  include /* not */ "file/file.h"'
planted DOOR 'the law sees a name hidden in a macro' src/base/planted.c '#include HEADER'
planted DOOR 'the law sees a folder that is no room' src/attic/planted.c 'int x;'
planted DOOR 'the law sees a file outside the rooms' src/planted.c 'int x;'
planted FOREIGN 'the law sees a foreign library out of its file' src/text/planted.c \
    '#include <zstd.h>'
planted FOREIGN 'the law sees a foreign library in quotes' src/file/planted.c '#include "zlib.h"'
planted FOREIGN 'the law sees a foreign folder out of its file' src/kernel/planted.c \
    '#include <oneapi/dnnl/dnnl.h>'
planted FOREIGN 'the law sees a library it never heard of' src/base/planted.c \
    '#include <curl/curl.h>'
planted FOREIGN 'the law sees a foreign library in the program' cli/planted.c '#include <zlib.h>'
planted CLI 'the law sees the program looking into a room' cli/planted.c '#include "base/base.h"'
planted PRINTS 'the law sees printf' src/text/planted.c 'int f(void)' '{' '    printf ("x");' '}'
planted PRINTS 'the law sees a write to stderr' src/text/planted.c 'x = fputs("y", stderr);'
planted PRINTS 'the law sees exit after a string' src/base/planted.c 'f("/*"); exit(1); /* */'
planted PRINTS 'the law sees abort' src/base/planted.c 'if (x) abort();'
planted LENGTH 'the law sees a part of shoal.h of 601 lines' include/shoal/planted.h $(seq 601)
planted FOREIGN 'the law sees a part of shoal.h opened by itself' src/text/planted.c \
    '#include "shoal/train.h"'
planted LENGTH 'the law sees a file of 1,001 lines' src/base/planted.c $(seq 1001)
planted NAME 'the law sees a file named util' src/base/util.c 'int x;'
planted NAME 'the law sees a header named common' cli/common.h 'int x;'
planted none 'the law lets pass what is right' src/text/planted.c \
    '#include "base/base.h"' '#include "text/vocab.h"' '#include "file/file.h"' \
    '#include <stdio.h>' '#include <sys/mman.h>' \
    '/* printf("x") and' '   exit(1) */' '// abort()' \
    'snprintf(b, n, "exit(1) to \"stderr\"%c", 0x22); my_exit(1); fprintf(f, "x");'
planted none 'the law lets a library into its own file' src/kernel/gemm.c \
    '#include <oneapi/dnnl/dnnl.h>'
judge

echo "1..$cases"
exit $broken
