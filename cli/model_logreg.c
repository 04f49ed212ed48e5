/* Click models: their answers, their scores, and what is in them. */
#include "json.h"
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- predict ------------------------------------------------------------------------- */

/* A line of at most nine digits says all that a float knew. */
static bool put_rows(void *user, const double *p, size_t n)
{
    FILE *to = user;

    for (size_t i = 0; i < n; i++)
        fprintf(to, "%.7g\n", p[i]);
    /* Whoever reads a pipe wants each block's answers before the next block. */
    return fflush(to) == 0 && !signal_came();
}

static shoal_status predict(const struct predict_cmd *cmd, const shoal_logreg *model, FILE *to,
                            const char *const *inputs, size_t ninputs, struct console *c)
{
    struct shoal_clicks_stats stats = {0};
    shoal_status st =
        shoal_logreg_predict(model, inputs, ninputs, &cmd->read, put_rows, to, &stats);

    if (ferror(to))
        st = shoal_fail(SHOAL_EIO, "%s: %s", cmd->output ? cmd->output : "standard output",
                        strerror(errno));
    warn_clicks(c, &stats);
    return st;
}

/* Others may read answers as they could those that are replaced, and as root these stay
 * their owner's; where the group cannot be kept, ours gets what everyone gets. */
static void keep_access(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;

    if (fchown(fd, geteuid() == 0 ? old->st_uid : (uid_t)-1, old->st_gid) != 0)
        mode &= 0707 | (mode & 07) << 3;
    fchmod(fd, mode);
}

/* The temporary file is its owner's alone until it is as open as the one it replaces, or
 * as the umask says. */
static FILE *open_temporary(char *path, const struct stat *old)
{
    mode_t mask = umask(0);
    int fd = mkostemp(path, O_CLOEXEC);
    FILE *to;

    umask(mask);
    if (fd < 0)
        return NULL;
    if (old)
        keep_access(fd, old);
    else
        fchmod(fd, 0666 & ~mask);
    to = fdopen(fd, "w");
    if (!to) {
        close(fd);
        remove(path);
    }
    return to;
}

static shoal_status fail_output(const struct predict_cmd *cmd)
{
    return shoal_fail(SHOAL_EIO, "%s: %s", cmd->output, strerror(errno));
}

/* Beside `target` until all answers are in it. */
static shoal_status predict_beside(const struct predict_cmd *cmd, const char *target,
                                   const struct stat *old, const shoal_logreg *model,
                                   const char *const *inputs, size_t ninputs, struct console *c)
{
    size_t room = strlen(target) + sizeof ".XXXXXX";
    char *path = console_alloc(room);
    FILE *to;
    shoal_status st;

    snprintf(path, room, "%s.XXXXXX", target);
    to = open_temporary(path, old);
    st = to ? predict(cmd, model, to, inputs, ninputs, c) : fail_output(cmd);
    if (to && fclose(to) != 0 && st == SHOAL_OK)
        st = fail_output(cmd);
    if (st == SHOAL_OK && rename(path, target) != 0)
        st = fail_output(cmd);
    if (st != SHOAL_OK && to)
        remove(path);
    free(path);
    return st;
}

static shoal_status predict_straight(const struct predict_cmd *cmd, const shoal_logreg *model,
                                     const char *const *inputs, size_t ninputs, struct console *c)
{
    FILE *to = fopen(cmd->output, "we");
    shoal_status st = to ? predict(cmd, model, to, inputs, ninputs, c) : fail_output(cmd);

    if (to && fclose(to) != 0 && st == SHOAL_OK)
        st = fail_output(cmd);
    return st;
}

/* A file appears when all answers are in it, and a link to one stays a link; a pipe or
 * device is written as we go. */
static shoal_status predict_to_file(const struct predict_cmd *cmd, const shoal_logreg *model,
                                    const char *const *inputs, size_t ninputs, struct console *c)
{
    struct stat old;
    bool there = stat(cmd->output, &old) == 0;
    char *real;
    shoal_status st;

    if (there && !S_ISREG(old.st_mode))
        return predict_straight(cmd, model, inputs, ninputs, c);
    real = realpath(cmd->output, NULL);
    if (!real && errno != ENOENT)
        return fail_output(cmd);
    st = predict_beside(cmd, real ? real : cmd->output, there ? &old : NULL, model, inputs, ninputs,
                        c);
    free(real);
    return st;
}

int predict_logreg(const struct predict_cmd *cmd, const char *path, const char *const *inputs,
                   size_t ninputs)
{
    struct console console;
    shoal_logreg *model = NULL;
    shoal_status st = shoal_logreg_open(&model, path);
    bool file = cmd->output && strcmp(cmd->output, "-") != 0;

    console_init(&console, cmd->work.quiet, "-");
    if (st == SHOAL_OK)
        st = file ? predict_to_file(cmd, model, inputs, ninputs, &console)
                  : predict(cmd, model, stdout, inputs, ninputs, &console);
    shoal_logreg_close(model);
    return console_finish(&console, st);
}

