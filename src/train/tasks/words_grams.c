/* Word vectors with subwords: the input table has a row for each word, and behind those one for
 * each bucket of n-grams. */
#include "train/tasks/words.h"

#include <stdlib.h>
#include <string.h>

struct subwords words_subwords(const struct train_opts *o)
{
    return (struct subwords){.minn = o->minn, .maxn = o->maxn,
                             .buckets = o->maxn > 0 ? o->buckets : 0, .hashes = o->hash_only};
}

size_t words_in_rows(const struct train_opts *o, size_t words)
{
    return words + words_subwords(o).buckets;
}

static size_t grams_of(const struct subwords *how, const shoal_vocab *vocab, uint32_t id,
                       uint32_t *out, size_t cap)
{
    const char *word = shoal_vocab_word(vocab, id);

    return subwords_list(how, word, strlen(word), out, cap);
}

/* ---- the plan ---- */

struct grams_plan words_grams_plan(const struct train_opts *o, const shoal_vocab *vocab)
{
    struct subwords how = words_subwords(o);
    uint64_t total = shoal_vocab_total(vocab);
    struct grams_plan p = {.each = 1};
    double sum = 0;

    for (uint32_t id = 0; how.maxn > 0 && id < shoal_vocab_size(vocab); id++) {
        size_t n = grams_of(&how, vocab, id, NULL, 0);

        p.bytes += sizeof(size_t) + n * sizeof(uint32_t);
        sum += (double)n * (double)shoal_vocab_count(vocab, id);
    }
    if (total > 0)
        p.each += sum / (double)total;
    if (how.maxn > 0)
        p.bytes += rows_workers(o) * composed_bytes(o->dim);
    return p;
}

/* ---- which rows a word has ---- */

shoal_status words_grams_make(struct w2v_grams *out, const struct train_opts *o,
                              const shoal_vocab *vocab)
{
    struct subwords how = words_subwords(o);
    size_t words = shoal_vocab_size(vocab);

    *out = (struct w2v_grams){.from = mem_array(words + 1, sizeof *out->from),
                              .hashed = how.hashes > 0};
    if (!out->from)
        return SHOAL_ENOMEM;
    for (uint32_t id = 0; id < words; id++)
        out->from[id + 1] = out->from[id] + grams_of(&how, vocab, id, NULL, 0);
    out->row = mem_array(out->from[words], sizeof *out->row);
    if (!out->row)
        return SHOAL_ENOMEM;
    for (uint32_t id = 0; id < words; id++)
        grams_of(&how, vocab, id, out->row + out->from[id], out->from[id + 1] - out->from[id]);
    for (size_t i = 0; i < out->from[words]; i++)
        out->row[i] += (uint32_t)words;
    return SHOAL_OK;
}

void words_grams_free(struct w2v_grams *g)
{
    free(g->from);
    free(g->row);
    *g = (struct w2v_grams){0};
}

/* ---- words as they are asked for ---- */

struct composing {
    const struct w2v *w;
    const struct table *in;
    struct table *out;
    unsigned threads;
};

static shoal_status compose_thread(void *ctx, unsigned index)
{
    const struct composing *c = ctx;
    size_t words = c->w->words;

    for (size_t i = words * index / c->threads; i < words * (index + 1) / c->threads; i++)
        w2v_compose(c->w, c->in, (uint32_t)i, c->out->at + i * c->out->stride);
    return SHOAL_OK;
}

shoal_status words_compose(const struct w2v *w, const struct table *in, struct table *out,
                           unsigned threads)
{
    struct composing c = {w, in, out, threads};

    return pool_run(threads, compose_thread, &c);
}

shoal_status words_compose_unseen(const void *from, const char *word, size_t len, float *out)
{
    const struct words_unseen *u = from;
    size_t n = subwords_list(&u->how, word, len, NULL, 0);
    uint32_t *list = mem_array(n, sizeof *list);
    bool trained = false;

    if (!list)
        return SHOAL_ENOMEM;
    subwords_list(&u->how, word, len, list, n);
    memset(out, 0, u->in->width * sizeof *out);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < u->in->width; j++)
            out[j] += u->in->at[(u->words + list[i]) * u->in->stride + j];
    for (size_t j = 0; j < u->in->width && n > 0; j++) {
        trained |= out[j] != 0;
        out[j] *= (float)(1.0 / (double)n);
    }
    free(list);
    return trained ? SHOAL_OK
                   : shoal_fail(SHOAL_ENOENT, "words: `%.*s` has no n-grams that were trained",
                                (int)(len < 80 ? len : 80), word);
}

/* ---- several ranks ---- */

shoal_status words_expect_rows(struct store *s, const struct w2v *w, const uint32_t *ids, size_t n)
{
    bool own = !w->grams || !w->grams->hashed;
    shoal_status st = own ? store_expect(s, IN, ids, n) : SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK && w->grams; i++)
        if (ids[i] < w->words)
            st = store_expect(s, IN, w->grams->row + w->grams->from[ids[i]],
                              w->grams->from[ids[i] + 1] - w->grams->from[ids[i]]);
    return st;
}
