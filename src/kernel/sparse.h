/* Part of scalar.c and simd.h: a row of sparse features. Written once in plain C
 * and compiled for each instruction set; blocks of SPARSE_BLOCK numbers stand in
 * arrays so that the compiler can use its vectors. */

enum { SPARSE_BLOCK = 16 };

static inline float *sparse_row(const struct kernel_sparse *s, size_t i, size_t width)
{
    uint32_t id = s->ids[i];

    return (id < s->hot ? s->mine : s->at) + (size_t)id * width;
}

/* w of FTRL-Proximal, from what it keeps (McMahan et al. 2013, algorithm 1). */
static inline float ftrl_weight(float z, float n, const struct kernel_rule *r)
{
    float size = fabsf(z) - r->l1;
    float w = size / ((r->beta + sqrtf(n)) / r->lr + r->l2);

    return size > 0 ? copysignf(w, -z) : 0;
}

static float sparse_dot_sgd(const struct kernel_sparse *s)
{
    float sum[4] = {0};
    size_t i = 0;

    if (s->values) {
        for (; i < s->n; i++)
            sum[i % 4] += s->values[i] * *sparse_row(s, i, 1);
    } else {
        for (; i + 4 <= s->n; i += 4)
            for (size_t j = 0; j < 4; j++)
                sum[j] += *sparse_row(s, i + j, 1);
        for (; i < s->n; i++)
            sum[0] += *sparse_row(s, i, 1);
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The i-th and following rows of two numbers, apart; zeros behind the last. */
static inline size_t sparse_load(const struct kernel_sparse *s, size_t i, float *a, float *b,
                                 float *x)
{
    size_t n = s->n - i < SPARSE_BLOCK ? s->n - i : SPARSE_BLOCK;

    for (size_t j = 0; j < n; j++) {
        const float *row = sparse_row(s, i + j, 2);

        a[j] = row[0];
        b[j] = row[1];
        x[j] = s->values ? s->values[i + j] : 1;
    }
    for (size_t j = n; j < SPARSE_BLOCK; j++)
        a[j] = b[j] = x[j] = 0;
    return n;
}

static float sparse_dot(const struct kernel_sparse *s, const struct kernel_rule *r)
{
    float a[SPARSE_BLOCK], b[SPARSE_BLOCK], x[SPARSE_BLOCK], sum = 0;

    if (r->kind == KERNEL_SGD)
        return sparse_dot_sgd(s);
    for (size_t i = 0; i < s->n; i += SPARSE_BLOCK) {
        sparse_load(s, i, a, b, x);
        if (r->kind == KERNEL_FTRL)
            for (size_t j = 0; j < SPARSE_BLOCK; j++)
                a[j] = ftrl_weight(a[j], b[j], r);
        for (size_t j = 0; j < SPARSE_BLOCK; j++)
            sum += a[j] * x[j];
    }
    return sum;
}

/* Takes `by` off the size of w, down to nothing. */
static inline float shrink(float w, float by)
{
    float size = fabsf(w) - by;

    return size > 0 ? copysignf(size, w) : 0;
}

static void sparse_step_sgd(const struct kernel_sparse *s, const struct kernel_rule *r, float g)
{
    float step = r->lr * g, keep = 1 - r->lr * r->l2;

    if (r->l1 > 0 || r->l2 > 0) {
        for (size_t i = 0; i < s->n; i++) {
            float *w = sparse_row(s, i, 1), x = s->values ? s->values[i] : 1;

            *w = shrink(keep * *w - step * x, r->lr * r->l1);
        }
    } else if (s->values) {
        for (size_t i = 0; i < s->n; i++)
            *sparse_row(s, i, 1) -= step * s->values[i];
    } else {
        for (size_t i = 0; i < s->n; i++)
            *sparse_row(s, i, 1) -= step;
    }
}

/* w and n, the sum of squared gradients; afterwards how much they changed. */
static inline void adagrad_block(float *w, float *n, const float *x, const struct kernel_rule *r,
                                 float g)
{
    for (size_t j = 0; j < SPARSE_BLOCK; j++) {
        float d = g * x[j], square = d * d;
        float rate = r->lr / (sqrtf(n[j] + square) + r->beta);

        w[j] = shrink(w[j] - rate * (d + r->l2 * w[j]), rate * r->l1) - w[j];
        n[j] = square;
    }
}

static inline void ftrl_block(float *z, float *n, const float *x, const struct kernel_rule *r,
                              float g)
{
    for (size_t j = 0; j < SPARSE_BLOCK; j++) {
        float d = g * x[j], square = d * d;
        float sigma = (sqrtf(n[j] + square) - sqrtf(n[j])) / r->lr;

        z[j] = d - sigma * ftrl_weight(z[j], n[j], r);
        n[j] = square;
    }
}

static void sparse_step(const struct kernel_sparse *s, const struct kernel_rule *r, float g)
{
    float a[SPARSE_BLOCK], b[SPARSE_BLOCK], x[SPARSE_BLOCK];

    if (r->kind == KERNEL_SGD) {
        sparse_step_sgd(s, r, g);
        return;
    }
    for (size_t i = 0; i < s->n; i += SPARSE_BLOCK) {
        size_t n = sparse_load(s, i, a, b, x);

        if (r->kind == KERNEL_ADAGRAD)
            adagrad_block(a, b, x, r, g);
        else
            ftrl_block(a, b, x, r, g);
        for (size_t j = 0; j < n; j++) {
            float *row = sparse_row(s, i + j, 2);

            row[0] += a[j];
            row[1] += b[j];
        }
    }
}
