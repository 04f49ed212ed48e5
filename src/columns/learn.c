/* A table is looked at: its dialect, its names, what its columns are. */
#include "columns/preview.h"

#include <stdlib.h>

/* ---- names ---- */

/* Without a line of names columns are called by their numbers. */
static shoal_status take_names(struct shoal_columns *c, const struct preview *l)
{
    struct span none = {"", 0};
    char **name = NULL;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < l->n && !c->dialect.header; i++)
        l->name[i] = none;
    c->at = mem_array(l->n, sizeof *c->at);
    st = c->at ? names_make(&name, l->name, l->n) : SHOAL_ENOMEM;
    for (; st == SHOAL_OK && c->n < l->n; c->n++)
        c->at[c->n] = (struct column){.name = name[c->n], .len = strlen(name[c->n])};
    free(name);
    return st;
}

/* ---- all of it ---- */

/* Where the first line could be either, it is cut as a row first. */
static shoal_status find_header(struct dialect *d, struct preview *l, const struct columns_ask *ask)
{
    shoal_status st;

    d->header = ask->opts->header == SHOAL_HEADER_YES;
    st = preview_fields(l, d, ask->path);
    if (st != SHOAL_OK || ask->opts->header != SHOAL_HEADER_AUTO || !dialect_has_header(l))
        return st;
    d->header = true;
    return preview_fields(l, d, ask->path);
}

static shoal_status learn(struct shoal_columns *c, struct preview *l, const struct columns_ask *ask)
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
    struct preview l = {0};
    shoal_status st = c ? SHOAL_OK : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK)
        st = in ? preview_inputs(&l, in) : preview_head(&l, head, len, whole);
    if (st == SHOAL_OK)
        st = learn(c, &l, ask);
    preview_fini(&l);
    if (st == SHOAL_OK)
        *out = c;
    else
        columns_free(c);
    return st;
}
