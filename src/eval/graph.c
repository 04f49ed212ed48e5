/* An index of links over the directions of rows: making and asking. */
#include "eval/eval.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { STREAM_LEVELS = 0x686e7377, AT_ONCE = 64 /* rows that a thread takes */ };

/* Of a filter few pass, or of a question that wants many: beyond this share of all rows the exact
 * search takes less time than the graph. */
#define EXACT_SHARE 16

struct shoal_hnsw_opts shoal_hnsw_default(void)
{
    return (struct shoal_hnsw_opts){
        .m = 16, .ef_construction = 200, .recall = 0.95, .seed = 1};
}

void graph_free(shoal_hnsw *x)
{
    if (!x)
        return;
    hnsw_close(x->hnsw);
    if (x->view.elements)
        mem_unmap(x->view.elements, x->view.n * x->view.element);
    if (x->upper)
        mem_unmap(x->upper, x->upper_bytes);
    free(x->view.lists);
    free(x->levels);
    free(x);
}

uint32_t *graph_list(const shoal_hnsw *x, uint32_t id, unsigned level)
{
    const struct hnsw_view *v = &x->view;
    char *at = level == 0 ? v->elements + id * v->element + v->links_at
                          : v->lists[id] + (level - 1) * hnsw_list_bytes(v->m);

    return (uint32_t *)(void *)at;
}

struct rows graph_rows(const shoal_hnsw *x)
{
    return (struct rows){.at = x->view.elements, .dtype = SHOAL_F32, .stride = x->view.element,
                         .n = x->view.n, .dim = x->view.dim, .kernel = x->kernel};
}

/* ---- memory ---- */

/* Numbers of rows are ints to hnswlib. */
shoal_status graph_check_rows(const struct rows *rows)
{
    if (rows->n == 0 || rows->n > INT32_MAX || rows->dim == 0 || rows->dim > KERNEL_MAX_DIM)
        return shoal_fail(SHOAL_EINVAL, "index: found %zu rows of %zu numbers, want 1 to %d of 1 "
                          "to %d", rows->n, rows->dim, INT32_MAX, KERNEL_MAX_DIM);
    return hnsw_there();
}

static size_t row_bytes(const struct rows *r)
{
    size_t size = r->dtype == SHOAL_F32 ? 4 : r->dtype == SHOAL_INT8 ? 1 : 2;

    return r->dim * size;
}

/* Row by row, without the padding: the same for the same numbers, wherever they lie. */
uint64_t graph_hash(const struct rows *rows)
{
    uint64_t hash = rng_mix(rows->n * RNG_STEP + rows->dim * 8 + rows->dtype);

    for (size_t i = 0; i < rows->n; i++)
        hash = bytes_hash(hash, rows->at + i * rows->stride, row_bytes(rows));
    return hash;
}

struct filling {
    shoal_hnsw *x;
    const struct rows *rows;
    unsigned threads;
};

static shoal_status fill_part(void *ctx, unsigned index)
{
    struct filling *f = ctx;
    size_t n = f->rows->n;

    for (size_t i = n * index / f->threads; i < n * (index + 1) / f->threads; i++)
        rows_unit(f->rows, (uint32_t)i,
                  (float *)(void *)(f->x->view.elements + i * f->x->view.element));
    return SHOAL_OK;
}

/* Where the lists above level 0 lie. */
static shoal_status place_lists(shoal_hnsw *x)
{
    struct hnsw_view *v = &x->view;
    size_t bytes = hnsw_list_bytes(v->m), lists = 0;
    char *at;

    for (size_t i = 0; i < v->n; i++)
        lists += v->levels[i];
    x->upper_bytes = (lists + 1) * bytes;
    v->lists = mem_array(v->n, sizeof *v->lists);
    x->upper = v->lists ? mem_map(x->upper_bytes) : NULL;
    if (!x->upper)
        return SHOAL_ENOMEM;
    at = x->upper;
    for (size_t i = 0; i < v->n; i++)
        if (v->levels[i] > 0) {
            v->lists[i] = at;
            at += v->levels[i] * bytes;
        }
    return SHOAL_OK;
}

