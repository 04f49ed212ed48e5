/* One driver for every task: each trains, tells its figures by name, stops and goes on to the
 * same bytes, refuses to become another run, and says when it diverges. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scratch.h"
#include "training.h"

enum { TASKS = 6, PICTURES = 48, CLASSES = 3, EPOCHS = 3 };

static struct {
    shoal_corpus *corpus;
    shoal_vectors *vectors;
    shoal_clicks *rows;
    shoal_samples *samples;
    shoal_images *images;
} of;

/* ---- data: little of each kind ---- */

static shoal_status make_words(void)
{
    struct shoal_world_opts world = shoal_world_default();
    struct shoal_encode_opts encode = shoal_encode_default();
    struct train_opts o = task_defaults("cbow");
    const char *text = scratch_path("world.txt"), *path = scratch_path("world.shoal");
    shoal_status st;

    world.words = 30000;
    o.dim = 8;
    o.epochs = 1;
    o.threads = 1;
    st = shoal_world_write(text, NULL, &world, NULL);
    if (st == SHOAL_OK)
        st = shoal_encode(path, &text, 1, &encode, NULL);
    if (st == SHOAL_OK)
        st = shoal_corpus_open(&of.corpus, path);
    return st == SHOAL_OK ? train_words(&of.vectors, of.corpus, &o, NULL) : st;
}

static shoal_status make_rows(void)
{
    struct shoal_gen_clicks_opts gen = shoal_gen_clicks_default();
    struct shoal_clicks_opts read = shoal_clicks_default();
    const char *path = scratch_path("rows.tsv");
    shoal_status st;

    gen.rows = 4000;
    read.bits = 14;
    st = shoal_gen_clicks(path, &gen, NULL);
    return st == SHOAL_OK ? shoal_clicks_read(&of.rows, &path, 1, &read, NULL) : st;
}

static shoal_status make_samples(void)
{
    struct shoal_shapes_opts shapes = shoal_shapes_default(SHOAL_SPIRAL);
    struct shoal_samples_opts read = shoal_samples_default();
    const char *path = scratch_path("spiral.csv");
    shoal_status st;

    shapes.samples = 900;
    st = shoal_shapes_write(path, &shapes);
    return st == SHOAL_OK ? shoal_samples_open(&of.samples, path, &read) : st;
}

/* Grey pictures as an IDX pair; a class is known by its bright lines. */
static shoal_status make_images(void)
{
    static uint8_t pixels[16 + PICTURES * 64] = {0, 0, 8, 3, 0, 0, 0, PICTURES,
                                                 0, 0, 0, 8, 0, 0, 0, 8};
    static uint8_t labels[8 + PICTURES] = {0, 0, 8, 1, 0, 0, 0, PICTURES};
    struct shoal_images_opts opts = shoal_images_default();

    for (size_t i = 0; i < PICTURES; i++) {
        labels[8 + i] = (uint8_t)(i % CLASSES);
        for (size_t p = 0; p < 64; p++)
            pixels[16 + i * 64 + p] =
                (uint8_t)(rng_at(3, i, p) % 150 + (p / 8 % CLASSES == i % CLASSES ? 90 : 0));
    }
    scratch_put("train-images-idx3-ubyte", pixels, sizeof pixels);
    scratch_put("train-labels-idx1-ubyte", labels, sizeof labels);
    return shoal_images_open(&of.images, scratch_path("."), &opts);
}

static int setup(void **state)
{
    if (scratch_setup(state) != 0)
        return -1;
    if (make_words() == SHOAL_OK && make_rows() == SHOAL_OK && make_samples() == SHOAL_OK &&
        make_images() == SHOAL_OK)
        return 0;
    print_error("%s\n", shoal_error());
    return -1;
}

static int teardown(void **state)
{
    shoal_vectors_close(of.vectors);
    shoal_corpus_close(of.corpus);
    shoal_clicks_close(of.rows);
    shoal_samples_close(of.samples);
    shoal_images_close(of.images);
    return scratch_teardown(state);
}

