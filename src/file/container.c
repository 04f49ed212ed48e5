/* The container of all our files; the only file that knows xxhash. docs/formats.md is the
 * specification: where the two differ, one of them is wrong.
 *
 * Reading, nothing is believed before it was checked, in this order: magic, version, the header's
 * checksum, the file's size, the table's checksum, its entries. Sections are packed in the order of
 * the table, each at the next multiple of 64, so that every offset is known before it is read: an
 * entry can only confirm it, and nothing that a file says leads outside of it. What lies between
 * sections must be zero. Then no byte of a verified file is unchecked.
 *
 * A section's checksum has two levels: XXH3 of each MiB (SLICE), and XXH3 of those sums. A writer
 * needs only the state of the current slice, and readers may check slices of one long section by
 * many threads (container_verify).
 *
 * Writing, sections go out as they come and the header is patched in last, into a file that is
 * renamed when whole (output.c): a file that exists is complete. */
#include "file/file.h"

#include "base/base.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define VERSION 1u
#define ALIGN 64u
#define SECTIONS_MAX 1024u
#define NAME_CAP 24u
/* Of the section "meta", which is read before anything else of a file: the longest that we write
 * names columns or classes, a few MiB. */
#define META_MAX ((uint64_t)64 << 20)
/* A section's sum is made from the sums of its slices, so that many threads
 * can check one long section. */
#define SLICE ((size_t)1 << 20)

static const unsigned char MAGIC[8] = {0x89, 'S', 'H', 'L', '\r', '\n', 0x1a, '\n'};

struct header {
    unsigned char magic[8];
    uint32_t version, flags;
    uint64_t size;    /* of the file */
    uint64_t toc;     /* offset of the table */
    uint64_t count;   /* entries in it */
    uint64_t toc_sum; /* XXH3 of the table */
    uint64_t zero;
    uint64_t sum; /* XXH3 of the 56 bytes before */
};

struct entry {
    char name[NAME_CAP]; /* NUL-padded */
    uint64_t offset, size, sum;
    uint64_t zero[2];
};

_Static_assert(sizeof(struct header) == 64 && sizeof(struct entry) == 64, "as on disk");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "sections are used as they are mapped");

/* The next multiple of ALIGN; offsets stay far below 2^64. */
static uint64_t align_up(uint64_t at)
{
    return (at + (ALIGN - 1)) & ~(uint64_t)(ALIGN - 1);
}

static bool name_is_good(const char *name)
{
    size_t len = strnlen(name, NAME_CAP);

    return len > 0 && len < NAME_CAP &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._") == len;
}

/* ---- Writing ------------------------------------------------------------------ */

struct container_writer {
    struct output *out;
    XXH3_state_t *slice; /* bytes of the current slice */
    XXH3_state_t *whole; /* sums of the slices before it */
    size_t fill;         /* bytes in the current slice */
    struct entry *entries;
    size_t count, cap; /* the last entry is the one being written */
    shoal_status st;   /* the first failure */
};

static void sum_reset(struct container_writer *w)
{
    XXH3_64bits_reset(w->slice);
    XXH3_64bits_reset(w->whole);
    w->fill = 0;
}

static void sum_end_slice(struct container_writer *w)
{
    uint64_t sum = XXH3_64bits_digest(w->slice);

    XXH3_64bits_update(w->whole, &sum, sizeof sum);
    XXH3_64bits_reset(w->slice);
    w->fill = 0;
}

static void sum_add(struct container_writer *w, const unsigned char *data, size_t len)
{
    while (len > 0) {
        size_t n = len < SLICE - w->fill ? len : SLICE - w->fill;

        XXH3_64bits_update(w->slice, data, n);
        w->fill += n;
        data += n;
        len -= n;
        if (w->fill == SLICE)
            sum_end_slice(w);
    }
}

static uint64_t sum_end(struct container_writer *w)
{
    if (w->fill > 0)
        sum_end_slice(w);
    return XXH3_64bits_digest(w->whole);
}

