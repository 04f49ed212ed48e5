/* CBOW with a full softmax: 1, 2 and 4 workers against a parameter server. */
#include "study/classic.h"

#include <math.h>

/* The settings of the experiment. */
enum { VOCABULARY = 2000, BATCH = 64, STEPS_A_WORKER = 100, MOST_WORKERS = 4 };

#define MODEL                                                                                      \
    "--loss softmax --dim 50 --window 2 --batch 64 --lr 0.05 --schedule constant --sample 0 "      \
    "--sync async --valid 5%%"

static const unsigned nodes[] = {1, 2, 4};
enum { NODES = sizeof nodes / sizeof *nodes };

/* What `shoal train` has of what the experiment asks for. */
static void add_model(shoal_classic *c)
{
    step_path(c, "text.shoal");
    step_words(c, MODEL);
    if (step_has("cbow", "window-fixed"))
        step_words(c, "--window-fixed");
    if (step_has("cbow", "across-lines"))
        step_words(c, "--across-lines");
}

/* Strong: the steps of four workers in all. Weak: 100 each. Without --steps an epoch is the
 * measure of both. */
static void add_work(shoal_classic *c, unsigned workers, bool weak)
{
    if (step_has("cbow", "steps"))
        step_words(c, "--steps %u",
                   weak ? STEPS_A_WORKER : STEPS_A_WORKER * MOST_WORKERS / workers);
    else
        step_words(c, "--epochs %u", weak ? workers : 1);
}

static void plan_runs(shoal_classic *c, bool weak, unsigned repeats)
{
    for (unsigned repeat = 0; repeat < repeats; repeat++)
        for (size_t i = 0; i < NODES; i++) {
            step_add(c, weak ? "weak" : "strong", nodes[i], "%u %s, %s", nodes[i],
                     nodes[i] == 1 ? "worker" : "workers", weak ? "weak" : "strong");
            step_train(c, "cbow", nodes[i], 1, NULL);
            add_model(c);
            add_work(c, nodes[i], weak);
        }
}

static void plan(shoal_classic *c)
{
    unsigned words = c->quick ? 20000 : 200000;

    if (!c->data) {
        step_add(c, "text", 0, "text")->prepares = true;
        step_words(c, "gen world --quiet --words %u --output", words);
        step_path(c, "text.txt");
    }
    step_add(c, "encode", 0, "encoding")->prepares = true;
    step_words(c, "encode --quiet --tokens words --min-count 1 --max-vocab %d --unk --output",
               VOCABULARY);
    step_path(c, "text.shoal");
    step_path(c, c->data ? NULL : "text.txt");
    plan_runs(c, false, c->quick ? 1 : 3);
    plan_runs(c, true, c->quick ? 1 : 3);
    for (size_t i = 0; i < NODES; i++) {
        step_add(c, "long", nodes[i], "%u %s, to the target", nodes[i],
                 nodes[i] == 1 ? "worker" : "workers");
        step_train(c, "cbow", nodes[i], 1, i == 0 ? "vectors.shoal" : NULL);
        add_model(c);
        step_words(c, "--epochs %d", c->quick ? 2 : 5);
    }
}

/* ---- what is told ---- */

/* Of what is held out, where it is measured; the same for loss and accuracy. */
static double accuracy_of(const struct step *s)
{
    double held = step_last(s, "done", "valid.accuracy");

    return isfinite(held) ? held : step_last(s, "done", "train.accuracy");
}

/* Of all workers: a batch is one. */
static double updates_of(const struct shoal_measures *m)
{
    return m->units / BATCH;
}

static void tell_scaling(struct book *b, const shoal_classic *c, bool weak)
{
    const char *group = weak ? "weak" : "strong";
    struct shoal_measures one = step_measures(step_with(c, group, 1, 0));
    struct sheet *s =
        book_sheet(b, group,
                   weak ? "Weak scaling: each worker has the same work, %d steps of %d words"
                        : "Strong scaling: all workers share the same work, %d steps of %d words",
                   weak ? STEPS_A_WORKER : STEPS_A_WORKER * MOST_WORKERS, BATCH);

    sheet_column(s, "workers", AS_COUNT);
    sheet_column(s, "time (s)", AS_TIME);
    sheet_column(s, "updates/s", AS_SHORT);
    sheet_column(s, "words/s", AS_SHORT);
    sheet_column(s, "speedup", AS_PLAIN);
    sheet_column(s, "loss", AS_PLAIN);
    sheet_column(s, "accuracy", AS_POINTS);
    sheet_column(s, "original words/s", AS_COUNT);
    sheet_column(s, "original speedup", AS_PLAIN);
    for (size_t i = 0; i < NODES; i++) {
        const struct step *run = step_with(c, group, nodes[i], 0);
        struct shoal_measures m = step_measures(run);

        if (!run)
            continue;
        sheet_row(s);
        sheet_number(s, nodes[i]);
        sheet_number(s, m.seconds);
        sheet_number(s, updates_of(&m) / m.seconds);
        sheet_number(s, m.rate);
        sheet_number(s, weak ? m.rate / one.rate : one.seconds / m.seconds);
        sheet_number(s, isfinite(m.held) ? m.held : m.loss);
        sheet_number(s, accuracy_of(run));
        sheet_number(s, nodes[i] == 1 ? 7000 : nodes[i] == 4 ? 10850 : (double)NAN);
        sheet_number(s, nodes[i] == 1 ? 1 : nodes[i] == 4 ? 1.55 : (double)NAN);
    }
    sheet_note(s, weak ? "Speedup is that of words a second, against one worker with its server."
                       : "Speedup is the time of one worker with its server, divided by the time.");
    if (!step_has("cbow", "steps"))
        sheet_note(s, weak ? "A worker's work is an epoch for each worker here."
                           : "The work is one epoch here.");
}

