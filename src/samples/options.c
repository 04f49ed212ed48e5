/* How samples are read: the table of their options. */
#include "samples/samples.h"

#define SAMPLES(member) SHOAL_FIELD(struct shoal_samples_opts, member)

const struct shoal_option shoal_samples_options[] = {
    {"targets", .type = SHOAL_TYPE_COUNT, SAMPLES(targets), .arg = "N", .u = {1, 1 << 20},
     .help = "so many columns are targets (regression), from the label's on or the last ones"},
    {"labels", .type = SHOAL_TYPE_PATH, SAMPLES(labels), .arg = "FILE",
     .help = "read classes or targets from a file of their own"},
    {0},
};
