/* The next word: windows over a corpus and vectors, never all at once in memory.
 *
 *     words     | a b c d e f g | h i ... |     ids of the words that have a vector
 *     windows     a b c -> d                    length 3; none reaches over a sentence
 *                   b c d -> e
 *
 * Window i is found through the sentence it is in: firsts[s] is the first window of
 * sentence s. Some are held out, in blocks of windows that follow one another. */
#include "eval/eval.h"
#include "saved/saved.h"
#include "train/tasks/nextword.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT = 8,           /* one in so many windows loses its first words */
    SHORT_STREAM = 0x5407,
    ASKED_STREAM = 0xa5ced,
    HELD_LEAST = 100,   /* windows of a block that is held out: neighbours share words */
    FIT_FROM = 1 << 30, /* of the windows drawn: others than those that are asked */
};

/* ---- words that have a vector ---- */

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
        st = bytes_print(&lines, "%s %llu\n", word,
                         (unsigned long long)shoal_vocab_count(vocab, id));
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
    if (st == SHOAL_OK)
        vocab_set_rules(n->words, vocab_rules(vocab));
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

/* The same of the i-th window that is learned, or held out. */
static const uint32_t *window_of(const struct nextword *n, size_t i, bool valid)
{
    return window_at(n, valid ? split_held(&n->split, i) : split_learned(&n->split, i));
}

/* Some windows begin late, so that a text of a few words can be continued too. */
static size_t words_missing(const struct nextword *n, const struct net_take *take, uint32_t id)
{
    uint64_t random = rng_at(n->opts->seed, SHORT_STREAM + take->epoch, id);

    if (take->valid || n->length < 2 || random % SHORT != 0)
        return 0;
    return 1 + (size_t)(random / SHORT % (n->length - 1));
}

static shoal_status fill(const struct run *r, const struct net_take *take, float *x,
                         uint32_t *label, float *y)
{
    const struct nextword *n = r->own;
    size_t dim = n->vectors.width;

    (void)label;
    for (size_t i = 0; i < take->n; i++) {
        const uint32_t *words = window_of(n, take->ids[i], take->valid);
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
    const struct train_opts *o = n->opts;
    size_t dim = n->vectors.width;
    char spec[NET_SPEC];

    if (o->cell == CELL_LSTM)
        snprintf(spec, sizeof spec, "lstm length=%u width=%zu hidden=%u outputs=%zu", o->length,
                 dim, o->hidden, dim);
    else
        snprintf(spec, sizeof spec, "mlp inputs=%zu layers=%u outputs=%zu activation=relu loss=mse",
                 o->length * dim, o->hidden, dim);
    return net_new(&n->dense->net, spec);
}

static shoal_status read_words(struct nextword *n, const struct run *r)
{
    const shoal_corpus *corpus = r->data->corpus;
    const shoal_vocab *vocab = shoal_corpus_vocab(corpus);
    uint32_t *of = mem_array(shoal_vocab_size(vocab), sizeof *of);
    shoal_status st;

    n->map = mem_array(shoal_vocab_size(vocab), sizeof *n->map);
    st = of && n->map ? SHOAL_OK : SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = match_words(n, vocab, r->data->vectors, of);
    if (st == SHOAL_OK)
        st = copy_vectors(n, r->data->vectors, of);
    if (st == SHOAL_OK)
        st = read_corpus(n, corpus);
    free(of);
    if (st != SHOAL_OK)
        return st;
    n->prior = word_ranks_prior(n->words);
    return n->prior ? SHOAL_OK : SHOAL_ENOMEM;
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
        n->dense->net->ops->worker_free(a->worker);
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

    *a = (struct asked){.x = mem_array(some * n->dense->net->inputs, sizeof *a->x),
                        .y = mem_array(some * n->dense->net->outputs, sizeof *a->y),
                        .scores = mem_array(some * n->vectors.rows, sizeof *a->scores),
                        .ids = mem_array(some, sizeof *a->ids),
                        .target = mem_array(some, sizeof *a->target),
                        .above = mem_array(some, sizeof *a->above)};
    if (!a->x || !a->y || !a->scores || !a->ids || !a->target || !a->above)
        return SHOAL_ENOMEM;
    return n->dense->net->ops->worker_new(&a->worker, n->dense->net, some, 1);
}

/* The net answers `some` windows drawn by the seed, always the same ones, from number `from` on:
 * what it answers is in a->y, what the words are in a->target. */
static shoal_status answer(struct asked *a, const struct run *r, const float *params,
                           const struct net_take *take, size_t from)
{
    const struct nextword *n = r->own;
    size_t of = take->valid ? n->dense->valid : n->dense->train;
    shoal_status st;

    for (size_t i = 0; i < take->n; i++) {
        a->ids[i] = (uint32_t)(rng_at(n->opts->seed, ASKED_STREAM + take->valid, from + i) % of);
        a->target[i] = window_of(n, a->ids[i], take->valid)[n->length];
    }
    st = fill(r, take, a->x, NULL, a->y);
    return st == SHOAL_OK ? n->dense->net->ops->predict(a->worker, params, a->x, take->n, a->y)
                          : st;
}

struct word_share {
    double top[WORD_TOPS];
};

static void count_ranks(struct word_share *s, struct word_share *base, const uint32_t *above,
                        const uint32_t *target, size_t n)
{
    static const uint32_t tops[WORD_TOPS] = {1, 5, 10};

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < WORD_TOPS; k++) {
            s->top[k] += above[i] < tops[k];
            base->top[k] += target[i] < tops[k]; /* the commonest word has id 0 */
        }
}

