/* shoal gen pictures: stripes in ten directions, as CIFAR-10 keeps its pictures. */
#include "cmd.h"

struct pictures_cmd {
    struct shoal_pictures_opts pictures;
    struct work_opts work;
    const char *output;
};

static void pictures_defaults(void *at)
{
    *(struct pictures_cmd *)at = (struct pictures_cmd){.pictures = shoal_pictures_default()};
}

static int pictures_run(const void *at, const char *const *args, size_t nargs)
{
    const struct pictures_cmd *cmd = at;
    struct console console;
    shoal_status st;

    (void)args;
    (void)nargs;
    console_init(&console, cmd->work.quiet, NULL);
    st = shoal_pictures_write(cmd->output, &cmd->pictures);
    if (st == SHOAL_OK) {
        console_row(&console, "pictures", number_count(cmd->pictures.train).text,
                    "in 10 classes, and %s to test", number_count(cmd->pictures.test).text);
        console_row(&console, "took", number_seconds(console_seconds(&console)).text, NULL);
    }
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct pictures_cmd, member)

static const struct shoal_option pictures_opts[] = {
    {"train", .type = SHOAL_TYPE_COUNT, ON(pictures.train), .arg = "N",
     .u = {10, SHOAL_PICTURES_MOST}, .help = "write so many to learn from, the classes in turn"},
    {"test", .type = SHOAL_TYPE_COUNT, ON(pictures.test), .arg = "N", .u = {0, 10000},
     .help = "and so many others to test"},
    {"noise", .type = SHOAL_TYPE_REAL, ON(pictures.noise), .arg = "X", .d = {0, 1},
     .help = "how far a pixel strays, as a share of its range"},
    {"seed", .type = SHOAL_TYPE_COUNT, ON(pictures.seed), .arg = "N", .u = {0, UINT64_MAX},
     .help = "the same seed gives the same bytes"},
    {"output", 'o', SHOAL_TYPE_PATH, ON(output), .arg = "DIR", .required = true,
     .help = "write data_batch_N.bin and test_batch.bin into this folder"},
    {0},
};

const struct verb gen_pictures = {
    .name = "shoal gen pictures",
    .summary = "pictures of stripes, a class for each direction",
    .about = "Writes pictures of 32 x 32 pixels in the binary format of CIFAR-10, for `shoal train "
             "vgg` to be tried without it. Stripes run in one of ten directions, the class, with "
             "colours and noise at random.",
    .operands = (const struct operand[]){{0}},
    .groups =
        (const struct shoal_option_group[]){
            {"Pictures", pictures_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct pictures_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal gen pictures --train 5000 --test 1000 -o pictures", "some thousand"},
            {0},
        },
    .opts_size = sizeof(struct pictures_cmd),
    .defaults = pictures_defaults,
    .run = pictures_run,
};
