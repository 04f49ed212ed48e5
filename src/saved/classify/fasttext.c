/* Classifiers that fastText trained, from its files where they lie, and ours as its files.
 *
 * Input rows stay in the file, quantised or not. Output rows become ours: of a tree fastText numbers
 * nodes from the rarest on and goes to the second branch with sigmoid(x), we number them from the
 * root on and go to the first, so that row i of n is row n - 1 - i, negated. Rows of buckets that
 * were pruned are in any order in a file: a classifier keeps where each is. */
#include "saved/classify/classify.h"
#include "saved/fasttext.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fasttext_model_in {
    struct fasttext file;
    struct source src;
    char *path;
    uint32_t *row; /* of the i-th bucket that has one, behind the words; NULL: i */
};

/* ---- reading ---- */

bool classifier_sniff(const char *at, size_t len)
{
    int32_t model;

    if (!fasttext_sniff(at, len) || len < 40)
        return false;
    memcpy(&model, at + 36, sizeof model);
    return model == FASTTEXT_SUPERVISED;
}

static shoal_status name_vocab(shoal_vocab **out, const struct fasttext *f, size_t from, size_t n,
                               const char *what)
{
    struct bytes text = {0};
    shoal_status st = SHOAL_OK;

    if (n == 0)
        return shoal_fail(SHOAL_EFORMAT, "%s: has no %s, want one or more", f->path, what);
    for (size_t i = 0; i < n && st == SHOAL_OK; i++)
        st = bytes_add(&text, f->words[from + i].at, (size_t)f->words[from + i].len + 1);
    if (st == SHOAL_OK)
        st = shoal_vocab_new(out, &(struct shoal_words){.text = text.at, .len = text.len,
                                                        .counts = f->counts + from, .n = n});
    bytes_fini(&text);
    return st;
}

static int by_bucket(const void *a, const void *b)
{
    const struct fasttext_kept *x = a, *y = b;

    return x->bucket < y->bucket ? -1 : x->bucket > y->bucket;
}

/* Which buckets have rows, and in a pruned model where. */
static shoal_status read_buckets(shoal_classifier *m, struct fasttext_model_in *in)
{
    struct fasttext *f = &in->file;
    struct subwords how = {.minn = (unsigned)f->args.minn,
                           .maxn = (unsigned)f->args.maxn,
                           .buckets = (uint32_t)f->args.bucket};
    unsigned ngrams = f->args.word_ngrams > 1 ? (unsigned)f->args.word_ngrams : 1;
    shoal_status st = SHOAL_OK;

    if (ngrams > FEATURES_NGRAMS)
        return shoal_fail(SHOAL_EFORMAT, "%s: has n-grams of %u words, want at most %d", f->path,
                          ngrams, FEATURES_NGRAMS);
    if (how.buckets == 0 || (f->pruned && f->nkept == 0)) {
        how = (struct subwords){0};
        ngrams = 1;
    }
    st = line_rows_init(&m->features, f->nwords, ngrams, &how);
    if (st != SHOAL_OK || m->features.how.buckets == 0)
        return st;
    if (!f->pruned) {
        free(m->features.bits);
        m->features.bits = NULL;
        m->features.used = how.buckets;
        return SHOAL_OK;
    }
    m->features.skips = true;
    in->row = mem_array(f->nkept, sizeof *in->row);
    if (!in->row)
        return SHOAL_ENOMEM;
    qsort(f->kept, f->nkept, sizeof *f->kept, by_bucket);
    for (size_t i = 0; i < f->nkept; i++) {
        m->features.bits[f->kept[i].bucket / 64] |= 1ull << (f->kept[i].bucket % 64);
        in->row[i] = f->kept[i].row;
    }
    line_rows_rank(&m->features);
    return SHOAL_OK;
}

static enum shoal_loss loss_of(const struct fasttext *f)
{
    static const enum shoal_loss losses[] = {[FASTTEXT_HS] = SHOAL_HS,
                                             [FASTTEXT_NS] = SHOAL_NS,
                                             [FASTTEXT_SOFTMAX] = SHOAL_SOFTMAX,
                                             [FASTTEXT_OVA] = SHOAL_OVA};

    return losses[f->args.loss];
}

