/* Checkpoints of nets: parameters, the optimizer's state and the position, in our
 * container, in the same kind of folder as those of word vectors. Rank 0 collects
 * all and writes on a thread of its own; the last two are kept. */
#include "train/checkpoint.h"
#include "train/net_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND "net-checkpoint"

struct net_checkpoints {
    const struct net *net;
    const struct net_source *source;
    const struct shoal_net_opts *opts;
    float *params, *state[DENSE_STATES]; /* copies, on rank 0 */
    unsigned states;
    uint64_t steps;
    struct net_position at;
    struct shoal_net_figures train, valid; /* of the last whole epoch */
    unsigned long next;
    unsigned written;
    struct errand writer;
    bool writing;
};

/* What decides the result: X(field, kind). */
#define RESULT_FIELDS(X)                                                                           \
    X(epochs, u64)                                                                                 \
    X(batch, u64)                                                                                  \
    X(global_batch, u64)                                                                           \
    X(optimizer, u64)                                                                              \
    X(lr, real)                                                                                    \
    X(schedule, u64)                                                                               \
    X(decay, real)                                                                                 \
    X(warmup, real)                                                                                \
    X(momentum, real)                                                                              \
    X(nesterov, u64)                                                                               \
    X(weight_decay, real)                                                                          \
    X(seed, u64)                                                                                   \
    X(in_order, u64)

#define POSITION_FIELDS(X)                                                                         \
    X(epoch, u64)                                                                                  \
    X(step, u64)                                                                                   \
    X(samples, u64)                                                                                \
    X(seconds, real)                                                                               \
    X(sums.samples, u64)                                                                           \
    X(sums.right, u64)                                                                             \
    X(sums.right5, u64)                                                                            \
    X(sums.loss, real)                                                                             \
    X(sums.squared, real)                                                                          \
    X(sums.absolute, real)                                                                         \
    X(sums.cosine, real)                                                                           \
    X(norm, real)                                                                                  \
    X(norms, u64)                                                                                  \
    X(best_loss, real)                                                                             \
    X(progress, real)

/* Of a run that is at its end, only here: nothing more is measured. */
#define FIGURE_FIELDS(X)                                                                           \
    X(loss)                                                                                        \
    X(accuracy)                                                                                    \
    X(top5)                                                                                        \
    X(mse)                                                                                         \
    X(mae)                                                                                         \
    X(rmse)                                                                                        \
    X(cosine)                                                                                      \
    X(word1)                                                                                       \
    X(word5)                                                                                       \
    X(word10)

uint64_t net_checkpoint_bytes(const struct net *net, const struct shoal_net_opts *o)
{
    struct dense_opts d = net_dense_opts(o);

    return o->checkpoint && shoal_ranks_rank(o->ranks) == 0
               ? net->size * sizeof(float) * (1 + optim_states(&d.optim)) : 0;
}

/* ---- lines ---- */

static shoal_status add_u64(struct bytes *b, const char *key, uint64_t value)
{
    char text[128];
    int len = snprintf(text, sizeof text, "%s %llu\n", key, (unsigned long long)value);

    return bytes_add(b, text, (size_t)len);
}

/* Hexadecimal, so that not a bit is lost. */
static shoal_status add_real(struct bytes *b, const char *key, double value)
{
    char text[128];
    int len = number_print(text, sizeof text, "%s %a\n", key, value);

    return bytes_add(b, text, (size_t)len);
}

