/* study: runs measured, compared and drawn.
 *
 * What this is: the doors to reading metrics (series.c), reports of runs (report.c), the grid of a
 * study (grid.c), its file (record.c), its table (table.c), what it found (findings.c) and its
 * charts (curves.c). Who owns what: text grows in a struct prose of the caller's. A run owns its
 * points. Threads: one at a time for each object.
 *
 *     metrics.jsonl --series.c--> run --report.c--> charts --page.c--> report.html
 *           ^                      |                  ^
 *     shoal train ...              v                  |
 *           ^                  measures --record.c--> study.json
 *     grid.c: cells, next          '------table.c---> study.csv, the table */
#ifndef SHOAL_STUDY_H
#define SHOAL_STUDY_H

#include "base/base.h"

#include <stdarg.h>

enum {
    RUN_POINTS = 1 << 16, /* of a run, at most: of more every second is dropped, */
    RUN_SETTINGS = 128,   /* and settings, */
    RUN_RANKS = 64,       /* ranks whose times are shown, */
    RUN_SPANS = 1024,     /* spans of a rank's timeline, */
    RUN_STALE = 16,       /* bins of staleness: SHOAL_STALE_BINS */
};

/* ---- series.c: a run ----------------------------------------------------------- */

/* One report. NaN: not in it. */
struct point {
    double progress; /* 0 to 1, of which units are made when all is read */
    double seconds, units, loss, held, accuracy, held_accuracy, quality, lr, memory, gradient;
};

struct setting {
    char key[32], value[160];
};

/* Where time goes: computing, communicating, waiting, other. A timeline has but the first
 * three; other is what remains of a span. */
enum { TIME_PARTS = 4, SPAN_PARTS = 3 };
extern const char *const time_parts[TIME_PARTS]; /* their names */

/* Where a rank's time went, in seconds, and what it sent. */
struct run_rank {
    unsigned rank;
    char host[64];
    double parts[TIME_PARTS];
    double bytes_out, bytes_in;
    double waits;           /* times it waited; NaN: not known */
    unsigned awaited;       /* the rank it waited for longest; itself: for none */
    double awaited_seconds; /* so long */
};

/* What a rank did over time: seconds in sum up to the end of each span. */
struct run_track {
    unsigned rank;
    char host[64];
    size_t n;
    double *ends;              /* [n] rising, since its ranks began */
    double *parts[SPAN_PARTS]; /* [n] */
};

/* One step of a rank whose gradients were summed with others': seconds since the first rank began
 * it (train/profile/profile.h has the drawing). */
struct run_step {
    unsigned rank, epoch, step;
    char host[64];
    double began, backward, computed, ended;
    size_t nready, ntrips;
    double *ready;        /* [nready] rising */
    double *sent, *fresh; /* [ntrips] */
};

/* The last lines of its log, a ring: line i is at[i % RUN_LOG]. */
enum { RUN_LOG = 12, RUN_LOG_TEXT = 320 };

struct run_log {
    char at[RUN_LOG][RUN_LOG_TEXT];
    size_t n;    /* lines so far, those that made room too */
    double said; /* seconds of the last one */
};

struct shoal_run {
    char path[256];       /* shortened from its front */
    char model[32];       /* "cbow", "mlp" */
    struct point *points; /* [npoints] in the order of time */
    size_t npoints, cap;
    struct setting settings[RUN_SETTINGS];
    size_t nsettings;
    struct shoal_measures end; /* target and whole apart */
    double stale[RUN_STALE];   /* changes that were so many rounds late */
    bool has_stale;
    struct run_rank ranks[RUN_RANKS];
    size_t nranks; /* with known times; 0: no profile */
    struct run_track tracks[RUN_RANKS];
    size_t ntracks; /* 0: no timeline */
    struct run_step steps[RUN_RANKS];
    size_t nsteps; /* 0: none is known */
    struct learned *learned; /* what it learned (train/learned.h); NULL: it does not say */
    double progress; /* 0 to 1, at the last report */
    double silent;   /* seconds since its file was written to; 0: nobody knows */
    char ended[16];  /* "stopped" or "failed"; "": neither */
    struct run_log log;
    struct reader *reader; /* series.c's: how far its file was read */
};

/* ---- log.c: what a terminal would have shown ------------------------------------- */

/* Where a report was made. */
struct run_place {
    unsigned epoch, epochs;
    double progress; /* 0 to 1 */
};

void log_begin(shoal_run *run, bool again);
void log_report(shoal_run *run, const char *event, struct run_place at, const struct point *p);
/* The run did not come to its end, and said why. */
void log_ended(shoal_run *run, const char *event, double seconds, const char *why);

