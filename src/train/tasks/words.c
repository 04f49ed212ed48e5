/* The task of word vectors: positions are words of a corpus. Tables: input rows,
 * output rows, and with the exact softmax a bias. */
#include "saved/saved.h"
#include "train/rows/rows.h"
#include "train/tasks/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUND_WORDS = 4096,  /* of a thread between rounds of ranks that wait for each other */
    ROUND_SHARED = 8192, /* of all of them where every batch changes every row */
    ROUND_LEAST = 512,   /* and of each where nobody waits there */
    ROUND_SERVED = 256,  /* the same where servers own all rows */
    BLOCK_WORDS = 16384, /* of a thread in a block: more need fewer rows a word, and more memory */
    CHUNK_LEAST = 512,
    CHUNK_LANE = 512,       /* between merges: longer loses accuracy, shorter speed */
    CHUNKS_PER_EPOCH = 256, /* at least, so that the rate falls smoothly */
    CHUNKS_SOFTMAX = 32,    /* fewer: each starts the threads anew and ends a batch */
    HELD_LEAST = 100,       /* words of a block that is held out: no window reaches into it */
};

enum { SUITES_MOST = 16 };

/* What the softmax has still to take. */
struct text {
    struct run *run;
    size_t at, left; /* positions */
};

struct words {
    const shoal_corpus *corpus;
    const uint32_t *ids;
    struct w2v model;
    struct w2v_grams grams;
    struct softmax *softmax;
    struct text text;
    const shoal_vectors *from; /* rows to begin with; NULL: at random */
    shoal_vectors *from_file;  /* the same, where they were read here */
    shoal_eval *suites[SUITES_MOST]; /* asked at each evaluation */
    size_t nsuites;
};

/* ---- the plan ---- */

static size_t chunk_of(const struct train_opts *o, size_t ids)
{
    uint64_t steps = o->steps * o->batch * opts_sharing(o);
    size_t most = o->deterministic ? CHUNK_LANE : words_chunk(o);
    size_t parts = o->loss == SHOAL_SOFTMAX ? CHUNKS_SOFTMAX : CHUNKS_PER_EPOCH;

    if (steps > 0 && steps < ids)
        ids = (size_t)steps;
    return rows_chunk(ids, parts, CHUNK_LEAST, most);
}

/* Output rows a lane may touch between two merges: each word's own and its
 * share of noise, or the nodes of its path that others do not pass. */
static size_t touched_of(const struct train_opts *o, size_t ids)
{
    size_t chunk = chunk_of(o, ids);

    return o->loss == SHOAL_NS ? chunk + chunk * o->negative / W2V_REUSE : 4 * chunk;
}

/* A word has so many rows on average. */
static uint64_t views_bytes(const struct train_opts *o, size_t words, size_t ids, double each)
{
    struct table out = {.rows = words, .width = o->dim, .stride = table_stride(o->dim)}, in = out;
    size_t hot = words_hot(o) < words ? words_hot(o) : words;

    in.rows = words_in_rows(o, words);
    if (!o->deterministic)
        return rows_workers(o) * 4 * table_bytes(hot, o->dim);
    return rows_workers(o) * (view_bytes(&in, (size_t)((double)chunk_of(o, ids) * each)) +
                              view_bytes(&out, touched_of(o, ids)));
}

/* Of n words drawn by count^power, how many are different, on average. */
static double different(const shoal_vocab *vocab, double n, double power)
{
    size_t words = shoal_vocab_size(vocab);
    double sum = 0, found = 0;

    for (uint32_t i = 0; i < words; i++)
        sum += w2v_noise(shoal_vocab_count(vocab, i), power);
    for (uint32_t i = 0; i < words && sum > 0; i++)
        found -= expm1(-n / sum * w2v_noise(shoal_vocab_count(vocab, i), power));
    return found;
}

/* Rows of each table that a block may need: a rank's threads train a round each. */
static void needed_of(const struct train_opts *o, const shoal_vocab *vocab, size_t ids,
                      size_t needed[2])
{
    size_t chunk = chunk_of(o, ids), round = chunk < BLOCK_WORDS ? chunk : BLOCK_WORDS;
    double n = (double)round * ranks_threads(o->ranks, o->threads), in = different(vocab, n, 1);
    double rows = (double)words_in_rows(o, shoal_vocab_size(vocab));

    needed[IN] = (size_t)fmin(in * words_grams_plan(o, vocab).each, rows) + 1;
    if (o->loss == SHOAL_NS)
        in += different(vocab, n * o->negative / W2V_REUSE, o->ns_exponent);
    else
        in *= 4;
    needed[OUT] = (size_t)in + 1;
}

static uint64_t tables_bytes(const struct train_opts *o, size_t words, const size_t *needed)
{
    struct table tables[] = {
        {.rows = words_in_rows(o, words), .width = o->dim, .stride = table_stride(o->dim)},
        {.rows = w2v_out_rows(o, words), .width = o->dim, .stride = table_stride(o->dim)},
    };

    struct cadence cadence = words_cadence(o, (struct row_length){0});

    return rows_bytes(o, &cadence, tables, 2, needed);
}

