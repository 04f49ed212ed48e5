/* Lines with labels: any bytes, as lines or as a table, are refused with a sentence, or make lines
 * whose ids are within bounds and that come back from their container; and any sections of such a
 * container are refused or make lines that can be used. The first byte says how. */
#include "fuzz.h"

#include "text/text.h"

static void check_lines(const shoal_labelled *l)
{
    struct line_rows f = {0};
    struct line_types t = {0};
    uint32_t *rows;
    size_t most;

    require(l->lines > 0 && l->words <= shoal_vocab_size(l->types));
    for (uint64_t i = 0; i < l->start[l->lines]; i++)
        require(l->type[i] < shoal_vocab_size(l->types));
    for (uint64_t i = 0; i < l->label_start[l->lines]; i++)
        require(l->label[i] < shoal_vocab_size(l->labels));
    require(line_rows_init(&f, l->words, 2, &(struct subwords){.minn = 2, .maxn = 3, .buckets = 1000}) == SHOAL_OK);
    require(line_types_make(&t, &f, l->types, NULL) == SHOAL_OK);
    require(line_rows_use(&f, &t, l, 1) == SHOAL_OK);
    most = line_rows_most(&f, &t, l);
    rows = mem_array(most, sizeof *rows);
    require(rows != NULL);
    for (size_t i = 0; i < l->lines; i++) {
        size_t n = line_rows_line(&f, &t, l->type + l->start[i], l->start[i + 1] - l->start[i], rows);

        require(l->label_start[i + 1] > l->label_start[i] && n < most);
        for (size_t k = 0; k < n; k++)
            require(rows[k] < line_rows_all(&f));
    }
    free(rows);
    line_types_fini(&t);
    line_rows_fini(&f);
}

static void check_reads_back(const shoal_labelled *l)
{
    const char *folder = fuzz_folder();
    char path[256];
    shoal_labelled *back = NULL;

    snprintf(path, sizeof path, "%s/lines.shoal", folder);
    require(labelled_save(l, path) == SHOAL_OK);
    require(shoal_labelled_open(&back, path) == SHOAL_OK);
    require(labelled_fingerprint(l) == labelled_fingerprint(back));
    shoal_labelled_close(back);
}

static void read_text(const uint8_t *data, size_t size, unsigned how)
{
    struct shoal_labelled_opts o = shoal_labelled_default();
    struct shoal_memory text = {"fuzz", fuzz_copy(data, size), size};
    shoal_labelled *l = NULL;

    o.threads = 1;
    o.clean = how & 2;
    o.min_count = how & 4 ? 2 : 1;
    o.min_count_label = how & 8 ? 2 : 0;
    if (how & 1) {
        o.text_column = "text";
        o.label_column = "label";
    }
    if (shoal_labelled_read_memory(&l, &text, 1, &o, NULL) != SHOAL_OK) {
        require(l == NULL && strncmp(shoal_error(), "fuzz", 4) == 0);
        return;
    }
    check_lines(l);
    check_reads_back(l);
    shoal_labelled_close(l);
}

static void read_container(const uint8_t *data, size_t size)
{
    size_t len;
    const char *file = fuzz_container(data, size, &len);
    shoal_labelled *l = NULL;

    if (shoal_labelled_open(&l, fuzz_file(file, len)) == SHOAL_OK)
        check_lines(l);
    else
        require(l == NULL && shoal_error()[0]);
    shoal_labelled_close(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_begin(size, 32 * MIB, 512);
    if (size > 0 && data[0] & 16)
        read_container(data + 1, size - 1);
    else if (size > 0)
        read_text(data + 1, size - 1, data[0]);
    fuzz_end();
    return 0;
}
