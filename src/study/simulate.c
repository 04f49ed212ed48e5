/* What a cluster would make of a study: as simgrid.c simulated it, or by a formula.
 *
 * Calibrated by the cell of one worker (what an example costs to compute) and by the
 * next one of its series (what ranks send each other, and what packing and merging it
 * costs). Then, for n ranks, with `share(n) = (n - 1) / n` of what a rank owns or learns
 * being elsewhere:
 *
 *     computing   C / n                         C: processor time of the one worker
 *     exchanging  bytes of the busiest rank x their cost
 *     wire        bytes that leave its node / bandwidth
 *     latency     rounds x latency              of a dense net: 2 log2 n for each step in step,
 *                                               else 2 / DENSE_CREDITS
 *     sync        T = computing x (1 + jitter x sqrt(2 ln n)) + exchanging + wire + latency
 *     async       T = max(computing + exchanging, wire, latency)
 *
 * The busiest rank of a dense net is an owner. A block of few parameters has few pieces, so m < n
 * ranks own all of it: half of what is sent goes through those m, the other half through all n,
 * and an owner has n (1 / m + 1 / n) / 2 times the mean.
 *
 * docs/studies.md states what this leaves out. */
#include "file/file.h"
#include "store/store.h"
#include "study/study.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLUSTER_MOST = 1 << 20 };

/* ---- the cluster ---- */

/* The numbers of a cluster in its file. */
enum { NODES, CORES, MICROSECONDS, SPEED, JITTER, SOCKET, NUMBERS };
static const struct {
    const char *key;
    double least, most, usual; /* usual below least: it must be given */
} numbers[NUMBERS] = {
    [NODES] = {"nodes", 1, 1e6, 0},
    [CORES] = {"cores", 1, 1e5, 1},
    [MICROSECONDS] = {"microseconds", 0, 1e7, 50},
    [SPEED] = {"speed", 1e-3, 1e3, 1},
    [JITTER] = {"jitter", 0, 1, 0.2},
    [SOCKET] = {"socket_ns", 0, 1e3, 0},
};

static bool read_link(const json_t *given, struct shoal_cluster *c)
{
    double x = json_number_value(given);

    if (!json_is_number(given) || !(x >= 1e-6) || x > 1e6 || c->nlinks == SHOAL_STUDY_AXIS)
        return false;
    c->links[c->nlinks++] = x * 1e9 / 8;
    return c->nlinks < 2 || c->links[c->nlinks - 1] > c->links[c->nlinks - 2];
}

/* One, or a list of them that rises. */
static bool read_links(const json_t *given, struct shoal_cluster *c)
{
    bool good = json_is_array(given) ? json_array_size(given) > 0 : read_link(given, c);

    for (size_t i = 0; good && i < json_array_size(given); i++)
        good = read_link(json_array_get(given, i), c);
    c->bandwidth = c->links[0];
    return good;
}

size_t cluster_links(const struct shoal_cluster *c)
{
    return c->nlinks > 0 ? c->nlinks : 1;
}

struct shoal_cluster cluster_link(const struct shoal_cluster *c, size_t i)
{
    struct shoal_cluster one = *c;

    if (c->nlinks > 0)
        one.bandwidth = c->links[i];
    if (c->simulate.n > 1)
        one.simulate.at[0] = c->simulate.at[i];
    return one;
}

uint64_t cluster_simulated(const struct shoal_cluster *c, size_t i)
{
    return c->simulate.n > 0 ? c->simulate.at[c->simulate.n > 1 ? i : 0] : UINT64_MAX;
}

static bool read_workers(const json_t *list, struct shoal_cluster *c)
{
    struct shoal_axis *axis = &c->workers;

    if (!json_is_array(list) || json_array_size(list) == 0 ||
        json_array_size(list) > SHOAL_STUDY_AXIS)
        return false;
    for (; axis->n < json_array_size(list); axis->n++) {
        json_int_t n = json_integer_value(json_array_get(list, axis->n));

        if (n < 1 || n > 1000000 || (axis->n > 0 && (uint64_t)n <= axis->at[axis->n - 1]) ||
            (double)n > (double)c->nodes * c->cores)
            return false;
        axis->at[axis->n] = (uint64_t)n;
    }
    return true;
}

