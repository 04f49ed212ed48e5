/* Whole requests against a server with a tiny model of each kind, without sockets: admitted,
 * routed, computed and ended as the front does it. Any request gets an answer, none of them
 * many times its size.
 *
 * The first byte says which ports' requests these are; then follow the method and the
 * address, headers, and behind an empty line the body, as in HTTP but with plain newlines. */
#include "fuzz.h"

#include "serve/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static char store[96];
static shoal_server *server;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static bool awake;

/* ---- the server ---------------------------------------------------------------------------- */

static void put_model(const char *name, const void *data, size_t size)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", store, name);
    f = fopen(path, "wb");
    require(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

static void put_sections(const char *name, const char *text)
{
    size_t len;
    const char *file = fuzz_container((const uint8_t *)text, strlen(text), &len);

    put_model(name, file, len);
}

/* Words, and a net that continues them: five words in the numbers of docs/formats.md. */
static void put_nextword(void)
{
    static const char words[] = "a\0b\0c\0d\0e";
    struct bytes b = {0};
    uint64_t offsets[6], counts[5], sentences = 1;
    size_t len;
    const char *file;

    for (size_t i = 0; i < 6; i++)
        offsets[i] = 2 * i;
    for (size_t i = 0; i < 5; i++)
        counts[i] = 9 - i;
#define ADD(text) require(bytes_add(&b, text, sizeof(text) - 1) == SHOAL_OK)
    ADD("%%meta\nkind net\nspec lstm length=2 width=4 hidden=4 outputs=4\n\n%%params=704");
    ADD("\n%%vectors=320\n%%vocab.words\n");
    require(bytes_add(&b, words, sizeof words) == SHOAL_OK);
    ADD("\n%%vocab.offsets\n");
    require(bytes_add(&b, offsets, sizeof offsets) == SHOAL_OK);
    ADD("\n%%vocab.counts\n");
    require(bytes_add(&b, counts, sizeof counts) == SHOAL_OK);
    ADD("\n%%vocab.sentences\n");
    require(bytes_add(&b, &sentences, sizeof sentences) == SHOAL_OK);
#undef ADD
    file = fuzz_container((const uint8_t *)b.at, b.len, &len);
    put_model("next.shoal", file, len);
    bytes_fini(&b);
}

static void put_models(void)
{
    static const char vectors[] = "5 3\nking 1 0 0\nqueen 1 1 0\nman 0 0 1\nwoman 0 1 1\n"
                                  "caf\xc3\xa9 1 1 1\n";

    put_model("words.vec", vectors, sizeof vectors - 1);
    put_sections("net.shoal", "%%meta\nkind net\nspec mlp inputs=2 layers=3 outputs=2 "
                              "activation=relu loss=softmax\n\n%%params=256");
    put_sections("pictures.shoal", "%%meta\nkind net\nspec mlp inputs=64 layers= outputs=2 "
                                   "activation=relu loss=softmax\nchannels 1\nheight 8\n"
                                   "width 8\nclass.0 cat\n\n"
                                   "%%params=576");
    put_sections("clicks.shoal", "%%meta\nkind logreg\nbias 0x1p-1\nway.format libsvm\n"
                                 "way.bits 10\n\n%%slots=0\n%%weights=0\n%%names=1\n%%name=0");
    put_nextword();
}

static void server_start(void)
{
    const char *const models[] = {"words=words.vec", "net=net.shoal", "pictures=pictures.shoal",
                                  "clicks=clicks.shoal", "next=next.shoal"};
    struct shoal_serve_opts o = shoal_serve_default();
    const char *paths[8];
    char specs[8][192];

    o.inference = "127.0.0.1:0";
    o.management = o.metrics = "none";
    o.model_store = store;
    o.drain = 0;
    o.reload_every = 3600;
    o.max_body = 1 << 20;
    for (o.nmodels = 0; o.nmodels < sizeof models / sizeof *models; o.nmodels++) {
        const char *equals = strchr(models[o.nmodels], '=');

        snprintf(specs[o.nmodels], sizeof specs[0], "%.*s=%s/%s", (int)(equals - models[o.nmodels]),
                 models[o.nmodels], store, equals + 1);
        paths[o.nmodels] = specs[o.nmodels];
    }
    o.models = paths;
    if (shoal_serve_start(&server, &o) != SHOAL_OK) {
        fprintf(stderr, "fuzz: %s\n", shoal_error());
        abort();
    }
}

static void server_stop(void)
{
    char path[160];

    shoal_serve_stop(server);
    server = NULL;
    snprintf(path, sizeof path, "%s/.shoal-serve.state", store);
    unlink(path);
}

static void end_all(void)
{
    static const char *const files[] = {"words.vec", "net.shoal", "pictures.shoal", "clicks.shoal",
                                        "next.shoal"};
    char path[160];

    if (server)
        server_stop();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", store, files[i]);
        unlink(path);
    }
    rmdir(store);
}

