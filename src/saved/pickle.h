/* pickle: what a pickle of PyTorch's says, without running any of it; not a door.
 *
 * What this is: the stack machine of Python's pickles (protocols 2 to 5), cut down to the opcodes
 * that torch.save writes for dictionaries of tensors. A pickle may name any function of Python and
 * have it called; here a name is looked up in a short list (pickle_globals[]), and what stands
 * there becomes a value. Nothing is ever called. Any other name or opcode is refused by name.
 *
 *     values   | dict | text | tensor | tuple | ...       numbered as they are made
 *     cells    | value, next | ...                        what tuples, lists and dicts hold
 *     a dict:  head --> key --> value --> key --> value --> 0
 *
 * A value that stands in several places is one value, so nothing grows by being repeated, and
 * nobody walks deeper than he asks for: nesting costs no stack.
 * Who owns what: values borrow the bytes of the pickle; pickle_fini ends the rest.
 * Threads: immutable once read. */
#ifndef SHOAL_SAVED_PICKLE_H
#define SHOAL_SAVED_PICKLE_H

#include "base/base.h"

#include <shoal.h>

enum { PICKLE_MAX = 16 << 20 }; /* bytes of one */

enum pickle_kind {
    PICKLE_NONE, /* and whatever else is of no use here: real numbers */
    PICKLE_INT,  /* and booleans */
    PICKLE_TEXT, /* and bytes */
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICT,
    PICKLE_GLOBAL,
    PICKLE_STORAGE, /* its id: ('storage', type, key, location, numbers) */
    PICKLE_TENSOR,  /* of which the arguments are (storage, offset, size, stride, ...) */
};

struct pickle_value {
    enum pickle_kind kind;
    uint32_t head, tail, n; /* cells of what holds others; 0: none */
    int64_t number;         /* or the place in pickle_globals[] */
    struct span text;
};

struct pickle_cell {
    uint32_t value, next;
};

struct pickle_global {
    const char *name; /* "torch.FloatStorage" */
    enum pickle_use {
        PICKLE_DICT_OF, /* no arguments, becomes a dict */
        PICKLE_TENSOR_OF,
        PICKLE_FIRST_OF, /* becomes its first argument */
        PICKLE_STORAGE_TYPE,
    } use;
    const char *dtype; /* of a storage, as safetensors call it */
    size_t size;       /* and the bytes of a number */
};

extern const struct pickle_global pickle_globals[];

struct pickle {
    const char *path;
    const char *begin, *at, *end;
    struct pickle_value *values; /* value 0 is none */
    size_t nvalues, values_cap;
    struct pickle_cell *cells; /* cell 0 is none */
    size_t ncells, cells_cap;
    uint32_t *stack, *marks, *memo;
    size_t depth, stack_cap, nmarks, marks_cap, nmemo, memo_cap;
    bool stopped;
};

/* The pickle that begins at `at`, of at most `len` bytes; *used of them are its. Borrows path and
 * bytes. pickle_fini may follow a failure. */
shoal_status pickle_read(struct pickle *p, const char *path, const char *at, size_t len,
                         uint32_t *root, size_t *used);
void pickle_fini(struct pickle *p);

const struct pickle_value *pickle_get(const struct pickle *p, uint32_t value);
/* Element i of a tuple, list, tensor or storage; NULL: there is none, or it is of another kind. */
const struct pickle_value *pickle_item(const struct pickle *p, const struct pickle_value *of,
                                       size_t i, enum pickle_kind kind);
/* What a dict has for a key of text; NULL: nothing. */
const struct pickle_value *pickle_find(const struct pickle *p, const struct pickle_value *dict,
                                       const char *key);

#endif
