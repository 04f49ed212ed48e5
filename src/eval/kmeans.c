/* Clusters of rows: Lloyd's k-means from centres chosen by k-means++ (Arthur and Vassilvitskii
 * 2007), the best of a few beginnings. Rows find their centre in parallel; centres are sums in the
 * order of the rows, so that threads change no bit. */
#include "eval/eval.h"

#include <math.h>
#include <stdlib.h>

enum { TRIES = 4, ROUNDS = 60, BLOCK = 64, MOST = 256 };

struct means {
    const struct table *t;
    const struct kernel *kernel;
    size_t k, stride;
    float *centres; /* [k][stride] */
    float *squares; /* [k] of the centres */
    float *far;     /* [n] squared distance to the centre of the row's cluster */
    uint8_t *of;    /* [n] */
    float *room;    /* [threads][k][BLOCK + 8] */
    size_t *members;
};

static void find_centres(void *ctx, size_t item, unsigned thread)
{
    struct means *m = ctx;
    const struct table *t = m->t;
    size_t first = item * BLOCK, n = t->rows - first < BLOCK ? t->rows - first : BLOCK;
    size_t pitch = BLOCK + 8;
    float *x = m->room + thread * m->k * pitch, own[BLOCK];
    const float *in[MOST];

    for (size_t c = 0; c < m->k; c++)
        in[c] = m->centres + c * m->stride;
    m->kernel->dots(x, pitch, in, m->k, t->at + first * t->stride, t->stride, n, t->width);
    m->kernel->squares(own, t->at + first * t->stride, t->stride, n, t->width);
    for (size_t i = 0; i < n; i++) {
        float least = INFINITY;

        for (size_t c = 0; c < m->k; c++) {
            float far = m->squares[c] - 2 * x[c * pitch + i];

            if (far < least) {
                least = far;
                m->of[first + i] = (uint8_t)c;
            }
        }
        m->far[first + i] = fmaxf(0, own[i] + least);
    }
}

static double assign(struct means *m, struct workers *w)
{
    double sum = 0;

    m->kernel->squares(m->squares, m->centres, m->stride, m->k, m->t->width);
    workers_do(w, (m->t->rows + BLOCK - 1) / BLOCK, find_centres, m);
    for (size_t i = 0; i < m->t->rows; i++)
        sum += m->far[i];
    return sum;
}

/* A centre without members stays where it is. */
static void move_centres(struct means *m)
{
    memset(m->members, 0, m->k * sizeof *m->members);
    for (size_t i = 0; i < m->t->rows; i++) {
        float *centre = m->centres + m->of[i] * m->stride;

        if (m->members[m->of[i]]++ == 0)
            memset(centre, 0, m->stride * sizeof *centre);
        m->kernel->axpy(centre, 1, m->t->at + i * m->t->stride, m->t->width);
    }
    for (size_t c = 0; c < m->k; c++)
        if (m->members[c] > 0)
            m->kernel->scale(m->centres + c * m->stride, 1 / (float)m->members[c], m->t->width);
}

/* Each next centre is a row, likelier the farther it is from those that are there. */
static void choose_centres(struct means *m, struct rng *r, struct workers *w)
{
    size_t n = m->t->rows, k = m->k, row = (size_t)rng_below(r, n);

    for (m->k = 1;; m->k++) {
        double sum, at;

        memcpy(m->centres + (m->k - 1) * m->stride, m->t->at + row * m->t->stride,
               m->stride * sizeof *m->centres);
        if (m->k == k)
            return;
        sum = assign(m, w);
        at = rng_unit(r) * sum;
        for (row = 0; row + 1 < n && (at -= m->far[row]) >= 0;)
            row++;
    }
}

static double try_once(struct means *m, uint64_t seed, unsigned number, struct workers *w)
{
    struct rng r = {seed, 0x6b6d65616e73 + number, 0};
    double before = INFINITY, sum = 0;

    choose_centres(m, &r, w);
    for (int i = 0; i < ROUNDS; i++) {
        sum = assign(m, w);
        if (!(sum < before * (1 - 1e-5)))
            break;
        before = sum;
        move_centres(m);
    }
    return sum;
}

/* order [k]: the clusters by size, the largest first. */
static void by_size(const size_t *members, size_t k, size_t *order)
{
    for (size_t i = 0; i < k; i++) {
        size_t at = i;

        for (; at > 0 && members[order[at - 1]] < members[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static void keep(const struct means *m, uint8_t *of, float *centres)
{
    size_t members[MOST] = {0}, order[MOST];
    uint8_t place[MOST];

    for (size_t i = 0; i < m->t->rows; i++)
        members[m->of[i]]++;
    by_size(members, m->k, order);
    for (size_t c = 0; c < m->k; c++) {
        place[order[c]] = (uint8_t)c;
        memcpy(centres + c * m->stride, m->centres + order[c] * m->stride,
               m->stride * sizeof *centres);
    }
    for (size_t i = 0; i < m->t->rows; i++)
        of[i] = place[m->of[i]];
}

shoal_status kmeans(const struct table *t, size_t k, uint64_t seed, struct workers *w, uint8_t *of,
                    float *centres)
{
    struct means m = {.t = t, .k = k, .stride = t->stride};
    struct table mine = {0};
    double best = INFINITY;
    shoal_status st = kernel_choose(&m.kernel);

    if (st == SHOAL_OK)
        st = table_init(&mine, "centres", k, t->width);
    m.centres = mine.at;
    m.squares = mem_array(k, sizeof *m.squares);
    m.members = mem_array(k, sizeof *m.members);
    m.far = mem_array(t->rows, sizeof *m.far);
    m.of = mem_array(t->rows, sizeof *m.of);
    m.room = mem_array(workers_count(w) * k * (BLOCK + 8), sizeof *m.room);
    if (st == SHOAL_OK && (!m.squares || !m.members || !m.far || !m.of || !m.room))
        st = SHOAL_ENOMEM;
    for (unsigned i = 0; i < TRIES && st == SHOAL_OK; i++) {
        double sum = try_once(&m, seed, i, w);

        if (sum < best)
            keep(&m, of, centres);
        best = sum < best ? sum : best;
    }
    table_fini(&mine);
    free(m.squares);
    free(m.members);
    free(m.far);
    free(m.of);
    free(m.room);
    return st;
}
