/* The training loop: what it promises of equal bytes, resuming and stopping. */
#include <shoal.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "scratch.h"
#include "training.h"

#include <signal.h>
#include <sys/wait.h>

static shoal_corpus *corpus;

static int setup(void **state)
{
    struct shoal_world_opts world = shoal_world_default();
    struct shoal_encode_opts encode = shoal_encode_default();
    const char *text;

    if (scratch_setup(state) != 0)
        return -1;
    text = scratch_path("world.txt");
    world.words = 60000;
    return shoal_world_write(text, NULL, &world, NULL) != SHOAL_OK ||
           shoal_encode(scratch_path("world.shoal"), &text, 1, &encode, NULL) != SHOAL_OK ||
           shoal_corpus_open(&corpus, scratch_path("world.shoal")) != SHOAL_OK;
}

static int teardown(void **state)
{
    shoal_corpus_close(corpus);
    return scratch_teardown(state);
}

static struct train_opts small(const char *task)
{
    struct train_opts o = task_defaults(task);

    o.dim = 24;
    o.epochs = 2;
    o.threads = 2;
    o.valid = 0.01;
    return o;
}

static shoal_vectors *train(const struct train_opts *o, struct shoal_train_stats *stats)
{
    shoal_vectors *v;
    struct shoal_train_stats own;

    if (train_words(&v, corpus, o, stats ? stats : &own) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return v;
}

static void assert_equal_rows(const shoal_vectors *a, const shoal_vectors *b)
{
    float x[4096], y[4096];

    assert_int_equal(shoal_vectors_size(a), shoal_vectors_size(b));
    for (uint32_t i = 0; i < shoal_vectors_size(a); i++) {
        assert_int_equal(shoal_vectors_row(a, i, x), SHOAL_OK);
        assert_int_equal(shoal_vectors_row(b, i, y), SHOAL_OK);
        assert_memory_equal(x, y, shoal_vectors_dim(a) * sizeof *x);
    }
}

/* ---- learning ---- */

struct seen {
    double loss[16], valid[16];
    unsigned epochs, checkpoints;
    uint64_t words;
    unsigned stop_after; /* checkpoints; 0: never */
    bool kill;
};

static bool see(void *user, const struct shoal_report *r)
{
    struct seen *seen = user;

    if (r->event == SHOAL_EVENT_EPOCH) {
        seen->loss[seen->epochs] = training(&r->figures, "loss");
        seen->valid[seen->epochs++] = validation(&r->figures, "loss");
    }
    seen->checkpoints += r->event == SHOAL_EVENT_CHECKPOINT;
    seen->words = r->examples;
    if (seen->stop_after == 0 || seen->checkpoints < seen->stop_after)
        return true;
    if (seen->kill)
        raise(SIGKILL);
    return false;
}

static void the_loss_falls_for_every_model_and_loss(void **state)
{
    (void)state;
    for (int model = 0; model < 2; model++)
        for (int loss = 0; loss < 3; loss++) {
            struct train_opts o = small(model ? "skipgram" : "cbow");
            struct shoal_train_stats stats;
            struct seen seen = {0};

            o.loss = (enum shoal_loss)loss;
            o.epochs = 4;
            o.lr = 0.1;
            o.report = see, o.user = &seen;
            shoal_vectors_close(train(&o, &stats));
            assert_int_equal(seen.epochs, 4);
            print_message("model %d, loss %d: %.3f to %.3f, held out %.3f to %.3f\n", model, loss,
                          seen.loss[0], seen.loss[3], seen.valid[0], seen.valid[3]);
            assert_true(seen.loss[3] < 0.95 * seen.loss[0]);
            assert_true(seen.valid[3] < seen.valid[0]);
            assert_true(training(&stats.figures, "loss") == seen.loss[3]);
            assert_true(validation(&stats.figures, "loss") == seen.valid[3]);
        }
}

struct heard {
    double accuracy[2];
    unsigned epochs, others;
};

static bool hear(void *user, const struct shoal_report *r)
{
    struct heard *heard = user;

    double accuracy = validation(&r->figures, "asked");

    if (r->event == SHOAL_EVENT_EPOCH)
        heard->accuracy[heard->epochs++] = accuracy;
    else
        heard->others += r->event != SHOAL_EVENT_DONE && !isnan(accuracy);
    return true;
}

static void the_scores_of_the_last_epoch_are_those_of_the_vectors(void **state)
{
    struct train_opts o = small("cbow");
    struct shoal_eval_opts ask = shoal_eval_default();
    struct shoal_world_opts world = shoal_world_default();
    struct heard heard = {0};
    struct shoal_score *scores;
    shoal_vectors *v;
    shoal_eval *suite;
    size_t n;

    (void)state;
    world.words = 1000;
    assert_int_equal(shoal_world_write(scratch_path("little.txt"), scratch_path("asked.txt"),
                                       &world, NULL), SHOAL_OK);
    assert_int_equal(shoal_eval_open(&suite, scratch_path("asked.txt")), SHOAL_OK);
    o.evals = scratch_path("asked.txt");
    o.report = hear, o.user = &heard;
    v = train(&o, NULL);
    assert_int_equal(heard.epochs, 2);
    assert_int_equal(heard.others, 0);
    assert_int_equal(shoal_eval_run(suite, v, &ask, &scores, &n), SHOAL_OK);
    assert_true(scores[n - 1].seen > 0);
    assert_true(scores[n - 1].accuracy == heard.accuracy[1]);
    shoal_scores_free(scores);
    shoal_vectors_close(v);
    shoal_eval_close(suite);
}

static void every_word_is_trained_once_an_epoch(void **state)
{
    struct train_opts o = small("cbow");
    struct shoal_train_stats stats;

    (void)state;
    o.valid = 0;
    for (int deterministic = 0; deterministic < 2; deterministic++) {
        o.deterministic = deterministic;
        shoal_vectors_close(train(&o, &stats));
        assert_int_equal(stats.examples, 2 * shoal_corpus_words(corpus));
    }
}

/* ---- equal bytes ---- */

static void deterministic_training_gives_the_same_bytes_for_any_number_of_threads(void **state)
{
    (void)state;
    for (int loss = 0; loss < 3; loss++) {
        struct train_opts o = small(loss == 1 ? "skipgram" : "cbow");
        shoal_vectors *first = NULL;

        o.loss = (enum shoal_loss)loss;
        o.deterministic = true;
        for (unsigned i = 0; i < 4; i++) {
            shoal_vectors *v;

            o.threads = (const unsigned[]){1, 2, 3, 7}[i];
            v = train(&o, NULL);
            if (first) {
                assert_equal_rows(first, v);
                shoal_vectors_close(v);
            } else {
                first = v;
            }
        }
        shoal_vectors_close(first);
    }
}

static void another_seed_gives_other_vectors(void **state)
{
    struct train_opts o = small("cbow");
    shoal_vectors *a, *b;
    float x[24], y[24];

    (void)state;
    a = train(&o, NULL);
    o.seed = 2;
    b = train(&o, NULL);
    assert_int_equal(shoal_vectors_row(a, 0, x), SHOAL_OK);
    assert_int_equal(shoal_vectors_row(b, 0, y), SHOAL_OK);
    assert_memory_not_equal(x, y, sizeof x);
    shoal_vectors_close(a);
    shoal_vectors_close(b);
}

/* ---- resuming ---- */

static struct train_opts with_checkpoints(const char *folder, struct seen *seen)
{
    struct train_opts o = small("skipgram");

    o.deterministic = true;
    o.checkpoint = folder;
    o.every.unit = SHOAL_EVERY_SHARE;
    o.every.value = 0.05;
    o.report = see, o.user = seen;
    return o;
}

/* Resumes until the run is through, stopping again and again. */
static shoal_vectors *resume_to_the_end(struct train_opts *o, struct seen *seen)
{
    shoal_vectors *v = NULL;
    shoal_status st;

    o->resume = true;
    do {
        seen->checkpoints = 0;
        st = train_words(&v, corpus, o, NULL);
        assert_true(st == SHOAL_OK || st == SHOAL_ESTOP);
    } while (st == SHOAL_ESTOP);
    return v;
}

static void a_run_stopped_again_and_again_ends_with_the_same_bytes(void **state)
{
    struct seen whole = {0}, parts = {.stop_after = 2};
    struct train_opts o = with_checkpoints(scratch_path("whole"), &whole);
    struct train_opts p = with_checkpoints(scratch_path("parts"), &parts);
    shoal_vectors *a = train(&o, NULL), *b = NULL;

    (void)state;
    assert_int_equal(train_words(&b, corpus, &p, NULL), SHOAL_ESTOP);
    assert_null(b);
    b = resume_to_the_end(&p, &parts);
    assert_equal_rows(a, b);
    assert_int_equal(scratch_count(p.checkpoint), 2);
    shoal_vectors_close(a);
    shoal_vectors_close(b);
}

static void a_killed_run_resumes_to_the_same_bytes(void **state)
{
    struct seen whole = {0}, killed = {.kill = true}, rest = {0};
    struct train_opts o = with_checkpoints(scratch_path("calm"), &whole);
    shoal_vectors *a = train(&o, NULL), *b;

    (void)state;
    for (unsigned i = 2; i < 9; i += 3) {
        char name[32];
        pid_t child;

        snprintf(name, sizeof name, "killed%u", i);
        o = with_checkpoints(scratch_path(name), &killed);
        killed.stop_after = i;
        killed.checkpoints = 0;
        child = fork();
        if (child == 0) {
            shoal_vectors *v;

            train_words(&v, corpus, &o, NULL);
            _exit(0);
        }
        assert_int_equal(waitpid(child, NULL, 0), child);
        o.report = see, o.user = &rest;
        b = resume_to_the_end(&o, &rest);
        assert_equal_rows(a, b);
        shoal_vectors_close(b);
    }
    shoal_vectors_close(a);
}

static void a_checkpoint_refuses_other_options_by_name(void **state)
{
    struct seen seen = {.stop_after = 1};
    struct train_opts o = with_checkpoints(scratch_path("other"), &seen);
    shoal_vectors *v;

    (void)state;
    assert_int_equal(train_words(&v, corpus, &o, NULL), SHOAL_ESTOP);
    o.resume = true;
    o.dim = 25;
    assert_int_equal(train_words(&v, corpus, &o, NULL), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "dim is 24 there, 25 here"));
    o.dim = 24;
    o.lr = 0.5;
    assert_int_equal(train_words(&v, corpus, &o, NULL), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "lr is"));
}

