/* Click data into a mapped file, or into memory. Every input is read once:
 *
 *     threads:   blocks of text -> rows of slots -> (ordered) columns, counts, names
 *     then:      slots by count -> ids
 *     threads:   chunks of slots -> ids -> (ordered) the file
 *
 * An id is known only when all rows were counted, so slots wait in columns (spill buffers:
 * in memory, then on disk) and are mapped to ids while the file is written. What is marked
 * "ordered" is done by one thread at a time, in the order of the input, and is little: so
 * the file is the same for any number of threads. */
#include "sparse/rows.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the plan ---- */

/* A thread's text and batch, when a line is as long as it may be. A row takes two bytes of text at
 * least, and a label, a weight, a place, a start and a start of 64 bits; or a feature takes one, and
 * a slot and a value. Not both: pages of a batch that are not written cost nothing. */
#define BLOCK_MOST (SHOAL_CLICKS_LINE_MAX + 2 * CLICK_BLOCK)
#define THREAD_BYTES (2 * BLOCK_MOST + BLOCK_MOST / 2 * (1 + 5 * 4) + BLOCK_MOST * 8)

static void make_plan(struct shoal_clicks_plan *plan, const char *folder,
                      const struct inputs *inputs, const struct shoal_clicks_opts *opts)
{
    *plan = (struct shoal_clicks_plan){0};
    plan->input_bytes = inputs_bytes(inputs, 0, inputs->len, &plan->streamed);
    plan->buffer_bytes = (uint64_t)pool_threads(opts->threads) * THREAD_BYTES;
    plan->table_bytes = census_bytes(opts->bits) + click_sizes_bytes(opts->bits, opts->scale);
    plan->row_bytes = opts->memory;
    /* A feature of 4 bytes stands for 4 of text or more, but what is compressed may have
     * many times its size. */
    if (!plan->streamed && plan->input_bytes < opts->memory / 16)
        plan->row_bytes = plan->input_bytes * 16;
    plan->memory_bytes = plan->buffer_bytes + plan->table_bytes + plan->row_bytes;
    plan->memory_free = opts->memory_limit ? opts->memory_limit : mem_available();
    plan->disk_bytes = plan->streamed ? 0 : plan->input_bytes;
    plan->disk_free = folder ? folder_space(folder) : UINT64_MAX;
}

static shoal_status check_plan(const struct shoal_clicks_plan *plan)
{
    if (plan->memory_bytes > plan->memory_free)
        return shoal_fail(
            SHOAL_ELIMIT,
            "clicks: needs up to %llu bytes of memory (%llu for the slots, %llu for "
            "rows), %llu are free; lower --bits, --row-memory or --threads",
            (unsigned long long)plan->memory_bytes, (unsigned long long)plan->table_bytes,
            (unsigned long long)plan->row_bytes, (unsigned long long)plan->memory_free);
    if (plan->disk_bytes > plan->disk_free)
        return shoal_fail(SHOAL_ELIMIT, "clicks: needs about %llu bytes of disk, %llu are free",
                          (unsigned long long)plan->disk_bytes,
                          (unsigned long long)plan->disk_free);
    return SHOAL_OK;
}

shoal_status shoal_clicks_plan(struct shoal_clicks_plan *plan, const char *path,
                               const char *const *paths, size_t npaths,
                               const struct shoal_clicks_opts *opts)
{
    char *folder = path_folder(path);
    struct inputs inputs = {0};
    shoal_status st = folder ? shoal_clicks_check(opts) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = inputs_expand(&inputs, paths, npaths);
    if (st == SHOAL_OK)
        make_plan(plan, folder, &inputs, opts);
    inputs_fini(&inputs);
    free(folder);
    return st;
}

/* ---- reading ---- */

struct reading {
    struct shoal_clicks_opts opts;
    char *folder; /* of the output; NULL: into memory */
    struct inputs inputs;
    struct click_text *text;
    struct ordered ordered;
    struct click_errors errors;
    struct click_census census;
    struct spill_limit all;
    struct spill_buffer columns[CLICK_COLUMNS];
    bool valued, weighted;
    struct click_sizes sizes;
    float *scale;                        /* [features] by id, where values are scaled; or NULL */
    uint8_t class[SHOAL_CLICKS_CLASSES]; /* of a label, when all are known */
    struct example_draw draw;
    struct row_examples examples;
    struct container_writer *out; /* while ids are written */
    struct pulse pulse;
};

