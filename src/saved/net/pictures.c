/* What a net of pictures answers for them. */
#include "saved/net/score.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 128, FILES_AT_ONCE = 64 }; /* pictures of a set; files */

/* In the description of a net that works on maps, in the facts of any other. */
static bool side_of(const shoal_net *t, const char *key, unsigned *out)
{
    const char *fact = shoal_net_fact(t, key);
    size_t value = 0;

    if (net_spec_has(t->net->spec, key)) {
        if (net_spec_size(t->net->spec, key, 1, IMAGES_MAX_SIDE, &value) != SHOAL_OK)
            return false;
    } else if (fact && strspn(fact, "0123456789") == strlen(fact) && strlen(fact) < 6) {
        value = strtoul(fact, NULL, 10);
    }
    *out = (unsigned)value;
    return value >= 1 && value <= IMAGES_MAX_SIDE;
}

/* Whether its inputs are said to be pictures, of any number of channels. */
static bool says_pictures(const shoal_net *t, unsigned shape[3])
{
    static const char *const keys[] = {"channels", "height", "width"};

    for (size_t i = 0; i < 3; i++)
        if (!side_of(t, keys[i], &shape[i]))
            return false;
    return (size_t)shape[0] * shape[1] * shape[2] == t->net->inputs;
}

static bool shape_of(const shoal_net *t, unsigned shape[3])
{
    return says_pictures(t, shape) && (shape[0] == 1 || shape[0] == 3);
}

shoal_status saved_net_check_pictures(const shoal_net *t, const char *path)
{
    unsigned shape[3];

    if (says_pictures(t, shape) && !shape_of(t, shape))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: a net of pictures with %u channels, want 1 (grey) or 3 (colours)",
                          path, shape[0]);
    return SHOAL_OK;
}

bool saved_net_only_pictures(const shoal_net *t)
{
    unsigned shape[3];

    return shape_of(t, shape) && net_spec_has(t->net->spec, "channels");
}

unsigned saved_net_resize(const shoal_net *t)
{
    const char *fact = shoal_net_fact(t, "resize");
    unsigned shape[3];
    unsigned long value = fact && strlen(fact) < 6 ? strtoul(fact, NULL, 10) : 0;

    return shape_of(t, shape) && value >= shape[1] && value >= shape[2] && value <= PICTURE_MAX_SIDE
               ? (unsigned)value
               : 0;
}

bool picture_sniff(const void *at, size_t len)
{
    return len >= 8 &&
           (memcmp(at, "\xff\xd8\xff", 3) == 0 || memcmp(at, "\x89PNG\r\n\x1a\n", 8) == 0);
}

bool shoal_net_pictures(const shoal_net *t, unsigned *channels, unsigned *height, unsigned *width)
{
    unsigned shape[3] = {0};
    bool found = shape_of(t, shape);

    *channels = shape[0];
    *height = shape[1];
    *width = shape[2];
    return found;
}

void shoal_net_class(const shoal_net *t, size_t i, char *name, size_t cap)
{
    char key[32];
    const char *found;

    snprintf(key, sizeof key, "class.%zu", i);
    found = shoal_net_fact(t, key);
    if (found)
        snprintf(name, cap, "%s", found);
    else
        snprintf(name, cap, "%zu", i);
}

/* ---- files ---- */

static shoal_status need_pictures(const shoal_net *t, unsigned shape[3])
{
    if (shape_of(t, shape))
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "net: is '%s', want a net of pictures", t->net->spec);
}

/* Files that threads read side by side. */
struct reading {
    const shoal_net *net;
    unsigned shape[3], resize;
    const char *const *paths;
    size_t n;
    atomic_size_t next;
    float *x;                  /* [n][inputs] */
    shoal_status st[FILES_AT_ONCE]; /* [n] */
};

static shoal_status read_one(const struct reading *r, size_t i, uint8_t *pixels)
{
    size_t in = r->net->net->inputs;
    struct picture p = {0};
    shoal_status st = picture_read(&p, r->paths[i], r->shape[0]);

    if (st == SHOAL_OK)
        st = picture_prepare(pixels, &p, r->resize, r->shape[1], r->shape[2]);
    for (size_t k = 0; k < in && st == SHOAL_OK; k++)
        r->x[i * in + k] = pixels[k];
    picture_fini(&p);
    return st;
}

static shoal_status read_some(void *ctx, unsigned index)
{
    struct reading *r = ctx;
    uint8_t *pixels = mem_array(r->net->net->inputs, 1);
    size_t i;

    while (pixels && (i = atomic_fetch_add(&r->next, 1)) < r->n)
        r->st[i] = read_one(r, i, pixels);
    free(pixels);
    return pixels ? SHOAL_OK : SHOAL_ENOMEM;
}

