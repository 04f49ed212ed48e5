/* Every table of kernels against the scalar reference. */
#include "kernel/kernel.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

enum { DIMS = 320, ROWS_IN = 12, ROWS_OUT = 17 };

/* The 64-byte template, compiled for AVX2: its logic where there is no AVX-512. */
extern const struct kernel kernel_wide;

static const struct kernel *tables[4];
static size_t ntables;

static int find_tables(void **state)
{
    static const char *const names[] = {"avx2", "avx512"};

    (void)state;
    for (size_t i = 0; i < 2; i++)
        if (kernel_find(&tables[ntables], names[i]) == SHOAL_OK)
            ntables++;
#ifdef TEST_WIDE
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        tables[ntables++] = &kernel_wide;
#endif
    return 0;
}

static float number(struct rng *r)
{
    return (float)(rng_unit(r) * 2 - 1);
}

static void assert_near(float found, float want, float scale, const char *what, size_t dim)
{
    if (fabsf(found - want) <= scale * 2e-5f + fabsf(want) * 2e-5f)
        return;
    print_error("%s at dim %zu: found %.9g, want %.9g\n", what, dim, (double)found, (double)want);
    fail();
}

static void vectors_agree_with_scalar_for_every_length(void **state)
{
    struct rng r = {1, 2, 0};
    float x[DIMS + 1], y[DIMS + 1], a[DIMS + 1], b[DIMS + 1], c[DIMS + 1], d[DIMS + 1];

    (void)state;
    for (size_t t = 0; t < ntables; t++)
        for (size_t n = 0; n <= DIMS; n++) {
            const struct kernel *k = tables[t], *s = &kernel_scalar;

            for (size_t i = 0; i <= DIMS; i++)
                x[i] = number(&r) * 8, y[i] = number(&r);
            assert_near(k->dot(x, y, n), s->dot(x, y, n), 8 * sqrtf((float)n), "dot", n);
            assert_near((float)k->sumsq(x, n), (float)s->sumsq(x, n), 1, "sumsq", n);
            memcpy(a, y, sizeof a), memcpy(b, y, sizeof b);
            k->axpy(a, 0.3f, x, n), s->axpy(b, 0.3f, x, n);
            k->scale(a, 1.7f, n), s->scale(b, 1.7f, n);
            for (size_t i = 0; i <= DIMS; i++)
                assert_near(a[i], b[i], 1, "axpy, scale", n);
            k->sigmoid(a, x, n), s->sigmoid(b, x, n);
            for (size_t i = 0; i <= DIMS; i++)
                assert_near(a[i], b[i], 1, "sigmoid", n);
            k->logsigmoid(a, x, n), s->logsigmoid(b, x, n);
            for (size_t i = 0; i <= DIMS; i++)
                assert_near(a[i], b[i], 1, "logsigmoid", n);
            k->copy(a, x, n), s->copy(b, x, n);
            assert_memory_equal(a, b, sizeof a);
            memcpy(c, y, sizeof c), memcpy(d, y, sizeof d);
            k->renew(a, c, x, n), s->renew(b, d, x, n);
            assert_memory_equal(a, b, sizeof a);
            assert_memory_equal(c, d, sizeof c);
        }
}

static void sigmoid_is_right_at_the_ends(void **state)
{
    const float x[] = {-INFINITY, -1000, -100, -50, -20, 0, 20, 50, 100, 1000, INFINITY};
    float y[11], z[11];

    (void)state;
    for (size_t t = 0; t < ntables; t++) {
        tables[t]->sigmoid(y, x, 11);
        tables[t]->logsigmoid(z, x, 9);
        for (size_t i = 0; i < 11; i++)
            assert_near(y[i], (float)(1 / (1 + exp(-(double)x[i]))), 1, "sigmoid", i);
        for (size_t i = 1; i < 9; i++)
            assert_near(z[i], (float)-log1p(exp(-(double)x[i])), 1, "logsigmoid", i);
    }
}

