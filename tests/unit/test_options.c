/* train: options.c, config.c, the tables of the tasks; base: option.c. */
#include "file/file.h"
#include "train/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"

static shoal_options *options_for(const char *task)
{
    shoal_options *o;

    if (shoal_options_new(&o, task) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return o;
}

static void set(shoal_options *o, const char *name, const char *value)
{
    if (shoal_options_set(o, name, value) != SHOAL_OK)
        fail_msg("%s", shoal_error());
}

static void refused(shoal_options *o, const char *name, const char *value, const char *sentence)
{
    assert_int_equal(shoal_options_set(o, name, value), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), sentence);
}

/* ---- All options of all tasks -------------------------------------------------------------- */

/* Values of types that one table has, by the option; each as it is shown. */
static const char *const own_values[][4] = {
    {"valid", "7%", "0%", "12.3456789012345%"},
    {"valid-share", "33.3%", "0.1%", "50%"},
    {"early-stop", "auto", "0", "1000000"},
    {"weight-decay", "auto", "0", "0.25"},
    {"checkpoint-every", "epoch", "300s", "7%"},
    {"publish-every", "0.1s", "7200s", "1e+09s"},
    {"autotune", "300s", "0", "0.5s"},
    {"silent-after", "never", "90s", "0.25s"},
    {"sync", "bounded:16", "average:1000000", "async"},
    {"layers", "none", "128,64", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24"},
    {"depth", "11", "16", "19"},
    {"dtype", "bf16", "f32", "bf16"},
};

/* Value i to try of an option; false behind the last. */
static bool value_at(char out[SHOAL_VALUE], const struct shoal_option *p, size_t i)
{
    static const char *const flags[] = {"true", "false"}, *const texts[] = {"a b#c",
                                                                            "=\\\"/\xc3\xa4"};
    struct shoal_option count = {.type = SHOAL_TYPE_SIZE, .size = sizeof(uint64_t)};
    const uint64_t counts[] = {p->u.min, p->u.max, p->u.min / 2 + p->u.max / 2};
    const double reals[] = {p->d.min, p->d.max, p->d.max / 3, p->d.max / 1e9 + p->d.min};

    switch (p->type) {
    case SHOAL_TYPE_FLAG:
        return i < 2 && snprintf(out, SHOAL_VALUE, "%s", flags[i]);
    case SHOAL_TYPE_SIZE:
        return i < 3 && shoal_option_show(out, &count, &counts[i]);
    case SHOAL_TYPE_COUNT:
        return i < 3 && snprintf(out, SHOAL_VALUE, "%llu", (unsigned long long)counts[i]);
    case SHOAL_TYPE_REAL:
        return i < 4 && (number_exact(out, SHOAL_VALUE, reals[i]), true);
    case SHOAL_TYPE_CHOICE:
        return p->choices[i].name && snprintf(out, SHOAL_VALUE, "%s", p->choices[i].name);
    case SHOAL_TYPE_TEXT:
    case SHOAL_TYPE_PATH:
        return i < 2 && snprintf(out, SHOAL_VALUE, "%s", texts[i]);
    default:
        for (size_t k = 0; i < 3 && k < sizeof own_values / sizeof *own_values; k++)
            if (strcmp(own_values[k][0], p->name) == 0)
                return snprintf(out, SHOAL_VALUE, "%s", own_values[k][i + 1]);
        assert_int_equal(i, 3);
        return false;
    }
}

static void for_all(void (*fn)(shoal_options *o, const struct shoal_option *p))
{
    for (size_t t = 0; shoal_task_at(t); t++) {
        const struct shoal_task *task = shoal_task_at(t);

        assert_ptr_equal(shoal_task_find(task->name), task);
        for (const struct shoal_option_group *g = task->groups; g->options; g++) {
            for (const struct shoal_option *p = g->options; p->name; p++) {
                shoal_options *o = options_for(task->name);

                fn(o, p);
                shoal_options_free(o);
            }
        }
    }
}

static void try_values(shoal_options *o, const struct shoal_option *p)
{
    char value[SHOAL_VALUE];
    size_t n = 0;

    assert_false(shoal_options_given(o, p->name));
    for (; value_at(value, p, n); n++) {
        set(o, p->name, value);
        assert_string_equal(shoal_options_get(o, p->name), value);
        assert_true(shoal_options_given(o, p->name));
    }
    assert_true(n >= 2);
}

static void every_option_of_every_task_is_set_and_shown(void **state)
{
    (void)state;
    for_all(try_values);
}

static void try_description(shoal_options *o, const struct shoal_option *p)
{
    char want[SHOAL_SENTENCE];
    size_t last = strlen(p->help) - 1;

    shoal_option_want(want, p);
    assert_true(strlen(want) > 0 && strlen(want) < SHOAL_SENTENCE - 1);
    assert_true(p->help[last] != '.');
    assert_int_equal(p->arg != NULL, shoal_option_takes_value(p));
    /* A table that names an option twice would hide the second. */
    set(o, p->name, shoal_options_get(o, p->name) ? shoal_options_get(o, p->name) : "x");
}

static void every_option_says_what_it_wants(void **state)
{
    (void)state;
    for_all(try_description);
}

static void no_task_has_two_options_of_one_name(void **state)
{
    (void)state;
    for (size_t t = 0; shoal_task_at(t); t++) {
        const char *names[OPTIONS_MOST];
        size_t n = 0;

        for (const struct shoal_option_group *g = shoal_task_at(t)->groups; g->options; g++) {
            for (const struct shoal_option *p = g->options; p->name; p++) {
                for (size_t i = 0; i < n; i++)
                    assert_string_not_equal(names[i], p->name);
                names[n++] = p->name;
            }
        }
    }
}

/* ---- Through a checkpoint ---------------------------------------------------------------- */

static struct bytes written(const shoal_options *o)
{
    struct bytes b = {0};

    if (options_write(options_run(o), options_values(o), &b) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return b;
}

static shoal_options *read_again(const shoal_options *o)
{
    struct bytes b = written(o);
    shoal_options *again;

    if (options_read(&again, "run", b.at, b.len) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    bytes_fini(&b);
    return again;
}

static void assert_same_lines(const shoal_options *a, const shoal_options *b)
{
    struct bytes x = written(a), y = written(b);

    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.at, y.at, x.len);
    bytes_fini(&x);
    bytes_fini(&y);
}

/* A path is kept as it is from any folder. */
static void assert_kept(shoal_options *again, const struct shoal_option *p, const char *value)
{
    const char *kept = shoal_options_get(again, p->name);
    char *here = p->type == SHOAL_TYPE_PATH && value[0] != '/' ? getcwd(NULL, 0) : NULL;

    if (here) {
        assert_memory_equal(kept, here, strlen(here));
        assert_int_equal(kept[strlen(here)], '/');
        kept += strlen(here) + 1;
    }
    assert_string_equal(kept, value);
    free(here);
}

static void try_checkpoint(shoal_options *o, const struct shoal_option *p)
{
    char value[SHOAL_VALUE];

    for (size_t i = 0; !p->passing && value_at(value, p, i); i++) {
        shoal_options *again;

        set(o, p->name, value);
        again = read_again(o);
        assert_kept(again, p, value);
        assert_same_lines(o, again);
        assert_int_equal(options_same("run", again, o), SHOAL_OK);
        shoal_options_free(again);
    }
}

static void every_option_comes_back_from_a_checkpoint(void **state)
{
    (void)state;
    for_all(try_checkpoint);
}

static void what_is_of_one_process_alone_is_not_remembered(void **state)
{
    shoal_options *o = options_for("mlp"), *again;

    (void)state;
    set(o, "watch", ":8080");
    set(o, "profile", "true");
    again = read_again(o);
    assert_null(shoal_options_get(again, "watch"));
    assert_string_equal(shoal_options_get(again, "profile"), "false");
    shoal_options_free(again);
    shoal_options_free(o);
}

static void a_checkpoint_says_where_each_file_is(void **state)
{
    static const struct {
        const char *name, *value, *want;
    } paths[] = {
        {"eval", "a.txt,/b/c.txt,d", "%1$s/a.txt,/b/c.txt,%1$s/d"},
        {"eval", "a.txt,", "%s/a.txt,"},
        {"metrics", "a,b.jsonl", "%s/a,b.jsonl"},
        {"metrics", "/a/b.jsonl", "/a/b.jsonl"},
        {"output", "-", "-"},
        {"output", "-x", "%s/-x"},
    };
    char folder[SHOAL_VALUE], want[4 * SHOAL_VALUE];

    (void)state;
    assert_non_null(getcwd(folder, sizeof folder));
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        shoal_options *o = options_for("cbow"), *again;

        set(o, paths[i].name, paths[i].value);
        again = read_again(o);
        snprintf(want, sizeof want, paths[i].want, folder);
        assert_string_equal(shoal_options_get(again, paths[i].name), want);
        shoal_options_free(again);
        shoal_options_free(o);
    }
}

/* Whatever a program may have computed. */
static void a_checkpoint_keeps_every_bit(void **state)
{
    struct rng r = {.seed = 1};

    (void)state;
    for (int i = 0; i < 2000; i++) {
        shoal_options *o = options_for("mlp"), *again;
        double lr = rng_unit(&r) * 1000, share = rng_unit(&r) / 2;
        char text[SHOAL_VALUE];

        number_exact(text, sizeof text, lr);
        set(o, "lr", text);
        number_exact(text, sizeof text, share);
        set(o, "valid-share", text);
        set(o, "checkpoint-every", text);
        again = read_again(o);
        assert_memory_equal(&options_values(again)->lr, &lr, sizeof lr);
        assert_memory_equal(&options_values(again)->valid, &share, sizeof share);
        assert_memory_equal(&options_values(again)->every.value, &share, sizeof share);
        shoal_options_free(o);
        shoal_options_free(again);
    }
}

static void try_difference(shoal_options *o, const struct shoal_option *p)
{
    char value[SHOAL_VALUE], was[SHOAL_VALUE], sentence[1024];
    shoal_options *there = read_again(o);

    snprintf(was, sizeof was, "%s",
             shoal_options_get(o, p->name) ? shoal_options_get(o, p->name) : "");
    for (size_t i = 0; value_at(value, p, i); i++) {
        bool differs = strcmp(value, was) != 0;

        set(o, p->name, value);
        assert_int_equal(options_same("run", there, o),
                         p->decides && differs ? SHOAL_EINVAL : SHOAL_OK);
        if (p->decides && differs) {
            /* One of two names of a field may come first. */
            if (strncmp(p->name, "cbow-", 5) != 0 && strcmp(p->name, "shrink-windows") != 0) {
                snprintf(sentence, sizeof sentence,
                         "run: %s is %s there, %s here: that is another "
                         "run",
                         p->name, was, value);
                assert_string_equal(shoal_error(), sentence);
            }
            snprintf(sentence, sizeof sentence,
                     "--%s is '%s', want %s as before: else it is "
                     "another run",
                     p->name, value, was);
            refused(there, p->name, value, sentence);
        } else if (p->decides) {
            set(there, p->name, value);
        }
    }
    if (!p->decides)
        for (size_t i = 0; value_at(value, p, i); i++)
            set(there, p->name, value);
    shoal_options_free(there);
}

static void an_option_that_decides_the_result_is_refused_by_name(void **state)
{
    shoal_options *a = options_for("cbow"), *b = options_for("skipgram");

    (void)state;
    for_all(try_difference);
    assert_int_equal(options_same("run", a, b), SHOAL_EINVAL);
    assert_string_equal(shoal_error(),
                        "run: trains cbow there, skipgram here: that is another run");
    shoal_options_free(a);
    shoal_options_free(b);
}

static void threads_and_paths_decide_nothing(void **state)
{
    static const char *const free_ones[] = {"threads", "memory",  "sync",       "servers",
                                            "wire",    "metrics", "profile",    "watch",
                                            "publish", "output",  "checkpoint", "checkpoint-every",
                                            "mlflow",  "tensorboard"};
    shoal_options *here = options_for("cbow"), *there = read_again(here);

    (void)state;
    for (size_t i = 0; i < sizeof free_ones / sizeof *free_ones; i++) {
        const char *now = shoal_options_get(there, free_ones[i]);
        char value[SHOAL_VALUE];

        snprintf(value, sizeof value, "%s", now ? now : "elsewhere");
        set(there, free_ones[i], value);
        assert_int_equal(options_same("run", there, here), SHOAL_OK);
    }
    shoal_options_free(here);
    shoal_options_free(there);
}

static void lines_of_a_stranger_are_refused(void **state)
{
    static const struct {
        const char *meta, *sentence;
    } lines[] = {
        {"", "run: found no task"},
        {"kind checkpoint\n", "run: found no task"},
        {"opt.dim 5\n", "run: found options of no task"},
        {"task none\n",
         "run: found no task 'none', want cbow, skipgram, logreg, multinomial, classify, mlp, nextword or vgg"},
        {"task cbow\nopt.depth 11\n", "run: found an option 'depth', which cbow has not"},
        {"task cbow\nopt.watch :80\n", "run: found an option 'watch', which cbow has not"},
        {"task cbow\nopt.dim\n", "run: found an option 'dim', which cbow has not"},
        {"task cbow\nopt. 5\n", "run: found an option '', which cbow has not"},
        {"task cbow\nopt.dim 5\nopt.dim 5\n", "run: found --dim twice, want it once"},
        {"task cbow\nopt.dim 0\n", "run: --dim is '0', want a whole number from 1 to 4096"},
        {"task cbow\nopt.dim  5\n", "run: --dim is ' 5', want a whole number from 1 to 4096"},
        {"task cbow\nopt.lr nan\n", "run: --lr is 'nan', want a number from 0 to 1000"},
        {"task cbow\nopt.output \n", "run: --output is '', want a file name"},
        {"task mlp\nopt.layers 1,,2\n",
         "run: --layers is '1,,2', want widths such as 64 or 128,64, none, or auto"},
    };
    shoal_options *o;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_not_equal(options_read(&o, "run", lines[i].meta, strlen(lines[i].meta)),
                             SHOAL_OK);
        assert_null(o);
        assert_string_equal(shoal_error(), lines[i].sentence);
    }
    assert_int_equal(options_read(&o, "run", "task cbow\0\nopt.dim 5\n", 21), SHOAL_EFORMAT);
    assert_string_equal(shoal_error(), "run: found a byte 0, want lines of text");
}

