/* Option groups that several verbs offer. */
#include "cmd.h"

const struct shoal_option work_opts[] = {
    {"quiet", 'q', SHOAL_TYPE_FLAG, SHOAL_FIELD(struct work_opts, quiet),
     .help = "print only warnings and failures"},
    {"help", 'h', SHOAL_TYPE_HELP, .help = "explain this verb"},
    {0},
};

const struct shoal_option help_opts[] = {
    {"help", 'h', SHOAL_TYPE_HELP, .help = "explain this verb"},
    {0},
};
