/* A run of word vectors on several ranks: what they learn from, and where they stop.
 * run.sh starts this program several times over; rank 0 prints TAP. */
#include "../unit/training.h"
#include "train/tasks/words.h"

#include "folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In step two ranks of one thread end an epoch without gathering when each has gone
 * through 1.6 million words or more; four sooner. */
enum { WORDS = 3600000, DIM = 4 };

static shoal_corpus *corpus;

static void meet(void)
{
    CHECK_OK(shoal_ranks_agree(ranks, SHOAL_OK));
}

static void make_corpus(void)
{
    struct shoal_world_opts world = shoal_world_default();
    struct shoal_encode_opts encode = shoal_encode_default();
    const char *text = in_folder("world.txt"), *path = in_folder("world.shoal");

    world.words = WORDS;
    if (rank == 0) {
        CHECK_OK(shoal_world_write(text, NULL, &world, NULL));
        CHECK_OK(shoal_encode(path, &text, 1, &encode, NULL));
    }
    meet();
    CHECK_OK(shoal_corpus_open(&corpus, path));
}

static struct train_opts opts_of(enum shoal_sync sync)
{
    struct train_opts o = task_defaults("cbow");

    o.dim = DIM;
    o.epochs = 2;
    o.threads = 1;
    o.sync.policy = sync;
    o.valid = 0;
    o.ranks = size > 1 ? ranks : NULL;
    return o;
}

/* ---- stopping -------------------------------------------------------------------- */

static float *rows_of(const shoal_vectors *v)
{
    size_t n = shoal_vectors_size(v);
    float *rows = calloc(n, DIM * sizeof *rows);

    for (uint32_t i = 0; rows && i < n; i++)
        CHECK_OK(shoal_vectors_row(v, i, rows + i * DIM));
    return rows;
}

/* The rows of the result, for free(); of rank 0, elsewhere NULL. */
static float *train(const struct train_opts *o)
{
    shoal_vectors *v = NULL;
    float *rows;

    CHECK_OK(train_words(&v, corpus, o, NULL));
    rows = v && rank == 0 ? rows_of(v) : NULL;
    shoal_vectors_close(v);
    return rows;
}

static bool same(const float *a, const float *b)
{
    return memcmp(a, b, shoal_vocab_size(shoal_corpus_vocab(corpus)) * DIM * sizeof *a) == 0;
}

static bool stop_at(void *user, const struct shoal_report *report)
{
    return report->event != *(const enum shoal_event *)user;
}

/* Stops at the first report of this event, and goes on from there. */
static float *train_in_two(struct train_opts o, enum shoal_event event)
{
    o.report = stop_at;
    o.user = &event;
    CHECK(train_words(&(shoal_vectors *){NULL}, corpus, &o, NULL) == SHOAL_ESTOP);
    meet();
    o.report = NULL;
    o.resume = true;
    o.every.unit = SHOAL_EVERY_SECONDS;
    o.every.value = 1e6;
    return train(&o);
}

/* The end of an epoch leaves the tables apart unless somebody is to look at them. Who is
 * stopped by its report does, and knew it only then: what goes on is, to the last bit, what
 * goes on from a checkpoint for which all gathered beforehand. */
static void a_run_stopped_by_the_report_of_an_epoch_has_gathered_its_tables(void)
{
    struct train_opts o = opts_of(SHOAL_SYNC);
    float *through, *apart, *gathered;

    through = train(&o);
    o.checkpoint = in_folder("gathered");
    o.every.unit = SHOAL_EVERY_EPOCH;
    gathered = train_in_two(o, SHOAL_EVENT_CHECKPOINT);
    o.checkpoint = in_folder("apart");
    o.every.unit = SHOAL_EVERY_SECONDS;
    o.every.value = 1e6;
    apart = train_in_two(o, SHOAL_EVENT_EPOCH);
    CHECK(rank > 0 || (through && apart && gathered));
    if (through && apart && gathered) {
        CHECK(same(apart, gathered));
        CHECK(same(through, gathered) == (size == 1)); /* else it was gathered there too */
    }
    free(through);
    free(apart);
    free(gathered);
}

/* ---- long runs ------------------------------------------------------------------------ */

