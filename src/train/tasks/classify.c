/* The task of text classes: positions are lines with labels. Tables: input rows, of words and of
 * the n-grams that the lines have, and output rows, of classes or of the nodes of a tree. */
#include "saved/saved.h"
#include "train/rows/rows.h"
#include "train/tasks/classify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_LEAST = 16,
    CHUNK_MOST = 1024,
    CHUNK_LANE = 8, /* lines between merges of lanes */
    CHUNKS_PER_EPOCH = 256,
    ROUND_LINES = 64, /* of a thread between rounds of ranks that wait for each other */
    POLL_LINES = 256, /* between polls of other ranks */
    POLL_BUSY = 64,
    HOT_ROWS = 32,    /* of each table, of which each thread has copies, */
    APART = 128,      /* until all threads have trained so many lines */
    ADD_THREADS = 8,  /* at most, whose changes of classes are added: see make_tables */
    RUN_SHIFT = 12,   /* lines are shuffled in runs of a 2^12th of them, */
    RUN_MOST = 64,    /* at most so many */
    MANY = 100000,    /* lines: fewer are learned more often, and at a higher rate, */
    VISITS = 100000,  /* so that so many are seen in all epochs together */
    EPOCHS_LEAST = 5,
    EPOCHS_MOST = 25,
};

/* ---- the plan ---- */

static size_t held_share(const struct run *r)
{
    if (r->data->valid_labelled)
        return 0;
    return (size_t)(r->opts->valid * (double)r->data->labelled->lines);
}

static shoal_status check_held(const struct run *r)
{
    static const char but[] = "but nothing is held out; want --valid or --valid-share";
    const struct train_opts *o = r->opts;

    if (r->data->valid_labelled || held_share(r) > 0)
        return SHOAL_OK;
    if (o->autotune > 0)
        return shoal_fail(SHOAL_EINVAL, "train: --autotune, %s", but);
    if (o->early_stop > 0)
        return shoal_fail(SHOAL_EINVAL, "train: --early-stop is %u, %s", o->early_stop, but);
    if (o->eval_every > 0)
        return shoal_fail(SHOAL_EINVAL, "train: --eval-every is %llu, %s",
                          (unsigned long long)o->eval_every, but);
    return SHOAL_OK;
}

static shoal_status check_data(const struct run *r)
{
    const shoal_labelled *l = r->data->labelled;

    if (shoal_vocab_size(l->labels) < 2)
        return shoal_fail(SHOAL_EINVAL, "train: all %zu lines have the label %s, want two labels or "
                          "more", l->lines, shoal_vocab_word(l->labels, 0));
    if (l->words == 0)
        return shoal_fail(SHOAL_EINVAL, "train: no word is there %llu times, as --min-count wants; "
                          "want it lower", (unsigned long long)r->opts->labelled.min_count);
    return check_held(r);
}

/* What lines are to the model; the plan needs it already, to know how many rows there are. */
static shoal_status prepare(struct run *r)
{
    const struct train_opts *o = r->opts;
    const shoal_labelled *l = r->data->labelled, *valid = r->data->valid_labelled;
    struct subwords how = {.minn = o->minn, .maxn = o->maxn, .buckets = o->buckets};
    struct classes_run *c = r->own = mem_array(1, sizeof *c);
    shoal_status st;

    if (!c)
        return SHOAL_ENOMEM;
    c->lines = l;
    c->held_lines = valid ? valid : l;
    st = line_rows_init(&c->features, l->words, o->word_ngrams, &how);
    if (st == SHOAL_OK)
        st = line_types_make(&c->types, &c->features, l->types, NULL);
    if (st == SHOAL_OK)
        st = line_rows_use(&c->features, &c->types, l, o->threads);
    if (st == SHOAL_OK && valid)
        st = line_types_make(&c->held_types, &c->features, valid->types, l->types);
    if (st != SHOAL_OK)
        return st;
    c->most = line_rows_most(&c->features, &c->types, l);
    if (valid) {
        size_t most = line_rows_most(&c->features, &c->held_types, valid);

        c->most = most > c->most ? most : c->most;
    }
    return SHOAL_OK;
}

double classes_usual_lr(const shoal_labelled *l)
{
    return l->lines < MANY ? 0.5 : 0.1;
}

