/* json: a tiny writer.
 *
 * What this is: values into a stream, one after the other, with the commas
 * between them; whoever calls opens and closes in the right order. Not named
 * json_: that is jansson's, which the library brings into the same program.
 * Who owns what: the stream is borrowed; nothing to end.
 * Threads: one. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *to;
    bool comma; /* before the next value */
};

void out_open(struct json *j, char bracket);  /* '{' or '[' */
void out_close(struct json *j, char bracket); /* '}' or ']' */
void out_key(struct json *j, const char *key);
/* Control characters are escaped; bytes that are no UTF-8 become U+FFFD. */
void out_string(struct json *j, const char *text);
void out_count(struct json *j, uint64_t n);
/* Six digits that matter; null for what is no finite number. */
void out_real(struct json *j, double x);
/* A key and its value. */
void out_put_string(struct json *j, const char *key, const char *text);
void out_put_real(struct json *j, const char *key, double x);
/* Ends the line after a whole value, ready for another. */
void out_line(struct json *j);

#endif
