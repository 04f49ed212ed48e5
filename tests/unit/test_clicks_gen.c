/* data: made-up clicks, whose best log-loss is known. */
#include "sparse/rows.h"

#include <math.h>
#include <setjmp.h>

#include "scratch.h"

#include "clicks.h"

static struct bytes made(const struct shoal_gen_clicks_opts *opts,
                         struct shoal_gen_clicks_stats *stats)
{
    const char *path = scratch_path("made");

    if (shoal_gen_clicks(path, opts, stats) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return scratch_get(path);
}

static void assert_equal_bytes(const struct bytes *a, const struct bytes *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->at, b->at, a->len);
}

static void the_same_seed_gives_the_same_bytes_on_any_threads(void **state)
{
    struct shoal_gen_clicks_opts opts = shoal_gen_clicks_default();
    struct shoal_gen_clicks_stats one_stats, many_stats;
    struct bytes one, many;

    (void)state;
    opts.rows = 10001;
    opts.threads = 1;
    one = made(&opts, &one_stats);
    opts.threads = 3;
    many = made(&opts, &many_stats);
    assert_equal_bytes(&one, &many);
    assert_memory_equal(&one_stats, &many_stats, sizeof one_stats);
    assert_int_equal(one_stats.bytes, one.len);
    bytes_fini(&many);
    opts.seed = 2;
    many = made(&opts, NULL);
    assert_true(many.len != one.len || memcmp(many.at, one.at, one.len) != 0);
    bytes_fini(&many);
    bytes_fini(&one);
}

static void rows_depend_on_their_number_alone(void **state)
{
    struct shoal_gen_clicks_opts opts = shoal_gen_clicks_default();
    struct bytes all, tail;

    (void)state;
    opts.rows = 5000;
    all = made(&opts, NULL);
    opts.rows = 2000;
    opts.first = 3000;
    tail = made(&opts, NULL);
    assert_true(tail.len < all.len);
    assert_memory_equal(all.at + all.len - tail.len, tail.at, tail.len);
    assert_int_equal(all.at[all.len - tail.len - 1], '\n');
    bytes_fini(&all);
    bytes_fini(&tail);
}

static void one_row_in_four_is_a_click(void **state)
{
    struct shoal_gen_clicks_opts opts = shoal_gen_clicks_default();
    struct shoal_gen_clicks_stats stats;

    (void)state;
    for (opts.seed = 1; opts.seed <= 3; opts.seed++) {
        struct bytes b;
        double rate;

        opts.rows = 40000;
        b = made(&opts, &stats);
        rate = (double)stats.positives / (double)stats.rows;
        assert_int_equal(stats.rows, 40000);
        assert_true(rate > 0.235 && rate < 0.265);
        /* Chance: sqrt(0.2 / 40,000) = 0.0022 for one of them. */
        assert_true(fabs(stats.entropy - stats.logloss) < 0.01);
        assert_true(stats.entropy > 0.40 && stats.entropy < 0.50);
        bytes_fini(&b);
    }
}

/* What is written is what is read, and the same in every format. */
static void every_format_holds_the_same_rows(void **state)
{
    struct shoal_gen_clicks_opts opts = shoal_gen_clicks_default();
    struct shoal_clicks_opts read = clicks_opts(SHOAL_CLICKS_AUTO);
    struct shoal_gen_clicks_stats first = {0}, stats;

    (void)state;
    opts.rows = 3000;
    read.bits = 24; /* a few features meet in a slot, others in each format */
    for (opts.format = SHOAL_CLICKS_LIBSVM; opts.format <= SHOAL_CLICKS_CSV; opts.format++) {
        struct bytes b = made(&opts, &stats);
        struct shoal_clicks_stats got;
        shoal_clicks *c = read_clicks(scratch_path("made"), &read, &got);
        static uint64_t features;

        if (opts.format == SHOAL_CLICKS_LIBSVM) {
            first = stats;
            features = got.features;
        }
        assert_int_equal(got.format, opts.format);
        assert_int_equal(got.rows, 3000);
        assert_int_equal(got.positives, stats.positives);
        assert_int_equal(got.values, stats.values);
        assert_in_range(got.features, features - 20, features + 20);
        assert_int_equal(stats.positives, first.positives);
        assert_true(memcmp(&stats.entropy, &first.entropy, sizeof stats.entropy) == 0);
        assert_false(shoal_clicks_counts(c).valued);
        shoal_clicks_close(c);
        bytes_fini(&b);
    }
}