static void tables_of(const struct run *r, struct table tables[2])
{
    const struct classes_run *c = r->own;
    size_t dim = r->opts->dim, classes = shoal_vocab_size(c->lines->labels);

    tables[CLASSES_IN] = (struct table){.rows = line_rows_all(&c->features), .width = dim,
                                        .stride = table_stride(dim)};
    tables[CLASSES_OUT] = (struct table){.rows = classify_out_rows(r->opts->loss, classes),
                                         .width = dim, .stride = table_stride(dim)};
}

static uint64_t work_bytes(const struct run *r, const struct table tables[2])
{
    const struct train_opts *o = r->opts;
    const struct classes_run *c = r->own;
    struct cadence cadence = classes_cadence(o, (struct row_length){0});
    size_t classes = shoal_vocab_size(c->lines->labels);
    uint64_t bytes = rows_workers(o) * (c->most * 2 * sizeof(float *) + classes * 2 * sizeof(float)) +
                     rows_bytes(o, &cadence, tables, 2, NULL);

    for (size_t t = 0; t < 2; t++)
        bytes += rows_workers(o) * (o->deterministic ? view_bytes(&tables[t], CHUNK_LANE * c->most)
                                                     : 2 * table_bytes(HOT_ROWS, o->dim));
    return bytes;
}

static shoal_status classes_plan(struct run *r, struct shoal_train_plan *plan)
{
    const struct train_opts *o = r->opts;
    const shoal_labelled *l = r->data->labelled;
    struct table tables[2];
    const struct classes_run *c;
    shoal_status st = opts_check_ranks(o, r->task->is.name);

    if (st == SHOAL_OK)
        st = check_data(r);
    if (st == SHOAL_OK)
        st = prepare(r);
    if (st != SHOAL_OK)
        return st;
    c = r->own;
    tables_of(r, tables);
    *plan = (struct shoal_train_plan){
        .examples = l->lines - held_share(r),
        .held_out = r->data->valid_labelled ? r->data->valid_labelled->lines : held_share(r),
        .types = l->words, .types_note = "words",
        .advice = "--dim, --word-ngrams or --buckets"};
    if (plan->examples == 0)
        return shoal_fail(SHOAL_EINVAL, "train: found no lines to learn from, want at least one");
    opts_lr(plan, o, classes_usual_lr(l), 1);
    snprintf(plan->model_note, sizeof plan->model_note, "%u dimensions of %zu words, %u n-grams, %zu "
             "classes", o->dim, l->words, c->features.used, shoal_vocab_size(l->labels));
    plan->parameters = (tables[0].rows + tables[1].rows) * o->dim;
    plan->model_bytes = table_size(&tables[0]) + table_size(&tables[1]);
    plan->work_bytes = work_bytes(r, tables) + (o->early_stop > 0 ? plan->model_bytes : 0);
    plan->rank_bytes = plan->model_bytes;
    plan->checkpoint_bytes = o->checkpoint ? plan->model_bytes / shoal_ranks_size(o->ranks) : 0;
    plan_sum(plan, o);
    return SHOAL_OK;
}

/* ---- opening ---- */

static double untrained_loss(const struct train_opts *o, size_t classes)
{
    switch (o->loss) {
    case SHOAL_NS: return (o->negative + 1) * log(2);
    case SHOAL_OVA: return (double)classes * log(2);
    default: return log((double)classes) + log(2);
    }
}

static void cut(struct run *r)
{
    size_t chunk = rows_chunk(r->rows->train, CHUNKS_PER_EPOCH, CHUNK_LEAST, CHUNK_MOST);

    r->rows->grain = (struct grain){.chunk = r->opts->deterministic ? CHUNK_LANE : chunk,
                                    .round = ROUND_LINES,
                                    .poll = POLL_LINES,
                                    .poll_busy = POLL_BUSY,
                                    .apart = APART,
                                    .hot = HOT_ROWS};
}

static shoal_status open_pretrained(struct run *r, struct classes_run *c)
{
    const char *path = r->opts->pretrained;
    shoal_status st = SHOAL_OK;

    c->from = r->data->vectors;
    if (path && !r->opts->resume) {
        st = shoal_vectors_open(&c->from_file, path);
        c->from = c->from_file;
    }
    if (st == SHOAL_OK && c->from && shoal_vectors_dim(c->from) != r->opts->dim)
        st = shoal_fail(SHOAL_EINVAL, "%s: a row has %zu numbers, want %u, as --dim says",
                        path ? path : "the vectors to start from", shoal_vectors_dim(c->from),
                        r->opts->dim);
    return st;
}

/* All lines move the rows of all classes the same way at first: to average what few threads did
 * apart, as folding does, would halve the rate. They meet often, so that the sum does not
 * overshoot. */
