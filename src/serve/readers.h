/* reader: workers that do what would hold up the event loop; not a door.
 *
 * What this is: a bounded queue of requests, and a few threads that take from it:
 *
 *     event loop --> | request | request | --> read the body, ask the model, write
 *     model      -->   large answers first     the answer; then wake the request
 *
 * Who owns what: a request is the readers' from readers_add until its `work` is called,
 * which then has it.
 * Threads: any may add; one closes. */
#ifndef SHOAL_SERVE_READER_H
#define SHOAL_SERVE_READER_H

#include "serve/request.h"

struct readers;

shoal_status readers_new(struct readers **out, unsigned threads);
/* Calls q->work on a thread of theirs. Fails with SHOAL_ELIMIT when the queue is full and
 * with SHOAL_ESTOP when it is closed. With `first` before all others and however long the
 * queue: what was computed is not lost. */
shoal_status readers_add(struct readers *r, struct request *q, bool first);
/* Ends the threads; what waits is refused. Accepts NULL. */
void readers_close(struct readers *r);
void readers_free(struct readers *r);

#endif
