/* http1: HTTP/1.1 as bytes (RFC 9112); not a door.
 *
 * What this is: a strict reader of requests, and the head of an answer. No sockets, no
 * clocks: bytes go in, events come out, and they do not depend on how the bytes were
 * split on their way.
 *
 *              first byte        the empty line          length or last chunk
 *     START ------------> LINES ------------------> BODY ------------------> WHOLE
 *       ^                   |     HTTP1_HEAD          |      HTTP1_BODY...      |
 *       |                   |                         |                         |
 *       |                   '--------> REFUSED <------'                         |
 *       |                            HTTP1_REFUSED                              |
 *       '----------------------- http1_next  <---------------------- HTTP1_WHOLE'
 *
 * What has more than one reading is refused rather than guessed at, because whoever
 * stands before this server may guess otherwise: a request can be smuggled between two
 * readers that differ. So: no bare CR or LF, no folded lines, no space before a colon,
 * one Host, one Content-Length, no coding but `chunked`.
 *
 * Who owns what: a reader owns the text of the head, at which the head's strings point
 * until http1_next or http1_fini. Pieces of a body point into what was fed.
 * Threads: one at a time for each reader. */
#ifndef SHOAL_SERVE_HTTP1_H
#define SHOAL_SERVE_HTTP1_H

#include "base/base.h"

enum {
    HTTP1_FIELDS = 100,      /* header fields of a request, and of its trailer */
    HTTP1_CHUNK_LINE = 256,  /* bytes of a chunk's size and extensions */
    HTTP1_EXTENSIONS = 4096, /* bytes of all extensions of a body */
};

/* The fields that anybody here asks for; the others are checked and dropped. */
enum http1_field {
    HTTP1_ACCEPT,
    HTTP1_AUTHORIZATION,
    HTTP1_CONNECTION,
    HTTP1_CONTENT_ENCODING,
    HTTP1_CONTENT_LENGTH,
    HTTP1_CONTENT_TYPE,
    HTTP1_EXPECT,
    HTTP1_HOST,
    HTTP1_INFERENCE_HEADER,
    HTTP1_ORIGIN,
    HTTP1_REQUEST_ID,
    HTTP1_TRACEPARENT,
    HTTP1_TRANSFER_ENCODING,
    HTTP1_USER_AGENT,
    HTTP1_KNOWN,
};

struct http1_head {
    const char *method;
    const char *target;             /* "/path?query"; "*" of OPTIONS stays */
    const char *field[HTTP1_KNOWN]; /* the value, without space around it; or NULL. Of
                                     * Connection and Content-Encoding the last */
    unsigned minor;                 /* HTTP/1.minor: 0 or 1 */
    bool chunked;
    uint64_t length; /* of the body; 0 when chunked */
    bool keep;       /* the client would use the connection again */
    bool expects;    /* waits for "100 Continue" before it sends the body */
    bool encoded;    /* the body has a Content-Encoding other than identity */
};

enum http1_event { HTTP1_MORE, HTTP1_HEAD, HTTP1_BODY, HTTP1_WHOLE, HTTP1_REFUSED };

struct http1 {
    struct http1_head head; /* from HTTP1_HEAD on */
    const char *piece;      /* with HTTP1_BODY: [piece_len] of what was fed */
    size_t piece_len;
    int status;      /* with HTTP1_REFUSED: 400, 414, 417, 431, 501 or 505 */
    const char *why; /* and a sentence */

    unsigned char state; /* http1.c */
    bool cr;             /* the last byte was a CR */
    bool blank;          /* one empty line before the request was passed over */
    bool close, alive;   /* what Connection says */
    uint8_t digits;      /* of the chunk's size */
    uint16_t fields;
    size_t max, seen; /* bytes that a head may have, and those that came */
    size_t line;      /* where in text the line begins that is being read */
    size_t extensions;
    uint64_t left;          /* of the body, or of the chunk */
    size_t method, target;  /* places in text, which moves while it grows */
    size_t at[HTTP1_KNOWN]; /* 0: not there */
    struct bytes text;
};

/* max: the bytes of a head, from its first to the empty line's. */
void http1_init(struct http1 *r, size_t max);
void http1_fini(struct http1 *r);
/* To the next request on the same connection; the text's memory is used again. */
void http1_next(struct http1 *r);

/* Reads from *at, which with *len goes forward over what is used up, to the next event.
 * HTTP1_MORE: all is used up. HTTP1_WHOLE and HTTP1_REFUSED take nothing more until
 * http1_next. Never keeps more than max bytes. */
enum http1_event http1_read(struct http1 *r, const char **at, size_t *len);

/* 0 to 15; -1: it is none. */
int hex_digit(char c);
/* No byte of a request has come. */
bool http1_idle(const struct http1 *r);

/* ---- the head of an answer ---- */

struct http1_answer {
    int status;
    uint64_t length;
    const char *type;     /* Content-Type */
    const char *id;       /* x-request-id; or NULL */
    const char *trace;    /* traceparent; or NULL */
    uint64_t json_length; /* Inference-Header-Content-Length; 0: unsaid */
    const char *date;     /* as http1_date wrote it */
    unsigned retry_after; /* 0: unsaid */
    const char *allow;    /* or NULL */
    const char *policy;   /* Content-Security-Policy; or NULL */
    bool challenge;       /* WWW-Authenticate: Bearer */
    bool keep, minor_0;   /* the connection goes on; the request was HTTP/1.0's */
};

enum { HTTP1_ANSWER_MAX = 1024, HTTP1_DATE = 30 };

/* The head with its empty line; its length. Strings that do not fit are cut. */
size_t http1_answer(char out[HTTP1_ANSWER_MAX], const struct http1_answer *a);
/* "Sun, 06 Nov 1994 08:49:37 GMT" */
void http1_date(char out[HTTP1_DATE], int64_t seconds);

#endif
