/* The Open Inference Protocol over gRPC: messages in and out (protobuf-c), by the same requests,
 * readers and batches as JSON. A method is an address, its message the body:
 *
 *     /inference.GRPCInferenceService/ModelInfer     ModelInferRequest --> samples --> batch
 *     /grpc.health.v1.Health/Check                   answered at once
 *
 * A message becomes many small pieces of memory. They come from an arena: blocks that grow, are
 * charged to the request before they are taken, and are freed together. */
#include "serve/routes/predict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inference.pb-c.h"

enum {
    ARENA_FIRST = 4096, /* bytes of the first block, which lies on the stack */
    SMALL = 4096,       /* bytes of messages that are read at once */
    MODELS_MAX = 10000, /* in a list */
};

/* ---- memory of a message ---- */

struct arena_block {
    struct arena_block *next;
    _Alignas(max_align_t) char at[];
};

struct arena {
    struct request *payer;
    struct arena_block *blocks;
    char *at;
    size_t left, charged, next_size;
    shoal_status st; /* of the first block that was refused */
    _Alignas(max_align_t) char first[ARENA_FIRST];
};

static void arena_init(struct arena *a, struct request *payer)
{
    a->payer = payer;
    a->blocks = NULL;
    a->at = a->first;
    a->left = sizeof a->first;
    a->charged = 0;
    a->next_size = 4 * sizeof a->first;
    a->st = SHOAL_OK;
}

static bool arena_grow(struct arena *a, size_t size)
{
    struct arena_block *b;

    size += size < a->next_size ? a->next_size : 0;
    a->st = request_charge(a->payer, size + sizeof *b);
    if (a->st != SHOAL_OK)
        return false;
    a->charged += size + sizeof *b;
    b = malloc(sizeof *b + size);
    if (!b) {
        a->st = shoal_fail(SHOAL_ENOMEM, "message: no memory for %zu bytes", size);
        return false;
    }
    b->next = a->blocks;
    a->blocks = b;
    a->at = b->at;
    a->left = size;
    a->next_size *= 2;
    return true;
}

static void *arena_take(void *arena, size_t size)
{
    struct arena *a = arena;
    const size_t unit = _Alignof(max_align_t);
    char *at;

    if (size > SIZE_MAX / 4)
        return NULL;
    size = (size + unit - 1) / unit * unit;
    if (size > a->left && (a->st != SHOAL_OK || !arena_grow(a, size)))
        return NULL;
    at = a->at;
    a->at += size;
    a->left -= size;
    return at;
}

static void arena_give(void *arena, void *at) /* with the arena */
{
    (void)arena;
    (void)at;
}

static void arena_fini(struct arena *a)
{
    while (a->blocks) {
        struct arena_block *b = a->blocks;

        a->blocks = b->next;
        free(b);
    }
    request_refund(a->payer, a->charged);
}

/* The body as a message; NULL after shoal_fail. */
static void *message_read(struct arena *a, const ProtobufCMessageDescriptor *type,
                          const struct bytes *body)
{
    ProtobufCAllocator memory = {arena_take, arena_give, a};
    void *m = protobuf_c_message_unpack(type, &memory, body->len,
                                        (const uint8_t *)(body->at ? body->at : ""));

    if (!m && a->st == SHOAL_OK)
        shoal_fail(SHOAL_EINVAL, "found no %s, want a message of it", type->short_name);
    return m;
}

static shoal_status message_status(const struct arena *a)
{
    return a->st == SHOAL_OK ? SHOAL_EINVAL : a->st;
}

/* The message as the answer. */
static void message_put(struct writer *w, const void *message)
{
    size_t len = protobuf_c_message_get_packed_size(message);

    w->failed |= bytes_reserve(&w->out, len) != SHOAL_OK;
    if (w->failed)
        return;
    w->out.len += protobuf_c_message_pack(message, (uint8_t *)w->out.at + w->out.len);
}

static void answer_message(struct request *q, const void *message)
{
    q->answer.status = 200;
    message_put(&q->answer.body, message);
}

/* ---- ModelInfer: in ---- */

