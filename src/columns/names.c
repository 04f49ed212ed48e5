/* Names of columns: each has one, and no two have the same. */
#include "columns/columns.h"

#include <stdlib.h>

/* Which names there are, by their hash. */
struct places {
    size_t *at; /* [n] 1 + a name */
    size_t n;   /* a power of 2 */
};

/* Where the name stands, or the place where it would. */
static size_t *find(const struct places *p, char *const *name, const char *text)
{
    size_t k = (size_t)bytes_hash(5, text, strlen(text)) & (p->n - 1);

    while (p->at[k] && strcmp(name[p->at[k] - 1], text) != 0)
        k = (k + 1) & (p->n - 1);
    return &p->at[k];
}

static char *first_name(struct span f, size_t i)
{
    char *name = f.len > 0 ? strndup(f.at, f.len) : mem_text("column%zu", i + 1);

    if (!name && f.len > 0)
        shoal_fail(SHOAL_ENOMEM, "columns: no memory for a name");
    return name;
}

/* name[i] becomes the first of a.1, a.2, ... that nobody has. `used` [n] says how many of them the
 * owner of the name has given away. */
static shoal_status rename_one(const struct places *p, char **name, size_t i, size_t *used)
{
    size_t owner = *find(p, name, name[i]) - 1, *place = NULL;
    char *other = NULL;

    do {
        free(other);
        other = mem_text("%s.%zu", name[i], ++used[owner]);
        place = other ? find(p, name, other) : NULL;
    } while (place && *place);
    if (!other)
        return SHOAL_ENOMEM;
    free(name[i]);
    name[i] = other;
    *place = i + 1;
    return SHOAL_OK;
}

void names_free(char **name, size_t n)
{
    for (size_t i = 0; name && i < n; i++)
        free(name[i]);
    free(name);
}

/* Those that stand there come first, so that a, a, a.1 are a, a.2, a.1. */
static shoal_status make(char **name, const struct span *f, size_t n, struct places *p)
{
    size_t *used = mem_array(n, sizeof *used);
    bool *again = mem_array(n, sizeof *again);
    shoal_status st = used && again ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        size_t *place;

        name[i] = first_name(f[i], i);
        st = name[i] ? SHOAL_OK : SHOAL_ENOMEM;
        place = name[i] ? find(p, name, name[i]) : NULL;
        if (place && *place)
            again[i] = true;
        else if (place)
            *place = i + 1;
    }
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        if (again[i])
            st = rename_one(p, name, i, used);
    free(used);
    free(again);
    return st;
}

shoal_status names_make(char ***out, const struct span *f, size_t n)
{
    struct places p = {.n = 4};
    char **name = mem_array(n, sizeof *name);
    shoal_status st;

    *out = NULL;
    while (p.n < 2 * n)
        p.n *= 2;
    p.at = mem_array(p.n, sizeof *p.at);
    st = name && p.at ? make(name, f, n, &p) : SHOAL_ENOMEM;
    free(p.at);
    if (st == SHOAL_OK)
        *out = name;
    else
        names_free(name, n);
    return st;
}
