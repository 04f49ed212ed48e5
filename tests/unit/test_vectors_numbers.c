/* data: vectors_dtype.c and vectors_decimal.c, the numbers of vectors. */
#include "vectors.h"

/* ---- dtypes --------------------------------------------------------------------------- */

static float half_value(uint32_t h)
{
    uint16_t half = (uint16_t)h;
    float x;

    dtype_decode(SHOAL_F16, &half, 1, 1, &x);
    return x;
}

/* The nearest half of x >= 0, the even one of two, by looking at all below. */
static uint16_t half_reference(float x)
{
    uint32_t low = 0, high = 0x7bff;

    while (low < high) {
        uint32_t mid = (low + high + 1) / 2;

        if (half_value(mid) <= x)
            low = mid;
        else
            high = mid - 1;
    }
    double below = (double)x - (double)half_value(low);
    double above = (double)half_value(low + 1) - (double)x;

    if (low == 0x7bff)
        return 0x7bff;
    return (uint16_t)(below < above || (below == above && low % 2 == 0) ? low : low + 1);
}

static void every_half_float_comes_back_and_others_round_to_the_nearest_even(void **state)
{
    struct rng r = {.seed = 3};
    uint16_t half;
    float scale;

    (void)state;
    assert_true(half_value(0x3c00) == 1 && half_value(0x0001) == 0x1p-24f);
    for (uint32_t h = 0; h < 0x10000; h++) {
        float x = half_value(h);

        if ((h & 0x7c00) == 0x7c00)
            continue;
        assert_true(dtype_encode(SHOAL_F16, &x, 1, &half, &scale));
        assert_int_equal(half, h);
    }
    for (uint32_t h = 0; h < 0x7bff; h++) {
        float tie = (half_value(h) + half_value(h + 1)) / 2,
              near[] = {tie, nextafterf(tie, 0), nextafterf(tie, 1e9f)};

        for (int i = 0; i < 3; i++) {
            dtype_encode(SHOAL_F16, &near[i], 1, &half, &scale);
            assert_int_equal(half, half_reference(near[i]));
        }
    }
    for (int i = 0; i < 20000; i++) {
        float x = (float)exp((rng_unit(&r) - 0.6) * 30);

        if (!dtype_encode(SHOAL_F16, &x, 1, &half, &scale))
            assert_true(x >= 65520);
        else
            assert_int_equal(half, half_reference(x));
    }
}

static void brain_floats_round_to_the_nearest_even(void **state)
{
    static const struct {
        float in, out;
    } cases[] = {{1, 1},
                 {0x1.01p0f, 0x1.00p0f},
                 {0x1.010002p0f, 0x1.02p0f},
                 {0x1.03p0f, 0x1.04p0f},
                 {-0x1.03p0f, -0x1.04p0f},
                 {0x1.00fffep0f, 1}};
    uint16_t b;
    float scale, back;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_true(dtype_encode(SHOAL_BF16, &cases[i].in, 1, &b, &scale));
        dtype_decode(SHOAL_BF16, &b, 1, 1, &back);
        assert_true(back == cases[i].out);
    }
    assert_false(dtype_encode(SHOAL_BF16, &(float){FLT_MAX}, 1, &b, &scale));
}

static void int8_is_within_half_a_step_and_zero_rows_stay(void **state)
{
    float in[64] = {0}, back[64], scale;
    int8_t q[64];
    struct rng r = {.seed = 4};

    (void)state;
    assert_true(dtype_encode(SHOAL_INT8, in, 64, q, &scale));
    dtype_decode(SHOAL_INT8, q, scale, 64, back);
    assert_memory_equal(in, back, sizeof in);
    for (int i = 0; i < 64; i++)
        in[i] = (float)rng_unit(&r) - 0.5f;
    assert_true(dtype_encode(SHOAL_INT8, in, 64, q, &scale));
    dtype_decode(SHOAL_INT8, q, scale, 64, back);
    for (int i = 0; i < 64; i++)
        assert_true(fabsf(back[i] - in[i]) <= scale * 0.5001f);
    in[0] = 1e-45f;
    assert_true(dtype_encode(SHOAL_INT8, in, 1, q, &scale));
    assert_true(isfinite(scale));
}