static shoal_status writer_init(struct container_writer *w, const char *path)
{
    const struct header blank = {0};
    shoal_status st;

    w->slice = XXH3_createState();
    w->whole = XXH3_createState();
    if (!w->slice || !w->whole)
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory to write it", path);
    st = output_open(&w->out, path);
    if (st == SHOAL_OK)
        st = output_write(w->out, &blank, sizeof blank);
    /* The header is known last. What cannot be rewritten is refused now, not
     * after hours. */
    if (st == SHOAL_OK)
        st = output_patch(w->out, 0, &blank, sizeof blank);
    return st;
}

shoal_status container_create(struct container_writer **out, const char *path)
{
    struct container_writer *w;
    shoal_status st;

    *out = NULL;
    w = mem_array(1, sizeof *w);
    if (!w)
        return SHOAL_ENOMEM;
    st = writer_init(w, path);
    if (st == SHOAL_OK)
        *out = w;
    else
        container_abandon(w);
    return st;
}

/* Ends the section being written, if any, and fills its last 64 bytes. */
static shoal_status writer_end_section(struct container_writer *w)
{
    static const char zeros[ALIGN];
    uint64_t at = output_size(w->out);
    struct entry *e;

    if (w->count == 0)
        return SHOAL_OK;
    e = &w->entries[w->count - 1];
    e->size = at - e->offset;
    e->sum = sum_end(w);
    return output_write(w->out, zeros, (size_t)(align_up(at) - at));
}

static shoal_status writer_check_name(const struct container_writer *w, const char *name)
{
    if (!name_is_good(name))
        return shoal_fail(SHOAL_EINVAL, "section \"%s\": want 1 to %u of a-z 0-9 . _", name,
                          NAME_CAP - 1);
    if (w->count == SECTIONS_MAX)
        return shoal_fail(SHOAL_ELIMIT, "section \"%s\": want at most %u sections", name,
                          SECTIONS_MAX);
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->entries[i].name, name) == 0)
            return shoal_fail(SHOAL_EINVAL, "section \"%s\": begun twice, want once", name);
    return SHOAL_OK;
}

shoal_status container_begin(struct container_writer *w, const char *name)
{
    void *entries = w->entries;
    struct entry *e;

    if (w->st == SHOAL_OK)
        w->st = writer_check_name(w, name);
    if (w->st == SHOAL_OK)
        w->st = writer_end_section(w);
    if (w->st == SHOAL_OK)
        w->st = mem_grow(&entries, &w->cap, w->count + 1, sizeof *w->entries);
    w->entries = entries;
    if (w->st != SHOAL_OK)
        return w->st;
    e = &w->entries[w->count++];
    *e = (struct entry){.offset = output_size(w->out)};
    memcpy(e->name, name, strlen(name));
    sum_reset(w);
    return SHOAL_OK;
}

/* What no reader would take is not written. */
static shoal_status writer_check_meta(const struct container_writer *w, size_t more)
{
    const struct entry *e;

    assert(w->count > 0);
    e = &w->entries[w->count - 1];
    if (strcmp(e->name, "meta") == 0 && more > META_MAX - (output_size(w->out) - e->offset))
        return shoal_fail(SHOAL_ELIMIT, "section \"meta\": want at most %" PRIu64 " bytes",
                          META_MAX);
    return SHOAL_OK;
}

shoal_status container_write(struct container_writer *w, const void *data, size_t len)
{
    if (w->st == SHOAL_OK)
        w->st = writer_check_meta(w, len);
    if (w->st != SHOAL_OK)
        return w->st;
    sum_add(w, data, len);
    return w->st = output_write(w->out, data, len);
}

shoal_status container_put(struct container_writer *w, const char *name, const void *data,
                           size_t len)
{
    container_begin(w, name);
    return container_write(w, data, len);
}

