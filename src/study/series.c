/* A file of metrics becomes a run: its settings, its reports in the order of time, and
 * what its ranks said at the end. */
#include "file/file.h"
#include "study/study.h"
#include "train/train.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
    PIECE = 1 << 20, /* bytes of a file that are read at once */
    LINE_MOST = 1 << 20,
    SEEN = 64, /* bytes by which a file is known again */
};

const char *const time_parts[TIME_PARTS] = {"computing", "communicating", "waiting", "other"};

/* How far a file was read, and what the lines to come need to know of those before. */
struct reader {
    shoal_run *run;
    char *path;
    uint64_t at;     /* bytes, up to the end of a line, */
    char seen[SEEN]; /* the last of them */
    size_t nseen;
    struct shoal_measures end; /* as the lines have it; `finish` completes that of the run */
    size_t line;               /* whole ones so far */
    bool again;             /* settings came after reports: the run was resumed */
    bool blank;             /* there is no report yet: one of nothing stands for it */
    double before;          /* seconds to add since then */
    double total;           /* units of the whole run, as reports of all ranks tell */
    double guess;           /* the same by the last report, maybe of one rank only */
    double waited, trained; /* seconds of all ranks in sum; waiting is a part of training */
};

/* ---- values of a line ---- */

static double real_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static unsigned count_of(const json_t *object, const char *key)
{
    double x = real_of(object, key);

    return x >= 0 && x <= 1e6 ? (unsigned)x : 0;
}

static shoal_status bad_line(const struct reader *r, const char *found)
{
    return shoal_fail(SHOAL_EFORMAT, "%s:%zu: found %s, want a line that --metrics wrote", r->path,
                      r->line + 1, found);
}

static void forget_tracks(shoal_run *run)
{
    for (size_t i = 0; i < run->ntracks; i++)
        free(run->tracks[i].ends);
    run->ntracks = 0;
    for (size_t i = 0; i < run->nsteps; i++)
        free(run->steps[i].ready);
    run->nsteps = 0;
}

/* ---- settings ---- */