/* `text` need not end with a NUL. */
shoal_status study_run_parse(shoal_run **out, const char *path, const char *text, size_t len);
/* shoal_run_measures, with a target for that loss. */
struct shoal_measures study_run_measures(const shoal_run *run, double target, enum shoal_target of);

/* ---- prose.c: into bytes -------------------------------------------------------- */

/* Text that grows; the first failure stays and the rest is skipped. */
struct prose {
    struct bytes bytes;
    shoal_status status;
};

void prose_add(struct prose *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void prose_vadd(struct prose *t, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));
/* With <, >, & and quotes as entities, and without control characters. */
/* A string of JSON, quotes and all, that may stand in a page: it has none of its signs. */
void prose_json(struct prose *t, const char *words);
void prose_escape(struct prose *t, const char *words);
/* Such words between two marks, which are as they are. */
void prose_wrap(struct prose *t, const char *before, const char *words, const char *after);
void prose_fini(struct prose *t);
/* Ends it: the text for free(), or NULL and the failure that it met. */
shoal_status prose_take(struct prose *t, char **text);
/* Lets it appear at path, or gives the failure that it met. */
shoal_status prose_write(const struct prose *t, const char *path);
shoal_status prose_write_in(const struct prose *t, const char *folder, const char *name);
/* The last lines of a run's log, to be folded away. */
void log_show(struct prose *t, const shoal_run *run, const char *name, bool open);

struct short_number {
    char text[40];
};

