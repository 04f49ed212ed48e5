/* A picture of any size becomes one of the size a model sees: the shorter side
 * is scaled, the middle of the longer kept. */
#include "samples/samples.h"

#include <math.h>
#include <stdlib.h>

/* The input pixels that an output pixel is made of, along one axis. Shrinking
 * weighs them by a triangle as wide as two output pixels (so no pixel is
 * missed), growing is linear between two. */
struct taps {
    size_t first, n;
    float *weight; /* [n] */
};

static void taps_of(struct taps *t, size_t i, double scale, double offset, size_t len)
{
    double reach = scale > 1 ? scale : 1, centre = ((double)i + 0.5) * scale + offset;
    double lo = ceil(centre - reach - 0.5), hi = floor(centre + reach - 0.5), sum = 0;
    size_t last;

    t->first = lo > 0 ? (size_t)lo : 0;
    last = hi < (double)(len - 1) ? (size_t)hi : len - 1;
    t->n = last - t->first + 1;
    for (size_t k = 0; k < t->n; k++) {
        double away = fabs((double)(t->first + k) + 0.5 - centre) / reach;

        t->weight[k] = (float)(away < 1 ? 1 - away : 0);
        sum += (double)t->weight[k];
    }
    for (size_t k = 0; k < t->n; k++)
        t->weight[k] = (float)((double)t->weight[k] / sum);
}

/* One channel of one row of the input, across. */
static float across(const struct taps *t, const uint8_t *row, size_t channels)
{
    float sum = 0;

    for (size_t k = 0; k < t->n; k++)
        sum += t->weight[k] * row[(t->first + k) * channels];
    return sum;
}

/* Every row of the input across, into [in height][channels][width]. */
static void shrink_rows(float *out, const struct picture *p, unsigned width, double scale,
                        struct taps *t)
{
    double offset = ((double)p->width - (double)width * scale) / 2;

    for (size_t x = 0; x < width; x++) {
        taps_of(t, x, scale, offset, p->width);
        for (size_t y = 0; y < p->height; y++)
            for (size_t c = 0; c < p->channels; c++)
                out[(y * p->channels + c) * width + x] =
                    across(t, p->at + y * p->width * p->channels + c, p->channels);
    }
}

static void shrink_columns(uint8_t *out, const float *rows, const struct picture *p,
                           unsigned height, unsigned width, double scale, struct taps *t)
{
    double offset = ((double)p->height - (double)height * scale) / 2;

    for (size_t y = 0; y < height; y++) {
        taps_of(t, y, scale, offset, p->height);
        for (size_t c = 0; c < p->channels; c++)
            for (size_t x = 0; x < width; x++) {
                float sum = 0.5f;

                for (size_t k = 0; k < t->n; k++)
                    sum += t->weight[k] * rows[((t->first + k) * p->channels + c) * width + x];
                out[(c * height + y) * width + x] = (uint8_t)(sum < 255 ? sum : 255);
            }
    }
}

shoal_status picture_fit(uint8_t *out, const struct picture *p, unsigned height, unsigned width)
{
    double across_scale = (double)p->width / width, down_scale = (double)p->height / height;
    double scale = across_scale < down_scale ? across_scale : down_scale;
    float *rows = mem_array((size_t)p->height * p->channels, (size_t)width * sizeof *rows);
    struct taps t = {.weight =
                         mem_array(p->width > p->height ? p->width : p->height, sizeof *t.weight)};
    shoal_status st = SHOAL_ENOMEM;

    if (rows && t.weight) {
        shrink_rows(rows, p, width, scale, &t);
        shrink_columns(out, rows, p, height, width, scale, &t);
        st = SHOAL_OK;
    }
    free(t.weight);
    free(rows);
    return st;
}
