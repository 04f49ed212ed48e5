/* Word vectors on a plane: which words, where, of which cluster, and near to whom. */
#include "saved/vectors/map.h"

#include <math.h>
#include <stdlib.h>

enum {
    JUDGED = 1000, /* points that a layout is judged by */
    CLUSTERS = 12,
};

struct shoal_map_opts shoal_map_default(void)
{
    return (struct shoal_map_opts){.words = 5000,
                                   .method = SHOAL_MAP_TSNE,
                                   .perplexity = 30,
                                   .neighbors = 15,
                                   .min_distance = 0.1,
                                   .clusters = CLUSTERS,
                                   .seed = 1};
}

static shoal_status check_count(const char *name, uint64_t found, uint64_t least, uint64_t most)
{
    if (found >= least && found <= most)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "%s is %llu, want %llu to %llu", name,
                      (unsigned long long)found, (unsigned long long)least,
                      (unsigned long long)most);
}

static shoal_status check_real(const char *name, double found, double least, double most)
{
    if (found >= least && found <= most)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "%s is %g, want %g to %g", name, found, least, most);
}

shoal_status shoal_map_check(const struct shoal_map_opts *o)
{
    shoal_status st = check_count("words", o->words, SHOAL_MAP_LEAST, SHOAL_MAP_MOST);

    if (st == SHOAL_OK)
        st = check_real("perplexity", o->perplexity, 2, 200);
    if (st == SHOAL_OK)
        st = check_count("neighbors", o->neighbors, 2, 200);
    if (st == SHOAL_OK)
        st = check_real("min_distance", o->min_distance, 0, 0.99);
    if (st == SHOAL_OK)
        st = check_count("rounds", o->rounds, 0, 100000);
    if (st == SHOAL_OK)
        st = check_count("clusters", o->clusters, 1, 64);
    if (st == SHOAL_OK && (unsigned)o->method > SHOAL_MAP_UMAP)
        st = shoal_fail(SHOAL_EINVAL, "method is %u, want one of pca, tsne and umap",
                        (unsigned)o->method);
    return st;
}

/* ---- words ---- */

/* Those with a direction, as rows of length 1; the end of sentences is no word. */
static shoal_status take_words(shoal_map *m, size_t most)
{
    const shoal_vectors *v = m->v;
    size_t size = shoal_vectors_size(v);
    size_t room = most < size ? most : size;
    shoal_status st = table_init(&m->rows, "map", room, shoal_vectors_dim(v));

    if (st == SHOAL_OK && !(m->ids = mem_array(room, sizeof *m->ids)))
        st = SHOAL_ENOMEM;
    for (uint32_t id = 0; id < size && m->n < room && st == SHOAL_OK; id++) {
        float *row = m->rows.at + m->n * m->rows.stride;

        if (strcmp(shoal_vectors_word(v, id), "</s>") == 0)
            continue;
        st = shoal_vectors_row(v, id, row);
        if (st == SHOAL_OK && vector_normalize(row, m->rows.width))
            m->ids[m->n++] = id;
    }
    if (st == SHOAL_OK && m->n < SHOAL_MAP_LEAST)
        st = shoal_fail(SHOAL_EINVAL, "map: found %zu words with a vector, want %d or more", m->n,
                        SHOAL_MAP_LEAST);
    m->units = m->rows;
    m->units.rows = m->n;
    return st;
}

/* ---- clusters ---- */

/* The most central of a cluster among its commonest words: rare ones say little. */
static void name_cluster(shoal_map *m, size_t cluster, const float *centre, size_t members)
{
    uint32_t *names = m->names + cluster * SHOAL_MAP_NAMES;
    float best[SHOAL_MAP_NAMES];
    size_t seen = 0, most = members / 3 > 30 ? members / 3 : 30;

    for (size_t k = 0; k < SHOAL_MAP_NAMES; k++) {
        names[k] = SHOAL_NO_ID;
        best[k] = -INFINITY;
    }
    for (size_t i = 0; i < m->n && seen < most; i++) {
        float score;
        size_t at = SHOAL_MAP_NAMES - 1;

        if (m->of[i] != cluster)
            continue;
        seen++;
        score = (float)vector_dot(m->units.at + i * m->units.stride, centre, m->units.width);
        if (!(score > best[at]))
            continue;
        for (; at > 0 && score > best[at - 1]; at--) {
            best[at] = best[at - 1];
            names[at] = names[at - 1];
        }
        best[at] = score;
        names[at] = (uint32_t)i;
    }
}

