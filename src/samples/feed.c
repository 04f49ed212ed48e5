/* Batches of pictures, decoded, cropped, flipped and normalised ahead of their use by
 * threads of their own, while the net computes on the batch before.
 *
 *     slot   EMPTY --image_feed_ahead--> WANTED --all pictures done--> WANTED --image_feed_fill-->
 * EMPTY
 *
 * The pictures of a wanted slot are claimed GRAIN at a time by the threads, and by whoever
 * asks for the batch before it is done: a caller helps before it waits. Two slots: one is used up
 * while the next is filled. The crop of a picture is drawn from (seed, epoch, picture), so
 * a batch is the same whoever prepared it, and also when it was never announced. */
#include "samples/samples.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { STREAM_CUT = 0x6375, SLOTS = 2, GRAIN = 8 };

struct slot {
    bool wanted;
    uint64_t number; /* in the order they were announced */
    unsigned epoch;
    size_t n, claimed, done; /* pictures */
    uint32_t *ids, *labels;  /* [batch] */
    float *x;                /* [batch][pixels] */
    shoal_status status;
    char sentence[512];
};

struct feed {
    const shoal_images *set;
    struct image_feed_opts opts;
    float level[3][256]; /* what a pixel's value becomes */
    struct slot slot[SLOTS];
    uint64_t announced;

    pthread_t thread[IMAGE_FEED_MAX_THREADS];
    unsigned running;
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool stop;
};

/* ---- one picture ---- */

static void make_levels(float level[3][256], const float mean[3], const float std[3])
{
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++)
            level[c][v] = ((float)v / 255 - mean[c]) / (std[c] > 0 ? std[c] : 1);
}

/* Where a crop begins, in the padded picture, and whether it is mirrored. */
struct cut_at {
    size_t top, left;
    bool mirrored;
};

static struct cut_at draw_cut(const struct feed *f, unsigned epoch, uint64_t picture)
{
    uint64_t draw = rng_at(f->opts.seed ^ rng_mix(epoch), STREAM_CUT, picture);
    uint64_t choices = 2 * (uint64_t)f->opts.pad + 1;

    return (struct cut_at){
        .top = (size_t)((draw & 0xffff) * choices >> 16),
        .left = (size_t)((draw >> 16 & 0xffff) * choices >> 16),
        .mirrored = f->opts.flip && draw >> 32 & 1,
    };
}

/* One channel. Beyond the picture all is black. */
static void cut_channel(const struct feed *f, float *out, const uint8_t *in, const float *level,
                        const struct cut_at *cut)
{
    size_t height = f->set->height, width = f->set->width, pad = f->opts.pad;

    for (size_t y = 0; y < height; y++) {
        size_t from = y + cut->top - pad; /* wraps above the picture */

        for (size_t x = 0; x < width; x++) {
            size_t column = (cut->mirrored ? width - 1 - x : x) + cut->left - pad;

            out[y * width + x] =
                level[from < height && column < width ? in[from * width + column] : 0];
        }
    }
}

static shoal_status prepare_one(const struct feed *f, unsigned epoch, uint64_t picture,
                                uint8_t *raw, float *out)
{
    size_t area = (size_t)f->set->height * f->set->width;
    struct cut_at cut = draw_cut(f, epoch, picture);
    shoal_status st = images_read_one(f->set, picture, raw);

    for (size_t c = 0; c < f->set->channels && st == SHOAL_OK; c++)
        cut_channel(f, out + c * area, raw + c * area, f->level[c], &cut);
    return st;
}

/* Pictures [from, to) of a batch. */
static shoal_status prepare(const struct feed *f, const uint32_t *ids, unsigned epoch, size_t from,
                            size_t to, float *x, uint32_t *labels)
{
    size_t pixels = images_pixels(f->set);
    uint8_t *raw = mem_array(pixels, 1);
    shoal_status st = raw ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = from; i < to && st == SHOAL_OK; i++) {
        uint32_t id = ids[i]; /* labels may take its place */

        labels[i] = f->set->labels[id];
        st = prepare_one(f, epoch, id, raw, x + i * pixels);
    }
    free(raw);
    return st;
}

/* ---- the slots; the lock is held at the beginning and end of each ---- */

/* The oldest slot with pictures that nobody has claimed. */
static struct slot *find_work(struct feed *f)
{
    struct slot *found = NULL;

    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *s = &f->slot[i];

        if (s->wanted && s->claimed < s->n && (!found || s->number < found->number))
            found = s;
    }
    return found;
}