/* The rows a rank owns are counted with the tables, not with the work. */
static void plan_without_replicas(struct shoal_train_plan *plan, const struct train_opts *o,
                                  const shoal_vocab *vocab, size_t ids)
{
    unsigned owners = o->servers ? o->servers : shoal_ranks_size(o->ranks);
    size_t words = shoal_vocab_size(vocab), needed[2];
    uint64_t bytes;

    needed_of(o, vocab, ids, needed);
    bytes = tables_bytes(o, words, needed);
    plan->blocks = true;
    plan->rank_bytes = plan->model_bytes / owners;
    plan->work_bytes = w2v_bytes(o, vocab) + words_grams_plan(o, vocab).bytes +
                       rows_workers(o) * (words + words_in_rows(o, words)) / 8 +
                       (bytes > plan->rank_bytes ? bytes - plan->rank_bytes : 0);
    plan_sum(plan, o);
}

/* What needs whole tables at once, so that there cannot be blocks; NULL: nothing. */
static const char *needs_whole(const struct train_opts *o)
{
    if (o->deterministic)
        return "--deterministic";
    if (o->sync.policy == SHOAL_AVERAGE)
        return "--sync average";
    if (o->loss == SHOAL_SOFTMAX)
        return "--loss softmax";
    return o->evals ? "--eval" : o->publish ? "--publish" : NULL;
}

/* Whether there are to be blocks, when with replicas a run is as planned. */
static bool plan_blocks(const struct shoal_train_plan *p, const struct train_opts *o)
{
    if (o->replica != SHOAL_REPLICA_AUTO || shoal_ranks_size(o->ranks) == 1 || needs_whole(o))
        return o->replica == SHOAL_REPLICA_BLOCKS;
    return plan_needs(p) > p->memory_free;
}

#define FEW_LEAST 8e6 /* words of all epochs together, */
#define FEW_MOST 6e7  /* for which twice the rate was measured: docs/notes/training.md */

/* The first rate that nobody chose, alone. word2vec's is meant for long runs: in short ones rare
 * words hardly leave their place. */
static double usual_lr(const struct train_opts *o, const shoal_corpus *corpus)
{
    double words = (double)shoal_corpus_words(corpus) * o->epochs;
    bool few = o->steps == 0 && words >= FEW_LEAST && words <= FEW_MOST;

    return (o->bag ? 0.05 : 0.025) * (few && o->loss == SHOAL_NS ? 2 : 1);
}

/* Words among the positions that are held out: ends of sentences are none. */
static uint64_t held_words(const struct train_opts *o, const uint32_t *ids, size_t n, size_t words)
{
    struct split split = opts_split(o, n, (size_t)(o->valid * (double)n), HELD_LEAST);
    uint64_t held = 0;
    size_t from, to;

    for (size_t k = 0; k < split.blocks; k++)
        for (split_block(&split, k, &from, &to); from < to; from++)
            held += ids[from] < words;
    return held;
}

/* All threads of a rank work on one batch of an exact softmax: there are no lanes. */
static shoal_status check_ranks(const struct train_opts *o)
{
    unsigned ranks = shoal_ranks_size(o->ranks);
    shoal_status st = opts_check_ranks(o, needs_whole(o));

    if (st == SHOAL_OK && ranks > 1 && o->deterministic && o->loss == SHOAL_SOFTMAX)
        st = shoal_fail(SHOAL_EINVAL, "train: --deterministic with %u ranks and --loss softmax, "
                        "want ns or hs", ranks);
    return st;
}

static shoal_status words_plan(struct run *r, struct shoal_train_plan *plan)
{
    const struct train_opts *o = r->opts;
    const shoal_corpus *corpus = r->data->corpus;
    const shoal_vocab *vocab = shoal_corpus_vocab(corpus);
    size_t words = shoal_vocab_size(vocab), in_rows = words_in_rows(o, words), ids = 0;
    struct grams_plan grams = words_grams_plan(o, vocab);
    const uint32_t *at;
    double usual = usual_lr(o, corpus);
    shoal_status st = check_ranks(o);

    *plan = (struct shoal_train_plan){.examples = shoal_corpus_words(corpus), .types = words,
                                      .types_note = "different",
                                      .advice = "--dim or the vocabulary"};
    snprintf(plan->model_note, sizeof plan->model_note, "%u dimensions of each word%s", o->dim,
             o->maxn > 0 ? " and bucket" : "");
    opts_lr(plan, o, usual, words_boost(o, usual));
    if (st == SHOAL_OK)
        st = shoal_corpus_part(corpus, 0, 1, &at, &ids);
    if (st != SHOAL_OK)
        return st;
    plan->held_out = held_words(o, at, ids, words);
    plan->examples -= plan->held_out;
    plan->parameters = (in_rows + w2v_out_rows(o, words)) * o->dim;
    plan->model_bytes = table_bytes(in_rows, o->dim) + table_bytes(w2v_out_rows(o, words), o->dim);
    plan->work_bytes = w2v_bytes(o, vocab) + tables_bytes(o, words, NULL) + grams.bytes;
    if (o->publish)
        plan->work_bytes += table_bytes(in_rows, o->dim);
    if (o->evals && o->maxn > 0)
        plan->work_bytes += table_bytes(words, o->dim);
    if (o->loss == SHOAL_SOFTMAX) {
        plan->model_bytes += table_bytes(1, words);
        plan->work_bytes += softmax_bytes(o->batch, words, o->dim);
    } else {
        plan->work_bytes += views_bytes(o, words, ids, grams.each);
    }
    plan->rank_bytes = plan->model_bytes;
    plan->checkpoint_bytes = o->checkpoint ? plan->model_bytes / shoal_ranks_size(o->ranks) : 0;
    plan_sum(plan, o);
    plan->replica_bytes = plan->memory_bytes;
    if (plan_blocks(plan, o))
        plan_without_replicas(plan, o, vocab, ids);
    return SHOAL_OK;
}

