#include "serve/access.h"
#include "serve/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    RECORDS = 4096,
    LINE_MAX_LEN = 1024,   /* of a line; the longest has some 700 */
    TEXT_MAX = 64 << 10,   /* bytes that are written at once */
    METHOD_MAX_LEN = 16,
    CLOSE_SECONDS = 5,     /* that a reader of the log may take at the end */
};

#define LOOK 0.1 /* seconds until records are written, at most */

struct record {
    struct timespec at;
    char id[REQUEST_ID_MAX + 1], method[METHOD_MAX_LEN + 1];
    const char *route; /* constant; or NULL */
    int status;
    double ms;
    uint64_t in, out;
    char model[NAME_MAX_LEN + 1], version[NAME_MAX_LEN + 1], client[INET6_ADDRSTRLEN];
    struct trace trace;
};

struct access_log {
    bool json, client;
    double sample;
    uint64_t seed;
    char *path; /* or NULL: the callback */
    int fd;
    void (*line)(void *user, const char *text);
    void (*tell)(void *user, const char *sentence); /* of trouble; or NULL */
    void *user;
    pthread_t thread;
    bool running, troubled;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t news;
    bool closed, reopen;
    size_t first, n;
    uint64_t lost;
    struct record *ring; /* [RECORDS] */

    /* The thread's alone. */
    char *text; /* [TEXT_MAX] */
    size_t len;
};

/* ---- lines ---- */

static void time_text(char out[32], struct timespec at)
{
    struct tm tm;
    char second[24];

    gmtime_r(&at.tv_sec, &tm);
    strftime(second, sizeof second, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out, 32, "%s.%03dZ", second, (int)(at.tv_nsec / 1000000));
}

/* Milliseconds with three digits behind a point, in any locale. */
static void ms_text(char out[32], double ms)
{
    uint64_t us = ms > 0 ? (uint64_t)(ms * 1e3 + 0.5) : 0;

    snprintf(out, 32, "%llu.%03u", (unsigned long long)(us / 1000), (unsigned)(us % 1000));
}

struct line {
    char at[LINE_MAX_LEN];
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void say(struct line *l, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(l->at + l->len, sizeof l->at - l->len, fmt, args);
    va_end(args);
    if (n > 0)
        l->len += (size_t)n < sizeof l->at - l->len ? (size_t)n : sizeof l->at - l->len - 1;
}

static void json_line(struct line *l, const struct record *r, const char *when, const char *ms)
{
    say(l, "{\"time\":\"%s\",\"id\":\"%s\",\"method\":\"%s\",\"route\":\"%s\",\"status\":%d,"
           "\"ms\":%s,\"in\":%llu,\"out\":%llu",
        when, r->id, r->method, r->route ? r->route : "", r->status, ms, (unsigned long long)r->in,
        (unsigned long long)r->out);
    if (r->model[0])
        say(l, ",\"model\":\"%s\",\"version\":\"%s\"", r->model, r->version);
    if (r->client[0])
        say(l, ",\"client\":\"%s\"", r->client);
    if (r->trace.said[0])
        say(l, ",\"trace_id\":\"%.32s\",\"span_id\":\"%.16s\",\"parent_id\":\"%s\"",
            r->trace.said + 3, r->trace.said + 36, r->trace.parent);
    say(l, "}\n");
}

static void text_line(struct line *l, const struct record *r, const char *when, const char *ms)
{
    say(l, "%s %s %s %s %d %s ms in %llu out %llu", when, r->client[0] ? r->client : "-",
        r->method[0] ? r->method : "-", r->route ? r->route : "-", r->status, ms,
        (unsigned long long)r->in, (unsigned long long)r->out);
    if (r->model[0])
        say(l, " model %s:%s", r->model, r->version);
    say(l, " id %s", r->id);
    if (r->trace.said[0])
        say(l, " trace %s", r->trace.said);
    say(l, "\n");
}

/* ---- the thread ---- */

/* A failure is told once, until a write succeeds again. */
static void trouble(struct access_log *l, const char *what)
{
    char sentence[300];

    if (!l->troubled && l->tell) {
        snprintf(sentence, sizeof sentence, "log: %.150s: %s", what, strerror(errno));
        l->tell(l->user, sentence);
    }
    l->troubled = true;
}

static void write_file(struct access_log *l)
{
    size_t at = 0;

    while (at < l->len) {
        ssize_t n = write(l->fd, l->text + at, l->len - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            trouble(l, l->path);
            return;
        }
        at += (size_t)n;
    }
    l->troubled = false;
}

static void write_out(struct access_log *l)
{
    l->text[l->len] = '\0';
    if (l->len > 0 && l->path)
        write_file(l);
    else if (l->len > 0)
        l->line(l->user, l->text);
    l->len = 0;
}

static void append(struct access_log *l, const struct line *line)
{
    if (l->len + line->len >= TEXT_MAX)
        write_out(l);
    memcpy(l->text + l->len, line->at, line->len);
    l->len += line->len;
}

static void write_record(struct access_log *l, const struct record *r)
{
    struct line line = {.len = 0};
    char when[32], ms[32];

    time_text(when, r->at);
    ms_text(ms, r->ms);
    (l->json ? json_line : text_line)(&line, r, when, ms);
    append(l, &line);
}

static void write_lost(struct access_log *l, uint64_t lost)
{
    struct line line = {.len = 0};
    struct timespec now;
    char when[32];

    clock_gettime(CLOCK_REALTIME, &now);
    time_text(when, now);
    if (l->json)
        say(&line, "{\"time\":\"%s\",\"lost\":%llu}\n", when, (unsigned long long)lost);
    else
        say(&line, "%s - lost %llu lines: the log is slower than the requests\n", when,
            (unsigned long long)lost);
    append(l, &line);
}

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640);
}

