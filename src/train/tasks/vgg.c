/* VGGs on pictures: the net that fits them, what it is given, and what it gives. */
#include "eval/eval.h"
#include "saved/saved.h"
#include "train/dense/net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPLIT_STREAM = 0x51177 };

struct vgg_task {
    const shoal_images *data, *test; /* test: NULL, or what is measured */
    const struct train_opts *opts;
    uint32_t *ids; /* [data->count] those to learn from, then those held out */
    float mean[3], std[3];
    struct feed *feed, *plain; /* augmented pictures to learn from; others to measure */
    uint32_t *next;            /* [batch] ids of the take that comes next */
    size_t batch;              /* pictures that this rank takes at once, at most */
};

/* ---- pictures ---- */

/* Ids of the samples to learn from, or held out, as the data has them. */
static void map_ids(const struct run *r, const struct net_take *take, uint32_t *ids)
{
    const struct vgg_task *v = r->own;
    const uint32_t *from = take->valid ? v->ids + r->dense->train : v->ids;

    for (size_t i = 0; i < take->n; i++)
        ids[i] = take->valid && v->test ? take->ids[i] : from[take->ids[i]];
}

static struct feed *feed_of(const struct vgg_task *v, const struct net_take *take)
{
    return take->valid ? v->plain : v->feed;
}

static shoal_status fill(const struct run *r, const struct net_take *take, float *x,
                         uint32_t *label, float *y)
{
    (void)y;
    map_ids(r, take, label);
    return image_feed_fill(feed_of(r->own, take), label, take->n, take->epoch, x, label);
}

static void ahead(const struct run *r, const struct net_take *take)
{
    const struct vgg_task *v = r->own;

    if (take->n > v->batch)
        return;
    map_ids(r, take, v->next);
    image_feed_ahead(feed_of(v, take), v->next, take->n, take->epoch);
}

/* ---- opening ---- */

static shoal_status check_test(const struct vgg_task *v)
{
    const shoal_images *d = v->data, *t = v->test;

    if (d->classes < 2)
        return shoal_fail(SHOAL_EINVAL, "vgg: all pictures are of one class, want two or more");
    if (!t)
        return SHOAL_OK;
    if (t->channels != d->channels || t->height != d->height || t->width != d->width)
        return shoal_fail(
            SHOAL_EINVAL,
            "vgg: pictures for testing are %u x %u in %u channels, want %u x %u in %u", t->width,
            t->height, t->channels, d->width, d->height, d->channels);
    for (size_t i = 0; i < t->count; i++)
        if (t->labels[i] >= d->classes)
            return shoal_fail(SHOAL_EINVAL,
                              "vgg: a picture for testing is of class %u, want less than %zu",
                              t->labels[i], d->classes);
    return SHOAL_OK;
}

static shoal_status make_net(const struct vgg_task *v, struct net **net)
{
    const struct train_opts *o = v->opts;
    const shoal_images *d = v->data;
    char spec[NET_SPEC];
    shoal_status st;

    number_print(spec, sizeof spec,
                 "vgg depth=%u bn=%d base=%u channels=%u height=%u width=%u hidden=%u dropout=%g "
                 "outputs=%zu sync=%d",
                 o->depth, o->batch_norm, o->base, d->channels, d->height, d->width, o->hidden,
                 o->dropout, d->classes, o->sync_bn);
    st = net_new(net, spec);
    if (st == SHOAL_OK)
        (*net)->bf16 = o->dtype == SHOAL_BF16;
    return st;
}

static struct image_feed_opts feed_opts_of(const struct vgg_task *v, bool training)
{
    struct image_feed_opts f = {.batch = v->batch,
                                .seed = v->opts->seed,
                                .pad = training ? v->opts->crop : 0,
                                .flip = training && v->opts->flip,
                                .threads = 1};

    memcpy(f.mean, v->mean, sizeof f.mean);
    memcpy(f.std, v->std, sizeof f.std);
    if (!v->data->pixels) /* decoding takes longer than a net of this size computes */
        f.threads = ranks_threads(v->opts->ranks, v->opts->threads);
    f.threads = f.threads < IMAGE_FEED_MAX_THREADS ? f.threads : IMAGE_FEED_MAX_THREADS;
    return f;
}

