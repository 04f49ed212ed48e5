/* shoal/options.h: options by name, a part of shoal.h, which includes it.
 *
 * What this is: one table for every option of a run, from which come the parser, the help,
 * the manual, the completion, what a checkpoint remembers and what metrics say; and what a
 * run of a task is told, by name:
 *
 *     shoal_options *o;
 *
 *     shoal_options_new(&o, "cbow");
 *     shoal_options_set(o, "dim", "300");
 *     shoal_options_set(o, "output", "vectors.bin");
 *
 * Who owns what: tables are constant and live for ever. shoal_options_new gives a handle
 * that shoal_options_free ends; values are copied.
 * Threads: a handle belongs to one thread at a time; a run only reads it. */
#ifndef SHOAL_OPTIONS_PART_H
#define SHOAL_OPTIONS_PART_H

#include <shoal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- An option ------------------------------------------------------------------- */

#define SHOAL_SENTENCE 512 /* bytes that hold any sentence about an option */
#define SHOAL_VALUE 256    /* and any value that is neither text nor a path */

enum shoal_type {
    SHOAL_TYPE_FLAG,   /* bool; --name and --no-name */
    SHOAL_TYPE_COUNT,  /* uint64_t or unsigned, within u */
    SHOAL_TYPE_SIZE,   /* uint64_t bytes with K, M, G or T, within u */
    SHOAL_TYPE_REAL,   /* double, within d */
    SHOAL_TYPE_CHOICE, /* an enum: u.min and the index in choices */
    SHOAL_TYPE_TEXT,   /* const char * */
    SHOAL_TYPE_PATH,   /* const char *, completed as a file name */
    SHOAL_TYPE_OWN,    /* whatever `own` reads */
    SHOAL_TYPE_HELP,   /* no field: of verbs alone */
    SHOAL_TYPE_VERSION,
};

struct shoal_choice {
    const char *name, *help; /* a NULL name ends a list */
};

/* A type that one table needs: how to read a value and how to show it. */
struct shoal_own_type {
    bool (*read)(void *field, const char *text); /* false when it is none */
    void (*show)(char text[SHOAL_VALUE], const void *field);
    const char *want; /* "a share such as 0.001 or 0.1%" */
    /* What shells offer, with blanks between; what ends with a colon or a comma is gone on with.
     * NULL: nothing. Also of a SHOAL_TYPE_TEXT, which needs no more of this. */
    const char *words;
};

struct shoal_option {
    const char *name; /* without dashes; NULL ends a table */
    char letter;      /* 'o' for -o; 0: none */
    enum shoal_type type;
    bool required;    /* by the program: the library can do without */
    bool inverse;     /* a flag whose --name turns the field off */
    bool decides;     /* the result: a run that goes on has the same, or is another run */
    bool written;     /* a path that a run writes to: a run that goes on says so first */
    bool passing;     /* of this process alone: no checkpoint remembers it */
    bool list;        /* of paths, with commas between */
    size_t at, size;  /* of the field in the struct that the table is of */
    const char *arg;  /* how help names the value: "N" */
    const char *help; /* one sentence without a full stop */
    const char *zero; /* what 0 means, where it is no plain amount */
    struct {
        uint64_t min, max;
    } u; /* inclusive; of a type of its own for help alone */
    struct {
        double min, max;
    } d; /* inclusive */
    const struct shoal_choice *choices;
    const struct shoal_own_type *own;
};

#define SHOAL_FIELD(type, member) .at = offsetof(type, member), .size = sizeof(((type *)0)->member)

/* Several options under one title; a list ends with NULL options. */
struct shoal_option_group {
    const char *title;
    const struct shoal_option *options;
    size_t at;          /* of the struct that the table is of in the caller's own */
    const char *unless; /* the option that makes these pointless; or NULL */
};

SHOAL_API bool shoal_option_takes_value(const struct shoal_option *option);
/* Reads a value into its field of `base`; false when the text is no such value. Strings
 * are borrowed. A flag reads "true" and "false". The field may have changed also when this is
 * false. */
SHOAL_API bool shoal_option_read(const struct shoal_option *option, void *base, const char *text);
/* The value as one would write it, so that it reads back the same; text is cut where it does
 * not fit. False when there is none. */
