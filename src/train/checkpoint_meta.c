/* What a checkpoint says in words: the options and the position of its run. */
#include "train/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The options that decide the result: X(field, kind). A run resumed with others
 * would be another run. */
#define RESULT_FIELDS(X)                                                                           \
    X(model, u64)                                                                                  \
    X(loss, u64)                                                                                   \
    X(dim, u64)                                                                                    \
    X(window, u64)                                                                                 \
    X(negative, u64)                                                                               \
    X(sample, real)                                                                                \
    X(epochs, u64)                                                                                 \
    X(lr, real)                                                                                    \
    X(schedule, u64)                                                                               \
    X(decay, real)                                                                                 \
    X(sum, u64)                                                                                    \
    X(batch, u64)                                                                                  \
    X(seed, u64)                                                                                   \
    X(valid, real)                                                                                 \
    X(deterministic, u64)                                                                          \
    X(lanes, u64)

/* And those that do not, but that a resumed run should go on with. */
#define HABIT_FIELDS(X)                                                                            \
    X(threads, u64)                                                                                \
    X(every, u64)                                                                                  \
    X(every_value, real)

/* The same, of runs with several ranks. */
#define RANK_FIELDS(X)                                                                             \
    X(sync, u64)                                                                                   \
    X(staleness, u64)                                                                              \
    X(wire, u64)                                                                                   \
    X(servers, u64)                                                                                \
    X(local_input, u64)                                                                            \
    X(patience, real)

/* The same, of click models. */
#define LOGREG_FIELDS(X)                                                                           \
    X(logreg.optimizer, u64)                                                                       \
    X(logreg.l1, real)                                                                             \
    X(logreg.l2, real)                                                                             \
    X(logreg.beta, real)                                                                           \
    X(logreg.positive, real)                                                                       \
    X(logreg.eval_every, u64)                                                                      \
    X(logreg.early_stop, u64)

#define LOOK_FIELDS(X)                                                                             \
    X(looks, u64)                                                                                  \
    X(looks_since, u64)                                                                            \
    X(looked, u64)                                                                                 \
    X(held_best, real)

#define POSITION_FIELDS(X)                                                                         \
    X(epoch, u64)                                                                                  \
    X(chunk, u64)                                                                                  \
    X(words, u64)                                                                                  \
    X(seconds, real)                                                                               \
    X(epoch_loss, real)                                                                            \
    X(epoch_predictions, u64)                                                                      \
    X(best_loss, real)                                                                             \
    X(progress, real)

static shoal_status add_line(struct bytes *b, const char *key, const char *value)
{
    shoal_status st;

    if (strchr(value, '\n'))
        return shoal_fail(SHOAL_EINVAL, "checkpoint: %s holds a newline", key);
    st = bytes_add(b, key, strlen(key));
    if (st == SHOAL_OK)
        st = bytes_add(b, " ", 1);
    if (st == SHOAL_OK)
        st = bytes_add(b, value, strlen(value));
    return st == SHOAL_OK ? bytes_add(b, "\n", 1) : st;
}

static shoal_status add_u64(struct bytes *b, const char *key, uint64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return add_line(b, key, text);
}

/* Hexadecimal, so that not a bit is lost. */
static shoal_status add_real(struct bytes *b, const char *key, double value)
{
    char text[64];

    number_print(text, sizeof text, "%a", value);
    return add_line(b, key, text);
}

#define X(field, type)                                                                             \
    if (st == SHOAL_OK)                                                                            \
        st = add_##type(b, "opt." #field, o->field);

static shoal_status write_rank_options(struct bytes *b, const struct shoal_train_opts *o)
{
    shoal_status st = SHOAL_OK;

    RANK_FIELDS(X)
    return st;
}

static shoal_status write_logreg_options(struct bytes *b, const struct shoal_train_opts *o)
{
    shoal_status st = SHOAL_OK;

    LOGREG_FIELDS(X)
    return st;
}

static shoal_status write_publish(struct bytes *b, const struct shoal_train_opts *o)
{
    shoal_status st = add_line(b, "publish", o->publish);

    return st == SHOAL_OK ? add_real(b, "opt.publish_every", o->publish_every) : st;
}

