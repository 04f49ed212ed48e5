#include "prompt.h"

#include "console.h"

#include <editline/readline.h>
#include <locale.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HISTORY_LINES 1000
#define PATH_BYTES 4096

struct prompt {
    const char *text;
    prompt_word *word;
    const void *user;
    size_t next; /* word to try, while one is completed */
    char *line;
    char history[PATH_BYTES]; /* "": none */
};

/* Global, since the callbacks of libedit have no argument of ours, nor have handlers of signals. */
static struct prompt *completing;
static sigjmp_buf interrupted;
static volatile sig_atomic_t reading; /* a line, so that there is somewhere to go back to */

/* ---- History --------------------------------------------------------------------- */

/* Makes every folder on the way to a file. Failing is no failure: then the
 * history cannot be written, and nothing is lost but that. */
static void make_folders(char *path)
{
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
}

/* $XDG_STATE_HOME/shoal/history; a relative one counts as none, as the XDG base
 * directory specification has it. */
static void find_history(char path[PATH_BYTES])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int len = 0;

    if (state && state[0] == '/')
        len = snprintf(path, PATH_BYTES, "%s/shoal/history", state);
    else if (home && home[0] == '/')
        len = snprintf(path, PATH_BYTES, "%s/.local/state/shoal/history", home);
    if (len <= 0 || len >= PATH_BYTES)
        path[0] = '\0';
}

/* Written at once, so that however the program ends nothing is lost. */
static void remember(const struct prompt *p, const char *line)
{
    HIST_ENTRY *last = history_length > 0 ? history_get(history_base + history_length - 1) : NULL;

    if (last && strcmp(last->line, line) == 0)
        return;
    add_history(line);
    if (p->history[0])
        write_history(p->history);
}

/* ---- Completion --------------------------------------------------------------------- */

static char *next_match(const char *text, int state)
{
    struct prompt *p = completing;
    size_t len = strlen(text);
    const char *word;

    if (state == 0)
        p->next = 0;
    while ((word = p->word(p->user, p->next++)) != NULL)
        if (strncmp(word, text, len) == 0)
            return strdup(word);
    return NULL;
}

static char **complete(const char *text, int start, int end)
{
    (void)start;
    (void)end;
    rl_attempted_completion_over = 1; /* never file names */
    return *text ? rl_completion_matches(text, next_match) : NULL;
}

/* ---- Ctrl-C ---------------------------------------------------------------------------- */

/* The line that is typed is dropped, as shells do. libedit waits for a key and cannot be told to
 * come back, so it is left by a jump; it sets up its line and the terminal anew each time. While
 * a question is answered Ctrl-C ends the program. */
static void on_interrupt(int number)
{
    if (reading) {
        reading = 0;
        siglongjmp(interrupted, 1);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_interrupt(void)
{
    struct sigaction act = {.sa_handler = on_interrupt};

    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
}

/* ---- The prompt ------------------------------------------------------------------------ */

struct prompt *prompt_open(const char *text, prompt_word *word, const void *user)
{
    static char blanks[] = " \t";
    struct prompt *p = console_alloc(sizeof *p);

    *p = (struct prompt){.text = text, .word = word, .user = user};
    setlocale(LC_CTYPE, ""); /* or libedit would take no letter beyond ASCII */
    rl_readline_name = "shoal";
    rl_catch_signals = 1;
    rl_completer_word_break_characters = blanks;
    rl_attempted_completion_function = complete;
    using_history();
    stifle_history(HISTORY_LINES);
    find_history(p->history);
    if (p->history[0]) {
        make_folders(p->history);
        read_history(p->history);
    }
    completing = p;
    catch_interrupt();
    return p;
}

const char *prompt_line(struct prompt *p)
{
    free(p->line);
    p->line = NULL;
    if (sigsetjmp(interrupted, 1) != 0)
        fputs("^C\n", stdout);
    reading = 1;
    p->line = readline(p->text);
    reading = 0;
    if (p->line && p->line[strspn(p->line, " \t")])
        remember(p, p->line);
    return p->line;
}

void prompt_close(struct prompt *p)
{
    if (!p)
        return;
    completing = NULL;
    signal(SIGINT, SIG_DFL);
    free(p->line);
    free(p);
}
