/* Convolutions against the sum that defines them, and the kernels of feature maps
 * against each other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/conv.h"

#include <stdlib.h>
#include <string.h>

/* ---- by definition ---- */

/* y[n][h][w][out] = sum over in and taps of x w, all in double. */
static double pixel_of(const struct conv *c, const float *x, size_t n, size_t i, size_t y,
                       size_t xx)
{
    if (y >= c->height || xx >= c->width)
        return 0;
    return c->how == CONV_COLUMNS ? (double)x[((n * c->in + i) * c->height + y) * c->width + xx]
                                  : (double)x[((n * c->height + y) * c->width + xx) * c->in + i];
}

static void plain_forward(const struct conv *c, const float *w, const float *x, size_t n, double *y)
{
    for (size_t p = 0; p < n * c->height * c->width; p++)
        for (size_t o = 0; o < c->out; o++) {
            size_t b = p / (c->height * c->width), row = p / c->width % c->height;
            double sum = 0;

            for (size_t i = 0; i < c->in; i++)
                for (size_t t = 0; t < 9; t++)
                    sum += (double)w[(o * c->in + i) * 9 + t] *
                           pixel_of(c, x, b, i, row + t / 3 - 1, p % c->width + t % 3 - 1);
            y[p * c->out + o] = sum;
        }
}

static void plain_backward(const struct conv *c, const float *w, const float *x, size_t n,
                           const float *dy, double *dx, double *dw)
{
    for (size_t p = 0; p < n * c->height * c->width; p++)
        for (size_t o = 0; o < c->out; o++) {
            size_t b = p / (c->height * c->width), row = p / c->width % c->height;
            double g = (double)dy[p * c->out + o];

            for (size_t i = 0; i < c->in; i++)
                for (size_t t = 0; t < 9; t++) {
                    size_t y = row + t / 3 - 1, xx = p % c->width + t % 3 - 1;

                    dw[(o * c->in + i) * 9 + t] += g * pixel_of(c, x, b, i, y, xx);
                    if (y < c->height && xx < c->width)
                        dx[((b * c->height + y) * c->width + xx) * c->in + i] +=
                            g * (double)w[(o * c->in + i) * 9 + t];
                }
        }
}

/* ---- one convolution with all it needs ---- */

struct fixture {
    struct conv conv;
    struct conv_work work;
    size_t n, inputs, outputs, weights;
    float *x, *w, *u, *y, *dw, *moments;
    double *want_y, *want_dx, *want_dw;
};

static float *random_floats(size_t n, uint64_t seed)
{
    float *x = calloc(n ? n : 1, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = (float)((double)(rng_at(seed, 1, i) >> 40) / (double)(1 << 24) - 0.5);
    return x;
}

static float *zeros(size_t n)
{
    return mem_array(n, sizeof(float));
}

static void fixture_init(struct fixture *f, size_t in, size_t out, size_t height, size_t width,
                         size_t n, unsigned threads, const struct kernel_tiles *tiles)
{
    const struct kernel *kernel;
    struct conv_sizes s;

    *f = (struct fixture){.n = n};
    assert_int_equal(kernel_choose(&kernel), SHOAL_OK);
    conv_init(&f->conv, in, out, height, width);
    s = conv_sizes(&f->conv, n, tiles != NULL);
    assert_int_equal(workers_new(&f->work.workers, threads), SHOAL_OK);
    f->work.maps = kernel_maps_of(kernel);
    f->work.tiles = tiles;
    f->work.v = zeros(s.v);
    f->work.m = zeros(s.m);
    f->work.du = zeros(s.du);
    f->work.columns_size = s.columns;
    f->work.columns = zeros(s.columns * threads);
    f->inputs = n * height * width * in;
    f->outputs = n * height * width * out;
    f->weights = out * in * 9;
    f->x = random_floats(f->inputs, 1);
    f->w = random_floats(f->weights, 2);
    f->u = zeros(s.u);
    f->y = zeros(f->outputs);
    f->dw = zeros(f->weights);
    f->moments = zeros(n * 2 * out);
    f->want_y = mem_array(f->outputs, sizeof(double));
    f->want_dx = mem_array(f->inputs, sizeof(double));
    f->want_dw = mem_array(f->weights, sizeof(double));
}

static void fixture_fini(struct fixture *f)
{
    float *all[] = {f->x,       f->w,      f->u,      f->y,       f->dw,
                    f->moments, f->work.v, f->work.m, f->work.du, f->work.columns};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(f->want_y);
    free(f->want_dx);
    free(f->want_dw);
    workers_free(f->work.workers);
}

static const float *passed_weights(const struct fixture *f)
{
    return f->conv.how == CONV_COLUMNS ? f->w : f->u;
}

/* Within 1e-5 of the greatest. */
static void assert_near(const float *found, const double *want, size_t n)
{
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(want[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)found[i] - want[i]) <= 2e-5 * most))
            fail_msg("number %zu of %zu is %g, want %g", i, n, (double)found[i], want[i]);
}

