/* A small classifier on 1 to 32 nodes, by an asynchronous parameter server. */
#include "study/classic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { EPOCHS = 100, BATCH = 32, SIMULATED_EPOCHS = 20, MICROSECONDS = 50 };

/* The rate falls, so that what the last epoch shows is no chance; and 32 nodes, whose gradients
 * are old, need it high to come as far as one. */
#define NET "--layers 64 --quorum 1 --optimizer adam --lr 0.008 --schedule cosine"

static const unsigned all_nodes[] = {1, 2, 4, 6, 8, 10, 16, 32};
enum { ALL = sizeof all_nodes / sizeof *all_nodes, QUICK = 3 };

/* The original's: speedup, training accuracy; what it did not tell is NaN. */
static const struct {
    unsigned nodes;
    double speedup, accuracy;
} original[] = {{1, 1, 0.757}, {8, 1.62, 0.523}, {32, 1.37, (double)NAN}};

static size_t count_nodes(const shoal_classic *c)
{
    return c->quick ? QUICK : ALL;
}

static unsigned epochs_of(const shoal_classic *c)
{
    return c->quick ? 40 : EPOCHS;
}

/* The machines that the time is predicted for. */
static void write_cluster(shoal_classic *c)
{
    struct prose t = {0};

    prose_add(&t,
              "{\"name\": \"nodes of one core on 10 Gbit/s\", \"nodes\": 32, \"cores\": 1, "
              "\"gigabits\": 10, \"microseconds\": %d, \"jitter\": 0.2, \"workers\": [",
              MICROSECONDS);
    for (size_t i = 0; i < count_nodes(c); i++)
        prose_add(&t, "%s%u", i ? ", " : "", all_nodes[i]);
    prose_add(&t, "]}\n");
    if (c->status == SHOAL_OK)
        c->status = prose_write_in(&t, c->folder, "cluster.json");
    prose_fini(&t);
}

static void add_data(shoal_classic *c)
{
    step_path(c, c->data ? NULL : "points.csv");
}

static void plan(shoal_classic *c)
{
    write_cluster(c);
    if (!c->data) {
        step_add(c, "points", 0, "points")->prepares = true;
        step_words(c, "gen spiral --quiet --samples %d --classes 4 --output",
                   c->quick ? 8000 : 40000);
        step_path(c, "points.csv");
    }
    for (size_t i = 0; i < count_nodes(c); i++) {
        unsigned n = all_nodes[i];

        step_add(c, "nodes", n, "%u %s", n, n == 1 ? "node" : "nodes");
        step_train(c, "mlp", n, 1, i == 0 ? "classifier.shoal" : NULL);
        add_data(c);
        step_words(c, NET " --rank-batch %d --sync async --epochs %u", BATCH, epochs_of(c));
    }
    step_add(c, "cluster", 0, "time on a cluster");
    step_words(c, "study mlp");
    add_data(c);
    step_words(c, "--workers 1,2 --sync async --epochs %d --repeat %d --quiet",
               c->quick ? 10 : SIMULATED_EPOCHS, c->quick ? 1 : 3);
    step_words(c, "--simulate");
    step_path(c, "cluster.json");
    step_words(c, "--output");
    step_path(c, "cluster");
    step_words(c, "-- " NET " --rank-batch %d", BATCH);
}

/* ---- what is told ---- */

/* What is predicted of the time on a cluster; false: nothing. */
struct foresight {
    shoal_study *study;
    struct shoal_cluster cluster;
    bool known;
    double epochs; /* of the experiment for each that was simulated */
};

/* What SimGrid came to, where it is installed: a training with each number of nodes above 1. */
static void take_simulated(struct foresight *f, const shoal_classic *c)
{
    for (size_t i = 0; i + 1 < count_nodes(c) && i < shoal_study_simulations(f->study, &f->cluster);
         i++) {
        char name[64], *path;

        snprintf(name, sizeof name, "cluster/runs/sim-001-%04u/metrics.jsonl", all_nodes[i + 1]);
        path = classic_path(c, name);
        if (path && access(path, R_OK) == 0)
            f->known =
                shoal_study_simulated(f->study, &f->cluster, i, NULL) == SHOAL_OK && f->known;
        free(path);
    }
}

