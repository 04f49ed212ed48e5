/* A grid: its runs in their order, its statistics, its file, its table. No training is
 * run: what a run would have written is put where it belongs. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>

#include "scratch.h"
#include "study/study.h"

static const char *const data[] = {"text.txt"};

static struct shoal_study_opts small(void)
{
    struct shoal_study_opts o = shoal_study_default();

    o.model = "cbow";
    o.data = data;
    o.ndata = 1;
    o.repeat = 2;
    o.sync[0] = "async";
    o.sync[1] = "sync";
    o.nsync = 2;
    return o;
}

static shoal_study *open_study(const char *name, const struct shoal_study_opts *o)
{
    shoal_study *s = NULL;

    assert_int_equal(shoal_study_open(&s, scratch_path(name), o), SHOAL_OK);
    return s;
}

/* What a run of so many seconds leaves in its folder. */
static void put_metrics(const char *folder, double seconds, const char *limit, const char *verdict)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "{\"event\":\"settings\",\"task\":\"cbow\"}\n");
    fprintf(f,
            "{\"event\":\"ranks\",\"ranks\":2,\"bytes_out\":4000,\"seconds_waiting\":%g,"
            "\"seconds_training\":%g,\"stale\":[3,1]}\n",
            seconds, 2 * seconds);
    if (verdict)
        fprintf(f,
                "{\"event\":\"profile\",\"limit\":\"%s\",\"verdict\":\"%s\",\"all\":{"
                "\"seconds\":10,\"computing\":5,\"communicating\":1,\"waiting\":3,\"other\":1},"
                "\"per_rank\":[]}\n",
                limit, verdict);
    fprintf(f,
            "{\"event\":\"done\",\"progress\":1,\"unit\":\"words\",\"examples\":1000,"
            "\"seconds\":%g,\"train\":{\"loss\":2.5},\"valid\":{\"loss\":2.25},\"lr\":0.1,"
            "\"memory\":1048576}\n",
            seconds);
    assert_int_equal(fclose(f), 0);
}

/* Takes the next run and ends it well, after so many seconds. */
static size_t pass(shoal_study *s, double seconds)
{
    struct shoal_study_run run;
    shoal_status st;

    assert_true(shoal_study_next(s, &run, &st));
    put_metrics(run.folder, seconds, "link", NULL);
    assert_int_equal(shoal_study_ended(s, run.number, seconds + 1, NULL), SHOAL_OK);
    return run.number;
}

static struct shoal_study_cell cell_at(const shoal_study *s, size_t i)
{
    struct shoal_study_cell cell;

    assert_true(shoal_study_cell(s, i, &cell));
    return cell;
}

static void near(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-9 * fmax(1, fabs(b)));
}

static bool has_word(const struct shoal_study_run *run, const char *word)
{
    for (size_t i = 0; i < run->nwords; i++)
        if (strcmp(run->words[i], word) == 0)
            return true;
    return false;
}

static char *get(const char *path)
{
    struct bytes b = scratch_get(path);

    assert_int_equal(bytes_add(&b, "", 1), SHOAL_OK);
    return b.at;
}

/* ---- the grid ---- */

static void a_run_is_a_command_of_shoal_train(void **state)
{
    static const char *const more[] = {"--dim", "20"};
    struct shoal_study_opts o = small();
    struct shoal_study_run run;
    shoal_study *s;
    shoal_status st;

    (void)state;
    o.more = more;
    o.nmore = 2;
    o.batch.at[0] = 100;
    o.batch.n = 1;
    o.epochs = 3;
    s = open_study("command", &o);
    assert_true(shoal_study_next(s, &run, &st));
    assert_string_equal(run.words[0], "train");
    assert_string_equal(run.words[1], "cbow");
    assert_string_equal(run.words[2], "--ranks");
    assert_string_equal(run.words[3], "1");
    assert_string_equal(run.words[4], "--threads");
    assert_string_equal(run.words[5], "1");
    assert_string_equal(run.words[7], "async");
    assert_string_equal(run.words[9], "100");
    assert_string_equal(run.words[11], "3");
    assert_string_equal(run.words[12], "--dim");
    assert_string_equal(run.words[run.nwords - 2], "--");
    assert_string_equal(run.words[run.nwords - 1], "text.txt");
    assert_null(run.words[run.nwords]);
    assert_string_equal(run.name, "1 rank, batch 100"); /* of any policy */
    assert_int_equal(access(run.folder, F_OK), 0);
    shoal_study_close(s);
}

static void repeats_of_a_cell_are_apart(void **state)
{
    struct shoal_study_opts o = small();
    shoal_study *s = open_study("order", &o);
    struct shoal_study_run run;
    shoal_status st;

    (void)state;
    assert_int_equal(s->ncells, 6);
    assert_int_equal(shoal_study_runs(s), 10);
    for (size_t i = 0; i < 10; i++) {
        static const size_t cells[] = {0, 1, 2, 4, 5}; /* 3 is one rank again */

        assert_true(shoal_study_next(s, &run, &st));
        assert_int_equal(run.repeat, i / 5 + 1);
        assert_int_equal(pass(s, 1), i / 5 * 6 + cells[i % 5]);
    }
    assert_false(shoal_study_next(s, &run, &st));
    assert_int_equal(st, SHOAL_OK);
    shoal_study_close(s);
}

static void weak_scaling_multiplies_the_epochs(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_study_run run;
    shoal_study *s;
    shoal_status st;

    (void)state;
    o.nsync = 0;
    o.worker = SHOAL_WORKER_THREAD;
    o.scaling = SHOAL_STRONG_AND_WEAK;
    o.epochs = 5;
    o.repeat = 1;
    s = open_study("weak", &o);
    assert_int_equal(shoal_study_runs(s), 5); /* one worker has the same work in both */
    for (size_t i = 0; i < 5; i++) {
        static const char *const epochs[] = {"5", "5", "5", "10", "20"};

        assert_true(shoal_study_next(s, &run, &st));
        assert_false(has_word(&run, "--ranks"));
        assert_true(has_word(&run, "--threads") && has_word(&run, epochs[i]));
        pass(s, i < 3 ? 8.0 / (1 << i) : 8 + (double)(i - 2));
    }
    assert_int_equal(cell_at(s, 3).twin, 0);
    near(cell_at(s, 3).best.seconds, 8);
    near(cell_at(s, 2).speedup, 4); /* 8 s against 2 s, of the same work */
    near(cell_at(s, 2).efficiency, 1);
    near(cell_at(s, 5).speedup, 4 * 8.0 / 10); /* four times the work in 10 s */
    near(cell_at(s, 5).efficiency, 0.8);
    assert_true(cell_at(s, 5).weak && !cell_at(s, 2).weak);
    shoal_study_close(s);
}