/* Or a run that diverged would look like one that has learned all. */
static void the_loss_of_no_number_is_none(void **state)
{
    float x[DIMS], y[DIMS];

    (void)state;
    for (size_t t = 0; t < ntables; t++)
        for (size_t n = 1; n <= DIMS; n++) {
            for (size_t i = 0; i < n; i++)
                x[i] = i % 3 == 0 ? NAN : 0;
            tables[t]->logsigmoid(y, x, n);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(isnan(y[i]) != 0, i % 3 == 0);
        }
}

/* Rows of two equal worlds: one for the reference, one for the table tested. */
struct rows {
    struct table in, out;
    float *pin[ROWS_IN], *pout[ROWS_OUT];
};

static void rows_new(struct rows *w, size_t dim, uint64_t seed)
{
    struct rng r = {seed, 3, 0};

    assert_int_equal(table_init(&w->in, "in", ROWS_IN, dim), SHOAL_OK);
    assert_int_equal(table_init(&w->out, "out", ROWS_OUT, dim), SHOAL_OK);
    for (size_t i = 0; i < ROWS_IN; i++)
        for (size_t j = 0; j < dim; j++)
            w->in.at[i * w->in.stride + j] = number(&r) / 4;
    for (size_t i = 0; i < ROWS_OUT; i++)
        for (size_t j = 0; j < dim; j++)
            w->out.at[i * w->out.stride + j] = number(&r) / 4;
    for (size_t i = 0; i < ROWS_IN; i++)
        w->pin[i] = w->in.at + i * w->in.stride;
    for (size_t i = 0; i < ROWS_OUT; i++)
        w->pout[i] = w->out.at + i * w->out.stride;
}

static void rows_end(struct rows *w)
{
    table_fini(&w->in);
    table_fini(&w->out);
}

static void assert_rows_near(const struct table *found, const struct table *want, const char *what)
{
    for (size_t i = 0; i < want->rows; i++)
        for (size_t j = 0; j < want->stride; j++) {
            float f = found->at[i * want->stride + j], w = want->at[i * want->stride + j];

            assert_near(f, w, j < want->width ? 1 : 0, what, want->width);
        }
}

static double step(const struct kernel *k, struct rows *w, size_t dim, size_t m, size_t n, bool bag)
{
    float label[KERNEL_MAX_OUT + KERNEL_LANES] = {0};
    double loss = 0;
    struct kernel_step s = {.in = w->pin, .out = w->pout, .label = label, .m = m, .k = n,
                            .dim = dim, .lr = 0.1f, .in_scale = m ? 1.0f / (float)m : 1,
                            .loss = &loss};

    for (size_t q = 0; q < n; q++)
        label[q] = q % 3 == 0;
    (bag ? k->bag : k->pairs)(&s);
    return loss;
}

static void compare_step(const struct kernel *k, size_t dim, size_t m, size_t n, bool bag)
{
    struct rows a, b;
    double found, want;

    rows_new(&a, dim, dim * 100 + m);
    rows_new(&b, dim, dim * 100 + m);
    found = step(k, &a, dim, m, n, bag);
    want = step(&kernel_scalar, &b, dim, m, n, bag);
    assert_true(fabs(found - want) <= 1e-4 * (1 + fabs(want)));
    assert_rows_near(&a.in, &b.in, bag ? "bag in" : "pairs in");
    assert_rows_near(&a.out, &b.out, bag ? "bag out" : "pairs out");
    rows_end(&a);
    rows_end(&b);
}

static void steps_agree_with_scalar_for_every_dimension(void **state)
{
    (void)state;
    for (size_t t = 0; t < ntables; t++)
        for (size_t dim = 1; dim <= DIMS; dim++)
            for (int bag = 0; bag < 2; bag++) {
                compare_step(tables[t], dim, 1 + dim % ROWS_IN, 6, bag);
                compare_step(tables[t], dim, 1 + dim % 7, 1 + dim % ROWS_OUT, bag);
            }
}

