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
                              const struct tree *object, bool tensor);
/* numbers [rows][width] */
shoal_status predict_add_rows(struct request *q, const float *numbers, size_t rows, size_t width,
                              bool tensor);

/* ---- infer.c ---- */

/* The body of an "infer". */
shoal_status infer_read(struct request *q);
/* The answer: JSON, or JSON with the numbers as bytes behind it. */
void infer_write(struct request *q, struct writer *w);

/* ---- embeddings.c ---- */

/* The body of an "embed", and its answer; the answer may become an error. */
shoal_status embeddings_read(struct request *q);
void embeddings_write(struct request *q, struct writer *w);

#endif
