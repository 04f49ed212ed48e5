/* base: failures, memory, random numbers, threads, the clock. */
#include "base/base.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Tests below ask for more than there is: a sanitizer shall then return NULL,
 * as malloc does, and not end the program. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* ---- err.c ---------------------------------------------------------------------- */

static void a_failure_keeps_its_code_and_sentence(void **state)
{
    (void)state;
    assert_int_equal(shoal_fail(SHOAL_ELIMIT, "x: found %d, want %d", 3, 2), SHOAL_ELIMIT);
    assert_string_equal(shoal_error(), "x: found 3, want 2");
}

static void a_failure_may_quote_the_one_before(void **state)
{
    (void)state;
    shoal_fail(SHOAL_EIO, "disk");
    shoal_fail(SHOAL_EIO, "rank 3: %s", shoal_error());
    assert_string_equal(shoal_error(), "rank 3: disk");
}

static void a_failure_of_the_system_ends_in_errnos_words(void **state)
{
    (void)state;
    errno = EACCES;
    assert_int_equal(shoal_fail_errno(SHOAL_EIO, "x"), SHOAL_EIO);
    assert_string_equal(shoal_error(), "x: Permission denied");
}

static void a_sentence_has_nothing_that_a_terminal_obeys(void **state)
{
    (void)state;
    shoal_fail(SHOAL_EINVAL, "a\033[2Jb\nc\x7f\xc2\x9b d\xe2\x80\xae\xe2\x81\xa6 e");
    assert_string_equal(shoal_error(), "a?[2Jb?c?? d?? e");
    shoal_fail(SHOAL_EINVAL, "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\x9f \xc2\xa0");
    assert_string_equal(shoal_error(), "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\x9f \xc2\xa0");
    shoal_fail(SHOAL_EINVAL, "\xff\x80 \xc3 \xe2\x82 \xc0\x80 \xf0\x9f");
    assert_string_equal(shoal_error(), "\ufffd\ufffd \ufffd \ufffd\ufffd \ufffd\ufffd \ufffd\ufffd");
}

static void an_endless_sentence_is_cut(void **state)
{
    char *words = malloc(5000);

    (void)state;
    memset(words, 'a', 4999);
    words[4999] = '\0';
    errno = ENOSPC;
    shoal_fail_errno(SHOAL_EIO, "%s", words);
    assert_in_range(strlen(shoal_error()), 500, 4000);
    free(words);
}

static void every_status_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(shoal_status_name(SHOAL_OK), "OK");
    assert_string_equal(shoal_status_name(SHOAL_ESTOP), "ESTOP");
    assert_string_equal(shoal_status_name((shoal_status)-99), "?");
}

/* ---- mem.c ---------------------------------------------------------------------- */

/* How many characters digits take, and what they say; 0: they say nothing. */
static size_t digits_of(const char *text, uint64_t *value)
{
    const char *end = number_digits(text, text + strlen(text), value);

    return end ? (size_t)(end - text) : 0;
}

static void digits_are_read_as_far_as_they_go(void **state)
{
    uint64_t x;

    (void)state;
    assert_int_equal(digits_of("18446744073709551615", &x), 20);
    assert_true(x == UINT64_MAX);
    assert_int_equal(digits_of("007 rest", &x), 3);
    assert_int_equal(x, 7);
    assert_int_equal(digits_of("18446744073709551616", &x), 0);
    assert_int_equal(digits_of("99999999999999999999", &x), 0);
    assert_int_equal(digits_of("", &x), 0);
    assert_int_equal(digits_of("-1", &x), 0);
    assert_int_equal(digits_of(" 1", &x), 0);
}

static void lines_end_at_newlines_or_with_the_text(void **state)
{
    static const char text[] = "one\n\nthree\r\nlast";
    static const size_t lens[] = {3, 0, 6, 4};
    const char *at = text, *end = text + sizeof text - 1, *line;
    size_t n = 0, len;

    (void)state;
    for (; line_next(&at, end, &line, &len); n++)
        assert_int_equal(len, lens[n]);
    assert_int_equal(n, 4);
    assert_ptr_equal(at, end);
    at = text;
    assert_true(line_next(&at, text + 4, &line, &len));
    assert_ptr_equal(line, text);
    assert_false(line_next(&at, text + 4, &line, &len)); /* a newline at the end begins no line */
    assert_false(line_next(&at, at, &line, &len));
}

