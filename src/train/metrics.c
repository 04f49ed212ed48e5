/* One JSON object a line: first the settings, then one for each report. */
#include "file/file.h"
#include "train/options.h"
#include "train/run.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static shoal_status put(struct journal *m, json_t *line)
{
    char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    size_t len = text ? strlen(text) : 0;
    shoal_status st;

    json_decref(line);
    if (!text)
        return shoal_fail(SHOAL_ENOMEM, "metrics: no memory for a line");
    text[len] = '\n'; /* in place of its end */
    st = journal_add(m, text, len + 1);
    free(text);
    return st;
}

/* Into an object or a list. Without memory *to becomes NULL, and stays it: a line is
 * written whole or not at all. */
static void set(json_t **to, const char *name, json_t *value)
{
    if (json_object_set_new(*to, name, value) == 0)
        return;
    json_decref(*to);
    *to = NULL;
}

static void append(json_t **to, json_t *value)
{
    if (json_array_append_new(*to, value) == 0)
        return;
    json_decref(*to);
    *to = NULL;
}

/* JSON has no number for "not measured". */
static json_t *real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *integer(uint64_t x)
{
    return json_integer((json_int_t)x);
}

/* ---- settings ---- */

/* "checkpoint-every" becomes "checkpoint_every". What the line says of the data stays: an option of
 * the same name, --examples, becomes "option_examples". */
static void set_option(json_t **to, const char *name, json_t *value)
{
    char key[64] = "option_", *at = key + strlen(key);
    size_t i = 0, most = sizeof key - strlen(key);

    for (; name[i] && i + 1 < most; i++)
        at[i] = name[i] == '-' ? '_' : name[i];
    at[i] = '\0';
    set(to, strcmp(at, "examples") == 0 ? key : at, value);
}

/* Names of files need not be UTF-8. */
static json_t *words(const char *text)
{
    json_t *string = json_string(text);

    return string ? string : json_string("?");
}

/* A number stays one. */
static shoal_status add_option(void *ctx, const struct shoal_option *o, const char *value)
{
    bool number = o->type == SHOAL_TYPE_REAL || o->type == SHOAL_TYPE_COUNT;
    json_t **to = ctx, *json;

    if (!value)
        return SHOAL_OK;
    if (o->type == SHOAL_TYPE_FLAG)
        json = json_boolean(strcmp(value, "true") == 0);
    else
        json = number ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    set_option(to, o->name, json ? json : words(value));
    return SHOAL_OK;
}

static json_t *settings(const struct train_opts *o, const struct task *task,
                        const struct shoal_train_plan *plan, const char *kernel)
{
    json_t *line = json_pack("{ss ss ss so so so so so so si ss ss}", "event", "settings", "task",
                             task->is.name, "unit", task->is.unit, "examples",
                             integer(plan->examples), "held_out", integer(plan->held_out),
                             "parameters", integer(plan->parameters), "types",
                             integer(plan->types), "first_lr", real(plan->lr), "lr_scale",
                             real(plan->lr_scale), "ranks", (int)shoal_ranks_size(o->ranks),
                             "kernel", kernel, "version", shoal_version());

    options_each(task, o, add_option, &line);
    return line;
}

shoal_status metrics_open(struct journal **out, const struct train_opts *opts,
                          const struct task *task, const struct shoal_train_plan *plan,
                          const char *kernel)
{
    shoal_status st = journal_open(out, opts->metrics, opts->resume);

    return st == SHOAL_OK ? put(*out, settings(opts, task, plan, kernel)) : st;
}

/* ---- reports ---- */

/* What was not measured is not there. */
static json_t *figures(const struct shoal_figures *f, enum shoal_figure_of of)
{
    json_t *line = json_object();

    for (size_t i = 0; i < f->n; i++)
        if (f->at[i].of == of && isfinite(f->at[i].value)) {
            json_t *value = json_real(f->at[i].value);

            if (json_object_set_new(line, f->at[i].name, value) != 0)
                set(&line, "?", json_real(f->at[i].value));
        }
    return line;
}

