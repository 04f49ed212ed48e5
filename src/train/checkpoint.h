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

#include "train/train.h"

enum { CHECKPOINT_PATH = 4096 };

/* ---- checkpoint_meta.c: lines `key value` ---- */

/* Of a head; `ranks` is how many wrote it. */
shoal_status meta_write(struct bytes *b, const struct shoal_train_opts *o,
                        const struct position *at, unsigned ranks);
shoal_status meta_write_part(struct bytes *b, unsigned long number, unsigned part, unsigned parts);
shoal_status meta_options(const struct container *c, struct shoal_train_opts *o);
shoal_status meta_position(const struct container *c, struct position *at);
/* Whether a run with `here` is the one that has the options `there`. */
shoal_status meta_same(const struct container *c, const struct shoal_train_opts *there,
                       const struct shoal_train_opts *here);

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
shoal_status folder_make(const char *folder);
/* For writing: made if it is not there, and empty unless the run goes on; *next is the
 * number of its next checkpoint. */
shoal_status folder_open(const char *folder, bool resume, unsigned long *next);
/* Leaves the newest two checkpoints, and parts that are newer: one is being
 * written. */
void folder_drop_old(const char *folder);

/* ---- checkpoint_parts.c: heads and parts ---- */

/* The rows of one rank, or all: a table's copy and which rows they are. */
struct rows {
    struct table copy; /* [n][width] under the table's name */
    uint32_t *ids;     /* [n] increasing; NULL: all, in order */
};

/* Those that `owner` gives to the rank; owner NULL: all. */
shoal_status rows_init(struct rows *r, const struct table *t, const uint16_t *owner, unsigned rank);
/* From all rows; or, when they are `alone`, from a table that has no others. */
void rows_copy(struct rows *r, const struct table *t, bool alone);
void rows_fini(struct rows *r);

struct part {
    const char *head; /* its path */
    unsigned long number;
    unsigned part, parts;
    const struct rows *rows; /* [n] */
    size_t n;
    uint64_t corpus; /* fingerprint */
};

shoal_status part_write(const struct part *p);

/* What a head must say of its parts. */
struct seals {
    uint64_t *parts;   /* [n] fingerprints */
    uint64_t *corpora; /* [n] likewise */
    unsigned n;
};

/* From the parts on disk, as soon as all are there. */
shoal_status seals_read(struct seals *s, const char *head, unsigned long number, unsigned parts);
void seals_fini(struct seals *s);

/* A checkpoint, every byte of it checked. */
struct opened {
    struct container *head;
    struct container **parts; /* [n] */
    unsigned n;               /* 0: all is in the head */
};

shoal_status opened_open(struct opened *o, const char *path);
void opened_close(struct opened *o);
/* Where rows go: all, or those of one rank to their places. */
struct seats {
    const uint16_t *owner; /* [rows] */
    const uint32_t *place; /* [rows]; NULL: all */
    unsigned rank;
};

/* Every row of a table, each of them once; those that have a seat are copied. */
shoal_status opened_table(const struct opened *o, struct table *t, const struct seats *seats);
/* Whether `corpus` is what rank `rank` of `ranks` trained on; `local` when each
 * has one of its own. */
shoal_status opened_corpus(const struct opened *o, uint64_t corpus, bool local, unsigned rank,
                           unsigned ranks);

#endif
