/* Samples from files: rows of numbers become inputs, and a column or a second file
 * their classes or targets. */
#include "samples/samples.h"

#include <math.h>
#include <stdlib.h>

struct shoal_samples_opts shoal_samples_default(void)
{
    return (struct shoal_samples_opts){.targets = 1};
}

/* ---- a file in memory, whatever its format ---- */

struct numbers {
    const char *path;
    char *text; /* the file */
    size_t len;
    bool is_array;
    struct array array; /* of .npy and IDX; unused for CSV */
    float *rows;        /* of CSV: [n][width]; NULL for arrays */
    size_t n, width;
    size_t first; /* CSV: the line of row 0 */
};

static size_t limit_of(const struct shoal_samples_opts *o)
{
    uint64_t free_bytes = o->memory_limit ? o->memory_limit : mem_available();

    return free_bytes / 2 < SIZE_MAX / 4 ? (size_t)(free_bytes / 2) : SIZE_MAX / 4;
}

/* A file, or what is in memory; FIELD_PAD bytes behind it may be read. */
static shoal_status text_open(struct numbers *f, const struct shoal_memory *from,
                              const struct shoal_samples_opts *o)
{
    size_t len = from->size;
    shoal_status st = SHOAL_OK;
    char *text;

    f->path = from->name;
    if (!from->data)
        st = stream_slurp(&f->text, &len, f->path, limit_of(o));
    if (st != SHOAL_OK)
        return st;
    text = realloc(f->text, len + FIELD_PAD);
    if (!text)
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory for %zu bytes", f->path, len);
    if (from->data)
        memcpy(text, from->data, len);
    memset(text + len, 0, FIELD_PAD);
    f->text = text;
    f->len = len;
    f->is_array = npy_sniff(text, len) || idx_sniff(text, len);
    return SHOAL_OK;
}

/* As numbers alone. */
static shoal_status numbers_read(struct numbers *f, const struct shoal_samples_opts *o)
{
    shoal_status st;

    if (!f->is_array)
        return samples_csv_read(&f->rows, &f->n, &f->width, &f->first, f->path, f->text, f->len,
                                o->table.header);
    st = (npy_sniff(f->text, f->len) ? npy_open : idx_open)(&f->array, f->path, f->text, f->len);
    f->n = f->array.n;
    f->width = f->array.width;
    return st;
}

static void numbers_fini(struct numbers *f)
{
    free(f->text);
    free(f->rows);
}

static double number_at(const struct numbers *f, size_t row, size_t i)
{
    return f->rows ? (double)f->rows[row * f->width + i] : array_number(&f->array, row, i);
}

/* "line 7" of text, "row 6" (from 0) of arrays. */
static shoal_status bad_number(const struct numbers *f, size_t row, size_t column, double found,
                               const char *want)
{
    if (f->rows)
        return shoal_fail(SHOAL_EFORMAT, "%s: line %zu, column %zu: found %g, want %s", f->path,
                          f->first + row, column + 1, found, want);
    return shoal_fail(SHOAL_EFORMAT, "%s: row %zu, column %zu (from 0): found %g, want %s", f->path,
                      row, column, found, want);
}

/* ---- classes and targets ---- */

static shoal_status take_labels(shoal_samples *s, const struct numbers *f, size_t column,
                                const struct shoal_samples_opts *o)
{
    double *number = mem_array(s->n, sizeof *number);
    struct label_list list = {.path = f->path, .number = number, .n = s->n};
    shoal_status st = number ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < s->n && st == SHOAL_OK; i++) {
        number[i] = number_at(f, i, column);
        if (!isfinite(number[i]))
            st = bad_number(f, i, column, number[i], "a class");
    }
    if (st == SHOAL_OK)
        st = samples_take_classes(s, &list, o);
    free(number);
    return st;
}

static shoal_status take_targets(shoal_samples *s, const struct numbers *f, size_t column,
                                 size_t count)
{
    s->y = mem_array(s->n * count, sizeof *s->y);
    if (!s->y)
        return SHOAL_ENOMEM;
    s->targets = count;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < count; j++) {
            double x = number_at(f, i, column + j);

            if (!isfinite((float)x))
                return bad_number(f, i, column + j, x, "a finite number");
            s->y[i * count + j] = (float)x;
        }
    return SHOAL_OK;
}

