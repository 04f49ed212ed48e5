/* Products of bfloat16 in tiles: the reference by definition, AMX against it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

enum { WIDE = 48, DEEP = 3, LISTED = 2 };

static float number(uint64_t seed, size_t i)
{
    return (float)((double)(rng_at(seed, 1, i) >> 40) / (double)(1 << 24) - 0.5);
}

static void fill(float *x, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = number(seed, i);
}

static float widen(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float y;

    memcpy(&y, &bits, sizeof y);
    return y;
}

/* The nearest bfloat16 is at most half a step of 8 bits away. */
static bool near(uint16_t found, float want)
{
    return fabsf(widen(found) - want) <= fabsf(want) / 256;
}

static const struct kernel_tiles *amx(void)
{
    const struct kernel_tiles *tiles;

    if (getenv("SHOAL_ISA") || kernel_tiles_choose(&tiles) != SHOAL_OK) {
        print_message("no AMX here: %s\n", shoal_error());
        return NULL;
    }
    return tiles;
}

/* ---- packing ---- */

static void rows_and_what_is_turned_lie_as_the_header_says(void **state)
{
    const struct kernel_tiles *t = &kernel_tiles_scalar;
    float x[20 * WIDE];
    uint16_t rows[2 * 2 * TILE], pairs[3 * TILE], turned[3 * TILE], weights[TILE];

    (void)state;
    fill(x, 20 * WIDE, 1);
    t->pack_rows(rows, x, 20, WIDE, WIDE);
    t->pack_pairs(pairs, x, 20, WIDE, WIDE);
    t->pack_turned(turned, x, 20, WIDE, WIDE);
    for (size_t r = 0; r < TILE_DEEP; r++)
        for (size_t i = 0; i < WIDE; i++) {
            float want = r < 20 ? x[r * WIDE + i] : 0;

            if (r < 20)
                assert_true(near(rows[i / 32 * 1024 + r * 32 + i % 32], want));
            assert_true(near(pairs[i / 16 * 512 + r / 2 * 32 + i % 16 * 2 + r % 2], want));
            assert_true(near(turned[i * 32 + r], want));
        }
    assert_int_equal(rows[1024 + 31], 0); /* behind the 48th of the first row */
    t->pack_weights(weights, x, 3, 2, 5);
    for (size_t k = 0; k < TILE_DEEP; k++)
        for (size_t i = 0; i < TILE_ROWS; i++)
            assert_true(near(weights[k / 2 * 32 + i * 2 + k % 2], k < 5 ? x[3 * k + 2 * i] : 0));
}

static void halves_go_to_the_even_number(void **state)
{
    const float x[16] = {1.00390625f, 1.01171875f, -1.00390625f, INFINITY, NAN, 0};
    uint16_t rows[TILE_DEEP];

    (void)state;
    kernel_tiles_scalar.pack_rows(rows, x, 1, 16, 16);
    assert_true(widen(rows[0]) == 1);
    assert_true(widen(rows[1]) == 1.015625f);
    assert_true(widen(rows[2]) == -1);
    assert_true(isinf(widen(rows[3])));
    assert_true(isnan(widen(rows[4])));
    assert_true(widen(rows[5]) == 0);
}

static void amx_packs_the_same_bits(void **state)
{
    const struct kernel_tiles *s = &kernel_tiles_scalar, *t = amx();
    float x[32 * WIDE];
    uint16_t found[4 * TILE], want[4 * TILE];

    (void)state;
    if (!t)
        skip();
    fill(x, 32 * WIDE, 2);
    for (size_t rows = 1; rows <= 32; rows++) {
        memset(found, 0, sizeof found);
        memset(want, 0, sizeof want);
        t->pack_rows(found, x, rows, WIDE, WIDE);
        s->pack_rows(want, x, rows, WIDE, WIDE);
        assert_memory_equal(found, want, sizeof found);
        t->pack_pairs(found, x, rows, WIDE, WIDE);
        s->pack_pairs(want, x, rows, WIDE, WIDE);
        assert_memory_equal(found, want, sizeof found);
        t->pack_turned(found, x, rows, WIDE, WIDE);
        s->pack_turned(want, x, rows, WIDE, WIDE);
        assert_memory_equal(found, want, sizeof found);
        t->pack_weights(found, x, 40, 9, rows);
        s->pack_weights(want, x, 40, 9, rows);
        assert_memory_equal(found, want, sizeof found);
    }
}

