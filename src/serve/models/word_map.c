#include "serve/models/word_map.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum stage { STAGE_NONE, STAGE_MAKING, STAGE_THERE, STAGE_FAILED };

struct word_map {
    const shoal_vectors *v;
    pthread_mutex_t lock; /* of `stage` and `thread` */
    enum stage stage;
    pthread_t thread; /* from STAGE_MAKING on, until it is joined */
    bool joinable;
    atomic_bool stop;
    _Atomic double done; /* share of the rounds */
    atomic_bool first;   /* `pca` is there */
    /* Written by the thread before `first` or the stage says so, then for ever as they are. */
    struct bytes pca, json;
    shoal_status st;
    char why[SHOAL_SENTENCE];
};

shoal_status word_map_new(struct word_map **out, const shoal_vectors *v)
{
    struct word_map *m = mem_array(1, sizeof *m);

    *out = m;
    if (!m)
        return SHOAL_ENOMEM;
    m->v = v;
    pthread_mutex_init(&m->lock, NULL);
    return SHOAL_OK;
}

void word_map_free(struct word_map *m)
{
    if (!m)
        return;
    atomic_store(&m->stop, true);
    if (m->joinable)
        pthread_join(m->thread, NULL);
    pthread_mutex_destroy(&m->lock);
    bytes_fini(&m->pca);
    bytes_fini(&m->json);
    free(m);
}

/* ---- making ---- */

static bool on_progress(void *user, const struct shoal_progress *p)
{
    struct word_map *m = user;

    if (strcmp(p->unit, "rounds") == 0 && p->total > 0)
        atomic_store(&m->done, (double)p->done / (double)p->total);
    return !atomic_load(&m->stop);
}

static shoal_status make_one(struct word_map *m, enum shoal_map_method method, struct bytes *out)
{
    struct shoal_map_opts opts = shoal_map_default();
    shoal_map *map = NULL;
    shoal_status st;

    opts.words = WORD_MAP_WORDS;
    opts.method = method;
    opts.threads = 1; /* the others answer */
    opts.watch = (struct shoal_watch){on_progress, m};
    st = shoal_map_make(&map, m->v, &opts);
    if (st == SHOAL_OK)
        st = map_json(map, "Word map", out);
    shoal_map_free(map);
    return st;
}

/* Principal components first: there is something to look at long before t-SNE has come to rest. */
static shoal_status make_map(struct word_map *m)
{
    shoal_status st = make_one(m, SHOAL_MAP_PCA, &m->pca);

    if (st != SHOAL_OK)
        return st;
    atomic_store(&m->first, true);
    return make_one(m, SHOAL_MAP_TSNE, &m->json);
}

static void *map_thread(void *at)
{
    struct word_map *m = at;

    m->st = make_map(m);
    if (m->st != SHOAL_OK)
        snprintf(m->why, sizeof m->why, "%s", shoal_error());
    pthread_mutex_lock(&m->lock);
    m->stage = m->st == SHOAL_OK ? STAGE_THERE : STAGE_FAILED;
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* With the lock. */
static shoal_status begin(struct word_map *m)
{
    if (shoal_vectors_dim(m->v) > WORD_MAP_DIM)
        return shoal_fail(SHOAL_EINVAL, "map: found %zu dimensions, want %d at most",
                          shoal_vectors_dim(m->v), WORD_MAP_DIM);
    if (pthread_create(&m->thread, NULL, map_thread, m) != 0)
        return shoal_fail(SHOAL_ENOMEM, "map: no thread to make it");
    m->joinable = true;
    m->stage = STAGE_MAKING;
    return SHOAL_OK;
}

/* With the lock. */
static const struct bytes *bytes_of(const struct word_map *m, bool first)
{
    if (m->stage == STAGE_THERE)
        return &m->json;
    return first && atomic_load(&m->first) ? &m->pca : NULL;
}

shoal_status word_map_ask(struct word_map *m, bool first, const struct bytes **out)
{
    shoal_status st = SHOAL_OK;

    pthread_mutex_lock(&m->lock);
    if (m->stage == STAGE_NONE)
        st = begin(m);
    else if (m->stage == STAGE_FAILED)
        st = shoal_fail(m->st, "%s", m->why);
    *out = bytes_of(m, first);
    pthread_mutex_unlock(&m->lock);
    return st;
}

void word_map_write(struct word_map *m, const struct bytes *made, struct writer *out)
{
    if (made) {
        put_bytes(out, made->at, made->len);
        return;
    }
    put_open(out, '{');
    member_float(out, "making", (float)atomic_load(&m->done));
    member_flag(out, "first", atomic_load(&m->first));
    put_close(out, "}");
}
