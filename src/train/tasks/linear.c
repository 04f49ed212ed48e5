/* The task of click models: positions are rows of click data. Tables: a packed row
 * of weight and optimizer state for each feature, hottest first, and one for the
 * bias. */
#include "saved/saved.h"
#include "train/rows/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHTS, OFFSET };

enum {
    HOT_FLOATS = 16384,  /* of features of which each thread has copies: the first that fit */
    LOOK_ROWS = 1024,    /* between looks at other ranks, or one batch */
    LOOK_BUSY = 256,
    CHUNK_LEAST = 64,
    CHUNK_MOST = 4096,
    CHUNKS_PER_EPOCH = 256,
    APART = 2048,        /* of all threads until their copies meet */
    APART_LANES = 512,   /* the same of lanes */
};

/* What workers did apart is added up. Of a weight that all of them moved the sum
 * overshoots, the further, the more steps each made: adagrad's and ftrl's rates fall
 * and forgive, those of sgd must leave time to meet. Measured: docs/logreg.md. */
#define APART_SGD 1.28   /* steps of all lanes times the rate */

struct clicks {
    const shoal_clicks *data;
    const struct clicks_view *rows;
    struct linear_model linear;
    struct clicks_view held; /* rows that are not learned from, by the ids of `data` */
    uint64_t held_from;      /* the first of them */
    uint32_t *held_ids;      /* [held.values]; NULL: those of `data` itself */
    struct binary *scores;
};

/* ---- the plan ---- */

/* Batches begin where a chunk does. */
static size_t whole_batches(size_t rows, uint64_t batch)
{
    return (size_t)((rows + batch - 1) / batch * batch);
}

static size_t held_share(const struct run *r)
{
    return r->data->valid_rows
               ? 0 : (size_t)(r->opts->valid * (double)clicks_view(r->data->rows)->rows);
}

/* Whoever asks for evaluations expects them to be made. */
static shoal_status check_held(const struct run *r)
{
    static const char but[] = "but nothing is held out; want rows, or a share of them, that are";
    const struct train_opts *o = r->opts;

    if ((r->data->valid_rows && clicks_view(r->data->valid_rows)->rows > 0) || held_share(r) > 0)
        return SHOAL_OK;
    if (o->early_stop > 0)
        return shoal_fail(SHOAL_EINVAL, "train: early_stop is %u, %s", o->early_stop, but);
    if (o->eval_every > 0)
        return shoal_fail(SHOAL_EINVAL, "train: eval_every is %llu, %s",
                          (unsigned long long)o->eval_every, but);
    return SHOAL_OK;
}

static shoal_status check_data(const struct run *r)
{
    const struct clicks_view *v = clicks_view(r->data->rows);

    if (v->rows - held_share(r) == 0)
        return shoal_fail(SHOAL_EINVAL, "train: found no rows to learn from, want at least one");
    if (v->classes > 2)
        return shoal_fail(SHOAL_EINVAL, "train: found rows of %u classes, want two", v->classes);
    if (r->data->valid_rows && clicks_view(r->data->valid_rows)->classes > v->classes)
        return shoal_fail(SHOAL_EINVAL, "train: what is held out has %u classes, the data %u",
                          clicks_view(r->data->valid_rows)->classes, v->classes);
    if (r->data->valid_rows && clicks_view(r->data->valid_rows)->bits != v->bits)
        return shoal_fail(SHOAL_EINVAL, "train: what is held out has 2^%u slots, the data 2^%u",
                          clicks_view(r->data->valid_rows)->bits, v->bits);
    return check_held(r);
}

