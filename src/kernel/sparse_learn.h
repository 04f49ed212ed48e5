/* Part of scalar.c and simd.h, behind sparse.h: rows of sparse features learned one after
 * the other. What the dot has loaded and computed of a row serves the step too, as long as
 * the row has no more than LEARN_BLOCKS blocks. */

enum { LEARN_BLOCKS = 4 };

struct learn_row {
    struct kernel_sparse x;
    struct sparse_block k[LEARN_BLOCKS];
    float w[LEARN_BLOCKS][SPARSE_BLOCK], root[LEARN_BLOCKS][SPARSE_BLOCK]; /* of ftrl: sqrt(n) */
} __attribute__((aligned(64)));

static inline struct kernel_sparse learn_at(const struct kernel_rows *r, size_t i)
{
    uint64_t at = r->start[i];

    return (struct kernel_sparse){.at = r->at, .mine = r->mine, .hot = r->hot, .ids = r->ids + at,
                                  .values = r->values ? r->values + at : NULL,
                                  .n = (size_t)(r->start[i + 1] - at)};
}

/* Parameters of a row to come; hot ones are at hand. */
static inline void learn_fetch(const struct kernel_rows *r, size_t i, size_t width)
{
    if (r->ahead == 0 || i + r->ahead >= r->n)
        return;
    for (uint64_t k = r->start[i + r->ahead]; k < r->start[i + r->ahead + 1]; k++)
        if (r->ids[k] >= r->hot)
            __builtin_prefetch(r->at + (size_t)r->ids[k] * width, 1);
}

/* d loss / d margin, times how much the row counts. */
static inline float learn_slope(const struct kernel_rows *r, size_t i, float margin)
{
    float label = r->label[i], weight = r->weight ? r->weight[i] * r->scale : 1;

    r->margin[i] = margin;
    return (sigmoid1(margin) - label) * weight * (r->label[i] ? r->positive : 1);
}

/* ---- plain steps ---- */

#if defined(__AVX512F__) && defined(VBYTES)

/* As sum, without a way through memory. */
INLINE float learn_sum(__m512 x)
{
    __m256 half = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 part = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));

    part = _mm_add_ps(part, _mm_movehl_ps(part, part));
    part = _mm_add_ss(part, _mm_movehdup_ps(part));
    return _mm_cvtss_f32(part);
}

/* Ids are below 2^31, which gathers take for a sign. */
INLINE __m512 learn_gather(const struct kernel_sparse *x, size_t i, __mmask16 there)
{
    __m512i ids = _mm512_maskz_loadu_epi32(there, x->ids + i);
    __m512 w = _mm512_setzero_ps();
    __mmask16 hot;

    if (x->hot == 0)
        return _mm512_mask_i32gather_ps(w, there, ids, x->at, 4);
    hot = _mm512_mask_cmplt_epu32_mask(there, ids, _mm512_set1_epi32((int)x->hot));
    w = _mm512_mask_i32gather_ps(w, hot, ids, x->mine, 4);
    there = (__mmask16)(there & ~hot);
    return there ? _mm512_mask_i32gather_ps(w, there, ids, x->at, 4) : w;
}

INLINE float learn_dot_sgd(const struct kernel_sparse *x)
{
    __m512 total = _mm512_setzero_ps();

    for (size_t i = 0; i < x->n; i += SPARSE_BLOCK) {
        size_t n = x->n - i < SPARSE_BLOCK ? x->n - i : SPARSE_BLOCK;
        __mmask16 there = (__mmask16)((1u << n) - 1);
        __m512 w = learn_gather(x, i, there);

        total = x->values ? _mm512_fmadd_ps(w, _mm512_maskz_loadu_ps(there, x->values + i), total)
                          : _mm512_add_ps(w, total);
    }
    return learn_sum(total);
}

#else

static inline float learn_dot_sgd(const struct kernel_sparse *x)
{
    return sparse_dot_sgd(x);
}

#endif

/* Most rows have features of value 1, and most runs one thread or rules that shrink nothing. */
static inline void learn_step_sgd(const struct kernel_sparse *x, const struct kernel_rule *rule,
                                  float g)
{
    float step = rule->lr * g;

    if (x->values || rule->l1 > 0 || rule->l2 > 0)
        sparse_step_sgd(x, rule, g);
    else if (x->hot == 0)
        for (size_t i = 0; i < x->n; i++)
            x->at[x->ids[i]] -= step;
    else
        for (size_t i = 0; i < x->n; i++)
            *sparse_row(x, i, 1) -= step;
}

