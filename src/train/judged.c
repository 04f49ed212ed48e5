/* What predictions of a classifier show: exhibits of who is taken for whom, of each class, of its
 * ranking and of its probabilities. */
#include "eval/eval.h"
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MATRIX_MOST = 20,  /* classes of a matrix that can be read */
    WORST = 20,        /* confusions that are listed instead */
    CLASSES_SHOWN = 50,
    CURVES_MOST = 6,    /* classes that have a curve each */
    CURVES_WORST = 3,   /* else so many, beside the mean of all */
    GRID = 100,        /* places of a mean curve */
};
#define CURVE_STEP 0.005

/* What is known of a class by its curves. */
struct ranked {
    uint32_t class;
    double auc, precision; /* areas; NaN: not known */
    double f1;             /* NaN: it was never met */
};

struct judged {
    struct learned *l;
    const struct predictions *p;
    const char *const *names;
    struct ranked *classes;                 /* [p->classes] */
    double roc[GRID + 1], pr[GRID + 1];     /* sums over classes that have such curves */
    size_t curves;
};

/* ---- who is taken for whom ---- */

static void add_matrix(struct judged *j)
{
    struct exhibit *e = learned_exhibit(j->l, EXHIBIT_MATRIX, "confusion", "Who is taken for whom");
    const uint64_t *matrix = classes_matrix(j->p->counts);
    unsigned n = j->p->classes;

    exhibit_note(e, "A row is a true class, a column what it was said to be. Colour: its share of "
                    "the row.");
    exhibit_column(e, "true class", COLUMN_WORD);
    exhibit_column(e, "predicted class", COLUMN_WORD);
    exhibit_column(e, "count", COLUMN_COUNT);
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < n; k++) {
            exhibit_row(j->l, e);
            exhibit_word(j->l, e, j->names[i]);
            exhibit_word(j->l, e, j->names[k]);
            exhibit_number(e, (double)matrix[(size_t)i * n + k]);
        }
}

struct pair_count {
    uint32_t true_class, said;
    uint64_t n;
};

/* Into a list that falls, of WORST. */
static void keep_worst(struct pair_count *worst, struct pair_count new)
{
    size_t at = WORST;

    while (at > 0 && new.n > worst[at - 1].n)
        at--;
    for (size_t i = WORST - 1; i > at; i--)
        worst[i] = worst[i - 1];
    if (at < WORST)
        worst[at] = new;
}

static void add_confusions(struct judged *j)
{
    const uint64_t *matrix = classes_matrix(j->p->counts);
    const struct class_counts *counts = classes_counts(j->p->counts);
    struct exhibit *e = learned_exhibit(j->l, EXHIBIT_TABLE, "confusions", "Who is taken for whom");
    struct pair_count worst[WORST] = {{0}};
    unsigned n = j->p->classes;

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            if (i != k)
                keep_worst(worst, (struct pair_count){i, k, matrix[(size_t)i * n + k]});
    exhibit_note(e, "The commonest confusions of %u classes.", n);
    exhibit_column(e, "true class", COLUMN_WORD);
    exhibit_column(e, "predicted class", COLUMN_WORD);
    exhibit_column(e, "examples", COLUMN_COUNT);
    exhibit_column(e, "share of the true class", COLUMN_BAR);
    for (size_t i = 0; i < WORST && worst[i].n > 0; i++) {
        exhibit_row(j->l, e);
        exhibit_word(j->l, e, j->names[worst[i].true_class]);
        exhibit_word(j->l, e, j->names[worst[i].said]);
        exhibit_number(e, (double)worst[i].n);
        exhibit_number(e, (double)worst[i].n / (double)counts[worst[i].true_class].there);
    }
}

/* ---- curves ---- */

/* A guide, by its two ends. */
static void add_guide(struct judged *j, struct exhibit *e, const char *name, double y0, double y1)
{
    for (int i = 0; i < 2; i++) {
        exhibit_row(j->l, e);
        exhibit_word(j->l, e, name);
        exhibit_number(e, i);
        exhibit_number(e, i ? y1 : y0);
        exhibit_number(e, 1);
    }
}

static void add_point(struct judged *j, struct exhibit *e, const char *name, double x, double y)
{
    exhibit_row(j->l, e);
    exhibit_word(j->l, e, name);
    exhibit_number(e, x);
    exhibit_number(e, y);
    exhibit_number(e, 0);
}

static void add_line(struct judged *j, struct exhibit *e, const char *name, const struct rank_curve *c)
{
    for (size_t i = 0; i < c->n; i++)
        add_point(j, e, name, c->x[i], c->y[i]);
}

