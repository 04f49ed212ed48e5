/* Rows of numbers that lie in memory, sparse or dense, as clicks: column i is the feature whose
 * slot is i. Two times through the values: to check them, and block by block into columns; then
 * ids. */
#include "sparse/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COLUMNS_MOST ((uint64_t)1 << 30)
#define ROWS_MOST ((uint64_t)UINT32_MAX) /* a feature is counted in 32 bits */
#define BLOCK_VALUES ((size_t)1 << 16)   /* of a block, but for one row that has more */

/* ---- checks ---- */

static int64_t place_at(const struct shoal_rows *x, const void *places, uint64_t i)
{
    return x->wide_places ? ((const int64_t *)places)[i] : ((const int32_t *)places)[i];
}

static shoal_status check_starts(const struct shoal_rows *x)
{
    int64_t before = place_at(x, x->start, 0);

    if (before != 0)
        return shoal_fail(SHOAL_EINVAL, "rows: the first begins at %lld, want 0",
                          (long long)before);
    for (uint64_t r = 0; r < x->rows; r++) {
        int64_t next = place_at(x, x->start, r + 1);

        if (next < before)
            return shoal_fail(SHOAL_EINVAL, "rows: row %llu ends at %lld, before it begins at %lld",
                              (unsigned long long)r, (long long)next, (long long)before);
        before = next;
    }
    return SHOAL_OK;
}

static shoal_status check_row(const struct shoal_rows *x, uint64_t r)
{
    uint64_t from, to;

    rows_span(x, r, &from, &to);
    for (uint64_t i = from; x->start && i < to; i++) {
        int64_t column = place_at(x, x->column, i);

        if (column < 0 || (uint64_t)column >= x->columns)
            return shoal_fail(SHOAL_EINVAL, "rows: row %llu has column %lld, want 0 to %llu",
                              (unsigned long long)r, (long long)column,
                              (unsigned long long)x->columns - 1);
    }
    for (uint64_t i = from; x->value && i < to; i++)
        if (!isfinite(rows_value(x, i)))
            return shoal_fail(SHOAL_EINVAL,
                              "rows: row %llu has in column %llu no finite number of 32 bits",
                              (unsigned long long)r, (unsigned long long)rows_column(x, i));
    return SHOAL_OK;
}

shoal_status rows_check(const struct shoal_rows *x)
{
    uint64_t cells;
    shoal_status st = SHOAL_OK;

    if (x->columns == 0 || x->columns > COLUMNS_MOST || x->rows >= ROWS_MOST)
        return shoal_fail(SHOAL_EINVAL,
                          "rows: found %llu rows of %llu columns, want fewer than %llu of "
                          "1 to %llu",
                          (unsigned long long)x->rows, (unsigned long long)x->columns,
                          (unsigned long long)ROWS_MOST, (unsigned long long)COLUMNS_MOST);
    if (__builtin_mul_overflow(x->rows, x->columns, &cells) || cells > SIZE_MAX / sizeof(double))
        cells = 0;
    if (!x->start && (!x->value || (cells == 0 && x->rows > 0)))
        return shoal_fail(SHOAL_EINVAL, "rows: found no values of a dense matrix, want them");
    if (x->start)
        st = check_starts(x);
    if (st == SHOAL_OK && x->start && place_at(x, x->start, x->rows) > 0 && !x->column)
        st = shoal_fail(SHOAL_EINVAL, "rows: found no columns of a sparse matrix, want them");
    for (uint64_t r = 0; r < x->rows && st == SHOAL_OK; r++)
        st = check_row(x, r);
    return st;
}

static shoal_status check_labels(const struct shoal_rows *x, const uint32_t *label,
                                 unsigned classes)
{
    for (uint64_t r = 0; r < x->rows; r++)
        if (label[r] >= classes)
            return shoal_fail(SHOAL_EINVAL, "rows: row %llu is of class %u, want 0 to %u",
                              (unsigned long long)r, label[r], classes - 1);
    return SHOAL_OK;
}

static shoal_status check_weights(const struct shoal_rows *x, const float *weight)
{
    for (uint64_t r = 0; weight && r < x->rows; r++)
        if (!(weight[r] >= 0) || !isfinite(weight[r]))
            return shoal_fail(SHOAL_EINVAL, "rows: row %llu has the weight %g, want 0 or more",
                              (unsigned long long)r, (double)weight[r]);
    return SHOAL_OK;
}

/* ---- classes ---- */

