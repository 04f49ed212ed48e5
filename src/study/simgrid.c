/* The real trainer under SimGrid: the commands that simulate a series with more workers.
 *
 * All ranks of such a run are in one process and train for real, so what they come to is
 * what that many workers come to; only the time is simulated. Messages take that of a
 * network of the cluster's links; computing takes what calibration says, with the jitter of
 * the cluster, however long it took here:
 *
 *     a rank's share of a step   each + units x seconds
 *     a message                  a microsecond, and the processor time of its bytes, half
 *                                of it where it is sent and half where it arrives
 *
 * Of each run its folder keeps what it was asked (setup.txt), so that it need not run
 * again. */
#include "file/file.h"
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETUP_MOST = 1 << 20 };

/* What headers leave of a link for what is sent. */
#define PAYLOAD 0.95
/* Processor seconds for a byte, at least, and for a message at either end. */
#define BYTE_LEAST 2e-10
#define MESSAGE 1e-6
/* Memory of a simulated rank beside that of one which runs: 128 took 151 MB each, not 109. */
#define COPIES 1.4

/* ---- which there are ---- */

static bool begins_series(const shoal_study *s, size_t cell)
{
    struct calibration k;

    return study_cell_base(s, cell) == cell && calibration_find(&k, s, cell);
}

/* How many numbers of workers above 1, which rise. */
static size_t several(const struct shoal_cluster *c)
{
    return c->workers.n - (c->workers.at[0] == 1);
}

size_t shoal_study_simulations(const shoal_study *s, const struct shoal_cluster *c)
{
    size_t series = 0;

    for (size_t i = 0; i < s->ncells; i++)
        series += begins_series(s, i);
    return series * several(c) * cluster_links(c);
}

static size_t link_of(const shoal_study *s, const struct shoal_cluster *c, size_t number)
{
    return number / (shoal_study_simulations(s, c) / cluster_links(c));
}

/* The `number`-th of them. */
static struct simulated which(const shoal_study *s, const struct shoal_cluster *c, size_t number)
{
    size_t each = shoal_study_simulations(s, c) / cluster_links(c);
    size_t series = number % each / several(c), at = number % several(c);
    struct simulated w = {.workers = (unsigned)c->workers.at[at + (c->workers.at[0] == 1)],
                          .bandwidth = cluster_link(c, link_of(s, c, number)).bandwidth};

    while (!begins_series(s, w.cell) || series-- > 0)
        w.cell++;
    return w;
}

const struct study_run *study_simulated_run(const shoal_study *s, size_t cell, unsigned workers,
                                            double bandwidth)
{
    for (size_t i = 0; i < s->nsimulated; i++)
        if (s->simulated[i].cell == cell && s->simulated[i].workers == workers &&
            s->simulated[i].bandwidth == bandwidth)
            return &s->simulated[i].run;
    return NULL;
}

/* ---- what computing takes ---- */

struct cost {
    double seconds, each, byte;
};

/* The processor time of a step as a line over the units that a rank has of it:
 *
 *     time
 *      c1 |                    * one rank: all u1 units of a step
 *         |            .
 *      c2 |     *                several ranks: each has u2 of them
 *    each | .
 *         +-----|--------------|---- units of a rank
 *              u2             u1
 *
 * A small share of a step costs more than its part of the whole, since some of the cost does not
 * shrink with it. The slope is `seconds`, and what is left at no units is `each`. Where the two
 * points are too near, or do not lie so, the line goes through the origin and the first of them. */
static struct cost cost_of(const struct calibration *k, double speed, double socket)
{
    const struct shoal_measures *one = k->one, *some = k->some;
    double alone = calibration_alone(k), byte = some ? calibration_byte(k) : 0;
    struct cost c = {.seconds = alone / one->units};

    if (some && isfinite(one->steps) && isfinite(some->steps) && some->computing > 0) {
        double u1 = one->units / one->steps, u2 = some->units / some->steps / k->ranks;
        double c1 = alone / one->steps;
        double c2 =
            some->computing * some->seconds * fmin(some->cpu > 0 ? some->cpu : 1, 1) / some->steps;

        if (u2 < 0.9 * u1 && c2 < c1 && c2 / u2 > c1 / u1) {
            c.seconds = (c1 - c2) / (u1 - u2);
            c.each = c1 - c.seconds * u1;
        }
    }
    c.byte = (fmax(byte, BYTE_LEAST) + socket) / speed;
    c.seconds /= speed;
    c.each /= speed;
    return c;
}

