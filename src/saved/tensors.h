/* tensors: named tensors in a file (safetensors, and what torch.save writes); not a door.
 *
 * Who owns what: tensors borrow the bytes of their file.
 * Threads: immutable once read. */
#ifndef SHOAL_TENSORS_H
#define SHOAL_TENSORS_H

#include <shoal.h>

#include "base/base.h"

#include <string.h>

/* ---- tensors.c: safetensors, named tensors in a file ------------------------------------ */

enum { FILE_TENSOR_NAME = 128, FILE_TENSOR_DIMS = 8 };

struct file_tensor {
    char name[FILE_TENSOR_NAME]; /* "" when it was longer */
    char dtype[8];               /* "F32", ... */
    size_t ndims, dims[FILE_TENSOR_DIMS];
    size_t begin, end; /* bytes of the data, of all that it uses of them */
    bool strided;      /* not one number behind the other, but so many apart: */
    size_t strides[FILE_TENSOR_DIMS];
};

struct tensors {
    const char *path;
    struct file_tensor *at; /* [n] in the order of the header */
    size_t n, cap;
    const char *data; /* [size] */
    size_t size;
    const char *meta, *meta_end; /* the metadata's JSON, or NULL */
    bool ordered; /* as the layers of a net stand, not by name */
};

bool tensors_sniff(const char *at, size_t len);
/* Borrows the bytes of a file, and its path for sentences. */
shoal_status tensors_read(struct tensors *t, const char *path, const char *at, size_t len);
void tensors_fini(struct tensors *t);
const struct file_tensor *tensors_find(const struct tensors *t, const char *name); /* or NULL */
/* Whether its numbers are floats that we read, and which. */
bool tensors_dtype(const struct file_tensor *t, enum shoal_dtype *out);
/* Fails when two have one name. */
shoal_status tensors_unique(const struct tensors *t);
/* A string of the metadata, for free(); *text NULL when there is none. */
shoal_status tensors_text(const struct tensors *t, const char *name, char **text, size_t *len);
/* The header of a file with these tensors, padded to end at a multiple of 64; `meta`
 * is the inside of the metadata, or NULL. Its length goes before it as a u64. */
shoal_status tensors_header(struct bytes *b, const struct bytes *meta,
                            const struct file_tensor *list, size_t n);
/* Text as the inside of a JSON string. */
shoal_status tensors_escape(struct bytes *b, const char *text);

/* ---- pth.c: what torch.save writes, a zip archive or its older format ------------------- */

bool pth_sniff(const char *at, size_t len);
/* The tensors of a state_dict, or of one within a checkpoint. Nothing in the file is run
 * (pickle.h). Borrows as tensors_read does. */
shoal_status pth_read(struct tensors *t, const char *path, const char *at, size_t len);

#endif
