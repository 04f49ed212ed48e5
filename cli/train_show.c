/* What the user sees of training: the data and the plan before, how far it is, the result. */
#include "train.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Figures ---------------------------------------------------------------------------- */

/* What figures are called in a row of the result and in the progress line; NULL: not shown. */
static const struct seen {
    const char *name, *row, *line;
} seen[] = {
    {"mse", NULL, NULL},
    {"mae", "MAE", NULL},
    {"rmse", "RMSE", NULL},
    {"top5", "top-5", NULL},
    {"brier", NULL, NULL},
    {"base_rate", NULL, NULL},
    {"examples", NULL, NULL},
    {"macro_f1", "macro F1", NULL},
    {"word_top1", "next word", "word"},
    {"word_top5", "among 5", NULL},
    {"word_top10", "among 10", "word-10"},
};

static const char *seen_as(const char *name, bool line)
{
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        if (strcmp(seen[i].name, name) == 0)
            return line ? seen[i].line : seen[i].row;
    return name;
}

static struct number number_loss(double loss)
{
    return isfinite(loss) ? number_text(fabs(loss) < 1e9 ? "%.4f" : "%.6g", loss)
                          : number_text("unknown");
}

static struct number number_figure(const struct shoal_figure *f)
{
    return f->share && isfinite(f->value) ? number_percent(f->value, 1) : number_loss(f->value);
}

/* Whether training has a figure of the same name, so that this one needs the word "valid". */
static bool has_double(const struct shoal_figures *all, const struct shoal_figure *valid)
{
    for (const struct shoal_figure *f = all->at; f < all->at + all->n; f++)
        if (f->of == SHOAL_OF_TRAINING && strcmp(f->name, valid->name) == 0)
            return valid->of == SHOAL_OF_VALIDATION;
    return false;
}

struct figures_text {
    char text[2048];
};

/* "  loss 0.1234  accuracy 95.2%  valid loss 0.1300" */
static struct figures_text figures_text(const struct shoal_figures *all)
{
    struct figures_text out = {""};
    size_t len = 0;

    for (const struct shoal_figure *f = all->at; f < all->at + all->n && len < sizeof out; f++) {
        const char *name = seen_as(f->name, true);

        if (name && f->of != SHOAL_OF_RUN)
            len +=
                (size_t)snprintf(out.text + len, sizeof out - len, "  %s%s %s",
                                 has_double(all, f) ? "valid " : "", name, number_figure(f).text);
    }
    return out;
}

/* ---- Before ----------------------------------------------------------------------------- */

static void view_pictures(struct console *c, const shoal_images *images)
{
    unsigned channels, height, width;

    shoal_images_shape(images, &channels, &height, &width);
    console_heading(c, "pictures");
    console_row(c, "classes", number_count(shoal_images_classes(images)).text,
                "of %u x %u pixels, %s", width, height, channels == 1 ? "grey" : "3 channels");
}

/* The options of text that warn_vocab speaks of. */
static struct shoal_vocab_opts read_how(const struct job *job)
{
    const char *least = job_value(job, "min-count"), *bad;
    struct shoal_vocab_opts how = {.min_count = least ? strtoull(least, NULL, 10) : 0};

    bad = job_value(job, "bad-bytes"); /* where the other value was */
    for (const struct shoal_option *o = shoal_token_options; bad && o->name; o++)
        if (strcmp(o->name, "bad-bytes") == 0)
            shoal_option_read(o, &how, bad);
    return how;
}

static void view_labelled(struct console *c, const struct shoal_labelled_stats *s)
{
    console_heading(c, "text");
    console_row(c, "lines", number_count(s->lines).text, "%s of text",
                number_size(s->bytes).text);
    console_row(c, "labels", number_count(s->labels).text, NULL);
    console_row(c, "words", number_count(s->words).text, "of %s different ones, %s in all",
                number_count(s->types).text, number_count(s->tokens).text);
    if (s->unlabelled > 0)
        console_warn(c, "left out %s lines without a label", number_count(s->unlabelled).text);
    if (s->long_words > 0)
        console_warn(c, "left out %s words of over %u bytes", number_count(s->long_words).text,
                     SHOAL_WORD_MAX);
}