static void check_moments(const struct fixture *f)
{
    const struct conv *c = &f->conv;
    size_t pixels = c->height * c->width;

    for (size_t i = 0; i < f->n * c->out; i++) {
        size_t b = i / c->out, o = i % c->out;
        double sum = 0, squares = 0;

        for (size_t p = 0; p < pixels; p++) {
            double y = f->want_y[(b * pixels + p) * c->out + o];

            sum += y;
            squares += y * y;
        }
        assert_true(fabs((double)f->moments[b * 2 * c->out + o] - sum) < 1e-3 * (1 + fabs(sum)));
        assert_true(fabs((double)f->moments[b * 2 * c->out + c->out + o] - squares) <
                    1e-3 * (1 + squares));
    }
}

static void check_conv(size_t in, size_t out, size_t height, size_t width, size_t n,
                       enum conv_how how)
{
    struct fixture f;

    fixture_init(&f, in, out, height, width, n, 2, NULL);
    assert_int_equal(f.conv.how, how);
    plain_forward(&f.conv, f.w, f.x, n, f.want_y);
    conv_prepare(&f.work, &f.conv, f.w, f.u);
    assert_int_equal(conv_forward(&f.work, &f.conv, passed_weights(&f), f.x, n, f.y, f.moments),
                     SHOAL_OK);
    assert_near(f.y, f.want_y, f.outputs);
    check_moments(&f);
    /* Any numbers will do for the gradient by y; these are there. */
    plain_backward(&f.conv, f.w, f.x, n, f.y, f.want_dx, f.want_dw);
    assert_int_equal(conv_backward(&f.work, &f.conv, passed_weights(&f), f.x, n, f.y, f.dw),
                     SHOAL_OK);
    assert_near(f.dw, f.want_dw, f.weights);
    if (how != CONV_COLUMNS)
        assert_near(f.x, f.want_dx, f.inputs);
    fixture_fini(&f);
}

static void few_channels_go_by_columns(void **state)
{
    (void)state;
    check_conv(3, 16, 5, 7, 3, CONV_COLUMNS);
    check_conv(1, 32, 8, 8, 20, CONV_COLUMNS);
    check_conv(2, 16, 1, 1, 2, CONV_COLUMNS);
    check_conv(1, 16, 3, 1, 2, CONV_COLUMNS);
    check_conv(1, 16, 40, 40, 1, CONV_COLUMNS); /* more than one block of columns */
}

static void large_maps_go_by_tiles(void **state)
{
    (void)state;
    check_conv(16, 16, 4, 4, 3, CONV_TILES);
    check_conv(16, 32, 8, 8, 2, CONV_TILES);
    check_conv(32, 16, 5, 7, 2, CONV_TILES);
    check_conv(16, 16, 14, 6, 1, CONV_TILES);
}

static void small_maps_go_by_taps(void **state)
{
    (void)state;
    check_conv(16, 16, 2, 2, 3, CONV_TAPS);
    check_conv(16, 32, 1, 1, 3, CONV_TAPS);
    check_conv(32, 16, 3, 3, 2, CONV_TAPS);
    check_conv(16, 272, 2, 3, 2, CONV_TAPS); /* more than one block of channels */
}

static void a_batch_of_several_chunks_is_one_batch(void **state)
{
    (void)state;
    check_conv(16, 16, 32, 4, 150, CONV_TILES); /* 8 tiles each, 1024 at once */
}

