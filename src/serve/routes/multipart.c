/* multipart/form-data (RFC 7578), of a body that is whole and in memory:
 *
 *     --boundary CRLF  header CRLF ... CRLF  bytes CRLF
 *     --boundary CRLF  ...
 *     --boundary--                                                             */
#include "serve/parse.h"

#include <string.h>

enum { BOUNDARY_MAX = 70, HEADERS_MAX = 8 }; /* RFC 2046 has the first */

struct reader {
    const char *at, *end;
    char boundary[BOUNDARY_MAX + 5]; /* CRLF -- boundary */
    size_t len;
};

static shoal_status malformed(const char *what)
{
    return shoal_fail(SHOAL_EFORMAT, "multipart: found %s", what);
}

/* The value of `key` behind a ; of a header's value, with or without quotes. */
static bool parameter(const char *at, const char *end, const char *key, char *out, size_t cap)
{
    size_t klen = strlen(key), n = 0;

    for (; at < end; at++) {
        const char *from;
        bool quoted;

        if ((*at != ';' && *at != ' ' && *at != '\t') || (size_t)(end - at) < klen + 2)
            continue;
        if (strncasecmp(at + 1, key, klen) != 0 || at[1 + klen] != '=')
            continue;
        from = at + klen + 2;
        quoted = from < end && *from == '"';
        from += quoted;
        while (from < end && (quoted ? *from != '"' : *from != ';' && *from != ' ') && n + 1 < cap)
            out[n++] = *from++;
        out[n] = '\0';
        return n > 0 && (!quoted || (from < end && *from == '"'));
    }
    return false;
}

static shoal_status reader_init(struct reader *r, const char *type, const char *body, size_t len)
{
    char boundary[BOUNDARY_MAX + 2];

    *r = (struct reader){.at = body, .end = body + len};
    if (!parameter(type, type + strlen(type), "boundary", boundary, sizeof boundary) ||
        strlen(boundary) > BOUNDARY_MAX)
        return malformed("no boundary of 1 to 70 characters in the content type");
    r->len = strlen(boundary) + 4;
    memcpy(r->boundary, "\r\n--", 4);
    memcpy(r->boundary + 4, boundary, r->len - 4);
    return SHOAL_OK;
}

/* The line from r->at on, without its CRLF; false when there is none. */
static bool next_line(struct reader *r, const char **line, size_t *len)
{
    const char *end = memmem(r->at, (size_t)(r->end - r->at), "\r\n", 2);

    if (!end)
        return false;
    *line = r->at;
    *len = (size_t)(end - r->at);
    r->at = end + 2;
    return true;
}

static bool header_is(const char *line, size_t len, const char *name)
{
    size_t n = strlen(name);

    return len > n && strncasecmp(line, name, n) == 0 && line[n] == ':';
}

static void take_type(struct part *p, const char *value, const char *end)
{
    size_t n = 0;

    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (value < end && *value != ';' && n + 1 < sizeof p->type)
        p->type[n++] = *value++;
    p->type[n] = '\0';
}

static shoal_status read_headers(struct reader *r, struct part *p)
{
    const char *line;
    size_t len;

    *p = (struct part){0};
    for (int i = 0; i <= HEADERS_MAX; i++) {
        if (!next_line(r, &line, &len))
            return malformed("a part whose headers do not end");
        if (len == 0)
            return SHOAL_OK;
        if (header_is(line, len, "content-disposition"))
            parameter(line, line + len, "name", p->name, sizeof p->name);
        else if (header_is(line, len, "content-type"))
            take_type(p, line + strlen("content-type:"), line + len);
    }
    return malformed("a part with too many headers");
}

static shoal_status read_part(struct reader *r, struct part *p)
{
    shoal_status st = read_headers(r, p);
    const char *end;

    if (st != SHOAL_OK)
        return st;
    end = memmem(r->at, (size_t)(r->end - r->at), r->boundary, r->len);
    if (!end)
        return malformed("a part that is cut off");
    p->at = r->at;
    p->len = (size_t)(end - r->at);
    r->at = end + r->len;
    return SHOAL_OK;
}

shoal_status multipart_parse(struct part parts[PARTS_MAX], size_t *n, const char *type,
                             const char *body, size_t len)
{
    struct reader r;
    shoal_status st = reader_init(&r, type, body, len);

    *n = 0;
    if (st != SHOAL_OK)
        return st;
    /* The first boundary stands at the start, or behind a preamble's CRLF. */
    if (len >= r.len - 2 && memcmp(body, r.boundary + 2, r.len - 2) == 0)
        r.at = body + r.len - 2;
    else if ((r.at = memmem(body, len, r.boundary, r.len)))
        r.at += r.len;
    else
        return malformed("no boundary in the body");
    while (st == SHOAL_OK) {
        if (r.end - r.at >= 2 && memcmp(r.at, "--", 2) == 0)
            return *n > 0 ? SHOAL_OK : malformed("no part");
        if (r.end - r.at < 2 || memcmp(r.at, "\r\n", 2) != 0)
            return malformed("a boundary that neither goes on nor ends");
        if (*n == PARTS_MAX)
            return malformed("more than 64 parts");
        r.at += 2;
        st = read_part(&r, &parts[*n]);
        *n += st == SHOAL_OK;
    }
    return st;
}