static shoal_status read_output(shoal_classifier *m, const struct fasttext *f)
{
    bool tree = m->classes.loss == SHOAL_HS;
    size_t rows = classify_out_rows(m->classes.loss, m->classes.classes);
    shoal_status st = table_init(&m->out_table, "out", rows, m->classes.dim);

    for (size_t i = 0; i < rows && st == SHOAL_OK; i++) {
        float *row = m->out_table.at + (tree ? rows - 1 - i : i) * m->stride;

        fasttext_row(&f->output, i, row);
        for (size_t j = 0; tree && j < m->classes.dim; j++)
            row[j] = -row[j];
        if (!isfinite(m->classes.kernel->sumsq(row, m->classes.dim)))
            st = shoal_fail(SHOAL_EFORMAT, "%s: output row %zu is no numbers", f->path, i);
    }
    m->out = m->out_table.at;
    return st;
}

static shoal_status read_all(shoal_classifier *m, struct fasttext_model_in *in)
{
    struct shoal_labelled_opts opts = shoal_labelled_default();
    struct fasttext *f = &in->file;
    shoal_status st = name_vocab(&m->words, f, 0, f->nwords, "words");

    if (st == SHOAL_OK)
        st = name_vocab(&m->labels, f, f->nwords, f->nlabels, "labels");
    if (st == SHOAL_OK && (f->args.dim < 1 || f->args.dim > KERNEL_MAX_DIM))
        st = shoal_fail(SHOAL_EFORMAT, "%s: a row has %d numbers, want 1 to %d", f->path, f->args.dim,
                        KERNEL_MAX_DIM);
    if (st == SHOAL_OK)
        st = line_reading_make(&m->reading, &opts);
    if (st == SHOAL_OK) {
        classifier_know_labels(m);
        st = read_buckets(m, in);
    }
    if (st == SHOAL_OK)
        st = classifier_make_classes(m, loss_of(f), (size_t)f->args.dim);
    return st == SHOAL_OK ? read_output(m, f) : st;
}

shoal_status classifier_read_fasttext(shoal_classifier **out, struct source *src)
{
    shoal_classifier *m = mem_array(1, sizeof *m);
    struct fasttext_model_in *in = m ? mem_array(1, sizeof *in) : NULL;
    shoal_status st = in ? SHOAL_OK : SHOAL_ENOMEM;

    *out = NULL;
    if (m)
        m->fasttext = in;
    if (st == SHOAL_OK && !(in->path = strdup(src->path)))
        st = shoal_fail(SHOAL_ENOMEM, "%s: no memory to open it", src->path);
    if (st == SHOAL_OK)
        st = fasttext_read(&in->file, in->path, src->at, src->len);
    if (st == SHOAL_OK)
        st = read_all(m, in);
    if (st != SHOAL_OK) {
        classifier_close(m);
        return st;
    }
    in->src = source_move(src);
    *out = m;
    return SHOAL_OK;
}

void classifier_close_fasttext(struct fasttext_model_in *in)
{
    if (!in)
        return;
    fasttext_fini(&in->file);
    source_close(&in->src);
    free(in->path);
    free(in->row);
    free(in);
}

/* Output rows were looked at when it was opened. */
shoal_status classifier_verify_fasttext(const shoal_classifier *m)
{
    const struct fasttext *f = &m->fasttext->file;
    float row[KERNEL_MAX_DIM];

    for (size_t i = 0; i < f->input.rows; i++) {
        fasttext_row(&f->input, i, row);
        if (!isfinite(m->classes.kernel->sumsq(row, m->classes.dim)))
            return shoal_fail(SHOAL_EFORMAT, "%s: row %zu is no numbers", f->path, i);
    }
    return SHOAL_OK;
}

/* ---- asking ---- */

static size_t row_of(const shoal_classifier *m, uint32_t row)
{
    const struct fasttext_model_in *in = m->fasttext;
    uint32_t words = m->features.words;

    return in->row && row >= words ? words + in->row[row - words] : row;
}

void classifier_add_fasttext(const shoal_classifier *m, const uint32_t *row, size_t n, float *sum)
{
    for (size_t i = 0; i < n; i++)
        fasttext_add(&m->fasttext->file.input, row_of(m, row[i]), sum);
}

/* fastText looks sigmoid(x) up in 512 steps from -8 to 8. */
void classifier_rough_sigmoid(float *z, size_t n)
{
    enum { STEPS = 512, MOST = 8 };

    for (size_t k = 0; k < n; k++) {
        float x = z[k], floor;

        if (!(x >= -MOST && x <= MOST)) {
            z[k] = x < 0 ? 0 : x > 0 ? 1 : x;
            continue;
        }
        floor = (float)((int)((x + MOST) * STEPS / MOST / 2) * 2 * MOST) / STEPS - MOST;
        z[k] = (float)(1.0 / (1.0 + exp(-(double)floor)));
    }
}

/* ---- writing ---- */

