/* task: one thing that can be trained.
 *
 * What this is: a task as the library knows it, tables of options that several tasks have,
 * and single options that tasks put into tables of their own, each spelled here and nowhere
 * else. A task is a file of tasks/ and a line in tasks.c.
 * Who owns what: all of it is constant.
 * Threads: none here. */
#ifndef SHOAL_TASK_H
#define SHOAL_TASK_H

#include "train/data.h"
#include "train/options.h"

struct kind;
struct learned;
struct net_task;
struct row_task;
struct run;
struct tuning;

struct task {
    struct shoal_task is; /* what anybody may know: name, prose, options, unit */
    void (*defaults)(struct train_opts *o); /* from all zeros */
    /* Do they go together? What any task is asked was asked before. NULL: they always do. */
    shoal_status (*check)(const shoal_options *o);

    /* Chooses what was left to it (AUTO_REAL and the like), by the data; NULL: nothing is. */
    void (*settle)(struct train_opts *o, const struct shoal_sources *data);

    enum data_kind data;
    const struct kind *kind; /* of the result, which says how it can be written */
    /* What its engine asks of it, rows/ or dense/, of which it has the one or the other. */
    const struct row_task *rows;
    const struct net_task *net;
    const struct tuning *tuning; /* how --autotune searches (autotune.h); NULL: it does not */
    /* What a run will take, into a plan of zeros; r->opts, r->data and the engine's part are
     * there. It may open what it looks at, for the run that follows. */
    shoal_status (*plan)(struct run *r, struct shoal_train_plan *plan);
    /* Sets r->own, identity, lr and what the engine asks for (rows/rows.h, dense/net.h); if it
     * likes, schedule and at.best_loss. `close` is called even when it, or the plan, failed. */
    shoal_status (*open)(struct run *r);
    void (*close)(struct run *r);
    /* Figures of sums beside the loss; or NULL. */
    void (*figures)(const struct run *r, const struct sums *s, enum shoal_figure_of of,
                    struct shoal_figures *out);
    /* By rank 0: what is held out into r->held, and whatever else there is to tell after an
     * epoch; of nets beside what the engine measured. NULL: nothing. */
    shoal_status (*evaluate)(struct run *r);
    /* Of a run that diverged: what in the data may be the cause, and which option helps, as a
     * part of a sentence; NULL: nothing. */
    void (*advise)(const struct run *r, char *out, size_t cap);
    /* By rank 0, after the last unit: fails when what was learned is worse than knowing nothing
     * of an example, with advice; NULL: it is not asked. */
    shoal_status (*verdict)(struct run *r);
    /* By rank 0, of a run that keeps metrics, after its last unit: what it learned, for people to
     * look at (learned.h). It asks about LEARNED_EXAMPLES at most. NULL: it shows nothing. */
    shoal_status (*learned)(struct run *r, struct learned *out);
    /* The model as it is now. `last`: the run is over, and may give away what it holds. */
    shoal_status (*result)(struct run *r, bool last, shoal_model **out);
};

/* By the number or the name of shoal_task_at and shoal_task_find; or NULL. */
const struct task *task_at(size_t i);
const struct task *task_find(const char *name);

extern const struct task task_cbow, task_skipgram, task_logreg, task_mlp, task_nextword, task_vgg;
extern const struct task task_multinomial, task_classify;

/* ---- option_groups.c ------------------------------------------------------------------ */

/* Those of every task; and those of every net. */
void task_common_defaults(struct train_opts *o);
void task_net_defaults(struct train_opts *o);
/* A model that is no vectors goes to a file. */
shoal_status task_file_check(const shoal_options *o);

/* Tables of struct train_opts. */
extern const struct shoal_option words_run_options[], rows_run_options[], net_run_options[];
extern const struct shoal_option rows_machine_options[], net_machine_options[];
extern const struct shoal_option net_training_options[], table_net_training_options[];
extern const struct shoal_option task_output_options[];
extern const struct shoal_option net_output_options[];
extern const struct shoal_option words_ranks_options[], rows_ranks_options[], net_ranks_options[];

extern const struct shoal_choice schedule_choices[], lr_scaling_choices[], valid_places[];
extern const struct shoal_own_type option_share_type, option_auto_share_type;
extern const struct shoal_own_type option_early_type, option_decay_type, option_span_type;

/* Epochs for so many examples: as many as make `visits`, within limits. */
unsigned settle_epochs(uint64_t examples, uint64_t visits, unsigned most);
/* A share is held out, and early stopping, where epochs were chosen and nobody said otherwise. */
void settle_early_stop(struct train_opts *o, const struct shoal_sources *data, uint64_t examples,
                       bool chosen);

#define ENCODED_TEXT_HELP                                                                          \
    "text: files, folders (all files below them), quoted globs, or - for standard input; gzip, "   \
    "zstd, bzip2 and xz are recognised by content; or one corpus from `shoal encode`"
#define GOES_ON                                                                                    \
    "\nWith --checkpoint a run that was stopped, by Ctrl-C or by a crash, goes on with `shoal "    \
    "train --resume DIR`."

/* ---- Options of several tables -------------------------------------------------------- */

#define ON(member) SHOAL_FIELD(struct train_opts, member)

