/* The exact softmax: its gradients against central differences of a plain
 * double-precision loss, its bits against the number of threads, its memory. */
#include "model/model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- a small world ------------------------------------------------------------- */

struct world {
    struct w2v w;
    uint32_t *ids;
    struct table in, out, bias;
};

/* Words of rising rarity in sentences of 2 to 12, each word likely followed by
 * its successor, so that there is something to learn. */
static void fill_ids(struct world *t, size_t count)
{
    struct rng r = {7, 1, 0};
    uint32_t word = 0;

    for (size_t i = 0; i < count; i++) {
        word = rng_below(&r, 3) ? (word + 1) % t->w.words
                                : (uint32_t)(rng_unit(&r) * rng_unit(&r) * t->w.words);
        t->ids[i] = i > 1 && rng_below(&r, 7) == 0 ? SHOAL_SENTENCE_END : word;
    }
}

static void fill_table(struct table *t, const char *name, size_t rows, size_t width, double size)
{
    struct rng r = {11, rows * width, 0};

    assert_int_equal(table_init(t, name, rows, width), SHOAL_OK);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < width; j++)
            t->at[i * t->stride + j] = (float)((2 * rng_unit(&r) - 1) * size);
}

static void world_init(struct world *t, uint32_t words, size_t dim, size_t count, double size)
{
    const struct kernel *kernel;

    assert_int_equal(kernel_choose(&kernel), 0);
    *t = (struct world){
        .w = {
            .kernel = kernel, .count = count, .words = words, .dim = dim, .window = 3, .seed = 5}};
    t->ids = mem_array(count, sizeof *t->ids);
    t->w.keep = mem_array(words + 1, sizeof *t->w.keep);
    assert_non_null(t->ids);
    assert_non_null(t->w.keep);
    memset(t->w.keep, 0xff, (words + 1) * sizeof *t->w.keep);
    fill_ids(t, count);
    t->w.ids = t->ids;
    fill_table(&t->in, "in", words, dim, size);
    fill_table(&t->out, "out", words, dim, size);
    fill_table(&t->bias, "bias", 1, words, size);
}

static void world_fini(struct world *t)
{
    table_fini(&t->in);
    table_fini(&t->out);
    table_fini(&t->bias);
    free(t->w.keep);
    free(t->ids);
}

/* ---- one range of the text, of any length ---- */

struct range {
    size_t at, end;
};

static bool range_next(void *ctx, size_t *begin, size_t *end)
{
    struct range *r = ctx;

    *begin = r->at;
    *end = r->at = r->end - r->at > SPAN ? r->at + SPAN : r->end;
    return *begin < *end;
}

static shoal_status train_range(struct softmax *s, unsigned epoch, size_t begin, size_t end,
                                float lr, struct sums *done)
{
    struct range range = {begin, end};

    return softmax_batches(s, epoch, &(struct softmax_text){range_next, &range}, 0, lr, done);
}

static shoal_status loss_of_range(struct softmax *s, size_t begin, size_t end, struct sums *done)
{
    struct range range = {begin, end};

    return softmax_measure(s, &(struct softmax_text){range_next, &range}, done);
}

static struct sums train(struct world *t, unsigned batch, unsigned threads, unsigned epoch,
                         float lr)
{
    struct softmax *s;
    struct sums done = {0};

    assert_int_equal(softmax_new(&s, &t->w, batch, &t->in, &t->out, &t->bias, threads), SHOAL_OK);
    assert_int_equal(train_range(s, epoch, 0, t->w.count, lr, &done), SHOAL_OK);
    softmax_free(s);
    return done;
}

static struct sums loss(struct world *t, unsigned batch, unsigned threads)
{
    struct softmax *s;
    struct sums done = {0};

    assert_int_equal(softmax_new(&s, &t->w, batch, &t->in, &t->out, &t->bias, threads), SHOAL_OK);
    assert_int_equal(loss_of_range(s, 0, t->w.count, &done), SHOAL_OK);
    softmax_free(s);
    return done;
}

/* ---- the plain loss, in double ---------------------------------------------------- */

