/* source: the bytes of a model's file that is no container on disk; not a door.
 *
 * What this is: a file read whole or mapped, decompressed where it is compressed.
 * Who owns what: source_close ends the bytes; of memory they stay the caller's.
 * Threads: one opens and closes; any number may read. */
#ifndef SHOAL_SAVED_SOURCE_H
#define SHOAL_SAVED_SOURCE_H

#include "file/file.h"

#define SOURCE_MAX ((size_t)1 << 40)

struct source {
    const char *path;
    const char *at;
    size_t len;
    const char *words; /* the lines of FILE.vocab, given with the bytes; NULL: look for the file */
    size_t words_len;
    void *ours;    /* at, when it is ours to unmap */
    bool spare;    /* memory of our own: what was used of it may go at once */
    char *slurped; /* ours to free */
};

/* A regular file that is not compressed is taken as it is, and mapped if asked for, or if it is a
 * model of fastText's, of which only what is used is read; all else is read as a stream, which also
 * says what is wrong with it. source_close may follow a failure. */
shoal_status source_open(struct source *src, const char *path, bool map);
/* The bytes, which are then the taker's to close; what remains has none. Its path is borrowed as
 * before. */
struct source source_move(struct source *src);
void source_close(struct source *src);

#endif
