/* What a launcher prints: the words of the ranks go on, its own are kept back.
 *
 *     bytes of a pipe -> lines:
 *         "shoal: ..."                  a failure: kept, and printed when the job is over, so that
 *                                       a restart can say why and a failure is said last
 *         between two rules, [HOST...   chatter of the launcher: kept, and printed only when
 *                                       nothing else tells what happened
 *         anything else                 goes on at once
 *
 * Open MPI frames its messages by rules of dashes, MPICH by rules of equals signs; both begin
 * other lines with [HOST...]. A rank's progress line has no end: it begins by ERASE and is drawn
 * over by the next. It goes on as soon as nothing more comes for a moment (launch_stream_flush),
 * unless it may still become chatter or a failure. Once a part of a line went on, so does the rest.
 *
 * When the job is over, exit code and reason are read from what was kept: MPI itself tells neither
 * which rank died nor on which host. */
#include "launch.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ERASE "\r\033[K" /* what a redrawn line begins with */
#define RULE_LEAST 40

/* ---- Keeping and passing on -------------------------------------------------------- */

static void keep(struct launch_text *text, const char *line, size_t len)
{
    if (len >= sizeof text->at - text->len)
        return;
    memcpy(text->at + text->len, line, len);
    text->len += len;
    text->at[text->len] = '\0';
}

static void pass(struct launch_stream *s)
{
    for (size_t done = 0; done < s->len;) {
        ssize_t n = write(s->to, s->line + done, s->len - done);

        if (n < 0 && errno != EINTR)
            break; /* who reads no more misses nothing */
        done += n > 0 ? (size_t)n : 0;
    }
    s->passed = s->len > 0 && s->line[s->len - 1] != '\n';
    s->len = 0;
}

/* ---- Whose line it is ---------------------------------------------------------------- */

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* The list ends with a NULL. */
static bool begins_any(const char *line, const char *const *with)
{
    while (*with && !begins(line, *with))
        with++;
    return *with != NULL;
}

static bool is_rule(const char *line)
{
    const char mark[] = {line[0], '\0'};
    size_t n = strspn(line, mark);

    return (line[0] == '-' || line[0] == '=') && n >= RULE_LEAST && line[n] == '\n';
}

static bool is_failure(const char *line)
{
    return begins(line, "shoal: ") || begins(line, "shoal train");
}

/* Where messages of two ranks mix, rules are no frames any more: what the launcher noticed counts
 * wherever it stands. */
static bool is_chatter(const struct launch_output *out, const char *line)
{
    static const char *const known[] = {
        "[",
        "\n",
        "Abort(",
        "YOUR APPLICATION TERMINATED",
        "This typically refers to",
        "Please see the FAQ page",
        NULL,
    };

    return begins_any(line, known) || strstr(line, " noticed that process rank ") ||
           (begins(line, out->launcher) && line[strlen(out->launcher)] == ':');
}

/* A rank that the others gave up may go on later, and then reports that they are gone. */
static bool is_echo(const struct launch_output *out, const char *line)
{
    return begins(line, "shoal: rank ") && begins(out->failures.at, "shoal: rank ");
}

/* A line is whole. */
static void take_line(struct launch_stream *s)
{
    bool rule;

    s->line[s->len] = '\0';
    rule = !s->passed && is_rule(s->line);
    if (s->passed) {
        pass(s);
    } else if (is_failure(s->line) && !is_echo(s->out, s->line)) {
        keep(&s->out->failures, s->line, s->len);
    } else if (rule || s->block || is_failure(s->line) || is_chatter(s->out, s->line)) {
        keep(&s->out->chatter, s->line, s->len);
        s->block ^= rule;
    } else {
        pass(s);
    }
    s->len = 0;
}

/* ---- Reading ------------------------------------------------------------------------ */

static void take(struct launch_stream *s, char c)
{
    if (c == '\r')
        pass(s); /* what stands there is drawn over */
    s->line[s->len++] = c;
    if (s->len == strlen(ERASE) && memcmp(s->line, ERASE, s->len) == 0) {
        pass(s);
        s->passed = false; /* the line is empty again */
    } else if (c == '\n') {
        take_line(s);
    } else if (s->len == sizeof s->line - 1) {
        pass(s);
    }
}

void launch_stream_read(struct launch_stream *s)
{
    char bytes[4096];
    ssize_t n = read(s->from, bytes, sizeof bytes);

    for (ssize_t i = 0; i < n; i++)
        take(s, bytes[i]);
    if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
        return;
    close(s->from);
    s->from = -1;
}

/* Unless its beginning is also that of chatter or of a failure. */
void launch_stream_flush(struct launch_stream *s)
{
    if (s->len > 0 && !s->block && !strchr("[-=s", s->line[0]))
        pass(s);
}

void launch_stream_close(struct launch_stream *s)
{
    if (s->len > 0)
        take(s, '\n');
    else if (s->passed && s->to == STDERR_FILENO)
        fputs(screen_columns() > 0 ? ERASE : "\n", stderr);
    if (s->from >= 0)
        close(s->from);
    s->from = -1;
}

