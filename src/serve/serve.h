/* serve: models over HTTP.
 *
 * What this is: shoal_serve_* of shoal.h (shoal/serve.h); here is what the tests
 * need besides. How the room works: loop.c has the connections, http.c
 * and http1.c receive, routes.c says by whom a request is
 * answered, predict.c makes a job of it, batcher.c computes jobs together on
 * servable_*.c, registry.c knows which models there are.
 * Who owns what: a server owns all of it.
 * Threads: those of loop.c, the workers of each model, and one that looks now and
 * then for replaced files. */
#ifndef SHOAL_SERVE_H
#define SHOAL_SERVE_H

#include <shoal.h>

/* shoal_serve_config of text that is in memory, which is changed and then pointed
 * into; `path` is for sentences. */
shoal_status serve_config_parse(struct shoal_serve_opts *opts, const char *path, char *text);

#endif
