/* A perceptron of another program: linear layers one behind the other, with batch norms between.
 *
 * A state_dict has the names of layers that have numbers, and no others. So
 *   - the order is that of the file, or by name where the file has none (safetensors);
 *   - the activation is what the hints say, else a rectifier, behind every layer but the last;
 *   - dropout is nothing, since here is no training;
 *   - a batch norm becomes part of the linear layer before it, or of the next one where its number
 *     says that something else stands between: y = gamma (x - mean) / sqrt(var + eps) + beta is
 *     linear. */
#include "saved/net/outside.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NORM_EPSILON 1e-5 /* PyTorch's default */

enum { LAYERS_MAX = 2 * (NET_MAX_LAYERS + 2) };

struct layer {
    char name[FILE_TENSOR_NAME]; /* "net.3" */
    const struct file_tensor *weight, *bias, *mean, *variance; /* mean: a batch norm */
};

struct sequence {
    const struct tensors *file;
    struct layer layer[LAYERS_MAX];
    size_t n, linears;
};

/* ---- names ---- */

/* "a.10" behind "a.9": runs of digits count as numbers. */
static int by_number(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            size_t x = strspn(a, "0123456789"), y = strspn(b, "0123456789");
            int order = x != y ? (x > y) - (x < y) : strncmp(a, b, x);

            if (order)
                return order;
            a += x - 1;
            b += y - 1;
        } else if (*a != *b) {
            return (unsigned char)*a - (unsigned char)*b;
        }
    }
    return (*a != '\0') - (*b != '\0');
}

static int by_name(const void *a, const void *b)
{
    return by_number(((const struct layer *)a)->name, ((const struct layer *)b)->name);
}

/* "net.3" of "net.3.weight"; false: the tensor is another one. */
static bool layer_name(const char *tensor, const char *what, char *name)
{
    size_t len = strlen(tensor), end = strlen(what);

    if (len <= end || strcmp(tensor + len - end, what) != 0)
        return false;
    memcpy(name, tensor, len - end);
    name[len - end] = '\0';
    return true;
}

static const struct file_tensor *tensor_of(const struct tensors *file, const char *layer,
                                           const char *what)
{
    char name[FILE_TENSOR_NAME + 32];

    snprintf(name, sizeof name, "%s.%s", layer, what);
    return tensors_find(file, name);
}

/* The number of a layer within its list and what stands before it; -1: it has none. */
static long number_of(const char *name, size_t *before)
{
    const char *dot = strrchr(name, '.'), *at = dot ? dot + 1 : name;

    *before = (size_t)(at - name);
    return *at && strlen(at) < 6 && strspn(at, "0123456789") == strlen(at)
               ? strtol(at, NULL, 10)
               : -1;
}

/* ---- which layers ---- */

bool sequential_in(const struct tensors *file)
{
    char name[FILE_TENSOR_NAME];

    if (tensors_find(file, "vectors"))
        return false;
    for (size_t i = 0; i < file->n; i++)
        if (file->at[i].ndims == 2 && layer_name(file->at[i].name, ".weight", name)) {
            const struct file_tensor *bias = tensor_of(file, name, "bias");

            if (bias && bias->ndims == 1 && bias->dims[0] == file->at[i].dims[0])
                return true;
        }
    return false;
}

static bool is_part(const struct tensors *file, const char *name)
{
    static const char *const parts[] = {".bias", ".running_mean", ".running_var"};
    char layer[FILE_TENSOR_NAME];

    if (layer_name(name, ".num_batches_tracked", layer))
        return true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (layer_name(name, parts[i], layer) && tensor_of(file, layer, "weight"))
            return true;
    return false;
}

static shoal_status fail_layer(const struct tensors *file, const struct file_tensor *f)
{
    char shape[96];

    weights_shape(shape, sizeof shape, f->dims, f->ndims);
    return shoal_fail(SHOAL_EFORMAT,
                      "%s: found %s of %s, want a VGG of torchvision's, or linear layers and batch "
                      "norms one behind the other",
                      file->path, f->name[0] ? f->name : "a tensor with a long name", shape);
}

