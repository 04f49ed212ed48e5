/* Narrow layers with samples side by side, and the optimizers' steps; a part of
 * simd.h. Columns are samples: a matrix [rows][ld] has a row for each unit, and a
 * vector holds one unit of VL samples. Weights come one at a time, spread over a
 * vector, so that their order in memory does not matter. */

/* Register budget: sums of NET_R rows and NET_C vectors of columns, and in outer
 * of OUTER_R x OUTER_C pairs of rows. */
#if VBYTES == 64
enum { NET_R = 6, NET_C = 4, OUTER_R = 4, OUTER_C = 4 };
#else
enum { NET_R = 4, NET_C = 2, OUTER_R = 2, OUTER_C = 4 };
#endif

INLINE vf vector_sqrt(vf x)
{
#if VBYTES == 32
    return (vf)_mm256_sqrt_ps((__m256)x);
#elif defined(__AVX512F__)
    return (vf)_mm512_sqrt_ps((__m512)x);
#else
    for (int i = 0; i < VL; i++)
        x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}

/* log(x), relative error below 2e-7, for normal x > 0: x = 2^e m with m from
 * sqrt(1/2) to sqrt(2), then Cephes's polynomial for log(m). */
INLINE vf log_of(vf x)
{
    vi bits = (vi)x, e = (bits >> 23) - 126;
    vf m = (vf)((bits & 0x007fffff) | 0x3f000000), z, p, n;
    vi low = m < all(0.707106781f);

    e += low; /* -1 where it is so */
    m = m + (vf)(low & (vi)m) - 1.0f;
    n = __builtin_convertvector(e, vf);
    z = m * m;
    p = madd(all(7.0376836292e-2f), m, all(-1.1514610310e-1f));
    p = madd(p, m, all(1.1676998740e-1f));
    p = madd(p, m, all(-1.2420140846e-1f));
    p = madd(p, m, all(1.4249322787e-1f));
    p = madd(p, m, all(-1.6668057665e-1f));
    p = madd(p, m, all(2.0000714765e-1f));
    p = madd(p, m, all(-2.4999993993e-1f));
    p = madd(p, m, all(3.3333331174e-1f));
    p = p * m * z;
    p = madd(n, all(-2.12194440e-4f), p);
    p = madd(all(-0.5f), z, p);
    return madd(n, all(0.693359375f), m + p);
}

/* ---- y = w x + bias ---- */

INLINE void affine_block(const struct kernel_affine *a, size_t o, size_t c, const size_t rows,
                         const size_t vectors)
{
    vf sums[NET_R][NET_C];

    UNROLL for (size_t r = 0; r < rows; r++)
        UNROLL for (size_t v = 0; v < vectors; v++)
            sums[r][v] = all(a->bias ? a->bias[o + r] : 0);
    for (size_t i = 0; i < a->ins; i++) {
        const float *x = a->x + i * a->ld + c, *w = a->w + o * a->wo + i * a->wi;
        vf xs[NET_C];

        UNROLL for (size_t v = 0; v < vectors; v++)
            xs[v] = load(x + v * VL);
        UNROLL for (size_t r = 0; r < rows; r++) {
            vf ws = all(w[r * a->wo]);

            UNROLL for (size_t v = 0; v < vectors; v++)
                sums[r][v] = madd(ws, xs[v], sums[r][v]);
        }
    }
    UNROLL for (size_t r = 0; r < rows; r++)
        UNROLL for (size_t v = 0; v < vectors; v++) {
            size_t at = (o + r) * a->ld + c + v * VL;
            vf y = sums[r][v];

            if (a->relu)
                y = max(y, all(0));
            if (a->gate)
                y = (vf)((vi)y & (load(a->gate + at) > 0.0f));
            store(a->y + at, y);
        }
}