static void value_text(char *text, size_t cap, const json_t *value)
{
    if (json_is_string(value))
        snprintf(text, cap, "%s", json_string_value(value));
    else if (json_is_boolean(value))
        snprintf(text, cap, "%s", json_is_true(value) ? "yes" : "no");
    else if (json_is_integer(value))
        snprintf(text, cap, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        number_print(text, cap, "%.6g", json_real_value(value));
    else
        snprintf(text, cap, "-");
}

static void take_settings(struct reader *r, json_t *line)
{
    shoal_run *run = r->run;
    const char *key;
    json_t *value;

    r->again = run->npoints > 0;
    forget_tracks(run); /* time began anew */
    run->nsettings = 0;
    snprintf(run->model, sizeof run->model, "%s", string_of(line, "task"));
    snprintf(run->end.unit, sizeof run->end.unit, "%s", string_of(line, "unit"));
    json_object_foreach(line, key, value)
    {
        struct setting *s = &run->settings[run->nsettings];

        if (strcmp(key, "event") == 0 || run->nsettings == RUN_SETTINGS)
            continue;
        snprintf(s->key, sizeof s->key, "%s", key);
        value_text(s->value, sizeof s->value, value);
        run->nsettings++;
    }
    if (count_of(line, "ranks") > 0)
        run->end.ranks = count_of(line, "ranks");
    log_begin(run, r->again);
}

/* ---- reports ---- */

/* The figures that say how good a model is, the telling ones first. */
static const struct {
    const char *key, *name;
} qualities[] = {{"auc", "AUC"},
                 {"accuracy", "accuracy"},
                 {"word_top10", "top-10 accuracy"},
                 {"r2", "R²"},
                 {"cosine", "cosine similarity"}};

/* Those of which less is better. */
static bool is_error(const char *key)
{
    return strcmp(key, "loss") == 0 || strcmp(key, "mse") == 0 || strcmp(key, "rmse") == 0 ||
           strcmp(key, "mae") == 0;
}

static double note_quality(shoal_run *run, const char *name, double value)
{
    snprintf(run->end.quality_name, sizeof run->end.quality_name, "%s", name);
    return value;
}

/* A score of questions has the name of their file; the first counts: where there are several,
 * the user put it first. */
static double quality_of(shoal_run *run, const json_t *line)
{
    json_t *valid = json_object_get(line, "valid");
    const json_t *train = json_object_get(line, "train");
    const char *key;
    json_t *value;

    for (size_t i = 0; i < sizeof qualities / sizeof *qualities; i++) {
        double held = real_of(valid, qualities[i].key), seen = real_of(train, qualities[i].key);

        if (!isnan(held) || !isnan(seen))
            return note_quality(run, qualities[i].name, isnan(held) ? seen : held);
    }
    json_object_foreach(valid, key, value)
    {
        if (!is_error(key))
            return note_quality(run, key, json_number_value(value));
    }
    return (double)NAN;
}

static struct point point_of(struct reader *r, const json_t *line)
{
    return (struct point){.progress = real_of(line, "progress"),
                          .seconds = real_of(line, "seconds") + r->before,
                          .units = real_of(line, "examples"),
                          .loss = real_of(json_object_get(line, "train"), "loss"),
                          .held = real_of(json_object_get(line, "valid"), "loss"),
                          .accuracy = real_of(json_object_get(line, "train"), "accuracy"),
                          .held_accuracy = real_of(json_object_get(line, "valid"), "accuracy"),
                          .quality = quality_of(r->run, line),
                          .lr = real_of(line, "lr"),
                          .memory = real_of(line, "memory"),
                          .gradient = real_of(json_object_get(line, "run"), "gradient")};
}

/* After a crash the run went on from its checkpoint: points beyond that are dropped, and the clock
 * of what follows is set behind those that stay. */
static void forget_lost(struct reader *r, struct point *p)
{
    shoal_run *run = r->run;

    while (run->npoints > 0 && run->points[run->npoints - 1].progress >= p->progress)
        run->npoints--;
    if (run->npoints > 0 && run->points[run->npoints - 1].seconds > p->seconds) {
        r->before = run->points[run->npoints - 1].seconds;
        p->seconds += r->before;
    }
    r->again = false;
}

static void later(double *old, double new)
{
    if (!isnan(new))
        *old = new;
}

/* Several reports may be made at one moment. */
static void merge_point(struct point *at, const struct point *p)
{
    later(&at->progress, p->progress);
    later(&at->loss, p->loss);
    later(&at->held, p->held);
    later(&at->accuracy, p->accuracy);
    later(&at->held_accuracy, p->held_accuracy);
    later(&at->quality, p->quality);
    later(&at->lr, p->lr);
    later(&at->memory, p->memory);
    later(&at->gradient, p->gradient);
}

/* Every second one goes; with `seldom` those with a validation loss or a quality stay, which there
 * are few of. */
static void drop_points(shoal_run *run, bool seldom)
{
    size_t n = 0;

    for (size_t i = 0; i < run->npoints; i++) {
        const struct point *p = &run->points[i];

        if (i % 2 == 1 || (seldom && (!isnan(p->held) || !isnan(p->quality))))
            run->points[n++] = *p;
    }
    run->npoints = n;
}

/* A run that reports for weeks has room all the same, and its curves reach from end to end. */
static void make_room(shoal_run *run)
{
    drop_points(run, true);
    if (run->npoints > RUN_POINTS / 4 * 3)
        drop_points(run, false);
}

static shoal_status add_point(shoal_run *run, const struct point *p)
{
    struct point *last = run->npoints > 0 ? &run->points[run->npoints - 1] : NULL;
    shoal_status st;

    if (last && p->seconds <= last->seconds) {
        merge_point(last, p);
        return SHOAL_OK;
    }
    if (run->npoints == RUN_POINTS)
        make_room(run);
    st = mem_grow((void **)&run->points, &run->cap, run->npoints + 1, sizeof *run->points);
    if (st == SHOAL_OK)
        run->points[run->npoints++] = *p;
    return st;
}

static void note_end(struct reader *r, const struct point *p, const json_t *line)
{
    struct shoal_measures *end = &r->run->end;

    later(&end->seconds, p->seconds);
    later(&end->units, p->units);
    if (real_of(line, "steps") > 0)
        end->steps = real_of(line, "steps");
    later(&end->loss, p->loss);
    later(&end->held, p->held);
    later(&end->accuracy, p->accuracy);
    later(&end->held_accuracy, p->held_accuracy);
    later(&end->quality, p->quality);
    later(&end->lr, p->lr);
    later(&end->memory, p->memory);
    later(&end->gradient, p->gradient);
    if (strcmp(string_of(line, "event"), "done") == 0)
        end->done = true;
}

/* The end of an epoch tells the mean of all of it. Where its last slice was told just before, that is
 * how far training has come, and the mean would stand out of the curve. */
static void keep_latest(const shoal_run *run, struct point *p)
{
    const struct point *last = run->npoints > 0 ? &run->points[run->npoints - 1] : NULL;

    if (!last || last->progress != p->progress || isnan(last->loss))
        return;
    p->seconds = last->seconds;
    p->loss = last->loss;
    p->accuracy = last->accuracy;
}

/* Between two rendezvous rank 0 knows only its own count of examples, but the progress of the
 * whole run. `finish` makes units of it, by those of the whole run, which later reports tell. */
static shoal_status take_report(struct reader *r, const json_t *line)
{
    const char *unit = string_of(line, "unit"), *event = string_of(line, "event");
    double progress = real_of(line, "progress");
    struct point p;

    if (!*unit || isnan(real_of(line, "examples")) || isnan(real_of(line, "seconds")) ||
        !(progress >= 0 && progress <= 1.000001))
        return bad_line(r, "a report without its units, seconds or progress");
    snprintf(r->run->end.unit, sizeof r->run->end.unit, "%s", unit);
    p = point_of(r, line);
    if (r->again)
        forget_lost(r, &p);
    note_end(r, &p, line);
    log_report(r->run, event,
               (struct run_place){count_of(line, "epoch"), count_of(line, "epochs"), progress}, &p);
    if (progress > 0)
        *(strcmp(event, "interval") == 0 ? &r->guess : &r->total) = p.units / progress;
    if (strcmp(event, "interval") != 0)
        keep_latest(r->run, &p);
    r->run->progress = progress;
    return add_point(r->run, &p);
}

/* ---- ranks ---- */

static void take_ranks(struct reader *r, const json_t *line)
{
    shoal_run *run = r->run;
    const json_t *bins = json_object_get(line, "stale");
    double sum = 0, late = 0;

    run->end.ranks = count_of(line, "ranks");
    run->end.bytes = real_of(line, "bytes_out");
    run->end.received = real_of(line, "bytes_in");
    run->end.messages = real_of(line, "messages");
    r->waited = real_of(line, "seconds_waiting");
    r->trained = real_of(line, "seconds_training");
    for (size_t i = 0; i < RUN_STALE; i++) {
        double x = json_number_value(json_array_get(bins, i));

        run->stale[i] = x >= 0 ? x : 0;
        sum += run->stale[i];
        late += (double)i * run->stale[i];
    }
    run->has_stale = sum > 0;
    run->end.stale = sum > 0 ? late / sum : (double)NAN;
}

/* Of the ranks that train, where each is told of: a server waits all day. */
static double share_of(const json_t *all, const json_t *rows, bool each, const char *key)
{
    double part = 0, whole = 0;

    for (size_t i = 0; each && i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        if (json_is_true(json_object_get(row, "works"))) {
            part += real_of(row, key);
            whole += real_of(row, "seconds");
        }
    }
    if (!(whole > 0)) {
        part = real_of(all, key);
        whole = real_of(all, "seconds");
    }
    return whole > 0 ? part / whole : (double)NAN;
}

/* The share that the threads of those ranks had a core. */
static double cpu_of(const json_t *all, const json_t *rows, bool each)
{
    double part = 0, whole = 0;

    for (size_t i = 0; each && i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        double time = real_of(row, "seconds") * real_of(row, "threads");

        if (json_is_true(json_object_get(row, "works")) && time > 0) {
            part += real_of(row, "cpu") * time;
            whole += time;
        }
    }
    return whole > 0 ? part / whole : real_of(all, "cpu");
}

static bool any_server(const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (json_is_false(json_object_get(json_array_get(rows, i), "works")))
            return true;
    return false;
}

/* Batches of all ranks, where a run counts them. */
static double batches_of(const json_t *line)
{
    const char *unit = string_of(line, "unit");

    return strcmp(unit, "1,000 batches") == 0 ? 1000 * real_of(line, "units") : (double)NAN;
}

static struct run_rank rank_of(const json_t *row)
{
    struct run_rank rank = {.rank = count_of(row, "rank"),
                            .bytes_out = real_of(row, "bytes_out"),
                            .bytes_in = real_of(row, "bytes_in"),
                            .waits = real_of(row, "waits"),
                            .awaited = count_of(row, "awaited"),
                            .awaited_seconds = real_of(row, "awaited_seconds")};

    for (size_t k = 0; k < TIME_PARTS; k++)
        rank.parts[k] = real_of(row, time_parts[k]);
    snprintf(rank.host, sizeof rank.host, "%s", string_of(row, "host"));
    return rank;
}

static void take_profile(shoal_run *run, const json_t *line)
{
    const json_t *all = json_object_get(line, "all"), *rows = json_object_get(line, "per_rank");

    bool each = any_server(rows);

    run->end.computing = share_of(all, rows, each, "computing");
    run->end.communicating = share_of(all, rows, each, "communicating");
    run->end.waiting = share_of(all, rows, each, "waiting");
    run->end.other = share_of(all, rows, each, "other");
    later(&run->end.cpu, cpu_of(all, rows, each));
    later(&run->end.read, real_of(all, "disk_read"));
    later(&run->end.written, real_of(all, "disk_written"));
    later(&run->end.updates, batches_of(line));
    snprintf(run->end.limit, sizeof run->end.limit, "%s", string_of(line, "limit"));
    snprintf(run->end.verdict, sizeof run->end.verdict, "%s", string_of(line, "verdict"));
    run->nranks = 0;
    for (size_t i = 0; i < json_array_size(rows) && i < RUN_RANKS; i++)
        run->ranks[run->nranks++] = rank_of(json_array_get(rows, i));
}

/* ---- timelines ---- */

static bool array_of(const json_t *line, const char *key, size_t n, double *out)
{
    const json_t *list = json_object_get(line, key);

    if (!json_is_array(list) || json_array_size(list) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(list, i);

        out[i] = json_number_value(x);
        if (!json_is_number(x) || !(out[i] >= 0 && out[i] < 1e12))
            return false;
    }
    return true;
}

static bool fill_track(struct run_track *track, const json_t *line)
{
    bool right = array_of(line, "seconds", track->n, track->ends);

    for (size_t i = 1; right && i < track->n; i++)
        right = track->ends[i] >= track->ends[i - 1];
    for (size_t k = 0; right && k < SPAN_PARTS; k++) {
        right = array_of(line, time_parts[k], track->n, track->parts[k]);
        for (size_t i = 1; right && i < track->n; i++)
            track->parts[k][i] += track->parts[k][i - 1];
    }
    return right;
}

static shoal_status take_timeline(struct reader *r, const json_t *line)
{
    shoal_run *run = r->run;
    size_t n = json_array_size(json_object_get(line, "seconds"));
    struct run_track track = {.rank = count_of(line, "rank"), .n = n};

    if (n == 0 || n > RUN_SPANS)
        return bad_line(r, "a timeline of no spans, or too many");
    if (run->ntracks == RUN_RANKS)
        return SHOAL_OK;
    track.ends = mem_array(n * (1 + SPAN_PARTS), sizeof *track.ends);
    if (!track.ends)
        return SHOAL_ENOMEM;
    for (size_t k = 0; k < SPAN_PARTS; k++)
        track.parts[k] = track.ends + n * (k + 1);
    snprintf(track.host, sizeof track.host, "%s", string_of(line, "host"));
    run->tracks[run->ntracks++] = track;
    return fill_track(&track, line) ? SHOAL_OK : bad_line(r, "a timeline whose spans do not fit");
}

static bool fill_step(struct run_step *s, const json_t *line)
{
    bool right = array_of(line, "ready", s->nready, s->ready) &&
                 array_of(line, "sent", s->ntrips, s->sent) &&
                 array_of(line, "fresh", s->ntrips, s->fresh);

    /* what lacks is NaN, which is in no order */
    right = right && s->began >= 0 && s->backward >= s->began && s->computed >= s->backward &&
            s->ended >= s->computed && s->ended < 1e12;
    for (size_t i = 0; right && i < s->nready; i++)
        right = s->ready[i] >= (i > 0 ? s->ready[i - 1] : s->backward) && s->ready[i] <= s->ended;
    for (size_t i = 0; right && i < s->ntrips; i++)
        right = s->sent[i] >= s->began && s->fresh[i] >= s->sent[i] && s->fresh[i] <= s->ended;
    return right;
}

static shoal_status take_step(struct reader *r, const json_t *line)
{
    shoal_run *run = r->run;
    size_t nready = json_array_size(json_object_get(line, "ready"));
    size_t ntrips = json_array_size(json_object_get(line, "sent"));
    struct run_step s = {.rank = count_of(line, "rank"), .epoch = count_of(line, "epoch"),
                         .step = count_of(line, "step"), .nready = nready, .ntrips = ntrips,
                         .began = real_of(line, "began"), .backward = real_of(line, "backward"),
                         .computed = real_of(line, "computed"), .ended = real_of(line, "ended")};

    if (ntrips == 0 || ntrips > RUN_SPANS || nready > RUN_SPANS)
        return bad_line(r, "a step of no pieces, or too many");
    if (run->nsteps == RUN_RANKS)
        return SHOAL_OK;
    s.ready = mem_array(nready + 2 * ntrips, sizeof *s.ready);
    if (!s.ready)
        return SHOAL_ENOMEM;
    s.sent = s.ready + nready;
    s.fresh = s.sent + ntrips;
    snprintf(s.host, sizeof s.host, "%s", string_of(line, "host"));
    run->steps[run->nsteps++] = s;
    return fill_step(&s, line) ? SHOAL_OK : bad_line(r, "a step whose moments do not fit");
}

/* ---- what was learned ---- */

static void forget_learned(shoal_run *run)
{
    if (run->learned)
        learned_fini(run->learned);
    free(run->learned);
    run->learned = NULL;
}

/* The last one counts. */
static shoal_status take_learned(struct reader *r, const json_t *line)
{
    const char *wrong;

    forget_learned(r->run);
    r->run->learned = mem_array(1, sizeof *r->run->learned);
    if (!r->run->learned)
        return SHOAL_ENOMEM;
    wrong = learned_take(r->run->learned, line);
    return wrong ? bad_line(r, wrong) : r->run->learned->status;
}

/* It did not come to its end, and says why. */
static void take_ended(struct reader *r, const json_t *line, const char *event)
{
    double progress = real_of(line, "progress"), seconds = real_of(line, "seconds");

    later(&r->run->end.seconds, seconds + r->before);
    if (progress >= 0 && progress <= 1)
        r->run->progress = progress;
    log_ended(r->run, event, r->before + seconds, string_of(line, "why"));
}

/* ---- lines ---- */

static shoal_status take_line(struct reader *r, json_t *line)
{
    static const char *const reports[] = {"interval", "epoch", "evaluation", "checkpoint", "done"};
    const char *event = string_of(line, "event");

    if (!*event)
        return bad_line(r, "JSON without an event");
    if (strcmp(event, "settings") == 0)
        take_settings(r, line);
    else if (strcmp(event, "ranks") == 0)
        take_ranks(r, line);
    else if (strcmp(event, "profile") == 0)
        take_profile(r->run, line);
    else if (strcmp(event, "timeline") == 0)
        return take_timeline(r, line);
    else if (strcmp(event, "step") == 0)
        return take_step(r, line);
    else if (strcmp(event, "learned") == 0)
        return take_learned(r, line);
    else if (strcmp(event, "stopped") == 0 || strcmp(event, "failed") == 0)
        take_ended(r, line, event);
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
        if (strcmp(event, reports[i]) == 0)
            return take_report(r, line);
    return SHOAL_OK; /* events to come */
}

static shoal_status read_line(struct reader *r, const char *text, size_t len)
{
    json_error_t error;
    json_t *line;
    shoal_status st;

    if (len > LINE_MOST)
        return bad_line(r, "more than 1 MiB");
    line = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(line))
        st = take_line(r, line);
    else
        st = bad_line(r, line ? "JSON that is no object" : "no JSON");
    json_decref(line);
    return st;
}

