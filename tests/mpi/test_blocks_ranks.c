/* Training where no rank holds all rows: run.sh starts this program several times
 * over; rank 0 prints TAP. The text is the generated world and many rare words, so
 * that a block needs few of all rows. */
#include "../unit/training.h"

#include "folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RARE = 30000, RARE_COUNT = 2 };

#define LEARNED 0.03 /* of the analogies; what knows nothing has less than 0.01 */
#define LESS 4.12    /* than the loss of what knows nothing, 6 log 2 */

static shoal_corpus *corpus;
static shoal_eval *questions;

static void write_rare(const char *path)
{
    FILE *f = fopen(path, "w");

    CHECK(f != NULL);
    for (unsigned i = 0; f && i < RARE * RARE_COUNT; i++)
        fprintf(f, "rare%u%s", (unsigned)(rng_at(1, 2, i / RARE) + 7919ull * i) % RARE,
                i % 20 == 19 ? "\n" : " ");
    if (f)
        CHECK(fclose(f) == 0);
}

static void make_corpus(void)
{
    struct shoal_world_opts world = shoal_world_default();
    struct shoal_encode_opts encode = shoal_encode_default();
    const char *inputs[] = {in_folder("world"), in_folder("rare")}, *out = in_folder("corpus");

    world.words = 200000;
    encode.vocab.min_count = 1;
    if (rank == 0) {
        CHECK_OK(shoal_world_write(inputs[0], in_folder("questions"), &world, NULL));
        write_rare(inputs[1]);
        CHECK_OK(shoal_encode(out, inputs, 2, &encode, NULL));
    }
    CHECK_OK(shoal_ranks_agree(ranks, SHOAL_OK));
    CHECK_OK(shoal_corpus_open(&corpus, out));
    CHECK_OK(shoal_eval_open(&questions, in_folder("questions")));
}

static struct train_opts opts_of(enum shoal_replica replica)
{
    struct train_opts o = task_defaults("skipgram");

    o.dim = 20;
    o.epochs = 5;
    o.threads = 1;
    o.ranks = size > 1 ? ranks : NULL;
    o.replica = replica;
    o.output = in_folder("vectors.bin");
    return o;
}

/* On rank 0; the others have nothing to be asked. */
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

static double train(const struct train_opts *o, struct shoal_train_stats *stats)
{
    shoal_vectors *v = NULL;
    double accuracy = 0;

    CHECK_OK(train_words(&v, corpus, o, stats));
    CHECK((v != NULL) == (rank == 0 || !o->ranks));
    if (v)
        accuracy = accuracy_of(v);
    shoal_vectors_close(v);
    return accuracy;
}

static uint64_t needs(const struct shoal_train_plan *p)
{
    return p->memory_bytes - p->held_bytes;
}

/* Between what blocks need and what a replica does. */
static uint64_t tight(void)
{
    struct train_opts full = opts_of(SHOAL_REPLICA_FULL);
    struct train_opts blocks = opts_of(SHOAL_REPLICA_BLOCKS);
    struct shoal_train_plan with, without;

    CHECK_OK(plan_words(&with, corpus, &full));
    CHECK_OK(plan_words(&without, corpus, &blocks));
    CHECK(!with.blocks && without.blocks);
    CHECK(needs(&without) < needs(&with));
    CHECK(without.rank_bytes == with.model_bytes / size);
    return (needs(&with) + needs(&without)) / 2;
}

static void what_does_not_fit_is_planned_in_blocks(void)
{
    struct train_opts o = opts_of(SHOAL_REPLICA_AUTO);
    struct shoal_train_plan p;

    o.memory_limit = tight();
    CHECK_OK(plan_words(&p, corpus, &o));
    CHECK(p.blocks && needs(&p) <= o.memory_limit);
    CHECK(p.replica_bytes - p.held_bytes > o.memory_limit);
    o.memory_limit = 0;
    CHECK_OK(plan_words(&p, corpus, &o));
    CHECK(!p.blocks);
    o.memory_limit = tight();
    o.replica = SHOAL_REPLICA_FULL;
    CHECK(train_words(&(shoal_vectors *){NULL}, corpus, &o, NULL) == SHOAL_ELIMIT);
}

static void blocks_learn_what_replicas_learn(void)
{
    struct train_opts full = opts_of(SHOAL_REPLICA_FULL);
    struct train_opts blocks = opts_of(SHOAL_REPLICA_AUTO);
    struct shoal_train_stats stats = {0};
    double with = train(&full, NULL), without;

    blocks.memory_limit = tight();
    without = train(&blocks, &stats);
    if (rank == 0) {
        printf("# replicas %.1f %%, blocks %.1f %%\n", 100 * with, 100 * without);
        CHECK(without > with - 0.05 && without > LEARNED);
        CHECK(stats.ranks.bytes_out > 0 && stats.ranks.stale[0] > 0);
    }
    CHECK_OK(shoal_ranks_agree(ranks, SHOAL_OK));
}