static shoal_status take_answers(shoal_samples *s, const struct numbers *f, size_t column,
                                 const struct shoal_samples_opts *o, size_t count)
{
    if (o->task == SHOAL_CLASSIFY)
        return take_labels(s, f, column, o);
    return o->task == SHOAL_REGRESS ? take_targets(s, f, column, count) : SHOAL_OK;
}

/* From a file of their own. */
static shoal_status read_answers(shoal_samples *s, const struct shoal_memory *from,
                                 const struct shoal_samples_opts *o)
{
    const char *path = from->name;
    struct numbers f = {0};
    shoal_status st = text_open(&f, from, o);

    if (st == SHOAL_OK && !f.is_array) {
        st = table_read_labels(s, path, f.text, f.len, o);
        numbers_fini(&f);
        return st;
    }
    if (st == SHOAL_OK)
        st = numbers_read(&f, o);
    if (st == SHOAL_OK && f.n != s->n)
        st = shoal_fail(SHOAL_EFORMAT, "%s: %zu rows, want %zu as there are samples", path, f.n,
                        s->n);
    if (st == SHOAL_OK && o->task == SHOAL_CLASSIFY && f.width != 1)
        st = shoal_fail(SHOAL_EFORMAT, "%s: %zu numbers in a row, want 1, its class", path,
                        f.width);
    if (st == SHOAL_OK)
        st = take_answers(s, &f, 0, o, f.width);
    numbers_fini(&f);
    return st;
}

/* ---- inputs ---- */

/* Images are bytes and stay so; the columns [skip, skip + count) are left out. */
static shoal_status take_inputs(shoal_samples *s, const struct numbers *f, size_t skip,
                                size_t count)
{
    size_t out = 0;

    s->inputs = f->width - count;
    if (!f->rows && f->array.type == ARRAY_U8 && count == 0) {
        s->bytes = mem_array(s->n, s->inputs);
        memcpy(s->sides, f->array.sides, sizeof s->sides);
        if (s->bytes && !f->array.by_columns)
            memcpy(s->bytes, f->array.at, s->n * s->inputs);
        for (size_t i = 0; s->bytes && f->array.by_columns && i < s->n * s->inputs; i++)
            s->bytes[i] = (uint8_t)array_bits(&f->array, i / s->inputs, i % s->inputs);
        return s->bytes ? SHOAL_OK : SHOAL_ENOMEM;
    }
    s->x = mem_array(s->n * s->inputs, sizeof *s->x);
    if (!s->x)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < f->width; j++) {
            double x;

            if (j >= skip && j < skip + count)
                continue;
            x = number_at(f, i, j);
            if (!isfinite((float)x))
                return bad_number(f, i, j, x, "a finite number");
            s->x[out++] = (float)x;
        }
    return SHOAL_OK;
}

/* MNIST's files come in pairs: "x-images-idx3-ubyte.gz", "x-labels-idx1-ubyte.gz". */
static char *pair_of(const char *path)
{
    static const char images[] = "images-idx3", labels[] = "labels-idx1";
    const char *at = strstr(path, images);
    char *out = at ? strdup(path) : NULL;

    if (out)
        memcpy(out + (at - path), labels, sizeof labels - 1);
    return out;
}

/* From 1; 0: the last one. */
static shoal_status label_number(const char *label, size_t *out)
{
    uint64_t number = 0;
    const char *end = label ? label + strlen(label) : NULL;

    if (label && (number_digits(label, end, &number) != end || number > SAMPLES_MAX_INPUTS))
        return shoal_fail(SHOAL_EINVAL, "--label is '%s', want the number of a column from 1, for "
                          "columns of numbers have no names", label);
    *out = (size_t)number;
    return SHOAL_OK;
}

/* Which columns are answers: [*column, *column + *count). */
static shoal_status find_answers(const struct numbers *f, const struct shoal_samples_opts *o,
                                 size_t *column, size_t *count)
{
    size_t label = 0;
    shoal_status st;

    *count = o->task == SHOAL_REGRESS ? o->targets : 1;
    if (o->task == SHOAL_INPUTS)
        *count = o->expect > 0 && f->width > o->expect ? f->width - o->expect : 0;
    if (*count >= f->width && *count > 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: %zu columns, want one or more beside %zu of %s",
                          f->path, f->width, *count,
                          o->task == SHOAL_CLASSIFY ? "classes" : "targets");
    st = label_number(o->table.label, &label);
    if (st != SHOAL_OK)
        return st;
    *column = label == 0 ? f->width - *count : label - 1;
    if (*column + *count > f->width)
        return shoal_fail(SHOAL_EFORMAT, "%s: column %zu is to hold %s, found %zu columns",
                          f->path, *column + 1,
                          o->task == SHOAL_CLASSIFY ? "the class" : "targets", f->width);
    return SHOAL_OK;
}

