/* A server from its options to its end. */
#include "serve/server.h"
#include "serve/http/loop.h"
#include "serve/sandbox.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TICK 0.25 /* seconds that the ticker sleeps, at most */
#define SHOWN 1.0 /* seconds between two computations of rates and latencies */
enum { SPARE_FILES = 64 };
#define HELD_MAX ((uint64_t)256 << 20) /* bytes of requests at once, or 16 of the largest body */

/* ---- options ---- */

struct shoal_serve_opts shoal_serve_default(void)
{
    return (struct shoal_serve_opts){
        .inference = "127.0.0.1:8080",
        .management = "127.0.0.1:8081",
        .metrics = "127.0.0.1:8082",
        .workers = 1,
        .batch_size = 64,
        .max_batch_delay = 5,
        .queue_size = 1000,
        .response_timeout = 120,
        .max_body = 6553500,
        .max_header = 8192,
        .max_connections = 16384,
        .timeout = 30,
        .drain = 30,
        .reload_every = 1,
        .log_sample = 1,
        .log_client = true,
    };
}

static shoal_status bad(const char *field, double found, const char *want)
{
    return shoal_fail(SHOAL_EINVAL, "serve: %s is %g, want %s", field, found, want);
}

static shoal_status check_tls(const struct shoal_serve_opts *o)
{
    if (!o->tls_cert == !o->tls_key)
        return SHOAL_OK;
    return shoal_fail(SHOAL_EINVAL, "serve: found %s alone, want --tls-cert and --tls-key together",
                      o->tls_cert ? "--tls-cert" : "--tls-key");
}

shoal_status shoal_serve_check(const struct shoal_serve_opts *o)
{
    if (o->workers > WORKERS_MAX)
        return bad("--workers", o->workers, "0 to 64");
    if (o->threads > 256)
        return bad("--threads", o->threads, "0 to 256");
    if (o->batch_size < 1 || o->batch_size > 4096)
        return bad("--batch-size", o->batch_size, "1 to 4096");
    if (o->max_batch_delay > 10000)
        return bad("--max-batch-delay", o->max_batch_delay, "at most 10000 milliseconds");
    if (o->queue_size < 1 || o->queue_size > 1000000)
        return bad("--queue-size", o->queue_size, "1 to 1000000");
    if (o->response_timeout < 1 || o->response_timeout > 86400)
        return bad("--response-timeout", o->response_timeout, "1 to 86400 seconds");
    if (o->max_body < 1 || o->max_body > (uint64_t)1 << 32)
        return bad("--max-body", (double)o->max_body, "1 byte to 4 GiB");
    if (o->max_header < 1024 || o->max_header > 1 << 20)
        return bad("--max-header", (double)o->max_header, "1 KiB to 1 MiB");
    if (o->max_connections < 1 || o->max_connections > 1000000)
        return bad("--max-connections", o->max_connections, "1 to 1000000");
    if (!(o->rate >= 0) || !(o->timeout >= 0.1 && o->timeout <= 3600))
        return bad("--timeout", o->timeout, "0.1 to 3600 seconds, and a rate of 0 or more");
    if (!(o->drain >= 0 && o->drain <= 3600) || !(o->reload_every >= 0.01))
        return bad("--reload-every", o->reload_every, "0.01 or more, and a drain of 0 to 3600");
    if (!(o->drain_delay >= 0 && o->drain_delay <= 3600))
        return bad("--drain-delay", o->drain_delay, "0 to 3600 seconds");
    if (!(o->log_sample >= 0 && o->log_sample <= 1))
        return bad("--log-sample", o->log_sample, "0 to 1");
    if (o->models_dir && o->model_store)
        return shoal_fail(SHOAL_EINVAL, "serve: found --models and --model-store, want one of them");
    if (o->load_all && !o->model_store)
        return shoal_fail(SHOAL_EINVAL, "serve: --load-all is given, want --model-store too");
    if (o->no_tokens && o->token_file)
        return shoal_fail(SHOAL_EINVAL, "serve: found --no-tokens and --token-file, want one "
                                        "of them");
    return check_tls(o);
}