/* ---- opening ---- */

/* With an exact softmax replicas part quickly: all rows change in every batch. */
static size_t round_of(const struct run *r)
{
    const struct train_opts *o = r->opts;
    size_t workers = opts_sharing(o), each = ROUND_SHARED / workers;

    if (r->rows->blocks)
        return BLOCK_WORDS;
    if (o->loss != SHOAL_SOFTMAX || o->sync.policy == SHOAL_AVERAGE)
        return ROUND_WORDS;
    if (words_whole(o))
        return ROUND_SERVED;
    if (o->sync.policy != SHOAL_SYNC || each < ROUND_LEAST)
        return ROUND_LEAST;
    return each < ROUND_WORDS ? each : ROUND_WORDS;
}

/* Predictions of a position in the first epoch, by spans from all over what is trained. */
static double predictions_each(const struct run *r)
{
    enum { SPANS = 64 };
    const struct words *w = r->own;
    size_t train = r->rows->train, step = train / SPANS > SPAN ? train / SPANS : SPAN;
    size_t seen = 0, made = 0, from, to;
    struct windows *x = mem_array(1, sizeof *x);

    for (size_t i = 0; x && i < train; i += step) {
        split_next(&r->rows->split, &(size_t){i}, train - i > SPAN ? i + SPAN : train, &from, &to);
        windows_cut(x, &w->model, 0, from, to);
        seen += to - from;
        for (size_t t = 0; t < x->len; t++)
            made += w->model.bag ? 1 : x->at[t].hi - x->at[t].lo - 1;
    }
    free(x);
    return fmax(1, (double)made) / fmax(1, (double)seen);
}

/* With --steps a unit is a batch, or as many as a round of several ranks has. */
static void cut_batches(struct run *r)
{
    struct row_run *rows = r->rows;
    double step = fmax(1, r->opts->batch / predictions_each(r));

    rows->unit_batches = r->comm ? (uint64_t)fmax(1, (double)rows->grain.round / step) : 1;
    if (rows->unit_batches > r->opts->steps)
        rows->unit_batches = r->opts->steps;
    rows->grain.chunk = (size_t)ceil(step * (double)rows->unit_batches);
    rows->grain.round = rows->grain.chunk;
}

static shoal_status hold_out(struct run *r)
{
    struct words *w = r->own;
    size_t all = 0;
    shoal_status st = shoal_corpus_part(w->corpus, 0, 1, &w->ids, &all);

    rows_hold_out(r, all, (size_t)(r->opts->valid * (double)all), HELD_LEAST);
    r->rows->grain = (struct grain){.chunk = chunk_of(r->opts, r->rows->train),
                                    .round = round_of(r),
                                    .poll = words_poll(r->opts),
                                    .poll_busy = WORDS_POLL_LEAST,
                                    .apart = r->comm ? WORDS_APART * (size_t)r->threads : 0,
                                    .hot = words_hot(r->opts)};
    return st;
}

static shoal_status make_tables(struct run *r, size_t words)
{
    const struct words *w = r->own;
    size_t dim = r->opts->dim, out = w2v_out_rows(r->opts, words);
    size_t in = words_in_rows(r->opts, words);
    shoal_status st = SHOAL_OK;

    if (r->rows->blocks) {
        r->rows->tables[IN] = (struct table){.name = "in", .rows = in};
        r->rows->tables[OUT] = (struct table){.name = "out", .rows = out};
        r->rows->tables[IN].width = r->rows->tables[OUT].width = dim;
        r->rows->tables[IN].stride = r->rows->tables[OUT].stride = table_stride(dim);
        needed_of(r->opts, shoal_corpus_vocab(w->corpus), r->rows->train, r->rows->needed);
    } else {
        st = table_init(&r->rows->tables[IN], "in", in, dim);
        if (st == SHOAL_OK)
            st = table_init(&r->rows->tables[OUT], "out", out, dim);
    }
    if (st == SHOAL_OK && r->rows->whole)
        st = table_init(&r->rows->tables[BIAS], "bias", 1, words);
    r->rows->ntables = r->rows->whole ? 3 : 2;
    return st;
}

/* All is even: what a model that knows nothing loses on a prediction, or for a
 * Huffman tree a little more. */
static double untrained_loss(const struct train_opts *o, size_t words)
{
    return o->loss == SHOAL_NS ? (o->negative + 1) * log(2) : log((double)words) + log(2);
}

/* The suites of a list with commas between them. */
static shoal_status open_suites(struct words *w, const char *list)
{
    char *names = list ? strdup(list) : NULL, *rest = names, *name;
    shoal_status st = list && !names ? SHOAL_ENOMEM : SHOAL_OK;

    while (st == SHOAL_OK && (name = strsep(&rest, ",")) != NULL) {
        if (w->nsuites == SUITES_MOST)
            st = shoal_fail(SHOAL_EINVAL, "--eval has too many files, want at most %d",
                            SUITES_MOST);
        else
            st = shoal_eval_open(&w->suites[w->nsuites], name);
        w->nsuites += st == SHOAL_OK;
    }
    free(names);
    return st;
}