/* Parameters as fields of an address would be: numbers become text. */
static shoal_status keep_parameters(struct request *q, struct arena *a,
                                    Inference__ParameterEntry *const *entries, size_t n)
{
    q->query.nfields = 0;
    for (size_t i = 0; i < n && q->query.nfields < QUERY_FIELDS; i++) {
        const Inference__InferParameter *p = entries[i]->value;
        char *text = arena_take(a, 32);

        if (!p)
            continue;
        if (!text)
            return a->st;
        switch (p->parameter_choice_case) {
        case INFERENCE__INFER_PARAMETER__PARAMETER_CHOICE_BOOL_PARAM:
            snprintf(text, 32, "%s", p->bool_param ? "true" : "false");
            break;
        case INFERENCE__INFER_PARAMETER__PARAMETER_CHOICE_INT64_PARAM:
            snprintf(text, 32, "%lld", (long long)p->int64_param);
            break;
        case INFERENCE__INFER_PARAMETER__PARAMETER_CHOICE_UINT64_PARAM:
            snprintf(text, 32, "%llu", (unsigned long long)p->uint64_param);
            break;
        case INFERENCE__INFER_PARAMETER__PARAMETER_CHOICE_DOUBLE_PARAM:
            number_print(text, 32, "%.17g", p->double_param);
            break;
        case INFERENCE__INFER_PARAMETER__PARAMETER_CHOICE_STRING_PARAM:
            text = p->string_param;
            break;
        default:
            continue;
        }
        q->query.fields[q->query.nfields++] = (struct field){entries[i]->key, text};
    }
    return SHOAL_OK;
}

static double parameter_number(const Inference__InferParameter *p)
{
    switch (p ? p->parameter_choice_case : 0) {
    case INFERENCE__INFER_PARAMETER__PARAMETER_CHOICE_INT64_PARAM:
        return (double)p->int64_param;
    case INFERENCE__INFER_PARAMETER__PARAMETER_CHOICE_UINT64_PARAM:
        return (double)p->uint64_param;
    case INFERENCE__INFER_PARAMETER__PARAMETER_CHOICE_DOUBLE_PARAM:
        return p->double_param;
    default:
        return 0;
    }
}

static shoal_status read_outputs(struct request *q, const Inference__ModelInferRequest *m)
{
    shoal_status st = SHOAL_OK;

    if (m->n_outputs > OUTPUTS_MAX)
        return shoal_fail(SHOAL_EINVAL, "outputs: found %zu, want %d at most", m->n_outputs,
                          OUTPUTS_MAX);
    for (size_t i = 0; i < m->n_outputs && st == SHOAL_OK; i++) {
        const Inference__InferRequestedOutputTensor *one = m->outputs[i];
        struct wanted *wanted = NULL;

        st = tensor_want(q, one->name, &wanted);
        for (size_t k = 0; k < one->n_parameters && st == SHOAL_OK; k++)
            if (strcmp(one->parameters[k]->key, "classification") == 0)
                st = tensor_want_classes(wanted, parameter_number(one->parameters[k]->value));
    }
    return st;
}

