/* A net as ONNX, for other programs: a graph of operators and the parameters, as protobuf.
 *
 *     ModelProto { 1 ir_version  2 producer  7 graph  8 opset }
 *     GraphProto { 1 node ...  2 name  5 tensor ...  11 input  12 output }
 *
 * The graph is made in memory; parameters go to the file from where they are. Field numbers are
 * those of onnx.proto; operators are those of opset 13. A field is a tag (number << 3 | wire type)
 * and a varint (0), four bytes (5), or a length and bytes (2). */
#include "saved/net/outside.h"

#include <stdio.h>
#include <stdlib.h>

enum { IR_VERSION = 7, OPSET = 13, FLOATS = 1, TENSORS = 128, NAME = 64 };
#define ONNX_MAX (((uint64_t)1 << 31) - 1) /* bytes of a protobuf message */

struct onnx_tensor {
    struct bytes head; /* all fields but the numbers */
    const float *at;
    float *ours; /* at, when it is ours to free */
    size_t n;
};

struct onnx {
    const shoal_net *net;
    struct bytes graph; /* all but the tensors */
    struct onnx_tensor tensor[TENSORS];
    size_t ntensors, names;
    char last[NAME]; /* what the next node takes */
    shoal_status st; /* the first failure */
};

/* ---- protobuf ---- */

static size_t varint(char out[10], uint64_t x)
{
    size_t n = 0;

    for (; x >= 0x80; x >>= 7)
        out[n++] = (char)(x | 0x80);
    out[n++] = (char)x;
    return n;
}

static void put(struct onnx *o, struct bytes *b, const void *at, size_t len)
{
    if (o->st == SHOAL_OK)
        o->st = bytes_add(b, at, len);
}

static void put_varint(struct onnx *o, struct bytes *b, uint64_t x)
{
    char text[10];

    put(o, b, text, varint(text, x));
}

static void put_number(struct onnx *o, struct bytes *b, unsigned field, uint64_t x)
{
    put_varint(o, b, field << 3);
    put_varint(o, b, x);
}

static void put_bytes(struct onnx *o, struct bytes *b, unsigned field, const void *at, size_t len)
{
    put_varint(o, b, field << 3 | 2);
    put_varint(o, b, len);
    put(o, b, at ? at : "", len);
}

static void put_text(struct onnx *o, struct bytes *b, unsigned field, const char *text)
{
    put_bytes(o, b, field, text, strlen(text));
}

/* A message that is whole becomes a field of another, and ends. */
static void put_message(struct onnx *o, struct bytes *b, unsigned field, struct bytes *message)
{
    put_bytes(o, b, field, message->at, message->len);
    bytes_fini(message);
}

/* ---- tensors ---- */

/* dims [ndims]; NULL numbers after a failure of memory. */
static void add_tensor(struct onnx *o, const char *name, const size_t *dims, size_t ndims,
                       const float *at, float *ours)
{
    struct onnx_tensor *t = &o->tensor[o->ntensors];

    if (o->st == SHOAL_OK && o->ntensors == TENSORS)
        o->st = shoal_fail(SHOAL_ELIMIT, "onnx: over %d tensors, want at most that", TENSORS);
    if (o->st != SHOAL_OK || !at) {
        o->st = o->st == SHOAL_OK ? SHOAL_ENOMEM : o->st;
        free(ours);
        return;
    }
    *t = (struct onnx_tensor){.at = at, .ours = ours, .n = 1};
    o->ntensors++;
    for (size_t i = 0; i < ndims; i++) {
        put_number(o, &t->head, 1, dims[i]);
        t->n *= dims[i];
    }
    put_number(o, &t->head, 2, FLOATS);
    put_text(o, &t->head, 8, name);
}

static void add_scalar(struct onnx *o, const char *name, float x)
{
    float *ours = mem_array(1, sizeof *ours);

    if (ours)
        *ours = x;
    add_tensor(o, name, NULL, 0, ours, ours);
}

static void add_parameter(struct onnx *o, const char *name)
{
    const struct tensor *t = net_find(o->net->net, name);
    size_t n = 0;

    while (n < 4 && t->dims[n] > 0)
        n++;
    add_tensor(o, name, t->dims, n, o->net->params + t->at, NULL);
}

/* ---- nodes ---- */