/* ---- the tasks ---- */

static void tune_words(struct train_opts *o)
{
    o->dim = 12;
    o->valid = 0.02;
    o->deterministic = true;
    o->lanes = 3;
}

static void tune_rows(struct train_opts *o)
{
    o->valid = 0.1;
    o->deterministic = true;
}

static void tune_samples(struct train_opts *o)
{
    o->layers = "8";
    o->valid = 0.1;
}

static void tune_windows(struct train_opts *o)
{
    o->length = 2;
    o->hidden = 8;
    o->asked = 64;
    o->batch = 256;
    o->valid = 0.1;
}

static void tune_pictures(struct train_opts *o)
{
    o->base = 16;
    o->crop = 1;
    o->batch = 10;
    o->lr = 0.02;
    o->warmup = 0;
    o->valid = 0.25;
}

static void too_fast_words(struct train_opts *o)
{
    o->lr = 10;
    o->epochs = 20;
    o->schedule = SHOAL_CONSTANT;
}

static void too_fast_net(struct train_opts *o)
{
    o->optimizer = OPTIMIZER_SGD;
    o->lr = 1e6;
    o->epochs = 50;
    o->schedule = SHOAL_CONSTANT;
}

static void too_fast_rows(struct train_opts *o)
{
    o->optimizer = OPTIMIZER_SGD;
    o->lr = 1e6;
    o->epochs = 20;
    o->schedule = SHOAL_CONSTANT;
}

static void other_window(struct train_opts *o)
{
    o->window++;
}

static void other_l1(struct train_opts *o)
{
    o->l1 = 2;
}

static void other_layers(struct train_opts *o)
{
    o->layers = "9";
}

static void other_length(struct train_opts *o)
{
    o->length = 3;
}

static void other_crop(struct train_opts *o)
{
    o->crop = 2;
}

static const struct subject {
    const char *task, *kind, *unit;
    void (*tune)(struct train_opts *o);
    void (*too_fast)(struct train_opts *o); /* diverges */
    void (*other)(struct train_opts *o);    /* one option that decides the result, */
    const char *refused;                    /* and what is said of it */
    const char *training[8], *validation[8]; /* figures */
} subjects[TASKS] = {
    {"cbow", "vectors", "words", tune_words, too_fast_words, other_window,
     "window is 5 there, 6 here", {"loss"}, {"loss"}},
    {"skipgram", "vectors", "words", tune_words, too_fast_words, other_window,
     "window is 5 there, 6 here", {"loss"}, {"loss"}},
    {"logreg", "logreg", "rows", tune_rows, too_fast_rows, other_l1, "l1 is 0 there, 2 here",
     {"loss"}, {"loss", "auc", "accuracy", "calibration", "brier", "base_rate", "examples"}},
    {"mlp", "net", "samples", tune_samples, too_fast_net, other_layers,
     "layers is 8 there, 9 here", {"loss", "accuracy"}, {"loss", "accuracy"}},
    {"nextword", "nextword", "windows", tune_windows, too_fast_net, other_length,
     "length is 2 there, 3 here",
     {"loss", "mse", "rmse", "mae", "cosine", "word_top1", "word_top5", "word_top10"},
     {"loss", "mse", "rmse", "mae", "cosine", "word_top1", "word_top5", "word_top10"}},
    {"vgg", "net", "images", tune_pictures, too_fast_net, other_crop, "crop is 1 there, 2 here",
     {"loss", "accuracy"}, {"loss", "accuracy"}},
};

/* Each task finds what it takes. */
static struct shoal_sources sources(void)
{
    return (struct shoal_sources){.corpus = of.corpus, .vectors = of.vectors, .rows = of.rows,
                                  .samples = of.samples, .images = of.images};
}

static struct train_opts opts_of(const struct subject *s)
{
    struct train_opts o = task_defaults(s->task);

    o.epochs = EPOCHS;
    o.threads = 2;
    s->tune(&o);
    return o;
}