static struct foresight foresee(const shoal_classic *c)
{
    struct foresight f = {.epochs = epochs_of(c) / (c->quick ? 10.0 : SIMULATED_EPOCHS)};
    char *folder = classic_path(c, "cluster"), *path = classic_path(c, "cluster.json");

    f.known = folder && path && step_of(c, "cluster", 0) &&
              record_read(&f.study, folder) == SHOAL_OK && f.study &&
              shoal_cluster_read(&f.cluster, path) == SHOAL_OK;
    if (f.known)
        take_simulated(&f, c);
    free(folder);
    free(path);
    return f;
}

static struct shoal_prediction predict(const struct foresight *f, unsigned nodes)
{
    struct shoal_prediction p = {.seconds = (double)NAN, .speedup = (double)NAN, .by = ""};
    struct shoal_prediction told;

    if (f->known && shoal_study_predict(f->study, 0, &f->cluster, nodes, &told))
        p = told;
    p.seconds *= f->epochs;
    return p;
}

static double original_of(unsigned nodes, bool speedup)
{
    for (size_t i = 0; i < sizeof original / sizeof *original; i++)
        if (original[i].nodes == nodes)
            return speedup ? original[i].speedup : original[i].accuracy;
    return (double)NAN;
}

static void tell_time(struct book *b, const shoal_classic *c, const struct foresight *f)
{
    struct sheet *s =
        book_sheet(b, "time", "Execution time of %u epochs, on a cluster and here", epochs_of(c));
    double here = step_measures(step_with(c, "nodes", 1, 0)).seconds;

    sheet_column(s, "nodes", AS_COUNT);
    sheet_column(s, "execution time", AS_TIME);
    sheet_column(s, "speedup", AS_PLAIN);
    sheet_column(s, "how", AS_WORD);
    sheet_column(s, "most of it", AS_WORD);
    sheet_column(s, "time here", AS_TIME);
    sheet_column(s, "speedup here", AS_PLAIN);
    sheet_column(s, "original speedup", AS_PLAIN);
    for (size_t i = 0; i < count_nodes(c); i++) {
        const struct step *run = step_with(c, "nodes", all_nodes[i], 0);
        struct shoal_prediction p = predict(f, all_nodes[i]);

        sheet_row(s);
        sheet_number(s, all_nodes[i]);
        sheet_number(s, p.seconds);
        sheet_number(s, p.speedup);
        sheet_word(s, "%s", p.by);
        sheet_word(s, "%s", p.limit ? p.limit : "");
        sheet_number(s, step_measures(run).seconds);
        sheet_number(s, here / step_measures(run).seconds);
        sheet_number(s, original_of(all_nodes[i], true));
    }
    sheet_note(s,
               "Execution time: of nodes with one core each on 10 Gbit/s with 50 microseconds "
               "(cluster.json), without a node that only serves; `how` says whether it was "
               "measured, trained under SimGrid with simulated time, or predicted by a formula; "
               "%g of the epochs, multiplied. Most of it: what the largest part of the time is; "
               "waiting is for answers, latency the part of it that the way of a message takes, "
               "and exchanging the processor time to send and to merge.",
               epochs_of(c) / f->epochs);
    sheet_note(s, "Time here: measured, all nodes and the server as processes that share the cores "
                  "of this machine.");
}

static void tell_accuracy(struct book *b, const shoal_classic *c)
{
    struct sheet *s =
        book_sheet(b, "accuracy", "Training accuracy and loss after %u epochs", epochs_of(c));
    double one = step_last(step_with(c, "nodes", 1, 0), "done", "train.accuracy"), most = 0;

    sheet_column(s, "nodes", AS_COUNT);
    sheet_column(s, "training accuracy", AS_POINTS);
    sheet_column(s, "loss", AS_PLAIN);
    sheet_column(s, "held-out accuracy", AS_POINTS);
    sheet_column(s, "steps", AS_COUNT);
    sheet_column(s, "original accuracy", AS_POINTS);
    for (size_t i = 0; i < count_nodes(c); i++) {
        const struct step *run = step_with(c, "nodes", all_nodes[i], 0);
        double accuracy = step_last(run, "done", "train.accuracy");

        if (!run)
            continue;
        most = fmax(most, one - accuracy);
        sheet_row(s);
        sheet_number(s, all_nodes[i]);
        sheet_number(s, accuracy);
        sheet_number(s, step_last(run, "done", "train.loss"));
        sheet_number(s, step_last(run, "done", "valid.accuracy"));
        sheet_number(s, step_measures(run).steps);
        sheet_number(s, original_of(all_nodes[i], false));
    }
    sheet_note(s,
               "All trained for real, by so many processes. The furthest below one node: %.2f "
               "points; the original lost 23.4 from 1 node to 8.",
               100 * most);
}

