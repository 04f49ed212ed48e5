/* The progress line. On a terminal it is one line, redrawn in place:
 *
 *     train  ████████▌       52.7%  0:12 left  █▆▄▃▂▁  epoch 2/3  6.91 M words/s  loss 2.4312
 *
 * Each drawing begins by a carriage return and "erase to the end of the line", ends without a
 * newline and is cut between two of its parts, for half a number reads as another one. What
 * matters most stands in front: of a narrow terminal's line the bar goes first, then the picture
 * of the loss, then parts from the end; how far it is and the time left stay. Behind it there is
 * room for the ^C that a terminal echoes: were it wrapped, the line would stay. Whatever else is
 * printed erases it first (progress_erase), and the next report draws it again below. A terminal
 * that became narrower has wrapped the line: as many rows are erased as it takes now.
 *
 * Where stderr is no terminal, a plain line is logged every PROGRESS_EVERY seconds instead. Ranks
 * under our launcher write into pipes: SCREEN_VARIABLE tells them the columns of the terminal. */
#include "console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    BAR_COLUMNS = 16,  /* of a bar in the line */
    BAR_FROM = 72,     /* columns of a terminal that has room for it */
    LOSS_FROM = 100,   /* and for the loss */
    ECHO_COLUMNS = 3,  /* behind the line: ^C and the cursor */
    BAR_MOST = 40,
    LEVELS = 8, /* of a block character: U+2581 to 2588 high, U+258F to 2588 wide */
};

/* ---- Small pictures ---------------------------------------------------------------------- */

static bool has_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *value = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names && !(value && *value); i++)
        value = getenv(names[i]);
    return value && (strcasestr(value, "UTF-8") || strcasestr(value, "UTF8"));
}

/* U+2580 + n. */
static size_t put_block(char *at, unsigned n)
{
    memcpy(at, "\xe2\x96\x80", 3);
    at[2] = (char)(0x80 + n);
    return 3;
}

struct bar bar_of(double share, size_t columns)
{
    struct bar out = {""};
    size_t most = columns < BAR_MOST ? columns : BAR_MOST, len = 0;
    size_t eighths = (size_t)(fmax(0, fmin(1, share)) * LEVELS * (double)most + 0.5);
    bool utf8 = has_utf8();

    for (size_t i = 0; i < most; i++) {
        size_t full = eighths > i * LEVELS ? eighths - i * LEVELS : 0;

        if (full == 0 || (!utf8 && full < LEVELS))
            out.text[len++] = ' ';
        else if (!utf8)
            out.text[len++] = '#';
        else
            len += put_block(out.text + len, 0x10 - (unsigned)(full < LEVELS ? full : LEVELS));
    }
    out.text[len] = '\0';
    return out;
}

struct spark {
    char text[3 * BAR_MOST + 3];
};

/* The last values, the largest of them as a full block; two blanks before. */
static struct spark spark_of(const double *loss, size_t n)
{
    struct spark out = {""};
    size_t first = n > BAR_COLUMNS ? n - BAR_COLUMNS : 0, len = 2;
    double least = INFINITY, most = -INFINITY;

    for (size_t i = first; i < n; i++) {
        least = fmin(least, loss[i]);
        most = fmax(most, loss[i]);
    }
    if (n < 2 || !isfinite(least) || !isfinite(most))
        return out;
    memset(out.text, ' ', len);
    for (size_t i = first; i < n; i++)
        len += put_block(out.text + len,
                         1 + (unsigned)(most > least ? (LEVELS - 1) * (loss[i] - least) /
                                                           (most - least) + 0.5 : 0));
    out.text[len] = '\0';
    return out;
}

/* ---- The line ----------------------------------------------------------------------------- */

struct line {
    char text[2560];
};

/* " 52.7%  0:12 left  text", and pictures where there are so many columns; 0: no terminal. */
static struct line line_text(const struct progress_line *p, size_t columns)
{
    struct line out;
    bool known = isfinite(p->share);
    size_t len = 0;

#define ADD(...)                                                                                   \
    if (len < sizeof out.text)                                                                     \
        len += (size_t)snprintf(out.text + len, sizeof out.text - len, __VA_ARGS__)
    out.text[0] = '\0';
    if (known && columns >= BAR_FROM)
        ADD("%s ", bar_of(p->share, BAR_COLUMNS).text);
    if (known)
        ADD("%4.1f%%", floor(1000 * fmin(1, fmax(0, p->share))) / 10);
    if (isfinite(p->left))
        ADD("  %s left", number_clock(p->left).text);
    if (p->loss && columns >= LOSS_FROM && has_utf8())
        ADD("%s", spark_of(p->loss, p->n).text);
    ADD("%s%s", len > 0 && *p->text ? "  " : "", p->text);
#undef ADD
    return out;
}