static void what_cannot_be_is_refused(void **state)
{
    static const char *const taken[] = {"--metrics=x"};
    struct shoal_study_opts o = small();

    (void)state;
    assert_int_equal(shoal_study_check(&o), SHOAL_OK);
    o.workers.at[2] = 2;
    assert_int_equal(shoal_study_check(&o), SHOAL_EINVAL);
    o = small();
    o.scaling = SHOAL_WEAK;
    assert_int_equal(shoal_study_check(&o), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "epochs is 0"));
    o = small();
    o.worker = SHOAL_WORKER_THREAD;
    assert_int_equal(shoal_study_check(&o), SHOAL_EINVAL);
    o = small();
    o.more = taken;
    o.nmore = 1;
    assert_int_equal(shoal_study_check(&o), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "--metrics"));
    o = small();
    o.ndata = 0;
    assert_int_equal(shoal_study_check(&o), SHOAL_EINVAL);
    o = small();
    o.repeat = 0;
    assert_int_equal(shoal_study_check(&o), SHOAL_EINVAL);
}

/* ---- statistics ---- */

static void the_quickest_run_of_a_cell_counts(void **state)
{
    struct shoal_study_opts o = small();
    const double seconds[] = {8, 5, 4, 9, 9, /* again: */ 10, 4, 6, 9, 9};
    struct shoal_study_cell two;
    shoal_study *s = open_study("best", &o);

    (void)state;
    for (size_t i = 0; i < 10; i++)
        pass(s, seconds[i]);
    two = cell_at(s, 1);
    assert_int_equal(two.workers, 2);
    assert_int_equal(two.done, 2);
    near(two.best.seconds, 4);
    near(two.best.whole, 5);
    near(two.spread, 0.25);
    near(two.speedup, 2);
    near(two.efficiency, 1);
    near(cell_at(s, 2).efficiency, 0.5);
    near(two.best.rate, 250);
    near(two.best.waiting, 0.5);
    near(two.best.stale, 0.25);
    assert_string_equal(cell_at(s, 3).sync, "sync");
    near(cell_at(s, 3).speedup, 1); /* its base is sync too, and itself */
    near(cell_at(s, 4).speedup, 8.0 / 9);
    shoal_study_close(s);
}

static void a_cell_that_failed_says_why_and_the_rest_go_on(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_study_run run;
    shoal_study *s = open_study("failed", &o);
    shoal_status st;
    char *table = NULL;

    (void)state;
    pass(s, 8);
    assert_true(shoal_study_next(s, &run, &st));
    assert_int_equal(shoal_study_ended(s, run.number, 1, "no memory"), SHOAL_OK);
    assert_true(shoal_study_next(s, &run, &st));
    assert_int_equal(shoal_study_ended(s, run.number, 1, NULL), SHOAL_OK); /* left no metrics */
    assert_int_equal(shoal_study_finished(s), 3);
    assert_int_equal(cell_at(s, 1).failed, 1);
    assert_string_equal(cell_at(s, 1).failure, "no memory");
    assert_int_equal(cell_at(s, 2).failed, 1);
    assert_non_null(strstr(cell_at(s, 2).failure, "metrics.jsonl"));
    assert_true(isnan(cell_at(s, 1).speedup));
    assert_int_equal(shoal_study_table(&table, s, 0), SHOAL_OK);
    assert_non_null(strstr(table, "failed: 2 ranks, async, 1 of 2: no memory"));
    free(table);
    shoal_study_close(s);
}

/* Every line up to the empty one behind the last part of the table. */
static void a_narrow_screen_gets_the_table_in_parts(void **state)
{
    struct shoal_study_opts o = small();
    shoal_study *s = open_study("narrow", &o);
    char *whole = NULL, *parts = NULL;
    size_t heads = 0;

    (void)state;
    pass(s, 8);
    pass(s, 4);
    assert_int_equal(shoal_study_table(&whole, s, 0), SHOAL_OK);
    assert_int_equal(shoal_study_table(&parts, s, 44), SHOAL_OK);
    assert_true(strcspn(whole, "\n") > 44);
    assert_memory_equal(parts, "strong scaling: ", 16);
    for (const char *at = strchr(parts, '\n') + 1; strncmp(at, "workers", 7) == 0;
         at += strspn(at, "\n")) {
        heads++;
        for (; *at != '\n'; at += strcspn(at, "\n") + 1)
            assert_true(strcspn(at, "\n") <= 44);
    }
    assert_true(heads > 1);
    /* nothing is left out: every head of the whole stands in some part */
    for (char *save, *word = strtok_r(strchr(whole, '\n'), " \n", &save);
         word && strcmp(word, "1") != 0; word = strtok_r(NULL, " \n", &save))
        assert_non_null(strstr(parts, word));
    free(whole);
    free(parts);
    shoal_study_close(s);
}

static void only_workers_that_ran_are_said_to_share_cores(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_study_run run;
    shoal_study *s;
    shoal_status st;
    char *table = NULL;

    (void)state;
    o.repeat = 1;
    o.nsync = 1;
    o.workers.at[0] = 1;
    o.workers.at[1] = 100000;
    o.workers.at[2] = 200000;
    o.workers.n = 3;
    s = open_study("shared", &o);
    pass(s, 8);
    pass(s, 4);
    assert_true(shoal_study_next(s, &run, &st));
    assert_int_equal(shoal_study_ended(s, run.number, 1, "no memory"), SHOAL_OK);
    assert_int_equal(shoal_study_table(&table, s, 0), SHOAL_OK);
    assert_non_null(strstr(table, "100000 workers shared"));
    assert_null(strstr(table, "200000 workers shared"));
    free(table);
    shoal_study_close(s);
}

/* Takes the next run, which tells what limited it. */
static void pass_limited(shoal_study *s, double seconds, const char *limit, const char *verdict)
{
    struct shoal_study_run run;
    shoal_status st;

    assert_true(shoal_study_next(s, &run, &st));
    put_metrics(run.folder, seconds, limit, verdict);
    assert_int_equal(shoal_study_ended(s, run.number, seconds, NULL), SHOAL_OK);
}

static void of_runs_too_short_to_judge_nothing_is_found(void **state)
{
    struct shoal_study_opts o = small();
    shoal_study *s;
    char *table = NULL;

    (void)state;
    o.repeat = 1;
    o.nsync = 1;
    o.workers.n = 2;
    s = open_study("short", &o);
    pass_limited(s, 0.5, "short", "1 rank: 0.50 s are too short to tell");
    pass_limited(s, 0.4, "short", "async, 2 ranks: 0.40 s are too short to tell");
    assert_int_equal(shoal_study_table(&table, s, 0), SHOAL_OK);
    assert_non_null(strstr(table, "too short\n"));
    assert_non_null(strstr(table, "\nToo short to judge, below a second: 1 rank, async; 2 ranks, "
                                  "async. More data, --epochs or --steps make them longer.\n"));
    assert_null(strstr(table, "times as fast"));
    assert_null(strstr(table, "With it"));
    assert_null(strstr(table, "What limits"));
    free(table);
    shoal_study_close(s);
}

