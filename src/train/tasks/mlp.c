/* Perceptrons on samples: what is held out, how numbers are scaled, and the net that
 * fits the data. */
#include "eval/eval.h"
#include "saved/saved.h"
#include "train/dense/net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPLIT_STREAM = 0x5b117 };

struct mlp {
    const shoal_samples *data, *other; /* other: what is held out, or NULL */
    const struct train_opts *opts;
    uint32_t *ids; /* [data->n] those to learn from, then those held out */
    struct scaling in, out;
    float *units;  /* [targets] what 1 of a scaled target is; or NULL */
};

/* ---- samples ---- */

static void fill_targets(const struct mlp *m, const shoal_samples *s, uint32_t id, float *y)
{
    memcpy(y, s->y + id * s->targets, s->targets * sizeof *y);
    if (m->out.n)
        scaling_apply(&m->out, y);
}

static shoal_status fill(const struct run *r, const struct net_take *take, float *x,
                         uint32_t *label, float *y)
{
    const struct mlp *m = r->own;
    const shoal_samples *s = take->valid && m->other ? m->other : m->data;
    const uint32_t *ids = take->valid ? m->ids + r->dense->train : m->ids;

    for (size_t i = 0; i < take->n; i++) {
        uint32_t id = s == m->data ? ids[take->ids[i]] : take->ids[i];

        samples_row(s, id, &m->in, x + i * s->inputs);
        if (s->label)
            label[i] = s->label[id];
        else
            fill_targets(m, s, id, y + i * s->targets);
    }
    return SHOAL_OK;
}

/* ---- opening ---- */

static shoal_status scale(struct mlp *m, size_t train)
{
    shoal_status st;

    if (m->opts->raw) {
        st = scaling_init(&m->in, m->data->inputs);
        for (size_t j = 0; st == SHOAL_OK && j < m->in.n; j++)
            m->in.inverse[j] = 1;
        return st;
    }
    st = scaling_of(&m->in, m->data, m->ids, train);
    if (st == SHOAL_OK && m->data->targets)
        st = scaling_of_targets(&m->out, m->data, m->ids, train);
    return st;
}

static shoal_status check_data(const struct mlp *m)
{
    const shoal_samples *d = m->data, *o = m->other;

    if (!d->label && !d->y)
        return shoal_fail(SHOAL_EINVAL, "mlp: samples have neither classes nor targets");
    if (d->label && d->classes < 2)
        return shoal_fail(SHOAL_EINVAL, "mlp: all samples are of class %s, want two classes or more",
                          d->names ? d->names[0] : "0");
    if (o && (o->inputs != d->inputs || o->targets != d->targets))
        return shoal_fail(SHOAL_EINVAL, "mlp: what is held out has %zu inputs and %zu targets, want "
                          "%zu and %zu", o->inputs, o->targets, d->inputs, d->targets);
    for (size_t i = 0; o && o->label && i < o->n; i++)
        if (o->label[i] >= d->classes)
            return shoal_fail(SHOAL_EINVAL, "mlp: held-out sample %zu (from 0) has class %u, found "
                              "0 to %zu in the data to learn from", i, o->label[i],
                              d->classes - 1);
    return SHOAL_OK;
}

static shoal_status make_net(const struct mlp *m, struct net **net)
{
    static const char *const names[] = {"relu", "tanh", "sigmoid", "gelu"};
    const shoal_samples *d = m->data;
    char spec[NET_SPEC];
    int len = snprintf(spec, sizeof spec, "mlp inputs=%zu layers=%s outputs=%zu activation=%s "
                       "loss=%s", d->inputs, m->opts->layers, d->label ? d->classes : d->targets,
                       names[m->opts->activation], d->label ? "softmax" : "mse");

    if (len >= NET_SPEC)
        return shoal_fail(SHOAL_EINVAL, "mlp: layers are too many, want at most %d",
                          NET_MAX_LAYERS);
    return net_new(net, spec);
}

static shoal_status mlp_plan(struct run *r, struct shoal_train_plan *plan)
{
    struct mlp *m = r->own = mem_array(1, sizeof *m);
    shoal_status st;

    if (!m)
        return SHOAL_ENOMEM;
    *m = (struct mlp){.data = r->data->samples, .other = r->data->valid_samples, .opts = r->opts};
    st = check_data(m);
    if (st == SHOAL_OK)
        st = make_net(m, &r->dense->net);
    if (st == SHOAL_OK)
        st = net_split(r, &m->ids, m->data->n, m->other ? m->other->n : 0, SPLIT_STREAM);
    return st == SHOAL_OK ? net_plan(r, plan) : st;
}

