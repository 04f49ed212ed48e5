/* The task of click models: a weight of each feature. */
#include "saved/saved.h"
#include "train/tasks/sparse.h"

#include <stdlib.h>

struct clicks {
    struct sparse is;
    struct binary *scores;
};

/* ---- training ---- */

static shoal_status clicks_join(struct run *r, struct worker *w)
{
    struct clicks *c = r->own;
    struct linear_worker *own = NULL;
    shoal_status st = linear_join(&own, &c->is.linear, &w->views[SPARSE_WEIGHTS],
                                  &w->views[SPARSE_BIAS]);

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

static const struct row_task clicks_way = {
    .cadence = sparse_cadence,
    .traffic = sparse_traffic,
    .join = clicks_join,
    .leave = clicks_leave,
    .train = clicks_train,
    .row_bytes = sparse_row_bytes,
};

/* ---- opening ---- */

static shoal_status clicks_plan(struct run *r, struct shoal_train_plan *plan)
{
    const struct train_opts *o = r->opts;
    const struct clicks_view *v = clicks_view(r->data->rows);

    if (v->classes > 2)
        return shoal_fail(SHOAL_EINVAL, "train: found rows of %u classes, want two", v->classes);
    return sparse_plan(r,
                       &(struct sparse_shape){1, linear_width(o->optimizer),
                                              linear_worker_bytes(o, (size_t)v->features + 1),
                                              "a weight of each feature"},
                       plan);
}

static shoal_status clicks_open(struct run *r)
{
    struct clicks *c = r->own = mem_array(1, sizeof *c);
    shoal_status st = c ? sparse_open(r, linear_width(r->opts->optimizer)) : SHOAL_ENOMEM;

    r->rows->way = &clicks_way;
    return st == SHOAL_OK ? binary_new(&c->scores, BINARY_LOGIT, BINARY_KEEP) : st;
}

static void clicks_close(struct run *r)
{
    struct clicks *c = r->own;

    if (!c)
        return;
    sparse_close(&c->is);
    binary_free(c->scores);
    free(c);
}

/* ---- measuring ---- */

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
    struct table *weights = &r->rows->tables[SPARSE_WEIGHTS];
    struct table *bias = &r->rows->tables[SPARSE_BIAS];
    struct shoal_binary_score score;
    const struct clicks_view *held = &c->is.held;
    float lr = sparse_lr(r);
    shoal_status st = SHOAL_OK;

    if (c->is.held_from == held->rows)
        return SHOAL_OK;
    binary_clear(c->scores);
    for (uint64_t i = c->is.held_from; i < held->rows && st == SHOAL_OK; i++)
        st = binary_add(c->scores,
                        (double)linear_margin(&c->is.linear, weights, bias, lr, held, i),
                        held->label[i], held->weight ? (double)held->weight[i] : 1);
    if (st == SHOAL_OK)
        st = binary_score(c->scores, &score);
    if (st == SHOAL_OK)
        add_held(r, &score);
    return st;
}

/* ---- the result ---- */

static shoal_status make_model(shoal_logreg **out, const struct run *r)
{
    const struct clicks *c = r->own;
    const struct table *weights = &r->rows->tables[SPARSE_WEIGHTS];
    const struct table *bias = &r->rows->tables[SPARSE_BIAS];
    float lr = sparse_lr(r), *all = mem_array((size_t)c->is.rows->features + 1, sizeof *all);
    float b = linear_weight(&c->is.linear, bias, 0, lr, true);
    shoal_status st = all ? sparse_check_weights(&b, 1) : SHOAL_ENOMEM;

    for (uint32_t i = 0; i < c->is.rows->features && st == SHOAL_OK; i++)
        all[i] = linear_weight(&c->is.linear, weights, i, lr, false);
    if (st == SHOAL_OK)
        st = sparse_check_weights(all, c->is.rows->features);
    if (st == SHOAL_OK)
        st = logreg_new(out, c->is.data, 1, all, &b);
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

/* ---- options ---- */

static const struct shoal_option model_options[] = {
    SPARSE_MODEL_OPTIONS,
    {"class-weight", .type = SHOAL_TYPE_REAL, ON(positive), .decides = true, .arg = "X",
     .d = {0, 1e9}, .help = "how much a row of class 1 counts beside one of class 0"},
    {0},
};

static const struct shoal_option_group logreg_groups[] = {
    {"Output", sparse_output_options, .at = 0},
    {"Model", model_options, .at = 0},
    {"Training", sparse_training_options, .at = 0},
    {"Held out", sparse_held_options, .at = 0},
    {"Machine", rows_machine_options, .at = 0},
    {"Checkpoints and metrics", rows_run_options, .at = 0},
    {"Several ranks", ranks_options, .at = 0},
    {"Reading rows", shoal_rows_options, .at = offsetof(struct train_opts, rows)},
    {0},
};

static shoal_status logreg_check(const shoal_options *o)
{
    const struct train_opts *at = options_values(o);

    if (!(at->positive > 0))
        return shoal_fail(SHOAL_EINVAL, "--class-weight is 0, want more");
    return sparse_check(o, "logreg");
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
    .defaults = sparse_defaults,
    .check = logreg_check,
    .data = DATA_ROWS,
    .engine = &rows_engine,
    .plan = clicks_plan,
    .open = clicks_open,
    .close = clicks_close,
    .evaluate = clicks_evaluate,
    .result = clicks_result,
};
