/* shoal gen news: lines of four topics with their labels. */
#include "cmd.h"

struct news_cmd {
    struct shoal_gen_news_opts news;
    struct work_opts work;
    const char *output;
};

static void news_defaults(void *at)
{
    *(struct news_cmd *)at = (struct news_cmd){.news = shoal_gen_news_default(), .output = "-"};
}

static int news_run(const void *at, const char *const *args, size_t nargs)
{
    const struct news_cmd *cmd = at;
    struct shoal_gen_news_stats stats = {0};
    struct console console;
    shoal_status st;

    (void)args;
    (void)nargs;
    console_init(&console, cmd->work.quiet, cmd->output);
    st = shoal_gen_news(cmd->output, &cmd->news, &stats);
    if (st == SHOAL_OK) {
        console_row(&console, "lines", number_count(stats.lines).text, NULL);
        console_row(&console, "wrong", number_count(stats.wrong).text,
                    "have another label than their topic: %s, which nobody can know",
                    number_percent((double)stats.wrong, (double)stats.lines).text);
        console_row(&console, "took", number_seconds(console_seconds(&console)).text, NULL);
    }
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct news_cmd, member)

static const struct shoal_option news_opts[] = {
    {"lines", .type = SHOAL_TYPE_COUNT, ON(news.lines), .arg = "N", .u = {1, 1000000000000},
     .help = "write so many lines"},
    {"first", .type = SHOAL_TYPE_COUNT, ON(news.first), .arg = "N", .u = {0, 1000000000000},
     .help = "begin with line N of the world: lines behind those of a training file test what was "
             "learnt from it"},
    {"csv", .type = SHOAL_TYPE_FLAG, ON(news.csv),
     .help = "write a table with the columns label and text"},
    {"seed", .type = SHOAL_TYPE_COUNT, ON(news.seed), .arg = "N", .u = {0, UINT64_MAX},
     .help = "the same seed gives the same lines"},
    {"output", 'o', SHOAL_TYPE_PATH, ON(output), .arg = "FILE",
     .help = "write the lines here, - for standard output"},
    {0},
};

const struct verb gen_news = {
    .name = "shoal gen news",
    .summary = "lines of four topics with their labels",
    .about = "Writes lines `__label__Sports words ...` as fastText reads them, or CSV. Most words are "
             "shared by all topics, some belong to the line's own, a few to another one, and a "
             "share of the labels is wrong: a good classifier is right about nine times of ten.",
    .operands = (const struct operand[]){{0}},
    .groups =
        (const struct shoal_option_group[]){
            {"The lines", news_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct news_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal gen news -o news.txt", "20,000 lines"},
            {"shoal gen news --first 20000 --lines 5000 -o test.txt", "and others to test with"},
            {0},
        },
    .opts_size = sizeof(struct news_cmd),
    .defaults = news_defaults,
    .run = news_run,
};