static shoal_status vgg_plan(struct run *r, struct shoal_train_plan *plan)
{
    struct vgg_task *v = r->own = mem_array(1, sizeof *v);
    size_t workers = opts_sharing(r->opts), train;
    struct image_feed_opts f;
    shoal_status st;

    if (!v)
        return SHOAL_ENOMEM;
    *v = (struct vgg_task){.data = r->data->images, .test = r->data->test_images, .opts = r->opts};
    st = check_test(v);
    if (st == SHOAL_OK)
        st = make_net(v, &r->dense->net);
    if (st == SHOAL_OK)
        st = net_split(r, &v->ids, v->data->count, v->test ? v->test->count : 0, SPLIT_STREAM);
    if (st != SHOAL_OK)
        return st;
    train = r->dense->train;
    v->batch = workers > 0 ? (net_batch_size(r->opts) + workers - 1) / workers : 1;
    v->batch = v->batch < train ? v->batch : train;
    f = feed_opts_of(v, true);
    plan->work_bytes = 2 * image_feed_bytes(v->data, &f);
    return net_plan(r, plan);
}

/* ---- training ---- */

/* The threads that prepare start here. */
static shoal_status open_feeds(struct vgg_task *v)
{
    struct image_feed_opts training, plain;
    shoal_status st = images_moments(v->data, v->opts->threads, v->mean, v->std);

    if (st != SHOAL_OK)
        return st;
    training = feed_opts_of(v, true);
    plain = feed_opts_of(v, false);
    v->next = mem_array(v->batch, sizeof *v->next);
    st = v->next ? image_feed_new(&v->feed, v->data, &training) : SHOAL_ENOMEM;
    return st == SHOAL_OK ? image_feed_new(&v->plain, v->test ? v->test : v->data, &plain) : st;
}

static shoal_status vgg_start(struct run *r, float *params)
{
    const struct net *net = r->dense->net;
    const char *path = r->opts->start;
    shoal_net *old;
    shoal_status st;

    if (!container_sniff(path))
        return net_load_tensors(net, params, path);
    st = shoal_net_open(&old, path);
    if (st != SHOAL_OK)
        return st;
    st = net_copy_tensors(net, params, old, path);
    shoal_net_close(old);
    return st;
}

/* A checkpoint goes on with the same pictures, seen in the same way. */
static shoal_status vgg_open(struct run *r)
{
    struct vgg_task *v = r->own;

    r->identity.fingerprint = images_fingerprint(v->data);
    return open_feeds(v);
}

static void vgg_close(struct run *r)
{
    struct vgg_task *v = r->own;

    if (!v)
        return;
    image_feed_free(v->feed);
    image_feed_free(v->plain);
    free(v->next);
    free(v->ids);
    free(v);
}

/* ---- the result ---- */

/* What a pixel of 0 to 255 becomes, for each of the net's inputs. */
static shoal_status give_scaling(shoal_net *t, const struct vgg_task *v)
{
    size_t area = (size_t)v->data->height * v->data->width;
    shoal_status st = scaling_init(&t->in, t->net->inputs);

    for (size_t i = 0; st == SHOAL_OK && i < t->in.n; i++) {
        t->in.mean[i] = 255 * v->mean[i / area];
        t->in.inverse[i] = 1 / (255 * v->std[i / area]);
    }
    return st;
}

static shoal_status add_facts(shoal_net *t, const struct vgg_task *v)
{
    const struct train_opts *o = v->opts;
    char key[32];
    shoal_status st =
        saved_net_fact(t, "augmented", "crop %u, flip %s", o->crop, o->flip ? "yes" : "no");

    if (st == SHOAL_OK && o->dtype == SHOAL_BF16)
        st = saved_net_fact(t, "multiplied", "bf16");
    for (size_t i = 0; i < v->data->classes && st == SHOAL_OK; i++) {
        snprintf(key, sizeof key, "class.%zu", i);
        st = saved_net_fact(t, key, "%s", v->data->names[i]);
    }
    return st;
}

static shoal_status vgg_give(struct run *r, shoal_net *t)
{
    shoal_status st = give_scaling(t, r->own);

    if (st == SHOAL_OK)
        st = net_task_facts(t, r);
    return st == SHOAL_OK ? add_facts(t, r->own) : st;
}

/* ---- what was learned ---- */

enum {
    WRONG = 24,        /* pictures that are shown, */
    THUMBNAIL = 48,    /* of at most so many pixels a side */
};

/* The surest of those that were told wrong, into which [WRONG]; gives how many. */
static size_t surely_wrong(const struct predictions *p, size_t *which)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        size_t at = n;

        if (p->best[i] == p->label[i])
            continue;
        while (at > 0 && p->sure[i] > p->sure[which[at - 1]])
            at--;
        if (at == WRONG)
            continue;
        n += n < WRONG;
        memmove(which + at + 1, which + at, (n - at - 1) * sizeof *which);
        which[at] = i;
    }
    return n;
}