/* Small, yet two blocks of rows and two slices of columns. */
enum { SMALL_WORDS = 130, SMALL_DIM = 17, SMALL_COUNT = 20 };

struct plain {
    double in[SMALL_WORDS][SMALL_DIM], out[SMALL_WORDS][SMALL_DIM], bias[SMALL_WORDS];
};

static void plain_of(struct plain *p, const struct world *t)
{
    for (size_t v = 0; v < SMALL_WORDS; v++) {
        for (size_t j = 0; j < SMALL_DIM; j++) {
            p->in[v][j] = t->in.at[v * t->in.stride + j];
            p->out[v][j] = t->out.at[v * t->out.stride + j];
        }
        p->bias[v] = t->bias.at[v];
    }
}

static double plain_predict(const struct plain *p, const double *h, uint32_t target)
{
    double total = 0, wanted = 0;

    for (size_t v = 0; v < SMALL_WORDS; v++) {
        double score = p->bias[v];

        for (size_t j = 0; j < SMALL_DIM; j++)
            score += h[j] * p->out[v][j];
        total += exp(score);
        wanted = v == target ? score : wanted;
    }
    return log(total) - wanted;
}

static double plain_bag(const struct plain *p, const struct w2v *w, const struct windows *x,
                        const struct window *at)
{
    double h[SMALL_DIM] = {0};

    for (uint32_t i = at->lo; i < at->hi; i++)
        for (size_t j = 0; i != at->centre && j < SMALL_DIM; j++)
            h[j] += p->in[x->kept[i]][j] / (w->sum ? 1 : at->hi - at->lo - 1);
    return plain_predict(p, h, x->kept[at->centre]);
}

static double plain_pairs(const struct plain *p, const struct windows *x, const struct window *at)
{
    double sum = 0;

    for (uint32_t i = at->lo; i < at->hi; i++)
        if (i != at->centre)
            sum += plain_predict(p, p->in[x->kept[i]], x->kept[at->centre]);
    return sum;
}

static double plain_loss(const struct plain *p, const struct w2v *w)
{
    static struct windows x;
    double sum = 0;

    windows_cut(&x, w, 0, 0, w->count);
    for (size_t i = 0; i < x.len; i++)
        sum += w->bag ? plain_bag(p, w, &x, &x.at[i]) : plain_pairs(p, &x, &x.at[i]);
    return sum;
}

/* ---- gradients ---------------------------------------------------------------------- */

/* `before - after` is the step of rate 1, which must be the slope at before. */
static void check_slopes(struct plain *before, const struct plain *after, const struct w2v *w)
{
    double *x = (double *)before, largest = 0;
    const double *y = (const double *)after, eps = 1e-5;

    for (size_t i = 0; i < sizeof *before / sizeof *x; i++) {
        double here = x[i], up, down;

        x[i] = here + eps;
        up = plain_loss(before, w);
        x[i] = here - eps;
        down = plain_loss(before, w);
        x[i] = here;
        assert_true(fabs((up - down) / (2 * eps) - (here - y[i])) < 1e-5);
        largest = fmax(largest, fabs(here - y[i]));
    }
    assert_true(largest > 0.1);
}

static void check_gradient(bool bag, bool sum, bool wide)
{
    struct world t;
    struct plain before, after;
    struct sums done;
    double want;

    world_init(&t, SMALL_WORDS, SMALL_DIM, SMALL_COUNT, 0.7);
    for (size_t i = 0; i < SMALL_COUNT; i += 5) /* the rare block's words too */
        t.ids[i] = (uint32_t)(SMALL_WORDS - 1 - i);
    t.w.bag = bag;
    t.w.sum = sum;
    t.w.fixed = t.w.across = wide;
    plain_of(&before, &t);
    want = plain_loss(&before, &t.w);
    done = train(&t, 1000, 2, 0, 1);
    plain_of(&after, &t);
    assert_true(fabs(done.loss - want) < 1e-5 * want);
    check_slopes(&before, &after, &t.w);
    world_fini(&t);
}