/* A loss that one worker comes to some time before its end: whoever is slower to learn gets
 * there later, or never. */
static double target_loss(const shoal_classic *c)
{
    struct shoal_measures m = step_measures(step_with(c, "long", 1, 0));

    return ceil(10 * (isfinite(m.held) ? m.held : m.loss) + 1) / 10;
}

static void tell_target(struct book *b, const shoal_classic *c)
{
    double target = target_loss(c), one = (double)NAN;
    struct sheet *s = book_sheet(b, "target", "Response time to a loss of %.1f", target);

    sheet_column(s, "workers", AS_COUNT);
    sheet_column(s, "to target (s)", AS_TIME);
    sheet_column(s, "speedup", AS_PLAIN);
    sheet_column(s, "time (s)", AS_TIME);
    sheet_column(s, "words/s", AS_SHORT);
    sheet_column(s, "loss", AS_PLAIN);
    sheet_column(s, "accuracy", AS_POINTS);
    for (size_t i = 0; i < NODES; i++) {
        const struct step *run = step_with(c, "long", nodes[i], 0);
        struct shoal_measures m;

        if (!run)
            continue;
        m = shoal_run_measures(run->run, target);
        if (nodes[i] == 1)
            one = m.target;
        sheet_row(s);
        sheet_number(s, nodes[i]);
        sheet_number(s, m.target);
        sheet_number(s, isfinite(m.target) ? one / m.target : (double)NAN);
        sheet_number(s, m.seconds);
        sheet_number(s, m.rate);
        sheet_number(s, isfinite(m.held) ? m.held : m.loss);
        sheet_number(s, accuracy_of(run));
    }
    sheet_note(s, "The loss is that of what is held out; the target is what one worker came to, "
                  "and a tenth or so more. Who never reached it has the loss that it ended with. "
                  "More workers learn a little less from the same words: where their changes "
                  "agree they are averaged, not added (docs/consistency.md).");
}

/* Reports within an epoch; those of whole epochs would be means of what is drawn already. */
static void draw_curves(struct book *b, const shoal_classic *c, const char *figure)
{
    bool loss = figure[0] == 'l';

    book_chart(b, "loss-accuracy", loss ? "Loss against time" : "Accuracy against time", "time",
               BY_SECONDS, figure, BY_PLAIN);
    for (size_t i = 0; i < NODES; i++) {
        const struct step *run = step_with(c, "long", nodes[i], 0);
        size_t n = run ? lines_count(run->lines, "interval") : 0;

        if (!run)
            continue;
        book_line(b, "%u %s", nodes[i], nodes[i] == 1 ? "worker" : "workers");
        for (size_t k = 0; k < n; k++)
            book_point(
                b, lines_number(run->lines, "interval", k, "seconds"),
                lines_number(run->lines, "interval", k, loss ? "train.loss" : "train.accuracy"));
    }
}

static void tell(struct book *b, const shoal_classic *c)
{
    tell_scaling(b, c, false);
    tell_scaling(b, c, true);
    tell_target(b, c);
    draw_curves(b, c, "loss");
    draw_curves(b, c, "accuracy");
    book_note(b,
              "Strong and weak scaling are apart: the original gave each worker 100 steps (weak) "
              "and called the ratio of throughputs its speedup.");
    book_note(b,
              "An update is one step of a batch of %d words; words a second count each word "
              "that was predicted once. The original's 7,000 words/s and 1.55 with 4 workers are "
              "throughputs.",
              BATCH);
    book_note(b, "Accuracy is the share of words whose likeliest prediction (argmax) is the word "
                 "itself, <UNK> among them; in the tables of what is held out, in the picture of "
                 "what was learned from since the last report.");
    book_note(b, "The server is a process of its own, which does not count as a worker. Workers "
                 "and server share the cores of this machine, which README.md names in its first "
                 "lines.");
    if (!c->quick)
        book_note(b, "Strong and weak scaling were measured three times each; of repeats the "
                     "quickest counts.");
}

const struct classic classic_cbow = {
    .name = "cbow",
    .summary = "CBOW with a full softmax on 1, 2 and 4 workers against a parameter server",
    .takes = "a text, such as number 57421 of Project Gutenberg",
    .experiment =
        "Words are runs of letters and digits, lower-cased; the 1,999 commonest and `<UNK>` are "
        "predicted from the two words on each side by a full softmax with biases, in 50 "
        "dimensions, with batches of 64 and a learning rate of 0.05. 1, 2 and 4 workers with one "
        "thread each send what they learned to one parameter server, asynchronously. Each worker "
        "takes 100 steps (weak scaling); beside that the same work is divided (strong scaling), "
        "and longer runs show loss and accuracy against time.",
    .change = "Take your own text with `shoal classic cbow --data FILE`. For other settings copy a "
              "command from above and change its options: `shoal train cbow --help` lists them. "
              "`shoal study cbow` measures any grid of workers, policies and batches.",
    .plan = plan,
    .tell = tell,
};
