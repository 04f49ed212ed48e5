/* Views of one rank's tables, and how the changes that workers made apart come together.
 *
 * Folding. Two workers begin with a row b and move it by x and by y. Where they learned different
 * things, as in rare rows, b + x + y is right. A hot row both move to the same place: there the sum
 * overshoots, by the number of workers, and training diverges. The mean is right for hot rows and
 * throws away half of what was learned in rare ones. So the part that x and y have in common,
 * their projection on each other, is averaged, and the rest is added:
 *
 *     b + (1 - s x.y / |x|^2) x + (1 - s x.y / |y|^2) y
 *
 *     x = y, s = 1/2:   b + x       the mean          (STORE_MEAN)
 *     x.y = 0:          b + x + y   the sum
 *
 * This is kernel.h's fold; several changes are folded one after the other, in a fixed order. The
 * idea is that of model combiners (GraphWord2Vec, Gill et al. 2021). Parameters that are sums
 * themselves, as FTRL's and Adagrad's, are added instead (table->adds).
 *
 * Hot copies (Hogwild). All threads write the shared rows without locks. The few hottest rows
 * would be in every core's cache and be fought over, so each thread has copies of them,
 *
 *     mine [hot]   trained on by this thread alone
 *     base [hot]   what mine was when it last met the table
 *
 * and view_sync folds the change mine - base into the table after each chunk, then begins anew
 * with what the table has. Threads may do so at once: a lost update is one of Hogwild's.
 * With several ranks the table's rows also get what the others did, merged by the row's owner. To
 * fold that again would leave a part of it out; so what came from elsewhere is summed up apart
 * (news), and a view takes what it has not heard of into mine and base before it folds.
 *
 * Private copies (deterministic lanes). A view copies whatever row it touches, so the table does
 * not change while lanes run; then views_merge folds each row's copies in the order of the lanes.
 * Threads only decide who runs a lane and who merges a range of rows, so the result is the same
 * bits for any number of them. */
#include "store/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Bits that a thread merges at a time, in words of 64 rows: the commonest rows come first and
 * were touched by every view, so halves of the table would not be halves of the work. */
enum { RANGE_WORDS = 8 };

static size_t words_of(size_t rows)
{
    return (rows + 63) / 64;
}

static size_t copies_bytes(const struct table *t, size_t rows)
{
    return rows * t->stride * sizeof(float);
}

shoal_status view_init_shared(struct view *v, struct table *t, uint32_t hot)
{
    *v = (struct view){.table = t, .at = t->at, .stride = t->stride,
                       .hot = hot < t->rows ? hot : (uint32_t)t->rows};
    if (v->hot == 0)
        return SHOAL_OK;
    v->mine = mem_map(copies_bytes(t, v->hot));
    v->base = v->mine ? mem_map(copies_bytes(t, v->hot)) : NULL;
    if (!v->base) {
        view_fini(v);
        return SHOAL_ENOMEM;
    }
    memcpy(v->mine, t->at, copies_bytes(t, v->hot));
    memcpy(v->base, t->at, copies_bytes(t, v->hot));
    return SHOAL_OK;
}

/* Room for every row is reserved, but only pages that are used are ever there. */
shoal_status view_init_private(struct view *v, struct table *t)
{
    *v = (struct view){.table = t, .at = t->at, .stride = t->stride};
    v->mine = mem_map(copies_bytes(t, t->rows));
    v->slot = mem_array(t->rows, sizeof *v->slot);
    v->touched = mem_array(words_of(t->rows), sizeof *v->touched);
    if (!v->mine || !v->slot || !v->touched) {
        view_fini(v);
        return SHOAL_ENOMEM;
    }
    return SHOAL_OK;
}

void view_fini(struct view *v)
{
    if (!v->table)
        return;
    mem_unmap(v->mine, copies_bytes(v->table, v->slot ? v->table->rows : v->hot));
    mem_unmap(v->base, copies_bytes(v->table, v->hot));
    mem_unmap(v->heard, copies_bytes(v->table, v->hot));
    free(v->slot);
    free(v->touched);
    *v = (struct view){0};
}

/* Large memory comes in pages of 2 MiB. */
size_t view_bytes(const struct table *t, size_t touched)
{
    size_t page = (size_t)2 << 20, all = copies_bytes(t, t->rows);
    size_t copies = (copies_bytes(t, touched) + page - 1) / page * page;

    return (copies < all ? copies : all) + t->rows * sizeof(uint32_t);
}

shoal_status view_hear(struct view *v, const float *news)
{
    if (v->hot == 0 || v->table->adds)
        return SHOAL_OK;
    v->heard = mem_map(copies_bytes(v->table, v->hot));
    v->news = v->heard ? news : NULL;
    return v->heard ? SHOAL_OK : SHOAL_ENOMEM;
}

/* A row counts as touched only when its change is in the table: before, it might travel without
 * it, and the change be left behind. */
static void touch_hot(struct view *v, uint32_t row)
{
    if (v->touches)
        view_count_times(v, row, VIEW_HOT_TOUCHES);
}

