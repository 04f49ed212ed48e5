#include "sparse/rows.h"

#include <stdlib.h>

struct click_stream {
    struct inputs inputs;
    struct click_text *text;
    struct click_block block;
    struct click_batch batch;
    struct click_errors errors;
};

shoal_status click_stream_open(struct click_stream **out, const struct sources *from,
                               const struct shoal_clicks_opts *opts, bool unlabelled)
{
    struct click_stream *s = mem_array(1, sizeof *s);
    shoal_status st = s ? shoal_clicks_check(opts) : SHOAL_ENOMEM;

    *out = NULL;
    if (st == SHOAL_OK)
        st = inputs_open(&s->inputs, from);
    if (st == SHOAL_OK) {
        s->errors.skip_bad = opts->skip_bad;
        st = click_text_open(&s->text, &s->inputs, opts, unlabelled, true);
    }
    if (st == SHOAL_OK)
        st = click_text_number_labels(s->text);
    if (st == SHOAL_OK)
        *out = s;
    else
        click_stream_close(s);
    return st;
}

static shoal_status next_block(struct click_stream *s, struct click_rows *rows)
{
    struct click_batch *b = &s->batch;
    shoal_status st = SHOAL_OK;

    if (s->block.status == SHOAL_OK)
        st = click_parse(click_text_format(s->text), &s->block, b, 0);
    if (st == SHOAL_OK)
        st = click_errors_add(&s->errors, s->text, &s->block, b);
    if (st == SHOAL_OK)
        *rows = (struct click_rows){.rows = b->rows,
                                    .values = b->values,
                                    .label = b->label,
                                    .weight = b->weighted ? b->weight : NULL,
                                    .start = b->start,
                                    .slot = b->slot,
                                    .value = b->valued ? b->value : NULL};
    return st;
}

shoal_status click_stream_next(struct click_stream *s, struct click_rows *rows)
{
    shoal_status st = SHOAL_OK;

    *rows = (struct click_rows){0};
    while (st == SHOAL_OK && rows->rows == 0) {
        if (!click_text_next(s->text, &s->block))
            return click_text_end(s->text);
        st = next_block(s, rows);
    }
    return st;
}

void click_stream_stats(const struct click_stream *s, struct shoal_clicks_stats *stats)
{
    *stats = s->errors.stats;
    stats->positives = s->errors.labels.count[1];
    stats->classes = click_text_format(s->text)->known.n;
    click_text_stats(s->text, stats);
}

void click_stream_close(struct click_stream *s)
{
    if (!s)
        return;
    click_text_close(s->text);
    inputs_fini(&s->inputs);
    click_block_fini(&s->block);
    click_batch_fini(&s->batch);
    click_labels_fini(&s->errors.labels);
    free(s);
}