/* Vectors are what nextword learns from; cbow and skipgram would begin with them. */
static struct shoal_sources sources_of(const struct subject *s)
{
    struct shoal_sources data = sources();

    if (strcmp(s->task, "nextword") != 0)
        data.vectors = NULL;
    return data;
}

static shoal_status run(const struct subject *s, const struct train_opts *o, shoal_model **model,
                        struct shoal_train_stats *stats)
{
    struct shoal_sources data = sources_of(s);

    return run_task(task_find(s->task), o, &data, model, stats);
}

static shoal_model *trained(const struct subject *s, const struct train_opts *o,
                            struct shoal_train_stats *stats)
{
    shoal_model *model = NULL;

    if (run(s, o, &model, stats) != SHOAL_OK)
        fail_msg("%s: %s", s->task, shoal_error());
    assert_non_null(model);
    return model;
}

/* ---- training ---- */

/* What was told, from the first report to the last. */
struct heard {
    unsigned epochs, checkpoints, done;
    double progress, first, last; /* the loss of the first and of the last epoch */
    uint64_t examples;
};

static bool hear(void *user, const struct shoal_report *r)
{
    struct heard *t = user;

    assert_true(r->progress >= t->progress && r->progress <= 1);
    assert_true(r->examples >= t->examples && r->epochs == EPOCHS);
    assert_int_equal(t->done, 0); /* nothing follows it */
    t->progress = r->progress;
    t->examples = r->examples;
    t->checkpoints += r->event == SHOAL_EVENT_CHECKPOINT;
    t->done += r->event == SHOAL_EVENT_DONE;
    if (r->event != SHOAL_EVENT_EPOCH)
        return true;
    t->last = training(&r->figures, "loss");
    t->first = t->epochs == 0 ? t->last : t->first;
    assert_int_equal(r->epoch, ++t->epochs);
    return true;
}

static void assert_told(const struct subject *s, const struct heard *t,
                        const struct shoal_train_stats *stats)
{
    assert_int_equal(t->epochs, EPOCHS);
    assert_int_equal(t->done, 1);
    assert_true(t->progress == 1 && t->examples == stats->examples && stats->examples > 0);
    assert_int_equal(t->checkpoints, stats->checkpoints);
    assert_int_equal(t->checkpoints, EPOCHS);
    if (!(t->last < t->first))
        fail_msg("%s: the loss went from %g to %g", s->task, t->first, t->last);
    assert_string_equal(stats->unit, s->unit);
    assert_false(stats->resumed || stats->enough);
}

static void assert_figures(const struct subject *s, const struct shoal_figures *f)
{
    for (size_t i = 0; i < 8 && s->training[i]; i++)
        if (isnan(training(f, s->training[i])))
            fail_msg("%s: no %s of what it learned from", s->task, s->training[i]);
    for (size_t i = 0; i < 8 && s->validation[i]; i++)
        if (isnan(validation(f, s->validation[i])))
            fail_msg("%s: no %s of what is held out", s->task, s->validation[i]);
    assert_true(isnan(training(f, "no such thing")));
}

static void every_task_learns_and_tells_its_figures_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < TASKS; i++) {
        const struct subject *s = &subjects[i];
        struct train_opts o = opts_of(s);
        struct shoal_train_stats stats;
        struct heard told = {0};
        shoal_model *model;
        char folder[32];

        snprintf(folder, sizeof folder, "%s.told", s->task);
        o.report = hear, o.user = &told;
        o.checkpoint = scratch_path(folder);
        o.every.unit = SHOAL_EVERY_EPOCH;
        model = trained(s, &o, &stats);
        assert_string_equal(shoal_model_kind(model), s->kind);
        assert_told(s, &told, &stats);
        assert_figures(s, &stats.figures);
        shoal_model_close(model);
    }
}

