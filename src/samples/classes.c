/* Labels become classes: whatever texts or numbers they are, the different ones are numbered, those
 * that are numbers by their size, then texts by their bytes. */
#include "samples/samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FEW = 20,   /* different labels that are classes, whatever they are */
    A_CLASS = 5 /* rows that a class has on average, where there are more */
};

struct label {
    char *name;    /* NULL: it is its number alone */
    double number; /* NaN: it is none */
};

/* Different labels, and which each row has. */
struct found {
    struct label *at;
    size_t n, cap;
    uint32_t *row; /* [rows] */
    size_t *place; /* [places] 1 + a label, by its hash; of texts */
    size_t places;
};

static void found_fini(struct found *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->at[i].name);
    free(f->at);
    free(f->row);
    free(f->place);
}

/* ---- texts ---- */

static shoal_status grow_places(struct found *f)
{
    size_t want = f->places ? 2 * f->places : 64, *place = mem_array(want, sizeof *place);

    if (!place)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < f->n; i++) {
        size_t at = (size_t)bytes_hash(3, f->at[i].name, strlen(f->at[i].name)) & (want - 1);

        while (place[at])
            at = (at + 1) & (want - 1);
        place[at] = i + 1;
    }
    free(f->place);
    f->place = place;
    f->places = want;
    return SHOAL_OK;
}

static shoal_status find_text(struct found *f, const char *name, double number, uint32_t *out)
{
    size_t at = (size_t)bytes_hash(3, name, strlen(name)) & (f->places - 1);
    shoal_status st;

    for (; f->place[at]; at = (at + 1) & (f->places - 1))
        if (strcmp(f->at[f->place[at] - 1].name, name) == 0) {
            *out = (uint32_t)(f->place[at] - 1);
            return SHOAL_OK;
        }
    st = mem_grow(&f->at, &f->cap, f->n + 1, sizeof *f->at);
    if (st != SHOAL_OK)
        return st;
    f->at[f->n] = (struct label){strdup(name), number};
    if (!f->at[f->n].name)
        return shoal_fail(SHOAL_ENOMEM, "samples: no memory for a label");
    f->place[at] = ++f->n;
    *out = (uint32_t)(f->n - 1);
    return 2 * f->n > f->places ? grow_places(f) : SHOAL_OK;
}

static shoal_status find_texts(struct found *f, const struct label_list *l)
{
    shoal_status st = grow_places(f);

    for (size_t i = 0; i < l->n && st == SHOAL_OK; i++) {
        char name[LABEL_TEXT];
        double number;

        if (l->text[i].len == 0)
            return shoal_fail(SHOAL_EFORMAT,
                              "%s:%zu: found no label in column \"%.40s\", want one, or "
                              "--label COLUMN for another",
                              l->path, l->lines[i], l->column ? l->column : "");
        number = label_spell(name, l->text[i].at, l->text[i].len);
        st = find_text(f, name, number, &f->row[i]);
    }
    return st;
}

/* ---- numbers ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static shoal_status find_numbers(struct found *f, const struct label_list *l)
{
    double *sorted = mem_array(l->n, sizeof *sorted);
    size_t n = 0;

    if (!sorted)
        return SHOAL_ENOMEM;
    memcpy(sorted, l->number, l->n * sizeof *sorted);
    qsort(sorted, l->n, sizeof *sorted, by_size);
    for (size_t i = 0; i < l->n; i++)
        if (i == 0 || sorted[i] > sorted[i - 1])
            sorted[n++] = sorted[i];
    f->at = mem_array(n, sizeof *f->at);
    for (f->n = 0; f->at && f->n < n; f->n++)
        f->at[f->n] = (struct label){NULL, sorted[f->n]};
    for (size_t i = 0; f->at && i < l->n; i++)
        f->row[i] =
            (uint32_t)((const double *)bsearch(&l->number[i], sorted, n, sizeof *sorted, by_size) -
                       sorted);
    free(sorted);
    return f->at ? SHOAL_OK : SHOAL_ENOMEM;
}

/* ---- too many ---- */

/* As 5, or as $1,250.00. */
static bool is_number(const struct label *l)
{
    static const struct column plain = {.comma = false};
    double x;

    return !isnan(l->number) ||
           column_number(&plain, (struct span){l->name, (uint32_t)strlen(l->name)}, &x);
}

/* Numbers that hardly ever come twice, or that are not whole, are something to predict. */
static shoal_status check_classes(const struct found *f, const struct label_list *l)
{
    bool numbers = true, whole = true;
    char column[64] = "";

    for (size_t i = 0; i < f->n; i++) {
        numbers &= is_number(&f->at[i]);
        whole &= f->at[i].number == floor(f->at[i].number);
    }
    if (l->column)
        snprintf(column, sizeof column, " \"%.40s\"", l->column);
    if (f->n > FEW && ((numbers && !whole) || f->n * A_CLASS > l->n || f->n > SAMPLES_MAX_CLASSES))
        return shoal_fail(SHOAL_EINVAL,
                          "%s: label%s has %zu different %s in %zu rows, too many "
                          "for classes; want %s--label COLUMN for another",
                          l->path, column, f->n, numbers ? "numbers" : "values", l->n,
                          numbers ? "--regression to predict numbers, or " : "");
    return SHOAL_OK;
}

