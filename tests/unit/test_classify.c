/* eval: the scores of classifiers, against values worked out by hand and plain
 * loops over all pairs. */
#include "eval/eval.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_close(double found, double want, double within)
{
    if (!(fabs(found - want) <= within))
        fail_msg("found %.17g, want %.17g", found, want);
}

static void assert_ok(shoal_status st)
{
    if (st != SHOAL_OK)
        fail_msg("%s", shoal_error());
}

/* ---- two classes ------------------------------------------------------------------ */

struct example {
    double score;
    bool label;
    double weight;
};

static struct binary *binary_of(enum binary_scale scale, size_t keep, const struct example *all,
                                size_t n)
{
    struct binary *b;

    assert_ok(binary_new(&b, scale, keep));
    for (size_t i = 0; i < n; i++)
        assert_ok(binary_add(b, all[i].score, all[i].label, all[i].weight));
    return b;
}

static struct shoal_binary_score score_of(enum binary_scale scale, size_t keep,
                                          const struct example *all, size_t n)
{
    struct binary *b = binary_of(scale, keep, all, n);
    struct shoal_binary_score s;

    assert_ok(binary_score(b, &s));
    binary_free(b);
    return s;
}

/* Whole weights, scores of few different values (ties) or many. */
static struct example *random_examples(size_t n, uint64_t seed, uint64_t values, bool weighted)
{
    struct example *all = mem_array(n, sizeof *all);
    struct rng r = {seed, 3, 0};

    for (size_t i = 0; i < n; i++) {
        double x = (double)rng_below(&r, values) / (double)values * 12 - 6;

        all[i].score = x;
        all[i].label = rng_unit(&r) < 0.1 + 0.7 / (1 + exp(-x));
        all[i].weight = weighted ? (double)rng_below(&r, 4) : 1;
    }
    return all;
}

/* The definition: every pair of an example of each class. */
static double plain_auc(const struct example *all, size_t n)
{
    double right = 0, pairs = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; all[i].label && j < n; j++) {
            double weight = all[i].weight * all[j].weight;

            if (all[j].label)
                continue;
            pairs += weight;
            right += all[i].score > all[j].score    ? weight
                     : all[i].score == all[j].score ? weight / 2
                                                    : 0;
        }
    return right / pairs;
}

static const struct example FIVE[] = {
    {0.9, true, 1}, {0.8, false, 1}, {0.3, true, 1}, {0.3, false, 1}, {0.1, false, 1},
};

static void the_scores_of_five_examples_are_those_worked_out_by_hand(void **state)
{
    struct shoal_binary_score s = score_of(BINARY_PROBABILITY, 100, FIVE, 5);

    (void)state;
    assert_int_equal(s.examples, 5);
    assert_close(s.weight, 5, 0);
    assert_close(s.log_loss, -(2 * log(0.9) + log(0.2) + log(0.3) + log(0.7)) / 5, 1e-15);
    assert_close(s.accuracy, 3.0 / 5, 1e-15);
    assert_close(s.auc, (3 + 1.5) / 6, 1e-15); /* 0.9 beats 3; 0.3 beats 0.1 and ties 0.3 */
    assert_true(s.auc_within == 0);
    assert_close(s.brier, (0.01 + 0.64 + 0.49 + 0.09 + 0.01) / 5, 1e-15);
    assert_close(s.base_rate, 0.4, 1e-15);
    assert_close(s.predicted, 0.48, 1e-15);
    assert_close(s.calibration, 1.2, 1e-15);
    assert_close(s.base_log_loss, -(0.4 * log(0.4) + 0.6 * log(0.6)), 1e-15);
}

static void reliability_is_counted_in_ten_bins(void **state)
{
    static const struct example edge[] = {{1, true, 2}, {0, false, 1}, {0.5, true, 1}};
    struct shoal_binary_score s = score_of(BINARY_PROBABILITY, 100, FIVE, 5);

    (void)state;
    assert_close(s.bins[3].weight, 2, 0);
    assert_close(s.bins[3].predicted, 0.3, 1e-15);
    assert_close(s.bins[3].observed, 0.5, 1e-15);
    assert_close(s.bins[1].weight, 1, 0);
    assert_close(s.bins[0].weight, 0, 0);
    assert_true(isnan(s.bins[0].predicted) && isnan(s.bins[0].observed));
    s = score_of(BINARY_PROBABILITY, 100, edge, 3);
    assert_close(s.bins[9].weight, 2, 0);
    assert_close(s.bins[9].observed, 1, 0);
    assert_close(s.bins[0].weight, 1, 0);
    assert_close(s.bins[5].weight, 1, 0);
}

