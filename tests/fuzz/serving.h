/* A server of two tiny models, for targets of gRPC: started before the first input, and anew when
 * an input may have changed what it serves. */
#ifndef SHOAL_FUZZ_SERVING_H
#define SHOAL_FUZZ_SERVING_H

#include "fuzz.h"

#include "serve/server.h"

#include <unistd.h>

static char store[96];
static shoal_server *server;

static void serving_put(const char *name, const void *data, size_t size)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", store, name);
    f = fopen(path, "wb");
    require(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

static void serving_models(void)
{
    static const char words[] = "3 3\nking 1 0 0\nqueen 1 1 0\nman 0 0 1\n";
    static const char net[] = "%%meta\nkind net\nspec mlp inputs=2 layers=3 outputs=2 "
                              "activation=relu loss=softmax\n\n%%params=256";
    size_t len;
    const char *file = fuzz_container((const uint8_t *)net, strlen(net), &len);

    serving_put("words.vec", words, sizeof words - 1);
    serving_put("net.shoal", file, len);
}

static void serving_start(void)
{
    struct shoal_serve_opts o = shoal_serve_default();

    o.inference = o.metrics = "none";
    o.management = "127.0.0.1:0";
    o.grpc = "127.0.0.1:0";
    o.model_store = store;
    o.load_all = true;
    o.drain = 0;
    o.reload_every = 3600;
    o.max_body = 1 << 20;
    if (shoal_serve_start(&server, &o) != SHOAL_OK) {
        fprintf(stderr, "fuzz: %s\n", shoal_error());
        abort();
    }
}

static void serving_stop(void)
{
    char path[160];

    shoal_serve_stop(server);
    server = NULL;
    snprintf(path, sizeof path, "%s/.shoal-serve.state", store);
    unlink(path);
}

static void serving_end(void)
{
    static const char *const files[] = {"words.vec", "net.shoal"};
    char path[160];

    if (server)
        serving_stop();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", store, files[i]);
        unlink(path);
    }
    rmdir(store);
}

static void serving_begin(void)
{
    const char *under = getenv("TMPDIR");

    if (!store[0]) {
        snprintf(store, sizeof store, "%s/shoal-store-XXXXXX", under ? under : "/tmp");
        require(mkdtemp(store) != NULL);
        serving_models();
        atexit(serving_end);
    }
    if (!server)
        serving_start();
}

#endif
