/* The vector of a text: the mean of those of its words.
 *
 * A word counts as it stands in the text; where it is not known so, its letters and digits in lower
 * case do, and then its n-grams, if the vectors have any. So "Paris," is "Paris" or "paris". */
#include "saved/vectors/vectors.h"

#include <math.h>
#include <stdlib.h>

struct text_sum {
    const shoal_vectors *v;
    float *sum, *room; /* [dim] */
    size_t words, known;
};

/* Each word counts the same, whatever its vector's length. */
static void add_unit(struct text_sum *t)
{
    double length = sqrt(vector_dot(t->room, t->room, t->v->dim));

    if (!(length > 0) || !isfinite(length))
        return;
    for (size_t j = 0; j < t->v->dim; j++)
        t->sum[j] += (float)(t->room[j] / length);
    t->known++;
}

static shoal_status add_composed(struct text_sum *t, struct span word)
{
    shoal_status st = shoal_vectors_compose(t->v, word.at, word.len, t->room, NULL);

    if (st == SHOAL_OK)
        add_unit(t);
    return st == SHOAL_ENOENT ? SHOAL_OK : st;
}

/* What a word is made of when it is not known itself. */
static shoal_status add_pieces(struct text_sum *t, struct span word)
{
    static const struct rules rules = {SHOAL_TOKENS_WORDS, SHOAL_BAD_SPACE, false};
    struct block cleaned = {.last = true};
    struct span *pieces = NULL;
    size_t n = 0;
    shoal_status st = text_words(word.at, word.len, &rules, &cleaned, &pieces, &n);

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        if (pieces[i].len == 0)
            continue;
        t->words++;
        st = add_composed(t, pieces[i]);
    }
    free(pieces);
    block_fini(&cleaned);
    return st;
}

static shoal_status add_word(struct text_sum *t, struct span word)
{
    uint32_t id = shoal_vectors_find(t->v, word.at, word.len);
    shoal_status st;

    if (id == SHOAL_NO_ID)
        return add_pieces(t, word);
    t->words++;
    st = shoal_vectors_row(t->v, id, t->room);
    if (st == SHOAL_OK)
        add_unit(t);
    return st;
}

shoal_status shoal_vectors_text(const shoal_vectors *v, const char *text, size_t len, float *out,
                                size_t *words, size_t *known)
{
    struct text_sum t = {.v = v, .sum = out, .room = mem_array(v->dim, sizeof *out)};
    const char *at = text, *end = text + len;
    struct span word;
    double length;
    shoal_status st = t.room ? SHOAL_OK : SHOAL_ENOMEM;

    memset(out, 0, v->dim * sizeof *out);
    if (st == SHOAL_OK && len > UINT32_MAX)
        st = shoal_fail(SHOAL_ELIMIT, "text: found %zu bytes, want at most %u", len, UINT32_MAX);
    while (st == SHOAL_OK && token_next(&at, end, &word))
        st = add_word(&t, word);
    length = sqrt(vector_dot(out, out, v->dim));
    for (size_t j = 0; j < v->dim && length > 0; j++)
        out[j] = (float)(out[j] / length);
    *words = t.words;
    *known = length > 0 ? t.known : 0;
    free(t.room);
    return st;
}