/* What belongs to one thread. */
struct reader {
    struct click_block block;
    struct click_batch batch;
    struct click_names names;
    struct bytes starts;
};

static void reader_free(struct reader *r)
{
    if (!r)
        return;
    click_block_fini(&r->block);
    click_batch_fini(&r->batch);
    click_names_fini(&r->names);
    bytes_fini(&r->starts);
    free(r);
}

/* Values and weights are nearly always 1, and then there is no such column. It begins with
 * the first that is not 1, with ones for all `before`. */
static shoal_status add_floats(struct reading *e, int column, const float *data, size_t n, bool any,
                               bool *begun, uint64_t before)
{
    struct spill_buffer *c = &e->columns[column];
    shoal_status st = SHOAL_OK;

    if (any && !*begun)
        st = spill_buffer_add_ones(&e->all, c, before);
    *begun |= any;
    if (st == SHOAL_OK && *begun && any)
        st = spill_buffer_add(&e->all, c, data, n * sizeof *data);
    else if (st == SHOAL_OK && *begun)
        st = spill_buffer_add_ones(&e->all, c, n);
    return st;
}

/* Where each row begins among all. */
static shoal_status add_starts(struct reading *e, struct reader *r, uint64_t before)
{
    const struct click_batch *b = &r->batch;
    uint64_t *starts;
    shoal_status st;

    r->starts.len = 0;
    st = bytes_reserve(&r->starts, b->rows * sizeof *starts);
    starts = (uint64_t *)(void *)r->starts.at;
    for (size_t i = 0; i < b->rows && st == SHOAL_OK; i++)
        starts[i] = before + b->start[i];
    return st == SHOAL_OK ? spill_buffer_add(&e->all, &e->columns[CLICK_COLUMN_START], starts,
                                             b->rows * sizeof *starts)
                          : st;
}

static shoal_status add_rows(struct reading *e, struct reader *r, uint64_t rows, uint64_t values)
{
    const struct click_batch *b = &r->batch;
    shoal_status st = spill_buffer_add(&e->all, &e->columns[CLICK_COLUMN_LABEL], b->label, b->rows);

    if (st == SHOAL_OK)
        st = add_starts(e, r, values);
    if (st == SHOAL_OK)
        st = spill_buffer_add(&e->all, &e->columns[CLICK_COLUMN_ID], b->slot,
                              b->values * sizeof *b->slot);
    if (st == SHOAL_OK)
        st = add_floats(e, CLICK_COLUMN_VALUE, b->value, b->values, b->valued, &e->valued, values);
    if (st == SHOAL_OK)
        st =
            add_floats(e, CLICK_COLUMN_WEIGHT, b->weight, b->rows, b->weighted, &e->weighted, rows);
    return st;
}

/* Whether values are as the text has them: those of tables are scaled already. */
static bool has_sizes(const struct reading *e)
{
    enum shoal_clicks_format format = click_text_format(e->text)->format;

    return format == SHOAL_CLICKS_LIBSVM || format == SHOAL_CLICKS_VW;
}

static shoal_status take_batch(struct reading *e, struct reader *r)
{
    uint64_t rows = e->errors.stats.rows, values = e->errors.stats.values;
    shoal_status st = click_errors_add(&e->errors, e->text, &r->block, &r->batch);

    if (st == SHOAL_OK)
        st = add_rows(e, r, rows, values);
    if (st == SHOAL_OK && has_sizes(e))
        click_sizes_add(&e->sizes, &r->batch, census_samples_counts(r->block.seq));
    if (st == SHOAL_OK && census_samples_counts(r->block.seq))
        census_add_counts(&e->census, &r->batch);
    if (st == SHOAL_OK && census_samples_names(r->block.seq))
        st = census_accept_names(&e->census, &r->names);
    return st == SHOAL_OK ? example_draw_add(&e->draw, click_text_format(e->text), &r->block, &r->batch)
                          : st;
}

/* *more is false when another thread has failed. */
static shoal_status read_block(struct reading *e, struct reader *r, bool *more)
{
    const struct click_format *w = click_text_format(e->text);
    shoal_status st = SHOAL_OK;

    if (r->block.status == SHOAL_OK)
        st = click_parse(w, &r->block, &r->batch, 0);
    if (st == SHOAL_OK && r->block.status == SHOAL_OK) {
        census_mark_seen(&e->census, r->batch.slot, r->batch.values);
        if (census_samples_names(r->block.seq))
            st = census_propose_names(&e->census, w, &r->block, &r->batch, &r->names);
    }
    if (st != SHOAL_OK) {
        ordered_stop(&e->ordered);
        return st;
    }
    *more = ordered_begin(&e->ordered, r->block.seq);
    if (*more) {
        st = take_batch(e, r);
        ordered_end(&e->ordered, st);
    }
    return st;
}

