#include "saved/fasttext.h"
#include "saved/dtype.h"

#include <stdlib.h>

#define MAGIC 793712314

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the files are little-endian");

/* ---- bytes ---- */

struct cursor {
    const char *path, *at, *end;
};

static size_t left_of(const struct cursor *c)
{
    return (size_t)(c->end - c->at);
}

/* The next n x size bytes, which `what` is. */
static shoal_status take(struct cursor *c, const char *what, size_t n, size_t size,
                         const char **out)
{
    *out = c->at;
    if (left_of(c) / size < n)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: ends within its %s: %zu bytes are left, want %zu times %zu", c->path,
                          what, left_of(c), n, size);
    c->at += n * size;
    return SHOAL_OK;
}

static shoal_status take_into(struct cursor *c, const char *what, void *out, size_t size)
{
    const char *at;
    shoal_status st = take(c, what, 1, size, &at);

    if (st == SHOAL_OK)
        memcpy(out, at, size);
    return st;
}

static shoal_status take_flag(struct cursor *c, const char *what, bool *out)
{
    uint8_t is = 0;
    shoal_status st = take_into(c, what, &is, sizeof is);

    *out = is == 1;
    if (st == SHOAL_OK && is > 1)
        st = shoal_fail(SHOAL_EFORMAT, "%s: whether its %s is so is %u, want 0 or 1", c->path, what,
                        is);
    return st;
}

/* ---- what the model is ---- */

bool fasttext_sniff(const char *at, size_t len)
{
    int32_t magic;

    if (len < sizeof magic)
        return false;
    memcpy(&magic, at, sizeof magic);
    return magic == MAGIC;
}

static shoal_status check_between(const char *path, const char *name, int64_t is, int64_t least,
                                  int64_t most)
{
    if (is >= least && is <= most)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EFORMAT, "%s: its %s is %lld, want %lld to %lld", path, name,
                      (long long)is, (long long)least, (long long)most);
}

/* What nothing here depends on may be whatever it is. */
static shoal_status check_args(const char *path, const struct fasttext_args *a)
{
    shoal_status st = check_between(path, "dim", a->dim, 1, 1 << 20);

    if (st == SHOAL_OK)
        st = check_between(path, "loss", a->loss, FASTTEXT_HS, FASTTEXT_OVA);
    if (st == SHOAL_OK)
        st = check_between(path, "model", a->model, FASTTEXT_CBOW, FASTTEXT_SUPERVISED);
    if (st == SHOAL_OK)
        st = check_between(path, "minn", a->minn, 0, INT32_MAX);
    if (st == SHOAL_OK)
        st = check_between(path, "maxn", a->maxn, 0, SUBWORDS_MAXN);
    if (st == SHOAL_OK)
        st = check_between(path, "wordNgrams", a->word_ngrams, 0, INT32_MAX);
    if (st == SHOAL_OK)
        st = check_between(path, "bucket", a->bucket,
                           a->maxn > 0 && a->minn <= a->maxn ? 1 : 0, INT32_MAX);
    return st;
}

static shoal_status read_args(struct fasttext *f, struct cursor *c)
{
    struct fasttext_args *a = &f->args;
    int32_t head[2] = {0}, is[12] = {0};
    shoal_status st = take_into(c, "head", head, sizeof head);

    if (st == SHOAL_OK && head[0] != MAGIC)
        st = shoal_fail(SHOAL_EFORMAT, "%s: begins with %d, want %d of a model of fastText",
                        c->path, head[0], MAGIC);
    if (st == SHOAL_OK)
        st = check_between(c->path, "version", head[1], 11, 12);
    if (st == SHOAL_OK)
        st = take_into(c, "args", is, sizeof is);
    if (st == SHOAL_OK)
        st = take_into(c, "args", &a->t, sizeof a->t);
    if (st != SHOAL_OK)
        return st;
    f->version = head[1];
    *a = (struct fasttext_args){is[0], is[1], is[2], is[3],  is[4],  is[5], is[6],
                                is[7], is[8], is[9], is[10], is[11], a->t};
    if (f->version == 11 && a->model == FASTTEXT_SUPERVISED)
        a->maxn = 0; /* its texts had no n-grams of characters */
    return check_args(c->path, a);
}

