/* Beginning and ending a run: what is trained, new or from a checkpoint, and whom it is
 * trained with. */
#include "train/run.h"

#include <math.h>
#include <string.h>

/* ---- the best that there was ---- */

static const char *const best_names[LEARNED_MOST] = {"best.0", "best.1", "best.2"};

static shoal_status open_best(struct run *r)
{
    struct table *learned[LEARNED_MOST];
    size_t n = r->opts->early_stop > 0 ? r->engine->learned(r, learned) : 0;
    shoal_status st = SHOAL_OK;

    for (; r->nbest < n && st == SHOAL_OK; r->nbest++) {
        st = table_init_like(&r->best[r->nbest], learned[r->nbest], learned[r->nbest]->rows);
        r->best[r->nbest].name = best_names[r->nbest];
    }
    return st;
}

void run_keep_best(struct run *r)
{
    struct table *learned[LEARNED_MOST];

    if (r->nbest == 0)
        return;
    r->engine->learned(r, learned);
    for (size_t i = 0; i < r->nbest; i++)
        memcpy(r->best[i].at, learned[i]->at, table_size(learned[i]));
    r->at.kept = r->at.epoch + 1;
}

bool run_take_best(struct run *r)
{
    struct table *learned[LEARNED_MOST];

    if (r->nbest == 0 || r->at.kept == 0 || r->at.no_better == 0)
        return false;
    r->engine->learned(r, learned);
    for (size_t i = 0; i < r->nbest; i++)
        memcpy(learned[i]->at, r->best[i].at, table_size(learned[i]));
    return true;
}

/* ---- checkpoints ---- */

/* What the engine has, and what was best of it: its rows have the same owners. */
static struct sections sections_of(struct run *r)
{
    struct sections s = {.n = 0};

    r->engine->sections(r, &s);
    for (size_t i = 0; i < r->nbest; i++)
        s.at[s.n + i] = (struct checkpoint_section){.table = &r->best[i], .deal = s.at[i].deal,
                                                    .best = true};
    s.n += r->nbest;
    s.comm = r->comm;
    s.rank = shoal_ranks_rank(r->opts->ranks);
    s.size = shoal_ranks_size(r->opts->ranks);
    return s;
}

static shoal_status load(struct run *r)
{
    struct sections s = sections_of(r);
    shoal_status st = checkpoint_load(r->opts, r->task, &r->identity, &s, &r->at, &r->last);

    if (st == SHOAL_OK && (r->at.epoch > r->epochs || r->at.place > r->units))
        st = shoal_fail(SHOAL_EFORMAT, "%s: the checkpoint is at unit %llu of epoch %u, beyond "
                        "the end", r->opts->checkpoint, (unsigned long long)r->at.place,
                        r->at.epoch);
    return st;
}

shoal_status run_values(struct run *r, shoal_status (*start)(struct run *r))
{
    shoal_status st = open_best(r);

    if (st != SHOAL_OK)
        return st;
    if (r->opts->resume)
        return load(r);
    return start ? start(r) : SHOAL_OK;
}

shoal_status run_make_plan(struct run *r)
{
    shoal_status st = opts_check_data(r->task, r->data);
    void *part = st == SHOAL_OK ? mem_array(1, r->engine->bytes) : NULL;

    if (st != SHOAL_OK || !part)
        return st == SHOAL_OK ? SHOAL_ENOMEM : st;
    r->rows = r->task->rows ? part : NULL;
    r->dense = r->task->net ? part : NULL;
    st = r->task->plan(r, &r->planned);
    r->planned.epochs = r->opts->epochs;
    r->planned.early_stop = r->opts->early_stop;
    r->planned.chosen = r->chosen;
    return st;
}

/* What one rank can find wrong by itself. */
static shoal_status prepare(struct run *r)
{
    const struct train_opts *o = r->opts;
    shoal_status st = run_make_plan(r);

    r->began = clock_now();
    r->threads = ranks_threads(o->ranks, o->threads);
    r->comm = shoal_ranks_size(o->ranks) > 1 ? ranks_comm(o->ranks) : NULL;
    r->leads = shoal_ranks_rank(o->ranks) == 0;
    r->works = shoal_ranks_rank(o->ranks) < opts_sharing(o);
    r->worker = o->local_input ? 0 : shoal_ranks_rank(o->ranks);
    r->sharing = o->local_input ? 1 : opts_sharing(o);
    r->schedule = o->schedule;
    r->at.best_loss = INFINITY;
    if (st == SHOAL_OK)
        st = profile_init(&r->profile, o->ranks);
    if (st == SHOAL_OK)
        st = plan_check(&r->planned);
    return st == SHOAL_OK ? kernel_choose(&r->kernel) : st;
}

/* Where one rank has no room for a replica, nobody has one. */
static shoal_status open_task(struct run *r)
{
    double blocks = r->planned.blocks;
    shoal_status st = r->comm ? comm_max(r->comm, &blocks, 1) : SHOAL_OK;

    r->planned.blocks = blocks > 0;
    return st == SHOAL_OK ? shoal_ranks_agree(r->opts->ranks, r->task->open(r)) : st;
}

/* A row is the same word or feature on every rank, whose files may not be the same. */
static shoal_status same_data(const struct run *r)
{
    const struct train_opts *o = r->opts;

    if (!o->local_input)
        return ranks_same(o->ranks, r->identity.fingerprint, "data");
    return r->identity.vocab
               ? ranks_same(o->ranks, vocab_fingerprint(r->identity.vocab), "a vocabulary")
               : SHOAL_OK;
}

static shoal_status open_files(struct run *r)
{
    const struct train_opts *o = r->opts;
    struct sections s = sections_of(r);
    shoal_status st = SHOAL_OK;

    if (o->checkpoint)
        st = checkpoints_open(&r->checkpoints, o, r->task, &r->identity, &s);
    if (st == SHOAL_OK && o->metrics && r->leads)
        st = metrics_open(&r->metrics, o, r->task, &r->planned, r->kernel->name);
    if (st == SHOAL_OK && o->tensorboard && r->leads)
        st = events_open(&r->events, o, r->task);
    if (st == SHOAL_OK && o->mlflow && r->leads)
        st = mlflow_open(&r->mlflow, o, r->task);
    return st;
}

/* Ranks agree after each part, so that nobody waits for one that failed. */
shoal_status run_begin(struct run *r)
{
    shoal_ranks *ranks = r->opts->ranks;
    shoal_status st;

    ranks_watch(ranks, r->opts->silence);
    st = shoal_ranks_agree(ranks, prepare(r));
    if (st == SHOAL_OK)
        st = open_task(r);
    if (st == SHOAL_OK)
        st = same_data(r);
    if (st == SHOAL_OK)
        st = shoal_ranks_agree(ranks, r->engine->open(r));
    if (st == SHOAL_OK && r->comm)
        st = rendezvous_open(&r->with, r->comm, opts_sharing(r->opts), r->opts->silence);
    return st == SHOAL_OK ? shoal_ranks_agree(ranks, open_files(r)) : st;
}

void run_end(struct run *r)
{
    r->engine->close(r);
    rendezvous_close(r->with);
    checkpoints_close(r->checkpoints);
    journal_close(r->metrics);
    events_close(r->events);
    mlflow_close(r->mlflow);
    profile_fini(&r->profile);
    for (size_t i = 0; i < r->nbest; i++)
        table_fini(&r->best[i]);
    r->task->close(r);
}
