/* Product-quantised vectors in our container: the rows of the words and of the n-grams, as
 * fastText's .ftz has them, from which vectors are composed. Beside the vocabulary:
 *
 *     meta            dtype pq, dsub; with n-grams minn, maxn, buckets
 *     pq.codes        u8 [rows][parts]: the words' rows, then those of the n-grams
 *     pq.centroids    f32 [dim * 256]
 *     pq.norm_codes   u8 [rows], and pq.norms f32 [256]; or neither
 *     pq.kept         u32 [kept][2]: bucket and row behind those of the words; none: not pruned */
#include "saved/vectors/vectors.h"

#include <stdio.h>
#include <stdlib.h>

bool vectors_packed(const shoal_vectors *v)
{
    return v->late && !v->late->model.input.dense;
}

/* ---- writing ---- */

static void put_meta(const struct saving *s, struct container_writer *w)
{
    const struct fasttext *f = &s->v->late->model;
    char meta[256];
    int n = snprintf(meta, sizeof meta,
                     "kind vectors\nwords %zu\ndim %zu\ndtype pq\ntotal %llu\ndsub %zu\n"
                     "minn %d\nmaxn %d\nbuckets %d\n",
                     s->n, s->v->dim, (unsigned long long)saving_total(s), f->input.pq.dsub,
                     f->args.minn, f->args.maxn, f->args.bucket);

    container_put(w, "meta", meta, (size_t)n);
}

static void put_rows(const struct fasttext *f, struct container_writer *w)
{
    const struct pq *p = &f->input.pq;

    container_put(w, PACKED_CODES, p->codes, p->rows * p->parts);
    container_put(w, "pq.centroids", p->centroids, p->cols * PQ_CENTROIDS * sizeof *p->centroids);
    if (p->norm_codes) {
        container_put(w, "pq.norm_codes", p->norm_codes, p->rows);
        container_put(w, "pq.norms", p->norms, PQ_CENTROIDS * sizeof *p->norms);
    }
    if (f->pruned)
        container_put(w, "pq.kept", f->kept, f->nkept * sizeof *f->kept);
}

shoal_status vectors_packed_save(const struct saving *s)
{
    struct container_writer *w;
    shoal_status st;

    if (s->n < s->v->size || s->normalize || s->dtype != SHOAL_F32 || s->v->late->from)
        return shoal_fail(SHOAL_EINVAL,
                          "%s: quantised vectors are kept all and as they are, want neither --top, "
                          "--dtype nor --normalize",
                          s->path);
    st = container_create(&w, s->path);
    if (st != SHOAL_OK)
        return st;
    put_meta(s, w);
    st = vocab_save_mapped(s->v->vocab, s->n, w);
    if (st == SHOAL_OK)
        put_rows(&s->v->late->model, w);
    return container_end(w, st);
}

/* ---- reading ---- */

static shoal_status read_number(const struct container *c, const char *key, uint64_t least,
                                uint64_t most, uint64_t *out)
{
    shoal_status st = container_meta_u64(c, key, out);

    if (st == SHOAL_OK && (*out < least || *out > most))
        st = shoal_fail(SHOAL_EFORMAT, "%s: its %s is %llu, want %llu to %llu", container_path(c),
                        key, (unsigned long long)*out, (unsigned long long)least,
                        (unsigned long long)most);
    return st;
}

static shoal_status read_shape(struct fasttext *f, const struct container *c)
{
    uint64_t dim = 0, dsub = 0, minn = 0, maxn = 0, buckets = 0;
    shoal_status st = read_number(c, "dim", 1, DIM_MAX, &dim);

    if (st == SHOAL_OK)
        st = read_number(c, "dsub", 1, dim, &dsub);
    if (st == SHOAL_OK)
        st = read_number(c, "minn", 0, INT32_MAX, &minn);
    if (st == SHOAL_OK)
        st = read_number(c, "maxn", 0, SUBWORDS_MAXN, &maxn);
    if (st == SHOAL_OK)
        st = read_number(c, "buckets", maxn > 0 && minn <= maxn, SUBWORDS_BUCKETS, &buckets);
    f->args = vectors_fasttext_args((size_t)dim, &(struct subwords){.minn = (unsigned)minn,
                                                                    .maxn = (unsigned)maxn,
                                                                    .buckets = (uint32_t)buckets});
    f->input.pq = (struct pq){.cols = (size_t)dim, .dsub = (size_t)dsub};
    return st;
}

