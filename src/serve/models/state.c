/* What survives a restart: a line for each version,
 *
 *     shoal-serve 2
 *     model NAME VERSION batch_size max_batch_delay queue_size min max timeout max_body rate
 *         max_requests default FILE
 *
 * where default is 0 or 1 and FILE, the rest of the line, a file of the store. A
 * model of the command line is not in it: it comes from there again. The first form, `shoal-serve 1`,
 * has no max_body, rate and max_requests. */
#include "file/file.h"
#include "serve/models/registry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATE_MAX ((size_t)1 << 20)
static const char head[] = "shoal-serve 2\n", first_head[] = "shoal-serve 1\n";

static shoal_status add_line(struct bytes *out, const struct version *v)
{
    const struct model_settings *s = &v->settings;
    char line[2 * NAME_MAX_LEN + FILE_MAX_LEN + 128];
    int len = snprintf(line, sizeof line, "model %s %s %u %u %u %u %u %u %u %u %u %d %s\n",
                       v->name, v->version, s->batch_size, s->max_batch_delay, s->queue_size,
                       s->min_workers, s->max_workers, s->response_timeout, s->max_body, s->rate,
                       s->max_requests, (int)v->is_default, v->file);

    return bytes_add(out, line, (size_t)len);
}

static shoal_status gather(struct registry *r, struct bytes *out)
{
    shoal_status st = bytes_add(out, head, strlen(head));

    pthread_rwlock_rdlock(&r->lock);
    for (size_t i = 0; i < r->len && st == SHOAL_OK; i++)
        if (!r->at[i]->path)
            st = add_line(out, r->at[i]);
    pthread_rwlock_unlock(&r->lock);
    return st;
}

shoal_status state_save(struct registry *r)
{
    struct bytes text = {0};
    struct output *o = NULL;
    shoal_status st;

    if (!r->state)
        return SHOAL_OK;
    st = gather(r, &text);
    if (st == SHOAL_OK)
        st = output_open(&o, r->state);
    if (st == SHOAL_OK)
        st = output_write(o, text.at, text.len);
    st = output_end(o, st);
    bytes_fini(&text);
    return st;
}

static shoal_status load_line(struct registry *r, const char *line, bool first_form)
{
    char name[NAME_MAX_LEN + 1], version[NAME_MAX_LEN + 1];
    struct model_settings s = {0};
    unsigned is_default;
    int at = 0, n;

    _Static_assert(NAME_MAX_LEN == 80, "the widths below");
    if (first_form)
        n = sscanf(line, "model %80s %80s %u %u %u %u %u %u %u %n", name, version, &s.batch_size,
                   &s.max_batch_delay, &s.queue_size, &s.min_workers, &s.max_workers,
                   &s.response_timeout, &is_default, &at);
    else
        n = sscanf(line, "model %80s %80s %u %u %u %u %u %u %u %u %u %u %n", name, version,
                   &s.batch_size, &s.max_batch_delay, &s.queue_size, &s.min_workers,
                   &s.max_workers, &s.response_timeout, &s.max_body, &s.rate, &s.max_requests,
                   &is_default, &at);
    if (n != (first_form ? 9 : 12) || at == 0 || !model_file_fits(line + at) || !model_name_fits(name) ||
        !model_version_fits(version) || s.max_workers > WORKERS_MAX ||
        s.min_workers > s.max_workers || s.batch_size == 0)
        return shoal_fail(SHOAL_EFORMAT, "state: found the line '%.60s', want that of a model",
                          line);
    return registry_restore(r, line + at, name, version, &s, is_default == 1);
}

shoal_status state_load(struct registry *r)
{
    char *text = NULL, *rest;
    size_t len;
    bool first_form;
    shoal_status st;

    if (!r->state || (access(r->state, F_OK) != 0 && errno == ENOENT))
        return SHOAL_OK; /* the first start */
    st = stream_slurp(&text, &len, r->state, STATE_MAX);
    first_form = st == SHOAL_OK && strncmp(text, first_head, strlen(first_head)) == 0;
    if (st == SHOAL_OK && !first_form && strncmp(text, head, strlen(head)) != 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: found no first line 'shoal-serve 2', want a state",
                        r->state);
    if (st == SHOAL_OK && text[strlen(head)] && r->store < 0)
        st = shoal_fail(SHOAL_EINVAL, "state: it names models, want a model store too");
    rest = st == SHOAL_OK ? text + strlen(head) : NULL;
    while (st == SHOAL_OK && rest && *rest)
        st = load_line(r, strsep(&rest, "\n"), first_form);
    free(text);
    return st;
}
