/* The profile of a run on several ranks: figures that must add up, on every rank the
 * same. run.sh starts this program several times over; rank 0 prints TAP. */
#include "saved/saved.h"
#include "train/profile/profile.h"

#include "../unit/training.h"

#include "folder.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static shoal_corpus *corpus;

/* ---- runs -------------------------------------------------------------------------- */

static void make_corpus(void)
{
    struct shoal_world_opts world = shoal_world_default();
    struct shoal_encode_opts encode = shoal_encode_default();
    char text[96], path[96];
    const char *input = text;

    snprintf(text, sizeof text, "%s/world.txt", folder);
    snprintf(path, sizeof path, "%s/world.shoal", folder);
    world.words = 60000;
    if (rank == 0) {
        CHECK_OK(shoal_world_write(text, NULL, &world, NULL));
        CHECK_OK(shoal_encode(path, &input, 1, &encode, NULL));
    }
    CHECK_OK(shoal_ranks_agree(ranks, SHOAL_OK));
    CHECK_OK(shoal_corpus_open(&corpus, path));
}

static struct shoal_profile profile_of(const struct train_opts *o)
{
    struct shoal_train_stats stats = {0};
    shoal_vectors *v = NULL;

    CHECK_OK(train_words(&v, corpus, o, &stats));
    shoal_vectors_close(v);
    return stats.profile;
}

static struct train_opts small(enum shoal_sync sync)
{
    struct train_opts o = task_defaults("skipgram");

    o.dim = 24;
    o.epochs = 2;
    o.threads = 1;
    o.sync.policy = sync;
    o.sync.staleness = 2;
    o.ranks = size > 1 ? ranks : NULL;
    return o;
}

/* ---- what must hold of any ---------------------------------------------------------- */

static bool close_to(double a, double b, double within)
{
    return fabs(a - b) <= within;
}

static void check_row(const struct shoal_profile *p, const struct shoal_profile_rank *r, unsigned i)
{
    CHECK(r->rank == i && r->threads == 1 && r->cores >= 1 && r->awaited < p->ranks);
    CHECK(r->computing >= 0 && r->communicating >= 0 && r->waiting >= 0 && r->other >= 0);
    CHECK(close_to(r->computing + r->communicating + r->waiting + r->other, r->seconds,
                   0.02 * r->seconds));
    CHECK(r->seconds > 0 && r->seconds <= p->seconds);
    CHECK(r->user + r->system > 0 && r->user + r->system <= 2 * r->thread_seconds + 0.1);
    CHECK(r->memory > 1 << 20 && strlen(r->host) > 0);
    CHECK(r->far_out == 0 && r->far_in == 0); /* one machine */
    CHECK(r->awaited_seconds <= r->waiting + r->communicating + 1e-3);
    CHECK((r->computing > 0) == r->works);
}

static void check_sums(const struct shoal_profile *p)
{
    struct shoal_profile again = {0};

    for (unsigned i = 0; i < p->nrows; i++)
        profile_take(&again, &p->rows[i]);
    CHECK(close_to(again.all.computing, p->all.computing, 1e-9));
    CHECK(close_to(again.all.communicating, p->all.communicating, 1e-9));
    CHECK(close_to(again.all.waiting, p->all.waiting, 1e-9));
    CHECK(close_to(again.all.other, p->all.other, 1e-9));
    CHECK(close_to(again.all.user, p->all.user, 1e-9));
    CHECK(again.all.bytes_out == p->all.bytes_out && again.all.bytes_in == p->all.bytes_in);
    CHECK(again.all.memory == p->all.memory);
    CHECK(again.slowest.rank == p->slowest.rank && again.busiest.rank == p->busiest.rank);
}

/* What one sends, another receives: but for what was under way when they looked. */
static void check_traffic(const struct shoal_profile *p, uint64_t least)
{
    double out = (double)p->all.bytes_out, in = (double)p->all.bytes_in;

    CHECK(close_to(out, in, 0.02 * out + 4096));
    CHECK(size == 1 ? out <= 0 : p->all.bytes_out >= least);
}

/* Rank 0's, byte for byte: there are no bytes between that nobody set. */
static void check_same_everywhere(const struct shoal_profile *p)
{
    struct shoal_profile first = *p;

    CHECK_OK(shoal_ranks_share(ranks, &first, sizeof first));
    CHECK(strcmp(first.verdict, p->verdict) == 0);
    CHECK(first.limit == p->limit && first.nrows == p->nrows);
    CHECK(memcmp(&first.all.seconds, &p->all.seconds, sizeof(double)) == 0);
    CHECK(memcmp(&first.all.waiting, &p->all.waiting, sizeof(double)) == 0);
    CHECK(first.all.bytes_in == p->all.bytes_in);
}

