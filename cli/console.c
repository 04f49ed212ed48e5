#include "console.h"

#include "launch.h"
#include "opts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

double clock_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- Signals ------------------------------------------------------------------- */

#define SAME_WISH 1.0 /* seconds within which another signal says nothing new */

/* A signal handler has no argument of ours, so these are globals. */
static volatile sig_atomic_t signal_got;
static volatile double signal_time;

/* One wish to stop often comes twice: timeout(1) signals its child and then its group, and
 * under a launcher both the terminal and the launcher send it. Only a signal that comes more than
 * SAME_WISH later asks to end at once. */
static void on_signal(int number)
{
    double now = clock_seconds();

    if (!signal_got) {
        signal_time = now;
        signal_got = number;
    } else if (now - signal_time > SAME_WISH) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

/* Of the signals that ask a program to end, unless they are ignored. */
static void signals_set(void (*handler)(int), int flags)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    struct sigaction now, old;

    memset(&now, 0, sizeof now);
    now.sa_handler = handler;
    now.sa_flags = flags;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        /* One that is ignored stays so: nohup and shells set that on purpose. */
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &now, NULL);
    }
}

void signals_catch(void)
{
    signals_set(on_signal, SA_RESTART);
}

void signals_release(void)
{
    signals_set(SIG_DFL, 0);
}

int signal_received(void)
{
    return signal_got;
}

/* ---- Styles ---------------------------------------------------------------------- */

/* A terminal that understands escape sequences. Some launchers give ranks a pseudo-terminal, on
 * which nothing is to be drawn. */
bool is_screen(FILE *to)
{
    const char *term = getenv("TERM");

    return isatty(fileno(to)) && term && *term && strcmp(term, "dumb") != 0 && launched_size() == 0;
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value && *value;
}

/* no-color.org, then bixense.com/clicolors: 0 is no for the latter. */
static bool has_colour(FILE *to)
{
    const char *force = getenv("CLICOLOR_FORCE"), *colour = getenv("CLICOLOR");

    if (is_set("NO_COLOR"))
        return false;
    if (is_set("CLICOLOR_FORCE") && strcmp(force, "0") != 0)
        return true;
    return is_screen(to) && !(colour && strcmp(colour, "0") == 0);
}

const char *style_on(FILE *to, enum style style)
{
    static const char *const codes[] = {
        [STYLE_PLAIN] = "\033[0m", [STYLE_BOLD] = "\033[1m",    [STYLE_DIM] = "\033[2m",
        [STYLE_RED] = "\033[31m",  [STYLE_YELLOW] = "\033[33m", [STYLE_CYAN] = "\033[36m",
    };

    return has_colour(to) ? codes[style] : "";
}

/* ---- Words from anybody's text ------------------------------------------------------ */

/* The rule of src/base/character.c: neither a control (U+0000 to 1F, 7F to 9F) nor one
 * that turns the direction of what follows (U+202A to 2E, U+2066 to 69). */
static bool shows(uint32_t c)
{
    return c >= 0x20 && !(c >= 0x7f && c < 0xa0) && !(c >= 0x202a && c <= 0x202e) &&
           !(c >= 0x2066 && c <= 0x2069);
}

size_t utf8_read(const char *text, uint32_t *c)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    size_t n = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;

    *c = n == 1 ? at[0] : at[0] & (0xffu >> (n + 1));
    if (n > 1 && (at[0] < 0xc0 || at[0] >= 0xf8))
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80) /* which the NUL at the end is not */
            return 0;
        *c = *c << 6 | (at[i] & 0x3f);
    }
    return *c < least[n] || *c > 0x10ffff || (*c & 0xfffff800) == 0xd800 ? 0 : n;
}

