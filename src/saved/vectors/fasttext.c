/* fastText's models as word vectors, and back. */
#include "saved/vectors/vectors.h"

#include <stdlib.h>
#include <sys/mman.h>

/* ---- reading ---- */

/* The words become a vocabulary, and where they lay is not needed again. */
static shoal_status name_words(struct naming *names, struct fasttext *f)
{
    struct word_list list = {
        .path = f->path, .words = f->words, .counts = f->counts, .n = f->nwords};
    shoal_status st = vectors_check_shape(f->path, f->nwords, (size_t)f->args.dim);

    *names = (struct naming){0};
    if (st == SHOAL_OK)
        st = naming_make(names, &list);
    free(f->words);
    free(f->counts);
    f->words = NULL;
    f->counts = NULL;
    return st;
}

/* The words of a classifier have vectors like others, which its labels do not matter to: what is
 * left is what skip-gram would have left, without output rows. */
static void leave_labels(struct fasttext *f)
{
    if (f->args.model != FASTTEXT_SUPERVISED)
        return;
    f->args.model = FASTTEXT_SKIPGRAM;
    f->args.loss = FASTTEXT_NS;
    f->nlabels = 0;
    pq_fini(&f->output.pq);
    f->output = (struct fasttext_matrix){0};
}

shoal_status vectors_fasttext_read(shoal_vectors **out, struct source *src)
{
    struct naming names = {0};
    struct late *late = NULL;
    shoal_status st = late_new(&late, src->path);

    if (st == SHOAL_OK)
        st = fasttext_read(&late->model, late->path, src->at, src->len);
    if (st == SHOAL_OK) {
        leave_labels(&late->model);
        st = name_words(&names, &late->model);
    }
    if (st == SHOAL_OK)
        st = vectors_new_late(out, SHOAL_FORMAT_FASTTEXT, late, &names);
    naming_fini(&names);
    if (st != SHOAL_OK) {
        late_free(late, 0, 0, 0);
        return st;
    }
    late->src = source_move(src);
    if (late->src.ours) /* a row here and there is read, not what lies behind it */
        madvise(late->src.ours, late->src.len, MADV_RANDOM);
    return SHOAL_OK;
}

/* ---- writing ---- */

struct fasttext_args vectors_fasttext_args(size_t dim, const struct subwords *how)
{
    return (struct fasttext_args){.dim = (int32_t)dim,
                                  .ws = 5,
                                  .epoch = 5,
                                  .min_count = 1,
                                  .neg = 5,
                                  .word_ngrams = 1,
                                  .loss = FASTTEXT_NS,
                                  .model = FASTTEXT_SKIPGRAM,
                                  .bucket = (int32_t)how->buckets,
                                  .minn = (int32_t)how->minn,
                                  .maxn = (int32_t)how->maxn,
                                  .lr_update_rate = 100,
                                  .t = 1e-4};
}

/* Rows of n-grams that nothing asks for, in old files without n-grams, are not written. */
static struct fasttext_args args_of(const shoal_vectors *v)
{
    struct fasttext_args a = vectors_fasttext_args(v->dim, &v->grams.how);

    if (v->late) {
        a = v->late->model.args;
        a.bucket = (int32_t)v->grams.how.buckets;
    }
    return a;
}

/* Of a word whose count is not known fastText would draw no negative sample: it has 1. */
static struct span entry_of(const void *from, size_t i, uint64_t *count)
{
    const struct saving *s = from;
    const char *word = shoal_vectors_word(s->v, (uint32_t)i);

    *count = shoal_vectors_count(s->v, (uint32_t)i);
    if (*count == 0)
        *count = 1;
    return (struct span){word, (uint32_t)strlen(word)};
}

struct model_rows {
    const struct saving *s;
    shoal_vectors grams; /* as vectors; their rows follow those of the words */
    float *sum;          /* [dim] */
};

/* With its n-grams' rows beside it this becomes the vector again. */
static shoal_status own_of(const struct model_rows *m, uint32_t id, float *out)
{
    const shoal_vectors *v = m->s->v;
    const char *word = shoal_vectors_word(v, id);
    size_t n;
    shoal_status st = saving_row(m->s, id, out);

    if (st == SHOAL_OK && !m->s->normalize)
        return grams_own(v, id, out);
    if (st == SHOAL_OK)
        st = grams_sum(v, word, strlen(word), m->sum, &n);
    for (size_t k = 0; st == SHOAL_OK && k < v->dim; k++)
        out[k] = (float)(n + 1) * out[k] - m->sum[k];
    return st;
}