static shoal_status make_clusters(shoal_map *m, const struct shoal_map_opts *opts,
                                  struct workers *w)
{
    size_t members[256] = {0};
    struct table centres = {0};
    shoal_status st;

    m->clusters = opts->clusters < m->n ? (size_t)opts->clusters : m->n;
    m->of = mem_array(m->n, sizeof *m->of);
    m->names = mem_array(m->clusters * SHOAL_MAP_NAMES, sizeof *m->names);
    st = m->of && m->names ? table_init(&centres, "centres", m->clusters, m->units.width)
                           : SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = kmeans(&m->units, m->clusters, opts->seed, w, m->of, centres.at);
    for (size_t i = 0; i < m->n && st == SHOAL_OK; i++)
        members[m->of[i]]++;
    for (size_t c = 0; c < m->clusters && st == SHOAL_OK; c++)
        name_cluster(m, c, centres.at + c * centres.stride, members[c]);
    table_fini(&centres);
    return st;
}

/* ---- layouts ---- */

static shoal_status layout_init(shoal_map *m, struct map_layout *l, const char *name)
{
    *l = (struct map_layout){.name = name, .loss = NAN};
    l->places = mem_array(2 * m->n, sizeof *l->places);
    return l->places ? SHOAL_OK : SHOAL_ENOMEM;
}

/* How many neighbours a layout asks for: t-SNE three times its perplexity. */
static size_t neighbours_wanted(const shoal_map *m, const struct shoal_map_opts *opts)
{
    double want = opts->method == SHOAL_MAP_TSNE   ? 3 * opts->perplexity
                  : opts->method == SHOAL_MAP_UMAP ? (double)opts->neighbors
                                                   : 0;
    size_t k = want > SHOAL_MAP_NEAR ? (size_t)want : SHOAL_MAP_NEAR;

    return k < m->n ? k : m->n - 1;
}

/* The first `k` neighbours of each. */
static void shorten_neighbours(struct neighbours *g, size_t k)
{
    for (size_t i = 1; i < g->n && k < g->k; i++) {
        memmove(g->ids + i * k, g->ids + i * g->k, k * sizeof *g->ids);
        memmove(g->cosines + i * k, g->cosines + i * g->k, k * sizeof *g->cosines);
    }
    g->k = k < g->k ? k : g->k;
}

static shoal_status make_layout(shoal_map *m, struct neighbours *g,
                                const struct shoal_map_opts *opts, struct workers *w)
{
    bool tsne = opts->method == SHOAL_MAP_TSNE;
    struct layout_how how = {.perplexity = opts->perplexity,
                             .min_distance = opts->min_distance,
                             .rounds = (unsigned)opts->rounds,
                             .seed = opts->seed};
    unsigned rounds = tsne ? tsne_rounds(&how) : umap_rounds(&how);
    struct map_layout *l = &m->layouts[0];
    struct pulse pulse;
    shoal_status st = layout_init(m, l, tsne ? "t-SNE" : "UMAP");

    if (st != SHOAL_OK)
        return st;
    how.perplexity = fmin(how.perplexity, (double)g->k / 1.5);
    if (!tsne && opts->neighbors < g->k)
        shorten_neighbours(g, (size_t)opts->neighbors);
    pulse_begin(&pulse, &opts->watch, tsne ? "tsne" : "umap", "rounds", rounds);
    memcpy(l->places, m->layouts[1].places, 2 * m->n * sizeof *l->places);
    st = tsne ? tsne_layout(g, &how, w, &pulse, l->places, &l->loss)
              : umap_layout(g, &how, w, &pulse, l->places);
    return st == SHOAL_OK ? pulse_end(&pulse, rounds) : st;
}

/* PCA stands last, and is where the other begins. */
static shoal_status make_layouts(shoal_map *m, struct neighbours *g,
                                 const struct shoal_map_opts *opts, struct workers *w)
{
    bool other = opts->method != SHOAL_MAP_PCA;
    struct map_layout *pca = &m->layouts[other];
    double shares[2];
    shoal_status st = layout_init(m, pca, "PCA");

    m->nlayouts = other + 1;
    if (st == SHOAL_OK)
        st = pca_table(&m->units, w, pca->places, shares);
    if (st == SHOAL_OK && other)
        st = make_layout(m, g, opts, w);
    for (size_t i = 0; i < m->nlayouts && st == SHOAL_OK; i++)
        st = layout_judge(&m->units, &m->near, m->layouts[i].places, SHOAL_MAP_NEAR, JUDGED, w,
                          &m->layouts[i].score);
    return st;
}

