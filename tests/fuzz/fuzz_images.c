/* Sets of pictures: any files, each behind a line `##NAME` with at most one folder in it, are
 * refused with a sentence, or are pictures of one size, each of a class that has a name. The
 * first byte chooses size and part. */
#include "fuzz.h"

#include "samples/samples.h"

#include <stdio.h>
#include <sys/stat.h>

/* Names that stay in the folder. */
static bool put_file(const char *folder, const struct fuzz_piece *p)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
    char path[256];
    const char *slash;

    if (!p->name[0] || p->name[0] == '/' || strstr(p->name, "..") || strlen(p->name) > 48 ||
        strspn(p->name, good) != strlen(p->name))
        return false;
    for (slash = strchr(p->name, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(path, sizeof path, "%s/%.*s", folder, (int)(slash - p->name), p->name);
        mkdir(path, 0700);
    }
    return fuzz_put(p->name, fuzz_whole(p), p->padded) != NULL;
}

static void walk(shoal_images *set)
{
    size_t each = images_pixels(set);
    uint8_t *pixels = malloc(each);
    float mean[3], std[3];

    require(pixels && set->count > 0 && set->classes > 0);
    require(set->channels == 1 || set->channels == 3);
    for (size_t i = 0; i < set->count; i++) {
        require(set->labels[i] < set->classes);
        if (i < 4 && images_read_one(set, i, pixels) != SHOAL_OK)
            require(*shoal_error() != '\0');
    }
    for (size_t i = 0; i < set->classes; i++)
        require(set->names[i] != NULL);
    if (set->count * each < 1 << 16 && images_moments(set, 1, mean, std) == SHOAL_OK)
        require(std[0] > 0 && mean[0] >= 0 && mean[0] <= 1);
    free(pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct shoal_images_opts opts = shoal_images_default();
    struct fuzz_piece p;
    struct fuzz_cut cut;
    shoal_images *set = NULL;
    const char *folder = fuzz_folder();
    char first[320];
    size_t n = 0, bytes = 0;

    if (size < 2)
        return 0;
    opts.test = data[0] & 1;
    opts.size = 1 + data[0] / 4;
    opts.threads = 1;
    cut = fuzz_cut("##", data + 1, size - 1);
    fuzz_begin(size, 64 * MIB, 64);
    for (; n < 16 && bytes < FUZZ_PADDED && fuzz_next(&cut, &p); n++) {
        bytes += p.padded;
        if (put_file(folder, &p) && n == 0)
            snprintf(first, sizeof first, "%s/%s", folder, p.name);
        else if (n == 0)
            snprintf(first, sizeof first, "%s", folder);
    }
    /* Two pictures of the most pixels may be in memory at once, and their rows. */
    fuzz_begin(bytes, 256 * MIB, 64);
    if (shoal_images_open(&set, data[0] & 2 ? first : folder, &opts) == SHOAL_OK)
        walk(set);
    else
        require(set == NULL && *shoal_error() != '\0');
    (void)shoal_images_has_test(folder);
    shoal_images_close(set);
    fuzz_end();
    return 0;
}