INLINE void affine_columns(const struct kernel_affine *a, size_t c, const size_t vectors)
{
    size_t o = 0;

    for (; o + NET_R <= a->outs; o += NET_R)
        affine_block(a, o, c, NET_R, vectors);
    for (; o + 2 <= a->outs; o += 2)
        affine_block(a, o, c, 2, vectors);
    for (; o < a->outs; o++)
        affine_block(a, o, c, 1, vectors);
}

static void affine(const struct kernel_affine *a)
{
    size_t c = 0;

    for (; c + NET_C * VL <= a->cols; c += NET_C * VL)
        affine_columns(a, c, NET_C);
    for (; c < a->cols; c += VL)
        affine_columns(a, c, 1);
}

/* ---- sums over columns ---- */

/* The sums of four vectors. */
INLINE void sum_four(const vf x[4], float out[4])
{
#if VBYTES == 64 && !defined(__AVX512F__)
    for (int i = 0; i < 4; i++)
        out[i] = sum(x[i]);
#else
    __m128 q[4];

    UNROLL for (int i = 0; i < 4; i++) {
#if VBYTES == 64
        __m256 half = _mm256_add_ps(_mm512_castps512_ps256((__m512)x[i]),
                                    _mm512_extractf32x8_ps((__m512)x[i], 1));
#else
        __m256 half = (__m256)x[i];
#endif
        q[i] = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    }
    _mm_storeu_ps(out, _mm_hadd_ps(_mm_hadd_ps(q[0], q[1]), _mm_hadd_ps(q[2], q[3])));
#endif
}

/* w(o, i) += sum over columns of a(o) b(i), for a block of pairs. */
INLINE void outer_block(const struct kernel_outer *k, size_t o, size_t i, const size_t rows,
                        const size_t cols)
{
    vf sums[OUTER_R * OUTER_C];
    float out[4];

    UNROLL for (size_t s = 0; s < OUTER_R * OUTER_C; s++)
        sums[s] = all(0);
    for (size_t c = 0; c < k->cols; c += VL) {
        vf bs[OUTER_C];

        UNROLL for (size_t j = 0; j < cols; j++)
            bs[j] = load(k->b + (i + j) * k->ld + c);
        UNROLL for (size_t r = 0; r < rows; r++) {
            vf as = load(k->a + (o + r) * k->ld + c);

            UNROLL for (size_t j = 0; j < cols; j++)
                sums[r * OUTER_C + j] = madd(as, bs[j], sums[r * OUTER_C + j]);
        }
    }
    UNROLL for (size_t r = 0; r < rows; r++) {
        float *w = k->w + (o + r) * k->pitch + i;

        sum_four(sums + r * OUTER_C, out);
        UNROLL for (size_t j = 0; j < cols; j++)
            w[j] += out[j];
    }
}

INLINE void outer_rows(const struct kernel_outer *k, size_t o, const size_t rows)
{
    size_t i = 0;

    for (; i + OUTER_C <= k->ins; i += OUTER_C)
        outer_block(k, o, i, rows, OUTER_C);
    if (i + 2 <= k->ins) {
        outer_block(k, o, i, rows, 2);
        i += 2;
    }
    if (i < k->ins)
        outer_block(k, o, i, rows, 1);
}

static void outer(const struct kernel_outer *k)
{
    size_t o = 0;

    for (; o + OUTER_R <= k->outs; o += OUTER_R)
        outer_rows(k, o, OUTER_R);
    for (; o < k->outs; o++)
        outer_rows(k, o, 1);
}

static void row_sums(float *out, const float *x, size_t rows, size_t cols, size_t ld)
{
    for (size_t r = 0; r < rows; r += 4) {
        size_t some = rows - r < 4 ? rows - r : 4;
        vf sums[4] = {{0}};
        float four[4];

        for (size_t c = 0; c < cols; c += VL)
            for (size_t j = 0; j < some; j++)
                sums[j] += load(x + (r + j) * ld + c);
        sum_four(sums, four);
        for (size_t j = 0; j < some; j++)
            out[r + j] += four[j];
    }
}

/* ---- softmax over rows, for each column ---- */