static void settings_of(struct shoal_server *s, const struct shoal_serve_opts *o)
{
    /* Half of the cores: on one that a model keeps busy a loop would wait for milliseconds. */
    s->http.threads = o->threads ? o->threads : (pool_threads(0) + 1) / 2;
    s->http.max_body = o->max_body;
    s->http.max_header = o->max_header;
    s->http.max_held = HELD_MAX > 16 * o->max_body ? HELD_MAX : 16 * o->max_body;
    s->http.max_request = s->http.max_held / 2;
    s->http.max_connections = o->max_connections;
    s->http.max_per_client = o->max_per_client;
    s->http.timeout = o->timeout;
    s->drain_delay = o->drain_delay;
    s->drain = o->drain;
    s->reload_every = o->reload_every;
    if (gethostname(s->hostname, sizeof s->hostname - 1) != 0)
        snprintf(s->hostname, sizeof s->hostname, "localhost");
    if (getrandom(&s->seed, sizeof s->seed, 0) != sizeof s->seed)
        s->seed = (uint64_t)time(NULL); /* ids alone depend on it */
    limiter_init(&s->limiter, o->rate, s->seed);
    s->tally.began = clock_now();
}

/* As many descriptors as connections need, or fewer connections. */
static void raise_files(struct shoal_server *s)
{
    struct rlimit files;
    unsigned most;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    if (files.rlim_cur < s->http.max_connections + SPARE_FILES) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
        getrlimit(RLIMIT_NOFILE, &files);
    }
    most =
        files.rlim_cur > 4 * SPARE_FILES ? (unsigned)(files.rlim_cur - SPARE_FILES) : SPARE_FILES;
    if (s->http.max_connections > most)
        s->http.max_connections = most;
}

/* ---- starting ---- */

static bool is_none(const char *address)
{
    return !address || !*address || strcmp(address, "none") == 0;
}

/* Models are managed over gRPC too, for those who can reach management itself. */
static void grpc_listener(struct shoal_server *s)
{
    size_t grpc = s->which[SHOAL_GRPC], manage = s->which[SHOAL_MANAGEMENT];

    if (grpc == LISTENERS)
        return;
    s->listeners[grpc].grpc = true;
    if (manage < LISTENERS && (s->listeners[grpc].loopback || !s->listeners[manage].loopback))
        s->listeners[grpc].roles |= ROLE_MANAGEMENT;
}

#ifndef SHOAL_WITH_GRPC
shoal_status h2_start(struct listener *l, struct shoal_server *s)
{
    (void)l;
    (void)s;
    return shoal_fail(SHOAL_EINVAL, "serve: --grpc-address is given, want a build with nghttp2 and "
                                    "protobuf-c");
}
#endif

static shoal_status open_listeners(struct shoal_server *s, const struct shoal_serve_opts *o)
{
    const char *const texts[LISTENERS] = {o->inference, o->management, o->metrics, o->grpc};
    static const char *const options[LISTENERS] = {"--inference-address", "--management-address",
                                                   "--metrics-address", "--grpc-address"};
    static const unsigned roles[LISTENERS] = {ROLE_INFERENCE, ROLE_MANAGEMENT, ROLE_METRICS,
                                              ROLE_INFERENCE};
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < LISTENERS && st == SHOAL_OK; i++) {
        size_t same = 0;

        s->which[i] = LISTENERS;
        if (is_none(texts[i]))
            continue;
        while (same < i && (i == SHOAL_GRPC || s->which[same] == LISTENERS || strcmp(texts[same], texts[i]) != 0))
            same++;
        s->which[i] = same < i ? s->which[same] : s->nlisteners;
        if (same == i)
            st = listener_open(&s->listeners[s->nlisteners++], texts[i], options[i]);
        s->listeners[s->which[i]].roles |= roles[i];
    }
    if (st == SHOAL_OK && s->nlisteners == 0)
        st = shoal_fail(SHOAL_EINVAL, "serve: found no address, want one at least");
    if (st == SHOAL_OK)
        grpc_listener(s);
    s->local = true;
    for (size_t i = 0; i < s->nlisteners; i++)
        s->local = s->local && s->listeners[i].loopback;
    return st;
}

static shoal_status read_secrets(struct shoal_server *s, const struct shoal_serve_opts *o)
{
    shoal_status st = o->token_file ? tokens_read(&s->tokens, o->token_file) : SHOAL_OK;

    return st == SHOAL_OK && o->tls_cert ? tls_open(&s->http.tls, o->tls_cert, o->tls_key) : st;
}

static shoal_status open_registry(struct shoal_server *s, const struct shoal_serve_opts *o)
{
    struct model_settings settings = {
        .batch_size = o->batch_size,
        .max_batch_delay = o->max_batch_delay,
        .queue_size = o->queue_size,
        .min_workers = o->workers,
        .max_workers = o->workers,
        .response_timeout = o->response_timeout,
    };
    const char *store = o->models_dir ? o->models_dir : o->model_store;
    shoal_status st = registry_init(&s->registry, servable_kinds, store, o->state, &settings);

    s->registry.log = o->log;
    s->registry.user = o->user_data;
    s->registry.map = o->mmap;
    s->registry.index = o->index;
    if (st == SHOAL_OK && o->models_dir)
        st = registry_begin_watch(&s->registry, o->state != NULL);
    if (st == SHOAL_OK)
        st = limit_rules_check(o->limits, &settings);
    if (st == SHOAL_OK && o->limits && !(s->registry.limits = strdup(o->limits)))
        st = shoal_fail(SHOAL_ENOMEM, "memory: no room for a list");
    return st == SHOAL_OK ? class_rules_init(&s->registry.classes, o->class_index) : st;
}