static void an_array_is_zeroed_and_never_null_for_nothing(void **state)
{
    uint32_t *a = mem_array(100, sizeof *a);
    void *none = mem_array(0, 8);

    (void)state;
    assert_non_null(a);
    assert_non_null(none);
    for (int i = 0; i < 100; i++)
        assert_int_equal(a[i], 0);
    free(a);
    free(none);
}

static void an_array_whose_size_overflows_is_refused(void **state)
{
    volatile size_t huge = SIZE_MAX / 4;

    (void)state;
    assert_null(mem_array(huge, 8));
    assert_non_null(strstr(shoal_error(), "memory: no room"));
}

static void growing_keeps_what_was_there(void **state)
{
    void *at = NULL;
    size_t cap = 0;

    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(mem_grow(&at, &cap, i + 1, sizeof(size_t)), SHOAL_OK);
        assert_true(cap >= i + 1);
        ((size_t *)at)[i] = i;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(((size_t *)at)[i], i);
    assert_true(cap < 2000);
    free(at);
}

static void growing_to_what_fits_changes_nothing(void **state)
{
    void *at = NULL;
    size_t cap = 0;
    void *before;

    (void)state;
    assert_int_equal(mem_grow(&at, &cap, 10, 4), SHOAL_OK);
    before = at;
    assert_int_equal(mem_grow(&at, &cap, cap, 4), SHOAL_OK);
    assert_ptr_equal(at, before);
    free(at);
}

static void growing_beyond_all_bounds_fails_and_keeps_the_old(void **state)
{
    void *at = NULL;
    size_t cap = 0, before;

    (void)state;
    assert_int_equal(mem_grow(&at, &cap, 16, 8), SHOAL_OK);
    before = cap;
    memset(at, 7, 128);
    assert_int_equal(mem_grow(&at, &cap, SIZE_MAX / 2, 8), SHOAL_ENOMEM);
    assert_int_equal(cap, before);
    assert_int_equal(((char *)at)[127], 7);
    free(at);
}

static void bytes_are_joined_in_order(void **state)
{
    struct bytes b = {0};

    (void)state;
    assert_int_equal(bytes_add(&b, "", 0), SHOAL_OK);
    assert_int_equal(bytes_add(&b, "shoal", 5), SHOAL_OK);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(bytes_add(&b, "xyz", 3), SHOAL_OK);
    assert_int_equal(b.len, 30005);
    assert_memory_equal(b.at, "shoalxyz", 8);
    assert_memory_equal(b.at + 30002, "xyz", 3);
    bytes_fini(&b);
    assert_null(b.at);
    assert_int_equal(b.len + b.cap, 0);
}

static void bytes_beyond_all_bounds_are_refused(void **state)
{
    struct bytes b = {0};

    (void)state;
    assert_int_equal(bytes_add(&b, "a", 1), SHOAL_OK);
    assert_int_equal(bytes_reserve(&b, SIZE_MAX), SHOAL_ENOMEM);
    assert_int_equal(bytes_reserve(&b, SIZE_MAX - 1), SHOAL_ENOMEM);
    assert_int_equal(b.len, 1);
    assert_int_equal(b.at[0], 'a');
    bytes_fini(&b);
}

static void mapped_pages_are_zeroed_and_aligned(void **state)
{
    size_t size = (size_t)5 << 20;
    char *at = mem_map(size);

    (void)state;
    assert_non_null(at);
    assert_int_equal((uintptr_t)at % 64, 0);
    assert_int_equal(at[0] | at[size / 2] | at[size - 1], 0);
    mem_unmap(at, size);
    mem_unmap(NULL, size);
}

static void some_memory_is_free_and_some_was_used(void **state)
{
    (void)state;
    assert_true(mem_available() > 0);
    assert_true(mem_peak() > 100000);
}

/* ---- rng.c ---------------------------------------------------------------------- */

static void random_numbers_never_change(void **state)
{
    (void)state;
    /* From a second implementation, in Python. */
    assert_true(rng_at(0, 0, 0) == 0x48294f70ccf5e4fcu);
    assert_true(rng_at(0, 0, 1) == 0x346dbc0b5711d830u);
    assert_true(rng_at(1, 0, 0) == 0x39b4332fd4168839u);
    assert_true(rng_at(0, 1, 0) == 0x6015c901a4aa94e4u);
    assert_true(rng_at(42, 7, 1000000) == 0xe8ce647dcad4b98au);
    assert_true(rng_at(UINT64_MAX, UINT64_MAX, UINT64_MAX) == 0xe3a1cc2d4d1208a2u);
}