/* What is not ended yet is left for later; `used` are the bytes of whole lines. */
static shoal_status read_lines(struct reader *r, const char *text, size_t len, size_t *used)
{
    const char *at = text, *stop = text + len, *end;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && at < stop && (end = memchr(at, '\n', (size_t)(stop - at)))) {
        if (end > at)
            st = read_line(r, at, (size_t)(end - at));
        r->line += st == SHOAL_OK;
        at = end + 1;
    }
    *used = (size_t)(at - text);
    return st;
}

/* ---- the whole ---- */

static void complete(struct reader *r)
{
    shoal_run *run = r->run;
    double total = isnan(r->total) ? r->guess : r->total;

    for (size_t i = 0; i < run->npoints; i++)
        run->points[i].units = run->points[i].progress * total;
    if (!run->end.done)
        run->end.units = run->points[run->npoints - 1].units;
    if (run->end.seconds > 0)
        run->end.rate = run->end.units / run->end.seconds;
    if (run->end.ranks == 0)
        run->end.ranks = 1;
    if (isnan(run->end.updates)) /* without a profile */
        run->end.updates = run->end.steps;
    /* An estimate; a profile has measured it. */
    if (r->waited >= 0 && r->trained > 0 && isnan(run->end.waiting))
        run->end.waiting =
            r->waited / fmax(fmax(r->trained, r->waited), run->end.ranks * run->end.seconds);
}

