/* The next word: windows over a corpus become a net that continues text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "saved/saved.h"
#include "scratch.h"
#include "training.h"

#include <math.h>

static shoal_corpus *corpus;
static shoal_vectors *vectors;

/* Sentences of a made-up world, and vectors of its words. */
static int make_data(void **state)
{
    struct shoal_world_opts world = shoal_world_default();
    struct shoal_encode_opts encode = shoal_encode_default();
    struct train_opts train = task_defaults("cbow");
    const char *text;

    if (scratch_setup(state) != 0)
        return -1;
    text = scratch_path("text.txt");
    world.words = 60000;
    train.dim = 24;
    train.epochs = 15;
    train.threads = 1;
    return shoal_world_write(text, NULL, &world, NULL) == SHOAL_OK &&
                   shoal_encode(scratch_path("text.shoal"), &text, 1, &encode, NULL) == SHOAL_OK &&
                   shoal_corpus_open(&corpus, scratch_path("text.shoal")) == SHOAL_OK &&
                   train_words(&vectors, corpus, &train, NULL) == SHOAL_OK
               ? 0 : -1;
}

static int end_data(void **state)
{
    shoal_vectors_close(vectors);
    shoal_corpus_close(corpus);
    return scratch_teardown(state);
}

static struct train_opts opts_of(void)
{
    struct train_opts o = task_defaults("nextword");

    o.length = 3;
    o.hidden = 64;
    o.asked = 600;
    o.epochs = 3;
    o.batch = 64;
    o.valid = 0.05;
    return o;
}