static shoal_status add_layer(struct sequence *s, const struct file_tensor *f)
{
    struct layer *l = &s->layer[s->n];
    bool norm;

    if (s->n == LAYERS_MAX)
        return shoal_fail(SHOAL_ELIMIT, "%s: over %d layers, want at most that", s->file->path,
                          LAYERS_MAX);
    *l = (struct layer){.weight = f};
    layer_name(f->name, ".weight", l->name);
    l->bias = tensor_of(s->file, l->name, "bias");
    l->mean = tensor_of(s->file, l->name, "running_mean");
    l->variance = tensor_of(s->file, l->name, "running_var");
    norm = f->ndims == 1 && l->mean && l->variance && l->bias;
    if (!norm && (f->ndims != 2 || l->mean || l->variance))
        return fail_layer(s->file, f);
    s->n++;
    s->linears += !norm;
    return SHOAL_OK;
}

static shoal_status find_layers(struct sequence *s)
{
    char name[FILE_TENSOR_NAME];
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < s->file->n && st == SHOAL_OK; i++) {
        const struct file_tensor *f = &s->file->at[i];

        if (layer_name(f->name, ".weight", name))
            st = add_layer(s, f);
        else if (!is_part(s->file, f->name))
            st = fail_layer(s->file, f);
    }
    if (st == SHOAL_OK && s->linears > NET_MAX_LAYERS)
        st = shoal_fail(SHOAL_ELIMIT, "%s: %zu linear layers, want at most %d", s->file->path,
                        s->linears, NET_MAX_LAYERS);
    if (!s->file->ordered)
        qsort(s->layer, s->n, sizeof *s->layer, by_name);
    return st;
}

/* ---- shapes ---- */

static shoal_status check_row(const struct sequence *s, const struct file_tensor *f, size_t want)
{
    char shape[96];

    if (!f || (f->ndims == 1 && f->dims[0] == want))
        return SHOAL_OK;
    weights_shape(shape, sizeof shape, f->dims, f->ndims);
    return shoal_fail(SHOAL_EFORMAT, "%s: %s is %s, want %zu", s->file->path, f->name, shape, want);
}

/* Each takes what the one before it gives. */
static shoal_status check_layers(const struct sequence *s)
{
    size_t width = 0;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < s->n && st == SHOAL_OK; i++) {
        const struct layer *l = &s->layer[i];
        size_t in = l->weight->dims[l->mean ? 0 : 1], out = l->weight->dims[0];

        if (in == 0 || out == 0 || in > NET_MAX_WIDTH || out > NET_MAX_WIDTH)
            return shoal_fail(SHOAL_ELIMIT, "%s: %s has %zu inputs and %zu outputs, want 1 to %d",
                              s->file->path, l->name, in, out, NET_MAX_WIDTH);
        if (width > 0 && in != width)
            return shoal_fail(SHOAL_EFORMAT,
                              "%s: %s takes %zu numbers and %s before it gives %zu, want layers "
                              "one behind the other",
                              s->file->path, l->name, in, s->layer[i - 1].name, width);
        width = out;
        st = check_row(s, l->bias, out);
        if (st == SHOAL_OK)
            st = check_row(s, l->mean, out);
        if (st == SHOAL_OK)
            st = check_row(s, l->variance, out);
    }
    return st;
}

/* ---- the description ---- */

static const struct layer *linear_at(const struct sequence *s, size_t k)
{
    for (size_t i = 0; i < s->n; i++)
        if (!s->layer[i].mean && k-- == 0)
            return &s->layer[i];
    return NULL;
}