static void lines_that_are_no_options_are_passed_over(void **state)
{
    static const char meta[] = "kind checkpoint\ntask vgg\nat.epoch 3\nopt.depth 16\ntask mlp\n";
    shoal_options *o;

    (void)state;
    assert_int_equal(options_read(&o, "run", meta, sizeof meta - 1), SHOAL_OK);
    assert_string_equal(shoal_options_task(o)->name, "vgg");
    assert_string_equal(shoal_options_get(o, "depth"), "16");
    assert_true(shoal_options_given(o, "depth"));
    assert_false(shoal_options_given(o, "base"));
    shoal_options_free(o);
}

static void a_checkpoint_from_before_valid_at_held_out_the_end(void **state)
{
    static const struct {
        const char *meta, *at;
    } runs[] = {
        {"task cbow\nopt.valid 0.1\n", "end"},
        {"task logreg\nopt.valid-share 0.1\n", "end"},
        {"task cbow\nopt.valid 0.1\nopt.valid-at spread\n", "spread"},
        {"task cbow\nopt.valid 0\n", "spread"}, /* nothing is held out, wherever */
        {"task logreg\nopt.valid test.svm\n", "spread"},
    };
    shoal_options *o;

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        assert_int_equal(options_read(&o, "run", runs[i].meta, strlen(runs[i].meta)), SHOAL_OK);
        assert_string_equal(shoal_options_get(o, "valid-at"), runs[i].at);
        shoal_options_free(o);
    }
}