static void of_many_series_the_limit_of_the_worst_is_told(void **state)
{
    struct shoal_study_opts o = small();
    shoal_study *s;
    char *table = NULL;

    (void)state;
    o.repeat = 1;
    o.nsync = 1;
    o.workers.n = 2;
    for (o.batch.n = 0; o.batch.n < 5; o.batch.n++)
        o.batch.at[o.batch.n] = o.batch.n + 1;
    s = open_study("many", &o);
    for (int i = 0; i < 5; i++) {
        pass_limited(s, 8, "processor", "it computes");
        pass_limited(s, i == 3 ? 16 : 4, "link",
                     i == 3 ? "async, 2 ranks: the link is full" : "the link is busy");
    }
    assert_int_equal(shoal_study_table(&table, s, 0), SHOAL_OK);
    assert_non_null(strstr(table, "What limits 2 ranks, async, batch 4: the link is full"));
    assert_null(strstr(table, "the link is busy"));
    free(table);
    shoal_study_close(s);
}

/* Against a base that is too short an efficiency says nothing: such a series is not the worst. */
static void a_series_whose_base_is_too_short_is_not_the_worst(void **state)
{
    struct shoal_study_opts o = small();
    shoal_study *s;
    char *table = NULL;

    (void)state;
    o.repeat = 1;
    o.nsync = 1;
    o.workers.n = 2;
    for (o.batch.n = 0; o.batch.n < 5; o.batch.n++)
        o.batch.at[o.batch.n] = o.batch.n + 1;
    s = open_study("many-short", &o);
    for (int i = 0; i < 5; i++) {
        pass_limited(s, i == 3 ? 0.5 : 8, i == 3 ? "short" : "processor", "it computes");
        pass_limited(s, i == 3 ? 16 : i == 1 ? 7 : 4, "link",
                     i == 3   ? "the link is full"
                     : i == 1 ? "the link is slow"
                              : "the link is busy");
    }
    assert_int_equal(shoal_study_table(&table, s, 0), SHOAL_OK);
    assert_non_null(strstr(table, "What limits 2 ranks, async, batch 2: the link is slow"));
    assert_null(strstr(table, "the link is full"));
    free(table);
    shoal_study_close(s);
}

static void a_table_of_nothing_but_failures_has_its_cells(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_study_run run;
    shoal_study *s;
    shoal_status st;
    char *table = NULL;

    (void)state;
    o.repeat = 1;
    o.workers.n = 1;
    o.nsync = 0;
    s = open_study("nothing", &o);
    assert_true(shoal_study_next(s, &run, &st));
    assert_int_equal(shoal_study_ended(s, run.number, 1, "no memory"), SHOAL_OK);
    assert_int_equal(shoal_study_table(&table, s, 0), SHOAL_OK);
    assert_string_equal(table, "workers    time\n      1  failed\n"
                               "failed: 1 rank, 1 of 1: no memory\n\n");
    free(table);
    shoal_study_close(s);
}

/* ---- servers, steps, targets ---- */

static void servers_are_ranks_but_no_workers(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_study_run run;
    shoal_study *s;
    shoal_status st;
    char *table = NULL;

    (void)state;
    o.repeat = 1;
    o.nsync = 1;
    o.workers.n = 2;
    o.servers = (struct shoal_axis){{0, 1}, 2};
    s = open_study("servers", &o);
    assert_int_equal(shoal_study_runs(s), 4);
    for (size_t i = 0; i < 4; i++) {
        static const char *const ranks[] = {"1", "2", "2", "3"};
        static const char *const names[] = {
            "1 worker, 0 servers, async", "2 workers, 0 servers, async",
            "1 worker, 1 server, async", "2 workers, 1 server, async"};

        assert_true(shoal_study_next(s, &run, &st));
        assert_string_equal(run.name, names[i]);
        assert_string_equal(run.words[2], "--ranks");
        assert_string_equal(run.words[3], ranks[i]);
        assert_int_equal(has_word(&run, "--servers"), i >= 2);
        pass(s, i < 2 ? 8 : i == 2 ? 6 : 4);
    }
    near(cell_at(s, 1).speedup, 1);
    near(cell_at(s, 3).speedup, 1.5); /* against one worker with its server */
    assert_int_equal(cell_at(s, 3).workers, 2);
    assert_int_equal(cell_at(s, 3).servers, 1);
    assert_int_equal(shoal_study_table(&table, s, 0), SHOAL_OK);
    assert_non_null(strstr(table, "\nworkers  servers  sync "));
    assert_non_null(strstr(table, "\n      2        1  async  4.000 s "));
    free(table);
    shoal_study_close(s);
    o.servers.at[1] = 2;
    assert_int_equal(shoal_study_open(&s, scratch_path("servers"), &o), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "differs in its servers"));
}

/* With a server it may have to wait for it. */
static void one_worker_with_a_server_runs_under_each_policy(void **state)
{
    struct shoal_study_opts o = small();
    shoal_study *s;

    (void)state;
    o.workers.n = 1;
    o.servers = (struct shoal_axis){{1}, 1};
    s = open_study("policies", &o);
    assert_int_equal(shoal_study_runs(s), 4);
    assert_int_equal(cell_at(s, 1).twin, 1);
    shoal_study_close(s);
}

static void steps_are_shared_out_or_given_to_each(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_study_run run;
    shoal_study *s;
    shoal_status st;

    (void)state;
    o.nsync = 0;
    o.repeat = 1;
    o.scaling = SHOAL_STRONG_AND_WEAK;
    o.steps = 100;
    o.workers = (struct shoal_axis){{1, 3, 4}, 3};
    s = open_study("steps", &o);
    for (size_t i = 0; i < 5; i++) {
        static const char *const steps[] = {"100", "33", "25", "100", "100"};

        assert_true(shoal_study_next(s, &run, &st));
        assert_string_equal(run.words[6], "--steps");
        assert_string_equal(run.words[7], steps[i]);
        assert_false(has_word(&run, "--epochs"));
        pass(s, 8);
    }
    assert_false(shoal_study_next(s, &run, &st));
    shoal_study_close(s);
    o.worker = SHOAL_WORKER_THREAD; /* threads of a rank share its steps */
    s = open_study("thread-steps", &o);
    for (size_t i = 0; i < 5; i++) {
        static const char *const steps[] = {"100", "100", "100", "300", "400"};

        assert_true(shoal_study_next(s, &run, &st));
        assert_string_equal(run.words[5], steps[i]);
        pass(s, 8);
    }
    shoal_study_close(s);
    o.worker = SHOAL_WORKER_RANK;
    o.steps = 3;
    assert_int_equal(shoal_study_check(&o), SHOAL_EINVAL);
    assert_string_equal(shoal_error(),
                        "study: --steps is 3, want at least one for each of 4 workers");
    o.steps = 100;
    o.epochs = 1;
    assert_int_equal(shoal_study_check(&o), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "study: found --epochs 1 and --steps 100, want one of them");
}

