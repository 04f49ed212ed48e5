/* One handle for models of any kind: from a file, from memory, and what it says. */
#include "saved/saved.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants some of the above first. */
#include <cmocka.h>

#include "train/train.h"

#include "scratch.h"
#include "training.h"

static void ok(shoal_status st)
{
    if (st != SHOAL_OK)
        fail_msg("%s", shoal_error());
}

static shoal_model *small_vectors(void)
{
    shoal_model *m;

    ok(shoal_model_open(&m, scratch_put("small.vec", "2 3\nred 1 2 3\nblue 4 5 6\n", 24)));
    return m;
}

/* Bytes of a file, at an odd address. */
static char *slurp(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    char *at = malloc(1 << 20);

    assert_non_null(f);
    *len = fread(at + 1, 1, (1 << 20) - 1, f);
    fclose(f);
    return at;
}

static shoal_model *small_net(void)
{
    static const char csv[] = "0,0,0\n1,1,1\n0,1,1\n1,0,0\n";
    struct shoal_samples_opts read = shoal_samples_default();
    struct train_opts opts = task_defaults("mlp");
    shoal_samples *s;
    shoal_model *m;
    shoal_net *net;

    ok(shoal_samples_open(&s, scratch_put("four.csv", csv, sizeof csv - 1), &read));
    opts.epochs = 1;
    opts.layers = "4";
    ok(train_mlp(&net, s, NULL, &opts, NULL));
    ok(shoal_net_save(net, scratch_path("net.shoal")));
    ok(shoal_model_open(&m, scratch_path("net.shoal")));
    shoal_net_close(net);
    shoal_samples_close(s);
    return m;
}

static void a_model_is_of_one_kind_alone(void **state)
{
    shoal_model *v = small_vectors(), *n = small_net();

    (void)state;
    assert_string_equal(shoal_model_kind(v), "vectors");
    assert_non_null(shoal_model_vectors(v));
    assert_null(shoal_model_linear(v));
    assert_null(shoal_model_net(v));
    assert_string_equal(shoal_model_kind(n), "net");
    assert_non_null(shoal_model_net(n));
    assert_null(shoal_model_vectors(n));
    shoal_model_close(v);
    shoal_model_close(n);
}

static void bytes_at_any_address_make_the_model_of_their_file(void **state)
{
    static const char *const names[] = {"v.shoal", "v.bin", "net.shoal"};
    shoal_model *v = small_vectors(), *m;

    (void)state;
    shoal_model_close(small_net());
    for (size_t i = 0; i < 2; i++)
        ok(shoal_model_save(v, scratch_path(names[i]), NULL));
    for (size_t i = 0; i < 3; i++) {
        size_t len;
        char *at = slurp(scratch_path(names[i]), &len);

        ok(shoal_model_open_memory(&m, "bytes", at + 1, len));
        memset(at, 0, len + 1); /* which were copied */
        assert_string_equal(shoal_model_kind(m), i < 2 ? "vectors" : "net");
        if (i < 2)
            assert_int_equal(shoal_vectors_find(shoal_model_vectors(m), "blue", 4), 1);
        shoal_model_close(m);
        free(at);
    }
    shoal_model_close(v);
}

static void bytes_that_are_damaged_are_refused(void **state)
{
    shoal_model *v = small_vectors(), *m;
    size_t len;
    char *at;

    (void)state;
    ok(shoal_model_save(v, scratch_path("v.shoal"), NULL));
    at = slurp(scratch_path("v.shoal"), &len);
    at[1 + len / 2] ^= 1;
    assert_int_equal(shoal_model_open_memory(&m, "bytes", at + 1, len), SHOAL_EFORMAT);
    assert_null(m);
    assert_int_equal(shoal_model_open_memory(&m, "bytes", "", 0), SHOAL_EFORMAT);
    free(at);
    shoal_model_close(v);
}

