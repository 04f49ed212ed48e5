/* How much classes count, and how often rows travel between ranks that learn them. */
#include "train/tasks/classify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- weights ---- */

uint32_t classes_find_label(const shoal_labelled *l, const char *name, size_t len)
{
    size_t prefix = strlen(l->reading.prefix);

    for (uint32_t k = 0; k < shoal_vocab_size(l->labels); k++) {
        const char *label = shoal_vocab_word(l->labels, k);

        if (strlen(label) == len && memcmp(label, name, len) == 0)
            return k;
        if (strlen(label) == prefix + len && memcmp(label + prefix, name, len) == 0)
            return k;
    }
    return SHOAL_NO_ID;
}

/* name=weight, up to a comma. */
static shoal_status read_weight(float *weight, const shoal_labelled *l, const char *at, size_t len)
{
    const char *equals = memrchr(at, '=', len);
    uint32_t k = equals ? classes_find_label(l, at, (size_t)(equals - at)) : SHOAL_NO_ID;
    char *end = NULL;
    double x = equals ? number_read(equals + 1, &end) : 0;

    if (!equals || end == equals + 1 || end != at + len || !(x >= 0) || !isfinite(x))
        return shoal_fail(SHOAL_EINVAL, "--class-weight has '%.*s', want LABEL=NUMBER", (int)len, at);
    if (k == SHOAL_NO_ID)
        return shoal_fail(SHOAL_EINVAL, "--class-weight has '%.*s', but no line has that label",
                          (int)(equals - at), at);
    weight[k] = (float)x;
    return SHOAL_OK;
}

static shoal_status read_weights(float *weight, const shoal_labelled *l, const char *list)
{
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && *list) {
        size_t len = strcspn(list, ",");

        st = read_weight(weight, l, list, len);
        list += len + (list[len] == ',');
    }
    return st;
}

shoal_status classes_weights(float **out, const shoal_labelled *l, const char *how)
{
    size_t classes = shoal_vocab_size(l->labels);
    double all = (double)l->label_start[l->lines];
    shoal_status st = SHOAL_OK;

    *out = NULL;
    if (!how)
        return SHOAL_OK;
    *out = mem_array(classes, sizeof **out);
    if (!*out)
        return SHOAL_ENOMEM;
    for (uint32_t k = 0; k < classes; k++)
        (*out)[k] = 1;
    if (strcmp(how, "balanced") != 0)
        st = read_weights(*out, l, how);
    else
        for (uint32_t k = 0; k < classes; k++)
            (*out)[k] = (float)(all / (double)classes /
                                fmax((double)shoal_vocab_count(l->labels, k), 1));
    return st;
}

/* ---- ranks ---- */

enum {
    DUE = 32,    /* touches of a row, after which it travels */
    SWEEP = 128, /* rounds over the square of the workers in which all that was touched does */
    SWEEP_LEAST = 2,
};

/* Every line moves output rows: they travel each round. */
struct cadence classes_cadence(const struct train_opts *o, struct row_length length)
{
    unsigned sharing = opts_sharing(o), sweep = SWEEP / sharing / sharing;
    struct cadence c = {.due = o->sync.policy == SHOAL_SYNC ? 1 : DUE, .folds = true};

    (void)length;
    c.sweep[CLASSES_IN] = sweep > SWEEP_LEAST ? sweep : SWEEP_LEAST;
    c.sweep[CLASSES_OUT] = 1;
    return c;
}
