/* model: what is said of a trained model of any kind, by info and eval, and of vectors that are
 * read. */
#ifndef CLI_MODEL_H
#define CLI_MODEL_H

#include "cmd.h"
#include "json.h"

struct model_view {
    struct console *console;
    struct json json; /* of model_json_reporter: where it goes */
    const char *path; /* of the model; NULL: titles are headings */
    size_t reports, facts, rows; /* seen so far; facts and rows of the last report */
    char grid[32]; /* the key of the table they are of */
    bool list;
    bool bars; /* beside shares, on a terminal */
};

/* For people, on the console. */
struct shoal_reporter model_reporter(struct model_view *view);
/* For programs: a line of JSON for each report, or one for all; warnings are for people.
 * Ended by model_json_end. */
struct shoal_reporter model_json_reporter(struct model_view *view);
void model_json_end(struct model_view *view);

/* Warns of what a file had that its vectors have not; `strict`, it fails with the first. v may be
 * NULL, of another model. */
shoal_status vectors_accept(struct console *c, const char *path, const shoal_vectors *v,
                            bool strict);

/* ---- cmd_index.c: an index beside vectors ---- */

#define INDEX_ENDING ".hnsw"
char *index_beside(const char *vectors); /* for free() */

#define STRICT_HELP                                                                                \
    "refuse vectors of which a word stands there twice or is empty, instead of leaving those out"

#endif
