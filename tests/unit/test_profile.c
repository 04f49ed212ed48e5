/* train: the profile of a run. Verdicts on made-up figures, each one reached and
 * each threshold from both sides; and the figures of a true run on one rank. */
#include "train/profile/profile.h"

#include "text/text.h"

#include <math.h>
#include <setjmp.h>

#include "scratch.h"
#include "training.h"

static void assert_close(double found, double want, double within)
{
    if (!(fabs(found - want) <= within))
        fail_msg("found %.9g, want %.9g", found, want);
}

/* ---- made-up ranks -------------------------------------------------------------- */

/* Ten seconds of one thread on one of two cores, all of it computing. */
static struct shoal_profile_rank busy_rank(unsigned rank)
{
    struct shoal_profile_rank r = {.rank = rank,
                                   .works = true,
                                   .threads = 1,
                                   .cores = 2,
                                   .seconds = 10,
                                   .computing = 10,
                                   .thread_seconds = 10,
                                   .user = 10,
                                   .awaited = rank};

    snprintf(r.host, sizeof r.host, "n%u", rank);
    return r;
}

/* The shares of the ten seconds; the rest is computing, at full speed. */
static struct shoal_profile_rank rank_with(unsigned rank, double communicating, double waiting,
                                           double other)
{
    struct shoal_profile_rank r = busy_rank(rank);

    r.communicating = 10 * communicating;
    r.waiting = 10 * waiting;
    r.other = 10 * other;
    r.computing = 10 - r.communicating - r.waiting - r.other;
    r.user = r.computing + r.communicating;
    return r;
}

/* What many ranks that are alike make up, one on each host. */
static struct shoal_profile profile_of(const struct shoal_profile_rank *rows, unsigned n)
{
    struct shoal_profile p = {.sync = SHOAL_SYNC,
                              .wide = true,
                              .ranks = n,
                              .hosts = n,
                              .seconds = 10,
                              .units = 5,
                              .unit = "1 M words"};

    for (unsigned i = 0; i < n; i++)
        profile_take(&p, &rows[i]);
    p.all.cores = 2 * n;
    p.crowd.threads = 1;
    p.crowd.cores = 2;
    return p;
}

static struct shoal_profile profile_alike(unsigned n, double communicating, double waiting,
                                          double other)
{
    struct shoal_profile_rank rows[8];

    for (unsigned i = 0; i < n; i++)
        rows[i] = rank_with(i, communicating, waiting, other);
    return profile_of(rows, n);
}

static void assert_limit(struct shoal_profile *p, enum shoal_limit want)
{
    profile_set_verdict(p);
    if (p->limit != want)
        fail_msg("found %s, want %s: %s", shoal_limit_name(p->limit), shoal_limit_name(want),
                 p->verdict);
    assert_true(strlen(p->verdict) > 10 && strlen(p->verdict) < sizeof p->verdict - 1);
}

static void assert_says(const struct shoal_profile *p, const char *words)
{
    if (!strstr(p->verdict, words))
        fail_msg("found \"%s\", want \"%s\" in it", p->verdict, words);
}

/* ---- sums -------------------------------------------------------------------------- */

static void ranks_are_added_up_and_the_first_are_kept(void **state)
{
    struct shoal_profile p = {0};

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        struct shoal_profile_rank r = rank_with(i, 0.1, 0.2, 0.1);

        r.works = i < 90;
        r.bytes_out = r.far_in = r.faults = r.waits = r.memory = 3;
        r.disk_read = i;
        r.queued = r.system = 0.5;
        profile_take(&p, &r);
    }
    assert_int_equal(p.nrows, SHOAL_PROFILE_ROWS);
    assert_int_equal(p.rows[63].rank, 63);
    assert_close(p.all.seconds, 1000, 1e-6);
    assert_close(p.all.computing, 600, 1e-6);
    assert_close(p.all.communicating, 100, 1e-6);
    assert_close(p.all.waiting, 200, 1e-6);
    assert_close(p.all.other, 100, 1e-6);
    assert_close(p.all.system, 50, 1e-6);
    assert_close(p.all.queued, 50, 1e-6);
    assert_int_equal(p.all.bytes_out, 300);
    assert_int_equal(p.all.far_in, 300);
    assert_int_equal(p.all.faults, 300);
    assert_int_equal(p.all.waits, 300);
    assert_int_equal(p.all.memory, 300);
    assert_int_equal(p.all.disk_read, 4950);
    assert_int_equal(p.all.threads, 100);
    assert_close(p.work.seconds, 900, 1e-6);
    assert_close(profile_waiting(&p), 0.2, 1e-9);
}

