/* How well a classifier tells the labels of lines. */
#include "saved/classify/classify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct scoring {
    const shoal_classifier *model;
    const shoal_labelled *lines;
    struct line_types types;
    size_t k;
    double threshold;
    unsigned threads;
    uint32_t *top; /* [lines][k] the likeliest classes; SHOAL_NO_ID: fewer */
    float *loss;   /* [lines] of its labels */
    uint64_t *start; /* [lines + 1] where the labels of a line begin, each once */
    uint32_t *label; /* [start[lines]] */
};

/* ---- labels ---- */

/* A label that stands in a line twice is one, or a right answer would count as two. */
static shoal_status take_labels(struct scoring *s)
{
    const shoal_labelled *l = s->lines;
    uint64_t *last = mem_array(s->model->classes.classes, sizeof *last); /* line + 1 */
    uint64_t n = 0;
    bool whole;

    s->start = mem_array(l->lines + 1, sizeof *s->start);
    s->label = mem_array(l->label_start[l->lines] + 1, sizeof *s->label);
    whole = last && s->start && s->label;
    for (size_t line = 0; whole && line < l->lines; line++) {
        for (uint64_t i = l->label_start[line]; i < l->label_start[line + 1]; i++) {
            if (last[l->label[i]] == line + 1)
                continue;
            last[l->label[i]] = line + 1;
            s->label[n++] = l->label[i];
        }
        s->start[line + 1] = n;
    }
    free(last);
    return whole ? SHOAL_OK : SHOAL_ENOMEM;
}

/* ---- answers ---- */

/* The mean of -log p of a line's labels. */
static float loss_of(const struct class_asker *a, const uint32_t *label, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum -= log(fmax((double)a->p[label[i]], SHOAL_LOG_LOSS_CLIP));
    return (float)(sum / (double)n);
}

static shoal_status score_line(struct scoring *s, struct class_asker *a, uint32_t *rows, size_t line)
{
    const shoal_labelled *l = s->lines;
    uint32_t *top = s->top + line * s->k;
    size_t found = 0, n = line_rows_line(&s->model->features, &s->types, l->type + l->start[line],
                                        l->start[line + 1] - l->start[line], rows);
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < s->k; i++)
        top[i] = SHOAL_NO_ID;
    if (n > 0)
        st = class_asker_rows(a, rows, n);
    for (uint32_t c = 0; n == 0 && c < s->model->classes.classes; c++)
        a->p[c] = 1 / (float)s->model->classes.classes;
    if (st == SHOAL_OK)
        found = n > 0 ? class_asker_best(a, s->k, s->threshold) : 0;
    for (size_t i = 0; i < found; i++)
        top[i] = a->guess[i].label;
    s->loss[line] = loss_of(a, s->label + s->start[line], s->start[line + 1] - s->start[line]);
    return st;
}

static shoal_status score_thread(void *ctx, unsigned index)
{
    struct scoring *s = ctx;
    size_t from = s->lines->lines * index / s->threads;
    size_t to = s->lines->lines * (index + 1) / s->threads;
    uint32_t *rows =
        mem_array(line_rows_most(&s->model->features, &s->types, s->lines), sizeof *rows);
    struct class_asker a = {0};
    shoal_status st = rows ? class_asker_init(&a, s->model) : SHOAL_ENOMEM;

    for (size_t i = from; i < to && st == SHOAL_OK; i++)
        st = score_line(s, &a, rows, i);
    class_asker_fini(&a);
    free(rows);
    return st;
}

/* ---- the report ---- */

static void class_name(const void *model, size_t i, char *name, size_t cap)
{
    snprintf(name, cap, "%s", classifier_name(model, i));
}

/* Of the first k answers of all lines: how many there are, and how many are labels. */
static void count_hits(const struct scoring *s, size_t k, uint64_t *said, uint64_t *hits)
{
    *said = *hits = 0;
    for (size_t line = 0; line < s->lines->lines; line++)
        for (size_t i = 0; i < k && s->top[line * s->k + i] != SHOAL_NO_ID; i++) {
            ++*said;
            for (uint64_t j = s->start[line]; j < s->start[line + 1]; j++)
                *hits += s->label[j] == s->top[line * s->k + i];
        }
}