static shoal_status read_all(shoal_samples *s, const struct numbers *f,
                             const struct shoal_memory *labels, const struct shoal_samples_opts *o)
{
    size_t column = f->width, count = 0;
    shoal_status st = labels ? SHOAL_OK : find_answers(f, o, &column, &count);

    s->n = f->n;
    if (s->n > UINT32_MAX - 1)
        return shoal_fail(SHOAL_ELIMIT, "%s: %zu samples, want at most %u", f->path, s->n,
                          UINT32_MAX - 1);
    if (st == SHOAL_OK)
        st = take_inputs(s, f, column, count);
    if (st == SHOAL_OK)
        st = labels ? read_answers(s, labels, o) : take_answers(s, f, column, o, count);
    return st;
}

/* `labels` NULL: they are columns of the table. */
static shoal_status samples_of(shoal_samples **out, const struct shoal_memory *table,
                               const struct shoal_memory *labels,
                               const struct shoal_samples_opts *opts)
{
    shoal_samples *s = mem_array(1, sizeof *s);
    struct shoal_samples_opts o = *opts;
    struct numbers f = {0};
    shoal_status st = s ? text_open(&f, table, opts) : SHOAL_ENOMEM;

    *out = NULL;
    o.labels = labels ? labels->name : NULL;
    if (st == SHOAL_OK && (f.is_array || o.numbers)) {
        st = numbers_read(&f, &o);
        if (st == SHOAL_OK)
            st = read_all(s, &f, labels, &o);
    } else if (st == SHOAL_OK) {
        st = table_read(s, f.path, f.text, f.len, &o, limit_of(&o));
        if (st == SHOAL_OK && labels && o.task != SHOAL_INPUTS)
            st = read_answers(s, labels, &o);
    }
    numbers_fini(&f);
    if (st == SHOAL_OK)
        *out = s;
    else
        shoal_samples_close(s);
    return st;
}

shoal_status shoal_samples_open(shoal_samples **out, const char *path,
                                const struct shoal_samples_opts *opts)
{
    char *pair = opts->task == SHOAL_INPUTS || opts->labels ? NULL : pair_of(path);
    struct shoal_memory table = {.name = path},
                        labels = {.name = opts->labels ? opts->labels : pair};
    shoal_status st = samples_of(out, &table, labels.name ? &labels : NULL, opts);

    free(pair);
    return st;
}

shoal_status shoal_samples_open_memory(shoal_samples **out, const struct shoal_memory *table,
                                       const struct shoal_memory *labels,
                                       const struct shoal_samples_opts *opts)
{
    struct shoal_memory from[2] = {*table, labels ? *labels : (struct shoal_memory){0}};

    for (int i = 0; i < 2; i++)
        from[i].data = from[i].data ? from[i].data : "";
    return samples_of(out, &from[0], labels ? &from[1] : NULL, opts);
}

/* An array of the caller's, as if it had been read. */
static struct numbers numbers_of(const void *at, enum array_type type, size_t n, size_t width)
{
    return (struct numbers){.path = "samples",
                            .array = {.n = n, .width = width, .type = type, .at = at},
                            .n = n,
                            .width = width};
}

/* Labels that are the numbers of classes already. */
static shoal_status take_numbered(shoal_samples *s, const uint32_t *label)
{
    s->label = mem_array(s->n, sizeof *s->label);
    if (!s->label)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < s->n; i++) {
        if (label[i] >= SAMPLES_MAX_CLASSES)
            return shoal_fail(SHOAL_EFORMAT, "samples: row %zu (from 0): found class %u, want one "
                              "below %d", i, label[i], SAMPLES_MAX_CLASSES);
        s->label[i] = label[i];
        s->classes = label[i] >= s->classes ? (size_t)label[i] + 1 : s->classes;
    }
    return SHOAL_OK;
}