struct attribute {
    const char *name;
    int64_t ints[4];
    size_t n;   /* 0: none; 1 with `one`: a number and no list */
    bool one;
    float real; /* when n is 0 and there is a name */
};

static void put_attribute(struct onnx *o, struct bytes *node, const struct attribute *a)
{
    struct bytes b = {0};

    put_text(o, &b, 1, a->name);
    if (a->n == 0) {
        put_varint(o, &b, 2 << 3 | 5);
        put(o, &b, &a->real, sizeof a->real);
    }
    for (size_t i = 0; i < a->n; i++)
        put_number(o, &b, a->one ? 3 : 8, (uint64_t)a->ints[i]);
    put_number(o, &b, 20, a->n == 0 ? 1 : a->one ? 2 : 7);
    put_message(o, node, 5, &b);
}

/* Takes `from`, or the last result when that is NULL, and up to four others; its result is the
 * last one then. */
static void add_node(struct onnx *o, const char *op, const char *from, const char *const others[4],
                     const struct attribute *attributes, size_t n)
{
    struct bytes b = {0};

    put_text(o, &b, 1, from ? from : o->last);
    for (size_t i = 0; others && i < 4 && others[i]; i++)
        put_text(o, &b, 1, others[i]);
    snprintf(o->last, sizeof o->last, "%s_%zu", op, o->names++);
    put_text(o, &b, 2, o->last);
    put_text(o, &b, 3, o->last);
    put_text(o, &b, 4, op);
    for (size_t i = 0; i < n; i++)
        put_attribute(o, &b, &attributes[i]);
    put_message(o, &o->graph, 1, &b);
}

static void add_with(struct onnx *o, const char *op, const char *other)
{
    add_node(o, op, NULL, (const char *const[4]){other}, NULL, 0);
}

static void add_plain(struct onnx *o, const char *op)
{
    add_node(o, op, NULL, NULL, NULL, 0);
}

/* ---- what goes in and comes out ---- */

/* {float [N, dims...]} */
static void put_value(struct onnx *o, unsigned field, const char *name, const size_t *dims,
                      size_t ndims)
{
    struct bytes value = {0}, type = {0}, tensor = {0}, shape = {0}, dim = {0};

    put_text(o, &dim, 2, "N");
    put_message(o, &shape, 1, &dim);
    for (size_t i = 0; i < ndims; i++) {
        dim = (struct bytes){0};
        put_number(o, &dim, 1, dims[i]);
        put_message(o, &shape, 1, &dim);
    }
    put_number(o, &tensor, 1, FLOATS);
    put_message(o, &tensor, 2, &shape);
    put_message(o, &type, 1, &tensor);
    put_text(o, &value, 1, name);
    put_message(o, &value, 2, &type);
    put_message(o, &o->graph, field, &value);
}

static void scale_inputs(struct onnx *o, const size_t *dims, size_t ndims)
{
    const struct scaling *s = &o->net->in;

    snprintf(o->last, sizeof o->last, "input");
    if (s->n == 0)
        return;
    add_tensor(o, "in.mean", dims, ndims, s->mean, NULL);
    add_tensor(o, "in.inverse", dims, ndims, s->inverse, NULL);
    add_with(o, "Sub", "in.mean");
    add_with(o, "Mul", "in.inverse");
}

/* Probabilities, or values in their units. */
static void finish_outputs(struct onnx *o)
{
    const struct scaling *s = &o->net->out;
    size_t n = o->net->net->outputs;
    float *by = s->n > 0 ? mem_array(n, sizeof *by) : NULL;

    for (size_t i = 0; by && i < n; i++)
        by[i] = s->inverse[i] > 0 ? 1 / s->inverse[i] : 0;
    if (s->n > 0) {
        add_tensor(o, "out.units", &n, 1, by, by);
        add_tensor(o, "out.mean", &n, 1, s->mean, NULL);
        add_with(o, "Mul", "out.units");
        add_with(o, "Add", "out.mean");
    }
    if (o->net->net->classes)
        add_node(o, "Softmax", NULL, NULL,
                 &(struct attribute){.name = "axis", .ints = {1}, .n = 1, .one = true}, 1);
    add_node(o, "Identity", NULL, NULL, NULL, 0);
}

/* ---- layers ---- */