static shoal_status clicks_plan(struct run *r, struct shoal_train_plan *plan)
{
    const struct train_opts *o = r->opts;
    const struct clicks_view *v = clicks_view(r->data->rows);
    size_t features = (size_t)v->features + 1, width = linear_width(o->optimizer);
    struct table tables[] = {{.rows = features, .width = width, .stride = width},
                             {.rows = 1, .width = width, .stride = width}};
    shoal_status st = opts_check_ranks(o, "logreg");

    if (st == SHOAL_OK)
        st = check_data(r);
    if (st != SHOAL_OK)
        return st;
    *plan = (struct shoal_train_plan){.examples = v->rows, .types = v->features,
                                      .types_note = "features",
                                      .parameters = features, .advice = "--bits or the features"};
    snprintf(plan->model_note, sizeof plan->model_note, "a weight of each feature%s",
             o->optimizer == OPTIMIZER_SGD ? "" : ", and its optimizer's state");
    plan->model_bytes = table_size(&tables[WEIGHTS]) + table_size(&tables[OFFSET]);
    plan->work_bytes = rows_workers(o) * linear_worker_bytes(o, features) +
                       rows_bytes(o, tables, 2, NULL) + features * sizeof(float);
    if (o->deterministic)
        plan->work_bytes += rows_workers(o) * view_bytes(&tables[WEIGHTS], features);
    else
        plan->work_bytes += rows_workers(o) * 2 * HOT_FLOATS * sizeof(float);
    if (r->data->valid_rows)
        plan->work_bytes += clicks_view(r->data->valid_rows)->values * sizeof(uint32_t) +
                            (sizeof(uint32_t) << v->bits);
    plan->rank_bytes = plan->model_bytes;
    plan->checkpoint_bytes = o->checkpoint ? plan->model_bytes / shoal_ranks_size(o->ranks) : 0;
    plan_sum(plan, o);
    return SHOAL_OK;
}

/* ---- what ranks change ---- */

enum {
    DUE_LINEAR = 32,     /* touches, over the rows of a batch */
    SWEEP_LINEAR = 2048, /* rounds in which all travels, over the square of the workers */
    SWEEP_LINEAR_LEAST = 8,
};

/* What linear models do to a weight adds up, so a row may be behind for longer;
 * in step, all that a batch touched travels after it. */
static struct cadence clicks_cadence(const struct train_opts *o)
{
    unsigned due = DUE_LINEAR, sharing = opts_sharing(o);
    unsigned sweep = SWEEP_LINEAR / sharing / sharing;

    while (due > 1 && (o->sync.policy == SHOAL_SYNC || due * o->batch > DUE_LINEAR))
        due /= 2;
    return (struct cadence){.due = due,
                            .sweep = sweep > SWEEP_LINEAR_LEAST ? sweep : SWEEP_LINEAR_LEAST};
}

/* The mean of n replicas moves a weight by an n-th of what they found apart. Ftrl's sums
 * are of one rate, which may not change with the ranks. */
static double first_lr(const struct train_opts *o)
{
    bool apart = o->sync.policy == SHOAL_AVERAGE && !o->deterministic &&
                 o->optimizer != OPTIMIZER_FTRL;
    double usual = o->optimizer == OPTIMIZER_SGD ? 0.01 : 0.05;

    return (apart ? opts_sharing(o) : 1) * (o->lr > 0 ? o->lr : usual);
}

/* ---- what is held out ---- */

/* Other data has ids of its own: by their slots they become ours, or that of
 * features nobody has seen. */
static shoal_status map_held(struct clicks *c, const struct clicks_view *other)
{
    uint32_t unseen = c->rows->features;
    uint32_t *id_of = mem_array((size_t)1 << other->bits, sizeof *id_of);

    c->held_ids = mem_array((size_t)other->values + 1, sizeof *c->held_ids);
    if (!id_of || !c->held_ids) {
        free(id_of);
        return SHOAL_ENOMEM;
    }
    for (size_t i = 0; i < (size_t)1 << other->bits; i++)
        id_of[i] = unseen;
    for (uint32_t i = 0; i < c->rows->features; i++)
        id_of[c->rows->slot[i]] = i;
    for (uint64_t i = 0; i < other->values; i++)
        c->held_ids[i] = id_of[other->slot[other->id[i]]];
    free(id_of);
    c->held = *other;
    c->held.id = c->held_ids;
    return SHOAL_OK;
}

static shoal_status hold_out(struct run *r)
{
    struct clicks *c = r->own;

    r->rows->all = (size_t)c->rows->rows;
    r->rows->train = r->rows->all - held_share(r);
    c->held = *c->rows;
    c->held_from = r->rows->train;
    if (!r->data->valid_rows)
        return SHOAL_OK;
    c->held_from = 0;
    return map_held(c, clicks_view(r->data->valid_rows));
}

/* ---- opening ---- */

