/* Messages of gRPC against a server with two tiny models, without sockets: the first byte says
 * which method, the rest is the message. Any bytes get an answer or a sentence, none many times
 * their size, and nothing is held afterwards. */
#include "serving.h"

#include <netinet/in.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static bool awake;

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

/* As the front does it. */
static void answer(struct request *q, const char *body, size_t len)
{
    if (!grpc_routes.admit(q))
        return;
    if (request_charge(q, len) != SHOAL_OK || bytes_add(&q->body, body, len) != SHOAL_OK)
        return;
    if (grpc_routes.begin(q) == ROUTE_WAITS) {
        grpc_routes.submit(q);
        await();
        grpc_routes.finish(q);
    }
    require(q->answer.status >= 200 && q->answer.status < 600);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
#define SERVICE "/inference.GRPCInferenceService/"
    static const char *const methods[] = {
        SERVICE "ModelInfer",          SERVICE "ModelInfer",
        SERVICE "ModelMetadata",       SERVICE "ModelReady",
        SERVICE "ModelStatistics",     SERVICE "RepositoryIndex",
        SERVICE "RepositoryModelLoad", SERVICE "RepositoryModelUnload",
        SERVICE "ServerMetadata",      "/grpc.health.v1.Health/Check",
    };
    static const struct sockaddr_in client = {.sin_family = AF_INET};
    struct request *q;
    size_t which;

    if (size == 0)
        return 0;
    which = data[0] % (sizeof methods / sizeof *methods);
    serving_begin();
    fuzz_begin(size, 64 * MIB, 512);
    q = calloc(1, sizeof *q);
    require(q != NULL);
    q->server = server;
    q->roles = ROLE_INFERENCE | ROLE_MANAGEMENT;
    q->method = "POST";
    q->address = methods[which];
    q->client = (const struct sockaddr *)(const void *)&client;
    q->wake = on_wake;
    q->began = clock_now();
    answer(q, fuzz_copy(data + 1, size - 1), size - 1);
    fuzz_output(q->answer.body.out.len, size, 256 << 10, 64);
    grpc_routes.end(q);
    bytes_fini(&q->body);
    request_refund(q, SIZE_MAX);
    bytes_fini(&q->answer.body.out);
    require(atomic_load(&server->held) == 0);
    free(q);
    if (strstr(methods[which], "load")) /* the next input finds what is served as it was */
        serving_stop();
    fuzz_end();
    return 0;
}
