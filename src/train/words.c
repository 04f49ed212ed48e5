/* The task of word vectors: positions are words of a corpus. Tables: input rows,
 * output rows, and with the exact softmax a bias. */
#include "train/run.h"

#include "saved/saved.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN, OUT, BIAS };

enum {
    HOT_ROWS = 128,     /* of which each thread has copies */
    ROUND_WORDS = 4096, /* of a thread between rounds of ranks that wait for each other */
    ROUND_SHARED = 8192, /* of all of them where every batch changes every row */
    ROUND_LEAST = 512,   /* and of each where nobody waits there */
    BLOCK_WORDS = 16384, /* of a thread in a block: more need fewer rows a word, and more memory */
    LOOK_WORDS = 32768, /* between looks at other ranks, over the square of the ranks */
    LOOK_LEAST = 1024,
    CHUNK_LEAST = 512,
    CHUNK_MOST = 16384,     /* Hogwild: small beside a stretch, large beside its overhead */
    CHUNK_LANE = 5000,      /* between merges: longer loses accuracy, shorter speed */
    CHUNKS_PER_EPOCH = 256, /* at least, so that the rate falls smoothly */
    CHUNKS_SOFTMAX = 32,    /* fewer: each starts the threads anew and ends a batch */
};

struct words {
    const shoal_corpus *corpus;
    const uint32_t *ids;
    struct w2v model;
    struct softmax *softmax;
};

/* ---- the plan ---- */