static shoal_status make_tables(struct run *r)
{
    struct table tables[2];
    shoal_status st;

    tables_of(r, tables);
    st = table_init(&r->rows->tables[CLASSES_IN], "in", tables[CLASSES_IN].rows, r->opts->dim);
    if (st == SHOAL_OK)
        st = table_init(&r->rows->tables[CLASSES_OUT], "out", tables[CLASSES_OUT].rows,
                        r->opts->dim);
    r->rows->tables[CLASSES_OUT].adds =
        !r->comm && !r->opts->deterministic && r->threads <= ADD_THREADS;
    r->rows->ntables = 2;
    return st;
}

static shoal_status classes_open(struct run *r)
{
    struct classes_run *c = r->own;
    const struct train_opts *o = r->opts;
    size_t classes = shoal_vocab_size(c->lines->labels);
    shoal_status st = classes_weights(&c->weight, c->lines, o->class_weight);

    r->lr = r->planned.lr;
    r->at.best_loss = untrained_loss(o, classes);
    r->gathers = true;
    if (o->checkpoint) /* nobody else asks for it, and it takes a look at every byte */
        r->identity.fingerprint = labelled_fingerprint(c->lines);
    rows_hold_out(r, c->lines->lines, held_share(r), 1);
    cut(r);
    if (st == SHOAL_OK)
        st = classify_init(&c->model, o, c->lines->labels, c->weight, r->kernel);
    if (st == SHOAL_OK)
        st = open_pretrained(r, c);
    return st == SHOAL_OK ? make_tables(r) : st;
}

static void classes_close(struct run *r)
{
    struct classes_run *c = r->own;

    if (!c)
        return;
    classify_fini(&c->model);
    line_types_fini(&c->types);
    line_types_fini(&c->held_types);
    line_rows_fini(&c->features);
    shoal_vectors_close(c->from_file);
    free(c->weight);
    free(c);
}

/* Rows of words that vectors know are theirs; all others are small random numbers. */
static shoal_status classes_start(struct run *r)
{
    struct classes_run *c = r->own;
    struct table *in = &r->rows->tables[CLASSES_IN];
    shoal_status st = SHOAL_OK;

    classify_start(in, c->lines->words, r->opts->seed);
    for (uint32_t i = 0; c->from && i < c->lines->words && st == SHOAL_OK; i++) {
        const char *word = shoal_vocab_word(c->lines->types, i);
        uint32_t known = shoal_vectors_find(c->from, word, strlen(word));

        if (known != SHOAL_NO_ID)
            st = shoal_vectors_row(c->from, known, in->at + i * in->stride);
    }
    shoal_vectors_close(c->from_file);
    c->from_file = NULL;
    c->from = NULL;
    return st;
}

static bool classes_traffic(const struct run *r, size_t table, float *out)
{
    const struct classes_run *c = r->own;
    const shoal_vocab *types = c->lines->types;

    for (uint32_t i = 0; table == CLASSES_IN && i < c->lines->words; i++)
        out[i] = (float)((double)shoal_vocab_count(types, i) / (double)shoal_vocab_total(types));
    return table == CLASSES_IN;
}

/* ---- training ---- */

struct line_worker {
    struct classify_worker *model;
    uint32_t *rows; /* [most] of a line */
};

static shoal_status classes_join(struct run *r, struct worker *w)
{
    const struct classes_run *c = r->own;
    struct line_worker *own = w->own = mem_array(1, sizeof *own);

    if (!own)
        return SHOAL_ENOMEM;
    own->rows = mem_array(c->most, sizeof *own->rows);
    if (!own->rows)
        return SHOAL_ENOMEM;
    return classify_join(&own->model, &c->model, &w->views[CLASSES_IN], &w->views[CLASSES_OUT],
                         c->most);
}

static void classes_leave(struct worker *w)
{
    struct line_worker *own = w->own;

    if (!own)
        return;
    classify_leave(own->model);
    free(own->rows);
    free(own);
}

/* Lines that stay together are few where there are few, and else enough for memory to be read in
 * order. */
static struct shuffle line_order(const struct run *r)
{
    size_t n = r->rows->train, run = n >> RUN_SHIFT;

    if (r->opts->in_order)
        return (struct shuffle){0};
    return shuffle_make(n, run < 1 ? 1 : run > RUN_MOST ? RUN_MOST : run, r->opts->seed,
                        r->at.epoch);
}