static bool read_most(const json_t *given, struct shoal_cluster *c)
{
    double x = json_number_value(given);

    if (!json_is_integer(given) || !(x >= 1) || x > 1e6)
        return false;
    c->simulate.at[c->simulate.n++] = (uint64_t)x;
    return true;
}

/* None, one for all links, or one for each. */
static bool read_simulate(const json_t *given, struct shoal_cluster *c)
{
    if (!json_is_array(given))
        return !given || read_most(given, c);
    if (json_array_size(given) != cluster_links(c))
        return false;
    for (size_t i = 0; i < cluster_links(c); i++)
        if (!read_most(json_array_get(given, i), c))
            return false;
    return true;
}

/* The key of what is wrong with it; NULL: nothing. */
static const char *read_cluster(const json_t *from, struct shoal_cluster *c)
{
    const char *name = json_string_value(json_object_get(from, "name"));
    double x[NUMBERS];

    for (size_t i = 0; i < NUMBERS; i++) {
        const json_t *given = json_object_get(from, numbers[i].key);

        x[i] = given ? json_number_value(given) : numbers[i].usual;
        if ((given && !json_is_number(given)) || !(x[i] >= numbers[i].least) ||
            x[i] > numbers[i].most)
            return numbers[i].key;
    }
    snprintf(c->name, sizeof c->name, "%s", name ? name : "a cluster");
    c->nodes = (unsigned)x[NODES];
    c->cores = (unsigned)x[CORES];
    c->latency = x[MICROSECONDS] * 1e-6;
    c->speed = x[SPEED];
    c->jitter = x[JITTER];
    c->socket = x[SOCKET] * 1e-9;
    if (!read_links(json_object_get(from, "gigabits"), c))
        return "gigabits";
    if (!read_workers(json_object_get(from, "workers"), c))
        return "workers";
    return read_simulate(json_object_get(from, "simulate"), c) ? NULL : "simulate";
}

shoal_status cluster_parse(struct shoal_cluster *out, const char *path, const char *text,
                           size_t len)
{
    json_error_t error;
    json_t *all = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    const char *bad;

    *out = (struct shoal_cluster){.nodes = 0};
    bad = json_is_object(all) ? read_cluster(all, out) : "JSON object";
    json_decref(all);
    if (bad)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: found no good %s, want nodes, cores, gigabits, microseconds and "
                          "workers that rise to nodes x cores at most",
                          path, bad);
    return SHOAL_OK;
}

shoal_status shoal_cluster_read(struct shoal_cluster *out, const char *path)
{
    char *text = NULL;
    size_t len = 0;
    shoal_status st = stream_slurp(&text, &len, path, CLUSTER_MOST);

    if (st == SHOAL_OK)
        st = cluster_parse(out, path, text, len);
    free(text);
    return st;
}

/* ---- calibration ---- */

/* Processor seconds for a byte, at most: more was waiting, not work. */
#define BYTE_MOST 5e-9

/* The share of its time that a rank had a core: what counts is processor time, since other
 * programs may have had the cores meanwhile. */
static double busy(double cpu)
{
    return cpu > 0 ? fmin(cpu, 1) : 1;
}

