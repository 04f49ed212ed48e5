#include "saved/tensors.h"
#include "saved/vectors/vectors.h"

#include <assert.h>
#include <stdlib.h>

struct shoal_save_opts shoal_save_default(void)
{
    return (struct shoal_save_opts){.format = SHOAL_FORMAT_AUTO, .dtype = SHOAL_F32};
}

/* ---- the object ---- */

void shoal_vectors_close(shoal_vectors *v)
{
    if (!v)
        return;
    shoal_vocab_free(v->vocab);
    if (v->own_rows)
        mem_unmap(v->own_rows, v->own_bytes);
    if (v->own_hidden)
        mem_unmap(v->own_hidden, table_bytes(v->hidden_rows, v->dim));
    late_free(v->late, v->size, v->stride, v->dim);
    container_close(v->file);
    free(v->left_first);
    free(v->from);
    free(v);
}

size_t shoal_vectors_size(const shoal_vectors *v)
{
    return v->size;
}

size_t shoal_vectors_dim(const shoal_vectors *v)
{
    return v->dim;
}

enum shoal_dtype shoal_vectors_dtype(const shoal_vectors *v)
{
    return v->dtype;
}

enum shoal_format shoal_vectors_format(const shoal_vectors *v)
{
    return v->format;
}

const char *shoal_vectors_word(const shoal_vectors *v, uint32_t id)
{
    return shoal_vocab_word(v->vocab, id);
}

uint64_t shoal_vectors_count(const shoal_vectors *v, uint32_t id)
{
    return shoal_vocab_count(v->vocab, id);
}

uint32_t shoal_vectors_find(const shoal_vectors *v, const char *word, size_t len)
{
    return shoal_vocab_find(v->vocab, word, len);
}

shoal_status shoal_vectors_row(const shoal_vectors *v, uint32_t id, float *out)
{
    if (id >= v->size)
        return shoal_fail(SHOAL_EINVAL, "vectors: row %u, want less than %zu", id, v->size);
    if (v->late)
        return late_row(v, id, out);
    dtype_decode(v->dtype, v->rows + id * v->stride, v->scales ? v->scales[id] : 1, v->dim, out);
    return SHOAL_OK;
}

struct shoal_left_out shoal_vectors_left_out(const shoal_vectors *v)
{
    return v->left;
}

shoal_status shoal_vectors_strict(const shoal_vectors *v)
{
    return v->left_first ? shoal_fail(SHOAL_EFORMAT, "%s", v->left_first) : SHOAL_OK;
}

shoal_status shoal_vectors_matrix(const shoal_vectors *v, struct shoal_matrix *out)
{
    const char *rows;
    shoal_status st;

    *out = (struct shoal_matrix){0};
    if (v->dtype != SHOAL_F32)
        return shoal_fail(SHOAL_EINVAL, "vectors: their numbers are %s, want f32",
                          dtype_name(v->dtype));
    st = vectors_all(v, &rows);
    if (st == SHOAL_OK)
        *out = (struct shoal_matrix){(const float *)(const void *)rows, v->size, v->dim,
                                     v->stride / sizeof(float), v->vocab};
    return st;
}

/* ---- making one ---- */

shoal_status vectors_check_shape(const char *path, size_t size, size_t dim)
{
    if (size == 0 || size >= SHOAL_NO_ID)
        return shoal_fail(SHOAL_EFORMAT, "%s: holds %zu words, want 1 to %u", path, size,
                          SHOAL_NO_ID - 1);
    if (dim == 0 || dim > DIM_MAX)
        return shoal_fail(SHOAL_EFORMAT, "%s: its vectors have %zu numbers, want 1 to %zu", path,
                          dim, DIM_MAX);
    return SHOAL_OK;
}

shoal_status vectors_new(shoal_vectors **out, enum shoal_format format, size_t size, size_t dim,
                         enum shoal_dtype dtype)
{
    shoal_vectors *v = mem_array(1, sizeof *v);