/* What was read on the way to the data. */
void job_show_data(struct job *job)
{
    struct console *c = &job->console;
    struct shoal_found found = shoal_data_found(job->data);

    if (found.text) {
        struct shoal_vocab_opts how = read_how(job);

        console_heading(c, "text");
        report_vocab(c, found.text, found.unk);
        warn_vocab(c, found.text, &how);
    }
    if (found.rows) {
        console_heading(c, "clicks");
        report_clicks(c, found.rows);
        warn_clicks(c, found.rows);
    }
    if (found.labelled)
        view_labelled(c, found.labelled);
    if (found.columns)
        report_columns(c, found.columns);
    if (found.valid_rows)
        warn_clicks(c, found.valid_rows);
    if (found.images)
        view_pictures(c, found.images);
}

/* "in 5 epochs", or "in 100 steps" */
static struct number number_epochs(const struct job *job, const struct shoal_train_plan *plan)
{
    const char *steps = job_value(job, "steps");

    if (steps && strcmp(steps, "0") != 0)
        return number_text("%.12s step%s", steps, strcmp(steps, "1") == 0 ? "" : "s");
    return number_text("%u epoch%s", plan->epochs, plan->epochs == 1 ? "" : "s");
}

/* What was chosen for the user, and by what. */
static void plan_epochs(struct console *c, const char *unit, const struct shoal_train_plan *plan)
{
    char early[96] = "";

    if (plan->early_stop > 0)
        snprintf(early, sizeof early, "; early stopping after %u without a better validation loss",
                 plan->early_stop);
    if (plan->chosen)
        console_row(c, "epochs", number_count(plan->epochs).text, "for %s %s (--epochs)%s",
                    number_count(plan->examples).text, unit, early);
}

static void plan_examples(struct job *job, const struct shoal_train_plan *plan)
{
    struct console *c = &job->console;
    const char *unit = job->task->unit;
    uint64_t examples = plan->examples + plan->held_out;

    if (plan->types > 0) {
        struct number held = number_text(", %s held out", number_count(plan->held_out).text);

        console_row(c, unit, number_count(plan->examples).text, "%s %s, in %s%s",
                    number_count(plan->types).text, plan->types_note, number_epochs(job, plan).text,
                    plan->held_out > 0 ? held.text : "");
        plan_epochs(c, unit, plan);
        return;
    }
    console_row(c, unit, number_count(plan->examples).text, "to learn from, %s held out",
                number_count(plan->held_out).text);
    console_row(c, "parameters", number_count(plan->parameters).text, "for %s",
                number_epochs(job, plan).text);
    plan_epochs(c, unit, plan);
    if (plan->shape[0] > 0)
        console_row(c, "tensor", number_count(examples).text,
                    "x %s x %s numbers would be %s; none of it is kept",
                    number_count(plan->shape[0]).text, number_count(plan->shape[1]).text,
                    number_size(examples * plan->shape[0] * plan->shape[1] * sizeof(float)).text);
}

/* "0.0866  at the start: 1.73 times the rate of one rank" */
static void plan_rate(struct console *c, const struct shoal_train_plan *plan)
{
    struct number rate = number_text("%.6g", plan->lr);

    if (plan->lr_scale > 1 || plan->lr_scale < 1)
        console_row(c, "rate", rate.text,
                    "at the start: %.6g times that of one rank (--lr-scaling)", plan->lr_scale);
    else
        console_row(c, "rate", rate.text, "at the start: the learning rate");
}

void job_show_plan(struct job *job, const struct shoal_train_plan *plan)
{
    struct console *c = &job->console;

    console_heading(c, "plan");
    plan_examples(job, plan);
    plan_rate(c, plan);
    console_row(c, "model", number_size(plan->model_bytes).text, "%s", plan->model_note);
    if (plan->blocks)
        console_row(c, "kept", number_size(plan->rank_bytes).text,
                    "of it on each rank, the rest comes in blocks");
    console_row(c, "work", number_size(plan->work_bytes).text, "private copies, batches, buffers");
    console_row(c, "held", number_size(plan->held_bytes).text, "program and data");
    if (plan->checkpoint_bytes > 0)
        console_row(c, "checkpoint", number_size(plan->checkpoint_bytes).text,
                    "the copy that is being written");
    if (plan->memory_limited)
        console_row(c, "memory", number_size(plan->memory_bytes - plan->held_bytes).text,
                    "beside what is held; the limit of --memory is %s",
                    number_size(plan->memory_free).text);
    else
        console_row(c, "memory", number_size(plan->memory_bytes).text, "of %s free",
                    number_size(plan->memory_free).text);
    if (plan->blocks && plan->replica_bytes > plan->memory_bytes)
        console_row(c, "saved", number_size(plan->replica_bytes - plan->memory_bytes).text,
                    "of the %s that a whole replica takes", number_size(plan->replica_bytes).text);
}

