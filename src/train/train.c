/* The loop. An epoch is a sequence of chunks of the corpus; workers take one
 * after the other and train on their views. Every second or so all of them come
 * home: then, and only then, are losses added, checkpoints begun, reports made.
 *
 *     plan -> tables (new, or from a checkpoint) -> [ stretch, report ]* -> vectors
 *
 * Two ways to share the work:
 *   Hogwild        each thread has a worker; views are the tables themselves,
 *                  but for private copies of the hottest rows
 *   deterministic  a fixed number of lanes; views are private and merged after
 *                  each round in a fixed order, whatever thread ran which lane */
#include "train/train.h"

#include "eval/eval.h"
#include "kernel/kernel.h"
#include "model/model.h"
#include "store/store.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { IN, OUT, BIAS, TABLES };

enum {
    CHUNK_LEAST = 512,
    CHUNK_MOST = 16384,     /* Hogwild: small beside a stretch, large beside its overhead */
    CHUNK_LANE = 5000,      /* between merges: longer loses accuracy, shorter speed */
    CHUNKS_PER_EPOCH = 256, /* at least, so that the rate falls smoothly */
    CHUNKS_SOFTMAX = 32,    /* fewer: each starts the threads anew and ends a batch */
    HOT_ROWS = 128,
};

#define STRETCH_SECONDS 0.5
#define REPORT_SECONDS 1.0

struct worker {
    struct view in, out;
    struct lane *lane;
    struct done done;
    struct run *run;
};

struct run {
    const struct shoal_train_opts *opts;
    const shoal_corpus *corpus;
    const struct kernel *kernel;
    unsigned threads;

    const uint32_t *ids;
    size_t train, all; /* ids to learn from; the rest is held out */
    size_t chunk, chunks, step; /* ids of a chunk; chunks of an epoch; see chunk_at */

    struct table tables[TABLES];
    size_t ntables;
    struct w2v model;
    struct softmax *softmax;
    struct worker *workers;
    size_t nworkers;

    struct position at;
    atomic_uint_fast64_t next; /* chunk to be taken, during a stretch */
    uint64_t stop;             /* first chunk not of this stretch */
    atomic_uint next_lane;

    struct checkpoints *checkpoints;
    struct metrics *metrics;
    double began, stretch_began, reported, saved; /* clock */
    double interval_loss;
    uint64_t interval_predictions, reported_words, saved_chunks;
    double last_loss, valid_loss; /* of the last epoch */
    struct shoal_score *scores;   /* [nevals] likewise */
    unsigned rising; /* intervals in a row far above the best loss */
    double startup;
    uint64_t first_words; /* before this call */
    double first_seconds;
    uint64_t epoch_words; /* before this epoch, or this call if it began within */
    double epoch_seconds;
};

/* ---- options ---- */

struct shoal_train_opts shoal_train_default(enum shoal_model model)
{
    return (struct shoal_train_opts){
        .model = model, .dim = 100, .window = 5, .negative = 5, .sample = 1e-3, .epochs = 5,
        .decay = 0.01, .batch = 64, .seed = 1, .valid = 0.001, .lanes = 8, .every_value = 60,
    };
}

static shoal_status want(bool ok, const char *name, double found, const char *wanted)
{
    return ok ? SHOAL_OK
              : shoal_fail(SHOAL_EINVAL, "train: %s is %g, want %s", name, found, wanted);
}