/* How much the predicted vector says beside the counts, by windows that were learned. */
static shoal_status fit(struct run *r, const float *params, unsigned epoch)
{
    struct nextword *n = r->own;
    struct word_ranks ranks = {&n->vectors, n->prior, 0};
    struct asked a;
    shoal_status st = asked_init(&a, n);

    if (st == SHOAL_OK)
        st =
            answer(&a, r, params, &(struct net_take){a.ids, RANKS_AT_ONCE, false, epoch}, FIT_FROM);
    if (st == SHOAL_OK)
        st = word_ranks_fit(&ranks, a.y, a.target, RANKS_AT_ONCE, a.scores);
    n->weight = ranks.weight;
    asked_fini(&a, n);
    return st;
}

static shoal_status ask(struct run *r, bool valid, struct word_share *share,
                        struct word_share *base)
{
    const struct nextword *n = r->own;
    size_t all = valid && n->dense->valid == 0 ? 0 : (size_t)n->opts->asked;
    struct asked a;
    shoal_status st = asked_init(&a, n);

    for (size_t i = 0; i < all && st == SHOAL_OK; i += RANKS_AT_ONCE) {
        size_t some = all - i < RANKS_AT_ONCE ? all - i : RANKS_AT_ONCE;

        st = answer(&a, r, r->dense->params,
                    &(struct net_take){a.ids, some, valid, r->at.epoch + 1}, i);
        if (st == SHOAL_OK)
            st = word_ranks_above(&(struct word_ranks){&n->vectors, n->prior, n->weight}, a.y,
                                  a.target, some, a.scores, a.above);
        if (st == SHOAL_OK)
            count_ranks(share, base, a.above, a.target, some);
    }
    asked_fini(&a, n);
    return st;
}

static void add_words(struct run *r, enum shoal_figure_of of, const struct word_share *s)
{
    static const char *const names[WORD_TOPS] = {"word_top1", "word_top5", "word_top10"};

    for (size_t k = 0; k < WORD_TOPS; k++)
        figures_add(&r->held, of, names[k], true, s->top[k] / (double)r->opts->asked);
}