/* ---- rows that were trained before ---- */

static shoal_status open_start(struct run *r, struct words *w)
{
    const struct train_opts *o = r->opts;
    const char *name = o->start ? o->start : "the vectors to start from";
    shoal_status st = SHOAL_OK;

    w->from = r->data->vectors;
    if (o->start && !o->resume) {
        st = shoal_vectors_open(&w->from_file, o->start);
        w->from = w->from_file;
    }
    if (st == SHOAL_OK && w->from && shoal_vectors_dim(w->from) != o->dim)
        st = shoal_fail(SHOAL_EINVAL, "%s: a row has %zu numbers, want %u, as --dim says", name,
                        shoal_vectors_dim(w->from), o->dim);
    return st;
}

static shoal_status open_model(struct run *r, struct words *w)
{
    const struct train_opts *o = r->opts;
    const shoal_vocab *vocab = shoal_corpus_vocab(w->corpus);
    shoal_status st = w2v_init(&w->model, o, vocab, w->ids, r->rows->all, r->kernel);

    w->model.split = r->rows->split;
    if (st == SHOAL_OK && o->maxn > 0) {
        st = words_grams_make(&w->grams, o, vocab);
        w->model.grams = &w->grams;
    }
    if (st == SHOAL_OK)
        st = make_tables(r, shoal_vocab_size(vocab));
    if (st == SHOAL_OK && r->rows->whole && o->steps > 0)
        cut_batches(r);
    if (st == SHOAL_OK && r->rows->whole)
        st = softmax_new(&w->softmax, &w->model, o->batch, &r->rows->tables[IN],
                         &r->rows->tables[OUT], &r->rows->tables[BIAS], r->threads);
    return st == SHOAL_OK && r->leads ? open_suites(w, o->evals) : st;
}

static shoal_status words_open(struct run *r)
{
    const struct train_opts *o = r->opts;
    const shoal_vocab *vocab = shoal_corpus_vocab(r->data->corpus);
    struct words *w = r->own = mem_array(1, sizeof *w);
    shoal_status st;

    if (!w)
        return SHOAL_ENOMEM;
    w->corpus = r->data->corpus;
    r->identity =
        (struct identity){.fingerprint = shoal_corpus_fingerprint(w->corpus), .vocab = vocab};
    r->rows->blocks = r->planned.blocks;
    r->rows->whole = o->loss == SHOAL_SOFTMAX;
    r->batch = r->rows->whole ? o->batch : 0;
    r->lr = r->planned.lr;
    r->at.best_loss = untrained_loss(o, shoal_vocab_size(vocab));
    r->rows->rare = words_rare(o, vocab);
    r->gathers = o->evals != NULL; /* the held-out loss of a replica is near enough */
    st = hold_out(r);
    if (st == SHOAL_OK)
        st = open_start(r, w);
    return st == SHOAL_OK ? open_model(r, w) : st;
}

static void words_close(struct run *r)
{
    struct words *w = r->own;

    if (!w)
        return;
    softmax_free(w->softmax);
    w2v_fini(&w->model);
    words_grams_free(&w->grams);
    for (size_t i = 0; i < w->nsuites; i++)
        shoal_eval_close(w->suites[i]);
    shoal_vectors_close(w->from_file);
    free(w);
}

static shoal_status words_start(struct run *r)
{
    const uint32_t *in_ids = NULL, *out_ids = NULL;
    struct table in = r->rows->tables[IN], out = r->rows->tables[OUT];
    struct words *w = r->own;
    struct subwords how = words_subwords(r->opts);
    shoal_status st = SHOAL_OK;

    if (r->rows->blocks) {
        in = store_owned(r->rows->store, IN, &in_ids);
        out = store_owned(r->rows->store, OUT, &out_ids);
    }
    w2v_start(&in, in_ids, how.hashes > 0 ? words_in_rows(r->opts, w->model.words) : w->model.words,
              r->opts->seed);
    if (w->from)
        st = words_start_from(w->from, shoal_corpus_vocab(w->corpus), &how,
                              r->opts->loss == SHOAL_HS, &(struct dealt){in, in_ids},
                              &(struct dealt){out, out_ids});
    shoal_vectors_close(w->from_file);
    w->from_file = NULL;
    w->from = NULL;
    return st;
}

static bool words_traffic(const struct run *r, size_t table, float *out)
{
    const struct words *w = r->own;

    if (table == IN)
        w2v_traffic_in(&w->model, shoal_corpus_vocab(w->corpus), out);
    if (table == OUT)
        w2v_traffic_out(&w->model, shoal_corpus_vocab(w->corpus), out);
    return table != BIAS;
}

/* ---- training ---- */

static shoal_status words_join(struct run *r, struct worker *w)
{
    struct words *words = r->own;
    struct w2v_worker *worker = NULL;
    shoal_status st;

    words->model.noise_once = words_noise_once(r->opts, rows_length(r));
    st = w2v_worker_new(&worker, &words->model, &w->views[IN], &w->views[OUT]);
    w->own = worker;
    return st;
}

static void words_leave(struct worker *w)
{
    w2v_worker_free(w->own);
}

static void words_list(struct run *r, struct worker *w, size_t from, size_t to)
{
    for (size_t begin, end; split_next(&r->rows->split, &from, to, &begin, &end);)
        w2v_worker_list(w->own, r->at.epoch, begin, end, w->bits[IN], w->bits[OUT]);
}

