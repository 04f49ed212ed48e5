/* Click models: rows of sparse features in, probabilities of a click out. */
#include "data/data.h"
#include "serve/servable.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROWS_MAX = 4096 }; /* of one input */

struct click_sample {
    uint32_t *slots;
    float *values;
    size_t len, slots_cap, values_cap;
    size_t *ends; /* [rows] into slots */
    float *p;     /* [rows] */
    size_t rows, ends_cap, p_cap;
};
_Static_assert(sizeof(struct click_sample) <= SAMPLE_MAX, "a sample fits");

static bool matches(const char *path, const char *kind)
{
    (void)path;
    return strcmp(kind, "logreg") == 0;
}

static shoal_status clicks_open(void **model, const char *path)
{
    shoal_logreg *m = NULL;
    shoal_status st = shoal_logreg_open(&m, path);

    *model = m;
    return st;
}

static void clicks_close(void *model)
{
    shoal_logreg_close(model);
}

static void clicks_describe(const void *model, struct description *out)
{
    struct shoal_clicks_opts way = shoal_logreg_reading(model);

    *out = (struct description){
        .platform = "shoal_logreg",
        .input = {"rows", "BYTES", {-1}, 1},
        .output = {"probability", "FP32", {-1, 1}, 2},
        .nfacts = 2,
    };
    out->facts[0].key = "weights";
    out->facts[1].key = "format";
    snprintf(out->facts[0].value, sizeof out->facts[0].value, "%llu",
             (unsigned long long)shoal_logreg_weights(model));
    snprintf(out->facts[1].value, sizeof out->facts[1].value, "%s",
             shoal_clicks_format_name(way.format));
}

/* ---- reading ------------------------------------------------------------------------- */

static shoal_status keep_row(struct click_sample *s, const struct click_rows *b, size_t row)
{
    uint32_t from = b->start[row], to = b->start[row + 1];
    size_t n = to - from;
    shoal_status st = mem_grow((void **)&s->slots, &s->slots_cap, s->len + n, sizeof *s->slots);

    if (s->rows == ROWS_MAX)
        return shoal_fail(SHOAL_EINVAL, "found more than %d rows in one input", ROWS_MAX);
    if (st == SHOAL_OK)
        st = mem_grow((void **)&s->values, &s->values_cap, s->len + n, sizeof *s->values);
    if (st == SHOAL_OK)
        st = mem_grow((void **)&s->ends, &s->ends_cap, s->rows + 1, sizeof *s->ends);
    if (st == SHOAL_OK)
        st = mem_grow((void **)&s->p, &s->p_cap, s->rows + 1, sizeof *s->p);
    if (st != SHOAL_OK)
        return st;
    for (size_t i = 0; i < n; i++) {
        s->slots[s->len] = b->slot[from + i];
        s->values[s->len++] = b->value ? b->value[from + i] : 1;
    }
    s->ends[s->rows++] = s->len;
    return SHOAL_OK;
}

static shoal_status keep_rows(struct click_sample *s, const char *path,
                              const struct shoal_clicks_opts *way)
{
    struct click_stream *stream = NULL;
    struct click_rows block = {0};
    shoal_status st = click_stream_open(&stream, &path, 1, way, true);

    while (st == SHOAL_OK) {
        st = click_stream_next(stream, &block);
        if (st != SHOAL_OK || block.rows == 0)
            break;
        for (size_t i = 0; i < block.rows && st == SHOAL_OK; i++)
            st = keep_row(s, &block, i);
    }
    click_stream_close(stream);
    return st;
}

/* The sentence of a failure, in which the file is the body. */
static shoal_status of_body(shoal_status st, const char *path)
{
    const char *at = strstr(shoal_error(), path);

    return at ? shoal_fail(st, "body%s", at + strlen(path)) : st;
}

/* Text is read from a file by the readers of click data, so it becomes one, in memory. */
static shoal_status read_text(const void *model, struct click_sample *s, const char *at, size_t len)
{
    struct shoal_clicks_opts way = shoal_logreg_reading(model);
    char path[48];
    int fd = memfd_create("rows", MFD_CLOEXEC);
    shoal_status st;

    if (fd < 0)
        return shoal_fail_errno(SHOAL_EIO, "memory for a body");
    way.threads = 1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, at, len) != (ssize_t)len)
        st = shoal_fail_errno(SHOAL_EIO, "memory for a body");
    else
        st = of_body(keep_rows(s, path, &way), path);
    close(fd);
    if (st == SHOAL_OK && s->rows == 0)
        st = shoal_fail(SHOAL_EINVAL, "found no row, want one");
    return st;
}

