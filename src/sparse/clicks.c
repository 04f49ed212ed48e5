/* Encoded clicks: mapped and checked, or taken over from who read them into memory. */
#include "sparse/rows.h"

#include <stdlib.h>

/* ---- from a file ---- */

static shoal_status fail_file(const shoal_clicks *c, const char *what, uint64_t place)
{
    return shoal_fail(SHOAL_EFORMAT, "%s: %s at place %llu", container_path(c->file), what,
                      (unsigned long long)place);
}

/* The n elements of a section, unless something failed before. */
static const void *find(const shoal_clicks *c, const char *name, size_t unit, uint64_t n,
                        shoal_status *st)
{
    struct section s = {0};

    if (*st == SHOAL_OK)
        *st = container_find(c->file, name, unit, &s);
    if (*st == SHOAL_OK && s.size / unit != n)
        *st = shoal_fail(SHOAL_EFORMAT, "%s: section \"%s\" has %zu elements, want %llu",
                         container_path(c->file), name, s.size / unit, (unsigned long long)n);
    return s.data;
}

static shoal_status load_meta(shoal_clicks *c)
{
    struct clicks_view *v = &c->view;
    uint64_t features = 0;
    shoal_status st = container_meta_u64(c->file, "rows", &v->rows);

    if (st == SHOAL_OK)
        st = container_meta_u64(c->file, "positives", &v->positives);
    if (st == SHOAL_OK)
        st = container_meta_u64(c->file, "values", &v->values);
    if (st == SHOAL_OK)
        st = container_meta_u64(c->file, "features", &features);
    if (st == SHOAL_OK)
        st = container_meta_u64(c->file, "bad_lines", &c->bad_lines);
    if (st == SHOAL_OK)
        st = clicks_reading_load(&c->reading, c->file);
    v->bits = c->reading.opts.bits;
    v->features = (uint32_t)features;
    if (st == SHOAL_OK && (features > (uint64_t)1 << v->bits || v->rows >= UINT64_MAX / 8))
        st = shoal_fail(SHOAL_EFORMAT, "%s: has %llu features and %llu rows, want fewer",
                        container_path(c->file), (unsigned long long)features,
                        (unsigned long long)v->rows);
    return st;
}

static shoal_status load_sections(shoal_clicks *c)
{
    struct clicks_view *v = &c->view;
    struct section names = {0};
    shoal_status st = SHOAL_OK;

    v->id = find(c, "ids", sizeof *v->id, v->values, &st);
    v->label = find(c, "labels", sizeof *v->label, v->rows, &st);
    v->start = find(c, "starts", sizeof *v->start, v->rows + 1, &st);
    if (container_has(c->file, "values"))
        v->value = find(c, "values", sizeof *v->value, v->values, &st);
    if (container_has(c->file, "weights"))
        v->weight = find(c, "weights", sizeof *v->weight, v->rows, &st);
    if (container_has(c->file, "scales"))
        v->scale = find(c, "scales", sizeof *v->scale, v->features, &st);
    v->slot = find(c, "slots", sizeof *v->slot, v->features, &st);
    v->count = find(c, "counts", sizeof *v->count, v->features, &st);
    c->begin = find(c, "names.begin", sizeof *c->begin, v->features, &st);
    if (st == SHOAL_OK)
        st = container_find(c->file, "names", 1, &names);
    c->names = names.data;
    c->names_len = names.size;
    return st;
}

/* ---- checks ---- */