static void draw_speedup(struct book *b, const shoal_classic *c, const struct foresight *f)
{
    book_chart(b, "speedup", "Speedup against nodes", "nodes", BY_NODES, "speedup", BY_LOG);
    book_line(b, "on a cluster");
    for (size_t i = 0; i < count_nodes(c); i++)
        book_point(b, all_nodes[i], predict(f, all_nodes[i]).speedup);
    book_line(b, "original");
    for (size_t i = 0; i < count_nodes(c); i++)
        book_point(b, all_nodes[i], original_of(all_nodes[i], true));
    book_ideal(b, "ideal");
    for (size_t i = 0; i < count_nodes(c); i++)
        book_point(b, all_nodes[i], all_nodes[i]);
}

static void draw_accuracy(struct book *b, const shoal_classic *c)
{
    book_chart(b, "accuracy", "Training accuracy against nodes", "nodes", BY_NODES, "accuracy",
               BY_PLAIN);
    book_line(b, "here");
    for (size_t i = 0; i < count_nodes(c); i++)
        book_point(b, all_nodes[i],
                   step_last(step_with(c, "nodes", all_nodes[i], 0), "done", "train.accuracy"));
    book_line(b, "original");
    for (size_t i = 0; i < count_nodes(c); i++)
        book_point(b, all_nodes[i], original_of(all_nodes[i], false));
}

/* Which part limits: what a step computes, against how soon the next may begin. A node may have
 * two gradients without an answer (store/dense.h), so it makes two steps in the time of a way
 * there and back. */
static void tell_why(struct book *b, const shoal_classic *c, const struct foresight *f)
{
    double step = 1e6 * predict(f, 1).seconds / step_measures(step_with(c, "nodes", 1, 0)).steps;

    if (!isfinite(step))
        return;
    book_note(b,
              "Why the cluster gains so little: a step of %d points computes for %.1f "
              "microseconds, but a gradient and its answer take %d on the network. Two may be on "
              "their way, so a node makes a step in %d microseconds at best, and %.0f nodes are "
              "needed to be as fast as one alone. And all gradients go to one node, which owns "
              "the few parameters: it takes in no more of them, however many nodes there are. A "
              "larger net or a larger batch computes longer for each message.",
              BATCH, step, 2 * MICROSECONDS, MICROSECONDS, ceil(fmax(1, MICROSECONDS / step)));
}

static void tell(struct book *b, const shoal_classic *c)
{
    struct foresight f = foresee(c);

    tell_time(b, c, &f);
    tell_accuracy(b, c);
    draw_speedup(b, c, &f);
    draw_accuracy(b, c);
    book_note(b, "Accuracy is the share of points whose likeliest class is theirs; training "
                 "accuracy that of the last epoch, measured while it was learned from. The points "
                 "are not the original's, so accuracies compare along a column, not across.");
    book_note(b, "All nodes do the same epochs (strong scaling): n nodes take an nth of the steps "
                 "each.");
    tell_why(b, c, &f);
    shoal_study_close(f.study);
}

const struct classic classic_classifier = {
    .name = "classifier",
    .summary = "a small classifier on 1 to 32 nodes by an asynchronous parameter server",
    .takes = "a CSV of points, the class in the last column",
    .experiment =
        "40,000 points of the plane in 4 classes, of which a tenth is held out; two dense layers, "
        "64 units with ReLU and a softmax; 100 epochs with batches of 32 on 1, 2, 4, 6, 8, 10, 16 "
        "and 32 nodes of one thread and one asynchronous parameter server, which steps for each "
        "gradient as it comes.",
    .change = "Take your own points with `shoal classic classifier --data FILE`. `cluster.json` "
              "describes the machines that the time is told for: change it, and give the last "
              "command again. For another net copy a command from above and change its options: "
              "`shoal train mlp --help` lists them.",
    .plan = plan,
    .tell = tell,
};
