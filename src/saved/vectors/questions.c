/* What is asked of words: eval answers, over their rows. */
#include "saved/vectors/vectors.h"

shoal_status vectors_rows(struct rows *out, const shoal_vectors *v)
{
    const char *rows;
    shoal_status st = vectors_all(v, &rows);

    *out = (struct rows){rows, v->dtype, v->stride, v->size, v->dim, NULL};
    return st == SHOAL_OK ? kernel_choose(&out->kernel) : st;
}

shoal_status shoal_nearest(const shoal_vectors *v, const float *query, const uint32_t *skip,
                           size_t nskip, unsigned threads, struct shoal_hit *hits, size_t k,
                           size_t *found)
{
    struct rows rows;
    shoal_status st = vectors_rows(&rows, v);

    *found = 0;
    return st == SHOAL_OK ? nearest_to(&rows, query, skip, nskip, threads, hits, k, found) : st;
}

shoal_status shoal_analogy(const shoal_vectors *v, uint32_t a, uint32_t b, uint32_t c,
                           enum shoal_analogy how, unsigned threads, struct shoal_hit *hits,
                           size_t k, size_t *found)
{
    uint32_t abc[3] = {a, b, c};
    struct rows rows;
    shoal_status st = vectors_rows(&rows, v);

    *found = 0;
    return st == SHOAL_OK ? nearest_analogy(&rows, abc, how, threads, hits, k, found) : st;
}

shoal_status shoal_cosine(const shoal_vectors *v, uint32_t a, uint32_t b, double *out)
{
    struct rows rows;
    shoal_status st = vectors_rows(&rows, v);

    *out = 0;
    return st == SHOAL_OK ? nearest_cosine(&rows, a, b, out) : st;
}

shoal_status shoal_odd(const shoal_vectors *v, const uint32_t *ids, size_t n, size_t *odd)
{
    struct rows rows;
    shoal_status st = vectors_rows(&rows, v);

    *odd = 0;
    return st == SHOAL_OK ? nearest_odd(&rows, ids, n, odd) : st;
}

shoal_status shoal_spellings(const shoal_vectors *v, const char *word, uint32_t *ids, size_t k,
                             size_t *found)
{
    return spelling_near(v->vocab, word, ids, k, found);
}

shoal_status shoal_eval_run(const shoal_eval *e, const shoal_vectors *v,
                            const struct shoal_eval_opts *opts, struct shoal_score **scores,
                            size_t *n)
{
    struct rows rows;
    shoal_status st = vectors_rows(&rows, v);

    *scores = NULL;
    *n = 0;
    return st == SHOAL_OK ? eval_run(e, v->vocab, &rows, opts, scores, n) : st;
}
