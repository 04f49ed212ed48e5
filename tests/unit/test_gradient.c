/* One step of each model against finite differences of its own loss. */
#include "model/model.h"
#include "store/store.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "scratch.h"
#include "train/train.h"

#include "defaults.h"

enum { DIM = 7, CENTRE = 9, GRAMS = 2, BUCKETS = 5 };

#define TEXT "a b c d e f g h i j k l a b c a b a\n"

struct world {
    shoal_corpus *corpus;
    const shoal_vocab *vocab;
    const uint32_t *ids;
    size_t count;
    struct w2v w;
    struct table in, out;
    struct view vin, vout;
    struct w2v_worker *worker;
    uint32_t m; /* neighbours of the centre */
    struct w2v_grams grams;
    size_t from[32];
    uint32_t rows[32 * GRAMS];
};

/* Every word has GRAMS n-grams, in buckets that words share. */
static void world_grams(struct world *x)
{
    for (uint32_t i = 0; i < x->w.words * GRAMS; i++)
        x->rows[i] = x->w.words + i % BUCKETS;
    for (uint32_t i = 0; i <= x->w.words; i++)
        x->from[i] = i * GRAMS;
    x->grams = (struct w2v_grams){.from = x->from, .row = x->rows};
    x->w.grams = &x->grams;
}

static void world_new(struct world *x, const char *task, enum shoal_loss loss, bool sum,
                      bool wide, bool grams)
{
    struct shoal_encode_opts encode = shoal_encode_default();
    struct train_opts o = task_defaults(task);
    const char *text = scratch_put("gradient.txt", TEXT, sizeof TEXT - 1);
    const struct kernel *kernel;
    struct rng r = {5, 5, 0};
    struct windows windows;

    *x = (struct world){0};
    encode.vocab.min_count = 1;
    o.window_fixed = o.across_lines = wide;
    o.dim = DIM, o.loss = loss, o.sum = sum, o.sample = 0, o.negative = 3;
    assert_int_equal(shoal_encode(scratch_path("gradient.shoal"), &text, 1, &encode, NULL), 0);
    assert_int_equal(shoal_corpus_open(&x->corpus, scratch_path("gradient.shoal")), 0);
    x->vocab = shoal_corpus_vocab(x->corpus);
    assert_int_equal(shoal_corpus_part(x->corpus, 0, 1, &x->ids, &x->count), 0);
    assert_int_equal(kernel_choose(&kernel), 0);
    assert_int_equal(w2v_init(&x->w, &o, x->vocab, x->ids, x->count, kernel), 0);
    if (grams)
        world_grams(x);
    assert_int_equal(table_init(&x->in, "in", x->w.words + (grams ? BUCKETS : 0), DIM), 0);
    assert_int_equal(table_init(&x->out, "out", w2v_out_rows(&o, x->w.words), DIM), 0);
    for (size_t i = 0; i < x->in.rows * DIM; i++)
        x->in.at[i / DIM * x->in.stride + i % DIM] = (float)(rng_unit(&r) - 0.5);
    for (size_t i = 0; i < x->out.rows * DIM; i++)
        x->out.at[i / DIM * x->out.stride + i % DIM] = (float)(rng_unit(&r) - 0.5);
    assert_int_equal(view_init_shared(&x->vin, &x->in, 0), 0);
    assert_int_equal(view_init_shared(&x->vout, &x->out, 0), 0);
    assert_int_equal(w2v_worker_new(&x->worker, &x->w, &x->vin, &x->vout), 0);
    windows_cut(&windows, &x->w, UINT32_MAX, CENTRE, CENTRE + 1);
    assert_int_equal(windows.len, 1);
    x->m = windows.at[0].hi - windows.at[0].lo - 1;
}

static void world_end(struct world *x)
{
    w2v_worker_free(x->worker);
    view_fini(&x->vin);
    view_fini(&x->vout);
    table_fini(&x->in);
    table_fini(&x->out);
    w2v_fini(&x->w);
    shoal_corpus_close(x->corpus);
}

static double loss_of(struct world *x)
{
    struct sums done = {0};

    w2v_worker_loss(x->worker, CENTRE, CENTRE + 1, &done);
    return done.loss;
}

/* -dL/dp by central differences, for every p of a table, row by row. */
static void slopes(struct world *x, struct table *t, double *out)
{
    const float h = 1e-2f;

    for (size_t i = 0; i < t->rows * DIM; i++) {
        float *p = &t->at[i / DIM * t->stride + i % DIM], was = *p;
        double above, below;

        *p = was + h, above = loss_of(x);
        *p = was - h, below = loss_of(x);
        *p = was;
        out[i] = (below - above) / (2 * (double)h);
    }
}

static void assert_moved(const struct table *t, const float *before, const double *slope,
                         double factor)
{
    double moved = 0;

    for (size_t i = 0; i < t->rows * DIM; i++) {
        size_t at = i / DIM * t->stride + i % DIM;
        double step = (double)t->at[at] - (double)before[at];

        assert_true(fabs(step - factor * slope[i]) < 2e-3);
        moved += fabs(step);
    }
    assert_true(moved > 0.1);
}

