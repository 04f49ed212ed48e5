/* VGGs from pictures to answers: training, resuming, files, other programs' weights. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "samples/samples.h"
#include "saved/net/score.h"
#include "folder.h"
#include "training.h"

#include <png.h>

enum { PICTURES = 96, CLASSES = 3 };

/* ---- pictures that can be learnt: each class has a colour of its own ---- */

static void put_picture(const char *path, size_t label, uint64_t seed)
{
    png_image image = {.version = PNG_IMAGE_VERSION, .width = 10, .height = 9};
    uint8_t at[90 * 3];

    image.format = PNG_FORMAT_RGB;
    for (size_t i = 0; i < sizeof at; i++)
        at[i] = (uint8_t)(rng_at(seed, 1, i) % 128 + (i % 3 == label ? 120 : 0));
    assert_true(png_image_write_to_file(&image, path, 0, at, 0, NULL));
}

static void put_set(const char *folder, size_t pictures, uint64_t seed)
{
    static const char *const names[] = {"red", "green", "blue"};
    char path[128];

    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t c = 0; c < CLASSES; c++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[c]);
        assert_int_equal(mkdir(path, 0700), 0);
        for (size_t i = 0; i < pictures / CLASSES; i++) {
            snprintf(path, sizeof path, "%s/%s/%zu.png", folder, names[c], i);
            put_picture(path, c, seed + c * 1000 + i);
        }
    }
}