static shoal_net *train_as(const struct train_opts *o, struct shoal_train_stats *stats)
{
    shoal_net *net = NULL;

    if (train_nextword(&net, corpus, vectors, o, stats) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return net;
}

static size_t count_char(const struct bytes *b, char c)
{
    size_t n = 0;

    for (size_t i = 0; i < b->len; i++)
        n += b->at[i] == c;
    return n;
}

static void both_cells_beat_the_commonest_words(void **state)
{
    static const char *const tops[] = {"word_top1", "word_top5", "word_top10"};

    (void)state;
    for (int lstm = 0; lstm < 2; lstm++) {
        struct train_opts o = opts_of();
        const char *path = scratch_path(lstm ? "lstm.csv" : "dense.csv");
        struct shoal_train_stats stats;
        struct bytes csv;
        const char *head = "epoch,loss,mse,mae,rmse,cosine,word_top1";
        double base = 0, top[3];

        o.cell = lstm ? CELL_LSTM : CELL_DENSE;
        o.statistics = path;
        o.epochs = 6;
        o.lr = lstm ? 0.01 : 0;
        shoal_net_close(train_as(&o, &stats));
        csv = scratch_get(path);
        assert_int_equal(count_char(&csv, '\n'), 1 + o.epochs);
        assert_memory_equal(csv.at, head, strlen(head));
        for (uint32_t id = 0; id < 10; id++)
            base += (double)shoal_vocab_count(shoal_corpus_vocab(corpus), id) /
                       (double)shoal_corpus_words(corpus);
        for (size_t i = 0; i < 3; i++)
            top[i] = validation(&stats.figures, tops[i]);
        if (!(top[2] > base + 0.05))
            fail_msg("cell %d: top-10 %g, the commonest words %g", lstm, top[2], base);
        assert_true(top[0] <= top[1] && top[1] <= top[2]);
        assert_true(validation(&stats.figures, "cosine") > 0.2);
        assert_true(validation(&stats.figures, "mse") < 1);
        bytes_fini(&csv);
    }
}

static double cosine_to(const shoal_net *net, uint32_t word, const float *y)
{
    const float *v = net->vectors.at + word * net->vectors.stride;
    double dot = 0, vv = 0, yy = 0;

    for (size_t i = 0; i < shoal_net_outputs(net); i++) {
        dot += (double)v[i] * (double)y[i];
        vv += (double)v[i] * (double)v[i];
        yy += (double)y[i] * (double)y[i];
    }
    return dot / sqrt(vv * yy);
}

/* The predicted vector, and no word is nearer to it than the first. */
static void check_vector(const shoal_net *net, const char *text)
{
    float *y = calloc(shoal_net_outputs(net), sizeof *y);
    struct shoal_hit near[3];
    size_t found;

    assert_int_equal(shoal_nextword_vector(net, text, y, near, 3, &found), SHOAL_OK);
    assert_int_equal(found, 3);
    for (uint32_t w = 0; w < net->vectors.rows; w++)
        assert_true(cosine_to(net, w, y) <= (double)near[0].score + 1e-5);
    for (size_t i = 0; i < 3; i++)
        assert_true(fabs(cosine_to(net, near[i].id, y) - (double)near[i].score) < 1e-5);
    assert_int_equal(shoal_nextword_vector(net, text, y, NULL, 0, &found), SHOAL_OK);
    assert_int_equal(found, 0);
    assert_int_equal(shoal_nextword_vector(net, "unheard-of-word", y, near, 3, &found),
                     SHOAL_ENOENT);
    free(y);
}

static void text_is_continued_by_a_net_from_its_file(void **state)
{
    struct train_opts o = opts_of();
    struct shoal_hit a[5], b[5];
    size_t found, again;
    char text[256];
    shoal_net *net, *back;
    double sum = 0;

    (void)state;
    o.epochs = 1;
    net = train_as(&o, NULL);
    assert_non_null(net->words);
    assert_int_equal(shoal_net_save(net, scratch_path("next.shoal")), SHOAL_OK);
    assert_int_equal(shoal_net_open(&back, scratch_path("next.shoal")), SHOAL_OK);
    snprintf(text, sizeof text, "%s unheard-of-word %s", shoal_nextword_word(net, 3),
             shoal_nextword_word(net, 4));
    assert_int_equal(shoal_nextword_predict(net, text, a, 5, &found), SHOAL_OK);
    assert_int_equal(shoal_nextword_predict(back, text, b, 5, &again), SHOAL_OK);
    assert_int_equal(found, 5);
    assert_int_equal(again, 5);
    assert_memory_equal(a, b, sizeof a);
    for (size_t i = 0; i < 5; i++) {
        sum += (double)a[i].score;
        assert_true(i == 0 || a[i].score <= a[i - 1].score);
    }
    assert_true(sum > 0 && sum <= 1.0001);
    assert_int_equal(shoal_nextword_predict(net, "unheard-of-word", a, 5, &found), SHOAL_ENOENT);
    check_vector(back, text);
    shoal_net_close(net);
    shoal_net_close(back);
}

/* A net of text without spaces, which was cut into pairs of characters. */
static shoal_net *train_on_pairs(void)
{
    struct shoal_encode_opts encode = shoal_encode_default();
    struct train_opts o = task_defaults("cbow");
    shoal_corpus *pairs = NULL;
    shoal_vectors *rows = NULL;
    shoal_net *net = NULL;
    struct bytes b = {0};
    const char *text;

    text_add_many(&b, "我爱北京天安门天安门上太阳升\n你爱上海不爱北京吗\n", 40);
    text = scratch_put("pairs.txt", b.at, b.len);
    bytes_fini(&b);
    encode.vocab.tokens = SHOAL_TOKENS_BIGRAMS;
    o.dim = 8;
    o.epochs = 1;
    o.threads = 1;
    assert_int_equal(shoal_encode(scratch_path("pairs"), &text, 1, &encode, NULL), SHOAL_OK);
    assert_int_equal(shoal_corpus_open(&pairs, scratch_path("pairs")), SHOAL_OK);
    assert_int_equal(train_words(&rows, pairs, &o, NULL), SHOAL_OK);
    o = opts_of();
    o.epochs = 1;
    assert_int_equal(train_nextword(&net, pairs, rows, &o, NULL), SHOAL_OK);
    shoal_vectors_close(rows);
    shoal_corpus_close(pairs);
    return net;
}

static void assert_continued_alike(const shoal_net *net, const char *text, const char *as)
{
    struct shoal_hit a[3], b[3];
    size_t found = 0, again = 0;

    assert_int_equal(shoal_nextword_predict(net, text, a, 3, &found), SHOAL_OK);
    assert_int_equal(shoal_nextword_predict(net, as, b, 3, &again), SHOAL_OK);
    assert_int_equal(found, 3);
    assert_int_equal(again, 3);
    assert_memory_equal(a, b, sizeof a);
}

static void text_is_asked_for_in_the_words_it_was_trained_in(void **state)
{
    shoal_net *net = train_on_pairs(), *back = NULL;
    struct bytes long_text = {0};
    struct shoal_hit hit;
    size_t found;

    (void)state;
    assert_int_equal(shoal_net_save(net, scratch_path("pairs.net")), SHOAL_OK);
    assert_int_equal(shoal_net_open(&back, scratch_path("pairs.net")), SHOAL_OK);
    assert_int_equal(shoal_vocab_tokens(back->words), SHOAL_TOKENS_BIGRAMS);
    assert_continued_alike(back, "我爱北京，", "我爱北京");
    assert_continued_alike(back, "unheard 我爱北京 of", "我爱北京");
    assert_int_equal(shoal_nextword_predict(back, "我, 爱, 京", &hit, 1, &found), SHOAL_ENOENT);
    /* however far back the known words are, and however much stands before them */
    text_add_many(&long_text, "unheard, ", 20000);
    text_add_str(&long_text, "我爱北京");
    text_add_many(&long_text, ", unheard", 20000);
    bytes_add(&long_text, "", 1);
    assert_continued_alike(back, long_text.at, "我爱北京");
    bytes_fini(&long_text);
    shoal_net_close(net);
    shoal_net_close(back);
}

static bool stop_soon(void *user, const struct shoal_report *r)
{
    (void)user;
    return r->progress < 0.3;
}

static void a_stopped_run_goes_on_bit_for_bit(void **state)
{
    struct train_opts o = opts_of();
    shoal_net *straight, *resumed, *none;

    (void)state;
    o.asked = 0;
    o.epochs = 2;
    o.report_steps = 50;
    straight = train_as(&o, NULL);
    o.checkpoint = scratch_path("run");
    o.report = stop_soon;
    assert_int_equal(train_nextword(&none, corpus, vectors, &o, NULL), SHOAL_ESTOP);
    o.resume = true;
    o.report = NULL;
    resumed = train_as(&o, NULL);
    assert_memory_equal(straight->params, resumed->params,
                        straight->net->size * sizeof(float));
    o.length = 4; /* another net */
    assert_int_equal(train_nextword(&none, corpus, vectors, &o, NULL), SHOAL_EINVAL);
    shoal_net_close(straight);
    shoal_net_close(resumed);
}

static bool stop_after_an_epoch(void *user, const struct shoal_report *r)
{
    (void)user;
    return r->event != SHOAL_EVENT_EPOCH;
}

/* Of a paragraph, the empty one included. */
static size_t lines_of_an_epoch(const struct bytes *b)
{
    struct bytes first = {.at = b->at};
    const char *end = memmem(b->at, b->len, "\n\n", 2);

    assert_non_null(end);
    first.len = (size_t)(end + 2 - b->at);
    return count_char(&first, '\n');
}

/* A run that was killed had told of its second epoch, behind its last checkpoint, and begun
 * to tell of the third. */
static void statistics_of_a_run_that_goes_on_have_each_epoch_once(void **state)
{
    static const char *const names[] = {"again.csv", "again.txt"};
    static const char *const lost[] = {"2,7,7\n3,7", "epoch 2\n  loss 7\n\nepoch 3\n  lo"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct train_opts o = opts_of();
        struct bytes told = {0};
        shoal_net *none;
        FILE *f;

        o.asked = 0;
        o.report = stop_after_an_epoch;
        o.checkpoint = scratch_path(i ? "told.text" : "told.csv");
        o.statistics = scratch_path(names[i]);
        assert_int_equal(train_nextword(&none, corpus, vectors, &o, NULL), SHOAL_ESTOP);
        f = fopen(o.statistics, "a");
        assert_true(f && fputs(lost[i], f) >= 0 && fclose(f) == 0);
        o.resume = true;
        o.report = NULL;
        shoal_net_close(train_as(&o, NULL));
        told = scratch_get(o.statistics);
        assert_int_equal(count_char(&told, '\n'), i ? 3 * lines_of_an_epoch(&told) : 4);
        assert_null(memmem(told.at, told.len, " 7\n", 3));
        assert_null(memmem(told.at, told.len, ",7\n", 3));
        bytes_fini(&told);
    }
}

static void statistics_that_cannot_be_written_end_the_run(void **state)
{
    struct train_opts o = opts_of();
    shoal_net *none;

    (void)state;
    o.asked = 0;
    o.statistics = "/dev/full";
    assert_int_equal(train_nextword(&none, corpus, vectors, &o, NULL), SHOAL_EIO);
    assert_string_equal(shoal_error(), "/dev/full: cannot be written: No space left on device");
}

static void windows_that_cannot_be_are_refused(void **state)
{
    struct train_opts o = opts_of();
    shoal_net *net;

    (void)state;
    o.length = 900; /* no sentence is so long */
    assert_int_equal(train_nextword(&net, corpus, vectors, &o, NULL), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "0 windows of 900 words"));
    assert_non_null(strstr(option_refused("nextword", "length", "0"), "--length is '0', want"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_cells_beat_the_commonest_words),
        cmocka_unit_test(text_is_continued_by_a_net_from_its_file),
        cmocka_unit_test(text_is_asked_for_in_the_words_it_was_trained_in),
        cmocka_unit_test(a_stopped_run_goes_on_bit_for_bit),
        cmocka_unit_test(statistics_of_a_run_that_goes_on_have_each_epoch_once),
        cmocka_unit_test(statistics_that_cannot_be_written_end_the_run),
        cmocka_unit_test(windows_that_cannot_be_are_refused),
    };

    return cmocka_run_group_tests(tests, make_data, end_data);
}
