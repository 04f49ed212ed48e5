/* Click data: any bytes are refused with a sentence, or make rows that are as they must be;
 * block by block or all at once, with names or without. The first byte says which format it
 * is, whether labels may lack and whether they are of many classes. */
#include "fuzz.h"

#include "sparse/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void check_batch(const struct click_format *w, const struct click_batch *b)
{
    unsigned labels = w->known.n > 0 ? w->known.n : b->labels.n;

    require(b->start[0] == 0 && b->start[b->rows] == b->values);
    for (size_t r = 0; r < b->rows; r++) {
        require(b->start[r] <= b->start[r + 1]);
        require(b->label[r] < labels || (b->label[r] == CLICKS_NO_LABEL && w->unlabelled));
        require(b->weight[r] >= 0 && isfinite(b->weight[r]));
        require(r < b->lines && (r == 0 || b->at[r] > b->at[r - 1]));
    }
    require(labels <= SHOAL_CLICKS_CLASSES);
    for (size_t i = 0; i < b->values; i++) {
        require((uint64_t)b->slot[i] >> (64 - w->shift) == 0);
        require(!b->valued || (isfinite(b->value[i]) && b->value[i] != 0));
    }
}

/* Reading a row again for its names changes nothing. */
static void check_names(const struct click_format *w, const struct click_block *block,
                        struct click_batch *b)
{
    struct click_name *names = calloc(b->values + 2, sizeof *names);
    uint32_t *slot = malloc((b->values + 1) * sizeof *slot);
    size_t values = b->values;

    require(names && slot);
    memcpy(slot, b->slot, values * sizeof *slot);
    for (size_t r = 0; r < b->rows; r++) {
        click_parse_names(w, block, b, r, names);
        for (size_t i = 0; i < b->start[r + 1] - b->start[r]; i++)
            require(names[i].at || names[i].bin || names[i].from < names[i].to);
    }
    require(b->values == values && memcmp(slot, b->slot, values * sizeof *slot) == 0);
    free(names);
    free(slot);
}

/* Lines one by one through the careful parser are the rows of the fast one. */
static void check_slowly(const struct click_format *w, const struct click_block *block,
                         const struct click_batch *b)
{
    struct click_batch slow = {0};

    require(click_parse(w, block, &slow, 0) == SHOAL_OK);
    for (size_t r = 0; r < b->rows; r++) {
        const char *at = block->text.at + b->at[r];
        const char *end = memchr(at, '\n', block->text.len - b->at[r]);

        slow.rows = slow.values = 0;
        require(click_criteo_row(w, &slow, at, end - (end > at && end[-1] == '\r')));
        require(slow.values == b->start[r + 1] - b->start[r]);
        require(memcmp(slow.slot, b->slot + b->start[r], slow.values * sizeof *slow.slot) == 0);
    }
    click_batch_fini(&slow);
}

static void parse_block(const struct shoal_clicks_opts *opts, bool unlabelled, const char *text,
                        size_t len)
{
    struct click_block block = {.first = true};
    struct click_batch batch = {0};
    struct click_format w = {0};
    struct click_head head;

    require(bytes_add(&block.text, text, len) == SHOAL_OK);
    if (len > 0 && text[len - 1] != '\n')
        require(bytes_add(&block.text, "\n", 1) == SHOAL_OK);
    require(bytes_reserve(&block.text, FIELD_PAD) == SHOAL_OK);
    memset(block.text.at + block.text.len, '\t', FIELD_PAD); /* what may be read, never used */
    head = (struct click_head){"fuzz", block.text.at, block.text.len, true, NULL};
    if (len > 0 && click_format_init(&w, opts, unlabelled, &head) == SHOAL_OK) {
        require(click_parse(&w, &block, &batch, 0) == SHOAL_OK);
        check_batch(&w, &batch);
        check_names(&w, &block, &batch);
        if (w.format == SHOAL_CLICKS_CRITEO)
            check_slowly(&w, &block, &batch);
    } else if (len > 0) {
        require(strncmp(shoal_error(), "fuzz:", 5) == 0);
    }
    click_format_fini(&w);
    click_batch_fini(&batch);
    click_block_fini(&block);
}

/* The whole way: what is encoded can be opened. */
static void encode_file(const struct shoal_clicks_opts *opts, const char *text, size_t len)
{
    const char *input = fuzz_file(text, len);
    shoal_clicks *c = NULL;
    char out[256];

    snprintf(out, sizeof out, "%s/clicks.shoal", fuzz_folder());
    if (shoal_clicks_encode(out, &input, 1, opts, NULL) == SHOAL_OK) {
        require(shoal_clicks_open(&c, out) == SHOAL_OK);
        require(shoal_clicks_counts(c).rows > 0);
        shoal_clicks_close(c);
    } else {
        require(shoal_error()[0] != '\0' && access(out, F_OK) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct shoal_clicks_opts opts = shoal_clicks_default();
    const char *text = (const char *)data + 1;

    if (size == 0)
        return 0;
    fuzz_begin(size, 96 * MIB, 64);
    opts.format = (enum shoal_clicks_format)(data[0] % 5);
    opts.bits = 10;
    opts.classes = data[0] & 0x10;
    opts.threads = 1;
    opts.memory = 64;
    opts.skip_bad = data[0] & 0x40 ? UINT64_MAX : 0;
    parse_block(&opts, data[0] & 0x80, text, size - 1);
    if (data[0] & 0x20)
        encode_file(&opts, text, size - 1);
    fuzz_end();
    return 0;
}