static size_t chunk_of(const struct shoal_train_opts *o, size_t ids)
{
    size_t most = o->deterministic ? CHUNK_LANE : CHUNK_MOST;
    size_t parts = o->loss == SHOAL_SOFTMAX ? CHUNKS_SOFTMAX : CHUNKS_PER_EPOCH;

    return chunk_between(ids, parts, CHUNK_LEAST, most);
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

/* Of n words drawn by count^power, how many are different, on average. */
static double different(const shoal_vocab *vocab, double n, double power)
{
    size_t words = shoal_vocab_size(vocab);
    double sum = 0, found = 0;

    for (uint32_t i = 0; i < words; i++)
        sum += pow((double)shoal_vocab_count(vocab, i), power);
    for (uint32_t i = 0; i < words && sum > 0; i++)
        found -= expm1(-n / sum * pow((double)shoal_vocab_count(vocab, i), power));
    return found;
}

/* Rows of each table that a block may need: a rank's threads train a round each. */
static void needed_of(const struct shoal_train_opts *o, const shoal_vocab *vocab, size_t ids,
                      size_t needed[2])
{
    size_t chunk = chunk_of(o, ids), round = chunk < BLOCK_WORDS ? chunk : BLOCK_WORDS;
    double n = (double)round * threads_of(o), in = different(vocab, n, 1);

    needed[IN] = (size_t)in + 1;
    if (o->loss == SHOAL_NS)
        in += different(vocab, n * o->negative / W2V_REUSE, 0.75);
    else
        in *= 4;
    needed[OUT] = (size_t)in + 1;
}

static uint64_t tables_bytes(const struct shoal_train_opts *o, size_t words, const size_t *needed)
{
    struct table tables[] = {
        {.rows = words, .width = o->dim, .stride = table_stride(o->dim)},
        {.rows = w2v_out_rows(o, words), .width = o->dim, .stride = table_stride(o->dim)},
    };

    return ranks_bytes(o, tables, 2, needed);
}

/* The rows a rank owns are counted with the tables, not with the work. */
static void plan_without_replicas(struct shoal_train_plan *plan, const struct shoal_train_opts *o,
                                  const shoal_vocab *vocab, size_t ids)
{
    unsigned owners = o->servers ? o->servers : shoal_ranks_size(o->ranks);
    size_t words = shoal_vocab_size(vocab), needed[2];
    uint64_t bytes;

    needed_of(o, vocab, ids, needed);
    bytes = tables_bytes(o, words, needed);
    plan->blocks = true;
    plan->rank_bytes = plan->model_bytes / owners;
    plan->work_bytes = w2v_bytes(o, vocab) + workers_of(o) * words / 4 +
                       (bytes > plan->rank_bytes ? bytes - plan->rank_bytes : 0);
    plan_sum(plan, o);
}

shoal_status shoal_train_plan(struct shoal_train_plan *plan, const shoal_corpus *corpus,
                              const struct shoal_train_opts *o)
{
    const shoal_vocab *vocab = shoal_corpus_vocab(corpus);
    size_t words = shoal_vocab_size(vocab), ids = 0;
    const uint32_t *at;
    shoal_status st = shoal_train_check(o);

    if (st == SHOAL_OK)
        st = check_ranks(o);
    if (st == SHOAL_OK && o->model == SHOAL_LOGREG)
        st = shoal_fail(SHOAL_EINVAL, "train: model is %d, want SHOAL_CBOW or SHOAL_SKIPGRAM for a "
                        "corpus", (int)o->model);
    *plan = (struct shoal_train_plan){.words = shoal_corpus_words(corpus), .vocab = words};
    if (st == SHOAL_OK)
        st = shoal_corpus_part(corpus, 0, 1, &at, &ids);
    if (st != SHOAL_OK)
        return st;
    plan->model_bytes = table_bytes(words, o->dim) + table_bytes(w2v_out_rows(o, words), o->dim);
    plan->work_bytes = w2v_bytes(o, vocab) + tables_bytes(o, words, NULL);
    if (o->publish)
        plan->work_bytes += table_bytes(words, o->dim);
    if (o->loss == SHOAL_SOFTMAX) {
        plan->model_bytes += table_bytes(1, words);
        plan->work_bytes += softmax_bytes(o->batch, words, o->dim);
    } else {
        plan->work_bytes += views_bytes(o, words, ids);
    }
    plan->rank_bytes = plan->model_bytes;
    plan_sum(plan, o);
    plan->replica_bytes = plan->memory_bytes;
    if (plan_blocks(plan, o))
        plan_without_replicas(plan, o, vocab, ids);
    return SHOAL_OK;
}

static shoal_status words_plan(const struct run *r, struct shoal_train_plan *plan)
{
    const struct words *w = r->own;

    return shoal_train_plan(plan, w->corpus, r->opts);
}

/* ---- opening ---- */

/* The more ranks there are, the sooner one's hot rows are behind the others'. */
static size_t look_of(const struct shoal_train_opts *o)
{
    size_t workers = shoal_ranks_size(o->ranks) - o->servers, look = LOOK_WORDS / workers / workers;

    return look > LOOK_LEAST ? look : LOOK_LEAST;
}

/* With an exact softmax replicas part quickly: all rows change in every batch. */
static size_t round_of(const struct run *r)
{
    const struct shoal_train_opts *o = r->opts;
    size_t workers = shoal_ranks_size(o->ranks) - o->servers, each = ROUND_SHARED / workers;

    if (r->blocks)
        return BLOCK_WORDS;
    if (o->loss != SHOAL_SOFTMAX || o->sync == SHOAL_AVERAGE)
        return ROUND_WORDS;
    if (o->sync != SHOAL_SYNC || each < ROUND_LEAST)
        return ROUND_LEAST;
    return each < ROUND_WORDS ? each : ROUND_WORDS;
}

static shoal_status hold_out(struct run *r)
{
    struct words *w = r->own;
    shoal_status st = shoal_corpus_part(w->corpus, 0, 1, &w->ids, &r->all);

    r->train = r->all - (size_t)(r->opts->valid * (double)r->all);
    r->grain = (struct grain){.chunk = chunk_of(r->opts, r->train),
                              .round = round_of(r),
                              .look = look_of(r->opts), .look_crowded = LOOK_LEAST, .hot = HOT_ROWS};
    return st;
}

static shoal_status make_tables(struct run *r, size_t words)
{
    const struct words *w = r->own;
    size_t dim = r->opts->dim, out = w2v_out_rows(r->opts, words);
    shoal_status st = SHOAL_OK;

    if (r->blocks) {
        r->tables[IN] = (struct table){.name = "in", .rows = words};
        r->tables[OUT] = (struct table){.name = "out", .rows = out};
        r->tables[IN].width = r->tables[OUT].width = dim;
        r->tables[IN].stride = r->tables[OUT].stride = table_stride(dim);
        needed_of(r->opts, shoal_corpus_vocab(w->corpus), r->train, r->needed);
    } else {
        st = table_init(&r->tables[IN], "in", words, dim);
        if (st == SHOAL_OK)
            st = table_init(&r->tables[OUT], "out", out, dim);
    }
    if (st == SHOAL_OK && r->whole)
        st = table_init(&r->tables[BIAS], "bias", 1, words);
    r->ntables = r->whole ? 3 : 2;
    return st;
}

/* All is even: what a model that knows nothing loses on a prediction, or for a
 * Huffman tree a little more. */
static double untrained_loss(const struct shoal_train_opts *o, size_t words)
{
    return o->loss == SHOAL_NS ? (o->negative + 1) * log(2) : log((double)words) + log(2);
}

static shoal_status words_open(struct run *r)
{
    const struct shoal_train_opts *o = r->opts;
    struct words *w = r->own;
    const shoal_vocab *vocab = shoal_corpus_vocab(w->corpus);
    struct shoal_save_opts save = shoal_save_default();
    enum shoal_format format;
    shoal_status st = hold_out(r);

    if (st == SHOAL_OK && o->publish)
        st = shoal_save_check(o->publish, &save, &format);
    r->whole = o->loss == SHOAL_SOFTMAX;
    r->batch = r->whole ? o->batch : 0;
    r->at.best_loss = untrained_loss(o, shoal_vocab_size(vocab));
    if (st == SHOAL_OK)
        st = w2v_init(&w->model, o, vocab, w->ids, r->all, r->kernel);
    if (st == SHOAL_OK)
        st = make_tables(r, shoal_vocab_size(vocab));
    if (st == SHOAL_OK && r->whole)
        st = softmax_new(&w->softmax, &w->model, o->batch, &r->tables[IN], &r->tables[OUT],
                         &r->tables[BIAS], r->threads);
    r->nscores = o->nevals;
    r->gathers = o->nevals > 0; /* the held-out loss of a replica is near enough */
    if (st == SHOAL_OK && o->nevals > 0 && !(r->scores = mem_array(o->nevals, sizeof *r->scores)))
        st = SHOAL_ENOMEM;
    return st;
}

static void words_close(struct run *r)
{
    struct words *w = r->own;

    softmax_free(w->softmax);
    w2v_fini(&w->model);
    free(r->scores);
}

static void words_start(struct run *r)
{
    const uint32_t *ids = NULL;
    struct table in = r->tables[IN];

    if (r->blocks)
        in = store_owned(together_store(r->with), IN, &ids);
    w2v_start(&in, ids, r->opts->seed);
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
    struct lane *lane = NULL;
    shoal_status st = lane_new(&lane, &words->model, &w->views[IN], &w->views[OUT]);

    w->own = lane;
    return st;
}

static void words_leave(struct worker *w)
{
    lane_free(w->own);
}

static void words_rows(struct run *r, struct worker *w, size_t from, size_t to)
{
    lane_list(w->own, r->at.epoch, from, to, w->bits[IN], w->bits[OUT]);
}

static void words_train(struct run *r, struct worker *w, size_t from, size_t to, float lr)
{
    lane_train(w->own, r->at.epoch, from, to, lr, &w->done);
}

/* Every batch needs all output rows, and its words' input rows. */
static shoal_status words_train_whole(struct run *r, size_t from, size_t to, float lr,
                                      struct done *done)
{
    struct words *w = r->own;
    uint64_t before = done->predictions;
    shoal_status st = softmax_train(w->softmax, r->at.epoch, from, to, lr, done);

    done->rows += (done->predictions - before + r->opts->batch - 1) / r->opts->batch *
                      r->tables[OUT].rows + (to - from);
    return st;
}

static void words_touch(struct run *r, size_t from, size_t to)
{
    const struct words *w = r->own;
    struct store *s = together_store(r->with);
    uint8_t *in = store_touches(s, IN);
    size_t halo = r->opts->window;

    for (size_t i = from > halo ? from - halo : 0; i < to + halo && i < r->all; i++)
        if (w->ids[i] < r->tables[IN].rows)
            in[w->ids[i]] = UINT8_MAX;
    memset(store_touches(s, OUT), UINT8_MAX, r->tables[OUT].rows);
    memset(store_touches(s, BIAS), UINT8_MAX, r->tables[BIAS].rows);
}

/* ---- measuring ---- */

/* The same where rows must be asked for. */
static shoal_status loss_of_blocks(struct run *r, struct done *done)
{
    struct worker *w = r->workers;
    shoal_status st = SHOAL_OK;

    for (size_t from = r->train, to; from < r->all && st == SHOAL_OK; from = to) {
        to = r->all - from > r->grain.round ? from + r->grain.round : r->all;
        lane_list(w->own, LANE_LOSS_EPOCH, from, to, w->bits[IN], w->bits[OUT]);
        st = blocks_read(r);
        if (st == SHOAL_OK)
            lane_loss(w->own, from, to, done);
    }
    return st == SHOAL_OK ? blocks_read_end(r) : st;
}

static shoal_status measure_valid(struct run *r)
{
    struct words *words = r->own;
    struct done done = {0};
    struct worker *w = r->workers;
    shoal_status st = SHOAL_OK;

    if (r->train == r->all)
        return SHOAL_OK;
    if (r->whole)
        st = softmax_loss(words->softmax, r->train, r->all, &done);
    else if (r->blocks)
        st = loss_of_blocks(r, &done);
    else
        lane_loss(w->own, r->train, r->all, &done);
    if (r->opts->deterministic && !r->whole) {
        st = views_merge(&w->views[IN], 1, r->kernel, 1);
        if (st == SHOAL_OK)
            st = views_merge(&w->views[OUT], 1, r->kernel, 1);
    }
    r->valid_loss = mean_of(done.loss, done.predictions);
    return st;
}

/* What the rows know by now: of each suite its last score, which sums it up. */
static shoal_status measure_scores(struct run *r)
{
    struct shoal_eval_opts opts = shoal_eval_default();
    const struct words *w = r->own;
    shoal_status st = SHOAL_OK;

    opts.threads = r->threads;
    for (size_t i = 0; i < r->opts->nevals && st == SHOAL_OK; i++) {
        const shoal_eval *suite = r->opts->evals[i];
        struct shoal_score *scores;
        size_t n;

        st = eval_run_table(suite, shoal_corpus_vocab(w->corpus), &r->tables[IN], &opts, &scores,
                            &n);
        if (st != SHOAL_OK)
            break;
        r->scores[i] = scores[n - 1];
        snprintf(r->scores[i].name, sizeof r->scores[i].name, "%s", shoal_eval_name(suite));
        shoal_scores_free(scores);
    }
    return st;
}

static shoal_status words_measure(struct run *r)
{
    shoal_status st = measure_valid(r);

    return st == SHOAL_OK ? measure_scores(r) : st;
}

/* A copy, for vectors own their rows. */
static shoal_status words_publish(struct run *r, const char *path)
{
    const struct table *in = &r->tables[IN];
    const struct words *w = r->own;
    struct shoal_save_opts save = shoal_save_default();
    shoal_vectors *v = NULL;
    struct table rows = {0};
    shoal_status st = table_init(&rows, in->name, in->rows, in->width);

    if (st == SHOAL_OK) {
        memcpy(rows.at, in->at, table_bytes(in->rows, in->width));
        st = vectors_take(&v, shoal_corpus_vocab(w->corpus), &rows, NULL);
    }
    if (st == SHOAL_OK)
        st = shoal_vectors_save(v, path, &save);
    shoal_vectors_close(v);
    table_fini(&rows);
    return st;
}

static size_t words_row_bytes(const struct run *r)
{
    return r->opts->dim * sizeof(float) * 2;
}

static const struct task words_task = {
    .plan = words_plan,
    .open = words_open,
    .close = words_close,
    .start = words_start,
    .traffic = words_traffic,
    .join = words_join,
    .leave = words_leave,
    .rows = words_rows,
    .train = words_train,
    .train_whole = words_train_whole,
    .touch = words_touch,
    .measure = words_measure,
    .publish = words_publish,
    .row_bytes = words_row_bytes,
};

shoal_status shoal_train(shoal_vectors **out, const shoal_corpus *corpus,
                         const struct shoal_train_opts *opts, struct shoal_train_stats *stats)
{
    struct words words = {.corpus = corpus};
    struct run r = {.opts = opts, .task = &words_task, .own = &words, .from = source_of(corpus)};
    shoal_status st = begin(&r);

    *out = NULL;
    if (st == SHOAL_OK)
        st = run_all(&r);
    if (st == SHOAL_OK && r.blocks)
        st = blocks_collect(&r);
    if (st == SHOAL_OK)
        st = run_finish(&r);
    if (st == SHOAL_OK && r.leads)
        st = vectors_take(out, shoal_corpus_vocab(corpus), &r.tables[IN], &r.tables[OUT]);
    if (stats)
        fill_stats(&r, stats);
    end(&r);
    return st;
}
