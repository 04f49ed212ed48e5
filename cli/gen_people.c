/* shoal gen people: a table of numbers, categories and a label. */
#include "cmd.h"

struct people_cmd {
    struct shoal_gen_people_opts people;
    struct work_opts work;
    const char *output;
};

static void people_defaults(void *at)
{
    *(struct people_cmd *)at =
        (struct people_cmd){.people = shoal_gen_people_default(), .output = "-"};
}

static int people_run(const void *at, const char *const *args, size_t nargs)
{
    const struct people_cmd *cmd = at;
    struct shoal_gen_people_stats stats = {0};
    struct console console;
    char best[32], here[32];
    shoal_status st;

    (void)args;
    (void)nargs;
    console_init(&console, cmd->work.quiet, cmd->output);
    st = shoal_gen_people(cmd->output, &cmd->people, &stats);
    snprintf(best, sizeof best, "%.5f", stats.entropy);
    snprintf(here, sizeof here, "%.5f", stats.logloss);
    if (st == SHOAL_OK) {
        console_row(&console, "rows", number_count(stats.rows).text, NULL);
        console_row(&console, "bought", number_count(stats.positives).text, "%s",
                    number_percent((double)stats.positives, (double)stats.rows).text);
        console_row(&console, "best", best, "log-loss to be expected of the planted weights");
        console_row(&console, "here", here, "their log-loss on these labels");
        console_row(&console, "took", number_seconds(console_seconds(&console)).text, NULL);
    }
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct people_cmd, member)

static const struct shoal_option people_opts[] = {
    {"rows", .type = SHOAL_TYPE_COUNT, ON(people.rows), .arg = "N", .u = {1, 1000000000000},
     .help = "write so many rows"},
    {"first", .type = SHOAL_TYPE_COUNT, ON(people.first), .arg = "N", .u = {0, 1000000000000},
     .help = "begin with row N of the world: rows behind those of a training file test what was "
             "learnt from it"},
    {"seed", .type = SHOAL_TYPE_COUNT, ON(people.seed), .arg = "N", .u = {0, UINT64_MAX},
     .help = "the same seed gives the same rows"},
    {"output", 'o', SHOAL_TYPE_PATH, ON(output), .arg = "FILE",
     .help = "write the table here, - for standard output"},
    {0},
};

const struct verb gen_people = {
    .name = "shoal gen people",
    .summary = "a table of people: numbers, categories, missing fields, an id",
    .about =
        "Writes CSV with a line of names: `person,age,income,hours,city,job,visit,bought`. Who "
        "bought is drawn by planted weights of age, hours, city, job and the logarithm of the "
        "income; `person` is an id and `visit` means nothing. So the best log-loss that can be "
        "reached is known: it is printed.",
    .operands = (const struct operand[]){{0}},
    .groups =
        (const struct shoal_option_group[]){
            {"The table", people_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct people_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal gen people -o people.csv", "20,000 rows"},
            {"shoal gen people --first 20000 --rows 5000 -o test.csv", "and others to test with"},
            {0},
        },
    .opts_size = sizeof(struct people_cmd),
    .defaults = people_defaults,
    .run = people_run,
};