static void a_generator_walks_the_indices(void **state)
{
    struct rng r = {.seed = 5, .stream = 6};

    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        assert_true(rng_next(&r) == rng_at(5, 6, i));
}

/* Sum over k bins of (seen - want)^2 / want; about k, with deviation sqrt(2k). */
static double chi_square(const unsigned *seen, size_t bins, double want)
{
    double sum = 0;

    for (size_t i = 0; i < bins; i++)
        sum += (seen[i] - want) * (seen[i] - want) / want;
    return sum;
}

static void numbers_below_n_are_all_equally_likely(void **state)
{
    struct rng r = {.seed = 1};
    unsigned seen[100] = {0};

    (void)state;
    for (int i = 0; i < 1000000; i++) {
        uint64_t x = rng_below(&r, 100);

        assert_true(x < 100);
        seen[x]++;
    }
    assert_true(chi_square(seen, 100, 10000) < 100 + 5 * sqrt(200));
}

static void below_one_there_is_only_zero(void **state)
{
    struct rng r = {.seed = 1};

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(rng_below(&r, 1), 0);
}

static void unit_numbers_lie_in_the_unit_and_average_one_half(void **state)
{
    struct rng r = {.seed = 2};
    double sum = 0, squares = 0;
    int n = 1000000;

    (void)state;
    for (int i = 0; i < n; i++) {
        double x = rng_unit(&r);

        assert_true(x >= 0 && x < 1);
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / n - 0.5) < 5 * sqrt(1.0 / 12 / n));
    assert_true(fabs(squares / n - 1.0 / 3) < 0.002);
}

/* Half of all 64 bits should differ, whichever word was stepped. */
static double mean_difference(uint64_t seed, uint64_t stream, uint64_t index)
{
    double bits = 0;

    for (uint64_t i = 0; i < 10000; i++)
        bits += __builtin_popcountll(rng_at(i, i, i) ^ rng_at(i + seed, i + stream, i + index));
    return bits / 10000;
}

static void neighbouring_seeds_streams_and_indices_are_unrelated(void **state)
{
    (void)state;
    assert_true(fabs(mean_difference(1, 0, 0) - 32) < 0.2);
    assert_true(fabs(mean_difference(0, 1, 0) - 32) < 0.2);
    assert_true(fabs(mean_difference(0, 0, 1) - 32) < 0.2);
}

/* ---- pool.c ---------------------------------------------------------------------- */

static shoal_status mark(void *ctx, unsigned index)
{
    atomic_fetch_add(&((atomic_uint *)ctx)[index], 1);
    return SHOAL_OK;
}

static void every_index_runs_once(void **state)
{
    atomic_uint runs[64] = {0};

    (void)state;
    assert_int_equal(pool_run(64, mark, runs), SHOAL_OK);
    for (int i = 0; i < 64; i++)
        assert_int_equal(runs[i], 1);
}

static shoal_status fail_from(void *ctx, unsigned index)
{
    unsigned first = *(unsigned *)ctx;

    return index < first ? SHOAL_OK
                         : shoal_fail(SHOAL_EFORMAT, "worker %u: found %u", index, index * 10);
}

static void the_failure_of_the_lowest_index_is_forwarded_with_its_sentence(void **state)
{
    unsigned first = 3;

    (void)state;
    assert_int_equal(pool_run(8, fail_from, &first), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "worker 3: found 30");
    first = 0;
    assert_int_equal(pool_run(1, fail_from, &first), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "worker 0: found 0");
}

struct in_order {
    struct ordered ordered;
    uint64_t done[256], ndone, fails;
};

static shoal_status note_in_order(void *ctx, unsigned index)
{
    struct in_order *o = ctx;
    uint64_t seq;
    shoal_status st = SHOAL_OK;

    (void)index;
    while (st == SHOAL_OK && (seq = ordered_claim(&o->ordered)) < 256) {
        if (!ordered_begin(&o->ordered, seq))
            break;
        o->done[o->ndone++] = seq;
        st = seq == o->fails ? shoal_fail(SHOAL_EIO, "x") : SHOAL_OK;
        ordered_end(&o->ordered, st);
    }
    return st;
}