/* The runs come to 2.5 in training and to 2.25 on held-out data. */
static void a_target_is_of_the_loss_that_was_named(void **state)
{
    static const struct {
        enum shoal_target of;
        double loss;
        const char *said; /* NULL: reached */
    } asked[] = {{SHOAL_TARGET_ANY, 2.3, NULL},
                 {SHOAL_TARGET_VALID, 2.3, NULL},
                 {SHOAL_TARGET_VALID, 2.2, "never: 2.25 at best"},
                 {SHOAL_TARGET_TRAIN, 2.3, "never: 2.5 at best"},
                 {SHOAL_TARGET_TRAIN, 2.6, NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct shoal_study_opts o = small();
        char name[32], *table = NULL;
        shoal_study *s;

        snprintf(name, sizeof name, "target-%zu", i);
        o.target_of = asked[i].of;
        o.target_loss = asked[i].loss;
        s = open_study(name, &o);
        pass(s, 8);
        shoal_study_close(s);
        s = open_study(name, &o); /* as the file has it */
        assert_int_equal(shoal_study_table(&table, s, 0), SHOAL_OK);
        if (asked[i].said)
            assert_non_null(strstr(table, asked[i].said));
        else
            near(cell_at(s, 0).best.target, 8);
        assert_int_equal(strstr(table, "never") != NULL, asked[i].said != NULL);
        free(table);
        shoal_study_close(s);
        o.target_of = asked[i].of == SHOAL_TARGET_TRAIN ? SHOAL_TARGET_VALID : SHOAL_TARGET_TRAIN;
        assert_int_equal(shoal_study_open(&s, scratch_path(name), &o), SHOAL_EINVAL);
        assert_non_null(strstr(shoal_error(), "differs in its target loss"));
    }
}

/* ---- what runs used ---- */

/* Of a click model with a server, whose waiting is not that of the worker. */
static void put_used(const char *folder)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "{\"event\":\"settings\",\"task\":\"logreg\"}\n"
               "{\"event\":\"epoch\",\"progress\":0.5,\"unit\":\"rows\",\"examples\":2000,"
               "\"seconds\":1,\"train\":{\"loss\":0.6},\"valid\":{\"loss\":0.5,\"auc\":0.7,"
               "\"accuracy\":0.5}}\n"
               "{\"event\":\"ranks\",\"ranks\":2,\"bytes_out\":8000,\"bytes_in\":4000}\n"
               "{\"event\":\"profile\",\"limit\":\"link\",\"verdict\":\"v\",\"unit\":"
               "\"1,000 batches\",\"units\":0.4,\"all\":{\"seconds\":4,\"computing\":1,"
               "\"communicating\":0,\"waiting\":3,\"other\":0,\"cpu\":0.3,\"disk_read\":"
               "1048576,\"disk_written\":2097152},\"per_rank\":["
               "{\"works\":true,\"threads\":1,\"seconds\":2,\"computing\":1,"
               "\"communicating\":0,\"waiting\":1,\"other\":0,\"cpu\":0.5},"
               "{\"works\":false,\"threads\":1,\"seconds\":2,\"computing\":0,"
               "\"communicating\":0,\"waiting\":2,\"other\":0,\"cpu\":0.1}]}\n"
               "{\"event\":\"done\",\"progress\":1,\"unit\":\"rows\",\"examples\":4000,"
               "\"seconds\":2,\"train\":{\"loss\":0.5,\"accuracy\":0.75},\"valid\":{\"loss\":"
               "0.25,\"auc\":0.8,\"accuracy\":0.625}}\n");
    assert_int_equal(fclose(f), 0);
}

static void accuracy_updates_disk_and_network_have_columns(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_study_run run;
    struct shoal_measures m;
    shoal_study *s;
    shoal_status st;
    char *table = NULL, *text;

    (void)state;
    o.repeat = 1;
    o.nsync = 0;
    o.workers.n = 1;
    o.servers = (struct shoal_axis){{1}, 1};
    s = open_study("used", &o);
    assert_true(shoal_study_next(s, &run, &st));
    put_used(run.folder);
    assert_int_equal(shoal_study_ended(s, run.number, 3, NULL), SHOAL_OK);
    shoal_study_close(s);
    s = open_study("used", &o); /* as the file has it */
    m = cell_at(s, 0).best;
    near(m.updates, 400);
    near(m.accuracy, 0.75);
    near(m.held_accuracy, 0.625);
    near(m.computing, 0.5); /* the server waits for the worker, not the worker */
    near(m.waiting, 0.5);
    near(m.cpu, 0.5);
    assert_int_equal(shoal_study_table(&table, s, 0), SHOAL_OK);
    assert_non_null(strstr(table, " rows/s  updates/s "));
    assert_non_null(strstr(table, " 2.00 k        200 "));
    assert_non_null(strstr(table, " accuracy  held-out accuracy  AUC "));
    assert_non_null(strstr(table, "     0.75              0.625  0.8 "));
    assert_non_null(strstr(table, "\nresources\nworkers  servers   cpu  network read  "
                                  "network written  disk read  disk written  time/update  "
                                  "network read/update  network written/update  disk read/update  "
                                  "disk written/update  limit\n"));
    assert_non_null(strstr(table,
                           "\n      1        1  50 %      3.91 KiB         7.81 KiB   1.00 MiB"
                           "      2.00 MiB      5.00 ms                 10 B"
                           "                    20 B          2.56 KiB             5.12 KiB"
                           "  link\n"));
    free(table);
    assert_int_equal(shoal_study_report(s, NULL, NULL), SHOAL_OK);
    text = get(scratch_path("used/report.html"));
    assert_non_null(strstr(text, "Resources"));
    assert_non_null(strstr(text, "Test error against steps"));
    assert_non_null(strstr(text, "Accuracy against time"));
    free(text);
    text = get(scratch_path("used/study.csv"));
    assert_non_null(strstr(text, ",accuracy,held_out_accuracy,target_best_loss,updates,updates_per_"
                                 "second,network_read,network_written,disk_written,"));
    assert_non_null(strstr(text, ",0.75,0.625,,400,200,4000,8000,2097152,0.005,10,20,2621.44,"
                                 "5242.88,\"rows\",\"AUC\""));
    free(text);
    shoal_study_close(s);
}

/* Strong and weak times do not compare. */
static void strong_and_weak_scaling_have_tables_of_their_own(void **state)
{
    struct shoal_study_opts o = small();
    shoal_study *s;
    char *table = NULL, *weak;

    (void)state;
    o.repeat = 1;
    o.workers.n = 2;
    o.epochs = 1;
    o.scaling = SHOAL_STRONG_AND_WEAK;
    s = open_study("both", &o);
    assert_int_equal(shoal_study_runs(s), 5);
    for (size_t i = 0; i < 5; i++)
        pass(s, 8 - (double)i);
    assert_int_equal(shoal_study_table(&table, s, 0), SHOAL_OK);
    weak = strstr(table, "\n\nweak scaling: n workers do n times the work\nworkers ");
    assert_non_null(weak);
    assert_non_null(strstr(weak, "\n      1  any    8.000 s ")); /* the run of the other table */
    assert_non_null(strstr(weak, "\n      2  async  5.000 s "));
    assert_non_null(strstr(weak, "\n      2  sync   4.000 s "));
    *weak = '\0';
    assert_memory_equal(table, "strong scaling: ", 16);
    assert_non_null(strstr(table, "\n      2  async  7.000 s "));
    assert_null(strstr(table, "5.000 s"));
    free(table);
    shoal_study_close(s);
}

