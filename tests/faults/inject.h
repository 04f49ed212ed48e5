/* inject: what the Nth call of a class meets.
 *
 * What this is: the system and library calls of shoal's own code, which the linker sends
 * here first (--wrap, tests/meson.build), so that any of them can be made to fail; calls
 * that foreign libraries make for themselves are not seen.
 * Who owns what: one struct inject in memory that a process and its forks share.
 * Threads: calls are numbered in the order they come, by any thread. */
#ifndef TESTS_FAULTS_INJECT_H
#define TESTS_FAULTS_INJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum inject_class {
    INJECT_NONE,
    INJECT_ALLOC,  /* memory: ENOMEM, or what the library says for it */
    INJECT_THREAD, /* pthread_create: EAGAIN */
    INJECT_OPEN,   /* a descriptor: EMFILE */
    INJECT_READ,   /* EIO */
    INJECT_WRITE,  /* ENOSPC */
    INJECT_SYNC,   /* EIO */
    INJECT_RENAME, /* a name in a folder: EACCES */
    INJECT_SHORT,  /* no failure: one byte is read or written */
    INJECT_SIGNAL, /* no failure: EINTR, then all is well */
    INJECT_CLASSES
};

enum { INJECT_TRACE = 1 << 16 };

struct inject {
    int class;
    bool lasting;       /* all calls from the Nth on fail, not that one alone */
    int depth;          /* frames by which a call's place is known; 0: not asked for */
    uint32_t nth;       /* from 1; 0: none fails */
    _Atomic bool armed; /* nothing is counted before and after */
    _Atomic uint32_t calls, failed;
    _Atomic uintptr_t where;      /* the first that failed returns to */
    int left_open;                /* descriptors more at the end than at the start */
    uint64_t trace[INJECT_TRACE]; /* of call i: a number that stands for its place */
};

extern struct inject *inject; /* NULL: nothing fails */

#endif
