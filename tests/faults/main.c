/* The program with a fault in it: shoal's own main, once for each line on standard input, in a
 * process of its own.
 *
 * A line holds, with tabs between: the class, N, `once` or `lasting`, how many frames make a
 * place or 0, the folder, then the files for standard input, output and error, and the arguments.
 * The answer is `PID number`, then when it ended `ENDED status calls failed where left-open`, and
 * where places are asked for a line with the number of each call's.
 *
 * The command `planted WHAT` does wrong on purpose: who runs this must notice. */
#include "inject.h"

#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int shoal_main(int argc, char **argv);
extern const char __executable_start; /* of the linker's */

/* Our own calls are wrapped too: only the child knows it as `inject`. */
static struct inject *shared;

static const char *const class_names[INJECT_CLASSES] = {
    "none", "alloc", "thread", "open", "read", "write", "sync", "rename", "short", "signal",
};

enum { WORDS_MOST = 128 };

static int descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void descriptor_set(int to, const char *path, int flags)
{
    int fd = open(path, flags, 0666);

    if (fd < 0 || dup2(fd, to) != to) {
        perror(path);
        _exit(99);
    }
    close(fd);
}

/* A server that nobody hears of: it listens and never answers, or does not even say where. */
static int planted_server(bool listens)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    static const char *const name[] = {"inference", "management", "metrics"};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), got = 0;
    socklen_t len = sizeof at;
    sigset_t stop;

    if (bind(fd, (struct sockaddr *)&at, len) != 0 || listen(fd, 8) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        return 1;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    for (int i = 0; i < 3 && listens; i++)
        printf("%s http://127.0.0.1:%d\n", name[i], ntohs(at.sin_port));
    if (listens)
        printf("models none\n");
    fflush(stdout);
    sigwait(&stop, &got);
    close(fd);
    return 0;
}

/* Each is what a program must not do when a call fails. */
static int planted(const char *what)
{
    FILE *f;

    if (strcmp(what, "crash") == 0)
        abort();
    if (strcmp(what, "leak") == 0)
        return malloc(1000) ? 0 : 1;
    if (strcmp(what, "descriptor") == 0)
        return open("/dev/null", O_RDONLY) < 0;
    if (strcmp(what, "silence") == 0)
        return 1;
    if (strcmp(what, "mute") == 0 || strcmp(what, "lost") == 0)
        return planted_server(strcmp(what, "mute") == 0);
    f = fopen(strcmp(what, "half") == 0 ? "out.txt" : ".out.txt.tmp-123456", "w");
    if (f)
        fclose(f);
    fprintf(stderr, "shoal: planted: %s\n", what);
    return 1;
}

static void child(char **word, int argc)
{
    int before, code;

    if (chdir(word[0]) != 0)
        _exit(99);
    descriptor_set(0, word[1], O_RDONLY);
    descriptor_set(1, word[2], O_WRONLY | O_CREAT | O_APPEND);
    descriptor_set(2, word[3], O_WRONLY | O_CREAT | O_APPEND);
    before = descriptors();
    word[3] = (char *)"shoal";
    inject = shared;
    atomic_store(&inject->armed, true);
    if (strcmp(word[4], "planted") == 0) {
        code = planted(word[5]);
        fclose(stdout); /* as main does */
    } else {
        code = shoal_main(argc - 3, word + 3);
    }
    atomic_store(&inject->armed, false);
    inject->left_open = descriptors() - (before - 1); /* main closed standard output */
    exit(code);
}

static void inject_set(char **word)
{
    memset(shared, 0, offsetof(struct inject, trace));
    for (int i = 0; i < INJECT_CLASSES; i++)
        if (strcmp(word[0], class_names[i]) == 0)
            shared->class = i;
    shared->nth = (uint32_t)strtoul(word[1], NULL, 10);
    shared->lasting = strcmp(word[2], "lasting") == 0;
    shared->depth = atoi(word[3]);
}

static void answer(int status)
{
    uint32_t calls = shared->calls;

    printf("ENDED %d %u %u %#lx %d\n", status, calls, shared->failed,
           shared->where ? shared->where - (uintptr_t)&__executable_start : 0, shared->left_open);
    if (shared->depth > 0) {
        for (uint32_t i = 0; i < calls && i < INJECT_TRACE; i++)
            printf("%lx ", shared->trace[i]);
        printf("\n");
    }
    fflush(stdout);
}

static void run(char **word, int n)
{
    int status;
    pid_t pid;

    inject_set(word);
    pid = fork();
    if (pid == 0)
        child(word + 4, n - 4);
    printf("PID %d\n", (int)pid);
    fflush(stdout);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        exit(1);
    answer(status);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    void *frame[2];

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    backtrace(frame, 2); /* loads what it needs, now rather than in the middle of a run */
    while (getline(&line, &room, stdin) > 0) {
        char *word[WORDS_MOST + 1], *rest = line;
        int n = 0;

        line[strcspn(line, "\n")] = '\0';
        while (n < WORDS_MOST && (word[n] = strsep(&rest, "\t")))
            n++;
        word[n] = NULL;
        if (n > 8)
            run(word, n);
    }
    free(line);
    return 0;
}