static shoal_status writer_finish(struct container_writer *w)
{
    struct header h = {.version = VERSION, .count = w->count};
    size_t toc_size = w->count * sizeof *w->entries;
    shoal_status st = writer_end_section(w);

    if (st != SHOAL_OK)
        return st;
    h.toc = output_size(w->out);
    st = output_write(w->out, w->entries, toc_size);
    if (st != SHOAL_OK)
        return st;
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    h.size = output_size(w->out);
    h.toc_sum = XXH3_64bits(w->entries, toc_size);
    h.sum = XXH3_64bits(&h, offsetof(struct header, sum));
    return output_patch(w->out, 0, &h, sizeof h);
}

shoal_status container_commit(struct container_writer *w)
{
    shoal_status st = w->st == SHOAL_OK ? writer_finish(w) : w->st;

    if (st == SHOAL_OK) {
        st = output_commit(w->out);
        w->out = NULL;
    }
    container_abandon(w);
    return st;
}

void container_abandon(struct container_writer *w)
{
    if (!w)
        return;
    output_abandon(w->out);
    XXH3_freeState(w->slice);
    XXH3_freeState(w->whole);
    free(w->entries);
    free(w);
}

shoal_status container_end(struct container_writer *w, shoal_status st)
{
    if (st == SHOAL_OK)
        return container_commit(w);
    container_abandon(w);
    return st;
}

/* ---- Opening ------------------------------------------------------------------- */

struct container {
    char *path;
    const unsigned char *at; /* [size]; NULL: only the table and `meta` were read */
    size_t size;
    void *ours;            /* at, when it is ours to unmap */
    bool checked;          /* every byte was, and nobody else can change them */
    char *meta;            /* that section, when `at` is NULL */
    struct entry *entries; /* [count], copied: later changes on disk cannot move them */
    size_t count;
};

/* Where a container's bytes are: in memory, or still in the file. */
struct origin {
    const unsigned char *at; /* or NULL */
    int fd;
};

static shoal_status fetch(const struct container *c, const struct origin *from, uint64_t offset,
                          void *to, size_t len)
{
    size_t got = len;

    if (from->at && len > 0)
        memcpy(to, from->at + offset, len);
    else if (len > 0)
        got = file_read_at(from->fd, to, len, offset);
    if (got == len)
        return SHOAL_OK;
    if (errno)
        return shoal_fail_errno(SHOAL_EIO, "%s", c->path);
    return shoal_fail(SHOAL_EFORMAT, "%s: ends after %" PRIu64 " bytes, want %zu", c->path,
                      offset + got, c->size);
}

static shoal_status check_magic(const struct container *c, const struct origin *from,
                                struct header *h)
{
    size_t n = c->size < sizeof MAGIC ? c->size : sizeof MAGIC;
    shoal_status st = fetch(c, from, 0, h, c->size < sizeof *h ? c->size : sizeof *h);