shoal_status shoal_train_check(const struct shoal_train_opts *o)
{
    shoal_status st = want(o->dim >= 1 && o->dim <= KERNEL_MAX_DIM, "dim", o->dim, "1 to 4096");

    if (st == SHOAL_OK)
        st = want(o->model <= SHOAL_SKIPGRAM, "model", o->model, "one of enum shoal_model");
    if (st == SHOAL_OK)
        st = want(o->loss <= SHOAL_SOFTMAX, "loss", o->loss, "one of enum shoal_loss");
    if (st == SHOAL_OK)
        st = want(o->schedule <= SHOAL_INVERSE_TIME, "schedule", o->schedule,
                  "one of enum shoal_schedule");
    if (st == SHOAL_OK)
        st = want(o->window >= 1 && o->window <= W2V_MAX_WINDOW, "window", o->window, "1 to 50");
    if (st == SHOAL_OK && o->loss == SHOAL_NS)
        st = want(o->negative >= 1 && o->negative <= W2V_MAX_NEGATIVES, "negative", o->negative,
                  "1 to 64");
    if (st == SHOAL_OK)
        st = want(o->sample >= 0 && o->sample < 1, "sample", o->sample, "0 to below 1");
    if (st == SHOAL_OK)
        st = want(o->epochs >= 1 && o->epochs <= 100000, "epochs", o->epochs, "1 to 100000");
    if (st == SHOAL_OK)
        st = want(o->lr >= 0 && o->lr <= 10, "lr", o->lr, "above 0 to 10");
    if (st == SHOAL_OK)
        st = want(o->decay >= 0 && isfinite(o->decay), "decay", o->decay, "0 or more");
    if (st == SHOAL_OK)
        st = want(o->batch >= 1 && o->batch <= 65536, "batch", o->batch, "1 to 65536");
    if (st == SHOAL_OK)
        st = want(o->valid >= 0 && o->valid <= 0.5, "valid", o->valid, "0 to 0.5");
    if (st == SHOAL_OK)
        st = want(o->lanes >= 1 && o->lanes <= 64, "lanes", o->lanes, "1 to 64");
    if (st == SHOAL_OK)
        st = want(o->threads <= 1024, "threads", o->threads, "0 to 1024");
    if (st == SHOAL_OK)
        st = want(o->every == SHOAL_EVERY_EPOCH || o->every_value > 0, "checkpoint-every",
                  o->every_value, "above 0");
    if (st == SHOAL_OK)
        st = want(o->every <= SHOAL_EVERY_EPOCH, "every", o->every, "one of enum shoal_every");
    return st;
}

static double first_lr(const struct shoal_train_opts *o)
{
    return o->lr > 0 ? o->lr : o->model == SHOAL_CBOW ? 0.05 : 0.025;
}

/* The rate at a point of the run, counted in epochs. */
static float lr_at(const struct shoal_train_opts *o, double epochs_done)
{
    double lr = first_lr(o), left = 1 - epochs_done / o->epochs;

    switch (o->schedule) {
    case SHOAL_LINEAR:
        return (float)(lr * (left > 1e-4 ? left : 1e-4));
    case SHOAL_INVERSE_TIME:
        return (float)(lr / (1 + o->decay * epochs_done));
    case SHOAL_CONSTANT:
        break;
    }
    return (float)lr;
}

/* ---- the plan ---- */

static size_t workers_of(const struct shoal_train_opts *o)
{
    if (o->loss == SHOAL_SOFTMAX)
        return 0;
    return o->deterministic ? o->lanes : pool_threads(o->threads);
}

static size_t chunk_of(const struct shoal_train_opts *o, size_t ids)
{
    size_t most = o->deterministic ? CHUNK_LANE : CHUNK_MOST;
    size_t chunk = ids / (o->loss == SHOAL_SOFTMAX ? CHUNKS_SOFTMAX : CHUNKS_PER_EPOCH);

    return chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk > most ? most : chunk;
}

/* Output rows a lane may touch between two merges: each word's own and its
 * share of noise, or the nodes of its path that others do not pass. */
static size_t touched_of(const struct shoal_train_opts *o, size_t ids)
{
    size_t chunk = chunk_of(o, ids);

    return o->loss == SHOAL_NS ? chunk + chunk * o->negative / W2V_REUSE : 4 * chunk;
}

static uint64_t views_bytes(const struct shoal_train_opts *o, size_t words, size_t ids)
{
    struct table t = {.rows = words, .width = o->dim, .stride = table_stride(o->dim)};
    size_t hot = HOT_ROWS < words ? HOT_ROWS : words;

    if (!o->deterministic)
        return workers_of(o) * 4 * table_bytes(hot, o->dim);
    return workers_of(o) * (view_bytes(&t, chunk_of(o, ids)) + view_bytes(&t, touched_of(o, ids)));
}

