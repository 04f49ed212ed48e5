/* Click models learned by several ranks: as good as one rank's, the same bytes where
 * that is promised, and resumed by fewer. run.sh starts this program several times
 * over; rank 0 prints TAP. */
#include "saved/saved.h"

#include "../unit/training.h"

#include "folder.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 20000, HELD = 8000 };

static struct comm *comm;
static shoal_clicks *data, *held;
static bool enough;  /* the last run of all stopped early */
static double alone, batched; /* held-out log-loss of one process, row by row and in batches */

static struct train_opts usual(enum shoal_optimizer optimizer)
{
    struct train_opts o = task_defaults("logreg");

    o.optimizer = optimizer;
    o.threads = 1;
    return o;
}

/* By all ranks, to a file of rank 0 unless path is NULL; gives rank 0's log-loss on
 * what is held out. */
static double train_to(const char *path, struct train_opts o)
{
    struct shoal_train_stats stats = {0};
    shoal_logreg *model = NULL;

    o.ranks = ranks;
    CHECK_OK(train_logreg(&model, data, held, &o, &stats));
    CHECK((model != NULL) == (rank == 0));
    if (path && model)
        CHECK_OK(logreg_save(model, path, NULL));
    CHECK(rank != 0 || validation(&stats.figures, "examples") == HELD);
    CHECK(rank != 0 || size == 1 || stats.ranks.ranks == size);
    enough = stats.enough;
    logreg_close(model);
    CHECK_OK(comm_barrier(comm));
    return validation(&stats.figures, "loss");
}

static double train_alone(const char *path, const struct train_opts *o)
{
    struct shoal_train_stats stats = {0};
    shoal_logreg *model = NULL;

    if (rank == 0) {
        CHECK_OK(train_logreg(&model, data, held, o, &stats));
        if (path && model)
            CHECK_OK(logreg_save(model, path, NULL));
    }
    logreg_close(model);
    CHECK_OK(comm_barrier(comm));
    return validation(&stats.figures, "loss");
}

static bool same_files(const char *a, const char *b)
{
    FILE *x = fopen(a, "rb"), *y = fopen(b, "rb");
    int c = 0, d = 0;

    while (x && y && c == d && c != EOF) {
        c = fgetc(x);
        d = fgetc(y);
    }
    if (x)
        fclose(x);
    if (y)
        fclose(y);
    return x && y && c == d;
}

/* ---- cases ---- */

static void check_within(const char *name, struct train_opts o, double want, double within)
{
    double loss = train_to(NULL, o);

    if (rank == 0)
        fprintf(stderr, "# %s: log-loss %.4f, alone %.4f\n", name, loss, want);
    CHECK(rank != 0 || loss < want + within);
}

static void check_good(const char *name, struct train_opts o, double want)
{
    check_within(name, o, want, 0.002);
}

/* So few rows are learned before ranks that take turns on the cores hear of each other:
 * bench/logreg.py has more, and 0.002. */
static void async_learns_as_well_as_one_rank(void)
{
    struct train_opts o = usual(OPTIMIZER_FTRL);

    o.sync.policy = SHOAL_ASYNC;
    check_within("async", o, alone, 0.03);
}

/* Rounds are batches: of one row they would take long. */
static struct train_opts in_batches(void)
{
    struct train_opts o = usual(OPTIMIZER_FTRL);

    o.batch = 20;
    o.lr = 0.2;
    return o;
}

static void bounded_learns_as_well_as_one_rank(void)
{
    struct train_opts o = in_batches();

    o.sync.policy = SHOAL_BOUNDED;
    o.sync.staleness = 2;
    check_good("bounded:2", o, batched);
}

static void sync_learns_as_well_as_one_rank(void)
{
    struct train_opts o = in_batches();

    o.sync.policy = SHOAL_SYNC;
    check_good("sync", o, batched);
}

/* The mean of replicas learns rare features more slowly the more there are. */
static void average_learns_a_little_less_than_one_rank(void)
{
    struct train_opts o = in_batches();

    o.sync.policy = SHOAL_AVERAGE;
    o.sync.staleness = 4;
    check_within("average:4", o, batched, 0.03);
}

static void averaged_sgd_learns_as_well_as_one_rank(void)
{
    struct train_opts o = usual(OPTIMIZER_SGD);
    double want = train_alone(NULL, &o);

    o.sync.policy = SHOAL_AVERAGE;
    o.sync.staleness = 4;
    check_good("average:4 of sgd", o, want);
}

static void sgd_and_adagrad_do_too(void)
{
    struct train_opts o = in_batches();
    double want;

    for (int i = 0; i < 2; i++) {
        o.optimizer = i == 0 ? OPTIMIZER_SGD : OPTIMIZER_ADAGRAD;
        o.sync.policy = SHOAL_ASYNC;
        want = train_alone(NULL, &o);
        o.sync.policy = SHOAL_SYNC;
        check_good(i == 0 ? "sgd" : "adagrad", o, want);
    }
}

static void with_servers_as_well(void)
{
    struct train_opts o = usual(OPTIMIZER_FTRL);

    o.servers = size > 2 ? 2 : 1;
    check_within("servers", o, alone, 0.03);
}

static struct train_opts repeatable(void)
{
    struct train_opts o = usual(OPTIMIZER_FTRL);

    o.batch = 10;
    o.deterministic = true;
    o.sync.policy = SHOAL_SYNC;
    return o;
}