/* Those that opts name, or numbers up to the largest. */
static shoal_status name_classes(struct click_labels *l, const struct shoal_rows *x,
                                 const uint32_t *label, const struct shoal_clicks_opts *opts)
{
    unsigned most = opts->classes ? SHOAL_CLICKS_CLASSES : 2, n = opts->nlabels;
    shoal_status st = SHOAL_OK;
    char number[16];

    for (uint64_t r = 0; !opts->labels && r < x->rows; r++)
        n = label[r] < most && label[r] >= n ? label[r] + 1 : n;
    n = n < 2 && !opts->labels ? 2 : n;
    if (n < 2 || n > most)
        return shoal_fail(SHOAL_EINVAL, "rows: found %u classes, want 2%s", n,
                          opts->classes ? " to 254" : "");
    for (unsigned k = 0; k < n && st == SHOAL_OK; k++) {
        const char *name = opts->labels ? opts->labels[k] : number;

        snprintf(number, sizeof number, "%u", k);
        if (strlen(name) >= LABEL_TEXT || click_labels_find(l, name) != CLICKS_NO_LABEL)
            return shoal_fail(
                SHOAL_EINVAL,
                "rows: the class \"%.40s\" has the name of another, or one of over %d "
                "bytes",
                name, LABEL_TEXT - 1);
        st = click_labels_add(l, name);
    }
    return st == SHOAL_OK ? check_labels(x, label, n) : st;
}

/* ---- blocks of rows ---- */

struct making {
    const struct shoal_rows *x;
    const uint32_t *label;
    const float *weight;
    struct click_format format;
    struct click_labels labels;
    struct click_census census;
    struct click_sizes sizes;
    struct spill_limit all;
    struct spill_buffer columns[CLICK_COLUMNS];
    struct click_batch batch; /* its slots and values alone */
    size_t slots, values;     /* room for them */
    float *scale;
    struct shoal_clicks_stats stats;
};

/* A value of 0 is none. */
static shoal_status add_row(struct making *m, uint64_t r)
{
    struct click_batch *b = &m->batch;
    uint64_t from, to;
    shoal_status st;

    rows_span(m->x, r, &from, &to);
    st = mem_grow(&b->slot, &m->slots, b->values + (size_t)(to - from), sizeof *b->slot);
    if (st == SHOAL_OK)
        st = mem_grow(&b->value, &m->values, b->values + (size_t)(to - from), sizeof *b->value);
    for (uint64_t i = from; i < to && st == SHOAL_OK; i++) {
        float value = rows_value(m->x, i);

        b->slot[b->values] = (uint32_t)rows_column(m->x, i);
        b->value[b->values] = value;
        b->valued |= (value != 1) & (value != 0);
        b->values += value != 0;
    }
    return st;
}

/* All values are kept, though most may be 1: what comes later may not be. */
static shoal_status take_block(struct making *m)
{
    struct click_batch *b = &m->batch;
    shoal_status st;

    census_mark_seen(&m->census, b->slot, b->values);
    census_add_counts(&m->census, b);
    click_sizes_add(&m->sizes, b, false);
    st = spill_buffer_add(&m->all, &m->columns[CLICK_COLUMN_ID], b->slot,
                          b->values * sizeof *b->slot);
    if (st == SHOAL_OK)
        st = spill_buffer_add(&m->all, &m->columns[CLICK_COLUMN_VALUE], b->value,
                              b->values * sizeof *b->value);
    m->stats.values += b->values;
    b->values = 0;
    return st;
}

static shoal_status end_row(struct making *m, uint64_t r)
{
    uint64_t end = m->stats.values + m->batch.values;
    uint8_t label = (uint8_t)m->label[r];
    shoal_status st = spill_buffer_add(&m->all, &m->columns[CLICK_COLUMN_START], &end, sizeof end);

    m->labels.count[label]++;
    return st == SHOAL_OK ? spill_buffer_add(&m->all, &m->columns[CLICK_COLUMN_LABEL], &label, 1)
                          : st;
}

static shoal_status add_rows(struct making *m)
{
    uint64_t zero = 0;
    shoal_status st =
        spill_buffer_add(&m->all, &m->columns[CLICK_COLUMN_START], &zero, sizeof zero);

    for (uint64_t r = 0; r < m->x->rows && st == SHOAL_OK; r++) {
        st = add_row(m, r);
        if (st == SHOAL_OK)
            st = end_row(m, r);
        if (st == SHOAL_OK && m->batch.values >= BLOCK_VALUES)
            st = take_block(m);
    }
    if (st == SHOAL_OK)
        st = take_block(m);
    if (st == SHOAL_OK && m->weight)
        st = spill_buffer_add(&m->all, &m->columns[CLICK_COLUMN_WEIGHT], m->weight,
                              m->x->rows * sizeof *m->weight);
    return st;
}

/* ---- ids ---- */