/* A run that has but begun, or failed before its first report, is shown too. */
static shoal_status add_blank(struct reader *r)
{
    double unknown = (double)NAN;

    r->blank = true;
    r->guess = 0;
    if (isnan(r->run->end.seconds))
        r->run->end.seconds = 0;
    return add_point(r->run, &(struct point){.loss = unknown,
                                             .held = unknown,
                                             .accuracy = unknown,
                                             .held_accuracy = unknown,
                                             .quality = unknown,
                                             .lr = unknown,
                                             .memory = unknown,
                                             .gradient = unknown});
}

static void forget_blank(struct reader *r)
{
    if (!r->blank)
        return;
    r->blank = false;
    r->guess = (double)NAN;
    r->run->npoints = 0;
}

static shoal_status finish(struct reader *r)
{
    shoal_status st = SHOAL_OK;

    r->end = r->run->end;
    if (r->run->nsettings == 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: found no settings, want a file that --metrics wrote",
                          r->path);
    if (r->run->npoints == 0)
        st = add_blank(r);
    if (st == SHOAL_OK)
        complete(r);
    return st;
}

/* Long paths keep their end, which tells them apart. */
static void note_path(shoal_run *run, const char *path)
{
    size_t len = strlen(path), cap = sizeof run->path;

    if (len < cap)
        memcpy(run->path, path, len + 1);
    else
        snprintf(run->path, cap, "...%s", path + len - (cap - 4));
}