static void deterministic_ranks_give_the_bytes_of_one(void)
{
    struct train_opts o = repeatable();

    train_alone(in_folder("one"), &o);
    train_to(in_folder("all"), o);
    CHECK(rank != 0 || same_files(in_folder("one"), in_folder("all")));
}

/* They would wait for lanes that never come. */
static void deterministic_runs_have_no_servers(void)
{
    struct train_opts o = repeatable();
    shoal_logreg *model = NULL;

    o.ranks = ranks;
    o.servers = 1;
    CHECK(train_logreg(&model, data, held, &o, NULL) == SHOAL_EINVAL);
    CHECK(strstr(shoal_error(), "--deterministic with --servers 1"));
    CHECK_OK(comm_barrier(comm));
}

/* Where they look, and so when it is enough, does not depend on the ranks either. */
static void deterministic_ranks_look_where_one_does(void)
{
    struct train_opts o = repeatable();

    o.lr = 0.2; /* learns by heart soon */
    o.epochs = 20;
    o.eval_every = ROWS / 3;
    o.early_stop = 2;
    train_alone(in_folder("one"), &o);
    train_to(in_folder("all"), o);
    CHECK(enough);
    CHECK(rank != 0 || same_files(in_folder("one"), in_folder("all")));
}

static bool stop_at_look(void *user, const struct shoal_report *r)
{
    return !(*(bool *)user && r->event == SHOAL_EVENT_EVALUATION);
}

/* All ranks stop in the middle; half of them, or one process, go on. */
static void fewer_ranks_go_on_with_what_all_wrote(void)
{
    struct train_opts o = repeatable();
    shoal_logreg *model = NULL;
    bool stop = true;
    shoal_status st;

    o.eval_every = ROWS / 2;
    train_alone(in_folder("whole"), &o);
    o.checkpoint = in_folder("run");
    o.report = stop_at_look, o.user = &stop;
    o.ranks = ranks;
    st = train_logreg(&model, data, held, &o, NULL);
    CHECK(st == SHOAL_ESTOP && model == NULL);
    CHECK_OK(comm_barrier(comm));
    o.resume = true;
    o.ranks = NULL;
    stop = false;
    train_alone(in_folder("resumed"), &o);
    CHECK(rank != 0 || same_files(in_folder("whole"), in_folder("resumed")));
}

static void held_out_rows_say_when_it_is_enough(void)
{
    struct train_opts o = usual(OPTIMIZER_SGD);
    struct shoal_train_stats stats = {0};
    shoal_logreg *model = NULL;

    o.epochs = 60; /* learns by heart long before */
    o.lr = 0.02;
    o.schedule = SHOAL_CONSTANT;
    o.early_stop = 2;
    o.ranks = ranks;
    CHECK_OK(train_logreg(&model, data, held, &o, &stats));
    CHECK(stats.enough);
    logreg_close(model);
    CHECK_OK(comm_barrier(comm));
}

static void no_rank_trains_alone_on_what_another_refuses(void)
{
    struct train_opts o = usual(OPTIMIZER_FTRL);
    shoal_logreg *model = NULL;

    o.ranks = ranks;
    if (rank == size - 1)
        o.servers = size;
    CHECK(train_logreg(&model, data, held, &o, NULL) == SHOAL_EINVAL);
    CHECK(strstr(shoal_error(), "want at least one that trains"));
    CHECK_OK(comm_barrier(comm));
}

/* ---- TAP ---- */

static void make_rows(const char *name, uint64_t first, uint64_t rows)
{
    struct shoal_gen_clicks_opts gen = shoal_gen_clicks_default();
    struct shoal_clicks_opts read = shoal_clicks_default();
    const char *text = in_folder("text.tsv");

    gen.first = first, gen.rows = rows, gen.seed = 7;
    read.bits = 18;
    CHECK_OK(shoal_gen_clicks(text, &gen, NULL));
    CHECK_OK(shoal_clicks_encode(in_folder(name), &text, 1, &read, NULL));
}

static void begin(void)
{
    struct train_opts o;

    if (rank == 0) {
        make_rows("data.shoal", 0, ROWS);
        make_rows("held.shoal", ROWS, HELD);
    }
    CHECK_OK(comm_barrier(comm));
    CHECK_OK(shoal_clicks_open(&data, in_folder("data.shoal")));
    CHECK_OK(shoal_clicks_open(&held, in_folder("held.shoal")));
    o = usual(OPTIMIZER_FTRL);
    alone = train_alone(NULL, &o);
    o = in_batches();
    batched = train_alone(NULL, &o);
}

int main(void)
{
    if (!begin_ranks())
        return 1;
    comm = ranks_comm(ranks);
    begin();
    PASSES(async_learns_as_well_as_one_rank);
    PASSES(bounded_learns_as_well_as_one_rank);
    PASSES(sync_learns_as_well_as_one_rank);
    PASSES(average_learns_a_little_less_than_one_rank);
    PASSES(averaged_sgd_learns_as_well_as_one_rank);
    PASSES(sgd_and_adagrad_do_too);
    if (size > 1)
        PASSES(with_servers_as_well);
    PASSES(deterministic_ranks_give_the_bytes_of_one);
    if (size > 1)
        PASSES(deterministic_runs_have_no_servers);
    PASSES(deterministic_ranks_look_where_one_does);
    PASSES(fewer_ranks_go_on_with_what_all_wrote);
    PASSES(held_out_rows_say_when_it_is_enough);
    PASSES(no_rank_trains_alone_on_what_another_refuses);
    shoal_clicks_close(data);
    shoal_clicks_close(held);
    return end_ranks();
}
