/* classic: five well-known small experiments, each in one command.
 *
 * What this is: what a classic is (a file of classics/), its commands and what became of them
 * (classic.c), the metrics of a run by name (lines.c), and the tables and pictures that are
 * made of them (book.c).
 * Who owns what: a shoal_classic owns its steps, a step its command and metrics; a book owns its
 * sheets and charts, and is filled anew for each report.
 * Threads: one at a time for each object.
 *
 *     classics/NAME.c: plan ---> steps --cli runs them--> metrics.jsonl --lines.c--> numbers
 *                      tell <------------------------------------------------------------'
 *                        '---> book.c: sheets, charts ---> tables/, figures/, report.html, README
 */
#ifndef SHOAL_STUDY_CLASSIC_H
#define SHOAL_STUDY_CLASSIC_H

#include "study/study.h"

/* ---- lines.c: what metrics say, by name ------------------------------------------------- */

struct lines;

/* A last line without its end is left out; other lines that are no JSON are refused. */
shoal_status lines_read(struct lines **out, const char *path);
/* `text` need not end with a NUL. */
shoal_status lines_parse(struct lines **out, const char *path, const char *text, size_t len);
void lines_free(struct lines *l);
/* How many lines there are of an event: "epoch", "evaluation"; NULL: of all. */
size_t lines_count(const struct lines *l, const char *event);
/* The number under "train.accuracy" in the i-th of them; "per_rank.1.steps" in a list. NaN: it
 * is not there. */
double lines_number(const struct lines *l, const char *event, size_t i, const char *path);
/* The same of the last of them. */
double lines_last(const struct lines *l, const char *event, const char *path);
/* A word, or "". Lives as long as l. */
const char *lines_word(const struct lines *l, const char *event, size_t i, const char *path);

/* ---- book.c: tables and pictures ---------------------------------------------------------- */

enum { SHEETS = 8, SHEET_COLUMNS = 16, SHEET_ROWS = 128, CHARTS = 8 };

/* How a column is written for people. In CSV it is a plain number. */
enum sheet_as {
    AS_WORD,
    AS_COUNT,  /* 12,345 */
    AS_SHORT,  /* 12.3 k */
    AS_PLAIN,  /* 1.234 */
    AS_TIME,   /* 0.123 s */
    AS_BYTES,  /* 1.5 MiB */
    AS_SHARE,  /* 12 % */
    AS_POINTS, /* 0.9876: of an accuracy */
};

struct sheet;
struct book;

/* A table; `name` is that of its files, `title` may be formatted. */
struct sheet *book_sheet(struct book *b, const char *name, const char *title, ...)
    __attribute__((format(printf, 3, 4)));
void sheet_column(struct sheet *s, const char *head, enum sheet_as as);
/* Begins a row; its values follow from the left. */
void sheet_row(struct sheet *s);
void sheet_number(struct sheet *s, double x);
void sheet_word(struct sheet *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A sentence below the table; several follow one another. */
void sheet_note(struct sheet *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A sentence of the whole: what was found, how ours is defined. */
void book_note(struct book *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Text as it is, such as commands or answers, under a title. */
void book_block(struct book *b, const char *title, const char *text);

/* A chart; what its axes count is one of the words below. */
enum book_axis { BY_PLAIN, BY_SECONDS, BY_COUNT, BY_NODES, BY_LOG };
void book_chart(struct book *b, const char *name, const char *title, const char *x_label,
                enum book_axis x, const char *y_label, enum book_axis y);
/* A line of the last chart, and its points. */
void book_line(struct book *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void book_ideal(struct book *b, const char *name); /* dashed: what would be best */
void book_point(struct book *b, double x, double y);

struct book *book_new(void);
void book_free(struct book *b);
/* A failure that it met; the rest is then not to be used. */
shoal_status book_status(const struct book *b);
void book_text(struct prose *t, const struct book *b);
/* report.html, tables/ and figures/ in the folder. */
shoal_status book_write(struct book *b, const char *folder, const char *title, const char *under);

/* ---- classic.c: commands and what became of them -------------------------------------------- */

enum { STEPS_MOST = 64, STEP_NAME = 96, CLASSIC_WINDOW = 256 };

struct step {
    char name[STEP_NAME]; /* "2 workers, strong" */
    char group[16];       /* which runs belong together: "weak" */
    char folder[32];      /* below runs/: "weak-2" */
    double key, key2;     /* what differs within the group: workers, batch */
    bool prepares;        /* makes what the others need: data, vectors */
    bool keeps;           /* its model stays */
    struct prose words;   /* of the command, each ended by a NUL */
    enum run_state state;
    double whole; /* seconds of the command; NaN: it ran before */
    char failure[256];
    struct lines *lines; /* of its metrics; NULL: it has none */
    shoal_run *run;      /* the same; NULL: none */
};

struct classic {
    const char *name, *summary, *takes;
    const char *experiment;         /* what it was and which settings it had: for the README */
    const char *change;             /* how to change it */
    void (*plan)(shoal_classic *c); /* adds the steps */
    void (*tell)(struct book *b, const shoal_classic *c); /* of those that ended well */
};

extern const struct classic classic_cbow, classic_classifier, classic_clicks, classic_nextword,
    classic_vgg;

struct shoal_classic {
    const struct classic *is;
    char *folder, *data; /* data NULL: generated */
    bool quick;
    bool vector;                 /* `predict --vector` exists */
    char window[CLASSIC_WINDOW]; /* of nextword: what is predicted from */
    struct step steps[STEPS_MOST];
    size_t nsteps;
    int lock;            /* the folder, while this classic may write there; -1 */
    bool again;          /* a step ran now: those behind it do too */
    shoal_status status; /* of planning */
    char **argv;         /* the words of the step that was named last */
    struct prose place;  /* and its folder */
};

/* A step of this program: step_words splits at spaces, step_path does not. */
struct step *step_add(shoal_classic *c, const char *group, double key, const char *name, ...)
    __attribute__((format(printf, 4, 5)));
void step_words(shoal_classic *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One word, whatever it holds. */
void step_word(shoal_classic *c, const char *word);
/* A file of the classic's folder, or that of the user (name NULL). */
void step_path(shoal_classic *c, const char *name);
/* `train TASK` with metrics, quiet, on one thread of each rank: `workers` of them, and `servers`
 * that only keep parameters. `model` is a name in the folder to be kept; NULL: none is. */
void step_train(shoal_classic *c, const char *task, unsigned workers, unsigned servers,
                const char *model);
/* Whether a task has such an option. */
bool step_has(const char *task, const char *option);
/* The path of a file of the classic's folder, for free(); NULL: no memory. */
char *classic_path(const shoal_classic *c, const char *name);

/* The i-th step of a group that ended well; NULL behind the last. */
const struct step *step_of(const shoal_classic *c, const char *group, size_t i);
/* The one with this key, the quickest of several; NULL: none ended well. */
const struct step *step_with(const shoal_classic *c, const char *group, double key, double key2);
/* Of its metrics; NaN without a step. */
struct shoal_measures step_measures(const struct step *s);
double step_last(const struct step *s, const char *event, const char *path);

#endif
