/* The verdict: a sentence that says what limits a run, by which figures, and what
 * to change. The rules are asked in the order of the table at the end; the first
 * that applies speaks. Shares are of the time of the ranks that train. */
#include "train/profile/profile.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The thresholds, as docs/profile.md has them. */
#define SHORT 1.0      /* seconds: nothing to judge below */
#define QUEUED 0.15    /* standing in line for a core is worth a word, where there are too few */
#define CROWD_BUSY 0.8 /* or its cores were busy */
#define STOLEN                                                                                     \
    0.25               /* standing in line although there are enough; half of what is lost, if     \
                          that is what ranks lose */
#define ASIDE 0.5      /* start, evaluation, checkpoints */
#define LOST 0.4       /* waiting and communicating: below, ranks are not the limit */
#define OTHERS 0.3     /* of the time of all ranks but one, waiting */
#define SLOW (1.0 / 3) /* of that: who waits less keeps them waiting */
#define OWNING 0.7     /* of an owner's time, communicating */
#define EXPLAINED 0.4  /* of the waiting, by a link's bytes or a message's way */
#define IDLE 0.6       /* processor time by computing time: below, cores stood idle */
#define DISK_RATE 4e6  /* bytes a second from disk */
#define FAULTS 20.0    /* pages a second from disk */
#define COMPUTING 0.6
#define HELD 0.5   /* of looks, rows left behind */
#define MOSTLY 0.5 /* of the waiting, for one rank: it is named */

const char *shoal_limit_name(enum shoal_limit limit)
{
    static const char *const names[] = {
#define X(name, text) text,
        SHOAL_LIMIT_MAP(X)
#undef X
    };

    return (size_t)limit < sizeof names / sizeof *names ? names[limit] : "?";
}

/* ---- figures ---- */

static double percent(double part, double whole)
{
    return 100 * profile_part(part, whole);
}

/* 0 when it is unknown. */
static double queued(const struct shoal_profile_rank *r)
{
    return isfinite(r->queued) ? profile_part(r->queued, r->seconds) : 0;
}

static double lost(const struct shoal_profile *p)
{
    return profile_part(p->work.waiting + p->work.communicating, p->work.seconds);
}

static double computing(const struct shoal_profile *p)
{
    return profile_part(p->work.computing, p->work.seconds);
}

static double cpu(const struct shoal_profile_rank *r)
{
    return profile_part(r->user + r->system, r->thread_seconds);
}

/* What all but the slowest waited. */
static double others_waiting(const struct shoal_profile *p)
{
    return profile_part(p->work.waiting - p->slowest.waiting, p->work.seconds - p->slowest.seconds);
}

/* The share of the waiting in which the link had to carry what it did. */
static double link_explains(const struct shoal_profile *p)
{
    return profile_part(profile_part(p->link.carried, p->link.can), profile_waiting(p));
}

static double latency_explains(const struct shoal_profile *p)
{
    return profile_part((double)p->work.waits * p->latency, p->work.waiting);
}

/* ---- sentences ---- */

static void say(struct shoal_profile *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct shoal_profile *p, const char *fmt, ...)
{
    size_t len = strlen(p->verdict);
    va_list args;

    va_start(args, fmt);
    number_vprint(p->verdict + len, sizeof p->verdict - len, fmt, args);
    va_end(args);
}

/* "sync, 4 ranks on 2 hosts: " */
static void say_who(struct shoal_profile *p)
{
    static const char *const syncs[] = {[SHOAL_ASYNC] = "async",
                                        [SHOAL_BOUNDED] = "bounded",
                                        [SHOAL_SYNC] = "sync",
                                        [SHOAL_AVERAGE] = "average"};

    if (p->ranks == 1)
        say(p, "1 rank");
    else
        say(p, "%s, %u ranks", syncs[p->sync], p->ranks);
    if (p->hosts > 1)
        say(p, " on %u hosts", p->hosts);
    say(p, ": ");
}

/* "64 % waiting, most of it for rank 2 on n1" */
static void say_waiting(struct shoal_profile *p)
{
    say(p, "%.0f %% waiting", 100 * profile_waiting(p));
    if (p->ranks > 2 && profile_part(p->awaited_seconds, p->all.waiting) >= MOSTLY)
        say(p, ", most of it for rank %u on %s", p->awaited, p->awaited_host);
}

/* ---- rules ---- */

static void say_short(struct shoal_profile *p)
{
    say(p, "%.2f s are too short to tell", p->seconds);
}

static bool is_oversubscribed(const struct shoal_profile *p)
{
    return p->crowd.threads > p->crowd.cores &&
           (queued(&p->work) >= QUEUED || p->crowd.cpu >= CROWD_BUSY);
}

