/* How well lines that are held out are told. They are summed in a fixed number of parts, so that
 * threads change no bit of the sum. */
#include "eval/eval.h"
#include "train/tasks/classify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 64 };

struct held_part {
    double loss;
    uint64_t right, labels;     /* lines whose likeliest label is one of theirs; labels of all */
    uint64_t there, said, hits; /* of the label that is asked about */
};

struct held_work {
    struct run *r;
    struct held_part part[PARTS];
    uint64_t lines;
    uint32_t label; /* that is asked about; SHOAL_NO_ID: none is */
    unsigned threads;
};

/* What a thread needs. */
struct held_room {
    uint32_t *rows;   /* [most] */
    const float **at; /* [most] */
    float *p;         /* [classes] */
    float *hidden;    /* [stride] */
};

static bool room_init(struct held_room *m, const struct classes_run *c)
{
    m->rows = mem_array(c->most, sizeof *m->rows);
    m->at = mem_array(c->most, sizeof(float *));
    m->p = mem_array(c->model.classes, sizeof *m->p);
    m->hidden = mem_map(table_bytes(1, c->model.dim));
    return m->rows && m->at && m->p && m->hidden;
}

static void room_fini(struct held_room *m, const struct classes_run *c)
{
    free(m->rows);
    free(m->at);
    free(m->p);
    mem_unmap(m->hidden, table_bytes(1, c->model.dim));
}

/* -log p of the labels; of those that stand by themselves, what each class costs. */
static double line_loss(const struct classify *c, const float *p, const uint32_t *label, size_t n)
{
    bool apart = c->loss == SHOAL_OVA || c->loss == SHOAL_NS;
    double loss = 0;

    for (uint32_t k = 0; apart && k < c->classes; k++)
        loss -= log(fmax(1 - (double)p[k], SHOAL_LOG_LOSS_CLIP));
    for (size_t i = 0; i < n; i++) {
        double own = log(fmax((double)p[label[i]], SHOAL_LOG_LOSS_CLIP));
        double other = log(fmax(1 - (double)p[label[i]], SHOAL_LOG_LOSS_CLIP));

        loss -= apart ? own - other : own / (double)n;
    }
    return loss;
}

static void answer_line(const struct run *r, struct held_room *m, const struct line_types *types,
                        const uint32_t *type, size_t ntypes)
{
    const struct classes_run *c = r->own;
    const struct table *in = &r->rows->tables[CLASSES_IN], *out = &r->rows->tables[CLASSES_OUT];
    struct classify_answer answer = {&c->model, out->at, out->stride, NULL};
    size_t n = line_rows_line(&c->features, types, type, ntypes, m->rows);

    for (size_t k = 0; k < n; k++)
        m->at[k] = in->at + m->rows[k] * in->stride;
    r->kernel->sum_rows(m->hidden, m->at, n, c->model.dim);
    r->kernel->scale(m->hidden, 1 / fmaxf((float)n, 1), c->model.dim);
    classify_answer(&answer, m->hidden, m->p);
}

static void count_line(struct held_part *sum, const struct held_work *w, const struct classify *c,
                       const float *p, const uint32_t *label, size_t n)
{
    uint32_t best = 0;
    bool right = false, there = false;

    for (uint32_t k = 1; k < c->classes; k++)
        best = p[k] > p[best] ? k : best;
    for (size_t i = 0; i < n; i++) {
        right |= label[i] == best;
        there |= label[i] == w->label;
    }
    sum->loss += line_loss(c, p, label, n);
    sum->right += right;
    sum->labels += n;
    sum->there += there;
    sum->said += best == w->label;
    sum->hits += there && best == w->label;
}

static void measure_part(struct held_work *w, struct held_room *m, unsigned part)
{
    const struct run *r = w->r;
    const struct classes_run *c = r->own;
    const shoal_labelled *l = c->held_lines;
    bool share = l == c->lines;

    for (uint64_t i = w->lines * part / PARTS; i < w->lines * (part + 1) / PARTS; i++) {
        size_t line = share ? split_held(&r->rows->split, (size_t)i) : (size_t)i;

        answer_line(r, m, share ? &c->types : &c->held_types, l->type + l->start[line],
                    l->start[line + 1] - l->start[line]);
        count_line(&w->part[part], w, &c->model, m->p, l->label + l->label_start[line],
                   l->label_start[line + 1] - l->label_start[line]);
    }
}

static shoal_status held_thread(void *ctx, unsigned index)
{
    struct held_work *w = ctx;
    struct held_room room;
    bool good = room_init(&room, w->r->own);

    for (unsigned part = index; good && part < PARTS; part += w->threads)
        measure_part(w, &room, part);
    room_fini(&room, w->r->own);
    return good ? SHOAL_OK : SHOAL_ENOMEM;
}

static double f1(uint64_t hits, uint64_t said, uint64_t there)
{
    return said + there > 0 ? 2 * (double)hits / (double)(said + there) : 0;
}