/* ---- training ---- */

/* A model that goes on brings its scaling along: its weights mean nothing without. */
static void take_scaling(struct scaling *to, const struct scaling *from)
{
    if (from->n != to->n || to->n == 0)
        return;
    memcpy(to->mean, from->mean, to->n * sizeof *to->mean);
    memcpy(to->inverse, from->inverse, to->n * sizeof *to->inverse);
}

static void fill_units(const struct mlp *m)
{
    for (size_t o = 0; m->units && o < m->out.n; o++)
        m->units[o] = m->out.inverse[o] > 0 ? 1 / m->out.inverse[o] : 0;
}

static shoal_status mlp_start(struct run *r, float *params)
{
    struct mlp *m = r->own;
    const struct net *net = r->dense->net;
    const char *path = r->opts->start;
    shoal_net *old;
    shoal_status st = shoal_net_open(&old, path);

    if (st != SHOAL_OK)
        return st;
    if (strcmp(old->net->spec, net->spec) != 0)
        st = shoal_fail(SHOAL_EINVAL, "%s: is '%s', want '%s'", path, old->net->spec, net->spec);
    else
        memcpy(params, old->params, net->size * sizeof *params);
    if (st == SHOAL_OK) {
        take_scaling(&m->in, &old->in);
        take_scaling(&m->out, &old->out);
        fill_units(m);
    }
    shoal_net_close(old);
    return st;
}

/* Errors are told in the units of the data. */
static shoal_status find_units(struct mlp *m, struct net *net)
{
    if (m->out.n == 0)
        return SHOAL_OK;
    m->units = mem_array(m->out.n, sizeof *m->units);
    fill_units(m);
    net->units = m->units;
    return m->units ? SHOAL_OK : SHOAL_ENOMEM;
}

static shoal_status mlp_open(struct run *r)
{
    struct mlp *m = r->own;
    shoal_status st = scale(m, r->dense->train);

    r->identity.fingerprint = samples_fingerprint(m->data);
    return st == SHOAL_OK ? find_units(m, r->dense->net) : st;
}

/* R squared against the targets that were learned from, which are scaled to variance 1. */
static void mlp_figures(const struct run *r, const struct sums *s, enum shoal_figure_of of,
                        struct shoal_figures *out)
{
    const struct mlp *m = r->own;

    net_task_figures(r, s, of, out);
    if (m->out.n > 0)
        figures_add(out, of, "r2", false, 1 - s->loss / (double)s->predictions);
}

/* ---- is it any good? ---- */

enum { JUDGED_STEPS = 200 }; /* a run of fewer was not meant to learn much */
#define WORSE 1.02           /* times the loss of knowing the classes' shares, or the mean, alone */

/* The loss of answering every sample with the shares of the classes; of scaled targets with their
 * mean. */
static double base_loss(const struct run *r)
{
    const struct mlp *m = r->own;
    size_t n = r->dense->train;
    double *share = m->data->label ? mem_array(m->data->classes, sizeof *share) : NULL, sum = 0;

    if (!share)
        return m->out.n > 0 ? 1 : NAN;
    for (size_t i = 0; i < n; i++)
        share[m->data->label[m->ids[i]]] += 1.0 / (double)n;
    for (size_t c = 0; c < m->data->classes; c++)
        sum -= share[c] > 0 ? share[c] * log(share[c]) : 0;
    free(share);
    return sum;
}

static shoal_status mlp_verdict(struct run *r)
{
    double loss = shoal_figure(&r->last, SHOAL_OF_TRAINING, "loss"), base = base_loss(r);

    if (r->opts->steps > 0 || run_units(r) < JUDGED_STEPS || !(loss > WORSE * base + 0.01))
        return SHOAL_OK;
    return shoal_fail(SHOAL_EDIVERGE, "train: what was learned is worse than nothing: the loss on "
                      "the samples it learned from is %.4g, that of %s alone %.4g%s", loss,
                      r->dense->net->classes ? "the classes' shares" : "the mean", base,
                      run_advice(r).text);
}

static void mlp_close(struct run *r)
{
    struct mlp *m = r->own;

    if (!m)
        return;
    free(m->ids);
    scaling_fini(&m->in);
    scaling_fini(&m->out);
    free(m->units);
    free(m);
}

