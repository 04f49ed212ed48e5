/* What the user sees of training: the plan before, how far it is, the result. */
#include "train.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct number number_loss(double loss)
{
    struct number out;

    snprintf(out.text, sizeof out.text, isfinite(loss) ? "%.4f" : "unknown", loss);
    return out;
}

static const char *unit(const struct job *job)
{
    return job_clicks(job) ? "rows" : "words";
}

/* ---- Before ------------------------------------------------------------------------ */

void view_plan(struct job *job, const struct shoal_train_plan *plan)
{
    struct console *c = &job->console;
    bool clicks = job_clicks(job);

    console_heading(c, "plan");
    console_row(c, unit(job), number_count(plan->words).text, "%s %s, in %u epoch%s",
                number_count(plan->vocab).text, clicks ? "features" : "different",
                job->train.epochs, job->train.epochs == 1 ? "" : "s");
    if (clicks)
        console_row(c, "model", number_size(plan->model_bytes).text,
                    "a weight of each feature%s", job->train.logreg.optimizer == SHOAL_SGD
                                                      ? "" : ", and its optimizer's state");
    else
        console_row(c, "model", number_size(plan->model_bytes).text, "%u dimensions of each word",
                    job->train.dim);
    if (plan->blocks)
        console_row(c, "kept", number_size(plan->rank_bytes).text,
                    "of it on each rank, the rest comes in blocks");
    console_row(c, "work", number_size(plan->work_bytes).text,
                clicks ? "private copies, buffers" : "private copies, samplers, buffers");
    console_row(c, "held", number_size(plan->held_bytes).text,
                clicks ? "program, mapped clicks" : "program, vocabulary, mapped corpus");
    if (plan->checkpoint_bytes > 0)
        console_row(c, "checkpoint", number_size(plan->checkpoint_bytes).text,
                    "the copy that is being written");
    console_row(c, "memory", number_size(plan->memory_bytes).text, "of %s free",
                number_size(plan->memory_free).text);
    if (plan->blocks && plan->replica_bytes > plan->memory_bytes)
        console_row(c, "saved", number_size(plan->replica_bytes - plan->memory_bytes).text,
                    "of the %s that a whole replica takes",
                    number_size(plan->replica_bytes).text);
}

/* ---- While it runs -------------------------------------------------------------------- */

static void draw(struct job *job, const struct shoal_report *r)
{
    char text[160];
    int len =
        snprintf(text, sizeof text, "%4.1f%%  epoch %u/%u  %s  loss %s  lr %.3g", 100 * r->progress,
                 r->epoch, r->epochs, number_rate(r->words_per_second, unit(job)).text,
                 number_loss(r->loss).text, r->lr);

    if (isfinite(r->eta) && len > 0 && (size_t)len < sizeof text)
        snprintf(text + len, sizeof text - (size_t)len, "  %s left", number_clock(r->eta).text);
    console_progress(&job->console, "train", text);
}

static struct number number_score(const struct shoal_score *s, enum shoal_suite kind)
{
    if (kind == SHOAL_PAIRS)
        return number_loss(s->spearman);
    return s->seen > 0 ? number_percent((double)s->right, (double)s->seen) : number_loss(NAN);
}

/* "  questions-words 45.2%  ws353 0.6120" */
static void scores_text(char *text, size_t size, const struct job *job,
                        const struct shoal_report *r)
{
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < r->nscores && len < size; i++)
        len += (size_t)snprintf(
            text + len, size - len, "  %s %s", r->scores[i].name,
            number_score(&r->scores[i], shoal_eval_kind(job->train.evals[i])).text);
}

static void held_text(char *text, size_t size, const struct shoal_binary_score *s)
{
    snprintf(text, size, "  auc %s  accuracy %s  calibration %s", number_loss(s->auc).text,
             number_percent(s->accuracy, 1).text, number_loss(s->calibration).text);
}

/* What is held out, within an epoch. */
static void log_look(struct job *job, const struct shoal_report *r)
{
    char scores[128];

    held_text(scores, sizeof scores, r->held);
    console_log(&job->console, STYLE_PLAIN, "%s rows  loss %s  valid %s%s",
                number_count(r->words).text, number_loss(r->loss).text,
                number_loss(r->valid_loss).text, scores);
}