/* Takes the levels, also on failure. */
shoal_status graph_alloc(shoal_hnsw **out, const struct rows *rows, unsigned m, uint8_t *levels,
                         unsigned threads)
{
    shoal_hnsw *x = mem_array(1, sizeof *x);
    struct filling f = {x, rows, pool_threads(threads)};
    size_t links_at = table_stride(rows->dim) * sizeof(float);
    shoal_status st;

    *out = x;
    if (!x) {
        free(levels);
        return SHOAL_ENOMEM;
    }
    x->levels = levels;
    x->view = (struct hnsw_view){.n = rows->n, .dim = rows->dim, .m = m, .levels = levels,
                                 .links_at = links_at, .entry = SHOAL_NO_ID};
    x->view.element = (links_at + hnsw_list_bytes(2 * (size_t)m) + 63) / 64 * 64;
    st = kernel_choose(&x->kernel);
    if (st == SHOAL_OK)
        x->view.dot = x->kernel->dot;
    if (st == SHOAL_OK && !(x->view.elements = mem_map(x->view.n * x->view.element)))
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = place_lists(x);
    return st == SHOAL_OK ? pool_run(f.threads, fill_part, &f) : st;
}

/* ---- making one ---- */

static shoal_status check_opts(const struct shoal_hnsw_opts *o)
{
    if (o->m < 2 || o->m > GRAPH_M_MOST)
        return shoal_fail(SHOAL_EINVAL, "index: m is %u, want 2 to %d", o->m, GRAPH_M_MOST);
    if (o->ef_construction < 1 || o->ef_construction > GRAPH_EF_MOST)
        return shoal_fail(SHOAL_EINVAL, "index: --ef-construction is %u, want 1 to %d",
                          o->ef_construction, GRAPH_EF_MOST);
    if (o->ef > GRAPH_EF_MOST)
        return shoal_fail(SHOAL_EINVAL, "index: ef is %u, want at most %d", o->ef, GRAPH_EF_MOST);
    if (o->ef == 0 && !(o->recall > 0 && o->recall <= 1))
        return shoal_fail(SHOAL_EINVAL, "index: recall is %g, want above 0 and at most 1",
                          o->recall);
    if (o->threads > 1024)
        return shoal_fail(SHOAL_EINVAL, "index: threads is %u, want at most 1024", o->threads);
    return SHOAL_OK;
}

/* Of a row by its number: 1 in m reaches the next level. */
static uint8_t level_of(uint64_t seed, size_t id, unsigned m)
{
    struct rng r = {seed, STREAM_LEVELS, id};
    double level = floor(-log(1 - rng_unit(&r)) / log(m));

    return (uint8_t)(level < GRAPH_LEVELS_MOST ? level : GRAPH_LEVELS_MOST);
}

struct linking {
    struct hnsw *hnsw;
    size_t n;
    atomic_size_t next, done;
    atomic_bool failed;
    struct pulse pulse; /* of the first thread */
};

static shoal_status link_some(struct linking *l, unsigned index, size_t at)
{
    size_t end = l->n - at < AT_ONCE ? l->n : at + AT_ONCE;
    shoal_status st = SHOAL_OK;

    for (size_t i = at; i < end && st == SHOAL_OK; i++)
        st = hnsw_add(l->hnsw, (uint32_t)i);
    at = atomic_fetch_add(&l->done, end - at) + (end - at);
    return st == SHOAL_OK && index == 0 ? pulse_at(&l->pulse, at) : st;
}

static shoal_status link_part(void *ctx, unsigned index)
{
    struct linking *l = ctx;
    shoal_status st = SHOAL_OK;
    size_t at;

    while (st == SHOAL_OK && !atomic_load(&l->failed) &&
           (at = atomic_fetch_add(&l->next, AT_ONCE)) < l->n)
        st = link_some(l, index, at);
    if (st != SHOAL_OK)
        atomic_store(&l->failed, true);
    return st;
}

