/* grpc_text: what gRPC writes into header fields; not a door.
 *
 * What this is: statuses, time-outs and sentences as gRPC over HTTP/2 has them.
 * Who owns what: nothing is kept.
 * Threads: any. */
#ifndef SHOAL_SERVE_GRPC_TEXT_H
#define SHOAL_SERVE_GRPC_TEXT_H

#include "base/base.h"

enum { GRPC_MESSAGE_MAX = 1024, GRPC_PREFIX = 5 };

/* The code of gRPC for a status of HTTP: 404 is NOT_FOUND, 5. */
int grpc_status(int http);
/* "250m" is 0.25 seconds; negative: it is none. */
double grpc_timeout(const char *text, size_t len);
/* A sentence for grpc-message, in which bytes that are not plain are %XX; its length. */
size_t grpc_message(char out[GRPC_MESSAGE_MAX], const char *text, size_t len);
/* Before a message: whether it is compressed, and its length. */
void grpc_prefix(char out[GRPC_PREFIX], size_t len);
/* A message of `len` bytes behind its prefix, of which `prefixed` bytes have come, is whole: NULL;
 * else what is wrong, and its status of HTTP. */
const char *grpc_check(const char prefix[GRPC_PREFIX], size_t prefixed, size_t len, int *status);

#endif