    *out = NULL;
    if (!v)
        return SHOAL_ENOMEM;
    v->format = format;
    v->size = size;
    v->dim = dim;
    v->dtype = dtype;
    v->stride = dtype_stride(dtype, dim);
    v->own_bytes = size * v->stride; /* size < 2^32, stride <= 2^22 */
    v->own_rows = mem_map(v->own_bytes);
    v->rows = v->own_rows;
    if (!v->own_rows) {
        free(v);
        return SHOAL_ENOMEM;
    }
    *out = v;
    return SHOAL_OK;
}

/* Rows behind those of the words are those of n-grams. */
static void take_rows(shoal_vectors *v, struct table *rows, const struct subwords *how)
{
    v->dim = rows->width;
    v->stride = rows->stride * sizeof(float);
    v->own_bytes = table_size(rows);
    v->own_rows = (char *)rows->at;
    v->rows = v->own_rows;
    rows->at = NULL;
    if (how)
        v->grams = (struct grams){.how = *how, .rows = v->rows + v->size * v->stride,
                                  .stride = v->stride};
}

shoal_status vectors_take(shoal_vectors **out, const shoal_vocab *vocab, struct table *rows,
                          struct table *hidden, const struct subwords *how)
{
    shoal_vectors *v = mem_array(1, sizeof *v);
    shoal_status st = v ? vocab_copy(&v->vocab, vocab) : SHOAL_ENOMEM;

    *out = NULL;
    if (st != SHOAL_OK) {
        free(v);
        return st;
    }
    v->size = shoal_vocab_size(vocab);
    assert(rows->rows == v->size + (how ? how->buckets : 0));
    assert(!hidden || hidden->width == rows->width);
    take_rows(v, rows, how);
    if (hidden) {
        v->hidden_rows = hidden->rows;
        v->own_hidden = hidden->at;
        v->hidden = v->own_hidden;
        hidden->at = NULL;
    }
    *out = v;
    return SHOAL_OK;
}

shoal_status vectors_own_row(const shoal_vectors *v, uint32_t id, float *out)
{
    return grams_own(v, id, out);
}

void vectors_gram_row(const shoal_vectors *v, uint32_t bucket, float *out)
{
    memset(out, 0, v->dim * sizeof *out);
    grams_add(&v->grams, v->dim, bucket, out);
}

static shoal_status check_matrix(const char *what, const struct shoal_matrix *m)
{
    if (m->data && m->dim > 0 && m->dim <= DIM_MAX && m->stride >= m->dim && m->rows > 0 &&
        m->rows < SHOAL_NO_ID)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "vectors: found %zu %s of %zu numbers, want 1 to %u of 1 to %zu",
                      m->rows, what, m->dim, SHOAL_NO_ID - 1, DIM_MAX);
}

/* Into rows of the table from `at` on. Pages of zeros stay untouched. */
static shoal_status copy_matrix(struct table *to, size_t at, const char *what,
                                const struct shoal_matrix *m)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; st == SHOAL_OK && i < m->rows; i++) {
        const float *from = m->data + i * m->stride;

        if (!dtype_all_finite(SHOAL_F32, from, m->dim))
            st = shoal_fail(SHOAL_EINVAL, "vectors: of the %s number %zu holds a NaN or an "
                            "infinity, want finite numbers", what, i + 1);
        else if (!row_is_zero(from, m->dim))
            memcpy(to->at + (at + i) * to->stride, from, m->dim * sizeof *from);
    }
    return st;
}

static shoal_status copy_hidden(struct table *out, const struct shoal_matrix *m)
{
    shoal_status st = check_matrix("output rows", m);

    if (st == SHOAL_OK)
        st = table_init(out, "output rows", m->rows, m->dim);
    return st == SHOAL_OK ? copy_matrix(out, 0, "output rows", m) : st;
}

/* Those of words, and behind them those of n-grams. */
static shoal_status copy_rows(struct table *out, const struct shoal_matrix *rows,
                              const struct shoal_matrix *grams)
{
    shoal_status st = check_matrix("rows", rows);

    if (st == SHOAL_OK && grams)
        st = check_matrix("rows of n-grams", grams);
    if (st == SHOAL_OK)
        st = table_init(out, "rows", rows->rows + (grams ? grams->rows : 0), rows->dim);
    if (st == SHOAL_OK)
        st = copy_matrix(out, 0, "rows", rows);
    return st == SHOAL_OK && grams ? copy_matrix(out, rows->rows, "rows of n-grams", grams) : st;
}

