/* A run of a study: a command that is started, waited for and judged. */
#include "study.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { SECONDS_TO_HEED = 3 }; /* a signal */

/* In a group of its own, by which whatever it starts can be ended with it: a simulation
 * is a script whose trainer would go on without it. */
bool child_start(struct child *c, const struct shoal_study_run *run, bool self)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t group;
    char **words = console_alloc((run->nwords + 2) * sizeof *words);
    int error;

    if (self)
        words[0] = "shoal";
    memcpy(words + self, run->words, run->nwords * sizeof *words);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, c->log, O_WRONLY | O_CREAT | O_TRUNC,
                                     0666);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&group);
    posix_spawnattr_setflags(&group, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&group, 0);
    error = posix_spawnp(&c->pid, self ? "/proc/self/exe" : words[0], &files, &group, words,
                         environ);
    posix_spawnattr_destroy(&group);
    posix_spawn_file_actions_destroy(&files);
    free(words);
    if (error)
        snprintf(c->why, sizeof c->why, "it could not be started: %s", strerror(error));
    return error == 0;
}

/* The last line that it said: the sentence of its failure. */
static void child_said(struct child *c)
{
    char line[256], last[256] = "";
    FILE *f = fopen(c->log, "r");

    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0])
            memcpy(last, line, sizeof last);
    }
    if (f)
        fclose(f);
    if (last[0])
        snprintf(c->why, sizeof c->why, "%s", last);
}

static void child_judge(struct child *c, int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    if (WIFSIGNALED(status))
        snprintf(c->why, sizeof c->why, "it was ended by signal %d", WTERMSIG(status));
    else
        snprintf(c->why, sizeof c->why, "exit code %d", WEXITSTATUS(status));
    child_said(c);
}

double study_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Whether it has ended; it is not collected yet, so that its number stays its own. */
static bool child_ended(const struct child *c)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0
               ? info.si_pid == c->pid
               : errno != EINTR;
}

/* A signal that comes meanwhile is passed on to the whole group, and again while the run
 * does not heed it: a second one ends it at once. What the run leaves behind is killed. */
void child_wait(struct child *c)
{
    const struct timespec nap = {.tv_nsec = 10000000};
    double next = 0;
    int status = 0;

    while (!child_ended(c)) {
        if (signal_came() && study_now() >= next) {
            kill(-c->pid, signal_came());
            c->stopped = true;
            next = study_now() + SECONDS_TO_HEED;
        }
        nanosleep(&nap, NULL);
    }
    kill(-c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    child_judge(c, status);
}
