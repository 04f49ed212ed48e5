/* How large values are: to bring each feature's to one size (--scale), and to notice a feature
 * whose values are far larger than all others', which makes a run diverge. */
#include "sparse/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FAR 1000.0 /* times the middle one */

uint64_t click_sizes_bytes(unsigned bits, bool scale)
{
    return scale ? (uint64_t)(sizeof(double) + 2 * sizeof(float)) << bits : 0;
}

shoal_status click_sizes_init(struct click_sizes *s, unsigned bits, bool scale)
{
    *s = (struct click_sizes){.bits = bits};
    if (!scale)
        return SHOAL_OK;
    s->squares = mem_map(((size_t)1 << bits) * sizeof *s->squares);
    s->n = mem_map(((size_t)1 << bits) * sizeof *s->n);
    return s->squares && s->n ? SHOAL_OK : SHOAL_ENOMEM;
}

void click_sizes_fini(struct click_sizes *s)
{
    mem_unmap(s->squares, ((size_t)1 << s->bits) * sizeof *s->squares);
    mem_unmap(s->n, ((size_t)1 << s->bits) * sizeof *s->n);
    *s = (struct click_sizes){0};
}

static void add_squares(struct click_sizes *s, const struct click_batch *b)
{
    for (size_t i = 0; i < b->values; i++) {
        double x = (double)b->value[i];

        s->squares[b->slot[i]] += x * x;
        s->n[b->slot[i]]++;
    }
}

static void note_sizes(struct click_sizes *s, const struct click_batch *b)
{
    for (size_t i = 0; i < b->values; i++) {
        float x = fabsf(b->value[i]);
        int power;

        frexpf(x, &power);
        s->powers[(power < -CLICK_POWERS  ? -CLICK_POWERS
                   : power > CLICK_POWERS ? CLICK_POWERS
                                          : power) +
                  CLICK_POWERS]++;
        if (x > s->largest) {
            s->largest = x;
            s->slot = b->slot[i];
        }
    }
}

void click_sizes_add(struct click_sizes *s, const struct click_batch *b, bool look)
{
    if (s->squares)
        add_squares(s, b);
    if (look && b->valued)
        note_sizes(s, b);
    else if (look)
        s->powers[CLICK_POWERS + 1] += b->values; /* all are 1 */
}

/* The middle one, within a factor of two. */
static double middle(const struct click_sizes *s)
{
    uint64_t all = 0, before = 0;
    int i = 0;

    for (int k = 0; k <= 2 * CLICK_POWERS; k++)
        all += s->powers[k];
    for (; i < 2 * CLICK_POWERS && 2 * (before + s->powers[i]) <= all; i++)
        before += s->powers[i];
    return ldexp(1, i - CLICK_POWERS - 1);
}

void click_sizes_notice(const struct click_sizes *s, const struct click_census *c,
                        struct shoal_clicks_stats *stats)
{
    double usual = middle(s);
    uint32_t place;

    if (s->squares || !((double)s->largest > FAR * usual))
        return;
    stats->largest = (double)s->largest;
    stats->usual = usual;
    place = c->name[s->slot];
    if (place)
        snprintf(stats->large, sizeof stats->large, "%s", c->arena.at + place - 1);
    else
        snprintf(stats->large, sizeof stats->large, "slot %u", s->slot);
}

float click_sizes_scale(const struct click_sizes *s, uint32_t slot)
{
    double mean = s->n[slot] > 0 ? s->squares[slot] / (double)s->n[slot] : 0;
    float scale = mean > 0 ? (float)(1 / sqrt(mean)) : 1;

    return scale > 0 && isfinite(scale) ? scale : 1;
}