static shoal_status check_rows(shoal_clicks *c)
{
    struct clicks_view *v = &c->view;
    bool classes = c->reading.opts.classes;
    unsigned labels = c->reading.labels.n, most = labels ? labels : classes ? SHOAL_CLICKS_CLASSES : 2;
    uint64_t positives = 0;

    v->classes = labels > 2 ? labels : 2;
    if (v->start[0] != 0 || v->start[v->rows] != v->values)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its rows begin at %llu and end at %llu, want 0 and "
                          "%llu",
                          container_path(c->file), (unsigned long long)v->start[0],
                          (unsigned long long)v->start[v->rows], (unsigned long long)v->values);
    for (uint64_t i = 0; i < v->rows; i++) {
        if (v->start[i] > v->start[i + 1])
            return fail_file(c, "a row begins behind the next", i);
        if (v->label[i] >= most)
            return fail_file(c, classes ? "a label is none of its classes"
                                        : "a label is neither 0 nor 1", i);
        if (v->weight && !(v->weight[i] >= 0 && v->weight[i] - v->weight[i] == 0))
            return fail_file(c, "a weight is negative or no number", i);
        positives += v->label[i] == 1;
        v->classes = v->label[i] >= v->classes ? v->label[i] + 1u : v->classes;
    }
    if (positives != v->positives)
        return shoal_fail(SHOAL_EFORMAT, "%s: has %llu positive labels, want %llu",
                          container_path(c->file), (unsigned long long)positives,
                          (unsigned long long)v->positives);
    return SHOAL_OK;
}

struct values_check {
    const shoal_clicks *c;
    unsigned threads;
};

/* No way out of the loop, so that the compiler may do several at once. */
static bool ids_are_good(const uint32_t *id, size_t n, uint32_t features)
{
    uint32_t wrong = 0;

    for (size_t i = 0; i < n; i++)
        wrong |= id[i] >= features;
    return !wrong;
}

static bool floats_are_finite(const float *value, size_t n)
{
    unsigned wrong = 0;

    for (size_t i = 0; i < n; i++)
        wrong |= !(value[i] - value[i] == 0);
    return !wrong;
}

static shoal_status check_values_part(void *ctx, unsigned index)
{
    const struct values_check *k = ctx;
    const struct clicks_view *v = &k->c->view;
    uint64_t from = (uint64_t)((unsigned __int128)v->values * index / k->threads);
    uint64_t to = (uint64_t)((unsigned __int128)v->values * (index + 1) / k->threads);

    for (uint64_t at = from; at < to; at += 4096) {
        size_t n = to - at < 4096 ? (size_t)(to - at) : 4096;

        if (!ids_are_good(v->id + at, n, v->features))
            return fail_file(k->c, "an id is not below the features", at);
        if (v->value && !floats_are_finite(v->value + at, n))
            return fail_file(k->c, "a value is no number", at);
    }
    return SHOAL_OK;
}

static shoal_status check_features(shoal_clicks *c)
{
    struct clicks_view *v = &c->view;

    for (uint32_t i = 0; i < v->features; i++) {
        v->counted += v->count[i];
        if (v->slot[i] >> v->bits)
            return fail_file(c, "a slot is not below 2^bits", i);
        if (i > 0 && (v->count[i] > v->count[i - 1] ||
                      (v->count[i] == v->count[i - 1] && v->slot[i] <= v->slot[i - 1])))
            return fail_file(c, "a feature is out of order", i);
        if (v->scale && !(v->scale[i] > 0 && v->scale[i] - v->scale[i] == 0))
            return fail_file(c, "a scale is no number above 0", i);
        if (c->begin[i] >= c->names_len || (c->begin[i] > 0 && c->names[c->begin[i] - 1] != '\0'))
            return fail_file(c, "a name begins at a wrong place", i);
    }
    return SHOAL_OK;
}

static shoal_status check_all(shoal_clicks *c)
{
    struct values_check values = {c, c->view.values > 1u << 20 ? pool_threads(0) : 1};
    shoal_status st = SHOAL_OK;

    if (c->names_len == 0 || c->names[0] != '\0' || c->names[c->names_len - 1] != '\0')
        st = shoal_fail(SHOAL_EFORMAT, "%s: its names are not each ended by a NUL",
                        container_path(c->file));
    if (st == SHOAL_OK)
        st = check_rows(c);
    if (st == SHOAL_OK)
        st = check_features(c);
    return st == SHOAL_OK ? pool_run(values.threads, check_values_part, &values) : st;
}

