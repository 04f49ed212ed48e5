/* What predictions of a classifier come to, against sums by hand and by brute force. */
#include "scratch.h"

#include "eval/eval.h"
#include "train/train.h"

#include <math.h>

static double draw(uint64_t i)
{
    return (double)(rng_at(7, 1, i) % 1000) / 1000;
}

/* Three classes; probabilities of few different values, so that there are ties. */
static struct predictions *some(size_t n, unsigned classes)
{
    struct predictions *p;

    assert_int_equal(predictions_new(&p, classes, n), SHOAL_OK);
    for (size_t i = 0; i < n; i++) {
        uint32_t label = (uint32_t)(rng_at(7, 2, i) % classes);
        float q[8], sum = 0;

        for (unsigned k = 0; k < classes; k++)
            sum += q[k] = (float)(1 + floor(6 * draw(i * classes + k)) + (k == label));
        for (unsigned k = 0; k < classes; k++)
            q[k] /= sum;
        assert_int_equal(predictions_add(p, q, label), SHOAL_OK);
    }
    return p;
}

/* The share of pairs, one of the class and one not, that are in the right order. */
static double auc_by_pairs(const struct predictions *p, uint32_t class)
{
    double right = 0, pairs = 0;

    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->n; k++)
            if (p->label[i] == class && p->label[k] != class) {
                float a = p->p[i * p->classes + class], b = p->p[k * p->classes + class];

                right += a > b ? 1 : a == b ? 0.5 : 0;
                pairs++;
            }
    return right / pairs;
}

static void auc_is_the_share_of_pairs_in_the_right_order(void **state)
{
    struct predictions *p = some(300, 3);

    (void)state;
    for (uint32_t k = 0; k < 3; k++) {
        struct rank_curve c;

        assert_int_equal(curve_roc(&c, p, k), SHOAL_OK);
        assert_true(fabs(c.area - auc_by_pairs(p, k)) < 1e-9);
        assert_true(c.x[0] == 0 && c.y[0] == 0 && c.x[c.n - 1] == 1 && c.y[c.n - 1] == 1);
        for (size_t i = 1; i < c.n; i++)
            assert_true(c.x[i] >= c.x[i - 1] && c.y[i] >= c.y[i - 1]);
        curve_fini(&c);
    }
    predictions_free(p);
}

/* For each threshold that occurs: precision of what is at least as likely, weighted by the recall
 * that it adds. */
static double precision_by_thresholds(const struct predictions *p, uint32_t class)
{
    double sum = 0, before = 0, there = 0, last = INFINITY;

    for (size_t i = 0; i < p->n; i++)
        there += p->label[i] == class;
    for (;;) {
        double at = -1, right = 0, taken = 0;

        for (size_t i = 0; i < p->n; i++) {
            double q = (double)p->p[i * p->classes + class];

            at = q < last && q > at ? q : at;
        }
        if (at < 0)
            return sum;
        for (size_t i = 0; i < p->n; i++)
            if ((double)p->p[i * p->classes + class] >= at) {
                taken++;
                right += p->label[i] == class;
            }
        sum += (right / there - before) * right / taken;
        before = right / there;
        last = at;
    }
}

static void average_precision_is_that_of_all_thresholds(void **state)
{
    struct predictions *p = some(200, 3);

    (void)state;
    for (uint32_t k = 0; k < 3; k++) {
        struct rank_curve c;

        assert_int_equal(curve_pr(&c, p, k), SHOAL_OK);
        assert_true(fabs(c.area - precision_by_thresholds(p, k)) < 1e-9);
        curve_fini(&c);
    }
    predictions_free(p);
}

static void a_class_that_never_comes_has_no_curve(void **state)
{
    struct predictions *p;
    struct rank_curve c;
    const float q[3] = {0.5f, 0.3f, 0.2f};

    (void)state;
    assert_int_equal(predictions_new(&p, 3, 4), SHOAL_OK);
    assert_int_equal(predictions_add(p, q, 0), SHOAL_OK);
    assert_int_equal(predictions_add(p, q, 1), SHOAL_OK);
    assert_int_equal(curve_roc(&c, p, 2), SHOAL_OK);
    assert_true(isnan(c.area) && c.n == 0);
    curve_fini(&c);
    predictions_free(p);
}

static void thinned_curves_keep_their_ends_and_come_near(void **state)
{
    struct predictions *p = some(2000, 2);
    struct rank_curve c, all;

    (void)state;
    assert_int_equal(curve_roc(&all, p, 1), SHOAL_OK);
    assert_int_equal(curve_roc(&c, p, 1), SHOAL_OK);
    curve_thin(&c, 0.02);
    assert_true(c.n <= all.n && c.x[0] == 0 && c.x[c.n - 1] == 1 && c.y[c.n - 1] == 1);
    for (double x = 0; x <= 1; x += 0.05)
        assert_true(fabs(curve_at(&c, x) - curve_at(&all, x)) < 0.05);
    curve_fini(&c);
    curve_fini(&all);
    predictions_free(p);
}

