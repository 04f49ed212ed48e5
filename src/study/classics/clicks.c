/* Sparse logistic regression on click rows: who waits for whom, and how large a batch. */
#include "study/classic.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    WORKERS = 2,
    LOOKS = 24,      /* at what is held out, in a run */
    ROW_BYTES = 240, /* of Criteo's, about */
    EPOCHS_MOST = 40,
};

static const char *const policies[] = {"async", "sync"};
static const unsigned batches[] = {1, 100, 1000, 10000};
enum {
    POLICIES = sizeof policies / sizeof *policies,
    BATCHES = sizeof batches / sizeof *batches,
    TYPICAL = 100, /* the batch whose runs are told in detail */
};

/* That are generated; of a file about so many are guessed by its size, whatever its format. */
static unsigned rows_of(const shoal_classic *c)
{
    unsigned generated = c->quick ? 20000 : 400000;
    struct stat st;

    if (!c->data || stat(c->data, &st) != 0)
        return generated;
    return (unsigned)fmin(fmax(1, (double)st.st_size / ROW_BYTES), UINT_MAX);
}

/* A small file is learned from more often, or it would be over before anything converges. */
static unsigned epochs_of(const shoal_classic *c)
{
    double wanted = c->quick ? 20000 : 1600000, least = c->quick ? 1 : 2;

    return (unsigned)fmin(fmax(least, round(wanted / rows_of(c))), EPOCHS_MOST);
}

/* `group` is the policy, the key its batch. */
static void plan_run(shoal_classic *c, const char *policy, unsigned batch)
{
    step_add(c, policy, batch, "%s, batch %u", policy, batch);
    step_train(c, "logreg", WORKERS, 0,
               batch == TYPICAL && policy == policies[0] ? "clicks-model.shoal" : NULL);
    step_path(c, "clicks.shoal");
    step_words(c, "--sync %s --batch %u --epochs %u --valid-share 10%% --eval-every %.0f", policy,
               batch, epochs_of(c), fmax(1, floor((double)rows_of(c) * epochs_of(c) / LOOKS)));
}

static void plan(shoal_classic *c)
{
    if (!c->data) {
        step_add(c, "rows", 0, "rows")->prepares = true;
        step_words(c, "gen clicks --quiet --rows %u --output", rows_of(c));
        step_path(c, "clicks.tsv");
    }
    step_add(c, "encode", 0, "encoding")->prepares = true;
    step_words(c, "encode --as clicks --quiet --output");
    step_path(c, "clicks.shoal");
    step_path(c, c->data ? NULL : "clicks.tsv");
    for (unsigned repeat = 0; repeat < (c->quick ? 1U : 2U); repeat++)
        for (size_t i = 0; i < BATCHES; i++)
            for (size_t k = 0; k < POLICIES; k++)
                plan_run(c, policies[k], batches[i]);
}

/* ---- what is told ---- */

static double accuracy_of(const struct step *s)
{
    return step_last(s, "done", "valid.accuracy");
}

static bool too_short(const struct step *s)
{
    struct shoal_measures m = step_measures(s);

    return m.seconds < 1 || strcmp(m.limit, "short") == 0;
}

/* Steps of the optimizer: batches that were taken. */
static double iterations_of(const struct step *s)
{
    struct shoal_measures m = step_measures(s);

    return s ? m.units / s->key : (double)NAN;
}

