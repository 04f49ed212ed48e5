/* tls: TLS 1.2 and 1.3 on sockets that do not block; not a door.
 *
 * What this is: a certificate with its key, and sessions with clients.
 * Who owns what: a session borrows its socket and its tls, which outlives it.
 * Threads: any may begin sessions of one tls; a session is one thread's at a time. */
#ifndef SHOAL_SERVE_TLS_H
#define SHOAL_SERVE_TLS_H

#include "base/base.h"

#include <sys/types.h>

struct tls;
struct tls_session;

/* PEM files. Nobody else may read the key's; the certificate must be the key's. */
shoal_status tls_open(struct tls **out, const char *cert_path, const char *key_path);
void tls_close(struct tls *t); /* accepts NULL */

/* `protocol` is what is spoken, as ALPN has it: "h2". NULL: no memory. */
struct tls_session *tls_begin(struct tls *t, int fd, const char *protocol);
/* Accepts NULL. What the client is still sent is one record, which says that it is all. */
void tls_end(struct tls_session *s);

/* As recv and send: how much, 0 at the client's end, -1 with errno EAGAIN when the
 * socket must be waited for, and with another when the session is over. What is not
 * sent must be offered again, from the same byte on. */
int tls_handshake(struct tls_session *s); /* 1: done */
ssize_t tls_recv(struct tls_session *s, void *at, size_t len);
ssize_t tls_send(struct tls_session *s, const void *at, size_t len);

#endif