static void say_oversubscribed(struct shoal_profile *p)
{
    say(p, "%u threads take turns on the %u core%s of %s", p->crowd.threads, p->crowd.cores,
        p->crowd.cores == 1 ? "" : "s", p->crowd.name);
    if (isfinite(p->work.queued))
        say(p, " and stood in line for %.0f %% of the time", 100 * queued(&p->work));
    say(p, ": the processor is the limit; use fewer --threads or --ranks, or add cores");
}

static void say_aside(struct shoal_profile *p)
{
    say(p,
        "%.0f %% of the time went into the start, evaluation and checkpoints, not into "
        "training; evaluate and save less often, or train longer",
        percent(p->work.other, p->work.seconds));
}

static bool is_slow_rank(const struct shoal_profile *p)
{
    double others = others_waiting(p);

    return p->ranks > 1 && others >= OTHERS &&
           profile_part(p->slowest.waiting, p->slowest.seconds) <= SLOW * others;
}

/* What it does instead of waiting, and what would help. */
static void say_slow_rank(struct shoal_profile *p)
{
    const struct shoal_profile_rank *r = &p->slowest;
    bool aside = r->other > r->computing && r->other > r->communicating;

    say(p, "the others wait %.0f %% of the time, rank %u on %s only %.0f %%: ",
        100 * others_waiting(p), r->rank, r->host, percent(r->waiting, r->seconds));
    if (aside) {
        say(p, "it spends %.0f %% on evaluation and checkpoints; do these less often",
            percent(r->other, r->seconds));
        return;
    }
    if (r->communicating > r->computing) {
        say(p, "it merges rows for %.0f %% of the time; add servers",
            percent(r->communicating, r->seconds));
        return;
    }
    say(p, "it computes %.0f %% of the time", percent(r->computing, r->seconds));
    if (queued(r) >= QUEUED)
        say(p, ", in line for a core %.0f %%", 100 * queued(r));
    say(p, ", and is the limit; give it a faster core or less work%s",
        p->sync == SHOAL_ASYNC ? "" : ", or use --sync async");
}

static void say_owners(struct shoal_profile *p)
{
    say(p,
        "%.0f %% of the time waiting for rows; rank %u on %s, which %s, is busy with them for "
        "%.0f %%: owners of rows are the limit; add servers, or raise --batch",
        100 * profile_waiting(p), p->busiest.rank, p->busiest.host,
        p->busiest.works ? "owns a shard and trains" : "owns a shard",
        percent(p->busiest.communicating, p->busiest.seconds));
}

static void say_stolen(struct shoal_profile *p)
{
    say(p,
        "threads stood in line for a core %.0f %% of the time although there are enough: other "
        "programs use the cores, which are the limit; run them elsewhere",
        100 * queued(&p->work));
}

static void say_link(struct shoal_profile *p)
{
    static const char *const better[] = {[SHOAL_ASYNC] = "fewer meetings (epochs, checkpoints)",
                                         [SHOAL_BOUNDED] = "--sync async",
                                         [SHOAL_SYNC] = "--sync async, larger batches",
                                         [SHOAL_AVERAGE] =
                                             "a larger K of --sync average:K, --sync async"};

    say_waiting(p);
    say(p,
        "; the link of %s carried %.1f MB/s of the %.1f it can: the network is the limit; use "
        "%s%s, or a faster link",
        p->link.name, p->link.carried / 1e6, p->link.can / 1e6, p->wide ? "--wire bf16, " : "",
        better[p->sync]);
}

static void say_latency(struct shoal_profile *p)
{
    say_waiting(p);
    say(p,
        ", %.0f times a second for messages that take %.2f ms: their way is the limit, not their "
        "size; use larger batches, --sync bounded:S or async",
        profile_part((double)p->work.waits, p->work.seconds), 1e3 * p->latency);
}

static void say_rounds(struct shoal_profile *p)
{
    say_waiting(p);
    say(p, ": ranks wait for each other by turns, no link and no rank is the slowest; use --sync "
           "bounded:S or async, or longer rounds");
}

static void say_exchange(struct shoal_profile *p)
{
    say(p,
        "%.0f %% of the time packing, sending and merging rows: the exchange is the limit; use "
        "larger batches, --sync average:K%s, or fewer ranks with more threads",
        percent(p->work.communicating, p->work.seconds),
        p->sync == SHOAL_AVERAGE ? " with a larger K" : "");
}

