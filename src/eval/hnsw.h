/* hnsw: the graph behind approximate search, by hnswlib; a file of eval, not a door.
 *
 * What this is: the few calls that shoal makes to hnswlib (Malkov and Yashunin, 2018). hnsw.cc has
 * them where the library was found, hnsw_none.c where it was not. Files of an index are ours
 * (graph_file.c): hnswlib reads and writes none. No exception leaves.
 *
 *     elements [n]     | unit row, padded | links of level 0: count, ids [2 m] | 0 .. |
 *                      0                  links_at                             element
 *     lists [n]        of a node of level L > 0: L times count, ids [m], level 1 first
 *
 * Who owns what: all of the view is the caller's, and stays until hnsw_close.
 * Threads: hnsw_add may be called by many at once, and so may hnsw_search; not both. */
#ifndef SHOAL_EVAL_HNSW_H
#define SHOAL_EVAL_HNSW_H

#include <shoal.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hnsw_view {
    size_t n, dim;
    unsigned m; /* links of a node, twice as many in level 0 */
    char *elements;
    size_t element, links_at; /* bytes */
    char **lists;             /* [n]; NULL where the level is 0 */
    const uint8_t *levels;    /* [n] */
    float (*dot)(const float *x, const float *y, size_t n);
    uint32_t entry; /* a node of the highest level; SHOAL_NO_ID: none was added yet */
};

struct hnsw;

/* Bytes of one list of so many links at most, and of a word behind them: hnswlib fetches the row
 * that it names ahead, whatever it is. */
static inline size_t hnsw_list_bytes(size_t most)
{
    return (1 + most + 1) * sizeof(uint32_t);
}

/* SHOAL_OK where this library was built with hnswlib; else says how that is done. */
shoal_status hnsw_there(void);

/* For adding, a node being linked to the nearest of so many candidates; 0: for searching alone. */
shoal_status hnsw_open(struct hnsw **out, const struct hnsw_view *v, unsigned ef_construction);
void hnsw_close(struct hnsw *h);
/* Links node id, which was not added before, and whose lists are zeros. Once one has failed the
 * graph may only be closed. */
shoal_status hnsw_add(struct hnsw *h, uint32_t id);
uint32_t hnsw_entry(const struct hnsw *h);
/* The nodes nearest to a unit row, padded as theirs are, *found <= ef of them in no order, with their cosines into hits
 * [ef]; so many candidates are kept on the way. */
shoal_status hnsw_search(const struct hnsw *h, const float *unit, size_t ef,
                         struct shoal_hit *hits, size_t *found);

#ifdef __cplusplus
}
#endif
#endif
