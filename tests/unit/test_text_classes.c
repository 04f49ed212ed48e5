/* Classes of text: gradients of the four losses, what is learned, equal bytes, going on, the model's
 * file and fastText's. */
#include <shoal.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "saved/classify/classify.h"
#include "store/store.h"

#include "scratch.h"
#include "training.h"

enum { DIM = 7, ROWS = 6, CLASSES = 5 };

static const enum shoal_loss losses[] = {SHOAL_NS, SHOAL_HS, SHOAL_SOFTMAX, SHOAL_OVA};
static shoal_labelled *news, *held;

/* ---- gradients ---- */

static shoal_vocab *five_labels(void)
{
    static const char names[] = "a\0b\0c\0d\0e";
    static const uint64_t counts[] = {50, 30, 20, 7, 3};
    shoal_vocab *v = NULL;

    assert_int_equal(shoal_vocab_new(&v, &(struct shoal_words){.text = names, .len = sizeof names,
                                                              .counts = counts, .n = CLASSES}),
                     SHOAL_OK);
    return v;
}

struct bench {
    struct classify model;
    struct table in, out;
    shoal_vocab *labels;
};

static void fill(struct table *t, uint64_t stream)
{
    struct rng r = {3, stream, 0};

    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->width; j++)
            t->at[i * t->stride + j] = (float)(2 * rng_unit(&r) - 1);
}

static void bench_open(struct bench *b, enum shoal_loss loss)
{
    struct train_opts o = {.loss = loss, .dim = DIM, .negative = 3, .seed = 5};
    const struct kernel *kernel;

    assert_int_equal(kernel_find(&kernel, "scalar"), SHOAL_OK);
    b->labels = five_labels();
    assert_int_equal(classify_init(&b->model, &o, b->labels, NULL, kernel), SHOAL_OK);
    assert_int_equal(table_init(&b->in, "in", ROWS, DIM), SHOAL_OK);
    assert_int_equal(table_init(&b->out, "out", classify_out_rows(loss, CLASSES), DIM), SHOAL_OK);
    fill(&b->in, 1);
    fill(&b->out, 2);
}

static void bench_close(struct bench *b)
{
    table_fini(&b->in);
    table_fini(&b->out);
    classify_fini(&b->model);
    shoal_vocab_free(b->labels);
}

/* The loss of a line; with a rate, after which the rows have moved. */
static double learn(struct bench *b, float lr)
{
    static const uint32_t rows[] = {0, 2, 2, 5}, labels[] = {1, 3};
    struct classify_line line = {.row = rows, .n = 4, .label = labels, .labels = 2, .epoch = 1,
                                 .number = 9};
    struct classify_worker *w = NULL;
    struct view in, out;
    struct sums done = {0};

    assert_int_equal(view_init_shared(&in, &b->in, 0), SHOAL_OK);
    assert_int_equal(view_init_shared(&out, &b->out, 0), SHOAL_OK);
    assert_int_equal(classify_join(&w, &b->model, &in, &out, 4), SHOAL_OK);
    classify_train(w, &line, lr, &done);
    classify_leave(w);
    view_fini(&in);
    view_fini(&out);
    return done.loss;
}

/* By central differences of each number of a table, against what a step of rate 1 takes off. */
static void check_table(struct bench *b, struct table *t)
{
    const float h = 1e-2f;

    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < DIM; j++) {
            float *at = t->at + i * t->stride + j, was = *at;
            struct table in = {0}, out = {0};
            double up, down, slope;

            *at = was + h;
            up = learn(b, 0);
            *at = was - h;
            down = learn(b, 0);
            *at = was;
            slope = (up - down) / (2 * (double)h);
            table_init(&in, "in", b->in.rows, DIM);
            table_init(&out, "out", b->out.rows, DIM);
            memcpy(in.at, b->in.at, table_size(&b->in));
            memcpy(out.at, b->out.at, table_size(&b->out));
            learn(b, 1e-3f);
            assert_float_equal((was - *at) / 1e-3f, slope, 5e-3);
            memcpy(b->in.at, in.at, table_size(&b->in));
            memcpy(b->out.at, out.at, table_size(&b->out));
            table_fini(&in);
            table_fini(&out);
        }
}

static void each_loss_moves_along_its_gradient(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct bench b;

        bench_open(&b, losses[i]);
        check_table(&b, &b.in);
        check_table(&b, &b.out);
        bench_close(&b);
    }
}