static shoal_status read_thread(void *ctx, unsigned index)
{
    struct reading *e = ctx;
    struct reader *r = mem_array(1, sizeof *r);
    shoal_status st = SHOAL_OK;
    bool more = true;

    (void)index;
    if (!r) {
        ordered_stop(&e->ordered);
        return SHOAL_ENOMEM;
    }
    while (st == SHOAL_OK && more && click_text_next(e->text, &r->block))
        st = read_block(e, r, &more);
    reader_free(r);
    return st;
}

/* Which class each label is, and how many rows each has; those that were known keep their order. */
static shoal_status order_labels(struct reading *e)
{
    const struct click_format *w = click_text_format(e->text);
    struct click_labels *l = &e->errors.labels;
    struct shoal_clicks_stats *stats = &e->errors.stats;
    shoal_status st = SHOAL_OK;

    for (unsigned k = 0; k < w->known.n && st == SHOAL_OK; k++) {
        uint64_t count = l->count[k];

        e->class[k] = (uint8_t)k;
        st = click_labels_add(l, click_labels_name(&w->known, k));
        l->count[k] = count;
    }
    if (w->known.n == 0)
        st = click_labels_order(l, w->positive, e->class);
    stats->positives = l->count[1];
    stats->classes = l->n > 2 ? l->n : 2;
    return st;
}

static shoal_status find_scales(struct reading *e)
{
    const struct click_census *c = &e->census;

    if (!e->sizes.squares || !e->valued)
        return SHOAL_OK;
    e->scale = mem_array(c->features, sizeof *e->scale);
    for (uint32_t id = 0; e->scale && id < c->features; id++)
        e->scale[id] = click_sizes_scale(&e->sizes, c->slot[id]);
    return e->scale ? SHOAL_OK : SHOAL_ENOMEM;
}

static shoal_status read_all(struct reading *e)
{
    uint64_t values;
    shoal_status st;

    ordered_init(&e->ordered);
    st = pool_run(pool_threads(e->opts.threads), read_thread, e);
    ordered_fini(&e->ordered);
    if (st == SHOAL_OK)
        st = click_text_end(e->text);
    click_text_stats(e->text, &e->errors.stats);
    values = e->errors.stats.values;
    if (st == SHOAL_OK && e->errors.stats.rows == 0)
        st = shoal_fail(SHOAL_EINVAL, "clicks: found no row in %llu lines, want one or more",
                        (unsigned long long)e->errors.stats.lines);
    if (st == SHOAL_OK)
        st = spill_buffer_add(&e->all, &e->columns[CLICK_COLUMN_START], &values, sizeof values);
    if (st == SHOAL_OK)
        st = order_labels(e);
    click_sizes_notice(&e->sizes, &e->census, &e->errors.stats);
    if (st == SHOAL_OK)
        st = census_assign_ids(&e->census);
    e->errors.stats.features = e->census.features;
    if (st == SHOAL_OK)
        st = example_draw_result(&e->draw, &e->examples);
    return st == SHOAL_OK ? find_scales(e) : st;
}

/* Gives what was read from `began` on, up to `read`, and written since then. */
static void reading_end(struct reading *e, double began, double read,
                        struct shoal_clicks_stats *stats)
{
    click_text_close(e->text);
    inputs_fini(&e->inputs);
    census_fini(&e->census);
    click_sizes_fini(&e->sizes);
    click_labels_fini(&e->errors.labels);
    example_draw_fini(&e->draw);
    row_examples_fini(&e->examples);
    free(e->scale);
    for (int i = 0; i < CLICK_COLUMNS; i++) {
        e->errors.stats.spilled += e->columns[i].spool.size;
        spill_buffer_fini(&e->columns[i]);
    }
    free(e->folder);
    e->errors.stats.read_seconds = read - began;
    e->errors.stats.write_seconds = clock_now() - read;
    if (stats)
        *stats = e->errors.stats;
}

