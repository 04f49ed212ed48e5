/* An index in a container: links, and of which rows they are.
 *
 *     meta     kind hnsw; rows, dim, m, ef_construction, ef, seed, entry, of (graph_hash)
 *     levels   [rows] u8
 *     counts   u16 of each list: of level 0 row by row, then those of higher levels, row by row
 *     links    u32, list by list
 *
 * hnswlib follows links without looking, so each is looked at here: it is a row, it is not its own,
 * and it has a list in that level. */
#include "eval/eval.h"

#include <inttypes.h>
#include <stdlib.h>

#define KIND "hnsw"

/* ---- writing ---- */

/* Calls fn for each list, in the order of the file. */
typedef shoal_status (*list_fn)(void *to, const shoal_hnsw *x, uint32_t id, unsigned level);

static shoal_status each_list(const shoal_hnsw *x, list_fn fn, void *to)
{
    shoal_status st = SHOAL_OK;

    for (uint32_t i = 0; i < x->view.n && st == SHOAL_OK; i++)
        st = fn(to, x, i, 0);
    for (uint32_t i = 0; i < x->view.n && st == SHOAL_OK; i++)
        for (unsigned l = 1; l <= x->levels[i] && st == SHOAL_OK; l++)
            st = fn(to, x, i, l);
    return st;
}

static shoal_status put_count(void *to, const shoal_hnsw *x, uint32_t id, unsigned level)
{
    uint16_t n = (uint16_t)graph_list(x, id, level)[0];

    return container_write(to, &n, sizeof n);
}

static shoal_status put_links(void *to, const shoal_hnsw *x, uint32_t id, unsigned level)
{
    const uint32_t *list = graph_list(x, id, level);

    return container_write(to, list + 1, list[0] * sizeof *list);
}

static shoal_status put_meta(struct container_writer *w, const shoal_hnsw *x)
{
    struct bytes b = {0};
    shoal_status st =
        bytes_print(&b, "kind " KIND "\nrows %zu\ndim %zu\nm %u\nef_construction %u\nef %u\n"
                    "seed %" PRIu64 "\nentry %" PRIu32 "\nof %016" PRIx64 "\n",
                    x->view.n, x->view.dim, x->view.m, x->ef_construction, x->ef, x->seed,
                    x->view.entry, x->hash);

    if (st == SHOAL_OK)
        st = container_put(w, "meta", b.at, b.len);
    bytes_fini(&b);
    return st;
}

shoal_status graph_save(const shoal_hnsw *x, const char *path)
{
    struct container_writer *w = NULL;
    shoal_status st = container_create(&w, path);

    if (st == SHOAL_OK)
        st = put_meta(w, x);
    if (st == SHOAL_OK)
        st = container_put(w, "levels", x->levels, x->view.n);
    if (st == SHOAL_OK)
        st = container_begin(w, "counts");
    if (st == SHOAL_OK)
        st = each_list(x, put_count, w);
    if (st == SHOAL_OK)
        st = container_begin(w, "links");
    if (st == SHOAL_OK)
        st = each_list(x, put_links, w);
    return container_end(w, st);
}

/* ---- reading ---- */

struct head {
    uint64_t rows, dim, m, ef_construction, ef, seed, entry;
    char of[32];
};

static shoal_status read_head(struct head *h, const struct container *c)
{
    struct {
        const char *key;
        uint64_t *to;
    } keys[] = {{"rows", &h->rows}, {"dim", &h->dim},   {"m", &h->m},
                {"seed", &h->seed}, {"entry", &h->entry}, {"ef", &h->ef},
                {"ef_construction", &h->ef_construction}};
    shoal_status st = container_check_kind(c, KIND, "an index of vectors: `shoal index` makes one");

    for (size_t i = 0; i < sizeof keys / sizeof *keys && st == SHOAL_OK; i++)
        st = container_meta_u64(c, keys[i].key, keys[i].to);
    return st == SHOAL_OK ? container_meta(c, "of", h->of, sizeof h->of) : st;
}

static shoal_status check_head(const struct head *h, const struct rows *rows,
                               const struct container *c)
{
    const char *path = container_path(c);
    char of[32];

    if (h->rows != rows->n || h->dim != rows->dim)
        return shoal_fail(SHOAL_EFORMAT, "%s: is an index of %" PRIu64 " rows of %" PRIu64
                          " numbers, found vectors of %zu and %zu, want its own", path, h->rows,
                          h->dim, rows->n, rows->dim);
    if (h->m < 2 || h->m > GRAPH_M_MOST || h->ef < 1 || h->ef > GRAPH_EF_MOST ||
        h->ef_construction < 1 || h->ef_construction > GRAPH_EF_MOST || h->entry >= h->rows)
        return shoal_fail(SHOAL_EFORMAT, "%s: m is %" PRIu64 ", ef %" PRIu64 ", entry %" PRIu64
                          ", want at most %d, %d and a row", path, h->m, h->ef, h->entry,
                          GRAPH_M_MOST, GRAPH_EF_MOST);
    number_print(of, sizeof of, "%016" PRIx64, graph_hash(rows));
    if (strcmp(of, h->of) != 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: is an index of other vectors (%.16s), want one of "
                          "these (%s): `shoal index` makes it anew", path, h->of, of);
    return SHOAL_OK;
}