typedef shoal_status make_curve(struct rank_curve *out, const struct predictions *s, uint32_t class);

static void draw_class(struct judged *j, struct exhibit *e, make_curve *make, uint32_t class,
                       bool alone)
{
    struct rank_curve c = {0};
    char name[96];

    if (j->l->status == SHOAL_OK)
        j->l->status = make(&c, j->p, class);
    snprintf(name, sizeof name, "%.80s", alone ? "model" : j->names[class]);
    curve_thin(&c, CURVE_STEP);
    add_line(j, e, name, &c);
    curve_fini(&c);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Which classes have a line, the worst ranked where there are too many, in the order of their
 * numbers; out [CURVES_MOST]. */
static size_t drawn_classes(const struct judged *j, uint32_t *out)
{
    size_t n = 0, most = j->p->classes <= CURVES_MOST ? CURVES_MOST : CURVES_WORST;

    if (j->p->classes == 2) {
        out[0] = 1;
        return 1;
    }
    while (n < most) {
        const struct ranked *next = NULL;

        for (uint32_t k = 0; k < j->p->classes; k++) {
            const struct ranked *r = &j->classes[k];
            bool taken = false;

            for (size_t i = 0; i < n; i++)
                taken |= out[i] == k;
            if (!taken && !isnan(r->auc) && (!next || r->auc < next->auc))
                next = r;
        }
        if (!next)
            break;
        out[n++] = next->class;
    }
    qsort(out, n, sizeof *out, by_number);
    return n;
}

static void add_curves(struct judged *j, struct exhibit *e, make_curve *make, const double *mean)
{
    uint32_t drawn[CURVES_MOST];
    size_t n = drawn_classes(j, drawn);

    for (int i = 0; i <= GRID && j->p->classes > 2; i++)
        add_point(j, e, "mean of all classes", (double)i / GRID, mean[i] / (double)j->curves);
    for (size_t i = 0; i < n; i++)
        draw_class(j, e, make, drawn[i], j->p->classes == 2);
    if (make == curve_roc && j->p->classes > CURVES_MOST)
        exhibit_note(e, "One class against all others, here and beside it: the mean, and the %d classes that are "
                        "told apart worst.", CURVES_WORST);
    else if (make == curve_roc && j->p->classes > 2)
        exhibit_note(e, "One class against all others, here and beside it.");
}

static struct exhibit *begin_curves(struct judged *j, const char *name, const char *title,
                                    const char *x, const char *y)
{
    struct exhibit *e = learned_exhibit(j->l, EXHIBIT_CURVES, name, title);

    exhibit_column(e, "line", COLUMN_WORD);
    exhibit_column(e, x, COLUMN_REAL);
    exhibit_column(e, y, COLUMN_REAL);
    exhibit_column(e, "guide", COLUMN_COUNT);
    return e;
}

static void add_rankings(struct judged *j)
{
    struct exhibit *e;

    if (j->curves == 0)
        return;
    e = begin_curves(j, "roc", "ROC", "false positive rate", "true positive rate");
    add_curves(j, e, curve_roc, j->roc);
    add_guide(j, e, "chance", 0, 1);
    e = begin_curves(j, "precision-recall", "Precision and recall", "recall", "precision");
    add_curves(j, e, curve_pr, j->pr);
}

/* The areas of each class, and the sums of all curves. */
static void rank_class(struct judged *j, uint32_t k)
{
    struct rank_curve roc = {0}, pr = {0};
    struct ranked *r = &j->classes[k];

    *r = (struct ranked){k, (double)NAN, (double)NAN, class_f1(&classes_counts(j->p->counts)[k])};
    if (!j->p->p || j->l->status != SHOAL_OK)
        return;
    j->l->status = curve_roc(&roc, j->p, k);
    if (j->l->status == SHOAL_OK)
        j->l->status = curve_pr(&pr, j->p, k);
    r->auc = roc.area;
    r->precision = pr.area;
    if (j->l->status == SHOAL_OK && !isnan(roc.area) && (j->p->classes > 2 || k == 1)) {
        for (int i = 0; i <= GRID; i++) {
            j->roc[i] += curve_at(&roc, (double)i / GRID);
            j->pr[i] += curve_at(&pr, (double)i / GRID);
        }
        j->curves++;
    }
    curve_fini(&roc);
    curve_fini(&pr);
}

/* ---- calibration ---- */

static void add_calibration(struct judged *j, const struct reliability *r)
{
    bool two = j->p->classes == 2;
    struct exhibit *e = begin_curves(j, "calibration", "Calibration",
                                     two ? "predicted probability" : "confidence",
                                     two ? "share of that class" : "accuracy");

    exhibit_note(e, "Do probabilities mean what they say? On the diagonal they do; below it the "
                    "model is too sure. Expected calibration error: %.3f.", r->error);
    for (size_t b = 0; b < RELIABILITY_BINS; b++)
        if (r->bin[b].n > 0)
            add_point(j, e, "model", r->bin[b].said, r->bin[b].right);
    add_guide(j, e, "perfect", 0, 1);
}

/* ---- the classes ---- */

static int worse_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    double u = isnan(x->f1) ? 2 : x->f1, v = isnan(y->f1) ? 2 : y->f1;

    return (u > v) - (u < v) ? (u > v) - (u < v) : (x->class > y->class) - (x->class < y->class);
}

