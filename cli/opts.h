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
 *     .groups --> {"Reading text", text_opts, offset of its struct}
 *                 {"Vocabulary", vocab_opts, offset of its struct}
 *                    |                            |
 *                    v                            v
 *      {"tokens", OPT_CHOICE, FIELD(...)}   struct encode_cmd { ... }
 *
 * An option's field lies at group->at + opt->at in the verb's own struct, which
 * is how several verbs share a group. */
#ifndef CLI_OPTS_H
#define CLI_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_PEER = 3,     /* another rank is gone */
    EXIT_SIGNAL = 128, /* plus the signal's number */
};

#define OPT_TEXT 512 /* bytes that hold any sentence about an option or a verb */
#define OPT_VALUE 64 /* and any default */

enum opt_kind {
    OPT_FLAG,    /* bool; --name and --no-name */
    OPT_U64,     /* uint64_t or unsigned, within .u */
    OPT_SIZE,    /* uint64_t bytes with K, M, G or T, within .u */
    OPT_DOUBLE,  /* double, within .d */
    OPT_CHOICE,  /* an enum: the index in .choices */
    OPT_STRING,  /* const char * */
    OPT_PATH,    /* const char *, completed as a file name */
    OPT_CUSTOM,  /* whatever .custom reads */
    OPT_HELP,    /* no field: asks for help */
    OPT_VERSION, /* no field: asks for the version */
};

struct choice {
    const char *name;
    const char *help;
};

/* A kind of value that one table needs: how to read it and how to show it. */
struct opt_custom {
    bool (*read)(void *field, const char *text); /* false when it is none */
    void (*show)(char text[OPT_VALUE], const void *field);
    const char *want; /* "a share such as 0.001 or 0.1%" */
};

struct opt {
    const char *name; /* without dashes; NULL ends a table */
    char letter;      /* 'o' for -o; 0: none */
    enum opt_kind kind;
    bool required;
    bool inverse;     /* a flag whose --name turns the field off */
    size_t at, size;  /* of the field: FIELD(type, member) */
    size_t noted;     /* of a bool that then says that it was given; 0: none */
    const char *arg;  /* how help names the value: "N" */
    const char *help; /* one sentence without a full stop */
    const char *zero; /* what 0 means, where it is no plain amount */
    struct {
        uint64_t min, max;
    } u; /* inclusive */
    struct {
        double min, max;
    } d;                          /* inclusive */
    const struct choice *choices; /* ends with a NULL name */
    const struct opt_custom *custom;
};

#define FIELD(type, member) .at = offsetof(type, member), .size = sizeof(((type *)0)->member)

struct opt_group {
    const char *title;      /* "Reading text" */
    const struct opt *opts; /* NULL ends a list of groups */
    size_t at;              /* of the group's struct in the verb's */
    const char *unless;     /* the option that makes these pointless; or NULL */
};

struct operand {
    const char *name; /* "INPUT"; NULL ends a list */
    const char *help;
    bool optional;
    bool many; /* only the last may be */
};

struct example {
    const char *line; /* NULL ends a list */
    const char *what;
};

struct parsed;

struct verb {
    const char *name;    /* as called: "shoal gen world" */
    const char *summary; /* one line without a full stop */
    const char *about;   /* paragraphs, each but the last ended by \n */
    const struct operand *operands;
    const struct opt_group *groups;
    const struct example *examples; /* or NULL */

    /* The verbs below this one; the first operand names one of them. Their
     * options come after it. */
    const struct verb *const *kinds; /* ends with NULL */
    const char *kind_word;           /* what prose calls them: "verb" */

    /* What to do, where no kind is named, with an option struct of opts_size
     * bytes. Returns the exit code. `args` holds as many operands as the table
     * allows. */
    size_t opts_size;
    void (*defaults)(void *opts);
    int (*run)(const void *opts, const char *const *args, size_t nargs);
    /* Asked before, or NULL: true when others did it (launch.h), with the exit
     * code of theirs. */
    bool (*elsewhere)(const void *opts, const struct parsed *parsed, int *code);
};

/* "world" of "shoal gen world". */
const char *verb_word(const struct verb *verb);
/* The verb below `verb` of that word, or NULL after the usage sentence. */
const struct verb *verb_find(const struct verb *verb, const char *word);

/* "shoal info [OPTION]... FILE" */
void verb_usage(char text[OPT_TEXT], const struct verb *verb);

/* A new option struct with its defaults, for free(); never NULL. */
void *verb_defaults(const struct verb *verb);

/* An option as it was given. */
struct given {
    const struct opt *opt;
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
void parsed_fini(struct parsed *parsed);

/* Prints "NAME: SENTENCE" on stderr and returns EXIT_USAGE. */
int usage(const struct verb *verb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whether the verb has the option that another verb was given. */
bool verb_takes(const struct verb *verb, const struct given *given);

/* ---- What help and the manual say about an option --------------------------- */

bool opt_takes_value(const struct opt *opt);
/* "from 0 to 1024, default 0: one for each core"; "" when there is nothing to
 * say. `base` is the group's struct with its defaults. */
void opt_facts(char text[OPT_TEXT], const struct opt *opt, const void *base);
/* "a whole number from 0 to 1024" */
void opt_want(char text[OPT_TEXT], const struct opt *opt);
/* The first of a table whose field is not as it is by default; or NULL. */
const struct opt *opts_changed(const struct opt *opts, const void *base, const void *defaults);

#endif
