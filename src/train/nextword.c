/* The next word: windows over a corpus and vectors, never all at once in memory.
 *
 *     words     | a b c d e f g | h i ... |     ids of the words that have a vector
 *     windows     a b c -> d                    length 3; none reaches over a sentence
 *                   b c d -> e
 *
 * Window i is found through the sentence it is in: firsts[s] is the first window of
 * sentence s. Those at the end of the corpus are held out. */
#include "saved/saved.h"
#include "train/nextword.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT = 8,           /* one in so many windows loses its first words */
    SHORT_STREAM = 0x5407,
    ASKED_STREAM = 0xa5ced,
    FIT_FROM = 1 << 30, /* of the windows drawn: others than those that are asked */
};

struct shoal_nextword_opts shoal_nextword_default(void)
{
    struct shoal_nextword_opts o = {.train = shoal_net_default(), .length = 10, .hidden = 256,
                                    .asked = 2000};

    o.train.epochs = 5;
    o.train.batch = 256;
    o.train.schedule = SHOAL_INVERSE_TIME;
    o.train.decay = 0.01;
    o.train.valid = 0.005;
    return o;
}

static shoal_status check_opts(const struct shoal_nextword_opts *o)
{
    if (o->length < 1 || o->length > 1000)
        return shoal_fail(SHOAL_EINVAL, "nextword: length is %u, want 1 to 1000", o->length);
    if (o->hidden < 1 || o->hidden > 65536)
        return shoal_fail(SHOAL_EINVAL, "nextword: hidden is %u, want 1 to 65536", o->hidden);
    return shoal_net_check(&o->train);
}

/* ---- words that have a vector ---- */

static shoal_status add_word(struct bytes *lines, const shoal_vocab *vocab, uint32_t id)
{
    const char *word = shoal_vocab_word(vocab, id);
    char count[32];
    int len = snprintf(count, sizeof count, " %llu\n",
                       (unsigned long long)shoal_vocab_count(vocab, id));
    shoal_status st = bytes_add(lines, word, strlen(word));

    return st == SHOAL_OK ? bytes_add(lines, count, (size_t)len) : st;
}

/* map[corpus id] is the id here, or SHOAL_NO_ID; of[id here] is the row of the vectors. */
static shoal_status match_words(struct nextword *n, const shoal_vocab *vocab,
                                const shoal_vectors *vectors, uint32_t *of)
{
    struct bytes lines = {0};
    size_t words = 0;
    shoal_status st = SHOAL_OK;

    for (uint32_t id = 0; id < shoal_vocab_size(vocab) && st == SHOAL_OK; id++) {
        const char *word = shoal_vocab_word(vocab, id);
        uint32_t row = id == shoal_vocab_unk(vocab)
                           ? SHOAL_NO_ID : shoal_vectors_find(vectors, word, strlen(word));

        n->map[id] = row == SHOAL_NO_ID ? SHOAL_NO_ID : (uint32_t)words;
        if (row == SHOAL_NO_ID)
            continue;
        of[words++] = row;
        st = add_word(&lines, vocab, id);
    }
    if (st == SHOAL_OK && words < 2)
        st = shoal_fail(SHOAL_EINVAL, "nextword: %zu words of the corpus have a vector, want two "
                        "or more", words);
    if (st == SHOAL_OK)
        st = shoal_vocab_read_memory(&n->words,
                                     &(struct shoal_memory){"nextword", lines.at, lines.len});
    if (st == SHOAL_OK && shoal_vocab_size(n->words) != words)
        st = shoal_fail(SHOAL_EINVAL, "nextword: found %zu words, want %zu: some hold white space",
                        shoal_vocab_size(n->words), words);
    bytes_fini(&lines);
    return st;
}

