/* Words of a suite that the vocabulary has not, where something can make vectors of them. */
#include "eval/suite.h"

/* Whether the vocabulary has letters that are capital: of one that has none, words were made
 * small before they were counted, and so must those be that are asked about. */
static bool has_capitals(const shoal_vocab *vocab)
{
    for (uint32_t id = 0; id < shoal_vocab_size(vocab); id++)
        for (const char *at = shoal_vocab_word(vocab, id); *at; at++)
            if (*at >= 'A' && *at <= 'Z')
                return true;
    return false;
}

enum { CHARACTER = 4 }; /* bytes at most */

static void make_small(struct span word, struct bytes *out)
{
    static const struct rules keep = {.bad = SHOAL_BAD_KEEP};
    uint32_t code;

    for (size_t i = 0, n; i < word.len; i += n > 0 ? n : 1) {
        n = clean_code(word.at + i, word.len - i, &code);
        out->len += clean_lower(word.at + i, word.len - i, &keep, out->at + out->len);
    }
}

/* Word w as it is looked for: as it stands, or in small letters. */
static shoal_status spell(const struct asked *a, uint32_t w, bool small, struct bytes *out)
{
    struct span word = names_at(&a->suite->plain, w);
    shoal_status st;

    out->len = 0;
    st = bytes_reserve(out, (size_t)word.len * CHARACTER + KEY_PAD);
    if (st == SHOAL_OK && small)
        make_small(word, out);
    else if (st == SHOAL_OK)
        st = bytes_add(out, word.at, word.len);
    return st;
}

static shoal_status compose_word(struct asked *a, const struct composer *others, uint32_t w,
                                 const struct bytes *word)
{
    float *row = a->made.at + a->rows.nmade * a->made.stride;
    shoal_status st;

    if (shoal_vocab_find(a->vocab, word->at, word->len) != SHOAL_NO_ID)
        return SHOAL_OK; /* it is there, behind those that opts.top_words takes */
    st = others->compose(others->from, word->at, word->len, row);
    if (st == SHOAL_OK)
        a->ids[w] = (uint32_t)(a->rows.n + a->rows.nmade++);
    return st == SHOAL_ENOENT ? SHOAL_OK : st;
}

static size_t missing(const struct asked *a)
{
    size_t n = 0;

    for (size_t w = 0; w < a->suite->plain.n; w++)
        n += a->ids[w] == SHOAL_NO_ID;
    return n;
}

shoal_status asked_compose(struct asked *a, const struct composer *others)
{
    bool small = !a->opts.keep_case && !has_capitals(a->vocab);
    size_t n = missing(a);
    struct bytes word = {0};
    shoal_status st = n > 0 ? table_init(&a->made, "words", n, a->rows.dim) : SHOAL_OK;

    a->rows.made = a->made.at;
    for (uint32_t w = 0; w < a->suite->plain.n && n > 0 && st == SHOAL_OK; w++) {
        if (a->ids[w] != SHOAL_NO_ID)
            continue;
        st = spell(a, w, small, &word);
        if (st == SHOAL_OK)
            st = compose_word(a, others, w, &word);
    }
    bytes_fini(&word);
    return st;
}
