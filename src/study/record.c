/* study.json: the grid and what became of its runs, so that a study can go on after
 * it was stopped, and others can compute with it. */
#include "file/file.h"
#include "study/study.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_VERSION = 1, RECORD_MOST = 64 << 20 };

static const char *const states[] = {"open", "done", "failed"};
static const char *const workers[] = {"ranks", "threads"};
static const char *const scalings[] = {"strong", "weak", "both"};
static const char *const losses[] = {"any", "valid", "train"};

/* The figures of a run, by their names in the file. */
static const struct {
    const char *name;
    size_t at;
} figures[] = {
#define F(name)                                                                                    \
    {                                                                                              \
#name, offsetof(struct shoal_measures, name)                                               \
    }
    F(seconds),       F(whole),    F(units),   F(rate),     F(steps),    F(loss),
    F(held),          F(quality),  F(target),  F(bytes),    F(messages), F(stale),
    F(cpu),           F(read),     F(memory),  F(gradient), F(lr),       F(computing),
    F(communicating), F(waiting),  F(other),   F(updates),  F(accuracy), F(held_accuracy),
    F(reached),       F(received), F(written),
#undef F
};

enum { FIGURES = sizeof figures / sizeof *figures };

static double *figure_of(struct shoal_measures *m, size_t i)
{
    return (double *)(void *)((char *)m + figures[i].at);
}

struct shoal_measures measures_unknown(void)
{
    struct shoal_measures m = {.done = false};

    for (size_t i = 0; i < FIGURES; i++)
        *figure_of(&m, i) = (double)NAN;
    return m;
}

/* ---- writing ---- */

/* JSON has no number for what was never reached, nor for what was not measured. */
static json_t *real(double x)
{
    return isinf(x) ? json_string("never") : isnan(x) ? json_null() : json_real(x);
}

static json_t *words(const char *text)
{
    json_t *string = json_string(text);

    return string ? string : json_string("?"); /* a name need not be UTF-8 */
}

static json_t *list_of(const char *const *at, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, words(at[i]));
    return list;
}

static json_t *axis_of(const struct shoal_axis *axis)
{
    json_t *list = json_array();

    for (size_t i = 0; i < axis->n; i++)
        json_array_append_new(list, json_integer((json_int_t)axis->at[i]));
    return list;
}

static json_t *grid_of(const struct shoal_study_opts *o)
{
    return json_pack("{so so so ss ss so so so so si sI si so ss}", "model", words(o->model),
                     "data", list_of(o->data, o->ndata), "more", list_of(o->more, o->nmore),
                     "worker", workers[o->worker], "scaling", scalings[o->scaling], "workers",
                     axis_of(&o->workers), "servers", axis_of(&o->servers), "sync",
                     list_of(o->sync, o->nsync), "batch", axis_of(&o->batch), "epochs",
                     (int)o->epochs, "steps", (json_int_t)o->steps, "repeat", (int)o->repeat,
                     "target_loss", real(o->target_loss), "target_of", losses[o->target_of]);
}

static json_t *measures_of(struct shoal_measures m)
{
    json_t *all = json_object();

    for (size_t i = 0; i < FIGURES; i++)
        json_object_set_new(all, figures[i].name, real(*figure_of(&m, i)));
    json_object_set_new(all, "ranks", json_integer((json_int_t)m.ranks));
    json_object_set_new(all, "unit", words(m.unit));
    json_object_set_new(all, "quality_name", words(m.quality_name));
    json_object_set_new(all, "limit", words(m.limit));
    json_object_set_new(all, "verdict", words(m.verdict));
    return all;
}

static json_t *runs_of(const shoal_study *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->ncells * s->opts.repeat; i++) {
        const struct study_run *run = &s->runs[i];
        json_t *line = json_pack("{si si ss}", "cell", (int)(i % s->ncells), "repeat",
                                 (int)(i / s->ncells) + 1, "state", states[run->state]);

        if (run->state == RUN_OPEN) {
            json_decref(line);
            continue;
        }
        if (run->state == RUN_FAILED)
            json_object_set_new(line, "failure", words(run->failure));
        else
            json_object_set_new(line, "measures", measures_of(run->m));
        json_array_append_new(list, line);
    }
    return list;
}

