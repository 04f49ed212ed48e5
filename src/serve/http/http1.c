/* An incremental reader: a state machine that may be stopped after any byte.
 *
 * The head is gathered line by line in `text`, and each line is checked as a whole when its
 * CR LF has come; lines of fields that nobody asks for are checked and then cut off again, so
 * that text holds no more than is needed. While text grows it may move, so until the head
 * is whole its parts are known by their places (`method`, `target`, `at`), not by pointers.
 *
 * A body is not gathered: with a known length it is handed on as it comes, and of a chunked
 * one the bytes between the chunks are read one by one:
 *
 *     1A     ;a=b      CR LF     26 bytes   CR        LF        0 ...        CR LF
 *     SIZE   EXTENSION   SIZE_LF  DATA       DATA_CR   DATA_LF   SIZE ...
 *
 *     behind the last chunk, of size 0:
 *     Name             :value CR       LF           CR        LF
 *     TRAILER, _NAME   TRAILER_VALUE   TRAILER_LF   TRAILER   LAST_LF
 *
 * Whatever fits no state is refused and ends the connection: of a stream whose framing is
 * in doubt no further byte can be trusted (request smuggling). All that a client can make
 * longer is bounded: the head and a trailer by `max`, their fields by HTTP1_FIELDS, a
 * chunk's size by 16 digits, its extensions by HTTP1_CHUNK_LINE and HTTP1_EXTENSIONS. */
#include "serve/http/http1.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum state {
    STATE_REQUEST_LINE,
    STATE_FIELDS,
    STATE_LENGTH,    /* a body of a known length */
    STATE_SIZE,      /* the hex digits of a chunk */
    STATE_EXTENSION, /* what follows them, up to the CR */
    STATE_SIZE_LF,
    STATE_DATA,
    STATE_DATA_CR, /* the line end behind a chunk */
    STATE_DATA_LF,
    STATE_TRAILER, /* the beginning of a line behind the last chunk */
    STATE_TRAILER_NAME,
    STATE_TRAILER_VALUE,
    STATE_TRAILER_LF,
    STATE_LAST_LF, /* of the empty line that ends it all */
    STATE_WHOLE,   /* the event is still to be given */
    STATE_OVER,    /* it was */
    STATE_REFUSED,
};

/* ---- characters ---- */

/* Visible, a space, a tab, or beyond ASCII: what a line may hold. */
static bool is_plain(unsigned char c)
{
    return (c >= ' ' && c != 0x7f) || c == '\t';
}

int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* RFC 9110, 5.6.2 */
static bool is_token(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool all_token(const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!is_token((unsigned char)at[i]))
            return false;
    return len > 0;
}

/* A host and perhaps a port: nothing that begins another part of an address. */
static bool host_fits(const char *host)
{
    return host[strspn(host, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "-._~!$&'()*+;=%:[]")] == '\0';
}

/* ---- a reader ---- */

void http1_init(struct http1 *r, size_t max)
{
    *r = (struct http1){.max = max};
    http1_next(r);
}

void http1_fini(struct http1 *r)
{
    bytes_fini(&r->text);
}

void http1_next(struct http1 *r)
{
    struct bytes text = r->text;

    text.len = 0;
    *r = (struct http1){.max = r->max, .text = text};
}

bool http1_idle(const struct http1 *r)
{
    return r->state == STATE_REQUEST_LINE && r->seen == 0 && !r->cr;
}

static enum http1_event refuse(struct http1 *r, int status, const char *why)
{
    r->state = STATE_REFUSED;
    r->status = status;
    r->why = why;
    return HTTP1_REFUSED;
}

static enum http1_event refuse_length(struct http1 *r)
{
    if (r->state == STATE_REQUEST_LINE)
        return refuse(r, 414, "The address is longer than this server takes.");
    return refuse(r, 431, "The header is longer than this server takes.");
}

static enum http1_event refuse_byte(struct http1 *r, unsigned char c)
{
    if (c == '\n')
        return refuse(r, 400, "A line ends with LF alone, want CR LF.");
    return refuse(r, 400, "A control character is in the header.");
}

/* ---- lines ---- */

/* Takes bytes up to the end of the line into text, where a NUL then ends it.
 * HTTP1_HEAD: the line is whole. */
static enum http1_event take_line(struct http1 *r, const char **at, size_t *len)
{
    const unsigned char *p = (const unsigned char *)*at;
    size_t n = 0, most = r->max - r->seen < *len ? r->max - r->seen : *len;
    unsigned char c;

