/* The engine of tables of rows: how an epoch is cut, who works on it, and how replicas of
 * the tables come together. */
#include "train/rows/rows.h"

#include <stdlib.h>

enum {
    FAR = 4,       /* so many more touches rows take between hosts, where it costs more, */
    FAR_MOST = 128 /* to so many */
};

/* ---- what it will take ---- */

size_t rows_chunk(size_t positions, size_t parts, size_t least, size_t most)
{
    size_t chunk = positions / parts;

    return chunk < least ? least : chunk > most ? most : chunk;
}

size_t rows_workers(const struct train_opts *o)
{
    unsigned rank = shoal_ranks_rank(o->ranks), sharing = opts_sharing(o);

    if (rank >= sharing)
        return 0;
    if (!o->deterministic)
        return ranks_threads(o->ranks, o->threads);
    return rank < o->lanes ? (o->lanes - rank + sharing - 1) / sharing : 0;
}

/* Blocks give back what they changed once: rounding would lose it. */
static enum shoal_wire wire_of(const struct train_opts *o, bool blocks)
{
    bool alike = blocks || o->deterministic || o->sync.policy == SHOAL_AVERAGE;

    if (o->wire != SHOAL_WIRE_AUTO)
        return o->wire;
    return alike ? SHOAL_WIRE_F32 : SHOAL_WIRE_INT4;
}

/* What ranks learned apart is folded, not averaged, where the cadence says so: the owners of rows
 * do it. */
static struct store_opts store_opts_of(const struct train_opts *o, const struct cadence *c,
                                       const size_t *needed, size_t n)
{
    struct store_opts so = {
        .policy = o->sync.policy,
        .staleness = o->sync.staleness,
        .wire = wire_of(o, needed != NULL),
        .servers = o->servers,
        .lanes = o->deterministic,
        .blocks = needed != NULL,
        .due = c->due,
        .early = c->early,
        .fill = c->fill,
        .share = c->share,
        .whole = c->whole,
    };

    if (c->folds && so.policy == SHOAL_AVERAGE && !so.lanes) {
        so.policy = SHOAL_SYNC;
        so.apart = so.staleness;
    }
    for (size_t t = 0; t < n; t++) {
        so.needed[t] = needed ? needed[t] : 0;
        so.sweep[t] = c->sweep[t];
        so.fresh[t] = c->fresh[t];
    }
    return so;
}

uint64_t rows_bytes(const struct train_opts *o, const struct cadence *c, const struct table *tables,
                    size_t n, const size_t *needed)
{
    struct store_opts so = store_opts_of(o, c, needed, n);
    unsigned ranks = shoal_ranks_size(o->ranks);

    return ranks > 1 ? store_bytes(tables, n, ranks, &so) : 0;
}

/* ---- how an epoch is cut ---- */

void rows_hold_out(struct run *r, size_t all, size_t held, size_t least)
{
    struct row_run *w = r->rows;

    w->split = opts_split(r->opts, all, held, least);
    w->all = all;
    w->train = all - w->split.held;
}

