/* A stretch of the data, trained by all threads and lanes of this rank. */
#include "train/run.h"

#include <math.h>

#define STRETCH_SECONDS 0.5

enum {
    EARLY = 64,       /* see apart_at */
    APART_LEAST = 16,
};

/* The position is what was when all met, and what was done since. */
void count_up(struct run *r, const struct done *since)
{
    r->at.words = r->met.words + since->words;
    r->at.epoch_loss = r->met.epoch_loss + since->loss;
    r->at.epoch_predictions = r->met.epoch_predictions + since->predictions;
}

static void take_home(struct run *r, const struct done *d)
{
    struct done since;

    done_add(&r->since, d);
    r->rows += d->rows;
    r->predictions += d->predictions;
    r->interval_loss += d->loss;
    r->interval_predictions += d->predictions;
    since = r->since;
    if (r->with) {
        struct done others = together_others(r->with);

        done_add(&since, &others);
    }
    count_up(r, &since);
}

static size_t chunk_at(const struct run *r, uint64_t i)
{
    return (size_t)((unsigned __int128)i * r->step % r->chunks);
}

/* The rate of the i-th chunk of the epoch's sequence. */
static float chunk_lr(const struct run *r, uint64_t i)
{
    return lr_at(r->opts, r->at.epoch + (double)i / (double)r->chunks);
}

static void sync_views(struct run *r, struct worker *w)
{
    for (size_t t = 0; t < r->ntables; t++)
        view_sync(&w->views[t], r->kernel);
}

/* How far a thread goes until its copies of hot rows meet the others': the less, the
 * more threads there are, and at first, where steps are largest, a share of what was
 * learned before. In whole rounds. */
static size_t apart_at(const struct run *r, uint64_t i)
{
    size_t before = (size_t)(r->at.epoch * r->chunks + i) * r->chunk / EARLY;
    size_t most = r->grain.apart / r->nworkers;

    most = before < most ? before : most;
    most = most > APART_LEAST ? most : APART_LEAST;
    return (most + r->grain.round - 1) / r->grain.round * r->grain.round;
}

/* At its end they meet anyway. */
void train_range(struct run *r, struct worker *w, uint64_t i, size_t from, size_t to)
{
    bool meets = r->grain.apart > 0 && r->nworkers > 1 && !r->opts->deterministic;
    size_t step = meets ? apart_at(r, i) : to - from;

    for (size_t stop; from < to; from = stop) {
        stop = to - from > step ? from + step : to;
        r->task->train(r, w, from, stop, chunk_lr(r, i));
        if (stop < to)
            sync_views(r, w);
    }
}

static void chunk_range(const struct run *r, uint64_t i, size_t *from, size_t *to)
{
    *from = chunk_at(r, i) * r->chunk;
    *to = *from + r->chunk < r->train ? *from + r->chunk : r->train;
}

static void train_chunk(struct run *r, struct worker *w, uint64_t i)
{
    size_t from, to;

    chunk_range(r, i, &from, &to);
    train_range(r, w, i, from, to);
}

/* The same in pieces, looking between them at what other ranks sent. */
shoal_status train_looking(struct run *r, struct worker *w, uint64_t i, size_t from, size_t to)
{
    size_t step = together_crowded(r->with) ? r->grain.look_crowded : r->grain.look;
    shoal_status st = SHOAL_OK;

    for (size_t stop; from < to && st == SHOAL_OK; from = stop) {
        stop = to - from > step ? from + step : to;
        comm_charge(together_comm(r->with), (double)(stop - from));
        train_range(r, w, i, from, stop);
        st = store_step(together_store(r->with));
    }
    return st;
}

/* Only the first thread may speak to other ranks. */
static shoal_status hogwild_chunk(struct run *r, struct worker *w, uint64_t i)
{
    size_t from, to;
    shoal_status st;

    if (!r->with || w != r->workers) {
        train_chunk(r, w, i);
        return SHOAL_OK;
    }
    chunk_range(r, i, &from, &to);
    st = train_looking(r, w, i, from, to);
    if (st == SHOAL_OK)
        st = store_round(together_store(r->with));
    run_mark(r);
    return st;
}

