/* A folder with one folder of JPEG and PNG files for each class. */
#include "samples/samples.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- which classes ---- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_class(const char *folder, const char *name)
{
    char path[4096];
    struct stat info;
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);

    return name[0] != '.' && n > 0 && (size_t)n < sizeof path && stat(path, &info) == 0 &&
           S_ISDIR(info.st_mode);
}

static shoal_status list_classes(shoal_images *set, const char *folder)
{
    DIR *dir = opendir(folder);
    size_t room = 0;
    shoal_status st = SHOAL_OK;

    if (!dir)
        return shoal_fail_errno(SHOAL_EIO, "%s: cannot be read", folder);
    for (struct dirent *e; st == SHOAL_OK && (e = readdir(dir));) {
        if (!is_class(folder, e->d_name))
            continue;
        if (set->classes == IMAGES_MAX_CLASSES)
            st = shoal_fail(SHOAL_ELIMIT, "%s: over %d classes, want at most that", folder,
                            IMAGES_MAX_CLASSES);
        else
            st = mem_grow(&set->names, &room, set->classes + 1, sizeof *set->names);
        if (st == SHOAL_OK) {
            set->names[set->classes] = NULL;
            st = images_set_name(&set->names[set->classes++], e->d_name);
        }
    }
    closedir(dir);
    if (st == SHOAL_OK && set->classes == 0)
        st =
            shoal_fail(SHOAL_EFORMAT,
                       "%s: neither CIFAR nor IDX files nor a folder for each class in it", folder);
    if (st == SHOAL_OK)
        qsort(set->names, set->classes, sizeof *set->names, by_bytes);
    return st;
}

/* ---- which pictures ---- */

static bool is_picture(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0 ||
                   strcasecmp(dot, ".png") == 0);
}

static shoal_status add_path(shoal_images *set, size_t *room, const char *path, uint32_t label)
{
    shoal_status st = mem_grow(&set->paths, room, set->count + 1, sizeof *set->paths);

    if (st != SHOAL_OK)
        return st;
    set->paths[set->count] = strdup(path);
    if (!set->paths[set->count])
        return shoal_fail(SHOAL_ENOMEM, "images: no room for the names of the pictures");
    st = images_add(set, NULL, label);
    if (st != SHOAL_OK)
        free(set->paths[set->count]); /* which was not counted */
    return st;
}

static shoal_status add_class(shoal_images *set, size_t *room, const char *folder, uint32_t label)
{
    size_t before = set->count;
    char path[4096];
    const char *one = path;
    struct inputs in = {0};
    shoal_status st;

    snprintf(path, sizeof path, "%s/%s", folder, set->names[label]);
    st = inputs_expand(&in, &one, 1);
    for (size_t i = 0; st == SHOAL_OK && i < in.len; i++)
        if (is_picture(in.at[i].path))
            st = add_path(set, room, in.at[i].path, label);
    inputs_fini(&in);
    /* A folder without a file fails there already, with less of a sentence. */
    if ((st == SHOAL_OK || st == SHOAL_ENOENT) && set->count == before)
        st = shoal_fail(SHOAL_EFORMAT, "%s: no .jpg, .jpeg or .png file, want some for every class",
                        path);
    return st;
}

/* ---- decoding all of them once ---- */

struct decoding {
    shoal_images *set;
    unsigned threads;
    uint8_t *pixels; /* all of them; NULL: decoded only to see that they can be */
};

static shoal_status decode_share(void *ctx, unsigned index)
{
    struct decoding *d = ctx;
    size_t each = images_pixels(d->set);
    uint8_t *one = mem_array(each, 1);
    shoal_status st = one ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = index; i < d->set->count && st == SHOAL_OK; i += d->threads) {
        st = images_read_one(d->set, i, one);
        if (st == SHOAL_OK && d->pixels)
            memcpy(d->pixels + i * each, one, each);
    }
    free(one);
    return st;
}

/* Every picture is decoded here, so that none fails an hour later; what fits
 * stays decoded. */
static shoal_status decode_all(shoal_images *set, const struct shoal_images_opts *opts)
{
    struct decoding d = {.set = set, .threads = pool_threads(opts->threads)};
    size_t each = images_pixels(set);
    shoal_status st;

    if (set->count <= opts->keep / each && !(d.pixels = mem_array(set->count, each)))
        return SHOAL_ENOMEM;
    st = pool_run(d.threads, decode_share, &d);
    if (st == SHOAL_OK)
        set->pixels = d.pixels;
    else
        free(d.pixels);
    return st;
}

shoal_status images_read_folder(shoal_images *set, const char *path,
                                const struct shoal_images_opts *opts)
{
    size_t room = 0;
    shoal_status st;

    if (opts->size == 0 || opts->size > IMAGES_MAX_SIDE)
        return shoal_fail(SHOAL_EINVAL, "images: size is %u, want 1 to %d", opts->size,
                          IMAGES_MAX_SIDE);
    set->channels = 3;
    set->height = set->width = opts->size;
    st = list_classes(set, path);
    for (size_t i = 0; i < set->classes && st == SHOAL_OK; i++)
        st = add_class(set, &room, path, (uint32_t)i);
    return st == SHOAL_OK ? decode_all(set, opts) : st;
}
