/* limits: who may ask, and how often; not a door.
 *
 * What this is: bearer tokens, a bucket of requests for each client, and which
 * pages of other sites a browser may not send here.
 * Who owns what: both structs lie in the server.
 * Threads: tokens are immutable once read; any thread may ask a limiter. */
#ifndef SHOAL_SERVE_LIMITS_H
#define SHOAL_SERVE_LIMITS_H

#include "base/base.h"

#include <pthread.h>
#include <sys/socket.h>

/* ---- tokens ---- */

enum role { ROLE_INFERENCE = 1, ROLE_MANAGEMENT = 2, ROLE_METRICS = 4 };
enum { TOKEN_MIN = 16, TOKEN_MAX = 256 };

struct tokens {
    char inference[TOKEN_MAX + 1], management[TOKEN_MAX + 1], metrics[TOKEN_MAX + 1];
    bool on;
};

/* A file that nobody else may read, of `most` bytes; *text is for explicit_bzero and free. */
shoal_status secret_read(char **text, size_t *len, const char *path, size_t most);
/* Lines "inference TOKEN", "management TOKEN" and perhaps "metrics TOKEN"; empty ones
 * and those that begin with # are passed over. Nobody else may read the file. */
shoal_status tokens_read(struct tokens *t, const char *path);
shoal_status tokens_parse(struct tokens *t, const char *path, const char *text);
/* Whether the header "Bearer TOKEN" opens one of `roles`. Management's token opens
 * metrics too, and inference's where metrics has none of its own. In the same time
 * however much of a token is right. */
bool tokens_allow(const struct tokens *t, unsigned roles, const char *header);
/* In the same time however much of it is right; an empty token is nobody's. */
bool token_matches(const char *token, const char *said, size_t len);

/* ---- rate ---- */

enum { LIMITER_SLOTS = 4096 };

/* A bucket holds up to a second's requests; clients that share a slot share it. */
struct limiter {
    double rate; /* a second; 0: no limit */
    uint64_t seed;
    pthread_mutex_t lock;
    struct {
        double at;
        float left;
    } slots[LIMITER_SLOTS];
};

void limiter_init(struct limiter *l, double rate, uint64_t seed);
void limiter_fini(struct limiter *l);
/* False when this client has asked too often; at is clock_now(). */
bool limiter_take(struct limiter *l, const struct sockaddr *client, double at);

/* An IPv4 address, or the half of an IPv6 one that belongs to one network. */
uint64_t client_number(const struct sockaddr *client);

/* ---- browsers ---- */

/* A page of another site may not make a browser ask here: the origin, if there is
 * one, must be the host that is asked. */
bool origin_fits(const char *origin, const char *host);
/* Without tokens and only for this machine, the host must be a number or localhost:
 * any other name is somebody's who made it point here. */
bool host_is_local(const char *host);

#endif