static void tell_settings(struct book *b, const shoal_classic *c)
{
    struct sheet *s =
        book_sheet(b, "settings", "Time, and what it converged to, on %d workers", WORKERS);

    sheet_column(s, "setting", AS_WORD);
    sheet_column(s, "time", AS_TIME);
    sheet_column(s, "accuracy converged to", AS_POINTS);
    sheet_column(s, "AUC", AS_POINTS);
    sheet_column(s, "held-out log-loss", AS_PLAIN);
    sheet_column(s, "rows/s", AS_SHORT);
    for (size_t i = 0; i < BATCHES; i++)
        for (size_t k = 0; k < POLICIES; k++) {
            const struct step *run = step_with(c, policies[k], batches[i], 0);

            if (!run)
                continue;
            sheet_row(s);
            sheet_word(s, "%s, batch %u", policies[k], batches[i]);
            sheet_number(s, step_measures(run).seconds);
            sheet_number(s, accuracy_of(run));
            sheet_number(s, step_last(run, "done", "valid.auc"));
            sheet_number(s, step_last(run, "done", "valid.loss"));
            sheet_number(s, step_measures(run).rate);
        }
    sheet_note(s,
               "Always answering no would have an accuracy of %.4f. All settings learn for the "
               "same epochs (%u), of which large batches make few steps: one that is no better "
               "than always no has not converged yet. The original did about 315 rows a second, "
               "whatever the setting.",
               1 - step_last(step_of(c, policies[0], 0), "done", "valid.base_rate"), epochs_of(c));
}

static void tell_resources(struct book *b, const shoal_classic *c)
{
    static const struct {
        const char *head, *path;
    } uses[] = {{"network read", "all.bytes_in"},
                {"network write", "all.bytes_out"},
                {"disk read", "all.disk_read"},
                {"disk write", "all.disk_written"}};
    enum { USES = sizeof uses / sizeof *uses };
    struct sheet *s = book_sheet(b, "resources", "What each setting used, and per iteration");

    sheet_column(s, "setting", AS_WORD);
    sheet_column(s, "CPU", AS_SHARE);
    for (size_t u = 0; u < USES; u++)
        sheet_column(s, uses[u].head, AS_BYTES);
    sheet_column(s, "iterations", AS_SHORT);
    for (size_t u = 0; u < USES; u++) {
        char head[40];

        snprintf(head, sizeof head, "%s each", uses[u].head);
        sheet_column(s, head, AS_BYTES);
    }
    sheet_column(s, "limit", AS_WORD);
    for (size_t i = 0; i < BATCHES; i++)
        for (size_t k = 0; k < POLICIES; k++) {
            const struct step *run = step_with(c, policies[k], batches[i], 0);

            if (!run)
                continue;
            sheet_row(s);
            sheet_word(s, "%s, batch %u", policies[k], batches[i]);
            sheet_number(s, step_last(run, "profile", "all.cpu"));
            for (size_t u = 0; u < USES; u++)
                sheet_number(s, step_last(run, "profile", uses[u].path));
            sheet_number(s, iterations_of(run));
            for (size_t u = 0; u < USES; u++)
                sheet_number(s, step_last(run, "profile", uses[u].path) / iterations_of(run));
            sheet_word(s, "%s", too_short(run) ? "too short" : step_measures(run).limit);
        }
    for (size_t k = 0; k < POLICIES; k++)
        sheet_note(s, "Batch %d: %s.", TYPICAL,
                   step_measures(step_with(c, policies[k], TYPICAL, 0)).verdict);
    sheet_note(s, "Sums of both workers. Network: what they sent to each other, in memory on one "
                  "machine; disk: what really came from or went to it, not what memory still had.");
}

static void tell_batches(struct book *b, const shoal_classic *c)
{
    struct sheet *s = book_sheet(b, "batches", "Runtime by batch");

    sheet_column(s, "batch", AS_COUNT);
    sheet_column(s, "sync", AS_TIME);
    sheet_column(s, "async", AS_TIME);
    sheet_column(s, "async, times as fast", AS_PLAIN);
    for (size_t i = 0; i < BATCHES; i++) {
        double sync = step_measures(step_with(c, "sync", batches[i], 0)).seconds;
        double async = step_measures(step_with(c, "async", batches[i], 0)).seconds;

        sheet_row(s);
        sheet_number(s, batches[i]);
        sheet_number(s, sync);
        sheet_number(s, async);
        sheet_number(s, sync / async);
    }
}

/* Error: the share of rows whose likelier answer is wrong. */
static void draw_error(struct book *b, const shoal_classic *c)
{
    book_chart(b, "error-steps", "Test error against steps", "steps", BY_COUNT, "test error",
               BY_PLAIN);
    for (size_t k = 0; k < POLICIES; k++) {
        const struct step *run = step_with(c, policies[k], TYPICAL, 0);
        size_t n = run ? lines_count(run->lines, NULL) : 0;

        if (!run)
            continue;
        book_line(b, "%s, batch %d", policies[k], TYPICAL);
        for (size_t i = 0; i < n; i++)
            book_point(b, lines_number(run->lines, NULL, i, "examples") / TYPICAL,
                       1 - lines_number(run->lines, NULL, i, "valid.accuracy"));
    }
}