static void steps_agree_with_scalar_for_every_shape(void **state)
{
    (void)state;
    for (size_t t = 0; t < ntables; t++)
        for (size_t m = 0; m <= ROWS_IN; m++)
            for (size_t n = 0; n <= ROWS_OUT; n++)
                for (int bag = 0; bag < 2; bag++)
                    compare_step(tables[t], 100, m, n, bag);
}

/* A row that stands there twice is summed, and added to, twice; the padding stays zero. */
static void many_rows_agree_with_scalar(void **state)
{
    enum { ROWS = 9 };
    struct rng r = {4, 4, 0};
    _Alignas(64) float rows[ROWS][DIMS + 16], other[ROWS][DIMS + 16], sum[DIMS + 16], want[DIMS + 16];

    (void)state;
    for (size_t t = 0; t < ntables; t++)
        for (size_t dim = 1; dim <= DIMS; dim++) {
            size_t n = dim % (ROWS + 1);
            float *at[ROWS + 1], *like[ROWS + 1];

            memset(rows, 0, sizeof rows);
            for (size_t i = 0; i < ROWS; i++)
                for (size_t j = 0; j < dim; j++)
                    rows[i][j] = number(&r);
            memcpy(other, rows, sizeof other);
            for (size_t i = 0; i < n; i++) {
                at[i] = rows[i * 2 % ROWS];
                like[i] = other[i * 2 % ROWS];
            }
            if (n > 0) {
                at[n - 1] = at[0];
                like[n - 1] = like[0];
            }
            memset(sum, 1, sizeof sum), memset(want, 1, sizeof want);
            tables[t]->sum_rows(sum, (const float *const *)at, n, dim);
            kernel_scalar.sum_rows(want, (const float *const *)like, n, dim);
            for (size_t j = 0; j < table_stride(dim); j++)
                assert_near(sum[j], want[j], 1, "sum_rows", dim);
            tables[t]->add_rows(at, n, sum, dim);
            kernel_scalar.add_rows(like, n, want, dim);
            for (size_t i = 0; i < ROWS; i++)
                for (size_t j = 0; j < table_stride(dim); j++)
                    assert_near(rows[i][j], other[i][j], 1, "add_rows", dim);
        }
}

static void folding_agrees_with_scalar(void **state)
{
    (void)state;
    for (size_t t = 0; t < ntables; t++)
        for (size_t dim = 1; dim <= DIMS; dim++) {
            struct rows a, b;

            rows_new(&a, dim, dim);
            rows_new(&b, dim, dim);
            tables[t]->fold(a.pin[0], a.pin[1], a.pin[2], dim, 0.375f);
            kernel_scalar.fold(b.pin[0], b.pin[1], b.pin[2], dim, 0.375f);
            assert_rows_near(&a.in, &b.in, "fold");
            rows_end(&a);
            rows_end(&b);
        }
}

static void folding_averages_equal_changes_and_adds_orthogonal_ones(void **state)
{
    _Alignas(64) float base[16] = {1, 1}, row[16] = {3, 1}, same[16] = {3, 1}, other[16] = {1, 4};

    (void)state;
    kernel_scalar.fold(row, same, base, 2, 0.5f);
    assert_near(row[0], 3, 1, "averaged", 2);
    assert_near(row[1], 1, 1, "averaged", 2);
    kernel_scalar.fold(row, other, base, 2, 0.5f);
    assert_near(row[0], 3, 1, "added", 2);
    assert_near(row[1], 4, 1, "added", 2);
}

/* ---- rows in few bits ---- */

static size_t wire_most(void)
{
    return 4 * DIMS + 8;
}

/* Packing says what unpacking will make of it, in every instruction set the same bits: ranks on
 * different processors must agree. */