/* Elements that are a list of their own in the message. Small types are there as large ones. */
static shoal_status typed_elements(const Inference__InferTensorContents *c, struct arena *a,
                                   struct tensor_input *in)
{
    static const struct {
        const char *datatype, *stored_as;
        size_t at, count, size;
    } lists[] = {
#define LIST(datatype, as, member, type)                                                           \
    {datatype, as, offsetof(Inference__InferTensorContents, member),                               \
     offsetof(Inference__InferTensorContents, n_##member), sizeof(type)}
        LIST("FP32", "FP32", fp32_contents, float),
        LIST("FP64", "FP64", fp64_contents, double),
        LIST("BOOL", "INT32", bool_contents, protobuf_c_boolean),
        LIST("INT8", "INT32", int_contents, int32_t),
        LIST("INT16", "INT32", int_contents, int32_t),
        LIST("INT32", "INT32", int_contents, int32_t),
        LIST("INT64", "INT64", int64_contents, int64_t),
        LIST("UINT8", "UINT32", uint_contents, uint32_t),
        LIST("UINT16", "UINT32", uint_contents, uint32_t),
        LIST("UINT32", "UINT32", uint_contents, uint32_t),
        LIST("UINT64", "UINT64", uint64_contents, uint64_t),
#undef LIST
    };

    if (strcmp(in->datatype, "BYTES") == 0) {
        struct tensor_text *texts = arena_take(a, (c->n_bytes_contents + 1) * sizeof *texts);

        if (!texts)
            return a->st;
        for (size_t i = 0; i < c->n_bytes_contents; i++)
            texts[i] = (struct tensor_text){(const char *)c->bytes_contents[i].data,
                                            c->bytes_contents[i].len};
        in->texts = texts;
        in->ntexts = c->n_bytes_contents;
        return SHOAL_OK;
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const char *base = (const char *)c;

        if (strcmp(lists[i].datatype, in->datatype) != 0)
            continue;
        memcpy(&in->raw, base + lists[i].at, sizeof in->raw);
        memcpy(&in->len, base + lists[i].count, sizeof in->len);
        in->len *= lists[i].size;
        in->raw = in->len ? in->raw : "";
        in->raw_type = lists[i].stored_as;
        return SHOAL_OK;
    }
    return shoal_fail(SHOAL_EINVAL, "contents: found none of %.20s, want raw_input_contents",
                      in->datatype);
}

/* `raw` is NULL where all contents are typed. */
static shoal_status read_input(struct arena *a, const Inference__InferInputTensor *t,
                               const ProtobufCBinaryData *raw, struct tensor_input *in)
{
    if (t->n_shape > DIMS_MAX)
        return shoal_fail(SHOAL_EINVAL, "shape: found %zu dimensions, want 1 to %d", t->n_shape,
                          DIMS_MAX);
    *in = (struct tensor_input){.name = t->name, .datatype = t->datatype, .dims = t->n_shape};
    if (in->dims > 0)
        memcpy(in->shape, t->shape, in->dims * sizeof *in->shape);
    if (!raw == !t->contents)
        return shoal_fail(SHOAL_EINVAL,
                          "found %s contents and raw_input_contents, want one of "
                          "them",
                          raw ? "both" : "neither");
    if (!raw)
        return typed_elements(t->contents, a, in);
    in->raw = raw->data ? (const char *)raw->data : "";
    in->len = raw->len;
    return SHOAL_OK;
}

static shoal_status read_inputs(struct request *q, struct arena *a,
                                const Inference__ModelInferRequest *m)
{
    size_t n = m->n_inputs, nraw = m->n_raw_input_contents;
    struct tensor_input *in;
    shoal_status st = SHOAL_OK;

    if (n == 0 || n > INPUTS_MAX)
        return shoal_fail(SHOAL_EINVAL, "inputs: found %zu, want one tensor", n);
    if (nraw != 0 && nraw != n)
        return shoal_fail(SHOAL_EINVAL,
                          "raw_input_contents: found %zu, want one for each of the "
                          "%zu inputs",
                          nraw, n);
    in = arena_take(a, n * sizeof *in);
    if (!in)
        return a->st;
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = read_input(a, m->inputs[i], nraw ? &m->raw_input_contents[i] : NULL, &in[i]);
    return st == SHOAL_OK ? tensor_read(q, in, n) : st;
}

static shoal_status read_infer(struct request *q, struct arena *a)
{
    const Inference__ModelInferRequest *m =
        message_read(a, &inference__model_infer_request__descriptor, &q->body);
    shoal_status st;

    if (!m)
        return message_status(a);
    q->shape = SHAPE_TENSOR;
    if (*m->id && strlen(m->id) <= 256 && !(q->tensor_id = strdup(m->id)))
        return shoal_fail(SHOAL_ENOMEM, "id: no memory for it");
    st = keep_parameters(q, a, m->parameters, m->n_parameters);
    if (st == SHOAL_OK)
        st = read_outputs(q, m);
    return st == SHOAL_OK ? read_inputs(q, a, m) : st;
}

static shoal_status infer_in(struct request *q)
{
    struct arena a;
    shoal_status st;

    arena_init(&a, q);
    st = read_infer(q, &a);
    q->query.nfields = 0; /* they lay in the arena */
    arena_fini(&a);
    return st;
}

/* ---- ModelInfer: out ---- */

static void infer_out(struct request *q, struct writer *w)
{
    struct tensor_output outputs[OUTPUTS_MAX];
    size_t n = tensor_outputs(q, outputs);
    struct writer data = {.payer = w->payer, .paid = w->paid};
    Inference__ModelInferResponse m = INFERENCE__MODEL_INFER_RESPONSE__INIT;
    Inference__InferOutputTensor tensors[OUTPUTS_MAX], *list[OUTPUTS_MAX];
    ProtobufCBinaryData raw[OUTPUTS_MAX];
    size_t ends[OUTPUTS_MAX];

    for (size_t i = 0; i < n; i++) {
        tensors[i] = (Inference__InferOutputTensor)INFERENCE__INFER_OUTPUT_TENSOR__INIT;
        tensors[i].name = (char *)(uintptr_t)outputs[i].name;
        tensors[i].datatype = (char *)(uintptr_t)outputs[i].datatype;
        tensors[i].n_shape = outputs[i].dims;
        tensors[i].shape = outputs[i].shape;
        list[i] = &tensors[i];
        tensor_put(q, &outputs[i], &data, true);
        ends[i] = data.out.len;
    }
    for (size_t i = 0; i < n; i++) { /* the bytes stay where they are now */
        size_t from = i > 0 ? ends[i - 1] : 0;

        raw[i] = (ProtobufCBinaryData){ends[i] - from, (uint8_t *)data.out.at + from};
    }
    m.model_name = q->lease.version->name;
    m.model_version = q->lease.version->version;
    m.id = q->tensor_id ? q->tensor_id : m.id;
    m.n_outputs = m.n_raw_output_contents = n;
    m.outputs = list;
    m.raw_output_contents = raw;
    w->failed |= data.failed;
    message_put(w, &m);
    bytes_fini(&data.out);
}

static const struct wire wire = {infer_in, infer_out};

/* ---- ModelInfer: whom it is for ---- */

/* A number of the wire, seven bits a byte; false: there is none. */
static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t byte = *(*at)++;

        *out |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128))
            return true;
    }
    return false;
}