shoal_status metrics_write(struct journal *m, const struct shoal_report *r)
{
    static const char *const events[] = {"interval", "epoch", "checkpoint", "done", "evaluation"};
    const struct shoal_figures *f = &r->figures;

    return put(m, json_pack("{ss si si so ss so so so so so so so so so}", "event",
                            events[r->event], "epoch", (int)r->epoch, "epochs", (int)r->epochs,
                            "progress", real(r->progress), "unit", r->unit, "examples",
                            integer(r->examples), "steps", integer(r->steps), "seconds",
                            real(r->seconds), "rate", real(r->rate), "lr", real(r->lr), "memory",
                            integer(r->memory), "train", figures(f, SHOAL_OF_TRAINING), "valid",
                            figures(f, SHOAL_OF_VALIDATION), "run", figures(f, SHOAL_OF_RUN)));
}

/* Its sentence outlives a line that cannot be written. */
void metrics_ended(struct journal *m, shoal_status st, double progress, double seconds)
{
    char why[512];

    snprintf(why, sizeof why, "%s", shoal_error());
    if (put(m, json_pack("{ss so so so}", "event", st == SHOAL_ESTOP ? "stopped" : "failed", "progress",
                         real(progress), "seconds", real(seconds), "why", words(why))) != SHOAL_OK)
        shoal_fail(st, "%s", why);
}

static json_t *counts(const uint64_t *x, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        append(&list, integer(x[i]));
    return list;
}

shoal_status metrics_ranks(struct journal *m, const struct shoal_rank_stats *s)
{
    return put(m, json_pack("{ss si si so so so so so so so so so}", "event", "ranks", "ranks",
                            (int)s->ranks, "servers", (int)s->servers, "bytes_in",
                            integer(s->bytes_in), "bytes_out", integer(s->bytes_out), "messages",
                            integer(s->messages), "rows_pushed", integer(s->rows_pushed),
                            "naive_bytes", integer(s->naive_bytes), "seconds_waiting",
                            real(s->waited), "seconds_training", real(s->computed), "load_most",
                            real(s->load_most), "stale", counts(s->stale, SHOAL_STALE_BINS)));
}

/* ---- where the time went ---- */

/* JSON has no number for "unknown" either. */
static json_t *known(uint64_t x)
{
    return x == SHOAL_UNKNOWN ? json_null() : integer(x);
}

static json_t *profile_rank(const struct shoal_profile_rank *r)
{
    return json_pack(
        "{si so sb si si so so so so so so so so so so so so so so so so so so so si so so}", "rank",
        (int)r->rank, "host", words(r->host), "works", (int)r->works, "threads",
        (int)r->threads, "cores", (int)r->cores, "steps", integer(r->steps), "seconds", real(r->seconds), "computing",
        real(r->computing), "communicating", real(r->communicating), "waiting", real(r->waiting),
        "other", real(r->other), "user", real(r->user), "system", real(r->system), "cpu",
        real((r->user + r->system) / r->thread_seconds), "queued", real(r->queued), "bytes_out",
        integer(r->bytes_out), "bytes_in", integer(r->bytes_in), "far_out", integer(r->far_out),
        "far_in", integer(r->far_in), "disk_read", known(r->disk_read), "disk_written",
        known(r->disk_written), "faults", integer(r->faults), "memory", integer(r->memory),
        "waits", integer(r->waits), "awaited", (int)r->awaited, "awaited_seconds",
        real(r->awaited_seconds), "held", real(r->held));
}

static json_t *profile_ranks(const struct shoal_profile *p)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < p->nrows; i++)
        append(&list, profile_rank(&p->rows[i]));
    return list;
}