/* ---- decimals ------------------------------------------------------------------------- */

static void assert_reads(const char *text, float want)
{
    const char *end = text + strlen(text);
    float found = 9;

    if (decimal_parse(text, end, &found) != end || memcmp(&found, &want, sizeof want) != 0)
        fail_msg("%s was read as %.9g, want %.9g", text, (double)found, (double)want);
}

static void decimals_are_read_as_strtof_does(void **state)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "1",
        "+1",
        "-1.5",
        ".5",
        "5.",
        "0.1",
        "1e5",
        "1E-5",
        "1e+05",
        "1e-45",
        "7e-46",
        "1e-46",
        "3.4028235e38",
        "3.4028236e38",
        "1e39",
        "1e99999999999",
        "1e-99999999999",
        "16777217",
        "16777217.0000000000000000000001",
        "33554431",
        "9007199254740993",
        "0.000000000000000000000000000000000000011754944",
        "1.00000017881393421514957253748434595763683319091796875001",
        "1.00000017881393432617187499",
        "123456789012345678901234567890",
        "0.12345678901234567",
        "00000000000000000000000000000000000000000000001.25",
        "8.589973e9",
        "5.9604644775390625e-8",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_reads(texts[i], strtof(texts[i], NULL));
}

static void what_is_no_decimal_is_not_read(void **state)
{
    static const char *const texts[] = {"",     "-",     ".",        "e5",    "nan", "inf",
                                        "-inf", "0x1p3", "1,5",      "1.2.3", "1e",  "1e+",
                                        "--1",  "1f",    "infinity", "1_000"};
    float value;

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_null(decimal_parse(texts[i], texts[i] + strlen(texts[i]), &value));
}

static void every_float_is_written_so_that_it_reads_back(void **state)
{
    struct rng r = {.seed = 6};
    char text[DECIMAL_MAX + 1], nine[64];

    (void)state;
    for (int i = 0; i < 300000; i++) {
        uint32_t bits = (uint32_t)rng_next(&r);
        float value;

        memcpy(&value, &bits, sizeof value);
        if (i % 3 == 0)
            value = (float)(rng_unit(&r) - 0.5);
        if (i % 3 == 1)
            value = (float)(int)(rng_unit(&r) * 1e6 - 5e5) / 1e5f;
        if (!isfinite(value))
            continue;
        text[decimal_format(text, value)] = '\0';
        snprintf(nine, sizeof nine, "%.9g", (double)value);
        assert_true(strlen(text) <= strlen(nine));
        assert_reads(text, value);
        if (strtof(text, NULL) != value)
            fail_msg("%s is not %s", text, nine);
    }
}

static void decimals_are_short(void **state)
{
    static const struct {
        float value;
        const char *text;
    } cases[] = {{0, "0"},
                 {-0.0f, "-0"},
                 {0.1f, "0.1"},
                 {-0.418f, "-0.418"},
                 {100, "100"},
                 {1e9f, "1e+09"},
                 {1e8f, "100000000"},
                 {0.0001f, "0.0001"},
                 {1e-5f, "1e-05"},
                 {999999.94f, "999999.94"},
                 {0.99999994f, "0.99999994"},
                 {3.5f, "3.5"}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[DECIMAL_MAX + 1];

        text[decimal_format(text, cases[i].value)] = '\0';
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(every_half_float_comes_back_and_others_round_to_the_nearest_even),
        HERE(brain_floats_round_to_the_nearest_even),
        HERE(int8_is_within_half_a_step_and_zero_rows_stay),
        HERE(decimals_are_read_as_strtof_does),
        HERE(what_is_no_decimal_is_not_read),
        HERE(every_float_is_written_so_that_it_reads_back),
        HERE(decimals_are_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