static shoal_status check_pair(const struct shoal_matrix *rows, const struct shoal_matrix *hidden)
{
    if (!rows->words || shoal_vocab_size(rows->words) != rows->rows)
        return shoal_fail(SHOAL_EINVAL, "vectors: found %zu rows for %zu words, want a word each",
                          rows->rows, rows->words ? shoal_vocab_size(rows->words) : 0);
    if (hidden && hidden->dim != rows->dim)
        return shoal_fail(SHOAL_EINVAL, "vectors: found output rows of %zu numbers, want %zu",
                          hidden->dim, rows->dim);
    return SHOAL_OK;
}

/* how and grams are both there, or neither. */
static shoal_status make(shoal_vectors **out, const struct shoal_matrix *rows,
                         const struct shoal_matrix *grams, const struct subwords *how,
                         const struct shoal_matrix *hidden)
{
    struct table in = {0}, output = {0};
    shoal_status st = check_pair(rows, hidden);

    *out = NULL;
    if (st == SHOAL_OK)
        st = copy_rows(&in, rows, grams);
    if (st == SHOAL_OK && hidden)
        st = copy_hidden(&output, hidden);
    if (st == SHOAL_OK)
        st = vectors_take(out, rows->words, &in, hidden ? &output : NULL, how);
    table_fini(&in);
    table_fini(&output);
    return st;
}

shoal_status shoal_vectors_new(shoal_vectors **out, const struct shoal_matrix *rows,
                               const struct shoal_matrix *hidden)
{
    return make(out, rows, NULL, NULL, hidden);
}

static shoal_status check_subwords(const struct shoal_matrix *rows, const struct shoal_matrix *grams,
                                   const struct shoal_subwords *how)
{
    if (how->minn < 1 || how->maxn < how->minn || how->maxn > SUBWORDS_MAXN)
        return shoal_fail(SHOAL_EINVAL, "vectors: found n-grams of %u to %u characters, want 1 to %d",
                          how->minn, how->maxn, SUBWORDS_MAXN);
    if (grams->rows != how->buckets || grams->dim != rows->dim)
        return shoal_fail(SHOAL_EINVAL, "vectors: found %zu rows of n-grams of %zu numbers, want %u "
                          "of %zu", grams->rows, grams->dim, how->buckets, rows->dim);
    return SHOAL_OK;
}

shoal_status shoal_vectors_new_subwords(shoal_vectors **out, const struct shoal_matrix *rows,
                                        const struct shoal_matrix *grams,
                                        const struct shoal_subwords *how,
                                        const struct shoal_matrix *hidden)
{
    struct subwords s = {.minn = how->minn, .maxn = how->maxn, .buckets = how->buckets};
    shoal_status st = check_subwords(rows, grams, how);

    *out = NULL;
    return st == SHOAL_OK ? make(out, rows, grams, &s, hidden) : st;
}

struct shoal_matrix shoal_vectors_hidden(const shoal_vectors *v)
{
    const float *hidden;

    if (vectors_hidden(v, &hidden) != SHOAL_OK || !hidden)
        return (struct shoal_matrix){0};
    return (struct shoal_matrix){hidden, v->hidden_rows, v->dim, table_stride(v->dim),
                                 v->hidden_rows == v->size ? v->vocab : NULL};
}

const shoal_vocab *shoal_vectors_vocab(const shoal_vectors *v)
{
    return v->vocab;
}

unsigned vectors_threads(size_t bytes)
{
    return bytes < (size_t)1 << 20 ? 1 : pool_threads(0);
}

struct fill {
    const shoal_vectors *v;
    const char *path, *base;
    const uint64_t *at;
    unsigned threads;
    bool spare; /* the bytes at base are not needed again */
    row_fn put; /* of what is computed, and its argument */
    const void *from;
};

/* The row of the file that row i is. */
static size_t row_of(const shoal_vectors *v, size_t i)
{
    return v->from ? v->from[i] : i;
}

#define SPARE ((size_t)4 << 20) /* so much at once is given back */