/* The bytes of the text's first so many columns. */
static size_t bytes_of(const char *text, size_t columns)
{
    size_t at = 0;

    for (; text[at]; at++)
        if (((unsigned char)text[at] & 0xc0) != 0x80 && columns-- == 0)
            break;
    return at;
}

/* The bytes of the parts, two blanks between them, that so many columns hold; where that is none, of
 * the columns. */
static size_t bytes_of_parts(const char *text, size_t columns)
{
    size_t whole = bytes_of(text, columns);

    if (!text[whole])
        return whole;
    for (size_t at = whole; at > 0; at--)
        if (text[at] == ' ' && text[at + 1] == ' ' && text[at - 1] != ' ')
            return at;
    return whole;
}

/* Rows of it above the cursor. */
static size_t rows_above(const struct console *c)
{
    size_t columns = c->drawn > 0 && is_screen(stderr) ? screen_columns() : 0;

    return columns > 0 ? (c->drawn - 1) / columns : 0;
}

void progress_erase(struct console *c)
{
    size_t above = rows_above(c);

    if (above > 0)
        fprintf(stderr, "\r\033[%zuA\033[J", above);
    else if (c->drawn > 0)
        fputs("\r\033[K", stderr);
    c->drawn = 0;
    fflush(stderr);
}

static void progress_draw(struct console *c, size_t columns, const char *phase, const char *text)
{
    size_t len = strlen(phase), bytes;

    if (len + 2 + ECHO_COLUMNS >= columns)
        return;
    if (rows_above(c) > 0)
        progress_erase(c);
    bytes = bytes_of_parts(text, columns - ECHO_COLUMNS - len - 2);
    fprintf(stderr, "\r\033[K%s%s%s  %.*s", style_on(stderr, STYLE_CYAN), phase,
            style_on(stderr, STYLE_PLAIN), (int)bytes, text);
    fflush(stderr);
    c->drawn = len + 2 + text_columns(text) - text_columns(text + bytes);
}

static void progress_log(struct console *c, const char *phase, const char *text)
{
    double now = clock_seconds();

    if (now < c->next_line)
        return;
    fprintf(stderr, "%s  %s\n", phase, text);
    c->next_line = now + PROGRESS_EVERY;
}

/* A run may report a thousand times a second: nobody reads that, a slow connection chokes on it,
 * and a line drawn while the terminal shrinks would stay. */
static bool is_early(struct console *c, const char *phase)
{
    double now = clock_seconds();
    bool same = c->drawn > 0 && strncmp(c->phase, phase, sizeof c->phase - 1) == 0;

    if (same && now < c->next_draw)
        return true;
    snprintf(c->phase, sizeof c->phase, "%s", phase);
    c->next_draw = now + PROGRESS_DRAW;
    return false;
}

void console_progress(struct console *c, const char *phase, const struct progress_line *line)
{
    size_t columns = screen_columns();
    struct line text;

    if (c->quiet || (columns > 0 && is_early(c, phase)))
        return;
    text = line_text(line, columns);
    if (columns > 0)
        progress_draw(c, columns, phase, text.text);
    else
        progress_log(c, phase, text.text);
}

void console_progress_text(struct console *c, const char *phase, const char *text)
{
    console_progress(c, phase, &(struct progress_line){.share = NAN, .left = NAN, .text = text});
}

/* ---- What the library reports ---------------------------------------------------------------- */

/* "118 MiB/s", behind how much it is where nobody knows of how much. */
static void report_text(char text[96], const struct shoal_progress *p, double rate)
{
    bool bytes = strcmp(p->unit, "bytes") == 0;
    size_t len = 0;

    text[0] = '\0';
    if (p->total == 0)
        len = (size_t)snprintf(text, 96, "%s%s%.24s",
                               bytes ? number_size(p->done).text : number_count(p->done).text,
                               bytes ? "" : " ", bytes ? "" : p->unit);
    if (rate > 0 && len < 96)
        snprintf(text + len, 96 - len, "%s%s", len > 0 ? "  " : "",
                 number_rate(rate, p->unit).text);
}

static bool on_progress(void *user, const struct shoal_progress *p)
{
    double rate = p->seconds > 0 ? (double)p->done / p->seconds : 0;
    uint64_t left = p->total > p->done ? p->total - p->done : 0;
    char text[96];

    if (signal_received())
        return false;
    report_text(text, p, rate);
    /* The rate of the first second is no basis for an estimate. */
    console_progress(
        user, p->phase,
        &(struct progress_line){
            .share = p->total > 0 ? (double)p->done / (double)p->total : NAN,
            .left = rate > 0 && left > 0 && p->seconds >= 1 ? (double)left / rate : NAN,
            .text = text});
    return true;
}

struct shoal_watch console_watch(struct console *c)
{
    return (struct shoal_watch){.fn = on_progress, .user = c};
}