struct short_number number_as(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* 12,345 -> "12.3 k"; "-" for what was not measured */
struct short_number number_short(double x);
struct short_number number_bytes(double bytes);  /* "1.5 MiB" */
struct short_number number_share(double share);  /* "12 %" */
struct short_number number_time(double seconds); /* "0.123 s", "2:05 min" */
struct short_number number_plain(double x);      /* four digits that matter; counts whole */

/* Of a line, a bar or a cell. */
struct name {
    char text[96];
};

/* ---- machine.c ---- */

/* What this machine is: a processor, its cores, memory, system. */
void machine_describe(char text[256]);

struct album; /* draw/draw.h */

/* ---- report.c: runs --------------------------------------------------------------------- */

/* The charts of what runs did, one line for each. names [n]. */
void report_runs(struct album *a, const shoal_run *const *runs, const char *const *names, size_t n);
/* Where the time of a run's ranks went. `name` may be empty; `number` is for the names
 * of files: 0 for the only one. */
void report_ranks(struct album *a, const shoal_run *run, const char *name, size_t number);

/* ---- learned.c ---- */

/* A section of the page: what runs learned; nothing, where none says. */
void report_learned(struct album *a, const shoal_run *const *runs, const char *const *names,
                    size_t n);

/* ---- grid.c: a study ---------------------------------------------------------------------- */

struct cell {
    unsigned workers, servers;
    size_t sync, batch; /* places on their axes */
    bool weak;
    size_t twin; /* the cell whose runs it shows: the first that trains in the very same way */
};

enum run_state { RUN_OPEN, RUN_DONE, RUN_FAILED };

struct study_run {
    enum run_state state;
    struct shoal_measures m;
    char failure[256];
};

/* The training of a series with so many workers, its time simulated. */
struct simulated {
    size_t cell;
    unsigned workers;
    double bandwidth; /* of the link */
    struct study_run run;
};

struct shoal_study {
    char *folder;
    int lock;                     /* the folder, while this study may write there; -1: it may not */
    struct shoal_study_opts opts; /* its strings are owned */
    char machine[256];            /* where it began */
    unsigned cores;
    struct cell *cells; /* [ncells] */
    size_t ncells;
    struct study_run *runs;      /* [repeat][ncells]; those of twins stay open */
    struct simulated *simulated; /* [nsimulated] what simgrid.c came to */
    size_t nsimulated;
    /* The command of the run that shoal_study_next gave, and where its files are. */
    struct prose command; /* its words, each ended by a NUL */
    char **words;         /* [nwords] pointers into it, and a NULL */
    size_t nwords;
    char *run_folder;
};

/* "4 ranks, async, batch 100" */
struct name study_cell_name(const shoal_study *s, size_t cell);
/* "rank"; "worker" where there are servers, which are ranks too */
const char *study_worker_name(const shoal_study *s);
/* Whether the cell stands for all policies of the grid: it has nobody to wait for. */
bool study_any_sync(const shoal_study *s, const struct cell *cell);
/* What the cells of a line have in common, those that differ in workers or in batch; "" where that
 * is all. */
struct name study_line_name(const shoal_study *s, size_t cell, bool by_batch);
/* Whether an option is among those for `shoal train`. */
bool study_has_option(const struct shoal_study_opts *o, const char *option);
/* The first cell that came to something tells how things are called; NULL: none did. */
const struct shoal_measures *study_example(const shoal_study *s);
/* Whether two cells are the same training. */
bool study_cells_twins(const struct cell *a, const struct cell *b);
/* The cell that this one's speedup is against: fewest workers, the rest alike. */
size_t study_cell_base(const shoal_study *s, size_t cell);
/* The quickest run of the cell that is done; NULL: none. */
const struct study_run *study_cell_best(const shoal_study *s, size_t cell);
/* The number that lies at `of` in it, CELL(best.rate); divided by that at `per`, unless 0. */
#define CELL(member) offsetof(struct shoal_study_cell, member)
double study_cell_number(const struct shoal_study_cell *c, size_t of, size_t per);
/* Where its files are; for free(). */
char *study_run_folder(const shoal_study *s, size_t number);
/* The command of a run whose files are in `folder`, which becomes the study's: command_begin,
 * a command_word for each word of who launches it, if not itself, then command_train, which adds
 * those of `shoal train`, sets s->words and makes the folder. A failure on the way is kept until
 * then; a NULL folder is one. */
void command_begin(shoal_study *s, char *folder);
void command_word(shoal_study *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
shoal_status command_train(shoal_study *s, const struct cell *cell);
/* What became of it: a sentence, or what its metrics say. */
void study_run_fail(struct study_run *run, const char *why);
void study_run_take(const shoal_study *s, struct study_run *run, const char *folder);
/* An empty study with all of its cells open. */
shoal_status study_new(shoal_study **out, const char *folder, const struct shoal_study_opts *opts);

/* ---- record.c: study.json ------------------------------------------------------------------ */

/* Not one number of it was measured. */
struct shoal_measures measures_unknown(void);
shoal_status record_write(const shoal_study *s);
/* *out NULL: there is none. */
shoal_status record_read(shoal_study **out, const char *folder);
shoal_status record_parse(shoal_study **out, const char *folder, const char *text, size_t len);

/* ---- table.c -------------------------------------------------------------------------------- */

void table_csv(struct prose *t, const shoal_study *s);
void table_html(struct prose *t, const shoal_study *s);
/* Whether anybody measured what cells used, and the table of it. */
bool table_has_resources(const shoal_study *s);
void table_html_resources(struct prose *t, const shoal_study *s);

/* ---- findings.c ------------------------------------------------------------------------------ */

/* What the study found, in words: lines, or paragraphs of HTML. */
void findings_text(struct prose *t, const shoal_study *s);
void findings_html(struct prose *t, const shoal_study *s);

/* ---- simulate.c -------------------------------------------------------------------------------
 */

/* What runs of one rank, and of several where there are some, say about a series. */
struct calibration {
    const struct shoal_measures *one, *some; /* of one rank; of `ranks`, or NULL */
    unsigned ranks;
    unsigned servers;
    bool waits;   /* ranks wait for each other, */
    double every; /* after so many steps */
};

/* False: there is no run of one rank. */
bool calibration_find(struct calibration *k, const shoal_study *s, size_t cell);
/* Processor seconds: of the one rank, and for a byte that is sent. */
double calibration_alone(const struct calibration *k);
double calibration_byte(const struct calibration *k);
/* simgrid.c: what was simulated of a series; NULL: nothing. */
const struct study_run *study_simulated_run(const shoal_study *s, size_t cell, unsigned workers,
                                            double bandwidth);
/* How many links it has, and the cluster with the i-th of them. */
size_t cluster_links(const struct shoal_cluster *c);
/* The most workers that are simulated on the i-th link. */
uint64_t cluster_simulated(const struct shoal_cluster *c, size_t i);
struct shoal_cluster cluster_link(const struct shoal_cluster *c, size_t i);
shoal_status cluster_parse(struct shoal_cluster *out, const char *path, const char *text,
                           size_t len);

/* ---- predicted.c: predictions as tables, charts and sentences ---------------------------------- */

/* A section of the page: the predicted speedup, time and table. */
void prediction_draw(struct album *a, const shoal_study *s, const struct shoal_cluster *cluster);
void prediction_csv(struct prose *t, const shoal_study *s, const struct shoal_cluster *cluster);

#endif