/* The old file is kept where the new one cannot be opened. */
static void take_reopen(struct access_log *l)
{
    int fd = open_file(l->path);

    if (fd < 0) {
        trouble(l, l->path);
        return;
    }
    close(l->fd);
    l->fd = fd;
    l->troubled = false;
}

/* With the lock held: until there is something to write, or the end. */
static void wait_for_news(struct access_log *l)
{
    double until = clock_now() + LOOK;
    struct timespec end = {(time_t)until, (long)((until - (double)(time_t)until) * 1e9)};

    if (l->n == 0 && !l->closed && !l->reopen && l->lost == 0)
        pthread_cond_wait(&l->news, &l->lock);
    while (l->n < RECORDS / 2 && !l->closed && !l->reopen)
        if (pthread_cond_timedwait(&l->news, &l->lock, &end) != 0)
            break;
}

static void *log_run(void *arg)
{
    struct access_log *l = arg;
    bool closed = false;

    while (!closed) {
        struct record copy;
        uint64_t lost;
        bool reopen;

        pthread_mutex_lock(&l->lock);
        wait_for_news(l);
        closed = l->closed;
        reopen = l->reopen;
        l->reopen = false;
        while (l->n > 0) {
            copy = l->ring[l->first];
            l->first = (l->first + 1) % RECORDS;
            l->n--;
            pthread_mutex_unlock(&l->lock);
            write_record(l, &copy);
            pthread_mutex_lock(&l->lock);
        }
        lost = l->lost;
        l->lost = 0;
        pthread_mutex_unlock(&l->lock);
        if (lost > 0)
            write_lost(l, lost);
        write_out(l);
        if (reopen && l->path)
            take_reopen(l);
    }
    return NULL;
}

/* ---- records ---- */

/* By the request's number: the same whatever the others do. Failures of the server always. */
static bool is_sampled(const struct access_log *l, const struct request *q)
{
    return q->answer.status >= 500 || l->sample >= 1 ||
           (double)(rng_at(l->seed, 2, q->number) >> 11) * 0x1p-53 < l->sample;
}

static void client_text(char out[INET6_ADDRSTRLEN], const struct sockaddr *client)
{
    const void *at = NULL;

    out[0] = '\0';
    if (client && client->sa_family == AF_INET)
        at = &((const struct sockaddr_in *)(const void *)client)->sin_addr;
    else if (client && client->sa_family == AF_INET6)
        at = &((const struct sockaddr_in6 *)(const void *)client)->sin6_addr;
    if (at && !inet_ntop(client->sa_family, at, out, INET6_ADDRSTRLEN))
        out[0] = '\0';
}