/* ---- the file ---- */

static void a_run_does_not_find_the_metrics_of_one_that_was_killed(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_study_run run;
    shoal_study *s = open_study("killed", &o);
    shoal_status st;

    (void)state;
    assert_true(shoal_study_next(s, &run, &st));
    put_metrics(run.folder, 8, "link", NULL);
    shoal_study_close(s);
    s = open_study("killed", &o);
    assert_true(shoal_study_next(s, &run, &st));
    assert_int_equal(shoal_study_ended(s, run.number, 1, NULL), SHOAL_OK);
    assert_int_equal(shoal_study_finished(s), 1);
    assert_int_equal(cell_at(s, 0).failed, 1);
    shoal_study_close(s);
}

static void an_interrupted_study_goes_on_where_it_was(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_study_run run;
    shoal_study *s = open_study("resume", &o);
    shoal_status st;

    (void)state;
    pass(s, 8);
    pass(s, 4);
    assert_true(shoal_study_next(s, &run, &st));
    assert_int_equal(shoal_study_ended(s, run.number, 1, "killed"), SHOAL_OK);
    assert_true(shoal_study_next(s, &run, &st)); /* and it is never heard of again */
    shoal_study_close(s);
    s = open_study("resume", &o);
    assert_int_equal(shoal_study_finished(s), 2);
    near(cell_at(s, 1).speedup, 2);
    near(cell_at(s, 1).best.held, 2.25);
    assert_string_equal(cell_at(s, 1).best.unit, "words");
    assert_int_equal(pass(s, 2), 2); /* what failed is tried again */
    assert_int_equal(pass(s, 2), 4); /* 3 is the one rank of run 0 */
    shoal_study_close(s);
}

static void more_repeats_keep_what_is_done(void **state)
{
    struct shoal_study_opts o = small();
    shoal_study *s;

    (void)state;
    o.repeat = 1;
    s = open_study("more", &o);
    pass(s, 8);
    shoal_study_close(s);
    o.repeat = 3;
    s = open_study("more", &o);
    assert_int_equal(shoal_study_finished(s), 1);
    assert_int_equal(shoal_study_runs(s), 15);
    shoal_study_close(s);
}

static void another_grid_is_not_mixed_in(void **state)
{
    struct shoal_study_opts o = small();
    shoal_study *s = open_study("other", &o);

    (void)state;
    shoal_study_close(s);
    o.workers.at[2] = 8;
    assert_int_equal(shoal_study_open(&s, scratch_path("other"), &o), SHOAL_EINVAL);
    assert_null(s);
    assert_non_null(strstr(shoal_error(), "differs in its workers"));
    o = small();
    o.target_loss = 1;
    assert_int_equal(shoal_study_open(&s, scratch_path("other"), &o), SHOAL_EINVAL);
    assert_non_null(strstr(shoal_error(), "differs in its target loss"));
}

static void a_damaged_record_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{\"study\":2}",
        "{\"study\":1}",
        "{\"study\":1,\"grid\":{\"model\":\"m\",\"data\":[1],\"more\":[]}}",
        "{\"study\":1,\"grid\":{\"model\":\"m\",\"data\":[\"d\"],\"more\":[],\"worker\":\"ranks\","
        "\"scaling\":\"strong\",\"workers\":[-1],\"sync\":[],\"batch\":[],\"epochs\":0,\"repeat\":"
        "1}}",
        "{\"study\":1,\"grid\":{\"model\":\"m\",\"data\":[\"d\"],\"more\":[],\"worker\":\"ranks\","
        "\"scaling\":\"strong\",\"workers\":[1],\"sync\":[],\"batch\":[],\"epochs\":0,\"repeat\":1}"
        ","
        "\"runs\":[{\"cell\":1,\"repeat\":1,\"state\":\"done\"}]}",
        "{\"study\":1,\"grid\":{\"model\":\"m\",\"data\":[\"d\"],\"more\":[],\"worker\":\"ranks\","
        "\"scaling\":\"strong\",\"workers\":[1],\"sync\":[],\"batch\":[],\"epochs\":0,\"repeat\":1}"
        ","
        "\"runs\":[{\"cell\":0,\"repeat\":1,\"state\":\"done\"}]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        shoal_study *s = NULL;

        assert_int_not_equal(record_parse(&s, "f", texts[i], strlen(texts[i])), SHOAL_OK);
        assert_null(s);
    }
}

static void what_is_not_measured_survives_the_file(void **state)
{
    struct shoal_study_opts o = small();
    shoal_study *s, *again = NULL;

    (void)state;
    o.target_loss = 1; /* the runs come to 2.25 only */
    s = open_study("never", &o);
    pass(s, 8);
    assert_int_equal(record_read(&again, scratch_path("never")), SHOAL_OK);
    assert_true(isinf(cell_at(again, 0).best.target));
    assert_true(isnan(cell_at(again, 0).best.quality));
    near(again->opts.target_loss, 1);
    shoal_study_close(again);
    shoal_study_close(s);
}

/* ---- what is said ---- */

static void the_table_leaves_out_what_nobody_measured(void **state)
{
    struct shoal_study_opts o = small();
    shoal_study *s = open_study("table", &o);
    char *table = NULL;

    (void)state;
    for (size_t i = 0; i < 10; i++)
        pass(s, i % 5 == 0 ? 8 : 4);
    assert_int_equal(shoal_study_table(&table, s, 0), SHOAL_OK);
    assert_true(strncmp(table,
                        "strong scaling: any number of workers does the same work\n"
                        "workers  sync      time  spread  words/s  speedup  efficiency",
                        118) == 0);
    assert_null(strstr(table, "batch "));
    assert_null(strstr(table, "quality"));
    assert_null(strstr(table, "weak scaling"));
    assert_null(strstr(table, "servers "));
    assert_non_null(strstr(table, "\n      1  any    8.000 s "));
    assert_null(strstr(table, "\n      1  sync "));
    assert_non_null(strstr(table, "4 ranks, async: 2 times as fast as 1 rank, an "
                                  "efficiency of 50 %."));
    assert_non_null(strstr(table, "its ranks wait 50 % of the time"));
    free(table);
    shoal_study_close(s);
}

