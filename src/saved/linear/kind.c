/* Click models as a kind of model. */
#include "saved/kind.h"
#include "saved/linear/logreg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what it is ---- */

void logreg_describe_labels(const shoal_logreg *m, const struct shoal_reporter *to)
{
    const struct click_labels *l = &m->reading.labels;
    char text[256] = "";
    size_t len = 0;

    if (l->n == 2) {
        report_noted(to, "positive", "predicts", VALUE_TEXT(m->reading.label[1]),
                     "the probability of that label, not of %", VALUE_TEXT(m->reading.label[0]),
                     NO_VALUE);
        return;
    }
    for (unsigned k = 0; k < l->n && len < sizeof text; k++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.40s", k > 0 ? ", " : "",
                                m->reading.label[k]);
    if (l->n > 0)
        report_noted(to, NULL, "labels", VALUE_COUNT(l->n), "%", VALUE_TEXT(text), NO_VALUE);
}

void logreg_describe_examples(const shoal_logreg *m, const struct shoal_reporter *to)
{
    if (m->examples.n > 0)
        report_noted(to, "example_rows", "examples", VALUE_COUNT(m->examples.n),
                     "training rows kept: whoever has this file can read them", NO_VALUE,
                     NO_VALUE);
}

/* What a weight says in the units of the table: the log odds that 1 more of a number adds, or of a
 * logarithm twice as much. */
static void in_units(const shoal_logreg *m, const struct shoal_weight *w, char text[64])
{
    const struct shoal_columns *c = m->reading.columns;
    bool logarithm = w->name && strncmp(w->name, "log ", 4) == 0;
    const char *name = w->name ? w->name + (logarithm ? 4 : 0) : "";
    size_t i = c ? columns_find_exactly(c, name, strlen(name)) : SIZE_MAX;
    const struct column *at = i != SIZE_MAX ? &c->at[i] : NULL;

    text[0] = '\0';
    if (!at || at->kind != SHOAL_COLUMN_NUMBER || c->raw || at->sd <= 0)
        return;
    if (!logarithm)
        number_print(text, 64, "%+.3g for each 1", (double)w->weight / at->sd);
    else if (at->skewed)
        number_print(text, 64, "%+.3g for each doubling", (double)w->weight * log(2) / at->log_sd);
}

static shoal_status describe_largest(const shoal_logreg *m, uint64_t top,
                                     const struct shoal_reporter *to)
{
    static const struct shoal_column columns[] = {
        {NULL, "weight", 15}, {NULL, "slot", 10}, {NULL, "feature", 0}};
    static const struct shoal_column of_table[] = {
        {NULL, "weight", 15}, {NULL, "in units of the table", 24}, {NULL, "feature", 0}};
    bool table = m->reading.columns != NULL;
    struct shoal_grid grid = {NULL, table ? of_table : columns, 3};
    size_t k = (size_t)(top < m->n ? top : m->n), found = 0;
    struct shoal_weight *w = mem_array(k + 1, sizeof *w);
    shoal_status st = w ? shoal_logreg_largest(m, w, k, &found) : SHOAL_ENOMEM;

    for (size_t i = 0; i < found; i++) {
        const char *name = w[i].name ? w[i].name : "?";
        char weight[32], slot[16], units[64];

        number_print(weight, sizeof weight, "%.6g", (double)w[i].weight);
        snprintf(slot, sizeof slot, "%u", w[i].slot);
        in_units(m, &w[i], units);
        report_row(to, &grid,
                   (struct shoal_value[]){VALUE_TEXT(weight), VALUE_TEXT(table ? units : slot),
                                          VALUE_TEXT(name)},
                   0);
    }
    free(w);
    return st;
}

static shoal_status clicks_describe(const void *model, uint64_t bytes, uint64_t top,
                                    const struct shoal_reporter *to)
{
    const shoal_logreg *m = model;
    char slots[16];

    snprintf(slots, sizeof slots, "2^%u", m->bits);
    report_begin(to, "a click model, logistic regression");
    report_noted(to, "weights", "weights", VALUE_COUNT(m->n), "not 0, of % slots",
                 VALUE_TEXT(slots), NO_VALUE);
    report_value(to, NULL, "bias", VALUE_REAL((double)m->bias[0]));
    report_value(to, "format", "reads", VALUE_TEXT(shoal_clicks_format_name(m->reading.opts.format)));
    logreg_describe_labels(m, to);
    logreg_describe_examples(m, to);
    report_model_columns(to, m->reading.columns);
    return describe_largest(m, top, to);
}