static void a_weight_counts_as_so_many_examples(void **state)
{
    static const struct example weighted[] = {
        {0.9, true, 3}, {0.8, false, 2}, {0.3, true, 1}, {0.1, false, 0}};
    static const struct example repeated[] = {{0.9, true, 1},  {0.9, true, 1},  {0.9, true, 1},
                                              {0.8, false, 1}, {0.8, false, 1}, {0.3, true, 1}};
    struct shoal_binary_score a = score_of(BINARY_PROBABILITY, 100, weighted, 4);
    struct shoal_binary_score b = score_of(BINARY_PROBABILITY, 100, repeated, 6);

    (void)state;
    assert_int_equal(a.examples, 4);
    assert_close(a.weight, b.weight, 0);
    assert_close(a.log_loss, b.log_loss, 1e-15);
    assert_close(a.accuracy, b.accuracy, 1e-15);
    assert_close(a.auc, b.auc, 1e-15);
    assert_close(a.brier, b.brier, 1e-15);
    assert_close(a.calibration, b.calibration, 1e-15);
}

static void logits_score_as_their_probabilities(void **state)
{
    struct example *all = random_examples(500, 1, 1000, true), *p = mem_array(500, sizeof *p);
    struct shoal_binary_score a, b;

    (void)state;
    for (size_t i = 0; i < 500; i++) {
        p[i] = all[i];
        p[i].score = 1 / (1 + exp(-all[i].score));
    }
    a = score_of(BINARY_LOGIT, 1000, all, 500);
    b = score_of(BINARY_PROBABILITY, 1000, p, 500);
    assert_close(a.log_loss, b.log_loss, 1e-13);
    assert_close(a.accuracy, b.accuracy, 1e-13);
    assert_close(a.auc, b.auc, 1e-13);
    assert_close(a.brier, b.brier, 1e-13);
    assert_close(a.predicted, b.predicted, 1e-13);
    for (size_t i = 0; i < SHOAL_RELIABILITY_BINS; i++)
        assert_close(a.bins[i].weight, b.bins[i].weight, 0);
    free(all);
    free(p);
}

static void certainty_that_is_wrong_loses_what_the_clip_says(void **state)
{
    static const struct example sure[] = {{0, true, 1}, {1, false, 1}};
    static const struct example logits[] = {{-INFINITY, true, 1}, {1e300, false, 1}};
    static const struct example far[] = {{-30, true, 1}, {30, false, 1}};
    double most = -log(SHOAL_LOG_LOSS_CLIP);

    (void)state;
    assert_close(score_of(BINARY_PROBABILITY, 9, sure, 2).log_loss, most, 1e-12);
    assert_close(score_of(BINARY_LOGIT, 9, logits, 2).log_loss, most, 1e-12);
    assert_close(score_of(BINARY_LOGIT, 9, far, 2).log_loss, 30, 1e-12);
}

static void the_auc_is_that_of_all_pairs_with_ties(void **state)
{
    static const uint64_t values[] = {1, 2, 7, 100, 1000000};

    (void)state;
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (uint64_t seed = 0; seed < 6; seed++) {
            struct example *all = random_examples(400, seed, values[v], seed % 2);
            struct shoal_binary_score s = score_of(BINARY_LOGIT, 400, all, 400);

            assert_close(s.auc, plain_auc(all, 400), 1e-14);
            assert_true(s.auc_within == 0);
            free(all);
        }
}

static void scores_of_any_size_and_sign_are_ranked(void **state)
{
    static const struct example all[] = {
        {-INFINITY, false, 1}, {-1e300, false, 1},  {-2, true, 1},
        {-1e-300, false, 1},   {-0.0, true, 1},     {0.0, false, 1},
        {1e-300, true, 1},     {DBL_MAX, false, 1}, {INFINITY, true, 1},
    };

    (void)state;
    assert_close(score_of(BINARY_LOGIT, 100, all, 9).auc, plain_auc(all, 9), 1e-15);
}

static void beyond_what_is_kept_the_auc_is_within_its_bound(void **state)
{
    static const size_t keeps[] = {0, 1, 1000};
    struct example *all = random_examples(2000, 4, 100000, true);
    struct shoal_binary_score exact = score_of(BINARY_LOGIT, 2000, all, 2000);

    (void)state;
    assert_true(exact.auc_within == 0);
    for (size_t k = 0; k < sizeof keeps / sizeof *keeps; k++) {
        struct shoal_binary_score s = score_of(BINARY_LOGIT, keeps[k], all, 2000);

        assert_true(s.auc_within > 0 && s.auc_within < 1e-3);
        assert_close(s.auc, exact.auc, s.auc_within);
        assert_close(s.log_loss, exact.log_loss, 0);
        assert_close(s.brier, exact.brier, 0);
    }
    free(all);
}

