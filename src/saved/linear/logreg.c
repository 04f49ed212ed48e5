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
        m->at[m->slot[i]] = m->weight[i];
    return SHOAL_OK;
}

static shoal_status copy_way(struct shoal_logreg *m, const shoal_clicks *data)
{
    struct shoal_clicks_opts like = shoal_clicks_like(data);
    size_t label = like.label ? strlen(like.label) + 1 : 0;
    size_t numeric = like.numeric ? strlen(like.numeric) + 1 : 0;

    m->way = shoal_clicks_default();
    m->way.format = like.format;
    m->bits = m->way.bits = like.bits;
    m->strings = mem_array(label + numeric + 1, 1);
    if (!m->strings)
        return SHOAL_ENOMEM;
    if (label)
        m->way.label = memcpy(m->strings, like.label, label);
    if (numeric)
        m->way.numeric = memcpy(m->strings + label, like.numeric, numeric);
    return SHOAL_OK;
}

static shoal_status add_weight(struct shoal_logreg *m, uint32_t slot, float weight,
                               const char *name)
{
    m->slot[m->n] = slot;
    m->weight[m->n] = weight;
    m->name[m->n] = name ? (uint32_t)m->names.len : 0;
    m->n++;
    return name ? bytes_add(&m->names, name, strlen(name) + 1) : SHOAL_OK;
}

/* What by_slot compares. */
struct numbered {
    uint32_t slot, id;
};

static int by_slot(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;

    return (x->slot > y->slot) - (x->slot < y->slot);
}

static shoal_status add_weights(struct shoal_logreg *m, const shoal_clicks *data,
                                const float *weights)
{
    const struct clicks_view *v = clicks_view(data);
    struct numbered *order = mem_array((size_t)v->features + 1, sizeof *order);
    shoal_status st = bytes_add(&m->names, "", 1);
    size_t n = 0;

    m->slot = mem_array((size_t)v->features + 1, sizeof *m->slot);
    m->weight = mem_array((size_t)v->features + 1, sizeof *m->weight);
    m->name = mem_array((size_t)v->features + 1, sizeof *m->name);
    if (!order || !m->slot || !m->weight || !m->name) {
        free(order);
        return SHOAL_ENOMEM;
    }
    for (uint32_t id = 0; id < v->features; id++)
        if (weights[id] != 0)
            order[n++] = (struct numbered){v->slot[id], id};
    qsort(order, n, sizeof *order, by_slot);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = add_weight(m, order[i].slot, weights[order[i].id],
                        shoal_clicks_name(data, order[i].id));
    free(order);
    return st;
}

shoal_status logreg_new(shoal_logreg **out, const shoal_clicks *data, const float *weights,
                        float bias)
{
    struct shoal_logreg *m = mem_array(1, sizeof *m);
    shoal_status st = m ? copy_way(m, data) : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK) {
        m->bias = bias;
        st = add_weights(m, data, weights);
    }
    if (st == SHOAL_OK)
        st = logreg_spread(m);
    if (st != SHOAL_OK) {
        shoal_logreg_close(m);
        return st;
    }
    *out = m;
    return SHOAL_OK;
}

void shoal_logreg_close(shoal_logreg *m)
{
    if (!m)
        return;
    mem_unmap(m->at, logreg_slots(m) * sizeof *m->at);
    free(m->slot);
    free(m->weight);
    free(m->name);
    bytes_fini(&m->names);
    free(m->strings);
    free(m);
}

/* ---- what it is ---- */

unsigned shoal_logreg_bits(const shoal_logreg *m)
{
    return m->bits;
}

double shoal_logreg_bias(const shoal_logreg *m)
{
    return (double)m->bias;
}

uint64_t shoal_logreg_weights(const shoal_logreg *m)
{
    return m->n;
}

struct shoal_clicks_opts shoal_logreg_reading(const shoal_logreg *m)
{
    return m->way;
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

static double margin(const shoal_logreg *m, const uint32_t *slots, const float *values, size_t n)
{
    double sum = (double)m->bias;

    for (size_t i = 0; i < n; i++)
        sum += (double)m->at[slots[i]] * (values ? (double)values[i] : 1);
    return sum;
}

double shoal_logreg_one(const shoal_logreg *m, const uint32_t *slots, const float *values, size_t n)
{
    return 1 / (1 + exp(-margin(m, slots, values, n)));
}

/* As the model's rows were read, but for what the caller may choose. */
static struct shoal_clicks_opts reading(const shoal_logreg *m, const struct shoal_clicks_opts *o)
{
    struct shoal_clicks_opts way = m->way;

