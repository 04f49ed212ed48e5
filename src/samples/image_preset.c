/* A picture as torchvision's presets prepare it: the shorter side is scaled to `resize`, bilinear
 * and with as many pixels weighed as shrinking needs, then the middle is cut out.
 *
 * The numbers are those of Pillow's Image.resize, to the bit: weights of 22 bits, one pass across
 * and one down, each rounded to a byte. Only what is cut out is computed. */
#include "samples/samples.h"

#include <math.h>
#include <stdlib.h>

enum { WEIGHT_BITS = 22 };

/* Along one axis: `from` of the picture's pixels become `to`, of which those from `cut` on count. */
struct axis {
    size_t from, to, cut;
    int32_t *weight; /* [from] room */
    size_t first, n; /* of the pixels that one of them is made of */
};

static double triangle(double x)
{
    return x < 0 ? (x > -1 ? 1 + x : 0) : x < 1 ? 1 - x : 0;
}

static void weigh(struct axis *a, size_t i)
{
    double scale = (double)a->from / (double)a->to, reach = scale > 1 ? scale : 1;
    double centre = ((double)(i + a->cut) + 0.5) * scale, sum = 0;
    double lo = centre - reach + 0.5, hi = centre + reach + 0.5;
    size_t last = hi < (double)a->from ? (size_t)hi : a->from;

    a->first = lo > 0 ? (size_t)lo : 0;
    a->n = last - a->first;
    for (size_t k = 0; k < a->n; k++)
        sum += triangle(((double)(a->first + k) - centre + 0.5) / reach);
    for (size_t k = 0; k < a->n; k++) {
        double w = triangle(((double)(a->first + k) - centre + 0.5) / reach) / sum;

        a->weight[k] = (int32_t)(0.5 + w * (1 << WEIGHT_BITS));
    }
}

static uint8_t round_sum(int64_t sum)
{
    int64_t x = sum >> WEIGHT_BITS;

    return (uint8_t)(x > 255 ? 255 : x);
}

/* Every row across, into rows [height][channels][width]. */
static void shrink_across(uint8_t *rows, const struct picture *p, unsigned width, struct axis *a)
{
    size_t pitch = (size_t)p->width * p->channels;

    for (size_t x = 0; x < width; x++) {
        weigh(a, x);
        for (size_t y = 0; y < p->height; y++)
            for (size_t c = 0; c < p->channels; c++) {
                const uint8_t *at = p->at + y * pitch + a->first * p->channels + c;
                int64_t sum = 1 << (WEIGHT_BITS - 1);

                for (size_t k = 0; k < a->n; k++)
                    sum += (int64_t)a->weight[k] * at[k * p->channels];
                rows[(y * p->channels + c) * width + x] = round_sum(sum);
            }
    }
}

static void shrink_down(uint8_t *out, const uint8_t *rows, const struct picture *p, unsigned height,
                        unsigned width, struct axis *a)
{
    size_t pitch = (size_t)p->channels * width;

    for (size_t y = 0; y < height; y++) {
        weigh(a, y);
        for (size_t c = 0; c < p->channels; c++)
            for (size_t x = 0; x < width; x++) {
                const uint8_t *at = rows + a->first * pitch + c * width + x;
                int64_t sum = 1 << (WEIGHT_BITS - 1);

                for (size_t k = 0; k < a->n; k++)
                    sum += (int64_t)a->weight[k] * at[k * pitch];
                out[(c * height + y) * width + x] = round_sum(sum);
            }
    }
}

/* Half of what is left over, to the even number where it is no whole one. */
static size_t cut_at(size_t to, size_t keep)
{
    size_t over = to - keep, half = over / 2;

    return over % 2 ? half + half % 2 : half;
}

static struct axis axis_of(size_t from, size_t shorter, unsigned resize, unsigned keep)
{
    struct axis a = {.from = from, .to = (size_t)((uint64_t)resize * from / shorter)};

    a.cut = cut_at(a.to, keep);
    return a;
}

static shoal_status preset(uint8_t *out, const struct picture *p, unsigned resize, unsigned height,
                           unsigned width)
{
    size_t shorter = p->width < p->height ? p->width : p->height;
    struct axis across = axis_of(p->width, shorter, resize, width);
    struct axis down = axis_of(p->height, shorter, resize, height);
    uint8_t *rows = mem_array((size_t)p->height * p->channels, width);
    int32_t *weight = mem_array(p->width > p->height ? p->width : p->height, sizeof *weight);
    shoal_status st = rows && weight ? SHOAL_OK : SHOAL_ENOMEM;

    across.weight = down.weight = weight;
    if (st == SHOAL_OK) {
        shrink_across(rows, p, width, &across);
        shrink_down(out, rows, p, height, width, &down);
    }
    free(weight);
    free(rows);
    return st;
}

shoal_status picture_prepare(uint8_t *out, const struct picture *p, unsigned resize,
                             unsigned height, unsigned width)
{
    if (resize == 0)
        return picture_fit(out, p, height, width);
    if (resize < height || resize < width)
        return shoal_fail(SHOAL_EINVAL, "picture: scaled to %u, want at least the %u x %u that are "
                          "cut out", resize, width, height);
    return preset(out, p, resize, height, width);
}
