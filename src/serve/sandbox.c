/* Two fences, both kept by the kernel and both for good:
 *
 *     seccomp    a classic BPF program that sees the number and the arguments of each system
 *                call (numbers only: it cannot follow pointers, so no paths) and allows it or
 *                gives an error. SECCOMP_FILTER_FLAG_TSYNC sets it for all threads at once.
 *     Landlock   a rule by path: nothing may be written but in the folders of the state and the
 *                access log.
 *
 * Landlock is entered first, as the filter then refuses its calls. Both need
 * PR_SET_NO_NEW_PRIVS, without which a set-user-id program could be fooled by the fence.
 *
 * What is not allowed gives an error and does not kill the process: a call that a newer libc
 * tries first must fail so that it falls back, and a crash would hide which call it was.
 * ENOSYS says so as an older kernel would. Calls that no server has any business with say
 * EPERM. sandbox.calls has the lists. */
#include "serve/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#if defined(__has_include) && __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#define LANDLOCK 1
#endif

#ifdef ARCHITECTURE

/* The lists `allowed`, `for_state` and `refused`: made from src/serve/sandbox.calls by
 * scripts/calls.sh when the library is built. */
#include "sandbox.inc"

#define NAMESPACES                                                                                 \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)

/* ---- the program ----
 *
 *     load the architecture; another one's calls have other numbers: EPERM
 *     load the number of the call
 *     is it futex?        allow            one pair of instructions (decide) for each
 *     is it epoll_pwait?  allow            call of a list, in its order
 *     ...
 *     is it openat?       load its flags, mask, compare: allow or EPERM
 *     ...
 *     ENOSYS
 *
 * An instruction jumps forward only, over `yes` or `no` instructions behind it. The
 * invariant: at the first instruction of every block the accumulator holds the number of
 * the call. A block whose call it is not jumps over all of itself; one that loads an
 * argument into the accumulator ends with a decision, so nobody behind it sees that. */

enum { ROOM = 1024 }; /* instructions */

struct program {
    struct sock_filter at[ROOM];
    unsigned short len;
};

static void emit(struct program *p, unsigned code, uint32_t k, unsigned yes, unsigned no)
{
    if (p->len < ROOM) /* checked at the end */
        p->at[p->len] = (struct sock_filter){(uint16_t)code, (uint8_t)yes, (uint8_t)no, k};
    p->len++;
}

static void emit_load(struct program *p, size_t offset)
{
    emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void emit_return(struct program *p, int error)
{
    uint32_t what =
        error ? SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA) : SECCOMP_RET_ALLOW;

    emit(p, BPF_RET | BPF_K, what, 0, 0);
}

/* The call of that number: 0 allows it, else the error. */
static void decide(struct program *p, unsigned nr, int error)
{
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1);
    emit_return(p, error);
}

/* BPF loads 32 bits: half of an argument. Of an int the kernel looks at the lower half alone;
 * a pointer needs both. */
static void emit_argument(struct program *p, unsigned i, bool upper)
{
    emit_load(p, offsetof(struct seccomp_data, args) + 8 * i + (upper ? 4 : 0));
}

/* Allowed when argument i, under the mask, is the value. */
static void allow_masked(struct program *p, unsigned nr, unsigned i, uint32_t mask, uint32_t value)
{
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 5);
    emit_argument(p, i, false);
    emit(p, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    emit_return(p, 0);
    emit_return(p, EPERM);
}

/* Allowed when argument i is one of the values. */
static void allow_one_of(struct program *p, unsigned nr, unsigned i, const uint32_t *values,
                         unsigned n)
{
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 2 * n + 2);
    emit_argument(p, i, false);
    for (unsigned k = 0; k < n; k++)
        decide(p, values[k], 0);
    emit_return(p, EPERM);
}

/* sendto: no address, and no connection made on the way. */
static void allow_sendto(struct program *p)
{
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_sendto, 0, 8);
    emit_argument(p, 3, false);
    emit(p, BPF_JMP | BPF_JSET | BPF_K, MSG_FASTOPEN, 5, 0);
    emit_argument(p, 4, false);
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
    emit_argument(p, 4, true);
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
    emit_return(p, 0);
    emit_return(p, EPERM);
}

