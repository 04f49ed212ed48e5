/* Training words that are several rows: the same promises as of words that are one. */
#include <shoal.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "scratch.h"
#include "train/tasks/words.h"
#include "training.h"

static shoal_corpus *corpus;

static int setup(void **state)
{
    struct shoal_world_opts world = shoal_world_default();
    struct shoal_encode_opts encode = shoal_encode_default();
    const char *text;

    if (scratch_setup(state) != 0)
        return -1;
    text = scratch_path("world.txt");
    world.words = 40000;
    return shoal_world_write(text, scratch_path("asked.txt"), &world, NULL) != SHOAL_OK ||
           shoal_encode(scratch_path("world.shoal"), &text, 1, &encode, NULL) != SHOAL_OK ||
           shoal_corpus_open(&corpus, scratch_path("world.shoal")) != SHOAL_OK;
}

static int teardown(void **state)
{
    shoal_corpus_close(corpus);
    return scratch_teardown(state);
}

enum { DIM = 16 };

static struct train_opts small(const char *task)
{
    struct train_opts o = task_defaults(task);

    o.dim = DIM;
    o.epochs = 2;
    o.threads = 2;
    o.valid = 0.01;
    o.minn = 3;
    o.maxn = 5;
    o.buckets = 700; /* fewer than there are n-grams: some share one */
    return o;
}

static shoal_vectors *train(const struct train_opts *o)
{
    shoal_vectors *v;

    if (train_words(&v, corpus, o, NULL) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return v;
}

/* Known words, and words that nobody has seen. */
static void assert_same(const shoal_vectors *a, const shoal_vectors *b)
{
    static const char *const unknown[] = {"neverseen", "täglich", "x"};
    float x[DIM], y[DIM];
    bool known;

    assert_int_equal(shoal_vectors_size(a), shoal_vectors_size(b));
    for (uint32_t i = 0; i < shoal_vectors_size(a); i++) {
        assert_int_equal(shoal_vectors_row(a, i, x), SHOAL_OK);
        assert_int_equal(shoal_vectors_row(b, i, y), SHOAL_OK);
        assert_memory_equal(x, y, sizeof x);
    }
    for (size_t i = 0; i < 3; i++) {
        const char *word = unknown[i];

        assert_int_equal(shoal_vectors_compose(a, word, strlen(word), x, &known), SHOAL_OK);
        assert_false(known);
        assert_int_equal(shoal_vectors_compose(b, word, strlen(word), y, &known), SHOAL_OK);
        assert_memory_equal(x, y, sizeof x);
    }
}

/* ---- learning ---- */

struct seen {
    double loss[8], valid[8], asked[8];
    unsigned epochs, checkpoints, stop_after;
};

static bool see(void *user, const struct shoal_report *r)
{
    struct seen *seen = user;

    if (r->event == SHOAL_EVENT_EPOCH) {
        seen->asked[seen->epochs] = validation(&r->figures, "asked");
        seen->loss[seen->epochs] = training(&r->figures, "loss");
        seen->valid[seen->epochs++] = validation(&r->figures, "loss");
    }
    seen->checkpoints += r->event == SHOAL_EVENT_CHECKPOINT;
    return seen->stop_after == 0 || seen->checkpoints < seen->stop_after;
}

static void the_loss_falls_with_either_model_and_loss(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        struct train_opts o = small(i & 1 ? "skipgram" : "cbow");
        struct seen seen = {0};

        o.loss = i & 2 ? SHOAL_HS : SHOAL_NS;
        o.deterministic = i & 4;
        o.epochs = 4;
        o.lr = 0.1;
        o.report = see, o.user = &seen;
        shoal_vectors_close(train(&o));
        print_message("%d: %.3f to %.3f, held out %.3f to %.3f\n", i, seen.loss[0], seen.loss[3],
                      seen.valid[0], seen.valid[3]);
        assert_true(seen.loss[3] < 0.97 * seen.loss[0]);
        assert_true(seen.valid[3] < seen.valid[0]);
    }
}

/* Suites are asked of composed words. */
static void the_scores_of_the_last_epoch_are_those_of_the_vectors(void **state)
{
    struct train_opts o = small("skipgram");
    struct shoal_eval_opts ask = shoal_eval_default();
    struct seen seen = {0};
    struct shoal_score *scores;
    shoal_vectors *v;
    shoal_eval *suite;
    size_t n;

    (void)state;
    assert_int_equal(shoal_eval_open(&suite, scratch_path("asked.txt")), SHOAL_OK);
    o.epochs = 4;
    o.lr = 0.1;
    o.deterministic = true;
    o.evals = scratch_path("asked.txt");
    o.report = see, o.user = &seen;
    v = train(&o);
    assert_int_equal(shoal_eval_run(suite, v, &ask, &scores, &n), SHOAL_OK);
    assert_true(scores[n - 1].right > 0);
    assert_true(scores[n - 1].accuracy == seen.asked[3]);
    shoal_scores_free(scores);
    shoal_vectors_close(v);
    shoal_eval_close(suite);
}