/* Row after row, by all threads: each finds the nearest that are there already. */
static shoal_status link_all(shoal_hnsw *x, const struct shoal_hnsw_opts *opts)
{
    struct linking l = {.n = x->view.n};
    shoal_status st = hnsw_open(&l.hnsw, &x->view, opts->ef_construction);

    pulse_begin(&l.pulse, &opts->watch, "index", "rows", l.n);
    if (st == SHOAL_OK)
        st = pool_run(pool_threads(opts->threads), link_part, &l);
    if (st == SHOAL_OK)
        st = pulse_end(&l.pulse, l.n);
    if (st == SHOAL_OK)
        x->view.entry = hnsw_entry(l.hnsw);
    hnsw_close(l.hnsw);
    return st;
}

static shoal_status make(shoal_hnsw **out, const struct rows *rows,
                         const struct shoal_hnsw_opts *opts)
{
    uint8_t *levels = mem_array(rows->n, sizeof *levels);
    shoal_hnsw *x = NULL;
    shoal_status st = SHOAL_ENOMEM;

    for (size_t i = 0; levels && i < rows->n; i++)
        levels[i] = level_of(opts->seed, i, opts->m);
    if (levels)
        st = graph_alloc(&x, rows, opts->m, levels, opts->threads);
    *out = x;
    if (st != SHOAL_OK)
        return st;
    x->ef_construction = opts->ef_construction;
    x->seed = opts->seed;
    x->ef = opts->ef;
    x->hash = graph_hash(rows);
    st = link_all(x, opts);
    if (st != SHOAL_OK)
        return st;
    x->top = levels[x->view.entry];
    return hnsw_open(&x->hnsw, &x->view, 0);
}

shoal_status graph_new(shoal_hnsw **out, const struct rows *rows,
                       const struct shoal_hnsw_opts *opts)
{
    shoal_hnsw *x = NULL;
    shoal_status st = check_opts(opts);

    *out = NULL;
    if (st == SHOAL_OK)
        st = graph_check_rows(rows);
    if (st == SHOAL_OK)
        st = make(&x, rows, opts);
    if (st == SHOAL_OK && opts->ef == 0)
        st = graph_tune(x, opts->recall, opts->threads);
    if (st == SHOAL_OK)
        *out = x;
    else
        graph_free(x);
    return st;
}

/* ---- asking ---- */

static bool is_skipped(const uint32_t *skip, size_t n, uint32_t id)
{
    for (size_t i = 0; i < n; i++)
        if (skip[i] == id)
            return true;
    return false;
}

/* Keeps those that may answer, best first, at most k. */
static size_t choose(struct shoal_hit *all, size_t n, const uint32_t *skip, size_t nskip,
                     const struct near_filter *filter, size_t k)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (!is_skipped(skip, nskip, all[i].id) &&
            (!filter || filter->takes(filter->of, all[i].id)))
            all[kept++] = all[i];
    hits_sort(all, kept);
    return kept < k ? kept : k;
}

/* Candidates are kept four times as many until k may answer; where that comes near to all rows,
 * all are looked at. */
shoal_status graph_nearest(const shoal_hnsw *x, const float *unit, const uint32_t *skip,
                           size_t nskip, const struct near_filter *filter, size_t ef,
                           struct shoal_hit *hits, size_t k, size_t *found)
{
    size_t n = x->view.n, keep = k < n ? k + nskip : n, most = n / EXACT_SHARE;
    struct shoal_hit *all = NULL;
    struct rows rows;
    shoal_status st = SHOAL_OK;

    *found = 0;
    if (k == 0)
        return SHOAL_OK;
    ef = ef > 0 ? ef : x->ef;
    for (ef = ef > keep ? ef : keep; st == SHOAL_OK && *found < k && ef <= most; ef *= 4) {
        free(all);
        all = mem_array(ef, sizeof *all);
        st = all ? hnsw_search(x->hnsw, unit, ef, all, found) : SHOAL_ENOMEM;
        if (st == SHOAL_OK)
            *found = choose(all, *found, skip, nskip, filter, k);
    }
    if (st == SHOAL_OK && *found < k) {
        rows = graph_rows(x);
        st = nearest_filtered(&rows, unit, skip, nskip, filter, 1, hits, k, found);
    } else if (st == SHOAL_OK) {
        memcpy(hits, all, *found * sizeof *hits);
    }
    free(all);
    return st;
}
