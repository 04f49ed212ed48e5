/* Tensors of the Open Inference Protocol, whether JSON or a message of gRPC brought them: the rows
 * of one become the samples of a job, and what the samples answer becomes tensors again.
 *
 *     [[1, 2], [3, 4]]  --> sample, sample --> batch -->  [[0.1, 0.9], [0.7, 0.3]]
 *     shape [2, 2]                                        shape [2, 2]
 *
 * Models take one tensor, or, if they learned from a table, one for each of its columns. Numbers of
 * every type become floats. */
#include "serve/routes/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MAX = 100 }; /* that are searched for, one by one */

/* ---- numbers of every type ---- */

static double of_bool(const char *at)
{
    return *at != 0;
}

/* x of the type at the bytes, which need not be aligned. */
#define READ_AS(name, type)                                                                        \
    static double name(const char *at)                                                             \
    {                                                                                              \
        type x;                                                                                    \
                                                                                                   \
        memcpy(&x, at, sizeof x);                                                                  \
        return (double)x;                                                                          \
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

static double of_bf16(const char *at)
{
    uint32_t bits = (uint32_t)(uint8_t)at[0] << 16 | (uint32_t)(uint8_t)at[1] << 24;
    float x;

    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* IEEE 754 binary16: sign, five bits of exponent, ten of mantissa. */
static double of_f16(const char *at)
{
    unsigned bits = (uint8_t)at[0] | (unsigned)(uint8_t)at[1] << 8;
    int exponent = (int)(bits >> 10 & 31);
    double mantissa = bits & 1023, x;

    if (exponent == 31)
        x = bits & 1023 ? (double)NAN : (double)INFINITY;
    else
        x = exponent > 0 ? ldexp(mantissa + 1024, exponent - 25) : ldexp(mantissa, -24);
    return bits >> 15 ? -x : x;
}

static const struct number_type {
    const char *name;
    size_t size;
    double (*read)(const char *at);
} types[] = {
    {"FP32", 4, of_f32},  {"FP64", 8, of_f64},   {"FP16", 2, of_f16},   {"BF16", 2, of_bf16},
    {"INT8", 1, of_i8},   {"INT16", 2, of_i16},  {"INT32", 4, of_i32},  {"INT64", 8, of_i64},
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

/* ---- numbers in ---- */

/* What is asked besides: of the request's parameters, or of its address. */
static struct instance instance_of(const struct request *q, const struct tensor_input *in)
{
    return (struct instance){
        .verb = "predict", .object = in->parameters, .tensor = true, .third = q->wanted[2].named};
}

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
            n->at[n->len++] =
                tree_kind(t) == TREE_FLAG ? (float)tree_true(t) : (float)tree_number(t);
        return st;
    }
    if (tree_kind(t) != TREE_LIST || depth > DIMS_MAX)
        return shoal_fail(SHOAL_EINVAL, "data: found no number, want a list of numbers");
    for (size_t i = 0; i < tree_len(t) && st == SHOAL_OK; i++)
        st = flatten(n, tree_at(t, i), most, depth + 1);
    return st;
}

static shoal_status read_numbers(struct request *q, const struct tensor_input *in, size_t rows,
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
    st = flatten(&n, in->json, rows * width, 0);
    if (st == SHOAL_OK && n.len != rows * width)
        st = wrong_numbers(n.len, rows * width);
    if (st == SHOAL_OK)
        st = predict_add_rows(q, n.at, rows, width, in->parameters, true);
    figures_fini(&n);
    request_refund(q, cost);
    return st;
}

static shoal_status read_raw_numbers(struct request *q, const struct tensor_input *in, size_t rows,
                                     size_t width)
{
    const struct number_type *type = type_find(in->raw_type ? in->raw_type : in->datatype);
    size_t n = rows * width, cost = n * sizeof(float);
    float *numbers = NULL;
    shoal_status st;

    if (in->len != n * type->size)
        return shoal_fail(SHOAL_EINVAL, "data: found %zu bytes, want the %zu of %zu %s", in->len,
                          n * type->size, n, type->name);
    st = request_charge(q, cost);
    if (st != SHOAL_OK)
        return st;
    numbers = mem_array(n, sizeof *numbers);
    if (numbers && type->read == of_f32)
        memcpy(numbers, in->raw, n * sizeof *numbers);
    for (size_t i = 0; numbers && type->read != of_f32 && i < n; i++)
        numbers[i] = (float)type->read(in->raw + i * type->size);
    st = numbers ? predict_add_rows(q, numbers, rows, width, in->parameters, true) : SHOAL_ENOMEM;
    free(numbers);
    request_refund(q, cost);
    return st;
}

/* ---- texts in ---- */

static shoal_status add_text(struct request *q, const struct tensor_input *in, const char *at,
                             size_t len)
{
    struct instance one = instance_of(q, in);

    one.bytes = at ? at : "";
    one.len = len;
    return predict_add(q, &one);
}

/* Lists are as deep as the shape has dimensions; *found counts the strings. */
static shoal_status add_strings(struct request *q, const struct tensor_input *in,
                                const struct tree *t, size_t most, size_t *found, unsigned depth)
{
    shoal_status st = SHOAL_OK;

    if (tree_kind(t) == TREE_LIST && depth <= DIMS_MAX) {
        for (size_t i = 0; i < tree_len(t) && st == SHOAL_OK; i++)
            st = add_strings(q, in, tree_at(t, i), most, found, depth + 1);
        return st;
    }
    if (*found < most) {
        struct instance one = instance_of(q, in);

        one.json = t;
        st = predict_add(q, &one);
    }
    ++*found;
    return st;
}

static shoal_status wrong_strings(size_t found, size_t want)
{
    return shoal_fail(SHOAL_EINVAL, "data: found %zu strings, want the %zu of the shape", found,
                      want);
}

static shoal_status read_strings(struct request *q, const struct tensor_input *in, size_t n)
{
    size_t found = 0;
    shoal_status st;

    if (tree_kind(in->json) != TREE_LIST)
        return wrong_strings(0, n);
    st = add_strings(q, in, in->json, n, &found, 0);
    return st == SHOAL_OK && found != n ? wrong_strings(found, n) : st;
}

static shoal_status read_texts(struct request *q, const struct tensor_input *in, size_t n)
{
    shoal_status st = in->ntexts == n ? SHOAL_OK : wrong_strings(in->ntexts, n);

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = add_text(q, in, in->texts[i].at, in->texts[i].len);
    return st;
}

/* The next element, from *at on: four bytes of length and so many bytes. */
static shoal_status next_text(const struct tensor_input *in, size_t *at, struct tensor_text *out)
{
    uint32_t len = 0;

    if (in->len - *at < sizeof len)
        return shoal_fail(SHOAL_EINVAL, "BYTES: found %zu bytes at the end, want a length of four",
                          in->len - *at);
    memcpy(&len, in->raw + *at, sizeof len);
    *at += sizeof len;
    if (len > in->len - *at)
        return shoal_fail(SHOAL_EINVAL, "BYTES: found an element of %u bytes, here are %zu", len,
                          in->len - *at);
    *out = (struct tensor_text){in->raw + *at, len};
    *at += len;
    return SHOAL_OK;
}

static shoal_status read_raw_texts(struct request *q, const struct tensor_input *in, size_t n)
{
    struct tensor_text text = {0};
    size_t at = 0;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        st = next_text(in, &at, &text);
        if (st == SHOAL_OK)
            st = add_text(q, in, text.at, text.len);
    }
    if (st == SHOAL_OK && at != in->len)
        st = shoal_fail(SHOAL_EINVAL, "BYTES: found %zu bytes behind %zu elements, want none",
                        in->len - at, n);
    return st;
}

