/* Click data of a made-up world. A row is 39 draws, one for each of Criteo's columns:
 *
 *     column -> value (what is written, its weight, its number) or nothing
 *     label  =  1 with probability 1 / (1 + exp(-(bias + sum of the weights)))
 *
 * An integer's weight belongs to the category that shoal reads it as, so that a linear
 * model over what is read can know all there is to know. Values follow Zipf's law, and
 * rare ones weigh less: what is seen too rarely to be learnt does not matter much. */
#include "base/base.h"
#include "file/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 13, COLUMNS = 39 }; /* Criteo's integers, and all without the label */

#define ROWS_MAX ((uint64_t)1 << 48)
#define CLICK_RATE 0.25
#define PILOT_ROWS 8192u
#define QUANTILES 256u /* different integers of a column, at most */
#define CHUNK_ROWS 2048u
#define ROW_BYTES 1024u /* at most, in any format */

enum { STREAM_ROW = 0x636c69636b, STREAM_PILOT, STREAM_WEIGHT, STREAM_HEX };

/* ---- the columns ---- */

struct number_spec {
    double middle, spread; /* of log x */
    double slope;          /* weight for each unit of log x */
    unsigned missing;      /* of 1,000 */
    bool minus;            /* its least are -1 */
};

static const struct number_spec numbers[NUMBERS] = {
    {0.7, 0.80, 0.30, 90, false},  {2.2, 1.30, 0.08, 0, true},    {2.0, 0.90, -0.12, 60, false},
    {1.6, 0.70, 0.10, 60, false},  {7.4, 1.40, -0.10, 10, false}, {4.0, 1.00, -0.16, 60, false},
    {1.6, 1.00, 0.20, 20, false},  {2.3, 0.80, 0.05, 0, false},   {4.2, 0.80, 0.06, 20, false},
    {0.0, 0.30, 0.20, 90, false},  {0.8, 0.60, 0.15, 20, false},  {0.0, 0.50, 0.25, 250, false},
    {2.0, 0.80, -0.08, 60, false},
};

struct category_spec {
    unsigned values;
    double weight; /* spread of the weights of its commonest */
    unsigned missing;
};

static const struct category_spec categories[COLUMNS - NUMBERS] = {
    {1000, 0.25, 0},   {560, 0.30, 0},   {1500, 0.15, 30}, {1200, 0.15, 30}, {300, 0.25, 0},
    {24, 0.35, 40},    {2000, 0.12, 0},  {630, 0.25, 0},   {3, 0.40, 0},     {2500, 0.12, 0},
    {1800, 0.12, 0},   {1500, 0.15, 30}, {1200, 0.15, 0},  {27, 0.40, 0},    {2000, 0.12, 0},
    {1500, 0.15, 30},  {10, 0.50, 0},    {1800, 0.20, 0},  {900, 0.15, 250}, {4, 0.40, 250},
    {1500, 0.12, 30},  {18, 0.30, 300},  {15, 0.35, 0},    {2000, 0.12, 30}, {100, 0.30, 250},
    {2500, 0.10, 250},
};

#define ZIPF 1.5
#define ZIPF_SHIFT 3.0
#define WEIGHT_HALF 20.0 /* the rank whose weights are spread by 1 / sqrt(2) of the first's */

/* ---- the world ---- */

struct text8 {
    char at[8];
};

struct value {
    struct text8 text; /* as Criteo's rows have it */
    struct text8 name; /* what it is read as, for formats with names */
    uint8_t len, name_len;
    float weight;
    uint32_t index; /* among the weights of all columns, from 1 */
};

/* Values are drawn in constant time by the alias method (Walker 1974, Vose 1991): a place
 * evenly, then by the rest of the draw the value there or its alias. column_alias pairs each place
 * that has less than its share with one that has more, which fills it up. */
struct column {
    struct value *values;
    uint32_t *keep, *alias; /* [n] keep: of 2^32 */
    uint32_t n;
    uint32_t missing; /* of 2^16 */
};

struct world {
    uint64_t seed;
    struct column columns[COLUMNS];
    uint32_t weights;
    double bias;
};