static shoal_status input_row(void *from, size_t i, float *out)
{
    const struct model_rows *m = from;
    size_t words = m->s->n;

    return i < words ? own_of(m, (uint32_t)i, out)
                     : shoal_vectors_row(&m->grams, (uint32_t)(i - words), out);
}

static shoal_status output_row(void *from, size_t i, float *out)
{
    const struct model_rows *m = from;
    const shoal_vectors *v = m->s->v;
    const float *hidden = NULL;
    shoal_status st = v->hidden_rows == v->size ? vectors_hidden(v, &hidden) : SHOAL_OK;

    if (hidden)
        memcpy(out, hidden + i * table_stride(v->dim), v->dim * sizeof *out);
    else
        memset(out, 0, v->dim * sizeof *out);
    return st;
}

/* The output rows of a tree are those that the file had, and no others. */
static shoal_status output_row_of_model(void *from, size_t i, float *out)
{
    const struct model_rows *m = from;

    fasttext_row(&m->s->v->late->model.output, i, out);
    return SHOAL_OK;
}

/* Output rows that nobody needs, of one part: a byte each. */
static shoal_status zeros_of(struct pq *out, size_t rows, size_t cols)
{
    *out = (struct pq){.rows = rows, .cols = cols, .dsub = cols, .parts = 1};
    out->codes = out->own_codes = mem_array(rows, 1);
    out->centroids = out->own_centroids = mem_array(cols * PQ_CENTROIDS, sizeof(float));
    return out->codes && out->centroids ? SHOAL_OK : SHOAL_ENOMEM;
}

/* Quantised rows are written as they are: to do it again could change them. */
static shoal_status put_quantised(const struct saving *s, struct fasttext_model_out *out,
                                  struct pq *zeros)
{
    const struct late *late = s->v->late;
    const struct fasttext *f = &late->model;

    if (s->n < s->v->size || s->normalize || late->from)
        return shoal_fail(SHOAL_EINVAL,
                          "%s: quantised vectors go into a model of fastText's all and as they are",
                          s->path);
    out->args = f->args;
    out->input.pq = &f->input.pq;
    out->pruned = f->pruned;
    out->kept = f->kept;
    out->nkept = f->nkept;
    out->input.rows = f->input.rows;
    if (f->output.rows == f->nwords) {
        out->output.pq = f->output.dense ? NULL : &f->output.pq;
        return SHOAL_OK;
    }
    out->output.pq = zeros;
    return zeros_of(zeros, s->n, s->v->dim);
}

shoal_status vectors_fasttext_save(const struct saving *s)
{
    const shoal_vectors *v = s->v;
    const struct late *late = v->late;
    struct model_rows rows = {s, grams_as_vectors(v), mem_array(v->dim, sizeof *rows.sum)};
    struct fasttext_model_out out = {
        .args = args_of(v),
        .nwords = s->n,
        .entry = entry_of,
        .from = s,
        .input = {s->n + rows.grams.size, v->dim, NULL, input_row, &rows},
        .output = {s->n, v->dim, NULL, output_row, &rows}};
    struct pq zeros = {0};
    shoal_status st = rows.sum ? saving_check_words(s, "", "fastText's model") : SHOAL_ENOMEM;

    if (st == SHOAL_OK && v->grams.how.hashes > 0)
        st = shoal_fail(SHOAL_EINVAL,
                        "%s: words that are hashed have no rows of their own, which fastText's "
                        "model wants: floret's table holds them (.floret)",
                        s->path);
    if (late && s->n == v->size)
        out.ntokens = late->model.ntokens;
    if (late && late->model.output.rows == s->n && !late->from)
        out.output.row = output_row_of_model;
    if (st == SHOAL_OK && late && !late->model.input.dense)
        st = put_quantised(s, &out, &zeros);
    if (st == SHOAL_OK)
        st = fasttext_save(s->path, &out);
    pq_fini(&zeros);
    free(rows.sum);
    return st;
}