/* ---- a tensor ---- */

/* How many numbers a sample of the model has. */
static int64_t sample_numbers(const struct request *q)
{
    const struct generation *g = q->lease.generation;
    struct tensor_shape input = {0}, outputs[OUTPUTS_MAX] = {0};
    int64_t n = 1;

    g->kind->shapes(g->model, &input, outputs);
    for (size_t i = 1; i < input.dims; i++)
        n *= input.shape[i];
    return input.dims > 1 ? n : 0;
}

/* The first dimension counts the rows, the others are a row's. One alone may be a row itself. */
static shoal_status measure(const struct request *q, const struct tensor_input *in, size_t *rows,
                            size_t *width)
{
    *rows = *width = 1;
    if (in->dims == 0 || in->dims > DIMS_MAX)
        return shoal_fail(SHOAL_EINVAL, "shape: found %zu dimensions, want 1 to %d", in->dims,
                          DIMS_MAX);
    for (size_t i = 0; i < in->dims; i++) {
        int64_t x = in->shape[i];

        if (x < 1 || x > 100000000 || (double)*width * (double)*rows * (double)x > 1e9)
            return shoal_fail(SHOAL_EINVAL, "shape: found a dimension that cannot be");
        *(i == 0 ? rows : width) *= (size_t)x;
    }
    if (in->dims == 1 && *rows > 1 && in->shape[0] == sample_numbers(q)) {
        *width = *rows;
        *rows = 1;
    }
    return SHOAL_OK;
}