/* A copy of the levels; *lists is how many all nodes have. */
static shoal_status read_levels(uint8_t **out, size_t *lists, const struct head *h,
                                const struct container *c)
{
    struct section s;
    const uint8_t *at;
    unsigned top = 0;
    shoal_status st = container_find(c, "levels", 1, &s);

    *out = NULL;
    if (st == SHOAL_OK && s.size != h->rows)
        st = shoal_fail(SHOAL_EFORMAT, "%s: section \"levels\" has %zu bytes, want %" PRIu64,
                        container_path(c), s.size, h->rows);
    if (st != SHOAL_OK)
        return st;
    at = s.data;
    *lists = h->rows;
    for (size_t i = 0; i < s.size; i++) {
        top = at[i] > top ? at[i] : top;
        *lists += at[i];
    }
    if (top > GRAPH_LEVELS_MOST || at[h->entry] != top)
        return shoal_fail(SHOAL_EFORMAT, "%s: its highest level is %u and its entry's %u, want the "
                          "same and at most %d", container_path(c), top, at[h->entry],
                          GRAPH_LEVELS_MOST);
    *out = mem_array(s.size, 1);
    if (!*out)
        return SHOAL_ENOMEM;
    memcpy(*out, at, s.size);
    return SHOAL_OK;
}

/* What is left of the two sections while lists are read. */
struct reading {
    const struct container *c;
    shoal_hnsw *x;
    const uint16_t *count;
    const uint32_t *link;
    size_t links; /* left */
};

static shoal_status read_list(void *from, const shoal_hnsw *x, uint32_t id, unsigned level)
{
    struct reading *r = from;
    size_t n = *r->count++, most = level == 0 ? 2 * (size_t)x->view.m : x->view.m;
    uint32_t *list = graph_list(x, id, level);

    if (n > most || n > r->links)
        return shoal_fail(SHOAL_EFORMAT, "%s: row %" PRIu32 " has %zu links, want at most %zu",
                          container_path(r->c), id, n, n > most ? most : r->links);
    list[0] = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        uint32_t to = r->link[i];

        if (to >= x->view.n || to == id || x->levels[to] < level)
            return shoal_fail(SHOAL_EFORMAT, "%s: row %" PRIu32 " is linked to %" PRIu32
                              " in level %u, want another row that is there", container_path(r->c),
                              id, to, level);
        list[1 + i] = to;
    }
    r->link += n;
    r->links -= n;
    return SHOAL_OK;
}

static shoal_status read_links(shoal_hnsw *x, const struct container *c, size_t lists)
{
    struct section counts, links = {0};
    struct reading r = {.c = c, .x = x};
    shoal_status st = container_find(c, "counts", sizeof *r.count, &counts);

    if (st == SHOAL_OK)
        st = container_find(c, "links", sizeof *r.link, &links);
    if (st == SHOAL_OK && counts.size / sizeof *r.count != lists)
        st = shoal_fail(SHOAL_EFORMAT, "%s: section \"counts\" has %zu numbers, want %zu",
                        container_path(c), counts.size / sizeof *r.count, lists);
    if (st != SHOAL_OK)
        return st;
    r.count = counts.data;
    r.link = links.data;
    r.links = links.size / sizeof *r.link;
    st = each_list(x, read_list, &r);
    if (st == SHOAL_OK && r.links > 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: section \"links\" has %zu links too many",
                        container_path(c), r.links);
    return st;
}

shoal_status graph_read(shoal_hnsw **out, const struct rows *rows, const struct container *c)
{
    struct head h = {0};
    uint8_t *levels = NULL;
    shoal_hnsw *x = NULL;
    size_t lists = 0;
    shoal_status st = graph_check_rows(rows);

    *out = NULL;
    if (st == SHOAL_OK)
        st = read_head(&h, c);
    if (st == SHOAL_OK)
        st = check_head(&h, rows, c);
    if (st == SHOAL_OK)
        st = read_levels(&levels, &lists, &h, c);
    if (st == SHOAL_OK)
        st = graph_alloc(&x, rows, (unsigned)h.m, levels, 0);
    if (st == SHOAL_OK)
        st = read_links(x, c, lists);
    if (st == SHOAL_OK) {
        x->ef = (unsigned)h.ef;
        x->ef_construction = (unsigned)h.ef_construction;
        x->seed = h.seed;
        x->view.entry = (uint32_t)h.entry;
        x->top = levels[h.entry];
        x->hash = graph_hash(rows);
        st = hnsw_open(&x->hnsw, &x->view, 0);
    }
    if (st == SHOAL_OK)
        *out = x;
    else
        graph_free(x);
    return st;
}

shoal_status graph_open(shoal_hnsw **out, const struct rows *rows, const char *path)
{
    struct container *c = NULL;
    shoal_status st = container_open(&c, path);

    *out = NULL;
    if (st == SHOAL_OK)
        st = graph_read(out, rows, c);
    container_close(c);
    return st;
}
