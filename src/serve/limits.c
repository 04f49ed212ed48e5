#include "serve/limits.h"
#include "file/file.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- tokens ---- */

static char *token_for(struct tokens *t, const char *who, size_t len)
{
    if (len == 9 && strncmp(who, "inference", len) == 0)
        return t->inference;
    if (len == 10 && strncmp(who, "management", len) == 0)
        return t->management;
    if (len == 7 && strncmp(who, "metrics", len) == 0)
        return t->metrics;
    return NULL;
}

static shoal_status parse_line(struct tokens *t, const char *path, const char *line, size_t len)
{
    size_t who = 0, end = len;
    char *to;

    while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '\r' || line[end - 1] == '\t'))
        end--;
    if (end == 0 || line[0] == '#')
        return SHOAL_OK;
    while (who < end && line[who] != ' ' && line[who] != '\t')
        who++;
    to = token_for(t, line, who);
    while (who < end && (line[who] == ' ' || line[who] == '\t'))
        who++;
    if (!to || end - who < TOKEN_MIN || end - who > TOKEN_MAX || memchr(line + who, ' ', end - who))
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: found a line that is none of 'inference TOKEN', 'management "
                          "TOKEN' and 'metrics TOKEN', want tokens of %d to %d characters",
                          path, TOKEN_MIN, TOKEN_MAX);
    memcpy(to, line + who, end - who);
    to[end - who] = '\0';
    return SHOAL_OK;
}

shoal_status tokens_parse(struct tokens *t, const char *path, const char *text)
{
    shoal_status st = SHOAL_OK;

    *t = (struct tokens){0};
    while (*text && st == SHOAL_OK) {
        size_t len = strcspn(text, "\n");

        st = parse_line(t, path, text, len);
        text += len + (text[len] == '\n');
    }
    if (st == SHOAL_OK && (!t->inference[0] || !t->management[0]))
        st = shoal_fail(SHOAL_EFORMAT, "%s: found no token for %s, want one", path,
                        t->inference[0] ? "management" : "inference");
    if (st == SHOAL_OK && strcmp(t->inference, t->management) == 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: both tokens are the same, want two", path);
    t->on = st == SHOAL_OK;
    return st;
}

shoal_status secret_read(char **text, size_t *len, const char *path, size_t most)
{
    struct stat file;

    if (stat(path, &file) == 0 && (file.st_mode & 077) != 0)
        return shoal_fail(SHOAL_EINVAL, "%s: its mode is %03o, want 600: nobody else may read it",
                          path, (unsigned)file.st_mode & 0777);
    return stream_slurp(text, len, path, most);
}

shoal_status tokens_read(struct tokens *t, const char *path)
{
    char *text;
    size_t len;
    shoal_status st = secret_read(&text, &len, path, 1 << 16);

    *t = (struct tokens){0};
    if (st != SHOAL_OK)
        return st;
    st = tokens_parse(t, path, text);
    explicit_bzero(text, len);
    free(text);
    return st;
}

/* Constant time: every byte is compared, wherever the first difference is, so that the time
 * tells nothing about the token. */
bool token_matches(const char *token, const char *said, size_t len)
{
    size_t n = strlen(token);
    unsigned char differ = n == 0 || n != len;

    for (size_t i = 0; i < n; i++)
        differ |= (unsigned char)(token[i] ^ said[len > 0 ? i % len : 0]);
    return differ == 0;
}

bool tokens_allow(const struct tokens *t, unsigned roles, const char *header)
{
    size_t len;
    bool inference, management, metrics;

    if (!t->on)
        return true;
    if (!header || strncasecmp(header, "bearer ", 7) != 0)
        return false;
    header += 7;
    len = strlen(header);
    inference = token_matches(t->inference, header, len);
    management = token_matches(t->management, header, len);
    metrics = token_matches(t->metrics, header, len) || management || (inference && !t->metrics[0]);
    return (inference && (roles & ROLE_INFERENCE)) || (management && (roles & ROLE_MANAGEMENT)) ||
           (metrics && (roles & ROLE_METRICS));
}

/* ---- rate ---- */

void limiter_init(struct limiter *l, double rate, uint64_t seed)
{
    *l = (struct limiter){.rate = rate, .seed = seed};
    pthread_mutex_init(&l->lock, NULL);
}

void limiter_fini(struct limiter *l)
{
    pthread_mutex_destroy(&l->lock);
}

uint64_t client_number(const struct sockaddr *client)
{
    uint64_t n = 0;

    if (client && client->sa_family == AF_INET)
        n = ((const struct sockaddr_in *)(const void *)client)->sin_addr.s_addr;
    else if (client && client->sa_family == AF_INET6) {
        const struct in6_addr *at = &((const struct sockaddr_in6 *)(const void *)client)->sin6_addr;

        if (IN6_IS_ADDR_V4MAPPED(at)) /* one of IPv4 that came to a [::] */
            memcpy(&n, at->s6_addr + 12, 4);
        else
            memcpy(&n, at, sizeof n);
    }
    return n;
}

bool limiter_take(struct limiter *l, const struct sockaddr *client, double at)
{
    size_t i;
    double left, room = l->rate < 1 ? 1 : l->rate;
    bool allowed;

    if (l->rate <= 0)
        return true;
    i = rng_mix(client_number(client) ^ l->seed) % LIMITER_SLOTS;
    pthread_mutex_lock(&l->lock);
    left = l->slots[i].at > 0 ? (double)l->slots[i].left + (at - l->slots[i].at) * l->rate : room;
    left = left < room ? left : room;
    allowed = left >= 1;
    l->slots[i].left = (float)(allowed ? left - 1 : left);
    l->slots[i].at = at;
    pthread_mutex_unlock(&l->lock);
    return allowed;
}

/* ---- browsers ---- */

bool origin_fits(const char *origin, const char *host)
{
    const char *at;

    if (!origin)
        return true;
    at = strstr(origin, "://");
    return host && at && strcasecmp(at + 3, host) == 0;
}

bool host_is_local(const char *host)
{
    size_t len;

    if (!host || host[0] == '[')
        return true; /* HTTP/1.0, or an address of IPv6 */
    len = strcspn(host, ":");
    if (len == 9 && strncasecmp(host, "localhost", len) == 0)
        return true;
    return len > 0 && strspn(host, "0123456789.") == len;
}