static void record_fill(struct record *r, const struct access_log *l, const struct request *q)
{
    const char *method = q->method ? q->method : "";

    clock_gettime(CLOCK_REALTIME, &r->at);
    memcpy(r->id, q->id, sizeof r->id);
    snprintf(r->method, sizeof r->method, "%s", q->head_only ? "HEAD" : method);
    r->route = q->route;
    r->status = q->answer.status ? q->answer.status : 499; /* its client has gone */
    r->ms = q->began > 0 ? (clock_now() - q->began) * 1e3 : 0;
    r->model[0] = r->version[0] = r->client[0] = '\0';
    if (q->lease.version) {
        memcpy(r->model, q->lease.version->name, sizeof r->model);
        memcpy(r->version, q->lease.version->version, sizeof r->version);
    }
    if (l->client)
        client_text(r->client, q->client);
    r->trace = q->trace;
}

void access_add(struct access_log *l, const struct request *q, uint64_t in, uint64_t out)
{
    struct record r;

    if (!l || !is_sampled(l, q))
        return;
    record_fill(&r, l, q);
    r.in = in;
    r.out = out;
    pthread_mutex_lock(&l->lock);
    if (l->n < RECORDS)
        l->ring[(l->first + l->n++) % RECORDS] = r;
    else
        l->lost++;
    if (l->n == 1 || l->n == RECORDS / 2) /* it may sleep, or has waited enough */
        pthread_cond_signal(&l->news);
    pthread_mutex_unlock(&l->lock);
}

/* ---- opening ---- */

static shoal_status log_init(struct access_log *l, const struct shoal_serve_opts *o)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&l->news, &attr);
    pthread_condattr_destroy(&attr);
    l->ring = mem_array(RECORDS, sizeof *l->ring);
    l->text = mem_array(TEXT_MAX + 1, 1);
    if (!l->ring || !l->text)
        return SHOAL_ENOMEM;
    if (o->log_file) {
        l->path = strdup(o->log_file);
        if (!l->path)
            return shoal_fail(SHOAL_ENOMEM, "memory: no room for a path");
        l->fd = open_file(l->path);
        if (l->fd < 0)
            return shoal_fail_errno(SHOAL_EIO, "--log-file: %s", l->path);
    }
    l->running = pthread_create(&l->thread, NULL, log_run, l) == 0;
    return l->running ? SHOAL_OK : shoal_fail(SHOAL_ELIMIT, "serve: the system gives no thread");
}

shoal_status access_open(struct access_log **out, const struct shoal_serve_opts *o, uint64_t seed)
{
    struct access_log *l;
    shoal_status st;

    *out = NULL;
    if (o->access == SHOAL_ACCESS_OFF || (!o->log_file && !o->log_line))
        return SHOAL_OK;
    l = mem_array(1, sizeof *l);
    if (!l)
        return SHOAL_ENOMEM;
    l->json = o->access == SHOAL_ACCESS_JSON;
    l->client = o->log_client;
    l->sample = o->log_sample;
    l->seed = seed;
    l->fd = -1;
    l->line = o->log_line;
    l->tell = o->log;
    l->user = o->user_data;
    st = log_init(l, o);
    if (st != SHOAL_OK)
        access_close(l);
    else
        *out = l;
    return st;
}

void access_reopen(struct access_log *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->reopen = true;
    pthread_cond_signal(&l->news);
    pthread_mutex_unlock(&l->lock);
}

/* False: somebody who reads the lines does not take them, and the thread stays with its log. */
static bool log_join(struct access_log *l)
{
    struct timespec end;

    if (!l->running)
        return true;
    pthread_mutex_lock(&l->lock);
    l->closed = true;
    pthread_cond_signal(&l->news);
    pthread_mutex_unlock(&l->lock);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += CLOSE_SECONDS;
    if (pthread_timedjoin_np(l->thread, NULL, &end) == 0)
        return true;
    pthread_detach(l->thread);
    return false;
}

void access_close(struct access_log *l)
{
    if (!l || !log_join(l))
        return;
    if (l->fd >= 0)
        close(l->fd);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->news);
    free(l->path);
    free(l->ring);
    free(l->text);
    free(l);
}