/* ---- its files ---- */

/* Servers are ranks too. */
static unsigned ranks_of(const shoal_study *s, const struct simulated *w)
{
    return w->workers + s->cells[w->cell].servers;
}

/* Of several links, each has its own. */
static char *folder_of(const shoal_study *s, const struct shoal_cluster *c,
                       const struct simulated *w)
{
    struct short_number link = number_as("-%.6gG", w->bandwidth * 8e-9);

    return mem_text("%s/runs/sim-%03zu-%04u%s", s->folder, w->cell + 1, w->workers,
                    cluster_links(c) > 1 ? link.text : "");
}

/* Links have no latency: the ranks see to it, since messages that follow each other have it
 * once (src/comm/mpi.c). */
static void add_platform(struct prose *t, const struct shoal_cluster *c, double bandwidth)
{
    prose_add(t,
              "<?xml version='1.0'?>\n"
              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\">\n"
              "<cluster id=\"cluster\" prefix=\"n\" suffix=\"\" radical=\"0-%u\" speed=\"1Gf\" "
              "core=\"%u\" bw=\"%.0fBps\" lat=\"0us\" loopback_bw=\"4GBps\" "
              "loopback_lat=\"1us\"/>\n"
              "</platform>\n",
              c->nodes - 1, c->cores, bandwidth * PAYLOAD);
}

static void add_hosts(struct prose *t, const struct shoal_cluster *c, unsigned ranks)
{
    for (unsigned r = 0; r < ranks; r++)
        prose_add(t, "n%u\n", r / c->cores);
}

static shoal_status write_files(const char *folder, const struct shoal_cluster *c, double bandwidth,
                                unsigned ranks)
{
    struct prose platform = {0}, hosts = {0};
    shoal_status st;

    add_platform(&platform, c, bandwidth);
    add_hosts(&hosts, c, ranks);
    st = prose_write_in(&platform, folder, "platform.xml");
    if (st == SHOAL_OK)
        st = prose_write_in(&hosts, folder, "hosts");
    prose_fini(&platform);
    prose_fini(&hosts);
    return st;
}

/* ---- its command ---- */

/* The factors that SMPI multiplies latency and bandwidth by are those of another cluster;
 * a rank takes the messages of each other one by one, as over a socket, so none is kept
 * aside; ranks charge themselves for messages (src/comm/mpi.c); and polling takes no time, since
 * who waits sleeps. */
static void add_network(shoal_study *s)
{
    static const char *const plain[] = {"simulate-computation:no",
                                        "bw-factor:0:1",
                                        "lat-factor:0:1",
                                        "async-small-thresh:0",
                                        "send-is-detached-thresh:0",
                                        "iprobe:0",
                                        "test:0",
                                        "wtime:0",
                                        "ois:0:0:0",
                                        "or:0:0:0"};

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        command_word(s, "--cfg=smpi/%s", plain[i]);
    /* Acknowledgements are among what headers leave; were flows to depend on those of the other
     * way, simulations of many ranks would take half as long again. */
    command_word(s, "--cfg=network/crosstraffic:no");
    command_word(s, "--log=root.thres:critical");
}

static shoal_status make_command(shoal_study *s, const struct shoal_cluster *c,
                                 const struct simulated *w, const char *module)
{
    struct cell cell = s->cells[w->cell];
    struct calibration k;
    struct cost cost;

    calibration_find(&k, s, w->cell);
    cost = cost_of(&k, c->speed, c->socket);
    command_begin(s, folder_of(s, c, w));
    command_word(s, "env");
    command_word(s, "PMI_SIZE=%u", ranks_of(s, w));
    command_word(s, "SHOAL_SIMULATE=%.6e %.6e %g %g %u %g %.3e", cost.seconds, cost.each, c->jitter,
                 c->latency, c->cores, MESSAGE, cost.byte / 2);
    command_word(s, "OMP_NUM_THREADS=1");
    command_word(s, "smpirun");
    command_word(s, "-np");
    command_word(s, "%u", ranks_of(s, w));
    command_word(s, "-platform");
    command_word(s, "%s/platform.xml", s->run_folder);
    command_word(s, "-hostfile");
    command_word(s, "%s/hosts", s->run_folder);
    add_network(s);
    command_word(s, "%s", module);
    cell.workers = w->workers;
    return command_train(s, &cell);
}

