/* serve: sandbox.c. Each case enters the sandbox in a child of its own and tries. */
#include "serve/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka wants some of the above first. */
#include <cmocka.h>

#include "scratch.h"

/* Made before, as a server's are. */
static int tcp, udp, listener, served, client;
static struct sockaddr_in here;
static char outside[96];

static void sockets_open(void)
{
    socklen_t len = sizeof here;

    here = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&here, sizeof here), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&here, &len), 0);
    client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&here, sizeof here), 0);
    tcp = socket(AF_INET, SOCK_STREAM, 0);
    udp = socket(AF_INET, SOCK_DGRAM, 0);
}

/* ---- what is refused --------------------------------------------------------------------- */

static long try_execve(void)
{
    char *const none[] = {NULL};

    return execve("/bin/true", none, none);
}

static long try_fork(void)
{
    long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

    if (pid == 0)
        _exit(0);
    return pid;
}

static long try_namespace_by_clone(void)
{
    long pid = syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0)
        _exit(0);
    return pid;
}

static long try_clone3(void)
{
    uint64_t args[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
    long pid = syscall(SYS_clone3, args, sizeof args);

    if (pid == 0)
        _exit(0);
    return pid;
}

static long try_unshare(void)
{
    return unshare(CLONE_NEWUSER);
}

static long try_setns(void)
{
    int fd = open("/proc/self/ns/net", O_RDONLY);

    return setns(fd, 0);
}

static long try_tcp_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}

static long try_unix_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long try_connect(void)
{
    return connect(tcp, (struct sockaddr *)&here, sizeof here);
}

static long try_datagram(void)
{
    return sendto(udp, "x", 1, 0, (struct sockaddr *)&here, sizeof here);
}

static long try_connecting_sendto(void)
{
    return sendto(tcp, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&here, sizeof here);
}

static long try_connecting_sendmsg(void)
{
    struct iovec bytes = {"x", 1};
    struct msghdr m = {
        .msg_name = &here, .msg_namelen = sizeof here, .msg_iov = &bytes, .msg_iovlen = 1};

    return sendmsg(tcp, &m, MSG_FASTOPEN);
}

static long try_bind(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    return bind(tcp, (struct sockaddr *)&any, sizeof any);
}

static long try_listen(void)
{
    return listen(tcp, 1);
}

static long try_write_open(void)
{
    return open("/dev/null", O_WRONLY);
}

static long try_create(void)
{
    return open(outside, O_RDONLY | O_CREAT, 0600);
}

static long try_openat2(void)
{
    uint64_t how[3] = {O_RDWR};

    return syscall(SYS_openat2, AT_FDCWD, "/dev/null", how, sizeof how);
}

static long try_code_mapping(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
               ? -1
               : 0;
}