static shoal_status write_meta(struct bytes *b, const struct net_checkpoints *c)
{
    const struct shoal_net_opts *o = c->opts;
    const struct net_position *at = &c->at;
    char text[NET_SPEC + 64];
    int len = snprintf(text, sizeof text, "kind " KIND "\nspec %s\n", c->net->spec);
    shoal_status st = bytes_add(b, text, (size_t)len);

    if (st == SHOAL_OK)
        st = add_u64(b, "data", c->source->fingerprint);
    if (st == SHOAL_OK)
        st = add_u64(b, "workers", net_workers(o));
    if (st == SHOAL_OK)
        st = add_u64(b, "steps", c->steps);
#define X(field, type)                                                                             \
    if (st == SHOAL_OK)                                                                            \
        st = add_##type(b, "opt." #field, o->field);
    RESULT_FIELDS(X)
#undef X
#define X(field, type)                                                                             \
    if (st == SHOAL_OK)                                                                            \
        st = add_##type(b, "at." #field, at->field);
    POSITION_FIELDS(X)
#undef X
#define X(field)                                                                                   \
    if (st == SHOAL_OK)                                                                            \
        st = add_real(b, "train." #field, c->train.field);                                         \
    if (st == SHOAL_OK)                                                                            \
        st = add_real(b, "valid." #field, c->valid.field);
    FIGURE_FIELDS(X)
#undef X
    return st;
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

typedef uint64_t field_u64;
typedef double field_real;

static shoal_status read_position(const struct container *c, struct net_position *at)
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
    return st;
}

/* They decide nothing: what an older checkpoint lacks is not known. */
static void read_figures(const struct container *c, struct shoal_net_figures *train,
                         struct shoal_net_figures *valid)
{
#define X(field)                                                                                   \
    if (get_real(c, "train." #field, &train->field) != SHOAL_OK)                                   \
        train->field = NAN;                                                                        \
    if (get_real(c, "valid." #field, &valid->field) != SHOAL_OK)                                   \
        valid->field = NAN;
    FIGURE_FIELDS(X)
#undef X
}

static shoal_status check_same(const struct container *c, const struct shoal_net_opts *o)
{
    shoal_status st = SHOAL_OK;

#define X(field, type)                                                                             \
    if (st == SHOAL_OK) {                                                                          \
        field_##type value;                                                                        \
                                                                                                   \
        st = get_##type(c, "opt." #field, &value);                                                 \
        if (st == SHOAL_OK && (double)value != (double)o->field)                                   \
            st = shoal_fail(SHOAL_EINVAL,                                                          \
                            "%s: " #field " is %g there, %g here: that is another run",            \
                            container_path(c), (double)value, (double)o->field);                   \
    }
    RESULT_FIELDS(X)
#undef X
    return st;
}

/* ---- writing ---- */

static shoal_status put_blocks(struct container_writer *w, const struct net_checkpoints *c)
{
    size_t bytes = c->net->size * sizeof(float);
    shoal_status st = container_put(w, "params", c->params, bytes);

    for (unsigned i = 0; i < c->states && st == SHOAL_OK; i++)
        st = container_put(w, i ? "state.1" : "state.0", c->state[i], bytes);
    return st;
}

static shoal_status write_file(void *ctx)
{
    struct net_checkpoints *c = ctx;
    struct container_writer *w = NULL;
    struct bytes meta = {0};
    char path[CHECKPOINT_PATH];
    shoal_status st = write_meta(&meta, c);

    folder_path(path, c->opts->checkpoint, c->next);
    if (st == SHOAL_OK)
        st = container_create(&w, path);
    if (st == SHOAL_OK)
        st = container_put(w, "meta", meta.at, meta.len);
    if (st == SHOAL_OK && c->opts->command)
        st = container_put(w, "command", c->opts->command, c->opts->command_len);
    if (st == SHOAL_OK)
        st = put_blocks(w, c);
    if (st == SHOAL_OK)
        st = container_commit(w);
    else
        container_abandon(w);
    if (st == SHOAL_OK)
        folder_drop_old(c->opts->checkpoint);
    bytes_fini(&meta);
    return st;
}

shoal_status net_checkpoints_finish(struct net_checkpoints *c, struct comm *comm)
{
    shoal_status st = SHOAL_OK;

    if (!c || !c->writing)
        return SHOAL_OK;
    st = errand_end(&c->writer, comm);
    c->writing = false;
    if (st == SHOAL_OK) {
        c->next++;
        c->written++;
    }
    return st;
}

shoal_status net_checkpoints_write(struct net_checkpoints *c, struct net_run *r)
{
    float *const none[DENSE_STATES] = {0};
    uint64_t steps = 0;
    shoal_status st = net_checkpoints_finish(c, r->comm);

    if (r->comm)
        st = comm_agree(r->comm, st);
    if (st == SHOAL_OK)
        st = dense_save(r->dense, c ? c->state : none, &steps);
    if (st != SHOAL_OK || !c)
        return st;
    memcpy(c->params, r->params, c->net->size * sizeof *c->params);
    c->at = r->at;
    c->at.progress = net_progress(r);
    c->train = r->last;
    c->valid = r->valid;
    c->steps = steps;
    c->writing = true;
    errand_begin(&c->writer, write_file, c);
    return SHOAL_OK;
}

unsigned net_checkpoints_written(const struct net_checkpoints *c)
{
    return c ? c->written : 0;
}

void net_checkpoints_close(struct net_checkpoints *c)
{
    if (!c)
        return;
    if (c->writing)
        errand_end(&c->writer, NULL);
    mem_unmap(c->params, c->net->size * sizeof(float));
    for (unsigned i = 0; i < DENSE_STATES; i++)
        mem_unmap(c->state[i], c->net->size * sizeof(float));
    free(c);
}

/* ---- opening ---- */

static shoal_status make_copies(struct net_checkpoints *c)
{
    struct dense_opts d = net_dense_opts(c->opts);
    size_t bytes = c->net->size * sizeof(float);

    c->states = optim_states(&d.optim);
    c->params = mem_map(bytes);
    if (!c->params)
        return SHOAL_ENOMEM;
    for (unsigned i = 0; i < c->states; i++) {
        c->state[i] = mem_map(bytes);
        if (!c->state[i])
            return SHOAL_ENOMEM;
    }
    return SHOAL_OK;
}

shoal_status net_checkpoints_open(struct net_checkpoints **out, const struct net_run *r)
{
    struct net_checkpoints *c = mem_array(1, sizeof *c);
    shoal_status st;

    *out = NULL;
    if (!c)
        return SHOAL_ENOMEM;
    *c = (struct net_checkpoints){.net = r->net, .source = r->source, .opts = r->opts};
    st = folder_open(c->opts->checkpoint, c->opts->resume, &c->next);
    if (st == SHOAL_OK)
        st = make_copies(c);
    if (st != SHOAL_OK) {
        net_checkpoints_close(c);
        return st;
    }
    *out = c;
    return SHOAL_OK;
}

/* ---- reading ---- */

static shoal_status open_one(struct container **c, const char *path)
{
    char kind[32];
    shoal_status st = container_open(c, path);

    if (st == SHOAL_OK)
        st = container_verify(*c, 0);
    if (st == SHOAL_OK)
        st = container_meta(*c, "kind", kind, sizeof kind);
    if (st == SHOAL_OK && strcmp(kind, KIND) != 0)
        st = shoal_fail(SHOAL_ENOENT, "%s: is a %s, want one of a net", path, kind);
    if (st != SHOAL_OK) {
        container_close(*c);
        *c = NULL;
    }
    return st;
}

/* The newest that is whole. */
static shoal_status open_newest(struct container **c, const char *folder)
{
    struct numbers found = {0};
    shoal_status st = folder_list(&found, folder);

    *c = NULL;
    if (st == SHOAL_OK && found.len == 0)
        st = shoal_fail(SHOAL_ENOENT, "%s: no checkpoint in this folder", folder);
    for (size_t i = 0; i < found.len && !*c; i++) {
        char path[CHECKPOINT_PATH];

        folder_path(path, folder, found.at[i]);
        st = open_one(c, path);
    }
    numbers_fini(&found);
    return st;
}

static shoal_status check_run(const struct container *c, const struct net_run *r)
{
    char spec[NET_SPEC];
    uint64_t data = 0, workers = 0;
    shoal_status st = container_meta(c, "spec", spec, sizeof spec);

    if (st == SHOAL_OK && strcmp(spec, r->net->spec) != 0)
        st = shoal_fail(SHOAL_EINVAL, "%s: the net is '%s' there, '%s' here: that is another run",
                        container_path(c), spec, r->net->spec);
    if (st == SHOAL_OK)
        st = check_same(c, r->opts);
    if (st == SHOAL_OK)
        st = container_meta_u64(c, "data", &data);
    if (st == SHOAL_OK)
        st = container_meta_u64(c, "workers", &workers);
    if (st == SHOAL_OK && data != r->source->fingerprint)
        st = shoal_fail(SHOAL_EINVAL, "%s: was trained on other data than is given here",
                        container_path(c));
    if (st == SHOAL_OK && workers != r->workers && r->opts->global_batch == 0)
        st = shoal_fail(SHOAL_EINVAL,
                        "%s: %llu ranks trained there, %u here, and --batch is of each: want as "
                        "many, or --global-batch",
                        container_path(c), (unsigned long long)workers, r->workers);
    return st;
}

static shoal_status read_block(const struct container *c, const char *name, float *out, size_t n)
{
    struct section s;
    shoal_status st = container_find(c, name, sizeof *out, &s);

    if (st == SHOAL_OK && s.size != n * sizeof *out)
        st = shoal_fail(SHOAL_EFORMAT, "%s: %s has %zu bytes, want %zu", container_path(c), name,
                        s.size, n * sizeof *out);
    if (st == SHOAL_OK)
        memcpy(out, s.data, s.size);
    return st;
}

struct loaded {
    struct net_position at;
    struct shoal_net_figures train, valid;
    uint64_t steps;
};

static shoal_status read_all(struct net_run *r, struct net_checkpoints *copies, struct loaded *l)
{
    struct container *c;
    shoal_status st = open_newest(&c, r->opts->checkpoint);

    if (st == SHOAL_OK)
        st = check_run(c, r);
    if (st == SHOAL_OK)
        st = read_position(c, &l->at);
    if (st == SHOAL_OK)
        read_figures(c, &l->train, &l->valid);
    if (st == SHOAL_OK)
        st = container_meta_u64(c, "steps", &l->steps);
    if (st == SHOAL_OK && (l->at.epoch > r->opts->epochs || l->at.step > r->steps))
        st = shoal_fail(SHOAL_EFORMAT, "%s: stands at epoch %u, step %llu, want at most %u and %llu",
                        container_path(c), l->at.epoch, (unsigned long long)l->at.step,
                        r->opts->epochs, (unsigned long long)r->steps);
    if (st == SHOAL_OK)
        st = read_block(c, "params", r->params, r->net->size);
    for (unsigned i = 0; i < copies->states && st == SHOAL_OK; i++)
        st = read_block(c, i ? "state.1" : "state.0", copies->state[i], r->net->size);
    container_close(c);
    return st;
}

/* Rank 0 reads; what all need, all get. */
shoal_status net_checkpoint_load(struct net_run *r)
{
    float *const none[DENSE_STATES] = {0};
    struct loaded l = {0};
    shoal_status st = r->leads ? read_all(r, r->checkpoints, &l) : SHOAL_OK;

    if (r->comm)
        st = comm_agree(r->comm, st);
    if (st == SHOAL_OK && r->comm)
        st = comm_broadcast(r->comm, 0, &l, sizeof l);
    if (st == SHOAL_OK)
        st = dense_load(r->dense, r->leads ? r->checkpoints->state : none, l.steps);
    r->at = l.at;
    r->last = l.train;
    r->valid = l.valid;
    return st;
}

/* ---- for whoever resumes ---- */

static shoal_status read_resume(struct shoal_net_resume *out, const struct container *c)
{
    struct net_position at = {0};
    struct section s;
    uint64_t epochs = 0;
    shoal_status st = read_position(c, &at);

    if (st == SHOAL_OK)
        st = container_meta(c, "spec", out->spec, sizeof out->spec);
    if (st == SHOAL_OK)
        st = container_meta_u64(c, "opt.epochs", &epochs);
    if (st != SHOAL_OK)
        return st;
    out->epoch = at.epoch;
    out->epochs = (unsigned)epochs;
    out->progress = at.progress;
    out->seconds = at.seconds;
    out->samples = at.samples;
    out->path = strdup(container_path(c));
    if (!out->path)
        return shoal_fail(SHOAL_ENOMEM, "%s: no memory for its name", container_path(c));
    if (!container_has(c, "command"))
        return SHOAL_OK;
    st = container_find(c, "command", 1, &s);
    if (st != SHOAL_OK || s.size == 0)
        return st;
    if (((const char *)s.data)[s.size - 1] != '\0')
        return shoal_fail(SHOAL_EFORMAT, "%s: its command is cut off", container_path(c));
    out->command = mem_array(s.size, 1);
    if (!out->command)
        return SHOAL_ENOMEM;
    memcpy(out->command, s.data, s.size);
    out->command_len = s.size;
    return SHOAL_OK;
}

shoal_status shoal_net_resume_read(struct shoal_net_resume *out, const char *folder)
{
    struct container *c;
    shoal_status st;

    *out = (struct shoal_net_resume){0};
    st = open_newest(&c, folder);
    if (st == SHOAL_OK)
        st = read_resume(out, c);
    container_close(c);
    if (st != SHOAL_OK)
        shoal_net_resume_free(out);
    return st;
}

void shoal_net_resume_free(struct shoal_net_resume *r)
{
    free(r->path);
    free(r->command);
    *r = (struct shoal_net_resume){0};
}
