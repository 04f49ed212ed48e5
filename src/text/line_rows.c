/* What a model sees of a line: the rows of its words, of their n-grams of characters, and of
 * n-grams of words, which are known by a hash alone, as fastText's are, to the bit. Of the buckets
 * only those that the training text uses have rows: of two million a set of some megabytes uses a
 * part, and what nobody learned would only add noise. */
#include "text/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- buckets that are used ---- */

static size_t bit_words(const struct line_rows *f)
{
    return ((size_t)f->how.buckets + 63) / 64;
}

shoal_status line_rows_init(struct line_rows *f, size_t words, unsigned ngrams,
                           const struct subwords *how)
{
    *f = (struct line_rows){.words = (uint32_t)words, .ngrams = ngrams, .how = *how};
    if (ngrams <= 1 && how->maxn == 0)
        f->how.buckets = 0;
    f->bits = mem_array(bit_words(f) + 1, sizeof *f->bits);
    f->rank = mem_array(bit_words(f) + 1, sizeof *f->rank);
    if (f->bits && f->rank)
        return SHOAL_OK;
    line_rows_fini(f);
    return SHOAL_ENOMEM;
}

void line_rows_fini(struct line_rows *f)
{
    free(f->bits);
    free(f->rank);
    *f = (struct line_rows){0};
}

void line_rows_rank(struct line_rows *f)
{
    f->used = 0;
    for (size_t i = 0; i < bit_words(f); i++) {
        f->rank[i] = f->used;
        f->used += (uint32_t)__builtin_popcountll(f->bits[i]);
    }
}

/* The row of a bucket, into out if it has one; gives 1 or 0. */
static inline size_t put_bucket(const struct line_rows *f, uint32_t bucket, uint32_t *out)
{
    uint64_t bits, bit = 1ull << (bucket % 64);

    if (!f->bits) {
        *out = f->words + bucket;
        return 1;
    }
    bits = f->bits[bucket / 64];
    if (!(bits & bit)) {
        *out = f->words + f->used;
        return !f->skips;
    }
    *out = f->words + f->rank[bucket / 64] + (uint32_t)__builtin_popcountll(bits & (bit - 1));
    return 1;
}

/* ---- n-grams of words ---- */

/* The hash of the first word and of one more, both widened with their signs. */
static inline uint64_t hash_more(uint64_t h, uint32_t hash)
{
    return h * 116049371u + (uint64_t)(int64_t)(int32_t)hash;
}

static inline uint64_t hash_first(uint32_t hash)
{
    return (uint64_t)(int64_t)(int32_t)hash;
}

/* ---- what types are ---- */

static bool has_grams(const struct line_rows *f)
{
    return f->how.maxn > 0 && f->how.buckets > 0;
}

static bool is_line_end(const char *word, size_t len)
{
    return len == sizeof LINE_END - 1 && memcmp(word, LINE_END, len) == 0;
}

static size_t grams_of(const struct line_rows *f, const char *word, size_t len, uint32_t *out,
                       size_t cap)
{
    return is_line_end(word, len) ? 0 : subwords_list(&f->how, word, len, out, cap);
}

static shoal_status make_grams(struct line_types *t, const struct line_rows *f,
                               const shoal_vocab *types)
{
    size_t cap = 0;
    shoal_status st = SHOAL_OK;

    t->gram_start = mem_array(t->n + 1, sizeof *t->gram_start);
    if (!t->gram_start)
        return SHOAL_ENOMEM;
    for (uint32_t i = 0; i < t->n && st == SHOAL_OK; i++) {
        const char *word = shoal_vocab_word(types, i);
        size_t from = t->gram_start[i], len = strlen(word), n;

        n = grams_of(f, word, len, t->gram ? t->gram + from : NULL, cap - from);
        if (from + n > cap) {
            st = mem_grow(&t->gram, &cap, from + n, sizeof *t->gram);
            if (st == SHOAL_OK)
                grams_of(f, word, len, t->gram + from, n);
        }
        t->gram_start[i + 1] = from + n;
    }
    return st;
}