static shoal_status put_feature(void *ctx, const char *key, const struct tree *value)
{
    struct writer *w = ctx;
    double x = tree_number(value);
    char text[32];

    if (!*key || strpbrk(key, " \t\r\n:|'\"") || !isfinite(x))
        return shoal_fail(SHOAL_EINVAL, "found '%.32s', want the name of a feature and a number",
                          key);
    snprintf(text, sizeof text, ":%.9g", x);
    put_raw(w, " ");
    put_raw(w, key);
    put_raw(w, text);
    return SHOAL_OK;
}

/* {"17": 0.5, "3": 1} as a line of libsvm or of Vowpal Wabbit. */
static shoal_status read_features(const void *model, const struct tree *t, struct click_sample *s)
{
    enum shoal_clicks_format format = shoal_logreg_reading(model).format;
    struct writer w = {0};
    shoal_status st;

    if (format != SHOAL_CLICKS_LIBSVM && format != SHOAL_CLICKS_VW)
        return shoal_fail(SHOAL_EINVAL,
                          "found features as JSON, want text as the model's rows (%s)",
                          shoal_clicks_format_name(format));
    put_raw(&w, format == SHOAL_CLICKS_VW ? "|" : "0");
    st = tree_each(t, put_feature, &w);
    put_raw(&w, "\n");
    if (st == SHOAL_OK)
        st = w.failed ? SHOAL_ENOMEM : read_text(model, s, w.out.at, w.out.len);
    bytes_fini(&w.out);
    return st;
}

static shoal_status clicks_read(const void *model, const struct instance *in, void *sample)
{
    const struct tree *t = in->json;

    if (in->bytes)
        return read_text(model, sample, in->bytes, in->len);
    if (tree_kind(t) == TREE_TEXT)
        return read_text(model, sample, tree_text(t), tree_len(t));
    if (tree_kind(t) == TREE_OBJECT && tree_kind(tree_get(t, "features")) == TREE_OBJECT)
        t = tree_get(t, "features");
    if (tree_kind(t) == TREE_OBJECT)
        return read_features(model, t, sample);
    return shoal_fail(SHOAL_EINVAL, "found neither text nor features, want a row");
}

static void clicks_forget(void *sample)
{
    struct click_sample *s = sample;

    free(s->slots);
    free(s->values);
    free(s->ends);
    free(s->p);
}

/* ---- computing and writing ---------------------------------------------------------------- */

static bool clicks_cheap(const void *model, const void *sample)
{
    (void)model;
    return ((const struct click_sample *)sample)->len < 10000;
}

static shoal_status clicks_run(const void *model, void *const *samples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct click_sample *s = samples[i];

        for (size_t r = 0, from = 0; r < s->rows; from = s->ends[r++])
            s->p[r] = (float)shoal_logreg_one(model, s->slots + from, s->values + from,
                                              s->ends[r] - from);
    }
    return SHOAL_OK;
}

/* One row is a number, several are a list. */
static void clicks_write(const void *model, const void *sample, struct writer *w)
{
    const struct click_sample *s = sample;

    (void)model;
    if (s->rows != 1)
        put_open(w, '[');
    for (size_t r = 0; r < s->rows; r++)
        put_float(w, s->p[r]);
    if (s->rows != 1)
        put_close(w, ']');
}

static const float *clicks_floats(const void *model, const void *sample, size_t *n)
{
    const struct click_sample *s = sample;

    (void)model;
    *n = 1;
    return s->rows == 1 ? s->p : NULL;
}

const struct servable_kind servable_logreg = {
    .name = "logreg",
    .list_key = "rows",
    .sample_size = sizeof(struct click_sample),
    .matches = matches,
    .open = clicks_open,
    .close = clicks_close,
    .describe = clicks_describe,
    .read = clicks_read,
    .cheap = clicks_cheap,
    .run = clicks_run,
    .write = clicks_write,
    .floats = clicks_floats,
    .forget = clicks_forget,
};