/* Rows of a lane between two meetings: it may not depend on the threads. */
static size_t lane_rows(const struct train_opts *o)
{
    double steps = APART_LANES;

    if (o->optimizer == OPTIMIZER_SGD)
        steps = fmin(steps, APART_SGD / (double)(float)first_lr(o));
    return (size_t)fmax(steps / o->lanes, 1) * o->batch;
}

static void cut(struct run *r)
{
    const struct train_opts *o = r->opts;
    size_t chunk = chunk_between(r->rows->train, CHUNKS_PER_EPOCH, CHUNK_LEAST, CHUNK_MOST);

    r->rows->grain =
        (struct grain){.chunk = o->deterministic ? lane_rows(o) : whole_batches(chunk, o->batch),
                       .round = o->batch, .apart = APART,
                       .look = whole_batches(LOOK_ROWS, o->batch),
                       .look_busy = whole_batches(LOOK_BUSY, o->batch),
                       .hot = HOT_FLOATS / (uint32_t)linear_width(o->optimizer)};
}

static const struct row_task clicks_way;

/* What ftrl sums up is of one rate, and falls by itself. */
static void set_run(struct run *r, const struct clicks *c)
{
    const struct train_opts *o = r->opts;

    r->rows->way = &clicks_way;
    r->lr = first_lr(o);
    if (o->optimizer == OPTIMIZER_FTRL)
        r->schedule = SHOAL_CONSTANT;
    r->batch = o->batch;
    r->gathers = true; /* what adds up may not be apart for long */
    r->at.best_loss = log(2);
    if (o->checkpoint) /* nobody else asks for it, and it takes a look at every byte */
        r->identity.fingerprint = shoal_clicks_fingerprint(c->data);
}

static shoal_status clicks_open(struct run *r)
{
    struct clicks *c = r->own = mem_array(1, sizeof *c);
    size_t width = linear_width(r->opts->optimizer);
    shoal_status st;

    if (!c)
        return SHOAL_ENOMEM;
    c->data = r->data->rows;
    c->rows = clicks_view(c->data);
    set_run(r, c);
    st = hold_out(r);
    cut(r);
    linear_init(&c->linear, r->opts, c->rows, r->kernel);
    if (st == SHOAL_OK)
        st = table_init_packed(&r->rows->tables[WEIGHTS], "weights",
                               (size_t)c->rows->features + 1, width);
    if (st == SHOAL_OK)
        st = table_init_packed(&r->rows->tables[OFFSET], "bias", 1, width);
    r->rows->ntables = 2;
    return st == SHOAL_OK ? binary_new(&c->scores, BINARY_LOGIT, BINARY_KEEP) : st;
}

static void clicks_close(struct run *r)
{
    struct clicks *c = r->own;

    if (!c)
        return;
    free(c->held_ids);
    binary_free(c->scores);
    free(c);
}

static bool clicks_traffic(const struct run *r, size_t table, float *out)
{
    const struct clicks *c = r->own;

    for (uint32_t i = 0; table == WEIGHTS && i < c->rows->features; i++)
        out[i] = (float)((double)c->rows->count[i] / (double)c->rows->counted);
    return table == WEIGHTS;
}

/* ---- training ---- */

static shoal_status clicks_join(struct run *r, struct worker *w)
{
    struct clicks *c = r->own;
    struct linear_worker *own = NULL;
    shoal_status st = linear_join(&own, &c->linear, &w->views[WEIGHTS], &w->views[OFFSET]);

    w->own = own;
    return st;
}

static void clicks_leave(struct worker *w)
{
    linear_leave(w->own);
}

static void clicks_train(struct run *r, struct worker *w, size_t from, size_t to, float lr)
{
    (void)r;
    linear_train(w->own, from, to, lr, &w->done);
}

/* ---- measuring ---- */

static float lr_now(const struct run *r)
{
    return run_lr(r, r->at.place);
}

static void add_held(struct run *r, const struct shoal_binary_score *s)
{
    figures_add(&r->held, SHOAL_OF_VALIDATION, "loss", false, s->log_loss);
    figures_add(&r->held, SHOAL_OF_VALIDATION, "auc", false, s->auc);
    figures_add(&r->held, SHOAL_OF_VALIDATION, "accuracy", true, s->accuracy);
    figures_add(&r->held, SHOAL_OF_VALIDATION, "calibration", false, s->calibration);
    figures_add(&r->held, SHOAL_OF_VALIDATION, "brier", false, s->brier);
    figures_add(&r->held, SHOAL_OF_VALIDATION, "base_rate", true, s->base_rate);
    figures_add(&r->held, SHOAL_OF_VALIDATION, "examples", false, (double)s->examples);
}