static void a_checkpoint_refuses_another_corpus(void **state)
{
    struct seen seen = {.stop_after = 1};
    struct train_opts o = with_checkpoints(scratch_path("elsewhere"), &seen);
    struct shoal_encode_opts encode = shoal_encode_default();
    const char *text = scratch_path("world.txt");
    shoal_corpus *other;
    shoal_vectors *v;

    (void)state;
    assert_int_equal(train_words(&v, corpus, &o, NULL), SHOAL_ESTOP);
    encode.vocab.min_count = 6;
    assert_int_equal(shoal_encode(scratch_path("other.shoal"), &text, 1, &encode, NULL), SHOAL_OK);
    assert_int_equal(shoal_corpus_open(&other, scratch_path("other.shoal")), SHOAL_OK);
    o.resume = true;
    assert_int_equal(train_words(&v, other, &o, NULL), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "made with other data"));
    shoal_corpus_close(other);
}

static void a_new_run_does_not_touch_the_checkpoints_of_another(void **state)
{
    struct seen seen = {.stop_after = 1};
    struct train_opts o = with_checkpoints(scratch_path("taken"), &seen);
    shoal_vectors *v;

    (void)state;
    assert_int_equal(train_words(&v, corpus, &o, NULL), SHOAL_ESTOP);
    assert_int_equal(train_words(&v, corpus, &o, NULL), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "another run"));
}

