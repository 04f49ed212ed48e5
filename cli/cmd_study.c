/* shoal study: a grid of trainings, each a command of this very program. */
#include "cmd.h"
#include "study.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Words with commas between them; `text` holds them, each ended. */
struct names {
    char text[512];
    size_t at[SHOAL_STUDY_AXIS]; /* where in text each begins */
    size_t n;
};

/* A loss, and which. */
struct target {
    double loss; /* NaN: none */
    enum shoal_target of;
};

struct study_cmd {
    struct shoal_study_opts grid; /* but for what comes next */
    struct names sync;
    struct target target;
    const char *output;
    const char *plots;
    const char *simulate;
    unsigned jobs;
    struct work_opts work;
};

static void study_defaults(void *at)
{
    *(struct study_cmd *)at = (struct study_cmd){
        .grid = shoal_study_default(), .target = {.loss = (double)NAN}, .jobs = 1};
}

/* ---- Values of its own ------------------------------------------------------------- */

/* Counts with commas between them. */
static bool read_axis(void *field, const char *text, unsigned long long least)
{
    struct shoal_axis list = {.n = 0};

    for (;;) {
        char *end;
        unsigned long long x;

        errno = 0;
        x = strtoull(text, &end, 10);
        if (end == text || *text < '0' || *text > '9' || errno || x < least || x > 1000000 ||
            list.n == SHOAL_STUDY_AXIS || (*end && *end != ','))
            return false;
        list.at[list.n++] = x;
        if (!*end)
            break;
        text = end + 1;
    }
    *(struct shoal_axis *)field = list;
    return true;
}

static bool read_counts(void *field, const char *text)
{
    return read_axis(field, text, 1);
}

static bool read_servers(void *field, const char *text)
{
    return read_axis(field, text, 0);
}

static void show_counts(char text[SHOAL_VALUE], const void *field)
{
    const struct shoal_axis *list = field;
    size_t len = 0;

    snprintf(text, SHOAL_VALUE, "the model's own");
    for (size_t i = 0; i < list->n && len < SHOAL_VALUE; i++)
        len += (size_t)snprintf(text + len, SHOAL_VALUE - len, "%s%llu", i ? "," : "",
                                (unsigned long long)list->at[i]);
}

static const struct shoal_own_type counts_custom = {
    read_counts, show_counts, "whole numbers with commas between, such as 1,2,4", NULL};

static void show_servers(char text[SHOAL_VALUE], const void *field)
{
    show_counts(text, field);
    if (((const struct shoal_axis *)field)->n == 0)
        snprintf(text, SHOAL_VALUE, "none");
}

static const struct shoal_own_type servers_custom = {
    read_servers, show_servers, "whole numbers with commas between, such as 0,1", NULL};

static bool read_names(void *field, const char *text)
{
    struct names list = {.n = 0};
    char *rest = list.text, *word;

    if (strlen(text) >= sizeof list.text)
        return false;
    snprintf(list.text, sizeof list.text, "%s", text);
    while ((word = strsep(&rest, ",")) != NULL) {
        if (!*word || list.n == SHOAL_STUDY_AXIS)
            return false;
        list.at[list.n++] = (size_t)(word - list.text);
    }
    *(struct names *)field = list;
    return true;
}

static void show_names(char text[SHOAL_VALUE], const void *field)
{
    (void)field;
    snprintf(text, SHOAL_VALUE, "the model's own");
}

static const struct shoal_own_type names_custom = {
    read_names, show_names, "policies with commas between, such as async,sync",
    "async bounded: sync average:"};

static bool read_loss(void *field, const char *text)
{
    char *end;
    double x = strtod(text, &end);

    if (end == text || *end || !isfinite(x))
        return false;
    *(double *)field = x;
    return true;
}

static void show_loss(char text[SHOAL_VALUE], const void *field)
{
    if (isnan(*(const double *)field))
        snprintf(text, SHOAL_VALUE, "none");
    else
        snprintf(text, SHOAL_VALUE, "%g", *(const double *)field);
}

static const struct shoal_own_type loss_custom = {read_loss, show_loss, "a number", NULL};