static void both_sides_of_a_wire_have_the_same_bits(void **state)
{
    (void)state;
    for (size_t t = 0; t < ntables; t++)
        for (unsigned w = 0; w < KERNEL_WIRES; w++)
            for (size_t dim = 1; dim <= DIMS; dim++) {
                struct rows a, b;
                char *wire = calloc(2, wire_most()), *same = wire + wire_most();
                float *read = calloc(dim, sizeof *read);

                rows_new(&a, dim, dim);
                rows_new(&b, dim, dim);
                tables[t]->wires[w].pack(wire, a.pin[0], a.pin[1], dim);
                kernel_scalar.wires[w].pack(same, b.pin[0], b.pin[1], dim);
                assert_memory_equal(wire, same, wire_most());
                assert_memory_equal(a.pin[0], b.pin[0], dim * sizeof(float));
                tables[t]->wires[w].unpack(read, wire, a.pin[1], dim);
                assert_memory_equal(read, a.pin[0], dim * sizeof(float));
                free(read);
                free(wire);
                rows_end(&a);
                rows_end(&b);
            }
}

/* As many bits as it has, none is further off than half a step of its scale. */
static void a_wire_rounds_to_the_nearest_step(void **state)
{
    static const struct {
        unsigned wire;
        float steps;
    } wires[] = {{KERNEL_BF16, 256}, {KERNEL_INT8, 127}, {KERNEL_INT4, 7}};
    float known[100], x[100], was[100];
    char wire[512];

    (void)state;
    for (size_t w = 0; w < sizeof wires / sizeof *wires; w++) {
        for (size_t j = 0; j < 100; j++) {
            known[j] = (float)j;
            was[j] = x[j] = known[j] + (float)((int)j % 17 - 8) / 8;
        }
        kernel_scalar.wires[wires[w].wire].pack(wire, x, known, 100);
        for (size_t j = 0; j < 100; j++) /* a scale may be a 128th too large */
            assert_true(fabsf(x[j] - was[j]) <= 0.5f * 1.01f / wires[w].steps + 1e-5f);
    }
}

static void a_wire_takes_nothing_and_no_number(void **state)
{
    const float known[8] = {1, 2, 3};
    char wire[64];

    (void)state;
    for (size_t t = 0; t < ntables; t++)
        for (unsigned w = KERNEL_INT8; w < KERNEL_WIRES; w++) {
            const struct kernel_wire *k = &tables[t]->wires[w];
            float x[8];

            memcpy(x, known, sizeof x);
            k->pack(wire, x, known, 8);
            assert_memory_equal(x, known, sizeof x);
            x[3] = 1e-44f; /* nothing, beside the scale of a float */
            k->pack(wire, x, known, 8);
            assert_memory_equal(x, known, sizeof x);
            x[2] = INFINITY;
            k->pack(wire, x, known, 8);
            k->unpack(x, wire, known, 8);
            assert_true(isnan(x[2]));
        }
}

static void distances_agree_with_scalar(void **state)
{
    (void)state;
    for (size_t t = 0; t < ntables; t++)
        for (size_t dim = 1; dim <= DIMS; dim++) {
            struct rows a;
            float *copy = calloc(dim, sizeof *copy), want, found;

            rows_new(&a, dim, dim);
            want = kernel_scalar.apart(a.pin[0], a.pin[1], dim);
            found = tables[t]->apart(a.pin[0], a.pin[1], dim);
            assert_true(fabsf(found - want) <= 1e-5f * want + 1e-6f);
            found = tables[t]->take(copy, a.pin[0], a.pin[1], dim);
            assert_true(fabsf(found - want) <= 1e-5f * want + 1e-6f);
            assert_memory_equal(copy, a.pin[0], dim * sizeof *copy);
            free(copy);
            rows_end(&a);
        }
}

