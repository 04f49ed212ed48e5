/* shoal predict: what does a model say of this? The model's file says which kind it
 * is, and so what the inputs are. */
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct predict_cmd {
    struct shoal_ask_opts ask;
        struct work_opts work;
    const char *output; /* NULL: standard output */
};

static void predict_defaults(void *at)
{
    struct predict_cmd *cmd = at;

    *cmd = (struct predict_cmd){.ask = shoal_ask_default()};
}

/* What is asked of whom, and where the answers go. */
struct prediction {
    const struct predict_cmd *cmd;
    const shoal_model *model;
    const char *const *inputs;
    size_t ninputs;
    struct console *console;
};

static bool put_lines(void *user, const char *text, size_t len)
{
    FILE *to = user;

    (void)len;
    print_text(to, text);
    return fflush(to) == 0 && !signal_came();
}

static shoal_status predict(const struct prediction *p, FILE *to)
{
    struct shoal_ask_opts ask = p->cmd->ask;
    struct shoal_clicks_stats stats = {0};
    shoal_status st;

    ask.samples.task = SHOAL_INPUTS;
    st = shoal_model_predict(p->model, p->inputs, p->ninputs, &ask, put_lines, to, &stats);
    if (ferror(to))
        st = shoal_fail(SHOAL_EIO, "%s: %s", p->cmd->output ? p->cmd->output : "standard output",
                        strerror(errno));
    warn_clicks(p->console, &stats);
    return st;
}

/* ---- Into a file --------------------------------------------------------------------- */

/* Others may read answers as they could those that are replaced, and as root these stay
 * their owner's; where the group cannot be kept, ours gets what everyone gets. */
static void keep_access(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;

    if (fchown(fd, geteuid() == 0 ? old->st_uid : (uid_t)-1, old->st_gid) != 0)
        mode &= 0707 | (mode & 07) << 3;
    fchmod(fd, mode);
}

/* The temporary file is its owner's alone until it is as open as the one it replaces, or
 * as the umask says. */
static FILE *open_temporary(char *path, const struct stat *old)
{
    mode_t mask = umask(0);
    int fd = mkostemp(path, O_CLOEXEC);
    FILE *to;

    umask(mask);
    if (fd < 0)
        return NULL;
    if (old)
        keep_access(fd, old);
    else
        fchmod(fd, 0666 & ~mask);
    to = fdopen(fd, "w");
    if (!to) {
        close(fd);
        remove(path);
    }
    return to;
}

static shoal_status fail_output(const struct prediction *p)
{
    return shoal_fail(SHOAL_EIO, "%s: %s", p->cmd->output, strerror(errno));
}

/* Answers into a stream that is then closed; NULL: it could not be opened. */
static shoal_status predict_into(const struct prediction *p, FILE *to)
{
    shoal_status st = to ? predict(p, to) : fail_output(p);

    if (to && fclose(to) != 0 && st == SHOAL_OK)
        st = fail_output(p);
    return st;
}

/* Beside `target` until all answers are in it. */
static shoal_status predict_beside(const struct prediction *p, const char *target,
                                   const struct stat *old)
{
    size_t room = strlen(target) + sizeof ".XXXXXX";
    char *path = console_alloc(room);
    FILE *to;
    shoal_status st;

    snprintf(path, room, "%s.XXXXXX", target);
    to = open_temporary(path, old);
    st = predict_into(p, to);
    if (st == SHOAL_OK && rename(path, target) != 0)
        st = fail_output(p);
    if (st != SHOAL_OK && to)
        remove(path);
    free(path);
    return st;
}

/* A file appears when all answers are in it, and a link to one stays a link; a pipe or
 * device is written as we go. */
static shoal_status predict_to_file(const struct prediction *p)
{
    const char *output = p->cmd->output;
    struct stat old;
    bool there = stat(output, &old) == 0;
    char *real;
    shoal_status st;

    if (there && !S_ISREG(old.st_mode))
        return predict_into(p, fopen(output, "we"));
    real = realpath(output, NULL);
    if (!real && errno != ENOENT)
        return fail_output(p);
    st = predict_beside(p, real ? real : output, there ? &old : NULL);
    free(real);
    return st;
}