/* For whoever computes with it: derived from the runs, and not read again. */
static json_t *cells_of(const shoal_study *s)
{
    json_t *list = json_array();
    struct shoal_study_cell cell;

    for (size_t i = 0; shoal_study_cell(s, i, &cell); i++) {
        json_array_append_new(list,
                              json_pack("{so si si so sI ss si si si so so so so}", "name",
                                        words(study_cell_name(s, i).text), "workers",
                                        (int)cell.workers, "servers", (int)cell.servers, "sync",
                                        cell.sync ? words(cell.sync) : json_null(), "batch",
                                        (json_int_t)cell.batch, "scaling", scalings[cell.weak],
                                        "twin", (int)cell.twin, "done", (int)cell.done, "failed",
                                        (int)cell.failed, "spread", real(cell.spread), "speedup",
                                        real(cell.speedup), "efficiency", real(cell.efficiency),
                                        "best", cell.done ? measures_of(cell.best) : json_null()));
    }
    return list;
}

shoal_status record_write(const shoal_study *s)
{
    json_t *all = json_pack("{si ss so si so so so}", "study", RECORD_VERSION, "version",
                            shoal_version(), "machine", words(s->machine), "cores", (int)s->cores,
                            "grid", grid_of(&s->opts), "cells", cells_of(s), "runs", runs_of(s));
    char *text = all ? json_dumps(all, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    struct prose t = {0};
    shoal_status st;

    if (text)
        prose_add(&t, "%s\n", text);
    else
        t.status = shoal_fail(SHOAL_ENOMEM, "%s/study.json: no memory to write it", s->folder);
    st = prose_write_in(&t, s->folder, "study.json");
    prose_fini(&t);
    free(text);
    json_decref(all);
    return st;
}

/* ---- reading ---- */

static shoal_status bad(const char *folder, const char *what)
{
    return shoal_fail(SHOAL_EFORMAT,
                      "%s/study.json: found no good %s, want a file of `shoal study`", folder,
                      what);
}

static bool read_count(const json_t *from, double most, uint64_t *out)
{
    double x = json_is_integer(from) ? (double)json_integer_value(from) : -1;

    if (!(x >= 0 && x <= most))
        return false;
    *out = (uint64_t)json_integer_value(from);
    return true;
}

static bool read_unsigned(const json_t *from, const char *key, unsigned *out)
{
    uint64_t x;

    if (!read_count(json_object_get(from, key), 1e9, &x))
        return false;
    *out = (unsigned)x;
    return true;
}

/* The place of the word in a list of names. */
static bool read_choice(const json_t *from, const char *key, const char *const *names, size_t n,
                        unsigned *out)
{
    const char *word = json_string_value(json_object_get(from, key));

    for (size_t i = 0; word && i < n; i++)
        if (strcmp(names[i], word) == 0) {
            *out = (unsigned)i;
            return true;
        }
    return false;
}

/* The strings of a JSON list, borrowed, in an array for free(); NULL: it is no such list. */
static const char **read_list(const json_t *from, size_t most, size_t *n)
{
    const char **list;

    *n = json_array_size(from);
    if (!json_is_array(from) || *n > most)
        return NULL;
    list = mem_array(*n + 1, sizeof *list);
    for (size_t i = 0; list && i < *n; i++) {
        list[i] = json_string_value(json_array_get(from, i));
        if (!list[i]) {
            free(list);
            return NULL;
        }
    }
    return list;
}

static bool read_axis(const json_t *from, double most, struct shoal_axis *axis)
{
    *axis = (struct shoal_axis){.n = json_array_size(from)};
    if (axis->n > SHOAL_STUDY_AXIS)
        return false;
    for (size_t i = 0; i < axis->n; i++)
        if (!read_count(json_array_get(from, i), most, &axis->at[i]))
            return false;
    return true;
}

static bool read_sync(const json_t *from, struct shoal_study_opts *o)
{
    const char **sync = read_list(from, SHOAL_STUDY_AXIS, &o->nsync);

    if (sync)
        memcpy(o->sync, sync, o->nsync * sizeof *sync);
    free(sync);
    return sync != NULL;
}

static bool read_grid(const json_t *grid, struct shoal_study_opts *o)
{
    const json_t *target = json_object_get(grid, "target_loss");
    unsigned worker = 0, scaling = 0, of = 0;
    bool ok = read_choice(grid, "worker", workers, 2, &worker) &&
              read_choice(grid, "scaling", scalings, 3, &scaling) &&
              read_sync(json_object_get(grid, "sync"), o) &&
              read_axis(json_object_get(grid, "workers"), 1e6, &o->workers) &&
              read_axis(json_object_get(grid, "servers"), 1e6, &o->servers) &&
              read_axis(json_object_get(grid, "batch"), 1e15, &o->batch) &&
              read_unsigned(grid, "epochs", &o->epochs) &&
              read_unsigned(grid, "repeat", &o->repeat);

    /* Studies of 0.1 have no servers, and neither of these. */
    if (json_object_get(grid, "steps"))
        ok = ok && read_count(json_object_get(grid, "steps"), 1e15, &o->steps);
    if (json_object_get(grid, "target_of"))
        ok = ok && read_choice(grid, "target_of", losses, 3, &of);
    o->target_of = (enum shoal_target)of;
    o->worker = (enum shoal_worker)worker;
    o->scaling = (enum shoal_scaling)scaling;
    o->model = json_string_value(json_object_get(grid, "model"));
    if (json_is_number(target))
        o->target_loss = json_number_value(target);
    return ok;
}

static void read_word(char *to, size_t cap, const json_t *from, const char *key)
{
    const char *word = json_string_value(json_object_get(from, key));

    snprintf(to, cap, "%s", word ? word : "");
}

static struct shoal_measures read_measures(const json_t *from)
{
    struct shoal_measures m = {.done = true};

    for (size_t i = 0; i < FIGURES; i++) {
        const json_t *x = json_object_get(from, figures[i].name);

        *figure_of(&m, i) = json_is_number(x)   ? json_number_value(x)
                            : json_is_string(x) ? INFINITY
                                                : (double)NAN;
    }
    read_unsigned(from, "ranks", &m.ranks);
    read_word(m.unit, sizeof m.unit, from, "unit");
    read_word(m.quality_name, sizeof m.quality_name, from, "quality_name");
    read_word(m.limit, sizeof m.limit, from, "limit");
    read_word(m.verdict, sizeof m.verdict, from, "verdict");
    return m;
}

static bool read_run(shoal_study *s, const json_t *from)
{
    unsigned cell, repeat, state;
    struct study_run *run;

    if (!read_unsigned(from, "cell", &cell) || !read_unsigned(from, "repeat", &repeat) ||
        !read_choice(from, "state", states, 3, &state) || cell >= s->ncells || repeat == 0 ||
        repeat > s->opts.repeat)
        return false;
    run = &s->runs[(repeat - 1) * s->ncells + cell];
    run->state = (enum run_state)state;
    run->m = read_measures(json_object_get(from, "measures"));
    read_word(run->failure, sizeof run->failure, from, "failure");
    return state != RUN_DONE || run->m.seconds >= 0;
}

static shoal_status read_all(shoal_study **out, const char *folder, const json_t *all)
{
    struct shoal_study_opts o = shoal_study_default();
    const json_t *grid = json_object_get(all, "grid"), *runs = json_object_get(all, "runs");
    const char **data = read_list(json_object_get(grid, "data"), 1 << 16, &o.ndata);
    const char **more = read_list(json_object_get(grid, "more"), 1 << 16, &o.nmore);
    shoal_status st = SHOAL_OK;

    o.data = data;
    o.more = more;
    if (json_integer_value(json_object_get(all, "study")) != RECORD_VERSION)
        st = bad(folder, "version");
    else if (!data || !more || !read_grid(grid, &o) || !o.model)
        st = bad(folder, "grid");
    if (st == SHOAL_OK)
        st = study_new(out, folder, &o);
    for (size_t i = 0; i < json_array_size(runs) && st == SHOAL_OK; i++)
        if (!read_run(*out, json_array_get(runs, i)))
            st = bad(folder, "run");
    if (st == SHOAL_OK) {
        read_word((*out)->machine, sizeof(*out)->machine, all, "machine");
        read_unsigned(all, "cores", &(*out)->cores);
    }
    free(data);
    free(more);
    return st;
}

shoal_status record_parse(shoal_study **out, const char *folder, const char *text, size_t len)
{
    json_error_t error;
    json_t *all = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    shoal_status st;

    *out = NULL;
    st = all ? read_all(out, folder, all) : bad(folder, "JSON");
    if (st != SHOAL_OK) {
        shoal_study_close(*out);
        *out = NULL;
    }
    json_decref(all);
    return st;
}

shoal_status record_read(shoal_study **out, const char *folder)
{
    char *path = mem_text("%s/study.json", folder), *text = NULL;
    size_t len = 0;
    shoal_status st = path ? SHOAL_OK : SHOAL_ENOMEM;

    *out = NULL;
    if (path && access(path, F_OK) == 0) {
        st = stream_slurp(&text, &len, path, RECORD_MOST);
        if (st == SHOAL_OK)
            st = record_parse(out, folder, text, len);
    }
    free(text);
    free(path);
    return st;
}
