/* Tensors of the Open Inference Protocol, as JSON or, by its extension for binary data, as bytes
 * behind the JSON, which the field Inference-Header-Content-Length tells from them:
 *
 *     {"inputs":[{"name":"x","shape":[2,3],"datatype":"FP32",
 *                 "parameters":{"binary_data_size":24}}],
 *      "parameters":{"binary_data_output":true}}      <- so many bytes of JSON
 *     24 bytes, little-endian                         <- and the tensor
 *
 * BYTES are elements of four bytes of length and so many bytes each. An answer has the same form.
 */
#include "serve/routes/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ID_MAX = 256 }; /* bytes of an id that comes back */

/* ---- a request ---- */

/* What is behind the JSON. */
struct blob {
    const char *at;
    size_t len;
};

static const struct tree *parameter(const struct tree *t, const char *name)
{
    return tree_get(tree_get(t, "parameters"), name);
}

static shoal_status read_shape(const struct tree *shape, struct tensor_input *in)
{
    if (tree_kind(shape) != TREE_LIST || tree_len(shape) == 0 || tree_len(shape) > DIMS_MAX)
        return shoal_fail(SHOAL_EINVAL, "shape: found none, want a list of 1 to %d dimensions",
                          DIMS_MAX);
    for (size_t i = 0; i < tree_len(shape); i++) {
        double x = tree_number(tree_at(shape, i));

        if (!(x >= 1 && x <= 1e8) || x != floor(x))
            return shoal_fail(SHOAL_EINVAL, "shape: found a dimension that cannot be");
        in->shape[in->dims++] = (int64_t)x;
    }
    return SHOAL_OK;
}

/* Its bytes, if it has some, are taken off what is behind the JSON. */
static shoal_status read_input(const struct tree *t, const struct tree *input, struct blob *b,
                               struct tensor_input *in)
{
    const struct tree *size = parameter(input, "binary_data_size");
    double len = size ? tree_number(size) : 0;

    *in = (struct tensor_input){.name = tree_text(tree_get(input, "name")),
                                .datatype = tree_text(tree_get(input, "datatype")),
                                .parameters = tree_get(t, "parameters"),
                                .json = tree_get(input, "data")};
    if (!(len >= 0 && len <= (double)b->len) || len != floor(len))
        return shoal_fail(SHOAL_EINVAL, "binary_data_size: found %g, behind the JSON are %zu bytes",
                          len, b->len);
    if (size) {
        in->raw = b->at;
        in->len = (size_t)len;
        b->at += in->len;
        b->len -= in->len;
    }
    return read_shape(tree_get(input, "shape"), in);
}

static shoal_status read_inputs(struct request *q, const struct tree *t, struct blob b,
                                struct tensor_input *in, size_t n)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = read_input(t, tree_at(tree_get(t, "inputs"), i), &b, &in[i]);
    if (st == SHOAL_OK && b.len > 0)
        st = shoal_fail(SHOAL_EINVAL, "binary_data_size: found %zu bytes of no tensor, want none",
                        b.len);
    return st == SHOAL_OK ? tensor_read(q, in, n) : st;
}

/* Several of them are the columns of a table. */
static shoal_status read_many(struct request *q, const struct tree *t, const struct blob *b,
                              size_t n)
{
    struct tensor_input *in;
    shoal_status st = request_charge(q, n * sizeof *in);

    if (st != SHOAL_OK)
        return st;
    in = mem_array(n, sizeof *in);
    st = in ? read_inputs(q, t, *b, in, n) : SHOAL_ENOMEM;
    free(in);
    request_refund(q, n * sizeof *in);
    return st;
}

/* Which outputs are wanted, by name, and whether as bytes. */
static shoal_status read_outputs(struct request *q, const struct tree *t)
{
    const struct tree *outputs = tree_get(t, "outputs");
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < OUTPUTS_MAX; i++)
        q->wanted[i].binary = tree_true(parameter(t, "binary_data_output"));
    if (tree_len(outputs) > OUTPUTS_MAX)
        return shoal_fail(SHOAL_EINVAL, "outputs: found %zu, want %d at most", tree_len(outputs),
                          OUTPUTS_MAX);
    for (size_t i = 0; i < tree_len(outputs) && st == SHOAL_OK; i++) {
        const struct tree *one = tree_at(outputs, i);
        struct wanted *wanted = NULL;

        st = tensor_want(q, tree_text(tree_get(one, "name")), &wanted);
        if (st == SHOAL_OK && parameter(one, "binary_data"))
            wanted->binary = tree_true(parameter(one, "binary_data"));
        if (st == SHOAL_OK && parameter(one, "classification"))
            st = tensor_want_classes(wanted, tree_number(parameter(one, "classification")));
    }
    return st;
}

static shoal_status keep_id(struct request *q, const char *id)
{
    q->tensor_id = strdup(id);
    return q->tensor_id ? SHOAL_OK : shoal_fail(SHOAL_ENOMEM, "id: no memory for it");
}

