/* What all writers share: rows in the dtype asked for, words that a format can
 * carry, and the choice among the writers. */
#include "saved/kind.h"
#include "saved/vectors/vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* ---- formats ---- */

const struct shoal_choice shoal_format_choices[] = {
    [SHOAL_FORMAT_AUTO] = {"auto", "by the ending of the file's name"},
    [SHOAL_FORMAT_WORD2VEC] = {"word2vec", "word2vec's binary (.bin)"},
    [SHOAL_FORMAT_TEXT] = {"text", "word2vec's text, also fastText's (.vec, .txt)"},
    [SHOAL_FORMAT_GLOVE] = {"glove", "the same without a first line (.glove)"},
    [SHOAL_FORMAT_SHOAL] = {"shoal", "opens at once, whatever its size (.shoal)"},
    [SHOAL_FORMAT_NPY] = {"npy", "NumPy's, with the words in FILE.vocab (.npy)"},
    [SHOAL_FORMAT_SAFETENSORS] = {"safetensors", "Hugging Face's (.safetensors)"},
    [SHOAL_FORMAT_FASTTEXT] = {"fasttext", "fastText's model, with its n-grams (.ftz, also .bin)"},
    [SHOAL_FORMAT_FLORET] = {"floret", "spaCy's table of hashed rows (.floret)"},
    [SHOAL_FORMAT_ONNX] = {"onnx", "nets, for other programs (.onnx)"},
    {0},
};

const char *shoal_format_name(enum shoal_format format)
{
    return format < SHOAL_FORMAT_NPZ ? shoal_format_choices[format].name : "npz";
}

/* ---- rows ---- */

static shoal_status fail_row(const struct saving *s, uint32_t id, const char *found)
{
    if (!s->v->vocab)
        return shoal_fail(SHOAL_EFORMAT, "%s: the row of n-gram bucket %u holds %s", s->path, id,
                          found);
    return shoal_fail(SHOAL_EFORMAT, "%s: vector %u, of `%.80s`, holds %s", s->path, id + 1,
                      shoal_vectors_word(s->v, id), found);
}

/* A row of zeros has no direction and stays as it is. */
static void normalize(float *row, size_t n)
{
    double sum = 0, by;

    for (size_t i = 0; i < n; i++)
        sum += (double)row[i] * (double)row[i];
    by = sum > 0 ? 1 / sqrt(sum) : 1;
    for (size_t i = 0; i < n; i++)
        row[i] = (float)((double)row[i] * by);
}

shoal_status saving_row(const struct saving *s, uint32_t id, float *out)
{
    shoal_vectors_row(s->v, id, out);
    if (!dtype_all_finite(SHOAL_F32, out, s->v->dim))
        return fail_row(s, id, "a NaN or an infinity, want finite numbers");
    if (s->normalize)
        normalize(out, s->v->dim);
    return SHOAL_OK;
}

/* Quantised rows are copied as they are: to do it again could change them. */
static shoal_status encode_row(const struct saving *s, uint32_t id, float *row, char *out,
                               float *scale)
{
    const shoal_vectors *v = s->v;
    shoal_status st = saving_row(s, id, row);

    if (st != SHOAL_OK)
        return st;
    if (s->dtype == v->dtype && !s->normalize) {
        memcpy(out, v->late ? (const char *)row : v->rows + id * v->stride,
               v->dim * dtype_size(v->dtype));
        *scale = v->scales ? v->scales[id] : 1;
        return SHOAL_OK;
    }
    if (!dtype_encode(s->dtype, row, v->dim, out, scale))
        return fail_row(s, id,
                        s->dtype == SHOAL_F16 ? "a number over 65504, which f16 cannot hold"
                                              : "a number that bf16 cannot hold");
    return SHOAL_OK;
}

#define BLOCK_ROWS_BYTES ((size_t)1 << 20)

shoal_status saving_rows(const struct saving *s, size_t stride, float *scales, put_fn put, void *to)
{
    size_t block = BLOCK_ROWS_BYTES / stride + 1, filled = 0;
    char *rows = mem_array(block, stride);
    float *row = mem_array(s->v->dim, sizeof *row), scale;
    shoal_status st = rows && row ? SHOAL_OK : SHOAL_ENOMEM;

    for (size_t id = 0; id < s->n && st == SHOAL_OK; id++) {
        st =
            encode_row(s, (uint32_t)id, row, rows + filled * stride, scales ? scales + id : &scale);
        if (st == SHOAL_OK && (++filled == block || id + 1 == s->n)) {
            st = put(to, rows, filled * stride);
            filled = 0;
        }
    }
    free(row);
    free(rows);
    return st;
}