static void the_page_has_curves_beside_the_ideal(void **state)
{
    struct shoal_study_opts o = small();
    shoal_study *s = open_study("page", &o);
    struct shoal_study_run run;
    char *page, *csv;
    shoal_status st;

    (void)state;
    for (size_t i = 0; i < 10; i++) {
        assert_true(shoal_study_next(s, &run, &st));
        put_metrics(run.folder, 8, "link", "the link is <full>");
        assert_int_equal(shoal_study_ended(s, run.number, 9, NULL), SHOAL_OK);
    }
    assert_int_equal(shoal_study_report(s, scratch_path("plots"), NULL), SHOAL_OK);
    page = get(scratch_path("page/report.html"));
    assert_non_null(strstr(page, "Speedup, strong scaling"));
    assert_non_null(strstr(page, ">ideal</text>"));
    assert_non_null(strstr(page, "Where the time went"));
    assert_non_null(strstr(page, "Training loss against time"));
    assert_non_null(strstr(page, "the link is &lt;full&gt;"));
    assert_null(strstr(page, "<full>"));
    assert_null(strstr(page, "weak scaling"));
    assert_int_equal(access(scratch_path("plots/speedup.svg"), F_OK), 0);
    csv = get(scratch_path("page/study.csv"));
    assert_memory_equal(csv, "workers,servers,sync,batch,scaling,done,failed,seconds,", 55);
    assert_non_null(strstr(csv, "\n4,0,\"sync\",0,strong,2,0,8,0,9,1000,125,,1,0.25,2.5,2.25,,"));
    free(page);
    free(csv);
    shoal_study_close(s);
}

/* ---- beyond this machine ---- */

static struct shoal_cluster cluster_of(const char *more)
{
    struct shoal_cluster c;
    char text[256];

    snprintf(text, sizeof text,
             "{\"name\":\"c\",\"nodes\":8,\"gigabits\":%s,\"jitter\":0,\"workers\":[1,2,4,8]}",
             more);
    assert_int_equal(cluster_parse(&c, "c.json", text, strlen(text)), SHOAL_OK);
    return c;
}

static void a_cluster_that_cannot_be_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"nodes\":2,\"gigabits\":1}",
        "{\"nodes\":2,\"gigabits\":0,\"workers\":[1]}",
        "{\"nodes\":2,\"gigabits\":1,\"workers\":[1,4]}",
        "{\"nodes\":2,\"gigabits\":1,\"workers\":[2,1]}",
        "{\"nodes\":2,\"gigabits\":1,\"jitter\":-1,\"workers\":[1]}",
        "{\"nodes\":2,\"gigabits\":[],\"workers\":[1]}",
        "{\"nodes\":2,\"gigabits\":[10,1],\"workers\":[1]}",
        "{\"nodes\":2,\"gigabits\":[1,\"10\"],\"workers\":[1]}",
        "{\"nodes\":2,\"gigabits\":1,\"socket_ns\":-1,\"workers\":[1]}",
        "{\"nodes\":2,\"gigabits\":1,\"workers\":[1],\"simulate\":0}",
        "{\"nodes\":2,\"gigabits\":[1,10],\"workers\":[1],\"simulate\":[2]}",
    };
    struct shoal_cluster c;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(cluster_parse(&c, "c.json", texts[i], strlen(texts[i])), SHOAL_EFORMAT);
        assert_non_null(strstr(shoal_error(), "c.json: found no good"));
    }
}

/* Runs of 8 s on any number of ranks, which send 4,000 bytes for 1,000 words; those in
 * step are the second half. */
static void a_slow_link_limits_those_who_never_wait_and_those_who_do(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_cluster quick = cluster_of("1"), slow = cluster_of("0.000001");
    struct shoal_prediction p;
    shoal_study *s;

    (void)state;
    o.repeat = 1;
    s = open_study("predict", &o);
    for (size_t i = 0; i < 5; i++)
        pass(s, 8);
    assert_true(shoal_study_predict(s, 0, &quick, 1, &p));
    near(p.speedup, 1);
    assert_true(shoal_study_predict(s, 0, &quick, 8, &p));
    near(p.computing, 1);
    near(p.speedup, 8);
    assert_string_equal(p.limit, "computing");
    /* A rank of 4 sends 4,000 / 4 bytes, times (3/4) / (1/2), over 125 bytes a second. */
    assert_true(shoal_study_predict(s, 0, &slow, 4, &p));
    near(p.wire, 12);
    near(p.seconds, 12);
    assert_string_equal(p.limit, "wire");
    assert_true(shoal_study_predict(s, 3, &slow, 4, &p));
    near(p.seconds, 14);                                    /* in step: computing, then sending */
    assert_false(shoal_study_predict(s, 1, &quick, 4, &p)); /* no run of one rank */
    shoal_study_close(s);
}

/* A net of 452 parameters, batches of 32, 20 epochs, as runs of one rank and of two recorded it
 * on a machine that others used too. */
static const char one_rank[] =
    "{\"event\":\"profile\",\"limit\":\"short\",\"all\":{\"seconds\":0.168,\"cpu\":0.48,"
    "\"computing\":0.155,\"communicating\":0,\"waiting\":0,\"other\":0.013},\"per_rank\":[]}\n"
    "{\"event\":\"done\",\"progress\":1,\"unit\":\"samples\",\"examples\":720000,"
    "\"steps\":22500,\"seconds\":0.1531,\"run\":{\"gradient\":0.186}}\n";
static const char two_ranks[] =
    "{\"event\":\"ranks\",\"ranks\":2,\"bytes_out\":42454804,\"messages\":23136,"
    "\"seconds_waiting\":0.038,\"seconds_training\":0.378,\"stale\":[60,11220]}\n"
    "{\"event\":\"profile\",\"limit\":\"short\",\"all\":{\"seconds\":0.4275,\"cpu\":0.361,"
    "\"computing\":0.0727,\"communicating\":0.32,\"waiting\":0.0059,\"other\":0.029},"
    "\"per_rank\":[]}\n"
    "{\"event\":\"done\",\"progress\":1,\"unit\":\"samples\",\"examples\":720000,"
    "\"steps\":11260,\"seconds\":0.1979,\"run\":{\"gradient\":0.286}}\n";

static void pass_with(shoal_study *s, const char *metrics)
{
    struct shoal_study_run run;
    shoal_status st;
    char path[512];
    FILE *f;

    assert_true(shoal_study_next(s, &run, &st));
    snprintf(path, sizeof path, "%s/metrics.jsonl", run.folder);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "{\"event\":\"settings\",\"task\":\"mlp\"}\n%s", metrics);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(shoal_study_ended(s, run.number, 1, NULL), SHOAL_OK);
}

static void the_formula_of_an_asynchronous_net_is_near_its_simulation(void **state)
{
    /* What SimGrid came to, calibrated by the same runs. */
    static const struct {
        unsigned nodes;
        double seconds;
    } simulated[] = {{2, 0.625}, {4, 0.321}, {8, 0.171}, {16, 0.098}, {32, 0.0808}};
    static const char text[] = "{\"nodes\":32,\"gigabits\":10,\"workers\":[1,2,4,8,16,32]}";
    struct shoal_study_opts o = small();
    struct shoal_prediction p;
    struct shoal_cluster c;
    shoal_study *s;

    (void)state;
    o.repeat = 1;
    o.nsync = 1;
    s = open_study("net", &o);
    pass_with(s, one_rank);
    pass_with(s, two_ranks);
    assert_int_equal(cluster_parse(&c, "c.json", text, strlen(text)), SHOAL_OK);
    for (size_t i = 0; i < sizeof simulated / sizeof *simulated; i++) {
        assert_true(shoal_study_predict(s, 0, &c, simulated[i].nodes, &p));
        assert_string_equal(p.by, "formula");
        assert_true(p.seconds < 2 * simulated[i].seconds);
        assert_true(p.seconds > simulated[i].seconds / 2);
    }
    /* All gradients go to the owner of the one piece. */
    assert_string_equal(p.limit, "exchanging");
    /* A step computes for 3 microseconds, and may begin 50 after the one before. */
    assert_true(shoal_study_predict(s, 0, &c, 2, &p));
    assert_string_equal(p.limit, "latency");
    near(p.latency, 22500 / 2 * 50e-6);
    shoal_study_close(s);
}

