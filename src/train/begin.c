/* Beginning and ending: tables, new or from a checkpoint, and who works on them. */
#include "train/run.h"

#include "model/model.h"
#include "store/store.h"

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

static size_t parts_of(size_t chunk)
{
    return (chunk + ROUND_IDS - 1) / ROUND_IDS;
}

/* Corpora of different sizes have the same number of chunks, each rank's own as
 * large as it needs, and the same number of rounds, so that all are through at
 * once. */
static shoal_status even_out(struct run *r)
{
    double most = (double)r->chunks;
    shoal_status st = comm_max(ranks_comm(r->opts->ranks), &most, 1);

    r->chunks = (size_t)most;
    r->chunk = (r->train + r->chunks - 1) / r->chunks;
    most = (double)parts_of(r->chunk);
    if (st == SHOAL_OK)
        st = comm_max(ranks_comm(r->opts->ranks), &most, 1);
    r->parts = (size_t)most;
    return st;
}

/* Neighbours in the sequence lie far apart in the corpus, so that workers do
 * not write the rows of one topic at the same time: i -> i * step mod chunks,
 * step near the golden section and coprime with chunks. */
static shoal_status lay_out(struct run *r)
{
    shoal_status st = SHOAL_OK;

    r->chunk = chunk_of(r->opts, r->train);
    r->chunks = (r->train + r->chunk - 1) / r->chunk;
    r->parts = parts_of(r->chunk);
    if (r->opts->local_input && shoal_ranks_size(r->opts->ranks) > 1)
        st = even_out(r);
    r->step = (size_t)(0.618 * (double)r->chunks) + 1;
    while (gcd(r->step, r->chunks) != 1)
        r->step++;
    return st;
}

static shoal_status hold_out(struct run *r)
{
    shoal_status st = shoal_corpus_part(r->corpus, 0, 1, &r->ids, &r->all);

    r->train = r->all - (size_t)(r->opts->valid * (double)r->all);
    r->last_loss = r->valid_loss = NAN;
    return st;
}

static shoal_status make_tables(struct run *r)
{
    size_t words = shoal_vocab_size(shoal_corpus_vocab(r->corpus)), dim = r->opts->dim;
    shoal_status st = table_init(&r->tables[IN], "in", words, dim);

    if (st == SHOAL_OK)
        st = table_init(&r->tables[OUT], "out", w2v_out_rows(r->opts, words), dim);
    if (st == SHOAL_OK && r->opts->loss == SHOAL_SOFTMAX)
        st = table_init(&r->tables[BIAS], "bias", 1, words);
    r->ntables = r->opts->loss == SHOAL_SOFTMAX ? 3 : 2;
    return st;
}

static shoal_status init_views(struct run *r, struct worker *w)
{
    struct table *in = &r->tables[IN], *out = &r->tables[OUT];
    /* One worker alone has nobody to share hot rows with. */
    uint32_t hot = r->nworkers > 1 ? HOT_ROWS : 0;
    shoal_status st;

    if (r->opts->deterministic) {
        st = view_init_private(&w->in, in);
        return st == SHOAL_OK ? view_init_private(&w->out, out) : st;
    }
    st = view_init_shared(&w->in, in, hot);
    if (st == SHOAL_OK)
        st = view_init_shared(&w->out, out, hot);
    if (st == SHOAL_OK && r->with) {
        w->in.touches = store_touches(together_store(r->with), IN);
        w->out.touches = store_touches(together_store(r->with), OUT);
    }
    return st;
}

static shoal_status make_workers(struct run *r)
{
    shoal_status st = SHOAL_OK;

    if (r->opts->loss == SHOAL_SOFTMAX)
        return softmax_new(&r->softmax, &r->model, r->opts->batch, &r->tables[IN],
                           &r->tables[OUT], &r->tables[BIAS], r->threads);
    r->nworkers = workers_of(r->opts);
    r->workers = mem_array(r->nworkers + 1, sizeof *r->workers);
    if (!r->workers)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < r->nworkers && st == SHOAL_OK; i++) {
        struct worker *w = &r->workers[i];

        st = init_views(r, w);
        if (st == SHOAL_OK)
            st = lane_new(&w->lane, &r->model, &w->in, &w->out);
    }
    return st;
}

/* All is even: what a model that knows nothing loses on a prediction, or for a
 * Huffman tree a little more. */
static double untrained_loss(const struct shoal_train_opts *o, size_t words)
{
    return o->loss == SHOAL_NS ? (o->negative + 1) * log(2) : log((double)words) + log(2);
}

static struct checkpoint_share share_of(const struct run *r)
{
    shoal_ranks *ranks = r->opts->ranks;

    return (struct checkpoint_share){.comm = ranks_comm(ranks), .rank = shoal_ranks_rank(ranks),
                                     .size = shoal_ranks_size(ranks)};
}