/* Rows of length sqrt(dim), so that their numbers are about 1. */
static shoal_status copy_vectors(struct nextword *n, const shoal_vectors *vectors,
                                 const uint32_t *of)
{
    size_t dim = shoal_vectors_dim(vectors), words = shoal_vocab_size(n->words);
    shoal_status st = table_init(&n->vectors, "vectors", words, dim);

    for (size_t i = 0; i < words && st == SHOAL_OK; i++) {
        float *row = n->vectors.at + i * n->vectors.stride;
        double length = 0;

        st = shoal_vectors_row(vectors, of[i], row);
        for (size_t j = 0; j < dim; j++)
            length += (double)row[j] * (double)row[j];
        if (st == SHOAL_OK && !isfinite(length))
            st = shoal_fail(SHOAL_EFORMAT, "nextword: the vector of '%s' (row %u) is not finite",
                            shoal_vocab_word(n->words, (uint32_t)i), of[i]);
        for (size_t j = 0; j < dim && length > 0; j++)
            row[j] *= (float)sqrt((double)dim / length);
    }
    return st;
}

/* ---- windows ---- */

static shoal_status add_sentence(struct nextword *n, size_t begin)
{
    size_t len = n->count - begin, windows = len > n->length ? len - n->length : 0;
    size_t cap = n->cap;
    void *at = n->sentences;
    shoal_status st;

    if (windows == 0) {
        n->count = begin; /* too short to say anything */
        return SHOAL_OK;
    }
    st = mem_grow(&at, &cap, n->nsentences + 1, sizeof *n->sentences);
    n->sentences = at;
    n->cap = cap;
    if (st != SHOAL_OK)
        return st;
    n->sentences[n->nsentences++] = (struct sentence){n->windows, begin};
    n->windows += windows;
    return SHOAL_OK;
}

static shoal_status read_corpus(struct nextword *n, const shoal_corpus *corpus)
{
    const uint32_t *ids;
    size_t count, begin = 0;
    shoal_status st = shoal_corpus_part(corpus, 0, 1, &ids, &count);

    n->ids = st == SHOAL_OK ? mem_map((count + 1) * sizeof *n->ids) : NULL;
    n->room = count + 1;
    if (st == SHOAL_OK && !n->ids)
        st = SHOAL_ENOMEM;
    for (size_t i = 0; i < count && st == SHOAL_OK; i++) {
        if (ids[i] == SHOAL_SENTENCE_END) {
            st = add_sentence(n, begin);
            begin = n->count;
        } else if (n->map[ids[i]] != SHOAL_NO_ID) {
            n->ids[n->count++] = n->map[ids[i]];
        }
    }
    if (st == SHOAL_OK)
        st = add_sentence(n, begin);
    if (st == SHOAL_OK && (n->windows < 2 || n->windows > UINT32_MAX - 1))
        st = shoal_fail(SHOAL_EINVAL, "nextword: %zu windows of %u words and one more, want 2 to "
                        "%u", n->windows, n->length, UINT32_MAX - 1);
    return st;
}

/* The first of its words. */
static const uint32_t *window_at(const struct nextword *n, size_t i)
{
    size_t lo = 0, hi = n->nsentences;

    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;

        if (n->sentences[mid].window <= i)
            lo = mid;
        else
            hi = mid;
    }
    return n->ids + n->sentences[lo].word + (i - n->sentences[lo].window);
}

/* Some windows begin late, so that a text of a few words can be continued too. */
static size_t words_missing(const struct nextword *n, const struct net_take *take, uint32_t id)
{
    uint64_t random = rng_at(n->opts->train.seed, SHORT_STREAM + take->epoch, id);

    if (take->valid || n->length < 2 || random % SHORT != 0)
        return 0;
    return 1 + (size_t)(random / SHORT % (n->length - 1));
}

static shoal_status fill(void *ctx, const struct net_take *take, float *x, uint32_t *label,
                         float *y)
{
    const struct nextword *n = ctx;
    size_t dim = n->vectors.width;

    (void)label;
    for (size_t i = 0; i < take->n; i++) {
        size_t id = take->ids[i] + (take->valid ? n->source.train : 0);
        const uint32_t *words = window_at(n, id);
        size_t missing = words_missing(n, take, take->ids[i]);

        for (size_t w = 0; w < n->length; w++, x += dim) {
            if (w < missing)
                memset(x, 0, dim * sizeof *x);
            else
                memcpy(x, n->vectors.at + words[w] * n->vectors.stride, dim * sizeof *x);
        }
        memcpy(y + i * dim, n->vectors.at + words[n->length] * n->vectors.stride,
               dim * sizeof *y);
    }
    return SHOAL_OK;
}