shoal_status line_types_make(struct line_types *t, const struct line_rows *f,
                             const shoal_vocab *types, const shoal_vocab *words)
{
    *t = (struct line_types){.n = shoal_vocab_size(types)};
    t->row = mem_array(t->n + 1, sizeof *t->row);
    t->hash = mem_array(t->n + 1, sizeof *t->hash);
    if (!t->row || !t->hash)
        return SHOAL_ENOMEM;
    for (uint32_t i = 0; i < t->n; i++) {
        const char *word = shoal_vocab_word(types, i);
        size_t len = strlen(word);

        t->hash[i] = subwords_hash(word, len);
        if (words)
            t->row[i] = shoal_vocab_find(words, word, len);
        else
            t->row[i] = i < f->words ? i : SHOAL_NO_ID;
    }
    return has_grams(f) ? make_grams(t, f, types) : SHOAL_OK;
}

void line_types_fini(struct line_types *t)
{
    free(t->row);
    free(t->hash);
    free(t->gram_start);
    free(t->gram);
    *t = (struct line_types){0};
}

/* ---- which buckets lines use ---- */

struct using {
    const struct line_rows *f;
    const struct line_types *types;
    const shoal_labelled *lines;
    uint64_t *bits; /* [threads][bit_words] */
    unsigned threads;
};

static void use_line(const struct using *u, const uint32_t *type, size_t n, uint64_t *bits)
{
    const struct line_rows *f = u->f;

    for (size_t i = 0; i < n && f->ngrams > 1; i++) {
        uint64_t h = hash_first(u->types->hash[type[i]]);

        for (size_t j = i + 1; j < n && j < i + f->ngrams; j++) {
            uint32_t bucket;

            h = hash_more(h, u->types->hash[type[j]]);
            bucket = (uint32_t)(h % f->how.buckets);
            bits[bucket / 64] |= 1ull << (bucket % 64);
        }
    }
}

static shoal_status use_thread(void *ctx, unsigned index)
{
    const struct using *u = ctx;
    const shoal_labelled *l = u->lines;
    uint64_t *bits = u->bits + index * bit_words(u->f);
    size_t from = l->lines * index / u->threads, to = l->lines * (index + 1) / u->threads;

    for (size_t i = from; i < to; i++)
        use_line(u, l->type + l->start[i], l->start[i + 1] - l->start[i], bits);
    return SHOAL_OK;
}

shoal_status line_rows_use(struct line_rows *f, const struct line_types *t, const shoal_labelled *l,
                          unsigned threads)
{
    struct using u = {f, t, l, NULL, pool_threads(threads)};
    size_t words = bit_words(f);
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; t->gram && i < t->gram_start[t->n]; i++)
        f->bits[t->gram[i] / 64] |= 1ull << (t->gram[i] % 64);
    if (f->ngrams > 1) {
        u.bits = mem_array(words * u.threads, sizeof *u.bits);
        st = u.bits ? pool_run(u.threads, use_thread, &u) : SHOAL_ENOMEM;
        for (size_t i = 0; i < words * u.threads && u.bits; i++)
            f->bits[i % words] |= u.bits[i];
        free(u.bits);
    }
    line_rows_rank(f);
    return st;
}

/* ---- lines ---- */

static size_t put_grams(const struct line_rows *f, const struct line_types *t, uint32_t type,
                        uint32_t *out)
{
    size_t n = 0;

    for (uint64_t i = t->gram_start[type]; i < t->gram_start[type + 1]; i++)
        n += put_bucket(f, t->gram[i], out + n);
    return n;
}

size_t line_rows_line(const struct line_rows *f, const struct line_types *t, const uint32_t *type,
                     size_t n, uint32_t *out)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        out[found] = t->row[type[i]];
        found += out[found] != SHOAL_NO_ID;
        if (t->gram_start)
            found += put_grams(f, t, type[i], out + found);
    }
    for (size_t i = 0; i < n && f->ngrams > 1; i++) {
        uint64_t h = hash_first(t->hash[type[i]]);

        for (size_t j = i + 1; j < n && j < i + f->ngrams; j++) {
            h = hash_more(h, t->hash[type[j]]);
            found += put_bucket(f, (uint32_t)(h % f->how.buckets), out + found);
        }
    }
    return found;
}

