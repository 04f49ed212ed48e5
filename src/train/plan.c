/* What options mean for every task: ranks, and what a run will take. */
#include "train/run.h"

unsigned opts_sharing(const struct train_opts *o)
{
    return shoal_ranks_size(o->ranks) - (shoal_ranks_size(o->ranks) > 1 ? o->servers : 0);
}

struct split opts_split(const struct train_opts *o, size_t n, size_t held, size_t least)
{
    return o->valid_at == VALID_END ? split_make_end(n, held) : split_make(n, held, least, o->seed);
}

double opts_lr(struct shoal_train_plan *plan, const struct train_opts *o, double usual,
               double factor)
{
    bool given = o->lr > 0;
    bool scaled = o->lr_scaling == LR_SCALING_ON || (o->lr_scaling == LR_SCALING_AUTO && !given);

    plan->lr_scale = scaled ? factor : 1;
    plan->lr = plan->lr_scale * (given ? o->lr : usual);
    return plan->lr;
}

static shoal_status check_deterministic(const struct train_opts *o, unsigned ranks)
{
    if (o->sync.policy != SHOAL_SYNC)
        return shoal_fail(SHOAL_EINVAL, "train: --deterministic with %u ranks, want --sync sync",
                          ranks);
    if (o->servers > 0)
        return shoal_fail(SHOAL_EINVAL, "train: --deterministic with --servers %u, whose ranks have "
                          "no lanes to bring together; want 0", o->servers);
    if (o->local_input)
        return shoal_fail(SHOAL_EINVAL, "train: --deterministic with --local-input: parts of the "
                          "input depend on the ranks");
    return SHOAL_OK;
}

static shoal_status check_blocks(unsigned ranks, const char *needs_whole)
{
    if (ranks == 1)
        return shoal_fail(SHOAL_EINVAL, "train: --replica blocks with 1 rank, want several");
    if (needs_whole)
        return shoal_fail(SHOAL_EINVAL, "train: --replica blocks with %s, which needs whole tables",
                          needs_whole);
    return SHOAL_OK;
}

shoal_status opts_check_ranks(const struct train_opts *o, const char *needs_whole)
{
    static const char *const wires[] = {"f32", "bf16", "int8", "int4"};
    unsigned ranks = shoal_ranks_size(o->ranks);
    bool average = o->sync.policy == SHOAL_AVERAGE;
    shoal_status st = SHOAL_OK;

    if (o->servers >= ranks && o->servers > 0)
        return shoal_fail(SHOAL_EINVAL, "train: --servers is %u of %u rank%s, want at least one "
                          "that trains", o->servers, ranks, ranks == 1 ? "" : "s");
    if (ranks > 1 && o->deterministic)
        st = check_deterministic(o, ranks);
    if (st == SHOAL_OK && o->replica == SHOAL_REPLICA_BLOCKS)
        st = check_blocks(ranks, needs_whole);
    if (st != SHOAL_OK || ranks == 1)
        return st;
    if (o->servers > 0 && average)
        return shoal_fail(SHOAL_EINVAL,
                          "train: --sync average with --servers %u, which would have "
                          "no rows to keep; want 0",
                          o->servers);
    if (o->wire != SHOAL_WIRE_F32 && o->wire != SHOAL_WIRE_AUTO && (o->deterministic || average))
        return shoal_fail(SHOAL_EINVAL, "train: --wire %s with --deterministic or --sync average, "
                          "where rows travel as they are; want f32", wires[o->wire]);
    return SHOAL_OK;
}

/* A task learns from what it learns from. */
shoal_status opts_check_data(const struct task *task, const struct shoal_sources *data)
{
    const struct {
        const void *is;
        const char *word;
    } wanted[] = {
        [DATA_TEXT] = {data->corpus, "a corpus"},
        [DATA_ROWS] = {data->rows, "rows"},
        [DATA_SAMPLES] = {data->samples, "samples"},
        [DATA_PICTURES] = {data->images, "pictures"},
        [DATA_LABELLED] = {data->labelled, "lines with labels"},
        [DATA_TEXT_AND_VECTORS] = {data->vectors ? data->corpus : NULL, "a corpus and vectors"},
    };

    if (wanted[task->data].is)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "train: %s found no data of its kind, want %s", task->is.name,
                      wanted[task->data].word);
}

void plan_sum(struct shoal_train_plan *plan, const struct train_opts *o)
{
    plan->held_bytes = mem_held();
    plan->memory_bytes =
        plan->rank_bytes + plan->work_bytes + plan->held_bytes + plan->checkpoint_bytes;
    plan->memory_limited = o->memory_limit > 0;
    plan->memory_free = o->memory_limit ? o->memory_limit : mem_available();
}

/* What is held already has found its place; the rest must. */
uint64_t plan_needs(const struct shoal_train_plan *p)
{
    return p->memory_bytes - p->held_bytes;
}

struct size_text {
    char text[32];
};

/* As the plan is printed. */
static struct size_text size_of(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct size_text out;
    double x = (double)bytes;
    size_t i = 0;

    for (; x >= 1023.5 && i < 6; i++)
        x /= 1024;
    number_print(out.text, sizeof out.text, "%.*f %s",
                 i == 0 ? 0 : x < 9.995 ? 2 : x < 99.95 ? 1 : 0, x, units[i]);
    return out;
}

shoal_status plan_check(const struct shoal_train_plan *p)
{
    uint64_t need = plan_needs(p);

    if (need <= p->memory_free)
        return SHOAL_OK;
    return shoal_fail(SHOAL_ELIMIT,
                      "train: needs %s of memory beside what is held (%s of it parameters), %s %s; "
                      "lower %s",
                      size_of(need).text, size_of(p->rank_bytes).text,
                      size_of(p->memory_free).text,
                      p->memory_limited ? "is the limit of --memory" : "is free", p->advice);
}