static int predict_run(const void *at, const char *const *args, size_t nargs)
{
    const struct predict_cmd *cmd = at;
    struct console console;
    shoal_model *model = NULL;
    shoal_status st;

    if (!shoal_model_predicts(args[0]))
        return console_fail("%s: is no model that predicts, want one from `shoal train logreg`, "
                            "`mlp`, `vgg` or `nextword`",
                            args[0]);
    console_init(&console, cmd->work.quiet, "-");
    st = shoal_model_open(&model, args[0]);
    if (st == SHOAL_OK) {
        struct prediction p = {cmd, model, args + 1, nargs - 1, &console};

        st = cmd->output && strcmp(cmd->output, "-") != 0 ? predict_to_file(&p)
                                                           : predict(&p, stdout);
    }
    shoal_model_close(model);
    return console_finish(&console, st);
}

#define ON(member) SHOAL_FIELD(struct predict_cmd, member)

static const struct shoal_option continue_opts[] = {
    {"top", .type = SHOAL_TYPE_COUNT, ON(ask.top), .arg = "N", .u = {1, 1000},
     .help = "show so many of the likeliest next words"},
    {"generate", .type = SHOAL_TYPE_COUNT, ON(ask.generate), .arg = "N", .u = {0, 100000},
     .help = "continue the text by so many words instead", .zero = "only show the next"},
    {"temperature", .type = SHOAL_TYPE_REAL, ON(ask.temperature), .arg = "X", .d = {0, 100},
     .help = "how daring: 1 draws words as likely as they are", .zero = "always the likeliest"},
    {"seed", .type = SHOAL_TYPE_COUNT, ON(ask.seed), .arg = "N", .u = {0, UINT64_MAX},
     .help = "of what is drawn"},
    {0},
};

static const struct shoal_option output_opts[] = {
    {"output", 'o', SHOAL_TYPE_PATH, ON(output), .arg = "FILE",
     .help = "write the answers here, not to standard output"},
    {0},
};

const struct verb cmd_predict = {
    .name = "shoal predict",
    .summary = "answer with a trained model",
    .about = "Of a click model: the probability of each row, one a line, in the order of the "
             "input, as fast as it comes. Rows are read as those that were learned; they need no "
             "label.\n"
             "Of a net on samples: for each row its class and the probability of every class, with "
             "tabs between, or the numbers it predicts. Rows may hold the answers too, which are "
             "then left aside.\n"
             "Of a net on pictures: the five likeliest classes of each JPEG or PNG file, which is "
             "scaled and cut as those it learned from.\n"
             "Of a net on words: the likeliest next words of the text with their probabilities, or "
             "the text continued.",
    .operands =
        (const struct operand[]){
            {.name = "MODEL", .help = "a model that `shoal train` wrote"},
            {"INPUT",
             "rows for a click model: files, folders, quoted globs, or - for standard input; "
             "samples for a net: CSV, .npy or IDX; pictures: JPEG, PNG; or a text to continue",
             .many = true},
            {0},
        },
    .groups =
        (const struct shoal_option_group[]){
            {"Output", output_opts, .at = 0},
            {"Reading rows, as the model does unless given", shoal_rows_again_options,
             .at = offsetof(struct predict_cmd, ask.rows)},
            {"Samples for nets", shoal_samples_options, .at = offsetof(struct predict_cmd, ask.samples)},
            {"Continuing text", continue_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct predict_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal predict model.shoal new.tsv > probabilities.txt", "one line for each row"},
            {"tail -f clicks.tsv | shoal predict model.shoal -", "rows as they come"},
            {"shoal predict net.shoal new.csv > answers.tsv", "the classes of samples"},
            {"shoal predict vgg.shoal kitten.jpg", "the likeliest classes of a picture"},
            {"shoal predict next.shoal \"the king of\"", "the likeliest next words"},
            {0},
        },
    .opts_size = sizeof(struct predict_cmd),
    .defaults = predict_defaults,
    .run = predict_run,
};