static shoal_status clicks_evaluate(struct run *r)
{
    struct clicks *c = r->own;
    struct table *weights = &r->rows->tables[WEIGHTS], *bias = &r->rows->tables[OFFSET];
    struct shoal_binary_score score;
    float lr = lr_now(r);
    shoal_status st = SHOAL_OK;

    if (c->held_from == c->held.rows)
        return SHOAL_OK;
    binary_clear(c->scores);
    for (uint64_t i = c->held_from; i < c->held.rows && st == SHOAL_OK; i++)
        st = binary_add(c->scores,
                        (double)linear_margin(&c->linear, weights, bias, lr, &c->held, i),
                        c->held.label[i], c->held.weight ? (double)c->held.weight[i] : 1);
    if (st == SHOAL_OK)
        st = binary_score(c->scores, &score);
    if (st == SHOAL_OK)
        add_held(r, &score);
    return st;
}

static size_t clicks_row_bytes(const struct run *r)
{
    return r->rows->tables[WEIGHTS].width * sizeof(float) * 2;
}

/* ---- the result ---- */

/* Losses show what diverges, but not the steps behind the last of them. */
static shoal_status check_weight(float weight)
{
    return isfinite(weight) ? SHOAL_OK
                            : shoal_fail(SHOAL_EINVAL, "train: diverged: a weight is no number "
                                         "any more; lower --lr");
}

static shoal_status make_model(shoal_logreg **out, const struct run *r)
{
    const struct clicks *c = r->own;
    const struct table *weights = &r->rows->tables[WEIGHTS], *bias = &r->rows->tables[OFFSET];
    float lr = lr_now(r), *all = mem_array((size_t)c->rows->features + 1, sizeof *all);
    float b = linear_weight(&c->linear, bias, 0, lr, true);
    shoal_status st = all ? check_weight(b) : SHOAL_ENOMEM;

    for (uint32_t i = 0; i < c->rows->features && st == SHOAL_OK; i++) {
        all[i] = linear_weight(&c->linear, weights, i, lr, false);
        st = check_weight(all[i]);
    }
    if (st == SHOAL_OK)
        st = logreg_new(out, c->data, all, b);
    free(all);
    return st;
}

static shoal_status clicks_result(struct run *r, bool last, shoal_model **out)
{
    shoal_logreg *model = NULL;
    shoal_status st = make_model(&model, r);

    (void)last;
    return st == SHOAL_OK ? model_take(out, &kind_logreg, model) : st;
}

static const struct row_task clicks_way = {
    .cadence = clicks_cadence,
    .traffic = clicks_traffic,
    .join = clicks_join,
    .leave = clicks_leave,
    .train = clicks_train,
    .row_bytes = clicks_row_bytes,
};

/* ---- options ---- */

/* From OPTIMIZER_FTRL on. */
static const struct shoal_choice optimizers[] = {
    {"ftrl", "FTRL-Proximal (McMahan et al. 2013)"},
    {"adagrad", "smaller ones where there were many (Duchi et al. 2011)"},
    {"sgd", "plain steps"},
    {0},
};

static const struct shoal_option output_options[] = {OUTPUT_OPTION("write the model here"), {0}};

static const struct shoal_option model_options[] = {
    OPTIMIZER_OPTION(optimizers, OPTIMIZER_FTRL, "how a weight moves"),
    {"l1", .type = SHOAL_TYPE_REAL, ON(l1), .decides = true, .arg = "X", .d = {0, 1e9},
     .help = "pull the weights of each row's features to 0, which makes many of them 0"},
    {"l2", .type = SHOAL_TYPE_REAL, ON(l2), .decides = true, .arg = "X", .d = {0, 1e9},
     .help = "the same in proportion to their size"},
    {"beta", .type = SHOAL_TYPE_REAL, ON(beta), .decides = true, .arg = "X", .d = {0, 1e9},
     .help = "added to the root of summed squares (adagrad, ftrl): smooths the first steps"},
    {"class-weight", .type = SHOAL_TYPE_REAL, ON(positive), .decides = true, .arg = "X",
     .d = {0, 1e9}, .help = "how much a row of class 1 counts beside one of class 0"},
    {0},
};

