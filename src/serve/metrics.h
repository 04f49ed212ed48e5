/* metrics: what is counted, and how it is shown; not a door.
 *
 * What this is: counters and histograms that any thread adds to, the page that
 * Prometheus reads.
 * Who owns what: tallies lie in what they count.
 * Threads: adding is atomic and never waits; a reader may see one number a moment
 * before another. */
#ifndef SHOAL_SERVE_METRICS_H
#define SHOAL_SERVE_METRICS_H

#include "serve/parse.h"

#include <stdatomic.h>

/* Where a request spends its time. */
enum stage { STAGE_READ, STAGE_QUEUE, STAGE_RUN, STAGE_WRITE, STAGE_ALL, STAGES };

/* Bounds of 10 us doubling, to 20 s, and beyond. */
enum { BUCKETS = 23 };

struct histogram {
    _Atomic uint64_t buckets[BUCKETS];
    _Atomic uint64_t sum; /* nanoseconds */
};

void histogram_add(struct histogram *h, double seconds);
/* Seconds below which a share (0..1) of the counts lies, about; 0 without any.
 * `since` [BUCKETS], what was counted before, is left out; or NULL. */
double histogram_quantile(const struct histogram *h, double share, const uint64_t *since);
double histogram_bound(size_t bucket); /* seconds */

/* Of one version of a model. */
struct model_tally {
    _Atomic uint64_t requests, failures, inputs, batches, reloads, refused, abandoned;
    _Atomic uint64_t queue_ns, run_ns; /* of all requests */
    _Atomic uint64_t last_queue_ns, last_run_ns, load_ns;
    struct histogram stages[STAGES];
};

/* Of the whole server. */
struct server_tally {
    _Atomic uint64_t answers[6]; /* by the first digit of the status */
    _Atomic uint64_t limited, unauthorized;
    double began;
};

/* ---- what a page of metrics is made of ---- */

/* Counters and gauges under one name: its two comment lines. False when the reader
 * asked for other names (name[]=...), and then nothing of it is to follow. */
bool metric_begin(struct writer *w, const struct query *q, const char *name, const char *type,
                  const char *unit);
/* name{labels} value */
void metric_line(struct writer *w, const char *name, const char *labels, double value);
/* Host's memory, processor and disk, under TorchServe's names. */
void metrics_host(struct writer *w, const struct query *q, const char *host);
/* The lines of one histogram. */
void metric_histogram(struct writer *w, const char *name, const char *labels,
                      const struct histogram *h);

#endif
