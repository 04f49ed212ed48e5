/* Linear models: rows of sparse features in; out of those of two classes the probability of
 * class 1, of others that of each class, and the likeliest. */
#include "serve/models/fields.h"
#include "serve/models/servable.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MAX = 4096,            /* of one input */
    FLOAT_TEXT = 14,            /* bytes of a probability in an answer, about */
    ROW_BLOCK_TEXT = 512 << 10, /* bytes of a block of the row reader, and its longest line */
    BLOCK_COST = 24,            /* bytes of memory for a byte of a block and the rows of it */
    COLUMN_COST = 48,           /* and for a byte of a CSV header's names of columns */
};

struct row_sample {
    uint32_t *slots;
    float *values;
    size_t len, slots_cap, values_cap;
    size_t *ends; /* [rows] into slots */
    float *p;     /* [rows][outputs] */
    size_t rows, ends_cap, p_cap;
};
_Static_assert(sizeof(struct row_sample) <= SAMPLE_MAX, "a sample fits");

static shoal_status linear_open(const void **out, const shoal_model *model)
{
    *out = model_linear(model);
    return SHOAL_OK;
}

static void linear_shapes(const void *model, struct tensor_shape *input,
                          struct tensor_shape *output)
{
    *input = (struct tensor_shape){"rows", "BYTES", {-1}, 1};
    *output = (struct tensor_shape){"probability", "FP32", {-1, logreg_outputs(model)}, 2};
}

/* ---- reading ---- */

/* Room for a row of n features; what it takes grows by half. */
static shoal_status row_room(const void *model, struct row_sample *s, struct request *q, size_t n)
{
    size_t outputs = logreg_outputs(model);
    size_t bytes =
        n * (sizeof *s->slots + sizeof *s->values) + sizeof *s->ends + outputs * sizeof *s->p;
    shoal_status st;

    if (s->rows == ROWS_MAX)
        return shoal_fail(SHOAL_EINVAL, "found more than %d rows in one input", ROWS_MAX);
    st = request_charge_sample(q, bytes + bytes / 2, outputs * FLOAT_TEXT);
    if (st == SHOAL_OK)
        st = mem_grow((void **)&s->slots, &s->slots_cap, s->len + n, sizeof *s->slots);
    if (st == SHOAL_OK)
        st = mem_grow((void **)&s->values, &s->values_cap, s->len + n, sizeof *s->values);
    if (st == SHOAL_OK)
        st = mem_grow((void **)&s->ends, &s->ends_cap, s->rows + 1, sizeof *s->ends);
    if (st == SHOAL_OK)
        st = mem_grow((void **)&s->p, &s->p_cap, (s->rows + 1) * outputs, sizeof *s->p);
    return st;
}

static shoal_status keep_row(const void *model, struct row_sample *s, struct request *q,
                             const struct click_rows *b, size_t row)
{
    uint32_t from = b->start[row], to = b->start[row + 1];
    shoal_status st = row_room(model, s, q, to - from);

    if (st != SHOAL_OK)
        return st;
    for (uint32_t i = from; i < to; i++) {
        s->slots[s->len] = b->slot[i];
        s->values[s->len++] = b->value ? b->value[i] : 1;
    }
    s->ends[s->rows++] = s->len;
    return SHOAL_OK;
}

static shoal_status keep_rows(const void *model, struct row_sample *s, struct request *q,
                              const char *at, size_t len, const struct shoal_clicks_opts *opts)
{
    struct shoal_memory body = {"body", at, len};
    struct click_stream *stream = NULL;
    struct click_rows block = {0};
    shoal_status st =
        click_stream_open(&stream, &(struct sources){.blocks = &body, .n = 1}, opts, true);

    while (st == SHOAL_OK) {
        st = click_stream_next(stream, &block);
        if (st != SHOAL_OK || block.rows == 0)
            break;
        for (size_t i = 0; i < block.rows && st == SHOAL_OK; i++)
            st = keep_row(model, s, q, &block, i);
    }
    click_stream_close(stream);
    return st;
}

