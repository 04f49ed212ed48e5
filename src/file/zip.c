/* A zip archive in memory, as NumPy's .npz is one.
 *
 *     | local head | bytes | local head | bytes | ... | directory | (zip64) | end | comment |
 *
 * The directory counts: where a member's head is, how it is packed, its sizes and its CRC-32. Of a
 * local head only its length is used, and its name must be the same. What lies between members is
 * skipped; members that overlap, by which small archives become huge, are refused.
 * APPNOTE.TXT of PKWARE, 6.3, 4.3 and 4.5.3. */
#include "file/decoder.h"
#include "file/file.h"

#include <stdlib.h>

enum { LOCAL = 30, ENTRY = 46, END = 22, LOCATOR = 20, END64 = 56 };

#define COMMENT_MAX 65535u
/* Deflate becomes at most so many times as long. */
#define INFLATE_MOST 1032u

/* ---- numbers, little-endian and anywhere ---- */

static uint64_t number_at(const char *at, size_t bytes)
{
    uint64_t x = 0;

    memcpy(&x, at, bytes);
    return x;
}

static size_t u16(const char *at)
{
    return (size_t)number_at(at, 2);
}

static size_t u32(const char *at)
{
    return (size_t)number_at(at, 4);
}

static bool is_mark(const char *at, const char *mark)
{
    return memcmp(at, mark, 4) == 0;
}

/* ---- the end ---- */

struct archive {
    const char *path, *at;
    size_t len;
    size_t begin, end, entries; /* of the directory */
};

bool zip_sniff(const char *at, size_t len)
{
    return len >= END && (is_mark(at, "PK\3\4") || is_mark(at, "PK\5\6"));
}

static shoal_status fail_zip(const struct archive *a, const char *what, size_t where)
{
    return shoal_fail(SHOAL_EFORMAT, "%s: its zip %s at byte %zu is malformed or cut off", a->path,
                      what, where);
}

/* The last end whose comment reaches exactly to the end of the file; SIZE_MAX: none. */
static size_t find_end(const struct archive *a)
{
    size_t at = a->len - END, least = at > COMMENT_MAX ? at - COMMENT_MAX : 0;

    for (;; at--) {
        if (is_mark(a->at + at, "PK\5\6") && u16(a->at + at + 20) == a->len - END - at)
            return at;
        if (at == least)
            return SIZE_MAX;
    }
}

/* Where an archive is too large for the end, a larger one stands before it. */
static shoal_status read_end64(struct archive *a, size_t end, size_t *before)
{
    uint64_t at;

    if (end < LOCATOR + END64 || !is_mark(a->at + end - LOCATOR, "PK\6\7"))
        return SHOAL_OK;
    at = number_at(a->at + end - LOCATOR + 8, 8);
    if (at > end - LOCATOR - END64 || !is_mark(a->at + at, "PK\6\6") ||
        number_at(a->at + at + 24, 8) != number_at(a->at + at + 32, 8))
        return fail_zip(a, "end", end);
    a->entries = (size_t)number_at(a->at + at + 32, 8);
    a->begin = (size_t)number_at(a->at + at + 48, 8);
    a->end = (size_t)number_at(a->at + at + 40, 8);
    *before = (size_t)at;
    return SHOAL_OK;
}

static shoal_status read_end(struct archive *a)
{
    size_t end = a->len < END ? SIZE_MAX : find_end(a), before = end;
    const char *at;
    shoal_status st;

    if (end == SIZE_MAX)
        return shoal_fail(SHOAL_EFORMAT, "%s: has no end of a zip archive in its %zu bytes",
                          a->path, a->len);
    at = a->at + end;
    if (u16(at + 4) != 0 || u16(at + 6) != 0 || u16(at + 8) != u16(at + 10))
        return shoal_fail(SHOAL_EFORMAT, "%s: is one of several parts of a zip archive, want all",
                          a->path);
    a->entries = u16(at + 10);
    a->end = u32(at + 12); /* its length, for now */
    a->begin = u32(at + 16);
    st = read_end64(a, end, &before);
    if (st != SHOAL_OK)
        return st;
    if (a->begin > before || a->end > before - a->begin || a->entries > a->end / ENTRY)
        return fail_zip(a, "directory", a->begin);
    a->end += a->begin;
    return SHOAL_OK;
}