/* Texts that are fields 1 and 2 of a message, the last of each, found without reading the rest:
 * which model it is decides who reads it. False: it is no message, or one is too long. */
static bool peek(const struct bytes *body, char texts[2][NAME_MAX_LEN + 1])
{
    const uint8_t *at = (const uint8_t *)(body->at ? body->at : ""), *end = at + body->len;

    while (at < end) {
        uint64_t tag, len = 0;

        if (!take_varint(&at, end, &tag))
            return false;
        if ((tag & 7) == 0 && !take_varint(&at, end, &len))
            return false;
        if ((tag & 7) == 0)
            continue;
        if ((tag & 7) == 2 && !take_varint(&at, end, &len))
            return false;
        len = (tag & 7) == 1 ? 8 : (tag & 7) == 5 ? 4 : len;
        if ((tag & 7) > 5 || (tag & 7) == 3 || (tag & 7) == 4 || len > (uint64_t)(end - at))
            return false;
        if (tag == (1 << 3 | 2) || tag == (2 << 3 | 2)) {
            char *text = texts[(tag >> 3) - 1];

            if (len > NAME_MAX_LEN)
                return false;
            memcpy(text, at, len);
            text[len] = '\0';
        }
        at += len;
    }
    return true;
}

static enum route model_infer(struct request *q)
{
    char texts[2][NAME_MAX_LEN + 1] = {"", ""};

    if (!peek(&q->body, texts)) {
        shoal_fail(SHOAL_EINVAL, "found no ModelInferRequest, want a message of it");
        answer_failure(q, SHOAL_EINVAL);
        return ROUTE_ANSWERED;
    }
    if (!request_lease(q, texts[0], *texts[1] ? texts[1] : NULL))
        return ROUTE_ANSWERED;
    return predict_begin(q, "infer");
}

/* ---- the server and its models ---- */

static enum route server_live(struct request *q)
{
    Inference__Flag m = INFERENCE__FLAG__INIT;

