/* One page at an address, made anew for whoever asks: for looking at a run. */
#include "serve/server.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOW_CONNECTIONS = 32, SHOW_SECONDS = 10, SHOW_HEADER = 16 << 10 };

struct shoal_show {
    struct listener listener;
    struct MHD_Daemon *daemon;
    shoal_status (*page)(void *user, char **text, size_t *len);
    void *user;
};

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status, char *text,
                                 size_t len, const char *type)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
    enum MHD_Result sent;

    if (!r) {
        free(text);
        return MHD_NO;
    }
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "Cache-Control", "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Content-Security-Policy",
                            "default-src 'none'; style-src 'unsafe-inline'; script-src "
                            "'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action "
                            "'none'; frame-ancestors 'none'");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(r, "Allow", "GET, HEAD");
    sent = MHD_queue_response(connection, status, r);
    MHD_destroy_response(r);
    return sent;
}

static enum MHD_Result send_sentence(struct MHD_Connection *connection, unsigned status,
                                     const char *sentence)
{
    char *text = NULL;
    int len = asprintf(&text, "%s\n", sentence);

    return len > 0 ? send_text(connection, status, text, (size_t)len, "text/plain; charset=utf-8")
                   : MHD_NO;
}

static enum MHD_Result send_page(struct shoal_show *s, struct MHD_Connection *connection)
{
    char *text = NULL;
    size_t len = 0;

    if (s->page(s->user, &text, &len) != SHOAL_OK)
        return send_sentence(connection, MHD_HTTP_SERVICE_UNAVAILABLE, shoal_error());
    return send_text(connection, MHD_HTTP_OK, text, len, "text/html; charset=utf-8");
}

static enum MHD_Result on_show(void *cls, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *size, void **context)
{
    static const char begun;

    (void)version;
    (void)data;
    if (!*context) { /* the headers; what follows is its body, which is dropped */
        *context = (void *)(uintptr_t)&begun;
        return MHD_YES;
    }
    if (*size > 0) {
        *size = 0;
        return MHD_YES;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return send_sentence(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "This page is for looking.");
    if (strcmp(url, "/") != 0)
        return send_sentence(connection, MHD_HTTP_NOT_FOUND, "There is one page only: /");
    return send_page(cls, connection);
}

static struct MHD_Daemon *show_start(struct shoal_show *s)
{
    return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, on_show, s,
                            MHD_OPTION_LISTEN_SOCKET, s->listener.fd, MHD_OPTION_CONNECTION_LIMIT,
                            (unsigned)SHOW_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
                            (unsigned)SHOW_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)SHOW_HEADER, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

/* ":8090" is of this machine alone. */
static shoal_status show_listen(struct shoal_show *s, const char *address)
{
    char text[128];

    snprintf(text, sizeof text, "%s%s", *address == ':' ? "127.0.0.1" : "", address);
    return listener_open(&s->listener, text);
}

shoal_status shoal_show_open(shoal_show **out, const char *address,
                             shoal_status (*page)(void *user, char **text, size_t *len), void *user)
{
    struct shoal_show *s = mem_array(1, sizeof *s);
    shoal_status st;

    *out = NULL;
    if (!s)
        return SHOAL_ENOMEM;
    s->page = page;
    s->user = user;
    st = show_listen(s, address);
    if (st == SHOAL_OK && !(s->daemon = show_start(s))) {
        close(s->listener.fd);
        st = shoal_fail(SHOAL_EIO, "%s: found no way to show a page there", address);
    }
    if (st != SHOAL_OK) {
        free(s);
        return st;
    }
    *out = s;
    return SHOAL_OK;
}

const char *shoal_show_address(const shoal_show *s)
{
    return s->listener.address;
}

void shoal_show_close(shoal_show *s)
{
    if (!s)
        return;
    MHD_stop_daemon(s->daemon); /* closes the socket */
    free(s);
}
