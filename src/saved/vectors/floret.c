/* floret's table, as spaCy reads it: words and n-grams share rows, several each, by hashes.
 *
 *     buckets dim minn maxn hashes seed < >
 *     0 x0 x1 ...
 *     1 ...
 *
 * A word's vector is the mean of the rows of `<word>` and of its n-grams. The table knows no words:
 * those that can be searched are lines of FILE.vocab, as beside .npy. */
#include "saved/vectors/vectors.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEAD_MAX = 256, NUMBERS = 6 };

struct head {
    uint64_t is[NUMBERS]; /* buckets dim minn maxn hashes seed */
    struct span begin, end;
    size_t len; /* of the line, with its end */
};

/* ---- the first line ---- */

static const char *field(const char *at, const char *end, struct span *out)
{
    const char *from;

    while (at < end && *at == ' ')
        at++;
    from = at;
    while (at < end && *at != ' ')
        at++;
    *out = (struct span){from, (uint32_t)(at - from)};
    return at;
}

static bool parse_head(const struct source *src, struct head *h)
{
    size_t most = src->len < HEAD_MAX ? src->len : HEAD_MAX;
    const char *at = src->at, *newline = most > 0 ? memchr(at, '\n', most) : NULL, *end = newline;
    struct span f;

    if (!newline)
        return false;
    end -= end > at && end[-1] == '\r';
    for (int i = 0; i < NUMBERS; i++) {
        at = field(at, end, &f);
        if (number_digits(f.at, f.at + f.len, &h->is[i]) != f.at + f.len || f.len == 0)
            return false;
    }
    at = field(at, end, &h->begin);
    at = field(at, end, &h->end);
    h->len = (size_t)(newline - src->at) + 1;
    field(at, end, &f);
    return h->begin.len > 0 && h->end.len > 0 && f.len == 0;
}

bool vectors_floret_sniff(const struct source *src)
{
    struct head h;

    return parse_head(src, &h);
}

static shoal_status check_number(const char *path, const char *name, uint64_t is, uint64_t least,
                                 uint64_t most)
{
    if (is >= least && is <= most)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EFORMAT, "%s: its %s is %" PRIu64 ", want %" PRIu64 " to %" PRIu64,
                      path, name, is, least, most);
}

/* A row has two bytes for each number, and its own number. */
static shoal_status check_head(const struct source *src, const struct head *h)
{
    const uint64_t *is = h->is;
    shoal_status st = check_number(src->path, "buckets", is[0], 1, SUBWORDS_BUCKETS);

    if (st == SHOAL_OK)
        st = check_number(src->path, "dim", is[1], 1, DIM_MAX);
    if (st == SHOAL_OK)
        st = check_number(src->path, "maxn", is[3], 1, SUBWORDS_MAXN);
    if (st == SHOAL_OK)
        st = check_number(src->path, "minn", is[2], 1, is[3]);
    if (st == SHOAL_OK)
        st = check_number(src->path, "hashes", is[4], 1, SUBWORDS_HASHES);
    if (st == SHOAL_OK)
        st = check_number(src->path, "seed", is[5], SUBWORDS_SEED, SUBWORDS_SEED);
    if (st == SHOAL_OK && (h->begin.len != 1 || *h->begin.at != '<' || h->end.len != 1 ||
                           *h->end.at != '>'))
        st = shoal_fail(SHOAL_EFORMAT, "%s: its words stand between others than < and >",
                        src->path);
    if (st == SHOAL_OK && (src->len - h->len) / (2 * is[1] + 1) + 1 < is[0])
        st = shoal_fail(SHOAL_EFORMAT,
                        "%s: promises %" PRIu64 " rows of %" PRIu64
                        " numbers, which %zu bytes cannot hold",
                        src->path, is[0], is[1], src->len - h->len);
    return st;
}

/* ---- rows ---- */

static bool parse_row(const char *at, const char *end, size_t number, float *row, size_t dim)
{
    uint64_t is;

    at = number_digits(at, end, &is);
    if (!at || is != number)
        return false;
    for (size_t k = 0; k < dim; k++) {
        while (at < end && is_blank(*at))
            at++;
        at = decimal_parse(at, end, &row[k]);
        if (!at || !isfinite(row[k]))
            return false;
    }
    while (at < end && (is_blank(*at) || *at == '\r'))
        at++;
    return at == end;
}