static void what_threads_finish_keeps_its_order_and_ends_at_a_failure(void **state)
{
    (void)state;
    for (uint64_t fails = 100; fails <= 300; fails += 200) {
        struct in_order o = {.fails = fails};

        ordered_init(&o.ordered);
        assert_int_equal(pool_run(4, note_in_order, &o), fails < 256 ? SHOAL_EIO : SHOAL_OK);
        ordered_fini(&o.ordered);
        assert_int_equal(o.ndone, fails < 256 ? fails + 1 : 256);
        for (uint64_t i = 0; i < o.ndone; i++)
            assert_int_equal(o.done[i], i);
    }
}

static void no_count_means_every_core(void **state)
{
    (void)state;
    assert_true(pool_threads(0) >= 1);
    assert_int_equal(pool_threads(7), 7);
}

/* ---- clock.c ---------------------------------------------------------------------- */

static void the_clock_never_goes_back(void **state)
{
    double last = clock_now();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        double now = clock_now();

        assert_true(now >= last);
        last = now;
    }
}

struct seen {
    int calls;
    struct shoal_progress last;
    bool go_on;
};

static bool look(void *user, const struct shoal_progress *progress)
{
    struct seen *seen = user;

    seen->calls++;
    seen->last = *progress;
    return seen->go_on;
}

static void a_watch_is_called_seldom_but_always_at_the_end(void **state)
{
    struct seen seen = {.go_on = true};
    struct shoal_watch watch = {look, &seen};
    struct pulse p;

    (void)state;
    pulse_begin(&p, &watch, "count", "bytes", 1000);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(pulse_at(&p, i), SHOAL_OK);
    assert_in_range(seen.calls, 1, 100);
    assert_int_equal(pulse_end(&p, 1000), SHOAL_OK);
    assert_int_equal(seen.last.done, 1000);
    assert_int_equal(seen.last.total, 1000);
    assert_string_equal(seen.last.phase, "count");
}

static void a_watch_that_says_no_stops_the_work(void **state)
{
    struct seen seen = {.go_on = false};
    struct shoal_watch watch = {look, &seen};
    struct pulse p;

    (void)state;
    pulse_begin(&p, &watch, "encode", "words", 0);
    assert_int_equal(pulse_at(&p, 1), SHOAL_ESTOP);
    assert_string_equal(shoal_error(), "encode: stopped on request");
}

static void nobody_need_watch(void **state)
{
    struct shoal_watch watch = {0};
    struct pulse p;

    (void)state;
    pulse_begin(&p, &watch, "count", "bytes", 0);
    assert_int_equal(pulse_at(&p, 1), SHOAL_OK);
    assert_int_equal(pulse_end(&p, 2), SHOAL_OK);
}

/* ---- workers ---- */

enum { TICKED = 100 };

static void tick(void *ctx, size_t item, unsigned thread)
{
    unsigned char *marks = ctx;

    assert(thread < 3);
    marks[item]++;
}

static void workers_do_every_item_once_again_and_again(void **state)
{
    struct workers *h;
    unsigned char marks[TICKED] = {0};

    (void)state;
    assert_int_equal(workers_new(&h, 3), SHOAL_OK);
    assert_int_equal(workers_count(h), 3);
    for (size_t n = 0; n <= TICKED; n++)
        workers_do(h, n, tick, marks);
    for (size_t i = 0; i < TICKED; i++)
        assert_int_equal(marks[i], TICKED - i);
    workers_free(h);
    workers_free(NULL);
}

struct counts {
    size_t round, items, failing;
    atomic_size_t cells[256];
};

static shoal_status count_item(void *ctx, size_t item, unsigned thread)
{
    struct counts *s = ctx;

    (void)thread;
    if (s->round == s->failing && item % 7 == 3)
        return shoal_fail(SHOAL_EIO, "item %zu", item);
    atomic_fetch_add(&s->cells[item], 1);
    return SHOAL_OK;
}

