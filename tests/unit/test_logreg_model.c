/* Click models as they are asked, scored, saved and opened again. */
#include <shoal.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "scratch.h"
#include "training.h"
#include "logreg.h"

enum { BITS = 10, MOST = 64 };

/* Three features, of which every row has one or two, some with values. */
static const char lines[] = "1 1:1 2:0.5\n0 2:1\n1 1:2\n0 2:1 7:-3\n1 1:1\n0 7:1\n1 7:2\n0 2:3\n";

static shoal_logreg *small_model(const char *text)
{
    shoal_clicks *rows = read_rows(text, BITS);
    struct train_opts o = logreg_opts(OPTIMIZER_FTRL);
    shoal_logreg *model;

    o.lr = 0.5;
    o.epochs = 3;
    model = train_rows(rows, NULL, &o, NULL);
    shoal_clicks_close(rows);
    return model;
}

/* ---- asking ---- */

static double weight_of(const shoal_logreg *m, const char *name, uint32_t *slot)
{
    struct shoal_weight top[MOST];
    size_t found;

    assert_int_equal(shoal_logreg_largest(m, top, MOST, &found), SHOAL_OK);
    for (size_t i = 0; i < found; i++)
        if (top[i].name && strcmp(top[i].name, name) == 0) {
            if (slot)
                *slot = top[i].slot;
            return (double)top[i].weight;
        }
    return 0;
}

struct answers {
    double p[MOST];
    size_t n, stop_at;
};

static shoal_status take(struct each *e, double *z, const uint8_t *label, const float *weight,
                         size_t n)
{
    struct answers *a = e->user;

    (void)label, (void)weight;
    assert_true(a->n + n <= MOST);
    for (size_t i = 0; i < n; i++)
        a->p[a->n++] = sigmoid(z[i]);
    return a->stop_at == 0 || a->n < a->stop_at ? SHOAL_OK : shoal_fail(SHOAL_ESTOP, "enough");
}

static shoal_status ask(const shoal_logreg *m, const char *path,
                        const struct shoal_clicks_opts *opts, struct answers *a,
                        struct shoal_clicks_stats *stats)
{
    struct each e = {.user = a, .rows = take, .unlabelled = true};

    return logreg_each(m, &path, 1, opts, &e, stats);
}

static struct answers predict(const shoal_logreg *m, const char *text)
{
    const char *path = scratch_put("ask.txt", text, strlen(text));
    struct answers a = {0};

    if (ask(m, path, NULL, &a, NULL) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return a;
}

static struct shoal_binary_score eval(const shoal_logreg *m, const char *path)
{
    struct shoal_binary_score s;