/* A name that nobody has is a slip, unless management may still register it. */
static shoal_status check_class_rules(struct shoal_server *s)
{
    const struct class_rules *rules = &s->registry.classes;
    enum registry_error why;
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < rules->n && st == SHOAL_OK && s->registry.store < 0; i++) {
        struct lease lease = {0};

        if (rules->at[i].model &&
            registry_lease(&s->registry, rules->at[i].model, NULL, &lease, &why) != SHOAL_OK)
            st = shoal_fail(SHOAL_EINVAL,
                            "serve: --class-index is for '%.80s', want the name of "
                            "a model that is served",
                            rules->at[i].model);
        lease_end(&lease);
    }
    return st;
}

static shoal_status open_models(struct shoal_server *s, const struct shoal_serve_opts *o)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < o->nmodels && st == SHOAL_OK; i++)
        st = registry_add_path(&s->registry, o->models[i]);
    if (st == SHOAL_OK)
        st = state_load(&s->registry);
    if (st == SHOAL_OK && o->load_all)
        st = registry_add_all(&s->registry);
    if (st == SHOAL_OK)
        registry_watch(&s->registry, true);
    return st == SHOAL_OK ? check_class_rules(s) : st;
}

/* ---- now and then ---- */

static void *ticker(void *arg)
{
    struct shoal_server *s = arg;
    struct pollfd ending = {.fd = s->ending, .events = POLLIN};
    int tick = (int)ceil(fmin(s->reload_every, TICK) * 1e3);
    double reload = clock_now() + s->reload_every, shown = clock_now();

    while (poll(&ending, 1, tick) <= 0) {
        double now = clock_now();

        if (now >= reload) {
            registry_reload(&s->registry);
            registry_watch(&s->registry, false);
            reload = now + s->reload_every;
        }
        if (now - shown >= SHOWN) {
            registry_update_rates(&s->registry, now - shown);
            shown = now;
        }
    }
    return NULL;
}

static shoal_status start_ticker(struct shoal_server *s)
{
    s->ending = eventfd(0, EFD_CLOEXEC);
    if (s->ending < 0)
        return shoal_fail_errno(SHOAL_EIO, "serve: an event");
    s->ticking = pthread_create(&s->ticker, NULL, ticker, s) == 0;
    if (s->ticking)
        return SHOAL_OK;
    close(s->ending);
    return shoal_fail(SHOAL_ELIMIT, "serve: the system gives no thread");
}

static void stop_ticker(struct shoal_server *s)
{
    if (!s->ticking)
        return;
    eventfd_write(s->ending, 1);
    pthread_join(s->ticker, NULL);
    close(s->ending);
    s->ticking = false;
}

/* ---- the server ---- */

/* One core is left to the event loops: reading takes as long as strangers like. */
static unsigned reading_threads(void)
{
    unsigned cores = pool_threads(0);

    return cores > 1 ? cores - 1 : 1;
}

static const struct http_handler routes = {
    .admit = route_admit,
    .begin = route_begin,
    .submit = route_submit,
    .finish = route_finish,
    .end = route_end,
    .policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
              "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; "
              "frame-ancestors 'none'",
};

/* Without TLS others can read tokens on their way. */
static void warn_of_plain_tokens(struct shoal_server *s)
{
    if (s->tokens.on && !s->local && !s->http.tls)
        registry_log(&s->registry, "tokens travel in the clear beyond this machine: want "
                                   "--tls-cert and --tls-key, or a proxy that encrypts");
}

static shoal_status enter_sandbox(struct shoal_server *s, const struct shoal_serve_opts *o)
{
    bool files;
    shoal_status st =
        sandbox_enter(s->registry.state, o->access ? o->log_file : NULL, &files);

    if (st == SHOAL_OK && !files)
        registry_log(&s->registry, "sandbox: there is no Landlock here, so that what may be "
                                   "written is left to file permissions");
    return st;
}