static void a_spoiled_checkpoint_falls_back_to_the_one_before(void **state)
{
    struct seen whole = {0}, seen = {.stop_after = 3};
    struct train_opts calm = with_checkpoints(scratch_path("unspoiled"), &whole);
    struct train_opts o = with_checkpoints(scratch_path("spoiled"), &seen);
    char path[256];
    shoal_vectors *a = train(&calm, NULL), *b;
    FILE *f;

    (void)state;
    assert_int_equal(train_words(&b, corpus, &o, NULL), SHOAL_ESTOP);
    snprintf(path, sizeof path, "%s/checkpoint-000004.shoal", o.checkpoint);
    f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, 5000, SEEK_SET);
    fputc(0x5a, f);
    fclose(f);
    seen.stop_after = 0;
    b = resume_to_the_end(&o, &seen);
    assert_equal_rows(a, b);
    shoal_vectors_close(a);
    shoal_vectors_close(b);
}

static void a_checkpoint_tells_what_it_was_made_with(void **state)
{
    struct seen seen = {.stop_after = 1};
    struct train_opts o = with_checkpoints(scratch_path("told"), &seen);
    struct shoal_checkpoint c;
    shoal_vectors *v;

    (void)state;
    o.inputs = "a corpus", o.output = "/there/out.bin";
    assert_int_equal(train_words(&v, corpus, &o, NULL), SHOAL_ESTOP);
    assert_int_equal(shoal_checkpoint_read(&c, o.checkpoint), SHOAL_OK);
    assert_string_equal(c.task, "skipgram");
    assert_true(c.progress > 0 && c.progress < 1);
    assert_string_equal(option_kept(o.checkpoint, "dim"), "24");
    assert_string_equal(option_kept(o.checkpoint, "output"), "/there/out.bin");
    assert_int_equal(shoal_checkpoint_read(&c, scratch_path("nowhere")), SHOAL_ENOENT);
}