    if (logreg_eval(m, &path, 1, NULL, &s, NULL) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return s;
}

static void one_row_and_many_are_answered_alike(void **state)
{
    shoal_logreg *m = small_model(lines);
    uint32_t slots[3];
    double b = (double)m->bias[0], w1 = weight_of(m, "1", &slots[0]),
           w2 = weight_of(m, "2", &slots[1]), w7 = weight_of(m, "7", &slots[2]);
    const float values[] = {2, 0.25f, -1};
    struct answers a = predict(m, "1 1:2 2:0.25 7:-1\n0 1:1 2:1 7:1\n0 2:1\n");

    (void)state;
    assert_true(w1 > 0 && w2 < 0 && w7 != 0);
    assert_int_equal(a.n, 3);
    assert_near(a.p[0], sigmoid(b + 2 * w1 + 0.25 * w2 - w7), 1e-12);
    assert_near(a.p[1], sigmoid(b + w1 + w2 + w7), 1e-12);
    assert_near(shoal_logreg_one(m, slots, values, 3), a.p[0], 1e-12);
    assert_near(shoal_logreg_one(m, slots, NULL, 3), a.p[1], 1e-12);
    assert_near(shoal_logreg_one(m, slots + 1, NULL, 1), a.p[2], 1e-12);
    assert_near(shoal_logreg_one(m, NULL, NULL, 0), sigmoid(b), 1e-12);
    logreg_close(m);
}

static void features_never_seen_weigh_nothing(void **state)
{
    shoal_logreg *m = small_model(lines);
    struct answers a = predict(m, "0 5:1 900:77\n0 1:1\n0 1:1 4:1 5:1 6:1\n1\n");
    double b = (double)m->bias[0];

    (void)state;
    assert_int_equal(m->n, 3);
    assert_int_equal(a.n, 4);
    assert_near(a.p[0], sigmoid(b), 1e-12);
    assert_true(a.p[1] == a.p[2] && a.p[1] != a.p[0]);
    assert_near(a.p[3], sigmoid(b), 1e-12);
    logreg_close(m);
}

static void rows_to_predict_need_no_label(void **state)
{
    shoal_logreg *m = small_model(lines);
    struct answers with = predict(m, "1 1:1\n0 2:1\n"), without = predict(m, "1:1\n2:1\n");

    (void)state;
    assert_int_equal(without.n, 2);
    assert_memory_equal(with.p, without.p, 2 * sizeof(double));
    logreg_close(m);
}

static void scores_are_those_of_the_answers(void **state)
{
    static const char text[] = "1 1:1\n0 2:1\n1 2:1 7:1\n0 7:1\n0 1:1 7:1\n";
    static const double y[] = {1, 0, 1, 0, 0};
    shoal_logreg *m = small_model(lines);
    struct answers a = predict(m, text);
    struct shoal_binary_score s = eval(m, scratch_put("test.txt", text, strlen(text)));
    double loss = 0, brier = 0, right = 0, mean = 0, above = 0;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        loss -= log(y[i] == 1 ? a.p[i] : 1 - a.p[i]) / 5;
        brier += (a.p[i] - y[i]) * (a.p[i] - y[i]) / 5;
        right += ((a.p[i] > 0.5) == (y[i] == 1)) / 5.0;
        mean += a.p[i] / 5;
        for (size_t j = 0; j < 5; j++)
            above += y[i] == 1 && y[j] == 0 ? (a.p[i] > a.p[j]) + 0.5 * (a.p[i] == a.p[j]) : 0;
    }
    assert_int_equal(s.examples, 5);
    assert_near(s.log_loss, loss, 1e-12);
    assert_near(s.brier, brier, 1e-12);
    assert_near(s.accuracy, right, 1e-12);
    assert_near(s.predicted, mean, 1e-12);
    assert_near(s.auc, above / 6, s.auc_within + 1e-12);
    assert_near(s.base_rate, 0.4, 1e-12);
    assert_near(s.base_log_loss, -0.4 * log(0.4) - 0.6 * log(0.6), 1e-12);
    assert_near(s.calibration, mean / 0.4, 1e-12);
    logreg_close(m);
}

static void weights_of_rows_count_in_scores(void **state)
{
    shoal_logreg *m = small_model("1 | a\n-1 | b\n1 | a b\n");
    static const char heavy[] = "1 3 | a\n-1 1 | a\n", many[] = "1 | a\n1 | a\n1 | a\n-1 | a\n";
    struct shoal_binary_score x = eval(m, scratch_put("heavy.txt", heavy, strlen(heavy)));
    struct shoal_binary_score y = eval(m, scratch_put("many.txt", many, strlen(many)));

    (void)state;
    assert_near(x.log_loss, y.log_loss, 1e-12);
    assert_near(x.weight, 4, 1e-12);
    assert_near(x.base_rate, 0.75, 1e-12);
    logreg_close(m);
}

static void predict_same(const shoal_logreg *m, const char *text, const char *file)
{
    struct answers a = {0}, b = {0};
    struct shoal_clicks_stats stats = {0};

    assert_int_equal(ask(m, text, NULL, &a, NULL), SHOAL_OK);
    assert_int_equal(ask(m, file, NULL, &b, &stats), SHOAL_OK);
    assert_int_equal(stats.rows, 8);
    assert_int_equal(b.n, 8);
    for (size_t i = 0; i < 8; i++)
        assert_near(a.p[i], b.p[i], 1e-12);
    b = (struct answers){.stop_at = 1};
    assert_int_equal(ask(m, file, NULL, &b, NULL), SHOAL_ESTOP);
}

static void encoded_rows_score_as_their_text(void **state)
{
    shoal_logreg *m = small_model(lines);
    const char *text = scratch_put("enc.txt", lines, sizeof lines - 1), *file = scratch_path("enc");
    struct shoal_clicks_opts o = shoal_logreg_reading(m);
    struct shoal_binary_score x, y;
    struct answers none = {0};

    (void)state;
    assert_int_equal(o.bits, BITS);
    assert_int_equal(o.format, SHOAL_CLICKS_LIBSVM);
    assert_int_equal(shoal_clicks_encode(file, &text, 1, &o, NULL), SHOAL_OK);
    x = eval(m, text);
    y = eval(m, file);
    assert_int_equal(y.examples, 8);
    assert_near(x.log_loss, y.log_loss, 1e-12);
    assert_near(x.auc, y.auc, 1e-12);
    predict_same(m, text, file);

    o.bits = BITS + 1;
    assert_int_equal(shoal_clicks_encode(file, &text, 1, &o, NULL), SHOAL_OK);
    assert_sentence(logreg_eval(m, &file, 1, NULL, &y, NULL), SHOAL_EINVAL,
                    "has 2^11 slots, the model has 2^10");
    assert_sentence(ask(m, file, NULL, &none, NULL), SHOAL_EINVAL,
                    "has 2^11 slots, the model has 2^10");
    assert_int_equal(none.n, 0);
    logreg_close(m);
}

static void whoever_takes_answers_may_stop(void **state)
{
    shoal_logreg *m = small_model(lines);
    const char *path = scratch_put("stop.txt", lines, sizeof lines - 1);
    struct answers a = {.stop_at = 1};

    (void)state;
    assert_int_equal(ask(m, path, NULL, &a, NULL), SHOAL_ESTOP);
    assert_true(a.n >= 1);
    logreg_close(m);
}

static void bad_lines_are_refused_or_counted(void **state)
{
    shoal_logreg *m = small_model(lines);
    static const char text[] = "1 1:1\n0 x\n0 2:1\n1 2:1 1:1\n";
    const char *path = scratch_put("bad.txt", text, strlen(text));
    struct shoal_clicks_opts o = shoal_clicks_default();
    struct shoal_clicks_stats stats = {0};
    struct shoal_binary_score s;
    struct answers a = {0};

    (void)state;
    assert_sentence(logreg_eval(m, &path, 1, NULL, &s, NULL), SHOAL_EFORMAT, "bad.txt:2: ");
    o.skip_bad = 1;
    assert_sentence(logreg_eval(m, &path, 1, &o, &s, NULL), SHOAL_EFORMAT, "bad.txt:4: ");
    o.skip_bad = 2;
    assert_int_equal(logreg_eval(m, &path, 1, &o, &s, &stats), SHOAL_OK);
    assert_int_equal(stats.bad_lines, 2);
    assert_int_equal(s.examples, 2);
    assert_non_null(strstr(stats.bad[0], "bad.txt:2: "));
    assert_non_null(strstr(stats.bad[1], "bad.txt:4: "));
    assert_int_equal(ask(m, path, &o, &a, &stats), SHOAL_OK);
    assert_int_equal(a.n, 2);
    path = scratch_path("nowhere");
    assert_sentence(logreg_eval(m, &path, 1, NULL, &s, NULL), SHOAL_ENOENT, "nowhere");
    logreg_close(m);
}

/* ---- what it is ---- */

static void the_largest_weights_come_first(void **state)
{
    shoal_logreg *m = small_model(lines);
    struct shoal_weight top[MOST];
    size_t found;

    (void)state;
    assert_int_equal(shoal_logreg_largest(m, top, 0, &found), SHOAL_OK);
    assert_int_equal(found, 0);
    assert_int_equal(shoal_logreg_largest(m, top, MOST, &found), SHOAL_OK);
    assert_int_equal(found, 3);
    for (size_t i = 1; i < found; i++)
        assert_true(fabsf(top[i - 1].weight) >= fabsf(top[i].weight));
    for (size_t k = 1; k < 3; k++) {
        struct shoal_weight few[2];

        assert_int_equal(shoal_logreg_largest(m, few, k, &found), SHOAL_OK);
        assert_int_equal(found, k);
        for (size_t i = 0; i < k; i++)
            assert_true(few[i].slot == top[i].slot && few[i].weight == top[i].weight);
    }
    logreg_close(m);
}

/* ---- files ---- */

static shoal_status open_file(shoal_logreg **out, const char *path)
{
    struct container *c;
    void *m = NULL;
    shoal_status st = container_open(&c, path);

    if (st == SHOAL_OK)
        st = logreg_read(&m, c);
    *out = m;
    return st;
}

static shoal_logreg *open_model(const char *path)
{
    shoal_logreg *m = NULL;

    if (open_file(&m, path) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return m;
}

static void assert_same_models(const shoal_logreg *a, const shoal_logreg *b)
{
    struct shoal_weight x[MOST], y[MOST];
    size_t n, m;

    assert_int_equal(a->bits, b->bits);
    assert_int_equal(a->n, b->n);
    assert_true((double)a->bias[0] == (double)b->bias[0]);
    assert_int_equal(shoal_logreg_largest(a, x, MOST, &n), SHOAL_OK);
    assert_int_equal(shoal_logreg_largest(b, y, MOST, &m), SHOAL_OK);
    assert_int_equal(n, m);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(x[i].slot, y[i].slot);
        assert_true(x[i].weight == y[i].weight);
        assert_string_equal(x[i].name, y[i].name);
    }
}

static void a_saved_model_answers_as_before(void **state)
{
    static const char asked[] = "1 1:2 2:0.25 7:-1\n0 1:1 2:1 7:1\n0 2:1\n0 8:1\n";
    shoal_logreg *m = small_model(lines), *again;
    struct answers before = predict(m, asked), after;

    (void)state;
    assert_int_equal(logreg_save(m, scratch_path("m.shoal"), NULL), SHOAL_OK);
    again = open_model(scratch_path("m.shoal"));
    assert_same_models(m, again);
    after = predict(again, asked);
    assert_int_equal(after.n, 4);
    assert_memory_equal(before.p, after.p, sizeof before.p);
    logreg_close(m);
    logreg_close(again);
}

static void a_saved_model_reads_other_rows_as_its_own(void **state)
{
    static const char csv[] = "age,clicked,city\n20,1,Rome\n30,0,Oslo\n40,1,Rome\n50,0,Bern\n";
    const char *path = scratch_put("people.csv", csv, strlen(csv));
    struct shoal_clicks_opts o = shoal_clicks_default();
    struct train_opts train = logreg_opts(OPTIMIZER_SGD);
    shoal_clicks *rows = NULL;
    shoal_logreg *m, *again;
    struct answers a, b;

    (void)state;
    o.table.label = "clicked";
    o.table.numeric = "age";
    o.bits = BITS;
    assert_int_equal(shoal_clicks_read(&rows, &path, 1, &o, NULL), SHOAL_OK);
    m = train_rows(rows, NULL, &train, NULL);
    shoal_clicks_close(rows);
    assert_int_equal(logreg_save(m, scratch_path("p.shoal"), NULL), SHOAL_OK);
    again = open_model(scratch_path("p.shoal"));
    o = shoal_logreg_reading(again);
    assert_int_equal(o.format, SHOAL_CLICKS_CSV);
    assert_string_equal(shoal_columns_facts(o.columns, 1).name, "clicked");
    assert_int_equal(shoal_columns_facts(o.columns, 1).kind, SHOAL_COLUMN_LABEL);
    assert_int_equal(shoal_columns_facts(o.columns, 0).kind, SHOAL_COLUMN_NUMBER);
    assert_int_equal(o.nlabels, 2);
    a = predict(m, csv);
    b = predict(again, csv);
    assert_int_equal(a.n, 4);
    assert_int_equal(b.n, 4);
    assert_memory_equal(a.p, b.p, 4 * sizeof(double));
    assert_true(a.p[0] != a.p[1]);
    assert_same_models(m, again);
    logreg_close(m);
    logreg_close(again);
}

static void a_model_without_weights_is_saved_too(void **state)
{
    shoal_clicks *rows = read_rows("1 1:1\n0 1:1\n", BITS);
    struct train_opts o = logreg_opts(OPTIMIZER_FTRL);
    shoal_logreg *m, *again;

    (void)state;
    o.l1 = 100;
    m = train_rows(rows, NULL, &o, NULL);
    assert_int_equal(m->n, 0);
    assert_int_equal(logreg_save(m, scratch_path("none.shoal"), NULL), SHOAL_OK);
    again = open_model(scratch_path("none.shoal"));
    assert_same_models(m, again);
    logreg_close(m);
    logreg_close(again);
    shoal_clicks_close(rows);
}

static void refuse_file(const char *path, const char *part)
{
    shoal_logreg *m = (shoal_logreg *)&m;

    assert_sentence(open_file(&m, path), SHOAL_EFORMAT, part);
    assert_null(m);
}

static void every_truncation_is_refused(void **state)
{
    shoal_logreg *m = small_model(lines);
    struct bytes b;

    (void)state;
    assert_int_equal(logreg_save(m, scratch_path("whole.shoal"), NULL), SHOAL_OK);
    b = scratch_get(scratch_path("whole.shoal"));
    for (size_t len = 0; len < b.len; len++)
        refuse_file(scratch_put("cut.shoal", b.at, len), "cut.shoal: ");
    assert_int_equal(bytes_add(&b, "", 1), SHOAL_OK);
    refuse_file(scratch_put("cut.shoal", b.at, b.len), "cut.shoal: ");
    bytes_fini(&b);
    logreg_close(m);
}

static void a_flipped_bit_anywhere_is_refused(void **state)
{
    shoal_logreg *m = small_model(lines);
    struct bytes b;

    (void)state;
    assert_int_equal(logreg_save(m, scratch_path("whole.shoal"), NULL), SHOAL_OK);
    b = scratch_get(scratch_path("whole.shoal"));
    for (size_t i = 0; i < b.len; i++) {
        char bit = (char)(1 << (i % 8));

        b.at[i] ^= bit;
        refuse_file(scratch_put("bit.shoal", b.at, b.len), "bit.shoal: ");
        b.at[i] ^= bit;
    }
    logreg_close(open_model(scratch_put("bit.shoal", b.at, b.len)));
    bytes_fini(&b);
    logreg_close(m);
}

static void other_files_are_refused_by_what_they_are(void **state)
{
    const char *text = scratch_put("l.txt", lines, sizeof lines - 1);
    struct shoal_clicks_opts o = shoal_clicks_default();
    shoal_logreg *m = NULL;

    (void)state;
    refuse_file(text, "l.txt: ");
    assert_int_equal(shoal_clicks_encode(scratch_path("c.shoal"), &text, 1, &o, NULL), SHOAL_OK);
    refuse_file(scratch_path("c.shoal"), "holds a clicks, want a logreg model");
    assert_sentence(open_file(&m, scratch_path("nowhere")), SHOAL_ENOENT, "nowhere");
    assert_null(m);
}

static void saving_where_nothing_can_be_leaves_nothing(void **state)
{
    shoal_logreg *m = small_model(lines);

    (void)state;
    assert_true(logreg_save(m, scratch_path("no/where.shoal"), NULL) != SHOAL_OK);
    assert_error_has("no/where.shoal");
    logreg_close(m);
    logreg_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_and_many_are_answered_alike),
        cmocka_unit_test(features_never_seen_weigh_nothing),
        cmocka_unit_test(rows_to_predict_need_no_label),
        cmocka_unit_test(scores_are_those_of_the_answers),
        cmocka_unit_test(weights_of_rows_count_in_scores),
        cmocka_unit_test(encoded_rows_score_as_their_text),
        cmocka_unit_test(whoever_takes_answers_may_stop),
        cmocka_unit_test(bad_lines_are_refused_or_counted),
        cmocka_unit_test(the_largest_weights_come_first),
        cmocka_unit_test(a_saved_model_answers_as_before),
        cmocka_unit_test(a_saved_model_reads_other_rows_as_its_own),
        cmocka_unit_test(a_model_without_weights_is_saved_too),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(a_flipped_bit_anywhere_is_refused),
        cmocka_unit_test(other_files_are_refused_by_what_they_are),
        cmocka_unit_test(saving_where_nothing_can_be_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
