/* Sets of pictures: which format a path holds, and what all formats share. */
#include "samples/samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_MAX = 4 << 20 }; /* bytes of a list of class names */

static bool is_dir(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_there(const char *folder, const char *name, char *path, size_t cap)
{
    int n = snprintf(path, cap, "%s/%s", folder, name);

    return n > 0 && (size_t)n < cap && access(path, R_OK) == 0;
}

size_t images_pixels(const shoal_images *set)
{
    return (size_t)set->channels * set->height * set->width;
}

/* ---- what all formats share ---- */

shoal_status images_add(shoal_images *set, const uint8_t *pixels, uint32_t label)
{
    size_t each = images_pixels(set);
    shoal_status st;

    if (set->count >= UINT32_MAX)
        return shoal_fail(SHOAL_ELIMIT, "images: over %u pictures, want fewer", UINT32_MAX);
    st = pixels ? mem_grow(&set->pixels, &set->room, set->count + 1, each) : SHOAL_OK;
    if (st == SHOAL_OK)
        st = mem_grow(&set->labels, &set->label_room, set->count + 1, sizeof *set->labels);
    if (st != SHOAL_OK)
        return st;
    if (pixels)
        memcpy(set->pixels + set->count * each, pixels, each);
    set->labels[set->count++] = label;
    return SHOAL_OK;
}

shoal_status images_set_name(char **name, const char *text)
{
    free(*name);
    *name = strdup(text);
    return *name ? SHOAL_OK
                 : shoal_fail(SHOAL_ENOMEM, "images: no room for the names of the classes");
}

/* Names that nobody gave: "0", "1", ... */
static shoal_status number_classes(shoal_images *set)
{
    shoal_status st = SHOAL_OK;
    char name[24];

    set->names = mem_array(set->classes, sizeof *set->names);
    for (size_t i = 0; set->names && i < set->classes && st == SHOAL_OK; i++) {
        snprintf(name, sizeof name, "%zu", i);
        st = images_set_name(&set->names[i], name);
    }
    return set->names ? st : SHOAL_ENOMEM;
}

/* The lines of a file, as many as there are classes; empty ones do not count. */
static shoal_status name_from(shoal_images *set, const char *path)
{
    char *text, *line, *rest;
    size_t len, n = 0;
    shoal_status st = stream_slurp(&text, &len, path, NAMES_MAX);

    if (st != SHOAL_OK)
        return st;
    for (line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest), n++)
        if (n < set->classes && st == SHOAL_OK)
            st = images_set_name(&set->names[n], line);
    free(text);
    if (st == SHOAL_OK && n != set->classes)
        st = shoal_fail(SHOAL_EFORMAT, "%s: %zu names, want one for each of %zu classes", path, n,
                        set->classes);
    return st;
}

static shoal_status name_cifar10(shoal_images *set)
{
    static const char *const names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                        "dog",      "frog",       "horse", "ship", "truck"};
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < set->classes && st == SHOAL_OK; i++)
        st = images_set_name(&set->names[i], names[i]);
    return st;
}

/* From a list beside the data, under the names that lists have. */
static shoal_status name_classes(shoal_images *set, const char *folder)
{
    static const char *const lists[] = {"classes.txt", "batches.meta.txt", "fine_label_names.txt"};
    char path[4096];
    shoal_status st = number_classes(set);

    for (size_t i = 0; st == SHOAL_OK && i < sizeof lists / sizeof *lists; i++)
        if (is_there(folder, lists[i], path, sizeof path))
            return name_from(set, path);
    if (st == SHOAL_OK && set->classes == 10 && images_pixels(set) == 3072)
        st = name_cifar10(set);
    return st;
}

void shoal_images_close(shoal_images *set)
{
    if (!set)
        return;
    for (size_t i = 0; set->names && i < set->classes; i++)
        free(set->names[i]);
    for (size_t i = 0; set->paths && i < set->count; i++)
        free(set->paths[i]);
    free(set->names);
    free(set->paths);
    free(set->pixels);
    free(set->labels);
    free(set);
}

/* ---- which format ---- */

static bool is_idx(const char *path)
{
    unsigned char magic[4] = {0};
    struct stream *s;
    size_t got = 0;

    if (stream_open(&s, path) != SHOAL_OK)
        return false;
    if (stream_read(s, magic, sizeof magic, &got) != SHOAL_OK)
        got = 0;
    stream_close(s);
    return got == 4 && magic[0] == 0 && magic[1] == 0 && magic[2] == 8 && magic[3] == 3;
}

