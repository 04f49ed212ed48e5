/* One JSON object a line: first the settings, then one for each report. */
#include "file/file.h"
#include "train/profile.h"
#include "train/train.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct metrics {
    struct journal *file;
    const shoal_eval *const *evals; /* whose scores come; borrowed */
    bool rows; /* not words */
};

static shoal_status put(struct metrics *m, json_t *line)
{
    char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    size_t len = text ? strlen(text) : 0;
    shoal_status st;

    json_decref(line);
    if (!text)
        return shoal_fail(SHOAL_ENOMEM, "metrics: no memory for a line");
    text[len] = '\n'; /* in place of its end */
    st = journal_add(m->file, text, len + 1);
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

static json_t *words_settings(const struct shoal_train_opts *o, struct source from)
{
    static const char *const losses[] = {"ns", "hs", "softmax"};

    return json_pack("{ss ss si si si sf sb sI sI}", "model",
                     o->model == SHOAL_CBOW ? "cbow" : "skipgram", "loss", losses[o->loss], "dim",
                     (int)o->dim, "window", (int)o->window, "negative", (int)o->negative, "sample",
                     o->sample, "sum", (int)o->sum, "words", (json_int_t)from.units, "vocab",
                     (json_int_t)shoal_vocab_size(from.vocab));
}

static json_t *logreg_settings(const struct shoal_train_opts *o, struct source from)
{
    static const char *const optimizers[] = {"sgd", "adagrad", "ftrl"};
    const struct shoal_logreg_opts *l = &o->logreg;

    return json_pack("{ss ss sf sf sf sf sI}", "model", "logreg", "optimizer",
                     optimizers[l->optimizer], "l1", l->l1, "l2", l->l2, "beta", l->beta,
                     "positive", l->positive, "rows", (json_int_t)from.units);
}

static json_t *settings(const struct shoal_train_opts *o, struct source from, const char *kernel)
{
    static const char *const schedules[] = {"linear", "constant", "inverse-time"};
    json_t *all = json_pack("{ss si sf ss si sf sb si sI ss ss}", "event", "settings", "epochs",
                            (int)o->epochs, "lr", o->lr, "schedule", schedules[o->schedule],
                            "batch", (int)o->batch, "valid", o->valid, "deterministic",
                            (int)o->deterministic, "threads", (int)pool_threads(o->threads),
                            "seed", (json_int_t)o->seed, "kernel", kernel, "version",
                            shoal_version());
    json_t *own = o->model == SHOAL_LOGREG ? logreg_settings(o, from) : words_settings(o, from);

    if (!own || json_object_update(all, own) != 0) {
        json_decref(all);
        all = NULL;
    }
    json_decref(own);
    return all;
}

shoal_status metrics_open(struct metrics **out, const struct shoal_train_opts *opts,
                          struct source from, const char *kernel, bool more)
{
    struct metrics *m = mem_array(1, sizeof *m);
    shoal_status st;

    *out = NULL;
    if (!m)
        return SHOAL_ENOMEM;
    m->evals = opts->evals;
    m->rows = opts->model == SHOAL_LOGREG;
    st = journal_open(&m->file, opts->metrics, more);
    if (st == SHOAL_OK)
        st = put(m, settings(opts, from, kernel));
    if (st != SHOAL_OK) {
        metrics_close(m);
        return st;
    }
    *out = m;
    return SHOAL_OK;
}

static json_t *score(const struct shoal_score *s, enum shoal_suite kind)
{
    bool pairs = kind == SHOAL_PAIRS;
    json_t *name = json_string(s->name); /* NULL: a file's name need not be UTF-8 */

    return json_pack("{so so}", "name", name ? name : json_string("?"), pairs ? "spearman" : "accuracy",
                     real(pairs ? s->spearman : s->accuracy));
}

static json_t *scores(const struct metrics *m, const struct shoal_report *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->nscores; i++)
        append(&list, score(&r->scores[i], shoal_eval_kind(m->evals[i])));
    return list;
}

static json_t *held(const struct shoal_binary_score *s)
{
    return json_pack("{so so so so so so}", "rows", integer(s->examples), "log_loss",
                     real(s->log_loss), "accuracy", real(s->accuracy), "auc", real(s->auc),
                     "brier", real(s->brier), "calibration", real(s->calibration));
}

shoal_status metrics_write(struct metrics *m, const struct shoal_report *r)
{
    static const char *const events[] = {"interval", "epoch", "checkpoint", "done", "look"};
    json_t *line =
        json_pack("{ss si si so so so so so so so so}", "event", events[r->event], "epoch",
                  (int)r->epoch, "epochs", (int)r->epochs, "progress", real(r->progress),
                  m->rows ? "rows" : "words", integer(r->words), "seconds", real(r->seconds),
                  m->rows ? "rows_per_second" : "words_per_second", real(r->words_per_second),
                  "loss", real(r->loss), "valid_loss", real(r->valid_loss), "lr", real(r->lr),
                  "memory", integer(r->memory));

    if (r->nscores > 0)
        set(&line, "eval", scores(m, r));
    if (r->held)
        set(&line, "held", held(r->held));
    return put(m, line);
}

static json_t *counts(const uint64_t *x, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        append(&list, integer(x[i]));
    return list;
}

shoal_status metrics_ranks(struct metrics *m, const struct shoal_rank_stats *s)
{
    return put(m, json_pack("{ss si si so so so so so so so so so}", "event", "ranks", "ranks",
                            (int)s->ranks, "servers", (int)s->servers, "bytes_in",
                            integer(s->bytes_in), "bytes_out", integer(s->bytes_out), "messages",
                            integer(s->messages), "rows_pushed", integer(s->rows_pushed),
                            "naive_bytes", integer(s->naive_bytes), "seconds_waiting",
                            real(s->waited), "seconds_training", real(s->computed), "load_most",
                            real(s->load_most), "stale", counts(s->stale, SHOAL_STALE_BINS)));
}

