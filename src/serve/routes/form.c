/* What a model may be asked with, for whoever makes a form of it: GET /models/NAME/form. */
#include "columns/columns.h"
#include "serve/server.h"

#include <math.h>
#include <stdio.h>

/* So that a wide table does not become a large answer. */
enum { COLUMNS_TOLD = 100, VALUES_TOLD = 24, CLASSES_TOLD = 1000, CLASS_TEXT = 256 };

static void put_values(struct writer *w, const struct column *c)
{
    member_open(w, "values", '[');
    for (size_t k = 0; k < c->values && k < VALUES_TOLD; k++) {
        put_open(w, '{');
        member_text(w, "text", c->value[k].text);
        member_u64(w, "count", c->value[k].count);
        put_close(w, "}");
    }
    put_close(w, "]");
}

static void put_column(struct writer *w, const struct column *c)
{
    put_open(w, '{');
    member_text(w, "name", c->name);
    member_text(w, "kind", shoal_column_kind_name(c->kind));
    member_u64(w, "missing", c->missing);
    if (c->kind == SHOAL_COLUMN_NUMBER && isfinite(c->min)) {
        member_flag(w, "whole", c->whole);
        member_double(w, "min", c->min);
        member_double(w, "max", c->max);
        member_double(w, "mean", c->mean);
        member_double(w, "sd", c->sd);
    }
    if (c->kind == SHOAL_COLUMN_CATEGORY || c->kind == SHOAL_COLUMN_LABEL)
        put_values(w, c);
    put_close(w, "}");
}

static void put_columns(struct writer *w, const struct shoal_columns *c)
{
    const char delimiter[2] = {c->dialect.delimiter, '\0'};

    member_text(w, "delimiter", delimiter);
    member_u64(w, "width", c->n);
    member_open(w, "columns", '[');
    for (size_t i = 0; i < c->n && i < COLUMNS_TOLD; i++)
        put_column(w, &c->at[i]);
    put_close(w, "]");
}

static void put_linear(struct writer *w, const shoal_logreg *m)
{
    struct shoal_clicks_opts reading = shoal_logreg_reading(m);
    size_t outputs = logreg_outputs(m);

    member_text(w, "format", shoal_clicks_format_name(reading.format));
    member_open(w, "classes", '[');
    for (size_t k = 0; outputs > 1 && k < outputs && k < CLASSES_TOLD; k++) {
        char number[24];

        snprintf(number, sizeof number, "%zu", k);
        put_text(w, logreg_class(m, k) ? logreg_class(m, k) : number);
    }
    put_close(w, "]");
    if (reading.columns)
        put_columns(w, reading.columns);
    put_examples(w, m);
}

static void put_net(struct writer *w, const shoal_net *t)
{
    char name[CLASS_TEXT];

    member_u64(w, "inputs", shoal_net_inputs(t));
    member_u64(w, "outputs", shoal_net_outputs(t));
    member_open(w, "classes", '[');
    for (size_t k = 0; shoal_net_classes(t) && k < shoal_net_outputs(t) && k < CLASSES_TOLD; k++) {
        shoal_net_class(t, k, name, sizeof name);
        put_text(w, name);
    }
    put_close(w, "]");
    if (t->columns)
        put_columns(w, t->columns);
}

void route_form(struct request *q)
{
    struct writer *w = &q->answer.body;
    const shoal_model *saved;
    const char *kind;

    if (!request_lease(q, request_segment(q, 1), query_get(&q->query, "version")))
        return;
    saved = q->lease.generation->saved;
    kind = q->lease.generation->kind->name;
    q->answer.status = 200;
    put_open(w, '{');
    member_text(w, "kind", kind);
    if (model_linear(saved))
        put_linear(w, model_linear(saved));
    else if (strcmp(kind, "net") == 0)
        put_net(w, shoal_model_net(saved));
    put_close(w, "}\n");
}