static shoal_status read_file(shoal_images *set, const char *path)
{
    shoal_status st = is_idx(path) ? images_read_idx(set, path) : images_read_cifar(set, path);
    char *folder = path_folder(path);

    if (st == SHOAL_OK)
        st = folder ? name_classes(set, folder) : SHOAL_ENOMEM;
    free(folder);
    return st;
}

/* The names of the parts, in each of the formats. */
static const struct {
    const char *train[5], *test;
    bool idx;
} layouts[] = {
    {{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
      "data_batch_5.bin"},
     "test_batch.bin",
     false},
    {{"train.bin"}, "test.bin", false},
    {{"train-images-idx3-ubyte.gz"}, "t10k-images-idx3-ubyte.gz", true},
    {{"train-images-idx3-ubyte"}, "t10k-images-idx3-ubyte", true},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

/* Reads what is there of layout i; SHOAL_OK with no pictures when nothing is. */
static shoal_status read_layout(shoal_images *set, const char *folder, size_t i, bool test)
{
    char path[4096];
    shoal_status st = SHOAL_OK;

    for (size_t k = 0; k < 5 && st == SHOAL_OK; k++) {
        const char *name = test ? layouts[i].test : layouts[i].train[k];

        if (name && is_there(folder, name, path, sizeof path))
            st = layouts[i].idx ? images_read_idx(set, path) : images_read_cifar(set, path);
        if (test)
            break;
    }
    return st;
}

/* FOLDER/train and FOLDER/test (or val), if they are there, else FOLDER. */
static shoal_status read_class_folders(shoal_images *set, const char *folder,
                                       const struct shoal_images_opts *opts)
{
    static const char *const names[][2] = {{"train", "train"}, {"test", "val"}};
    char path[4096];

    for (size_t i = 0; i < 2; i++)
        if (is_there(folder, names[opts->test][i], path, sizeof path) && is_dir(path))
            return images_read_folder(set, path, opts);
    return images_read_folder(set, folder, opts);
}

static shoal_status read_any(shoal_images *set, const char *path,
                             const struct shoal_images_opts *opts)
{
    shoal_status st = SHOAL_OK;

    if (!is_dir(path))
        return access(path, R_OK) == 0 ? read_file(set, path)
                                       : shoal_fail_errno(SHOAL_ENOENT, "%s: cannot be read", path);
    /* Whoever asks for a part for testing is given all when there is none. */
    for (size_t i = 0; i < LAYOUTS && st == SHOAL_OK && set->count == 0; i++)
        st = read_layout(set, path, i, opts->test);
    for (size_t i = 0; i < LAYOUTS && st == SHOAL_OK && set->count == 0 && opts->test; i++)
        st = read_layout(set, path, i, false);
    if (st == SHOAL_OK && set->count > 0)
        return name_classes(set, path);
    return st == SHOAL_OK ? read_class_folders(set, path, opts) : st;
}

bool shoal_images_has_test(const char *path)
{
    char at[4096];

    for (size_t i = 0; i < LAYOUTS; i++)
        if (is_there(path, layouts[i].test, at, sizeof at))
            return true;
    return (is_there(path, "test", at, sizeof at) || is_there(path, "val", at, sizeof at)) &&
           is_dir(at);
}

shoal_status shoal_images_open(shoal_images **out, const char *path,
                               const struct shoal_images_opts *opts)
{
    shoal_images *set = mem_array(1, sizeof *set);
    shoal_status st = set ? read_any(set, path, opts) : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK && set->count == 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: no picture in it", path);
    if (st == SHOAL_OK)
        *out = set;
    else
        shoal_images_close(set);
    return st;
}

struct shoal_images_opts shoal_images_default(void)
{
    return (struct shoal_images_opts){.size = 32, .keep = (uint64_t)2 << 30};
}

/* ---- asking ---- */

size_t shoal_images_classes(const shoal_images *set)
{
    return set->classes;
}

void shoal_images_shape(const shoal_images *set, unsigned *channels, unsigned *height,
                        unsigned *width)
{
    *channels = set->channels;
    *height = set->height;
    *width = set->width;
}

shoal_status images_read_one(const shoal_images *set, size_t i, uint8_t *out)
{
    struct picture p;
    shoal_status st;

    if (set->pixels) {
        memcpy(out, set->pixels + i * images_pixels(set), images_pixels(set));
        return SHOAL_OK;
    }
    st = picture_read(&p, set->paths[i], set->channels);
    if (st == SHOAL_OK)
        st = picture_prepare(out, &p, set->resize, set->height, set->width);
    picture_fini(&p);
    return st;
}

/* The sums over one thread's share; whole numbers, so that the result does not
 * depend on how many share. */
struct moments {
    const shoal_images *set;
    unsigned threads;
    uint64_t (*sum)[2][3]; /* [threads] of x and of x squared */
};

static shoal_status add_moments(void *ctx, unsigned index)
{
    struct moments *m = ctx;
    const shoal_images *set = m->set;
    size_t area = (size_t)set->height * set->width;
    uint8_t *one = mem_array(images_pixels(set), 1);
    shoal_status st = one ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = index; i < set->count && st == SHOAL_OK; i += m->threads) {
        st = images_read_one(set, i, one);
        for (size_t c = 0; c < set->channels && st == SHOAL_OK; c++)
            for (size_t k = 0; k < area; k++) {
                uint64_t x = one[c * area + k];

                m->sum[index][0][c] += x;
                m->sum[index][1][c] += x * x;
            }
    }
    free(one);
    return st;
}