static void probabilities_of_softmax_and_trees_sum_to_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct bench b;
        struct classify_answer answer;
        float hidden[16] = {1, -2, 3, 0.5f, 2, -1, 4}, p[CLASSES];
        double sum = 0;

        bench_open(&b, losses[i]);
        answer = (struct classify_answer){&b.model, b.out.at, b.out.stride, NULL};
        classify_answer(&answer, hidden, p);
        for (unsigned k = 0; k < CLASSES; k++) {
            assert_true(p[k] >= 0 && p[k] <= 1);
            sum += (double)p[k];
        }
        if (losses[i] == SHOAL_SOFTMAX || losses[i] == SHOAL_HS)
            assert_float_equal(sum, 1, 1e-5);
        bench_close(&b);
    }
}

/* ---- training ---- */

static shoal_labelled *make_news(uint64_t first, uint64_t lines, const struct labelled_like *like)
{
    struct shoal_gen_news_opts gen = shoal_gen_news_default();
    struct shoal_labelled_opts o = shoal_labelled_default();
    const char *path = scratch_path("news.txt");
    shoal_labelled *l = NULL;

    gen.first = first;
    gen.lines = lines;
    assert_int_equal(shoal_gen_news(path, &gen, NULL), SHOAL_OK);
    if (labelled_read(&l, &(struct sources){.paths = &path, .n = 1}, &o, like, NULL) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return l;
}

static int setup(void **state)
{
    struct labelled_like like;

    if (scratch_setup(state) != 0)
        return -1;
    news = make_news(0, 6000, NULL);
    like = (struct labelled_like){news->labels, &news->reading};
    held = make_news(6000, 2000, &like);
    return 0;
}

static int teardown(void **state)
{
    shoal_labelled_close(news);
    shoal_labelled_close(held);
    return scratch_teardown(state);
}

static struct train_opts usual(enum shoal_loss loss)
{
    struct train_opts o = task_defaults("classify");

    o.loss = loss;
    o.dim = 16;
    o.epochs = 5;
    o.lr = 0.5;
    o.threads = 2;
    return o;
}

static shoal_model *train(const struct train_opts *o, struct shoal_train_stats *stats)
{
    struct shoal_sources from = {.labelled = news, .valid_labelled = held};
    shoal_model *model = NULL;

    if (run_task(task_find("classify"), o, &from, &model, stats) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return model;
}

static double precision_of(const struct train_opts *o)
{
    struct shoal_train_stats stats;

    shoal_model_close(train(o, &stats));
    return validation(&stats.figures, "p@1");
}

static void every_loss_tells_topics_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct train_opts o = usual(losses[i]);

        assert_true(precision_of(&o) > 0.75);
    }
}

static void pairs_of_words_and_subwords_are_learned_too(void **state)
{
    struct train_opts o = usual(SHOAL_SOFTMAX);

    (void)state;
    o.word_ngrams = 2;
    o.minn = o.maxn = 4;
    o.buckets = 20000;
    assert_true(precision_of(&o) > 0.75);
}

/* Of a weight of 0 nothing is learned: its class is never said first. */
static void classes_count_as_much_as_they_are_said_to(void **state)
{
    struct train_opts o = usual(SHOAL_SOFTMAX);
    double all = precision_of(&o);

    (void)state;
    o.class_weight = "World=0,__label__Sports=1";
    assert_true(precision_of(&o) < all - 0.1);
    o.class_weight = "balanced";
    assert_float_equal(precision_of(&o), all, 0.03);
}

static void weights_of_no_label_are_refused(void **state)
{
    struct shoal_sources from = {.labelled = news};
    struct train_opts o = usual(SHOAL_SOFTMAX);
    shoal_model *model = NULL;

    (void)state;
    o.class_weight = "Weather=2";
    assert_int_equal(run_task(task_find("classify"), &o, &from, &model, NULL), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "'Weather', but no line has that label"));
    o.class_weight = "World=much";
    assert_int_equal(run_task(task_find("classify"), &o, &from, &model, NULL), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "want LABEL=NUMBER"));
}

static struct bytes bytes_of(const shoal_model *m, const char *name)
{
    const char *path = scratch_path(name);
    struct bytes b = {0};

    assert_int_equal(shoal_model_save(m, path, NULL), SHOAL_OK);
    assert_int_equal(stream_slurp(&b.at, &b.len, path, (size_t)1 << 30), SHOAL_OK);
    return b;
}

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    struct train_opts o = usual(SHOAL_NS);
    struct bytes first = {0};

    (void)state;
    o.deterministic = true;
    o.epochs = 2;
    for (o.threads = 1; o.threads <= 3; o.threads++) {
        shoal_model *m = train(&o, NULL);
        struct bytes here = bytes_of(m, "model.shoal");

        shoal_model_close(m);
        if (!first.at) {
            first = here;
            continue;
        }
        assert_int_equal(here.len, first.len);
        assert_memory_equal(here.at, first.at, here.len);
        bytes_fini(&here);
    }
    bytes_fini(&first);
}

