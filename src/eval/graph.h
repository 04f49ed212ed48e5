/* graph: an index of links over the directions of rows; a part of the door eval.h.
 *
 * What this is: the object behind shoal_hnsw: made of rows, asked, measured, saved and read. The
 * links are hnswlib's (hnsw.h), the memory and the file ours.
 * Who owns what: it has a copy of the rows' directions.
 * Threads: immutable once made. */
#ifndef SHOAL_EVAL_GRAPH_H
#define SHOAL_EVAL_GRAPH_H

#include "eval/hnsw.h"
#include "eval/rows.h"

enum {
    GRAPH_M_MOST = 256,
    GRAPH_EF_MOST = 65536,
    GRAPH_LEVELS_MOST = 30,
    GRAPH_K = 10, /* of recall */
};

/* hnsw.h draws elements and lists. */
struct shoal_hnsw {
    struct hnsw_view view;
    const struct kernel *kernel;
    unsigned ef_construction, ef, top; /* top: the entry's level */
    uint64_t seed, hash;
    char *upper; /* all lists above level 0; mem_map */
    size_t upper_bytes;
    uint8_t *levels;
    struct hnsw *hnsw;
};

/* Who may answer; takes NULL: all. */
struct near_filter {
    bool (*takes)(const void *of, uint32_t id);
    const void *of;
};

shoal_status graph_new(shoal_hnsw **out, const struct rows *rows,
                       const struct shoal_hnsw_opts *opts);
void graph_free(shoal_hnsw *x);
/* Fails where rows cannot have an index. */
shoal_status graph_check_rows(const struct rows *rows);
/* A number that stands for all rows as they are stored. */
uint64_t graph_hash(const struct rows *rows);
/* The first step of making one, with a level for each row: memory and directions, no links. */
shoal_status graph_alloc(shoal_hnsw **out, const struct rows *rows, unsigned m, uint8_t *levels,
                         unsigned threads);
/* Its directions as rows, for exact search. */
struct rows graph_rows(const shoal_hnsw *x);
/* The list of a node in a level. */
uint32_t *graph_list(const shoal_hnsw *x, uint32_t id, unsigned level);

/* As nearest_to by the graph; `unit` is of length 1 and padded, the filter may be NULL. */
shoal_status graph_nearest(const shoal_hnsw *x, const float *unit, const uint32_t *skip,
                           size_t nskip, const struct near_filter *filter, size_t ef,
                           struct shoal_hit *hits, size_t k, size_t *found);

/* graph_measure.c: recall of the ten nearest over so many questions; the fewest candidates for one.
 * `rows` are those of the exact search. */
shoal_status graph_measure(const shoal_hnsw *x, const struct rows *rows, size_t ef,
                           size_t questions, unsigned threads, struct shoal_hnsw_recall *out);
shoal_status graph_tune(shoal_hnsw *x, double recall, unsigned threads);

/* graph_file.c */
struct container;
shoal_status graph_save(const shoal_hnsw *x, const char *path);
shoal_status graph_open(shoal_hnsw **out, const struct rows *rows, const char *path);
shoal_status graph_read(shoal_hnsw **out, const struct rows *rows, const struct container *c);

#endif