static struct row_length told;

static struct cadence hear_length(const struct train_opts *o, struct row_length length)
{
    told = length;
    return words_cadence(o, length);
}

static struct row_length length_of(struct train_opts o)
{
    const struct task *cbow = task_find("cbow");
    struct row_task rows = *cbow->rows;
    struct task task = *cbow;
    struct shoal_sources data = {.corpus = corpus};
    shoal_model *model = NULL;

    rows.cadence = hear_length;
    task.rows = &rows;
    CHECK_OK(run_task(&task, &o, &data, &model, NULL));
    shoal_model_close(model);
    meet();
    return told;
}

/* By a chunk of 16,384 words at most, of which the last is not whole. */
static void a_task_is_told_how_long_its_run_is(void)
{
    struct train_opts o = opts_of(SHOAL_ASYNC);
    double words = WORDS, chunk = 16384;
    struct row_length two = length_of(o), three;

    o.epochs = 3;
    three = length_of(o);
    CHECK(two.positions > 1.9 * words && two.positions < 2.3 * words);
    CHECK(three.positions == 1.5 * two.positions && three.rounds == two.rounds);
    CHECK(two.rounds >= words / chunk / size && two.rounds < 2.3 * words / chunk / size * 2);
}

/* How much longer is that of words alone, with negative samples, among ranks that do not wait. */
static void rows_of_long_runs_travel_more_seldom(void)
{
    struct row_length usual = {.positions = 3e7, .rounds = 1e4}, nine = {4.5e8, 1e4};
    struct row_length epochs = {4.5e8, 100};
    struct train_opts o = opts_of(SHOAL_ASYNC);
    struct cadence was = words_cadence(&o, usual), now = words_cadence(&o, nine);
    unsigned two = size == 2 ? 2 : 1; /* where rows wait longer, and are not asked for */

    CHECK(now.sweep[0] == 9 * two * was.sweep[0] && now.sweep[1] == 9 * was.sweep[1]);
    CHECK(now.fresh[0] == (two == 2 ? 0 : now.sweep[0]));
    CHECK(now.least == (two == 2 ? 9 : 3) * was.least);
    CHECK(now.early == 0 && now.due >= was.due);
    CHECK(words_noise_once(&o, nine) == (size == 2));
    o.bag = false;
    CHECK(words_noise_once(&o, nine) && !words_noise_once(&o, usual));
    now = words_cadence(&o, epochs); /* in one and a half of them, if not sooner */
    for (unsigned t = 0; t < 2; t++)
        CHECK(now.sweep[t] >= was.sweep[t] && (now.sweep[t] == was.sweep[t] || now.sweep[t] <= 150));
    o.servers = 2;
    CHECK(size != 4 || words_cadence(&o, nine).fresh[0] > 0); /* two that own nothing ask */
    o.servers = 0;
    o.sync.policy = SHOAL_SYNC;
    CHECK(words_cadence(&o, nine).sweep[0] == words_cadence(&o, usual).sweep[0]);
    CHECK(words_cadence(&o, nine).least == words_cadence(&o, usual).least);
    o.sync.policy = SHOAL_BOUNDED;
    o.sync.staleness = 3;
    CHECK(words_cadence(&o, nine).fresh[0] == 3);
    o = opts_of(SHOAL_ASYNC);
    o.loss = SHOAL_HS;
    CHECK(words_cadence(&o, nine).sweep[0] == words_cadence(&o, usual).sweep[0]);
}

/* In skip-gram they do. */
static void in_cbow_rows_of_many_ranks_travel_as_in_short_runs(void)
{
    struct row_length usual = {.positions = 3e7, .rounds = 100}, nine = {4.5e8, 100};
    struct train_opts o = opts_of(SHOAL_ASYNC);
    struct cadence was, now;

    o.bag = false;
    CHECK(words_cadence(&o, nine).least == 3 * words_cadence(&o, usual).least);
    CHECK(!words_noise_once(&o, nine)); /* but for few ranks */
    o.bag = true;
    was = words_cadence(&o, usual);
    now = words_cadence(&o, nine);
    CHECK(now.least == was.least && now.due == was.due);
    CHECK(now.sweep[0] == was.sweep[0] && now.sweep[1] == was.sweep[1]);
}