/* A byte that is no UTF-8 counts as the character of its number. */
static void print_but(FILE *to, const char *text, const char *kept)
{
    const char *from = text; /* what was not printed yet */

    for (size_t n; *text; text += n) {
        uint32_t c;

        n = utf8_read(text, &c);
        if (n == 0) {
            c = (unsigned char)*text;
            n = 1;
        }
        if (shows(c) || strchr(kept, *text))
            continue;
        fwrite(from, 1, (size_t)(text - from), to);
        fputc('?', to);
        from = text + n;
    }
    fwrite(from, 1, (size_t)(text - from), to);
}

void print_text(FILE *to, const char *text)
{
    print_but(to, text, "\n\t");
}

void print_word(FILE *to, const char *word)
{
    print_but(to, word, "");
}

/* The line is printed in one piece, though other threads print too. Without memory it is cut to
 * what fits on the stack: it may be the very line that says there is none. */
static void vprint_line(FILE *to, const char *fmt, va_list args)
{
    char few[1200] = "", *all = NULL;
    va_list again;

    va_copy(again, args);
    if (vsnprintf(few, sizeof few, fmt, args) >= (int)sizeof few && vasprintf(&all, fmt, again) < 0)
        all = NULL;
    va_end(again);
    flockfile(to);
    print_but(to, all ? all : few, "\n\t");
    funlockfile(to);
    free(all);
}

void print_line(FILE *to, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vprint_line(to, fmt, args);
    va_end(args);
}

size_t text_columns(const char *word)
{
    size_t n = 0;

    for (; *word; word++)
        n += ((unsigned char)*word & 0xc0) != 0x80;
    return n;
}

/* ---- Numbers for people ------------------------------------------------------------ */

struct number number_text(const char *fmt, ...)
{
    struct number out;
    va_list args;

    va_start(args, fmt);
    vsnprintf(out.text, sizeof out.text, fmt, args);
    va_end(args);
    return out;
}

struct number number_count(uint64_t n)
{
    char digits[24];
    struct number out;
    size_t len = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, n);
    size_t at = 0;

    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out.text[at++] = ',';
        out.text[at++] = digits[i];
    }
    out.text[at] = '\0';
    return out;
}

/* Three digits that matter: 1.53, 15.3, 153. */
static int places(double x)
{
    return x < 9.995 ? 2 : x < 99.95 ? 1 : 0;
}

struct number number_size(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double x = (double)bytes;
    size_t i = 0;

    for (; x >= 1023.5 && i < 6; i++)
        x /= 1024;
    return number_text("%.*f %s", i ? places(x) : 0, x, units[i]);
}

struct number number_percent(double part, double whole)
{
    double percent = whole > 0 ? 100 * part / whole : 0;

    /* 100% is printed for the whole only. */
    if (part < whole && percent > 99.99)
        percent = 99.99;
    return number_text("%.*f%%", percent > 99 && part < whole ? 2 : 1, percent);
}

struct number number_seconds(double seconds)
{
    return seconds >= 100 ? number_clock(seconds) : number_text("%.2f s", seconds);
}

struct number number_clock(double seconds)
{
    uint64_t s = seconds > 0 && seconds < 1e15 ? (uint64_t)(seconds + 0.5) : 0;