static void add_linear(struct onnx *o, const char *layer)
{
    char weight[NET_NAME], bias[NET_NAME];

    snprintf(weight, sizeof weight, "%.40s.weight", layer);
    snprintf(bias, sizeof bias, "%.40s.bias", layer);
    add_parameter(o, weight);
    add_parameter(o, bias);
    add_node(o, "Gemm", NULL, (const char *const[4]){weight, bias},
             &(struct attribute){.name = "transB", .ints = {1}, .n = 1, .one = true}, 1);
}

/* x (1 + erf(x / sqrt 2)) / 2 */
static void add_gelu(struct onnx *o)
{
    char x[NAME];

    memcpy(x, o->last, sizeof x);
    add_with(o, "Mul", "gelu.root");
    add_plain(o, "Erf");
    add_with(o, "Add", "gelu.one");
    add_with(o, "Mul", x);
    add_with(o, "Mul", "gelu.half");
}

static void add_activation(struct onnx *o, const char *name)
{
    if (strcmp(name, "gelu") == 0)
        add_gelu(o);
    else
        add_plain(o, strcmp(name, "tanh") == 0      ? "Tanh"
                     : strcmp(name, "sigmoid") == 0 ? "Sigmoid"
                                                    : "Relu");
}

static void make_mlp(struct onnx *o)
{
    const struct net *net = o->net->net;
    size_t layers = net->ntensors / 2;
    char activation[16] = "relu", layer[24];

    o->st = net_spec_text(net->spec, "activation", activation, sizeof activation);
    if (strcmp(activation, "gelu") == 0) {
        add_scalar(o, "gelu.root", 0.70710678f);
        add_scalar(o, "gelu.one", 1);
        add_scalar(o, "gelu.half", 0.5f);
    }
    scale_inputs(o, &net->inputs, 1);
    for (size_t l = 0; l < layers; l++) {
        snprintf(layer, sizeof layer, "%zu", l);
        add_linear(o, layer);
        if (l + 1 < layers)
            add_activation(o, activation);
    }
    finish_outputs(o);
    put_value(o, 11, "input", &net->inputs, 1);
}

/* "features.N" and its norm, if there is one. */
static void add_conv(struct onnx *o, size_t index, bool norm)
{
    static const struct attribute pads = {.name = "pads", .ints = {1, 1, 1, 1}, .n = 4};
    static const struct attribute small = {.name = "epsilon", .real = 1e-5f};
    static const char *const whats[] = {"weight", "bias", "weight", "bias", "running_mean",
                                        "running_var"};
    char name[6][NET_NAME];

    for (size_t i = 0; i < (norm ? 6 : 2); i++) {
        snprintf(name[i], sizeof name[i], "features.%zu.%s", index + (i > 1), whats[i]);
        add_parameter(o, name[i]);
    }
    add_node(o, "Conv", NULL, (const char *const[4]){name[0], name[1]}, &pads, 1);
    if (norm)
        add_node(o, "BatchNormalization", NULL,
                 (const char *const[4]){name[2], name[3], name[4], name[5]}, &small, 1);
    add_plain(o, "Relu");
}

static void add_pool(struct onnx *o)
{
    static const struct attribute two[] = {{.name = "kernel_shape", .ints = {2, 2}, .n = 2},
                                           {.name = "strides", .ints = {2, 2}, .n = 2}};

    add_node(o, "MaxPool", NULL, NULL, two, 2);
}

static void add_head(struct onnx *o)
{
    add_node(o, "Flatten", NULL, NULL,
             &(struct attribute){.name = "axis", .ints = {1}, .n = 1, .one = true}, 1);
    if (net_find(o->net->net, "classifier.weight")) {
        add_linear(o, "classifier");
        return;
    }
    add_linear(o, "classifier.0");
    add_plain(o, "Relu");
    add_linear(o, "classifier.3");
    add_plain(o, "Relu");
    add_linear(o, "classifier.6");
}

/* Layers are numbered as torchvision does: a pool takes a number, also where it is left out. */
static void make_vgg(struct onnx *o)
{
    const struct net *net = o->net->net;
    unsigned channels, height, width;
    size_t index = 0, dims[3], step, side[2];
    bool norm = net_find(net, "features.1.weight") != NULL;

    shoal_net_pictures(o->net, &channels, &height, &width);
    dims[0] = channels;
    dims[1] = side[0] = height;
    dims[2] = side[1] = width;
    step = norm ? 3 : 2;
    scale_inputs(o, dims, 3);
    for (;; index++) {
        char name[NET_NAME];
        bool any = false;

        for (;; index += step, any = true) {
            snprintf(name, sizeof name, "features.%zu.weight", index);
            if (!net_find(net, name))
                break;
            add_conv(o, index, norm);
        }
        if (!any)
            break;
        if (side[0] >= 2 && side[1] >= 2) {
            add_pool(o);
            side[0] /= 2;
            side[1] /= 2;
        }
    }
    add_head(o);
    finish_outputs(o);
    put_value(o, 11, "input", dims, 3);
}