static void each_item_of_each_round_is_done_once(void **state)
{
    static const unsigned threads[] = {1, 2, 3, 9};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct counts s = {0};
        struct workers *w;
        size_t want = 0;

        assert_int_equal(workers_new(&w, threads[i]), SHOAL_OK);
        for (s.round = 1; s.round <= 1000; s.round++) {
            size_t items = 1 + s.round * 37 % 256;

            assert_int_equal(workers_run(w, items, count_item, &s), SHOAL_OK);
            want += items > 100;
            assert_int_equal(s.cells[0], s.round);
            assert_int_equal(s.cells[100], want);
        }
        workers_free(w);
    }
}

static void the_lowest_failing_item_is_told(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads < 5; threads++) {
        struct counts s = {.failing = 5};
        struct workers *w;

        assert_int_equal(workers_new(&w, threads), SHOAL_OK);
        for (s.round = 1; s.round < 10; s.round++)
            assert_int_equal(workers_run(w, 200, count_item, &s),
                             s.round == 5 ? SHOAL_EIO : SHOAL_OK);
        assert_string_equal(shoal_error(), "item 3");
        workers_free(w);
    }
}

/* ---- floats ---- */

/* As every x86-64 does. */
static bool flushes(void)
{
    unsigned mode = floats_flush();
    bool yes = floats_mode() != 0;

    floats_set(mode);
    return yes;
}

static bool halves_to_nothing(void)
{
    volatile float x = FLT_MIN;

    x *= 0.5f;
    return x == 0;
}

static void note_nothing(void *ctx, size_t item, unsigned thread)
{
    bool *nothing = ctx;

    (void)thread;
    nothing[item] = halves_to_nothing();
}

static void tiny_numbers_are_0_until_the_mode_is_given_back(void **state)
{
    unsigned outer, inner;

    (void)state;
    if (!flushes())
        skip();
    assert_false(halves_to_nothing());
    outer = floats_flush();
    assert_true(halves_to_nothing());
    inner = floats_flush();
    floats_set(inner);
    assert_true(halves_to_nothing());
    floats_set(outer);
    assert_false(halves_to_nothing());
}

static void workers_take_tiny_numbers_as_their_caller_does(void **state)
{
    bool nothing[TICKED];
    struct workers *h;
    unsigned mode;

    (void)state;
    if (!flushes())
        skip();
    assert_int_equal(workers_new(&h, 3), SHOAL_OK);
    for (unsigned flush = 0; flush < 4; flush++) {
        mode = flush % 2 ? floats_flush() : floats_mode();
        workers_do(h, TICKED, note_nothing, nothing);
        floats_set(mode);
        for (size_t i = 0; i < TICKED; i++)
            assert_int_equal(nothing[i], flush % 2);
    }
    workers_free(h);
}

/* ---- split.c --------------------------------------------------------------------- */

/* Each position is learned or held out, by every way to ask. */
static void check_split(const struct split *s)
{
    bool *held = calloc(s->n + 1, sizeof *held);
    size_t learned = 0, i = 0, from, to, blocks = 0;

    assert_non_null(held);
    for (size_t k = 0; k < s->held; k++) {
        assert_true(split_held(s, k) < s->n && !held[split_held(s, k)]);
        assert_true(k == 0 || split_held(s, k) > split_held(s, k - 1));
        held[split_held(s, k)] = true;
    }
    for (size_t k = 0; k < s->blocks; k++, blocks += to - from) {
        split_block(s, k, &from, &to);
        assert_true(from < to && held[from] && held[to - 1]);
    }
    assert_int_equal(blocks, s->held);
    for (size_t p = 0; p < s->n; p++) {
        size_t lo = 0, hi = s->n, left = p, right = p + 1;

        if (!held[p])
            assert_int_equal(split_learned(s, learned++), p);
        split_bounds(s, p, &lo, &hi);
        for (; !held[p] && left > 0 && !held[left - 1]; left--) {
        }
        for (; !held[p] && right < s->n && !held[right]; right++) {
        }
        assert_int_equal(lo, held[p] ? 0 : left);
        assert_int_equal(hi, held[p] ? s->n : right);
    }
    assert_int_equal(learned, s->n - s->held);
    while (split_next(s, &i, learned, &from, &to)) {
        assert_true(from < to && to <= s->n);
        for (size_t p = from; p < to; p++)
            assert_int_equal(split_learned(s, i - (to - p)), p);
    }
    assert_int_equal(i, learned);
    free(held);
}

