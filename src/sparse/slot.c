#include "sparse/rows.h"

/* Digits that fit 64 bits, as text has them. */
static bool index_of(const char *name, size_t len, uint64_t *index)
{
    *index = 0;
    for (size_t i = 0; i < len; i++) {
        if (name[i] < '0' || name[i] > '9')
            return false;
        *index = *index * 10 + (uint64_t)(name[i] - '0');
    }
    return len > 0 && len <= CLICK_INDEX_DIGITS;
}

uint64_t click_hash_name(uint64_t seed, const char *name, size_t len)
{
    uint64_t h = seed;

    for (size_t i = 0; i == 0 || i < len; i += 8) {
        char part[8] = {0};

        memcpy(part, name + i, len - i < 8 ? len - i : 8);
        h = click_hash_fold(h ^ span_bytes8(part, 8));
    }
    return h;
}

/* What ends a name in text. */
static bool is_name(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] <= ' ' || strchr(":|'\"", name[i]))
            return false;
    return len > 0;
}

uint32_t click_index_slot(const struct shoal_clicks_opts *opts, uint64_t index)
{
    if (opts->plain)
        return index >> opts->bits == 0 ? (uint32_t)index : CLICKS_NO_SLOT;
    return (uint32_t)(click_hash_fold(click_seed(CLICK_SEED_LIBSVM) ^ index) >>
                      (64 - opts->bits));
}

shoal_status click_slot(uint32_t *slot, const struct shoal_clicks_opts *opts, const char *name,
                        size_t len)
{
    uint64_t index, hash;

    switch (opts->format) {
    case SHOAL_CLICKS_LIBSVM:
        if (!index_of(name, len, &index))
            return shoal_fail(SHOAL_EINVAL, "found \"%s\", want the index of a feature",
                              click_quote(name, len).text);
        *slot = click_index_slot(opts, index);
        return SHOAL_OK;
    case SHOAL_CLICKS_VW:
        if (!is_name(name, len))
            return shoal_fail(SHOAL_EINVAL, "found \"%s\", want the name of a feature",
                              click_quote(name, len).text);
        hash = click_hash_name(click_hash_name(click_seed(CLICK_SEED_VW), "", 0), name, len);
        break;
    default:
        return shoal_fail(SHOAL_EINVAL,
                          "found features as JSON, want text as the model's rows (%s)",
                          shoal_clicks_format_name(opts->format));
    }
    *slot = (uint32_t)(hash >> (64 - opts->bits));
    return SHOAL_OK;
}
