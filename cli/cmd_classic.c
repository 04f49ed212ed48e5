/* shoal classic: a well-known small experiment, whole, by one command. Its runs are commands of
 * this very program. */
#include "cmd.h"
#include "study.h"

#include <stdlib.h>
#include <string.h>

struct classic_cmd {
    const char *data, *output;
    bool quick, list;
    struct work_opts work;
};

/* ---- The list ------------------------------------------------------------------------ */

static int print_list(void)
{
    struct shoal_classic_about about;

    for (size_t i = 0; shoal_classic_at(i, &about); i++)
        printf("%-12s %s\n%-12s --data takes %s\n", about.name, about.summary, "", about.takes);
    return EXIT_DONE;
}

/* ---- A run --------------------------------------------------------------------------- */

/* What is on the screen while a run is under way. */
struct under_way {
    struct console *console;
    const shoal_classic *classic;
    const struct shoal_study_run *run;
};

static void show_progress(void *user)
{
    struct under_way *w = user;
    char text[320], said[128];

    shoal_classic_progress(said, w->classic, w->run->number);
    snprintf(text, sizeof text, "%zu of %zu: %s%s%s", shoal_classic_finished(w->classic) + 1,
             shoal_classic_runs(w->classic), w->run->name, *said ? ", " : "", said);
    console_progress_text(w->console, "classic", text);
}

/* The row of the live table, as soon as there is one. */
static void show_row(struct console *c, const shoal_classic *classic, size_t number)
{
    char line[256];

    shoal_classic_line(line, classic, number);
    if (*line)
        console_log(c, number == SIZE_MAX ? STYLE_BOLD : STYLE_PLAIN, "%s", line);
}

static shoal_status run_one(struct console *c, shoal_classic *classic,
                            const struct shoal_study_run *run)
{
    struct under_way way = {c, classic, run};
    double began = clock_seconds();
    char why[CHILD_WHY];
    shoal_status st;

    show_progress(&way);
    st = child_run_watched(run, true, &(struct child_watch){show_progress, &way}, why);
    if (st == SHOAL_OK)
        st =
            shoal_classic_ended(classic, run->number, clock_seconds() - began, why[0] ? why : NULL);
    if (st == SHOAL_OK && why[0])
        console_log(c, STYLE_YELLOW, "%s: failed: %s", run->name, why);
    if (st == SHOAL_OK)
        show_row(c, classic, run->number);
    return st;
}

static shoal_status run_all(struct console *c, shoal_classic *classic)
{
    struct shoal_study_run run;
    shoal_status st = SHOAL_OK;

    show_row(c, classic, SIZE_MAX);
    while (st == SHOAL_OK && shoal_classic_next(classic, &run, &st))
        st = run_one(c, classic, &run);
    return st;
}

/* ---- The classic --------------------------------------------------------------------- */

static shoal_status show(struct console *c, const shoal_classic *classic, const char *folder)
{
    char *text = NULL;
    shoal_status st = shoal_classic_report(classic);

    if (st == SHOAL_OK)
        st = shoal_classic_text(&text, classic);
    if (st == SHOAL_OK && c->reports) {
        print_text(c->reports, text); /* what a run said may hold anything */
        print_line(c->reports, "\n%s: README.md, report.html, tables, figures\n", folder);
    }
    free(text);
    return st;
}

static bool has_option(const struct verb *verb, const char *name)
{
    struct option_walk w = {0};

    while (option_next(verb->groups, &w))
        if (strcmp(w.opt->name, name) == 0)
            return true;
    return false;
}

static int classic_run(const void *at, const char *const *args, size_t nargs)
{
    const struct classic_cmd *cmd = at;
    struct shoal_classic_opts opts = {
        .data = cmd->data, .quick = cmd->quick, .vector = has_option(&cmd_predict, "vector")};
    struct console console;
    shoal_classic *classic = NULL;
    char folder[128];
    shoal_status st;

    if (cmd->list)
        return print_list();
    if (nargs == 0)
        return usage(&cmd_classic, "found no NAME, want one of `shoal classic --list`");
    opts.name = args[0];
    snprintf(folder, sizeof folder, "classic-%.64s%s", args[0], cmd->quick ? "-quick" : "");
    console_init(&console, cmd->work.quiet, NULL);
    st = shoal_classic_open(&classic, cmd->output ? cmd->output : folder, &opts);
    if (st == SHOAL_OK)
        st = run_all(&console, classic);
    if (st == SHOAL_OK)
        st = show(&console, classic, cmd->output ? cmd->output : folder);
    if (st == SHOAL_OK)
        st = shoal_classic_check(classic);
    shoal_classic_close(classic);
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct classic_cmd, member)

static const struct shoal_option classic_opts[] = {
    {"data", .type = SHOAL_TYPE_PATH, ON(data), .arg = "FILE",
     .help =
         "learn from this instead of generated data: a text, rows of clicks, a CSV of points or "
         "the folder of CIFAR-10, as --list says"},
    {"output", 'o', SHOAL_TYPE_PATH, ON(output), .arg = "DIR",
     .help = "the folder of the results, by itself classic-NAME; one that was interrupted goes on"},
    {"quick", .type = SHOAL_TYPE_FLAG, ON(quick),
     .help = "with little data and few runs, in half a minute: to see what comes out"},
    {"list", .type = SHOAL_TYPE_FLAG, ON(list), .help = "tell which there are, and what they take"},
    {0},
};

const struct verb cmd_classic = {
    .name = "shoal classic",
    .summary = "repeat a well-known experiment, with its tables and pictures",
    .about =
        "Runs one of five well-known small experiments, whole, with its own settings: makes or "
        "takes the data, trains with each number of workers, and writes a folder with README.md, "
        "report.html, every table as text and CSV and every picture as SVG and PNG, the figures of "
        "the original beside them where there are some.\n"
        "One that was interrupted goes on with the same command. When a run fails the others are "
        "told, and the exit code is 1.",
    .operands =
        (const struct operand[]){
            {.name = "NAME", .help = "cbow, classifier, clicks, nextword or vgg", .optional = true},
            {0},
        },
    .groups =
        (const struct shoal_option_group[]){
            {"The experiment", classic_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct classic_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal classic --list", "which there are"},
            {"shoal classic cbow --quick", "a short form, on generated text"},
            {"shoal classic clicks --data train.tsv -o criteo", "the whole one, on Criteo's rows"},
            {0},
        },
    .opts_size = sizeof(struct classic_cmd),
    .run = classic_run,
};