    while (!r->cr && n < most && is_plain(p[n]))
        n++;
    if (bytes_reserve(&r->text, n + 1) != SHOAL_OK)
        return refuse(r, 507, "Out of memory");
    memcpy(r->text.at + r->text.len, p, n);
    r->text.len += n;
    r->seen += n;
    *at += n;
    *len -= n;
    if (*len == 0)
        return HTTP1_MORE;
    if (r->seen == r->max)
        return refuse_length(r);
    c = p[n];
    if (r->cr && c != '\n')
        return refuse(r, 400, "A CR is not followed by LF.");
    if (!r->cr && c != '\r')
        return refuse_byte(r, c);
    r->seen++;
    (*at)++;
    (*len)--;
    r->cr = !r->cr;
    if (r->cr)
        return take_line(r, at, len); /* once more, for the LF: never deeper */
    r->text.at[r->text.len++] = '\0';
    return HTTP1_HEAD;
}

/* ---- the request line ---- */

static bool is_version(const char *text)
{
    return strlen(text) == 8 && strncmp(text, "HTTP/", 5) == 0 && text[5] >= '0' &&
           text[5] <= '9' && text[6] == '.' && text[7] >= '0' && text[7] <= '9';
}

static enum http1_event read_request_line(struct http1 *r)
{
    char *line = r->text.at + r->line, *target = strchr(line, ' '), *version;

    version = target ? strchr(target + 1, ' ') : NULL;
    if (!version || strchr(version + 1, ' ') || strchr(line, '\t') || version == target + 1)
        return refuse(r, 400, "The first line is not METHOD ADDRESS HTTP/1.1.");
    *target++ = '\0';
    *version++ = '\0';
    if (!all_token(line, strlen(line)))
        return refuse(r, 400, "The method is none.");
    if (!is_version(version))
        return refuse(r, 400, "The first line does not end with HTTP/1.1.");
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
        return refuse(r, 505, "This server speaks HTTP/1.1 and HTTP/1.0.");
    r->head.minor = (unsigned)(version[7] - '0');
    r->method = r->line;
    r->target = (size_t)(target - r->text.at);
    r->state = STATE_FIELDS;
    return HTTP1_MORE;
}

/* ---- fields ---- */

static enum http1_field field_of(const char *name, size_t len)
{
    static const char *const names[HTTP1_KNOWN] = {
        [HTTP1_ACCEPT] = "accept",
        [HTTP1_AUTHORIZATION] = "authorization",
        [HTTP1_CONNECTION] = "connection",
        [HTTP1_CONTENT_ENCODING] = "content-encoding",
        [HTTP1_CONTENT_LENGTH] = "content-length",
        [HTTP1_CONTENT_TYPE] = "content-type",
        [HTTP1_EXPECT] = "expect",
        [HTTP1_HOST] = "host",
        [HTTP1_INFERENCE_HEADER] = "inference-header-content-length",
        [HTTP1_ORIGIN] = "origin",
        [HTTP1_REQUEST_ID] = "x-request-id",
        [HTTP1_TRACEPARENT] = "traceparent",
        [HTTP1_TRANSFER_ENCODING] = "transfer-encoding",
        [HTTP1_USER_AGENT] = "user-agent",
    };
    enum http1_field k = 0;

    while (k < HTTP1_KNOWN && (strncasecmp(name, names[k], len) != 0 || names[k][len] != '\0'))
        k++;
    return k;
}

/* The elements of "close, x" */
static void read_connection(struct http1 *r, const char *value)
{
    while (*value) {
        size_t len;

        value += strspn(value, ", \t");
        len = strcspn(value, ", \t");
        r->close |= len == 5 && strncasecmp(value, "close", 5) == 0;
        r->alive |= len == 10 && strncasecmp(value, "keep-alive", 10) == 0;
        value += len;
    }
}

static bool read_length(struct http1 *r, const char *value)
{
    size_t len = strlen(value);

    if (len == 0 || len > 19 || strspn(value, "0123456789") != len)
        return false;
    r->head.length = strtoull(value, NULL, 10); /* 19 digits fit */
    return true;
}

/* Those that are lists, or decide nothing. */
static bool may_repeat(enum http1_field k)
{
    return k == HTTP1_CONNECTION || k == HTTP1_CONTENT_ENCODING || k == HTTP1_ACCEPT ||
           k == HTTP1_USER_AGENT || k == HTTP1_REQUEST_ID || k == HTTP1_TRACEPARENT;
}

/* A known field; its value ends with the text. */
static enum http1_event read_known(struct http1 *r, enum http1_field k, size_t place)
{
    const char *value = r->text.at + place;