shoal_status saving_put_output(void *to, const void *data, size_t len)
{
    return output_write(to, data, len);
}

/* ---- words ---- */

shoal_status saving_check_words(const struct saving *s, const char *bytes, const char *format)
{
    for (uint32_t id = 0; id < s->n; id++) {
        const char *word = shoal_vectors_word(s->v, id);
        const char *bad = strpbrk(word, bytes);

        if (*word == '\0')
            return shoal_fail(SHOAL_EFORMAT, "%s: word %u is malformed", s->path, id + 1);
        if (bad)
            return shoal_fail(SHOAL_EINVAL, "%s: word %u, `%.80s`, holds %s, which %s cannot carry",
                              s->path, id + 1, word, *bad == ' ' ? "a space" : "white space",
                              format);
    }
    return SHOAL_OK;
}

uint64_t saving_total(const struct saving *s)
{
    uint64_t total = 0;

    for (uint32_t id = 0; id < s->n; id++)
        total += shoal_vectors_count(s->v, id);
    return total;
}

static shoal_status write_lines(const struct saving *s, struct output *o)
{
    shoal_status st = SHOAL_OK;

    for (uint32_t id = 0; id < s->n && st == SHOAL_OK; id++) {
        const char *word = shoal_vectors_word(s->v, id);

        st = output_write(o, word, strlen(word));
        if (st == SHOAL_OK)
            st = output_write(o, "\n", 1);
    }
    return st;
}

shoal_status saving_words_beside(const struct saving *s)
{
    char *path = mem_text("%s.vocab", s->path);
    struct output *o = NULL;
    shoal_status st = path ? saving_check_words(s, "\n", "a line of a .vocab file") : SHOAL_ENOMEM;

    if (st == SHOAL_OK && strcmp(s->path, "-") == 0)
        st = shoal_fail(SHOAL_EINVAL, "-: its words go into a file of their own beside it, "
                                      "want a file name");
    if (st == SHOAL_OK)
        st = output_open(&o, path);
    if (st == SHOAL_OK)
        st = output_end(o, write_lines(s, o));
    free(path);
    return st;
}

/* ---- the choice ---- */

struct format {
    const char *name;
    const char *endings; /* separated by spaces */
    unsigned dtypes;     /* one bit each */
    shoal_status (*save)(const struct saving *s);
};

#define BIT(dtype) (1u << (dtype))

static const struct format formats[] = {
    [SHOAL_FORMAT_WORD2VEC] = {"word2vec binary", ".bin", BIT(SHOAL_F32), word2vec_save},
    [SHOAL_FORMAT_TEXT] = {"word2vec text", ".vec .txt", BIT(SHOAL_F32), vectors_text_save},
    [SHOAL_FORMAT_GLOVE] = {"GloVe text", ".glove", BIT(SHOAL_F32), vectors_text_save},
    [SHOAL_FORMAT_SHOAL] = {"shoal", ".shoal",
                            BIT(SHOAL_F32) | BIT(SHOAL_F16) | BIT(SHOAL_BF16) | BIT(SHOAL_INT8),
                            vectors_container_save},
    [SHOAL_FORMAT_NPY] = {"NumPy", ".npy", BIT(SHOAL_F32) | BIT(SHOAL_F16), numpy_save},
    [SHOAL_FORMAT_SAFETENSORS] = {"safetensors", ".safetensors",
                                  BIT(SHOAL_F32) | BIT(SHOAL_F16) | BIT(SHOAL_BF16),
                                  safetensors_save},
    [SHOAL_FORMAT_FASTTEXT] = {"fastText's model", ".ftz", BIT(SHOAL_F32), vectors_fasttext_save},
    [SHOAL_FORMAT_FLORET] = {"floret's table", ".floret", BIT(SHOAL_F32), vectors_floret_save},
    [SHOAL_FORMAT_ONNX] = {"ONNX", ".onnx", BIT(SHOAL_F32), NULL}, /* of nets: net/onnx.c */
};

#define FORMATS (sizeof formats / sizeof *formats)

/* What others would take such a file for: nothing of ours is written under these names. Any other
 * ending is a name, as .zip and .mar are. */
#define FOREIGN                                                                                    \
    ".pt .pth .npz .csv .tsv .json .jsonl .parquet .pkl .h5 .hdf5 .keras .tflite .pb .gguf " \
    ".gz .zst .bz2 .xz"

/* Its last letters from the point on, or NULL. */
static const char *ending_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *ending = strrchr(name, '.');

    return ending > name && ending[1] ? ending : NULL;
}

