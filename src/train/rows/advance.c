/* A slice of the epoch, trained by all threads and lanes of this rank. */
#include "train/rows/rows.h"

#include <sched.h>

enum {
    EARLY = 64,       /* see apart_at */
    APART_LEAST = 16,
};

static void sync_views(struct run *r, struct worker *w)
{
    w->apart = 0;
    for (size_t t = 0; t < r->rows->ntables; t++)
        view_sync(&w->views[t], r->kernel);
}

/* Positions that a thread trains until its copies of hot rows are synchronised (view_sync): the
 * fewer, the more threads there are; at first, where steps are largest, only an EARLY-th of what
 * was trained before. In whole rounds. */
static size_t apart_at(const struct run *r, uint64_t i)
{
    size_t before = (size_t)(r->at.epoch * r->units + i) * r->rows->chunk / EARLY;
    size_t most = r->rows->grain.apart / r->rows->nworkers;

    most = before < most ? before : most;
    most = most > APART_LEAST ? most : APART_LEAST;
    return (most + r->rows->grain.round - 1) / r->rows->grain.round * r->rows->grain.round;
}

/* At the end of a chunk hot rows are synchronised by whoever took it. A chunk that is trained in
 * pieces is so after as many positions all the same. */
static void train_range(struct run *r, struct worker *w, uint64_t i, size_t from, size_t to)
{
    bool meets = r->rows->grain.apart > 0 && r->rows->nworkers > 1 && !r->opts->deterministic;
    size_t most = meets ? apart_at(r, i) : SIZE_MAX;

    for (size_t stop; from < to; from = stop) {
        size_t step = most > w->apart ? most - w->apart : 1;

        stop = to - from > step ? from + step : to;
        r->task->rows->train(r, w, from, stop, run_lr(r, i));
        w->apart += stop - from;
        if (w->apart >= most)
            sync_views(r, w);
    }
}

static void chunk_range(const struct run *r, uint64_t i, size_t *from, size_t *to)
{
    bool last = r->at.epoch + 1 == r->epochs && i + 1 == r->last_units;

    rows_chunk_range(r, i, from, to);
    *to -= last ? r->rows->spare : 0;
}

static void train_chunk(struct run *r, struct worker *w, uint64_t i)
{
    size_t from, to;

    chunk_range(r, i, &from, &to);
    train_range(r, w, i, from, to);
}

/* The same in pieces, polling between them for what other ranks sent. */
static shoal_status train_polling(struct run *r, struct worker *w, uint64_t i, size_t from,
                                  size_t to)
{
    size_t step = r->rows->busy ? r->rows->grain.poll_busy : r->rows->grain.poll;
    shoal_status st = SHOAL_OK;

    for (size_t stop; from < to && st == SHOAL_OK; from = stop) {
        stop = to - from > step ? from + step : to;
        comm_charge(r->comm, (double)(stop - from));
        train_range(r, w, i, from, stop);
        st = store_step(r->rows->store);
    }
    return st;
}

/* The same of a thread that does not poll. Where threads take turns on the cores it gives way as
 * often as the one that does, which would else wait for its turn while other ranks wait for it. */
static void train_giving_way(struct run *r, struct worker *w, uint64_t i)
{
    size_t from, to, step = r->rows->busy ? r->rows->grain.poll_busy : SIZE_MAX;

    chunk_range(r, i, &from, &to);
    for (size_t stop; from < to; from = stop) {
        stop = to - from > step ? from + step : to;
        train_range(r, w, i, from, stop);
        if (r->rows->busy)
            sched_yield();
    }
}

/* The rows of the i-th chunk, if it is in this epoch, will be needed. */
static shoal_status expect_chunk(struct run *r, uint64_t i)
{
    size_t from, to;

    if (!r->task->rows->expect || i >= run_epoch_units(r))
        return SHOAL_OK;
    chunk_range(r, i, &from, &to);
    return r->task->rows->expect(r, from, to);
}

/* Those that threads of this rank will take after theirs: rows that are asked for now are here
 * then. */
static shoal_status expect_next(struct run *r)
{
    uint64_t next = atomic_load(&r->rows->next) + r->worker;
    shoal_status st = SHOAL_OK;

    for (size_t k = 0; k < r->rows->nworkers && st == SHOAL_OK; k++)
        st = expect_chunk(r, next + k * r->sharing);
    return st;
}

/* What counts as a move falls with the rate. */
static void set_least(struct run *r, uint64_t i)
{
    store_set_least(r->rows->store, r->rows->least * run_lr(r, i));
}

