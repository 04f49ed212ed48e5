/* Models of many classes as a kind of model. */
#include "saved/kind.h"
#include "saved/linear/logreg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what it is ---- */

static shoal_status many_describe(const void *model, uint64_t bytes, uint64_t top,
                                  const struct shoal_reporter *to)
{
    const shoal_logreg *m = model;
    char slots[16];

    snprintf(slots, sizeof slots, "2^%u", m->bits);
    report_begin(to, "a model of many classes, logistic regression");
    report_value(to, "classes", "classes", VALUE_COUNT(m->outputs));
    report_noted(to, "features", "features", VALUE_COUNT(m->n), "with weights, of % slots",
                 VALUE_TEXT(slots), NO_VALUE);
    report_value(to, "format", "reads", VALUE_TEXT(shoal_clicks_format_name(m->reading.opts.format)));
    logreg_describe_labels(m, to);
    logreg_describe_examples(m, to);
    report_model_columns(to, m->reading.columns);
    return SHOAL_OK;
}

/* ---- names of its classes ---- */

const char *logreg_class(const shoal_logreg *m, size_t i)
{
    return m->classes ? m->classes[i] : logreg_label(m, (unsigned)i);
}

void logreg_unname(shoal_logreg *m)
{
    for (size_t i = 0; m->classes && i < m->outputs; i++)
        free(m->classes[i]);
    free(m->classes);
    m->classes = NULL;
}

static size_t many_classes(const void *model)
{
    return logreg_outputs(model);
}

static shoal_status many_name_classes(void *model, const struct class_index *index)
{
    shoal_logreg *m = model;
    shoal_status st = SHOAL_OK;

    logreg_unname(m);
    if (index->names && !(m->classes = mem_array(m->outputs, sizeof *m->classes)))
        return SHOAL_ENOMEM;
    for (size_t i = 0; m->classes && i < m->outputs && st == SHOAL_OK; i++)
        if (!(m->classes[i] = strdup(index->names[i])))
            st = shoal_fail(SHOAL_ENOMEM, "class index: no memory for a name");
    if (st != SHOAL_OK)
        logreg_unname(m);
    return st;
}

/* ---- what it answers ---- */

struct many {
    const shoal_logreg *model;
    unsigned n;
    struct answers *answers; /* of predicting */
    struct classes *classes; /* of scoring, */
    double loss, weight;
};

/* "2  0.1  0.2  0.7": the likeliest class, and the probability of each. */
static void say_row(struct answers *a, const shoal_logreg *m, const double *p, unsigned n)
{
    unsigned best = 0;

    for (unsigned k = 1; k < n; k++)
        best = p[k] > p[best] ? k : best;
    if (logreg_class(m, best))
        answer_name(a, logreg_class(m, best));
    else
        answer_print(a, "%u", best);
    for (unsigned k = 0; k < n; k++)
        answer_print(a, "\t%.7g", p[k]);
    answer_print(a, "\n");
}

/* Whoever reads a pipe wants each block's answers before the next block. */
static shoal_status say_rows(struct each *e, double *z, const uint8_t *label, const float *weight,
                             size_t n)
{
    struct many *m = e->user;

    for (size_t i = 0; i < n; i++) {
        logreg_softmax(z + i * m->n, m->n);
        say_row(m->answers, m->model, z + i * m->n, m->n);
    }
    return answer_flush(m->answers);
}

static shoal_status many_ask(const void *model, const struct asked_of *q, struct answers *a)
{
    struct many m = {.model = model, .n = logreg_outputs(model), .answers = a};
    struct each e = {.user = &m, .rows = say_rows, .unlabelled = true};

    return logreg_each(model, q->inputs, q->n, &q->opts->rows, &e, q->stats);
}

/* ---- how well ---- */

static shoal_status score_rows(struct each *e, double *z, const uint8_t *label,
                               const float *weight, size_t n)
{
    struct many *m = e->user;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        double *p = z + i * m->n, w = weight ? (double)weight[i] : 1;
        float scores[SHOAL_CLICKS_CLASSES];

        logreg_softmax(p, m->n);
        for (unsigned k = 0; k < m->n; k++)
            scores[k] = (float)p[k];
        st = classes_add(m->classes, scores, label[i]);
        if (st == SHOAL_OK)
            m->loss -= w * log(fmax(p[label[i]], SHOAL_LOG_LOSS_CLIP));
        m->weight += w;
    }
    return st;
}

static void class_name(const void *model, size_t i, char *name, size_t cap)
{
    if (logreg_class(model, i))
        snprintf(name, cap, "%s", logreg_class(model, i));
    else
        snprintf(name, cap, "%zu", i);
}

/* The loss of giving each row the classes' shares, in nats: their entropy. */
static double base_loss(const struct many *m, uint64_t rows)
{
    double sum = 0;

    for (unsigned k = 0; k < m->n; k++) {
        double share = (double)classes_counts(m->classes)[k].there / (double)rows;

        sum -= share > 0 ? share * log(share) : 0;
    }
    return sum;
}

static shoal_status report_score(const struct many *m, const char *path,
                                 const struct shoal_reporter *to)
{
    struct shoal_classes_score s;

    classes_score(m->classes, &s);
    report_begin(to, NULL);
    report_value(to, "model", NULL, VALUE_TEXT(path));
    report_value(to, "rows", "rows", VALUE_COUNT(s.examples));
    report_noted(to, "log_loss", "log-loss", VALUE_REAL(m->loss / m->weight),
                 "% by the classes' shares alone", VALUE_REAL(base_loss(m, s.examples)), NO_VALUE);
    report_value(to, "accuracy", "accuracy", VALUE_SHARE(s.top1));
    if (m->n > 5)
        report_value(to, "top5", "top-5", VALUE_SHARE(s.top5));
    report_noted(to, "macro_f1", "macro F1", VALUE_SHARE(s.macro_f1), "% weighted by rows",
                 VALUE_SHARE(s.weighted_f1), NO_VALUE);
    report_value(to, "weighted_f1", NULL, VALUE_SHARE(s.weighted_f1));
    report_classes(to, m->classes, m->n, class_name, m->model);
    return report_confusion(to, m->classes, m->n, class_name, m->model);
}

static shoal_status many_score(const void *model, const char *path, const struct asked_of *q,
                               const struct shoal_reporter *to)
{
    struct many m = {.model = model, .n = logreg_outputs(model)};
    struct each e = {.user = &m, .rows = score_rows};
    shoal_status st = classes_new(&m.classes, m.n);

    if (st == SHOAL_OK)
        st = logreg_each(model, q->inputs, q->n, &q->opts->rows, &e, q->stats);
    if (st == SHOAL_OK)
        st = report_score(&m, path, to);
    classes_free(m.classes);
    return st;
}

const struct kind kind_multinomial = {
    .name = "multinomial",
    .word = "multinomial",
    .what = "a click model",
    .formats = 1u << SHOAL_FORMAT_SHOAL,
    .linear = true,
    .read = logreg_read,
    .save = logreg_save,
    .classes = many_classes,
    .name_classes = many_name_classes,
    .describe = many_describe,
    .ask = many_ask,
    .score = many_score,
    .close = logreg_close,
};
