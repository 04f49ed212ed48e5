/* shoal train nextword: a window of words predicts the one behind it. */
#include "nets.h"

#include <stdlib.h>
#include <string.h>

struct nextword_cmd {
    struct net_cmd net;
    struct shoal_nextword_opts opts; /* its `train` is not used */
    enum { CELL_DENSE, CELL_LSTM } cell;
    const char *vectors;
    struct shoal_encode_opts encode;
};

static void nextword_defaults(void *at)
{
    struct nextword_cmd *cmd = at;

    *cmd = (struct nextword_cmd){.opts = shoal_nextword_default(),
                                 .encode = shoal_encode_default()};
    net_defaults(&cmd->net, &cmd->opts.train);
}

/* ---- One job ---------------------------------------------------------------------- */

/* Text is encoded as for word vectors; rank 0's corpus serves all. */
static shoal_status open_data(struct net_job *job, const struct nextword_cmd *cmd,
                              const char *const *inputs, size_t n, shoal_vectors **vectors)
{
    struct job *j = &job->job;
    const char *folder = j->train.checkpoint;
    shoal_status st;

    j->encode = cmd->encode;
    j->encode.vocab.threads = cmd->net.train.threads;
    j->train.checkpoint = NULL; /* the text is read again by whoever goes on */
    st = job_open_inputs(j, inputs, n);
    j->train.checkpoint = folder;
    if (st != SHOAL_OK)
        return st;
    return job_agree(j, shoal_vectors_open(vectors, cmd->vectors));
}

static void view_windows(struct net_job *job, const struct shoal_net_plan *plan,
                         const struct shoal_nextword_opts *o, size_t dim)
{
    struct console *c = &job->job.console;
    uint64_t windows = plan->samples + plan->valid;

    console_row(c, "tensor", number_count(windows).text,
                "x %u x %zu numbers would be %s; none of it is kept", o->length, dim,
                number_size(windows * o->length * dim * sizeof(float)).text);
}

static shoal_status run_job(struct net_job *job, const struct nextword_cmd *cmd,
                            const char *const *inputs, size_t n)
{
    struct shoal_nextword_opts opts = cmd->opts;
    struct shoal_net_plan plan;
    struct shoal_net_stats stats = {0};
    shoal_vectors *vectors = NULL;
    shoal_net *net = NULL;
    shoal_status st = open_data(job, cmd, inputs, n, &vectors);

    opts.train = job->train;
    opts.lstm = cmd->cell == CELL_LSTM;
    if (st == SHOAL_OK)
        st = job_agree(&job->job, shoal_nextword_plan(&plan, job->job.corpus, vectors, &opts));
    if (st == SHOAL_OK) {
        net_view_plan(job, &plan);
        view_windows(job, &plan, &opts, shoal_vectors_dim(vectors));
        job->job.training = true;
        st = job_agree(&job->job,
                       shoal_nextword_train(&net, job->job.corpus, vectors, &opts, &stats));
    }
    if (st == SHOAL_OK)
        st = job_agree(&job->job,
                       job_first(&job->job) ? shoal_net_save(net, job->job.output) : SHOAL_OK);
    if (st == SHOAL_OK)
        net_view_result(job, &plan, &stats);
    shoal_net_close(net);
    shoal_vectors_close(vectors);
    return st;
}

static int nextword_run(const void *at, const char *const *args, size_t nargs)
{
    const struct nextword_cmd *cmd = at;
    struct net_job job;
    shoal_status st;
    int code = net_check(&train_nextword, &cmd->net);

    if (code != EXIT_DONE)
        return code;
    st = net_job_begin(&job, &cmd->net, "windows");
    job.job.statistics = cmd->opts.statistics;
    if (st == SHOAL_OK)
        st = run_job(&job, cmd, args, nargs);
    return net_job_leave(&job, st);
}

static bool nextword_elsewhere(const void *at, const struct parsed *parsed, int *code)
{
    const struct nextword_cmd *cmd = at;

    return net_elsewhere(&train_nextword, &cmd->net, parsed, code);
}

/* ---- The verb ------------------------------------------------------------------------ */

static const struct choice cell_choices[] = {
    [CELL_DENSE] = {"dense", "one hidden layer over all words of the window"},
    [CELL_LSTM] = {"lstm", "word by word, with a memory (Hochreiter and Schmidhuber 1997)"},
    {0},
};

#define ON(member) FIELD(struct nextword_cmd, member)

static const struct opt model_opts[] = {
    {"vectors", .kind = OPT_PATH, ON(vectors), .arg = "FILE", .required = true,
     .help = "word vectors in any format"},
    {"length", .kind = OPT_U64, ON(opts.length), .arg = "N", .u = {1, 1000},
     .help = "words of a window"},
    {"hidden", .kind = OPT_U64, ON(opts.hidden), .arg = "N", .u = {1, 65536},
     .help = "units of the hidden layer, or of the cell"},
    {"cell", .kind = OPT_CHOICE, ON(cell), .arg = "NAME", .choices = cell_choices,
     .help = "how a window is read"},
    {0},
};

static const struct opt told_opts[] = {
    {"statistics", .kind = OPT_PATH, ON(opts.statistics), .arg = "FILE",
     .help = "write a line for each epoch here: CSV if the name ends so, else text"},
    {"asked", .kind = OPT_U64, ON(opts.asked), .arg = "N", .u = {0, 1 << 30},
     .help = "windows, of each kind, whose word accuracy is measured after an epoch",
     .zero = "none"},
    {"valid", .kind = OPT_DOUBLE, ON(net.train.valid), .arg = "SHARE", .d = {0, 0.5},
     .help = "hold out this share of the windows, at the end of the corpus"},
    {0},
};

const struct verb train_nextword = {
    .name = "shoal train nextword",
    .summary = "a window of words predicts the vector of the next",
    .about = "Windows over the corpus, as word vectors, go through a net that predicts the vector of "
             "the word behind them (squared error). Vectors are scaled to the same length; words "
             "without one are passed over; no window reaches over the end of a sentence. The model "
             "holds words and vectors, so that `shoal predict` needs nothing else.\n"
             "With --checkpoint a run that was stopped goes on with `shoal train --resume DIR`.",
    .operands = (const struct operand[]){{"INPUT", INPUT_HELP "; or one corpus from `shoal encode`",
                                          .many = true},
                                         {0}},
    .groups =
        (const struct opt_group[]){
            {"Output", net_output_opts, .at = offsetof(struct nextword_cmd, net)},
            {"Model", model_opts, .at = 0},
            {"Statistics", told_opts, .at = 0},
            NET_GROUPS(offsetof(struct nextword_cmd, net)),
            {"Reading text", token_opts, .at = offsetof(struct nextword_cmd, encode.vocab)},
            {"Vocabulary", vocab_opts, .at = offsetof(struct nextword_cmd, encode.vocab)},
            {0},
        },
    .examples =
        (const struct example[]){
            {"shoal train nextword text.shoal --vectors vectors.bin --length 10 --statistics "
             "statistics.csv -o next.shoal",
             "a net over windows of ten words"},
            {"shoal predict next.shoal \"the king of\" --generate 20", "continue a text"},
            {0},
        },
    .opts_size = sizeof(struct nextword_cmd),
    .defaults = nextword_defaults,
    .run = nextword_run,
    .elsewhere = nextword_elsewhere,
};