static shoal_status hogwild_thread(void *ctx, unsigned index)
{
    struct run *r = ctx;
    struct worker *w = &r->workers[index];
    shoal_status st = SHOAL_OK;
    uint64_t i;

    while (st == SHOAL_OK && (i = atomic_fetch_add(&r->next, r->sharing)) < r->stop) {
        if (i + r->worker < r->chunks)
            st = hogwild_chunk(r, w, i + r->worker);
        sync_views(r, w);
    }
    return st;
}

/* ---- rounds of ranks that wait for each other ---- */

void part_range(const struct run *r, uint64_t i, size_t part, size_t *from, size_t *to)
{
    size_t end, round = r->grain.round;

    chunk_range(r, i, from, &end);
    *from = *from + part * round < end ? *from + part * round : end;
    *to = end - *from > round ? *from + round : end;
}

static shoal_status part_thread(void *ctx, unsigned index)
{
    struct run *r = ctx;
    struct worker *w = &r->workers[index];
    shoal_status st = SHOAL_OK;

    for (uint64_t k = index; k < together_threads(r->with) && st == SHOAL_OK; k += r->nworkers) {
        uint64_t i = r->at.chunk + k * r->sharing + r->worker;
        size_t from, to;

        if (i >= r->chunks)
            break;
        part_range(r, i, r->part, &from, &to);
        if (index == 0)
            st = train_looking(r, w, i, from, to);
        else
            train_range(r, w, i, from, to);
    }
    sync_views(r, w);
    return st;
}

static shoal_status whole_part(struct run *r, uint64_t i, struct done *done)
{
    size_t from, to;
    shoal_status st;

    part_range(r, i, r->part, &from, &to);
    comm_charge(together_comm(r->with), (double)(to - from));
    st = r->task->train_whole(r, from, to, chunk_lr(r, i), done);
    r->task->touch(r, from, to);
    return st;
}

static shoal_status ranks_part(struct run *r)
{
    struct done done = {0};
    shoal_status st = SHOAL_OK;

    if (!r->whole)
        st = pool_run((unsigned)r->nworkers, part_thread, r);
    else if (r->at.chunk + r->worker < r->chunks)
        st = whole_part(r, r->at.chunk + r->worker, &done);
    take_home(r, &done);
    return st == SHOAL_OK ? store_round(together_store(r->with)) : st;
}

/* ---- lanes ---- */

/* Lanes are taken by whatever thread is free; each has its own chunk. */
static shoal_status lane_thread(void *ctx, unsigned index)
{
    struct run *r = ctx;
    unsigned lane;

    (void)index;
    while ((lane = atomic_fetch_add(&r->next_lane, 1)) < r->nworkers) {
        uint64_t i = r->at.chunk + lane * r->sharing + r->worker;

        if (i < r->chunks)
            train_chunk(r, &r->workers[lane], i);
    }
    return SHOAL_OK;
}

static shoal_status merge_lanes(struct run *r)
{
    struct view views[64];
    shoal_status st = SHOAL_OK;

    for (size_t t = 0; t < r->ntables && st == SHOAL_OK; t++) {
        for (size_t i = 0; i < r->nworkers; i++)
            views[i] = r->workers[i].views[t];
        if (r->with)
            st = store_merge_lanes(together_store(r->with), t, views, r->nworkers);
        else
            st = views_merge(views, r->nworkers, r->kernel, r->threads);
        for (size_t i = 0; i < r->nworkers; i++)
            r->workers[i].views[t] = views[i];
    }
    return st;
}