/* Labels of a table get fastText's prefix, and no spaces. */
struct writing {
    const shoal_classifier *model;
    struct bytes labels; /* each with its NUL */
    size_t *label;       /* [labels] where each begins */
    uint32_t row;        /* of the next bucket that has one */
};

static shoal_status make_labels(struct writing *w)
{
    const shoal_classifier *m = w->model;
    const char *prefix = *m->reading.prefix ? "" : shoal_labelled_default().label_prefix;
    shoal_status st = SHOAL_OK;

    w->label = mem_array(m->classes.classes, sizeof *w->label);
    if (!w->label)
        return SHOAL_ENOMEM;
    for (uint32_t k = 0; k < m->classes.classes && st == SHOAL_OK; k++) {
        const char *name = shoal_vocab_word(m->labels, k);

        w->label[k] = w->labels.len;
        st = bytes_add(&w->labels, prefix, strlen(prefix));
        if (st == SHOAL_OK)
            st = bytes_add(&w->labels, name, strlen(name) + 1);
        for (size_t i = w->label[k]; i + 1 < w->labels.len; i++)
            if (strchr(" \t\n\v\f\r", w->labels.at[i]))
                w->labels.at[i] = '_';
    }
    return st;
}

static struct span entry_of(const void *from, size_t i, uint64_t *count)
{
    const struct writing *w = from;
    const shoal_classifier *m = w->model;
    const char *text;

    if (i < m->features.words) {
        *count = shoal_vocab_count(m->words, (uint32_t)i);
        text = shoal_vocab_word(m->words, (uint32_t)i);
    } else {
        i -= m->features.words;
        *count = shoal_vocab_count(m->labels, (uint32_t)i);
        text = w->labels.at + w->label[i];
    }
    return (struct span){text, (uint32_t)strlen(text)};
}

static void copy_row(const shoal_classifier *m, uint32_t row, float *out)
{
    if (m->in)
        memcpy(out, m->in + row * m->stride, m->classes.dim * sizeof *out);
    else
        fasttext_row(&m->fasttext->file.input, row_of(m, row), out);
}

/* Rows come in order: buckets that have none are zero, as they count here. */
static shoal_status input_row(void *from, size_t i, float *out)
{
    struct writing *w = from;
    const struct line_rows *f = &w->model->features;
    size_t bucket = i - f->words;

    if (!w->model->in) /* all that lie there, also those that no line asks for */
        fasttext_row(&w->model->fasttext->file.input, i, out);
    else if (i < f->words)
        copy_row(w->model, (uint32_t)i, out);
    else if (f->bits[bucket / 64] >> (bucket % 64) & 1)
        copy_row(w->model, f->words + w->row++, out);
    else
        memset(out, 0, w->model->classes.dim * sizeof *out);
    return SHOAL_OK;
}

static shoal_status output_row(void *from, size_t i, float *out)
{
    const shoal_classifier *m = ((struct writing *)from)->model;
    bool tree = m->classes.loss == SHOAL_HS;
    size_t rows = classify_out_rows(m->classes.loss, m->classes.classes);

    if (i == rows) { /* fastText has one more than there are nodes */
        memset(out, 0, m->classes.dim * sizeof *out);
        return SHOAL_OK;
    }
    memcpy(out, m->out + (tree ? rows - 1 - i : i) * m->stride, m->classes.dim * sizeof *out);
    for (size_t j = 0; tree && j < m->classes.dim; j++)
        out[j] = -out[j];
    return SHOAL_OK;
}

static struct fasttext_args args_of(const shoal_classifier *m)
{
    static const int32_t losses[] = {[SHOAL_HS] = FASTTEXT_HS, [SHOAL_NS] = FASTTEXT_NS,
                                     [SHOAL_SOFTMAX] = FASTTEXT_SOFTMAX, [SHOAL_OVA] = FASTTEXT_OVA};
    const struct line_rows *f = &m->features;

    return (struct fasttext_args){.dim = (int32_t)m->classes.dim, .ws = 5, .epoch = 5,
                                  .min_count = 1, .neg = 5, .word_ngrams = (int32_t)f->ngrams,
                                  .loss = losses[m->classes.loss], .model = FASTTEXT_SUPERVISED,
                                  .bucket = (int32_t)f->how.buckets, .minn = (int32_t)f->how.minn,
                                  .maxn = (int32_t)f->how.maxn, .lr_update_rate = 100, .t = 1e-4};
}

/* What fastText said of its training stays, and what was quantised stays so, row by row as it
 * was. */
