/* Reports, as they are filled in. */
#include "saved/kind.h"

#include <stdlib.h>

struct filled {
    struct shoal_model_report is;
    struct shoal_fact *facts;
    struct shoal_column *columns;
    struct shoal_value *cells;
    unsigned char *marks;
    size_t facts_cap, cells_cap, marks_cap;
};

struct shoal_model_reports {
    struct filled *at; /* [n] */
    size_t n, cap;
    char **texts; /* [ntexts] all that reports point at */
    size_t ntexts, texts_cap;
    const char *model, *list;
    shoal_status st;
};

shoal_status reports_new(struct shoal_model_reports **out)
{
    *out = mem_array(1, sizeof **out);
    return *out ? SHOAL_OK : SHOAL_ENOMEM;
}

shoal_status reports_end(const struct shoal_model_reports *r)
{
    return r->st;
}

void reports_fail(struct shoal_model_reports *r, shoal_status st)
{
    r->st = r->st == SHOAL_OK ? st : r->st;
}

void shoal_model_reports_free(shoal_model_reports *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n; i++) {
        free(r->at[i].facts);
        free(r->at[i].columns);
        free(r->at[i].cells);
        free(r->at[i].marks);
    }
    for (size_t i = 0; i < r->ntexts; i++)
        free(r->texts[i]);
    free(r->texts);
    free(r->at);
    free(r);
}

size_t shoal_model_reports_size(const shoal_model_reports *r)
{
    return r->n;
}

const struct shoal_model_report *shoal_model_reports_at(const shoal_model_reports *r, size_t i)
{
    return i < r->n ? &r->at[i].is : NULL;
}

bool shoal_model_reports_list(const shoal_model_reports *r, const char **model, const char **list)
{
    *model = r->model;
    *list = r->list;
    return r->list != NULL;
}

void reports_set_list(struct shoal_model_reports *r, const char *model, const char *list)
{
    r->model = model;
    r->list = list;
}

/* Room for `need` more elements of the last report's; false when there is none. */
static bool room(struct shoal_model_reports *r, void *array, size_t *cap, size_t need, size_t size)
{
    if (r->st == SHOAL_OK)
        r->st = mem_grow(array, cap, need, size);
    return r->st == SHOAL_OK;
}

static const char *copy(struct shoal_model_reports *r, const char *text)
{
    if (!text || !room(r, &r->texts, &r->texts_cap, r->ntexts + 1, sizeof *r->texts))
        return NULL;
    r->texts[r->ntexts] = mem_array(strlen(text) + 1, 1);
    if (!r->texts[r->ntexts]) {
        r->st = SHOAL_ENOMEM;
        return NULL;
    }
    return strcpy(r->texts[r->ntexts++], text);
}

static struct filled *last(struct shoal_model_reports *r)
{
    return &r->at[r->n - 1];
}

void report_begin(struct shoal_model_reports *r, const char *title)
{
    if (!room(r, &r->at, &r->cap, r->n + 1, sizeof *r->at))
        return;
    r->at[r->n] = (struct filled){.is = {.title = copy(r, title)}};
    r->n += r->st == SHOAL_OK;
}

static void keep_text(struct shoal_model_reports *r, struct shoal_value *v)
{
    if (v->type == SHOAL_TEXT)
        v->text = copy(r, v->text);
}

void report_fact(struct shoal_model_reports *r, struct shoal_fact fact)
{
    struct filled *f;

    fact.label = copy(r, fact.label);
    keep_text(r, &fact.value);
    for (size_t i = 0; i < 2; i++)
        keep_text(r, &fact.with[i]);
    if (r->st != SHOAL_OK)
        return;
    f = last(r);
    if (!room(r, &f->facts, &f->facts_cap, f->is.nfacts + 1, sizeof *f->facts))
        return;
    f->facts[f->is.nfacts++] = fact;
    f->is.facts = f->facts;
}

void report_value(struct shoal_model_reports *r, const char *key, const char *label,
                  struct shoal_value value)
{
    report_fact(r, (struct shoal_fact){.key = key, .label = label, .value = value});
}

void report_text(struct shoal_model_reports *r, const char *key, const char *label,
                 const char *text)
{
    report_value(r, key, label, VALUE_TEXT(text));
}

void report_warn(struct shoal_model_reports *r, const char *note, struct shoal_value first,
                 struct shoal_value second)
{
    struct shoal_model_report *is = r->st == SHOAL_OK ? &last(r)->is : NULL;

    keep_text(r, &first);
    keep_text(r, &second);
    if (!is)
        return;
    is->warning = note;
    is->warning_with[0] = first;
    is->warning_with[1] = second;
}

void report_grid(struct shoal_model_reports *r, const char *key, const struct shoal_column *columns,
                 size_t n)
{
    size_t cap = 0;
    struct filled *f;

    if (r->st != SHOAL_OK)
        return;
    f = last(r);
    if (!room(r, &f->columns, &cap, n, sizeof *f->columns))
        return;
    for (size_t i = 0; i < n; i++) {
        f->columns[i] = columns[i];
        f->columns[i].label = copy(r, columns[i].label);
    }
    f->is.grid = key;
    f->is.columns = f->columns;
    f->is.ncolumns = n;
}

void report_row(struct shoal_model_reports *r, const struct shoal_value *cells, unsigned char mark)
{
    struct filled *f = r->st == SHOAL_OK ? last(r) : NULL;
    size_t n = f ? f->is.ncolumns : 0, at = f ? f->is.nrows * n : 0;

    if (!f || !room(r, &f->cells, &f->cells_cap, at + n, sizeof *f->cells) ||
        !room(r, &f->marks, &f->marks_cap, f->is.nrows + 1, 1))
        return;
    for (size_t i = 0; i < n; i++) {
        f->cells[at + i] = cells[i];
        keep_text(r, &f->cells[at + i]);
    }
    f->marks[f->is.nrows++] = mark;
    f->is.cells = f->cells;
    f->is.marks = f->marks;
}