/* `path`: where the rows go; NULL into memory, of which they may take what is left. */
static shoal_status reading_open(struct reading *e, const char *path, const struct sources *from,
                                 const struct shoal_clicks_opts *opts)
{
    struct shoal_clicks_plan plan;
    shoal_status st = shoal_clicks_check(opts);

    *e = (struct reading){.opts = *opts, .errors = {.skip_bad = opts->skip_bad}};
    for (int i = 0; i < CLICK_COLUMNS; i++)
        spill_buffer_init(&e->columns[i]);
    if (st == SHOAL_OK && path)
        st = (e->folder = path_folder(path)) ? SHOAL_OK : SHOAL_ENOMEM;
    if (st == SHOAL_OK)
        st = inputs_open(&e->inputs, from);
    if (st != SHOAL_OK)
        return st;
    if (!path)
        e->opts.memory = 0;
    make_plan(&plan, e->folder, &e->inputs, &e->opts);
    st = check_plan(&plan);
    e->all.left = path ? opts->memory : plan.memory_free - plan.memory_bytes;
    e->all.tmp_dir = !path ? NULL : opts->tmp_dir ? opts->tmp_dir : e->folder;
    if (st == SHOAL_OK)
        st = census_init(&e->census, opts->bits);
    if (st == SHOAL_OK)
        st = example_draw_init(&e->draw, opts->examples);
    if (st == SHOAL_OK)
        st = click_text_open(&e->text, &e->inputs, opts, false, false);
    return st == SHOAL_OK ? click_sizes_init(&e->sizes, opts->bits, opts->scale && has_sizes(e))
                          : st;
}

/* ---- ids ---- */

#define CHUNK ((size_t)1 << 17) /* values */

static size_t chunk_len(const struct reading *e, uint64_t chunk)
{
    uint64_t left = e->errors.stats.values - chunk * CHUNK;

    return left < CHUNK ? (size_t)left : CHUNK;
}

static uint64_t chunks_of(const struct reading *e)
{
    return (e->errors.stats.values + CHUNK - 1) / CHUNK;
}

/* Chunk number `chunk` as ids, into room [CHUNK]. */
static shoal_status map_chunk(struct reading *e, uint64_t chunk, uint32_t *room)
{
    size_t n = chunk_len(e, chunk);
    const uint32_t *slot = spill_buffer_part(&e->columns[CLICK_COLUMN_ID],
                                             chunk * CHUNK * sizeof *slot, n * sizeof *slot, room);

    if (slot)
        census_map_ids(&e->census, slot, room, n);
    return slot ? SHOAL_OK : SHOAL_EIO;
}

static shoal_status write_chunk(struct reading *e, uint64_t chunk, const uint32_t *ids)
{
    shoal_status st = container_write(e->out, ids, chunk_len(e, chunk) * sizeof *ids);

    return st == SHOAL_OK ? pulse_at(&e->pulse, chunk * CHUNK) : st;
}

static shoal_status write_thread(void *ctx, unsigned index)
{
    struct reading *e = ctx;
    uint32_t *room = mem_array(CHUNK, sizeof *room);
    shoal_status st = room ? SHOAL_OK : SHOAL_ENOMEM;
    uint64_t chunk;

    (void)index;
    while (st == SHOAL_OK && (chunk = ordered_claim(&e->ordered)) < chunks_of(e)) {
        st = map_chunk(e, chunk, room);
        if (st != SHOAL_OK || !ordered_begin(&e->ordered, chunk))
            break;
        st = write_chunk(e, chunk, room);
        ordered_end(&e->ordered, st);
    }
    if (st != SHOAL_OK)
        ordered_stop(&e->ordered);
    free(room);
    return st;
}

static shoal_status write_ids(struct reading *e)
{
    shoal_status st = container_begin(e->out, "ids");

    pulse_begin(&e->pulse, &e->opts.watch, "write", "values", e->errors.stats.values);
    ordered_init(&e->ordered);
    if (st == SHOAL_OK)
        st = pool_run(pool_threads(e->opts.threads), write_thread, e);
    ordered_fini(&e->ordered);
    return st == SHOAL_OK ? pulse_end(&e->pulse, e->errors.stats.values) : st;
}

static void scale_values(const struct reading *e, const uint32_t *ids, float *value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        value[i] *= e->scale[ids[i]];
}

static void map_labels(const struct reading *e, uint8_t *label, size_t n)
{
    for (size_t i = 0; i < n; i++)
        label[i] = e->class[label[i]];
}