static void world_fini(struct world *w)
{
    for (unsigned i = 0; i < COLUMNS; i++) {
        free(w->columns[i].values);
        free(w->columns[i].keep);
        free(w->columns[i].alias);
    }
}

static shoal_status column_init_room(struct column *c, uint32_t n, unsigned missing)
{
    c->n = n;
    c->missing = missing * 65536 / 1000;
    c->values = mem_array(n, sizeof *c->values);
    c->keep = mem_array(n, sizeof *c->keep);
    c->alias = mem_array(n, sizeof *c->alias);
    return c->values && c->keep && c->alias ? SHOAL_OK : SHOAL_ENOMEM;
}

/* About normal: the sum of twelve even draws. */
static double normal_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    struct rng rng = {.seed = rng_at(seed, stream, index)};
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += rng_unit(&rng);
    return sum;
}

static void put8(struct text8 *to, uint8_t *len, const char *text)
{
    *len = (uint8_t)strlen(text);
    memcpy(to->at, text, *len);
}

/* Places with the chances `p`, which add up to 1. */
static shoal_status column_alias(struct column *c, const double *p)
{
    double *left = mem_array(c->n, sizeof *left);
    uint32_t *order = mem_array(c->n, sizeof *order); /* small ones from below, large from above */
    uint32_t small = 0, large = c->n;

    if (!left || !order) {
        free(left);
        free(order);
        return SHOAL_ENOMEM;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        left[i] = p[i] * c->n;
        order[left[i] < 1 ? small++ : --large] = i;
        c->keep[i] = UINT32_MAX;
        c->alias[i] = i;
    }
    while (small > 0 && large < c->n) {
        uint32_t s = order[--small], l = order[large];

        c->keep[s] = (uint32_t)(left[s] * 4294967295.0);
        c->alias[s] = l;
        left[l] -= 1 - left[s];
        if (left[l] < 1) {
            large++;
            order[small++] = l;
        }
    }
    free(left);
    free(order);
    return SHOAL_OK;
}

/* ---- integers ---- */

/* The integer at a quantile of the log-logistic distribution. */
static int64_t quantile(const struct number_spec *spec, unsigned q)
{
    double u = (q + 0.5) / QUANTILES, x = exp(spec->middle + spec->spread * log(u / (1 - u)));

    x = x < 9999999 ? x : 9999999;
    return (int64_t)x - (spec->minus && q < QUANTILES / 10);
}

/* What the integer is read as: "v2", or "b17" for its bucket. */
static unsigned number_name(char name[8], int64_t x)
{
    double l = log((double)(x > 2 ? x : 1));
    unsigned bucket = (unsigned)(l * l);

    snprintf(name, 8, x > 2 ? "b%u" : "v%d", x > 2 ? bucket : (unsigned)x);
    return x > 2 ? 16 + bucket : (unsigned)(x + 8);
}

static shoal_status number_column(struct world *w, unsigned i)
{
    const struct number_spec *spec = &numbers[i];
    struct column *c = &w->columns[i];
    shoal_status st = column_init_room(c, QUANTILES, spec->missing);
    unsigned last = UINT32_MAX;

    for (unsigned q = 0; q < QUANTILES && st == SHOAL_OK; q++) {
        int64_t x = quantile(spec, q);
        struct value *v = &c->values[q];
        char text[24], name[8];
        unsigned key = number_name(name, x);
        double size = key < 16 ? (double)(x > 0 ? x : 0) : exp(sqrt(key - 15.5));

        snprintf(text, sizeof text, "%lld", (long long)x);
        put8(&v->text, &v->len, text);
        put8(&v->name, &v->name_len, name);
        w->weights += key != last;
        last = key;
        v->index = w->weights;
        v->weight = (float)(spec->slope * (log(size + 1) - spec->middle) +
                            0.08 * normal_at(w->seed, STREAM_WEIGHT, v->index));
        c->keep[q] = UINT32_MAX;
        c->alias[q] = q;
    }
    return st;
}