/* ---- the directory ---- */

/* Sizes and place of one member, which zip64 puts behind the name where 32 bits are too few. */
struct place {
    uint64_t size, packed, head;
};

/* The next of the larger numbers, if the small one says that there is one. */
static bool take_large(uint64_t *x, const char **at, const char *end)
{
    if (*x != UINT32_MAX)
        return true;
    if (end - *at < 8)
        return false;
    *x = number_at(*at, 8);
    *at += 8;
    return true;
}

/* The field 1 of those behind the name. */
static bool read_large(struct place *p, const char *at, const char *end)
{
    while (end - at >= 4) {
        size_t id = u16(at), len = u16(at + 2);

        at += 4;
        if (len > (size_t)(end - at))
            return false;
        if (id == 1) {
            end = at + len;
            return take_large(&p->size, &at, end) && take_large(&p->packed, &at, end) &&
                   take_large(&p->head, &at, end);
        }
        at += len;
    }
    return p->size != UINT32_MAX && p->packed != UINT32_MAX && p->head != UINT32_MAX;
}

static shoal_status fail_member(const struct archive *a, struct span name, const char *what)
{
    return shoal_fail(SHOAL_EFORMAT, "%s: `%.*s` in it %s", a->path,
                      (int)(name.len < 80 ? name.len : 80), name.at, what);
}

/* The bytes of a member, behind its own head. */
static shoal_status find_bytes(const struct archive *a, struct zip_member *m, const struct place *p)
{
    const char *head;
    size_t left;

    if (p->head > a->begin || a->begin - p->head < LOCAL || !is_mark(a->at + p->head, "PK\3\4"))
        return fail_member(a, m->name, "does not begin where the directory says");
    head = a->at + p->head;
    left = a->begin - (size_t)p->head - LOCAL;
    if (u16(head + 26) != m->name.len || left < m->name.len ||
        memcmp(head + LOCAL, m->name.at, m->name.len) != 0)
        return fail_member(a, m->name, "has another name there than in the directory");
    left -= m->name.len;
    if (u16(head + 28) > left || p->packed > left - u16(head + 28))
        return fail_member(a, m->name, "is cut off");
    m->at = head + LOCAL + m->name.len + u16(head + 28);
    m->packed = (size_t)p->packed;
    m->size = (size_t)p->size;
    return SHOAL_OK;
}

static shoal_status read_entry(const struct archive *a, struct zip_member *m, size_t *at)
{
    const char *e = a->at + *at;
    size_t left = a->end - *at, method;
    struct place p;

    if (left < ENTRY || !is_mark(e, "PK\1\2") ||
        left - ENTRY < u16(e + 28) + u16(e + 30) + u16(e + 32))
        return fail_zip(a, "directory", *at);
    m->name = (struct span){e + ENTRY, (uint32_t)u16(e + 28)};
    m->crc = (uint32_t)u32(e + 16);
    method = u16(e + 10);
    m->deflated = method == 8;
    p = (struct place){u32(e + 24), u32(e + 20), u32(e + 42)};
    *at += ENTRY + u16(e + 28) + u16(e + 30) + u16(e + 32);
    if (u16(e + 8) & 1)
        return fail_member(a, m->name, "is encrypted, want it plain");
    if (method != 0 && method != 8)
        return fail_member(a, m->name, "is packed by another way than deflate");
    if (!read_large(&p, m->name.at + m->name.len, m->name.at + m->name.len + u16(e + 30)))
        return fail_member(a, m->name, "has a malformed field of sizes");
    if (method == 0 && p.packed != p.size)
        return fail_member(a, m->name, "is stored, and has two sizes");
    return find_bytes(a, m, &p);
}