static void the_result_does_not_depend_on_the_threads(void **state)
{
    struct fixture f[3];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        fixture_init(&f[i], 16, 32, 6, 6, 5, (unsigned)i + 1, NULL);
        conv_prepare(&f[i].work, &f[i].conv, f[i].w, f[i].u);
        assert_int_equal(
            conv_forward(&f[i].work, &f[i].conv, f[i].u, f[i].x, 5, f[i].y, f[i].moments),
            SHOAL_OK);
        assert_int_equal(conv_backward(&f[i].work, &f[i].conv, f[i].u, f[i].x, 5, f[i].y, f[i].dw),
                         SHOAL_OK);
        assert_memory_equal(f[i].y, f[0].y, f[0].outputs * sizeof(float));
        assert_memory_equal(f[i].x, f[0].x, f[0].inputs * sizeof(float));
        assert_memory_equal(f[i].dw, f[0].dw, f[0].weights * sizeof(float));
    }
    for (size_t i = 0; i < 3; i++)
        fixture_fini(&f[i]);
}

static void no_pictures_have_no_gradient(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, 16, 16, 4, 4, 1, 1, NULL);
    f.dw[0] = 5;
    assert_int_equal(conv_backward(&f.work, &f.conv, f.u, f.x, 0, f.y, f.dw), SHOAL_OK);
    assert_true(f.dw[0] == 0);
    fixture_fini(&f);
}

/* ---- in bfloat16 ---- */

/* To what bfloat16 holds exactly, so that nothing is lost but in sums. */
static void round_all(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = ldexpf(rintf(ldexpf(x[i], 7)), -7);
}

static void check_bf16(const struct kernel_tiles *tiles, size_t in, size_t out, size_t height,
                       size_t width, size_t n)
{
    struct fixture f;

    fixture_init(&f, in, out, height, width, n, 2, tiles);
    round_all(f.x, f.inputs);
    round_all(f.w, f.weights);
    plain_forward(&f.conv, f.w, f.x, n, f.want_y);
    conv_prepare(&f.work, &f.conv, f.w, f.u);
    assert_int_equal(conv_forward(&f.work, &f.conv, f.u, f.x, n, f.y, f.moments), SHOAL_OK);
    assert_near(f.y, f.want_y, f.outputs);
    check_moments(&f);
    for (size_t i = 0; i < f.outputs; i++)
        f.y[i] = fminf(fmaxf(f.y[i], -0.5f), 0.5f);
    round_all(f.y, f.outputs);
    plain_backward(&f.conv, f.w, f.x, n, f.y, f.want_dx, f.want_dw);
    assert_int_equal(conv_backward(&f.work, &f.conv, f.u, f.x, n, f.y, f.dw), SHOAL_OK);
    assert_near(f.dw, f.want_dw, f.weights);
    assert_near(f.x, f.want_dx, f.inputs);
    fixture_fini(&f);
}

static void check_all_bf16(const struct kernel_tiles *tiles)
{
    check_bf16(tiles, 16, 16, 4, 4, 3);
    check_bf16(tiles, 32, 64, 3, 2, 33); /* a group of 32, and one picture more */
    check_bf16(tiles, 48, 16, 1, 1, 17);
    check_bf16(tiles, 16, 80, 2, 2, 16);
    check_bf16(tiles, 64, 32, 5, 7, 1);
    check_bf16(tiles, 16, 32, 6, 6, 300); /* more steps than one product has */
}

static void bf16_is_the_same_convolution_of_rounded_numbers(void **state)
{
    (void)state;
    check_all_bf16(&kernel_tiles_scalar);
}

/* The table, or NULL: the caller skips. */
static const struct kernel_tiles *amx(void)
{
    const struct kernel_tiles *tiles;

    if (getenv("SHOAL_ISA") || kernel_tiles_choose(&tiles) != SHOAL_OK) {
        print_message("no AMX here: %s\n", shoal_error());
        return NULL;
    }
    return tiles;
}

static void so_it_is_by_amx(void **state)
{
    (void)state;
    if (!amx())
        skip();
    check_all_bf16(amx());
}