/* ---- categories ---- */

/* Different for different ranks of a column: every step can be undone. */
static uint32_t hex_of(const struct world *w, unsigned column, uint32_t rank)
{
    uint32_t x = rank * 0x9e3779b1u + (uint32_t)rng_at(w->seed, STREAM_HEX, column);

    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

static shoal_status category_chances(struct column *c)
{
    double *p = mem_array(c->n, sizeof *p), sum = 0;
    shoal_status st;

    if (!p)
        return SHOAL_ENOMEM;
    for (uint32_t r = 0; r < c->n; r++)
        sum += p[r] = pow(r + ZIPF_SHIFT, -ZIPF);
    for (uint32_t r = 0; r < c->n; r++)
        p[r] /= sum;
    st = column_alias(c, p);
    free(p);
    return st;
}

static shoal_status category_column(struct world *w, unsigned i)
{
    const struct category_spec *spec = &categories[i - NUMBERS];
    struct column *c = &w->columns[i];
    shoal_status st = column_init_room(c, spec->values, spec->missing);

    if (st == SHOAL_OK)
        st = category_chances(c);
    for (uint32_t r = 0; r < c->n && st == SHOAL_OK; r++) {
        struct value *v = &c->values[r];
        char text[16];

        snprintf(text, sizeof text, "%08x", hex_of(w, i, r));
        put8(&v->text, &v->len, text);
        put8(&v->name, &v->name_len, text);
        v->index = ++w->weights;
        v->weight = (float)(spec->weight / sqrt(1 + r / WEIGHT_HALF) *
                            normal_at(w->seed, STREAM_WEIGHT, v->index));
    }
    return st;
}

/* ---- rows ---- */

struct row {
    const struct value *values[COLUMNS]; /* NULL: missing */
    double logit;
    uint64_t coin;
};

static inline void draw_row(const struct world *w, uint64_t stream, uint64_t index, struct row *r)
{
    uint64_t at = rng_at(w->seed, stream, index);

    r->logit = w->bias;
    for (unsigned i = 0; i < COLUMNS; i++) {
        const struct column *c = &w->columns[i];
        uint64_t draw = rng_mix(at += RNG_STEP), place = (draw >> 32) * c->n;
        uint32_t k = (uint32_t)(place >> 32);
        const struct value *v;

        k = (uint32_t)place <= c->keep[k] ? k : c->alias[k];
        v = (draw & 0xffff) < c->missing ? NULL : &c->values[k];
        r->values[i] = v;
        r->logit += v ? (double)v->weight : 0;
    }
    r->coin = rng_mix(at + RNG_STEP);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* The bias that gives the click rate, on rows that are not written. */
static shoal_status choose_bias(struct world *w)
{
    double *logit = mem_array(PILOT_ROWS, sizeof *logit), low = -20, high = 20;
    struct row row;

    if (!logit)
        return SHOAL_ENOMEM;
    for (unsigned i = 0; i < PILOT_ROWS; i++) {
        draw_row(w, STREAM_PILOT, i, &row);
        logit[i] = row.logit;
    }
    for (int step = 0; step < 40; step++) {
        double sum = 0;

        w->bias = (low + high) / 2;
        for (unsigned i = 0; i < PILOT_ROWS; i++)
            sum += sigmoid(logit[i] + w->bias);
        *(sum < CLICK_RATE * PILOT_ROWS ? &low : &high) = w->bias;
    }
    free(logit);
    return SHOAL_OK;
}

static shoal_status world_init(struct world *w, uint64_t seed)
{
    shoal_status st = SHOAL_OK;

    *w = (struct world){.seed = seed};
    for (unsigned i = 0; i < COLUMNS && st == SHOAL_OK; i++)
        st = i < NUMBERS ? number_column(w, i) : category_column(w, i);
    return st == SHOAL_OK ? choose_bias(w) : st;
}

/* ---- lines ---- */

static inline char *put_text(char *to, const struct text8 *text, uint8_t len)
{
    memcpy(to, text->at, 8);
    return to + len;
}

/* Criteo's with tabs between what it writes; CSV with commas between names. */
static inline char *plain_line(char *to, const struct row *r, unsigned label, char between,
                               bool names)
{
    *to++ = (char)('0' + label);
    for (unsigned i = 0; i < COLUMNS; i++) {
        const struct value *v = r->values[i];

        *to++ = between;
        if (v)
            to = names ? put_text(to, &v->name, v->name_len) : put_text(to, &v->text, v->len);
    }
    return to;
}

static char *put_column(char *to, unsigned i)
{
    unsigned number = i < NUMBERS ? i + 1 : i + 1 - NUMBERS;

    *to++ = i < NUMBERS ? 'I' : 'C';
    if (number >= 10)
        *to++ = (char)('0' + number / 10);
    *to++ = (char)('0' + number % 10);
    return to;
}

static char *vw_line(char *to, const struct row *r, unsigned label)
{
    to = stpcpy(to, label ? "1" : "-1");
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (!r->values[i])
            continue;
        *to++ = ' ';
        *to++ = '|';
        to = put_column(to, i);
        *to++ = ' ';
        to = put_text(to, &r->values[i]->name, r->values[i]->name_len);
    }
    return to;
}

static char *put_index(char *to, uint32_t index)
{
    char digits[12];
    unsigned n = 0;

    for (; index > 0; index /= 10)
        digits[n++] = (char)('0' + index % 10);
    while (n > 0)
        *to++ = digits[--n];
    return to;
}

static char *libsvm_line(char *to, const struct row *r, unsigned label)
{
    to = stpcpy(to, label ? "+1" : "-1");
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (!r->values[i])
            continue;
        *to++ = ' ';
        to = put_index(to, r->values[i]->index);
        *to++ = ':';
        *to++ = '1';
    }
    return to;
}