bool calibration_find(struct calibration *k, const shoal_study *s, size_t cell)
{
    const struct cell *c = &s->cells[cell];
    const char *sync = s->opts.nsync > 0 ? s->opts.sync[c->sync] : "";

    *k = (struct calibration){
        .every = strncmp(sync, "average:", 8) == 0 ? fmax(1, number_read(sync + 8, NULL)) : 1};
    k->servers = c->servers;
    if (c->weak || c->workers != 1 || s->opts.worker != SHOAL_WORKER_RANK ||
        !study_cell_best(s, cell))
        return false;
    k->one = &study_cell_best(s, cell)->m;
    for (size_t i = 0; i < s->ncells && !k->some; i++)
        if (i != cell && study_cell_base(s, i) == cell && study_cell_best(s, i) &&
            study_cell_best(s, i)->m.bytes > 0) {
            k->some = &study_cell_best(s, i)->m;
            k->ranks = s->cells[i].workers;
        }
    /* Dense nets are in step by default, rows are not. */
    k->waits = strncmp(sync, "async", 5) != 0 && strncmp(sync, "bounded", 7) != 0 &&
               (*sync || isfinite(k->one->gradient));
    return true;
}

/* Of one worker with servers, without what it sends them: calibration_byte counts that. */
double calibration_alone(const struct calibration *k)
{
    double trains = k->servers > 0 && k->one->computing > 0 ? k->one->computing : 1;

    return k->one->seconds * trains * busy(k->one->cpu);
}

static double share(double n)
{
    return (n - 1) / n;
}

/* Where every rank has a batch of its own, n ranks take n times fewer steps; where they share one
 * batch, as many. Which of both it is shows in the steps that several ranks took. */
static double steps_of(const struct calibration *k, double n)
{
    bool same = fabs(k->some->steps - k->one->steps) < 0.1 * k->one->steps;

    return same ? k->one->steps : k->one->steps / n;
}

static bool is_dense(const struct calibration *k)
{
    return isfinite(k->one->steps) && isfinite(k->some->steps);
}

/* Ranks that own something of a dense block. In a step a rank sends what it does not own of the
 * gradient, and as many bytes of parameters: so the block's size shows in what was sent. */
static double owners_of(const struct calibration *k, double n)
{
    double block = k->some->bytes / k->ranks / k->some->steps / (2 * share(k->ranks));
    double pieces = ceil(block / sizeof(float) / DENSE_PIECE_LEAST);

    return is_dense(k) && k->every <= 1 ? fmin(n, fmax(pieces, 1)) : n;
}

/* What the busiest rank has to exchange, as a multiple of the mean. */
static double busiest(const struct calibration *k, double n)
{
    return n * (1 / owners_of(k, n) + 1 / n) / 2;
}

static double bytes_of_rank(const struct calibration *k, double n)
{
    double more = share(n) / share(k->ranks);

    if (is_dense(k))
        return k->some->bytes / k->ranks / k->some->steps * more * steps_of(k, n);
    return k->some->bytes / k->some->units * more * k->one->units / n;
}

static double rounds_of_rank(const struct calibration *k, double n)
{
    double each;

    if (is_dense(k) && !k->waits)
        return steps_of(k, n) * 2 / DENSE_CREDITS; /* so many gradients without an answer */
    if (is_dense(k))
        return steps_of(k, n) / k->every * 2 * ceil(log2(n));
    each = k->some->messages / k->ranks / (k->ranks - 1.0);
    return isfinite(each) ? 2 * each * k->ranks / n : 0;
}

/* Processor time of several ranks beyond that of the one, divided by the bytes they sent: what it
 * costs to pack a byte here and to merge it there. Waiting is not work, but ranks that poll are
 * seen as busy: so both the core's share and the waiting bound it. */
double calibration_byte(const struct calibration *k)
{
    double waiting = k->some->waiting > 0 ? fmin(k->some->waiting, 0.99) : 0;
    double worked = k->some->seconds * k->ranks * fmin(busy(k->some->cpu), 1 - waiting);
    double spent = worked - calibration_alone(k);

    return spent > 0 && k->some->bytes > 0 ? fmin(spent / k->some->bytes, BYTE_MOST) : 0;
}

/* ---- prediction ---- */

