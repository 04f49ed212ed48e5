/* Beginning and ending: tables, new or from a checkpoint, and who works on them. */
#include "train/run.h"

#include <math.h>
#include <stdlib.h>

static size_t gcd(size_t a, size_t b)
{
    while (b) {
        size_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static size_t parts_of(const struct run *r)
{
    return (r->chunk + r->grain.round - 1) / r->grain.round;
}

/* Parts of different sizes have the same number of chunks, each rank's own as
 * large as it needs, and the same number of rounds, so that all are through at
 * once. */
static shoal_status even_out(struct run *r)
{
    double most = (double)r->chunks;
    shoal_status st = comm_max(ranks_comm(r->opts->ranks), &most, 1);

    r->chunks = (size_t)most;
    r->chunk = (r->train + r->chunks - 1) / r->chunks;
    most = (double)parts_of(r);
    if (st == SHOAL_OK)
        st = comm_max(ranks_comm(r->opts->ranks), &most, 1);
    r->parts = (size_t)most;
    return st;
}

/* Neighbours in the sequence lie far apart in the data, so that workers do
 * not write the rows of one topic at the same time: i -> i * step mod chunks,
 * step near the golden section and coprime with chunks. */
static shoal_status lay_out(struct run *r)
{
    shoal_status st = SHOAL_OK;

    r->chunk = r->grain.chunk;
    r->chunks = (r->train + r->chunk - 1) / r->chunk;
    r->parts = parts_of(r);
    if (r->opts->local_input && shoal_ranks_size(r->opts->ranks) > 1)
        st = even_out(r);
    r->step = (size_t)(0.618 * (double)r->chunks) + 1;
    while (gcd(r->step, r->chunks) != 1)
        r->step++;
    return st;
}

static shoal_status init_views(struct run *r, struct worker *w)
{
    /* One worker alone has nobody to share hot rows with. */
    uint32_t hot = r->nworkers > 1 ? r->grain.hot : 0;
    shoal_status st = SHOAL_OK;

    for (size_t t = 0; t < r->ntables && st == SHOAL_OK && !r->blocks; t++) {
        if (r->opts->deterministic)
            st = view_init_private(&w->views[t], &r->tables[t]);
        else
            st = view_init_shared(&w->views[t], &r->tables[t], hot);
        if (st == SHOAL_OK && r->with && !r->opts->deterministic)
            w->views[t].touches = store_touches(together_store(r->with), t);
    }
    return st;
}

static shoal_status make_workers(struct run *r)
{
    shoal_status st = SHOAL_OK;

    if (r->whole)
        return SHOAL_OK;
    r->nworkers = workers_of(r->opts);
    r->workers = mem_array(r->nworkers + 1, sizeof *r->workers);
    if (!r->workers)
        return SHOAL_ENOMEM;
    if (r->blocks)
        st = blocks_begin(r);
    for (size_t i = 0; i < r->nworkers && st == SHOAL_OK; i++) {
        st = init_views(r, &r->workers[i]);
        if (st == SHOAL_OK)
            st = r->task->join(r, &r->workers[i]);
    }
    return st;
}

/* Who writes and who reads which rows of a checkpoint, as far as it is known yet. */
struct shares {
    const uint16_t *owners[RUN_TABLES];
    const uint32_t *places[RUN_TABLES];
    struct checkpoint_share share;
};

static void share_of(struct shares *s, const struct run *r)
{
    shoal_ranks *ranks = r->opts->ranks;

    *s = (struct shares){.share = {.comm = ranks_comm(ranks), .rank = shoal_ranks_rank(ranks),
                                   .size = shoal_ranks_size(ranks), .owner = s->owners}};
    for (size_t t = 0; r->with && t < r->ntables; t++) {
        s->owners[t] = store_owners(together_store(r->with), t);
        s->places[t] = store_places(together_store(r->with), t);
    }
    if (r->blocks)
        s->share.place = s->places;
}

static struct table *tables_here(struct run *r)
{
    return r->blocks ? r->owned : r->tables;
}

static shoal_status load(struct run *r)
{
    const struct position *at = &r->at;
    struct shares s;
    shoal_status st;

    share_of(&s, r);
    st = checkpoint_load(r->opts, r->from, tables_here(r), r->ntables, &r->at,
                         s.share.size > 1 ? &s.share : NULL);

    if (st == SHOAL_OK && (at->epoch > r->opts->epochs || at->chunk > r->chunks))
        st = shoal_fail(SHOAL_EFORMAT, "%s: the checkpoint is at chunk %llu of epoch %u, beyond "
                        "the end", r->opts->checkpoint, (unsigned long long)at->chunk, at->epoch);
    return st;
}

/* How often rows will travel, to deal them out evenly. */
static shoal_status join_ranks(struct run *r)
{
    float *traffic[RUN_TABLES] = {NULL};
    struct together_plan plan = {.kernel = r->kernel, .tables = r->tables, .n = r->ntables,
                                 .traffic = (const float *const *)traffic, .threads = r->threads,
                                 .needed = r->blocks ? r->needed : NULL};
    shoal_status st = SHOAL_OK;

    for (size_t t = 0; t < r->ntables && st == SHOAL_OK; t++) {
        traffic[t] = mem_array(r->tables[t].rows, sizeof *traffic[t]);
        if (!traffic[t]) {
            st = SHOAL_ENOMEM;
        } else if (!r->task->traffic(r, t, traffic[t])) {
            free(traffic[t]);
            traffic[t] = NULL;
        }
    }
    st = shoal_ranks_agree(r->opts->ranks, st);
    if (st == SHOAL_OK)
        st = together_open(&r->with, r->opts, &plan);
    for (size_t t = 0; t < r->ntables; t++)
        free(traffic[t]);
    for (size_t t = 0; t < r->ntables && st == SHOAL_OK && r->blocks; t++) {
        const uint32_t *ids;

        r->owned[t] = store_owned(together_store(r->with), t, &ids);
        r->owned[t].rows = r->tables[t].rows; /* which of them are here, their owners say */
    }
    return st;
}

static shoal_status begin_plan(struct run *r)
{
    const struct shoal_train_opts *o = r->opts;
    struct shoal_train_plan plan = {0};
    shoal_status st = r->task->plan(r, &plan);

    r->began = clock_now();
    r->last_loss = r->valid_loss = NAN;
    r->threads = threads_of(o);
    r->leads = shoal_ranks_rank(o->ranks) == 0;
    r->worker = o->local_input ? 0 : shoal_ranks_rank(o->ranks);
    r->sharing = o->local_input ? 1 : shoal_ranks_size(o->ranks) - o->servers;
    if (st == SHOAL_OK)
        st = profile_init(&r->profile, o->ranks);
    if (st == SHOAL_OK)
        st = check_plan(&plan);
    r->blocks = plan.blocks;
    return st == SHOAL_OK ? kernel_choose(&r->kernel) : st;
}

static uint64_t words_mark(const shoal_vocab *vocab)
{
    uint64_t mark = shoal_vocab_size(vocab);

    for (uint32_t id = 0; id < shoal_vocab_size(vocab); id++) {
        for (const char *at = shoal_vocab_word(vocab, id); *at; at++)
            mark = rng_mix(mark ^ (unsigned char)*at);
        mark = rng_mix(mark + RNG_STEP);
    }
    return mark;
}

/* A row is the same word or feature on every rank, whose files may not be the same. */
static shoal_status same_data(const struct run *r)
{
    const struct shoal_train_opts *o = r->opts;

    if (!o->local_input)
        return ranks_same(o->ranks, r->from.fingerprint, "data");
    return r->from.vocab ? ranks_same(o->ranks, words_mark(r->from.vocab), "a vocabulary")
                         : SHOAL_OK;
}

/* Where one rank has no room for a replica, nobody has one. */
static shoal_status begin_tables(struct run *r)
{
    shoal_ranks *ranks = r->opts->ranks;
    double blocks = r->blocks;
    shoal_status st = shoal_ranks_size(ranks) > 1 ? comm_max(ranks_comm(ranks), &blocks, 1)
                                                  : SHOAL_OK;

    r->blocks = blocks > 0;
    return st == SHOAL_OK ? shoal_ranks_agree(ranks, r->task->open(r)) : st;
}

/* Each rank writes the rows it owns. */
static shoal_status open_checkpoints(struct run *r)
{
    struct shares s;

    share_of(&s, r);
    return checkpoints_open(&r->checkpoints, r->opts, r->from, tables_here(r), r->ntables,
                            r->with ? &s.share : NULL);
}

static shoal_status begin_work(struct run *r)
{
    const struct shoal_train_opts *o = r->opts;
    shoal_status st = make_workers(r);

    if (st == SHOAL_OK && o->checkpoint)
        st = open_checkpoints(r);
    if (st == SHOAL_OK && o->metrics && r->leads)
        st = metrics_open(&r->metrics, o, r->from, r->kernel->name, o->resume);
    return st;
}

/* Ranks agree after each part, so that nobody waits for one that failed. */
shoal_status begin(struct run *r)
{
    shoal_ranks *ranks = r->opts->ranks;
    bool several = shoal_ranks_size(ranks) > 1;
    shoal_status st = shoal_ranks_agree(ranks, begin_plan(r));

    if (st == SHOAL_OK)
        st = same_data(r);
    if (st == SHOAL_OK)
        st = begin_tables(r);
    if (st == SHOAL_OK)
        st = lay_out(r);
    if (st == SHOAL_OK && several && r->blocks) /* who owns a row gives it its first value */
        st = join_ranks(r);
    if (st == SHOAL_OK && r->opts->resume)
        st = load(r);
    else if (st == SHOAL_OK && r->task->start)
        r->task->start(r);
    if (st == SHOAL_OK && several && !r->blocks)
        st = join_ranks(r);
    return st == SHOAL_OK ? shoal_ranks_agree(ranks, begin_work(r)) : st;
}

void end(struct run *r)
{
    if (r->blocks)
        blocks_end(r);
    for (size_t i = 0; i < r->nworkers && r->workers; i++) {
        r->task->leave(&r->workers[i]);
        for (size_t t = 0; t < RUN_TABLES; t++)
            view_fini(&r->workers[i].views[t]);
    }
    free(r->workers);
    together_close(r->with);
    checkpoints_close(r->checkpoints);
    metrics_close(r->metrics);
    profile_fini(&r->profile);
    r->task->close(r);
    for (size_t i = 0; i < RUN_TABLES; i++)
        table_fini(&r->tables[i]);
}
