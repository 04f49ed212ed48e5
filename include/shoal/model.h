/* shoal/model.h: a trained model of any kind, a part of shoal.h, which includes it.
 *
 * What this is: one handle for word vectors, click models and nets: opened, saved, asked
 * and scored without knowing which it is, and what it says of itself. The questions of
 * one kind are the functions of that kind: shoal_nearest, shoal_logreg_one,
 * shoal_net_predict.
 * Who owns what: a model owns what shoal_model_vectors and the like give; what a
 * reporter is told lives as long as the call.
 * Threads: a model is immutable, and any number may use it. A reporter is called by the
 * thread that asked.
 *
 * What a model of any kind says of an input, an example (compiled and run by the tests):
 *
 *     static bool print(void *to, const char *lines, size_t len)
 *     {
 *         return fwrite(lines, 1, len, to) == len;
 *     }
 *
 *     static shoal_status predict(const char *path, const char *input)
 *     {
 *         struct shoal_ask_opts opts = shoal_ask_default();
 *         shoal_model *model = NULL;
 *         shoal_status st = shoal_model_open(&model, path);
 *
 *         if (st == SHOAL_OK)
 *             st = shoal_model_predict(model, &input, 1, &opts, print, stdout, NULL);
 *         shoal_model_close(model);
 *         return st;
 *     }
 */
#ifndef SHOAL_MODEL_PART_H
#define SHOAL_MODEL_PART_H

#include <shoal.h>
#include <shoal/classify.h>
#include <shoal/clicks.h>
#include <shoal/logreg.h>
#include <shoal/nets.h>
#include <shoal/words.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shoal_model shoal_model;

/* Recognised by content. The file is read into memory and checked: what happens to it
 * afterwards does not matter. A file of another program is taken for vectors, or for a net:
 * see shoal_model_import. */
SHOAL_API shoal_status shoal_model_open(shoal_model **out, const char *path);
/* The same, but what can be mapped is: see shoal_vectors_map. */
SHOAL_API shoal_status shoal_model_map(shoal_model **out, const char *path);
/* The same of the bytes of a file, not compressed, which are copied; `name` is for
 * sentences. NumPy's .npy, whose words lie beside it, is refused. */
SHOAL_API shoal_status shoal_model_open_memory(shoal_model **out, const char *name,
                                               const void *data, size_t size);
/* The same, but weights of a net of another program (shoal_net_weights) saw pictures of
 * size x size; 0: of the size that their shapes tell. What tensors do not say stands in FILE.json. */
SHOAL_API shoal_status shoal_model_import(shoal_model **out, const char *path, unsigned size);
struct shoal_import_opts {
    unsigned size;          /* as above */
    const char *activation; /* relu, tanh, sigmoid or gelu, between linear layers; NULL: as FILE.json
                               says, else relu */
};
SHOAL_API shoal_status shoal_model_import_as(shoal_model **out, const char *path,
                                             const struct shoal_import_opts *opts);
/* Looks at every byte of what shoal_model_map has not. */
SHOAL_API shoal_status shoal_model_verify(const shoal_model *m);
/* The format is opts', or by the ending of the path; NULL: shoal_save_default. What a kind
 * has no format for is refused. On failure nothing is left at `path`. */
SHOAL_API shoal_status shoal_model_save(const shoal_model *m, const char *path,
                                        const struct shoal_save_opts *opts);
SHOAL_API void shoal_model_close(shoal_model *m);
/* Another model with its rows quantised; the first stays as it is. Fails for a kind that cannot. */
SHOAL_API shoal_status shoal_model_compress(shoal_model **out, const shoal_model *m,
                                            const struct shoal_compress_opts *opts);

/* Names of its classes from a file, instead of its own, before anybody else has the model:
 * {"0": "cat", "1": ["n02084071", "dog"]} as TorchServe's index_to_name.json, a JSON list, or
 * a line for each class. "indices" is no file: then classes have no names. */
SHOAL_API shoal_status shoal_model_name_classes(shoal_model *m, const char *path);

/* "vectors", "logreg", "multinomial", "classify", "net" or "nextword". */
SHOAL_API const char *shoal_model_kind(const shoal_model *m);
/* Its typed self; NULL when it is of another kind. */
SHOAL_API const shoal_vectors *shoal_model_vectors(const shoal_model *m);
SHOAL_API const shoal_logreg *shoal_model_linear(const shoal_model *m);
SHOAL_API const shoal_net *shoal_model_net(const shoal_model *m);
SHOAL_API const shoal_classifier *shoal_model_classifier(const shoal_model *m);

/* ---- Reports -----------------------------------------------------------------
 * What there is to say of a model, or of how well it does: values with a name for
 * programs (`key`, as in JSON) or for people (`label`), or for both. */

enum shoal_value_type {
    SHOAL_TEXT,  /* text */
    SHOAL_COUNT, /* count */
    SHOAL_BYTES, /* count */
    SHOAL_REAL,  /* real; NaN: not known */
    SHOAL_SHARE, /* real, 0 .. 1; NaN: not known */
};

