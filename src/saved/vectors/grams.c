/* The rows of n-grams beside the vectors: words that were never seen are composed of them, and
 * the own rows of those that were are found again. */
#include "saved/vectors/vectors.h"

#include <stdlib.h>

/* The rows of a fastText model lie behind those of its words. */
static bool add_of_model(const struct fasttext *f, uint32_t bucket, float *sum)
{
    uint32_t row = fasttext_bucket_row(f, bucket);

    if (row == FASTTEXT_NO_ROW)
        return false;
    fasttext_add(&f->input, row, sum);
    return true;
}

bool grams_add(const struct grams *g, size_t dim, uint32_t bucket, float *sum)
{
    const char *row;
    float part[64];

    if (g->of)
        return add_of_model(g->of, bucket, sum);
    row = g->rows + bucket * g->stride;
    for (size_t from = 0, n; from < dim; from += n) {
        n = dim - from < 64 ? dim - from : 64;
        dtype_decode(g->dtype, row + from * dtype_size(g->dtype), g->scales ? g->scales[bucket] : 1,
                     n, part);
        for (size_t j = 0; j < n; j++)
            sum[from + j] += part[j];
    }
    return true;
}

enum { LIST_SHORT = 512 }; /* n-grams: more than nearly every word has */

/* The buckets of a word's n-grams, in `few` or in memory of their own, which *many is. */
static shoal_status list_buckets(const struct subwords *how, const char *word, size_t len,
                                 uint32_t few[LIST_SHORT], uint32_t **many, size_t *n)
{
    *many = NULL;
    *n = subwords_list(how, word, len, few, LIST_SHORT);
    if (*n <= LIST_SHORT)
        return SHOAL_OK;
    *many = mem_array(*n, sizeof **many);
    if (!*many)
        return SHOAL_ENOMEM;
    subwords_list(how, word, len, *many, *n);
    return SHOAL_OK;
}

shoal_status grams_add_all(const shoal_vectors *v, const char *word, size_t len, float *sum,
                           size_t *n)
{
    uint32_t few[LIST_SHORT], *many;
    size_t listed;
    shoal_status st = list_buckets(&v->grams.how, word, len, few, &many, &listed);

    *n = 0;
    for (size_t i = 0; st == SHOAL_OK && i < listed; i++)
        *n += grams_add(&v->grams, v->dim, many ? many[i] : few[i], sum);
    free(many);
    return st;
}

shoal_status grams_sum(const shoal_vectors *v, const char *word, size_t len, float *out,
                       size_t *n)
{
    memset(out, 0, v->dim * sizeof *out);
    return grams_add_all(v, word, len, out, n);
}

shoal_status grams_own(const shoal_vectors *v, uint32_t id, float *out)
{
    const char *word = shoal_vectors_word(v, id);
    float *sum = mem_array(v->dim, sizeof *sum);
    size_t n = 0;
    shoal_status st = sum ? shoal_vectors_row(v, id, out) : SHOAL_ENOMEM;

    if (st == SHOAL_OK && v->late) {
        late_own(v, id, out);
        free(sum);
        return SHOAL_OK;
    }
    if (st == SHOAL_OK)
        st = grams_sum(v, word, strlen(word), sum, &n);
    for (size_t j = 0; st == SHOAL_OK && j < v->dim; j++)
        out[j] = (float)(n + 1) * out[j] - sum[j];
    free(sum);
    return st;
}

shoal_vectors grams_as_vectors(const shoal_vectors *v)
{
    const struct grams *g = &v->grams;

    return (shoal_vectors){.size = g->how.maxn > 0 && g->rows ? g->how.buckets : 0,
                           .dim = v->dim,
                           .dtype = g->dtype,
                           .stride = g->stride,
                           .rows = g->rows,
                           .scales = g->scales};
}

/* ---- any word ---- */

struct shoal_subwords shoal_vectors_subwords(const shoal_vectors *v)
{
    const struct subwords *how = &v->grams.how;

    return (struct shoal_subwords){how->minn, how->maxn, how->buckets, how->hashes};
}

bool row_is_zero(const float *x, size_t n)
{
    for (size_t j = 0; j < n; j++)
        if (x[j] != 0)
            return false;
    return true;
}

/* A word may have none, or training met none of them: then there is no vector. */
static shoal_status fail_unknown(const shoal_vectors *v, const char *word, size_t len)
{
    return shoal_fail(SHOAL_ENOENT, "vectors: `%.*s` is not among the %zu words%s",
                      (int)(len < 80 ? len : 80), word, v->size,
                      v->grams.how.maxn > 0 ? " and has no n-grams that were trained"
                                            : ", and they have no subwords");
}

shoal_status shoal_vectors_compose(const shoal_vectors *v, const char *word, size_t len,
                                   float *out, bool *known)
{
    uint32_t id = shoal_vectors_find(v, word, len);
    size_t n = 0;
    shoal_status st;

    if (known)
        *known = id != SHOAL_NO_ID;
    if (id != SHOAL_NO_ID)
        return shoal_vectors_row(v, id, out);
    st = grams_sum(v, word, len, out, &n);
    if (st == SHOAL_OK && (n == 0 || row_is_zero(out, v->dim)))
        return fail_unknown(v, word, len);
    for (size_t j = 0; st == SHOAL_OK && j < v->dim; j++)
        out[j] *= (float)(1.0 / (double)n); /* as fastText does, to the bit */
    return st;
}

/* ---- the rows ---- */

size_t shoal_subwords_list(const struct shoal_subwords *how, const char *word, size_t len,
                           uint32_t *out, size_t cap)
{
    struct subwords s = {.minn = how->minn, .maxn = how->maxn, .buckets = how->buckets};

    return s.maxn > 0 && s.buckets > 0 ? subwords_list(&s, word, len, out, cap) : 0;
}

struct shoal_matrix shoal_vectors_grams(const shoal_vectors *v)
{
    const struct grams *g = &v->grams;

    if (g->how.maxn == 0 || !g->rows || g->dtype != SHOAL_F32 ||
        (uintptr_t)g->rows % sizeof(float) != 0 || g->stride % sizeof(float) != 0)
        return (struct shoal_matrix){0};
    return (struct shoal_matrix){(const float *)(const void *)g->rows, g->how.buckets, v->dim,
                                 g->stride / sizeof(float), NULL};
}

shoal_status shoal_vectors_gram_rows(const shoal_vectors *v, uint32_t first, uint32_t n, float *out)
{
    uint32_t buckets = v->grams.how.maxn > 0 ? v->grams.how.buckets : 0;

    if (first > buckets || n > buckets - first)
        return shoal_fail(SHOAL_EINVAL, "vectors: found rows of n-grams from %u on, %u of them, want "
                          "some of %u", first, n, buckets);
    for (uint32_t i = 0; i < n; i++)
        vectors_gram_row(v, first + i, out + (size_t)i * v->dim);
    return SHOAL_OK;
}