/* Of two series, three numbers of workers each. What ran once with the same words need not
 * again, and what it came to is what is predicted. */
static void a_simulation_runs_once_and_its_end_is_the_prediction(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_cluster c = cluster_of("1");
    struct shoal_prediction p;
    struct shoal_study_run run;
    shoal_study *s;
    char *text;

    (void)state;
    o.repeat = 1;
    s = open_study("simulated", &o);
    assert_int_equal(shoal_study_simulations(s, &c), 0);
    for (size_t i = 0; i < 5; i++)
        pass(s, 8);
    assert_int_equal(shoal_study_simulations(s, &c), 6);
    assert_int_equal(shoal_study_simulate(s, &c, 2, "module.so", &run), SHOAL_OK);
    assert_string_equal(run.words[0], "env");
    assert_true(has_word(&run, "PMI_SIZE=8") && has_word(&run, "module.so") &&
                has_word(&run, "async") && !has_word(&run, "--ranks"));
    text = get(scratch_path("simulated/runs/sim-001-0008/hosts"));
    assert_string_equal(text, "n0\nn1\nn2\nn3\nn4\nn5\nn6\nn7\n");
    free(text);
    put_metrics(run.folder, 2, "link", "v");
    assert_int_equal(shoal_study_simulated(s, &c, 2, NULL), SHOAL_OK);
    assert_true(shoal_study_predict(s, 0, &c, 8, &p));
    assert_string_equal(p.by, "simulated");
    assert_true(shoal_study_predict(s, 0, &c, 1, &p));
    assert_string_equal(p.by, "measured");
    c.speed = 2; /* which nobody ran at */
    assert_true(shoal_study_predict(s, 0, &c, 1, &p));
    assert_string_equal(p.by, "formula");
    c.speed = 1;
    s->runs[0].m.cpu = 0.5; /* it had half a core: its processor time was measured, not its time */
    assert_true(shoal_study_predict(s, 0, &c, 1, &p));
    assert_string_equal(p.by, "formula");
    near(p.seconds, 4);
    s->runs[0].m.cpu = (double)NAN;
    assert_true(shoal_study_predict(s, 0, &c, 8, &p));
    near(p.seconds, 2);
    near(p.speedup, 4);
    near(p.held, 2.25);
    near(p.computing, 1);
    assert_true(isnan(p.latency)); /* part of the waiting */
    assert_string_equal(p.limit, "computing");
    shoal_study_close(s);

    s = open_study("simulated", &o);
    assert_int_equal(shoal_study_simulate(s, &c, 2, "module.so", &run), SHOAL_OK);
    assert_int_equal(run.nwords, 0);
    assert_true(shoal_study_predict(s, 0, &c, 8, &p));
    near(p.seconds, 2);
    c.jitter = 0.1; /* another cluster */
    assert_int_equal(shoal_study_simulate(s, &c, 2, "module.so", &run), SHOAL_OK);
    assert_true(run.nwords > 0);
    shoal_study_close(s);
}

/* Two links: all of the first, then all of the second, each in a folder of its own. */
static void every_link_has_simulations_and_words_of_its_own(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_cluster c = cluster_of("[1,10]"), fast = cluster_link(&c, 1);
    struct shoal_prediction p;
    struct shoal_study_run run;
    shoal_study *s;
    char *text = NULL;

    (void)state;
    near(c.bandwidth, 0.125e9);
    near(fast.bandwidth, 1.25e9);
    o.repeat = 1;
    s = open_study("links", &o);
    for (size_t i = 0; i < 5; i++)
        pass(s, 8);
    assert_int_equal(shoal_study_simulations(s, &c), 12);
    assert_int_equal(shoal_study_simulate(s, &c, 8, "module.so", &run), SHOAL_OK);
    assert_non_null(strstr(run.folder, "links/runs/sim-001-0008-10G"));
    assert_non_null(strstr(run.name, "8 ranks, async, 10 Gbit/s"));
    near(run.memory, 8 * 1.4 * (1 << 20)); /* more than that of ranks which run */
    put_metrics(run.folder, 2, "link", "v");
    assert_int_equal(shoal_study_simulated(s, &c, 8, NULL), SHOAL_OK);
    assert_true(shoal_study_predict(s, 0, &fast, 8, &p));
    assert_string_equal(p.by, "simulated");
    near(p.rate, 500);
    assert_true(shoal_study_predict(s, 0, &c, 8, &p));
    assert_string_equal(p.by, "formula"); /* the other link was not simulated */
    assert_int_equal(shoal_study_predictions(&text, s, &c), SHOAL_OK);
    assert_non_null(strstr(text, "async, 10 Gbit/s: efficiency is below 90 % from the first ranks on. "
                                 "At 8 it is 50 %"));
    free(text);
    assert_int_equal(shoal_study_report(s, NULL, &c), SHOAL_OK);
    text = get(scratch_path("links/predicted.csv"));
    assert_non_null(strstr(text, "\n10,8,\"async\",\"simulated\",2,500,4,0.5,"));
    free(text);
    shoal_study_close(s);
}

static void beyond_what_is_simulated_of_a_link_nothing_is_predicted(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_cluster c = cluster_of("[1,10],\"simulate\":[4,8]");
    struct shoal_prediction p;
    struct shoal_study_run run;
    shoal_study *s;

    (void)state;
    o.repeat = 1;
    s = open_study("simulate", &o);
    for (size_t i = 0; i < 5; i++)
        pass(s, 8);
    for (size_t i = 0; i < 12; i++) { /* each link has three numbers of ranks of two series */
        assert_int_equal(shoal_study_simulate(s, &c, i, "module.so", &run), SHOAL_OK);
        assert_int_equal(run.nwords > 0, i != 2 && i != 5);
    }
    assert_true(shoal_study_predict(s, 0, &c, 8, &p)); /* nothing was simulated yet */
    assert_string_equal(p.by, "formula");
    assert_int_equal(shoal_study_simulate(s, &c, 8, "module.so", &run), SHOAL_OK);
    put_metrics(run.folder, 2, "simulate", "v");
    assert_int_equal(shoal_study_simulated(s, &c, 8, NULL), SHOAL_OK);
    assert_false(shoal_study_predict(s, 0, &c, 8, &p));
    c = cluster_link(&c, 1);
    assert_true(shoal_study_predict(s, 0, &c, 8, &p));
    assert_string_equal(p.by, "simulated");
    shoal_study_close(s);
}