static void in_skipgram_many_ranks_keep_more_of_rare_rows_in_short_runs(void)
{
    struct row_length usual = {.positions = 3e7, .rounds = 100}, nine = {4.5e8, 100};
    struct train_opts o = opts_of(SHOAL_ASYNC);
    struct cadence c = words_cadence(&o, usual);

    CHECK(c.share_rare == 0);
    o.bag = false;
    c = words_cadence(&o, usual);
    CHECK(c.share_rare > 0 && c.share_rare < c.share);
    CHECK(words_cadence(&o, nine).share_rare == 0);
    o.sync.policy = SHOAL_SYNC;
    CHECK(words_cadence(&o, usual).share_rare == 0);
}

/* ---- working for long ---------------------------------------------------------------- */

static bool dawdle(void *user, const struct shoal_report *report)
{
    (void)user;
    if (report->event == SHOAL_EVENT_EPOCH || report->event == SHOAL_EVENT_DONE)
        sleep(5);
    return true;
}

/* Rank 0 is in its report, and polls nothing, for longer than a rank may be silent. */
static void who_works_for_long_is_not_given_up(void)
{
    struct train_opts o = opts_of(SHOAL_ASYNC);
    shoal_vectors *v = NULL;

    o.epochs = 1;
    o.silence = 3;
    o.report = dawdle;
    CHECK_OK(train_words(&v, corpus, &o, NULL));
    shoal_vectors_close(v);
    meet();
}

/* ---- data that is not the same ------------------------------------------------------- */

/* As many words in either, but others. */
static shoal_corpus *own_corpus(const char *name, const char *prefix)
{
    struct shoal_encode_opts encode = shoal_encode_default();
    const char *path;
    shoal_corpus *own = NULL;
    char file[64];
    const char *text = in_folder((snprintf(file, sizeof file, "%s%u", name, rank), file));
    FILE *f = fopen(text, "w");

    for (unsigned i = 0; f && i < 4000; i++)
        fprintf(f, "%s%u%c", prefix, i % 40, i % 20 ? ' ' : '\n');
    CHECK(f && fclose(f) == 0);
    path = in_folder((snprintf(file, sizeof file, "%s%u.shoal", name, rank), file));
    CHECK_OK(shoal_encode(path, &text, 1, &encode, NULL));
    CHECK_OK(shoal_corpus_open(&own, path));
    return own;
}

static void ranks_whose_rows_are_other_words_are_refused(void)
{
    struct train_opts o = opts_of(SHOAL_ASYNC);
    shoal_corpus *own = own_corpus("own", rank == 1 ? "b" : "a");

    o.sample = 0;
    CHECK(train_words(&(shoal_vectors *){NULL}, own, &o, NULL) == SHOAL_EINVAL);
    CHECK(strstr(shoal_error(), "found data other than rank 0's"));
    o.local_input = true;
    CHECK(train_words(&(shoal_vectors *){NULL}, own, &o, NULL) == SHOAL_EINVAL);
    CHECK(strstr(shoal_error(), "found a vocabulary other than rank 0's"));
    CHECK(rank == 1 || strstr(shoal_error(), "rank 1 on "));
    shoal_corpus_close(own);
    meet();
}

/* ---- TAP ------------------------------------------------------------------------------ */

int main(void)
{
    if (!begin_ranks())
        return 1;
    if (size >= 24) {
        PASSES(in_cbow_rows_of_many_ranks_travel_as_in_short_runs);
        PASSES(in_skipgram_many_ranks_keep_more_of_rare_rows_in_short_runs);
        return end_ranks();
    }
    make_corpus();
    PASSES(a_run_stopped_by_the_report_of_an_epoch_has_gathered_its_tables);
    PASSES(who_works_for_long_is_not_given_up);
    if (size > 1)
        PASSES(a_task_is_told_how_long_its_run_is);
    if (size > 1)
        PASSES(rows_of_long_runs_travel_more_seldom);
    if (size > 1)
        PASSES(ranks_whose_rows_are_other_words_are_refused);
    shoal_corpus_close(corpus);
    return end_ranks();
}