static shoal_status map_thread(void *ctx, unsigned index)
{
    struct reading *e = ctx;
    uint32_t *ids = (uint32_t *)(void *)e->columns[CLICK_COLUMN_ID].at;
    float *value = (float *)(void *)e->columns[CLICK_COLUMN_VALUE].at;
    uint64_t step = pool_threads(e->opts.threads);

    if (index == 0)
        map_labels(e, (uint8_t *)e->columns[CLICK_COLUMN_LABEL].at, (size_t)e->errors.stats.rows);
    for (uint64_t chunk = index; chunk < chunks_of(e); chunk += step) {
        size_t at = (size_t)chunk * CHUNK, n = chunk_len(e, chunk);

        census_map_ids(&e->census, ids + at, ids + at, n);
        if (e->scale)
            scale_values(e, ids + at, value + at, n);
    }
    return SHOAL_OK;
}

/* ---- the file ---- */

static shoal_status write_column(struct reading *e, const char *name, int column)
{
    const struct spill_buffer *c = &e->columns[column];
    uint64_t size = spill_buffer_size(c);
    size_t most = CHUNK * sizeof(uint32_t);
    char *room = mem_array(most, 1);
    shoal_status st = room ? container_begin(e->out, name) : SHOAL_ENOMEM;

    for (uint64_t at = 0; at < size && st == SHOAL_OK; at += most) {
        size_t len = size - at < most ? (size_t)(size - at) : most;
        const void *part = spill_buffer_part(c, at, len, room);

        st = part ? container_write(e->out, part, len) : SHOAL_EIO;
    }
    free(room);
    return st;
}

/* The same of labels, which become classes. */
static shoal_status write_labels(struct reading *e)
{
    const struct spill_buffer *c = &e->columns[CLICK_COLUMN_LABEL];
    uint8_t *room = mem_array(CHUNK, 1);
    shoal_status st = room ? container_begin(e->out, "labels") : SHOAL_ENOMEM;

    for (uint64_t at = 0; at < spill_buffer_size(c) && st == SHOAL_OK; at += CHUNK) {
        uint64_t left = spill_buffer_size(c) - at;
        size_t len = left < CHUNK ? (size_t)left : CHUNK;
        const void *part = spill_buffer_part(c, at, len, room);

        if (!part) {
            st = SHOAL_EIO;
            break;
        }
        memmove(room, part, len);
        map_labels(e, room, len);
        st = container_write(e->out, room, len);
    }
    free(room);
    return st;
}

/* And of values that are scaled, each by its feature. */
static shoal_status write_values(struct reading *e)
{
    uint32_t *ids = mem_array(CHUNK, sizeof *ids);
    float *value = mem_array(CHUNK, sizeof *value);
    shoal_status st = ids && value ? container_begin(e->out, "values") : SHOAL_ENOMEM;

    for (uint64_t chunk = 0; chunk < chunks_of(e) && st == SHOAL_OK; chunk++) {
        size_t n = chunk_len(e, chunk);
        const float *part = spill_buffer_part(&e->columns[CLICK_COLUMN_VALUE],
                                              chunk * CHUNK * sizeof *part, n * sizeof *part, value);

        st = part ? map_chunk(e, chunk, ids) : SHOAL_EIO;
        if (st != SHOAL_OK)
            break;
        memmove(value, part, n * sizeof *value);
        scale_values(e, ids, value, n);
        st = container_write(e->out, value, n * sizeof *value);
    }
    free(ids);
    free(value);
    return st == SHOAL_OK ? container_put(e->out, "scales", e->scale,
                                          e->census.features * sizeof *e->scale)
                          : st;
}

static shoal_status write_names(struct reading *e)
{
    struct bytes text = {0};
    uint32_t *begin = mem_array(e->census.features, sizeof *begin);
    shoal_status st = begin ? census_names(&e->census, &text, begin) : SHOAL_ENOMEM;

    if (st == SHOAL_OK)
        st = container_put(e->out, "names", text.at, text.len);
    if (st == SHOAL_OK)
        st = container_put(e->out, "names.begin", begin, e->census.features * sizeof *begin);
    bytes_fini(&text);
    free(begin);
    return st;
}

