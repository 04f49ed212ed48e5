/* VGG-11 on pictures of CIFAR-10's kind: the time of an iteration, alone and on three nodes. */
#include "study/classic.h"

#include <stdio.h>

enum { ITERATIONS = 10, BATCH = 256, QUICK_BATCH = 32, QUICK_ITERATIONS = 4 };

static const unsigned nodes[] = {1, 3};
enum { NODES = sizeof nodes / sizeof *nodes };

static unsigned batch_of(const shoal_classic *c)
{
    return c->quick ? QUICK_BATCH : BATCH;
}

static unsigned iterations_of(const shoal_classic *c)
{
    return c->quick ? QUICK_ITERATIONS : ITERATIONS;
}

/* Without --steps: epochs that have them, of generated pictures; of CIFAR-10 one is enough. */
static void add_work(shoal_classic *c, unsigned n)
{
    if (step_has("vgg", "steps"))
        step_words(c, "--steps %u", iterations_of(c));
    else
        step_words(c, "--epochs %u", c->data ? 1 : n);
}

static void plan(shoal_classic *c)
{
    if (!c->data) {
        step_add(c, "pictures", 0, "pictures")->prepares = true;
        step_words(c, "gen pictures --quiet --train %u --test %d --output",
                   iterations_of(c) * batch_of(c), c->quick ? 20 : 200);
        step_path(c, "pictures");
    }
    for (size_t i = 0; i < NODES; i++) {
        step_add(c, "nodes", nodes[i], "%u %s", nodes[i], nodes[i] == 1 ? "node" : "nodes");
        step_train(c, "vgg", nodes[i], 0, i == 0 ? "vgg.mar" : NULL);
        step_path(c, c->data ? NULL : "pictures");
        step_words(c, "--depth 11 --rank-batch %u --sync sync%s", batch_of(c),
                   c->quick ? " --base 16" : "");
        add_work(c, nodes[i]);
    }
}

/* ---- what is told ---- */

/* Seconds of an iteration of one rank: what it computed, exchanged and waited for. */
static double seconds_of(const struct step *run, unsigned rank, const char *part)
{
    char path[64], steps[64];

    snprintf(path, sizeof path, "per_rank.%u.%s", rank, part);
    snprintf(steps, sizeof steps, "per_rank.%u.steps", rank);
    return step_last(run, "profile", path) / step_last(run, "profile", steps);
}

static double iteration_of(const struct step *run, unsigned rank)
{
    return seconds_of(run, rank, "computing") + seconds_of(run, rank, "communicating") +
           seconds_of(run, rank, "waiting");
}

static void tell_iterations(struct book *b, const shoal_classic *c)
{
    static const double original[] = {1.903, 1.976}; /* alone, of three */
    struct sheet *s =
        book_sheet(b, "iterations", "Average time per iteration, batch %u a node", batch_of(c));

    sheet_column(s, "nodes", AS_COUNT);
    sheet_column(s, "node", AS_COUNT);
    sheet_column(s, "time per iteration", AS_TIME);
    sheet_column(s, "computing", AS_TIME);
    sheet_column(s, "all-reduce", AS_TIME);
    sheet_column(s, "waiting", AS_TIME);
    sheet_column(s, "iterations", AS_COUNT);
    sheet_column(s, "pictures/s, all nodes", AS_SHORT);
    sheet_column(s, "original", AS_TIME);
    for (size_t i = 0; i < NODES; i++) {
        const struct step *run = step_with(c, "nodes", nodes[i], 0);

        for (unsigned k = 0; run && k < nodes[i]; k++) {
            sheet_row(s);
            sheet_number(s, nodes[i]);
            sheet_number(s, k + 1);
            sheet_number(s, iteration_of(run, k));
            sheet_number(s, seconds_of(run, k, "computing"));
            sheet_number(s, seconds_of(run, k, "communicating"));
            sheet_number(s, seconds_of(run, k, "waiting"));
            sheet_number(s, step_measures(run).steps);
            sheet_number(s, step_measures(run).rate);
            sheet_number(s, original[i]);
        }
    }
    sheet_note(s, "The original's three nodes had a processor each, and an iteration took 3.8 %% "
                  "longer than alone. Here all nodes are processes of one thread that share the "
                  "cores of this machine.");
}

static void draw_iterations(struct book *b, const shoal_classic *c)
{
    book_chart(b, "iterations", "Time per iteration of the first node", "nodes", BY_NODES, "time",
               BY_SECONDS);
    book_line(b, "here");
    for (size_t i = 0; i < NODES; i++)
        book_point(b, nodes[i], iteration_of(step_with(c, "nodes", nodes[i], 0), 0));
    book_line(b, "original");
    book_point(b, 1, 1.903);
    book_point(b, 3, 1.976);
}

static void draw_loss(struct book *b, const shoal_classic *c)
{
    book_chart(b, "loss", "Loss against iterations", "iterations", BY_COUNT, "loss", BY_PLAIN);
    for (size_t i = 0; i < NODES; i++) {
        const struct step *run = step_with(c, "nodes", nodes[i], 0);
        size_t n = run ? lines_count(run->lines, "interval") : 0;

        if (!run)
            continue;
        book_line(b, "%u %s", nodes[i], nodes[i] == 1 ? "node" : "nodes");
        for (size_t k = 0; k < n; k++)
            book_point(b, lines_number(run->lines, "interval", k, "steps"),
                       lines_number(run->lines, "interval", k, "train.loss"));
    }
}

static void tell(struct book *b, const shoal_classic *c)
{
    struct prose t = {0};

    tell_iterations(b, c);
    draw_iterations(b, c);
    draw_loss(b, c);
    prose_add(&t,
              "shoal serve vgg=%s/vgg.mar\n\n"
              "and from another terminal, with any JPEG or PNG:\n\n"
              "curl http://127.0.0.1:8080/predictions/vgg -T kitten.jpg\n"
              "curl http://127.0.0.1:8081/models\n",
              c->folder);
    if (t.status == SHOAL_OK)
        book_block(b, "Serve it", t.bytes.at);
    prose_fini(&t);
    book_note(b,
              "An iteration is a step of the optimizer: forward and backward pass of %u pictures "
              "on each node, the sum of all gradients (all-reduce) and the step. Its time is the "
              "mean over all iterations of what a node computed, exchanged and waited, without "
              "start, testing and end.",
              batch_of(c));
    book_note(b, "Three nodes take three times the pictures in an iteration (weak scaling), as the "
                 "original's did.");
    book_note(b, "So few iterations measure time; they do not train a net that is any good. `shoal "
                 "train vgg` does: docs/vgg.md.");
    if (c->quick)
        book_note(b,
                  "The quick form has a quarter of the channels (--base 16) and batches of %u: "
                  "its times are not those of VGG-11.",
                  batch_of(c));
}

const struct classic classic_vgg = {
    .name = "vgg",
    .summary = "the time of an iteration of VGG-11, on one node and on three",
    .takes = "the folder of CIFAR-10's binary batches",
    .experiment =
        "VGG-11 with batch norm on pictures of 32 x 32 in ten classes, batches of 256 on each "
        "node, "
        "on one node and on three, whose gradients are added up by all-reduce in each iteration.",
    .change = "Take CIFAR-10 itself with `shoal classic vgg --data FOLDER` (its binary version; "
              "times do not depend on what the pictures show). For a net that has learned "
              "something copy a command from above with more `--epochs`; `shoal train vgg --help` "
              "lists the options.",
    .plan = plan,
    .tell = tell,
};