static shoal_status write_options(struct bytes *b, const struct shoal_train_opts *o,
                                  unsigned ranks)
{
    shoal_status st = add_line(b, "kind", "checkpoint");

    RESULT_FIELDS(X)
    HABIT_FIELDS(X)
    if (st == SHOAL_OK && o->model == SHOAL_LOGREG)
        st = write_logreg_options(b, o);
    if (st == SHOAL_OK && ranks > 1)
        st = write_rank_options(b, o);
    if (st == SHOAL_OK)
        st = add_line(b, "corpus", o->corpus ? o->corpus : "");
    if (st == SHOAL_OK)
        st = add_line(b, "output", o->output ? o->output : "");
    if (st == SHOAL_OK)
        st = add_line(b, "metrics", o->metrics ? o->metrics : "");
    if (st == SHOAL_OK && o->model == SHOAL_LOGREG)
        st = add_line(b, "valid", o->logreg.valid_path ? o->logreg.valid_path : "");
    return st == SHOAL_OK && o->publish ? write_publish(b, o) : st;
}

#undef X

static shoal_status write_position(struct bytes *b, const struct position *at)
{
    shoal_status st = SHOAL_OK;

#define X(field, type)                                                                             \
    if (st == SHOAL_OK)                                                                            \
        st = add_##type(b, "at." #field, at->field);
    POSITION_FIELDS(X)
    if (at->looks > 0) {
        LOOK_FIELDS(X)
    }
#undef X
    return st;
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

static shoal_status get_u64(const struct container *c, const char *key, uint64_t *value)
{
    return container_meta_u64(c, key, value);
}

typedef uint64_t field_u64;
typedef double field_real;

#define X(field, type)                                                                             \
    if (st == SHOAL_OK) {                                                                          \
        field_##type value;                                                                        \
                                                                                                   \
        st = get_##type(c, "opt." #field, &value);                                                 \
        if (st == SHOAL_OK)                                                                        \
            o->field = (__typeof__(o->field))value;                                                \
    }

static shoal_status read_rank_options(const struct container *c, struct shoal_train_opts *o)
{
    shoal_status st = SHOAL_OK;

    RANK_FIELDS(X)
    return st;
}

static shoal_status read_logreg_options(const struct container *c, struct shoal_train_opts *o)
{
    shoal_status st = SHOAL_OK;

    LOGREG_FIELDS(X)
    return st;
}

shoal_status meta_options(const struct container *c, struct shoal_train_opts *o)
{
    double every; /* of runs that publish */
    shoal_status st = SHOAL_OK;

    RESULT_FIELDS(X)
    HABIT_FIELDS(X)
    if (st == SHOAL_OK && o->model == SHOAL_LOGREG)
        st = read_logreg_options(c, o);
    if (st == SHOAL_OK && container_has(c, "parts"))
        st = read_rank_options(c, o);
    if (st == SHOAL_OK && get_real(c, "opt.publish_every", &every) == SHOAL_OK)
        o->publish_every = every;
    return st == SHOAL_OK ? shoal_train_check(o) : st;
}

#undef X

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
    if (container_meta_u64(c, "at.looks", &at->looks) == SHOAL_OK) {
        LOOK_FIELDS(X)
    }
#undef X
    return st;
}

shoal_status meta_same(const struct container *c, const struct shoal_train_opts *there,
                       const struct shoal_train_opts *here)
{
#define X(field, type)                                                                             \
    if (there->field != here->field)                                                               \
        return shoal_fail(SHOAL_EINVAL, "%s: " #field " is %g there, %g here: that is another run", \
                          container_path(c), (double)there->field, (double)here->field);
    RESULT_FIELDS(X)
    if (there->model == SHOAL_LOGREG) {
        LOGREG_FIELDS(X)
    }
#undef X
    return SHOAL_OK;
}

shoal_status meta_write(struct bytes *b, const struct shoal_train_opts *o,
                        const struct position *at, unsigned ranks)
{
    shoal_status st = write_options(b, o, ranks);

    return st == SHOAL_OK ? write_position(b, at) : st;
}

shoal_status meta_write_part(struct bytes *b, unsigned long number, unsigned part, unsigned parts)
{
    shoal_status st = add_line(b, "kind", "checkpoint-part");

    if (st == SHOAL_OK)
        st = add_u64(b, "number", number);
    if (st == SHOAL_OK)
        st = add_u64(b, "part", part);
    return st == SHOAL_OK ? add_u64(b, "parts", parts) : st;
}