/* Within a rounding of each factor to 8 bits. */
static void bf16_is_near_to_floats(void **state)
{
    struct fixture f, g;
    double apart = 0, all = 0;

    (void)state;
    fixture_init(&f, 32, 32, 4, 4, 5, 1, NULL);
    fixture_init(&g, 32, 32, 4, 4, 5, 1, amx() ? amx() : &kernel_tiles_scalar);
    for (struct fixture *each = &f; each; each = each == &f ? &g : NULL) {
        conv_prepare(&each->work, &each->conv, each->w, each->u);
        assert_int_equal(conv_forward(&each->work, &each->conv, each->u, each->x, 5, each->y, NULL),
                         SHOAL_OK);
    }
    for (size_t i = 0; i < f.outputs; i++) {
        apart += pow((double)(f.y[i] - g.y[i]), 2);
        all += pow((double)f.y[i], 2);
    }
    assert_true(sqrt(apart / all) < 1.0 / 256);
    assert_true(apart > 0);
    fixture_fini(&f);
    fixture_fini(&g);
}

/* ---- normalising, rectifying, pooling ---- */

enum { SIDE = 5, CHANNELS = 32, PIXELS = SIDE * SIDE * CHANNELS };

struct normed {
    float *y, *scale, *shift, *mean, *slope, *base, *g;
    struct kernel_norm norm;
    struct kernel_map map;
};

static void normed_init(struct normed *t)
{
    t->y = random_floats(PIXELS, 3);
    t->scale = random_floats(CHANNELS, 4);
    t->shift = random_floats(CHANNELS, 5);
    t->mean = random_floats(CHANNELS, 6);
    t->slope = random_floats(CHANNELS, 7);
    t->base = random_floats(CHANNELS, 8);
    t->g = random_floats(PIXELS, 9);
    t->norm = (struct kernel_norm){t->scale, t->shift, t->mean, t->slope, t->base};
    t->map = (struct kernel_map){SIDE, SIDE, CHANNELS, t->y};
    t->y[CHANNELS] = t->y[0]; /* two that are equal: the first gets the gradient */
}

static void normed_fini(struct normed *t)
{
    float *all[] = {t->y, t->scale, t->shift, t->mean, t->slope, t->base, t->g};

    for (size_t i = 0; i < 7; i++)
        free(all[i]);
}

/* What z's gradient is, by definition; pooled: only the first greatest of 2x2. */
static void plain_gradient(const struct normed *t, bool pool, float *d)
{
    memset(d, 0, PIXELS * sizeof *d);
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < (pool ? SIDE / 2 : SIDE); i++)
            for (size_t j = 0; j < (pool ? SIDE / 2 : SIDE); j++) {
                size_t best = 0, window = pool ? 4 : 1, wide = pool ? SIDE / 2 : SIDE;
                float most = 0;

                for (size_t k = 0; k < window; k++) {
                    size_t y = pool ? 2 * i + k / 2 : i, x = pool ? 2 * j + k % 2 : j;
                    size_t at = (y * SIDE + x) * CHANNELS + c;
                    float z = t->scale[c] * t->y[at] + t->shift[c];

                    if (z > most) {
                        most = z;
                        best = at + 1;
                    }
                }
                if (best > 0)
                    d[best - 1] = t->g[(i * wide + j) * CHANNELS + c];
            }
}

static void check_back(const struct kernel_maps *maps, bool pool)
{
    struct normed t;
    float d[PIXELS], sum[CHANNELS], dots[CHANNELS], *y;

    normed_init(&t);
    plain_gradient(&t, pool, d);
    y = random_floats(PIXELS, 3);
    y[CHANNELS] = y[0];
    (pool ? maps->back_sums_pool : maps->back_sums)(sum, dots, &t.map, t.g, &t.norm);
    (pool ? maps->back_apply_pool : maps->back_apply)(&t.map, t.g, &t.norm);
    for (size_t c = 0; c < CHANNELS; c++) {
        double want = 0, want_dots = 0;

        for (size_t p = 0; p < SIDE * SIDE; p++) {
            size_t at = p * CHANNELS + c;
            float back = t.scale[c] * d[at] + t.slope[c] * (y[at] - t.mean[c]) + t.base[c];

            want += (double)d[at];
            want_dots += (double)d[at] * (double)(y[at] - t.mean[c]);
            assert_true(fabsf(t.y[at] - back) < 1e-6f);
        }
        assert_true(fabs((double)sum[c] - want) < 1e-5);
        assert_true(fabs((double)dots[c] - want_dots) < 1e-5);
    }
    free(y);
    normed_fini(&t);
}