static shoal_status fail_infinite(const char *path, const shoal_vectors *v, size_t row)
{
    if (!v->vocab && !v->own_rows) /* grams_as_vectors */
        return shoal_fail(SHOAL_EFORMAT, "%s: the row of n-gram bucket %zu holds a NaN or an "
                          "infinity, want finite numbers", path, row);
    return shoal_fail(SHOAL_EFORMAT,
                      "%s: vector %zu, of `%.80s`, holds a NaN or an infinity, want finite numbers",
                      path, row_of(v, row) + 1,
                      v->vocab ? shoal_vectors_word(v, (uint32_t)row) : "");
}

/* Rows lie one behind the other, so the pages that were copied are given back on the way: source
 * and rows together never take much more memory than one of them. */
static shoal_status fill_thread(void *ctx, unsigned index)
{
    const struct fill *f = ctx;
    const shoal_vectors *v = f->v;
    size_t bytes = v->dim * dtype_size(v->dtype);
    const char *used = NULL;

    for (size_t i = v->size * index / f->threads; i < v->size * (index + 1) / f->threads; i++) {
        const char *from = f->base + (f->at ? (size_t)f->at[row_of(v, i)] : row_of(v, i) * bytes);
        char *row = v->own_rows + i * v->stride;

        memcpy(row, from, bytes);
        if (!dtype_all_finite(v->dtype, row, v->dim))
            return fail_infinite(f->path, v, i);
        used = used ? used : from;
        if (f->spare && (size_t)(from - used) >= SPARE) {
            mem_release((void *)(uintptr_t)used, (size_t)(from - used));
            used = from;
        }
    }
    return SHOAL_OK;
}

shoal_status vectors_fill(shoal_vectors *v, const struct source *src, const char *base,
                          const uint64_t *at)
{
    struct fill f = {.v = v,
                     .path = src->path,
                     .base = base,
                     .at = at,
                     .threads = vectors_threads(v->size * v->stride),
                     .spare = src->spare};

    return pool_run(f.threads, fill_thread, &f);
}

static shoal_status compute_thread(void *ctx, unsigned index)
{
    const struct fill *f = ctx;
    const shoal_vectors *v = f->v;

    for (size_t i = v->size * index / f->threads; i < v->size * (index + 1) / f->threads; i++)
        if (!f->put(f->from, row_of(v, i), v->own_rows + i * v->stride))
            return fail_infinite(f->path, v, i);
    return SHOAL_OK;
}

shoal_status vectors_compute(shoal_vectors *v, const char *path, row_fn put, const void *from)
{
    struct fill f = {.v = v,
                     .path = path,
                     .threads = vectors_threads(v->size * v->stride),
                     .put = put,
                     .from = from};

    return pool_run(f.threads, compute_thread, &f);
}

static shoal_status check_thread(void *ctx, unsigned index)
{
    const struct fill *f = ctx;
    const shoal_vectors *v = f->v;

    for (size_t i = v->size * index / f->threads; i < v->size * (index + 1) / f->threads; i++)
        if (!dtype_all_finite(v->dtype, v->rows + i * v->stride, v->dim) ||
            (v->scales && !dtype_all_finite(SHOAL_F32, v->scales + i, 1)))
            return fail_infinite(f->path, v, i);
    return SHOAL_OK;
}

static shoal_status check_rows(const shoal_vectors *v, const char *path)
{
    struct fill f = {.v = v, .path = path, .threads = vectors_threads(v->size * v->stride)};

    return pool_run(f.threads, check_thread, &f);
}

shoal_status shoal_vectors_verify(const shoal_vectors *v)
{
    shoal_vectors grams = grams_as_vectors(v);
    const char *path;
    shoal_status st;

    if (!v->file)
        return v->late ? late_verify(v) : SHOAL_OK;
    path = container_path(v->file);
    st = container_verify(v->file, 0);
    if (st == SHOAL_OK)
        st = vocab_check(v->vocab, path);
    if (st == SHOAL_OK)
        st = v->late ? late_verify(v) : check_rows(v, path);
    return st == SHOAL_OK ? check_rows(&grams, path) : st;
}

/* ---- reading ---- */

