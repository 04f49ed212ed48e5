/* Words that are several rows, trained by several ranks: run.sh starts this program several times
 * over; rank 0 prints TAP. Rows of n-grams are touched by many words, and travel as others do. */
#include "../unit/training.h"

#include "folder.h"

#include <string.h>

enum { DIM = 20, BUCKETS = 20000 };

#define LESS 3.3 /* what knows nothing loses 6 log 2, 4.16 */

static shoal_corpus *corpus;
static shoal_eval *questions;
static double alone, alone_loss; /* what one rank learns, on rank 0 */

static void meet(void)
{
    CHECK_OK(shoal_ranks_agree(ranks, SHOAL_OK));
}

static void make_corpus(void)
{
    struct shoal_world_opts world = shoal_world_default();
    struct shoal_encode_opts encode = shoal_encode_default();
    const char *text = in_folder("world"), *out = in_folder("corpus");

    world.words = 400000;
    if (rank == 0) {
        CHECK_OK(shoal_world_write(text, in_folder("questions"), &world, NULL));
        CHECK_OK(shoal_encode(out, &text, 1, &encode, NULL));
    }
    meet();
    CHECK_OK(shoal_corpus_open(&corpus, out));
    CHECK_OK(shoal_eval_open(&questions, in_folder("questions")));
}

static struct train_opts opts_of(void)
{
    struct train_opts o = task_defaults("skipgram");

    o.dim = DIM;
    o.epochs = 3;
    o.threads = 1;
    o.lr = 0.05;
    o.minn = 3;
    o.maxn = 6;
    o.buckets = BUCKETS;
    o.valid = 0.01;
    o.output = in_folder("vectors.bin");
    o.ranks = size > 1 ? ranks : NULL;
    return o;
}

static double accuracy_of(const shoal_vectors *v)
{
    struct shoal_eval_opts o = shoal_eval_default();
    struct shoal_score *scores = NULL;
    size_t n = 0;
    double accuracy;

    o.threads = 1;
    CHECK_OK(shoal_eval_run(questions, v, &o, &scores, &n));
    accuracy = n > 0 ? scores[n - 1].accuracy : 0;
    shoal_scores_free(scores);
    return accuracy;
}

/* Of rank 0: how many questions are answered, and the loss of what was held out. */
static double train(const struct train_opts *o, double *loss)
{
    struct shoal_train_stats stats = {0};
    shoal_vectors *v = NULL;
    double accuracy = 0;

    CHECK_OK(train_words(&v, corpus, o, &stats));
    CHECK((v != NULL) == (rank == 0 || !o->ranks));
    if (v) {
        accuracy = accuracy_of(v);
        CHECK(shoal_vectors_subwords(v).buckets == BUCKETS);
        CHECK_OK(shoal_vectors_compose(v, "neverseen", 9, (float[DIM]){0}, NULL));
    }
    *loss = validation(&stats.figures, "loss");
    shoal_vectors_close(v);
    return accuracy;
}

static void one_rank_learns(void)
{
    struct train_opts o = opts_of();

    o.ranks = NULL;
    if (rank == 0) {
        alone = train(&o, &alone_loss);
        printf("# alone %.1f %%, loss %.3f\n", 100 * alone, alone_loss);
        CHECK(alone_loss < LESS);
        CHECK(alone > 0.2);
    }
    meet();
}

/* The worlds are small: what several ranks leave to each other weighs more than it would. */
static void learns_as_one(const char *how, const struct train_opts *o)
{
    double loss = 0, accuracy = train(o, &loss);

    if (rank == 0) {
        printf("# %s: %.1f %%, loss %.3f\n", how, 100 * accuracy, loss);
        CHECK(loss < LESS);
        CHECK(accuracy > 0.5 * alone);
    }
    meet();
}

static void ranks_that_do_not_wait_learn_it(void)
{
    struct train_opts o = opts_of();

    learns_as_one("async", &o);
}

static void ranks_in_step_learn_it(void)
{
    struct train_opts o = opts_of();

    o.sync.policy = SHOAL_SYNC;
    learns_as_one("sync", &o);
}

static void ranks_without_replicas_learn_it(void)
{
    struct train_opts o = opts_of();

    o.replica = SHOAL_REPLICA_BLOCKS;
    learns_as_one("blocks", &o);
}

/* ---- equal bytes ---- */

static bool stop_in_the_middle(void *user, const struct shoal_report *report)
{
    (void)user;
    return report->progress < 0.4;
}

static void check_same(const shoal_vectors *a, const shoal_vectors *b)
{
    float x[DIM], y[DIM];
    size_t wrong = 0;

    for (uint32_t id = 0; a && b && id < shoal_vectors_size(a); id++) {
        CHECK_OK(shoal_vectors_row(a, id, x));
        CHECK_OK(shoal_vectors_row(b, id, y));
        wrong += memcmp(x, y, sizeof x) != 0;
    }
    CHECK(wrong == 0);
}

/* Lanes are the same whoever runs them; stopped in the middle, too. */
static void lanes_give_the_bytes_of_one_rank(void)
{
    struct train_opts o = opts_of();
    shoal_vectors *one = NULL, *all = NULL;

    o.deterministic = true;
    o.sync.policy = SHOAL_SYNC;
    o.epochs = 1;
    o.ranks = NULL;
    if (rank == 0)
        CHECK_OK(train_words(&one, corpus, &o, NULL));
    meet();
    o.ranks = size > 1 ? ranks : NULL;
    o.checkpoint = in_folder("run");
    o.report = stop_in_the_middle;
    CHECK(train_words(&(shoal_vectors *){NULL}, corpus, &o, NULL) == SHOAL_ESTOP);
    meet();
    o.report = NULL;
    o.resume = true;
    CHECK_OK(train_words(&all, corpus, &o, NULL));
    CHECK(rank > 0 || (one && all));
    if (rank == 0)
        check_same(one, all);
    shoal_vectors_close(one);
    shoal_vectors_close(all);
    meet();
}

/* ---- TAP ---- */

int main(void)
{
    if (!begin_ranks())
        return 1;
    make_corpus();
    PASSES(one_rank_learns);
    PASSES(lanes_give_the_bytes_of_one_rank);
    if (size > 1) {
        PASSES(ranks_that_do_not_wait_learn_it);
        PASSES(ranks_in_step_learn_it);
        PASSES(ranks_without_replicas_learn_it);
    }
    shoal_eval_close(questions);
    shoal_corpus_close(corpus);
    return end_ranks();
}