/* ---- the dictionary ---- */

struct sizes {
    int32_t size, nwords, nlabels;
    int64_t ntokens, kept; /* kept -1: it is not pruned */
};

static shoal_status read_sizes(struct fasttext *f, struct sizes *s, struct cursor *c)
{
    shoal_status st = take_into(c, "dictionary", &s->size, 3 * sizeof s->size);

    if (st == SHOAL_OK)
        st = take_into(c, "dictionary", &s->ntokens, 2 * sizeof s->ntokens);
    if (st == SHOAL_OK)
        st = check_between(c->path, "number of words", s->nwords, 0, INT32_MAX);
    if (st == SHOAL_OK)
        st = check_between(c->path, "number of labels", s->nlabels, 0, INT32_MAX);
    if (st == SHOAL_OK && (int64_t)s->nwords + s->nlabels != s->size)
        st = shoal_fail(SHOAL_EFORMAT, "%s: has %d words and %d labels, want %d together", c->path,
                        s->nwords, s->nlabels, s->size);
    if (st == SHOAL_OK)
        st = check_between(c->path, "number of tokens", s->ntokens, 0, INT64_MAX);
    if (st == SHOAL_OK)
        st = check_between(c->path, "number of kept n-grams", s->kept, -1, f->args.bucket);
    return st;
}

/* A text, its count and its type; `want` is 0 of a word, 1 of a label. */
static shoal_status read_entry(struct cursor *c, size_t i, char want, struct span *word,
                               uint64_t *count)
{
    size_t left = left_of(c);
    const char *nul = memchr(c->at, '\0', left < SHOAL_WORD_MAX + 1 ? left : SHOAL_WORD_MAX + 1);
    int64_t times;

    if (!nul && left > SHOAL_WORD_MAX)
        return shoal_fail(SHOAL_EFORMAT, "%s: word %zu is longer than %u bytes", c->path, i + 1,
                          SHOAL_WORD_MAX);
    if (!nul || (size_t)(c->end - nul) < 2 + sizeof times)
        return shoal_fail(SHOAL_EFORMAT, "%s: ends within its dictionary, at word %zu", c->path,
                          i + 1);
    *word = (struct span){c->at, (uint32_t)(nul - c->at)};
    memcpy(&times, nul + 1, sizeof times);
    *count = (uint64_t)times;
    c->at = nul + 2 + sizeof times;
    if (word->len == 0 || times < 0 || c->at[-1] != want)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: word %zu has %u bytes, the count %lld and the type %d, want 1 or "
                          "more, 0 or more, and %d",
                          c->path, i + 1, word->len, (long long)times, c->at[-1], want);
    return SHOAL_OK;
}

#define ENTRY_MIN 11 /* bytes: one of text, 0, a count and a type */

static shoal_status read_entries(struct fasttext *f, struct cursor *c)
{
    size_t n = f->nwords + f->nlabels;
    shoal_status st = SHOAL_OK;

    if (left_of(c) / ENTRY_MIN < n)
        return shoal_fail(SHOAL_EFORMAT, "%s: promises %zu words, which %zu bytes cannot hold",
                          c->path, n, left_of(c));
    f->words = mem_array(n, sizeof *f->words);
    f->counts = mem_array(n, sizeof *f->counts);
    if (!f->words || !f->counts)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = read_entry(c, i, i >= f->nwords, &f->words[i], &f->counts[i]);
    return st;
}

static struct fasttext_kept *slot_of(const struct fasttext *f, uint32_t bucket)
{
    size_t i = (size_t)rng_mix(bucket) & (f->nslots - 1);

    while (f->slots[i].row != FASTTEXT_NO_ROW && f->slots[i].bucket != bucket)
        i = (i + 1) & (f->nslots - 1);
    return &f->slots[i];
}