/* ---- opening ---- */

static shoal_status make_net(struct nextword *n)
{
    const struct shoal_nextword_opts *o = n->opts;
    size_t dim = n->vectors.width;
    char spec[NET_SPEC];

    if (o->lstm)
        snprintf(spec, sizeof spec, "lstm length=%u width=%zu hidden=%u outputs=%zu", o->length,
                 dim, o->hidden, dim);
    else
        snprintf(spec, sizeof spec, "mlp inputs=%zu layers=%u outputs=%zu activation=relu loss=mse",
                 o->length * dim, o->hidden, dim);
    return net_new(&n->net, spec);
}

shoal_status nextword_open(struct nextword *n, const shoal_corpus *corpus,
                           const shoal_vectors *vectors, const struct shoal_nextword_opts *o)
{
    const shoal_vocab *vocab = shoal_corpus_vocab(corpus);
    uint32_t *of = mem_array(shoal_vocab_size(vocab), sizeof *of);
    shoal_status st = check_opts(o);

    *n = (struct nextword){.opts = o, .length = o->length};
    n->map = mem_array(shoal_vocab_size(vocab), sizeof *n->map);
    if (st == SHOAL_OK && (!of || !n->map))
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = match_words(n, vocab, vectors, of);
    if (st == SHOAL_OK)
        st = copy_vectors(n, vectors, of);
    if (st == SHOAL_OK)
        st = read_corpus(n, corpus);
    if (st == SHOAL_OK)
        st = make_net(n);
    free(of);
    if (st != SHOAL_OK)
        return st;
    n->source = (struct net_source){.fill = fill, .ctx = n};
    n->source.valid = (size_t)(o->train.valid * (double)n->windows);
    n->source.train = n->windows - n->source.valid;
    n->source.fingerprint =
        shoal_corpus_fingerprint(corpus) ^
        hash_bytes(n->length, n->vectors.at, table_bytes(n->vectors.rows, n->vectors.width));
    n->prior = words_prior(n->words);
    return n->prior ? SHOAL_OK : SHOAL_ENOMEM;
}

void nextword_close(struct nextword *n)
{
    net_free(n->net);
    shoal_vocab_free(n->words);
    table_fini(&n->vectors);
    mem_unmap(n->ids, n->room * sizeof *n->ids);
    free(n->sentences);
    free(n->map);
    free(n->prior);
    journal_close(n->statistics);
}

/* ---- word accuracy ---- */

struct asked {
    float *x, *y, *scores;
    uint32_t *ids, *target, *above;
    void *worker;
};

static void asked_fini(struct asked *a, const struct nextword *n)
{
    if (a->worker)
        n->net->ops->worker_free(a->worker);
    free(a->x);
    free(a->y);
    free(a->scores);
    free(a->ids);
    free(a->target);
    free(a->above);
}

static shoal_status asked_init(struct asked *a, const struct nextword *n)
{
    size_t some = RANKS_AT_ONCE;

    *a = (struct asked){.x = mem_array(some * n->net->inputs, sizeof *a->x),
                        .y = mem_array(some * n->net->outputs, sizeof *a->y),
                        .scores = mem_array(some * n->vectors.rows, sizeof *a->scores),
                        .ids = mem_array(some, sizeof *a->ids),
                        .target = mem_array(some, sizeof *a->target),
                        .above = mem_array(some, sizeof *a->above)};
    if (!a->x || !a->y || !a->scores || !a->ids || !a->target || !a->above)
        return SHOAL_ENOMEM;
    return n->net->ops->worker_new(&a->worker, n->net, some, 1);
}

