/* Measuring: what this rank and its system counted, brought to all ranks. */
#include "train/profile/profile.h"

#include "train/train.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    TRIES = 5, /* of how long a message takes: the quickest counts */
};

/* From such a share on it is worth knowing what the links can do. */
#define LINKS_MATTER 0.2

/* ---- what the system counts ---- */

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

/* The first two numbers of a file of the kernel's. */
static bool read_two(const char *path, unsigned long long *a, unsigned long long *b)
{
    FILE *f = fopen(path, "re");
    bool found = f && fscanf(f, "%llu %llu", a, b) == 2;

    if (f)
        fclose(f);
    return found;
}

/* Nanoseconds that this thread stood in line for a core. Kernels without it say 0 0 0. */
static double read_queued(void)
{
    unsigned long long ran, stood;
    bool found = read_two("/proc/thread-self/schedstat", &ran, &stood) && ran > 0;

    return found ? (double)stood * 1e-9 : (double)NAN;
}

static struct meter meter_read(struct comm *comm)
{
    struct meter m = {.clock = clock_now(), .queued = read_queued()};
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    m.user = seconds_of(usage.ru_utime);
    m.system = seconds_of(usage.ru_stime);
    m.faults = (uint64_t)usage.ru_majflt;
    m.disk_read = system_number("/proc/self/io", "read_bytes:");
    m.disk_written = system_number("/proc/self/io", "write_bytes:");
    if (comm)
        m.comm = comm_stats(comm);
    return m;
}

/* The cores that a container may use, which is not always whole ones; 0: all. */
static double read_quota(void)
{
    unsigned long long quota, period;
    bool found = read_two("/sys/fs/cgroup/cpu.max", &quota, &period) && period > 0;

    return found ? (double)quota / (double)period : 0;
}

/* ---- beginning and ending ---- */

shoal_status profile_init(struct profile *p, shoal_ranks *ranks)
{
    struct comm *comm = shoal_ranks_size(ranks) > 1 ? ranks_comm(ranks) : NULL;

    *p = (struct profile){.comm = comm};
    if (comm) {
        p->peers = mem_array(comm_size(comm), sizeof *p->peers);
        if (!p->peers)
            return SHOAL_ENOMEM;
        for (unsigned r = 0; r < comm_size(comm); r++)
            p->peers[r] = comm_peer_stats(comm, r);
    }
    p->from = meter_read(comm);
    return SHOAL_OK;
}

void profile_fini(struct profile *p)
{
    free(p->peers);
    free(p->tracks);
    free(p->steps);
    p->peers = NULL;
    p->tracks = NULL;
    p->steps = NULL;
}

/* ---- this rank ---- */

static uint64_t grown(uint64_t from, uint64_t to)
{
    return from == SHOAL_UNKNOWN || to == SHOAL_UNKNOWN ? SHOAL_UNKNOWN : to - from;
}

/* A call of the store is not only waiting, and of what is waited some is spent on
 * messages that came meanwhile. */
void profile_share(const struct profile *p, const struct profile_facts *f,
                   const struct comm_stats *to, struct shoal_profile_rank *row)
{
    const struct comm_stats *from = &p->from.comm;
    double handled = to->handled - from->handled, waited = to->waited - from->waited;
    const struct store_times *s = &f->store;

    row->computing = fmax(0, f->slices - s->steps);
    row->communicating = fmax(0, s->steps + s->meets - s->waited - s->yielded + handled);
    row->waiting = fmax(0, waited - handled + s->yielded);
    row->held = s->held;
    row->waits = to->waits - from->waits;
}

/* Who is far, and who kept us waiting. */
static void look_at_peers(struct shoal_profile_rank *row, const struct profile *p, double *awaited)
{
    struct comm *c = p->comm;

    for (unsigned r = 0; r < comm_size(c); r++) {
        struct comm_peer_stats now = comm_peer_stats(c, r);
        bool far = strcmp(comm_host(c, r), comm_host(c, row->rank)) != 0;

        awaited[r] = now.awaited - p->peers[r].awaited;
        row->far_out += far ? now.bytes_out - p->peers[r].bytes_out : 0;
        row->far_in += far ? now.bytes_in - p->peers[r].bytes_in : 0;
        if (awaited[r] > row->awaited_seconds) {
            row->awaited_seconds = awaited[r];
            row->awaited = r;
        }
    }
}

/* What a rank tells the others. */
struct account {
    struct shoal_profile_rank row;
    cpu_set_t cores;
    double quota;
};