    if (st != SHOAL_OK)
        return st;
    if (n == 0 || memcmp(h->magic, MAGIC, n) != 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: not a shoal file", c->path);
    if (c->size < sizeof *h)
        return shoal_fail(SHOAL_EFORMAT, "%s: ends after %zu bytes, want %zu or more", c->path,
                          c->size, sizeof *h);
    return SHOAL_OK;
}

static shoal_status check_header(const struct container *c, const struct header *h)
{
    uint64_t sum = XXH3_64bits(h, offsetof(struct header, sum));

    if (h->version != VERSION)
        return shoal_fail(SHOAL_EFORMAT, "%s: is of format version %u, want %u", c->path,
                          h->version, VERSION);
    if (h->sum != sum)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: the header is damaged (checksum 0x%016" PRIx64 ", want 0x%016" PRIx64
                          ")",
                          c->path, sum, h->sum);
    if (h->flags != 0 || h->zero != 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: uses features unknown to this version", c->path);
    if (h->size != c->size)
        return shoal_fail(SHOAL_EFORMAT, "%s: ends after %zu bytes, want %" PRIu64, c->path,
                          c->size, h->size);
    return SHOAL_OK;
}

/* The table ends the file, so its place and length must agree. */
static shoal_status take_toc(struct container *c, const struct origin *from, const struct header *h)
{
    uint64_t sum;
    shoal_status st;

    if (h->count > SECTIONS_MAX)
        return shoal_fail(SHOAL_EFORMAT, "%s: has %" PRIu64 " sections, want at most %u", c->path,
                          h->count, SECTIONS_MAX);
    if (h->toc > h->size || h->size - h->toc != h->count * sizeof(struct entry))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its table of %" PRIu64 " sections is at byte %" PRIu64 " of %" PRIu64
                          ", want it to end the file",
                          c->path, h->count, h->toc, h->size);
    c->count = (size_t)h->count;
    c->entries = mem_array(c->count, sizeof *c->entries);
    st = c->entries ? fetch(c, from, h->toc, c->entries, c->count * sizeof *c->entries)
                    : SHOAL_ENOMEM;
    if (st != SHOAL_OK)
        return st;
    sum = XXH3_64bits(c->entries, c->count * sizeof *c->entries);
    if (sum != h->toc_sum)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: the table of sections is damaged (checksum 0x%016" PRIx64
                          ", want 0x%016" PRIx64 ")",
                          c->path, sum, h->toc_sum);
    return SHOAL_OK;
}

static bool is_zero(const void *data, size_t len)
{
    const unsigned char *at = data;

    while (len > 0 && at[len - 1] == 0)
        len--;
    return len == 0;
}

/* Good name, no second of it before, and nothing hidden behind its end. */
static shoal_status check_name(const struct container *c, size_t i)
{
    const struct entry *e = &c->entries[i];
    size_t len = strnlen(e->name, NAME_CAP);

    if (!name_is_good(e->name) || !is_zero(e->name + len, NAME_CAP - len) ||
        !is_zero(e->zero, sizeof e->zero))
        return shoal_fail(SHOAL_EFORMAT, "%s: entry %zu of its table is malformed", c->path, i);
    for (size_t k = 0; k < i; k++)
        if (strcmp(c->entries[k].name, e->name) == 0)
            return shoal_fail(SHOAL_EFORMAT, "%s: section \"%s\" is there twice, want once",
                              c->path, e->name);
    return SHOAL_OK;
}

static shoal_status check_meta(const struct container *c, const struct entry *e)
{
    if (strcmp(e->name, "meta") == 0 && e->size > META_MAX)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its meta has %" PRIu64 " bytes, want at most %" PRIu64, c->path,
                          e->size, META_MAX);
    return SHOAL_OK;
}

/* Sections fill the file from the header to the table, each at the next
 * multiple of 64: there is one right place for everything. */
static shoal_status check_entries(const struct container *c, uint64_t toc)
{
    uint64_t at = sizeof(struct header);

    for (size_t i = 0; i < c->count; i++) {
        const struct entry *e = &c->entries[i];
        shoal_status st = check_name(c, i);

        if (st == SHOAL_OK)
            st = check_meta(c, e);
        if (st != SHOAL_OK)
            return st;
        if (at > toc || e->offset != at || e->size > toc - at)
            return shoal_fail(SHOAL_EFORMAT,
                              "%s: section \"%s\" takes %" PRIu64 " bytes at byte %" PRIu64
                              ", want them between byte %" PRIu64 " and %" PRIu64,
                              c->path, e->name, e->size, e->offset, at, toc);
        at = align_up(at + e->size);
    }
    if (at != toc)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its table of sections is at byte %" PRIu64 ", want %" PRIu64,
                          c->path, toc, at);
    return SHOAL_OK;
}

static shoal_status container_parse(struct container *c, const struct origin *from)
{
    struct header h = {0};
    shoal_status st = check_magic(c, from, &h);

    if (st == SHOAL_OK)
        st = check_header(c, &h);
    if (st == SHOAL_OK)
        st = take_toc(c, from, &h);
    return st == SHOAL_OK ? check_entries(c, h.toc) : st;
}

static shoal_status fail_open(const char *path)
{
    return shoal_fail_errno(errno == ENOENT ? SHOAL_ENOENT : SHOAL_EIO, "%s", path);
}

/* How much of a file is brought into memory, and how. */
enum manner { READ_ALL, READ_META, MAP_ALL };