enum { EPOCHS_SHOWN = 40 };

/* ---- While it runs ---------------------------------------------------------------------- */

/* The loss of the whole run in few values: when there is no room for another, two become one, and
 * each further value is the mean of twice as many reports. */
static void remember_loss(struct loss_history *h, const struct shoal_figures *figures)
{
    const struct shoal_figure *f = figures->at;

    if (figures->n == 0 || f->of != SHOAL_OF_TRAINING || !isfinite(f->value))
        return;
    if (h->every == 0)
        h->every = 1;
    if (h->seen % h->every == 0 && h->n == LOSS_HISTORY) {
        for (size_t i = 0; i < LOSS_HISTORY / 2; i++)
            h->at[i] = (h->at[2 * i] + h->at[2 * i + 1]) / 2;
        h->n = LOSS_HISTORY / 2;
        h->every *= 2;
        h->seen = 0;
    }
    if (h->seen++ % h->every == 0)
        h->at[h->n++] = f->value;
    else
        h->at[h->n - 1] += (f->value - h->at[h->n - 1]) / (double)((h->seen - 1) % h->every + 1);
}

static void draw(struct job *job, const struct shoal_report *r)
{
    char text[sizeof(struct figures_text) + 160];

    if (r->event == SHOAL_EVENT_INTERVAL)
        remember_loss(&job->losses, &r->figures);
    snprintf(text, sizeof text, "epoch %u/%u  %s%s  lr %.3g", r->epoch, r->epochs,
             number_rate(r->rate, r->unit).text, figures_text(&r->figures).text, r->lr);
    console_progress(&job->console, "train",
                     &(struct progress_line){.share = r->progress, .left = r->eta,
                                             .loss = job->losses.at, .n = job->losses.n,
                                             .text = text});
}

/* Of hundreds of epochs some are shown, among them the last. */
static bool is_shown(const struct shoal_report *r)
{
    unsigned every =
        r->epochs > EPOCHS_SHOWN ? (r->epochs + EPOCHS_SHOWN / 2 - 1) / (EPOCHS_SHOWN / 2) : 1;

    return r->epoch % every == 0 || r->epoch == r->epochs || r->epoch == 1;
}

bool job_show_report(void *user, const struct shoal_report *report)
{
    struct job *job = user;

    if (report->event != SHOAL_EVENT_AGAIN && report->event != SHOAL_EVENT_TRIAL)
        job->last = *report;
    switch (report->event) {
    case SHOAL_EVENT_INTERVAL:
    case SHOAL_EVENT_AGAIN:
        draw(job, report);
        break;
    case SHOAL_EVENT_EPOCH:
        if (is_shown(report))
            console_log(&job->console, STYLE_PLAIN, "epoch %u/%u%s%s%s", report->epoch,
                        report->epochs, figures_text(&report->figures).text,
                        report->rate > 0 ? "  " : "",
                        report->rate > 0 ? number_rate(report->rate, report->unit).text : "");
        break;
    case SHOAL_EVENT_EVALUATION: /* within an epoch */
        console_log(&job->console, STYLE_PLAIN, "%s %s%s", number_count(report->examples).text,
                    report->unit, figures_text(&report->figures).text);
        break;
    case SHOAL_EVENT_CHECKPOINT:
        console_log(&job->console, STYLE_DIM, "checkpoint at %s",
                    number_percent(report->progress, 1).text);
        break;
    case SHOAL_EVENT_TRIAL:
        console_log(&job->console, STYLE_PLAIN, "trial %u%s  %s", report->epoch,
                    isfinite(report->figures.at[0].value) ? figures_text(&report->figures).text
                                                          : "  failed",
                    report->note);
        break;
    case SHOAL_EVENT_RETRY:
        console_warn(&job->console,
                     "diverged; trying again with a tenth of the learning rate, %.3g", report->lr);
        break;
    case SHOAL_EVENT_DONE:
        return true; /* too late to stop */
    }
    return !signal_received();
}