static shoal_status start(struct shoal_server *s, const struct shoal_serve_opts *o)
{
    shoal_status st = open_registry(s, o); /* first: shoal_serve_stop expects it */

    if (st == SHOAL_OK)
        st = read_secrets(s, o);
    if (st == SHOAL_OK)
        st = open_listeners(s, o);
    if (st == SHOAL_OK && !s->local && !s->tokens.on && !o->no_tokens)
        st = shoal_fail(SHOAL_EINVAL, "serve: an address reaches beyond this machine, want "
                                      "--token-file, or --no-tokens behind a gateway that asks "
                                      "for its own");
    if (st == SHOAL_OK)
        warn_of_plain_tokens(s);
    if (st == SHOAL_OK && o->user)
        st = privileges_drop(o->user);
    if (st == SHOAL_OK && o->sandbox)
        st = enter_sandbox(s, o);
    if (st == SHOAL_OK)
        st = access_open(&s->access, o, s->seed);
    if (st == SHOAL_OK)
        st = readers_new(&s->readers, reading_threads());
    raise_files(s);
    /* Probes are answered while models are opened, which may take long. */
    for (size_t i = 0; i < s->nlisteners && st == SHOAL_OK; i++)
        st = s->listeners[i].grpc ? h2_start(&s->listeners[i], s)
                                  : http_start(&s->listeners[i], s, &routes);
    if (st == SHOAL_OK)
        st = open_models(s, o);
    if (st == SHOAL_OK)
        st = start_ticker(s);
    if (st == SHOAL_OK)
        atomic_store(&s->starting, false);
    return st;
}

shoal_status shoal_serve_start(shoal_server **out, const struct shoal_serve_opts *opts)
{
    shoal_status st = shoal_serve_check(opts);
    struct shoal_server *s;

    *out = NULL;
    if (st != SHOAL_OK)
        return st;
    s = mem_array(1, sizeof *s);
    if (!s)
        return SHOAL_ENOMEM;
    settings_of(s, opts);
    atomic_store(&s->starting, true);
    st = start(s, opts);
    if (st != SHOAL_OK) {
        char sentence[512];

        snprintf(sentence, sizeof sentence, "%s", shoal_error());
        shoal_serve_stop(s);
        return shoal_fail(st, "%s", sentence);
    }
    *out = s;
    return SHOAL_OK;
}

const char *shoal_serve_address(const shoal_server *s, enum shoal_listener which)
{
    return s->which[which] < LISTENERS ? s->listeners[s->which[which]].address : "";
}

size_t shoal_serve_models(const shoal_server *s)
{
    struct registry *r = (struct registry *)(uintptr_t)&s->registry;
    size_t n;

    pthread_rwlock_rdlock(&r->lock);
    n = r->len;
    pthread_rwlock_unlock(&r->lock);
    return n;
}

/* Waits until all requests that have come whole are answered, s->drain seconds at most. One
 * that has come in part is not waited for: the rest of it may never come. */
static void drain(struct shoal_server *s)
{
    double end = clock_now() + s->drain;
    struct timespec nap = {0, 2000000};
    bool over = false;

    while (!over && clock_now() < end) {
        over = true;
        for (size_t i = 0; i < s->nlisteners; i++)
            over = over && loops_drained(s->listeners[i].loops);
        over = over && atomic_load(&s->running) == 0;
        if (!over)
            nanosleep(&nap, NULL);
    }
}

/* Whoever balances the load needs a moment to see that this server is not ready. Until then its
 * clients are answered, and told that their connection ends. */
static void drain_delay(struct shoal_server *s)
{
    double end = clock_now() + s->drain_delay;
    struct timespec nap = {0, 20000000};

    while (s->ticking && clock_now() < end)
        nanosleep(&nap, NULL);
}

void shoal_serve_reopen(shoal_server *s)
{
    access_reopen(s->access);
}

void shoal_serve_stop(shoal_server *s)
{
    if (!s)
        return;
    atomic_store(&s->draining, true);
    drain_delay(s);
    for (size_t i = 0; i < s->nlisteners; i++)
        loops_drain(s->listeners[i].loops);
    if (s->ticking)
        drain(s);
    stop_ticker(s);
    readers_close(s->readers);
    registry_close(&s->registry); /* wakes whoever still waits */
    for (size_t i = 0; i < s->nlisteners; i++) {
        loops_stop(s->listeners[i].loops);
        if (s->listeners[i].fd >= 0)
            close(s->listeners[i].fd);
    }
    readers_free(s->readers);
    access_close(s->access);
    registry_fini(&s->registry);
    limiter_fini(&s->limiter);
    explicit_bzero(&s->tokens, sizeof s->tokens);
    tls_close(s->http.tls);
    free(s);
}