static shoal_status add_kept(struct fasttext *f, size_t i)
{
    struct fasttext_kept *k = &f->kept[i], *slot;

    if (k->bucket >= (uint32_t)f->args.bucket || k->row >= f->nkept)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: kept n-gram %zu is %u in row %u, want less than %d and %zu", f->path,
                          i + 1, k->bucket, k->row, f->args.bucket, f->nkept);
    slot = slot_of(f, k->bucket);
    if (slot->row != FASTTEXT_NO_ROW)
        return shoal_fail(SHOAL_EFORMAT, "%s: kept n-gram %zu is %u, which stood there before",
                          f->path, i + 1, k->bucket);
    *slot = *k;
    return SHOAL_OK;
}

shoal_status fasttext_index(struct fasttext *f)
{
    shoal_status st = SHOAL_OK;

    for (f->nslots = 2; f->nslots < 2 * f->nkept;)
        f->nslots *= 2;
    f->slots = mem_array(f->nslots, sizeof *f->slots);
    if (!f->slots)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < f->nslots; i++)
        f->slots[i].row = FASTTEXT_NO_ROW;
    for (size_t i = 0; i < f->nkept && st == SHOAL_OK; i++)
        st = add_kept(f, i);
    return st;
}

static shoal_status read_kept(struct fasttext *f, struct cursor *c)
{
    const char *at;
    shoal_status st = take(c, "kept n-grams", f->nkept, sizeof *f->kept, &at);

    if (st != SHOAL_OK || f->nkept == 0)
        return st;
    f->kept = mem_array(f->nkept, sizeof *f->kept);
    if (!f->kept)
        return SHOAL_ENOMEM;
    memcpy(f->kept, at, f->nkept * sizeof *f->kept);
    return fasttext_index(f);
}

static shoal_status read_dictionary(struct fasttext *f, struct cursor *c)
{
    struct sizes s = {0};
    shoal_status st = read_sizes(f, &s, c);

    if (st != SHOAL_OK)
        return st;
    f->nwords = (size_t)s.nwords;
    f->nlabels = (size_t)s.nlabels;
    f->ntokens = s.ntokens;
    f->pruned = s.kept >= 0;
    f->nkept = f->pruned ? (size_t)s.kept : 0;
    st = read_entries(f, c);
    return st == SHOAL_OK ? read_kept(f, c) : st;
}

/* ---- matrices ---- */

static shoal_status read_shape(struct fasttext_matrix *m, const char *what, size_t rows,
                               size_t cols, struct cursor *c)
{
    int64_t shape[2] = {0};
    shoal_status st = take_into(c, what, shape, sizeof shape);

    if (st == SHOAL_OK && (shape[0] != (int64_t)rows || shape[1] != (int64_t)cols))
        st = shoal_fail(SHOAL_EFORMAT,
                        "%s: its %s has %lld rows of %lld numbers, want %zu of %zu", c->path, what,
                        (long long)shape[0], (long long)shape[1], rows, cols);
    m->rows = rows;
    m->cols = cols;
    return st;
}

/* The head of a quantiser of `cols` numbers; its centroids go to `to`. */
struct quantiser {
    int32_t dim, parts, dsub, last;
};

static shoal_status read_quantiser(struct quantiser *q, size_t cols, struct cursor *c)
{
    size_t last;
    shoal_status st = take_into(c, "quantiser", q, sizeof *q);

    if (st == SHOAL_OK)
        st = check_between(c->path, "quantiser's dim", q->dim, (int64_t)cols, (int64_t)cols);
    if (st == SHOAL_OK)
        st = check_between(c->path, "quantiser's dsub", q->dsub, 1, INT32_MAX);
    if (st != SHOAL_OK)
        return st;
    last = cols % (size_t)q->dsub ? cols % (size_t)q->dsub : (size_t)q->dsub;
    if (q->parts != (int64_t)pq_parts(cols, (size_t)q->dsub) || q->last != (int64_t)last)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: its quantiser cuts %zu numbers into %d parts, the last of %d, want "
                          "%zu and %zu",
                          c->path, cols, q->parts, q->last, pq_parts(cols, (size_t)q->dsub), last);
    return SHOAL_OK;
}