static void the_matrix_is_the_rows_where_they_lie(void **state)
{
    struct shoal_save_opts half = {.dtype = SHOAL_F16};
    struct shoal_matrix a;
    shoal_model *v = small_vectors(), *other;

    (void)state;
    ok(shoal_vectors_matrix(shoal_model_vectors(v), &a));
    assert_int_equal(a.rows, 2);
    assert_int_equal(a.dim, 3);
    assert_true(a.stride >= 3 && a.data[a.stride + 2] == 6);
    assert_string_equal(shoal_vocab_word(a.words, 1), "blue");
    ok(shoal_model_save(v, scratch_path("half.shoal"), &half));
    ok(shoal_model_open(&other, scratch_path("half.shoal")));
    assert_int_equal(shoal_vectors_matrix(shoal_model_vectors(other), &a), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "vectors: their numbers are f16, want f32");
    shoal_model_close(other);
    shoal_model_close(v);
}

static void add_key(void *user, const struct shoal_fact *f)
{
    if (f->key)
        strcat(strcat(user, f->key), " ");
}

static void programs_are_told_what_it_is_by_key(void **state)
{
    shoal_model *v = small_vectors(), *n = small_net();
    char keys[256] = "";
    struct shoal_reporter to = {.fact = add_key, .user = keys};

    (void)state;
    ok(shoal_model_describe(v, 10, &to));
    ok(shoal_model_describe(n, 10, &to));
    assert_string_equal(keys, "words dimensions net inputs classes parameters ");
    shoal_model_close(v);
    shoal_model_close(n);
}

static bool add_lines(void *user, const char *text, size_t len)
{
    assert_int_equal(strlen(text), len);
    strcat(user, text);
    return true;
}

static bool stop(void *user, const char *text, size_t len)
{
    (void)user, (void)text, (void)len;
    return false;
}

static void answers_come_as_lines_until_nobody_wants_more(void **state)
{
    shoal_model *v = small_vectors(), *n = small_net();
    struct shoal_ask_opts opts = shoal_ask_default();
    const char *input = scratch_path("four.csv");
    char said[1024] = "";
    size_t lines = 0;

    (void)state;
    ok(shoal_model_predict(n, &input, 1, &opts, add_lines, said, NULL));
    for (const char *at = said; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 4);
    assert_int_equal(shoal_model_predict(n, &input, 1, &opts, stop, NULL, NULL), SHOAL_ESTOP);
    assert_int_equal(shoal_model_predict(v, &input, 1, &opts, stop, NULL, NULL), SHOAL_EINVAL);
    assert_true(shoal_model_predicts(scratch_path("net.shoal")));
    assert_false(shoal_model_predicts(scratch_path("small.vec")));
    shoal_model_close(v);
    shoal_model_close(n);
}

static void a_format_that_a_kind_has_not_is_refused(void **state)
{
    shoal_model *n = small_net();

    (void)state;
    assert_int_equal(shoal_model_save(n, scratch_path("net.bin"), NULL), SHOAL_EINVAL);
    ok(shoal_model_save(n, scratch_path("net.safetensors"), NULL));
    ok(shoal_model_save(n, scratch_path("net"), NULL));
    shoal_model_close(n);
}

static void a_file_that_holds_no_model_is_named(void **state)
{
    shoal_model *m;

    (void)state;
    assert_int_equal(shoal_model_open(&m, scratch_path("nowhere")), SHOAL_ENOENT);
    assert_null(m);
    shoal_model_close(NULL);
    shoal_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_of_one_kind_alone),
        cmocka_unit_test(bytes_at_any_address_make_the_model_of_their_file),
        cmocka_unit_test(bytes_that_are_damaged_are_refused),
        cmocka_unit_test(the_matrix_is_the_rows_where_they_lie),
        cmocka_unit_test(programs_are_told_what_it_is_by_key),
        cmocka_unit_test(answers_come_as_lines_until_nobody_wants_more),
        cmocka_unit_test(a_format_that_a_kind_has_not_is_refused),
        cmocka_unit_test(a_file_that_holds_no_model_is_named),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