static const struct shoal_option training_options[] = {
    EPOCHS_OPTION,
    BATCH_OPTION(65536, "rows of a step, whose gradients are averaged"),
    LR_OPTION("0.05 for ftrl and adagrad, 0.01 for sgd"),
    SCHEDULE_OPTION("how the rate goes on; that of ftrl falls by itself"),
    DECAY_OPTION,
    {0},
};

static const struct shoal_option held_options[] = {
    VALID_FILE_OPTION("hold these rows out, and report how well they are predicted"),
    VALID_SHARE_OPTION("the same for this share or percent of the rows, at their end"),
    {"eval-every", .type = SHOAL_TYPE_COUNT, ON(eval_every), .decides = true, .arg = "N",
     .u = {0, UINT64_MAX}, .help = "look at them each time so many rows were learned",
     .zero = "after each epoch"},
    {"early-stop", .type = SHOAL_TYPE_COUNT, ON(early_stop), .decides = true, .arg = "N",
     .u = {0, 1000000}, .help = "stop when so many looks brought no better log-loss",
     .zero = "never"},
    {0},
};

static const struct shoal_option_group logreg_groups[] = {
    {"Output", output_options, .at = 0},
    {"Model", model_options, .at = 0},
    {"Training", training_options, .at = 0},
    {"Held out", held_options, .at = 0},
    {"Machine", rows_machine_options, .at = 0},
    {"Checkpoints and metrics", rows_run_options, .at = 0},
    {"Several ranks", ranks_options, .at = 0},
    {"Reading rows", shoal_rows_options, .at = offsetof(struct train_opts, rows)},
    {0},
};

static void logreg_defaults(struct train_opts *o)
{
    task_common_defaults(o);
    o->batch = o->epochs = 1;
}

static shoal_status logreg_check(const shoal_options *o)
{
    const struct train_opts *at = options_values(o);

    if (!(at->beta > 0) && at->optimizer != OPTIMIZER_SGD)
        return shoal_fail(SHOAL_EINVAL, "--beta is 0, want more, or --optimizer sgd");
    if (!(at->positive > 0))
        return shoal_fail(SHOAL_EINVAL, "--class-weight is 0, want more");
    if (at->local_input)
        return shoal_fail(SHOAL_EINVAL,
                          "--local-input does not go with logreg, whose features are numbered over "
                          "all rows; want inputs that every rank can read");
    return task_file_check(o);
}

/* ---- the task ---- */

const struct task task_logreg = {
    .is = {.name = "logreg",
           .summary = "logistic regression on click data: which rows are clicked?",
           .about =
               "A weight for each feature of sparse rows, features hashed into 2^bits slots. Rows "
               "are libsvm, Vowpal Wabbit, Criteo's TSV or CSV, and are encoded first; a file from "
               "`shoal encode --as clicks` starts at once. The loss that is reported is that of "
               "each row before it was learned, as Vowpal Wabbit's." GOES_ON,
           .operand = "INPUT",
           .operand_help =
               "rows: files, folders, quoted globs, or - for standard input; gzip and zstd are "
               "recognised by content; or one file from `shoal encode --as clicks`",
           .many = true,
           .groups = logreg_groups,
           .examples =
               (const struct shoal_example[]){
                   {"shoal train logreg clicks.tsv --valid test.tsv -o model.shoal",
                    "one pass, and how well it predicts other rows"},
                   {"shoal train logreg clicks.shoal --epochs 5 --l1 1 --early-stop 2 --valid "
                    "test.tsv -o model.shoal",
                    "several, until it gets no better, with few weights"},
                   {"shoal train logreg clicks.shoal --ranks 4 --sync sync --batch 1000 -o "
                    "model.shoal",
                    "by four processes, in step"},
                   {0},
               },
           .unit = "rows"},
    .defaults = logreg_defaults,
    .check = logreg_check,
    .data = DATA_ROWS,
    .engine = &rows_engine,
    .plan = clicks_plan,
    .open = clicks_open,
    .close = clicks_close,
    .evaluate = clicks_evaluate,
    .result = clicks_result,
};