static void draw_batches(struct book *b, const shoal_classic *c)
{
    book_chart(b, "runtime-batch", "Runtime against batch", "batch", BY_LOG, "seconds", BY_LOG);
    for (size_t k = 0; k < POLICIES; k++) {
        book_line(b, "%s", policies[k]);
        for (size_t i = 0; i < BATCHES; i++)
            book_point(b, batches[i],
                       step_measures(step_with(c, policies[k], batches[i], 0)).seconds);
    }
}

/* What makes the times of both runs doubtful; "": nothing. */
static const char *doubt(const struct step *async, const struct step *sync)
{
    if (strcmp(step_measures(async).limit, "cores") == 0 ||
        strcmp(step_measures(sync).limit, "cores") == 0)
        return " The workers did not have a core each all the time: measure again on a machine "
               "that nothing else runs on.";
    return "";
}

/* Of runs that are too short no speed is told: accuracies alone. */
static void compare_short(struct book *b, const struct step *async, const struct step *sync)
{
    book_note(b,
              "Runs below a second are too short to judge speed by: take more rows. With batches "
              "of %d async came to an accuracy of %.4f, and sync to %.4f, for the same epochs.",
              TYPICAL, accuracy_of(async), accuracy_of(sync));
}

/* The one sentence of the experiment, and the figures that it is made of. */
static void compare(struct book *b, const struct step *async, const struct step *sync)
{
    double a = step_measures(async).seconds, s = step_measures(sync).seconds;
    double points = 100 * (accuracy_of(async) - accuracy_of(sync));

    if (too_short(async) || too_short(sync)) {
        compare_short(b, async, sync);
        return;
    }
    book_note(b,
              "async is %.2f times as fast at %+.2f points: with batches of %d it took %.3f s to "
              "an accuracy of %.4f, and sync %.3f s to %.4f, for the same epochs.%s",
              s / a, fabs(points) < 0.005 ? 0 : points, TYPICAL, a, accuracy_of(async), s,
              accuracy_of(sync), doubt(async, sync));
}

static void tell(struct book *b, const shoal_classic *c)
{
    const struct step *async = step_with(c, "async", TYPICAL, 0),
                      *sync = step_with(c, "sync", TYPICAL, 0);

    tell_settings(b, c);
    tell_batches(b, c);
    tell_resources(b, c);
    draw_error(b, c);
    draw_batches(b, c);
    if (async && sync)
        compare(b, async, sync);
    else
        book_note(b, "A run with batches of %d failed, so async is not compared with sync.",
                  TYPICAL);
    book_note(b,
              "Accuracy is the share of held-out rows whose likelier answer (a probability of "
              "0.5 or more is a click) is right. Most rows are no clicks, so AUC tells more: how "
              "often a click has the higher probability of two rows.");
    book_note(b, "A step is one batch. Times are of training, without reading and encoding; of "
                 "repeats the quickest counts.");
}

const struct classic classic_clicks = {
    .name = "clicks",
    .summary = "sparse logistic regression on click rows, sync and async, by batch",
    .takes = "rows as Criteo's, libsvm, Vowpal Wabbit's or CSV",
    .experiment =
        "Logistic regression on rows of 13 numbers and 26 categories, as Criteo's, hashed into "
        "2^20 "
        "slots and learned by FTRL; a tenth of the rows is held out. Two workers wait for each "
        "other after each round (sync) or never (async), with batches of 1, 100, 1,000 and 10,000.",
    .change =
        "Take your own rows with `shoal classic clicks --data FILE`. For other settings copy "
        "a command from above and change its options: `shoal train logreg --help` lists them. "
        "`shoal study logreg` measures any grid of workers, policies and batches.",
    .plan = plan,
    .tell = tell,
};
