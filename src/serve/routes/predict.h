/* predict: how a request's body becomes the samples of a job; inside routes.
 *
 * What this is: what predict.c gives to those who read bodies of their own shape, and the
 * tensors of the Open Inference Protocol, infer.c.
 * Who owns what: samples are the request's.
 * Threads: whoever has the request. */
#ifndef SHOAL_SERVE_PREDICT_H
#define SHOAL_SERVE_PREDICT_H

#include "serve/server.h"

enum { COST_NUMBER = 6 }; /* bytes for a float in memory that grows */

/* ---- predict.c ---- */

/* One more sample. */
shoal_status predict_add(struct request *q, struct instance *in);
/* One for each element of a list that is not empty. */
shoal_status predict_add_list(struct request *q, const struct tree *list,
                              const struct tree *object);
/* numbers [rows][width] */
shoal_status predict_add_rows(struct request *q, const float *numbers, size_t rows, size_t width,
                              const struct tree *object, bool tensor);

/* ---- tensor.c: tensors, however they came ---- */

/* Bytes that a tensor of BYTES has as an element. */
struct tensor_text {
    const char *at;
    size_t len;
};

enum { DIMS_MAX = 8, INPUTS_MAX = 1024 };

struct tensor_input {
    const char *name;
    const char *datatype; /* "FP32" */
    int64_t shape[DIMS_MAX];
    size_t dims;
    const struct tree *parameters; /* of the request; or NULL */

    /* One of these has its elements. */
    const struct tree *json;
    const char *raw; /* [len] as they lie in memory; BYTES with lengths */
    size_t len;
    const char *raw_type; /* the type of the elements there; NULL: the same */
    const struct tensor_text *texts; /* [ntexts] BYTES */
    size_t ntexts;
};

/* The rows of one become samples of the job, or those of the table whose columns they are: in [n]. */
shoal_status tensor_read(struct request *q, const struct tensor_input *in, size_t n);
/* An output is wanted by name: *out is what is wanted of it. */
shoal_status tensor_want(struct request *q, const char *name, struct wanted **out);
/* At most so many classes of an output, a whole number from 1 on. */
shoal_status tensor_want_classes(struct wanted *wanted, double n);

/* An output of the answer. */
struct tensor_output {
    const char *name, *datatype;
    int64_t shape[2];
    size_t dims;
    size_t which; /* of the kind's outputs */
    enum { TENSOR_FLOATS, TENSOR_CLASSES, TENSOR_NAMES, TENSOR_SCORES, TENSOR_JSON } what;
    bool binary;
};

/* Those that are wanted and there; how many. */
size_t tensor_outputs(const struct request *q, struct tensor_output out[OUTPUTS_MAX]);
/* All elements: as they lie in memory, or as JSON with commas between. */
void tensor_put(const struct request *q, const struct tensor_output *t, struct writer *w, bool raw);

/* ---- infer.c ---- */

/* Of an output: its name, and whether it is to be bytes, if that is said. */
struct infer_wish {
    const char *name;
    bool said, binary;
};

/* The JSON before the one binary tensor of a request, when it says no more than this. */
struct infer_head {
    const char *id; /* or NULL */
    struct tensor_input input;
    bool sized;  /* input.len is its binary_data_size */
    bool binary; /* binary_data_output */
    struct infer_wish outputs[OUTPUTS_MAX];
    size_t noutputs;
    char text[1024]; /* of its strings */
};

/* infer_scan.c; false: it is anything else, or no JSON at all. */
bool infer_scan(struct infer_head *h, const char *at, size_t len);

/* The body of an "infer". */
shoal_status infer_read(struct request *q);
/* The answer: JSON, or JSON with the numbers as bytes behind it. */
void infer_write(struct request *q, struct writer *w);

/* ---- embeddings.c ---- */

/* The body of an "embed", and its answer; the answer may become an error. */
shoal_status embeddings_read(struct request *q);
void embeddings_write(struct request *q, struct writer *w);

#endif
