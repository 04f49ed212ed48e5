/* The task of models of many classes: weights of each feature, one for each class. */
#include "saved/saved.h"
#include "train/tasks/sparse.h"

#include <stdlib.h>

struct many {
    struct sparse is;
    struct classes *scores;
};

static size_t width_of(const struct run *r)
{
    return clicks_view(r->data->rows)->classes * linear_width(r->opts->optimizer);
}

/* ---- training ---- */

static shoal_status many_join(struct run *r, struct worker *w)
{
    struct many *m = r->own;
    struct multinomial_worker *own = NULL;
    shoal_status st = multinomial_join(&own, &m->is.linear, &w->views[SPARSE_WEIGHTS],
                                       &w->views[SPARSE_BIAS]);

    w->own = own;
    return st;
}

static void many_leave(struct worker *w)
{
    multinomial_leave(w->own);
}

static void many_train(struct run *r, struct worker *w, size_t from, size_t to, float lr)
{
    (void)r;
    multinomial_train(w->own, from, to, lr, &w->done);
}

static const struct row_task many_way = {
    .cadence = sparse_cadence,
    .traffic = sparse_traffic,
    .join = many_join,
    .leave = many_leave,
    .train = many_train,
    .row_bytes = sparse_row_bytes,
};

/* ---- opening ---- */

static shoal_status many_plan(struct run *r, struct shoal_train_plan *plan)
{
    const struct clicks_view *v = clicks_view(r->data->rows);
    size_t features = (size_t)v->features + 1;

    return sparse_plan(
        r,
        &(struct sparse_shape){v->classes, width_of(r),
                               multinomial_worker_bytes(r->opts, features, v->classes),
                               "a weight of each feature and class"},
        plan);
}

static shoal_status many_open(struct run *r)
{
    struct many *m = r->own = mem_array(1, sizeof *m);
    shoal_status st = m ? sparse_open(r, width_of(r)) : SHOAL_ENOMEM;

    r->rows->way = &many_way;
    return st == SHOAL_OK ? classes_new(&m->scores, m->is.rows->classes) : st;
}

static void many_close(struct run *r)
{
    struct many *m = r->own;

    if (!m)
        return;
    sparse_close(&m->is);
    classes_free(m->scores);
    free(m);
}

/* ---- measuring ---- */

static void add_held(struct run *r, double loss)
{
    const struct many *m = r->own;
    struct shoal_classes_score s;

    classes_score(m->scores, &s);
    figures_add(&r->held, SHOAL_OF_VALIDATION, "loss", false, loss);
    figures_add(&r->held, SHOAL_OF_VALIDATION, "accuracy", true, s.top1);
    figures_add(&r->held, SHOAL_OF_VALIDATION, "macro_f1", true, s.macro_f1);
    if (s.classes > 5)
        figures_add(&r->held, SHOAL_OF_VALIDATION, "top5", true, s.top5);
}

static shoal_status many_evaluate(struct run *r)
{
    struct many *m = r->own;
    const struct clicks_view *held = &m->is.held;
    unsigned classes = m->is.rows->classes;
    float z[SHOAL_CLICKS_CLASSES], lr = sparse_lr(r);
    double loss = 0, all = 0;
    shoal_status st = SHOAL_OK;

    if (m->is.held_from == held->rows)
        return SHOAL_OK;
    classes_clear(m->scores);
    for (uint64_t i = m->is.held_from; i < held->rows && st == SHOAL_OK; i++) {
        double weight = held->weight ? (double)held->weight[i] : 1;

        multinomial_scores(&m->is.linear, &r->rows->tables[SPARSE_WEIGHTS],
                           &r->rows->tables[SPARSE_BIAS], lr, held, i, z);
        st = classes_add(m->scores, z, held->label[i]);
        loss += weight * softmax_row(z, classes, held->label[i]);
        all += weight;
    }
    if (st == SHOAL_OK)
        add_held(r, loss / all);
    return st;
}

/* ---- the result ---- */

static shoal_status many_result(struct run *r, bool last, shoal_model **out)
{
    const struct many *m = r->own;
    const struct clicks_view *v = m->is.rows;
    size_t n = v->classes;
    float *all = mem_array(((size_t)v->features + 1) * n, sizeof *all), lr = sparse_lr(r);
    float *bias = all ? all + v->features * n : NULL;
    shoal_logreg *model = NULL;
    shoal_status st = SHOAL_ENOMEM;

    (void)last;
    for (uint32_t i = 0; all && i < v->features; i++)
        multinomial_weights(&m->is.linear, &r->rows->tables[SPARSE_WEIGHTS], i, lr, false,
                            all + i * n);
    if (all) {
        multinomial_weights(&m->is.linear, &r->rows->tables[SPARSE_BIAS], 0, lr, true, bias);
        st = sparse_check_weights(all, (v->features + (size_t)1) * n);
    }
    if (st == SHOAL_OK)
        st = logreg_new(&model, m->is.data, v->classes, all, bias);
    free(all);
    return st == SHOAL_OK ? model_take(out, &kind_multinomial, model) : st;
}

/* ---- options ---- */

static const struct shoal_option model_options[] = {SPARSE_MODEL_OPTIONS, {0}};

static const struct shoal_option_group groups[] = {
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

static void many_defaults(struct train_opts *o)
{
    sparse_defaults(o);
    o->rows.classes = true;
}

static shoal_status many_check(const shoal_options *o)
{
    return sparse_check(o, "multinomial");
}

const struct task task_multinomial = {
    .is = {.name = "multinomial",
           .summary = "logistic regression of many classes: which of them is a row?",
           .about =
               "A weight for each feature of sparse rows and each class, features hashed into "
               "2^bits slots. Labels are whole numbers from 0 to 253. Rows are libsvm, Vowpal "
               "Wabbit, Criteo's TSV or CSV, and are encoded first; a file from `shoal encode --as "
               "clicks --classes` starts at once. The loss that is reported is that of each row "
               "before it was learned." GOES_ON,
           .operand = "INPUT",
           .operand_help =
               "rows: files, folders, quoted globs, or - for standard input; gzip and zstd are "
               "recognised by content; or one file from `shoal encode --as clicks --classes`",
           .many = true,
           .groups = groups,
           .examples =
               (const struct shoal_example[]){
                   {"shoal train multinomial news.svm --valid test.svm -o model.shoal",
                    "one pass, and how well it tells other rows apart"},
                   {"shoal train multinomial news.shoal --epochs 5 --early-stop 2 --valid test.svm "
                    "-o model.shoal",
                    "several, until it gets no better"},
                   {0},
               },
           .unit = "rows"},
    .defaults = many_defaults,
    .check = many_check,
    .data = DATA_ROWS,
    .engine = &rows_engine,
    .plan = many_plan,
    .open = many_open,
    .close = many_close,
    .evaluate = many_evaluate,
    .result = many_result,
};