static void nothing_held_out_is_nothing_measured(void **state)
{
    (void)state;
    for (size_t i = 0; i < TASKS; i++) {
        const struct subject *s = &subjects[i];
        struct train_opts o = opts_of(s);
        struct shoal_train_stats stats;

        o.epochs = 1;
        o.valid = 0;
        shoal_model_close(trained(s, &o, &stats));
        assert_true(!isnan(training(&stats.figures, "loss")));
        assert_true(isnan(validation(&stats.figures, "loss")));
    }
}

/* ---- stopping and going on ---- */

static void assert_same_file(const char *task, const char *a, const char *b)
{
    struct bytes x = scratch_get(a), y = scratch_get(b);

    if (x.len != y.len || memcmp(x.at, y.at, x.len) != 0)
        fail_msg("%s: %s and %s differ", task, a, b);
    bytes_fini(&x);
    bytes_fini(&y);
}

static void save_as(shoal_model *model, const char *name)
{
    assert_int_equal(shoal_model_save(model, scratch_path(name), NULL), SHOAL_OK);
    shoal_model_close(model);
}

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < TASKS; i++) {
        struct train_opts o = opts_of(&subjects[i]);

        save_as(trained(&subjects[i], &o, NULL), "two.shoal");
        o.threads = 1;
        save_as(trained(&subjects[i], &o, NULL), "one.shoal");
        assert_same_file(subjects[i].task, scratch_path("one.shoal"), scratch_path("two.shoal"));
    }
}

struct stopper {
    unsigned reports, after;
    enum shoal_event event; /* counted; DONE: any */
};

static bool stop(void *user, const struct shoal_report *r)
{
    struct stopper *s = user;

    if (r->event == SHOAL_EVENT_DONE) /* then it is through */
        return true;
    s->reports += s->event == SHOAL_EVENT_DONE || r->event == s->event;
    return s->reports < s->after;
}

/* Stops again and again, each time with other threads, until the run is through. */
static shoal_model *in_pieces(const struct subject *s, struct train_opts o, struct stopper how,
                              unsigned *stops)
{
    struct shoal_train_stats stats;
    struct stopper stopper = how;
    shoal_model *model = NULL;
    shoal_status st;

    o.report = stop, o.user = &stopper;
    *stops = 0;
    while ((st = run(s, &o, &model, &stats)) == SHOAL_ESTOP) {
        assert_null(model);
        assert_non_null(strstr(shoal_error(), "stopped on request"));
        assert_true(++*stops < 500);
        stopper = how;
        o.resume = true;
        o.threads = 1 + *stops % 2;
    }
    if (st != SHOAL_OK)
        fail_msg("%s: %s", s->task, shoal_error());
    assert_true(stats.resumed);
    return model;
}

static void check_pieces(const char *name, struct stopper how, unsigned least)
{
    for (size_t i = 0; i < TASKS; i++) {
        const struct subject *s = &subjects[i];
        struct train_opts o = opts_of(s);
        shoal_model *model;
        char folder[64];
        unsigned stops;

        snprintf(folder, sizeof folder, "%s.%s", s->task, name);
        o.report_steps = 3;
        save_as(trained(s, &o, NULL), "whole.shoal");
        o.checkpoint = scratch_path(folder);
        model = in_pieces(s, o, how, &stops);
        if (stops < least)
            fail_msg("%s: stopped %u times, want %u or more", s->task, stops, least);
        save_as(model, "pieces.shoal");
        assert_same_file(s->task, scratch_path("whole.shoal"), scratch_path("pieces.shoal"));
    }
}

static void a_run_stopped_within_epochs_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    check_pieces("within", (struct stopper){.after = 2, .event = SHOAL_EVENT_DONE}, 3);
}

/* The last time all was learned, and only the model is still to be made. */
static void a_run_stopped_after_each_epoch_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    check_pieces("after", (struct stopper){.after = 1, .event = SHOAL_EVENT_EPOCH}, EPOCHS);
}

