/* shoal serve: models over HTTP, until a signal comes. */
#include "cmd.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct serve_cmd {
    struct shoal_serve_opts serve;
    const char *config;
    struct work_opts work;
};

static void serve_defaults(void *at)
{
    struct serve_cmd *cmd = at;

    cmd->serve = shoal_serve_default();
    cmd->serve.sandbox = true;
}

/* ---- Serving --------------------------------------------------------------------- */

/* From any thread; stdio keeps lines whole. */
static void say(void *user, const char *sentence)
{
    (void)user;
    print_line(stderr, "shoal serve: %s\n", sentence);
}

/* Lines of the access log, from one thread. */
static void say_lines(void *user, const char *lines)
{
    (void)user;
    fputs(lines, stderr);
    fflush(stderr);
}

static void report(struct console *c, const shoal_server *s, const struct shoal_serve_opts *o)
{
    static const char *const names[] = {"inference", "management", "metrics", "gRPC"};
    const char *http = o->tls_cert ? "https" : "http", *grpc = o->tls_cert ? "grpcs" : "grpc";

    for (int i = SHOAL_INFERENCE; i <= SHOAL_GRPC; i++) {
        const char *address = shoal_serve_address(s, (enum shoal_listener)i);
        char text[128];

        snprintf(text, sizeof text, "%s://%s", i == SHOAL_GRPC ? grpc : http, address);
        if (*address)
            console_row(c, names[i], text, NULL);
    }
    console_row(c, "models", number_count(shoal_serve_models(s)).text, NULL);
    if (c->reports)
        fflush(c->reports);
}

/* Signals that end the server are taken here and by no other thread. SIGHUP opens the access
 * log's file anew, where there is one. */
static void wait_for_signal(const sigset_t *signals, shoal_server *server, bool has_file)
{
    int came = 0;

    for (;;) {
        if (sigwait(signals, &came) != 0)
            continue;
        if (came != SIGHUP || !has_file)
            return;
        shoal_serve_reopen(server);
    }
}

static int serve_run(const void *at, const char *const *args, size_t nargs)
{
    const struct serve_cmd *cmd = at;
    struct shoal_serve_opts opts = cmd->serve;
    struct console console;
    shoal_server *server;
    sigset_t signals;
    shoal_status st;

    if (opts.no_tokens && opts.token_file)
        return usage(&cmd_serve, "found --no-tokens and --token-file, want one of them");
    opts.models = args;
    opts.nmodels = nargs;
    opts.log = cmd->work.quiet ? NULL : say;
    opts.log_line = say_lines;
    console_init(&console, cmd->work.quiet, NULL);
    signals_release();
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* inherited by every thread */
    st = shoal_serve_start(&server, &opts);
    if (st == SHOAL_OK) {
        report(&console, server, &opts);
        if (opts.no_tokens)
            say(NULL, "WARNING: --no-tokens: whoever reaches these addresses may ask, register "
                      "and end models");
        wait_for_signal(&signals, server, opts.access && opts.log_file);
        if (!cmd->work.quiet)
            say(NULL, "stopping: what is under way is answered first");
        /* A second signal does not wait for that. */
        sigprocmask(SIG_UNBLOCK, &signals, NULL);
        shoal_serve_stop(server);
    }
    return console_finish(&console, st);
}

/* With a file of options: they first, then those of the command line. */
static bool serve_configured(const void *at, const struct parsed *parsed, int *code)
{
    const struct serve_cmd *given = at;
    struct serve_cmd cmd = {0};
    char *strings = NULL;

    if (!given->config)
        return false;
    serve_defaults(&cmd);
    if (shoal_serve_config(&cmd.serve, given->config, &strings) != SHOAL_OK) {
        *code = console_fail("%s", shoal_error());
    } else {
        for (size_t i = 0; i < parsed->ngiven; i++) {
            const struct shoal_option *opt = parsed->given[i].opt;

            memcpy((char *)&cmd + opt->at, (const char *)given + opt->at, opt->size);
        }
        cmd.work = given->work;
        *code = serve_run(&cmd, parsed->args, parsed->nargs);
    }
    free(strings);
    return true;
}

/* ---- The verb ------------------------------------------------------------------------- */

#define ON(member) SHOAL_FIELD(struct serve_cmd, member)