static double cosine(const float *x, const float *y)
{
    double xy = 0, xx = 0, yy = 0;

    for (size_t j = 0; j < DIM; j++) {
        xy += (double)x[j] * (double)y[j];
        xx += (double)x[j] * (double)x[j];
        yy += (double)y[j] * (double)y[j];
    }
    return xy / sqrt(xx * yy);
}

/* A word with another ending is near to the word that it comes from, on average; vectors of other
 * words are as near as chance has it. */
static void a_word_never_seen_is_near_to_its_relative(void **state)
{
    struct train_opts o = small("skipgram");
    float x[DIM], y[DIM], z[DIM];
    double near = 0, far = 0;
    uint32_t n = 0, size;
    shoal_vectors *v;

    (void)state;
    o.buckets = 50000;
    o.lr = 0.1;
    o.epochs = 4;
    v = train(&o);
    size = (uint32_t)shoal_vectors_size(v);
    for (uint32_t id = 0; id < size; id++) {
        const char *word = shoal_vectors_word(v, id);
        char relative[64];
        bool known;

        if (strlen(word) < 6 || strlen(word) > 60)
            continue;
        snprintf(relative, sizeof relative, "%szz", word);
        assert_int_equal(shoal_vectors_row(v, id, x), SHOAL_OK);
        assert_int_equal(shoal_vectors_compose(v, relative, strlen(relative), y, &known), SHOAL_OK);
        assert_false(known);
        assert_int_equal(shoal_vectors_row(v, (id + size / 2) % size, z), SHOAL_OK);
        near += cosine(x, y);
        far += cosine(x, z);
        n++;
    }
    print_message("%u words: %.3f, others %.3f\n", n, near / n, far / n);
    assert_true(n > 20);
    assert_true(near / n > far / n + 0.2);
    shoal_vectors_close(v);
}

static double largest_apart(const shoal_vectors *a, const shoal_vectors *b)
{
    float x[DIM], y[DIM];
    double most = 0;

    for (uint32_t i = 0; i < shoal_vectors_size(a); i++) {
        assert_int_equal(shoal_vectors_row(a, i, x), SHOAL_OK);
        assert_int_equal(shoal_vectors_row(b, i, y), SHOAL_OK);
        for (size_t j = 0; j < DIM; j++)
            most = fmax(most, fabs((double)x[j] - (double)y[j]));
    }
    return most;
}

/* At a rate of next to nothing what comes out is what went in. */
static shoal_vectors *train_from(struct train_opts o, const shoal_vectors *from)
{
    struct shoal_save_opts save = shoal_save_default();

    o.start = scratch_path("from.shoal");
    o.epochs = 1;
    o.lr = 1e-9;
    if (shoal_vectors_save(from, o.start, &save) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return train(&o);
}

/* Words that are hashed as n-grams are: of a table of floret's a word is the mean of all its rows,
 * known or not. */
static void hashed_words_learn_without_rows_of_their_own(void **state)
{
    struct train_opts o = small("skipgram");
    struct seen seen = {0};
    shoal_vectors *v, *again, *more;
    float x[DIM], y[DIM];

    (void)state;
    o.hash_only = 2;
    o.buckets = 3000;
    o.epochs = 4;
    o.lr = 0.1;
    o.deterministic = true;
    o.report = see, o.user = &seen;
    v = train(&o);
    assert_true(seen.loss[3] < 0.97 * seen.loss[0]);
    assert_true(seen.valid[3] < seen.valid[0]);
    assert_int_equal(shoal_vectors_subwords(v).hashes, 2);
    for (uint32_t id = 0; id < 50; id++) {
        struct subwords how = words_subwords(&o);
        const char *word = shoal_vectors_word(v, id);
        size_t n = subwords_list(&how, word, strlen(word), NULL, 0);

        assert_int_equal(shoal_vectors_row(v, id, x), SHOAL_OK);
        assert_int_equal(vectors_own_row(v, id, y), SHOAL_OK);
        assert_true(n > 2);
        for (size_t j = 0; j < DIM; j++) /* what is left when its rows are taken off */
            assert_true(fabsf(y[j] - x[j]) < 1e-3f);
    }
    seen = (struct seen){0};
    o.threads = 3;
    again = train(&o);
    assert_same(v, again);
    more = train_from(o, v);
    assert_true(largest_apart(v, more) < 1e-4);
    shoal_vectors_close(more);
    shoal_vectors_close(again);
    shoal_vectors_close(v);
}

/* ---- equal bytes ---- */

static void the_same_bytes_come_of_any_number_of_threads(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct train_opts o = small(i ? "skipgram" : "cbow");
        shoal_vectors *first, *v;

        o.loss = i ? SHOAL_HS : SHOAL_NS;
        o.deterministic = true;
        o.threads = 1;
        first = train(&o);
        for (o.threads = 2; o.threads <= 3; o.threads++) {
            v = train(&o);
            assert_same(first, v);
            shoal_vectors_close(v);
        }
        shoal_vectors_close(first);
    }
}