/* One of those that were asked about, as a small PNG. */
static shoal_status add_picture(const struct run *r, struct learned *l, struct exhibit *e,
                                const struct predictions *p, size_t i)
{
    const struct vgg_task *v = r->own;
    const shoal_images *set = l->held && v->test ? v->test : v->data;
    size_t at = learned_pick(i, l->examples, l->all);
    uint8_t *pixels = mem_array(images_pixels(set), 1);
    struct bytes png = {0};
    shoal_status st = pixels ? SHOAL_OK : SHOAL_ENOMEM;

    if (set == v->data)
        at = v->ids[l->held ? r->dense->train + at : at];
    if (st == SHOAL_OK)
        st = images_read_one(set, at, pixels);
    if (st == SHOAL_OK)
        st = picture_thumbnail(&png, pixels, set->channels, set->height, set->width, THUMBNAIL);
    if (st == SHOAL_OK) {
        exhibit_row(l, e);
        exhibit_file(l, e, png.at, png.len);
        exhibit_word(l, e, v->data->names[p->label[i]]);
        exhibit_word(l, e, v->data->names[p->best[i]]);
        exhibit_number(e, (double)p->sure[i]);
    }
    bytes_fini(&png);
    free(pixels);
    return st;
}

static shoal_status add_wrong(const struct run *r, struct learned *l, const struct predictions *p)
{
    struct exhibit *e = learned_exhibit(l, EXHIBIT_PICTURES, "wrong", "Surely wrong");
    size_t which[WRONG], n = surely_wrong(p, which);
    shoal_status st = SHOAL_OK;

    exhibit_note(e, "The pictures that were told wrong with the highest probability.");
    exhibit_column(e, "picture", COLUMN_FILE);
    exhibit_column(e, "true class", COLUMN_WORD);
    exhibit_column(e, "predicted class", COLUMN_WORD);
    exhibit_column(e, "probability", COLUMN_SHARE);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = add_picture(r, l, e, p, which[i]);
    return st;
}

static shoal_status vgg_learned(struct run *r, struct learned *l)
{
    const struct vgg_task *v = r->own;
    struct predictions *p = NULL;
    shoal_status st = net_predictions(r, l, &p);

    if (st == SHOAL_OK)
        st = learned_classes(l, p, (const char *const *)v->data->names);
    if (st == SHOAL_OK)
        st = add_wrong(r, l, p);
    predictions_free(p);
    return st;
}

static const struct net_task vgg_net = {
    .fill = fill, .ahead = ahead, .start = vgg_start, .give = vgg_give};

/* ---- options ---- */

static bool read_depth(void *field, const char *text)
{
    char *end;
    unsigned long depth = strtoul(text, &end, 10);

    *(unsigned *)field = (unsigned)depth;
    return *end == '\0' && (depth == 11 || depth == 13 || depth == 16 || depth == 19);
}

static void show_depth(char text[SHOAL_VALUE], const void *field)
{
    snprintf(text, SHOAL_VALUE, "%u", *(const unsigned *)field);
}

static const struct shoal_own_type depth_type = {read_depth, show_depth, "11, 13, 16 or 19",
                                                 "11 13 16 19"};

static bool read_dtype(void *field, const char *text)
{
    bool bf16 = strcmp(text, "bf16") == 0;

    *(enum shoal_dtype *)field = bf16 ? SHOAL_BF16 : SHOAL_F32;
    return bf16 || strcmp(text, "f32") == 0;
}

static void show_dtype(char text[SHOAL_VALUE], const void *field)
{
    bool bf16 = *(const enum shoal_dtype *)field == SHOAL_BF16;

    snprintf(text, SHOAL_VALUE, "%s", bf16 ? "bf16" : "f32");
}

static const struct shoal_own_type dtype_type = {read_dtype, show_dtype, "f32 or bf16", "f32 bf16"};

static const struct shoal_option model_options[] = {
    {"depth", .type = SHOAL_TYPE_OWN, ON(depth), .decides = true, .arg = "N", .own = &depth_type,
     .help = "layers with weights, as in the paper: 11, 13, 16 or 19"},
    {"batch-norm", .type = SHOAL_TYPE_FLAG, ON(batch_norm), .decides = true,
     .help = "normalise after each convolution"},
    {"sync-bn", .type = SHOAL_TYPE_FLAG, ON(sync_bn), .decides = true,
     .help = "with the statistics of all ranks' pictures, not of each rank's own"},
    {"base", .type = SHOAL_TYPE_COUNT, ON(base), .decides = true, .arg = "N", .u = {16, 512},
     .help = "channels of the first layers, a multiple of 16; the last have eight times as many"},
    HIDDEN_OPTION(0, 16384, "units of two hidden layers in the head", "none"),
    {"dropout", .type = SHOAL_TYPE_REAL, ON(dropout), .decides = true, .arg = "SHARE",
     .d = {0, 0.99}, .help = "leave out this share of the head's inputs at random"},
    {"dtype", .type = SHOAL_TYPE_OWN, ON(dtype), .decides = true, .arg = "NAME", .own = &dtype_type,
     .help = "what convolutions multiply: f32, or bf16, summed in f32, which wants AMX"},
    START_OPTION("begin with the parameters of this model, or of safetensors with torchvision's "
                 "names"),
    {0},
};