/* Only the first thread may speak to other ranks. */
static shoal_status hogwild_chunk(struct run *r, struct worker *w, uint64_t i)
{
    size_t from, to;
    shoal_status st;

    if (!r->rows->store) {
        train_chunk(r, w, i);
        return SHOAL_OK;
    }
    if (w != r->rows->workers) {
        train_giving_way(r, w, i);
        return SHOAL_OK;
    }
    set_least(r, i);
    chunk_range(r, i, &from, &to);
    st = expect_next(r);
    if (st == SHOAL_OK)
        st = train_polling(r, w, i, from, to);
    if (st == SHOAL_OK)
        st = store_round(r->rows->store);
    run_timeline_mark(r);
    return st;
}

static shoal_status hogwild_thread(void *ctx, unsigned index)
{
    struct run *r = ctx;
    struct worker *w = &r->rows->workers[index];
    shoal_status st = SHOAL_OK;
    uint64_t i;

    while (st == SHOAL_OK && (i = atomic_fetch_add(&r->rows->next, r->sharing)) < r->stop) {
        if (i + r->worker < run_epoch_units(r))
            st = hogwild_chunk(r, w, i + r->worker);
        sync_views(r, w);
    }
    return st;
}

/* ---- rounds of ranks that wait for each other ---- */

/* In a round each thread trains a part of its chunk. */
static void part_range(const struct run *r, uint64_t i, size_t part, size_t *from, size_t *to)
{
    size_t end, round = r->rows->grain.round;

    chunk_range(r, i, from, &end);
    *from = *from + part * round < end ? *from + part * round : end;
    *to = end - *from > round ? *from + round : end;
}

shoal_status rows_parts_each(struct run *r, unsigned index, uint64_t place, size_t part,
                             rows_part_fn *fn)
{
    shoal_status st = SHOAL_OK;

    for (uint64_t k = index; k < r->rows->most_threads && st == SHOAL_OK; k += r->rows->nworkers) {
        uint64_t i = place + k * r->sharing + r->worker;
        size_t from, to;

        if (i >= run_epoch_units(r))
            break;
        part_range(r, i, part, &from, &to);
        st = fn(r, index, i, from, to);
    }
    return st;
}

/* Only the first thread may speak to other ranks. */
shoal_status rows_part_train(struct run *r, unsigned index, uint64_t i, size_t from, size_t to)
{
    if (index == 0)
        return train_polling(r, &r->rows->workers[0], i, from, to);
    train_range(r, &r->rows->workers[index], i, from, to);
    return SHOAL_OK;
}

static shoal_status part_thread(void *ctx, unsigned index)
{
    struct run *r = ctx;
    shoal_status st = rows_parts_each(r, index, r->at.place, r->rows->part, rows_part_train);

    sync_views(r, &r->rows->workers[index]);
    return st;
}

/* Of a unit that is so many batches: each worker takes --steps in all. */
static uint64_t batches_of(const struct run *r, uint64_t i)
{
    uint64_t each = r->rows->unit_batches;
    uint64_t before = (r->at.epoch * r->units + i) / r->sharing * each;
    uint64_t left = r->opts->steps > before ? r->opts->steps - before : 0;

    return left < each ? left : each;
}

static shoal_status whole_part(struct run *r, uint64_t i, struct sums *done)
{
    size_t from, to;
    shoal_status st;

    part_range(r, i, r->rows->part, &from, &to);
    r->rows->batches = batches_of(r, i);
    comm_charge(r->comm, (double)(to - from));
    st = r->task->rows->train_whole(r, from, to, run_lr(r, i), done);
    if (from < to || r->rows->unit_batches > 0) /* a short chunk has rounds without work */
        r->task->rows->touch(r, from, to);
    return st;
}

static shoal_status ranks_part(struct run *r)
{
    struct sums done = {0};
    shoal_status st = SHOAL_OK;

    if (!r->rows->whole)
        st = pool_run((unsigned)r->rows->nworkers, part_thread, r);
    else if (r->at.place + r->worker < run_epoch_units(r))
        st = whole_part(r, r->at.place + r->worker, &done);
    run_count(r, &done);
    return st == SHOAL_OK ? store_round(r->rows->store) : st;
}

/* ---- lanes ---- */

/* A lane has a chunk of its own, whichever thread takes it. */
static void lane_train(void *ctx, size_t lane, unsigned thread)
{
    struct run *r = ctx;
    uint64_t i = r->at.place + lane * r->sharing + r->worker;

    (void)thread;
    if (i < run_epoch_units(r))
        train_chunk(r, &r->rows->workers[lane], i);
}

