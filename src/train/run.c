/* The driver, for every task and both engines:
 *
 *     plan -> open -> [ slice of work, report, evaluate, checkpoint, stop? ]* -> result
 *
 * An epoch is a sequence of units, chunks of positions or steps of an optimizer. A slice is as
 * many units as about half a second takes. After it all threads of this rank have stopped: then,
 * and only then, are losses added, checkpoints begun and reports made.
 *
 * With several ranks each works on its share of the units at its own pace. All meet at the end of
 * an epoch, where an evaluation is due, and where rank 0 calls them for a checkpoint or a stop
 * (rendezvous.h). What is trained is gathered there only if somebody needs it. */
#include "train/run.h"

#include "saved/saved.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SLICE_SECONDS 0.5
#define REPORT_SECONDS 1.0
enum { SLICE_GROWS = 4 }; /* times the last one, at most */
enum { EPOCHS_MOST = 1000000 };

/* ---- small questions ---- */

shoal_status run_set_length(struct run *r, uint64_t units)
{
    uint64_t epochs = r->units > 0 ? (units + r->units - 1) / r->units : 0;

    r->epochs = r->opts->epochs;
    r->last_units = r->units;
    if (r->opts->steps == 0 || r->units == 0)
        return SHOAL_OK;
    if (epochs > EPOCHS_MOST)
        return shoal_fail(SHOAL_EINVAL, "train: --steps %llu are %llu times through the data, want "
                          "%d at most", (unsigned long long)r->opts->steps,
                          (unsigned long long)epochs, EPOCHS_MOST);
    r->epochs = (unsigned)epochs;
    r->last_units = units - (r->epochs - 1) * r->units;
    return SHOAL_OK;
}

uint64_t run_epoch_units(const struct run *r)
{
    return r->at.epoch + 1 < r->epochs ? r->units : r->last_units;
}

/* In epochs. */
static double length_of(const struct run *r)
{
    return r->epochs - 1 + (double)r->last_units / (double)r->units;
}

uint64_t run_units(const struct run *r)
{
    if (r->at.epoch >= r->epochs) /* and the last one may be short */
        return (r->epochs - 1) * r->units + r->last_units;
    return r->at.epoch * r->units + r->at.place;
}

double run_progress(const struct run *r)
{
    if (r->at.epoch >= r->epochs)
        return 1;
    return (r->at.epoch + (double)r->at.place / (double)r->units) / length_of(r);
}

float run_lr(const struct run *r, uint64_t place)
{
    double units = (double)r->units, done = r->at.epoch + (double)place / units;
    double rise = r->opts->warmup > 0 ? fmin(1, (done + 1 / units) / r->opts->warmup) : 1;

    return schedule_at(r->schedule, r->lr * rise, r->opts->min_lr, r->opts->decay, done,
                       length_of(r));
}

/* By all ranks that are at this place, as if every unit were whole. */
static uint64_t passed(const struct run *r)
{
    return (uint64_t)((double)run_units(r) * r->unit_examples);
}

static bool epoch_over(const struct run *r)
{
    return r->at.place == run_epoch_units(r);
}

/* All ranks know without asking: it depends on the place alone. */
static bool evaluation_due(const struct run *r)
{
    uint64_t every = r->opts->eval_every;

    return every > 0 && passed(r) - r->at.evaluated >= every && !epoch_over(r);
}

static bool checkpoint_due(const struct run *r)
{
    const struct train_opts *o = r->opts;
    uint64_t units = run_units(r) - r->saved_units;

    if (!r->checkpoints)
        return false;
    switch (o->every.unit) {
    case SHOAL_EVERY_SECONDS:
        return clock_now() - r->saved >= o->every.value;
    case SHOAL_EVERY_SHARE:
        return (double)units >= o->every.value * (double)r->units * length_of(r);
    case SHOAL_EVERY_EPOCH:
        return (r->at.place == 0 || epoch_over(r)) && units > 0;
    }
    return false;
}

/* ---- counting ---- */