static void cbow_of_the_mean_steps_down_the_true_gradient(void **state)
{
    (void)state;
    check_gradient(true, false, false);
    check_gradient(true, false, true);
}

static void cbow_of_the_sum_steps_down_the_true_gradient(void **state)
{
    (void)state;
    check_gradient(true, true, false);
}

static void skipgram_steps_down_the_true_gradient(void **state)
{
    (void)state;
    check_gradient(false, false, false);
    check_gradient(false, false, true);
}

/* ---- threads ------------------------------------------------------------------------- */

static void assert_same_bits(const struct table *x, const struct table *y)
{
    assert_memory_equal(x->at, y->at, table_bytes(x->rows, x->width));
}

/* More than two blocks of rows, more than one slice of columns, short batches. */
static void check_threads(bool bag, unsigned threads)
{
    struct world one, many;
    struct sums a, b;

    world_init(&one, 700, 37, 1500, 0.3);
    world_init(&many, 700, 37, 1500, 0.3);
    one.w.bag = many.w.bag = bag;
    a = train(&one, 50, 1, 3, 0.05f);
    b = train(&many, 50, threads, 3, 0.05f);
    assert_same_bits(&one.in, &many.in);
    assert_same_bits(&one.out, &many.out);
    assert_same_bits(&one.bias, &many.bias);
    assert_memory_equal(&a, &b, sizeof a);
    a = loss(&one, 50, 1);
    b = loss(&many, 50, threads);
    assert_memory_equal(&a, &b, sizeof a);
    world_fini(&one);
    world_fini(&many);
}

static void two_three_and_seven_threads_give_the_bits_of_one(void **state)
{
    static const unsigned threads[] = {2, 3, 7};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        check_threads(true, threads[i]);
        check_threads(false, threads[i]);
    }
}

/* ---- training ------------------------------------------------------------------------- */

static void check_learning(bool bag)
{
    struct world t;
    double last = INFINITY;

    world_init(&t, 200, 20, 4000, 0.05);
    t.w.bag = bag;
    for (unsigned epoch = 0; epoch < 5; epoch++) {
        struct sums done = train(&t, 64, 2, epoch, 0.05f);
        double now = done.loss / (double)done.predictions;

        assert_true(now < last - 0.02);
        last = now;
    }
    assert_true(last < log(200) - 1);
    world_fini(&t);
}

static void the_loss_falls_in_each_epoch(void **state)
{
    (void)state;
    check_learning(true);
    check_learning(false);
}

static void measuring_the_loss_changes_no_row(void **state)
{
    struct world t, same;
    struct softmax *s;
    struct sums done = {0};

    (void)state;
    world_init(&t, 300, 20, 1000, 0.3);
    world_init(&same, 300, 20, 1000, 0.3);
    train(&same, 64, 2, 0, 0.05f);
    assert_int_equal(softmax_new(&s, &t.w, 64, &t.in, &t.out, &t.bias, 2), SHOAL_OK);
    assert_int_equal(train_range(s, 0, 0, t.w.count, 0.05f, &done), SHOAL_OK);
    assert_int_equal(loss_of_range(s, 0, t.w.count, &done), SHOAL_OK);
    softmax_free(s);
    assert_same_bits(&t.in, &same.in);
    assert_same_bits(&t.out, &same.out);
    assert_same_bits(&t.bias, &same.bias);
    world_fini(&t);
    world_fini(&same);
}

static void the_loss_does_not_depend_on_the_batch(void **state)
{
    struct world t;
    struct sums a, b;

    (void)state;
    world_init(&t, 300, 20, 1000, 0.3);
    a = loss(&t, 1, 1);
    b = loss(&t, 999, 1);
    assert_int_equal(a.predictions, b.predictions);
    assert_int_equal(a.examples, b.examples);
    assert_true(fabs(a.loss - b.loss) < 1e-6 * a.loss);
    world_fini(&t);
}

