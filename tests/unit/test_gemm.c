/* gemm and exps against loops in double; the team that shares such work out. */
#include "kernel/kernel.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int omp_get_max_threads(void);
void omp_set_num_threads(int n);

enum { LD = 150, CELLS = LD * LD };

static float *noise(uint64_t stream)
{
    float *x = mem_array(CELLS, sizeof *x);
    struct rng r = {3, stream, 0};

    assert_non_null(x);
    for (size_t i = 0; i < CELLS; i++)
        x[i] = (float)(2 * rng_unit(&r) - 1);
    return x;
}

static double plain_cell(bool ta, bool tb, size_t k, const float *a, const float *b, size_t i,
                         size_t j)
{
    double sum = 0;

    for (size_t p = 0; p < k; p++)
        sum += (double)(ta ? a[p * LD + i] : a[i * LD + p]) *
               (double)(tb ? b[j * LD + p] : b[p * LD + j]);
    return sum;
}

static void check_product(bool ta, bool tb, size_t m, size_t n, size_t k, float beta)
{
    float *a = noise(1), *b = noise(2), *c = noise(3), *old = noise(3);

    if (beta == 0)
        c[0] = NAN;
    assert_int_equal(gemm(ta, tb, m, n, k, 0.5f, a, LD, b, LD, beta, c, LD), SHOAL_OK);
    for (size_t i = 0; i < LD; i++) {
        for (size_t j = 0; j < LD; j++) {
            double want = old[i * LD + j];

            if (i < m && j < n)
                want = 0.5 * plain_cell(ta, tb, k, a, b, i, j) + (double)beta * want;
            assert_true(fabs(c[i * LD + j] - want) < 2e-5);
        }
    }
    free(a);
    free(b);
    free(c);
    free(old);
}

static void products_agree_with_loops_in_double(void **state)
{
    static const size_t sizes[][3] = {
        {1, 1, 1}, {64, 128, 50}, {128, 50, 64}, {7, 149, 3}, {33, 17, 150}};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int t = 0; t < 4; t++)
            for (int beta = 0; beta < 3; beta++)
                check_product(t & 1, t & 2, sizes[i][0], sizes[i][1], sizes[i][2], (float)beta / 2);
}

static void a_sum_over_nothing_leaves_beta_c(void **state)
{
    (void)state;
    check_product(false, false, 5, 6, 0, 0.5f);
    check_product(false, false, 5, 6, 0, 0);
    check_product(false, false, 0, 6, 4, 0.5f);
    check_product(true, true, 5, 0, 4, 0.5f);
}

static void rows_too_short_are_refused(void **state)
{
    float x[4] = {0};

    (void)state;
    assert_int_equal(gemm(false, false, 2, 2, 2, 1, x, 1, x, 2, 0, x, 2), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "gemm: rows of a are 1 apart, want 2 or more");
    assert_int_equal(gemm(false, true, 2, 2, 3, 1, x, 3, x, 2, 0, x, 2), SHOAL_EINVAL);
    assert_int_equal(gemm(false, false, 2, 2, 2, 1, x, 2, x, 2, 0, x, 1), SHOAL_EINVAL);
}

static void openmp_keeps_its_callers_number_of_threads(void **state)
{
    (void)state;
    omp_set_num_threads(5);
    check_product(false, false, 100, 100, 100, 0);
    assert_int_equal(omp_get_max_threads(), 5);
}

/* ---- exps, the kernel of a softmax --------------------------------------------------- */

static void check_exps(const struct kernel *kernel, size_t n, double spread)
{
    float *x = noise(n), *old = noise(n), *bias = noise(n + 1), top, beyond = x[n];
    double most = -INFINITY, total = 0, sum;

    for (size_t i = 0; i < n; i++) {
        old[i] = x[i] = (float)(x[i] * spread);
        most = fmax(most, (double)(x[i] + bias[i]));
    }
    sum = (double)kernel->exps(x, bias, &top, n);
    assert_true((double)top == most);
    for (size_t i = 0; i < n; i++) {
        double want = exp((double)(old[i] + bias[i]) - most);

        assert_true(fabs(x[i] - want) < 1e-6 * want + 1e-37);
        total += want;
    }
    assert_true(fabs(sum - total) < 1e-5 * total);
    assert_true(x[n] == beyond);
    free(x);
    free(old);
    free(bias);
}

static void exps_of_every_table_agree_with_double(void **state)
{
    static const char *const names[] = {"scalar", "avx2", "avx512"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const struct kernel *kernel;

        if (kernel_find(&kernel, names[i]) != 0)
            continue;
        for (size_t n = 1; n < 70; n++)
            check_exps(kernel, n, 5);
        check_exps(kernel, 1000, 500);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree_with_loops_in_double),
        cmocka_unit_test(a_sum_over_nothing_leaves_beta_c),
        cmocka_unit_test(rows_too_short_are_refused),
        cmocka_unit_test(openmp_keeps_its_callers_number_of_threads),
        cmocka_unit_test(exps_of_every_table_agree_with_double),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