/* A run of which nothing was read; also one that was read, when its file was made anew. */
static void run_begin(shoal_run *run, char *path)
{
    struct reader *r = run->reader;

    forget_tracks(run);
    forget_learned(run);
    free(run->points);
    *run = (shoal_run){.reader = r, .end = measures_unknown()};
    note_path(run, path);
    *r = (struct reader){.run = run,
                         .path = path,
                         .end = run->end,
                         .total = (double)NAN,
                         .guess = (double)NAN,
                         .waited = (double)NAN,
                         .trained = (double)NAN};
}

static shoal_status new_run(shoal_run **out, const char *path)
{
    shoal_run *run = mem_array(1, sizeof *run);
    char *own = mem_text("%s", path);

    if (run)
        run->reader = mem_array(1, sizeof *run->reader);
    if (!own || !run || !run->reader) {
        free(own);
        shoal_run_free(run);
        return SHOAL_ENOMEM;
    }
    run_begin(run, own);
    *out = run;
    return SHOAL_OK;
}

shoal_status study_run_parse(shoal_run **out, const char *path, const char *text, size_t len)
{
    shoal_run *run = NULL;
    size_t used;
    shoal_status st = new_run(&run, path);

    *out = NULL;
    if (st == SHOAL_OK)
        st = read_lines(run->reader, text, len, &used);
    if (st == SHOAL_OK)
        st = finish(run->reader);
    if (st == SHOAL_OK)
        *out = run;
    else
        shoal_run_free(run);
    return st;
}