static long try_ptrace(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long try_reading_another(void)
{
    char byte;
    struct iovec mine = {&byte, 1}, theirs = {&byte, 1};

    return process_vm_readv(getppid(), &mine, 1, &theirs, 1, 0);
}

static long try_killing_another(void)
{
    return kill(getppid(), 0);
}

static long try_mount(void)
{
    return mount("none", "/tmp", "tmpfs", 0, NULL);
}

static long try_chroot(void)
{
    return chroot("/");
}

static long try_io_uring(void)
{
    char params[256] = {0};

    return syscall(SYS_io_uring_setup, 1, params);
}

static long try_bpf(void)
{
    char attr[64] = {0};

    return syscall(SYS_bpf, 0, attr, sizeof attr);
}

static long try_memfd(void)
{
    return memfd_create("x", 0);
}

static long try_setuid(void)
{
    return setuid(getuid());
}

static long try_mkdir(void)
{
    return mkdir(outside, 0700);
}

static long try_symlink(void)
{
    return symlink("/", outside);
}

static long try_unlink(void)
{
    return unlink(outside);
}

static long try_rename(void)
{
    return rename(outside, outside);
}

static long try_truncate(void)
{
    return truncate(outside, 0);
}

static long try_chmod(void)
{
    return chmod(outside, 0777);
}

static long try_fchmod(void)
{
    return fchmod(open(outside, O_RDONLY), 0600);
}

static long try_fchown(void)
{
    return fchown(open(outside, O_RDONLY), (uid_t)-1, getegid());
}

static long try_typing_for_others(void)
{
    return ioctl(0, TIOCSTI, "x");
}

static long try_keys(void)
{
    return syscall(SYS_keyctl, 0, 0, 0, 0, 0);
}

static long try_dumpable(void)
{
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static long try_limit_of_another(void)
{
    return syscall(SYS_prlimit64, getppid(), 7, NULL, NULL);
}

/* What is asked of another process changes nothing, were it granted. */

static long try_cores_of_another(void)
{
    cpu_set_t cores;

    if (sched_getaffinity(getppid(), sizeof cores, &cores) != 0)
        return 0;
    return sched_setaffinity(getppid(), sizeof cores, &cores);
}

static long try_scheduling_another(void)
{
    struct sched_param none = {0};

    return sched_setscheduler(getppid(), SCHED_OTHER, &none);
}

static long try_priority_of_another(void)
{
    id_t parent = (id_t)getppid();

    return setpriority(PRIO_PROCESS, parent, getpriority(PRIO_PROCESS, parent));
}

static long try_signals_to_another(void)
{
    return fcntl(tcp, F_SETOWN, getppid());
}

static long try_choosing_the_signal(void)
{
    return fcntl(tcp, F_SETSIG, SIGKILL);
}

static long try_signals_of_a_socket(void)
{
    return fcntl(tcp, F_SETFL, O_NONBLOCK | O_ASYNC);
}

static long try_emptying_open(void)
{
    return open(outside, O_RDONLY | O_TRUNC);
}

static long try_emptying_openat(void)
{
    return openat(AT_FDCWD, outside, O_RDONLY | O_TRUNC);
}

static long try_ftruncate(void)
{
    return syscall(SYS_ftruncate, open(outside, O_RDONLY), 0);
}

static long try_running_as_the_owner(void)
{
    return fchmod(open(outside, O_RDONLY), 04777);
}

static long try_running_as_the_group(void)
{
    return fchmod(open(outside, O_RDONLY), 02777);
}

static long try_giving_away(void)
{
    return fchown(open(outside, O_RDONLY), geteuid() + 1, (gid_t)-1);
}

static long try_what_nobody_knows(void)
{
    return syscall(999);
}

#define TRY(name) {#name, try_##name}
struct attempt {
    const char *name;
    long (*does)(void);
};

static const struct attempt attempts[] = {
    TRY(execve),
    TRY(fork),
    TRY(namespace_by_clone),
    TRY(clone3),
    TRY(unshare),
    TRY(setns),
    TRY(tcp_socket),
    TRY(unix_socket),
    TRY(connect),
    TRY(datagram),
    TRY(connecting_sendto),
    TRY(connecting_sendmsg),
    TRY(bind),
    TRY(listen),
    TRY(openat2),
    TRY(code_mapping),
    TRY(ptrace),
    TRY(reading_another),
    TRY(killing_another),
    TRY(mount),
    TRY(chroot),
    TRY(io_uring),
    TRY(bpf),
    TRY(memfd),
    TRY(setuid),
    TRY(mkdir),
    TRY(symlink),
    TRY(truncate),
    TRY(chmod),
    TRY(typing_for_others),
    TRY(keys),
    TRY(dumpable),
    TRY(limit_of_another),
    TRY(cores_of_another),
    TRY(scheduling_another),
    TRY(priority_of_another),
    TRY(signals_to_another),
    TRY(choosing_the_signal),
    TRY(signals_of_a_socket),
    TRY(emptying_open),
    TRY(emptying_openat),
    TRY(ftruncate),
    TRY(running_as_the_owner),
    TRY(running_as_the_group),
    TRY(giving_away),
    TRY(what_nobody_knows),
    {0},
};

/* Refused where no state is kept. */
static const struct attempt writing[] = {
    TRY(write_open),
    TRY(create),
    TRY(unlink),
    TRY(rename),
    TRY(fchmod),
    TRY(fchown),
    {0},
};

/* ---- a child -------------------------------------------------------------------------------- */

/* What the child says went wrong; "" when nothing did. */
static const char *in_child(void (*does)(FILE *out))
{
    static char said[4096];
    size_t len = 0;
    int ends[2], status;
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        FILE *out = fdopen(ends[1], "w");

        close(ends[0]);
        does(out);
        fflush(out);
        _exit(0);
    }
    close(ends[1]);
    while (len < sizeof said - 1 && (n = read(ends[0], said + len, sizeof said - 1 - len)) > 0)
        len += (size_t)n;
    close(ends[0]);
    said[len] = '\0';
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        snprintf(said, sizeof said, "the child ended with status %d", status);
    return said;
}

static bool enter(FILE *out, const char *state, bool *files)
{
    bool ignored;

    if (sandbox_enter(state, NULL, files ? files : &ignored) == SHOAL_OK)
        return true;
    fprintf(out, "no sandbox: %s\n", shoal_error());
    return false;
}

static void try_each(FILE *out, const struct attempt *at)
{
    for (; at->name; at++) {
        errno = 0;
        if (at->does() >= 0 || (errno != EPERM && errno != ENOSYS))
            fprintf(out, "%s: was not refused (%s)\n", at->name, strerror(errno));
    }
}

static void try_all(FILE *out)
{
    if (!enter(out, NULL, NULL))
        return;
    try_each(out, attempts);
    try_each(out, writing);
}

static void what_takes_more_than_the_server_needs_is_refused(void **state)
{
    (void)state;
    scratch_put("outside", "x", 1);
    assert_string_equal(in_child(try_all), "");
    assert_int_equal(access(outside, F_OK), 0);
}

static void try_with_a_state(FILE *out)
{
    char state[80];

    snprintf(state, sizeof state, "%s/state", scratch_dir);
    if (enter(out, state, NULL))
        try_each(out, attempts);
}

static void a_state_opens_nothing_else(void **state)
{
    struct stat info;

    (void)state;
    scratch_put("outside", "x", 1);
    assert_string_equal(in_child(try_with_a_state), "");
    assert_int_equal(stat(outside, &info), 0);
    assert_int_equal(info.st_size, 1);
    assert_int_equal(info.st_mode & 07000, 0);
    assert_int_equal(info.st_uid, geteuid());
}

/* ---- what a server needs --------------------------------------------------------------------- */

static void *answer_seven(void *arg)
{
    *(int *)arg = 7;
    return arg;
}

static void need(FILE *out, const char *what, bool there)
{
    if (!there)
        fprintf(out, "%s: %s\n", what, strerror(errno));
}

static void serve_files(FILE *out)
{
    char text[16];
    int fd = open(outside, O_RDONLY | O_CLOEXEC);
    struct stat info;

    need(out, "open to read", fd >= 0);
    need(out, "fstat", fstat(fd, &info) == 0);
    need(out, "read", read(fd, text, sizeof text) == 1);
    need(out, "stat", stat(outside, &info) == 0);
    close(fd);
    fd = open(scratch_dir, O_RDONLY | O_DIRECTORY);
    need(out, "open a folder", fd >= 0);
    need(out, "openat", openat(fd, "outside", O_RDONLY | O_NOFOLLOW) >= 0);
    need(out, "another descriptor of it", fcntl(fd, F_DUPFD_CLOEXEC, 0) >= 0);
    need(out, "its flags", fcntl(fd, F_GETFL) >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    need(out, "closing it on exec", fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_GETFD) == 1);
}

static void serve_clients(FILE *out)
{
    struct epoll_event event = {.events = EPOLLIN};
    int loop = epoll_create1(EPOLL_CLOEXEC), bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), on = 1;
    struct iovec bytes = {"hello", 5};
    struct msghdr m = {.msg_iov = &bytes, .msg_iovlen = 1};
    char text[16];

    need(out, "epoll_create1", loop >= 0);
    need(out, "eventfd", bell >= 0);
    need(out, "epoll_ctl", epoll_ctl(loop, EPOLL_CTL_ADD, listener, &event) == 0);
    need(out, "epoll_wait", epoll_wait(loop, &event, 1, 1000) == 1);
    served = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    need(out, "accept4", served >= 0);
    need(out, "setsockopt", setsockopt(served, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) == 0);
    need(out, "send", send(served, "x", 1, MSG_NOSIGNAL) == 1);
    need(out, "sendmsg", sendmsg(served, &m, MSG_NOSIGNAL) == 5);
    need(out, "writev", writev(served, &bytes, 1) == 5);
    need(out, "recv", recv(client, text, 1, 0) == 1);
    need(out, "shutdown", shutdown(served, SHUT_RDWR) == 0);
}