static shoal_status wrong_type(const struct tensor_input *in)
{
    return shoal_fail(SHOAL_EINVAL,
                      "datatype: found '%.20s', want BYTES, BOOL, FP32 or another "
                      "number",
                      in->datatype);
}

static shoal_status read_one(struct request *q, const struct tensor_input *in)
{
    bool texts = strcmp(in->datatype, "BYTES") == 0;
    size_t rows, width;
    shoal_status st = measure(q, in, &rows, &width);

    if (st != SHOAL_OK)
        return st;
    if (!texts && !type_find(in->datatype))
        return wrong_type(in);
    if (texts && in->raw)
        return read_raw_texts(q, in, rows * width);
    if (texts)
        return in->texts ? read_texts(q, in, rows * width) : read_strings(q, in, rows * width);
    return in->raw ? read_raw_numbers(q, in, rows, width) : read_numbers(q, in, rows, width);
}

/* ---- a table whose columns are tensors ---- */

/* Of a column: where the next of its elements is. */
struct tensor_column {
    const struct number_type *type; /* NULL: BYTES */
    size_t at;                      /* of raw ones */
};

static shoal_status column_init(struct tensor_column *c, const struct tensor_input *in, size_t rows)
{
    size_t n = 1, found;

    *c = (struct tensor_column){.type = type_find(in->raw_type ? in->raw_type : in->datatype)};
    if (!c->type && strcmp(in->datatype, "BYTES") != 0)
        return wrong_type(in);
    for (size_t i = 1; i < in->dims; i++)
        n *= in->shape[i] == 1 ? 1 : 2;
    if (in->dims == 0 || in->shape[0] != (int64_t)rows || n != 1)
        return shoal_fail(SHOAL_EINVAL,
                          "input '%.40s': found another shape, want [%zu] as of the "
                          "first",
                          in->name, rows);
    found = in->texts ? in->ntexts
            : in->raw ? (c->type ? in->len / c->type->size : rows)
                      : tree_len(in->json);
    if (found != rows || (in->raw && c->type && in->len != rows * c->type->size))
        return shoal_fail(SHOAL_EINVAL, "input '%.40s': found %zu elements, want %zu", in->name,
                          found, rows);
    return SHOAL_OK;
}

static shoal_status column_next(struct tensor_column *c, const struct tensor_input *in, size_t row,
                                struct instance_field *out)
{
    struct tensor_text text = {0};
    shoal_status st = SHOAL_OK;

    *out = (struct instance_field){.name = in->name};
    if (in->raw && c->type) {
        out->number = c->type->read(in->raw + row * c->type->size);
    } else if (in->raw || in->texts) {
        if (in->texts)
            text = in->texts[row];
        else
            st = next_text(in, &c->at, &text);
        out->text = text.at ? text.at : "";
        out->len = text.len;
    } else {
        out->json = tree_at(in->json, row);
        if (tree_kind(out->json) == TREE_LIST && tree_len(out->json) == 1)
            out->json = tree_at(out->json, 0); /* of shape [rows, 1] */
    }
    return st;
}

static shoal_status read_rows(struct request *q, const struct tensor_input *in, size_t n,
                              struct tensor_column *columns, struct instance_field *fields)
{
    size_t rows = in->dims > 0 && in->shape[0] > 0 ? (size_t)in->shape[0] : 0;
    shoal_status st =
        rows > 0 ? SHOAL_OK : shoal_fail(SHOAL_EINVAL, "shape: found a dimension that cannot be");

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = column_init(&columns[i], &in[i], rows);
    for (size_t row = 0; row < rows && st == SHOAL_OK; row++) {
        struct instance one = instance_of(q, in);

        for (size_t i = 0; i < n && st == SHOAL_OK; i++)
            st = column_next(&columns[i], &in[i], row, &fields[i]);
        one.fields = fields;
        one.nfields = n;
        if (st == SHOAL_OK)
            st = predict_add(q, &one);
    }
    return st;
}

