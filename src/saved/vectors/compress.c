/* Vectors made small: the rows of words and n-grams product-quantised, those of small length left
 * out if asked for. Of a word that is left out its n-grams remain, of an n-gram nothing. */
#include "saved/vectors/vectors.h"

#include <stdlib.h>

struct shoal_compress_opts shoal_compress_default(void)
{
    return (struct shoal_compress_opts){.dsub = 2, .seed = 1};
}

struct compressing {
    const shoal_vectors *v;
    const struct shoal_compress_opts *opts;
    shoal_vectors grams;
    size_t rows;       /* of words and n-grams */
    uint32_t *chosen;  /* [n] rows that are kept: words, then n-grams; both in their order */
    size_t n, nwords;  /* of them */
};

/* ---- rows ---- */

static shoal_status any_row(const void *from, size_t row, float *out)
{
    const struct compressing *c = from;
    size_t words = c->v->size;

    return row < words ? grams_own(c->v, (uint32_t)row, out)
                       : shoal_vectors_row(&c->grams, (uint32_t)(row - words), out);
}

static shoal_status chosen_row(const void *from, size_t i, float *out)
{
    const struct compressing *c = from;

    return any_row(c, c->chosen[i], out);
}

/* ---- which are kept ---- */

static shoal_status choose(struct compressing *c)
{
    uint32_t end = shoal_vectors_find(c->v, "</s>", 4);
    shoal_status st;

    c->chosen = mem_array(c->rows, sizeof *c->chosen);
    if (!c->chosen)
        return SHOAL_ENOMEM;
    st = pq_choose(c->chosen, &c->n, c->rows, c->v->dim, any_row, c, (size_t)c->opts->cutoff,
                   end == SHOAL_NO_ID ? SIZE_MAX : end, c->opts->threads);
    while (c->nwords < c->n && c->chosen[c->nwords] < c->v->size)
        c->nwords++;
    if (st == SHOAL_OK && c->nwords == 0)
        st = shoal_fail(SHOAL_EINVAL,
                        "compress: the %zu longest rows are all of n-grams, want a cutoff that "
                        "leaves words",
                        c->n);
    return st;
}

/* ---- what they become ---- */

static shoal_status name_chosen(struct naming *out, const struct compressing *c)
{
    struct span *words = mem_array(c->nwords, sizeof *words);
    uint64_t *counts = mem_array(c->nwords, sizeof *counts);
    struct word_list list = {
        .path = "compress", .words = words, .counts = counts, .n = c->nwords};
    shoal_status st = words && counts ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; st == SHOAL_OK && i < c->nwords; i++) {
        const char *word = shoal_vectors_word(c->v, c->chosen[i]);

        words[i] = (struct span){word, (uint32_t)strlen(word)};
        counts[i] = shoal_vectors_count(c->v, c->chosen[i]);
    }
    if (st == SHOAL_OK)
        st = naming_make(out, &list);
    free(words);
    free(counts);
    return st;
}

static shoal_status keep_grams(struct fasttext *f, const struct compressing *c)
{
    f->pruned = c->n < c->rows;
    f->nkept = f->pruned ? c->n - c->nwords : 0;
    if (f->nkept == 0)
        return SHOAL_OK;
    f->kept = mem_array(f->nkept, sizeof *f->kept);
    if (!f->kept)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < f->nkept; i++)
        f->kept[i] = (struct fasttext_kept){
            c->chosen[c->nwords + i] - (uint32_t)c->v->size, (uint32_t)i};
    return fasttext_index(f);
}

static shoal_status quantise(struct late *late, const struct compressing *c)
{
    struct fasttext *f = &late->model;
    struct pq_opts opts = {.dsub = c->opts->dsub,
                           .norms = c->opts->qnorm,
                           .seed = c->opts->seed,
                           .threads = c->opts->threads};
    shoal_status st;

    f->path = late->path;
    f->args = vectors_fasttext_args(c->v->dim, &c->v->grams.how);
    f->nwords = c->nwords;
    f->input = (struct fasttext_matrix){.rows = c->n, .cols = c->v->dim};
    st = keep_grams(f, c);
    return st == SHOAL_OK ? pq_make(&f->input.pq, c->n, c->v->dim, chosen_row, c, &opts) : st;
}

static shoal_status compress(shoal_vectors **out, struct compressing *c)
{
    struct naming names = {0};
    struct late *late = NULL;
    shoal_status st = choose(c);

    if (st == SHOAL_OK)
        st = name_chosen(&names, c);
    if (st == SHOAL_OK)
        st = late_new(&late, "compress");
    if (st == SHOAL_OK)
        st = quantise(late, c);
    if (st == SHOAL_OK)
        st = vectors_new_late(out, SHOAL_FORMAT_AUTO, late, &names);
    naming_fini(&names);
    if (st != SHOAL_OK)
        late_free(late, 0, 0, 0);
    return st;
}

shoal_status shoal_vectors_compress(shoal_vectors **out, const shoal_vectors *v,
                                    const struct shoal_compress_opts *opts)
{
    struct compressing c = {.v = v,
                            .opts = opts,
                            .grams = grams_as_vectors(v)};
    shoal_status st;

    *out = NULL;
    if (vectors_packed(v))
        return shoal_fail(SHOAL_EINVAL, "compress: the vectors are quantised already");
    if (v->grams.how.hashes > 0)
        return shoal_fail(SHOAL_EINVAL, "compress: words that are hashed have no rows of their own, "
                                        "want vectors with them");
    c.rows = v->size + c.grams.size;
    if (c.rows >= UINT32_MAX)
        return shoal_fail(SHOAL_EINVAL, "compress: found %zu rows, want less than %u", c.rows,
                          UINT32_MAX);
    st = compress(out, &c);
    free(c.chosen);
    return st;
}
