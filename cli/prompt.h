/* prompt: questions typed by a person.
 *
 * What this is: lines from the terminal with editing, history that outlives
 * the program, and completion of words. The only file that knows libedit.
 * Who owns what: a prompt borrows its words; prompt_close ends it. There is one
 * at a time, for libedit keeps its state to itself.
 * Threads: one. Ctrl-C and other signals do what they did before, after the
 * terminal was set right. */
#ifndef CLI_PROMPT_H
#define CLI_PROMPT_H

#include <stddef.h>

struct prompt;

/* Word i for completion, or NULL behind the last; borrowed. */
typedef const char *prompt_word(const void *user, size_t i);

struct prompt *prompt_open(const char *text, prompt_word *word, const void *user);
/* The next line, valid until the next call; NULL when there is no more. */
const char *prompt_line(struct prompt *p);
void prompt_close(struct prompt *p);

#endif