/* Words are read whether or not subsampling keeps them: those it drops are common, and fresh. */
static shoal_status words_expect(struct run *r, size_t from, size_t to)
{
    const struct words *w = r->own;
    shoal_status st = SHOAL_OK;

    for (size_t begin, end; st == SHOAL_OK && split_next(&r->rows->split, &from, to, &begin, &end);)
        st = words_expect_rows(r->rows->store, &w->model, w->ids + begin, end - begin);
    return st;
}

static void words_train(struct run *r, struct worker *w, size_t from, size_t to, float lr)
{
    for (size_t begin, end; split_next(&r->rows->split, &from, to, &begin, &end);)
        w2v_worker_train(w->own, r->at.epoch, begin, end, lr, &w->done);
}

static void touch_words(struct run *r, size_t from, size_t to)
{
    const struct words *w = r->own;
    uint8_t *in = store_touches(r->rows->store, IN);

    windows_reach(&w->model, r->at.epoch, &from, &to);
    for (size_t i = from; i < to; i++)
        if (w->ids[i] < r->rows->tables[IN].rows)
            in[w->ids[i]] = UINT8_MAX;
}

/* The next words of what is trained. Behind the last one comes the first: a unit of batches
 * is whole wherever it begins. */
static bool next_text(void *ctx, size_t *begin, size_t *end)
{
    struct words *w = ctx;
    struct text *t = &w->text;
    size_t last = t->run->rows->train, n = t->left < SPAN ? t->left : SPAN;

    if (t->at == last)
        t->at = 0;
    n = last - t->at < n ? last - t->at : n;
    if (!split_next(&t->run->rows->split, &t->at, t->at + n, begin, end))
        return false;
    t->left -= *end - *begin;
    if (t->run->rows->store)
        touch_words(t->run, *begin, *end);
    return true;
}

/* Every batch needs all output rows, and its words' input rows. */
static shoal_status words_train_whole(struct run *r, size_t from, size_t to, float lr,
                                      struct sums *done)
{
    struct words *w = r->own;
    uint64_t before = done->predictions;
    struct softmax_text text = {next_text, w};
    shoal_status st;

    w->text = (struct text){.at = from, .left = to - from, .run = r};
    if (r->rows->unit_batches > 0)
        w->text.left = r->rows->train;
    st = softmax_batches(w->softmax, r->at.epoch, &text, r->rows->batches, lr, done);

    done->rows += (done->predictions - before + r->opts->batch - 1) / r->opts->batch *
                      r->rows->tables[OUT].rows + (to - from);
    return st;
}

/* Input rows were marked as their words were taken. */
static void words_touch(struct run *r, size_t from, size_t to)
{
    struct store *s = r->rows->store;

    (void)from;
    (void)to;
    memset(store_touches(s, OUT), UINT8_MAX, r->rows->tables[OUT].rows);
    memset(store_touches(s, BIAS), UINT8_MAX, r->rows->tables[BIAS].rows);
}

/* ---- measuring ---- */

/* A way through what is held out. */
struct held {
    const struct split *split;
    size_t block, taken; /* of the block */
};

static bool next_held(void *ctx, size_t *begin, size_t *end)
{
    struct held *h = ctx;
    size_t from, to;

    if (h->block == h->split->blocks)
        return false;
    split_block(h->split, h->block, &from, &to);
    *begin = from + h->taken;
    *end = to - *begin > SPAN ? *begin + SPAN : to;
    h->taken = *end == to ? 0 : *end - from;
    h->block += *end == to;
    return true;
}

static void loss_of_held(struct worker *w, struct held *h, size_t spans, struct sums *done)
{
    for (size_t from, to; spans > 0 && next_held(h, &from, &to); spans--)
        w2v_worker_loss(w->own, from, to, done);
}

/* The same where rows must be asked for: those of some spans at once. */
static shoal_status loss_of_blocks(struct run *r, struct held *h, struct sums *done)
{
    struct worker *w = r->rows->workers;
    size_t most = r->rows->grain.round / SPAN + 1, spans, from, to;
    shoal_status st = SHOAL_OK;

    do {
        struct held first = *h;

        for (spans = 0; spans < most && next_held(h, &from, &to); spans++)
            w2v_worker_list(w->own, W2V_LOSS_EPOCH, from, to, w->bits[IN], w->bits[OUT]);
        st = blocks_read(r);
        if (st == SHOAL_OK)
            loss_of_held(w, &first, spans, done);
    } while (st == SHOAL_OK && spans == most);
    return st == SHOAL_OK ? blocks_read_end(r) : st;
}

static shoal_status measure_valid(struct run *r)
{
    struct words *words = r->own;
    struct sums done = {0};
    struct row_run *rows = r->rows;
    struct worker *w = rows->workers;
    struct held held = {.split = &rows->split};
    shoal_status st = SHOAL_OK;

    if (rows->train == rows->all)
        return SHOAL_OK;
    if (rows->whole)
        st = softmax_measure(words->softmax, &(struct softmax_text){next_held, &held}, &done);
    else if (rows->blocks)
        st = loss_of_blocks(r, &held, &done);
    else
        loss_of_held(w, &held, SIZE_MAX, &done);
    for (size_t t = IN; t <= OUT && r->opts->deterministic && !rows->whole; t++)
        views_merge(&w->views[t], 1, r->kernel, NULL);
    run_figures(r, &done, SHOAL_OF_VALIDATION, &r->held);
    return st;
}