static shoal_status read_table(struct request *q, const struct tensor_input *in, size_t n)
{
    struct tensor_column *columns;
    struct instance_field *fields;
    size_t cost = n * (sizeof *columns + sizeof *fields);
    shoal_status st = request_charge(q, cost);

    if (st != SHOAL_OK)
        return st;
    columns = mem_array(n, sizeof *columns);
    fields = mem_array(n, sizeof *fields);
    st = columns && fields ? read_rows(q, in, n, columns, fields) : SHOAL_ENOMEM;
    free(columns);
    free(fields);
    request_refund(q, cost);
    return st;
}

shoal_status tensor_read(struct request *q, const struct tensor_input *in, size_t n)
{
    const struct generation *g = q->lease.generation;

    if (n == 1)
        return read_one(q, in);
    if (n == 0 || !g->kind->has_columns || !g->kind->has_columns(g->model))
        return shoal_fail(SHOAL_EINVAL, "inputs: found %zu, want a list of one tensor", n);
    return read_table(q, in, n);
}

/* ---- what is wanted ---- */

shoal_status tensor_want(struct request *q, const char *name, struct wanted **out)
{
    const struct generation *g = q->lease.generation;
    struct tensor_shape input = {0}, outputs[OUTPUTS_MAX] = {0};

    g->kind->shapes(g->model, &input, outputs);
    q->some_wanted = true;
    for (size_t i = 0; i < OUTPUTS_MAX && outputs[i].name; i++) {
        if (strcmp(name, outputs[i].name) != 0)
            continue;
        *out = &q->wanted[i];
        (*out)->named = true;
        return SHOAL_OK;
    }
    return shoal_fail(SHOAL_EINVAL, "outputs: found '%.40s', want '%s'%s%s", name, outputs[0].name,
                      outputs[1].name ? ", or " : "", outputs[1].name ? outputs[1].name : "");
}

shoal_status tensor_want_classes(struct wanted *wanted, double n)
{
    if (!(n >= 1 && n <= CLASSES_MAX) || n != floor(n))
        return shoal_fail(SHOAL_EINVAL, "classification: found %g, want 1 to %d", n, CLASSES_MAX);
    wanted->classes = (unsigned)n;
    return SHOAL_OK;
}

/* ---- what is answered ---- */

static const float *floats_of(const struct request *q, size_t i, size_t *width)
{
    const struct generation *g = q->job.generation;

    return g->kind->floats ? g->kind->floats(g->model, job_sample(&q->job, i), width) : NULL;
}

/* A tensor has one type: numbers only if every answer is some. */
static bool all_floats(const struct request *q, size_t *width)
{
    for (size_t i = 0; i < q->job.n; i++)
        if (!floats_of(q, i, width))
            return false;
    return true;
}

/* Of names and scores: how many the longest list has. */
static size_t longest(const struct request *q)
{
    const struct generation *g = q->job.generation;
    size_t most = 0;

    for (size_t i = 0; i < q->job.n; i++) {
        const char *name;
        float score;
        size_t n = g->kind->ranked(g->model, job_sample(&q->job, i), 0, &name, &score);

        most = n > most ? n : most;
    }
    return most;
}

/* False: the answer has no such tensor. */
static bool output_of(const struct request *q, const char *name, size_t which,
                      struct tensor_output *t)
{
    const struct generation *g = q->job.generation;
    size_t classes = q->wanted[which].classes, width = 0;

    *t = (struct tensor_output){.name = name,
                                .datatype = "BYTES",
                                .which = which,
                                .binary = q->wanted[which].binary,
                                .dims = 2};
    t->shape[0] = (int64_t)q->job.n;
    if (g->kind->ranked && which < 2) {
        t->what = which == 0 ? TENSOR_NAMES : TENSOR_SCORES;
        t->datatype = which == 0 ? "BYTES" : "FP32";
        width = longest(q);
    } else if (all_floats(q, &width)) {
        t->what = classes ? TENSOR_CLASSES : TENSOR_FLOATS;
        t->datatype = classes ? "BYTES" : "FP32";
        width = classes && classes < width ? classes : width;
    } else {
        t->what = TENSOR_JSON;
        t->dims = 1;
        return !g->kind->ranked;
    }
    t->shape[1] = (int64_t)width;
    return true;
}