static void serve_all(FILE *out)
{
    pthread_t thread;
    int seven = 0;
    void *code;

    if (!enter(out, NULL, NULL))
        return;
    need(out, "a thread", pthread_create(&thread, NULL, answer_seven, &seven) == 0);
    need(out, "its end", pthread_join(thread, NULL) == 0 && seven == 7);
    need(out, "getrandom", getrandom(&seven, sizeof seven, 0) == sizeof seven);
    need(out, "prctl for a thread's name", prctl(PR_SET_NAME, "x") == 0);
    need(out, "raise", raise(0) == 0 || errno == EINVAL);
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(out, "memory", code != MAP_FAILED);
    need(out, "code that was made", mprotect(code, 4096, PROT_READ | PROT_EXEC) == 0);
    serve_files(out);
    serve_clients(out);
}

static void what_a_server_needs_is_allowed(void **state)
{
    (void)state;
    scratch_put("outside", "x", 1);
    assert_string_equal(in_child(serve_all), "");
}

/* ---- the state ------------------------------------------------------------------------------- */

static void keep_state(FILE *out)
{
    char state[80], beside[96];
    bool files;
    int fd;

    snprintf(state, sizeof state, "%s/kept/state", scratch_dir);
    snprintf(beside, sizeof beside, "%s/kept/.tmp", scratch_dir);
    if (!enter(out, state, &files))
        return;
    fd = open(beside, O_RDWR | O_CREAT | O_EXCL, 0600);
    need(out, "a file beside the state", fd >= 0 && pwrite(fd, "x", 1, 0) == 1 && fsync(fd) == 0);
    need(out, "its mode", fchmod(fd, 0640) == 0);
    need(out, "its group", fchown(fd, (uid_t)-1, getegid()) == 0);
    need(out, "renaming it to the state", rename(beside, state) == 0);
    if (files && open(outside, O_WRONLY) >= 0)
        fprintf(out, "a file of another folder was opened for writing\n");
    if (files && unlink(outside) == 0)
        fprintf(out, "a file of another folder was removed\n");
    if (try_connect() == 0 || try_fork() > 0)
        fprintf(out, "a connection or a process was made\n");
}

