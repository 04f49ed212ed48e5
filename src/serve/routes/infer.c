/* Tensors of the Open Inference Protocol, as JSON or, by its extension for binary data, as bytes
 * behind the JSON, which the field Inference-Header-Content-Length tells from them:
 *
 *     {"inputs":[{"name":"x","shape":[2,3],"datatype":"FP32",
 *                 "parameters":{"binary_data_size":24}}],
 *      "parameters":{"binary_data_output":true}}      <- so many bytes of JSON
 *     24 bytes, little-endian                         <- and the tensor
 *
 * BYTES are elements of four bytes of length and so many bytes each. An answer has the same form.
 * Models take one tensor and give one; numbers of any type become floats. */
#include "serve/routes/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers of every type ---- */

static float of_bool(const char *at)
{
    return *at != 0;
}

/* x of the type at the bytes, which need not be aligned. */
#define READ_AS(name, type)                                                                        \
    static float name(const char *at)                                                              \
    {                                                                                              \
        type x;                                                                                    \
                                                                                                   \
        memcpy(&x, at, sizeof x);                                                                  \
        return (float)x;                                                                           \
    }

READ_AS(of_u8, uint8_t)
READ_AS(of_u16, uint16_t)
READ_AS(of_u32, uint32_t)
READ_AS(of_u64, uint64_t)
READ_AS(of_i8, int8_t)
READ_AS(of_i16, int16_t)
READ_AS(of_i32, int32_t)
READ_AS(of_i64, int64_t)
READ_AS(of_f32, float)
READ_AS(of_f64, double)