/* fcntl: nothing that has the kernel send a signal of somebody's choice to a process of
 * somebody's choice (F_SETOWN, F_SETSIG, O_ASYNC). */
static void allow_fcntl(struct program *p)
{
    static const uint32_t asked[] = {F_GETFL, F_GETFD, F_SETFD, F_DUPFD, F_DUPFD_CLOEXEC};
    unsigned n = sizeof asked / sizeof *asked;

    emit(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 2 * n + 6);
    emit_argument(p, 1, false);
    for (unsigned k = 0; k < n; k++)
        decide(p, asked[k], 0);
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, F_SETFL, 0, 3);
    emit_argument(p, 2, false);
    emit(p, BPF_JMP | BPF_JSET | BPF_K, O_ASYNC, 1, 0);
    emit_return(p, 0);
    emit_return(p, EPERM);
}

/* A new state file takes the mode and group of the old one. Landlock has no rule for owners
 * and modes, so these calls reach every file that can be opened: the owner may only stay or
 * become this process's own, and no set-user-id, set-group-id or sticky bit may be set. */
static void allow_owner_and_mode(struct program *p)
{
    const uint32_t owners[] = {(uint32_t)-1, geteuid()};

    allow_one_of(p, SYS_fchown, 1, owners, 2);
    allow_masked(p, SYS_fchmod, 1, S_ISUID | S_ISGID | S_ISVTX, 0);
}

/* What must still be written. */
enum { WRITES_LOG = 1, WRITES_STATE = 2 };

static void allow_by_arguments(struct program *p, unsigned writes)
{
    static const uint32_t asked[] = {FIONBIO, FIONREAD, TCGETS, TIOCGWINSZ};
    static const uint32_t names[] = {PR_SET_NAME, PR_GET_NAME};
    /* A file opened to be read can be emptied too; a new state needs no O_TRUNC. */
    uint32_t writing = O_TRUNC | (writes ? 0 : O_ACCMODE | O_CREAT);

    /* Threads of this process, in the namespaces it has. The flags of clone3 lie in memory,
     * where the filter cannot look: told ENOSYS, libc takes clone. */
    allow_masked(p, SYS_clone, 0, NAMESPACES | CLONE_VM | CLONE_THREAD, CLONE_VM | CLONE_THREAD);
    decide(p, SYS_clone3, ENOSYS);
    allow_masked(p, SYS_openat, 2, writing, 0);
#ifdef __x86_64__
    static const uint32_t tiles[] = {0x1021, 0x1022, 0x1023}; /* ARCH_*_XCOMP_*: AMX */

    allow_masked(p, SYS_open, 1, writing, 0);
    allow_one_of(p, SYS_arch_prctl, 0, tiles, 3);
#endif
    allow_masked(p, SYS_mmap, 2, PROT_EXEC, 0);
    /* An address in the message needs a socket that is not connected: there is none. */
    allow_masked(p, SYS_sendmsg, 2, MSG_FASTOPEN, 0);
    allow_sendto(p);
    allow_fcntl(p);
    allow_one_of(p, SYS_ioctl, 1, asked, sizeof asked / sizeof *asked);
    allow_one_of(p, SYS_prctl, 0, names, 2);
    allow_masked(p, SYS_prlimit64, 0, UINT32_MAX, 0);
    allow_masked(p, SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid()); /* abort() */
    allow_masked(p, SYS_kill, 0, UINT32_MAX, (uint32_t)getpid());
}

static void decide_all(struct program *p, const unsigned *calls, size_t n, int error)
{
    for (size_t i = 0; i < n; i++)
        decide(p, calls[i], error);
}

#define ALL(list) (list), sizeof(list) / sizeof *(list)

