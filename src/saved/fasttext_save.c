/* The parts of a model, as a file of fastText's. What fastText demands of it beyond the format: an
 * input row for each word and bucket, an output row for each word or label, and, where the loss is
 * made of counts (ns, hs), counts that do not increase. */
#include "saved/fasttext.h"

#include <stdlib.h>

enum { MAGIC = 793712314, VERSION = 12 };

/* ---- numbers ---- */

static shoal_status put(struct output *o, shoal_status st, const void *data, size_t len)
{
    return st == SHOAL_OK ? output_write(o, data, len) : st;
}

static shoal_status put_i32(struct output *o, shoal_status st, int64_t x)
{
    int32_t as = (int32_t)x;

    return put(o, st, &as, sizeof as);
}

static shoal_status put_i64(struct output *o, shoal_status st, uint64_t x)
{
    return put(o, st, &x, sizeof x);
}

/* ---- the parts ---- */

static shoal_status write_args(const struct fasttext_args *a, struct output *o)
{
    const int32_t all[] = {MAGIC,    VERSION,  a->dim,         a->ws,   a->epoch,
                           a->min_count, a->neg, a->word_ngrams, a->loss, a->model,
                           a->bucket,    a->minn, a->maxn,        a->lr_update_rate};

    return put(o, output_write(o, all, sizeof all), &a->t, sizeof a->t);
}

static shoal_status write_entry(const struct fasttext_model_out *m, size_t i, struct output *o)
{
    uint64_t count = 0;
    struct span word = m->entry(m->from, i, &count);
    char type = i >= m->nwords;
    shoal_status st;

    if (word.len == 0 || memchr(word.at, '\0', word.len))
        return shoal_fail(SHOAL_EINVAL, "fasttext: word %zu is empty or holds a NUL", i + 1);
    st = output_write(o, word.at, word.len);
    st = put(o, st, "", 1);
    st = put_i64(o, st, count);
    return put(o, st, &type, 1);
}

static uint64_t tokens_of(const struct fasttext_model_out *m)
{
    uint64_t total = 0, count;

    for (size_t i = 0; i < m->nwords + m->nlabels; i++) {
        m->entry(m->from, i, &count);
        total += count;
    }
    return total;
}

static shoal_status write_dictionary(const struct fasttext_model_out *m, struct output *o)
{
    size_t n = m->nwords + m->nlabels;
    shoal_status st = put_i32(o, SHOAL_OK, (int64_t)n);

    st = put_i32(o, st, (int64_t)m->nwords);
    st = put_i32(o, st, (int64_t)m->nlabels);
    st = put_i64(o, st, m->ntokens > 0 ? (uint64_t)m->ntokens : tokens_of(m));
    st = put_i64(o, st, m->pruned ? m->nkept : UINT64_MAX);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = write_entry(m, i, o);
    return m->pruned ? put(o, st, m->kept, m->nkept * sizeof *m->kept) : st;
}

static shoal_status write_dense(const struct fasttext_rows *r, struct output *o)
{
    float *row = mem_array(r->cols, sizeof *row);
    shoal_status st = row ? put_i64(o, SHOAL_OK, r->rows) : SHOAL_ENOMEM;

    st = put_i64(o, st, r->cols);
    for (size_t i = 0; i < r->rows && st == SHOAL_OK; i++) {
        st = r->row(r->from, i, row);
        st = put(o, st, row, r->cols * sizeof *row);
    }
    free(row);
    return st;
}

static shoal_status write_quantiser(size_t cols, size_t dsub, const float *centroids,
                                    struct output *o, shoal_status st)
{
    st = put_i32(o, st, (int64_t)cols);
    st = put_i32(o, st, (int64_t)pq_parts(cols, dsub));
    st = put_i32(o, st, (int64_t)dsub);
    st = put_i32(o, st, (int64_t)(cols - (pq_parts(cols, dsub) - 1) * dsub));
    return put(o, st, centroids, cols * PQ_CENTROIDS * sizeof *centroids);
}

static shoal_status write_quantised(const struct pq *p, struct output *o)
{
    char norms = p->norm_codes != NULL;
    shoal_status st = output_write(o, &norms, 1);

    st = put_i64(o, st, p->rows);
    st = put_i64(o, st, p->cols);
    st = put_i32(o, st, (int64_t)(p->rows * p->parts));
    st = put(o, st, p->codes, p->rows * p->parts);
    st = write_quantiser(p->cols, p->dsub, p->centroids, o, st);
    if (!norms)
        return st;
    st = put(o, st, p->norm_codes, p->rows);
    return write_quantiser(1, 1, p->norms, o, st);
}

static shoal_status write_matrix(const struct fasttext_rows *r, struct output *o, shoal_status st)
{
    char quantised = r->pq != NULL;

    st = put(o, st, &quantised, 1);
    if (st != SHOAL_OK)
        return st;
    return quantised ? write_quantised(r->pq, o) : write_dense(r, o);
}

static shoal_status check_size(const char *path, const char *what, size_t n)
{
    if (n <= INT32_MAX)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "%s: has %zu %s, and fastText at most %d", path, n, what,
                      INT32_MAX);
}

static shoal_status check(const char *path, const struct fasttext_model_out *m)
{
    shoal_status st = check_size(path, "words", m->nwords + m->nlabels);

    if (st == SHOAL_OK)
        st = check_size(path, "rows", m->input.rows);
    if (st == SHOAL_OK && m->input.pq)
        st = check_size(path, "codes", m->input.rows * m->input.pq->parts);
    return st;
}

shoal_status fasttext_save(const char *path, const struct fasttext_model_out *m)
{
    struct output *o = NULL;
    shoal_status st = check(path, m);

    if (st == SHOAL_OK)
        st = output_open(&o, path);
    if (st != SHOAL_OK)
        return st;
    st = write_args(&m->args, o);
    if (st == SHOAL_OK)
        st = write_dictionary(m, o);
    st = write_matrix(&m->input, o, st);
    st = write_matrix(&m->output, o, st);
    return output_end(o, st);
}