static const struct shoal_option address_opts[] = {
    {"inference-address", .type = SHOAL_TYPE_TEXT, ON(serve.inference), .arg = "HOST:PORT",
     .help = "where predictions are asked for; none: nowhere"},
    {"management-address", .type = SHOAL_TYPE_TEXT, ON(serve.management), .arg = "HOST:PORT",
     .help = "where models are managed; may be the same"},
    {"metrics-address", .type = SHOAL_TYPE_TEXT, ON(serve.metrics), .arg = "HOST:PORT",
     .help = "where Prometheus asks; may be the same"},
    {"grpc-address", .type = SHOAL_TYPE_TEXT, ON(serve.grpc), .arg = "HOST:PORT",
     .help = "where gRPC is spoken, as Triton's and KServe's clients do; nowhere by itself"},
    {0},
};

static const struct shoal_option model_opts[] = {
    {"model-store", .type = SHOAL_TYPE_PATH, ON(serve.model_store), .arg = "DIR",
     .help = "the folder whose files, and no others, management may register"},
    {"load-all", .type = SHOAL_TYPE_FLAG, ON(serve.load_all),
     .help = "serve every model of the store from the start"},
    {"models", .type = SHOAL_TYPE_PATH, ON(serve.models_dir), .arg = "DIR",
     .help = "serve every model of this folder, and those that come, change and go later"},
    {"state", .type = SHOAL_TYPE_PATH, ON(serve.state), .arg = "FILE",
     .help = "where registered models survive a restart; by itself in the store"},
    {"class-index", .type = SHOAL_TYPE_TEXT, ON(serve.class_index), .arg = "LIST",
     .help = "[NAME=]FILE, with commas between: names of the classes of that model, or of every "
             "one, as in TorchServe's index_to_name.json or a line each; NAME=indices: numbers"},
    {"reload-every", .type = SHOAL_TYPE_REAL, ON(serve.reload_every), .arg = "SECONDS",
     .d = {0.01, 86400}, .help = "how often to look for replaced files"},
    {"mmap", .type = SHOAL_TYPE_FLAG, ON(serve.mmap),
     .help = "map vectors of shoal's own format instead of reading them; whoever then writes into "
             "such a file ends the server"},
    {"index", .type = SHOAL_TYPE_FLAG, ON(serve.index),
     .help = "ask vectors by the index beside their file, which `shoal index` makes; where there is "
             "none, exactly"},
    {"workers", .type = SHOAL_TYPE_COUNT, ON(serve.workers), .arg = "N", .u = {0, 64},
     .help = "threads for each model served from the start"},
    {"batch-size", .type = SHOAL_TYPE_COUNT, ON(serve.batch_size), .arg = "N", .u = {1, 4096},
     .help = "inputs that are computed at once, at most"},
    {"max-batch-delay", .type = SHOAL_TYPE_COUNT, ON(serve.max_batch_delay), .arg = "MS",
     .u = {0, 10000},
     .help = "milliseconds that several requests may wait for more; one alone never waits"},
    {"queue-size", .type = SHOAL_TYPE_COUNT, ON(serve.queue_size), .arg = "N", .u = {1, 1000000},
     .help = "requests of a model that may wait; more are refused with 503"},
    {"response-timeout", .type = SHOAL_TYPE_COUNT, ON(serve.response_timeout), .arg = "SECONDS",
     .u = {1, 86400}, .help = "how long a request may wait for its model"},
    {"limits", .type = SHOAL_TYPE_TEXT, ON(serve.limits), .arg = "LIST",
     .help = "NAME:KEY=NUMBER, with commas between: what that model alone may have and take "
             "(docs/operations.md)"},
    {0},
};

