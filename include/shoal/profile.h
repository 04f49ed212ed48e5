/* shoal/profile.h: where the time of a run went, a part of shoal.h, which includes it.
 *
 * What this is: the bottleneck table of a training run, of each rank and in sum,
 * and the verdict on it (docs/profile.md).
 * Who owns what: plain values.
 * Threads: nothing is shared. */
#ifndef SHOAL_PROFILE_PART_H
#define SHOAL_PROFILE_PART_H

#include <shoal.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHOAL_UNKNOWN UINT64_MAX /* of a count that the system does not tell */

/* One rank, or the sum of several. Times are seconds of the thread that speaks to
 * other ranks, which trains too. */
struct shoal_profile_rank {
    unsigned rank;
    char host[64];
    bool works;          /* it trains; else it only keeps rows */
    unsigned threads;
    uint64_t steps;      /* of the optimizer, by this rank; 0: not counted */
    unsigned cores;      /* that its threads may run on, and those of other ranks on this host */
    double seconds;      /* of the call: what follows adds up to it */
    double computing;
    double communicating; /* packing, sending, receiving and merging */
    double waiting;      /* for others, with nothing to do, or so that they have the core */
    double other;        /* start, evaluation, checkpoints */
    double thread_seconds; /* of all its threads */
    double user, system; /* of the processor, by all its threads */
    double queued;       /* of `seconds`: ready to go on, but no core was free; NaN: unknown */
    uint64_t bytes_out, bytes_in; /* to and from other ranks */
    uint64_t far_out, far_in;     /* of these, ranks on other hosts */
    uint64_t disk_read, disk_written; /* bytes that reached the disk, or SHOAL_UNKNOWN */
    uint64_t faults;     /* pages that had to be read from disk at once */
    uint64_t memory;     /* peak, bytes */
    uint64_t waits;      /* times it waited */
    unsigned awaited;    /* the rank it waited for longest; itself when for none */
    double awaited_seconds;
    double held;         /* the share of its exchanges that left rows behind, since earlier ones
                            were still on their way; in a sum the mean */
};

/* What limits a run: a name, for programs. */
#define SHOAL_LIMIT_MAP(X)                                                                         \
    X(NONE, "none")           /* no single one */                                                  \
    X(PROCESSOR, "processor") /* it computes */                                                    \
    X(CORES, "cores")         /* more threads than cores, or other programs on them */             \
    X(THREADS, "threads")     /* threads of a rank wait for each other */                          \
    X(DISK, "disk")           /* reading */                                                        \
    X(LINK, "link")           /* bytes a second of a host's link */                                \
    X(LATENCY, "latency")     /* how long a message takes, however short */                        \
    X(RANK, "rank")           /* one is slower than the others */                                  \
    X(OWNERS, "owners")       /* those who merge rows */                                           \
    X(EXCHANGE, "exchange")   /* packing and merging, everywhere */                                \
    X(ROUNDS, "rounds")       /* ranks wait for each other by turns */                             \
    X(ASIDE, "aside")         /* start, evaluation, checkpoints */                                 \
    X(SHORT, "short")         /* the run was too short to tell */

enum shoal_limit {
#define X(name, text) SHOAL_LIMIT_##name,
    SHOAL_LIMIT_MAP(X)
#undef X
};

#define SHOAL_PROFILE_ROWS 64

struct shoal_profile {
    enum shoal_sync sync;
    bool wide;      /* what travels could do so in half the bytes (--wire bf16) */
    unsigned ranks, hosts;
    char unit[32];  /* "1,000 batches" where a model has batches, else "1 M words" */
    double units;   /* of them, done by all ranks: to divide times and bytes by */
    double seconds; /* the longest of any rank */

    struct shoal_profile_rank all;     /* sums over the ranks; memory too */
    struct shoal_profile_rank work;    /* over those that train */
    struct shoal_profile_rank rows[SHOAL_PROFILE_ROWS]; /* [nrows] the first ranks */
    unsigned nrows;

    /* For the verdict: of all ranks, those at an extreme. */
    struct shoal_profile_rank slowest; /* of those that train, who waited least */
    struct shoal_profile_rank busiest; /* who spent the largest share on communicating */
    unsigned awaited;                  /* for whom all others waited longest */
    char awaited_host[64];
    double awaited_seconds;            /* so long, in sum; 0: nobody */
    struct {                           /* the host with most threads for its cores */
        char name[64];
        unsigned threads, cores;
        double cpu; /* the share of them that was used */
    } crowd;
    struct { /* the host whose link was busiest; "" when there is one host, or it was not
                measured: it is when ranks wait */
        char name[64];
        double carried; /* bytes a second in its busier direction */
        double can;     /* what it carries when nothing else happens */
    } link;
    double latency; /* seconds until all ranks have heard of each other; 0: one rank */

    enum shoal_limit limit;
    char verdict[512]; /* what limits the run, why, and what to change */
};

/* "processor" for SHOAL_LIMIT_PROCESSOR; "?" for a number that is none. */
SHOAL_API const char *shoal_limit_name(enum shoal_limit limit);

#ifdef __cplusplus
}
#endif
#endif
