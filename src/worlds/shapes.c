/* Points of the plane in classes: arms of a spiral, or blobs on a circle. */
#include "base/base.h"
#include "file/file.h"

#include <math.h>
#include <stdio.h>

enum { STREAM = 0x5a9e }; /* of the random numbers */

#define TURN 6.283185307179586

struct shoal_shapes_opts shoal_shapes_default(enum shoal_shape shape)
{
    return (struct shoal_shapes_opts){.shape = shape, .samples = 40000, .classes = 4,
                                      .noise = shape == SHOAL_SPIRAL ? 0.2 : 0.35, .seed = 1};
}

/* Two numbers of the normal distribution (Box and Muller 1958). */
static void normals(struct rng *r, double *a, double *b)
{
    double radius = sqrt(-2 * log(1 - rng_unit(r))), angle = TURN * rng_unit(r);

    *a = radius * cos(angle);
    *b = radius * sin(angle);
}

/* Arm c turns once around the middle on its way out; noise is of the angle. */
static void spiral(struct rng *r, const struct shoal_shapes_opts *o, unsigned c, double xy[2])
{
    double way = rng_unit(r), a, b, angle;

    normals(r, &a, &b);
    angle = TURN * ((double)c / o->classes + 0.75 * way) + o->noise * a;
    xy[0] = way * sin(angle);
    xy[1] = way * cos(angle);
}

static void blob(struct rng *r, const struct shoal_shapes_opts *o, unsigned c, double xy[2])
{
    double angle = TURN * c / o->classes, a, b;

    normals(r, &a, &b);
    xy[0] = cos(angle) + o->noise * a;
    xy[1] = sin(angle) + o->noise * b;
}

static shoal_status write_samples(struct output *out, const struct shoal_shapes_opts *o)
{
    static const char head[] = "x,y,class\n";
    shoal_status st = output_write(out, head, sizeof head - 1);

    for (uint64_t i = 0; i < o->samples && st == SHOAL_OK; i++) {
        struct rng r = {.seed = o->seed, .stream = STREAM + i};
        unsigned c = (unsigned)(i % o->classes);
        double xy[2];
        char line[96];
        int len;

        (o->shape == SHOAL_SPIRAL ? spiral : blob)(&r, o, c, xy);
        len = number_print(line, sizeof line, "%.6f,%.6f,%u\n", xy[0], xy[1], c);
        st = output_write(out, line, (size_t)len);
    }
    return st;
}

shoal_status shoal_shapes_write(const char *path, const struct shoal_shapes_opts *o)
{
    struct output *out;
    shoal_status st;

    if (o->classes < 2 || o->classes > 1000)
        return shoal_fail(SHOAL_EINVAL, "gen: --classes is %u, want 2 to 1000", o->classes);
    if (o->samples < o->classes)
        return shoal_fail(SHOAL_EINVAL, "gen: --samples is %llu, want one of each class or more",
                          (unsigned long long)o->samples);
    if (!(o->noise >= 0 && o->noise <= 100))
        return shoal_fail(SHOAL_EINVAL, "gen: --noise is %g, want 0 to 100", o->noise);
    st = output_open(&out, path);
    if (st != SHOAL_OK)
        return st;
    return output_end(out, write_samples(out, o));
}