/* The position is what was when all met, and what was done since. */
static void count_up(struct run *r, const struct sums *since)
{
    r->at.examples = r->met.examples + since->examples;
    r->at.sums = r->met.sums;
    sums_add(&r->at.sums, since);
}

void run_count(struct run *r, const struct sums *s)
{
    struct sums since;

    sums_add(&r->since, s);
    sums_add(&r->interval, s);
    sums_add(&r->done, s);
    since = r->since;
    if (r->with) {
        struct sums others = rendezvous_others(r->with);

        sums_add(&since, &others);
    }
    count_up(r, &since);
}

/* ---- what is due between slices ---- */

struct aside {
    struct run *r;
    shoal_status (*fn)(struct run *r);
};

static shoal_status run_fn(void *ctx)
{
    struct aside *a = ctx;

    return a->fn(a->r);
}

shoal_status run_background(struct run *r, shoal_status (*fn)(struct run *r))
{
    struct background work = {0};
    struct aside a = {r, fn};

    if (!r->with)
        return fn(r);
    background_begin(&work, run_fn, &a);
    return background_end(&work, r->comm);
}

/* Who finds that a run with others has diverged goes on until all meet, so that they leave it
 * together and may begin again (train.c). */
static shoal_status check_loss(struct run *r)
{
    shoal_status st = r->diverged ? SHOAL_OK : run_check_loss(r);

    if (st != SHOAL_EDIVERGE || !r->with)
        return st;
    r->diverged = true;
    snprintf(r->divergence, sizeof r->divergence, "%s", shoal_error());
    return SHOAL_OK;
}

static shoal_status report_interval(struct run *r)
{
    double now = clock_now(), took = now - r->reported;
    bool due = took >= REPORT_SECONDS || r->opts->report_steps > 0 || epoch_over(r);
    struct shoal_figures f = {.n = 0};
    shoal_status st = check_loss(r);

    if (st == SHOAL_OK && r->with)
        st = rendezvous_report(r->with, &r->since);
    if (st != SHOAL_OK || !due)
        return st;
    run_figures(r, &r->interval, SHOAL_OF_TRAINING, &f);
    st = run_report(r, SHOAL_EVENT_INTERVAL, &f,
                    (double)(r->at.examples - r->reported_examples) / took);
    r->reported = now;
    r->reported_examples = r->at.examples;
    r->interval = (struct sums){0};
    return st;
}

static shoal_status save(struct run *r)
{
    struct shoal_figures f = {.n = 0};
    shoal_status st;

    r->at.progress = run_progress(r);
    st = checkpoints_write(r->checkpoints, &r->at, &r->last);
    r->saved = clock_now();
    r->saved_units = run_units(r);
    run_figures(r, &r->interval, SHOAL_OF_TRAINING, &f);
    return st == SHOAL_OK ? run_report(r, SHOAL_EVENT_CHECKPOINT, &f, NAN) : st;
}

/* Early stopping: whether the validation loss has not improved for long enough. */
static void judge(struct run *r)
{
    struct position *at = &r->at;
    double loss = shoal_figure(&r->held, SHOAL_OF_VALIDATION, "loss");

    if (isnan(loss))
        return;
    r->better = at->evaluations == 0 || loss < at->held_best;
    if (r->better) {
        at->held_best = loss;
        at->no_better = 0;
    } else {
        at->no_better++;
    }
    at->evaluations++;
    r->enough = r->opts->early_stop > 0 && at->no_better >= r->opts->early_stop;
}

static shoal_status evaluate(struct run *r)
{
    shoal_status st;

    r->held.n = 0;
    r->better = false;
    st = r->engine->evaluate(r);
    if (st == SHOAL_OK && r->leads)
        judge(r);
    if (st == SHOAL_OK && r->comm && r->nbest > 0)
        st = comm_broadcast(r->comm, 0, &r->better, sizeof r->better);
    if (st == SHOAL_OK && r->better)
        run_keep_best(r);
    r->at.evaluated = passed(r);
    r->reported = clock_now(); /* the next interval's rate is of training */
    r->reported_examples = r->at.examples;
    return st;
}