static shoal_status take_arrays(shoal_samples *s, const float *x, const uint32_t *label,
                                const float *y, size_t targets)
{
    struct numbers rows = numbers_of(x, ARRAY_F32, s->n, s->inputs);
    struct numbers numbers = numbers_of(y, ARRAY_F32, s->n, targets);
    shoal_status st = take_inputs(s, &rows, s->inputs, 0);

    if (st == SHOAL_OK && label)
        st = take_numbered(s, label);
    return st == SHOAL_OK && y ? take_targets(s, &numbers, 0, targets) : st;
}

shoal_status shoal_samples_new(shoal_samples **out, const float *x, size_t n, size_t inputs,
                               const uint32_t *label, const float *y, size_t targets)
{
    shoal_samples *s;
    shoal_status st;

    *out = NULL;
    if (n == 0 || n > UINT32_MAX - 1 || inputs == 0 || inputs > SAMPLES_MAX_INPUTS)
        return shoal_fail(SHOAL_EINVAL, "samples: %zu of %zu numbers, want 1 to %u of 1 to %d", n,
                          inputs, UINT32_MAX - 1, SAMPLES_MAX_INPUTS);
    if ((label && y) || (y && (targets == 0 || targets > SAMPLES_MAX_INPUTS)))
        return shoal_fail(SHOAL_EINVAL, "samples: classes %s and %zu targets, want one of both",
                          label ? "given" : "none", targets);
    s = mem_array(1, sizeof *s);
    if (!s)
        return SHOAL_ENOMEM;
    s->n = n;
    s->inputs = inputs;
    st = take_arrays(s, x, label, y, targets);
    if (st == SHOAL_OK)
        *out = s;
    else
        shoal_samples_close(s);
    return st;
}

static void forget_names(shoal_samples *s)
{
    for (size_t i = 0; s->names && i < s->classes; i++)
        free(s->names[i]);
    free(s->names);
    s->names = NULL;
}

shoal_status shoal_samples_name_classes(shoal_samples *s, const char *const *names, size_t n)
{
    if (!s->label || n < s->classes || n > SAMPLES_MAX_CLASSES)
        return shoal_fail(SHOAL_EINVAL, "samples: found %zu names of classes, want %zu to %d", n,
                          s->label ? s->classes : 0, s->label ? SAMPLES_MAX_CLASSES : 0);
    forget_names(s);
    s->classes = n;
    if (!names)
        return SHOAL_OK;
    s->names = mem_array(n, sizeof *s->names);
    for (size_t i = 0; s->names && i < n; i++)
        if (!(s->names[i] = strdup(names[i]))) {
            forget_names(s);
            break;
        }
    return s->names ? SHOAL_OK : shoal_fail(SHOAL_ENOMEM, "samples: no memory for names of classes");
}

void shoal_samples_close(shoal_samples *s)
{
    if (!s)
        return;
    free(s->x);
    free(s->bytes);
    free(s->label);
    free(s->y);
    forget_names(s);
    columns_free(s->columns);
    free(s);
}

size_t shoal_samples_count(const shoal_samples *s)
{
    return s->n;
}

size_t shoal_samples_classes(const shoal_samples *s)
{
    return s->classes;
}

const char *shoal_samples_class(const shoal_samples *s, size_t k)
{
    return s->names && k < s->classes ? s->names[k] : NULL;
}

const shoal_columns *shoal_samples_columns(const shoal_samples *s)
{
    return s->columns;
}

/* ---- what stands for them ---- */

uint64_t samples_fingerprint(const shoal_samples *s)
{
    size_t cells = s->n * s->inputs;
    uint64_t h = bytes_hash(s->n, &s->inputs, sizeof s->inputs);

    h = s->x ? bytes_hash(h, s->x, cells * sizeof *s->x) : bytes_hash(h, s->bytes, cells);
    if (s->label)
        h = bytes_hash(h, s->label, s->n * sizeof *s->label);
    if (s->y)
        h = bytes_hash(h, s->y, s->n * s->targets * sizeof *s->y);
    return h;
}

