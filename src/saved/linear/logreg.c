/* Click models: made from what was trained, asked, and scored. */
#include "saved/linear/logreg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENCODED_BLOCK = 1024 }; /* rows that are answered together */

/* ---- making one ---- */

shoal_status logreg_spread(struct shoal_logreg *m)
{
    m->at = mem_map(logreg_slots(m) * sizeof *m->at);
    if (!m->at)
        return SHOAL_ENOMEM;
    for (uint64_t i = 0; i < m->n; i++)
        if (m->outputs == 1)
            m->at[m->slot[i]].weight = m->weight[i];
        else
            m->at[m->slot[i]].place = (uint32_t)i + 1;
    return SHOAL_OK;
}

static shoal_status copy_reading(struct shoal_logreg *m, const shoal_clicks *data)
{
    struct shoal_clicks_opts like = shoal_clicks_like(data);

    like.classes = like.classes && m->outputs > 1;
    m->bits = like.bits;
    return clicks_reading_copy(&m->reading, &like);
}

/* Rows as the text has them have other weights than rows whose values were scaled. */
static shoal_status add_weight(struct shoal_logreg *m, uint32_t slot, const float *weights,
                               float scale, const char *name)
{
    m->slot[m->n] = slot;
    for (unsigned k = 0; k < m->outputs; k++)
        m->weight[m->n * m->outputs + k] = weights[k] * scale;
    m->name[m->n] = name ? (uint32_t)m->names.len : 0;
    m->n++;
    return name ? bytes_add(&m->names, name, strlen(name) + 1) : SHOAL_OK;
}

/* What by_slot compares: a feature of the data, or a weight from before. */
struct numbered {
    uint32_t slot, id;
    bool before;
};

static int by_slot(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;

    return (x->slot > y->slot) - (x->slot < y->slot);
}

static bool any_weight(const float *weights, unsigned n)
{
    while (n > 0 && weights[n - 1] == 0)
        n--;
    return n > 0;
}

/* Those of the data that are not 0, and those from before that it has not; gives how many. */
static size_t list_weights(struct numbered *list, unsigned outputs, const struct clicks_view *v,
                           const float *weights, const shoal_logreg *before, uint8_t *seen)
{
    size_t n = 0;

    for (uint32_t id = 0; id < v->features; id++) {
        if (any_weight(weights + (size_t)id * outputs, outputs))
            list[n++] = (struct numbered){v->slot[id], id, false};
        if (before)
            seen[v->slot[id] / 8] |= (uint8_t)(1u << v->slot[id] % 8);
    }
    for (uint64_t i = 0; before && i < before->n; i++)
        if (!(seen[before->slot[i] / 8] >> before->slot[i] % 8 & 1))
            list[n++] = (struct numbered){before->slot[i], (uint32_t)i, true};
    qsort(list, n, sizeof *list, by_slot);
    return n;
}

static shoal_status add_numbered(struct shoal_logreg *m, const struct numbered *x,
                                 const shoal_clicks *data, const float *weights,
                                 const shoal_logreg *before)
{
    const struct clicks_view *v = clicks_view(data);

    if (x->before)
        return add_weight(m, x->slot, before->weight + (size_t)x->id * m->outputs, 1,
                          before->name[x->id] ? before->names.at + before->name[x->id] : NULL);
    return add_weight(m, x->slot, weights + (size_t)x->id * m->outputs,
                      v->scale ? v->scale[x->id] : 1, shoal_clicks_name(data, x->id));
}

static shoal_status add_weights(struct shoal_logreg *m, const shoal_clicks *data,
                                const float *weights, const shoal_logreg *before)
{
    const struct clicks_view *v = clicks_view(data);
    size_t most = (size_t)v->features + (before ? (size_t)before->n : 0) + 1, n;
    struct numbered *list = mem_array(most, sizeof *list);
    uint8_t *seen = mem_array(before ? (logreg_slots(m) + 7) / 8 : 1, 1);
    shoal_status st = bytes_add(&m->names, "", 1);

    m->slot = mem_array(most, sizeof *m->slot);
    m->weight = mem_array(most, m->outputs * sizeof *m->weight);
    m->name = mem_array(most, sizeof *m->name);
    if (!list || !seen || !m->slot || !m->weight || !m->name)
        st = SHOAL_ENOMEM;
    n = st == SHOAL_OK ? list_weights(list, m->outputs, v, weights, before, seen) : 0;
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = add_numbered(m, &list[i], data, weights, before);
    free(seen);
    free(list);
    return st;
}

