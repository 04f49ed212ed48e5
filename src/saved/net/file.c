/* Nets in files. */
#include "saved/kind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FACT = 512 };

/* ---- facts ---- */

shoal_status saved_net_fact(shoal_net *t, const char *key, const char *fmt, ...)
{
    char value[FACT];
    va_list args;
    shoal_status st;

    va_start(args, fmt);
    number_vprint(value, sizeof value, fmt, args);
    va_end(args);
    for (char *c = value; *c; c++)
        if (*c == '\n')
            *c = ' ';
    st = bytes_add(&t->facts, key, strlen(key));
    if (st == SHOAL_OK)
        st = bytes_add(&t->facts, " ", 1);
    if (st == SHOAL_OK)
        st = bytes_add(&t->facts, value, strlen(value));
    return st == SHOAL_OK ? bytes_add(&t->facts, "", 1) : st;
}

const char *shoal_net_fact(const shoal_net *net, const char *key)
{
    const struct bytes *b = &net->facts;
    size_t n = strlen(key), len;

    for (size_t at = 0; at < b->len; at += len + 1) {
        len = strlen(b->at + at);
        if (len > n && memcmp(b->at + at, key, n) == 0 && b->at[at + n] == ' ')
            return b->at + at + n + 1;
    }
    return NULL;
}

/* ---- making ---- */

shoal_status saved_net_new(shoal_net **out, struct net *net, float *params)
{
    shoal_net *t = mem_array(1, sizeof *t);

    *out = NULL;
    if (!t) {
        mem_unmap(params, net->size * sizeof *params);
        net_free(net);
        return SHOAL_ENOMEM;
    }
    t->net = net;
    t->params = params;
    *out = t;
    return SHOAL_OK;
}

void shoal_net_close(shoal_net *t)
{
    if (!t)
        return;
    if (t->net)
        mem_unmap(t->params, t->net->size * sizeof *t->params);
    net_free(t->net);
    scaling_fini(&t->in);
    scaling_fini(&t->out);
    columns_free(t->columns);
    bytes_fini(&t->facts);
    shoal_vocab_free(t->words);
    table_fini(&t->vectors);
    free(t);
}

/* ---- writing ---- */

static void put_meta(struct container_writer *w, const shoal_net *t)
{
    char head[NET_SPEC + 64];
    int len = snprintf(head, sizeof head, "kind net\nspec %s\n", t->net->spec);

    container_put(w, "meta", head, (size_t)len);
    for (size_t at = 0; at < t->facts.len;) {
        const char *fact = t->facts.at + at;

        container_write(w, fact, strlen(fact));
        container_write(w, "\n", 1);
        at += strlen(fact) + 1;
    }
}

static void put_scaling(struct container_writer *w, const struct scaling *s, const char *mean,
                        const char *inverse)
{
    if (s->n == 0)
        return;
    container_put(w, mean, s->mean, s->n * sizeof(float));
    container_put(w, inverse, s->inverse, s->n * sizeof(float));
}

shoal_status shoal_net_save(const shoal_net *t, const char *path)
{
    struct container_writer *w;
    shoal_status st = container_create(&w, path);

    if (st != SHOAL_OK)
        return st;
    put_meta(w, t);
    st = container_put(w, "params", t->params, t->net->size * sizeof *t->params);
    put_scaling(w, &t->in, "in.mean", "in.inverse");
    put_scaling(w, &t->out, "out.mean", "out.inverse");
    if (t->columns && st == SHOAL_OK)
        st = columns_save(t->columns, w);
    if (t->words) {
        st = vocab_save(t->words, w);
        container_put(w, "vectors", t->vectors.at, table_bytes(t->vectors.rows, t->vectors.width));
    }
    return container_end(w, st);
}

/* ---- reading ---- */

