/* The options that several tasks have, and the types of their values. */
#include "train/task.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Shares and times ---------------------------------------------------------------- */

/* "7%" of 0.07, or "0.07" where no percentage reads back as the same number. */
static void show_percent(char text[SHOAL_VALUE], double share)
{
    for (int digits = 6; digits <= 17; digits++) {
        number_print(text, SHOAL_VALUE, "%.*g%%", digits, 100 * share);
        if (number_read(text, NULL) / 100 == share)
            return;
    }
    number_exact(text, SHOAL_VALUE, share);
}

/* "0.001" or "0.1%" */
static bool read_share(void *field, const char *text)
{
    char *end;
    double x = number_read(text, &end);

    if (end != text && *end == '%') {
        x /= 100;
        end++;
    }
    *(double *)field = x;
    return end != text && !*end && x >= 0 && x <= 0.5;
}

static void show_share(char text[SHOAL_VALUE], const void *field)
{
    show_percent(text, *(const double *)field);
}

const struct shoal_own_type option_share_type = {
    read_share, show_share, "a share from 0 to 0.5, or a percent such as 0.1%", NULL};

/* The same, or "auto". */
static bool read_auto_share(void *field, const char *text)
{
    *(double *)field = AUTO_REAL;
    return strcmp(text, "auto") == 0 || read_share(field, text);
}

static void show_auto_share(char text[SHOAL_VALUE], const void *field)
{
    if (*(const double *)field < 0)
        snprintf(text, SHOAL_VALUE, "auto");
    else
        show_percent(text, *(const double *)field);
}

const struct shoal_own_type option_auto_share_type = {
    read_auto_share, show_auto_share, "a share from 0 to 0.5, a percent such as 0.1%, or auto",
    "auto"};

static bool read_decay(void *field, const char *text)
{
    char *end;

    *(double *)field = strcmp(text, "auto") == 0 ? AUTO_REAL : number_read(text, &end);
    return *(double *)field < 0 ? strcmp(text, "auto") == 0
                                : end != text && !*end && *(double *)field < 1;
}

static void show_decay(char text[SHOAL_VALUE], const void *field)
{
    if (*(const double *)field < 0)
        snprintf(text, SHOAL_VALUE, "auto");
    else
        number_exact(text, SHOAL_VALUE, *(const double *)field);
}

const struct shoal_own_type option_decay_type = {read_decay, show_decay,
                                                 "a number from 0 to below 1, or auto", "auto"};

/* A whole number, or "auto". */
static bool read_early(void *field, const char *text)
{
    uint64_t n = AUTO_COUNT;
    const char *end = text + strlen(text);
    bool good = strcmp(text, "auto") == 0 ||
                (number_digits(text, end, &n) == end && n <= 1000000);

    *(unsigned *)field = (unsigned)n;
    return good;
}

static void show_early(char text[SHOAL_VALUE], const void *field)
{
    if (*(const unsigned *)field == AUTO_COUNT)
        snprintf(text, SHOAL_VALUE, "auto");
    else
        snprintf(text, SHOAL_VALUE, "%u", *(const unsigned *)field);
}

const struct shoal_own_type option_early_type = {read_early, show_early,
                                                 "a whole number from 0 to 1000000, or auto",
                                                 "auto"};

/* "60s", "5m", "2h": above 0, and `most` at most. */
static bool read_seconds(double *seconds, const char *text, double most)
{
    static const char units[] = "smh";
    static const double values[] = {1, 60, 3600};
    char *end;
    double x = number_read(text, &end);
    const char *unit = end != text && *end ? strchr(units, *end) : NULL;

    if (!unit || end[1])
        return false;
    *seconds = x * values[unit - units];
    return *seconds > 0 && *seconds <= most;
}

static void show_time(char text[SHOAL_VALUE], const void *field)
{
    number_exact(text, SHOAL_VALUE - 1, *(const double *)field);
    strcat(text, "s");
}