static void a_newline_is_not_written(void **state)
{
    shoal_options *o = options_for("cbow");
    struct bytes b = {0};

    (void)state;
    set(o, "output", "a\nopt.dim 5");
    assert_int_equal(options_write(options_run(o), options_values(o), &b), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), "checkpoint: --output holds a newline");
    bytes_fini(&b);
    shoal_options_free(o);
}

static void put_checkpoint(const char *path, const shoal_options *o)
{
    struct container_writer *w;
    struct bytes lines = written(o), meta = {0};

    assert_int_equal(bytes_add(&meta, "kind checkpoint\nformat 2\n", 25), SHOAL_OK);
    assert_int_equal(bytes_add(&meta, lines.at, lines.len), SHOAL_OK);
    bytes_fini(&lines);
    assert_int_equal(container_create(&w, path), SHOAL_OK);
    assert_int_equal(container_put(w, "meta", meta.at, meta.len), SHOAL_OK);
    assert_int_equal(container_commit(w), SHOAL_OK);
    bytes_fini(&meta);
}

static void a_run_goes_on_with_the_options_of_its_last_checkpoint(void **state)
{
    shoal_options *o = options_for("skipgram"), *again;

    (void)state;
    assert_int_equal(mkdir("run", 0777), 0);
    set(o, "dim", "7");
    put_checkpoint("run/checkpoint-000001.shoal", o);
    set(o, "dim", "8");
    put_checkpoint("run/checkpoint-000002.shoal", o);
    put_text("run/checkpoint-000003.shoal", "cut off");
    assert_int_equal(shoal_options_resume(&again, "run"), SHOAL_OK);
    assert_string_equal(shoal_options_task(again)->name, "skipgram");
    assert_string_equal(shoal_options_get(again, "dim"), "8");
    assert_string_equal(shoal_options_get(again, "checkpoint"), "run");
    assert_true(options_values(again)->resume);
    refused(again, "dim", "7", "--dim is '7', want 8 as before: else it is another run");
    refused(again, "dim", "0", "--dim is '0', want a whole number from 1 to 4096");
    set(again, "threads", "3");
    shoal_options_free(again);
    assert_int_equal(shoal_options_resume(&again, "run/checkpoint-000001.shoal"), SHOAL_OK);
    assert_string_equal(shoal_options_get(again, "dim"), "7");
    assert_null(shoal_options_get(again, "checkpoint"));
    shoal_options_free(again);
    shoal_options_free(o);
}