static size_t gcd(size_t a, size_t b)
{
    while (b) {
        size_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static size_t parts_of(const struct row_run *w)
{
    return (w->chunk + w->grain.round - 1) / w->grain.round;
}

/* With --local-input ranks have different amounts of data: each cuts its own into as many chunks
 * as the rank with the most has, and a chunk into as many rounds, so that all end an epoch after
 * the same number of them. */
static shoal_status even_out(struct run *r)
{
    struct row_run *w = r->rows;
    double most = (double)r->units;
    shoal_status st = comm_max(r->comm, &most, 1);

    r->units = (uint64_t)most;
    w->chunk = (w->train + r->units - 1) / r->units;
    most = (double)parts_of(w);
    if (st == SHOAL_OK)
        st = comm_max(r->comm, &most, 1);
    w->parts = (size_t)most;
    return st;
}

void rows_chunk_range(const struct run *r, uint64_t i, size_t *from, size_t *to)
{
    const struct row_run *w = r->rows;

    *from = (size_t)((unsigned __int128)i * w->stride % r->units) * w->chunk % w->train;
    *to = w->train - *from > w->chunk ? *from + w->chunk : w->train;
}

/* Units that have so many positions of an epoch; what the last has beyond is spare. */
static uint64_t units_of_positions(struct run *r, uint64_t positions)
{
    uint64_t n = 0, found = 0;
    size_t from, to;

    for (; found < positions; n++) {
        rows_chunk_range(r, n, &from, &to);
        found += to - from;
    }
    r->rows->spare = (size_t)(found - positions);
    return n;
}

/* What --steps are in units: of --batch predictions each, where units are batches, else of so
 * many positions. */
static uint64_t units_of_steps(struct run *r)
{
    const struct train_opts *o = r->opts;
    uint64_t each = r->rows->unit_batches, train = r->rows->train, positions;

    if (train == 0)
        return 0;
    if (each > 0)
        return (o->steps + each - 1) / each * r->sharing;
    positions = o->steps * o->batch * r->sharing;
    return positions / train * r->units + units_of_positions(r, positions % train);
}

/* The order of chunks. Chunks that are trained at the same time should lie far apart in the data,
 * so that threads do not write the rows of one topic at once. The i-th chunk of an epoch is
 * i * stride mod chunks: with a stride coprime to the number of chunks that is a permutation, and
 * near the golden section its neighbours are far apart. */
static shoal_status lay_out(struct run *r)
{
    struct row_run *w = r->rows;
    shoal_status st = SHOAL_OK;

    w->chunk = w->grain.chunk;
    r->units = (w->train + w->chunk - 1) / w->chunk;
    if (w->unit_batches > 0) /* as many of each worker */
        r->units = (w->train / w->chunk / r->sharing + 1) * r->sharing;
    w->parts = parts_of(w);
    if (r->opts->local_input && r->comm)
        st = even_out(r);
    w->stride = (size_t)(0.618 * (double)r->units) + 1;
    while (gcd(w->stride, r->units) != 1)
        w->stride++;
    r->unit_examples = (double)w->chunk;
    if (st == SHOAL_OK)
        st = run_set_length(r, r->opts->steps > 0 ? units_of_steps(r) : 0);
    return st;
}

/* ---- several ranks ---- */

struct row_length rows_length(const struct run *r)
{
    double units = (double)r->units;

    return (struct row_length){
        .positions = ((r->epochs - 1) * units + (double)r->last_units) * r->unit_examples,
        .rounds = units / (r->sharing * ranks_threads(r->opts->ranks, r->opts->threads)),
    };
}

static shoal_status open_store(struct run *r, const float *const *traffic)
{
    struct row_run *w = r->rows;
    struct cadence cadence = r->task->rows->cadence(r->opts, rows_length(r));
    struct store_opts so =
        store_opts_of(r->opts, &cadence, w->blocks ? w->needed : NULL, w->ntables);
    unsigned here = ranks_here(r->opts->ranks);
    double most = r->threads;
    shoal_status st;

    so.hot = rows_workers(r->opts) > 1 && !r->opts->deterministic && !w->whole ? w->grain.hot : 0;
    so.share_rare = cadence.share_rare;
    so.rare = cadence.share_rare > 0 ? w->rare : 0;
    w->least = cadence.least;
    w->busy = so.oversubscribed = here * r->threads > pool_threads(0);
    if (here < comm_size(r->comm) && so.due < FAR_MOST)
        so.due = so.due * FAR < FAR_MOST ? so.due * FAR : FAR_MOST;
    st = store_open(&w->store, r->comm, w->tables, w->ntables, traffic, r->kernel, &so);
    if (st == SHOAL_OK)
        st = comm_max(r->comm, &most, 1);
    w->most_threads = (unsigned)most;
    return st;
}

/* How often rows will travel, to deal them out evenly. */
static shoal_status join_ranks(struct run *r)
{
    struct row_run *w = r->rows;
    float *traffic[ROWS_TABLES] = {NULL};
    shoal_status st = SHOAL_OK;

    for (size_t t = 0; t < w->ntables && st == SHOAL_OK; t++) {
        traffic[t] = mem_array(w->tables[t].rows, sizeof *traffic[t]);
        if (!traffic[t]) {
            st = SHOAL_ENOMEM;
        } else if (!r->task->rows->traffic(r, t, traffic[t])) {
            free(traffic[t]);
            traffic[t] = NULL;
        }
    }
    st = comm_agree(r->comm, st);
    if (st == SHOAL_OK)
        st = open_store(r, (const float *const *)traffic);
    for (size_t t = 0; t < w->ntables; t++)
        free(traffic[t]);
    return st;
}

/* ---- workers ---- */

static shoal_status join_view(struct store *s, struct view *v, size_t t)
{
    const float *news = store_news(s, t);

    v->touches = store_touches(s, t);
    return news ? view_hear(v, news) : SHOAL_OK;
}

static shoal_status init_views(struct run *r, struct worker *worker)
{
    struct row_run *w = r->rows;
    /* One worker alone has nobody to share hot rows with. */
    uint32_t hot = w->nworkers > 1 ? w->grain.hot : 0;
    shoal_status st = SHOAL_OK;

    for (size_t t = 0; t < w->ntables && st == SHOAL_OK && !w->blocks; t++) {
        if (r->opts->deterministic)
            st = view_init_private(&worker->views[t], &w->tables[t]);
        else
            st = view_init_shared(&worker->views[t], &w->tables[t], hot);
        if (st == SHOAL_OK && w->store && !r->opts->deterministic)
            st = join_view(w->store, &worker->views[t], t);
    }
    return st;
}

static shoal_status make_workers(struct run *r)
{
    struct row_run *w = r->rows;
    shoal_status st = SHOAL_OK;

    if (w->whole)
        return SHOAL_OK;
    w->nworkers = rows_workers(r->opts);
    w->workers = mem_array(w->nworkers + 1, sizeof *w->workers);
    if (!w->workers)
        return SHOAL_ENOMEM;
    if (w->blocks)
        st = blocks_begin(r);
    if (st == SHOAL_OK && r->opts->deterministic)
        st = workers_new(&w->pool, r->threads);
    for (size_t i = 0; i < w->nworkers && st == SHOAL_OK; i++) {
        st = init_views(r, &w->workers[i]);
        if (st == SHOAL_OK)
            st = r->task->rows->join(r, &w->workers[i]);
    }
    return st;
}

/* ---- the engine ---- */

/* With blocks who owns a row gives it its first value; else all have the same before they
 * join. */
static shoal_status rows_open(struct run *r)
{
    struct row_run *w = r->rows;
    shoal_status st = lay_out(r);

    if (st == SHOAL_OK && w->blocks)
        st = join_ranks(r);
    if (st == SHOAL_OK)
        st = run_values(r, r->task->rows->start);
    if (st == SHOAL_OK && r->comm && !w->blocks)
        st = join_ranks(r);
    if (st == SHOAL_OK)
        st = make_workers(r);
    r->group = rows_group(r);
    return st;
}

static void rows_close(struct run *r)
{
    struct row_run *w = r->rows;

    if (!w)
        return;
    if (w->blocks && w->workers)
        blocks_end(r);
    for (size_t i = 0; i < w->nworkers && w->workers; i++) {
        r->task->rows->leave(&w->workers[i]);
        for (size_t t = 0; t < ROWS_TABLES; t++)
            view_fini(&w->workers[i].views[t]);
    }
    free(w->workers);
    workers_free(w->pool);
    store_close(w->store);
    for (size_t i = 0; i < ROWS_TABLES; i++)
        table_fini(&w->tables[i]);
    free(w);
    r->rows = NULL;
}

/* Each rank writes the rows it owns. With blocks that is all it has of a table: .rows counts all
 * of them, and their owners say which are here. */
static void rows_sections(struct run *r, struct sections *out)
{
    struct row_run *w = r->rows;
    const uint32_t *ids;

    *out = (struct sections){.n = w->ntables};
    for (size_t t = 0; t < w->ntables; t++) {
        out->at[t].table = &w->tables[t];
        out->at[t].deal = w->store ? store_deal(w->store, t) : NULL;
        if (!w->blocks)
            continue;
        w->owned[t] = store_owned(w->store, t, &ids);
        w->owned[t].rows = w->tables[t].rows;
        out->at[t].table = &w->owned[t];
        out->at[t].owned = true;
    }
}

static size_t rows_learned(struct run *r, struct table **out)
{
    size_t n = r->rows->blocks ? 0 : r->rows->ntables;

    for (size_t t = 0; t < n; t++)
        out[t] = &r->rows->tables[t];
    return n;
}

static bool rows_swept(const struct run *r)
{
    return store_swept(r->rows->store);
}

static shoal_status rows_gather(struct run *r, bool end)
{
    return end ? store_collect(r->rows->store) : store_gather(r->rows->store);
}

/* With blocks rank 0 asks the others for rows, by the one thread that may. */
static shoal_status rows_evaluate(struct run *r)
{
    if (!r->leads || !r->task->evaluate)
        return SHOAL_OK;
    return r->rows->blocks ? r->task->evaluate(r) : run_background(r, r->task->evaluate);
}

enum { BATCHES = 1000, WORDS = 1000000 };

static void rows_facts(const struct run *r, struct profile_facts *f)
{
    f->wide = wire_of(r->opts, r->rows->blocks) == SHOAL_WIRE_F32 &&
              r->opts->sync.policy != SHOAL_AVERAGE;
    f->unit = r->batch > 0 ? "1,000 batches" : "1 M words";
    f->units = r->batch > 0 ? (double)r->done.predictions / r->batch / BATCHES
                            : (double)r->done.examples / WORDS;
    if (r->rows->store)
        f->store = store_times(r->rows->store);
}

static struct shoal_rank_stats rows_stats(const struct run *r, uint64_t *merged)
{
    struct shoal_rank_stats s = {0};

    if (r->rows->store)
        s = store_stats(r->rows->store, merged);
    s.naive_bytes = r->done.rows * r->task->rows->row_bytes(r);
    return s;
}

static shoal_status rows_collect(struct run *r)
{
    return r->rows->blocks ? blocks_collect(r) : SHOAL_OK;
}

const struct engine rows_engine = {
    .bytes = sizeof(struct row_run),
    .open = rows_open,
    .close = rows_close,
    .sections = rows_sections,
    .learned = rows_learned,
    .advance = rows_advance,
    .swept = rows_swept,
    .gather = rows_gather,
    .evaluate = rows_evaluate,
    .facts = rows_facts,
    .stats = rows_stats,
    .collect = rows_collect,
};
