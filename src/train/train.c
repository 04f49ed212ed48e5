/* The loop. An epoch is a sequence of chunks of the corpus; workers take one
 * after the other and train on their views. Every second or so all of them come
 * home: then, and only then, are losses added, checkpoints begun, reports made.
 *
 *     plan -> tables (new, or from a checkpoint) -> [ stretch, report ]* -> vectors
 *
 * Two ways to share the work:
 *   Hogwild        each thread has a worker; views are the tables themselves,
 *                  but for private copies of the hottest rows
 *   deterministic  a fixed number of lanes; views are private and merged after
 *                  each round in a fixed order, whatever thread ran which lane
 *
 * With several ranks each has a replica of the tables, and a share of the chunks
 * of the sequence: worker w of n takes those at w, w + n, ... from where all last
 * met. The store brings the replicas together meanwhile (together.h). */
#include "train/run.h"

#include <math.h>
#include <stdlib.h>

#define REPORT_SECONDS 1.0

/* ---- between stretches ---- */

double mean_of(double sum, uint64_t n)
{
    return n ? sum / (double)n : NAN;
}

static double progress(const struct run *r)
{
    return (r->at.epoch + (double)r->at.chunk / (double)r->chunks) / r->opts->epochs;
}

static shoal_status send(struct run *r, enum shoal_event event, double loss, double rate)
{
    double done = progress(r), seconds = r->at.seconds;
    bool begun = event != SHOAL_EVENT_EPOCH && r->at.epoch < r->opts->epochs;
    struct shoal_report report = {
        .event = event, .epoch = r->at.epoch + begun,
        .epochs = r->opts->epochs, .progress = done, .words = r->at.words, .seconds = seconds,
        .words_per_second = rate, .loss = loss,
        .valid_loss = event == SHOAL_EVENT_INTERVAL || event == SHOAL_EVENT_CHECKPOINT
                          ? NAN : r->valid_loss,
        .lr = (double)lr_at(r->opts, done * r->opts->epochs),
        .eta = done > 0 ? seconds * (1 - done) / done : NAN, .memory = mem_peak(),
    };
    shoal_status st;

    if (event == SHOAL_EVENT_EPOCH) {
        report.scores = r->scores;
        report.nscores = r->nscores;
    }
    if (r->held.examples > 0 && event != SHOAL_EVENT_INTERVAL && event != SHOAL_EVENT_CHECKPOINT)
        report.held = &r->held;
    if (!r->leads)
        return SHOAL_OK;
    st = r->metrics ? metrics_write(r->metrics, &report) : SHOAL_OK;
    if (st == SHOAL_OK && r->opts->report && !r->opts->report(r->opts->user, &report))
        st = shoal_fail(SHOAL_ESTOP, "train: stopped on request at %.1f %%", 100 * done);
    return st;
}

/* A loss that is no number, or stays at many times the best one, only grows. */
static shoal_status check_sane(struct run *r, double loss)
{
    if (isnan(loss))
        return r->interval_predictions == 0 ? SHOAL_OK
               : shoal_fail(SHOAL_EINVAL, "train: diverged: the loss is no number after %llu "
                            "words; lower --lr", (unsigned long long)r->at.words);
    r->at.best_loss = fmin(r->at.best_loss, loss);
    r->rising = loss > 5 * r->at.best_loss + 1 ? r->rising + 1 : 0;
    if (isinf(loss) || r->rising >= 5)
        return shoal_fail(SHOAL_EINVAL, "train: diverged: the loss is %g, it was %g; lower --lr",
                          loss, r->at.best_loss);
    return SHOAL_OK;
}

static shoal_status report_interval(struct run *r, bool force)
{
    double now = clock_now(), took = now - r->reported;
    double loss = mean_of(r->interval_loss, r->interval_predictions);
    shoal_status st = check_sane(r, loss);

    if (st == SHOAL_OK && r->with)
        st = together_tell(r->with, &r->since);
    if (st != SHOAL_OK || (!force && took < REPORT_SECONDS))
        return st;
    st = send(r, SHOAL_EVENT_INTERVAL, loss, (double)(r->at.words - r->reported_words) / took);
    r->reported = now;
    r->reported_words = r->at.words;
    r->interval_loss = 0;
    r->interval_predictions = 0;
    return st;
}

