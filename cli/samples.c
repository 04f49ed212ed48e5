/* How samples are read, by options. */
#include "nets.h"

static const struct choice header_choices[] = {
    [SHOAL_HEADER_AUTO] = {"auto", "the first line is one when it holds no number"},
    [SHOAL_HEADER_YES] = {"yes", "the first line is skipped"},
    [SHOAL_HEADER_NO] = {"no", "the first line is a sample"},
    {0},
};

#define ON(member) FIELD(struct samples_cmd, member)

const struct opt samples_opts[] = {
    {"label", .kind = OPT_U64, ON(label), .arg = "COLUMN", .u = {0, 1 << 24},
     .help = "the column of the class, or of the first target, from 1", .zero = "the last"},
    {"targets", .kind = OPT_U64, ON(targets), .arg = "N", .u = {1, 1 << 20},
     .help = "so many columns are targets (regression)"},
    {"labels", .kind = OPT_PATH, ON(labels), .arg = "FILE",
     .help = "read classes or targets from a file of their own"},
    {"header", .kind = OPT_CHOICE, ON(header), .arg = "HOW", .choices = header_choices,
     .help = "whether CSV has a line of names"},
    {0},
};

void samples_defaults(struct samples_cmd *cmd)
{
    *cmd = (struct samples_cmd){.targets = 1};
}

struct shoal_samples_opts samples_reading(const struct samples_cmd *cmd, enum shoal_task task)
{
    struct shoal_samples_opts o = shoal_samples_default();

    o.task = task;
    o.header = cmd->header;
    o.label = cmd->label ? cmd->label - 1 : SHOAL_LAST_COLUMN;
    o.targets = cmd->targets;
    o.labels = cmd->labels;
    return o;
}
