/* Word similarity: how the cosines of pairs of words correlate with what people said of them, by
 * rank (Spearman) and by value (Pearson). */
#include "eval/suite.h"

#include <math.h>
#include <stdlib.h>

/* Not by a variance of 0, which rounding may miss. */
static bool varies(const double *x, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (x[i] != x[0])
            return true;
    return false;
}

double pairs_pearson(const double *x, const double *y, size_t n)
{
    double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;

    if (!varies(x, n) || !varies(y, n))
        return NAN;
    for (size_t i = 0; i < n; i++) {
        mean_x += x[i] / (double)n;
        mean_y += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        yy += (y[i] - mean_y) * (y[i] - mean_y);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    return xy / sqrt(xx) / sqrt(yy);
}

struct place {
    double value;
    size_t from;
};

static int by_value(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

/* Ranks from 1; equals share the mean of theirs. */
static void rank(const double *x, size_t n, struct place *room, double *out)
{
    for (size_t i = 0; i < n; i++)
        room[i] = (struct place){x[i], i};
    qsort(room, n, sizeof *room, by_value);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && room[end].value == room[i].value; end++)
            ;
        for (size_t j = i; j < end; j++)
            out[room[j].from] = (double)(i + 1 + end) / 2;
    }
}

shoal_status pairs_spearman(const double *x, const double *y, size_t n, double *out)
{
    struct place *room = mem_array(n + 1, sizeof *room);
    double *ranks = mem_array(2 * n + 1, sizeof *ranks);
    shoal_status st = SHOAL_ENOMEM;

    *out = NAN;
    if (room && ranks) {
        rank(x, n, room, ranks);
        rank(y, n, room, ranks + n);
        *out = pairs_pearson(ranks, ranks + n, n);
        st = SHOAL_OK;
    }
    free(room);
    free(ranks);
    return st;
}

/* Fills said and cosines with the pairs whose words are both there; *made of them have a word that
 * is composed. */
static size_t compare(const struct asked *a, double *said, double *cosines, float *units,
                      uint64_t *made)
{
    const shoal_eval *e = a->suite;
    size_t n = 0;

    for (size_t i = 0; i < e->npairs; i++) {
        uint32_t x = a->ids[e->pairs[i].word[0]], y = a->ids[e->pairs[i].word[1]];

        if (x == SHOAL_NO_ID || y == SHOAL_NO_ID)
            continue;
        *made += asked_made(a, e->pairs[i].word[0]) || asked_made(a, e->pairs[i].word[1]);
        said[n] = e->pairs[i].said;
        /* As a float: rows that are equal must tie. */
        cosines[n++] = (double)(float)rows_cosine(&a->rows, x, y, units);
    }
    return n;
}

shoal_status pairs_score(const struct asked *a, struct shoal_score *score)
{
    size_t total = a->suite->npairs, n, bytes = table_bytes(2, a->rows.dim);
    double *room = mem_array(2 * total, sizeof *room);
    float *units = mem_map(bytes);
    shoal_status st = SHOAL_ENOMEM;

    if (room && units) {
        n = compare(a, room, room + total, units, &score->composed);
        score->seen = n;
        score->total = total;
        score->pearson = pairs_pearson(room, room + total, n);
        st = pairs_spearman(room, room + total, n, &score->spearman);
    }
    mem_unmap(units, bytes);
    free(room);
    return st;
}