static double wire_of(const struct calibration *k, const struct shoal_cluster *c, double n)
{
    double here = fmin(c->cores, n);

    return here >= n ? 0 : bytes_of_rank(k, n) * here * (n - here) / (n - 1) / c->bandwidth;
}

static const char *largest(const struct shoal_prediction *p, bool simulated)
{
    const double parts[] = {p->computing, p->exchanging, p->wire, p->latency};
    const char *const names[] = {"computing", "exchanging", simulated ? "waiting" : "wire",
                                 "latency"};
    size_t most = 0;

    for (size_t i = 1; i < 4; i++)
        if (parts[i] > parts[most])
            most = i;
    return names[most];
}

static void by_formula(struct shoal_prediction *p, const struct calibration *k,
                       const struct shoal_cluster *c, double n)
{
    double jitter = c->jitter / sqrt(k->every); /* the mean of several steps has less */

    p->by = "formula";
    p->exchanging =
        bytes_of_rank(k, n) * busiest(k, n) * (calibration_byte(k) + c->socket) / c->speed;
    p->wire = wire_of(k, c, n) * busiest(k, n);
    p->latency = (k->waits || is_dense(k)) && n > c->cores ? rounds_of_rank(k, n) * c->latency : 0;
    if (k->waits)
        p->seconds =
            p->computing * (1 + jitter * sqrt(2 * log(n))) + p->exchanging + p->wire + p->latency;
    else
        p->seconds = fmax(fmax(p->computing + p->exchanging, p->wire), p->latency);
}

static void by_simulation(struct shoal_prediction *p, const struct study_run *run,
                          const struct shoal_cluster *c, unsigned workers)
{
    double nodes = ceil((double)workers / c->cores);
    const struct shoal_measures *m = &run->m;

    p->by = "simulated";
    if (run->state == RUN_FAILED) {
        p->failure = run->failure;
        return;
    }
    p->seconds = m->seconds;
    p->computing = m->computing * m->seconds;
    p->exchanging = m->communicating * m->seconds;
    p->wire = m->waiting * m->seconds;
    p->latency = (double)NAN; /* passes while a rank waits */
    p->held = m->held;
    p->quality = m->quality;
    p->sent = m->bytes / m->units;
    p->carried = m->bytes / nodes / c->bandwidth / m->seconds;
    p->waiting = m->waiting;
    p->stale = m->stale;
}

bool shoal_study_predict(const shoal_study *s, size_t cell, const struct shoal_cluster *c,
                         unsigned workers, struct shoal_prediction *out)
{
    const struct study_run *run;
    struct calibration k;
    struct shoal_prediction p = {.held = (double)NAN,
                                 .quality = (double)NAN,
                                 .sent = (double)NAN,
                                 .carried = (double)NAN,
                                 .waiting = (double)NAN,
                                 .stale = (double)NAN,
                                 .by = "formula"};
    double alone;

    if (cell >= s->ncells || workers == 0 || !calibration_find(&k, s, cell))
        return false;
    run = study_simulated_run(s, cell, workers, c->bandwidth);
    if (workers > 1 && !run && (!k.some || k.servers > 0))
        return false;
    if (!run && s->nsimulated > 0 && workers > cluster_simulated(c, 0))
        return false; /* beside what was simulated the formula is too kind */
    alone = k.one->seconds * busy(k.one->cpu) / c->speed;
    p.computing = calibration_alone(&k) / c->speed / workers;
    if (workers == 1) {
        p.by = c->speed == 1 && busy(k.one->cpu) > 0.95 ? "measured" : "formula";
        p.seconds = alone;
        p.held = k.one->held;
        p.quality = k.one->quality;
    } else if (run) {
        by_simulation(&p, run, c, workers);
    } else {
        by_formula(&p, &k, c, workers);
    }
    p.rate = k.one->units / p.seconds;
    p.speedup = alone / p.seconds;
    p.efficiency = p.speedup / workers;
    p.limit = largest(&p, run != NULL);
    *out = p;
    return true;
}
