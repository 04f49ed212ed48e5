/* shoal train mlp: a perceptron of several layers. */
#include "nets.h"

#include <stdlib.h>
#include <string.h>

struct mlp_cmd {
    struct net_cmd net;
    struct samples_cmd read;
    const char *layers, *start, *valid_path;
    enum shoal_activation activation;
    bool regression, raw;
    double valid;
};

static void mlp_defaults(void *at)
{
    struct mlp_cmd *cmd = at;
    struct shoal_mlp_opts mlp = shoal_mlp_default();

    *cmd = (struct mlp_cmd){.layers = mlp.layers, .activation = mlp.activation,
                            .valid = mlp.train.valid};
    net_defaults(&cmd->net, &mlp.train);
    samples_defaults(&cmd->read);
}

/* ---- One job ---------------------------------------------------------------------- */

struct data {
    shoal_samples *train, *valid;
};

static shoal_status open_data(struct data *d, const struct mlp_cmd *cmd, const char *path)
{
    struct shoal_samples_opts read =
        samples_reading(&cmd->read, cmd->regression ? SHOAL_REGRESS : SHOAL_CLASSIFY);
    shoal_status st;

    read.memory_limit = cmd->net.train.memory_limit;
    st = shoal_samples_open(&d->train, path, &read);
    read.labels = NULL;
    if (st == SHOAL_OK && cmd->valid_path)
        st = shoal_samples_open(&d->valid, cmd->valid_path, &read);
    return st;
}

static shoal_status run_job(struct net_job *job, const struct mlp_cmd *cmd, const char *path)
{
    struct shoal_mlp_opts opts = {.train = job->train, .layers = cmd->layers,
                                  .activation = cmd->activation, .raw = cmd->raw,
                                  .start = cmd->start};
    struct shoal_net_plan plan;
    struct shoal_net_stats stats = {0};
    struct data d = {0};
    shoal_net *net = NULL;
    shoal_status st = open_data(&d, cmd, path);

    opts.train.valid = cmd->valid;
    if (st == SHOAL_OK)
        st = shoal_mlp_plan(&plan, d.train, d.valid, &opts);
    st = job_agree(&job->job, st);
    if (st == SHOAL_OK) {
        net_view_plan(job, &plan);
        job->job.training = true;
        st = job_agree(&job->job, shoal_mlp_train(&net, d.train, d.valid, &opts, &stats));
    }
    if (st == SHOAL_OK)
        st = job_agree(&job->job,
                       job_first(&job->job) ? shoal_net_save(net, job->job.output) : SHOAL_OK);
    if (st == SHOAL_OK)
        net_view_result(job, &plan, &stats);
    shoal_net_close(net);
    shoal_samples_close(d.train);
    shoal_samples_close(d.valid);
    return st;
}

static int mlp_run(const void *at, const char *const *args, size_t nargs)
{
    const struct mlp_cmd *cmd = at;
    struct net_job job;
    shoal_status st;
    int code = net_check(&train_mlp, &cmd->net);

    (void)nargs;
    if (code != EXIT_DONE)
        return code;
    st = net_job_begin(&job, &cmd->net, "samples");
    if (st == SHOAL_OK)
        st = run_job(&job, cmd, args[0]);
    return net_job_leave(&job, st);
}

static bool mlp_elsewhere(const void *at, const struct parsed *parsed, int *code)
{
    const struct mlp_cmd *cmd = at;

    return net_elsewhere(&train_mlp, &cmd->net, parsed, code);
}

/* ---- The verb ------------------------------------------------------------------------ */

static bool read_layers(void *field, const char *text)
{
    size_t digits = strspn(text, "0123456789,"), len = strlen(text);

    if (strcmp(text, "none") == 0)
        text = "";
    else if (digits != len || len == 0 || len > 200 || text[0] == ',' || text[len - 1] == ',' ||
             strstr(text, ",,"))
        return false;
    *(const char **)field = text;
    return true;
}

static void show_layers(char text[OPT_VALUE], const void *field)
{
    const char *layers = *(const char *const *)field;

    snprintf(text, OPT_VALUE, "%s", *layers ? layers : "none");
}

static const struct opt_custom layers_custom = {read_layers, show_layers,
                                                "widths such as 64 or 128,64, or none"};