static shoal_images *opened(const char *path)
{
    struct shoal_images_opts opts = shoal_images_default();
    shoal_images *set;

    opts.size = 8;
    if (shoal_images_open(&set, path, &opts) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return set;
}

static struct train_opts small(unsigned epochs)
{
    struct train_opts o = task_defaults("vgg");

    o.base = 16;
    o.crop = 1;
    o.lr = 0.02;
    o.warmup = 0;
    o.batch = 20; /* which leaves a smaller one at the end */
    o.epochs = epochs;
    o.threads = 2;
    return o;
}

static shoal_net *trained(const shoal_images *data, const shoal_images *test,
                          const struct train_opts *o, struct shoal_train_stats *stats)
{
    shoal_net *net;

    if (train_vgg(&net, data, test, o, stats) != SHOAL_OK)
        fail_msg("%s", shoal_error());
    return net;
}

static void assert_same_net(const shoal_net *a, const shoal_net *b)
{
    assert_true(a->net->ntensors > 0);
    assert_int_equal(a->net->ntensors, b->net->ntensors);
    for (size_t i = 0; i < a->net->ntensors; i++) {
        const struct tensor *x = &a->net->tensors[i], *y = &b->net->tensors[i];

        assert_string_equal(x->name, y->name);
        assert_int_equal(x->size, y->size);
        if (memcmp(a->params + x->at, b->params + y->at, x->size * sizeof *a->params) != 0)
            fail_msg("%s differs", x->name);
    }
}

static shoal_status predict_picture(const shoal_net *net, const char *path, float *y)
{
    size_t done;

    return shoal_net_predict_pictures(net, &path, 1, y, &done);
}

static size_t likeliest(const float *y)
{
    return y[0] > y[1] && y[0] > y[2] ? 0 : y[1] > y[2] ? 1 : 2;
}

/* ---- truths ---- */

/* More files than go through the net at once, one that is none among them. */
static void check_together(const shoal_net *net, const float *green)
{
    enum { FILES = 70 };
    const char *paths[FILES];
    float *y = malloc(FILES * CLASSES * sizeof *y);
    size_t done;

    assert_non_null(y);
    for (size_t i = 0; i < FILES; i++)
        paths[i] = "new.png";
    assert_int_equal(shoal_net_predict_pictures(net, paths, FILES, y, &done), SHOAL_OK);
    assert_int_equal(done, FILES);
    for (size_t i = 0; i < FILES * CLASSES; i++)
        assert_true(fabsf(y[i] - green[i % CLASSES]) < 1e-5f);
    paths[67] = "none.png";
    assert_int_equal(shoal_net_predict_pictures(net, paths, FILES, y, &done), SHOAL_ENOENT);
    assert_error_has("none.png");
    assert_int_equal(done, 67);
    free(y);
}

static void a_net_learns_colours_and_names_them(void **state)
{
    struct train_opts o = small(6);
    struct shoal_train_stats stats;
    struct net_score score = {0};
    const uint64_t *confusion;
    uint64_t diagonal = 0, all = 0;
    double accuracy;
    shoal_images *data, *test;
    shoal_net *net, *again;
    float y[CLASSES];
    char name[32];

    (void)state;
    put_set("train", PICTURES, 1);
    put_set("test", 30, 99);
    data = opened("train");
    test = opened("test");
    net = trained(data, test, &o, &stats);
    assert_true(validation(&stats.figures, "accuracy") > 0.9);
    assert_int_equal(shoal_net_save(net, "m.shoal"), SHOAL_OK);
    assert_int_equal(shoal_net_open(&again, "m.shoal"), SHOAL_OK);
    assert_same_net(net, again);

    assert_int_equal(classes_new(&score.classes, CLASSES), SHOAL_OK);
    assert_int_equal(net_score_images(&score, again, test), SHOAL_OK);
    assert_int_equal(score.n, 30);
    accuracy = score.right / 30;
    confusion = classes_matrix(score.classes);
    assert_true(fabs(accuracy - validation(&stats.figures, "accuracy")) < 1e-9);
    assert_true(fabs(score.loss / 30 - validation(&stats.figures, "loss")) < 1e-4);
    for (size_t i = 0; i < CLASSES * CLASSES; i++) {
        all += confusion[i];
        diagonal += i % (CLASSES + 1) == 0 ? confusion[i] : 0;
    }
    assert_int_equal(all, 30);
    assert_true(fabs((double)diagonal / 30 - accuracy) < 1e-9);
    classes_free(score.classes);

    put_picture("new.png", 1, 12345); /* green, which is class 1 of blue, green, red */
    assert_int_equal(predict_picture(again, "new.png", y), SHOAL_OK);
    assert_int_equal(likeliest(y), 1);
    shoal_net_class(again, 1, name, sizeof name);
    assert_string_equal(name, "green");
    assert_true(fabsf(y[0] + y[1] + y[2] - 1) < 1e-5f);
    check_together(again, y);
    shoal_net_close(net);
    shoal_net_close(again);
    shoal_images_close(data);
    shoal_images_close(test);
}

static void large_pictures_are_asked_about_in_smaller_parts(void **state)
{
    static const char *const specs[] = {
        "vgg depth=11 bn=1 base=16 channels=3 height=8 width=8 hidden=0 dropout=0 outputs=3 sync=0",
        "vgg depth=19 bn=1 base=64 channels=3 height=224 width=224 hidden=0 dropout=0 outputs=3 "
        "sync=0",
    };
    size_t most[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct shoal_net t = {0};

        assert_int_equal(net_new(&t.net, specs[i]), SHOAL_OK);
        most[i] = asker_fit(&t, 64);
        net_free(t.net);
    }
    assert_int_equal(most[0], 64);
    assert_in_range(most[1], 1, 8);
}

static void training_again_gives_the_same_bytes_on_any_threads(void **state)
{
    struct train_opts o = small(2);
    shoal_images *data;
    shoal_net *a, *b;

    (void)state;
    put_set("train", PICTURES, 1);
    data = opened("train");
    o.dropout = 0.3;
    a = trained(data, NULL, &o, NULL);
    o.threads = 1;
    b = trained(data, NULL, &o, NULL);
    assert_same_net(a, b);
    shoal_net_close(a);
    shoal_net_close(b);
    shoal_images_close(data);
}

/* The losses part by what rounding to 8 bits does, and what was learnt answers in
 * floats, so that no other machine needs AMX. */
static void bf16_learns_the_same(void **state)
{
    struct train_opts o = small(6);
    struct shoal_train_stats stats[3];
    struct net_score score = {0};
    shoal_images *data, *test;
    shoal_net *net[3];
    double loss[2];
    const struct kernel_tiles *tiles;

    (void)state;
    o.dtype = SHOAL_BF16;
    if (kernel_tiles_choose(&tiles) != SHOAL_OK) {
        print_message("%s\n", shoal_error());
        skip();
    }
    put_set("train", PICTURES, 1);
    put_set("test", 30, 99);
    data = opened("train");
    test = opened("test");
    net[0] = trained(data, test, &o, &stats[0]);
    o.threads = 1;
    net[1] = trained(data, test, &o, &stats[1]);
    o.dtype = SHOAL_F32;
    net[2] = trained(data, test, &o, &stats[2]);
    assert_same_net(net[0], net[1]);
    loss[0] = training(&stats[0].figures, "loss");
    loss[1] = training(&stats[2].figures, "loss");
    assert_true(loss[0] != loss[1]);
    assert_true(fabs(loss[0] - loss[1]) < 0.1);
    assert_true(validation(&stats[0].figures, "accuracy") > 0.9);
    setenv("SHOAL_ISA", "avx2", 1);
    assert_int_equal(net_score_images(&score, net[0], test), SHOAL_OK);
    unsetenv("SHOAL_ISA");
    assert_true(score.right / (double)score.n > 0.9);
    for (size_t i = 0; i < 3; i++)
        shoal_net_close(net[i]);
    shoal_images_close(data);
    shoal_images_close(test);
}

static bool stop_late(void *user, const struct shoal_report *r)
{
    (void)user;
    return r->event != SHOAL_EVENT_CHECKPOINT || r->epoch < 2;
}

static void a_run_that_was_stopped_goes_on_to_the_same_bytes(void **state)
{
    struct train_opts o = small(3);
    shoal_images *data;
    shoal_net *whole, *rest;

    (void)state;
    put_set("train", PICTURES, 1);
    data = opened("train");
    whole = trained(data, NULL, &o, NULL);
    o.checkpoint = "saved";
    o.every.unit = SHOAL_EVERY_EPOCH;
    o.report = stop_late;
    assert_int_equal(train_vgg(&rest, data, NULL, &o, NULL), SHOAL_ESTOP);
    o.report = NULL;
    o.resume = true;
    rest = trained(data, NULL, &o, NULL);
    assert_same_net(whole, rest);
    shoal_net_close(whole);
    shoal_net_close(rest);
    shoal_images_close(data);
}

/* A checkpoint remembers where its pictures are from any folder; the run that goes on may
 * have found them by a shorter path. */
static void pictures_are_the_same_by_any_path_to_their_folder(void **state)
{
    struct train_opts o = small(3);
    shoal_images *data, *again;
    char path[256];
    shoal_net *net;

    put_set("train", PICTURES, 1);
    data = opened("train");
    snprintf(path, sizeof path, "%s/train", (const char *)*state);
    again = opened(path);
    o.checkpoint = "saved";
    o.every.unit = SHOAL_EVERY_EPOCH;
    o.report = stop_late;
    assert_int_equal(train_vgg(&net, data, NULL, &o, NULL), SHOAL_ESTOP);
    o.report = NULL;
    o.resume = true;
    shoal_net_close(trained(again, NULL, &o, NULL));
    shoal_images_close(data);
    shoal_images_close(again);
}

static void weights_travel_as_safetensors(void **state)
{
    struct train_opts o = small(1);
    shoal_images *data;
    shoal_net *net, *back, *on;
    float a[CLASSES], b[CLASSES];
    char name[32];

    (void)state;
    put_set("train", PICTURES, 1);
    put_picture("new.png", 2, 5);
    data = opened("train");
    net = trained(data, NULL, &o, NULL);
    assert_int_equal(shoal_net_export(net, "w.safetensors"), SHOAL_OK);
    assert_int_equal(shoal_net_import(&back, "w.safetensors", 32), SHOAL_OK);
    assert_same_net(net, back);
    assert_string_equal(net->net->spec, back->net->spec);
    shoal_net_class(back, 2, name, sizeof name);
    assert_string_equal(name, "red");
    assert_int_equal(predict_picture(net, "new.png", a), SHOAL_OK);
    assert_int_equal(predict_picture(back, "new.png", b), SHOAL_OK);
    for (size_t i = 0; i < CLASSES; i++)
        assert_true(fabsf(a[i] - b[i]) < 1e-5f);
    /* They may be where a training begins. */
    o.start = "w.safetensors";
    on = trained(data, NULL, &o, NULL);
    shoal_net_close(on);
    o.base = 32;
    assert_int_equal(train_vgg(&on, data, NULL, &o, NULL), SHOAL_EFORMAT);
    assert_error_has("features.0.weight is 16 x 3 x 3 x 3, want 32 x 3 x 3 x 3");
    shoal_net_close(net);
    shoal_net_close(back);
    shoal_images_close(data);
}

/* As another program writes them, without our metadata. */
static void a_vgg_is_recognised_by_its_tensors(void **state)
{
    struct train_opts o = small(1);
    shoal_images *data;
    shoal_net *net, *back;
    size_t len;
    char *bytes, *meta;

    (void)state;
    put_set("train", PICTURES, 1);
    data = opened("train");
    net = trained(data, NULL, &o, NULL);
    assert_int_equal(shoal_net_export(net, "w.safetensors"), SHOAL_OK);
    bytes = get_file("w.safetensors", &len);
    meta = memmem(bytes, len, "\"spec\"", 6);
    assert_non_null(meta);
    memcpy(meta, "\"cpes\"", 6);
    put_file("other.safetensors", bytes, len);
    assert_int_equal(shoal_net_import(&back, "other.safetensors", 8), SHOAL_OK);
    assert_string_equal(net->net->spec, back->net->spec);
    shoal_net_close(back);
    assert_int_equal(shoal_net_import(&back, "other.safetensors", 64), SHOAL_EFORMAT);
    assert_error_has("classifier.weight");
    memcpy(memmem(bytes, len, "features.0.weight", 17), "features.Q.weight", 17);
    put_file("other.safetensors", bytes, len);
    assert_int_equal(shoal_net_import(&back, "other.safetensors", 8), SHOAL_EFORMAT);
    assert_error_has("found features.Q.weight of 16 x 3 x 3 x 3, want a VGG");
    put_file("other.safetensors", bytes, len / 2);
    assert_int_not_equal(shoal_net_import(&back, "other.safetensors", 8), SHOAL_OK);
    assert_null(back);
    free(bytes);
    shoal_net_close(net);
    shoal_images_close(data);
}

static void what_does_not_fit_is_refused(void **state)
{
    struct train_opts o = small(1);
    shoal_images *data;
    shoal_net *net;

    (void)state;
    put_set("train", PICTURES, 1);
    data = opened("train");
    o.depth = 12;
    assert_int_equal(train_vgg(&net, data, NULL, &o, NULL), SHOAL_EINVAL);
    assert_error_has("vgg: depth is 12, want 11, 13, 16 or 19");
    assert_non_null(strstr(option_refused("vgg", "depth", "12"), "--depth is '12', want"));
    assert_non_null(strstr(option_refused("vgg", "dropout", "1"), "--dropout is '1', want"));
    assert_non_null(strstr(option_refused("vgg", "base", "24"), "--base is 24 channels, want"));
    assert_non_null(strstr(option_refused("vgg", "dtype", "f16"), "--dtype is 'f16', want"));
    shoal_images_close(data);
}

static void the_plan_counts_what_will_be_used(void **state)
{
    struct train_opts o = small(1);
    struct shoal_train_plan plan;
    shoal_images *data;

    (void)state;
    put_set("train", PICTURES, 1);
    data = opened("train");
    assert_int_equal(run_plan(task_find("vgg"), &o, &(struct shoal_sources){.images = data}, &plan),
                     SHOAL_OK);
    assert_int_equal(plan.examples + plan.held_out, PICTURES);
    assert_true(plan.parameters > 500000 && plan.parameters < 700000);
    assert_true(plan.memory_bytes > plan.parameters * 12);
    shoal_images_close(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HERE(a_net_learns_colours_and_names_them),
        HERE(large_pictures_are_asked_about_in_smaller_parts),
        HERE(training_again_gives_the_same_bytes_on_any_threads),
        HERE(bf16_learns_the_same),
        HERE(a_run_that_was_stopped_goes_on_to_the_same_bytes),
        HERE(pictures_are_the_same_by_any_path_to_their_folder),
        HERE(weights_travel_as_safetensors),
        HERE(a_vgg_is_recognised_by_its_tensors),
        HERE(what_does_not_fit_is_refused),
        HERE(the_plan_counts_what_will_be_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