/* The table's rows get what was added here; all of them at once. */
static void sync_added(struct view *v, const struct kernel *kernel)
{
    size_t n = v->hot * v->stride;

    kernel->axpy(v->mine, -1, v->base, n);
    kernel->axpy(v->table->at, 1, v->mine, n);
    for (size_t i = 0; i < n && v->touches; i++)
        if (v->mine[i] != 0)
            touch_hot(v, (uint32_t)(i / v->stride));
    kernel->copy(v->mine, v->table->at, n);
    memcpy(v->base, v->mine, n * sizeof *v->base);
}

/* What other ranks did to the row was merged by its owner. It comes to both copies, so that only
 * what threads of this rank did is folded here. */
static void hear(struct view *v, const struct kernel *kernel, size_t at)
{
    _Alignas(64) float now[KERNEL_MAX_DIM];
    size_t stride = v->table->stride;

    kernel->copy(now, v->news + at, stride);
    kernel->axpy(v->mine + at, 1, now, stride);
    kernel->axpy(v->mine + at, -1, v->heard + at, stride);
    kernel->renew(v->base + at, v->heard + at, now, stride);
}

static void sync_folded(struct view *v, const struct kernel *kernel)
{
    size_t stride = v->table->stride, bytes = stride * sizeof(float);
    /* The table's row is read once: fold looks at it twice, and where another
     * worker moved it in between, a change that was nearly nothing and is so no
     * longer would be scaled by its own inverse. */
    _Alignas(64) float now[KERNEL_MAX_DIM];

    for (uint32_t row = 0; row < v->hot; row++) {
        size_t at = row * stride;
        bool changed = memcmp(v->mine + at, v->base + at, bytes) != 0;

        if (v->news)
            hear(v, kernel, at);
        kernel->copy(now, v->table->at + at, stride);
        kernel->fold(now, v->mine + at, v->base + at, v->table->width, STORE_MEAN);
        kernel->copy(v->table->at + at, now, stride);
        memcpy(v->mine + at, now, bytes);
        memcpy(v->base + at, now, bytes);
        if (changed)
            touch_hot(v, row);
    }
}

void view_sync(struct view *v, const struct kernel *kernel)
{
    if (v->hot == 0)
        return;
    if (v->table->adds)
        sync_added(v, kernel);
    else
        sync_folded(v, kernel);
}

/* ---- bringing private views together ---- */

void row_add(const struct table *t, float *row, const float *mine, const float *base)
{
    for (size_t j = 0; j < t->width; j++)
        row[j] += mine[j] - base[j];
}

void row_merge(const struct table *t, const struct kernel *kernel, float *row, const float *mine,
               const float *base, float share)
{
    if (!t->adds)
        kernel->fold(row, mine, base, t->width, share);
    else
        row_add(t, row, mine, base);
}

struct merging {
    struct view *views; /* [n] */
    size_t n;
    const struct kernel *kernel;
};

/* One row: the first view that touched it holds the sum, then it goes home. `who` has the
 * touched bits of each view around this row: most rows were touched by one view or two, and the
 * others' slots need not be fetched to know it. */
static void merge_row(const struct merging *m, const uint64_t *who, uint32_t row)
{
    struct table *t = m->views[0].table;
    float *home = t->at + row * t->stride, *sum = NULL;

    for (size_t i = 0; i < m->n; i++) {
        struct view *v = &m->views[i];
        float *copy;

        if (!(who[i] >> (row % 64) & 1))
            continue;
        copy = v->mine + (v->slot[row] - 1) * t->stride;
        v->slot[row] = 0;
        if (sum)
            row_merge(t, m->kernel, sum, copy, home, STORE_MEAN);
        else
            sum = copy;
    }
    if (sum)
        memcpy(home, sum, t->stride * sizeof *sum);
}

/* The rows of one word of the bits. */
static void merge_word(const struct merging *m, size_t word)
{
    uint64_t who[STORE_LANES_MOST], bits = 0;

    for (size_t i = 0; i < m->n; i++) {
        bits |= who[i] = m->views[i].touched[word];
        m->views[i].touched[word] = 0;
    }
    for (; bits; bits &= bits - 1)
        merge_row(m, who, (uint32_t)(word * 64 + (unsigned)__builtin_ctzll(bits)));
}

static void merge_range(void *ctx, size_t item, unsigned thread)
{
    const struct merging *m = ctx;
    size_t end = words_of(m->views[0].table->rows), begin = item * RANGE_WORDS;

    (void)thread;
    end = end - begin > RANGE_WORDS ? begin + RANGE_WORDS : end;
    for (size_t w = begin; w < end; w++)
        merge_word(m, w);
}

void views_merge(struct view *views, size_t n, const struct kernel *kernel,
                 struct workers *workers)
{
    struct merging m = {views, n, kernel};
    size_t ranges;

    if (n == 0)
        return;
    assert(n <= STORE_LANES_MOST);
    ranges = (words_of(views[0].table->rows) + RANGE_WORDS - 1) / RANGE_WORDS;
    if (workers)
        workers_do(workers, ranges, merge_range, &m);
    for (size_t i = 0; i < ranges && !workers; i++)
        merge_range(&m, i, 0);
    for (size_t i = 0; i < n; i++)
        views[i].used = 0;
}
