#include "serve/models/word_filter.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_MOST = 100000, PREFIX_MOST = 512 };

static int by_id(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static bool is_in(const uint32_t *ids, size_t n, uint32_t id)
{
    return n > 0 && bsearch(&id, ids, n, sizeof id, by_id);
}

static bool takes(const void *of, uint32_t id)
{
    const struct word_filter *f = of;

    if ((f->only && !is_in(f->allow, f->nallow, id)) || is_in(f->deny, f->ndeny, id))
        return false;
    if (f->min_count > 0 && shoal_vectors_count(f->v, id) < f->min_count)
        return false;
    return !f->prefix || strncmp(shoal_vectors_word(f->v, id), f->prefix, strlen(f->prefix)) == 0;
}

void word_filter_free(struct word_filter *f)
{
    if (!f)
        return;
    free(f->allow);
    free(f->deny);
    free(f->prefix);
    free(f);
}

/* Of the object itself or the one around. */
static const struct tree *member(const struct instance *in, const char *key)
{
    const struct tree *own = tree_get(in->json, key);

    return own ? own : tree_get(in->object, key);
}

/* The ids of a list of words; those that are not known can neither answer nor be kept from it. */
static shoal_status read_list(const shoal_vectors *v, const struct instance *in, const char *key,
                              uint32_t **ids, size_t *n, bool *there)
{
    const struct tree *list = member(in, key);
    size_t len = tree_len(list);
    shoal_status st;

    *there = list != NULL;
    if (!list)
        return SHOAL_OK;
    if (tree_kind(list) != TREE_LIST || len > LIST_MOST)
        return shoal_fail(SHOAL_EINVAL, "%s: found no list of words, want one of at most %d", key,
                          LIST_MOST);
    st = request_leave_loop(in->request);
    if (st == SHOAL_OK)
        st = request_charge_sample(in->request, (len + 1) * sizeof **ids, 0);
    if (st == SHOAL_OK && !(*ids = mem_array(len + 1, sizeof **ids)))
        st = SHOAL_ENOMEM;
    for (size_t i = 0; i < len && st == SHOAL_OK; i++) {
        const char *word = tree_text(tree_at(list, i));
        uint32_t id = shoal_vectors_find(v, word, strlen(word));

        if (tree_kind(tree_at(list, i)) != TREE_TEXT)
            st = shoal_fail(SHOAL_EINVAL, "%s: element %zu is no text, want words", key, i);
        else if (id != SHOAL_NO_ID)
            (*ids)[(*n)++] = id;
    }
    if (*n > 1)
        qsort(*ids, *n, sizeof **ids, by_id);
    return st;
}

static shoal_status read_prefix(struct word_filter *f, const struct instance *in)
{
    const char *prefix = instance_text(in, "prefix");

    if (!prefix || !*prefix)
        return SHOAL_OK;
    if (strlen(prefix) > PREFIX_MOST)
        return shoal_fail(SHOAL_EINVAL, "prefix: found %zu bytes, want at most %d", strlen(prefix),
                          PREFIX_MOST);
    f->prefix = mem_text("%s", prefix);
    return f->prefix ? SHOAL_OK : SHOAL_ENOMEM;
}

shoal_status word_filter_read(struct word_filter **out, const shoal_vectors *v,
                              const struct instance *in)
{
    struct word_filter *f = mem_array(1, sizeof *f);
    bool denied = false;
    shoal_status st = SHOAL_ENOMEM;

    *out = f;
    if (f) {
        *f = (struct word_filter){.as = {takes, f}, .v = v};
        st = instance_u64(in, "min_count", 0, (uint64_t)1 << 53, &f->min_count);
    }
    if (st == SHOAL_OK)
        st = read_list(v, in, "allow", &f->allow, &f->nallow, &f->only);
    if (st == SHOAL_OK)
        st = read_list(v, in, "deny", &f->deny, &f->ndeny, &denied);
    if (st == SHOAL_OK)
        st = read_prefix(f, in);
    if (st != SHOAL_OK || (!f->only && !denied && !f->prefix && f->min_count == 0)) {
        word_filter_free(f);
        *out = NULL;
    }
    return st;
}