static void stop_once(const struct subject *s, struct train_opts *o, const char *name)
{
    struct stopper stopper = {.after = 1, .event = SHOAL_EVENT_EPOCH};
    shoal_model *model = NULL;
    char folder[64];

    snprintf(folder, sizeof folder, "%s.%s", s->task, name);
    o->checkpoint = scratch_path(folder);
    o->report = stop, o->user = &stopper;
    assert_int_equal(run(s, o, &model, NULL), SHOAL_ESTOP);
    o->report = NULL;
}

static void refuse(const struct subject *s, const struct train_opts *o, const char *sentence)
{
    shoal_model *model = NULL;

    shoal_status st = run(s, o, &model, NULL);

    if ((st != SHOAL_EINVAL && st != SHOAL_EDIVERGE) || !strstr(shoal_error(), sentence))
        fail_msg("%s: found \"%s\", want \"%s\"", s->task, shoal_error(), sentence);
    assert_null(model);
}

static void an_option_that_decides_the_result_is_refused_by_its_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < TASKS; i++) {
        const struct subject *s = &subjects[i];
        struct train_opts o = opts_of(s), x;

        stop_once(s, &o, "decided");
        refuse(s, &o, "another run"); /* without resume */
        o.resume = true;
        x = o, s->other(&x);
        refuse(s, &x, s->refused);
        x = o, x.epochs = EPOCHS + 1;
        refuse(s, &x, "epochs is 3 there, 4 here");
        x = o, x.threads = 1, x.memory_limit = 0, x.report_steps = 5; /* which decide nothing */
        shoal_model_close(trained(s, &x, NULL));
    }
}

static void a_checkpoint_is_of_one_task(void **state)
{
    struct train_opts o = opts_of(&subjects[0]), other = opts_of(&subjects[1]);

    (void)state;
    stop_once(&subjects[0], &o, "one");
    other.checkpoint = o.checkpoint;
    other.resume = true;
    refuse(&subjects[1], &other, "trains cbow there, skipgram here");
}

static void a_checkpoint_tells_its_task_and_how_far_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < TASKS; i++) {
        const struct subject *s = &subjects[i];
        struct train_opts o = opts_of(s);
        struct shoal_checkpoint c;

        stop_once(s, &o, "far");
        assert_int_equal(shoal_checkpoint_read(&c, o.checkpoint), SHOAL_OK);
        assert_string_equal(c.task, s->task);
        assert_int_equal(c.epoch, 1);
        assert_true(fabs(c.progress - 1.0 / EPOCHS) < 1e-9 && c.examples > 0 && c.seconds > 0);
        assert_string_equal(option_kept(o.checkpoint, "epochs"), "3");
    }
}

/* ---- going wrong ---- */

static void divergence_of_every_task_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < TASKS; i++) {
        struct train_opts o = opts_of(&subjects[i]);

        o.deterministic = false;
        subjects[i].too_fast(&o);
        refuse(&subjects[i], &o, "diverged");
    }
}

static void what_needs_too_much_memory_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < TASKS; i++) {
        struct train_opts o = opts_of(&subjects[i]);
        shoal_model *model = NULL;

        o.memory_limit = 1000;
        assert_int_equal(run(&subjects[i], &o, &model, NULL), SHOAL_ELIMIT);
        assert_null(model);
    }
}

/* ---- files of a run ---- */

static void what_was_learned_is_published(void **state)
{
    (void)state;
    for (size_t i = 0; i < TASKS; i++) {
        const struct subject *s = &subjects[i];
        struct train_opts o = opts_of(s);
        shoal_model *model;
        char name[32];

        snprintf(name, sizeof name, "%s.shoal", s->task);
        o.publish = scratch_path(name);
        o.publish_every = 0; /* after every slice */
        shoal_model_close(trained(s, &o, NULL));
        if (shoal_model_open(&model, o.publish) != SHOAL_OK)
            fail_msg("%s: %s", s->task, shoal_error());
        assert_string_equal(shoal_model_kind(model), s->kind);
        shoal_model_close(model);
    }
}