static shoal_status write_meta(struct reading *e)
{
    const struct shoal_clicks_stats *s = &e->errors.stats;
    const struct click_format *w = click_text_format(e->text);
    struct clicks_reading reading = {.opts = shoal_clicks_default()};
    struct bytes meta = {0};
    char head[256];
    int n = snprintf(head, sizeof head,
                     "kind clicks\nrows %llu\npositives %llu\nvalues %llu\nfeatures %u\n"
                     "bad_lines %llu\n",
                     (unsigned long long)s->rows, (unsigned long long)s->positives,
                     (unsigned long long)s->values, e->census.features,
                     (unsigned long long)s->bad_lines);
    shoal_status st = bytes_add(&meta, head, (size_t)n);

    reading.opts.format = w->format;
    reading.opts.bits = 64 - w->shift;
    reading.opts.classes = w->classes;
    reading.opts.plain = w->plain;
    reading.labels = e->errors.labels; /* borrowed */
    clicks_reading_point(&reading);
    reading.opts.columns = click_csv_columns(w);
    if (st == SHOAL_OK)
        st = clicks_reading_put(&reading.opts, &meta);
    if (st == SHOAL_OK)
        st = container_put(e->out, "meta", meta.at, meta.len);
    if (st == SHOAL_OK)
        st = clicks_reading_save(&reading.opts, e->out);
    bytes_fini(&meta);
    return st;
}

static shoal_status write_file(struct reading *e)
{
    const struct click_census *c = &e->census;
    shoal_status st = write_ids(e);

    if (st == SHOAL_OK)
        st = write_labels(e);
    if (st == SHOAL_OK)
        st = write_column(e, "starts", CLICK_COLUMN_START);
    if (st == SHOAL_OK && e->valued)
        st = e->scale ? write_values(e) : write_column(e, "values", CLICK_COLUMN_VALUE);
    if (st == SHOAL_OK && e->weighted)
        st = write_column(e, "weights", CLICK_COLUMN_WEIGHT);
    if (st == SHOAL_OK)
        st = container_put(e->out, "slots", c->slot, c->features * sizeof *c->slot);
    if (st == SHOAL_OK)
        st = container_put(e->out, "counts", c->counts, c->features * sizeof *c->counts);
    if (st == SHOAL_OK)
        st = write_names(e);
    if (st == SHOAL_OK)
        st = row_examples_save(&e->examples, e->out);
    return st == SHOAL_OK ? write_meta(e) : st;
}

static shoal_status write_to(struct reading *e, const char *path)
{
    shoal_status st = container_end(e->out, write_file(e));

    e->errors.stats.file_bytes = st == SHOAL_OK ? path_size(path) : 0;
    return st;
}

shoal_status shoal_clicks_encode(const char *path, const char *const *paths, size_t npaths,
                                 const struct shoal_clicks_opts *opts,
                                 struct shoal_clicks_stats *stats)
{
    struct sources from = {.paths = paths, .n = npaths};
    struct reading e;
    double began = clock_now(), read = began;
    shoal_status st = reading_open(&e, path, &from, opts);

    /* What cannot be written is refused before hours of reading. */
    if (st == SHOAL_OK)
        st = container_create(&e.out, path);
    if (st == SHOAL_OK) {
        st = read_all(&e);
        read = clock_now();
        if (st == SHOAL_OK)
            st = write_to(&e, path);
        else
            container_abandon(e.out);
    }
    reading_end(&e, began, read, stats);
    return st;
}

static shoal_status read_clicks(shoal_clicks **out, const struct sources *from,
                                const struct shoal_clicks_opts *opts,
                                struct shoal_clicks_stats *stats)
{
    struct reading e;
    double began = clock_now(), read;
    shoal_status st = reading_open(&e, NULL, from, opts);

    *out = NULL;
    if (st == SHOAL_OK)
        st = read_all(&e);
    read = clock_now();
    if (st == SHOAL_OK)
        st = pool_run(pool_threads(e.opts.threads), map_thread, &e);
    if (st == SHOAL_OK)
        st = clicks_adopt(out,
                          &(struct clicks_parts){e.columns, &e.census, &e.errors.labels, &e.scale,
                                                 &e.examples},
                          click_text_format(e.text), &e.errors.stats);
    reading_end(&e, began, read, stats);
    return st;
}

shoal_status shoal_clicks_read(shoal_clicks **out, const char *const *paths, size_t npaths,
                               const struct shoal_clicks_opts *opts,
                               struct shoal_clicks_stats *stats)
{
    return read_clicks(out, &(struct sources){.paths = paths, .n = npaths}, opts, stats);
}

shoal_status shoal_clicks_read_memory(shoal_clicks **out, const struct shoal_memory *blocks,
                                      size_t n, const struct shoal_clicks_opts *opts,
                                      struct shoal_clicks_stats *stats)
{
    return read_clicks(out, &(struct sources){.blocks = blocks, .n = n}, opts, stats);
}