/* ---- files, as they grow ---- */

static void note_seen(struct reader *r, const char *text, size_t used)
{
    if (used == 0)
        return;
    r->nseen = used < SEEN ? used : SEEN;
    memcpy(r->seen, text + used - r->nseen, r->nseen);
    r->at += used;
}

/* Piece by piece: a file may be as long as it likes, a line may not. */
static shoal_status read_pieces(struct reader *r, struct stream *s)
{
    struct bytes b = {0};
    size_t got = 1, used;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && got > 0) {
        st = bytes_reserve(&b, PIECE);
        if (st == SHOAL_OK)
            st = stream_read(s, b.at + b.len, PIECE, &got);
        if (st != SHOAL_OK)
            break;
        b.len += got;
        st = read_lines(r, b.at, b.len, &used);
        note_seen(r, b.at, used);
        b.len -= used;
        memmove(b.at, b.at + used, b.len);
        if (st == SHOAL_OK && b.len > LINE_MOST) /* its end has not even come */
            st = read_line(r, b.at, b.len);
    }
    bytes_fini(&b);
    return st;
}

/* Whether the file still has what was read of it, and stands behind that; a compressed one is read
 * anew. */
static bool is_known(const struct reader *r, struct stream *s)
{
    char seen[SEEN];
    size_t got = 0;

    return r->nseen > 0 && stream_plain(s) && stream_seek(s, r->at - r->nseen) == SHOAL_OK &&
           stream_read(s, seen, r->nseen, &got) == SHOAL_OK && got == r->nseen &&
           memcmp(seen, r->seen, got) == 0;
}