static float of_bf16(const char *at)
{
    uint32_t bits = (uint32_t)(uint8_t)at[0] << 16 | (uint32_t)(uint8_t)at[1] << 24;
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* IEEE 754 binary16: sign, five bits of exponent, ten of mantissa. */
static float of_f16(const char *at)
{
    unsigned bits = (uint8_t)at[0] | (unsigned)(uint8_t)at[1] << 8;
    int exponent = (int)(bits >> 10 & 31);
    float mantissa = (float)(bits & 1023), x;

    if (exponent == 31)
        x = bits & 1023 ? NAN : INFINITY;
    else
        x = exponent > 0 ? ldexpf(mantissa + 1024, exponent - 25) : ldexpf(mantissa, -24);
    return bits >> 15 ? -x : x;
}

static const struct number_type {
    const char *name;
    size_t size;
    float (*read)(const char *at);
} types[] = {
    {"FP32", 4, of_f32},  {"FP64", 8, of_f64},  {"FP16", 2, of_f16},   {"BF16", 2, of_bf16},
    {"INT8", 1, of_i8},   {"INT16", 2, of_i16}, {"INT32", 4, of_i32},  {"INT64", 8, of_i64},
    {"UINT8", 1, of_u8},  {"UINT16", 2, of_u16}, {"UINT32", 4, of_u32}, {"UINT64", 8, of_u64},
    {"BOOL", 1, of_bool},
};

static const struct number_type *type_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

/* ---- JSON ---- */

static shoal_status wrong_numbers(size_t found, size_t want)
{
    return shoal_fail(SHOAL_EINVAL, "data: found %zu numbers, want the %zu of the shape", found,
                      want);
}

/* Numbers of a list, however deep it is nested, true being 1; `most` of them. */
static shoal_status flatten(struct figures *n, const struct tree *t, size_t most, unsigned depth)
{
    shoal_status st = SHOAL_OK;
    void *at = n->at;

    if (tree_kind(t) == TREE_NUMBER || tree_kind(t) == TREE_FLAG) {
        if (n->len == most)
            return wrong_numbers(n->len + 1, most);
        st = mem_grow(&at, &n->cap, n->len + 1, sizeof *n->at);
        n->at = at;
        if (st == SHOAL_OK)
            n->at[n->len++] = tree_kind(t) == TREE_FLAG ? (float)tree_true(t) : (float)tree_number(t);
        return st;
    }
    if (tree_kind(t) != TREE_LIST || depth > 8)
        return shoal_fail(SHOAL_EINVAL, "data: found no number, want a list of numbers");
    for (size_t i = 0; i < tree_len(t) && st == SHOAL_OK; i++)
        st = flatten(n, tree_at(t, i), most, depth + 1);
    return st;
}

static shoal_status read_numbers(struct request *q, const struct tree *data, size_t rows,
                                 size_t width)
{
    struct figures n = {0};
    size_t cost = COST_NUMBER * rows * width;
    shoal_status st;

    if (rows * width > q->body.len)
        return shoal_fail(SHOAL_EINVAL, "data: found fewer numbers than the %zu of the shape",
                          rows * width);
    st = request_charge(q, cost);
    if (st != SHOAL_OK)
        return st;
    st = flatten(&n, data, rows * width, 0);
    if (st == SHOAL_OK && n.len != rows * width)
        st = wrong_numbers(n.len, rows * width);
    if (st == SHOAL_OK)
        st = predict_add_rows(q, n.at, rows, width, true);
    figures_fini(&n);
    request_refund(q, cost);
    return st;
}

static shoal_status read_texts(struct request *q, const struct tree *data, size_t rows)
{
    if (tree_kind(data) != TREE_LIST || tree_len(data) != rows)
        return shoal_fail(SHOAL_EINVAL, "data: found %zu strings, want the %zu of the shape",
                          tree_len(data), rows);
    return predict_add_list(q, data, NULL, true);
}

/* ---- bytes ---- */

/* What is behind the JSON. */
struct blob {
    const char *at;
    size_t len;
};

static shoal_status read_binary_numbers(struct request *q, const struct number_type *type,
                                        const struct blob *b, size_t rows, size_t width)
{
    size_t n = rows * width, cost = n * sizeof(float);
    float *numbers = NULL;
    shoal_status st;

    if (b->len != n * type->size)
        return shoal_fail(SHOAL_EINVAL, "binary_data_size: found %zu, want the %zu of %zu %s",
                          b->len, n * type->size, n, type->name);
    st = request_charge(q, cost);
    if (st != SHOAL_OK)
        return st;
    numbers = mem_array(n, sizeof *numbers);
    for (size_t i = 0; numbers && i < n; i++)
        numbers[i] = type->read(b->at + i * type->size);
    st = numbers ? predict_add_rows(q, numbers, rows, width, true) : SHOAL_ENOMEM;
    free(numbers);
    request_refund(q, cost);
    return st;
}

static shoal_status read_binary_texts(struct request *q, const struct blob *b, size_t rows)
{
    size_t at = 0, found = 0;
    shoal_status st = SHOAL_OK;

    for (; st == SHOAL_OK && at < b->len; found++) {
        uint32_t len = 0;
        struct instance in = {.verb = "predict", .tensor = true};

        if (found == rows || b->len - at < sizeof len)
            break;
        memcpy(&len, b->at + at, sizeof len);
        at += sizeof len;
        if (len > b->len - at)
            return shoal_fail(SHOAL_EINVAL, "BYTES: element %zu has %u bytes, here are %zu", found,
                              len, b->len - at);
        in.bytes = b->at + at;
        in.len = len;
        st = predict_add(q, &in);
        at += len;
    }
    if (st == SHOAL_OK && (found != rows || at != b->len))
        st = shoal_fail(SHOAL_EINVAL, "BYTES: found %zu elements in %zu bytes, want %zu", found,
                        b->len, rows);
    return st;
}

/* ---- a request ---- */

/* The product of a shape's dimensions behind the first, which goes to *rows. */
static shoal_status read_shape(const struct tree *shape, size_t *rows, size_t *width)
{
    *rows = *width = 1;
    if (tree_kind(shape) != TREE_LIST || tree_len(shape) == 0 || tree_len(shape) > 8)
        return shoal_fail(SHOAL_EINVAL, "shape: found none, want a list of 1 to 8 dimensions");
    for (size_t i = 0; i < tree_len(shape); i++) {
        double x = tree_number(tree_at(shape, i));

        if (!(x >= 1 && x <= 1e8) || x != floor(x) || (double)*width * (double)*rows * x > 1e9)
            return shoal_fail(SHOAL_EINVAL, "shape: found a dimension that cannot be");
        if (i == 0)
            *rows = (size_t)x;
        else
            *width *= (size_t)x;
    }
    return SHOAL_OK;
}

static const struct tree *parameter(const struct tree *t, const char *name)
{
    return tree_get(tree_get(t, "parameters"), name);
}

static shoal_status read_input(struct request *q, const struct tree *input, const struct blob *b)
{
    const char *type = tree_text(tree_get(input, "datatype"));
    const struct tree *size = parameter(input, "binary_data_size");
    bool texts = strcmp(type, "BYTES") == 0;
    size_t rows, width;
    shoal_status st = read_shape(tree_get(input, "shape"), &rows, &width);

    if (st != SHOAL_OK)
        return st;
    if (!texts && !type_find(type))
        return shoal_fail(SHOAL_EINVAL, "datatype: found '%.20s', want BYTES, BOOL, FP32 or another "
                          "number", type);
    if ((size ? tree_number(size) : 0) != (double)b->len)
        return shoal_fail(SHOAL_EINVAL, "binary_data_size: found %g, behind the JSON are %zu bytes",
                          size ? tree_number(size) : 0, b->len);
    if (size)
        return texts ? read_binary_texts(q, b, rows * width)
                     : read_binary_numbers(q, type_find(type), b, rows, width);
    return texts ? read_texts(q, tree_get(input, "data"), rows * width)
                 : read_numbers(q, tree_get(input, "data"), rows, width);
}

/* Which output is wanted, by name, and whether as bytes. */
static shoal_status read_outputs(struct request *q, const struct tree *t)
{
    const struct generation *g = q->lease.generation;
    const struct tree *outputs = tree_get(t, "outputs"), *first = tree_at(outputs, 0);
    struct tensor_shape in, out;
    const char *name;

    q->binary = tree_true(parameter(t, "binary_data_output"));
    if (tree_len(outputs) == 0)
        return SHOAL_OK;
    g->kind->shapes(g->model, &in, &out);
    name = tree_text(tree_get(first, "name"));
    if (tree_len(outputs) > 1 || strcmp(name, out.name) != 0)
        return shoal_fail(SHOAL_EINVAL, "outputs: found %zu, the first '%.40s', want '%s' alone",
                          tree_len(outputs), name, out.name);
    if (parameter(first, "binary_data"))
        q->binary = tree_true(parameter(first, "binary_data"));
    return SHOAL_OK;
}

static shoal_status read_tree(struct request *q, const struct tree *t, const struct blob *b)
{
    const struct tree *inputs = tree_get(t, "inputs");
    const struct tree *input = tree_at(inputs, 0), *id = input ? tree_get(t, "id") : NULL;
    shoal_status st;

    q->shape = SHAPE_TENSOR;
    if (tree_kind(inputs) != TREE_LIST || tree_len(inputs) != 1 || tree_kind(input) != TREE_OBJECT)
        return shoal_fail(SHOAL_EINVAL, "inputs: found %zu, want a list of one tensor",
                          tree_len(inputs));
    if (tree_kind(id) == TREE_TEXT && tree_len(id) <= 256) {
        q->tensor_id = strdup(tree_text(id));
        if (!q->tensor_id)
            return shoal_fail(SHOAL_ENOMEM, "id: no memory for it");
    }
    st = read_outputs(q, t);
    return st == SHOAL_OK ? read_input(q, input, b) : st;
}

/* How many bytes of the body are JSON. */
static shoal_status json_length(const struct request *q, size_t *out)
{
    const char *said = q->json_length;
    size_t len = said ? strlen(said) : 0;

    *out = q->body.len;
    if (!said)
        return SHOAL_OK;
    if (len == 0 || len > 18 || strspn(said, "0123456789") != len ||
        strtoull(said, NULL, 10) > q->body.len)
        return shoal_fail(SHOAL_EINVAL, "Inference-Header-Content-Length: found '%.20s', want at "
                          "most the %zu bytes of the body", said, q->body.len);
    *out = (size_t)strtoull(said, NULL, 10);
    return SHOAL_OK;
}

shoal_status infer_read(struct request *q)
{
    const char *body = q->body.at ? q->body.at : "";
    struct tree *t = NULL;
    size_t cost = 0, json = 0;
    shoal_status st = json_length(q, &json);

    if (st == SHOAL_OK)
        st = request_parse(q, &t, body, json, &cost);
    if (st == SHOAL_OK)
        st = read_tree(q, t, &(struct blob){body + json, q->body.len - json});
    request_parsed(q, t, cost);
    return st;
}

/* ---- an answer ---- */

/* A tensor has one type: numbers only if every answer is some. */
static bool all_floats(const struct request *q, size_t *width)
{
    const struct generation *g = q->job.generation;

    for (size_t i = 0; i < q->job.n; i++)
        if (!g->kind->floats || !g->kind->floats(g->model, job_sample(&q->job, i), width))
            return false;
    return true;
}

/* The answer to a sample that is no numbers: JSON, as a string. */
static void text_of(struct request *q, size_t i, struct writer *text)
{
    const struct generation *g = q->job.generation;

    g->kind->write(g->model, job_sample(&q->job, i), text);
    text->failed |= bytes_add(&text->out, "", 1) != SHOAL_OK;
}

static void put_data(struct request *q, struct writer *w, bool floats)
{
    const struct generation *g = q->job.generation;
    size_t width = 0;

    member_open(w, "data", '[');
    for (size_t i = 0; i < q->job.n; i++) {
        const float *x = floats ? g->kind->floats(g->model, job_sample(&q->job, i), &width) : NULL;
        struct writer text = {0};

        for (size_t j = 0; x && j < width; j++)
            put_float(w, x[j]);
        if (x)
            continue;
        text_of(q, i, &text);
        w->failed |= text.failed;
        put_text(w, w->failed ? "" : text.out.at);
        bytes_fini(&text.out);
    }
    put_close(w, "]");
}

/* The same as bytes. */
static void add_data(struct request *q, struct writer *out, bool floats)
{
    const struct generation *g = q->job.generation;
    size_t width = 0;

    for (size_t i = 0; i < q->job.n && !out->failed; i++) {
        struct writer text = {0};

        if (floats) {
            const float *x = g->kind->floats(g->model, job_sample(&q->job, i), &width);

            put_bytes(out, x, width * sizeof *x);
            continue;
        }
        text_of(q, i, &text);
        if (text.failed) {
            out->failed = true;
        } else {
            uint32_t len = (uint32_t)text.out.len - 1;

            put_bytes(out, &len, sizeof len);
            put_bytes(out, text.out.at, len);
        }
        bytes_fini(&text.out);
    }
}

static void put_output(struct request *q, struct writer *w, const char *name, bool floats,
                       size_t width, const struct writer *data)
{
    member_text(w, "name", name);
    member_text(w, "datatype", floats ? "FP32" : "BYTES");
    member_open(w, "shape", '[');
    put_u64(w, q->job.n);
    if (floats)
        put_u64(w, width);
    put_close(w, "]");
    if (!q->binary) {
        put_data(q, w, floats);
        return;
    }
    member_open(w, "parameters", '{');
    member_u64(w, "binary_data_size", data->out.len);
    put_close(w, "}");
}

void infer_write(struct request *q, struct writer *w)
{
    const struct generation *g = q->job.generation;
    struct tensor_shape input, output;
    struct writer data = {.payer = w->payer, .paid = w->paid};
    size_t width = 0;
    bool floats = all_floats(q, &width);

    g->kind->shapes(g->model, &input, &output);
    if (q->binary)
        add_data(q, &data, floats);
    put_open(w, '{');
    member_text(w, "model_name", q->lease.version->name);
    member_text(w, "model_version", q->lease.version->version);
    member_text(w, "id", q->tensor_id ? q->tensor_id : q->id);
    member_open(w, "outputs", '[');
    put_open(w, '{');
    put_output(q, w, output.name, floats, width, &data);
    put_close(w, q->binary ? "}]}" : "}]}\n");
    if (q->binary) {
        q->answer.json_length = w->out.len;
        q->answer.type = "application/octet-stream";
        put_bytes(w, data.out.at, data.out.len);
    }
    w->failed |= data.failed;
    bytes_fini(&data.out);
}