/* ---- After ------------------------------------------------------------------------------ */

/* "; behind by 1: 20.2%, 3-4: 5.1%": of rows that others had pushed 3 or 4 times
 * meanwhile; what would be 0.0% is left out. */
static void stale_text(char text[SHOAL_SENTENCE], const struct shoal_rank_stats *r, uint64_t all)
{
    size_t len = 0;

    text[0] = '\0';
    for (unsigned i = 1; i < SHOAL_STALE_BINS && len < SHOAL_SENTENCE; i++) {
        unsigned long last = i == 1 ? 1 : 1ul << (i - 1), first = i < 3 ? last : last / 2 + 1;
        char bin[48];

        if ((double)r->stale[i] < 0.0005 * (double)all)
            continue;
        snprintf(bin, sizeof bin, first == last ? "%lu" : "%lu-%lu", first, last);
        len += (size_t)snprintf(text + len, SHOAL_SENTENCE - len, "%s %s: %s",
                                len ? "," : "; behind by", bin,
                                number_percent((double)r->stale[i], (double)all).text);
    }
}

static void view_stale(struct console *c, const struct shoal_rank_stats *r)
{
    uint64_t all = 0;
    char text[SHOAL_SENTENCE];

    for (unsigned i = 0; i < SHOAL_STALE_BINS; i++)
        all += r->stale[i];
    if (all == 0)
        return;
    stale_text(text, r, all);
    console_row(c, "fresh", number_percent((double)r->stale[0], (double)all).text,
                "of updates when they were pushed%s", text);
}

/* What it cost to train with others. */
static void view_ranks(struct console *c, const struct shoal_train_stats *s)
{
    const struct shoal_rank_stats *r = &s->ranks;
    double each = s->examples > 0 ? (double)s->examples : 1;
    int one = (int)strlen(s->unit) - 1; /* "word" of "words" */

    console_row(c, "ranks", number_count(r->ranks).text,
                r->servers ? "%u of them only keep parameters" : "all keep parameters and train",
                r->servers);
    console_row(c, "traffic", number_text("%.1f B", (double)r->bytes_out / each).text,
                r->naive_bytes > 0 ? "sent and %.1f B received a %.*s; naively %.0f B"
                                   : "sent and %.1f B received a %.*s",
                (double)r->bytes_in / each, one, s->unit, (double)r->naive_bytes / each);
    console_row(c, "waited", number_percent(r->waited, r->waited + r->computed).text,
                "of the time of all ranks");
    if (r->load_most > 0)
        console_row(c, "busiest", number_text("%.2f", r->load_most).text,
                    "times the even share of rows");
    view_stale(c, r);
}

void score_show(struct console *c, const struct shoal_binary_score *s)
{
    console_row(c, "auc", number_loss(s->auc).text, "on %s rows, %s of them of class 1",
                number_count(s->examples).text, number_percent(s->base_rate, 1).text);
    console_row(c, "accuracy", number_percent(s->accuracy, 1).text,
                "%s by the commoner class alone",
                number_percent(fmax(s->base_rate, 1 - s->base_rate), 1).text);
    console_row(c, "calibrated", number_loss(s->calibration).text,
                "promised for each that came true");
}

static void row_figure(struct console *c, const struct shoal_figure *f)
{
    bool valid = f->of == SHOAL_OF_VALIDATION;
    const char *name = seen_as(f->name, false);

    if (!name || f->of == SHOAL_OF_RUN || !isfinite(f->value))
        return;
    console_row(c, valid && strcmp(name, "loss") == 0 ? "valid loss" : name, number_figure(f).text,
                valid ? "on what was held out" : "in the last epoch");
}