static shoal_status copy_all(struct shoal_logreg *m, const shoal_clicks *data,
                             const float *weights, const float *bias, const shoal_logreg *before)
{
    shoal_status st = copy_reading(m, data);

    if (st == SHOAL_OK)
        st = (m->bias = mem_array(m->outputs, sizeof *m->bias)) ? SHOAL_OK : SHOAL_ENOMEM;
    if (st != SHOAL_OK)
        return st;
    memcpy(m->bias, bias, m->outputs * sizeof *bias);
    return add_weights(m, data, weights, before);
}

shoal_status logreg_new(shoal_logreg **out, const shoal_clicks *data, unsigned outputs,
                        const float *weights, const float *bias, const shoal_logreg *before)
{
    struct shoal_logreg *m = mem_array(1, sizeof *m);
    shoal_status st = SHOAL_ENOMEM;

    *out = NULL;
    if (m) {
        m->outputs = outputs;
        st = copy_all(m, data, weights, bias, before);
    }
    if (st == SHOAL_OK)
        st = logreg_spread(m);
    if (st != SHOAL_OK) {
        logreg_close(m);
        return st;
    }
    *out = m;
    return SHOAL_OK;
}

shoal_status logreg_keep_examples(shoal_logreg *m, const struct row_examples *from, unsigned most)
{
    return row_examples_copy(&m->examples, from, most);
}

const struct row_examples *logreg_examples(const shoal_logreg *m)
{
    return &m->examples;
}

void logreg_close(void *model)
{
    shoal_logreg *m = model;

    if (!m)
        return;
    mem_unmap(m->at, logreg_slots(m) * sizeof *m->at);
    free(m->bias);
    free(m->slot);
    free(m->weight);
    free(m->name);
    bytes_fini(&m->names);
    logreg_unname(m);
    row_examples_fini(&m->examples);
    clicks_reading_fini(&m->reading);
    free(m);
}

/* ---- going on with it ---- */

static bool same_labels(const shoal_logreg *m, const shoal_clicks *data)
{
    unsigned n = clicks_view(data)->classes;

    for (unsigned k = 0; k < n; k++) {
        const char *a = logreg_label(m, k), *b = shoal_clicks_label(data, k);

        if (a && b && strcmp(a, b) != 0)
            return false;
    }
    return true;
}

shoal_status logreg_fits(const shoal_logreg *m, const char *path, const shoal_clicks *data,
                         unsigned outputs)
{
    struct shoal_clicks_opts like = shoal_clicks_like(data);
    const struct shoal_clicks_opts *mine = &m->reading.opts;

    if (mine->format != like.format || mine->bits != like.bits || mine->plain != like.plain)
        return shoal_fail(SHOAL_EINVAL, "%s: is of rows of %s in 2^%u slots, want %s in 2^%u", path,
                          shoal_clicks_format_name(mine->format), mine->bits,
                          shoal_clicks_format_name(like.format), like.bits);
    if (m->outputs != outputs)
        return shoal_fail(SHOAL_EINVAL, "%s: has %u classes, want %u", path,
                          m->outputs == 1 ? 2 : m->outputs, outputs == 1 ? 2 : outputs);
    return same_labels(m, data)
               ? SHOAL_OK
               : shoal_fail(SHOAL_EINVAL, "%s: has other labels than the rows, want the same", path);
}

void logreg_slot_weights(const shoal_logreg *m, uint32_t slot, float *out)
{
    double z[SHOAL_CLICKS_CLASSES] = {0};

    logreg_add_feature(m, slot, 1, z);
    for (unsigned k = 0; k < m->outputs; k++)
        out[k] = (float)z[k];
}

const float *logreg_bias(const shoal_logreg *m)
{
    return m->bias;
}

/* ---- what it is ---- */

struct shoal_clicks_opts shoal_logreg_reading(const shoal_logreg *m)
{
    return m->reading.opts;
}

const char *logreg_label(const shoal_logreg *m, unsigned k)
{
    return k < m->reading.labels.n ? m->reading.label[k] : NULL;
}

static bool larger(const shoal_logreg *m, uint64_t a, uint64_t b)
{
    float x = fabsf(m->weight[a]), y = fabsf(m->weight[b]);

    return x > y || (x == y && a < b);
}