    m.on = true;
    answer_message(q, &m);
    return ROUTE_ANSWERED;
}

static enum route server_ready(struct request *q)
{
    Inference__Flag m = INFERENCE__FLAG__INIT;

    m.on = server_is_ready(q->server);
    answer_message(q, &m);
    return ROUTE_ANSWERED;
}

static enum route server_metadata(struct request *q)
{
    Inference__ServerMetadataResponse m = INFERENCE__SERVER_METADATA_RESPONSE__INIT;

    m.name = (char *)(uintptr_t) "shoal";
    m.version = (char *)(uintptr_t)shoal_version();
    m.extensions = (char **)(uintptr_t)oip_extensions;
    while (oip_extensions[m.n_extensions])
        m.n_extensions++;
    answer_message(q, &m);
    return ROUTE_ANSWERED;
}

/* Health/Check: of the server, of one of the services, or of a model by its name. */
static void health(struct request *q, const void *message)
{
    enum { SERVING = 1, NOT_SERVING = 2 };
    const char *service = ((const Inference__HealthCheckRequest *)message)->service;
    Inference__HealthCheckResponse m = INFERENCE__HEALTH_CHECK_RESPONSE__INIT;
    bool ready = false;

    if (!*service || strcmp(service, "inference.GRPCInferenceService") == 0 ||
        strcmp(service, "grpc.health.v1.Health") == 0) {
        ready = server_is_ready(q->server);
    } else {
        answer_error(q, 404, "", "unknown service");
        return;
    }
    m.status = ready ? SERVING : NOT_SERVING;
    answer_message(q, &m);
}

static void model_ready(struct request *q, const void *message)
{
    const Inference__ModelName *asked = message;
    enum registry_error why = REGISTRY_NO_ERROR;
    Inference__Flag m = INFERENCE__FLAG__INIT;
    shoal_status st = registry_lease(&q->server->registry, asked->name,
                                     *asked->version ? asked->version : NULL, &q->lease, &why);

    if (st != SHOAL_OK) {
        answer_registry_failure(q, st, why);
        return;
    }
    m.on = lease_is_ready(q->server, &q->lease);
    answer_message(q, &m);
}

static void describe_tensor(const struct tensor_shape *t, Inference__TensorMetadata *m)
{
    *m = (Inference__TensorMetadata)INFERENCE__TENSOR_METADATA__INIT;
    m->name = (char *)(uintptr_t)t->name;
    m->datatype = (char *)(uintptr_t)t->datatype;
    m->n_shape = t->dims;
    m->shape = (int64_t *)(uintptr_t)t->shape;
}

/* The names of a model's versions, in the arena. */
static shoal_status list_versions(struct request *q, struct arena *a,
                                  Inference__ModelMetadataResponse *m)
{
    struct lease other = {0};
    char **list = NULL;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && m->n_versions < MODELS_MAX &&
           registry_next(&q->server->registry, q->lease.version->name, &other)) {
        size_t n = m->n_versions;
        char *text = arena_take(a, NAME_MAX_LEN + 1);

        if (!(n & (n - 1))) { /* doubled at each power of two */
            char **more = arena_take(a, (n ? 2 * n : 1) * sizeof *more);

            if (more && n)
                memcpy(more, list, n * sizeof *more);
            list = more;
        }
        st = text && list ? SHOAL_OK : a->st;
        if (st == SHOAL_OK) {
            snprintf(text, NAME_MAX_LEN + 1, "%s", other.version->version);
            list[m->n_versions++] = text;
        }
    }
    lease_end(&other);
    m->versions = list;
    return st;
}