/* What the row reader allocates; it works on blocks of whole lines. */
static size_t reading_cost(const struct shoal_clicks_opts *opts, const char *at, size_t len)
{
    const char *end = at + len, *line;
    size_t longest = 0;

    if (opts->format == SHOAL_CLICKS_CSV) /* its records may have many lines */
        return len * BLOCK_COST + (len < ROW_BLOCK_TEXT ? len : ROW_BLOCK_TEXT) * COLUMN_COST;
    if (len <= ROW_BLOCK_TEXT)
        return len * BLOCK_COST;
    for (; at < end; at = line + 1) {
        line = memchr(at, '\n', (size_t)(end - at));
        line = line ? line : end;
        longest = (size_t)(line - at) > longest ? (size_t)(line - at) : longest;
    }
    longest += ROW_BLOCK_TEXT;
    return (longest < len ? longest : len) * BLOCK_COST;
}

static shoal_status read_text(const void *model, struct request *q, struct row_sample *s,
                              const char *at, size_t len)
{
    struct shoal_clicks_opts opts = shoal_logreg_reading(model);
    size_t cost = reading_cost(&opts, at, len);
    shoal_status st = request_charge(q, cost);

    if (st != SHOAL_OK)
        return st;
    opts.threads = 1;
    /* The other formats begin with tables of columns or numbers, which take long. */
    if (opts.format != SHOAL_CLICKS_LIBSVM && opts.format != SHOAL_CLICKS_VW)
        st = request_leave_loop(q);
    if (st == SHOAL_OK)
        st = keep_rows(model, s, q, at, len, &opts);
    request_refund(q, cost);
    if (st == SHOAL_OK && s->rows == 0)
        st = shoal_fail(SHOAL_EINVAL, "found no row, want one");
    return st;
}

struct features {
    struct shoal_clicks_opts opts;
    struct row_sample *sample;
};

/* As a row of text would have it: a feature of value 0 is none. */
static shoal_status take_feature(void *ctx, const char *key, const struct tree *value)
{
    struct features *f = ctx;
    struct row_sample *s = f->sample;
    float x = (float)tree_number(value);
    shoal_status st = click_slot(&s->slots[s->len], &f->opts, key, strlen(key));

    if (st == SHOAL_OK && !isfinite(x))
        return shoal_fail(SHOAL_EINVAL, "found no number for '%.32s', want one that a float holds",
                          key);
    s->values[s->len] = x;
    s->len += st == SHOAL_OK && x != 0 && s->slots[s->len] != CLICKS_NO_SLOT;
    return st;
}

/* {"17": 0.5, "3": 1}: the features of a row of libsvm or of Vowpal Wabbit. */
static shoal_status read_features(const void *model, struct request *q, const struct tree *t,
                                  struct row_sample *s)
{
    struct features f = {shoal_logreg_reading(model), s};
    shoal_status st = row_room(model, s, q, tree_len(t));

    if (st == SHOAL_OK)
        st = tree_each(t, take_feature, &f);
    if (st == SHOAL_OK)
        s->ends[s->rows++] = s->len;
    return st;
}

/* The fields of a table's row, read with that status, become features of it. */
static shoal_status read_done(struct fields *f, const struct shoal_clicks_opts *opts,
                              struct request *q, struct row_sample *s, shoal_status st)
{
    if (st == SHOAL_OK)
        st = fields_check(f, opts->columns);
    if (st == SHOAL_OK) {
        s->len += click_fields_features(opts->columns, opts->bits, f->at, s->slots + s->len,
                                        s->values + s->len);
        s->ends[s->rows++] = s->len;
    }
    fields_fini(f, q);
    return st;
}

/* {"age": 39, "city": "Rome"} or [39, "Rome"] of a model that learned from a table. */
static shoal_status read_fields(const void *model, struct request *q, const struct tree *t,
                                struct row_sample *s)
{
    struct shoal_clicks_opts opts = shoal_logreg_reading(model);
    struct fields f;
    shoal_status st = row_room(model, s, q, 2 * opts.columns->n);

    if (st == SHOAL_OK)
        st = fields_init(&f, opts.columns, q);
    if (st != SHOAL_OK)
        return st;
    return read_done(&f, &opts, q, s, fields_json(&f, opts.columns, t));
}

/* A row of numbers, a column each, or of values by the names of the columns. */
static shoal_status read_columns(const void *model, const struct instance *in,
                                 struct row_sample *s)
{
    struct shoal_clicks_opts opts = shoal_logreg_reading(model);
    struct fields f;
    shoal_status st = row_room(model, s, in->request, 2 * opts.columns->n);

    if (st == SHOAL_OK)
        st = fields_init(&f, opts.columns, in->request);
    if (st != SHOAL_OK)
        return st;
    st = in->fields ? fields_named(&f, opts.columns, in->fields, in->nfields)
                    : fields_numbers(&f, opts.columns, in->numbers, in->count);
    return read_done(&f, &opts, in->request, s, st);
}