/* A section of exactly so many bytes. */
static shoal_status find(const struct container *c, const char *name, size_t want, const void **out)
{
    struct section s = {0};
    shoal_status st = container_find(c, name, 1, &s);

    if (st == SHOAL_OK && s.size != want)
        st = shoal_fail(SHOAL_EFORMAT, "%s: section \"%s\" has %zu bytes, want %zu",
                        container_path(c), name, s.size, want);
    *out = s.data;
    return st;
}

static shoal_status find_floats(const struct container *c, const char *name, size_t n,
                                const float **out)
{
    const void *at = NULL;
    shoal_status st = find(c, name, n * sizeof **out, &at);

    *out = at;
    if (st == SHOAL_OK && !dtype_all_finite(SHOAL_F32, at, n))
        st = shoal_fail(SHOAL_EFORMAT,
                        "%s: section \"%s\" holds a NaN or an infinity, want finite numbers",
                        container_path(c), name);
    return st;
}

static shoal_status read_kept(struct fasttext *f, const struct container *c)
{
    struct section s = {0};
    shoal_status st;

    if (!container_has(c, "pq.kept"))
        return SHOAL_OK;
    st = container_find(c, "pq.kept", sizeof *f->kept, &s);
    if (st != SHOAL_OK)
        return st;
    f->pruned = true;
    f->nkept = s.size / sizeof *f->kept;
    if (f->nkept == 0)
        return SHOAL_OK;
    f->kept = mem_array(f->nkept, sizeof *f->kept);
    if (!f->kept)
        return SHOAL_ENOMEM;
    memcpy(f->kept, s.data, s.size);
    return fasttext_index(f);
}

static shoal_status read_codes(struct fasttext *f, const struct container *c)
{
    struct pq *p = &f->input.pq;
    const void *codes = NULL, *norm_codes = NULL;
    shoal_status st;

    p->rows = f->nwords + (f->pruned ? f->nkept : (size_t)f->args.bucket);
    p->parts = pq_parts(p->cols, p->dsub);
    f->input.rows = p->rows;
    f->input.cols = p->cols;
    st = find(c, PACKED_CODES, p->rows * p->parts, &codes); /* 2^33 x 2^20 at most */
    if (st == SHOAL_OK)
        st = find_floats(c, "pq.centroids", p->cols * PQ_CENTROIDS, &p->centroids);
    if (st == SHOAL_OK && container_has(c, "pq.norm_codes")) {
        st = find(c, "pq.norm_codes", p->rows, &norm_codes);
        if (st == SHOAL_OK)
            st = find_floats(c, "pq.norms", PQ_CENTROIDS, &p->norms);
    }
    p->codes = codes;
    p->norm_codes = norm_codes;
    return st;
}

shoal_status vectors_packed_read(shoal_vectors *v, const struct container *c)
{
    struct late *late = NULL;
    shoal_status st = late_new(&late, container_path(c));

    if (st == SHOAL_OK)
        late->model.path = late->path;
    if (st == SHOAL_OK)
        st = vocab_map(&v->vocab, c);
    if (st == SHOAL_OK)
        st = read_shape(&late->model, c);
    if (st == SHOAL_OK) {
        late->model.nwords = shoal_vocab_size(v->vocab);
        st = vectors_check_shape(late->path, late->model.nwords, (size_t)late->model.args.dim);
    }
    if (st == SHOAL_OK)
        st = read_kept(&late->model, c);
    if (st == SHOAL_OK)
        st = read_codes(&late->model, c);
    if (st != SHOAL_OK) {
        late_free(late, 0, 0, 0);
        return st;
    }
    vectors_take_late(v, late);
    return SHOAL_OK;
}
