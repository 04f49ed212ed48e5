/* The account of a run: what it cost to train with others, where the time went, and the figures
 * that the caller gets. */
#include "train/run.h"

#include <string.h>

/* Collective: sums over all ranks, the same on each. */
static shoal_status sum_stats(struct run *r, uint64_t merged)
{
    struct shoal_rank_stats *s = &r->stats;
    unsigned owners = r->opts->servers ? r->opts->servers : comm_size(r->comm);
    double most = (double)merged;
    struct comm_stats c = comm_stats(r->comm);
    double sums[] = {c.waited, s->computed, most};
    uint64_t counts[5 + SHOAL_STALE_BINS] = {c.bytes_in, c.bytes_out, c.messages_out,
                                             s->rows_pushed, s->naive_bytes};
    shoal_status st;

    memcpy(counts + 5, s->stale, sizeof s->stale);
    st = comm_sum_u64(r->comm, counts, 5 + SHOAL_STALE_BINS);
    if (st == SHOAL_OK)
        st = comm_sum(r->comm, sums, 3);
    if (st == SHOAL_OK)
        st = comm_max(r->comm, &most, 1);
    *s = (struct shoal_rank_stats){
        .ranks = comm_size(r->comm),
        .servers = r->opts->servers,
        .bytes_in = counts[0],
        .bytes_out = counts[1],
        .messages = counts[2],
        .rows_pushed = counts[3],
        .naive_bytes = counts[4],
        .waited = sums[0],
        .computed = sums[1],
        .load_most = sums[2] > 0 ? most / sums[2] * owners : 1,
    };
    memcpy(s->stale, counts + 5, sizeof s->stale);
    return st;
}

static struct profile_facts facts_of(const struct run *r)
{
    struct profile_facts facts = {
        .sync = r->opts->sync.policy,
        .works = r->works,
        .slices = r->worked + (r->slice_began > 0 ? clock_now() - r->slice_began : 0),
    };

    facts.threads = facts.works ? r->threads : 1;
    r->engine->facts(r, &facts);
    return facts;
}

void run_timeline_begin(struct run *r)
{
    struct profile_facts facts = facts_of(r);

    timeline_begin(&r->profile, &facts);
}

void run_timeline_mark(struct run *r)
{
    struct profile_facts facts;

    if (!timeline_due(&r->profile))
        return;
    facts = facts_of(r);
    timeline_mark(&r->profile, &facts);
}

/* What several ranks cost, and where the time went. */
shoal_status run_account(struct run *r)
{
    struct profile_facts facts;
    uint64_t merged = 0;
    shoal_status st = SHOAL_OK;

    r->stats = r->engine->stats(r, &merged);
    r->stats.computed = r->worked;
    if (r->with)
        st = sum_stats(r, merged);
    if (st == SHOAL_OK && r->with)
        st = rendezvous_sum(r->with, &r->done); /* units of the profile are everybody's */
    facts = facts_of(r);
    if (st == SHOAL_OK && r->with && r->metrics)
        st = metrics_ranks(r->metrics, &r->stats);
    if (st == SHOAL_OK)
        st = profile_end(&r->profile, &facts);
    if (st == SHOAL_OK && r->metrics)
        st = metrics_profile(r->metrics, &r->profile);
    return st;
}

enum { AGAIN_NET = 5000, AGAIN_ROWS = 50000 }; /* examples, at most, for which that is soon done */

/* Whether few examples were held out to choose the number of epochs, and are worth more if they are
 * learned from. What can be resumed is one run. */
static bool learns_again(const struct run *r)
{
    const struct train_opts *o = r->opts;

    return r->chosen && o->early_stop > 0 && o->valid > 0 && !r->data->valid_rows &&
           !r->data->valid_samples && !o->checkpoint && !o->resume &&
           r->planned.examples + r->planned.held_out <= (r->dense ? AGAIN_NET : AGAIN_ROWS);
}

/* As many as were best; but a rate that falls to 0 sooner learns less in as many, so that of a net
 * half of what was planned is the least. */
static unsigned again_epochs(const struct run *r)
{
    unsigned best = r->taken ? (unsigned)r->at.kept : r->at.epoch;

    if (!learns_again(r))
        return 0;
    return r->dense && best < r->opts->epochs / 2 ? r->opts->epochs / 2 : best;
}

void run_stats(const struct run *r, struct shoal_train_stats *stats)
{
    *stats = (struct shoal_train_stats){
        .unit = r->task->is.unit,
        .examples = r->at.examples - r->first_examples,
        .steps = r->dense ? run_units(r) - r->first_units : 0,
        .seconds = r->at.seconds - r->first_seconds, .startup = r->startup, .figures = r->last,
        .memory = mem_peak(), .kernel = r->kernel ? r->kernel->name : NULL,
        .checkpoints = checkpoints_written(r->checkpoints), .resumed = r->opts->resume,
        .enough = r->enough, .ranks = r->stats, .profile = r->profile.result,
        .lr = r->planned.lr / (r->planned.lr_scale > 0 ? r->planned.lr_scale : 1),
        .best_epoch = r->taken ? (unsigned)r->at.kept : 0,
        .epochs = r->at.epoch,
        .again_epochs = again_epochs(r),
        .again = learns_again(r) ? r->planned.examples + r->planned.held_out : 0,
    };
    memcpy(stats->doubt, r->doubt, sizeof stats->doubt);
}