static void begin_all(void)
{
    const char *under = getenv("TMPDIR");

    if (!store[0]) {
        snprintf(store, sizeof store, "%s/shoal-store-XXXXXX", under ? under : "/tmp");
        require(mkdtemp(store) != NULL);
        put_models();
        atexit(end_all);
    }
    if (!server)
        server_start();
}

/* ---- a request ------------------------------------------------------------------------------- */

static void on_wake(struct request *q)
{
    (void)q;
    pthread_mutex_lock(&lock);
    awake = true;
    pthread_cond_signal(&woken);
    pthread_mutex_unlock(&lock);
}

static void await(void)
{
    pthread_mutex_lock(&lock);
    while (!awake)
        pthread_cond_wait(&woken, &lock);
    awake = false;
    pthread_mutex_unlock(&lock);
}

/* The line at *text, which goes on behind it. */
static char *next_line(char **text)
{
    char *line = *text, *end = strchr(line, '\n');

    *text = end ? end + 1 : line + strlen(line);
    if (end)
        *end = '\0';
    return line;
}

static void take_header(struct request *q, char *line)
{
    char *colon = strstr(line, ": ");
    const struct {
        const char *name, **to;
    } known[] = {{"Content-Type", &q->content_type},
                 {"Authorization", &q->authorization},
                 {"Origin", &q->origin},
                 {"Host", &q->host},
                 {"Inference-Header-Content-Length", &q->json_length}};

    if (!colon)
        return;
    *colon = '\0';
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(line, known[i].name) == 0)
            *known[i].to = colon + 2;
}

static void take_head(struct request *q, char **text)
{
    char *line = next_line(text), *space = strchr(line, ' ');

    q->method = line;
    q->address = "/";
    if (space) {
        *space = '\0';
        q->address = space + 1;
    }
    if (strcmp(q->method, "HEAD") == 0)
        q->method = "GET";
    while (**text && *(line = next_line(text)))
        take_header(q, line);
}

/* As the front does it. */
static void answer(struct request *q, const char *body, size_t len)
{
    if (!route_admit(q))
        return;
    if (request_charge(q, len) != SHOAL_OK || bytes_add(&q->body, body, len) != SHOAL_OK)
        return;
    if (route_begin(q) == ROUTE_WAITS) {
        route_submit(q);
        await();
        route_finish(q);
    }
    require(q->answer.status >= 200 && q->answer.status < 600);
}

static void ask(unsigned roles, char *text, size_t size)
{
    static const struct sockaddr_in client = {.sin_family = AF_INET};
    struct request *q = calloc(1, sizeof *q);
    char *end = text + size;

    require(q != NULL);
    q->server = server;
    q->roles = roles;
    q->client = (const struct sockaddr *)(const void *)&client;
    q->wake = on_wake;
    q->began = clock_now();
    take_head(q, &text);
    answer(q, text, (size_t)(end - text));
    fuzz_output(q->answer.body.out.len, size, 256 << 10, 64);
    route_end(q);
    bytes_fini(&q->body);
    request_refund(q, SIZE_MAX);
    bytes_fini(&q->answer.body.out);
    require(atomic_load(&server->held) == 0);
    free(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned roles = size > 0 && data[0] % 8 ? data[0] % 8 : 7;
    char *text;

    if (size == 0)
        return 0;
    begin_all();
    fuzz_begin(size, 64 * MIB, 512);
    text = fuzz_text(data + 1, size - 1);
    ask(roles, text, size - 1);
    /* Management may have changed what is served: the next input finds it as it was. */
    if (roles & ROLE_MANAGEMENT && strncmp((const char *)data + 1, "GET ", size < 5 ? size - 1 : 4))
        server_stop();
    fuzz_end();
    return 0;
}