/* Bytes a second. */
static double disk_rate(const struct shoal_profile *p)
{
    return p->all.disk_read == SHOAL_UNKNOWN ? 0 : (double)p->all.disk_read / p->seconds;
}

static void say_disk(struct shoal_profile *p)
{
    say(p,
        "the cores were busy for %.0f %% only, while %.1f MB/s came from disk and %.0f pages a "
        "second had to be waited for: reading is the limit; encode the input beforehand, have "
        "more memory for it, or a faster disk",
        100 * cpu(&p->work), disk_rate(p) / 1e6, (double)p->all.faults / p->seconds);
}

static void say_threads(struct shoal_profile *p)
{
    say(p,
        "%.0f %% computing, but %u threads kept their cores busy for %.0f %% only: they wait for "
        "each other or for the machine; use fewer --threads or larger batches",
        100 * computing(p), p->work.threads, 100 * cpu(&p->work));
}

static void say_processor(struct shoal_profile *p)
{
    bool more = p->work.threads < p->all.cores;

    say(p, "%.0f %% computing with %u thread%s on %u core%s: the processor is the limit; %s",
        100 * computing(p), p->work.threads, p->work.threads == 1 ? "" : "s", p->all.cores,
        p->all.cores == 1 ? "" : "s", more ? "use more --threads or ranks" : "add cores or ranks");
    if (p->hosts < 2 || p->work.held < HELD)
        return;
    say(p, ". Rows stay behind at %.0f %% of the looks, since their owners have not answered yet",
        100 * p->work.held);
    if (p->link.can > 0)
        say(p, " (the link of %s carried %.1f MB/s of the %.1f it can)", p->link.name,
            p->link.carried / 1e6, p->link.can / 1e6);
    say(p, ": ranks know less of each other than they could; use %s",
        p->wide ? "--wire bf16" : "a faster link");
}

static void say_mixed(struct shoal_profile *p)
{
    const struct shoal_profile_rank *w = &p->work;

    say(p,
        "no single limit: %.0f %% computing, %.0f %% communicating, %.0f %% waiting, %.0f %% "
        "start, evaluation and checkpoints",
        percent(w->computing, w->seconds), percent(w->communicating, w->seconds),
        percent(w->waiting, w->seconds), percent(w->other, w->seconds));
}

/* Who has no core is late for the others, and gives way where it looks for messages: the time
 * in line counts as waiting or communicating then, and is half of what is lost or more. */
void profile_set_verdict(struct shoal_profile *p)
{
    bool exchanges = p->ranks > 1 && lost(p) >= LOST;
    bool waits = exchanges && p->work.waiting >= p->work.communicating;
    bool computes = computing(p) >= COMPUTING;
    bool idles = computes && cpu(&p->work) < IDLE * computing(p);
    bool reads = disk_rate(p) >= DISK_RATE || (double)p->all.faults >= FAULTS * p->seconds;
    bool queues = queued(&p->work) >= (exchanges ? lost(p) / 2 : STOLEN);
    bool owners = profile_part(p->busiest.communicating, p->busiest.seconds) >= OWNING;
    const struct {
        bool applies;
        enum shoal_limit limit;
        void (*say)(struct shoal_profile *p);
    } rules[] = {
        {p->seconds < SHORT, SHOAL_LIMIT_SHORT, say_short},
        {is_oversubscribed(p), SHOAL_LIMIT_CORES, say_oversubscribed},
        {profile_part(p->work.other, p->work.seconds) >= ASIDE, SHOAL_LIMIT_ASIDE, say_aside},
        {is_slow_rank(p), SHOAL_LIMIT_RANK, say_slow_rank},
        {waits && p->link.can > 0 && link_explains(p) >= EXPLAINED, SHOAL_LIMIT_LINK, say_link},
        {queues, SHOAL_LIMIT_CORES, say_stolen},
        {waits && owners, SHOAL_LIMIT_OWNERS, say_owners},
        {waits && latency_explains(p) >= EXPLAINED, SHOAL_LIMIT_LATENCY, say_latency},
        {waits, SHOAL_LIMIT_ROUNDS, say_rounds},
        {exchanges, SHOAL_LIMIT_EXCHANGE, say_exchange},
        {idles && reads, SHOAL_LIMIT_DISK, say_disk},
        {idles, SHOAL_LIMIT_THREADS, say_threads},
        {computes, SHOAL_LIMIT_PROCESSOR, say_processor},
        {true, SHOAL_LIMIT_NONE, say_mixed},
    };
    size_t i = 0;

    while (!rules[i].applies)
        i++;
    p->limit = rules[i].limit;
    p->verdict[0] = '\0';
    say_who(p);
    rules[i].say(p);
}
