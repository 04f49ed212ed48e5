/* What is reported, as TensorBoard's event files: one for each time that a run begins or goes on.
 *
 *     file     records: length (8 bytes), masked CRC-32C of it, data, masked CRC-32C of that
 *     data     Event { 1 wall_time, 2 step, 3 file_version | 5 Summary { 1 Value ... } }
 *     Value    1 tag, 2 simple_value; or, for the table of settings, 8 tensor, 9 metadata
 *
 * All little-endian; the messages are protocol buffers (tensorflow/core/util/event.proto,
 * summary.proto, tensorboard/plugins/hparams/plugin_data.proto). */
#include "file/file.h"
#include "train/options.h"
#include "train/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A curve has one point a step. Several reports may be of the same one, as where an epoch and an
 * interval end together: then the first that has a tag says it. */
struct events {
    struct journal *file;
    uint64_t step;      /* of the last report, */
    struct bytes names; /* and the tags that this step has, each ended by a NUL */
};

/* ---- records ---- */

/* Castagnoli's polynomial, reflected. Records are small and few. */
uint32_t events_checksum(const void *data, size_t len)
{
    const unsigned char *at = data;
    uint32_t crc = ~0u;

    for (size_t i = 0; i < len; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static shoal_status put_record(struct journal *file, const struct bytes *data)
{
    uint64_t len = data->len;
    uint32_t head = events_checksum(&len, sizeof len), tail = events_checksum(data->at, data->len);
    struct bytes record = {0};
    shoal_status st = bytes_add(&record, &len, sizeof len);

    if (st == SHOAL_OK)
        st = bytes_add(&record, &head, sizeof head);
    if (st == SHOAL_OK)
        st = bytes_add(&record, data->at, data->len);
    if (st == SHOAL_OK)
        st = bytes_add(&record, &tail, sizeof tail);
    if (st == SHOAL_OK)
        st = journal_add(file, record.at, record.len);
    bytes_fini(&record);
    return st;
}

/* ---- protocol buffers ---- */

/* A message that is put together; after a failure nothing is added any more. */
struct message {
    struct bytes bytes;
    shoal_status st;
};

static void put_raw(struct message *m, const void *data, size_t len)
{
    if (m->st == SHOAL_OK)
        m->st = bytes_add(&m->bytes, data, len);
}

static void put_varint(struct message *m, uint64_t x)
{
    unsigned char digits[10];
    size_t n = 0;

    do {
        digits[n++] = (unsigned char)((x & 127) | (x > 127 ? 128 : 0));
        x >>= 7;
    } while (x > 0);
    put_raw(m, digits, n);
}

enum { WIRE_VARINT, WIRE_DOUBLE, WIRE_BYTES, WIRE_FLOAT = 5 };

static void put_tag(struct message *m, unsigned field, unsigned wire)
{
    put_varint(m, field << 3 | wire);
}

static void put_bytes(struct message *m, unsigned field, const void *data, size_t len)
{
    put_tag(m, field, WIRE_BYTES);
    put_varint(m, len);
    put_raw(m, data, len);
}

static void put_text(struct message *m, unsigned field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

static void put_double(struct message *m, unsigned field, double x)
{
    put_tag(m, field, WIRE_DOUBLE);
    put_raw(m, &x, sizeof x);
}

static void put_float(struct message *m, unsigned field, float x)
{
    put_tag(m, field, WIRE_FLOAT);
    put_raw(m, &x, sizeof x);
}

static void put_count(struct message *m, unsigned field, uint64_t x)
{
    put_tag(m, field, WIRE_VARINT);
    put_varint(m, x);
}

/* Ends `inner`. */
static void put_message(struct message *m, unsigned field, struct message *inner)
{
    if (m->st == SHOAL_OK)
        m->st = inner->st;
    put_bytes(m, field, inner->bytes.at ? inner->bytes.at : "", inner->bytes.len);
    bytes_fini(&inner->bytes);
    *inner = (struct message){0};
}

/* ---- events ---- */

static struct message begin_event(uint64_t step)
{
    struct timespec now;
    struct message m = {0};

    clock_gettime(CLOCK_REALTIME, &now);
    put_double(&m, 1, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
    if (step > 0)
        put_count(&m, 2, step);
    return m;
}

static shoal_status end_event(const struct events *e, struct message *m)
{
    shoal_status st = m->st == SHOAL_OK ? put_record(e->file, &m->bytes) : m->st;

    bytes_fini(&m->bytes);
    return st;
}

struct scalars {
    struct events *events;
    struct message summary;
};

static bool is_said(const struct bytes *names, const char *name)
{
    for (size_t at = 0; at < names->len; at += strlen(names->at + at) + 1)
        if (strcmp(names->at + at, name) == 0)
            return true;
    return false;
}

static void add_scalar(void *ctx, const char *name, double value)
{
    struct scalars *s = ctx;
    struct bytes *names = &s->events->names;
    struct message scalar = {0};

    if (is_said(names, name))
        return;
    if (s->summary.st == SHOAL_OK)
        s->summary.st = bytes_add(names, name, strlen(name) + 1);
    put_text(&scalar, 1, name);
    put_float(&scalar, 2, (float)value);
    put_message(&s->summary, 1, &scalar);
}

shoal_status events_write(struct events *e, const struct shoal_report *r)
{
    uint64_t step = r->steps > 0 ? r->steps : r->examples;
    struct scalars s = {.events = e};
    struct message event;
    shoal_status st = SHOAL_OK;

    if (step != e->step)
        e->names.len = 0;
    e->step = step;
    report_each(r, add_scalar, &s);
    if (s.summary.bytes.len > 0 || s.summary.st != SHOAL_OK) {
        event = begin_event(step);
        put_message(&event, 5, &s.summary);
        st = end_event(e, &event);
    }
    if (st == SHOAL_OK && r->event == SHOAL_EVENT_DONE)
        st = events_finish(e);
    return st;
}

/* ---- the table of settings: the plugin "hparams" ---- */

/* A summary without a number: what it says is in the plugin's data. */
static shoal_status put_plugin(const struct events *e, const char *tag, struct message *data)
{
    struct message event = begin_event(0), summary = {0}, value = {0}, tensor = {0}, shape = {0};
    struct message dim = {0}, metadata = {0}, plugin = {0};
    float zero = 0;

    put_count(&dim, 1, 1);
    put_message(&shape, 2, &dim);
    put_count(&tensor, 1, 1); /* a float */
    put_message(&tensor, 2, &shape);
    put_bytes(&tensor, 5, &zero, sizeof zero);
    put_text(&plugin, 1, "hparams");
    put_message(&plugin, 2, data);
    put_message(&metadata, 1, &plugin);
    put_text(&value, 1, tag);
    put_message(&value, 8, &tensor);
    put_message(&value, 9, &metadata);
    put_message(&summary, 1, &value);
    put_message(&event, 5, &summary);
    return end_event(e, &event);
}

/* An entry of a map: 1 the name, 2 google.protobuf.Value. */
static shoal_status add_setting(void *ctx, const struct shoal_option *o, const char *value)
{
    struct message *info = ctx, entry = {0}, is = {0};

    if (!value)
        return SHOAL_OK;
    put_text(&entry, 1, o->name);
    if (o->type == SHOAL_TYPE_REAL || o->type == SHOAL_TYPE_COUNT)
        put_double(&is, 2, number_read(value, NULL));
    else if (o->type == SHOAL_TYPE_FLAG)
        put_count(&is, 4, strcmp(value, "true") == 0);
    else
        put_text(&is, 3, value);
    put_message(&entry, 2, &is);
    put_message(info, 1, &entry);
    return SHOAL_OK;
}

static shoal_status put_settings(const struct events *e, const struct train_opts *opts,
                                 const struct task *task)
{
    struct message info = {0}, data = {0}, entry = {0}, is = {0};

    put_text(&entry, 1, "task");
    put_text(&is, 3, task->is.name);
    put_message(&entry, 2, &is);
    put_message(&info, 1, &entry);
    options_each(task, opts, add_setting, &info);
    put_double(&info, 5, (double)time(NULL));
    put_message(&data, 3, &info);
    return put_plugin(e, "_hparams_/session_start_info", &data);
}

shoal_status events_finish(struct events *e)
{
    struct message info = {0}, data = {0};

    put_count(&info, 1, 1); /* it went well */
    put_double(&info, 2, (double)time(NULL));
    put_message(&data, 4, &info);
    return put_plugin(e, "_hparams_/session_end_info", &data);
}

/* ---- files ---- */

shoal_status tracker_folder(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return shoal_fail_errno(SHOAL_EIO, "%s", path);
    return SHOAL_OK;
}

static shoal_status begin_file(struct events *e, const char *folder)
{
    char host[65] = "";
    struct timespec now;
    struct message first;
    char *path;
    shoal_status st = tracker_folder(folder);

    gethostname(host, sizeof host - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    path = mem_text("%s/events.out.tfevents.%010lld.%s.%ld.%09ld", folder, (long long)now.tv_sec,
                    *host ? host : "host", (long)getpid(), now.tv_nsec);
    if (st == SHOAL_OK)
        st = path ? journal_open(&e->file, path, false) : SHOAL_ENOMEM;
    free(path);
    if (st != SHOAL_OK)
        return st;
    first = begin_event(0);
    put_text(&first, 3, "brain.Event:2");
    return end_event(e, &first);
}

shoal_status events_open(struct events **out, const struct train_opts *opts,
                         const struct task *task)
{
    struct events *e = mem_array(1, sizeof *e);
    shoal_status st = e ? begin_file(e, opts->tensorboard) : SHOAL_ENOMEM;

    *out = e;
    return st == SHOAL_OK ? put_settings(e, opts, task) : st;
}

void events_close(struct events *e)
{
    if (!e)
        return;
    journal_close(e->file);
    bytes_fini(&e->names);
    free(e);
}
