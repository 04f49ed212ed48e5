/* Words that are several rows: with subwords a word's vector is the mean of a row of its own and of
 * those of its n-grams (Bojanowski et al. 2017).
 *
 * The problem: a word of the text has some twenty rows, anywhere in a table of gigabytes, and
 * stands in ten windows. To add them up and to scatter the gradient for each pair of words, as the
 * paper does, is forty times the work of the step itself. So this is done once for each different
 * word of a span:
 *
 *     rows of the table     own + n-grams  --mean-->  now    one vector a word, in the cache
 *                                                      |     all windows of the span train on it
 *     own, n-grams  <--add to each of them--  now - base     what they changed
 *
 * As in the paper each row gets the whole of the change, so the mean moves by it, as far as the
 * word's vector did. What words that share n-grams learn reaches each other with the next span. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLACES = 2048, /* of the hash table: over twice as many as there can be words */
    PLACE_BITS = 11,
};

_Static_assert(2 * WINDOWS_KEPT < PLACES, "a hash table of words must not fill up");

struct composed {
    const struct w2v *w;
    struct view *in;
    size_t n;                     /* different words of the span */
    float *now, *base;            /* [WINDOWS_KEPT][stride] their vectors, and as they were made */
    uint32_t word[WINDOWS_KEPT];  /* [n] */
    uint32_t times[WINDOWS_KEPT]; /* [n] how often each stands there */
    float *row[WINDOWS_KEPT];     /* of each kept word its vector */
    uint32_t place[PLACES];       /* hash table: 1 + the index of a word, 0: free */
};

size_t composed_bytes(size_t dim)
{
    return sizeof(struct composed) + 2 * table_bytes(WINDOWS_KEPT, dim);
}

shoal_status composed_new(struct composed **out, const struct w2v *w, struct view *in)
{
    struct composed *c = mem_array(1, sizeof *c);

    *out = NULL;
    if (!c)
        return SHOAL_ENOMEM;
    c->w = w;
    c->in = in;
    c->now = mem_map(table_bytes(WINDOWS_KEPT, w->dim));
    c->base = c->now ? mem_map(table_bytes(WINDOWS_KEPT, w->dim)) : NULL;
    if (!c->base) {
        composed_free(c);
        return SHOAL_ENOMEM;
    }
    *out = c;
    return SHOAL_OK;
}

void composed_free(struct composed *c)
{
    if (!c)
        return;
    mem_unmap(c->now, table_bytes(WINDOWS_KEPT, c->w->dim));
    mem_unmap(c->base, table_bytes(WINDOWS_KEPT, c->w->dim));
    free(c);
}

/* ---- which words ---- */

/* The index of a word, which is the next one when it is new. */
static uint32_t index_of(struct composed *c, uint32_t word)
{
    uint32_t at = word * 2654435769u >> (32 - PLACE_BITS);

    while (c->place[at] && c->word[c->place[at] - 1] != word)
        at = (at + 1) % PLACES;
    if (!c->place[at]) {
        c->word[c->n] = word;
        c->times[c->n] = 0;
        c->place[at] = (uint32_t)++c->n;
    }
    return c->place[at] - 1;
}

static void find_words(struct composed *c, const struct windows *ws)
{
    size_t stride = table_stride(c->w->dim);

    c->n = 0;
    memset(c->place, 0, sizeof c->place);
    for (uint32_t i = 0; i < ws->kept_count; i++) {
        uint32_t k;

        if (ws->kept[i] == SHOAL_SENTENCE_END)
            continue;
        k = index_of(c, ws->kept[i]);
        c->times[k]++;
        c->row[i] = c->now + k * stride;
    }
}

/* ---- their rows ---- */

static inline size_t rows_of(const struct w2v *w, uint32_t word)
{
    return w2v_rows(w->grams, word);
}

static inline uint32_t row_of(const struct w2v *w, uint32_t word, size_t i)
{
    return w2v_row(w->grams, word, i);
}

static inline void fetch(const float *row, size_t stride)
{
    for (size_t j = 0; j < stride; j += KERNEL_LANES)
        __builtin_prefetch(row + j, 1);
}

/* Row i of a word, while row i of the next one is fetched: there is no next behind the last. */
static inline float *take_row(struct composed *c, size_t k, size_t i, size_t stride)
{
    if (k + 1 < c->n && i < rows_of(c->w, c->word[k + 1]))
        fetch(view_row(c->in, row_of(c->w, c->word[k + 1], i)), stride);
    return i < rows_of(c->w, c->word[k]) ? view_row(c->in, row_of(c->w, c->word[k], i)) : NULL;
}

/* So many steps take_row has for word k: its rows, and those of the next one that are fetched. */
static inline size_t steps_of(const struct composed *c, size_t k)
{
    size_t own = rows_of(c->w, c->word[k]);
    size_t next = k + 1 < c->n ? rows_of(c->w, c->word[k + 1]) : 0;

    return own > next ? own : next;
}

/* A word without any row, as `</s>` may be, is zero. */
static void make_word(struct composed *c, size_t k, size_t stride)
{
    const struct kernel *kernel = c->w->kernel;
    size_t n = rows_of(c->w, c->word[k]);
    float *sum = c->now + k * stride;

    if (n == 0)
        memset(sum, 0, stride * sizeof *sum);
    for (size_t i = 0; i < steps_of(c, k); i++) {
        const float *row = take_row(c, k, i, stride);

        if (row && i == 0)
            kernel->copy(sum, row, stride);
        else if (row)
            kernel->axpy(sum, 1, row, stride);
    }
    if (n > 1)
        kernel->scale(sum, 1.0f / (float)n, stride);
}

float *const *composed_make(struct composed *c, const struct windows *ws)
{
    size_t stride = table_stride(c->w->dim);

    find_words(c, ws);
    for (size_t k = 0; k < c->n; k++)
        make_word(c, k, stride);
    memcpy(c->base, c->now, c->n * stride * sizeof *c->base);
    return c->row;
}

void composed_give(struct composed *c)
{
    const struct kernel *kernel = c->w->kernel;
    size_t stride = table_stride(c->w->dim);

    for (size_t k = 0; k < c->n; k++) {
        float *change = c->now + k * stride;

        kernel->axpy(change, -1, c->base + k * stride, stride);
        for (size_t i = 0; i < steps_of(c, k); i++) {
            float *row = take_row(c, k, i, stride);

            if (row)
                kernel->axpy(row, 1, change, stride);
        }
    }
}

size_t composed_rows(const struct composed *c)
{
    size_t rows = 0;

    for (size_t k = 0; k < c->n; k++)
        rows += rows_of(c->w, c->word[k]);
    return rows;
}

void composed_count(struct composed *c)
{
    struct view in = *c->in; /* what counting writes might else be in it */

    for (size_t k = 0; k < c->n; k++)
        for (size_t i = 0; i < rows_of(c->w, c->word[k]); i++)
            view_count_times(&in, row_of(c->w, c->word[k], i), c->times[k]);
}

void w2v_compose(const struct w2v *w, const struct table *in, uint32_t word, float *out)
{
    size_t n = rows_of(w, word);

    if (n == 0)
        memset(out, 0, in->stride * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        const float *row = in->at + row_of(w, word, i) * in->stride;

        if (i > 0)
            w->kernel->axpy(out, 1, row, in->stride);
        else if (out != row)
            memcpy(out, row, in->stride * sizeof *out);
    }
    if (n > 1)
        w->kernel->scale(out, 1.0f / (float)n, in->stride);
}
