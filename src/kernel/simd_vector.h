/* Part of simd.h: vectors of any length. */
static float dot(const float *x, const float *y, size_t n)
{
    vf a = {0}, b = {0}, c = {0}, d = {0};
    size_t j = 0;

    for (; j + 4 * VL <= n; j += 4 * VL) {
        a = madd(load_any(x + j), load_any(y + j), a);
        b = madd(load_any(x + j + VL), load_any(y + j + VL), b);
        c = madd(load_any(x + j + 2 * VL), load_any(y + j + 2 * VL), c);
        d = madd(load_any(x + j + 3 * VL), load_any(y + j + 3 * VL), d);
    }
    for (; j + VL <= n; j += VL)
        a = madd(load_any(x + j), load_any(y + j), a);
    if (j < n)
        b = madd(load_part(x + j, n - j), load_part(y + j, n - j), b);
    return sum((a + b) + (c + d));
}

static void axpy(float *y, float a, const float *x, size_t n)
{
    size_t j = 0;

    for (; j + VL <= n; j += VL)
        store_any(y + j, madd(all(a), load_any(x + j), load_any(y + j)));
    if (j < n)
        store_part(y + j, madd(all(a), load_part(x + j, n - j), load_part(y + j, n - j)), n - j);
}

static void scale(float *x, float a, size_t n)
{
    size_t j = 0;

    for (; j + VL <= n; j += VL)
        store_any(x + j, all(a) * load_any(x + j));
    for (; j < n; j++)
        x[j] *= a;
}

/* Squares of floats are exact as doubles, so only the adding rounds. */
static double sumsq(const float *x, size_t n)
{
    double part[4] = {0};
    size_t j = 0;

    for (; j + 4 <= n; j += 4)
        for (size_t i = 0; i < 4; i++)
            part[i] += (double)x[j + i] * x[j + i];
    for (; j < n; j++)
        part[0] += (double)x[j] * x[j];
    return (part[0] + part[1]) + (part[2] + part[3]);
}

static void sigmoid(float *y, const float *x, size_t n)
{
    size_t j = 0;

    for (; j + VL <= n; j += VL)
        store_any(y + j, sigmoid_of(load_any(x + j)));
    if (j < n)
        store_part(y + j, sigmoid_of(load_part(x + j, n - j)), n - j);
}

static void logsigmoid(float *y, const float *x, size_t n)
{
    size_t j = 0;

    for (; j + VL <= n; j += VL)
        store_any(y + j, logsigmoid_of(load_any(x + j)));
    if (j < n)
        store_part(y + j, logsigmoid_of(load_part(x + j, n - j)), n - j);
}

static float largest(float *x, const float *bias, size_t n)
{
    float top = x[0] + bias[0], part[VL];
    vf m = all(top);
    size_t j = 0;

    for (; j + VL <= n; j += VL) {
        vf y = load_any(x + j) + load_any(bias + j);
        m = max(m, y);
        store_any(x + j, y);
    }
    for (; j < n; j++) {
        x[j] += bias[j];
        top = x[j] > top ? x[j] : top;
    }
    store_any(part, m);
    for (int i = 0; i < VL; i++)
        top = part[i] > top ? part[i] : top;
    return top;
}

/* Below -87 the true value is 0 beside the largest, which is 1. */
static float exps(float *x, const float *bias, float *top, size_t n)
{
    vf m = all(*top = largest(x, bias, n)), a = {0}, b = {0}, least = all(-87.0f);
    float part[VL], rest = 0;
    size_t j = 0;

    for (; j + 2 * VL <= n; j += 2 * VL) {
        vf y = exp_of(max(load_any(x + j) - m, least));
        vf z = exp_of(max(load_any(x + j + VL) - m, least));
        a += y;
        b += z;
        store_any(x + j, y);
        store_any(x + j + VL, z);
    }
    for (; j < n; j += VL) {
        size_t some = n - j < VL ? n - j : VL;
        store_any(part, exp_of(max(load_part(x + j, some) - m, least)));
        memcpy(x + j, part, some * sizeof *x);
        for (size_t i = 0; i < some; i++)
            rest += part[i];
    }
    return sum(a + b) + rest;
}

static void copy(float *to, const float *from, size_t n)
{
    size_t j = 0;

    for (; j + VL <= n; j += VL)
        store_any(to + j, load_any(from + j));
    for (; j < n; j++)
        to[j] = from[j];
}

static void renew(float *x, float *base, const float *fresh, size_t n)
{
    size_t j = 0;

    for (; j + VL <= n; j += VL) {
        vf now = load_any(fresh + j);
        store_any(x + j, load_any(x + j) + (now - load_any(base + j)));
        store_any(base + j, now);
    }
    for (; j < n; j++) {
        x[j] += fresh[j] - base[j];
        base[j] = fresh[j];
    }
}