    if (!o)
        return way;
    if (o->format != SHOAL_CLICKS_AUTO)
        way.format = o->format;
    if (o->label)
        way.label = o->label;
    way.skip_bad = o->skip_bad;
    way.threads = o->threads;
    way.watch = o->watch;
    return way;
}

static double row_margin(const shoal_logreg *m, const struct click_rows *b, size_t row)
{
    uint32_t at = b->start[row];

    return margin(m, b->slot + at, b->value ? b->value + at : NULL, b->start[row + 1] - at);
}

/* ---- going through rows ---- */

static shoal_status open_encoded(const shoal_logreg *m, shoal_clicks **out, const char *path)
{
    shoal_status st = shoal_clicks_open(out, path);

    if (st == SHOAL_OK && clicks_view(*out)->bits != m->bits)
        st = shoal_fail(SHOAL_EINVAL, "%s: has 2^%u slots, the model has 2^%u", path,
                        clicks_view(*out)->bits, m->bits);
    if (st == SHOAL_OK && clicks_view(*out)->classes > 2)
        st = shoal_fail(SHOAL_EINVAL, "%s: has %u classes, the model has 2", path,
                        clicks_view(*out)->classes);
    return st;
}

static double encoded_margin(const shoal_logreg *m, const struct clicks_view *v, uint64_t row)
{
    double x = (double)m->bias;

    for (uint64_t i = v->start[row]; i < v->start[row + 1]; i++)
        x += (double)m->at[v->slot[v->id[i]]] * (v->value ? (double)v->value[i] : 1);
    return x;
}

static void encoded_stats(const struct clicks_view *v, struct shoal_clicks_stats *stats)
{
    if (stats)
        *stats = (struct shoal_clicks_stats){.rows = v->rows, .positives = v->positives,
                                             .classes = v->classes, .values = v->values, .files = 1};
}

/* What is done with rows: their margins [n], labels, and weights or NULL. */
struct each {
    shoal_status (*rows)(struct each *e, double *margin, const uint8_t *label, const float *weight,
                         size_t n);
    double *margin; /* [cap] */
    size_t cap;
    struct binary *sum;                                  /* of scoring */
    bool (*row)(void *user, const double *p, size_t n); /* of predicting */
    void *user;
};

/* Encoded rows know their slots too. */
static shoal_status each_encoded(const shoal_logreg *m, const char *path, struct each *e,
                                 struct shoal_clicks_stats *stats)
{
    shoal_clicks *data = NULL;
    double margin[ENCODED_BLOCK];
    shoal_status st = open_encoded(m, &data, path);
    const struct clicks_view *v = st == SHOAL_OK ? clicks_view(data) : NULL;

    for (uint64_t from = 0, n; st == SHOAL_OK && from < v->rows; from += n) {
        for (n = 0; n < ENCODED_BLOCK && from + n < v->rows; n++)
            margin[n] = encoded_margin(m, v, from + n);
        st = e->rows(e, margin, v->label + from, v->weight ? v->weight + from : NULL, n);
    }
    if (st == SHOAL_OK)
        encoded_stats(v, stats);
    shoal_clicks_close(data);
    return st;
}

static shoal_status each_block(const shoal_logreg *m, const struct click_rows *b, struct each *e)
{
    shoal_status st = mem_grow((void **)&e->margin, &e->cap, b->rows, sizeof *e->margin);

    for (size_t i = 0; i < b->rows && st == SHOAL_OK; i++)
        e->margin[i] = row_margin(m, b, i);
    return st == SHOAL_OK ? e->rows(e, e->margin, b->label, b->weight, b->rows) : st;
}

static shoal_status each_text(const shoal_logreg *m, const char *const *inputs, size_t ninputs,
                              const struct shoal_clicks_opts *opts, struct each *e,
                              struct shoal_clicks_stats *stats)
{
    struct shoal_clicks_opts way = reading(m, opts);
    struct click_stream *s = NULL;
    struct click_rows block = {0};
    shoal_status st = click_stream_open(&s, &(struct sources){.paths = inputs, .n = ninputs}, &way,
                                        e->row != NULL);

    while (st == SHOAL_OK) {
        st = click_stream_next(s, &block);
        if (st != SHOAL_OK || block.rows == 0)
            break;
        st = each_block(m, &block, e);
    }
    if (s && stats)
        click_stream_stats(s, stats);
    click_stream_close(s);
    free(e->margin);
    return st;
}

static shoal_status each_row(const shoal_logreg *m, const char *const *inputs, size_t ninputs,
                             const struct shoal_clicks_opts *opts, struct each *e,
                             struct shoal_clicks_stats *stats)
{
    char kind[32];

    return ninputs == 1 && shoal_kind(inputs[0], kind)
               ? each_encoded(m, inputs[0], e, stats)
               : each_text(m, inputs, ninputs, opts, e, stats);
}

/* ---- predicting and scoring ---- */

static shoal_status answer_rows(struct each *e, double *margin, const uint8_t *label,
                                const float *weight, size_t n)
{
    (void)label, (void)weight;
    for (size_t i = 0; i < n; i++)
        margin[i] = 1 / (1 + exp(-margin[i]));
    return e->row(e->user, margin, n) ? SHOAL_OK
                                      : shoal_fail(SHOAL_ESTOP, "predict: stopped on request");
}

shoal_status shoal_logreg_predict(const shoal_logreg *m, const char *const *inputs, size_t ninputs,
                                  const struct shoal_clicks_opts *opts,
                                  bool (*row)(void *user, const double *p, size_t n), void *user,
                                  struct shoal_clicks_stats *stats)
{
    struct each e = {.rows = answer_rows, .row = row, .user = user};

    return each_row(m, inputs, ninputs, opts, &e, stats);
}

static shoal_status score_rows(struct each *e, double *margin, const uint8_t *label,
                               const float *weight, size_t n)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = binary_add(e->sum, margin[i], label[i] == 1, weight ? (double)weight[i] : 1);
    return st;
}

shoal_status shoal_logreg_eval(const shoal_logreg *m, const char *const *inputs, size_t ninputs,
                               const struct shoal_clicks_opts *opts,
                               struct shoal_binary_score *score, struct shoal_clicks_stats *stats)
{
    struct each e = {.rows = score_rows};
    shoal_status st = binary_new(&e.sum, BINARY_LOGIT, BINARY_KEEP);

    if (st == SHOAL_OK)
        st = each_row(m, inputs, ninputs, opts, &e, stats);
    if (st == SHOAL_OK)
        st = binary_score(e.sum, score);
    binary_free(e.sum);
    return st;
}