static shoal_status take_all(struct container *c, int fd, const struct stat *before)
{
    shoal_status st = file_read_whole(&c->ours, c->path, fd, before);

    c->at = c->ours;
    if (st == SHOAL_OK)
        st = container_verify(c, 0);
    c->checked = st == SHOAL_OK;
    return st;
}

static shoal_status take_meta(struct container *c, const struct origin *from)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct entry *e = &c->entries[i];

        if (strcmp(e->name, "meta") != 0)
            continue;
        c->meta = mem_array((size_t)e->size, 1);
        return c->meta ? fetch(c, from, e->offset, c->meta, (size_t)e->size) : SHOAL_ENOMEM;
    }
    return SHOAL_OK;
}

static shoal_status map_all(struct container *c, int fd)
{
    void *at = c->size ? mmap(NULL, c->size, PROT_READ, MAP_SHARED, fd, 0) : NULL;

    if (at == MAP_FAILED)
        return fail_open(c->path);
    c->at = c->ours = at;
    return SHOAL_OK;
}

/* Header and table first: what is no container, or none of this length, is not read. */
static shoal_status take_fd(struct container *c, int fd, enum manner manner)
{
    struct origin from = {.fd = fd};
    struct stat info;
    shoal_status st;

    if (fstat(fd, &info) != 0)
        return fail_open(c->path);
    if (!S_ISREG(info.st_mode))
        return shoal_fail(SHOAL_EFORMAT, "%s: not a regular file", c->path);
    c->size = (size_t)info.st_size;
    st = container_parse(c, &from);
    if (st != SHOAL_OK)
        return st;
    return manner == READ_ALL    ? take_all(c, fd, &info)
           : manner == READ_META ? take_meta(c, &from)
                                 : map_all(c, fd);
}

static struct container *container_new(const char *path)
{
    struct container *c = mem_array(1, sizeof *c);

    if (c && !(c->path = strdup(path))) {
        shoal_fail(SHOAL_ENOMEM, "%s: no memory to open it", path);
        free(c);
        return NULL;
    }
    return c;
}

static shoal_status container_settle(struct container **out, struct container *c, shoal_status st)
{
    *out = st == SHOAL_OK ? c : NULL;
    if (st != SHOAL_OK)
        container_close(c);
    return st;
}

/* Not waiting: a pipe is refused, not read. */
static shoal_status open_as(struct container **out, const char *path, enum manner manner)
{
    struct container *c = container_new(path);
    shoal_status st;
    int fd;

    *out = NULL;
    if (!c)
        return SHOAL_ENOMEM;
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    st = fd < 0 ? fail_open(path) : take_fd(c, fd, manner);
    if (fd >= 0)
        close(fd);
    return container_settle(out, c, st);
}

shoal_status container_open(struct container **out, const char *path)
{
    return open_as(out, path, READ_ALL);
}

shoal_status container_map(struct container **out, const char *path)
{
    return open_as(out, path, MAP_ALL);
}

shoal_status container_peek(struct container **out, const char *path)
{
    return open_as(out, path, READ_META);
}

shoal_status container_open_memory(struct container **out, const char *path, const void *data,
                                   size_t size)
{
    struct container *c = container_new(path);
    struct origin from = {.at = data};

    *out = NULL;
    if (!c)
        return SHOAL_ENOMEM;
    c->at = data;
    c->size = size;
    return container_settle(out, c, container_parse(c, &from));
}

shoal_status container_open_copy(struct container **out, const struct shoal_memory *file)
{
    void *copy = mem_map(file->size);
    shoal_status st;

    *out = NULL;
    if (!copy)
        return SHOAL_ENOMEM;
    if (file->size > 0)
        memcpy(copy, file->data, file->size);
    st = container_open_memory(out, file->name, copy, file->size);
    if (st != SHOAL_OK) {
        mem_unmap(copy, file->size);
        return st;
    }
    (*out)->ours = copy;
    st = container_verify(*out, 0);
    (*out)->checked = st == SHOAL_OK;
    return container_settle(out, *out, st);
}