static shoal_status copy_centroids(float *to, const char *from, size_t n, const char *path)
{
    memcpy(to, from, n * sizeof *to);
    if (!dtype_all_finite(SHOAL_F32, to, n))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: a centroid holds a NaN or an infinity, want finite numbers", path);
    return SHOAL_OK;
}

/* Centroids are copied, being unaligned and few; codes stay where they are. */
static shoal_status read_centroids(struct pq *p, bool norms, struct cursor *c)
{
    size_t n = p->cols * PQ_CENTROIDS;
    const char *centroids, *lengths = NULL, *codes;
    struct quantiser q = {0};
    shoal_status st = take(c, "centroids", n, sizeof(float), &centroids);

    if (st == SHOAL_OK && norms) {
        st = take(c, "codes of norms", p->rows, 1, &codes);
        p->norm_codes = (const uint8_t *)codes;
        if (st == SHOAL_OK)
            st = read_quantiser(&q, 1, c);
        if (st == SHOAL_OK)
            st = take(c, "norms", PQ_CENTROIDS, sizeof(float), &lengths);
    }
    if (st != SHOAL_OK)
        return st;
    p->own_centroids = mem_array(n + PQ_CENTROIDS, sizeof *p->own_centroids);
    if (!p->own_centroids)
        return SHOAL_ENOMEM;
    p->centroids = p->own_centroids;
    p->norms = p->own_centroids + n;
    st = copy_centroids(p->own_centroids, centroids, n, c->path);
    if (st == SHOAL_OK && norms)
        st = copy_centroids(p->own_centroids + n, lengths, PQ_CENTROIDS, c->path);
    return st;
}

static shoal_status read_quantised(struct fasttext_matrix *m, const char *what, size_t rows,
                                   size_t cols, struct cursor *c)
{
    struct quantiser q = {0};
    int32_t bytes = 0;
    const char *codes;
    bool norms;
    shoal_status st = take_flag(c, what, &norms);

    if (st == SHOAL_OK)
        st = read_shape(m, what, rows, cols, c);
    if (st == SHOAL_OK)
        st = take_into(c, what, &bytes, sizeof bytes);
    if (st == SHOAL_OK)
        st = check_between(c->path, "number of codes", bytes, 0, INT32_MAX);
    if (st == SHOAL_OK)
        st = take(c, what, (size_t)bytes, 1, &codes);
    if (st == SHOAL_OK)
        st = read_quantiser(&q, cols, c);
    if (st == SHOAL_OK && (size_t)bytes != rows * (size_t)q.parts)
        st = shoal_fail(SHOAL_EFORMAT, "%s: its %s has %d codes, want %zu rows of %d", c->path,
                        what, bytes, rows, q.parts);
    if (st != SHOAL_OK)
        return st;
    m->pq = (struct pq){.rows = rows,
                        .cols = cols,
                        .dsub = (size_t)q.dsub,
                        .parts = (size_t)q.parts,
                        .codes = (const uint8_t *)codes};
    return read_centroids(&m->pq, norms, c);
}

static shoal_status read_matrix(struct fasttext_matrix *m, bool quantised, const char *what,
                                size_t rows, size_t cols, struct cursor *c)
{
    shoal_status st;

    if (quantised)
        return read_quantised(m, what, rows, cols, c);
    st = read_shape(m, what, rows, cols, c);
    m->stride = cols * sizeof(float);
    return st == SHOAL_OK ? take(c, what, rows, m->stride, &m->dense) : st;
}

/* A model that was pruned and not quantised has rows of other n-grams than it says: fastText has
 * written such ones, and refuses them. */