/* All scores are there with the exact softmax alone. */
static void words_figures(const struct run *r, const struct sums *s, enum shoal_figure_of of,
                          struct shoal_figures *out)
{
    if (r->rows->whole)
        figures_add(out, of, "accuracy", true, (double)s->right / (double)s->predictions);
}

/* What the rows know by now: of each suite its last score, which sums it up. */
static shoal_status measure_suite(struct run *r, const shoal_eval *suite, const struct table *rows)
{
    struct shoal_eval_opts opts = shoal_eval_default();
    const struct words *w = r->own;
    struct words_unseen unseen = {words_subwords(r->opts), &r->rows->tables[IN], w->model.words};
    struct composer others = {words_compose_unseen, &unseen};
    struct shoal_score *scores;
    size_t n;
    bool pairs = shoal_eval_kind(suite) == SHOAL_PAIRS;
    shoal_status st;

    opts.threads = r->threads;
    st = eval_run_table(suite, shoal_corpus_vocab(w->corpus), rows,
                        w->model.grams ? &others : NULL, &opts, &scores, &n);
    if (st != SHOAL_OK)
        return st;
    figures_add(&r->held, SHOAL_OF_VALIDATION, shoal_eval_name(suite), !pairs,
                pairs ? scores[n - 1].spearman : scores[n - 1].accuracy);
    shoal_scores_free(scores);
    return SHOAL_OK;
}

/* The vectors of words, which the rows of their n-grams make too: a table of their own, `room`, for
 * table_fini. */
static shoal_status vectors_of(struct run *r, struct table *room, const struct table **out)
{
    const struct words *w = r->own;
    const struct table *in = *out = &r->rows->tables[IN];
    shoal_status st;

    if (!w->model.grams)
        return SHOAL_OK;
    *out = room;
    st = table_init(room, in->name, w->model.words, in->width);
    return st == SHOAL_OK ? words_compose(&w->model, in, room, r->threads) : st;
}

static shoal_status words_evaluate(struct run *r)
{
    const struct words *w = r->own;
    struct table room = {0};
    const struct table *rows;
    shoal_status st = measure_valid(r);

    if (st == SHOAL_OK && w->nsuites > 0)
        st = vectors_of(r, &room, &rows);
    for (size_t i = 0; i < w->nsuites && st == SHOAL_OK; i++)
        st = measure_suite(r, w->suites[i], rows);
    table_fini(&room);
    return st;
}

static shoal_status words_learned(struct run *r, struct learned *l)
{
    const struct words *w = r->own;
    struct words_unseen unseen = {words_subwords(r->opts), &r->rows->tables[IN], w->model.words};
    struct composer others = {words_compose_unseen, &unseen};
    struct learned_words show = {.vocab = shoal_corpus_vocab(w->corpus),
                                 .others = w->model.grams ? &others : NULL,
                                 .suites = w->suites,
                                 .nsuites = w->nsuites,
                                 .threads = r->threads};
    struct table room = {0};
    shoal_status st = vectors_of(r, &room, &show.rows);

    if (st == SHOAL_OK)
        st = words_show(l, &show);
    table_fini(&room);
    return st;
}

/* ---- the result ---- */

static shoal_status copy_rows(struct table *out, const struct table *in)
{
    shoal_status st = table_init(out, in->name, in->rows, in->width);

    if (st == SHOAL_OK)
        memcpy(out->at, in->at, table_bytes(in->rows, in->width));
    return st;
}

/* Vectors own their rows: while the run goes on, a copy of the input rows. Where words have
 * several, their vectors take the place of their own rows. */
static shoal_status words_result(struct run *r, bool last, shoal_model **out)
{
    const struct words *w = r->own;
    struct subwords how = words_subwords(r->opts);
    struct table copy = {0}, *rows = last ? &r->rows->tables[IN] : &copy;
    shoal_vectors *v = NULL;
    shoal_status st = last ? SHOAL_OK : copy_rows(&copy, &r->rows->tables[IN]);

    if (st == SHOAL_OK && w->model.grams)
        st = words_compose(&w->model, rows, rows, r->threads);
    if (st == SHOAL_OK)
        st = vectors_take(&v, shoal_corpus_vocab(w->corpus), rows,
                          last ? &r->rows->tables[OUT] : NULL, how.maxn > 0 ? &how : NULL);
    table_fini(&copy);
    return st == SHOAL_OK ? model_take(out, r->task->kind, v) : st;
}

static size_t words_row_bytes(const struct run *r)
{
    return r->opts->dim * sizeof(float) * 2;
}

static const struct row_task words_rows = {
    .start = words_start,
    .cadence = words_cadence,
    .traffic = words_traffic,
    .join = words_join,
    .leave = words_leave,
    .list = words_list,
    .expect = words_expect,
    .train = words_train,
    .train_whole = words_train_whole,
    .touch = words_touch,
    .row_bytes = words_row_bytes,
};

/* ---- options ---- */

static const struct shoal_choice losses[] = {
    [SHOAL_NS] = {"ns", "negative sampling"},
    [SHOAL_HS] = {"hs", "hierarchical softmax over a Huffman tree"},
    [SHOAL_SOFTMAX] = {"softmax", "exact softmax, for small vocabularies"},
    {0},
};