shoal_status images_moments(const shoal_images *set, unsigned threads, float mean[3], float std[3])
{
    struct moments m = {.set = set, .threads = pool_threads(threads)};
    double n = (double)set->count * set->height * set->width;
    shoal_status st;

    m.sum = mem_array(m.threads, sizeof *m.sum);
    st = m.sum ? pool_run(m.threads, add_moments, &m) : SHOAL_ENOMEM;
    for (size_t c = 0; c < set->channels && st == SHOAL_OK; c++) {
        double sum = 0, squares = 0, variance;

        for (unsigned t = 0; t < m.threads; t++) {
            sum += (double)m.sum[t][0][c];
            squares += (double)m.sum[t][1][c];
        }
        variance = squares / n - sum / n * (sum / n);
        mean[c] = (float)(sum / n / 255);
        /* A channel that never changes is left as it is. */
        std[c] = variance > 0 ? (float)(sqrt(variance) / 255) : 1;
    }
    free(m.sum);
    return st;
}

static size_t find_name(char *const *names, size_t n, const char *name)
{
    size_t i = 0;

    while (i < n && strcmp(names[i], name) != 0)
        i++;
    return i;
}

shoal_status images_match_classes(shoal_images *set, const char *path, char *const *names, size_t n)
{
    uint32_t *to = mem_array(set->classes, sizeof *to);
    char **own = mem_array(n, sizeof *own);
    shoal_status st = to && own ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = 0; i < set->classes && st == SHOAL_OK; i++) {
        to[i] = (uint32_t)find_name(names, n, set->names[i]);
        if (to[i] == n)
            st = shoal_fail(SHOAL_EINVAL, "%s: found class %s, want one of the %zu of the model",
                            path, set->names[i], n);
    }
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = images_set_name(&own[i], names[i]);
    if (st == SHOAL_OK) {
        char **old = set->names;
        size_t olds = set->classes;

        for (size_t i = 0; i < set->count; i++)
            set->labels[i] = to[set->labels[i]];
        set->names = own;
        set->classes = n;
        own = old;
        n = olds;
    }
    for (size_t i = 0; own && i < n; i++)
        free(own[i]);
    free(own);
    free(to);
    return st;
}

/* "cat/7.jpg": where the folder lies does not matter. */
static const char *below_folder(const char *path)
{
    const char *name = path, *class = path;

    for (const char *at = path; *at; at++)
        if (*at == '/') {
            class = name;
            name = at + 1;
        }
    return class;
}

uint64_t images_fingerprint(const shoal_images *set)
{
    uint64_t h = rng_at(images_pixels(set), set->classes, set->count);

    if (set->pixels)
        h = bytes_hash(h, set->pixels, set->count * images_pixels(set));
    for (size_t i = 0; set->paths && i < set->count; i++) {
        const char *name = below_folder(set->paths[i]);

        h = bytes_hash(h, name, strlen(name));
    }
    return bytes_hash(h, set->labels, set->count * sizeof *set->labels);
}