/* ---- eval ------------------------------------------------------------------------------ */

static void put_json(const char *path, const struct shoal_binary_score *s)
{
    struct json j = {.to = stdout};

    out_open(&j, '{');
    out_put_string(&j, "model", path);
    out_put_count(&j, "rows", s->examples);
    out_put_real(&j, "log_loss", s->log_loss);
    out_put_real(&j, "base_log_loss", s->base_log_loss);
    out_put_real(&j, "accuracy", s->accuracy);
    out_put_real(&j, "auc", s->auc);
    out_put_real(&j, "brier", s->brier);
    out_put_real(&j, "base_rate", s->base_rate);
    out_put_real(&j, "predicted", s->predicted);
    out_put_real(&j, "calibration", s->calibration);
    out_close(&j, '}');
    out_line(&j);
}

static void report_bins(struct console *c, const struct shoal_binary_score *s)
{
    if (!c->reports)
        return;
    fprintf(c->reports, "\n%s%-16s  %12s  %10s  %10s%s\n", style_on(c->reports, STYLE_DIM),
            "probability", "rows", "promised", "came true", style_on(c->reports, STYLE_PLAIN));
    for (unsigned i = 0; i < SHOAL_RELIABILITY_BINS; i++)
        if (s->bins[i].weight > 0)
            fprintf(c->reports, "%.1f to %.1f        %12s  %10.4f  %10.4f\n", i / 10.0,
                    (i + 1) / 10.0, number_count((uint64_t)llround(s->bins[i].weight)).text,
                    s->bins[i].predicted, s->bins[i].observed);
}

static struct number number_four(double x)
{
    struct number out;

    snprintf(out.text, sizeof out.text, isfinite(x) ? "%.4f" : "unknown", x);
    return out;
}

static void report(struct console *c, const struct shoal_binary_score *s)
{
    console_row(c, "log-loss", number_four(s->log_loss).text, "%s by the base rate alone",
                number_four(s->base_log_loss).text);
    view_held(c, s);
    console_row(c, "brier", number_four(s->brier).text, NULL);
    report_bins(c, s);
}

int eval_logreg(const struct shoal_clicks_opts *read, bool json, bool quiet, const char *path,
                const char *const *inputs, size_t ninputs)
{
    struct shoal_binary_score score = {0};
    struct shoal_clicks_stats stats = {0};
    struct console console;
    shoal_logreg *model = NULL;
    shoal_status st = shoal_logreg_open(&model, path);

    console_init(&console, quiet, NULL);
    if (st == SHOAL_OK)
        st = shoal_logreg_eval(model, inputs, ninputs, read, &score, &stats);
    if (st == SHOAL_OK && json)
        put_json(path, &score);
    else if (st == SHOAL_OK)
        report(&console, &score);
    warn_clicks(&console, &stats);
    shoal_logreg_close(model);
    return console_finish(&console, st);
}

/* ---- info ------------------------------------------------------------------------------ */

static void report_weights(const struct shoal_weight *top, size_t n)
{
    if (n > 0)
        printf("\n%15s  %10s  feature\n", "weight", "slot");
    for (size_t i = 0; i < n; i++) {
        printf("%15.6g  %10u  ", (double)top[i].weight, top[i].slot);
        print_safely(stdout, top[i].name ? top[i].name : "?");
        putchar('\n');
    }
}

shoal_status info_logreg(struct console *c, const char *path, uint64_t top)
{
    shoal_logreg *model = NULL;
    struct shoal_weight *largest = NULL;
    size_t found = 0;
    shoal_status st = shoal_logreg_open(&model, path);

    if (st == SHOAL_OK) {
        uint64_t weights = shoal_logreg_weights(model);

        top = top < weights ? top : weights;
        largest = console_alloc(((size_t)top + 1) * sizeof *largest);
        st = shoal_logreg_largest(model, largest, (size_t)top, &found);
    }
    if (st == SHOAL_OK) {
        struct shoal_clicks_opts read = shoal_logreg_reading(model);

        print_line(stdout, "%s: a click model, logistic regression\n", path);
        console_row(c, "weights", number_count(shoal_logreg_weights(model)).text,
                    "not 0, of 2^%u slots", shoal_logreg_bits(model));
        console_row(c, "bias", number_four(shoal_logreg_bias(model)).text, NULL);
        console_row(c, "reads", shoal_clicks_format_name(read.format), NULL);
        report_weights(largest, found);
    }
    free(largest);
    shoal_logreg_close(model);
    return st;
}