static void a_folder_without_a_checkpoint_is_not_found(void **state)
{
    shoal_options *o;

    (void)state;
    assert_int_equal(shoal_options_resume(&o, "nowhere"), SHOAL_ENOENT);
    assert_null(o);
    assert_int_equal(mkdir("empty", 0777), 0);
    assert_int_equal(shoal_options_resume(&o, "empty"), SHOAL_ENOENT);
    assert_null(o);
}

/* ---- What is refused --------------------------------------------------------------------- */

static void a_value_out_of_range_is_refused_with_the_range(void **state)
{
    shoal_options *o = options_for("cbow"), *vgg = options_for("vgg");

    (void)state;
    refused(o, "dim", "0", "--dim is '0', want a whole number from 1 to 4096");
    refused(o, "dim", "-1", "--dim is '-1', want a whole number from 1 to 4096");
    refused(o, "dim", "", "--dim is '', want a whole number from 1 to 4096");
    refused(o, "lr", "1e9", "--lr is '1e9', want a number from 0 to 1000");
    refused(o, "lr", "0,05", "--lr is '0,05', want a number from 0 to 1000");
    refused(o, "loss", "l2", "--loss is 'l2', want ns, hs or softmax");
    refused(o, "memory", "1X", "--memory is '1X', want a size of 0 or more, such as 512M or 2G");
    refused(o, "deterministic", "yes", "--deterministic is 'yes', want true or false");
    refused(o, "valid", "51%",
            "--valid is '51%', want a share from 0 to 0.5, or a percent such as 0.1%");
    refused(o, "checkpoint-every", "5",
            "--checkpoint-every is '5', want a time such as 60s, 5m or 2h, a percent such as 5%, "
            "or epoch");
    refused(o, "sync", "bounded",
            "--sync is 'bounded', want async, bounded:ROUNDS, sync or average:ROUNDS, with 1 to "
            "1000000 rounds");
    refused(o, "output", "", "--output is '', want a file name");
    refused(vgg, "depth", "12", "--depth is '12', want 11, 13, 16 or 19");
    refused(vgg, "optimizer", "ftrl", "--optimizer is 'ftrl', want sgd, momentum or adam");
    assert_string_equal(shoal_options_get(o, "dim"), "100");
    assert_string_equal(shoal_options_get(o, "valid"), "0.1%");
    assert_string_equal(shoal_options_get(vgg, "depth"), "11");
    shoal_options_free(o);
    shoal_options_free(vgg);
}