static void metrics_begin_with_the_task_and_end_with_the_last_report(void **state)
{
    (void)state;
    for (size_t i = 0; i < TASKS; i++) {
        const struct subject *s = &subjects[i];
        struct train_opts o = opts_of(s);
        struct bytes b;
        char want[48];

        o.metrics = scratch_path("metrics.jsonl");
        shoal_model_close(trained(s, &o, NULL));
        b = scratch_get(o.metrics);
        assert_int_equal(bytes_add(&b, "", 1), SHOAL_OK);
        assert_memory_equal(b.at, "{\"event\":\"settings\"", 19);
        snprintf(want, sizeof want, "\"%s\"", s->task);
        *strchr(b.at, '\n') = '\0';
        assert_non_null(strstr(b.at, want));
        assert_non_null(strstr(b.at + strlen(b.at) + 1, "\"event\":\"done\""));
        assert_int_equal(unlink(o.metrics), 0);
        bytes_fini(&b);
    }
}

/* ---- as callers see it ---- */

static void options_by_name_and_data_become_a_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < TASKS; i++) {
        const struct subject *s = &subjects[i];
        struct shoal_sources from = sources_of(s);
        struct shoal_train_stats stats;
        shoal_options *o = NULL;
        shoal_data *data = NULL;
        shoal_model *model = NULL;
        char name[32];

        snprintf(name, sizeof name, "%s.saved.shoal", s->task);
        assert_int_equal(shoal_options_new(&o, s->task), SHOAL_OK);
        assert_int_equal(shoal_options_set(o, "epochs", "1"), SHOAL_OK);
        assert_int_equal(shoal_options_set(o, "output", scratch_path(name)), SHOAL_OK);
        assert_int_equal(shoal_data_new(&data, &from), SHOAL_OK);
        if (shoal_train(&model, o, data, NULL, &stats) != SHOAL_OK)
            fail_msg("%s: %s", s->task, shoal_error());
        assert_string_equal(shoal_model_kind(model), s->kind);
        shoal_model_close(model);
        assert_int_equal(shoal_model_open(&model, scratch_path(name)), SHOAL_OK);
        assert_string_equal(shoal_model_kind(model), s->kind);
        shoal_model_close(model);
        shoal_data_close(data);
        shoal_options_free(o);
    }
}

static void a_task_without_data_of_its_kind_is_refused(void **state)
{
    static const char *const names[] = {"cbow", "skipgram", "logreg", "mlp", "nextword", "vgg"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct train_opts o = task_defaults(names[i]);
        struct shoal_train_plan plan;
        shoal_model *m = NULL;

        assert_int_equal(run_task(task_find(names[i]), &o, &(struct shoal_sources){0}, &m, NULL),
                         SHOAL_EINVAL);
        assert_non_null(strstr(shoal_error(), "found no data of its kind, want "));
        assert_null(m);
        assert_int_equal(run_plan(task_find(names[i]), &o, &(struct shoal_sources){0}, &plan),
                         SHOAL_EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_without_data_of_its_kind_is_refused),
        cmocka_unit_test(every_task_learns_and_tells_its_figures_by_name),
        cmocka_unit_test(nothing_held_out_is_nothing_measured),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(a_run_stopped_within_epochs_goes_on_to_the_same_bytes),
        cmocka_unit_test(a_run_stopped_after_each_epoch_goes_on_to_the_same_bytes),
        cmocka_unit_test(an_option_that_decides_the_result_is_refused_by_its_name),
        cmocka_unit_test(a_checkpoint_is_of_one_task),
        cmocka_unit_test(a_checkpoint_tells_its_task_and_how_far_it_is),
        cmocka_unit_test(divergence_of_every_task_is_told),
        cmocka_unit_test(what_needs_too_much_memory_is_refused),
        cmocka_unit_test(what_was_learned_is_published),
        cmocka_unit_test(metrics_begin_with_the_task_and_end_with_the_last_report),
        cmocka_unit_test(options_by_name_and_data_become_a_file),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