shoal_status shoal_train_plan(struct shoal_train_plan *plan, const shoal_corpus *corpus,
                              const struct shoal_train_opts *o)
{
    const shoal_vocab *vocab = shoal_corpus_vocab(corpus);
    size_t words = shoal_vocab_size(vocab), ids = 0;
    const uint32_t *at;
    shoal_status st = shoal_train_check(o);

    *plan = (struct shoal_train_plan){.words = shoal_corpus_words(corpus), .vocab = words};
    if (st == SHOAL_OK)
        st = shoal_corpus_part(corpus, 0, 1, &at, &ids);
    if (st != SHOAL_OK)
        return st;
    plan->model_bytes = table_bytes(words, o->dim) + table_bytes(w2v_out_rows(o, words), o->dim);
    plan->work_bytes = w2v_bytes(o, vocab);
    if (o->loss == SHOAL_SOFTMAX) {
        plan->model_bytes += table_bytes(1, words);
        plan->work_bytes += softmax_bytes(o->batch, words, o->dim);
    } else {
        plan->work_bytes += views_bytes(o, words, ids);
    }
    plan->held_bytes = mem_held();
    plan->checkpoint_bytes = o->checkpoint ? plan->model_bytes : 0;
    plan->memory_bytes =
        plan->model_bytes + plan->work_bytes + plan->held_bytes + plan->checkpoint_bytes;
    plan->memory_free = o->memory_limit ? o->memory_limit : mem_available();
    return SHOAL_OK;
}

/* What is held already has found its place; the rest must. */
static shoal_status check_plan(const struct shoal_train_plan *p)
{
    uint64_t need = p->memory_bytes - p->held_bytes;

    if (need <= p->memory_free)
        return SHOAL_OK;
    return shoal_fail(SHOAL_ELIMIT,
                      "train: needs %llu bytes of memory (%llu of them parameters), %llu are free; "
                      "lower --dim or the vocabulary",
                      (unsigned long long)need, (unsigned long long)p->model_bytes,
                      (unsigned long long)p->memory_free);
}

/* ---- beginning and ending ---- */