size_t line_rows_most(const struct line_rows *f, const struct line_types *t, const shoal_labelled *l)
{
    size_t most = 0;

    for (size_t i = 0; i < l->lines; i++) {
        size_t n = l->start[i + 1] - l->start[i], rows = n * f->ngrams;

        for (uint64_t k = l->start[i]; t->gram_start && k < l->start[i + 1]; k++)
            rows += t->gram_start[l->type[k] + 1] - t->gram_start[l->type[k]];
        most = rows > most ? rows : most;
    }
    return most + 1;
}

/* ---- text that is asked about ---- */

void line_features_begin(struct line_features *l)
{
    l->n = l->nhash = 0;
}

void line_features_fini(struct line_features *l)
{
    free(l->row);
    free(l->hash);
    free(l->cache);
    l->cache = NULL;
    l->row = l->hash = NULL;
    l->cap = l->hash_cap = 0;
}

static shoal_status put_rows(struct line_features *l, struct span token)
{
    size_t n = 0, kept = l->n;
    shoal_status st;

    if (!has_grams(l->f))
        return SHOAL_OK;
    n = grams_of(l->f, token.at, token.len, l->row + l->n, l->cap - l->n);
    if (l->n + n > l->cap) {
        st = mem_grow(&l->row, &l->cap, l->n + n, sizeof *l->row);
        if (st != SHOAL_OK)
            return st;
        grams_of(l->f, token.at, token.len, l->row + l->n, n);
    }
    for (size_t i = l->n; i < l->n + n; i++)
        kept += put_bucket(l->f, l->row[i], l->row + kept);
    l->n = kept;
    return SHOAL_OK;
}

static uint32_t find_word(struct line_features *l, struct span token)
{
    struct key k;
    uint32_t id = SHOAL_NO_ID;
    size_t at;

    if (!l->cache || token.len > KEY_WHOLE) {
        vocab_find_all(l->words, &token, 1, &id);
        return id;
    }
    k = word_key_of(token.at, token.len);
    at = k.hash % WORD_CACHE;
    if (l->cache->at[at].head == k.head && l->cache->at[at].rest == k.rest &&
        l->cache->at[at].len == token.len)
        return l->cache->at[at].id;
    vocab_find_all(l->words, &token, 1, &id);
    l->cache->at[at].head = k.head;
    l->cache->at[at].rest = k.rest;
    l->cache->at[at].len = token.len;
    l->cache->at[at].id = id;
    return id;
}

/* A word's own row comes before its n-grams'. */
shoal_status line_features_word(void *line, struct span token)
{
    struct line_features *l = line;
    uint32_t id;
    shoal_status st = mem_grow(&l->row, &l->cap, l->n + 1, sizeof *l->row);

    if (st == SHOAL_OK && l->f->ngrams > 1)
        st = mem_grow(&l->hash, &l->hash_cap, l->nhash + 1, sizeof *l->hash);
    if (st != SHOAL_OK)
        return st;
    if (l->f->ngrams > 1)
        l->hash[l->nhash++] = subwords_hash(token.at, token.len);
    id = find_word(l, token);
    if (id < l->f->words)
        l->row[l->n++] = id;
    return put_rows(l, token);
}

shoal_status line_features_end(struct line_features *l)
{
    static const char end[KEY_PAD + sizeof LINE_END] = LINE_END;
    const struct line_rows *f = l->f;
    shoal_status st = line_features_word(l, (struct span){end, sizeof LINE_END - 1});

    if (st == SHOAL_OK && f->ngrams > 1)
        st = mem_grow(&l->row, &l->cap, l->n + l->nhash * f->ngrams, sizeof *l->row);
    for (size_t i = 0; i < l->nhash && st == SHOAL_OK; i++) {
        uint64_t h = hash_first(l->hash[i]);

        for (size_t j = i + 1; j < l->nhash && j < i + f->ngrams; j++) {
            h = hash_more(h, l->hash[j]);
            l->n += put_bucket(f, (uint32_t)(h % f->how.buckets), l->row + l->n);
        }
    }
    return st;
}
