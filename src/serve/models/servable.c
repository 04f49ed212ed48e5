#include "serve/models/servable.h"

#include <math.h>
#include <string.h>

const struct servable_kind *const servable_kinds[] = {
    &servable_classify, &servable_logreg, &servable_net, &servable_nextword, &servable_vectors, NULL,
};

const struct servable_kind *servable_find(const struct servable_kind *const *kinds,
                                          const shoal_model *model)
{
    for (; *kinds; kinds++)
        if (strcmp((*kinds)->name, shoal_model_kind(model)) == 0 ||
            ((*kinds)->linear && model_linear(model)))
            return *kinds;
    shoal_fail(SHOAL_EFORMAT, "found a model of kind %s, want one that can be served",
               shoal_model_kind(model));
    return NULL;
}

void *spares_take(struct spares *s)
{
    void *one;

    pthread_mutex_lock(&s->lock);
    one = s->n > 0 ? s->at[--s->n] : NULL;
    pthread_mutex_unlock(&s->lock);
    return one;
}

void *spares_give(struct spares *s, void *one)
{
    pthread_mutex_lock(&s->lock);
    if (one && s->n < s->most) {
        s->at[s->n++] = one;
        one = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    return one;
}

static const struct tree *find(const struct instance *in, const char *key)
{
    const struct tree *t = tree_get(in->json, key);

    return t || !in->object ? t : tree_get(in->object, key);
}

shoal_status instance_u64(const struct instance *in, const char *key, uint64_t min, uint64_t max,
                          uint64_t *out)
{
    const struct tree *t = find(in, key);
    double x = tree_number(t);

    if (query_get(in->query, key))
        return query_u64(in->query, key, min, max, out);
    if (!t)
        return SHOAL_OK;
    if (!(x >= (double)min && x <= (double)max) || x != floor(x))
        return shoal_fail(SHOAL_EINVAL, "%s is no whole number from %llu to %llu", key,
                          (unsigned long long)min, (unsigned long long)max);
    *out = (uint64_t)x;
    return SHOAL_OK;
}

bool instance_true(const struct instance *in, const char *key)
{
    return query_get(in->query, key) ? query_true(in->query, key) : tree_true(find(in, key));
}

const char *instance_text(const struct instance *in, const char *key)
{
    const char *text = query_get(in->query, key);
    const struct tree *t = text ? NULL : find(in, key);

    return t && tree_kind(t) == TREE_TEXT ? tree_text(t) : text;
}
