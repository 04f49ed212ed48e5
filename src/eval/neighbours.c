/* Who is near to whom: the neighbours of each row, and the weights of both directions joined. */
#include "eval/eval.h"

#include <stdlib.h>

enum { AT_ONCE = 960 }; /* rows that are asked about between two reports */

/* ---- neighbours ---- */

static shoal_status ask_some(struct neighbours *g, const struct rows *rows, size_t first, size_t n,
                             struct near_ask *asks, struct shoal_hit *hits, unsigned threads)
{
    shoal_status st;

    for (size_t i = 0; i < n; i++)
        asks[i] = (struct near_ask){
            .ids = {(uint32_t)(first + i)}, .n = 1, .hits = hits + i * g->k, .k = g->k};
    st = nearest_many(rows, asks, n, threads);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        st = asks[i].st;
        if (st == SHOAL_OK && asks[i].found < g->k)
            st = shoal_fail(SHOAL_EINVAL, "map: row %zu has %zu neighbours, want %zu", first + i,
                            asks[i].found, g->k);
        for (size_t k = 0; k < g->k && st == SHOAL_OK; k++) {
            g->ids[(first + i) * g->k + k] = asks[i].hits[k].id;
            g->cosines[(first + i) * g->k + k] = asks[i].hits[k].score;
        }
    }
    return st;
}

shoal_status neighbours_make(struct neighbours *out, const struct table *units, size_t k,
                             unsigned threads, struct pulse *pulse)
{
    size_t n = units->rows, some = n < AT_ONCE ? n : AT_ONCE;
    struct near_ask *asks = mem_array(some, sizeof *asks);
    struct shoal_hit *hits = mem_array(some * k, sizeof *hits);
    struct neighbours g = {.n = n, .k = k};
    struct rows rows;
    shoal_status st = rows_of_table(&rows, units);

    *out = (struct neighbours){0};
    g.ids = mem_array(n * k, sizeof *g.ids);
    g.cosines = mem_array(n * k, sizeof *g.cosines);
    if (st == SHOAL_OK && (!asks || !hits || !g.ids || !g.cosines))
        st = SHOAL_ENOMEM;
    for (size_t i = 0; i < n && st == SHOAL_OK; i += some) {
        st = ask_some(&g, &rows, i, n - i < some ? n - i : some, asks, hits, threads);
        if (st == SHOAL_OK)
            st = pulse_at(pulse, i);
    }
    free(asks);
    free(hits);
    if (st == SHOAL_OK)
        *out = g;
    else
        neighbours_fini(&g);
    return st;
}

void neighbours_fini(struct neighbours *g)
{
    free(g->ids);
    free(g->cosines);
    *g = (struct neighbours){0};
}

/* ---- both directions ---- */

struct half {
    uint32_t to;
    float weight;
};

static int by_end(const void *a, const void *b)
{
    const struct half *x = a, *y = b;

    return (x->to > y->to) - (x->to < y->to);
}

/* Where the halves of each row begin: its own, and those that lead to it. */
static void count_halves(const struct neighbours *g, size_t *start)
{
    for (size_t i = 0; i < g->n; i++)
        start[i + 1] = g->k;
    for (size_t i = 0; i < g->n * g->k; i++)
        start[g->ids[i] + 1]++;
    for (size_t i = 0; i < g->n; i++)
        start[i + 1] += start[i];
}

/* `next` [n] is where the next half of a row goes. */
static void fill_halves(const struct neighbours *g, const float *weights, size_t *next,
                        struct half *halves)
{
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->k; k++) {
            uint32_t j = g->ids[i * g->k + k];
            float w = weights[i * g->k + k];

            halves[next[i]++] = (struct half){j, w};
            halves[next[j]++] = (struct half){(uint32_t)i, w};
        }
}

static float join(enum edges_join how, float a, float b)
{
    return how == EDGES_MEAN ? (a + b) / 2 : a + b - a * b;
}

/* Two halves to the same row, one of each direction, become one edge. */
static void join_halves(struct edges *e, const size_t *start, struct half *halves,
                        enum edges_join how)
{
    size_t len = 0;

    for (size_t i = 0; i < e->n; i++) {
        size_t end = start[i + 1];

        e->start[i] = len;
        qsort(halves + start[i], end - start[i], sizeof *halves, by_end);
        for (size_t k = start[i]; k < end; k++, len++) {
            bool twice = k + 1 < end && halves[k + 1].to == halves[k].to;

            e->to[len] = halves[k].to;
            e->weight[len] = join(how, halves[k].weight, twice ? halves[k + 1].weight : 0);
            k += twice;
        }
    }
    e->start[e->n] = len;
}

shoal_status edges_make(struct edges *out, const struct neighbours *g, const float *weights,
                        enum edges_join how)
{
    size_t most = 2 * g->n * g->k;
    struct edges e = {.n = g->n};
    size_t *start = mem_array(g->n + 1, sizeof *start), *next = mem_array(g->n + 1, sizeof *next);
    struct half *halves = mem_array(most, sizeof *halves);
    shoal_status st;

    e.start = mem_array(g->n + 1, sizeof *e.start);
    e.to = mem_array(most, sizeof *e.to);
    e.weight = mem_array(most, sizeof *e.weight);
    st = start && next && halves && e.start && e.to && e.weight ? SHOAL_OK : SHOAL_ENOMEM;
    if (st == SHOAL_OK) {
        count_halves(g, start);
        memcpy(next, start, (g->n + 1) * sizeof *next);
        fill_halves(g, weights, next, halves);
        join_halves(&e, start, halves, how);
    }
    free(start);
    free(next);
    free(halves);
    *out = e;
    if (st != SHOAL_OK)
        edges_fini(out);
    return st;
}

void edges_fini(struct edges *e)
{
    free(e->start);
    free(e->to);
    free(e->weight);
    *e = (struct edges){0};
}