static void check_profile(const struct shoal_profile *p, enum shoal_sync sync)
{
    CHECK(p->ranks == size && p->nrows == size && p->hosts == 1 && p->sync == sync);
    CHECK(p->units > 0 && p->seconds > 0);
    for (unsigned i = 0; i < p->nrows; i++)
        check_row(p, &p->rows[i], i);
    check_sums(p);
    CHECK(p->all.cores == p->rows[0].cores); /* of the one host */
    CHECK(p->crowd.threads == size && p->crowd.cores == p->all.cores && p->crowd.cpu > 0);
    CHECK(p->link.can <= 0);
    CHECK(size == 1 ? p->latency <= 0 : p->latency > 0 && p->latency < 10);
    CHECK(strlen(p->verdict) > 10);
    check_same_everywhere(p);
}

/* ---- the cases ------------------------------------------------------------------------- */

static void check_sync(enum shoal_sync sync)
{
    struct train_opts o = small(sync);
    struct shoal_profile p = profile_of(&o);

    check_profile(&p, sync);
    check_traffic(&p, 100000);
    if (size > 1)
        CHECK(p.all.communicating > 0 && p.all.waiting > 0 && p.all.waits > 0);
    else
        CHECK(p.all.communicating <= 0 && p.all.waiting <= 0);
}

static void the_profile_of_async_ranks_adds_up(void)
{
    check_sync(SHOAL_ASYNC);
}

static void the_profile_of_ranks_in_rounds_adds_up(void)
{
    check_sync(SHOAL_SYNC);
}

static void the_profile_of_bounded_ranks_adds_up(void)
{
    check_sync(SHOAL_BOUNDED);
}

static void the_profile_of_averaging_ranks_adds_up(void)
{
    check_sync(SHOAL_AVERAGE);
}

static void the_profile_of_lanes_adds_up(void)
{
    struct train_opts o = small(SHOAL_SYNC);
    struct shoal_profile p;

    o.deterministic = true;
    o.lanes = 4;
    p = profile_of(&o);
    check_profile(&p, SHOAL_SYNC);
    check_traffic(&p, 100000);
}

static void a_server_merges_and_waits(void)
{
    struct train_opts o = small(SHOAL_SYNC);
    struct shoal_profile p;
    const struct shoal_profile_rank *last;

    o.servers = size > 1;
    p = profile_of(&o);
    last = &p.rows[size - 1];
    check_profile(&p, SHOAL_SYNC);
    CHECK(last->works == (size == 1));
    if (size > 1) {
        CHECK(last->computing <= 0 && last->communicating > 0);
        CHECK(p.busiest.rank < size && p.slowest.rank < size - 1);
        CHECK(close_to(p.all.seconds - p.work.seconds, last->seconds, 1e-9));
    }
}

/* ---- other models ---- */

static void check_net(enum shoal_sync sync, unsigned servers)
{
    struct train_opts o = task_defaults("mlp");
    struct shoal_samples_opts read = shoal_samples_default();
    struct shoal_train_stats stats = {0};
    shoal_samples *samples = NULL;
    shoal_net *net = NULL;
    char path[96];

    snprintf(path, sizeof path, "%s/spiral.csv", folder);
    CHECK_OK(shoal_samples_open(&samples, path, &read));
    o.layers = "32";
    o.epochs = 3;
    o.batch = 50;
    o.threads = 1;
    o.sync.policy = sync;
    o.sync.staleness = 2;
    o.servers = size > 1 ? servers : 0;
    o.ranks = size > 1 ? ranks : NULL;
    CHECK_OK(train_mlp(&net, samples, NULL, &o, &stats));
    check_profile(&stats.profile, sync);
    check_traffic(&stats.profile, 1000);
    CHECK(strcmp(stats.profile.unit, "1,000 batches") == 0);
    CHECK(close_to(stats.profile.units * 1000, (double)stats.steps, 1e-6));
    shoal_net_close(net);
    shoal_samples_close(samples);
}