static void a_run_stopped_again_and_again_ends_with_the_same_bytes(void **state)
{
    struct seen seen = {.stop_after = 1};
    struct train_opts o = small("skipgram");
    shoal_vectors *a, *b = NULL;
    shoal_status st;
    unsigned stops = 0;

    (void)state;
    o.deterministic = true;
    a = train(&o);
    o.checkpoint = scratch_path("parts");
    o.every.unit = SHOAL_EVERY_SHARE;
    o.every.value = 0.05;
    o.report = see, o.user = &seen;
    while ((st = train_words(&b, corpus, &o, NULL)) == SHOAL_ESTOP) {
        o.resume = true;
        seen = (struct seen){.stop_after = 1};
        stops++;
    }
    assert_int_equal(st, SHOAL_OK);
    assert_true(stops > 2);
    assert_same(a, b);
    shoal_vectors_close(a);
    shoal_vectors_close(b);
}

static void buckets_without_n_grams_change_nothing(void **state)
{
    struct train_opts o = small("cbow");
    float x[DIM], y[DIM];
    shoal_vectors *a, *b;

    (void)state;
    o.deterministic = true;
    o.minn = o.maxn = 0;
    a = train(&o);
    o.buckets = 9;
    b = train(&o);
    for (uint32_t i = 0; i < shoal_vectors_size(a); i++) {
        assert_int_equal(shoal_vectors_row(a, i, x), SHOAL_OK);
        assert_int_equal(shoal_vectors_row(b, i, y), SHOAL_OK);
        assert_memory_equal(x, y, sizeof x);
    }
    assert_int_equal(shoal_vectors_subwords(a).maxn, 0);
    assert_int_equal(shoal_vectors_compose(a, "neverseen", 9, x, NULL), SHOAL_ENOENT);
    shoal_vectors_close(a);
    shoal_vectors_close(b);
}

/* ---- going on ---- */

static void a_run_begins_with_the_rows_of_another(void **state)
{
    struct train_opts o = small("skipgram"), plain = o, other = o;
    shoal_vectors *a, *b;
    float x[DIM], y[DIM];

    (void)state;
    o.lr = 0.1;
    a = train(&o);
    b = train_from(o, a);
    assert_true(largest_apart(a, b) < 1e-4);
    assert_int_equal(shoal_vectors_compose(a, "neverseen", 9, x, NULL), SHOAL_OK);
    assert_int_equal(shoal_vectors_compose(b, "neverseen", 9, y, NULL), SHOAL_OK);
    for (size_t j = 0; j < DIM; j++)
        assert_true(fabsf(x[j] - y[j]) < 1e-4f);
    shoal_vectors_close(b);

    other.maxn = 4; /* other n-grams: the words are what they were all the same */
    b = train_from(other, a);
    assert_true(largest_apart(a, b) < 1e-4);
    shoal_vectors_close(b);

    plain.minn = plain.maxn = 0;
    b = train_from(plain, a);
    assert_true(largest_apart(a, b) < 1e-4);
    shoal_vectors_close(a);

    a = train_from(o, b); /* whole words, with subwords from now on */
    assert_true(largest_apart(a, b) < 1e-4);
    shoal_vectors_close(a);
    shoal_vectors_close(b);
}

/* ---- the plan ---- */

static void the_plan_counts_the_buckets(void **state)
{
    struct train_opts o = small("cbow"), plain = o;
    struct shoal_train_plan with, without;
    uint64_t rows;

    (void)state;
    plain.maxn = plain.minn = 0;
    o.buckets = 3000000;
    assert_int_equal(plan_words(&with, corpus, &o), SHOAL_OK);
    assert_int_equal(plan_words(&without, corpus, &plain), SHOAL_OK);
    rows = (uint64_t)o.buckets * DIM;
    assert_int_equal(with.parameters - without.parameters, rows);
    assert_true(with.model_bytes - without.model_bytes == rows * sizeof(float));
    assert_true(with.work_bytes > without.work_bytes);
    o.memory_limit = (uint64_t)100 << 20;
    assert_int_equal(train_words(&(shoal_vectors *){NULL}, corpus, &o, NULL), SHOAL_ELIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_falls_with_either_model_and_loss),
        cmocka_unit_test(the_scores_of_the_last_epoch_are_those_of_the_vectors),
        cmocka_unit_test(a_word_never_seen_is_near_to_its_relative),
        cmocka_unit_test(hashed_words_learn_without_rows_of_their_own),
        cmocka_unit_test(the_same_bytes_come_of_any_number_of_threads),
        cmocka_unit_test(a_run_stopped_again_and_again_ends_with_the_same_bytes),
        cmocka_unit_test(buckets_without_n_grams_change_nothing),
        cmocka_unit_test(a_run_begins_with_the_rows_of_another),
        cmocka_unit_test(the_plan_counts_the_buckets),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