/* Of a model of two classes the scores are shown with their context (score_show). */
static void view_figures(struct console *c, const struct shoal_figures *all)
{
    double examples = shoal_figure(all, SHOAL_OF_VALIDATION, "examples");
    struct shoal_binary_score score = {
        .examples = examples > 0 ? (uint64_t)examples : 0,
        .auc = shoal_figure(all, SHOAL_OF_VALIDATION, "auc"),
        .accuracy = shoal_figure(all, SHOAL_OF_VALIDATION, "accuracy"),
        .base_rate = shoal_figure(all, SHOAL_OF_VALIDATION, "base_rate"),
        .calibration = shoal_figure(all, SHOAL_OF_VALIDATION, "calibration"),
    };
    bool binary = isfinite(score.auc) && isfinite(score.base_rate);

    for (const struct shoal_figure *f = all->at; f < all->at + all->n; f++)
        if (!binary || f->of != SHOAL_OF_VALIDATION || strcmp(f->name, "loss") == 0)
            row_figure(c, f);
    if (binary)
        score_show(c, &score);
}

static void row_file(struct job *job)
{
    struct stat file;

    if (strcmp(job->output, "-") != 0 && stat(job->output, &file) == 0)
        console_row(&job->console, "file", number_size((uint64_t)file.st_size).text, "%s",
                    job->output);
}

void job_show_result(struct job *job, const struct shoal_train_plan *plan,
                     const struct shoal_train_stats *stats)
{
    struct console *c = &job->console;
    double rate = stats->seconds > 0 ? (double)stats->examples / stats->seconds : 0;
    const char *profile = job_value(job, "profile");

    console_heading(c, "result");
    console_row(c, "trained", number_count(stats->examples).text, "%s%s%s", stats->unit,
                stats->resumed ? " since the checkpoint" : "",
                stats->enough ? "; more would not help what is held out" : "");
    if (stats->best_epoch > 0)
        console_row(c, "kept", number_count(stats->best_epoch).text,
                    "the epoch with the best validation loss");
    if (stats->again > 0)
        console_row(c, "again", number_count(stats->again).text,
                    "%s, those that were held out too, then learned in %u epochs", stats->unit,
                    stats->again_epochs);
    view_figures(c, &stats->figures);
    console_row(c, "took", number_seconds(stats->seconds).text, "%s; %s to the first update",
                number_rate(rate, stats->unit).text, number_seconds(stats->startup).text);
    console_row(c, "peak", number_size(stats->memory).text, "of memory, the plan said %s",
                number_size(plan->memory_bytes).text);
    console_row(c, "kernel", stats->kernel, NULL);
    if (stats->ranks.ranks > 1)
        view_ranks(c, stats);
    if (stats->checkpoints > 0)
        console_row(c, "checkpoint", number_count(stats->checkpoints).text,
                    "written, the last two kept in %s", job->folder);
    row_file(job);
    if (stats->ranks.ranks > 1)
        profile_show_steps(c, &stats->profile, stats->steps);
    if (profile && strcmp(profile, "true") == 0)
        profile_show(c, &stats->profile);
}

/* ---- When it does not end well ---------------------------------------------------------- */

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

static void say_stopped(const struct job *job)
{
    double percent = 100 * job->last.progress;
    unsigned ranks = shoal_ranks_size(job->ranks);
    struct writes w = {.n = 0};
    char again[32] = "", *folder;

    if (!job->folder) {
        console_fail("stopped at %.1f %%; nothing was kept, for no --checkpoint folder was named",
                     percent);
        return;
    }
    if (ranks > 1)
        snprintf(again, sizeof again, " --ranks %u", ranks);
    folder = shell_word(job->folder);
    writes_note(&w, job);
    console_fail("stopped at %.1f %%; go on with: shoal train --resume %s%s%s", percent, folder,
                 again, writes_refused(&w) ? " --trust" : "");
    writes_fini(&w);
    free(folder);
}

/* Without a signal of our own: it came to another rank. */
int job_show_stopped(struct job *job)
{
    int number = signal_received() ? signal_received() : SIGTERM;

    console_finish(&job->console, SHOAL_OK);
    if (job->training)
        say_stopped(job);
    else
        console_fail("stopped by a signal (%s)", strsignal(number));
    return EXIT_SIGNAL + number;
}

int job_show_failed(struct job *job, shoal_status status)
{
    struct shoal_checkpoint last;
    int code = console_finish(&job->console, status);

    if (job->folder && job->last.epochs > 0 &&
        shoal_checkpoint_read(&last, job->folder) == SHOAL_OK)
        console_fail("the last good checkpoint is %s, at %.1f %%", last.path, 100 * last.progress);
    return code;
}