static shoal_status ask_all(struct run *r)
{
    struct nextword *n = r->own;
    struct word_share train = {0}, valid = {0}, base = {0}, unused = {0};
    shoal_status st = ask(r, false, &train, &unused);

    if (st == SHOAL_OK)
        st = ask(r, true, &valid, &base);
    add_words(r, SHOAL_OF_TRAINING, &train);
    if (n->dense->valid > 0)
        add_words(r, SHOAL_OF_VALIDATION, &valid);
    base = n->dense->valid ? base : unused;
    for (size_t k = 0; k < WORD_TOPS; k++)
        n->base[k] = base.top[k] / (double)n->opts->asked;
    return st;
}

/* After each epoch, on rank 0. */
static shoal_status nextword_evaluate(struct run *r)
{
    struct nextword *n = r->own;
    shoal_status st = fit(r, r->dense->params, r->at.epoch + 1);

    if (st == SHOAL_OK && n->opts->asked > 0)
        st = ask_all(r);
    return st == SHOAL_OK && n->statistics ? statistics_write(n, r) : st;
}

/* ---- what was learned ---- */

enum { SHOWN = 20, SHOWN_WORDS = 5, CONTEXT = 12 /* the last words of what goes before */ };

/* The likeliest words of scores [words], which become probabilities. */
static void likeliest(const struct nextword *n, float *scores, uint32_t *top)
{
    net_softmax_row(scores, n->vectors.rows, 0);
    for (size_t k = 0; k < SHOWN_WORDS; k++) {
        top[k] = SHOAL_NO_ID;
        for (uint32_t w = 0; w < n->vectors.rows; w++) {
            bool taken = false;

            for (size_t i = 0; i < k; i++)
                taken |= top[i] == w;
            if (!taken && (top[k] == SHOAL_NO_ID || scores[w] > scores[top[k]]))
                top[k] = w;
        }
    }
}

static void add_context(const struct nextword *n, struct learned *l, struct exhibit *e,
                        const uint32_t *words)
{
    size_t from = n->length > CONTEXT ? n->length - CONTEXT : 0;
    char text[LEARNED_WORD];
    size_t len = 0;

    for (size_t i = from; i < n->length && len + 1 < sizeof text; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i > from ? " " : "",
                                shoal_vocab_word(n->words, words[i]));
    exhibit_word(l, e, text);
}

/* What it says behind x [dim], and which word came. */
static void show_window(const struct nextword *n, struct learned *l, struct exhibit *e,
                        const uint32_t *words, const float *x, float *scores)
{
    uint32_t top[SHOWN_WORDS];

    for (size_t w = 0; w < n->vectors.rows; w++)
        scores[w] = n->prior[w] + n->weight * (float)vector_dot(x, n->vectors.at + w * n->vectors.stride,
                                                                n->vectors.width);
    likeliest(n, scores, top);
    for (size_t k = 0; k < SHOWN_WORDS && top[k] != SHOAL_NO_ID; k++) {
        exhibit_row(l, e);
        add_context(n, l, e, words);
        exhibit_word(l, e, shoal_vocab_word(n->words, words[n->length]));
        exhibit_word(l, e, shoal_vocab_word(n->words, top[k]));
        exhibit_number(e, (double)scores[top[k]]);
    }
}

static void add_shares(const struct run *r, struct learned *l)
{
    static const struct {
        const char *name, *head;
    } all[] = {{"word_top1", "next word is the first"}, {"word_top5", "among the first 5"},
               {"word_top10", "among the first 10"}};
    struct exhibit *e = learned_exhibit(l, EXHIBIT_FIGURES, "figures", "In figures");
    enum shoal_figure_of of = l->held ? SHOAL_OF_VALIDATION : SHOAL_OF_TRAINING;

    if (r->opts->asked == 0)
        return;
    for (size_t k = 0; k < WORD_TOPS; k++)
        exhibit_column(e, all[k].head, COLUMN_SHARE);
    exhibit_row(l, e);
    for (size_t k = 0; k < WORD_TOPS; k++)
        exhibit_number(e, shoal_figure(&r->held, of, all[k].name));
}