static void add_held(const struct run *r, struct shoal_figures *f)
{
    for (size_t i = 0; i < r->held.n && f->n < SHOAL_FIGURES; i++)
        f->at[f->n++] = r->held.at[i];
}

/* Those of training, before which the others stand. */
static size_t count_training(const struct shoal_figures *f)
{
    size_t n = 0;

    while (n < f->n && f->at[n].of == SHOAL_OF_TRAINING)
        n++;
    return n;
}

static shoal_status evaluate_within(struct run *r)
{
    struct shoal_figures f = {.n = 0};
    shoal_status st = evaluate(r);

    run_figures(r, &r->at.sums, SHOAL_OF_TRAINING, &f);
    add_held(r, &f);
    return st == SHOAL_OK ? run_report(r, SHOAL_EVENT_EVALUATION, &f, NAN) : st;
}

static shoal_status end_epoch(struct run *r)
{
    double seconds = r->at.seconds - r->epoch_seconds;
    double rate = (double)(r->at.examples - r->epoch_examples) / seconds;
    shoal_status st;

    r->last.n = 0;
    run_figures(r, &r->at.sums, SHOAL_OF_TRAINING, &r->last);
    st = evaluate(r);
    add_held(r, &r->last);
    r->epoch_examples = r->at.examples;
    r->epoch_seconds = r->at.seconds;
    r->at.epoch++;
    r->at.place = 0;
    r->at.sums = (struct sums){0};
    r->met = r->at;
    r->since = (struct sums){0};
    return st == SHOAL_OK ? run_report(r, SHOAL_EVENT_EPOCH, &r->last, rate) : st;
}

static shoal_status publish_now(struct run *r)
{
    shoal_model *model = NULL;
    shoal_status st = r->task->result(r, false, &model);

    if (st == SHOAL_OK)
        st = shoal_model_save(model, r->opts->publish, &r->opts->save);
    shoal_model_close(model);
    return st;
}

/* Writes the model as it is to --publish, by rank 0, when it is time or all is done. */
static shoal_status publish(struct run *r, bool done)
{
    shoal_status st;

    if (!r->leads || !r->opts->publish ||
        (!done && clock_now() - r->published < r->opts->publish_every))
        return SHOAL_OK;
    st = run_background(r, publish_now);
    r->published = r->reported = clock_now(); /* the next interval's rate is of training */
    return st;
}

/* ---- several ranks ---- */

/* Rank 0 asks all to meet, for a checkpoint or because the run is to stop. */
static shoal_status call_all(struct run *r, shoal_status st)
{
    bool due = r->opts->every.unit != SHOAL_EVERY_EPOCH && checkpoint_due(r);

    if (st == SHOAL_ESTOP && r->leads) {
        r->stopping = true;
        st = SHOAL_OK;
    }
    if (st == SHOAL_OK && r->leads && !epoch_over(r) && (r->stopping || r->diverged || due))
        st = rendezvous_call(r->with);
    return st;
}

/* Whether a meeting gathers what is trained: somebody evaluates, saves or keeps it, or some rows
 * have not travelled for long. Otherwise the end of an epoch only adds up what all did. */
static bool needs_all(const struct run *r)
{
    bool last = r->at.epoch + 1 == r->epochs;
    bool swept = !r->engine->swept || r->engine->swept(r);

    return !epoch_over(r) || last || r->stopping || r->gathers || r->due || !swept;
}

/* Whether nobody goes on after this meeting; the best there was is kept by all. */
static bool is_end(const struct run *r)
{
    return epoch_over(r) && r->at.epoch + 1 == r->epochs && r->opts->early_stop == 0;
}

/* All ranks are at one place: the position is the same, and what is trained, if it was
 * gathered. */
