/* A stream of bytes is read as HTTP/1.1 in the same events however it is split; no
 * event says more than was sent, and what is kept of a head stays within its limit. */
#include "fuzz.h"

#include "serve/http/http1.h"

enum { MAX = 1024, REQUESTS = 64 };

/* What became of the bytes, as one text. */
struct outcome {
    struct http1 reader;
    struct bytes said;
    uint64_t body; /* bytes of this request */
    unsigned requests;
};

static void say(struct outcome *o, const char *text)
{
    require(bytes_add(&o->said, text ? text : "-", text ? strlen(text) + 1 : 1) == SHOAL_OK);
}

static void check_head(struct outcome *o)
{
    const struct http1_head *h = &o->reader.head;

    require(*h->method && (*h->target == '/' || strcmp(h->target, "*") == 0));
    require(h->minor == 0 || h->field[HTTP1_HOST]);
    require(!h->chunked || !h->field[HTTP1_CONTENT_LENGTH]);
    require(h->minor <= 1 && !strpbrk(h->target, " \t\r\n"));
    say(o, h->method);
    say(o, h->target);
    for (size_t k = 0; k < HTTP1_KNOWN; k++) {
        require(!h->field[k] || !strpbrk(h->field[k], "\r\n"));
        say(o, h->field[k]);
    }
    say(o, h->keep ? "keep" : "close");
    o->body = 0;
}

/* False: it goes no further. */
static bool feed(struct outcome *o, const char *at, size_t len)
{
    const char *end = at + len;

    while (o->requests < REQUESTS) {
        enum http1_event event = http1_read(&o->reader, &at, &len);

        require(at + len == end);
        require(o->reader.text.len <= 2 * MAX);
        if (event == HTTP1_MORE) {
            require(len == 0);
            return true;
        }
        if (event == HTTP1_HEAD)
            check_head(o);
        if (event == HTTP1_BODY) {
            require(o->reader.piece_len > 0 && o->reader.piece + o->reader.piece_len <= end);
            require(bytes_add(&o->said, o->reader.piece, o->reader.piece_len) == SHOAL_OK);
            o->body += o->reader.piece_len;
        }
        if (event == HTTP1_WHOLE) {
            require(o->reader.head.chunked || o->body == o->reader.head.length);
            say(o, "whole");
            o->requests++;
            http1_next(&o->reader);
        }
        if (event == HTTP1_REFUSED) {
            require(o->reader.status >= 400 && o->reader.status < 600);
            say(o, o->reader.why);
            return false;
        }
    }
    return false;
}

/* In pieces of up to `most` bytes, each with memory of its own. */
static void run(struct outcome *o, const uint8_t *data, size_t size, size_t most, uint64_t seed)
{
    bool more = true;

    *o = (struct outcome){0};
    http1_init(&o->reader, MAX);
    for (size_t at = 0, i = 0; at < size && more; i++) {
        size_t n = 1 + (size_t)(rng_at(seed, 0, i) % most);
        char *piece;

        n = n < size - at ? n : size - at;
        piece = malloc(n);
        require(piece != NULL);
        memcpy(piece, data + at, n);
        more = feed(o, piece, n);
        free(piece);
        at += n;
    }
}

static void end(struct outcome *o)
{
    http1_fini(&o->reader);
    bytes_fini(&o->said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t most[] = {1, 5, 100};
    struct outcome whole, split;
    uint64_t seed = size ? data[size - 1] : 0;

    fuzz_begin(size, 64 << 10, 16);
    run(&whole, data, size, SIZE_MAX, seed);
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        run(&split, data, size, most[i], seed);
        require(split.said.len == whole.said.len);
        require(split.said.len == 0 || memcmp(split.said.at, whole.said.at, whole.said.len) == 0);
        end(&split);
    }
    end(&whole);
    fuzz_end();
    return 0;
}