static const struct shoal_option pictures_options[] = {
    {"test", .type = SHOAL_TYPE_PATH, ON(test), .arg = "DATA",
     .help = "measure these after each epoch, not the data's own part for testing"},
    VALID_SHARE_OPTION("where there are none: hold out this share of the pictures, drawn by the "
                       "seed"),
    {"size", .type = SHOAL_TYPE_COUNT, ON(images.size), .decides = true, .arg = "N", .u = {1, 1024},
     .help = "pixels of a side that pictures in folders are scaled and cut to"},
    {"crop", .type = SHOAL_TYPE_COUNT, ON(crop), .decides = true, .arg = "N", .u = {0, 64},
     .help = "learn from random crops, with so many black pixels around", .zero = "none"},
    {"flip", .type = SHOAL_TYPE_FLAG, ON(flip), .decides = true,
     .help = "mirror every other picture"},
    {"keep", .type = SHOAL_TYPE_SIZE, ON(images.keep), .arg = "BYTES", .u = {0, UINT64_MAX},
     .help = "keep decoded pictures of folders in memory up to this; else decode them anew"},
    {0},
};

static const struct shoal_option_group vgg_groups[] = {
    {"Output", net_output_options, .at = 0},
    {"Model", model_options, .at = 0},
    {"Pictures", pictures_options, .at = 0},
    NET_GROUPS(net_training_options),
    {0},
};

static void vgg_defaults(struct train_opts *o)
{
    task_net_defaults(o);
    o->depth = 11;
    o->batch_norm = o->flip = true;
    o->base = 64;
    o->crop = 4;
    o->batch = 128;
    o->optimizer = OPTIMIZER_MOMENTUM;
    o->lr = 0.1;
    o->schedule = SHOAL_COSINE;
    o->weight_decay = 5e-4;
    o->warmup = 1;
}

static shoal_status vgg_check(const shoal_options *o)
{
    const struct train_opts *at = options_values(o);
    const struct kernel_tiles *tiles;
    shoal_status st = task_file_check(o);

    if (st == SHOAL_OK && at->base % 16 != 0)
        st = shoal_fail(SHOAL_EINVAL, "--base is %u channels, want a multiple of 16", at->base);
    if (st == SHOAL_OK && at->sync_bn && !at->batch_norm)
        st = shoal_fail(SHOAL_EINVAL, "--sync-bn does not go with --no-batch-norm");
    return st == SHOAL_OK && at->dtype == SHOAL_BF16 ? kernel_tiles_choose(&tiles) : st;
}

/* ---- the task ---- */

const struct task task_vgg = {
    .is = {.name = "vgg",
           .summary = "a convolutional net: classes of pictures",
           .about =
               "The nets of Simonyan and Zisserman (2015): 3x3 convolutions, rectifiers and 2x2 "
               "pools, with batch norm and a head for any size of picture. Pictures are the "
               "binary files of CIFAR-10 and CIFAR-100, IDX files as MNIST's, or a folder with "
               "one folder of JPEG and PNG files for each class; a folder that has a part for "
               "testing is measured on it after each epoch." GOES_ON,
           .operand = "DATA",
           .operand_help = "pictures to learn from: a folder or a file",
           .groups = vgg_groups,
           .examples =
               (const struct shoal_example[]){
                   {"shoal train vgg cifar-10-batches-bin --epochs 30 -o vgg.shoal", "CIFAR-10"},
                   {"shoal train vgg photos --size 64 --depth 16 -o vgg.shoal",
                    "folders of photographs, one for each class"},
                   {"shoal train vgg cifar-10-batches-bin --ranks 3 --hosts a,b,c -o vgg.shoal",
                    "on three machines"},
                   {0},
               },
           .unit = "images"},
    .defaults = vgg_defaults,
    .check = vgg_check,
    .data = DATA_PICTURES,
    .kind = &kind_net,
    .net = &vgg_net,
    .plan = vgg_plan,
    .open = vgg_open,
    .close = vgg_close,
    .figures = net_task_figures,
    .learned = vgg_learned,
    .result = net_task_result,
};
