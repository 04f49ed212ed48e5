/* Addresses to listen at, and what the process gives up once it has them. */
#include "serve/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- addresses ---- */

bool address_parse(const char *text, char host[64], char port[8])
{
    const char *scheme = strstr(text, "://"), *end, *colon;
    size_t len;

    text = scheme ? scheme + 3 : text;
    end = text + strcspn(text, "/");
    if (*text == '[') {
        colon = memchr(text, ']', (size_t)(end - text));
        if (!colon || colon[1] != ':')
            return false;
        text++;
        len = (size_t)(colon++ - text);
    } else {
        colon = memchr(text, ':', (size_t)(end - text));
        if (!colon || memchr(colon + 1, ':', (size_t)(end - colon - 1)))
            return false;
        len = (size_t)(colon - text);
    }
    if (len == 0 || len >= 64 || end - colon - 1 < 1 || end - colon - 1 > 5)
        return false;
    snprintf(host, 64, "%.*s", (int)len, text);
    snprintf(port, 8, "%.*s", (int)(end - colon - 1), colon + 1);
    return strspn(port, "0123456789") == strlen(port) && atoi(port) <= UINT16_MAX;
}

static bool is_loopback(const struct sockaddr *at)
{
    if (at->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)(const void *)at)->sin_addr.s_addr) >> 24) ==
               127;
    return at->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)at)->sin6_addr);
}

/* What to do about it, where there is something to do. */
static shoal_status fail_bind(const char *text, const char *option)
{
    if (errno == EADDRINUSE)
        return shoal_fail(SHOAL_EIO,
                          "%s: is in use: stop what listens there, or give another %s HOST:PORT",
                          text, option);
    if (errno == EACCES)
        return shoal_fail(SHOAL_EIO,
                          "%s: is for root alone: give %s HOST:PORT with a port from 1024 on", text,
                          option);
    return shoal_fail_errno(SHOAL_EIO, "%s", text);
}

static shoal_status bind_to(struct listener *l, const char *text, const char *option,
                            const struct addrinfo *at)
{
    struct sockaddr_storage bound;
    socklen_t len = sizeof bound;
    char host[64], port[8];
    int on = 1;

    l->fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->fd < 0)
        return shoal_fail_errno(SHOAL_EIO, "%s", text);
    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(l->fd, at->ai_addr, at->ai_addrlen) != 0 || listen(l->fd, 1024) != 0 ||
        getsockname(l->fd, (struct sockaddr *)&bound, &len) != 0) {
        shoal_status st = fail_bind(text, option);

        close(l->fd);
        l->fd = -1;
        return st;
    }
    getnameinfo((struct sockaddr *)&bound, len, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(l->address, sizeof l->address, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
    l->loopback = is_loopback((struct sockaddr *)&bound);
    return SHOAL_OK;
}

shoal_status listener_open(struct listener *l, const char *text, const char *option)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    char host[64], port[8];
    shoal_status st;
    int failed;

    l->fd = -1;
    if (!address_parse(text, host, port))
        return shoal_fail(SHOAL_EINVAL, "%s is '%s', want HOST:PORT", option, text);
    failed = getaddrinfo(host, port, &hints, &found);
    if (failed)
        return shoal_fail(SHOAL_EINVAL, "%s is '%s': %s", option, text, gai_strerror(failed));
    st = bind_to(l, text, option, found);
    freeaddrinfo(found);
    return st;
}

/* ---- privileges ---- */

shoal_status privileges_drop(const char *user)
{
    const struct passwd *found = getpwnam(user);

    if (!found)
        return shoal_fail(SHOAL_EINVAL, "--user is '%s', want one of this machine", user);
    if (found->pw_uid == 0)
        return shoal_fail(SHOAL_EINVAL, "--user is '%s', want one that is not root", user);
    if (geteuid() == found->pw_uid)
        return SHOAL_OK;
    if (initgroups(user, found->pw_gid) != 0 || setgid(found->pw_gid) != 0 ||
        setuid(found->pw_uid) != 0 || setuid(0) == 0)
        return shoal_fail_errno(SHOAL_EINVAL, "--user '%s' cannot be become", user);
    return SHOAL_OK;
}