/* One chunk for each lane, then all lanes meet. */
static shoal_status lane_round(struct run *r)
{
    unsigned threads = r->threads < r->nworkers ? r->threads : (unsigned)r->nworkers;
    shoal_status st = SHOAL_OK;

    if (r->with)
        comm_charge(together_comm(r->with), (double)(r->nworkers * r->chunk));
    atomic_store(&r->next_lane, 0);
    if (threads > 0)
        st = pool_run(threads, lane_thread, r);
    if (st == SHOAL_OK)
        st = merge_lanes(r);
    return st == SHOAL_OK && r->with ? store_round(together_store(r->with)) : st;
}

static shoal_status whole_round(struct run *r, struct done *done)
{
    size_t from, to;

    chunk_range(r, r->at.chunk, &from, &to);
    return r->task->train_whole(r, from, to, chunk_lr(r, r->at.chunk), done);
}

/* ---- a stretch ---- */

void take_all_home(struct run *r)
{
    for (size_t i = 0; i < r->nworkers; i++) {
        take_home(r, &r->workers[i].done);
        r->workers[i].done = (struct done){0};
    }
}

/* By all ranks that are at this place, as if every chunk were whole. */
uint64_t passed(const struct run *r)
{
    return (r->at.epoch * r->chunks + r->at.chunk) * r->chunk;
}

static uint64_t chunks_before_look(const struct run *r)
{
    uint64_t next = r->at.looked + r->look_every;
    uint64_t left = next > passed(r) ? next - passed(r) : 1;

    return (left + r->chunk - 1) / r->chunk;
}

/* As many chunks as about half a second takes, and no further than the epoch. */
uint64_t stretch_end(const struct run *r, uint64_t last, double took)
{
    uint64_t n = last ? last : (uint64_t)r->threads * r->sharing;

    if (took > 0)
        n = (uint64_t)((double)n * fmin(STRETCH_SECONDS / took, 4)) + 1;
    if (r->look_every > 0) /* no further than the next look */
        n = chunks_before_look(r) < n ? chunks_before_look(r) : n;
    n = (n + r->group - 1) / r->group * r->group;
    return r->at.chunk + n < r->chunks ? r->at.chunk + n : r->chunks;
}

/* The chunks that are taken together: at least one for each worker's turn. */
uint64_t group_of(const struct run *r)
{
    if (r->opts->deterministic && !r->whole)
        return r->opts->lanes;
    if (r->with && !r->whole && (r->blocks || r->opts->sync != SHOAL_ASYNC))
        return (uint64_t)together_threads(r->with) * r->sharing;
    return r->sharing;
}

/* A group in as many rounds as a chunk has parts. */
static shoal_status ranks_rounds(struct run *r)
{
    shoal_status st = SHOAL_OK;

    for (r->part = 0; st == SHOAL_OK && r->part < r->parts; r->part++)
        st = ranks_part(r);
    return st;
}

/* Rounds until the stretch is over; the tables are whole after each. A round is
 * never cut short by the clock, only by the epoch, or lanes would depend on it. */
static shoal_status run_rounds(struct run *r)
{
    bool lanes = r->opts->deterministic && !r->whole;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && r->at.chunk < r->stop) {
        struct done done = {0};

        if (lanes)
            st = lane_round(r);
        else
            st = r->with ? ranks_rounds(r) : whole_round(r, &done);
        r->at.chunk = r->at.chunk + r->group < r->chunks ? r->at.chunk + r->group : r->chunks;
        take_home(r, &done);
        take_all_home(r);
        run_mark(r);
    }
    return st;
}

static shoal_status run_hogwild(struct run *r)
{
    shoal_status st;

    atomic_store(&r->next, r->at.chunk);
    st = pool_run((unsigned)r->nworkers, hogwild_thread, r);
    r->at.chunk = r->stop;
    take_all_home(r);
    return st;
}

shoal_status run_stretch(struct run *r)
{
    bool rounds = r->opts->deterministic || r->whole || (r->with && r->opts->sync != SHOAL_ASYNC);

    if (r->blocks)
        return run_blocks(r);
    return rounds ? run_rounds(r) : run_hogwild(r);
}