/* Windows drawn by the seed: always the same ones. */
static void draw(struct asked *a, const struct nextword *n, size_t from, size_t some, bool valid)
{
    size_t of = valid ? n->source.valid : n->source.train;

    for (size_t i = 0; i < some; i++) {
        a->ids[i] = (uint32_t)(rng_at(n->opts->train.seed, ASKED_STREAM + valid, from + i) % of);
        a->target[i] = window_at(n, a->ids[i] + (valid ? n->source.train : 0))[n->length];
    }
}

struct word_share {
    double top1, top5, top10;
};

static void count_ranks(struct word_share *s, struct word_share *base, const uint32_t *above,
                        const uint32_t *target, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->top1 += above[i] < 1;
        s->top5 += above[i] < 5;
        s->top10 += above[i] < 10;
        base->top1 += target[i] < 1; /* the commonest word has id 0 */
        base->top5 += target[i] < 5;
        base->top10 += target[i] < 10;
    }
}

/* How much the predicted vector says beside the counts, by windows that were learned. */
static shoal_status fit(struct nextword *n, const float *params, unsigned epoch)
{
    struct word_ranks ranks = {&n->vectors, n->prior, 0};
    struct asked a;
    shoal_status st = asked_init(&a, n);

    if (st == SHOAL_OK) {
        draw(&a, n, FIT_FROM, RANKS_AT_ONCE, false);
        st = fill(n, &(struct net_take){a.ids, RANKS_AT_ONCE, false, epoch}, a.x, NULL, a.y);
    }
    if (st == SHOAL_OK)
        st = n->net->ops->predict(a.worker, params, a.x, RANKS_AT_ONCE, a.y);
    if (st == SHOAL_OK)
        st = words_fit(&ranks, a.y, a.target, RANKS_AT_ONCE, a.scores);
    n->weight = ranks.weight;
    asked_fini(&a, n);
    return st;
}

static shoal_status ask(struct nextword *n, const float *params, unsigned epoch, bool valid,
                        struct word_share *share, struct word_share *base)
{
    size_t all = valid && n->source.valid == 0 ? 0 : (size_t)n->opts->asked;
    struct asked a;
    shoal_status st = asked_init(&a, n);

    for (size_t i = 0; i < all && st == SHOAL_OK; i += RANKS_AT_ONCE) {
        size_t some = all - i < RANKS_AT_ONCE ? all - i : RANKS_AT_ONCE;

        draw(&a, n, i, some, valid);
        st = fill(n, &(struct net_take){a.ids, some, valid, epoch}, a.x, NULL, a.y);
        if (st == SHOAL_OK)
            st = n->net->ops->predict(a.worker, params, a.x, some, a.y);
        if (st == SHOAL_OK)
            st = words_above(&(struct word_ranks){&n->vectors, n->prior, n->weight}, a.y,
                             a.target, some, a.scores, a.above);
        if (st == SHOAL_OK)
            count_ranks(share, base, a.above, a.target, some);
    }
    asked_fini(&a, n);
    return st;
}

static void set_words(struct shoal_net_figures *f, const struct word_share *s, uint64_t n)
{
    f->word1 = s->top1 / (double)n;
    f->word5 = s->top5 / (double)n;
    f->word10 = s->top10 / (double)n;
}

/* After each epoch, on rank 0. */
static shoal_status on_epoch(void *ctx, const float *params, struct shoal_net_report *r)
{
    struct nextword *n = ctx;
    struct word_share train = {0}, valid = {0}, base = {0}, unused = {0};
    shoal_status st = SHOAL_OK;

    st = fit(n, params, r->epoch);
    if (n->opts->asked > 0) {
        if (st == SHOAL_OK)
            st = ask(n, params, r->epoch, false, &train, &unused);
        if (st == SHOAL_OK)
            st = ask(n, params, r->epoch, true, &valid, &base);
        set_words(&r->train, &train, n->opts->asked);
        if (n->source.valid > 0)
            set_words(&r->valid, &valid, n->opts->asked);
        n->base10 = (n->source.valid ? base.top10 : unused.top10) / (double)n->opts->asked;
        n->base1 = (n->source.valid ? base.top1 : unused.top1) / (double)n->opts->asked;
        n->base5 = (n->source.valid ? base.top5 : unused.top5) / (double)n->opts->asked;
    }
    return st == SHOAL_OK && n->statistics ? statistics_write(n, r) : st;
}