/* ---- the file ---- */

static uint64_t tensor_bytes(const struct onnx_tensor *t)
{
    char ignored[10];
    uint64_t raw = t->n * sizeof(float);

    return t->head.len + 1 + varint(ignored, raw) + raw;
}

static uint64_t graph_bytes(const struct onnx *o)
{
    char ignored[10];
    uint64_t sum = o->graph.len;

    for (size_t i = 0; i < o->ntensors; i++) {
        uint64_t len = tensor_bytes(&o->tensor[i]);

        sum += 1 + varint(ignored, len) + len;
    }
    return sum;
}

static shoal_status write_tensor(struct output *out, const struct onnx_tensor *t)
{
    char head[32] = {5 << 3 | 2};
    size_t len = 1 + varint(head + 1, tensor_bytes(t));
    shoal_status st = output_write(out, head, len);

    if (st == SHOAL_OK)
        st = output_write(out, t->head.at, t->head.len);
    head[0] = 9 << 3 | 2;
    len = 1 + varint(head + 1, t->n * sizeof(float));
    if (st == SHOAL_OK)
        st = output_write(out, head, len);
    return st == SHOAL_OK ? output_write(out, t->at, t->n * sizeof(float)) : st;
}

static shoal_status write_model(struct onnx *o, const char *path)
{
    struct bytes head = {0}, opset = {0};
    struct output *out;
    shoal_status st;

    put_number(o, &opset, 2, OPSET);
    put_number(o, &head, 1, IR_VERSION);
    put_text(o, &head, 2, "shoal");
    put_message(o, &head, 8, &opset);
    put_varint(o, &head, 7 << 3 | 2);
    put_varint(o, &head, graph_bytes(o));
    st = o->st;
    if (st == SHOAL_OK && graph_bytes(o) > ONNX_MAX)
        st = shoal_fail(SHOAL_ELIMIT, "%s: %llu bytes, want at most the %llu of a protobuf message",
                        path, (unsigned long long)graph_bytes(o), (unsigned long long)ONNX_MAX);
    if (st == SHOAL_OK && (st = output_open(&out, path)) == SHOAL_OK) {
        st = output_write(out, head.at, head.len);
        if (st == SHOAL_OK)
            st = output_write(out, o->graph.at, o->graph.len);
        for (size_t i = 0; i < o->ntensors && st == SHOAL_OK; i++)
            st = write_tensor(out, &o->tensor[i]);
        st = output_end(out, st);
    }
    bytes_fini(&head);
    return st;
}

static shoal_status make_graph(struct onnx *o, const char *path)
{
    const char *spec = o->net->net->spec;
    size_t outputs = o->net->net->outputs;

    if (net_spec_has(spec, "pool"))
        return shoal_fail(SHOAL_EINVAL,
                          "%s: '%s' averages maps of another size than its head takes, want a net "
                          "without that for ONNX",
                          path, spec);
    put_text(o, &o->graph, 2, "shoal");
    if (strncmp(spec, "mlp ", 4) == 0)
        make_mlp(o);
    else
        make_vgg(o);
    put_value(o, 12, o->last, &outputs, 1);
    return o->st;
}

shoal_status net_export_onnx(const shoal_net *t, const char *path)
{
    struct onnx *o = mem_array(1, sizeof *o);
    shoal_status st = o ? SHOAL_OK : SHOAL_ENOMEM;

    if (st == SHOAL_OK) {
        o->net = t;
        st = make_graph(o, path);
    }
    if (st == SHOAL_OK)
        st = write_model(o, path);
    for (size_t i = 0; o && i < o->ntensors; i++) {
        bytes_fini(&o->tensor[i].head);
        free(o->tensor[i].ours);
    }
    if (o)
        bytes_fini(&o->graph);
    free(o);
    return st;
}