static shoal_status read_tree(struct request *q, const struct tree *t, const struct blob *b)
{
    const struct tree *inputs = tree_get(t, "inputs"), *id = tree_get(t, "id");
    size_t n = tree_kind(inputs) == TREE_LIST ? tree_len(inputs) : 0;
    struct tensor_input in;
    shoal_status st;

    q->shape = SHAPE_TENSOR;
    if (n == 0 || n > INPUTS_MAX || tree_kind(tree_at(inputs, 0)) != TREE_OBJECT)
        return shoal_fail(SHOAL_EINVAL, "inputs: found %zu, want a list of one tensor", n);
    st =
        tree_kind(id) == TREE_TEXT && tree_len(id) <= ID_MAX ? keep_id(q, tree_text(id)) : SHOAL_OK;
    if (st == SHOAL_OK)
        st = read_outputs(q, t);
    if (st != SHOAL_OK)
        return st;
    return n == 1 ? read_inputs(q, t, *b, &in, 1) : read_many(q, t, b, n);
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
        return shoal_fail(SHOAL_EINVAL,
                          "Inference-Header-Content-Length: found '%.20s', want at "
                          "most the %zu bytes of the body",
                          said, q->body.len);
    *out = (size_t)strtoull(said, NULL, 10);
    return SHOAL_OK;
}

/* As read_tree does it. */
static shoal_status read_head(struct request *q, struct infer_head *h, const struct blob *b)
{
    shoal_status st = SHOAL_OK;

    q->shape = SHAPE_TENSOR;
    if (h->id && strlen(h->id) <= ID_MAX)
        st = keep_id(q, h->id);
    for (size_t i = 0; i < OUTPUTS_MAX; i++)
        q->wanted[i].binary = h->binary;
    for (size_t i = 0; i < h->noutputs && st == SHOAL_OK; i++) {
        struct wanted *wanted = NULL;

        st = tensor_want(q, h->outputs[i].name, &wanted);
        if (st == SHOAL_OK && h->outputs[i].said)
            wanted->binary = h->outputs[i].binary;
    }
    if (st != SHOAL_OK)
        return st;
    if (h->input.len != b->len)
        return shoal_fail(SHOAL_EINVAL,
                          "binary_data_size: found %zu, behind the JSON are %zu bytes",
                          h->input.len, b->len);
    h->input.raw = b->at;
    return tensor_read(q, &h->input, 1);
}

shoal_status infer_read(struct request *q)
{
    const char *body = q->body.at ? q->body.at : "";
    struct infer_head h;
    struct tree *t = NULL;
    size_t cost = 0, json = 0;
    shoal_status st = json_length(q, &json);

    if (st == SHOAL_OK && q->json_length && json < sizeof h.text && infer_scan(&h, body, json))
        return read_head(q, &h, &(struct blob){body + json, q->body.len - json});
    if (st == SHOAL_OK)
        st = request_parse(q, &t, body, json, &cost);
    if (st == SHOAL_OK)
        st = read_tree(q, t, &(struct blob){body + json, q->body.len - json});
    request_parsed(q, t, cost);
    return st;
}

/* ---- an answer ---- */

/* One output; its bytes, if that is wanted, go behind those of the others. */
static void put_output(struct request *q, const struct tensor_output *t, struct writer *w,
                       struct writer *data)
{
    size_t before = data->out.len;

    put_open(w, '{');
    member_text(w, "name", t->name);
    member_text(w, "datatype", t->datatype);
    member_open(w, "shape", '[');
    for (size_t i = 0; i < t->dims; i++)
        put_u64(w, (uint64_t)t->shape[i]);
    put_close(w, "]");
    if (t->binary) {
        tensor_put(q, t, data, true);
        member_open(w, "parameters", '{');
        member_u64(w, "binary_data_size", data->out.len - before);
        put_close(w, "}}");
    } else {
        member_open(w, "data", '[');
        tensor_put(q, t, w, false);
        put_close(w, "]}");
    }
}

void infer_write(struct request *q, struct writer *w)
{
    struct tensor_output outputs[OUTPUTS_MAX];
    size_t n = tensor_outputs(q, outputs);
    struct writer data = {.payer = w->payer, .paid = w->paid};
    bool binary = false;

    put_open(w, '{');
    member_text(w, "model_name", q->lease.version->name);
    member_text(w, "model_version", q->lease.version->version);
    member_text(w, "id", q->tensor_id ? q->tensor_id : q->id);
    member_open(w, "outputs", '[');
    for (size_t i = 0; i < n; i++) {
        put_output(q, &outputs[i], w, &data);
        binary |= outputs[i].binary;
    }
    put_close(w, binary ? "]}" : "]}\n");
    if (binary) {
        q->answer.json_length = w->out.len;
        q->answer.type = "application/octet-stream";
        put_bytes(w, data.out.at, data.out.len);
    }
    w->failed |= data.failed;
    bytes_fini(&data.out);
}