static void a_simulation_that_failed_is_shown_with_its_reason(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_cluster c = cluster_of("1");
    struct shoal_study_run run;
    shoal_study *s;
    char *text = NULL;

    (void)state;
    o.repeat = 1;
    s = open_study("simfailed", &o);
    for (size_t i = 0; i < 5; i++)
        pass(s, 8);
    assert_int_equal(shoal_study_simulate(s, &c, 5, "module.so", &run), SHOAL_OK);
    assert_int_equal(shoal_study_simulated(s, &c, 5, "no such host"), SHOAL_OK);
    assert_int_equal(shoal_study_predictions(&text, s, &c), SHOAL_OK);
    assert_non_null(strstr(text, "failed: no such host"));
    assert_non_null(strstr(text, "formula"));
    free(text);
    assert_int_equal(shoal_study_report(s, NULL, &c), SHOAL_OK);
    text = get(scratch_path("simfailed/report.html"));
    assert_non_null(strstr(text, "failed: no such host"));
    free(text);
    shoal_study_close(s);
}

static void what_is_predicted_is_said_to_be(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_cluster c = cluster_of("1");
    shoal_study *s;
    char *page, *text = NULL;

    (void)state;
    o.repeat = 1;
    s = open_study("said", &o);
    assert_int_equal(shoal_study_predictions(&text, s, &c), SHOAL_OK);
    assert_string_equal(text, "");
    free(text);
    for (size_t i = 0; i < 5; i++)
        pass(s, 8);
    assert_int_equal(shoal_study_report(s, NULL, &c), SHOAL_OK);
    page = get(scratch_path("said/report.html"));
    assert_non_null(strstr(page, "not of runs"));
    assert_non_null(strstr(page, "Speedup, predicted"));
    assert_non_null(strstr(page, "<th>wire</th><th>latency</th>"));
    free(page);
    shoal_study_close(s);
    o.nsync = 0;
    s = open_study("plain", &o);
    for (size_t i = 0; i < 3; i++)
        pass(s, 8);
    assert_int_equal(shoal_study_predictions(&text, s, &c), SHOAL_OK);
    assert_non_null(strstr(text, "formula"));
    for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        assert_int_equal(strstr(line, "measured") != NULL, strncmp(line, "      1 ", 8) == 0);
    free(text);
    shoal_study_close(s);
}

#define HOSTILE(field) snprintf(field, sizeof(field), "<x>")

/* Every string that a study has read from its files. */
static void poison(shoal_study *s)
{
    HOSTILE(s->machine);
    for (size_t i = 0; i < s->ncells * s->opts.repeat; i++) {
        struct study_run *run = &s->runs[i];

        HOSTILE(run->m.unit);
        HOSTILE(run->m.quality_name);
        HOSTILE(run->m.limit);
        HOSTILE(run->m.verdict);
        HOSTILE(run->failure);
        run->m.quality = 0.5;
    }
}

static void no_string_of_a_study_can_become_markup(void **state)
{
    struct shoal_study_opts o = small();
    struct shoal_cluster c = cluster_of("1");
    const char *more[] = {"--name", "<x>"}, *hostile[] = {"<x>"};
    shoal_study *s;
    char *page;

    (void)state;
    o.model = "<x>";
    o.data = hostile;
    o.more = more;
    o.nmore = 2;
    o.sync[1] = "<x>";
    s = open_study("hostile", &o);
    for (size_t i = 0; i < 9; i++)
        pass(s, i % 5 == 0 ? 8 : 4);
    poison(s);
    s->runs[11].state = RUN_FAILED;
    HOSTILE(c.name);
    assert_int_equal(shoal_study_report(s, scratch_path("hostileplots"), &c), SHOAL_OK);
    page = get(scratch_path("hostile/report.html"));
    assert_null(strstr(page, "<x>"));
    assert_non_null(strstr(page, "Failed: 4 ranks, &lt;x&gt;"));
    assert_non_null(strstr(page, "<th>&lt;x&gt;</th>"));
    assert_non_null(strstr(page, "<td class=\"w\">4 ranks, &lt;x&gt;</td><td class=\"v\">"));
    free(page);
    shoal_study_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_a_command_of_shoal_train),
        cmocka_unit_test(repeats_of_a_cell_are_apart),
        cmocka_unit_test(weak_scaling_multiplies_the_epochs),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(the_quickest_run_of_a_cell_counts),
        cmocka_unit_test(a_cell_that_failed_says_why_and_the_rest_go_on),
        cmocka_unit_test(a_narrow_screen_gets_the_table_in_parts),
        cmocka_unit_test(only_workers_that_ran_are_said_to_share_cores),
        cmocka_unit_test(of_runs_too_short_to_judge_nothing_is_found),
        cmocka_unit_test(of_many_series_the_limit_of_the_worst_is_told),
        cmocka_unit_test(a_series_whose_base_is_too_short_is_not_the_worst),
        cmocka_unit_test(a_table_of_nothing_but_failures_has_its_cells),
        cmocka_unit_test(servers_are_ranks_but_no_workers),
        cmocka_unit_test(one_worker_with_a_server_runs_under_each_policy),
        cmocka_unit_test(steps_are_shared_out_or_given_to_each),
        cmocka_unit_test(a_target_is_of_the_loss_that_was_named),
        cmocka_unit_test(accuracy_updates_disk_and_network_have_columns),
        cmocka_unit_test(strong_and_weak_scaling_have_tables_of_their_own),
        cmocka_unit_test(a_run_does_not_find_the_metrics_of_one_that_was_killed),
        cmocka_unit_test(an_interrupted_study_goes_on_where_it_was),
        cmocka_unit_test(more_repeats_keep_what_is_done),
        cmocka_unit_test(another_grid_is_not_mixed_in),
        cmocka_unit_test(a_damaged_record_is_refused),
        cmocka_unit_test(what_is_not_measured_survives_the_file),
        cmocka_unit_test(the_table_leaves_out_what_nobody_measured),
        cmocka_unit_test(the_page_has_curves_beside_the_ideal),
        cmocka_unit_test(a_cluster_that_cannot_be_is_refused),
        cmocka_unit_test(a_slow_link_limits_those_who_never_wait_and_those_who_do),
        cmocka_unit_test(the_formula_of_an_asynchronous_net_is_near_its_simulation),
        cmocka_unit_test(a_simulation_runs_once_and_its_end_is_the_prediction),
        cmocka_unit_test(every_link_has_simulations_and_words_of_its_own),
        cmocka_unit_test(beyond_what_is_simulated_of_a_link_nothing_is_predicted),
        cmocka_unit_test(a_simulation_that_failed_is_shown_with_its_reason),
        cmocka_unit_test(what_is_predicted_is_said_to_be),
        cmocka_unit_test(no_string_of_a_study_can_become_markup),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