static void confusions_are_counted_by_hand(void **state)
{
    struct predictions *p;
    const float sure[2][2] = {{0.9f, 0.1f}, {0.2f, 0.8f}};
    const uint64_t want[4] = {2, 1, 1, 3};
    const uint32_t label[7] = {0, 0, 0, 1, 1, 1, 1}, said[7] = {0, 0, 1, 0, 1, 1, 1};

    (void)state;
    assert_int_equal(predictions_new(&p, 2, 7), SHOAL_OK);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(predictions_add(p, sure[said[i]], label[i]), SHOAL_OK);
    assert_memory_equal(classes_matrix(p->counts), want, sizeof want);
    predictions_free(p);
}

/* p = 0.1 of 3, of which one came; p = 0.8 of 7, of which 4 came: |0.1 - 1/3| 0.3 + |0.8 - 4/7| 0.7 */
static void the_calibration_error_is_that_of_the_bins(void **state)
{
    struct predictions *p;
    struct reliability r;
    const uint32_t label[10] = {0, 1, 0, 1, 1, 1, 1, 0, 0, 0};

    (void)state;
    assert_int_equal(predictions_new(&p, 2, 10), SHOAL_OK);
    for (size_t i = 0; i < 10; i++) {
        float q[2] = {i < 3 ? 0.9f : 0.2f, i < 3 ? 0.1f : 0.8f};

        assert_int_equal(predictions_add(p, q, label[i]), SHOAL_OK);
    }
    reliability_of(&r, p);
    assert_true(fabs(r.error - (fabs(0.1 - 1.0 / 3) * 0.3 + fabs(0.8 - 4.0 / 7) * 0.7)) < 1e-6);
    assert_int_equal(r.bin[1].n, 3);
    assert_int_equal(r.bin[8].n, 7);
    predictions_free(p);
}

/* ---- the record ---- */

static void of_many_classes_the_worst_are_listed(void **state)
{
    enum { MANY = 60 };
    struct learned *l = mem_array(1, sizeof *l);
    struct predictions *p;
    const char *names[MANY];
    float q[MANY];

    (void)state;
    assert_int_equal(predictions_new(&p, MANY, 600), SHOAL_OK);
    for (uint32_t i = 0; i < 600; i++) {
        for (uint32_t k = 0; k < MANY; k++)
            q[k] = k == (i % MANY == 7 ? 8 : i % MANY) ? 0.5f : 0.5f / (MANY - 1);
        assert_int_equal(predictions_add(p, q, i % MANY), SHOAL_OK);
    }
    for (size_t k = 0; k < MANY; k++)
        names[k] = k == 7 ? "seven" : k == 8 ? "eight" : "other";
    assert_int_equal(learned_classes(l, p, names), SHOAL_OK);
    assert_string_equal(l->at[1].name, "confusions");
    assert_int_equal(l->at[1].nrows, 1);
    assert_string_equal(exhibit_text(&l->at[1], 0, 0), "seven");
    assert_string_equal(exhibit_text(&l->at[1], 0, 1), "eight");
    assert_true(exhibit_real(&l->at[1], 0, 2) == 10);
    learned_fini(l);
    free(l);
    predictions_free(p);
}

static void words_of_a_record_are_clean_and_short(void **state)
{
    struct learned *l = mem_array(1, sizeof *l);
    struct exhibit *e = learned_exhibit(l, EXHIBIT_TABLE, "t", "T");
    char long_word[1000];

    (void)state;
    memset(long_word, 'x', sizeof long_word);
    long_word[999] = '\0';
    exhibit_column(e, "w", COLUMN_WORD);
    exhibit_row(l, e);
    exhibit_word(l, e, "a\x1b[2J\xff");
    exhibit_row(l, e);
    exhibit_word(l, e, long_word);
    assert_string_equal(exhibit_text(e, 0, 0), "a?[2J?");
    assert_true(strlen(exhibit_text(e, 1, 0)) <= LEARNED_WORD);
    for (size_t i = 0; i < 2 * LEARNED_ROWS; i++)
        exhibit_row(l, e);
    assert_int_equal(e->nrows, LEARNED_ROWS);
    assert_int_equal(l->status, SHOAL_OK);
    learned_fini(l);
    free(l);
}

static void bytes_become_base64(void **state)
{
    static const char *const said[] = {"Zg==", "Zm8=", "Zm9v", "Zm9vYg=="};
    struct learned *l = mem_array(1, sizeof *l);
    struct exhibit *e = learned_exhibit(l, EXHIBIT_PICTURES, "t", "T");

    (void)state;
    exhibit_column(e, "file", COLUMN_FILE);
    for (size_t i = 0; i < 4; i++) {
        exhibit_row(l, e);
        exhibit_file(l, e, "foob", i + 1);
        assert_string_equal(exhibit_text(e, i, 0), said[i]);
    }
    learned_fini(l);
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auc_is_the_share_of_pairs_in_the_right_order),
        cmocka_unit_test(average_precision_is_that_of_all_thresholds),
        cmocka_unit_test(a_class_that_never_comes_has_no_curve),
        cmocka_unit_test(thinned_curves_keep_their_ends_and_come_near),
        cmocka_unit_test(confusions_are_counted_by_hand),
        cmocka_unit_test(the_calibration_error_is_that_of_the_bins),
        cmocka_unit_test(of_many_classes_the_worst_are_listed),
        cmocka_unit_test(words_of_a_record_are_clean_and_short),
        cmocka_unit_test(bytes_become_base64),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