static bool read_time(void *field, const char *text)
{
    return read_seconds(field, text, 1e9);
}

/* The same, or 0: none. */
static bool read_span(void *field, const char *text)
{
    *(double *)field = 0;
    return strcmp(text, "0") == 0 || read_time(field, text);
}

static void show_span(char text[SHOAL_VALUE], const void *field)
{
    if (*(const double *)field > 0)
        show_time(text, field);
    else
        snprintf(text, SHOAL_VALUE, "0");
}

const struct shoal_own_type option_span_type = {read_span, show_span,
                                                "a time such as 60s, 5m or 2h, or 0", NULL};

static const struct shoal_own_type time_type = {read_time, show_time,
                                                "a time such as 60s, 5m or 2h", NULL};

/* The same, or "never", which is 0. */
static bool read_silence(void *field, const char *text)
{
    *(double *)field = 0;
    return strcmp(text, "never") == 0 || read_seconds(field, text, 1e6);
}

static void show_silence(char text[SHOAL_VALUE], const void *field)
{
    if (*(const double *)field > 0)
        show_time(text, field);
    else
        snprintf(text, SHOAL_VALUE, "never");
}

static const struct shoal_own_type silence_type = {read_silence, show_silence,
                                                   "a time such as 10s or 2m, or never",
                                                   "never"};

/* A time, "5%" of the run (or "0.05", as show_percent may say), or "epoch". */
static bool read_every(void *field, const char *text)
{
    struct train_every *every = field;
    char *end;
    double x = number_read(text, &end);

    *every = (struct train_every){.unit = SHOAL_EVERY_EPOCH};
    if (strcmp(text, "epoch") == 0)
        return true;
    every->unit = SHOAL_EVERY_SECONDS;
    if (read_seconds(&every->value, text, 1e9))
        return true;
    *every = (struct train_every){SHOAL_EVERY_SHARE, *end == '%' ? x / 100 : x};
    return end != text && (!*end || strcmp(end, "%") == 0) && every->value > 0 &&
           every->value <= 1;
}

static void show_every(char text[SHOAL_VALUE], const void *field)
{
    const struct train_every *every = field;

    if (every->unit == SHOAL_EVERY_EPOCH)
        snprintf(text, SHOAL_VALUE, "epoch");
    else if (every->unit == SHOAL_EVERY_SHARE)
        show_percent(text, every->value);
    else
        show_time(text, &every->value);
}

static const struct shoal_own_type every_type = {
    read_every, show_every, "a time such as 60s, 5m or 2h, a percent such as 5%, or epoch",
    "epoch"};

/* ---- Who waits for whom -------------------------------------------------------------- */

enum { STALE_MOST = 1000000 };

static const struct {
    const char *name;
    bool counted; /* by a number behind a colon */
} policies[] = {
    [SHOAL_ASYNC] = {"async", false},
    [SHOAL_BOUNDED] = {"bounded", true},
    [SHOAL_SYNC] = {"sync", false},
    [SHOAL_AVERAGE] = {"average", true},
};

/* ":16" of "bounded:16" */
static bool read_rounds(unsigned *n, const char *text)
{
    char *end;
    unsigned long value;

    if (text[0] != ':' || !isdigit((unsigned char)text[1]))
        return false;
    value = strtoul(text + 1, &end, 10);
    *n = (unsigned)value;
    return *end == '\0' && value >= 1 && value <= STALE_MOST;
}

static bool read_sync(void *field, const char *text)
{
    struct train_sync *sync = field;

    *sync = (struct train_sync){.policy = SHOAL_SYNC};
    if (strcmp(text, "bounded:0") == 0)
        return true; /* nobody is ahead */
    for (unsigned i = 0; i < sizeof policies / sizeof *policies; i++) {
        size_t len = strlen(policies[i].name);

        if (strncmp(text, policies[i].name, len) != 0)
            continue;
        sync->policy = i;
        return policies[i].counted ? read_rounds(&sync->staleness, text + len) : !text[len];
    }
    return false;
}