static void train_line(const struct run *r, struct worker *w, size_t line, float lr)
{
    const struct classes_run *c = r->own;
    const shoal_labelled *l = c->lines;
    struct line_worker *own = w->own;
    struct classify_line at = {.row = own->rows,
                               .label = l->label + l->label_start[line],
                               .labels = l->label_start[line + 1] - l->label_start[line],
                               .epoch = r->at.epoch,
                               .number = line};

    at.n = line_rows_line(&c->features, &c->types, l->type + l->start[line],
                         l->start[line + 1] - l->start[line], own->rows);
    classify_train(own->model, &at, lr, &w->done);
}

static void classes_train(struct run *r, struct worker *w, size_t from, size_t to, float lr)
{
    struct shuffle order = line_order(r);
    struct shuffle_walk lines = {.split = &r->rows->split, .order = &order, .i = from, .end = to};
    size_t line, stop;

    while (shuffle_next(&lines, &line, &stop))
        for (; line < stop; line++)
            train_line(r, w, line, lr);
}

static size_t classes_row_bytes(const struct run *r)
{
    return r->opts->dim * sizeof(float) * 2;
}

static const struct row_task classes_rows = {
    .start = classes_start,
    .cadence = classes_cadence,
    .traffic = classes_traffic,
    .join = classes_join,
    .leave = classes_leave,
    .train = classes_train,
    .row_bytes = classes_row_bytes,
};

/* ---- measuring ---- */

static void classes_figures(const struct run *r, const struct sums *s, enum shoal_figure_of of,
                            struct shoal_figures *out)
{
    if (r->opts->loss == SHOAL_SOFTMAX)
        figures_add(out, of, "accuracy", true, (double)s->right / (double)s->predictions);
}

/* ---- the result ---- */

static shoal_status copy_table(struct table *out, const struct table *in)
{
    shoal_status st = table_init(out, in->name, in->rows, in->width);

    if (st == SHOAL_OK)
        memcpy(out->at, in->at, table_bytes(in->rows, in->width));
    return st;
}

static shoal_status check_numbers(const struct run *r)
{
    for (size_t t = 0; t < r->rows->ntables; t++) {
        const struct table *table = &r->rows->tables[t];

        if (!isfinite(r->kernel->sumsq(table->at, table->rows * table->stride)))
            return shoal_fail(SHOAL_EDIVERGE, "train: diverged: a row is no number any more%s",
                              run_advice(r).text);
    }
    return SHOAL_OK;
}

static shoal_status classes_result(struct run *r, bool last, shoal_model **out)
{
    const struct classes_run *c = r->own;
    struct table in = {0}, out_rows = {0};
    struct classifier_parts parts = {.lines = c->lines, .features = &c->features,
                                     .loss = r->opts->loss,
                                     .in = last ? &r->rows->tables[CLASSES_IN] : &in,
                                     .out = last ? &r->rows->tables[CLASSES_OUT] : &out_rows};
    shoal_classifier *model = NULL;
    shoal_status st = check_numbers(r);

    if (st == SHOAL_OK && !last)
        st = copy_table(&in, &r->rows->tables[CLASSES_IN]);
    if (st == SHOAL_OK && !last)
        st = copy_table(&out_rows, &r->rows->tables[CLASSES_OUT]);
    if (st == SHOAL_OK)
        st = classifier_take(&model, &parts);
    table_fini(&in);
    table_fini(&out_rows);
    return st == SHOAL_OK ? model_take(out, r->task->kind, model) : st;
}

/* ---- options ---- */

static const struct shoal_choice losses[] = {
    [SHOAL_NS] = {"ns", "negative sampling"},
    [SHOAL_HS] = {"hs", "hierarchical softmax over a Huffman tree, for very many classes"},
    [SHOAL_SOFTMAX] = {"softmax", "one class of each line"},
    [SHOAL_OVA] = {"ova", "one against all others, for several labels of a line"},
    {0},
};

static const struct shoal_option output_options[] = {
    OUTPUT_OPTION("write the model here, in our own format; `shoal convert` makes fastText's of it"),
    {0},
};

static const struct shoal_own_type weight_words = {.words = "balanced"};