/* ---- refusing ---- */

static void bad_options_are_named(void **state)
{
    struct train_opts o = small("cbow");
    shoal_vectors *v;

    (void)state;
    assert_non_null(strstr(option_refused("cbow", "window", "51"), "--window is '51', want"));
    assert_non_null(strstr(option_refused("cbow", "dim", "0"), "--dim is '0', want"));
    o.memory_limit = 1000;
    assert_int_equal(train_words(&v, corpus, &o, NULL), SHOAL_ELIMIT);
}

static void divergence_stops_the_run(void **state)
{
    struct train_opts o = small("skipgram");
    shoal_vectors *v = NULL;

    (void)state;
    o.lr = 10;
    o.epochs = 20;
    o.schedule = SHOAL_CONSTANT;
    assert_int_equal(train_words(&v, corpus, &o, NULL), SHOAL_EDIVERGE);
    assert_non_null(strstr(shoal_error(), "diverged"));
    assert_null(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_falls_for_every_model_and_loss),
        cmocka_unit_test(the_scores_of_the_last_epoch_are_those_of_the_vectors),
        cmocka_unit_test(every_word_is_trained_once_an_epoch),
        cmocka_unit_test(deterministic_training_gives_the_same_bytes_for_any_number_of_threads),
        cmocka_unit_test(another_seed_gives_other_vectors),
        cmocka_unit_test(a_run_stopped_again_and_again_ends_with_the_same_bytes),
        cmocka_unit_test(a_killed_run_resumes_to_the_same_bytes),
        cmocka_unit_test(a_checkpoint_refuses_other_options_by_name),
        cmocka_unit_test(a_checkpoint_refuses_another_corpus),
        cmocka_unit_test(a_new_run_does_not_touch_the_checkpoints_of_another),
        cmocka_unit_test(a_spoiled_checkpoint_falls_back_to_the_one_before),
        cmocka_unit_test(a_checkpoint_tells_what_it_was_made_with),
        cmocka_unit_test(bad_options_are_named),
        cmocka_unit_test(divergence_stops_the_run),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