static void show_sync(char text[SHOAL_VALUE], const void *field)
{
    const struct train_sync *sync = field;
    int len = snprintf(text, SHOAL_VALUE, "%s", policies[sync->policy].name);

    if (policies[sync->policy].counted)
        snprintf(text + len, SHOAL_VALUE - (size_t)len, ":%u", sync->staleness);
}

static const struct shoal_own_type sync_type = {
    read_sync, show_sync, "async, bounded:ROUNDS, sync or average:ROUNDS, with 1 to 1000000 rounds",
    "async bounded: sync average:"};

/* ---- Choices ------------------------------------------------------------------------------ */

const struct shoal_choice schedule_choices[] = {
    [SHOAL_LINEAR] = {"linear", "falls evenly to a 10,000th"},
    [SHOAL_CONSTANT] = {"constant", "stays"},
    [SHOAL_INVERSE_TIME] = {"inverse-time", "lr / (1 + decay * epochs done)"},
    [SHOAL_COSINE] = {"cosine", "falls to 0, slowly at both ends"},
    {0},
};

const struct shoal_choice valid_places[] = {
    [VALID_SPREAD] = {"spread", "in blocks all over the input, where the seed says"},
    [VALID_END] = {"end", "at the end of the input, for data in the order of time"},
    {0},
};

const struct shoal_choice lr_scaling_choices[] = {
    [LR_SCALING_AUTO] = {"auto", "only where no --lr was given"},
    [LR_SCALING_ON] = {"on", "always"},
    [LR_SCALING_OFF] = {"off", "never: --lr is the rate on any number of ranks"},
    {0},
};

/* From OPTIMIZER_SGD on. */
static const struct shoal_choice net_optimizers[] = {
    {"sgd", "plain steps"},
    {"momentum", "steps with a memory (Polyak 1964)"},
    {"adam", "each parameter at its own pace (Kingma and Ba 2015)"},
    {0},
};

static const struct shoal_choice wire_choices[] = {
    [SHOAL_WIRE_F32] = {"f32", "as they are"},
    [SHOAL_WIRE_BF16] = {"bf16", "in half the bytes; what is lost travels next time"},
    [SHOAL_WIRE_INT8] = {"int8", "in a quarter of them"},
    [SHOAL_WIRE_INT4] = {"int4", "in an eighth of them"},
    [SHOAL_WIRE_AUTO] = {"auto", "as short as costs no accuracy: int4 for word vectors, else f32"},
    {0},
};

static const struct shoal_choice replica_choices[] = {
    [SHOAL_REPLICA_AUTO] = {"auto", "all rows if they fit into memory"},
    [SHOAL_REPLICA_FULL] = {"full", "all rows"},
    [SHOAL_REPLICA_BLOCKS] = {"blocks",
                              "its own rows, and of the others what a block of text needs"},
    {0},
};

/* ---- Tables --------------------------------------------------------------------------------- */

const struct shoal_option task_output_options[] = {
    OUTPUT_OPTION("write the model here, in our own format; endings of other programs' "
                  "formats are refused"),
    {0},
};

const struct shoal_option net_output_options[] = {
    OUTPUT_OPTION("write the model here: NAME.safetensors is for PyTorch, others are our own "
                  "format; endings of other programs' formats are refused"),
    {0},
};

/* clang-format off */
#define NET_RATE_OPTIONS(usual)                                                                    \
    OPTIMIZER_OPTION(net_optimizers, OPTIMIZER_SGD, "how gradients become steps"),                 \
    LR_OPTION(usual),                                                                              \
    SCHEDULE_OPTION("how the rate goes on"),                                                       \
    DECAY_OPTION,                                                                                  \
    {"warmup", .type = SHOAL_TYPE_REAL, ON(warmup), .decides = true, .arg = "EPOCHS",              \
     .d = {0, 1e6}, .help = "let it rise evenly for so many epochs first"},                        \
    {"momentum", .type = SHOAL_TYPE_REAL, ON(momentum), .decides = true, .arg = "X",               \
     .d = {0, 0.999999}, .help = "how much of the last step goes on (momentum)"},                  \
    {"nesterov", .type = SHOAL_TYPE_FLAG, ON(nesterov), .decides = true,                           \
     .help = "look ahead (momentum)"}