/* ---- the result ---- */

/* Grey pictures as they lie in IDX files: so that others can be shown to the net. */
static shoal_status add_shape(shoal_net *t, const shoal_samples *s)
{
    shoal_status st;

    if (!s->bytes || s->sides[1] == 0 || s->sides[2] != 0)
        return SHOAL_OK;
    st = saved_net_fact(t, "channels", "1");
    if (st == SHOAL_OK)
        st = saved_net_fact(t, "height", "%zu", s->sides[0]);
    return st == SHOAL_OK ? saved_net_fact(t, "width", "%zu", s->sides[1]) : st;
}

static shoal_status copy_scaling(struct scaling *to, const struct scaling *from)
{
    shoal_status st = from->n > 0 ? scaling_init(to, from->n) : SHOAL_OK;

    if (st == SHOAL_OK && from->n > 0) {
        memcpy(to->mean, from->mean, from->n * sizeof *to->mean);
        memcpy(to->inverse, from->inverse, from->n * sizeof *to->inverse);
    }
    return st;
}

/* The column of the answers in an array: so that others are read as it was. */
static shoal_status add_label(shoal_net *t, const struct shoal_samples_opts *o)
{
    if (!o->table.label || o->labels)
        return SHOAL_OK;
    return saved_net_fact(t, "label", "%s", o->table.label);
}

static shoal_status add_classes(shoal_net *t, const shoal_samples *s)
{
    shoal_status st = SHOAL_OK;
    char key[32];

    for (size_t i = 0; s->names && i < s->classes && st == SHOAL_OK; i++) {
        snprintf(key, sizeof key, "class.%zu", i);
        st = saved_net_fact(t, key, "%s", s->names[i]);
    }
    return st;
}

static shoal_status mlp_give(struct run *r, shoal_net *t)
{
    const struct mlp *m = r->own;
    shoal_status st = copy_scaling(&t->in, &m->in);

    if (st == SHOAL_OK)
        st = copy_scaling(&t->out, &m->out);
    if (st == SHOAL_OK)
        st = net_task_facts(t, r);
    if (st == SHOAL_OK && m->data->columns)
        st = columns_copy(&t->columns, m->data->columns);
    else if (st == SHOAL_OK)
        st = add_label(t, &m->opts->samples);
    if (st == SHOAL_OK)
        st = add_classes(t, m->data);
    return st == SHOAL_OK ? add_shape(t, m->data) : st;
}

/* Classes without names have numbers; for free(), also of a failure. */
static shoal_status class_names(const shoal_samples *s, const char ***names, char **numbers)
{
    enum { DIGITS = 24 };

    *names = mem_array(s->classes, sizeof **names);
    *numbers = s->names ? NULL : mem_array(s->classes, DIGITS);
    if (!*names || (!s->names && !*numbers))
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < s->classes; i++) {
        if (!s->names)
            snprintf(*numbers + i * DIGITS, DIGITS, "%zu", i);
        (*names)[i] = s->names ? s->names[i] : *numbers + i * DIGITS;
    }
    return SHOAL_OK;
}

/* Targets have the names of their columns; for free(), also of a failure. */
static shoal_status target_names(const shoal_samples *s, const char ***names, char **numbers)
{
    enum { DIGITS = 32 };
    const struct shoal_columns *c = s->columns;

    *names = mem_array(s->targets, sizeof **names);
    *numbers = mem_array(s->targets, DIGITS);
    if (!*names || !*numbers)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < s->targets; i++) {
        bool named = c && c->label < c->n && i < c->n - c->label && *c->at[c->label + i].name;

        snprintf(*numbers + i * DIGITS, DIGITS, "target %zu", i + 1);
        (*names)[i] = named ? c->at[c->label + i].name : *numbers + i * DIGITS;
    }
    return SHOAL_OK;
}

static shoal_status mlp_classes(struct run *r, struct learned *l, const char *const *names)
{
    struct predictions *p = NULL;
    shoal_status st = net_predictions(r, l, &p);

    if (st == SHOAL_OK)
        st = learned_classes(l, p, names);
    predictions_free(p);
    return st;
}

/* In the units of the data: y [n][targets]. */
static void unscale(const struct mlp *m, float *y, size_t n)
{
    for (size_t i = 0; i < n * m->out.n; i++)
        y[i] = y[i] * m->units[i % m->out.n] + m->out.mean[i % m->out.n];
}

