/* What a linear model of sparse rows learned: how well it tells rows, and its largest weights. */
#include "eval/eval.h"
#include "train/tasks/sparse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TOP = 15,           /* weights on each side, of one output; */
    TOP_OF_CLASS = 6,   /* those of a class, */
    CLASSES_SHOWN = 30, /* of so many classes */
    RARE = 5,           /* what is rarer says little, where there are */
    MANY = 200,         /* so many features */
};

/* ---- rows ---- */

static shoal_status predict_rows(struct run *r, struct learned *l, struct predictions *p)
{
    const struct sparse *s = r->own;
    const struct sparse_model *m = (const struct sparse_model *)(const void *)r->task->rows;
    const struct clicks_view *v = l->held ? &s->held : s->rows;
    float out[SHOAL_CLICKS_CLASSES];
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < l->examples && st == SHOAL_OK; i++) {
        size_t at = learned_pick(i, l->examples, l->all);
        uint64_t row = l->held ? sparse_held_row(s, at) : split_learned(&s->linear.split, at);

        m->probabilities(r, v, row, out);
        st = predictions_add(p, out, v->label[row]);
    }
    return st;
}

/* ---- weights ---- */

struct top_weight {
    uint32_t id;
    float weight;
};

/* Into a list of `most` that falls by sign x weight. */
static void keep_top(struct top_weight *top, size_t *n, size_t most, struct top_weight new,
                     float sign)
{
    size_t at = *n;

    if (!(sign * new.weight > 0))
        return;
    while (at > 0 && sign * new.weight > sign * top[at - 1].weight)
        at--;
    if (at == most)
        return;
    *n += *n < most;
    for (size_t i = *n - 1; i > at; i--)
        top[i] = top[i - 1];
    top[at] = new;
}

/* The largest weights of output k, on one side. */
static size_t find_top(const struct run *r, unsigned k, float sign, struct top_weight *top,
                       size_t most)
{
    const struct sparse *s = r->own;
    const struct sparse_model *m = (const struct sparse_model *)(const void *)r->task->rows;
    float all[SHOAL_CLICKS_CLASSES], lr = sparse_lr(r);
    size_t n = 0;

    for (uint32_t id = 0; id < s->rows->features; id++) {
        if (s->rows->features > MANY && s->rows->count[id] < RARE)
            continue;
        m->weights(&s->linear, &r->rows->tables[SPARSE_WEIGHTS], id, lr, false, all);
        keep_top(top, &n, most, (struct top_weight){id, all[k]}, sign);
    }
    return n;
}

static void add_feature(const struct sparse *s, struct learned *l, struct exhibit *e, uint32_t id)
{
    const char *name = shoal_clicks_name(s->data, id);
    char slot[32];

    snprintf(slot, sizeof slot, "slot %u", s->rows->slot[id]);
    exhibit_word(l, e, name ? name : slot);
}

static void add_side(const struct sparse *s, struct learned *l, struct exhibit *e,
                     const struct top_weight *w)
{
    exhibit_row(l, e);
    add_feature(s, l, e, w->id);
    exhibit_number(e, (double)w->weight);
    exhibit_number(e, (double)s->rows->count[w->id]);
}

static void add_weights(const struct run *r, struct learned *l)
{
    const struct sparse *s = r->own;
    struct exhibit *e = learned_exhibit(l, EXHIBIT_TABLE, "weights", "The largest weights");
    struct top_weight top[TOP];
    size_t n = find_top(r, 0, 1, top, TOP);

    exhibit_note(e, "A feature with a weight above 0 speaks for class %s, below 0 against it.",
                 shoal_clicks_label(s->data, 1) ? shoal_clicks_label(s->data, 1) : "1");
    exhibit_column(e, "feature", COLUMN_WORD);
    exhibit_column(e, "weight", COLUMN_SIGNED);
    exhibit_column(e, "rows", COLUMN_COUNT);
    for (size_t i = 0; i < n; i++)
        add_side(s, l, e, &top[i]);
    n = find_top(r, 0, -1, top, TOP);
    while (n > 0)
        add_side(s, l, e, &top[--n]);
}

static void add_class_weights(const struct run *r, struct learned *l, const char *const *names,
                              const struct predictions *p)
{
    const struct sparse *s = r->own;
    struct exhibit *e =
        learned_exhibit(l, EXHIBIT_ANSWERS, "weights", "What speaks for each class");
    unsigned shown = s->rows->classes < CLASSES_SHOWN ? s->rows->classes : CLASSES_SHOWN;

    exhibit_note(e, "The features with the largest weights.");
    exhibit_column(e, "class", COLUMN_WORD);
    exhibit_column(e, "examples", COLUMN_COUNT);
    exhibit_column(e, "features", COLUMN_WORD);
    exhibit_column(e, "weight", COLUMN_REAL);
    for (unsigned k = 0; k < shown; k++) {
        struct top_weight top[TOP_OF_CLASS];
        size_t n = find_top(r, k, 1, top, TOP_OF_CLASS);

        for (size_t i = 0; i < n; i++) {
            exhibit_row(l, e);
            exhibit_word(l, e, names[k]);
            exhibit_number(e, (double)classes_counts(p->counts)[k].there);
            add_feature(s, l, e, top[i].id);
            exhibit_number(e, (double)top[i].weight);
        }
    }
}

/* ---- both ---- */

shoal_status sparse_learned(struct run *r, struct learned *l)
{
    enum { DIGITS = sizeof "4294967295" };
    const struct sparse *s = r->own;
    const struct sparse_model *m = (const struct sparse_model *)(const void *)r->task->rows;
    unsigned classes = m->classes ? s->rows->classes : 2;
    const char *names[SHOAL_CLICKS_CLASSES];
    char numbers[SHOAL_CLICKS_CLASSES][DIGITS];
    struct predictions *p = NULL;
    shoal_status st;

    for (unsigned k = 0; k < classes; k++) {
        snprintf(numbers[k], DIGITS, "%u", k);
        names[k] = shoal_clicks_label(s->data, k) ? shoal_clicks_label(s->data, k) : numbers[k];
    }
    l->held = s->nheld > 0;
    l->all = l->held ? s->nheld : r->rows->train;
    l->examples = l->all < LEARNED_EXAMPLES ? l->all : LEARNED_EXAMPLES;
    st = predictions_new(&p, classes, l->examples);
    if (st == SHOAL_OK)
        st = predict_rows(r, l, p);
    if (st == SHOAL_OK)
        st = learned_classes(l, p, names);
    if (st == SHOAL_OK && m->classes)
        add_class_weights(r, l, names, p);
    else if (st == SHOAL_OK)
        add_weights(r, l);
    predictions_free(p);
    return st;
}