static void binned_probabilities_are_told_apart_near_0_and_1(void **state)
{
    static const struct example all[] = {
        {1e-9, false, 1},    {2e-9, true, 1}, {1 - 2e-9, false, 1},
        {1 - 1e-9, true, 1}, {0, false, 1},   {1, true, 1},
    };
    struct shoal_binary_score s = score_of(BINARY_PROBABILITY, 0, all, 6);

    (void)state;
    assert_close(s.auc, plain_auc(all, 6), 1e-15);
    assert_true(s.auc_within == 0);
}

/* Whole weights of few: the sums of both orders have the same bits but for those
 * of the loss. */
static void assert_same_score(const struct shoal_binary_score *a,
                              const struct shoal_binary_score *b)
{
    assert_int_equal(a->examples, b->examples);
    assert_close(a->weight, b->weight, 0);
    assert_close(a->log_loss, b->log_loss, 1e-13);
    assert_close(a->accuracy, b->accuracy, 0);
    assert_close(a->auc, b->auc, 0);
    assert_close(a->auc_within, b->auc_within, 0);
    assert_close(a->brier, b->brier, 1e-13);
    assert_close(a->calibration, b->calibration, 1e-13);
    for (size_t i = 0; i < SHOAL_RELIABILITY_BINS; i++)
        assert_close(a->bins[i].weight, b->bins[i].weight, 0);
}

static void a_score_can_be_asked_for_in_between(void **state)
{
    struct example *all = random_examples(300, 2, 20, false);
    struct binary *b = binary_of(BINARY_LOGIT, 300, all, 150);
    struct shoal_binary_score s, whole = score_of(BINARY_LOGIT, 300, all, 300);

    (void)state;
    assert_ok(binary_score(b, &s));
    assert_close(s.auc, plain_auc(all, 150), 1e-14);
    for (size_t i = 150; i < 300; i++)
        assert_ok(binary_add(b, all[i].score, all[i].label, 1));
    assert_ok(binary_score(b, &s));
    assert_same_score(&s, &whole);
    binary_clear(b);
    for (size_t i = 0; i < 300; i++)
        assert_ok(binary_add(b, all[i].score, all[i].label, 1));
    assert_ok(binary_score(b, &s));
    assert_same_score(&s, &whole);
    binary_free(b);
    free(all);
}

static void the_scores_of_nothing_and_of_one_class_are_no_numbers(void **state)
{
    static const struct example ones[] = {{0.9, true, 1}, {0.8, true, 1}};
    static const struct example zeros[] = {{0.9, false, 1}};
    struct shoal_binary_score s = score_of(BINARY_PROBABILITY, 9, NULL, 0);

    (void)state;
    assert_int_equal(s.examples, 0);
    assert_true(isnan(s.log_loss) && isnan(s.auc) && isnan(s.accuracy) && isnan(s.calibration));
    s = score_of(BINARY_PROBABILITY, 0, NULL, 0);
    assert_true(isnan(s.auc) && isnan(s.auc_within));
    s = score_of(BINARY_PROBABILITY, 9, ones, 2);
    assert_true(isnan(s.auc));
    assert_close(s.calibration, 0.85, 1e-15);
    assert_close(s.base_log_loss, 0, 1e-14);
    s = score_of(BINARY_PROBABILITY, 9, zeros, 1);
    assert_true(isnan(s.auc) && isnan(s.calibration));
    assert_close(s.base_log_loss, 0, 1e-14);
}

static void what_is_no_score_is_refused(void **state)
{
    struct binary *p, *z;
    struct shoal_binary_score s;

    (void)state;
    assert_ok(binary_new(&p, BINARY_PROBABILITY, 9));
    assert_ok(binary_new(&z, BINARY_LOGIT, 9));
    assert_int_equal(binary_add(p, NAN, true, 1), SHOAL_EINVAL);
    assert_int_equal(binary_add(p, 1.5, true, 1), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "classify: found a probability of 1.5, want 0 to 1");
    assert_int_equal(binary_add(p, -1e-9, true, 1), SHOAL_EINVAL);
    assert_int_equal(binary_add(z, NAN, true, 1), SHOAL_EINVAL);
    assert_int_equal(binary_add(z, 1.5, true, -1), SHOAL_EINVAL);
    assert_int_equal(binary_add(z, 1.5, true, NAN), SHOAL_EINVAL);
    assert_int_equal(binary_add(z, 1.5, true, INFINITY), SHOAL_EINVAL);
    assert_ok(binary_score(z, &s));
    assert_int_equal(s.examples, 0);
    binary_free(p);
    binary_free(z);
}

/* ---- many classes ------------------------------------------------------------------ */

/* Of three: two 0s right, a 0 said to be 1, a 1 right, a 1 said to be 0, a 2 said
 * to be 0. */