static struct account tell(const struct profile *p, const struct profile_facts *f, double *awaited)
{
    struct meter to = meter_read(p->comm);
    const struct meter *from = &p->from;
    struct account accounts = {.quota = read_quota()};
    struct shoal_profile_rank *row = &accounts.row;

    if (sched_getaffinity(0, sizeof accounts.cores, &accounts.cores) != 0)
        CPU_ZERO(&accounts.cores);
    row->rank = row->awaited = p->comm ? comm_rank(p->comm) : 0;
    row->works = f->works;
    row->threads = f->threads;
    row->steps = f->steps;
    row->seconds = to.clock - from->clock;
    row->thread_seconds = row->seconds * f->threads;
    row->user = to.user - from->user;
    row->system = to.system - from->system;
    row->queued = to.queued - from->queued;
    row->bytes_out = to.comm.bytes_out - from->comm.bytes_out;
    row->bytes_in = to.comm.bytes_in - from->comm.bytes_in;
    row->disk_read = grown(from->disk_read, to.disk_read);
    row->disk_written = grown(from->disk_written, to.disk_written);
    row->faults = to.faults - from->faults;
    row->memory = mem_peak();
    profile_share(p, f, &to.comm, row);
    row->other = fmax(0, row->seconds - row->computing - row->communicating - row->waiting);
    gethostname(row->host, sizeof row->host - 1);
    if (p->comm)
        look_at_peers(row, p, awaited);
    return accounts;
}

/* ---- all ranks ---- */

static bool same_host(const struct account *a, const struct account *b)
{
    return strcmp(a->row.host, b->row.host) == 0;
}

static bool first_of_host(const struct account *accounts, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_host(&accounts[k], &accounts[i]))
            return false;
    return true;
}

/* Any that one of its ranks may use, and no more than a container has. */
static unsigned cores_of(const struct account *accounts, size_t n, size_t i)
{
    cpu_set_t any = accounts[i].cores;
    unsigned cores;

    for (size_t k = 0; k < n; k++)
        if (same_host(&accounts[k], &accounts[i]))
            CPU_OR(&any, &any, &accounts[k].cores);
    cores = CPU_COUNT(&any) > 0 ? (unsigned)CPU_COUNT(&any) : 1;
    return accounts[i].quota > 0 ? (unsigned)fmin(cores, ceil(accounts[i].quota)) : cores;
}

/* The ranks of one host, added up. */
static struct shoal_profile_rank host_sum(const struct account *accounts, size_t n, size_t i)
{
    struct shoal_profile_rank sum = {0};

    for (size_t k = 0; k < n; k++)
        if (same_host(&accounts[k], &accounts[i]))
            profile_add(&sum, &accounts[k].row);
    sum.cores = accounts[i].row.cores;
    memcpy(sum.host, accounts[i].row.host, sizeof sum.host);
    return sum;
}

static void note_crowd(struct shoal_profile *p, const struct shoal_profile_rank *host)
{
    double here = (double)host->threads / host->cores;

    if (p->crowd.cores > 0 && here <= (double)p->crowd.threads / p->crowd.cores)
        return;
    snprintf(p->crowd.name, sizeof p->crowd.name, "%s", host->host);
    p->crowd.threads = host->threads;
    p->crowd.cores = host->cores;
    p->crowd.cpu = (host->user + host->system) / (p->seconds * host->cores);
}

static void add_up(struct shoal_profile *p, struct account *accounts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        accounts[i].row.cores = cores_of(accounts, n, i);
    for (size_t i = 0; i < n; i++)
        profile_take(p, &accounts[i].row);
    for (size_t i = 0; i < n; i++)
        if (first_of_host(accounts, i)) {
            struct shoal_profile_rank host = host_sum(accounts, n, i);

            p->hosts++;
            p->all.cores += host.cores;
            note_crowd(p, &host);
        }
}

/* Names end, and ranks are ranks, whatever came. */
static void check_accounts(struct account *accounts, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        accounts[i].row.host[sizeof accounts[i].row.host - 1] = '\0';
        accounts[i].row.rank = i;
        if (accounts[i].row.awaited >= n)
            accounts[i].row.awaited = i;
    }
}

static shoal_status gather_accounts(struct comm *c, const struct account *mine,
                                    struct account **all)
{
    size_t *lens = NULL;
    char *data = NULL;
    shoal_status st = comm_gather(c, mine, sizeof *mine, &data, &lens);

    *all = (struct account *)(void *)data;
    for (unsigned r = 0; st == SHOAL_OK && r < comm_size(c); r++)
        if (lens[r] != sizeof *mine)
            st = shoal_fail(SHOAL_EFORMAT, "profile: rank %u gave %zu bytes, want %zu", r, lens[r],
                            sizeof *mine);
    free(lens);
    return st;
}