static void add_figures(struct run *r, const struct held_work *w)
{
    struct held_part all = {0};

    for (size_t i = 0; i < PARTS; i++) {
        all.loss += w->part[i].loss;
        all.right += w->part[i].right;
        all.labels += w->part[i].labels;
        all.there += w->part[i].there;
        all.said += w->part[i].said;
        all.hits += w->part[i].hits;
    }
    figures_add(&r->held, SHOAL_OF_VALIDATION, "loss", false, all.loss / (double)w->lines);
    figures_add(&r->held, SHOAL_OF_VALIDATION, "p@1", true, (double)all.right / (double)w->lines);
    if (strcmp(r->opts->autotune_metric, "f1") == 0)
        figures_add(&r->held, SHOAL_OF_VALIDATION, "f1", true, f1(all.right, w->lines, all.labels));
    if (w->label != SHOAL_NO_ID)
        figures_add(&r->held, SHOAL_OF_VALIDATION, r->opts->autotune_metric, true,
                    f1(all.hits, all.said, all.there));
}

shoal_status classes_evaluate(struct run *r)
{
    const struct classes_run *c = r->own;
    const char *metric = r->opts->autotune_metric;
    struct held_work *w = mem_array(1, sizeof *w);
    shoal_status st;

    if (!w)
        return SHOAL_ENOMEM;
    w->r = r;
    w->threads = r->threads;
    w->label = SHOAL_NO_ID;
    w->lines = c->held_lines == c->lines ? r->rows->split.held : c->held_lines->lines;
    if (strncmp(metric, "f1:", 3) == 0)
        w->label = classes_find_label(c->lines, metric + 3, strlen(metric + 3));
    st = w->lines > 0 ? pool_run(w->threads, held_thread, w) : SHOAL_OK;
    if (st == SHOAL_OK && w->lines > 0)
        add_figures(r, w);
    free(w);
    return st;
}

/* ---- what was learned ---- */

/* Of several labels that which was told, or else the first. */
static uint32_t own_label(const struct classify *c, const float *p, const uint32_t *label, size_t n)
{
    uint32_t best = 0;

    for (uint32_t k = 1; k < c->classes; k++)
        best = p[k] > p[best] ? k : best;
    for (size_t i = 0; i < n; i++)
        if (label[i] == best)
            return best;
    return label[0];
}

static shoal_status predict_lines(struct run *r, struct learned *l, struct predictions *p)
{
    const struct classes_run *c = r->own;
    const shoal_labelled *lines = l->held ? c->held_lines : c->lines;
    bool own = lines == c->lines;
    struct held_room room;
    shoal_status st = room_init(&room, c) ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < l->examples && st == SHOAL_OK; i++) {
        size_t line = learned_pick(i, l->examples, l->all);
        const uint32_t *label;
        size_t n;

        if (own)
            line = l->held ? split_held(&r->rows->split, line)
                           : split_learned(&r->rows->split, line);
        answer_line(r, &room, own ? &c->types : &c->held_types, lines->type + lines->start[line],
                    lines->start[line + 1] - lines->start[line]);
        label = lines->label + lines->label_start[line];
        n = lines->label_start[line + 1] - lines->label_start[line];
        st = predictions_add(p, room.p, own_label(&c->model, room.p, label, n));
    }
    room_fini(&room, c);
    return st;
}

/* For people: without the prefix that all labels of a file begin with. */
static const char *bare_label(const char *label, const char *prefix)
{
    size_t len = strlen(prefix);

    return strncmp(label, prefix, len) == 0 && label[len] ? label + len : label;
}

shoal_status classes_learned(struct run *r, struct learned *l)
{
    enum { ANSWERS = 40000000 }; /* classes times lines, at most: about a second */
    const struct classes_run *c = r->own;
    uint32_t classes = c->model.classes;
    const char **names = mem_array(classes, sizeof *names);
    struct predictions *p = NULL;
    uint64_t held = c->held_lines == c->lines ? r->rows->split.held
                    : c->held_lines           ? c->held_lines->lines
                                              : 0;
    uint64_t most = ANSWERS / classes < LEARNED_EXAMPLES ? ANSWERS / classes : LEARNED_EXAMPLES;
    shoal_status st = SHOAL_ENOMEM;

    if (classes < 2) {
        free(names);
        return SHOAL_OK;
    }
    l->held = held > 0;
    l->all = l->held ? held : r->rows->train;
    l->examples = l->all < most ? l->all : most;
    for (uint32_t k = 0; names && k < classes; k++)
        names[k] = bare_label(shoal_vocab_word(c->lines->labels, k), c->lines->reading.prefix);
    if (names)
        st = predictions_new(&p, classes, l->examples);
    if (st == SHOAL_OK)
        st = predict_lines(r, l, p);
    if (st == SHOAL_OK)
        st = learned_classes(l, p, names);
    predictions_free(p);
    free(names);
    return st;
}