static void an_unknown_instruction_set_is_named(void **state)
{
    const struct kernel *k;

    (void)state;
    assert_int_equal(kernel_find(&k, "sse9"), SHOAL_EINVAL);
    assert_null(k);
    assert_non_null(strstr(shoal_error(), "sse9"));
    assert_int_equal(kernel_find(&k, ""), SHOAL_OK);
    assert_int_equal(kernel_find(&k, "scalar"), SHOAL_OK);
    assert_ptr_equal(k, &kernel_scalar);
}

/* ---- searching ---- */

enum { FOUND = 40, ASKED = 7, PITCH = FOUND + 8 };

static _Alignas(64) float asked[ASKED][DIMS], rows[FOUND][DIMS];

/* Padded with zeros behind dim. */
static void fill_rows(struct rng *r, size_t dim)
{
    for (size_t i = 0; i < ASKED + FOUND; i++) {
        float *row = i < ASKED ? asked[i] : rows[i - ASKED];

        for (size_t j = 0; j < DIMS; j++)
            row[j] = j < dim ? number(r) : 0;
    }
}

static void products_with_rows_agree_with_scalar(void **state)
{
    struct rng r = {31, 1, 0};
    const float *in[ASKED];
    float x[ASKED][PITCH], y[ASKED][PITCH];

    (void)state;
    for (size_t i = 0; i < ASKED; i++)
        in[i] = asked[i];
    for (size_t t = 0; t < ntables; t++)
        for (size_t dim = 1; dim <= DIMS; dim += 1 + dim / 9) {
            size_t m = 1 + dim % ASKED, n = dim % (FOUND + 1);

            fill_rows(&r, dim);
            tables[t]->dots(x[0], PITCH, in, m, rows[0], DIMS, n, dim);
            kernel_scalar.dots(y[0], PITCH, in, m, rows[0], DIMS, n, dim);
            for (size_t i = 0; i < m; i++)
                for (size_t q = 0; q < n; q++)
                    assert_near(x[i][q], y[i][q], sqrtf((float)dim), "dots", dim);
            tables[t]->squares(x[0], rows[0], DIMS, n, dim);
            kernel_scalar.squares(y[0], rows[0], DIMS, n, dim);
            for (size_t q = 0; q < n; q++)
                assert_near(x[0][q], y[0][q], sqrtf((float)dim), "squares", dim);
        }
}

static void points_push_each_other_as_scalar_says(void **state)
{
    enum { POINTS = 64, PLACES = 11 };
    struct rng r = {34, 1, 0};
    float x[POINTS], y[POINTS], sums[3 * PLACES], want[3 * PLACES];

    (void)state;
    for (size_t n = KERNEL_LANES; n <= POINTS; n += KERNEL_LANES)
        for (size_t t = 0; t < ntables; t++) {
            for (size_t i = 0; i < n; i++) {
                x[i] = i + 3 < n ? (float)(20 * rng_unit(&r) - 10) : KERNEL_FAR;
                y[i] = i + 3 < n ? (float)(20 * rng_unit(&r) - 10) : KERNEL_FAR;
            }
            tables[t]->repel(sums, x, y, PLACES, x, y, n);
            kernel_scalar.repel(want, x, y, PLACES, x, y, n);
            for (size_t i = 0; i < 3 * PLACES; i++)
                assert_near(sums[i], want[i], 4, "repel", n);
            assert_true(sums[0] >= 1 && sums[0] < (float)n);
        }
}

static void a_product_has_the_same_bits_wherever_it_stands(void **state)
{
    struct rng r = {32, 1, 0};
    const float *in[ASKED];
    float x[ASKED][PITCH], one[8];

    (void)state;
    for (size_t i = 0; i < ASKED; i++)
        in[i] = asked[i];
    for (size_t t = 0; t < ntables; t++)
        for (size_t dim = 90; dim < 110; dim++) {
            fill_rows(&r, dim);
            tables[t]->dots(x[0], PITCH, in, ASKED, rows[0], DIMS, FOUND, dim);
            for (size_t i = 0; i < ASKED; i++)
                for (size_t q = 0; q < FOUND; q++) {
                    tables[t]->dots(one, 8, in + i, 1, rows[q], DIMS, 1, dim);
                    assert_memory_equal(&x[i][q], one, sizeof *one);
                }
        }
}