    if (r->at[k] && !may_repeat(k))
        return refuse(r, 400, "A header field that can be there once is there twice.");
    if (k == HTTP1_HOST && !host_fits(value))
        return refuse(r, 400, "The Host is none.");
    if (k == HTTP1_CONTENT_LENGTH && !read_length(r, value))
        return refuse(r, 400, "The Content-Length is no number.");
    if (k == HTTP1_TRANSFER_ENCODING && strcasecmp(value, "chunked") != 0)
        return refuse(r, 400, "The Transfer-Encoding is not chunked.");
    if (k == HTTP1_EXPECT && strcasecmp(value, "100-continue") != 0)
        return refuse(r, 417, "The Expect is not 100-continue.");
    if (k == HTTP1_CONNECTION)
        read_connection(r, value);
    if (k == HTTP1_CONTENT_ENCODING)
        r->head.encoded |= *value && strcasecmp(value, "identity") != 0;
    r->at[k] = place;
    return HTTP1_MORE;
}

static enum http1_event read_field(struct http1 *r)
{
    char *line = r->text.at + r->line, *end = r->text.at + r->text.len - 1;
    char *colon = strchr(line, ':'), *value;
    enum http1_field k;

    if (*line == ' ' || *line == '\t')
        return refuse(r, 400, "A header line is folded.");
    if (!colon || !all_token(line, (size_t)(colon - line)))
        return refuse(r, 400, "A header line is not NAME: VALUE.");
    if (++r->fields > HTTP1_FIELDS)
        return refuse(r, 431, "The header has more fields than this server takes.");
    k = field_of(line, (size_t)(colon - line));
    if (k == HTTP1_KNOWN) {
        r->text.len = r->line;
        return HTTP1_MORE;
    }
    value = colon + 1 + strspn(colon + 1, " \t");
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    return read_known(r, k, (size_t)(value - r->text.at));
}

/* ---- the head as a whole ---- */

/* "http://host:port/path": the host in the address overrides the field Host (RFC 9112,
 * 3.2.2). It is copied behind the text. */
static bool read_absolute(struct http1 *r, size_t scheme)
{
    size_t host = r->target + scheme, len = strcspn(r->text.at + host, "/?"), copy = r->text.len;
    size_t rest = host + len;

    if (len == 0 || bytes_reserve(&r->text, len + 1) != SHOAL_OK)
        return false;
    memcpy(r->text.at + copy, r->text.at + host, len);
    r->text.at[copy + len] = '\0';
    r->text.len += len + 1;
    if (!host_fits(r->text.at + copy))
        return false;
    r->at[HTTP1_HOST] = copy;
    if (r->text.at[rest] != '/')
        r->text.at[--rest] = '/'; /* over the host's last byte, of which there is a copy */
    r->target = rest;
    return true;
}

static bool read_target(struct http1 *r)
{
    const char *target = r->text.at + r->target;

    if (strchr(target, '#'))
        return false;
    if (strncasecmp(target, "http://", 7) == 0)
        return read_absolute(r, 7);
    if (strncasecmp(target, "https://", 8) == 0)
        return read_absolute(r, 8);
    if (strcmp(target, "*") == 0)
        return strcmp(r->text.at + r->method, "OPTIONS") == 0;
    return *target == '/';
}

static enum http1_event finish_head(struct http1 *r)
{
    struct http1_head *h = &r->head;

    if (strcmp(r->text.at + r->method, "CONNECT") == 0)
        return refuse(r, 501, "This server connects nobody to others.");
    if (h->minor == 1 && !r->at[HTTP1_HOST])
        return refuse(r, 400, "There is no Host.");
    if (r->at[HTTP1_TRANSFER_ENCODING] && (r->at[HTTP1_CONTENT_LENGTH] || h->minor == 0))
        return refuse(r, 400,
                      "There is a Transfer-Encoding beside a Content-Length, or with HTTP/1.0.");
    if (!read_target(r))
        return refuse(r, 400, "The address is none.");
    h->method = r->text.at + r->method;
    h->target = r->text.at + r->target;
    for (size_t k = 0; k < HTTP1_KNOWN; k++)
        h->field[k] = r->at[k] ? r->text.at + r->at[k] : NULL;
    h->chunked = r->at[HTTP1_TRANSFER_ENCODING] != 0;
    h->keep = !r->close && (h->minor == 1 || r->alive);
    h->expects = r->at[HTTP1_EXPECT] && h->minor == 1 && (h->chunked || h->length > 0);
    r->left = h->length;
    r->seen = 0; /* from here on the bytes of a chunk's line, or of the trailer */
    r->fields = 0;
    r->state = h->chunked ? STATE_SIZE : h->length > 0 ? STATE_LENGTH : STATE_WHOLE;
    return HTTP1_HEAD;
}