/* clang-format off */
#define OUTPUT_OPTION(said)                                                                        \
    {"output", 'o', SHOAL_TYPE_PATH, ON(output), .arg = "FILE", .required = true, .written = true, \
     .help = said}
#define EPOCHS_OPTION                                                                              \
    {"epochs", .type = SHOAL_TYPE_COUNT, ON(epochs), .decides = true, .arg = "N",                  \
     .u = {1, 1000000}, .help = "times through the data"}
#define EPOCHS_AUTO_OPTION                                                                         \
    {"epochs", .type = SHOAL_TYPE_COUNT, ON(epochs), .decides = true, .arg = "N",                  \
     .u = {0, 1000000}, .help = "times through the data",                                          \
     .zero = "more where there are few rows, with early stopping"}
#define EARLY_STOP_OPTION                                                                          \
    {"early-stop", .type = SHOAL_TYPE_OWN, ON(early_stop), .decides = true, .arg = "N",            \
     .own = &option_early_type, .help = "early stopping: after so many evaluations without a "     \
     "better validation loss, whose best parameters are then kept; 0: never; auto: where the "     \
     "number of epochs is chosen"}
#define STEPS_OPTION(said)                                                                         \
    {"steps", .type = SHOAL_TYPE_COUNT, ON(steps), .decides = true, .arg = "N",                    \
     .u = {0, 1000000000}, .help = "instead of --epochs: " said, .zero = "as --epochs says"}
#define BATCH_OPTION(most, said)                                                                   \
    {"batch", .type = SHOAL_TYPE_COUNT, ON(batch), .decides = true, .arg = "N",                    \
     .u = {1, most}, .help = said}
#define OPTIMIZER_OPTION(list, first, said)                                                        \
    {"optimizer", .type = SHOAL_TYPE_CHOICE, ON(optimizer), .decides = true, .arg = "NAME",        \
     .choices = list, .u = {.min = first}, .help = said}
#define LR_OPTION(usual)                                                                           \
    {"lr", .type = SHOAL_TYPE_REAL, ON(lr), .decides = true, .arg = "RATE", .d = {0, 1000},        \
     .help = "the learning rate at the start", .zero = usual}
#define LR_SCALING_OPTION                                                                          \
    {"lr-scaling", .type = SHOAL_TYPE_CHOICE, ON(lr_scaling), .decides = true, .arg = "HOW",       \
     .choices = lr_scaling_choices,                                                                \
     .help = "whether several ranks multiply the learning rate, to make up for what they average"}
#define SCHEDULE_OPTION(said)                                                                      \
    {"schedule", .type = SHOAL_TYPE_CHOICE, ON(schedule), .decides = true, .arg = "NAME",          \
     .choices = schedule_choices, .help = said}
#define DECAY_OPTION                                                                               \
    {"decay", .type = SHOAL_TYPE_REAL, ON(decay), .decides = true, .arg = "X", .d = {0, 1e6},      \
     .help = "how fast it falls (inverse-time)"}
#define SEED_OPTION                                                                                \
    {"seed", .type = SHOAL_TYPE_COUNT, ON(seed), .decides = true, .arg = "N",                      \
     .u = {0, UINT64_MAX}, .help = "of everything random"}

#define SHUFFLE_OPTION(said)                                                                       \
    {"shuffle", .type = SHOAL_TYPE_FLAG, ON(in_order), .decides = true, .inverse = true,           \
     .help = said}

/* What is held out: a share, under the name that the task has for it; or a file. */
#define HELD_OPTION(called, said)                                                                  \
    {called, .type = SHOAL_TYPE_OWN, ON(valid), .decides = true, .arg = "SHARE",                   \
     .own = &option_share_type, .help = said}
#define VALID_OF_TEXT_OPTION(said) HELD_OPTION("valid", said)
#define VALID_SHARE_OPTION(said) HELD_OPTION("valid-share", said)
#define VALID_AUTO_SHARE_OPTION(said)                                                              \
    {"valid-share", .type = SHOAL_TYPE_OWN, ON(valid), .decides = true, .arg = "SHARE",            \
     .own = &option_auto_share_type, .help = said}
#define VALID_AT_OPTION                                                                            \
    {"valid-at", .type = SHOAL_TYPE_CHOICE, ON(valid_at), .decides = true, .arg = "WHERE",        \
     .choices = valid_places, .help = "where the share that is held out stands"}
#define VALID_FILE_OPTION(said)                                                                    \
    {"valid", .type = SHOAL_TYPE_PATH, ON(valid_path), .arg = "FILE", .help = said}

#define START_OPTION(said)                                                                         \
    {"start-from", .type = SHOAL_TYPE_PATH, ON(start), .arg = "FILE", .help = said}
#define HIDDEN_OPTION(least, most, said, none)                                                     \
    {"hidden", .type = SHOAL_TYPE_COUNT, ON(hidden), .decides = true, .arg = "N",                  \
     .u = {least, most}, .help = said, .zero = none}

/* After what a net's task has of its own. */
#define NET_GROUPS(training)                                                                       \
    {"Training", training, .at = 0}, {"Machine", net_machine_options, .at = 0},                    \
    {"Checkpoints and metrics", net_run_options, .at = 0},                                         \
    {"Several ranks", net_ranks_options, .at = 0}
/* clang-format on */

#endif
