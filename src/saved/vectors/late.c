/* Rows that are composed when they are asked for, of the rows of a model as fastText has it:
 *
 *     vector of a word = mean of ( its row, the rows of its n-grams )
 *
 * A model of 2 million words has gigabytes of such rows, and who asks for the vectors of a few
 * words reads a few hundred. So nothing is composed at opening. A question about all words needs
 * them all: the first composes them, with all threads, while others wait, and they stay. */
#include "saved/vectors/vectors.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

shoal_status late_new(struct late **out, const char *path)
{
    struct late *late = mem_array(1, sizeof *late);

    *out = NULL;
    if (!late)
        return SHOAL_ENOMEM;
    pthread_mutex_init(&late->lock, NULL);
    late->path = mem_text("%s", path);
    if (!late->path) {
        late_free(late, 0, 0, 0);
        return SHOAL_ENOMEM;
    }
    *out = late;
    return SHOAL_OK;
}

void late_free(struct late *late, size_t size, size_t stride, size_t dim)
{
    if (!late)
        return;
    if (atomic_load(&late->rows))
        mem_unmap(atomic_load(&late->rows), size * stride);
    if (atomic_load(&late->hidden))
        mem_unmap(atomic_load(&late->hidden), table_bytes(size, dim));
    fasttext_fini(&late->model);
    source_close(&late->src);
    pthread_mutex_destroy(&late->lock);
    free(late->from);
    free(late->path);
    free(late);
}

/* Numbers that lie one behind the other are used there, whatever reads rows of n-grams. */
static struct grams grams_of(const struct fasttext *f)
{
    struct grams g = {.how = fasttext_subwords(f), .stride = f->input.stride};

    if (g.how.maxn == 0)
        return (struct grams){0};
    if (f->input.dense && !f->pruned)
        g.rows = f->input.dense + f->nwords * f->input.stride;
    else
        g.of = f;
    return g;
}

/* What training could go on from: rows for words, not for the nodes of a tree. */
static bool has_hidden(const struct late *late)
{
    const struct fasttext *f = &late->model;

    return f->args.loss == FASTTEXT_NS && f->output.rows == f->nwords && f->output.dense &&
           !late->from;
}

void vectors_take_late(shoal_vectors *v, struct late *late)
{
    const struct fasttext *f = &late->model;

    v->size = shoal_vocab_size(v->vocab);
    v->dim = f->input.cols;
    v->dtype = SHOAL_F32;
    v->stride = dtype_stride(SHOAL_F32, v->dim);
    v->late = late;
    v->grams = grams_of(f);
    v->hidden_rows = has_hidden(late) ? v->size : 0;
}

shoal_status vectors_new_late(shoal_vectors **out, enum shoal_format format, struct late *late,
                              struct naming *n)
{
    shoal_vectors *v = mem_array(1, sizeof *v);

    *out = NULL;
    if (!v)
        return SHOAL_ENOMEM;
    v->format = format;
    late->from = n->rows;
    n->rows = NULL;
    names_take(v, n);
    vectors_take_late(v, late);
    *out = v;
    return SHOAL_OK;
}

/* ---- one row ---- */

static size_t own_row(const struct late *late, uint32_t id)
{
    return late->from ? late->from[id] : id;
}

static shoal_status fail_infinite(const shoal_vectors *v, uint32_t id)
{
    return shoal_fail(SHOAL_EFORMAT,
                      "%s: vector %u, of `%.80s`, holds a NaN or an infinity, want finite numbers",
                      v->late->path, id + 1, shoal_vectors_word(v, id));
}

/* In the order in which fastText adds them: the sums are the same to the bit. */
static shoal_status compose(const shoal_vectors *v, uint32_t id, float *out)
{
    const char *word = shoal_vectors_word(v, id);
    float by;
    size_t n;
    shoal_status st;

    memset(out, 0, v->dim * sizeof *out);
    fasttext_add(&v->late->model.input, own_row(v->late, id), out);
    st = grams_add_all(v, word, strlen(word), out, &n);
    by = (float)(1.0 / (double)(n + 1));
    for (size_t k = 0; k < v->dim; k++)
        out[k] *= by;
    if (st == SHOAL_OK && !dtype_all_finite(SHOAL_F32, out, v->dim))
        st = fail_infinite(v, id);
    return st;
}

shoal_status late_row(const shoal_vectors *v, uint32_t id, float *out)
{
    const char *rows = atomic_load_explicit(&v->late->rows, memory_order_acquire);

    if (!rows)
        return compose(v, id, out);
    memcpy(out, rows + id * v->stride, v->dim * sizeof *out);
    return SHOAL_OK;
}

