/* The task of click models: a weight of each feature. */
#include "saved/saved.h"
#include "train/tasks/sparse.h"

#include <math.h>

/* ---- training ---- */

static shoal_status logreg_join(struct run *r, struct worker *w)
{
    const struct sparse *s = r->own;
    struct linear_worker *own = NULL;
    shoal_status st =
        linear_join(&own, &s->linear, &w->views[SPARSE_WEIGHTS], &w->views[SPARSE_BIAS]);

    w->own = own;
    return st;
}

static void logreg_leave(struct worker *w)
{
    linear_leave(w->own);
}

static void logreg_train(struct run *r, struct worker *w, size_t from, size_t to, float lr)
{
    struct shuffle order = sparse_order(r);

    linear_train(w->own, from, to, &order, lr, &w->done);
}

static size_t worker_bytes(const struct train_opts *o, size_t features, unsigned classes)
{
    (void)classes;
    return linear_worker_bytes(o, features);
}

static void weight_of(const struct linear_model *l, const struct table *t, uint32_t row, float lr,
                      bool bias, float *out)
{
    *out = linear_weight(l, t, row, lr, bias);
}

static double loss_of(const struct run *r, const struct clicks_view *rows, uint64_t row)
{
    const struct sparse *s = r->own;
    double margin = (double)linear_margin(&s->linear, &r->rows->tables[SPARSE_WEIGHTS],
                                          &r->rows->tables[SPARSE_BIAS], sparse_lr(r), rows, row);

    margin = rows->label[row] ? -margin : margin;
    return margin > 0 ? margin + log1p(exp(-margin)) : log1p(exp(margin));
}

static void probabilities_of(const struct run *r, const struct clicks_view *rows, uint64_t row,
                             float *out)
{
    const struct sparse *s = r->own;
    double margin = (double)linear_margin(&s->linear, &r->rows->tables[SPARSE_WEIGHTS],
                                          &r->rows->tables[SPARSE_BIAS], sparse_lr(r), rows, row);

    out[1] = (float)(1 / (1 + exp(-margin)));
    out[0] = 1 - out[1];
}

static const struct sparse_model model = {
    .rows = {.start = sparse_start,
             .cadence = sparse_cadence,
             .traffic = sparse_traffic,
             .join = logreg_join,
             .leave = logreg_leave,
             .train = logreg_train,
             .row_bytes = sparse_row_bytes},
    .note = "a weight of each feature",
    .worker_bytes = worker_bytes,
    .loss = loss_of,
    .probabilities = probabilities_of,
    .weights = weight_of,
};

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

static shoal_status logreg_evaluate(struct run *r)
{
    const struct sparse *s = r->own;
    const struct table *weights = &r->rows->tables[SPARSE_WEIGHTS];
    const struct table *bias = &r->rows->tables[SPARSE_BIAS];
    struct shoal_binary_score score;
    const struct clicks_view *held = &s->held;
    float lr = sparse_lr(r);
    shoal_status st = SHOAL_OK;

    if (s->nheld == 0)
        return SHOAL_OK;
    binary_clear(s->binary);
    for (uint64_t i = 0; i < s->nheld && st == SHOAL_OK; i++) {
        uint64_t row = sparse_held_row(s, i);

        st = binary_add(s->binary, (double)linear_margin(&s->linear, weights, bias, lr, held, row),
                        held->label[row], held->weight ? (double)held->weight[row] : 1);
    }
    if (st == SHOAL_OK)
        st = binary_score(s->binary, &score);
    if (st == SHOAL_OK)
        add_held(r, &score);
    return st;
}

/* ---- options ---- */

static const struct shoal_option model_options[] = {
    SPARSE_MODEL_OPTIONS,
    {"class-weight", .type = SHOAL_TYPE_REAL, ON(positive), .decides = true, .arg = "X",
     .d = {0, 1e9}, .help = "how much a row of class 1 counts beside one of class 0"},
    {0},
};

static const struct shoal_option_group groups[] = {SPARSE_GROUPS(model_options)};

static shoal_status logreg_check(const shoal_options *o)
{
    const struct train_opts *at = options_values(o);

    if (!(at->positive > 0))
        return shoal_fail(SHOAL_EINVAL, "--class-weight is 0, want more");
    return sparse_check(o);
}

/* ---- the task ---- */

const struct task task_logreg = {
    .is = {.name = "logreg",
           .summary = "logistic regression on click data: which rows are clicked?",
           .about =
               "A weight for each feature of sparse rows, features hashed into 2^bits slots. Rows "
               "are libsvm, Vowpal Wabbit, Criteo's TSV or a table (CSV, TSV), whose columns are "
               "recognised, and are encoded first; a file from "
               "`shoal encode --as clicks` starts at once. The loss that is reported is that of "
               "each row before it was learned, as Vowpal Wabbit's." GOES_ON,
           SPARSE_OPERAND(""),
           .groups = groups,
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
               }},
    .defaults = sparse_defaults,
    .settle = sparse_settle,
    .check = logreg_check,
    .data = DATA_ROWS,
    .kind = &kind_logreg,
    .rows = &model.rows,
    .plan = sparse_plan,
    .open = sparse_open,
    .close = sparse_close,
    .evaluate = logreg_evaluate,
    .verdict = sparse_verdict,
    .advise = sparse_advise,
    .learned = sparse_learned,
    .result = sparse_result,
};
