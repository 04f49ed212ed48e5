/* Metrics and records of studies: any bytes are refused with a sentence that names the
 * file, or make a run whose points are in order of time, or a study whose cells can be
 * asked. */
#include "study/study.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check_run(const char *text, size_t size)
{
    shoal_run *run = NULL;

    if (run_parse(&run, "fuzz", text, size) == SHOAL_OK) {
        require(run->npoints > 0 && run->nsettings > 0);
        for (size_t i = 1; i < run->npoints; i++)
            require(run->points[i].seconds > run->points[i - 1].seconds);
        (void)shoal_run_measures(run, 1);
    } else {
        require(run == NULL && strncmp(shoal_error(), "fuzz", 4) == 0);
    }
    shoal_run_free(run);
}

static void check_study(const char *text, size_t size)
{
    struct shoal_study_cell cell;
    shoal_study *study = NULL;
    char *table = NULL;

    if (record_parse(&study, "fuzz", text, size) == SHOAL_OK) {
        require(shoal_study_cells(study) > 0);
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
    char *copy = malloc(size ? size : 1); /* of its own size: no byte behind it */

    require(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    check_run(copy, size);
    check_study(copy, size);
    free(copy);
    return 0;
}
