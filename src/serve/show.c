/* One page at an address, made anew for each request: for looking at a run. At a loopback
 * address no token is needed, but the Host must be a name of this machine (against DNS
 * rebinding); elsewhere a random token, made when the page is opened, is part of the URL. */
#include "serve/http/loop.h"
#include "serve/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

enum { SHOW_CONNECTIONS = 32, SHOW_SECONDS = 10, SHOW_HEADER = 16 << 10, SHOW_TOKEN = 32 };

struct shoal_show {
    struct shoal_server server; /* without models: its limits, counts and one listener */
    char name[64];              /* the host that was asked for */
    char token[SHOW_TOKEN + 1]; /* "" on this machine alone */
    char url[160];
    shoal_status (*page)(void *user, char **text, size_t *len);
    void *user;
};

static void answer_sentence(struct request *q, int status, const char *sentence)
{
    q->answer.status = status;
    q->answer.type = "text/plain; charset=utf-8";
    q->answer.page = true;
    put_raw(&q->answer.body, sentence);
    put_raw(&q->answer.body, "\n");
}

/* ---- who may see it ---- */

static bool host_fits(const struct shoal_show *s, const char *host)
{
    size_t len = host ? strcspn(host, ":") : 0;

    return host_is_local(host) ||
           (len > 0 && len == strlen(s->name) && strncasecmp(host, s->name, len) == 0);
}

static bool may_see(const struct shoal_show *s, const struct request *q)
{
    const char *said = query_get(&q->query, "token");

    if (!s->token[0])
        return host_fits(s, q->host);
    return said && token_matches(s->token, said, strlen(said));
}

static bool show_admit(struct request *q)
{
    struct shoal_show *s = (struct shoal_show *)q->server;

    if (query_init(&q->query, q->address) != SHOAL_OK) {
        answer_sentence(q, 400, "The address is malformed.");
        return false;
    }
    if (may_see(s, q) && origin_fits(q->origin, q->host))
        return true;
    answer_sentence(q, 403,
                    s->token[0] ? "The address has no token, or not the right one."
                                : "Another name of this machine may not ask here.");
    return false;
}

/* ---- the page ---- */

/* There is nothing to show yet: the sentence, and a page that asks again by itself. */
static void answer_later(struct request *q, const char *sentence)
{
    struct writer *w = &q->answer.body;
    char one[2] = "";

    q->answer.status = 503;
    q->answer.type = "text/html; charset=utf-8";
    q->answer.page = true;
    put_raw(w, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
               "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
               "<title>waiting - shoal</title>"
               "<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;"
               "margin:2em auto;padding:0 1em;max-width:40em;overflow-wrap:anywhere}</style></head>\n"
               "<body><main><h1>Waiting for the run</h1>\n<p>");
    for (; *sentence; sentence++) {
        one[0] = *sentence;
        put_raw(w, *one == '<' ? "&lt;" : *one == '&' ? "&amp;" : one);
    }
    put_raw(w, "</p>\n<p>This page looks again every two seconds.</p></main>\n"
               "<script>setTimeout(function () { location.reload(); }, 2000);</script></body></html>\n");
}

static enum route show_begin(struct request *q)
{
    struct shoal_show *s = (struct shoal_show *)q->server;
    char *text = NULL;
    size_t len = 0;

    if (strcmp(q->method, "GET") != 0) {
        answer_sentence(q, 405, "This page is for looking.");
        q->answer.allow = "GET, HEAD";
    } else if (q->query.nsegments > 0) {
        answer_sentence(q, 404, "There is one page only: /");
    } else if (s->page(s->user, &text, &len) != SHOAL_OK) {
        answer_later(q, shoal_error());
    } else {
        q->answer.status = 200;
        q->answer.type = "text/html; charset=utf-8";
        q->answer.page = true;
        q->answer.body.out = (struct bytes){.at = text, .len = len, .cap = len};
    }
    return ROUTE_ANSWERED;
}

static void show_end(struct request *q)
{
    query_fini(&q->query);
}

static const struct http_handler show_handler = {
    .admit = show_admit,
    .begin = show_begin,
    .end = show_end,
    .policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
              "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

/* ---- opening ---- */

static shoal_status make_token(struct shoal_show *s)
{
    unsigned char bytes[SHOW_TOKEN / 2];

    if (s->server.listeners[0].loopback)
        return SHOAL_OK;
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return shoal_fail_errno(SHOAL_EIO, "watch: no random token");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(s->token + 2 * i, 3, "%02x", bytes[i]);
    return SHOAL_OK;
}

/* ":8090" is of this machine alone. */
static shoal_status show_listen(struct shoal_show *s, const char *address)
{
    struct listener *l = &s->server.listeners[0];
    char text[128], port[8];
    shoal_status st;

    snprintf(text, sizeof text, "%s%s", *address == ':' ? "127.0.0.1" : "", address);
    st = listener_open(l, text, "--watch");
    if (st == SHOAL_OK && !address_parse(text, s->name, port))
        s->name[0] = '\0';
    if (st == SHOAL_OK)
        st = make_token(s);
    snprintf(s->url, sizeof s->url, "http://%s/%s%s", l->address, s->token[0] ? "?token=" : "",
             s->token);
    return st;
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
    s->server.http = (struct http_settings){
        .threads = 1,
        .max_header = SHOW_HEADER,
        .max_held = SIZE_MAX / 2, /* the page is one's own: no budget */
        .max_request = SIZE_MAX / 2,
        .max_connections = SHOW_CONNECTIONS,
        .timeout = SHOW_SECONDS,
    };
    s->server.listeners[0].fd = -1;
    st = show_listen(s, address);
    if (st == SHOAL_OK)
        st = http_start(&s->server.listeners[0], &s->server, &show_handler);
    if (st != SHOAL_OK) {
        if (s->server.listeners[0].fd >= 0)
            close(s->server.listeners[0].fd);
        free(s);
        return st;
    }
    *out = s;
    return SHOAL_OK;
}

const char *shoal_show_url(const shoal_show *s)
{
    return s->url;
}

void shoal_show_close(shoal_show *s)
{
    if (!s)
        return;
    loops_stop(s->server.listeners[0].loops);
    free(s);
}
