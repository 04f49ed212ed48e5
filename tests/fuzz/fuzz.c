#include "fuzz.h"

#include <assert.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- memory against input ------------------------------------------------------------- */

enum { MAPPINGS = 4096, LINE = 64, SECTIONS = 32, FILES = 8, COPIES = 64 };

/* Signed: what was taken before the first input may be given back during it. */
static _Atomic int64_t held, most = INT64_MAX;

/* Of the sanitizers, where they are linked in. */
__attribute__((weak)) int
__sanitizer_install_malloc_and_free_hooks(void (*taken)(const volatile void *, size_t),
                                          void (*given)(const volatile void *));
__attribute__((weak)) size_t __sanitizer_get_allocated_size(const volatile void *at);

static void take(size_t bytes)
{
    static const char sentence[] = "fuzz: more memory than the input accounts for\n";
    int64_t now = atomic_fetch_add(&held, (int64_t)bytes) + (int64_t)bytes;

    if (now <= atomic_load(&most))
        return;
    atomic_store(&most, INT64_MAX); /* whoever reports this needs some */
    if (write(STDERR_FILENO, sentence, sizeof sentence - 1) > 0)
        abort();
    abort();
}

static void on_malloc(const volatile void *at, size_t bytes)
{
    if (at)
        take(bytes);
}

static void on_free(const volatile void *at)
{
    if (at)
        atomic_fetch_sub(&held, (int64_t)__sanitizer_get_allocated_size(at));
}

/* The linker lets the library call these (--wrap); file-backed mappings take no memory. */
void *__real_mmap64(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes);

static struct {
    void *at;
    size_t bytes;
} mappings[MAPPINGS];
static pthread_mutex_t mappings_lock = PTHREAD_MUTEX_INITIALIZER;

/* Finds the place of `at`, NULL being a free one, and makes it that of `to`. */
static size_t mapping_swap(const void *at, void *to, size_t bytes)
{
    size_t before = 0;

    pthread_mutex_lock(&mappings_lock);
    for (size_t i = 0; i < MAPPINGS; i++)
        if (mappings[i].at == at) {
            before = mappings[i].bytes;
            mappings[i].at = to;
            mappings[i].bytes = bytes;
            break;
        }
    pthread_mutex_unlock(&mappings_lock);
    return before;
}

void *__wrap_mmap64(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    void *mapped;

    if (!(flags & MAP_ANONYMOUS))
        return __real_mmap64(at, bytes, prot, flags, fd, offset);
    take(bytes);
    mapped = __real_mmap64(at, bytes, prot, flags, fd, offset);
    if (mapped == MAP_FAILED)
        atomic_fetch_sub(&held, (int64_t)bytes);
    else
        mapping_swap(NULL, mapped, bytes);
    return mapped;
}

int __wrap_munmap(void *at, size_t bytes)
{
    atomic_fetch_sub(&held, (int64_t)mapping_swap(at, NULL, 0));
    return __real_munmap(at, bytes);
}

/* ---- an input ----------------------------------------------------------------------------- */

static void *copies[COPIES];
static size_t ncopies;
static struct {
    int fd;
    char path[32];
} files[FILES];
static size_t nfiles;

void fuzz_begin(size_t size, size_t base, size_t times)
{
    static bool hooked;

    if (!hooked && __sanitizer_install_malloc_and_free_hooks)
        __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    hooked = true;
    atomic_store(&most, atomic_load(&held) + (int64_t)(base + times * size));
}

void fuzz_end(void)
{
    atomic_store(&most, INT64_MAX);
    if (getenv("FUZZ_SAY"))
        fprintf(stderr, "the last failure: %s\n", shoal_error());
    while (ncopies > 0)
        free(copies[--ncopies]);
    while (nfiles > 0)
        close(files[--nfiles].fd);
}

static char *keep(void *at)
{
    assert(at && ncopies < COPIES);
    copies[ncopies++] = at;
    return at;
}

char *fuzz_copy(const void *data, size_t size)
{
    void *copy = NULL;

    /* Not rounded up: the sanitizer guards the byte behind the last. */
    require(posix_memalign(&copy, LINE, size ? size : 1) == 0);
    if (size > 0)
        memcpy(copy, data, size);
    return keep(copy);
}