static void what_one_rank_does_not_know_the_sum_does_not_know(void **state)
{
    struct shoal_profile p = {0};
    struct shoal_profile_rank r = busy_rank(0);

    (void)state;
    r.disk_read = 5;
    profile_take(&p, &r);
    r.disk_read = SHOAL_UNKNOWN;
    r.queued = NAN;
    profile_take(&p, &r);
    r.disk_read = 7;
    profile_take(&p, &r);
    assert_true(p.all.disk_read == SHOAL_UNKNOWN);
    assert_true(isnan(p.all.queued));
    assert_int_equal(p.all.disk_written, 0);
}

static void extremes_are_those_of_all_ranks(void **state)
{
    struct shoal_profile_rank rows[] = {rank_with(0, 0.1, 0.3, 0), rank_with(1, 0.2, 0.1, 0),
                                        rank_with(2, 0.5, 0.0, 0), rank_with(3, 0.3, 0.2, 0)};
    struct shoal_profile p;

    (void)state;
    rows[2].works = false; /* a server trains nothing, so it cannot be slow at it */
    p = profile_of(rows, 4);
    assert_int_equal(p.slowest.rank, 1);
    assert_int_equal(p.busiest.rank, 2);
}

/* ---- verdicts ------------------------------------------------------------------------ */

static void a_short_run_is_not_judged(void **state)
{
    struct shoal_profile p = profile_alike(1, 0, 0, 0);

    (void)state;
    p.seconds = 0.99;
    assert_limit(&p, SHOAL_LIMIT_SHORT);
    assert_says(&p, "1 rank: 0.99 s are too short to tell");
    p.seconds = 1;
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR);
}

static void computing_is_limited_by_the_processor(void **state)
{
    struct shoal_profile p = profile_alike(1, 0, 0, 0.03);

    (void)state;
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR);
    assert_says(&p, "1 rank: 97 % computing with 1 thread on 2 cores: the processor is the limit; "
                    "use more --threads or ranks");
    p.work.threads = 2;
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR);
    assert_says(&p, "add cores or ranks");
    p = profile_alike(4, 0.1, 0.29, 0);
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR);
    assert_says(&p, "sync, 4 ranks on 4 hosts: 61 % computing");
}

static void rows_that_stay_behind_are_told(void **state)
{
    struct shoal_profile p = profile_alike(2, 0.1, 0, 0);

    (void)state;
    p.sync = SHOAL_ASYNC;
    p.hosts = 1;
    p.work.held = 1;
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR);
    assert_null(strstr(p.verdict, "stay behind")); /* there is no link to blame */
    p.hosts = 2;
    p.work.held = 0.49;
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR);
    assert_null(strstr(p.verdict, "stay behind"));
    p.work.held = 0.5;
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR);
    assert_says(&p, "async, 2 ranks on 2 hosts: 90 %");
    assert_says(&p, "Rows stay behind at 50 % of the looks");
    strcpy(p.link.name, "n1");
    p.link.carried = 11.25e6;
    p.link.can = 12.5e6;
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR);
    assert_says(&p, "(the link of n1 carried 11.2 MB/s of the 12.5 it can)");
}