#define NET_BATCH_OPTIONS                                                                          \
    {"global-batch", .type = SHOAL_TYPE_COUNT, ON(global_batch), .decides = true, .arg = "N",      \
     .u = {0, 1 << 24}, .help = "the same as --batch, of all ranks together",                      \
     .zero = "as --batch says"},                                                                   \
    {"rank-batch", .type = SHOAL_TYPE_COUNT, ON(rank_batch), .decides = true, .arg = "N",          \
     .u = {0, 1 << 20}, .help = "samples of a step, of each rank: more ranks make larger steps",   \
     .zero = "as --batch says"}
/* clang-format on */

const struct shoal_option net_training_options[] = {
    EPOCHS_OPTION,
    STEPS_OPTION("so many steps of the optimizer"),
    BATCH_OPTION(1 << 20, "samples of a step, of all ranks together"),
    NET_BATCH_OPTIONS,
    NET_RATE_OPTIONS("0.1 for sgd, 0.05 for momentum, 0.002 for adam"),
    {"weight-decay", .type = SHOAL_TYPE_REAL, ON(weight_decay), .decides = true, .arg = "X",
     .d = {0, 0.999999}, .help = "pull parameters to 0; with adam apart from the gradient"},
    SEED_OPTION,
    SHUFFLE_OPTION("take the samples in another order each epoch"),
    {0},
};

const struct shoal_option table_net_training_options[] = {
    EPOCHS_AUTO_OPTION,
    STEPS_OPTION("so many steps of the optimizer"),
    {"batch", .type = SHOAL_TYPE_COUNT, ON(batch), .decides = true, .arg = "N",
     .u = {0, 1 << 20}, .help = "samples of a step, of all ranks together",
     .zero = "16 of few samples, 128 of many with many inputs, else 64"},
    NET_BATCH_OPTIONS,
    NET_RATE_OPTIONS("0.1 for sgd, 0.05 for momentum, of adam 0.005 for few samples, else 0.002"),
    {"weight-decay", .type = SHOAL_TYPE_OWN, ON(weight_decay), .decides = true, .arg = "X",
     .own = &option_decay_type, .help = "pull parameters to 0; with adam apart from the gradient; "
     "auto: 0.3 with --layers auto, adam and few samples, 0.1 of many with many inputs, else 0"},
    SEED_OPTION,
    SHUFFLE_OPTION("take the samples in another order each epoch"),
    {0},
};
/* clang-format off */
#define THREADS_OPTION(said)                                                                       \
    {"threads", .type = SHOAL_TYPE_COUNT, ON(threads), .arg = "N", .u = {0, 1024}, .help = said,   \
     .zero = "one for each core"}
#define MEMORY_OPTION                                                                              \
    {"memory", .type = SHOAL_TYPE_SIZE, ON(memory_limit), .arg = "LIMIT", .u = {0, UINT64_MAX},    \
     .help = "refuse to need more memory", .zero = "what the machine has free"}