static void keep_fasttext(const shoal_classifier *m, struct fasttext_model_out *out)
{
    const struct fasttext *f = m->fasttext ? &m->fasttext->file : NULL;

    if (!f)
        return;
    out->args = f->args;
    out->ntokens = f->ntokens;
    out->input.rows = f->input.rows;
    if (f->input.dense)
        return;
    out->pruned = f->pruned;
    out->kept = f->kept;
    out->nkept = f->nkept;
    out->input.pq = &f->input.pq;
}

shoal_status classifier_save_fasttext(const shoal_classifier *m, const char *path)
{
    struct writing w = {.model = m};
    size_t dim = m->classes.dim;
    struct fasttext_model_out out = {
        .args = args_of(m), .nwords = m->features.words, .nlabels = m->classes.classes,
        .entry = entry_of, .from = &w,
        .input = {(size_t)m->features.words + m->features.how.buckets, dim, NULL, input_row, &w},
        .output = {m->classes.classes, dim, NULL, output_row, &w}};
    shoal_status st = make_labels(&w);

    keep_fasttext(m, &out);
    if (st == SHOAL_OK && m->reading.clean)
        st = shoal_fail(SHOAL_EINVAL, "%s: this classifier reads its lines --clean, which fastText "
                        "does not: its answers would differ", path);
    if (st == SHOAL_OK)
        st = fasttext_save(path, &out);
    bytes_fini(&w.labels);
    free(w.label);
    return st;
}

shoal_status classifier_rows_fasttext(const shoal_classifier *m, const char *path, struct table *in,
                                      uint64_t **bits)
{
    const struct line_rows *f = &m->features;
    size_t rows = (size_t)f->words + f->used;
    shoal_status st;

    *in = (struct table){0};
    *bits = NULL;
    if (!m->fasttext->file.input.dense)
        return shoal_fail(SHOAL_EINVAL,
                          "%s: the classifier is quantised, which only fastText's format holds: "
                          "want --format fasttext, or a name that ends in .ftz", path);
    st = table_init(in, "in", line_rows_all(f), m->classes.dim);
    *bits = mem_array(((size_t)f->how.buckets + 63) / 64 + 1, sizeof **bits);
    if (st == SHOAL_OK && !*bits)
        st = SHOAL_ENOMEM;
    for (size_t i = 0; i < rows && st == SHOAL_OK; i++)
        copy_row(m, (uint32_t)i, in->at + i * m->stride);
    for (uint32_t i = 0; i < f->how.buckets && st == SHOAL_OK; i++)
        (*bits)[i / 64] |= 1ull << (i % 64);
    return st;
}

/* ---- quantised ---- */

/* Row i as fastText counts: the words, then all buckets. */
static shoal_status any_row(const void *from, size_t i, float *out)
{
    const shoal_classifier *m = from;
    const struct line_rows *f = &m->features;
    size_t bucket = i - f->words, word = bucket / 64;

    if (i < f->words || !f->bits)
        copy_row(m, (uint32_t)i, out);
    else if (f->bits[word] >> (bucket % 64) & 1)
        copy_row(m,
                 f->words + f->rank[word] +
                     (uint32_t)__builtin_popcountll(f->bits[word] & ((1ull << (bucket % 64)) - 1)),
                 out);
    else
        memset(out, 0, m->classes.dim * sizeof *out);
    return SHOAL_OK;
}

struct compressing {
    const shoal_classifier *model;
    const struct shoal_compress_opts *opts;
    struct writing w;
    uint32_t *chosen;    /* [n] rows that are kept, in order */
    size_t rows, n, nwords;
    float *output;       /* [labels][dim] as fastText has them */
};

static shoal_status chosen_row(const void *from, size_t i, float *out)
{
    const struct compressing *c = from;

    return any_row(c->model, c->chosen[i], out);
}

static shoal_status choose_rows(struct compressing *c)
{
    const shoal_classifier *m = c->model;
    uint32_t end = shoal_vocab_find(m->words, "</s>", 4);
    shoal_status st;

    c->rows = (size_t)m->features.words + m->features.how.buckets;
    c->chosen = mem_array(c->rows, sizeof *c->chosen);
    if (!c->chosen)
        return SHOAL_ENOMEM;
    st = pq_choose(c->chosen, &c->n, c->rows, m->classes.dim, any_row, m, (size_t)c->opts->cutoff,
                   end == SHOAL_NO_ID ? SIZE_MAX : end, c->opts->threads);
    while (c->nwords < c->n && c->chosen[c->nwords] < m->features.words)
        c->nwords++;
    return st;
}