static shoal_status mlp_numbers(struct run *r, struct learned *l, const char *const *names)
{
    const struct mlp *m = r->own;
    float *said = NULL, *truth = NULL;
    shoal_status st = net_answers(r, l, &said, &truth);

    if (st == SHOAL_OK) {
        unscale(m, said, l->examples);
        unscale(m, truth, l->examples);
        st = learned_numbers(l, said, truth, l->examples, m->data->targets, names);
    }
    free(said);
    free(truth);
    return st;
}

static shoal_status mlp_learned(struct run *r, struct learned *l)
{
    const struct mlp *m = r->own;
    const char **names = NULL;
    char *numbers = NULL;
    shoal_status st = m->data->label ? class_names(m->data, &names, &numbers)
                                     : target_names(m->data, &names, &numbers);

    if (st == SHOAL_OK)
        st = m->data->label ? mlp_classes(r, l, names) : mlp_numbers(r, l, names);
    free(names);
    free(numbers);
    return st;
}

static const struct net_task mlp_net = {
    .fill = fill, .start = mlp_start, .give = mlp_give};

/* ---- options ---- */

static bool read_layers(void *field, const char *text)
{
    size_t digits = strspn(text, "0123456789,"), len = strlen(text);

    *(const char **)field = strcmp(text, "none") == 0 ? "" : text;
    if (strcmp(text, "none") == 0 || strcmp(text, "auto") == 0)
        return true;
    return digits == len && len > 0 && len <= 200 && text[0] != ',' && text[len - 1] != ',' &&
           !strstr(text, ",,");
}

static void show_layers(char text[SHOAL_VALUE], const void *field)
{
    const char *layers = *(const char *const *)field;

    snprintf(text, SHOAL_VALUE, "%s", *layers ? layers : "none");
}

static const struct shoal_own_type layers_type = {read_layers, show_layers,
                                                  "widths such as 64 or 128,64, none, or auto",
                                                  "none auto"};

static const struct shoal_choice activations[] = {
    [SHOAL_RELU] = {"relu", "0 below 0"},
    [SHOAL_TANH] = {"tanh", "from -1 to 1"},
    [SHOAL_SIGMOID] = {"sigmoid", "from 0 to 1"},
    [SHOAL_GELU] = {"gelu", "smoothly 0 below 0 (Hendrycks and Gimpel 2016)"},
    [SHOAL_AUTO_ACTIVATION] = {"auto", "tanh with --layers auto and few samples or inputs, else relu"},
    {0},
};

static const struct shoal_option model_options[] = {
    {"layers", .type = SHOAL_TYPE_OWN, ON(layers), .decides = true, .arg = "WIDTHS",
     .own = &layers_type, .help = "units of each hidden layer, with commas between; auto: "
     "64,64, or 256,128 for many samples of many inputs"},
    {"activation", .type = SHOAL_TYPE_CHOICE, ON(activation), .decides = true, .arg = "NAME",
     .choices = activations, .help = "what units make of their sum"},
    {"regression", .type = SHOAL_TYPE_FLAG, ON(regression), .decides = true,
     .help = "predict numbers (squared error), not classes (cross-entropy)"},
    START_OPTION("begin with the parameters of this model"),
    {0},
};

static const struct shoal_option held_options[] = {
    VALID_FILE_OPTION("hold these samples out, and report how well they are predicted"),
    VALID_AUTO_SHARE_OPTION("without --valid: hold out this share of the samples, drawn by the "
                            "seed; auto: a tenth"),
    EARLY_STOP_OPTION,
    {"raw", .type = SHOAL_TYPE_FLAG, ON(raw), .decides = true,
     .help = "take numbers as they are, not scaled to mean 0 and variance 1"},
    {0},
};

static const struct shoal_option_group mlp_groups[] = {
    {"Output", net_output_options, .at = 0},
    {"Model", model_options, .at = 0},
    {"Samples", shoal_samples_options, .at = offsetof(struct train_opts, samples)},
    {"Reading tables", shoal_table_options, .at = offsetof(struct train_opts, samples.table)},
    {"Held out", held_options, .at = 0},
    NET_GROUPS(table_net_training_options),
    {0},
};

static void mlp_defaults(struct train_opts *o)
{
    task_net_defaults(o);
    o->epochs = o->batch = 0;
    o->layers = "auto";
    o->activation = SHOAL_AUTO_ACTIVATION;
    o->weight_decay = o->valid = AUTO_REAL;
    o->early_stop = AUTO_COUNT;
}