/* ---- their order ---- */

struct ordered_label {
    const struct label *label;
    size_t i;
};

static int by_label(const void *a, const void *b)
{
    const struct label *x = ((const struct ordered_label *)a)->label;
    const struct label *y = ((const struct ordered_label *)b)->label;

    return x->name ? label_order(x->name, y->name)
                   : (x->number > y->number) - (x->number < y->number);
}

/* Whether classes are the numbers 0, 1, 2, ..., which need no names. */
static bool are_counted(const struct ordered_label *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(order[i].label->number == (double)i))
            return false;
    return true;
}

static shoal_status name_classes(shoal_samples *s, const struct ordered_label *order)
{
    char number[40];

    s->names = mem_array(s->classes, sizeof *s->names);
    for (size_t i = 0; s->names && i < s->classes; i++) {
        const struct label *l = order[i].label;

        if (!l->name)
            number_exact(number, sizeof number, l->number);
        s->names[i] = strdup(l->name ? l->name : number);
        if (!s->names[i])
            return shoal_fail(SHOAL_ENOMEM, "samples: no memory for a label");
    }
    return s->names ? SHOAL_OK : SHOAL_ENOMEM;
}

static shoal_status number_classes(shoal_samples *s, const struct found *f)
{
    struct ordered_label *order = mem_array(f->n, sizeof *order);
    uint32_t *class = mem_array(f->n, sizeof *class);
    shoal_status st = order && class ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < f->n && st == SHOAL_OK; i++)
        order[i] = (struct ordered_label){&f->at[i], i};
    if (st == SHOAL_OK) {
        qsort(order, f->n, sizeof *order, by_label);
        s->classes = f->n;
        st = are_counted(order, f->n) ? SHOAL_OK : name_classes(s, order);
    }
    for (size_t i = 0; i < f->n && st == SHOAL_OK; i++)
        class[order[i].i] = (uint32_t)i;
    for (size_t i = 0; i < s->n && st == SHOAL_OK; i++)
        s->label[i] = class[f->row[i]];
    free(order);
    free(class);
    return st;
}

/* ---- classes that are known ---- */

static shoal_status no_class(const struct label_list *l, size_t row, const struct label *label,
                             const struct shoal_samples_opts *o)
{
    char name[LABEL_TEXT] = "", where[32];

    if (label->name)
        snprintf(name, sizeof name, "%s", label->name);
    else
        number_exact(name, sizeof name, label->number);
    snprintf(where, sizeof where, l->lines ? ":%zu" : ": row %zu (from 0)",
             l->lines ? l->lines[row] : row);
    if (o->classes)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s%s: its label is \"%.40s\", want one of the %zu classes "
                          "from \"%.40s\" to \"%.40s\"",
                          l->path, where, name, o->nclasses, o->classes[0],
                          o->classes[o->nclasses - 1]);
    return shoal_fail(SHOAL_EFORMAT, "%s%s: its label is \"%.40s\", want a class from 0 to %zu",
                      l->path, where, name, o->nclasses - 1);
}

static bool find_class(const struct label *l, const struct shoal_samples_opts *o, uint32_t *out)
{
    char name[LABEL_TEXT];

    if (!o->classes) {
        *out = l->number >= 0 && l->number < (double)o->nclasses ? (uint32_t)l->number : 0;
        return (double)*out == l->number;
    }
    if (!l->name)
        number_exact(name, sizeof name, l->number);
    for (size_t i = 0; i < o->nclasses; i++)
        if (strcmp(o->classes[i], l->name ? l->name : name) == 0) {
            *out = (uint32_t)i;
            return true;
        }
    return false;
}

static shoal_status match_classes(shoal_samples *s, const struct found *f,
                                  const struct label_list *l, const struct shoal_samples_opts *o)
{
    uint32_t *class = mem_array(f->n, sizeof *class);
    shoal_status st = class ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < f->n && st == SHOAL_OK; i++)
        if (!find_class(&f->at[i], o, &class[i])) {
            size_t row = 0;

            while (f->row[row] != i)
                row++;
            st = no_class(l, row, &f->at[i], o);
        }
    for (size_t i = 0; i < s->n && st == SHOAL_OK; i++)
        s->label[i] = class[f->row[i]];
    s->classes = o->nclasses;
    free(class);
    return st;
}

/* ---- all of it ---- */

shoal_status samples_take_classes(shoal_samples *s, const struct label_list *l,
                                  const struct shoal_samples_opts *o)
{
    struct found f = {.row = mem_array(l->n, sizeof *f.row)};
    shoal_status st = f.row ? SHOAL_OK : SHOAL_ENOMEM;

    s->label = mem_array(s->n, sizeof *s->label);
    if (!s->label)
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = l->text ? find_texts(&f, l) : find_numbers(&f, l);
    if (st == SHOAL_OK && o->nclasses > 0) {
        st = match_classes(s, &f, l, o);
    } else if (st == SHOAL_OK) {
        st = check_classes(&f, l);
        if (st == SHOAL_OK)
            st = number_classes(s, &f);
    }
    found_fini(&f);
    return st;
}
