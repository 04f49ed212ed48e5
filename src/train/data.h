/* data: what a task learns from, opened; inside the room.
 *
 * What this is: inputs become objects that a task reads: a corpus, rows, samples, pictures.
 * Which of them, the task's table says (enum data_kind); what is text is encoded first,
 *
 *     beside the output, for this run alone;
 *     or in the folder of checkpoints, where it stays for whoever goes on.
 *
 * Who owns what: data that was opened owns its objects, and shoal_data_close ends them; data of
 * objects that were there (shoal_data_new) owns none.
 * Threads: opening is collective and driven by one thread of each rank; what is open is
 * constant. */
#ifndef SHOAL_TRAIN_DATA_H
#define SHOAL_TRAIN_DATA_H

#include "model/model.h"

#include <limits.h>

enum data_kind {
    DATA_TEXT,             /* a corpus, or text */
    DATA_ROWS,             /* rows of sparse features, encoded or not, and what is held out */
    DATA_SAMPLES,          /* a table of numbers, and what is held out */
    DATA_PICTURES,         /* pictures, and what they are tested on */
    DATA_LABELLED,         /* lines of text with labels, and what is held out */
    DATA_TEXT_AND_VECTORS, /* as DATA_TEXT, and the vectors of its words */
};

struct shoal_data {
    struct shoal_sources at; /* what a run takes */
    /* Where it is, for whoever goes on (struct train_opts.inputs): an absolute path in one line,
     * `\` written `\\`, a colon `\:` and a newline `\n`; {rank} where each rank has its own.
     * NULL: it will not be found again. */
    char *inputs;
    struct shoal_found found;

    /* What `at` and `found` point to, where it was opened here. */
    shoal_corpus *corpus;
    shoal_vectors *vectors;
    shoal_clicks *rows, *valid_rows;
    shoal_samples *samples, *valid_samples;
    shoal_images *images, *test_images;
    shoal_labelled *labelled, *valid_labelled;
    struct shoal_labelled_stats labelled_read;
    struct shoal_vocab_stats text;
    struct shoal_clicks_stats rows_read, valid_rows_read;
};

/* How it is opened. Strings are borrowed for the call. */
struct data_how {
    enum data_kind kind;
    const struct train_opts *opts;
    shoal_ranks *ranks; /* NULL: alone */
    struct shoal_watch watch;
};

/* Collective. No inputs: those that opts remembers. */
shoal_status data_open(struct shoal_data **out, const struct data_how *how,
                       const char *const *inputs, size_t ninputs);

/* The form in which a path is remembered, for free(); NULL after shoal_fail. */
char *path_escape(const char *path);
/* Back again; false when the text is no such path. */
bool path_unescape(char path[PATH_MAX], const char *text);

#endif