SHOAL_API bool shoal_option_show(char text[SHOAL_VALUE], const struct shoal_option *option,
                                 const void *base);
/* "a whole number from 0 to 1024" */
SHOAL_API void shoal_option_want(char text[SHOAL_SENTENCE], const struct shoal_option *option);
/* "from 0 to 1024, default 0: one for each core"; "" when there is nothing to say. `base`
 * has the defaults. */
SHOAL_API void shoal_option_facts(char text[SHOAL_SENTENCE], const struct shoal_option *option,
                                  const void *base);

/* ---- How inputs are read: tables that verbs and tasks share ------------------------------- */

SHOAL_API extern const struct shoal_option shoal_token_options[]; /* of struct shoal_vocab_opts */
SHOAL_API extern const struct shoal_option shoal_text_options[];  /* the same, and threads */
SHOAL_API extern const struct shoal_option shoal_vocab_options[]; /* of struct shoal_vocab_opts */
SHOAL_API extern const struct shoal_option shoal_table_options[]; /* of struct shoal_table_opts */
SHOAL_API extern const struct shoal_option shoal_table_again_options[]; /* for a model's tables */
SHOAL_API extern const struct shoal_option shoal_rows_options[];  /* of struct shoal_clicks_opts */
SHOAL_API extern const struct shoal_option shoal_rows_again_options[]; /* for a model's rows */
SHOAL_API extern const struct shoal_option shoal_samples_options[]; /* of shoal_samples_opts */
SHOAL_API extern const struct shoal_choice shoal_rows_choices[];    /* enum shoal_clicks_format */
SHOAL_API extern const struct shoal_choice shoal_format_choices[];  /* enum shoal_format */

/* ---- Tasks: what can be trained ------------------------------------------------------ */

struct shoal_example {
    const char *line, *what; /* a NULL line ends a list */
};

struct shoal_task {
    const char *name;    /* "cbow" */
    const char *summary; /* one line without a full stop */
    const char *about;   /* paragraphs, each but the last ended by \n */
    const char *operand, *operand_help; /* what to learn from: "INPUT" */
    bool many;           /* several of them */
    const struct shoal_option_group *groups;
    const struct shoal_example *examples;
    const char *unit;    /* of examples: "words", "rows", "samples" */
};

SHOAL_API const struct shoal_task *shoal_task_at(size_t i); /* NULL behind the last */
SHOAL_API const struct shoal_task *shoal_task_find(const char *name); /* or NULL */

/* ---- What a run is told ---------------------------------------------------------------- */

typedef struct shoal_options shoal_options;

/* The defaults of a task. */
SHOAL_API shoal_status shoal_options_new(shoal_options **out, const char *task);
/* Those of the last checkpoint of a folder, to go on with: shoal_options_set changes what
 * does not decide the result, and refuses the rest by name. A folder that is not there or
 * holds no checkpoint is SHOAL_ENOENT. Of a file, those of that checkpoint, to look at. */
SHOAL_API shoal_status shoal_options_resume(shoal_options **out, const char *folder);
SHOAL_API void shoal_options_free(shoal_options *o);
/* Fails with "--dim is '0', want a whole number from 1 to 4096". */
SHOAL_API shoal_status shoal_options_set(shoal_options *o, const char *name, const char *value);
/* From a file of 1 MiB at most: a JSON object, or lines `name value` or `name = value`; a #
 * before which there is nothing or a space begins a comment. Those before one that is wrong
 * are set. */
SHOAL_API shoal_status shoal_options_read(shoal_options *o, const char *path);
/* NULL: there is no such option, or it has no value. Valid until the next call with o. */
SHOAL_API const char *shoal_options_get(shoal_options *o, const char *name);
/* Whether it was set, here or in the checkpoint, rather than left as it is by default. */
SHOAL_API bool shoal_options_given(const shoal_options *o, const char *name);
SHOAL_API const struct shoal_task *shoal_options_task(const shoal_options *o);
/* Do they go together? Whatever needs neither data nor other ranks. */
SHOAL_API shoal_status shoal_options_check(const shoal_options *o);

#ifdef __cplusplus
}
#endif
#endif