static shoal_status meet(struct run *r)
{
    struct sums all = r->since;
    uint64_t place = r->at.place;
    double began = clock_now(), seconds;
    bool gathers[2]; /* whether, and for the last time */
    shoal_status st;

    r->due = r->leads && checkpoint_due(r);
    gathers[0] = needs_all(r);
    gathers[1] = is_end(r);
    st = comm_broadcast(r->comm, 0, gathers, sizeof gathers);
    if (st == SHOAL_OK && gathers[0])
        st = r->engine->gather(r, gathers[1]);
    r->apart = !gathers[0];
    if (st == SHOAL_OK)
        st = rendezvous_end(r->with, &place, &all);
    r->at.place = place;
    count_up(r, &all);
    seconds = r->at.seconds + clock_now() - began;
    if (st == SHOAL_OK)
        st = comm_broadcast(r->comm, 0, &seconds, sizeof seconds);
    r->at.seconds = seconds;
    r->met = r->at;
    r->since = (struct sums){0};
    return st;
}

/* What follows a meeting is decided by rank 0 and done by all. */
static shoal_status after_meeting(struct run *r)
{
    bool decisions[2];
    shoal_status st = r->diverged ? shoal_fail(SHOAL_EDIVERGE, "%s", r->divergence) : SHOAL_OK;

    st = comm_agree(r->comm, st);
    if (st != SHOAL_OK)
        return st;
    if (epoch_over(r))
        st = end_epoch(r);
    else if (evaluation_due(r))
        st = evaluate_within(r);
    if (st == SHOAL_OK && r->stopping)
        st = shoal_fail(SHOAL_ESTOP, "train: stopped on request at %.1f %%",
                        100 * run_progress(r));
    st = comm_agree(r->comm, st);
    decisions[0] = r->due;
    decisions[1] = r->enough;
    if (st == SHOAL_OK)
        st = comm_broadcast(r->comm, 0, decisions, sizeof decisions);
    r->due = decisions[0];
    r->enough = decisions[1];
    return st == SHOAL_OK && r->due ? comm_agree(r->comm, save(r)) : st;
}

static bool at_place(struct run *r)
{
    uint64_t place = UINT64_MAX;

    return rendezvous_place(r->with, &place) == SHOAL_OK && r->at.place >= place;
}

/* ---- slices ---- */

static uint64_t units_before_evaluation(const struct run *r)
{
    uint64_t next = r->at.evaluated + r->opts->eval_every;
    double left = next > passed(r) ? (double)(next - passed(r)) : 1;

    return (uint64_t)ceil(left / r->unit_examples);
}

/* As many units as about half a second takes, in whole groups, and no further than the
 * next evaluation or the epoch. */
static uint64_t slice_end(const struct run *r, uint64_t last, double took)
{
    uint64_t n = last ? last : (uint64_t)r->threads * r->sharing;

    if (took > 0)
        n = (uint64_t)((double)n * fmin(SLICE_SECONDS / took, SLICE_GROWS)) + 1;
    if (r->opts->report_steps > 0)
        n = r->opts->report_steps;
    if (r->opts->eval_every > 0 && units_before_evaluation(r) < n)
        n = units_before_evaluation(r);
    n = (n + r->group - 1) / r->group * r->group;
    return r->at.place + n < run_epoch_units(r) ? r->at.place + n : run_epoch_units(r);
}

/* Where this slice ends: at the latest where all meet. */
static shoal_status find_stop(struct run *r, uint64_t last, double took)
{
    uint64_t place;
    shoal_status st;

    r->stop = slice_end(r, last, took);
    if (!r->with)
        return SHOAL_OK;
    rendezvous_limit(r->with, r->at.place); /* if a call comes while we wait for its place */
    st = rendezvous_place(r->with, &place);
    r->stop = r->stop < place ? r->stop : place;
    rendezvous_limit(r->with, r->stop);
    return st;
}

struct slice_size {
    uint64_t units;
    double took;
};

static shoal_status slice(struct run *r, struct slice_size *last)
{
    uint64_t from = r->at.place;
    shoal_status st = find_stop(r, last->units, last->took);

    if (st != SHOAL_OK)
        return st;
    r->slice_began = clock_now();
    if (r->startup == 0)
        r->startup = r->slice_began - r->began;
    st = r->engine->advance(r);
    *last = (struct slice_size){r->at.place - from, clock_now() - r->slice_began};
    r->slice_began = 0;
    r->at.seconds += last->took;
    r->worked += last->took;
    return st;
}