static const struct shoal_option model_options[] = {
    {"dim", .type = SHOAL_TYPE_COUNT, ON(dim), .decides = true, .arg = "N", .u = {1, 4096},
     .help = "numbers of a row"},
    {"loss", .type = SHOAL_TYPE_CHOICE, ON(loss), .decides = true, .arg = "NAME", .choices = losses,
     .help = "what is made small"},
    {"negative", .type = SHOAL_TYPE_COUNT, ON(negative), .decides = true, .arg = "N", .u = {1, 64},
     .help = "noise classes of a line (ns)"},
    {"word-ngrams", .type = SHOAL_TYPE_COUNT, ON(word_ngrams), .decides = true, .arg = "N",
     .u = {1, FEATURES_NGRAMS}, .help = "words that follow one another are features too, up to so "
     "many; 2 tells more than words alone"},
    {"minn", .type = SHOAL_TYPE_COUNT, ON(minn), .decides = true, .arg = "N",
     .u = {0, SUBWORDS_MAXN}, .help = "characters of n-grams of a word, at least"},
    {"maxn", .type = SHOAL_TYPE_COUNT, ON(maxn), .decides = true, .arg = "N",
     .u = {0, SUBWORDS_MAXN}, .help = "and at most", .zero = "no n-grams of characters"},
    {"buckets", .type = SHOAL_TYPE_COUNT, ON(buckets), .decides = true, .arg = "N",
     .u = {1, SUBWORDS_BUCKETS}, .help = "numbers that n-grams are hashed to"},
    {"class-weight", .type = SHOAL_TYPE_TEXT, ON(class_weight), .decides = true, .arg = "HOW",
     .help = "how much lines of each label count: balanced, so that rare labels count as much as "
     "common ones, or a list such as spam=5,ham=1", .own = &weight_words},
    {"pretrained", .type = SHOAL_TYPE_PATH, ON(pretrained), .arg = "FILE",
     .help = "begin with the vectors of words in this file, of any format"},
    {0},
};

static const struct shoal_option training_options[] = {
    {"epochs", .type = SHOAL_TYPE_COUNT, ON(epochs), .decides = true, .arg = "N",
     .u = {0, 1000000}, .help = "times through the lines",
     .zero = "5, and up to 25 where there are fewer than 20,000 lines"},
    LR_OPTION("0.1, of fewer than 100,000 lines 0.5"),
    LR_SCALING_OPTION,
    SCHEDULE_OPTION("how the rate goes on"),
    {"min-lr", .type = SHOAL_TYPE_REAL, ON(min_lr), .decides = true, .arg = "RATE", .d = {0, 1000},
     .help = "the learning rate at the end (linear)", .zero = "a 10,000th of the first"},
    DECAY_OPTION,
    SEED_OPTION,
    SHUFFLE_OPTION("take the lines in another order each epoch"),
    {0},
};

static const struct shoal_own_type metric_words = {.words = "p@1 f1 f1:"};

static const struct shoal_option tuning_options[] = {
    {"autotune", .type = SHOAL_TYPE_OWN, ON(autotune), .arg = "TIME", .own = &option_span_type,
     .help = "search options that were not given for so long (60s, 5m, 2h), and keep the model that "
     "does best on what is held out; Ctrl-C ends the search with the best so far; 0: no search"},
    {"autotune-metric", .type = SHOAL_TYPE_TEXT, ON(autotune_metric), .arg = "NAME",
     .help = "what is best: p@1, f1, or f1:LABEL of one label", .own = &metric_words},
    {0},
};

static const struct shoal_option held_options[] = {
    VALID_FILE_OPTION("hold these lines out, and report the validation loss and P@1"),
    VALID_SHARE_OPTION("the same for this share or percent of the lines"),
    VALID_AT_OPTION,
    {"eval-every", .type = SHOAL_TYPE_COUNT, ON(eval_every), .decides = true, .arg = "N",
     .u = {0, UINT64_MAX}, .help = "lines learned between two evaluations of what is held out",
     .zero = "after each epoch"},
    {"early-stop", .type = SHOAL_TYPE_COUNT, ON(early_stop), .decides = true, .arg = "N",
     .u = {0, 1000000}, .help = "early stopping: after so many evaluations without a better "
     "validation loss, whose best parameters are then kept", .zero = "never"},
    {0},
};

#define OF(member) SHOAL_FIELD(struct shoal_labelled_opts, member)