static float apart(const float *x, const float *y, size_t n)
{
    vf a = {0};
    size_t j = 0;

    for (; j + VL <= n; j += VL) {
        vf d = load_any(x + j) - load_any(y + j);
        a = madd(d, d, a);
    }
    if (j < n) {
        vf d = load_part(x + j, n - j) - load_part(y + j, n - j);
        a = madd(d, d, a);
    }
    return sum(a);
}

static float take(float *x, const float *from, const float *y, size_t n)
{
    vf a = {0};
    size_t j = 0;

    for (; j + VL <= n; j += VL) {
        vf now = load_any(from + j), d = now - load_any(y + j);

        store_any(x + j, now);
        a = madd(d, d, a);
    }
    if (j < n) {
        vf now = load_part(from + j, n - j), d = now - load_part(y + j, n - j);

        store_part(x + j, now, n - j);
        a = madd(d, d, a);
    }
    return sum(a);
}

static void fold(float *row, const float *mine, const float *base, size_t dim, float s)
{
    vf xx = {0}, yy = {0}, xy = {0};
    float a = 1, b = 1, sxx, syy, sxy;

    for (size_t j = 0; j < dim; j += VL) {
        vf x = load(row + j) - load(base + j), y = load(mine + j) - load(base + j);
        xx = madd(x, x, xx);
        yy = madd(y, y, yy);
        xy = madd(x, y, xy);
    }
    sxx = sum(xx);
    syy = sum(yy);
    sxy = sum(xy);
    if (sxx > 0 && syy > 0) {
        a = 1 - s * sxy / sxx;
        b = 1 - s * sxy / syy;
    }
    for (size_t j = 0; j < dim; j += VL) {
        vf from = load(base + j), x = load(row + j) - from, y = load(mine + j) - from;
        store(row + j, madd(all(a), x, madd(all(b), y, from)));
    }
}

/* ---- many rows ---- */

enum { ROWS_WIDE = 8, ROWS_AHEAD = 6 }; /* vectors in registers; rows that are fetched before */

/* `wide` vectors of each row from `from` on; a constant, so that they stay in registers. */
INLINE void sum_some(float *y, const float *const *rows, size_t n, size_t from, size_t wide)
{
    vf sums[ROWS_WIDE] = {{0}};

    for (size_t i = 0; i < n; i++) {
        const float *next = rows[i + ROWS_AHEAD < n ? i + ROWS_AHEAD : n - 1] + from;

        UNROLL for (size_t j = 0; j < wide; j++)
        {
            if (j % (16 / VL) == 0)
                __builtin_prefetch(next + j * VL, 1);
            sums[j] += load(rows[i] + from + j * VL);
        }
    }
    UNROLL for (size_t j = 0; j < wide; j++)
        store(y + from + j * VL, sums[j]);
}

INLINE void add_some(float *const *rows, size_t n, const float *x, size_t from, size_t wide)
{
    vf adds[ROWS_WIDE];

    UNROLL for (size_t j = 0; j < wide; j++)
        adds[j] = load(x + from + j * VL);
    for (size_t i = 0; i < n; i++) {
        float *row = rows[i] + from;

        UNROLL for (size_t j = 0; j < wide; j++)
            store(row + j * VL, load(row + j * VL) + adds[j]);
    }
}

/* DO with as many vectors as are left of ROWS_WIDE, by a constant. */
#define EACH_WIDE(vectors, from, DO)                                    \
    for (size_t from = 0, left = vectors; left > 0;) {                  \
        size_t some = left < ROWS_WIDE ? left : ROWS_WIDE;              \
        switch (some) {                                                 \
        case 1: DO(1); break;                                           \
        case 2: DO(2); break;                                           \
        case 3: DO(3); break;                                           \
        case 4: DO(4); break;                                           \
        case 5: DO(5); break;                                           \
        case 6: DO(6); break;                                           \
        case 7: DO(7); break;                                           \
        default: DO(8); break;                                          \
        }                                                               \
        from += some * VL;                                              \
        left -= some;                                                   \
    }

static void sum_rows(float *y, const float *const *rows, size_t n, size_t dim)
{
#define SUM(wide) sum_some(y, rows, n, from, wide)
    EACH_WIDE(table_stride(dim) / VL, from, SUM)
#undef SUM
}

static void add_rows(float *const *rows, size_t n, const float *x, size_t dim)
{
#define ADD(wide) add_some(rows, n, x, from, wide)
    EACH_WIDE(table_stride(dim) / VL, from, ADD)
#undef ADD
}