static shoal_status nextword_learned(struct run *r, struct learned *l)
{
    const struct nextword *n = r->own;
    struct exhibit *e;
    struct asked a;
    shoal_status st = asked_init(&a, n);

    l->held = n->dense->valid > 0;
    add_shares(r, l);
    e = learned_exhibit(l, EXHIBIT_ANSWERS, "next", "What comes next?");
    exhibit_note(e, "Some texts, the word that came, and the words held likeliest, with their "
                    "probability.");
    exhibit_column(e, "text", COLUMN_WORD);
    exhibit_column(e, "came", COLUMN_WORD);
    exhibit_column(e, "predicted", COLUMN_WORD);
    exhibit_column(e, "probability", COLUMN_SHARE);
    if (st == SHOAL_OK)
        st = answer(&a, r, r->dense->params,
                    &(struct net_take){a.ids, SHOWN, l->held, r->at.epoch}, 0);
    for (size_t i = 0; i < SHOWN && st == SHOAL_OK; i++)
        show_window(n, l, e, window_of(n, a.ids[i], l->held), a.y + i * n->dense->net->outputs,
                    a.scores);
    asked_fini(&a, n);
    return st;
}

/* ---- the task ---- */

static shoal_status nextword_plan(struct run *r, struct shoal_train_plan *plan)
{
    struct nextword *n = r->own = mem_array(1, sizeof *n);
    shoal_status st;

    if (!n)
        return SHOAL_ENOMEM;
    *n = (struct nextword){.opts = r->opts, .length = r->opts->length, .dense = r->dense};
    st = read_words(n, r);
    if (st == SHOAL_OK)
        st = make_net(n);
    if (st != SHOAL_OK)
        return st;
    n->split = opts_split(r->opts, n->windows, (size_t)(r->opts->valid * (double)n->windows),
                          HELD_LEAST);
    r->dense->train = n->windows - n->split.held;
    r->dense->valid = n->split.held;
    plan->work_bytes = RANKS_AT_ONCE * n->vectors.rows * sizeof(float);
    plan->shape[0] = n->length;
    plan->shape[1] = n->vectors.width;
    return net_plan(r, plan);
}

static shoal_status nextword_open(struct run *r)
{
    struct nextword *n = r->own;

    r->identity.fingerprint =
        shoal_corpus_fingerprint(r->data->corpus) ^
        bytes_hash(n->length, n->vectors.at, table_bytes(n->vectors.rows, n->vectors.width));
    return r->leads && r->opts->statistics ? statistics_open(n, r->opts->resume) : SHOAL_OK;
}

static void nextword_close(struct run *r)
{
    struct nextword *n = r->own;

    if (!n)
        return;
    shoal_vocab_free(n->words);
    table_fini(&n->vectors);
    mem_unmap(n->ids, n->room * sizeof *n->ids);
    free(n->sentences);
    free(n->map);
    free(n->prior);
    journal_close(n->statistics);
    free(n);
}

/* The words and a copy of their vectors. */
static shoal_status give_words(shoal_net *t, const struct nextword *n)
{
    shoal_status st = vocab_copy(&t->words, n->words);

    if (st == SHOAL_OK)
        st = table_init(&t->vectors, n->vectors.name, n->vectors.rows, n->vectors.width);
    if (st == SHOAL_OK)
        memcpy(t->vectors.at, n->vectors.at, table_size(&n->vectors));
    return st == SHOAL_OK ? saved_net_fact(t, "weight", "%.9g", (double)n->weight) : st;
}

static shoal_status nextword_give(struct run *r, shoal_net *t)
{
    struct nextword *n = r->own;
    shoal_status st = SHOAL_OK;

    if (n->weight == 0) /* resumed at its end: no epoch did it */
        st = fit(r, t->params, r->epochs);
    if (st == SHOAL_OK)
        st = give_words(t, n);
    return st == SHOAL_OK ? net_task_facts(t, r) : st;
}