static void scores_of_a_thousand_overflow_nothing(void **state)
{
    struct world t;
    struct sums done;

    (void)state;
    world_init(&t, 300, 20, 400, 20);
    done = train(&t, 64, 1, 0, 1e-6f);
    assert_true(isfinite(done.loss));
    assert_true(done.loss / (double)done.predictions > 100);
    for (size_t i = 0; i < t.out.rows * t.out.stride; i++)
        assert_true(isfinite(t.out.at[i]) && isfinite(t.in.at[i]));
    world_fini(&t);
}

static void the_padding_of_rows_stays_zero(void **state)
{
    struct world t;

    (void)state;
    world_init(&t, 300, 20, 1000, 0.3);
    train(&t, 64, 2, 0, 0.05f);
    for (size_t v = 0; v < 300; v++) {
        for (size_t j = 20; j < t.in.stride; j++) {
            assert_true(t.in.at[v * t.in.stride + j] == 0);
            assert_true(t.out.at[v * t.out.stride + j] == 0);
        }
    }
    world_fini(&t);
}

static void two_calls_of_whole_batches_are_one(void **state)
{
    struct world t, u;
    struct softmax *s;
    struct sums a = {0}, b = {0};

    (void)state;
    world_init(&t, 50, 20, 640, 0.3);
    world_init(&u, 50, 20, 640, 0.3);
    for (size_t i = 0; i < 640; i++) /* one sentence: each word is a prediction */
        t.ids[i] = u.ids[i] = (uint32_t)(i * i % 50);
    t.w.bag = u.w.bag = true;
    a = train(&t, 32, 2, 0, 0.05f);
    assert_int_equal(softmax_new(&s, &u.w, 32, &u.in, &u.out, &u.bias, 2), SHOAL_OK);
    assert_int_equal(train_range(s, 0, 0, 320, 0.05f, &b), SHOAL_OK);
    assert_int_equal(train_range(s, 0, 320, 640, 0.05f, &b), SHOAL_OK);
    softmax_free(s);
    assert_same_bits(&t.in, &u.in);
    assert_same_bits(&t.out, &u.out);
    assert_int_equal(a.predictions, b.predictions);
    world_fini(&t);
    world_fini(&u);
}

/* ---- accuracy -------------------------------------------------------------------------- */

/* The argmax in double, the first of equal scores, of a window of CBOW's mean. */
static uint32_t plain_argmax(const struct plain *p, const struct windows *x,
                             const struct window *at)
{
    double h[SMALL_DIM] = {0}, most = -INFINITY;
    uint32_t best = 0;

    for (uint32_t i = at->lo; i < at->hi; i++)
        for (size_t j = 0; i != at->centre && j < SMALL_DIM; j++)
            h[j] += p->in[x->kept[i]][j] / (at->hi - at->lo - 1);
    for (uint32_t v = 0; v < SMALL_WORDS; v++) {
        double score = p->bias[v];

        for (size_t j = 0; j < SMALL_DIM; j++)
            score += h[j] * p->out[v][j];
        if (score > most) {
            most = score;
            best = v;
        }
    }
    return best;
}

static void predictions_whose_target_scores_highest_are_right(void **state)
{
    static struct windows x;
    struct world t;
    struct plain p;
    uint64_t right = 0;

    (void)state;
    world_init(&t, SMALL_WORDS, SMALL_DIM, 400, 0.2);
    t.w.bag = true;
    for (unsigned epoch = 0; epoch < 30; epoch++)
        train(&t, 32, 2, epoch, 0.05f);
    plain_of(&p, &t);
    windows_cut(&x, &t.w, 0, 0, t.w.count);
    for (size_t i = 0; i < x.len; i++)
        right += plain_argmax(&p, &x, &x.at[i]) == x.kept[x.at[i].centre];
    assert_true(right > x.len / 10 && right < x.len);
    assert_int_equal(loss(&t, 50, 2).right, right);
    assert_int_equal(loss(&t, 7, 1).right, right);
    world_fini(&t);
}