static void report_at(const struct scoring *s, const struct shoal_reporter *to, size_t k)
{
    uint64_t said, hits, labels = s->start[s->lines->lines];
    char key[2][48], label[2][48];

    count_hits(s, k, &said, &hits);
    for (int i = 0; i < 2; i++) {
        snprintf(key[i], sizeof key[i], "%s_at_%zu", i ? "recall" : "precision", k);
        snprintf(label[i], sizeof label[i], "%s@%zu", i ? "R" : "P", k);
    }
    report_value(to, key[0], label[0], VALUE_SHARE((double)hits / (double)said));
    report_value(to, key[1], label[1], VALUE_SHARE((double)hits / (double)labels));
}

static shoal_status report_score(const struct scoring *s, const char *path, struct classes *c,
                                 const struct shoal_reporter *to)
{
    const shoal_labelled *l = s->lines;
    unsigned n = s->model->classes.classes;
    struct shoal_classes_score score;
    double loss = 0;

    for (size_t i = 0; i < l->lines; i++) {
        loss += (double)s->loss[i];
        classes_add_labels(c, s->top[i * s->k], s->label + s->start[i],
                           s->start[i + 1] - s->start[i]);
    }
    classes_score(c, &score);
    report_begin(to, NULL);
    report_value(to, "model", NULL, VALUE_TEXT(path));
    report_value(to, "lines", "lines", VALUE_COUNT(l->lines));
    report_at(s, to, 1);
    if (s->k > 1)
        report_at(s, to, s->k);
    report_value(to, "log_loss", "log-loss", VALUE_REAL(loss / (double)l->lines));
    report_noted(to, "macro_f1", "macro F1", VALUE_SHARE(score.macro_f1), "% weighted by lines",
                 VALUE_SHARE(score.weighted_f1), NO_VALUE);
    report_value(to, "weighted_f1", NULL, VALUE_SHARE(score.weighted_f1));
    report_classes(to, c, n, class_name, s->model);
    return report_confusion(to, c, n, class_name, s->model);
}

static shoal_status score_lines(struct scoring *s, const char *path,
                                const struct shoal_reporter *to)
{
    struct classes *c = NULL;
    shoal_status st = line_types_make(&s->types, &s->model->features, s->lines->types,
                                      s->model->words);

    s->top = mem_array(s->lines->lines * s->k, sizeof *s->top);
    s->loss = mem_array(s->lines->lines, sizeof *s->loss);
    if (st == SHOAL_OK && (!s->top || !s->loss))
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = take_labels(s);
    if (st == SHOAL_OK)
        st = pool_run(s->threads, score_thread, s);
    if (st == SHOAL_OK)
        st = classes_new(&c, s->model->classes.classes);
    if (st == SHOAL_OK)
        st = report_score(s, path, c, to);
    classes_free(c);
    line_types_fini(&s->types);
    free(s->top);
    free(s->loss);
    free(s->start);
    free(s->label);
    return st;
}

shoal_status classifier_score(const void *model, const char *path, const struct asked_of *q,
                              const struct shoal_reporter *to)
{
    const shoal_classifier *m = model;
    struct labelled_like like = {m->labels, &m->reading};
    struct shoal_labelled_opts opts = shoal_labelled_default();
    shoal_labelled *lines = NULL;
    size_t k = q->opts->nearest > 0 ? (size_t)q->opts->nearest : 1;
    struct scoring s = {.model = m, .k = k < m->classes.classes ? k : m->classes.classes,
                        .threshold = q->opts->threshold,
                        .threads = pool_threads(q->opts->words.threads)};
    shoal_status st;

    opts.threads = q->opts->words.threads;
    st = labelled_read(&lines, &(struct sources){.paths = q->inputs, .n = q->n}, &opts, &like, NULL);
    s.lines = lines;
    if (st == SHOAL_OK)
        st = score_lines(&s, path, to);
    shoal_labelled_close(lines);
    return st;
}