static shoal_status read_matrices(struct fasttext *f, struct cursor *c)
{
    bool supervised = f->args.model == FASTTEXT_SUPERVISED, quantised, output;
    size_t buckets = f->pruned ? f->nkept : (size_t)f->args.bucket, dim = (size_t)f->args.dim;
    shoal_status st = take_flag(c, "input matrix", &quantised);

    if (st == SHOAL_OK && f->pruned && !quantised)
        st = shoal_fail(SHOAL_EFORMAT, "%s: is pruned and not quantised, want both or neither",
                        c->path);
    if (st == SHOAL_OK)
        st = read_matrix(&f->input, quantised, "input matrix", f->nwords + buckets, dim, c);
    if (st == SHOAL_OK)
        st = take_flag(c, "output matrix", &output);
    if (st == SHOAL_OK)
        st = read_matrix(&f->output, quantised && output, "output matrix",
                         supervised ? f->nlabels : f->nwords, dim, c);
    if (st == SHOAL_OK && left_of(c) > 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: %zu bytes behind the output matrix, want none", c->path,
                        left_of(c));
    return st;
}

shoal_status fasttext_read(struct fasttext *f, const char *path, const char *at, size_t len)
{
    struct cursor c = {path, at, at + len};
    shoal_status st;

    *f = (struct fasttext){.path = path};
    st = read_args(f, &c);
    if (st == SHOAL_OK)
        st = read_dictionary(f, &c);
    return st == SHOAL_OK ? read_matrices(f, &c) : st;
}

void fasttext_fini(struct fasttext *f)
{
    free(f->words);
    free(f->counts);
    free(f->kept);
    free(f->slots);
    pq_fini(&f->input.pq);
    pq_fini(&f->output.pq);
    *f = (struct fasttext){0};
}

/* ---- rows ---- */

void fasttext_add(const struct fasttext_matrix *m, size_t row, float *out)
{
    const char *at;

    if (!m->dense) {
        pq_add(&m->pq, row, 1, out);
        return;
    }
    at = m->dense + row * m->stride;
    for (size_t k = 0; k < m->cols; k++) {
        float x;

        memcpy(&x, at + k * sizeof x, sizeof x);
        out[k] += x;
    }
}

void fasttext_row(const struct fasttext_matrix *m, size_t row, float *out)
{
    if (m->dense) {
        memcpy(out, m->dense + row * m->stride, m->cols * sizeof *out);
        return;
    }
    memset(out, 0, m->cols * sizeof *out);
    pq_add(&m->pq, row, 1, out);
}

float fasttext_dot(const struct fasttext_matrix *m, size_t row, const float *x)
{
    const char *at;
    float sum = 0;

    if (!m->dense)
        return pq_dot(&m->pq, row, x);
    at = m->dense + row * m->stride;
    for (size_t k = 0; k < m->cols; k++) {
        float y;

        memcpy(&y, at + k * sizeof y, sizeof y);
        sum += x[k] * y;
    }
    return sum;
}

/* ---- n-grams ---- */

uint32_t fasttext_bucket_row(const struct fasttext *f, uint32_t bucket)
{
    uint32_t row = bucket;

    if (f->pruned)
        row = f->nkept > 0 ? slot_of(f, bucket)->row : FASTTEXT_NO_ROW;
    return row == FASTTEXT_NO_ROW ? row : (uint32_t)f->nwords + row;
}

struct subwords fasttext_subwords(const struct fasttext *f)
{
    const struct fasttext_args *a = &f->args;

    if (a->maxn == 0 || a->minn > a->maxn)
        return (struct subwords){0};
    return (struct subwords){.minn = a->minn > 0 ? (unsigned)a->minn : 1,
                             .maxn = (unsigned)a->maxn,
                             .buckets = (uint32_t)a->bucket};
}

size_t fasttext_ngrams(const struct fasttext *f, const char *word, size_t len, uint32_t *out,
                       size_t cap)
{
    struct subwords how = fasttext_subwords(f);
    size_t n, found = 0;

    n = subwords_list(&how, word, len, out, cap);
    for (size_t i = 0; i < n && i < cap; i++) {
        uint32_t row = fasttext_bucket_row(f, out[i]);

        if (row != FASTTEXT_NO_ROW)
            out[found++] = row;
    }
    return found;
}
