#include "serve/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#define FIRST_BOUND 1e-5

/* ---- histograms ---- */

double histogram_bound(size_t bucket)
{
    return FIRST_BOUND * (double)((uint64_t)1 << bucket);
}

void histogram_add(struct histogram *h, double seconds)
{
    uint64_t steps = seconds > 0 ? (uint64_t)(seconds / FIRST_BOUND) : 0;
    size_t bucket = steps == 0 ? 0 : 64 - (size_t)__builtin_clzll(steps);

    bucket = bucket < BUCKETS ? bucket : BUCKETS - 1;
    atomic_fetch_add_explicit(&h->buckets[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum, seconds > 0 ? (uint64_t)(seconds * 1e9) : 0,
                              memory_order_relaxed);
}

double histogram_quantile(const struct histogram *h, double share, const uint64_t *since)
{
    uint64_t counts[BUCKETS], all = 0, below = 0;

    for (size_t i = 0; i < BUCKETS; i++) {
        counts[i] = atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
        counts[i] -= since ? since[i] : 0;
        all += counts[i];
    }
    if (all == 0)
        return 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        double low = i > 0 ? histogram_bound(i - 1) : 0, high = histogram_bound(i);
        double want = share * (double)all - (double)below;

        if (want <= (double)counts[i] && counts[i] > 0)
            return low + (high - low) * (want / (double)counts[i]);
        below += counts[i];
    }
    return histogram_bound(BUCKETS - 1);
}

/* ---- Prometheus' text ---- */

static bool wanted(const struct query *q, const char *name)
{
    bool any = false;

    for (size_t i = 0; i < q->nfields; i++) {
        if (strcmp(q->fields[i].key, "name[]") != 0)
            continue;
        if (strcmp(q->fields[i].value, name) == 0)
            return true;
        any = true;
    }
    return !any;
}

bool metric_begin(struct writer *w, const struct query *q, const char *name, const char *type,
                  const char *unit)
{
    char text[256];

    if (!wanted(q, name))
        return false;
    snprintf(text, sizeof text,
             "# HELP %s Torchserve prometheus %s metric with unit: %s\n# TYPE %s %s\n", name, type,
             unit, name, type);
    put_raw(w, text);
    return true;
}

void metric_line(struct writer *w, const char *name, const char *labels, double value)
{
    char text[512];

    /* Whole numbers of any size with all their digits. */
    number_print(text, sizeof text,
                 value == floor(value) && fabs(value) < 1e15 ? "%s{%s} %.1f\n" : "%s{%s} %.9g\n",
                 name, labels, value);
    put_raw(w, text);
}

void metric_histogram(struct writer *w, const char *name, const char *labels,
                      const struct histogram *h)
{
    char text[320], full[96];
    uint64_t below = 0;

    snprintf(full, sizeof full, "%s_bucket", name);
    for (size_t i = 0; i < BUCKETS; i++) {
        below += atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
        if (i + 1 < BUCKETS)
            number_print(text, sizeof text, "%s,le=\"%.6g\"", labels, histogram_bound(i));
        else
            snprintf(text, sizeof text, "%s,le=\"+Inf\"", labels);
        metric_line(w, full, text, (double)below);
    }
    snprintf(full, sizeof full, "%s_sum", name);
    metric_line(w, full, labels, (double)atomic_load(&h->sum) * 1e-9);
    snprintf(full, sizeof full, "%s_count", name);
    metric_line(w, full, labels, (double)below);
}

static double kib_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    return at ? number_read(at + strlen(key), NULL) : 0;
}

static double load_percent(void)
{
    double load = 0;

    getloadavg(&load, 1);
    return fmin(100 * load / (double)pool_threads(0), 100);
}

static void gauge(struct writer *w, const struct query *q, const char *name, const char *unit,
                  const char *labels, double value)
{
    if (metric_begin(w, q, name, "gauge", unit))
        metric_line(w, name, labels, value);
}

void metrics_host(struct writer *w, const struct query *q, const char *host)
{
    char labels[160], text[4096] = "";
    FILE *f = fopen("/proc/meminfo", "re");
    struct statvfs disk = {0};
    double total, free_mb, gib = 1 << 30, size, left;

    if (f) {
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        fclose(f);
    }
    snprintf(labels, sizeof labels, "Level=\"Host\",Hostname=\"%s\",", host);
    total = kib_of(text, "MemTotal:") / 1024;
    free_mb = kib_of(text, "MemAvailable:") / 1024;
    statvfs("/", &disk);
    size = (double)disk.f_blocks * (double)disk.f_frsize / gib;
    left = (double)disk.f_bavail * (double)disk.f_frsize / gib;
    gauge(w, q, "CPUUtilization", "Percent", labels, load_percent());
    gauge(w, q, "MemoryUsed", "Megabytes", labels, total - free_mb);
    gauge(w, q, "MemoryAvailable", "Megabytes", labels, free_mb);
    gauge(w, q, "MemoryUtilization", "Percent", labels,
          total > 0 ? 100 * (total - free_mb) / total : 0);
    gauge(w, q, "DiskUsage", "Gigabytes", labels, size - left);
    gauge(w, q, "DiskAvailable", "Gigabytes", labels, left);
    gauge(w, q, "DiskUtilization", "Percent", labels, size > 0 ? 100 * (size - left) / size : 0);
    gauge(w, q, "shoal_resident_bytes", "Bytes", labels, (double)mem_held());
}