static int by_place(const void *a, const void *b)
{
    const struct zip_member *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

static int by_name(const void *a, const void *b)
{
    const struct zip_member *x = a, *y = b;
    size_t both = x->name.len < y->name.len ? x->name.len : y->name.len;
    int order = memcmp(x->name.at, y->name.at, both);

    return order ? order : (x->name.len > y->name.len) - (x->name.len < y->name.len);
}

/* Leaves them in the order of their places. */
static shoal_status check_members(const struct archive *a, const struct zip *z)
{
    qsort(z->at, z->n, sizeof *z->at, by_name);
    for (size_t i = 1; i < z->n; i++)
        if (by_name(&z->at[i - 1], &z->at[i]) == 0)
            return fail_member(a, z->at[i].name, "stands there twice");
    qsort(z->at, z->n, sizeof *z->at, by_place);
    for (size_t i = 1; i < z->n; i++)
        if (z->at[i - 1].at + z->at[i - 1].packed + LOCAL > z->at[i].at)
            return fail_member(a, z->at[i].name, "overlaps another");
    return SHOAL_OK;
}

shoal_status zip_open(struct zip *z, const char *path, const char *at, size_t len)
{
    struct archive a = {.path = path, .at = at, .len = len};
    shoal_status st = read_end(&a);
    size_t next = a.begin;

    *z = (struct zip){.path = path};
    if (st != SHOAL_OK || a.entries == 0)
        return st;
    z->at = mem_array(a.entries, sizeof *z->at);
    st = z->at ? SHOAL_OK : SHOAL_ENOMEM;
    for (; z->n < a.entries && st == SHOAL_OK; z->n++)
        st = read_entry(&a, &z->at[z->n], &next);
    if (st == SHOAL_OK)
        st = check_members(&a, z);
    if (st != SHOAL_OK)
        zip_close(z);
    return st;
}

void zip_close(struct zip *z)
{
    if (!z)
        return;
    free(z->at);
    *z = (struct zip){0};
}

/* ---- a member ---- */

static shoal_status fail_bytes(const struct zip *z, const struct zip_member *m, const char *what)
{
    return fail_member(&(struct archive){.path = z->path}, m->name, what);
}

static shoal_status inflated(const struct zip *z, const struct zip_member *m, enum decoded how)
{
    if (how == DECODED_MEMORY)
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory to decompress it", z->path);
    return how == DECODED ? SHOAL_OK : fail_bytes(z, m, "is corrupt deflate data");
}

shoal_status zip_head(const struct zip *z, const struct zip_member *m, void *to, size_t cap,
                      size_t *got)
{
    bool ended;

    if (m->deflated)
        return inflated(z, m, inflate_raw(m->at, m->packed, to, cap, got, &ended));
    *got = m->size < cap ? m->size : cap;
    memcpy(to, m->at, *got);
    return SHOAL_OK;
}

/* Before memory is taken for what it says that it becomes. */
static shoal_status check_size(const struct zip *z, const struct zip_member *m)
{
    if (m->size / INFLATE_MOST > m->packed)
        return fail_bytes(z, m, "says that it becomes more than deflate can");
    if (m->size > EXPAND_FREE && (m->size - EXPAND_FREE) / EXPAND_MOST > m->packed)
        return shoal_fail(SHOAL_ELIMIT,
                          "%s: `%.*s` in it: %zu compressed bytes become %zu, want at most %d "
                          "times as many",
                          z->path, (int)(m->name.len < 80 ? m->name.len : 80), m->name.at,
                          m->packed, m->size, EXPAND_MOST);
    if (m->size > EXPAND_FREE && m->size > mem_available())
        return shoal_fail(SHOAL_ENOMEM, "%s: %zu bytes, more than there is memory for", z->path,
                          m->size);
    return SHOAL_OK;
}

static shoal_status read_deflated(const struct zip *z, const struct zip_member *m, void **ours)
{
    shoal_status st = check_size(z, m);
    size_t got = 0;
    bool ended = false;

    if (st == SHOAL_OK && !(*ours = mem_map(m->size)))
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = inflated(z, m, inflate_raw(m->at, m->packed, *ours, m->size, &got, &ended));
    if (st == SHOAL_OK && (got != m->size || !ended))
        st = fail_bytes(z, m, "becomes another number of bytes than the directory says");
    return st;
}

shoal_status zip_read(const struct zip *z, const struct zip_member *m, const char **at, void **ours)
{
    shoal_status st = SHOAL_OK;

    *ours = NULL;
    if (m->deflated)
        st = read_deflated(z, m, ours);
    *at = *ours ? *ours : m->at;
    if (st == SHOAL_OK && bytes_crc32(*at, m->size) != m->crc)
        st = fail_bytes(z, m, "does not have the CRC-32 that the directory says");
    if (st != SHOAL_OK && *ours) {
        mem_unmap(*ours, m->size);
        *ours = NULL;
    }
    return st;
}