static shoal_status read_table(shoal_vectors *v, const struct source *src, size_t begin)
{
    const char *at = src->at + begin, *end = src->at + src->len, *line;
    char *rows = v->own_rows + v->size * v->stride;
    size_t len, n = 0;

    for (; n < v->grams.how.buckets && line_next(&at, end, &line, &len); n++)
        if (!parse_row(line, line + len, n, (float *)(void *)(rows + n * v->stride), v->dim))
            return shoal_fail(SHOAL_EFORMAT, "%s:%zu: want row %zu, of %zu finite numbers",
                              src->path, n + 2, n, v->dim);
    if (n < v->grams.how.buckets || at < end)
        return shoal_fail(SHOAL_EFORMAT, "%s: found %s rows than the %u that it promises",
                          src->path, at < end ? "more" : "fewer", v->grams.how.buckets);
    return SHOAL_OK;
}

static bool compose(const void *from, size_t id, char *to)
{
    const shoal_vectors *v = from;
    const char *word = shoal_vectors_word(v, (uint32_t)id);
    float *row = (float *)(void *)to;
    size_t n;

    if (grams_sum(v, word, strlen(word), row, &n) != SHOAL_OK)
        return false;
    for (size_t k = 0; k < v->dim && n > 0; k++)
        row[k] *= (float)(1.0 / (double)n);
    return true;
}

/* Words' rows, and behind them those of the table. */
static shoal_status new_of(shoal_vectors **out, const struct head *h, struct naming *names)
{
    size_t words = shoal_vocab_size(names->vocab), buckets = (size_t)h->is[0];
    shoal_status st = vectors_new(out, SHOAL_FORMAT_FLORET, words + buckets, (size_t)h->is[1],
                                  SHOAL_F32);
    shoal_vectors *v = *out;

    if (st != SHOAL_OK)
        return st;
    names_take(v, names);
    v->size = words;
    v->grams = (struct grams){.how = {.minn = (unsigned)h->is[2],
                                      .maxn = (unsigned)h->is[3],
                                      .buckets = (uint32_t)buckets,
                                      .hashes = (unsigned)h->is[4]},
                              .rows = v->rows + words * v->stride,
                              .stride = v->stride};
    return SHOAL_OK;
}

shoal_status vectors_floret_read(shoal_vectors **out, const struct source *src)
{
    struct naming names = {0};
    struct head h = {0};
    shoal_status st;

    parse_head(src, &h);
    st = check_head(src, &h);
    if (st == SHOAL_OK)
        st = naming_beside(&names, src, NAMING_ALL);
    if (st == SHOAL_OK)
        st = new_of(out, &h, &names);
    naming_fini(&names);
    if (st == SHOAL_OK)
        st = read_table(*out, src, h.len);
    return st == SHOAL_OK ? vectors_compute(*out, src->path, compose, *out) : st;
}

/* ---- writing ---- */

static shoal_status write_row(const shoal_vectors *grams, uint32_t i, float *row,
                              struct bytes *line, struct output *o)
{
    char number[DECIMAL_MAX];
    shoal_status st = shoal_vectors_row(grams, i, row);

    line->len = 0;
    if (st == SHOAL_OK)
        st = bytes_print(line, "%u", i);
    for (size_t k = 0; k < grams->dim && st == SHOAL_OK; k++) {
        st = bytes_add(line, " ", 1);
        if (st == SHOAL_OK)
            st = bytes_add(line, number, decimal_format(number, row[k]));
    }
    if (st == SHOAL_OK)
        st = bytes_add(line, "\n", 1);
    return st == SHOAL_OK ? output_write(o, line->at, line->len) : st;
}

static shoal_status write_table(const struct saving *s, struct output *o)
{
    const struct subwords *how = &s->v->grams.how;
    shoal_vectors grams = grams_as_vectors(s->v);
    float *row = mem_array(grams.dim, sizeof *row);
    struct bytes line = {0};
    char head[HEAD_MAX];
    int n = snprintf(head, sizeof head, "%u %zu %u %u %u %u < >\n", how->buckets, s->v->dim,
                     how->minn, how->maxn, how->hashes, SUBWORDS_SEED);
    shoal_status st = row ? output_write(o, head, (size_t)n) : SHOAL_ENOMEM;

    for (uint32_t i = 0; i < how->buckets && st == SHOAL_OK; i++)
        st = write_row(&grams, i, row, &line, o);
    bytes_fini(&line);
    free(row);
    return st;
}

shoal_status vectors_floret_save(const struct saving *s)
{
    struct output *o = NULL;
    shoal_status st = SHOAL_OK;

    if (s->v->grams.how.hashes == 0)
        return shoal_fail(SHOAL_EINVAL,
                          "%s: floret's table holds words by hashes, and these vectors have rows "
                          "for words: want vectors trained with --hash-only",
                          s->path);
    if (s->normalize)
        return shoal_fail(SHOAL_EINVAL, "%s: rows that words share have no length of their own, "
                                        "want no --normalize",
                          s->path);
    st = saving_words_beside(s);
    if (st == SHOAL_OK)
        st = output_open(&o, s->path);
    return st == SHOAL_OK ? output_end(o, write_table(s, o)) : st;
}