static void what_is_no_option_is_refused(void **state)
{
    shoal_options *o;
    char *many = mem_array(OPTION_BYTES + 2, 1);

    (void)state;
    assert_int_equal(shoal_options_new(&o, NULL), SHOAL_EINVAL);
    assert_null(o);
    assert_int_equal(shoal_options_new(&o, "word2vec"), SHOAL_EINVAL);
    shoal_options_free(NULL);
    o = options_for("logreg");
    refused(o, "dim", "5", "logreg has no option 'dim'");
    refused(o, NULL, "5", "logreg has no option ''");
    refused(o, "--l1", "5", "logreg has no option '--l1'");
    refused(o, "l1", NULL, "--l1 has no value, want a number from 0 to 1e+09");
    memset(many, 'x', OPTION_BYTES + 1);
    assert_int_equal(shoal_options_set(o, "output", many), SHOAL_ELIMIT);
    assert_null(shoal_options_get(o, "output"));
    assert_null(shoal_options_get(o, "dim"));
    assert_null(shoal_options_get(o, NULL));
    assert_false(shoal_options_given(o, "dim"));
    assert_null(shoal_task_find(NULL));
    assert_null(shoal_task_at(SIZE_MAX));
    shoal_options_free(o);
    free(many);
}

static void check_fails(const char *task, const char *const *given, const char *sentence)
{
    shoal_options *o = options_for(task);

    for (; *given; given += 2)
        set(o, given[0], given[1]);
    assert_int_equal(shoal_options_check(o), SHOAL_EINVAL);
    assert_string_equal(shoal_error(), sentence);
    shoal_options_free(o);
}

