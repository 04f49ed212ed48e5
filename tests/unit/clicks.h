/* Rows of click data spelled out, so that tests may say what they expect. Included after
 * scratch.h. */
#ifndef SHOAL_TEST_CLICKS_H
#define SHOAL_TEST_CLICKS_H

#include "sparse/rows.h"

/* "1 a b^c:2 | 0*3 d |": label, weight and features by name, those of value 1 without it. */
static inline struct bytes clicks_spelled(const shoal_clicks *c)
{
    const struct clicks_view *v = clicks_view(c);
    struct bytes b = {0};
    char text[300];

    for (uint64_t r = 0; r < v->rows; r++) {
        snprintf(text, sizeof text, "%u", v->label[r]);
        text_add_str(&b, text);
        if (v->weight && v->weight[r] != 1) {
            snprintf(text, sizeof text, "*%g", (double)v->weight[r]);
            text_add_str(&b, text);
        }
        for (uint64_t i = v->start[r]; i < v->start[r + 1]; i++) {
            const char *name = shoal_clicks_name(c, v->id[i]);

            snprintf(text, sizeof text, " %s", name ? name : "?");
            text_add_str(&b, text);
            if (v->value && v->value[i] != 1) {
                snprintf(text, sizeof text, ":%g", (double)v->value[i]);
                text_add_str(&b, text);
            }
        }
        text_add_str(&b, r + 1 < v->rows ? " | " : "");
    }
    assert_int_equal(bytes_add(&b, "", 1), SHOAL_OK);
    return b;
}

static inline struct shoal_clicks_opts clicks_opts(enum shoal_clicks_format format)
{
    struct shoal_clicks_opts opts = shoal_clicks_default();

    opts.format = format;
    opts.threads = 1;
    return opts;
}

static inline shoal_clicks *read_clicks(const char *path, const struct shoal_clicks_opts *opts,
                                        struct shoal_clicks_stats *stats)
{
    shoal_clicks *c = NULL;

    if (shoal_clicks_read(&c, &path, 1, opts, stats) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return c;
}

static inline void assert_reads(const char *text, const struct shoal_clicks_opts *opts,
                                const char *want)
{
    shoal_clicks *c = read_clicks(scratch_put("rows", text, strlen(text)), opts, NULL);
    struct bytes b = clicks_spelled(c);

    assert_string_equal(b.at, want);
    bytes_fini(&b);
    shoal_clicks_close(c);
}

/* Refused with just that sentence, behind the path of the file. */
static inline void assert_refuses_bytes(const char *text, size_t len,
                                        const struct shoal_clicks_opts *opts, const char *want)
{
    const char *path = scratch_put("rows", text, len);
    shoal_clicks *c = NULL;
    shoal_status st = shoal_clicks_read(&c, &path, 1, opts, NULL);

    assert_null(c);
    if (st != SHOAL_EFORMAT || strncmp(shoal_error(), path, strlen(path)) != 0 ||
        strcmp(shoal_error() + strlen(path), want) != 0)
        fail_msg("%s: \"%s\", want \"%s\"", shoal_status_name(st), shoal_error(), want);
}

static inline void assert_refuses(const char *text, const struct shoal_clicks_opts *opts,
                                  const char *want)
{
    assert_refuses_bytes(text, strlen(text), opts, want);
}

#endif