static shoal_status fill_words(struct fasttext *f, const struct compressing *c)
{
    f->nwords = c->nwords;
    f->nlabels = c->model->classes.classes;
    f->words = mem_array(f->nwords + f->nlabels, sizeof *f->words);
    f->counts = mem_array(f->nwords + f->nlabels, sizeof *f->counts);
    if (!f->words || !f->counts)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < f->nwords + f->nlabels; i++) {
        size_t entry =
            i < f->nwords ? c->chosen[i] : i - f->nwords + c->model->features.words;

        f->words[i] = entry_of(&c->w, entry, &f->counts[i]);
    }
    return SHOAL_OK;
}

static shoal_status fill_kept(struct fasttext *f, const struct compressing *c)
{
    f->pruned = c->n < c->rows;
    f->nkept = f->pruned ? c->n - c->nwords : 0;
    if (f->nkept == 0)
        return SHOAL_OK;
    f->kept = mem_array(f->nkept, sizeof *f->kept);
    if (!f->kept)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < f->nkept; i++)
        f->kept[i] = (struct fasttext_kept){
            c->chosen[c->nwords + i] - c->model->features.words, (uint32_t)i};
    return fasttext_index(f);
}

static shoal_status fill_output(struct fasttext *f, struct compressing *c)
{
    size_t dim = c->model->classes.dim;
    shoal_status st = SHOAL_OK;

    c->output = mem_array(f->nlabels, dim * sizeof *c->output);
    for (size_t i = 0; c->output && i < f->nlabels && st == SHOAL_OK; i++)
        st = output_row(&c->w, i, c->output + i * dim);
    f->output = (struct fasttext_matrix){.rows = f->nlabels,
                                         .cols = dim,
                                         .dense = (const char *)c->output,
                                         .stride = dim * sizeof *c->output};
    return c->output ? st : SHOAL_ENOMEM;
}

/* What a file of it would be read as. */
static shoal_status fill_model(struct fasttext *f, struct compressing *c)
{
    const struct pq_opts how = {.dsub = c->opts->dsub,
                                .norms = c->opts->qnorm,
                                .seed = c->opts->seed,
                                .threads = c->opts->threads};
    size_t dim = c->model->classes.dim;
    shoal_status st = make_labels(&c->w);

    f->version = 12;
    f->args = args_of(c->model);
    if (st == SHOAL_OK)
        st = choose_rows(c);
    if (st == SHOAL_OK)
        st = fill_words(f, c);
    if (st == SHOAL_OK)
        st = fill_kept(f, c);
    if (st == SHOAL_OK)
        st = fill_output(f, c);
    f->input = (struct fasttext_matrix){.rows = c->n, .cols = dim};
    return st == SHOAL_OK ? pq_make(&f->input.pq, c->n, dim, chosen_row, c, &how) : st;
}

/* Its dictionary and output rows were copied, and are not the model's. */
static void drop_borrowed(struct fasttext *f)
{
    free(f->words);
    free(f->counts);
    f->words = NULL;
    f->counts = NULL;
    f->output = (struct fasttext_matrix){0};
}

static shoal_status compress(shoal_classifier **out, struct compressing *c)
{
    shoal_classifier *m = mem_array(1, sizeof *m);
    struct fasttext_model_in *in = m ? mem_array(1, sizeof *in) : NULL;
    shoal_status st = in ? SHOAL_OK : SHOAL_ENOMEM;

    *out = NULL;
    if (m)
        m->fasttext = in;
    if (st == SHOAL_OK && !(in->path = mem_text("compress")))
        st = SHOAL_ENOMEM;
    if (st == SHOAL_OK) {
        in->file.path = in->path;
        st = fill_model(&in->file, c);
    }
    if (st == SHOAL_OK)
        st = read_all(m, in);
    if (in)
        drop_borrowed(&in->file);
    if (st != SHOAL_OK) {
        classifier_close(m);
        return st;
    }
    *out = m;
    return SHOAL_OK;
}

shoal_status classifier_compress(void **out, const void *model,
                                 const struct shoal_compress_opts *opts)
{
    const shoal_classifier *m = model;
    struct compressing c = {.model = m, .opts = opts, .w = {.model = m}};
    shoal_classifier *small = NULL;
    shoal_status st;

    *out = NULL;
    if (m->fasttext && !m->fasttext->file.input.dense)
        return shoal_fail(SHOAL_EINVAL, "compress: the classifier is quantised already");
    if (m->reading.clean)
        return shoal_fail(SHOAL_EINVAL, "compress: the classifier reads its lines --clean, which a "
                                        "quantised one cannot");
    st = compress(&small, &c);
    *out = small;
    bytes_fini(&c.w.labels);
    free(c.w.label);
    free(c.chosen);
    free(c.output);
    return st;
}