/* With a rate of 1 a step is the negative gradient itself. word2vec lets every
 * word of a mean take the whole gradient of the mean, which is m times its own
 * share; the sum and skip-gram take exactly theirs. So do the rows of a word that has several:
 * each takes the whole of the word's. */
static void check_with(const char *task, enum shoal_loss loss, bool sum, bool wide, bool grams)
{
    struct world x;
    double din[32 * DIM], dout[32 * DIM];
    float in[32 * 16], out[32 * 16];
    struct sums done = {0};

    world_new(&x, task, loss, sum, wide, grams);
    slopes(&x, &x.in, din);
    slopes(&x, &x.out, dout);
    memcpy(in, x.in.at, table_bytes(x.in.rows, DIM));
    memcpy(out, x.out.at, table_bytes(x.out.rows, DIM));
    w2v_worker_train(x.worker, UINT32_MAX, CENTRE, CENTRE + 1, 1, &done);
    assert_moved(&x.in, in, din, (x.w.bag && !sum ? x.m : 1) * (grams ? GRAMS + 1 : 1));
    assert_moved(&x.out, out, dout, 1);
    world_end(&x);
}

/* With windows shrunk within a line, and with fixed ones over line ends. */
static void check(const char *task, enum shoal_loss loss, bool sum)
{
    check_with(task, loss, sum, false, false);
    check_with(task, loss, sum, true, false);
}

static void cbow_with_negative_sampling_steps_down_its_loss(void **state)
{
    (void)state;
    check("cbow", SHOAL_NS, false);
    check("cbow", SHOAL_NS, true);
}

static void cbow_with_hierarchical_softmax_steps_down_its_loss(void **state)
{
    (void)state;
    check("cbow", SHOAL_HS, false);
    check("cbow", SHOAL_HS, true);
}

static void skipgram_with_negative_sampling_steps_down_its_loss(void **state)
{
    (void)state;
    check("skipgram", SHOAL_NS, false);
}

static void skipgram_with_hierarchical_softmax_steps_down_its_loss(void **state)
{
    (void)state;
    check("skipgram", SHOAL_HS, false);
}

/* Kraft: the leaves of a full binary tree fill it exactly. */
static void words_of_several_rows_step_down_their_loss(void **state)
{
    (void)state;
    check_with("skipgram", SHOAL_NS, false, false, true);
    check_with("skipgram", SHOAL_HS, false, true, true);
    check_with("cbow", SHOAL_NS, false, false, true);
    check_with("cbow", SHOAL_NS, true, true, true);
    check_with("cbow", SHOAL_HS, false, false, true);
}

static void huffman_paths_are_a_code_and_shorter_for_commoner_words(void **state)
{
    struct world x;
    double sum = 0;

    (void)state;
    world_new(&x, "cbow", SHOAL_HS, false, false, false);
    for (uint32_t w = 0; w < x.w.words; w++) {
        uint32_t len = x.w.path[w + 1] - x.w.path[w];

        sum += pow(0.5, len);
        if (w > 0 && shoal_vocab_count(x.vocab, w) < shoal_vocab_count(x.vocab, w - 1))
            assert_true(len >= x.w.path[w] - x.w.path[w - 1]);
        assert_int_equal(x.w.node[x.w.path[w]], 0); /* the root comes first, and is row 0 */
    }
    assert_true(fabs(sum - 1) < 1e-12);
    world_end(&x);
}

static void noise_is_drawn_by_the_three_quarter_power(void **state)
{
    struct world x;
    double share[32] = {0}, sum = 0;

    (void)state;
    world_new(&x, "cbow", SHOAL_NS, false, false, false);
    for (uint32_t i = 0; i < x.w.words; i++) {
        double keep = ((double)x.w.alias[i].keep + 1) * 0x1p-32;

        share[i] += keep / x.w.words;
        share[x.w.alias[i].other] += (1 - keep) / x.w.words;
        sum += pow((double)shoal_vocab_count(x.vocab, i), 0.75);
    }
    for (uint32_t i = 0; i < x.w.words; i++)
        assert_true(fabs(share[i] - pow((double)shoal_vocab_count(x.vocab, i), 0.75) / sum) < 1e-6);
    world_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cbow_with_negative_sampling_steps_down_its_loss),
        cmocka_unit_test(cbow_with_hierarchical_softmax_steps_down_its_loss),
        cmocka_unit_test(skipgram_with_negative_sampling_steps_down_its_loss),
        cmocka_unit_test(skipgram_with_hierarchical_softmax_steps_down_its_loss),
        cmocka_unit_test(words_of_several_rows_step_down_their_loss),
        cmocka_unit_test(huffman_paths_are_a_code_and_shorter_for_commoner_words),
        cmocka_unit_test(noise_is_drawn_by_the_three_quarter_power),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