static const struct shoal_option safety_opts[] = {
    {"token-file", .type = SHOAL_TYPE_PATH, ON(serve.token_file), .arg = "FILE",
     .help = "lines `inference TOKEN` and `management TOKEN`, which clients must then send; "
             "required beyond this machine, unless --no-tokens"},
    {"no-tokens", .type = SHOAL_TYPE_FLAG, ON(serve.no_tokens),
     .help = "want none, even beyond this machine: for a server behind a gateway or mesh that "
             "lets nobody else through"},
    {"tls-cert", .type = SHOAL_TYPE_PATH, ON(serve.tls_cert), .arg = "FILE",
     .help = "certificate for HTTPS (PEM)"},
    {"tls-key", .type = SHOAL_TYPE_PATH, ON(serve.tls_key), .arg = "FILE",
     .help = "its private key (PEM)"},
    {"user", .type = SHOAL_TYPE_TEXT, ON(serve.user), .arg = "NAME",
     .help = "whom to become once the addresses are bound"},
    {"sandbox", .type = SHOAL_TYPE_FLAG, ON(serve.sandbox),
     .help = "let the kernel refuse all but what a server needs: no programs, no connections "
             "of its own"},
    {"max-body", .type = SHOAL_TYPE_SIZE, ON(serve.max_body), .arg = "SIZE",
     .u = {1, (uint64_t)1 << 32}, .help = "the largest body"},
    {"max-header", .type = SHOAL_TYPE_SIZE, ON(serve.max_header), .arg = "SIZE",
     .u = {1024, 1 << 20}, .help = "the most for an address and its headers"},
    {"max-connections", .type = SHOAL_TYPE_COUNT, ON(serve.max_connections), .arg = "N",
     .u = {1, 1000000}, .help = "at once, of each address"},
    {"max-per-client", .type = SHOAL_TYPE_COUNT, ON(serve.max_per_client), .arg = "N",
     .u = {0, 1000000}, .help = "connections of one client", .zero = "no limit of its own"},
    {"rate", .type = SHOAL_TYPE_REAL, ON(serve.rate), .arg = "N", .d = {0, 1e9},
     .help = "requests a second of one client; more are refused with 429", .zero = "any number"},
    {"timeout", .type = SHOAL_TYPE_REAL, ON(serve.timeout), .arg = "SECONDS", .d = {0.1, 3600},
     .help = "how long a client may take to send a request or to read an answer, and may idle"},
    {"drain-delay", .type = SHOAL_TYPE_REAL, ON(serve.drain_delay), .arg = "SECONDS",
     .d = {0, 3600},
     .help = "how long a stop still answers new clients, while the server says that it is not "
             "ready"},
    {"drain", .type = SHOAL_TYPE_REAL, ON(serve.drain), .arg = "SECONDS", .d = {0, 3600},
     .help = "how long a stop then waits for what is under way"},
    {0},
};

static const struct shoal_choice access_choices[] = {
    [SHOAL_ACCESS_OFF] = {"off", "none"},
    [SHOAL_ACCESS_TEXT] = {"text", "for people"},
    [SHOAL_ACCESS_JSON] = {"json", "an object a line"},
    {0},
};

static const struct shoal_option log_opts[] = {
    {"log", .type = SHOAL_TYPE_CHOICE, ON(serve.access), .arg = "FORM", .choices = access_choices,
     .help = "a line on stderr for each answer"},
    {"log-file", .type = SHOAL_TYPE_PATH, ON(serve.log_file), .arg = "FILE",
     .help = "append the lines to it instead; SIGHUP opens it anew"},
    {"log-sample", .type = SHOAL_TYPE_REAL, ON(serve.log_sample), .arg = "SHARE", .d = {0, 1},
     .help = "the share of answers that get a line; those of status 500 and above always do"},
    {"log-client", .type = SHOAL_TYPE_FLAG, ON(serve.log_client),
     .help = "with the client's address"},
    {0},
};

static const struct shoal_option other_opts[] = {
    {"config", .type = SHOAL_TYPE_PATH, ON(config), .arg = "FILE",
     .help = "lines `key = value` (docs/serving.md); options given here go before"},
    {"threads", .type = SHOAL_TYPE_COUNT, ON(serve.threads), .arg = "N", .u = {0, 256},
     .help = "threads that speak HTTP", .zero = "one for every two cores"},
    {0},
};

const struct verb cmd_serve = {
    .name = "shoal serve",
    .summary = "answer questions over HTTP, as TorchServe does",
    .about = "Serves models with TorchServe's REST interface, the Open Inference Protocol and a "
             "page for people at the inference address. A model file that is replaced is picked "
             "up without losing a request. SIGTERM or Ctrl-C answers what is under way, then "
             "ends.\n"
             "It listens on this machine only, unless an address says otherwise; then clients "
             "need tokens.",
    .operands =
        (const struct operand[]){
            {.name = "MODEL",
             .help = "word vectors in any format, a net or a click model, as FILE, NAME=FILE or "
                     "NAME:VERSION=FILE",
             .optional = true,
             .many = true},
            {0},
        },
    .groups =
        (const struct shoal_option_group[]){
            {"Addresses", address_opts, .at = 0},
            {"Models", model_opts, .at = 0},
            {"Safety", safety_opts, .at = 0},
            {"Access log", log_opts, .at = 0},
            {"Other", other_opts, .at = 0},
            {"General", work_opts, .at = offsetof(struct serve_cmd, work)},
            {0},
        },
    .examples =
        (const struct shoal_example[]){
            {"shoal serve words=vectors.shoal", "then open http://127.0.0.1:8080"},
            {"curl 'http://127.0.0.1:8080/models/words/similar?word=king&k=5'",
             "ask it for the nearest words"},
            {"shoal serve --model-store models --config serve.conf",
             "register models later, over the management address"},
            {0},
        },
    .opts_size = sizeof(struct serve_cmd),
    .defaults = serve_defaults,
    .run = serve_run,
    .elsewhere = serve_configured,
};
