/* NumPy's .npz: a zip archive of .npy files, as numpy.savez and savez_compressed write it.
 *
 * The vectors are the array `vectors`, or the only matrix of floats; the words are the array
 * `words`, or the only list of texts (<U, >U or |S), or lines of FILE.vocab. Only heads are read to
 * choose; of what is not chosen nothing is decompressed. */
#include "saved/vectors/vectors.h"

#include <stdlib.h>

/* NumPy itself reads heads of 10,000 bytes. */
enum { HEAD_MAX = 16384 };

struct npz_array {
    const struct zip_member *member; /* NULL: there is none */
    struct npy head;
};

struct npz {
    const struct source *src;
    struct zip zip;
    struct npz_array vectors, words;
};

/* ---- which arrays ---- */

/* The name without its ending; len 0: it is no array. */
static struct span array_name(const struct zip_member *m)
{
    struct span name = m->name;

    if (name.len < 4 || memcmp(name.at + name.len - 4, ".npy", 4) != 0)
        return (struct span){name.at, 0};
    name.len -= 4;
    return name;
}

static bool is_named(const struct zip_member *m, const char *name)
{
    struct span is = array_name(m);

    return is.len == strlen(name) && memcmp(is.at, name, is.len) == 0;
}

static bool is_matrix(const struct npy *h)
{
    return h->ndims == 2 && h->kind == 'f';
}

static bool is_texts(const struct npy *h)
{
    return h->ndims == 1 && (h->kind == 'U' || h->kind == 'S');
}

static shoal_status read_head(const struct npz *z, const struct zip_member *m, struct npy *h)
{
    char *head = mem_array(HEAD_MAX, 1);
    size_t got = 0;
    shoal_status st = head ? zip_head(&z->zip, m, head, HEAD_MAX, &got) : SHOAL_ENOMEM;

    if (st == SHOAL_OK && !npy_sniff(head, got))
        st = shoal_fail(SHOAL_EFORMAT, "%s: `%.*s` in it is no array of NumPy", z->src->path,
                        (int)(m->name.len < 80 ? m->name.len : 80), m->name.at);
    if (st == SHOAL_OK)
        st = npy_head(h, z->src->path, head, got);
    free(head);
    return st;
}

/* Of a name: then it counts whatever it is. Else the only one that can be; *many of those. */
static void choose(struct npz_array *out, size_t *many, const struct npz_array *a, const char *name,
                   bool can)
{
    bool had = out->member && is_named(out->member, name);

    *many += can;
    if (is_named(a->member, name) || (can && !had))
        *out = *a;
}

static shoal_status choose_arrays(struct npz *z)
{
    size_t matrices = 0, lists = 0, arrays = 0;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < z->zip.n && st == SHOAL_OK; i++) {
        struct npz_array a = {.member = &z->zip.at[i]};

        if (array_name(a.member).len == 0)
            continue;
        arrays++;
        st = read_head(z, a.member, &a.head);
        if (st == SHOAL_OK) {
            choose(&z->vectors, &matrices, &a, "vectors", is_matrix(&a.head));
            choose(&z->words, &lists, &a, "words", is_texts(&a.head));
        }
    }
    if (st == SHOAL_OK && arrays == 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: is a zip archive without arrays of NumPy, want one",
                          z->src->path);
    if (st == SHOAL_OK &&
        (!z->vectors.member || (matrices != 1 && !is_named(z->vectors.member, "vectors"))))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: %zu matrices of floats, want one, or one named `vectors`",
                          z->src->path, matrices);
    if (z->words.member && lists != 1 && !is_named(z->words.member, "words"))
        z->words.member = NULL;
    return st;
}

/* ---- texts ---- */

static uint32_t character_at(const char *at, bool big)
{
    uint32_t c;

    memcpy(&c, at, sizeof c);
    return big ? __builtin_bswap32(c) : c;
}