static void products_of_bytes_are_exact(void **state)
{
    enum { ROWS = 5, WIDE = 12 * KERNEL_BYTES };
    struct rng r = {34, 1, 0};
    int16_t in[WIDE];
    int8_t bytes[ROWS * WIDE];
    int32_t x[ROWS], y[ROWS];

    (void)state;
    for (size_t t = 0; t < ntables; t++)
        for (size_t stride = KERNEL_BYTES; stride <= WIDE; stride += KERNEL_BYTES) {
            for (size_t j = 0; j < stride; j++)
                in[j] = (int16_t)((int)rng_below(&r, 4095) - 2047);
            for (size_t j = 0; j < ROWS * stride; j++)
                bytes[j] = (int8_t)((int)rng_below(&r, 255) - 127);
            tables[t]->dots_bytes(x, in, bytes, stride, ROWS);
            kernel_scalar.dots_bytes(y, in, bytes, stride, ROWS);
            assert_memory_equal(x, y, sizeof x);
        }
}

static void peaks_are_those_of_scalar_and_no_number_is_none(void **state)
{
    struct rng r = {33, 1, 0};
    float a[DIMS], b[DIMS], c[DIMS];

    (void)state;
    for (size_t t = 0; t < ntables; t++)
        for (size_t n = KERNEL_LANES; n <= DIMS; n += KERNEL_LANES) {
            const struct kernel *k = tables[t], *s = &kernel_scalar;

            for (size_t j = 0; j < n; j++)
                a[j] = (number(&r) + 1) / 2, b[j] = number(&r), c[j] = number(&r);
            b[n % 7] = c[n - 1] = NAN;
            assert_true(k->peak_add(a, b, c, n) == s->peak_add(a, b, c, n));
            assert_true(k->peak_mul(a, b, c, 0.01f, n) == s->peak_mul(a, b, c, 0.01f, n));
            for (size_t j = 0; j < n; j++)
                b[j] = NAN;
            assert_true(k->peak_add(a, b, c, n) == -INFINITY);
            assert_true(k->peak_mul(a, b, c, 0.01f, n) == -INFINITY);
        }
}

static void assert_same_floats(const float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_true((isnan(x[i]) && isnan(y[i])) || memcmp(&x[i], &y[i], sizeof *x) == 0);
}

/* All 65,536 of them. */
static void narrow_numbers_widen_exactly(void **state)
{
    static uint16_t from[65536];
    static float x[65536], y[65536];

    (void)state;
    for (size_t i = 0; i < 65536; i++)
        from[i] = (uint16_t)i;
    kernel_scalar.from_half(y, from, 65536);
    assert_true(y[0x3c00] == 1 && y[0xc000] == -2 && y[0x7bff] == 65504 && y[1] == 0x1p-24f);
    assert_true(y[0x03ff] == 1023 * 0x1p-24f && y[0x7c00] == INFINITY && isnan(y[0xfe00]));
    assert_true(y[0x8000] == 0 && signbit(y[0x8000]));
    for (size_t t = 0; t < ntables; t++) {
        tables[t]->from_half(x, from, 65536);
        kernel_scalar.from_half(y, from, 65536);
        assert_same_floats(x, y, 65536);
        tables[t]->from_bfloat(x, from, 65536);
        kernel_scalar.from_bfloat(y, from, 65536);
        assert_same_floats(x, y, 65536);
        tables[t]->from_int8(x, (const int8_t *)from, 2 * 512);
        kernel_scalar.from_int8(y, (const int8_t *)from, 2 * 512);
        assert_same_floats(x, y, 2 * 512);
    }
    assert_true(y[2 * 0x80] == -128 && y[2 * 0x7f] == 127);
}