static shoal_status find_scales(struct making *m)
{
    const struct click_census *c = &m->census;

    if (!m->sizes.squares || !m->batch.valued)
        return SHOAL_OK;
    m->scale = mem_array(c->features, sizeof *m->scale);
    for (uint32_t id = 0; m->scale && id < c->features; id++)
        m->scale[id] = click_sizes_scale(&m->sizes, c->slot[id]);
    return m->scale ? SHOAL_OK : SHOAL_ENOMEM;
}

#define NAMES_MOST ((size_t)16 << 20) /* bytes; the coldest features beyond have none */

/* A feature is named by its column. */
static shoal_status name_features(struct click_census *c)
{
    shoal_status st = SHOAL_OK;
    char name[16];

    for (uint32_t id = 0; id < c->features && st == SHOAL_OK && c->arena.len < NAMES_MOST; id++) {
        int len = snprintf(name, sizeof name, "%u", c->slot[id]);

        c->name[c->slot[id]] = (uint32_t)c->arena.len + 1;
        st = bytes_add(&c->arena, name, (size_t)len + 1);
    }
    return st;
}

static shoal_status number_features(struct making *m)
{
    uint32_t *id = (uint32_t *)(void *)m->columns[CLICK_COLUMN_ID].at;
    float *value = (float *)(void *)m->columns[CLICK_COLUMN_VALUE].at;
    shoal_status st = census_assign_ids(&m->census);

    if (st == SHOAL_OK)
        st = find_scales(m);
    if (st == SHOAL_OK)
        st = name_features(&m->census);
    if (st != SHOAL_OK)
        return st;
    census_map_ids(&m->census, id, id, (size_t)m->stats.values);
    for (uint64_t i = 0; m->scale && i < m->stats.values; i++)
        value[i] *= m->scale[id[i]];
    if (!m->batch.valued) /* all are 1 */
        spill_buffer_fini(&m->columns[CLICK_COLUMN_VALUE]);
    return SHOAL_OK;
}

/* ---- all of it ---- */

static unsigned bits_for(uint64_t columns)
{
    unsigned bits = 1;

    while ((uint64_t)1 << bits < columns)
        bits++;
    return bits;
}

static shoal_status making_open(struct making *m, const struct shoal_clicks_opts *opts)
{
    unsigned bits = bits_for(m->x->columns);
    uint64_t tables = census_bytes(bits) + click_sizes_bytes(bits, opts->scale);
    uint64_t may = opts->memory_limit ? opts->memory_limit : mem_available();
    shoal_status st;

    if (tables > may)
        return shoal_fail(
            SHOAL_ELIMIT, "rows: need %llu bytes of memory for %llu columns, %llu are free",
            (unsigned long long)tables, (unsigned long long)m->x->columns, (unsigned long long)may);
    m->all.left = may - tables;
    m->format = (struct click_format){
        .format = SHOAL_CLICKS_LIBSVM, .shift = 64 - bits, .classes = opts->classes, .plain = true};
    st = census_init(&m->census, bits);
    return st == SHOAL_OK ? click_sizes_init(&m->sizes, bits, opts->scale) : st;
}

static void making_end(struct making *m)
{
    census_fini(&m->census);
    click_sizes_fini(&m->sizes);
    click_labels_fini(&m->labels);
    free(m->batch.slot);
    free(m->batch.value);
    free(m->scale);
    for (int i = 0; i < CLICK_COLUMNS; i++)
        spill_buffer_fini(&m->columns[i]);
}

shoal_status shoal_clicks_new(shoal_clicks **out, const struct shoal_rows *x, const uint32_t *label,
                              const float *weight, const struct shoal_clicks_opts *opts)
{
    struct row_examples none = {.n = 0}; /* there is no text */
    struct making m = {.x = x, .label = label, .weight = weight};
    shoal_status st = rows_check(x);

    *out = NULL;
    for (int i = 0; i < CLICK_COLUMNS; i++)
        spill_buffer_init(&m.columns[i]);
    if (st == SHOAL_OK && x->rows == 0)
        st = shoal_fail(SHOAL_EINVAL, "rows: found none, want one or more");
    if (st == SHOAL_OK)
        st = check_weights(x, weight);
    if (st == SHOAL_OK)
        st = name_classes(&m.labels, x, label, opts);
    if (st == SHOAL_OK)
        st = making_open(&m, opts);
    if (st == SHOAL_OK)
        st = add_rows(&m);
    if (st == SHOAL_OK)
        st = number_features(&m);
    m.stats.rows = x->rows;
    m.stats.positives = m.labels.count[1];
    m.stats.classes = m.labels.n;
    if (st == SHOAL_OK)
        st = clicks_adopt(out, &(struct clicks_parts){m.columns, &m.census, &m.labels, &m.scale, &none},
                          &m.format, &m.stats);
    making_end(&m);
    return st;
}