static shoal_status put_csv_names(struct output *out, uint64_t *bytes)
{
    char line[512], *to = stpcpy(line, "label");

    for (unsigned i = 0; i < COLUMNS; i++) {
        *to++ = ',';
        to = put_column(to, i);
    }
    *to++ = '\n';
    *bytes += (uint64_t)(to - line);
    return output_write(out, line, (size_t)(to - line));
}

/* ---- writing ---- */

struct writing {
    const struct shoal_gen_clicks_opts *opts;
    struct world world;
    struct output *out;
    struct ordered ordered;
    struct pulse pulse;
    struct shoal_gen_clicks_stats stats; /* sums, until the end */
};

struct chunk {
    char *text; /* [CHUNK_ROWS * ROW_BYTES] */
    struct shoal_gen_clicks_stats stats;
};

static unsigned add_row(struct shoal_gen_clicks_stats *s, const struct row *r)
{
    double p = sigmoid(r->logit), q = 1 - p;
    unsigned label = (double)(r->coin >> 11) * 0x1p-53 < p;

    s->entropy -= p * log(p) + q * log(q);
    s->logloss -= log(label ? p : q);
    s->positives += label;
    for (unsigned i = 0; i < COLUMNS; i++)
        s->values += r->values[i] != NULL;
    s->rows++;
    return label;
}

static void make_chunk(const struct writing *w, uint64_t first, uint64_t rows, struct chunk *c)
{
    char *to = c->text;
    struct row row;

    c->stats = (struct shoal_gen_clicks_stats){0};
    for (uint64_t i = 0; i < rows; i++) {
        unsigned label;

        draw_row(&w->world, STREAM_ROW, first + i, &row);
        label = add_row(&c->stats, &row);
        switch (w->opts->format) {
        case SHOAL_CLICKS_LIBSVM:
            to = libsvm_line(to, &row, label);
            break;
        case SHOAL_CLICKS_VW:
            to = vw_line(to, &row, label);
            break;
        case SHOAL_CLICKS_CSV:
            to = plain_line(to, &row, label, ',', true);
            break;
        default:
            to = plain_line(to, &row, label, '\t', false);
        }
        *to++ = '\n';
    }
    c->stats.bytes = (uint64_t)(to - c->text);
}