static shoal_status make_spec(const struct sequence *s, const struct net_hints *h, bool classes,
                              char *spec, size_t cap)
{
    size_t outputs = linear_at(s, s->linears - 1)->weight->dims[0];
    size_t len = (size_t)snprintf(spec, cap, "mlp inputs=%zu layers=",
                                  linear_at(s, 0)->weight->dims[1]);

    for (size_t k = 0; k + 1 < s->linears && len < cap; k++)
        len += (size_t)snprintf(spec + len, cap - len, "%s%zu", k > 0 ? "," : "",
                                linear_at(s, k)->weight->dims[0]);
    if (len < cap)
        len += (size_t)snprintf(spec + len, cap - len, " outputs=%zu activation=%s loss=%s", outputs,
                                h->activation[0] ? h->activation : "relu",
                                classes ? "softmax" : "mse");
    return len < cap ? SHOAL_OK
                     : shoal_fail(SHOAL_ELIMIT, "%s: its description has %zu bytes, want %zu",
                                  s->file->path, len, cap - 1);
}

/* ---- batch norms ---- */

/* Whether a norm stands before the activation of the linear layer before it. */
static bool is_adjacent(const struct layer *linear, const struct layer *norm, bool *guessed)
{
    size_t a, b;
    long x = number_of(linear->name, &a), y = number_of(norm->name, &b);

    bool apart = x < 0 || y < 0 || a != b || strncmp(linear->name, norm->name, a) != 0;

    *guessed = *guessed || apart;
    return apart || y == x + 1;
}

struct norm {
    float *scale, *shift; /* [n]: x becomes scale x + shift */
    float *more;          /* [n] */
};

static shoal_status read_norm(const struct sequence *s, const struct layer *l, struct norm *n)
{
    size_t width = l->weight->dims[0];
    shoal_status st = weights_floats(s->file, l->weight, false, n->scale);

    if (st == SHOAL_OK)
        st = weights_floats(s->file, l->variance, false, n->more);
    for (size_t i = 0; i < width && st == SHOAL_OK; i++)
        n->scale[i] = (float)((double)n->scale[i] / sqrt(fmax((double)n->more[i], 0) + NORM_EPSILON));
    if (st == SHOAL_OK)
        st = weights_floats(s->file, l->bias, false, n->shift);
    if (st == SHOAL_OK)
        st = weights_floats(s->file, l->mean, false, n->more);
    for (size_t i = 0; i < width && st == SHOAL_OK; i++)
        n->shift[i] -= n->scale[i] * n->more[i];
    return st;
}

/* Behind the layer: its outputs are scaled. */
static void norm_outputs(const struct norm *n, float *w, float *b, size_t in, size_t out)
{
    for (size_t o = 0; o < out; o++) {
        for (size_t i = 0; i < in; i++)
            w[o * in + i] *= n->scale[o];
        b[o] = b[o] * n->scale[o] + n->shift[o];
    }
}

/* Before the layer: its inputs are. */
static void norm_inputs(const struct norm *n, float *w, float *b, size_t in, size_t out)
{
    for (size_t o = 0; o < out; o++) {
        double sum = (double)b[o];

        for (size_t i = 0; i < in; i++) {
            sum += (double)w[o * in + i] * (double)n->shift[i];
            w[o * in + i] *= n->scale[i];
        }
        b[o] = (float)sum;
    }
}

static shoal_status fold_norm(const struct sequence *s, const struct layer *l, const struct net *net,
                              float *params, size_t linear, bool outputs)
{
    size_t width = l->weight->dims[0];
    struct norm n = {mem_array(width, sizeof(float)), mem_array(width, sizeof(float)),
                     mem_array(width, sizeof(float))};
    const struct tensor *w = &net->tensors[2 * linear], *b = &net->tensors[2 * linear + 1];
    shoal_status st = n.scale && n.shift && n.more ? read_norm(s, l, &n) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        (outputs ? norm_outputs : norm_inputs)(&n, params + w->at, params + b->at, w->dims[1],
                                               w->dims[0]);
    free(n.scale);
    free(n.shift);
    free(n.more);
    return st;
}

