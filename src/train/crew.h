/* crew: threads that help the one that drives a run; not a door.
 *
 * What this is: items of work, each done once by whichever thread comes first; the
 * caller works along and goes on when all are done; helpers take small numbers as it
 * does (base/floats.c). It alone talks to other ranks,
 * so it alone starts and ends a round of work.
 * Who owns what: the work is borrowed for the length of crew_run.
 * Threads: crew_run is called by the thread that made the crew. */
#ifndef SHOAL_CREW_H
#define SHOAL_CREW_H

#include "base/base.h"

struct crew;

/* threads - 1 helpers; with 1 there are none. */
shoal_status crew_new(struct crew **out, unsigned threads);
void crew_free(struct crew *crew);
/* fn(ctx, 0 .. n - 1); gives the failure of the lowest item that failed. */
shoal_status crew_run(struct crew *crew, size_t n, shoal_status (*fn)(void *ctx, size_t item),
                      void *ctx);

#endif
