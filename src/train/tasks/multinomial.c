/* The task of models of many classes: weights of each feature, one for each class. */
#include "saved/saved.h"
#include "train/tasks/sparse.h"

/* ---- training ---- */

static shoal_status many_join(struct run *r, struct worker *w)
{
    const struct sparse *s = r->own;
    struct multinomial_worker *own = NULL;
    shoal_status st =
        multinomial_join(&own, &s->linear, &w->views[SPARSE_WEIGHTS], &w->views[SPARSE_BIAS]);

    w->own = own;
    return st;
}

static void many_leave(struct worker *w)
{
    multinomial_leave(w->own);
}

static void many_train(struct run *r, struct worker *w, size_t from, size_t to, float lr)
{
    struct shuffle order = sparse_order(r);

    multinomial_train(w->own, from, to, &order, lr, &w->done);
}

static double loss_of(const struct run *r, const struct clicks_view *rows, uint64_t row)
{
    const struct sparse *m = r->own;
    float z[SHOAL_CLICKS_CLASSES];

    multinomial_scores(&m->linear, &r->rows->tables[SPARSE_WEIGHTS],
                       &r->rows->tables[SPARSE_BIAS], sparse_lr(r), rows, row, z);
    return net_softmax_row(z, m->rows->classes, rows->label[row]);
}

static void probabilities_of(const struct run *r, const struct clicks_view *rows, uint64_t row,
                             float *out)
{
    const struct sparse *m = r->own;

    multinomial_scores(&m->linear, &r->rows->tables[SPARSE_WEIGHTS],
                       &r->rows->tables[SPARSE_BIAS], sparse_lr(r), rows, row, out);
    net_softmax_row(out, m->rows->classes, 0); /* makes probabilities of them */
}

static const struct sparse_model model = {
    .rows = {.start = sparse_start,
             .cadence = sparse_cadence,
             .traffic = sparse_traffic,
             .join = many_join,
             .leave = many_leave,
             .train = many_train,
             .row_bytes = sparse_row_bytes},
    .classes = true,
    .note = "a weight of each feature and class",
    .worker_bytes = multinomial_worker_bytes,
    .loss = loss_of,
    .probabilities = probabilities_of,
    .weights = multinomial_weights,
};

/* ---- measuring ---- */

static void add_held(struct run *r, double loss)
{
    const struct sparse *m = r->own;
    struct shoal_classes_score s;

    classes_score(m->classes, &s);
    figures_add(&r->held, SHOAL_OF_VALIDATION, "loss", false, loss);
    figures_add(&r->held, SHOAL_OF_VALIDATION, "accuracy", true, s.top1);
    figures_add(&r->held, SHOAL_OF_VALIDATION, "macro_f1", true, s.macro_f1);
    if (s.classes > 5)
        figures_add(&r->held, SHOAL_OF_VALIDATION, "top5", true, s.top5);
}

static shoal_status many_evaluate(struct run *r)
{
    const struct sparse *m = r->own;
    const struct clicks_view *held = &m->held;
    unsigned classes = m->rows->classes;
    float z[SHOAL_CLICKS_CLASSES], lr = sparse_lr(r);
    double loss = 0, all = 0;
    shoal_status st = SHOAL_OK;

    if (m->nheld == 0)
        return SHOAL_OK;
    classes_clear(m->classes);
    for (uint64_t i = 0; i < m->nheld && st == SHOAL_OK; i++) {
        uint64_t row = sparse_held_row(m, i);
        double weight = held->weight ? (double)held->weight[row] : 1;

        multinomial_scores(&m->linear, &r->rows->tables[SPARSE_WEIGHTS],
                           &r->rows->tables[SPARSE_BIAS], lr, held, row, z);
        st = classes_add(m->classes, z, held->label[row]);
        loss += weight * net_softmax_row(z, classes, held->label[row]);
        all += weight;
    }
    if (st == SHOAL_OK)
        add_held(r, loss / all);
    return st;
}

/* ---- options ---- */

static const struct shoal_option model_options[] = {SPARSE_MODEL_OPTIONS, {0}};

static const struct shoal_option_group groups[] = {SPARSE_GROUPS(model_options)};

static void many_defaults(struct train_opts *o)
{
    sparse_defaults(o);
    o->rows.classes = true;
}

const struct task task_multinomial = {
    .is = {.name = "multinomial",
           .summary = "logistic regression of many classes: which of them is a row?",
           .about =
               "A weight for each feature of sparse rows and each class, features hashed into "
               "2^bits slots. Labels are any texts or numbers, up to 254 different ones. Rows are "
               "libsvm, Vowpal Wabbit, Criteo's TSV or a table (CSV, TSV), and are encoded first; a file from `shoal encode --as "
               "clicks --classes` starts at once. The loss that is reported is that of each row "
               "before it was learned." GOES_ON,
           SPARSE_OPERAND(" --classes"),
           .groups = groups,
           .examples =
               (const struct shoal_example[]){
                   {"shoal train multinomial news.svm --valid test.svm -o model.shoal",
                    "one pass, and how well it tells other rows apart"},
                   {"shoal train multinomial news.shoal --epochs 5 --early-stop 2 --valid test.svm "
                    "-o model.shoal",
                    "several, until it gets no better"},
                   {0},
               }},
    .defaults = many_defaults,
    .settle = sparse_settle,
    .check = sparse_check,
    .data = DATA_ROWS,
    .kind = &kind_multinomial,
    .rows = &model.rows,
    .plan = sparse_plan,
    .open = sparse_open,
    .close = sparse_close,
    .evaluate = many_evaluate,
    .verdict = sparse_verdict,
    .advise = sparse_advise,
    .learned = sparse_learned,
    .result = sparse_result,
};