void late_own(const shoal_vectors *v, uint32_t id, float *out)
{
    fasttext_row(&v->late->model.input, own_row(v->late, id), out);
}

/* ---- all of them ---- */

struct all {
    const shoal_vectors *v;
    char *rows;
    unsigned threads;
};

static shoal_status compose_thread(void *ctx, unsigned index)
{
    const struct all *a = ctx;
    size_t size = a->v->size, end = size * (index + 1) / a->threads;
    shoal_status st = SHOAL_OK;

    for (size_t id = size * index / a->threads; id < end && st == SHOAL_OK; id++)
        st = compose(a->v, (uint32_t)id, (float *)(void *)(a->rows + id * a->v->stride));
    return st;
}

/* Every row is read now, so the kernel may read ahead. */
static shoal_status compose_all(const shoal_vectors *v, char **rows)
{
    const struct source *src = &v->late->src;
    struct all a = {v, mem_map(v->size * v->stride), vectors_threads(v->size * v->stride)};
    shoal_status st;

    if (!a.rows)
        return SHOAL_ENOMEM;
    if (src->ours)
        madvise(src->ours, src->len, MADV_NORMAL);
    st = pool_run(a.threads, compose_thread, &a);
    if (st != SHOAL_OK) {
        mem_unmap(a.rows, v->size * v->stride);
        return st;
    }
    *rows = a.rows;
    return SHOAL_OK;
}

shoal_status vectors_all(const shoal_vectors *v, const char **rows)
{
    struct late *late = v->late;
    char *made;
    shoal_status st = SHOAL_OK;

    *rows = v->rows;
    if (!late)
        return SHOAL_OK;
    pthread_mutex_lock(&late->lock);
    made = atomic_load(&late->rows);
    if (!made)
        st = compose_all(v, &made);
    if (st == SHOAL_OK)
        atomic_store_explicit(&late->rows, made, memory_order_release);
    pthread_mutex_unlock(&late->lock);
    *rows = made;
    return st;
}

/* ---- output rows ---- */

static float *copy_hidden(const shoal_vectors *v)
{
    const struct fasttext_matrix *m = &v->late->model.output;
    size_t stride = table_stride(v->dim);
    float *rows = mem_map(table_bytes(m->rows, v->dim));

    for (size_t i = 0; rows && i < m->rows; i++)
        fasttext_row(m, i, rows + i * stride);
    return rows;
}

shoal_status vectors_hidden(const shoal_vectors *v, const float **rows)
{
    struct late *late = v->late;
    float *made;

    *rows = v->hidden;
    if (!late || v->hidden_rows == 0)
        return SHOAL_OK;
    pthread_mutex_lock(&late->lock);
    made = atomic_load(&late->hidden);
    if (!made)
        made = copy_hidden(v);
    atomic_store(&late->hidden, made);
    pthread_mutex_unlock(&late->lock);
    *rows = made;
    return made ? SHOAL_OK : SHOAL_ENOMEM;
}

/* ---- every byte ---- */

struct check {
    const struct late *late;
    const struct fasttext_matrix *m;
    const char *what;
    unsigned threads;
};

static shoal_status check_thread(void *ctx, unsigned index)
{
    const struct check *c = ctx;
    size_t end = c->m->rows * (index + 1) / c->threads;
    float *row = mem_array(c->m->cols, sizeof *row);
    shoal_status st = row ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = c->m->rows * index / c->threads; i < end && st == SHOAL_OK; i++) {
        fasttext_row(c->m, i, row);
        if (!dtype_all_finite(SHOAL_F32, row, c->m->cols))
            st = shoal_fail(SHOAL_EFORMAT,
                            "%s: row %zu of its %s matrix holds a NaN or an infinity, want finite "
                            "numbers",
                            c->late->path, i + 1, c->what);
    }
    free(row);
    return st;
}

shoal_status late_verify(const shoal_vectors *v)
{
    const struct fasttext *f = &v->late->model;
    struct check in = {v->late, &f->input, "input", 0}, out = {v->late, &f->output, "output", 0};
    shoal_status st;

    in.threads = vectors_threads(f->input.rows * v->stride);
    out.threads = vectors_threads(f->output.rows * v->stride);
    st = pool_run(in.threads, check_thread, &in);
    return st == SHOAL_OK ? pool_run(out.threads, check_thread, &out) : st;
}