/* ---- what was planted can be learnt ------------------------------------------------------ */

static double predict(const float *w, const uint32_t *slot, size_t n, float bias)
{
    double z = (double)bias;

    for (size_t i = 0; i < n; i++)
        z += (double)w[slot[i]];
    return 1 / (1 + exp(-z));
}

/* One pass of logistic regression with AdaGrad, or of asking. */
static double pass(const char *path, float *w, float *g2, bool learn)
{
    struct shoal_clicks_opts opts = clicks_opts(SHOAL_CLICKS_AUTO);
    struct click_stream *s;
    struct click_rows rows;
    double loss = 0, n = 0;
    float *bias = &w[1 << 20], *bias_g2 = &g2[1 << 20];

    assert_int_equal(click_stream_open(&s, &(struct sources){.paths = &path, .n = 1}, &opts, false),
                     SHOAL_OK);
    while (click_stream_next(s, &rows) == SHOAL_OK && rows.rows > 0) {
        for (size_t r = 0; r < rows.rows; r++, n++) {
            const uint32_t *slot = rows.slot + rows.start[r];
            size_t len = rows.start[r + 1] - rows.start[r];
            double p = predict(w, slot, len, *bias);
            float g = (float)(p - rows.label[r]);

            loss -= log(rows.label[r] ? p : 1 - p);
            for (size_t i = 0; learn && i < len; i++) {
                g2[slot[i]] += g * g;
                w[slot[i]] -= 0.05f * g / sqrtf(g2[slot[i]] + 1);
            }
            *bias_g2 += learn ? g * g : 0;
            *bias -= learn ? 0.05f * g / sqrtf(*bias_g2 + 1) : 0;
        }
    }
    click_stream_close(s);
    return loss / n;
}

static void a_linear_model_learns_what_was_planted(void **state)
{
    struct shoal_gen_clicks_opts opts = shoal_gen_clicks_default();
    struct shoal_gen_clicks_stats stats;
    const char *train = scratch_path("train"), *test = scratch_path("test");
    float *w = calloc((1 << 20) + 1, sizeof *w), *g2 = calloc((1 << 20) + 1, sizeof *g2);
    double loss;

    (void)state;
    opts.rows = 60000;
    assert_int_equal(shoal_gen_clicks(train, &opts, NULL), SHOAL_OK);
    opts.first = opts.rows;
    opts.rows = 20000;
    assert_int_equal(shoal_gen_clicks(test, &opts, &stats), SHOAL_OK);
    pass(train, w, g2, true);
    loss = pass(test, w, g2, false);
    /* Without features 0.5623. Nobody is better than the planted weights. */
    assert_true(loss > stats.logloss);
    assert_true(loss < stats.logloss * 1.06);
    free(w);
    free(g2);
}

static void what_makes_no_sense_is_refused(void **state)
{
    struct shoal_gen_clicks_opts opts = shoal_gen_clicks_default();

    (void)state;
    opts.rows = 0;
    assert_int_equal(shoal_gen_clicks(scratch_path("x"), &opts, NULL), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "clicks: --rows is 0, want 1 to 281474976710656");
    opts.rows = 1;
    opts.first = UINT64_MAX;
    assert_int_equal(shoal_gen_clicks(scratch_path("x"), &opts, NULL), SHOAL_EINVAL);
    opts.first = 0;
    assert_int_equal(shoal_gen_clicks(scratch_path("no/x"), &opts, NULL), SHOAL_EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_bytes_on_any_threads),
        cmocka_unit_test(rows_depend_on_their_number_alone),
        cmocka_unit_test(one_row_in_four_is_a_click),
        cmocka_unit_test(every_format_holds_the_same_rows),
        cmocka_unit_test(a_linear_model_learns_what_was_planted),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