/* *good: how many come before the first that cannot be read. That one is read again here, for its
 * sentence is another thread's. */
static shoal_status read_all(struct reading *r, size_t *good)
{
    unsigned threads = pool_threads(0);
    shoal_status st = pool_run(threads < r->n ? threads : (unsigned)r->n, read_some, r);
    uint8_t *pixels;

    *good = 0;
    while (st == SHOAL_OK && *good < r->n && r->st[*good] == SHOAL_OK)
        ++*good;
    if (st != SHOAL_OK || *good == r->n)
        return st;
    pixels = mem_array(r->net->net->inputs, 1);
    st = pixels ? read_one(r, *good, pixels) : SHOAL_ENOMEM;
    free(pixels);
    return st;
}

/* Those before the first that cannot be read are answered. */
static shoal_status predict_some(struct reading *r, struct asker *asker, float *y, size_t *good)
{
    shoal_status st, asked = SHOAL_OK;

    atomic_store(&r->next, 0);
    st = read_all(r, good);
    if (*good > 0)
        asked = asker_run(asker, *good);
    memcpy(y, asker->y, *good * r->net->net->outputs * sizeof *y);
    return asked == SHOAL_OK ? st : asked;
}

shoal_status shoal_net_predict_pictures(const shoal_net *t, const char *const *paths, size_t n,
                                        float *y, size_t *done)
{
    size_t most = asker_fit(t, n < FILES_AT_ONCE ? n : FILES_AT_ONCE), good = 0;
    struct reading r = {.net = t, .resize = saved_net_resize(t)};
    struct asker *asker;
    shoal_status st = need_pictures(t, r.shape);

    *done = 0;
    if (st != SHOAL_OK || n == 0)
        return st;
    st = asker_new(&asker, t, most);
    while (*done < n && st == SHOAL_OK) {
        r.x = asker->x;
        r.paths = paths + *done;
        r.n = n - *done < most ? n - *done : most;
        st = predict_some(&r, asker, y + *done * t->net->outputs, &good);
        *done += good;
    }
    asker_free(asker);
    return st;
}

/* ---- sets ---- */

static shoal_status match_classes(const shoal_net *t, shoal_images *set)
{
    size_t n = t->net->outputs;
    char **names = mem_array(n, sizeof *names);
    shoal_status st = names ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < n && st == SHOAL_OK; i++) {
        char name[512];

        shoal_net_class(t, i, name, sizeof name);
        names[i] = strdup(name);
        if (!names[i])
            st = shoal_fail(SHOAL_ENOMEM, "images: no memory for the names of classes");
    }
    if (st == SHOAL_OK)
        st = images_match_classes(set, "images", names, n);
    for (size_t i = 0; names && i < n; i++)
        free(names[i]);
    free(names);
    return st;
}

static shoal_status score_all(struct net_score *score, struct asker *a, const shoal_images *set,
                              uint8_t *raw)
{
    size_t in = a->net->net->inputs, out = a->net->net->outputs;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0, n; i < set->count && st == SHOAL_OK; i += n) {
        for (n = 0; n < AT_ONCE && i + n < set->count && st == SHOAL_OK; n++) {
            st = images_read_one(set, i + n, raw);
            for (size_t k = 0; k < in && st == SHOAL_OK; k++)
                a->x[n * in + k] = raw[k];
        }
        if (st == SHOAL_OK)
            st = asker_run(a, n);
        for (size_t k = 0; k < n && st == SHOAL_OK; k++)
            st = net_score_class(score, a->y + k * out, out, set->labels[i + k]);
    }
    return st;
}

static shoal_status check_shape(const shoal_net *t, const shoal_images *set)
{
    unsigned shape[3];
    shoal_status st = need_pictures(t, shape);

    if (st == SHOAL_OK &&
        (set->channels != shape[0] || set->height != shape[1] || set->width != shape[2]))
        st = shoal_fail(SHOAL_EINVAL,
                        "images: pictures are %u x %u in %u channels, want %u x %u in %u",
                        set->width, set->height, set->channels, shape[2], shape[1], shape[0]);
    return st;
}

shoal_status net_score_images(struct net_score *score, const shoal_net *t, shoal_images *set)
{
    uint8_t *raw = mem_array(t->net->inputs, 1);
    struct asker *a = NULL;
    shoal_status st = raw ? check_shape(t, set) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = match_classes(t, set);
    set->resize = saved_net_resize(t);
    if (st == SHOAL_OK)
        st = asker_new(&a, t, AT_ONCE);
    if (st == SHOAL_OK)
        st = score_all(score, a, set, raw);
    asker_free(a);
    free(raw);
    return st;
}