/* ---- held out ---- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

shoal_status samples_split(uint32_t **ids, size_t n, size_t held, uint64_t seed, uint64_t stream)
{
    struct rng rng = {.seed = seed, .stream = stream};
    uint32_t *at = *ids = mem_array(n, sizeof *at);

    if (!at)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < n; i++)
        at[i] = (uint32_t)i;
    for (size_t i = n; held > 0 && i > 1; i--) {
        size_t j = (size_t)rng_below(&rng, i);
        uint32_t swap = at[i - 1];

        at[i - 1] = at[j];
        at[j] = swap;
    }
    qsort(at, n - held, sizeof *at, by_number);
    qsort(at + (n - held), held, sizeof *at, by_number);
    return SHOAL_OK;
}

/* ---- scaling ---- */

shoal_status scaling_init(struct scaling *s, size_t n)
{
    *s = (struct scaling){.n = n};
    s->mean = mem_array(n, sizeof *s->mean);
    s->inverse = mem_array(n, sizeof *s->inverse);
    if (s->mean && s->inverse)
        return SHOAL_OK;
    scaling_fini(s);
    return SHOAL_ENOMEM;
}

void scaling_fini(struct scaling *s)
{
    free(s->mean);
    free(s->inverse);
    *s = (struct scaling){0};
}

static double input_at(const shoal_samples *s, uint32_t id, size_t i)
{
    size_t at = id * s->inputs + i;

    return s->x ? (double)s->x[at] : s->bytes[at];
}

struct moments {
    double sum, squares;
    size_t n;
};

static void add_to(struct moments *m, double x)
{
    m->sum += x;
    m->squares += x * x;
    m->n++;
}

static void set_column(struct scaling *s, size_t column, const struct moments *m)
{
    double mean = m->n ? m->sum / (double)m->n : 0;
    double variance = m->n ? m->squares / (double)m->n - mean * mean : 0;
    bool varies = variance > 1e-12 * (mean * mean + 1e-20);

    s->mean[column] = (float)mean;
    s->inverse[column] = varies ? (float)(1 / sqrt(variance)) : 0;
}

static bool is_image(const shoal_samples *s)
{
    return s->bytes && s->sides[1] > 0;
}

/* Whether an input is one, not the value of a category, which is 0 or 1 and stays so. */
static bool is_number(const shoal_samples *s, size_t input)
{
    char name[TABLE_INPUT];

    return table_input(s->columns, input, name);
}

shoal_status scaling_of(struct scaling *out, const shoal_samples *s, const uint32_t *ids, size_t n)
{
    struct moments *m = mem_array(s->inputs, sizeof *m);
    shoal_status st = m ? scaling_init(out, s->inputs) : SHOAL_ENOMEM;

    for (size_t i = 0; st == SHOAL_OK && i < n; i++)
        for (size_t j = 0; j < s->inputs; j++)
            add_to(&m[is_image(s) ? 0 : j], input_at(s, ids[i], j));
    for (size_t j = 0; st == SHOAL_OK && j < s->inputs; j++)
        set_column(out, j, &m[is_image(s) ? 0 : j]);
    for (size_t j = 0; st == SHOAL_OK && j < s->inputs && s->columns; j++)
        if (!is_number(s, j)) {
            out->mean[j] = 0;
            out->inverse[j] = 1;
        }
    free(m);
    return st;
}

shoal_status scaling_of_targets(struct scaling *out, const shoal_samples *s, const uint32_t *ids,
                                size_t n)
{
    shoal_status st = scaling_init(out, s->targets);

    for (size_t j = 0; st == SHOAL_OK && j < s->targets; j++) {
        struct moments m = {0};

        for (size_t i = 0; i < n; i++)
            add_to(&m, (double)s->y[ids[i] * s->targets + j]);
        set_column(out, j, &m);
    }
    return st;
}

void scaling_apply(const struct scaling *s, float *x)
{
    for (size_t j = 0; j < s->n; j++)
        x[j] = (x[j] - s->mean[j]) * s->inverse[j];
}

void samples_row(const shoal_samples *s, uint32_t id, const struct scaling *scaling, float *out)
{
    const float *mean = scaling->mean, *inverse = scaling->inverse;
    size_t n = s->inputs;

    if (s->x) {
        const float *x = s->x + id * n;

        for (size_t j = 0; j < n; j++)
            out[j] = (x[j] - mean[j]) * inverse[j];
    } else {
        const uint8_t *x = s->bytes + id * n;

        for (size_t j = 0; j < n; j++)
            out[j] = ((float)x[j] - mean[j]) * inverse[j];
    }
}
