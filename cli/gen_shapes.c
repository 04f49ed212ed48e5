/* shoal gen spiral, shoal gen blobs: points of the plane in classes. */
#include "cmd.h"

struct shapes_cmd {
    struct shoal_shapes_opts shapes;
    struct work_opts work;
    const char *output;
};

static void spiral_defaults(void *at)
{
    *(struct shapes_cmd *)at =
        (struct shapes_cmd){.shapes = shoal_shapes_default(SHOAL_SPIRAL), .output = "-"};
}

static void blobs_defaults(void *at)
{
    *(struct shapes_cmd *)at =
        (struct shapes_cmd){.shapes = shoal_shapes_default(SHOAL_BLOBS), .output = "-"};
}

static int shapes_run(const void *at, const char *const *args, size_t nargs)
{
    const struct shapes_cmd *cmd = at;
    struct console console;
    shoal_status st;

    (void)args;
    (void)nargs;
    console_init(&console, cmd->work.quiet, cmd->output);
    st = shoal_shapes_write(cmd->output, &cmd->shapes);
    if (st == SHOAL_OK) {
        console_row(&console, "samples", number_count(cmd->shapes.samples).text, "in %u classes",
                    cmd->shapes.classes);
        console_row(&console, "took", number_seconds(console_seconds(&console)).text, NULL);
    }
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct shapes_cmd, member)

#define SHAPE_OPTS(noise_help)                                                                     \
    {"samples",  .type = SHOAL_TYPE_COUNT, ON(shapes.samples),                                     \
     .arg = "N", .u = {2, 4000000000},     .help = "write so many, the classes in turn"},          \
        {"classes",  .type = SHOAL_TYPE_COUNT, ON(shapes.classes),                                 \
         .arg = "N", .u = {2, 1000},           .help = "of so many classes"},                      \
        {"noise",    .type = SHOAL_TYPE_REAL, ON(shapes.noise),                                    \
         .arg = "X", .d = {0, 100},           .help = noise_help},                                 \
        {"seed",     .type = SHOAL_TYPE_COUNT, ON(shapes.seed),                                    \
         .arg = "N", .u = {0, UINT64_MAX},     .help = "the same seed gives the same bytes"},      \
        {"output",   'o',           SHOAL_TYPE_PATH,                                               \
         ON(output), .arg = "FILE", .help = "write the samples here, - for standard output"},      \
    {                                                                                              \
        0                                                                                          \
    }

static const struct shoal_option spiral_opts[] = {
    SHAPE_OPTS("how far the angle of a point strays, in radians")};
static const struct shoal_option blobs_opts[] = {
    SHAPE_OPTS("how far points stray from the middle of their blob")};

#define SHAPE_GROUPS(opts)                                                                         \
    (const struct shoal_option_group[])                                                            \
    {                                                                                              \
        {"The samples", opts, .at = 0},                                                            \
            {"General", work_opts, .at = offsetof(struct shapes_cmd, work)}, {0},                  \
    }

const struct verb gen_spiral = {
    .name = "shoal gen spiral",
    .summary = "points on the arms of a spiral, a class for each arm",
    .about = "Writes lines `x,y,class`. The arms wind around each other, so that no straight line "
             "parts them.",
    .operands = (const struct operand[]){{0}},
    .groups = SHAPE_GROUPS(spiral_opts),
    .examples =
        (const struct shoal_example[]){
            {"shoal gen spiral --samples 40000 --classes 4 -o spiral.csv", "four arms"},
            {0},
        },
    .opts_size = sizeof(struct shapes_cmd),
    .defaults = spiral_defaults,
    .run = shapes_run,
};

const struct verb gen_blobs = {
    .name = "shoal gen blobs",
    .summary = "points around centres on a circle, a class for each centre",
    .about = "Writes lines `x,y,class`. The centres lie on a circle of radius 1; points stray from "
             "theirs as the normal distribution has it.",
    .operands = (const struct operand[]){{0}},
    .groups = SHAPE_GROUPS(blobs_opts),
    .examples =
        (const struct shoal_example[]){
            {"shoal gen blobs --samples 40000 --classes 4 -o blobs.csv", "four blobs"},
            {0},
        },
    .opts_size = sizeof(struct shapes_cmd),
    .defaults = blobs_defaults,
    .run = shapes_run,
};