/* What was held out gets worse when lines are learned by heart; the best is kept. */
static void early_stopping_keeps_the_best(void **state)
{
    struct train_opts o = usual(SHOAL_SOFTMAX);
    struct shoal_train_stats stats;

    (void)state;
    o.epochs = 60;
    o.lr = 1;
    o.early_stop = 3;
    shoal_model_close(train(&o, &stats));
    assert_true(stats.enough);
    assert_true(stats.best_epoch > 0 && stats.best_epoch < stats.epochs);
}

static void vectors_that_are_there_begin_the_rows_of_words(void **state)
{
    struct train_opts o = usual(SHOAL_SOFTMAX);
    static const char text[] = "1 16\nbako 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    const char *path = scratch_put("v.vec", text, sizeof text - 1);
    const shoal_classifier *c;
    shoal_model *m;

    (void)state;
    o.pretrained = path;
    o.epochs = 1;
    o.lr = 1e-6;
    m = train(&o, NULL);
    c = shoal_model_classifier(m);
    assert_float_equal(c->in[shoal_vocab_find(c->words, "bako", 4) * c->stride], 9, 1e-2);
    assert_true(fabsf(c->in[shoal_vocab_find(c->words, "linko", 5) * c->stride]) < 0.1f);
    shoal_model_close(m);
    o.dim = 8;
    assert_int_equal(run_task(task_find("classify"), &o,
                              &(struct shoal_sources){.labelled = news}, &m, NULL), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "a row has 16 numbers, want 8"));
}

/* ---- the model ---- */

static struct shoal_guess best_of(const shoal_model *m, const char *text)
{
    struct shoal_classify_opts opts = {1, 0, 1};
    struct shoal_memory one = {"text", text, strlen(text)};
    struct shoal_guess guess = {0};
    size_t found = 0;

    assert_int_equal(shoal_classify(shoal_model_classifier(m), &one, 1, &opts, &guess, &found),
                     SHOAL_OK);
    assert_int_equal(found, 1);
    return guess;
}

static const char sample_text[] = "bako vengan yoyokar unseen xakaros oselri bako vengan";

static void a_saved_model_answers_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct train_opts o = usual(losses[i]);
        const char *path = scratch_path("kept.shoal");
        shoal_model *m, *back = NULL;
        struct shoal_guess a, b;

        o.epochs = 2;
        o.word_ngrams = 2;
        o.buckets = 5000;
        m = train(&o, NULL);
        a = best_of(m, sample_text);
        assert_int_equal(shoal_model_save(m, path, NULL), SHOAL_OK);
        assert_int_equal(shoal_model_map(&back, path), SHOAL_OK);
        assert_string_equal(shoal_model_kind(back), "classify");
        assert_int_equal(shoal_model_verify(back), SHOAL_OK);
        b = best_of(back, sample_text);
        assert_int_equal(a.label, b.label);
        assert_memory_equal(&a.p, &b.p, sizeof a.p);
        shoal_model_close(back);
        shoal_model_close(m);
    }
}

/* Sigmoids are looked up in a table by fastText, in steps of 1/32. */
static void a_model_that_went_through_fasttexts_file_answers_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct train_opts o = usual(losses[i]);
        bool rough = losses[i] == SHOAL_NS || losses[i] == SHOAL_OVA;
        const char *path = scratch_path("model.bin");
        shoal_model *m, *back = NULL;
        struct shoal_guess a, b;

        o.epochs = 2;
        o.word_ngrams = 2;
        o.minn = 3;
        o.maxn = 4;
        o.buckets = 5000;
        m = train(&o, NULL);
        a = best_of(m, sample_text);
        assert_int_equal(shoal_model_save(m, path, NULL), SHOAL_OK);
        assert_int_equal(shoal_model_open(&back, path), SHOAL_OK);
        assert_string_equal(shoal_model_kind(back), "classify");
        b = best_of(back, sample_text);
        assert_float_equal(a.p, b.p, rough ? 8e-3f : 1e-5f);
        assert_true(rough || a.label == b.label);
        assert_int_equal(shoal_model_verify(back), SHOAL_OK);
        shoal_model_close(back);
        shoal_model_close(m);
    }
}