/* ---- going on ---- */

static void add_setup(struct prose *t, const shoal_study *s, const struct shoal_cluster *c,
                      const struct simulated *w)
{
    for (size_t i = 0; i < s->nwords; i++)
        prose_add(t, "%s\n", s->words[i]);
    add_platform(t, c, w->bandwidth);
    add_hosts(t, c, ranks_of(s, w));
}

/* Whether the folder holds a finished run of the very same command, platform and hosts. */
static bool ran_before(const shoal_study *s, const struct prose *setup, struct study_run *run)
{
    char *path = mem_text("%s/setup.txt", s->run_folder), *text = NULL;
    size_t len = 0;
    bool same;

    if (!path)
        return false;
    same = access(path, R_OK) == 0 && stream_slurp(&text, &len, path, SETUP_MOST) == SHOAL_OK &&
           len == setup->bytes.len && memcmp(text, setup->bytes.at, len) == 0;
    if (same)
        study_run_take(s, run, s->run_folder);
    free(text);
    free(path);
    return same && run->state == RUN_DONE;
}

static shoal_status keep(shoal_study *s, const struct simulated *w)
{
    struct simulated *more = realloc(s->simulated, (s->nsimulated + 1) * sizeof *more);

    if (!more)
        return shoal_fail(SHOAL_ENOMEM, "study: no memory for what was simulated");
    s->simulated = more;
    more[s->nsimulated++] = *w;
    return SHOAL_OK;
}

/* Of a rank, about: one of several keeps more than one alone, what others know of its rows, and
 * SimGrid copies the program's own data for each. 0: nobody knows. */
static double memory_of(const struct calibration *k)
{
    double alone = k->one->memory > 0 ? k->one->memory : 0;

    return k->some && k->some->memory > alone ? COPIES * k->some->memory : COPIES * alone;
}

shoal_status shoal_study_simulate(shoal_study *s, const struct shoal_cluster *c, size_t number,
                                  const char *module, struct shoal_study_run *run)
{
    struct simulated w = which(s, c, number);
    struct prose setup = {0};
    struct calibration k;
    shoal_status st;

    *run = (struct shoal_study_run){.number = number, .repeat = 1};
    if (w.workers > cluster_simulated(c, link_of(s, c, number)))
        return SHOAL_OK;
    if (ranks_of(s, &w) > (double)c->nodes * c->cores) {
        study_run_fail(&w.run, "the cluster has too few cores for its workers and servers");
        return keep(s, &w);
    }
    st = make_command(s, c, &w, module);
    if (st != SHOAL_OK)
        return st;
    add_setup(&setup, s, c, &w);
    st = setup.status;
    if (st == SHOAL_OK && ran_before(s, &setup, &w.run)) {
        prose_fini(&setup);
        return keep(s, &w);
    }
    if (st == SHOAL_OK)
        st = write_files(s->run_folder, c, w.bandwidth, ranks_of(s, &w));
    if (st == SHOAL_OK)
        st = prose_write_in(&setup, s->run_folder, "setup.txt");
    prose_fini(&setup);
    run->words = s->words;
    run->nwords = s->nwords;
    run->folder = s->run_folder;
    calibration_find(&k, s, w.cell);
    run->memory = ranks_of(s, &w) * memory_of(&k);
    run->memory_free = (double)mem_available();
    snprintf(run->name, sizeof run->name, "%u %ss%s%.40s, %s Gbit/s, simulated", w.workers,
             study_worker_name(s), s->opts.nsync > 1 ? ", " : "",
             s->opts.nsync > 1 ? s->opts.sync[s->cells[w.cell].sync] : "",
             number_plain(w.bandwidth * 8e-9).text);
    return st;
}

shoal_status shoal_study_simulated(shoal_study *s, const struct shoal_cluster *c, size_t number,
                                   const char *failure)
{
    struct simulated w = which(s, c, number);
    char *folder = folder_of(s, c, &w);

    if (!folder)
        return SHOAL_ENOMEM;
    if (failure)
        study_run_fail(&w.run, failure);
    else
        study_run_take(s, &w.run, folder);
    free(folder);
    return keep(s, &w);
}