void container_close(struct container *c)
{
    if (!c)
        return;
    mem_unmap(c->ours, c->size);
    free(c->meta);
    free(c->entries);
    free(c->path);
    free(c);
}

/* ---- Verifying -------------------------------------------------------------------- */

/* The slices of all sections in one row; threads take the next one untaken. */
struct verify {
    const struct container *c;
    size_t *first;  /* [count + 1]: where each section's slices begin */
    uint64_t *sums; /* [first[count]] */
    atomic_size_t next;
};

static void verify_slice(const struct verify *v, size_t section, size_t slice)
{
    const struct entry *e = &v->c->entries[section];
    uint64_t skip = (uint64_t)(slice - v->first[section]) * SLICE;
    uint64_t left = e->size - skip;

    v->sums[slice] = XXH3_64bits(v->c->at + e->offset + skip, left < SLICE ? (size_t)left : SLICE);
}

static shoal_status verify_run(void *ctx, unsigned index)
{
    struct verify *v = ctx;
    size_t total = v->first[v->c->count];
    size_t section = 0;
    size_t slice;

    while ((slice = atomic_fetch_add(&v->next, 1)) < total) {
        while (slice >= v->first[section + 1])
            section++;
        verify_slice(v, section, slice);
    }
    return SHOAL_OK;
}

static shoal_status verify_init(struct verify *v, const struct container *c)
{
    *v = (struct verify){.c = c};
    v->first = mem_array(c->count + 1, sizeof *v->first);
    if (!v->first)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < c->count; i++)
        v->first[i + 1] = v->first[i] + (size_t)((c->entries[i].size + (SLICE - 1)) / SLICE);
    v->sums = mem_array(v->first[c->count], sizeof *v->sums);
    return v->sums ? SHOAL_OK : SHOAL_ENOMEM;
}

static shoal_status verify_section(const struct verify *v, size_t i)
{
    const struct entry *e = &v->c->entries[i];
    size_t n = v->first[i + 1] - v->first[i];
    uint64_t sum = XXH3_64bits(v->sums + v->first[i], n * sizeof *v->sums);
    uint64_t end = e->offset + e->size;

    if (sum != e->sum)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: section \"%s\" is damaged (checksum 0x%016" PRIx64
                          ", want 0x%016" PRIx64 ")",
                          v->c->path, e->name, sum, e->sum);
    if (!is_zero(v->c->at + end, (size_t)(align_up(end) - end)))
        return shoal_fail(SHOAL_EFORMAT, "%s: the gap behind section \"%s\" is damaged, want zeros",
                          v->c->path, e->name);
    return SHOAL_OK;
}

shoal_status container_verify(const struct container *c, unsigned threads)
{
    struct verify v;
    shoal_status st;

    if (c->checked)
        return SHOAL_OK;
    assert(c->at || c->size == 0);
    st = verify_init(&v, c);
    threads = pool_threads(threads);
    if (st == SHOAL_OK && threads > v.first[c->count])
        threads = (unsigned)v.first[c->count];
    if (st == SHOAL_OK)
        st = pool_run(threads, verify_run, &v);
    for (size_t i = 0; i < c->count && st == SHOAL_OK; i++)
        st = verify_section(&v, i);
    free(v.first);
    free(v.sums);
    return st;
}

/* ---- Reading ----------------------------------------------------------------------- */

const char *container_path(const struct container *c)
{
    return c->path;
}

size_t container_count(const struct container *c)
{
    return c->count;
}

struct section container_at(const struct container *c, size_t i)
{
    const struct entry *e = &c->entries[i];
    const void *data = c->at ? c->at + e->offset : NULL;

    assert(i < c->count);
    if (!c->at && strcmp(e->name, "meta") == 0)
        data = c->meta;
    return (struct section){e->name, data, (size_t)e->size, e->sum};
}

static bool section_lookup(const struct container *c, const char *name, struct section *out)
{
    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->entries[i].name, name) != 0)
            continue;
        *out = container_at(c, i);
        return true;
    }
    return false;
}