/* One slice of a run alone, and what is due after it. */
static shoal_status go_on(struct run *r, struct slice_size *last)
{
    shoal_status st = slice(r, last);

    if (st == SHOAL_OK)
        st = report_interval(r);
    if (st == SHOAL_OK)
        st = publish(r, false);
    if (st == SHOAL_OK && epoch_over(r))
        st = end_epoch(r);
    else if (st == SHOAL_OK && evaluation_due(r))
        st = evaluate_within(r);
    return st == SHOAL_OK && checkpoint_due(r) ? save(r) : st;
}

/* The same with others. A server has no slices: it keeps values while it waits for the
 * others to meet. */
static shoal_status go_on_with_others(struct run *r, struct slice_size *last)
{
    shoal_status st = SHOAL_OK;

    if (r->works) {
        st = slice(r, last);
        if (st == SHOAL_OK)
            st = call_all(r, report_interval(r));
        if (st == SHOAL_OK)
            st = publish(r, false);
    }
    if (st == SHOAL_OK && r->works && !epoch_over(r) && !evaluation_due(r) && !at_place(r))
        return SHOAL_OK;
    if (st == SHOAL_OK)
        st = meet(r);
    run_timeline_mark(r);
    if (st == SHOAL_OK)
        st = after_meeting(r);
    run_timeline_mark(r);
    return st;
}

static shoal_status loop(struct run *r)
{
    struct slice_size last = {0};
    shoal_status st = SHOAL_OK;

    r->reported = r->saved = r->published = clock_now();
    r->reported_examples = r->first_examples = r->epoch_examples = r->at.examples;
    r->first_seconds = r->epoch_seconds = r->at.seconds;
    r->saved_units = r->first_units = run_units(r);
    r->met = r->at;
    run_timeline_begin(r);
    while (st == SHOAL_OK && r->at.epoch < r->epochs && !r->enough)
        st = r->with ? go_on_with_others(r, &last) : go_on(r, &last);
    if (r->with && st != SHOAL_OK && st != SHOAL_ESTOP && st != SHOAL_EDIVERGE)
        rendezvous_fail(r->with, st);
    return st;
}

/* On request the run stops after a last checkpoint; its sentence is kept. */
static shoal_status stop_cleanly(struct run *r, shoal_status st)
{
    shoal_status saved = SHOAL_OK;

    r->at.progress = run_progress(r);
    if (r->checkpoints && r->with && st == SHOAL_ESTOP && r->apart)
        saved = r->engine->gather(r, false);
    if (r->checkpoints && saved == SHOAL_OK && st == SHOAL_ESTOP)
        saved = checkpoints_write(r->checkpoints, &r->at, &r->last);
    if (r->checkpoints && saved == SHOAL_OK && (!r->with || st == SHOAL_OK || st == SHOAL_ESTOP))
        saved = checkpoints_finish(r->checkpoints);
    return saved != SHOAL_OK ? saved : st;
}

/* ---- from plan to result ---- */

/* The best parameters there were, and how good they are. */
static shoal_status take_best(struct run *r)
{
    uint64_t position = r->at.no_better;
    bool taken;
    shoal_status st = r->comm ? comm_broadcast(r->comm, 0, &position, sizeof position) : SHOAL_OK;

    r->at.no_better = position;
    taken = st == SHOAL_OK && run_take_best(r);
    r->taken = taken;
    if (!taken)
        return st;
    r->held.n = 0;
    st = r->engine->evaluate(r);
    r->last.n = count_training(&r->last);
    add_held(r, &r->last);
    return st;
}

/* What another run found on what it held out, and this one learned from. */
static void take_known(struct run *r)
{
    const struct shoal_figures *known = r->opts->known;

    for (size_t i = 0; known && i < known->n && r->last.n < SHOAL_FIGURES; i++)
        if (known->at[i].of == SHOAL_OF_VALIDATION)
            r->last.at[r->last.n++] = known->at[i];
}