/* "valid:5.5", "train:5.5" */
static bool read_target(void *field, const char *text)
{
    struct target t = {.of = SHOAL_TARGET_VALID};

    if (strncmp(text, "train:", 6) == 0)
        t.of = SHOAL_TARGET_TRAIN;
    else if (strncmp(text, "valid:", 6) != 0)
        return false;
    if (!read_loss(&t.loss, text + 6))
        return false;
    *(struct target *)field = t;
    return true;
}

static void show_target(char text[SHOAL_VALUE], const void *field)
{
    show_loss(text, &((const struct target *)field)->loss);
}

static const struct shoal_own_type target_custom = {read_target, show_target,
                                                    "a loss such as valid:5.5 or train:5.5",
                                                    "valid: train:"};

/* ---- The grid ------------------------------------------------------------------------ */

/* What follows the data and begins with a dash is for `shoal train`: only words behind
 * `--` can. */
static size_t data_end(const char *const *args, size_t nargs)
{
    size_t n = 1;

    while (n < nargs && (args[n][0] != '-' || !args[n][1]))
        n++;
    return n;
}

static struct shoal_study_opts grid_of(const struct study_cmd *cmd, const char *const *args,
                                       size_t nargs)
{
    struct shoal_study_opts o = cmd->grid;
    size_t end = data_end(args, nargs);

    o.model = args[0];
    o.data = args + 1;
    o.ndata = end - 1;
    o.more = args + end;
    o.nmore = nargs - end;
    o.nsync = cmd->sync.n;
    for (size_t i = 0; i < o.nsync; i++)
        o.sync[i] = cmd->sync.text + cmd->sync.at[i];
    if (!isnan(cmd->target.loss)) {
        o.target_loss = cmd->target.loss;
        o.target_of = cmd->target.of;
    }
    return o;
}

/* ---- One run ---------------------------------------------------------------------------- */

static shoal_status run_one(struct console *c, shoal_study *study,
                            const struct shoal_study_run *run)
{
    double began = clock_seconds();
    char text[192], why[CHILD_WHY];
    shoal_status st;

    snprintf(text, sizeof text, "%zu of %zu: %s, run %u", shoal_study_finished(study) + 1,
             shoal_study_runs(study), run->name, run->repeat);
    console_progress_text(c, "study", text);
    st = child_run(run, true, why);
    if (st == SHOAL_OK)
        st = shoal_study_ended(study, run->number, clock_seconds() - began, why[0] ? why : NULL);
    if (st == SHOAL_OK && why[0])
        console_log(c, STYLE_YELLOW, "%s: failed: %s", text, why);
    return st;
}

/* ---- The study ------------------------------------------------------------------------------ */

static shoal_status run_all(struct console *c, shoal_study *study)
{
    struct shoal_study_run run;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && shoal_study_next(study, &run, &st))
        st = run_one(c, study, &run);
    return st;
}

static void print_predictions(struct console *c, const struct shoal_cluster *cluster,
                              const char *text)
{
    fprintf(c->reports, "\nPredicted for ");
    print_word(c->reports, cluster->name);
    fprintf(c->reports, ":\n");
    if (*text)
        print_text(c->reports, text);
    else
        fprintf(c->reports, "nothing: that needs runs of 1 rank, and without SimGrid of several\n");
}

static shoal_status show(struct console *c, const shoal_study *study, const struct study_cmd *cmd,
                         const struct shoal_cluster *cluster)
{
    char *table = NULL, *predicted = NULL;
    shoal_status st = shoal_study_table(&table, study, console_columns(c));

    if (st == SHOAL_OK)
        st = shoal_study_report(study, cmd->plots, cluster);
    if (st == SHOAL_OK && cluster)
        st = shoal_study_predictions(&predicted, study, cluster);
    if (st == SHOAL_OK && c->reports) {
        console_heading(c, "Study");
        print_text(c->reports, table); /* what a run said may hold anything */
        if (cluster)
            print_predictions(c, cluster, predicted);
        print_line(c->reports, "\n%s: study.json, study.csv, %sreport.html\n", cmd->output,
                   cluster ? "predicted.csv, " : "");
        if (cmd->plots)
            report_plots(c, cmd->plots);
    }
    free(table);
    free(predicted);
    return st;
}