static shoal_status put_chunk(struct writing *w, const struct chunk *c)
{
    w->stats.rows += c->stats.rows;
    w->stats.positives += c->stats.positives;
    w->stats.values += c->stats.values;
    w->stats.bytes += c->stats.bytes;
    w->stats.entropy += c->stats.entropy;
    w->stats.logloss += c->stats.logloss;
    return output_write(w->out, c->text, (size_t)c->stats.bytes);
}

static shoal_status write_thread(void *ctx, unsigned index)
{
    struct writing *w = ctx;
    struct chunk c = {.text = mem_array(CHUNK_ROWS, ROW_BYTES)};
    shoal_status st = c.text ? SHOAL_OK : SHOAL_ENOMEM;
    uint64_t total = w->opts->rows, k;

    (void)index;
    while (st == SHOAL_OK && (k = ordered_claim(&w->ordered)) * CHUNK_ROWS < total) {
        uint64_t left = total - k * CHUNK_ROWS;

        make_chunk(w, w->opts->first + k * CHUNK_ROWS, left < CHUNK_ROWS ? left : CHUNK_ROWS, &c);
        if (!ordered_begin(&w->ordered, k))
            break;
        st = put_chunk(w, &c);
        if (st == SHOAL_OK)
            st = pulse_at(&w->pulse, w->stats.rows);
        ordered_end(&w->ordered, st);
    }
    if (st != SHOAL_OK)
        ordered_stop(&w->ordered);
    free(c.text);
    return st;
}

static shoal_status write_rows(struct writing *w)
{
    shoal_status st = SHOAL_OK;

    if (w->opts->format == SHOAL_CLICKS_CSV)
        st = put_csv_names(w->out, &w->stats.bytes);
    pulse_begin(&w->pulse, &w->opts->watch, "clicks", "rows", w->opts->rows);
    ordered_init(&w->ordered);
    if (st == SHOAL_OK)
        st = pool_run(pool_threads(w->opts->threads), write_thread, w);
    ordered_fini(&w->ordered);
    w->stats.entropy /= (double)w->opts->rows;
    w->stats.logloss /= (double)w->opts->rows;
    w->stats.weights = w->world.weights;
    return st == SHOAL_OK ? pulse_end(&w->pulse, w->stats.rows) : st;
}

/* ---- the door ---- */

struct shoal_gen_clicks_opts shoal_gen_clicks_default(void)
{
    return (struct shoal_gen_clicks_opts){
        .rows = 1000000, .seed = 1, .format = SHOAL_CLICKS_CRITEO};
}

static shoal_status gen_check(const struct shoal_gen_clicks_opts *opts)
{
    if (opts->rows == 0 || opts->rows > ROWS_MAX)
        return shoal_fail(SHOAL_EINVAL, "clicks: --rows is %llu, want 1 to %llu",
                          (unsigned long long)opts->rows, (unsigned long long)ROWS_MAX);
    if (opts->first > ROWS_MAX)
        return shoal_fail(SHOAL_EINVAL, "clicks: --first is %llu, want 0 to %llu",
                          (unsigned long long)opts->first, (unsigned long long)ROWS_MAX);
    if (opts->format > SHOAL_CLICKS_CSV)
        return shoal_fail(SHOAL_EINVAL, "clicks: format is %d, want 0 to 4", (int)opts->format);
    return SHOAL_OK;
}

shoal_status shoal_gen_clicks(const char *path, const struct shoal_gen_clicks_opts *opts,
                              struct shoal_gen_clicks_stats *stats)
{
    struct writing w = {.opts = opts};
    shoal_status st = gen_check(opts);

    if (stats)
        *stats = (struct shoal_gen_clicks_stats){0};
    if (st == SHOAL_OK)
        st = world_init(&w.world, opts->seed);
    if (st == SHOAL_OK)
        st = output_open(&w.out, path);
    if (st == SHOAL_OK)
        st = output_end(w.out, write_rows(&w));
    if (st == SHOAL_OK && stats)
        *stats = w.stats;
    world_fini(&w.world);
    return st;
}