#define GIVEN(...) ((const char *const[]){__VA_ARGS__, NULL})

static void options_that_do_not_go_together_are_refused(void **state)
{
    (void)state;
    for (size_t t = 0; shoal_task_at(t); t++) {
        shoal_options *o = options_for(shoal_task_at(t)->name);

        assert_int_equal(shoal_options_check(o), SHOAL_OK);
        shoal_options_free(o);
    }
    check_fails("cbow", GIVEN("checkpoint-every", "epoch"),
                "--checkpoint-every does not go without --checkpoint");
    check_fails("cbow", GIVEN("vocab", "words.txt", "min-count", "3"),
                "--min-count does not go with --vocab");
    check_fails("skipgram", GIVEN("sample", "1"), "--sample is 1, want 0 to below 1");
    check_fails("logreg", GIVEN("beta", "0"), "--beta is 0, want more, or --optimizer sgd");
    check_fails("logreg", GIVEN("class-weight", "0"), "--class-weight is 0, want more");
    check_fails("vgg", GIVEN("base", "24"), "--base is 24 channels, want a multiple of 16");
    check_fails("vgg", GIVEN("batch-norm", "false", "sync-bn", "true"),
                "--sync-bn does not go with --no-batch-norm");
}

/* ---- Files ----------------------------------------------------------------------------- */

static void config(shoal_options *o, const char *text)
{
    put_text("config", text);
    if (shoal_options_read(o, "config") != SHOAL_OK)
        fail_msg("%s", shoal_error());
}

static void config_fails(const char *text, const char *sentence)
{
    shoal_options *o = options_for("cbow");

    put_text("config", text);
    assert_int_not_equal(shoal_options_read(o, "config"), SHOAL_OK);
    assert_string_equal(shoal_error(), sentence);
    shoal_options_free(o);
}

static void assert_config(shoal_options *o)
{
    assert_string_equal(shoal_options_get(o, "dim"), "300");
    assert_string_equal(shoal_options_get(o, "lr"), "0.07");
    assert_string_equal(shoal_options_get(o, "output"), "my vectors#1.bin");
    assert_string_equal(shoal_options_get(o, "deterministic"), "true");
    assert_string_equal(shoal_options_get(o, "memory"), "2G");
    assert_string_equal(shoal_options_get(o, "valid"), "1%");
    assert_true(shoal_options_given(o, "dim"));
    assert_false(shoal_options_given(o, "window"));
}