static bool checkpoint_due(const struct run *r)
{
    uint64_t chunks = r->at.epoch * r->chunks + r->at.chunk;

    if (!r->checkpoints)
        return false;
    switch (r->opts->every) {
    case SHOAL_EVERY_SECONDS:
        return clock_now() - r->saved >= r->opts->every_value;
    case SHOAL_EVERY_SHARE:
        return (double)(chunks - r->saved_chunks) >=
               r->opts->every_value * (double)r->chunks * r->opts->epochs;
    case SHOAL_EVERY_EPOCH:
        return r->at.chunk % r->chunks == 0 && chunks > r->saved_chunks;
    }
    return false;
}

static shoal_status save(struct run *r)
{
    shoal_status st;

    r->at.progress = progress(r);
    st = checkpoints_write(r->checkpoints, &r->at);
    if (st == SHOAL_OK && r->with) /* it is none before all have written */
        st = checkpoints_finish(r->checkpoints);
    r->saved = clock_now();
    r->saved_chunks = r->at.epoch * r->chunks + r->at.chunk;
    if (st == SHOAL_OK)
        st = send(r, SHOAL_EVENT_CHECKPOINT, mean_of(r->interval_loss, r->interval_predictions), NAN);
    return st;
}

static shoal_status measure(void *ctx)
{
    struct run *r = ctx;

    return r->task->measure(r);
}

/* While this rank measures, others wait and want to hear that it lives; with blocks
 * it asks them for rows. */
static shoal_status aside(struct run *r, shoal_status (*fn)(void *ctx))
{
    struct errand errand = {0};

    errand_begin(&errand, fn, r);
    return errand_end(&errand, together_comm(r->with));
}

/* At what is held out; whether that is enough, rank 0 says. */
static shoal_status look(struct run *r)
{
    shoal_status st = SHOAL_OK;

    if (r->leads)
        st = r->with && !r->blocks ? aside(r, measure) : measure(r);
    r->at.looked = passed(r);
    r->reported = clock_now(); /* the next interval's rate is of training */
    return st;
}

static shoal_status publish_now(void *ctx)
{
    struct run *r = ctx;

    return r->task->publish(r, r->opts->publish);
}

/* Lets others see what rank 0 has learned so far, when it is time or all is done. */
static shoal_status publish(struct run *r, bool done)
{
    shoal_status st;

    if (!r->leads || !r->opts->publish ||
        (!done && clock_now() - r->published < r->opts->publish_every))
        return SHOAL_OK;
    st = r->with ? aside(r, publish_now) : publish_now(r);
    r->published = r->reported = clock_now(); /* the next interval's rate is of training */
    return st;
}

/* All ranks know without asking: it depends on the place alone. */
static bool look_due(const struct run *r)
{
    return r->look_every > 0 && passed(r) - r->at.looked >= r->look_every &&
           r->at.chunk < r->chunks;
}

static shoal_status look_within(struct run *r)
{
    shoal_status st = look(r);

    return st == SHOAL_OK ? send(r, SHOAL_EVENT_LOOK,
                                 mean_of(r->at.epoch_loss, r->at.epoch_predictions), NAN) : st;
}

static shoal_status end_epoch(struct run *r)
{
    double loss = mean_of(r->at.epoch_loss, r->at.epoch_predictions);
    double rate = (double)(r->at.words - r->epoch_words) / (r->at.seconds - r->epoch_seconds);
    shoal_status st = look(r);

    r->last_loss = loss;
    r->epoch_words = r->at.words;
    r->epoch_seconds = r->at.seconds;
    r->at.epoch++;
    r->at.chunk = 0;
    r->at.epoch_loss = 0;
    r->at.epoch_predictions = 0;
    r->met = r->at;
    r->since = (struct done){0};
    if (st == SHOAL_OK)
        st = send(r, SHOAL_EVENT_EPOCH, loss, rate);
    return st;
}

/* ---- several ranks ---- */