static size_t gcd(size_t a, size_t b)
{
    while (b) {
        size_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Neighbours in the sequence lie far apart in the corpus, so that workers do
 * not write the rows of one topic at the same time: i -> i * step mod chunks,
 * step near the golden section and coprime with chunks. */
static void lay_out(struct run *r)
{
    r->chunk = chunk_of(r->opts, r->train);
    r->chunks = (r->train + r->chunk - 1) / r->chunk;
    r->step = (size_t)(0.618 * (double)r->chunks) + 1;
    while (gcd(r->step, r->chunks) != 1)
        r->step++;
}

static size_t chunk_at(const struct run *r, uint64_t i)
{
    return (size_t)((unsigned __int128)i * r->step % r->chunks);
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
    return st == SHOAL_OK ? view_init_shared(&w->out, out, hot) : st;
}

static shoal_status make_workers(struct run *r)
{
    shoal_status st = SHOAL_OK;

    if (r->opts->loss == SHOAL_SOFTMAX)
        return softmax_new(&r->softmax, &r->model, r->opts->batch, &r->tables[IN],
                           &r->tables[OUT], &r->tables[BIAS], r->threads);
    r->nworkers = workers_of(r->opts);
    r->workers = mem_array(r->nworkers, sizeof *r->workers);
    if (!r->workers)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < r->nworkers && st == SHOAL_OK; i++) {
        struct worker *w = &r->workers[i];

        w->run = r;
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

static shoal_status load(struct run *r)
{
    const struct position *at = &r->at;
    shoal_status st = checkpoint_load(r->opts, r->corpus, r->tables, r->ntables, &r->at);

    if (st == SHOAL_OK && (at->epoch > r->opts->epochs || at->chunk > r->chunks))
        st = shoal_fail(SHOAL_EFORMAT, "%s: the checkpoint is at chunk %llu of epoch %u, beyond "
                        "the end", r->opts->checkpoint, (unsigned long long)at->chunk, at->epoch);
    return st;
}

static shoal_status begin(struct run *r)
{
    const struct shoal_train_opts *o = r->opts;
    struct shoal_train_plan plan;
    shoal_status st = shoal_train_plan(&plan, r->corpus, o);

    r->began = clock_now();
    r->threads = pool_threads(o->threads);
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
    lay_out(r);
    r->at.best_loss = untrained_loss(o, shoal_vocab_size(shoal_corpus_vocab(r->corpus)));
    if (o->resume)
        st = load(r);
    else
        w2v_start(&r->tables[IN], o->seed);
    if (st == SHOAL_OK)
        st = make_workers(r);
    if (st == SHOAL_OK && o->nevals > 0) {
        r->scores = mem_array(o->nevals, sizeof *r->scores);
        st = r->scores ? SHOAL_OK : SHOAL_ENOMEM;
    }
    if (st == SHOAL_OK && o->checkpoint)
        st = checkpoints_open(&r->checkpoints, o, r->corpus, r->tables, r->ntables);
    if (st == SHOAL_OK && o->metrics)
        st = metrics_open(&r->metrics, o, r->corpus, r->kernel->name, o->resume);
    return st;
}

static void end(struct run *r)
{
    for (size_t i = 0; i < r->nworkers && r->workers; i++) {
        lane_free(r->workers[i].lane);
        view_fini(&r->workers[i].in);
        view_fini(&r->workers[i].out);
    }
    free(r->workers);
    free(r->scores);
    softmax_free(r->softmax);
    checkpoints_close(r->checkpoints);
    metrics_close(r->metrics);
    w2v_fini(&r->model);
    for (size_t i = 0; i < TABLES; i++)
        table_fini(&r->tables[i]);
}

/* ---- a stretch of chunks ---- */

static void train_chunk(struct run *r, struct worker *w, uint64_t i)
{
    size_t from = chunk_at(r, i) * r->chunk;
    size_t to = from + r->chunk < r->train ? from + r->chunk : r->train;
    double epochs = r->at.epoch + (double)i / (double)r->chunks;

    lane_train(w->lane, r->at.epoch, from, to, lr_at(r->opts, epochs), &w->done);
}

static shoal_status hogwild_thread(void *ctx, unsigned index)
{
    struct run *r = ctx;
    struct worker *w = &r->workers[index];
    uint64_t i;

    while ((i = atomic_fetch_add(&r->next, 1)) < r->stop) {
        train_chunk(r, w, i);
        view_sync(&w->in, r->kernel);
        view_sync(&w->out, r->kernel);
    }
    return SHOAL_OK;
}

/* Lanes are taken by whatever thread is free; each has its own chunk. */
static shoal_status lane_thread(void *ctx, unsigned index)
{
    struct run *r = ctx;
    unsigned lane;

    (void)index;
    while ((lane = atomic_fetch_add(&r->next_lane, 1)) < r->nworkers)
        if (r->at.chunk + lane < r->chunks)
            train_chunk(r, &r->workers[lane], r->at.chunk + lane);
    return SHOAL_OK;
}

static shoal_status merge_lanes(struct run *r)
{
    struct view views[64];
    shoal_status st = SHOAL_OK;

    for (int table = IN; table <= OUT && st == SHOAL_OK; table++) {
        for (size_t i = 0; i < r->nworkers; i++)
            views[i] = table == IN ? r->workers[i].in : r->workers[i].out;
        st = views_merge(views, r->nworkers, r->kernel, r->threads);
        for (size_t i = 0; i < r->nworkers; i++)
            *(table == IN ? &r->workers[i].in : &r->workers[i].out) = views[i];
    }
    return st;
}

/* One chunk for each lane, then all lanes meet. */
static shoal_status lane_round(struct run *r)
{
    unsigned threads = r->threads < r->nworkers ? r->threads : (unsigned)r->nworkers;
    shoal_status st;

    atomic_store(&r->next_lane, 0);
    st = pool_run(threads, lane_thread, r);
    return st == SHOAL_OK ? merge_lanes(r) : st;
}

static shoal_status softmax_round(struct run *r, struct done *done)
{
    size_t from = chunk_at(r, r->at.chunk) * r->chunk;
    size_t to = from + r->chunk < r->train ? from + r->chunk : r->train;
    double epochs = r->at.epoch + (double)r->at.chunk / (double)r->chunks;

    return softmax_train(r->softmax, r->at.epoch, from, to, lr_at(r->opts, epochs), done);
}

static void take_home(struct run *r, const struct done *d)
{
    r->at.words += d->words;
    r->at.epoch_loss += d->loss;
    r->at.epoch_predictions += d->predictions;
    r->interval_loss += d->loss;
    r->interval_predictions += d->predictions;
}

static void take_all_home(struct run *r)
{
    for (size_t i = 0; i < r->nworkers; i++) {
        take_home(r, &r->workers[i].done);
        r->workers[i].done = (struct done){0};
    }
}

/* As many chunks as about half a second takes, and no further than the epoch. */
static uint64_t stretch_end(const struct run *r, uint64_t last, double took)
{
    uint64_t n = last ? last : r->threads;

    if (took > 0)
        n = (uint64_t)((double)n * fmin(STRETCH_SECONDS / took, 4)) + 1;
    return r->at.chunk + n < r->chunks ? r->at.chunk + n : r->chunks;
}

/* Rounds until the stretch is over; the tables are whole after each. A round is
 * never cut short by the clock, only by the epoch, or lanes would depend on it. */
static shoal_status run_rounds(struct run *r)
{
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && r->at.chunk < r->stop) {
        struct done done = {0};
        size_t taken = r->softmax ? 1 : r->nworkers;

        st = r->softmax ? softmax_round(r, &done) : lane_round(r);
        take_home(r, &done);
        r->at.chunk = r->at.chunk + taken < r->chunks ? r->at.chunk + taken : r->chunks;
        take_all_home(r);
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

/* ---- between stretches ---- */

static double mean(double sum, uint64_t n)
{
    return n ? sum / (double)n : NAN;
}

static double progress(const struct run *r)
{
    return (r->at.epoch + (double)r->at.chunk / (double)r->chunks) / r->opts->epochs;
}

static shoal_status measure_valid(struct run *r)
{
    struct done done = {0};
    struct worker *w = r->workers;
    shoal_status st = SHOAL_OK;

    if (r->train == r->all)
        return SHOAL_OK;
    if (r->softmax)
        st = softmax_loss(r->softmax, r->train, r->all, &done);
    else
        lane_loss(w->lane, r->train, r->all, &done);
    if (r->opts->deterministic && !r->softmax) {
        st = views_merge(&w->in, 1, r->kernel, 1);
        if (st == SHOAL_OK)
            st = views_merge(&w->out, 1, r->kernel, 1);
    }
    r->valid_loss = mean(done.loss, done.predictions);
    return st;
}

/* What the rows know by now: of each suite its last score, which sums it up. */
static shoal_status measure_scores(struct run *r)
{
    struct shoal_eval_opts opts = shoal_eval_default();
    shoal_status st = SHOAL_OK;

    opts.threads = r->threads;
    for (size_t i = 0; i < r->opts->nevals && st == SHOAL_OK; i++) {
        const shoal_eval *suite = r->opts->evals[i];
        struct shoal_score *scores;
        size_t n;

        st = eval_run_table(suite, shoal_corpus_vocab(r->corpus), &r->tables[IN], &opts, &scores,
                            &n);
        if (st != SHOAL_OK)
            break;
        r->scores[i] = scores[n - 1];
        snprintf(r->scores[i].name, sizeof r->scores[i].name, "%s", shoal_eval_name(suite));
        shoal_scores_free(scores);
    }
    return st;
}

static shoal_status send(struct run *r, enum shoal_event event, double loss, double rate)
{
    double done = progress(r), seconds = r->at.seconds;
    bool begun = event != SHOAL_EVENT_EPOCH && r->at.epoch < r->opts->epochs;
    struct shoal_report report = {
        .event = event, .epoch = r->at.epoch + begun,
        .epochs = r->opts->epochs, .progress = done, .words = r->at.words, .seconds = seconds,
        .words_per_second = rate, .loss = loss,
        .valid_loss = event == SHOAL_EVENT_EPOCH || event == SHOAL_EVENT_DONE ? r->valid_loss : NAN,
        .lr = (double)lr_at(r->opts, done * r->opts->epochs),
        .eta = done > 0 ? seconds * (1 - done) / done : NAN, .memory = mem_peak(),
    };
    shoal_status st;

    if (event == SHOAL_EVENT_EPOCH) {
        report.scores = r->scores;
        report.nscores = r->opts->nevals;
    }
    st = r->metrics ? metrics_write(r->metrics, &report) : SHOAL_OK;
    if (st == SHOAL_OK && r->opts->report && !r->opts->report(r->opts->user, &report))
        st = shoal_fail(SHOAL_ESTOP, "train: stopped on request at %.1f %%", 100 * done);
    return st;
}

/* A loss that is no number, or stays at many times the best one, only grows. */
static shoal_status check_sane(struct run *r, double loss)
{
    if (isnan(loss))
        return r->interval_predictions == 0 ? SHOAL_OK
               : shoal_fail(SHOAL_EINVAL, "train: diverged: the loss is no number after %llu "
                            "words; lower --lr", (unsigned long long)r->at.words);
    r->at.best_loss = fmin(r->at.best_loss, loss);
    r->rising = loss > 5 * r->at.best_loss + 1 ? r->rising + 1 : 0;
    if (isinf(loss) || r->rising >= 5)
        return shoal_fail(SHOAL_EINVAL, "train: diverged: the loss is %g, it was %g; lower --lr",
                          loss, r->at.best_loss);
    return SHOAL_OK;
}

static shoal_status report_interval(struct run *r, bool force)
{
    double now = clock_now(), took = now - r->reported;
    double loss = mean(r->interval_loss, r->interval_predictions);
    shoal_status st = check_sane(r, loss);

    if (st != SHOAL_OK || (!force && took < REPORT_SECONDS))
        return st;
    st = send(r, SHOAL_EVENT_INTERVAL, loss, (double)(r->at.words - r->reported_words) / took);
    r->reported = now;
    r->reported_words = r->at.words;
    r->interval_loss = 0;
    r->interval_predictions = 0;
    return st;
}

static bool checkpoint_due(const struct run *r)
{
    uint64_t chunks = r->at.epoch * r->chunks + r->at.chunk;

    if (!r->checkpoints)
        return false;
    switch (r->opts->every) {
    case SHOAL_EVERY_SECONDS:
        return clock_now() - r->saved >= r->opts->every_value;
    case SHOAL_EVERY_SHARE:
        return (double)(chunks - r->saved_chunks) >=
               r->opts->every_value * (double)r->chunks * r->opts->epochs;
    case SHOAL_EVERY_EPOCH:
        return r->at.chunk == 0 && chunks > r->saved_chunks;
    }
    return false;
}

static shoal_status save(struct run *r)
{
    shoal_status st;

    r->at.progress = progress(r);
    st = checkpoints_write(r->checkpoints, &r->at);
    r->saved = clock_now();
    r->saved_chunks = r->at.epoch * r->chunks + r->at.chunk;
    if (st == SHOAL_OK)
        st = send(r, SHOAL_EVENT_CHECKPOINT, mean(r->interval_loss, r->interval_predictions), NAN);
    return st;
}

static shoal_status end_epoch(struct run *r)
{
    double loss = mean(r->at.epoch_loss, r->at.epoch_predictions);
    double rate = (double)(r->at.words - r->epoch_words) / (r->at.seconds - r->epoch_seconds);
    shoal_status st = measure_valid(r);

    if (st == SHOAL_OK)
        st = measure_scores(r);
    r->reported = clock_now(); /* the next interval's rate is of training */
    r->last_loss = loss;
    r->epoch_words = r->at.words;
    r->epoch_seconds = r->at.seconds;
    r->at.epoch++;
    r->at.chunk = 0;
    r->at.epoch_loss = 0;
    r->at.epoch_predictions = 0;
    if (st == SHOAL_OK)
        st = send(r, SHOAL_EVENT_EPOCH, loss, rate);
    return st;
}

/* ---- the loop ---- */

static shoal_status stretch(struct run *r, uint64_t *last, double *took)
{
    uint64_t from = r->at.chunk;
    double began = clock_now();
    shoal_status st;

    r->stop = stretch_end(r, *last, *took);
    if (r->startup == 0)
        r->startup = began - r->began;
    st = r->opts->deterministic || r->softmax ? run_rounds(r) : run_hogwild(r);
    *took = clock_now() - began;
    *last = r->at.chunk - from;
    r->at.seconds += *took;
    return st;
}

static shoal_status train(struct run *r)
{
    uint64_t last = 0;
    double took = 0;
    shoal_status st = SHOAL_OK;

    r->reported = r->saved = clock_now();
    r->reported_words = r->first_words = r->epoch_words = r->at.words;
    r->first_seconds = r->epoch_seconds = r->at.seconds;
    r->saved_chunks = r->at.epoch * r->chunks + r->at.chunk;
    while (st == SHOAL_OK && r->at.epoch < r->opts->epochs) {
        st = stretch(r, &last, &took);
        if (st == SHOAL_OK)
            st = report_interval(r, r->at.chunk == r->chunks);
        if (st == SHOAL_OK && r->at.chunk == r->chunks)
            st = end_epoch(r);
        if (st == SHOAL_OK && checkpoint_due(r))
            st = save(r);
    }
    return st;
}

/* On request the run stops after a last checkpoint; its sentence is kept. */
static shoal_status stop_cleanly(struct run *r, shoal_status st)
{
    shoal_status saved = SHOAL_OK;

    r->at.progress = progress(r);
    if (r->checkpoints && st == SHOAL_ESTOP)
        saved = checkpoints_write(r->checkpoints, &r->at);
    if (r->checkpoints && saved == SHOAL_OK)
        saved = checkpoints_finish(r->checkpoints);
    if (saved != SHOAL_OK)
        return saved;
    return st;
}

static void fill_stats(const struct run *r, struct shoal_train_stats *stats)
{
    *stats = (struct shoal_train_stats){
        .words = r->at.words - r->first_words,
        .seconds = r->at.seconds - r->first_seconds,
        .startup = r->startup,
        .loss = r->last_loss,
        .valid_loss = r->valid_loss,
        .memory = mem_peak(),
        .kernel = r->kernel ? r->kernel->name : NULL,
        .checkpoints = checkpoints_written(r->checkpoints),
        .resumed = r->opts->resume,
    };
}

static shoal_status finish(struct run *r, shoal_vectors **out)
{
    double rate = (double)(r->at.words - r->first_words) / (r->at.seconds - r->first_seconds);
    shoal_status st = send(r, SHOAL_EVENT_DONE, r->last_loss, rate);

    if (st != SHOAL_OK)
        return st;
    return vectors_take(out, shoal_corpus_vocab(r->corpus), &r->tables[IN], &r->tables[OUT]);
}

shoal_status shoal_train(shoal_vectors **out, const shoal_corpus *corpus,
                         const struct shoal_train_opts *opts, struct shoal_train_stats *stats)
{
    struct run r = {.opts = opts, .corpus = corpus};
    shoal_status st = begin(&r);

    *out = NULL;
    if (st == SHOAL_OK)
        st = stop_cleanly(&r, train(&r));
    if (st == SHOAL_OK)
        st = finish(&r, out);
    if (stats)
        fill_stats(&r, stats);
    end(&r);
    return st;
}