static bool has_ending(const char *endings, const char *ending)
{
    size_t len = strlen(ending);

    for (const char *at = endings; *at; at += *at == ' ') {
        size_t one = strcspn(at, " ");

        if (one == len && strncasecmp(at, ending, len) == 0)
            return true;
        at += one;
    }
    return false;
}

/* The format that the ending means, or AUTO. */
static enum shoal_format format_named(const char *ending)
{
    for (size_t f = SHOAL_FORMAT_AUTO + 1; f < FORMATS && ending; f++)
        if (has_ending(formats[f].endings, ending))
            return (enum shoal_format)f;
    return SHOAL_FORMAT_AUTO;
}

/* " .bin, .vec, .txt, .glove": of the formats of `can`. */
static void list_endings(char *out, size_t cap, unsigned can)
{
    size_t len = 0;

    *out = '\0';
    for (size_t f = SHOAL_FORMAT_AUTO + 1; f < FORMATS; f++) {
        for (const char *at = formats[f].endings; can >> f & 1 && *at && len < cap;
             at += *at == ' ') {
            size_t one = strcspn(at, " ");

            len +=
                (size_t)snprintf(out + len, cap - len, "%s%.*s", len > 0 ? ", " : "", (int)one, at);
            at += one;
        }
    }
}

shoal_status saved_format(enum shoal_format *out, const char *what, unsigned can, const char *path,
                          const struct shoal_save_opts *opts)
{
    const char *ending = ending_of(path);
    enum shoal_format named = format_named(ending);
    char want[128];

    *out = opts->format;
    if (opts->format == SHOAL_FORMAT_AUTO)
        *out = named == SHOAL_FORMAT_AUTO ? SHOAL_FORMAT_SHOAL : named;
    list_endings(want, sizeof want, can);
    if ((size_t)*out >= FORMATS)
        return shoal_fail(SHOAL_EINVAL, "%s: format is %d, want 0 to %zu", what, (int)*out,
                          FORMATS - 1);
    if (opts->format == SHOAL_FORMAT_AUTO && strcmp(path, "-") == 0)
        return shoal_fail(SHOAL_EINVAL, "-: has no ending to name a format, want a format given");
    if (!(can >> *out & 1))
        return shoal_fail(SHOAL_EINVAL,
                          "%s: %s cannot be written as %s, want %s, or a name of its own", path,
                          what, formats[*out].name, want);
    if (ending && named == SHOAL_FORMAT_AUTO && has_ending(FOREIGN, ending))
        return shoal_fail(SHOAL_EINVAL,
                          "%s: %s cannot be written as %s, want %s, or a name of its own", path,
                          what, ending + 1, want);
    if (named != SHOAL_FORMAT_AUTO && named != *out && *out == SHOAL_FORMAT_SHOAL)
        return shoal_fail(SHOAL_EINVAL,
                          "%s: is a name of %s, and the format is shoal, want .shoal, "
                          "or a name of its own",
                          path, formats[named].name);
    return SHOAL_OK;
}

shoal_status shoal_save_check(const char *path, const struct shoal_save_opts *opts,
                              enum shoal_format *format)
{
    shoal_status st = saved_format(format, "vectors", ~BIT(SHOAL_FORMAT_ONNX), path, opts);

    if (st != SHOAL_OK)
        return st;
    if ((unsigned)opts->dtype > SHOAL_INT8)
        return shoal_fail(SHOAL_EINVAL, "vectors: dtype is %d, want 0 to 3", (int)opts->dtype);
    if (!(formats[*format].dtypes & BIT(opts->dtype)))
        return shoal_fail(SHOAL_EINVAL, "%s: %s has no %s, want f32%s", path, formats[*format].name,
                          dtype_name(opts->dtype),
                          *format == SHOAL_FORMAT_NPY           ? " or f16"
                          : *format == SHOAL_FORMAT_SAFETENSORS ? ", f16 or bf16"
                                                                : "");
    return SHOAL_OK;
}

shoal_status shoal_vectors_save(const shoal_vectors *v, const char *path,
                                const struct shoal_save_opts *opts)
{
    struct saving s = {v, path, v->size, opts->dtype, opts->normalize, false};
    enum shoal_format format;
    const char *rows;
    shoal_status st = shoal_save_check(path, opts, &format);

    if (st != SHOAL_OK)
        return st;
    if (opts->top > 0 && opts->top < v->size)
        s.n = (size_t)opts->top;
    s.header = format == SHOAL_FORMAT_TEXT;
    if (format != SHOAL_FORMAT_FASTTEXT && (format != SHOAL_FORMAT_SHOAL || !vectors_packed(v)))
        st = vectors_all(v, &rows); /* by all threads, before they are written one by one */
    return st == SHOAL_OK ? formats[format].save(&s) : st;
}
