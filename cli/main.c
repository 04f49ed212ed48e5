/* shoal: the program. Finds the verb, reads its options, runs it. */
#include "cmd.h"
#include "train.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct shoal_option root_opts[] = {
    {"version", .type = SHOAL_TYPE_VERSION, .help = "print the version"},
    {"help", 'h', SHOAL_TYPE_HELP, .help = "explain shoal, or the verb that follows"},
    {0},
};

const struct verb cmd_shoal = {
    .name = "shoal",
    .summary = "many small workers moving as one",
    .about = "Learns from large data by stochastic gradient descent with many workers. Text "
             "becomes a vocabulary and an encoded corpus; models are trained on those.\n"
             "Options and arguments may be mixed; `--` ends the options. An option's value is the "
             "next word or follows a =. Of a repeated option the last counts. A flag `--name` is "
             "undone by `--no-name`.",
    .operands = (const struct operand[]){{.name = "VERB", .help = "what to do, below"}, {0}},
    .groups = (const struct shoal_option_group[]){{"Options", root_opts, .at = 0}, {0}},
    .kind_word = "verb",
    .kinds =
        (const struct verb *const[]){&cmd_phrases, &cmd_vocab, &cmd_encode, &cmd_train, &cmd_eval,
                                     &cmd_predict, &cmd_similar, &cmd_analogy, &cmd_distance,
                                     &cmd_odd, &cmd_map, &cmd_index, &cmd_serve, &cmd_convert, &cmd_compress, &cmd_study,
                                     &cmd_classic, &cmd_report, &cmd_gen, &cmd_info, &cmd_help, NULL},
};

static int dispatch(const struct verb *verb, char *const *words, size_t nwords, bool help);

/* A verb with kinds read its own options up to the kind's name. */
static int dispatch_kind(const struct verb *verb, const struct parsed *parsed, char *const *words,
                         size_t nwords)
{
    const struct verb *kind = verb_find(verb, parsed->args[0]);

    if (!kind)
        return EXIT_USAGE;
    /* Of a verb that also does something itself. */
    if (parsed->option)
        return usage(verb, "--%s stands before '%s', want it behind", parsed->option,
                     parsed->args[0]);
    return dispatch(kind, words + parsed->read, nwords - parsed->read, parsed->help);
}

static int dispatch_parsed(const struct verb *verb, const void *opts, const struct parsed *parsed,
                           char *const *words, size_t nwords)
{
    int code;

    if (parsed->version) {
        printf("shoal %s\n", shoal_version());
        return EXIT_DONE;
    }
    if (verb->kinds && parsed->nargs > 0)
        return dispatch_kind(verb, parsed, words, nwords);
    if (parsed->help) {
        help_print(verb);
        return EXIT_DONE;
    }
    if (!verb->completes && !opts_complete(verb, opts, parsed))
        return EXIT_USAGE;
    if (verb->elsewhere && verb->elsewhere(opts, parsed, &code))
        return code;
    return verb->run(opts, parsed->args, parsed->nargs);
}

/* `help`: it was asked for before this verb was named. */
static int dispatch(const struct verb *verb, char *const *words, size_t nwords, bool help)
{
    void *opts = verb_defaults(verb);
    struct parsed parsed;
    int code = EXIT_USAGE;

    if (opts_parse(verb, words, nwords, opts, &parsed)) {
        parsed.help |= help;
        code = dispatch_parsed(verb, opts, &parsed, words, nwords);
    }
    parsed_fini(&parsed);
    free(opts);
    return code;
}

/* What stdio still holds may fail to be written: a full disk must not look
 * like success. */
static int close_stdout(int code)
{
#ifdef SHOAL_SMPI /* all ranks of a simulation share it */
    int failed = fflush(stdout);
#else
    int failed = fclose(stdout);
#endif

    if (failed == 0 || code != EXIT_DONE)
        return code;
    return console_fail("standard output: %s", strerror(errno));
}

/* Whoever starts us may have closed the standard files. What is opened next would take their
 * numbers, and be read or written as them. */
static void open_standard(void)
{
    int fd;

    while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
        fcntl(fd, F_SETFD, 0); /* children have them too */
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    size_t nwords = argc > 0 ? (size_t)argc - 1 : 0;

    open_standard();
    signals_catch();
    train_make_verbs();
    console_mute(launched_rank() > 0);
    return close_stdout(dispatch(&cmd_shoal, argv + 1, nwords, false));
}