static void learn_sgd(const struct kernel_rows *r, const struct kernel_rule *rule)
{
    for (size_t i = 0; i < r->n; i++) {
        struct kernel_sparse x = learn_at(r, i);
        float g = learn_slope(r, i, learn_dot_sgd(&x) + *r->bias);

        learn_fetch(r, i, 1);
        learn_step_sgd(&x, rule, g);
        *r->bias -= rule->lr * g;
    }
}

/* ---- adagrad and ftrl ---- */

static inline float learn_dot_ftrl(struct learn_row *row, const struct kernel_rule *r)
{
    float total[SPARSE_BLOCK] __attribute__((aligned(64))) = {0};

    for (size_t i = 0, b = 0; i < row->x.n; i += SPARSE_BLOCK, b++) {
        struct sparse_block *k = &row->k[b];

        sparse_load(&row->x, i, k);
        for (size_t j = 0; j < SPARSE_BLOCK; j++) {
            float size = fabsf(k->a[j]) - r->l1, root = sqrtf(k->b[j]);
            float w = size / ((r->beta + root) / r->lr + r->l2);

            w = size > 0 ? copysignf(w, -k->a[j]) : 0;
            row->w[b][j] = w;
            row->root[b][j] = root;
            total[j] += w * k->x[j];
        }
    }
    return sparse_sum(total);
}

static inline float learn_dot_adagrad(struct learn_row *row)
{
    float total[SPARSE_BLOCK] __attribute__((aligned(64))) = {0};

    for (size_t i = 0, b = 0; i < row->x.n; i += SPARSE_BLOCK, b++) {
        sparse_load(&row->x, i, &row->k[b]);
        for (size_t j = 0; j < SPARSE_BLOCK; j++)
            total[j] += row->k[b].a[j] * row->k[b].x[j];
    }
    return sparse_sum(total);
}

/* As ftrl_block, from what the dot left. */
static inline void learn_block_ftrl(struct learn_row *row, size_t b, const struct kernel_rule *r,
                                    float g)
{
    struct sparse_block *k = &row->k[b];

    for (size_t j = 0; j < SPARSE_BLOCK; j++) {
        float d = g * k->x[j], square = d * d;
        float sigma = (sqrtf(k->b[j] + square) - row->root[b][j]) / r->lr;

        k->a[j] = d - sigma * row->w[b][j];
        k->b[j] = square;
    }
}

static inline void learn_step(struct learn_row *row, const struct kernel_rule *r, float g)
{
    for (size_t i = 0, b = 0; i < row->x.n; i += SPARSE_BLOCK, b++) {
        struct sparse_block *k = &row->k[b];

        if (r->kind == KERNEL_FTRL)
            learn_block_ftrl(row, b, r, g);
        else
            adagrad_block(k, r, g);
        sparse_add(&row->x, i, k);
    }
}

/* The bias is a row of one feature, too small for blocks. */
static inline float learn_bias(const float *bias, const struct kernel_rule *plain)
{
    return plain->kind == KERNEL_FTRL ? ftrl_weight(bias[0], bias[1], plain) : bias[0];
}

static inline void learn_step_bias(float *bias, const struct kernel_rule *plain, float g)
{
    float square = g * g;

    if (plain->kind == KERNEL_FTRL)
        bias[0] += g - (sqrtf(bias[1] + square) - sqrtf(bias[1])) / plain->lr *
                           ftrl_weight(bias[0], bias[1], plain);
    else
        bias[0] -= plain->lr / (sqrtf(bias[1] + square) + plain->beta) * g;
    bias[1] += square;
}

static void learn_adaptive(const struct kernel_rows *r, const struct kernel_rule *rule)
{
    struct kernel_rule plain = *rule;
    struct learn_row row;

    plain.l1 = plain.l2 = 0;
    for (size_t i = 0; i < r->n; i++) {
        bool kept;
        float dot, g;

        row.x = learn_at(r, i);
        kept = row.x.n <= LEARN_BLOCKS * SPARSE_BLOCK;
        if (kept)
            dot = rule->kind == KERNEL_FTRL ? learn_dot_ftrl(&row, rule) : learn_dot_adagrad(&row);
        else
            dot = sparse_dot(&row.x, rule);
        g = learn_slope(r, i, dot + learn_bias(r->bias, &plain));
        learn_fetch(r, i, 2);
        if (kept)
            learn_step(&row, rule, g);
        else
            sparse_step(&row.x, rule, g);
        learn_step_bias(r->bias, &plain, g);
    }
}

static void sparse_learn(const struct kernel_rows *rows, const struct kernel_rule *r)
{
    if (r->kind == KERNEL_SGD)
        learn_sgd(rows, r);
    else
        learn_adaptive(rows, r);
}
