/* The inside of checkpoints, for checkpoint*.c; not a door.
 *
 * One rank writes one file, tables and all. Several write a part each, and rank 0
 * then a head, without which the parts are nothing:
 *
 *     checkpoint-000007.part-00-of-03.shoal   rows of rank 0   \
 *     checkpoint-000007.part-01-of-03.shoal   rows of rank 1    > a row in one of them
 *     checkpoint-000007.part-02-of-03.shoal   rows of rank 2   /
 *     checkpoint-000007.shoal                 all else, and what each part must be   */
#ifndef SHOAL_CHECKPOINT_H
#define SHOAL_CHECKPOINT_H

#include "comm/comm.h"
#include "file/file.h"
#include "model/model.h"
#include "store/store.h"

enum { CHECKPOINT_PATH = 4096, LEARNED_MOST = 3, SECTIONS_MOST = 4 + LEARNED_MOST };

struct task;
struct identity;

/* Where a run is: everything but the tables that a checkpoint must hold. */
struct position {
    unsigned epoch;    /* from 0 */
    uint64_t place;    /* next unit of the epoch */
    uint64_t examples; /* trained so far */
    double seconds;    /* of training so far */
    struct sums sums;  /* of the epoch so far */
    double norm;       /* of gradients, squared, over the `norms` steps where it was measured */
    uint64_t norms;
    uint64_t steps;    /* that an optimizer has made, where it counts them */
    uint64_t workers;  /* ranks that trained */
    double best_loss;  /* the lowest interval loss, for noticing divergence */
    double progress;   /* 0 .. 1, for people */
    /* Evaluations of what is held out: how many, since how many none was better, the
     * best, and the examples passed before the last. */
    uint64_t evaluations, no_better, evaluated;
    double held_best;
    uint64_t kept; /* 1 + the epoch whose end, or within which, was best and is kept; 0: none is */
};

/* What a rank has of a run, and who writes which rows of it when several ranks write a
 * checkpoint together. Borrowed while opening; the tables until the end. */
struct sections {
    struct checkpoint_section {
        struct table *table;   /* .rows counts all of them */
        const struct deal *deal; /* who writes which row; NULL: not known, or one rank writes
                                    all */
        bool owned; /* the table holds only the rows that this rank owns, each at its place, in
                       their order; else all rows */
        bool best; /* it is there only where position.kept is not 0 */
    } at[SECTIONS_MOST];
    size_t n;
    struct comm *comm; /* NULL: nobody to agree with */
    unsigned rank, size;
};

/* ---- checkpoint.c ---- */

/* A folder of checkpoint-NNNNNN.shoal, the last two kept. Writing happens on a
 * thread of its own, from a copy of the rows, while training goes on: of several ranks
 * each writes its part, and rank 0 the head when it sees all parts. */
struct checkpoints;

/* Not collective: rank 0 makes the folder and looks what is there. */
shoal_status checkpoints_open(struct checkpoints **out, const struct train_opts *opts,
                              const struct task *task, const struct identity *from,
                              const struct sections *sections);
/* Collective. Copies this rank's rows and starts writing, after finishing the one
 * before. Rank 0's position and figures (of the last epoch) count. */
shoal_status checkpoints_write(struct checkpoints *c, const struct position *at,
                               const struct shoal_figures *figures);
/* Collective. Waits for the writers and gives their status: the checkpoint is one now, if
 * it was not before. */
shoal_status checkpoints_finish(struct checkpoints *c);
unsigned checkpoints_written(const struct checkpoints *c);
/* By rank 0: the folder's checkpoints are of a run that begins again. */
shoal_status checkpoints_drop(const struct train_opts *opts);
/* Not collective. A checkpoint of several ranks whose parts are not all there is none. */
void checkpoints_close(struct checkpoints *c);

/* Collective. Reads the newest checkpoint that is whole for all ranks, however
 * many wrote it, into the tables, *at and *figures, after checking that it belongs to these
 * options and this data. All ranks succeed or none. */
shoal_status checkpoint_load(const struct train_opts *opts, const struct task *task,
                             const struct identity *from, const struct sections *sections,
                             struct position *at, struct shoal_figures *figures);

