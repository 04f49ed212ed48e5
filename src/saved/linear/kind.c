/* Click models as a kind of model. */
#include "saved/kind.h"
#include "saved/linear/logreg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static shoal_status clicks_read(void **model, struct container *c)
{
    shoal_logreg *m;
    shoal_status st = logreg_read(&m, c);

    *model = m;
    return st;
}

static shoal_status clicks_save(const void *model, const char *path,
                                const struct shoal_save_opts *opts)
{
    enum shoal_format format;
    shoal_status st = kind_format(&format, path, opts, 1u << SHOAL_FORMAT_SHOAL,
                                  "shoal, the one of click models");

    return st == SHOAL_OK ? shoal_logreg_save(model, path) : st;
}

static void clicks_close(void *model)
{
    shoal_logreg_close(model);
}

/* ---- what it is ---- */

static void describe_largest(const shoal_logreg *m, uint64_t top, struct shoal_model_reports *out)
{
    static const struct shoal_column columns[] = {
        {NULL, "weight", 15}, {NULL, "slot", 10}, {NULL, "feature", 0}};
    size_t k = (size_t)(top < m->n ? top : m->n), found = 0;
    struct shoal_weight *largest = mem_array(k + 1, sizeof *largest);

    if (largest && shoal_logreg_largest(m, largest, k, &found) == SHOAL_OK)
        report_grid(out, NULL, columns, 3);
    else
        reports_fail(out, SHOAL_ENOMEM);
    for (size_t i = 0; i < found; i++) {
        char weight[32], slot[16];

        number_print(weight, sizeof weight, "%.6g", (double)largest[i].weight);
        snprintf(slot, sizeof slot, "%u", largest[i].slot);
        report_row(out,
                   (struct shoal_value[]){VALUE_TEXT(weight), VALUE_TEXT(slot),
                                          VALUE_TEXT(largest[i].name ? largest[i].name : "?")},
                   0);
    }
    free(largest);
}

static void clicks_describe(const void *model, const char *path, uint64_t top,
                            struct shoal_model_reports *out)
{
    const shoal_logreg *m = model;
    char bits[16];

    (void)path;
    snprintf(bits, sizeof bits, "2^%u", m->bits);
    report_begin(out, "a click model, logistic regression");
    report_fact(
        out, (struct shoal_fact){
                 "weights", "weights", VALUE_COUNT(m->n), "not 0, of % slots", {VALUE_TEXT(bits)}});
    report_value(out, NULL, "bias", VALUE_REAL((double)m->bias));
    report_text(out, "format", "reads", shoal_clicks_format_name(m->way.format));
    describe_largest(m, top, out);
}

/* ---- what it answers ---- */

/* A line of at most nine digits says all that a float knew. Whoever reads a pipe wants
 * each block's answers before the next block. */
static bool say_rows(void *user, const double *p, size_t n)
{
    struct answers *a = user;

    for (size_t i = 0; i < n; i++)
        if (answer_print(a, "%.7g\n", p[i]) != SHOAL_OK)
            return false;
    return answer_flush(a) == SHOAL_OK;
}

static shoal_status clicks_ask(const void *model, const struct asked_of *q, struct answers *a)
{
    return shoal_logreg_predict(model, q->inputs, q->n, &q->opts->rows, say_rows, a, q->stats);
}

/* ---- how well ---- */

static void score_bins(struct shoal_model_reports *out, const struct shoal_binary_score *s)
{
    static const struct shoal_column columns[] = {{NULL, "probability", -16},
                                                  {NULL, "rows", 12},
                                                  {NULL, "promised", 10},
                                                  {NULL, "came true", 10}};

    report_grid(out, NULL, columns, 4);
    for (unsigned i = 0; i < SHOAL_RELIABILITY_BINS; i++) {
        char bin[32];

        number_print(bin, sizeof bin, "%.1f to %.1f", i / 10.0, (i + 1) / 10.0);
        if (s->bins[i].weight > 0)
            report_row(out,
                       (struct shoal_value[]){
                           VALUE_TEXT(bin), VALUE_COUNT((uint64_t)llround(s->bins[i].weight)),
                           VALUE_REAL(s->bins[i].predicted), VALUE_REAL(s->bins[i].observed)},
                       0);
    }
}

static void score_facts(struct shoal_model_reports *out, const struct shoal_binary_score *s)
{
    const struct shoal_fact facts[] = {
        {"rows", NULL, VALUE_COUNT(s->examples), NULL, {{0}}},
        {"log_loss",
         "log-loss",
         VALUE_REAL(s->log_loss),
         "% by the base rate alone",
         {VALUE_REAL(s->base_log_loss)}},
        {"base_log_loss", NULL, VALUE_REAL(s->base_log_loss), NULL, {{0}}},
        {"accuracy", NULL, VALUE_SHARE(s->accuracy), NULL, {{0}}},
        {"auc",
         "auc",
         VALUE_REAL(s->auc),
         "on % rows, % of them of class 1",
         {VALUE_COUNT(s->examples), VALUE_SHARE(s->base_rate)}},
        {NULL,
         "accuracy",
         VALUE_SHARE(s->accuracy),
         "% by the commoner class alone",
         {VALUE_SHARE(fmax(s->base_rate, 1 - s->base_rate))}},
        {NULL, "calibrated", VALUE_REAL(s->calibration), "promised for each that came true", {{0}}},
        {"brier", "brier", VALUE_REAL(s->brier), NULL, {{0}}},
        {"base_rate", NULL, VALUE_SHARE(s->base_rate), NULL, {{0}}},
        {"predicted", NULL, VALUE_SHARE(s->predicted), NULL, {{0}}},
        {"calibration", NULL, VALUE_REAL(s->calibration), NULL, {{0}}},
    };

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        report_fact(out, facts[i]);
}

static shoal_status clicks_score(const void *model, const char *path, const struct asked_of *q,
                                 struct shoal_model_reports *out)
{
    struct shoal_binary_score s = {0};
    shoal_status st = shoal_logreg_eval(model, q->inputs, q->n, &q->opts->rows, &s, q->stats);

    if (st != SHOAL_OK)
        return st;
    report_begin(out, NULL);
    report_text(out, "model", NULL, path);
    score_facts(out, &s);
    score_bins(out, &s);
    return SHOAL_OK;
}

const struct kind kind_logreg = {
    .name = "logreg",
    .word = "logreg",
    .read = clicks_read,
    .save = clicks_save,
    .describe = clicks_describe,
    .ask = clicks_ask,
    .score = clicks_score,
    .close = clicks_close,
};
