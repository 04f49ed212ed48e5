/* A table is looked at: its dialect, its names, what its columns are. */
#include "columns/look.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- names ---- */

static shoal_status add_column(struct shoal_columns *c, struct span f, bool header)
{
    shoal_status st = mem_grow(&c->at, &c->cap, c->n + 1, sizeof *c->at);
    char *name;

    if (st != SHOAL_OK)
        return st;
    name = header && f.len > 0 ? strndup(f.at, f.len) : mem_text("column%zu", c->n + 1);
    if (!name)
        return shoal_fail(SHOAL_ENOMEM, "columns: no memory for a name");
    c->at[c->n++] = (struct column){.name = name, .len = strlen(name)};
    return SHOAL_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct column *x = *(const struct column *const *)a, *y = *(const struct column *const *)b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : x < y ? -1 : x > y;
}

/* Names that stand twice get a number behind them, as pandas gives it: a, a.1, a.2. */
static shoal_status name_once(struct shoal_columns *c)
{
    struct column **order = mem_array(c->n, sizeof *order);
    shoal_status st = order ? SHOAL_OK : SHOAL_ENOMEM;
    size_t same = 0;

    for (size_t i = 0; i < c->n && order; i++)
        order[i] = &c->at[i];
    if (order)
        qsort(order, c->n, sizeof *order, by_name);
    for (size_t i = 1; i < c->n && st == SHOAL_OK; i++) {
        char *name;

        same = strcmp(order[i - 1 - same]->name, order[i]->name) == 0 ? same + 1 : 0;
        if (same == 0)
            continue;
        name = mem_text("%s.%zu", order[i]->name, same);
        st = name ? SHOAL_OK : SHOAL_ENOMEM;
        if (name) {
            free(order[i]->name);
            order[i]->name = name;
            order[i]->len = strlen(name);
        }
    }
    free(order);
    return st;
}

static shoal_status take_names(struct shoal_columns *c, const struct look *l)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < l->n && st == SHOAL_OK; i++)
        st = add_column(c, l->name[i], c->dialect.header);
    return st == SHOAL_OK && c->dialect.header ? name_once(c) : st;
}

/* ---- all of it ---- */

/* Where the first line could be either, it is cut as a row first. */
static shoal_status find_header(struct dialect *d, struct look *l, const struct columns_ask *ask)
{
    shoal_status st;

    d->header = ask->opts->header == SHOAL_HEADER_YES;
    st = look_fields(l, d, ask->path);
    if (st != SHOAL_OK || ask->opts->header != SHOAL_HEADER_AUTO || !dialect_has_header(l))
        return st;
    d->header = true;
    return look_fields(l, d, ask->path);
}

static shoal_status learn(struct shoal_columns *c, struct look *l, const struct columns_ask *ask)
{
    shoal_status st = dialect_find(&c->dialect, l, ask->path);

    if (st == SHOAL_OK)
        st = find_header(&c->dialect, l, ask);
    if (st == SHOAL_OK)
        st = take_names(c, l);
    if (st == SHOAL_OK)
        st = columns_index(c);
    if (st == SHOAL_OK)
        st = columns_judge(c, l, ask);
    return st == SHOAL_OK ? columns_finish(c) : st;
}

shoal_status columns_learn(struct shoal_columns **out, const struct columns_ask *ask,
                           const struct inputs *in, const char *head, size_t len, bool whole)
{
    struct shoal_columns *c = mem_array(1, sizeof *c);
    struct look l = {0};
    shoal_status st = c ? SHOAL_OK : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK)
        st = in ? look_at_inputs(&l, in) : look_at_head(&l, head, len, whole);
    if (st == SHOAL_OK)
        st = learn(c, &l, ask);
    look_fini(&l);
    if (st == SHOAL_OK)
        *out = c;
    else
        columns_free(c);
    return st;
}
