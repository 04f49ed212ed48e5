/* A VGG that ranks train together: run.sh starts this program several times over.
 * Rank 0 prints TAP. */
#include "../unit/training.h"

#include "check.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PICTURES = 48, BATCH = 24, CLASSES = 3 };

static shoal_ranks *ranks;
static char folder[64];

/* ---- pictures, the same for all: an IDX pair that rank 0 writes ---- */

static void put(const char *name, const uint8_t *data, size_t len)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "wb");
    CHECK(f && fwrite(data, 1, len, f) == len && fclose(f) == 0);
}

static void put_pictures(void)
{
    static uint8_t images[16 + PICTURES * 64], labels[8 + PICTURES];
    const uint8_t image_head[16] = {0, 0, 8, 3, 0, 0, 0, PICTURES, 0, 0, 0, 8, 0, 0, 0, 8};
    const uint8_t label_head[8] = {0, 0, 8, 1, 0, 0, 0, PICTURES};

    memcpy(images, image_head, 16);
    memcpy(labels, label_head, 8);
    for (size_t i = 0; i < PICTURES; i++) {
        labels[8 + i] = (uint8_t)(i % CLASSES);
        for (size_t p = 0; p < 64; p++)
            images[16 + i * 64 + p] =
                (uint8_t)(rng_at(3, i, p) % 150 + (p / 8 % CLASSES == i % CLASSES ? 90 : 0));
    }
    put("train-images-idx3-ubyte", images, sizeof images);
    put("train-labels-idx1-ubyte", labels, sizeof labels);
}

static shoal_images *pictures(void)
{
    struct shoal_images_opts opts = shoal_images_default();
    shoal_images *set = NULL;

    if (rank == 0) {
        snprintf(folder, sizeof folder, "/tmp/shoal-test-XXXXXX");
        CHECK(mkdtemp(folder) != NULL);
        put_pictures();
    }
    CHECK_OK(shoal_ranks_share(ranks, folder, sizeof folder));
    CHECK_OK(shoal_images_open(&set, folder, &opts));
    return set;
}

static void remove_pictures(void)
{
    char path[128];

    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/train-labels-idx1-ubyte", folder);
    unlink(path);
    rmdir(folder);
}

/* ---- training ---- */

struct curve {
    double loss[32];
    size_t n;
};

static bool note(void *user, const struct shoal_report *r)
{
    struct curve *c = user;

    if (r->event == SHOAL_EVENT_EPOCH && c->n < 32) /* of all ranks */
        c->loss[c->n++] = training(&r->figures, "loss");
    return true;
}

static struct train_opts opts_of(struct curve *c, bool together)
{
    struct train_opts o = task_defaults("vgg");

    o.base = 16;
    o.sync_bn = true;
    o.crop = 1;
    o.lr = 0.02;
    o.warmup = 0;
    o.epochs = 6;
    o.global_batch = BATCH;
    o.valid = 0;
    o.threads = 1;
    o.report = note;
    o.user = c;
    o.ranks = together && size > 1 ? ranks : NULL;
    return o;
}

/* With statistics over all ranks, a batch shared out is the batch of one: what
 * differs is the order of sums. */
static void follows_one_rank(const shoal_images *set, struct comm *c, unsigned servers)
{
    struct curve apart = {0}, one = {0};
    struct train_opts o = opts_of(&apart, true), alone = opts_of(&one, false);
    struct shoal_train_stats stats;
    const struct shoal_profile_rank *last = &stats.profile.rows[size - 1 - servers];
    shoal_net *net = NULL;

    o.servers = servers;
    CHECK_OK(train_vgg(&net, set, NULL, &o, &stats));
    CHECK((net != NULL) == (rank == 0));
    CHECK(rank > 0 || stats.profile.nrows == size);
    CHECK(rank > 0 || (last->rank == size - 1 - servers && last->steps == 12 && last->computing > 0));
    shoal_net_close(net);
    CHECK_OK(train_vgg(&net, set, NULL, &alone, NULL));
    shoal_net_close(net);
    CHECK(rank > 0 || (apart.n == one.n && one.n == 6));
    for (size_t i = 0; rank == 0 && i < one.n; i++)
        CHECK(fabs(apart.loss[i] - one.loss[i]) < 0.01 * one.loss[i]);
    end_case(c, servers ? "and so they do when another rank keeps the parameters"
                        : "with shared statistics several ranks follow the losses of one");
}

static void own_statistics_train_too(const shoal_images *set, struct comm *c)
{
    struct curve curve = {0};
    struct train_opts o = opts_of(&curve, true);
    shoal_net *net = NULL;

    o.sync_bn = false;
    CHECK_OK(train_vgg(&net, set, NULL, &o, NULL));
    CHECK(rank > 0 || curve.loss[curve.n - 1] < curve.loss[0]);
    shoal_net_close(net);
    end_case(c, "with statistics of their own they learn, and all hold the same model");
}

int main(void)
{
    shoal_images *set;
    struct comm *c;

    if (shoal_ranks_join(&ranks) != SHOAL_OK) {
        fprintf(stderr, "# %s\n", shoal_error());
        return 1;
    }
    rank = shoal_ranks_rank(ranks);
    size = shoal_ranks_size(ranks);
    c = ranks_comm(ranks);
    set = pictures();
    if (set) {
        follows_one_rank(set, c, 0);
        if (size > 1)
            follows_one_rank(set, c, 1);
        own_statistics_train_too(set, c);
    }
    shoal_images_close(set);
    if (rank == 0) {
        remove_pictures();
        printf("1..%u\n", cases);
    }
    shoal_ranks_leave(ranks, SHOAL_OK);
    return set && all_passed ? 0 : 1;
}
