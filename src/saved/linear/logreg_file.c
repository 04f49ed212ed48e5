/* Click models in our container:
 *
 *     meta     kind logreg, bias, and how rows are read
 *     slots    uint32_t [n] increasing, below 2^bits
 *     weights  float [n]
 *     names    strings, each with its 0, the first empty
 *     name     uint32_t [n] offsets into names; 0: not known                       */
#include "saved/kind.h"
#include "saved/linear/logreg.h"
#include "file/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static shoal_status make_meta(const shoal_logreg *m, struct bytes *meta)
{
    char text[128];
    int n = number_print(text, sizeof text, "kind logreg\nbias %a\n", (double)m->bias);
    shoal_status st = bytes_add(meta, text, (size_t)n);

    return st == SHOAL_OK ? clicks_format_put(meta, &m->way) : st;
}

static shoal_status put_all(const shoal_logreg *m, struct container_writer *w,
                            const struct bytes *meta)
{
    shoal_status st = container_put(w, "meta", meta->at, meta->len);

    if (st == SHOAL_OK)
        st = container_put(w, "slots", m->slot, m->n * sizeof *m->slot);
    if (st == SHOAL_OK)
        st = container_put(w, "weights", m->weight, m->n * sizeof *m->weight);
    if (st == SHOAL_OK)
        st = container_put(w, "names", m->names.at, m->names.len);
    return st == SHOAL_OK ? container_put(w, "name", m->name, m->n * sizeof *m->name) : st;
}

shoal_status shoal_logreg_save(const shoal_logreg *m, const char *path)
{
    struct container_writer *w = NULL;
    struct bytes meta = {0};
    shoal_status st = make_meta(m, &meta);

    if (st == SHOAL_OK)
        st = container_create(&w, path);
    if (st == SHOAL_OK) {
        st = put_all(m, w, &meta);
        if (st == SHOAL_OK)
            st = container_commit(w);
        else
            container_abandon(w);
    }
    bytes_fini(&meta);
    return st;
}

/* ---- reading ---- */

static shoal_status read_meta(struct shoal_logreg *m, const struct container *c)
{
    char text[64], *end;
    shoal_status st = kind_check(c, &kind_logreg, "a logreg model");

    if (st == SHOAL_OK)
        st = container_meta(c, "bias", text, sizeof text);
    if (st != SHOAL_OK)
        return st;
    m->bias = number_read_float(text, &end);
    if (end == text || *end || !isfinite(m->bias))
        return shoal_fail(SHOAL_EFORMAT, "%s: the bias is `%s`, want a number", container_path(c),
                          text);
    st = clicks_format_get(&m->way, &m->strings, c);
    m->bits = m->way.bits;
    return st;
}

/* A copy of a section of n numbers; *n is UINT64_MAX before the first. */
static shoal_status read_numbers(const struct container *c, const char *name, void **out,
                                 uint64_t *n)
{
    struct section s;
    shoal_status st = container_find(c, name, sizeof(uint32_t), &s);

    if (st != SHOAL_OK)
        return st;
    if (*n != UINT64_MAX && s.size / sizeof(uint32_t) != *n)
        return shoal_fail(SHOAL_EFORMAT, "%s: section \"%s\" has %zu numbers, want %llu",
                          container_path(c), name, s.size / sizeof(uint32_t),
                          (unsigned long long)*n);
    *n = s.size / sizeof(uint32_t);
    *out = mem_array((size_t)*n + 1, sizeof(uint32_t));
    if (!*out)
        return SHOAL_ENOMEM;
    memcpy(*out, s.data, s.size);
    return SHOAL_OK;
}

static shoal_status read_names(struct shoal_logreg *m, const struct container *c)
{
    struct section s;
    shoal_status st = container_find(c, "names", 1, &s);

    if (st != SHOAL_OK)
        return st;
    if (s.size == 0 || ((const char *)s.data)[0] || ((const char *)s.data)[s.size - 1])
        return shoal_fail(SHOAL_EFORMAT, "%s: its names are no strings", container_path(c));
    return bytes_add(&m->names, s.data, s.size);
}

static shoal_status check(const struct shoal_logreg *m, const struct container *c)
{
    for (uint64_t i = 0; i < m->n; i++) {
        if (m->slot[i] >= logreg_slots(m) || (i > 0 && m->slot[i] <= m->slot[i - 1]))
            return shoal_fail(SHOAL_EFORMAT, "%s: slot %u stands at %llu, want increasing ones "
                              "below 2^%u", container_path(c), m->slot[i], (unsigned long long)i,
                              m->bits);
        if (!isfinite(m->weight[i]))
            return shoal_fail(SHOAL_EFORMAT, "%s: the weight of slot %u is no number",
                              container_path(c), m->slot[i]);
        if (m->name[i] >= m->names.len)
            return shoal_fail(SHOAL_EFORMAT, "%s: the name of slot %u lies beyond the names",
                              container_path(c), m->slot[i]);
    }
    return SHOAL_OK;
}

static shoal_status read_all(struct shoal_logreg *m, const struct container *c)
{
    void *slot = NULL, *weight = NULL, *name = NULL;
    shoal_status st = read_meta(m, c);

    m->n = UINT64_MAX;
    if (st == SHOAL_OK)
        st = read_numbers(c, "slots", &slot, &m->n);
    if (st == SHOAL_OK)
        st = read_numbers(c, "weights", &weight, &m->n);
    if (st == SHOAL_OK)
        st = read_numbers(c, "name", &name, &m->n);
    m->slot = slot;
    m->weight = weight;
    m->name = name;
    if (st == SHOAL_OK)
        st = read_names(m, c);
    if (st == SHOAL_OK)
        st = check(m, c);
    return st == SHOAL_OK ? logreg_spread(m) : st;
}

shoal_status logreg_read(shoal_logreg **out, struct container *c)
{
    struct shoal_logreg *m = mem_array(1, sizeof *m);
    shoal_status st = m ? read_all(m, c) : SHOAL_ENOMEM;

    container_close(c);
    *out = st == SHOAL_OK ? m : NULL;
    if (st != SHOAL_OK)
        shoal_logreg_close(m);
    return st;
}

shoal_status shoal_logreg_open(shoal_logreg **out, const char *path)
{
    struct container *c;
    shoal_status st = container_open(&c, path);

    *out = NULL;
    return st == SHOAL_OK ? logreg_read(out, c) : st;
}