shoal_status container_find(const struct container *c, const char *name, size_t unit,
                            struct section *out)
{
    *out = (struct section){0};
    if (!section_lookup(c, name, out))
        return shoal_fail(SHOAL_EFORMAT, "%s: has no section \"%s\"", c->path, name);
    if (out->size % unit != 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: section \"%s\" has %zu bytes, want a multiple of %zu",
                          c->path, name, out->size, unit);
    return SHOAL_OK;
}

bool container_has(const struct container *c, const char *name)
{
    struct section ignored;

    return section_lookup(c, name, &ignored);
}

uint64_t bytes_hash(uint64_t seed, const void *data, size_t len)
{
    return XXH3_64bits_withSeed(data, len, seed);
}

uint64_t container_fingerprint(const struct container *c)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < container_count(c); i++)
        sum = rng_mix(sum + RNG_STEP) ^ container_at(c, i).checksum;
    return sum;
}

/* The value of `key` within the lines, not NUL-terminated; NULL when absent. */
static const char *meta_lookup(const char *text, size_t size, const char *key, size_t *len)
{
    const char *end = text + size, *line;
    size_t klen = strlen(key), n;

    while (line_next(&text, end, &line, &n))
        if (n > klen && memcmp(line, key, klen) == 0 && line[klen] == ' ') {
            *len = n - klen - 1;
            return line + klen + 1;
        }
    return NULL;
}

shoal_status container_meta(const struct container *c, const char *key, char *value, size_t cap)
{
    struct section meta;
    shoal_status st = container_find(c, "meta", 1, &meta);
    const char *found;
    size_t len;

    assert(cap > 0);
    *value = '\0';
    if (st != SHOAL_OK)
        return st;
    found = meta_lookup(meta.data, meta.size, key, &len);
    if (!found)
        return shoal_fail(SHOAL_EFORMAT, "%s: its meta has no \"%s\"", c->path, key);
    if (len >= cap || memchr(found, '\0', len))
        return shoal_fail(SHOAL_EFORMAT, "%s: its meta \"%s\" has %zu bytes, want text below %zu",
                          c->path, key, len, cap);
    memcpy(value, found, len);
    value[len] = '\0';
    return SHOAL_OK;
}

shoal_status container_check_kind(const struct container *c, const char *kind, const char *want)
{
    char found[32];
    shoal_status st = container_meta(c, "kind", found, sizeof found);

    if (st == SHOAL_OK && strcmp(found, kind) != 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: holds a %s, want %s", c->path, found, want);
    return st;
}

shoal_status container_meta_u64(const struct container *c, const char *key, uint64_t *value)
{
    char text[32];
    const char *end;
    shoal_status st = container_meta(c, key, text, sizeof text);

    *value = 0;
    if (st != SHOAL_OK)
        return st;
    end = number_digits(text, text + strlen(text), value);
    if (end && !*end)
        return SHOAL_OK;
    *value = 0;
    return shoal_fail(SHOAL_EFORMAT, "%s: its meta \"%s\" is \"%s\", want a whole number", c->path,
                      key, text);
}

/* Only regular files are opened: looking into a pipe would eat its bytes. */
bool shoal_kind(const char *path, char kind[32])
{
    struct container *c = NULL;

    kind[0] = '\0';
    if (!container_sniff(path))
        return false;
    if (container_peek(&c, path) != SHOAL_OK || container_meta(c, "kind", kind, 32) != SHOAL_OK)
        kind[0] = '\0';
    container_close(c);
    return true;
}

bool container_sniff_memory(const void *data, size_t size)
{
    return size >= sizeof MAGIC && memcmp(data, MAGIC, sizeof MAGIC) == 0;
}

bool container_sniff(const char *path)
{
    unsigned char start[sizeof MAGIC];
    struct stat info;
    size_t got;
    int fd;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    got = file_read_at(fd, start, sizeof start, 0);
    close(fd);
    return container_sniff_memory(start, got);
}