#define RUN_OPTIONS                                                                                \
    {"checkpoint", .type = SHOAL_TYPE_PATH, ON(checkpoint), .arg = "DIR",                          \
     .help = "save the whole state in this folder now and then, and when stopped"},                \
    {"checkpoint-every", .type = SHOAL_TYPE_OWN, ON(every), .arg = "TIME", .own = &every_type,     \
     .help = "how often: after a time (60s, 5m, 2h), a percent of the run, or each epoch"},        \
    {"metrics", .type = SHOAL_TYPE_PATH, ON(metrics), .arg = "FILE", .written = true,              \
     .help = "write what is reported as JSON, one object a line"},                                 \
    {"tensorboard", .type = SHOAL_TYPE_PATH, ON(tensorboard), .passing = true, .arg = "DIR",       \
     .help = "write what is reported as an event file of TensorBoard's into this folder"},         \
    {"mlflow", .type = SHOAL_TYPE_PATH, ON(mlflow), .passing = true, .arg = "DIR",                 \
     .help = "write it as a run into this folder, a file store of MLflow's"},                      \
    {"watch", .type = SHOAL_TYPE_TEXT, ON(watch), .passing = true, .arg = "HOST:PORT",             \
     .help = "show the report of the run, as `shoal report` draws it, in a browser while it "      \
             "runs; :PORT is for this machine alone"},                                             \
    {"profile", .type = SHOAL_TYPE_FLAG, ON(profile), .passing = true,                             \
     .help = "say where the time went, rank by rank, and what limits the run"}

#define PUBLISH_OPTIONS                                                                            \
    {"publish", .type = SHOAL_TYPE_PATH, ON(publish), .arg = "FILE", .written = true,              \
     .help = "write what was learned so far to this file now and then, for `shoal serve`"},        \
    {"publish-every", .type = SHOAL_TYPE_OWN, ON(publish_every), .arg = "TIME",                    \
     .own = &time_type, .help = "how often"}
/* clang-format on */

const struct shoal_option rows_machine_options[] = {
    THREADS_OPTION("threads to work with"),
    {"deterministic", .type = SHOAL_TYPE_FLAG, ON(deterministic), .decides = true,
     .help = "the same bytes each time, for any number of threads; slower"},
    {"lanes", .type = SHOAL_TYPE_COUNT, ON(lanes), .decides = true, .arg = "N", .u = {1, 64},
     .help = "workers whose changes are merged (--deterministic)"},
    MEMORY_OPTION,
    {0},
};

const struct shoal_option net_machine_options[] = {
    THREADS_OPTION("threads to work with; the result does not depend on them"),
    MEMORY_OPTION,
    {"quorum", .type = SHOAL_TYPE_COUNT, ON(quorum), .arg = "N", .u = {0, 1024},
     .help = "gradients whose mean makes a step (async, bounded)",
     .zero = "the root of half the ranks"},
    {0},
};

const struct shoal_option words_run_options[] = {
    RUN_OPTIONS,
    {"eval", .type = SHOAL_TYPE_PATH, ON(evals), .list = true, .arg = "FILE,...",
     .help = "after each epoch score the vectors on these questions, as `shoal eval` does"},
    PUBLISH_OPTIONS,
    {0},
};

const struct shoal_option rows_run_options[] = {RUN_OPTIONS, PUBLISH_OPTIONS, {0}};

const struct shoal_option net_run_options[] = {
    RUN_OPTIONS,
    {"report-steps", .type = SHOAL_TYPE_COUNT, ON(report_steps), .arg = "N", .u = {0, UINT32_MAX},
     .help = "report after each so many steps", .zero = "every second"},
    {0},
};

/* clang-format off */
#define SYNC_OPTION                                                                                \
    {"sync", .type = SHOAL_TYPE_OWN, ON(sync), .arg = "HOW", .own = &sync_type,                    \
     .help = "who waits for whom: async nobody, bounded:S who is more than S rounds ahead, sync "  \
             "all after each round; average:K all every K rounds, between which ranks train alone"}
#define WIRE_OPTION                                                                                \
    {"wire", .type = SHOAL_TYPE_CHOICE, ON(wire), .arg = "TYPE", .choices = wire_choices,          \
     .help = "how rows travel"}
#define SERVERS_OPTION(what)                                                                       \
    {"servers", .type = SHOAL_TYPE_COUNT, ON(servers), .arg = "N", .u = {0, 1023},                 \
     .help = "the last so many ranks only keep " what, .zero = "all keep " what " and train"}
