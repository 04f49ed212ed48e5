/* Nets that ranks train together: run.sh starts this program several times over.
 * Rank 0 prints TAP. */
#include "../unit/training.h"

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EPOCHS = 8 };

static shoal_ranks *ranks;
static shoal_samples *samples;

static void make_samples(void)
{
    struct shoal_shapes_opts shapes = shoal_shapes_default(SHOAL_BLOBS);
    struct shoal_samples_opts read = shoal_samples_default();
    char path[64];

    snprintf(path, sizeof path, "/tmp/shoal-net-ranks-%d.csv", (int)getpid());
    shapes.samples = 2000;
    CHECK_OK(shoal_shapes_write(path, &shapes));
    CHECK_OK(shoal_samples_open(&samples, path, &read));
    unlink(path);
}

struct curve {
    double loss[EPOCHS], valid[EPOCHS];
};

static bool note(void *user, const struct shoal_report *r)
{
    struct curve *c = user;

    if (r->event == SHOAL_EVENT_EPOCH) {
        c->loss[r->epoch - 1] = training(&r->figures, "loss");
        c->valid[r->epoch - 1] = validation(&r->figures, "loss");
    }
    return true;
}

static struct train_opts opts_of(enum shoal_sync sync, struct curve *curve)
{
    struct train_opts o = task_defaults("mlp");

    o.layers = "16";
    o.epochs = EPOCHS;
    o.global_batch = 64;
    o.lr = 0.01;
    o.sync.policy = sync;
    o.sync.staleness = 4;
    o.ranks = size > 1 ? ranks : NULL;
    o.report = note;
    o.user = curve;
    return o;
}

static void sync_is_one_rank(unsigned servers, const char *name)
{
    struct curve together = {0}, alone = {0};
    struct train_opts o = opts_of(SHOAL_SYNC, &together);
    shoal_net *net = NULL, *one = NULL;

    o.servers = size > 1 ? servers : 0;
    CHECK_OK(train_mlp(&net, samples, NULL, &o, NULL));
    CHECK((net != NULL) == (rank == 0));
    if (rank == 0) {
        o.ranks = NULL;
        o.servers = 0;
        o.user = &alone;
        CHECK_OK(train_mlp(&one, samples, NULL, &o, NULL));
        for (unsigned e = 0; e < EPOCHS; e++) {
            CHECK(fabs(together.loss[e] - alone.loss[e]) < 1e-4);
            CHECK(fabs(together.valid[e] - alone.valid[e]) < 1e-4);
        }
        CHECK(alone.loss[EPOCHS - 1] < alone.loss[0] / 2);
    }
    shoal_net_close(net);
    shoal_net_close(one);
    end_case(ranks_comm(ranks), name);
}

static void accuracy_stays(enum shoal_sync sync, unsigned servers, const char *name)
{
    struct curve curve;
    struct train_opts o = opts_of(sync, &curve);
    struct shoal_train_stats stats;
    shoal_net *net;

    o.servers = size > 1 ? servers : 0;
    o.schedule = SHOAL_COSINE;
    CHECK_OK(train_mlp(&net, samples, NULL, &o, &stats));
    CHECK(validation(&stats.figures, "accuracy") > 0.95);
    CHECK(stats.examples == EPOCHS * 1800);
    shoal_net_close(net);
    end_case(ranks_comm(ranks), name);
}

static bool stop_halfway(void *user, const struct shoal_report *r)
{
    (void)user;
    return r->progress < 0.4;
}

static void it_goes_on_bit_for_bit(enum shoal_sync sync, const char *name)
{
    struct curve curve;
    struct train_opts o = opts_of(sync, &curve);
    char folder[64] = "", command[128];
    shoal_net *straight = NULL, *net = NULL;

    if (rank == 0) {
        snprintf(folder, sizeof folder, "/tmp/shoal-net-ranks-XXXXXX");
        CHECK(mkdtemp(folder) != NULL);
    }
    CHECK_OK(shoal_ranks_share(ranks, folder, sizeof folder));
    o.report_steps = 5;
    o.report = NULL;
    CHECK_OK(train_mlp(&straight, samples, NULL, &o, NULL));
    o.checkpoint = folder;
    o.report = stop_halfway;
    CHECK(train_mlp(&net, samples, NULL, &o, NULL) == SHOAL_ESTOP);
    o.resume = true;
    o.report = NULL;
    CHECK_OK(train_mlp(&net, samples, NULL, &o, NULL));
    if (rank == 0 && net && straight)
        CHECK(memcmp(net->params, straight->params, net->net->size * sizeof(float)) == 0);
    shoal_net_close(net);
    shoal_net_close(straight);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (rank == 0)
        CHECK(system(command) == 0);
    end_case(ranks_comm(ranks), name);
}

/* One rank finds its data wrong; all hear of it and nobody hangs. */
static void all_hear_of_a_failure(void)
{
    struct curve curve;
    struct train_opts o = opts_of(SHOAL_SYNC, &curve);
    shoal_net *net = NULL;

    if (rank == size - 1)
        o.servers = size;
    CHECK(train_mlp(&net, samples, NULL, &o, NULL) == SHOAL_EINVAL);
    CHECK(strstr(shoal_error(), "want at least one that trains") != NULL);
    end_case(ranks_comm(ranks), "what one rank finds wrong, all hear");
}

int main(void)
{
    if (shoal_ranks_join(&ranks) != SHOAL_OK) {
        fprintf(stderr, "# %s\n", shoal_error());
        return 1;
    }
    fragile = ranks_comm(ranks);
    rank = shoal_ranks_rank(ranks);
    size = shoal_ranks_size(ranks);
    make_samples();
    sync_is_one_rank(0, "sync has the loss curve of one rank");
    sync_is_one_rank(size / 2, "sync with servers has it too");
    accuracy_stays(SHOAL_ASYNC, 0, "async keeps the accuracy");
    accuracy_stays(SHOAL_ASYNC, size / 2, "async with servers keeps the accuracy");
    accuracy_stays(SHOAL_BOUNDED, 0, "bounded:4 keeps the accuracy");
    accuracy_stays(SHOAL_AVERAGE, 0, "average:4 keeps the accuracy");
    it_goes_on_bit_for_bit(SHOAL_SYNC, "sync goes on bit for bit");
    it_goes_on_bit_for_bit(SHOAL_AVERAGE, "average goes on bit for bit");
    all_hear_of_a_failure();
    if (rank == 0)
        printf("1..%u\n", cases);
    shoal_samples_close(samples);
    shoal_ranks_leave(ranks, SHOAL_OK);
    return all_passed ? 0 : 1;
}
