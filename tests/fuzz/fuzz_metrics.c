/* Metrics and records of studies: any bytes are refused with a sentence that names the
 * file, or make a run whose points are in order of time, or a study whose cells can be
 * asked. */
#include "fuzz.h"

#include "study/classic.h"

#include <stdlib.h>
#include <string.h>

/* What a file says is never taken for HTML: metrics.dict has the word. */
static void check_report(const shoal_run *run, size_t size)
{
    struct shoal_report_opts opts = shoal_report_default();
    char *text = NULL;
    size_t len = 0;

    require(shoal_report_text(&text, &len, &run, 1, &opts) == SHOAL_OK);
    require(strstr(text, "<zz") == NULL && strstr(text, "\"zz") == NULL);
    fuzz_output(len, size, MIB, 4096);
    free(text);
}

static void check_run(const char *text, size_t size)
{
    shoal_run *run = NULL;

    if (study_run_parse(&run, "fuzz", text, size) == SHOAL_OK) {
        require(run->npoints > 0 && run->nsettings > 0);
        for (size_t i = 1; i < run->npoints; i++)
            require(run->points[i].seconds > run->points[i - 1].seconds);
        (void)shoal_run_measures(run, 1);
        check_report(run, size);
    } else {
        require(run == NULL && strncmp(shoal_error(), "fuzz", 4) == 0);
    }
    shoal_run_free(run);
}

/* Whatever is asked of lines is a number, a word, or not there. */
static void check_lines(const char *text, size_t size)
{
    struct lines *lines = NULL;

    if (lines_parse(&lines, "fuzz", text, size) == SHOAL_OK) {
        size_t n = lines_count(lines, NULL);

        require(lines_count(lines, "epoch") <= n);
        for (size_t i = 0; i < n && i < 64; i++) {
            (void)lines_number(lines, NULL, i, "train.loss");
            (void)lines_number(lines, NULL, i, "per_rank.1.steps");
            require(lines_word(lines, NULL, i, "event") != NULL);
        }
        (void)lines_last(lines, "done", "valid.accuracy");
    } else {
        require(lines == NULL && strncmp(shoal_error(), "fuzz", 4) == 0);
    }
    lines_free(lines);
}

static void check_study(const char *text, size_t size)
{
    struct shoal_study_cell cell;
    shoal_study *study = NULL;
    char *table = NULL;

    if (record_parse(&study, "fuzz", text, size) == SHOAL_OK) {
        require(study->ncells > 0);
        for (size_t i = 0; shoal_study_cell(study, i, &cell); i++)
            require(cell.done + cell.failed <= study->opts.repeat);
        require(shoal_study_table(&table, study, 0) == SHOAL_OK);
    } else {
        require(study == NULL && *shoal_error() != '\0');
    }
    free(table);
    shoal_study_close(study);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *copy;

    fuzz_begin(size, 64 * MIB, 1024);
    copy = fuzz_copy(data, size);
    check_run(copy, size);
    check_lines(copy, size);
    check_study(copy, size);
    fuzz_end();
    return 0;
}
