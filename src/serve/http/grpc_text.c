#include "serve/http/grpc_text.h"

#include <string.h>

int grpc_status(int http)
{
    enum {
        OK = 0,
        CANCELLED = 1,
        INVALID_ARGUMENT = 3,
        DEADLINE_EXCEEDED = 4,
        NOT_FOUND = 5,
        ALREADY_EXISTS = 6,
        PERMISSION_DENIED = 7,
        RESOURCE_EXHAUSTED = 8,
        FAILED_PRECONDITION = 9,
        UNIMPLEMENTED = 12,
        INTERNAL = 13,
        UNAVAILABLE = 14,
        UNAUTHENTICATED = 16,
    };
    static const struct {
        int http, grpc;
    } codes[] = {
        {200, OK},
        {400, INVALID_ARGUMENT},
        {401, UNAUTHENTICATED},
        {403, PERMISSION_DENIED},
        {404, NOT_FOUND},
        {405, UNIMPLEMENTED},
        {408, DEADLINE_EXCEEDED},
        {409, ALREADY_EXISTS},
        {413, RESOURCE_EXHAUSTED},
        {429, RESOURCE_EXHAUSTED},
        {431, RESOURCE_EXHAUSTED},
        {499, CANCELLED},
        {501, UNIMPLEMENTED},
        {503, UNAVAILABLE},
        {507, RESOURCE_EXHAUSTED},
    };

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].http == http)
            return codes[i].grpc;
    return INTERNAL;
}

double grpc_timeout(const char *text, size_t len)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'H', 3600}, {'M', 60}, {'S', 1}, {'m', 1e-3}, {'u', 1e-6}, {'n', 1e-9}};
    double n = 0;

    if (len < 2 || len > 9) /* eight digits at most */
        return -1;
    for (size_t i = 0; i + 1 < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        n = 10 * n + (text[i] - '0');
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].unit == text[len - 1])
            return n * units[i].seconds;
    return -1;
}

size_t grpc_message(char out[GRPC_MESSAGE_MAX], const char *text, size_t len)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t n = 0;

    for (size_t i = 0; i < len && n + 3 <= GRPC_MESSAGE_MAX; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c >= ' ' && c <= '~' && c != '%') {
            out[n++] = (char)c;
            continue;
        }
        out[n++] = '%';
        out[n++] = digits[c >> 4];
        out[n++] = digits[c & 15];
    }
    return n;
}

void grpc_prefix(char out[GRPC_PREFIX], size_t len)
{
    out[0] = 0;
    for (size_t i = 1; i < GRPC_PREFIX; i++)
        out[i] = (char)(len >> (8 * (GRPC_PREFIX - 1 - i)));
}

const char *grpc_check(const char prefix[GRPC_PREFIX], size_t prefixed, size_t len, int *status)
{
    size_t said = 0;

    *status = 400;
    if (prefixed < GRPC_PREFIX)
        return "found no message, want one";
    if (prefix[0] != 0) {
        *status = 501;
        return "found a compressed message, want it as it is";
    }
    for (size_t i = 1; i < GRPC_PREFIX; i++)
        said = said << 8 | (unsigned char)prefix[i];
    if (said != len)
        return "found a message of another length than it says, or several, want one";
    return NULL;
}