static void of_equal_scores_the_first_word_is_the_answer(void **state)
{
    struct world t;
    struct sums done;
    uint64_t first = 0;
    static struct windows x;

    (void)state;
    world_init(&t, SMALL_WORDS, SMALL_DIM, 400, 0);
    t.w.bag = true;
    windows_cut(&x, &t.w, 0, 0, t.w.count);
    for (size_t i = 0; i < x.len; i++)
        first += x.kept[x.at[i].centre] == 0;
    done = loss(&t, 50, 2);
    assert_int_equal(done.predictions, x.len);
    assert_true(first > 0);
    assert_int_equal(done.right, first);
    world_fini(&t);
}

/* ---- the world's edges ------------------------------------------------------------------- */

static void a_range_without_windows_does_nothing(void **state)
{
    struct world t;
    struct sums done;

    (void)state;
    world_init(&t, 10, 5, 20, 0.3);
    for (size_t i = 0; i < 20; i++)
        t.ids[i] = i % 2 ? SHOAL_SENTENCE_END : 3;
    done = train(&t, 64, 3, 0, 0.05f);
    assert_int_equal(done.predictions, 0);
    assert_int_equal(done.examples, 10);
    t.w.count = 0;
    assert_int_equal(train(&t, 64, 3, 0, 0.05f).examples, 0);
    world_fini(&t);
}

static void a_single_word_is_predicted_for_certain(void **state)
{
    struct world t;
    struct sums done;

    (void)state;
    world_init(&t, 1, 1, 20, 0.3);
    done = train(&t, 7, 2, 0, 0.05f);
    assert_true(done.predictions > 0);
    assert_true(fabs(done.loss) < 1e-6);
    world_fini(&t);
}

static void a_batch_out_of_bounds_is_refused(void **state)
{
    struct world t;
    struct softmax *s;

    (void)state;
    world_init(&t, 10, 5, 20, 0.3);
    assert_int_equal(softmax_new(&s, &t.w, 0, &t.in, &t.out, &t.bias, 1), SHOAL_EINVAL);
    assert_null(s);
    assert_int_equal(softmax_new(&s, &t.w, SOFTMAX_MAX_BATCH + 1, &t.in, &t.out, &t.bias, 1),
                     SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "softmax: batch is 65537, want 1 to 65536");
    softmax_free(NULL);
    world_fini(&t);
}

/* Scores, and parts of at most 64 blocks. */
static void memory_is_about_a_score_for_each_word_and_prediction(void **state)
{
    (void)state;
    assert_in_range(softmax_bytes(64, 2000, 50), 64 * 2000 * 4, 2 * 64 * 2000 * 4);
    assert_in_range(softmax_bytes(64, 1000000, 300), 64 * 1000000 * 4ull, 66 * 1000000 * 4ull);
    assert_true(softmax_bytes(64, 0, 50) > 0);
    assert_true(softmax_bytes(SOFTMAX_MAX_BATCH, UINT32_MAX, 4096) > 1ull << 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cbow_of_the_mean_steps_down_the_true_gradient),
        cmocka_unit_test(cbow_of_the_sum_steps_down_the_true_gradient),
        cmocka_unit_test(skipgram_steps_down_the_true_gradient),
        cmocka_unit_test(two_three_and_seven_threads_give_the_bits_of_one),
        cmocka_unit_test(the_loss_falls_in_each_epoch),
        cmocka_unit_test(measuring_the_loss_changes_no_row),
        cmocka_unit_test(the_loss_does_not_depend_on_the_batch),
        cmocka_unit_test(scores_of_a_thousand_overflow_nothing),
        cmocka_unit_test(the_padding_of_rows_stays_zero),
        cmocka_unit_test(two_calls_of_whole_batches_are_one),
        cmocka_unit_test(predictions_whose_target_scores_highest_are_right),
        cmocka_unit_test(of_equal_scores_the_first_word_is_the_answer),
        cmocka_unit_test(a_range_without_windows_does_nothing),
        cmocka_unit_test(a_single_word_is_predicted_for_certain),
        cmocka_unit_test(a_batch_out_of_bounds_is_refused),
        cmocka_unit_test(memory_is_about_a_score_for_each_word_and_prediction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