static const struct shoal_option reading_options[] = {
    {"label-prefix", .type = SHOAL_TYPE_TEXT, OF(label_prefix), .decides = true, .arg = "TEXT",
     .help = "words of a line that begin so are its labels"},
    {"text-column", .type = SHOAL_TYPE_TEXT, OF(text_column), .decides = true, .arg = "NAME",
     .help = "of a table with a header (CSV, TSV): the column of the text"},
    {"label-column", .type = SHOAL_TYPE_TEXT, OF(label_column), .decides = true, .arg = "NAME",
     .help = "and that of the label"},
    {"clean", .type = SHOAL_TYPE_FLAG, OF(clean), .decides = true,
     .help = "words are letters and digits, lower-cased, between all else; otherwise they are what "
     "stands between spaces, as it is"},
    {"min-count", .type = SHOAL_TYPE_COUNT, OF(min_count), .decides = true, .arg = "N",
     .u = {1, UINT64_MAX}, .help = "words that are there less often get no row"},
    {"min-count-label", .type = SHOAL_TYPE_COUNT, OF(min_count_label), .decides = true, .arg = "N",
     .u = {0, UINT64_MAX}, .help = "labels that are there less often are left out"},
    {0},
};

static const struct shoal_option_group groups[] = {
    {"Output", output_options, .at = 0},
    {"Model", model_options, .at = 0},
    {"Training", training_options, .at = 0},
    {"Held out", held_options, .at = 0},
    {"Search", tuning_options, .at = 0},
    {"Reading lines", reading_options, .at = offsetof(struct train_opts, labelled)},
    {"Machine", rows_machine_options, .at = 0},
    {"Checkpoints and metrics", rows_run_options, .at = 0},
    {"Several ranks", rows_ranks_options, .at = 0},
    {0},
};

static void classes_defaults(struct train_opts *o)
{
    task_common_defaults(o);
    o->epochs = 0;
    o->dim = 100;
    o->loss = SHOAL_SOFTMAX;
    o->negative = 5;
    o->word_ngrams = 1;
    o->autotune_metric = "p@1";
    o->buckets = 2000000;
    o->labelled = shoal_labelled_default();
    o->wire = SHOAL_WIRE_F32;
}

void classes_settle(struct train_opts *o, const struct shoal_sources *data)
{
    unsigned epochs = settle_epochs(data->labelled ? data->labelled->lines : 0, VISITS, EPOCHS_MOST);

    if (o->epochs == 0)
        o->epochs = epochs > EPOCHS_LEAST ? epochs : EPOCHS_LEAST;
}

static shoal_status classes_check(const shoal_options *o)
{
    const struct train_opts *at = options_values(o);
    struct line_reading reading = {0};
    shoal_status st;

    if (at->minn > at->maxn)
        return shoal_fail(SHOAL_EINVAL, "--minn is %u and --maxn %u, want --minn to be at most "
                          "--maxn", at->minn, at->maxn);
    if (at->maxn > 0 && at->minn == 0)
        return shoal_fail(SHOAL_EINVAL, "--minn is 0 and --maxn %u, want --minn to be 1 or more",
                          at->maxn);
    st = line_reading_make(&reading, &at->labelled);
    line_reading_fini(&reading);
    return st == SHOAL_OK ? task_file_check(o) : st;
}

const struct task task_classify = {
    .is = {.name = "classify",
           .summary = "classes of text: which labels does a line have?",
           .about =
               "Bags of words and n-grams (Joulin et al. 2016), as fastText's supervised mode has "
               "them: the mean of a line's rows says its class. Lines are fastText's, labels being "
               "the words that begin with __label__; or rows of a table (CSV, TSV) with a header. "
               "Options mean what they mean to fastText. The loss that is reported is that of each "
               "line before it was learned." GOES_ON,
           .operand = "INPUT",
           .operand_help = "lines with labels: files, folders, quoted globs, or - for standard "
                           "input; gzip, zstd, bzip2 and xz are recognised by content",
           .many = true,
           .groups = groups,
           .examples =
               (const struct shoal_example[]){
                   {"shoal train classify news.txt --valid test.txt -o news.shoal",
                    "one class of each line, and how well others are told"},
                   {"shoal train classify news.txt --word-ngrams 2 --lr 0.5 --epochs 10 -o "
                    "news.shoal",
                    "with pairs of words"},
                   {"shoal train classify mail.csv --text-column body --label-column folder "
                    "--clean -o mail.shoal",
                    "from a table"},
                   {0},
               },
           .unit = "lines"},
    .defaults = classes_defaults,
    .check = classes_check,
    .settle = classes_settle,
    .data = DATA_LABELLED,
    .kind = &kind_classify,
    .rows = &classes_rows,
    .tuning = &classes_tuning,
    .plan = classes_plan,
    .open = classes_open,
    .close = classes_close,
    .figures = classes_figures,
    .evaluate = classes_evaluate,
    .learned = classes_learned,
    .result = classes_result,
};