static void servers_alone_may_own_the_rows(void)
{
    struct train_opts o = opts_of(SHOAL_REPLICA_BLOCKS);
    struct shoal_train_stats stats = {0};

    o.servers = 1;
    o.sync.policy = SHOAL_BOUNDED;
    o.sync.staleness = 2;
    o.epochs = 2;
    train(&o, &stats);
    CHECK(rank > 0 || validation(&stats.figures, "loss") < LESS);
}

/* One thread a rank, and everything in the order of the ranks. */
static void sync_blocks_give_the_same_bytes_each_time(void)
{
    struct train_opts o = opts_of(SHOAL_REPLICA_BLOCKS);
    shoal_vectors *v[2] = {NULL, NULL};
    float a[20], b[20];
    size_t wrong = 0;

    o.sync.policy = SHOAL_SYNC;
    o.epochs = 1;
    for (size_t i = 0; i < 2; i++)
        CHECK_OK(train_words(&v[i], corpus, &o, NULL));
    for (uint32_t row = 0; rank == 0 && v[0] && v[1] && row < shoal_vectors_size(v[0]); row++) {
        CHECK_OK(shoal_vectors_row(v[0], row, a));
        CHECK_OK(shoal_vectors_row(v[1], row, b));
        wrong += memcmp(a, b, sizeof a) != 0;
    }
    CHECK(wrong == 0);
    shoal_vectors_close(v[0]);
    shoal_vectors_close(v[1]);
}

/* ---- stopping and going on ---- */

static bool stop_in_the_middle(void *user, const struct shoal_report *report)
{
    (void)user;
    return report->progress < 0.4;
}

/* Each rank writes the rows it owns; one rank alone, with all rows, goes on. */
static void what_blocks_began_one_rank_ends(void)
{
    struct train_opts o = opts_of(SHOAL_REPLICA_BLOCKS);
    struct shoal_train_stats stats = {0};

    o.checkpoint = in_folder("run");
    o.report = stop_in_the_middle;
    o.epochs = 2;
    CHECK(train_words(&(shoal_vectors *){NULL}, corpus, &o, NULL) == SHOAL_ESTOP);
    CHECK_OK(shoal_ranks_agree(ranks, SHOAL_OK));
    o.report = NULL;
    o.resume = true;
    if (rank == 0) {
        o.ranks = NULL;
        o.replica = SHOAL_REPLICA_AUTO;
        train(&o, &stats);
        CHECK(stats.resumed && stats.examples > 0 && stats.examples < 2 * shoal_corpus_words(corpus));
        CHECK(validation(&stats.figures, "loss") < LESS);
    }
    CHECK_OK(shoal_ranks_agree(ranks, SHOAL_OK));
}

/* What replicas wrote is dealt out again; going on ends in a whole model. */
static void what_replicas_began_blocks_end(void)
{
    struct train_opts o = opts_of(SHOAL_REPLICA_FULL);
    struct shoal_train_stats stats = {0};

    o.checkpoint = in_folder("run2");
    o.report = stop_in_the_middle;
    o.epochs = 2;
    CHECK(train_words(&(shoal_vectors *){NULL}, corpus, &o, NULL) == SHOAL_ESTOP);
    o.report = NULL;
    o.resume = true;
    o.replica = SHOAL_REPLICA_BLOCKS;
    train(&o, &stats);
    CHECK(rank > 0 || (stats.resumed && validation(&stats.figures, "loss") < LESS));
}

static void one_rank_has_no_blocks(void)
{
    struct train_opts o = opts_of(SHOAL_REPLICA_BLOCKS);
    struct shoal_train_plan p;

    o.ranks = NULL;
    CHECK(plan_words(&p, corpus, &o) == SHOAL_EINVAL);
    CHECK(strstr(shoal_error(), "--replica blocks with 1 rank, want several") != NULL);
}

/* ---- TAP ---- */

int main(void)
{
    if (!begin_ranks())
        return 1;
    make_corpus();
    PASSES(one_rank_has_no_blocks);
    if (size > 1) {
        PASSES(what_does_not_fit_is_planned_in_blocks);
        PASSES(blocks_learn_what_replicas_learn);
        PASSES(servers_alone_may_own_the_rows);
        PASSES(sync_blocks_give_the_same_bytes_each_time);
        PASSES(what_blocks_began_one_rank_ends);
        PASSES(what_replicas_began_blocks_end);
    }
    shoal_eval_close(questions);
    shoal_corpus_close(corpus);
    return end_ranks();
}