struct shoal_value {
    enum shoal_value_type type;
    const char *text;
    uint64_t count;
    double real;
};

struct shoal_fact {
    const char *key;   /* NULL: for people only */
    const char *label; /* NULL: for programs only; "": the value alone, on a line of its own */
    struct shoal_value value;
    const char *note; /* for people, in which % stands for one of these; or NULL */
    struct shoal_value with[2];
};

struct shoal_column {
    const char *key;   /* NULL: for people only; "": rows are lists, not objects */
    const char *label; /* NULL: for programs only */
    int width;         /* below 0: to the left; 0: as long as it is */
};

struct shoal_grid { /* a table of values */
    const char *key; /* NULL: for people only */
    const struct shoal_column *columns;
    size_t n; /* of them */
};

enum { SHOAL_ROW_SUM = 1, SHOAL_ROW_HIDDEN = 2 /* from people */ };

/* Who is told, report by report; what is NULL is not called. All texts live as long as
 * the call. */
struct shoal_reporter {
    /* Before the first, where all reports are to be one object: {MODEL: path, LIST: [...]} */
    void (*list)(void *user, const char *model, const char *list);
    void (*begin)(void *user, const char *title); /* NULL: it has none */
    void (*fact)(void *user, const struct shoal_fact *fact);
    /* cells [grid->n], row by row and behind the facts. */
    void (*row)(void *user, const struct shoal_grid *grid, const struct shoal_value *cells,
                unsigned marks);
    void (*warn)(void *user, const struct shoal_fact *fact); /* by its note */
    void *user;
};

/* One report: what the model is, with `top` of its commonest words or largest weights. */
SHOAL_API shoal_status shoal_model_describe(const shoal_model *m, uint64_t top,
                                            const struct shoal_reporter *to);

/* ---- Asking and scoring --------------------------------------------------------- */

struct shoal_ask_opts {
    struct shoal_clicks_opts rows;     /* of models on rows: skip_bad, format, label */
    struct shoal_samples_opts samples; /* of nets on samples: header, label, labels */
    struct shoal_eval_opts words;      /* of vectors */
    uint64_t top;                      /* of nets on words: so many of the likeliest next ones */
    uint64_t generate;                 /* or the text and so many more */
    double temperature;                /* 0: always the likeliest */
    uint64_t seed;
    bool vector;      /* of nets on words: the predicted vector instead */
    uint64_t nearest; /* and so many of the words nearest to it; of classifiers of text so many labels */
    double threshold; /* of classifiers of text: leave out what is less likely */
};

SHOAL_API struct shoal_ask_opts shoal_ask_default(void);
/* Whether a file is of a kind that predicts; it is not opened. */
SHOAL_API bool shoal_model_predicts(const char *path);
/* Gives the answers as whole lines, in the order of the inputs and as they come; returning
 * false stops with SHOAL_ESTOP. Inputs are files of rows, of samples or pictures, or texts.
 * *stats, of rows, may be NULL. */
SHOAL_API shoal_status shoal_model_predict(const shoal_model *m, const char *const *inputs,
                                           size_t ninputs, const struct shoal_ask_opts *opts,
                                           bool (*lines)(void *user, const char *text, size_t len),
                                           void *user, struct shoal_clicks_stats *stats);
/* On files of questions, rows, samples or pictures with their answers. What was scored
 * before a failure is told too. */
SHOAL_API shoal_status shoal_model_eval(const shoal_model *m, const char *const *inputs,
                                        size_t ninputs, const struct shoal_ask_opts *opts,
                                        const struct shoal_reporter *to,
                                        struct shoal_clicks_stats *stats);

/* ---- Linear models about rows in memory ------------------------------------------------
 * "logreg" and "multinomial", of rows whose column i is feature i: those that learned from
 * shoal_clicks_new or from libsvm's text. Others are refused. */

/* Scores of a row: 1, of two classes; else one for each class; 0: it is no linear model. */
SHOAL_API size_t shoal_linear_outputs(const shoal_model *m);
/* The label of class k; NULL: not known. */
SHOAL_API const char *shoal_linear_label(const shoal_model *m, size_t k);
/* Scores z [rows][outputs]: the margin of class 1, whose probability is 1 / (1 + e^-z); of many
 * classes those that softmax makes probabilities of. Columns that the model has not seen have no
 * weight. threads 0: one for each core. */
SHOAL_API shoal_status shoal_linear_scores(const shoal_model *m, const struct shoal_rows *x,
                                           unsigned threads, double *z);
/* The weights of the first so many columns, weight [outputs][columns], and bias [outputs]. */
SHOAL_API shoal_status shoal_linear_weights(const shoal_model *m, size_t columns, float *weight,
                                            float *bias);

#ifdef __cplusplus
}
#endif
#endif
