/* parse: what the bytes of a request mean; not a door.
 *
 * What this is: addresses, multipart bodies, JSON in and out.
 * Who owns what: a query owns its decoded copy; parts and numbers point into, or
 * are read from, bytes that are borrowed; a tree owns all below it.
 * Threads: one at a time for each object.
 *
 * All of it is fed by strangers: every length is checked, every list is bounded. */
#ifndef SHOAL_SERVE_PARSE_H
#define SHOAL_SERVE_PARSE_H

#include "base/base.h"

/* ---- query.c: "/models/a%20b?k=5&word=x" ---- */

enum { QUERY_SEGMENTS = 8, QUERY_FIELDS = 16 };

struct field {
    const char *key, *value;
};

struct query {
    const char *segments[QUERY_SEGMENTS]; /* decoded; empty ones are left out */
    size_t nsegments;
    struct field fields[QUERY_FIELDS]; /* decoded */
    size_t nfields;
    char *text;
};

/* Fails on a bad escape, a NUL, control characters, or more than fits. */
shoal_status query_init(struct query *q, const char *address);
/* The fields of a form's body. */
shoal_status query_init_form(struct query *q, const char *body, size_t len);
void query_fini(struct query *q);
/* The first of that key, or NULL. */
const char *query_get(const struct query *q, const char *key);
/* A whole number min..max; *out stays when there is none. */
shoal_status query_u64(const struct query *q, const char *key, uint64_t min, uint64_t max,
                       uint64_t *out);
/* "true" or "1". */
bool query_true(const struct query *q, const char *key);

/* ---- multipart.c ---- */

enum { PARTS_MAX = 64 };

struct part {
    char name[64];
    char type[64]; /* "" when not said */
    const char *at;
    size_t len;
};

/* The parts of a multipart/form-data body, whose boundary `type` names. */
shoal_status multipart_parse(struct part parts[PARTS_MAX], size_t *n, const char *type,
                             const char *body, size_t len);

/* ---- figures.c: arrays of numbers, quickly ---- */

/* What {"instances": [[1, 2], [3, 4]]}, [[1, 2], [3, 4]] or [1, 2] holds. */
struct figures {
    float *at; /* [rows][width], mem_grow's */
    size_t len, cap;
    size_t rows, width;
    bool nested;    /* an array of arrays */
    bool instances; /* within an object of that one key */
};

/* False when the bytes are anything else: JSON of another shape, rows of unequal
 * length, numbers beyond floats, or no JSON at all. */
bool figures_scan(struct figures *out, const char *at, size_t len);
void figures_fini(struct figures *n);

/* ---- json.c: any JSON ---- */

struct tree;
enum tree_kind { TREE_NULL, TREE_FLAG, TREE_NUMBER, TREE_TEXT, TREE_LIST, TREE_OBJECT };

shoal_status tree_parse(struct tree **out, const char *at, size_t len);
/* The most memory that tree_parse can take for these bytes, found by counting them. */
size_t tree_cost(const char *at, size_t len);
void tree_free(struct tree *t);
enum tree_kind tree_kind(const struct tree *t);
/* Of an object; NULL when there is none, or t is no object. */
const struct tree *tree_get(const struct tree *t, const char *key);
/* fn for each member of an object, until it gives a failure, which is then given. */
shoal_status tree_each(const struct tree *t,
                       shoal_status (*fn)(void *ctx, const char *key, const struct tree *value),
                       void *ctx);
size_t tree_len(const struct tree *t); /* of a list, text or object; else 0 */
const struct tree *tree_at(const struct tree *t, size_t i);
const char *tree_text(const struct tree *t); /* "" when it is none */
double tree_number(const struct tree *t);    /* NaN when it is none */
bool tree_true(const struct tree *t);

/* ---- write.c: JSON out ------------------------------------------------------------------
 * Appends to bytes; commas between values come by themselves. When memory runs out, or
 * the payer's account, nothing more is added and `failed` says so. */

struct request;

struct writer {
    struct bytes out;
    bool comma, failed;
    struct request *payer; /* whose account grows with the bytes, or NULL */
    size_t paid;           /* bytes that were charged, or are free */
};

void put_raw(struct writer *w, const char *text);  /* as it stands, and no comma */
void put_bytes(struct writer *w, const void *at, size_t len);
void put_json(struct writer *w, const char *text); /* the same as a value, or members */
void put_open(struct writer *w, char bracket);
void put_close(struct writer *w, const char *brackets); /* and perhaps a line's end: "]}\n" */
void put_key(struct writer *w, const char *key);
/* JSON over several lines, four spaces deeper in each bracket, as TorchServe prints it. */
void put_indented(struct writer *w, const char *json, size_t len);
/* What is not UTF-8 becomes U+FFFD. */
void put_text(struct writer *w, const char *text);
void put_flag(struct writer *w, bool on);
void put_u64(struct writer *w, uint64_t n);
/* The shortest digits that read back as the same float; null when not finite. */
void put_float(struct writer *w, float x);
void put_double(struct writer *w, double x); /* six digits */

/* The key and its value; of an object or a list, its bracket. */
void member_open(struct writer *w, const char *key, char bracket);
void member_text(struct writer *w, const char *key, const char *text);
void member_flag(struct writer *w, const char *key, bool on);
void member_u64(struct writer *w, const char *key, uint64_t n);
void member_float(struct writer *w, const char *key, float x);
void member_double(struct writer *w, const char *key, double x);

#endif
