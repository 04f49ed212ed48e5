/* shoal report: draw runs that were measured before. */
#include "cmd.h"

struct report_cmd {
    const char *output;
    const char *title;
    const char *plots;
    struct work_opts work;
};

static shoal_status write_report(const struct report_cmd *cmd, const char *const *args,
                                 size_t nargs)
{
    struct shoal_report_opts opts = shoal_report_default();
    shoal_run *runs[SHOAL_REPORT_RUNS] = {0};
    shoal_status st = SHOAL_OK;

    opts.title = cmd->title;
    opts.plots = cmd->plots;
    if (nargs > SHOAL_REPORT_RUNS)
        st = shoal_fail(SHOAL_EINVAL, "report: found %zu files, want at most %d", nargs,
                        SHOAL_REPORT_RUNS);
    for (size_t i = 0; i < nargs && st == SHOAL_OK; i++)
        st = shoal_run_read(&runs[i], args[i]);
    if (st == SHOAL_OK)
        st = shoal_report_write(cmd->output, (const shoal_run *const *)runs, nargs, &opts);
    for (size_t i = 0; i < SHOAL_REPORT_RUNS; i++)
        shoal_run_free(runs[i]);
    return st;
}

static int report_run(const void *at, const char *const *args, size_t nargs)
{
    const struct report_cmd *cmd = at;
    struct console console;
    shoal_status st;

    console_init(&console, cmd->work.quiet, cmd->output);
    st = write_report(cmd, args, nargs);
    if (st == SHOAL_OK) {
        console_row(&console, "report", cmd->output, NULL);
        if (cmd->plots)
            report_plots(&console, cmd->plots);
    }
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct report_cmd, member)

static const struct shoal_option report_opts[] = {
    {"output", 'o', SHOAL_TYPE_PATH, ON(output), .arg = "FILE", .required = true,
     .help = "write the page here"},
    {"plots", .type = SHOAL_TYPE_PATH, ON(plots), .arg = "DIR",
     .help = "also each chart as an SVG and a PNG file in this folder"},
    {"title", .type = SHOAL_TYPE_TEXT, ON(title), .arg = "TEXT", .help = "what the page is called"},
    {0},
};

const struct verb cmd_report = {
    .name = "shoal report",
    .summary = "draw the metrics of runs as one page",
    .about = "Reads what `shoal train --metrics FILE` wrote, of one run or of several to compare, "
             "and writes one HTML file that needs no other: loss and quality against time and "
             "against examples, speed, learning rate, memory, and where the time of each rank "
             "went. A run that is not over, or was killed, can be drawn too.",
    .operands =
        (const struct operand[]){
            {"METRICS", "files that `shoal train --metrics` wrote", .many = true},
            {0},
        },
    .groups =
        (const struct shoal_option_group[]){
            {"Output", report_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct report_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal report metrics.jsonl -o report.html", "one run"},
            {"shoal report a.jsonl b.jsonl -o both.html --plots figures",
             "two runs in one chart, and the charts as files"},
            {0},
        },
    .opts_size = sizeof(struct report_cmd),
    .run = report_run,
};