static void a_state_is_written_in_its_own_folder_alone(void **state)
{
    (void)state;
    scratch_put("outside", "x", 1);
    assert_int_equal(mkdir(scratch_path("kept"), 0700), 0);
    assert_string_equal(in_child(keep_state), "");
    assert_int_equal(access(scratch_path("kept/state"), F_OK), 0);
    assert_int_equal(access(outside, F_OK), 0);
}

static void enter_again(FILE *out)
{
    bool files;

    if (enter(out, NULL, NULL) && sandbox_enter(NULL, NULL, &files) == SHOAL_OK)
        fprintf(out, "it was entered twice\n");
    else if (!strstr(shoal_error(), "sandbox"))
        fprintf(out, "it says: %s\n", shoal_error());
}

static void a_sandbox_that_cannot_be_had_is_an_error(void **state)
{
    (void)state;
    assert_string_equal(in_child(enter_again), "");
}

static void enter_for_a_state_nowhere(FILE *out)
{
    char state[80];
    bool files;

    snprintf(state, sizeof state, "%s/nowhere/state", scratch_dir);
    if (sandbox_enter(state, NULL, &files) == SHOAL_OK)
        fprintf(out, "it was entered, %s files\n", files ? "with" : "without a rule for");
    else if (!strstr(shoal_error(), "nowhere"))
        fprintf(out, "it says: %s\n", shoal_error());
}

static void a_rule_for_files_that_cannot_be_had_is_an_error(void **state)
{
    (void)state;
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 0) /* its version */
        skip();                                               /* the kernel has no such rules */
    assert_string_equal(in_child(enter_for_a_state_nowhere), "");
}

static int begin(void **state)
{
    if (scratch_setup(state) != 0)
        return -1;
    snprintf(outside, sizeof outside, "%s/outside", scratch_dir);
    sockets_open();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_takes_more_than_the_server_needs_is_refused),
        cmocka_unit_test(a_state_opens_nothing_else),
        cmocka_unit_test(what_a_server_needs_is_allowed),
        cmocka_unit_test(a_state_is_written_in_its_own_folder_alone),
        cmocka_unit_test(a_sandbox_that_cannot_be_had_is_an_error),
        cmocka_unit_test(a_rule_for_files_that_cannot_be_had_is_an_error),
    };

    return cmocka_run_group_tests(tests, begin, scratch_teardown);
}