/* ---- what is left to it ---- */

enum {
    FEWEST = 50,        /* of which a tenth can be held out */
    FEW = 5000,         /* samples: with fewer steps are small and many, */
    SOME = 50000,       /* and a net learns them by heart unless it is held back */
    FEW_EPOCHS = 100,   /* at most; */
    FEW_VISITS = 150000,
    EPOCHS_LEAST = 20,  /* with many, */
    MANY_VISITS = 600000,
    WIDE_SAMPLES = 10000, /* so many samples of so many inputs fill a wider net */
    WIDE_INPUTS = 64,
};
#define FEW_RATE 0.005 /* of adam */
#define SOME_DECAY 0.3
#define WIDE_DECAY 0.1

/* Measured in docs/notes/nets.md. */
static void mlp_settle(struct train_opts *o, const struct shoal_sources *data)
{
    size_t n = data->samples ? data->samples->n : 0;
    bool wide = n >= WIDE_SAMPLES && data->samples->inputs >= WIDE_INPUTS;
    bool few = n < FEW, chosen = o->epochs == 0 && o->steps == 0;
    bool whole = strcmp(o->layers, "auto") == 0; /* layers, activation and decay suit each other */
    unsigned many = settle_epochs(n, MANY_VISITS, FEW_EPOCHS);

    if (chosen)
        o->epochs = few ? settle_epochs(n, FEW_VISITS, FEW_EPOCHS)
                        : many > EPOCHS_LEAST ? many : EPOCHS_LEAST;
    if (o->batch == 0)
        o->batch = few ? 16 : wide ? 128 : 64;
    if (whole)
        o->layers = wide ? "256,128" : "64,64";
    if (o->activation == SHOAL_AUTO_ACTIVATION)
        o->activation = whole && n < SOME && !wide ? SHOAL_TANH : SHOAL_RELU;
    if (o->lr <= 0 && few && o->optimizer == OPTIMIZER_ADAM)
        o->lr = FEW_RATE;
    if (o->weight_decay < 0)
        o->weight_decay = !whole || o->optimizer != OPTIMIZER_ADAM ? 0
                          : wide                                    ? WIDE_DECAY
                          : n < SOME                                ? SOME_DECAY
                                                                    : 0;
    if (o->valid < 0)
        o->valid = data->valid_samples ? 0 : 0.1;
    if (chosen && few && n >= FEWEST && o->early_stop == AUTO_COUNT)
        o->early_stop = o->epochs / 2; /* of few that are held out the loss goes up and down */
    settle_early_stop(o, data, n, chosen);
}

/* ---- the task ---- */

const struct task task_mlp = {
    .is = {.name = "mlp",
           .summary = "a perceptron: classes or numbers from tables",
           .about =
               "Dense layers with softmax and cross-entropy on top, or with squared error. Samples "
               "are rows of a table (CSV, TSV), of a NumPy array (.npy) or of IDX files as MNIST's. "
               "Numbers are scaled, categories are an input for each of their values; the model "
               "keeps what the columns are. By default the class is the column named label, class, "
               "target or y, else the last; of X-images-idx3-ubyte it is in X-labels-idx1-ubyte." GOES_ON,
           .operand = "DATA",
           .operand_help =
               "samples to learn from; gzip, zstd, bzip2 and xz are recognised by content",
           .groups = mlp_groups,
           .examples =
               (const struct shoal_example[]){
                   {"shoal train mlp spiral.csv --layers 64,64 --epochs 100 -o model.shoal",
                    "classes of points"},
                   {"shoal train mlp train-images-idx3-ubyte.gz --valid "
                    "t10k-images-idx3-ubyte.gz --layers 256 -o mnist.shoal",
                    "pictures of 28 x 28"},
                   {"shoal train mlp spiral.csv --ranks 4 --sync bounded:4 --global-batch 256 -o "
                    "model.shoal",
                    "by four processes"},
                   {0},
               },
           .unit = "samples"},
    .defaults = mlp_defaults,
    .settle = mlp_settle,
    .check = task_file_check,
    .data = DATA_SAMPLES,
    .kind = &kind_net,
    .net = &mlp_net,
    .plan = mlp_plan,
    .open = mlp_open,
    .close = mlp_close,
    .figures = mlp_figures,
    .verdict = mlp_verdict,
    .learned = mlp_learned,
    .result = net_task_result,
};