static void softmax_columns(const struct kernel_softmax *k, struct kernel_softmax_sums *done)
{
    size_t end = (k->n + KERNEL_LANES - 1) / KERNEL_LANES * KERNEL_LANES;
    vf loss = {0};
    vi right = {0};
    vi lane;

    for (int i = 0; i < VL; i++)
        lane[i] = i;
    for (size_t c = 0; c < end; c += VL) {
        size_t left = c < k->n ? k->n - c : 0, some = left < VL ? left : VL;
        vi inside = lane < all_int((int)some), label = {0};
        vf top = load(k->z + c), total = {0}, own = {0};

        if (k->label)
            memcpy(&label, k->label + c, some * sizeof *k->label);
        for (size_t o = 1; o < k->outs; o++)
            top = max(load(k->z + o * k->ld + c), top);
        for (size_t o = 0; o < k->outs; o++) {
            float *z = k->z + o * k->ld + c;
            vf x = load(z) - top, e = exp_of(max(all(-87.0f), x));

            own = pick(label == all_int((int)o), x, own);
            total += e;
            store(z, e);
        }
        loss += (vf)((vi)(log_of(total) - own) & inside);
        right += (own >= 0.0f) & inside;
        total = 1.0f / total;
        for (size_t o = 0; o < k->outs; o++) {
            float *z = k->z + o * k->ld + c;
            vf p = load(z) * total, mine = (vf)((vi)all(1) & (label == all_int((int)o)));

            if (k->label)
                p = (vf)((vi)((p - mine) * all(k->scale)) & inside);
            store(z, p);
        }
    }
    done->loss += (double)sum(loss);
    for (int i = 0; i < VL; i++)
        done->right -= right[i];
}

/* ---- optimizers ---- */

INLINE vf load_some(const float *p, size_t n)
{
    return n == VL ? load_any(p) : load_part(p, n);
}

INLINE void store_some(float *p, vf x, size_t n)
{
    if (n == VL)
        store_any(p, x);
    else
        store_part(p, x, n);
}

static void step_sgd(const struct kernel_optim *r, float *p, const float *g, size_t n)
{
    vf lr = all(r->lr), decay = all(r->decay);

    for (size_t j = 0; j < n; j += VL) {
        size_t some = n - j < VL ? n - j : VL;
        vf x = load_some(p + j, some);

        store_some(p + j, madd(-lr, madd(decay, x, load_some(g + j, some)), x), some);
    }
}

static void step_momentum(const struct kernel_optim *r, float *p, const float *g, float *m, size_t n)
{
    vf lr = all(r->lr), decay = all(r->decay), keep = all(r->momentum);

    for (size_t j = 0; j < n; j += VL) {
        size_t some = n - j < VL ? n - j : VL;
        vf x = load_some(p + j, some), d = madd(decay, x, load_some(g + j, some));
        vf v = madd(keep, load_some(m + j, some), d);

        store_some(m + j, v, some);
        if (r->nesterov)
            v = madd(keep, v, d);
        store_some(p + j, madd(-lr, v, x), some);
    }
}

static void step_adam(const struct kernel_optim *r, float *p, const float *g, float *m, float *v,
                      size_t n)
{
    vf lr = all(r->lr * r->fix1), shrink = all(1 - r->lr * r->decay), fix2 = all(r->fix2);
    vf b1 = all(r->beta1), b2 = all(r->beta2), eps = all(r->epsilon);

    for (size_t j = 0; j < n; j += VL) {
        size_t some = n - j < VL ? n - j : VL;
        vf d = load_some(g + j, some), a = load_some(m + j, some), b = load_some(v + j, some);

        a = madd(b1, a - d, d);
        b = madd(b2, b - d * d, d * d);
        store_some(m + j, a, some);
        store_some(v + j, b, some);
        d = vector_sqrt(b * fix2) + eps;
        store_some(p + j, shrink * load_some(p + j, some) - lr * a / d, some);
    }
}