static shoal_status load(shoal_clicks *c)
{
    shoal_status st = container_check_kind(c->file, "clicks", "clicks");

    if (st == SHOAL_OK)
        st = container_verify(c->file, pool_threads(0));
    if (st == SHOAL_OK)
        st = load_meta(c);
    if (st == SHOAL_OK)
        st = load_sections(c);
    if (st == SHOAL_OK)
        st = row_examples_load(&c->examples, c->file);
    return st == SHOAL_OK ? check_all(c) : st;
}

static shoal_clicks *clicks_new(void)
{
    shoal_clicks *c = mem_array(1, sizeof *c);

    for (int i = 0; c && i < CLICK_COLUMNS; i++)
        spill_buffer_init(&c->own[i]);
    return c;
}

/* From the file at `path`, or from a copy of `bytes`. */
static shoal_status clicks_load(shoal_clicks **out, const char *path,
                                const struct shoal_memory *bytes)
{
    shoal_clicks *c = clicks_new();
    shoal_status st = SHOAL_ENOMEM;

    *out = NULL;
    if (c)
        st = path ? container_map(&c->file, path) : container_open_copy(&c->file, bytes);
    if (st == SHOAL_OK)
        st = load(c);
    if (st == SHOAL_OK)
        *out = c;
    else
        shoal_clicks_close(c);
    return st;
}

shoal_status shoal_clicks_open(shoal_clicks **out, const char *path)
{
    return clicks_load(out, path, NULL);
}

shoal_status shoal_clicks_open_memory(shoal_clicks **out, const struct shoal_memory *bytes)
{
    return clicks_load(out, NULL, bytes);
}

/* ---- from memory ---- */

static void take_columns(shoal_clicks *c, struct spill_buffer *columns)
{
    struct clicks_view *v = &c->view;

    for (int i = 0; i < CLICK_COLUMNS; i++) {
        c->own[i] = columns[i];
        spill_buffer_init(&columns[i]);
    }
    v->label = (const uint8_t *)c->own[CLICK_COLUMN_LABEL].at;
    v->start = (const uint64_t *)(const void *)c->own[CLICK_COLUMN_START].at;
    v->id = (const uint32_t *)(const void *)c->own[CLICK_COLUMN_ID].at;
    v->value = (const float *)(const void *)c->own[CLICK_COLUMN_VALUE].at;
    v->weight = (const float *)(const void *)c->own[CLICK_COLUMN_WEIGHT].at;
}

static shoal_status take_census(shoal_clicks *c, struct click_census *census)
{
    struct clicks_view *v = &c->view;
    shoal_status st;

    v->features = census->features;
    c->own_begin = mem_array(v->features, sizeof *c->own_begin);
    st = c->own_begin ? census_names(census, &c->own_names, c->own_begin) : SHOAL_ENOMEM;
    c->census.slot = census->slot;
    c->census.counts = census->counts;
    census->slot = NULL;
    census->counts = NULL;
    v->slot = c->census.slot;
    v->count = c->census.counts;
    for (uint32_t i = 0; i < v->features; i++)
        v->counted += v->count[i];
    c->names = c->own_names.at;
    c->names_len = c->own_names.len;
    c->begin = c->own_begin;
    return st;
}

/* How the rows were read; the labels are those that were found. */
static shoal_status take_reading(shoal_clicks *c, const struct click_format *w,
                                 struct click_labels *labels)
{
    struct shoal_clicks_opts opts = shoal_clicks_default();
    shoal_status st;

    opts.format = w->format;
    opts.bits = 64 - w->shift;
    opts.classes = w->classes;
    opts.plain = w->plain;
    opts.columns = click_csv_columns(w);
    st = clicks_reading_copy(&c->reading, &opts);
    c->reading.labels = *labels;
    *labels = (struct click_labels){0};
    clicks_reading_point(&c->reading);
    return st;
}