/* ---- training ---- */

shoal_status shoal_nextword_plan(struct shoal_net_plan *plan, const shoal_corpus *corpus,
                                 const shoal_vectors *vectors,
                                 const struct shoal_nextword_opts *opts)
{
    struct nextword n;
    shoal_status st = nextword_open(&n, corpus, vectors, opts);

    *plan = (struct shoal_net_plan){0};
    if (st == SHOAL_OK) {
        net_plan(plan, n.net, &n.source, &opts->train);
        plan->work_bytes += RANKS_AT_ONCE * n.vectors.rows * sizeof(float);
        plan->memory_bytes += RANKS_AT_ONCE * n.vectors.rows * sizeof(float);
    }
    nextword_close(&n);
    return st;
}

static shoal_status add_facts(shoal_net *t, const struct nextword *n,
                              const struct shoal_net_stats *s)
{
    shoal_status st = trained_fact(t, "weight", "%.9g", (double)n->weight);

    if (st == SHOAL_OK)
        st = trained_fact(t, "samples", "%zu", n->source.train);
    if (st == SHOAL_OK)
        st = trained_fact(t, "held_out", "%zu", n->source.valid);
    if (st == SHOAL_OK)
        st = trained_fact(t, "epochs", "%u", n->opts->train.epochs);
    if (st == SHOAL_OK && isfinite(s->train.loss))
        st = trained_fact(t, "loss", "%.6g", s->train.loss);
    if (st == SHOAL_OK && isfinite(s->valid.loss))
        st = trained_fact(t, "valid_loss", "%.6g", s->valid.loss);
    return st;
}

/* Takes net, params, words and vectors out of the run. */
static shoal_status give(shoal_net **out, struct nextword *n, float *params,
                         const struct shoal_net_stats *stats)
{
    shoal_net *t;
    shoal_status st = trained_new(&t, n->net, params);

    n->net = NULL;
    if (st != SHOAL_OK)
        return st;
    t->words = n->words;
    t->vectors = n->vectors;
    n->words = NULL;
    n->vectors = (struct table){0};
    st = add_facts(t, n, stats);
    if (st != SHOAL_OK) {
        shoal_net_close(t);
        return st;
    }
    *out = t;
    return SHOAL_OK;
}

shoal_status shoal_nextword_train(shoal_net **out, const shoal_corpus *corpus,
                                  const shoal_vectors *vectors,
                                  const struct shoal_nextword_opts *opts,
                                  struct shoal_net_stats *stats)
{
    struct shoal_net_stats own;
    struct nextword n;
    struct net_extra extra = {.epoch = on_epoch, .ctx = &n};
    bool leads = shoal_ranks_rank(opts->train.ranks) == 0;
    float *params = NULL;
    shoal_status st = nextword_open(&n, corpus, vectors, opts);

    *out = NULL;
    stats = stats ? stats : &own;
    if (st == SHOAL_OK) {
        params = mem_map(n.net->size * sizeof *params);
        st = params ? SHOAL_OK : SHOAL_ENOMEM;
    }
    if (st == SHOAL_OK && leads && opts->statistics)
        st = statistics_open(&n, opts->train.resume);
    st = shoal_ranks_agree(opts->train.ranks, st);
    if (st == SHOAL_OK)
        st = net_train(n.net, &n.source, &opts->train, &extra, params, false, stats);
    if (st == SHOAL_OK && leads && stats->steps == 0) /* resumed at its end: no epoch did it */
        st = fit(&n, params, opts->train.epochs);
    if (st == SHOAL_OK && leads) {
        st = give(out, &n, params, stats);
        params = NULL;
    }
    if (n.net)
        mem_unmap(params, n.net->size * sizeof *params);
    nextword_close(&n);
    return st;
}