static void log_epoch(struct job *job, const struct shoal_report *r)
{
    bool valid = isfinite(r->valid_loss), fast = r->words_per_second > 0;
    char scores[JOB_EVALS * 100];

    scores_text(scores, sizeof scores, job, r);
    if (r->held)
        held_text(scores, sizeof scores, r->held);
    console_log(&job->console, STYLE_PLAIN, "epoch %u/%u  loss %s%s%s%s%s%s", r->epoch, r->epochs,
                number_loss(r->loss).text, valid ? "  valid " : "",
                valid ? number_loss(r->valid_loss).text : "", scores, fast ? "  " : "",
                fast ? number_rate(r->words_per_second, unit(job)).text : "");
}

bool view_report(void *user, const struct shoal_report *report)
{
    struct job *job = user;

    job->last = *report;
    switch (report->event) {
    case SHOAL_EVENT_INTERVAL:
        draw(job, report);
        break;
    case SHOAL_EVENT_EPOCH:
        log_epoch(job, report);
        break;
    case SHOAL_EVENT_LOOK:
        if (report->held)
            log_look(job, report);
        break;
    case SHOAL_EVENT_CHECKPOINT:
        console_log(&job->console, STYLE_DIM, "checkpoint at %s",
                    number_percent(report->progress, 1).text);
        break;
    case SHOAL_EVENT_DONE:
        return true; /* too late to stop */
    }
    return !signal_came();
}

/* ---- After ------------------------------------------------------------------------------- */

static void row_file(struct job *job)
{
    struct stat file;
    enum shoal_format format = SHOAL_FORMAT_SHOAL;

    if (!job_clicks(job) && shoal_save_check(job->output, &job->save, &format) != SHOAL_OK)
        return;
    if (strcmp(job->output, "-") == 0 || stat(job->output, &file) != 0)
        return;
    console_row(&job->console, "file", number_size((uint64_t)file.st_size).text, "%s, %s",
                job->output, format_choices[format].name);
}

static struct number number_plain(const char *fmt, double x) __attribute__((format(printf, 1, 0)));

static struct number number_plain(const char *fmt, double x)
{
    struct number out;

    snprintf(out.text, sizeof out.text, fmt, x);
    return out;
}

/* "; behind by 1: 20.2%, 3-4: 5.1%": of rows that others had pushed 3 or 4 times
 * meanwhile; what would be 0.0% is left out. */
static void stale_text(char text[OPT_TEXT], const struct shoal_rank_stats *r, uint64_t all)
{
    size_t len = 0;

    text[0] = '\0';
    for (unsigned i = 1; i < SHOAL_STALE_BINS && len < OPT_TEXT; i++) {
        unsigned long last = i == 1 ? 1 : 1ul << (i - 1), first = i < 3 ? last : last / 2 + 1;
        char bin[48];

        if ((double)r->stale[i] < 0.0005 * (double)all)
            continue;
        snprintf(bin, sizeof bin, first == last ? "%lu" : "%lu-%lu", first, last);
        len += (size_t)snprintf(text + len, OPT_TEXT - len, "%s %s: %s", len ? "," : "; behind by",
                                bin, number_percent((double)r->stale[i], (double)all).text);
    }
}

static void view_stale(struct console *c, const struct shoal_rank_stats *r)
{
    uint64_t all = 0;
    char text[OPT_TEXT];

    for (unsigned i = 0; i < SHOAL_STALE_BINS; i++)
        all += r->stale[i];
    if (all == 0)
        return;
    stale_text(text, r, all);
    console_row(c, "fresh", number_percent((double)r->stale[0], (double)all).text,
                "of rows when they were pushed%s", text);
}

/* What it cost to train with others. */
static void view_ranks(struct console *c, const struct shoal_rank_stats *r, uint64_t words,
                       const char *one)
{
    double each = words > 0 ? (double)words : 1;

    console_row(c, "ranks", number_count(r->ranks).text,
                r->servers ? "%u of them only keep rows" : "all keep rows and train", r->servers);
    console_row(c, "traffic", number_plain("%.1f B", (double)r->bytes_out / each).text,
                "sent and %.1f B received a %s; naively %.0f B", (double)r->bytes_in / each, one,
                (double)r->naive_bytes / each);
    console_row(c, "waited", number_percent(r->waited, r->waited + r->computed).text,
                "of the time of all ranks");
    console_row(c, "busiest", number_plain("%.2f", r->load_most).text,
                "times the even share of rows");
    view_stale(c, r);
}

void view_held(struct console *c, const struct shoal_binary_score *s)
{
    console_row(c, "auc", number_loss(s->auc).text, "on %s rows, %s of them of class 1",
                number_count(s->examples).text, number_percent(s->base_rate, 1).text);
    console_row(c, "accuracy", number_percent(s->accuracy, 1).text, "%s by the commoner class alone",
                number_percent(fmax(s->base_rate, 1 - s->base_rate), 1).text);
    console_row(c, "calibrated", number_loss(s->calibration).text,
                "promised for each that came true");
}