/* A study with a cell that failed is a failure, which names the first of them. */
static shoal_status check_cells(const shoal_study *study)
{
    size_t cells = 0, failed = 0;
    struct shoal_study_cell cell, first = {0};
    char name[sizeof((struct shoal_study_run *)NULL)->name] = "";

    for (size_t i = 0; shoal_study_cell(study, i, &cell); i++) {
        cells += cell.twin == i;
        if (cell.failed == 0 || cell.twin != i)
            continue;
        if (failed++ > 0)
            continue;
        first = cell;
        shoal_study_name(study, i, name);
    }
    if (failed == 0)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "study: %zu of %zu cell%s failed%s: %s: %s", failed, cells,
                      cells == 1 ? "" : "s", failed > 1 ? ", the first of them" : "", name,
                      first.failure ? first.failure : "nobody knows");
}

/* One target, whichever way it is said. */
static shoal_status check_target(const struct study_cmd *cmd)
{
    if (!isnan(cmd->target.loss) && !isnan(cmd->grid.target_loss))
        return shoal_fail(SHOAL_EINVAL,
                          "study: found --target-loss and --target, want one of them");
    return SHOAL_OK;
}

static int study_run(const void *at, const char *const *args, size_t nargs)
{
    const struct study_cmd *cmd = at;
    struct shoal_study_opts grid = grid_of(cmd, args, nargs);
    struct console console;
    struct shoal_cluster cluster;
    shoal_study *study = NULL;
    shoal_status st = check_target(cmd);

    console_init(&console, cmd->work.quiet, NULL);
    if (st == SHOAL_OK && cmd->simulate)
        st = shoal_cluster_read(&cluster, cmd->simulate);
    if (st == SHOAL_OK)
        st = shoal_study_open(&study, cmd->output, &grid);
    if (st == SHOAL_OK && shoal_study_finished(study) > 0)
        console_log(&console, STYLE_DIM, "%s: going on, %zu of %zu runs are done", cmd->output,
                    shoal_study_finished(study), shoal_study_runs(study));
    if (st == SHOAL_OK)
        st = run_all(&console, study);
    if (st == SHOAL_OK && cmd->simulate)
        st = study_simulate(&console, study, &cluster, cmd->jobs);
    if (st == SHOAL_OK)
        st = show(&console, study, cmd, cmd->simulate ? &cluster : NULL);
    if (st == SHOAL_OK)
        st = check_cells(study);
    shoal_study_close(study);
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct study_cmd, member)

static const struct shoal_choice kind_choices[] = {
    {"ranks", "a process, as `shoal train --ranks` starts them, with one thread"},
    {"threads", "a thread of one process"},
    {NULL, NULL},
};

static const struct shoal_choice scaling_choices[] = {
    {"strong", "the same work for any number of workers"},
    {"weak", "n workers do n times the work"},
    {"both", "one after the other"},
    {NULL, NULL},
};

static const struct shoal_option output_opts[] = {
    {"output", 'o', SHOAL_TYPE_PATH, ON(output), .arg = "DIR", .required = true,
     .help = "the folder of the study; one that was interrupted goes on"},
    {"plots", .type = SHOAL_TYPE_PATH, ON(plots), .arg = "DIR",
     .help = "also each chart as an SVG and a PNG file in this folder"},
    {0},
};

