/* What a server is told: tokens, a configuration, its state, addresses, ids, traces, limits and
 * names of classes. Any
 * text is refused with a sentence, or makes settings that are as they must be. The first byte
 * says which it is. */
#include "fuzz.h"

#include "saved/saved.h"
#include "serve/serve.h"
#include "serve/server.h"

#include <stdio.h>

static void read_tokens(const char *text, size_t size)
{
    struct tokens t;
    char header[TOKEN_MAX + 16];

    if (tokens_parse(&t, "fuzz", text) != SHOAL_OK) {
        require(!t.on && strncmp(shoal_error(), "fuzz: ", 6) == 0);
        return;
    }
    require(t.on && strlen(t.inference) >= TOKEN_MIN && strlen(t.management) >= TOKEN_MIN);
    require(strcmp(t.inference, t.management) != 0);
    snprintf(header, sizeof header, "Bearer %s", t.inference);
    require(tokens_allow(&t, ROLE_INFERENCE, header));
    require(!tokens_allow(&t, ROLE_MANAGEMENT, header));
    snprintf(header, sizeof header, "Bearer %s", t.management);
    require(tokens_allow(&t, ROLE_MANAGEMENT, header));
    require(!tokens_allow(&t, ROLE_INFERENCE, header));
    require(!tokens_allow(&t, ROLE_INFERENCE | ROLE_MANAGEMENT | ROLE_METRICS, text) || size > 0);
}

static void read_config(char *text)
{
    struct shoal_serve_opts opts = shoal_serve_default();

    if (serve_config_parse(&opts, "fuzz", text) != SHOAL_OK)
        require(strncmp(shoal_error(), "fuzz: ", 6) == 0);
    else if (shoal_serve_check(&opts) != SHOAL_OK)
        require(*shoal_error() != '\0');
}

/* Of a store without files: what it names is remembered and not there. */
static void read_state(const char *text, size_t size)
{
    static const struct model_settings settings = {.batch_size = 1,
                                                   .queue_size = 1,
                                                   .min_workers = 1,
                                                   .max_workers = 1,
                                                   .response_timeout = 1};
    const char *folder = fuzz_folder();
    struct registry r;

    require(registry_init(&r, servable_kinds, folder, NULL, &settings) == SHOAL_OK);
    fuzz_put(strrchr(r.state, '/') + 1, text, size);
    if (state_load(&r) != SHOAL_OK)
        require(*shoal_error() != '\0');
    for (size_t i = 0; i < r.len; i++) {
        require(model_name_fits(r.at[i]->name) && model_version_fits(r.at[i]->version));
        require(model_file_fits(r.at[i]->file) && r.at[i]->settings.max_workers <= WORKERS_MAX);
    }
    registry_fini(&r);
}

static void read_address(const char *text)
{
    char host[64], port[8];

    if (address_parse(text, host, port))
        require(strlen(host) < sizeof host && strlen(port) < sizeof port);
    (void)host_is_local(text);
    (void)origin_fits(text, text);
}

/* What a client calls its request is passed on as it is, or not at all. */
static void read_names(const char *text)
{
    struct trace trace;

    if (request_id_fits(text))
        require(strlen(text) <= REQUEST_ID_MAX && !strpbrk(text, "\"\\\r\n\033 "));
    if (trace_begin(&trace, text, 1)) {
        struct trace again;

        require(strlen(trace.said) == TRACEPARENT && strlen(trace.parent) == SPAN_ID);
        require(strncmp(trace.said + 3, text + 3, 32) == 0);
        require(trace_begin(&again, trace.said, 2));
    } else {
        require(!trace.said[0] && !trace.parent[0]);
    }
}

static void read_limits(const char *text)
{
    struct model_settings settings = {.batch_size = 1, .queue_size = 1, .response_timeout = 1};

    if (limit_rules_check(text, &settings) != SHOAL_OK) {
        require(strncmp(shoal_error(), "serve: --limits has '", 21) == 0);
        return;
    }
    limit_rules_apply(text, "words", &settings);
    require(settings.batch_size >= 1 && settings.batch_size <= 4096 && settings.queue_size >= 1);
    require(settings.max_workers <= WORKERS_MAX && settings.min_workers == settings.max_workers);
}

static void read_classes(char *text, size_t size)
{
    struct class_index *index;

    if (class_index_parse(&index, "fuzz", text, size) != SHOAL_OK) {
        require(!index && strncmp(shoal_error(), "fuzz: ", 6) == 0);
        return;
    }
    require(index->n > 0 && class_index_fits(index, index->n) == SHOAL_OK);
    require(class_index_fits(index, index->n + 1) != SHOAL_OK);
    for (size_t i = 0; i < index->n; i++)
        require(*index->names[i] && strlen(index->names[i]) < CLASS_NAME);
    class_index_free(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    if (size == 0)
        return 0;
    fuzz_begin(size, 160 * MIB, 64); /* a zstd frame may ask for its window */
    text = fuzz_text(data + 1, size - 1);
    switch (data[0] == 'n' ? 4 : data[0] % 4) {
    case 0:
        read_tokens(text, size - 1);
        break;
    case 1:
        read_config(text);
        break;
    case 2:
        read_state(text, size - 1);
        break;
    case 4:
        read_classes(text, size - 1);
        break;
    default:
        read_address(text);
        read_names(text);
        read_limits(text);
    }
    fuzz_end();
    return 0;
}