/* A first line of two numbers opens text and binary alike: text goes on with a
 * word and as many numbers. If neither is plain, and all is text, the reader
 * of text gives the better sentence. */
static bool is_text(const struct source *src)
{
    size_t size, dim, begin, n = src->len < 4096 ? src->len : 4096;

    if (!vectors_text_header(src, &size, &dim, &begin))
        return true;
    if (vectors_text_sniff(src, begin, dim))
        return true;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)src->at[i] < ' ' && !strchr("\t\n\r", src->at[i] ? src->at[i] : 1))
            return false;
    return !word2vec_sniff(src);
}

/* A byte-order mark at the beginning of a text is none of it. */
static struct source behind_mark(const struct source *src)
{
    struct source text = *src;
    size_t mark = src->len >= 3 && memcmp(src->at, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    text.at += mark;
    text.len -= mark;
    return text;
}

static shoal_status read_text(shoal_vectors **out, const struct source *src)
{
    struct source text = behind_mark(src);
    size_t size, dim, begin;

    if (vocab_sniff(text.at, text.len, true))
        return vectors_fail_other(&text);
    if (!is_text(&text))
        return word2vec_read(out, &text);
    if (vectors_text_header(&text, &size, &dim, &begin))
        return vectors_text_read(out, &text, true);
    return vectors_text_sniff(&text, 0, 0) ? vectors_text_read(out, &text, false)
                                           : vectors_fail_other(&text);
}

shoal_status vectors_read(shoal_vectors **out, struct source *src)
{
    shoal_status st;

    *out = NULL;
    if (fasttext_sniff(src->at, src->len))
        st = vectors_fasttext_read(out, src);
    else if (vectors_floret_sniff(src))
        st = vectors_floret_read(out, src);
    else if (npy_sniff(src->at, src->len))
        st = numpy_read(out, src);
    else if (zip_sniff(src->at, src->len))
        st = npz_read(out, src);
    else if (tensors_sniff(src->at, src->len))
        st = safetensors_read(out, src);
    else
        st = read_text(out, src);
    if (st != SHOAL_OK) {
        shoal_vectors_close(*out);
        *out = NULL;
        return st;
    }
    free((*out)->from);
    (*out)->from = NULL;
    return SHOAL_OK;
}

/* Takes c, which opening has given with this status. */
static shoal_status read_container(shoal_vectors **out, struct container *c, shoal_status st)
{
    void *v = NULL;

    if (st == SHOAL_OK)
        st = vectors_container_read(&v, c);
    *out = v;
    return st;
}

/* A container may come as a stream too: from a pipe, or compressed. */
static shoal_status read_stream(shoal_vectors **out, struct source *src)
{
    struct container *c;
    shoal_status st;

    if (!container_sniff_memory(src->at, src->len))
        return vectors_read(out, src);
    st = container_open_copy(&c, &(struct shoal_memory){src->path, src->at, src->len});
    return read_container(out, c, st);
}

static shoal_status vectors_open(shoal_vectors **out, const char *path, bool map)
{
    struct container *c;
    struct source src;
    shoal_status st;

    *out = NULL;
    if (container_sniff(path)) {
        st = map ? container_map(&c, path) : container_open(&c, path);
        return read_container(out, c, st);
    }
    st = source_open(&src, path, map);
    if (st == SHOAL_OK)
        st = read_stream(out, &src);
    source_close(&src);
    return st;
}

shoal_status shoal_vectors_open(shoal_vectors **out, const char *path)
{
    return vectors_open(out, path, false);
}

shoal_status shoal_vectors_map(shoal_vectors **out, const char *path)
{
    return vectors_open(out, path, true);
}

shoal_status vectors_open_memory(shoal_vectors **out, const char *path, const void *data,
                                 size_t size, const char *words, size_t words_len)
{
    struct source src = {
        .path = path, .at = data, .len = size, .words = words ? words : "", .words_len = words_len};
    struct container *c;
    shoal_status st;

    *out = NULL;
    if (!container_sniff_memory(data, size))
        return vectors_read(out, &src);
    st = container_open_memory(&c, path, data, size);
    return read_container(out, c, st);
}