/* ---- checkpoint_meta.c: lines `key value` ---- */

/* Of a head: the task, its options and the position. */
shoal_status meta_write(struct bytes *b, const struct task *task, const struct train_opts *o,
                        const struct position *at);
/* Unknown ones are refused; SHOAL_EFORMAT. */
shoal_status meta_task(const struct container *c, const struct task **task);
shoal_status meta_position(const struct container *c, struct position *at);
/* Figures, as text of their own. */
shoal_status meta_write_figures(struct bytes *b, const struct shoal_figures *f);
shoal_status meta_read_figures(const struct container *c, struct shoal_figures *f);

/* ---- checkpoint_folder.c: names ---- */

void folder_path(char path[CHECKPOINT_PATH], const char *folder, unsigned long number);
/* Of a part, by the path of its head. */
void folder_part_path(char path[CHECKPOINT_PATH], const char *head, unsigned part, unsigned parts);

struct numbers {
    unsigned long *at; /* of the heads, newest first */
    size_t len;
    unsigned long last; /* the highest of any file, parts without a head among them */
};

shoal_status folder_list(struct numbers *out, const char *folder);
void numbers_fini(struct numbers *n);
/* Unless it is there; `made` tells. */
shoal_status folder_make(const char *folder, bool *made);
/* For writing: made if it is not there, and empty unless the run goes on; *next is the
 * number of its next checkpoint. */
shoal_status folder_open(const char *folder, bool resume, unsigned long *next);
/* Leaves none. */
shoal_status folder_drop_all(const char *folder);
/* Leaves the newest two checkpoints, and parts that are newer: one is being
 * written. */
void folder_drop_old(const char *folder);

/* ---- checkpoint_parts.c: heads and parts ---- */

/* The rows of one rank, or all: a table's copy and which rows they are. */
struct part_rows {
    struct table copy; /* [n][width] under the table's name */
    uint32_t *ids;     /* [n] increasing; NULL: all, in order */
};

/* Those that the deal gives to the rank; deal NULL: all. */
shoal_status part_rows_init(struct part_rows *r, const struct table *t, const struct deal *deal,
                            unsigned rank);
/* From all rows; or, when they are `alone`, from a table that has no others. */
void part_rows_copy(struct part_rows *r, const struct table *t, bool alone);
void part_rows_fini(struct part_rows *r);

/* This rank's part of a checkpoint, whose head has that path: rows [s->n] of its tables, and the
 * fingerprint of its corpus. */
shoal_status part_write(const char *head, unsigned long number, const struct sections *s,
                        const struct part_rows *rows, uint64_t corpus);

/* What a head must say of its parts. */
struct seals {
    uint64_t *parts;   /* [n] fingerprints */
    uint64_t *corpora; /* [n] likewise */
    unsigned n;
};

/* From the parts on disk, as soon as all are there. */
shoal_status seals_read(struct seals *s, const char *head, unsigned long number, unsigned parts);
void seals_fini(struct seals *s);

/* A checkpoint, every byte of it checked: by this process, or each part by one rank of those
 * that read it together, which alone has it open and gives its rows to the others. */
struct opened {
    struct container *head;
    struct container **parts; /* [n] */
    unsigned n;               /* 0: all is in the head */
    struct comm *comm;        /* NULL: nobody to read with */
    bool peeks;
};

/* With `peek` its parts are not read: they are there, and say that they belong to it. */
shoal_status checkpoint_open(struct opened *o, const char *path, struct comm *comm, bool peek);
/* The newest of a folder that is whole, or a file. A folder that is not there or holds none
 * is SHOAL_ENOENT. */
shoal_status checkpoint_open_newest(struct opened *o, const char *path, bool peek);
void checkpoint_close(struct opened *o);
/* Every row of a table, each of them once; those that the rank holds are copied. Collective
 * where it was opened so. */
shoal_status checkpoint_read_table(const struct opened *o, const struct checkpoint_section *of,
                                   unsigned rank);
/* Whether `corpus` is what rank `rank` of `ranks` trained on; `local` when each
 * has one of its own. */
shoal_status checkpoint_check_corpus(const struct opened *o, uint64_t corpus, bool local,
                                     unsigned rank, unsigned ranks);

#endif