static void a_file_of_lines_sets_options(void **state)
{
    shoal_options *o = options_for("cbow");

    (void)state;
    config(o, "# a comment\n\n  dim 300   # larger\nlr=0.07\r\noutput = my vectors#1.bin \n"
              "\tdeterministic\ttrue\nmemory =2G\nvalid= 1%");
    assert_config(o);
    config(o, "");
    config(o, "#");
    shoal_options_free(o);
}

static void a_json_object_sets_options(void **state)
{
    shoal_options *o = options_for("cbow");

    (void)state;
    config(o, " \n{\"dim\": 300, \"lr\": 0.07, \"output\": \"my vectors#1.bin\",\n"
              "\"deterministic\": true, \"memory\": 2147483648, \"valid\": 0.01}\n");
    assert_config(o);
    config(o, "{}");
    shoal_options_free(o);
}

static void a_wrong_file_is_refused_with_its_line(void **state)
{
    (void)state;
    config_fails("dim 5\ndim 0\n",
                 "config: line 2: --dim is '0', want a whole number from 1 to 4096");
    config_fails("dim\n", "config: line 1: --dim is '', want a whole number from 1 to 4096");
    config_fails("= 5\n", "config: line 1: cbow has no option ''");
    config_fails("depth 11\n", "config: line 1: cbow has no option 'depth'");
    config_fails("{\"dim\": 0}", "config: --dim is '0', want a whole number from 1 to 4096");
    config_fails("{\"dim\": 5.5}", "config: --dim is '5.5', want a whole number from 1 to 4096");
    config_fails("{\"dim\": [5]}", "config: 'dim' is neither text, a number, true nor false");
    config_fails("{\"dim\": 5,\n \"dim\": 6}",
                 "config: line 2: duplicate object key near '\"dim\"'");
    config_fails("{\"dim\": 5} x", "config: line 1: end of file expected near 'x'");
}

static void a_file_that_is_no_text_is_refused(void **state)
{
    shoal_options *o = options_for("cbow");
    char *large = mem_array(OPTIONS_FILE + 1, 1);

    (void)state;
    put_file("config", "dim 5\0\n", 7);
    assert_int_equal(shoal_options_read(o, "config"), SHOAL_EFORMAT);
    memset(large, '\n', OPTIONS_FILE + 1);
    put_file("config", large, OPTIONS_FILE + 1);
    assert_int_not_equal(shoal_options_read(o, "config"), SHOAL_OK);
    assert_int_not_equal(shoal_options_read(o, "nowhere"), SHOAL_OK);
    shoal_options_free(o);
    free(large);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_option_of_every_task_is_set_and_shown),
        TEST(every_option_says_what_it_wants),
        TEST(no_task_has_two_options_of_one_name),
        TEST(every_option_comes_back_from_a_checkpoint),
        TEST(what_is_of_one_process_alone_is_not_remembered),
        TEST(a_checkpoint_says_where_each_file_is),
        TEST(a_checkpoint_keeps_every_bit),
        TEST(an_option_that_decides_the_result_is_refused_by_name),
        TEST(threads_and_paths_decide_nothing),
        TEST(lines_of_a_stranger_are_refused),
        TEST(lines_that_are_no_options_are_passed_over),
        TEST(a_checkpoint_from_before_valid_at_held_out_the_end),
        TEST(a_newline_is_not_written),
        TEST(a_run_goes_on_with_the_options_of_its_last_checkpoint),
        TEST(a_folder_without_a_checkpoint_is_not_found),
        TEST(a_value_out_of_range_is_refused_with_the_range),
        TEST(what_is_no_option_is_refused),
        TEST(options_that_do_not_go_together_are_refused),
        TEST(a_file_of_lines_sets_options),
        TEST(a_json_object_sets_options),
        TEST(a_wrong_file_is_refused_with_its_line),
        TEST(a_file_that_is_no_text_is_refused),
    };

    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