static void what_is_held_out_is_not_learned_and_all_else_is(void **state)
{
    static const size_t sizes[][2] = {{1, 0},     {1, 1},       {2, 1},      {10, 3},
                                      {100, 99},  {1009, 1005}, {1000, 500}, {3001, 2999},
                                      {777, 777}, {5000, 450},  {9973, 997}, {20000, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint64_t seed = 0; seed < 6; seed++) {
            size_t n = sizes[i][0], held = sizes[i][1];
            struct split s = seed == 5 ? split_make_end(n, held)
                                       : split_make(n, held, 1 + 40 * (seed % 3), seed);

            assert_int_equal(s.held, sizes[i][1]);
            check_split(&s);
        }
}

static void it_lies_all_over_the_data_where_the_seed_says(void **state)
{
    struct split s = split_make(100000, 5000, 100, 1), t = split_make(100000, 5000, 100, 2);
    size_t tenths[10] = {0}, same = 0;

    (void)state;
    for (size_t i = 0; i < s.held; i++) {
        tenths[split_held(&s, i) / 10000]++;
        same += split_held(&s, i) == split_held(&t, i);
    }
    for (size_t i = 0; i < 10; i++)
        assert_in_range(tenths[i], 400, 600);
    assert_true(same < s.held / 2);
}

static void or_it_is_the_end(void **state)
{
    struct split s = split_make_end(1000, 300);

    (void)state;
    for (size_t i = 0; i < 300; i++)
        assert_int_equal(split_held(&s, i), 700 + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_keeps_its_code_and_sentence),
        cmocka_unit_test(a_failure_may_quote_the_one_before),
        cmocka_unit_test(a_failure_of_the_system_ends_in_errnos_words),
        cmocka_unit_test(a_sentence_has_nothing_that_a_terminal_obeys),
        cmocka_unit_test(an_endless_sentence_is_cut),
        cmocka_unit_test(every_status_has_a_name),
        cmocka_unit_test(digits_are_read_as_far_as_they_go),
        cmocka_unit_test(lines_end_at_newlines_or_with_the_text),
        cmocka_unit_test(an_array_is_zeroed_and_never_null_for_nothing),
        cmocka_unit_test(an_array_whose_size_overflows_is_refused),
        cmocka_unit_test(growing_keeps_what_was_there),
        cmocka_unit_test(growing_to_what_fits_changes_nothing),
        cmocka_unit_test(growing_beyond_all_bounds_fails_and_keeps_the_old),
        cmocka_unit_test(bytes_are_joined_in_order),
        cmocka_unit_test(bytes_beyond_all_bounds_are_refused),
        cmocka_unit_test(mapped_pages_are_zeroed_and_aligned),
        cmocka_unit_test(some_memory_is_free_and_some_was_used),
        cmocka_unit_test(random_numbers_never_change),
        cmocka_unit_test(a_generator_walks_the_indices),
        cmocka_unit_test(numbers_below_n_are_all_equally_likely),
        cmocka_unit_test(below_one_there_is_only_zero),
        cmocka_unit_test(unit_numbers_lie_in_the_unit_and_average_one_half),
        cmocka_unit_test(neighbouring_seeds_streams_and_indices_are_unrelated),
        cmocka_unit_test(what_is_held_out_is_not_learned_and_all_else_is),
        cmocka_unit_test(it_lies_all_over_the_data_where_the_seed_says),
        cmocka_unit_test(or_it_is_the_end),
        cmocka_unit_test(every_index_runs_once),
        cmocka_unit_test(the_failure_of_the_lowest_index_is_forwarded_with_its_sentence),
        cmocka_unit_test(what_threads_finish_keeps_its_order_and_ends_at_a_failure),
        cmocka_unit_test(no_count_means_every_core),
        cmocka_unit_test(the_clock_never_goes_back),
        cmocka_unit_test(a_watch_is_called_seldom_but_always_at_the_end),
        cmocka_unit_test(a_watch_that_says_no_stops_the_work),
        cmocka_unit_test(nobody_need_watch),
        cmocka_unit_test(workers_do_every_item_once_again_and_again),
        cmocka_unit_test(each_item_of_each_round_is_done_once),
        cmocka_unit_test(the_lowest_failing_item_is_told),
        cmocka_unit_test(tiny_numbers_are_0_until_the_mode_is_given_back),
        cmocka_unit_test(workers_take_tiny_numbers_as_their_caller_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
