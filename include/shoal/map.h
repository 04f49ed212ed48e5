/* shoal/map.h: maps of word vectors, a part of shoal.h, which includes it.
 *
 * What this is: the commonest words of vectors as points of a plane, by principal components and
 * by t-SNE or UMAP; their clusters, and each word's nearest; written as a page that needs nothing
 * else, or as files for TensorBoard's projector.
 * Who owns what: a map borrows its vectors, which must outlive it; what it gives lives as long as
 * the map.
 * Threads: a map is immutable once made, and any number may use it. */
#ifndef SHOAL_MAP_PART_H
#define SHOAL_MAP_PART_H

#include <shoal.h>

#ifdef __cplusplus
extern "C" {
#endif

enum shoal_map_method {
    SHOAL_MAP_PCA,
    SHOAL_MAP_TSNE, /* van der Maaten and Hinton 2008, all pairs exactly */
    SHOAL_MAP_UMAP, /* McInnes, Healy and Melville 2018 */
};

#define SHOAL_MAP_LEAST 4
#define SHOAL_MAP_MOST 20000

struct shoal_map_opts {
    uint64_t words; /* so many, the first of the vectors; SHOAL_MAP_LEAST to SHOAL_MAP_MOST */
    enum shoal_map_method method;
    double perplexity;   /* t-SNE: neighbours that a point feels; 2 to 200 */
    uint64_t neighbors;  /* UMAP: of a point; 2 to 200 */
    double min_distance; /* UMAP: of points that belong together; 0 to 0.99 */
    uint64_t rounds;     /* 0: as many as are good */
    uint64_t clusters;   /* 1 to 64 */
    uint64_t seed;
    unsigned threads; /* 0: one for each core; the map is the same for any number */
    struct shoal_watch watch;
};

struct shoal_map_layout {
    const char *name;    /* "t-SNE" */
    const float *places; /* [n][2] */
    /* Of the 10 nearest: trustworthiness, 1 when those in the plane are nearest indeed, a half by
     * chance; and the share of the nearest that are nearest in the plane. */
    double trust, kept;
    double loss; /* of t-SNE, the divergence in nats; else NaN */
};

#define SHOAL_MAP_NEAR 10
#define SHOAL_MAP_NAMES 3

typedef struct shoal_map shoal_map;

SHOAL_API struct shoal_map_opts shoal_map_default(void);
SHOAL_API shoal_status shoal_map_check(const struct shoal_map_opts *opts);
/* Vectors with fewer words are taken whole. Words without a direction, and </s>, are left out. */
SHOAL_API shoal_status shoal_map_make(shoal_map **out, const shoal_vectors *v,
                                      const struct shoal_map_opts *opts);
SHOAL_API void shoal_map_free(shoal_map *m);

SHOAL_API size_t shoal_map_size(const shoal_map *m);
/* The word's id among the vectors; i < size. */
SHOAL_API uint32_t shoal_map_id(const shoal_map *m, size_t i);
/* Layout 0 is that of the method, the last is PCA's. */
SHOAL_API size_t shoal_map_layouts(const shoal_map *m);
SHOAL_API struct shoal_map_layout shoal_map_layout(const shoal_map *m, size_t i);
/* Clusters are numbered by size, the largest first, and named by their most central words, of
 * which there may be fewer: then NULL. */
SHOAL_API size_t shoal_map_clusters(const shoal_map *m);
SHOAL_API size_t shoal_map_cluster(const shoal_map *m, size_t i);
SHOAL_API const char *shoal_map_cluster_name(const shoal_map *m, size_t cluster, size_t name);
/* The k-th nearest of point i among those of the map, and how near; k < SHOAL_MAP_NEAR. The id is
 * a point's number; SHOAL_NO_ID: there are no so many. */
SHOAL_API struct shoal_hit shoal_map_near(const shoal_map *m, size_t i, size_t k);

/* One HTML file. On failure nothing is left. */
SHOAL_API shoal_status shoal_map_write(const shoal_map *m, const char *path, const char *title);
/* vectors.tsv, metadata.tsv and projector_config.pbtxt of TensorBoard's projector, in a folder that
 * is made if need be. */
SHOAL_API shoal_status shoal_map_write_tsv(const shoal_map *m, const char *folder);

#ifdef __cplusplus
}
#endif
#endif