static void add_class(struct judged *j, struct exhibit *e, const struct ranked *r)
{
    const struct class_counts *k = &classes_counts(j->p->counts)[r->class];

    exhibit_row(j->l, e);
    exhibit_word(j->l, e, j->names[r->class]);
    exhibit_number(e, (double)k->there);
    exhibit_number(e, class_precision(k));
    exhibit_number(e, class_recall(k));
    exhibit_number(e, class_f1(k));
    exhibit_number(e, r->auc);
    exhibit_number(e, r->precision);
}

static void add_classes(struct judged *j)
{
    struct exhibit *e = learned_exhibit(j->l, EXHIBIT_TABLE, "classes", "Each class");
    unsigned n = j->p->classes;

    exhibit_column(e, "class", COLUMN_WORD);
    exhibit_column(e, "examples", COLUMN_COUNT);
    exhibit_column(e, "precision", COLUMN_SHARE);
    exhibit_column(e, "recall", COLUMN_SHARE);
    exhibit_column(e, "F1", COLUMN_BAR);
    exhibit_column(e, "AUC", COLUMN_REAL);
    exhibit_column(e, "average precision", COLUMN_REAL);
    if (n > CLASSES_SHOWN) {
        qsort(j->classes, n, sizeof *j->classes, worse_first);
        exhibit_note(e, "The %d classes of %u with the lowest F1.", CLASSES_SHOWN, n);
    }
    for (unsigned i = 0; i < n && i < CLASSES_SHOWN; i++)
        if (n <= CLASSES_SHOWN || !isnan(j->classes[i].f1))
            add_class(j, e, &j->classes[i]);
}

static void add_figures(struct judged *j, const struct reliability *r)
{
    struct exhibit *e = learned_exhibit(j->l, EXHIBIT_FIGURES, "figures", "In figures");
    struct shoal_classes_score s;
    double auc = 0, precision = 0, n = (double)j->curves;

    classes_score(j->p->counts, &s);
    for (uint32_t k = j->p->classes == 2; k < j->p->classes; k++) {
        auc += isnan(j->classes[k].auc) ? 0 : j->classes[k].auc / n;
        precision += isnan(j->classes[k].precision) ? 0 : j->classes[k].precision / n;
    }
    exhibit_column(e, "accuracy", COLUMN_SHARE);
    exhibit_column(e, "mean F1", COLUMN_SHARE);
    exhibit_column(e, "AUC", COLUMN_REAL);
    exhibit_column(e, "average precision", COLUMN_REAL);
    exhibit_column(e, "log-loss", COLUMN_REAL);
    exhibit_column(e, "calibration error", COLUMN_REAL);
    exhibit_row(j->l, e);
    exhibit_number(e, s.top1);
    exhibit_number(e, s.macro_f1);
    exhibit_number(e, n > 0 ? auc : (double)NAN);
    exhibit_number(e, n > 0 ? precision : (double)NAN);
    exhibit_number(e, j->p->loss / (double)j->p->n);
    exhibit_number(e, r->error);
}

shoal_status learned_classes(struct learned *l, const struct predictions *p,
                             const char *const *names)
{
    struct judged j = {.l = l, .p = p, .names = names};
    struct reliability r;

    if (p->n == 0)
        return SHOAL_OK;
    j.classes = mem_array(p->classes, sizeof *j.classes);
    if (!j.classes)
        return SHOAL_ENOMEM;
    for (uint32_t k = 0; k < p->classes; k++)
        rank_class(&j, k);
    reliability_of(&r, p);
    add_figures(&j, &r);
    if (p->classes <= MATRIX_MOST)
        add_matrix(&j);
    else if (p->classes <= CLASSES_MATRIX)
        add_confusions(&j);
    add_rankings(&j);
    add_calibration(&j, &r);
    add_classes(&j); /* sorts them */
    free(j.classes);
    return l->status;
}