/* ---- what it answers ---- */

/* A line of at most nine digits says all that a float knew. Whoever reads a pipe wants
 * each block's answers before the next block. */
static shoal_status say_rows(struct each *e, double *z, const uint8_t *label, const float *weight,
                             size_t n)
{
    for (size_t i = 0; i < n; i++)
        answer_print(e->user, "%.7g\n", 1 / (1 + exp(-z[i])));
    return answer_flush(e->user);
}

static shoal_status clicks_ask(const void *model, const struct asked_of *q, struct answers *a)
{
    struct each e = {.user = a, .rows = say_rows, .unlabelled = true};

    return logreg_each(model, q->inputs, q->n, &q->opts->rows, &e, q->stats);
}

/* ---- how well ---- */

static void score_bins(const struct shoal_reporter *to, const struct shoal_binary_score *s)
{
    static const struct shoal_column columns[] = {
        {NULL, "probability", -16}, {NULL, "rows", 12}, {NULL, "promised", 10},
        {NULL, "came true", 10}};
    static const struct shoal_grid grid = {NULL, columns, 4};

    for (unsigned i = 0; i < SHOAL_RELIABILITY_BINS; i++) {
        const struct shoal_reliability *b = &s->bins[i];
        char bin[32];

        number_print(bin, sizeof bin, "%.1f to %.1f", i / 10.0, (i + 1) / 10.0);
        if (b->weight > 0)
            report_row(to, &grid,
                       (struct shoal_value[]){VALUE_TEXT(bin),
                                              VALUE_COUNT((uint64_t)llround(b->weight)),
                                              VALUE_REAL(b->predicted), VALUE_REAL(b->observed)},
                       0);
    }
}

static void score_facts(const struct shoal_reporter *to, const struct shoal_binary_score *s)
{
    report_value(to, "rows", NULL, VALUE_COUNT(s->examples));
    report_noted(to, "log_loss", "log-loss", VALUE_REAL(s->log_loss), "% by the base rate alone",
                 VALUE_REAL(s->base_log_loss), NO_VALUE);
    report_value(to, "base_log_loss", NULL, VALUE_REAL(s->base_log_loss));
    report_value(to, "accuracy", NULL, VALUE_SHARE(s->accuracy));
    report_noted(to, "auc", "auc", VALUE_REAL(s->auc), "on % rows, % of them of class 1",
                 VALUE_COUNT(s->examples), VALUE_SHARE(s->base_rate));
    report_noted(to, NULL, "accuracy", VALUE_SHARE(s->accuracy), "% by the commoner class alone",
                 VALUE_SHARE(fmax(s->base_rate, 1 - s->base_rate)), NO_VALUE);
    report_noted(to, NULL, "calibrated", VALUE_REAL(s->calibration),
                 "promised for each that came true", NO_VALUE, NO_VALUE);
    report_value(to, "brier", "brier", VALUE_REAL(s->brier));
    report_value(to, "base_rate", NULL, VALUE_SHARE(s->base_rate));
    report_value(to, "predicted", NULL, VALUE_SHARE(s->predicted));
    report_value(to, "calibration", NULL, VALUE_REAL(s->calibration));
}

static shoal_status clicks_score(const void *model, const char *path, const struct asked_of *q,
                                 const struct shoal_reporter *to)
{
    struct shoal_binary_score s = {0};
    shoal_status st = logreg_eval(model, q->inputs, q->n, &q->opts->rows, &s, q->stats);

    if (st != SHOAL_OK)
        return st;
    report_begin(to, NULL);
    report_value(to, "model", NULL, VALUE_TEXT(path));
    score_facts(to, &s);
    score_bins(to, &s);
    return SHOAL_OK;
}

const struct kind kind_logreg = {
    .name = "logreg",
    .word = "logreg",
    .what = "a click model",
    .formats = 1u << SHOAL_FORMAT_SHOAL,
    .linear = true,
    .read = logreg_read,
    .save = logreg_save,
    .describe = clicks_describe,
    .ask = clicks_ask,
    .score = clicks_score,
    .close = logreg_close,
};
