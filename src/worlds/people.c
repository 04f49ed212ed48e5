/* A table as people have them: numbers of all sizes, categories, missing fields, an id and a column
 * that means nothing. Whether somebody bought is drawn by planted weights, so that the best
 * log-loss is known. A field that is missing has a weight of its own: nothing that the table does
 * not say decides. */
#include "base/base.h"
#include "file/file.h"

#include <math.h>
#include <string.h>

enum { STREAM = 0x9e09, COLUMNS_TEXT = 256 };

#define TURN 6.283185307179586
#define BASE -1.1 /* of the logit: somewhat fewer buy than do not */

struct choice {
    const char *name;
    double share, weight;
};

static const struct choice cities[] = {
    {"Berlin", 0.30, 0.2}, {"Madrid", 0.22, -0.5}, {"Oslo", 0.18, 0.7},
    {"Roma", 0.17, -0.1},  {"Wien", 0.13, 0},
};
static const struct choice jobs[] = {
    {"office work", 0.31, 0.3}, {"trade, crafts", 0.24, -0.6}, {"", 0.12, -0.2},
    {"teaching", 0.15, 0.5},    {"retired", 0.18, -0.3},
};

/* What a row says, and what it decides. */
struct person {
    double age, income, hours; /* NaN: missing */
    const struct choice *city, *job;
    double logit;
};

static double normal(struct rng *r)
{
    double radius = sqrt(-2 * log(1 - rng_unit(r)));

    return radius * cos(TURN * rng_unit(r));
}

static const struct choice *choose(struct rng *r, const struct choice *of, size_t n)
{
    double left = rng_unit(r);
    size_t i = 0;

    while (i + 1 < n && left >= of[i].share)
        left -= of[i++].share;
    return &of[i];
}

static double missing(struct rng *r, double share, double x)
{
    return rng_unit(r) < share ? NAN : x;
}

static struct person draw(struct rng *r)
{
    struct person p = {.city = choose(r, cities, sizeof cities / sizeof *cities),
                       .job = choose(r, jobs, sizeof jobs / sizeof *jobs)};

    p.age = missing(r, 0.06, floor(18 + 62 * rng_unit(r)));
    p.income = missing(r, 0.09, round(exp(10.3 + 0.7 * normal(r))));
    p.hours = round(10 * fmin(fmax(38 + 9 * normal(r), 1), 90)) / 10;
    p.logit = BASE + p.city->weight + p.job->weight + (p.hours - 38) / 30;
    p.logit += isnan(p.age) ? -0.4 : (p.age - 49) / 15;
    p.logit += isnan(p.income) ? 0.5 : 1.2 * (log(p.income) - 10.3);
    return p;
}

/* A number, or nothing where there is none. */
static char *put_number(char *to, size_t cap, const char *format, double x)
{
    return isnan(x) ? to : to + number_print(to, cap, format, x);
}

static size_t put_row(char line[COLUMNS_TEXT], uint64_t row, struct rng *r, const struct person *p,
                      bool bought)
{
    bool quotes = strchr(p->job->name, ',') != NULL;
    char *to = line, *end = line + COLUMNS_TEXT;

    to += number_print(to, (size_t)(end - to), "%llu,", 10007 + (unsigned long long)row * 3);
    to = put_number(to, (size_t)(end - to), "%.0f", p->age);
    *to++ = ',';
    to = put_number(to, (size_t)(end - to), "%.0f", p->income);
    to +=
        number_print(to, (size_t)(end - to), ",%.1f,%s,%s%s%s,%llu,%s\n", p->hours, p->city->name,
                     quotes ? "\"" : "", p->job->name, quotes ? "\"" : "",
                     (unsigned long long)(rng_next(r) | (uint64_t)1 << 63), bought ? "yes" : "no");
    return (size_t)(to - line);
}

static shoal_status write_people(struct output *out, const struct shoal_gen_people_opts *o,
                                 struct shoal_gen_people_stats *stats)
{
    static const char head[] = "person,age,income,hours,city,job,visit,bought\n";
    shoal_status st = output_write(out, head, sizeof head - 1);

    for (uint64_t i = o->first; i < o->first + o->rows && st == SHOAL_OK; i++) {
        struct rng r = {.seed = o->seed, .stream = STREAM + i};
        struct person p = draw(&r);
        double yes = 1 / (1 + exp(-p.logit));
        bool bought = rng_unit(&r) < yes;
        char line[COLUMNS_TEXT];

        stats->entropy -= (yes * log(yes) + (1 - yes) * log(1 - yes)) / (double)o->rows;
        stats->logloss -= log(bought ? yes : 1 - yes) / (double)o->rows;
        stats->positives += bought;
        st = output_write(out, line, put_row(line, i, &r, &p, bought));
    }
    return st;
}

struct shoal_gen_people_opts shoal_gen_people_default(void)
{
    return (struct shoal_gen_people_opts){.rows = 20000, .seed = 1};
}

shoal_status shoal_gen_people(const char *path, const struct shoal_gen_people_opts *o,
                              struct shoal_gen_people_stats *stats)
{
    static const uint64_t most = (uint64_t)1 << 40;
    struct shoal_gen_people_stats all = {.rows = o->rows};
    struct output *out;
    shoal_status st;

    if (o->rows == 0 || o->rows > most || o->first > most)
        return shoal_fail(
            SHOAL_EINVAL, "people: --rows is %llu and --first %llu, want 1 and 0 to %llu",
            (unsigned long long)o->rows, (unsigned long long)o->first, (unsigned long long)most);
    st = output_open(&out, path);
    if (st != SHOAL_OK)
        return st;
    st = output_end(out, write_people(out, o, &all));
    if (stats)
        *stats = all;
    return st;
}