static shoal_status load(struct run *r)
{
    const struct position *at = &r->at;
    struct checkpoint_share share = share_of(r);
    shoal_status st = checkpoint_load(r->opts, r->corpus, r->tables, r->ntables, &r->at,
                                             share.size > 1 ? &share : NULL);

    if (st == SHOAL_OK && (at->epoch > r->opts->epochs || at->chunk > r->chunks))
        st = shoal_fail(SHOAL_EFORMAT, "%s: the checkpoint is at chunk %llu of epoch %u, beyond "
                        "the end", r->opts->checkpoint, (unsigned long long)at->chunk, at->epoch);
    return st;
}

/* How often rows will travel, to deal them out evenly. */
static shoal_status join_ranks(struct run *r)
{
    float *traffic[TABLES] = {mem_array(r->tables[IN].rows, sizeof(float)),
                              mem_array(r->tables[OUT].rows, sizeof(float))};
    struct together_plan plan = {.kernel = r->kernel, .tables = r->tables, .n = r->ntables,
                                 .traffic = (const float *const *)traffic, .threads = r->threads};
    shoal_status st = traffic[IN] && traffic[OUT] ? SHOAL_OK : SHOAL_ENOMEM;

    st = shoal_ranks_agree(r->opts->ranks, st);
    if (st == SHOAL_OK) {
        w2v_traffic(&r->model, shoal_corpus_vocab(r->corpus), traffic[IN], traffic[OUT]);
        st = together_open(&r->with, r->opts, &plan);
    }
    free(traffic[IN]);
    free(traffic[OUT]);
    return st;
}

static shoal_status begin_tables(struct run *r)
{
    const struct shoal_train_opts *o = r->opts;
    struct shoal_train_plan plan;
    shoal_status st = shoal_train_plan(&plan, r->corpus, o);

    r->began = clock_now();
    r->threads = threads_of(o);
    r->leads = shoal_ranks_rank(o->ranks) == 0;
    r->worker = o->local_input ? 0 : shoal_ranks_rank(o->ranks);
    r->sharing = o->local_input ? 1 : shoal_ranks_size(o->ranks) - o->servers;
    if (st == SHOAL_OK)
        st = check_plan(&plan);
    if (st == SHOAL_OK)
        st = kernel_choose(&r->kernel);
    if (st == SHOAL_OK)
        st = hold_out(r);
    if (st == SHOAL_OK)
        st = w2v_init(&r->model, o, shoal_corpus_vocab(r->corpus), r->ids, r->all, r->kernel);
    if (st == SHOAL_OK)
        st = make_tables(r);
    if (st != SHOAL_OK)
        return st;
    r->at.best_loss = untrained_loss(o, shoal_vocab_size(shoal_corpus_vocab(r->corpus)));
    return SHOAL_OK;
}

/* Each rank writes the rows it owns. */
static shoal_status open_checkpoints(struct run *r)
{
    const uint16_t *owners[TABLES] = {0};
    struct checkpoint_share share = share_of(r);

    for (size_t t = 0; r->with && t < r->ntables; t++)
        owners[t] = store_owners(together_store(r->with), t);
    share.owner = owners;
    return checkpoints_open(&r->checkpoints, r->opts, r->corpus, r->tables, r->ntables,
                                   r->with ? &share : NULL);
}

static shoal_status begin_work(struct run *r)
{
    const struct shoal_train_opts *o = r->opts;
    shoal_status st = make_workers(r);

    if (st == SHOAL_OK && o->nevals > 0) {
        r->scores = mem_array(o->nevals, sizeof *r->scores);
        st = r->scores ? SHOAL_OK : SHOAL_ENOMEM;
    }
    if (st == SHOAL_OK && o->checkpoint)
        st = open_checkpoints(r);
    if (st == SHOAL_OK && o->metrics && r->leads)
        st = metrics_open(&r->metrics, o, r->corpus, r->kernel->name, o->resume);
    return st;
}

/* Ranks agree after each part, so that nobody waits for one that failed. */
shoal_status begin(struct run *r)
{
    shoal_ranks *ranks = r->opts->ranks;
    shoal_status st = shoal_ranks_agree(ranks, begin_tables(r));

    if (st == SHOAL_OK)
        st = lay_out(r);
    if (st == SHOAL_OK && r->opts->resume)
        st = load(r);
    else if (st == SHOAL_OK)
        w2v_start(&r->tables[IN], r->opts->seed);
    if (st == SHOAL_OK && shoal_ranks_size(ranks) > 1)
        st = join_ranks(r);
    return st == SHOAL_OK ? shoal_ranks_agree(ranks, begin_work(r)) : st;
}

void end(struct run *r)
{
    for (size_t i = 0; i < r->nworkers && r->workers; i++) {
        lane_free(r->workers[i].lane);
        view_fini(&r->workers[i].in);
        view_fini(&r->workers[i].out);
    }
    free(r->workers);
    free(r->scores);
    softmax_free(r->softmax);
    together_close(r->with);
    checkpoints_close(r->checkpoints);
    metrics_close(r->metrics);
    w2v_fini(&r->model);
    for (size_t i = 0; i < TABLES; i++)
        table_fini(&r->tables[i]);
}