/* As UTF-8, of 4 bytes at most; 0: it is no character. */
static size_t put_character(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000 && (c < 0xd800 || c > 0xdfff)) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3f));
        to[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    if (c < 0x10000 || c > 0x10ffff)
        return 0;
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 0x3f));
    to[2] = (char)(0x80 | (c >> 6 & 0x3f));
    to[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* NumPy fills texts up with NULs, which are no part of them. `unit`: bytes of a character. */
static size_t text_length(const char *at, size_t size, size_t unit)
{
    while (size > 0) {
        bool zero = true;

        for (size_t i = 0; i < unit; i++)
            zero = zero && at[(size - 1) * unit + i] == '\0';
        if (!zero)
            break;
        size--;
    }
    return size;
}

/* Text i of the array, in place; of U as UTF-8 at *room, which moves on. */
static shoal_status take_text(const struct npz *z, const struct npy *h, size_t i, char **room,
                              struct span *out)
{
    size_t unit = h->kind == 'U' ? 4 : 1, len;
    const char *at = h->at + i * h->size * unit;
    char *begin = *room;

    len = text_length(at, h->size, unit);
    *out = (struct span){at, (uint32_t)len};
    if (unit == 1)
        return SHOAL_OK;
    for (size_t k = 0; k < len; k++) {
        size_t put = put_character(*room, character_at(at + 4 * k, h->big));

        if (put == 0)
            return shoal_fail(SHOAL_EFORMAT, "%s: word %zu of its words is no Unicode text",
                              z->src->path, i + 1);
        *room += put;
    }
    *out = (struct span){begin, (uint32_t)(*room - begin)};
    return SHOAL_OK;
}

static shoal_status name_texts(struct naming *out, const struct npz *z, const struct npy *h)
{
    size_t n = h->dims[0];
    struct span *words = mem_array(n, sizeof *words);
    char *room = h->kind == 'U' ? mem_map(h->bytes) : NULL, *next = room;
    shoal_status st = words && (room || h->kind != 'U') ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = take_text(z, h, i, &next, &words[i]);
    if (st == SHOAL_OK)
        st = naming_make(out, &(struct word_list){.path = z->src->path, .words = words, .n = n});
    if (room)
        mem_unmap(room, h->bytes);
    free(words);
    return st;
}

/* "its words are ...": a list of as many texts as there are vectors. */
static shoal_status check_texts(const struct npz *z, const struct npy *h, size_t rows)
{
    size_t unit = h->kind == 'U' ? 4 : 1, bytes;

    if (strcmp(h->type, "|O") == 0)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its words are objects of Python's, want texts: save them as "
                          "numpy.array(words, dtype=str)",
                          z->src->path);
    if (!is_texts(h))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its words are %s of %zu dimensions, want a list of "
                          "texts: U or S",
                          z->src->path, h->type, h->ndims);
    if (h->dims[0] != rows)
        return shoal_fail(SHOAL_EFORMAT, "%s: holds %zu words, want one for each of %zu vectors",
                          z->src->path, h->dims[0], rows);
    if (h->size > SHOAL_WORD_MAX || __builtin_mul_overflow(rows, h->size * unit, &bytes) ||
        bytes != h->bytes)
        return shoal_fail(SHOAL_EFORMAT, "%s: %zu bytes of words, which are not %zu of %s",
                          z->src->path, h->bytes, rows, h->type);
    return SHOAL_OK;
}

static shoal_status name_rows(struct naming *out, struct npz *z, size_t rows)
{
    const struct zip_member *m = z->words.member;
    struct npy *h = &z->words.head;
    const char *at;
    void *ours;
    shoal_status st;

    *out = (struct naming){0};
    if (!m)
        return naming_beside(out, z->src, rows);
    st = zip_read(&z->zip, m, &at, &ours);
    if (st != SHOAL_OK)
        return st;
    st = npy_head(h, z->src->path, at, m->size);
    if (st == SHOAL_OK)
        st = check_texts(z, h, rows);
    if (st == SHOAL_OK)
        st = name_texts(out, z, h);
    if (ours)
        mem_unmap(ours, m->size);
    return st;
}

/* ---- all of it ---- */

static shoal_status read_arrays(shoal_vectors **out, struct npz *z)
{
    const struct zip_member *m = z->vectors.member;
    struct npy *h = &z->vectors.head;
    struct source bytes = *z->src;
    struct naming names = {0};
    enum shoal_dtype dtype;
    const char *at;
    void *ours;
    shoal_status st = zip_read(&z->zip, m, &at, &ours);

    if (st != SHOAL_OK)
        return st;
    st = npy_head(h, z->src->path, at, m->size);
    if (st == SHOAL_OK)
        st = numpy_check(h, z->src->path, &dtype);
    if (st == SHOAL_OK)
        st = name_rows(&names, z, h->dims[0]);
    bytes.spare = bytes.spare || ours;
    if (st == SHOAL_OK)
        st = numpy_take(out, &bytes, h, SHOAL_FORMAT_NPZ, &names);
    naming_fini(&names);
    if (ours)
        mem_unmap(ours, m->size);
    return st;
}

shoal_status npz_read(shoal_vectors **out, const struct source *src)
{
    struct npz z = {.src = src};
    shoal_status st = zip_open(&z.zip, src->path, src->at, src->len);

    if (st == SHOAL_OK)
        st = choose_arrays(&z);
    if (st == SHOAL_OK)
        st = read_arrays(out, &z);
    zip_close(&z.zip);
    return st;
}