static void model_metadata(struct request *q, const void *message)
{
    const Inference__ModelName *asked = message;
    Inference__ModelMetadataResponse m = INFERENCE__MODEL_METADATA_RESPONSE__INIT;
    Inference__TensorMetadata all[1 + OUTPUTS_MAX], *list[1 + OUTPUTS_MAX];
    struct tensor_shape input = {0}, outputs[OUTPUTS_MAX] = {0};
    const struct generation *g;
    struct arena a;
    char platform[64];
    shoal_status st;

    if (!request_lease(q, asked->name, *asked->version ? asked->version : NULL))
        return;
    g = q->lease.generation;
    g->kind->shapes(g->model, &input, outputs);
    for (size_t i = 0; i <= OUTPUTS_MAX; i++)
        list[i] = &all[i];
    describe_tensor(&input, &all[0]);
    for (; m.n_outputs < OUTPUTS_MAX && outputs[m.n_outputs].name; m.n_outputs++)
        describe_tensor(&outputs[m.n_outputs], &all[1 + m.n_outputs]);
    snprintf(platform, sizeof platform, "shoal_%s", shoal_model_kind(g->saved));
    m.name = q->lease.version->name;
    m.platform = platform;
    m.n_inputs = 1;
    m.inputs = list;
    m.outputs = list + 1;
    arena_init(&a, q);
    st = list_versions(q, &a, &m);
    if (st == SHOAL_OK)
        answer_message(q, &m);
    else
        answer_failure(q, st);
    arena_fini(&a);
}

/* ---- statistics ---- */

/* A response of many messages is put together one by one: each is a field with its length. */
static void put_item(struct writer *w, const void *item)
{
    size_t len = protobuf_c_message_get_packed_size(item), n = 0;
    char head[12] = {1 << 3 | 2};

    for (n = 1; len > 127; len >>= 7)
        head[n++] = (char)(128 | (len & 127));
    head[n++] = (char)len;
    put_bytes(w, head, n);
    message_put(w, item);
}

static Inference__StatisticDuration duration(uint64_t count, uint64_t ns)
{
    Inference__StatisticDuration d = INFERENCE__STATISTIC_DURATION__INIT;

    d.count = count;
    d.ns = ns;
    return d;
}

static void put_statistics(struct writer *w, struct version *v)
{
    struct model_stats s = model_stats_of(v);
    Inference__StatisticDuration parts[] = {
        duration(s.successes, s.all_ns),   duration(s.failures, 0),
        duration(s.successes, s.queue_ns), duration(s.successes, s.input_ns),
        duration(s.successes, s.infer_ns), duration(s.successes, s.output_ns),
    };
    Inference__InferStatistics all = INFERENCE__INFER_STATISTICS__INIT;
    Inference__ModelStatistics m = INFERENCE__MODEL_STATISTICS__INIT;

    all.success = &parts[0];
    all.fail = &parts[1];
    all.queue = &parts[2];
    all.compute_input = &parts[3];
    all.compute_infer = &parts[4];
    all.compute_output = &parts[5];
    m.name = v->name;
    m.version = v->version;
    m.inference_count = s.inferences;
    m.execution_count = s.executions;
    m.inference_stats = &all;
    put_item(w, &m);
}

static void model_statistics(struct request *q, const void *message)
{
    const Inference__ModelName *asked = message;
    struct lease lease = {0};

    if ((*asked->name || *asked->version) &&
        !request_lease(q, asked->name, *asked->version ? asked->version : NULL))
        return;
    q->answer.status = 200;
    if (*asked->version)
        put_statistics(&q->answer.body, q->lease.version);
    while (!*asked->version &&
           registry_next(&q->server->registry, *asked->name ? asked->name : NULL, &lease))
        put_statistics(&q->answer.body, lease.version);
}

/* ---- the repository ---- */

static void put_index(void *ctx, const struct repository_entry *e)
{
    Inference__ModelIndex m = INFERENCE__MODEL_INDEX__INIT;

    m.name = (char *)(uintptr_t)e->name;
    m.version = (char *)(uintptr_t)e->version;
    m.state = (char *)(uintptr_t)(e->ready ? "READY" : "UNAVAILABLE");
    m.reason = (char *)(uintptr_t)e->reason;
    put_item(ctx, &m);
}

static void repository_index(struct request *q, const void *message)
{
    const Inference__RepositoryIndexRequest *asked = message;

    q->answer.status = 200;
    repository_each(&q->server->registry, asked->ready, put_index, &q->answer.body);
}

static void repository_change(struct request *q, const void *message,
                              shoal_status (*change)(struct registry *r, const char *name,
                                                     enum registry_error *why))
{
    const Inference__RepositoryModelRequest *asked = message;
    enum registry_error why = REGISTRY_NO_ERROR;
    shoal_status st = change(&q->server->registry, asked->model_name, &why);