static bool read_share(void *field, const char *text)
{
    char *end;
    double x = strtod(text, &end);

    if (end != text && *end == '%') {
        x /= 100;
        end++;
    }
    if (end == text || *end || !(x >= 0 && x <= 0.5))
        return false;
    *(double *)field = x;
    return true;
}

static void show_share(char text[OPT_VALUE], const void *field)
{
    snprintf(text, OPT_VALUE, "%g%%", 100 * *(const double *)field);
}

static const struct opt_custom share = {read_share, show_share,
                                        "a share from 0 to 0.5, or a percent such as 10%"};

static const struct choice activation_choices[] = {
    [SHOAL_RELU] = {"relu", "0 below 0"},
    [SHOAL_TANH] = {"tanh", "from -1 to 1"},
    [SHOAL_SIGMOID] = {"sigmoid", "from 0 to 1"},
    [SHOAL_GELU] = {"gelu", "smoothly 0 below 0 (Hendrycks and Gimpel 2016)"},
    {0},
};

#define ON(member) FIELD(struct mlp_cmd, member)

static const struct opt model_opts[] = {
    {"layers", .kind = OPT_CUSTOM, ON(layers), .arg = "WIDTHS", .custom = &layers_custom,
     .help = "units of each hidden layer, with commas between"},
    {"activation", .kind = OPT_CHOICE, ON(activation), .arg = "NAME", .choices = activation_choices,
     .help = "what units make of their sum"},
    {"regression", .kind = OPT_FLAG, ON(regression),
     .help = "predict numbers (squared error), not classes (cross-entropy)"},
    {"start-from", .kind = OPT_PATH, ON(start), .arg = "FILE",
     .help = "begin with the parameters of this model"},
    {0},
};

static const struct opt held_opts[] = {
    {"valid", .kind = OPT_PATH, ON(valid_path), .arg = "FILE",
     .help = "hold these samples out, and report how well they are predicted"},
    {"valid-share", .kind = OPT_CUSTOM, ON(valid), .arg = "SHARE", .custom = &share,
     .help = "without --valid: hold out this share of the samples, drawn by the seed"},
    {"raw", .kind = OPT_FLAG, ON(raw),
     .help = "take numbers as they are, not scaled to mean 0 and variance 1"},
    {0},
};

const struct verb train_mlp = {
    .name = "shoal train mlp",
    .summary = "a perceptron: classes or numbers from rows of numbers",
    .about = "Dense layers with softmax and cross-entropy on top, or with squared error. Samples "
             "are rows of CSV, of a NumPy array (.npy) or of IDX files as MNIST's; by default the "
             "last column is the class, of X-images-idx3-ubyte it is in X-labels-idx1-ubyte. How "
             "columns were scaled is kept in the model.\n"
             "With --checkpoint a run that was stopped, by Ctrl-C or by a crash, goes on with "
             "`shoal train --resume DIR`.",
    .operands =
        (const struct operand[]){
            {.name = "DATA", .help = "samples to learn from; gzip and zstd are recognised by "
                                     "content"},
            {0}},
    .groups =
        (const struct opt_group[]){
            {"Output", net_output_opts, .at = offsetof(struct mlp_cmd, net)},
            {"Model", model_opts, .at = 0},
            {"Samples", samples_opts, .at = offsetof(struct mlp_cmd, read)},
            {"Held out", held_opts, .at = 0},
            NET_GROUPS(offsetof(struct mlp_cmd, net)),
            {0},
        },
    .examples =
        (const struct example[]){
            {"shoal train mlp spiral.csv --layers 64,64 --epochs 100 -o model.shoal",
             "classes of points"},
            {"shoal train mlp train-images-idx3-ubyte.gz --valid t10k-images-idx3-ubyte.gz --layers "
             "256 -o mnist.shoal",
             "pictures of 28 x 28"},
            {"shoal train mlp spiral.csv --ranks 4 --sync bounded:4 --global-batch 256 -o "
             "model.shoal",
             "by four processes"},
            {0},
        },
    .opts_size = sizeof(struct mlp_cmd),
    .defaults = mlp_defaults,
    .run = mlp_run,
    .elsewhere = mlp_elsewhere,
};