static void check_rectify(const struct kernel_maps *maps)
{
    struct normed t;
    float out[PIXELS], pooled[PIXELS];

    normed_init(&t);
    maps->rectify(out, &t.map, &t.norm);
    maps->rectify_pool(pooled, &t.map, &t.norm);
    for (size_t i = 0; i < PIXELS; i++) {
        float z = t.scale[i % CHANNELS] * t.y[i] + t.shift[i % CHANNELS];

        assert_true(fabsf(out[i] - fmaxf(z, 0)) < 1e-6f);
    }
    for (size_t p = 0; p < (SIDE / 2) * (SIDE / 2) * CHANNELS; p++) {
        size_t c = p % CHANNELS, j = p / CHANNELS % (SIDE / 2), i = p / CHANNELS / (SIDE / 2);
        const float *at = out + (2 * i * SIDE + 2 * j) * CHANNELS + c;
        float want = fmaxf(fmaxf(at[0], at[CHANNELS]),
                           fmaxf(at[SIDE * CHANNELS], at[(SIDE + 1) * CHANNELS]));

        assert_true(pooled[p] == want);
    }
    normed_fini(&t);
}

static void every_instruction_set_rectifies_and_pools(void **state)
{
    const char *const names[] = {"scalar", "avx2", "avx512"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const struct kernel *kernel;

        if (kernel_find(&kernel, names[i]) != SHOAL_OK)
            continue;
        check_rectify(kernel_maps_of(kernel));
        check_back(kernel_maps_of(kernel), false);
        check_back(kernel_maps_of(kernel), true);
    }
}

/* Each transform and its transpose: <T x, y> = <x, T' y>. */
static void check_transposes(const struct kernel_maps *maps)
{
    enum { LANES = KERNEL_LANES };
    float *x = random_floats(6 * 6 * LANES, 1), *v = random_floats(36 * LANES, 2);
    float *w = random_floats(9 * LANES, 3), *tx = zeros(36 * LANES), *tv = zeros(36 * LANES);
    float *tw = zeros(9 * LANES);
    struct kernel_map in = {6, 6, LANES, x}, back = {6, 6, LANES, tv};
    double a = 0, b = 0;

    maps->tile_in(&in, 1, 1, tx, LANES);
    maps->tile_add(&back, 1, 1, v, LANES);
    for (size_t i = 0; i < 36 * LANES; i++) {
        a += (double)tx[i] * (double)v[i];
        b += (double)x[i] * (double)tv[i];
    }
    assert_true(fabs(a - b) < 1e-3);
    maps->weights_in(tx, LANES, w, LANES);
    maps->weights_out(tw, v, LANES, LANES);
    a = b = 0;
    for (size_t i = 0; i < 36 * LANES; i++)
        a += (double)tx[i] * (double)v[i];
    for (size_t i = 0; i < 9 * LANES; i++)
        b += (double)w[i] * (double)tw[i];
    assert_true(fabs(a - b) < 1e-3);
    free(x), free(v), free(w), free(tx), free(tv), free(tw);
}

static void gradients_go_back_by_the_transposed_transforms(void **state)
{
    const char *const names[] = {"scalar", "avx2", "avx512"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const struct kernel *kernel;

        if (kernel_find(&kernel, names[i]) == SHOAL_OK)
            check_transposes(kernel_maps_of(kernel));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_channels_go_by_columns),
        cmocka_unit_test(large_maps_go_by_tiles),
        cmocka_unit_test(small_maps_go_by_taps),
        cmocka_unit_test(a_batch_of_several_chunks_is_one_batch),
        cmocka_unit_test(the_result_does_not_depend_on_the_threads),
        cmocka_unit_test(no_pictures_have_no_gradient),
        cmocka_unit_test(bf16_is_the_same_convolution_of_rounded_numbers),
        cmocka_unit_test(so_it_is_by_amx),
        cmocka_unit_test(bf16_is_near_to_floats),
        cmocka_unit_test(every_instruction_set_rectifies_and_pools),
        cmocka_unit_test(gradients_go_back_by_the_transposed_transforms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