static void the_profile_of_a_net_adds_up(void)
{
    struct shoal_shapes_opts shapes = shoal_shapes_default(SHOAL_SPIRAL);
    char path[96];

    snprintf(path, sizeof path, "%s/spiral.csv", folder);
    shapes.samples = 2000;
    if (rank == 0)
        CHECK_OK(shoal_shapes_write(path, &shapes));
    CHECK_OK(shoal_ranks_agree(ranks, SHOAL_OK));
    check_net(SHOAL_SYNC, 0);
    check_net(SHOAL_ASYNC, 0);
    check_net(SHOAL_AVERAGE, 0);
    check_net(SHOAL_SYNC, 1);
}

static void the_profile_of_a_click_model_adds_up(void)
{
    static const enum shoal_sync syncs[] = {SHOAL_SYNC, SHOAL_ASYNC};
    struct shoal_gen_clicks_opts gen = shoal_gen_clicks_default();
    struct shoal_clicks_opts read = shoal_clicks_default();
    shoal_clicks *clicks = NULL;
    char path[96];
    const char *input = path;

    snprintf(path, sizeof path, "%s/clicks.tsv", folder);
    gen.rows = 4000;
    if (rank == 0)
        CHECK_OK(shoal_gen_clicks(path, &gen, NULL));
    CHECK_OK(shoal_ranks_agree(ranks, SHOAL_OK));
    CHECK_OK(shoal_clicks_read(&clicks, &input, 1, &read, NULL));
    for (size_t i = 0; i < 2; i++) {
        struct train_opts o = task_defaults("logreg");
        struct shoal_train_stats stats = {0};
        shoal_logreg *model = NULL;

        o.batch = 10;
        o.threads = 1;
        o.sync.policy = syncs[i];
        o.ranks = size > 1 ? ranks : NULL;
        CHECK_OK(train_logreg(&model, clicks, NULL, &o, &stats));
        check_profile(&stats.profile, syncs[i]);
        check_traffic(&stats.profile, 1000);
        CHECK(strcmp(stats.profile.unit, "1,000 batches") == 0);
        CHECK(close_to(stats.profile.units * 1000, (double)stats.examples / 10, 1));
        logreg_close(model);
    }
    shoal_clicks_close(clicks);
}

/* Some thousand marks of which each rank keeps a few; the first and the last are told. */
static void a_timeline_is_short_and_tells_of_all_the_time(void)
{
    enum { MARKS = 5000 };
    struct profile p;
    struct profile_facts facts = {.threads = 1, .works = true, .unit = "marks", .units = 1};

    CHECK_OK(profile_init(&p, ranks));
    timeline_begin(&p, &facts);
    CHECK(size > 1 || !timeline_due(&p));
    for (unsigned i = 1; i <= MARKS && size > 1; i++) {
        facts.slices = i * (rank + 1) * 1e-3;
        timeline_mark(&p, &facts);
    }
    CHECK_OK(profile_end(&p, &facts));
    for (unsigned r = 0; r < size; r++) {
        size_t n;
        const struct mark *marks = timeline_of(&p, r, &n);

        CHECK(size == 1 ? n == 0 : n > TIMELINE_MARKS / 2 && n <= TIMELINE_MARKS);
        for (size_t i = 1; i < n; i++)
            CHECK(marks[i].at >= marks[i - 1].at && marks[i].computing >= marks[i - 1].computing);
        CHECK(n == 0 || (marks[0].computing <= 0 &&
                         close_to(marks[n - 1].computing, MARKS * (r + 1) * 1e-3, 1e-9)));
    }
    profile_fini(&p);
}

/* What a rank did in one step, `late` seconds after ranks met, in three layers and two pieces. */
static struct step_trace some_step(const struct profile *p, double late)
{
    double at = p->timeline.began + late;

    return (struct step_trace){.layers = 3, .trips = 2, .pieces = 2, .step = 6,
                               .began = at, .backward = at + 1, .computed = at + 4, .ended = at + 5,
                               .ready = {at + 2, at + 3, at + 4},
                               .trip = {{at + 2, at + 3}, {at + 4, at + 5}}};
}