/* The line from r->line to the end of the text. */
static enum http1_event read_line(struct http1 *r)
{
    enum http1_event event;

    if (r->text.len - r->line == 1) { /* empty */
        r->text.len = r->line;
        if (r->state == STATE_FIELDS)
            return finish_head(r);
        if (r->blank)
            return refuse(r, 400, "Empty lines come before the request.");
        r->blank = true;
        r->seen = 0;
        return HTTP1_MORE;
    }
    event = r->state == STATE_FIELDS ? read_field(r) : read_request_line(r);
    r->line = r->text.len;
    return event;
}

/* ---- the body ---- */

static enum http1_event take_piece(struct http1 *r, const char **at, size_t *len)
{
    size_t n = *len < r->left ? *len : (size_t)r->left;

    if (n == 0)
        return HTTP1_MORE;
    r->piece = *at;
    r->piece_len = n;
    r->left -= n;
    *at += n;
    *len -= n;
    if (r->left == 0)
        r->state = r->state == STATE_LENGTH ? STATE_WHOLE : STATE_DATA_CR;
    return HTTP1_BODY;
}

static bool size_byte(struct http1 *r, unsigned char c)
{
    int digit = hex_digit((char)c);

    if (digit >= 0) {
        r->left = r->left << 4 | (unsigned)digit;
        return ++r->digits <= 16;
    }
    r->state = c == ';' ? STATE_EXTENSION : STATE_SIZE_LF;
    return r->digits > 0 && (c == ';' || c == '\r');
}

static bool extension_byte(struct http1 *r, unsigned char c)
{
    if (c == '\r') {
        r->state = STATE_SIZE_LF;
        return true;
    }
    return is_plain(c) && ++r->extensions <= HTTP1_EXTENSIONS && r->seen <= HTTP1_CHUNK_LINE;
}

/* Behind the line of a chunk: its data, or what comes behind the last. */
static bool size_end(struct http1 *r, unsigned char c)
{
    r->state = r->left > 0 ? STATE_DATA : STATE_TRAILER;
    r->digits = 0;
    r->seen = 0;
    return c == '\n';
}

static bool trailer_byte(struct http1 *r, unsigned char c)
{
    if (r->seen > r->max)
        return false;
    switch (r->state) {
    case STATE_TRAILER:
        r->state = c == '\r' ? STATE_LAST_LF : STATE_TRAILER_NAME;
        return c == '\r' || (is_token(c) && ++r->fields <= HTTP1_FIELDS);
    case STATE_TRAILER_NAME:
        r->state = c == ':' ? STATE_TRAILER_VALUE : STATE_TRAILER_NAME;
        return c == ':' || is_token(c);
    case STATE_TRAILER_VALUE:
        r->state = c == '\r' ? STATE_TRAILER_LF : STATE_TRAILER_VALUE;
        return c == '\r' || is_plain(c);
    case STATE_TRAILER_LF:
        r->state = STATE_TRAILER;
        return c == '\n';
    default: /* STATE_LAST_LF */
        r->state = STATE_WHOLE;
        return c == '\n';
    }
}

/* One byte of what stands around the chunks. */
static bool chunk_byte(struct http1 *r, unsigned char c)
{
    r->seen++;
    switch (r->state) {
    case STATE_SIZE:
        return size_byte(r, c);
    case STATE_EXTENSION:
        return extension_byte(r, c);
    case STATE_SIZE_LF:
        return size_end(r, c);
    case STATE_DATA_CR:
        r->state = STATE_DATA_LF;
        return c == '\r';
    case STATE_DATA_LF:
        r->state = STATE_SIZE;
        r->seen = 0;
        return c == '\n';
    default:
        return trailer_byte(r, c);
    }
}

enum http1_event http1_read(struct http1 *r, const char **at, size_t *len)
{
    enum http1_event event = HTTP1_MORE;

    while (event == HTTP1_MORE) {
        if (r->state == STATE_WHOLE) {
            r->state = STATE_OVER;
            return HTTP1_WHOLE;
        }
        if (*len == 0 || r->state == STATE_OVER || r->state == STATE_REFUSED)
            return r->state == STATE_REFUSED ? HTTP1_REFUSED : HTTP1_MORE;
        if (r->state <= STATE_FIELDS) {
            event = take_line(r, at, len);
            if (event == HTTP1_HEAD)
                event = read_line(r);
        } else if (r->state == STATE_LENGTH || r->state == STATE_DATA) {
            event = take_piece(r, at, len);
        } else {
            if (!chunk_byte(r, (unsigned char)**at))
                event = refuse(r, 400, "The chunks of the body are malformed.");
            (*at)++;
            (*len)--;
        }
    }
    return event;
}