/* ---- What became of it ------------------------------------------------------------------ */

/* The text between `after` and the end of its line, or NULL. */
static const char *find(const struct launch_text *text, const char *after)
{
    const char *at = strstr(text->at, after);

    return at ? at + strlen(after) : NULL;
}

static bool reason_openmpi(char reason[SHOAL_SENTENCE], const struct launch_text *chatter)
{
    const char *died = find(chatter, "noticed that process rank ");
    const char *lost = find(chatter, "Remote daemon:");
    const char *unmet = find(chatter, "unable to reliably start one or more daemons");
    char host[128], how[64];
    unsigned rank;

    if (died &&
        sscanf(died, "%u with PID %*u on node %127s exited on %63[^.]", &rank, host, how) == 3)
        snprintf(reason, SHOAL_SENTENCE, "rank %u on %s ended on %s", rank, host, how);
    else if (lost && sscanf(lost, "%*s on node %127s", host) == 1)
        snprintf(reason, SHOAL_SENTENCE, "the host %s is out of reach", host);
    else if (unmet)
        snprintf(reason, SHOAL_SENTENCE, "not all hosts could be reached");
    else
        return false;
    return true;
}

/* Its exit codes below 32 are signals. */
static bool reason_mpich(char reason[SHOAL_SENTENCE], const struct launch_text *chatter)
{
    const char *where = find(chatter, "RUNNING AT "), *how = find(chatter, "EXIT CODE: ");
    char host[128];
    int code;

    if (!where || !how || sscanf(where, "%127s", host) != 1 || sscanf(how, "%d", &code) != 1)
        return false;
    if (code > EXIT_PEER && code < 32)
        snprintf(reason, SHOAL_SENTENCE, "a rank on %s ended on signal %d (%s)", host, code,
                 strsignal(code));
    else
        snprintf(reason, SHOAL_SENTENCE, "a rank on %s ended with exit code %d", host, code);
    return true;
}

static bool reason_known(char reason[SHOAL_SENTENCE], const struct launch_output *out)
{
    return reason_openmpi(reason, &out->chatter) || reason_mpich(reason, &out->chatter);
}

/* By the launcher, which knows why: the ranks say only that they were stopped. */
static bool were_stopped(const struct launch_output *out)
{
    return begins(out->failures.at, "shoal: stopped ");
}

/* By the sentences that go with SHOAL_EPEER. */
static bool is_of_another(const char *line)
{
    static const char *const known[] = {
        "shoal: stopped ",
        "shoal: mpi: sending to rank ",
        "shoal: mpi: receiving from rank ",
        "shoal: mpi: looking for messages: ",
        NULL,
    };
    double seconds;
    int left = 0;

    sscanf(line, "shoal: rank %*u on %*s left before the others%n", &left);
    sscanf(line, "shoal: rank %*u on %*s waited %*u s for others%n", &left);
    return begins_any(line, known) || left > 0 ||
           sscanf(line, "shoal: rank %*u on %*s silent for %lf s", &seconds) == 1;
}

static int code_of_line(const char *line)
{
    if (begins(line, "shoal: the last good checkpoint is "))
        return EXIT_DONE; /* what is left, whatever it was */
    if (is_of_another(line))
        return EXIT_PEER;
    return begins(line, "shoal: ") ? EXIT_FAILED : EXIT_USAGE;
}

int launch_output_code(const struct launch_output *out)
{
    int code = EXIT_DONE;

    for (const char *line = out->failures.at; *line; line += strcspn(line, "\n") + 1) {
        int own = code_of_line(line);

        if (code == EXIT_DONE || (code == EXIT_PEER && own != EXIT_DONE))
            code = own;
    }
    return code;
}

void launch_output_reason(char reason[SHOAL_SENTENCE], const struct launch_output *out, int code)
{
    const char *ours = find(&out->failures, "shoal: ");

    if (ours && !were_stopped(out))
        snprintf(reason, SHOAL_SENTENCE, "%.*s", (int)strcspn(ours, "\n"), ours);
    else if (!reason_known(reason, out))
        snprintf(reason, SHOAL_SENTENCE, "%s ended with exit code %d", out->launcher, code);
}

static void print_failures(const struct launch_text *failures)
{
    for (const char *line = failures->at; *line; line += strcspn(line, "\n") + 1) {
        int len = (int)strcspn(line, "\n");

        if (begins(line, "shoal: "))
            console_fail("%.*s", len - (int)strlen("shoal: "), line + strlen("shoal: "));
        else
            fprintf(stderr, "%.*s\n", len, line);
    }
}

void launch_output_print(const struct launch_output *out, int code)
{
    char reason[SHOAL_SENTENCE];
    bool known = reason_known(reason, out);

    if (known && were_stopped(out))
        console_fail("%s", reason);
    if (out->failures.len > 0) {
        print_failures(&out->failures);
    } else if (code != EXIT_DONE) {
        launch_output_reason(reason, out, code);
        if (!known)
            fputs(out->chatter.at, stderr); /* let the user read it */
        console_fail("%s", reason);
    }
}