/* Where this stretch ends: at the latest where all meet. */
static shoal_status find_stop(struct run *r, uint64_t last, double took)
{
    uint64_t place;
    shoal_status st;

    r->stop = stretch_end(r, last, took);
    if (!r->with)
        return SHOAL_OK;
    together_limit(r->with, r->at.chunk); /* if a call comes while we wait for its place */
    st = together_place(r->with, &place);
    r->stop = r->stop < place ? r->stop : place;
    together_limit(r->with, r->stop);
    return st;
}

/* Rank 0 asks all to meet, for a checkpoint or because it is to stop. */
static shoal_status call_all(struct run *r, shoal_status st)
{
    if (st == SHOAL_ESTOP && r->leads) {
        r->stopping = true;
        st = SHOAL_OK;
    }
    if (st == SHOAL_OK && r->leads && r->at.chunk < r->chunks &&
        (r->stopping ||
         (r->opts->every != SHOAL_EVERY_EPOCH && checkpoint_due(r))))
        st = together_call(r->with);
    return st;
}

/* Somebody will look at the tables, or some rows have not travelled for long. Else an
 * epoch's end is but a place where all count what they did. */
static bool meets_whole(const struct run *r)
{
    bool last = r->at.epoch + 1 == r->opts->epochs, within = r->at.chunk < r->chunks;

    return within || last || r->stopping || r->gathers || r->due ||
           !store_swept(together_store(r->with));
}

/* All ranks are at one place: the position is the same, and after a whole meeting the
 * tables are. */
static shoal_status meet(struct run *r)
{
    struct done all = r->since;
    uint64_t chunk = r->at.chunk;
    double began = clock_now(), seconds;
    shoal_status st;

    r->due = r->leads && checkpoint_due(r);
    st = together_meet(r->with, meets_whole(r), &chunk, &all);

    r->at.chunk = chunk;
    count_up(r, &all);
    seconds = r->at.seconds + clock_now() - began;
    if (st == SHOAL_OK)
        st = comm_broadcast(together_comm(r->with), 0, &seconds, sizeof seconds);
    r->at.seconds = seconds;
    r->met = r->at;
    r->since = (struct done){0};
    return st;
}

/* What follows a meeting is decided by rank 0 and done by all. */
static shoal_status after_meeting(struct run *r)
{
    shoal_status st = r->at.chunk == r->chunks ? end_epoch(r) : SHOAL_OK;

    if (look_due(r) && st == SHOAL_OK)
        st = look_within(r);
    if (st == SHOAL_OK && r->stopping)
        st = shoal_fail(SHOAL_ESTOP, "train: stopped on request at %.1f %%", 100 * progress(r));
    st = comm_agree(together_comm(r->with), st);
    if (st == SHOAL_OK)
        st = together_decide(r->with, &r->due);
    if (st == SHOAL_OK)
        st = together_decide(r->with, &r->enough);
    /* saving reports, and rank 0's report may ask to stop */
    return st == SHOAL_OK && r->due ? comm_agree(together_comm(r->with), save(r)) : st;
}

static bool at_place(struct run *r)
{
    uint64_t place = UINT64_MAX;

    return together_place(r->with, &place) == SHOAL_OK && r->at.chunk >= place;
}

/* ---- the loop ---- */

static shoal_status stretch(struct run *r, uint64_t *last, double *took)
{
    uint64_t from = r->at.chunk;
    double began;
    shoal_status st = find_stop(r, *last, *took);

    if (st != SHOAL_OK)
        return st;
    began = r->stretch_began = clock_now();
    if (r->startup == 0)
        r->startup = began - r->began;
    st = run_stretch(r);
    *took = clock_now() - began;
    r->stretch_began = 0;
    *last = r->at.chunk - from;
    r->at.seconds += *took;
    r->computed += *took;
    return st;
}

/* One stretch of a run alone, and what is due after it. */
static shoal_status go_on(struct run *r, uint64_t *last, double *took)
{
    shoal_status st = stretch(r, last, took);

    if (st == SHOAL_OK)
        st = report_interval(r, r->at.chunk == r->chunks);
    if (st == SHOAL_OK)
        st = publish(r, false);
    if (st == SHOAL_OK && r->at.chunk == r->chunks)
        st = end_epoch(r);
    else if (st == SHOAL_OK && look_due(r))
        st = look_within(r);
    if (st == SHOAL_OK && checkpoint_due(r))
        st = save(r);
    return st;
}

