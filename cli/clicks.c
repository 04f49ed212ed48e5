/* What the verbs that read click data share: options, and what was found. */
#include "cmd.h"

#define ON(member) FIELD(struct shoal_clicks_opts, member)

static const struct choice clicks_choices[] = {
    [SHOAL_CLICKS_AUTO] = {"auto", "by the first line"},
    [SHOAL_CLICKS_LIBSVM] = {"libsvm", "label index:value ..."},
    [SHOAL_CLICKS_VW] = {"vw", "Vowpal Wabbit's: label |space feature:value ..."},
    [SHOAL_CLICKS_CRITEO] = {"criteo", "label, 13 integers and 26 categories between tabs"},
    [SHOAL_CLICKS_CSV] = {"csv", "fields between commas below a line of names"},
    {0},
};

/* clang-format off */
#define AGAIN_OPTS                                                                                 \
    {"format", .kind = OPT_CHOICE, ON(format), .arg = "NAME", .choices = clicks_choices,           \
     .help = "how rows are written"},                                                              \
    {"label", .kind = OPT_STRING, ON(label), .arg = "COLUMN",                                      \
     .help = "the column of labels (csv); otherwise label, click, target or y, or the first"},     \
    {"skip-bad", .kind = OPT_U64, ON(skip_bad), .arg = "N", .u = {0, UINT64_MAX},                  \
     .help = "leave out so many malformed lines at most, and say which"}
/* clang-format on */

const struct opt clicks_again_opts[] = {AGAIN_OPTS, {0}};

const struct opt clicks_opts[] = {
    AGAIN_OPTS,
    {"numeric", .kind = OPT_STRING, ON(numeric), .arg = "COLUMNS",
     .help = "the columns, with commas between, that are numbers and not categories (csv); "
             "otherwise as the first rows suggest"},
    {"bits", .kind = OPT_U64, ON(bits), .arg = "N", .u = {1, 30},
     .help = "hash the features into 2^N slots"},
    {0},
};

void report_clicks(struct console *c, const struct shoal_clicks_stats *s)
{
    console_row(c, "read", number_size(s->bytes).text, "of %s rows in %s file%s",
                shoal_clicks_format_name(s->format), number_count(s->files).text,
                s->files == 1 ? "" : "s");
    console_row(c, "rows", number_count(s->rows).text, "%s of class 1",
                number_percent((double)s->positives, (double)s->rows).text);
    console_row(c, "features", number_count(s->features).text, "%.1f in a row",
                s->rows > 0 ? (double)s->values / (double)s->rows : 0);
}

void warn_clicks(struct console *c, const struct shoal_clicks_stats *s)
{
    for (uint64_t i = 0; i < s->bad_lines && i < SHOAL_CLICKS_SHOWN; i++)
        console_warn(c, "left out: %s", s->bad[i]);
    if (s->bad_lines > SHOAL_CLICKS_SHOWN)
        console_warn(c, "left out: %s lines in all", number_count(s->bad_lines).text);
}