static const struct shoal_option output_options[] = {
    OUTPUT_OPTION("write the model here, the vectors of all words"),
    {"format", .type = SHOAL_TYPE_CHOICE, ON(save.format), .arg = "NAME",
     .choices = shoal_format_choices, .help = "how to write them"},
    {0},
};

static const struct shoal_option model_options[] = {
    {"dim", .type = SHOAL_TYPE_COUNT, ON(dim), .decides = true, .arg = "N", .u = {1, 4096},
     .help = "numbers of a vector"},
    {"window", .type = SHOAL_TYPE_COUNT, ON(window), .decides = true, .arg = "N", .u = {1, 50},
     .help = "words on each side at most, shrunk evenly at random"},
    {"window-fixed", .type = SHOAL_TYPE_FLAG, ON(window_fixed), .decides = true,
     .help = "never shrink windows: always so many words on each side, where there are so many"},
    {"shrink-windows", .type = SHOAL_TYPE_FLAG, ON(window_fixed), .decides = true, .inverse = true,
     .help = "shrink each window evenly at random; --no-shrink-windows is --window-fixed"},
    {"across-lines", .type = SHOAL_TYPE_FLAG, ON(across_lines), .decides = true,
     .help = "windows reach over line ends"},
    {"loss", .type = SHOAL_TYPE_CHOICE, ON(loss), .decides = true, .arg = "NAME", .choices = losses,
     .help = "what is made small"},
    {"negative", .type = SHOAL_TYPE_COUNT, ON(negative), .decides = true, .arg = "N", .u = {1, 64},
     .help = "noise words of a prediction (ns)"},
    {"ns-exponent", .type = SHOAL_TYPE_REAL, ON(ns_exponent), .decides = true, .arg = "X",
     .d = {-10, 10}, .help = "noise words are drawn by their count to this power (ns): 1 as often "
     "as they come, 0 all alike, below 0 the rare ones more often"},
    {"sample", .type = SHOAL_TYPE_REAL, ON(sample), .decides = true, .arg = "SHARE", .d = {0, 1},
     .help = "subsampling: skip at random words that make up more than this of the text",
     .zero = "no subsampling"},
    {0},
};

static const struct shoal_option subword_options[] = {
    {"minn", .type = SHOAL_TYPE_COUNT, ON(minn), .decides = true, .arg = "N",
     .u = {0, SUBWORDS_MAXN}, .help = "characters of the shortest n-grams, by custom 3"},
    {"maxn", .type = SHOAL_TYPE_COUNT, ON(maxn), .decides = true, .arg = "N",
     .u = {0, SUBWORDS_MAXN}, .help = "characters of the longest ones, by custom 6: a word is the "
     "mean of its own row and its n-grams', so that words never seen have vectors too",
     .zero = "whole words only"},
    {"buckets", .type = SHOAL_TYPE_COUNT, ON(buckets), .decides = true, .arg = "N",
     .u = {1, SUBWORDS_BUCKETS}, .help = "rows that all n-grams share by their hash"},
    {"hash-only", .type = SHOAL_TYPE_COUNT, ON(hash_only), .decides = true, .arg = "N",
     .u = {0, SUBWORDS_HASHES}, .help = "words have no rows of their own: they too are hashed, and "
     "words and n-grams have so many rows each, as floret's, so that few buckets are enough",
     .zero = "words have rows of their own"},
    {0},
};

/* Two names of one field. */
static const struct shoal_option bag_options[] = {
    {"cbow-mean", .type = SHOAL_TYPE_FLAG, ON(sum), .decides = true, .inverse = true,
     .help = "predict from the mean of the window"},
    {"cbow-sum", .type = SHOAL_TYPE_FLAG, ON(sum), .decides = true, .help = "predict from its sum"},
    {0},
};

static const struct shoal_option training_options[] = {
    EPOCHS_OPTION,
    STEPS_OPTION("so many steps of each rank, of --batch predictions (softmax) or words (ns, hs)"),
    LR_OPTION("0.05 for CBOW, 0.025 for skip-gram; twice that for 8 to 60 million words "
              "with negative sampling"),
    LR_SCALING_OPTION,
    SCHEDULE_OPTION("how the rate goes on"),
    {"min-lr", .type = SHOAL_TYPE_REAL, ON(min_lr), .decides = true, .arg = "RATE", .d = {0, 1000},
     .help = "the learning rate at the end (linear)", .zero = "a 10,000th of the first"},
    DECAY_OPTION,
    BATCH_OPTION(65536, "predictions of a step (softmax); words of one of --steps (ns, hs)"),
    START_OPTION("begin with the vectors of this file, and with their output rows where it has "
                 "them, instead of random ones; words that it lacks begin at random"),
    SEED_OPTION,
    VALID_OF_TEXT_OPTION("hold out this share or percent of the text, and report the validation "
                         "loss"),
    VALID_AT_OPTION,
    {0},
};

static const struct shoal_option given_options[] = {
    {"vocab", .type = SHOAL_TYPE_PATH, ON(vocab), .arg = "FILE",
     .help = "use this vocabulary, from `shoal vocab`, instead of counting one"},
    {0},
};