static shoal_status open_again(struct stream **s, struct reader *r)
{
    shoal_status st = stream_open(s, r->path);

    if (st != SHOAL_OK || is_known(r, *s))
        return st;
    run_begin(r->run, r->path);
    stream_close(*s);
    return stream_open(s, r->path);
}

shoal_status shoal_run_update(shoal_run *run)
{
    struct reader *r = run->reader;
    struct stream *s = NULL;
    struct stat file;
    shoal_status st = open_again(&s, r);

    if (st != SHOAL_OK)
        return st;
    run->end = r->end;
    forget_blank(r);
    st = read_pieces(r, s);
    stream_close(s);
    if (st == SHOAL_OK)
        st = finish(r);
    if (st == SHOAL_OK && stat(r->path, &file) == 0)
        run->silent = fmax(0, difftime(time(NULL), file.st_mtime));
    return st;
}

shoal_status shoal_run_read(shoal_run **out, const char *path)
{
    shoal_run *run = NULL;
    shoal_status st = new_run(&run, path);

    *out = NULL;
    if (st == SHOAL_OK)
        st = shoal_run_update(run);
    if (st == SHOAL_OK)
        *out = run;
    else
        shoal_run_free(run);
    return st;
}

void shoal_run_free(shoal_run *run)
{
    if (!run)
        return;
    forget_tracks(run);
    forget_learned(run);
    free(run->points);
    if (run->reader)
        free(run->reader->path);
    free(run->reader);
    free(run);
}

/* ---- measures ---- */

static bool any_held(const shoal_run *run)
{
    for (size_t i = 0; i < run->npoints; i++)
        if (!isnan(run->points[i].held))
            return true;
    return false;
}

/* Which of the two losses of a point. */
static double loss_at(const struct point *p, bool held)
{
    return held ? p->held : p->loss;
}

/* When the line between two reports crosses the loss. */
static double seconds_to(const shoal_run *run, double target, bool held)
{
    const struct point *before = NULL;

    for (size_t i = 0; i < run->npoints; i++) {
        const struct point *p = &run->points[i];
        double loss = loss_at(p, held), above;

        if (isnan(loss))
            continue;
        if (loss <= target && !before)
            return p->seconds;
        above = before ? loss_at(before, held) : loss;
        if (loss <= target)
            return before->seconds +
                   (p->seconds - before->seconds) * (above - target) / (above - loss);
        before = p;
    }
    return INFINITY;
}

static double least_loss(const shoal_run *run, bool held)
{
    double least = (double)NAN;

    for (size_t i = 0; i < run->npoints; i++)
        least = fmin(least, loss_at(&run->points[i], held));
    return least;
}

struct shoal_measures study_run_measures(const shoal_run *run, double target, enum shoal_target of)
{
    struct shoal_measures m = run->end;
    bool held = of == SHOAL_TARGET_VALID || (of == SHOAL_TARGET_ANY && any_held(run));

    m.target = isnan(target) ? (double)NAN : seconds_to(run, target, held);
    m.reached = isnan(target) ? (double)NAN : least_loss(run, held);
    return m;
}

struct shoal_measures shoal_run_measures(const shoal_run *run, double target_loss)
{
    return study_run_measures(run, target_loss, SHOAL_TARGET_ANY);
}