/* The section, if it has n numbers: to be asked before memory is taken for them. */
static shoal_status find_floats(const struct container *c, const char *name, size_t n,
                                struct section *s)
{
    shoal_status st = container_find(c, name, sizeof(float), s);

    if (st == SHOAL_OK && s->size / sizeof(float) != n)
        st = shoal_fail(SHOAL_EFORMAT, "%s: %s has %zu numbers, want %zu", container_path(c), name,
                        s->size / sizeof(float), n);
    return st;
}

static shoal_status get_floats(const struct container *c, const char *name, float *out, size_t n)
{
    struct section s;
    shoal_status st = find_floats(c, name, n, &s);

    if (st != SHOAL_OK)
        return st;
    memcpy(out, s.data, s.size);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(out[i]))
            return shoal_fail(SHOAL_EFORMAT, "%s: number %zu of %s is %g", container_path(c), i,
                              name, (double)out[i]);
    return SHOAL_OK;
}

static shoal_status get_scaling(const struct container *c, const char *mean, const char *inverse,
                                size_t n, struct scaling *s)
{
    struct section there;
    shoal_status st;

    if (!container_has(c, mean))
        return SHOAL_OK;
    st = find_floats(c, mean, n, &there);
    if (st == SHOAL_OK)
        st = scaling_init(s, n);
    if (st == SHOAL_OK)
        st = get_floats(c, mean, s->mean, n);
    return st == SHOAL_OK ? get_floats(c, inverse, s->inverse, n) : st;
}

static shoal_status get_words(const struct container *c, shoal_net *t)
{
    struct section there;
    shoal_status st;

    if (!container_has(c, "vectors"))
        return SHOAL_OK;
    st = vocab_load(&t->words, c);
    if (st == SHOAL_OK)
        st = find_floats(c, "vectors", shoal_vocab_size(t->words) * table_stride(t->net->outputs),
                         &there);
    if (st == SHOAL_OK)
        st = table_init(&t->vectors, "vectors", shoal_vocab_size(t->words), t->net->outputs);
    if (st == SHOAL_OK)
        st = get_floats(c, "vectors", t->vectors.at, t->vectors.rows * t->vectors.stride);
    return st;
}

/* The lines but the first two, which are written anew. */
static shoal_status get_facts(const struct container *c, shoal_net *t)
{
    struct section meta;
    shoal_status st = container_find(c, "meta", 1, &meta);
    const char *at = meta.data, *end = at + meta.size, *line;
    size_t len;

    while (st == SHOAL_OK && line_next(&at, end, &line, &len)) {
        if (memchr(line, '\0', len) || (len > 5 && memcmp(line, "kind ", 5) == 0) ||
            (len > 5 && memcmp(line, "spec ", 5) == 0))
            continue;
        st = bytes_add(&t->facts, line, len);
        if (st == SHOAL_OK)
            st = bytes_add(&t->facts, "", 1);
    }
    return st;
}

static shoal_status read_net(shoal_net *t, const struct container *c)
{
    char spec[NET_SPEC];
    struct section there;
    shoal_status st = container_check_kind(c, kind_net.word, "a net");

    if (st == SHOAL_OK)
        st = container_meta(c, "spec", spec, sizeof spec);
    if (st == SHOAL_OK)
        st = net_new(&t->net, spec);
    if (st == SHOAL_OK)
        st = find_floats(c, "params", t->net->size, &there);
    if (st != SHOAL_OK)
        return st;
    t->params = mem_map(t->net->size * sizeof *t->params);
    st = t->params ? get_floats(c, "params", t->params, t->net->size) : SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = get_scaling(c, "in.mean", "in.inverse", t->net->inputs, &t->in);
    if (st == SHOAL_OK)
        st = get_scaling(c, "out.mean", "out.inverse", t->net->outputs, &t->out);
    if (st == SHOAL_OK)
        st = get_words(c, t);
    if (st == SHOAL_OK)
        st = columns_load(&t->columns, c);
    if (st == SHOAL_OK)
        st = saved_net_check_columns(t, container_path(c));
    if (st == SHOAL_OK)
        st = get_facts(c, t);
    return st == SHOAL_OK ? saved_net_check_pictures(t, container_path(c)) : st;
}