static void more_threads_than_cores_take_turns(void **state)
{
    struct shoal_profile p = profile_alike(4, 0.1, 0.1, 0);

    (void)state;
    strcpy(p.crowd.name, "n0");
    p.crowd.threads = 4;
    p.work.queued = 0.149 * p.work.seconds;
    p.crowd.cpu = 0.79;
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR);
    p.work.queued = 0.151 * p.work.seconds;
    assert_limit(&p, SHOAL_LIMIT_CORES);
    assert_says(&p, "4 threads take turns on the 2 cores of n0 and stood in line for 15 % of the "
                    "time: the processor is the limit");
    p.work.queued = NAN;
    p.crowd.cpu = 0.81;
    assert_limit(&p, SHOAL_LIMIT_CORES);
    assert_null(strstr(p.verdict, "in line"));
    p.crowd.cores = 4;
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR);
}

static void other_programs_on_the_cores_are_told(void **state)
{
    struct shoal_profile p = profile_alike(1, 0, 0, 0);

    (void)state;
    p.work.queued = 2.4;
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR);
    p.work.queued = 2.6;
    assert_limit(&p, SHOAL_LIMIT_CORES);
    assert_says(&p, "stood in line for a core 26 % of the time although there are enough");
    p = profile_alike(2, 0, 0.6, 0);
    p.work.queued = 0.29 * p.work.seconds;
    assert_limit(&p, SHOAL_LIMIT_ROUNDS);
    p.work.queued = 0.31 * p.work.seconds;
    assert_limit(&p, SHOAL_LIMIT_CORES);
    p = profile_alike(2, 0.5, 0.1, 0);
    p.work.queued = 0.29 * p.work.seconds;
    assert_limit(&p, SHOAL_LIMIT_EXCHANGE);
    p.work.queued = 0.31 * p.work.seconds;
    assert_limit(&p, SHOAL_LIMIT_CORES);
}

static void start_evaluation_and_checkpoints_are_told(void **state)
{
    struct shoal_profile p = profile_alike(1, 0, 0, 0.49);

    (void)state;
    assert_limit(&p, SHOAL_LIMIT_NONE);
    assert_says(&p, "no single limit: 51 % computing, 0 % communicating, 0 % waiting, 49 % start");
    p = profile_alike(1, 0, 0, 0.51);
    assert_limit(&p, SHOAL_LIMIT_ASIDE);
    assert_says(&p, "51 % of the time went into the start, evaluation and checkpoints");
}

static void a_rank_that_keeps_the_others_waiting_is_named(void **state)
{
    struct shoal_profile_rank rows[] = {rank_with(0, 0, 0.45, 0), rank_with(1, 0, 0.45, 0),
                                        rank_with(2, 0.05, 0.14, 0)};
    struct shoal_profile p = profile_of(rows, 3);

    (void)state;
    assert_limit(&p, SHOAL_LIMIT_RANK);
    assert_says(&p, "the others wait 45 % of the time, rank 2 on n2 only 14 %: it computes 81 %");
    rows[2].queued = 2;
    p = profile_of(rows, 3);
    assert_limit(&p, SHOAL_LIMIT_RANK);
    assert_says(&p, "in line for a core 20 %");
    assert_says(&p, "or use --sync async");
    p.sync = SHOAL_ASYNC;
    assert_limit(&p, SHOAL_LIMIT_RANK);
    assert_null(strstr(p.verdict, "--sync async"));
    rows[2].waiting = 1.6; /* more than a third of the others' */
    p = profile_of(rows, 3);
    p.work.queued = 0;
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR);
    rows[2] = rank_with(2, 0.05, 0.02, 0);
    rows[0].waiting = rows[1].waiting = 2.9;
    p = profile_of(rows, 3);
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR); /* they do not wait long enough */
}

static void what_the_slow_rank_does_is_told(void **state)
{
    struct shoal_profile_rank rows[] = {rank_with(0, 0, 0, 0.6), rank_with(1, 0, 0.5, 0)};
    struct shoal_profile p = profile_of(rows, 2);

    (void)state;
    assert_limit(&p, SHOAL_LIMIT_RANK);
    assert_says(&p, "rank 0 on n0 only 0 %: it spends 60 % on evaluation and checkpoints");
    rows[0] = rank_with(0, 0.6, 0, 0);
    p = profile_of(rows, 2);
    assert_limit(&p, SHOAL_LIMIT_RANK);
    assert_says(&p, "it merges rows for 60 % of the time; add servers");
}