static void do_some(struct feed *f, struct slot *s)
{
    size_t from = s->claimed, to = from + GRAIN < s->n ? from + GRAIN : s->n;
    shoal_status st;

    s->claimed = to;
    pthread_mutex_unlock(&f->lock);
    st = prepare(f, s->ids, s->epoch, from, to, s->x, s->labels);
    pthread_mutex_lock(&f->lock);
    if (st != SHOAL_OK && s->status == SHOAL_OK) {
        s->status = st;
        snprintf(s->sentence, sizeof s->sentence, "%s", shoal_error());
    }
    s->done += to - from;
    if (s->done == s->n)
        pthread_cond_broadcast(&f->news);
}

static void *feed_thread(void *arg)
{
    struct feed *f = arg;

    pthread_mutex_lock(&f->lock);
    while (!f->stop) {
        struct slot *s = find_work(f);

        if (s)
            do_some(f, s);
        else
            pthread_cond_wait(&f->news, &f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

static struct slot *find_slot(struct feed *f, const uint32_t *ids, size_t n, unsigned epoch)
{
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *s = &f->slot[i];

        if (s->wanted && s->n == n && s->epoch == epoch &&
            memcmp(s->ids, ids, n * sizeof *ids) == 0)
            return s;
    }
    return NULL;
}

/* ---- for the caller ---- */

void image_feed_ahead(struct feed *f, const uint32_t *ids, size_t n, unsigned epoch)
{
    struct slot *empty = NULL;

    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < SLOTS && !empty; i++)
        empty = f->slot[i].wanted ? NULL : &f->slot[i];
    if (empty && n > 0 && n <= f->opts.batch && !find_slot(f, ids, n, epoch)) {
        memcpy(empty->ids, ids, n * sizeof *ids);
        empty->n = n;
        empty->epoch = epoch;
        empty->claimed = empty->done = 0;
        empty->status = SHOAL_OK;
        empty->number = f->announced++;
        empty->wanted = true;
        pthread_cond_broadcast(&f->news);
    }
    pthread_mutex_unlock(&f->lock);
}

shoal_status image_feed_fill(struct feed *f, const uint32_t *ids, size_t n, unsigned epoch,
                             float *x, uint32_t *labels)
{
    struct slot *s;
    shoal_status st = SHOAL_OK;

    pthread_mutex_lock(&f->lock);
    s = find_slot(f, ids, n, epoch);
    while (s && s->claimed < s->n)
        do_some(f, s);
    while (s && s->done < s->n)
        pthread_cond_wait(&f->news, &f->lock);
    if (s) {
        st = s->status == SHOAL_OK ? SHOAL_OK : shoal_fail(s->status, "%s", s->sentence);
        memcpy(x, s->x, n * images_pixels(f->set) * sizeof *x);
        memcpy(labels, s->labels, n * sizeof *labels);
        s->wanted = false;
    }
    pthread_mutex_unlock(&f->lock);
    return s ? st : prepare(f, ids, epoch, 0, n, x, labels);
}

/* ---- making and ending ---- */

size_t image_feed_bytes(const shoal_images *set, const struct image_feed_opts *opts)
{
    return SLOTS * opts->batch * (images_pixels(set) * sizeof(float) + 2 * sizeof(uint32_t));
}

static shoal_status feed_slots(struct feed *f)
{
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *s = &f->slot[i];

        s->x = mem_array(f->opts.batch, images_pixels(f->set) * sizeof *s->x);
        s->ids = mem_array(f->opts.batch, sizeof *s->ids);
        s->labels = mem_array(f->opts.batch, sizeof *s->labels);
        if (!s->x || !s->ids || !s->labels)
            return SHOAL_ENOMEM;
    }
    return SHOAL_OK;
}

/* With fewer threads than wished, or none, batches are merely prepared later. */
static void feed_start(struct feed *f)
{
    while (f->running < f->opts.threads && f->running < IMAGE_FEED_MAX_THREADS &&
           pthread_create(&f->thread[f->running], NULL, feed_thread, f) == 0)
        f->running++;
}

shoal_status image_feed_new(struct feed **out, const shoal_images *set,
                            const struct image_feed_opts *opts)
{
    struct feed *f = mem_array(1, sizeof *f);
    shoal_status st;

    *out = NULL;
    if (!f)
        return SHOAL_ENOMEM;
    f->set = set;
    f->opts = *opts;
    make_levels(f->level, opts->mean, opts->std);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->news, NULL);
    st = feed_slots(f);
    if (st != SHOAL_OK) {
        image_feed_free(f);
        return st;
    }
    feed_start(f);
    *out = f;
    return SHOAL_OK;
}

void image_feed_free(struct feed *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_cond_broadcast(&f->news);
    pthread_mutex_unlock(&f->lock);
    for (; f->running > 0; f->running--)
        pthread_join(f->thread[f->running - 1], NULL);
    for (size_t i = 0; i < SLOTS; i++) {
        free(f->slot[i].x);
        free(f->slot[i].ids);
        free(f->slot[i].labels);
    }
    pthread_cond_destroy(&f->news);
    pthread_mutex_destroy(&f->lock);
    free(f);
}