/* ---- nets ---- */

static json_t *net_settings(const struct shoal_net_opts *o, const char *spec,
                            const struct shoal_net_plan *plan, const char *kernel)
{
    static const char *const optimizers[] = {"sgd", "momentum", "adam"};
    static const char *const schedules[] = {"constant", "linear", "inverse-time", "cosine"};
    static const char *const syncs[] = {"async", "bounded", "sync", "average"};

    return json_pack("{ss ss si si si ss sf ss sf sf sI sI sI sI ss si si ss ss}", "event",
                     "settings", "net", spec, "epochs", (int)o->epochs, "batch", (int)o->batch,
                     "global_batch", (int)o->global_batch, "optimizer", optimizers[o->optimizer],
                     "lr", o->lr, "schedule", schedules[o->schedule], "warmup", o->warmup,
                     "weight_decay", o->weight_decay, "seed", (json_int_t)o->seed, "samples",
                     (json_int_t)plan->samples, "held_out", (json_int_t)plan->valid, "parameters",
                     (json_int_t)plan->parameters, "sync", syncs[o->sync], "staleness",
                     (int)o->staleness, "ranks", (int)shoal_ranks_size(o->ranks), "kernel", kernel,
                     "version", shoal_version());
}

shoal_status metrics_open_net(struct metrics **out, const struct shoal_net_opts *opts,
                              const char *spec, const struct shoal_net_plan *plan,
                              const char *kernel)
{
    struct metrics *m = mem_array(1, sizeof *m);
    shoal_status st;

    *out = NULL;
    if (!m)
        return SHOAL_ENOMEM;
    st = journal_open(&m->file, opts->metrics, opts->resume);
    if (st == SHOAL_OK)
        st = put(m, net_settings(opts, spec, plan, kernel));
    if (st != SHOAL_OK) {
        metrics_close(m);
        return st;
    }
    *out = m;
    return SHOAL_OK;
}

/* What was not measured is left out. */
static void set_real(json_t **line, const char *name, double x)
{
    if (isfinite(x))
        set(line, name, json_real(x));
}

static json_t *figures(const struct shoal_net_figures *f)
{
    json_t *line = json_object();

    set_real(&line, "loss", f->loss);
    set_real(&line, "accuracy", f->accuracy);
    set_real(&line, "top5", f->top5);
    set_real(&line, "mse", f->mse);
    set_real(&line, "mae", f->mae);
    set_real(&line, "rmse", f->rmse);
    set_real(&line, "cosine", f->cosine);
    set_real(&line, "word_top1", f->word1);
    set_real(&line, "word_top5", f->word5);
    set_real(&line, "word_top10", f->word10);
    return line;
}

shoal_status metrics_net(struct metrics *m, const struct shoal_net_report *r)
{
    static const char *const events[] = {"interval", "epoch", "checkpoint", "done"};
    json_t *line =
        json_pack("{ss si si so so so so so so so so so}", "event", events[r->event], "epoch",
                  (int)r->epoch, "epochs", (int)r->epochs, "progress", real(r->progress), "samples",
                  integer(r->samples), "steps", integer(r->steps), "seconds", real(r->seconds),
                  "samples_per_second", real(r->samples_per_second), "train", figures(&r->train),
                  "valid", figures(&r->valid), "lr", real(r->lr), "memory", integer(r->memory));

    set_real(&line, "gradient", r->gradient);
    set_real(&line, "compute_seconds", r->compute);
    set_real(&line, "wait_seconds", r->wait);
    set_real(&line, "communicate_seconds", r->communicate);
    if (r->event == SHOAL_EVENT_EPOCH) {
        set_real(&line, "epoch_seconds", r->epoch_seconds);
        set_real(&line, "step_seconds", r->step_seconds);
        set_real(&line, "part_least", (double)r->part_least);
        set_real(&line, "part_most", (double)r->part_most);
        set_real(&line, "shuffled", r->shuffled);
    }
    return put(m, line);
}

/* ---- where the time went ---- */

/* JSON has no number for "unknown" either. */
static json_t *known(uint64_t x)
{
    return x == SHOAL_UNKNOWN ? json_null() : integer(x);
}

/* Names of hosts need not be UTF-8. */
static json_t *words(const char *text)
{
    json_t *string = json_string(text);

    return string ? string : json_string("?");
}

static json_t *profile_rank(const struct shoal_profile_rank *r)
{
    return json_pack(
        "{si so sb si si so so so so so so so so so so so so so so so so so so si so so}", "rank",
        (int)r->rank, "host", words(r->host), "works", (int)r->works, "threads",
        (int)r->threads, "cores", (int)r->cores, "seconds", real(r->seconds), "computing",
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

static shoal_status put_profile(struct metrics *m, const struct shoal_profile *p)
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

shoal_status metrics_profile(struct metrics *m, const struct profile *p)
{
    shoal_status st = put_profile(m, &p->result);

    for (unsigned i = 0; i < p->result.nrows && st == SHOAL_OK; i++) {
        size_t n;
        const struct mark *marks = timeline_of(p, i, &n);

        if (n > 1)
            st = put(m, timeline(i, p->result.rows[i].host, marks, n));
    }
    return st;
}

void metrics_close(struct metrics *m)
{
    if (!m)
        return;
    journal_close(m->file);
    free(m);
}