static shoal_status fold_norms(const struct sequence *s, const struct net *net, float *params,
                               bool *guessed)
{
    size_t linear = 0;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < s->n && st == SHOAL_OK; i++) {
        const struct layer *l = &s->layer[i];
        bool after;

        linear += !l->mean;
        if (!l->mean)
            continue;
        if (i > 0 && s->layer[i - 1].mean)
            return shoal_fail(SHOAL_EFORMAT, "%s: %s stands behind another norm, want a linear "
                              "layer between",
                              s->file->path, l->name);
        after = linear > 0 &&
                (linear == s->linears || is_adjacent(&s->layer[i - 1], l, guessed));
        st = fold_norm(s, l, net, params, after ? linear - 1 : linear, after);
    }
    return st;
}

/* ---- the net ---- */

static shoal_status load_layers(const struct sequence *s, const struct net *net, float *params)
{
    shoal_status st = SHOAL_OK;

    for (size_t k = 0; k < s->linears && st == SHOAL_OK; k++) {
        const struct layer *l = linear_at(s, k);

        st = weights_floats(s->file, l->weight, false, params + net->tensors[2 * k].at);
        if (st == SHOAL_OK && l->bias)
            st = weights_floats(s->file, l->bias, false, params + net->tensors[2 * k + 1].at);
    }
    return st;
}

static shoal_status fill_net(const struct sequence *s, struct net *net, shoal_net **out,
                             bool *guessed)
{
    float *params = mem_map(net->size * sizeof *params);
    shoal_status st = params ? load_layers(s, net, params) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = fold_norms(s, net, params, guessed);
    if (st == SHOAL_OK)
        return saved_net_new(out, net, params);
    mem_unmap(params, net->size * sizeof *params);
    net_free(net);
    return st;
}

static void say_assumed(const struct net_hints *h, bool classes, bool guessed, char *assumed)
{
    size_t len = 0;

    *assumed = '\0';
    if (!h->activation[0])
        len += (size_t)snprintf(assumed, NET_ASSUMED, "relu behind each layer but the last");
    if (!h->classes && !h->values)
        len += (size_t)snprintf(assumed + len, NET_ASSUMED - len, "%soutputs are %s",
                                len > 0 ? "; " : "",
                                classes ? "classes, by softmax" : "a value");
    if (guessed)
        snprintf(assumed + len, NET_ASSUMED - len, "%snorms stand before the activation",
                 len > 0 ? "; " : "");
}

static shoal_status check_numbers(const struct sequence *s)
{
    static const char *const known[] = {"F32", "F16", "BF16", "F64"};

    for (size_t i = 0; i < s->file->n; i++) {
        const struct file_tensor *f = &s->file->at[i];
        bool good = strstr(f->name, ".num_batches_tracked") != NULL;

        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            good = good || strcmp(f->dtype, known[k]) == 0;
        if (!good)
            return shoal_fail(SHOAL_EFORMAT,
                              "%s: numbers of %s are \"%s\", want F32, F16, BF16 or F64",
                              s->file->path, f->name, f->dtype);
    }
    return SHOAL_OK;
}

static shoal_status import(const struct sequence *s, shoal_net **out, const struct net_hints *h,
                           char *assumed)
{
    size_t outputs = linear_at(s, s->linears - 1)->weight->dims[0];
    bool classes = h->values ? false : h->classes || outputs > 1, guessed = false;
    char spec[NET_SPEC];
    struct net *net = NULL;
    shoal_status st = make_spec(s, h, classes, spec, sizeof spec);

    if (st == SHOAL_OK)
        st = net_new(&net, spec);
    if (st == SHOAL_OK)
        st = fill_net(s, net, out, &guessed);
    say_assumed(h, classes, guessed, assumed);
    return st;
}

shoal_status sequential_import(shoal_net **out, const struct tensors *file,
                               const struct net_hints *h, char assumed[NET_ASSUMED])
{
    struct sequence *s = mem_array(1, sizeof *s);
    shoal_status st = s ? SHOAL_OK : SHOAL_ENOMEM;

    *assumed = '\0';
    if (st == SHOAL_OK) {
        s->file = file;
        st = find_layers(s);
    }
    if (st == SHOAL_OK)
        st = check_layers(s);
    if (st == SHOAL_OK)
        st = check_numbers(s);
    if (st == SHOAL_OK)
        st = import(s, out, h, assumed);
    free(s);
    return st;
}