static void program_make(struct program *p, unsigned writes)
{
    p->len = 0;
    emit_load(p, offsetof(struct seccomp_data, arch));
    /* Another architecture's calls have other numbers: none of them. */
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    emit_return(p, EPERM);
    emit_load(p, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    emit(p, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* x32's */
    emit_return(p, EPERM);
#endif
    decide_all(p, ALL(allowed), 0);
    allow_by_arguments(p, writes);
    if (writes & WRITES_STATE) {
        decide_all(p, ALL(for_state), 0);
        allow_owner_and_mode(p);
    }
    decide_all(p, ALL(refused), EPERM);
    decide_all(p, ALL(for_state), EPERM);
    emit_return(p, ENOSYS);
}

static shoal_status enter_list(unsigned writes)
{
    struct program *p = mem_array(1, sizeof *p);
    struct sock_fprog code;
    shoal_status st = SHOAL_OK;

    if (!p)
        return SHOAL_ENOMEM;
    program_make(p, writes);
    code = (struct sock_fprog){.len = p->len, .filter = p->at};
    if (p->len > ROOM)
        st = shoal_fail(SHOAL_ELIMIT, "sandbox: its list is too long");
    else if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &code) != 0)
        st = shoal_fail_errno(SHOAL_EIO, "sandbox: the kernel does not take a list of system "
                                         "calls (seccomp); --no-sandbox serves without");
    free(p);
    return st;
}

#endif

/* ---- files ---- */

#ifdef LANDLOCK

/* What changes a file system, of the first version of Landlock. */
#define WRITING                                                                                    \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                               \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |   \
     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)
#define FOR_LOG (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG)
#define FOR_STATE (FOR_LOG | LANDLOCK_ACCESS_FS_REMOVE_FILE)

/* Of the third version, which the headers may not know; not needed for the state. */
#define TRUNCATING (1ULL << 14)

static shoal_status fail_files(void)
{
    return shoal_fail_errno(SHOAL_EIO, "sandbox: the kernel does not take a rule for files "
                                       "(Landlock); --no-sandbox serves without");
}

/* An open folder: that of the file, links resolved. */
static int folder_of(const char *file)
{
    char *real = realpath(file, NULL), *path = real ? real : strdup(file), *slash;
    int fd = -1;

    slash = path ? strrchr(path, '/') : NULL;
    if (slash)
        slash[slash == path] = '\0';
    if (path)
        fd = open(slash ? path : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(path);
    return fd;
}

static shoal_status allow_folder(int rules, const char *file, const char *what, uint64_t access)
{
    struct landlock_path_beneath_attr beneath = {.allowed_access = access,
                                                 .parent_fd = folder_of(file)};
    shoal_status st = SHOAL_OK;

    if (beneath.parent_fd < 0)
        return shoal_fail_errno(SHOAL_EIO, "sandbox: the folder of the %s '%s' cannot be opened",
                                what, file);
    if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) != 0)
        st = fail_files();
    close(beneath.parent_fd);
    return st;
}

/* -1 and errno: there is none, or none that can be had. */
static int rules_make(void)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs = WRITING};
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    if (abi < 0)
        return -1;
    if (abi >= 3)
        attr.handled_access_fs |= TRUNCATING;
    return (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr.handled_access_fs, 0);
}

/* A kernel without Landlock is served without it; any other failure is one. */
static shoal_status enter_files(const char *state, const char *log, bool *files)
{
    int rules = rules_make();
    shoal_status st = SHOAL_OK;

    *files = rules >= 0;
    if (rules < 0)
        return errno == ENOSYS || errno == EOPNOTSUPP ? SHOAL_OK : fail_files();
    if (state)
        st = allow_folder(rules, state, "state", FOR_STATE);
    if (st == SHOAL_OK && log)
        st = allow_folder(rules, log, "log", FOR_LOG);
    if (st == SHOAL_OK && syscall(SYS_landlock_restrict_self, rules, 0) != 0)
        st = fail_files();
    close(rules);
    return st;
}

#else

static shoal_status enter_files(const char *state, const char *log, bool *files)
{
    (void)state, (void)log;
    *files = false;
    return SHOAL_OK;
}

#endif

shoal_status sandbox_enter(const char *state, const char *log, bool *files)
{
    *files = false;
#ifdef ARCHITECTURE
    shoal_status st;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return shoal_fail_errno(SHOAL_EIO, "sandbox");
    st = enter_files(state, log, files);
    return st == SHOAL_OK ? enter_list((state ? WRITES_STATE : 0U) | (log ? WRITES_LOG : 0U)) : st;
#else
    (void)state, (void)log, (void)enter_files;
    return shoal_fail(SHOAL_EINVAL, "sandbox: this processor's system calls are not known to it, "
                                    "want x86-64 or 64-bit ARM; --no-sandbox serves without");
#endif
}