shoal_status saved_net_read(void **out, struct container *c)
{
    shoal_net *t = mem_array(1, sizeof *t);
    shoal_status st = t ? read_net(t, c) : SHOAL_ENOMEM;

    container_close(c);
    *out = st == SHOAL_OK ? t : NULL;
    if (st != SHOAL_OK)
        shoal_net_close(t);
    return st;
}

shoal_status shoal_net_open(shoal_net **out, const char *path)
{
    struct container *c;
    void *net = NULL;
    shoal_status st = container_open(&c, path);

    if (st == SHOAL_OK)
        st = saved_net_read(&net, c);
    *out = net;
    return st;
}

/* ---- how samples for it are read ---- */

shoal_status saved_net_check_columns(const shoal_net *t, const char *path)
{
    if (!t->columns || table_inputs(t->columns) == t->net->inputs)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EFORMAT, "%s: its columns give %zu inputs, want %zu", path,
                      table_inputs(t->columns), t->net->inputs);
}

static shoal_status name_classes(struct saved_reading *r, const shoal_net *t)
{
    char name[CLASS_NAME];

    r->opts.nclasses = t->net->outputs;
    if (!shoal_net_fact(t, "class.0"))
        return SHOAL_OK;
    r->classes = mem_array(t->net->outputs, sizeof *r->classes);
    for (size_t i = 0; r->classes && i < t->net->outputs; i++) {
        shoal_net_class(t, i, name, sizeof name);
        if (!(r->classes[i] = strdup(name)))
            return shoal_fail(SHOAL_ENOMEM, "net: no memory for the name of a class");
    }
    r->opts.classes = (const char *const *)r->classes;
    return r->classes ? SHOAL_OK : SHOAL_ENOMEM;
}

/* Where the answers are, unless the caller says it: where they were when it learned. */
static void find_label(struct saved_reading *r, const shoal_net *t)
{
    const char *label = shoal_net_fact(t, "label");

    if (!t->columns && !r->opts.table.label && label) {
        snprintf(r->label, sizeof r->label, "%s", label);
        r->opts.table.label = r->label;
    }
}

shoal_status saved_net_reading(struct saved_reading *out, const shoal_net *t,
                               const struct shoal_samples_opts *asked, bool labels)
{
    *out = (struct saved_reading){.opts = *asked};
    out->opts.task = !labels ? SHOAL_INPUTS : t->net->classes ? SHOAL_CLASSIFY : SHOAL_REGRESS;
    out->opts.columns = t->columns;
    out->opts.numbers = !t->columns;
    out->opts.expect = (uint32_t)t->net->inputs;
    if (!t->net->classes)
        out->opts.targets = (uint32_t)t->net->outputs;
    find_label(out, t);
    return t->net->classes && labels ? name_classes(out, t) : SHOAL_OK;
}

void saved_reading_fini(struct saved_reading *r)
{
    for (size_t i = 0; r->classes && i < r->opts.nclasses; i++)
        free(r->classes[i]);
    free(r->classes);
}

/* ---- asking ---- */

size_t shoal_net_inputs(const shoal_net *net)
{
    return net->net->inputs;
}

size_t shoal_net_outputs(const shoal_net *net)
{
    return net->net->outputs;
}

bool shoal_net_classes(const shoal_net *net)
{
    return net->net->classes;
}

const char *shoal_net_spec(const shoal_net *net)
{
    return net->net->spec;
}

uint64_t shoal_net_parameters(const shoal_net *net)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < net->net->ntensors; i++)
        sum += net->net->tensors[i].rule == TENSOR_STATE ? 0 : net->net->tensors[i].size;
    return sum;
}
