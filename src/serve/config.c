/* Lines `key = value`, as TorchServe's config.properties has them, under its names
 * where it has the same thing and under those of struct shoal_serve_opts. */
#include "base/base.h"
#include "file/file.h"
#include "serve/serve.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, COUNT, AMOUNT, REAL, FLAG, ALL, ACCESS };

#define AT(member) offsetof(struct shoal_serve_opts, member)

static const struct key {
    const char *name;
    enum kind kind;
    size_t at;
} keys[] = {
    {"inference_address", TEXT, AT(inference)},
    {"management_address", TEXT, AT(management)},
    {"metrics_address", TEXT, AT(metrics)},
    {"grpc_address", TEXT, AT(grpc)},
    {"model_store", TEXT, AT(model_store)},
    {"load_models", ALL, AT(load_all)},
    {"models_dir", TEXT, AT(models_dir)},
    {"limits", TEXT, AT(limits)},
    {"state", TEXT, AT(state)},
    {"class_index", TEXT, AT(class_index)},
    {"mmap", FLAG, AT(mmap)},
    {"index", FLAG, AT(index)},
    {"token_file", TEXT, AT(token_file)},
    {"no_tokens", FLAG, AT(no_tokens)},
    {"tls_cert", TEXT, AT(tls_cert)},
    {"certificate_file", TEXT, AT(tls_cert)},
    {"tls_key", TEXT, AT(tls_key)},
    {"private_key_file", TEXT, AT(tls_key)},
    {"user", TEXT, AT(user)},
    {"sandbox", FLAG, AT(sandbox)},
    {"threads", COUNT, AT(threads)},
    {"number_of_netty_threads", COUNT, AT(threads)},
    {"workers", COUNT, AT(workers)},
    {"default_workers_per_model", COUNT, AT(workers)},
    {"batch_size", COUNT, AT(batch_size)},
    {"max_batch_delay", COUNT, AT(max_batch_delay)},
    {"queue_size", COUNT, AT(queue_size)},
    {"job_queue_size", COUNT, AT(queue_size)},
    {"response_timeout", COUNT, AT(response_timeout)},
    {"default_response_timeout", COUNT, AT(response_timeout)},
    {"max_body", AMOUNT, AT(max_body)},
    {"max_request_size", AMOUNT, AT(max_body)},
    {"max_header", AMOUNT, AT(max_header)},
    {"max_connections", COUNT, AT(max_connections)},
    {"max_per_client", COUNT, AT(max_per_client)},
    {"rate", REAL, AT(rate)},
    {"timeout", REAL, AT(timeout)},
    {"drain_delay", REAL, AT(drain_delay)},
    {"drain", REAL, AT(drain)},
    {"reload_every", REAL, AT(reload_every)},
    {"log", ACCESS, AT(access)},
    {"log_file", TEXT, AT(log_file)},
    {"log_sample", REAL, AT(log_sample)},
    {"log_client", FLAG, AT(log_client)},
};

static bool set_access(enum shoal_access *field, const char *value)
{
    static const char *const names[] = {"off", "text", "json"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(value, names[i]) == 0) {
            *field = (enum shoal_access)i;
            return true;
        }
    }
    return false;
}

static bool set(void *field, enum kind kind, const char *value)
{
    char *end;
    unsigned long long n;

    switch (kind) {
    case TEXT:
        *(const char **)field = value;
        return true;
    case FLAG:
        *(bool *)field = strcasecmp(value, "true") == 0;
        return *(bool *)field || strcasecmp(value, "false") == 0;
    case ALL:
        *(bool *)field = strcmp(value, "all") == 0;
        return *(bool *)field || strcmp(value, "none") == 0;
    case ACCESS:
        return set_access(field, value);
    case REAL:
        *(double *)field = number_read(value, &end);
        return end != value && !*end;
    case COUNT:
    case AMOUNT:
        errno = 0;
        n = strtoull(value, &end, 10);
        if (value[0] < '0' || value[0] > '9' || *end || errno)
            return false;
        if (kind == COUNT && n > UINT32_MAX)
            return false;
        if (kind == COUNT)
            *(unsigned *)field = (unsigned)n;
        else
            *(uint64_t *)field = n;
        return true;
    }
    return false;
}

/* Cuts the white space off both ends. */
static char *trim(char *text)
{
    size_t len;

    text += strspn(text, " \t\r");
    len = strlen(text);
    while (len > 0 && strchr(" \t\r", text[len - 1]))
        text[--len] = '\0';
    return text;
}

static shoal_status take_line(struct shoal_serve_opts *opts, const char *path, size_t number,
                              char *line)
{
    char *equals = strchr(line, '=');
    const char *key, *value;

    line = trim(line);
    if (!*line || *line == '#' || *line == '!')
        return SHOAL_OK;
    if (!equals)
        return shoal_fail(SHOAL_EFORMAT, "%s: line %zu: found '%.40s', want key = value", path,
                          number, line);
    *equals = '\0';
    key = trim(line);
    value = trim(equals + 1);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(keys[i].name, key) != 0)
            continue;
        if (set((char *)opts + keys[i].at, keys[i].kind, value))
            return SHOAL_OK;
        return shoal_fail(SHOAL_EFORMAT, "%s: line %zu: %s is '%.40s', want %s", path, number, key,
                          value,
                          keys[i].kind == FLAG     ? "true or false"
                          : keys[i].kind == ALL    ? "all or none"
                          : keys[i].kind == ACCESS ? "json, text or off"
                                                   : "a number");
    }
    return shoal_fail(SHOAL_EFORMAT,
                      "%s: line %zu: found the key '%.40s', want one that "
                      "docs/serving.md lists",
                      path, number, key);
}

shoal_status serve_config_parse(struct shoal_serve_opts *opts, const char *path, char *text)
{
    shoal_status st = SHOAL_OK;
    size_t number = 0;

    while (text && *text && st == SHOAL_OK)
        st = take_line(opts, path, ++number, strsep(&text, "\n"));
    return st;
}

shoal_status shoal_serve_config(struct shoal_serve_opts *opts, const char *path, char **strings)
{
    size_t len;
    shoal_status st;

    *strings = NULL;
    st = stream_slurp(strings, &len, path, 1 << 20);
    return st == SHOAL_OK ? serve_config_parse(opts, path, *strings) : st;
}