/* ---- nets ---- */

enum { NET_ROWS = 21, NET_LD = 96 };

struct nets {
    _Alignas(64) float x[NET_ROWS * NET_LD], y[NET_ROWS * NET_LD];
    float w[NET_ROWS * NET_ROWS], bias[NET_ROWS];
    uint32_t label[NET_LD];
};

static void nets_fill(struct nets *n, struct rng *r, size_t outs)
{
    for (size_t i = 0; i < NET_ROWS * NET_LD; i++)
        n->x[i] = number(r), n->y[i] = number(r);
    for (size_t i = 0; i < NET_ROWS * NET_ROWS; i++)
        n->w[i] = number(r);
    for (size_t i = 0; i < NET_ROWS; i++)
        n->bias[i] = number(r);
    for (size_t i = 0; i < NET_LD; i++)
        n->label[i] = (uint32_t)rng_below(r, outs);
}

static void assert_same(const float *found, const float *want, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        assert_near(found[i], want[i], 8, what, i);
}

/* What one table makes of the same numbers. */
static void run_layers(const struct kernel *k, struct nets *n, size_t outs, size_t ins, size_t cols,
                       unsigned how)
{
    k->affine(&(struct kernel_affine){.y = n->y, .x = n->x, .w = n->w,
                                      .wo = how & 1 ? 1 : NET_ROWS, .wi = how & 1 ? NET_ROWS : 1,
                                      .bias = how & 2 ? n->bias : NULL,
                                      .gate = how & 4 ? n->y : NULL, .relu = how & 8, .outs = outs,
                                      .ins = ins, .cols = cols, .ld = NET_LD});
    k->outer(&(struct kernel_outer){.w = n->w, .pitch = NET_ROWS, .a = n->y, .b = n->x,
                                    .outs = outs, .ins = ins, .cols = cols, .ld = NET_LD});
    k->row_sums(n->bias, n->y, outs, cols, NET_LD);
}

static void narrow_layers_agree_with_scalar(void **state)
{
    static const size_t cols[] = {16, 32, 48, 64, 80, 96};
    struct rng r = {3, 4, 0};
    static struct nets a, b;

    (void)state;
    for (size_t t = 0; t < ntables; t++)
        for (size_t outs = 1; outs <= NET_ROWS; outs += 2)
            for (size_t ins = 1; ins <= NET_ROWS; ins += 3)
                for (unsigned how = 0; how < 16; how++) {
                    nets_fill(&a, &r, outs);
                    b = a;
                    run_layers(tables[t], &a, outs, ins, cols[(outs + how) % 6], how);
                    run_layers(&kernel_scalar, &b, outs, ins, cols[(outs + how) % 6], how);
                    assert_same(a.y, b.y, NET_ROWS * NET_LD, "affine");
                    assert_same(a.w, b.w, NET_ROWS * NET_ROWS, "outer");
                    assert_same(a.bias, b.bias, NET_ROWS, "row_sums");
                }
}

static void softmax_agrees_with_scalar(void **state)
{
    struct rng r = {5, 6, 0};
    static struct nets a, b;

    (void)state;
    for (size_t t = 0; t < ntables; t++)
        for (size_t outs = 1; outs <= NET_ROWS; outs++)
            for (size_t n = 1; n <= NET_LD; n += 7) {
                struct kernel_softmax k = {.outs = outs, .n = n, .ld = NET_LD, .scale = 0.5f};
                struct kernel_softmax_sums one = {0}, two = {0};

                nets_fill(&a, &r, outs);
                k.label = n % 2 ? a.label : NULL;
                for (size_t i = 0; i < NET_ROWS * NET_LD; i++)
                    a.x[i] *= n % 3 ? 5.0f : 60.0f;
                b = a;
                k.z = a.x;
                tables[t]->softmax_columns(&k, &one);
                k.z = b.x;
                kernel_scalar.softmax_columns(&k, &two);
                for (size_t o = 0; o < outs; o++)
                    assert_same(a.x + o * NET_LD, b.x + o * NET_LD, n, "softmax");
                if (k.label) {
                    assert_true(fabs(one.loss - two.loss) < 1e-4 * (1 + two.loss));
                    assert_int_equal(one.right, two.right);
                    for (size_t c = n; c < (n + 15) / 16 * 16; c++)
                        assert_true(a.x[c] == 0);
                }
            }
}