shoal_status shoal_logreg_largest(const shoal_logreg *m, struct shoal_weight *out, size_t k,
                                  size_t *found)
{
    uint64_t *best = mem_array(k + 1, sizeof *best);
    size_t n = 0;

    *found = 0;
    if (!best)
        return SHOAL_ENOMEM;
    for (uint64_t i = 0; k > 0 && i < m->n; i++) {
        size_t at = n;

        if (n == k && !larger(m, i, best[n - 1]))
            continue;
        for (; at > 0 && larger(m, i, best[at - 1]); at--)
            best[at] = best[at - 1];
        best[at] = i;
        n += n < k;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = (struct shoal_weight){
            m->slot[best[i]], m->weight[best[i]],
            m->name[best[i]] ? m->names.at + m->name[best[i]] : NULL};
    *found = n;
    free(best);
    return SHOAL_OK;
}

/* ---- asking it ---- */

static inline void add_bias(const shoal_logreg *m, double *z)
{
    for (unsigned k = 0; k < m->outputs; k++)
        z[k] = (double)m->bias[k];
}

void logreg_scores(const shoal_logreg *m, const uint32_t *slots, const float *values, size_t n,
                   double *z)
{
    add_bias(m, z);
    for (size_t i = 0; i < n; i++)
        logreg_add_feature(m, slots[i], values ? (double)values[i] : 1, z);
}

double shoal_logreg_one(const shoal_logreg *m, const uint32_t *slots, const float *values, size_t n)
{
    double z;

    logreg_scores(m, slots, values, n, &z);
    return 1 / (1 + exp(-z));
}

unsigned logreg_outputs(const shoal_logreg *m)
{
    return m->outputs;
}

void logreg_softmax(double *z, size_t n)
{
    double top = z[0], total = 0;

    for (size_t k = 1; k < n; k++)
        top = fmax(top, z[k]);
    for (size_t k = 0; k < n; k++)
        total += z[k] = exp(z[k] - top);
    for (size_t k = 0; k < n; k++)
        z[k] /= total;
}

void logreg_answer(const shoal_logreg *m, const uint32_t *slots, const float *values, size_t n,
                   float *p)
{
    double z[SHOAL_CLICKS_CLASSES];

    if (m->outputs == 1) {
        *p = (float)shoal_logreg_one(m, slots, values, n);
        return;
    }
    logreg_scores(m, slots, values, n, z);
    logreg_softmax(z, m->outputs);
    for (unsigned k = 0; k < m->outputs; k++)
        p[k] = (float)z[k];
}

/* As the model's rows were read, but for what the caller may choose. */
static struct shoal_clicks_opts reading(const shoal_logreg *m, const struct shoal_clicks_opts *o)
{
    struct shoal_clicks_opts as = m->reading.opts;

    if (!o)
        return as;
    if (o->format != SHOAL_CLICKS_AUTO)
        as.format = o->format;
    if (o->table.label)
        as.table.label = o->table.label;
    if (o->table.header != SHOAL_HEADER_AUTO)
        as.table.header = o->table.header;
    as.skip_bad = o->skip_bad;
    as.threads = o->threads;
    as.watch = o->watch;
    return as;
}

/* ---- going through rows ---- */

static shoal_status open_encoded(const shoal_logreg *m, shoal_clicks **out, const char *path)
{
    shoal_status st = shoal_clicks_open(out, path);

    if (st == SHOAL_OK && clicks_view(*out)->bits != m->bits)
        st = shoal_fail(SHOAL_EINVAL, "%s: has 2^%u slots, the model has 2^%u", path,
                        clicks_view(*out)->bits, m->bits);
    if (st == SHOAL_OK && clicks_view(*out)->classes > (m->outputs == 1 ? 2 : m->outputs))
        st = shoal_fail(SHOAL_EINVAL, "%s: has %u classes, the model has %u", path,
                        clicks_view(*out)->classes, m->outputs == 1 ? 2 : m->outputs);
    return st;
}

static void encoded_scores(const shoal_logreg *m, const struct clicks_view *v, uint64_t row,
                           double *z)
{
    add_bias(m, z);
    for (uint64_t i = v->start[row]; i < v->start[row + 1]; i++) {
        double value = v->value ? (double)v->value[i] : 1;

        logreg_add_feature(m, v->slot[v->id[i]],
                    v->scale ? value / (double)v->scale[v->id[i]] : value, z);
    }
}

/* What the labels of encoded rows are for the model: map [255]. */
static shoal_status map_labels(const shoal_logreg *m, const shoal_clicks *data, const char *path,
                               uint8_t *map)
{
    unsigned classes = clicks_view(data)->classes;

    for (unsigned k = 0; k <= CLICKS_NO_LABEL; k++)
        map[k] = (uint8_t)k;
    for (unsigned k = 0; k < classes && shoal_clicks_label(data, k) && logreg_label(m, 0); k++) {
        unsigned found = click_labels_known(&m->reading.labels, shoal_clicks_label(data, k));

        map[k] = (uint8_t)found;
        if (found == CLICKS_NO_LABEL && clicks_has_label(data, k))
            return shoal_fail(SHOAL_EINVAL, "%s: has the label \"%.40s\", which the model has not",
                              path, shoal_clicks_label(data, k));
    }
    return SHOAL_OK;
}

static void encoded_stats(const struct clicks_view *v, struct shoal_clicks_stats *stats)
{
    if (stats)
        *stats = (struct shoal_clicks_stats){.rows = v->rows, .positives = v->positives,
                                             .classes = v->classes, .values = v->values, .files = 1};
}

static shoal_status each_room(struct each *e, const shoal_logreg *m, size_t rows)
{
    return mem_grow((void **)&e->z, &e->cap, rows * m->outputs, sizeof *e->z);
}

/* Encoded rows know their slots too. */
static shoal_status each_encoded(const shoal_logreg *m, const char *path, struct each *e,
                                 struct shoal_clicks_stats *stats)
{
    shoal_clicks *data = NULL;
    shoal_status st = open_encoded(m, &data, path);
    const struct clicks_view *v = st == SHOAL_OK ? clicks_view(data) : NULL;
    uint8_t map[CLICKS_NO_LABEL + 1], label[ENCODED_BLOCK];

    if (st == SHOAL_OK)
        st = map_labels(m, data, path, map);
    if (st == SHOAL_OK)
        st = each_room(e, m, ENCODED_BLOCK);
    for (uint64_t from = 0, n; st == SHOAL_OK && from < v->rows; from += n) {
        for (n = 0; n < ENCODED_BLOCK && from + n < v->rows; n++) {
            encoded_scores(m, v, from + n, e->z + n * m->outputs);
            label[n] = map[v->label[from + n]];
        }
        st = e->rows(e, e->z, label, v->weight ? v->weight + from : NULL, n);
    }
    if (st == SHOAL_OK)
        encoded_stats(v, stats);
    shoal_clicks_close(data);
    return st;
}

static shoal_status each_block(const shoal_logreg *m, const struct click_rows *b, struct each *e)
{
    shoal_status st = each_room(e, m, b->rows);

    for (size_t i = 0; i < b->rows && st == SHOAL_OK; i++) {
        uint32_t at = b->start[i];

        logreg_scores(m, b->slot + at, b->value ? b->value + at : NULL, b->start[i + 1] - at,
                      e->z + i * m->outputs);
    }
    return st == SHOAL_OK ? e->rows(e, e->z, b->label, b->weight, b->rows) : st;
}

static shoal_status each_text(const shoal_logreg *m, const char *const *inputs, size_t ninputs,
                              const struct shoal_clicks_opts *opts, struct each *e,
                              struct shoal_clicks_stats *stats)
{
    struct shoal_clicks_opts as = reading(m, opts);
    struct click_stream *s = NULL;
    struct click_rows block = {0};
    shoal_status st = click_stream_open(&s, &(struct sources){.paths = inputs, .n = ninputs}, &as,
                                        e->unlabelled);

    while (st == SHOAL_OK) {
        st = click_stream_next(s, &block);
        if (st != SHOAL_OK || block.rows == 0)
            break;
        st = each_block(m, &block, e);
    }
    if (s && stats)
        click_stream_stats(s, stats);
    click_stream_close(s);
    return st;
}

shoal_status logreg_each(const shoal_logreg *m, const char *const *inputs, size_t ninputs,
                         const struct shoal_clicks_opts *opts, struct each *e,
                         struct shoal_clicks_stats *stats)
{
    char kind[32];
    shoal_status st = ninputs == 1 && shoal_kind(inputs[0], kind)
                          ? each_encoded(m, inputs[0], e, stats)
                          : each_text(m, inputs, ninputs, opts, e, stats);

    free(e->z);
    return st;
}

/* ---- scoring ---- */

static shoal_status score_rows(struct each *e, double *z, const uint8_t *label,
                               const float *weight, size_t n)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = binary_add(e->user, z[i], label[i] == 1, weight ? (double)weight[i] : 1);
    return st;
}

shoal_status logreg_eval(const shoal_logreg *m, const char *const *inputs, size_t ninputs,
                         const struct shoal_clicks_opts *opts, struct shoal_binary_score *score,
                         struct shoal_clicks_stats *stats)
{
    struct binary *sum;
    shoal_status st = binary_new(&sum, BINARY_LOGIT, BINARY_KEEP);

    if (st == SHOAL_OK)
        st = logreg_each(m, inputs, ninputs, opts, &(struct each){.user = sum, .rows = score_rows},
                         stats);
    if (st == SHOAL_OK)
        st = binary_score(sum, score);
    binary_free(sum);
    return st;
}