static void a_server_that_cannot_keep_up_is_named(void **state)
{
    struct shoal_profile_rank rows[] = {rank_with(0, 0, 0.81, 0), rank_with(1, 0, 0.81, 0),
                                        rank_with(2, 0.71, 0.29, 0)};
    struct shoal_profile p;

    (void)state;
    rows[2].works = false;
    rows[2].computing = 0;
    p = profile_of(rows, 3);
    assert_limit(&p, SHOAL_LIMIT_OWNERS);
    assert_says(&p, "81 % of the time waiting for rows; rank 2 on n2, which owns a shard, is busy "
                    "with them for 71 %");
    rows[2].communicating = 6.9;
    p = profile_of(rows, 3);
    assert_limit(&p, SHOAL_LIMIT_ROUNDS);
}

static void a_link_that_explains_the_waiting_is_named(void **state)
{
    struct shoal_profile p = profile_alike(2, 0.1, 0.64, 0);

    (void)state;
    strcpy(p.link.name, "n1");
    p.link.carried = 0.25 * 12.5e6; /* 0.25 of the time, 0.64 was waited: 39 % */
    p.link.can = 12.5e6;
    assert_limit(&p, SHOAL_LIMIT_ROUNDS);
    p.link.carried = 0.27 * 12.5e6;
    assert_limit(&p, SHOAL_LIMIT_LINK);
    assert_says(&p,
                "sync, 2 ranks on 2 hosts: 64 % waiting; the link of n1 carried 3.4 MB/s of the "
                "12.5 it can: the network is the limit; use --wire bf16, --sync async");
    p.wide = false; /* they travel in half the bytes already, or cannot */
    assert_limit(&p, SHOAL_LIMIT_LINK);
    assert_null(strstr(p.verdict, "bf16"));
    p.sync = SHOAL_AVERAGE;
    assert_limit(&p, SHOAL_LIMIT_LINK);
    assert_says(&p, "use a larger K");
    p.link.can = 0; /* not measured */
    assert_limit(&p, SHOAL_LIMIT_ROUNDS);
}

static void messages_that_take_long_are_told(void **state)
{
    struct shoal_profile p = profile_alike(2, 0.1, 0.6, 0);

    (void)state;
    p.latency = 0.0005;
    p.work.waits = 9000; /* 4.5 s of the 12 s that were waited */
    assert_limit(&p, SHOAL_LIMIT_ROUNDS);
    p.work.waits = 10000;
    assert_limit(&p, SHOAL_LIMIT_LATENCY);
    assert_says(&p, "60 % waiting, 500 times a second for messages that take 0.50 ms");
}

static void ranks_that_wait_by_turns_are_told(void **state)
{
    struct shoal_profile p = profile_alike(4, 0.1, 0.5, 0);

    (void)state;
    assert_limit(&p, SHOAL_LIMIT_ROUNDS);
    assert_says(&p, "50 % waiting: ranks wait for each other by turns");
    p.awaited = 3;
    strcpy(p.awaited_host, "n3");
    p.awaited_seconds = 0.49 * p.all.waiting;
    assert_limit(&p, SHOAL_LIMIT_ROUNDS);
    assert_null(strstr(p.verdict, "most of it"));
    p.awaited_seconds = 0.51 * p.all.waiting;
    assert_limit(&p, SHOAL_LIMIT_ROUNDS);
    assert_says(&p, "50 % waiting, most of it for rank 3 on n3");
}

static void much_packing_and_merging_is_told(void **state)
{
    struct shoal_profile p = profile_alike(2, 0.3, 0.09, 0);

    (void)state;
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR);
    p = profile_alike(2, 0.32, 0.09, 0);
    assert_limit(&p, SHOAL_LIMIT_EXCHANGE);
    assert_says(&p, "32 % of the time packing, sending and merging rows");
    p.sync = SHOAL_AVERAGE;
    assert_limit(&p, SHOAL_LIMIT_EXCHANGE);
    assert_says(&p, "with a larger K");
}