char *fuzz_text(const void *data, size_t size)
{
    char *copy = malloc(size + 1);

    require(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    return keep(copy);
}

/* ---- pieces ------------------------------------------------------------------------------- */

struct fuzz_cut fuzz_cut(const char *mark, const uint8_t *data, size_t size)
{
    return (struct fuzz_cut){mark, data, size, size > 0};
}

static bool is_mark(const struct fuzz_cut *c, size_t at)
{
    return at + 2 <= c->size && memcmp(c->at + at, c->mark, 2) == 0;
}

/* The newline before the next mark, or the end. */
static size_t piece_end(const struct fuzz_cut *c)
{
    for (size_t i = 0; i < c->size; i++)
        if (c->at[i] == '\n' && is_mark(c, i + 1))
            return i;
    return c->size;
}

/* The line of a mark; gives its length, without the newline. */
static size_t read_mark(const struct fuzz_cut *c, struct fuzz_piece *p)
{
    const uint8_t *end = memchr(c->at, '\n', c->size);
    size_t line = end ? (size_t)(end - c->at) : c->size, len = line - 2;
    char *equals;

    len = len < FUZZ_NAME - 1 ? len : FUZZ_NAME - 1;
    memcpy(p->name, c->at + 2, len);
    equals = strchr(p->name, '=');
    if (equals) {
        p->padded = strtoul(equals + 1, NULL, 10);
        *equals = '\0';
    }
    return line;
}

static void cut_skip(struct fuzz_cut *c, size_t n)
{
    c->at += n;
    c->size -= n;
}

bool fuzz_next(struct fuzz_cut *c, struct fuzz_piece *p)
{
    size_t line = 0, end;

    *p = (struct fuzz_piece){.at = c->at};
    if (!c->more)
        return false;
    if (is_mark(c, 0))
        cut_skip(c, line = read_mark(c, p));
    end = piece_end(c);
    /* The newline behind a mark is the next one's too when nothing is between. */
    p->size = end - (line > 0 && end > 0);
    p->at = c->at + (end - p->size);
    p->padded = p->padded > FUZZ_PADDED ? FUZZ_PADDED : p->padded;
    p->padded = p->padded < p->size ? p->size : p->padded;
    c->more = end < c->size;
    cut_skip(c, end + c->more);
    return true;
}

char *fuzz_whole(const struct fuzz_piece *p)
{
    char *all = calloc(p->padded ? p->padded : 1, 1);

    require(all != NULL);
    if (p->size > 0)
        memcpy(all, p->at, p->size);
    return keep(all);
}

/* ---- a container, as docs/formats.md has it -------------------------------------------------- */

static size_t up(size_t n)
{
    return (n + LINE - 1) / LINE * LINE;
}

static void put_u64(char *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

static uint64_t get_u64(const char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

/* The sum of its slices' sums. */
static uint64_t section_sum(const char *at, size_t size)
{
    uint64_t sums[FUZZ_PADDED / (1 << 20) + 1], n = 0;

    for (size_t i = 0; i < size; i += MIB)
        sums[n++] = XXH3_64bits(at + i, size - i < MIB ? size - i : MIB);
    return XXH3_64bits(sums, n * sizeof *sums);
}

void fuzz_seal(char *file)
{
    size_t toc = get_u64(file + 24), n = get_u64(file + 32);

    for (size_t i = 0; i < n; i++) {
        char *entry = file + toc + i * LINE;

        put_u64(entry + 40, section_sum(file + get_u64(entry + 24), get_u64(entry + 32)));
    }
    put_u64(file + 40, XXH3_64bits(file + toc, n * LINE));
    put_u64(file + 56, XXH3_64bits(file, 56));
}

static void put_sections(char *file, size_t toc, const struct fuzz_piece *parts, size_t n)
{
    size_t offset = LINE;

    for (size_t i = 0; i < n; i++) {
        char *entry = file + toc + i * LINE;

        memcpy(entry, parts[i].name, strnlen(parts[i].name, 23));
        put_u64(entry + 24, offset);
        put_u64(entry + 32, parts[i].padded);
        if (parts[i].size > 0)
            memcpy(file + offset, parts[i].at, parts[i].size);
        offset += up(parts[i].padded);
    }
}

char *fuzz_container(const uint8_t *data, size_t size, size_t *len)
{
    struct fuzz_cut cut = fuzz_cut("%%", data, size);
    struct fuzz_piece parts[SECTIONS];
    size_t n = 0, toc = LINE, room = FUZZ_PADDED; /* for padding, of all sections */
    void *file = NULL;

    for (; n < SECTIONS && fuzz_next(&cut, &parts[n]); n++) {
        size_t zeros = parts[n].padded - parts[n].size;

        parts[n].padded -= zeros > room ? zeros : 0;
        room -= zeros > room ? 0 : zeros;
        toc += up(parts[n].padded);
    }
    *len = toc + n * LINE;
    require(posix_memalign(&file, LINE, *len) == 0);
    memset(file, 0, *len);
    memcpy(file, "\x89SHL\r\n\x1a\n\x01", 9);
    put_u64((char *)file + 16, *len);
    put_u64((char *)file + 24, toc);
    put_u64((char *)file + 32, n);
    put_sections(file, toc, parts, n);
    fuzz_seal(file);
    return keep(file);
}

/* ---- files ------------------------------------------------------------------------------------
 */

const char *fuzz_file(const void *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    require(fd >= 0 && nfiles < FILES && write(fd, data, size) == (ssize_t)size);
    files[nfiles].fd = fd;
    snprintf(files[nfiles].path, sizeof files[nfiles].path, "/proc/self/fd/%d", fd);
    return files[nfiles++].path;
}

static char folder[96];

static int drop(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind;
    return walk->level > 0 ? remove(path) : 0;
}

static void folder_clear(void)
{
    nftw(folder, drop, 8, FTW_DEPTH | FTW_PHYS);
}

static void folder_end(void)
{
    folder_clear();
    rmdir(folder);
}

const char *fuzz_folder(void)
{
    const char *under = getenv("TMPDIR");

    if (folder[0]) {
        folder_clear();
        return folder;
    }
    snprintf(folder, sizeof folder, "%s/shoal-fuzz-XXXXXX", under ? under : "/tmp");
    require(mkdtemp(folder) != NULL);
    atexit(folder_end);
    return folder;
}

const char *fuzz_put(const char *name, const void *data, size_t size)
{
    static char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "wb");
    if (!f)
        return NULL;
    require(fwrite(data, 1, size, f) == size && fclose(f) == 0);
    return path;
}
