/* What each rank spent its steps on, and whether all hold the same model. */
#include "train/net_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- times of a step ---- */

static double waited(const struct net_run *r)
{
    return r->comm ? comm_stats(r->comm).waited : 0;
}

void net_clock_begin(struct net_run *r, struct net_clock *c)
{
    *c = (struct net_clock){.at = clock_now(), .waited = waited(r)};
}

void net_clock_meeting(struct net_run *r, const struct net_clock *c)
{
    double wait = waited(r) - c->waited;

    r->times.wait += wait;
    r->times.communicate += clock_now() - c->at - wait;
}

void net_clock_step(struct net_run *r, const struct net_clock *c, const struct net_times *before)
{
    double met = r->times.wait + r->times.communicate - before->wait - before->communicate;

    r->times.compute += clock_now() - c->at - met;
    r->times.steps++;
}

struct net_times net_times_since(const struct net_times *now, const struct net_times *then)
{
    uint64_t steps = now->steps - then->steps;
    double by = steps > 0 ? 1 / (double)steps : 0;

    return (struct net_times){.steps = steps,
                              .compute = (now->compute - then->compute) * by,
                              .wait = (now->wait - then->wait) * by,
                              .communicate = (now->communicate - then->communicate) * by};
}

/* ---- all ranks ---- */

static struct shoal_net_node node_of(const struct net_run *r)
{
    struct net_times mean = net_times_since(&r->times, &(struct net_times){0});
    struct shoal_net_node node = {.rank = r->comm ? comm_rank(r->comm) : 0,
                                  .steps = mean.steps,
                                  .compute = mean.compute,
                                  .wait = mean.wait,
                                  .communicate = mean.communicate};

    snprintf(node.host, sizeof node.host, "%s", r->comm ? comm_host(r->comm, node.rank) : "");
    return node;
}

/* The first SHOAL_NODES of them. */
shoal_status net_nodes(struct net_run *r)
{
    struct shoal_net_node mine = node_of(r);
    char *data = NULL;
    size_t *lens = NULL, at = 0;
    unsigned ranks = r->comm ? comm_size(r->comm) : 1;
    shoal_status st;

    r->nodes[0] = mine;
    r->nnodes = ranks < SHOAL_NODES ? ranks : SHOAL_NODES;
    if (!r->comm)
        return SHOAL_OK;
    st = comm_gather(r->comm, &mine, sizeof mine, &data, &lens);
    for (unsigned i = 0; data && lens && i < r->nnodes; at += lens[i], i++)
        if (lens[i] == sizeof mine)
            memcpy(&r->nodes[i], data + at, sizeof mine);
    free(data);
    free(lens);
    return st;
}

/* Of one rank alone, making the step is computing too. */
static struct profile_facts facts_of(const struct net_run *r)
{
    const struct net_times *t = &r->times;
    uint64_t steps = r->at.epoch * r->steps + r->at.step - r->first_steps;
    bool works = dense_works(r->dense);
    struct profile_facts facts = {
        .sync = r->opts->sync,
        .works = works,
        .threads = works ? r->threads : 1,
        .stretches = t->compute + t->wait + t->communicate,
        .unit = "1,000 batches",
        .units = (double)steps / 1000,
    };

    if (r->comm)
        facts.store = (struct store_times){.steps = t->wait + t->communicate, .waited = t->wait};
    return facts;
}

shoal_status net_profile(struct net_run *r)
{
    struct profile_facts facts = facts_of(r);

    return profile_end(&r->profile, &facts);
}

void net_timeline(struct net_run *r)
{
    struct profile_facts facts = facts_of(r);

    timeline_begin(&r->profile, &facts);
}

void net_mark(struct net_run *r)
{
    struct profile_facts facts;

    if (!timeline_due(&r->profile))
        return;
    facts = facts_of(r);
    timeline_mark(&r->profile, &facts);
}

/* ---- one model ---- */

/* After a meeting every rank has the same parameters, to the last bit; one that has
 * not would train another model from here on. */
shoal_status net_check_same(struct net_run *r)
{
    uint64_t mine, first;
    shoal_status st;

    if (!r->comm)
        return SHOAL_OK;
    first = mine = hash_bytes(1, r->params, r->net->size * sizeof *r->params);
    st = comm_broadcast(r->comm, 0, &first, sizeof first);
    if (st == SHOAL_OK && first != mine)
        st = shoal_fail(SHOAL_EIO,
                        "train: rank %u on %s holds other parameters than rank 0 (checksum "
                        "%016llx, want %016llx)",
                        comm_rank(r->comm), comm_host(r->comm, comm_rank(r->comm)),
                        (unsigned long long)mine, (unsigned long long)first);
    return st == SHOAL_EPEER ? st : comm_agree(r->comm, st);
}