static const struct {
    float scores[3];
    uint32_t label;
} SIX[] = {
    {{3, 1, 2}, 0}, {{1, 0, 0}, 0}, {{0, 1, 0}, 0}, {{0, 5, 1}, 1}, {{2, 1, 0}, 1}, {{9, 8, 7}, 2},
};

static struct classes *classes_of(size_t from, size_t to)
{
    struct classes *c;

    assert_ok(classes_new(&c, 3));
    for (size_t i = from; i < to; i++)
        assert_ok(classes_add(c, SIX[i].scores, SIX[i].label));
    return c;
}

static void the_scores_of_three_classes_are_those_worked_out_by_hand(void **state)
{
    static const uint64_t matrix[] = {2, 1, 0, 1, 1, 0, 1, 0, 0};
    struct classes *c = classes_of(0, 6);
    struct shoal_classes_score s;

    (void)state;
    classes_score(c, &s);
    assert_int_equal(s.examples, 6);
    assert_int_equal(s.classes, 3);
    assert_close(s.top1, 0.5, 1e-15);
    assert_close(s.top5, 1, 0);
    assert_memory_equal(classes_matrix(c), matrix, sizeof matrix);
    assert_close(class_recall(&classes_counts(c)[0]), 2.0 / 3, 1e-15);
    assert_close(class_f1(&classes_counts(c)[0]), 4.0 / 7, 1e-15);
    assert_close(s.macro_f1, (4.0 / 7 + 2.0 / 4 + 0) / 3, 1e-15);
    assert_close(s.weighted_f1, (3 * 4.0 / 7 + 2 * 2.0 / 4 + 0) / 6, 1e-15);
    classes_free(c);
}

static void classes_that_never_occur_do_not_count(void **state)
{
    float scores[10] = {0, 0, 1};
    struct shoal_classes_score s;
    struct classes *c;

    (void)state;
    assert_ok(classes_new(&c, 10));
    classes_score(c, &s);
    assert_true(isnan(s.top1) && isnan(s.macro_f1) && isnan(s.weighted_f1));
    assert_ok(classes_add(c, scores, 2));
    classes_score(c, &s);
    assert_close(s.macro_f1, 1, 0);
    assert_close(s.weighted_f1, 1, 0);
    classes_free(c);
}

/* Class 2 has the highest score, then come all others in their order. */
static void the_first_five_are_those_with_the_highest_scores(void **state)
{
    float scores[10] = {0, 0, 1};

    (void)state;
    for (uint32_t label = 0; label < 10; label++) {
        struct shoal_classes_score s;
        struct classes *c;

        assert_ok(classes_new(&c, 10));
        assert_ok(classes_add(c, scores, label));
        classes_score(c, &s);
        assert_close(s.top1, label == 2, 0);
        assert_close(s.top5, label < 5, 0);
        classes_free(c);
    }
}

static void classes_out_of_range_are_refused(void **state)
{
    static const float bad[] = {0, NAN, 0};
    struct classes *c;

    (void)state;
    assert_int_equal(classes_new(&c, 1), SHOAL_EINVAL);
    assert_null(c);
    assert_int_equal(classes_new(&c, CLASSES_MOST + 1), SHOAL_EINVAL);
    assert_ok(classes_new(&c, CLASSES_MATRIX + 1));
    assert_null(classes_matrix(c));
    classes_free(c);
    c = classes_of(0, 1);
    assert_int_equal(classes_add(c, bad, 0), SHOAL_EINVAL);
    assert_int_equal(classes_add(c, SIX[0].scores, 3), SHOAL_EINVAL);
    classes_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scores_of_five_examples_are_those_worked_out_by_hand),
        cmocka_unit_test(reliability_is_counted_in_ten_bins),
        cmocka_unit_test(a_weight_counts_as_so_many_examples),
        cmocka_unit_test(logits_score_as_their_probabilities),
        cmocka_unit_test(certainty_that_is_wrong_loses_what_the_clip_says),
        cmocka_unit_test(the_auc_is_that_of_all_pairs_with_ties),
        cmocka_unit_test(scores_of_any_size_and_sign_are_ranked),
        cmocka_unit_test(beyond_what_is_kept_the_auc_is_within_its_bound),
        cmocka_unit_test(binned_probabilities_are_told_apart_near_0_and_1),
        cmocka_unit_test(a_score_can_be_asked_for_in_between),
        cmocka_unit_test(the_scores_of_nothing_and_of_one_class_are_no_numbers),
        cmocka_unit_test(what_is_no_score_is_refused),
        cmocka_unit_test(the_scores_of_three_classes_are_those_worked_out_by_hand),
        cmocka_unit_test(classes_that_never_occur_do_not_count),
        cmocka_unit_test(the_first_five_are_those_with_the_highest_scores),
        cmocka_unit_test(classes_out_of_range_are_refused),
    };

    return cmocka_run_group_tests_name("classify", tests, NULL, NULL);
}