/* The same with others. A server has no stretches: it merges rows while it waits
 * for the others to meet. */
static shoal_status go_on_together(struct run *r, uint64_t *last, double *took)
{
    bool works = store_works(together_store(r->with));
    shoal_status st = SHOAL_OK;

    if (works) {
        st = stretch(r, last, took);
        if (st == SHOAL_OK)
            st = call_all(r, report_interval(r, r->at.chunk == r->chunks));
        if (st == SHOAL_OK)
            st = publish(r, false);
    }
    if (st == SHOAL_OK && works && r->at.chunk < r->chunks && !look_due(r) && !at_place(r))
        return SHOAL_OK;
    if (st == SHOAL_OK)
        st = meet(r);
    run_mark(r);
    if (st == SHOAL_OK)
        st = after_meeting(r);
    run_mark(r);
    return st;
}

static shoal_status train(struct run *r)
{
    uint64_t last = 0;
    double took = 0;
    shoal_status st = SHOAL_OK;

    r->group = group_of(r);
    r->reported = r->saved = r->published = clock_now();
    r->reported_words = r->first_words = r->epoch_words = r->at.words;
    r->first_seconds = r->epoch_seconds = r->at.seconds;
    r->saved_chunks = r->at.epoch * r->chunks + r->at.chunk;
    r->met = r->at;
    run_timeline(r);
    while (st == SHOAL_OK && r->at.epoch < r->opts->epochs && !r->enough)
        st = r->with ? go_on_together(r, &last, &took) : go_on(r, &last, &took);
    if (r->with && st != SHOAL_OK && st != SHOAL_ESTOP)
        together_fail(r->with, st);
    return st;
}

/* On request the run stops after a last checkpoint; its sentence is kept. */
static shoal_status stop_cleanly(struct run *r, shoal_status st)
{
    shoal_status saved = SHOAL_OK;

    r->at.progress = progress(r);
    if (r->checkpoints && r->with && st == SHOAL_ESTOP)
        saved = together_gather(r->with);
    if (r->checkpoints && saved == SHOAL_OK && st == SHOAL_ESTOP)
        saved = checkpoints_write(r->checkpoints, &r->at);
    if (r->checkpoints && saved == SHOAL_OK && (!r->with || st == SHOAL_OK || st == SHOAL_ESTOP))
        saved = checkpoints_finish(r->checkpoints);
    if (saved != SHOAL_OK)
        return saved;
    return st;
}

static shoal_status count_ranks(struct run *r)
{
    shoal_status st;

    r->stats.computed = r->computed;
    r->stats.naive_bytes = r->rows * r->task->row_bytes(r);
    st = r->with ? together_stats(r->with, r->opts, &r->stats) : SHOAL_OK;
    if (st == SHOAL_OK && r->with && r->metrics)
        st = metrics_ranks(r->metrics, &r->stats);
    if (st == SHOAL_OK)
        st = run_profile(r);
    if (st == SHOAL_OK && r->metrics)
        st = metrics_profile(r->metrics, &r->profile);
    return st;
}

void fill_stats(const struct run *r, struct shoal_train_stats *stats)
{
    *stats = (struct shoal_train_stats){
        .words = r->at.words - r->first_words,
        .seconds = r->at.seconds - r->first_seconds,
        .startup = r->startup,
        .loss = r->last_loss,
        .valid_loss = r->valid_loss,
        .memory = mem_peak(),
        .kernel = r->kernel ? r->kernel->name : NULL,
        .checkpoints = checkpoints_written(r->checkpoints),
        .resumed = r->opts->resume,
        .enough = r->enough,
        .held = r->held,
        .ranks = r->stats,
        .profile = r->profile.result,
    };
}

shoal_status run_finish(struct run *r)
{
    double rate = (double)(r->at.words - r->first_words) / (r->at.seconds - r->first_seconds);

    return send(r, SHOAL_EVENT_DONE, r->last_loss, rate);
}

shoal_status run_all(struct run *r)
{
    shoal_status st = stop_cleanly(r, train(r));

    if (st == SHOAL_OK)
        st = publish(r, true);
    return st == SHOAL_OK ? count_ranks(r) : st;
}
