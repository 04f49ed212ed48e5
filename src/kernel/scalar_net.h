/* The reference of simd_net.h; a part of scalar.c. */

static void affine(const struct kernel_affine *a)
{
    for (size_t o = 0; o < a->outs; o++)
        for (size_t c = 0; c < a->cols; c++) {
            float y = a->bias ? a->bias[o] : 0;

            for (size_t i = 0; i < a->ins; i++)
                y += a->w[o * a->wo + i * a->wi] * a->x[i * a->ld + c];
            if (a->relu && !(y > 0))
                y = 0;
            if (a->gate && !(a->gate[o * a->ld + c] > 0))
                y = 0;
            a->y[o * a->ld + c] = y;
        }
}

static void outer(const struct kernel_outer *k)
{
    for (size_t o = 0; o < k->outs; o++)
        for (size_t i = 0; i < k->ins; i++)
            k->w[o * k->pitch + i] += dot(k->a + o * k->ld, k->b + i * k->ld, k->cols);
}

static void row_sums(float *out, const float *x, size_t rows, size_t cols, size_t ld)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            out[r] += x[r * ld + c];
}

static void softmax_column(const struct kernel_softmax *k, size_t c,
                           struct kernel_softmax_sums *done)
{
    float *z = k->z + c, top = z[0], total = 0;
    float own = 0;

    for (size_t o = 1; o < k->outs; o++)
        top = z[o * k->ld] > top ? z[o * k->ld] : top;
    for (size_t o = 0; o < k->outs; o++) {
        if (k->label && o == k->label[c])
            own = z[o * k->ld] - top;
        total += z[o * k->ld] = expf(z[o * k->ld] - top);
    }
    done->loss += (double)(logf(total) - own);
    done->right += own >= 0;
    for (size_t o = 0; o < k->outs; o++) {
        z[o * k->ld] /= total;
        if (k->label)
            z[o * k->ld] = (z[o * k->ld] - (o == k->label[c])) * k->scale;
    }
}

static void softmax_columns(const struct kernel_softmax *k, struct kernel_softmax_sums *done)
{
    size_t end = (k->n + KERNEL_LANES - 1) / KERNEL_LANES * KERNEL_LANES;

    for (size_t c = 0; c < k->n; c++)
        softmax_column(k, c, done);
    for (size_t c = k->n; c < end && k->label; c++)
        for (size_t o = 0; o < k->outs; o++)
            k->z[o * k->ld + c] = 0;
}

static void step_sgd(const struct kernel_optim *r, float *p, const float *g, size_t n)
{
    for (size_t j = 0; j < n; j++)
        p[j] -= r->lr * (g[j] + r->decay * p[j]);
}

static void step_momentum(const struct kernel_optim *r, float *p, const float *g, float *m, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        float d = g[j] + r->decay * p[j];

        m[j] = r->momentum * m[j] + d;
        p[j] -= r->lr * (r->nesterov ? d + r->momentum * m[j] : m[j]);
    }
}

static void step_adam(const struct kernel_optim *r, float *p, const float *g, float *m, float *v,
                      size_t n)
{
    for (size_t j = 0; j < n; j++) {
        m[j] = r->beta1 * m[j] + (1 - r->beta1) * g[j];
        v[j] = r->beta2 * v[j] + (1 - r->beta2) * g[j] * g[j];
        p[j] = (1 - r->lr * r->decay) * p[j] -
               r->lr * r->fix1 * m[j] / (sqrtf(v[j] * r->fix2) + r->epsilon);
    }
}