#define SILENT_OPTION                                                                              \
    {"silent-after", .type = SHOAL_TYPE_OWN, ON(silence), .arg = "TIME", .own = &silence_type,     \
     .help = "give up a rank of which nothing was heard for so long"}
/* clang-format on */

const struct shoal_option words_ranks_options[] = {
    SYNC_OPTION,
    WIRE_OPTION,
    SERVERS_OPTION("rows"),
    {"replica", .type = SHOAL_TYPE_CHOICE, ON(replica), .arg = "HOW", .choices = replica_choices,
     .help = "what each rank holds of the model"},
    {"local-input", .type = SHOAL_TYPE_FLAG, ON(local_input),
     .help = "each rank reads inputs of its own, its part of the whole; {rank} in their names is "
             "its number"},
    SILENT_OPTION,
    {0},
};

/* Features are numbered over all rows, and every rank holds all weights. */
const struct shoal_option rows_ranks_options[] = {SYNC_OPTION, WIRE_OPTION, SERVERS_OPTION("rows"),
                                                  SILENT_OPTION, {0}};

/* Gradients travel as they are, and every rank holds the whole net and reads all samples. */
const struct shoal_option net_ranks_options[] = {SYNC_OPTION, SERVERS_OPTION("parameters"),
                                                 SILENT_OPTION, {0}};

/* ---- Defaults and what does not go together ---------------------------------------------- */

void task_common_defaults(struct train_opts *o)
{
    *o = (struct train_opts){
        .epochs = 5, .decay = 0.01, .batch = 64, .seed = 1, .lanes = 8, .silence = 10,
        .every = {SHOAL_EVERY_SECONDS, 60}, .publish_every = 60, .beta = 1, .positive = 1,
        .momentum = 0.9, .encode = shoal_encode_default(), .rows = shoal_clicks_default(),
        .samples = shoal_samples_default(), .images = shoal_images_default(),
        .save = shoal_save_default(),
    };
}

void task_net_defaults(struct train_opts *o)
{
    task_common_defaults(o);
    o->epochs = 20;
    o->optimizer = OPTIMIZER_ADAM;
    o->schedule = SHOAL_COSINE;
    o->valid = 0.1;
    o->sync.policy = SHOAL_SYNC;
}

/* ---- What is left to the task ------------------------------------------------------------- */

enum {
    EARLY_LEAST = 5,    /* evaluations without a better loss, */
    EARLY_PART = 10,    /* and this part of the epochs at least */
    HELD_LEAST = 50,    /* rows of which a tenth can be held out */
};

unsigned settle_epochs(uint64_t examples, uint64_t visits, unsigned most)
{
    uint64_t epochs = examples > 0 ? (visits + examples / 2) / examples : 1;

    return epochs < 1 ? 1 : epochs > most ? most : (unsigned)epochs;
}

void settle_early_stop(struct train_opts *o, const struct shoal_sources *data, uint64_t examples,
                       bool chosen)
{
    bool others = data->valid_rows || data->valid_samples;
    bool stops = chosen && o->epochs > 1 && (others || examples >= HELD_LEAST);
    bool asked = o->early_stop > 0 && o->early_stop != AUTO_COUNT;
    unsigned part = o->epochs / EARLY_PART;

    if (o->valid < 0)
        o->valid = !others && (stops || asked) ? 0.1 : 0;
    stops &= o->valid > 0 || others;
    if (o->early_stop == AUTO_COUNT)
        o->early_stop = stops ? part > EARLY_LEAST ? part : EARLY_LEAST : 0;
}

shoal_status task_file_check(const shoal_options *o)
{
    const char *output = options_values(o)->output;

    if (output && strcmp(output, "-") == 0)
        return shoal_fail(SHOAL_EINVAL, "--output is '-', want a file name: a model is mapped, "
                                        "which standard output cannot be");
    return SHOAL_OK;
}