static void note_awaited(struct shoal_profile *p, const struct comm *c, const double *awaited)
{
    for (unsigned r = 0; r < comm_size(c); r++)
        if (awaited[r] > p->awaited_seconds) {
            p->awaited_seconds = awaited[r];
            p->awaited = r;
            snprintf(p->awaited_host, sizeof p->awaited_host, "%s", comm_host(c, r));
        }
}

static shoal_status measure_latency(struct shoal_profile *p, struct comm *c)
{
    shoal_status st = comm_barrier(c);

    p->latency = INFINITY;
    for (unsigned i = 0; i < TRIES && st == SHOAL_OK; i++) {
        double began = clock_now();

        st = comm_barrier(c);
        p->latency = fmin(p->latency, clock_now() - began);
    }
    return st == SHOAL_OK ? comm_max(c, &p->latency, 1) : st;
}

/* What it did carry, it can. */
static void note_link(struct shoal_profile *p, const struct shoal_profile_rank *host, double can)
{
    uint64_t bytes = host->far_in > host->far_out ? host->far_in : host->far_out;
    double carried = (double)bytes / p->seconds;

    can = fmax(can, carried);
    if (p->link.can > 0 && carried / can <= p->link.carried / p->link.can)
        return;
    snprintf(p->link.name, sizeof p->link.name, "%s", host->host);
    p->link.carried = carried;
    p->link.can = can;
}

/* Whether it is worth it, all ranks see alike. */
static shoal_status measure_links(struct shoal_profile *p, struct comm *c,
                                  const struct account *accounts)
{
    double *rates;
    shoal_status st;

    if (p->hosts < 2 || (profile_waiting(p) < LINKS_MATTER && p->work.held < LINKS_MATTER))
        return SHOAL_OK;
    rates = mem_array(p->ranks, sizeof *rates);
    st = comm_agree(c, rates ? SHOAL_OK : SHOAL_ENOMEM);
    if (st == SHOAL_OK)
        st = profile_link_rate(c, &rates[comm_rank(c)]);
    if (st == SHOAL_OK)
        st = comm_sum(c, rates, p->ranks);
    for (unsigned r = 0; st == SHOAL_OK && r < p->ranks; r++)
        if (rates[r] > 0) {
            struct shoal_profile_rank host = host_sum(accounts, p->ranks, r);

            note_link(p, &host, rates[r]);
        }
    free(rates);
    return st;
}

/* `awaited` [ranks] and `accounts` [1] are this rank's. */
static shoal_status end_with_others(struct profile *p, const struct account *mine, double *awaited)
{
    struct shoal_profile *out = &p->result;
    struct account *all = NULL;
    shoal_status st = gather_accounts(p->comm, mine, &all);

    if (st == SHOAL_OK)
        st = comm_sum(p->comm, awaited, out->ranks);
    if (st == SHOAL_OK) {
        check_accounts(all, out->ranks);
        add_up(out, all, out->ranks);
        note_awaited(out, p->comm, awaited);
        st = measure_latency(out, p->comm);
    }
    if (st == SHOAL_OK)
        st = measure_links(out, p->comm, all);
    free(all);
    return st;
}

shoal_status profile_end(struct profile *p, const struct profile_facts *f)
{
    struct shoal_profile *out = &p->result;
    double *awaited = mem_array(p->comm ? comm_size(p->comm) : 1, sizeof *awaited);
    shoal_status st = awaited ? SHOAL_OK : SHOAL_ENOMEM;
    struct account accounts;

    *out = (struct shoal_profile){.sync = f->sync,
                                  .wide = f->wide,
                                  .ranks = p->comm ? comm_size(p->comm) : 1,
                                  .units = f->units};
    snprintf(out->unit, sizeof out->unit, "%s", f->unit);
    if (p->comm)
        st = comm_agree(p->comm, st);
    if (st == SHOAL_OK) {
        accounts = tell(p, f, awaited);
        out->seconds = accounts.row.seconds;
        if (p->comm)
            st = comm_max(p->comm, &out->seconds, 1);
    }
    if (st == SHOAL_OK && p->comm)
        st = end_with_others(p, &accounts, awaited);
    else if (st == SHOAL_OK)
        add_up(out, &accounts, 1);
    if (st == SHOAL_OK && p->comm)
        st = timeline_end(p, f);
    if (st == SHOAL_OK && p->comm && f->step)
        st = steps_gather(p, f->step);
    if (st == SHOAL_OK)
        profile_set_verdict(out);
    free(awaited);
    return st;
}
