/* shoal train vgg: a convolutional net on pictures. */
#include "nets.h"

#include <stdlib.h>
#include <string.h>

struct vgg_cmd {
    struct net_cmd net;
    struct shoal_vgg_opts vgg; /* but for .train */
    struct shoal_images_opts images;
    const char *test;
};

static void vgg_defaults(void *at)
{
    struct vgg_cmd *cmd = at;
    struct shoal_vgg_opts vgg = shoal_vgg_default();

    *cmd = (struct vgg_cmd){.vgg = vgg, .images = shoal_images_default()};
    net_defaults(&cmd->net, &vgg.train);
}

/* ---- One job ---------------------------------------------------------------------- */

struct pictures {
    shoal_images *train, *test; /* test may be NULL */
};

/* What is measured: what was named, or the folder's own part for testing. */
static shoal_status open_pictures(struct pictures *p, const struct vgg_cmd *cmd, const char *path)
{
    struct shoal_images_opts read = cmd->images;
    const char *test = cmd->test ? cmd->test : path;
    shoal_status st;

    read.threads = cmd->net.train.threads;
    st = shoal_images_open(&p->train, path, &read);
    read.test = true;
    if (st == SHOAL_OK && (cmd->test || shoal_images_has_test(path)))
        st = shoal_images_open(&p->test, test, &read);
    return st;
}

static void view_pictures(struct net_job *job, const struct pictures *p)
{
    unsigned channels, height, width;

    shoal_images_shape(p->train, &channels, &height, &width);
    console_heading(&job->job.console, "pictures");
    console_row(&job->job.console, "classes", number_count(shoal_images_classes(p->train)).text,
                "of %u x %u pixels, %s", width, height, channels == 1 ? "grey" : "in colours");
}

/* As the original tabulates: one line for each node. */
static void view_nodes(struct net_job *job, const struct shoal_net_stats *s)
{
    FILE *to = job->job.console.reports;

    if (!to || s->nnodes == 0)
        return;
    fprintf(to, "\n%s%-6s  %-16s  %9s  %12s  %9s  %9s  %12s%s\n", style_on(to, STYLE_DIM), "rank",
            "host", "steps", "s a step", "compute", "wait", "communicate",
            style_on(to, STYLE_PLAIN));
    for (unsigned i = 0; i < s->nnodes; i++) {
        const struct shoal_net_node *n = &s->nodes[i];

        print_line(to, "%-6u  %-16s  %9s  %12.4f  %9.4f  %9.4f  %12.4f\n", n->rank,
                   n->host[0] ? n->host : "this one", number_count(n->steps).text,
                   n->compute + n->wait + n->communicate, n->compute, n->wait, n->communicate);
    }
}

static shoal_status run_job(struct net_job *job, const struct vgg_cmd *cmd, const char *path)
{
    struct shoal_vgg_opts opts = cmd->vgg;
    struct shoal_net_plan plan;
    struct shoal_net_stats stats = {0};
    struct pictures p = {0};
    shoal_net *net = NULL;
    shoal_status st = open_pictures(&p, cmd, path);

    opts.train = job->train;
    opts.train.valid = cmd->vgg.train.valid;
    if (st == SHOAL_OK)
        st = shoal_vgg_plan(&plan, p.train, p.test, &opts);
    st = job_agree(&job->job, st);
    if (st == SHOAL_OK) {
        view_pictures(job, &p);
        net_view_plan(job, &plan);
        job->job.training = true;
        st = job_agree(&job->job, shoal_vgg_train(&net, p.train, p.test, &opts, &stats));
    }
    if (st == SHOAL_OK)
        st = job_agree(&job->job,
                       job_first(&job->job) ? shoal_net_save(net, job->job.output) : SHOAL_OK);
    if (st == SHOAL_OK) {
        net_view_result(job, &plan, &stats);
        view_nodes(job, &stats);
    }
    shoal_net_close(net);
    shoal_images_close(p.train);
    shoal_images_close(p.test);
    return st;
}

static int vgg_check(const struct vgg_cmd *cmd)
{
    struct shoal_vgg_opts opts = cmd->vgg;
    int code = net_check(&train_vgg, &cmd->net);

    opts.train = shoal_vgg_default().train;
    if (code == EXIT_DONE && shoal_vgg_check(&opts) != SHOAL_OK)
        code = console_fail("%s", shoal_error());
    if (code == EXIT_DONE && opts.sync_bn && !opts.batch_norm)
        code = usage(&train_vgg, "--sync-bn does not go with --no-batch-norm");
    return code;
}

static int vgg_run(const void *at, const char *const *args, size_t nargs)
{
    const struct vgg_cmd *cmd = at;
    struct net_job job;
    shoal_status st;
    int code = vgg_check(cmd);

    (void)nargs;
    if (code != EXIT_DONE)
        return code;
    st = net_job_begin(&job, &cmd->net, "images");
    if (st == SHOAL_OK)
        st = run_job(&job, cmd, args[0]);
    return net_job_leave(&job, st);
}

static bool vgg_elsewhere(const void *at, const struct parsed *parsed, int *code)
{
    const struct vgg_cmd *cmd = at;

    return net_elsewhere(&train_vgg, &cmd->net, parsed, code);
}

/* ---- The verb ------------------------------------------------------------------------ */

static bool read_depth(void *field, const char *text)
{
    char *end;
    unsigned long depth = strtoul(text, &end, 10);

    *(unsigned *)field = (unsigned)depth;
    return *end == '\0' && (depth == 11 || depth == 13 || depth == 16 || depth == 19);
}