static void a_disk_that_keeps_the_cores_idle_is_told(void **state)
{
    struct shoal_profile p = profile_alike(1, 0, 0, 0);

    (void)state;
    p.all.disk_read = 100e6;
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR); /* it reads much, and computes all the same */
    p.work.user = 0.59 * p.work.thread_seconds;
    assert_limit(&p, SHOAL_LIMIT_DISK);
    assert_says(&p, "the cores were busy for 59 % only, while 10.0 MB/s came from disk");
    p.all.disk_read = 39e6;
    assert_limit(&p, SHOAL_LIMIT_THREADS);
    p.all.faults = 201;
    assert_limit(&p, SHOAL_LIMIT_DISK);
    p.all.faults = 199;
    p.all.disk_read = SHOAL_UNKNOWN;
    assert_limit(&p, SHOAL_LIMIT_THREADS);
    assert_says(&p, "kept their cores busy for 59 % only");
    p.work.user = 0.61 * p.work.thread_seconds;
    assert_limit(&p, SHOAL_LIMIT_PROCESSOR);
}

static void every_limit_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(shoal_limit_name(SHOAL_LIMIT_NONE), "none");
    assert_string_equal(shoal_limit_name(SHOAL_LIMIT_LINK), "link");
    assert_string_equal(shoal_limit_name(SHOAL_LIMIT_ASIDE), "aside");
    assert_string_equal(shoal_limit_name((enum shoal_limit)99), "?");
}

static void long_names_do_not_break_the_sentence(void **state)
{
    struct shoal_profile p = profile_alike(8, 0.1, 0.6, 0);

    (void)state;
    memset(p.link.name, 'x', sizeof p.link.name - 1);
    memset(p.awaited_host, 'y', sizeof p.awaited_host - 1);
    p.link.carried = 1e15;
    p.link.can = 1e15;
    p.awaited_seconds = p.all.waiting;
    assert_limit(&p, SHOAL_LIMIT_LINK);
    assert_says(&p, "or a faster link");
}

/* ---- a true run ------------------------------------------------------------------------ */

static void train_small(struct shoal_train_stats *stats, enum shoal_loss loss)
{
    struct shoal_world_opts world = shoal_world_default();
    struct shoal_encode_opts encode = shoal_encode_default();
    struct train_opts o = task_defaults("cbow");
    const char *text = scratch_path("world.txt");
    shoal_corpus *corpus = NULL;
    shoal_vectors *v = NULL;

    world.words = 20000;
    encode.vocab.max_vocab = 100;
    o.dim = 16;
    o.epochs = 2;
    o.threads = 2;
    o.loss = loss;
    o.batch = 64;
    o.sample = 0;
    assert_int_equal(shoal_world_write(text, NULL, &world, NULL), SHOAL_OK);
    assert_int_equal(shoal_encode(scratch_path("world.shoal"), &text, 1, &encode, NULL), SHOAL_OK);
    assert_int_equal(shoal_corpus_open(&corpus, scratch_path("world.shoal")), SHOAL_OK);
    assert_int_equal(train_words(&v, corpus, &o, stats), SHOAL_OK);
    shoal_vectors_close(v);
    shoal_corpus_close(corpus);
}

static void a_run_on_one_rank_computes_and_waits_for_nobody(void **state)
{
    struct shoal_train_stats stats;
    const struct shoal_profile *p = &stats.profile;
    const struct shoal_profile_rank *r = &p->rows[0];

    (void)state;
    train_small(&stats, SHOAL_NS);
    assert_int_equal(p->ranks, 1);
    assert_int_equal(p->hosts, 1);
    assert_int_equal(p->nrows, 1);
    assert_int_equal(r->threads, 2);
    assert_true(r->cores >= 1 && r->works);
    assert_true(r->host[0] != '\0');
    assert_close(r->computing, stats.seconds, 1e-9);
    assert_true(r->communicating <= 0 && r->waiting <= 0);
    assert_close(r->computing + r->other, r->seconds, 1e-9);
    assert_true(r->user + r->system > 0);
    assert_int_equal(r->bytes_in + r->bytes_out, 0);
    assert_true(r->memory > 1 << 20);
    assert_string_equal(p->unit, "1 M words");
    assert_close(p->units * 1e6, (double)stats.examples, 1e-3);
    assert_memory_equal(&p->rows[0].computing, &p->all.computing, sizeof(double));
}