static shoal_status linear_read(const void *model, const struct instance *in, void *sample)
{
    const struct tree *t = in->json;
    bool table = shoal_logreg_reading(model).columns != NULL;

    if (in->bytes)
        return read_text(model, in->request, sample, in->bytes, in->len);
    if ((in->numbers || in->fields) && table)
        return read_columns(model, in, sample);
    if (tree_kind(t) == TREE_TEXT)
        return read_text(model, in->request, sample, tree_text(t), tree_len(t));
    if (tree_kind(tree_get(t, "features")) == TREE_OBJECT)
        t = tree_get(t, "features");
    if (table && (tree_kind(t) == TREE_OBJECT || tree_kind(t) == TREE_LIST))
        return read_fields(model, in->request, t, sample);
    if (tree_kind(t) == TREE_OBJECT)
        return read_features(model, in->request, t, sample);
    return shoal_fail(SHOAL_EINVAL, "found neither text nor features, want a row");
}

static void linear_forget(void *sample)
{
    struct row_sample *s = sample;

    free(s->slots);
    free(s->values);
    free(s->ends);
    free(s->p);
}

/* ---- computing and writing ---- */

static bool linear_cheap(const void *model, const void *sample)
{
    (void)model;
    return ((const struct row_sample *)sample)->len < 10000;
}

static shoal_status linear_run(const void *model, void *const *samples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct row_sample *s = samples[i];

        for (size_t r = 0, from = 0; r < s->rows; from = s->ends[r++]) {
            size_t len = s->ends[r] - from; /* without a feature in any row there are no slots */

            logreg_answer(model, len ? s->slots + from : NULL, len ? s->values + from : NULL, len,
                          s->p + r * logreg_outputs(model));
        }
    }
    return SHOAL_OK;
}

/* Labels that are whole numbers are numbers: 3, but "003" and "three". */
static void put_class(struct writer *w, const char *name)
{
    const char *end = name + strlen(name);
    uint64_t number;
    bool plain = *name != '0' || !name[1];

    if (*name && plain && number_digits(name, end, &number) == end)
        put_u64(w, number);
    else
        put_text(w, name);
}

/* {"class": 2, "probabilities": [0.1, 0.2, 0.7]} */
static void write_classes(struct writer *w, const void *model, const float *p, size_t n)
{
    size_t best = 0;

    for (size_t k = 1; k < n; k++)
        best = p[k] > p[best] ? k : best;
    put_open(w, '{');
    put_key(w, "class");
    if (logreg_class(model, best))
        put_class(w, logreg_class(model, best));
    else
        put_u64(w, best);
    put_key(w, "probabilities");
    put_open(w, '[');
    for (size_t k = 0; k < n; k++)
        put_float(w, p[k]);
    put_close(w, "]}");
}

/* One row is a number or an object, several are a list of them. */
static void linear_write(const void *model, const void *sample, struct writer *w)
{
    const struct row_sample *s = sample;
    size_t outputs = logreg_outputs(model);

    if (s->rows != 1)
        put_open(w, '[');
    for (size_t r = 0; r < s->rows; r++)
        if (outputs == 1)
            put_float(w, s->p[r]);
        else
            write_classes(w, model, s->p + r * outputs, outputs);
    if (s->rows != 1)
        put_close(w, "]");
}

static const float *linear_floats(const void *model, const void *sample, size_t *n)
{
    const struct row_sample *s = sample;

    *n = logreg_outputs(model);
    return s->rows == 1 ? s->p : NULL;
}

static bool linear_has_columns(const void *model)
{
    return shoal_logreg_reading(model).columns != NULL;
}

static bool linear_class_name(const void *model, size_t i, char *name, size_t cap)
{
    const char *said = logreg_outputs(model) > 1 ? logreg_class(model, i) : NULL;

    snprintf(name, cap, "%s", said ? said : "");
    return said != NULL;
}

const struct servable_kind servable_logreg = {
    .name = "logreg",
    .linear = true,
    .list_key = "rows",
    .sample_size = sizeof(struct row_sample),
    .open = linear_open,
    .shapes = linear_shapes,
    .read = linear_read,
    .cheap = linear_cheap,
    .run = linear_run,
    .write = linear_write,
    .floats = linear_floats,
    .class_name = linear_class_name,
    .has_columns = linear_has_columns,
    .forget = linear_forget,
};