static shoal_status merge_lanes(struct run *r)
{
    struct view views[ROWS_TABLES][STORE_LANES_MOST], *tables[ROWS_TABLES] = {NULL};
    size_t n = r->rows->nworkers, ntables = r->rows->ntables;
    shoal_status st = SHOAL_OK;

    for (size_t t = 0; t < ntables; t++) {
        tables[t] = views[t];
        for (size_t i = 0; i < n; i++)
            views[t][i] = r->rows->workers[i].views[t];
        if (!r->rows->store)
            views_merge(views[t], n, r->kernel, r->rows->pool);
    }
    if (r->rows->store)
        st = store_merge_lanes(r->rows->store, tables, n);
    for (size_t t = 0; t < ntables; t++)
        for (size_t i = 0; i < n; i++)
            r->rows->workers[i].views[t] = views[t][i];
    return st;
}

/* One chunk for each lane, then all lanes meet. */
static shoal_status lane_round(struct run *r)
{
    shoal_status st;

    if (r->rows->store)
        comm_charge(r->comm, (double)(r->rows->nworkers * r->rows->chunk));
    workers_do(r->rows->pool, r->rows->nworkers, lane_train, r);
    st = merge_lanes(r);
    return st == SHOAL_OK && r->rows->store ? store_round(r->rows->store) : st;
}

static shoal_status whole_round(struct run *r, struct sums *done)
{
    size_t from, to;

    chunk_range(r, r->at.place, &from, &to);
    r->rows->batches = batches_of(r, r->at.place);
    return r->task->rows->train_whole(r, from, to, run_lr(r, r->at.place), done);
}

/* ---- a slice ---- */

void rows_count(struct run *r)
{
    for (size_t i = 0; i < r->rows->nworkers; i++) {
        run_count(r, &r->rows->workers[i].done);
        r->rows->workers[i].done = (struct sums){0};
    }
}

uint64_t rows_group(const struct run *r)
{
    if (r->opts->deterministic && !r->rows->whole)
        return r->opts->lanes;
    if (r->rows->store && !r->rows->whole &&
        (r->rows->blocks || r->opts->sync.policy != SHOAL_ASYNC))
        return (uint64_t)r->rows->most_threads * r->sharing;
    return r->sharing;
}

/* The chunks of this rank in the group after this one. */
static shoal_status expect_group(struct run *r)
{
    uint64_t next = r->at.place + r->group + r->worker;
    shoal_status st = SHOAL_OK;

    for (size_t k = 0; k < r->rows->most_threads && st == SHOAL_OK; k++)
        st = expect_chunk(r, next + k * r->sharing);
    return st;
}

/* A group in as many rounds as a chunk has parts. */
static shoal_status ranks_rounds(struct run *r)
{
    shoal_status st;

    set_least(r, r->at.place);
    st = store_await(r->rows->store);
    if (st == SHOAL_OK && r->rows->nworkers > 0)
        st = expect_group(r);
    for (r->rows->part = 0; st == SHOAL_OK && r->rows->part < r->rows->parts; r->rows->part++)
        st = ranks_part(r);
    return st;
}

/* Rounds until the slice is over. A round is never cut short by the clock, only by the epoch:
 * which lane trains which chunk may not depend on how fast this machine is. */
static shoal_status run_rounds(struct run *r)
{
    bool lanes = r->opts->deterministic && !r->rows->whole;
    uint64_t end = run_epoch_units(r);
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && r->at.place < r->stop) {
        struct sums done = {0};

        if (lanes)
            st = lane_round(r);
        else
            st = r->rows->store ? ranks_rounds(r) : whole_round(r, &done);
        r->at.place = r->at.place + r->group < end ? r->at.place + r->group : end;
        run_count(r, &done);
        rows_count(r);
        run_timeline_mark(r);
    }
    return st;
}

static shoal_status run_hogwild(struct run *r)
{
    shoal_status st;

    atomic_store(&r->rows->next, r->at.place);
    st = pool_run((unsigned)r->rows->nworkers, hogwild_thread, r);
    r->at.place = r->stop;
    rows_count(r);
    return st;
}

shoal_status rows_advance(struct run *r)
{
    bool rounds = r->opts->deterministic || r->rows->whole || (r->rows->store && r->opts->sync.policy != SHOAL_ASYNC);

    if (r->rows->blocks)
        return blocks_advance(r);
    return rounds ? run_rounds(r) : run_hogwild(r);
}
