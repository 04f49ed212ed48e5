/* What a checkpoint says in words: the task, its options, the position and the figures. */
#include "train/options.h"
#include "train/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT 2 /* of checkpoints: 1 had two kinds, of words and of nets */

#define POSITION_FIELDS(X)                                                                         \
    X(epoch, u64)                                                                                  \
    X(place, u64)                                                                                  \
    X(examples, u64)                                                                               \
    X(seconds, real)                                                                               \
    X(sums.examples, u64)                                                                          \
    X(sums.rows, u64)                                                                              \
    X(sums.predictions, u64)                                                                       \
    X(sums.loss, real)                                                                             \
    X(sums.right, u64)                                                                             \
    X(sums.right5, u64)                                                                            \
    X(sums.squared, real)                                                                          \
    X(sums.absolute, real)                                                                         \
    X(sums.cosine, real)                                                                           \
    X(norm, real)                                                                                  \
    X(norms, u64)                                                                                  \
    X(steps, u64)                                                                                  \
    X(workers, u64)                                                                                \
    X(best_loss, real)                                                                             \
    X(progress, real)                                                                              \
    X(evaluations, u64)                                                                            \
    X(no_better, u64)                                                                              \
    X(evaluated, u64)                                                                              \
    X(held_best, real)

typedef uint64_t field_u64;
typedef double field_real;
#define FORMAT_u64 "%" PRIu64
#define FORMAT_real "%a" /* hexadecimal, so that not a bit is lost */

shoal_status meta_write(struct bytes *b, const struct task *task, const struct train_opts *o,
                        const struct position *at)
{
    shoal_status st = bytes_print(b, "kind checkpoint\nformat %d\n", FORMAT);

    if (st == SHOAL_OK)
        st = options_write(task, o, b);
#define X(field, type)                                                                             \
    if (st == SHOAL_OK)                                                                            \
        st = bytes_print(b, "at." #field " " FORMAT_##type "\n", (field_##type)at->field);
    POSITION_FIELDS(X)
#undef X
    return st == SHOAL_OK ? bytes_print(b, "at.kept %" PRIu64 "\n", at->kept) : st;
}

shoal_status meta_task(const struct container *c, const struct task **task)
{
    char name[32];
    uint64_t format = 0;
    shoal_status st = container_meta_u64(c, "format", &format);

    if (st != SHOAL_OK || format != FORMAT)
        return shoal_fail(SHOAL_EFORMAT, "%s: is a checkpoint of format %llu, want %d",
                          container_path(c), (unsigned long long)(st == SHOAL_OK ? format : 1),
                          FORMAT);
    st = container_meta(c, "task", name, sizeof name);
    if (st != SHOAL_OK)
        return st;
    *task = task_find(name);
    return *task ? SHOAL_OK
                 : shoal_fail(SHOAL_EFORMAT, "%s: trains '%s', want a task that is known",
                              container_path(c), name);
}

static shoal_status get_u64(const struct container *c, const char *key, uint64_t *value)
{
    return container_meta_u64(c, key, value);
}

static shoal_status get_real(const struct container *c, const char *key, double *value)
{
    char text[64], *end;
    shoal_status st = container_meta(c, key, text, sizeof text);

    if (st != SHOAL_OK)
        return st;
    *value = number_read(text, &end);
    if (end == text || *end)
        return shoal_fail(SHOAL_EFORMAT, "%s: %s is `%s`, want a number", container_path(c), key,
                          text);
    return SHOAL_OK;
}

shoal_status meta_position(const struct container *c, struct position *at)
{
    shoal_status st = SHOAL_OK;

#define X(field, type)                                                                             \
    if (st == SHOAL_OK) {                                                                          \
        field_##type value;                                                                        \
                                                                                                   \
        st = get_##type(c, "at." #field, &value);                                                  \
        if (st == SHOAL_OK)                                                                        \
            at->field = (__typeof__(at->field))value;                                              \
    }
    POSITION_FIELDS(X)
#undef X
    /* Checkpoints from before it was kept do not say so. */
    if (st == SHOAL_OK && container_meta_u64(c, "at.kept", &at->kept) != SHOAL_OK)
        at->kept = 0;
    return st;
}

/* ---- figures: lines `of share name value` ---- */

shoal_status meta_write_figures(struct bytes *b, const struct shoal_figures *f)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < f->n && st == SHOAL_OK; i++) {
        const struct shoal_figure *at = &f->at[i];

        st = bytes_print(b, "%u %d %a %s\n", at->of, at->share, at->value, at->name);
    }
    return st;
}

static shoal_status read_figure(const struct container *c, const char *line, size_t len,
                                struct shoal_figures *f)
{
    char text[160] = "", *at = text, *end;
    unsigned long of, share;
    double value;

    if (len < sizeof text)
        memcpy(text, line, len);
    of = strtoul(at, &end, 10);
    share = end > at ? strtoul(at = end, &end, 10) : 2;
    value = end > at ? number_read(at = end, &end) : NAN;
    if (end == at || *end != ' ' || of > SHOAL_OF_RUN || share > 1)
        return shoal_fail(SHOAL_EFORMAT, "%s: found a figure `%s`, want: of share value name",
                          container_path(c), text);
    figures_add(f, (enum shoal_figure_of)of, end + 1, share == 1, value);
    return SHOAL_OK;
}

shoal_status meta_read_figures(const struct container *c, struct shoal_figures *f)
{
    struct section s;
    shoal_status st = container_find(c, "figures", 1, &s);
    const char *at, *stop;

    f->n = 0;
    if (st != SHOAL_OK || s.size == 0)
        return st;
    at = s.data;
    stop = at + s.size;
    while (st == SHOAL_OK && at < stop) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));

        end = end ? end : stop;
        st = read_figure(c, at, (size_t)(end - at), f);
        at = end + 1;
    }
    return st;
}
