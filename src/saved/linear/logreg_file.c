/* Linear models in our container:
 *
 *     meta     kind logreg, bias, and how rows are read;
 *              or of many outputs kind multinomial, and classes
 *     bias     of many outputs: float [outputs]
 *     slots    uint32_t [n] increasing, below 2^bits
 *     weights  float [n][outputs]
 *     classes  the labels, by class, strings, each with its 0
 *     columns  of models that learned from a table (columns/file.c)
 *     examples rows of the data as text, where they were asked for (sparse/examples.c)
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
    int n = m->outputs == 1
                ? number_print(text, sizeof text, "kind logreg\nbias %a\n", (double)m->bias[0])
                : snprintf(text, sizeof text, "kind multinomial\nclasses %u\n", m->outputs);
    shoal_status st = bytes_add(meta, text, (size_t)n);

    return st == SHOAL_OK ? clicks_reading_put(&m->reading.opts, meta) : st;
}

static shoal_status put_all(const shoal_logreg *m, struct container_writer *w,
                            const struct bytes *meta)
{
    container_put(w, "meta", meta->at, meta->len);
    clicks_reading_save(&m->reading.opts, w);
    row_examples_save(&m->examples, w);
    if (m->outputs > 1)
        container_put(w, "bias", m->bias, m->outputs * sizeof *m->bias);
    container_put(w, "slots", m->slot, m->n * sizeof *m->slot);
    container_put(w, "weights", m->weight, m->n * m->outputs * sizeof *m->weight);
    container_put(w, "names", m->names.at, m->names.len);
    return container_put(w, "name", m->name, m->n * sizeof *m->name);
}

shoal_status logreg_save(const void *model, const char *path, const struct shoal_save_opts *opts)
{
    struct shoal_save_opts plain = shoal_save_default();
    struct container_writer *w = NULL;
    struct bytes meta = {0};
    enum shoal_format format;
    shoal_status st = saved_check(&kind_logreg, path, opts ? opts : &plain, &format);

    if (st == SHOAL_OK)
        st = make_meta(model, &meta);
    if (st == SHOAL_OK)
        st = container_create(&w, path);
    if (st == SHOAL_OK)
        st = put_all(model, w, &meta);
    bytes_fini(&meta);
    return container_end(w, st);
}

/* ---- reading ---- */

/* A copy of a section of n numbers; *n is UINT64_MAX where any number will do. */
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

static shoal_status read_bias(struct shoal_logreg *m, const struct container *c)
{
    char text[64], *end;
    shoal_status st = container_meta(c, "bias", text, sizeof text);

    m->outputs = 1;
    if (st == SHOAL_OK)
        st = (m->bias = mem_array(1, sizeof *m->bias)) ? SHOAL_OK : SHOAL_ENOMEM;
    if (st != SHOAL_OK)
        return st;
    *m->bias = number_read_float(text, &end);
    if (end == text || *end || !isfinite(*m->bias))
        return shoal_fail(SHOAL_EFORMAT, "%s: the bias is `%s`, want a number", container_path(c),
                          text);
    return SHOAL_OK;
}

static shoal_status read_biases(struct shoal_logreg *m, const struct container *c)
{
    void *bias = NULL;
    uint64_t classes;
    shoal_status st = container_meta_u64(c, "classes", &classes);

    if (st == SHOAL_OK && (classes < 2 || classes > SHOAL_CLICKS_CLASSES))
        st = shoal_fail(SHOAL_EFORMAT, "%s: has %llu classes, want 2 to %d", container_path(c),
                        (unsigned long long)classes, SHOAL_CLICKS_CLASSES);
    if (st == SHOAL_OK)
        st = read_numbers(c, "bias", &bias, &classes);
    m->bias = bias;
    m->outputs = (unsigned)classes;
    for (unsigned k = 0; k < m->outputs && st == SHOAL_OK; k++)
        if (!isfinite(m->bias[k]))
            st = shoal_fail(SHOAL_EFORMAT, "%s: the bias of class %u is no number",
                            container_path(c), k);
    return st;
}

static shoal_status read_meta(struct shoal_logreg *m, const struct container *c)
{
    char word[32];
    shoal_status st = container_meta(c, "kind", word, sizeof word);

    if (st == SHOAL_OK && strcmp(word, "multinomial") == 0) {
        st = read_biases(m, c);
    } else if (st == SHOAL_OK) {
        st = container_check_kind(c, kind_logreg.word, "a logreg model");
        if (st == SHOAL_OK)
            st = read_bias(m, c);
    }
    if (st == SHOAL_OK)
        st = clicks_reading_load(&m->reading, c);
    m->bits = m->reading.opts.bits;
    if (st == SHOAL_OK && m->reading.labels.n > 0 &&
        m->reading.labels.n != (m->outputs == 1 ? 2 : m->outputs))
        st = shoal_fail(SHOAL_EFORMAT, "%s: has %u labels, want %u", container_path(c),
                        m->reading.labels.n, m->outputs == 1 ? 2 : m->outputs);
    return st;
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
        for (unsigned k = 0; k < m->outputs; k++)
            if (!isfinite(m->weight[i * m->outputs + k]))
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
    uint64_t weights;

    m->n = UINT64_MAX;
    if (st == SHOAL_OK)
        st = read_numbers(c, "slots", &slot, &m->n);
    weights = m->n * m->outputs;
    if (st == SHOAL_OK)
        st = read_numbers(c, "weights", &weight, &weights);
    if (st == SHOAL_OK)
        st = read_numbers(c, "name", &name, &m->n);
    m->slot = slot;
    m->weight = weight;
    m->name = name;
    if (st == SHOAL_OK)
        st = read_names(m, c);
    if (st == SHOAL_OK)
        st = row_examples_load(&m->examples, c);
    if (st == SHOAL_OK)
        st = check(m, c);
    return st == SHOAL_OK ? logreg_spread(m) : st;
}

shoal_status logreg_read(void **out, struct container *c)
{
    struct shoal_logreg *m = mem_array(1, sizeof *m);
    shoal_status st = m ? read_all(m, c) : SHOAL_ENOMEM;

    container_close(c);
    *out = st == SHOAL_OK ? m : NULL;
    if (st != SHOAL_OK)
        logreg_close(m);
    return st;
}
