/* Labels as they stand in the text, and which class each is. */
#include "sparse/rows.h"

#include <stdio.h>
#include <stdlib.h>

const char *click_labels_name(const struct click_labels *l, unsigned k)
{
    return l->text.at + l->at[k];
}

unsigned click_labels_find(const struct click_labels *l, const char *name)
{
    for (unsigned k = 0; k < l->n; k++)
        if (strcmp(click_labels_name(l, k), name) == 0)
            return k;
    return CLICKS_NO_LABEL;
}

unsigned click_labels_known(const struct click_labels *l, const char *name)
{
    unsigned k = click_labels_find(l, name);
    bool minus = strcmp(name, "-1") == 0, zero = strcmp(name, "0") == 0;

    if (k == CLICKS_NO_LABEL && l->n == 2 && (minus || zero) &&
        click_labels_find(l, "1") != CLICKS_NO_LABEL)
        k = click_labels_find(l, minus ? "0" : "-1");
    return k;
}

shoal_status click_labels_add(struct click_labels *l, const char *name)
{
    uint32_t at = (uint32_t)l->text.len;
    shoal_status st = bytes_add(&l->text, name, strlen(name) + 1);

    if (st == SHOAL_OK) {
        l->at[l->n] = at;
        l->count[l->n] = 0;
        l->n++;
    }
    return st;
}

void click_labels_fini(struct click_labels *l)
{
    bytes_fini(&l->text);
    *l = (struct click_labels){0};
}

struct click_labels_text click_labels_text(const struct click_labels *l, const char *join)
{
    struct click_labels_text out = {""};
    size_t len = 0;

    for (unsigned k = 0; k < l->n && len + 48 < sizeof out.text; k++)
        len += (size_t)snprintf(
            out.text + len, sizeof out.text - len, "%s\"%s\"",
            k == 0          ? ""
            : k + 1 == l->n ? join
                            : ", ",
            click_quote(click_labels_name(l, k), strlen(click_labels_name(l, k))).text);
    return out;
}

/* ---- order ---- */

struct ordered_label {
    const char *name;
    unsigned k;
};

static int by_order(const void *a, const void *b)
{
    return label_order(((const struct ordered_label *)a)->name,
                       ((const struct ordered_label *)b)->name);
}

/* The other of two labels, where one is known: the common ones have a partner. */
static shoal_status add_partner(struct click_labels *l)
{
    static const char *const pairs[][2] = {
        {"0", "1"},        {"-1", "1"}, {"no", "yes"}, {"No", "Yes"}, {"false", "true"},
        {"False", "True"}, {"n", "y"},  {"N", "Y"},    {"f", "t"},    {"F", "T"}};
    const char *name = click_labels_name(l, 0);

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (unsigned k = 0; k < 2; k++)
            if (strcmp(name, pairs[i][k]) == 0)
                return click_labels_add(l, pairs[i][1 - k]);
    return click_labels_add(l, strcmp(name, "other") == 0 ? "none" : "other");
}

shoal_status click_labels_order(struct click_labels *l, const char *positive,
                                uint8_t map[SHOAL_CLICKS_CLASSES])
{
    struct ordered_label order[SHOAL_CLICKS_CLASSES];
    struct click_labels old = {0};
    shoal_status st = SHOAL_OK;

    memset(map, 0, SHOAL_CLICKS_CLASSES);
    if (l->n == 1)
        st = add_partner(l);
    for (unsigned k = 0; k < l->n; k++)
        order[k] = (struct ordered_label){click_labels_name(l, k), k};
    qsort(order, l->n, sizeof *order, by_order);
    if (positive && l->n == 2 && strcmp(order[0].name, positive) == 0) {
        struct ordered_label swap = order[0];

        order[0] = order[1];
        order[1] = swap;
    }
    if (st == SHOAL_OK && positive && l->n == 2 && strcmp(order[1].name, positive) != 0)
        st = shoal_fail(SHOAL_EINVAL, "--positive is '%s', found the labels %s; want one of them",
                        positive, click_labels_text(l, " and ").text);
    old = *l;
    *l = (struct click_labels){0};
    for (unsigned k = 0; k < old.n && st == SHOAL_OK; k++) {
        map[order[k].k] = (uint8_t)k;
        st = click_labels_add(l, order[k].name);
        if (st == SHOAL_OK)
            l->count[k] = old.count[order[k].k];
    }
    click_labels_fini(&old);
    return st;
}