void view_result(struct job *job, const struct shoal_train_plan *plan,
                 const struct shoal_train_stats *stats)
{
    struct console *c = &job->console;
    double rate = stats->seconds > 0 ? (double)stats->words / stats->seconds : 0;

    console_heading(c, "result");
    console_row(c, "trained", number_count(stats->words).text, "%s%s%s", unit(job),
                stats->resumed ? " since the checkpoint" : "",
                stats->enough ? "; more would not help what is held out" : "");
    console_row(c, "loss", number_loss(stats->loss).text,
                job_clicks(job) ? "in the last epoch, of each row before it was learned"
                                : "in the last epoch");
    if (isfinite(stats->valid_loss))
        console_row(c, "valid loss", number_loss(stats->valid_loss).text, "on what was held out");
    if (stats->held.examples > 0)
        view_held(c, &stats->held);
    console_row(c, "took", number_seconds(stats->seconds).text, "%s; %s to the first update",
                number_rate(rate, unit(job)).text, number_seconds(stats->startup).text);
    console_row(c, "peak", number_size(stats->memory).text, "of memory, the plan said %s",
                number_size(plan->memory_bytes).text);
    console_row(c, "kernel", stats->kernel, NULL);
    if (stats->ranks.ranks > 1)
        view_ranks(c, &stats->ranks, stats->words, job_clicks(job) ? "row" : "word");
    if (stats->checkpoints > 0)
        console_row(c, "checkpoint", number_count(stats->checkpoints).text,
                    "written, the last two kept in %s", job->train.checkpoint);
    row_file(job);
    if (job->profile)
        view_profile(c, &stats->profile);
}

/* ---- When it does not end well -------------------------------------------------------------- */

/* The word as a shell reads it, for free(). */
char *shell_word(const char *word)
{
    char *out = console_alloc(4 * strlen(word) + 3), *to = out;
    bool plain = *word != '\0';

    for (const char *at = word; *at; at++)
        plain = plain && (isalnum((unsigned char)*at) || strchr("_./=,-+:@", *at));
    if (plain)
        return strcpy(out, word);
    *to++ = '\'';
    for (const char *at = word; *at; at++) {
        if (*at == '\'')
            to = stpcpy(to, "'\\'");
        *to++ = *at;
    }
    strcpy(to, "'");
    return out;
}

/* How to go on: " --format text --ranks 4" */
static void options_again(char text[OPT_TEXT], const struct job *job)
{
    enum shoal_format format = job->save.format;
    unsigned ranks = shoal_ranks_size(job->ranks);
    int len = 0;

    text[0] = '\0';
    if (format != SHOAL_FORMAT_AUTO)
        len = snprintf(text, OPT_TEXT, " --format %s", format_choices[format].name);
    if (ranks > 1)
        len += snprintf(text + len, OPT_TEXT - (size_t)len, " --ranks %u", ranks);
    if (job_writes_elsewhere(job))
        snprintf(text + len, OPT_TEXT - (size_t)len, " --trust");
}

static void say_stopped(const struct job *job)
{
    double percent = 100 * job->last.progress;
    char options[OPT_TEXT], *folder;

    if (!job->train.checkpoint) {
        console_fail("stopped at %.1f %%; nothing was kept, for no --checkpoint folder was named",
                     percent);
        return;
    }
    folder = shell_word(job->train.checkpoint);
    options_again(options, job);
    console_fail("stopped at %.1f %%; go on with: shoal train --resume %s%s", percent, folder,
                 options);
    free(folder);
}

/* The signal may have come to another rank. */
int view_stopped(struct job *job)
{
    int number = signal_came() ? signal_came() : SIGTERM;

    console_finish(&job->console, SHOAL_OK);
    if (job->training)
        say_stopped(job);
    else
        console_fail("stopped by a signal (%s)", strsignal(number));
    return EXIT_SIGNAL + number;
}

int view_failed(struct job *job, shoal_status status)
{
    struct shoal_resume last;
    int code = console_finish(&job->console, status);

    if (!job->train.checkpoint || job->last.epochs == 0)
        return code;
    if (shoal_resume_read(&last, job->train.checkpoint) == SHOAL_OK)
        console_fail("the last good checkpoint is %s, at %.1f %%", last.path, 100 * last.progress);
    shoal_resume_free(&last);
    return code;
}
