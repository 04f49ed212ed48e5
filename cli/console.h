/* console: what the user sees.
 *
 * What this is: reports and warnings, the progress line, numbers for people.
 * Who owns what: a struct console lies in its command; nothing to end but
 * console_finish, which takes the progress line away.
 * Threads: one; the library calls a watch from one thread at a time.
 *
 * Where things go: failures, warnings and progress to stderr; reports to
 * stdout, or to stderr when stdout carries the data. Colour and a line that
 * is redrawn in place only on a terminal; otherwise long work logs a plain
 * line every ten seconds. Of several ranks only one speaks. */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H

#include "shoal.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- Styles ------------------------------------------------------------------ */

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_YELLOW, STYLE_CYAN };

/* The escape sequence, or "" where the stream takes no colour. */
const char *style_on(FILE *to, enum style style);

/* Where a launcher stands between a rank and the terminal, this variable holds
 * the columns of the terminal that the progress line is drawn on. */
#define SCREEN_VARIABLE "SHOAL_SCREEN"

/* The columns of the terminal, if stderr is one; else 0. */
size_t screen_columns(void);

/* ---- Words from anybody's text -------------------------------------------------- */

/* The character that the text begins with, and how many bytes it has, 1 to 4; 0: it is no UTF-8
 * (no shorter form, no surrogate, nothing beyond U+10FFFF). */
size_t utf8_read(const char *text, uint32_t *c);
/* Control characters, of one byte or of two, become question marks. */
void print_word(FILE *to, const char *word);
/* The same of lines: newlines and tabs stay. */
void print_text(FILE *to, const char *text);
/* fprintf of a line with such words; newlines and tabs stay. */
void print_line(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The columns that it then takes; a character counts one. */
size_t text_columns(const char *word);

/* ---- The console --------------------------------------------------------------- */

struct console {
    FILE *reports; /* NULL: quiet */
    bool quiet;
    size_t drawn;     /* columns of the progress line that stands on the terminal; 0: none */
    double began;     /* clock_seconds() at console_init */
    double next_line; /* of the log, when there is no terminal */
    double next_draw; /* of the line, on one, */
    char phase[24];   /* while this is what it is about */
};

/* Whether nothing at all is said: for all ranks but one. Before console_init. */
void console_mute(bool mute);

/* With data_path "-" the data goes to stdout, so the reports do not. */
void console_init(struct console *c, bool quiet, const char *data_path);

/* For the `watch` of an option struct: draws progress, stops upon a signal. */
struct shoal_watch console_watch(struct console *c);

/* ---- progress.c: how far it is ---------------------------------------------- */

#define PROGRESS_EVERY 10.0 /* seconds between lines when stderr is no terminal, */
#define PROGRESS_DRAW 0.1   /* and between drawings where it is one */

struct progress_line {
    double share;       /* of the work that is done; NAN: nobody knows */
    double left;        /* seconds; NAN: nobody knows */
    const double *loss; /* [n] how it went, or NULL: drawn small */
    size_t n;
    const char *text; /* the rest, what matters most first */
};

/* The same as the watch for work that says itself how far it is: one line, redrawn on a
 * terminal, else logged every ten seconds. */
void console_progress(struct console *c, const char *phase, const struct progress_line *line);
void console_progress_text(struct console *c, const char *phase, const char *text);
/* Takes the line away, before anything else is printed. */
void progress_erase(struct console *c);
/* "####    " of so many columns: a share of them, in eighths where the terminal has UTF-8. */
struct bar {
    char text[128];
};
struct bar bar_of(double share, size_t columns);

/* A line of the log that stays: on stderr, silent when quiet. */
void console_log(struct console *c, enum style style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the progress line, prints the failure if there is one, and gives the
 * exit code. */
int console_finish(struct console *c, shoal_status status);

/* A terminal that understands escape sequences. */
bool is_screen(FILE *to);
/* Columns of the screen that reports go to; 0: they go elsewhere. */
size_t console_columns(const struct console *c);

/* Seconds of a clock that nobody sets. */
double clock_seconds(void);
/* Seconds since console_init. */
double console_seconds(const struct console *c);

/* ---- Reports: silent when quiet --------------------------------------------- */

void console_heading(struct console *c, const char *text);
/* "label        1,234  note"; a NULL format: no note. */
void console_row(struct console *c, const char *label, const char *value, const char *note, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- Warnings and failures: never silent ------------------------------------- */

void console_warn(struct console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints "shoal: SENTENCE" on stderr and returns EXIT_FAILED. */
int console_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "WHO: SENTENCE" on stderr. */
void console_error(const char *who, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Zeroed memory for free(); ends the program when there is none. */
void *console_alloc(size_t bytes);

/* ---- Numbers for people -------------------------------------------------------
 * By value, so that several fit into one printf: number_count(n).text */

struct number {
    char text[32];
};

struct number number_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
struct number number_count(uint64_t n);                         /* 3,000,000 */
struct number number_size(uint64_t bytes);                      /* 1.5 GiB */
struct number number_percent(double part, double whole);        /* 99.2% */
struct number number_seconds(double seconds);                   /* 0.42 s */
struct number number_clock(double seconds);                     /* 2:05, 1:00:07 */
struct number number_rate(double per_second, const char *unit); /* 118 MiB/s, 4.2 M words/s */

/* ---- Signals ------------------------------------------------------------------- */

/* From now on SIGINT, SIGTERM and SIGHUP stop the watched work, which leaves no
 * half-made files; one that comes a second later or more ends the program at once. */
void signals_catch(void);
/* They end the program again: for work that leaves nothing half-made. */
void signals_release(void);
/* The number of the one that came, or 0; SIGUSR1 too, by which launchers and
 * schedulers ask to stop. */
int signal_received(void);

#endif
