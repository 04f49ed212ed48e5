/* Perceptrons on samples: what is held out, how numbers are scaled, and the net that
 * fits the data. */
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
        return shoal_fail(SHOAL_EINVAL, "mlp: all samples are of class 0, want two classes or more");
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
    if (st == SHOAL_OK && old->in.n == m->in.n) {
        memcpy(m->in.mean, old->in.mean, m->in.n * sizeof(float));
        memcpy(m->in.inverse, old->in.inverse, m->in.n * sizeof(float));
    }
    shoal_net_close(old);
    return st;
}

static shoal_status mlp_open(struct run *r)
{
    struct mlp *m = r->own;

    r->identity.fingerprint = samples_fingerprint(m->data);
    return scale(m, r->dense->train);
}

static void mlp_close(struct run *r)
{
    struct mlp *m = r->own;

    if (!m)
        return;
    free(m->ids);
    scaling_fini(&m->in);
    scaling_fini(&m->out);
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

/* The column of the answers, unless it is the last: so that files like those it learned from are
 * read as they were. */
static shoal_status add_label(shoal_net *t, const struct shoal_samples_opts *o)
{
    if (o->label == SHOAL_LAST_COLUMN || o->labels)
        return SHOAL_OK;
    return saved_net_fact(t, "label", "%u", o->label + 1);
}

static shoal_status mlp_give(struct run *r, shoal_net *t)
{
    const struct mlp *m = r->own;
    shoal_status st = copy_scaling(&t->in, &m->in);

    if (st == SHOAL_OK)
        st = copy_scaling(&t->out, &m->out);
    if (st == SHOAL_OK)
        st = net_task_facts(t, r);
    if (st == SHOAL_OK)
        st = add_label(t, &m->opts->samples);
    return st == SHOAL_OK ? add_shape(t, m->data) : st;
}

static const struct net_task mlp_net = {
    .fill = fill, .start = mlp_start, .give = mlp_give};

/* ---- options ---- */

static bool read_layers(void *field, const char *text)
{
    size_t digits = strspn(text, "0123456789,"), len = strlen(text);

    *(const char **)field = strcmp(text, "none") == 0 ? "" : text;
    return strcmp(text, "none") == 0 || (digits == len && len > 0 && len <= 200 && text[0] != ',' &&
                                         text[len - 1] != ',' && !strstr(text, ",,"));
}

static void show_layers(char text[SHOAL_VALUE], const void *field)
{
    const char *layers = *(const char *const *)field;

    snprintf(text, SHOAL_VALUE, "%s", *layers ? layers : "none");
}

static const struct shoal_own_type layers_type = {read_layers, show_layers,
                                                  "widths such as 64 or 128,64, or none"};

static const struct shoal_choice activations[] = {
    [SHOAL_RELU] = {"relu", "0 below 0"},
    [SHOAL_TANH] = {"tanh", "from -1 to 1"},
    [SHOAL_SIGMOID] = {"sigmoid", "from 0 to 1"},
    [SHOAL_GELU] = {"gelu", "smoothly 0 below 0 (Hendrycks and Gimpel 2016)"},
    {0},
};

static const struct shoal_option model_options[] = {
    {"layers", .type = SHOAL_TYPE_OWN, ON(layers), .decides = true, .arg = "WIDTHS",
     .own = &layers_type, .help = "units of each hidden layer, with commas between"},
    {"activation", .type = SHOAL_TYPE_CHOICE, ON(activation), .decides = true, .arg = "NAME",
     .choices = activations, .help = "what units make of their sum"},
    {"regression", .type = SHOAL_TYPE_FLAG, ON(regression), .decides = true,
     .help = "predict numbers (squared error), not classes (cross-entropy)"},
    START_OPTION("begin with the parameters of this model"),
    {0},
};

static const struct shoal_option held_options[] = {
    VALID_FILE_OPTION("hold these samples out, and report how well they are predicted"),
    VALID_SHARE_OPTION("without --valid: hold out this share of the samples, drawn by the seed"),
    {"raw", .type = SHOAL_TYPE_FLAG, ON(raw), .decides = true,
     .help = "take numbers as they are, not scaled to mean 0 and variance 1"},
    {0},
};

static const struct shoal_option_group mlp_groups[] = {
    {"Output", net_output_options, .at = 0},
    {"Model", model_options, .at = 0},
    {"Samples", shoal_samples_options, .at = offsetof(struct train_opts, samples)},
    {"Held out", held_options, .at = 0},
    NET_GROUPS,
    {0},
};

static void mlp_defaults(struct train_opts *o)
{
    task_net_defaults(o);
    o->layers = "64";
}

/* ---- the task ---- */

const struct task task_mlp = {
    .is = {.name = "mlp",
           .summary = "a perceptron: classes or numbers from rows of numbers",
           .about =
               "Dense layers with softmax and cross-entropy on top, or with squared error. Samples "
               "are rows of CSV, of a NumPy array (.npy) or of IDX files as MNIST's; by default "
               "the last column is the class, of X-images-idx3-ubyte it is in "
               "X-labels-idx1-ubyte. How columns were scaled is kept in the model." GOES_ON,
           .operand = "DATA",
           .operand_help = "samples to learn from; gzip and zstd are recognised by content",
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
    .check = task_file_check,
    .data = DATA_SAMPLES,
    .kind = &kind_net,
    .net = &mlp_net,
    .plan = mlp_plan,
    .open = mlp_open,
    .close = mlp_close,
    .figures = net_task_figures,
    .result = net_task_result,
};
