/* What predictions of numbers show: exhibits of how far they are from the truth, and where. */
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DRAWN = 400,   /* samples of a picture: more are a blot */
    PICTURED = 3,  /* targets that have pictures, whose files are named by a letter */
};

/* How a target is told. */
struct fit {
    double r2;        /* 1 - the squared error of the model / that of the mean; NaN: all are equal */
    double rmse, mae; /* in the units of the target */
    double base;      /* the RMSE of the mean alone */
    double half, most; /* the error that half of all, and nine of ten, are within */
    double least, greatest; /* of the truth */
};

struct fitted {
    struct learned *l;
    const float *said, *truth; /* [n][targets] */
    size_t n, targets;
    const char *const *names; /* [targets] */
};

static double truth_of(const struct fitted *f, size_t i, size_t target)
{
    return (double)f->truth[i * f->targets + target];
}

static double said_of(const struct fitted *f, size_t i, size_t target)
{
    return (double)f->said[i * f->targets + target];
}

static int smaller_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* errors [n]: room. */
static struct fit fit_of(const struct fitted *f, size_t target, double *errors)
{
    struct fit fit = {.least = INFINITY, .greatest = -INFINITY};
    double n = (double)f->n, mean = 0, squares = 0, spread = 0;

    for (size_t i = 0; i < f->n; i++)
        mean += truth_of(f, i, target) / n;
    for (size_t i = 0; i < f->n; i++) {
        double y = truth_of(f, i, target);

        errors[i] = fabs(said_of(f, i, target) - y);
        fit.mae += errors[i] / n;
        squares += errors[i] * errors[i];
        spread += (y - mean) * (y - mean);
        fit.least = fmin(fit.least, y);
        fit.greatest = fmax(fit.greatest, y);
    }
    qsort(errors, f->n, sizeof *errors, smaller_first);
    fit.half = errors[f->n / 2];
    fit.most = errors[f->n * 9 / 10];
    fit.rmse = sqrt(squares / n);
    fit.base = sqrt(spread / n);
    fit.r2 = spread > 0 ? 1 - squares / spread : (double)NAN;
    return fit;
}

/* ---- exhibits ---- */

static void add_columns(struct exhibit *e)
{
    static const char *const heads[] = {"R²", "RMSE", "mean absolute error", "half are within",
                                        "nine of ten are within", "RMSE of the mean alone"};

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        exhibit_column(e, heads[i], COLUMN_REAL);
}

static void add_numbers(struct exhibit *e, const struct fit *fit)
{
    const double numbers[] = {fit->r2, fit->rmse, fit->mae, fit->half, fit->most, fit->base};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        exhibit_number(e, numbers[i]);
}

static void add_figures(const struct fitted *f, const struct fit *fits)
{
    struct exhibit *e;

    if (f->targets == 1) {
        e = learned_exhibit(f->l, EXHIBIT_FIGURES, "figures", "Figures");
        add_columns(e);
        exhibit_row(f->l, e);
        add_numbers(e, fits);
        return;
    }
    e = learned_exhibit(f->l, EXHIBIT_TABLE, "targets", "Each target");
    exhibit_column(e, "target", COLUMN_WORD);
    add_columns(e);
    for (size_t t = 0; t < f->targets; t++) {
        exhibit_row(f->l, e);
        exhibit_word(f->l, e, f->names[t]);
        add_numbers(e, &fits[t]);
    }
}

static void add_point(struct learned *l, struct exhibit *e, const char *line, double x, double y,
                      bool guide)
{
    exhibit_row(l, e);
    exhibit_word(l, e, line);
    exhibit_number(e, x);
    exhibit_number(e, y);
    exhibit_number(e, guide);
}

/* A picture of a target: the prediction, or how far it is off, against the truth. */
static void add_picture(const struct fitted *f, size_t target, const struct fit *fit, bool off)
{
    struct exhibit *e;
    char name[24], title[96], axis[40];
    size_t n = f->n < DRAWN ? f->n : DRAWN;

    snprintf(name, sizeof name, "%s-%c", off ? "residuals" : "predicted", (char)('a' + target));
    snprintf(title, sizeof title, "%s: %.60s", off ? "Residuals" : "Predicted against true",
             f->names[target]);
    e = learned_exhibit(f->l, EXHIBIT_POINTS, name, title);
    if (off)
        exhibit_note(e, "Above the line too much was said, below it too little. A slope or a curve "
                        "is what the model has not learned; a fan is a spread that grows.");
    snprintf(axis, sizeof axis, "true %.32s", f->names[target]);
    exhibit_column(e, "line", COLUMN_WORD);
    exhibit_column(e, axis, COLUMN_REAL);
    exhibit_column(e, off ? "predicted - true" : "predicted", COLUMN_REAL);
    exhibit_column(e, "guide", COLUMN_COUNT);
    for (size_t i = 0; i < n; i++) {
        size_t at = learned_pick(i, n, f->n);
        double y = truth_of(f, at, target), said = said_of(f, at, target);

        add_point(f->l, e, "samples", y, off ? said - y : said, false);
    }
    for (int i = 0; i < 2; i++) {
        double y = i ? fit->greatest : fit->least;

        add_point(f->l, e, "without an error", y, off ? 0 : y, true);
    }
}

shoal_status learned_numbers(struct learned *l, const float *said, const float *truth, size_t n,
                             size_t targets, const char *const *names)
{
    struct fitted f = {l, said, truth, n, targets, names};
    double *errors = mem_array(n + 1, sizeof *errors);
    struct fit *fits = mem_array(targets + 1, sizeof *fits);
    bool room = errors && fits;

    for (size_t t = 0; t < targets && room && n > 0; t++)
        fits[t] = fit_of(&f, t, errors);
    if (room && n > 0 && targets > 0) {
        add_figures(&f, fits);
        for (size_t t = 0; t < targets && t < PICTURED; t++) {
            add_picture(&f, t, &fits[t], false);
            add_picture(&f, t, &fits[t], true);
        }
    }
    free(errors);
    free(fits);
    return room ? l->status : SHOAL_ENOMEM;
}
