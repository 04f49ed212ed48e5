/* shoal/hnsw.h: nearest rows found in a graph, approximately; a part of shoal.h, which includes it.
 *
 * What this is: an index over the directions of rows, a hierarchical navigable small world (HNSW,
 * Malkov and Yashunin 2018, by hnswlib). A question walks from row to nearer row and looks at some
 * thousands of a million. It may miss a few of the nearest: recall says which share it finds.
 *
 *     vectors --shoal_hnsw_new--> index --shoal_hnsw_save--> vectors.shoal.hnsw
 *         |                         ^                               |
 *         '---shoal_hnsw_open-------+-------------------------------'
 *
 * Who owns what: an index has its own copy of the directions, and borrows nothing.
 * Threads: any number may ask an index at once; it never changes. */
#ifndef SHOAL_HNSW_PART_H
#define SHOAL_HNSW_PART_H

#include <shoal.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shoal_hnsw shoal_hnsw;

/* SHOAL_OK where the library was built with hnswlib; else the sentence says how that is done, and
 * all that makes an index fails so too. */
SHOAL_API shoal_status shoal_hnsw_there(void);

struct shoal_hnsw_opts {
    unsigned m;               /* links of a row, 2 to 256: more find more, and take more memory */
    unsigned ef_construction; /* candidates that a new row's links are chosen among, 1 to 65,536 */
    unsigned ef;              /* candidates that a question keeps; 0: the fewest for `recall` */
    double recall;            /* above 0, at most 1: of the ten nearest, the share to be found */
    uint64_t seed;
    unsigned threads;         /* 0: one for each core. One gives the same bytes each time */
    struct shoal_watch watch;
};

/* m 16, ef_construction 200, recall 0.95 */
SHOAL_API struct shoal_hnsw_opts shoal_hnsw_default(void);

/* The second is of rows that are in memory; rows->words is not looked at. All must be finite.
 * Fails with SHOAL_ELIMIT where no ef reaches the recall. */
SHOAL_API shoal_status shoal_hnsw_new(shoal_hnsw **out, const shoal_vectors *v,
                                      const struct shoal_hnsw_opts *opts);
SHOAL_API shoal_status shoal_hnsw_new_rows(shoal_hnsw **out, const struct shoal_matrix *rows,
                                           const struct shoal_hnsw_opts *opts);
SHOAL_API shoal_status shoal_hnsw_save(const shoal_hnsw *x, const char *path);
/* The file has the links alone, and says of which rows: of others it is refused. Every byte is
 * checked, and every link. */
SHOAL_API shoal_status shoal_hnsw_open(shoal_hnsw **out, const shoal_vectors *v, const char *path);
SHOAL_API shoal_status shoal_hnsw_open_rows(shoal_hnsw **out, const struct shoal_matrix *rows,
                                            const char *path);
SHOAL_API void shoal_hnsw_free(shoal_hnsw *x);

struct shoal_hnsw_facts {
    size_t size, dim;
    unsigned m, ef_construction, ef;
    uint64_t seed;
    unsigned levels;
    uint64_t links;
    uint64_t bytes; /* of memory */
};

SHOAL_API struct shoal_hnsw_facts shoal_hnsw_facts(const shoal_hnsw *x);

/* As shoal_nearest, but that some of the nearest may be missing; ef 0: the index's own. Who asks for
 * nearly all rows is answered exactly. By the caller's thread alone. */
SHOAL_API shoal_status shoal_hnsw_nearest(const shoal_hnsw *x, const float *query,
                                          const uint32_t *skip, size_t nskip, size_t ef,
                                          struct shoal_hit *hits, size_t k, size_t *found);
/* As shoal_nearest_words, and as shoal_analogy_words by 3CosAdd; v are the vectors that the index
 * is of. */
SHOAL_API shoal_status shoal_hnsw_nearest_words(const shoal_hnsw *x, const shoal_vectors *v,
                                                const char *const *words, size_t n, bool *known,
                                                size_t ef, struct shoal_hit *hits, size_t k,
                                                size_t *found);
SHOAL_API shoal_status shoal_hnsw_analogy_words(const shoal_hnsw *x, const shoal_vectors *v,
                                                const char *const *abc, bool *known, size_t ef,
                                                struct shoal_hit *hits, size_t k, size_t *found);

/* How an index does: of `questions` of its rows, chosen by chance, the ten nearest are looked for
 * both ways. */
struct shoal_hnsw_recall {
    size_t questions;
    double recall;         /* the share of the exact answers that the index gave too */
    double exact_seconds;  /* a question, by shoal_nearest with so many threads */
    double approx_seconds; /* a question, by one thread */
    unsigned threads;
};

SHOAL_API shoal_status shoal_hnsw_measure(const shoal_hnsw *x, const shoal_vectors *v, size_t ef,
                                          size_t questions, unsigned threads,
                                          struct shoal_hnsw_recall *out);

#ifdef __cplusplus
}
#endif
#endif