shoal_status clicks_adopt(shoal_clicks **out, const struct clicks_parts *parts,
                          const struct click_format *w, const struct shoal_clicks_stats *stats)
{
    shoal_clicks *c = clicks_new();
    shoal_status st = c ? take_reading(c, w, parts->labels) : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK) {
        take_columns(c, parts->columns);
        c->own_scale = *parts->scale;
        *parts->scale = NULL;
        c->view.scale = c->own_scale;
        c->examples = *parts->examples;
        *parts->examples = (struct row_examples){0};
        st = take_census(c, parts->census);
    }
    if (st != SHOAL_OK) {
        shoal_clicks_close(c);
        return st;
    }
    c->view.rows = stats->rows;
    c->view.positives = stats->positives;
    c->view.classes = stats->classes;
    c->view.values = stats->values;
    c->view.bits = c->reading.opts.bits;
    c->bad_lines = stats->bad_lines;
    *out = c;
    return SHOAL_OK;
}

void shoal_clicks_close(shoal_clicks *c)
{
    if (!c)
        return;
    container_close(c->file);
    for (int i = 0; i < CLICK_COLUMNS; i++)
        spill_buffer_fini(&c->own[i]);
    census_fini(&c->census);
    bytes_fini(&c->own_names);
    free(c->own_begin);
    free(c->own_scale);
    clicks_reading_fini(&c->reading);
    row_examples_fini(&c->examples);
    free(c);
}

/* ---- looking ---- */

const struct clicks_view *clicks_view(const shoal_clicks *c)
{
    return &c->view;
}

struct shoal_clicks_counts shoal_clicks_counts(const shoal_clicks *c)
{
    return (struct shoal_clicks_counts){.rows = c->view.rows,
                                        .positives = c->view.positives,
                                        .values = c->view.values,
                                        .bad_lines = c->bad_lines,
                                        .classes = c->view.classes,
                                        .features = c->view.features,
                                        .weighted = c->view.weight != NULL,
                                        .valued = c->view.value != NULL};
}

uint64_t shoal_clicks_count(const shoal_clicks *c, uint32_t id, uint64_t *values)
{
    if (values)
        *values = c->view.counted;
    return id < c->view.features ? c->view.count[id] : 0;
}

const char *shoal_clicks_name(const shoal_clicks *c, uint32_t id)
{
    return id < c->view.features && c->begin[id] > 0 ? c->names + c->begin[id] : NULL;
}

struct shoal_clicks_opts shoal_clicks_like(const shoal_clicks *c)
{
    return c->reading.opts;
}

const char *shoal_clicks_label(const shoal_clicks *c, unsigned k)
{
    return k < c->reading.labels.n ? c->reading.label[k] : NULL;
}

unsigned clicks_find_label(const shoal_clicks *c, const char *name)
{
    return click_labels_known(&c->reading.labels, name);
}

bool clicks_has_label(const shoal_clicks *c, unsigned k)
{
    return c->view.rows > 0 && memchr(c->view.label, (int)k, (size_t)c->view.rows) != NULL;
}

const shoal_columns *shoal_clicks_columns(const shoal_clicks *c)
{
    return c->reading.columns;
}

uint64_t shoal_clicks_fingerprint(const shoal_clicks *c)
{
    const struct clicks_view *v = &c->view;
    uint64_t sum = rng_mix(v->rows ^ v->values << 1 ^ (uint64_t)v->bits << 60);

    sum = bytes_hash(sum, v->id, v->values * sizeof *v->id);
    sum = bytes_hash(sum, v->label, v->rows);
    sum = bytes_hash(sum, v->start, (v->rows + 1) * sizeof *v->start);
    if (v->value)
        sum = bytes_hash(sum + 1, v->value, v->values * sizeof *v->value);
    if (v->weight)
        sum = bytes_hash(sum + 2, v->weight, v->rows * sizeof *v->weight);
    return bytes_hash(sum, v->slot, v->features * sizeof *v->slot);
}
