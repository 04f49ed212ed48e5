/* Pictures in classes, in CIFAR-10's binary format: stripes whose direction is the class. */
#include "base/base.h"
#include "file/file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
    STREAM = 0x91c7, /* of the random numbers */
    SIDE = 32,
    PIXELS = SIDE * SIDE,
    CHANNELS = 3,
    RECORD = 1 + CHANNELS * PIXELS, /* the class, then a plane for each channel */
    CLASSES = 10,
    FILE_PICTURES = 10000, /* of each file, as CIFAR-10 has them */
};

#define HALF_TURN 3.141592653589793

struct shoal_pictures_opts shoal_pictures_default(void)
{
    return (struct shoal_pictures_opts){.train = 5000, .test = 1000, .noise = 0.1, .seed = 1};
}

/* Stripes eight pixels wide from bright to bright, moved at random; two colours at random, and
 * noise over all. Picture i has class i modulo 10. */
static void draw_picture(unsigned char record[RECORD], const struct shoal_pictures_opts *o,
                         uint64_t i)
{
    struct rng r = {.seed = o->seed, .stream = STREAM + i};
    unsigned kind = (unsigned)(i % CLASSES);
    double angle = HALF_TURN * kind / CLASSES, shift = 2 * HALF_TURN * rng_unit(&r);
    double dark[CHANNELS], bright[CHANNELS];

    record[0] = (unsigned char)kind;
    for (unsigned c = 0; c < CHANNELS; c++) {
        dark[c] = 0.45 * rng_unit(&r);
        bright[c] = 0.55 + 0.45 * rng_unit(&r);
    }
    for (unsigned p = 0; p < PIXELS; p++) {
        double along = (p % SIDE) * cos(angle) + (p / SIDE) * sin(angle);
        double share = 0.5 + 0.5 * sin(along * HALF_TURN / 4 + shift);

        for (unsigned c = 0; c < CHANNELS; c++) {
            double x = dark[c] + (bright[c] - dark[c]) * share + o->noise * (2 * rng_unit(&r) - 1);

            record[1 + c * PIXELS + p] = (unsigned char)(255 * fmin(1, fmax(0, x)));
        }
    }
}

/* Pictures [from, to) of the world, as one file. */
static shoal_status write_file(const char *folder, const char *name,
                               const struct shoal_pictures_opts *o, uint64_t from, uint64_t to)
{
    struct bytes path = {0};
    struct output *out = NULL;
    unsigned char record[RECORD];
    shoal_status st = bytes_print(&path, "%s/%s", folder, name);

    if (st == SHOAL_OK)
        st = output_open(&out, path.at);
    bytes_fini(&path);
    if (st != SHOAL_OK)
        return st;
    for (uint64_t i = from; i < to && st == SHOAL_OK; i++) {
        draw_picture(record, o, i);
        st = output_write(out, record, sizeof record);
    }
    return output_end(out, st);
}

static shoal_status write_parts(const char *folder, const struct shoal_pictures_opts *o)
{
    shoal_status st = SHOAL_OK;

    for (uint64_t from = 0; from < o->train && st == SHOAL_OK; from += FILE_PICTURES) {
        uint64_t to = from + FILE_PICTURES < o->train ? from + FILE_PICTURES : o->train;
        char name[32];

        snprintf(name, sizeof name, "data_batch_%u.bin", (unsigned)(from / FILE_PICTURES) + 1);
        st = write_file(folder, name, o, from, to);
    }
    if (st == SHOAL_OK && o->test > 0)
        st = write_file(folder, "test_batch.bin", o, o->train, o->train + o->test);
    return st;
}

shoal_status shoal_pictures_write(const char *folder, const struct shoal_pictures_opts *o)
{
    if (o->train < CLASSES || o->train > SHOAL_PICTURES_MOST || o->test > FILE_PICTURES)
        return shoal_fail(SHOAL_EINVAL,
                          "gen: found %llu pictures to learn from and %llu to test, want 10 to "
                          "50,000 and at most 10,000",
                          (unsigned long long)o->train, (unsigned long long)o->test);
    if (!(o->noise >= 0 && o->noise <= 1))
        return shoal_fail(SHOAL_EINVAL, "gen: --noise is %g, want 0 to 1", o->noise);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return shoal_fail_errno(SHOAL_EIO, "%s", folder);
    return write_parts(folder, o);
}