/* Is it any good? A doubt is no failure where it was asked for. */
static shoal_status judge_result(struct run *r)
{
    unsigned lenient = r->opts->lenient;
    shoal_status st = r->task->verdict(r);

    if (st == SHOAL_OK || lenient == LENIENT_NEVER ||
        (lenient == LENIENT_LAST && st == SHOAL_EDIVERGE))
        return st;
    snprintf(r->doubt, sizeof r->doubt, "%s", shoal_error());
    return SHOAL_OK;
}

static shoal_status learned_now(struct run *r)
{
    struct learned *l = mem_array(1, sizeof *l);
    shoal_status st = l ? r->task->learned(r, l) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = l->status;
    if (st == SHOAL_OK && l->n > 0)
        st = metrics_learned(r->metrics, l);
    if (l)
        learned_fini(l);
    free(l);
    return st;
}

/* What was learned, into the metrics; without these nobody pays for it. */
static shoal_status show_learned(struct run *r)
{
    bool shows = r->leads && r->metrics && r->task->learned;

    return shoal_ranks_agree(r->opts->ranks, shows ? run_background(r, learned_now) : SHOAL_OK);
}

static shoal_status finish(struct run *r, shoal_model **out)
{
    double rate = (double)(r->at.examples - r->first_examples) / (r->at.seconds - r->first_seconds);
    shoal_status st = take_best(r);

    take_known(r);
    if (st == SHOAL_OK && r->task->verdict)
        st = shoal_ranks_agree(r->opts->ranks, r->leads ? judge_result(r) : SHOAL_OK);
    if (st == SHOAL_OK)
        st = publish(r, true);
    if (st == SHOAL_OK)
        st = run_account(r);
    if (st == SHOAL_OK && r->engine->collect)
        st = r->engine->collect(r);
    if (st == SHOAL_OK)
        st = show_learned(r);
    if (st == SHOAL_OK)
        st = run_report(r, SHOAL_EVENT_DONE, &r->last, rate);
    if (st == SHOAL_OK) /* or rank 0 alone would begin again */
        st = shoal_ranks_agree(r->opts->ranks,
                               r->leads && out ? r->task->result(r, true, out) : SHOAL_OK);
    return st;
}

static const struct engine *engine_of(const struct task *task)
{
    return task->rows ? &rows_engine : &dense_engine;
}

/* The options with all that was left to the task. */
static struct train_opts settled(const struct task *task, const struct train_opts *opts,
                                 const struct shoal_sources *data)
{
    struct train_opts out = *opts;

    if (task->settle)
        task->settle(&out, data);
    return out;
}

shoal_status run_task(const struct task *task, const struct train_opts *opts,
                      const struct shoal_sources *data, shoal_model **out,
                      struct shoal_train_stats *stats)
{
    struct train_opts all = settled(task, opts, data);
    struct run r = {.task = task, .engine = engine_of(task), .opts = &all, .data = data,
                    .chosen = opts->epochs == 0 && opts->steps == 0};
    shoal_status st = run_begin(&r);

    if (out)
        *out = NULL;
    if (st == SHOAL_OK)
        st = stop_cleanly(&r, loop(&r));
    if (st == SHOAL_OK)
        st = finish(&r, out);
    if (st != SHOAL_OK && r.metrics)
        metrics_ended(r.metrics, st, run_progress(&r), r.at.seconds);
    if (st != SHOAL_OK && r.mlflow)
        mlflow_ended(r.mlflow, st);
    if (stats)
        run_stats(&r, stats);
    run_end(&r);
    return st;
}

shoal_status run_plan(const struct task *task, const struct train_opts *opts,
                      const struct shoal_sources *data, struct shoal_train_plan *plan)
{
    struct train_opts all = settled(task, opts, data);
    struct run r = {.task = task, .engine = engine_of(task), .opts = &all, .data = data,
                    .chosen = opts->epochs == 0 && opts->steps == 0};
    shoal_status st = run_make_plan(&r);

    *plan = r.planned;
    r.engine->close(&r);
    task->close(&r);
    return st;
}
