/* Comma-separated numbers, as RFC 4180 has them: lines end with LF or CR LF, a
 * field may stand in quotes, spaces around a number do not count. */
#include "samples/samples.h"

#include <math.h>
#include <stdlib.h>

struct csv {
    const char *path, *at, *end;
    size_t line; /* from 1 */
    float *rows;
    size_t width, n, cap; /* cap in numbers */
};

/* The field up to a comma or the end of the line; *at moves behind it. */
static struct span next_field(const char **at, const char *end)
{
    const char *begin = *at, *stop = memchr(begin, ',', (size_t)(end - begin));

    *at = stop ? stop + 1 : end + 1;
    stop = stop ? stop : end;
    while (begin < stop && is_blank(*begin))
        begin++;
    while (stop > begin && is_blank(stop[-1]))
        stop--;
    if (stop - begin >= 2 && *begin == '"' && stop[-1] == '"') {
        begin++;
        stop--;
    }
    return (struct span){begin, (uint32_t)(stop - begin)};
}

static bool read_number(struct span f, float *out)
{
    const char *end = f.at + f.len;

    return f.len > 0 && decimal_parse(f.at, end, out) == end && isfinite(*out);
}

/* The next line that is not empty; without its end. */
static bool next_line(struct csv *c, struct span *line)
{
    while (c->at < c->end) {
        const char *begin = c->at, *lf = memchr(begin, '\n', (size_t)(c->end - begin));
        const char *stop = lf ? lf : c->end;

        c->at = lf ? lf + 1 : c->end;
        c->line++;
        if (stop > begin && stop[-1] == '\r')
            stop--;
        while (begin < stop && is_blank(*begin))
            begin++;
        if (stop > begin) {
            *line = (struct span){begin, (uint32_t)(stop - begin)};
            return true;
        }
    }
    return false;
}

static size_t count_fields(struct span line)
{
    size_t n = 1;

    for (uint32_t i = 0; i < line.len; i++)
        n += line.at[i] == ',';
    return n;
}

static bool has_number(struct span line)
{
    const char *at = line.at, *end = line.at + line.len;
    float x;

    while (at <= end)
        if (read_number(next_field(&at, end), &x))
            return true;
    return false;
}

static shoal_status bad_field(const struct csv *c, size_t column, struct span f)
{
    int shown = f.len < 40 ? (int)f.len : 40;

    return shoal_fail(SHOAL_EFORMAT, "%s: line %zu, column %zu: found '%.*s', want a finite number",
                      c->path, c->line, column + 1, shown, f.at);
}

static shoal_status read_row(struct csv *c, struct span line)
{
    const char *at = line.at, *end = line.at + line.len;
    size_t found = count_fields(line), have = c->n * c->width;
    shoal_status st;

    if (found != c->width)
        return shoal_fail(SHOAL_EFORMAT, "%s: line %zu: found %zu columns, want %zu as before",
                          c->path, c->line, found, c->width);
    st = mem_grow(&c->rows, &c->cap, have + c->width, sizeof *c->rows);
    for (size_t i = 0; i < c->width && st == SHOAL_OK; i++) {
        struct span f = next_field(&at, end);

        if (!read_number(f, &c->rows[have + i]))
            st = bad_field(c, i, f);
    }
    c->n += st == SHOAL_OK;
    return st;
}

static shoal_status read_rows(struct csv *c, enum shoal_header header, size_t *first)
{
    struct span line;
    shoal_status st = SHOAL_OK;
    bool any = next_line(c, &line);

    c->width = any ? count_fields(line) : 0;
    if (any && (header == SHOAL_HEADER_YES || (header == SHOAL_HEADER_AUTO && !has_number(line))))
        any = next_line(c, &line);
    *first = c->line;
    if (c->width > SAMPLES_MAX_INPUTS)
        return shoal_fail(SHOAL_ELIMIT, "%s: %zu columns, want at most %d", c->path, c->width,
                          SAMPLES_MAX_INPUTS);
    while (any && st == SHOAL_OK) {
        st = read_row(c, line);
        any = next_line(c, &line);
    }
    if (st == SHOAL_OK && c->n == 0)
        st = shoal_fail(SHOAL_EFORMAT, "%s: holds no row of numbers", c->path);
    return st;
}

shoal_status samples_csv_read(float **rows, size_t *n, size_t *width, size_t *first,
                              const char *path, const char *at, size_t len,
                              enum shoal_header header)
{
    struct csv c = {.path = path, .at = at, .end = at + len};
    shoal_status st;

    if (len >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        c.at += 3;
    st = read_rows(&c, header, first);
    if (st != SHOAL_OK) {
        free(c.rows);
        c.rows = NULL;
    }
    *rows = c.rows;
    *n = c.n;
    *width = c.width;
    return st;
}