    if (st == SHOAL_OK)
        q->answer.status = 200;
    else
        answer_registry_failure(q, st, why);
}

static void model_load(struct request *q, const void *message)
{
    repository_change(q, message, repository_load);
}

static void model_unload(struct request *q, const void *message)
{
    repository_change(q, message, repository_unload);
}

/* ---- methods ---- */

static const struct method {
    const char *path;
    unsigned role; /* 0: for everybody, token or not */
    enum route (*begin)(struct request *q);
    /* Or: with the message, which is small; by a worker where files are opened. */
    const ProtobufCMessageDescriptor *type;
    void (*answer)(struct request *q, const void *message);
    bool slow;
} methods[] = {
#define SERVICE "/inference.GRPCInferenceService/"
    {SERVICE "ModelInfer", ROLE_INFERENCE, .begin = model_infer},
    {SERVICE "ServerLive", 0, .begin = server_live},
    {SERVICE "ServerReady", 0, .begin = server_ready},
    {SERVICE "ServerMetadata", ROLE_INFERENCE, .begin = server_metadata},
    {SERVICE "ModelReady", ROLE_INFERENCE, .type = &inference__model_name__descriptor,
     .answer = model_ready},
    {SERVICE "ModelMetadata", ROLE_INFERENCE, .type = &inference__model_name__descriptor,
     .answer = model_metadata},
    {SERVICE "ModelStatistics", ROLE_INFERENCE, .type = &inference__model_name__descriptor,
     .answer = model_statistics},
    {SERVICE "RepositoryIndex", ROLE_MANAGEMENT,
     .type = &inference__repository_index_request__descriptor, .answer = repository_index,
     .slow = true},
    {SERVICE "RepositoryModelLoad", ROLE_MANAGEMENT,
     .type = &inference__repository_model_request__descriptor, .answer = model_load, .slow = true},
    {SERVICE "RepositoryModelUnload", ROLE_MANAGEMENT,
     .type = &inference__repository_model_request__descriptor, .answer = model_unload,
     .slow = true},
    {"/grpc.health.v1.Health/Check", 0, .type = &inference__health_check_request__descriptor,
     .answer = health},
};

static const struct method *method_find(const char *path)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].path, path) == 0)
            return &methods[i];
    return NULL;
}

static void answer_by_message(struct request *q)
{
    const struct method *m = method_find(q->address);
    struct arena a;
    const void *message;

    arena_init(&a, q);
    message = message_read(&a, m->type, &q->body);
    if (message)
        m->answer(q, message);
    else
        answer_failure(q, message_status(&a));
    arena_fini(&a);
}

static void by_worker(struct request *q)
{
    answer_by_message(q);
    q->wake(q);
}

static bool grpc_admit(struct request *q)
{
    const struct method *m = method_find(q->address);

    q->wire = &wire;
    q->v2 = true;
    q->route = m ? m->path : NULL;
    if (!request_admit_client(q))
        return false;
    if (!m) {
        answer_error(q, 501, "", "unknown method");
        return false;
    }
    if (m->role && !(q->roles & m->role)) {
        answer_error(q, 403, "", "models are not managed at this address");
        return false;
    }
    if (m->role && atomic_load_explicit(&q->server->starting, memory_order_relaxed)) {
        answer_error(q, 503, "", "the server is starting");
        return false;
    }
    return !m->role || request_admit_token(q, m->role);
}

static enum route grpc_begin(struct request *q)
{
    const struct method *m = method_find(q->address);

    if (m->begin)
        return m->begin(q);
    if (q->body.len > SMALL) {
        answer_error(q, 413, "", "the message is larger than this method takes");
        return ROUTE_ANSWERED;
    }
    if (m->slow) {
        q->work = by_worker;
        return ROUTE_WAITS;
    }
    answer_by_message(q);
    return ROUTE_ANSWERED;
}

const struct http_handler grpc_routes = {
    .admit = grpc_admit,
    .begin = grpc_begin,
    .submit = route_submit,
    .finish = route_finish,
    .end = route_end,
};