static void show_depth(char text[OPT_VALUE], const void *field)
{
    snprintf(text, OPT_VALUE, "%u", *(const unsigned *)field);
}

static const struct opt_custom depth_custom = {read_depth, show_depth, "11, 13, 16 or 19"};

static bool read_dtype(void *field, const char *text)
{
    bool bf16 = strcmp(text, "bf16") == 0;

    *(enum shoal_dtype *)field = bf16 ? SHOAL_BF16 : SHOAL_F32;
    return bf16 || strcmp(text, "f32") == 0;
}

static void show_dtype(char text[OPT_VALUE], const void *field)
{
    bool bf16 = *(const enum shoal_dtype *)field == SHOAL_BF16;

    snprintf(text, OPT_VALUE, "%s", bf16 ? "bf16" : "f32");
}

static const struct opt_custom dtype_custom = {read_dtype, show_dtype, "f32 or bf16"};

#define ON(member) FIELD(struct vgg_cmd, member)

static const struct opt model_opts[] = {
    {"depth", .kind = OPT_CUSTOM, ON(vgg.depth), .arg = "N", .custom = &depth_custom,
     .help = "layers with weights, as in the paper: 11, 13, 16 or 19"},
    {"batch-norm", .kind = OPT_FLAG, ON(vgg.batch_norm),
     .help = "normalise after each convolution"},
    {"sync-bn", .kind = OPT_FLAG, ON(vgg.sync_bn),
     .help = "with the statistics of all ranks' pictures, not of each rank's own"},
    {"base", .kind = OPT_U64, ON(vgg.base), .arg = "N", .u = {16, 512},
     .help = "channels of the first layers, a multiple of 16; the last have eight times as many"},
    {"hidden", .kind = OPT_U64, ON(vgg.hidden), .arg = "N", .u = {0, 16384},
     .help = "units of two hidden layers in the head", .zero = "none"},
    {"dropout", .kind = OPT_DOUBLE, ON(vgg.dropout), .arg = "SHARE", .d = {0, 0.99},
     .help = "leave out this share of the head's inputs at random"},
    {"dtype", .kind = OPT_CUSTOM, ON(vgg.dtype), .arg = "NAME", .custom = &dtype_custom,
     .help = "what convolutions multiply: f32, or bf16, summed in f32, which wants AMX"},
    {"start-from", .kind = OPT_PATH, ON(vgg.start), .arg = "FILE",
     .help = "begin with the parameters of this model, or of safetensors with torchvision's names"},
    {0},
};

static const struct opt pictures_opts[] = {
    {"test", .kind = OPT_PATH, ON(test), .arg = "DATA",
     .help = "measure these after each epoch, not the data's own part for testing"},
    {"valid-share", .kind = OPT_DOUBLE, ON(vgg.train.valid), .arg = "SHARE", .d = {0, 0.5},
     .help = "where there are none: hold out this share of the pictures, drawn by the seed"},
    {"size", .kind = OPT_U64, ON(images.size), .arg = "N", .u = {1, 1024},
     .help = "pixels of a side that pictures in folders are scaled and cut to"},
    {"crop", .kind = OPT_U64, ON(vgg.crop), .arg = "N", .u = {0, 64},
     .help = "learn from random crops, with so many black pixels around", .zero = "none"},
    {"flip", .kind = OPT_FLAG, ON(vgg.flip), .help = "mirror every other picture"},
    {"keep", .kind = OPT_SIZE, ON(images.keep), .arg = "BYTES", .u = {0, UINT64_MAX},
     .help = "keep decoded pictures of folders in memory up to this; else decode them anew"},
    {0},
};

const struct verb train_vgg = {
    .name = "shoal train vgg",
    .summary = "a convolutional net: classes of pictures",
    .about = "The nets of Simonyan and Zisserman (2015): 3x3 convolutions, rectifiers and 2x2 "
             "pools, with batch norm and a head for any size of picture. Pictures are the binary "
             "files of CIFAR-10 and CIFAR-100, IDX files as MNIST's, or a folder with one folder "
             "of JPEG and PNG files for each class; a folder that has a part for testing is "
             "measured on it after each epoch.\n"
             "With --checkpoint a run that was stopped, by Ctrl-C or by a crash, goes on with "
             "`shoal train --resume DIR`.",
    .operands =
        (const struct operand[]){
            {.name = "DATA", .help = "pictures to learn from: a folder or a file"}, {0}},
    .groups =
        (const struct opt_group[]){
            {"Output", net_output_opts, .at = offsetof(struct vgg_cmd, net)},
            {"Model", model_opts, .at = 0},
            {"Pictures", pictures_opts, .at = 0},
            NET_GROUPS(offsetof(struct vgg_cmd, net)),
            {0},
        },
    .examples =
        (const struct example[]){
            {"shoal train vgg cifar-10-batches-bin --epochs 30 -o vgg.shoal", "CIFAR-10"},
            {"shoal train vgg photos --size 64 --depth 16 -o vgg.shoal",
             "folders of photographs, one for each class"},
            {"shoal train vgg cifar-10-batches-bin --ranks 3 --hosts a,b,c -o vgg.shoal",
             "on three machines"},
            {0},
        },
    .opts_size = sizeof(struct vgg_cmd),
    .defaults = vgg_defaults,
    .run = vgg_run,
    .elsewhere = vgg_elsewhere,
};