static const struct shoal_option grid_opts[] = {
    {"workers", .type = SHOAL_TYPE_OWN, ON(grid.workers), .arg = "N,...", .own = &counts_custom,
     .help = "numbers of workers, rising, servers not counted"},
    {"servers", .type = SHOAL_TYPE_OWN, ON(grid.servers), .arg = "N,...", .own = &servers_custom,
     .help = "ranks beside the workers that only keep parameters, as `shoal train --servers`"},
    {"kind", .type = SHOAL_TYPE_CHOICE, ON(grid.worker), .arg = "NAME", .choices = kind_choices,
     .help = "what a worker is"},
    {"sync", .type = SHOAL_TYPE_OWN, ON(sync), .arg = "HOW,...", .own = &names_custom,
     .help = "policies of `shoal train --sync`"},
    {"batch", .type = SHOAL_TYPE_OWN, ON(grid.batch), .arg = "N,...", .own = &counts_custom,
     .help = "batches of a step"},
    {"scaling", .type = SHOAL_TYPE_CHOICE, ON(grid.scaling), .arg = "NAME",
     .choices = scaling_choices, .help = "what more workers do"},
    {"epochs", .type = SHOAL_TYPE_COUNT, ON(grid.epochs), .arg = "N", .u = {0, 100000},
     .help = "times through the data, for one worker", .zero = "the model's own"},
    {"steps", .type = SHOAL_TYPE_COUNT, ON(grid.steps), .arg = "N", .u = {0, UINT32_MAX},
     .help = "instead of epochs: steps of one worker; strong scaling divides them among the "
             "workers, weak scaling gives each worker as many",
     .zero = "by epochs"},
    {"repeat", .type = SHOAL_TYPE_COUNT, ON(grid.repeat), .arg = "N", .u = {1, SHOAL_STUDY_REPEATS},
     .help = "runs of each cell, one round of the grid after the other; the quickest counts"},
    {"target-loss", .type = SHOAL_TYPE_OWN, ON(grid.target_loss), .arg = "X", .own = &loss_custom,
     .help = "tell when each cell came to this loss: the validation loss where that is measured, "
             "else the training loss"},
    {"target", .type = SHOAL_TYPE_OWN, ON(target), .arg = "WHICH:X", .own = &target_custom,
     .help = "likewise, of the loss that you name: valid:X or train:X"},
    {0},
};

static const struct shoal_option beyond_opts[] = {
    {"simulate", .type = SHOAL_TYPE_PATH, ON(simulate), .arg = "FILE",
     .help = "predict time, speedup and quality on the cluster that this JSON file describes: by "
             "training under SimGrid with simulated time where it is installed, else by a "
             "formula; runs of 1 rank, and of several for the formula, calibrate both"},
    {"jobs", .type = SHOAL_TYPE_COUNT, ON(jobs), .arg = "N", .u = {1, 64},
     .help = "so many of these simulations at a time; each takes a core and the memory of all its "
             "ranks"},
    {0},
};

const struct verb cmd_study = {
    .name = "shoal study",
    .summary = "measure how training scales, over a grid of runs",
    .about =
        "Trains the model for each number of workers, policy and batch, several times, and tells "
        "for each cell its time, speed, speedup and efficiency, loss and quality, what was sent, "
        "how stale it was, where the time went and what limits it: as a table, as study.csv and "
        "study.json, and drawn in report.html.\n"
        "Words behind `--` go to `shoal train` as they are. A study that was interrupted goes on "
        "with the same command; cells that failed are tried again then. One with a cell that "
        "failed ends with exit code 1, after its report.",
    .operands =
        (const struct operand[]){
            {.name = "MODEL", .help = "a model that `shoal train` knows: cbow, logreg, mlp, ..."},
            {"DATA", "its inputs, and behind `--` further options for `shoal train`", .many = true},
            {0},
        },
    .groups =
        (const struct shoal_option_group[]){
            {"Output", output_opts, .at = 0},
            {"The grid", grid_opts, .at = 0},
            {"Beyond this machine", beyond_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct study_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal study cbow text.shoal --workers 1,2,4 --sync async,sync -o study",
             "three numbers of ranks, two policies"},
            {"shoal study cbow text.shoal --workers 1,2,4 --servers 1 --steps 400 --target "
             "valid:5.5 -o servers -- --loss softmax --valid 5%",
             "workers beside one parameter server, and when they reach a loss"},
            {"shoal study logreg clicks.shoal --workers 2 --sync async,sync --batch "
             "1,100,1000,10000 -o batches -- --valid test.tsv",
             "against the batch, with options for `shoal train`"},
            {"shoal study mlp spiral.csv --kind threads --scaling both --epochs 20 -o threads",
             "threads, on the same work and on work that grows"},
            {0},
        },
    .opts_size = sizeof(struct study_cmd),
    .defaults = study_defaults,
    .run = study_run,
};