/* Of 300 lines that were held out, on how many two models agree; and so they do to `near`. */
static unsigned agreed_on(const shoal_model *a, const shoal_model *b, float near)
{
    FILE *f = fopen(scratch_path("news.txt"), "r");
    char line[4096];
    unsigned agreed = 0;

    assert_non_null(f);
    for (int i = 0; i < 300; i++) {
        struct shoal_guess x, y;

        assert_non_null(fgets(line, sizeof line, f));
        line[strcspn(line, "\n")] = '\0';
        x = best_of(a, strchr(line, ' ') + 1);
        y = best_of(b, strchr(line, ' ') + 1);
        agreed += x.label == y.label && fabsf(x.p - y.p) <= near;
    }
    fclose(f);
    return agreed;
}

static void check_compressed(const shoal_model *m, struct shoal_compress_opts how)
{
    const char *path = scratch_path("small.ftz");
    shoal_model *small = NULL, *back = NULL, *again = NULL;

    assert_int_equal(shoal_model_compress(&small, m, &how), SHOAL_OK);
    /* With a cutoff the mean is over fewer rows, and surer. */
    assert_in_range(agreed_on(m, small, how.cutoff ? 1 : 0.2f), how.cutoff ? 225 : 280, 300);
    assert_int_equal(shoal_model_verify(small), SHOAL_OK);
    assert_int_equal(shoal_model_save(small, path, NULL), SHOAL_OK);
    assert_int_equal(shoal_model_open(&back, path), SHOAL_OK);
    assert_int_equal(agreed_on(small, back, 1e-6f), 300);
    assert_int_equal(shoal_model_compress(&again, back, &how), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "compress: the classifier is quantised already");
    shoal_model_close(back);
    shoal_model_close(small);
}

/* All rows, and so few that buckets and words are left out. */
static void a_compressed_model_answers_as_before_and_from_its_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct train_opts o = usual(losses[i]);
        shoal_model *m;

        o.dim = 8;
        o.word_ngrams = 2;
        o.buckets = 1000;
        o.deterministic = true;
        m = train(&o, NULL);
        check_compressed(m, (struct shoal_compress_opts){
                                .dsub = 1, .qnorm = i % 2, .cutoff = i < 2 ? 0 : 2500});
        shoal_model_close(m);
    }
}

static void names_lack_the_prefix(void **state)
{
    struct train_opts o = usual(SHOAL_SOFTMAX);
    shoal_model *m = train(&o, NULL);
    const shoal_classifier *c = shoal_model_classifier(m);

    (void)state;
    assert_int_equal(shoal_classifier_labels(c), 4);
    for (size_t k = 0; k < 4; k++)
        assert_null(strstr(shoal_classifier_label(c, k), "__label__"));
    assert_null(shoal_classifier_label(c, 4));
    shoal_model_close(m);
}

static void one_label_is_too_few(void **state)
{
    struct shoal_labelled_opts o = shoal_labelled_default();
    struct shoal_memory text = {"lines", "__label__a x\n__label__a y\n", 26};
    struct train_opts how = usual(SHOAL_SOFTMAX);
    shoal_labelled *l = NULL;
    shoal_model *m = NULL;

    (void)state;
    assert_int_equal(shoal_labelled_read_memory(&l, &text, 1, &o, NULL), SHOAL_OK);
    assert_int_equal(run_task(task_find("classify"), &how, &(struct shoal_sources){.labelled = l},
                              &m, NULL), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "train: all 2 lines have the label __label__a, want two labels "
                                       "or more");
    shoal_labelled_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_loss_moves_along_its_gradient),
        cmocka_unit_test(probabilities_of_softmax_and_trees_sum_to_one),
        cmocka_unit_test(every_loss_tells_topics_apart),
        cmocka_unit_test(pairs_of_words_and_subwords_are_learned_too),
        cmocka_unit_test(classes_count_as_much_as_they_are_said_to),
        cmocka_unit_test(weights_of_no_label_are_refused),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(early_stopping_keeps_the_best),
        cmocka_unit_test(vectors_that_are_there_begin_the_rows_of_words),
        cmocka_unit_test(a_saved_model_answers_the_same),
        cmocka_unit_test(a_compressed_model_answers_as_before_and_from_its_file),
        cmocka_unit_test(a_model_that_went_through_fasttexts_file_answers_the_same),
        cmocka_unit_test(names_lack_the_prefix),
        cmocka_unit_test(one_label_is_too_few),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