/* ---- products ---- */

struct factors {
    uint16_t a[LISTED][DEEP * 2 * TILE], b[LISTED][DEEP * 2 * TILE];
    const uint16_t *as[LISTED], *bs[LISTED];
};

static struct factors *factors_new(void)
{
    struct factors *f = calloc(1, sizeof *f);
    float x[TILE_DEEP * TILE_DEEP];

    for (size_t i = 0; i < LISTED; i++) {
        for (size_t d = 0; d < DEEP; d++) {
            fill(x, TILE_DEEP * TILE_DEEP, 10 * i + d);
            kernel_tiles_scalar.pack_rows(f->a[i] + d * 2 * TILE, x, 32, 32, 32);
            kernel_tiles_scalar.pack_pairs(f->b[i] + d * 2 * TILE, x, 32, 32, 32);
        }
        f->as[i] = f->a[i];
        f->bs[i] = f->b[i];
    }
    return f;
}

/* The numbers of a pair of tiles, widened. */
static double a_at(const uint16_t *a, size_t row, size_t k)
{
    return (double)widen(a[row / 16 * TILE + row % 16 * 32 + k]);
}

static double b_at(const uint16_t *b, size_t k, size_t column)
{
    return (double)widen(b[column / 16 * TILE + k / 2 * 32 + column % 16 * 2 + k % 2]);
}

static void check_product(const struct kernel_tiles *t, size_t n, size_t rows, size_t columns,
                          bool add)
{
    enum { APART = 40 };
    struct factors *f = factors_new();
    float c[33 * APART];
    struct kernel_block b = {.a = f->as,
                             .b = f->bs,
                             .n = n,
                             .deep = DEEP,
                             .rows = rows,
                             .columns = columns,
                             .add = add,
                             .c = c,
                             .apart = APART};

    for (size_t i = 0; i < 33 * APART; i++)
        c[i] = 5;
    t->begin(rows);
    t->multiply(&b);
    t->end();
    for (size_t r = 0; r < 33; r++)
        for (size_t i = 0; i < APART; i++) {
            bool inside = r < rows && i < columns;
            double want = inside && !add ? 0 : 5;

            for (size_t k = 0; inside && k < n * DEEP * 32; k++) {
                size_t at = k / 32 % DEEP * 2 * TILE;

                want += a_at(f->a[k / 32 / DEEP] + at, r, k % 32) *
                        b_at(f->b[k / 32 / DEEP] + at, k % 32, i);
            }
            if (!(fabs((double)c[r * APART + i] - want) < 1e-4))
                fail_msg("%s: %zu, %zu is %g, want %g", t->name, r, i, (double)c[r * APART + i],
                         want);
        }
    free(f);
}

static void check_products(const struct kernel_tiles *t)
{
    static const size_t rows[] = {1, 15, 16, 17, 32};

    for (size_t i = 0; i < 5; i++)
        for (size_t n = 0; n <= LISTED; n++) {
            check_product(t, n, rows[i], 16, false);
            check_product(t, n, rows[i], 32, true);
        }
}

static void a_block_is_the_sum_of_its_products(void **state)
{
    (void)state;
    check_products(&kernel_tiles_scalar);
}

static void so_it_is_by_amx(void **state)
{
    (void)state;
    if (!amx())
        skip();
    check_products(amx());
}

/* ---- choosing ---- */

static void instructions_without_tiles_are_refused(void **state)
{
    const struct kernel_tiles *t;

    (void)state;
    setenv("SHOAL_ISA", "avx2", 1);
    assert_int_equal(kernel_tiles_choose(&t), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "kernel: bf16 needs AMX, and SHOAL_ISA is avx2; want it "
                                       "unset, or f32");
    assert_null(t);
    setenv("SHOAL_ISA", "scalar", 1);
    assert_int_equal(kernel_tiles_choose(&t), SHOAL_OK);
    assert_ptr_equal(t, &kernel_tiles_scalar);
    unsetenv("SHOAL_ISA");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_what_is_turned_lie_as_the_header_says),
        cmocka_unit_test(halves_go_to_the_even_number),
        cmocka_unit_test(amx_packs_the_same_bits),
        cmocka_unit_test(a_block_is_the_sum_of_its_products),
        cmocka_unit_test(so_it_is_by_amx),
        cmocka_unit_test(instructions_without_tiles_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
