/* Which rows of a matrix are worth their bytes: a row that is nearly 0 says little in a mean. */
#include "saved/pq.h"

#include <math.h>
#include <stdlib.h>

struct measuring {
    size_t rows, cols, always;
    pq_row_fn row;
    const void *from;
    float *lengths; /* [rows] */
    unsigned threads;
};

static shoal_status measure_thread(void *ctx, unsigned index)
{
    const struct measuring *m = ctx;
    size_t end = m->rows * (index + 1) / m->threads;
    float *row = mem_array(m->cols, sizeof *row);
    shoal_status st = row ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t i = m->rows * index / m->threads; i < end && st == SHOAL_OK; i++) {
        double sum = 0;

        st = m->row(m->from, i, row);
        for (size_t k = 0; k < m->cols; k++)
            sum += (double)row[k] * (double)row[k];
        m->lengths[i] = i == m->always ? INFINITY : (float)sqrt(sum);
    }
    free(row);
    return st;
}

static int longer_first(const void *a, const void *b, void *lengths)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    float is = ((const float *)lengths)[x], other = ((const float *)lengths)[y];

    if (is != other)
        return is > other ? -1 : 1;
    return x < y ? -1 : 1;
}

static int by_place(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

shoal_status pq_choose(uint32_t *chosen, size_t *n, size_t rows, size_t cols, pq_row_fn row,
                       const void *from, size_t most, size_t always, unsigned threads)
{
    struct measuring m = {.rows = rows,
                          .cols = cols,
                          .always = always,
                          .row = row,
                          .from = from,
                          .threads = pool_threads(threads)};
    shoal_status st;

    for (size_t i = 0; i < rows; i++)
        chosen[i] = (uint32_t)i;
    *n = rows;
    if (most == 0 || most >= rows)
        return SHOAL_OK;
    m.lengths = mem_array(rows, sizeof *m.lengths);
    st = m.lengths ? pool_run(m.threads, measure_thread, &m) : SHOAL_ENOMEM;
    if (st == SHOAL_OK) {
        qsort_r(chosen, rows, sizeof *chosen, longer_first, m.lengths);
        qsort(chosen, most, sizeof *chosen, by_place);
        *n = most;
    }
    free(m.lengths);
    return st;
}