static void a_step_is_told_in_seconds_since_the_first_rank_began_it(void)
{
    struct profile p;
    struct profile_facts facts = {.threads = 1, .works = true, .unit = "steps", .units = 1};
    struct step_trace mine;

    CHECK_OK(profile_init(&p, ranks));
    timeline_begin(&p, &facts);
    mine = some_step(&p, 2 + 0.5 * (size - 1 - rank)); /* the last rank is the first */
    facts.step = &mine;
    CHECK_OK(profile_end(&p, &facts));
    CHECK(p.nsteps == (size > 1 ? size : 0));
    for (unsigned r = 0; r < p.nsteps; r++) {
        const struct step_trace *t = &p.steps[r];
        double late = 0.5 * (size - 1 - r);

        CHECK(t->step == 6 && t->layers == 3 && t->trips == 2 && t->pieces == 2);
        CHECK(close_to(t->began, late, 1e-6) && close_to(t->ended, late + 5, 1e-6));
        CHECK(close_to(t->ready[1], late + 3, 1e-6) && close_to(t->trip[1].sent, late + 4, 1e-6));
    }
    profile_fini(&p);
}

/* A damaged rank; every rank says so. */
static void a_step_whose_time_runs_back_is_refused(void)
{
    struct profile p;
    struct profile_facts facts = {.threads = 1, .works = true, .unit = "steps", .units = 1};

    for (unsigned what = 0; what < 4 && size > 1; what++) {
        struct step_trace mine;

        CHECK_OK(profile_init(&p, ranks));
        timeline_begin(&p, &facts);
        mine = some_step(&p, 1);
        if (rank == size - 1 && what == 0)
            mine.ready[1] = mine.ready[0] - 0.5;
        if (rank == size - 1 && what == 1)
            mine.trip[0].fresh = mine.trip[0].sent - 0.5;
        if (rank == size - 1 && what == 2)
            mine.trips = STEP_TRIPS + 1;
        if (rank == size - 1 && what == 3)
            mine.backward = NAN;
        facts.step = &mine;
        CHECK(profile_end(&p, &facts) == SHOAL_EFORMAT);
        CHECK(strstr(shoal_error(), "that are no step") != NULL);
        profile_fini(&p);
    }
}

static void every_rank_is_timed_from_its_own_beginning(void)
{
    struct train_opts o = small(SHOAL_SYNC);
    struct shoal_profile a = profile_of(&o), b = profile_of(&o);

    /* of the second run alone, not of both */
    CHECK(b.all.bytes_out < a.all.bytes_out + a.all.bytes_out / 2 + 4096);
    CHECK(b.all.bytes_out + 4096 > a.all.bytes_out / 2);
}

/* Whoever sleeps is waited for, and rank 0, which all waits go through, sees it. */
static bool last_was_waited_for(struct comm *c)
{
    struct comm_peer_stats before = comm_peer_stats(c, size - 1);
    struct comm_stats from = comm_stats(c), to;

    CHECK_OK(comm_barrier(c));
    if (rank == size - 1)
        usleep(900000);
    CHECK_OK(comm_barrier(c));
    to = comm_stats(c);
    CHECK(to.handled - from.handled <= to.waited - from.waited);
    if (rank == size - 1)
        return true;
    CHECK(to.waits > from.waits);
    return to.waited - to.handled - (from.waited - from.handled) > 0.05 &&
           (rank > 0 || comm_peer_stats(c, size - 1).awaited - before.awaited > 0.05);
}

/* Where a busy machine made the others as late, once more. */
static void the_rank_that_is_late_is_the_one_waited_for(void)
{
    struct comm *c = ranks_comm(ranks);
    double missed = 1;

    for (unsigned i = 0; i < 20 && missed > 0; i++) {
        missed = !last_was_waited_for(c);
        CHECK_OK(comm_max(c, &missed, 1));
    }
    CHECK(missed <= 0);
}

/* ---- TAP ------------------------------------------------------------------------------- */

int main(void)
{
    if (!begin_ranks())
        return 1;
    make_corpus();
    PASSES(the_profile_of_async_ranks_adds_up);
    PASSES(the_profile_of_ranks_in_rounds_adds_up);
    PASSES(the_profile_of_bounded_ranks_adds_up);
    PASSES(the_profile_of_averaging_ranks_adds_up);
    PASSES(the_profile_of_lanes_adds_up);
    PASSES(a_server_merges_and_waits);
    PASSES(the_profile_of_a_net_adds_up);
    PASSES(the_profile_of_a_click_model_adds_up);
    PASSES(a_timeline_is_short_and_tells_of_all_the_time);
    PASSES(a_step_is_told_in_seconds_since_the_first_rank_began_it);
    PASSES(a_step_whose_time_runs_back_is_refused);
    PASSES(every_rank_is_timed_from_its_own_beginning);
    PASSES(the_rank_that_is_late_is_the_one_waited_for);
    shoal_corpus_close(corpus);
    return end_ranks();
}