static void optimizers_agree_with_scalar_for_every_length(void **state)
{
    struct rng r = {7, 8, 0};
    float p[2][70], g[70], m[2][70], v[2][70];

    (void)state;
    for (size_t t = 0; t < ntables; t++)
        for (size_t n = 0; n <= 70; n++)
            for (unsigned how = 0; how < 4; how++) {
                const struct kernel *ks[] = {tables[t], &kernel_scalar};
                struct kernel_optim rule = {.lr = 0.1f, .decay = 0.01f, .momentum = 0.9f,
                                           .beta1 = 0.9f, .beta2 = 0.99f, .epsilon = 1e-8f,
                                           .fix1 = 10, .fix2 = 100, .nesterov = how == 2};

                for (size_t i = 0; i < 70; i++) {
                    p[0][i] = p[1][i] = number(&r);
                    g[i] = number(&r);
                    m[0][i] = m[1][i] = number(&r);
                    v[0][i] = v[1][i] = fabsf(number(&r));
                }
                for (size_t i = 0; i < 2; i++) {
                    if (how == 0)
                        ks[i]->step_sgd(&rule, p[i], g, n);
                    else if (how < 3)
                        ks[i]->step_momentum(&rule, p[i], g, m[i], n);
                    else
                        ks[i]->step_adam(&rule, p[i], g, m[i], v[i], n);
                }
                assert_same(p[0], p[1], 70, "parameters");
                assert_same(m[0], m[1], 70, "momentum");
                assert_same(v[0], v[1], 70, "squares");
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_agree_with_scalar_for_every_length),
        cmocka_unit_test(sigmoid_is_right_at_the_ends),
        cmocka_unit_test(the_loss_of_no_number_is_none),
        cmocka_unit_test(steps_agree_with_scalar_for_every_dimension),
        cmocka_unit_test(steps_agree_with_scalar_for_every_shape),
        cmocka_unit_test(many_rows_agree_with_scalar),
        cmocka_unit_test(folding_agrees_with_scalar),
        cmocka_unit_test(folding_averages_equal_changes_and_adds_orthogonal_ones),
        cmocka_unit_test(both_sides_of_a_wire_have_the_same_bits),
        cmocka_unit_test(a_wire_rounds_to_the_nearest_step),
        cmocka_unit_test(a_wire_takes_nothing_and_no_number),
        cmocka_unit_test(distances_agree_with_scalar),
        cmocka_unit_test(an_unknown_instruction_set_is_named),
        cmocka_unit_test(products_with_rows_agree_with_scalar),
        cmocka_unit_test(points_push_each_other_as_scalar_says),
        cmocka_unit_test(a_product_has_the_same_bits_wherever_it_stands),
        cmocka_unit_test(products_of_bytes_are_exact),
        cmocka_unit_test(peaks_are_those_of_scalar_and_no_number_is_none),
        cmocka_unit_test(narrow_numbers_widen_exactly),
        cmocka_unit_test(narrow_layers_agree_with_scalar),
        cmocka_unit_test(softmax_agrees_with_scalar),
        cmocka_unit_test(optimizers_agree_with_scalar_for_every_length),
    };

    return cmocka_run_group_tests(tests, find_tables, NULL);
}
