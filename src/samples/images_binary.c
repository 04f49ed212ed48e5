/* CIFAR's binary files and IDX: pixels as they are.
 *
 *     CIFAR-10     label, 1,024 red, 1,024 green, 1,024 blue               3,073 bytes each
 *     CIFAR-100    coarse label, label, and the same                       3,074 bytes each
 *     IDX          pictures and labels in two files; see samples_arrays.c                      */
#include "samples/samples.h"

#include <stdio.h>
#include <stdlib.h>

enum { CIFAR_SIDE = 32, CIFAR_PIXELS = 3072 };
#define IDX_MAX ((size_t)4 << 30)

/* ---- CIFAR ---- */

/* The classes of a file by its length; 0 when it is neither. What could be both
 * is CIFAR-10. */
static size_t cifar_classes(uint64_t bytes)
{
    if (bytes > 0 && bytes % (CIFAR_PIXELS + 1) == 0)
        return 10;
    return bytes > 0 && bytes % (CIFAR_PIXELS + 2) == 0 ? 100 : 0;
}

static shoal_status cifar_length(const char *path, uint64_t *bytes)
{
    static const size_t chunk = 1 << 16;
    struct stream *s;
    char *buf = mem_array(chunk, 1);
    size_t got = 0;
    shoal_status st = buf ? stream_open(&s, path) : SHOAL_ENOMEM;

    *bytes = 0;
    if (st == SHOAL_OK) {
        do {
            st = stream_read(s, buf, chunk, &got);
            *bytes += got;
        } while (st == SHOAL_OK && got == chunk);
        stream_close(s);
    }
    free(buf);
    return st;
}

static shoal_status cifar_shape(shoal_images *set, const char *path, size_t classes)
{
    if (set->count > 0 && (set->classes != classes || images_pixels(set) != CIFAR_PIXELS))
        return shoal_fail(SHOAL_EFORMAT, "%s: found %zu classes, want %zu as in the files before",
                          path, classes, set->classes);
    set->classes = classes;
    set->channels = 3;
    set->height = set->width = CIFAR_SIDE;
    return SHOAL_OK;
}

static shoal_status cifar_records(shoal_images *set, const char *path, struct stream *s)
{
    size_t labels = set->classes == 100 ? 2 : 1, got;
    uint8_t record[CIFAR_PIXELS + 2];
    shoal_status st = stream_read(s, record, CIFAR_PIXELS + labels, &got);

    while (st == SHOAL_OK && got == CIFAR_PIXELS + labels) {
        if (record[labels - 1] >= set->classes)
            return shoal_fail(SHOAL_EFORMAT, "%s: picture %zu has label %d, want less than %zu",
                              path, set->count, record[labels - 1], set->classes);
        st = images_add(set, record + labels, record[labels - 1]);
        if (st == SHOAL_OK)
            st = stream_read(s, record, CIFAR_PIXELS + labels, &got);
    }
    return st;
}

shoal_status images_read_cifar(shoal_images *set, const char *path)
{
    struct stream *s;
    uint64_t bytes;
    shoal_status st = cifar_length(path, &bytes);

    if (st == SHOAL_OK && cifar_classes(bytes) == 0)
        st = shoal_fail(SHOAL_EFORMAT,
                        "%s: %llu bytes, want a multiple of 3,073 (CIFAR-10) or 3,074 (CIFAR-100)",
                        path, (unsigned long long)bytes);
    if (st == SHOAL_OK)
        st = cifar_shape(set, path, cifar_classes(bytes));
    if (st != SHOAL_OK || (st = stream_open(&s, path)) != SHOAL_OK)
        return st;
    st = cifar_records(set, path, s);
    stream_close(s);
    return st;
}

/* ---- IDX ---- */

/* train-images-idx3-ubyte.gz has train-labels-idx1-ubyte.gz beside it, and likewise
 * with other names. */
static shoal_status labels_beside(char *out, size_t cap, const char *images)
{
    static const char *const from[] = {"images", "idx3"}, *const to[] = {"labels", "idx1"};
    const char *name = strrchr(images, '/');
    size_t begin = name ? (size_t)(name - images) + 1 : 0;

    if (strlen(images) >= cap || !strstr(images + begin, "images"))
        return shoal_fail(SHOAL_EINVAL,
                          "%s: want a name with `images` in it, and the labels beside", images);
    strcpy(out, images);
    for (size_t i = 0; i < 2; i++) {
        char *at = strstr(out + begin, from[i]);

        if (at)
            memcpy(at, to[i], strlen(to[i]));
    }
    return SHOAL_OK;
}

/* The bytes of an array of bytes with so many dimensions; free(*data). */
static shoal_status open_bytes(struct array *a, char **data, const char *path, size_t sides)
{
    size_t len, found = 0;
    shoal_status st = stream_slurp(data, &len, path, IDX_MAX);

    if (st == SHOAL_OK && !idx_sniff(*data, len))
        st = shoal_fail(SHOAL_EFORMAT, "%s: no IDX file by its first bytes", path);
    if (st == SHOAL_OK)
        st = idx_open(a, path, *data, len);
    if (st != SHOAL_OK)
        return st;
    while (found < 3 && a->sides[found] > 0)
        found++;
    if (a->type != ARRAY_U8 || found != sides)
        st = shoal_fail(SHOAL_EFORMAT, "%s: found %zu dimensions, want %zu of bytes", path,
                        found + 1, sides + 1);
    return st;
}

static shoal_status idx_shape(shoal_images *set, const struct array *a, size_t labels)
{
    if (a->sides[0] == 0 || a->sides[1] == 0 || a->sides[0] > IMAGES_MAX_SIDE ||
        a->sides[1] > IMAGES_MAX_SIDE)
        return shoal_fail(SHOAL_ELIMIT, "%s: pictures of %zu x %zu, want sides of 1 to %d", a->path,
                          a->sides[1], a->sides[0], IMAGES_MAX_SIDE);
    if (labels != a->n)
        return shoal_fail(SHOAL_EFORMAT, "%s: %zu pictures and %zu labels, want as many", a->path,
                          a->n, labels);
    set->channels = 1;
    set->height = (unsigned)a->sides[0];
    set->width = (unsigned)a->sides[1];
    return SHOAL_OK;
}

static shoal_status idx_pictures(shoal_images *set, const struct array *pixels,
                                 const struct array *labels)
{
    const uint8_t *at = (const uint8_t *)pixels->at, *label = (const uint8_t *)labels->at;
    shoal_status st = idx_shape(set, pixels, labels->n);

    for (size_t i = 0; i < pixels->n && st == SHOAL_OK; i++) {
        st = images_add(set, at + i * images_pixels(set), label[i]);
        if (label[i] >= set->classes)
            set->classes = (size_t)label[i] + 1;
    }
    return st;
}

shoal_status images_read_idx(shoal_images *set, const char *path)
{
    char beside[4096], *pixels = NULL, *labels = NULL;
    struct array a, b;
    shoal_status st = labels_beside(beside, sizeof beside, path);

    if (st == SHOAL_OK)
        st = open_bytes(&a, &pixels, path, 2);
    if (st == SHOAL_OK)
        st = open_bytes(&b, &labels, beside, 0);
    if (st == SHOAL_OK)
        st = idx_pictures(set, &a, &b);
    free(labels);
    free(pixels);
    return st;
}