/* ---- all of it ---- */

static shoal_status keep_nearest(shoal_map *m, const struct neighbours *g)
{
    size_t k = g->k < SHOAL_MAP_NEAR ? g->k : SHOAL_MAP_NEAR;

    m->near = (struct neighbours){.n = g->n, .k = k};
    m->near.ids = mem_array(g->n * k, sizeof *m->near.ids);
    m->near.cosines = mem_array(g->n * k, sizeof *m->near.cosines);
    if (!m->near.ids || !m->near.cosines)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < g->n; i++) {
        memcpy(m->near.ids + i * k, g->ids + i * g->k, k * sizeof *g->ids);
        memcpy(m->near.cosines + i * k, g->cosines + i * g->k, k * sizeof *g->cosines);
    }
    return SHOAL_OK;
}

static shoal_status find_neighbours(shoal_map *m, struct neighbours *g,
                                    const struct shoal_map_opts *opts)
{
    struct pulse pulse;
    shoal_status st;

    pulse_begin(&pulse, &opts->watch, "neighbours", "words", m->n);
    st = neighbours_make(g, &m->units, neighbours_wanted(m, opts), opts->threads, &pulse);
    if (st == SHOAL_OK)
        st = pulse_end(&pulse, m->n);
    return st == SHOAL_OK ? keep_nearest(m, g) : st;
}

shoal_status shoal_map_make(shoal_map **out, const shoal_vectors *v,
                            const struct shoal_map_opts *opts)
{
    shoal_map *m = NULL;
    struct neighbours g = {0};
    struct workers *w = NULL;
    unsigned mode = floats_flush();
    shoal_status st = shoal_map_check(opts);

    *out = NULL;
    if (st == SHOAL_OK && !(m = mem_array(1, sizeof *m)))
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK) {
        m->v = v;
        st = workers_new(&w, opts->threads);
    }
    if (st == SHOAL_OK)
        st = take_words(m, (size_t)opts->words);
    if (st == SHOAL_OK)
        st = find_neighbours(m, &g, opts);
    if (st == SHOAL_OK)
        st = make_clusters(m, opts, w);
    if (st == SHOAL_OK)
        st = make_layouts(m, &g, opts, w);
    neighbours_fini(&g);
    workers_free(w);
    floats_set(mode);
    if (st == SHOAL_OK)
        *out = m;
    else
        shoal_map_free(m);
    return st;
}

void shoal_map_free(shoal_map *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < MAP_LAYOUTS; i++)
        free(m->layouts[i].places);
    table_fini(&m->rows);
    neighbours_fini(&m->near);
    free(m->ids);
    free(m->of);
    free(m->names);
    free(m);
}

/* ---- what it holds ---- */

size_t shoal_map_size(const shoal_map *m)
{
    return m->n;
}

uint32_t shoal_map_id(const shoal_map *m, size_t i)
{
    return m->ids[i];
}

size_t shoal_map_layouts(const shoal_map *m)
{
    return m->nlayouts;
}

struct shoal_map_layout shoal_map_layout(const shoal_map *m, size_t i)
{
    const struct map_layout *l = &m->layouts[i];

    return (struct shoal_map_layout){.name = l->name,
                                     .places = l->places,
                                     .trust = l->score.trust,
                                     .kept = l->score.kept,
                                     .loss = l->loss};
}

size_t shoal_map_clusters(const shoal_map *m)
{
    return m->clusters;
}

size_t shoal_map_cluster(const shoal_map *m, size_t i)
{
    return m->of[i];
}

const char *shoal_map_cluster_name(const shoal_map *m, size_t cluster, size_t name)
{
    uint32_t i = m->names[cluster * SHOAL_MAP_NAMES + name];

    return i == SHOAL_NO_ID ? NULL : shoal_vectors_word(m->v, m->ids[i]);
}

struct shoal_hit shoal_map_near(const shoal_map *m, size_t i, size_t k)
{
    if (k >= m->near.k)
        return (struct shoal_hit){.id = SHOAL_NO_ID};
    return (struct shoal_hit){.id = m->near.ids[i * m->near.k + k],
                              .score = m->near.cosines[i * m->near.k + k]};
}