static void a_model_with_batches_counts_them(void **state)
{
    struct shoal_train_stats stats;
    double batches;

    (void)state;
    train_small(&stats, SHOAL_SOFTMAX);
    batches = stats.profile.units * 1000;
    assert_string_equal(stats.profile.unit, "1,000 batches");
    assert_true(batches > 0.8 * (double)stats.examples / 64 && batches <= (double)stats.examples / 64);
}

/* ---- a step, moment by moment ---- */

/* Moments of a small net lie closer together than a microsecond: rounded one by one they would
 * change places, and whoever reads them refuses them. */
static void moments_of_a_short_step_stay_in_order(void **state)
{
    const char *path = scratch_path("step.jsonl");
    struct step_trace trace = {.layers = 2, .trips = 2, .pieces = 2, .began = 1.2e-7,
                               .backward = 5.4e-7, .computed = 1.5951e-6, .ended = 1.5957e-6,
                               .ready = {5.41e-7, 1.5953e-6},
                               .trip = {{.sent = 6.4e-7, .fresh = 1.5955e-6},
                                        {.sent = 1.5951e-6, .fresh = 1.5956e-6}}};
    struct profile p = {.steps = &trace, .nsteps = 1,
                        .result = {.ranks = 1, .rows = {busy_rank(0)}, .nrows = 1, .unit = "1,000 steps"}};
    struct journal *j;
    shoal_run *run;
    const char *start = "{\"event\":\"settings\",\"settings\":{}}\n"
                        "{\"event\":\"epoch\",\"epoch\":1,\"epochs\":1,\"progress\":1.0,\"unit\":\"steps\","
                        "\"examples\":9,\"seconds\":1.0,\"train\":{\"loss\":1.0}}\n";

    (void)state;
    assert_int_equal(journal_open(&j, path, false), SHOAL_OK);
    assert_int_equal(journal_add(j, start, strlen(start)), SHOAL_OK);
    assert_int_equal(metrics_profile(j, &p), SHOAL_OK);
    journal_close(j);
    if (shoal_run_read(&run, path) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    shoal_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_added_up_and_the_first_are_kept),
        cmocka_unit_test(what_one_rank_does_not_know_the_sum_does_not_know),
        cmocka_unit_test(extremes_are_those_of_all_ranks),
        cmocka_unit_test(a_short_run_is_not_judged),
        cmocka_unit_test(computing_is_limited_by_the_processor),
        cmocka_unit_test(rows_that_stay_behind_are_told),
        cmocka_unit_test(more_threads_than_cores_take_turns),
        cmocka_unit_test(other_programs_on_the_cores_are_told),
        cmocka_unit_test(start_evaluation_and_checkpoints_are_told),
        cmocka_unit_test(a_rank_that_keeps_the_others_waiting_is_named),
        cmocka_unit_test(what_the_slow_rank_does_is_told),
        cmocka_unit_test(a_server_that_cannot_keep_up_is_named),
        cmocka_unit_test(a_link_that_explains_the_waiting_is_named),
        cmocka_unit_test(messages_that_take_long_are_told),
        cmocka_unit_test(ranks_that_wait_by_turns_are_told),
        cmocka_unit_test(much_packing_and_merging_is_told),
        cmocka_unit_test(a_disk_that_keeps_the_cores_idle_is_told),
        cmocka_unit_test(every_limit_has_a_name),
        cmocka_unit_test(long_names_do_not_break_the_sentence),
        cmocka_unit_test(moments_of_a_short_step_stay_in_order),
        cmocka_unit_test(a_run_on_one_rank_computes_and_waits_for_nobody),
        cmocka_unit_test(a_model_with_batches_counts_them),
    };

    return cmocka_run_group_tests_name("profile", tests, scratch_setup, scratch_teardown);
}