/* clang-format off */
/* After what a model has of its own. */
#define WORDS_GROUPS                                                                               \
    {"Training", training_options, .at = 0}, {"Machine", rows_machine_options, .at = 0},           \
        {"Checkpoints and metrics", words_run_options, .at = 0},                                   \
        {"Several ranks", words_ranks_options, .at = 0},                                           \
        {"Reading text", shoal_token_options, .at = offsetof(struct train_opts, encode.vocab)},    \
        {"A vocabulary made before", given_options, .at = 0},                                      \
        {"Vocabulary", shoal_vocab_options, .at = offsetof(struct train_opts, encode.vocab),       \
         .unless = "vocab"}, {0}
/* clang-format on */

static const struct shoal_option_group cbow_groups[] = {
    {"Output", output_options, .at = 0},
    {"Model", model_options, .at = 0},
    {"Subwords", subword_options, .at = 0},
    {"CBOW", bag_options, .at = 0},
    WORDS_GROUPS,
};

static const struct shoal_option_group skipgram_groups[] = {
    {"Output", output_options, .at = 0},
    {"Model", model_options, .at = 0},
    {"Subwords", subword_options, .at = 0},
    WORDS_GROUPS,
};

static void skipgram_defaults(struct train_opts *o)
{
    task_common_defaults(o);
    o->dim = 100;
    o->window = o->negative = 5;
    o->sample = 1e-3;
    o->ns_exponent = 0.75;
    o->buckets = 2000000;
    o->valid = 0.001;
    o->wire = SHOAL_WIRE_AUTO;
}

static void cbow_defaults(struct train_opts *o)
{
    skipgram_defaults(o);
    o->bag = true;
}

static shoal_status check_subwords(const struct train_opts *o)
{
    if (o->minn > o->maxn)
        return shoal_fail(SHOAL_EINVAL, "--minn is %u and --maxn %u, want --minn to be at most "
                          "--maxn", o->minn, o->maxn);
    if (o->maxn > 0 && o->minn == 0)
        return shoal_fail(SHOAL_EINVAL, "--maxn is %u without --minn, want --minn 1 to %u", o->maxn,
                          o->maxn);
    if (o->hash_only > 0 && o->maxn == 0)
        return shoal_fail(SHOAL_EINVAL, "--hash-only is %u without n-grams, want --minn and --maxn",
                          o->hash_only);
    if (o->maxn > 0 && o->loss == SHOAL_SOFTMAX)
        return shoal_fail(SHOAL_EINVAL, "--maxn is %u with --loss softmax, want --loss ns or hs: "
                          "an exact softmax has whole words only", o->maxn);
    return SHOAL_OK;
}

static shoal_status words_check(const shoal_options *o)
{
    const struct train_opts *at = options_values(o);

    if (at->sample >= 1)
        return shoal_fail(SHOAL_EINVAL, "--sample is 1, want 0 to below 1");
    return check_subwords(at);
}

#define ABOUT_WORDS                                                                                \
    "The options mean what they mean to word2vec. Text is encoded first; a corpus from `shoal "    \
    "encode` starts at once. The plan says before the start what memory the work needs; what "     \
    "cannot fit is refused. The file appears when all is done." GOES_ON

/* ---- the task ---- */

/* Both are one model: which word predicts which is all that differs. */
#define WORDS_TASK                                                                                 \
    .data = DATA_TEXT, .kind = &kind_vectors, .rows = &words_rows, .plan = words_plan,             \
    .open = words_open, .close = words_close, .figures = words_figures,                            \
    .evaluate = words_evaluate, .learned = words_learned, .result = words_result

const struct task task_cbow = {
    .is = {.name = "cbow",
           .summary = "word vectors: a window of words predicts the one in its middle",
           .about = "Continuous bag of words (Mikolov et al. 2013): fast, and good for common "
                    "words.\n" ABOUT_WORDS,
           .operand = "INPUT",
           .operand_help = ENCODED_TEXT_HELP,
           .many = true,
           .groups = cbow_groups,
           .examples =
               (const struct shoal_example[]){
                   {"shoal train cbow text.txt -o vectors.bin", "vectors of one file of text"},
                   {"shoal train cbow text.shoal --dim 300 --epochs 10 --checkpoint run -o "
                    "vectors.bin",
                    "larger ones, of an encoded corpus, that may be interrupted"},
                   {"shoal train --resume run", "go on after an interrupt"},
                   {"shoal train cbow text.shoal --ranks 4 --hosts a,b --checkpoint run "
                    "--restarts 3 -o vectors.bin",
                    "by four processes on two machines, started again when one is lost"},
                   {0},
               },
           .unit = "words"},
    .defaults = cbow_defaults,
    .check = words_check,
    WORDS_TASK,
};

const struct task task_skipgram = {
    .is = {.name = "skipgram",
           .summary = "word vectors: a word predicts each of its neighbours",
           .about = "Skip-gram (Mikolov et al. 2013): slower than CBOW, and better for rare "
                    "words.\n" ABOUT_WORDS,
           .operand = "INPUT",
           .operand_help = ENCODED_TEXT_HELP,
           .many = true,
           .groups = skipgram_groups,
           .examples =
               (const struct shoal_example[]){
                   {"shoal train skipgram text.txt --window 10 --negative 10 -o vectors.bin",
                    "vectors of one file of text"},
                   {"shoal train skipgram text.txt --deterministic --threads 4 -o vectors.bin",
                    "the same bytes each time"},
                   {0},
               },
           .unit = "words"},
    .defaults = skipgram_defaults,
    .check = words_check,
    WORDS_TASK,
};
