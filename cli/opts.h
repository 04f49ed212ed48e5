/* opts: the command line from tables.
 *
 * What this is: a verb describes itself in one struct verb; from it come the
 * parser (opts.c), --help (cmd_help.c), the manual page (man.c) and the shell
 * completion (completion.c), so that they cannot disagree.
 * Who owns what: tables are static and constant. String options point into
 * argv or at their defaults; struct parsed borrows argv too, end it with
 * parsed_fini.
 * Threads: none here; the command line is read before any start.
 *
 *   struct verb "shoal encode"
 *     .groups --> {"Reading text", shoal_text_options, offset of its struct}
 *                 {"Vocabulary", shoal_vocab_options, offset of its struct}
 *                    |                            |
 *                    v                            v
 *      {"tokens", SHOAL_TYPE_CHOICE, SHOAL_FIELD(...)}   struct encode_cmd { ... }
 *
 * An option's field lies at group->at + opt->at in the verb's own struct, which
 * is how several verbs share a group. */
#ifndef CLI_OPTS_H
#define CLI_OPTS_H

#include <shoal.h>

enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_PEER = 3,     /* another rank is gone */
    EXIT_SIGNAL = 128, /* plus the signal's number */
};

struct operand {
    const char *name; /* "INPUT"; NULL ends a list */
    const char *help;
    bool optional;
    bool many; /* only the last may be */
};

struct parsed;

struct verb {
    const char *name;    /* as called: "shoal gen world" */
    const char *summary; /* one line without a full stop */
    const char *about;   /* paragraphs, each but the last ended by \n */
    const struct operand *operands;
    const struct shoal_option_group *groups;
    const struct shoal_example *examples; /* or NULL */

    /* The verbs below this one; the first operand names one of them. Their
     * options come after it. */
    const struct verb *const *kinds; /* ends with NULL */
    const char *kind_word;           /* what prose calls them: "verb" */

    /* What to do, where no kind is named, with an option struct of opts_size
     * bytes. Returns the exit code. `args` holds as many operands as the table
     * allows. */
    size_t opts_size;
    size_t parsed_at; /* of a const struct parsed * in it: what was given; 0: none */
    void (*defaults)(void *opts);
    const void *initial; /* or what such a struct begins as */
    bool completes;      /* run says itself what is missing */
    int (*run)(const void *opts, const char *const *args, size_t nargs);
    /* Called before `run`, or NULL: true when it did all that is to be done, with the exit code
     * in *code. */
    bool (*elsewhere)(const void *opts, const struct parsed *parsed, int *code);
};

/* "world" of "shoal gen world". */
const char *verb_word(const struct verb *verb);
/* The verb below `verb` of that word, or NULL after the usage sentence. */
const struct verb *verb_find(const struct verb *verb, const char *word);

/* "shoal info [OPTION]... FILE" */
void verb_usage(char text[SHOAL_SENTENCE], const struct verb *verb);

/* All options of some groups, one after the other; begins zeroed. */
struct option_walk {
    const struct shoal_option *opt;
    const struct shoal_option_group *group; /* it is of */
    size_t place;                           /* among all of them */
};

/* The next option; false behind the last. */
bool option_next(const struct shoal_option_group *groups, struct option_walk *w);

/* A new option struct with its defaults, for free(); never NULL. */
void *verb_defaults(const struct verb *verb);

/* An option as it was given. */
struct given {
    const struct shoal_option *opt;
    const char *value; /* NULL: a flag */
    bool on;           /* of a flag: not --no-name */
};

struct parsed {
    const char **args; /* [nargs] the operands */
    size_t nargs;
    struct given *given; /* [ngiven] in their order */
    size_t ngiven;
    size_t read; /* words used up: a verb with kinds stops after its first operand */
    bool help, version;
    const char *option; /* the name of one that was given, but for these two; or NULL */
};

/* Reads `words` into `opts` and `out`. False when they make no sense: the
 * sentence that says why is then on stderr. */
bool opts_parse(const struct verb *verb, char *const *words, size_t nwords, void *opts,
                struct parsed *out);
/* Are there as many operands as the verb takes, and all required options? */
bool opts_complete(const struct verb *verb, const void *opts, const struct parsed *parsed);
bool opts_operands_complete(const struct verb *verb, const struct parsed *parsed);
void parsed_fini(struct parsed *parsed);
/* As it was given last; NULL: it was not. */
const struct given *opts_given(const struct parsed *parsed, const char *name);

/* Prints "NAME: SENTENCE" on stderr and returns EXIT_USAGE. */
int usage(const struct verb *verb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The first of a table whose field is not as it is by default; or NULL. */
const struct shoal_option *opts_changed(const struct shoal_option *opts, const void *base,
                                        const void *defaults);

#endif