static const struct net_task nextword_net = {
    .fill = fill, .give = nextword_give};

/* ---- options ---- */

static const struct shoal_choice cells[] = {
    [CELL_DENSE] = {"dense", "one hidden layer over all words of the window"},
    [CELL_LSTM] = {"lstm", "word by word, with a memory (Hochreiter and Schmidhuber 1997)"},
    {0},
};

static const struct shoal_option model_options[] = {
    {"vectors", .type = SHOAL_TYPE_PATH, ON(vectors), .arg = "FILE", .required = true,
     .help = "word vectors in any format"},
    {"length", .type = SHOAL_TYPE_COUNT, ON(length), .decides = true, .arg = "N", .u = {1, 1000},
     .help = "words of a window"},
    HIDDEN_OPTION(1, 65536, "units of the hidden layer, or of the cell", NULL),
    {"cell", .type = SHOAL_TYPE_CHOICE, ON(cell), .decides = true, .arg = "NAME", .choices = cells,
     .help = "how a window is read"},
    {0},
};

static const struct shoal_option statistics_options[] = {
    {"statistics", .type = SHOAL_TYPE_PATH, ON(statistics), .arg = "FILE", .written = true,
     .help = "write a line for each epoch here: CSV if the name ends so, else text"},
    {"asked", .type = SHOAL_TYPE_COUNT, ON(asked), .arg = "N", .u = {0, 1 << 30},
     .help = "windows, of each kind, whose word accuracy is measured after an epoch",
     .zero = "none"},
    VALID_OF_TEXT_OPTION("hold out this share of the windows"),
    VALID_AT_OPTION,
    {0},
};

static const struct shoal_option_group nextword_groups[] = {
    {"Output", net_output_options, .at = 0},
    {"Model", model_options, .at = 0},
    {"Statistics", statistics_options, .at = 0},
    NET_GROUPS(net_training_options),
    {"Reading text", shoal_token_options, .at = offsetof(struct train_opts, encode.vocab)},
    {"Vocabulary", shoal_vocab_options, .at = offsetof(struct train_opts, encode.vocab)},
    {0},
};

static void nextword_defaults(struct train_opts *o)
{
    task_net_defaults(o);
    o->length = 10;
    o->hidden = 256;
    o->asked = 2000;
    o->epochs = 5;
    o->batch = 256;
    o->schedule = SHOAL_INVERSE_TIME;
    o->valid = 0.005;
}

/* ---- the task ---- */

const struct task task_nextword = {
    .is = {.name = "nextword",
           .summary = "a window of words predicts the vector of the next",
           .about =
               "Windows over the corpus, as word vectors, go through a net that predicts the "
               "vector of the word behind them (squared error). Vectors are scaled to the same "
               "length; words without one are passed over; no window reaches over the end of a "
               "sentence. The model holds words and vectors, so that `shoal predict` needs "
               "nothing else." GOES_ON,
           .operand = "INPUT",
           .operand_help = ENCODED_TEXT_HELP,
           .many = true,
           .groups = nextword_groups,
           .examples =
               (const struct shoal_example[]){
                   {"shoal train nextword text.shoal --vectors vectors.bin --length 10 "
                    "--statistics statistics.csv -o next.shoal",
                    "a net over windows of ten words"},
                   {"shoal predict next.shoal \"the king of\" --generate 20", "continue a text"},
                   {0},
               },
           .unit = "windows"},
    .defaults = nextword_defaults,
    .check = task_file_check,
    .data = DATA_TEXT_AND_VECTORS,
    .kind = &kind_nextword,
    .net = &nextword_net,
    .plan = nextword_plan,
    .open = nextword_open,
    .close = nextword_close,
    .figures = net_task_figures,
    .evaluate = nextword_evaluate,
    .learned = nextword_learned,
    .result = net_task_result,
};