/* A sum of ranks is no rank, and waited for no single one. */
static json_t *profile_sum(const struct shoal_profile_rank *sum)
{
    static const char *const out[] = {"rank", "host", "works", "awaited", "awaited_seconds"};
    json_t *line = profile_rank(sum);

    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        json_object_del(line, out[i]);
    return line;
}

static shoal_status put_profile(struct journal *m, const struct shoal_profile *p)
{
    double carried = p->link.can > 0 ? p->link.carried : (double)NAN;
    double can = p->link.can > 0 ? p->link.can : (double)NAN;

    return put(m, json_pack("{ss si si ss so so so ss so so so so so}", "event", "profile", "ranks",
                            (int)p->ranks, "hosts", (int)p->hosts, "unit", p->unit, "units",
                            real(p->units), "seconds", real(p->seconds), "latency",
                            real(p->latency), "limit", shoal_limit_name(p->limit), "verdict",
                            words(p->verdict), "link_carried", real(carried), "link_can",
                            real(can), "all", profile_sum(&p->all), "per_rank",
                            profile_ranks(p)));
}

/* To the microsecond. */
static void add_seconds(json_t **list, double x)
{
    append(list, json_real(fmax(0, round(x * 1e6) / 1e6)));
}

/* Spans of a rank: when each ended, and what was done in it, in seconds. */
static json_t *timeline(unsigned rank, const char *host, const struct mark *marks, size_t n)
{
    json_t *ends = json_array(), *computing = json_array(), *communicating = json_array(),
           *waiting = json_array();

    for (size_t i = 1; i < n; i++) {
        const struct mark *from = &marks[i - 1], *to = &marks[i];

        add_seconds(&ends, to->at);
        add_seconds(&computing, to->computing - from->computing);
        add_seconds(&communicating, to->communicating - from->communicating);
        add_seconds(&waiting, to->waiting - from->waiting);
    }
    return json_pack("{ss si so so so so so}", "event", "timeline", "rank", (int)rank, "host",
                     words(host), "seconds", ends, "computing", computing, "communicating",
                     communicating, "waiting", waiting);
}

/* One step of a rank, in seconds since the first began it. All moments are rounded alike, so that
 * they stay in order: those of a small net are microseconds apart. */
static json_t *step_line(unsigned rank, const char *host, const struct step_trace *t)
{
    json_t *ready = json_array(), *sent = json_array(), *fresh = json_array();

    for (uint32_t i = 0; i < t->layers; i++)
        append(&ready, real(t->ready[i]));
    for (uint32_t i = 0; i < t->trips; i++) {
        append(&sent, real(t->trip[i].sent));
        append(&fresh, real(t->trip[i].fresh));
    }
    return json_pack("{ss si so si sI si so so so so so so so}", "event", "step", "rank", (int)rank,
                     "host", words(host), "epoch", (int)t->epoch + 1, "step",
                     (json_int_t)t->step + 1, "pieces", (int)t->pieces, "began", real(t->began),
                     "backward", real(t->backward), "computed", real(t->computed), "ended",
                     real(t->ended), "ready", ready, "sent", sent, "fresh", fresh);
}

static shoal_status put_steps(struct journal *m, const struct profile *p)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < p->nsteps && i < p->result.nrows && st == SHOAL_OK; i++)
        if (p->steps[i].trips > 0)
            st = put(m, step_line((unsigned)i, p->result.rows[i].host, &p->steps[i]));
    return st;
}

shoal_status metrics_profile(struct journal *m, const struct profile *p)
{
    shoal_status st = put_profile(m, &p->result);

    for (unsigned i = 0; i < p->result.nrows && st == SHOAL_OK; i++) {
        size_t n;
        const struct mark *marks = timeline_of(p, i, &n);

        if (n > 1)
            st = put(m, timeline(i, p->result.rows[i].host, marks, n));
    }
    return st == SHOAL_OK ? put_steps(m, p) : st;
}

/* ---- what was learned ---- */

shoal_status metrics_learned(struct journal *m, const struct learned *learned)
{
    return put(m, learned_json(learned));
}