size_t tensor_outputs(const struct request *q, struct tensor_output out[OUTPUTS_MAX])
{
    const struct generation *g = q->job.generation;
    struct tensor_shape input = {0}, outputs[OUTPUTS_MAX] = {0};
    size_t n = 0;

    g->kind->shapes(g->model, &input, outputs);
    for (size_t i = 0; i < OUTPUTS_MAX && outputs[i].name; i++)
        if (!q->some_wanted || q->wanted[i].named)
            n += output_of(q, outputs[i].name, i, &out[n]);
    return n;
}

/* ---- elements out ---- */

static void put_string(struct writer *w, const char *text, bool raw)
{
    uint32_t len = (uint32_t)strlen(text);

    if (!raw) {
        put_text(w, text);
        return;
    }
    put_bytes(w, &len, sizeof len);
    put_bytes(w, text, len);
}

static void put_number(struct writer *w, float x, bool raw)
{
    if (raw)
        put_bytes(w, &x, sizeof x);
    else
        put_float(w, x);
}

/* The n largest, "0.9:3:cat" each, as Triton's extension for classification has it. */
static void put_classes(const struct request *q, struct writer *w, const float *x, size_t width,
                        size_t n, bool raw)
{
    const struct generation *g = q->job.generation;
    size_t before = width;

    for (size_t k = 0; k < n; k++) {
        char name[256], text[320];
        size_t best = width;

        for (size_t i = 0; i < width; i++)
            if ((before == width || x[i] < x[before] || (x[i] == x[before] && i > before)) &&
                (best == width || x[i] > x[best]))
                best = i;
        if (best == width) { /* no number is a number */
            put_string(w, "", raw);
            continue;
        }
        if (g->kind->class_name && g->kind->class_name(g->model, best, name, sizeof name))
            number_print(text, sizeof text, "%f:%zu:%s", (double)x[best], best, name);
        else
            number_print(text, sizeof text, "%f:%zu", (double)x[best], best);
        put_string(w, text, raw);
        before = best;
    }
}

static void put_floats(struct writer *w, const float *x, size_t n, bool raw)
{
    if (raw)
        put_bytes(w, x, n * sizeof *x);
    for (size_t i = 0; !raw && i < n; i++)
        put_float(w, x[i]);
}

/* Lists that are shorter than the longest end with nothing, of score 0. */
static void put_ranked(const struct request *q, struct writer *w, const void *sample,
                       const struct tensor_output *t, bool raw)
{
    const struct generation *g = q->job.generation;

    for (size_t k = 0; k < (size_t)t->shape[1]; k++) {
        const char *name;
        float score;

        g->kind->ranked(g->model, sample, k, &name, &score);
        if (t->what == TENSOR_NAMES)
            put_string(w, name, raw);
        else
            put_number(w, score, raw);
    }
}

/* The answer to a sample that is no numbers: JSON, as a string. */
static void put_whole(const struct request *q, struct writer *w, const void *sample, bool raw)
{
    const struct generation *g = q->job.generation;
    struct writer text = {0};

    g->kind->write(g->model, sample, &text);
    text.failed |= bytes_add(&text.out, "", 1) != SHOAL_OK;
    w->failed |= text.failed;
    put_string(w, w->failed ? "" : text.out.at, raw);
    bytes_fini(&text.out);
}

void tensor_put(const struct request *q, const struct tensor_output *t, struct writer *w, bool raw)
{
    for (size_t i = 0; i < q->job.n && !w->failed; i++) {
        const void *sample = job_sample(&q->job, i);
        size_t width = 0;
        const float *x =
            t->what == TENSOR_FLOATS || t->what == TENSOR_CLASSES ? floats_of(q, i, &width) : NULL;

        if (t->what == TENSOR_FLOATS)
            put_floats(w, x, width, raw);
        else if (t->what == TENSOR_CLASSES)
            put_classes(q, w, x, width, (size_t)t->shape[1], raw);
        else if (t->what == TENSOR_JSON)
            put_whole(q, w, sample, raw);
        else
            put_ranked(q, w, sample, t, raw);
    }
}