    if (s < 3600)
        return number_text("%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
    return number_text("%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60, s % 60);
}

struct number number_rate(double per_second, const char *unit)
{
    static const char *const thousands[] = {"", "k ", "M ", "G "};
    double x = isfinite(per_second) && per_second > 0 ? fmin(per_second, 1e18) : 0;
    size_t i = 0;

    if (strcmp(unit, "bytes") == 0)
        return number_text("%.24s/s", number_size((uint64_t)x).text);
    for (; x >= 999.5 && i < 3; i++)
        x /= 1000;
    return number_text("%.*f %s%.12s/s", places(x), x, thousands[i], unit);
}

/* ---- The screen ---------------------------------------------------------------------- */

static size_t columns_of(FILE *screen)
{
    struct winsize size;

    return ioctl(fileno(screen), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

size_t screen_columns(void)
{
    const char *given = getenv(SCREEN_VARIABLE);

    if (!is_screen(stderr))
        return given ? (size_t)strtoul(given, NULL, 10) : 0;
    return columns_of(stderr);
}

size_t console_columns(const struct console *c)
{
    return c->reports && is_screen(c->reports) ? columns_of(c->reports) : 0;
}

/* ---- Beginning and end ----------------------------------------------------------------- */

/* Global, since failures are printed without a struct console too. */
static bool muted;

void console_mute(bool mute)
{
    muted = mute;
}

void console_init(struct console *c, bool quiet, const char *data_path)
{
    double now = clock_seconds();

    quiet |= muted;
    *c = (struct console){.quiet = quiet, .began = now, .next_line = now + PROGRESS_EVERY};
    if (!quiet)
        c->reports = data_path && strcmp(data_path, "-") == 0 ? stderr : stdout;
}

int console_finish(struct console *c, shoal_status status)
{
    progress_erase(c);
    if (status == SHOAL_OK)
        return EXIT_DONE;
    if (status == SHOAL_ESTOP && signal_got) {
        console_fail("stopped by a signal (%s)", strsignal(signal_got));
        return EXIT_SIGNAL + signal_got;
    }
    console_fail("%s", shoal_error());
    return status == SHOAL_EPEER ? EXIT_PEER : EXIT_FAILED;
}

double console_seconds(const struct console *c)
{
    return clock_seconds() - c->began;
}

/* ---- Lines ------------------------------------------------------------------------------- */

void console_heading(struct console *c, const char *text)
{
    progress_erase(c);
    if (c->reports) {
        fputs(style_on(c->reports, STYLE_BOLD), c->reports);
        print_line(c->reports, "%s", text);
        fprintf(c->reports, "%s\n", style_on(c->reports, STYLE_PLAIN));
    }
}

void console_row(struct console *c, const char *label, const char *value, const char *note, ...)
{
    va_list args;

    progress_erase(c);
    if (!c->reports)
        return;
    print_line(c->reports, "%-*s  %15s", 10 + (int)(strlen(label) - text_columns(label)), label,
               value);
    if (note) {
        fprintf(c->reports, "  %s", style_on(c->reports, STYLE_DIM));
        va_start(args, note);
        vprint_line(c->reports, note, args);
        va_end(args);
        fputs(style_on(c->reports, STYLE_PLAIN), c->reports);
    }
    fputc('\n', c->reports);
}

void console_log(struct console *c, enum style style, const char *fmt, ...)
{
    va_list args;

    progress_erase(c);
    if (c->quiet)
        return;
    fflush(stdout);
    fputs(style_on(stderr, style), stderr);
    va_start(args, fmt);
    vprint_line(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, "%s\n", style_on(stderr, STYLE_PLAIN));
}

__attribute__((format(printf, 3, 0))) static void say(enum style style, const char *who,
                                                      const char *fmt, va_list args)
{
    if (muted)
        return;
    fflush(stdout);
    fprintf(stderr, "%s%s:%s ", style_on(stderr, style), who, style_on(stderr, STYLE_PLAIN));
    vprint_line(stderr, fmt, args);
    fputc('\n', stderr);
}

void console_warn(struct console *c, const char *fmt, ...)
{
    va_list args;

    progress_erase(c);
    va_start(args, fmt);
    say(STYLE_YELLOW, "warning", fmt, args);
    va_end(args);
}

void console_error(const char *who, const char *fmt, va_list args)
{
    say(STYLE_RED, who, fmt, args);
}

int console_fail(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    console_error("shoal", fmt, args);
    va_end(args);
    return EXIT_FAILED;
}

void *console_alloc(size_t bytes)
{
    void *at = calloc(1, bytes);

    if (!at)
        exit(console_fail("out of memory for %zu bytes", bytes));
    return at;
}
